"""``tests/fidelity/further.py``: further runs of a collection's experiments count beside its own."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import mean, median

import polars as pl
import pytest
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parents[1] / "fidelity"))

import fidelity
import further

COLUMNS = (
    "case", "seed", "flow", "cc", "goodput_mbps", "mean_rtt_ms", "p95_rtt_ms", "retransmits_total", "lost_total",
    "network_drops_total",
)  # fmt: skip


@pytest.fixture
def truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection of one experiment, which its kernel ran once with a goodput that none of ours has."""
    monkeypatch.setattr(further, "RECORDINGS", tmp_path)
    folder = tmp_path / "linux-6.12-bbr3"
    folder.mkdir()
    experiment = {
        "duration": "3s",
        "warmup": "1s",
        "path": {"rate": "5mbit", "rtt": "20ms", "buffer": "1bdp", "loss": "1%"},
        "flows": [{"cc": "bbr3"}],
    }
    (folder / "cases.json").write_text(json.dumps({"lossy": experiment}))
    row = ("lossy", 1, 0, "bbr3", 100.0, 20.0, 20.0, 1, None, 1)
    pl.DataFrame([row], schema=list(COLUMNS), orient="row").write_csv(folder / "flows.csv")
    return folder


def judged(truth: Path) -> fidelity.Comparison:
    (one,) = fidelity.compare_experiments(truth, argparse.Namespace(case=None, seeds=2))
    return one


def test_further_runs_have_the_seeds_that_come_next_and_the_columns_of_the_collection(truth: Path) -> None:
    for seeds in ([1, 2, 3], [1, 2, 3, 4, 5]):
        assert further.record(truth, None, 2, "simulator", Console(quiet=True)) == 0
        rows = further.recorded(truth)
        assert rows.columns == list(COLUMNS)
        assert rows["seed"].to_list() == seeds
        assert set(rows["cc"]) == {"bbr3"}
    assert all(goodput < 5.0 for goodput in further.recorded(truth)["goodput_mbps"][1:])


def test_means_of_many_runs_count_and_the_median_of_few(truth: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(truth).goodput_mbps_kernel == 100.0
    further.record(truth, ["lossy"], 2, "simulator", Console(quiet=True))
    goodputs = further.recorded(truth)["goodput_mbps"].to_list()
    assert judged(truth).goodput_mbps_kernel == pytest.approx(median(goodputs))
    monkeypatch.setattr(fidelity, "MANY", 3)
    assert judged(truth).goodput_mbps_kernel == pytest.approx(mean(goodputs))


def test_a_kernel_calls_v3_by_the_name_of_its_module(truth: Path) -> None:
    experiment = {"flows": [{"cc": "bbr3"}, {"cc": "cubic"}]}
    assert [flow["cc"] for flow in further.on_the_kernel(experiment, truth)["flows"]] == ["bbr", "cubic"]
    assert experiment["flows"][0]["cc"] == "bbr3"


def test_another_kernel_is_refused(truth: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(further, "VERSION", tmp_path / "version")
    assert "has no BBR v3" in str(further.refusal(truth, ["lossy"]))
    (tmp_path / "version").write_text("3\n")
    assert further.refusal(truth, ["lossy"]) is None
    assert "no case other" in str(further.refusal(truth, ["other"]))
    assert "no experiments" in str(further.refusal(tmp_path / "nowhere", []))
