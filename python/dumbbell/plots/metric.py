"""Any metric over any swept setting, and over two of them as a map."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dumbbell import metrics
from dumbbell.plots.axes import LEAST_SPAN, Scale, label_of, name_places, vertical
from dumbbell.plots.panels import Panel, columns_of, multiples, panels_of
from dumbbell.plots.style import Look, Picture, caption, ink_on, legend, looks, named
from dumbbell.results import following_axes, separating_axes, setting_name
from dumbbell.selection import OF_A_FLOW, OF_A_RUN, axis_named, of_whom, over_runs, with_metric

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


def lines(
    flows: pl.DataFrame, axes_: Sequence[str], x: str, by: Sequence[str], apart: Sequence[str] = ()
) -> list[Line]:
    """The flows by algorithm, by what ``by`` names, and by every other setting that would be mixed otherwise.

    ``apart`` are columns that panels tell apart.
    """
    others = separating_axes(flows, axes_, (x, *apart))
    wanted = [axis_named(flows, axes_, word) if word not in OF_A_FLOW else word for word in by]
    settings = list(dict.fromkeys([*(word for word in wanted if word in axes_ and word != x), *others]))
    settings = [axis for axis in settings if axis not in apart]
    several = not wanted or flows["label"].n_unique() > flows["cc"].n_unique()
    with_label = "label" in wanted or (several and "label" not in apart)
    keys = ["cc", *(["label"] if with_label else []), *settings]
    parts = flows.partition_by(*keys, as_dict=True, maintain_order=True)
    first = len(keys) - len(settings)
    last = Counter(map(setting_name, settings))
    values: defaultdict[tuple[Any, int], set[Any]] = defaultdict(set)
    for key, place in itertools.product(parts, range(first, len(keys))):
        values[key[:first], place].add(key[place])
    found = []
    for key, rows in parts.items():
        algorithm = str(key[0])
        name = named(algorithm, str(key[1])) if with_label else algorithm
        words = [
            f"{setting_name(axis) if last[setting_name(axis)] == 1 else axis} {key[place]}"
            for place, axis in enumerate(settings, first)
            # The name says the algorithm of the line's own flow, not that of another one.
            if setting_name(axis) != "cc" or len(values[key[:first], place]) > 1
        ]
        found.append(Line(algorithm, caption(", ".join([name, *words])), rows))
    if len(found) > MAX_LINES:
        varied = settings or ["label"]
        raise ValueError(
            f"{len(found)} lines cannot be told apart, at most {MAX_LINES} can; varied besides: {', '.join(varied)}\n"
            f"  help: give a setting panels of its own: --panels {setting_name(varied[0])}, or choose values: "
            "--where NAME=VALUE"
        )
    return found


def with_followers(label: str, flows: pl.DataFrame, axes_: Sequence[str], x: str) -> str:
    """The label of the axis of a setting, and the settings that move along with it."""
    names = dict.fromkeys(setting_name(axis) for axis in following_axes(flows, axes_, x))
    others = [name.replace("_", " ") for name in names if name != setting_name(x)]
    return f"{label}, with {', '.join(others)}" if others else label


def with_values(flows: pl.DataFrame, y: str) -> pl.DataFrame:
    """The flows with the metric ``y``.

    Raises:
        ValueError: There is no such metric, or no flow has it.
    """
    flows = with_metric(flows, y)
    if flows[y].null_count() == flows.height:
        raise ValueError(f"there is no value of {y}")
    return flows


def metric(
    flows: pl.DataFrame,
    axes_: Sequence[str],
    x: str,
    y: str = "goodput_mbps",
    by: Sequence[str] = (),
    ax: Axes | None = None,
    panels: Sequence[str] = (),
) -> Picture:
    """A metric over a swept setting: the mean over seeds, with a band, the 95 % interval of the mean.

    Where ``x`` is no quantity, intervals are bars. ``panels`` names what has panels of its own.
    """
    x = axis_named(flows, axes_, x)
    flows = of_whom(with_values(flows, y), y)
    apart = columns_of(flows, axes_, panels)
    chosen = looks([(line.algorithm, line.name) for line in lines(flows, axes_, x, by, apart)])
    scale = Scale.of(x, [str(value) for value in flows[x].drop_nulls().to_list()])
    repeats = 1
    parts = panels_of(flows, apart)
    with multiples([part.title for part in parts], ax) as (figure, grid):
        for axes, line in _panels_of_lines(parts, grid, flows, lines(flows, axes_, x, by, apart)):
            points = list(_intervals(line.rows, x, y, scale))
            repeats = max([repeats, *(interval.n for _, interval in points)])
            _draw(axes, points, chosen[line.algorithm, line.name], band=scale.is_numeric)
        for axes in grid:
            scale.apply(axes)
            axes.set_xlabel(with_followers(scale.label, flows, axes_, x))
        vertical(grid, y)
        handles = [
            Line2D([], [], marker=style.marker, **style.line(), label=name) for (_, name), style in chosen.items()
        ]
        legend(figure, handles, f"mean of {repeats} runs, 95 % interval" if repeats > 1 else None, ax=ax)
    return figure


def _panels_of_lines(
    parts: Sequence[Panel], grid: Sequence[Axes], flows: pl.DataFrame, found: Sequence[Line]
) -> Iterator[tuple[Axes, Line]]:
    """The part of each line that each panel shows."""
    for part, axes in zip(parts, grid, strict=True):
        for line in found:
            rows = line.rows if part.rows is flows else line.rows.join(part.rows, on=["point", "flow"], how="semi")
            if not rows.is_empty():
                yield axes, Line(line.algorithm, line.name, rows)


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


MOST = {OF_A_RUN: 1.0}
"""What a metric cannot exceed."""


def heat_map(
    flows: pl.DataFrame,
    axes_: Sequence[str],
    x: str,
    by: str,
    y: str = "goodput_mbps",
    who: str = "",
    ax: Axes | None = None,
    panels: Sequence[str] = (),
) -> Picture:
    """A metric over two swept settings, ``x`` and ``by``, as a map: the mean over seeds, a cell a pair of values.

    What a cell would mix, algorithms, labels and other settings, has panels of its own.

    Args:
        flows: The flows of the sweep.
        axes_: Its swept settings.
        x: The setting from left to right.
        by: The setting from bottom to top.
        y: The metric that the cells show.
        who: Whose flows these are, for the scale.
        ax: The panel of somebody else's figure to draw into.
        panels: What has panels of its own before what would be mixed.
    """
    x, by = axis_named(flows, axes_, x), axis_named(flows, axes_, by)
    if x == by:
        raise ValueError(
            f"a map is over two settings, and both axes are {x}; one alone is on the axis of a line or boxes"
        )
    flows = with_values(flows, y)
    across, up = (Scale.of(axis, [str(value) for value in flows[axis].to_list()]) for axis in (x, by))
    parts = panels_of(flows, _told_apart(flows, axes_, (x, by), y, columns_of(flows, axes_, panels)))
    maps = [_cells(part.rows, x, by, y, (across, up)) for part in parts]
    with multiples([part.title for part in parts], ax, 6.0, 4.2) as (figure, grid):
        low, high = _span(np.array(maps), MOST.get(y, math.inf))
        for axes, cells in zip(grid, maps, strict=True):
            shades: Any = axes.imshow(cells, origin="lower", aspect="auto", cmap="cividis", vmin=low, vmax=high)
            axes.grid(visible=False)
            name_places(axes.xaxis, range(len(across.values)), across.values)
            name_places(axes.yaxis, range(len(up.values)), up.values)
            axes.set_xlabel(setting_name(x).replace("_", " "))
            axes.set_ylabel(setting_name(by).replace("_", " "))
            for (row, column), value in np.ndenumerate(cells):
                if np.isfinite(value):
                    colour = ink_on(shades, float(value))
                    axes.text(column, row, f"{value:.3g}", ha="center", va="center", color=colour)
        figure.colorbar(shades, ax=grid, label=label_of(y) + (f", {caption(who)}" if who else ""))
    return figure


def _told_apart(
    flows: pl.DataFrame, axes_: Sequence[str], cell: Sequence[str], y: str, panels: Sequence[str]
) -> list[str]:
    """The columns in which the rows of a cell differ, besides their repetition."""
    import polars as pl

    # What is the index of a run is that of all its flows.
    of_a_flow = [column for column in ("cc", "label") if column not in panels and y != OF_A_RUN]
    swept = [axis for axis in axes_ if axis in flows.columns and axis not in (*cell, *panels)]
    found = list(panels)
    for column in (*of_a_flow, *swept):
        if flows.group_by(*cell, *found).agg(pl.col(column).n_unique())[column].max() != 1:
            found.append(column)
    return found


def _cells(rows: pl.DataFrame, x: str, by: str, y: str, scales: tuple[Scale, Scale]) -> metrics.FloatArray:
    across, up = scales
    cells = np.full((len(up.values), len(across.values)), np.nan)
    for (column, row), part in rows.partition_by(x, by, as_dict=True).items():
        if samples := over_runs(part, y):
            cells[up.values.index(str(row)), across.values.index(str(column))] = float(np.mean(samples))
    return cells


def _span(cells: metrics.FloatArray, most: float = math.inf) -> tuple[float, float]:
    """The values between which colours change: differences that are noise get the same colour.

    None of them is above ``most``, which the metric cannot exceed.
    """
    low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
    half = LEAST_SPAN / 2 * abs(low + high) / 2
    middle = (low + high) / 2
    if high - low >= 2 * half:
        return low, high
    middle = min(middle, most - half)
    return middle - half, middle + half
