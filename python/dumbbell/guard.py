"""What code of one's own may do to a process that runs it: it is stopped where it does not return.

Hooks run in threads of the sweep. Python can raise an exception in another thread, which ends a loop there.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from dumbbell import _core, own

CALL_S = 10.0
"""CPU time after which a call that has not returned never will."""

_PACKAGE = str(Path(__file__).parent)
_running: dict[int, _core.CancelToken] = {}


class EndlessCallError(BaseException):
    """A hook did not return. No ``except Exception`` holds it up."""

    def __str__(self) -> str:
        return f"the call has computed for {CALL_S:g} s and has not returned; does it loop for ever?"


class MemoryExceededError(BaseException):
    """The process has grown by more than its runs may take."""

    def __str__(self) -> str:
        return "the process has grown by more than its runs may take (--max-memory); does a list only grow?"


class InterruptedCallError(KeyboardInterrupt):
    """Nobody waits for this run any more."""


@contextmanager
def watched(point: _core.Point, cancel: _core.CancelToken) -> Iterator[None]:
    """Runs a point under watch if there are classes of one's own in it, and refuses what would change the next run."""
    if not point.own_algorithms:
        yield
        return
    algorithms = own.algorithms_of(point)
    before = [algorithm.state() for algorithm in algorithms]
    threads = set(threading.enumerate())
    here = threading.get_ident()
    _running[here] = cancel
    try:
        yield
    finally:
        del _running[here]
        # What came too late for the hook must not end anything else.
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(here), None)
    for algorithm, old in zip(algorithms, before, strict=True):
        _check_state(algorithm, old)
    started = [thread for thread in set(threading.enumerate()) - threads if not thread.name.startswith("dumbbell")]
    for thread in started:
        if any(_target(thread) == algorithm.cls.__module__ for algorithm in algorithms):
            raise _core.RunError(
                f"the algorithm has started a thread ({thread.name}), so that its decisions depend on the machine\n"
                "  help: decide in the hooks; time is conn.now, not that of the machine"
            )


def _check_state(algorithm: own.Algorithm, before: dict[str, object]) -> None:
    after = algorithm.state()
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if not _same(old, new):
            raise _core.RunError(
                f"the run has changed `{name}` of {algorithm.text} from {_short(old)} to {_short(new)}, and the next "
                "one would begin with that\n  help: what a flow remembers belongs to its object: self.NAME in a method"
            )


def _same(old: object, new: object) -> bool:
    if type(old) is not type(new):
        return False
    try:
        # NaN differs from itself.
        return bool(old == new) or (isinstance(old, float) and repr(old) == repr(new))
    except Exception:
        # Arrays in a list do not say whether they are equal.
        return True


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _target(thread: threading.Thread) -> str | None:
    target = getattr(thread, "_target", None)
    return getattr(target, "__module__", None) or type(thread).__module__


class Patience:
    """Ends calls that do not return, and runs that take more memory than they may. Asked now and then."""

    def __init__(self, max_memory: int | None) -> None:
        self._calls: dict[int, tuple[FrameType, float]] = {}
        self._max_memory = max_memory
        self._before = _resident()

    def check(self) -> None:
        """Looks at all runs of classes."""
        if not _running:
            return
        frames = sys._current_frames()
        for ident in list(_running):
            frame = _hook(frames.get(ident))
            known = self._calls.get(ident)
            if frame is None:
                self._calls.pop(ident, None)
            elif known is None or known[0] is not frame:
                self._calls[ident] = frame, _cpu_s(ident)
            elif _cpu_s(ident) - known[1] > CALL_S:
                del self._calls[ident]
                _raise_in(ident, EndlessCallError)
        grown = _resident() - self._before
        if self._max_memory is not None and grown > self._max_memory:
            for ident in list(_running):
                _raise_in(ident, MemoryExceededError)
            self._before += grown


def interrupt(cancel: _core.CancelToken) -> None:
    """Ends the calls of runs that hold a token."""
    for ident, token in list(_running.items()):
        if token is cancel:
            _raise_in(ident, InterruptedCallError)


def _hook(frame: FrameType | None) -> FrameType | None:
    """The frame of the hook that a thread is in: the outermost one that is not ours."""
    found = None
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_PACKAGE):
            return found
        found = frame
        frame = frame.f_back
    return None


def _raise_in(ident: int, error: type[BaseException]) -> None:
    if ident in _running:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(error))


def _cpu_s(ident: int) -> float:
    """CPU time of a thread, which runs: it is in the table, and leaves it before it ends."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic()
    return time.clock_gettime(time.pthread_getcpuclockid(ident))


def _resident() -> int:
    """Bytes of memory that this process holds; 0 where nothing tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    import resource

    return pages * resource.getpagesize()
