"""What every study says of the runs of its seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import TypeVar

from dumbbell.papers.model import Outcome

Run = TypeVar("Run")


def mean(runs: Iterable[Run], value: Callable[[Run], float]) -> float:
    """Mean over runs."""
    return fmean(map(value, runs))


def spread(values: Iterable[float], digits: int = 2, unit: str = "") -> str:
    """``0.97`` or ``0.95 to 0.99``: the range over runs."""
    found = list(values)
    low, high = f"{min(found):.{digits}f}", f"{max(found):.{digits}f}"
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def outcome(choice: str, runs: Sequence[Run], holds: Callable[[Run], bool], ours: str) -> Outcome:
    """A claim about single runs, put to every one of them."""
    return Outcome(choice, sum(map(holds, runs)), len(runs), ours)


def paired(
    choice: str, base: Sequence[Run], other: Sequence[Run], holds: Callable[[Run, Run], bool], ours: str
) -> Outcome:
    """A claim about two algorithms, put to the two runs of every seed."""
    pairs = list(zip(base, other, strict=True))
    return Outcome(choice, sum(holds(a, b) for a, b in pairs), len(pairs), ours)
