"""Throughput against random loss: what both figures measure, tabulate and draw.

The study's "goodput" is what left the emulated link, retransmissions, headers and the 4 bytes of Mahimahi's device
included, divided by the duration. Packets are lost behind that link, so it does not say what arrived. We report it as
*link egress*, and beside it the *goodput*: payload that the receiving application got.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from dumbbell import metrics
from dumbbell.papers.data import published
from dumbbell.papers.model import Cell, Grid, table
from dumbbell.papers.part import Ran
from dumbbell.papers.testing import paired

FOLDER = Path(__file__).parent

WIRE = 1504 / 1500
"""Mahimahi counts 4 bytes of its device with every packet; ours are counted by IP length."""

CUBIC, UNPACED, PACED = "CUBIC", "BBR 4.11 unpaced", "BBR 4.11 paced"
"""Labels of flows in the experiment files that are compared with the published numbers."""


@dataclass(frozen=True)
class Run:
    """One seed at every loss, in Mbit/s by loss."""

    egress: dict[float, float]
    goodput: dict[float, float]
    capacity: float = 100.0
    """Of the link; what the study's ideal line starts from."""

    def share(self, loss: float) -> float:
        """Egress over what the ideal line has at a loss."""
        return self.egress[loss] / (self.capacity * (1 - loss))

    def used(self, most: float) -> float:
        """Least egress over capacity up to a loss."""
        return min(rate for loss, rate in self.egress.items() if loss <= most) / self.capacity

    @property
    def received(self) -> dict[float, float]:
        """Goodput over egress by loss."""
        return {loss: quotient(self.goodput[loss], rate) for loss, rate in self.egress.items()}

    @property
    def knee(self) -> float | None:
        """The loss at which the egress falls to half of the ideal line; ``None`` if it never does.

        Interpolated between the two points around it.
        """
        for loss, beyond in pairwise(sorted(self.egress)):
            share, next_share = self.share(loss), self.share(beyond)
            if share >= 0.5 > next_share:
                return loss + (share - 0.5) / (share - next_share) * (beyond - loss)
        return None


Curves = dict[str, list[Run]]
"""The runs of each label, a run for each seed."""


@dataclass(frozen=True)
class Figure:
    """What a figure shows."""

    curves: Curves


PACINGS = {"unpaced": UNPACED, "paced": PACED}
"""BBR without and with pacing, and its labels."""


def under(labels: Mapping[str, str]) -> Callable[[Figure], dict[str, list[Run]]]:
    """The runs of some labels by the names of choices."""
    return lambda figure: {name: figure.curves[label] for name, label in labels.items()}


def beside_cubic(figure: Figure) -> dict[str, list[tuple[Run, ...]]]:
    """Pairs of BBR and CUBIC with the same seed."""
    return {name: paired(figure.curves[label], figure.curves[CUBIC]) for name, label in PACINGS.items()}


def measure(ran: Ran, capacity: float = 100.0) -> Curves:
    """Collects a sweep over ``links[1].loss`` and labels, whose runs have one flow each."""
    seeds: dict[tuple[str, int], Run] = {}
    for run in ran.runs:
        (flow,) = run.flows
        curve = seeds.setdefault((flow["label"], flow["repeat"]), Run({}, {}, capacity))
        loss = round(float(flow["links[1].loss"].removesuffix("%")) / 100, 9)
        curve.egress[loss], curve.goodput[loss] = flow["throughput_mbps"] * WIRE, flow["goodput_mbps"]
    curves: Curves = {}
    for (label, _), curve in seeds.items():
        curves.setdefault(label, []).append(curve)
    return curves


def published_curves(part: str, metric: str = "link_egress") -> dict[str, dict[float, float]]:
    """The published curve of each algorithm, by loss."""
    curves: dict[str, dict[float, float]] = {}
    for number in published(FOLDER, part):
        if number.metric == metric:
            curves.setdefault(number.case["cc"], {})[float(number.case["loss"])] = number.value
    return curves


def losses(curves: Curves) -> list[float]:
    """Every loss that was run, ascending."""
    return sorted({loss for runs in curves.values() for run in runs for loss in run.egress})


def mean(runs: Sequence[Run], loss: float) -> float:
    """Mean link egress over seeds."""
    return fmean(run.egress[loss] for run in runs)


def mean_goodput(runs: Sequence[Run], loss: float) -> float:
    """Mean goodput over seeds."""
    return fmean(run.goodput[loss] for run in runs)


def quotient(a: float, b: float) -> float:
    """``a / b``, infinite over nothing."""
    return a / b if b > 0 else math.inf


def half_width(runs: Sequence[Run], loss: float) -> float | None:
    """Half of the 95 % interval of the mean egress over seeds; ``None`` for a single seed."""
    interval = metrics.mean_interval([run.egress[loss] for run in runs])
    return None if interval is None or interval.n < 2 else interval.half_width


def comparison(curves: Curves, part: str, title: str) -> Grid:
    """Ours beside the published numbers, and the ratio of the two."""
    theirs = published_curves(part)

    def columns(label: str, published: Mapping[float, float]) -> dict[str, Callable[[float], Cell]]:
        runs = curves[label]
        shown: dict[str, Callable[[float], Cell]] = {
            "egress": partial(mean, runs),
            "\N{PLUS-MINUS SIGN}": partial(half_width, runs),
            "goodput": partial(mean_goodput, runs),
            # The published BBR stands once, beside the variant that the study ran.
            **({} if label == PACED else {"published": published.get}),
            "ratio": lambda loss: mean(runs, loss) / published[loss] if loss in published else None,
        }
        return {f"{label}: {what}": value for what, value in shown.items()}

    every = columns(CUBIC, theirs["cubic"]) | columns(UNPACED, theirs["bbr"]) | columns(PACED, theirs["bbr"])
    return table("comparison", title, ["loss %"], by_loss(curves), every)


def variants(curves: Curves, title: str) -> Grid:
    """Link egress and goodput of what the study did not run."""
    columns = {
        f"{label}: {what}": partial(of, curves[label])
        for label in curves
        if label not in (CUBIC, *PACINGS.values())
        for what, of in (("egress", mean), ("goodput", mean_goodput))
    }
    return table("variants", title, ["loss %"], by_loss(curves), columns)


def by_loss(curves: Curves) -> list[tuple[list[Cell], float]]:
    """A row of a table for each loss."""
    return [([percent(loss)], loss) for loss in losses(curves)]


def percent(loss: float) -> str:
    """``0.001`` as ``0.1``."""
    return f"{100 * loss:g}"


PUBLISHED_CAPACITY = {"fig1": 100.27, "fig5": 5.96}
"""Capacity of each link as the study's logs give it, in Mbit/s."""
