"""What samples allow to say: confidence intervals and the analysis of variance.

Samples are independent: one number a run, with different seeds. Points of one time series are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

ROUNDING = 1e-12
"""Samples that differ by no more than this part of their mean are equal but for rounding."""

FloatArray = NDArray[np.float64]


def finite(values: ArrayLike) -> FloatArray:
    """The finite ones of ``values``, in one row."""
    data = np.asarray(values, dtype=np.float64).ravel()
    return data[np.isfinite(data)]


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval."""

    estimate: float
    low: float
    high: float
    n: int
    sd: float | None = None
    """Sample standard deviation where the estimate is a mean."""

    @property
    def has_width(self) -> bool:
        """Whether the samples differ by more than rounding: only then is there an interval to speak of."""
        return self.high - self.low > ROUNDING * abs(self.estimate)

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2


def mean_interval(samples: ArrayLike, confidence: float = 0.95) -> Interval | None:
    """Mean of independent samples (runs with different seeds) with Student's t interval.

    ``None`` without samples; a single sample has no interval (low and high are NaN). Points of one time series are not
    independent and do not belong here.
    """
    x = finite(samples)
    if x.size == 0:
        return None
    mean = float(x.mean())
    if x.size == 1:
        return Interval(mean, math.nan, math.nan, 1)
    from scipy.special import stdtrit

    sd = float(x.std(ddof=1))
    half = float(stdtrit(x.size - 1, (1 + confidence) / 2)) * sd / math.sqrt(x.size)
    return Interval(mean, mean - half, mean + half, int(x.size), sd)


def proportion_interval(successes: int, trials: int, confidence: float = 0.95) -> Interval | None:
    """A proportion with Wilson's interval; ``None`` without trials."""
    if trials == 0:
        return None
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    p = successes / trials
    centre = (p + z * z / (2 * trials)) / (1 + z * z / trials)
    half = z / (1 + z * z / trials) * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    return Interval(p, centre - half, centre + half, trials)


def bootstrap_interval(
    samples: ArrayLike,
    statistic: Callable[[FloatArray], float],
    confidence: float = 0.95,
    *,
    resamples: int = 10_000,
    seed: int = 1,
) -> Interval | None:
    """A statistic (quantile, ratio) of independent samples with its percentile bootstrap interval."""
    x = finite(samples)
    if x.size == 0:
        return None
    generator = np.random.default_rng(seed)
    draws = np.array([statistic(x[generator.integers(0, x.size, x.size)]) for _ in range(resamples)])
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(statistic(x)), float(low), float(high), int(x.size))


@dataclass(frozen=True)
class Anova:
    """One-way analysis of variance."""

    ss_between: float
    ss_within: float
    df_between: int
    df_within: int
    f: float
    p: float
    eta_squared: float
    omega_squared: float

    @property
    def ms_between(self) -> float:
        """Mean square between groups."""
        return self.ss_between / self.df_between

    @property
    def ms_within(self) -> float:
        """Mean square within groups."""
        return self.ss_within / self.df_within

    def critical_f(self, alpha: float = 0.05) -> float:
        """The value that F must exceed to be significant at ``alpha``."""
        from scipy.special import fdtri

        return float(fdtri(self.df_between, self.df_within, 1 - alpha))


def anova(groups: Sequence[ArrayLike]) -> Anova | None:
    """One-way ANOVA of groups of independent samples."""
    arrays = [finite(group) for group in groups]
    if any(array.size < 2 for array in arrays):
        return None
    return anova_from_summary(
        [float(array.mean()) for array in arrays],
        [float(array.var(ddof=1)) for array in arrays],
        [array.size for array in arrays],
    )


def anova_from_summary(means: ArrayLike, variances: ArrayLike, counts: ArrayLike) -> Anova | None:
    """One-way ANOVA from the groups' means, sample variances and sizes; ``None`` for fewer than two groups."""
    m, v = np.asarray(means, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    n = np.asarray(counts, dtype=np.float64)
    total = float(n.sum())
    if m.size < 2 or total <= m.size:
        return None
    grand = float((n * m).sum() / total)
    between, within = float((n * (m - grand) ** 2).sum()), float(((n - 1) * v).sum())
    df_between, df_within = m.size - 1, int(total) - m.size
    ms_within = within / df_within
    f = between / df_between / ms_within if ms_within > 0 else (math.inf if between > 0 else 0.0)
    from scipy.special import fdtrc

    return Anova(
        between,
        within,
        df_between,
        df_within,
        f,
        float(fdtrc(df_between, df_within, f)),
        between / (between + within) if between + within > 0 else 0.0,
        (between - df_between * ms_within) / (between + within + ms_within) if between + within > 0 else 0.0,
    )
