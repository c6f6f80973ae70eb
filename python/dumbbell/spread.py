"""Whether repetitions differ at all.

A network without chance gives every seed the same result. Repetitions of it are one sample, however many there are:
they have no interval, and say nothing about how much hangs on a detail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.results import SweepResult, setting_name

if TYPE_CHECKING:
    import polars as pl

HINT = (
    'what varies seeds: --vary-rtt (in the file vary_rtt = "1packet": RTTs longer by a fraction of a packet time), '
    'random starts (flows[*].start_jitter = "100ms"), random loss (path.loss)'
)

_OF_THE_RUN = ("point", "repeat", "seed", "content_hash")
"""Columns that differ between repetitions in any case."""

MAX_NAMED = 4
"""So many settings are named; more are counted."""


def alike(sweep: SweepResult) -> tuple[list[str], int]:
    """The settings of which all repetitions gave the same flows, in words, and how many settings were repeated."""
    frame = sweep.flows.to_polars()
    axes = [axis for axis in sweep.axes if axis in frame.columns]
    found: list[str] = []
    repeated = 0
    parts = frame.partition_by(*axes, as_dict=True, maintain_order=True) if axes else {(): frame}
    for setting, rows in parts.items():
        if rows["point"].n_unique() < 2:
            continue
        repeated += 1
        if _is_one_result(rows):
            found.append(", ".join(f"{setting_name(axis)} {value}" for axis, value in zip(axes, setting, strict=True)))
    return found, repeated


def note(sweep: SweepResult) -> str | None:
    """What to say of repetitions that did not differ; ``None`` if all did."""
    found, repeated = alike(sweep)
    if not found:
        return None
    repeats = max(point.repeat for point in sweep.points) + 1
    where = ""
    if len(found) < repeated:
        shown = "; ".join(found[:MAX_NAMED])
        where = f" at {shown}" + (f" and {len(found) - MAX_NAMED} more settings" if len(found) > MAX_NAMED else "")
    return (
        f"all {repeats} seeds gave the same result{where}: nothing in it is random, so that there is no interval, and "
        f"it may still hang on a detail\n  help: {HINT}"
    )


def _is_one_result(rows: pl.DataFrame) -> bool:
    """Whether the points of ``rows`` have the same flows, number by number."""
    runs = rows.partition_by("point", maintain_order=True)
    first, *others = (run.drop(_OF_THE_RUN) for run in runs)
    return all(first.equals(other) for other in others)
