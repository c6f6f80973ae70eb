"""Measures what a delivered data packet costs, and the same scenarios in ns-3 where it is installed.

    python benches/run.py [--runs N] [--only NAME]... [--no-instructions | --whole] [--no-ns3 | --all-ns3] [--json]

CPU time is that of the simulating thread, from the wiring of the network to the finished tables: the median of several
processes, with the fastest and the slowest. Instructions come from callgrind where valgrind is installed: the
difference of two runs of different length over the difference of their packets, so that loading the program and the
file cancels out, and with it how flows start. With `--whole` whole runs are counted. `docs/design/performance.md`
discusses all of it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import ns3
from ns3 import MIB, Ns3, Ns3Cost, Ns3Scenario, PacketCost

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "benches" / "scenarios"

NS3_RUNS = 3
"""How often ns-3 runs a scenario that does not take it minutes."""


@dataclass(frozen=True)
class Benchmark:
    """A scenario file, and how the slower instruments look at it."""

    name: str
    title: str
    counted_s: tuple[int, int]
    """Simulated seconds of the two runs whose instructions are subtracted."""
    first_s: int
    """Its first seconds, in which everything happens that happens later."""
    ns3: Ns3Scenario | None = None


def single(controller: str) -> Ns3Scenario:
    """One flow on 100 Mbit/s and 100 ms behind 1 BDP."""
    return Ns3Scenario(controller, 1, "100Mbps", access_ms=1, bottleneck_ms=48, queue="1250000B", seconds=60)


def sixteen(queue: str) -> Ns3Scenario:
    """Sixteen BBR flows on 1 Gbit/s and 120 ms."""
    return Ns3Scenario(
        "TcpBbr", 16, "1Gbps", access_ms=5, bottleneck_ms=50, queue=queue, seconds=50, takes_minutes=True
    )


BENCHMARKS = (
    Benchmark("bbr-1", "1 BBR flow, 100 Mbit/s, 100 ms, 1 BDP, 60 s", (30, 60), 5, single("TcpBbr")),
    Benchmark("cubic-1", "1 CUBIC flow, 100 Mbit/s, 100 ms, 1 BDP, 60 s", (30, 60), 5, single("TcpCubic")),
    Benchmark("bbr-16-shallow", "16 BBR flows, 1 Gbit/s, 120 ms, 100 packets, 50 s", (5, 10), 1, sixteen("100p")),
    Benchmark("bbr-16-deep", "16 BBR flows, 1 Gbit/s, 120 ms, 5000 packets, 50 s", (5, 10), 1, sixteen("5000p")),
    Benchmark("bbr-codel", "1 BBR flow, 100 Mbit/s, 100 ms, CoDel, 1 BDP, 60 s", (30, 60), 3),
    Benchmark("bbr-reordered", "1 BBR flow, 1 Gbit/s, 100 ms, 1 % of the packets overtake, 5 s", (2, 3), 1),
    Benchmark("quic-bbr-1", "1 BBR flow over QUIC, 100 Mbit/s, 100 ms, 1 BDP, 20 s", (5, 20), 3),
    Benchmark("cubic-10000", "10,000 CUBIC flows, 10 Gbit/s, 100 ms, 1 BDP, 10 s", (2, 4), 1),
    Benchmark("cubic-100000", "100,000 CUBIC flows, 10 Gbit/s, 100 ms, 1 BDP, 4 s", (1, 2), 1),
    Benchmark("cubic-1000", "1,000 CUBIC flows, 10 Gbit/s, 100 ms, 1 BDP, 4 s", (1, 2), 1),
    Benchmark("cubic-1000-rtts", "The same, each with its own RTT from 50 to 150 ms, 4 s", (1, 2), 1),
)


@dataclass(frozen=True)
class Cost(PacketCost):
    """What `dumbbell-bench` says about one run."""

    flows: int
    sim_s: float
    process_cpu_s: float
    events: int
    acks: int | None
    drops: int | None
    goodput_bytes: int | None
    bytes_per_flow: int
    series_rows: int
    series_bytes: int
    peak_rss_bytes: int | None


def compiler_tool(name: str) -> Path:
    """A program of the compiler's `llvm-tools`; without it this ends with status 2."""
    said = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout
    found = next(Path(said.strip()).glob(f"lib/rustlib/*/bin/{name}"), None)
    if found is None:
        print(f"{name} is not installed: rustup component add llvm-tools", file=sys.stderr)
        raise SystemExit(2)
    return found


def drawn(seeds: int, folder: Path) -> Iterable[Path]:
    """Files with the experiments that the fuzz target `twin` draws."""
    fuzz = executable("dumbbell-fuzz")
    for seed in range(seeds):
        file = folder / f"{seed}.toml"
        file.write_bytes(
            subprocess.run([fuzz, "--print", "twin", str(seed)], check=True, stdout=subprocess.PIPE).stdout
        )
        yield file


def executable(package: str, *options: str, **variables: str) -> Path:
    """Compiles the program of a package, with `options` of Cargo and `variables` of the environment: where it lies."""
    command = ["cargo", "build", "--release", "--locked", "--package", package, *options]
    done = subprocess.run(
        [*command, "--message-format", "json-render-diagnostics"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | variables,
    )
    messages = (json.loads(line) for line in done.stdout.splitlines())
    return next(Path(message["executable"]) for message in messages if message.get("executable"))


def callgrind(command: Sequence[str], *options: str, **variables: str) -> tuple[str, int]:
    """What a command prints, and its instructions; with `options` of callgrind and `variables` of the environment."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}", *options, *command],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | variables,
    )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        raise RuntimeError(f"callgrind did not report a count:\n{done.stderr}")
    return done.stdout, int(collected[1])


@dataclass(frozen=True)
class Program:
    """The compiled `dumbbell-bench`."""

    path: Path

    @classmethod
    def build(cls) -> Program:
        """Compiles it as the package is compiled, and finds where Cargo put it."""
        return cls(executable("dumbbell-bench"))

    def run(self, benchmark: Benchmark) -> Cost:
        """One run in a process of its own."""
        return self.run_file(SCENARIOS / f"{benchmark.name}.toml")

    def run_file(self, file: Path, *settings: str) -> Cost:
        """One run of an experiment file, with other `settings`, in a process of its own."""
        done = subprocess.run([str(self.path), str(file), *settings], check=True, stdout=subprocess.PIPE, text=True)
        return Cost(**json.loads(done.stdout))

    def instructions_per_packet(self, benchmark: Benchmark, *, whole: bool) -> float:
        """Instructions of the longer run less those of the shorter, per packet by which it is longer."""
        lengths = [["duration=1ms"], []] if whole else [[f"duration={seconds}s"] for seconds in benchmark.counted_s]
        file = SCENARIOS / f"{benchmark.name}.toml"
        (few, before), (many, after) = (self.count(file, *length) for length in lengths)
        return (after - before) / (many.packets - few.packets)

    def count(self, file: Path, *settings: str, within: str | None = None) -> tuple[Cost, int]:
        """What a run costs, and its instructions, or those of the functions of it whose names match `within`."""
        options = [] if within is None else ["--collect-atstart=no", f"--toggle-collect={within}"]
        said, instructions = callgrind([str(self.path), str(file), *settings], *options)
        return Cost(**json.loads(said)), instructions


@dataclass(frozen=True)
class Measurement:
    """Everything measured of one benchmark."""

    benchmark: Benchmark
    runs: Sequence[Cost]
    instructions_per_packet: float | None
    ns3: Sequence[Ns3Cost]

    @property
    def ns_per_packet(self) -> float:
        """Median over the runs."""
        return statistics.median(run.ns_per_packet for run in self.runs)

    @property
    def cpu_s(self) -> float:
        """Median over the runs."""
        return statistics.median(run.cpu_s for run in self.runs)

    @property
    def ratio(self) -> float | None:
        """How many times as long ns-3 takes per packet, by the medians."""
        if not self.ns3:
            return None
        return statistics.median(run.ns_per_packet for run in self.ns3) / self.ns_per_packet

    def as_json(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "name": self.benchmark.name,
            "title": self.benchmark.title,
            "ns_per_packet": self.ns_per_packet,
            "instructions_per_packet": self.instructions_per_packet,
            "sim_s_per_cpu_s": self.runs[0].sim_s / self.cpu_s,
            "runs": [asdict(run) for run in self.runs],
            "ns3": [asdict(run) for run in self.ns3],
            "ratio": self.ratio,
        }


def measure(
    benchmark: Benchmark,
    program: Program,
    *,
    runs: int,
    instructions: bool,
    whole: bool,
    peer: Ns3 | None,
    all_ns3: bool,
) -> Measurement:
    """Our runs spread over the time that ns-3 takes for its own, so that both see the same machine."""
    theirs = benchmark.ns3 if peer and benchmark.ns3 and (all_ns3 or not benchmark.ns3.takes_minutes) else None
    rounds = NS3_RUNS if theirs and not theirs.takes_minutes else 1
    costs: list[Cost] = []
    others: list[Ns3Cost] = []
    for done in range(rounds):
        costs += [program.run(benchmark) for _ in range(len(costs), runs * (done + 1) // (rounds + 1))]
        if peer and theirs:
            others.append(peer.run(theirs))
    costs += [program.run(benchmark) for _ in range(len(costs), runs)]
    counted = program.instructions_per_packet(benchmark, whole=whole) if instructions else None
    return Measurement(benchmark, costs, counted, others)


def spread(values: Iterable[float], digits: int) -> str:
    """Median, smallest and largest."""
    ordered = sorted(values)
    return f"{statistics.median(ordered):.{digits}f} ({ordered[0]:.{digits}f}-{ordered[-1]:.{digits}f})"


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns, the first to the left; a Markdown table as it stands."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    for row in (header, rule, *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print(f"| {' | '.join(cells)} |")


def print_own(measurements: Sequence[Measurement]) -> None:
    """Our costs."""
    header = ("scenario", "packets", "ns/packet (min-max)", "instr./packet", "sim s/CPU s", "peak RSS", "bytes/flow")
    rows = []
    for measured in measurements:
        first = measured.runs[0]
        counted, resident = measured.instructions_per_packet, first.peak_rss_bytes
        rows.append(
            (
                measured.benchmark.title,
                f"{first.packets:,}",
                spread((run.ns_per_packet for run in measured.runs), 0),
                "-" if counted is None else f"{counted:,.0f}",
                f"{first.sim_s / measured.cpu_s:,.1f}",
                "-" if resident is None else f"{resident / MIB:.1f} MiB",
                f"{first.bytes_per_flow:,}",
            )
        )
    print_table(header, rows)


def print_beside_ns3(measurements: Sequence[Measurement], peer: Ns3) -> None:
    """Both simulators, in the costs per packet that they have in common."""
    header = ("scenario", "ns-3 packets", "ns-3 us/packet (min-max)", "ours us/packet", "ratio")
    rows = [
        (
            measured.benchmark.title,
            f"{measured.ns3[0].packets:,}",
            spread((run.ns_per_packet / 1e3 for run in measured.ns3), 1),
            f"{measured.ns_per_packet / 1e3:.3f}",
            f"{measured.ratio:,.0f}",
        )
        for measured in measurements
        if measured.ns3
    ]
    if rows:
        print(f"\nBeside ns-3 {peer.version}\n")
        print_table(header, rows)


def main() -> int:
    """Measures and prints."""
    names = [benchmark.name for benchmark in BENCHMARKS]
    parser = argparse.ArgumentParser(description="Measure what a delivered data packet costs.")
    parser.add_argument("--runs", type=int, default=7, metavar="N", help="runs of each scenario (default: 7)")
    parser.add_argument("--only", action="append", choices=names, help="measure this scenario; may be repeated")
    counting = parser.add_mutually_exclusive_group()
    counting.add_argument("--no-instructions", action="store_true", help="do not count instructions with callgrind")
    counting.add_argument(
        "--whole", action="store_true", help="count the instructions of whole runs, which takes some minutes more"
    )
    beside = parser.add_mutually_exclusive_group()
    beside.add_argument("--no-ns3", action="store_true", help="do not run ns-3")
    beside.add_argument(
        "--all-ns3", action="store_true", help="run sixteen flows in ns-3 too, which takes it ten minutes and more"
    )
    parser.add_argument("--json", action="store_true", help="print JSON with every run instead of tables")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")

    def note(text: str) -> None:
        print(text, file=sys.stderr)

    program = Program.build()
    instructions = not options.no_instructions and shutil.which("valgrind") is not None
    if not instructions and not options.no_instructions:
        note("Instructions are not counted: valgrind is not installed.")
    peer = None
    if not options.no_ns3:
        found = ns3.find(program.path.parent)
        if isinstance(found, str):
            note(f"ns-3 is not measured: {found}.")
        else:
            peer = found

    measurements = []
    for benchmark in BENCHMARKS:
        if options.only and benchmark.name not in options.only:
            continue
        note(f"Measuring {benchmark.title} ...")
        measurements.append(
            measure(
                benchmark,
                program,
                runs=options.runs,
                instructions=instructions,
                whole=options.whole,
                peer=peer,
                all_ns3=options.all_ns3,
            )
        )
    if options.json:
        print(json.dumps([measured.as_json() for measured in measurements], indent=2))
        return 0
    print_own(measurements)
    if peer is not None:
        print_beside_ns3(measurements, peer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
