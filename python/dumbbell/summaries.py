"""The summary tables of a sweep, joined from the batches in which its points finish."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.batches import OF_ONE, SUMMARIES, Batch
from dumbbell.meta import COLUMNS, FIRST_COLUMN, columns_of, shown_as
from dumbbell.points import Points, keys_of
from dumbbell.results import SweepResult
from dumbbell.tables import Table

if TYPE_CHECKING:
    import polars as pl

    from dumbbell import _core


class Summaries:
    """Takes batches as they finish, and keeps no more of them than a sweep's tables need."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._points: list[pl.DataFrame] = []
        self._frames: dict[str, list[pl.DataFrame]] = {name: [] for name in SUMMARIES}

    def add(self, batch: Batch) -> None:
        """Takes the points of a batch that are new."""
        import polars as pl

        new = {meta.content_hash for meta in batch.metas} - self._known
        self._known |= new
        if len(new) < len(batch.metas):
            batch = batch.only(new)
        self._points.append(batch.points.drop(OF_ONE, strict=False))
        for name, frames in self._frames.items():
            if name in batch.tables:
                rows = batch.tables[name].to_polars().drop("repeat", "seed", *batch.settings)
                frames.append(rows.with_columns(pl.col(pl.Categorical).cast(pl.String)))

    def join(self, points: Sequence[_core.Point], folder: Path | None) -> SweepResult:
        """The tables of all points, in the order given."""
        import polars as pl

        self._known.clear()
        frame = _in_order(points, pl.concat(self._points, how="diagonal"))
        self._points.clear()
        keys = frame.select(frame.columns[: frame.columns.index(FIRST_COLUMN)])
        # Each is gone before the next is joined: at the end of a long sweep they are most of its memory.
        tables = {name: Table(_joined(keys, self._frames.pop(name))) for name in SUMMARIES}
        return SweepResult(**tables, points=Points(frame), folder=folder)


def _in_order(points: Sequence[_core.Point], stored: pl.DataFrame) -> pl.DataFrame:
    """The table of the points of a sweep: what is stored of each, with the settings that it has in this sweep."""
    import polars as pl

    own = pl.DataFrame(
        {
            "content_hash": pl.Series([point.content_hash for point in points], dtype=pl.String),
            "own label": pl.Series([point.label for point in points], dtype=pl.String),
            "own repeat": pl.Series([point.repeat for point in points], dtype=pl.UInt32),
        }
    )
    rows = own.with_row_index("point").join(stored, on="content_hash", how="inner", maintain_order="left")
    # Settings in the words of another file can give the same point.
    is_same = (pl.col("label") == pl.col("own label")) & (pl.col("repeat") == pl.col("own repeat"))
    others = rows.filter(~is_same)
    metas = [shown_as(meta, points[index]) for index, meta in zip(others["point"], Points(others), strict=True)]
    renamed = keys_of(metas).with_columns(others["point"], *columns_of(metas))
    axes = [axis for axis in points[0].settings if axis != "seed"]
    columns = ["point", "repeat", "seed", "content_hash", *axes, *COLUMNS]
    return pl.concat([rows.filter(is_same), renamed], how="diagonal").sort("point").select(columns)


def _joined(keys: pl.DataFrame, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    if not frames:
        return pl.DataFrame()
    rows = pl.concat(frames, how="diagonal")
    own = rows.columns[1:]
    joined = keys.join(rows, on="content_hash", how="inner", maintain_order="left_right")
    return joined.select(*keys.columns, *own).rechunk()
