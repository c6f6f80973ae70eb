"""Any metric over any swept setting, and over two of them as a map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dumbbell import metrics
from dumbbell.plots.axes import LEAST_SPAN, Scale, label_of, vertical
from dumbbell.plots.style import Look, Picture, caption, ink_on, legend, looks, named, one_panel, small
from dumbbell.results import separating_axes, setting_name
from dumbbell.selection import OF_A_FLOW, axis_named, over_runs, with_metric

if TYPE_CHECKING:
    import polars as pl

MAX_LINES = 12
"""More lines or boxes cannot be told apart."""


@dataclass(frozen=True)
class Line:
    """One algorithm, label and setting of what is not on the axis."""

    algorithm: str
    name: str
    rows: pl.DataFrame


def lines(flows: pl.DataFrame, axes_: Sequence[str], x: str, by: Sequence[str]) -> list[Line]:
    """The flows by algorithm, by what ``by`` names, and by every other setting that would be mixed otherwise."""
    others = [axis for axis in separating_axes(flows, axes_) if axis != x]
    wanted = [axis_named(flows, axes_, word) if word not in OF_A_FLOW else word for word in by]
    settings = list(dict.fromkeys([*(word for word in wanted if word in axes_ and word != x), *others]))
    with_label = not wanted or "label" in wanted or flows["label"].n_unique() > flows["cc"].n_unique()
    keys = ["cc", *(["label"] if with_label else []), *settings]
    found = []
    for key, rows in flows.partition_by(*keys, as_dict=True, maintain_order=True).items():
        algorithm = str(key[0])
        name = named(algorithm, str(key[1])) if with_label else algorithm
        values = key[len(keys) - len(settings) :]
        words = [f"{setting_name(axis)} {value}" for axis, value in zip(settings, values, strict=True)]
        words = [word for word in words if not word.startswith("cc ")]
        found.append(Line(algorithm, caption(", ".join([name, *words])), rows))
    if len(found) > MAX_LINES:
        raise ValueError(
            f"{len(found)} lines cannot be told apart, at most {MAX_LINES} can; varied besides: {', '.join(settings)}\n"
            f"  help: choose values: --where {settings[0] if settings else 'label'}=..., in Python where={{...}}"
        )
    return found


def metric(
    flows: pl.DataFrame,
    axes_: Sequence[str],
    x: str,
    y: str = "goodput_mbps",
    by: Sequence[str] = (),
    ax: Axes | None = None,
) -> Picture:
    """A metric over a swept setting: the mean over seeds, with a band, the 95 % interval of the mean.

    Where ``x`` is no quantity, intervals are bars.
    """
    x = axis_named(flows, axes_, x)
    flows = with_metric(flows, y)
    found = lines(flows, axes_, x, by)
    chosen = looks([(line.algorithm, line.name) for line in found])
    scale = Scale.of(x, [str(value) for value in flows[x].drop_nulls().to_list()])
    repeats = 1
    with one_panel(ax, 6.4, 4.0) as (figure, axes):
        handles = []
        for line in found:
            style = chosen[line.algorithm, line.name]
            points = list(_intervals(line.rows, x, y, scale))
            repeats = max([repeats, *(interval.n for _, interval in points)])
            _draw(axes, points, style, band=scale.is_numeric)
            handles.append(Line2D([], [], marker=style.marker, **style.line(), label=line.name))
        scale.apply(axes)
        vertical(axes, y)
        if repeats > 1:
            axes.set_title(f"mean of {repeats} runs, 95 % interval", loc="right", fontsize=small())
        legend(figure, handles, ax=ax)
    return figure


def _intervals(rows: pl.DataFrame, x: str, y: str, scale: Scale) -> Iterator[tuple[float, metrics.Interval]]:
    parts = rows.partition_by(x, as_dict=True, maintain_order=True)
    placed = sorted((scale.place(str(value)), part) for (value,), part in parts.items() if value is not None)
    for place, part in placed:
        if (interval := metrics.mean_interval(over_runs(part, y))) is not None:
            yield place, interval


def _draw(axes: Axes, points: Sequence[tuple[float, metrics.Interval]], style: Look, *, band: bool) -> None:
    x = [place for place, _ in points]
    y = [interval.estimate for _, interval in points]
    half = [interval.half_width if interval.has_width else 0.0 for _, interval in points]
    axes.plot(x, y, marker=style.marker, **style.line())
    if not any(half):
        return
    if band:
        low, high = np.subtract(y, half), np.add(y, half)
        axes.fill_between(x, low, high, color=style.shown, alpha=0.18, linewidth=0)
    else:
        axes.errorbar(x, y, yerr=half, fmt="none", ecolor=style.shown, capsize=2.5)


def heat_map(
    flows: pl.DataFrame,
    axes_: Sequence[str],
    x: str,
    by: str,
    y: str = "goodput_mbps",
    who: str = "",
    ax: Axes | None = None,
) -> Picture:
    """A metric over two swept settings, ``x`` and ``by``, as a map: the mean over seeds, a cell a pair of values.

    Args:
        flows: The flows of the sweep.
        axes_: Its swept settings.
        x: The setting from left to right.
        by: The setting from bottom to top.
        y: The metric that the cells show.
        who: Whose flows these are, for the scale.
        ax: The panel of somebody else's figure to draw into.
    """
    x, by = axis_named(flows, axes_, x), axis_named(flows, axes_, by)
    flows = with_metric(flows, y)
    across, up = (Scale.of(axis, [str(value) for value in flows[axis].to_list()]) for axis in (x, by))
    cells = np.full((len(up.values), len(across.values)), np.nan)
    for (column, row), part in flows.partition_by(x, by, as_dict=True).items():
        if samples := over_runs(part, y):
            cells[up.values.index(str(row)), across.values.index(str(column))] = float(np.mean(samples))
    with one_panel(ax, 6.0, 4.2) as (figure, axes):
        low, high = _span(cells)
        shades: Any = axes.imshow(cells, origin="lower", aspect="auto", cmap="cividis", vmin=low, vmax=high)
        axes.grid(visible=False)
        axes.set_xticks(range(len(across.values)), labels=list(across.values))
        axes.set_yticks(range(len(up.values)), labels=list(up.values))
        axes.set_xlabel(setting_name(x).replace("_", " "))
        axes.set_ylabel(setting_name(by).replace("_", " "))
        for (row_index, column_index), value in np.ndenumerate(cells):
            if np.isfinite(value):
                colour = ink_on(shades, float(value))
                axes.text(column_index, row_index, f"{value:.3g}", ha="center", va="center", color=colour)
        figure.colorbar(shades, ax=axes, label=label_of(y) + (f", {caption(who)}" if who else ""))
    return figure


def _span(cells: metrics.FloatArray) -> tuple[float, float]:
    """The values between which colours change: differences that are noise get the same colour."""
    low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
    half = LEAST_SPAN / 2 * abs(low + high) / 2
    middle = (low + high) / 2
    return (low, high) if high - low >= 2 * half else (middle - half, middle + half)
