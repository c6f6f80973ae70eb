"""Flows that come and go: their tables, files and pictures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import transfers
from dumbbell.results import load_result, load_sweep

EXPERIMENT = {
    "duration": "6s",
    "warmup": "1s",
    "path": {"rate": "50mbit", "rtt": "20ms"},
    "traffic": [
        {
            "kind": "short-flows",
            "label": "web",
            "cc": "cubic",
            "load": "60%",
            "size": {"kind": "pareto", "mean": "30kB", "shape": 1.3},
        },
        {"kind": "short-flows", "cc": "bbr", "per_second": 20, "size": "200kB", "rtt": "50ms"},
    ],
}


@pytest.fixture(scope="module")
def result() -> db.Result:
    return db.run(EXPERIMENT)


def test_a_result_has_a_row_a_source_and_a_row_a_transfer(result: db.Result) -> None:
    sources = result.traffic.rows()
    assert [row["label"] for row in sources] == ["web", "short-flows"]
    table = result.completions.to_polars()
    assert table.height == sum(row["started_total"] for row in sources)
    assert table["fct_s"].drop_nulls().len() == sum(row["completed_total"] for row in sources)
    assert table["measured"].sum() == sum(row["started"] for row in sources)
    assert result.meta.algorithms == {"cubic": "cubic-linux-6.18", "bbr": "bbr1-linux-6.18"}


def test_a_class_ends_with_its_bound_and_counts_what_was_cut_short() -> None:
    rows = [
        {"source": 0, "label": "web", "bytes": size, "measured": 1, "fct_s": fct, "slowdown": fct and fct / 2}
        for size, fct in ((10_000, 1.0), (10_001, 2.0), (10_002, None), (10_003, None), (20e6, 4.0))
    ]
    found = {row["sizes"]: row for row in transfers.by_size(pl.DataFrame(rows)).to_dicts()}
    counts = {name: (row["transfers"], row["unfinished"]) for name, row in found.items()}
    assert counts == {
        transfers.ALL: (5, 2),
        "up to 10 kB": (1, 0),
        "10 to 100 kB": (3, 2),
        "above 10 MB": (1, 0),
    }
    assert found["10 to 100 kB"]["p50_fct_s"] == 2.0 and found["above 10 MB"]["p50_slowdown"] == 2.0


def test_quantiles_by_size_are_those_of_the_rows(result: db.Result) -> None:
    table = result.completions.to_polars()
    rows = transfers.by_size(table).to_dicts()
    web = table.filter((pl.col("source") == 0) & (pl.col("measured") == 1))
    assert rows[0]["sizes"] == transfers.ALL and rows[0]["transfers"] == web.height
    small = web.filter(pl.col("bytes") <= 10_000)
    row = next(row for row in rows if row["sizes"] == transfers.CLASSES[0])
    assert row["p95_fct_s"] == pytest.approx(np.quantile(small["fct_s"].drop_nulls(), 0.95))
    assert sum(row["transfers"] for row in rows if row["source"] == 0 and row["sizes"] != transfers.ALL) == web.height
    assert transfers.by_size(pl.DataFrame()).is_empty()


def test_what_is_saved_is_what_is_read(result: db.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    again = load_result(tmp_path / "run")
    assert again.completions.to_polars().equals(result.completions.to_polars())
    assert again.traffic.rows() == result.traffic.rows()
    # A result without traffic in its place leaves nothing of it.
    db.run({"duration": "1s", "path": {"rate": "1mbit", "rtt": "20ms"}, "flows": [{"cc": "reno"}]}).save(
        tmp_path / "run"
    )
    assert not (tmp_path / "run" / "completions.parquet").exists()
    assert len(load_result(tmp_path / "run").completions) == 0


def test_one_thread_and_two_give_the_same_sweep(tmp_path: Path) -> None:
    settings = {"sweep": {"traffic[0].load": ["20%", "60%"], "repeat": 2}, "traffic[1].size": "20kB"}
    sweeps = [
        db.sweep(EXPERIMENT, set=settings, jobs=jobs, out=tmp_path / str(jobs), progress=False).collect()
        for jobs in (1, 2)
    ]
    for name in ("traffic", "transfers", "flows"):
        one, two = (getattr(sweep, name).to_polars() for sweep in sweeps)
        assert one.equals(two)
    read = load_sweep(tmp_path / "2")
    assert read.transfers.to_polars().equals(sweeps[1].transfers.to_polars())
    assert len(read.traffic) == 8
    for point in sweeps[0].points:
        one, two = (sweep.load(point).completions.to_polars() for sweep in sweeps)
        assert len(one) and one.equals(two)


def test_the_command_prints_and_draws_completion_times(dumbbell: Cli, tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text(
        'duration = "4s"\npath = { rate = "50mbit", rtt = "20ms" }\n'
        'traffic = [{ kind = "short-flows", cc = "cubic", load = "50%", size = "20kB" }]\n'
    )
    done = dumbbell("run", file, "--plot", "--out", tmp_path / "out")
    assert done.status == 0 and "p99 FCT" in done.out
    assert (tmp_path / "out" / "completions.png").stat().st_size > 10_000
    printed = json.loads(dumbbell("run", file, "--json").out)
    assert printed["completions"][0]["sizes"] == "all" and printed["traffic"][0]["completed"] > 0
    swept = dumbbell("run", file, "--set", "sweep.repeat=2")
    assert swept.status == 0 and "p99 FCT" in swept.out


def test_users_ask_for_the_same_whoever_shares_the_link() -> None:
    def answers(cc: str) -> pl.DataFrame:
        users = {"kind": "request-response", "cc": "cubic", "users": 1, "think": "50ms"}
        size = {"kind": "lognormal", "mean": "50kB", "sigma": 1.0}
        document = {
            "duration": "5s",
            "path": {"rate": "20mbit", "rtt": "20ms"},
            "flows": [{"cc": cc}],
            "traffic": [users | {"size": size}],
        }
        return db.run(document).completions.to_polars()

    one, other = answers("cubic"), answers("vegas")
    shared = min(one.height, other.height)
    assert shared > 10
    assert one["bytes"][:shared].equals(other["bytes"][:shared])
    assert not one["fct_s"][:shared].equals(other["fct_s"][:shared])
    # One after the other: a user waits for the answer.
    ends = one["start_s"] + one["fct_s"]
    assert (one["start_s"][1:] >= ends[:-1]).all()


def test_an_incast_has_a_row_a_round_in_tables_files_and_pictures(dumbbell: Cli, tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text(
        'duration = "1s"\npath = { rate = "1gbit", rtt = "200us", buffer = "100packets" }\n'
        'traffic = [{ kind = "incast", cc = "dctcp", servers = 8, size = "32kB", access_rate = "1gbit" }]\n'
    )
    done = dumbbell("run", file, "--plot", "--out", tmp_path / "out")
    assert done.status == 0 and "p99 query" in done.out
    assert (tmp_path / "out" / "queries.png").stat().st_size > 10_000
    result = load_result(tmp_path / "out")
    rounds, source = result.rounds.to_polars(), result.traffic.rows()[0]
    complete = rounds["qct_s"].drop_nulls()
    assert source["rounds"] == complete.len() > 10
    assert source["mean_qct_s"] == pytest.approx(complete.mean(), rel=0.01)
    assert rounds["bytes"].unique().to_list() == [8 * 32_000]
    assert dumbbell("report", tmp_path / "out").status == 0
    assert "Query completion times" in (tmp_path / "out" / "report.html").read_text()
    swept = dumbbell("run", file, "--set", 'sweep={"traffic[0].servers"=[2, 4]}')
    assert swept.status == 0 and "p99 query" in swept.out
