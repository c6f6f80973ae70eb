"""Our own algorithms in the running kernel; skipped, with the reason, where the machine forbids them."""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import dumbbell as db
import test_linux

pytestmark = pytest.mark.real_time

PROGRAMS = Path(__file__).parents[2] / "crates" / "linux" / "bpf"
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
FORBIDDEN = (*test_linux.FORBIDDEN, "CAP_", "takes no programs for congestion control")


def scenario(algorithm: str, **path: Any) -> dict[str, Any]:
    return {
        "duration": "12s",
        "warmup": "2s",
        "record": {"interval": "50ms"},
        "path": {"rate": "10mbit", "rtt": "40ms", "buffer": "2bdp", **path},
        "flows": [{"cc": f"bpf:{algorithm}"}],
    }


def run(experiment: dict[str, Any]) -> db.Result:
    """A result of the kernel, or a skip."""
    if sys.platform != "linux":
        pytest.skip("there is no such ground here")
    return test_linux.run(experiment, FORBIDDEN)


@pytest.fixture(scope="module")
def acd() -> db.Result:
    """What the kernel makes of BBR-ACD."""
    return run(scenario("bbr-acd"))


def test_the_objects_are_those_of_the_sources() -> None:
    lines = (PROGRAMS / "sources.sha256").read_text("utf-8").splitlines()
    sums = {name: digest for digest, name in (line.split() for line in lines)}
    sources = [*PROGRAMS.glob("*.c"), *PROGRAMS.glob("*.h")]
    assert sums == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sources}, "make bpf"


def first_flow(result: db.Result) -> dict[str, Any]:
    return result.flows.to_polars().row(0, named=True)


@pytest.mark.parametrize("algorithm", ["bbrplus", "scalable"])
def test_the_kernel_and_the_simulator_agree(algorithm: str) -> None:
    experiment = scenario(algorithm)
    real, simulated = first_flow(run(experiment)), first_flow(db.run(experiment))
    assert real["algorithm"] == f"{algorithm}-bpf-linux-{os.uname().release}"
    assert real["goodput_mbps"] == pytest.approx(simulated["goodput_mbps"], rel=0.05)
    assert real["mean_rtt_ms"] == pytest.approx(simulated["mean_rtt_ms"], rel=0.10)
    ours, theirs = simulated["retransmits"], real["retransmits"]
    assert abs(ours - theirs) <= 20 or max(ours, theirs) <= 1.5 * min(ours, theirs)


def test_bbr_acd_agrees_with_a_simulation_whose_clock_is_as_exact_as_the_machine(acd: db.Result) -> None:
    """Without a pacing margin every ACK that comes early raises the estimate for good, and with it the queue."""
    real, exact = first_flow(acd), first_flow(db.run(scenario("bbr-acd")))
    blurred = first_flow(db.run(scenario("bbr-acd", jitter="200us")))
    assert real["goodput_mbps"] == pytest.approx(exact["goodput_mbps"], rel=0.05)
    assert 0.9 * exact["mean_rtt_ms"] < real["mean_rtt_ms"] < 1.1 * blurred["mean_rtt_ms"]


def test_state_is_reported_as_in_a_simulation(acd: db.Result) -> None:
    real, simulated = acd.series, db.run(scenario("bbr-acd")).series
    assert real.columns == simulated.columns
    late = real.to_polars()
    late = late.filter(late["t_s"] > 2)
    assert late["cc_bw_mbps"].median() == pytest.approx(10 * 1448 / 1500, rel=0.05)
    assert set(late["mode"].unique()) <= {"probe_bw", "probe_rtt"}


def test_who_may_not_load_programs_is_told_the_capability(tmp_path: Path) -> None:
    setpriv = shutil.which("setpriv")
    if setpriv is None or sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs root and setpriv")
    file = tmp_path / "file.toml"
    file.write_text(db.run(scenario("scalable")).scenario_toml, encoding="utf-8")
    command = [sys.executable, "-m", "dumbbell", "run", str(file), "--on", "linux", "--out", str(tmp_path / "out")]
    for name in ("bpf", "perfmon"):
        # Whoever has CAP_SYS_ADMIN has both of them, too.
        drop = f"-{name},-sys_admin"
        words = [setpriv, f"--bounding-set={drop}", f"--inh-caps={drop}", *command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        assert f"needs CAP_{name.upper()}\n" in done.stderr
        assert not (tmp_path / "out").exists()


def test_an_ordinary_user_is_told_that_rights_in_a_namespace_do_not_count(tmp_path: Path) -> None:
    """What the run of an ordinary user does first, in a process with a single thread."""
    task = tmp_path / "task.toml"
    task.write_text(db.run(scenario("scalable")).scenario_toml, encoding="utf-8")
    command = [sys.executable, "-m", "dumbbell.worker", str(task), str(tmp_path / "result"), "0"]
    done = subprocess.run(command, stdin=subprocess.PIPE, capture_output=True, text=True, timeout=60)
    if any(words in done.stderr for words in ("on Linux only", "cannot make a network namespace")):
        pytest.skip(done.stderr)
    assert done.returncode != 0
    assert "CAP_NET_ADMIN of the machine itself" in done.stderr


def test_a_killed_run_leaves_no_algorithm_behind(tmp_path: Path) -> None:
    run({**scenario("scalable"), "duration": "1s", "warmup": "0s"})
    file = tmp_path / "file.toml"
    text = db.run(scenario("scalable")).scenario_toml
    file.write_text(text.replace('duration = "12s"', 'duration = "60s"'), encoding="utf-8")
    before = set(AVAILABLE.read_text("utf-8").split())
    command = [sys.executable, "-m", "dumbbell", "run", str(file), "--on", "linux"]
    seen = set()
    for moment in range(10):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(0.4 + 0.15 * moment)
            seen |= set(AVAILABLE.read_text("utf-8").split())
            process.kill()
    assert any(name.startswith("scalable_") for name in seen - before)
    # The kernel unregisters in the background.
    for _ in range(50):
        if set(AVAILABLE.read_text("utf-8").split()) <= before:
            return
        time.sleep(0.1)
    assert set(AVAILABLE.read_text("utf-8").split()) <= before
