"""Simulates every case that was measured on a real Linux kernel and prints ours beside the kernel's.

There are two collections. Our own recordings (``recordings/``) are made with ``--record`` on the reader's own kernel,
or on one in virtual time (``virtual/``), over the simulator's own links (``own.py``, ``cases.py``). The other one lives
outside of the repository (``../shared/groundtruth`` or ``--groundtruth DIR``) and is left out where it is not there:
real TCP between two network namespaces joined by another link emulator. Each case is rebuilt from its row of
``summary.csv``, run with several seeds, and compared in the quantities the kernel reported, taken the same way: goodput
at the receiver, smoothed RTT as ``TCP_INFO`` samples show it, retransmitted segments, drops of the queue.

    python tests/fidelity/fidelity.py [--case NAME] [--seeds N] [--out DIR] [--json]
    python tests/fidelity/fidelity.py --record [--case NAME] [--runs N] [--retries N]
    python tests/fidelity/fidelity.py --record --kernel linux-6.12-bbr3 [--case NAME] [--runs N] [--retries N]

The last one records further runs of another collection's experiments, on its kernel (``further.py``).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import further
import numpy as np
import own
import polars as pl
from cases import CASES
from rich.console import Console
from rich.table import Table

import dumbbell
from dumbbell import _core
from dumbbell.grounds import receivers_of

DEFAULT_TRUTH = Path(__file__).parents[2].parent / "shared" / "groundtruth"
#: Ticks per second of each kernel's coarse clock.
HZ = {"linux-6.18": 250, "linux-6.12-bbr3": 250, "linux-7.2-uml": 100}
#: What the receivers of each kernel do.
RECEIVERS = {name: receivers_of(name.split("-")[1]) for name in HZ}
#: The versions of BBR that a kernel has judged: with random loss their goodput is held to 3 %.
BBRS = ("bbr", "bbr3")
#: From so many runs of the kernel on their means count: single ones differ by a tenth with random loss.
MANY = 25
#: Cases whose time series are laid over the kernel's.
OVERLAYS = ("bbr_10M_40ms_1bdp", "cubic_10M_40ms_1bdp")
STARTUPS = ("bbr_startup_10M_40ms_8bdp", "cubic_startup_10M_40ms_8bdp", "reno_startup_10M_40ms_8bdp")


@dataclass
class Comparison:
    """One flow of one case, averaged over seeds."""

    kernel: str
    case: str
    flow: int
    cc: str
    random_loss: bool
    flows: int
    goodput_mbps: float
    goodput_mbps_kernel: float
    share: float
    share_kernel: float
    srtt_ms: float
    srtt_ms_kernel: float
    p95_srtt_ms: float
    p95_srtt_ms_kernel: float
    retransmits: float
    retransmits_kernel: float
    drops: float
    drops_kernel: float
    utilization: float | None
    utilization_kernel: float | None
    """Nothing where it was not recorded."""

    def misses(self) -> list[str]:
        """What is outside of its tolerance."""
        missed = []

        def check(name: str, ours: float, theirs: float, relative: float, absolute: float = 0.0) -> None:
            if abs(ours - theirs) > max(relative * abs(theirs), absolute):
                missed.append(name)

        if self.flows > 1:
            check("share", self.share, self.share_kernel, 0.0, 0.10)
        elif self.random_loss:
            check("goodput", self.goodput_mbps, self.goodput_mbps_kernel, 0.03 if self.cc in BBRS else 0.10)
        else:
            check("goodput", self.goodput_mbps, self.goodput_mbps_kernel, 0.02)
            check("mean RTT", self.srtt_ms, self.srtt_ms_kernel, 0.05)
            check("retransmissions", self.retransmits, self.retransmits_kernel, 0.25, 20)
        return missed


def scenario(rows: pl.DataFrame, kernel: str, interval: str) -> dict[str, Any]:
    """The experiment of a case, as the emulator ran it."""
    first = rows.row(0, named=True)
    flows = rows.unique("flow").sort("flow")
    return {
        "duration": f"{first['duration_s']}s",
        "warmup": f"{first['warmup_s']}s",
        "record": {"interval": interval},
        # The receiver sizes its window, which bounds what a steep slow start may send. Send buffers were ample.
        "transport": {"hz": HZ[kernel], "receive_autotuning": True} | RECEIVERS[kernel],
        "path": {
            "rate": f"{first['rate_mbps']}mbit",
            "rtt": f"{first['rtt_ms']}ms",
            "buffer": f"{first['buffer_bytes']}B",
            "loss": f"{first['loss'] * 100:g}%",
            "loss_at": "after",
        },
        # The real host never starts two runs at the same phase of its clock.
        "flows": [
            {"cc": flow["cc"], "start": f"{flow['start_s']}s", "start_jitter": "10ms"}
            for flow in flows.iter_rows(named=True)
        ],
    }


def compare(case: str, rows: pl.DataFrame, kernel: str, seeds: int) -> list[Comparison]:
    """Runs a case with several seeds and compares it flow by flow."""
    interval = "50ms" if rows["flow"].n_unique() > 1 or kernel != "linux-6.18" else "20ms"
    warmup = float(rows["warmup_s"][0])
    ours: dict[int, list[dict[str, float]]] = defaultdict(list)
    for result in dumbbell.sweep(scenario(rows, kernel, interval), repeat=seeds, progress=False):
        flows = result.flows.to_polars()
        series = result.series.to_polars().filter(pl.col("t_s") >= warmup)
        link = result.links.to_polars().row(0, named=True)
        for flow in flows.iter_rows(named=True):
            srtt = series.filter(pl.col("flow") == flow["flow"])["srtt_ms"].drop_nulls().to_numpy()
            ours[flow["flow"]].append(
                {
                    "goodput_mbps": flow["goodput_mbps"],
                    "share": flow["goodput_mbps"] / flows["goodput_mbps"].sum(),
                    "srtt_ms": float(np.mean(srtt)),
                    "p95_srtt_ms": float(np.quantile(srtt, 0.95)),
                    "retransmits": flow["retransmits_total"],
                    "drops": flow["network_drops_total"],
                    "utilization": link["utilization"],
                }
            )
    total = sum(_mean(rows.filter(pl.col("flow") == index), "goodput_mbps") for index in rows["flow"].unique())
    comparisons = []
    for index, runs in sorted(ours.items()):
        truth = rows.filter(pl.col("flow") == index)

        def average(key: str, runs: list[dict[str, float]] = runs) -> float:
            return mean(run[key] for run in runs)

        def kernel_average(column: str, truth: pl.DataFrame = truth) -> float:
            return _mean(truth, column)

        comparisons.append(
            Comparison(
                kernel=kernel,
                case=case,
                flow=index,
                cc=truth["cc"][0],
                random_loss=float(truth["loss"][0]) > 0,
                flows=len(ours),
                goodput_mbps=average("goodput_mbps"),
                goodput_mbps_kernel=kernel_average("goodput_mbps"),
                share=average("share"),
                share_kernel=kernel_average("goodput_mbps") / total,
                srtt_ms=average("srtt_ms"),
                srtt_ms_kernel=kernel_average("mean_srtt_ms"),
                p95_srtt_ms=average("p95_srtt_ms"),
                p95_srtt_ms_kernel=kernel_average("p95_srtt_ms"),
                retransmits=average("retransmits"),
                retransmits_kernel=kernel_average("retrans"),
                drops=average("drops"),
                drops_kernel=kernel_average("link_drops") + kernel_average("link_losses"),
                utilization=average("utilization"),
                utilization_kernel=kernel_average("link_utilization"),
            )
        )
    return comparisons


def compare_experiments(truth: Path, args: argparse.Namespace) -> list[Comparison]:
    """The cases of a kernel that are experiments (``cases.json``), by the medians of their seeds (``flows.csv``).

    Where there are further runs, means of many are compared, four of the simulator's for one of the kernel's.
    """
    experiments: dict[str, dict[str, Any]] = json.loads((truth / "cases.json").read_text())
    recorded = further.recorded(truth)
    comparisons = []
    for case, experiment in experiments.items():
        if args.case and case not in args.case:
            continue
        spec = own.with_hz(experiment, HZ[truth.name], receivers=RECEIVERS[truth.name])
        for flow in spec["flows"]:
            flow.setdefault("start_jitter", "10ms")
        theirs = recorded.filter(pl.col("case") == case)
        number = theirs["seed"].n_unique()
        middle, repeat = (_mean, max(args.seeds, 4 * number)) if number >= MANY else (_median, args.seeds)
        runs = [run.flows.to_polars() for run in dumbbell.sweep(spec, repeat=repeat, progress=False)]
        total, total_kernel = _sum_of_flows(pl.concat(runs), middle), _sum_of_flows(theirs, middle)
        for flow in range(runs[0].height):
            ours = pl.concat([frame.filter(pl.col("flow") == flow) for frame in runs])
            kernel = theirs.filter(pl.col("flow") == flow)
            comparisons.append(
                Comparison(
                    kernel=truth.name,
                    case=case,
                    flow=flow,
                    cc=kernel["cc"][0],
                    random_loss="loss" in experiment["path"],
                    flows=runs[0].height,
                    goodput_mbps=middle(ours, "goodput_mbps"),
                    goodput_mbps_kernel=middle(kernel, "goodput_mbps"),
                    share=middle(ours, "goodput_mbps") / total,
                    share_kernel=middle(kernel, "goodput_mbps") / total_kernel,
                    srtt_ms=middle(ours, "mean_rtt_ms"),
                    srtt_ms_kernel=middle(kernel, "mean_rtt_ms"),
                    p95_srtt_ms=middle(ours, "p95_rtt_ms"),
                    p95_srtt_ms_kernel=middle(kernel, "p95_rtt_ms"),
                    retransmits=middle(ours, "retransmits_total"),
                    retransmits_kernel=middle(kernel, "retransmits_total"),
                    drops=middle(ours, "network_drops_total"),
                    drops_kernel=middle(kernel, "network_drops_total"),
                    utilization=None,
                    utilization_kernel=None,
                )
            )
    return comparisons


def _median(rows: pl.DataFrame, column: str) -> float:
    return float(np.median(rows[column].cast(pl.Float64).to_numpy()))


def _sum_of_flows(rows: pl.DataFrame, middle: Callable[[pl.DataFrame, str], float]) -> float:
    return sum(middle(rows.filter(pl.col("flow") == flow), "goodput_mbps") for flow in rows["flow"].unique())


def _mean(rows: pl.DataFrame, column: str) -> float:
    return float(np.mean(rows[column].cast(pl.Float64).to_numpy()))


def print_table(comparisons: list[Comparison], console: Console, rtt: str = "srtt") -> None:
    """One line a flow, ours / the kernel's; ``rtt`` is what its times are."""
    table = Table(title="Simulator / real kernel", title_justify="left")
    for heading in (
        "case",
        "flow",
        "goodput Mbit/s",
        "diff",
        f"mean {rtt} ms",
        f"p95 {rtt} ms",
        "retransmits",
        "drops",
    ):
        table.add_column(heading, justify="left" if heading in ("case", "flow") else "right", no_wrap=True)
    table.add_column("utilization", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in comparisons:
        missed = row.misses()
        table.add_row(
            f"{row.case} (uml)" if row.kernel.endswith("-uml") else row.case,
            row.cc,
            f"{row.goodput_mbps:.3f} / {row.goodput_mbps_kernel:.3f}",
            f"{100 * (row.goodput_mbps / row.goodput_mbps_kernel - 1):+.1f} %",
            f"{row.srtt_ms:.1f} / {row.srtt_ms_kernel:.1f}",
            f"{row.p95_srtt_ms:.1f} / {row.p95_srtt_ms_kernel:.1f}",
            f"{row.retransmits:.0f} / {row.retransmits_kernel:.0f}",
            f"{row.drops:.0f} / {row.drops_kernel:.0f}",
            "-" if row.utilization is None else f"{row.utilization:.3f} / {row.utilization_kernel:.3f}",
            "within" if not missed else "off: " + ", ".join(missed),
        )
    console.print(table)


def overlay(case: str, rows: pl.DataFrame, truth: Path, out: Path) -> Path:
    """Our time series over the kernel's, one seed."""
    from dumbbell.plots.style import legend, look, picture

    startup = case in STARTUPS
    theirs = pl.read_csv(truth / f"{case}.csv")
    begin, end = (0.0, 2.0) if startup else (8.0, 16.0)
    spec = scenario(rows, truth.name, "2ms" if startup else "20ms")
    ours = dumbbell.run(spec).series.to_polars()
    panels = (
        ("cwnd", "cwnd", 1.0, "cwnd\n(packets)"),
        ("pacing_mbps", "pacing_mbps", 1.0, "pacing rate\n(Mbit/s)"),
        ("srtt_us", "srtt_ms", 1e-3, "smoothed RTT\n(ms)"),
    )
    kernel_part = theirs.filter(pl.col("t_s").is_between(begin, end))
    our_part = ours.filter(pl.col("t_s").is_between(begin, end))
    with picture(7.2, 5.4) as figure:
        axes = figure.subplots(len(panels), 1, sharex=True)
        for axis, (kernel_column, column, scale, label) in zip(axes, panels, strict=True):
            theirs_shown = kernel_part[kernel_column] * scale
            (kernel,) = axis.plot(
                kernel_part["t_s"], theirs_shown, color="#999999", lw=2.4, label=truth.name.replace("linux-", "Linux ")
            )
            (simulator,) = axis.plot(
                our_part["t_s"], our_part[column], color=look("cubic").colour, lw=1.0, ls="--", label="simulator"
            )
            axis.set_ylabel(label)
            axis.set_ylim(0, 1.08 * axis.get_ylim()[1])
        axes[-1].set_xlabel("time (s)")
        axes[0].set_title(_words(case), loc="left")
        legend(figure, [kernel, simulator])
    (path,) = figure.write(out / case, ["png"])
    return path


def _words(case: str) -> str:
    """The name of a case for a reader: ``cubic, 10 Mbit/s, 40 ms, 1 BDP``."""
    units = {"M": "Mbit/s", "ms": "ms", "bdp": "BDP"}
    parts = (re.fullmatch(r"([\d.]+)(M|ms|bdp)", word) or word for word in case.split("_"))
    return ", ".join(part if isinstance(part, str) else f"{part[1]} {units[part[2]]}" for part in parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groundtruth", type=Path, default=DEFAULT_TRUTH, help="folder with linux-6.18/summary.csv")
    parser.add_argument("--kernel", choices=sorted(HZ), default="linux-6.18")
    parser.add_argument("--case", action="append", help="only this case (may be repeated)")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("out/fidelity"))
    parser.add_argument("--json", action="store_true", help="print the comparisons as JSON")
    parser.add_argument("--record", action="store_true", help="record our own cases on the running kernel")
    parser.add_argument("--runs", type=int, help="with --record: runs of each case in place of its own number")
    parser.add_argument("--retries", type=int, default=8, help="with --record: attempts after a void one")
    args = parser.parse_args()
    # With --json standard output is JSON and nothing else.
    console = Console(width=None if sys.stdout.isatty() else 190, stderr=args.json)
    truth = args.groundtruth / args.kernel
    if args.record and args.kernel in further.NAMES:
        if refused := further.refusal(truth, args.case or ()):
            print(refused, file=sys.stderr)
            return 2
        on = dumbbell.Linux(retries=args.retries)
        return 1 if further.record(truth, args.case, args.runs or 3, on, console) else 0
    if args.record:
        if unknown := set(args.case or ()) - set(CASES):
            print(f"no case {sorted(unknown)[0]}; there are {', '.join(CASES)}", file=sys.stderr)
            return 2
        return 1 if own.record(args.case or list(CASES), args.runs, args.retries, console) else 0
    recording = own.RECORDINGS / f"{args.kernel}.csv"
    judgements = own.judge(recording, args.case, args.seeds) if recording.is_file() else []
    comparisons: list[Comparison] = []
    if (truth / "summary.csv").is_file():
        comparisons = compare_all(truth, args, console)
    elif (truth / "cases.json").is_file():
        comparisons = compare_experiments(truth, args)
        if not args.json:
            print_table(comparisons, console, "RTT")
    elif not judgements:
        print(f"no ground truth at {truth}: give its folder with --groundtruth", file=sys.stderr)
        return 2
    if args.json:
        rows = [asdict(row) | {"misses": row.misses()} for row in comparisons]
        print(json.dumps(rows + [row.to_json() for row in judgements], indent=1))
    elif judgements:
        own.print_judgements(judgements, recording, console)
    missed = sum(bool(row.misses()) for row in comparisons) + sum(bool(row.misses()) for row in judgements)
    console.print(f"{len(comparisons) + len(judgements) - missed} passed, {missed} failed", style=None)
    return 1 if missed else 0


def compare_all(truth: Path, args: argparse.Namespace, console: Console) -> list[Comparison]:
    """The cases of the recordings that others made."""
    summary = pl.read_csv(truth / "summary.csv", infer_schema_length=None)
    known = [algorithm["name"] for algorithm in json.loads(_core.algorithms())]
    comparisons: list[Comparison] = []
    for (case,), rows in summary.group_by("case", maintain_order=True):
        if (args.case and case not in args.case) or not set(rows["cc"]) <= set(known):
            continue
        comparisons += compare(str(case), rows, args.kernel, args.seeds)
    if not args.json:
        print_table(comparisons, console)
        if args.kernel == "linux-6.18":
            for case in (*OVERLAYS, *STARTUPS):
                rows = summary.filter(pl.col("case") == case)
                if not args.case or case in args.case:
                    console.print(f"overlay: {overlay(case, rows, truth, args.out)}")
    return comparisons


if __name__ == "__main__":
    sys.exit(main())
