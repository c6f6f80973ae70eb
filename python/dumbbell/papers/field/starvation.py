"""Arun, Alizadeh and Balakrishnan, "Starvation in End-to-End Congestion Control" (SIGCOMM 2022): ACKs in bundles."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dumbbell.papers.family.measure import Runs, by, setting, where
from dumbbell.papers.field.measure import DIRECTION, FOLDER, part, ratio, seeds
from dumbbell.papers.model import Claim, Grid, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.testing import across, each, ranged

NONE = "1us"
NAMES = {"copa": "Copa", "bbr": "BBR", "vegas": "Vegas", "cubic": "CUBIC"}


class Both(NamedTuple):
    """The runs with bundles for one flow, and those with two round-trip times."""

    one: Runs
    two: Runs


def of(cc: str, *times: str) -> Callable[[Both], dict[str, Runs]]:
    """The runs of an algorithm, by the time between bundles."""
    return lambda runs: {"none" if time == NONE else time: where(runs.one, cc_0=cc, every=time) for time in times}


def bundled(runs: Both) -> dict[str, Runs]:
    """The runs with two round-trip times and with bundles, by the time between these."""
    return by([run for run in runs.two if setting(run, "every") != NONE], "every")


def alone(runs: Both) -> str:
    """What two round-trip times do without bundles."""
    return f"The two round-trip times alone do it: {words(where(runs.two, every=NONE))} without bundles."


def tables(runs: Both) -> list[Grid]:
    """Quotients by the time between bundles."""
    title, heads = "The faster flow's goodput over the slower one's", ["algorithm"]
    columns = {time if time != NONE else "none": time for time in by(runs.one, "every")}
    one = (([NAMES[cc]], by(where(runs.one, cc_0=cc), "every")) for cc in NAMES)
    two = [(["BBR, 40 and 80 ms"], by(runs.two, "every"))]
    return [
        across("starvation", f"{title}: bundles for one", heads, one, columns, ratio, 1),
        across("starvation-rtt", f"{title}: bundles for both", heads, two, columns, ratio, 1),
    ]


def pictures(runs: Both) -> Pictures:
    """What the other flow gets, a box for each time."""
    from dumbbell.papers.field.figures import boxes

    groups = {cc: seeds(by(where(runs.one, cc_0=cc), "every"), part) for cc in NAMES}
    labels = ["none" if time == NONE else time for time in by(runs.one, "every")]
    return {"starvation": boxes(groups, labels, "time between bundles", "share of the flow without bundles")}


words = ranged(ratio, 1, " times")
CLAIMS = [
    Claim("fld-15", "Without bundles two flows of Copa share the link (here: at most 2 to 1).", DIRECTION,
          each(of("copa", NONE), lambda run: ratio(run) <= 2, words)),
    Claim("fld-16", "With bundles for one of them one flow of Copa starves (here: 5 to 1 at 10 ms and more).",
          DIRECTION, each(of("copa", "10ms", "20ms", "50ms"), lambda run: ratio(run) >= 5, words)),
    Claim("fld-17", "Of two flows of BBR with 40 and 80 ms one starves where ACKs come in bundles (here: 5 to 1).",
          DIRECTION, each(bundled, lambda run: ratio(run) >= 5, words), alone),
    Claim("fld-18", "CUBIC, which does not bound delay, shares with and without them (here: at most 3 to 1).",
          DIRECTION, each(of("cubic", NONE, "2ms", "10ms", "20ms", "50ms"), lambda run: ratio(run) <= 3, words)),
]  # fmt: skip

PART = Part(
    "starvation",
    "Two flows, one of which gets its packets in bundles",
    [Experiment(FOLDER / f"{name}.toml", quick={"warmup": "500ms"}) for name in ("starvation", "starvation-rtt")],
    quick="2s",
    measure=lambda one, two: Both(one.runs, two.runs),
    setup=["120 Mbit/s, 60 ms, 4 BDP of drop-tail, 60 s of which the last 40 s count. Data of the second flow comes in "
           "bundles, and so do its ACKs; where there are two round-trip times, those of both flows."],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)  # fmt: skip
