"""Queue disciplines after RFC 7928, the guideline for characterising active queue management.

Every discipline that needs no parameter takes part with its defaults, so that a new one appears by itself; those that
do not work without one (ECN marking at a threshold) are left out. The path is one of 20 Mbit/s and 100 ms with a buffer
of two bandwidth-delay products, unless the part says otherwise.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from dumbbell import _core, metrics
from dumbbell.results import Result
from dumbbell.suites import measures
from dumbbell.suites.model import Case, Choice, Part, Suite, Values

RATE_MBPS = 20
RTT_MS = 100
BUFFER = "2bdp"
SEGMENT_BITS = 1448 * 8
LOSSES = {"mild": 0.0001, "medium": 0.001, "heavy": 0.01}
"""The loss that as many Reno flows would need to share the link: what tells the levels of congestion apart."""


@cache
def _forms() -> tuple[Mapping[str, Any], ...]:
    """How a queue can be written, as the schema says: names, and a table for each discipline."""
    return tuple(branch["then"] for branch in json.loads(_core.schema())["$defs"]["QueueSpec"]["allOf"])


def disciplines() -> tuple[str, ...]:
    """The queue disciplines of the engine that need no parameter."""
    return next(tuple(form["enum"]) for form in _forms() if form.get("type") == "string")


def flows_for(loss: float, rate_mbps: float = RATE_MBPS, rtt_ms: float = RTT_MS) -> int:
    """How many Reno flows fill the link at this loss: each has a window of sqrt(3 / 2 p) segments."""
    each_mbps = math.sqrt(1.5 / loss) * SEGMENT_BITS / (rtt_ms / 1e3) / 1e6
    return max(1, round(rate_mbps / each_mbps))


def _length(choice: Choice) -> float:
    """Seconds of a run."""
    return 4.0 if choice.quick else 60.0


def _document(choice: Choice, queue: str | Mapping[str, Any], flows: Sequence[Mapping[str, Any]], **path: Any) -> Any:
    length = _length(choice)
    return {
        "duration": f"{length:g}s",
        "warmup": f"{length / 6:g}s",
        "record": {"series": False},
        "path": {"rate": f"{RATE_MBPS}mbit", "rtt": f"{RTT_MS}ms", "buffer": BUFFER, "queue": queue} | path,
        "flows": [{"start_jitter": "1s", **flow} for flow in flows],
    }


def _each(choice: Choice, settings: Mapping[str, Any]) -> list[Case]:
    """A case for each setting, discipline and controller; a setting makes the flows and the changes of the path."""
    cases = []
    for name, setting in settings.items():
        for queue in disciplines():
            for cc in choice.cc:
                flows, path = setting(cc)
                cases.append(Case((name, queue, cc), _document(choice, queue, flows, **path)))
    return cases


def _congestion(choice: Choice) -> list[Case]:
    return _each(
        choice,
        {
            f"{name}, {flows_for(loss)} flow{'s' * (flows_for(loss) > 1)}": (
                lambda cc, loss=loss: ([{"cc": cc, "count": flows_for(loss)}], {})
            )
            for name, loss in LOSSES.items()
        },
    )


def _round_trips(choice: Choice) -> list[Case]:
    rtts = (20, 100, 560) if choice.quick else (5, 20, 50, 100, 200, 560)
    return _each(
        choice,
        {
            f"{rtt} ms": (lambda cc, rtt=rtt: ([{"cc": cc, "count": 4}], {"rtt": f"{rtt}ms", "buffer": "500kB"}))
            for rtt in rtts
        },
    )


def _unfair_round_trips(choice: Choice) -> list[Case]:
    return _each(
        choice,
        {
            f"20 and {rtt} ms": (
                lambda cc, rtt=rtt: ([{"cc": cc}, {"cc": cc, "rtt": f"{rtt}ms"}], {"rtt": "20ms", "buffer": "500kB"})
            )
            for rtt in (40, 100, 200)
        },
    )


def _unresponsive(choice: Choice) -> list[Case]:
    return _each(
        choice,
        {
            f"{share} %": (
                lambda cc, share=share: (
                    [
                        {"cc": cc, "count": 4},
                        {"label": "flood", "transport": "udp", "rate": f"{share * RATE_MBPS * 10}kbit"},
                    ],
                    {},
                )
            )
            for share in (50, 100, 200)
        },
    )


def _bursts(choice: Choice) -> list[Case]:
    """Every half second a burst of packets, at once, beside one flow."""
    return _each(
        choice,
        {
            f"{packets} packets": (
                lambda cc, packets=packets: (
                    [
                        {"cc": cc},
                        {
                            "label": "bursts",
                            "transport": "udp",
                            "app": {"rate": f"{packets * 1472 * 8 * 2}bit", "write": f"{packets * 1472}B"},
                        },
                    ],
                    {},
                )
            )
            for packets in (10, 30, 100)
        },
    )


def _capacity(choice: Choice) -> list[Case]:
    third = _length(choice) / 3
    steps = [["0s", "100mbit"], [f"{third:g}s", "50mbit"], [f"{2 * third:g}s", "10mbit"]]
    return _each(
        choice,
        {"100, 50, 10 Mbit/s": lambda cc: ([{"cc": cc, "count": 4}], {"rate": steps, "buffer": "1MB"})},
    )


def _ecn(choice: Choice) -> list[Case]:
    """With and without marks, for the disciplines that can mark."""
    cases = []
    for queue in disciplines():
        if not _marks(queue):
            continue
        for ecn in (False, True):
            for cc in choice.cc:
                flows = [{"cc": cc, "count": flows_for(LOSSES["medium"]), "transport": {"ecn": ecn}}]
                spec = {"kind": queue, "ecn": ecn}
                cases.append(Case(("on" if ecn else "off", queue, cc), _document(choice, spec, flows)))
    return cases


def _marks(queue: str) -> bool:
    """Whether a discipline has the parameter `ecn`."""
    return any(queue == form.get("title") and "ecn" in form.get("properties", {}) for form in _forms())


def _measure(result: Result) -> Values:
    rows = [row for row in result.flows.rows() if row["cc"] != "none"]
    row = measures.link(result, "bottleneck")
    return {
        "goodput Mbit/s": float(sum(flow["goodput_mbps"] for flow in rows)),
        **measures.of_link(row),
        "marks %": 100 * row["marks"] / row["arrivals"] if row["arrivals"] else None,
        "jain": metrics.jain([flow["goodput_mbps"] for flow in rows]) if len(rows) > 1 else None,
    }


def _measure_bursts(result: Result) -> Values:
    flood = result.flows.rows()[-1]
    lost = 100 * flood["network_drops"] / flood["sent"] if flood["sent"] else None
    return {**_measure(result), "lost of bursts %": lost, "delay of bursts ms": flood["mean_one_way_delay_ms"]}


def _part(name: str, title: str, head: str, cases: Any, *setup: str, measure: Any = _measure) -> Part:
    return Part(
        name, title, setup, (head, "queue", "cc"), cases, measure,
        picture=("mean queue ms", "goodput Mbit/s"), panels=(head, "cc"), lines="queue",
    )  # fmt: skip


SUITE = Suite(
    "aqm",
    "queue disciplines after the guideline for active queue management",
    "RFC 7928",
    (
        _part("congestion", "levels of congestion", "level", _congestion,
              "As many flows as Reno would need to share the link at losses of 0.01, 0.1 and 1 %."),
        _part("rtt", "round-trip times from 5 to 560 ms", "RTT", _round_trips, "Four flows."),
        _part("rtt-unfair", "flows of different round-trip times", "RTTs", _unfair_round_trips,
              "Two flows."),
        _part("bursts", "bursts beside a flow", "burst", _bursts,
              "Every half second a burst of datagrams arrives at once.", measure=_measure_bursts),
        _part("unresponsive", "unresponsive traffic of 50 to 200 % of the link", "offered", _unresponsive,
              "Four flows beside datagrams that heed nothing; goodput is that of the flows."),
        _part("capacity", "capacity that falls", "capacity", _capacity,
              "Four flows; a third of the run each."),
        _part("ecn", "marks in place of drops", "ECN", _ecn,
              "The disciplines that can mark, at medium congestion."),
    ),
)  # fmt: skip
