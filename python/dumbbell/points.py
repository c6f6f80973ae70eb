"""The points of a sweep as rows of a table: what they are, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from dumbbell.meta import Meta, columns_of, meta_of_row
from dumbbell.results import setting_text

if TYPE_CHECKING:
    import polars as pl

KEYS = ("content_hash", "repeat", "seed")
"""The columns that tables begin with, before the settings."""

TOGETHER = 1024
"""So many points are made of their rows at a time."""


class Points(Sequence[Meta]):
    """The points of a sweep, in the order of the file.

    A point is made of its row whenever it is asked for, because there may be a million of them.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        """A row a point, as :func:`points_of` has them."""

    def __len__(self) -> int:
        return self.frame.height

    @overload
    def __getitem__(self, index: int) -> Meta: ...
    @overload
    def __getitem__(self, index: slice) -> list[Meta]: ...
    def __getitem__(self, index: int | slice) -> Meta | list[Meta]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        # An index that is out of range is an IndexError, as of a list.
        return _of_row(self.frame.row(range(len(self))[index], named=True))

    def __iter__(self) -> Iterator[Meta]:
        for rows in self.frame.iter_slices(TOGETHER):
            yield from map(_of_row, rows.iter_rows(named=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


def values(points: Sequence[Meta], name: str) -> list[Any]:
    """A field of all points, one that the table has as it is: a text or a number."""
    return points.frame[name].to_list() if isinstance(points, Points) else [getattr(point, name) for point in points]


def keys_of(metas: Sequence[Meta]) -> pl.DataFrame:
    """A row a point: the columns that tell its rows apart."""
    import polars as pl

    return pl.DataFrame(
        {
            "content_hash": pl.Series([meta.content_hash for meta in metas], dtype=pl.String),
            "repeat": pl.Series([meta.repeat for meta in metas], dtype=pl.UInt32),
            "seed": pl.Series([meta.seed for meta in metas], dtype=pl.UInt64),
            **{
                axis: pl.Series([setting_text(meta.settings.get(axis)) for meta in metas], dtype=pl.String)
                for axis in dict.fromkeys(key for meta in metas for key in meta.settings)
                if axis != "seed"
            },
        }
    )


def points_of(metas: Sequence[Meta]) -> pl.DataFrame:
    """The table of the points of a sweep, in the order of the file."""
    return metas.frame if isinstance(metas, Points) else numbered(keys_of(metas)).with_columns(*columns_of(metas))


def numbered(keys: pl.DataFrame) -> pl.DataFrame:
    """Keys behind the number of their point, in the order of the columns of joined tables."""
    import polars as pl

    point = pl.int_range(pl.len(), dtype=pl.UInt32).alias("point")
    return keys.select(point, "repeat", "seed", "content_hash", pl.exclude(KEYS))


def _of_row(row: dict[str, Any]) -> Meta:
    return meta_of_row(row, "a point")
