"""Throughput against random loss: what both figures measure, tabulate and draw.

The study's "goodput" is what left the emulated link, retransmissions, headers and the 4 bytes of Mahimahi's device
included, divided by the duration. Packets are lost behind that link, so it does not say what arrived. We report it as
*link egress*, and beside it the *goodput*: payload that the receiving application got.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from dumbbell import metrics
from dumbbell.papers.data import published
from dumbbell.papers.model import Cell, Grid

if TYPE_CHECKING:
    from dumbbell.papers.part import Ran

FOLDER = Path(__file__).parent

WIRE = 1504 / 1500
"""Mahimahi counts 4 bytes of its device with every packet; ours are counted by IP length."""

CUBIC, UNPACED, PACED = "CUBIC", "BBR 4.11 unpaced", "BBR 4.11 paced"
"""Labels of flows in the experiment files that are compared with the published numbers."""


@dataclass(frozen=True)
class Run:
    """One seed at every loss, in Mbit/s by loss."""

    egress: Mapping[float, float]
    goodput: Mapping[float, float]
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


def measure(ran: Ran, capacity: float = 100.0) -> Curves:
    """Collects a sweep over ``links[1].loss`` and labels."""
    columns = ("label", "repeat", "links[1].loss", "throughput_mbps", "goodput_mbps")
    rates: dict[tuple[str, int], tuple[dict[float, float], dict[float, float]]] = {}
    for label, repeat, loss, throughput_mbps, goodput_mbps in ran.sweep.flows.to_polars().select(columns).iter_rows():
        ratio = round(float(loss.removesuffix("%")) / 100, 9)
        egress, goodput = rates.setdefault((label, repeat), ({}, {}))
        egress[ratio], goodput[ratio] = throughput_mbps * WIRE, goodput_mbps
    curves: Curves = {}
    for (label, _), (egress, goodput) in rates.items():
        curves.setdefault(label, []).append(Run(egress, goodput, capacity))
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
    lines = [(CUBIC, "cubic"), (UNPACED, "bbr"), (PACED, "bbr")]
    columns = ["loss %"]
    for label, _ in lines:
        # The published BBR stands once, beside the variant that the study ran.
        shown = ("egress", "\N{PLUS-MINUS SIGN}", "goodput", *(() if label == PACED else ("published",)), "ratio")
        columns += [f"{label}: {what}" for what in shown]
    rows = []
    for loss in losses(curves):
        row: list[Cell] = [percent(loss)]
        for label, cc in lines:
            ours, reference = mean(curves[label], loss), theirs[cc].get(loss)
            row += [ours, half_width(curves[label], loss), mean_goodput(curves[label], loss)]
            row += [] if label == PACED else [reference]
            row.append(ours / reference if reference else None)
        rows.append(row)
    return Grid("comparison", title, columns, rows)


def variants(curves: Curves, title: str) -> Grid:
    """Link egress and goodput of what the study did not run."""
    labels = [label for label in curves if label not in (CUBIC, UNPACED, PACED)]
    columns = ["loss %", *(f"{label}: {what}" for label in labels for what in ("egress", "goodput"))]
    rows: list[list[Cell]] = [
        [percent(loss), *(of(curves[label], loss) for label in labels for of in (mean, mean_goodput))]
        for loss in losses(curves)
    ]
    return Grid("variants", title, columns, rows)


def percent(loss: float) -> str:
    """``0.001`` as ``0.1``."""
    return f"{100 * loss:g}"


PUBLISHED_CAPACITY = {"fig1": 100.27, "fig5": 5.96}
"""Capacity of each link as the study's logs give it, in Mbit/s."""
