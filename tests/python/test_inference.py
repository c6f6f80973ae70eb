"""Intervals and tests on examples that were computed elsewhere, and on what must hold between them."""

import inspect
import math

import numpy as np
import pytest

from dumbbell import inference, metrics, posthoc

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


def test_wilsons_interval_of_three_in_ten() -> None:
    found = metrics.proportion_interval(3, 10)
    assert found is not None
    assert (found.estimate, found.low, found.high, found.n) == pytest.approx((0.3, 0.10779, 0.60322, 10), abs=1e-5)
    narrower = metrics.proportion_interval(3, 10, confidence=0.8)
    assert narrower is not None
    assert (narrower.low, narrower.high) == pytest.approx((0.15380, 0.50263), abs=1e-5)
    assert metrics.proportion_interval(0, 0) is None
    once = metrics.proportion_interval(1, 1)
    assert once is not None
    assert (once.low, once.high) == pytest.approx((0.20655, 1.0), abs=1e-5)


def test_a_mean_has_an_interval_from_two_samples_on() -> None:
    single = metrics.mean_interval([4.0])
    assert single is not None
    assert (single.estimate, single.n, single.sd) == (4.0, 1, None)
    assert math.isnan(single.low) and math.isnan(single.high)
    assert not single.has_width
    # Student's t of one degree of freedom is 12.706 for 95 %, and 1 for 50 %.
    pair = metrics.mean_interval([1.0, math.nan, 3.0])
    assert pair is not None
    assert (pair.estimate, pair.low, pair.high, pair.n) == pytest.approx((2, 2 - 12.7062, 2 + 12.7062, 2), abs=1e-4)
    assert (pair.half_width, pair.sd) == pytest.approx((12.7062, math.sqrt(2)), abs=1e-4)
    assert pair.has_width
    half = metrics.mean_interval([1.0, 3.0], confidence=0.5)
    assert half is not None
    assert (half.low, half.high) == pytest.approx((1, 3))


def test_a_width_is_more_than_rounding() -> None:
    assert metrics.Interval(1.0, 1.0, 1.0 + 2e-12, 2).has_width
    assert not metrics.Interval(1000.0, 1000.0, 1000.0 + 2e-12, 2).has_width
    assert metrics.Interval(-1.0, -1.0, 0.0, 2).has_width
    assert not metrics.Interval(-1.0, -1.0, -1.0, 2).has_width
    assert not metrics.Interval(0.0, 0.0, 0.0, 2).has_width


def test_values_are_equal_but_for_rounding_relative_to_their_mean() -> None:
    assert inference.are_equal(np.array([0.0, 0.0]))
    assert inference.are_equal(np.array([-5.0, -5.0]))
    assert inference.are_equal(np.array([1000.0, 1000.0 + 1e-10]))
    assert not inference.are_equal(np.array([1.0, 1.0 + 1e-10]))
    assert inference.finite([[1.0, math.inf], [math.nan, 2.0]]).tolist() == [1.0, 2.0]


def test_an_effective_size_by_hand() -> None:
    # Of 1, 1, -1, -1 and so on the products at lags 0 to 4 sum to 20, 1, -18, -1, 16. The first two are 21 together,
    # the next two less than nothing: the correlation time is 2 * 21 / 20 - 1 = 1.1.
    assert metrics.effective_size([1, 1, -1, -1] * 5) == pytest.approx(20 / 1.1)
    # A ramp of four about its mean: products 5, 1.25, -1.5, -2.25.
    assert metrics.effective_size([1, 2, 3, 4]) == pytest.approx(4 / 1.5)
    # Of an odd number the last lag is in no pair; 2, 0, 1 gives 2, -1, 0.
    assert metrics.effective_size([2, 0, 1]) == 3
    assert metrics.effective_size([5]) == 1
    assert metrics.effective_size([1, 2]) == 2
    assert metrics.effective_size([1, 2, math.nan, 3, 4]) == pytest.approx(4 / 1.5)


def test_a_bootstrap_interval_says_how_sure_it_is_and_is_drawn_alike_again() -> None:
    samples = np.arange(30.0)
    wide = metrics.bootstrap_interval(samples, np.mean, resamples=500)
    narrow = metrics.bootstrap_interval(samples, np.mean, 0.5, resamples=500)
    assert wide is not None and narrow is not None
    # What the normal distribution says of the mean of 30 with a deviation of 8.66: 3.10 and 1.07.
    assert wide.half_width == pytest.approx(3.1, rel=0.15)
    assert narrow.half_width == pytest.approx(1.07, rel=0.15)
    assert (wide.n, wide.estimate, wide.sd) == (30, 14.5, None)
    assert metrics.bootstrap_interval(samples, np.mean, resamples=500, seed=1) == wide
    assert metrics.bootstrap_interval(samples, np.mean, resamples=500, seed=2) != wide
    small = metrics.bootstrap_interval([1.0, 2.0, 4.0, 9.0], np.mean)
    assert metrics.bootstrap_interval([1.0, 2.0, 4.0, 9.0], np.mean, 0.95, resamples=10_000) == small
    single = metrics.bootstrap_interval([4.0], np.median)
    assert single is not None
    assert (single.estimate, single.n, math.isnan(single.high)) == (4.0, 1, True)
    equal = metrics.bootstrap_interval([4.0, 4.0], np.median)
    assert equal == metrics.Interval(4.0, 4.0, 4.0, 2)


def test_the_ranks_of_a_quantiles_bounds() -> None:
    assert inference.quantile_ranks(5, 0.5, 0.025) == (0, 6)
    assert inference.quantile_ranks(6, 0.5, 0.025) == (1, 6)
    assert inference.quantile_ranks(9, 0.5, 0.025) == (2, 8)
    # One of a single sample is wrong every other time.
    assert inference.quantile_ranks(1, 0.5, 0.5) == (1, 1)
    (only,) = [metrics.quantile_interval([3.0])]
    assert only == metrics.Interval(3.0, -math.inf, math.inf, 1)
    lower = metrics.quantile_interval(range(20), 0.25)
    assert lower is not None
    assert (lower.estimate, lower.low, lower.high, lower.n) == (4.75, 1, 9, 20)


def test_an_analysis_needs_two_groups_and_something_within_one() -> None:
    assert metrics.anova([[1, 2, 3]]) is None
    assert metrics.anova_from_summary([1, 2], [1, 1], [1, 1]) is None
    smallest = metrics.anova_from_summary([1, 2], [1, 0], [2, 1])
    assert smallest is not None
    assert (smallest.df_between, smallest.df_within) == (1, 1)
    assert (smallest.ss_between, smallest.ss_within) == pytest.approx((2 / 3, 1))
    assert smallest.f == pytest.approx(2 / 3)
    # With one degree of freedom each, F is the square of a Cauchy distribution.
    assert smallest.p == pytest.approx(1 - 2 / math.pi * math.atan(math.sqrt(2 / 3)))
    assert smallest.critical_f() == pytest.approx(161.448, abs=1e-3)
    assert smallest.critical_f(0.5) == pytest.approx(1)
    test = smallest.test()
    assert (test.name, test.of, test.df, test.p) == ("one-way ANOVA", "means", (1.0, 1.0), smallest.p)
    assert smallest.test("other").name == "other"
    missing = metrics.anova([[1, 2, math.nan], [2, 4]])
    assert missing is not None
    assert missing.df_within == 2


def test_a_difference_is_shown_below_five_percent() -> None:
    for p, differ in ((0.0499, "means differ"), (0.05, "means not shown to differ")):
        assert str(metrics.HypothesisTest("a", "means", 1.0, (1.0,), p)) == differ
    for p, differ in ((0.0499, "differ"), (0.05, "not shown to differ")):
        assert str(metrics.Pair(0, 1, metrics.Interval(1, 0, 2, 4), p)) == differ


def test_tests_of_groups_need_two_of_them_and_samples_in_each() -> None:
    for test in (metrics.welch_anova, metrics.levene, metrics.kruskal_wallis):
        assert test([[1.0, 2.0, 4.0]]) is None
        assert test([[1.0, 2.0, 4.0], []]) is None
        assert test([]) is None
    for test in (metrics.welch_anova, metrics.levene):
        assert test([[1.0, 2.0, 4.0], [3.0]]) is None
    # Two samples are equally far from their median, and so are these four: their deviations differ by rounding alone.
    assert metrics.levene([[0.1, 0.3], [1.1, 1.4]]) is None
    assert metrics.levene([[0.1, 0.3], [1.1, 1.2, 1.5]]) is None
    assert metrics.levene([[0.1, 0.1, 0.7, 0.7], [1.1, 1.1, 1.3, 1.3]]) is None
    assert metrics.levene([[0.1, 0.2, 0.7], [1.1, 1.2, 1.4]]) is not None
    # One group without a variance is what Levene's test is about; a single sample has a rank.
    still = metrics.levene([[1.0, 5.0, 9.0, 17.0], [2.0, 2.0, 2.0, 2.0]])
    assert still is not None
    assert (still.name, still.of, still.df) == ("Levene's test", "variances", (1.0, 6.0))
    ranked = metrics.kruskal_wallis([[1.0, 2.0], [3.0]])
    assert ranked is not None
    assert (ranked.name, ranked.of, ranked.df) == ("Kruskal-Wallis", "ranks", (1.0,))
    assert (ranked.statistic, ranked.p) == pytest.approx((1.5, math.erfc(math.sqrt(0.75))))
    both = metrics.welch_anova([[1.0, 2.0], [2.0, 5.0]])
    assert both is not None
    assert (both.name, both.of) == ("Welch's ANOVA", "means")


def test_welchs_anova_of_three_groups_by_hand() -> None:
    # Weights n / variance are 4, 2 and 1 (of 2, 2 and 2 samples), means 1, 2 and 4: the mean of all is 12 / 7.
    groups = [[mean - d, mean + d] for mean, d in ((1, 0.5), (2, math.sqrt(0.5)), (4, 1))]
    found = metrics.welch_anova(groups)
    assert found is not None
    between = (4 * (5 / 7) ** 2 + 2 * (2 / 7) ** 2 + (16 / 7) ** 2) / 2
    uncertainty = (3 / 7) ** 2 + (5 / 7) ** 2 + (6 / 7) ** 2
    assert found.statistic == pytest.approx(between / (1 + 2 / 8 * uncertainty))
    assert found.df == pytest.approx((2, 8 / (3 * uncertainty)))


def test_pairs_of_two_groups_are_welchs_t_test_whatever_the_method() -> None:
    from scipy import stats

    first, second = UNEQUAL[:2]
    expected = stats.ttest_ind(first, second, equal_var=False)
    for method in (metrics.games_howell, metrics.welch_holm):
        for confidence in (0.95, 0.8):
            (pair,) = method([first, second], confidence)
            bounds = expected.confidence_interval(confidence)
            assert (pair.first, pair.second, pair.difference.n) == (0, 1, 11)
            assert pair.p == pytest.approx(expected.pvalue, abs=1e-6)
            assert pair.difference.estimate == pytest.approx(np.mean(first) - np.mean(second))
            assert (pair.difference.low, pair.difference.high) == pytest.approx((bounds.low, bounds.high), abs=1e-5)
        assert method([first, second]) == method([first, second], 0.95)
    (equal,) = metrics.tukey([first, second], 0.8)
    pooled = stats.ttest_ind(first, second)
    assert equal.p == pytest.approx(pooled.pvalue, abs=1e-6)
    assert equal.difference.low == pytest.approx(pooled.confidence_interval(0.8).low, abs=1e-5)
    assert metrics.tukey(HEADACHE)[0].difference.n == 10


def test_pairs_of_three_groups_are_in_order_and_corrected_together() -> None:
    from scipy import stats

    for method in posthoc.METHODS.values():
        groups = HEADACHE
        assert [(pair.first, pair.second) for pair in method(groups)] == [(0, 1), (0, 2), (1, 2)]
    alone = [stats.ttest_ind(HEADACHE[i], HEADACHE[j], equal_var=False).pvalue for i, j in ((0, 1), (0, 2), (1, 2))]
    assert [pair.p for pair in metrics.welch_holm(HEADACHE)] == pytest.approx(list(metrics.holm(alone)))
    for pair in metrics.games_howell(HEADACHE):
        first, second = (np.array(HEADACHE[number]) for number in (pair.first, pair.second))
        single = stats.ttest_ind(first, second, equal_var=False)
        error = math.sqrt(first.var(ddof=1) / 5 + second.var(ddof=1) / 5)
        df = (5 - 1) * error**4 / ((first.var(ddof=1) / 5) ** 2 + (second.var(ddof=1) / 5) ** 2)
        assert pair.p == pytest.approx(stats.studentized_range.sf(abs(single.statistic) * math.sqrt(2), 3, df))
        half = stats.studentized_range.ppf(0.95, 3, df) * error / math.sqrt(2)
        assert pair.difference.half_width == pytest.approx(half)
    (_, paired, _) = metrics.paired_holm(HEADACHE)
    single = stats.ttest_rel(HEADACHE[0], HEADACHE[2])
    bounds = single.confidence_interval()
    assert (paired.difference.low, paired.difference.high) == pytest.approx((bounds.low, bounds.high))
    assert paired.difference.n == 5
    (narrow,) = metrics.paired_holm([HEADACHE[0], HEADACHE[2]], 0.8)
    assert narrow.p == pytest.approx(single.pvalue)
    assert narrow.difference.low == pytest.approx(single.confidence_interval(0.8).low)


def test_pairs_that_always_differ_by_the_same_are_left_out() -> None:
    first = [1.0, 2.0, 4.0]
    pairs = metrics.paired_holm([first, [value + 1 for value in first], [5.0, 4.0, 2.5]])
    assert [(pair.first, pair.second) for pair in pairs] == [(0, 2), (1, 2)]
    for single in ([2.0], [2.0, math.nan]):
        with pytest.raises(ValueError, match="group 1 has no variance"):
            metrics.welch_holm([[1, 2, 3], single])


def test_two_samples_are_a_group_and_numbers_of_half_precision_are_computed_with_in_full() -> None:
    (pair,) = metrics.welch_holm([[1, 2], [3, 5]])
    assert pair.difference.estimate == -2.5
    p = np.array([0.1, 0.3, 0.2], dtype=np.float16)
    assert metrics.holm(p).tolist() == metrics.holm([float(value) for value in p]).tolist()
    large = [np.array(values, dtype=np.float16) for values in ([60000, 49984], [-60000, 10000])]
    of_halves = [np.array(values, dtype=np.float16) for values in ([1, 3, 7], [1, 300, 300], [300, 300, 300])]
    assert metrics.anova_from_summary(*of_halves) == metrics.anova_from_summary(*(one.tolist() for one in of_halves))
    (paired,) = metrics.paired_holm(large)
    assert paired.difference.estimate == 79992
