"""Pictures of runs over time."""

from __future__ import annotations

import difflib
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dumbbell.inference import FloatArray
from dumbbell.plots.axes import label_of, vertical
from dumbbell.plots.capacity import base_rtt_and_bdp, capacity_over_time
from dumbbell.plots.fit import REFERENCE
from dumbbell.plots.limits import band
from dumbbell.plots.style import HATCHES, Look, Picture, caption, fitted, ink, legend, looks, named, one_panel, small
from dumbbell.recorded import check_samples

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.results import Result

CROWD = 6
"""From this many flows on, lines are thin and without markers."""
MOST_POINTS = 20_000
"""More points of a line than these are drawn as the range of their neighbours."""
RATE_POINTS = 120
"""How many bins the overview's rates have: with more, bursts hide the course of a flow."""


@dataclass(frozen=True)
class _Line:
    """A flow with its samples and its look."""

    algorithm: str
    label: str
    look: Look
    samples: pl.DataFrame


def overview(results: Sequence[Result], names: Sequence[str] = ("",), title: str = "") -> Picture:
    """Throughput, RTT, bottleneck queue, cwnd with in-flight data against the BDP, and what limits flows, over time.

    Several runs of the same path lie over each other; ``names``, one a run, tell flows of the same label apart. Where
    the bottleneck's rate changes, an area behind the rates shows it.
    """
    lines = _lines(results, names, OVERVIEW, _LIMIT)
    heights = _heights(lines)
    with fitted(7.2, 8.2 + 0.4 * len(heights[4:]), panels=len(heights)) as figure:
        column = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
        offered = _draw_overview(column, results, lines)
        legend(figure, [*_handles(lines), _in_flight(), *offered], title or None)
    return figure


def overviews(results: Sequence[Result], names: Sequence[str], title: str = "") -> Picture:
    """Such pictures beside each other, a column a run, since each run has a link of its own; axes are shared."""
    lines = [_lines([result], [""], OVERVIEW, _LIMIT) for result in results]
    flows = looks([(line.algorithm, line.label) for own in lines for line in own])
    lines = [[replace(line, look=flows[line.algorithm, line.label]) for line in own] for own in lines]
    heights = max((_heights(own) for own in lines), key=len)
    with fitted(3.4 * len(results) + 0.8, 8.2 + 0.4 * len(heights[4:]), panels=len(heights)) as figure:
        share: dict[str, Any] = {"sharex": True, "sharey": "row", "squeeze": False}
        grid = figure.subplots(len(heights), len(results), height_ratios=heights, **share)
        offered: list[Patch] = []
        for column, result, own, name in zip(grid.T, results, lines, names, strict=True):
            offered += _draw_overview(column, [result], own)
            column[0].set_title(caption(name), fontsize=small())
        for axes in grid[:, 1:].flat:
            axes.set_ylabel("")
        handles = {handle.get_label(): handle for own in lines for handle in _handles(own)}
        others = {patch.get_label(): patch for patch in offered}
        legend(figure, [*handles.values(), _in_flight(), *others.values()], title or None)
    return figure


OVERVIEW = ("received_mbps", "srtt_ms", "cwnd", "inflight")
"""The columns that an overview shows."""

HEIGHTS = (1.1, 1, 0.8, 1.2)
"""Of its panels without the band."""


def _heights(lines: Sequence[_Line]) -> tuple[float, ...]:
    """Of all panels; results of an earlier version do not say what limits flows."""
    rows = 1 if len(lines) >= CROWD else len(lines)
    return (*HEIGHTS, 0.25 + 0.15 * rows) if any(_LIMIT in line.samples for line in lines) else HEIGHTS


_LIMIT = "limited_by"


def _in_flight() -> Line2D:
    return Line2D([], [], color=ink(), linewidth=0.8, alpha=0.55, label="in flight")


def _draw_overview(panels: Sequence[Axes], results: Sequence[Result], lines: list[_Line]) -> list[Patch]:
    """Draws into panels below each other, and returns the entries of what is no line."""
    rate, rtt, queue, window = panels[:4]
    _, link = _bottleneck(results[0])
    offered = _draw_capacity(rate, results[0])
    _draw(rate, lines, "received_mbps", points=RATE_POINTS)
    capacity = _finite(link.get("capacity_mbps"))
    if capacity is not None:
        varies = max(float(np.nanmax(line.get_ydata(), initial=0)) for line in rate.get_lines()) > 1.05 * capacity
        _reference(rate, capacity, f"mean capacity\n{capacity:.3g}" if varies else f"capacity {capacity:.3g}")
    _draw(rtt, lines, "srtt_ms")
    base_rtt, bdp = base_rtt_and_bdp(results[0], link)
    if base_rtt is not None:
        _reference(rtt, base_rtt, f"base {base_rtt:.3g}")
    _draw_queue(queue, results, lines)
    _draw(window, lines, "cwnd")
    _draw(window, lines, "inflight", faint=True)
    if bdp is not None:
        _reference(window, bdp, f"BDP {bdp:.3g}")
        window.set_ylim(top=min(window.get_ylim()[1], _window_ceiling(lines, bdp)))
    for axes, label in (
        (rate, "received\n(Mbit/s)"),
        (rtt, "smoothed RTT\n(ms)"),
        (queue, f"queue of\n{caption(link.get('name', 'bottleneck'))} (kB)"),
        (window, "cwnd, in flight\n(packets)"),
    ):
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.margins(x=0)
    window.set_xlim(left=0)
    for limits in panels[4:]:
        offered += band(limits, _rows_of_band(lines))
        limits.set_ylabel("limited by\n(share)")
    panels[-1].set_xlabel("time (s)")
    return offered


def _rows_of_band(lines: Sequence[_Line]) -> list[tuple[str, pl.DataFrame]]:
    """A row a flow, or one for all of many."""
    import polars as pl

    parts = [(line.label, line.samples.select("t_s", _LIMIT)) for line in lines if _LIMIT in line.samples]
    if len(parts) < CROWD:
        return parts
    return [("all", pl.concat([samples for _, samples in parts]).sort("t_s", maintain_order=True))]


def series(result: Result, column: str, ax: Axes | None = None) -> Picture:
    """One column of ``series`` over time, a line a flow."""
    lines = _numbers(result, column)
    with one_panel(ax, 7.2, 3.4) as (figure, axes):
        offered = _draw_capacity(axes, result) if column == "received_mbps" else []
        _draw(axes, lines, column)
        axes.set_xlabel("time (s)")
        axes.margins(x=0)
        axes.set_xlim(left=0)
        vertical(axes, column)
        legend(figure, [*_handles(lines), *offered], ax=ax)
    return figure


def shares(result: Result, column: str = "received_mbps", ax: Axes | None = None) -> Picture:
    """What each flow has of the whole, stacked over time; of flows with one label the sum."""
    lines = _numbers(result, column)
    grid = np.unique(np.concatenate([line.samples["t_s"].to_numpy() for line in lines]))
    stacked: dict[str, Any] = {}
    for line in lines:
        values = line.samples[column].cast(float).fill_null(0.0).to_numpy()
        whole = np.zeros(grid.size)
        whole[np.searchsorted(grid, line.samples["t_s"].to_numpy())] = values
        stacked[line.label] = stacked.get(line.label, 0.0) + whole
    span = _bin([grid], RATE_POINTS)
    t, rows = (_averaged(values, grid, span) for values in (grid, np.array(list(stacked.values()))))
    chosen = {line.label: line.look for line in lines}
    with one_panel(ax, 7.2, 3.6) as (figure, axes):
        areas = axes.stackplot(t, rows, colors=[chosen[label].shown for label in stacked], alpha=0.75)
        for area, label, hatch in zip(areas, stacked, itertools.cycle(HATCHES), strict=False):
            area.set(label=label, hatch=hatch, edgecolor=ink(), linewidth=0.4)
        _, link = _bottleneck(result)
        if (capacity := _finite(link.get("capacity_mbps"))) is not None and "mbps" in column:
            _reference(axes, capacity, f"mean capacity\n{capacity:.3g}")
        axes.set_xlabel("time (s)")
        axes.set_ylabel(f"{label_of(column)}, stacked")
        axes.margins(x=0)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        legend(figure, areas, ax=ax)
    return figure


def _bin(times: Sequence[FloatArray], points: int) -> float:
    """How long a bin is (s) of which all lines together have about so many.

    It is one for all lines, since what is averaged over less time looks livelier than what is beside it.
    """
    several = [t for t in times if t.size > 1]
    if not several:
        return 0.0
    # A sample is of the time before it.
    begin, end = min(t[0] - (t[1] - t[0]) for t in several), max(t[-1] for t in several)
    return float(end - begin) / points


def _averaged(values: Any, t: FloatArray, span: float) -> Any:
    """The samples of instants, along the last axis, averaged over bins of about this span (s)."""
    *rows, bins = values.shape
    # Instants are rounded, and a whole number of samples may seem to be a little less.
    width = max(1, int(span / (t[1] - t[0]) + 1e-6)) if bins > 1 else 1
    width = min(width, max(bins, 1))
    count = bins // width
    return values[..., : count * width].reshape(*rows, count, width).mean(axis=-1)


def _ranges(t: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The values, or of too many the smallest and the largest of neighbours: a line through them looks the same."""
    if t.size <= MOST_POINTS:
        return t, values
    width = -(-2 * t.size // MOST_POINTS)
    starts = np.arange(0, t.size, width)
    both = np.column_stack([np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)])
    return np.repeat(t[starts], 2), both.ravel()


def check_column(result: Result, column: str) -> None:
    """Refuses a column that is none of numbers, with those that a person may have meant first.

    Raises:
        ValueError: There is no such column, or it holds words.
    """
    schema = result.series.lazy().collect_schema()
    numbers = [name for name, kind in schema.items() if kind.is_numeric() and name not in ("t_s", "flow")]
    if column not in numbers:
        near = difflib.get_close_matches(column, numbers, n=1)
        meant = f"; did you mean {near[0]}?" if near and column not in schema else ""
        raise ValueError(f"no column {column!r} of numbers in series{meant}\n  help: there are {', '.join(numbers)}")


def _numbers(result: Result, column: str) -> list[_Line]:
    """A line a flow, of a column of numbers.

    Raises:
        ValueError: There is no such column, or nothing in it.
    """
    check_column(result, column)
    lines = _lines([result], [""], [column])
    if all(line.samples[column].null_count() == line.samples.height for line in lines):
        raise ValueError(f"there is no value of {column}")
    return lines


def _lines(results: Sequence[Result], names: Sequence[str], columns: Sequence[str], *perhaps: str) -> list[_Line]:
    """A line a flow, with these columns, and those of ``perhaps`` that its results have.

    Raises:
        ValueError: A run has no samples.
    """
    for result in results:
        check_samples(result)
    flows_of = [
        [
            (cc, caption(", ".join(filter(None, (named(cc, label), name)))))
            for cc, label in result.flows.to_polars().select("cc", "label").rows()
        ]
        for result, name in zip(results, names, strict=True)
    ]
    chosen = looks([flow for flows in flows_of for flow in flows])
    lines = []
    for result, flows in zip(results, flows_of, strict=True):
        there = [column for column in perhaps if column in result.series.columns]
        parts = by_flow(result, ("t_s", *columns, *there))
        lines += [_Line(*kind, chosen[kind], until_the_end(part)) for kind, part in zip(flows, parts, strict=True)]
    return lines


def by_flow(result: Result, columns: Sequence[str]) -> list[pl.DataFrame]:
    """These columns of the time series of each flow, and those of ``PROGRESS``."""
    samples = result.series.to_polars(list(dict.fromkeys(["flow", *columns, *PROGRESS])))
    parts = samples.partition_by("flow", as_dict=True, maintain_order=True, include_key=False)
    none = samples.drop("flow").clear()
    return [parts.get((index,), none) for index in range(len(result.flows))]


PROGRESS = ("acked_total", "sent_total", "inflight")
"""What changes as long as a flow lives."""


def until_the_end(samples: pl.DataFrame) -> pl.DataFrame:
    """The samples up to the one after which nothing was sent, acknowledged or in flight any more.

    What is recorded of a flow that has ended, its last window for example, is not drawn on as if it still were.
    """
    if samples.height == 0:
        return samples
    progress = [samples[column].cast(float).fill_null(0.0).to_numpy() for column in PROGRESS]
    idle = np.all([values == values[-1] for values in progress], axis=0)
    if progress[-1][-1] > 0 or idle.all():
        return samples
    return samples.head(int(np.flatnonzero(~idle)[-1]) + 2)


def _bottleneck(result: Result) -> tuple[int, dict[str, Any]]:
    """Index and row of the link that the pictures show: the one called bottleneck, or the busiest."""
    links = result.links.rows()
    if not links:
        return 0, {}
    best = max(
        range(len(links)), key=lambda i: (links[i]["name"] == "bottleneck", _finite(links[i]["utilization"]) or 0.0)
    )
    return best, links[best]


def _draw(axes: Axes, lines: list[_Line], column: str, *, faint: bool = False, points: int | None = None) -> None:
    """Draws a column of every flow; with ``points`` its means over bins, about that many of the whole time."""
    crowded = len(lines) >= CROWD
    span = _bin([line.samples["t_s"].to_numpy() for line in lines], points) if points else 0.0
    for number, line in enumerate(lines):
        t = line.samples["t_s"].to_numpy()
        values = line.samples[column].cast(float).fill_null(np.nan).to_numpy()
        if points is not None:
            t, values = (_averaged(samples, t, span) for samples in (t, values))
        else:
            t, values = _ranges(t, values)
        if faint:
            axes.plot(t, values, **line.look.line(linewidth=0.8, alpha=0.55, linestyle="-"))
            continue
        marks: dict[str, Any] = {}
        if not crowded and t.size:
            # A few marks a line, never at the same place as another line's.
            every = max(1, t.size // 10)
            marks = {"marker": line.look.marker, "markevery": (number * every // len(lines) % every, every)}
        weight = {"linewidth": 0.7, "alpha": 0.7} if crowded else {"linewidth": 1.3}
        axes.plot(t, values, **line.look.line(**weight, **marks))


def _draw_queue(axes: Axes, results: Sequence[Result], lines: list[_Line]) -> None:
    """The queue as an area; of several runs as lines in the look of their first flow."""
    import polars as pl

    first_flow = 0
    for result in results:
        samples = result.link_series.to_polars(["t_s", "link", "queue_bytes"])
        if samples.height:
            samples = samples.filter(pl.col("link") == _bottleneck(result)[0])
            t, queue = _ranges(samples["t_s"].to_numpy(), samples["queue_bytes"].cast(float).to_numpy() / 1e3)
            if len(results) == 1:
                axes.fill_between(t, queue, color="#999999", alpha=0.5, linewidth=0)
                axes.plot(t, queue, color=ink(), linewidth=0.8)
            else:
                axes.plot(t, queue, **lines[first_flow].look.line(linewidth=1.0))
        first_flow += len(result.flows)


def _draw_capacity(axes: Axes, result: Result) -> list[Patch]:
    """The rate of a bottleneck that changes, as an area behind everything, and its entry of the legend."""
    index, _ = _bottleneck(result)
    steps = capacity_over_time(result, index, RATE_POINTS)
    if steps is None:
        return []
    shade: dict[str, Any] = {"color": "#999999", "alpha": 0.3, "linewidth": 0}
    axes.fill_between(*steps, step="post", zorder=0, **shade)
    return [Patch(**shade, label="capacity")]


def _reference(axes: Axes, value: float, label: str) -> None:
    axes.axhline(value, color=ink(), linewidth=0.9, linestyle=(0, (2, 2)))
    axes.annotate(
        label, (1, value), xycoords=("axes fraction", "data"), xytext=(4, 0), textcoords="offset points", va="center",
        fontsize=small(), color=ink(), annotation_clip=False, gid=REFERENCE,
    )  # fmt: skip


def _window_ceiling(lines: list[_Line], bdp: float) -> float:
    """Top of the window's axis: a short slow-start overshoot must not flatten the rest of the run."""
    values = np.concatenate([line.samples["cwnd"].cast(float).drop_nulls().to_numpy() for line in lines])
    return 1.3 * max(float(np.quantile(values, 0.99)), bdp) if values.size else np.inf


def _handles(lines: list[_Line]) -> list[Line2D]:
    """One entry a label, with the number of its flows."""
    counts = Counter((line.label, line.look) for line in lines)
    return [
        Line2D([], [], marker=look.marker, **look.line(), label=f"{label} (x{n})" if n > 1 else label)
        for (label, look), n in counts.items()
    ]


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and np.isfinite(value) else None
