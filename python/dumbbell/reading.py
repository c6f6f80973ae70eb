"""The files of results as they are read: whole, with the columns that everybody relies on, or not at all."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell import storage
from dumbbell.storage import ResultError
from dumbbell.tables import Table

if TYPE_CHECKING:
    import polars as pl


def read_checked(path: Path, checksums: Mapping[str, str | None]) -> bytes:
    """The content of a file; raises :class:`ResultError` if it is not what was written."""
    content = storage.read_file(path)
    if checksums.get(path.name) not in (None, storage.checksum(content)):
        raise ResultError(f"{path}: damaged, its content is not what was written")
    return content


def read_text(path: Path, checksums: Mapping[str, str | None]) -> str:
    """The content of a file of text; raises :class:`ResultError` if it is not what was written, or no UTF-8."""
    try:
        return read_checked(path, checksums).decode()
    except UnicodeDecodeError as error:
        raise ResultError(f"{path}: damaged, not UTF-8 text (byte {error.start})") from None


LONG_ROWS = 200_000
"""Longer tables are kept as they are in their file, and what is asked for of them is read from that."""


class _Packed:
    """A long table as its file has it, compressed; the source of a :class:`Table`."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def scan(self) -> pl.LazyFrame:
        import polars as pl

        return pl.scan_parquet(io.BytesIO(self._content))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().collect().__arrow_c_stream__(requested_schema)


def read_table(path: Path, required: Mapping[str, str], checksums: Mapping[str, str | None]) -> Table:
    """A file's table with the columns ``required``, whose values say whether they hold texts or numbers."""
    content = read_checked(path, checksums)
    # What has no checksum may be damaged anywhere, and is read whole to know.
    return parsed(content, path, required, is_sure=checksums.get(path.name) is not None)


def parsed(
    content: bytes,
    path: Path,
    required: Mapping[str, str],
    *,
    columns: Sequence[str] | None = None,
    is_sure: bool = True,
) -> Table:
    """The table in the content of the file ``path``, or some of its columns."""
    import polars as pl

    packed = _Packed(content)
    try:
        schema = packed.scan().collect_schema()
        is_long = is_sure and packed.scan().select(pl.len()).collect().item() > LONG_ROWS
        chosen = None if columns is None else list(columns)
        table = Table(packed if is_long else pl.read_parquet(content, columns=chosen))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ResultError(f"{path}: damaged, not a Parquet file ({reason})") from None
    for name, kind in required.items():
        found = schema.get(name)
        if found is None:
            raise ResultError(f"{path}: damaged, no column `{name}`")
        if not (found.is_numeric() if kind == "number" else found in (pl.String, pl.Categorical)):
            raise ResultError(f"{path}: damaged, column `{name}` holds {found} in place of {kind}s")
    return table
