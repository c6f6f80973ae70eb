"""No run hangs, eats the machine, or leaves something behind."""

from __future__ import annotations

import gc
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import memory, pieces
from dumbbell.storage import OutputError
from load import ends_within, wait_until

ENDLESS = """\
duration = "10s"
record.series = false

[path]
rate = "unlimited"
rtt = "10ms"

[[flows]]
cc = { name = "cubic", hystart = false }
transport = { profile = "quic", receive_window = "1024TiB" }
"""

LONG: dict[str, Any] = {
    "duration": "4s",
    "record": {"interval": "20us"},
    "path": {"rate": "10mbit", "rtt": "40ms", "loss": "1%"},
    "flows": [{"cc": "bbr"}, {"cc": "cubic", "start": "300ms"}],
}
"""Some 150 MB of time series."""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders appear."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    path = tmp_path / "endless.toml"
    path.write_text(ENDLESS)
    return path


def test_a_run_that_would_exceed_its_memory_ends_with_what_grew(dumbbell: Cli, endless: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = dumbbell("run", endless, "--max-memory", "200MiB", "--out", out)
    assert done.status == 2
    assert done.out == ""
    assert "it may take 200.0 MiB" in done.err
    assert "packets" in done.err and "receive_window" in done.err and "--max-memory" in done.err
    assert not out.exists()


def test_the_memory_of_a_run_is_bounded_in_python_too(endless: Path) -> None:
    with pytest.raises(db.RunError, match=r"it may take 64\.0 MiB"):
        db.run(endless, max_memory="64MiB")
    # Both points run at the same time where there are two cores; either may be the first to end.
    with pytest.raises(db.RunError, match=r"^flows\[0\]\.cc=(reno|bbr): .*it may take 48\.8 MiB"):
        db.sweep(endless, set={"sweep": {"flows[0].cc": ["reno", "bbr"]}}, max_memory=50 * 2**10 * 1000).collect()


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from the system")
def test_the_process_stays_near_the_limit(endless: Path) -> None:
    before = _peak_mb("import polars")
    after = _peak_mb(
        f"""
        import dumbbell as db
        try:
            db.run({str(endless)!r}, max_memory="256MiB")
        except db.RunError:
            pass
        """
    )
    assert before < after < before + 1.5 * 256


def _peak_mb(code: str) -> float:
    """The most memory that an interpreter had resident when it was done with ``code``."""
    tell = "import re; print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
    done = subprocess.run(
        [sys.executable, "-c", f"{textwrap.dedent(code)}\n{tell}"], stdout=subprocess.PIPE, text=True, check=True
    )
    return int(done.stdout.split()[-1]) / 1024


@pytest.mark.parametrize("size", ["much", "0", "-1GB", "2"])
def test_a_size_without_meaning_is_refused(dumbbell: Cli, endless: Path, size: str) -> None:
    done = dumbbell("run", endless, f"--max-memory={size}")
    assert done.status == 2
    assert done.err.startswith(f"error: --max-memory {size}: ")


def test_by_default_runs_share_half_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: 16 * 2**30)
    assert memory.limit_of_a_run(None, 1) == 8 * 2**30
    assert memory.limit_of_a_run(None, 4) == 2 * 2**30
    assert memory.limit_of_a_run("3GiB", 4) == 3 * 2**30
    monkeypatch.setattr(memory, "machine_memory", lambda: None)
    assert memory.limit_of_a_run(None, 4) is None


def test_control_groups_and_ulimit_bound_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built_in = memory.machine_memory(tmp_path)
    assert built_in is not None
    _group(tmp_path, "0::/a/b", "sys/fs/cgroup/a/b/memory.max", "max")
    assert memory.machine_memory(tmp_path) == built_in
    _group(tmp_path, "0::/a/b", "sys/fs/cgroup/a/memory.max", "300000000")
    assert memory.machine_memory(tmp_path) == 300_000_000
    _group(tmp_path, "4:memory:/slice", "sys/fs/cgroup/memory/memory.limit_in_bytes", "200000000")
    assert memory.machine_memory(tmp_path) == 200_000_000
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (100_000_000, -1))
    assert memory.machine_memory(tmp_path) == 100_000_000


def _group(root: Path, line: str, file: str, limit: str) -> None:
    for path, text in ((root / "proc/self/cgroup", line), (root / file, limit)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def test_long_series_are_the_same_through_files(scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spilled = db.run(LONG)
    (folder,) = scratch.iterdir()
    assert len(list(folder.glob("flows-*.arrow"))) > 10
    whole = _without_spilling(monkeypatch)
    for name in ("flows", "series", "links", "link_series"):
        one, other = getattr(spilled, name), getattr(whole, name)
        assert (one.columns, len(one)) == (other.columns, len(other))
        assert one.to_polars().schema == other.to_polars().schema
        assert one.to_polars().equals(other.to_polars())
        first = one.columns[:1]
        assert one.lazy().select(first).collect().equals(other.to_polars(first))
    assert "rows" in repr(spilled.series) and "rows" in spilled.series._repr_html_()
    saved = [db.load_result(result.save(tmp_path / str(i))) for i, result in enumerate((spilled, whole))]
    for name in ("series", "link_series"):
        assert getattr(saved[0], name).to_polars().equals(getattr(saved[1], name).to_polars())
    spilled.plot.overview()
    del spilled, one, other
    gc.collect()
    assert list(scratch.iterdir()) == []


def _without_spilling(monkeypatch: pytest.MonkeyPatch) -> db.Result:
    """The run with its pieces kept in memory and joined there."""
    import polars as pl

    kept: list[tuple[pl.DataFrame, pl.DataFrame]] = []

    def take(self: pieces.Pieces, series: Any, link_series: Any) -> None:
        kept.append((pl.DataFrame(series), pl.DataFrame(link_series)))

    def tables(self: pieces.Pieces, series: Any, link_series: Any) -> tuple[db.Table, db.Table]:
        take(self, series, link_series)
        joined = [pl.concat(parts, rechunk=True) for parts in zip(*kept, strict=True)]
        return db.Table(joined[0]), db.Table(joined[1])

    with monkeypatch.context() as patch:
        patch.setattr(pieces.Pieces, "take", take)
        patch.setattr(pieces.Pieces, "tables", tables)
        return db.run(LONG)


def test_short_series_need_no_files(scratch: Path) -> None:
    result = db.run(LONG, set={"record.interval": "10ms"})
    assert len(result.series) > 700
    assert list(scratch.iterdir()) == []


def test_a_run_that_fails_leaves_no_pieces(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "ROWS", 1_000)
    write = pieces.Pieces._write

    def full(self: pieces.Pieces, rows: Any, name: str, paths: list[Path]) -> None:
        write(self, rows, name, paths)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pieces.Pieces, "_write", full)
    with pytest.raises(OutputError, match=r"cannot keep the time series in .*: No space left on device\n.*TMPDIR"):
        db.run(LONG)
    assert list(scratch.iterdir()) == []


def test_folders_of_the_killed_go_and_those_in_use_stay(scratch: Path) -> None:
    code = (
        "import dumbbell as db, time; result = db.run(" + repr(LONG) + "); print('ready', flush=True); time.sleep(3600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    (theirs,) = scratch.iterdir()
    one = db.run(LONG)
    assert theirs.is_dir() and len(list(scratch.iterdir())) == 2
    process.kill()
    process.communicate()
    assert theirs.is_dir()
    other = db.run(LONG)
    assert not theirs.exists()
    assert len(one.series) == len(other.series)


def test_an_interrupt_ends_a_run_and_removes_its_pieces(scratch: Path, tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(
        'duration = "2h"\nrecord.interval = "1ms"\npath = { rate = "10mbit", rtt = "40ms" }\nflows = [{ cc = "bbr" }]\n'
    )
    command = [sys.executable, "-m", "dumbbell", "run", str(path), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: bool(list(scratch.glob("dumbbell-series-*/*-000001.arrow"))))
    _, err = ends_within(process, 1.0, lambda: process.send_signal(signal.SIGINT))
    assert process.returncode == 130, err
    # On a busy machine it may have been killed before it was done: then the next one removes what is left.
    left = list(scratch.iterdir())
    again = db.run(LONG)
    assert [path for path in left if path.exists()] == []
    del again
    gc.collect()
    assert list(scratch.iterdir()) == []
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from the system")
def test_an_hour_of_milliseconds_stays_in_memory_of_minutes(tmp_path: Path) -> None:
    path = tmp_path / "hour.toml"
    path.write_text(
        'duration = "1h"\nrecord.interval = "1ms"\npath = { rate = "1mbit", rtt = "40ms" }\nflows = [{ cc = "bbr" }]\n'
    )
    out = tmp_path / "out"
    peak = _peak_mb(
        f"""
        import sys
        from dumbbell.cli import main
        sys.argv = ["dumbbell", "run", {str(path)!r}, "--out", {str(out)!r}]
        try:
            main()
        except SystemExit as end:
            assert end.code == 0, end.code
        """
    )
    assert peak < 240, "all samples together are 1.3 GB"
    import polars as pl

    assert pl.scan_parquet(out / "series.parquet").select(pl.len()).collect().item() > 3_599_000


def test_a_limit_is_at_least_a_byte_and_a_share_of_at_least_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: 1001)
    assert memory.limit_of_a_run(None, 0) == memory.limit_of_a_run(None, 1) == 500
    assert memory.limit_of_a_run(None, 3) == 166
    assert memory.limit_of_a_run(1, 3) == 1
    for none in (0, -1, "0B"):
        with pytest.raises(ValueError, match=f"a run cannot do with {none!r} of memory"):
            memory.limit_of_a_run(none, 1)


def test_only_groups_of_memory_count_and_what_a_user_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _group(tmp_path, "3:cpu:/a\n4:memory:/b", "sys/fs/cgroup/cpu/a/memory.max", "1000")
    alone = memory.machine_memory(tmp_path)
    assert alone is not None and alone > 1000
    _group(tmp_path, "4:memory:/b", "sys/fs/cgroup/memory/b/memory.high", "3000")
    assert memory.machine_memory(tmp_path) == 3000
    limits = {resource.RLIMIT_AS: 2000, resource.RLIMIT_DATA: 2500}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limits[kind], resource.RLIM_INFINITY))
    assert memory.machine_memory(tmp_path) == 2000
    limits[resource.RLIMIT_DATA] = 1500
    assert memory.machine_memory(tmp_path) == 1500
    limits |= dict.fromkeys(limits, resource.RLIM_INFINITY)
    assert memory.machine_memory(tmp_path) == 3000
