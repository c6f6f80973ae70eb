"""Probes, calls and web pages: their tables, files and pictures."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell.results import load_result, load_sweep

EXPERIMENT = {
    "duration": "20s",
    "warmup": "2s",
    "path": {"rate": "10mbit", "rtt": "40ms", "buffer": "1bdp", "loss": "0.5%"},
    "flows": [
        {"cc": "cubic"},
        {"transport": "real-time", "label": "call"},
        {"transport": "probe", "label": "ping"},
        {"transport": "udp", "rate": "500kbit"},
    ],
    "traffic": [{"kind": "web-pages", "label": "web", "cc": "cubic", "users": 10, "think": "2s"}],
}


@pytest.fixture(scope="module")
def result() -> db.Result:
    return db.run(EXPERIMENT)


def test_each_flow_of_datagrams_has_a_row_with_what_it_measures(result: db.Result) -> None:
    call, ping, udp = result.datagrams.rows()
    assert [row["kind"] for row in (call, ping, udp)] == ["real-time", "probe", "udp"]
    assert [row["flow"] for row in (call, ping, udp)] == [1, 2, 3]
    assert 500 < call["frames"] < 541 and call["lost_frames"] > 0 and call["p50_frame_ms"] > 20
    assert ping["frames"] is None and ping["p99_frame_ms"] is None
    assert 89 <= ping["sent"] <= 91 and ping["min_rtt_ms"] > 40
    assert udp["p50_rtt_ms"] is None and udp["p50_one_way_ms"] > 20
    assert all(0 <= row["loss"] < 0.05 for row in (call, ping, udp))
    assert call["rate_mbps"] == pytest.approx(result.flows.rows()[1]["goodput_mbps"], rel=0.05)


def test_pages_have_rows_and_their_quantiles_stand_with_their_source(result: db.Result) -> None:
    pages = result.pages.to_polars()
    loaded = pages.filter((pl.col("measured") == 1) & pl.col("plt_s").is_not_null())
    (source,) = result.traffic.rows()
    assert source["pages"] == loaded.height > 20
    assert source["p95_plt_s"] == pytest.approx(loaded["plt_s"].quantile(0.95, "linear"), rel=0.05)
    assert len(result.completions) >= pages.height + pages["objects"].sum() - 600


def test_what_is_saved_is_what_is_read(result: db.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    again = load_result(tmp_path / "run")
    assert again.pages.to_polars().equals(result.pages.to_polars())
    assert again.datagrams.rows() == result.datagrams.rows()
    db.run({"duration": "1s", "path": {"rate": "1mbit", "rtt": "20ms"}, "flows": [{"cc": "reno"}]}).save(
        tmp_path / "run"
    )
    assert not (tmp_path / "run" / "pages.parquet").exists()
    assert len(load_result(tmp_path / "run").datagrams) == 0


def test_a_sweep_joins_the_rows_of_datagrams(tmp_path: Path) -> None:
    settings = {"duration": "5s", "sweep": {"path.queue": ["droptail", "fq_codel"]}, "path.buffer": "500packets"}
    sweep = db.sweep(EXPERIMENT, set=settings, out=tmp_path / "sweep", progress=False).collect()
    rows = load_sweep(tmp_path / "sweep").datagrams.to_polars()
    assert rows.equals(sweep.datagrams.to_polars())
    assert rows["path.queue"].to_list() == ["droptail"] * 3 + ["fq_codel"] * 3


def test_the_command_prints_and_draws_them(dumbbell: Cli, tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text(
        'duration = "10s"\npath = { rate = "20mbit", rtt = "20ms" }\nflows = [{ transport = "probe" }]\n'
        'traffic = [{ kind = "web-pages", cc = "cubic", think = "200ms" }]\n'
    )
    done = dumbbell("run", file, "--plot", "--out", tmp_path / "out")
    assert done.status == 0 and "p95 load" in done.out and "p95 one way" in done.out
    assert (tmp_path / "out" / "pages.png").stat().st_size > 10_000
    printed = json.loads(dumbbell("run", file, "--json").out)
    assert printed["datagrams"][0]["kind"] == "probe" and printed["traffic"][0]["pages"] > 5


def test_the_call_of_the_example_is_better_off_in_a_fair_queue() -> None:
    runs = list(db.sweep("examples/call.toml", progress=False))
    p95 = {run.meta.settings["path.queue"]: run.datagrams.rows()[0]["p95_frame_ms"] for run in runs}
    assert p95["fq_codel"] < 60 < p95["droptail"] and p95["cake"] < 60
