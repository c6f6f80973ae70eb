"""``dumbbell qlog``: time series as qlog."""

import json
from pathlib import Path
from typing import Any

import pytest

import dumbbell as db
from conftest import EXPERIMENT, Cli
from dumbbell import qlog
from dumbbell.results import load

TWO = """\
duration = "4s"
path = { rate = "10mbit", rtt = "40ms", buffer = "1bdp" }

[[flows]]
cc = "reno"
label = "a / flow"

[[flows]]
cc = "bbr"
transport = "quic"
"""


def read(path: Path) -> list[dict[str, Any]]:
    """The texts of a sequence (RFC 7464)."""
    records = path.read_text("utf-8").split("\x1e")
    assert records[0] == "" and all(record.endswith("\n") for record in records[1:])
    return [json.loads(record) for record in records[1:]]


@pytest.fixture
def result(tmp_path: Path) -> Path:
    file = tmp_path / "two.toml"
    file.write_text(TWO)
    db.run(file).save(tmp_path / "result")
    return tmp_path / "result"


def test_each_flow_has_a_file_with_what_its_samples_say(result: Path, tmp_path: Path, dumbbell: Cli) -> None:
    done = dumbbell("qlog", result, "--out", tmp_path / "q")
    assert done.status == 0
    assert sorted(path.name for path in (tmp_path / "q").glob("*.sqlog")) == ["0-a-flow.sqlog", "1-bbr.sqlog"]
    tcp, quic = (read(tmp_path / "q" / name) for name in ("0-a-flow.sqlog", "1-bbr.sqlog"))
    heads = [texts[0] for texts in (tcp, quic)]
    assert [head["trace"]["common_fields"]["protocol_type"] for head in heads] == [["TCP"], ["QUIC"]]
    assert {(head["qlog_version"], head["qlog_format"]) for head in heads} == {("0.3", "JSON-SEQ")}

    loaded = load(result)
    assert isinstance(loaded, db.Result)
    series = loaded.series.to_polars()
    for number, (texts, mss) in enumerate(((tcp, 1448), (quic, 1350))):
        state: dict[str, Any] = {}
        rows = {round(row["t_s"] * 1e3, 3): row for row in series.filter(series["flow"] == number).rows(named=True)}
        at = 0.0
        for event in texts[1:]:
            assert event["time"] >= at
            at = event["time"]
            if event["name"] == "recovery:metrics_updated":
                state.update(event["data"])
                row = rows[round(at, 3)]
                assert state["congestion_window"] == row["cwnd"] * mss
                assert state["bytes_in_flight"] == row["inflight"] * mss
                assert state.get("min_rtt") == pytest.approx(row["min_rtt_ms"])
    states = [event["data"]["new"] for event in quic if event.get("name") == "recovery:congestion_state_updated"]
    assert states[:3] == ["startup", "drain", "probe_bw"]


def test_only_what_differs_is_written() -> None:
    plain = {"min_rtt_ms": 40.0, "srtt_ms": 41.0, "rtt_ms": None, "ssthresh": None, "pacing_mbps": None}
    row = {**plain, "t_s": 0.02, "cwnd": 10.0, "inflight": 4.0, "mode": "", "ca_state": "open"}
    rows = [row, {**row, "t_s": 0.04}, {**row, "t_s": 0.06, "cwnd": 8.0, "ssthresh": 8.0, "ca_state": "recovery"}]
    events = list(qlog.events(rows, 1000))
    assert [event["time"] for event in events] == [20.0, 20.0, 60.0, 60.0]
    assert events[2]["data"] == {"congestion_window": 8000.0, "ssthresh": 8000.0}
    assert events[3]["data"] == {"old": "slow_start", "new": "recovery"}


def test_what_has_no_series_and_what_is_a_sweep_are_refused(tmp_path: Path, dumbbell: Cli) -> None:
    file = tmp_path / "none.toml"
    file.write_text(EXPERIMENT.replace("[path]", "record = { series = false }\n[path]"))
    db.run(file).save(tmp_path / "none")
    done = dumbbell("qlog", tmp_path / "none", "--out", tmp_path / "q")
    assert (done.status, "record.series" in done.err, (tmp_path / "q").exists()) == (2, True, False)
    assert dumbbell("run", file, "--repeat", "2", "--out", tmp_path / "sweep", "-q").status == 0
    done = dumbbell("qlog", tmp_path / "sweep", "--out", tmp_path / "q")
    assert (done.status, "dumbbell extract" in done.err) == (2, True)


def test_a_run_of_traffic_alone_has_no_sender_to_write_of(tmp_path: Path, dumbbell: Cli) -> None:
    traffic = {"kind": "list", "cc": "reno", "flows": [["0s", "10kB"]]}
    run = db.run({"duration": "1s", "path": {"rate": "5mbit", "rtt": "20ms"}, "traffic": [traffic]})
    place = run.save(tmp_path / "mice")
    done = dumbbell("qlog", place, "--out", tmp_path / "q")
    assert (done.status, (tmp_path / "q").exists()) == (2, False)
    said = "this run has no time series: those are of [[flows]], and this is [[traffic]] alone"
    assert done.err == f"error: {place}: {said}\n"


def sample(**changes: Any) -> dict[str, Any]:
    known = {"t_s": 0.25, "min_rtt_ms": 40.0, "srtt_ms": 41.5, "rtt_ms": 43.0, "cwnd": 10.5, "inflight": 4.0,
             "ssthresh": 20.0, "pacing_mbps": 2.5, "mode": "", "ca_state": "open"}  # fmt: skip
    return known | changes


def test_sizes_are_bytes_rates_bits_a_second_and_times_milliseconds() -> None:
    metrics, state = qlog.events([sample()], 1000)
    assert metrics == {"time": 250.0, "name": "recovery:metrics_updated", "data": {
        "min_rtt": 40.0, "smoothed_rtt": 41.5, "latest_rtt": 43.0, "congestion_window": 10500.0,
        "bytes_in_flight": 4000.0, "packets_in_flight": 4.0, "ssthresh": 20000.0, "pacing_rate": 2_500_000.0,
    }}  # fmt: skip
    assert state == {"time": 250.0, "name": "recovery:congestion_state_updated", "data": {"new": "slow_start"}}
    (unknown, _) = qlog.events([sample(srtt_ms=0.0, pacing_mbps=0.0, rtt_ms=None, min_rtt_ms=1 / 3)], 1000)
    assert not {"smoothed_rtt", "pacing_rate", "latest_rtt"} & unknown["data"].keys()
    assert unknown["data"]["min_rtt"] == 0.333333


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"mode": "PROBE_BW", "ca_state": "loss"}, "PROBE_BW"), ({"ca_state": "recovery"}, "recovery"),
        ({"ca_state": "cwr"}, "recovery"), ({"ca_state": "loss"}, "recovery"),
        ({"ca_state": "disorder"}, "slow_start"), ({"ssthresh": None}, "slow_start"),
        ({"ssthresh": 10.5}, "congestion_avoidance"), ({"ssthresh": 11}, "slow_start"), ({"mode": None}, "slow_start"),
    ],
)  # fmt: skip
def test_a_state_is_the_controllers_or_one_of_quics(changes: dict[str, Any], state: str) -> None:
    *_, last = qlog.events([sample(**changes)], 1000)
    assert last["data"] == {"new": state}


def test_a_head_says_what_the_trace_is_of(result: Path) -> None:
    loaded = load(result)
    assert isinstance(loaded, db.Result)
    for file, label, protocol in (("0-a-flow.sqlog", "a / flow", "TCP"), ("1-bbr.sqlog", "bbr", "QUIC")):
        head = json.loads(qlog.files(loaded)[file].split("\n")[0][1:])
        assert head == {
            "qlog_version": "0.3", "qlog_format": "JSON-SEQ", "title": f"{label}, {loaded.scenario_name}",
            "description": f"Dumbbell {loaded.meta.version}, content hash {loaded.meta.content_hash}, seed "
            f"{loaded.meta.seed}",
            "trace": {
                "vantage_point": {"type": "client", "name": "the sender of data"},
                "common_fields": {"protocol_type": [protocol], "time_format": "relative", "reference_time": 0},
            },
        }  # fmt: skip
