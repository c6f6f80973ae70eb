"""What rates, round-trip times and windows are held against: the rate of a link over time, its base RTT, its BDP."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dumbbell.metrics import FloatArray, trace_capacity_bits
from dumbbell.packets import PACKET_BITS
from dumbbell.results import Result, experiment_of


def base_rtt_and_bdp(result: Result, link: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """The round-trip time without a queue (ms) and the bandwidth-delay product (packets), of a row of ``links``."""
    rtt = experiment_of(result).points[0].bdp_rtt_ms(link.get("link", 0))
    if not rtt:
        return None, None
    capacity = link.get("capacity_mbps")
    bdp = capacity * rtt * 1e3 / PACKET_BITS if capacity and np.isfinite(capacity) else None
    # Each flow of `[path]` may be longer than the path, whose product is counted without that.
    known = [own for row in result.flows.rows() if (own := row.get("base_rtt_ms")) and np.isfinite(own)]
    return max(rtt, min(known, default=rtt)), bdp


def capacity_over_time(result: Result, link: int, points: int) -> tuple[FloatArray, FloatArray] | None:
    """Starts of bins (s) and the rate of a link in each (Mbit/s); ``None`` where it does not change."""
    described = experiment_of(result).points[0].changing_rate(link)
    if described is None:
        return None
    rate = json.loads(described)
    duration = result.meta.sim_s
    if "opportunities_ms" in rate:
        return _of_trace(rate["opportunities_ms"], rate["once"], duration, points)
    return _of_steps(rate["steps"], rate["repeat_s"], duration)


def _of_trace(opportunities: list[int], once: bool, duration: float, points: int) -> tuple[FloatArray, FloatArray]:
    edges = np.linspace(0.0, duration, points + 1)
    end = opportunities[-1] / 1e3 if once else np.inf
    stamps = np.array(opportunities, dtype=np.float64)
    rates = [
        trace_capacity_bits(stamps, low, min(high, end)) / (high - low) / 1e6 if low < end else 0.0
        for low, high in itertools.pairwise(edges)
    ]
    return edges, np.array([*rates, rates[-1]])


def _of_steps(steps: list[tuple[float, float]], repeat: float | None, duration: float) -> tuple[FloatArray, FloatArray]:
    starts, rates = np.array(steps, dtype=float).T
    if repeat is not None:
        loops = int(np.ceil(duration / repeat))
        starts = (np.arange(loops)[:, np.newaxis] * repeat + starts).ravel()
        rates = np.tile(rates, loops)
    kept = starts < duration
    return np.append(starts[kept], duration), np.append(rates[kept], rates[kept][-1])
