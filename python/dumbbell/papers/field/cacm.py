"""BBR's article in the Communications of the ACM (2017): figures 5, 6 and 8."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dumbbell.papers.family.measure import (
    Runs,
    bdps,
    by,
    capacity,
    percent,
    possible,
    queue_ms,
    setting,
    utilisation,
    where,
)
from dumbbell.papers.field.measure import FOLDER, seeds
from dumbbell.papers.model import Claim, Grid, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import jain, total
from dumbbell.papers.testing import across, each, ranged

TICKS = (0.001, 0.01, 0.1, 1, 10, 20, 30, 50)
"""Losses in percent that have room on the axis."""


class Figures(NamedTuple):
    """The runs of each figure."""

    loss: Runs
    first: Runs
    five: Runs


def at(cc: str, low: float, high: float) -> Callable[[Figures], dict[str, Runs]]:
    """Figure 8's runs of an algorithm at some losses, in percent."""
    return lambda figures: {
        "1 BDP": [run for run in where(figures.loss, cc_0=cc) if low <= 100 * percent(setting(run, "loss")) <= high]
    }


def first(cc: str) -> Callable[[Figures], dict[str, Runs]]:
    """Figure 5's runs of an algorithm, by buffer."""
    return lambda figures: by(where(figures.first, cc_0=cc), "buffer")


def five(figures: Figures) -> dict[str, Runs]:
    """Figure 6's runs."""
    return {"5 flows": figures.five}


def tables(figures: Figures) -> list[Grid]:
    """Goodput by loss; the queue of the first seconds by buffer."""
    loss = (([loss], by(runs, "cc_0")) for loss, runs in by(figures.loss, "loss").items())
    queue = (([buffer], by(runs, "cc_0")) for buffer, runs in by(figures.first, "buffer").items())
    names = {"BBR": "bbr", "CUBIC": "cubic"}
    return [
        across("cacm-loss", "Goodput in Mbit/s", ["loss"], loss, names, total),
        across("cacm-first", "Mean queue in ms from 2 to 8 s", ["buffer"], queue, names, queue_ms, 1),
    ]


def pictures(figures: Figures) -> Pictures:
    """Goodput over loss."""
    from dumbbell.papers.field.figures import curves

    lines = {cc: seeds(by(runs, "loss"), total) for cc, runs in by(figures.loss, "cc_0").items()}
    x = [100 * percent(loss) for loss in by(figures.loss, "loss")]
    ideal = [capacity(figures.loss[0]) * (1 - p / 100) for p in x]
    dashed = {"what loss leaves of the link": ideal}
    return {"cacm": curves(x, lines, "random loss (%)", "goodput (Mbit/s)", dashed, TICKS)}


CLAIMS = [
    Claim("fld-01", "CUBIC's goodput falls tenfold at 0.1 % of loss (here: 5 to 20 % of the link).", "10 times",
          each(at("cubic", 0.1, 0.1), lambda run: 0.05 <= utilisation(run) <= 0.2, ranged(total, 1, " Mbit/s"))),
    Claim("fld-02", "CUBIC stalls above 1 % (here: below 2 % of the link).", "stalls",
          each(at("cubic", 2, 50), lambda run: utilisation(run) < 0.02, ranged(total, 2, " Mbit/s"))),
    Claim("fld-03", "BBR meets the limit of 1 - p up to 5 % (here: 90 % of it).", "meets",
          each(at("bbr", 0, 5), lambda run: possible(run) >= 0.9, ranged(possible))),
    Claim("fld-04", "BBR is close to it up to 15 % (here: 75 % of it).", "close",
          each(at("bbr", 10, 15), lambda run: possible(run) >= 0.75, ranged(possible))),
    Claim("fld-05", "After the first two seconds BBR has hardly a queue on 10 Mbit/s and 40 ms (here: 10 ms).",
          "essentially no queue", each(first("bbr"), lambda run: queue_ms(run) < 10, ranged(queue_ms, 1, " ms"))),
    Claim("fld-06", "CUBIC's queue cycles from 70 % to the whole of the buffer (here: 60 to 100 % in the mean).",
          "70 to 100 %",
          each(first("cubic"), lambda run: 0.6 <= queue_ms(run) / (40 * bdps(setting(run, "buffer"))) <= 1,
               ranged(queue_ms, 0, " ms"))),
    Claim("fld-07", "Five flows of BBR converge to a fair share (here: Jain 0.95).", "converge",
          each(five, lambda run: jain(run) >= 0.95, ranged(jain))),
]  # fmt: skip

PART = Part(
    "cacm",
    "BBR and CUBIC with random loss, in their first seconds, and five flows of BBR",
    [Experiment(FOLDER / "cacm-loss.toml"), Experiment(FOLDER / "cacm-first.toml", quick={"warmup": "1s"}),
     Experiment(FOLDER / "cacm-five.toml", quick={"warmup": "1s", "flows[0].stagger": "100ms"})],
    quick="2s",
    measure=lambda loss, first, five: Figures(loss.runs, first.runs, five.runs),
    setup=["100 Mbit/s, 100 ms, 60 s; 10 Mbit/s, 40 ms, 8 s; 100 Mbit/s, 10 ms. The article tells no buffer: "
           "1 BDP, 2 to 8 BDP and 4 BDP here."],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)  # fmt: skip
