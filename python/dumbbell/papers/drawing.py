"""What pictures of several studies have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray

from dumbbell.plots.style import Look, Picture, ink_on, picture


@contextmanager
def panels(
    rows: int, columns: int, width: float, height: float, x: str = "", y: str = "", **layout: Any
) -> Iterator[tuple[Picture, NDArray[Any]]]:
    """A picture (inches) of panels, with the label ``x`` below the last row and ``y`` beside the first column.

    Panels share their axes unless the ``layout``, arguments of ``Figure.subplots``, says otherwise.
    """
    with picture(width, height) as figure:
        grid = figure.subplots(rows, columns, squeeze=False, **{"sharex": True, "sharey": True, **layout})
        for axes in grid[-1]:
            axes.set_xlabel(x)
        for axes in grid[:, 0]:
            axes.set_ylabel(y)
        yield figure, grid


def plain_ticks(axis: Axis, ticks: Sequence[float]) -> None:
    """Plain numbers at chosen places of a logarithmic axis."""
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def log_x(axes: Axes, ticks: Sequence[float], label: str) -> None:
    """A logarithmic axis of x with plain numbers."""
    axes.set_xscale("log")
    plain_ticks(axes.xaxis, ticks)
    axes.set_xlabel(label)


def marks(style: Look) -> dict[str, Any]:
    """Line and marker of an algorithm."""
    return {"marker": style.marker, **style.line()}


def sample(style: Look, label: str) -> Line2D:
    """The entry of an algorithm in a legend."""
    return Line2D([], [], label=label, **marks(style))


def shaded(axes: Axes, cells: Sequence[Sequence[float]], digits: str, fontsize: float = 7, **image: Any) -> None:
    """A map with its values written on it, of the colours and limits that ``image``, arguments of ``imshow``, says."""
    shades = axes.imshow(cells, **{"cmap": "viridis", "aspect": "auto", **image})
    for y, row in enumerate(cells):
        for x, value in enumerate(row):
            ink = ink_on(shades, value)
            axes.text(x, y, f"{value:{digits}}", ha="center", va="center", fontsize=fontsize, color=ink)
    axes.grid(visible=False)


def with_ranges(axes: Axes, x: Sequence[float], runs: Sequence[Sequence[float]], style: Look) -> None:
    """A line through the means over seeds, with bars from the least to the most."""
    means = [fmean(values) for values in runs]
    below = [mean - min(values) for mean, values in zip(means, runs, strict=True)]
    above = [max(values) - mean for mean, values in zip(means, runs, strict=True)]
    axes.errorbar(x, means, yerr=[below, above], capsize=2, elinewidth=0.8, **marks(style))


def with_band(axes: Axes, x: Sequence[float], runs: Sequence[Sequence[float]], style: Look) -> None:
    """A line through the means over seeds, in a band from the least to the most."""
    axes.plot(x, [fmean(values) for values in runs], **marks(style))
    band(axes, x, [min(values) for values in runs], [max(values) for values in runs], style.shown)


def band(axes: Axes, x: ArrayLike, least: ArrayLike, most: ArrayLike, colour: str) -> None:
    """The area between the least and the most over seeds, behind the lines."""
    axes.fill_between(np.asarray(x), np.asarray(least), np.asarray(most), color=colour, alpha=0.18, linewidth=0)
