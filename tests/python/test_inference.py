"""Intervals and tests on examples that were computed elsewhere, and on what must hold between them."""

import inspect
import math

import numpy as np
import pytest

from dumbbell import metrics, posthoc

HEADACHE = ([24.5, 23.5, 26.4, 27.1, 29.9], [28.4, 34.2, 29.5, 32.2, 30.1], [26.1, 28.3, 24.3, 26.2, 27.8])
"""Minutes until relief of three medicines: the example that SAS publishes for Tukey's test."""

UNEQUAL = ([5.1, 4.9, 5.0, 5.2, 4.8], [7.0, 3.0, 9.0, 5.5, 8.2, 2.1], [6.0, 6.4, 5.7, 6.3])
"""Groups of different sizes and variances."""


def test_a_bootstrap_interval_of_skewed_samples_leans_to_their_tail() -> None:
    samples = np.random.default_rng(3).exponential(size=40)
    interval = metrics.bootstrap_interval(samples, np.mean)
    assert interval is not None
    assert interval.high - interval.estimate > 1.1 * (interval.estimate - interval.low)
    assert interval == metrics.bootstrap_interval(samples, np.mean)


def test_a_bootstrap_interval_covers_the_mean_as_often_as_it_says() -> None:
    generator = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        interval = metrics.bootstrap_interval(generator.exponential(size=50), np.mean, resamples=999)
        assert interval is not None
        hits += interval.low <= 1 <= interval.high
    assert 0.88 <= hits / 200 <= 0.98


def test_a_statistic_that_no_sample_moves_has_a_percentile_interval() -> None:
    interval = metrics.bootstrap_interval([1, 1, 1, 1, 5], np.median)
    assert interval is not None
    assert (interval.low, interval.estimate, interval.high) == (1, 1, 5)


def test_one_sample_has_no_bootstrap_interval_and_equal_ones_one_without_width() -> None:
    assert metrics.bootstrap_interval([], np.median) is None
    single = metrics.bootstrap_interval([4.0], np.median)
    assert single is not None
    assert math.isnan(single.low)
    equal = metrics.bootstrap_interval([4.0, 4.0, 4.0], np.median)
    assert equal is not None
    assert (equal.low, equal.high, equal.has_width) == (4, 4, False)


def test_an_autoregressive_series_is_worth_as_much_as_theory_says() -> None:
    noise = np.random.default_rng(5).normal(size=40_000)
    series = np.empty_like(noise)
    series[0] = noise[0]
    for i in range(1, noise.size):
        series[i] = 0.8 * series[i - 1] + noise[i]
    # The correlation time is (1 + 0.8) / (1 - 0.8) = 9 steps.
    assert metrics.effective_size(series) == pytest.approx(noise.size / 9, rel=0.1)
    assert metrics.effective_size(noise) > 0.95 * noise.size


def test_an_effective_size_is_never_more_than_the_size() -> None:
    assert metrics.effective_size([]) == 0
    assert metrics.effective_size([3.0] * 50) == 1
    assert metrics.effective_size([0.0, 1.0] * 50) == 100


def test_one_way_anova_is_that_of_scipy() -> None:
    from scipy import stats

    found = metrics.anova(HEADACHE)
    assert found is not None
    expected = stats.f_oneway(*HEADACHE)
    assert found.test().statistic == pytest.approx(expected.statistic)
    assert found.test().p == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("groups", [HEADACHE, UNEQUAL, [[1.0, 2.0], [1.5, 9.0, 2.0], [4.0, 4.5, 5.5, 3.0]]])
def test_effect_sizes_are_those_that_follow_from_f(groups: list[list[float]]) -> None:
    found = metrics.anova(groups)
    assert found is not None
    count = sum(map(len, groups))
    # Hays' estimate and the share of variance, each written in F alone.
    assert found.omega_squared == pytest.approx(
        found.df_between * (found.f - 1) / (found.df_between * (found.f - 1) + count)
    )
    explained = found.f * found.df_between
    assert found.eta_squared == pytest.approx(explained / (explained + found.df_within))


def test_welchs_anova_of_two_groups_is_the_square_of_welchs_t() -> None:
    first, second = (np.array(group) for group in UNEQUAL[:2])
    found = metrics.welch_anova([first, second])
    assert found is not None
    of_means = [group.var(ddof=1) / group.size for group in (first, second)]
    t = (first.mean() - second.mean()) / math.sqrt(sum(of_means))
    df = sum(of_means) ** 2 / sum(v * v / (group.size - 1) for v, group in zip(of_means, (first, second), strict=True))
    assert found.statistic == pytest.approx(t * t)
    assert found.df == pytest.approx((1, df))


def test_welchs_anova_is_that_of_scipy_where_it_has_one() -> None:
    from scipy import stats

    if "equal_var" not in inspect.signature(stats.f_oneway).parameters:
        pytest.skip("this SciPy has no analysis of variance after Welch")
    found = metrics.welch_anova(UNEQUAL)
    assert found is not None
    expected = stats.f_oneway(*UNEQUAL, equal_var=False)
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))


def test_levenes_test_is_the_anova_of_deviations_from_medians() -> None:
    found = metrics.levene(UNEQUAL)
    expected = metrics.anova([np.abs(np.array(group) - np.median(group)) for group in UNEQUAL])
    assert found is not None
    assert expected is not None
    assert found.statistic == pytest.approx(expected.f)
    assert found.df == (expected.df_between, expected.df_within)
    assert found.p == pytest.approx(expected.p)


def test_kruskal_wallis_of_ranks_in_order() -> None:
    found = metrics.kruskal_wallis([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert found is not None
    assert found.statistic == pytest.approx(7.2)
    assert found.df == (2,)
    assert found.p == pytest.approx(math.exp(-3.6))


def test_groups_without_variance_are_not_tested() -> None:
    assert metrics.welch_anova([[1, 2, 3], [2, 2, 2]]) is None
    assert metrics.levene([[1, 1, 1], [2, 2, 2]]) is None
    assert metrics.kruskal_wallis([[1, 1], [1, 1]]) is None
    assert metrics.anova([[1], [2, 3]]) is None
    for method in posthoc.METHODS.values():
        with pytest.raises(ValueError, match="group 1 has no variance"):
            method([[1, 2, 3], [2, 2, 2]])


def test_tukeys_test_on_the_published_example() -> None:
    found = {(pair.first, pair.second): pair for pair in metrics.tukey(HEADACHE)}
    published = {
        (0, 1): (-4.600, -8.249, -0.951, 0.014),
        (0, 2): (-0.260, -3.909, 3.389, 0.980),
        (1, 2): (4.340, 0.691, 7.989, 0.020),
    }
    assert found.keys() == published.keys()
    for key, (estimate, low, high, p) in published.items():
        difference = found[key].difference
        assert (difference.estimate, difference.low, difference.high) == pytest.approx((estimate, low, high), abs=5e-4)
        assert found[key].p == pytest.approx(p, abs=5e-4)


def test_holms_correction_by_hand() -> None:
    assert metrics.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert metrics.holm([0.9, 0.8]) == pytest.approx([1, 1])
    assert metrics.holm([]).size == 0


def test_pairs_of_the_same_seed_show_what_independent_groups_hide() -> None:
    generator = np.random.default_rng(2)
    base = generator.normal(10, 3, size=10)
    first, second = base, base + 0.5 + generator.normal(0, 0.1, size=10)
    (independent,) = metrics.welch_holm([first, second])
    (paired,) = metrics.paired_holm([first, second])
    assert independent.p > 0.5
    assert paired.p < 1e-6
    assert paired.difference.estimate == pytest.approx(independent.difference.estimate)
    with pytest.raises(ValueError, match="groups have 3, 2"):
        metrics.paired_holm([[1, 2, 3], [2, 3]])


def test_what_statsmodels_finds_is_found() -> None:
    oneway = pytest.importorskip("statsmodels.stats.oneway")
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    multicomp = pytest.importorskip("statsmodels.stats.multicomp")
    welch = metrics.welch_anova(UNEQUAL)
    assert welch is not None
    expected = oneway.anova_oneway(UNEQUAL, use_var="unequal", welch_correction=True)
    assert (welch.statistic, welch.p, *welch.df) == pytest.approx((expected.statistic, expected.pvalue, *expected.df))
    p = [0.001, 0.2, 0.03, 0.04, 0.0002]
    assert metrics.holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1])
    names = np.repeat(np.arange(3), [len(group) for group in UNEQUAL])
    for variances, method in (("equal", metrics.tukey), ("unequal", metrics.games_howell)):
        theirs = multicomp.pairwise_tukeyhsd(np.concatenate(UNEQUAL), names, use_var=variances)
        ours = method(UNEQUAL)
        assert [pair.p for pair in ours] == pytest.approx(list(theirs.pvalues), abs=1e-6)
        assert [-pair.difference.estimate for pair in ours] == pytest.approx(list(theirs.meandiffs))


def test_an_interval_of_a_quantile_is_between_samples_and_as_sure_as_it_says() -> None:
    # The sign test's: of the median of 6 samples the lowest and the highest make an interval of 96.9 %, of 5 none.
    six = metrics.quantile_interval([6, 1, 5, 2, 4, 3])
    assert six is not None
    assert (six.low, six.estimate, six.high) == (1, 3.5, 6)
    five = metrics.quantile_interval([1, 2, 3, 4, 5])
    assert five is not None
    assert (five.low, five.high) == (-math.inf, math.inf)
    # A bound of the 95th percentile at 95 % needs 59 samples.
    bounds = [metrics.quantile_interval(range(runs), 0.95, 0.05) for runs in (58, 59)]
    assert [interval.high for interval in bounds if interval is not None] == [math.inf, 58]
    assert metrics.quantile_interval([]) is None
    never = metrics.quantile_interval([1.0, 2.0, *[math.inf] * 10])
    assert never is not None
    assert (never.estimate, never.low, never.high) == (math.inf, math.inf, math.inf)
    generator = np.random.default_rng(5)
    for share in (0.5, 0.9):
        truth = math.exp(float(np.quantile(generator.normal(size=2_000_000), share)))
        found = [metrics.quantile_interval(np.exp(generator.normal(size=60)), share) for _ in range(500)]
        missed = sum(not interval.low <= truth <= interval.high for interval in found if interval is not None)
        assert 0 < missed <= 0.05 * 500
