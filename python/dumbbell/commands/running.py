"""Running an experiment, or the parts of a study, on behalf of a command: write, print, draw."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import extras, interrupts, storage
from dumbbell.commands.options import Limits, Output
from dumbbell.console import note, print_paths, show
from dumbbell.grounds import VoidRunError

if TYPE_CHECKING:
    from dumbbell import _core
    from dumbbell.papers.model import Report
    from dumbbell.results import Result, SweepResult


def check_out(loaded: _core.Experiment, out: Path | None) -> None:
    """Refuses a place that cannot be written before anything runs."""
    if out is not None:
        from dumbbell.results import RESULT, SWEEP

        if len(loaded.points) == 1:
            storage.check_target(out, RESULT)
        else:
            storage.check_claim(out, SWEEP)


def run_one(name: str | None, loaded: _core.Experiment, limits: Limits, output: Output) -> dict[str, Any]:
    """Runs one experiment, writes, prints and draws it, and returns its JSON object."""
    out = output.folder

    def advise(say: Callable[[], str]) -> None:
        interrupts.advise(None if out is None else say)

    if any(point.repeat for point in loaded.points) and not (output.quiet or output.as_json):
        extras.need("statistics", "a table of repeated runs")
    if limits.ground.threads > 1 and not output.quiet:
        _tell_threads(loaded.points)
    command = shlex.join(["dumbbell", *sys.argv[1:]])
    result: Result | SweepResult
    if len(loaded.points) == 1:
        advise(lambda: f"to run it again, with nothing half written in {out}:\n  {command}")
        result = run_point(loaded, limits, out, quiet=output.quiet)
        printed = result.summary() if output.as_json else {}
    else:
        result, printed = _run_sweep(loaded, limits, output, advise, command)
    advise(lambda: f"the results are in {out}; to draw them:\n  dumbbell plot {shlex.quote(str(out))}")
    _tell(result, name, output)
    if output.draw and out is not None:
        from dumbbell import plots

        paths = plots.draw(result, out)
        if not output.as_json and not output.quiet:
            print_paths(paths)
        if not output.quiet and (text := plots.left_out(result)) is not None:
            note(text)
    return printed


def _tell_threads(points: Sequence[_core.Point]) -> None:
    """Says which points take one thread, though each might have several."""
    reasons = [reason for point in points if (reason := point.why_one_thread()) is not None]
    if reasons:
        several = "" if len(points) == 1 else f" of {len(reasons)} of {len(points)} points"
        note(f"the run{several} takes one thread: {reasons[0]}")


def _run_sweep(
    loaded: _core.Experiment,
    limits: Limits,
    output: Output,
    advise: Callable[[Callable[[], str]], None],
    command: str,
) -> tuple[SweepResult, dict[str, Any]]:
    from dumbbell.api import Sweep
    from dumbbell.results import SWEEP

    summaries: dict[int, dict[str, Any]] = {}

    def keep(index: int, run: Result) -> None:
        point = {"label": run.meta.label, "repeat": run.meta.repeat, "settings": run.meta.settings}
        summaries[index] = point | run.summary()

    out = output.folder
    sweep = Sweep(loaded.points, out=out, progress=False if output.quiet else None, **limits._asdict())
    advise(
        lambda: (
            f"{max(sweep.committed, sweep.stored())} of {len(sweep)} points are in {out}; to run the rest:\n  {command}"
        )
    )
    with _keeping_void_attempts(out, SWEEP):
        result = sweep.collect(keep if output.as_json else None)
    return result, {"points": [summaries[index] for index in sorted(summaries)]}


def _tell(result: Result | SweepResult, name: str | None, output: Output) -> None:
    """Prints the tables, before the pictures, so that they are there when one of those cannot be written."""
    if output.quiet:
        return
    if not output.as_json:
        from dumbbell import report

        report.result(result, name=name)
        if output.folder is not None:
            show(f"\nresults in {output.folder}")
    from dumbbell.results import SweepResult

    if isinstance(result, SweepResult):
        from dumbbell import spread

        if (text := spread.note(result)) is not None:
            note(text)
    elif any(row["marks_total"] for row in result.links.rows()):
        # Without marks there is nothing to warn of, and the import takes longer than a short run.
        from dumbbell.why import marks

        for text in marks.warnings(result):
            note(text)


def run_point(loaded: _core.Experiment, limits: Limits, out: Path | None, *, quiet: bool = False) -> Result:
    """Runs an experiment of one point and writes its result."""
    from dumbbell.api import Sweep
    from dumbbell.results import RESULT

    with _keeping_void_attempts(out, RESULT):
        points = Sweep(loaded.points, out=None, progress=False if quiet else None, **limits._asdict())
        result = next(iter(points))
    if out is not None:
        result.save(out)
    return result


def run_parts(
    parts: Mapping[str, Callable[[Path], Report]], folder: Path, tell: Callable[[Report], None] | None
) -> tuple[list[Report], list[Path]]:
    """Runs the parts of a study or suite by their names, several in folders of their own; writes and tells of each."""
    from dumbbell.papers import output

    reports: list[Report] = []
    pictures: list[Path] = []
    several = len(parts) > 1
    with storage.claimed(folder, output.STUDY) if several else nullcontext():
        for name, run in parts.items():
            place = folder / name if several else folder
            with storage.claimed(place, output.STUDY):
                done = run(place)
            pictures += output.write(done, place)
            reports.append(done)
            if tell is not None:
                tell(done)
    return reports, pictures


@contextmanager
def _keeping_void_attempts(out: Path | None, kind: storage.Kind) -> Iterator[None]:
    """Writes what is left of a run on the kernel that was void, for whoever wants to know why."""
    try:
        yield
    except VoidRunError as error:
        if out is not None:
            from dumbbell.results import save_void

            # Marked as ours, so that the same command may be given again.
            with storage.claimed(out, kind):
                save_void(error.attempts, out)
        raise
