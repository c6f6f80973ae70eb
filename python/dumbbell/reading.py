"""The files of results as they are read: whole, with the columns that everybody relies on, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell import storage
from dumbbell.storage import ResultError

if TYPE_CHECKING:
    import polars as pl


def read_checked(path: Path, checksums: Mapping[str, str | None]) -> bytes:
    """The content of a file; raises :class:`ResultError` if it is not what was written."""
    content = storage.read_file(path)
    if checksums.get(path.name) not in (None, storage.checksum(content)):
        raise ResultError(f"{path}: damaged, its content is not what was written")
    return content


def read_text(path: Path, checksums: Mapping[str, str | None]) -> str:
    """The same for a text."""
    try:
        return read_checked(path, checksums).decode()
    except UnicodeDecodeError as error:
        raise ResultError(f"{path}: damaged, not UTF-8 text (byte {error.start})") from None


def read_table(path: Path, required: Mapping[str, str], checksums: Mapping[str, str | None]) -> pl.DataFrame:
    """The same for a table with the columns ``required``, whose values say whether they hold texts or numbers."""
    return parsed(read_checked(path, checksums), path, required)


def parsed(
    content: bytes, path: Path, required: Mapping[str, str], columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """The table in the content of the file ``path``, or some of its columns."""
    import polars as pl

    try:
        frame = pl.read_parquet(content, columns=None if columns is None else list(columns))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ResultError(f"{path}: damaged, not a Parquet file ({reason})") from None
    for name, kind in required.items():
        found = frame.schema.get(name)
        if found is None:
            raise ResultError(f"{path}: damaged, no column `{name}`")
        if not (found.is_numeric() if kind == "number" else found in (pl.String, pl.Categorical)):
            raise ResultError(f"{path}: damaged, column `{name}` holds {found} in place of {kind}s")
    return frame
