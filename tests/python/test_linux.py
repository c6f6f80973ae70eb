"""Experiments on the running kernel; skipped, with the reason, where the machine forbids them."""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import _core, cli, grounds, shell
from dumbbell import experiment as experiments
from dumbbell.commands.compare import with_buffers_of_hosts
from dumbbell.grounds import LINUX
from dumbbell.parallel import run_point
from load import PATIENCE_S, alone, measured, wait_until

SCENARIO: dict[str, Any] = {
    "duration": "1500ms",
    "warmup": "500ms",
    "record": {"interval": "50ms"},
    "path": {"rate": "10mbit", "rtt": "20ms"},
    "flows": [{"cc": "cubic"}],
}
FORBIDDEN = ("cannot make a network namespace", "cannot make a TUN device", "on Linux only")


@contextmanager
def where_allowed(forbidden: Sequence[str] = FORBIDDEN) -> Iterator[None]:
    """Skips, with the reason, where the machine forbids what the block does."""
    try:
        yield
    except db.RunError as error:
        if any(words in str(error) for words in forbidden):
            pytest.skip(str(error))
        raise


def run(scenario: dict[str, Any], forbidden: Sequence[str] = FORBIDDEN, **options: Any) -> db.Result:
    """A result of the kernel, or a skip."""
    with where_allowed(forbidden):
        try:
            return db.run(scenario, on=db.Linux(retries=5, **options))
        except db.VoidRunError as error:
            pytest.skip(str(error))


@cache
def is_allowed() -> None:
    """Runs on the kernel are allowed here, or a skip; how good they are is seen later."""
    with where_allowed(), suppress(db.VoidRunError):
        db.run(SCENARIO, on=db.Linux(retries=0))


def goodput_mbps(result: db.Result) -> float:
    """Of the first flow."""
    return float(result.flows.to_polars()["goodput_mbps"][0])


@pytest.mark.real_time
def test_a_run_on_the_kernel_has_the_tables_of_a_simulation(tmp_path: Path) -> None:
    simulated = db.run(SCENARIO)

    def holds(result: db.Result) -> None:
        assert goodput_mbps(result) == pytest.approx(10 * 1448 / 1500, rel=0.02)

    result = measured(lambda: run(SCENARIO), holds)
    # What a controller lets be observed differs; everything else is there under the same name.
    for name in ("flows", "links", "link_series"):
        assert getattr(result, name).columns == getattr(simulated, name).columns
    own = [column for column in simulated.series.columns if not column.startswith("cc_")]
    assert [column for column in result.series.columns if not column.startswith("cc_")] == own
    flow = result.flows.to_polars().row(0, named=True)
    assert flow["algorithm"] == f"cubic-linux-{os.uname().release}"
    # Packets with their headers, as the link counts them.
    received = result.series.to_polars().filter(pl.col("t_s") > result.meta.sim_s / 2)["received_mbps"].mean()
    assert received == pytest.approx(10, rel=0.02)
    assert flow["lost"] is None
    loaded = db.load_result(result.save(tmp_path / "out"))
    assert loaded.meta == result.meta
    assert loaded.meta.ground == LINUX
    assert loaded.meta.certificate is not None
    assert loaded.meta.certificate["void"] == []


def test_a_simulation_says_so() -> None:
    meta = db.run(SCENARIO).meta
    assert (meta.ground, meta.certificate, meta.void) == ("simulator", None, [])


@pytest.mark.real_time
def test_a_sysctl_reaches_the_hosts() -> None:
    def holds(result: db.Result) -> None:
        # Without the option the same packets carry twelve bytes more.
        ratio = goodput_mbps(result) / result.links.to_polars()["throughput_mbps"][0]
        assert ratio == pytest.approx(1460 / 1500, rel=0.002)

    measured(lambda: run(SCENARIO, sysctl={"net.ipv4.tcp_timestamps": "0"}), holds)


@pytest.mark.real_time
@pytest.mark.parametrize(
    "events",
    [
        pytest.param({"events": [{"action": "drop", "packets": [1, 10]}]}, id="the first window"),
        pytest.param(
            {"reverse": {"events": [{"action": "drop", "of": "acks", "from": "200ms", "until": "300ms"}]}},
            id="acknowledgements",
        ),
    ],
)
def test_events_are_about_the_same_packets_as_in_the_simulator(events: dict[str, Any]) -> None:
    scenario = SCENARIO | {"path": SCENARIO["path"] | events}
    simulated = db.run(scenario).flows.to_polars().row(0, named=True)

    def holds(result: db.Result) -> None:
        kernel = result.flows.to_polars().row(0, named=True)
        assert kernel["retransmits_total"] == pytest.approx(simulated["retransmits_total"], abs=4)
        for measure in ("sent_total", "acks_total"):
            assert kernel[measure] == pytest.approx(simulated[measure], rel=0.1), measure

    measured(lambda: run(scenario), holds)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--on", "moon"], "choose sim or linux"),
        (["--sysctl", "net.ipv4.tcp_sack=0"], "--on linux"),
        (["--on", "linux", "--sysctl", "net.ipv4.tcp_sack"], "NAME=VALUE"),
        (["--on", "linux", "--sysctl", "kernel.hostname=x"], "kernel.hostname"),
        (["--on", "linux", "--set", "flows[0].transport.ack_every=4"], "`transport.ack_every`"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(
    dumbbell: Cli, experiment: Path, tmp_path: Path, options: list[str], words: str
) -> None:
    if "linux" in options and sys.platform != "linux":
        pytest.skip("there is no such ground here")
    done = dumbbell("run", experiment, "--out", tmp_path / "out", *options)
    assert done.status == 2
    assert words in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("flow", "limit"),
    [
        ({"transport": {"profile": "tcp", "receive_window": "16KiB"}}, "receive_window"),
        ({"transport": {"profile": "tcp", "send_buffer": "4KiB"}}, "send_buffer"),
        ({"rate": "1mbit"}, "application"),
        ({}, "link"),
    ],
)
def test_the_kernel_tells_what_limits_a_flow(flow: dict[str, Any], limit: str) -> None:
    path = SCENARIO["path"] | ({"rate": "100mbit"} if limit != "link" else {})
    result = run(SCENARIO | {"path": path, "flows": [{"cc": "cubic"} | flow]})
    samples = result.series.to_polars().filter(pl.col("t_s") > 0.5)["limited_by"]
    assert (samples == limit).sum() > samples.len() / 2, samples.value_counts().rows()


@pytest.mark.real_time
def test_a_void_run_is_kept_aside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = run(SCENARIO)
    assert result.meta.certificate is not None
    void = {**result.meta.certificate, "void": ["the machine stalled"]}
    bad = dataclasses.replace(result, meta=dataclasses.replace(result.meta, certificate=void))
    attempts = iter([bad, result])
    monkeypatch.setattr(grounds, "_attempt", lambda *_: next(attempts))
    good = db.run(SCENARIO, on="linux")
    assert good.meta.void == []
    good.save(tmp_path / "out")
    aside = db.load_result(tmp_path / "out" / "void" / "1")
    assert aside.meta.void == ["the machine stalled"]
    monkeypatch.setattr(grounds, "_attempt", lambda *_: bad)
    with pytest.raises(db.VoidRunError, match="the machine stalled") as caught:
        db.run(SCENARIO, on=db.Linux(retries=1))
    assert len(caught.value.attempts) == 2


@pytest.mark.real_time
def test_an_application_is_not_late_that_waits_for_a_full_send_buffer() -> None:
    application = {"app": {"rate": "40mbit", "write": "20kB"}, "transport": {"send_buffer": "64KiB"}}
    scenario = SCENARIO | {"flows": [{"cc": "cubic"} | application]}

    def measure() -> db.Result:
        with where_allowed():
            try:
                return db.run(scenario, on=db.Linux(retries=1))
            except db.VoidRunError as error:
                return error.attempts[-1]

    def holds(result: db.Result) -> None:
        assert result.meta.certificate is not None
        # What it should have written at the end was due more than a second before.
        assert result.meta.certificate["app_late_p99_us"] < 200_000

    measured(measure, holds)


@pytest.mark.parametrize("swept", ["", "[sweep]\nrepeat = 2\n"])
def test_a_void_run_can_be_given_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, swept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "path.toml"
    file.write_text(PATH + swept, encoding="utf-8")
    out = tmp_path / "out"

    def status(void: bool) -> object:
        def attempt(point: _core.Point, *_: Any) -> db.Result:
            result = run_point(point)
            certificate = {"void": ["the machine stalled"] if void else []}
            return dataclasses.replace(result, meta=dataclasses.replace(result.meta, certificate=certificate))

        monkeypatch.setattr(grounds, "_attempt", attempt)
        monkeypatch.setattr(sys, "argv", ["dumbbell", "run", str(file), "--on", "linux", "--out", str(out)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code

    assert status(void=True) == 3, capsys.readouterr().err
    assert db.load_result(out / "void" / "1").meta.void == ["the machine stalled"]
    assert status(void=True) == 3, capsys.readouterr().err
    assert status(void=False) == 0, capsys.readouterr().err
    assert (out / "flows.parquet").is_file()


@pytest.mark.real_time
def test_nothing_is_left_after_a_kill(experiment: Path) -> None:
    is_allowed()
    command = [sys.executable, "-m", "dumbbell", "run", str(experiment), "--on", "linux", "--set", "duration=1h"]
    names = Path("/proc/net/dev").read_text("utf-8")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            threads = Path(f"/proc/{process.pid}/task")
            wait_until(lambda: "emulator\n" in {path.read_text("utf-8") for path in threads.glob("*/comm")})
            own = Path("/proc/self/ns/net").readlink()
            # No thread stays in a namespace of the run.
            wait_until(lambda: {link.readlink() for link in threads.glob("*/ns/net")} == {own})
        finally:
            process.kill()
    devices = [line.split(":")[0] for line in Path("/proc/net/dev").read_text("utf-8").splitlines()]
    assert devices == [line.split(":")[0] for line in names.splitlines()]


@pytest.mark.real_time
def test_the_worker_of_an_ordinary_user_answers_with_the_reason(tmp_path: Path) -> None:
    """Where user namespaces are allowed it goes on to the device, or through to a result."""
    task = tmp_path / "task.toml"
    task.write_text(db.run(SCENARIO).scenario_toml, encoding="utf-8")
    command = [sys.executable, "-m", "dumbbell.worker", str(task), str(tmp_path / "result"), "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as worker:
        assert worker.stderr is not None
        said = worker.stderr.read()
    if worker.returncode == 0:
        meta = json.loads((tmp_path / "result" / "meta.json").read_text("utf-8"))
        assert meta["ground"] == LINUX
    else:
        assert any(words in said for words in FORBIDDEN), said


@pytest.mark.real_time
def test_a_worker_ends_with_whoever_started_it(tmp_path: Path) -> None:
    task = tmp_path / "task.toml"
    task.write_text(db.run(SCENARIO).scenario_toml.replace('"1.5s"', '"1h"'), encoding="utf-8")
    command = [sys.executable, "-m", "dumbbell.worker", str(task), str(tmp_path / "result"), "0"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode != 0
    assert not (tmp_path / "result").exists()


@pytest.mark.real_time
def test_two_grounds_are_compared_side_by_side(dumbbell: Cli, tmp_path: Path) -> None:
    is_allowed()
    file = tmp_path / "one.toml"
    file.write_text(
        'duration = "1500ms"\nwarmup = "500ms"\npath = { rate = "10mbit", rtt = "20ms" }\nflows = [{ cc = "cubic" }]\n',
        encoding="utf-8",
    )
    out = tmp_path / "out"

    def measure() -> dict[str, Any]:
        done = dumbbell("compare", "--on", "sim,linux", file, "--out", out, "--plot", "--retries", "8")
        if done.status == 3:
            pytest.skip(done.err)
        assert done.status == 0, done.err
        assert "goodput" in done.out
        assert "simulator" in done.out
        assert (out / "comparison" / "overview.png").stat().st_size > 10_000
        again = dumbbell("compare", out / "sim", out / "linux", "--json")
        return {pair["measure"]: pair for pair in json.loads(again.out)["pairs"]}

    def holds(pairs: dict[str, Any]) -> None:
        assert abs(pairs["goodput_mbps"]["difference"]) < 0.05

    measured(measure, holds)


@pytest.mark.parametrize(
    ("transport", "settings", "changes"),
    [
        ("", {}, True),
        ("transport = { ecn = true }\n", {}, True),
        ("", {"transport": "tcp"}, False),
        ('transport = "quic"\n', {}, False),
        ('transport = { send_buffer = "100kB" }\n', {}, False),
        ('transport = "linux-host"\n', {}, False),
        ('transport = { right_sizing = "linux-6.12" }\n', {}, False),
        ('transport = { compress_sacks_delay = "linux-6.18" }\n', {}, False),
    ],
)
def test_grounds_are_compared_with_the_buffers_of_hosts_unless_the_file_says_something(
    tmp_path: Path, transport: str, settings: dict[str, str], changes: bool
) -> None:
    file = tmp_path / "one.toml"
    file.write_text(
        f'duration = "1s"\n{transport}path = {{ rate = "10mbit", rtt = "20ms" }}\nflows = [{{ cc = "cubic" }}]\n',
        encoding="utf-8",
    )
    given = experiments.load(file, set=settings).points[0].resolved_toml
    compared = with_buffers_of_hosts(file, settings, None).points[0].resolved_toml
    assert (compared != given) == changes
    if changes:
        assert 'send_buffer = "autotuning"' in compared
        assert "receive_autotuning = true" in compared
        assert f"hz = {grounds.hz()}" in compared
        for key, value in grounds.receivers().items():
            assert f'{key} = "{value}"' in compared


@pytest.mark.parametrize(
    ("release", "rules"),
    [
        ("6.12.117", ["linux-6.12", "linux-6.18"]),
        ("6.15.0-rc1", ["linux-6.12", "linux-6.18"]),
        ("6.16.3", ["linux", "linux-6.18"]),
        ("6.18", ["linux", "linux-6.18"]),
        ("6.19.1", ["linux", "linux"]),
        ("7.2", ["linux", "linux"]),
    ],
)
def test_receivers_change_with_the_kernel(release: str, rules: list[str]) -> None:
    assert list(grounds.receivers_of(release)) == ["compress_sacks_delay", "right_sizing"]
    assert [grounds.receivers_of(release)[key] for key in ("right_sizing", "compress_sacks_delay")] == rules


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--on", "sim", "FILE"], "two grounds"),
        (["--on", "sim,moon", "FILE"], "choose sim or linux"),
        (["--on", "sim,linux", "FILE", "FILE"], "one file"),
    ],
)
def test_what_cannot_be_compared_is_refused(dumbbell: Cli, experiment: Path, arguments: list[str], words: str) -> None:
    done = dumbbell("compare", *[str(experiment) if word == "FILE" else word for word in arguments])
    assert done.status == 2
    assert words in done.err


def namespaces() -> tuple[int, int]:
    """Network namespaces that the kernel holds, with or without a process in them, and by how much that may be off."""
    try:
        lines = Path("/proc/slabinfo").read_text("utf-8").splitlines()
    except OSError as error:
        pytest.skip(f"cannot count namespaces: {error}")
    for line in lines:
        name, active, _, _, in_a_slab, *_ = [*line.split(), *[""] * 5]
        if name == "net_namespace":
            # What is free in the slab that a core is using counts as active.
            return int(active), int(in_a_slab) * (os.cpu_count() or 1)
    pytest.skip("this kernel does not count namespaces by themselves")


def kill_one_by_one(command: list[str], kills: int) -> None:
    """Starts a command several times at once, and kills one after the other."""
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(kills)]
    time.sleep(0.5)
    for process in processes:
        time.sleep(0.25)
        process.kill()
        process.wait()


@pytest.mark.real_time
def test_a_killed_run_leaves_no_namespace_behind(experiment: Path) -> None:
    is_allowed()
    with alone():
        _killed_runs_leave_no_namespace_behind(experiment)


def _killed_runs_leave_no_namespace_behind(experiment: Path) -> None:
    before, slack = namespaces()
    kills = 10
    if slack >= 2 * kills:
        pytest.skip("the kernel's count is too coarse on so many cores")
    command = [sys.executable, "-m", "dumbbell", "run", str(experiment), "--on", "linux", "--set", "duration=1h"]
    kill_one_by_one(command, kills)
    # The kernel clears namespaces away in the background.
    wait_until(lambda: namespaces()[0] <= before + slack)


@pytest.mark.real_time
def test_nothing_outside_of_the_namespaces_sees_a_packet(tmp_path: Path) -> None:
    """The whole program in a namespace whose only device is the loopback: it has not counted anything afterwards."""
    is_allowed()
    task = tmp_path / "task.toml"
    task.write_text(db.run(SCENARIO).scenario_toml, encoding="utf-8")
    script = f"{sys.executable} -m dumbbell run {task} --on linux --retries 8 >&2; cat /proc/net/dev"
    done = subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode != 0:
        pytest.skip(done.stderr)
    _, _, *devices = done.stdout.splitlines()
    assert [line.split(":")[0].strip() for line in devices] == ["lo"]
    assert set(devices[0].split(":")[1].split()) == {"0"}, done.stdout


PATH = 'duration = "1s"\npath = { rate = "8mbit", rtt = "40ms" }\nflows = [{ cc = "cubic" }]\n'


def in_shell(tmp_path: Path, peer: str, command: str, *options: str) -> subprocess.CompletedProcess[str]:
    """What a command said on an emulated path, or a skip."""
    is_allowed()
    file = tmp_path / "path.toml"
    file.write_text(PATH, encoding="utf-8")
    words = [sys.executable, "-m", "dumbbell", "shell", str(file), "--peer", peer, *options, "--", command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
    if any(reason in done.stderr for reason in FORBIDDEN):
        pytest.skip(done.stderr)
    return done


@pytest.mark.real_time
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_fetches_through_the_path(tmp_path: Path) -> None:
    (tmp_path / "megabyte").write_bytes(bytes(1_000_000))
    server = f"exec {sys.executable} -m http.server 8000 --directory {tmp_path} >/dev/null 2>&1"
    fetch = "curl -s -o /dev/null -w '%{http_code} %{time_total}\\n' http://$DUMBBELL_PEER:8000/megabyte"
    waiting = f"until {fetch}; do sleep 0.2; done; exit 5"

    def measure() -> float:
        done = in_shell(tmp_path, server, waiting, "--log", str(tmp_path / "log"))
        assert done.returncode == 5, done.stderr
        # Before the server listens there are lines of attempts that failed.
        code, seconds = done.stdout.splitlines()[-1].split()
        assert code == "200"
        assert float(seconds) > 0.2
        return float(seconds)

    def holds(seconds: float) -> None:
        # Nothing but delay on the way back, so that a megabyte takes little more than the slow start.
        assert seconds < 5

    measured(measure, holds)
    lines = (tmp_path / "log" / "down.log").read_text("utf-8").splitlines()
    delays = [int(line.split()[3]) for line in lines if " - " in line]
    assert len(delays) > 1_000_000 // 1448
    assert set(delays) == {20}


@pytest.mark.real_time
@pytest.mark.parametrize("options", [[], ["--down"]])
def test_a_download_from_the_peer_is_shaped_or_a_note_says_that_it_is_not(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "megabyte").write_bytes(bytes(1_000_000))
    fetch = tmp_path / "fetch.py"
    fetch.write_text(
        "import os, time, urllib.request\n"
        "url = f'http://{os.environ[\"DUMBBELL_PEER\"]}:8000/megabyte'\n"
        "while True:\n"
        "    begin = time.monotonic()\n"
        "    try:\n"
        "        urllib.request.urlopen(url).read()\n"
        "    except OSError:\n"
        "        time.sleep(0.2)\n"
        "    else:\n"
        "        print(time.monotonic() - begin)\n"
        "        break\n",
        encoding="utf-8",
    )
    server = f"exec {sys.executable} -m http.server 8000 --directory {tmp_path} >/dev/null 2>&1"
    done = in_shell(tmp_path, server, f"{sys.executable} {fetch}", *options)
    assert done.returncode == 0, done.stderr
    is_unshaped = "went over the way back, which has no rate; give --down" in done.stderr
    assert is_unshaped == (not options)
    if options:
        # A megabyte at 8 Mbit/s.
        assert float(done.stdout) > 1


@pytest.mark.real_time
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_iperf3_measures_the_rate_of_the_path(tmp_path: Path) -> None:
    said = tmp_path / "said"
    client = f"until iperf3 -c $DUMBBELL_PEER -t 4 -O 1 --json >{said}; do sleep 0.2; done"

    def measure() -> float:
        done = in_shell(tmp_path, "exec iperf3 -s -1 >/dev/null", client)
        assert done.returncode == 0, done.stdout + done.stderr
        return float(json.loads(said.read_text("utf-8"))["end"]["sum_received"]["bits_per_second"])

    def holds(received: float) -> None:
        assert received == pytest.approx(8e6 * 1448 / 1500, rel=0.1)

    measured(measure, holds)


@pytest.mark.real_time
def test_the_status_of_the_program_is_that_of_the_shell(tmp_path: Path) -> None:
    done = in_shell(tmp_path, "sleep 3600", "exit 6")
    assert done.returncode == 6


def test_a_single_text_is_a_line_for_the_shell_and_several_words_are_a_program() -> None:
    assert shell.words(["exit 6; echo"]) == ["sh", "-c", "exit 6; echo"]
    assert shell.words(["printf", "%s", "a b"]) == ["printf", "%s", "a b"]


def test_a_log_of_packets_is_written_as_mahimahi_writes_it(tmp_path: Path) -> None:
    rows = [
        ("up", 0.0019, "arrival", 1500, None), ("down", 0.002, "arrival", 40, None),
        ("up", 0.0131, "departure", 1500, 11.6), ("up", 1.5, "drop", 1500, None),
    ]  # fmt: skip
    columns = ["direction", "t_s", "event", "bytes", "delay_ms"]
    written = shell.write_log(db.Table(pl.DataFrame(rows, schema=columns, orient="row")), tmp_path / "log")
    assert [path.name for path in written] == ["packets.parquet", "up.log", "down.log"]
    assert (tmp_path / "log" / "up.log").read_text() == "1 + 1500\n13 - 1500 12\n1500 d 1 1500\n"
    assert (tmp_path / "log" / "down.log").read_text() == "2 + 40\n"
    assert pl.read_parquet(tmp_path / "log" / "packets.parquet").height == len(rows)


@pytest.mark.real_time
def test_a_log_is_not_written_over_the_files_of_others(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    theirs = tmp_path / "log" / "up.log"
    theirs.write_text("theirs", encoding="utf-8")
    ran = tmp_path / "ran"
    done = in_shell(tmp_path, "true", f"touch {ran}", "--log", str(tmp_path / "log"))
    assert done.returncode == 2
    assert "up.log" in done.stderr
    assert theirs.read_text("utf-8") == "theirs"
    assert not ran.exists()
    for _ in range(2):
        assert in_shell(tmp_path, "true", "true", "--log", str(tmp_path / "new")).returncode == 0
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert names == {"packets.parquet", "up.log", "down.log", "dumbbell.json"}


# What `dumbbell shell` leaves of root's capabilities, by their numbers: files and users, the network, chroot and nice.
OF_PROGRAMS = {0, 1, 3, 4, 5, 6, 7, 8, 10, 12, 13, 18, 23}


def capabilities(status: str, name: str) -> set[int]:
    """Numbers of the capabilities in the text of ``/proc/PID/status``."""
    line = next(line for line in status.splitlines() if line.startswith(f"{name}:"))
    return {number for number in range(64) if int(line.split()[1], 16) >> number & 1}


@pytest.mark.real_time
def test_programs_on_a_path_have_what_they_need_of_roots_rights(tmp_path: Path) -> None:
    tell = "cat /proc/self/status /proc/1/status; mount -t tmpfs none /mnt; unshare --net true; ip link set lo down"
    done = in_shell(tmp_path, "true", f"{tell} && echo changed its network")
    assert done.returncode == 0, done.stderr
    program, beside = ("Name:" + part for part in done.stdout.split("Name:")[1:])
    own = capabilities(Path("/proc/self/status").read_text("ascii"), "CapBnd")
    for name in ("CapPrm", "CapEff", "CapBnd"):
        assert capabilities(program, name) == OF_PROGRAMS & own, name
    assert capabilities(beside, "CapPrm") == set()
    assert "mount: " in done.stderr
    assert "unshare" in done.stderr
    assert done.stdout.endswith("changed its network\n")


@pytest.mark.real_time
def test_threads_of_a_run_on_the_kernel_drop_roots_rights(experiment: Path) -> None:
    is_allowed()
    words = [sys.executable, "-m", "dumbbell", "run", str(experiment), "--on", "linux", "--set", "duration=1h"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:

        def rights() -> dict[str, set[int]]:
            found: dict[str, set[int]] = {}
            for thread in Path(f"/proc/{process.pid}/task").iterdir():
                with suppress(OSError):
                    status = (thread / "status").read_text("ascii")
                    name = status.splitlines()[0].split()[1]
                    found[name] = found.get(name, set()) | capabilities(status, "CapPrm")
            return found

        try:
            threads = {"emulator", "sampler", "sender", "receiver"}
            wait_until(lambda: process.poll() is not None or threads <= rights().keys())
            # They have just begun, and are about to drop them.
            wait_until(lambda: process.poll() is not None or not any(rights().get(name, set()) for name in threads))
            assert process.poll() is None
        finally:
            process.kill()


def running(mark: str) -> list[str]:
    """The command lines of processes that have ``mark`` in theirs."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark in (line := (entry / "cmdline").read_bytes().decode(errors="replace")):
                found.append(line)
    return found


def seconds_of(test: Path) -> str:
    """A time to sleep, longer than any test, by which a program of this one is known."""
    return f"{100_000 + os.getpid()}.{abs(hash(test)) % 10**9}"


@pytest.mark.real_time
def test_nothing_that_a_program_has_started_outlives_it(tmp_path: Path) -> None:
    mark = seconds_of(tmp_path)
    started = f"(setsid sleep {mark} &); sleep {mark} & disown"
    done = in_shell(
        tmp_path, f"{started}; sleep 3600", f"{started}; sleep 0.5; ps ax | grep -c '[s]leep {mark}'; exit 4"
    )
    assert done.returncode == 4, done.stderr
    wait_until(lambda: not running(mark))


@pytest.mark.real_time
def test_nothing_outlives_a_shell_that_is_killed(tmp_path: Path) -> None:
    is_allowed()
    mark = seconds_of(tmp_path)
    file = tmp_path / "path.toml"
    file.write_text(PATH, encoding="utf-8")
    started = f"(setsid sleep {mark} &); sleep {mark} & disown"
    words = ["shell", str(file), "--peer", f"{started}; sleep {mark}", "--", f"{started}; sleep {mark}"]
    with subprocess.Popen([sys.executable, "-m", "dumbbell", *words], stderr=subprocess.PIPE, text=True) as killed:
        wait_until(lambda: killed.poll() is not None or len(running(f"sleep\0{mark}")) == 6)
        if killed.poll() is not None:
            pytest.skip(str(killed.communicate()[1]))
        killed.kill()
    wait_until(lambda: not running(mark))


def test_a_ground_is_one_by_its_name_or_with_its_settings() -> None:
    assert grounds.ground("sim") == grounds.ground("simulator") == grounds.SIMULATED == grounds.Simulator(1, False)
    assert grounds.ground("sim", 3) == grounds.Simulator(threads=3)
    assert grounds.ground("sim", 1, True) == grounds.Simulator(plain=True)
    assert grounds.ground("linux") == db.Linux() == db.Linux(retries=2, sysctl={}, allow_programs=False)
    mine = db.Linux(retries=0)
    assert grounds.ground(mine) is mine
    wrong: list[tuple[tuple[Any, ...], str]] = [
        (("bsd",), "on='bsd': there are 'sim' and 'linux'"),
        (("linux", 1, True), "plain=True: the kernel carries packets as it does"),
        (("linux", 0), "threads=0: a run takes at least one thread"),
        (("linux", 2), "threads=2: a run on the kernel has no threads of its own"),
        (("sim", 0), "threads=0: a run takes at least one thread"),
        (("sim", 2, True), "threads=2: a plain run takes one thread"),
    ]
    for arguments, said in wrong:
        with pytest.raises(ValueError, match=f"^{said}$"):
            grounds.ground(*arguments)
    assert (grounds.Simulator().takes_processes, grounds.Simulator(plain=True).takes_processes) == (True, False)
    assert (mine.is_alone, mine.takes_processes, mine.threads, grounds.Simulator.is_alone) == (True, False, 1, False)
    assert grounds.Simulator().watch() is None  # type: ignore[func-returns-value]


def test_receivers_are_those_of_a_kernel_by_its_release() -> None:
    for release, known in (("6.12.117", (6, 12)), ("7.2-rc1", (7, 2)), ("5.10", (5, 10))):
        assert grounds.receivers_of(release) == _core.receivers_of_linux(known)


def void(reasons: list[str], label: str = "") -> db.Result:
    done = db.run(SCENARIO | {"duration": "1s"})
    return dataclasses.replace(done, meta=dataclasses.replace(done.meta, label=label, certificate={"void": reasons}))


def test_a_run_on_the_kernel_is_repeated_while_it_is_void(monkeypatch: pytest.MonkeyPatch) -> None:
    (point,) = experiments.load(SCENARIO).points
    given: list[db.Result] = []
    monkeypatch.setattr(grounds, "_attempt", lambda *_: given.pop(0))
    bad, worse, good = void(["late"], "loss=1%"), void(["late", "busy"], "loss=1%"), void([])
    given[:] = [bad, good]
    kept = db.Linux().run(point, _core.CancelToken(), None)
    assert kept.meta == good.meta and kept.void_attempts == (bad,)
    given[:] = [bad, bad, worse]
    with pytest.raises(db.VoidRunError, match=r"^loss=1%: void after 3 attempts: late; busy\n  help: leave") as error:
        db.Linux().run(point, _core.CancelToken(), None)
    assert error.value.attempts == (bad, bad, worse)
    given[:] = [void(["late"])]
    with pytest.raises(db.VoidRunError, match=r"^void after 1 attempts: late"):
        db.Linux(retries=0).run(point, _core.CancelToken(), None)


def test_a_command_of_one_text_is_a_line_for_the_shell() -> None:
    assert shell.words(["ls -l | wc"]) == ["sh", "-c", "ls -l | wc"]
    assert shell.words(["ls", "-l"]) == ["ls", "-l"]


def test_a_log_of_packets_is_one_of_mahimahi_for_each_direction(tmp_path: Path) -> None:
    rows = [
        ("up", 0.0015, "arrival", 1500, None), ("up", 0.0029, "departure", 1500, 1.6),
        ("down", 1.0, "arrival", 60, None),
        ("up", 2.0, "drop", 40, None), ("down", 1.5, "departure", 60, 500.4),
    ]  # fmt: skip
    frame = pl.DataFrame(rows, ["direction", "t_s", "event", "bytes", "delay_ms"], orient="row")
    written = shell.write_log(db.Table(frame), tmp_path / "log")
    assert [path.name for path in written] == ["packets.parquet", "up.log", "down.log"]
    assert (tmp_path / "log" / "up.log").read_text() == "1 + 1500\n2 - 1500 2\n2000 d 1 40\n"
    assert (tmp_path / "log" / "down.log").read_text() == "1000 + 60\n1500 - 60 500\n"
    assert pl.read_parquet(written[0]).equals(frame)


def test_an_attempt_in_a_process_of_its_own_hands_on_what_that_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (point,) = experiments.load(SCENARIO | {"duration": "1s"}).points
    kept = db.run(SCENARIO | {"duration": "1s"}).save(tmp_path / "kept")
    python = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(python))

    def attempt(script: str, **settings: Any) -> db.Result:
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
        return grounds._attempt_in_worker(point, db.Linux(**settings), _core.CancelToken(), None)

    for script, kind, said in (
        (r"printf '\377 said\n' >&2; exit 1", db.RunError, "\ufffd said"),
        ("exit 3", db.RunError, "the worker ended with status 3"),
        ("echo program >&2; exit 4", _core.ProgramError, "program"),
    ):
        with pytest.raises(kind) as error:
            attempt(script)
        assert str(error.value) == said and type(error.value) is kind
    # It is told the experiment, where the result belongs, and what it may do.
    told = tmp_path / "told"
    script = f'echo "$@" > {told}; cp "$3" {tmp_path}/task.toml; cp -r {kept} "$4"'
    result = attempt(script, sysctl={"net.a": "1 2"})
    words = told.read_text().split()
    assert words[:2] == ["-m", "dumbbell.worker"] and words[4:] == ["0", "no-programs", "net.a=1", "2"]
    assert (tmp_path / "task.toml").read_text() == point.resolved_toml
    assert result.meta.content_hash == point.content_hash and result.scenario_toml == point.resolved_toml
    attempt(script, allow_programs=True)
    assert told.read_text().split()[5] == "programs"
    stopped = _core.CancelToken()
    stopped.cancel()
    python.write_text("#!/bin/sh\nexec sleep 100\n")
    with pytest.raises(_core.RunCancelled, match="interrupted"):
        grounds._attempt_in_worker(point, db.Linux(), stopped, 5)
