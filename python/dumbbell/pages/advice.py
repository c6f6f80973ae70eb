"""Which algorithm to choose, and why.

Among the algorithms whose goodput is within :data:`SAME_GOODPUT` of the highest, the one with the least delay.
Differences are paired: the same seed for both, so that the interval is that of the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from dumbbell.metrics import Interval, mean_interval
from dumbbell.results import setting_name

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.results import SweepResult

SAME_GOODPUT = 0.05
"""Goodputs that differ by no more than this part of the highest are taken for the same."""

DELAY = "p95_rtt_ms"
ALGORITHMS = ("flows[0].cc", "flows[*].cc")
"""Swept settings that are algorithms."""


@dataclass(frozen=True)
class Difference:
    """By how much the chosen algorithm differs from another one, as parts of the other's numbers."""

    other: str
    goodput: Interval
    delay: Interval


@dataclass(frozen=True)
class Advice:
    """The choice for one setting."""

    setting: str
    """Of what is swept besides the algorithm, in words; empty if nothing is."""
    chosen: str
    goodput_mbps: float
    delay_ms: float
    differences: tuple[Difference, ...]
    quickest: str
    """The algorithm with the least delay, whatever its goodput."""
    runs: int
    """How many the chosen algorithm had."""

    def sentence(self) -> str:
        """The choice and its reason in a sentence."""
        where = f"For {self.setting}: " if self.setting else ""
        own = f"{self.chosen}, {self.goodput_mbps:.3g} Mbit/s at {self.delay_ms:.3g} ms (95th percentile of RTT)"
        less = "" if self.quickest == self.chosen else f" Where delay counts more than goodput: {self.quickest}."
        reasons = [
            f"{_signed(one.delay, 'delay')} and {_signed(one.goodput, 'goodput')} than {one.other}"
            for one in self.differences
        ]
        return f"{where}{own}. " + (f"It has {'; '.join(reasons)}." if reasons else "It was alone.") + less


def advice(sweep: SweepResult) -> list[Advice]:
    """The choice for each setting of a sweep over algorithms that are alone on the path; empty for any other sweep."""
    axis = next((name for name in ALGORITHMS if name in sweep.axes), None)
    flows = sweep.flows.to_polars()
    if axis is None or flows[axis].n_unique() < 2 or flows["flow"].n_unique() > 1:
        return []
    others = [name for name in sweep.axes if name != axis]
    parts = flows.partition_by(*others, as_dict=True, maintain_order=True) if others else {(): flows}
    found = []
    for setting, rows in parts.items():
        words = ", ".join(f"{setting_name(name)} {value}" for name, value in zip(others, setting, strict=True))
        if (choice := _choice(words, rows, axis)) is not None:
            found.append(choice)
    return found


def _choice(setting: str, rows: pl.DataFrame, axis: str) -> Advice | None:
    import polars as pl

    runs = rows.group_by(axis, "repeat", maintain_order=True).agg(pl.col("goodput_mbps").mean(), pl.col(DELAY).mean())
    runs = runs.drop_nulls()
    by_name: dict[str, dict[int, tuple[float, float]]] = {}
    for name, repeat, goodput, delay in runs.select(axis, "repeat", "goodput_mbps", DELAY).rows():
        by_name.setdefault(str(name), {})[repeat] = (goodput, delay)
    means = {name: _mean(list(own.values())) for name, own in by_name.items()}
    if not means:
        return None
    best = max(goodput for goodput, _ in means.values())
    enough = [name for name, (goodput, _) in means.items() if goodput >= (1 - SAME_GOODPUT) * best]
    chosen = min(enough, key=lambda name: means[name][1])
    differences = tuple(
        difference
        for name in by_name
        if name != chosen and (difference := _difference(name, by_name[chosen], by_name[name])) is not None
    )
    goodput, delay = means[chosen]
    quickest = min(means, key=lambda name: means[name][1])
    return Advice(setting, chosen, goodput, delay, differences, quickest, len(by_name[chosen]))


def _mean(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    first, second = zip(*pairs, strict=True)
    return fmean(first), fmean(second)


def _difference(
    other: str, mine: Mapping[int, tuple[float, float]], theirs: Mapping[int, tuple[float, float]]
) -> Difference | None:
    both = [(mine[repeat], theirs[repeat]) for repeat in mine if repeat in theirs]
    goodput = mean_interval([own[0] / their[0] - 1 for own, their in both if their[0] > 0])
    delay = mean_interval([own[1] / their[1] - 1 for own, their in both if their[1] > 0])
    return None if goodput is None or delay is None else Difference(other, goodput, delay)


def _signed(interval: Interval, what: str) -> str:
    """``12 % less delay (95 % interval 11 to 13 %)``."""
    share = 100 * interval.estimate
    if abs(share) < 0.05 and not interval.has_width:
        return f"the same {what}"
    text = f"{_percent(abs(share))} % {'less' if share < 0 else 'more'} {what}"
    if not interval.has_width:
        return text
    low, high = 100 * interval.low, 100 * interval.high
    if low < 0 < high:
        return f"{text} (95 % interval {_percent(-low)} % less to {_percent(high)} % more)"
    nearer, farther = sorted((abs(low), abs(high)))
    return f"{text} (95 % interval {_percent(nearer)} to {_percent(farther)} %)"


def _percent(share: float) -> str:
    return f"{share:.0f}" if abs(share) >= 10 else f"{share:.2g}"


def sentences(choices: Sequence[Advice]) -> list[str]:
    """The choices in words: one for all settings where it is the same."""
    names = list(dict.fromkeys(choice.chosen for choice in choices))
    found = [choice.sentence() for choice in choices]
    if any(choice.runs == 1 for choice in choices):
        found.append("One run of each does not say how much of this is chance: --repeat 10 does.")
    if len(choices) > 1 and len(names) == 1:
        found.insert(0, f"{names[0]} in all {len(choices)} settings.")
    return found
