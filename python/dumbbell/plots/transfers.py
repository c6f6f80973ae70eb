"""Pictures of transfers: completion times, and slowdown by size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from dumbbell import metrics
from dumbbell.plots.style import Picture, caption, ink, legend, looks, picture

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from dumbbell.results import Result

CLASSES_A_DECADE = 3
"""Classes of sizes in which the slowdown is drawn."""

ENOUGH = 20
"""A class of fewer transfers has no quantiles worth drawing."""


def completions(result: Result) -> Picture:
    """The distribution of completion times, and the median and 99th percentile of the slowdown by size.

    Of transfers that began in the measured interval and are complete.
    """
    import polars as pl

    table = result.completions.to_polars().filter((pl.col("measured") == 1) & pl.col("fct_s").is_not_null())
    cc = dict(result.traffic.to_polars().select("source", pl.col("cc").cast(pl.String)).rows())
    parts = table.partition_by("source", "label", as_dict=True, maintain_order=True)
    kinds = {key: (cc[key[0]], f"{key[1]} {key[0]}") for key in parts}
    chosen = looks(list(kinds.values()))
    names = [label for _, label in parts]
    with picture(7.6, 3.8) as figure:
        times, slowdowns = figure.subplots(1, 2)
        handles = []
        for key, rows in parts.items():
            style = chosen[kinds[key]]
            fct = np.sort(rows["fct_s"].to_numpy()) * 1e3
            times.step(fct, np.arange(1, fct.size + 1) / fct.size, where="post", **style.line())
            _by_size(slowdowns, rows, style.line(marker=style.marker))
            name = str(key[1]) if names.count(key[1]) == 1 else f"{key[1]} {key[0]}"
            handles.append(Line2D([], [], **style.line(marker=style.marker), label=caption(name)))
        times.set(xlabel="completion time (ms)", ylabel="share of transfers", ylim=(0, 1))
        slowdowns.set(xlabel="size (bytes)", ylabel="slowdown: median, and p99 (pale)")
        slowdowns.axhline(1, color=ink(), linewidth=0.8, linestyle=":")
        for axes in (times, slowdowns):
            axes.set_xscale("log")
        slowdowns.set_yscale("log")
        _sizes(slowdowns)
        _plain(times.xaxis)
        _plain(slowdowns.yaxis)
        legend(figure, handles)
    return figure


def _by_size(axes: Axes, rows: pl.DataFrame, line: dict[str, Any]) -> None:
    sizes, slowdowns = rows["bytes"].to_numpy(), rows["slowdown"].to_numpy()
    classes = np.floor(np.log10(sizes) * CLASSES_A_DECADE)
    points = []
    for number in np.unique(classes):
        own = classes == number
        if own.sum() >= ENOUGH:
            points.append(
                (np.exp(np.log(sizes[own]).mean()), metrics.quantile(slowdowns[own], 0.5),
                 metrics.quantile(slowdowns[own], 0.99))
            )  # fmt: skip
    if points:
        x, median, high = zip(*points, strict=True)
        axes.plot(x, median, markersize=4, **line)
        axes.plot(x, high, markersize=4, alpha=0.45, **line)


def _sizes(axes: Axes) -> None:
    """Labels such as 10 kB."""

    def words(value: float, _: object) -> str:
        for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
            if value >= factor:
                return f"{value / factor:g} {unit}"
        return f"{value:g} B"

    axes.xaxis.set_major_formatter(FuncFormatter(words))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _plain(axis: Axis) -> None:
    """Labels such as 20, 50, 100 in place of powers of ten."""
    low, high = sorted(axis.get_view_interval())
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / max(low, 1e-9) < 100 else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
