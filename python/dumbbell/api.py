"""What one calls from a notebook: run, sweep."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from dumbbell import _core, experiment, storage
from dumbbell.experiment import Source
from dumbbell.grounds import LINUX, SIMULATOR, Linux, On, ground
from dumbbell.live import Live
from dumbbell.memory import Size
from dumbbell.parallel import engine_digest, run_points
from dumbbell.progress import progress_bar
from dumbbell.results import POINTS, SWEEP, Result, Run, SweepResult, load_result, point_folder, read_meta
from dumbbell.storage import DamagedResultWarning, OutputError, ResultError


def run(
    source: Source,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    seed: int | None = None,
    max_memory: Size | None = None,
    on: On = "simulator",
) -> Result:
    """Runs an experiment that is a single run.

    Args:
        source: Path of an experiment file, or a dictionary of the same shape.
        set: Settings that replace what the file says: ``{"path.loss": "1%", "flows[0].cc": "bbr"}``.
        seed: Seed in place of the file's.
        max_memory: Memory that the run may take, in bytes or as ``"2GiB"``; default half of the machine's.
        on: What runs it: ``"simulator"``, or ``"linux"`` for the TCP of the running kernel over the same links, in real
            time; :class:`Linux` has settings.

    Raises:
        ScenarioError: The experiment is wrong; the message says where and what would be right.
        RunError: The run would need more memory than it may take, or a controller could not go on; the message says
            what grew, or which controller, when and why. Or the kernel or the machine cannot do what it asks for.
        VoidRunError: The machine was too busy for a run on the kernel that measures anything.
        ValueError: The experiment has several points; use :func:`sweep`.
    """
    points = experiment.load(source, set=set, seed=seed).points
    if len(points) != 1:
        raise ValueError(f"the experiment has {len(points)} points; use dumbbell.sweep")
    with closing(run_points(points, max_memory=max_memory, linux=ground(on))) as results:
        return next(results)[1]


def sweep(
    source: Source,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    seed: int | None = None,
    repeat: int | None = None,
    jobs: int | None = None,
    max_memory: Size | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    on: On = "simulator",
) -> Sweep:
    """Runs every point of an experiment on all cores.

    Nothing runs yet when this returns: iterate over the sweep to get each result as it finishes, or ``collect()`` it.

    Args:
        source: Path of an experiment file, or a dictionary of the same shape.
        set: Settings that replace what the file says.
        seed: Base seed in place of the file's.
        repeat: Repetitions of each point in place of the file's ``sweep.repeat``.
        jobs: Threads; default one a core.
        max_memory: Memory that each run may take, in bytes or as ``"2GiB"``; default its part of half of the machine's.
        out: Directory for the results. Points that are already there are not run again, so that an interrupted sweep
            resumes where it stopped. A damaged one is run again, with a :class:`DamagedResultWarning`.
        progress: Whether to show a progress bar; by default on a terminal.
        on: What runs it, as in :func:`run`; on the kernel one point after the other.

    Raises:
        ScenarioError: The experiment is wrong; the message says where and what would be right.
        OutputError: ``out`` cannot be written.
    """
    points = experiment.load(source, set=set, seed=seed, repeat=repeat).points
    folder = None if out is None else Path(out)
    return Sweep(points, jobs=jobs, max_memory=max_memory, out=folder, progress=progress, linux=ground(on))


class Sweep:
    """The points of an experiment, run when asked for."""

    def __init__(
        self,
        points: Sequence[_core.Point],
        *,
        jobs: int | None,
        out: Path | None,
        progress: bool | None,
        max_memory: Size | None = None,
        linux: Linux | None = None,
    ) -> None:
        self.points = points
        self._linux = linux
        self._jobs = jobs
        self._max_memory = max_memory
        self._out = out
        self._progress = progress
        self.finished = 0
        """How many results the latest iteration has given, those on disk included."""
        if out is not None:
            storage.check_claim(out, SWEEP)

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Result]:
        """Results in the order in which they finish; those already on disk come first."""
        return (result for _, result in self._results())

    def collect(self, each: Callable[[int, Result], None] | None = None) -> SweepResult:
        """Runs what is left and joins the tables, in the order of the file whatever finished first.

        Time series are not kept in memory; with ``out`` they are in the points' directories. ``each`` is called with
        the index of a point and its result as it finishes.
        """
        rows: dict[int, Run] = {}
        for index, result in self._results():
            rows[index] = Run.of(result)
            if each is not None:
                each(index, result)
        joined = SweepResult.of([rows[index] for index in range(len(self.points))], self._out)
        if self._out is not None:
            joined.write_tables(self._out)
        return joined

    def _results(self) -> Iterator[tuple[int, Result]]:
        todo: list[int] = []
        self.finished = 0
        out = self._out
        held = nullcontext() if out is None else storage.claimed(out, SWEEP)
        live = None if self._linux is None else Live()
        bar = progress_bar(len(self.points), show=self._progress, what=live or "simulating")
        with held, bar as advance:
            if out is not None:
                storage.discard_stale(out / POINTS)
            for index, point in enumerate(self.points):
                found = self._on_disk(point)
                if found is None:
                    todo.append(index)
                    continue
                self.finished += 1
                advance()
                yield index, found
            points = [self.points[index] for index in todo]
            with closing(run_points(points, self._jobs, self._max_memory, self._linux, live)) as running:
                for position, result in running:
                    if out is not None:
                        result.save_point(out)
                    self.finished += 1
                    advance()
                    yield todo[position], result

    def _folder(self, point: _core.Point) -> Path | None:
        return None if self._out is None else point_folder(self._out, point.content_hash)

    def _on_disk(self, point: _core.Point) -> Result | None:
        """The result of ``point`` that an earlier run of the same engine has left."""
        folder = self._folder(point)
        if folder is None or not folder.exists():
            return None
        try:
            storage.recover(folder)
            meta = read_meta(folder)
            is_same_ground = meta.ground == (SIMULATOR if self._linux is None else LINUX)
            if is_same_ground and meta.content_hash == point.content_hash and meta.engine == engine_digest():
                return load_result(folder)
        except (ResultError, OutputError) as error:
            problem = error.problem if isinstance(error, ResultError) else error
            warnings.warn(f"{problem}; this point is run again", DamagedResultWarning, stacklevel=2)
        return None
