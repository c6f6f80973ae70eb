"""Draws experiments at random, runs each on the simulator and on a kernel in virtual time, and keeps what differs.

    python tests/fidelity/differ.py 1..20 [--fault NAME] [--jobs N] [--out DIR]

The kernel is the one that ``virtual/kernel.sh`` built. Each experiment runs several times on both grounds, with other
random numbers and at other phases of the clock; the ranges of what was measured are compared. Where they lie apart,
more runs say whether that was chance. Then packets come up to a microsecond earlier or later in the simulator, as they
do on the kernel: where that decides, the difference is a tie. What still differs is made as small as it can be: a file
of DIR has it, and says what both grounds did. DIR also keeps what this kernel did, so that a seed that is asked again
costs little; whoever changes links or what is measured removes it.

``--fault`` makes one of ``FAULTS`` in the simulator, which the comparison has to see; no ties are looked for.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cases import Case
from own import WORDS as OF_RECORDINGS
from own import measures, number, with_hz

import dumbbell
from dumbbell import storage
from dumbbell.experiment import toml as value
from dumbbell.grounds import receivers_of

Experiment = dict[str, Any]
Row = dict[str, Any]
"""What was measured of a flow."""

INSIDE = Path(__file__).parent / "virtual/inside.sh"
KERNEL = Path(__file__).parents[2] / "target/virtual/linux"
RUN_S = 120
"""Real time that a kernel gets to start, and for each run: twenty times what it takes."""
FEW, MANY = 3, 12
"""Runs of an experiment, and of one that seems to differ."""
MOST_PACKETS = 25_000
TOLERANCES: Final = {
    "goodput_mbps": (0.01, 0.0),
    "srtt_ms": (0.02, 0.0),
    "retransmits": (0.1, 5.0),
    "acks": (0.03, 0.0),
    "cwnd": (0.03, 0.5),
    "pacing_mbps": (0.03, 0.0),
}
WORDS: Final = OF_RECORDINGS | {"cwnd": "mean cwnd", "pacing_mbps": "mean pacing rate"}
"""How far apart ranges may lie: a share, or a number; half of what a recording is allowed, as both sides are ranges."""
LATENESS = "1us"
"""How much earlier or later packets come where a tie is looked for: the kernel's come 1 to 4 us late."""
SHARE = 0.1
"""How far apart the parts of the link may be that one of several flows has."""

ALGORITHMS = ("reno", "cubic", "bbr") * 5 + (
    "bic", "westwood", "htcp", "hybla", "vegas", "scalable", "veno", "yeah", "illinois", "dctcp",
)  # fmt: skip
"""Those of the kernel; three are drawn more often."""

FAULTS: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    # Name: what is wrong, in which algorithm ("" for all), and the setting that makes it so.
    "cubic-beta": ("CUBIC keeps 0.75 of its window", "cubic", {"beta": 0.75}),
    "cubic-slow": ("CUBIC's curve is half as steep", "cubic", {"bic_scale": 20}),
    "cubic-hystart": ("CUBIC leaves slow start with the first loss", "cubic", {"hystart": False}),
    "cubic-friendly": ("CUBIC may be slower than Reno", "cubic", {"tcp_friendliness": False}),
    "bbr-gain": ("BBR's window is 2.5 BDP", "bbr", {"steady_window_gain": 2.5}),
    "bbr-aggregation": ("BBR takes no extra window for aggregated ACKs", "bbr", {"aggregation": "off"}),
    "bbr-margin": ("BBR paces at the bandwidth, not 1 % below", "bbr", {"pacing_margin": "0%"}),
    "first-window": ("The first window is 14 packets", "", {"initial_cwnd": 14}),
    "no-probe": ("No tail loss probe", "", {"tail_loss_probe": False}),
    "slow-timer": ("The retransmission timer takes a second at least", "", {"rto_min": "1s"}),
}


# --- drawing ---------------------------------------------------------------------------------------------------------


def drawn(seed: int) -> Experiment:
    """An experiment of the kind that a seed names."""
    rng = random.Random(f"differ/{seed}")
    kbit = round(10 ** rng.uniform(3.0, 4.8))
    rtt_us = round(10 ** rng.uniform(3.6, 5.4))
    longest_s = MOST_PACKETS * 12 / kbit
    path: dict[str, Any] = {
        "rate": f"{kbit}kbit",
        "rtt": f"{rtt_us}us",
        "buffer": f"{10 ** rng.uniform(-0.8, 0.7):.3f}bdp",
    }
    transport: dict[str, Any] = {}
    for change, probability in CHANGES.items():
        if rng.random() < probability:
            change(rng, path, transport, kbit)
    # Of numbers of its own, so that the rest of an experiment does not hang on it.
    outage = random.Random(f"differ/{seed}/outage")
    if outage.random() < OUTAGES and isinstance(path["rate"], str):
        path["rate"] = _interrupted(outage, path["rate"])
    count = 1 if rng.random() < 0.8 else rng.randint(2, 4)
    flows: list[dict[str, Any]] = []
    for _ in range(count):
        flows.append({"cc": rng.choice(ALGORITHMS), "start_jitter": "10ms"})
        if rng.random() < 0.12:
            flows[-1]["rate"] = f"{round(kbit * rng.uniform(0.1, 0.7))}kbit"
    # DCTCP needs marks, and all flows have one host.
    if any(flow["cc"] == "dctcp" for flow in flows):
        transport["ecn"] = True
    if transport:
        flows = [flow | {"transport": dict(transport)} for flow in flows]
    seconds = min(max(4.0, 60 * rtt_us / 1e6, 400 * 12 / kbit), 15.0, max(longest_s, 2.0))
    return {
        "duration": f"{seconds:.2f}s",
        "warmup": "0s",
        "record": {"interval": "20ms"},
        "path": path,
        "flows": flows,
    }


Change = Callable[[random.Random, dict[str, Any], dict[str, Any], int], None]


def _queue(rng: random.Random, path: dict[str, Any], transport: dict[str, Any], kbit: int) -> None:
    path["queue"] = rng.choice(["codel", "fq_codel", "pie", {"kind": "threshold", "threshold": "10packets"}])
    path["buffer"] = f"{rng.randint(100, 400)}packets"
    if isinstance(path["queue"], dict) or rng.random() < 0.5:
        transport["ecn"] = True


def _loss(rng: random.Random, path: dict[str, Any], transport: dict[str, Any], kbit: int) -> None:
    path["loss"] = f"{10 ** rng.uniform(-1.3, 0.5):.3f}%"


def _jitter(rng: random.Random, path: dict[str, Any], transport: dict[str, Any], kbit: int) -> None:
    path["jitter"] = {"amount": f"{rng.randint(200, 4000)}us", "reorders": rng.random() < 0.4}


def _policer(rng: random.Random, path: dict[str, Any], transport: dict[str, Any], kbit: int) -> None:
    path["policer"] = {"rate": f"{round(kbit * rng.uniform(0.3, 0.9))}kbit", "burst": f"{rng.randint(10, 60)}packets"}


def _steps(rng: random.Random, path: dict[str, Any], transport: dict[str, Any], kbit: int) -> None:
    path["rate"] = [["0s", f"{kbit}kbit"], [f"{rng.uniform(1, 3):.2f}s", f"{round(kbit * rng.uniform(0.3, 2))}kbit"]]
    path["buffer"] = f"{rng.randint(20, 300)}packets"


def _way_back(rng: random.Random, path: dict[str, Any], transport: dict[str, Any], kbit: int) -> None:
    path["reverse"] = {"loss": f"{rng.uniform(0.5, 10):.2f}%"}


def _no_sack(rng: random.Random, path: dict[str, Any], transport: dict[str, Any], kbit: int) -> None:
    transport["sack"] = False


def _no_timestamps(rng: random.Random, path: dict[str, Any], transport: dict[str, Any], kbit: int) -> None:
    transport["timestamps"] = False


def _segments(rng: random.Random, path: dict[str, Any], transport: dict[str, Any], kbit: int) -> None:
    transport["mss"] = rng.choice([536, 1000, 1200, 1400])


def _send_buffer(rng: random.Random, path: dict[str, Any], transport: dict[str, Any], kbit: int) -> None:
    transport["send_buffer"] = f"{rng.randint(24, 200)}kB"


def _interrupted(rng: random.Random, rate: str) -> list[list[str]]:
    """A rate with an outage, which timers notice."""
    begins = rng.uniform(0.8, 2.0)
    return [["0s", rate], [f"{begins:.2f}s", "0bit"], [f"{begins + rng.uniform(0.3, 1.5):.2f}s", rate]]


OUTAGES: Final = 0.12
"""How often a path is interrupted."""
CHANGES: Final[dict[Change, float]] = {
    _queue: 0.25, _loss: 0.25, _jitter: 0.12, _policer: 0.08, _steps: 0.1, _way_back: 0.1, _no_sack: 0.08,
    _no_timestamps: 0.05, _segments: 0.1, _send_buffer: 0.08,
}  # fmt: skip
"""What a path or host may have besides, and how often."""


# --- both grounds ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """A kernel in virtual time, and what it did."""

    kept: Path
    """Where, a file for each run."""
    hz: int
    """Ticks of its clock a second."""
    release: str
    """Such as ``6.12.117``."""

    def run(self, experiments: Sequence[Experiment], runs: int) -> list[list[list[Row]]]:
        """For each experiment its runs; for each run its flows. What is not known runs in one kernel."""
        jobs = {self._file(one, seed): (one, seed) for one in experiments for seed in range(1, runs + 1)}
        self.ask(Path(__file__), jobs)
        found = [[json.loads(self._file(one, seed).read_text()) for seed in range(1, runs + 1)] for one in experiments]
        return [[run["flows"] for run in of_one if not run["void"]] for of_one in found]

    def ask(self, script: Path, jobs: Mapping[Path, tuple[Any, ...]]) -> None:
        """Has a script (``--inside FILE``) do those jobs whose file is not there yet, in one kernel."""
        missing = [[*job, str(place)] for place, job in jobs.items() if not place.is_file()]
        if not missing:
            return
        listed = self.kept / f"jobs-{digest(missing)}.json"
        storage.write_file(listed, json.dumps(missing).encode())
        words = [sys.executable, str(script.resolve()), "--inside", str(listed.resolve())]
        said = in_kernel(words, RUN_S * (1 + len(missing)))
        listed.unlink()
        if lost := [place for place in jobs if not place.is_file()]:
            sys.exit(f"the kernel did not run {len(lost)} of {len(missing)}:\n{said[-2000:]}")

    def _file(self, experiment: Experiment, seed: int) -> Path:
        return (self.kept / f"{digest([experiment, seed])}.json").resolve()


def in_kernel(words: Sequence[str], limit_s: int) -> str:
    """What a command prints in a kernel of its own, which is ended after so long in real time."""
    command = ["timeout", str(limit_s), str(INSIDE), *words]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def kernel(out: Path, hz: int) -> Kernel:
    """The kernel that was built; what another one did is elsewhere."""
    if not KERNEL.is_file():
        sys.exit(f"{KERNEL} is not there: build it with tests/fidelity/virtual/kernel.sh TARBALL")
    name = hashlib.sha256(KERNEL.read_bytes()).hexdigest()[:16]
    return Kernel(out / f"kernel-{name}", hz, in_kernel(["uname", "-r"], RUN_S).strip())


def digest(what: Any) -> str:
    """A name for an experiment."""
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def inside(jobs: Path) -> None:
    """Runs experiments on this kernel; a file for each run."""
    for experiment, seed, place in json.loads(jobs.read_text("utf-8")):
        try:
            result = dumbbell.run(with_hz(experiment, None), seed=seed, on=dumbbell.Linux(retries=2))
            found: dict[str, Any] = {"flows": measured(result, experiment), "void": []}
        except dumbbell.VoidRunError as error:
            found = {"flows": [], "void": [str(error)]}
        storage.write_file(Path(place), json.dumps(found).encode())


def simulated(experiment: Experiment, runs: int, kernel: Kernel, fault: str | None = None) -> list[list[Row]]:
    """The same in the simulator, with the kernel's clock and buffers."""
    chosen = with_hz(faulty(experiment, fault), kernel.hz, receivers=receivers_of(kernel.release))
    return [measured(run, experiment) for run in dumbbell.sweep(chosen, repeat=runs, jobs=1, progress=False)]


def measured(run: dumbbell.Result, experiment: Experiment) -> list[Row]:
    """What is compared of each flow: that of recordings, and means of what its sender decides by."""
    rows = measures(run, Case(experiment))
    series = run.series.to_polars()
    for row in rows:
        own = series.filter(series["flow"] == row["flow"])
        row |= {name: round(number(own[name].mean()), 4) for name in ("cwnd", "pacing_mbps")}
    return rows


def faulty(experiment: Experiment, fault: str | None) -> Experiment:
    """An experiment with a mistake in its endpoints."""
    wrong = copy.deepcopy(experiment)
    if fault is not None:
        _, cc, setting = FAULTS[fault]
        for flow in wrong["flows"]:
            if cc == flow["cc"]:
                flow["cc"] = {"name": cc, **setting}
            elif not cc:
                flow["transport"] = {**flow.get("transport", {}), **setting}
    return wrong


# --- judging ---------------------------------------------------------------------------------------------------------


def apart(ours: Sequence[Sequence[Row]], theirs: Sequence[Sequence[Row]]) -> list[str]:
    """The measures whose ranges do not meet, tolerance included; of several flows their parts of the link."""
    found = []
    for flow in range(len(theirs[0])):
        for measure, (relative, absolute) in TOLERANCES.items():
            if len(theirs[0]) > 1:
                if measure != "goodput_mbps":
                    continue
                total = max(sum(row[measure] for row in run) for run in theirs)
                relative, absolute = 0.0, SHARE * total
            mine, others = ([run[flow][measure] for run in runs] for runs in (ours, theirs))
            room = max(relative * max(others), absolute)
            if min(mine) > max(others) + room or max(mine) < min(others) - room:
                found.append(f"{WORDS[measure]} of flow {flow}: {spread(mine)}, the kernel's {spread(others)}")
    return found


def spread(values: Sequence[float]) -> str:
    """A range in words."""
    low, high = (f"{value:.4g}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


KINDS: Final = ("agree", "chance", "tie", "differ", "void")
"""What becomes of a seed. Of a tie two packets, or a packet and a departure, come within a microsecond."""


@dataclass(frozen=True)
class Verdict:
    """What became of a seed."""

    seed: int
    experiment: Experiment
    kind: str
    """One of ``KINDS``."""
    apart: Sequence[str] = ()

    @property
    def is_single(self) -> bool:
        """Whether one flow runs alone."""
        return len(self.experiment["flows"]) == 1


def judged(seed: int, kernel: Kernel, fault: str | None) -> Verdict:
    """A seed on both grounds."""
    experiment = drawn(seed)
    for runs in (FEW, MANY):
        (theirs,) = kernel.run([experiment], runs)
        if not theirs:
            return Verdict(seed, experiment, "void")
        ours = simulated(experiment, runs, kernel, fault)
        found = apart(ours, theirs)
        if not found:
            return Verdict(seed, experiment, "agree" if runs == FEW else "chance")
    if "jitter" not in experiment["path"] and fault is None:
        late = {**experiment, "path": {**experiment["path"], "jitter": LATENESS}}
        if not apart([*ours, *simulated(late, MANY, kernel)], theirs):
            return Verdict(seed, experiment, "tie", found)
    return Verdict(seed, experiment, "differ", found)


# --- shrinking -------------------------------------------------------------------------------------------------------


def simpler(experiment: Experiment) -> Iterator[Experiment]:
    """The experiment with one thing less, each way."""
    flows = experiment["flows"]
    if len(flows) > 1:
        yield from (_without(experiment, "flows", index) for index in range(len(flows)))
    yield from (
        _without(experiment, "path", key) for key in sorted(experiment["path"].keys() - {"rate", "rtt", "buffer"})
    )
    rate = experiment["path"]["rate"]
    if isinstance(rate, list):
        yield {**experiment, "path": {**experiment["path"], "rate": rate[0][1]}}
    needs_marks = any(flow["cc"] == "dctcp" for flow in flows)
    for key in flows[0].get("transport", {}):
        if (key, needs_marks) != ("ecn", True):
            other = copy.deepcopy(experiment)
            for flow in other["flows"]:
                del flow["transport"][key]
            yield other
    for index, flow in enumerate(flows):
        if "rate" in flow:
            yield _without(experiment, "flows", index, "rate")
    seconds = float(experiment["duration"].removesuffix("s"))
    if seconds > 1:
        yield {**experiment, "duration": f"{seconds / 2:.2f}s"}


def _without(experiment: Experiment, *place: str | int) -> Experiment:
    other = copy.deepcopy(experiment)
    around: Any = other
    for step in place[:-1]:
        around = around[step]
    del around[place[-1]]
    return other


def smallest(verdict: Verdict, kernel: Kernel) -> Verdict:
    """The simplest experiment that still differs, and how."""
    while True:
        candidates = list(simpler(verdict.experiment))
        for candidate, theirs in zip(candidates, kernel.run(candidates, FEW), strict=True):
            found = apart(simulated(candidate, FEW, kernel), theirs) if theirs else []
            if found:
                verdict = Verdict(verdict.seed, candidate, verdict.kind, found)
                break
        else:
            return verdict


def keep(verdict: Verdict, out: Path) -> Path:
    """Writes what differs as an experiment file that says how."""
    path = out / f"{verdict.seed}.toml"
    said = "".join(f"# {line}\n" for line in (f"Seed {verdict.seed} of tests/fidelity/differ.py.", *verdict.apart))
    storage.write_file(path, (said + toml(verdict.experiment)).encode())
    return path


def toml(experiment: Experiment) -> str:
    """An experiment as a file."""

    def lines(table: Mapping[str, Any]) -> list[str]:
        return [f"{key} = {value(of)}" for key, of in table.items() if of != {}]

    whole = lines({key: experiment[key] for key in ("duration", "warmup", "record")})
    whole += ["", "[path]", *lines(experiment["path"])]
    for flow in experiment["flows"]:
        whole += ["", "[[flows]]", *lines(flow)]
    return "\n".join(whole) + "\n"


# --- the command -----------------------------------------------------------------------------------------------------


def seeds(text: str) -> range:
    """``1..20``: both ends included."""
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def options(about: str) -> argparse.ArgumentParser:
    """What the commands have in common that ask a kernel in virtual time."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--fault", choices=sorted(FAULTS), help="a mistake to make in the simulator")
    parser.add_argument("--jobs", type=int, default=2, help="kernels at the same time (2)")
    parser.add_argument("--hz", type=int, default=250, help="ticks of the kernel's clock a second (250)")
    parser.add_argument("--out", type=Path, default=Path("target/differ"), help="where it writes (target/differ)")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    return parser


def main() -> int:
    """Runs seeds, prints a line for each that does not agree, and a summary."""
    parser = options(__doc__)
    parser.add_argument("seeds", type=seeds, nargs="?", default=seeds("1..20"), help="such as 1..20")
    parser.add_argument("--most", type=float, default=0.0, help="share of the seeds that may differ for status 0 (0)")
    args = parser.parse_args()
    if args.inside is not None:
        inside(args.inside)
        return 0
    built = kernel(args.out, args.hz)
    wrong = f"; {FAULTS[args.fault][0]} (here)" if args.fault else ""
    print(f"beside Linux {built.release}{wrong}", flush=True)
    found: list[Verdict] = []
    with ThreadPoolExecutor(args.jobs) as pool:
        for verdict in pool.map(lambda seed: judged(seed, built, args.fault), args.seeds):
            found.append(verdict)
            if verdict.kind == "differ" and args.fault is None:
                least = smallest(verdict, built)
                print(f"seed {verdict.seed}: {'; '.join(verdict.apart)}\n  {keep(least, args.out)}", flush=True)
            elif verdict.kind != "agree":
                print(f"seed {verdict.seed}: {verdict.kind} {'; '.join(verdict.apart)}", flush=True)
    for name, of in (("one flow", [one for one in found if one.is_single]),
                     ("several flows", [one for one in found if not one.is_single])):  # fmt: skip
        counts = {kind: sum(one.kind == kind for one in of) for kind in KINDS}
        print(f"{name}: {len(of)} seeds, " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return 1 if sum(one.kind == "differ" for one in found) > args.most * len(found) else 0


if __name__ == "__main__":
    sys.exit(main())
