"""``tests/fidelity/differ.py``: experiments run on both grounds, ranges are compared, what differs gets smaller."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import dumbbell
from dumbbell import experiment

sys.path.insert(0, str(Path(__file__).parents[1] / "fidelity"))

import differ
from own import with_hz


def row(goodput: float, retransmits: int = 0) -> dict[str, Any]:
    return {
        "goodput_mbps": goodput,
        "srtt_ms": 50.0,
        "retransmits": retransmits,
        "acks": 1000,
        "cwnd": 9.0,
        "pacing_mbps": 10.0,
    }


def steps(one: dict[str, Any]) -> list[list[str]]:
    """The rate of a path, step by step."""
    rate = one["path"]["rate"]
    return rate if isinstance(rate, list) else [["0s", rate]]


def test_experiments_are_valid_alike_each_time_and_of_every_kind() -> None:
    drawn = [differ.drawn(seed) for seed in range(1, 301)]
    assert drawn == [differ.drawn(seed) for seed in range(1, 301)]
    for one in drawn:
        (point,) = experiment.load(with_hz(one, 250)).points
        assert 2.0 <= float(one["duration"].removesuffix("s")) <= 15.0, point
    paths = {key for one in drawn for key in one["path"]}
    assert paths == {"rate", "rtt", "buffer", "queue", "loss", "jitter", "policer", "reverse"}
    interrupted = [one for one in drawn if any(rate == "0bit" for _, rate in steps(one))]
    assert len(interrupted) == 26
    for one in interrupted:
        (_, before), (begins, _), (ends, after) = steps(one)
        assert before == after
        assert 0.3 <= float(ends.removesuffix("s")) - float(begins.removesuffix("s")) <= 1.5
        assert float(ends.removesuffix("s")) < float(one["duration"].removesuffix("s"))
    flows = [flow for one in drawn for flow in one["flows"]]
    assert {flow["cc"] for flow in flows} == set(differ.ALGORITHMS)
    transport = {key for flow in flows for key in flow.get("transport", {})}
    assert transport == {"ecn", "sack", "timestamps", "mss", "send_buffer"}
    assert {len(one["flows"]) for one in drawn} == {1, 2, 3, 4}
    assert all(flow["transport"]["ecn"] for flow in flows if flow["cc"] == "dctcp")
    # The flows of an experiment have one host, and so do those of what is made of it.
    for one in drawn:
        for least in [one, *differ.simpler(one)]:
            assert all(flow.get("transport") == least["flows"][0].get("transport") for flow in least["flows"])


def test_what_is_drawn_runs_and_is_the_same_as_a_file(tmp_path: Path) -> None:
    drawn = differ.drawn(3) | {"duration": "1s"}
    file = tmp_path / "3.toml"
    file.write_text(differ.toml(drawn))
    assert dumbbell.run(file).flows.rows() == dumbbell.run(drawn).flows.rows()
    first, second = differ.simulated(drawn, 2, differ.Kernel(tmp_path, 250, "6.12.117"))
    assert first != second


@pytest.mark.parametrize(
    ("ours", "theirs", "measure"),
    [
        ([9.0, 9.5], [9.4, 9.6], ""),
        ([9.0, 9.31], [9.4, 9.6], ""),
        ([9.0, 9.1], [9.4, 9.6], "goodput of flow 0: 9 to 9.1, the kernel's 9.4 to 9.6"),
        ([9.8, 9.9], [9.4, 9.6], "goodput of flow 0: 9.8 to 9.9, the kernel's 9.4 to 9.6"),
    ],
)
def test_ranges_lie_apart_by_more_than_the_tolerance(ours: list[float], theirs: list[float], measure: str) -> None:
    found = differ.apart([[row(one)] for one in ours], [[row(one)] for one in theirs])
    assert found == ([measure] if measure else [])


def test_of_several_flows_the_parts_of_the_link_count() -> None:
    theirs = [[row(6.0), row(4.0, 50)]]
    assert differ.apart([[row(6.9), row(3.1)]], theirs) == []
    assert [one.split(":")[0] for one in differ.apart([[row(7.5), row(2.5)]], theirs)] == [
        "goodput of flow 0", "goodput of flow 1",
    ]  # fmt: skip


def test_every_fault_changes_the_flows_that_it_is_about() -> None:
    for name, (_, cc, setting) in differ.FAULTS.items():
        drawn: dict[str, Any] = {
            "duration": "3s", "path": {"rate": "10mbit", "rtt": "40ms"},
            "flows": [{"cc": cc or "reno"}, {"cc": "vegas"}],
        }  # fmt: skip
        wrong = differ.faulty(drawn, name)
        experiment.load(wrong)
        first, second = wrong["flows"]
        assert (second == {"cc": "vegas"}) == bool(cc)
        assert setting.items() <= (first["cc"].items() if cc else first["transport"].items())
        assert drawn["flows"][0] == {"cc": cc or "reno"}, "what was drawn stays"


def test_what_differs_is_made_as_small_as_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slower(differ.Kernel):
        """A kernel that differs where packets are lost."""

        def run(self, experiments: Any, runs: int) -> Any:
            return [[[row(8.0 if "loss" in one["path"] else 9.0)]] * runs for one in experiments]

    monkeypatch.setattr(differ, "simulated", lambda one, runs, kernel, fault=None: [[row(9.0)]] * runs)
    seed = next(seed for seed in range(1, 100) if {"loss", "queue"} <= differ.drawn(seed)["path"].keys())
    kernel = Slower(Path("nowhere"), 250, "6.12.117")
    verdict = differ.judged(seed, kernel, None)
    assert verdict.kind == "differ"
    least = differ.smallest(verdict, kernel)
    assert least.experiment["path"].keys() == {"rate", "rtt", "buffer", "loss"}
    (flow,) = least.experiment["flows"]
    assert not flow.get("transport", {}).keys() - {"ecn"}
    assert float(least.experiment["duration"].removesuffix("s")) <= 1
    assert len(list(differ.simpler(least.experiment))) == 1 + (
        "ecn" in flow.get("transport", {}) and flow["cc"] != "dctcp"
    )


@pytest.mark.parametrize(
    ("late", "fault", "kind"), [(8.0, None, "tie"), (9.0, None, "differ"), (8.0, "no-probe", "differ")]
)
def test_what_a_microsecond_decides_is_a_tie(
    monkeypatch: pytest.MonkeyPatch, late: float, fault: str | None, kind: str
) -> None:
    class Slower(differ.Kernel):
        def run(self, experiments: Sequence[differ.Experiment], runs: int) -> list[list[list[differ.Row]]]:
            return [[[row(8.0)]] * runs for _ in experiments]

    monkeypatch.setattr(
        differ,
        "simulated",
        lambda one, runs, kernel, fault=None: [[row(late if one["path"].get("jitter") == "1us" else 9.0)]] * runs,
    )
    seed = next(seed for seed in range(1, 100) if "jitter" not in differ.drawn(seed)["path"])
    verdict = differ.judged(seed, Slower(Path("nowhere"), 250, "6.12.117"), fault)
    assert verdict.kind == kind
    assert "goodput" in verdict.apart[0]


def test_a_microsecond_decides_how_a_slow_start_ends() -> None:
    # Of one ACK that releases two packets the first one reaches the full queue as another one leaves.
    start: dict[str, Any] = {
        "duration": "4.9s",
        "path": {"rate": "22.13mbit", "rtt": "212.3ms", "buffer": "0.1486bdp"},
        "flows": [{"cc": "cubic", "transport": "linux-host", "start_jitter": "10ms"}],
    }
    late = {**start, "path": {**start["path"], "jitter": differ.LATENESS}}
    as_it_is, found = (
        [run.flows.to_polars()["retransmits"][0] for run in dumbbell.sweep(one, repeat=100, progress=False)]
        for one in (start, late)
    )
    assert set(as_it_is) == {81}
    assert min(found) < 85 and max(found) > 120


def test_seeds_have_both_ends() -> None:
    assert list(differ.seeds("3..5")) == [3, 4, 5]
    assert list(differ.seeds("7")) == [7]
