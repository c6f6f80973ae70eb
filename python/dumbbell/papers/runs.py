"""A run of an experiment, and the quantities that several studies measure of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dumbbell import metrics


@dataclass(frozen=True)
class Run:
    """One point of an experiment with one seed."""

    flows: Sequence[Mapping[str, Any]]
    """The row of each flow."""
    settings: Mapping[str, str | None] = field(default_factory=dict)
    """What the sweep set, in words."""
    link: Mapping[str, Any] = field(default_factory=dict)
    """The row of the bottleneck."""
    kept: Any = None
    """What the experiment kept of it."""
    duration_s: float = 0.0

    def sum(self, column: str) -> float:
        """A column over all flows."""
        return float(sum(self.of(column)))

    def of(self, column: str) -> list[Any]:
        """A column, flow by flow."""
        return [flow[column] for flow in self.flows]

    @property
    def rates(self) -> list[float]:
        """Goodput of each flow in Mbit/s."""
        return self.of("goodput_mbps")


def total(run: Run) -> float:
    """Goodput of all flows in Mbit/s."""
    return sum(run.rates)


def jain(run: Run) -> float:
    """Jain's index of the flows' goodputs."""
    return metrics.jain(run.rates) or 0.0


def ratio(run: Run) -> float:
    """Largest over smallest goodput."""
    return max(run.rates) / min(run.rates) if min(run.rates) > 0 else math.inf


def loss(run: Run, counted: str = "_total") -> float:
    """Packets that the network dropped of those sent, over the whole run or (``counted=""``) after the warm-up."""
    return run.sum(f"network_drops{counted}") / max(run.sum(f"sent{counted}"), 1)


def timeouts(run: Run) -> float:
    """Expiries of retransmission timers over the whole run."""
    return run.sum("rto_count_total")
