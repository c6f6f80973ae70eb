"""How much memory a run may take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from dumbbell import _core, arguments

SHARE = 0.5
"""Of the machine's memory, for all runs at a time; the rest is for tables, pictures and everybody else."""

Size: TypeAlias = int | str
"""Bytes, or a text such as ``"2GiB"``."""

_CGROUP_LIMITS = ("memory.max", "memory.high", "memory.limit_in_bytes")
"""Files with a limit, of version 2 and version 1 of the kernel's control groups."""


def limit_of_a_run(given: Size | None, jobs: int) -> int | None:
    """Bytes that each of ``jobs`` runs at a time may take: as given, or its part of :data:`SHARE` of the machine.

    Raises:
        ValueError: The size cannot be read, or is none.
    """
    if given is None:
        machine = machine_memory()
        return None if machine is None else int(machine * SHARE) // max(1, jobs)
    if not isinstance(given, str):
        given = arguments.whole("max_memory", given, 2 << 30)
    size = _core.parse_size(given) if isinstance(given, str) else given
    if size <= 0:
        raise ValueError(f'a run cannot do with {given!r} of memory; allowed: 1 byte or more, such as "2GiB"')
    return size


def machine_memory(root: Path = Path("/")) -> int | None:
    """Bytes of memory that this process can have: what is built in, less what control groups and ``ulimit`` forbid.

    ``None`` where nothing tells. The files of the kernel are looked for below ``root``.
    """
    return min((*_built_in(), *_allowed_by_groups(root), *_allowed_by_user()), default=None)


def _built_in() -> Iterator[int]:
    try:
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return


def _allowed_by_user() -> Iterator[int]:
    try:
        import resource
    except ImportError:
        return
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft, _ = resource.getrlimit(kind)
        if soft != resource.RLIM_INFINITY:
            yield soft


def _allowed_by_groups(root: Path) -> Iterator[int]:
    """The limits of the process's control group and of all groups around it."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, group = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        mount = root / "sys/fs/cgroup" / controllers
        folder = mount / group.lstrip("/")
        # Inside a container the group's own path is often not mounted; then the top is the container's.
        for place in (folder, *folder.parents):
            if not place.is_relative_to(mount):
                break
            for name in _CGROUP_LIMITS:
                for text in _lines(place / name):
                    if text.isdecimal():
                        yield int(text)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return []
