"""Whether repetitions differ at all.

A network without chance gives every seed the same result. Repetitions of it are one sample, however many there are:
they have no interval, and say nothing about how much hangs on a detail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dumbbell.points import values
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
    import polars as pl

    frame = sweep.flows.to_polars()
    axes = [axis for axis in sweep.axes if axis in frame.columns]
    repeated = _settings(frame, axes).filter(pl.col("points") > 1)
    found = [
        ", ".join(f"{setting_name(axis)} {value}" for axis, value in zip(axes, setting, strict=True))
        for *setting, _, is_one_result in repeated.iter_rows()
        if is_one_result
    ]
    return found, repeated.height


def note(sweep: SweepResult) -> str | None:
    """What to say of repetitions that did not differ; ``None`` if all did."""
    found, repeated = alike(sweep)
    if not found:
        return None
    repeats = max(values(sweep.points, "repeat")) + 1
    where = ""
    if len(found) < repeated:
        shown = "; ".join(found[:MAX_NAMED])
        where = f" at {shown}" + (f" and {len(found) - MAX_NAMED} more settings" if len(found) > MAX_NAMED else "")
    return (
        f"all {repeats} seeds gave the same result{where}: nothing in it is random, so that there is no interval, and "
        f"it may still hang on a detail\n  help: {HINT}"
    )


def _settings(flows: pl.DataFrame, axes: Sequence[str]) -> pl.DataFrame:
    """A row a setting: its ``axes``, the number of its points, and whether these have the same flows, one by one."""
    import polars as pl

    own, points = pl.exclude(*_OF_THE_RUN, *axes), pl.col("points")
    number = pl.int_range(pl.len()).over("point").alias("flow of its point")
    by_flow = flows.group_by(*axes, number, maintain_order=True).agg(
        pl.len().alias("points"), pl.all_horizontal(own.eq_missing(own.first()).all()).alias("is alike")
    )
    settings = by_flow.group_by(*map(pl.col, axes), *([] if axes else [pl.lit("all")]), maintain_order=True)
    return settings.agg(points.max(), pl.col("is alike").all() & (points.min() == points.max())).select(
        *axes, "points", "is alike"
    )
