"""Runs the scenarios of `run.py` in ns-3, where it is installed.

The ns-3 side is a program of its own (`dumbbell.cc` with its build script) that lives beside the project in
`../shared/peers/ns3`. It is compiled against the `ns3` wheel of a virtual environment and asked for its counters only:
no traces, no recording.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEER = ROOT.parent / "shared" / "peers" / "ns3"
DEFAULT_VENV = ROOT / "benches" / ".venv-ns3"

MIB = 1 << 20


@dataclass(frozen=True)
class Ns3Scenario:
    """A dumbbell as `dumbbell.cc` takes it; access links of 10 Gbit/s carry part of the round trip."""

    controller: str
    flows: int
    rate: str
    access_ms: int
    """One-way delay of each of the two access links of a flow."""
    bottleneck_ms: int
    """One-way delay of the bottleneck; the base RTT is `2 * (2 * access_ms + bottleneck_ms)`."""
    queue: str
    seconds: int
    takes_minutes: bool = False

    def arguments(self) -> list[str]:
        """The command line of `dumbbell.cc`.

        Segments and ACK frequency are as in ours, and every flow draws from a random stream of its own. Socket buffers
        of 4 MiB, more than any flow here needs, bound the lists that ns-3 walks for every ACK: with 16 MiB the one BBR
        flow takes it 2.6 times as long. Classic recovery leaves the window to BBR.
        """
        values = {
            "cca": self.controller,
            "n": self.flows,
            "mss": 1448,
            "delack": 2,
            "sharedStream": 0,
            "accRate": "10Gbps",
            "accL": self.access_ms,
            "accR": self.access_ms,
            "bnRate": self.rate,
            "bnDelay": self.bottleneck_ms,
            "queue": self.queue,
            "buf": 4 * MIB,
            "recovery": "TcpClassicRecovery" if self.controller == "TcpBbr" else "TcpPrrRecovery",
            "dur": self.seconds,
        }
        return [f"--{key}={value}" for key, value in values.items()]


@dataclass(frozen=True)
class PacketCost:
    """The CPU time of a run, and its packets."""

    cpu_s: float
    packets: int
    """Data packets that reached a receiver, duplicates included."""

    @property
    def ns_per_packet(self) -> float:
        """CPU nanoseconds per data packet that reached a receiver."""
        return self.cpu_s * 1e9 / self.packets


@dataclass(frozen=True)
class Ns3Cost(PacketCost):
    """What one run cost, setting the network up excluded."""

    sim_s: float
    goodput_mbps: float
    drops: int
    peak_rss_bytes: int


@dataclass(frozen=True)
class Ns3:
    """A compiled ns-3 program."""

    program: Path
    version: str

    def run(self, scenario: Ns3Scenario) -> Ns3Cost:
        """Simulates `scenario` to its end."""
        command = [str(self.program), *scenario.arguments()]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
        values = words(done.stdout)
        return Ns3Cost(
            sim_s=float(values["dur"]),
            cpu_s=float(values["run_cpu"]),
            packets=int(values["arrived"]),
            goodput_mbps=float(values["goodput_total"]),
            drops=int(values["bn_drops"]),
            peak_rss_bytes=round(float(values["rss_mb"]) * MIB),
        )


def words(printed: str) -> dict[str, str]:
    """The `key=value` pairs that an ns-3 program prints."""
    return dict(word.split("=", 1) for word in printed.split() if "=" in word)


def find(build_dir: Path) -> Ns3 | str:
    """Compiles the ns-3 program when it is out of date; the reason in words when there is none to be had."""
    source = PEER / "dumbbell.cc"
    if not source.exists():
        return "the ns-3 program, ../shared/peers/ns3/dumbbell.cc, is not here"
    return build(source, PEER / "build_wheel.sh", build_dir)


def build(source: Path, script: Path, build_dir: Path) -> Ns3 | str:
    """Compiles a program against the installed wheel when it is out of date: `script VENV OUT` does it."""
    venv = Path(os.environ.get("DUMBBELL_NS3", DEFAULT_VENV)).absolute()
    metadata = next(venv.glob("lib/python3*/site-packages/ns3-*.dist-info"), None)
    if metadata is None:
        return f"no ns-3 in {venv}: `make bench-ns3` installs it, DUMBBELL_NS3 names another virtual environment"
    version = metadata.name.removeprefix("ns3-").removesuffix(".dist-info")
    program = build_dir / f"ns3-{source.stem}-{version}"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        build_dir.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["bash", script, venv, program], capture_output=True, text=True)
        if done.returncode != 0:
            return f"the ns-3 program does not compile against {venv}:\n{done.stderr.strip()}"
    return Ns3(program, version)
