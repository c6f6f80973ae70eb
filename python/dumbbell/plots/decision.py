"""The map of what to choose: a row for each company, queues from left to right, and below what the candidates had."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from dumbbell import metrics
from dumbbell.plots.axes import HEADROOM
from dumbbell.plots.style import HATCHES, Look, Picture, caption, ink, legend, looks, small
from dumbbell.plots.style import picture as new_picture

if TYPE_CHECKING:
    from dumbbell.advice.map import Cell, DecisionMap, Row

OPEN = "#D9D9D9"
"""Where no difference is shown."""

PALE = 0.45
"""How much of a colour an area has, so that words on it can be read."""

LEAST_PART = 0.012
"""Of the width of the map that a letter of a region's name needs."""

MAX_PANELS = 4
"""Rows of the map whose numbers are drawn; the table has those of all."""


def picture(found: DecisionMap) -> Picture:
    """The map, and the goodput and delay of the candidates in each row, with 95 % intervals."""
    rows = found.by_row()
    shown = list(rows)[:MAX_PANELS]
    chosen = looks([(name, name) for name in found.candidates])
    of = {name: chosen[name, name] for name in found.candidates}
    height = 1.1 + 0.5 * len(rows)
    with new_picture(2.6 * max(len(shown), 2) + 1.6, height + 4.0, panels=1 + 2 * len(shown)) as figure:
        parts = figure.add_gridspec(3, len(shown), height_ratios=[height, 2.0, 2.0])
        top = figure.add_subplot(parts[0, :])
        _draw_map(top, found, rows, of)
        for line, (number, label) in enumerate([(0, "goodput (Mbit/s)"), (1, "p95 RTT (ms)")]):
            first: Axes | None = None
            for column, row in enumerate(shown):
                axes = figure.add_subplot(parts[1 + line, column], sharey=first)
                first = first or axes
                _draw_numbers(axes, rows[row], of, number)
                if line == 0:
                    axes.set_title(caption(str(row)), fontsize=small(), loc="left")
                else:
                    axes.set_xlabel("queue (BDP)")
                if column == 0:
                    axes.set_ylabel(label)
                else:
                    axes.tick_params(labelleft=False)
        handles = [Line2D([], [], marker=look.marker, **look.line(), label=caption(name)) for name, look in of.items()]
        legend(figure, [*handles, Patch(facecolor=OPEN, edgecolor=ink(), label="no difference shown")])
    return figure


def _draw_map(axes: Axes, found: DecisionMap, rows: dict[Row, list[Cell]], of: dict[str, Look]) -> None:
    names = list(of)
    axes.grid(visible=False)
    places = [cell.queue.bdp for cell in found.cells if math.isfinite(cell.queue.bdp)]
    span = 1.2**2 * max(places) / min(places)
    for number, row in enumerate(rows):
        for region in found.regions(row):
            edges = [_edges(rows[row], cell) for cell in region.cells]
            low, high = edges[0][0], edges[-1][1]
            is_choice = len(region.best) == 1
            look = of[region.best[0]]
            axes.add_patch(
                Rectangle(
                    (low, number - 0.42), high - low, 0.84, linewidth=0.6, edgecolor=ink(),
                    facecolor=_pale(look.shown) if is_choice else OPEN,
                    hatch=HATCHES[names.index(region.best[0]) % len(HATCHES)] if is_choice else "",
                )
            )  # fmt: skip
            part = math.log(high / low) / math.log(span)
            words = " or\n".join(region.best)
            if len(region.best) == len(names) or part < LEAST_PART * max(map(len, words.split("\n"))):
                # The legend says what grey is, the table what a narrow region is.
                continue
            name = "\n".join(map(caption, words.split("\n")))
            axes.text(
                math.sqrt(low * high), number, name, ha="center", va="center", fontsize=small(), color="black",
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0},
            )  # fmt: skip
        tried = [_place(rows[row], cell) for cell in rows[row]]
        axes.plot(tried, [number + 0.42] * len(tried), linestyle="none", marker="|", markersize=4, color="black")
    axes.set_yticks(range(len(rows)), labels=[caption(str(row)) for row in rows])
    axes.set_ylim(len(rows) - 0.45, -0.55)
    _queues(axes, rows.values())
    axes.set_xlabel("queue (BDP)")
    axes.set_title("what to choose; marks are queues that were tried", loc="left", fontsize=small())


def _draw_numbers(axes: Axes, cells: Sequence[Cell], of: dict[str, Look], number: int) -> None:
    """Goodput (0) or delay (1) of each candidate over the queue."""
    for name, look in of.items():
        points = []
        for cell in cells:
            samples = [run[number] for run in cell.runs[name].values() if run[number] is not None]
            interval = metrics.mean_interval(np.array(samples, dtype=np.float64))
            if interval is not None:
                points.append((_place(cells, cell), interval))
        x, y = [place for place, _ in points], [interval.estimate for _, interval in points]
        axes.plot(x, y, marker=look.marker, markersize=3.5, **look.line())
        half = [interval.half_width if interval.has_width else 0.0 for _, interval in points]
        axes.fill_between(x, np.subtract(y, half), np.add(y, half), color=look.shown, alpha=0.18, linewidth=0)
    _queues(axes, [cells])
    if number == 0:
        axes.set_ylim(0, HEADROOM * max(axes.dataLim.y1, axes.get_ylim()[1]))
    else:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_locator(NullLocator())


def _place(cells: Sequence[Cell], cell: Cell) -> float:
    """Where a queue stands; one without a limit behind the largest that has one."""
    finite = [one.queue.bdp for one in cells if math.isfinite(one.queue.bdp)]
    return cell.queue.bdp if math.isfinite(cell.queue.bdp) else 2 * max(finite, default=1.0)


def _edges(cells: Sequence[Cell], cell: Cell) -> tuple[float, float]:
    """The part of the axis that a queue stands for: to the midst between it and its neighbours."""
    places = [_place(cells, one) for one in cells]
    number = cells.index(cell)
    here = places[number]
    below = places[number - 1] if number else here / 1.15**2
    above = places[number + 1] if number + 1 < len(places) else here * 1.15**2
    return math.sqrt(below * here), math.sqrt(here * above)


def _queues(axes: Axes, rows: object) -> None:
    """The horizontal axis: bandwidth-delay products, logarithmic, with numbers at a few of the places."""
    from dumbbell.advice.map import Cell

    places: dict[float, str] = {}
    for cells in rows:  # type: ignore[attr-defined]
        for cell in cells:
            assert isinstance(cell, Cell)
            place = _place(cells, cell)
            places[place] = f"{place:.3g}" if math.isfinite(cell.queue.bdp) else cell.queue.text
    axes.set_xscale("log")
    low, high = min(places), max(places)
    axes.set_xlim(low / 1.2, high * 1.2)
    ticks = [value for value in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if low <= value <= high * 1.01]
    ticks = ticks or sorted(places)
    named = {place: text for place, text in places.items() if not text[0].isdigit()}
    labels = dict.fromkeys(ticks, "") | {tick: f"{tick:g}" for tick in ticks} | named
    axes.xaxis.set_major_locator(FixedLocator(list(labels)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: labels.get(value, f"{value:.3g}")))
    axes.xaxis.set_minor_locator(NullLocator())


def _pale(colour: str) -> tuple[float, float, float]:
    red, green, blue = (1 - PALE * (1 - part) for part in to_rgb(colour))
    return red, green, blue
