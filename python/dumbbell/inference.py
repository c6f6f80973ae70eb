"""What samples allow to say: confidence intervals, the analysis of variance, and the tests of what it assumes.

Samples are independent: one number a run, with different seeds. Points of one time series are not;
:func:`effective_size` tells how many independent ones they are worth.

Distributions, the bootstrap and tests are SciPy's; what is computed here is what it does not give in every version that
is allowed (effect sizes, degrees of freedom, an analysis from means and variances alone, Welch's). Its distributions
are taken from ``scipy.special``, because ``scipy.stats``, which builds on the same functions, takes half a second to
import.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

ROUNDING = 1e-12
"""Samples that differ by no more than this part of their mean are equal but for rounding."""

MAX_DRAWN = 1_000_000
"""So many numbers of resamples are in memory at a time."""

ALPHA = 0.05
"""A difference counts as shown if chance alone gives one like it with less than this probability."""

LEAST_OF_VARIANCES = 3
"""Variances of smaller groups are not tested: two samples are equally far from their median."""

FloatArray = NDArray[np.float64]


def finite(values: ArrayLike) -> FloatArray:
    """The finite ones of ``values``, in one row."""
    data = np.asarray(values, dtype=np.float64).ravel()
    return data[np.isfinite(data)]


def are_equal(values: FloatArray) -> bool:
    """Whether the values differ by no more than rounding."""
    return bool(np.ptp(values) <= ROUNDING * abs(float(values.mean())))


def effective_size(series: ArrayLike) -> float:
    """How many independent samples a stationary time series is worth: its size over its correlation time.

    The correlation time, in steps, is one and twice the sum of the autocorrelations, added up as long as two
    neighbours of them are positive together (Geyer's initial positive sequence, 1992). At most the size; 1 for a series
    that does not change.
    """
    x = finite(series)
    if x.size < 2 or are_equal(x):
        return float(min(x.size, 1))
    x = x - x.mean()
    spectrum = np.fft.rfft(x, 2 * x.size)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2)[: x.size]
    pairs = covariance[: x.size // 2 * 2].reshape(-1, 2).sum(axis=1) / covariance[0]
    ends = np.flatnonzero(pairs <= 0)
    time = 2 * float(pairs[: int(ends[0]) if ends.size else None].sum()) - 1
    return float(min(x.size, x.size / time)) if time > 0 else float(x.size)


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
    """A statistic (quantile, ratio) of independent samples with its bootstrap interval, bias-corrected and accelerated.

    The percentile interval where the statistic of the samples without any one of them is always the same, so that there
    is no acceleration. ``None`` without samples; one sample has no interval (low and high are NaN), equal ones have one
    without width.
    """
    x = finite(samples)
    if x.size == 0:
        return None
    estimate = float(statistic(x))
    if x.size == 1:
        return Interval(estimate, math.nan, math.nan, 1)
    if are_equal(x):
        return Interval(estimate, estimate, estimate, int(x.size))
    from scipy import stats

    def interval(method: str) -> tuple[float, float]:
        done = stats.bootstrap(
            (x,),
            statistic,
            n_resamples=resamples,
            batch=max(1, MAX_DRAWN // x.size),
            confidence_level=confidence,
            method=method,
            rng=np.random.default_rng(seed),
        )
        return float(done.confidence_interval.low), float(done.confidence_interval.high)

    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        low, high = interval("BCa")
    if not math.isfinite(low + high):
        low, high = interval("percentile")
    return Interval(estimate, low, high, int(x.size))


def quantile_interval(samples: ArrayLike, share: float = 0.5, error: float = ALPHA / 2) -> Interval | None:
    """A quantile of independent samples with an interval that assumes nothing of their distribution.

    Its bounds are two of the samples, by their ranks (David and Nagaraja, Order Statistics, section 7.1). Each bound is
    wrong with a probability of at most ``error``; the default makes an interval of 95 %. A bound for which there are
    too few samples is infinite. Samples may be infinite; ``None`` without any.

    Args:
        samples: A number each.
        share: Which quantile, more than 0 and less than 1; 0.5 is the median.
        error: How often a bound may be wrong.
    """
    x = np.sort(np.asarray(samples, dtype=np.float64).ravel())
    if x.size == 0:
        return None
    low, high = quantile_ranks(x.size, share, error)
    method: Literal["higher", "linear"] = "higher" if np.isinf(x).any() else "linear"
    return Interval(
        float(np.quantile(x, share, method=method)),
        float(x[low - 1]) if low >= 1 else -math.inf,
        float(x[high - 1]) if high <= x.size else math.inf,
        int(x.size),
    )


def quantile_ranks(n: int, share: float, error: float) -> tuple[int, int]:
    """The ranks, from 1, of the bounds of :func:`quantile_interval`; 0 and ``n + 1`` where there is none."""
    from scipy.special import bdtr, bdtrc

    below = np.arange(n)
    low = int((bdtr(below, n, share) <= error).sum())
    high = n - int((bdtrc(below, n, share) <= error).sum()) + 1
    return low, high


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

    def critical_f(self, alpha: float = ALPHA) -> float:
        """The value that F must exceed to be significant at ``alpha``."""
        from scipy.special import fdtri

        return float(fdtri(self.df_between, self.df_within, 1 - alpha))

    def test(self, name: str = "one-way ANOVA") -> HypothesisTest:
        """What it says of the hypothesis that all groups have the same mean."""
        return HypothesisTest(name, "means", self.f, (float(self.df_between), float(self.df_within)), self.p)


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


@dataclass(frozen=True)
class HypothesisTest:
    """A hypothesis test: whether groups can be told apart, or what an analysis assumes can be."""

    name: str
    of: str
    """What of the groups is compared: their means, variances or ranks."""
    statistic: float
    df: tuple[float, ...]
    """Degrees of freedom, of the F distribution or of chi squared."""
    p: float

    def __str__(self) -> str:
        return f"{self.of} differ" if self.p < ALPHA else f"{self.of} not shown to differ"


def welch_anova(groups: Sequence[ArrayLike]) -> HypothesisTest | None:
    """Welch's analysis of variance, which does not need equal variances; ``None`` where a group has no variance."""
    arrays = [finite(group) for group in groups]
    if len(arrays) < 2 or any(array.size < 2 or are_equal(array) for array in arrays):
        return None
    from scipy.special import fdtrc

    g = len(arrays)
    n = np.array([array.size for array in arrays])
    means = np.array([array.mean() for array in arrays])
    weights = n / np.array([array.var(ddof=1) for array in arrays])
    between = float((weights * (means - np.average(means, weights=weights)) ** 2).sum()) / (g - 1)
    uncertainty = float(((1 - weights / weights.sum()) ** 2 / (n - 1)).sum())
    f = between / (1 + 2 * (g - 2) / (g * g - 1) * uncertainty)
    df = (g - 1.0, (g * g - 1) / (3 * uncertainty))
    return HypothesisTest("Welch's ANOVA", "means", f, df, float(fdtrc(*df, f)))


def levene(groups: Sequence[ArrayLike]) -> HypothesisTest | None:
    """Whether variances differ: Levene's test with deviations from medians (Brown and Forsythe).

    ``None`` where there are fewer than two groups, where one has fewer than :data:`LEAST_OF_VARIANCES` samples, or
    where in no group deviations differ by more than rounding.
    """
    arrays = [finite(group) for group in groups]
    if len(arrays) < 2 or any(array.size < LEAST_OF_VARIANCES for array in arrays):
        return None
    if all(np.ptp(abs(array - np.median(array))) <= ROUNDING * abs(float(array.mean())) for array in arrays):
        return None
    from scipy import stats

    done = stats.levene(*arrays, center="median")
    df = (len(arrays) - 1.0, float(sum(array.size for array in arrays) - len(arrays)))
    return HypothesisTest("Levene's test", "variances", float(done.statistic), df, float(done.pvalue))


def kruskal_wallis(groups: Sequence[ArrayLike]) -> HypothesisTest | None:
    """Whether groups differ by their ranks, for samples that are skewed; ``None`` where all samples are equal."""
    arrays = [finite(group) for group in groups]
    if len(arrays) < 2 or any(array.size == 0 for array in arrays) or are_equal(np.concatenate(arrays)):
        return None
    from scipy import stats

    done = stats.kruskal(*arrays)
    return HypothesisTest("Kruskal-Wallis", "ranks", float(done.statistic), (len(arrays) - 1.0,), float(done.pvalue))
