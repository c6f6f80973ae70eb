"""Metrics over flows, bins and runs.

The engine measures what needs packets (goodput, RTT quantiles, drops); everything derived from its tables is defined
here, once. Every function is plain arithmetic on sequences and knows nothing of files or tables. Conventions:

* a metric without data is ``None``, never 0;
* quantiles interpolate linearly at rank ``1 + p (n - 1)`` (type 7);
* time series are uniform bins: ``t[i]`` is the start of bin ``i``, ``rates[flow, i]`` the mean rate inside it.

Definitions with a name: Jain (Jain, Chiu, Hawe 1984), harm (Ware et al. 2019), power (Giessler et al. 1978),
Sprout delay (Winstein, Sivaraman, Balakrishnan 2013).

What repeated runs allow to say of a metric (confidence intervals, analysis of variance, which groups differ) is in
:mod:`dumbbell.inference` and :mod:`dumbbell.posthoc`, and offered here, too.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.fairness import jain as jain
from dumbbell.inference import Anova as Anova
from dumbbell.inference import FloatArray as FloatArray
from dumbbell.inference import HypothesisTest as HypothesisTest
from dumbbell.inference import Interval as Interval
from dumbbell.inference import anova as anova
from dumbbell.inference import anova_from_summary as anova_from_summary
from dumbbell.inference import bootstrap_interval as bootstrap_interval
from dumbbell.inference import effective_size as effective_size
from dumbbell.inference import finite
from dumbbell.inference import kruskal_wallis as kruskal_wallis
from dumbbell.inference import levene as levene
from dumbbell.inference import mean_interval as mean_interval
from dumbbell.inference import proportion_interval as proportion_interval
from dumbbell.inference import quantile_interval as quantile_interval
from dumbbell.inference import welch_anova as welch_anova
from dumbbell.packets import PACKET_BITS as PACKET_BITS
from dumbbell.posthoc import Pair as Pair
from dumbbell.posthoc import games_howell as games_howell
from dumbbell.posthoc import holm as holm
from dumbbell.posthoc import paired_holm as paired_holm
from dumbbell.posthoc import tukey as tukey
from dumbbell.posthoc import welch_holm as welch_holm


def quantile(values: ArrayLike, p: float) -> float | None:
    """The ``p``-quantile (0..1) of ``values`` by linear interpolation (type 7); ``None`` without values."""
    data = finite(values)
    return float(np.quantile(data, p)) if data.size else None


def coefficient_of_variation(values: ArrayLike) -> float | None:
    """Sample standard deviation over mean; ``None`` for fewer than two values or a mean of zero."""
    data = finite(values)
    if data.size < 2 or data.mean() == 0:
        return None
    return float(data.std(ddof=1) / data.mean())


# --- throughput and completion ---------------------------------------------------------------------------------------


def trace_capacity_bits(opportunities_ms: ArrayLike, start_s: float, end_s: float) -> float:
    """Bits a looping Mahimahi trace offers in ``[start_s, end_s)``."""
    stamps = np.asarray(opportunities_ms, dtype=np.float64)
    period = float(stamps[-1]) if stamps.size else 0.0
    if period <= 0:
        return 0.0

    def offered_until(time_ms: float) -> float:
        loops, rest = divmod(time_ms, period)
        # The stamp at the period's end belongs to the loop that it ends.
        return loops * stamps.size + float(np.searchsorted(stamps, rest))

    return PACKET_BITS * (offered_until(end_s * 1e3) - offered_until(start_s * 1e3))


def utilization(departed_bits: float, offered_bits: float) -> float | None:
    """Departed over offered bits of a link; ``None`` when nothing was offered."""
    return departed_bits / offered_bits if offered_bits > 0 else None


def fct_slowdown(fct_s: float, base_rtt_s: float, size_bytes: float, capacity_bps: float) -> float:
    """Completion time over its ideal, one base round trip plus the size at full capacity."""
    return fct_s / (base_rtt_s + 8 * size_bytes / capacity_bps)


# --- fairness --------------------------------------------------------------------------------------------------------


def max_min_ratio(rates: ArrayLike) -> float | None:
    """Fastest over slowest flow; infinite when a flow has nothing, ``None`` when all have nothing."""
    x = np.asarray(rates, dtype=np.float64)
    if x.size == 0 or x.max() == 0:
        return None
    return float(x.max() / x.min()) if x.min() > 0 else math.inf


def fair_share_ratios(rates: ArrayLike, capacity: float) -> FloatArray:
    """Each rate over its equal share of ``capacity`` (same unit as the rates)."""
    x = np.asarray(rates, dtype=np.float64)
    return x / (capacity / x.size)


def share(rates: ArrayLike, members: ArrayLike) -> float | None:
    """Fraction of the total rate that the flows selected by the boolean ``members`` have."""
    x = np.asarray(rates, dtype=np.float64)
    total = float(x.sum())
    return float(x[np.asarray(members, dtype=bool)].sum() / total) if total > 0 else None


def rtt_fairness_exponent(rates: ArrayLike, rtts: ArrayLike) -> float | None:
    """The exponent g of the fit ``rate ~ rtt ** -g``; ``None`` without two different RTTs or with a starved flow."""
    x, rtt = np.asarray(rates, dtype=np.float64), np.asarray(rtts, dtype=np.float64)
    if x.size < 2 or np.ptp(rtt) == 0 or x.min() <= 0:
        return None
    return float(-np.polyfit(np.log(rtt), np.log(x), 1)[0])


def short_term_jain(rates: ArrayLike, bin_s: float, window_s: float) -> float | None:
    """Median of Jain's index over consecutive windows of ``window_s``; windows without any delivery are skipped."""
    windows = _windows(np.atleast_2d(np.asarray(rates, dtype=np.float64)), bin_s, window_s)
    return quantile([index for column in windows.T if (index := jain(column)) is not None], 0.5)


# --- dynamics --------------------------------------------------------------------------------------------------------


def convergence_time(
    t: ArrayLike,
    rates: ArrayLike,
    start_s: float,
    fair_share: ArrayLike,
    *,
    epsilon: float = 0.2,
    window_s: float = 1.0,
    hold_s: float = 5.0,
) -> float | None:
    """Seconds from ``start_s`` until every flow stays near its fair share.

    The rate over the window that starts at the instant must be within ``±epsilon`` of ``fair_share`` (one number, or
    one for each flow) for every flow and every start in the following ``hold_s`` (or to the end). ``None`` if never.
    """
    times, matrix = _series(t, rates)
    sliding = _sliding_means(matrix, _bins(times, window_s))
    fair = np.broadcast_to(np.asarray(fair_share, dtype=np.float64), (matrix.shape[0],))[:, np.newaxis]
    near: NDArray[np.bool_] = np.all(np.abs(sliding - fair) <= epsilon * fair * (1 + 1e-12), axis=0)
    return _first_held(times, near, start_s, hold_s)


def newcomer_time(
    t: ArrayLike, rate: ArrayLike, start_s: float, fair_share: float, *, fraction: float = 0.8, window_s: float = 1.0
) -> float | None:
    """Seconds until the newcomer's windowed rate first reaches ``fraction`` of its fair share; ``None`` if never."""
    times, matrix = _series(t, rate)
    reached = _sliding_means(matrix, _bins(times, window_s))[0] >= fraction * fair_share
    return _first_held(times, reached, start_s, 0.0)


def equilibrium_time(
    t: ArrayLike,
    rates: ArrayLike,
    utilization: ArrayLike,
    *,
    threshold: float = 0.95,
    window_s: float = 1.0,
    hold_s: float = 10.0,
) -> float | None:
    """First time from which a whole scenario is settled for ``hold_s``.

    Settled means that over windows of ``window_s`` Jain's index is at least ``threshold`` and the utilisation at least
    ``threshold`` of its mean over the last ``hold_s`` of the series. ``None`` if never.
    """
    times, matrix = _series(t, rates)
    _, used = _series(t, utilization)
    width = _bins(times, window_s)
    final = float(used[0, -_bins(times, hold_s) :].mean())
    fairness = np.array([jain(column) or 0.0 for column in _sliding_means(matrix, width).T])
    busy = _sliding_means(used, width)[0] >= threshold * final
    return _first_held(times, np.logical_and(fairness >= threshold, busy), float(times[0]), hold_s)


def rise_time(
    t: ArrayLike, rate: ArrayLike, change_s: float, capacity: float, *, window_s: float = 0.1, windows: int = 3
) -> float | None:
    """Seconds from a rise of capacity until three consecutive windows carry at least 80 % of it; ``None`` if never."""
    times, matrix = _series(t, rate)
    width = _bins(times, window_s)
    reached = _sliding_means(matrix, width)[0] >= 0.8 * capacity
    runs = np.array([reached[i : i + windows * width : width].sum() == windows for i in range(reached.size)])
    return _first_held(times, runs, change_s, 0.0)


def fall_time(
    t: ArrayLike, queue_delay: ArrayLike, change_s: float, *, steady_p95: float, target: float = 0.0
) -> float | None:
    """Seconds from a fall of capacity until queueing delay has returned.

    Returned means below the larger of twice its steady 95th percentile before the change and 1.25 ``target``, after
    its peak. 0 when the delay never leaves that band, ``None`` when it never returns.
    """
    times, delay = np.asarray(t, dtype=np.float64), np.asarray(queue_delay, dtype=np.float64)
    after = times >= change_s - 1e-9
    times, delay = times[after], delay[after]
    bound = max(2 * steady_p95, 1.25 * target)
    if delay.size == 0:
        return None
    peak = int(np.nanargmax(delay))
    if delay[peak] < bound:
        return 0.0
    below = np.flatnonzero(delay[peak:] < bound)
    return float(times[peak + below[0]] - change_s) if below.size else None


def startup_time(t: ArrayLike, utilization: ArrayLike, start_s: float = 0.0, *, fraction: float = 0.8) -> float | None:
    """Seconds from ``start_s`` to the first bin with at least this utilisation; ``None`` if never."""
    times, used = _series(t, utilization)
    return _first_held(times, used[0] >= fraction, start_s, 0.0)


def smoothness(rate: ArrayLike, bin_s: float, window_s: float) -> float | None:
    """Coefficient of variation of a rate over consecutive windows of ``window_s``."""
    return coefficient_of_variation(_windows(np.atleast_2d(np.asarray(rate, dtype=np.float64)), bin_s, window_s)[0])


def oscillation_period(rate: ArrayLike, bin_s: float) -> float | None:
    """Dominant period in seconds: the highest peak of the autocorrelation after its first zero crossing."""
    x = np.asarray(rate, dtype=np.float64)
    if x.size < 4:
        return None
    x = x - x.mean()
    power = float((x**2).sum())
    if power == 0:
        return None
    correlation = np.correlate(x, x, mode="full")[x.size - 1 :] / power
    negative = np.flatnonzero(correlation < 0)
    if negative.size == 0:
        return None
    tail = correlation[negative[0] :]
    peak = int(tail.argmax())
    return float((negative[0] + peak) * bin_s) if tail[peak] > 0.1 else None


def half_throughput_loss(loss: ArrayLike, throughput: ArrayLike) -> float | None:
    """The loss at which throughput falls to half of its loss-free value, between points; ``None`` if it never does."""
    order = np.argsort(np.asarray(loss, dtype=np.float64))
    x = np.asarray(loss, dtype=np.float64)[order]
    y = np.asarray(throughput, dtype=np.float64)[order]
    if x.size == 0 or y[0] <= 0:
        return None
    below = np.flatnonzero(y <= y[0] / 2)
    if below.size == 0:
        return None
    i = int(below[0])
    return float(x[i - 1] + (y[i - 1] - y[0] / 2) / (y[i - 1] - y[i]) * (x[i] - x[i - 1]))


# --- combined --------------------------------------------------------------------------------------------------------


def power(throughput: float, delay: float, alpha: float = 1.0) -> float | None:
    """Throughput to the power of ``alpha`` over delay; ``None`` without delay."""
    return throughput**alpha / delay if delay > 0 else None


def normalized_power(goodput: float, capacity: float, rtt: float, base_rtt: float) -> float | None:
    """Power relative to the best possible, a full link at its base RTT: at most 1."""
    if capacity <= 0 or base_rtt <= 0:
        return None
    return power(goodput / capacity, rtt / base_rtt)


def harm(solo: float, value: float, *, more_is_better: bool = True) -> float | None:
    """Harm done to a flow whose metric is ``solo`` alone and ``value`` in company: 0 is none, 1 is total.

    Negative harm is a benefit. Rates are better when more, delays and losses when less.
    """
    if more_is_better:
        return (solo - value) / solo if solo > 0 else None
    return (value - solo) / value if value > 0 else None


def utility(goodput: float, delay: float, delta: float = 1.0) -> float | None:
    """log(goodput) - delta log(delay), the objective of Remy (1) and Copa (0.5)."""
    if goodput <= 0 or delay <= 0:
        return None
    return math.log(goodput) - delta * math.log(delay)


# --- Sprout ----------------------------------------------------------------------------------------------------------


def sprout_signal(sent_s: ArrayLike, received_s: ArrayLike, at_s: ArrayLike) -> FloatArray:
    """Age at each instant of the newest information at the receiver.

    Newest is the latest-sent packet that has arrived by then. NaN before the first arrival.
    """
    sent, received = np.asarray(sent_s, dtype=np.float64), np.asarray(received_s, dtype=np.float64)
    order = np.argsort(received)
    newest = np.maximum.accumulate(sent[order])
    instants = np.asarray(at_s, dtype=np.float64)
    index = np.searchsorted(received[order], instants, side="right") - 1
    signal = np.full(instants.shape, np.nan)
    arrived = index >= 0
    signal[arrived] = instants[arrived] - newest[index[arrived]]
    return signal


def sprout_delay(
    sent_s: ArrayLike, received_s: ArrayLike, *, skip_s: float = 0.0, p: float = 0.95, step_s: float = 1e-3
) -> float | None:
    """The ``p``-quantile over time of the age of the newest information, sampled every millisecond.

    Times before ``skip_s`` are left out (the Sprout evaluation skips its first 60 s).
    """
    received = np.asarray(received_s, dtype=np.float64)
    if received.size == 0:
        return None
    instants = np.arange(max(skip_s, float(received.min())), float(received.max()), step_s)
    return quantile(sprout_signal(sent_s, received_s, instants), p)


def omniscient_delay(
    opportunities_ms: ArrayLike, propagation_s: float, duration_s: float, *, skip_s: float = 0.0
) -> float | None:
    """Sprout delay of a sender that knows the trace and sends exactly at its delivery opportunities.

    What a protocol has above this is self-inflicted.
    """
    stamps = np.asarray(opportunities_ms, dtype=np.float64) / 1e3
    if stamps.size == 0 or stamps[-1] <= 0:
        return None
    loops = math.ceil(duration_s / float(stamps[-1]))
    sent = (np.arange(loops)[:, np.newaxis] * float(stamps[-1]) + stamps).ravel()
    sent = sent[sent < duration_s]
    return sprout_delay(sent, sent + propagation_s, skip_s=skip_s)


# --- shared ----------------------------------------------------------------------------------------------------------


def _series(t: ArrayLike, values: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Times, and values as a matrix with one row a flow."""
    return np.asarray(t, dtype=np.float64), np.atleast_2d(np.asarray(values, dtype=np.float64))


def _bins(times: FloatArray, span_s: float) -> int:
    """How many bins make ``span_s``; at least one."""
    return max(1, round(span_s / float(times[1] - times[0]))) if times.size > 1 else 1


def _sliding_means(matrix: FloatArray, width: int) -> FloatArray:
    """Means over the ``width`` columns that start at each column, as far as they fit."""
    sums = np.concatenate([np.zeros((matrix.shape[0], 1)), np.cumsum(matrix, axis=1)], axis=1)
    means: FloatArray = (sums[:, width:] - sums[:, :-width]) / width
    return means


def _windows(matrix: FloatArray, bin_s: float, window_s: float) -> FloatArray:
    """Means over consecutive windows; an incomplete last window is dropped."""
    width = max(1, round(window_s / bin_s))
    count = matrix.shape[1] // width
    means: FloatArray = matrix[:, : count * width].reshape(matrix.shape[0], count, width).mean(axis=2)
    return means


def _first_held(times: FloatArray, condition: NDArray[np.bool_], start_s: float, hold_s: float) -> float | None:
    """Seconds from ``start_s`` to the first instant from which the condition holds for ``hold_s`` or to the end."""
    hold = _bins(times, hold_s)
    first = int(np.searchsorted(times, start_s - 1e-9))
    held = 0
    # Backwards: how long the condition holds from each instant on.
    found: float | None = None
    for i in range(condition.size - 1, first - 1, -1):
        held = held + 1 if condition[i] else 0
        if held and (held >= hold or i + held == condition.size):
            found = max(0.0, float(times[i] - start_s))
    return found
