"""Damaged results: the message says which file, what is wrong and what to do; a sweep repairs its points."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import commits, results


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


def test_an_unfinished_sweep_says_how_to_finish_it(dumbbell: Cli, sweep: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    running = iter(db.sweep(sweep, out=out))
    next(running)
    running.close()  # type: ignore[attr-defined]
    done = dumbbell("plot", out)
    assert done.status == 2
    assert "not finished" in done.err and "help: run the experiment again" in done.err
