"""``tests/fidelity/acks.py``: histories of a sender on two grounds, and where they part."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import dumbbell
from dumbbell import experiment

sys.path.insert(0, str(Path(__file__).parents[1] / "fidelity"))

import acks
from acks import State
from differ import Kernel
from own import with_hz


def state(acked: float, cwnd: float = 10.0, inflight: float = 10.0, sacked: float = 0.0) -> State:
    return State(0.1 * acked, acked, sacked, cwnd, None, inflight, 0.0, "open", 40.0, None)


def test_startups_have_one_flow_and_a_sample_several_times_a_packet() -> None:
    for seed in range(1, 100):
        one = acks.startup(seed, 500)
        (point,) = experiment.load(with_hz(one, 250)).points
        (flow,) = one["flows"]
        assert "start_jitter" not in flow, point
        interval_us = int(one["record"]["interval"].removesuffix("us"))
        packet_us = 12_000 / acks.link_mbps(one)
        assert interval_us == pytest.approx(packet_us / 4, abs=1) or interval_us in {20, 500}


def test_a_history_has_one_state_for_each_ack_as_it_was_when_the_next_one_came() -> None:
    one = acks.sampled({"duration": "1s", "path": {"rate": "2mbit", "rtt": "20ms"}, "flows": [{"cc": "reno"}]})
    run = dumbbell.run(one)
    states = acks.history(run, 500)
    series = run.series.to_polars()
    assert [at.place for at in states] == sorted(set(zip(series["acked_total"], series["sacked"], strict=True)))
    tenth = series.filter(series["acked_total"] == 10)
    assert next(at for at in states if at.acked == 10) == State(*tenth.select(acks.COLUMNS).rows()[-1])
    assert len(acks.history(run, 7)) == 8


def test_the_simulator_agrees_with_itself_where_it_begins_at_the_same_place(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, 250, "6.18")
    one = acks.startup(4, 60)
    theirs = acks.simulated(one, 60, kernel, 500)
    verdict, ours = acks.judged(one, 60, kernel, theirs)
    assert verdict == acks.Verdict(len(theirs))
    assert acks.compared(ours, theirs) == verdict


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ([state(1), state(2), state(3), state(7)], acks.Verdict(4)),
        ([state(1), state(2, inflight=7.0), state(3), state(7)], acks.Verdict(4)),
        ([state(1), state(2, inflight=6.0), state(3), state(7)], acks.Verdict(1, (1.0, 0.0), parts=True)),
        ([state(1), state(2), state(3, cwnd=11.0), state(7)], acks.Verdict(2, (2.0, 0.0), parts=True)),
        ([state(1), state(3), state(7)], acks.Verdict(3)),
        ([state(1)], acks.Verdict(1)),
        ([state(1), state(2), state(3), state(6, sacked=1.0)], acks.Verdict(3)),
    ],
    ids=["equal", "between two packets", "in flight", "cwnd", "two as one", "at most three alone", "the last one"],
)
def test_histories_agree_up_to_the_first_other_decision(ours: list[State], verdict: acks.Verdict) -> None:
    assert acks.compared(ours, [state(1), state(2), state(3), state(7)]) == verdict


def test_more_than_three_acks_that_one_ground_alone_has_part_them() -> None:
    theirs = [state(float(number)) for number in range(1, 9)]
    assert acks.compared([*theirs[:2], *theirs[6:]], theirs) == acks.Verdict(2, (2.0, 0.0), parts=True)
    assert acks.compared([*theirs[:2], *theirs[5:]], theirs) == acks.Verdict(5)


def test_what_is_shown_lies_around_the_place_where_they_part() -> None:
    states = [state(float(number)) for number in range(1, 20)]
    assert acks.around(states, (9.0, 0.0)) == states[5:12]
    assert acks.around(states, None) == states[:3]
    lines = list(acks.table({"kernel": states[:1]}))
    assert lines[0].split()[:3] == ["t_s", "acked", "sacked"]
    assert lines[1].split() == ["kernel", "0.1", "1", "0", "10", "10", "0", "open", "40"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('duration = "1s"\npath = { rate = "1mbit", rtt = "9ms" }\n', "one flow is compared, and it has 0"),
        ('path = { rate = "loop.trace", rtt = "9ms" }\nflows = [{ cc = "reno" }]\n', "samples are spaced by a rate"),
        ('flows = [{ cc = "reno" }]\n', "path.rate is None"),
    ],
)
def test_a_file_that_cannot_be_sampled_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "one.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit, match=words):
        acks.of_file(file)
