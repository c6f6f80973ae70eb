"""Points as another process gets them: experiments as complete texts, and results as files of batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dumbbell import _core, experiment, scratch
from dumbbell.batches import Batch
from dumbbell.parallel import ClusterError, run_point
from dumbbell.results import Result


@dataclass(frozen=True)
class Job:
    """A point as another process gets it."""

    text: str
    """Its experiment, which may name traces beside it."""
    content_hash: str
    label: str
    repeat: int
    settings: Mapping[str, Any]


def run_job(job: Job, place: Path, limit: int | None, cancel: _core.CancelToken) -> Result:
    """Runs a point; ``place`` is the file that its experiment stands for."""
    try:
        (point,) = experiment.load_text(job.text.encode(), str(place)).points
    except _core.ScenarioError as error:
        raise _core.RunError(f"another process cannot read the experiment:\n{error}") from None
    if point.content_hash != job.content_hash:
        raise ClusterError(
            f"a worker takes the point {job.label or job.content_hash[:12]} for another; please report it"
        )
    try:
        result = run_point(point, cancel, limit)
    except _core.RunError as error:
        raise _core.RunError(f"{job.label}: {error}" if job.label else str(error)) from None
    meta = replace(result.meta, label=job.label, repeat=job.repeat, settings=dict(job.settings))
    return replace(result, meta=meta, described=job.text)


def encoded(results: Sequence[Result]) -> Iterator[dict[str, bytes]]:
    """Results as the files of batches; one too long for memory alone."""
    groups = [[result] for result in results if result.is_long]
    if short := [result for result in results if not result.is_long]:
        groups.append(short)
    for group in groups:
        with scratch.Folder("batch") as folder:
            batch = Batch.of(group)
            batch.write(folder)
            yield {name: (folder / name).read_bytes() for name in batch.files}
