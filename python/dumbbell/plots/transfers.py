"""Pictures of transfers, web pages and incasts: completion times, slowdown by size, load times, query times."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from dumbbell import metrics
from dumbbell.plots.style import Look, Picture, caption, fitted, ink, legend, looks

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

    from dumbbell.results import Result
    from dumbbell.tables import Table

CLASSES_A_DECADE = 3
"""Classes of sizes in which the slowdown is drawn."""

ENOUGH = 20
"""A class of fewer transfers has no quantiles worth drawing."""

NAMED = 4
"""So many sources are named that have no line in a panel."""


def has_times(table: Table, took: str) -> bool:
    """Whether anything of a table began in the measured interval and is complete."""
    return len(table) > 0 and len(_complete(table.to_polars(), took)) > 0


def completions(result: Result) -> Picture:
    """The distribution of completion times, and the median and 99th percentile of the slowdown by size.

    Of transfers that began in the measured interval and are complete. Where no source has enough of one size for a
    slowdown there is no panel of it.
    """
    lines = _lines(result, result.completions.to_polars(), "fct_s")
    by_size = [_by_size(rows) for _, _, rows in lines]
    without = [caption(name) for (name, _, _), points in zip(lines, by_size, strict=True) if not points]
    count = 2 if any(by_size) else 1
    with fitted(7.6 if count > 1 else 4.2, 3.8) as figure:
        times, *slowdowns = figure.subplots(1, count, squeeze=False)[0]
        handles = []
        for (name, style, rows), points in zip(lines, by_size, strict=True):
            _cumulative(times, rows["fct_s"], style)
            mark: dict[str, Any] = {"marker": style.marker} if points else {}
            for axes in slowdowns if points else ():
                x, median, high = zip(*points, strict=True)
                axes.plot(x, median, markersize=4, **style.line(**mark))
                axes.plot(x, high, markersize=4, alpha=0.45, **style.line(**mark))
            handles.append(Line2D([], [], **style.line(**mark), label=caption(name)))
        times.set(xlabel="completion time (ms)", ylabel="share of transfers", ylim=(0, 1), xscale="log")
        _plain(times.xaxis)
        for axes in slowdowns:
            axes.set(xlabel="size (bytes)", ylabel="slowdown: median, and p99 (pale)", xscale="log", yscale="log")
            axes.axhline(1, color=ink(), linewidth=0.8, linestyle=":")
            _sizes(axes)
            _plain(axes.yaxis)
        legend(figure, handles, _without_slowdown(without) if slowdowns else None)
    return figure


def _without_slowdown(names: Sequence[str]) -> str | None:
    """Why a panel has no line of some sources."""
    if not names:
        return None
    shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    return textwrap.fill(f"fewer than {ENOUGH} transfers of one size, so no slowdown: {shown}", 90)


def page_loads(result: Result) -> Picture:
    """The distribution of the load times of web pages that began in the measured interval and have loaded."""
    return _times(result, result.pages.to_polars(), "plt_s", ("load time (ms)", "share of pages"))


def query_times(result: Result) -> Picture:
    """The distribution of the completion times of the rounds of incasts that began in the measured interval."""
    return _times(result, result.rounds.to_polars(), "qct_s", ("query completion time (ms)", "share of rounds"))


def _times(result: Result, table: pl.DataFrame, took: str, labels: tuple[str, str]) -> Picture:
    """The distribution of the times of a table, a line a source."""
    with fitted(4.2, 3.6) as figure:
        axes = figure.subplots()
        handles = []
        for name, style, rows in _lines(result, table, took):
            _cumulative(axes, rows[took], style)
            handles.append(Line2D([], [], **style.line(), label=caption(name)))
        axes.set(xlabel=labels[0], ylabel=labels[1], ylim=(0, 1), xscale="log")
        _plain(axes.xaxis)
        legend(figure, handles)
    return figure


def _complete(table: pl.DataFrame, took: str) -> pl.DataFrame:
    """What began in the measured interval and has a time."""
    import polars as pl

    return table.filter((pl.col("measured") == 1) & pl.col(took).is_not_null())


def _lines(result: Result, table: pl.DataFrame, took: str) -> list[tuple[str, Look, pl.DataFrame]]:
    """The measured rows of each source that have a time, with the name of the source and what its line looks like.

    Raises:
        ValueError: There are none.
    """
    import polars as pl

    complete = _complete(table, took)
    if complete.is_empty():
        raise ValueError("nothing that began in the measured interval is complete")
    cc = dict(result.traffic.to_polars().select("source", pl.col("cc").cast(pl.String)).rows())
    parts = complete.partition_by("source", "label", as_dict=True, maintain_order=True)
    kinds = {key: (cc[key[0]], f"{key[1]} {key[0]}") for key in parts}
    chosen = looks(list(kinds.values()))
    labels = [label for _, label in parts]
    return [
        (str(key[1]) if labels.count(key[1]) == 1 else f"{key[1]} {key[0]}", chosen[kinds[key]], rows)
        for key, rows in parts.items()
    ]


def _cumulative(axes: Axes, seconds: pl.Series, style: Look) -> None:
    """Steps from 0 to 1."""
    times = np.sort(seconds.to_numpy()) * 1e3
    share = np.arange(times.size + 1) / times.size
    axes.step(np.insert(times, 0, times[0]), share, where="post", **style.line())


def _by_size(rows: pl.DataFrame) -> list[tuple[float, float | None, float | None]]:
    """Mean size, median and 99th percentile of the slowdown of each class of sizes that has enough transfers."""
    sizes, slowdowns = rows["bytes"].to_numpy(), rows["slowdown"].to_numpy()
    classes = np.floor(np.log10(sizes) * CLASSES_A_DECADE)
    points = []
    for number in np.unique(classes):
        own = classes == number
        if own.sum() >= ENOUGH:
            points.append(
                (float(np.exp(np.log(sizes[own]).mean())), metrics.quantile(slowdowns[own], 0.5),
                 metrics.quantile(slowdowns[own], 0.99))
            )  # fmt: skip
    return points


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
