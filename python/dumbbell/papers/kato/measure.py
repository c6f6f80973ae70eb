"""What a run of sixteen flows shows: who starves, how evenly the rest shares, how much is carried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import TYPE_CHECKING

from dumbbell import metrics

if TYPE_CHECKING:
    from dumbbell.results import SweepResult

STARVED_MBPS = 1.0
"""A flow below this is starved."""
FAST_MBPS = 50.0
"""A flow above this is fast."""
SPLIT = 4
"""Starved flows that make a run bimodal."""


@dataclass(frozen=True)
class Run:
    """One run."""

    goodputs_mbps: Sequence[float]
    """Of each flow, over the whole run."""
    timeouts: int
    """Expiries of retransmission timers, all flows."""

    @property
    def total(self) -> float:
        """Goodput of all flows, Mbit/s."""
        return sum(self.goodputs_mbps)

    @property
    def deviation(self) -> float:
        """Standard deviation over flows, Mbit/s."""
        return stdev(self.goodputs_mbps)

    @property
    def jain(self) -> float:
        """Jain's index."""
        return metrics.jain(self.goodputs_mbps) or 0.0

    @property
    def starved(self) -> int:
        """Flows below 1 Mbit/s."""
        return sum(rate < STARVED_MBPS for rate in self.goodputs_mbps)

    @property
    def fast(self) -> int:
        """Flows above 50 Mbit/s."""
        return sum(rate > FAST_MBPS for rate in self.goodputs_mbps)

    @property
    def spread(self) -> float:
        """Goodput of the fastest over that of the slowest flow."""
        return max(self.goodputs_mbps) / max(min(self.goodputs_mbps), 1e-6)


Cases = dict[tuple[str, ...], list[Run]]
"""The runs of each case, a run for each seed."""


def measure(result: SweepResult, keys: Sequence[str]) -> Cases:
    """Collects a sweep by the columns ``keys``."""
    columns = ("point", *keys, "goodput_mbps", "rto_count_total")
    points: dict[int, tuple[tuple[str, ...], list[float], list[int]]] = {}
    for row in result.flows.to_polars().select(columns).iter_rows():
        _, rates, timeouts = points.setdefault(row[0], (tuple(map(str, row[1:-2])), [], []))
        rates.append(row[-2])
        timeouts.append(row[-1])
    cases: Cases = {}
    for case, rates, timeouts in points.values():
        cases.setdefault(case, []).append(Run(rates, sum(timeouts)))
    return cases
