"""A progress bar for anything that takes more than a second, on a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread, Timer
from typing import Any

PATIENCE_S = 1.0
"""How long something may take before a bar appears."""

REFRESH_S = 0.25
"""How often a bar in a notebook is drawn anew."""


@contextmanager
def progress_bar(total: int, *, show: bool | None = None, what: object = "simulating") -> Iterator[Callable[[], None]]:
    """Yields a function to call after each of ``total`` steps.

    The bar appears after a second, moves, and disappears at the end: on standard error, or below the cell of a
    notebook. ``show`` is by default whether there is a terminal or a notebook. ``what`` is asked for its text
    whenever the bar is drawn.
    """
    in_notebook = _in_notebook()
    if not (in_notebook or sys.stderr.isatty() if show is None else show):
        yield lambda: None
    elif in_notebook:
        with _below_the_cell(total, what) as advance:
            yield advance
    else:
        with _on_the_terminal(total, what) as advance:
            yield advance


def _in_notebook() -> bool:
    """Whether this interpreter is the kernel of a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def _on_the_terminal(total: int, what: object) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.fields[what]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=total, what=what)
    timer = Timer(PATIENCE_S, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda: bar.advance(task)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


@contextmanager
def _below_the_cell(total: int, what: object) -> Iterator[Callable[[], None]]:
    from IPython.display import HTML, display

    done = 0
    ended = Event()
    begin = time.perf_counter()

    def shown() -> Any:
        seconds = int(time.perf_counter() - begin)
        return HTML(
            f'{what} <progress value="{done}" max="{total}" style="width: 20em"></progress> {done} of {total}, '
            f"{seconds // 60}:{seconds % 60:02}"
        )

    def draw() -> None:
        if ended.wait(PATIENCE_S):
            return
        handle = display(shown(), display_id=True)
        while not ended.wait(REFRESH_S):
            handle.update(shown())
        handle.update(HTML(""))

    def advance() -> None:
        nonlocal done
        done += 1

    drawing = Thread(target=draw, name="progress", daemon=True)
    drawing.start()
    try:
        yield advance
    finally:
        ended.set()
        drawing.join()
