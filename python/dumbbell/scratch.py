"""Temporary folders that do not outlive whoever made them.

What killed processes have left goes when another folder is made, or a sweep begins.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import IO

ATTEMPTS = 20
"""How often the removal of a folder is tried."""

_PREFIX = "dumbbell-"
_OWNER = "owner"
_MARK = b"A temporary folder of Dumbbell: it goes when nobody locks this file.\n"
"""What the file of the owner says. A folder whose file says something else is somebody's own."""


class Folder:
    """A temporary folder for something, which lives as long as this object and no longer than the interpreter."""

    def __init__(self, of: str) -> None:
        remove_abandoned()
        new = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}{of}-"))
        (new / _OWNER).write_bytes(_MARK)
        owner = _lock(new / _OWNER)
        # It has its name only when its lock is held, so that nobody takes it for abandoned.
        self.path = new.rename(new.with_name(new.name.removeprefix(".")))
        self.remove = weakref.finalize(self, _remove, self.path, owner)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def _remove(folder: Path, owner: IO[bytes]) -> None:
    # The owner last: what a process that is killed meanwhile leaves is still known as ours.
    for path in [path for path in folder.glob("*") if path.name != _OWNER]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()
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


def _is_ours(owner: Path) -> bool:
    if not owner.is_file():
        return False
    with owner.open("rb") as file:
        return file.read(len(_MARK) + 1) == _MARK


def remove_abandoned() -> None:
    """Removes folders whose owner is gone; the kernel gives the lock of a killed process back."""
    if os.name != "posix":
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        # It may be another user's.
        with suppress(OSError):
            if _is_ours(folder / _OWNER):
                _remove(folder, _lock(folder / _OWNER))
