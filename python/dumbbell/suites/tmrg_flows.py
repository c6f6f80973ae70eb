"""The parts of the TMRG's suite that look at single flows: ramp-up, transients, fairness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dumbbell import metrics
from dumbbell.results import Result
from dumbbell.suites import measures
from dumbbell.suites.model import Case, Choice, Part, Values

RTTS_MS = (10, 20, 40, 80, 160)
BUFFERS_MS = (25, 50, 100, 200)
"""Per cent of the BDP at 100 ms, which is so much time."""

CROSS_START_S = 50.0
"""When the cross-traffic of the transients changes."""

STEPS = 30
"""Steps of the growing cross-traffic, a second and 2.5 Mbit/s each."""

FALLING = "75 to 0 Mbit/s"

BDP_PACKETS = 100e6 * 0.1 / 8 / 1500

SAMPLES_AN_RTT = 5
"""Samples of 20 ms."""

DROPS_WITHIN_S = 100.0
"""How long drops of cross-traffic are counted that starts or grows."""


def _transient_cases(choice: Choice) -> Sequence[Case]:
    on, off = "75mbit", "0bit"
    start = 2.0 if choice.quick else CROSS_START_S
    staircase = [["0s", off], *([f"{start + step:g}s", f"{2.5 * (step + 1):g}mbit"] for step in range(STEPS))]
    changes: dict[str, list[list[str]]] = {
        FALLING: [["0s", on], [f"{start:g}s", off]],
        "0 to 75 Mbit/s": [["0s", off], [f"{start:g}s", on]],
        "30 steps of 2.5 Mbit/s": staircase,
    }
    return [
        Case(
            (name, cc),
            {
                "duration": f"{start + (4 if choice.quick else DROPS_WITHIN_S):g}s",
                "record": {"interval": "20ms"},
                "path": {"rate": "100mbit", "rtt": "100ms", "buffer": "1024packets"},
                "flows": [
                    {"cc": cc, "start_jitter": "100ms"},
                    {"label": f"{start:g} s: {name}", "transport": "udp", "rate": steps},
                ],
            },
        )
        for name, steps in changes.items()
        for cc in choice.cc
    ]


def _measure_transient(result: Result) -> Values:
    import polars as pl

    own, cross = result.flows.rows()
    if not cross["label"].endswith(FALLING):
        return {"goodput Mbit/s": own["goodput_mbps"], "drops of cross-traffic": float(cross["network_drops"])}
    samples = result.series.to_polars().filter(pl.col("flow") == 0)
    start = float(cross["label"].split()[0])
    after = samples.filter(pl.col("t_s") >= start)
    t, window = after["t_s"].to_numpy(), after["cwnd"].to_numpy()
    changes = np.abs(np.diff(window[::SAMPLES_AN_RTT]))
    reached = {
        f"to {share} % of BDP s": float(t[window >= share / 100 * BDP_PACKETS][0] - start)
        if (window >= share / 100 * BDP_PACKETS).any()
        else None
        for share in (60, 80, 90)
    }
    return {
        "goodput Mbit/s": own["goodput_mbps"],
        **reached,
        "largest change of cwnd in an RTT": float(changes.max()) if changes.size else None,
    }


def _pair(choice: Choice, rate: str, rtts_ms: tuple[int, int], buffer_ms: int, cc: str) -> dict[str, Any]:
    """Two flows, the second of which starts within the first tenth of the run."""
    length = 5.0 if choice.quick else 100.0
    return {
        "duration": f"{length:g}s",
        "warmup": f"{0.2 * length:g}s",
        "record": {"series": False},
        "path": {
            "rate": rate, "rtt": f"{min(rtts_ms)}ms", "buffer": f"{buffer_ms}ms",
        },
        "flows": [
            {"cc": cc, "rtt": f"{rtts_ms[0]}ms", "start_jitter": "10ms"},
            {"cc": cc, "rtt": f"{rtts_ms[1]}ms", "start_jitter": f"{0.1 * length:g}s"},
        ],
    }  # fmt: skip


def _fairness_cases(choice: Choice) -> Sequence[Case]:
    rtts = RTTS_MS[::2] if choice.quick else RTTS_MS
    return [
        Case((f"{rtt} ms", f"{buffer} %", cc), _pair(choice, "10mbit", (rtt, rtt), buffer, cc))
        for rtt in rtts
        for buffer in BUFFERS_MS
        for cc in choice.cc
    ]


def _inter_rtt_cases(choice: Choice) -> Sequence[Case]:
    return [
        Case((f"160 and {rtt} ms", f"{buffer} %", cc), _pair(choice, "10mbit", (160, rtt), buffer, cc))
        for rtt in RTTS_MS[:-1]
        for buffer in (25, 100)
        for cc in choice.cc
    ]


def _measure_pair(result: Result) -> Values:
    first, second = (row["goodput_mbps"] for row in result.flows.rows())
    return {
        "first Mbit/s": first,
        "second Mbit/s": second,
        "second over first": second / first if first else None,
        "jain": metrics.jain([first, second]),
        **measures.of_link(measures.link(result, "bottleneck")),
    }


def _ramp_cases(choice: Choice) -> Sequence[Case]:
    """A new flow joins one that has long been there, beside short flows of half the link."""
    start = 3.0 if choice.quick else 60.0
    length = 6.0 if choice.quick else 240.0
    return [
        Case(
            (f"{old} and {new} ms", cc),
            {
                "duration": f"{length:g}s",
                "record": {"interval": "10ms"},
                "path": {"rate": "10mbit", "rtt": f"{min(old, new)}ms", "buffer": "80ms"},
                "flows": [
                    {"cc": cc, "rtt": f"{old}ms"},
                    {"cc": cc, "rtt": f"{new}ms", "start": f"{start:g}s", "start_jitter": "1s"},
                ],
                "traffic": [
                    {
                        "kind": "short-flows",
                        "cc": cc,
                        "load": "50%",
                        "size": {"kind": "pareto", "mean": "30kB", "shape": 1.35},
                    }
                ],
            },
        )
        for old, new in ((80, 80), (120, 30), (30, 120))
        for cc in choice.cc
    ]


def _measure_ramp(result: Result) -> Values:
    import polars as pl

    start = result.flows.rows()[1]["start_s"]
    own = result.series.to_polars().filter(pl.col("flow") == 1)
    t = own["t_s"].to_numpy()
    step = float(t[1] - t[0]) if t.size > 1 else 0.0
    received = np.cumsum(own["goodput_mbps"].to_numpy()) * step * 1e6 / 8
    times: dict[str, float | None] = {}
    for power in range(1, 5):
        there = received >= 1500 * 10**power
        times[f"to 1500 * 10^{power} B s"] = float(t[there][0] - start) if there.any() else None
    return times


PARTS = (
    Part(
        "ramp-up",
        "how soon a new flow has received 1500 * 10^n bytes",
        (
            "10 Mbit/s, a buffer of 80 ms, an existing flow, and short flows of half the link, all with the same "
            "controller; round-trip times of the existing and of the new flow.",
            "Unlike in the draft, the new flow begins with slow start.",
        ),
        ("existing and new RTT", "cc"),
        _ramp_cases,
        _measure_ramp,
    ),
    Part(
        "transients",
        "a long flow and cross-traffic that stops, starts or grows",
        ("100 Mbit/s, 100 ms, 1024 packets; drops of cross-traffic are those of the whole run.",),
        ("cross-traffic", "cc"),
        _transient_cases,
        _measure_transient,
    ),
    Part(
        "fairness",
        "two flows of the same controller and round-trip time",
        ("10 Mbit/s; the buffer is a share of the BDP at 100 ms; the second flow starts within the first tenth.",),
        ("RTT", "buffer", "cc"),
        _fairness_cases,
        _measure_pair,
    ),
    Part(
        "inter-rtt",
        "a flow of 160 ms beside one of another round-trip time",
        ("As the part before.",),
        ("RTTs", "buffer", "cc"),
        _inter_rtt_cases,
        _measure_pair,
    ),
)
