"""Measures the experiments that people ask about beside ns-3: time, memory and set-up in one table and one picture.

    python benches/peers.py [--runs N] [--ns3-runs N] [--only NAME]... [--no-ns3] [--picture FILE] [--json]

CUBIC flows over TCP through drop-tail and FQ-CoDel, the same over QUIC, which ns-3 does not have, and ten Wi-Fi
stations. Every flow has 10 Mbit/s and 100 ms, so that only their number changes. The ns-3 side is `peers/peers.cc`.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import ns3
from ns3 import MIB
from run import ROOT, Program, print_table

COUNTS = {1: 60.0, 10: 10.0, 100: 2.0, 1000: 0.5}
"""Numbers of flows, and the simulated seconds that take ns-3 less than a minute."""

SHORT_S = 0.001
"""Simulated seconds of a run that does hardly more than set up."""

LONGEST_S = 600
"""Seconds by the clock after which a run of ns-3 is given up."""

STATIONS = 10
WIFI_S = 2.0
ASSOCIATION_S = 1.0
"""Simulated seconds before the flows of ns-3's stations start."""

PICTURE = ROOT / "out" / "ns3-peers.png"


@dataclass(frozen=True)
class Row:
    """One experiment: for us as a file, for ns-3 as a command line."""

    name: str
    title: str
    group: str
    flows: int
    seconds: float
    experiment: str
    """Everything but the duration."""
    ns3: tuple[str, ...] | None
    ns3_seconds: float

    def file(self, seconds: float) -> str:
        """The experiment file for so many simulated seconds."""
        return f'duration = "{seconds * 1000:g}ms"\n{self.experiment}'


def dumbbell(group: str, flows: int, transport: str, queue: str) -> Row:
    """CUBIC flows through one queue, each with a share of 10 Mbit/s."""
    buffer = round(flows * 10e6 * 0.1 / 8 / 1500) if queue == "droptail" else 10240
    experiment = f"""transport = "{transport}"

[record]
series = false

[path]
rate = "{10 * flows}mbit"
rtt = "100ms"
queue = "{queue}"
buffer = "{buffer}packets"

[[flows]]
cc = "cubic"
count = {flows}
"""
    peer = {
        "queue": "FqCoDel" if queue == "fq_codel" else "DropTail",
        "n": flows,
        "rate": f"{10 * flows}Mbps",
        "buffer": buffer,
    }
    return Row(
        name=f"{transport}-{queue}-{flows}",
        title=f"{group}, {flows:,} {'flow' if flows == 1 else 'flows'}",
        group=group,
        flows=flows,
        seconds=COUNTS[flows],
        experiment=experiment,
        ns3=tuple(f"--{key}={value}" for key, value in peer.items()) if transport == "tcp" else None,
        ns3_seconds=COUNTS[flows],
    )


def wifi() -> Row:
    """Ten stations of 325 Mbit/s download through one access point."""
    stations = range(STATIONS)
    links = "".join(
        f'[[links]]\nname = "{n}"\nfrom = "station{n}"\nto = "ap"\ndelay = "0s"\nwifi = {{ mcs = 7 }}\n\n'
        for n in stations
    )
    wire = (
        '[[links]]\nname = "wire"\nfrom = "ap"\nto = "server"\nrate = "1gbit"\ndelay = "5ms"\nreverse = "symmetric"\n'
    )
    flows = "".join(f'\n[[flows]]\ncc = "cubic"\nfrom = "server"\nto = "station{n}"\n' for n in stations)
    return Row(
        name="wifi",
        title=f"Wi-Fi, {STATIONS} stations, TCP",
        group="Wi-Fi",
        flows=STATIONS,
        seconds=WIFI_S,
        experiment=f"[record]\nseries = false\n\n{links}{wire}{flows}",
        ns3=("--net=wifi", f"--n={STATIONS}", "--delay=5"),
        ns3_seconds=WIFI_S + ASSOCIATION_S,
    )


ROWS = (
    *(dumbbell("TCP, drop-tail", flows, "tcp", "droptail") for flows in COUNTS),
    *(dumbbell("TCP, FQ-CoDel", flows, "tcp", "fq_codel") for flows in COUNTS),
    *(dumbbell("QUIC, drop-tail", flows, "quic", "droptail") for flows in COUNTS),
    wifi(),
)


@dataclass(frozen=True)
class Sample(ns3.PacketCost):
    """One run, and one of a millisecond."""

    goodput_mbps: float
    peak_rss_bytes: int
    setup_s: float
    """CPU seconds of the whole process of a run of a millisecond."""


def process(command: Sequence[str]) -> tuple[str, float]:
    """What a command prints, and the CPU seconds of its process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=LONGEST_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ours(program: Program, row: Row, directory: Path) -> Sample:
    """Runs the experiment here."""
    file = directory / f"{row.name}.toml"
    file.write_text(row.file(row.seconds))
    cost = program.run_file(file)
    if cost.goodput_bytes is None or cost.peak_rss_bytes is None:
        raise RuntimeError("no goodput, or a system that does not say what memory a process has")
    setup_s = process([str(program.path), str(file), f"duration={SHORT_S * 1000:g}ms"])[1]
    mbps = cost.goodput_bytes * 8e-6 / cost.sim_s
    return Sample(cost.cpu_s, cost.packets, mbps, cost.peak_rss_bytes, setup_s)


def theirs(peer: ns3.Ns3, row: Row) -> Sample:
    """Runs it in ns-3."""
    command = [str(peer.program), *(row.ns3 or ())]
    values = ns3.words(process([*command, f"--dur={row.ns3_seconds}"])[0])
    setup_s = process([*command, f"--dur={SHORT_S}"])[1]
    return Sample(
        cpu_s=float(values["run_cpu"]),
        packets=int(values["packets"]),
        goodput_mbps=float(values["goodput_mbps"]) * row.ns3_seconds / row.seconds,
        peak_rss_bytes=round(float(values["rss_mb"]) * MIB),
        setup_s=setup_s,
    )


@dataclass(frozen=True)
class Measured:
    """All runs of a row."""

    row: Row
    ours: Sequence[Sample]
    ns3: Sequence[Sample]

    @property
    def ratio(self) -> float | None:
        """How many times as long ns-3 takes per packet, by the medians."""
        return ns_per_packet(self.ns3) / ns_per_packet(self.ours) if self.ns3 else None

    def as_json(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "name": self.row.name,
            "title": self.row.title,
            "flows": self.row.flows,
            "simulated_s": self.row.seconds,
            "ours": [asdict(sample) for sample in self.ours],
            "ns3": [asdict(sample) for sample in self.ns3],
            "ratio": self.ratio,
        }


def ns_per_packet(samples: Sequence[Sample]) -> float:
    """Median over the runs."""
    return statistics.median(sample.ns_per_packet for sample in samples)


def cells(samples: Sequence[Sample]) -> list[str]:
    """Time, memory, set-up and goodput of one simulator."""
    if not samples:
        return ["-"] * 4
    memory = max(sample.peak_rss_bytes for sample in samples) / MIB
    setup_ms = 1e3 * statistics.median(sample.setup_s for sample in samples)
    return [
        f"{ns_per_packet(samples):,.0f}",
        f"{memory:,.0f}",
        f"{setup_ms:,.0f}",
        f"{samples[0].goodput_mbps:,.0f}",
    ]


def print_rows(measured: Sequence[Measured]) -> None:
    """The table, ours / ns-3 in each cell."""
    header = ("experiment", "ns/packet", "ratio", "peak MiB", "set-up ms", "Mbit/s")
    rows = []
    for one in measured:
        pairs = zip(cells(one.ours), cells(one.ns3), strict=True)
        time, memory, setup, goodput = (f"{mine} / {other}" for mine, other in pairs)
        ratio = "-" if one.ratio is None else f"{one.ratio:,.0f}"
        rows.append((f"{one.row.title}, {one.row.seconds:g} s", time, ratio, memory, setup, goodput))
    print("Dumbbell / ns-3:\n")
    print_table(header, rows)


def draw(measured: Sequence[Measured], path: Path, peer: str) -> None:
    """Time per packet against the number of flows."""
    from dumbbell.plots.style import legend, look, picture

    looks = {
        "TCP, drop-tail": look("cubic"),
        "TCP, FQ-CoDel": look("bbr"),
        "QUIC, drop-tail": look("reno"),
        "Wi-Fi": look("bbr2"),
    }
    handles = []
    with picture(7.0, 4.6) as figure:
        axes = figure.subplots()
        for group, style in looks.items():
            rows = [one for one in measured if one.row.group == group]
            for name, filled in ((peer, True), ("Dumbbell", False)):
                points = [(one.row.flows, one.ns3 if filled else one.ours) for one in rows]
                drawn = [(flows, ns_per_packet(samples)) for flows, samples in points if samples]
                if drawn:
                    face = {} if filled else {"markerfacecolor": "white"}
                    (line,) = axes.plot(
                        *zip(*drawn, strict=True), marker=style.marker, label=f"{name}: {group}", **style.line(**face)
                    )
                    handles.append(line)
        axes.set(xscale="log", yscale="log", xlabel="flows (number)", ylabel="CPU time (ns per delivered packet)")
        axes.grid(visible=True, which="major", axis="y", alpha=0.3)
        legend(figure, handles)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.write(path.with_suffix(""), ["png"])


def find_peer(build_dir: Path) -> ns3.Ns3 | None:
    """The compiled `peers.cc`; says why there is none."""
    directory = ROOT / "benches" / "peers"
    found = ns3.build(directory / "peers.cc", directory / "build.sh", build_dir)
    if isinstance(found, ns3.Ns3):
        return found
    print(f"ns-3 is not measured: {found}.", file=sys.stderr)
    return None


def runs_of(peer: ns3.Ns3, row: Row, runs: int) -> list[Sample]:
    """Runs of ns-3; none where one takes too long."""
    try:
        return [theirs(peer, row) for _ in range(runs)]
    except subprocess.TimeoutExpired:
        print(f"ns-3 is left out of {row.title}: it takes more than {LONGEST_S} s.", file=sys.stderr)
        return []


def main() -> int:
    """Measures, prints and draws."""
    parser = argparse.ArgumentParser(description="Measure experiments beside ns-3.")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs of each experiment (default: 5)")
    parser.add_argument("--ns3-runs", type=int, default=1, metavar="N", help="the same in ns-3 (default: 1)")
    parser.add_argument("--only", action="append", choices=[row.name for row in ROWS], help="may be repeated")
    parser.add_argument("--no-ns3", action="store_true", help="do not run ns-3")
    parser.add_argument("--picture", type=Path, default=PICTURE, metavar="FILE", help=f"default: {PICTURE.name} in out")
    parser.add_argument("--json", action="store_true", help="print JSON with every run instead of the table")
    options = parser.parse_args()
    if min(options.runs, options.ns3_runs) < 1:
        parser.error("--runs and --ns3-runs must be at least 1")

    program = Program.build()
    peer = None if options.no_ns3 else find_peer(program.path.parent)
    measured = []
    with tempfile.TemporaryDirectory() as directory:
        for row in ROWS:
            if options.only and row.name not in options.only:
                continue
            print(f"Measuring {row.title} ...", file=sys.stderr)
            others = runs_of(peer, row, options.ns3_runs) if peer and row.ns3 else []
            measured.append(Measured(row, [ours(program, row, Path(directory)) for _ in range(options.runs)], others))
    if options.json:
        print(json.dumps([one.as_json() for one in measured], indent=2))
    else:
        print_rows(measured)
    draw(measured, options.picture, f"ns-3 {peer.version}" if peer else "ns-3")
    return 0


if __name__ == "__main__":
    sys.exit(main())
