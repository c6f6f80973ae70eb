"""Time series too long for memory: pieces of tables in a temporary folder."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from dumbbell import storage
from dumbbell.tables import ArrowStream, Table

if TYPE_CHECKING:
    import polars as pl

ROWS = 16_384
"""Rows of a file: what reading and writing them takes of memory."""

ATTEMPTS = 20
"""How often the removal of a folder is tried."""

_PREFIX = "dumbbell-series-"
_OWNER = "owner"


class Pieces:
    """The time series of one run, which come a piece at a time.

    The pieces lie in a folder of their own below ``TMPDIR``, which appears with the first one and goes with the last
    table that reads it, at the latest when the interpreter ends. Folders of interpreters that were killed go when the
    next one appears.
    """

    def __init__(self) -> None:
        self._folder: _Folder | None = None
        self._flows: list[Path] = []
        self._links: list[Path] = []

    def take(self, series: ArrowStream, link_series: ArrowStream) -> None:
        """Writes the next rows of both tables."""
        try:
            if self._folder is None:
                self._folder = _Folder()
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

    def __init__(self, folder: _Folder, paths: Sequence[Path]) -> None:
        self._folder = folder
        self._paths = paths

    def scan(self) -> pl.LazyFrame:
        import polars as pl

        return pl.scan_ipc(list(self._paths))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().collect().__arrow_c_stream__(requested_schema)


class _Folder:
    """A temporary folder that lives as long as this object, and no longer than the interpreter."""

    def __init__(self) -> None:
        _remove_abandoned()
        new = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}"))
        owner = _lock(new / _OWNER)
        # It has its name only when its lock is held, so that nobody takes it for abandoned.
        self.path = new.rename(new.with_name(new.name.removeprefix(".")))
        self.remove = weakref.finalize(self, _remove, self.path, owner)


def _remove(folder: Path, owner: IO[bytes]) -> None:
    # An interrupted write of Polars may still create its file while the folder is emptied.
    for _ in range(ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
        time.sleep(0.01)
    owner.close()


def _lock(path: Path) -> IO[bytes]:
    """Opens a file and locks it until it is closed, where there are such locks.

    Raises:
        BlockingIOError: Another process holds it.
    """
    file = path.open("ab")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass
    except OSError:
        file.close()
        raise
    return file


def _remove_abandoned() -> None:
    """Removes folders whose owner is gone; the kernel gives the lock of a killed process back."""
    if os.name != "posix":
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if (folder / _OWNER).is_file():
            with suppress(OSError):
                _remove(folder, _lock(folder / _OWNER))
