"""``dumbbell watch``: a saved file is run and drawn again."""

from __future__ import annotations

import math
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

from conftest import Cli
from dumbbell import sparks
from load import PATIENCE_S, wait_until

EXPERIMENT = """\
duration = "2s"
path = { rate = "5mbit", rtt = "20ms" }

[[flows]]
cc = { python = "mine.py:Mine" }
"""
MINE = """\
class Mine:
    def on_ack(self, conn, ack):
        conn.cwnd = 17
"""


class Watching:
    """A command that watches, and what it has said so far."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process = process
        self._log = log

    def said(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def wait_for(self, text: str, times: int = 1) -> None:
        wait_until(lambda: self.said().count(text) >= times)


@contextmanager
def watching(folder: Path, *options: str) -> Iterator[Watching]:
    (folder / "a.toml").write_text(EXPERIMENT, encoding="utf-8")
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    log = folder / "log"
    command = [sys.executable, "-m", "dumbbell", "watch", str(folder / "a.toml"), *options]
    with log.open("w") as file, subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield Watching(process, log)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 130
        finally:
            process.kill()


def test_a_saved_algorithm_is_run_and_drawn_again(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    with watching(tmp_path, "-o", str(picture)) as watched:
        watched.wait_for("is drawn")
        assert "window, packets; full height is 17" in watched.said()
        before = picture.read_bytes()
        (tmp_path / "mine.py").write_text(MINE.replace("17", "31"), encoding="utf-8")
        watched.wait_for("is drawn", 2)
        assert "window, packets; full height is 31" in watched.said()
        assert picture.read_bytes() != before


def test_a_mistake_is_shown_and_mended(tmp_path: Path) -> None:
    with watching(tmp_path) as watched:
        watched.wait_for("is watched")
        (tmp_path / "mine.py").write_text(MINE + "    def on_los(self): pass\n", encoding="utf-8")
        watched.wait_for("did you mean `on_loss`?")
        (tmp_path / "mine.py").write_text(MINE.replace("17", "1 / 0"), encoding="utf-8")
        watched.wait_for("ZeroDivisionError")
        (tmp_path / "a.toml").write_text(EXPERIMENT.replace("5mbit", "5mbps"), encoding="utf-8")
        watched.wait_for("(path.rate)")
        (tmp_path / "a.toml").write_text(EXPERIMENT, encoding="utf-8")
        (tmp_path / "mine.py").write_text(MINE.replace("17", "23"), encoding="utf-8")
        watched.wait_for("full height is 23")


def test_a_run_that_does_not_end_is_left_for_the_next(tmp_path: Path) -> None:
    with watching(tmp_path) as watched:
        watched.wait_for("is watched")
        (tmp_path / "mine.py").write_text(MINE.replace("17", "17\n        while True: pass"), encoding="utf-8")
        # Nothing says that it is under way, so it is given the next state a moment later.
        (tmp_path / "mine.py").write_text(MINE.replace("17", "29"), encoding="utf-8")
        watched.wait_for("full height is 29")


def test_a_terminal_is_cleared_and_drawn_as_wide_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(EXPERIMENT, encoding="utf-8")
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "dumbbell", "watch", str(tmp_path / "a.toml")]
    with subprocess.Popen(command, stdout=theirs, env=os.environ | {"COLUMNS": "70"}) as process:
        os.close(theirs)
        said = b""
        try:
            while b"Ctrl-C ends it" not in said:
                said += os.read(ours, 4096)
        finally:
            process.kill()
            os.close(ours)
    text = said.decode()
    assert text.startswith("\x1b[H\x1b[2J")
    drawn = [line for line in text.splitlines() if "█" in line]
    assert drawn
    assert all(len(line) <= 70 for line in drawn)


def test_what_cannot_be_watched_is_refused(tmp_path: Path, dumbbell: Cli) -> None:
    assert "there is no such file" in dumbbell("watch", tmp_path / "no.toml").err
    (tmp_path / "a.toml").write_text(EXPERIMENT, encoding="utf-8")
    assert "NAME.png" in dumbbell("watch", tmp_path / "a.toml", "-o", "x.jpg").err


def pictured(
    series: list[dict[str, float | None]], queues: list[dict[str, float | None]] | None = None, width: int = 60,
    links: list[tuple[str, float | None]] | None = None, sim_s: float = 10.0, flows: int = 1,
) -> list[str]:  # fmt: skip
    def of(rows: list[Any]) -> Any:
        return SimpleNamespace(rows=lambda: rows, to_polars=lambda: pl.DataFrame(rows, infer_schema_length=None))

    empty = {"received_mbps": None, "cwnd": None, "rtt_ms": None}
    result: Any = SimpleNamespace(
        flows=of([{"label": f"flow{number}"} for number in range(flows)]),
        links=of([{"name": name, "utilization": used} for name, used in links or [("slow", 0.5)]]),
        series=of([{"flow": 0} | empty | row for row in series]),
        link_series=of(queues or []),
        meta=SimpleNamespace(sim_s=sim_s),
    )
    return list(sparks.lines(result, width))


def test_a_line_has_a_character_a_span_as_high_as_its_mean() -> None:
    rows: list[dict[str, float | None]] = [
        {"t_s": at, "cwnd": value}
        for at, value in ((0.1, 8.0), (0.2, 4.0), (1.0, 1.0), (2.0, 0.0), (9.9, 7.9), (10.0, 8.1))
    ]
    head, line = pictured(rows, width=30)
    assert head == "window, packets; full height is 8"
    # Ten spans of a second: means of 6, 1 and 0, nothing, and 8 in the last, to which the end belongs.
    assert line == "  flow0 ▇▂▁      █ 8"
    assert pictured(rows, width=45)[1].startswith("  flow0 ▇"), "16 characters, of 0.625 s"
    assert len(pictured(rows, width=45)[1]) == len("  flow0  8") + 16
    assert pictured([{"t_s": 1.0, "cwnd": 0.0}], width=30) == [
        "window, packets; full height is 0",
        "  flow0  ▁         0",
    ]


def test_what_is_no_number_is_not_drawn_and_every_column_has_its_unit() -> None:
    rows: list[dict[str, float | None]] = [
        {"t_s": 0.5, "received_mbps": 2.0, "rtt_ms": None}, {"t_s": 1.5, "received_mbps": math.inf, "rtt_ms": 40.0},
    ]  # fmt: skip
    queues: list[dict[str, float | None]] = [
        {"link": 0, "t_s": 0.5, "queue_bytes": 3000.0}, {"link": 1, "t_s": 0.5, "queue_bytes": 9000.0},
    ]  # fmt: skip
    assert pictured(rows, queues, 30, [("slow", 0.5), ("unused", None)]) == [
        "received, Mbit/s; full height is 2", "  flow0 █          2", "RTT, ms; full height is 40",
        "  flow0  █         40", "queue, kB; full height is 3", "  slow █          3",
    ]  # fmt: skip
    assert pictured([], []) == []


def test_twelve_flows_are_drawn() -> None:
    rows: list[dict[str, float | None]] = [{"flow": flow, "t_s": 0.5, "cwnd": 1.0} for flow in range(14)]
    lines = pictured(rows, flows=14)
    assert len(lines) == 13
    assert lines[-1].startswith("  flow11")
    # Names are as wide as the widest.
    assert lines[1].startswith("  flow0   █")


def test_a_flow_without_a_number_has_an_empty_line() -> None:
    lines = pictured([{"t_s": 0.5, "cwnd": 8.0}], width=30, flows=2)
    assert lines == ["window, packets; full height is 8", "  flow0 █          8", "  flow1            nan"]
