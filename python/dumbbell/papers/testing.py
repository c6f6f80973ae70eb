"""Putting claims to runs, and the runs in words.

A claim is tested on single runs, as the studies made them, one for each seed. It holds where it holds in four of five.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import TypeVar

from dumbbell.papers.model import Outcome

Measured = TypeVar("Measured")
Run = TypeVar("Run")


def each(
    choices: Callable[[Measured], Mapping[str, Sequence[Run]]],
    holds: Callable[[Run], bool],
    ours: Callable[[Sequence[Run]], str],
) -> Callable[[Measured], list[Outcome]]:
    """A test that asks every run under every choice whether the claim holds there.

    Args:
        choices: The runs that the claim speaks of, by the name of what the study leaves open.
        holds: The claim about one run. A claim about two algorithms has pairs for runs.
        ours: What these runs measured, in the terms of the claim.
    """
    return lambda measured: [outcome(choice, runs, holds, ours(runs)) for choice, runs in choices(measured).items()]


def outcome(choice: str, runs: Sequence[Run], holds: Callable[[Run], bool], ours: str) -> Outcome:
    """A claim about single runs, put to every one of them."""
    return Outcome(choice, sum(map(holds, runs)), len(runs), ours)


def mean(runs: Iterable[Run], value: Callable[[Run], float]) -> float:
    """Mean over runs."""
    return fmean(map(value, runs))


def average(value: Callable[[Run], float]) -> Callable[[Iterable[Run]], float]:
    """:func:`mean` as a column of a table."""
    return lambda runs: mean(runs, value)


def spread(values: Iterable[float], digits: int = 2, unit: str = "") -> str:
    """``0.97`` or ``0.95 to 0.99``: the range over runs."""
    found = list(values)
    low, high = f"{min(found):.{digits}f}", f"{max(found):.{digits}f}"
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def ranged(value: Callable[[Run], float], digits: int = 2, unit: str = "") -> Callable[[Iterable[Run]], str]:
    """:func:`spread` of a value of each run, as a column of a table or the words of a claim."""
    return lambda runs: spread(map(value, runs), digits, unit)
