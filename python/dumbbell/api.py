"""What one calls from a notebook: run, sweep."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from dumbbell import _core, experiment, storage
from dumbbell.experiment import Source
from dumbbell.parallel import engine_digest, run_points
from dumbbell.progress import progress_bar
from dumbbell.results import META, SWEEP_META, Meta, Result, SweepResult, load_result, point_folder
from dumbbell.tables import Table


def run(
    source: Source,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    seed: int | None = None,
) -> Result:
    """Runs an experiment that is a single run.

    Args:
        source: Path of an experiment file, or a dictionary of the same shape.
        set: Settings that replace what the file says: ``{"path.loss": "1%", "flows[0].cc": "bbr"}``.
        seed: Seed in place of the file's.

    Raises:
        ScenarioError: The experiment is wrong; the message says where and what would be right.
        ValueError: The experiment has several points; use :func:`sweep`.
        RunFailed: A controller could not go on; the message says which, when and why.
    """
    points = experiment.load(source, set=set, seed=seed).points
    if len(points) != 1:
        raise ValueError(f"the experiment has {len(points)} points; use dumbbell.sweep")
    with closing(run_points(points)) as results:
        return next(results)[1]


def sweep(
    source: Source,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    seed: int | None = None,
    repeat: int | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Runs every point of an experiment on all cores.

    Nothing runs yet when this returns: iterate over the sweep to get each result as it finishes, or ``collect()`` it.

    Args:
        source: Path of an experiment file, or a dictionary of the same shape.
        set: Settings that replace what the file says.
        seed: Base seed in place of the file's.
        repeat: Repetitions of each point in place of the file's ``sweep.repeat``.
        jobs: Threads; default one a core.
        out: Directory for the results. Points that are already there are not run again, so that an interrupted sweep
            resumes where it stopped.
        progress: Whether to show a progress bar; by default on a terminal.

    Raises:
        ScenarioError: The experiment is wrong; the message says where and what would be right.
        OutputError: ``out`` cannot be written.
    """
    points = experiment.load(source, set=set, seed=seed, repeat=repeat).points
    return Sweep(points, jobs=jobs, out=None if out is None else Path(out), progress=progress)


class Sweep:
    """The points of an experiment, run when asked for."""

    def __init__(
        self, points: Sequence[_core.Point], *, jobs: int | None, out: Path | None, progress: bool | None
    ) -> None:
        self.points = points
        self._jobs = jobs
        self._out = out
        self._progress = progress
        if out is not None:
            _claim(out)

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
        rows: dict[int, tuple[Meta, Table, Table]] = {}
        for index, result in self._results():
            rows[index] = result.meta, result.flows, result.links
            if each is not None:
                each(index, result)
        joined = SweepResult.of([rows[index] for index in range(len(self.points))], self._out)
        if self._out is not None:
            joined.write_tables(self._out)
        return joined

    def _results(self) -> Iterator[tuple[int, Result]]:
        todo: list[int] = []
        with progress_bar(len(self.points), show=self._progress) as advance:
            for index, point in enumerate(self.points):
                folder = self._folder(point)
                if folder is None or not _has(folder, point):
                    todo.append(index)
                    continue
                advance()
                yield index, load_result(folder)
            with closing(run_points([self.points[index] for index in todo], self._jobs)) as running:
                for position, result in running:
                    index = todo[position]
                    if (folder := self._folder(self.points[index])) is not None:
                        result.save(folder)
                    advance()
                    yield index, result

    def _folder(self, point: _core.Point) -> Path | None:
        return None if self._out is None else point_folder(self._out, point.content_hash)


def _claim(out: Path) -> None:
    """Makes sure that ``out`` is ours to write into: absent, empty or an earlier sweep."""
    ours = (out / SWEEP_META).is_file() or (out / "points").is_dir()
    if not ours:
        storage.check_target(out, marker=SWEEP_META)


def _has(folder: Path, point: _core.Point) -> bool:
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(meta.get("content_hash") == point.content_hash and meta.get("engine") == engine_digest())
