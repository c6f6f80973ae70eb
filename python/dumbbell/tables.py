"""Result tables: Arrow underneath, any data frame library on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from dumbbell.printable import printable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class ArrowStream(Protocol):
    """Anything that exports the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """An Arrow C stream of the data."""


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

    def to_polars(self) -> pl.DataFrame:
        """The table as a Polars data frame, without a copy."""
        if self._frame is None:
            import polars as pl

            self._frame = self._source if isinstance(self._source, pl.DataFrame) else pl.DataFrame(self._source)
        return self._frame

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas data frame; missing numbers become NaN. Needs pandas, the extra ``pandas``."""
        import pandas as pd

        return pd.DataFrame({column.name: column.to_numpy() for column in self.to_polars()})

    @property
    def columns(self) -> list[str]:
        """Names of the columns; a unit is part of the name (``goodput_mbps``)."""
        return self.to_polars().columns

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries, for small tables."""
        return self.to_polars().to_dicts()

    def __len__(self) -> int:
        return self.to_polars().height

    def __repr__(self) -> str:
        return printable(repr(self.to_polars()))

    def _repr_html_(self) -> str:
        return self.to_polars()._repr_html_()
