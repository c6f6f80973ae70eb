"""Ware et al., "Modeling BBR's Interactions with Loss-Based Congestion Control" (IMC 2019): one flow beside many."""

from __future__ import annotations

from dumbbell.papers.family.measure import NAMES, Runs, bdps, buffers, by, setting, sized, where
from dumbbell.papers.field.measure import DIRECTION, FOLDER, part, seeds
from dumbbell.papers.model import Claim, Grid, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Run
from dumbbell.papers.testing import across, both, each, paired, ranged

RTT_S, BDP_PACKETS = 0.04, 10e6 * 0.04 / 8 / 1500


def model(buffer_bdp: float) -> float:
    """The paper's share of one flow of BBR: what loss-based flows leave in the buffer, less the time in PROBE_RTT."""
    loss_based = 0.5 - 1 / (2 * buffer_bdp) - 4 / (buffer_bdp * BDP_PACKETS)
    probing = (buffer_bdp * RTT_S + 0.2 + RTT_S) / 10
    return (1 - loss_based) * (1 - probing)


def difference(run: Run) -> float:
    """Ours less the model's."""
    return part(run) - model(bdps(setting(run, "buffer")))


def deep(runs: Runs) -> dict[str, Runs]:
    """The runs with a buffer of at least 4 BDP, by rival."""
    return {NAMES[cc]: sized(own, 4, 64) for cc, own in by(runs, "cc_1").items()}


def sixteen(runs: Runs) -> dict[str, Runs]:
    """The runs beside sixteen flows of CUBIC, by buffer."""
    return by(where(runs, cc_1="cubic", count_1="16"), "buffer")


def counts(runs: Runs) -> dict[str, list[tuple[Run, ...]]]:
    """Runs beside one and beside sixteen flows of a rival."""
    one, many = (deep(where(runs, count_1=count)) for count in ("1", "16"))
    return {rival: paired(one[rival], many[rival]) for rival in one}


def tables(runs: Runs) -> list[Grid]:
    """BBR's part, a row a rival and number of flows, under the model's."""
    rows = (((NAMES[cc], int(count)), by(some, "buffer"))
            for cc, own in by(runs, "cc_1").items() for count, some in by(own, "count_1").items())  # fmt: skip
    columns = buffers(runs)
    grid = across("ware", "BBR's part of the link", ("beside", "flows"), rows, columns, part)
    theirs = ["the model", None, *(model(bdps(one)) for one in columns.values())]
    return [Grid(grid.name, grid.title, grid.columns, [theirs, *grid.rows], grid.digits)]


def pictures(runs: Runs) -> Pictures:
    """Parts over buffers."""
    from dumbbell.papers.field.figures import shares

    rows = {
        NAMES[cc]: {f"beside {count}": seeds(by(some, "buffer"), part) for count, some in by(own, "count_1").items()}
        for cc, own in by(runs, "cc_1").items()
    }
    x = [bdps(one) for one in by(runs, "buffer")]
    fair = [1 / (1 + int(count)) for count in by(runs, "count_1")]
    return {"ware": shares(rows, x, fair, [*map(model, x)])}


CLAIMS = [
    Claim("fld-08", "One flow of BBR takes 40 % of the link beside sixteen of CUBIC (here: 30 to 50 %).", "40 %",
          each(sixteen, lambda run: 0.3 <= part(run) <= 0.5, ranged(part))),
    Claim("fld-09", "Its share does not depend on how many they are (here: 1 or 16 change it by 0.1 at most).",
          DIRECTION, each(counts, lambda pair: abs(part(pair[0]) - part(pair[1])) <= 0.1,
                            both(ranged(part), "{} beside 1, {} beside 16"))),
    Claim("fld-10", "The model is right from 4 BDP on (here: within 0.1 of the link).", "5 % and 8 % in the median",
          each(deep, lambda run: abs(difference(run)) <= 0.1, ranged(difference))),
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
