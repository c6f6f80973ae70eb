"""Points of a sweep as they are stored: many together, a table for each kind of rows.

A sweep's directory has a folder for every batch, numbered in the order in which they were committed. It appears whole
or not at all and is never changed. Every table begins with what tells its rows apart: the content hash of their point,
its repetition, its seed, and its settings. Where two batches have the same point, the later one counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import storage, transfers
from dumbbell.meta import FIRST_COLUMN, Meta, columns_of, meta_of_row
from dumbbell.points import KEYS, keys_of
from dumbbell.reading import parsed, read_checked
from dumbbell.results import BATCHES as BATCHES
from dumbbell.results import (
    OPTIONAL_TABLES,
    REQUIRED,
    SCENARIO,
    SWEEP_OPTIONAL_TABLES,
    TABLES,
    TRACES,
    Result,
)
from dumbbell.storage import ResultError
from dumbbell.tables import Table, joined

if TYPE_CHECKING:
    import polars as pl

ALL_TABLES = (*TABLES, *OPTIONAL_TABLES, "transfers")
"""The tables of a batch, besides that of its points."""
POINTS_TABLE = "points"
SUMMARIES = ("flows", "links", *SWEEP_OPTIONAL_TABLES)
"""The tables that a sweep joins."""
OF_ONE = ("series_columns", "scenario")
"""Columns of the points that are wanted of single points alone."""

BATCH = storage.Kind("batch", tuple(f"{name}.parquet" for name in (POINTS_TABLE, *TABLES)), lambda folder: None)

_REQUIRED = {
    POINTS_TABLE: dict.fromkeys(("content_hash", "series_columns", "scenario"), "text"),
    "transfers": {},
} | REQUIRED


@dataclass(frozen=True)
class Batch:
    """Points that are stored together."""

    metas: Sequence[Meta]
    points: pl.DataFrame
    """One row a point: its keys, what it was and what it cost, ``series_columns``, because each controller has values
    of its own there, and its ``scenario``; a batch for the summaries alone lacks these two, :data:`OF_ONE`."""
    tables: Mapping[str, Table]
    """The rows of all points by the name of their table, each behind the keys of its point."""

    @classmethod
    def of(cls, results: Sequence[Result], names: Sequence[str] = ALL_TABLES) -> Batch:
        """Results of different points, or one too long for memory; of their tables those with these ``names``.

        The points lack :data:`OF_ONE` where these are the names of the summaries.
        """
        import polars as pl

        metas = [result.meta for result in results]
        keys = keys_of(metas)
        points = keys.with_columns(*columns_of(metas))
        if names != SUMMARIES:
            columns = [json.dumps(result.series.columns) for result in results]
            scenarios = [result.scenario_toml for result in results]
            points = points.with_columns(series_columns=pl.Series(columns), scenario=pl.Series(scenarios))
        present = {name for result in results for name in result.tables}
        tables: dict[str, Table] = {}
        for name in names:
            if ("traffic" if name == "transfers" else name) in present:
                own = [_table(result, name) for result in results]
                is_long = len(own) == 1 and own[0].is_stored
                tables[name] = Table(_Keyed(own[0], keys)) if is_long else Table(_behind(keys, joined(own)))
        return cls(metas, points, tables)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its files."""
        return tuple(f"{name}.parquet" for name in (POINTS_TABLE, *self.tables))

    def write(self, folder: Path) -> None:
        """Writes its files into ``folder``."""
        for name, table in {POINTS_TABLE: Table(self.points), **self.tables}.items():
            table.write_parquet(folder / f"{name}.parquet")

    @classmethod
    def decoded(cls, files: Mapping[str, bytes], folder: Path, names: Sequence[str] = ALL_TABLES) -> Batch:
        """A batch from its files, which are or will be in ``folder``; of the tables those with these ``names``."""
        tables = {
            name: parsed(files[f"{name}.parquet"], folder / f"{name}.parquet", _REQUIRED[name])
            for name in (POINTS_TABLE, *names)
            if f"{name}.parquet" in files
        }
        points = tables.pop(POINTS_TABLE).to_polars()
        place = folder / f"{POINTS_TABLE}.parquet"
        metas = [meta_of_row(row, f"{place}: row {number}") for number, row in enumerate(points.to_dicts())]
        return cls(metas, points, tables)

    @property
    def settings(self) -> list[str]:
        """The columns behind :data:`KEYS` that tell points apart."""
        return self.points.columns[len(KEYS) : self.points.columns.index(FIRST_COLUMN)]

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        """The points of all batches, which are different ones."""
        if len(batches) == 1:
            return batches[0]
        settings = list(dict.fromkeys(name for batch in batches for name in batch.settings))
        names = dict.fromkeys(name for batch in batches for name in batch.tables)
        tables = {
            name: Table(_stacked([batch.tables[name] for batch in batches if name in batch.tables], settings))
            for name in names
        }
        points = _stacked([Table(batch.points) for batch in batches], settings)
        return cls([meta for batch in batches for meta in batch.metas], points, tables)

    def of_tables(self, names: Sequence[str]) -> Batch:
        """The batch without any other tables than these."""
        return replace(self, tables={name: table for name, table in self.tables.items() if name in names})

    @property
    def is_long(self) -> bool:
        """Whether it is one point with time series too long for memory."""
        return any(table.is_stored for table in self.tables.values())

    @property
    def rows(self) -> int:
        """The rows of all tables that are in memory."""
        return sum(len(table) for table in self.tables.values() if not table.is_stored)

    def only(self, hashes: Collection[str]) -> Batch:
        """The points with these content hashes."""
        import polars as pl

        if all(meta.content_hash in hashes for meta in self.metas):
            return self
        among = pl.col("content_hash").is_in(list(hashes))
        tables = {name: Table(table.to_polars().filter(among)) for name, table in self.tables.items()}
        metas = [meta for meta in self.metas if meta.content_hash in hashes]
        return Batch(metas, self.points.filter(among), tables)

    def results(self, folder: Path) -> Iterator[Result]:
        """Every point as a result of its own; ``folder`` is where their scenarios look for traces."""
        rows = {name: self._by_point(name) for name in (*TABLES, *OPTIONAL_TABLES) if name in self.tables}
        keys = (*KEYS, *self.settings)
        texts = (self.points[name] for name in ("series_columns", "scenario"))
        for meta, series_columns, scenario in zip(self.metas, *texts, strict=True):
            own = {name: tables[meta.content_hash] for name, tables in rows.items()}
            for name, table in own.items():
                columns = [column for column in table.columns if column not in keys]
                own[name] = table.select(json.loads(series_columns) if name == "series" else columns)
            flows, series, links, link_series = (own[name] for name in TABLES)
            result = Result(flows, series, links, link_series, meta, scenario, scenario_name=str(folder / SCENARIO))
            more: dict[str, Any] = {name: own[name] for name in OPTIONAL_TABLES if name in own}
            yield replace(result, **more)

    def _by_point(self, name: str) -> Mapping[str, Table]:
        """The rows of each point in a table, by its content hash."""
        table = self.tables[name]
        if len(self.metas) == 1:
            return {self.metas[0].content_hash: table}
        frame = table.to_polars()
        parts = frame.partition_by("content_hash", as_dict=True, maintain_order=True)
        return {meta.content_hash: Table(parts.get((meta.content_hash,), frame.clear())) for meta in self.metas}


class Archive:
    """The batches in a sweep's directory."""

    def __init__(self, sweep: Path) -> None:
        self._sweep = sweep
        self._folder = sweep / BATCHES
        self._damaged: set[Path] = set()
        self._traces: set[str] = set()
        self._latest: tuple[Path, Batch] | None = None
        self._problem: ResultError | None = None

    def discard_stale(self) -> None:
        """Removes what killed processes have left unfinished."""
        storage.discard_stale(self._folder)

    def append(self, results: Sequence[Result]) -> Batch:
        """Commits results as a batch, whole or not at all."""
        batch = Batch.of([self._with_traces_beside(result) for result in results])
        self.append_batch(batch)
        return batch

    def append_batch(self, batch: Batch) -> None:
        """Commits a batch whose traces are kept, whole or not at all."""
        with storage.directory(self.next_folder(), BATCH, batch.files) as staging:
            batch.write(staging)

    def keep_traces(self, traces: Iterable[tuple[str, str]]) -> None:
        """Writes traces that experiments name, each once."""
        for name, content in traces:
            if name not in self._traces:
                storage.keep_file(self._sweep / TRACES / name, content.encode())
                self._traces.add(name)

    def folders(self) -> list[Path]:
        """The folders of all batches in the order of their numbers."""
        signs = (storage.MARKER, *BATCH.files)
        return [path for path in self._numbered() if any((path / name).exists() for name in signs)]

    def read(self, folder: Path, names: Sequence[str]) -> Batch:
        """The batch in ``folder``, of the tables those with these ``names``; all files are checked.

        Raises:
            ResultError: It is damaged.
        """
        try:
            marker = storage.read_marker(folder)
            if marker is None:
                raise ResultError(f"{folder / storage.MARKER}: missing")
            files = {name: read_checked(folder / name, marker.files) for name in {*BATCH.files, *marker.files}}
            return Batch.decoded(files, folder, names)
        except ResultError:
            self._damaged.add(folder)
            raise

    def metas(self, folder: Path) -> list[Meta]:
        """What was run of the batch in ``folder``; nothing where that is damaged."""
        with suppress(ResultError):
            marker = storage.read_marker(folder)
            name = f"{POINTS_TABLE}.parquet"
            files = {name: read_checked(folder / name, {} if marker is None else marker.files)}
            return list(Batch.decoded(files, folder, ()).metas)
        return []

    def load(self, content_hash: str) -> Result | None:
        """The result of a point, ``None`` if no batch has it. The batch stays in memory for the next one."""
        folder = self._places.get(content_hash)
        if folder is None:
            if self._problem is not None:
                raise self._problem
            return None
        if self._latest is None or self._latest[0] != folder:
            self._latest = folder, self.read(folder, (*TABLES, *OPTIONAL_TABLES))
        return next(self._latest[1].only([content_hash]).results(folder))

    @cached_property
    def _places(self) -> dict[str, Path]:
        """The batch of each point, when first asked for."""
        places: dict[str, Path] = {}
        for folder in self.folders():
            try:
                places |= dict.fromkeys(self._hashes(folder), folder)
            except ResultError as error:
                self._problem = error
        return places

    def count(self) -> int:
        """How many points there are."""
        found: set[str] = set()
        for folder in self.folders():
            with suppress(ResultError):
                found |= self._hashes(folder)
        return len(found)

    def tidy(self) -> None:
        """Removes batches of which later ones have all points, and damaged ones that cannot tell which they have."""
        later: set[str] = set()
        for folder in reversed(self.folders()):
            is_damaged = folder in self._damaged
            hashes = self._hashes_of_damaged(folder) if is_damaged else self._hashes(folder)
            if hashes <= later:
                storage.remove(folder, BATCH)
            elif not is_damaged:
                later |= hashes

    def _with_traces_beside(self, result: Result) -> Result:
        scenario, traces = result.scenario_beside()
        self.keep_traces(traces)
        return result if scenario is result.described else replace(result, described=scenario)

    def next_folder(self) -> Path:
        """Where the next batch goes."""
        numbers = [int(path.name) for path in self._numbered()]
        return self._folder / f"{max(numbers, default=-1) + 1:06}"

    def _numbered(self) -> list[Path]:
        """Everything that has the name of a batch; also what is left of one beside files of somebody else."""
        names = self._folder.iterdir() if self._folder.is_dir() else ()
        return sorted((path for path in names if _NUMBER.fullmatch(path.name)), key=lambda path: int(path.name))

    def _hashes(self, folder: Path, checksums: Mapping[str, str | None] | None = None) -> set[str]:
        path = folder / f"{POINTS_TABLE}.parquet"
        table = parsed(read_checked(path, checksums or {}), path, _REQUIRED[POINTS_TABLE], columns=["content_hash"])
        return set(table.to_polars()["content_hash"])

    def _hashes_of_damaged(self, folder: Path) -> set[str]:
        """The hashes of a damaged batch's points; none where the damage is in what tells them."""
        with suppress(ResultError):
            marker = storage.read_marker(folder)
            return self._hashes(folder, None if marker is None else marker.files)
        return set()


_NUMBER = re.compile(r"\d{6,}")


class _Keyed:
    """A long table behind the keys of its point."""

    def __init__(self, table: Table, keys: pl.DataFrame) -> None:
        self._table = table
        self._keys = keys

    def scan(self) -> pl.LazyFrame:
        import polars as pl

        keys = [pl.lit(column[0], column.dtype).alias(column.name) for column in self._keys]
        return self._table.lazy().select(*keys, pl.all())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().collect().__arrow_c_stream__(requested_schema)


def _stacked(tables: Sequence[Table], settings: Sequence[str]) -> pl.DataFrame:
    """The rows of tables of several batches, one after the other."""
    import polars as pl

    frames = [table.to_polars() for table in tables]
    names = [name for frame in frames for name, kind in frame.schema.items() if kind == pl.Categorical]
    # Dictionaries of different tables need not agree on their codes.
    plain = pl.concat([frame.with_columns(pl.col(pl.Categorical).cast(pl.String)) for frame in frames], how="diagonal")
    keys = [name for name in (*KEYS, *settings) if name in plain.columns]
    return plain.select(*keys, pl.exclude(keys)).with_columns(pl.col(sorted(set(names))).cast(pl.Categorical))


def _table(result: Result, name: str) -> Table:
    if name == "transfers":
        return Table(transfers.by_size(result.completions.to_polars()))
    table: Table = getattr(result, name)
    return table


def _behind(keys: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of several points behind the keys of theirs, which their first column numbers."""
    import polars as pl

    return pl.concat([keys.select(pl.all().gather(rows["run"])), rows.drop("run")], how="horizontal")
