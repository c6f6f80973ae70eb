"""``dumbbell watch``: an experiment again whenever its file, or that of an algorithm, is saved."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import _core, extras
from dumbbell.commands import options
from dumbbell.console import examples, fail, show
from dumbbell.printable import printable

if TYPE_CHECKING:
    from dumbbell.results import Result

EXAMPLES = examples(
    "dumbbell watch mine.toml",
    "dumbbell watch mine.toml -o picture.png  # for a picture viewer",
)

POLL_S = 0.1
"""How often files are looked at. Asking the system for their state costs microseconds, works on every file system, and
needs no library."""

CLEAR = "\x1b[H\x1b[2J\x1b[3J"

_State = dict[Path, tuple[int, int] | None]


class _ChangedError(Exception):
    """A file was saved while the experiment ran."""


def watch(
    file: Annotated[Path, typer.Argument(help="Experiment file (TOML) of a single run.", show_default=False)],
    settings: options.Settings = None,
    seed: options.Seed = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Also draw the overview: NAME.png, .svg or .pdf.")
    ] = None,
) -> None:
    """Run an experiment and draw it, again whenever its file or an algorithm's is saved. Ctrl-C ends it.

    A mistake in a file is shown, and the next save tries again.
    """
    chosen = options.settings(settings)
    kind = None if out is None else out.suffix.removeprefix(".")
    if kind not in (None, "png", "svg", "pdf"):
        fail(f"--out {out}: write NAME.png, NAME.svg or NAME.pdf")
    if not file.is_file():
        fail(f"{file}: {options.missing(file)}")
    if out is not None:
        extras.need("plots", "--out")
        # What takes its time to import, before anybody waits for it.
        from dumbbell import plots  # noqa: F401
    watched = _Watched(file)
    while True:
        state = watched.state()
        try:
            loaded = options.load(file, set=chosen, seed=seed)
            watched.follow([*loaded.included, *loaded.algorithm_files])
            # A file that was saved after it was read has another state than before.
            state = watched.state() | state
            if len(loaded.points) != 1:
                raise _core.ScenarioError(f"error: {file} has {len(loaded.points)} points; watch a file of one run")
            result = _run(loaded, watched, state)
            _draw(result, out, str(file))
        except _ChangedError:
            continue
        except (_core.ScenarioError, _core.RunError) as error:
            _show([printable(str(error))], str(file))
        while watched.state() == state:
            time.sleep(POLL_S)


class _Watched:
    """The files whose change counts: those that were read, and all experiments and Python files beside the first."""

    def __init__(self, file: Path) -> None:
        self._folder = file.parent
        self._files = {file}

    def follow(self, files: Iterable[str]) -> None:
        self._files |= set(map(Path, files))

    def state(self) -> _State:
        beside = (path for pattern in ("*.py", "*.toml") for path in self._folder.glob(pattern))
        return {path: _stamp(path) for path in {*self._files, *beside}}


def _stamp(path: Path) -> tuple[int, int] | None:
    """When a file was written and how long it is; none while an editor replaces it."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _run(loaded: _core.Experiment, watched: _Watched, state: _State) -> Result:
    from dumbbell.parallel import run_points

    def idle() -> None:
        if watched.state() != state:
            raise _ChangedError

    with closing(run_points(loaded.points, idle=idle)) as running:
        return next(running)[1]


def _draw(result: Result, out: Path | None, name: str) -> None:
    from dumbbell import sparks
    from dumbbell.terminal import console

    _show(sparks.lines(result, console().width), name, result)
    if out is not None:
        from dumbbell.plots import write_alone

        write_alone(result.plot.overview(), out, out.suffix.removeprefix("."))  # type: ignore[arg-type]
        show(f"{out} is drawn")


def _show(lines: Iterable[str], name: str, result: Result | None = None) -> None:
    """Replaces what the terminal shows; what is no terminal gets one after the other."""
    if sys.stdout.isatty():
        typer.echo(CLEAR, nl=False)
    for line in lines:
        typer.echo(line)
    if result is not None:
        from dumbbell import report

        report.result(result)
    show(f"{name} is watched; Ctrl-C ends it")
    sys.stdout.flush()
