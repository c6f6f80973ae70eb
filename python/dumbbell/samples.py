"""Groups of samples that statistics compare: one number a run, or the points of time series where somebody asks."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dumbbell import _core, arguments, flent
from dumbbell.grounds import SIMULATOR
from dumbbell.inference import FloatArray, effective_size, finite
from dumbbell.results import Meta, Result, SweepResult, load, separating_axes, setting_name
from dumbbell.selection import OF_A_FLOW, RESULT, axis_named, named_by, only, with_metric

if TYPE_CHECKING:
    import polars as pl

Source: TypeAlias = "str | os.PathLike[str] | Result | SweepResult"
"""A result, a sweep, their directory, or a file of Flent."""


@dataclass(frozen=True)
class Group:
    """Samples that belong together."""

    name: str
    values: FloatArray
    seeds: tuple[int, ...] = ()
    """The seed of each sample, where samples are runs."""
    effective: float | None = None
    """How many independent samples the values are worth, where they are points of time series."""


@dataclass(frozen=True)
class Groups:
    """All groups, and what somebody should know of how they were made."""

    of: Sequence[Group]
    notes: Sequence[str] = ()


@dataclass
class _Runs:
    """The flows of all sources, and where their time series are."""

    flows: pl.DataFrame
    axes: list[str]
    results: dict[int, tuple[Result | SweepResult, int]] = field(default_factory=dict)
    originals: dict[int, int] = field(default_factory=dict)
    """The first point that is the same run, by point."""

    def load(self, point: int) -> Result:
        """The whole result of a point."""
        source, index = self.results[point]
        return source if isinstance(source, Result) else source.load(source.points[index])


def groups(
    sources: Sequence[Source], metric: str, by: Sequence[str], where: Mapping[str, str], *, each_point: bool
) -> Groups:
    """The samples of a metric in groups; arguments as of :func:`dumbbell.stats`.

    Raises:
        ValueError: There is no such metric, setting or value; the message lists those that there are.
        ResultError: A directory holds no result.
        FlentFileError: A file is none of Flent.
    """
    for source in sources:
        if not isinstance(source, str | os.PathLike | Result | SweepResult):
            arguments.refuse("sources", source, "results, sweeps, or paths of their directories, one after the other")
    named = [source for source in sources if isinstance(source, str | os.PathLike)]
    files = [Path(source) for source in named if flent.is_named_so(source)]
    if not files:
        return _of_runs(_joined(sources), metric, by, where, each_point=each_point)
    if len(files) < len(sources) or by or where:
        raise ValueError("files of Flent are compared with each other, by their titles: no other results, by or where")
    return _of_flent(files, metric, each_point=each_point)


def _of_flent(files: Sequence[Path], metric: str, *, each_point: bool) -> Groups:
    """The values of a series under load; a group a title, a sample a file."""
    found: dict[str, list[FloatArray]] = {}
    for path in files:
        data = flent.read(path)
        if metric not in data.results:
            raise ValueError(f"{path} has no series {metric!r}; there are {', '.join(sorted(data.results))}")
        found.setdefault(data.title or path.name, []).append(finite(data.loaded(metric)))
    return Groups([_group(name, series, each_point=each_point) for name, series in found.items()])


def _group(name: str, series: Sequence[FloatArray], *, each_point: bool) -> Group:
    """The group of runs with these series: their means, or all their points."""
    series = [values for values in series if values.size]
    if each_point:
        return Group(name, np.concatenate([np.empty(0), *series]), effective=sum(map(effective_size, series)))
    return Group(name, np.array([values.mean() for values in series]))


def _joined(sources: Sequence[Source]) -> _Runs:
    """The flows of all results, with points numbered through."""
    import polars as pl

    frames: list[pl.DataFrame] = []
    axes: dict[str, None] = {}
    results: dict[int, tuple[Result | SweepResult, int]] = {}
    originals: dict[int, int] = {}
    known: dict[tuple[object, ...], int] = {}
    for number, source in enumerate(sources):
        loaded = source if isinstance(source, Result | SweepResult) else load(Path(source))
        name = f"source {number}" if isinstance(source, Result | SweepResult) else os.fspath(source)
        if not len(loaded.flows):
            raise ValueError(f"{name} has no flows to compare; completion times of traffic are in `dumbbell report`")
        frame = loaded.flows.to_polars().with_columns(pl.col(pl.Categorical).cast(pl.String))
        if isinstance(loaded, Result):
            frame = frame.with_columns(point=pl.lit(0), seed=pl.lit(loaded.meta.seed, pl.UInt64))
        else:
            axes |= dict.fromkeys(loaded.axes)
        first = len(results)
        for index, meta in enumerate([loaded.meta] if isinstance(loaded, Result) else loaded.points):
            results[first + index] = loaded, index
            originals[first + index] = known.setdefault(_identity(meta), first + index)
        frames.append(frame.with_columns(pl.col("point").cast(pl.Int64) + first, pl.lit(name).alias(RESULT)))
    flows = pl.concat(frames, how="diagonal_relaxed")
    several = [RESULT] if len(sources) > 1 else []
    return _Runs(flows, [*several, *(axis for axis in axes if axis in flows.columns)], results, originals)


def _identity(meta: Meta) -> tuple[object, ...]:
    """What two runs have in common that are one; the kernel never runs an experiment twice alike."""
    return (meta.content_hash, *(() if meta.ground == SIMULATOR else (meta.ground, meta.cpu_s, meta.wall_s)))


def _of_runs(runs: _Runs, metric: str, by: Sequence[str], where: Mapping[str, str], *, each_point: bool) -> Groups:
    import polars as pl

    flows = only(runs.flows, runs.axes, where)
    if not each_point:
        flows = with_metric(flows, metric)
    words = [word if word in OF_A_FLOW else axis_named(flows, runs.axes, word) for word in by]
    keys = words or _telling_apart(flows, runs.axes, metric)
    parts = flows.partition_by(*keys, as_dict=True, maintain_order=True) if keys else {(): flows}
    once = {key: _each_once(rows, runs.originals) for key, rows in parts.items()}
    found = []
    for key, rows in once.items():
        name = named_by(keys, key)
        if each_point:
            series = [_points(runs, point, part, metric) for (point,), part in _by_run(rows)]
            found.append(_group(name, series, each_point=True))
        else:
            found.append(_of_means(name, rows, metric))
    kept = pl.concat(once.values())
    return Groups(found, [*_copied(flows, kept, runs.originals), *_pooled(kept, keys, runs.axes)])


def _each_once(rows: pl.DataFrame, originals: Mapping[int, int]) -> pl.DataFrame:
    """The rows of a group without those of runs that it has already."""
    import polars as pl

    first: dict[int, int] = {}
    for point in rows["point"].unique(maintain_order=True):
        first.setdefault(originals.get(point, point), point)
    return rows.filter(pl.col("point").is_in(list(first.values())))


def _copied(flows: pl.DataFrame, kept: pl.DataFrame, originals: Mapping[int, int]) -> list[str]:
    """What to say of runs that several results have."""
    points = kept["point"].unique().to_list()
    found = []
    if copies := (total := flows["point"].n_unique()) - len(points):
        are = "is a copy of another" if copies == 1 else "are copies of others"
        found.append(f"{copies} of {total} runs {are}, by content hash, and left out: a run is one sample")
    counts = Counter(originals.get(point, point) for point in points)
    if shared := sum(count > 1 for count in counts.values()):
        are = "run is" if shared == 1 else "runs are"
        found.append(
            f"{shared} {are} in more than one group, by content hash: such groups are not independent, as all tests "
            "but the paired one assume"
        )
    return found


def _by_run(rows: pl.DataFrame) -> list[tuple[tuple[int], pl.DataFrame]]:
    return list(rows.partition_by("point", as_dict=True, maintain_order=True).items())


def _of_means(name: str, rows: pl.DataFrame, metric: str) -> Group:
    """The metric of each run; flows of one run are not independent, so that a run is one sample."""
    import polars as pl

    means = rows.group_by("point", maintain_order=True).agg(pl.col(metric).mean(), pl.col("seed").first())
    kept = means.drop_nulls(metric)
    return Group(name, finite(kept[metric].to_numpy()), tuple(kept["seed"].to_list()))


def _telling_apart(flows: pl.DataFrame, axes: Sequence[str], metric: str) -> list[str]:
    """What makes groups where nobody says so: everything in which flows differ."""
    differing = [axis for axis in axes if flows[axis].n_unique() > 1]
    if metric == "jain":
        return differing  # which all flows of a run share
    kind = "label" if flows["label"].n_unique() > flows["cc"].n_unique() else "cc"
    # Within each result: a setting that another one does not sweep is null there, which tells nothing apart.
    own = [RESULT] if RESULT in differing else []
    apart = [*separating_axes(flows, own), *separating_axes(flows, differing, own)]
    return [*apart, kind] if flows[kind].n_unique() > 1 or not apart else apart


def _pooled(flows: pl.DataFrame, keys: Sequence[str], axes: Sequence[str]) -> list[str]:
    """What to say of settings that differ within groups."""
    import polars as pl

    others = [axis for axis in axes if axis not in keys]
    if not others or not keys:
        return []
    # Null, what a result does not sweep, may be another value; of algorithms the groups tell.
    are_told = [setting_name(axis) == "cc" and "cc" in keys for axis in others]
    columns = [pl.col(axis).drop_nulls() if told else pl.col(axis) for axis, told in zip(others, are_told, strict=True)]
    counts = flows.group_by(keys).agg(column.n_unique() for column in columns)
    mixed = [setting_name(axis) for axis in others if counts[axis].max() not in (0, 1)]
    if not mixed:
        return []
    word = mixed[0]
    return [
        f"each group mixes runs of different {', '.join(mixed)}, whose differences count as chance; "
        f"--where {word}=... takes one value, --by {','.join(map(setting_name, keys))},{word} tells them apart"
    ]


def _points(runs: _Runs, point: int, flows: pl.DataFrame, column: str) -> FloatArray:
    """The points of a run's time series in the measured interval, their mean over ``flows`` at each instant."""
    import polars as pl

    result = runs.load(point)
    start, end = measured_interval(result)
    series = result.series.lazy()
    schema = series.collect_schema()
    if column not in schema or not schema[column].is_numeric():
        numbers = [name for name, kind in schema.items() if kind.is_numeric() and name not in ("t_s", "flow")]
        raise ValueError(f"no column {column!r} of numbers in the time series; there are {', '.join(numbers)}")
    chosen = series.filter(
        pl.col("flow").is_in(flows["flow"].to_list()), pl.col("t_s") > start, pl.col("t_s") <= end
    ).select("t_s", column)
    means = chosen.group_by("t_s").agg(pl.col(column).mean()).sort("t_s").drop_nulls().collect()
    return finite(means[column].to_numpy())


def measured_interval(result: Result) -> tuple[float, float]:
    """Between which times a run was measured, in seconds: after ``warmup``, before ``cooldown``."""
    head = result.scenario_toml.split("\n[", 1)[0]
    spans = dict(re.findall(r'^(warmup|cooldown) = "([^"]+)"$', head, re.MULTILINE))
    warmup, cooldown = (_core.seconds(spans.get(key, "0s")) for key in ("warmup", "cooldown"))
    return warmup, result.meta.sim_s - cooldown
