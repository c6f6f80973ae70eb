"""Results of runs: tables in memory, a directory on disk."""

from __future__ import annotations

import dataclasses
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import storage
from dumbbell.tables import Table

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.plots import ResultPlots, SweepPlots

META = "meta.json"
SWEEP_META = "sweep.json"
SCENARIO = "scenario.toml"
TABLES = ("flows", "series", "links", "link_series")


@dataclass(frozen=True)
class Meta:
    """What was run, and what it cost."""

    version: str
    """Version of Dumbbell."""
    engine: str
    """Digest of the compiled engine: a sweep resumes only with results of the same one."""
    label: str
    """The settings of this point of a sweep, empty for a single run."""
    repeat: int
    """Number of the repetition, from 0."""
    seed: int
    content_hash: str
    """Hash of the resolved scenario with its seed: equal hashes are equal runs."""
    sim_s: float
    """Simulated seconds."""
    cpu_s: float
    """CPU seconds of the simulation."""
    wall_s: float
    """Seconds on the wall clock."""
    events: int
    """Events processed."""
    packets: int
    """Data packets delivered."""
    algorithms: dict[str, str] = field(default_factory=dict)
    """Exact name and version of each algorithm by the name in the experiment file."""
    settings: dict[str, Any] = field(default_factory=dict)
    """What a sweep set for this point: ``{"path.loss": "1%"}``."""


@dataclass(frozen=True)
class Result:
    """One run.

    ``flows`` and ``links`` have one row a flow and link, ``series`` and ``link_series`` one a sample.
    """

    flows: Table
    series: Table
    links: Table
    link_series: Table
    meta: Meta
    scenario_toml: str
    """The experiment with every default filled in."""

    @cached_property
    def plot(self) -> ResultPlots:
        """Pictures of this run: ``result.plot.overview()``."""
        from dumbbell.plots import ResultPlots

        return ResultPlots(self)

    def summary(self) -> dict[str, Any]:
        """What ``dumbbell run --json`` prints."""
        run = ("seed", "sim_s", "cpu_s", "events", "packets", "version", "content_hash")
        return {
            "flows": [_without_infinities(row) for row in self.flows.rows()],
            "links": [_without_infinities(row) for row in self.links.rows()],
            "run": {key: getattr(self.meta, key) for key in run},
        }

    def save(self, folder: str | Path) -> Path:
        """Writes the result as a directory of open files, whole or not at all, and returns its path.

        An earlier result at the same place is replaced; anything else is left alone and raises ``OutputError``.
        """
        target = Path(folder)
        with storage.directory(target, marker=META) as staging:
            self._write(staging)
        return target

    def _write(self, folder: Path) -> None:
        (folder / SCENARIO).write_text(self.scenario_toml, encoding="utf-8")
        for name in TABLES:
            table: Table = getattr(self, name)
            table.write_parquet(folder / f"{name}.parquet")
        (folder / META).write_text(json.dumps(dataclasses.asdict(self.meta), indent=2) + "\n", encoding="utf-8")

    def __repr__(self) -> str:
        name = self.meta.label or "run"
        return f"<Result {name} seed={self.meta.seed} flows={len(self.flows)} {self.meta.sim_s:g} s>"


@dataclass(frozen=True)
class SweepResult:
    """All points of a sweep.

    ``flows`` and ``links`` hold the rows of every point behind the columns ``point``, ``repeat``, ``seed``,
    ``content_hash`` and one column for each swept setting.
    """

    flows: Table
    links: Table
    points: Sequence[Meta]
    folder: Path | None = None
    """Where the points are on disk, if they are."""

    @classmethod
    def of(cls, runs: Sequence[tuple[Meta, Table, Table]], folder: Path | None = None) -> SweepResult:
        """Joins runs, each with its flows and links, into one table, in the order given."""
        points = [meta for meta, _, _ in runs]
        flows = _joined(points, [flows.to_polars() for _, flows, _ in runs])
        links = _joined(points, [links.to_polars() for _, _, links in runs])
        return cls(Table(flows), Table(links), points, folder)

    @cached_property
    def axes(self) -> list[str]:
        """The settings that differ between points, in the file's order."""
        return list(dict.fromkeys(key for point in self.points for key in point.settings))

    @cached_property
    def plot(self) -> SweepPlots:
        """Pictures of this sweep: ``sweep.plot.loss_curve()``."""
        from dumbbell.plots import SweepPlots

        return SweepPlots(self)

    def load(self, point: Meta) -> Result:
        """The whole result of a point, with its time series, from the sweep's directory."""
        if self.folder is None:
            raise ValueError("this sweep was not written to a directory; run it with out")
        return load_result(point_folder(self.folder, point.content_hash))

    def write_tables(self, folder: Path) -> None:
        """Writes the joined tables into an existing sweep directory, each whole or not at all."""
        for name, table in (("flows", self.flows), ("links", self.links)):
            storage.write_file(folder / f"{name}.parquet", _parquet(table))
        content = json.dumps({"points": [dataclasses.asdict(point) for point in self.points]}, indent=2) + "\n"
        storage.write_file(folder / SWEEP_META, content.encode())

    def __repr__(self) -> str:
        return f"<SweepResult points={len(self.points)} axes={self.axes}>"


def load_result(folder: str | Path) -> Result:
    """Reads a result directory that ``Result.save`` or ``dumbbell run --out`` wrote."""
    import polars as pl

    source = Path(folder)
    meta = Meta(**json.loads((source / META).read_text(encoding="utf-8")))
    tables = {name: Table(pl.read_parquet(source / f"{name}.parquet")) for name in TABLES}
    return Result(**tables, meta=meta, scenario_toml=(source / SCENARIO).read_text(encoding="utf-8"))


def load_sweep(folder: str | Path) -> SweepResult:
    """Reads the joined tables of a sweep directory."""
    import polars as pl

    source = Path(folder)
    content = json.loads((source / SWEEP_META).read_text(encoding="utf-8"))
    return SweepResult(
        Table(pl.read_parquet(source / "flows.parquet")),
        Table(pl.read_parquet(source / "links.parquet")),
        [Meta(**point) for point in content["points"]],
        source,
    )


def separating_axes(flows: pl.DataFrame, axes: Sequence[str]) -> list[str]:
    """The swept settings that tell rows of ``flows`` apart which have the same algorithm and label."""
    import polars as pl

    present = [axis for axis in axes if axis in flows.columns]
    counts = flows.group_by("cc", "label").agg(pl.col(axis).n_unique() for axis in present)
    return [axis for axis in present if counts[axis].max() != 1]


def setting_name(axis: str) -> str:
    """The last part of a swept setting's name: ``loss`` of ``path.loss``."""
    return axis.rsplit(".", 1)[-1]


def point_folder(sweep: Path, content_hash: str) -> Path:
    """Where a sweep's directory keeps a point."""
    return sweep / "points" / content_hash[:16]


def _parquet(table: Table) -> bytes:
    """The table as the content of a Parquet file, so that writing it fails like any other file."""
    buffer = io.BytesIO()
    table.to_polars().write_parquet(buffer)
    return buffer.getvalue()


def _joined(points: Sequence[Meta], frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    axes = [key for key in dict.fromkeys(key for point in points for key in point.settings) if key != "seed"]
    labelled = []
    for index, (point, frame) in enumerate(zip(points, frames, strict=True)):
        keys = [
            pl.lit(index, pl.UInt32).alias("point"),
            pl.lit(point.repeat, pl.UInt32).alias("repeat"),
            pl.lit(point.seed, pl.UInt64).alias("seed"),
            pl.lit(point.content_hash).alias("content_hash"),
            *(pl.lit(setting_text(point.settings.get(axis)), pl.String).alias(axis) for axis in axes),
        ]
        # Dictionaries of different runs need not agree on their codes.
        plain = frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
        labelled.append(plain.select(*keys, pl.all()))
    return pl.concat(labelled, how="diagonal") if labelled else pl.DataFrame()


def _without_infinities(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity (the capacity of an unlimited link)."""
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}


def setting_text(setting: Any) -> str | None:
    """A swept setting in words; a table such as ``{name = "cubic", hystart = false}`` as ``cubic hystart=false``."""
    if setting is None or isinstance(setting, str):
        return setting
    if isinstance(setting, dict):
        words = [str(setting["name"])] if "name" in setting else []
        return " ".join(words + [f"{key}={setting_text(value)}" for key, value in setting.items() if key != "name"])
    return json.dumps(setting)
