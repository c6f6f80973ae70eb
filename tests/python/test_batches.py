"""Points of a sweep are stored many together, and come back one by one."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import api, batches, commits, experiment, marker, parallel, results, summaries
from dumbbell.tables import Table, joined

MIXED: dict[str, Any] = {
    "duration": "1s",
    "path": {"rate": "10mbit", "rtt": "20ms"},
    "flows": [{"cc": "bbr"}],
    "sweep": {"flows[0].cc": ["bbr", "cubic", {"name": "cubic", "hystart": False}], "repeat": 2},
}
"""Controllers with different values in their series."""


def same(one: db.Result, two: db.Result) -> bool:
    """Whether two results agree in everything that does not depend on the machine."""
    names = [*results.TABLES, *(name for name in results.OPTIONAL_TABLES if len(getattr(two, name)))]
    tables = all(getattr(one, name).to_polars().equals(getattr(two, name).to_polars()) for name in names)
    first, second = (dataclasses.replace(result.meta, cpu_s=0.0, wall_s=0.0) for result in (one, two))
    return tables and first == second and one.scenario_toml == two.scenario_toml


def test_points_come_back_as_they_were_run(tmp_path: Path) -> None:
    points = experiment.load(MIXED).points
    ran = {point.content_hash: parallel.run_point(point) for point in points}
    sweep = db.sweep(MIXED, out=tmp_path / "out").collect()
    assert len(list((tmp_path / "out" / "batches").iterdir())) == 1
    for loaded in (sweep, db.load_sweep(tmp_path / "out")):
        for meta in loaded.points:
            assert same(loaded.load(meta), ran[meta.content_hash])
    again = db.sweep(MIXED, out=tmp_path / "out")
    assert all(same(result, ran[result.meta.content_hash]) for result in again)
    assert (again.finished, again.committed) == (6, 6)


def test_transfers_come_back_too(tmp_path: Path) -> None:
    traffic = {"kind": "short-flows", "cc": "cubic", "load": "50%", "size": "20kB"}
    path = {"rate": "10mbit", "rtt": "20ms"}
    document = {"duration": "1s", "path": path, "traffic": [traffic], "sweep": {"repeat": 2}}
    sweep = db.sweep(document, out=tmp_path / "out").collect()
    resumed = db.sweep(document, out=tmp_path / "out").collect()
    for meta, point in zip(sweep.points, experiment.load(document).points, strict=True):
        assert same(sweep.load(meta), parallel.run_point(point))
    assert resumed.transfers.to_polars().equals(sweep.transfers.to_polars())
    assert len(sweep.transfers)


def test_tables_are_the_same_in_memory_on_disk_and_when_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "MAX_POINTS", 4)
    in_memory = db.sweep(MIXED).collect()
    stored = db.sweep(MIXED, out=tmp_path / "out").collect()
    resumed = db.sweep(MIXED, out=tmp_path / "out").collect()
    read = db.load_sweep(tmp_path / "out")
    for name in ("flows", "links"):
        frames = [getattr(sweep, name).to_polars() for sweep in (in_memory, stored, resumed, read)]
        assert all(frame.equals(frames[0]) for frame in frames)
    assert stored.points == resumed.points == read.points


def test_points_that_are_the_same_run_have_rows_of_their_own(tmp_path: Path) -> None:
    document = MIXED | {"sweep": {"path.loss": ["1%", "0.01"]}}
    for out in (tmp_path / "out", tmp_path / "out", None):
        sweep = db.sweep(document, out=out)
        joined_flows = sweep.collect().flows.to_polars()
        assert joined_flows.select("point", "path.loss").rows() == [(0, "1%"), (1, "0.01")]
        assert joined_flows["goodput_mbps"].n_unique() == 1


def test_a_stored_point_has_the_settings_of_the_sweep_that_asks_for_it(tmp_path: Path) -> None:
    db.sweep(MIXED | {"sweep": {"path.loss": ["1%"]}}, out=tmp_path / "out").collect()
    sweep = db.sweep(MIXED | {"sweep": {"path.loss": ["0.01", "2%"]}}, out=tmp_path / "out")
    labels = [result.meta.label for result in sweep]
    assert labels == ["path.loss=0.01", "path.loss=2%"]
    assert sweep.collect().points[0].settings == {"path.loss": "0.01"}


def test_results_wait_two_seconds_or_a_hundredth_of_the_sweep(
    result: db.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    committed: list[int] = []
    waiting = commits.Commits(_Memory(), None, committed.append)
    waiting.add(result)
    now += commits.PATIENCE_S - 0.1
    waiting.commit_if_due()
    assert committed == []
    now += 0.1
    waiting.commit_if_due()
    assert committed == [1]
    now += 1000.0
    waiting.add(result)
    assert committed == [1, 1], "slow points are committed one by one"
    waiting.add(result)
    now += 9.0
    waiting.commit_if_due()
    assert committed == [1, 1]
    now += 2.0
    waiting.commit_if_due()
    assert committed == [1, 1, 1]


class _Memory(batches.Archive):
    """An archive that keeps nothing."""

    def __init__(self) -> None:
        super().__init__(Path())

    def append(self, results: Sequence[db.Result]) -> batches.Batch:
        return batches.Batch([one.meta for one in results], pl.DataFrame(), {})


def test_series_too_long_for_memory_are_a_batch_of_their_own(tmp_path: Path) -> None:
    document = MIXED | {"record": {"interval": "10us"}, "sweep": {"repeat": 2}}
    sweep = db.sweep(document, out=tmp_path / "out").collect()
    assert len(list((tmp_path / "out" / "batches").iterdir())) == 2
    assert [len(sweep.load(point).series) > 90_000 for point in sweep.points] == [True, True]


def of_another_engine(out: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A sweep that another engine has left; its files."""
    with monkeypatch.context() as other:
        other.setattr(parallel, "engine_digest", lambda: "0" * 16)
        db.sweep(MIXED, out=out).collect()
    return files_of(out)


def files_of(out: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def test_points_of_another_engine_are_not_mixed_or_removed_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    before = of_another_engine(out, monkeypatch)
    count = len(db.sweep(MIXED))
    with pytest.raises(db.OtherEngineError, match=f"{count} of {count} points .* another engine .*0000"):
        db.sweep(MIXED, out=out).collect()
    assert files_of(out) == before


def test_points_of_another_engine_are_kept_on_request_and_the_rest_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    of_another_engine(out, monkeypatch)
    more = MIXED | {"sweep": MIXED["sweep"] | {"repeat": 3}}
    with pytest.warns(db.OtherEngineWarning, match="taken as they are"):
        sweep = db.sweep(more, out=out, others="keep").collect()
    engines = [meta.engine for meta in sweep.points]
    assert set(engines) == {"0" * 16, parallel.engine_digest()}
    assert {meta.repeat for meta in sweep.points if meta.engine == "0" * 16} == {0, 1}


def test_points_of_another_engine_are_run_again_on_request_and_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    of_another_engine(out, monkeypatch)
    # Some of the points, with the other points of their batch still there.
    monkeypatch.setattr(commits, "MAX_POINTS", 3)
    with pytest.warns(db.OtherEngineWarning, match="run again"):
        sweep = db.sweep(MIXED, out=out, others="rerun").collect()
    assert {meta.engine for meta in sweep.points} == {parallel.engine_digest()}
    assert {path.name for path in (out / "batches").iterdir()} == {"000001", "000002"}
    stored = pl.read_parquet(out / "batches" / "*" / "points.parquet")
    assert stored["content_hash"].is_unique().all()


def test_what_is_on_disk_is_known_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    db.sweep(MIXED | {"sweep": MIXED["sweep"] | {"repeat": 1}}, out=out).collect()
    assert (db.sweep(MIXED, out=out).stored(), db.sweep(MIXED).stored()) == (3, 0)
    other = tmp_path / "other"
    of_another_engine(other, monkeypatch)
    assert [db.sweep(MIXED, out=other, others=others).stored() for others in ("rerun", "keep")] == [0, 6]


def test_what_is_missing_is_found_out_once_however_many_points_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Once for each point would take a minute for 30 000 of them.
    db.sweep(MIXED, out=tmp_path / "out").collect()
    looked_through: list[Container[str]] = []

    def fits(sweep: api.Sweep, meta: db.Meta, wanted: Container[str]) -> bool:
        looked_through.append(wanted)
        return meta.content_hash in wanted

    monkeypatch.setattr(api.Sweep, "_fits", fits)
    db.sweep(MIXED, out=tmp_path / "out").collect()
    assert len(looked_through) > 6 > len({id(wanted) for wanted in looked_through})


def test_the_command_offers_both(dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    file = tmp_path / "sweep.toml"
    file.write_text(
        'duration = "1s"\npath = { rate = "10mbit", rtt = "20ms" }\nflows = [{ cc = "bbr" }]\n'
        'sweep = { "flows[0].cc" = ["bbr", "cubic", { name = "cubic", hystart = false }], repeat = 2 }\n'
    )
    of_another_engine(out, monkeypatch)
    refused = dumbbell("run", file, "--out", out)
    assert refused.status == 2 and "--keep takes them as they are, --rerun runs them again" in refused.err
    both = dumbbell("run", file, "--out", out, "--keep", "--rerun")
    assert both.status == 2 and "exclude each other" in both.err
    kept = dumbbell("run", file, "--out", out, "--keep")
    assert kept.status == 0 and "taken as they are" in kept.err


def test_tables_of_any_library_are_joined_alike(result: db.Result) -> None:
    mixed = [result.series, Table(result.series.to_polars().drop("mode")), result.series]
    engine, frames = joined([result.series] * 3), joined(mixed)
    height = len(result.series)
    assert engine["run"].to_list() == frames["run"].to_list() == [0] * height + [1] * height + [2] * height
    own = engine.filter(run=2).drop("run").with_columns(pl.col(pl.Categorical).cast(pl.String))
    assert own.equals(result.series.to_polars().with_columns(pl.col(pl.Categorical).cast(pl.String)))
    assert frames.filter(run=1)["mode"].null_count() == height
    assert frames.filter(run=2).drop("run").equals(own)


def test_columns_that_a_run_lacks_are_null_in_its_rows() -> None:
    bbr, cubic = (parallel.run_point(point) for point in experiment.load(MIXED).points[:3:2])
    both = joined([bbr.series, cubic.series, bbr.series])
    own = set(bbr.series.columns) - set(cubic.series.columns)
    assert own and all(name.startswith("cc_") for name in own)
    assert both.filter(run=1).select(own).null_count().row(0) == (len(cubic.series),) * len(own)
    for run, one in ((0, bbr), (1, cubic), (2, bbr)):
        assert both.filter(run=run).select(one.series.columns).equals(one.series.to_polars())


def of_format_1(document: dict[str, Any], out: Path) -> list[db.Result]:
    """Writes a sweep as earlier versions did, and returns its points."""
    ran = [parallel.run_point(point) for point in experiment.load(document).points]
    for one in ran:
        one.save(results.point_folder(out, one.meta.content_hash))
    scratch = out.with_name("scratch")
    db.sweep(document, out=scratch).collect()
    for name in ("flows.parquet", "links.parquet"):
        (scratch / name).rename(out / name)
    (out / "sweep.json").write_text(json.dumps({"points": [dataclasses.asdict(one.meta) for one in ran]}))
    files = {path.name: marker.checksum(path.read_bytes()) for path in out.iterdir() if path.is_file()}
    fields = {"kind": "sweep", "format": 1, "version": "0.1.0", "files": files}
    (out / "dumbbell.json").write_text(json.dumps(fields))
    return ran


def test_a_sweep_of_an_earlier_version_is_read(dumbbell: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = of_format_1(MIXED, out)
    sweep = db.load_sweep(out)
    assert sweep.points == [one.meta for one in ran]
    for one in ran:
        assert same(sweep.load(one.meta), one)
    assert dumbbell("plot", out, "--format", "svg").status == 0
    assert dumbbell("extract", out, "1", "--out", tmp_path / "point").status == 0


def test_a_sweep_of_an_earlier_version_is_resumed_with_its_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    ran = of_format_1(MIXED, out)

    def forbidden(*_: object) -> None:
        raise AssertionError("nothing is to be run")

    monkeypatch.setattr(parallel, "run_point", forbidden)
    sweep = db.sweep(MIXED, out=out).collect()
    assert not (out / "sweep.json").exists()
    for loaded in (sweep, db.load_sweep(out)):
        assert all(same(loaded.load(one.meta), one) for one in ran)


def test_results_are_committed_when_there_are_so_many_points_or_rows(
    result: db.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(number: int) -> db.Result:
        return dataclasses.replace(result, meta=dataclasses.replace(result.meta, content_hash=f"{number:064x}"))

    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    for limit, most in (("MAX_POINTS", 3), ("MAX_ROWS", 3 * result.rows), ("MAX_ROWS", 3 * result.rows - 1)):
        with monkeypatch.context() as patch:
            patch.setattr(commits, limit, most)
            committed: list[int] = []
            waiting = commits.Commits(_Memory(), None, committed.append)
            for number in range(7):
                waiting.add(other(number))
            assert committed == [3, 3]
            waiting.close()
            assert committed == [3, 3, 1]
            waiting.close()
            assert committed == [3, 3, 1]


def test_a_point_and_one_too_long_for_memory_are_not_in_one_batch_with_others(
    result: db.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    committed: list[int] = []
    waiting = commits.Commits(_Memory(), None, committed.append)
    another = dataclasses.replace(result, meta=dataclasses.replace(result.meta, content_hash="1" * 64))
    for one in (result, another, another, result):
        waiting.add(one)
    assert committed == [2]
    waiting.commit()
    assert committed == [2, 2]
    monkeypatch.setattr(db.Result, "is_long", property(lambda self: self is another))
    for one in (result, another, result):
        waiting.add(one)
    assert committed == [2, 2, 1, 1]


def test_without_a_place_and_summaries_nothing_is_kept(result: db.Result) -> None:
    committed: list[int] = []
    nowhere = commits.Commits(None, None, committed.append)
    nowhere.add(result)
    nowhere.add_batch(batches.Batch.of([result]))
    assert not nowhere._results and not nowhere._batches
    joined = summaries.Summaries()
    waiting = commits.Commits(None, joined, committed.append)
    waiting.add(result)
    waiting.add_batch(batches.Batch.of([result]))
    waiting.close()
    assert committed == [], "nothing comes to disk"
    assert joined._known == {result.meta.content_hash}


def test_a_batch_has_its_tables_rows_and_points(result: db.Result, tmp_path: Path) -> None:
    other = dataclasses.replace(
        result, meta=dataclasses.replace(result.meta, content_hash="1" * 64, settings={"a.b": 1}, repeat=1)
    )
    batch = batches.Batch.of([result, other])
    assert batch.files == ("points.parquet", "flows.parquet", "series.parquet", "links.parquet", "link_series.parquet")
    assert batch.settings == ["a.b"] and not batch.is_long
    assert batch.rows == sum(2 * len(getattr(result, name)) for name in ("flows", "series", "links", "link_series"))
    assert list(batch.of_tables(["links", "flows"]).tables) == ["flows", "links"]
    assert batch.only({result.meta.content_hash, "1" * 64}) is batch
    alone = batch.only({"1" * 64})
    assert [meta.repeat for meta in alone.metas] == [1] and alone.points.height == 1
    (back,) = alone.results(tmp_path)
    assert back.meta == other.meta
    assert back.scenario_name == str(tmp_path / "scenario.toml")
    assert back.flows.to_polars().equals(result.flows.to_polars())
    assert "scenario" not in batches.Batch.of([result], batches.SUMMARIES).points.columns
    assert list(batches.Batch.of([result], batches.SUMMARIES).tables) == ["flows", "links"]
    together = batches.Batch.joined([batches.Batch.of([result]), batches.Batch.of([other])])
    assert together.settings == ["a.b"]
    assert together.points["a.b"].to_list() == [None, "1"]
    assert together.tables["flows"].to_polars()["a.b"].to_list() == [None, None, "1", "1"]
    assert batches.Batch.joined([batch]) is batch


def test_folders_of_batches_are_numbered_on(tmp_path: Path) -> None:
    archive = batches.Archive(tmp_path)
    assert archive.next_folder() == tmp_path / "batches" / "000000"
    assert archive.folders() == [] and archive.count() == 0
    for name in ("000009", "000010", "1000000", "00001", "x000099"):
        (tmp_path / "batches" / name).mkdir(parents=True)
    assert archive.next_folder() == tmp_path / "batches" / "1000001"
    assert archive.folders() == [], "none of them holds a batch"
    for name in ("1000000", "000010"):
        (tmp_path / "batches" / name / "points.parquet").write_text("")
    assert [folder.name for folder in archive.folders()] == ["000010", "1000000"]


def test_a_result_tells_what_it_has(result: db.Result, tmp_path: Path) -> None:
    loaded = results.load_result(result.save(tmp_path / "one"))
    assert loaded.scenario_name == str(tmp_path / "one" / "scenario.toml")
    assert loaded.meta == result.meta and loaded.void_attempts == ()
    printed = result.summary()
    assert list(printed) == ["flows", "links", "run"]
    assert list(printed["run"]) == ["seed", "sim_s", "cpu_s", "events", "packets", "version", "content_hash"]
    certified = dataclasses.replace(result.meta, certificate={"kernel": "6"}, ground="linux")
    told = dataclasses.replace(result, meta=certified).summary()["run"]
    assert (told["ground"], told["certificate"]) == ("linux", {"kernel": "6"})
    assert (result.is_long, result.tables) == (False, ("flows", "series", "links", "link_series"))
    assert result.rows == len(result.flows) + len(result.series) + len(result.link_series)
    assert repr(result) == "<Result run seed=7 flows=2 4 s>"
    named = dataclasses.replace(result, meta=dataclasses.replace(result.meta, label="a\nb", sim_s=1.5))
    assert repr(named) == "<Result a\\nb seed=7 flows=2 1.5 s>"
    assert result._repr_html_().startswith("<p>4 s, seed 7</p><table>")


def test_points_of_a_sweep_share_their_traces_which_lie_beside(tmp_path: Path) -> None:
    trace = tmp_path / "my.up"
    trace.write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    document = {**MIXED, "path": {"trace": str(trace), "rtt": "20ms"}, "sweep": {"repeat": 2}}
    sweep = db.sweep(document, out=tmp_path / "out", progress=False).collect()
    stored = pl.read_parquet(tmp_path / "out" / "batches" / "000000" / "points.parquet")["scenario"]
    (kept,) = (tmp_path / "out" / "traces").iterdir()
    assert all(f'trace = "../../traces/{kept.name}"' in text for text in stored)
    alone = sweep.load(sweep.points[1])
    assert db.run(alone.save(tmp_path / "one") / "scenario.toml").meta.content_hash == sweep.points[1].content_hash
    # A result without any trace is as it was.
    archive = batches.Archive(tmp_path / "other")
    plain = db.run({name: value for name, value in MIXED.items() if name != "sweep"})
    told = dataclasses.replace(plain, described=plain.scenario_toml)
    assert archive._with_traces_beside(told) is told
    assert not (tmp_path / "other").exists()
