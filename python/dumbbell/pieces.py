"""Time series too long for memory: pieces of tables in a temporary folder."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell import scratch, storage
from dumbbell.tables import ArrowStream, Table

if TYPE_CHECKING:
    import polars as pl

ROWS = 16_384
"""Rows of a file: what reading and writing them takes of memory."""


class Pieces:
    """The time series of one run, which come a piece at a time.

    The pieces lie in a :class:`scratch.Folder`, which appears with the first one and goes with the last table that
    reads it.
    """

    def __init__(self) -> None:
        self._folder: scratch.Folder | None = None
        self._flows: list[Path] = []
        self._links: list[Path] = []

    def take(self, series: ArrowStream, link_series: ArrowStream) -> None:
        """Writes the next rows of both tables."""
        try:
            if self._folder is None:
                self._folder = scratch.Folder("series")
            self._write(series, "flows", self._flows)
            self._write(link_series, "links", self._links)
        except OSError as error:
            place = tempfile.gettempdir()
            raise storage.OutputError(
                f"cannot keep the time series in {place}: {error.strerror or error}\n"
                "  help: set TMPDIR to a place with more room, or record less: a longer record.interval"
            ) from error

    def tables(self, series: ArrowStream, link_series: ArrowStream) -> tuple[Table, Table]:
        """Both tables, of which the last rows are given."""
        if self._folder is None:
            return Table(series), Table(link_series)
        self.take(series, link_series)
        return Table(_Stored(self._folder, self._flows)), Table(_Stored(self._folder, self._links))

    def discard(self) -> None:
        """Removes the pieces now; nobody will read them."""
        if self._folder is not None:
            self._folder.remove()

    def _write(self, rows: ArrowStream, name: str, paths: list[Path]) -> None:
        import polars as pl

        assert self._folder is not None
        for part in pl.DataFrame(rows).iter_slices(ROWS):
            path = self._folder.path / f"{name}-{len(paths):06}.arrow"
            part.write_ipc(path, compression="lz4")
            paths.append(path)


class _Stored:
    """A table in files; the source of a :class:`Table`."""

    def __init__(self, folder: scratch.Folder, paths: Sequence[Path]) -> None:
        self._folder = folder
        self._paths = paths

    def scan(self) -> pl.LazyFrame:
        import polars as pl

        return pl.scan_ipc(list(self._paths))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().collect().__arrow_c_stream__(requested_schema)
