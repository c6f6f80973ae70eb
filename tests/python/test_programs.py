"""Flows that are two programs; what runs on the kernel is skipped, with the reason, where the machine forbids it."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import _core, agreement, why
from dumbbell.console import PROGRAM_STATUS
from load import PATIENCE_S, measured, wait_until
from test_linux import is_allowed, run, where_allowed

PYTHON = sys.executable

SENDS = """
import socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
connection, _ = listener.accept()
left = int(sys.argv[3])
while left > 0:
    left -= connection.send(bytes(min(left, 65536)))
connection.close()
connection, _ = listener.accept()
"""
"""A server that sends so many bytes to the first who connects, and then waits for another."""

RECEIVES = """
import socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while connection.recv(65536):
    pass
"""

TAKES = """
import socket, sys
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
connection, _ = listener.accept()
while connection.recv(65536):
    pass
"""
"""A server that takes what comes, and ends with it."""

WRITES = """
import socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while True:
    connection.sendall(bytes(65536))
"""

ANSWERS = """
import socket, sys, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], int(sys.argv[2])))
_, client = server.recvfrom(2048)
while True:
    server.sendto(bytes(1000), client)
    time.sleep(0.004)
"""
"""A server of UDP that sends 2 Mbit/s to whom it hears from."""

ASKS = """
import socket, sys
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.sendto(b"?", (sys.argv[1], int(sys.argv[2])))
while client.recv(2048):
    pass
"""

ENDLESS = 10**12
HANGS = f"{PYTHON} -c 'import time; time.sleep(3600)'"


@pytest.fixture
def scripts(tmp_path: Path) -> Mapping[str, str]:
    """Command lines of programs that are written for the test."""
    texts = {
        "sends": SENDS, "receives": RECEIVES, "takes": TAKES, "writes": WRITES, "answers": ANSWERS, "asks": ASKS,
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    return {name: f"{PYTHON} {tmp_path / name}.py {{server}} {{port}}" for name in texts}


def scenario(program: Mapping[str, str], **others: Any) -> dict[str, Any]:
    return {
        "duration": "4s",
        "warmup": "2s",
        "path": {"rate": "10mbit", "rtt": "20ms"},
        "flows": [{"label": "ours", "program": dict(program)}],
    } | others


def download(scripts: Mapping[str, str], size: int = ENDLESS) -> dict[str, str]:
    return {"server": f"{scripts['sends']} {size}", "client": scripts["receives"]}


def run_programs(document: dict[str, Any]) -> db.Result:
    return run(document, allow_programs=True)


def first(result: db.Result) -> dict[str, Any]:
    return result.flows.to_polars().row(0, named=True)


UNKNOWN = [
    "retransmits", "lost", "spurious_losses", "rto_count", "probe_count", "undo_count", "duplicates", "acks",
]  # fmt: skip
"""What nobody sees of a program."""


@pytest.mark.real_time
def test_a_download_fills_the_path_and_what_nobody_sees_is_null(scripts: Mapping[str, str], tmp_path: Path) -> None:
    def holds(result: db.Result) -> None:
        flow = first(result)
        assert flow["goodput_mbps"] == pytest.approx(10 * 1448 / 1500, rel=0.02)
        assert flow["throughput_mbps"] == pytest.approx(10, rel=0.02)
        assert 20 <= flow["min_rtt_ms"] <= flow["mean_rtt_ms"] < 45

    result = measured(lambda: run_programs(scenario(download(scripts))), holds)
    flow = first(result)
    assert (flow["label"], flow["cc"], flow["algorithm"]) == ("ours", "ours", "unknown")
    assert {column: flow[column] for column in UNKNOWN} == dict.fromkeys(UNKNOWN)
    assert flow["sent_total"] >= flow["delivered_bytes_total"] / 1448
    samples = result.series.to_polars()
    for column in ("cwnd", "inflight", "pacing_mbps", "srtt_ms", "sent_total", "packets_out"):
        assert samples[column].null_count() == samples.height > 0, column
    assert samples.filter(pl.col("t_s") > 2)["goodput_mbps"].min() > 0  # type: ignore[operator]
    loaded = db.load_result(result.save(tmp_path / "out"))
    assert loaded.meta == result.meta
    assert loaded.meta.certificate is not None
    notes = loaded.meta.certificate["flows"][0]
    assert notes["server"]["command"][2:4] == ["10.0.0.1", "10000"]
    # The run ended both.
    assert (notes["server"]["status"], notes["client"]["status"]) == (None, None)
    assert notes["client"]["cpu_s"] > 0


@pytest.mark.real_time
@pytest.mark.parametrize("chosen", [None, "reno"])
def test_the_certificate_names_the_algorithm_of_tcp_sockets(tmp_path: Path, chosen: str | None) -> None:
    asks = tmp_path / "asks.py"
    asks.write_text(RECEIVES + "print(connection.getsockopt(6, 13, 16).rstrip(bytes(1)).decode())\n", encoding="utf-8")
    sends = tmp_path / "sends.py"
    sends.write_text(SENDS, encoding="utf-8")
    program = {
        "server": f"{PYTHON} {sends} {{server}} {{port}} 1000",
        "client": f"{PYTHON} {asks} {{server}} {{port}}",
    }
    sysctl = {} if chosen is None else {"net.ipv4.tcp_congestion_control": chosen}
    result = run(scenario(program, duration="2s", warmup="0s"), allow_programs=True, sysctl=sysctl)
    assert result.meta.certificate is not None
    notes = result.meta.certificate["flows"][0]
    default = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text("utf-8").strip()
    # TCP_CONGESTION of its connection.
    assert notes["client"]["said"] == [notes["default_algorithm"]] == [chosen or default]


@pytest.mark.real_time
def test_an_upload_goes_over_the_described_direction_too(scripts: Mapping[str, str]) -> None:
    def holds(result: db.Result) -> None:
        assert first(result)["goodput_mbps"] == pytest.approx(10 * 1448 / 1500, rel=0.02)
        links = {row["name"]: row["throughput_mbps"] for row in result.links.rows()}
        assert links["bottleneck"] == pytest.approx(10, rel=0.02)
        assert links["bottleneck-reverse"] < 1

    program = {"server": scripts["takes"], "client": scripts["writes"], "direction": "up"}
    measured(lambda: run_programs(scenario(program)), holds)


@pytest.mark.real_time
def test_programs_share_a_link_with_flows_of_the_kernel(scripts: Mapping[str, str]) -> None:
    flows = [{"cc": "cubic"}, {"label": "ours", "program": download(scripts)}]

    def holds(result: db.Result) -> None:
        kernel, ours = result.flows.rows()
        assert kernel["goodput_mbps"] + ours["goodput_mbps"] == pytest.approx(10 * 1448 / 1500, rel=0.02)
        assert min(kernel["goodput_mbps"], ours["goodput_mbps"]) > 0.5

    # Flows that start moments apart share a link unevenly at first.
    result = measured(lambda: run_programs(scenario({}, flows=flows, duration="15s")), holds)
    kernel, ours = result.flows.rows()
    assert kernel["retransmits"] is not None
    assert ours["retransmits"] is None
    # Each drop is of one of them.
    drops = result.links.rows()[0]["drops_total"]
    assert kernel["network_drops_total"] + ours["network_drops_total"] == drops


@pytest.mark.real_time
def test_of_datagrams_the_round_trip_is_unknown_and_the_rest_is_there(scripts: Mapping[str, str]) -> None:
    def holds(result: db.Result) -> None:
        flow = first(result)
        assert flow["goodput_mbps"] == pytest.approx(2, rel=0.15)
        assert flow["mean_one_way_delay_ms"] == pytest.approx(10 + 1028 * 8 / 10e3, abs=0.5)

    program = {"server": scripts["answers"], "client": scripts["asks"]}
    flow = first(measured(lambda: run_programs(scenario(program)), holds))
    assert (flow["mean_rtt_ms"], flow["min_rtt_ms"]) == (None, None)
    assert flow["completion_s"] is None


@pytest.mark.real_time
def test_a_client_that_ends_by_itself_has_completed_its_flow(scripts: Mapping[str, str]) -> None:
    def holds(result: db.Result) -> None:
        # 0.8 s at the rate of the path, and the start of Python.
        assert 0.8 < first(result)["completion_s"] < 1.8

    result = measured(lambda: run_programs(scenario(download(scripts, 965_333), warmup="0s")), holds)
    flow = first(result)
    assert flow["delivered_bytes_total"] == 965_333
    assert flow["transfer_mbps"] == pytest.approx(965_333 * 8e-6 / flow["completion_s"])
    assert result.meta.certificate is not None
    assert result.meta.certificate["flows"][0]["client"]["status"] == 0


@pytest.mark.real_time
def test_programs_begin_and_end_at_the_times_of_the_flow(scripts: Mapping[str, str]) -> None:
    flow = {"program": download(scripts), "start": "1s", "stop": "2500ms"}
    result = run_programs(scenario({}, flows=[flow], duration="5s", warmup="0s"))
    samples = result.series.to_polars()
    when = samples.filter(pl.col("goodput_mbps") > 0)["t_s"]
    assert 1 < when.min() < 2.5  # type: ignore[operator]
    # Asked to end at 2.5 s; what is in the queue then still arrives.
    assert when.max() < 4  # type: ignore[operator]
    assert first(result)["start_s"] == pytest.approx(1, abs=0.5)
    # The name of its program, in the place of a label.
    assert first(result)["label"] == Path(PYTHON).name


FAILURES = [
    pytest.param("sends", "sh -c 'echo in words; exit 3'", ["client ended with exit status 3", "in words"], id="dies"),
    pytest.param("sends", "sh -c 'kill -9 $$'", ["the client ended with exit status 137"], id="is killed"),
    pytest.param("sends", "true", ["no data has reached"], id="does nothing"),
    pytest.param("sends", "no-such-program", ["cannot be started: `no-such-program`"], id="is not there"),
    pytest.param("sh -c 'echo why; exit 5'", "receives", ["exit status 5 before it listened", "why"], id="server dies"),
    pytest.param(
        f"{PYTHON} -m http.server {{port}}", f"{PYTHON} -c 'import urllib.request as u; u.urlopen(\"http://{{server}}:9\")'",
        ["the client ended with exit status 1", "refused"], id="nobody listens there",
    ),
]  # fmt: skip


@pytest.mark.real_time
@pytest.mark.parametrize(("server", "client", "words"), FAILURES)
def test_a_program_that_fails_ends_the_run_with_what_it_said(
    scripts: Mapping[str, str], tmp_path: Path, server: str, client: str, words: list[str]
) -> None:
    is_allowed()
    lines = {**scripts, "sends": f"{scripts['sends']} 1000"}
    document = scenario({"server": lines.get(server, server), "client": lines.get(client, client)}, duration="3s")
    done = in_words(document, tmp_path)
    assert done.returncode == PROGRAM_STATUS, done.stderr
    for part in ["flow 0 (ours)", *words]:
        assert part in done.stderr
    assert not (tmp_path / "out").exists()


def in_words(document: dict[str, Any], tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """What the command says of an experiment that is allowed to run programs."""
    file = tmp_path / "programs.toml"
    file.write_text(written(document), encoding="utf-8")
    return subprocess.run(command(file, tmp_path), capture_output=True, text=True, timeout=PATIENCE_S)


def command(file: Path, tmp_path: Path) -> list[str]:
    options = ["--on", "linux", "--allow-programs", "--out", str(tmp_path / "out")]
    return [PYTHON, "-m", "dumbbell", "run", str(file), *options]


def written(document: dict[str, Any]) -> str:
    from dumbbell.experiment import toml

    return "".join(f"{key} = {toml(value)}\n" for key, value in document.items())


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("program", "words"),
    [
        ({"server": HANGS, "client": "true"}, "the server does not listen after 20s"),
        ({"server": f"{PYTHON} -m http.server {{port}}", "client": HANGS}, "the client has sent nothing for 20s"),
    ],
)
def test_a_program_that_hangs_ends_the_run(program: dict[str, str], words: str) -> None:
    is_allowed()
    with pytest.raises(_core.ProgramError, match=words):
        run_programs(scenario(program, duration="1h"))


@pytest.mark.real_time
def test_a_server_that_dies_meanwhile_ends_the_run(scripts: Mapping[str, str], tmp_path: Path) -> None:
    is_allowed()
    dies = tmp_path / "dies.py"
    dies.write_text(TAKES.replace("    pass", "    sys.exit('it broke')"), encoding="utf-8")
    program = {"server": f"{PYTHON} {dies} {{server}} {{port}}", "client": scripts["writes"], "direction": "up"}
    with pytest.raises(_core.ProgramError, match=r"(?s)the (server|client) ended with exit status 1.*it broke"):
        run_programs(scenario(program, duration="1h"))


def processes_of(text: str) -> list[str]:
    """Processes whose command line has this text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if text in words and path.parent.name != str(os.getpid()):
            found.append(words)
    return found


@pytest.mark.real_time
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_outlives_a_run_that_is_killed(scripts: Mapping[str, str], tmp_path: Path, number: int) -> None:
    is_allowed()
    mark = f"mark-{tmp_path.name}"
    stubborn = f"sh -c 'trap \"\" TERM INT HUP; {scripts['receives']} & (sleep 3600; echo {mark}) & wait'"
    program = {"server": f"{scripts['sends']} {ENDLESS}", "client": stubborn}
    file = tmp_path / "programs.toml"
    file.write_text(written(scenario(program, duration="1h")), encoding="utf-8")
    with subprocess.Popen(command(file, tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: len(processes_of(mark)) >= 2 and processes_of("receives.py") != [])
        finally:
            process.send_signal(number)
            process.wait(PATIENCE_S)
    ours = str(tmp_path)
    wait_until(lambda: not processes_of(mark) and not processes_of(ours))


@pytest.mark.real_time
def test_what_a_program_has_started_ends_with_the_run(scripts: Mapping[str, str], tmp_path: Path) -> None:
    mark = f"mark-{tmp_path.name}"
    leaves = f"sh -c 'setsid sh -c \"sleep 3600; echo {mark}\" & {scripts['receives']}'"
    run_programs(scenario({"server": f"{scripts['sends']} 10000", "client": leaves}, duration="3s", warmup="0s"))
    assert processes_of(mark) == []


@pytest.mark.real_time
def test_two_stacks_are_compared_and_grouped_by_their_names(scripts: Mapping[str, str]) -> None:
    named = [{"label": name, "program": download(scripts)} for name in ("one", "other")]
    results = [run_programs(scenario({}, flows=[flow])) for flow in named]
    pairs = agreement.pairs(*results)
    assert {pair.label for pair in pairs} == {"one | other"}
    assert {"goodput_mbps", "mean_rtt_ms"} <= {pair.measure for pair in pairs}
    assert [first(result)["cc"] for result in results] == ["one", "other"]
    with pytest.raises(db.RunError, match="flow one is a `program`"):
        why.answers(results[0])


@pytest.mark.real_time
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_iperf3_is_a_flow() -> None:
    program = {
        "server": "iperf3 --server --one-off --port {port}",
        "client": "iperf3 --client {server} --port {port} --time 4 --reverse",
    }

    def holds(result: db.Result) -> None:
        flow = first(result)
        assert flow["goodput_mbps"] == pytest.approx(10 * 1448 / 1500, rel=0.02)
        assert 4 < flow["completion_s"] < 5.5

    result = measured(lambda: run_programs(scenario(program, duration="6s", warmup="1s", cooldown="2500ms")), holds)
    assert result.meta.certificate is not None
    assert result.meta.certificate["flows"][0]["client"]["said"][-1] == "iperf Done."


@pytest.mark.real_time
@pytest.mark.skipif(shutil.which("gtlsserver") is None, reason="ngtcp2-server is not installed")
@pytest.mark.skipif(shutil.which("gtlsclient") is None, reason="ngtcp2-client is not installed")
def test_ngtcp2_is_a_flow(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    making = f"openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout {key} -out {certificate}"
    subprocess.run(making.split(), check=True, capture_output=True)
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 30)
    program = {
        "server": f"gtlsserver --quiet --htdocs {tmp_path} {{server}} {{port}} {key} {certificate}",
        "client": "gtlsclient --quiet {server} {port} https://{server}:{port}/large",
    }

    def holds(result: db.Result) -> None:
        assert first(result)["goodput_mbps"] == pytest.approx(10 * 1452 / 1500, rel=0.03)

    measured(lambda: run_programs(scenario(program)), holds)


EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.real_time
def test_the_example_runs_with_python_alone() -> None:
    if shutil.which("python3") is None:
        pytest.skip("python3 is not on the PATH")
    short = {"duration": "4s", "warmup": "2s"}

    def holds(result: db.Result) -> None:
        assert sum(row["goodput_mbps"] for row in result.flows.rows()) == pytest.approx(20 * 1448 / 1500, rel=0.03)

    def measure() -> db.Result:
        with where_allowed():
            try:
                return db.run(EXAMPLES / "programs.toml", set=short, on=db.Linux(retries=5, allow_programs=True))
            except db.VoidRunError as error:
                pytest.skip(str(error))

    measured(measure, holds)


@pytest.mark.parametrize("file", sorted((EXAMPLES / "stacks").glob("*.toml")), ids=lambda file: str(file.name))
def test_the_comparison_of_stacks_is_a_valid_experiment(dumbbell: Cli, file: Path) -> None:
    done = dumbbell("explain", file)
    assert done.status == 0, done.err


REFUSED = [
    ([], "runs in real time with --on linux only"),
    (["--allow-programs"], "--allow-programs goes with --on linux"),
    (["--on", "linux"], "give --allow-programs"),
    (
        ["--on", "linux", "--allow-programs", "--set", "flows[0].program.client=fetch {sever}"],
        "did you mean `{server}`?",
    ),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_what_cannot_be_is_refused(dumbbell: Cli, tmp_path: Path, options: list[str], words: str) -> None:
    if "linux" in options and sys.platform != "linux":
        pytest.skip("there is no such ground here")
    made = tmp_path / "made"
    file = tmp_path / "programs.toml"
    file.write_text(written(scenario({"server": f"touch {made}", "client": f"touch {made}"})), encoding="utf-8")
    done = dumbbell("run", file, "--out", tmp_path / "out", *options)
    assert (done.status, words in done.err) == (2, True), done.err
    assert not made.exists()
    assert not (tmp_path / "out").exists()


def test_consent_that_nothing_asks_for_is_refused(dumbbell: Cli, experiment: Path) -> None:
    done = dumbbell("run", experiment, "--on", "linux", "--allow-programs")
    assert done.status == 2
    assert "no flow of" in done.err


def test_both_command_lines_can_be_read_before_they_run(dumbbell: Cli, tmp_path: Path) -> None:
    file = tmp_path / "programs.toml"
    file.write_text(written(scenario({"server": "serve {port}", "client": "fetch {server}"})), encoding="utf-8")
    done = dumbbell("explain", file)
    assert done.status == 0, done.err
    assert "server `serve {port}` and client `fetch {server}`, of which the server sends the data" in done.out
