"""A progress bar for anything that takes more than a second, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

PATIENCE_S = 1.0
"""How long something may take before a bar appears."""


@contextmanager
def progress_bar(total: int, *, show: bool | None = None, what: str = "simulating") -> Iterator[Callable[[], None]]:
    """Yields a function to call after each of ``total`` steps.

    The bar goes to standard error, appears after a second and disappears at the end. ``show`` is by default whether
    standard error is a terminal.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(what, total=total)
    timer = Timer(PATIENCE_S, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
