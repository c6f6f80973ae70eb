"""Writing results: whole or not at all, and never over somebody else's files.

A folder that Dumbbell writes into has a marker, ``dumbbell.json``, with the list of the files in it that are ours. Only
these are ever replaced or removed; a folder with files and without a marker is refused.

A new folder is built beside its place and renamed. In a folder that exists, the new files are built in
``.dumbbell-new``, which becomes ``.dumbbell-commit`` when they are complete: from then on they count, and are moved
into place one by one. Whoever comes after a process that was killed throws the first away or finishes the second. The
file lock of a folder says whether its writer still lives.

What a marker says, and how the files of a result are read, is in :mod:`dumbbell.marker`.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dumbbell.marker import MARKER as MARKER
from dumbbell.marker import Marker as Marker
from dumbbell.marker import NewerError
from dumbbell.marker import ResultError as ResultError
from dumbbell.marker import checksum as checksum
from dumbbell.marker import read_file as read_file
from dumbbell.marker import read_json as read_json
from dumbbell.marker import read_marker as read_marker
from dumbbell.printable import printable

if sys.platform != "win32":
    import fcntl

BUILDING = ".dumbbell-new"
"""Where the new files of a folder are built; as a suffix, where a new folder or file is."""

COMMITTED = ".dumbbell-commit"
"""The new files of a folder when they are complete and count."""

_FOLDER = getattr(os, "O_DIRECTORY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


_unfinished: set[Path] = set()
"""What is being built at the moment."""


class DamagedResultWarning(UserWarning):
    """Points of a sweep are damaged on disk and are run again."""


class OtherEngineWarning(UserWarning):
    """Points of a sweep on disk were computed by another engine; the message says what is done with them."""


class OutputError(OSError):
    """A result could not be written; nothing was left behind."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class OtherEngineError(OutputError):
    """Points of a sweep on disk were computed by another engine, and nobody has said whether to keep them."""


@dataclass(frozen=True)
class Kind:
    """What a folder holds."""

    name: str
    files: Sequence[str]
    """The files that every folder of this kind has."""
    earlier: Callable[[Path], Sequence[str] | None]
    """The files that an earlier version wrote into a folder without a marker, or ``None`` if it did not write it."""
    sign: str | None = None
    """A folder in it that holds folders of ours: it proves what this one is where the marker is damaged."""


@contextmanager
def directory(target: Path, kind: Kind, files: Sequence[str] | None = None) -> Iterator[Path]:
    """An empty folder to write ``files`` into, which appear in ``target`` when the block ends well, or not at all.

    ``files`` are by default those that every folder of this kind has. They replace those that an earlier folder of the
    same kind lists; others that it lists go, if they are as they were written. Other files stay; a folder of another
    kind, or with files that nobody lists, is refused.

    Raises:
        OutputError: ``target`` cannot be written; it is as it was before.
    """
    names = tuple(kind.files if files is None else files)
    owned: dict[str, str | None] = {}
    with ExitStack() as stack:
        stack.enter_context(_output_errors(target))
        place = _resolved(target)
        if place.exists():
            stack.enter_context(_locked(place))
            settle(place)
            owned = _owned(place, kind, shown=target)
            _check_free(place, names, owned, shown=target)
            staging = place / BUILDING
            staging.mkdir()
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            staging = _beside(place)
            stack.enter_context(closing(_Lock.of_folder(staging)))
        stack.enter_context(_unfinished_until_the_end(staging))
        try:
            # First, so that whoever finds the rest knows what it is.
            (staging / MARKER).write_bytes(Marker(kind.name, dict.fromkeys(names)).content())
            yield staging
            kept = {name: left for name, left in owned.items() if not _is_as_left(place / name, left)}
            checksums = {name: checksum((staging / name).read_bytes()) for name in names}
            marker = _beside(staging / MARKER)
            marker.write_bytes(Marker(kind.name, kept | checksums).content())
            marker.replace(staging / MARKER)
            _flush(staging)
            if staging.parent == place:
                staging.rename(place / COMMITTED)
                _commit(place)
            else:
                staging.rename(place)
        except BaseException:
            with suppress(OSError):
                _discard(staging)
            raise


def check_target(target: Path, kind: Kind, files: Sequence[str] | None = None) -> None:
    """Raises :class:`OutputError` now if ``target`` could not be written later."""
    with suppress(_Probe), directory(target, kind, files):
        raise _Probe


def check_claim(target: Path, kind: Kind) -> None:
    """Raises :class:`OutputError` now if ``target`` could not be claimed later."""
    with _output_errors(target):
        place = _resolved(target)
        was_there = place.exists()
        place.mkdir(parents=True, exist_ok=True)
        try:
            with _locked(place):
                settle(place)
                _owned(place, kind, shown=target)
                (place / BUILDING).mkdir()
                (place / BUILDING).rmdir()
        finally:
            if not was_there:
                place.rmdir()


@contextmanager
def claimed(target: Path, kind: Kind) -> Iterator[None]:
    """Keeps other processes from writing into ``target`` during the block; makes it a folder of ours if need be.

    A new folder in which nothing was written disappears again.
    """
    with ExitStack() as stack:
        with _output_errors(target):
            place = _resolved(target)
            was_there = place.exists()
            place.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_locked(place))
            settle(place)
            owned = _owned(place, kind, shown=target)
            if is_new := not (place / MARKER).exists():
                write_file(place / MARKER, Marker(kind.name, dict.fromkeys(owned)).content())
        try:
            yield
        finally:
            if is_new and [path.name for path in place.iterdir()] == [MARKER]:
                (place / MARKER).unlink()
                if not was_there:
                    place.rmdir()


@contextmanager
def adding(target: Path, kind: Kind, names: Collection[str]) -> Iterator[None]:
    """Puts ``names`` on the list of an existing folder, so that the block may write these files into it."""
    with ExitStack() as stack:
        with _output_errors(target):
            place = _resolved(target)
            stack.enter_context(_locked(place))
            settle(place)
            owned = _owned(place, kind, shown=target)
            _check_free(place, names, owned, shown=target)
            listed = dict.fromkeys([*owned, *names]) | owned
            if not (place / MARKER).exists() or listed != owned:
                write_file(place / MARKER, Marker(kind.name, listed).content())
        yield
        # Only what is as it was written is ever removed.
        with _output_errors(target), suppress(FileNotFoundError):
            written = {name: checksum((place / name).read_bytes()) for name in names}
            write_file(place / MARKER, Marker(kind.name, listed | written).content())


def write_file(target: Path, content: bytes) -> None:
    """Writes one file whole or not at all."""
    with _output_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = _beside(target)
        with closing(_Lock.of_file(staging)) as lock, _unfinished_until_the_end(staging):
            try:
                with os.fdopen(lock.descriptor, "wb", closefd=False) as file:
                    file.truncate()
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                staging.replace(target)
            except BaseException:
                staging.unlink(missing_ok=True)
                raise


def keep_file(target: Path, content: bytes) -> None:
    """Writes a file whose name says its content, unless it is there already.

    Raises:
        OutputError: Something else is there.
    """
    if not target.exists():
        write_file(target, content)
    elif read_file(target) != content:
        raise OutputError(f"{target} is not what its name says; move it, or choose another place")


def is_altered(folder: Path, name: str) -> bool:
    """Whether somebody has changed a file of ``folder`` since Dumbbell wrote it, so that it is theirs."""
    left = _listed(folder).get(name)
    return left is not None and os.path.lexists(folder / name) and not _is_as_left(folder / name, left)


def recover(folder: Path) -> None:
    """Finishes a replacement that a killed process had begun, if there is one."""
    if _is_folder(folder / COMMITTED):
        with _output_errors(folder), _locked(folder):
            settle(folder)


def remove(folder: Path, kind: Kind | None = None) -> None:
    """Removes the files that the marker of ``folder`` lists, and ``folder`` if there is nothing else in it.

    Files that are not as they were written stay. Those of ``kind`` go, also when the marker is damaged, where the place
    proves that they are ours.
    """
    with _output_errors(folder), _locked(folder):
        settle(folder)
        # The marker last: it says what the rest is if this process is killed.
        listed = (name for name, left in _listed(folder).items() if _is_as_left(folder / name, left))
        names = dict.fromkeys((*listed, *(kind.files if kind else ()), MARKER))
        if {path.name for path in folder.iterdir()} <= set(names):
            # Out of sight first, so that nobody finds half of it.
            folder = folder.rename(_beside(folder))
        for name in names:
            (folder / name).unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()


def settle(folder: Path) -> None:
    """Finishes or throws away what a killed process left in ``folder``, which must be locked."""
    if _is_folder(folder / COMMITTED):
        _commit(folder)
    if _is_folder(folder / BUILDING):
        _discard(folder / BUILDING)
    for name in (MARKER, *_listed(folder)):
        _beside(folder / name).unlink(missing_ok=True)


def discard_stale(folder: Path) -> None:
    """Removes what killed processes have built beside places in ``folder``."""
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for name in [entry.name for entry in entries]:
            if name.startswith(".") and name.endswith(BUILDING) and _is_folder(folder / name):
                # In use, or not ours after all.
                with suppress(OutputError), closing(_Lock.of_folder(folder / name)):
                    _discard(folder / name)


def abandon() -> None:
    """Takes back what is being built, from another thread of a process that is about to end."""
    for staging in tuple(_unfinished):
        with suppress(OSError):
            if _is_folder(staging):
                # Away first: what counts already is gone from here, and what does not can no longer come to count.
                left = staging.with_name(f"{staging.name}-left")
                staging.rename(left)
                _discard(left)
            else:
                staging.unlink()


class _Probe(Exception):
    """Leaves a directory block on purpose."""


class _Lock:
    """The lock of a file or folder, which the system releases when the process ends, however it ends."""

    def __init__(self, path: Path, flags: int) -> None:
        self.descriptor = os.open(path, flags | _NO_LINK, 0o666)
        try:
            if sys.platform != "win32":
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise OutputError(f"another run is writing {path}; let it finish, or choose another place") from None
        except OSError:
            # A file system without locks.
            pass

    def close(self) -> None:
        os.close(self.descriptor)

    def holds(self, path: Path) -> bool:
        """Whether the file is still at ``path``: its last owner may have renamed it before we had the lock."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(self.descriptor), path.lstat())
        return False

    @classmethod
    def of_file(cls, path: Path) -> _Lock:
        """The lock of a file, made if there is none."""
        while not (lock := cls(path, os.O_RDWR | os.O_CREAT)).holds(path):
            lock.close()
        return lock

    @classmethod
    def of_folder(cls, path: Path) -> _Lock:
        """The lock of a folder in which a result is built: made if there is none, emptied if its owner was killed."""
        while True:
            path.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):
                lock = cls(path, os.O_RDONLY | _FOLDER)
                if lock.holds(path):
                    break
                lock.close()
        try:
            _empty(path)
        except OSError:
            lock.close()
            raise
        return lock


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with closing(_Lock(folder, os.O_RDONLY | _FOLDER)):
        yield


@contextmanager
def _unfinished_until_the_end(staging: Path) -> Iterator[None]:
    _unfinished.add(staging)
    try:
        yield
    finally:
        _unfinished.discard(staging)


@contextmanager
def _output_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error


def _resolved(target: Path) -> Path:
    try:
        return target.resolve()
    except (OSError, RuntimeError) as error:
        raise OutputError(f"cannot write {target}: {error}") from None


def _owned(place: Path, kind: Kind, *, shown: Path) -> dict[str, str | None]:
    """The files in an existing folder that are Dumbbell's, as in its marker."""
    try:
        marker = read_marker(place)
    except ResultError as error:
        is_ours = kind.sign is not None and any((place / kind.sign).glob(f"*/{MARKER}"))
        if isinstance(error, NewerError) or not is_ours:
            raise OutputError(f"cannot write {shown}: {error.problem}; choose another place") from None
        # Of what else it listed nothing is known, so that nothing else is touched.
        marker = Marker(kind.name, dict.fromkeys(name for name in kind.files if (place / name).exists()))
        write_file(place / MARKER, marker.content())
        warnings.warn(f"{error.problem}; it is written anew", DamagedResultWarning, stacklevel=2)
    if marker is not None:
        if marker.kind != kind.name:
            raise OutputError(f"{shown} holds a {marker.kind}, and this is a {kind.name}; choose another place")
        return dict(marker.files)
    if (earlier := kind.earlier(place)) is not None:
        return dict.fromkeys(earlier)
    if others := sorted(path.name for path in place.iterdir()):
        raise OutputError(
            f"{shown} holds files ({_some(others)}) but no {MARKER}, so no {kind.name} of Dumbbell; choose "
            "another place, or an empty directory"
        )
    return {}


def _check_free(place: Path, names: Iterable[str], owned: Iterable[str], *, shown: Path) -> None:
    for name in names:
        path = place / name
        if os.path.lexists(path) and (name not in owned or _is_folder(path)):
            raise OutputError(f"{shown / name} exists and {MARKER} does not list it; move it, or choose another place")


def _commit(folder: Path) -> None:
    """Moves the files of a decided replacement into place. Done again from any point, it ends the same."""
    try:
        _move(folder)
    except KeyboardInterrupt:
        _move(folder)
        raise


def _move(folder: Path) -> None:
    committed = folder / COMMITTED
    # The marker is moved last: while it is here there is something to do, and the old list is still there.
    if (committed / MARKER).exists():
        names = tuple(_listed(committed))
        for name in names:
            with suppress(FileNotFoundError):
                (committed / name).replace(folder / name)
        for name in set(_listed(folder)) - set(names):
            if not _is_folder(folder / name):
                (folder / name).unlink(missing_ok=True)
        (committed / MARKER).replace(folder / MARKER)
    committed.rmdir()


def _discard(staging: Path) -> None:
    """Removes a folder in which a result was built."""
    _empty(staging)
    staging.rmdir()


def _empty(staging: Path) -> None:
    """Removes what a writer has built in ``staging``."""
    listed = (*_listed(staging), _beside(staging / MARKER).name, MARKER)
    if others := sorted({path.name for path in staging.iterdir()}.difference(listed)):
        raise OutputError(f"{staging} is in the way and holds files that are not Dumbbell's ({_some(others)})")
    for name in listed:
        (staging / name).unlink(missing_ok=True)


def _listed(folder: Path) -> Mapping[str, str | None]:
    """The files that the marker of ``folder`` lists; none if it has none that can be read."""
    with suppress(ResultError):
        if (marker := read_marker(folder)) is not None:
            return marker.files
    return {}


def _is_as_left(path: Path, left: str | None) -> bool:
    """Whether a file still has the checksum with which it was written, so that it is ours to remove."""
    with suppress(OSError, ResultError):
        return not path.is_symlink() and checksum(read_file(path)) == left
    return False


def _flush(folder: Path) -> None:
    for path in [*folder.iterdir(), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _beside(path: Path) -> Path:
    """Where ``path`` is built."""
    return path.with_name(f".{path.name}{BUILDING}")


def _is_folder(path: Path) -> bool:
    """Whether ``path`` is a folder, and no link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return False
        raise


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
