"""Putting claims to runs, and the runs in words.

A claim is tested on single runs, as the studies made them, one for each seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import TypeVar

from dumbbell.papers.model import Cell, Grid, Outcome, table

Measured = TypeVar("Measured")
Run = TypeVar("Run")
Key = TypeVar("Key")


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


def paired(ours: Iterable[Run], theirs: Iterable[Run]) -> list[tuple[Run, ...]]:
    """Runs of two algorithms with the same seed."""
    return list(zip(ours, theirs, strict=True))


def near(value: float, target: float, share: float) -> bool:
    """Within a share of a published number."""
    return abs(value - target) <= share * target


def mean(runs: Iterable[Run], value: Callable[[Run], float]) -> float:
    """Mean over runs."""
    return fmean(map(value, runs))


def average(value: Callable[[Run], float]) -> Callable[[Iterable[Run]], float]:
    """:func:`mean` as a column of a table."""
    return lambda runs: mean(runs, value)


def averaged(value: Callable[[Run], float], digits: int = 2) -> Callable[[Iterable[Run]], str]:
    """:func:`mean` as the words of a claim."""
    return lambda runs: f"{mean(runs, value):.{digits}f}"


def spread(values: Iterable[float], digits: int = 2, unit: str = "") -> str:
    """``0.97`` or ``0.95 to 0.99``: the range over runs."""
    found = list(values)
    low, high = f"{min(found):.{digits}f}", f"{max(found):.{digits}f}"
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def ranged(value: Callable[[Run], float], digits: int = 2, unit: str = "") -> Callable[[Iterable[Run]], str]:
    """:func:`spread` of a value of each run, as a column of a table or the words of a claim."""
    return lambda runs: spread(map(value, runs), digits, unit)


def both(
    words: Callable[[Sequence[Run]], str], text: str = "{} against {}"
) -> Callable[[Sequence[tuple[Run, ...]]], str]:
    """The words for the first and for the second runs of pairs (or of three), put into a text."""
    return lambda pairs: text.format(*map(words, zip(*pairs, strict=True)))


def across(
    name: str,
    title: str,
    heads: Sequence[str],
    rows: Iterable[tuple[Sequence[Cell], Mapping[Key, Sequence[Run]]]],
    columns: Mapping[str, Key],
    value: Callable[[Run], float],
    digits: int = 2,
) -> Grid:
    """A table of means over seeds: each of ``rows`` has its runs by the keys that ``columns`` name."""

    def of(key: Key) -> Callable[[Mapping[Key, Sequence[Run]]], Cell]:
        return lambda runs: mean(runs[key], value)

    return table(name, title, heads, rows, {column: of(key) for column, key in columns.items()}, digits)
