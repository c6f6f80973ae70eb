"""The forms of BBR-ACD, and what the parts of the study share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import TypeVar

from dumbbell.papers.model import Outcome

PUBLISHED = Path(__file__).with_name("published.csv")

FORMS = {"bbr-acd": "kernel", "bbr-acd-paper": "paper", "bbr-acd-ns3": "ns3"}
"""Algorithm and name of each form of BBR-ACD."""

Run = TypeVar("Run")


def mean(runs: Iterable[Run], value: Callable[[Run], float]) -> float:
    """Mean over seeds."""
    return fmean(map(value, runs))


def spread(values: Iterable[float], digits: int = 2) -> str:
    """``0.97`` or ``0.95 to 0.99``: the range over seeds."""
    values = list(values)
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def paired(
    choice: str, base: Sequence[Run], form: Sequence[Run], holds: Callable[[Run, Run], bool], ours: str
) -> Outcome:
    """A claim about BBR-ACD beside BBR, put to the two runs of every seed."""
    pairs = list(zip(base, form, strict=True))
    return Outcome(choice, sum(holds(a, b) for a, b in pairs), len(pairs), ours)
