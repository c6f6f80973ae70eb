"""What one run of the field's experiments shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from dumbbell.papers.family.measure import Runs
from dumbbell.papers.runs import Run

FOLDER = Path(__file__).parent

DIRECTION = "direction"
"""Published where the text that can be had tells no number."""


def part(run: Run) -> float:
    """The first flow's part of what all flows get."""
    return float(run.rates[0] / max(sum(run.rates), 1e-9))


def ratio(run: Run) -> float:
    """What the faster flow gets over what the slower one does."""
    return float(max(run.rates) / max(min(run.rates), 1e-3))


def seeds(cases: Mapping[str, Runs], value: Callable[[Run], float]) -> list[list[float]]:
    """For each case a value of each seed, as pictures want it."""
    return [[value(run) for run in runs] for runs in cases.values()]
