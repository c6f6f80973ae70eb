"""Section 3: what BBR' and BBRPlus change about BBR's cycle, seen from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from dumbbell.papers.model import Cell, Claim, Grid, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.testing import each
from dumbbell.papers.zhang.names import FOLDER
from dumbbell.results import Result

PACKET_BITS = 990 * 8
PROBE, DRAIN, CRUISE = 1.25, 0.75, 1.0
SLACK_PACKETS = 2.0
"""The BDP is rounded up to whole packets, and a sample counts the packet that its ACK let out."""
SLACK_ROUND_TRIPS = 1.05
"""A cycle ends with the first ACK after its time, and an UP phase lasts until there is something to see."""


CYCLE, PROBING, LEFT = "cycle", "probing", "left above BDP"

Cycles = dict[str, list[float]]
"""What the cycles of one run looked like, all flows together.

``CYCLE``: from one start of probing to the next, in minimum round-trip times; ``PROBING``: until draining, likewise;
``LEFT``: packets in flight above the BDP when draining ended in cruising.
"""
Found = Mapping[str, Sequence[Cycles]]
"""The cycles of each algorithm, a seed each."""


def pooled(several: Iterable[Cycles]) -> Cycles:
    """Several together."""
    every = list(several)
    return {name: [value for one in every for value in one[name]] for name in (CYCLE, PROBING, LEFT)}


def watch(result: Result) -> Cycles:
    """The cycles of all flows after 5 s."""
    series = result.series.to_polars().filter(pl.col("t_s") > 5.0)
    return pooled(map(cycles, series.partition_by("flow")))


def cycles(flow: pl.DataFrame) -> Cycles:
    """The cycles of one flow, from its samples in the order of time; PROBE_RTT ends a cycle that does not count."""
    rows = flow.select("t_s", "mode", "cc_pacing_gain", "cc_min_rtt_ms", "cc_max_bw_mbps", "inflight").rows()
    found: Cycles = {CYCLE: [], PROBING: [], LEFT: []}
    probing_since: float | None = None
    for before, now in pairwise(rows):
        t_s, mode, gain, min_rtt_ms, bw_mbps, in_flight = now
        if mode != "probe_bw" or before[1] != "probe_bw":
            probing_since = None
        elif gain == PROBE != before[2]:
            if probing_since is not None:
                found[CYCLE].append((t_s - probing_since) * 1e3 / min_rtt_ms)
            probing_since = t_s
        elif gain == DRAIN and before[2] == PROBE and probing_since is not None:
            found[PROBING].append((t_s - probing_since) * 1e3 / min_rtt_ms)
        elif gain == CRUISE and before[2] == DRAIN:
            found[LEFT].append(in_flight - bw_mbps * 1e3 * min_rtt_ms / PACKET_BITS)
    return found


def overview(found: Found) -> Grid:
    """Ranges over all flows and seeds."""

    def of(name: str, summary: Callable[[Sequence[float]], float]) -> Callable[[Cycles], Cell]:
        return lambda one: float(summary(one[name])) if one[name] else None

    summaries: dict[str, Callable[[Sequence[float]], float]] = {"least": min, "mean": np.mean, "most": max}
    columns: dict[str, Callable[[Cycles], Cell]] = {"cycles": lambda one: len(one[CYCLE])}
    columns |= {f"{name}: {word}": of(name, how) for name in (CYCLE, PROBING, LEFT) for word, how in summaries.items()}
    rows = (([label], pooled(runs)) for label, runs in found.items())
    title = "Cycle and probing in minimum round-trip times; packets above the BDP after a drain"
    return table("cycles", title, ["algorithm"], rows, columns)


def drains(of: Cycles) -> bool:
    """Draining ends at a BDP."""
    return bool(of[LEFT]) and max(of[LEFT]) <= SLACK_PACKETS


def as_written(of: Cycles) -> bool:
    """Cycles as algorithm 1 has them."""
    inside = all(2 / SLACK_ROUND_TRIPS <= length <= 8 * SLACK_ROUND_TRIPS for length in of[CYCLE])
    return bool(of[CYCLE]) and inside and min(of[PROBING]) >= 1 / SLACK_ROUND_TRIPS and drains(of)


def left(runs: Sequence[Cycles]) -> str:
    """The most that a drain left."""
    return f"at most {max(pooled(runs)[LEFT], default=0):.1f} packets above the BDP after a drain"


def lasted(runs: Sequence[Cycles]) -> str:
    """The lengths of cycles, and what drains left."""
    lengths = pooled(runs)[CYCLE]
    return f"cycles of {min(lengths):.1f} to {max(lengths):.1f}, {left(runs)}" if lengths else left(runs)


CLAIMS: list[Claim[Found]] = [
    Claim("zha-51",
          "BBRPlus probes at the start of cycles of 2 to 8 minimum round-trip times, for at least one of them, and "
          "drains until at most a BDP is in flight.", "algorithm 1",
          each(lambda found: {"as the code": found["BBRPlus"]}, as_written, lasted)),
    Claim("zha-52", "BBR' keeps its gain of 0.75 until at most a BDP is in flight or it probes again.", "section 3.1",
          each(lambda found: {"as the code": found["BBR'"]}, drains, left)),
]  # fmt: skip

PART = Part(
    "algorithms",
    "The cycles of BBR' and BBRPlus",
    [Experiment(FOLDER / "algorithms.toml", keep=watch)],
    quick="12s",
    measure=lambda ran: ran.kept_by("flows[0].label"),
    setup=["Four flows of one algorithm over 5 Mbit/s and 100 ms with a queue of two BDP; state every millisecond."],
    tables=lambda found: [overview(found)],
    claims=CLAIMS,
)
