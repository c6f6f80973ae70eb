"""When one algorithm is better than another one, and when that has been shown.

The utility of a run is the logarithm of its goodput less a weight times that of its delay (Winstein and Balakrishnan
2013). With a weight of 1 it is the logarithm of power, goodput over delay (Giessler 1978). An algorithm is better if
its utility is higher by what counts, :data:`COUNTS`. Runs are compared with those of the same seed.

A difference is shown if its interval says so. All intervals of a map have one confidence, which the procedure of
Benjamini and Hochberg (1995) finds from all comparisons together: of the differences that are called shown, at most
:data:`FALSE_CHOICES` are expected to be chance. With that confidence an interval leaves out the bound exactly where the
test is passed (Benjamini and Yekutieli 2005).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TypeAlias

import numpy as np

from dumbbell.inference import FloatArray, Interval, mean_interval

COUNTS = 0.05
"""Goodput that is higher by this part, or delay that is lower by it with a weight of 1, counts."""

WEIGHT = 1.0
"""Of delay beside goodput."""

MARGIN = math.log1p(COUNTS)

FALSE_CHOICES = 0.01
"""The part of the differences called shown that may be chance."""

LEAST_GOODPUT_MBPS = 1e-3
"""A flow that gets less counts as one that gets this: nothing has no logarithm."""

Run: TypeAlias = "tuple[float, float | None]"
"""Goodput in Mbit/s and the 95th percentile of RTT in ms, ``None`` where nothing arrived."""

Runs: TypeAlias = Mapping[int, Run]
"""The runs of one algorithm in one place, by their repetition."""


def mean(runs: Runs) -> Run:
    """Goodput and delay over runs; no delay if one of them has none."""
    delays = [delay for _, delay in runs.values() if delay is not None]
    return fmean(goodput for goodput, _ in runs.values()), fmean(delays) if len(delays) == len(runs) else None


@dataclass(frozen=True)
class Difference:
    """How one algorithm differs from another one, as logarithms of ratios: 0.1 is about 10 % more."""

    first: str
    second: str
    utility: Interval
    goodput: Interval
    delay: Interval | None
    """``None`` where one of them has runs without any delay."""
    better: str | None
    """The one that is shown to be better."""

    @property
    def turned(self) -> Difference:
        """How the second differs from the first."""
        delay = None if self.delay is None else _turned(self.delay)
        return Difference(self.second, self.first, _turned(self.utility), _turned(self.goodput), delay, self.better)


@dataclass(frozen=True)
class Verdict:
    """What is best in one place."""

    best: tuple[str, ...]
    """The algorithms that none is shown to be better than: one is a choice, several are a tie."""
    differences: tuple[Difference, ...]
    """Of every pair."""

    @property
    def choice(self) -> str | None:
        """The algorithm to choose; ``None`` where no difference between the best is shown."""
        return self.best[0] if len(self.best) == 1 else None

    def between(self, first: str, second: str) -> Difference | None:
        """How ``first`` differs from ``second``; ``None`` if they have no runs with the same seed."""
        for one in self.differences:
            if (one.first, one.second) == (first, second):
                return one
            if (one.first, one.second) == (second, first):
                return one.turned
        return None


@dataclass(frozen=True)
class _Pair:
    """A comparison before its confidence is known."""

    first: str
    second: str
    utility: FloatArray
    goodput: FloatArray
    delay: FloatArray | None
    p: float

    def judged(self, confidence: float, is_shown: bool) -> Difference:
        utility, goodput = mean_interval(self.utility, confidence), mean_interval(self.goodput, confidence)
        assert utility is not None
        assert goodput is not None
        delay = None if self.delay is None else mean_interval(self.delay, confidence)
        better = None if not is_shown else self.first if utility.estimate > 0 else self.second
        return Difference(self.first, self.second, utility, goodput, delay, better)


def judge(places: Sequence[Mapping[str, Runs]], weight: float = WEIGHT) -> tuple[list[Verdict], float]:
    """The verdict on every place of a map, from the runs of each algorithm there, and the confidence of intervals."""
    pairs = [_pairs(place, weight) for place in places]
    level, shown = _level(np.array([pair.p for own in pairs for pair in own]))
    confidence = 1 - level
    verdicts = []
    for place, own in zip(places, pairs, strict=True):
        differences = tuple(pair.judged(confidence, shown and pair.p <= level) for pair in own)
        worse = {one.second if one.better == one.first else one.first for one in differences if one.better is not None}
        best = tuple(name for name in place if name not in worse)
        # Where algorithms have different seeds in common there can be a circle.
        verdicts.append(Verdict(best or tuple(place), differences))
    return verdicts, confidence


def _level(p: FloatArray) -> tuple[float, bool]:
    """The p-value up to which comparisons are shown (Benjamini and Hochberg), and whether any is."""
    if p.size == 0:
        return FALSE_CHOICES, False
    bounds = FALSE_CHOICES * np.arange(1, p.size + 1) / p.size
    passed = np.flatnonzero(np.sort(p) <= bounds)
    return float(bounds[passed[-1] if passed.size else 0]), bool(passed.size)


def _pairs(place: Mapping[str, Runs], weight: float) -> list[_Pair]:
    found = []
    for first, second in combinations(place, 2):
        seeds = [seed for seed in place[first] if seed in place[second]]
        if not seeds:
            continue
        runs = [(place[first][seed], place[second][seed]) for seed in seeds]
        goodput = np.array([logarithm(one[0]) - logarithm(other[0]) for one, other in runs])
        # What gets nothing has no delay; that it gets nothing is enough.
        delay = np.array([math.log(one[1] / other[1]) if one[1] and other[1] else 0.0 for one, other in runs])
        has_delay = all(one[1] and other[1] for one, other in runs)
        utility = goodput - weight * delay
        found.append(_Pair(first, second, utility, goodput, delay if has_delay else None, _p(utility)))
    return found


def logarithm(goodput_mbps: float) -> float:
    """Of a goodput, which may be nothing."""
    return math.log(max(goodput_mbps, LEAST_GOODPUT_MBPS))


def _p(utility: FloatArray) -> float:
    """Two-sided p-value of Student's t test that the mean is farther from 0 than what counts."""
    own = mean_interval(utility)
    if own is None or own.n < 2 or not own.has_width:
        # One run, or the same one again and again, says nothing of chance.
        return 1.0
    from scipy.special import stdtr

    error = float(utility.std(ddof=1)) / math.sqrt(utility.size)
    return min(1.0, 2 * float(stdtr(utility.size - 1, (MARGIN - abs(own.estimate)) / error)))


def _turned(interval: Interval) -> Interval:
    return Interval(-interval.estimate, -interval.high, -interval.low, interval.n, interval.sd)


@dataclass(frozen=True)
class Regret:
    """What an algorithm costs at worst whoever does not know which place is theirs."""

    name: str
    worst: float
    """How much less utility than the best one there it has in its worst place, as a part of goodput."""
    low: float
    """Bounds of the worst that hold for all places and algorithms together."""
    high: float
    place: int
    """The number of the worst place."""


def regrets(places: Sequence[Mapping[str, Runs]], weight: float = WEIGHT) -> list[Regret]:
    """The worst regret of each algorithm over the places, the least first.

    Regret is how much less utility an algorithm has than the best one in a place. The intervals of all places hold
    together (Bonferroni).
    """
    names = list(dict.fromkeys(name for place in places for name in place))
    single = 1 - FALSE_CHOICES / max(1, len(places) * (len(names) - 1))
    utilities = [_utilities(place, weight) for place in places]
    found = []
    for name in names:
        costs = [_cost(name, place, single) for place in utilities]
        number = max(range(len(costs)), key=lambda place: costs[place].estimate)
        low, high = max(cost.low for cost in costs), max(cost.high for cost in costs)
        found.append(Regret(name, _part(costs[number].estimate), _part(low), _part(high), number))
    return sorted(found, key=lambda one: one.worst)


def least_regret(found: Sequence[Regret]) -> list[str]:
    """The algorithm whose worst regret is the least, and those that it is not shown to differ from in that."""
    return [found[0].name, *(one.name for one in found[1:] if not one.low > found[0].high)]


def _cost(name: str, place: Mapping[str, Mapping[int, float]], confidence: float) -> Interval:
    """By how much the utility of the best of the others is above that of ``name``, at least 0."""
    own = place[name]
    above = [
        mean_interval([utility - own[seed] for seed, utility in other.items() if seed in own], confidence)
        for word, other in place.items()
        if word != name
    ]
    known = [interval for interval in above if interval is not None and interval.n > 1]
    if not known:
        return Interval(0.0, 0.0, math.inf, 0)
    estimate, low, high = (
        max(0.0, *bounds) for bounds in zip(*((one.estimate, one.low, one.high) for one in known), strict=True)
    )
    return Interval(estimate, low, high, known[0].n)


def _utilities(place: Mapping[str, Runs], weight: float) -> dict[str, dict[int, float]]:
    """Of each algorithm by seed. A run in which nothing arrived has the longest delay of the place."""
    longest = max((delay for runs in place.values() for _, delay in runs.values() if delay), default=1.0)
    return {
        name: {
            seed: logarithm(goodput) - weight * math.log(delay or longest) for seed, (goodput, delay) in runs.items()
        }
        for name, runs in place.items()
    }


def _part(log: float) -> float:
    return -math.expm1(-log)
