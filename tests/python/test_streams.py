"""Applications with several streams: their columns, and what is printed of them."""

from __future__ import annotations

from pathlib import Path

import dumbbell as db
from conftest import Cli

EXAMPLE = Path(__file__).parents[2] / "examples/streams.toml"
EXPERIMENT = {
    "duration": "20s",
    "warmup": "2s",
    "path": {"rate": "20mbit", "rtt": "60ms", "loss": "1%"},
    "flows": [
        {"cc": "bbr", "label": "many", "transport": "quic", "streams": {"count": 8, "size": "100kB"}},
        {"cc": "bbr", "label": "none"},
    ],
}
COLUMNS = ("messages", "mean_message_ms", "p95_message_ms", "mean_hol_ms", "p99_hol_ms", "hol_share")


def test_messages_are_in_the_table_of_flows_and_null_without_streams() -> None:
    many, none = db.run(EXPERIMENT).flows.rows()
    assert many["messages"] > 20 and 0 < many["hol_share"] < 1
    assert 0 < many["mean_hol_ms"] < many["p99_hol_ms"] < many["mean_message_ms"] < many["p95_message_ms"]
    assert all(none[name] is None for name in COLUMNS)


def test_the_example_shows_that_data_waits_longer_over_one_stream(dumbbell: Cli) -> None:
    waits = {row["transport"]: row["mean_hol_ms"] for row in db.sweep(EXAMPLE).collect().flows.rows()}
    assert waits["tcp"] > 3 * waits["quic"] > 0
    printed = dumbbell("run", EXAMPLE, "--set", "duration=12s")
    assert printed.status == 0 and "Streams" in printed.out and "mean HoL" in printed.out


def test_a_run_prints_its_streams_and_one_without_says_nothing_of_them(dumbbell: Cli, tmp_path: Path) -> None:
    def printed(streams: str) -> str:
        path = tmp_path / "run.toml"
        flow = f'{{ cc = "cubic", transport = "quic"{streams} }}'
        path.write_text(f'duration = "5s"\npath = {{ rate = "9mbit", rtt = "60ms" }}\nflows = [{flow}]\n', "utf-8")
        outcome = dumbbell("run", path)
        assert outcome.status == 0
        return outcome.out

    assert "mean message" in printed(", streams = { count = 4 }")
    assert "message" not in printed("")
