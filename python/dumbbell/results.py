"""Results of runs: tables in memory, a directory on disk."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import arguments, experiment, extras, storage, transfers
from dumbbell.meta import META, meta_of, meta_of_row
from dumbbell.meta import Meta as Meta
from dumbbell.meta import read_meta as read_meta
from dumbbell.printable import one_line
from dumbbell.reading import read_table, read_text
from dumbbell.storage import ResultError
from dumbbell.tables import Table

if TYPE_CHECKING:
    import polars as pl

    from dumbbell import _core
    from dumbbell.batches import Archive
    from dumbbell.plots import ResultPlots, SweepPlots

SWEEP_META = "sweep.json"
"""The points of a sweep of format 1."""
SWEEP_POINTS = "points.parquet"
"""The points of a sweep."""
SCENARIO = "scenario.toml"
TABLES = ("flows", "series", "links", "link_series")
TRAFFIC_TABLES = ("traffic", "completions")
"""Tables of experiments with `[[traffic]]`; others do not have their files."""
OPTIONAL_TABLES = (*TRAFFIC_TABLES, "pages", "rounds", "datagrams")
"""These, and the tables of web pages, of rounds of an incast and of flows of datagrams, which are there where there are
such rows."""
SWEEP_OPTIONAL_TABLES = ("traffic", "transfers", "datagrams")
"""The joined tables of a sweep that are there where there are such rows."""
POINTS = "points"
"""Where sweeps of format 1 have a folder for every point."""
TRACES = "traces"
BESIDE = f"../../{TRACES}"
"""Where the experiments of points look for traces."""
VOID = "void"

LEAST_OF_A_HASH = 8
"""So many digits alone may begin a content hash; fewer are a number."""

REQUIRED = {
    "flows": {
        "label": "text", "cc": "text", "algorithm": "text", "goodput_mbps": "number", "throughput_mbps": "number",
        "mean_rtt_ms": "number", "p95_rtt_ms": "number", "retransmits": "number", "lost": "number",
        "rto_count": "number",
    },
    "series": {"flow": "number", "t_s": "number", "received_mbps": "number", "srtt_ms": "number", "cwnd": "number",
               "inflight": "number"},
    "links": {"name": "text", "utilization": "number", "capacity_mbps": "number", "mean_queue_bytes": "number",
              "p95_queue_bytes": "number", "arrivals": "number", "drops": "number", "losses": "number"},
    "link_series": {"link": "number", "t_s": "number", "queue_bytes": "number"},
    "traffic": {"source": "number", "label": "text", "cc": "text", "started": "number", "completed": "number",
                "goodput_mbps": "number", "retransmits": "number"},
    "completions": {"source": "number", "label": "text", "measured": "number", "bytes": "number", "fct_s": "number",
                    "slowdown": "number"},
    "pages": {"source": "number", "label": "text", "measured": "number", "plt_s": "number"},
    "rounds": {"source": "number", "label": "text", "measured": "number", "qct_s": "number"},
    "datagrams": {"flow": "number", "label": "text", "kind": "text", "sent": "number", "loss": "number",
                  "p50_one_way_ms": "number", "p95_one_way_ms": "number", "p50_rtt_ms": "number",
                  "p95_rtt_ms": "number", "rate_mbps": "number", "frames": "number", "late_frames": "number",
                  "lost_frames": "number", "p95_frame_ms": "number"},
}  # fmt: skip
"""The columns that tables on a terminal and pictures use, and whether they hold texts or numbers."""

SWEEP_REQUIRED = REQUIRED | {
    "transfers": {"source": "number", "label": "text", "sizes": "text", "transfers": "number"},
}
"""As :data:`REQUIRED`, for the joined tables of a sweep."""


def _no_rows() -> Table:
    import polars as pl

    return Table(pl.DataFrame())


@dataclass(frozen=True)
class Result:
    """One run.

    ``flows`` and ``links`` have one row a flow and link, ``series`` and ``link_series`` one a sample. ``traffic`` has
    one row a source of flows that come and go, ``completions`` one a transfer of theirs, ``pages`` one a web page,
    ``rounds`` one a round of an incast.
    ``datagrams`` has one row a flow of datagrams: unresponsive flows, probes, calls.
    """

    flows: Table
    series: Table
    links: Table
    link_series: Table
    meta: Meta
    described: str | _core.Point
    """What :attr:`scenario_toml` is, or the point that can tell."""
    void_attempts: tuple[Result, ...] = ()
    """Attempts on the kernel before this one that were void."""
    scenario_name: str = SCENARIO
    """The file of the experiment, to which the traces that it names are relative."""
    traffic: Table = field(default_factory=_no_rows)
    completions: Table = field(default_factory=_no_rows)
    pages: Table = field(default_factory=_no_rows)
    rounds: Table = field(default_factory=_no_rows)
    datagrams: Table = field(default_factory=_no_rows)

    @cached_property
    def scenario_toml(self) -> str:
        """The experiment with every default filled in."""
        # Written when somebody asks: with traces it has megabytes, and nobody asks for those of a study.
        return self.described if isinstance(self.described, str) else self.described.resolved_toml

    @cached_property
    def plot(self) -> ResultPlots:
        """Pictures of this run: ``result.plot.overview()``."""
        extras.need("plots", "result.plot")
        from dumbbell.plots import ResultPlots

        return ResultPlots(self)

    def summary(self) -> dict[str, Any]:
        """What ``dumbbell run --json`` prints."""
        run = ["seed", "sim_s", "cpu_s", "events", "packets", "version", "content_hash"]
        if self.meta.certificate is not None:
            run += ["ground", "certificate"]
        printed: dict[str, Any] = {
            "flows": without_infinities(self.flows.rows()),
            "links": without_infinities(self.links.rows()),
            "run": {key: getattr(self.meta, key) for key in run},
        }
        if len(self.traffic):
            printed["traffic"] = without_infinities(self.traffic.rows())
            printed["completions"] = transfers.by_size(self.completions.to_polars()).to_dicts()
        if len(self.datagrams):
            printed["datagrams"] = without_infinities(self.datagrams.rows())
        return printed

    @property
    def is_long(self) -> bool:
        """Whether its time series are too long for memory."""
        return any(table.is_stored for table in (self.series, self.link_series))

    @property
    def rows(self) -> int:
        """The rows of those of its tables that grow with it and are in memory."""
        tables = (self.flows, self.series, self.link_series, self.completions)
        return sum(len(table) for table in tables if not table.is_stored)

    def save(self, folder: str | Path) -> Path:
        """Writes the result as a directory of open files, whole or not at all, and returns its path.

        An earlier result at the same place is replaced, and other files beside it stay. Anything else is left alone and
        raises ``OutputError``.
        """
        target = arguments.path("folder", folder, "a directory for the result")
        with storage.directory(target, RESULT, self._files()) as staging:
            self._write(staging)
        save_void(self.void_attempts, target)
        return target

    def scenario_beside(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """The experiment as it is kept in a sweep, whose points share their traces, and the traces."""
        if not isinstance(self.described, str):
            # The text has megabytes where there are traces, and takes longer to read again than most runs take.
            return self.described.resolved_toml_beside(BESIDE)
        if "trace = [" not in self.scenario_toml:
            return self.scenario_toml, []
        return experiment_of(self).points[0].resolved_toml_beside(BESIDE)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of its tables: of :data:`OPTIONAL_TABLES` those that it has rows of, or of their traffic."""
        return (
            *TABLES,
            *(name for name in OPTIONAL_TABLES if len(self.traffic if name in TRAFFIC_TABLES else getattr(self, name))),
        )

    def _files(self) -> Sequence[str]:
        return META, SCENARIO, *(f"{name}.parquet" for name in self.tables)

    def _write(self, folder: Path) -> None:
        # That of a point of a sweep names traces beside it.
        is_whole = f'trace = "{BESIDE}' not in self.scenario_toml
        scenario = self.scenario_toml if is_whole else experiment_of(self).points[0].resolved_toml
        (folder / SCENARIO).write_text(scenario, encoding="utf-8")
        for name in self.tables:
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
    return experiment.load_text(result.scenario_toml.encode(), result.scenario_name, only_read=True)


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

    @cached_property
    def axes(self) -> list[str]:
        """The settings that differ between points, in the file's order."""
        return list(dict.fromkeys(key for point in self.points for key in point.settings))

    @cached_property
    def plot(self) -> SweepPlots:
        """Pictures of this sweep: ``sweep.plot.loss_curve()``."""
        extras.need("plots", "sweep.plot")
        from dumbbell.plots import SweepPlots

        return SweepPlots(self)

    def load(self, point: Meta | int | str) -> Result:
        """The whole result of a point, with its time series, from the sweep's directory.

        Args:
            point: One of ``points``, its number there, or the beginning of its content hash.

        Raises:
            ValueError: There is no such point, or several are; or the sweep has no directory.
            ResultError: The point is missing there, or damaged.
        """
        if self.folder is None or self._archive is None:
            raise ValueError("this sweep was not written to a directory; run it with out")
        if not isinstance(point, Meta | str):
            if isinstance(point, bool) or not hasattr(point, "__index__"):
                arguments.refuse("point", point, "one of `points`, its number, or the beginning of its content hash")
            point = str(point.__index__())
        content_hash = (point if isinstance(point, Meta) else point_named(self.points, point)).content_hash
        if (found := self._archive.load(content_hash)) is not None:
            return found
        if (of_format_1 := point_folder(self.folder, content_hash)).exists():
            return load_result(of_format_1)
        batches = self.folder / BATCHES
        raise ResultError(
            f"{batches}: {'no batch has' if batches.is_dir() else 'missing, and with it'} point {content_hash[:16]}",
            "run the experiment again with the same --out, which runs the points that are missing",
        )

    @cached_property
    def _archive(self) -> Archive | None:
        from dumbbell.batches import Archive

        return None if self.folder is None else Archive(self.folder)

    def write_tables(self, folder: Path) -> None:
        """Writes the joined tables into a sweep's directory, all of them or none."""
        from dumbbell.points import points_of

        tables = {"points": Table(points_of(self.points)), "flows": self.flows, "links": self.links}
        if len(self.traffic):
            tables |= {"traffic": self.traffic, "transfers": self.transfers}
        if len(self.datagrams):
            tables["datagrams"] = self.datagrams
        with storage.directory(folder, SWEEP, [f"{name}.parquet" for name in tables]) as staging:
            for name, table in tables.items():
                table.write_parquet(staging / f"{name}.parquet")

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
    source = arguments.path("folder", folder, "the directory of a result")
    checksums = _checked(source, RESULT, META)
    meta = read_meta(source)
    present = [*TABLES, *(name for name in OPTIONAL_TABLES if f"{name}.parquet" in checksums)]
    tables = {name: read_table(source / f"{name}.parquet", REQUIRED[name], checksums) for name in present}
    flows, series, links, link_series = (tables[name] for name in TABLES)
    traffic, completions, pages, rounds, datagrams = (tables.get(name) or _no_rows() for name in OPTIONAL_TABLES)
    scenario = source / SCENARIO
    return Result(
        flows,
        series,
        links,
        link_series,
        meta=meta,
        described=read_text(scenario, checksums),
        scenario_name=str(scenario),
        traffic=traffic,
        completions=completions,
        pages=pages,
        rounds=rounds,
        datagrams=datagrams,
    )


def load_sweep(folder: str | Path) -> SweepResult:
    """Reads the joined tables of a sweep directory.

    Raises:
        ResultError: There is no sweep, or it is not finished, or damaged, or a newer version wrote it.
    """
    source = arguments.path("folder", folder, "the directory of a sweep")
    checksums = _checked(source, SWEEP, SWEEP_META)
    points = _read_points(source, checksums)
    tables = {
        name: read_table(source / f"{name}.parquet", {"point": "number", **SWEEP_REQUIRED[name]}, checksums)
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


def _read_points(folder: Path, checksums: Mapping[str, str | None]) -> list[Meta]:
    path = folder / SWEEP_POINTS
    if path.exists():
        required = {"point": "number", "content_hash": "text"}
        rows = read_table(path, required, checksums).rows()
        return [meta_of_row(row, f"{path}: point {index}") for index, row in enumerate(rows)]
    if (folder / SWEEP_META).exists():
        return _read_listed(folder)
    from dumbbell.batches import Archive

    earlier = sum(1 for path in (folder / POINTS).glob("*") if not path.name.startswith("."))
    raise ResultError(
        f"{folder}: this sweep is not finished, {Archive(folder).count() + earlier} of its points are there",
        "run the experiment again with the same --out, which runs the rest",
    )


def _read_listed(folder: Path) -> list[Meta]:
    """The points of a sweep of format 1."""
    path = folder / SWEEP_META
    points = storage.read_json(path).get("points")
    if not isinstance(points, list):
        raise ResultError(f"{path}: damaged, `points` is not a list")
    return [meta_of(point, f"{path}: point {index}") for index, point in enumerate(points)]


def _earlier_result(folder: Path) -> Sequence[str] | None:
    try:
        read_meta(folder)
    except ResultError:
        return None
    return RESULT.files


def _earlier_sweep(folder: Path) -> Sequence[str] | None:
    try:
        points = _read_listed(folder)
    except ResultError:
        return None
    return (SWEEP_META, *SWEEP.files[1:]) if points else None


BATCHES = "batches"
"""The folder of a sweep in which its points are."""

RESULT = storage.Kind("result", (META, SCENARIO, *(f"{name}.parquet" for name in TABLES)), _earlier_result)
SWEEP = storage.Kind("sweep", (SWEEP_POINTS, "flows.parquet", "links.parquet"), _earlier_sweep, BATCHES)


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


def separating_axes(flows: pl.DataFrame, axes: Sequence[str], fixed: Sequence[str] = ()) -> list[str]:
    """The swept settings that tell rows apart which have the same algorithm, label and values of ``fixed``."""
    import polars as pl

    present = [axis for axis in axes if axis in flows.columns and axis not in fixed]
    same = dict.fromkeys(["cc", "label", *(column for column in fixed if column in flows.columns)])
    counts = flows.group_by(*same).agg(pl.col(axis).n_unique() for axis in present)
    return [axis for axis in present if counts[axis].max() != 1]


def following_axes(flows: pl.DataFrame, axes: Sequence[str], axis: str) -> list[str]:
    """The settings that vary and whose values that of ``axis`` tells, as within a group of ``zip``."""
    import polars as pl

    others = [other for other in axes if other in flows.columns and other != axis and flows[other].n_unique() > 1]
    counts = flows.group_by(axis).agg(pl.col(other).n_unique() for other in others)
    return [other for other in others if counts[other].max() == 1]


def leading_axes(flows: pl.DataFrame, axes: Sequence[str]) -> list[str]:
    """The settings that vary and that no other one tells: of those that move together one."""
    leading = [axis for axis in axes if axis in flows.columns and flows[axis].n_unique() > 1]
    for axis in leading[::-1]:
        if any(axis in following_axes(flows, leading, other) for other in leading):
            leading.remove(axis)
    return leading


def setting_name(axis: str) -> str:
    """The last part of a swept setting's name: ``loss`` of ``path.loss``."""
    return axis.rsplit(".", 1)[-1]


def point_named(points: Sequence[Meta], word: str) -> Meta:
    """The point with this number, or whose content hash begins so.

    Raises:
        ValueError: There is none, or there are several.
    """
    if word.isdecimal() and int(word) < len(points):
        return points[int(word)]
    # A number that is too large is no beginning of a hash that happens to fit.
    is_hash = len(word) >= LEAST_OF_A_HASH or (word and not word.isdecimal())
    found = {meta.content_hash: meta for meta in points if is_hash and meta.content_hash.startswith(word)}
    if len(found) != 1:
        several = f"{len(found)} points have content hashes that begin so" if found else "there is no such point"
        raise ValueError(f"{word}: {several}; write a number from 0 to {len(points) - 1}, or more of a content hash")
    return next(iter(found.values()))


def point_folder(sweep: Path, content_hash: str) -> Path:
    """Where a sweep's directory keeps a point."""
    return sweep / POINTS / content_hash[:16]


def without_infinities(value: Any) -> Any:
    """``value`` as JSON can hold it: null for infinity (the capacity of an unlimited link) and NaN."""
    if isinstance(value, dict):
        return {key: without_infinities(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_infinities(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def setting_text(setting: Any) -> str | None:
    """A swept setting in words; a table such as ``{name = "cubic", hystart = false}`` as ``cubic hystart=false``."""
    if setting is None or isinstance(setting, str):
        return setting
    if isinstance(setting, dict):
        words = [str(setting["name"])] if "name" in setting else []
        return " ".join(words + [f"{key}={setting_text(value)}" for key, value in setting.items() if key != "name"])
    return json.dumps(setting)
