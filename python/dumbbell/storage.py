"""Writing results: whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class OutputError(OSError):
    """A result could not be written; nothing was left behind."""


@contextmanager
def directory(target: Path, *, marker: str) -> Iterator[Path]:
    """A new directory that appears as ``target`` when the block ends well, and not at all otherwise.

    The files are written beside the target, flushed to disk and renamed into place. An existing directory is replaced
    only if it holds the file ``marker``, that is, if it is an earlier result.
    """
    target = Path(target)
    try:
        if target.exists() and not (target / marker).is_file() and not _is_empty_directory(target):
            raise OutputError(f"{target} exists and is not a result of Dumbbell; choose another place with --out")
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to {target}: {error.strerror or error}") from error
    try:
        staging.chmod(0o755)
        yield staging
        _flush(staging)
        _replace(staging, target)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def check_target(target: Path, *, marker: str) -> None:
    """Raises :class:`OutputError` now if ``target`` could not be written later."""
    with suppress(_Probe), directory(target, marker=marker):
        raise _Probe


def write_file(target: Path, content: bytes) -> None:
    """Writes one file whole or not at all."""
    staging: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(prefix=f".{target.name}-", dir=target.parent, delete=False) as file:
            staging = Path(file.name)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        staging.chmod(0o644)
        staging.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        if staging is not None:
            staging.unlink(missing_ok=True)


class _Probe(Exception):
    """Leaves a directory block on purpose."""


def _is_empty_directory(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _flush(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _replace(staging: Path, target: Path) -> None:
    if not target.exists():
        staging.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
    target.rename(old)
    try:
        staging.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)
