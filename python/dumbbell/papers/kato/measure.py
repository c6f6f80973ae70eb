"""What a run of sixteen flows shows: who starves, how evenly the rest shares, how much is carried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import stdev
from typing import TYPE_CHECKING

from dumbbell import metrics
from dumbbell.papers.data import published

if TYPE_CHECKING:
    from dumbbell.papers.part import Ran

FOLDER = Path(__file__).parent

BUFFERS = ("100", "500", "1000", "2000", "5000")
"""Packets."""
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


def jain(run: Run) -> float:
    """Jain's index of a run."""
    return run.jain


def total(run: Run) -> float:
    """Goodput of all flows of a run."""
    return run.total


def starved(run: Run) -> float:
    """Flows of a run below 1 Mbit/s."""
    return run.starved


def timeouts(run: Run) -> float:
    """Timeouts of a run."""
    return run.timeouts


Cases = dict[tuple[str, ...], list[Run]]
"""The runs of each case, a run for each seed."""


def measure(ran: Ran, keys: Sequence[str]) -> Cases:
    """Collects a sweep by the columns ``keys``."""
    columns = ("point", *keys, "goodput_mbps", "rto_count_total")
    points: dict[int, tuple[tuple[str, ...], list[float], list[int]]] = {}
    for row in ran.sweep.flows.to_polars().select(columns).iter_rows():
        _, rates, expiries = points.setdefault(row[0], (tuple(map(str, row[1:-2])), [], []))
        rates.append(row[-2])
        expiries.append(row[-1])
    cases: Cases = {}
    for case, rates, expiries in points.values():
        cases.setdefault(case, []).append(Run(rates, sum(expiries)))
    return cases


def published_values(metric: str) -> dict[str, float]:
    """Table II's numbers by buffer."""
    numbers = published(FOLDER, "table2")
    return {n.case["buffer"]: n.value for n in numbers if (n.case["version"], n.metric) == ("ns-3.40", metric)}
