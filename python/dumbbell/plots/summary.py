"""Pictures over flows and runs: trade-off and loss curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dumbbell.plots.axes import label_of, least_span, plain_log_ticks
from dumbbell.plots.metric import metric
from dumbbell.plots.style import Picture, caption, ink, legend, looks, named, one_panel, small
from dumbbell.results import separating_axes, setting_name

if TYPE_CHECKING:
    import polars as pl

NAMED_MARKS = 12
"""Up to this many large marks have their setting written beside them."""

SAME_PLACE_PIXELS = 14
"""Marks closer than this lie on each other."""

Names = list[tuple[tuple[float, float], str]]
"""Places of marks and what is written beside them."""


def tradeoff(
    flows: pl.DataFrame, axes_: Sequence[str] = (), delay: str = "p95_rtt_ms", ax: Axes | None = None
) -> Picture:
    """Goodput against delay: up and to the right is better.

    A small mark for each flow of each run, a large one for the mean of an algorithm and setting; a thin line joins the
    settings of an algorithm. ``axes_`` are the columns of ``flows`` that a sweep has set.
    """
    varying = separating_axes(flows, axes_)
    kinds = flows.partition_by("cc", "label", as_dict=True, maintain_order=True)
    chosen = looks([(str(cc), str(label)) for cc, label in kinds])
    with one_panel(ax, 6.4, 4.2) as (figure, axes):
        handles = []
        names: Names = []
        for (cc, label), rows in kinds.items():
            style = chosen[str(cc), str(label)]
            mark: dict[str, Any] = {"color": style.shown, "marker": style.marker, "linestyle": "none"}
            settings = rows.partition_by(*varying, as_dict=True, maintain_order=True) if varying else {(): rows}
            means = _marks(axes, settings, delay, mark)
            if not means:
                continue
            names += [(point, caption(", ".join(map(str, setting)))) for point, setting in means]
            centre_x, centre_y = np.array([point for point, _ in means]).T
            axes.plot(centre_x, centre_y, **style.line(linewidth=0.7))
            axes.plot(centre_x, centre_y, **mark, markersize=9, markeredgecolor="white", markeredgewidth=0.8)
            handles.append(Line2D([], [], **mark, markersize=7, label=caption(named(str(cc), str(label)))))
        axes.set_xscale("log")
        axes.invert_xaxis()
        least_span(axes, "x")
        plain_log_ticks(axes)
        axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
        if varying and len(names) <= NAMED_MARKS:
            _name(axes, names)
        axes.set_title(_explained(flows, varying, len(names)), loc="left", fontsize=small(), color=ink())
        axes.set_xlabel(f"{label_of(delay)}, smaller to the right")
        axes.set_ylabel("goodput of a flow (Mbit/s)")
        axes.set_title("better \N{NORTH EAST ARROW}", loc="right", fontsize=small(), color=ink())
        legend(figure, handles, ax=ax)
    return figure


def _explained(flows: pl.DataFrame, varying: Sequence[str], marks: int) -> str:
    """What the marks and lines are, as far as that cannot be seen."""
    words = []
    if varying and marks <= NAMED_MARKS:
        words.append(f"beside the marks: {caption(', '.join(map(setting_name, varying)))}")
    elif varying:
        spans = [
            f"{setting_name(axis)} {flows[axis].drop_nulls()[0]} to {flows[axis].drop_nulls()[-1]}" for axis in varying
        ]
        words.append(f"along a line: {caption(', '.join(spans))}")
    if flows.height > marks:
        words.append("small: each flow")
    return "; ".join(words)


def _marks(
    axes: Axes, settings: dict[Any, pl.DataFrame], delay: str, mark: dict[str, Any]
) -> list[tuple[tuple[float, float], tuple[Any, ...]]]:
    """Draws a mark a flow and run, and returns the mean of each setting."""
    means = []
    for setting, part in settings.items():
        data = part.select(delay, "goodput_mbps").drop_nulls()
        if data.height == 0:
            continue
        x, y = data[delay].to_numpy(), data["goodput_mbps"].to_numpy()
        if data.height > 1:
            axes.plot(x, y, **mark, markersize=3.5, alpha=0.4, markeredgewidth=0)
        means.append(((float(x.mean()), float(y.mean())), setting))
    return means


def loss_curve(flows: pl.DataFrame, axes_: Sequence[str], column: str = "path.loss", ax: Axes | None = None) -> Picture:
    """Goodput against random loss, the mean over repetitions with its 95 % interval."""
    if column not in flows.columns:
        raise ValueError(f"this sweep does not vary {column}; it varies {', '.join(axes_) or 'nothing'}")
    figure = metric(flows, axes_, x=column, y="goodput_mbps", ax=ax)
    axes = ax or figure.axes[0]
    axes.set_xlabel("random loss (%)")
    axes.set_ylabel("goodput of a flow (Mbit/s)")
    return figure


def _name(axes: Axes, names: Names) -> None:
    """Writes each name beside its mark; marks that lie on each other share one text."""
    groups: list[tuple[tuple[float, float], list[str]]] = []
    for point, name in names:
        place = axes.transData.transform(point)
        for anchor, members in groups:
            if np.abs(axes.transData.transform(anchor) - place).max() < SAME_PLACE_PIXELS:
                members.append(name)
                break
        else:
            groups.append((point, [name]))
    for anchor, members in groups:
        distinct = list(dict.fromkeys(members))
        text = distinct[0] if len(distinct) == 1 else f"{distinct[0]} to {distinct[-1]}"
        axes.annotate(text, anchor, xytext=(7, 5), textcoords="offset points", fontsize=small() * 0.94, color=ink())
