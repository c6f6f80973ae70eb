"""What a test asks of the wall clock: what holds at any load; more only where the machine has nothing else to do."""

from __future__ import annotations

import fcntl
import math
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar

import pytest

OTHERS = 0.05
"""Cores that others may keep busy on a machine that has nothing else to do."""

PATIENCE_S = 600
"""How long a test waits for what must happen: longer than any machine takes."""

IS_WHOLE = bool(os.environ.get("DUMBBELL_TEST_WHOLE"))
"""Whether tests that are only long draw all of what they could: ``make test-all``."""

T = TypeVar("T")


class Others:
    """The work of other programs since this one was made, as far as the system tells.

    A child's CPU time is known only when it has ended, all of it: ``children_s`` is what those that run have had.
    """

    def __init__(self, children_s: float = 0.0) -> None:
        all_s, own_s = _busy_s()
        self._begin = (time.monotonic(), all_s, own_s + children_s)

    def cores(self) -> float:
        """How many cores they have kept busy; without end where the system does not tell."""
        begin, all_s, own_s = self._begin
        end, all_now_s, own_now_s = time.monotonic(), *_busy_s()
        if math.isinf(all_s):
            return math.inf
        return max(0.0, (all_now_s - all_s) - (own_now_s - own_s)) / max(end - begin, 1e-9)


def _busy_s() -> tuple[float, float]:
    """CPU time of all programs and the host of a virtual machine; of this process and those that it has waited for."""
    try:
        line = Path("/proc/stat").read_text("utf-8").split("\n", 1)[0]
    except OSError:
        return math.inf, 0.0
    user, nice, system, _, _, _, _, stolen, *_ = map(int, line.split()[1:])
    own = os.times()
    return (user + nice + system + stolen) / os.sysconf("SC_CLK_TCK"), sum(own[:4])


_turn: IO[str] | None = None
"""The lock of the test that is running, if that is on the kernel."""


@contextmanager
def on_the_kernel() -> Iterator[None]:
    """Tests on the kernel go beside each other, but for one that wants the machine to itself."""
    global _turn
    with (Path(tempfile.gettempdir()) / f"dumbbell-tests-{os.getuid()}.lock").open("w") as _turn:
        fcntl.flock(_turn, fcntl.LOCK_SH)
        yield
    _turn = None


@contextmanager
def alone() -> Iterator[None]:
    """No other test is on the kernel meanwhile."""
    assert _turn is not None, "the test is not marked as one on the kernel"
    fcntl.flock(_turn, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(_turn, fcntl.LOCK_SH)


def measured(measure: Callable[[], T], holds: Callable[[T], None]) -> T:
    """What is measured of the kernel, whose numbers hold.

    Where they do not, it is measured once more with no other test beside it. If they do not hold then either, the test
    fails, or is void if other programs were at work meanwhile.
    """
    value = measure()
    try:
        holds(value)
    except AssertionError as error:
        print(f"once more, alone: {error}")
    else:
        return value
    with alone():
        others = Others()
        value = measure()
        cores = others.cores()
    try:
        holds(value)
    except AssertionError as error:
        if cores > OTHERS:
            pytest.skip(f"void: other programs kept {cores:.2f} cores busy: {error}")
        raise
    return value


def wait_until(holds: Callable[[], bool]) -> None:
    """Waits for what must happen."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it has not happened"
        time.sleep(0.02)


def ends_within(process: subprocess.Popen[str], cpu_s: float, stop: Callable[[], None]) -> tuple[str, str]:
    """Stops a process, which takes less CPU time for its end than this, and less time where nothing else is at work."""
    begin = _cpu_s(process.pid)
    children = _children_s()
    others, stopped = Others(begin), time.monotonic()
    stop()
    out, err = process.communicate(timeout=PATIENCE_S)
    elapsed_s, cores = time.monotonic() - stopped, others.cores()
    assert _children_s() - children - begin < cpu_s
    assert elapsed_s < cpu_s or cores > OTHERS
    return out, err


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cpu_s(pid: int) -> float:
    """CPU time of a process so far; without end where the system does not tell."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return math.inf
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
