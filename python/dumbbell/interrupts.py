"""Ctrl-C on the command line: the process ends within a second, whatever it is doing.

Usually the interrupt unwinds the program, which takes back what it has half done. It cannot while a library writes a
large table or a disk is slow; then a second thread, woken by the signal itself, ends the process.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from dumbbell import storage
from dumbbell.printable import printable

STATUS = 130
"""Exit status of an interrupted command, as shells have it."""

GRACE_S = 0.6
"""How long the program has to unwind."""

SHOW_CURSOR = "\r\x1b[2K\x1b[?25h"
"""Clears the line of a progress bar, which hides the cursor."""

_said = threading.Lock()
_advice: Callable[[], str] | None = None


class Interrupted(Exception):
    """Ctrl-C, as an exception that no library takes for its own."""


def advise(advice: Callable[[], str] | None) -> None:
    """Sets what :func:`report` says of the work so far and how to go on."""
    global _advice
    _advice = advice


def report() -> None:
    """Says once, on standard error, that the command was interrupted and how to go on."""
    if _said.acquire(blocking=False):
        print(_message(), end="", file=sys.stderr, flush=True)


@contextmanager
def ending_soon() -> Iterator[None]:
    """Ends the process ``GRACE_S`` after Ctrl-C if it has not ended by itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader,), name="interrupts", daemon=True).start()
    try:
        yield
    finally:
        # A signal that has come is still in the reader: it holds also for the end of the interpreter, which waits for
        # the threads of the simulation.
        signal.set_wakeup_fd(before)
        writer.close()


def _watch(reader: socket.socket) -> None:
    with reader:
        while received := reader.recv(64):
            if signal.SIGINT in received:
                time.sleep(GRACE_S)
                _leave()


def _leave() -> None:
    storage.abandon()
    if _said.acquire(blocking=False):
        # Past a progress bar, which may have taken over the stream.
        with suppress(OSError):
            os.write(2, ((SHOW_CURSOR if os.isatty(2) else "") + _message()).encode())
    os._exit(STATUS)


def _message() -> str:
    lines = ["interrupted", *([_advice()] if _advice is not None else [])]
    return printable("\n".join(lines) + "\n")
