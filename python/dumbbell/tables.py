"""Result tables: Arrow underneath, any data frame library on top."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from dumbbell import _core, arguments, extras
from dumbbell.printable import printable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class ArrowStream(Protocol):
    """Anything that exports the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """An Arrow C stream of the data."""


@runtime_checkable
class Stored(ArrowStream, Protocol):
    """Rows that lie in files."""

    def scan(self) -> pl.LazyFrame:
        """A query for all of them, in order."""


ROW_GROUP = 65_536
"""Rows that are in memory together while a long table is written."""

HEAD = 10
"""Rows that the representation of a long table shows."""


FIRST = (
    "point", "repeat", "flow", "name", "label", "goodput_mbps", "mean_rtt_ms", "p95_rtt_ms", "retransmits",
    "utilization", "mean_queue_bytes",
)  # fmt: skip
"""Columns that a notebook shows first."""


class Table:
    """A table of results.

    Polars, DuckDB, PyArrow and pandas 3 take it as it is (``pl.DataFrame(table)``, ``pa.table(table)``) and share its
    memory. ``to_polars`` and ``to_pandas`` do so without another import.
    """

    def __init__(self, source: ArrowStream) -> None:
        self._source = source
        self._frame: pl.DataFrame | None = None

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)

    def to_polars(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The table, or some of its columns, as a Polars data frame, without a copy.

        A table of time series too long for memory is read from its files each time.
        """
        if isinstance(self._source, Stored):
            frame = self._source.scan()
            return (frame if columns is None else frame.select(columns)).collect()
        if self._frame is None:
            import polars as pl

            self._frame = self._source if isinstance(self._source, pl.DataFrame) else pl.DataFrame(self._source)
        return self._frame if columns is None else self._frame.select(columns)

    def lazy(self) -> pl.LazyFrame:
        """The table as a Polars query, which reads no more than it needs of a table too long for memory."""
        return self._source.scan() if isinstance(self._source, Stored) else self.to_polars().lazy()

    def select(self, columns: Sequence[str]) -> Table:
        """A table of some of the columns, which is read from its files if this one is."""
        return Table(_Selected(self, columns) if self.is_stored else self.to_polars().select(columns))

    def write_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the table as a Parquet file; one too long for memory piece by piece."""
        path = arguments.path("path", path, "the file to write")
        if isinstance(self._source, Stored):
            import polars as pl

            try:
                self._source.scan().sink_parquet(path, row_group_size=ROW_GROUP)
            except pl.exceptions.ComputeError as error:
                # A full disk, for example.
                raise OSError(str(error)) from error
            return
        # Through memory, so that writing it fails like any other file.
        buffer = io.BytesIO()
        self.to_polars().write_parquet(buffer)
        path.write_bytes(buffer.getvalue())

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas data frame; missing numbers become NaN. Needs pandas, the extra ``pandas``."""
        extras.need("pandas", "to_pandas")
        import pandas as pd

        return pd.DataFrame({column.name: column.to_numpy() for column in self.to_polars()})

    @property
    def is_stored(self) -> bool:
        """Whether its rows lie in files, because there are many."""
        return isinstance(self._source, Stored)

    @property
    def columns(self) -> list[str]:
        """Names of the columns; a unit is part of the name (``goodput_mbps``)."""
        if isinstance(self._source, _core.Table):
            return self._source.columns
        if isinstance(self._source, Stored):
            return self._source.scan().collect_schema().names()
        return self.to_polars().columns

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries, for small tables."""
        # The engine's own are there before Polars is imported, which takes as long as many a run.
        return self._source.rows() if isinstance(self._source, _core.Table) else self.to_polars().to_dicts()

    def __len__(self) -> int:
        if isinstance(self._source, _core.Table):
            return len(self._source)
        if isinstance(self._source, Stored):
            import polars as pl

            return int(self._source.scan().select(pl.len()).collect().item())
        return self.to_polars().height

    def __repr__(self) -> str:
        return printable(f"{self._head()!r}{self._rest()}")

    def _repr_html_(self) -> str:
        import polars as pl

        frame = self._head()
        # What people look for first; the order of the columns themselves is that of the reference.
        first = [name for name in FIRST if name in frame.columns]
        return f"{frame.select(*first, pl.exclude(first))._repr_html_()}{self._rest()}"

    def _head(self) -> pl.DataFrame:
        return self._source.scan().head(HEAD).collect() if isinstance(self._source, Stored) else self.to_polars()

    def _rest(self) -> str:
        return f"\n... of {len(self):,} rows" if isinstance(self._source, Stored) else ""


class _Selected:
    """Columns of a long table; the source of a :class:`Table`."""

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        self._table = table
        self._columns = columns

    def scan(self) -> pl.LazyFrame:
        return self._table.lazy().select(self._columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().collect().__arrow_c_stream__(requested_schema)


def joined(tables: Sequence[Table]) -> pl.DataFrame:
    """The rows of all tables behind the column ``run``, the position of their table.

    What a table has no column for is null in its rows.
    """
    import polars as pl

    sources = [table._source for table in tables]
    own = [source for source in sources if isinstance(source, _core.Table)]
    if len(own) == len(sources):
        return pl.DataFrame(_core.joined(own))
    # Dictionaries of different tables need not agree on their codes.
    frames = [table.to_polars().with_columns(pl.col(pl.Categorical).cast(pl.String)) for table in tables]
    numbered = [frame.select(pl.lit(run, pl.UInt32).alias("run"), pl.all()) for run, frame in enumerate(frames)]
    return pl.concat(numbered, how="diagonal")
