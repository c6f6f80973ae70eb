"""Results of runs: tables in memory, a directory on disk."""

from __future__ import annotations

import dataclasses
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import experiment, storage, transfers
from dumbbell.meta import META, meta_of
from dumbbell.meta import Meta as Meta
from dumbbell.meta import read_meta as read_meta
from dumbbell.printable import one_line
from dumbbell.storage import ResultError
from dumbbell.tables import Table

if TYPE_CHECKING:
    import polars as pl

    from dumbbell import _core
    from dumbbell.plots import ResultPlots, SweepPlots

SWEEP_META = "sweep.json"
SCENARIO = "scenario.toml"
TABLES = ("flows", "series", "links", "link_series")
TRAFFIC_TABLES = ("traffic", "completions")
"""Tables of experiments with `[[traffic]]`; others do not have their files."""
OPTIONAL_TABLES = (*TRAFFIC_TABLES, "pages", "datagrams")
"""These, and the tables of web pages and of flows of datagrams, which are there where there are such rows."""
SWEEP_OPTIONAL_TABLES = ("traffic", "transfers", "datagrams")
"""The same of a sweep."""
POINTS = "points"
TRACES = "traces"
VOID = "void"

REQUIRED = {
    "flows": {
        "label": "text", "cc": "text", "algorithm": "text", "goodput_mbps": "number", "throughput_mbps": "number",
        "mean_rtt_ms": "number", "p95_rtt_ms": "number", "retransmits": "number", "lost": "number",
        "rto_count": "number",
    },
    "series": {"flow": "number", "t_s": "number", "throughput_mbps": "number", "srtt_ms": "number", "cwnd": "number",
               "inflight": "number"},
    "links": {"name": "text", "utilization": "number", "capacity_mbps": "number", "mean_queue_bytes": "number",
              "p95_queue_bytes": "number", "arrivals": "number", "drops": "number", "losses": "number"},
    "link_series": {"link": "number", "t_s": "number", "queue_bytes": "number"},
    "traffic": {"source": "number", "label": "text", "cc": "text", "started": "number", "completed": "number",
                "goodput_mbps": "number", "retransmits": "number"},
    "completions": {"source": "number", "label": "text", "measured": "number", "bytes": "number", "fct_s": "number",
                    "slowdown": "number"},
    "pages": {"source": "number", "label": "text", "measured": "number", "plt_s": "number"},
    "datagrams": {"flow": "number", "label": "text", "kind": "text", "sent": "number", "loss": "number",
                  "p50_one_way_ms": "number", "p95_one_way_ms": "number", "p50_rtt_ms": "number",
                  "p95_rtt_ms": "number", "rate_mbps": "number", "frames": "number", "late_frames": "number",
                  "lost_frames": "number", "p95_frame_ms": "number"},
}  # fmt: skip
"""The columns that tables on a terminal and pictures use, and whether they hold texts or numbers."""

SWEEP_REQUIRED = REQUIRED | {
    "transfers": {"source": "number", "label": "text", "sizes": "text", "transfers": "number"},
}
"""The same of the joined tables of a sweep."""


def _no_rows() -> Table:
    import polars as pl

    return Table(pl.DataFrame())


@dataclass(frozen=True)
class Result:
    """One run.

    ``flows`` and ``links`` have one row a flow and link, ``series`` and ``link_series`` one a sample. ``traffic`` has
    one row a source of flows that come and go, ``completions`` one a transfer of theirs, ``pages`` one a web page.
    ``datagrams`` has one row a flow of datagrams: unresponsive flows, probes, calls.
    """

    flows: Table
    series: Table
    links: Table
    link_series: Table
    meta: Meta
    scenario_toml: str
    """The experiment with every default filled in."""
    void_attempts: tuple[Result, ...] = ()
    """Attempts on the kernel before this one that were void."""
    scenario_name: str = SCENARIO
    """The file of the experiment, to which the traces that it names are relative."""
    traffic: Table = field(default_factory=_no_rows)
    completions: Table = field(default_factory=_no_rows)
    pages: Table = field(default_factory=_no_rows)
    datagrams: Table = field(default_factory=_no_rows)

    @cached_property
    def plot(self) -> ResultPlots:
        """Pictures of this run: ``result.plot.overview()``."""
        from dumbbell.plots import ResultPlots

        return ResultPlots(self)

    def summary(self) -> dict[str, Any]:
        """What ``dumbbell run --json`` prints."""
        run = ["seed", "sim_s", "cpu_s", "events", "packets", "version", "content_hash"]
        if self.meta.certificate is not None:
            run += ["ground", "certificate"]
        printed: dict[str, Any] = {
            "flows": [_without_infinities(row) for row in self.flows.rows()],
            "links": [_without_infinities(row) for row in self.links.rows()],
            "run": {key: getattr(self.meta, key) for key in run},
        }
        if len(self.traffic):
            printed["traffic"] = [_without_infinities(row) for row in self.traffic.rows()]
            printed["completions"] = transfers.by_size(self.completions.to_polars()).to_dicts()
        if len(self.datagrams):
            printed["datagrams"] = [_without_infinities(row) for row in self.datagrams.rows()]
        return printed

    def save(self, folder: str | Path) -> Path:
        """Writes the result as a directory of open files, whole or not at all, and returns its path.

        An earlier result at the same place is replaced, and other files beside it stay. Anything else is left alone and
        raises ``OutputError``.
        """
        target = Path(folder)
        with storage.directory(target, RESULT, self._files()) as staging:
            self._write(staging)
        save_void(self.void_attempts, target)
        return target

    def save_point(self, sweep: Path) -> None:
        """Writes the result to its place in a sweep's directory, over a damaged one if need be."""
        scenario, traces = self._scenario_beside()
        for name, content in traces:
            storage.keep_file(sweep / TRACES / name, content.encode())
        place = point_folder(sweep, self.meta.content_hash)
        with storage.directory(place, RESULT, self._files(), ours=True) as staging:
            self._write(staging, scenario)

    def _scenario_beside(self) -> tuple[str, list[tuple[str, str]]]:
        """The experiment as it is kept in a sweep, whose points share their traces, and the traces."""
        if "trace = [" not in self.scenario_toml:
            return self.scenario_toml, []
        return experiment_of(self).points[0].resolved_toml_beside(f"../../{TRACES}")

    def _tables(self) -> tuple[str, ...]:
        return (
            *TABLES,
            *(TRAFFIC_TABLES if len(self.traffic) else ()),
            *(name for name in ("pages", "datagrams") if len(getattr(self, name))),
        )

    def _files(self) -> Sequence[str]:
        return META, SCENARIO, *(f"{name}.parquet" for name in self._tables())

    def _write(self, folder: Path, scenario: str | None = None) -> None:
        (folder / SCENARIO).write_text(self.scenario_toml if scenario is None else scenario, encoding="utf-8")
        for name in self._tables():
            table: Table = getattr(self, name)
            table.write_parquet(folder / f"{name}.parquet")
        (folder / META).write_text(json.dumps(dataclasses.asdict(self.meta), indent=2) + "\n", encoding="utf-8")

    def _repr_html_(self) -> str:
        from dumbbell import report

        return report.html(self)

    def __repr__(self) -> str:
        name = one_line(self.meta.label) or "run"
        return f"<Result {name} seed={self.meta.seed} flows={len(self.flows)} {self.meta.sim_s:g} s>"


def experiment_of(result: Result) -> _core.Experiment:
    """The experiment that a result is of, of one point."""
    return experiment.load_text(result.scenario_toml.encode(), result.scenario_name)


@dataclass(frozen=True)
class Run:
    """What a sweep keeps of a point."""

    meta: Meta
    flows: Table
    links: Table
    traffic: Table
    transfers: Table
    datagrams: Table

    @classmethod
    def of(cls, result: Result) -> Run:
        """The summaries of a result."""
        sizes = transfers.by_size(result.completions.to_polars())
        return cls(result.meta, result.flows, result.links, result.traffic, Table(sizes), result.datagrams)


@dataclass(frozen=True)
class SweepResult:
    """All points of a sweep.

    ``flows``, ``links``, ``traffic`` and ``datagrams`` hold the rows of every point behind the columns ``point``,
    ``repeat``, ``seed``, ``content_hash`` and one column for each swept setting.
    """

    flows: Table
    links: Table
    points: Sequence[Meta]
    folder: Path | None = None
    """Where the points are on disk, if they are."""
    traffic: Table = field(default_factory=_no_rows)
    transfers: Table = field(default_factory=_no_rows)
    """Quantiles of completion times by size, of every source and point."""
    datagrams: Table = field(default_factory=_no_rows)

    @classmethod
    def of(cls, runs: Sequence[Run], folder: Path | None = None) -> SweepResult:
        """Joins the tables of runs, in the order given."""
        points = [run.meta for run in runs]
        flows, links, traffic, sizes, datagrams = (
            Table(_joined(points, [getattr(run, name).to_polars() for run in runs]))
            for name in ("flows", "links", *SWEEP_OPTIONAL_TABLES)
        )
        return cls(flows, links, points, folder, traffic, sizes, datagrams)

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
        """Writes the joined tables into a sweep's directory, all of them or none."""
        content = json.dumps({"points": [dataclasses.asdict(point) for point in self.points]}, indent=2) + "\n"
        names = [
            "flows",
            "links",
            *(("traffic", "transfers") if len(self.traffic) else ()),
            *(("datagrams",) if len(self.datagrams) else ()),
        ]
        with storage.directory(folder, SWEEP, [SWEEP_META, *(f"{name}.parquet" for name in names)]) as staging:
            for name in names:
                table: Table = getattr(self, name)
                table.write_parquet(staging / f"{name}.parquet")
            (staging / SWEEP_META).write_text(content, encoding="utf-8")

    def _repr_html_(self) -> str:
        from dumbbell import report

        return report.html(self)

    def __repr__(self) -> str:
        return f"<SweepResult points={len(self.points)} axes={self.axes}>"


def load_result(folder: str | Path) -> Result:
    """Reads a result directory that ``Result.save`` or ``dumbbell run --out`` wrote.

    Raises:
        ResultError: There is no result, or it is damaged, or a newer version wrote it.
    """
    source = Path(folder)
    checksums = _checked(source, RESULT, META)
    meta = read_meta(source)
    present = [*TABLES, *(name for name in OPTIONAL_TABLES if f"{name}.parquet" in checksums)]
    tables = {name: _read_table(source / f"{name}.parquet", REQUIRED[name], checksums) for name in present}
    flows, series, links, link_series = (tables[name] for name in TABLES)
    traffic, completions, pages, datagrams = (tables.get(name) or _no_rows() for name in OPTIONAL_TABLES)
    scenario = source / SCENARIO
    return Result(
        flows,
        series,
        links,
        link_series,
        meta=meta,
        scenario_toml=_read_text(scenario, checksums),
        scenario_name=str(scenario),
        traffic=traffic,
        completions=completions,
        pages=pages,
        datagrams=datagrams,
    )


def load_sweep(folder: str | Path) -> SweepResult:
    """Reads the joined tables of a sweep directory.

    Raises:
        ResultError: There is no sweep, or it is not finished, or damaged, or a newer version wrote it.
    """
    source = Path(folder)
    checksums = _checked(source, SWEEP, SWEEP_META)
    if not (source / SWEEP_META).exists():
        done = sum(1 for path in (source / POINTS).glob("*") if not path.name.startswith("."))
        raise ResultError(
            f"{source}: this sweep is not finished, {done} of its points are there",
            "run the experiment again with the same --out, which runs the rest",
        )
    points = _read_points(source)
    tables = {
        name: _read_table(source / f"{name}.parquet", {"point": "number", **SWEEP_REQUIRED[name]}, checksums)
        for name in ("flows", "links", *SWEEP_OPTIONAL_TABLES)
        if name not in SWEEP_OPTIONAL_TABLES or f"{name}.parquet" in checksums
    }
    return SweepResult(**tables, points=points, folder=source)


def load(folder: Path) -> Result | SweepResult:
    """Reads the result or sweep in a directory."""
    storage.recover(folder)
    marker = storage.read_marker(folder)
    kind = marker.kind if marker else SWEEP.name if (folder / SWEEP_META).exists() else RESULT.name
    return load_sweep(folder) if kind == SWEEP.name else load_result(folder)


def save_void(attempts: Sequence[Result], folder: Path) -> None:
    """Writes void attempts to places of their own beside the result."""
    for number, attempt in enumerate(attempts, 1):
        attempt.save(folder / VOID / str(number))


def _read_points(folder: Path) -> list[Meta]:
    path = folder / SWEEP_META
    points = storage.read_json(path).get("points")
    if not isinstance(points, list):
        raise ResultError(f"{path}: damaged, `points` is not a list")
    return [meta_of(point, f"{path}: point {index}") for index, point in enumerate(points)]


def _read(path: Path, checksums: Mapping[str, str | None]) -> bytes:
    content = storage.read_file(path)
    if checksums.get(path.name) not in (None, storage.checksum(content)):
        raise ResultError(f"{path}: damaged, its content is not what was written")
    return content


def _read_text(path: Path, checksums: Mapping[str, str | None]) -> str:
    try:
        return _read(path, checksums).decode()
    except UnicodeDecodeError as error:
        raise ResultError(f"{path}: damaged, not UTF-8 text (byte {error.start})") from None


LONG_ROWS = 200_000
"""Longer tables are kept as they are in their file, and what is asked for of them is read from that."""


class _Packed:
    """A long table as its file has it, compressed; the source of a :class:`Table`."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def scan(self) -> pl.LazyFrame:
        import polars as pl

        return pl.scan_parquet(io.BytesIO(self._content))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().collect().__arrow_c_stream__(requested_schema)


def _read_table(path: Path, required: Mapping[str, str], checksums: Mapping[str, str | None]) -> Table:
    import polars as pl

    content = _read(path, checksums)
    packed = _Packed(content)
    try:
        schema = packed.scan().collect_schema()
        # What has no checksum may be damaged anywhere, and is read whole to know.
        is_sure = checksums.get(path.name) is not None
        is_long = is_sure and packed.scan().select(pl.len()).collect().item() > LONG_ROWS
        table = Table(packed if is_long else pl.read_parquet(content))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ResultError(f"{path}: damaged, not a Parquet file ({reason})") from None
    for name, kind in required.items():
        found = schema.get(name)
        if found is None:
            raise ResultError(f"{path}: damaged, no column `{name}`")
        if not (found.is_numeric() if kind == "number" else found in (pl.String, pl.Categorical)):
            raise ResultError(f"{path}: damaged, column `{name}` holds {found} in place of {kind}s")
    return table


def _earlier_result(folder: Path) -> Sequence[str] | None:
    try:
        read_meta(folder)
    except ResultError:
        return None
    return RESULT.files


def _earlier_sweep(folder: Path) -> Sequence[str] | None:
    try:
        points = _read_points(folder)
    except ResultError:
        return None
    return SWEEP.files if points else None


RESULT = storage.Kind("result", (META, SCENARIO, *(f"{name}.parquet" for name in TABLES)), _earlier_result)
SWEEP = storage.Kind("sweep", (SWEEP_META, "flows.parquet", "links.parquet"), _earlier_sweep)


def _checked(folder: Path, kind: storage.Kind, sign: str) -> Mapping[str, str | None]:
    """The checksums of the files of a result or sweep; in one that an earlier version wrote only ``sign`` is sure."""
    storage.recover(folder)
    marker = storage.read_marker(folder)
    if marker is not None and marker.kind != kind.name:
        raise ResultError(f"{folder}: holds a {marker.kind}, not a {kind.name}", "name another directory")
    if marker is None and not (folder / sign).exists():
        raise ResultError(
            f"{folder}: no {kind.name} here (neither {storage.MARKER} nor {sign})",
            "name a directory that `dumbbell run --out` wrote",
        )
    return marker.files if marker else {}


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
    return sweep / POINTS / content_hash[:16]


def _joined(points: Sequence[Meta], frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl

    axes = [key for key in dict.fromkeys(key for point in points for key in point.settings) if key != "seed"]
    labelled = []
    for index, (point, frame) in enumerate(zip(points, frames, strict=True)):
        if not frame.width:
            # A table that a result has no file of.
            continue
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
