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
from typing import TYPE_CHECKING, Any

from dumbbell import metrics
from dumbbell.papers.data import published
from dumbbell.papers.model import Cell, Grid

if TYPE_CHECKING:
    from dumbbell.plots import Picture
    from dumbbell.plots.style import Look
    from dumbbell.results import SweepResult

PUBLISHED = Path(__file__).with_name("published.csv")

WIRE = 1504 / 1500
"""Mahimahi counts 4 bytes of its device with every packet; ours are counted by IP length."""

CUBIC, UNPACED, PACED = "CUBIC", "BBR 4.11 unpaced", "BBR 4.11 paced"
"""Labels of flows in the experiment files that are compared with the published numbers."""


@dataclass(frozen=True)
class Run:
    """One seed at every loss, in Mbit/s by loss."""

    egress: Mapping[float, float]
    goodput: Mapping[float, float]


Curves = dict[str, list[Run]]
"""The runs of each label, a run for each seed."""


def measure(result: SweepResult) -> Curves:
    """Collects a sweep over ``links[1].loss`` and labels."""
    columns = ("label", "repeat", "links[1].loss", "throughput_mbps", "goodput_mbps")
    egress: dict[tuple[str, int], dict[float, float]] = {}
    goodput: dict[tuple[str, int], dict[float, float]] = {}
    for label, repeat, loss, throughput_mbps, goodput_mbps in result.flows.to_polars().select(columns).iter_rows():
        ratio = round(float(loss.removesuffix("%")) / 100, 9)
        egress.setdefault((label, repeat), {})[ratio] = throughput_mbps * WIRE
        goodput.setdefault((label, repeat), {})[ratio] = goodput_mbps
    curves: Curves = {}
    for key, values in egress.items():
        curves.setdefault(key[0], []).append(Run(values, goodput[key]))
    return curves


def published_curves(part: str, metric: str = "link_egress") -> dict[str, dict[float, float]]:
    """The published curve of each algorithm, by loss."""
    curves: dict[str, dict[float, float]] = {}
    for number in published(PUBLISHED, part):
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


def knee(curve: Mapping[float, float], capacity: float) -> float | None:
    """The loss at which a curve falls to half of the ideal line ``capacity (1 - loss)``; ``None`` if it never does.

    Interpolated between the two points around it.
    """
    points = sorted((loss, rate / (capacity * (1 - loss))) for loss, rate in curve.items())
    for (loss, share), (next_loss, next_share) in pairwise(points):
        if share >= 0.5 > next_share:
            return loss + (share - 0.5) / (share - next_share) * (next_loss - loss)
    return None


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


def look_of(label: str) -> Look:
    """CUBIC and unpaced BBR look as everywhere; what is paced has a colour of its own."""
    from dumbbell.plots.style import look

    if label in (CUBIC, UNPACED):
        return look("cubic" if label == CUBIC else "bbr")
    if label == PACED:
        return look("bbr3")
    return look("bbr3", variant=2) if label.endswith(" paced") else look("bbr", variant=2)


def percent(loss: float) -> str:
    """``0.001`` as ``0.1``."""
    return f"{100 * loss:g}"


def picture(curves: Curves, part: str, capacity: float, title: str, *, share: bool, compare: bool = True) -> Picture:
    """Mean link egress against loss on a logarithmic axis, with the range over seeds and the ideal line.

    Published points are hollow.

    Args:
        curves: Ours.
        part: Whose published numbers to draw.
        capacity: Of the link, in Mbit/s as Mahimahi counts it.
        title: Above the picture.
        share: Draw percentages of each side's own capacity in place of Mbit/s.
        compare: Whether to draw the published points.
    """
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    from dumbbell.plots.style import INK, legend, look
    from dumbbell.plots.style import picture as new_picture

    scale = 100 / capacity if share else 1.0
    with new_picture(6.8, 4.6) as figure:
        axes = figure.subplots()
        handles = []
        for label, runs in curves.items():
            style = look_of(label)
            x = sorted(runs[0].egress)
            y = [scale * mean(runs, loss) for loss in x]
            ranges = [[scale * run.egress[loss] for run in runs] for loss in x]
            bars = [[middle - min(at) for middle, at in zip(y, ranges, strict=True)]]
            bars.append([max(at) - middle for middle, at in zip(y, ranges, strict=True)])
            marks = {"marker": style.marker, **style.line()}
            axes.errorbar([100 * loss for loss in x], y, yerr=bars, capsize=2, elinewidth=0.8, **marks)
            handles.append(Line2D([], [], label=label, **marks))
        if compare:
            for cc, points in published_curves(part).items():
                style = look(cc)
                hollow: dict[str, Any] = {
                    "marker": style.marker,
                    "color": style.colour,
                    "linestyle": "none",
                    "markersize": 9,
                }
                hollow |= {"markerfacecolor": "none", "markeredgewidth": 1.3}
                reference = 100 / PUBLISHED_CAPACITY[part] if share else 1.0
                axes.plot([100 * loss for loss in points], [reference * value for value in points.values()], **hollow)
                handles.append(Line2D([], [], label=f"{cc.upper()} published", **hollow))
        x = losses(curves)
        fine = [x[0] * (x[-1] / x[0]) ** (step / 200) for step in range(201)]
        ideal = [scale * capacity * (1 - loss) for loss in fine]
        axes.plot([100 * loss for loss in fine], ideal, color=INK, linewidth=0.9, linestyle=(0, (1, 2)))
        handles.append(
            Line2D(
                [],
                [],
                color=INK,
                linewidth=0.9,
                linestyle=(0, (1, 2)),
                label="ideal: capacity \N{MULTIPLICATION SIGN} (1 - loss)",
            )
        )
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator([0.001, 0.01, 0.1, 1, 2, 5, 10, 20, 50]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_ylim(bottom=0)
        axes.set_xlabel("random loss behind the link (%)")
        axes.set_ylabel("link egress (% of capacity)" if share else "link egress (Mbit/s)")
        axes.set_title(title, loc="left")
        legend(figure, handles)
    return figure


PUBLISHED_CAPACITY = {"fig1": 100.27, "fig5": 5.96}
"""Capacity of each link as the study's logs give it, in Mbit/s."""
