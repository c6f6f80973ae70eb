"""Damaged results: the message says which file, what is wrong and what to do; a sweep repairs its points."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import commits, results
from dumbbell.marker import Marker, NewerError, ResultError, checksum, read_file, read_json, read_marker
from dumbbell.meta import meta_of
from dumbbell.points import Points, points_of, values
from dumbbell.results import setting_name, setting_text, without_infinities


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0x5A
    path.write_bytes(content)


def _write(content: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(content)

    return damage


def _replace(**fields: object) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_text(json.dumps(json.loads(path.read_text()) | fields))

    return damage


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGE: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "truncated table": ("series.parquet", _truncate, "damaged"),
    "changed table": ("flows.parquet", _flip, "damaged"),
    "empty table": ("links.parquet", _write(b""), "damaged"),
    "missing table": ("link_series.parquet", Path.unlink, "missing"),
    "pipe in place of a table": ("flows.parquet", _pipe, "not a file"),
    "truncated meta": ("meta.json", _truncate, "not JSON"),
    "empty meta": ("meta.json", _write(b""), "not JSON"),
    "missing meta": ("meta.json", Path.unlink, "missing"),
    "meta of another program": ("meta.json", _write(b"{}"), "no `version`"),
    "meta that is a list": ("meta.json", _write(b"[]"), "not a JSON object"),
    "deep meta": ("meta.json", _write(b"[" * 100_000), "not JSON"),
    "wrong type": ("meta.json", _replace(seed="7"), "`seed` cannot be"),
    "negative": ("meta.json", _replace(sim_s=-1), "`sim_s` cannot be"),
    "not a number": ("meta.json", _replace(cpu_s=float("nan")), "`cpu_s` cannot be"),
    "path for a hash": ("meta.json", _replace(content_hash="../../etc"), "`content_hash` cannot be"),
    "field of a newer version": ("meta.json", _replace(phase="moon", version="9.9"), "unknown `phase`.*9.9"),
    "missing scenario": ("scenario.toml", Path.unlink, "missing"),
    "changed scenario": ("scenario.toml", _flip, "not what was written"),
    "truncated marker": ("dumbbell.json", _truncate, "not JSON"),
    "newer marker": ("dumbbell.json", _replace(format=99, version="9.9"), "newer Dumbbell.*9.9"),
}


@pytest.fixture
def saved(result: db.Result, tmp_path: Path) -> Path:
    return result.save(tmp_path / "out")


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_result_is_located(dumbbell: Cli, saved: Path, name: str) -> None:
    file, damage, problem = DAMAGE[name]
    damage(saved / file)
    before = sorted(path.name for path in saved.iterdir())
    with pytest.raises(db.ResultError, match=problem):
        db.load_result(saved)
    done = dumbbell("plot", saved)
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith(f"error: {saved / file}")
    assert "help: " in done.err
    assert sorted(path.name for path in saved.iterdir()) == before


def test_a_table_of_something_else_is_damaged(saved: Path) -> None:
    (saved / "dumbbell.json").unlink()
    pl.DataFrame({"x": [1]}).write_parquet(saved / "flows.parquet")
    with pytest.raises(db.ResultError, match=r"flows\.parquet: damaged, no column `label`"):
        db.load_result(saved)
    flows = pl.DataFrame({"label": [1], "cc": ["bbr"]})
    flows.write_parquet(saved / "flows.parquet")
    with pytest.raises(db.ResultError, match=r"column `label` holds Int64"):
        db.load_result(saved)


def test_the_columns_that_must_be_there_are(result: db.Result) -> None:
    for name, required in results.REQUIRED.items():
        assert set(required) <= set(getattr(result, name).columns)


def test_running_again_repairs_a_damaged_result(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dumbbell("run", experiment, "--out", out)
    _truncate(out / "meta.json")
    (out / "flows.parquet").unlink()
    assert dumbbell("run", experiment, "--out", out).status == 0
    assert db.load_result(out).meta.seed == 7


def test_a_place_without_a_result_says_so(dumbbell: Cli, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        done = dumbbell("plot", place)
        assert done.status == 2
        assert f"{place}: no result here" in done.err
    for load in (db.load_result, db.load_sweep):
        with pytest.raises(db.ResultError, match="here"):
            load(tmp_path)


BATCH_DAMAGE: dict[str, tuple[str, Callable[[Path], None]]] = {
    "truncated table": ("series.parquet", _truncate),
    "changed table": ("flows.parquet", _flip),
    "empty table": ("links.parquet", _write(b"")),
    "missing table": ("link_series.parquet", Path.unlink),
    "pipe in place of a table": ("flows.parquet", _pipe),
    "truncated points": ("points.parquet", _truncate),
    "changed points": ("points.parquet", _flip),
    "missing points": ("points.parquet", Path.unlink),
    "truncated marker": ("dumbbell.json", _truncate),
    "missing marker": ("dumbbell.json", Path.unlink),
    "newer marker": ("dumbbell.json", _replace(format=99, version="9.9")),
}


@pytest.mark.parametrize("name", BATCH_DAMAGE)
def test_a_sweep_runs_the_points_of_a_damaged_batch_again_and_says_so(
    sweep: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "MAX_POINTS", 2)
    file, damage = BATCH_DAMAGE[name]
    out = tmp_path / "out"
    whole = db.sweep(sweep, out=out).collect().flows.to_polars()
    damaged, other = sorted((out / "batches").iterdir())
    damage(damaged / file)
    (damaged / "notes.txt").write_text("mine")
    before = [path.stat().st_ino for path in sorted(other.iterdir())]
    with pytest.warns(db.DamagedResultWarning, match=f"{file}.*run again"):
        again = db.sweep(sweep, out=out).collect()
    assert again.flows.to_polars().equals(whole)
    assert [path.stat().st_ino for path in sorted(other.iterdir())] == before
    assert [path.name for path in damaged.iterdir()] == ["notes.txt"]
    assert {path.name for path in (out / "batches").iterdir()} == {"000000", "000001", "000002"}
    for point in again.points:
        assert len(again.load(point).series)
    assert db.sweep(sweep, out=out).collect().flows.to_polars().equals(whole), "there is nothing more to say"


def test_a_damaged_batch_of_another_experiment_stays(sweep: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    db.sweep(sweep, out=out).collect()
    (batch,) = (out / "batches").iterdir()
    _truncate(batch / "series.parquet")
    before = {path.name: path.read_bytes() for path in batch.iterdir()}
    with pytest.warns(db.DamagedResultWarning, match="series.parquet"):
        db.sweep(sweep, out=out, set={"duration": "2s"}).collect()
    assert {path.name: path.read_bytes() for path in batch.iterdir()} == before
    with pytest.warns(db.DamagedResultWarning, match="series.parquet"):
        db.sweep(sweep, out=out).collect()
    assert not batch.exists(), "its points are there again"


def test_the_command_line_says_in_a_line_that_points_are_run_again(sweep: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    db.sweep(sweep, out=out).collect()
    (batch,) = (out / "batches").iterdir()
    damaged = batch / "series.parquet"
    _truncate(damaged)
    command = [sys.executable, "-m", "dumbbell", "run", str(sweep), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"note: {damaged}: damaged") and line.endswith("run again")


@pytest.mark.parametrize("file", ["points.parquet", "flows.parquet", "links.parquet"])
def test_a_damaged_sweep_is_located_and_repaired_from_its_points(
    dumbbell: Cli, sweep: Path, tmp_path: Path, file: str
) -> None:
    out = tmp_path / "out"
    whole = db.sweep(sweep, out=out).collect().flows.to_polars()
    _truncate(out / file)
    done = dumbbell("plot", out)
    assert done.status == 2
    assert done.err.startswith(f"error: {out / file}: damaged")
    assert dumbbell("run", sweep, "--out", out).status == 0
    assert db.load_sweep(out).flows.to_polars().equals(whole)


@pytest.mark.parametrize(("what", "said"), [("batches", "missing, and with it"), ("batches/000000", "no batch has")])
def test_points_that_are_missing_on_disk_are_said_and_run_again(
    dumbbell: Cli, sweep: Path, tmp_path: Path, what: str, said: str
) -> None:
    out = tmp_path / "sweep"
    assert dumbbell("run", sweep, "--out", out, "-q").status == 0
    shutil.rmtree(out / what)
    point = db.load_sweep(out).points[0].content_hash[:16]
    remedy = "run the experiment again with the same --out, which runs the points that are missing"
    for command in (("extract", out, "0", "--out", tmp_path / "point"), ("report", out)):
        done = dumbbell(*command)
        assert (done.status, done.err) == (2, f"error: {out / 'batches'}: {said} point {point}\n  help: {remedy}\n")
    assert dumbbell("run", sweep, "--out", out, "-q").status == 0
    assert dumbbell("extract", out, "0", "--out", tmp_path / "point").status == 0


def test_an_unfinished_sweep_says_how_to_finish_it(dumbbell: Cli, sweep: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    running = iter(db.sweep(sweep, out=out))
    next(running)
    running.close()  # type: ignore[attr-defined]
    done = dumbbell("plot", out)
    assert done.status == 2
    assert "not finished" in done.err and "help: run the experiment again" in done.err


def fields(**changes: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "version": "1", "engine": "e", "label": "l", "repeat": 0, "seed": 3, "content_hash": "0123456789abcdef" * 4,
        "sim_s": 2.0, "cpu_s": 0.5, "wall_s": 0.0, "events": 10, "packets": 15, "algorithms": {"a": "b"},
        "settings": {"x": [1]}, "build": "b", "ground": "linux", "certificate": {"kernel": "6"},
    }  # fmt: skip
    return known | changes


def test_what_a_run_was_is_read_with_its_types_checked() -> None:
    assert dataclasses.asdict(meta_of(fields(), "here")) == fields()
    earlier = {name: value for name, value in fields().items() if name not in ("build", "ground", "certificate")}
    read = meta_of(earlier, "here")
    assert (read.build, read.ground, read.certificate, read.void) == ("", "simulator", None, [])
    assert meta_of(fields(certificate={"void": ["late", 3]}), "here").void == ["late", "3"]
    taken: list[dict[str, Any]] = [
        {"seed": 2**64 - 1}, {"repeat": 2**32 - 1}, {"events": 0}, {"sim_s": 0}, {"ground": "simulator"},
        {"certificate": None}, {"algorithms": {}},
    ]  # fmt: skip
    for good in taken:
        assert meta_of(fields(**good), "here")


OF_OTHER_KINDS: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(("version", "engine", "build", "label"), (3, None)),
    **dict.fromkeys(("seed", "events", "packets"), (-1, 2**64, True, 1.0, "1")),
    "repeat": (-1, 2**32, True),
    **dict.fromkeys(("sim_s", "cpu_s", "wall_s"), (-0.5, math.inf, True, "1", None)),
    "content_hash": ("a" * 63, "a" * 65, "A" * 64, "g" * 64, 3),
    "algorithms": ([], {"a": 1}, None), "settings": ([], None), "ground": ("windows",), "certificate": ([],),
}  # fmt: skip


@pytest.mark.parametrize("field", OF_OTHER_KINDS)
def test_a_field_of_another_kind_is_damage(field: str) -> None:
    for wrong in OF_OTHER_KINDS[field]:
        with pytest.raises(ResultError, match=rf"^here: damaged, `{field}` cannot be "):
            meta_of(fields(**{field: wrong}), "here")


def test_fields_that_are_missing_or_unknown_are_named() -> None:
    for field in set(fields()) - {"build", "ground", "certificate"}:
        with pytest.raises(ResultError, match=rf"^here: damaged, no `{field}`"):
            meta_of({name: value for name, value in fields().items() if name != field}, "here")
    with pytest.raises(ResultError, match=r"^here: unknown `a`, written by another version \(Dumbbell 1\)"):
        meta_of(fields(b=1, a=2), "here")
    no_objects: tuple[object, ...] = ([], None, "text")
    for wrong in no_objects:
        with pytest.raises(ResultError, match=r"^here: damaged, not a JSON object"):
            meta_of(wrong, "here")
    with pytest.raises(ResultError) as error:
        meta_of(fields(label=["x" * 100]), "here")
    assert error.value.problem == 'here: damaged, `label` cannot be ["' + "x" * 38


def test_points_are_rows_of_a_table_and_back() -> None:
    metas = [meta_of(fields(settings={"path.loss": "1%", "cc": {"name": "bbr", "a": 1}}), "a"),
             meta_of(fields(certificate=None, repeat=1, settings={"n": None, "t": True, "seed": 4}), "b")]  # fmt: skip
    frame = points_of(metas)
    assert frame.columns[:6] == ["point", "repeat", "seed", "content_hash", "path.loss", "cc"]
    assert frame.columns[6:9] == ["n", "t", "label"]
    assert frame.select("point", "repeat", "path.loss", "cc", "n", "t").rows() == [
        (0, 0, "1%", "bbr a=1", None, None), (1, 1, None, None, None, "true"),
    ]  # fmt: skip
    points = Points(frame)
    assert list(points) == metas == points[:] and points == metas
    assert (len(points), points[1], points[-2], points[1:]) == (2, metas[1], metas[0], metas[1:])
    assert points != metas[:1] and points != [metas[0], metas[0]] and points != 3
    assert repr(points) == repr(metas)
    with pytest.raises(IndexError):
        points[2]
    assert values(points, "seed") == values(metas, "seed") == [3, 3]
    assert points_of(points) is frame
    many = Points(points_of([meta_of(fields(repeat=number), "a") for number in range(1030)]))
    assert [meta.repeat for meta in many] == list(range(1030))


def test_settings_are_words() -> None:
    for setting, text in (
        (None, None), ("1%", "1%"), (3, "3"), (True, "true"), ([1, "a"], '[1, "a"]'), ({"name": "cubic"}, "cubic"),
        ({"hystart": False, "name": "cubic", "beta": 0.5}, "cubic hystart=false beta=0.5"), ({"a": None}, "a=None"),
    ):  # fmt: skip
        assert setting_text(setting) == text
    assert setting_name("flows[0].cc") == "cc" and setting_name("seed") == "seed"
    assert without_infinities({"a": [1.5, math.inf, (math.nan, "x")], "b": None, "c": 3}) == {
        "a": [1.5, None, [None, "x"]], "b": None, "c": 3,
    }  # fmt: skip


def marked(folder: Path, **changes: Any) -> Path:
    known = {"kind": "result", "format": 1, "version": "9", "files": {"a": None, "b": "00000000"}}
    (folder / "dumbbell.json").write_text(json.dumps(known | changes))
    return folder


def test_a_marker_says_what_is_in_a_folder(tmp_path: Path) -> None:
    assert read_marker(tmp_path) is None
    read = read_marker(marked(tmp_path))
    assert read is not None
    assert (read.kind, read.files) == ("result", {"a": None, "b": "00000000"})
    for kind, newest in (("sweep", 2), ("result", 1)):
        assert read_marker(marked(tmp_path, kind=kind, format=newest)) is not None
        with pytest.raises(
            NewerError, match=rf"newer Dumbbell \(9, format {newest + 1}\).*reads formats up to {newest}"
        ):
            read_marker(marked(tmp_path, kind=kind, format=newest + 1))
        assert json.loads(Marker(kind, {"b": None, "a": "1"}).content())["format"] == newest
    content = json.loads(Marker("result", {"b": None, "a": "1"}).content())
    assert list(content["files"].items()) == [("a", "1"), ("b", None)] and content["kind"] == "result"


ELSEWHERE: tuple[object, ...] = (
    ["a"],
    *({name: None} for name in ("", ".", "..", "a/b", "a\\b", "a\0", "dumbbell.json")),
)
OF_NO_MARKER: dict[str, tuple[str, tuple[object, ...]]] = {
    "format": ("`format` is not a number", (0, -1, True, "1", None, 1.0)),
    "kind": ("`kind` is not a text", (None, 3)),
    "files": ("`files` does not hold names of files in this directory", ELSEWHERE),
}


@pytest.mark.parametrize("field", OF_NO_MARKER)
def test_a_marker_of_other_types_is_damaged(field: str, tmp_path: Path) -> None:
    said, values_of_it = OF_NO_MARKER[field]
    for wrong in values_of_it:
        with pytest.raises(ResultError, match=rf"dumbbell\.json: damaged, {said}\n  help: if .* is a result, remove"):
            read_marker(marked(tmp_path, **{field: wrong}))
    no_texts: tuple[object, ...] = (3, [])
    for checksum_of_it in no_texts:
        with pytest.raises(ResultError, match="`files` holds a checksum that is not a text"):
            read_marker(marked(tmp_path, files={"a": checksum_of_it}))


def test_a_file_that_is_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="x: missing"):
        read_file(tmp_path / "x")
    with pytest.raises(ResultError, match="not a file"):
        read_file(tmp_path)
    (tmp_path / "x").write_text("[1]")
    assert read_file(tmp_path / "x") == b"[1]"
    with pytest.raises(ResultError, match="x: damaged, not a JSON object"):
        read_json(tmp_path / "x")
    (tmp_path / "x").write_bytes(b"\xff")
    with pytest.raises(ResultError, match="x: damaged, not JSON"):
        read_json(tmp_path / "x")
    assert checksum(b"123456789") == "cbf43926"
    assert checksum(b"") == "00000000"
