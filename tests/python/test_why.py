"""``dumbbell why``: planted causes are named first, and the run without them proves it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import dumbbell as db
import snapshots
from conftest import Cli
from dumbbell import why
from dumbbell.columns import columns
from dumbbell.plots import limits as band
from dumbbell.why import limits, words
from dumbbell.why.setup import Setup
from kept_files import flat

PATH: dict[str, Any] = {"rate": "50mbit", "rtt": "40ms"}


def experiment(path: dict[str, Any], *flows: dict[str, Any], duration: str = "20s", **top: Any) -> dict[str, Any]:
    return {"duration": duration, "path": PATH | path, "flows": list(flows), **top}


def transport(**keys: Any) -> dict[str, Any]:
    return {"transport": {"profile": "tcp", **keys}}


CUBIC: dict[str, Any] = {"cc": "cubic"}

RADIO = {"name": "radio", "from": "a", "to": "b", "rate": "200mbit", "delay": "10ms", "aggregate": {"every": "10ms"}}
HOME = {"name": "home", "from": "b", "to": "c", "rate": "50mbit", "delay": "10ms", "buffer": "1000packets"}

PLANTED: list[tuple[str, dict[str, Any], str]] = [
    (
        "ACKs on the way back",
        experiment({"reverse": {"rate": "500kbit", "buffer": "100packets"}}, {"cc": "bbr-quic", "bytes": "20MB"}
                   | {"transport": "quic"}),
        "the way back",
    ),
    (
        "reordering over TCP",
        experiment({"reorder": "5%"}, {"cc": "reno"} | transport(loss_detection="dupthresh", max_reordering=3,
                                                                  undo=False)),
        "reordering",
    ),
    (
        "reordering over QUIC",
        experiment({"jitter": {"amount": "3ms", "reorders": True}}, CUBIC | {"transport": "quic"}),
        "reordering",
    ),
    (
        "a small bucket",
        experiment({"policer": {"rate": "30mbit", "burst": "15kB"}}, CUBIC),
        "the policer, whose bucket",
    ),
    (
        "HyStart",
        experiment({"rate": "200mbit", "rtt": "100ms", "jitter": "15ms"}, CUBIC | {"bytes": "30MB"}),
        "HyStart",
    ),
    (
        "marks below a packet time",
        experiment({"rate": "8mbit", "rtt": "10ms", "buffer": "1000packets", "queue": "dualpi2"}, {"cc": "prague"},
                   CUBIC, duration="40s", warmup="10s"),
        "marks of ECN below a packet time",
    ),
    (
        "a threshold below a packet time",
        experiment({"rate": "5mbit", "queue": {"kind": "threshold", "threshold": "1ms"}}, {"cc": "dctcp"}),
        "marks of ECN below a packet time",
    ),
    ("the receive window", experiment({}, {"cc": "bbr"} | transport(receive_window="64KiB")), "the receive window"),
    (
        "flow control",
        experiment({}, CUBIC | {"transport": {"profile": "quic", "receive_window": "100kB"}, "bytes": "10MB"}),
        "flow control",
    ),
    ("a slow reader", experiment({}, CUBIC | {"read_rate": "5mbit"}), "the receiving application, which reads slowly"),
    ("the application", experiment({}, {"cc": "bbr", "rate": "3mbit"}), "its application"),
    (
        "timeouts of an incast",
        experiment({"rate": "1gbit", "rtt": "200us", "buffer": "64packets"}, {"cc": "reno", "count": 40,
                                                                               "bytes": "256kB"}, duration="5s"),
        "retransmission timeouts",
    ),
    (
        "timeouts of an incast behind a barrier",
        {"duration": "5s", "path": {"rate": "1gbit", "rtt": "200us", "buffer": "64packets"},
         "traffic": [{"kind": "incast", "cc": "cubic", "servers": 40, "total": "4MB", "access_rate": "1gbit"}]},
        "retransmission timeouts",
    ),
    ("PROBE_RTT", experiment({"buffer": "2bdp"}, {"cc": "bbr"}, duration="40s", warmup="5s"), "PROBE_RTT"),
    (
        "bursts",
        experiment({"rate": "100mbit", "rtt": "100ms", "buffer": "12packets"}, CUBIC | {"bytes": "3MB"}),
        "bursts",
    ),
    (
        "an outage of a trace",
        experiment({"rate": {"trace": [*range(1, 3000), *range(6000, 9000)]}}, CUBIC),
        "outages of the link",
    ),
    (
        "an outage in steps",
        experiment({"rate": {"steps": [["0s", "20mbit"], ["3s", "0bit"], ["5s", "20mbit"]], "repeat": "8s"}}, CUBIC),
        "outages of the link",
    ),
    (
        "a target below a burst",
        {"duration": "20s", "links": [RADIO, HOME | {"queue": {"kind": "codel", "target": "1ms", "interval": "20ms"}}],
         "flows": [CUBIC | {"from": "a", "to": "c"}]},
        "the target of codel at home, which is below a burst",
    ),
    ("random loss", experiment({"loss": "1%"}, CUBIC), "random loss"),
    (
        "pauses of the application",
        experiment({}, CUBIC | {"rate": {"steps": [["0s", "50mbit"], ["1s", "0bit"]], "repeat": "2s"}}),
        "its application",
    ),
    ("a buffer far below the BDP", experiment({"buffer": "0.05bdp"}, CUBIC), "a small buffer"),
    (
        "a delayed ACK",
        experiment({"rtt": "4ms"}, CUBIC | {"bytes": "60kB"} | transport(initial_cwnd=1, quick_acks=0,
                   delayed_ack_min="200ms"), duration="3s"),
        "delayed ACKs",
    ),
    ("pacing off", experiment({"rate": "100mbit", "rtt": "100ms", "buffer": "12packets"}, {"cc": "bbr"}
                              | transport(pacing="off")), "bursts"),
    ("a tiny send buffer", experiment({}, CUBIC | transport(send_buffer="8KiB")), "the send buffer"),
    (
        "a shallow threshold of marks",
        experiment({"queue": {"kind": "threshold", "threshold": "2packets"}}, {"cc": "dctcp"}),
        "threshold of bottleneck",
    ),
    ("nothing but the network", experiment({}, CUBIC), "the capacity of bottleneck"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "planted", "named"), PLANTED, ids=[case[0] for case in PLANTED])
def test_a_planted_cause_is_named_first_and_the_run_without_it_is_faster(
    name: str, planted: dict[str, Any], named: str
) -> None:
    result = db.run(planted)
    answer, *others = why.answers(result, progress=False)
    first = answer.named[0]
    assert first.cause.name.startswith(named)
    # What proves it is a run that anybody can repeat: the resolved experiment with some settings replaced.
    without = db.run(json.loads(db._core.toml_as_json(result.scenario_toml)), set=dict(first.cause.settings))
    label = answer.subject.label

    def goodput(one: db.Result) -> float:
        """Up to the end of a transfer where there is one."""
        rows = [row for row in [*one.flows.rows(), *one.traffic.rows()] if row["label"] == label]
        return float(sum(row.get("transfer_mbps") or row["goodput_mbps"] for row in rows))

    assert goodput(without) > 1.01 * goodput(result)
    assert first.gain.low > 0 or not first.gain.has_width
    told = [line for one in (answer, *others) for line in flat(words.as_json(one, "it.toml"))]
    snapshots.same_as_kept(
        f"why/{name.replace(' ', '-')}", [*told, words.sentence(answer), words.items(answer, "it.toml")]
    )


LIMITED: list[tuple[str, dict[str, Any], str, float]] = [
    ("receive window", experiment({}, CUBIC | transport(receive_window="64KiB")), "receive_window", 0.9),
    (
        "flow control",
        experiment({}, CUBIC | {"transport": {"profile": "quic", "receive_window": "64KiB"}}),
        "receive_window",
        0.9,
    ),
    ("application", experiment({}, {"cc": "bbr", "rate": "3mbit"}), "application", 0.9),
    (
        "application over QUIC",
        experiment({}, {"cc": "bbr", "rate": "3mbit", "transport": "quic"}),
        "application",
        0.9,
    ),
    ("send buffer", experiment({}, CUBIC | transport(send_buffer="8KiB")), "send_buffer", 0.5),
    ("window", experiment({"loss": "1%"}, CUBIC), "cwnd", 0.7),
    ("pacing", experiment({"rate": {"steps": [["0s", "10mbit"], ["3s", "100mbit"]]}}, {"cc": "bbr"}, duration="4s",
                          warmup="3s"), "pacing", 0.3),
    ("link", experiment({}, CUBIC), "link", 0.8),
    ("link under BBR", experiment({}, {"cc": "bbr"}), "link", 0.8),
    ("link over QUIC", experiment({"rate": "1mbit"}, CUBIC | {"transport": "quic"}), "link", 0.8),
    ("timeouts of outages", experiment({"rate": {"steps": [["0s", "20mbit"], ["1s", "0bit"], ["5s", "20mbit"]],
                                                 "repeat": "6s"}}, CUBIC), "timeout", 0.5),
    ("start", experiment({"rate": "1gbit", "rtt": "200ms"}, CUBIC | {"bytes": "3MB"}), "slow_start", 0.5),
    ("TCP small queues", experiment({"rate": "20mbit"}, CUBIC | transport(completion="wire",
                                    limit_output_bytes=10000), duration="5s"), "host_queue", 0.3),
]  # fmt: skip


@pytest.mark.parametrize(("document", "limit", "share"), [row[1:] for row in LIMITED], ids=[row[0] for row in LIMITED])
def test_samples_say_what_limits_a_flow(document: dict[str, Any], limit: str, share: float) -> None:
    setup = Setup(db.run(document))
    found = limits.shares(setup, setup.subjects[0])
    assert next(iter(found)) == limit, found
    assert found[limit] > share
    assert sum(found.values()) == pytest.approx(1)
    assert f"{limits.WORDS[limit]} in " in (limits.sentence(found) or "")


def test_everything_that_may_limit_a_flow_has_words_and_a_look() -> None:
    meaning = next(column.meaning for column in columns() if column.name == "limited_by")
    listed = meaning.partition(": ")[2].partition(", if")[0]
    assert set(limits.WORDS) == set(band.LOOKS) == set(re.findall(r"[a-z_]+", listed)) - {"or"}


def test_what_was_tried_and_is_no_cause_is_told(dumbbell: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert dumbbell("compare", "cubic", "--loss", "1%", "--duration", "5s", "--out", out).status == 0
    done = dumbbell("why", out)
    assert done.status == 0
    assert done.out.startswith("cubic has ")
    assert "  1. random loss: " in done.out
    assert f"dumbbell run {out}/scenario.toml --set 'links[0].loss=0%'" in done.out
    assert "Tried, and not the cause: " in done.out
    (answer,) = json.loads(dumbbell("why", out, "--json").out)["answers"]
    assert answer["causes"][0]["name"] == "random loss"
    assert answer["causes"][0]["gain_low"] > 0
    refused = dumbbell("why", out, "--flow", "bbr")
    assert (refused.status, refused.err) == (2, "error: --flow: no flow is called bbr; there are cubic\n")


def test_a_source_of_traffic_and_a_flow_beside_others_are_asked_about() -> None:
    traffic = {"kind": "request-response", "cc": "cubic", "size": "50kB", "users": 10, "think": "100ms"}
    path = {"rate": "1gbit", "rtt": "2ms", "loss": "2%"}
    slow = db.run({"duration": "5s", "path": path, "traffic": [traffic], "flows": []})
    (answer,) = why.answers(slow, progress=False)
    assert (answer.subject.kind, answer.unit) == ("traffic", "s")
    assert answer.named[0].cause.name in ("random loss", "retransmission timeouts")
    shared = db.run(experiment({}, {"cc": "cubic", "label": "mine"}, {"cc": "bbr", "count": 3, "label": "others"}))
    (mine,) = why.answers(shared, labels=["mine"], progress=False)
    assert "the company of other flows" in [effect.cause.name for effect in mine.named]


def test_a_page_names_causes_of_a_short_run_and_the_command_for_a_long_one(dumbbell: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dumbbell("compare", "cubic", "--loss", "1%", "--duration", "5s", "--out", out)
    assert dumbbell("report", out, "--format", "md").status == 0
    page = (out / "report.md").read_text()
    assert "What holds it back first is random loss" in page
    assert "links[0].loss=0%" in page


def test_what_repetitions_leave_open_is_not_called_innocent() -> None:
    beside = experiment(
        {"rate": "20mbit", "buffer": "1bdp"}, CUBIC | {"transport": "quic"},
        {"cc": {"name": "bbr3", "probe_rtt_dwell": "0ms"}, "transport": "quic"}, duration="40s", warmup="10s",
    )  # fmt: skip
    (few,) = why.answers(db.run(beside), labels=["cubic"], repeat=4, progress=False)
    company = "the company of other flows"
    assert company in [effect.cause.name for effect in few.undecided]
    assert company not in [effect.cause.name for effect in few.cleared]
    undecided = (words.cleared(few) or "").partition("Tried, and not")[0]
    assert undecided.startswith("Undecided, because the 4 pairs differ much: ")
    assert company in undecided
    (many,) = why.answers(db.run(beside), labels=["cubic"], repeat=16, progress=False)
    assert many.named[0].cause.name == company


def test_an_answer_without_a_cause_says_so() -> None:
    setup = db.run(experiment({"rate": "unlimited", "buffer": "unlimited"}, CUBIC | {"bytes": "1kB"}, duration="1s"))
    (answer,) = why.answers(setup, progress=False)
    assert answer.named == []
    assert "nothing of what was tried makes it faster" in words.sentence(answer)


def test_marks_below_a_packet_time_are_warned_of(dumbbell: Cli) -> None:
    options = ("--rate", "10mbit", "--rtt", "10ms", "--duration", "2s")
    done = dumbbell("compare", "prague", *options, "--set", "path.queue=dualpi2")
    assert "bottleneck marks above 1 ms and a packet takes 1.2 ms there" in " ".join(done.err.split())
    assert "min_step_queue = 2 leaves such a queue alone" in " ".join(done.err.split())
    for setting in ("path.rate=50mbit", "path.queue.min_step_queue=2"):
        assert (
            "marks above"
            not in dumbbell("compare", "prague", *options, "--set", "path.queue=dualpi2", "--set", setting).err
        )
