"""Ware et al., "Modeling BBR's Interactions with Loss-Based Congestion Control" (IMC 2019): one flow beside many."""

from __future__ import annotations

from collections.abc import Callable

from dumbbell.papers.family.measure import Runs, bdps, by, setting, where
from dumbbell.papers.field.measure import DIRECTION, FOLDER, part, seeds
from dumbbell.papers.model import Claim, Grid, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Run
from dumbbell.papers.testing import across, both, each, paired, ranged

NAMES = {"cubic": "CUBIC", "reno": "Reno"}
RTT_S, BDP_PACKETS = 0.04, 10e6 * 0.04 / 8 / 1500


def model(buffer_bdp: float, flows: int = 1) -> float:
    """The paper's share of BBR: what loss-based flows leave in the buffer, less the time in PROBE_RTT."""
    loss_based = 0.5 - 1 / (2 * buffer_bdp) - 4 * flows / (buffer_bdp * BDP_PACKETS)
    probing = (buffer_bdp * RTT_S + 0.2 + RTT_S) / 10
    return (1 - loss_based) * (1 - probing)


def difference(run: Run) -> float:
    """Ours less the model's."""
    return part(run) - model(bdps(setting(run, "buffer")))


def some(low: float, high: float, count: str = "") -> Callable[[Runs], dict[str, Runs]]:
    """The runs with a buffer of so many BDP beside so many flows, or any number, by rival."""
    return lambda runs: {
        NAMES[cc]: [run for run in (where(own, count_1=count) if count else own)
                    if low <= bdps(setting(run, "buffer")) <= high]
        for cc, own in by(runs, "cc_1").items()
    }  # fmt: skip


def sixteen(runs: Runs) -> dict[str, Runs]:
    """The runs beside sixteen flows of CUBIC, by buffer."""
    return by(where(runs, cc_1="cubic", count_1="16"), "buffer")


def counts(runs: Runs) -> dict[str, list[tuple[Run, ...]]]:
    """Runs beside one and beside sixteen flows of a rival."""
    one, many = some(4, 64, "1")(runs), some(4, 64, "16")(runs)
    return {rival: paired(one[rival], many[rival]) for rival in one}


def tables(runs: Runs) -> list[Grid]:
    """BBR's part, a row a rival and number of flows, under the model's."""
    rows = (((NAMES[cc], int(count)), by(where(runs, cc_1=cc, count_1=count), "buffer"))
            for cc in NAMES for count in by(runs, "count_1"))  # fmt: skip
    columns = {f"BDP: {bdps(one):g}": one for one in by(runs, "buffer")}
    grid = across("ware", "BBR's part of the link", ("beside", "flows"), rows, columns, part)
    theirs = ["the model", None, *(model(bdps(one)) for one in columns.values())]
    return [Grid(grid.name, grid.title, grid.columns, [theirs, *grid.rows], grid.digits)]


def pictures(runs: Runs) -> Pictures:
    """Parts over buffers."""
    from dumbbell.papers.field.figures import shares

    numbers = {f"beside {count}": count for count in by(runs, "count_1")}
    rows = {
        NAMES[cc]: {name: seeds(by(where(runs, cc_1=cc, count_1=n), "buffer"), part) for name, n in numbers.items()}
        for cc in NAMES
    }
    x = [bdps(one) for one in by(runs, "buffer")]
    return {"ware": shares(rows, x, {name: 1 / (1 + int(n)) for name, n in numbers.items()}, [*map(model, x)])}


CLAIMS = [
    Claim("fld-08", "One flow of BBR takes 40 % of the link beside sixteen of CUBIC (here: 30 to 50 %).", "40 %",
          each(sixteen,
               lambda run: 0.3 <= part(run) <= 0.5, ranged(part))),
    Claim("fld-09", "Its share does not depend on how many they are (here: 1 or 16 change it by 0.1 at most).",
          DIRECTION, each(counts, lambda pair: abs(part(pair[0]) - part(pair[1])) <= 0.1,
                            both(ranged(part), "{} beside 1, {} beside 16"))),
    Claim("fld-10", "The model is right from 4 BDP on (here: within 0.1 of the link).", "5 % and 8 % in the median",
          each(some(4, 64), lambda run: abs(difference(run)) <= 0.1, ranged(difference))),
]  # fmt: skip

PART = Part(
    "ware",
    "One flow of BBR beside 1 to 16 of CUBIC or Reno over 2 to 64 BDP of buffer",
    [Experiment(FOLDER / "ware.toml", quick={"warmup": "1s"})],
    quick="2s",
    measure=lambda ran: ran.runs,
    setup=["10 Mbit/s, 40 ms, drop-tail, 240 s of which the first 60 s do not count."],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)
