"""Goodput against delay with ellipses, the picture of Remy and of the evaluation suites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse
from matplotlib.ticker import FuncFormatter, NullFormatter

from dumbbell.plots.style import Look, Picture, caption, distinct, fitted, legend, looks, name_mark

Mark = tuple[str, str, str, Sequence[tuple[float | None, float | None]]]
"""Panel, line, setting, and the delay and goodput of each run."""

MOST_NAMED = 16
"""With up to so many marks in a panel their settings are written beside them."""

LEAST_SPAN = 0.05
"""Goodputs are drawn over at least this part of the highest: smaller differences are none."""

WIDE = 20.0
"""Delays that differ by more than this factor get a logarithmic axis."""


def delay_goodput(marks: Sequence[Mark], labels: tuple[str, str], *, algorithms: bool) -> Picture:
    """Up and to the right is better: delay falls to the right. Goodput need not begin at zero.

    A mark is the mean over the seeds of a setting; its ellipse has the standard deviations of delay and goodput as
    half axes, along the directions in which they vary together. A line joins the settings of a controller or queue;
    ``algorithms`` says that lines are controllers, which look the same in every picture.
    """
    names = list(dict.fromkeys(panel for panel, *_ in marks))
    lines = list(dict.fromkeys(line for _, line, *_ in marks))
    chosen = {kind[0]: look for kind, look in looks([(line, line) for line in lines]).items()}
    if not algorithms:
        chosen = distinct(lines)
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    with fitted(2.6 + 2.7 * columns if columns > 1 else 6.4, 0.9 + 3.1 * rows) as figure:
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, name in zip(grid.flat, names, strict=False):
            own = [mark for mark in marks if mark[0] == name]
            for line in lines:
                _line(axes, [mark for mark in own if mark[1] == line], chosen[line], named=len(own) <= MOST_NAMED)
            axes.set_title(caption(name))
            _axes(axes)
        for axes in grid.flat[len(names) :]:
            axes.set_visible(False)
        for axes in grid[-1]:
            axes.set_xlabel(labels[0])
        for axes in grid[:, 0]:
            axes.set_ylabel(labels[1])
        legend(figure, [_sample(chosen[line], line) for line in lines])
    return figure


def _sample(style: Look, line: str) -> Line2D:
    """The entry of a line in the legend."""
    return Line2D([], [], marker=style.marker, **style.line(), label=caption(line))


def _line(axes: Axes, marks: Sequence[Mark], style: Look, *, named: bool) -> None:
    means = []
    for _, _, setting, runs in marks:
        known = np.array([run for run in runs if None not in run], dtype=float)
        if not len(known):
            continue
        mean = known.mean(axis=0)
        means.append(mean)
        if len(known) > 2:
            _ellipse(axes, known, style)
        if named and setting:
            name_mark(axes, caption(setting), mean)
    if means:
        x, y = np.array(means).T
        axes.plot(x, y, marker=style.marker, **style.line(linewidth=0.7), markersize=5)


def _ellipse(axes: Axes, runs: Any, style: Look) -> None:
    spread, directions = np.linalg.eigh(np.cov(runs.T))
    widths = 2 * np.sqrt(np.clip(spread, 0, None))
    angle = float(np.degrees(np.arctan2(directions[1, 1], directions[0, 1])))
    axes.add_patch(
        Ellipse(
            tuple(runs.mean(axis=0)), float(widths[1]), float(widths[0]), angle=angle, facecolor=style.colour,
            edgecolor=style.colour, alpha=0.25, linewidth=0.8,
        )
    )  # fmt: skip


def _axes(axes: Axes) -> None:
    """Delay falls to the right; on a logarithmic scale where it spans much."""
    axes.margins(0.08, 0.12)
    axes.autoscale_view()
    low, high = sorted(axes.get_xlim())
    lowest = min((float(x) for line in axes.lines for x in np.asarray(line.get_xdata()) if x > 0), default=low)
    if lowest > 0 and high / lowest > WIDE:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.invert_xaxis()
    bottom, top = axes.get_ylim()
    if (missing := LEAST_SPAN * top - (top - bottom)) > 0:
        axes.set_ylim(bottom - missing / 2, top + missing / 2)
