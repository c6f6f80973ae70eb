"""``dumbbell why``: planted causes are named first, and the run without them proves it."""

from __future__ import annotations

import json
import math
import re
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import dumbbell as db
import snapshots
from conftest import Cli
from dumbbell import why
from dumbbell.columns import columns
from dumbbell.inference import Interval, mean_interval
from dumbbell.plots import limits as band
from dumbbell.report import number
from dumbbell.tables import Table
from dumbbell.why import causes, limits, trial, words
from dumbbell.why.marks import early_marks
from dumbbell.why.setup import Setup, Subject
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


def test_where_no_transfer_began_in_the_measured_interval_it_says_so(dumbbell: Cli, tmp_path: Path) -> None:
    early = {"kind": "list", "label": "early", "cc": "cubic", "flows": [["0s", "50kB"]]}
    document = {"duration": "2s", "warmup": "1s", "path": PATH, "traffic": [early], "flows": []}
    folder = db.run(document).save(tmp_path / "run")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (answer,) = why.answers(db.load_result(folder), repeat=2, progress=False)
        told = words.sentence(answer)
    assert not answer.is_measured
    assert told.startswith("No transfer of early began in the measured interval")
    assert "To change first: warmup" in told
    printed = dumbbell("why", folder, "--repeat", "1")
    assert (printed.status, "pair of runs" in printed.out) == (0, False)
    (entry,) = json.loads(dumbbell("why", folder, "--repeat", "1", "--json").out)["answers"]
    assert (entry["now"], entry["causes"]) == (None, [])
    page = dumbbell("report", folder)
    assert (page.status, "Warning" in page.err) == (0, False)
    assert "No transfer of early began" in (folder / "report.md").read_text(encoding="utf-8")


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


# What causes read, on networks by hand.

TRANSPORT = {
    "protocol": "tcp", "receive_window": "100kB", "send_buffer": "unlimited", "completion": "immediate",
    "limit_output_bytes": "1MB", "pacing": "auto", "initial_cwnd": 10, "mss": 1000, "rto_min": "200ms",
    "ack_every": 2,
}  # fmt: skip
LINK_ROW = {
    "utilization": 0.5, "capacity_mbps": 10.0, "throughput_mbps": 9.0, "drops_policed_total": 0, "drops_full_total": 0,
    "drops_aqm_total": 0, "drops_total": 0, "arrivals_total": 100, "losses_total": 0, "marks_total": 0,
}  # fmt: skip
FLOW_ROW = {
    "label": "a", "completion_s": None, "start_s": 0.0, "base_rtt_ms": 40.0, "goodput_mbps": 5.0, "rto_count_total": 0,
    "spurious_losses_total": 0, "lost_total": 0,
}  # fmt: skip


def by_hand(
    *flows: dict[str, Any],
    links: dict[str, dict[str, Any]] | None = None,
    rows: dict[str, dict[str, Any]] | None = None,
    traffic: list[dict[str, Any]] | None = None,
    series: pl.DataFrame | None = None,
    link_series: pl.DataFrame | None = None,
    completions: pl.DataFrame | None = None,
    datagrams: tuple[int, ...] = (),
    sim_s: float = 10.0,
    **experiment_: Any,
) -> Setup:
    """A run with these blocks of flows, links and rows; keys of ``transport`` and of rows are changed, not replaced."""
    blocks, flow_rows = [], []
    for place, given in enumerate(flows or ({},)):
        changed = {key: value for key, value in given.items() if key not in ("transport", "row")}
        route = {"route": ["up"], "reverse_route": ["down"]}
        blocks.append({"label": "a"} | route | changed | {"transport": TRANSPORT | given.get("transport", {})})
        flow_rows.append(FLOW_ROW | {"flow": place, "label": changed.get("label", "a")} | given.get("row", {}))
    names = list({"up": {}, "down": {}} | (links or {}))
    of_links = [{"name": name, "rate": "10mbit", "delay": "20ms"} | (links or {}).get(name, {}) for name in names]
    link_rows = [
        LINK_ROW | {"name": name, "link": place} | (rows or {}).get(name, {}) for place, name in enumerate(names)
    ]
    sources = traffic or []
    result = SimpleNamespace(
        flows=Table(pl.DataFrame(flow_rows, infer_schema_length=None)),
        links=Table(pl.DataFrame(link_rows, infer_schema_length=None)),
        traffic=Table(pl.DataFrame([{"label": one["label"]} for one in sources])),
        datagrams=Table(pl.DataFrame([{"flow": flow} for flow in datagrams])),
        series=Table(pl.DataFrame() if series is None else series),
        link_series=Table(pl.DataFrame() if link_series is None else link_series),
        completions=Table(pl.DataFrame() if completions is None else completions),
        meta=SimpleNamespace(sim_s=sim_s),
    )
    setup = Setup(result)  # type: ignore[arg-type]
    setup.__dict__["experiment"] = {"flows": blocks, "links": of_links, "traffic": sources} | experiment_
    return setup


def found(kind: str, setup: Setup) -> list[tuple[str, str, dict[str, str]]]:
    """What one kind of cause finds of the first subject."""
    given = getattr(causes, f"_{kind}")(setup, setup.subjects[0])
    return [(cause.name, cause.shown, dict(cause.settings)) for cause in given]


def samples(**columns_: list[Any]) -> pl.DataFrame:
    count = len(next(iter(columns_.values())))
    return pl.DataFrame({"flow": [0] * count, "t_s": [float(at) for at in range(count)]} | columns_, strict=False)


def test_causes_at_the_controller_are_read_from_its_parameters() -> None:
    hystart = {"cc": {"name": "cubic", "hystart": True, "hystart_delay": False, "other": True}}
    name = "HyStart, which ends slow start early"
    assert found("hystart", by_hand(hystart)) == [(name, "HyStart is on", {"flows[0].cc.hystart": "false"})]
    assert found("hystart", by_hand({"cc": "cubic"})) == found("hystart", by_hand({})) == []
    for thresholds, lost, shown in (
        (
            [None, math.nan, 25.4, 9.0],
            [0, 0, 0, 5],
            "HyStart is on: slow start ended at a window of 25 packets, before any loss",
        ),
        ([None, 25.0], [0, 3], "HyStart is on"),
        ([None, None], [0, 3], "HyStart is on"),
    ):
        series = samples(ssthresh=thresholds, lost_total=lost)
        assert found("hystart", by_hand(hystart, series=series))[0][1] == shown
    dwell = {"cc": {"name": "bbr", "probe_rtt_dwell": "200ms"}}
    name = "PROBE_RTT, in which the window is held down"
    off = {"flows[0].cc.probe_rtt_dwell": "0s"}
    assert found("probe_rtt", by_hand(dwell)) == [(name, "200ms each", off)]
    series = samples(mode=["Probe_RTT", "probe_bw", "probe_bw", "probe_bw"])
    assert found("probe_rtt", by_hand(dwell, series=series)) == [(name, "200ms each, 25 % of the time", off)]
    assert found("probe_rtt", by_hand({"cc": {"probe_rtt_dwell": "0ms"}})) == []
    bound = [{"cc": {"max_window": 30, "max_cwnd": 0}}, {"cc": {"max_window": 20}}]
    assert found("bound_of_window", by_hand(*bound)) == [
        (
            "the upper bound of the congestion window", "the algorithm's window ends at 0 or 20 or 30 packets",
            {"flows[0].cc.max_window": "100000", "flows[1].cc.max_window": "100000"},
        )
    ]  # fmt: skip
    assert found("bound_of_window", by_hand({"cc": {"max_window": 0}})) == []


def test_causes_at_the_ends_are_read_from_their_settings() -> None:
    reader = "the receiving application, which reads slowly and so closes the receive window"
    changing = {"read_rate": {"on": "1s"}}
    assert found("slow_reader", by_hand({"read_rate": "1mbit"}, {}, changing)) == [
        (
            reader,
            "it reads 1mbit or a rate that changes",
            {"flows[0].read_rate": "100mbit", "flows[2].read_rate": "100mbit"},
        )
    ]
    idle = by_hand({"read_rate": "1mbit"}, rows={"up": {"capacity_mbps": None}})
    assert found("slow_reader", idle)[0][2] == {"flows[0].read_rate": "1mbit"}
    windows = {"receive_window": "1GiB", "receive_autotuning": "false", "window_scale": "14"}
    own = {f"flows[0].transport.{key}": value for key, value in windows.items()}
    assert found("receive_window", by_hand({})) == [("the receive window", "100kB", own)]
    series = samples(cwnd=[200, 200, 200, 100, 100, None], inflight=[75, 74, None, 94, 95, 80])
    assert found("receive_window", by_hand({}, series=series))[0][1] == "100kB, full in 33 % of samples"
    assert found("receive_window", by_hand({}, series=samples(cwnd=[200], inflight=[74])))[0][1] == "100kB"
    unknown = by_hand({"transport": {"receive_window": "9packets"}}, series=series)
    assert found("receive_window", unknown)[0][1] == "9packets"
    quic = by_hand({"transport": {"protocol": "quic"}})
    assert found("receive_window", quic)[0][0] == "flow control: what the receiver allows in flight"
    both = by_hand({"transport": {"protocol": "quic"}}, {})
    assert found("receive_window", both)[0][0] == "the receive window"
    assert found("receive_window", by_hand({"transport": {"protocol": "udp"}})) == []
    assert found("send_buffer", by_hand({})) == []
    buffers = by_hand({"transport": {"send_buffer": "8kB"}}, {}, {"transport": {"send_buffer": "9kB"}})
    settings = {f"flows[{number}].transport.send_buffer": "unlimited" for number in range(3)}
    assert found("send_buffer", buffers) == [("the send buffer", "8kB or 9kB", settings)]
    assert found("device_queue", by_hand({})) == []
    assert found("device_queue", by_hand({}, {"transport": {"completion": "wire"}})) == [
        (
            "TCP small queues, which end what waits in the sender's own device", "1MB",
            {f"flows[{number}].transport.limit_output_bytes": "1GiB" for number in range(2)},
        )
    ]  # fmt: skip
    offers = by_hand({"rate": "1mbit"}, {"app": {"rate": "2mbit"}}, {})
    assert found("application", offers) == [
        (
            "its application, which offers no more", "it offers 1mbit or 2mbit",
            {"flows[0].rate": "100mbit", "flows[1].app.rate": "100mbit"},
        )
    ]  # fmt: skip
    assert found("application", by_hand({})) == []
    writes = {"app": {"rate": "1mbit", "write": "100B"}}
    nagle = (
        "Nagle's algorithm, beside delayed ACKs",
        "its application writes 100B",
        {"flows[0].transport.nodelay": "true"},
    )
    assert found("nagle", by_hand(writes)) == [nagle]
    assert found("nagle", by_hand(writes | {"transport": {"nodelay": True}})) == found("nagle", by_hand({})) == []


def test_timeouts_and_idle_times_hold_back_where_they_come() -> None:
    name, key = "retransmission timeouts", "flows[0].transport.rto_min"
    shown = "7 expired, each after 200 ms (rto_min) and more on a path of 40 ms"
    expired = {"row": {"rto_count_total": 7}}
    assert found("timeouts", by_hand(expired)) == [(name, shown, {key: "80ms"})]
    assert found("timeouts", by_hand({})) == []
    near = {"row": {"rto_count_total": 7, "base_rtt_ms": 0.2}}
    assert found("timeouts", by_hand(near))[0][2] == {key: "1ms"}
    assert found("timeouts", by_hand({"row": {"rto_count_total": 7, "base_rtt_ms": 100.0}})) == []
    assert found("timeouts", by_hand({"row": {"rto_count_total": 7, "base_rtt_ms": 99.0}}))[0][2] == {key: "198ms"}
    assert found("timeouts", by_hand(expired | {"transport": {"protocol": "quic"}})) == []
    both = by_hand(expired, {"row": {"rto_count_total": 2, "base_rtt_ms": 50.0}})
    assert found("timeouts", both)[0][1].startswith(
        "9 expired, each after 200 ms (rto_min) and more on a path of 50 ms"
    )
    after = {"transport": {"slow_start_after_idle": True}}
    own = {"flows[0].transport.slow_start_after_idle": "false"}
    idle = [("slow start after idle times", "the window is halved for every RTO of silence", own)]
    assert found("idle", by_hand(after | {"rate": "1mbit"})) == found("idle", by_hand(after | {"app": {}})) == idle
    assert found("idle", by_hand(after)) == found("idle", by_hand({"rate": "1mbit"})) == []
    some = by_hand(after | {"rate": "1mbit"}, {"rate": "1mbit"})
    assert found("idle", some) == []


def test_causes_in_the_network_are_read_from_its_links() -> None:
    policer = {"policer": {"rate": "8mbit", "burst": "30kB"}}
    dropped = {"up": {"drops_policed_total": 1234, "throughput_mbps": 6.0}}
    shown = "up polices to 8mbit with a bucket of 30kB and dropped 1,234 packets; what passes is 75 % of that rate"
    rate = ("the rate of the policer", shown, {"links[0].policer.rate": "100tbit"})
    small = ("the policer, whose bucket is smaller than a round trip's data", shown, {"links[0].policer.burst": "40ms"})
    assert found("policer", by_hand(links={"up": policer}, rows=dropped)) == [small, rate]
    large = {"policer": {"rate": "8mbit", "burst": "40kB"}}
    assert [one[0] for one in found("policer", by_hand(links={"up": large}, rows=dropped))] == [rate[0]]
    silent = found("policer", by_hand(links={"up": policer}, rows={"up": {"throughput_mbps": 0.0}}))
    assert silent[0][1].endswith("dropped 0 packets")
    assert found("policer", by_hand()) == []
    assert causes._bucket_ms({"rate": "8mbit", "burst": "25ms"}) == 25
    assert causes._bucket_ms({"rate": "8mbit", "burst": "2packets"}) == 3
    assert causes._bucket_ms({"rate": "unlimited", "burst": "2packets"}) == 0
    marks = {"queue": {"kind": "threshold", "threshold": "2ms"}}
    marked = {"up": {"marks_total": 1500}}
    assert found("marks", by_hand(links={"up": marks}, rows=marked)) == [
        (
            "marks of ECN below a packet time", "up marks above 2 ms and a packet takes 1.2 ms: 1,500 marks",
            {"links[0].queue.threshold": "2packets"},
        )
    ]  # fmt: skip
    later = {"queue": {"kind": "threshold", "threshold": "2400us"}}
    assert found("marks", by_hand(links={"up": later}, rows=marked)) == []
    dual = {"queue": {"kind": "dualpi2", "step": "1ms"}}
    assert found("marks", by_hand(links={"up": dual}, rows=marked))[0][2] == {"links[0].queue.min_step_queue": "2"}
    acted = {"up": {"drops_aqm_total": 1000, "marks_total": 500}}
    codel = {"queue": {"kind": "codel", "target": "5ms", "interval": "100ms"}}
    lenient = {"links[0].queue.target": "100ms", "links[0].queue.interval": "1s"}
    assert found("queue_discipline", by_hand(links={"up": codel}, rows=acted)) == [
        ("codel of up, which drops or marks what would fit", "1,500 drops and marks above a target of 5 ms", lenient)
    ]
    assert found("queue_discipline", by_hand(links={"up": codel})) == []
    assert found("queue_discipline", by_hand(rows=acted)) == []
    red = {"queue": {"kind": "red"}}
    assert found("queue_discipline", by_hand(links={"up": red}, rows=acted)) == [
        ("red of up, which drops or marks what would fit", "1,500 drops and marks", {"links[0].queue": "droptail"})
    ]
    cake = {"queue": {"kind": "cake", "target": "5ms"}}
    assert found("queue_discipline", by_hand(links={"up": cake}, rows=acted))[0][2] == {"links[0].queue.rtt": "2s"}
    pie = {"queue": {"kind": "pie", "target": "5ms"}}
    assert found("queue_discipline", by_hand(links={"up": pie}, rows=acted))[0][2] == {"links[0].queue.target": "100ms"}
    packets = {"queue": {"kind": "x", "target": "5packets"}}
    assert found("queue_discipline", by_hand(links={"up": packets}, rows=acted))[0][2] == {"links[0].queue": "droptail"}
    for every, name in (("6ms", "the target of codel at up, which is below a burst"), ("5ms", "codel of up, which")):
        bundle = {"name": "radio", "aggregate": {"every": every, "timeout": "1ms"}}
        route = {"route": ["radio", "up"]}
        setup = by_hand(route, links={"up": codel, "radio": bundle}, rows=acted)
        (burst,) = found("queue_discipline", setup)
        assert burst[0].startswith(name)
        assert burst[1].endswith("; packets come 6 ms' worth at a time") is (every == "6ms")
    radio = {"aggregate": {"timeout": "7ms"}}
    late = by_hand({"route": ["radio", "up"]}, links={"up": codel, "radio": radio}, rows=acted)
    assert found("queue_discipline", late)[0][1].endswith("; packets come 7 ms' worth at a time")
    behind = by_hand(
        {"route": ["up", "radio"]}, links={"up": codel, "radio": {"aggregate": {"every": "9ms"}}}, rows=acted
    )
    assert found("queue_discipline", behind)[0][0].startswith("codel of up")


def test_bursts_and_pacing_are_suspected_where_a_queue_was_full() -> None:
    full = {"up": {"drops_full_total": 1000, "drops_policed_total": 200}}
    on, off = ({"flows[0].transport.pacing": value} for value in ("on", "off"))
    burst = (
        "bursts, which pacing would take apart",
        "1,200 packets found no room; with pacing they come one by one",
        on,
    )
    paced = ("pacing, beside bursts that take the room", "1,200 packets found no room", off)
    assert found("bursts", by_hand(rows=full)) == [burst, paced]
    assert found("bursts", by_hand({"transport": {"pacing": "off"}}, rows=full)) == [burst]
    assert found("bursts", by_hand({"transport": {"pacing": "on"}}, rows=full)) == [paced]
    assert found("bursts", by_hand({"transport": {"pacing": "on"}}, {"transport": {"pacing": "off"}}, rows=full)) == []
    assert found("bursts", by_hand()) == []
    assert found("bursts", by_hand({"transport": {"protocol": "udp"}}, rows=full)) == []


def test_reordering_the_way_back_and_losses_are_suspected_where_they_are() -> None:
    reordering = {
        "jitter": {"amount": "3ms", "reorders": True}, "reorder": {"probability": "5%"}, "late": {"probability": "1%"},
    }  # fmt: skip
    own = {"links[0].jitter.reorders": "false", "links[0].reorder.probability": "0%", "links[0].late.probability": "0%"}
    name = "reordering, which looks like loss"
    assert found("reordering", by_hand(links={"up": reordering})) == [(name, "packets overtake each other", own)]
    counted = {"row": {"lost_total": 2000, "spurious_losses_total": 1500}}
    shown = "1,500 of 2,000 packets declared lost had arrived"
    assert found("reordering", by_hand(counted, links={"up": reordering}))[0][1] == shown
    for nothing in (
        {"jitter": {"amount": "3ms", "reorders": False}}, {"jitter": {"amount": "0ms", "reorders": True}},
        {"reorder": {"probability": "0%"}}, {"late": {"probability": "0%"}}, {},
    ):  # fmt: skip
        assert found("reordering", by_hand(links={"up": nothing})) == []
    back = {
        f"links[1].{key}": value
        for key, value in (("rate", "unlimited"), ("buffer", "unlimited"), ("queue", "droptail"))
    }
    name = "the way back, which ACKs fill"
    assert found("way_back", by_hand()) == [(name, "down is used by 50 %", back)]
    dropped = {"down": {"utilization": 0.1, "drops_total": 1000, "arrivals_total": 2000}}
    assert found("way_back", by_hand(rows=dropped))[0][1] == "down is used by 10 % and dropped 1,000 of 2,000 packets"
    unknown = {"down": {"utilization": None, "drops_total": 1}}
    assert found("way_back", by_hand(rows=unknown))[0][1] == "down and dropped 1 of 100 packets"
    assert found("way_back", by_hand(rows={"down": {"utilization": 0.49}})) == []
    for block in ({"rate": "unlimited"}, {"wifi": {"x": 1}}):
        assert found("way_back", by_hand(links={"down": block})) == []
    several = by_hand({"reverse_route": ["down", "far", "next"]}, links={"far": {}, "next": {}})
    assert found("way_back", several)[0][1] == "down is used by 50 %, and 2 more links"
    assert len(found("way_back", several)[0][2]) == 9
    lost = {"up": {"losses_total": 1234}}
    corrupt = {"corrupt": {"probability": "1%"}}
    loss = ("random loss", "1,234 packets were lost at random", {"links[0].loss": "0%"})
    assert found("random_loss", by_hand(rows=lost)) == [loss]
    assert found("random_loss", by_hand(links={"up": corrupt}, rows=lost))[0][2] == loss[2] | {
        "links[0].corrupt.probability": "0%"
    }
    assert found("random_loss", by_hand()) == found("random_loss", by_hand(links={"up": {"wifi": {}}})) == []
    assert found("random_loss", by_hand(links={"up": {"wifi": {"a": 1}}}, rows=lost)) == []
    two = by_hand({"route": ["up", "far"]}, links={"far": {}}, rows=lost | {"far": {"losses_total": 6}})
    assert found("random_loss", two)[0][1:] == (
        "1,240 packets were lost at random",
        {"links[0].loss": "0%", "links[2].loss": "0%"},
    )


def test_a_buffer_is_small_below_nine_tenths_of_the_product() -> None:
    full = {"up": {"drops_full_total": 1000}}
    # 10 Mbit/s times 40 ms are 50 kB.
    assert found("small_buffer", by_hand(links={"up": {"buffer": "25kB"}}, rows=full)) == [
        ("a small buffer", "up holds 0.5 BDP and dropped 1,000 packets", {"links[0].buffer": "1bdp"})
    ]
    assert found("small_buffer", by_hand(links={"up": {"buffer": "29packets"}}, rows=full))[0][1].startswith(
        "up holds 0.87 BDP"
    )
    for block, row in (
        ({"buffer": "45kB"}, full), ({"buffer": "25kB"}, {}), ({"buffer": "unlimited"}, full), ({}, full),
        ({"buffer": "25kB", "wifi": {"a": 1}}, full),
        ({"buffer": "25kB"}, {"up": full["up"] | {"capacity_mbps": None}}),
    ):  # fmt: skip
        assert found("small_buffer", by_hand(links={"up": block}, rows=row)) == []


def test_limits_bundles_and_jitter_are_suspected_where_they_are() -> None:
    assert found("limit", by_hand(links={"up": {"limit": 500}})) == [
        ("the most packets that may be on the link", "limit is 500", {"links[0].limit": "10000000"})
    ]
    bundle = {"aggregate": {"every": "5ms", "packets": 8}}
    own = {"links[1].aggregate": '{ timeout = "1us", packets = 1 }'}
    assert found("bundles", by_hand(links={"down": bundle})) == [
        ("bundles of packets", "down releases packets in bundles (every 5ms, packets 8)", own)
    ]
    jitter = {name: {"jitter": {"amount": amount}} for name, amount in (("up", "3ms"), ("down", "1ms"))}
    assert found("jitter", by_hand(links=jitter)) == [
        ("jitter", "delays vary by 1ms or 3ms", {"links[0].jitter.amount": "0s", "links[1].jitter.amount": "0s"})
    ]
    assert found("jitter", by_hand(links={"up": {"jitter": {"amount": "0ms"}}})) == []
    assert found("limit", by_hand()) == found("bundles", by_hand()) == found("jitter", by_hand()) == []
    few = samples(inflight=[None, 0, 2, 4, 6])
    assert found("delayed_acks", by_hand(series=few)) == [
        (
            "delayed ACKs, for which a small window waits",
            "an ACK waits for 2 packets or its timer, and 4 are in flight in the median",
            {"flows[0].transport.ack_every": "1"},
        )
    ]
    assert found("delayed_acks", by_hand(series=samples(inflight=[5]))) == []
    assert found("delayed_acks", by_hand({"transport": {"ack_every": 1}}, series=samples(inflight=[1]))) == []
    assert len(found("delayed_acks", by_hand({}, {"transport": {"ack_every": 4}}, series=samples(inflight=[8])))) == 1
    assert found("delayed_acks", by_hand(series=samples(inflight=[0, None]))) == found("delayed_acks", by_hand()) == []


def test_what_every_network_has_is_suspected_last() -> None:
    links: dict[str, dict[str, Any]] = {"far": {"rate": "20mbit"}, "wild": {"rate": {"trace": [1]}}}
    setup = by_hand(
        {"route": ["up", "far", "wild"]}, links=links, rows={"far": {"utilization": 0.25}, "wild": {"utilization": 0.9}}
    )
    capacity = ("the capacity of up", "10 Mbit/s, which is used by 50 %", {"links[0].rate": "20mbit"})
    assert found("capacity", setup) == [capacity]
    unknown = by_hand(rows={"up": {"utilization": None}})
    assert found("capacity", unknown) == [("the capacity of up", "10 Mbit/s", {"links[0].rate": "20mbit"})]
    assert found("capacity", by_hand({"route": ["wild"]}, links=links)) == []
    udp = {"transport": {"protocol": "udp"}}
    others: list[dict[str, Any]] = [
        {"label": "b"},
        {"label": "b"},
        {"label": "c", "route": ["far"]},
        {"label": "d"} | udp,
        {"label": "e", "route": [["far"], ["up"]]},
    ]
    company = by_hand({"label": "a"}, *others, links={"far": {}})
    assert found("company", company) == [
        ("the company of other flows", "3 of b or e", {f"flows[{number}].bytes": "1B" for number in (1, 2, 5)})
    ]
    assert found("company", by_hand({}, {})) == []
    start = by_hand({"bytes": "1MB"}, {"bytes": "1MB", "transport": {"initial_cwnd": 4}})
    assert found("start", start) == [
        (
            "its start",
            "its first window is 10 or 4 packets",
            {f"flows[{number}].transport.initial_cwnd": "100" for number in (0, 1)},
        )
    ]
    assert found("start", by_hand({"bytes": "1MB"}, {})) == found("start", by_hand({"bytes": "1B"} | udp)) == []
    found_ = causes.causes(by_hand({"bytes": "1MB"}, {"label": "b"}), Subject("a", "flows", (0,)))
    assert [cause.name for cause in found_] == [
        "the receive window", "the way back, which ACKs fill", "the capacity of up",
        "the company of other flows", "its start",
    ]  # fmt: skip
    assert [cause.is_natural for cause in found_] == [False, False, True, True, True]


@pytest.mark.parametrize(
    ("rate", "longest_s", "without"),
    [
        ({"trace": [100, 200, 300, 500, 700, 800]}, 0.2, "0.12mbit"),
        ({"trace": [10, 20, 30, 1030, 1040]}, 1.0, "1.2mbit"),
        ({"trace": [1, 2, 201]}, None, None),
        ({"trace": [300, 600]}, None, None),
        ({"steps": [["0ms", "10mbit"], ["1000ms", "0mbit"], ["3500ms", "5mbit"]], "repeat": "5000ms"}, 2.5,
         '{ steps = [["0ms", "10mbit"], ["1000ms", "10mbit"], ["3500ms", "5mbit"]], repeat = "5000ms" }'),
        ({"steps": [["0ms", "0mbit"], ["1000ms", "8mbit"], ["1500ms", "0mbit"]], "repeat": "4000ms"}, 2.5,
         '{ steps = [["0ms", "8mbit"], ["1000ms", "8mbit"], ["1500ms", "8mbit"]], repeat = "4000ms" }'),
        ({"steps": [["0ms", "10mbit"], ["1000ms", "0mbit"]]}, math.inf,
         '{ steps = [["0ms", "10mbit"], ["1000ms", "10mbit"]] }'),
        ({"steps": [["0ms", "10mbit"], ["1000ms", "5mbit"]]}, None, None),
        ({"steps": [["0ms", "0mbit"]]}, None, None),
    ],
)  # fmt: skip
def test_a_rate_without_its_outages(rate: dict[str, Any], longest_s: float | None, without: str | None) -> None:
    found_ = causes._without_outages(rate)
    assert found_ == (None if longest_s is None else (longest_s, without))
    if longest_s is not None:
        assert found("outage", by_hand(links={"up": {"rate": rate}})) == [
            ("outages of the link", f"up carries nothing for up to {number(longest_s)} s", {"links[0].rate": without})
        ]
    assert found("outage", by_hand()) == []


def test_a_setup_knows_who_fills_the_network_and_by_which_way() -> None:
    setup = by_hand(
        {"label": "a"}, {"label": "b"}, {"label": "a", "row": {"base_rtt_ms": 70.0}}, {"label": "ping"},
        traffic=[{"label": "web", "route": [["up"], ["up", "far"]], "reverse_route": ["down"]}], datagrams=(3,),
        links={"far": {"delay": "5ms"}}, warmup="1500ms", cooldown="500ms", sim_s=10.0,
    )  # fmt: skip
    a, b, web = setup.subjects
    assert (a, b, web) == (
        Subject("a", "flows", (0, 2)), Subject("b", "flows", (1,)), Subject("web", "traffic", (0,)),
    )  # fmt: skip
    assert setup.measured_s == (1.5, 9.5)
    assert by_hand(sim_s=3.0).measured_s == (0.0, 3.0)
    assert [setup.base_rtt_ms(one) for one in (a, b, web)] == [70, 40, 45]
    assert [link.name for link in setup.forward(web)] == ["up", "far"]
    assert [link.key for link in setup.back(web)] == ["links[1]"]
    assert [setup.is_finite(one) for one in (a, web)] == [False, True]
    assert by_hand({"bytes": "1B"}, {"bytes": "2B"}).is_finite(Subject("a", "flows", (0, 1)))
    assert setup.settings(a, "x.y", "1") == {"flows[0].x.y": "1", "flows[2].x.y": "1"}
    counted = by_hand({"row": {"lost_total": 3}}, {"row": {"lost_total": None}}, {"row": {"lost_total": 4}})
    assert counted.total(counted.subjects[0], "lost") == 7
    assert counted.total(counted.subjects[0], "absent") == 0
    up = setup.links[0]
    assert (up.mbps, up.packet_time_ms, up.queue) == (10.0, 1.2, ("droptail", {}))
    assert (
        by_hand(links={"up": {"rate": "unlimited"}}, rows={"up": {"capacity_mbps": None}}).links[0].packet_time_ms
        is None
    )


def test_the_use_of_a_link_is_counted_as_long_as_a_transfer_lasts() -> None:
    series = pl.DataFrame(
        {
            "link": [0] * 4 + [1] * 4,
            "t_s": [1.0, 2.0, 3.0, 4.0] * 2,
            "utilization": [1.0, 0.5, 0.0, 0.2, None, None, 0.3, 0.3],
        }
    )
    done = {"row": {"start_s": 1.0, "completion_s": 1.0}}
    setup = by_hand(done, link_series=series)
    subject = setup.subjects[0]
    assert [link.usage for link in setup.forward(subject) + setup.back(subject)] == [0.75, 0.5]
    later = by_hand(done, {"row": {"start_s": 1.0, "completion_s": 2.0}}, link_series=series)
    assert later.forward(later.subjects[0])[0].usage == 0.5
    open_ = by_hand(done, {"row": {"completion_s": None}}, link_series=series, rows={"up": {"utilization": 0.4}})
    assert open_.forward(open_.subjects[0])[0].usage == 0.4
    assert by_hand(done, rows={"up": {"utilization": None}}, link_series=series).links[0].usage is None
    assert by_hand(done).forward(Subject("a", "flows", (0,)))[0].usage == 0.5


def test_shares_are_of_the_samples_of_the_measured_time_of_each_member() -> None:
    series = pl.DataFrame(
        {
            "flow": [0] * 6 + [1] * 6, "t_s": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] * 2,
            "limited_by": ["link", "cwnd", "link", "link", "cwnd", None] + ["pacing"] * 6,
        }
    )  # fmt: skip
    setup = by_hand({}, series=series, warmup="1000ms", cooldown="4000ms", sim_s=10.0)
    assert limits.shares(setup, setup.subjects[0]) == {"link": 0.5, "cwnd": 0.5}
    ended = by_hand({"row": {"start_s": 0.5, "completion_s": 3.5}}, series=series)
    assert limits.shares(ended, ended.subjects[0]) == {"link": 0.75, "cwnd": 0.25}
    both = by_hand({"row": {"completion_s": 3.0}}, {"row": {"completion_s": 1.0}}, series=series)
    assert limits.shares(both, both.subjects[0]) == {"link": 0.5, "cwnd": 0.25, "pacing": 0.25}
    assert next(iter(limits.shares(both, both.subjects[0]))) == "link"
    assert limits.shares(setup, Subject("a", "traffic", (0,))) == {}
    assert limits.shares(by_hand(series=series.drop("limited_by")), setup.subjects[0]) == {}
    assert limits.shares(by_hand(), setup.subjects[0]) == {}


def test_shares_in_words_are_the_largest_three() -> None:
    assert limits.sentence({}) is None
    assert limits.sentence({"link": 0.009}) is None
    assert limits.sentence({"link": 0.01}) == "It is limited by a full link in 1 % of its samples."
    four = {"link": 0.4, "cwnd": 0.3, "nagle": 0.2, "pacing": 0.1}
    assert limits.sentence(four) == (
        "It is limited by a full link in 40 %, the congestion window in 30 % and Nagle's algorithm in 20 % of "
        "its samples."
    )


def effect(name: str, estimate: float, low: float = math.nan, high: float = math.inf, **more: Any) -> trial.Effect:
    gain = Interval(estimate, estimate if math.isnan(low) else low, estimate if math.isnan(low) else high, 5)
    return trial.Effect(
        causes.Cause(name, f"{name} shows", {f"{name}.key": "1"} | more.pop("settings", {}), **more), gain, 3.0
    )


def answer_of(*effects: trial.Effect, unit: str = "Mbit/s", runs: int = 5) -> trial.Answer:
    return trial.Answer(Subject("a", "flows", (0,)), unit, 2.0, effects, runs, {"link": 0.5})


@pytest.mark.parametrize(
    ("estimate", "low", "high", "shown", "is_open"),
    [
        (0.049, math.nan, 0, False, False),
        (0.05, math.nan, 0, True, False),
        (0.01, 0.001, 0.02, True, False),
        (0.0099, 0.001, 0.02, False, False),
        (0.04, -0.1, 0.2, False, False),
        (0.05, 0.0, 0.2, False, True),
        (0.9, -math.inf, math.inf, True, False),
    ],
)
def test_an_effect_is_shown_open_or_neither(
    estimate: float, low: float, high: float, shown: bool, is_open: bool
) -> None:
    one = effect("x", estimate, low, high)
    assert (one.is_shown, one.is_open) == (shown, is_open)


def test_an_answer_in_words() -> None:
    named = effect("radio", 0.25, 0.2, 0.3, settings={"b": "2", "c": "3"})
    twice = effect("barrier", 1.5, 1.0, 2.0, is_natural=True)
    alike = effect("same", 0.06)
    open_, not_ = effect("open", 0.5, -0.1, 0.9), effect("not", 0.001, -0.1, 0.1)
    whole = answer_of(twice, named, alike, open_, not_, not_)
    assert (whole.named, whole.undecided, whole.cleared) == ([twice, named, alike], [open_], [not_, not_])
    assert words.sentence(whole) == (
        "a has 2 Mbit/s. What holds it back first is barrier: without it 3 Mbit/s, 2.5 times as fast (2 to 3). It is "
        "limited by a full link in 50 % of its samples. To change first: radio.key=1 and 2 more."
    )
    assert words.sentence(answer_of(alike)).endswith("To change first: same.key=1.")
    assert "To change" not in words.sentence(answer_of(twice))
    assert words.sentence(answer_of(unit="s")).startswith("a takes 2 s; nothing of what was tried makes it faster.")
    assert words.items(whole, "it.toml").splitlines()[3:6] == [
        "  2. radio: 3 Mbit/s, 25 % faster (20 % to 30 %)", "     radio shows",
        "     dumbbell run it.toml --set radio.key=1 --set b=2 --set c=3",
    ]  # fmt: skip
    assert words.items(whole, None).splitlines()[4:] == ["  3. same: 3 Mbit/s, 6 % faster", "     same shows"]
    assert words.cleared(whole) == (
        "Undecided, because the 5 pairs differ much: open; more of them tell (--repeat). Tried, and not the cause: not."
    )
    assert words.cleared(answer_of(named)) is None
    assert [list(row) for row in words.grid(whole)._rows][2] == ["same", "same shows", "3 Mbit/s, 6 % faster"]
    assert words.intervals([answer_of(runs=2)]).startswith("means of 2 pairs of runs with the same seeds;")
    assert words.intervals([answer_of(runs=1)]).startswith("one pair of runs each")
    told = words.as_json(answer_of(effect("x", 0.9, -math.inf, math.inf), named), None)
    assert {key: told[key] for key in ("label", "unit", "now", "runs", "limited_by")} == {
        "label": "a", "unit": "Mbit/s", "now": 2.0, "runs": 5, "limited_by": {"link": 0.5},
    }  # fmt: skip
    assert told["causes"][0] == {
        "name": "x", "shown": "x shows", "is_shown": True, "is_undecided": False, "is_natural": False, "without": 3.0,
        "gain": 0.9, "gain_low": None, "gain_high": None, "set": {"x.key": "1"}, "command": None,
    }  # fmt: skip
    assert (told["causes"][1]["gain_low"], told["causes"][1]["gain_high"]) == (0.2, 0.3)


def test_of_causes_that_cost_as_much_the_first_of_the_list_is_named_first() -> None:
    def ranked(*gains: float, natural: tuple[int, ...] = ()) -> list[int]:
        effects = [effect(str(number), gain, is_natural=number in natural) for number, gain in enumerate(gains)]
        return [int(one.cause.name) for one in trial._ranked(effects)]

    assert ranked(0.75, 1.0) == [0, 1]
    assert ranked(0.74, 1.0) == [1, 0]
    assert ranked(0.2, 1.0, 0.8) == [1, 2, 0]
    assert ranked(9.0, 0.1, natural=(0,)) == [1, 0]
    assert ranked(-0.5, -0.4, -0.1) == [2, 0, 1]
    assert ranked(3.0, 4.0, 9.0, natural=(0, 1)) == [2, 0, 1]


def test_gains_are_ratios_of_pairs() -> None:
    now, without = np.array([2.0, 4.0]), np.array([4.0, 8.0])
    assert trial._log_ratios(now, without, "Mbit/s") == pytest.approx(np.log([2, 2]))
    assert trial._log_ratios(now, without, "s") == pytest.approx(np.log([0.5, 0.5]))
    gain = trial._as_gain(Interval(math.log(2), math.log(1.5), math.log(3), 7))
    assert [gain.estimate, gain.low, gain.high, gain.n] == pytest.approx([1, 0.5, 2, 7])
    cause, other, odd = (causes.Cause(name, "", {name: "1"}) for name in ("x", "y", "z"))
    setup = by_hand()
    subject = setup.subjects[0]
    measures = {
        ((), subject): [1.0, 1.0, 1.0], ((("x", "1"),), subject): [1.9, 2.0, 2.1],
        ((("y", "1"),), subject): [1.0, math.nan, 1.3], ((("z", "1"),), subject): [],
    }  # fmt: skip
    found_ = trial._answer(setup, subject, [cause, other, odd], measures, 3)
    assert [one.cause.name for one in found_.effects] == ["x", "y"]
    assert (found_.now, found_.runs, found_.unit) == (1.0, 3, "Mbit/s")
    assert [one.without for one in found_.effects] == pytest.approx([2.0, 1.15])
    expected = mean_interval(np.log([1.9, 2.0, 2.1]), 1 - 0.05 / 3)
    assert expected is not None
    assert found_.effects[0].gain.low == pytest.approx(math.expm1(expected.low))


def test_the_measure_of_a_subject_is_its_rate_or_its_time() -> None:
    rows = ({"row": {"goodput_mbps": 4.0}}, {"row": {"goodput_mbps": None}})
    setup = by_hand(*rows)
    subject = setup.subjects[0]
    assert trial._unit(setup, subject) == "Mbit/s"
    assert trial._measure(setup, subject, "Mbit/s") == 2.0
    ended = by_hand({"row": {"completion_s": 3.0}}, {"row": {"completion_s": None, "start_s": 1.0}}, sim_s=10.0)
    assert trial._unit(ended, ended.subjects[0]) == "s"
    assert trial._measure(ended, ended.subjects[0], "s") == 6.0
    assert trial._unit(by_hand({"bytes": "1B"}), Subject("a", "flows", (0,))) == "s"
    transfers = pl.DataFrame(
        {
            "source": [0, 0, 1, 0],
            "measured": [1, 1, 1, 0],
            "start_s": [0.0, 4.0, 0.0, 0.0],
            "fct_s": [2.0, None, 50.0, 9.0],
        }
    )
    web = by_hand({}, traffic=[{"label": "web"}], completions=transfers, sim_s=10.0)
    assert trial._unit(web, web.subjects[1]) == "s"
    assert trial._measure(web, web.subjects[1], "s") == 4.0
    nothing = by_hand({}, traffic=[{"label": "web"}], completions=transfers.head(0))
    assert math.isnan(trial._measure(nothing, nothing.subjects[1], "s"))


def test_the_first_four_labels_are_asked_about_or_those_that_are_named() -> None:
    setup = by_hand(*({"label": name} for name in "abcde"))
    assert [one.label for one in trial._chosen(setup, ())] == ["a", "b", "c", "d"]
    assert [one.label for one in trial._chosen(setup, ["e", "b"])] == ["e", "b"]
    with pytest.raises(ValueError, match="no flow is called x; there are a, b, c, d, e"):
        trial._chosen(setup, ["a", "x"])


def test_marks_are_early_where_a_queue_of_two_packets_has_them() -> None:
    def early(queue: dict[str, Any] | str, marks: int = 5, capacity: float | None = 10.0) -> Any:
        rows = {"up": {"marks_total": marks, "capacity_mbps": capacity}}
        return early_marks(by_hand(links={"up": {"queue": queue}}, rows=rows).links[0])

    assert early({"kind": "dualpi2", "step": "1ms"}) == (1.0, 1.2, "min_step_queue = 2")
    assert early({"kind": "dualpi2", "step": "1ms", "min_step_queue": 1}) is not None
    assert early({"kind": "dualpi2", "step": "1ms", "min_step_queue": 2}) is None
    assert early({"kind": "threshold", "threshold": "3ms"}) == (3.0, 1.2, 'threshold = "2packets"')
    assert early({"kind": "threshold", "threshold": "3packets"}) is None
    assert early({"kind": "threshold", "threshold": "3ms"}, marks=0) is None
    assert early({"kind": "threshold", "threshold": "3ms"}, capacity=None) is None
    assert early("droptail") is None
    for step, count in (("1199us", 1), ("1200us", 0)):
        queue = {"queue": {"kind": "dualpi2", "step": step}}
        setup = by_hand(links={"up": queue}, rows={"up": {"marks_total": 1}})
        assert sum(one.step_ms < one.packet_ms for one in map(early_marks, setup.links) if one) == count
