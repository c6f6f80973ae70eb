"""Section 3: what BBR' and BBRPlus change about BBR's cycle, seen from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.papers import data
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Outcome, Provenance, Report

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.results import Result

TITLE = "The cycles of BBR' and BBRPlus"

SCENARIO = Path(__file__).with_name("algorithms.toml")

QUICK = "12s"

PACKET_BITS = 990 * 8
PROBE, DRAIN, CRUISE = 1.25, 0.75, 1.0
SLACK_PACKETS = 2.0
"""The BDP is rounded up to whole packets, and a sample counts the packet that its ACK let out."""
SLACK_ROUND_TRIPS = 1.05
"""A cycle ends with the first ACK after its time, and an UP phase lasts until there is something to see."""

CLAIMS = (
    Claim(
        "zha-51",
        "BBRPlus probes at the start of cycles of 2 to 8 minimum round-trip times, for at least one of them, and "
        "drains until at most a BDP is in flight.",
        "algorithm 1",
    ),
    Claim("zha-52", "BBR' keeps its gain of 0.75 until at most a BDP is in flight or it probes again.", "section 3.1"),
)


@dataclass(frozen=True)
class Cycles:
    """What one flow's cycles looked like."""

    lengths: tuple[float, ...]
    """From one start of probing to the next, in minimum round-trip times."""
    probes: tuple[float, ...]
    """Length of probing before draining, in minimum round-trip times."""
    drained_to: tuple[float, ...]
    """Packets in flight above the BDP when draining ended in cruising."""


def reproduce(options: Options) -> Report:
    """Runs both algorithms and looks at every flow's gains."""
    found: dict[tuple[str, int], list[Cycles]] = {}

    def watch(_: int, result: Result) -> None:
        series = result.series.to_polars().filter(result.series.to_polars()["t_s"] > 5.0)
        label = result.meta.settings["flows[0].label"]
        found[label, result.meta.repeat] = [cycles(flow) for flow in series.partition_by("flow")]

    result = data.run(SCENARIO, options, quick=QUICK, each=watch)
    report = Report(
        study="zhang",
        part="algorithms",
        title=TITLE,
        setup=(
            "Four flows of one algorithm over 5 Mbit/s and 100 ms with a queue of two BDP; state every millisecond.",
        ),
        tables=(table(found),),
        pictures={},
        judgements=judge(found),
        provenance=Provenance.of([result], {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report


def cycles(flow: pl.DataFrame) -> Cycles:
    """The cycles of one flow, from its samples in the order of time; PROBE_RTT ends a cycle that does not count."""
    rows = flow.select("t_s", "mode", "cc_pacing_gain", "cc_min_rtt_ms", "cc_max_bw_mbps", "inflight").rows()
    lengths, probes, drained = [], [], []
    probing_since: float | None = None
    for before, now in pairwise(rows):
        t_s, mode, gain, min_rtt_ms, bw_mbps, in_flight = now
        if mode != "probe_bw" or before[1] != "probe_bw":
            probing_since = None
            continue
        if gain == before[2]:
            continue
        if gain == PROBE:
            if probing_since is not None:
                lengths.append((t_s - probing_since) * 1e3 / min_rtt_ms)
            probing_since = t_s
        elif gain == DRAIN and before[2] == PROBE and probing_since is not None:
            probes.append((t_s - probing_since) * 1e3 / min_rtt_ms)
        elif gain == CRUISE and before[2] == DRAIN:
            drained.append(in_flight - bw_mbps * 1e3 * min_rtt_ms / PACKET_BITS)
    return Cycles(tuple(lengths), tuple(probes), tuple(drained))


def pooled(of: Sequence[Cycles]) -> tuple[list[float], list[float], list[float]]:
    """Of all flows together."""
    return (
        [value for one in of for value in one.lengths],
        [value for one in of for value in one.probes],
        [value for one in of for value in one.drained_to],
    )


def table(found: dict[tuple[str, int], list[Cycles]]) -> Grid:
    """Ranges over all flows and seeds."""
    rows: list[list[Cell]] = []
    for label in dict.fromkeys(label for label, _ in found):
        lengths, probes, drained = pooled([one for (name, _), of in found.items() if name == label for one in of])
        row: list[Cell] = [label, len(lengths)]
        for values in (lengths, probes, drained):
            row += [float(np.min(values)), float(np.mean(values)), float(np.max(values))] if values else [None] * 3
        rows.append(row)
    columns = ["algorithm", "cycles"]
    columns += [
        f"{name}: {what}" for name in ("cycle", "probing", "left above BDP") for what in ("least", "mean", "most")
    ]
    return Grid(
        "cycles", "Cycle and probing in minimum round-trip times; packets above the BDP after a drain", columns, rows
    )


def judge(found: dict[tuple[str, int], list[Cycles]]) -> list[Judgement]:
    """Puts both claims to every seed."""
    plus = [of for (label, _), of in sorted(found.items()) if label == "BBRPlus"]
    prime = [of for (label, _), of in sorted(found.items()) if label == "BBR'"]

    def as_written(of: Sequence[Cycles]) -> bool:
        lengths, probes, drained = pooled(of)
        inside = all(2 / SLACK_ROUND_TRIPS <= length <= 8 * SLACK_ROUND_TRIPS for length in lengths)
        return bool(lengths) and inside and min(probes) >= 1 / SLACK_ROUND_TRIPS and max(drained) <= SLACK_PACKETS

    def drains(of: Sequence[Cycles]) -> bool:
        drained = pooled(of)[2]
        return bool(drained) and max(drained) <= SLACK_PACKETS

    def numbers(of: Sequence[Sequence[Cycles]], *, cycle: bool) -> str:
        lengths, _, drained = pooled([one for run in of for one in run])
        most = f"at most {max(drained, default=0):.1f} packets above the BDP after a drain"
        return f"cycles of {min(lengths):.1f} to {max(lengths):.1f}, {most}" if cycle and lengths else most

    by_id = {claim.id: claim for claim in CLAIMS}
    return [
        Judgement(
            by_id["zha-51"], [Outcome("as the code", sum(map(as_written, plus)), len(plus), numbers(plus, cycle=True))]
        ),
        Judgement(
            by_id["zha-52"], [Outcome("as the code", sum(map(drains, prime)), len(prime), numbers(prime, cycle=False))]
        ),
    ]
