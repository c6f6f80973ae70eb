"""What an adversary spoils: a number of a run, and which way is worse. docs/adversary.md defines each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.adversary.parts import ATTACKER
from dumbbell.results import Result

TOLERANCE = 0.1
"""How much of what was found a smaller experiment may lose."""

LEAST_SHARE = 0.005
"""Shares that differ by less than this are the same."""


@dataclass(frozen=True)
class Goal:
    """A number that an adversary makes bad."""

    name: str
    measure: Callable[[Result], float]
    """Of a run."""
    sign: int
    """1 where less is worse, -1 where more is."""
    unit: str
    """What the number is, in words behind it."""
    spoilt_by: str = ""
    """The attack that is this goal itself, and finds nothing."""

    def cost(self, value: float) -> float:
        """What a search makes small."""
        return self.sign * value

    def holds(self, value: float, worst: float) -> bool:
        """Whether a number is still about as bad as the worst."""
        if self.sign > 0:
            return value <= worst * (1 + TOLERANCE) + LEAST_SHARE
        return value >= worst * (1 - TOLERANCE)


def _own(result: Result) -> tuple[dict[str, Any], list[dict[str, Any]], float]:
    """The flow that is examined, all flows but the attacker's, and Mbit/s that the attacker has taken."""
    rows = result.flows.rows()
    others = [row for row in rows if row["label"] != ATTACKER]
    taken = math.fsum(row["throughput_mbps"] or 0.0 for row in rows if row["label"] == ATTACKER)
    return rows[0], others, taken


def _throughput(result: Result) -> float:
    own, others, taken = _own(result)
    capacity = next(row["capacity_mbps"] for row in result.links.rows() if row["name"] == "bottleneck")
    return float(own["goodput_mbps"] / max((capacity - taken) / len(others), 1e-9))


def _starvation(result: Result) -> float:
    own, others, _ = _own(result)
    mean = math.fsum(row["goodput_mbps"] for row in others) / len(others)
    return float(own["goodput_mbps"] / mean) if mean > 0 else 1.0


def _delay(result: Result) -> float:
    own, _, _ = _own(result)
    p95 = own["p95_rtt_ms"]
    return float(p95 / own["base_rtt_ms"]) if p95 is not None and math.isfinite(p95) else 1.0


def _loss(result: Result) -> float:
    own, _, _ = _own(result)
    return float(own["network_drops"] / max(own["sent"], 1))


GOALS: Mapping[str, Goal] = {
    goal.name: goal
    for goal in (
        Goal("throughput", _throughput, 1, "of what the link leaves it"),
        Goal("delay", _delay, -1, "times the base round-trip time", "delay"),
        Goal("starvation", _starvation, 1, "of the mean goodput of the flows"),
        Goal("loss", _loss, -1, "of its packets", "losses"),
    )
}
"""The goals by their names."""
