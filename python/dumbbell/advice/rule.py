"""When one algorithm is better than another one, and when that has been shown.

A difference counts from :data:`COUNTS` on. Goodput comes first: an algorithm with so much more of it is better. Where
it has not so much less, it is better if it has so much less delay. Both are ratios of runs with the same seed, in
logarithms, so that twice and half weigh the same.

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
"""Goodputs and delays that differ by less than this part are taken for the same."""

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
    goodput: Interval
    delay: Interval | None
    """``None`` where one of them has runs without any delay."""
    better: str | None
    """The one that is shown to be better."""


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
                delay = None if one.delay is None else _turned(one.delay)
                return Difference(first, second, _turned(one.goodput), delay, one.better)
        return None


@dataclass(frozen=True)
class _Pair:
    """A comparison before its confidence is known."""

    first: str
    second: str
    goodput: FloatArray
    delay: FloatArray | None
    p: float

    def judged(self, confidence: float, is_shown: bool) -> Difference:
        goodput = mean_interval(self.goodput, confidence)
        assert goodput is not None
        delay = None if self.delay is None else mean_interval(self.delay, confidence)
        first_is_better = _p_of_better(self.goodput, self.delay) < _p_of_better(-self.goodput, _negative(self.delay))
        better = None if not is_shown else self.first if first_is_better else self.second
        return Difference(self.first, self.second, goodput, delay, better)


def judge(places: Sequence[Mapping[str, Runs]]) -> tuple[list[Verdict], float]:
    """The verdict on every place of a map, from the runs of each algorithm there, and the confidence of intervals."""
    pairs = [list(_pairs(place)) for place in places]
    level, shown = _level(np.array([pair.p for own in pairs for pair in own]))
    confidence = 1 - level
    verdicts = []
    for place, own in zip(places, pairs, strict=True):
        differences = tuple(pair.judged(confidence, shown and pair.p <= level) for pair in own)
        worse = {one.second if one.better == one.first else one.first for one in differences if one.better is not None}
        best = tuple(name for name in place if name not in worse)
        # With a margin there can be a circle: each is worse than another one.
        verdicts.append(Verdict(best or tuple(place), differences))
    return verdicts, confidence


def _level(p: FloatArray) -> tuple[float, bool]:
    """The p-value up to which comparisons are shown (Benjamini and Hochberg), and whether any is."""
    if p.size == 0:
        return FALSE_CHOICES, False
    bounds = FALSE_CHOICES * np.arange(1, p.size + 1) / p.size
    passed = np.flatnonzero(np.sort(p) <= bounds)
    return float(bounds[passed[-1] if passed.size else 0]), bool(passed.size)


def _pairs(place: Mapping[str, Runs]) -> list[_Pair]:
    found = []
    for first, second in combinations(place, 2):
        seeds = [seed for seed in place[first] if seed in place[second]]
        if not seeds:
            continue
        runs = [(place[first][seed], place[second][seed]) for seed in seeds]
        goodput = np.array([logarithm(one[0]) - logarithm(other[0]) for one, other in runs])
        delays = [(one[1], other[1]) for one, other in runs]
        delay = None
        if all(one and other for one, other in delays):
            delay = np.array([math.log(one or 1) - math.log(other or 1) for one, other in delays])
        p = 2 * min(_p_of_better(goodput, delay), _p_of_better(-goodput, _negative(delay)))
        found.append(_Pair(first, second, goodput, delay, min(1.0, p)))
    return found


def logarithm(goodput_mbps: float) -> float:
    """Of a goodput, which may be nothing."""
    return math.log(max(goodput_mbps, LEAST_GOODPUT_MBPS))


def _p_of_better(goodput: FloatArray, delay: FloatArray | None) -> float:
    """Probability of such runs at most, were the first algorithm not better than the second."""
    own = mean_interval(goodput)
    if own is None or own.n < 2 or not (own.has_width or (delay is not None and np.ptp(delay) > 0)):
        # One run, or the same one again and again, says nothing of chance.
        return 1.0
    more = _p_above(goodput, MARGIN)
    if delay is None:
        return more
    return min(more, max(_p_above(goodput, -MARGIN), _p_above(-delay, MARGIN)))


def _p_above(samples: FloatArray, bound: float) -> float:
    """One-sided p-value of Student's t test that the mean is above ``bound``."""
    from scipy.special import stdtr

    error = float(samples.std(ddof=1)) / math.sqrt(samples.size)
    distance = float(samples.mean()) - bound
    if error <= 1e-12:
        return 0.0 if distance > 0 else 1.0
    return float(stdtr(samples.size - 1, -distance / error))


def _negative(samples: FloatArray | None) -> FloatArray | None:
    return None if samples is None else -samples


def _turned(interval: Interval) -> Interval:
    return Interval(-interval.estimate, -interval.high, -interval.low, interval.n, interval.sd)


@dataclass(frozen=True)
class Regret:
    """What an algorithm costs at worst whoever does not know which place is theirs."""

    name: str
    worst: float
    """How much less power than the best one there it has in its worst place, as a part."""
    low: float
    """Bounds of the worst that hold for all places and algorithms together."""
    high: float
    place: int
    """The number of the worst place."""


def regrets(places: Sequence[Mapping[str, Runs]], confidence: float = 1 - FALSE_CHOICES) -> list[Regret]:
    """The worst regret of each algorithm over the places, the least first.

    The utility is power, goodput over the 95th percentile of RTT (Giessler 1978), in the geometric mean over seeds.
    Regret is how much less of it an algorithm has than the best one in a place. The intervals of all places hold
    together (Bonferroni).
    """
    names = list(dict.fromkeys(name for place in places for name in place))
    single = 1 - (1 - confidence) / max(1, len(places) * (len(names) - 1))
    found = []
    for name in names:
        costs = [(_cost(name, place, single), number) for number, place in enumerate(places) if name in place]
        worst, number = max(costs, key=lambda cost: cost[0].estimate)
        low, high = max(cost.low for cost, _ in costs), max(cost.high for cost, _ in costs)
        found.append(Regret(name, _part(worst.estimate), _part(low), _part(high), number))
    return sorted(found, key=lambda one: one.worst)


def least_regret(found: Sequence[Regret]) -> list[str]:
    """The algorithm whose worst regret is the least, and those that it is not shown to differ from in that."""
    return [found[0].name, *(one.name for one in found[1:] if not one.low > found[0].high)]


def _cost(name: str, place: Mapping[str, Runs], confidence: float) -> Interval:
    """The logarithm of the best algorithm's power over that of ``name``, at least 0."""
    powers = {other: _powers(runs) for other, runs in place.items()}
    own = powers[name]
    if own is None:
        return Interval(math.inf, math.inf, math.inf, 0)
    best = max((other for other in powers.values() if other), key=lambda other: fmean(other.values()))
    differences = [best[seed] - own[seed] for seed in own if seed in best]
    interval = mean_interval(differences, confidence)
    if interval is None or interval.n < 2:
        return Interval(0.0 if interval is None else interval.estimate, 0.0, math.inf, 0)
    low, high = max(0.0, interval.low), max(0.0, interval.high)
    return Interval(max(0.0, interval.estimate), low, high, interval.n)


def _powers(runs: Runs) -> dict[int, float] | None:
    """Logarithms by seed; ``None`` for an algorithm some of whose runs delivered nothing."""
    found = {seed: logarithm(goodput) - math.log(delay) for seed, (goodput, delay) in runs.items() if delay}
    return found if len(found) == len(runs) else None


def _part(log: float) -> float:
    return -math.expm1(-log)
