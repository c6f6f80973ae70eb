"""Ctrl-C: whatever a command is doing, it ends within a second, says how to go on, and leaves nothing half written."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dumbbell import batches, results
from load import PATIENCE_S, ends_within, wait_until

WITHIN_S = 1.0
"""How much CPU time a command may take to end, and how long where nothing else is at work."""

SAYS_WHEN_BUSY = """
import sys
from dumbbell import _core, cli, parallel, tables
from dumbbell.plots import Picture

def said(original):
    def call(*arguments, **named):
        print("busy", file=sys.stderr, flush=True)
        return original(*arguments, **named)
    return call

where = sys.argv.pop(1)
if where == "simulating":
    parallel.run_point = said(parallel.run_point)
elif where == "drawing":
    Picture.encoded = said(Picture.encoded)
elif where == "loading":
    _core.load = said(_core.load)
elif where == "writing":
    # A library that writes for a minute and looks at no signal meanwhile.
    import hashlib
    tables.Table.write_parquet = said(lambda table, path: hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9))
cli.main()
"""


def interrupted(where: str, *arguments: str | Path) -> tuple[int, str]:
    """Runs a command, interrupts it once it is busy, and returns status and standard error; it ends soon."""
    command = [sys.executable, "-c", SAYS_WHEN_BUSY, where, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "busy\n"
        # It says so just before.
        time.sleep(0.05)
        _, err = ends_within(process, WITHIN_S, lambda: process.send_signal(signal.SIGINT))
        return process.returncode, err.replace("busy\n", "")


def test_a_run_ends_and_leaves_nothing_behind(experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "results" / "out"
    status, err = interrupted("simulating", "run", experiment, "--set", "duration=10h", "--out", out)
    assert status == 130
    assert err.splitlines()[0] == "interrupted"
    assert f"dumbbell run {experiment} --set duration=10h --out {out}" in err
    assert "Traceback" not in err
    assert list(out.parent.iterdir()) == []


def test_a_run_without_out_only_says_that_it_was_interrupted(experiment: Path) -> None:
    status, err = interrupted("simulating", "run", experiment, "--set", "duration=10h")
    assert (status, err) == (130, "interrupted\n")


def test_a_sweep_says_what_it_has_and_how_to_resume(sweep: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    # The last points take hours, the first two are done at once.
    sweep.write_text(
        sweep.read_text().replace('"path.loss" = ["0%", "1%"]\nrepeat = 2', 'duration = ["2s", "3s", "10h", "11h"]')
    )
    command = [sys.executable, "-m", "dumbbell", "run", str(sweep), "--jobs", "1", "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # A busy machine may commit them one by one.
    wait_until(lambda: out.is_dir() and batches.Archive(out).count() == 2)
    _, err = ends_within(process, WITHIN_S, lambda: process.send_signal(signal.SIGINT))
    assert process.returncode == 130
    assert err.splitlines()[:2] == ["interrupted", f"2 of 4 points are in {out}; to run the rest:"]
    assert f"dumbbell run {sweep} --jobs 1 --out {out}" in err
    assert {path.name for path in out.iterdir()} == {"dumbbell.json", "batches"}
    for batch in (out / "batches").iterdir():
        assert {path.name for path in batch.iterdir()} == {*batches.BATCH.files, "dumbbell.json"}


def test_a_library_that_looks_at_no_signal_cannot_hold_it_up(experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "results" / "out"
    status, err = interrupted("writing", "run", experiment, "--out", out)
    assert status == 130
    assert err.splitlines()[0] == "interrupted"
    assert list(out.parent.iterdir()) == []


def test_while_drawing_it_keeps_the_result_and_says_how_to_draw_it(experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    status, err = interrupted("drawing", "run", experiment, "--plot", "--out", out)
    assert status == 130
    assert err.splitlines()[0] == "interrupted"
    assert f"dumbbell plot {out}" in err
    assert {path.name for path in out.iterdir()} == {*results.RESULT.files, "dumbbell.json"}


def test_a_large_sweep_is_interrupted_while_it_is_read(tmp_path: Path) -> None:
    losses = ", ".join(str(number / 1e6) for number in range(400))
    rtts = ", ".join(f'"{number}ms"' for number in range(10, 410))
    path = tmp_path / "large.toml"
    path.write_text(
        'duration = "1s"\n[path]\nrate = "1mbit"\nrtt = "40ms"\n[[flows]]\ncc = "bbr"\n'
        f'[sweep]\n"path.loss" = [{losses}]\n"path.rtt" = [{rtts}]\n'
    )
    status, err = interrupted("loading", "run", path)
    assert (status, err) == (130, "interrupted\n")


@pytest.mark.parametrize("signals", [1, 2])
def test_the_progress_bar_is_gone_and_the_cursor_back(sweep: Path, signals: int) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "dumbbell", "run", str(sweep), "--set", "duration=10h"]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)

    def read(until: bytes) -> bytes:
        text = b""
        deadline = time.monotonic() + PATIENCE_S
        while until not in text and time.monotonic() < deadline:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    text += os.read(master, 65536)
                except OSError:
                    break
        return text

    assert b"simulating" in read(b"simulating")
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    text = read(b"\0")
    os.close(master)
    assert process.wait(timeout=PATIENCE_S) == 130
    assert b"interrupted" in text
    assert b"\x1b[?25h" in text, "the cursor is shown again"
    assert b"Traceback" not in text


def test_a_gate_says_how_to_go_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ("check", "gate", "bbr3", "bbr", "--scenario", "wifi", "--repeat", "4000", "--jobs", "1", "-o", out)
    status, err = interrupted("simulating", *command)
    assert status == 130
    assert err.splitlines()[0] == "interrupted"
    assert f"runs that are finished are kept in {out}" in err
    assert "dumbbell " + " ".join(map(str, command)) in err
