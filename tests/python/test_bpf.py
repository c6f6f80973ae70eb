"""Our own algorithms in the running kernel; skipped, with the reason, where the machine forbids them."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dumbbell as db
import test_linux
from load import IS_WHOLE, PATIENCE_S, alone, measured, wait_until

PROGRAMS = Path(__file__).parents[2] / "crates" / "linux" / "bpf"
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
FORBIDDEN = (*test_linux.FORBIDDEN, "CAP_", "takes no programs for congestion control")


def scenario(algorithm: str, **path: Any) -> dict[str, Any]:
    return {
        "duration": "12s" if IS_WHOLE else "6s",
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


def test_the_objects_are_those_of_the_sources() -> None:
    lines = (PROGRAMS / "sources.sha256").read_text("utf-8").splitlines()
    sums = {name: digest for digest, name in (line.split() for line in lines)}
    sources = [*PROGRAMS.glob("*.c"), *PROGRAMS.glob("*.h")]
    assert sums == {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sources}, "make bpf"


def first_flow(result: db.Result) -> dict[str, Any]:
    return result.flows.to_polars().row(0, named=True)


@pytest.mark.real_time
@pytest.mark.parametrize("algorithm", ["bbrplus", "scalable"])
def test_the_kernel_and_the_simulator_agree(algorithm: str) -> None:
    experiment = scenario(algorithm)
    simulated = first_flow(db.run(experiment))

    def holds(result: db.Result) -> None:
        real = first_flow(result)
        assert real["goodput_mbps"] == pytest.approx(simulated["goodput_mbps"], rel=0.05)
        assert real["mean_rtt_ms"] == pytest.approx(simulated["mean_rtt_ms"], rel=0.10)
        ours, theirs = simulated["retransmits"], real["retransmits"]
        assert abs(ours - theirs) <= 20 or max(ours, theirs) <= 1.5 * min(ours, theirs)

    result = measured(lambda: run(experiment), holds)
    assert first_flow(result)["algorithm"] == f"{algorithm}-bpf-linux-{os.uname().release}"


@pytest.mark.real_time
def test_bbr_acd_reports_its_state_and_agrees_with_a_simulation_whose_clock_is_as_exact_as_the_machine() -> None:
    """Without a pacing margin every ACK that comes early raises the estimate for good, and with it the queue."""
    simulated = db.run(scenario("bbr-acd"))
    exact, blurred = first_flow(simulated), first_flow(db.run(scenario("bbr-acd", jitter="200us")))

    def holds(result: db.Result) -> None:
        real = first_flow(result)
        assert real["goodput_mbps"] == pytest.approx(exact["goodput_mbps"], rel=0.05)
        assert 0.9 * exact["mean_rtt_ms"] < real["mean_rtt_ms"] < 1.1 * blurred["mean_rtt_ms"]
        late = result.series.to_polars()
        late = late.filter(late["t_s"] > 2)
        assert late["cc_bw_mbps"].median() == pytest.approx(10 * 1448 / 1500, rel=0.05)
        assert set(late["mode"].unique()) <= {"probe_bw", "probe_rtt"}

    result = measured(lambda: run(scenario("bbr-acd")), holds)
    assert result.series.columns == simulated.series.columns
    assert result.meta.certificate is not None
    assert {"startup", "drain", "probe_bw"} <= set(result.meta.certificate["flows"][0]["phases"])


@pytest.mark.real_time
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
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 2
        assert f"needs CAP_{name.upper()}\n" in done.stderr
        assert not (tmp_path / "out").exists()


@pytest.mark.real_time
def test_an_ordinary_user_is_told_that_rights_in_a_namespace_do_not_count(tmp_path: Path) -> None:
    """What the run of an ordinary user does first, in a process with a single thread."""
    task = tmp_path / "task.toml"
    task.write_text(db.run(scenario("scalable")).scenario_toml, encoding="utf-8")
    command = [sys.executable, "-m", "dumbbell.worker", str(task), str(tmp_path / "result"), "0"]
    done = subprocess.run(command, stdin=subprocess.PIPE, capture_output=True, text=True, timeout=PATIENCE_S)
    if any(words in done.stderr for words in ("on Linux only", "cannot make a network namespace")):
        pytest.skip(done.stderr)
    assert done.returncode != 0
    assert "CAP_NET_ADMIN of the machine itself" in done.stderr


@pytest.mark.real_time
def test_a_killed_run_leaves_no_algorithm_behind(tmp_path: Path) -> None:
    run({**scenario("scalable"), "duration": "1s", "warmup": "0s"})
    with alone():
        _killed_runs_leave_no_algorithm_behind(tmp_path)


def _killed_runs_leave_no_algorithm_behind(tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    text = db.run({**scenario("scalable"), "duration": "12s"}).scenario_toml
    file.write_text(text.replace('duration = "12s"', 'duration = "1h"'), encoding="utf-8")
    before = set(AVAILABLE.read_text("utf-8").split())
    command = [sys.executable, "-m", "dumbbell", "run", str(file), "--on", "linux"]

    def new() -> set[str]:
        return set(AVAILABLE.read_text("utf-8").split()) - before

    test_linux.kill_one_by_one(command, kills=10)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: any(name.startswith("scalable_") for name in new()))
        process.kill()
    # The kernel unregisters in the background.
    wait_until(lambda: not new())
