"""Which groups differ: every pair of them, with p-values that allow for how many pairs there are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.inference import ALPHA, FloatArray, Interval, are_equal, finite, mean_interval


@dataclass(frozen=True)
class Pair:
    """Two groups, by their numbers, and by how much their means differ."""

    first: int
    second: int
    difference: Interval
    """Mean of the first less that of the second."""
    p: float
    """Probability of such a difference if there were none, adjusted for the number of pairs."""

    def __str__(self) -> str:
        return "differ" if self.p < ALPHA else "not shown to differ"


def tukey(groups: Sequence[ArrayLike], confidence: float = 0.95) -> list[Pair]:
    """Tukey's honestly significant differences, for groups of equal variance (Tukey-Kramer where sizes differ).

    The intervals hold together: with probability ``confidence`` all of them are right.
    """
    from scipy import stats

    arrays = _arrays(groups)
    done = stats.tukey_hsd(*arrays)
    bounds = done.confidence_interval(confidence)
    return [
        Pair(i, j, _difference(arrays[i], arrays[j], bounds.low[i, j], bounds.high[i, j]), float(done.pvalue[i, j]))
        for i, j in combinations(range(len(arrays)), 2)
    ]


def games_howell(groups: Sequence[ArrayLike], confidence: float = 0.95) -> list[Pair]:
    """Honestly significant differences for groups whose variances differ (Games and Howell 1976).

    Each pair has the standard error and the degrees of freedom of Welch's t test.
    """
    from scipy.stats import studentized_range

    arrays = _arrays(groups)
    errors = [float(array.var(ddof=1)) / array.size for array in arrays]
    pairs = []
    for i, j in combinations(range(len(arrays)), 2):
        parts = [(errors[k], arrays[k].size) for k in (i, j)]
        both = errors[i] + errors[j]
        df = both**2 / sum(error**2 / (size - 1) for error, size in parts)
        scale = math.sqrt(both / 2)
        difference = float(arrays[i].mean() - arrays[j].mean())
        half = scale * float(studentized_range.ppf(confidence, len(arrays), df))
        p = float(studentized_range.sf(abs(difference) / scale, len(arrays), df))
        pairs.append(Pair(i, j, _difference(arrays[i], arrays[j], difference - half, difference + half), p))
    return pairs


def welch_holm(groups: Sequence[ArrayLike], confidence: float = 0.95) -> list[Pair]:
    """Welch's t test of each pair, p-values with Holm's correction.

    The intervals are those of single pairs: Holm's correction has none of its own.
    """
    from scipy import stats

    arrays = _arrays(groups)
    numbers = list(combinations(range(len(arrays)), 2))
    tests = [stats.ttest_ind(arrays[i], arrays[j], equal_var=False) for i, j in numbers]
    adjusted = holm([float(test.pvalue) for test in tests])
    pairs = []
    for (i, j), test, p in zip(numbers, tests, adjusted, strict=True):
        bounds = test.confidence_interval(confidence)
        pairs.append(Pair(i, j, _difference(arrays[i], arrays[j], bounds.low, bounds.high), float(p)))
    return pairs


def paired_holm(groups: Sequence[ArrayLike], confidence: float = 0.95) -> list[Pair]:
    """Student's t test of the differences, for groups whose samples belong together one by one (the same seeds).

    P-values have Holm's correction; intervals are those of single pairs.

    Raises:
        ValueError: The groups have different sizes.
    """
    from scipy import stats

    arrays = [np.asarray(group, dtype=np.float64) for group in groups]
    if len({array.size for array in arrays}) > 1:
        raise ValueError(f"samples cannot be paired: groups have {', '.join(str(array.size) for array in arrays)}")
    _arrays(arrays)
    numbers = list(combinations(range(len(arrays)), 2))
    found = [(i, j, mean_interval(arrays[i] - arrays[j], confidence)) for i, j in numbers]
    tested = [(i, j, interval) for i, j, interval in found if interval is not None and interval.has_width]
    p = holm([float(stats.ttest_rel(arrays[i], arrays[j]).pvalue) for i, j, _ in tested])
    return [Pair(i, j, interval, float(value)) for (i, j, interval), value in zip(tested, p, strict=True)]


def holm(p: ArrayLike) -> FloatArray:
    """P-values of tests that are made together, adjusted by Holm's step-down method (1979)."""
    given = np.asarray(p, dtype=np.float64)
    order = np.argsort(given)
    steps = given[order] * np.arange(given.size, 0, -1)
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


METHODS: Mapping[str, Callable[[Sequence[ArrayLike]], list[Pair]]] = {
    "tukey": tukey,
    "games-howell": games_howell,
    "holm": welch_holm,
    "paired": paired_holm,
}
"""Post-hoc tests by their names."""

TITLES: Mapping[str, str] = {
    "tukey": "Tukey's test",
    "games-howell": "Games and Howell's test",
    "holm": "Welch's t tests with Holm's correction",
    "paired": "t tests of runs with the same seed, with Holm's correction",
}
"""What they are, in words."""


def _arrays(groups: Sequence[ArrayLike]) -> list[FloatArray]:
    arrays = [finite(group) for group in groups]
    for number, array in enumerate(arrays):
        if array.size < 2 or are_equal(array):
            raise ValueError(f"group {number} has no variance: it needs two samples that differ")
    return arrays


def _difference(first: FloatArray, second: FloatArray, low: float, high: float) -> Interval:
    return Interval(float(first.mean() - second.mean()), float(low), float(high), int(first.size + second.size))
