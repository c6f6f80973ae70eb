"""Pictures over flows and runs: trade-off and loss curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dumbbell.plots.axes import label_of, least_span, plain_log_ticks
from dumbbell.plots.metric import metric
from dumbbell.plots.panels import columns_of, multiples, panels_of
from dumbbell.plots.style import Look, Picture, caption, ink, legend, looks, name_mark, named, small
from dumbbell.results import separating_axes, setting_name

if TYPE_CHECKING:
    import polars as pl

NAMED_MARKS = 12
"""Up to this many large marks of a panel have their setting written beside them."""

SAME_PLACE_POINTS = 10
"""Marks closer than this lie on each other."""

Names = list[tuple[tuple[float, float], str]]
"""Places of marks and what is written beside them."""


def tradeoff(
    flows: pl.DataFrame,
    axes_: Sequence[str] = (),
    delay: str = "p95_rtt_ms",
    ax: Axes | None = None,
    panels: Sequence[str] = (),
) -> Picture:
    """Goodput against delay: up and to the right is better.

    A small mark for each flow of each run, a large one for the mean of an algorithm and setting; a thin line joins the
    values of one setting. ``axes_`` are the columns of ``flows`` that a sweep has set; all but one of those that differ
    have panels of their own.
    """
    apart = columns_of(flows, axes_, panels)
    varying = separating_axes(flows, axes_, apart)
    along = max(varying, key=lambda axis: flows[axis].n_unique()) if varying else None
    others = [] if along is None else separating_axes(flows, axes_, [*apart, along])
    if ax is None:
        apart, others = [*apart, *others], []
    kinds = [(str(cc), str(label)) for cc, label in flows.select("cc", "label").unique(maintain_order=True).rows()]
    chosen = looks(kinds)
    parts = panels_of(flows, apart)
    with multiples([part.title for part in parts], ax, 6.4, 4.2) as (figure, grid):
        drawn: set[tuple[str, str]] = set()
        most = drawn_means = 0
        for part, axes in zip(parts, grid, strict=True):
            names: Names = []
            for kind, rows in part.rows.partition_by("cc", "label", as_dict=True, maintain_order=True).items():
                key = (str(kind[0]), str(kind[1]))
                groups = rows.partition_by(*others, maintain_order=True) if others else [rows]
                means = [_marks(axes, group, along, delay, chosen[key]) for group in groups]
                drawn |= {key} if any(means) else set()
                names += [(point, caption(name)) for group in means for point, name in group]
            most = max(most, len(names))
            drawn_means += len(names)
            if along is not None and len(names) <= NAMED_MARKS and not others:
                _name(axes, names)
            axes.set_xlabel(f"{label_of(delay)}, smaller to the right")
            axes.set_ylabel("goodput of a flow (Mbit/s)")
        _delay_axis(grid[0])
        grid[0].set_ylim(0, 1.08 * grid[0].get_ylim()[1])
        if len(grid) == 1:
            grid[0].set_title("better \N{NORTH EAST ARROW}", loc="right", fontsize=small(), color=ink())
        handles = [
            Line2D([], [], **_mark(chosen[key]), markersize=7, label=caption(named(*key)))
            for key in kinds
            if key in drawn
        ]
        words = _explained(flows, along, others, is_named=most <= NAMED_MARKS)
        words += ["small: each flow"] if flows.height > drawn_means else []
        legend(figure, handles, "; ".join(words) or None, ax=ax)
    return figure


def _delay_axis(axes: Axes) -> None:
    """A logarithmic axis of delays that fall to the right."""
    axes.set_xscale("log")
    axes.invert_xaxis()
    least_span(axes, "x")
    plain_log_ticks(axes)


def _mark(style: Look) -> dict[str, Any]:
    return {"color": style.shown, "marker": style.marker, "linestyle": "none"}


def _explained(flows: pl.DataFrame, along: str | None, others: Sequence[str], *, is_named: bool) -> list[str]:
    """What the marks and lines are, as far as that cannot be seen."""
    words = []
    if along is not None and is_named and not others:
        words.append(f"beside the marks: {caption(setting_name(along))}")
    elif along is not None:
        values = flows[along].drop_nulls()
        words.append(f"along a line: {caption(f'{setting_name(along)} {values[0]} to {values[-1]}')}")
    return words


def _marks(
    axes: Axes, rows: pl.DataFrame, along: str | None, delay: str, style: Look
) -> list[tuple[tuple[float, float], str]]:
    """Draws a mark a flow and run, and the mean of each value of a setting; returns those."""
    means = []
    settings = rows.partition_by(along, as_dict=True, maintain_order=True) if along is not None else {("",): rows}
    for (setting,), part in settings.items():
        data = part.select(delay, "goodput_mbps").drop_nulls()
        if data.height == 0:
            continue
        x, y = data[delay].to_numpy(), data["goodput_mbps"].to_numpy()
        if data.height > 1:
            axes.plot(x, y, **_mark(style), markersize=3.5, alpha=0.4, markeredgewidth=0)
        means.append(((float(x.mean()), float(y.mean())), str(setting)))
    if means:
        x, y = np.array([point for point, _ in means]).T
        axes.plot(x, y, **style.line(linewidth=0.7))
        axes.plot(x, y, **_mark(style), markersize=9, markeredgecolor="white", markeredgewidth=0.8)
    return means


def loss_curve(
    flows: pl.DataFrame,
    axes_: Sequence[str],
    column: str = "path.loss",
    ax: Axes | None = None,
    panels: Sequence[str] = (),
) -> Picture:
    """Goodput against random loss, the mean over repetitions with its 95 % interval."""
    if column not in flows.columns:
        raise ValueError(f"this sweep does not vary {column}; it varies {', '.join(axes_) or 'nothing'}")
    return metric(flows, axes_, x=column, y="goodput_mbps", ax=ax, panels=panels)


def _name(axes: Axes, names: Names) -> None:
    """Writes each name beside its mark; marks that lie on each other share one text."""
    groups: list[tuple[tuple[float, float], list[str]]] = []
    dpi = axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    for point, name in names:
        place = axes.transData.transform(point)
        for anchor, members in groups:
            if np.abs(axes.transData.transform(anchor) - place).max() < SAME_PLACE_POINTS * dpi / 72:
                members.append(name)
                break
        else:
            groups.append((point, [name]))
    for anchor, members in groups:
        distinct = list(dict.fromkeys(members))
        text = distinct[0] if len(distinct) == 1 else f"{distinct[0]} to {distinct[-1]}"
        name_mark(axes, text, anchor)
