"""What runs an experiment: the simulator, or the TCP of the running Linux kernel over the simulator's links.

A run on the kernel takes real time on a machine that does other things too. Each comes with a certificate; one whose
certificate is bad is void and is repeated.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeAlias

from dumbbell import _core, arguments, scratch

if TYPE_CHECKING:
    from dumbbell.live import Live
    from dumbbell.results import Result

SIMULATOR = "simulator"
LINUX = "linux"

ALLOWED, FORBIDDEN = "programs", "no-programs"
"""What a worker is told about the programs that flows name."""

PROGRAM_FAILED = 4
"""Exit status of a worker whose run a program has ended."""


_MONOTONIC_COARSE = 6
"""``CLOCK_MONOTONIC_COARSE``, which Python has no name for."""


def hz() -> int:
    """Ticks a second of the running kernel's coarse clock (``CONFIG_HZ``)."""
    return round(1 / time.clock_getres(_MONOTONIC_COARSE))


def receivers() -> dict[str, str]:
    """What the running kernel's receivers do, as far as kernels differ: keys of ``transport``."""
    return receivers_of(platform.release())


def receivers_of(release: str) -> dict[str, str]:
    """What those of a kernel do, by its release: ``6.12.117``."""
    major, minor, *_ = (int(number) for number in re.findall(r"\d+", release))
    return _core.receivers_of_linux((major, minor))


class Ground(Protocol):
    """What runs points of experiments."""

    name: ClassVar[str]
    """What results call it."""
    is_alone: ClassVar[bool]
    """Whether runs at the same time would disturb each other."""

    @property
    def threads(self) -> int:
        """Threads that a run takes."""

    @property
    def takes_processes(self) -> bool:
        """Whether runs of classes in Python may go to processes of their own."""

    def watch(self) -> Live | None:
        """What sees how far a run is; ``None`` on a ground that shows finished points alone."""

    def run(
        self, point: _core.Point, cancel: _core.CancelToken, max_memory: int | None, live: Live | None = None
    ) -> Result:
        """Runs a point; ``live`` is what :meth:`watch` has given."""


@dataclass(frozen=True)
class Simulator:
    """The engine, in virtual time."""

    threads: int = 1
    """Threads of each run."""
    plain: bool = False
    """Whether packets are carried one by one, through the general code alone."""

    name: ClassVar[str] = SIMULATOR
    is_alone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.plain and self.threads > 1:
            raise ValueError(f"threads={self.threads}: a plain run takes one thread")
        if self.threads < 1:
            raise ValueError(f"threads={self.threads}: a run takes at least one thread")

    @property
    def takes_processes(self) -> bool:
        """A plain run is one of this process."""
        return not self.plain

    def watch(self) -> None:
        """Nothing: progress counts finished points."""

    def run(
        self, point: _core.Point, cancel: _core.CancelToken, max_memory: int | None, live: Live | None = None
    ) -> Result:
        """Simulates a point."""
        from dumbbell import parallel

        return parallel.run_point(point, cancel, max_memory, self.threads, self.plain)


@dataclass(frozen=True)
class Linux:
    """The running kernel's TCP."""

    retries: int = 2
    """How often a run that is void is repeated."""
    sysctl: Mapping[str, str] = field(default_factory=dict)
    """Sysctls of the hosts' network namespaces, such as ``{"net.ipv4.tcp_wmem": "4096 16384 4194304"}``."""
    allow_programs: bool = False
    """Whether the programs that flows name may run. They can do everything that you can: read them first."""

    name: ClassVar[str] = LINUX
    is_alone: ClassVar[bool] = True
    takes_processes: ClassVar[bool] = False
    threads: ClassVar[int] = 1

    def watch(self) -> Live:
        """How far a run is, and what its flows get."""
        from dumbbell.live import Live

        return Live()

    def run(
        self, point: _core.Point, cancel: _core.CancelToken, max_memory: int | None, live: Live | None = None
    ) -> Result:
        """Runs a point until an attempt is good; raises :class:`VoidRunError` when none is."""
        attempts: tuple[Result, ...] = ()
        while len(attempts) <= self.retries:
            result = _attempt(point, self, cancel, max_memory, None if live is None else live.begin())
            if not result.meta.void:
                return replace(result, void_attempts=attempts)
            attempts = (*attempts, result)
        raise VoidRunError(attempts)


SIMULATED = Simulator()
"""The simulator with its defaults."""

On: TypeAlias = Literal["simulator", "sim", "linux"] | Linux
"""A ground, by its name or with its settings."""


class VoidRunError(Exception):
    """All attempts at a run on the kernel were void; ``attempts`` holds their results, which are not to be used."""

    def __init__(self, attempts: tuple[Result, ...]) -> None:
        self.attempts = attempts
        reasons = "; ".join(attempts[-1].meta.void)
        label = attempts[-1].meta.label
        super().__init__(
            (f"{label}: " if label else "")
            + f"void after {len(attempts)} attempts: {reasons}\n  help: leave the machine to the run, lower the rate, "
            "or allow more attempts: --retries, in Python on=dumbbell.Linux(retries=...)"
        )


def ground(on: On, threads: int = 1, plain: bool = False) -> Ground:
    """The ground of that name, or with these settings; ``threads`` and ``plain`` are the simulator's."""
    threads = arguments.whole("threads", threads, 2)
    if on in (SIMULATOR, "sim"):
        return Simulator(threads, plain)
    if on != LINUX and not isinstance(on, Linux):
        raise ValueError(f"on={on!r}: there are 'sim' and 'linux'")
    if plain:
        raise ValueError("plain=True: the kernel carries packets as it does")
    if threads < 1:
        raise ValueError(f"threads={threads}: a run takes at least one thread")
    if threads > 1:
        raise ValueError(f"threads={threads}: a run on the kernel has no threads of its own")
    return on if isinstance(on, Linux) else Linux()


def _attempt(
    point: _core.Point,
    linux: Linux,
    cancel: _core.CancelToken,
    max_memory: int | None,
    watch: _core.Watch | None,
) -> Result:
    from dumbbell.parallel import measured

    if os.geteuid() == 0:
        sysctls = list(linux.sysctl.items())
        allowed = linux.allow_programs
        return measured(point, lambda: point.run_on_linux(cancel, max_memory, sysctls, watch, allowed))
    return _attempt_in_worker(point, linux, cancel, max_memory)


def _attempt_in_worker(point: _core.Point, linux: Linux, cancel: _core.CancelToken, max_memory: int | None) -> Result:
    """An attempt as an ordinary user, in a process of its own: only one with a single thread gets a user namespace."""
    from dumbbell.parallel import PATIENCE_S
    from dumbbell.results import load_result

    with scratch.Folder("run") as folder:
        task = folder / "task.toml"
        task.write_text(point.resolved_toml, encoding="utf-8")
        target = folder / "result"
        sysctls = [f"{name}={value}" for name, value in linux.sysctl.items()]
        allowed = ALLOWED if linux.allow_programs else FORBIDDEN
        words = [str(task), str(target), str(max_memory or 0), allowed, *sysctls]
        command = [sys.executable, "-m", "dumbbell.worker", *words]
        said = folder / "said"
        # The worker sees the end of its standard input when this process ends, however it ends.
        with (
            said.open("w", encoding="utf-8") as stderr,
            subprocess.Popen(command, stdin=subprocess.PIPE, stderr=stderr) as worker,
        ):
            while True:
                with suppress(subprocess.TimeoutExpired):
                    worker.wait(PATIENCE_S)
                    break
                if cancel.cancelled:
                    worker.kill()
                    raise _core.RunCancelled("interrupted")
        if worker.returncode != 0:
            message = said.read_text("utf-8", "replace").strip()
            kind = _core.ProgramError if worker.returncode == PROGRAM_FAILED else _core.RunError
            raise kind(message or f"the worker ended with status {worker.returncode}")
        result = load_result(target)
    meta = replace(
        result.meta,
        content_hash=point.content_hash,
        label=point.label,
        repeat=point.repeat,
        settings=point.settings,
    )
    return replace(result, meta=meta, described=point)
