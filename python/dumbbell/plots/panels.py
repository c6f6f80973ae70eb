"""Small multiples: one panel for each value of a setting, with shared axes and one legend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from dumbbell.plots.axes import Scale
from dumbbell.plots.style import Picture, caption, fitted, one_panel, small
from dumbbell.results import setting_name
from dumbbell.selection import OF_A_FLOW, axis_named

if TYPE_CHECKING:
    import polars as pl

MOST_PANELS = 24
"""More panels are too small to be read."""

LEAST_WIDTH = 1.35
"""Inches that a panel takes at least beside others."""


@dataclass(frozen=True)
class Panel:
    """What one panel shows."""

    title: str
    """The values that its rows have in common; empty for the only panel."""
    rows: pl.DataFrame


def columns_of(flows: pl.DataFrame, axes_: Sequence[str], words: Sequence[str]) -> list[str]:
    """The columns of what panels stand for: swept settings, ``cc``, ``label``."""
    return [word if word in OF_A_FLOW else axis_named(flows, axes_, word) for word in words]


def panels_of(flows: pl.DataFrame, columns: Sequence[str]) -> list[Panel]:
    """The rows by what panels stand for, in the order of their values.

    Raises:
        ValueError: There are too many.
    """
    if not columns:
        return [Panel("", flows)]
    places = {
        column: Scale.of(column, [str(value) for value in flows[column].drop_nulls().to_list()]) for column in columns
    }
    parts = {key: rows for key, rows in flows.partition_by(*columns, as_dict=True).items() if None not in key}

    def order(key: tuple[object, ...]) -> list[float]:
        return [places[column].place(str(value)) for column, value in zip(columns, key, strict=True)]

    if len(parts) > MOST_PANELS:
        raise ValueError(
            f"{len(parts)} panels cannot be read, at most {MOST_PANELS} can; they stand for {', '.join(columns)}\n"
            f"  help: choose values: --where {setting_name(columns[0])}=..., in Python where={{...}}"
        )
    return [Panel(_title(columns, key), parts[key]) for key in sorted(parts, key=order)]


def _title(columns: Sequence[str], key: Sequence[object]) -> str:
    words = [str(value) if column in OF_A_FLOW or column.endswith(".cc") else f"{setting_name(column)} {value}"
             for column, value in zip(columns, key, strict=True)]  # fmt: skip
    return caption(", ".join(words).replace("_", " "))


@contextmanager
def multiples(
    titles: Sequence[str], ax: Axes | None = None, width: float = 6.4, height: float = 4.0
) -> Iterator[tuple[Picture, list[Axes]]]:
    """A picture with panels of these titles beside and below each other, which share both axes.

    What a panel says of its axes is said once, below and beside all of them. ``width`` and ``height`` are those of a
    picture of one panel; ``ax`` takes one.

    Raises:
        ValueError: ``ax`` is to take several panels.
    """
    if len(titles) == 1:
        with one_panel(ax, width, height) as (figure, axes):
            axes.set_title(titles[0], fontsize=small())
            yield figure, [axes]
        return
    if ax is not None:
        raise ValueError(f"one panel cannot show {len(titles)}: {'; '.join(titles)}\n  help: choose one: where={{...}}")
    rows = -(-len(titles) // max(1, min(4, int(width / LEAST_WIDTH), len(titles))))
    with fitted(width, max(height, 1.1 + 1.7 * rows), panels=len(titles)) as figure:
        most = max(1, min(4, int(figure.get_figwidth() / LEAST_WIDTH), len(titles)))
        rows = -(-len(titles) // most)
        columns = -(-len(titles) // rows)
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        shown_axes = list(grid.flat[: len(titles)])
        for title, axes in zip(titles, shown_axes, strict=True):
            axes.set_title(title, fontsize=small())
        for axes in grid.flat[len(titles) :]:
            axes.set_visible(False)
        yield figure, shown_axes
        _label_once(figure, shown_axes)
        # Above an empty place the last panel of a column shows the numbers of the axis.
        for axes in grid[-2][len(titles) - (rows - 1) * columns :] if rows > 1 else ():
            axes.tick_params(labelbottom=True)


def _label_once(figure: Picture, shown: Sequence[Axes]) -> None:
    """Puts the labels of axes at the edge of the picture."""
    figure.supxlabel(shown[0].get_xlabel(), fontsize="medium")
    figure.supylabel(shown[0].get_ylabel(), fontsize="medium")
    for axes in shown:
        axes.set_xlabel("")
        axes.set_ylabel("")
