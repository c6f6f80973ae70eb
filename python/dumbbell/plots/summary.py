"""Pictures over flows and runs: trade-off and loss curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from dumbbell import metrics
from dumbbell.plots.style import INK, Picture, caption, legend, looks, picture
from dumbbell.results import separating_axes, setting_name

if TYPE_CHECKING:
    import polars as pl

DELAYS = {
    "p95_rtt_ms": "95th percentile of RTT (ms)",
    "mean_rtt_ms": "mean RTT (ms)",
    "mean_one_way_delay_ms": "mean one-way delay (ms)",
}
"""Axis labels of the delays of ``flows``."""

NAMED_MARKS = 12
"""Up to this many large marks have their setting written beside them."""

SAME_PLACE_PIXELS = 14
"""Marks closer than this lie on each other."""


def tradeoff(flows: pl.DataFrame, axes_: Sequence[str] = (), delay: str = "p95_rtt_ms") -> Picture:
    """Goodput against delay: up and to the right is better.

    A small mark for each flow of each run, a large one for the mean of an algorithm and setting; a thin line joins the
    settings of an algorithm. ``axes_`` are the columns of ``flows`` that a sweep has set.
    """
    varying = separating_axes(flows, axes_)
    kinds = flows.partition_by("cc", "label", as_dict=True, maintain_order=True)
    chosen = looks([(str(cc), str(label)) for cc, label in kinds])
    with picture(6.4, 4.2) as figure:
        axes = figure.subplots()
        handles = []
        names: list[tuple[tuple[float, float], str]] = []
        for (cc, label), rows in kinds.items():
            style = chosen[str(cc), str(label)]
            mark: dict[str, Any] = {"color": style.colour, "marker": style.marker, "linestyle": "none"}
            settings = rows.partition_by(*varying, as_dict=True, maintain_order=True) if varying else {(): rows}
            means = []
            for setting, part in settings.items():
                data = part.select(delay, "goodput_mbps").drop_nulls()
                if data.height == 0:
                    continue
                x, y = data[delay].to_numpy(), data["goodput_mbps"].to_numpy()
                if data.height > 1:
                    axes.plot(x, y, **mark, markersize=3.5, alpha=0.4, markeredgewidth=0)
                means.append((float(x.mean()), float(y.mean())))
                names.append(((float(x.mean()), float(y.mean())), caption(", ".join(map(str, setting)))))
            if not means:
                continue
            centre_x, centre_y = np.array(means).T
            axes.plot(centre_x, centre_y, **style.line(linewidth=0.7))
            axes.plot(centre_x, centre_y, **mark, markersize=9, markeredgecolor="white", markeredgewidth=0.8)
            handles.append(Line2D([], [], **mark, markersize=7, label=caption(str(label))))
        axes.set_xscale("log")
        axes.invert_xaxis()
        _plain_log_ticks(axes)
        axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
        if varying and len(names) <= NAMED_MARKS:
            _name(axes, names)
            settings_shown = caption(", ".join(map(setting_name, varying)))
            axes.set_title(f"beside the marks: {settings_shown}", loc="left", fontsize=8, color=INK)
        axes.set_xlabel(f"{DELAYS.get(delay, delay)}, smaller to the right")
        axes.set_ylabel("goodput of a flow (Mbit/s)")
        axes.set_title("better \N{NORTH EAST ARROW}", loc="right", fontsize=8, color=INK)
        legend(figure, handles)
    return figure


def loss_curve(flows: pl.DataFrame, axes_: Sequence[str], column: str = "path.loss") -> Picture:
    """Goodput against random loss, the mean over repetitions with its 95 % interval."""
    if column not in flows.columns:
        raise ValueError(f"this sweep does not vary {column}; it varies {', '.join(axes_) or 'nothing'}")
    import polars as pl

    flows = flows.with_columns(pl.col(column).map_elements(_ratio, pl.Float64).alias("loss"))
    kinds = _kinds(flows, [axis for axis in axes_ if axis != column])
    chosen = looks(list(kinds))
    losses = sorted(set(flows["loss"].to_list()))
    with picture(6.4, 4.0) as figure:
        axes = figure.subplots()
        handles = []
        for kind, rows in kinds.items():
            style = chosen[kind]
            # Flows of one run are not independent: a run is one sample.
            runs = rows.group_by("loss", "point").agg(pl.col("goodput_mbps").mean())
            intervals = [
                (loss, interval)
                for loss in losses
                if (interval := metrics.mean_interval(runs.filter(pl.col("loss") == loss)["goodput_mbps"].to_numpy()))
            ]
            x = [100 * loss for loss, _ in intervals]
            y = [interval.estimate for _, interval in intervals]
            spread = [0.0 if interval.n == 1 else interval.half_width for _, interval in intervals]
            axes.errorbar(x, y, yerr=spread if any(spread) else None, capsize=2.5, marker=style.marker, **style.line())
            handles.append(Line2D([], [], marker=style.marker, **style.line(), label=kind[1]))
        positive = [100 * loss for loss in losses if loss > 0]
        if positive and positive[-1] / positive[0] > 10:
            axes.set_xscale("symlog", linthresh=positive[0], linscale=0.5)
        axes.xaxis.set_major_locator(FixedLocator([100 * loss for loss in losses]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_ylim(bottom=0)
        axes.set_xlabel("random loss (%)")
        axes.set_ylabel("goodput of a flow (Mbit/s)")
        legend(figure, handles)
    return figure


def _kinds(flows: pl.DataFrame, axes_: Sequence[str]) -> dict[tuple[str, str], pl.DataFrame]:
    """The flows by algorithm and label, where the label includes swept settings other than the algorithm."""
    varying = separating_axes(flows, axes_)
    parts = flows.partition_by("cc", "label", *varying, as_dict=True, maintain_order=True)
    kinds: dict[tuple[str, str], Any] = {}
    for (cc, label, *values), rows in parts.items():
        settings = [f"{setting_name(axis)} {value}" for axis, value in zip(varying, values, strict=True)]
        kinds[str(cc), caption(", ".join([str(label), *settings]))] = rows
    return kinds


def _ratio(text: str) -> float:
    """0.01 from "1%" or "0.01"."""
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def _name(axes: Axes, names: Sequence[tuple[tuple[float, float], str]]) -> None:
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
        text = members[0] if len(members) == 1 else f"{members[0]} to {members[-1]}"
        axes.annotate(text, anchor, xytext=(7, 5), textcoords="offset points", fontsize=7.5, color=INK)


def _plain_log_ticks(axes: Axes) -> None:
    """Labels such as 50, 100, 200 in place of powers of ten."""
    low, high = sorted(axes.get_xlim())
    few = FixedLocator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)[1:-1])
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)) if high / low > 8 else few)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
