"""The kernel's ground on the machine: as an ordinary user, beside another run, over Wi-Fi, and in sweeps that go on."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import dumbbell as db
from dumbbell import _core, experiment, grounds
from dumbbell.console import PROGRAM_STATUS, VOID_STATUS
from dumbbell.live import Live
from load import PATIENCE_S, measured
from test_linux import FORBIDDEN, PATH, SCENARIO, goodput_mbps, is_allowed, run

NOBODY = 65534


@pytest.fixture
def kernel() -> None:
    """Runs on the kernel are allowed here, or a skip."""
    is_allowed()


def as_nobody(folder: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """What ``dumbbell`` says to a user without any rights, to whom the device is open; or a skip.

    The device is opened in a mount namespace, so that the machine stays as it is.
    """
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root can become nobody, with setpriv")
    device = folder / "tun"
    opened = f"mknod -m 666 {device} c 10 200 && mount --bind {device} /dev/net/tun"
    python = Path(sys.executable).resolve()
    if not all(place.stat().st_mode & 0o005 == 0o005 for place in (python, *python.parents)):
        python = Path(f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")
    # pytest keeps its folders from other users.
    for place in (folder, *folder.parents):
        if Path(tempfile.gettempdir()) in place.parents:
            place.chmod(place.stat().st_mode | 0o055)
    becoming = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups {python} -m dumbbell"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    script = f'{opened} && exec {becoming} "$@"'
    words = ["unshare", "--mount", "sh", "-c", script, "sh", *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, env=environment, cwd="/")
    if any(reason in done.stderr for reason in (*FORBIDDEN, "mknod", "mount:", "No such file", "No module named")):
        pytest.skip(done.stderr)
    return done


@pytest.mark.real_time
@pytest.mark.usefixtures("kernel")
def test_an_ordinary_user_has_a_shell_on_the_path(tmp_path: Path) -> None:
    file = tmp_path / "path.toml"
    file.write_text(PATH, encoding="utf-8")
    listen = f"{sys.executable} -c pass"
    say = 'echo "$(id -u) $DUMBBELL_PEER $(cat /sys/class/net/path0/mtu 2>/dev/null)"; exit 5'
    done = as_nobody(tmp_path, ["shell", str(file), "--peer", listen, "--", "sh", "-c", say])
    assert done.returncode == 5, done.stderr
    # Root of its own namespace, and of nothing else.
    assert done.stdout.split()[:2] == ["0", "10.0.0.2"]


@pytest.mark.real_time
@pytest.mark.usefixtures("kernel")
def test_an_ordinary_user_runs_an_experiment(tmp_path: Path) -> None:
    file = tmp_path / "path.toml"
    file.write_text(PATH, encoding="utf-8")
    done = as_nobody(tmp_path, ["run", str(file), "--on", "linux", "--retries", "5"])
    if done.returncode == VOID_STATUS:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert "cubic-linux-" in done.stdout


PROGRAMS = """
duration = "2s"
path = { rate = "8mbit", rtt = "40ms" }

[[flows]]
label = "ours"
[flows.program]
server = '''
python3 -c "
import socket
connection, _ = socket.create_server(('{server}', {port})).accept()
connection.sendall(bytes(200000))
"'''
client = '''
python3 -c "
import socket
connection = socket.create_connection(('{server}', {port}))
while connection.recv(65536):
    pass
raise SystemExit(STATUS)
"'''
"""


@pytest.mark.real_time
@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("status", [0, 3])
def test_an_ordinary_user_runs_programs_as_flows(tmp_path: Path, status: int) -> None:
    file = tmp_path / "programs.toml"
    file.write_text(PROGRAMS.replace("STATUS", str(status)), encoding="utf-8")
    done = as_nobody(tmp_path, ["run", str(file), "--on", "linux", "--retries", "5", "--allow-programs", "--json"])
    if done.returncode == VOID_STATUS:
        pytest.skip(done.stderr)
    if status:
        assert done.returncode == PROGRAM_STATUS
        assert "flow 0 (ours): the client ended with exit status 3" in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["flows"][0]["delivered_bytes_total"] == 200_000


@pytest.mark.real_time
@pytest.mark.usefixtures("kernel")
def test_two_runs_at_once_each_have_the_network_to_themselves(tmp_path: Path) -> None:
    """Both use the same addresses and ports. They may make each other late, and then they say so."""
    rates = {"slow": 4, "fast": 12}

    def run_one(name: str) -> subprocess.CompletedProcess[str]:
        path = f'path = {{ rate = "{rates[name]}mbit", rtt = "20ms", buffer = "4bdp" }}'
        text = f'duration = "3s"\nwarmup = "1s"\n{path}\nflows = [{{ cc = "reno" }}]\n'
        command = [sys.executable, "-m", "dumbbell", "run", "-", "--on", "linux", "--retries", "5", "--quiet"]
        command += ["--out", str(tmp_path / name)]
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE_S)

    def measure() -> None:
        with ThreadPoolExecutor(2) as executor:
            runs = list(executor.map(run_one, rates))
        for done in runs:
            if done.returncode == VOID_STATUS:
                pytest.skip(done.stderr)
            assert done.returncode == 0, done.stderr

    def holds(_: None) -> None:
        for name, rate in rates.items():
            goodput = goodput_mbps(db.load_result(tmp_path / name))
            assert goodput == pytest.approx(rate * 1448 / 1500, rel=0.03)

    measured(measure, holds)


@pytest.mark.real_time
def test_wifi_carries_the_kernels_packets_as_it_carries_simulated_ones() -> None:
    scenario: dict[str, Any] = {
        "duration": "3s",
        "warmup": "1s",
        "path": {"wifi": {"mcs": 0, "streams": 1, "width": "20mhz"}, "rtt": "20ms"},
        "flows": [{"cc": "cubic"}],
    }
    ours = db.run(scenario).links.to_polars().row(0, named=True)

    def holds(kernel: db.Result) -> None:
        theirs = kernel.links.to_polars().row(0, named=True)
        assert theirs["aggregates"] > 0
        assert theirs["mean_aggregate"] == pytest.approx(ours["mean_aggregate"], rel=0.1)
        assert theirs["throughput_mbps"] == pytest.approx(ours["throughput_mbps"], rel=0.05)
        assert theirs["airtime"] == pytest.approx(ours["airtime"], rel=0.05)

    measured(lambda: run(scenario), holds)


@pytest.mark.real_time
@pytest.mark.usefixtures("kernel")
def test_a_run_tells_how_far_it_is_and_what_its_flows_get() -> None:
    assert str(Live()) == "running"
    flows = [{"cc": "cubic"}, {"cc": "reno", "start": "3s"}]
    point = experiment.load(SCENARIO | {"duration": "4s", "flows": flows}).points[0]

    def measure() -> list[str]:
        live = Live()
        with ThreadPoolExecutor(1) as executor:
            cancel = _core.CancelToken()
            running = executor.submit(db.Linux(retries=0).run, point, cancel, None, live)
            seen = []
            while not running.done():
                seen.append(str(live))
                time.sleep(0.1)
            error = running.exception()
            assert error is None or isinstance(error, db.VoidRunError)
        return seen

    def holds(seen: list[str]) -> None:
        told = [match for text in seen if (match := re.fullmatch(r"(\d+) of 4 s, ([\d.]+) \+ 0 Mbit/s", text))]
        assert {int(match[1]) for match in told} >= {1, 2}
        late = [float(match[2]) for match in told if int(match[1]) == 2]
        assert late == pytest.approx([10 * 1448 / 1500] * len(late), rel=0.2)

    measured(measure, holds)


@pytest.mark.real_time
@pytest.mark.usefixtures("kernel")
def test_a_sweep_on_the_kernel_goes_on_where_it_was_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    attempt, attempts = grounds._attempt, []

    def counted(point: Any, *rest: Any) -> db.Result:
        attempts.append(point.content_hash)
        return attempt(point, *rest)

    monkeypatch.setattr(grounds, "_attempt", counted)
    axes = {"sweep": {"path.rtt": ["10ms", "20ms", "30ms"]}}
    options: dict[str, Any] = {"set": axes, "on": db.Linux(retries=5), "out": tmp_path / "sweep", "progress": False}
    try:
        first = next(iter(db.sweep(SCENARIO, **options)))
        done = set(attempts)
        assert first.meta.ground == "linux"
        attempts.clear()
        joined = db.sweep(SCENARIO, **options).collect()
    except db.VoidRunError as error:
        pytest.skip(str(error))
    assert len(joined.flows.to_polars()) == 3
    assert first.meta.content_hash in done
    assert first.meta.content_hash not in attempts
    # The simulator's results of the same points are not these.
    simulated = db.sweep(SCENARIO, set=axes, out=tmp_path / "sweep", progress=False).collect()
    again = db.load_sweep(tmp_path / "sweep")
    assert {again.load(point).meta.ground for point in again.points} == {"simulator"}
    assert len(simulated.flows.to_polars()) == 3
