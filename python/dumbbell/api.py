"""What one calls from a notebook: run, sweep."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Container, Generator, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from dumbbell import _core, arguments, experiment, scratch, storage
from dumbbell.batches import ALL_TABLES, BATCHES, SUMMARIES, Archive
from dumbbell.commits import Commits
from dumbbell.experiment import Source
from dumbbell.grounds import SIMULATED, Ground, On, ground
from dumbbell.live import Live
from dumbbell.memory import Size
from dumbbell.meta import shown_as
from dumbbell.parallel import engine_digest, run_points
from dumbbell.progress import progress_bar
from dumbbell.results import POINTS, SWEEP, Meta, Result, SweepResult, load_result, point_folder, read_meta
from dumbbell.storage import DamagedResultWarning, OtherEngineError, OtherEngineWarning, OutputError, ResultError
from dumbbell.summaries import Summaries

if TYPE_CHECKING:
    from distributed import Client

Others: TypeAlias = Literal["refuse", "keep", "rerun"]
"""What becomes of points of a sweep on disk that another engine has computed."""


def run(
    source: Source,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    seed: int | None = None,
    max_memory: Size | None = None,
    on: On = "simulator",
    threads: int = 1,
    plain: bool = False,
) -> Result:
    """Runs an experiment that is a single run.

    Args:
        source: Path of an experiment file, or a dictionary of the same shape.
        set: Settings that replace what the file says: ``{"path.loss": "1%", "flows[0].cc": "bbr"}``.
        seed: Seed in place of the file's.
        max_memory: Memory that the run may take, in bytes or as ``"2GiB"``; default half of the machine's.
        on: What runs it: ``"simulator"``, or ``"linux"`` for the TCP of the running kernel over the same links, in real
            time; :class:`Linux` has settings.
        threads: Threads that share the flows of the run, if these meet in one link and nowhere else; other runs take
            one. The results are the same.
        plain: Whether packets are carried one by one, without any short cut, on one thread. The results are the same,
            and take twice the time: for those who doubt a short cut.

    Raises:
        ScenarioError: The experiment is wrong; the message says where and what would be right.
        RunError: The run would need more memory than it may take, or a controller could not go on; the message says
            what grew, or which controller, when and why. Or the kernel or the machine cannot do what it asks for.
        VoidRunError: The machine was too busy for a run on the kernel that measures anything.
        ValueError: The experiment has several points; use :func:`sweep`. Or ``threads`` is below 1, or given for the
            kernel or for a ``plain`` run, or this is given for the kernel.
    """
    points = experiment.load(source, set=set, seed=seed).points
    if len(points) != 1:
        raise ValueError(f"the experiment has {len(points)} points; use dumbbell.sweep")
    with closing(run_points(points, max_memory=max_memory, ground=ground(on, threads, plain))) as results:
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
    client: Client | None = None,
    threads: int = 1,
    plain: bool = False,
    others: Others = "refuse",
    verify: float = 0.0,
) -> Sweep:
    """Runs every point of an experiment on all cores, or on all of a cluster.

    Nothing runs yet when this returns: iterate over the sweep to get each result as it finishes, or ``collect()`` it.

    Args:
        source: Path of an experiment file, or a dictionary of the same shape.
        set: Settings that replace what the file says.
        seed: Base seed in place of the file's.
        repeat: Repetitions of each point in place of the file's ``sweep.repeat``.
        jobs: Runs at the same time; default as many as keep all cores busy.
        max_memory: Memory that each run may take, in bytes or as ``"2GiB"``; default its part of half of the machine's.
        out: Directory for the results. Points that are already there are not run again, so that an interrupted sweep
            resumes where it stopped. A damaged one is run again, with a :class:`DamagedResultWarning`.
        progress: Whether to show a progress bar; by default on a terminal.
        on: What runs it, as in :func:`run`; on the kernel one point after the other.
        client: A client of Dask.distributed, whose workers run the points in place of this machine. They need the same
            build of Dumbbell. ``out`` is a directory of this machine.
        threads: Threads of each run, as in :func:`run`. It pays where there are fewer points than cores.
        plain: Whether packets are carried one by one, as in :func:`run`.
        others: What to do with points in ``out`` that another engine has computed, one built from other sources:
            ``"refuse"`` raises an error before anything runs, ``"keep"`` takes them as they are and runs the rest,
            ``"rerun"`` runs them again, and removes them when the new ones are there.
        verify: The share of points that are run again on this machine and compared byte by byte, from 0 to 1, where a
            cluster runs them. A worker that answers otherwise is left out.

    Raises:
        ScenarioError: The experiment is wrong; the message says where and what would be right.
        OutputError: ``out`` cannot be written.
        OtherEngineError: Points in ``out`` are of another engine.
        ValueError: Settings that a cluster has no use for: ``jobs``, ``threads``, or another ground. Or ``threads`` and
            ``plain`` as in :func:`run`.
    """
    points = experiment.load(source, set=set, seed=seed, repeat=repeat).points
    folder = None if out is None else arguments.path("out", out, "a directory for the results")
    if jobs is not None:
        jobs = arguments.count("jobs", jobs, 2)
    if others not in get_args(Others):
        raise ValueError(f"others={others!r}: there are {', '.join(map(repr, get_args(Others)))}")
    return Sweep(
        points,
        jobs=jobs,
        max_memory=max_memory,
        out=folder,
        progress=progress,
        ground=ground(on, threads, plain),
        client=client,
        others=others,
        verify=verify,
    )


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
        ground: Ground = SIMULATED,
        client: Client | None = None,
        others: Others = "refuse",
        verify: float = 0.0,
    ) -> None:
        if client is not None and (ground != SIMULATED or jobs is not None):
            raise ValueError(
                "a cluster runs the simulator, on all threads of its workers: leave out `on`, `jobs`, `threads` and "
                "`plain`"
            )
        if not 0.0 <= verify <= 1.0 or (verify and client is None):
            raise ValueError(f"verify={verify}: a share from 0 to 1 of what a cluster runs")
        self.points = points
        self._client = client
        self._ground = ground
        self._jobs = jobs
        self._others = others
        self._verify = verify
        self._max_memory = max_memory
        self._out = out
        self._progress = progress
        self.finished = 0
        """How many results the latest iteration has given, those on disk included."""
        self.committed = 0
        """How many of them are on disk."""
        self._live: Live | None = None
        self._archive = None if out is None else Archive(out)
        if out is not None:
            storage.check_claim(out, SWEEP)

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Result]:
        """Results in the order in which they finish; those already on disk come first."""
        return (result for _, result in self.indexed())

    def indexed(self) -> Generator[tuple[int, Result], None, None]:
        """The index of each point and its result, in the order in which they finish.

        Who may be interrupted meanwhile closes it, so that what is finished is kept before the interrupt is told.
        """
        return self._results()

    def collect(self, each: Callable[[int, Result], None] | None = None) -> SweepResult:
        """Runs what is left and joins the tables, in the order of the file whatever finished first.

        Time series are not kept in memory; with ``out`` they are in the sweep's directory. ``each`` is called with
        the index of a point and its result as it finishes.
        """
        summaries = Summaries()
        with closing(self._results(summaries, give=each is not None)) as results:
            for index, result in results:
                if each is not None:
                    each(index, result)
        joined = summaries.join(self.points, self._out)
        if self._out is not None and self._archive is not None:
            joined.write_tables(self._out)
            with storage.claimed(self._out, SWEEP):
                self._archive.tidy()
        return joined

    def stored(self) -> int:
        """How many of its points are on disk, of this engine or of one whose points are kept."""
        if self._archive is None:
            return 0
        wanted = {point.content_hash for point in self.points}
        metas = (meta for folder in self._archive.folders() for meta in self._archive.metas(folder))
        found = {meta.content_hash for meta in metas if self._is_ours(meta, wanted)}
        return sum(point.content_hash in found for point in self.points)

    def _results(
        self, summaries: Summaries | None = None, give: bool = True
    ) -> Generator[tuple[int, Result], None, None]:
        """The index of every point and its result; ``give`` says whether those on disk are wanted, too."""
        self.finished = self.committed = 0
        held = nullcontext() if self._out is None else storage.claimed(self._out, SWEEP)
        self._live = self._ground.watch()
        bar = progress_bar(len(self.points), show=self._progress, what=self._live or "simulating")
        with held, bar as advance, closing(Commits(self._archive, summaries, self._count_committed)) as commits:
            for index, result in self._points(commits, give):
                self.finished += 1
                advance()
                if result is not None:
                    yield index, result

    def _points(self, commits: Commits, give: bool) -> Iterator[tuple[int, Result | None]]:
        found: set[int] = set()
        for index, result in self._on_disk(commits, give):
            found.add(index)
            yield index, result
        run = self._run_here if self._client is None else self._run_on_cluster
        yield from run([index for index in range(len(self.points)) if index not in found], commits, give)

    def _run_here(self, todo: Sequence[int], commits: Commits, give: bool) -> Iterator[tuple[int, Result | None]]:
        points = [self.points[index] for index in todo]
        idle = commits.commit_if_due
        running = run_points(points, self._jobs, self._max_memory, self._ground, self._live, idle)
        with closing(running):
            for position, result in running:
                commits.add(result)
                yield todo[position], result

    def _run_on_cluster(self, todo: Sequence[int], commits: Commits, give: bool) -> Iterator[tuple[int, Result | None]]:
        from dumbbell.cluster import run_on_cluster

        assert self._client is not None
        indices: dict[str, list[int]] = {}
        for index in todo:
            indices.setdefault(self.points[index].content_hash, []).append(index)
        points = [self.points[same[0]] for same in indices.values()]
        keep_traces = (lambda traces: None) if self._archive is None else self._archive.keep_traces
        running = run_on_cluster(
            points, self._client, self._max_memory, commits.commit_if_due, keep_traces, self._verify
        )
        place = Path() if self._out is None else self._out / BATCHES / "worker"
        with closing(running):
            for batch in running:
                commits.add_batch(batch)
                results = batch.results(place) if give else repeat(None)
                for meta, result in zip(batch.metas, results, strict=give):
                    for index in indices[meta.content_hash]:
                        yield index, None if result is None else self._from_cluster(index, result)

    def _from_cluster(self, index: int, result: Result) -> Result:
        # Where nothing is kept there are no traces beside.
        described = self.points[index] if self._out is None else result.described
        return replace(self._shown(index, result), described=described)

    def _count_committed(self, points: int) -> None:
        self.committed += points

    def _on_disk(self, commits: Commits, give: bool) -> Iterator[tuple[int, Result | None]]:
        """The points that earlier runs have left, of the same engine or of one whose points are kept."""
        archive = self._archive
        if archive is None:
            return
        archive.discard_stale()
        scratch.remove_abandoned()
        assert self._out is not None
        folders, has_format_1 = archive.folders(), (self._out / POINTS).exists()
        if not folders and not has_format_1:
            return
        wanted: dict[str, list[int]] = {}
        for index, point in enumerate(self.points):
            wanted.setdefault(point.content_hash, []).append(index)
        self._tell_others(archive, folders, wanted)
        names = ALL_TABLES if give else SUMMARIES
        for folder in reversed(folders):
            try:
                batch = archive.read(folder, names)
            except ResultError as error:
                _warn(error.problem)
                continue
            batch = batch.only({meta.content_hash for meta in batch.metas if self._is_ours(meta, wanted)})
            commits.known(batch)
            results = batch.results(folder) if give else repeat(None)
            for meta, result in zip(batch.metas, results, strict=give):
                for index in wanted.pop(meta.content_hash):
                    self.committed += 1
                    yield index, result if result is None else self._shown(index, result)
        for content_hash, indices in wanted.items() if has_format_1 else ():
            if (found := self._of_format_1(content_hash)) is not None:
                commits.add(found)
                for index in indices:
                    yield index, self._shown(index, found)

    def _tell_others(self, archive: Archive, folders: Sequence[Path], wanted: Mapping[str, Sequence[int]]) -> None:
        """Says which points are of another engine; raises :class:`OtherEngineError` unless told what to do."""
        metas = [meta for folder in folders for meta in archive.metas(folder)]
        metas += [meta for content_hash in wanted if (meta := self._meta_of_format_1(content_hash)) is not None]
        ours = {meta.content_hash for meta in metas if self._fits(meta, wanted) and meta.engine == engine_digest()}
        missing = wanted.keys() - ours
        others = {meta.content_hash: meta for meta in metas if self._fits(meta, missing)}
        if not others:
            return
        count = sum(len(wanted[content_hash]) for content_hash in others)
        engines = sorted({f"{meta.engine} of Dumbbell {meta.version}" for meta in others.values()})
        told = f"{count} of {len(self.points)} points in {self._out} are of another engine ({', '.join(engines)})"
        if self._others == "refuse":
            raise OtherEngineError(
                f"{told}; this is {engine_digest()}\n"
                "  help: --keep takes them as they are, --rerun runs them again; in Python `others`. Nothing was run"
            )
        done = "taken as they are" if self._others == "keep" else "run again"
        warnings.warn(f"{told}; they are {done}", OtherEngineWarning, stacklevel=2)

    def _is_ours(self, meta: Meta, wanted: Container[str]) -> bool:
        """Whether a point that is stored is one of this sweep, run as it would be now."""
        return self._fits(meta, wanted) and (self._others == "keep" or meta.engine == engine_digest())

    def _fits(self, meta: Meta, wanted: Container[str]) -> bool:
        """Whether a point that is stored is one of this sweep, on its ground."""
        return meta.content_hash in wanted and meta.ground == self._ground.name

    def _shown(self, index: int, result: Result) -> Result:
        """A stored result with the settings that its point has in this sweep."""
        return replace(result, meta=shown_as(result.meta, self.points[index]))

    def _meta_of_format_1(self, content_hash: str) -> Meta | None:
        assert self._out is not None
        folder = point_folder(self._out, content_hash)
        if folder.exists():
            with suppress(ResultError):
                return read_meta(folder)
        return None

    def _of_format_1(self, content_hash: str) -> Result | None:
        """The result of a point that an earlier version has left in a folder of its own."""
        assert self._out is not None
        folder = point_folder(self._out, content_hash)
        if not folder.exists():
            return None
        try:
            storage.recover(folder)
            if self._is_ours(read_meta(folder), [content_hash]):
                return load_result(folder)
        except (ResultError, OutputError) as error:
            _warn(error.problem if isinstance(error, ResultError) else str(error))
        return None


def _warn(problem: str) -> None:
    warnings.warn(f"{problem}; its points are run again", DamagedResultWarning, stacklevel=2)
