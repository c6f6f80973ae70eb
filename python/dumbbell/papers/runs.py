"""A run of an experiment, and the quantities that several studies measure of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import stdev
from typing import Any, TypeVar

from dumbbell import metrics

Key = TypeVar("Key")


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

    def of(self, column: str) -> list[Any]:
        """A column, flow by flow."""
        return [flow[column] for flow in self.flows]

    def swept(self, *keys: str) -> tuple[str, ...]:
        """What the sweep set under some keys."""
        return tuple(str(self.settings[key]) for key in keys)

    @property
    def rates(self) -> list[float]:
        """Goodput of each flow in Mbit/s."""
        return self.of("goodput_mbps")


Cases = Mapping[tuple[str, ...], Sequence[Run]]
"""Runs by what makes their cases, a run for each seed."""


def grouped(runs: Iterable[Run], key: Callable[[Run], Key]) -> dict[Key, list[Run]]:
    """The runs that have a key in common, in their order."""
    groups: dict[Key, list[Run]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return groups


def single(keys: Mapping[str, tuple[str, ...]]) -> Callable[[Cases], dict[str, Sequence[Run]]]:
    """For each choice the runs of a case."""
    return lambda cases: {choice: cases[key] for choice, key in keys.items()}


def together(keys: Mapping[str, Sequence[tuple[str, ...]]]) -> Callable[[Cases], dict[str, list[tuple[Run, ...]]]]:
    """For each choice the runs of several cases with the same seed."""
    return lambda cases: {choice: list(zip(*map(cases.__getitem__, of), strict=True)) for choice, of in keys.items()}


def summed(column: str) -> Callable[[Run], float]:
    """A column over all flows; with ``_total`` at its end over the whole run, otherwise after the warm-up."""
    return lambda run: float(sum(run.of(column)))


sent = summed("sent_total")
"""Packets, retransmissions included."""
retransmitted = summed("retransmits_total")
drops = summed("network_drops_total")
"""Packets that the network dropped."""
duplicates = summed("duplicates_total")
"""Packets that arrived a second time."""
timeouts = summed("rto_count_total")
"""Expiries of retransmission timers."""


def total(run: Run) -> float:
    """Goodput of all flows in Mbit/s."""
    return sum(run.rates)


def jain(run: Run) -> float:
    """Jain's index of the flows' goodputs."""
    return metrics.jain(run.rates) or 0.0


def slowest(run: Run) -> float:
    """The slowest flow's goodput in Mbit/s."""
    return min(run.rates)


def fastest(run: Run) -> float:
    """The fastest flow's goodput in Mbit/s."""
    return max(run.rates)


def deviation(run: Run) -> float:
    """Standard deviation over flows, Mbit/s."""
    return stdev(run.rates)


def ratio(run: Run) -> float:
    """Largest over smallest goodput."""
    return fastest(run) / slowest(run) if slowest(run) > 0 else math.inf


def loss(run: Run) -> float:
    """Packets that the network dropped of those sent."""
    return drops(run) / max(sent(run), 1)
