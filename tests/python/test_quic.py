"""The QUIC library noq as a transport, in virtual time and, where the machine allows it, on sockets."""

from pathlib import Path
from typing import Any

import pytest

import dumbbell as db
from conftest import Cli
from load import measured
from test_linux import run

PATH = {"rate": "10mbit", "rtt": "40ms", "buffer": "1bdp"}
SCENARIO: dict[str, Any] = {
    "duration": "5s",
    "warmup": "1s",
    "path": PATH,
    "flows": [{"cc": "bbr", "transport": "noq"}, {"cc": "cubic"}],
}


def flows(result: db.Result) -> list[dict[str, Any]]:
    return result.flows.rows()


def test_a_result_keeps_all_that_makes_it(tmp_path: Path, dumbbell: Cli) -> None:
    document = {**SCENARIO, "transport": {"library": {"idle_timeout": "12s"}, "profile": "noq"}}
    first = db.run(document)
    first.save(tmp_path / "first")
    again = db.run(tmp_path / "first" / "scenario.toml")
    assert again.meta.content_hash == first.meta.content_hash
    assert flows(again) == flows(first)
    assert "library.idle_timeout = 12s" in dumbbell("explain", tmp_path / "first" / "scenario.toml").out


def test_it_is_listed_and_in_the_schema(dumbbell: Cli) -> None:
    names = {row["name"] for row in db.algorithms().rows()}
    assert {"noq:cubic", "noq:new-reno", "noq:bbr3"} <= names
    schema = dumbbell("schema").out
    assert '"noq"' in schema and "idle_timeout" in schema


def test_a_class_of_ones_own_governs_it() -> None:
    class Fixed:
        def on_ack(self, conn: db.Conn, ack: db.Ack) -> None:
            conn.cwnd = 20

    [flow] = flows(db.run({**SCENARIO, "flows": [{"cc": Fixed, "transport": "noq"}]}))
    window_mbps = 20 * 1452 * 8 / flow["mean_rtt_ms"] / 1000
    assert flow["throughput_mbps"] == pytest.approx(window_mbps, rel=0.03)


@pytest.mark.parametrize(
    ("transport", "told"),
    [
        ({"profile": "noq", "ecn": True}, "transport.ecn"),
        ({"profile": "quic"}, "`transport` is not TCP"),
    ],
)
def test_what_sockets_cannot_do_is_refused(transport: Any, told: str) -> None:
    with pytest.raises(db.RunError, match=told):
        run({**SCENARIO, "flows": [{"cc": "bbr", "transport": transport}]})


@pytest.mark.real_time
def test_sockets_do_what_virtual_time_does() -> None:
    def begun(offset_ms: int) -> list[dict[str, Any]]:
        bbr, cubic = SCENARIO["flows"]
        return flows(db.run({**SCENARIO, "flows": [bbr, {**cubic, "start": f"{offset_ms}ms"}]}))

    # Who gets how much hangs on milliseconds, in virtual time too.
    expected = [begun(offset_ms) for offset_ms in (0, 3, 7, 13, 20, 31, 50, 80)]

    def holds(seen: list[dict[str, Any]]) -> None:
        for index, one in enumerate(seen):
            rates = [flow[index]["throughput_mbps"] for flow in expected]
            assert 0.8 * min(rates) <= one["throughput_mbps"] <= 1.2 * max(rates)
            assert one["mean_rtt_ms"] == pytest.approx(expected[0][index]["mean_rtt_ms"], rel=0.1)
        assert sum(flow["throughput_mbps"] for flow in seen) == pytest.approx(10, rel=0.02)
        assert seen[0]["algorithm"] == expected[0][0]["algorithm"]
        assert seen[0]["rto_count"] is None and seen[0]["lost"] is not None

    measured(lambda: flows(run(SCENARIO)), holds)


@pytest.mark.real_time
def test_a_transfer_on_sockets_ends_when_all_is_acknowledged() -> None:
    flow = {"cc": "noq:cubic", "transport": "noq", "bytes": "2MB", "start": "500ms"}
    scenario = {**SCENARIO, "flows": [flow]}
    [expected] = flows(db.run(scenario))

    def holds(seen: dict[str, Any]) -> None:
        assert seen["delivered_bytes_total"] == 2_000_000
        assert seen["completion_s"] == pytest.approx(expected["completion_s"], rel=0.1)

    measured(lambda: flows(run(scenario))[0], holds)


@pytest.mark.real_time
def test_a_connection_that_hears_nothing_ends_the_run_with_the_reason() -> None:
    dead = {**PATH, "rate": [["0s", "10mbit"], ["1s", "0bit"]]}
    transport = {"profile": "noq", "library": {"idle_timeout": "1s"}}
    scenario = {**SCENARIO, "path": dead, "flows": [{"cc": "reno", "transport": transport}]}
    with pytest.raises(db.RunError, match=r"nothing was heard of the other end for 1s; .*idle_timeout"):
        db.run(scenario)
    with pytest.raises(db.RunError, match=r"nothing was heard of the other end for 1s; .*idle_timeout"):
        run(scenario)
