"""The limits of a gate, such as ``p95 goodput -2%``, and what two samples of runs say about them.

Nothing is assumed of distributions: bounds are samples, by their ranks.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.check.scenarios import METRICS, hint
from dumbbell.inference import FloatArray, Interval, proportion_interval, quantile_interval, quantile_ranks

Verdict = Literal["pass", "fail", "undecided"]

DEFAULTS = ("goodput -2%", "delay +10%", "loss +0.5", "fairness -0.05", "completion +10%")
"""The limits where none is given."""

BEYOND = 1.5
"""A regression so many times as large as its limit is what the advised number of runs shows."""

POWER = 0.9
"""How often it shows it."""

MOST_RUNS = 2000
"""More runs are never advised."""

_SHAPE = "write [SCENARIO:] [median|pNN] METRIC +LIMIT or -LIMIT, such as 'p95 goodput -2%'"

_LIMIT = re.compile(
    r"(?:(?P<scenario>[^:]+):)?\s*(?:(?P<stat>median|mean|p\d+(?:\.\d+)?)\s+)?(?P<metric>[a-z_]+)\s*"
    r"(?P<sign>[+-])\s*(?P<size>\d+(?:\.\d+)?|\.\d+)\s*(?P<percent>%?)"
)

_DRAWS = 400
"""Samples that are drawn to find out how many runs a quantile needs."""


@dataclass(frozen=True)
class Limit:
    """How far a quantile of a metric may fall or rise."""

    text: str
    scenario: str | None
    """The scenario that it is for; all without."""
    share: float
    """The quantile over the runs: 0.5 for the median."""
    metric: str
    sign: int
    """-1 limits a fall, 1 a rise."""
    size: float
    """A share of what the base has, or a difference in the unit of the metric."""
    is_relative: bool

    @property
    def written(self) -> str:
        """The limit as rows have it: ``p95 goodput -2%``."""
        stat = "" if self.share == 0.5 else f"p{100 * self.share:g} "
        return f"{stat}{self.metric} {self.sign * self.size * self._scale:+g}{self._unit}"

    def amount(self, change: float) -> str:
        """A change, in percent where the limit is."""
        value = change * self._scale
        return (
            f"{value:+.1f}" if self.is_relative and abs(value) >= 10 else f"{value:+.{2 if self.is_relative else 3}f}"
        )

    def interval(self, change: Interval) -> str:
        """A change with its bounds."""
        bounds = f"[{self.amount(change.low)},{self.amount(change.high)}]"
        return f"{self.amount(change.estimate)}{self._unit} {bounds}"

    def fewest(self, error: float) -> int:
        """The fewest runs of which a change has both bounds, each wrong with a probability of at most ``error``."""
        # Of other quantiles than the median, base and new have bounds of their own.
        of_one = error if self.share == 0.5 else error / 2
        return math.ceil(math.log(of_one) / math.log(max(self.share, 1 - self.share)))

    @property
    def _scale(self) -> float:
        return 100.0 if self.is_relative else 1.0

    @property
    def _unit(self) -> str:
        return "%" if self.is_relative else ""

    def changes(self, base: FloatArray, new: FloatArray) -> FloatArray:
        """The change of each pair; 0 where both are equal, also where both are infinite or zero."""
        with np.errstate(all="ignore"):
            change = new - base
            if self.is_relative:
                change = np.where(np.isinf(base), -1.0, change / base)
        return np.where(new == base, 0.0, change)


def parse(text: str) -> Limit:
    """Reads a limit.

    Raises:
        ValueError: It is none; the message says what would be right.
    """
    found = _LIMIT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text}: this is no limit; {_SHAPE}")
    metric, stat = found["metric"], found["stat"] or "median"
    if metric not in METRICS:
        raise ValueError(f"{text}: there is no metric `{metric}`; {hint(metric, list(METRICS))}")
    if stat == "mean":
        raise ValueError(f"{text}: a mean has no interval without assumptions; write median or p95")
    share = 0.5 if stat == "median" else float(stat[1:]) / 100
    if not 0 < share < 1:
        raise ValueError(f"{text}: `{stat}` is no quantile; write p1 to p99.9, such as p95")
    size, is_relative = float(found["size"]), bool(found["percent"])
    size = size / 100 if is_relative else size
    if size == 0:
        raise ValueError(f"{text}: no number of runs shows that nothing changes at all; tolerate something, such as 1%")
    if is_relative and found["sign"] == "-" and size >= 1:
        raise ValueError(f"{text}: nothing falls by more than 100 %; write less, such as -2%")
    scenario = None if found["scenario"] is None else found["scenario"].strip()
    return Limit(text.strip(), scenario, share, metric, -1 if found["sign"] == "-" else 1, size, is_relative)


@dataclass(frozen=True)
class Row:
    """A limit in a scenario, and what the runs say about it."""

    scenario: str
    limit: Limit
    base: Interval
    """The quantile with its own 95 % interval."""
    new: Interval
    change: Interval
    """The change, with bounds that hold together with those of all rows."""
    advised: int | None
    """Runs that show a regression :data:`BEYOND` times the limit in :data:`POWER` of all cases; ``None`` if more than
    :data:`MOST_RUNS` would be needed."""

    @property
    def verdict(self) -> Verdict:
        """Whether the change is shown to be beyond the limit, or within it."""
        bounds = (self.limit.sign * self.change.low, self.limit.sign * self.change.high)
        if min(bounds) > self.limit.size:
            return "fail"
        return "pass" if max(bounds) <= self.limit.size else "undecided"


def judge(scenario: str, limit: Limit, base: ArrayLike, new: ArrayLike, error: float) -> Row:
    """What pairs of runs say about a limit.

    Args:
        scenario: Where it is judged.
        limit: What is judged.
        base: A value for each run.
        new: A value for each run, in the same order: runs at the same place are a pair.
        error: How often the verdict may be wrong.
    """
    before, after = np.asarray(base, dtype=float), np.asarray(new, dtype=float)
    change = _change(limit, before, after, error)
    of_base, of_new = (quantile_interval(values, limit.share) for values in (before, after))
    assert of_base is not None and of_new is not None  # there is a run
    return Row(scenario, limit, of_base, of_new, change, advised(limit, before, after, error))


def _change(limit: Limit, base: FloatArray, new: FloatArray, error: float) -> Interval:
    """The change of a quantile, whose bounds are each wrong with a probability of at most ``error``.

    Of the median it is the median of the changes of pairs. Of other quantiles, which pairs do not have, each bound is
    what a bound of one sample and the opposite bound of the other make.
    """
    if limit.share == 0.5:
        change = quantile_interval(limit.changes(base, new), 0.5, error)
        assert change is not None  # there is a pair
        return change
    before, after = (quantile_interval(values, limit.share, error / 2) for values in (base, new))
    assert before is not None and after is not None  # there is a run
    # No metric is negative.
    first = np.array([before.estimate, before.high, max(before.low, 0.0)])
    second = np.array([after.estimate, max(after.low, 0.0), after.high])
    estimate, low, high = (float(value) for value in limit.changes(first, second))
    return Interval(estimate, low, high, before.n)


def advised(limit: Limit, base: FloatArray, new: FloatArray, error: float) -> int | None:
    """How many runs show a regression :data:`BEYOND` times the limit in :data:`POWER` of all cases, if any do."""
    if limit.share != 0.5:
        return _advised_of_quantile(limit, base, new, error)
    from scipy.special import bdtr

    worse = limit.sign * limit.changes(base, new)
    middle = float(np.median(worse))
    rest = worse - middle if math.isfinite(middle) else worse
    # The pairs that would lie within the limit, if the regression were so large, and an upper bound of their share.
    within = int((rest <= -(BEYOND - 1) * limit.size).sum())
    share = proportion_interval(within, worse.size, 2 * POWER - 1)
    assert share is not None  # there is a pair
    # The limit is broken where fewer pairs are within than the rank of the lower bound.
    ranks = _low_ranks(error)
    power = np.where(ranks > 0, bdtr(ranks - 1.0, np.arange(1, MOST_RUNS + 1), share.high), 0.0)
    enough = np.flatnonzero(power >= POWER)
    return int(enough[0]) + 1 if enough.size else None


@cache
def _low_ranks(error: float) -> NDArray[np.int64]:
    """The rank of the median's lower bound, as :func:`quantile_ranks` has it, of 1 run, of 2 and so on."""
    from scipy.special import bdtr

    ranks, rank = [], 0
    for runs in range(1, MOST_RUNS + 1):
        # One more run moves the rank by one at most.
        rank += bool(bdtr(rank, runs, 0.5) <= error)
        ranks.append(rank)
    return np.array(ranks)


def _advised_of_quantile(limit: Limit, base: FloatArray, new: FloatArray, error: float) -> int | None:
    """The same for other quantiles, as if runs had a normal distribution: so few say nothing about its tail."""
    from scipy.special import chdtri

    if base.size < 2 or not np.isfinite([*base, *new]).all():
        return None
    # An upper bound of the spread, and both samples with it.
    factor = math.sqrt((base.size - 1) / float(chdtri(base.size - 1, POWER)))
    spread = factor * max(float(base.std(ddof=1)), float(new.std(ddof=1)))
    middle = float(np.median(base))
    regression = limit.sign * BEYOND * limit.size
    runs = limit.fewest(error)
    while runs <= MOST_RUNS:
        of_base, of_new = _normal_bounds(runs, limit.share, error / 2)
        # A fall shows in the highest that the new quantile may be, a rise in the lowest.
        before = middle + spread * of_base[0 if limit.sign < 0 else 1]
        after = middle + spread * of_new[1 if limit.sign < 0 else 0]
        after = after * (1 + regression) if limit.is_relative else after + regression
        if (limit.sign * limit.changes(before, after) > limit.size).mean() >= POWER:
            return runs
        runs = math.ceil(1.2 * runs)
    return None


@cache
def _normal_bounds(runs: int, share: float, error: float) -> FloatArray:
    """The bounds of a quantile of normal samples: two samples, two bounds of each, :data:`_DRAWS` times."""
    drawn = np.sort(np.random.default_rng(1).normal(size=(2, _DRAWS, runs)))
    low, high = quantile_ranks(runs, share, error)
    return np.stack([drawn[:, :, low - 1], drawn[:, :, high - 1]], axis=1)
