"""What pictures of several studies have in common."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from dumbbell.plots.style import look


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


def sample(cc: str, label: str) -> Line2D:
    """The entry of an algorithm in a legend."""
    return Line2D([], [], marker=look(cc).marker, **look(cc).line(), label=label)
