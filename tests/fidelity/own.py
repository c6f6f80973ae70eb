"""Records the cases of ``cases.py`` on the running kernel, and judges the simulator by what was recorded."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from types import MappingProxyType
from typing import Any

import polars as pl
from cases import CASES, UNLIMITED_RMEM, UNLIMITED_WMEM, Case
from rich.console import Console
from rich.table import Table

import dumbbell
from dumbbell.grounds import receivers_of

RECORDINGS = Path(__file__).parent / "recordings"
#: How much of a receive buffer is payload, in 1/256, with segments of 1448 bytes (`scaling_ratio`).
PAYLOAD_SHARE = 160
#: How the names of recordings end that were made in virtual time.
VIRTUAL = "-uml"
#: What is compared: relative tolerance, and the difference that is always allowed.
TOLERANCES = {
    "goodput_mbps": (0.02, 0.0),
    "srtt_ms": (0.05, 0.0),
    "retransmits": (0.25, 20.0),
    "acks": (0.10, 0.0),
}
WORDS = {"goodput_mbps": "goodput", "srtt_ms": "mean RTT", "retransmits": "retransmissions", "acks": "ACKs"}


def recording_of_this_kernel() -> Path:
    """Where recordings of the running kernel are kept: by its version, without what distributions add.

    One that runs in virtual time (``virtual/``) has a file of its own.
    """
    version = ".".join(os.uname().release.split("-")[0].split(".")[:2])
    return RECORDINGS / f"linux-{version}{VIRTUAL if is_in_virtual_time() else ''}.csv"


def is_in_virtual_time() -> bool:
    """Whether the running kernel is User-Mode Linux, as ``virtual/inside.sh`` starts it."""
    return "User Mode Linux" in Path("/proc/cpuinfo").read_text()


def record(names: Iterable[str], runs: int | None, retries: int, console: Console) -> int:
    """Records cases, each several times, and keeps the others as they are. Returns how many could not be."""
    path = recording_of_this_kernel()
    missing = 0
    for name in names:
        case = CASES[name]
        rows = []
        for seed in range(1, (runs or case.runs) + 1):
            on = dumbbell.Linux(retries=retries, sysctl=case.kernel)
            try:
                result = dumbbell.run(with_hz(case.scenario, None), seed=seed, on=on)
            except dumbbell.VoidRunError as error:
                console.print(f"{name}, seed {seed}: {error}", style="yellow", highlight=False)
                missing += 1
                continue
            for attempt in result.void_attempts:
                console.print(
                    f"{name}, seed {seed}: void, {'; '.join(attempt.meta.void)}", style="dim", highlight=False
                )
            certificate = result.meta.certificate or {}
            about = {
                "late_p999_us": round(certificate["late_p999_us"], 1),
                "app_late_p99_us": round(certificate["app_late_p99_us"], 1),
                "void_attempts": len(result.void_attempts),
                "kernel": certificate["kernel"],
                "hz": certificate["hz"],
            }
            rows += [{"case": name, "seed": seed} | one | about for one in measures(result, case)]
            shown = ", ".join(f"{key} {rows[-1][key]}" for key in (*TOLERANCES, "late_p999_us", "app_late_p99_us"))
            console.print(f"{name}, seed {seed}: {shown}", highlight=False)
        if rows:
            keep(path, name, pl.DataFrame(rows), list(CASES))
    console.print(f"recorded in {path}", highlight=False)
    return missing


def keep(path: Path, name: str, rows: pl.DataFrame, cases: list[str]) -> None:
    """Replaces the rows of a case in a file, in the order of the cases."""
    order = {case: index for index, case in enumerate(cases)}
    if path.is_file():
        others = pl.read_csv(path).filter((pl.col("case") != name) & pl.col("case").is_in(cases))
        rows = pl.concat([others, rows], how="diagonal_relaxed")
    path.parent.mkdir(exist_ok=True)
    numbers = [column for column in ("seed", "flow") if column in rows.columns]
    rows.sort(pl.col("case").replace_strict(order, return_dtype=pl.Int32), *numbers).write_csv(path)


def measures(result: dumbbell.Result, case: Case) -> list[dict[str, Any]]:
    """What is compared of every flow of a run, from the same columns on both grounds."""
    warmup = float(str(case.scenario["warmup"]).removesuffix("s"))
    series = result.series.to_polars().filter(pl.col("t_s") >= warmup)
    rows = []
    for flow in result.flows.to_polars().iter_rows(named=True):
        srtt = series.filter(pl.col("flow") == flow["flow"])["srtt_ms"]
        rows.append(
            {
                "flow": flow["flow"],
                "cc": flow["cc"],
                "goodput_mbps": round(flow["goodput_mbps"], 4),
                "srtt_ms": round(number(srtt.mean()), 3),
                "p95_srtt_ms": round(number(srtt.quantile(0.95)), 3),
                "rtt_ms": round(number(flow["mean_rtt_ms"]), 3),
                "retransmits": flow["retransmits_total"],
                "acks": flow["acks_total"],
                "sent": flow["sent_total"],
                "drops": flow["network_drops_total"],
            }
        )
    return [_together(rows)] if case.together else rows


def _together(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Flows as one: times are means, everything else is a sum."""
    one = {"flow": 0, "cc": rows[0]["cc"]}
    for measure in (key for key in rows[0] if key not in one):
        values = [row[measure] for row in rows]
        one[measure] = round(mean(values), 3) if measure.endswith("_ms") else round(sum(values), 4)
    return one


def number(value: Any) -> float:
    """A mean or a median of a table; there is none of nothing."""
    return float("nan") if value is None else float(value)


def _send_buffer(wmem: str) -> dict[str, Any]:
    """What ``tcp_wmem`` says, for the simulator."""
    _, first, largest = (int(size) for size in wmem.split())
    return {"send_buffer_initial": first, "send_buffer_max": largest}


def _window_scale(rmem: str) -> int:
    """The scale that the kernel chooses for a largest receive buffer (``tcp_select_initial_window``)."""
    return min(14, max(0, int(rmem.split()[2]).bit_length() - 1 - 15))


def with_hz(
    scenario: Any,
    hz: int | None,
    wmem: str = UNLIMITED_WMEM,
    rmem: str = UNLIMITED_RMEM,
    receivers: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """The scenario for the simulator, with the kernel's clock and buffers; without a clock for the kernel itself."""
    chosen: dict[str, Any] = copy.deepcopy(dict(scenario))
    if hz is not None:
        for flow in chosen["flows"]:
            # The kernel sizes receive window and send buffer itself.
            kernel = {"hz": hz, "receive_autotuning": True, "send_buffer": "autotuning", **receivers}
            kernel["window_scale"] = _window_scale(rmem)
            kernel["receive_window"] = f"{int(rmem.split()[2]) * PAYLOAD_SHARE // 256}B"
            flow["transport"] = kernel | _send_buffer(wmem) | flow.get("transport", {})
    return chosen


@dataclass(frozen=True)
class Judgement:
    """A flow of a case: each measure of the simulator and of the kernel, medians or means over runs."""

    case: str
    cc: str
    ours: dict[str, float]
    kernel: dict[str, float]
    causes: dict[str, str]

    def misses(self) -> list[str]:
        """The measures that are out of their tolerance."""
        missed = []
        for measure, (relative, absolute) in TOLERANCES.items():
            ours, kernel = self.ours[measure], self.kernel[measure]
            if abs(ours - kernel) > max(relative * abs(kernel), absolute):
                missed.append(measure)
        return missed

    def verdict(self) -> str:
        """What is off, each with its cause or "open"."""
        missed = [f"{WORDS[measure]} ({self.causes.get(measure, 'open')})" for measure in self.misses()]
        return "off: " + ", ".join(missed) if missed else "within"

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "kernel": "own",
            "case": self.case,
            "cc": self.cc,
            **{measure: self.ours[measure] for measure in TOLERANCES},
            **{f"{measure}_kernel": self.kernel[measure] for measure in TOLERANCES},
            "misses": [WORDS[measure] for measure in self.misses()],
        }


def judge(path: Path, chosen: list[str] | None, seeds: int) -> list[Judgement]:
    """Simulates every recorded case with several seeds and compares it with the recording."""
    recorded = pl.read_csv(path)
    judgements = []
    for (name, flow), rows in recorded.group_by("case", "flow", maintain_order=True):
        if name not in CASES or (chosen and name not in chosen):
            continue
        case = CASES[str(name)]
        wmem = case.kernel.get("net.ipv4.tcp_wmem", UNLIMITED_WMEM)
        rmem = case.kernel.get("net.ipv4.tcp_rmem", UNLIMITED_RMEM)
        scenario = with_hz(case.scenario, int(rows["hz"][0]), wmem, rmem, receivers_of(rows["kernel"][0]))
        repeat = max(seeds, 4 * case.runs) if case.scatters else seeds
        runs = dumbbell.sweep(scenario, set=dict(case.simulator), repeat=repeat, progress=False)
        ours = [measures(run, case)[int(str(flow))] for run in runs]
        middle = mean if case.scatters else median
        judgements.append(
            Judgement(
                case=str(name),
                cc=rows["cc"][0],
                ours={measure: middle(float(run[measure]) for run in ours) for measure in TOLERANCES},
                kernel={measure: middle(float(value) for value in rows[measure]) for measure in TOLERANCES},
                # They are those of a live kernel: jitter, and packets that come one by one.
                causes={} if path.stem.endswith(VIRTUAL) else dict(case.causes),
            )
        )
    return judgements


def print_judgements(judgements: list[Judgement], path: Path, console: Console) -> None:
    """One line a flow, ours / the kernel's."""
    title = f"Simulator / our own recordings ({path.stem})"
    table = Table(title=title, title_justify="left")
    for heading in ("case", "flow", "goodput Mbit/s", "mean srtt ms", "retransmits", "ACKs", "verdict"):
        table.add_column(heading, justify="left" if heading in ("case", "flow", "verdict") else "right")
    for row in judgements:
        digits = {"goodput_mbps": 3, "srtt_ms": 1, "retransmits": 0, "acks": 0}
        pairs = [f"{row.ours[key]:.{places}f} / {row.kernel[key]:.{places}f}" for key, places in digits.items()]
        table.add_row(row.case, row.cc, *pairs, row.verdict())
    console.print(table)
