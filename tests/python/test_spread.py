"""Repetitions: whether they differ, what is said when they do not, and what makes them differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dumbbell as db
from conftest import EXPERIMENT, Cli
from dumbbell import spread
from dumbbell.metrics import mean_interval

KNIFE_EDGE = Path(__file__).parents[2] / "examples" / "knife-edge.toml"
CUBICS = ["compare", "cubic", "reno", "--together", "--duration", "5s", "--repeat", "4"]


def test_repetitions_without_chance_have_no_interval_and_a_hint(dumbbell: Cli) -> None:
    done = dumbbell(*CUBICS)
    assert done.status == 0
    assert "\N{PLUS-MINUS SIGN}" not in done.out
    assert "interval" not in done.out
    assert "note: all 4 seeds gave the same result" in done.err
    for hint in ("--vary-rtt", "start_jitter", "loss"):
        assert hint in done.err


def test_the_hint_is_not_part_of_the_json(dumbbell: Cli) -> None:
    done = dumbbell(*CUBICS, "--json")
    assert len(json.loads(done.out)["points"]) == 4
    assert done.err.startswith("note: ")
    assert dumbbell(*CUBICS, "--quiet").err == ""


@pytest.mark.parametrize("varied", [["--vary-rtt"], ["--set", "flows[*].start_jitter=100ms"], ["--loss", "1%"]])
def test_what_the_hint_names_varies_results(dumbbell: Cli, varied: list[str]) -> None:
    done = dumbbell(*CUBICS, *varied)
    assert "mean of 4 with 95 % interval" in done.out
    assert "\N{PLUS-MINUS SIGN}" in done.out
    assert done.err == ""


def test_only_settings_without_spread_are_named(dumbbell: Cli) -> None:
    done = dumbbell("compare", "cubic", "--loss", "0%,1%", "--duration", "5s", "--repeat", "3")
    assert "at loss 0%:" in done.err
    assert "1%" not in done.err.splitlines()[0]


def test_a_single_repetition_is_not_blamed(dumbbell: Cli, experiment: Path) -> None:
    assert dumbbell("run", experiment).err == ""
    sweep = db.sweep(experiment, set={"sweep": {"path.buffer": ["1bdp", "2bdp"]}}).collect()
    assert spread.alike(sweep) == ([], 0)


def test_a_hundred_microseconds_decide_who_wins_on_a_knife_edge() -> None:
    def goodputs(rtt: str) -> list[float]:
        result = db.run(KNIFE_EDGE, set={"flows[0].rtt": rtt})
        return result.flows.to_polars()["goodput_mbps"].to_list()

    first, second = goodputs("20ms")
    assert first > 3 * second
    first, second = goodputs("20.1ms")
    assert first == pytest.approx(second, rel=0.1)


def test_varied_round_trips_show_the_range_of_a_knife_edge() -> None:
    sweep = db.sweep(KNIFE_EDGE, set={"vary_rtt": "1packet"}, repeat=10).collect()
    flows = sweep.flows.to_polars()
    short = flows.filter(flows["label"] == "20 ms")["goodput_mbps"]
    assert short.min() < 9 < 11 < short.max()  # type: ignore[operator]
    assert spread.alike(sweep)[0] == []


def test_varied_round_trips_follow_the_seed() -> None:
    document = {"duration": "2s", "path": {"rate": "10mbit", "rtt": "40ms"}, "flows": [{"cc": "cubic"}]}
    rtts = [
        db.run(document, set={"vary_rtt": "1packet"}, seed=seed).flows.rows()[0]["base_rtt_ms"] for seed in (1, 1, 2)
    ]
    assert rtts[0] == rtts[1] != rtts[2]
    assert all(40 <= rtt < 41.2 for rtt in rtts)
    assert EXPERIMENT.count("vary_rtt") == 0
    assert db.run(document).flows.rows()[0]["base_rtt_ms"] == 40


def test_equal_samples_have_no_width() -> None:
    interval = mean_interval([0.1 + 0.2] * 10)
    assert interval is not None
    assert not interval.has_width
    wide = mean_interval([1.0, 1.1])
    assert wide is not None
    assert wide.has_width
