"""What each algorithm's rules promise under independent losses, as a fluid with a round of recovery."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Lost = NDArray[np.bool_]

CHAINS = 500
"""Connections that are computed at a time."""

CYCLES, FORGOTTEN = 40, 20
"""Mean number of losses of each, and how many come before the first one that counts."""


@dataclass
class State:
    """Where many connections stand."""

    rtt_s: float
    window: Array
    peak: Array = field(default_factory=lambda: np.zeros(CHAINS))
    """Window at the last loss."""
    sought: Array = field(default_factory=lambda: np.zeros(CHAINS))
    """What CUBIC and BIC search for: the window at the last loss, less if it was below the one before."""
    since_s: Array = field(default_factory=lambda: np.zeros(CHAINS))
    """Time since the recovery was over."""
    share: Array = field(default_factory=lambda: np.full(CHAINS, 0.5))
    """What H-TCP kept at the last loss."""
    steady: Array = field(default_factory=lambda: np.zeros(CHAINS))
    """Losses in a row at which H-TCP's throughput had changed by less than a fifth."""


@dataclass(frozen=True)
class Law:
    """An algorithm as a fluid."""

    growth: Callable[[State], Array]
    """Packets that a round adds."""
    keep: Callable[[State, Lost], Array]
    """Share of the window that a loss leaves to those that have one."""
    formula: Callable[[float], float] | None = None
    """The closed form for periodic losses, if its authors give one."""


def constant(value: float) -> Callable[[State, Lost], Array]:
    """A share that is ``value`` for every window."""
    return lambda state, lost: np.full(int(lost.sum()), value)


def reno(state: State) -> Array:
    """One packet."""
    return np.ones_like(state.window)


CUBIC_C, CUBIC_BETA = 0.4, 0.7


def cubic(state: State) -> Array:
    """RFC 9438: the curve a round trip ahead, or Reno's estimate, and at most half of the window."""
    start = CUBIC_BETA * state.peak
    k = np.cbrt(np.maximum(state.sought - start, 0) / CUBIC_C)
    ahead = state.since_s + state.rtt_s
    curve = np.maximum(state.sought, start) + CUBIC_C * (ahead - k) ** 3
    friendly = start + 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA) * ahead / state.rtt_s
    return np.clip(np.maximum(curve, friendly) - state.window, 0, state.window / 2)


def bic(state: State) -> Array:
    """Binary search below the window that is sought, and away from it above."""
    window = state.window
    below, beyond = (state.sought - window) / 4, window - state.sought
    search = np.where(below <= 1, 0.2, np.minimum(below, 16))
    leave = np.where(beyond < 4, 0.2, np.minimum(beyond / 3, 16))
    return np.where(window <= 14, 1.0, np.where(window < state.sought, search, leave))


def htcp_keep(state: State, lost: Lost) -> Array:
    """The largest share, as there is no queue, from the second loss on at which the throughput has not changed much."""
    change = state.window[lost] / np.maximum(state.peak[lost], 1e-9)
    state.steady[lost] = np.where((change >= 0.8) & (change <= 1.2), state.steady[lost] + 1, 0)
    state.share[lost] = np.where(state.steady[lost] >= 2, 0.8, 0.5)
    return state.share[lost]


def htcp(state: State) -> Array:
    """Quadratic in the time since the loss, scaled by the round-trip time."""
    over = np.maximum(state.since_s - 1.0, 0)
    factor = 1 + 10 * over + (over / 2) ** 2
    scale = min(max(0.1 / state.rtt_s, 0.5), 10.0)
    return 2 * np.maximum(factor / scale, 1) * (1 - state.share)


def highspeed_share(window: Array) -> Array:
    """RFC 3649: what a loss takes."""
    logarithm = np.log(np.maximum(window, 38)) - math.log(38)
    return 0.5 - 0.4 * logarithm / (math.log(83_000) - math.log(38))


def highspeed(state: State) -> Array:
    """RFC 3649, appendix B: whole packets, the formula's value rounded up."""
    window, share = state.window, highspeed_share(state.window)
    growth = np.ceil(window**2 * 0.078 / window**1.2 * 2 * share / (2 - share))
    return np.where(window <= 38, 1.0, growth)


def highspeed_keep(state: State, lost: Lost) -> Array:
    """RFC 3649: what a loss leaves."""
    return 1 - highspeed_share(state.window[lost])


def highspeed_formula(loss: float) -> float:
    """RFC 3649, section 5; Reno's above."""
    return 0.12 / loss**0.835 if loss < 1.5e-3 else reno_formula(loss)


def scalable(state: State) -> Array:
    """A hundredth, at least a packet."""
    return np.maximum(state.window / 100, 1)


def reno_formula(loss: float) -> float:
    """The square-root law."""
    return math.sqrt(1.5 / loss)


LAWS: dict[str, Law] = {
    "reno": Law(reno, constant(0.5), reno_formula),
    "cubic": Law(cubic, constant(CUBIC_BETA), lambda p: max(1.054 * (0.1 / p) ** 0.75, reno_formula(p))),
    "highspeed": Law(highspeed, highspeed_keep, highspeed_formula),
    "bic": Law(bic, lambda state, lost: np.where(state.window[lost] <= 14, 0.5, 0.8)),
    "htcp": Law(htcp, htcp_keep),
    "scalable": Law(scalable, constant(0.875), lambda p: 0.08 / p if p < 8e-4 else math.sqrt(7.5 / p)),
}


def window(law: Law, loss: float, rtt_s: float) -> float:
    """Packets delivered in a round trip, in the mean over many connections in a steady state."""
    rng = np.random.default_rng(1)
    state = State(rtt_s, np.full(CHAINS, (law.formula or reno_formula)(loss)))
    step = 0.05 if loss > 1e-3 else 0.25
    left = rng.exponential(1 / loss, CHAINS)
    recovers = np.zeros(CHAINS)
    sent, rounds = np.zeros(CHAINS), np.zeros(CHAINS)
    while sent.mean() < CYCLES / loss:
        sent += state.window * step
        rounds += step * (sent.mean() > FORGOTTEN / loss)
        in_recovery = recovers > 0
        recovers -= step
        left -= np.where(in_recovery, 0, state.window * step)
        state.window += np.where(in_recovery, 0, law.growth(state) * step)
        state.since_s += np.where(in_recovery, 0, rtt_s * step)
        lost = left <= 0
        if lost.any():
            lose(state, law, lost)
            left[lost] = rng.exponential(1 / loss, int(lost.sum()))
            recovers[lost] = 1.0
    return float((1 - loss) * (CYCLES - FORGOTTEN) / loss / rounds.mean())


def lose(state: State, law: Law, lost: Lost) -> None:
    """A loss for some connections."""
    before = state.window[lost]
    factor = law.keep(state, lost)
    converges = before < state.sought[lost]
    state.sought[lost] = np.where(converges, before * (1 + factor) / 2, before)
    state.peak[lost] = before
    state.window[lost] = np.maximum(factor * before, 2)
    state.since_s[lost] = 0
