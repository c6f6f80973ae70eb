"""Looks for cliffs: what recording costs in a hundred experiments, and how costs grow with flows, links or rate.

    python benches/cliffs.py [--runs N | --instructions] [--only NAME]... [--drawn N --seed SEED] [--json]
    python benches/cliffs.py --growth [--runs N] [--json]

The experiments are the files of `benches/cliffs`, networks of many links, and others that a seed draws. Each runs with
its series and without, in turns, in a process of its own; the least CPU time of the runs counts, since other programs
only add to it. `--instructions` counts those of the run with callgrind: they do not hang on other programs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

from ns3 import MIB
from run import ROOT, Cost, Program, print_table

CLIFFS = ROOT / "benches" / "cliffs"

MAX_RATIO = 1.2
"""Recording may cost so much: CPU time with the series over that without."""
MAX_EXPONENT = 1.15
"""Costs may grow so fast."""
RUN = "dumbbell_sim::run_on_threads*"
"""What runs an experiment that has been read."""
LEAST_CPU_S, LEAST_BYTES = 1e-3, MIB
"""What is less cannot be told from the process itself."""


def stations(count: int, *, up: bool = False, seconds: float = 10) -> str:
    """As many Wi-Fi stations on one channel, each with a download, or an upload, of its own."""
    links = [
        f'[[links]]\nname = "w{n}"\nfrom = "s{n}"\nto = "ap"\ndelay = "0s"\nwifi = {{ mcs = 7 }}' for n in range(count)
    ]
    wire = '[[links]]\nfrom = "ap"\nto = "server"\nrate = "1gbit"\ndelay = "5ms"\nreverse = "symmetric"'
    ends = [(f"s{n}", "server") if up else ("server", f"s{n}") for n in range(count)]
    return "\n\n".join([f'duration = "{seconds}s"', *links, wire, *(flow(*end) for end in ends)])


def chain(count: int, *, queue: str = "droptail", seconds: float = 5) -> str:
    """As many links in a row, with a flow there and one back."""
    ends = [("n0", f"n{count}"), (f"n{count}", "n0")]
    return "\n\n".join([f'duration = "{seconds}s"', *row_of_links(count, queue), *(flow(*end) for end in ends)])


def parking_lot(count: int, *, cc: str = "cubic", queue: str = "droptail", seconds: float = 3) -> str:
    """As many links in a row, with one flow over all of them and one over each."""
    ends = [("n0", f"n{count}"), *((f"n{n}", f"n{n + 1}") for n in range(count))]
    return "\n\n".join([f'duration = "{seconds}s"', *row_of_links(count, queue), *(flow(*end, cc=cc) for end in ends)])


def row_of_links(count: int, queue: str) -> list[str]:
    """Links of 100 Mbit/s from `n0` to `nCOUNT`."""
    return [
        f'[[links]]\nfrom = "n{n}"\nto = "n{n + 1}"\nrate = "100mbit"\ndelay = "2ms"\nqueue = "{queue}"\n'
        'reverse = "symmetric"'
        for n in range(count)
    ]


def flow(source: str, sink: str, *, cc: str = "cubic") -> str:
    """A flow between two nodes."""
    return f'[[flows]]\ncc = "{cc}"\nfrom = "{source}"\nto = "{sink}"'


def dumbbell(rate_mbps: float, *, flows: int = 1, seconds: float = 4, queue: str = "droptail", more: str = "") -> str:
    """Flows over one link of 40 ms with a buffer of one BDP."""
    path = f'[path]\nrate = "{rate_mbps}mbit"\nrtt = "40ms"\nbuffer = "1bdp"\nqueue = "{queue}"'
    return f'duration = "{seconds}s"\n{more}\n{path}\n\n[[flows]]\ncc = "cubic"\ncount = {flows}\n'


NETWORKS = {
    "wifi-stations-10": stations(10),
    "wifi-stations-100": stations(100),
    "wifi-stations-1000": stations(1000, seconds=4),
    "wifi-up-100": stations(100, up=True),
    "lot10": parking_lot(10, seconds=10),
    "lot10-codel": parking_lot(10, queue="fq_codel", seconds=10),
    "lot100": parking_lot(100),
    "lot100-bbr": parking_lot(100, cc="bbr"),
    "chain30-2way": chain(30),
    "chain30-2way-fq": chain(30, queue="fq_codel"),
}

CONTROLLERS = ("bbr", "bbr2", "bbr3", "cubic", "dctcp", "prague", "reno", "vegas", "westwood")
QUEUES = ("droptail", "droptail", "cake", "codel", "drophead", "dualpi2", "fq", "fq_codel", "pie", "red")
DRAWN_PACKETS = 100_000
"""A drawn experiment lasts as long as so many packets take on its link."""


def draw(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """Experiments of all kinds of queues, controllers and disturbances."""
    numbers = random.Random(seed)
    for number in range(count):
        rate, flows = numbers.choice([1, 10, 50, 200, 1000]), numbers.choice([1, 1, 4, 16, 100, 400])
        seconds = min(20 if flows >= 100 else 600, max(1.5, DRAWN_PACKETS * 12_000 / (rate * 1e6)))
        path = {
            "rate": f'"{rate}mbit"',
            "rtt": f'"{numbers.choice([2, 10, 40, 100, 300])}ms"',
            "buffer": numbers.choice(['"0.5bdp"', '"1bdp"', '"2bdp"', '"200packets"']),
            "queue": f'"{numbers.choice(QUEUES)}"',
        }
        if numbers.random() < 0.35:
            path["loss"] = f'"{numbers.choice([0.1, 1, 5])}%"'
        if numbers.random() < 0.25:
            path["jitter"] = numbers.choice(['"2ms"', '{ amount = "3ms", reorders = true }'])
        if numbers.random() < 0.2:
            path["duplicate"] = '"1%"'
        if numbers.random() < 0.2:
            path["aggregate"] = numbers.choice(['{ every = "4ms" }', '{ timeout = "2ms", packets = 32 }'])
        transport = numbers.choice(["tcp", "tcp", "tcp", "quic"])
        keys = "\n".join(f"{key} = {value}" for key, value in path.items())
        flow_keys = f'cc = "{numbers.choice(CONTROLLERS)}"\ncount = {flows}'
        yield (
            f"seed-{seed}-{number:02}",
            f'duration = "{seconds}s"\ntransport = "{transport}"\n\n[path]\n{keys}\n\n[[flows]]\n{flow_keys}\n',
        )


@dataclass(frozen=True)
class Recording:
    """What recording costs in one experiment."""

    name: str
    packets: int
    rows: int
    bytes_per_row: float
    per_packet: float
    """Nanoseconds, or instructions, without recording."""
    ratio: float
    """CPU time, or instructions, with recording over those without."""


@dataclass(frozen=True)
class Growth:
    """How CPU time and memory grow with what an experiment has many of."""

    name: str
    sizes: Sequence[float]
    cpu_s: Sequence[float]
    """Of the whole process, set-up included, less what the shortest experiment takes."""
    counts: Sequence[int]
    """Packets, or points of a sweep."""
    resident_bytes: Sequence[int]
    """More than the shortest experiment has."""

    @property
    def exponents(self) -> tuple[float, float]:
        """Slopes of the logarithms of CPU time and memory over that of the size, by least squares."""
        return slope(self.sizes, self.cpu_s), slope(self.sizes, self.resident_bytes)

    @property
    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        of_each = zip(self.sizes, self.cpu_s, self.counts, self.resident_bytes, strict=True)
        costs = (f"{n:,g}: {s:.3f} s, {s * 1e9 / max(1, p):,.0f} ns, {b / MIB:.0f} MiB" for n, s, p, b in of_each)
        return (self.name, *costs, *(f"{exponent:.2f}" for exponent in self.exponents))


Measured = TypeVar("Measured", Recording, Growth)


def slope(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Slope of a line through the points in logarithmic scales."""
    return statistics.linear_regression([math.log(n) for n in sizes], [math.log(cost) for cost in costs]).slope


FAMILIES: dict[str, tuple[Sequence[float], Callable[[float], str]]] = {
    "flows, drop-tail": ((30, 100, 300, 1000), lambda n: dumbbell(n, flows=int(n))),
    "flows, FQ-CoDel": ((30, 100, 300, 1000), lambda n: dumbbell(n, flows=int(n), queue="fq_codel")),
    "flows, QUIC": ((30, 100, 300, 1000), lambda n: dumbbell(n, flows=int(n), more='transport = "quic"\n')),
    "flows on one link": ((30, 100, 300, 1000), lambda n: dumbbell(300, flows=int(n))),
    "stations": ((30, 100, 300, 1000), lambda n: stations(int(n), seconds=4)),
    "links in a row": ((10, 30, 100, 300), lambda n: parking_lot(int(n), seconds=3)),
    "rate": ((10, 100, 1000, 10_000), lambda n: dumbbell(n, more='transport.receive_window = "1GiB"\n')),
    "simulated time": ((2, 6, 20, 60), lambda n: dumbbell(1000, seconds=n)),
    "samples": ((1, 3, 10, 30), lambda n: dumbbell(1, flows=10, seconds=60, more=f'record.interval = "{30 / n}ms"\n')),
}
"""What grows, its sizes, and the experiment of one size."""

POINTS = (300, 1000, 3000, 10_000)
"""Points of sweeps."""


class Runner:
    """Runs experiments in processes of their own, and keeps the least CPU time of each."""

    def __init__(self, program: Program, runs: int, folder: Path) -> None:
        self._program = program
        self._runs = runs
        self._folder = folder

    def costs(self, text: str, *variants: Sequence[str]) -> list[Cost]:
        """The cheapest run of an experiment with each of these settings, which take turns."""
        file = self._folder / "experiment.toml"
        file.write_text(text)
        best: list[Cost | None] = [None] * len(variants)
        for _ in range(self._runs):
            for place, settings in enumerate(variants):
                cost = self._program.run_file(file, *settings)
                known = best[place]
                if known is None or cost.cpu_s < known.cpu_s:
                    best[place] = cost
        return [cost for cost in best if cost is not None]

    def recording(self, name: str, text: str) -> Recording:
        """What recording costs."""
        off, on = self.costs(text, ["record.series=false"], ["record.series=true"])
        return Recording(
            name,
            off.packets,
            on.series_rows,
            on.series_bytes / max(1, on.series_rows),
            off.cpu_s * 1e9 / max(1, off.packets),
            on.cpu_s / off.cpu_s,
        )

    def counted(self, name: str, text: str) -> Recording:
        """What recording costs in instructions of the run, which do not hang on what else the machine does."""
        file = self._folder / "experiment.toml"
        file.write_text(text)
        (off, without), (on, recorded) = (
            self._program.count(file, f"record.series={series}", within=RUN) for series in ("false", "true")
        )
        bytes_per_row = on.series_bytes / max(1, on.series_rows)
        per_packet = without / max(1, off.packets)
        return Recording(name, off.packets, on.series_rows, bytes_per_row, per_packet, recorded / without)

    def growth(self, name: str) -> Growth:
        """How an experiment's costs grow."""
        sizes, text = FAMILIES[name]
        costs = [self.costs(text(size), [])[0] for size in sizes]
        return grown(
            name,
            sizes,
            [cost.packets for cost in costs],
            [(cost.process_cpu_s, cost.peak_rss_bytes or 0) for cost in (self._least, *costs)],
        )

    @cached_property
    def _least(self) -> Cost:
        """What the shortest experiment takes."""
        return self.costs(dumbbell(1, seconds=0.001), [])[0]

    def growth_of_sweeps(self) -> list[Growth]:
        """How the costs of a sweep grow with its points: of the command that runs them, and of one that finds them."""
        ran, found = ([self._sweep(count, place) for count in (1, *POINTS)] for place in (0, 1))
        return [grown(name, POINTS, POINTS, costs) for name, costs in (("points run", ran), ("points found", found))]

    def _sweep(self, points: int, place: int) -> tuple[float, int]:
        """CPU seconds and peak memory of a command that runs so many points, or of the same command after it."""
        file, out = self._folder / "sweep.toml", self._folder / f"points-{points}"
        text = dumbbell(10, seconds=0.2, more="record.series = false\n")
        file.write_text(f"{text}\n[sweep]\nrepeat = {points}\n")
        command = [sys.executable, "-m", "dumbbell", "run", str(file), "--out", str(out), "--jobs", "1"]
        assert out.exists() == bool(place), "one command after the other"
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        if running.returncode:
            raise subprocess.CalledProcessError(running.returncode, command)
        return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def grown(name: str, sizes: Sequence[float], counts: Sequence[int], costs: Sequence[tuple[float, int]]) -> Growth:
    """Costs of each size, the first of which is that of the shortest experiment."""
    (least_s, least_bytes), *others = costs
    return Growth(
        name,
        sizes,
        [max(cpu_s - least_s, LEAST_CPU_S) for cpu_s, _ in others],
        counts,
        [max(resident - least_bytes, LEAST_BYTES) for _, resident in others],
    )


def print_recordings(all_of_them: Sequence[Recording], *, counted: bool) -> None:
    """The table, the dearest first, and a line that sums up."""
    rows = [
        (
            one.name,
            f"{one.packets:,}",
            f"{one.rows:,}",
            f"{one.bytes_per_row:.0f}",
            f"{one.per_packet:,.0f}",
            f"{one.ratio:.2f}",
        )
        for one in sorted(all_of_them, key=lambda one: -one.ratio)
    ]
    costs = ("instr./packet without", "with/without") if counted else ("ns/packet without", "CPU with/without")
    print_table(("experiment", "packets", "rows", "bytes/row", *costs), rows)
    above = sum(one.ratio > MAX_RATIO for one in all_of_them)
    print(f"\n{above} of {len(all_of_them)} above {MAX_RATIO} times")


def print_growths(growths: Sequence[Growth]) -> None:
    """The table, and a line that sums up."""
    sizes = ("smallest: CPU, of a packet or point, memory", "", "", "largest")
    print_table(("what grows", *sizes, "exponent of CPU", "of memory"), [one.cells for one in growths])
    above = sum(max(one.exponents) > MAX_EXPONENT for one in growths)
    print(f"\n{above} of {len(growths)} above {MAX_EXPONENT}")


def experiments(options: argparse.Namespace) -> dict[str, str]:
    """All that are measured, by name."""
    files = {file.stem: file.read_text() for file in sorted(CLIFFS.glob("*.toml"))}
    every = {**files, **NETWORKS, **dict(draw(options.seed, options.drawn))}
    return {name: text for name, text in every.items() if not options.only or name in options.only}


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="Measure what recording costs, and how costs grow.")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each experiment (default: 3)")
    parser.add_argument("--only", action="append", metavar="NAME", help="measure this experiment; may be repeated")
    parser.add_argument("--drawn", type=int, default=0, metavar="N", help="draw so many more experiments")
    parser.add_argument("--seed", type=int, default=1, help="seed of those that are drawn (default: 1)")
    parser.add_argument("--growth", action="store_true", help="fit how costs grow")
    parser.add_argument("--instructions", action="store_true", help="count the instructions of recording: valgrind")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    if options.growth and options.instructions:
        parser.error("--growth fits CPU time and memory, not --instructions")
    texts = experiments(options)
    if not texts:
        parser.error(f"no experiment is called {' or '.join(options.only)}")
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Program.build(), options.runs, Path(folder))
        if options.growth:
            growths = [runner.growth(name) for name in announced(FAMILIES)]
            growths += [growth for _ in announced(["points of sweeps"]) for growth in runner.growth_of_sweeps()]
            show(growths, print_growths, as_json=options.json)
        else:
            measure = runner.counted if options.instructions else runner.recording
            recordings = [measure(name, texts[name]) for name in announced(texts)]
            show(recordings, partial(print_recordings, counted=options.instructions), as_json=options.json)
    return 0


def announced(names: Iterable[str]) -> Iterator[str]:
    """The names, each told on standard error when its turn comes."""
    for name in names:
        print(f"Measuring {name} ...", file=sys.stderr)
        yield name


def show(measured: Sequence[Measured], table: Callable[[Sequence[Measured]], None], *, as_json: bool) -> None:
    """Prints what was measured."""
    if as_json:
        print(json.dumps([asdict(one) for one in measured], indent=2))
    else:
        table(measured)


if __name__ == "__main__":
    sys.exit(main())
