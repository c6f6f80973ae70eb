"""The summary tables of a sweep, joined from the batches in which its points finish."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.batches import SUMMARIES, Batch, keys_of, numbered
from dumbbell.meta import Meta, shown_as
from dumbbell.results import SweepResult
from dumbbell.tables import Table

if TYPE_CHECKING:
    import polars as pl

    from dumbbell import _core


class Summaries:
    """Takes batches as they finish, and keeps no more of them than a sweep's tables need."""

    def __init__(self) -> None:
        self._metas: dict[str, Meta] = {}
        self._frames: dict[str, list[pl.DataFrame]] = {name: [] for name in SUMMARIES}

    def add(self, batch: Batch) -> None:
        """Takes the points of a batch that are new."""
        import polars as pl

        new = {meta.content_hash: meta for meta in batch.metas if meta.content_hash not in self._metas}
        self._metas |= new
        if len(new) < len(batch.metas):
            batch = batch.only(new)
        for name, frames in self._frames.items():
            if name in batch.tables:
                rows = batch.tables[name].to_polars().drop("repeat", "seed", *batch.settings)
                frames.append(rows.with_columns(pl.col(pl.Categorical).cast(pl.String)))

    def join(self, points: Sequence[_core.Point], folder: Path | None) -> SweepResult:
        """The tables of all points, in the order given."""
        metas = [shown_as(self._metas[point.content_hash], point) for point in points]
        keys = numbered(keys_of(metas))
        # Each is gone before the next is joined: at the end of a long sweep they are most of its memory.
        tables = {name: Table(_joined(keys, self._frames.pop(name))) for name in SUMMARIES}
        return SweepResult(**tables, points=metas, folder=folder)


def _joined(keys: pl.DataFrame, frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    if not frames:
        return pl.DataFrame()
    rows = pl.concat(frames, how="diagonal")
    own = rows.columns[1:]
    joined = keys.join(rows, on="content_hash", how="inner", maintain_order="left_right")
    return joined.select(*keys.columns, *own).rechunk()
