"""The common TCP evaluation suite of the TMRG (draft-irtf-iccrg-tcpeval-01).

The draft replays recorded traffic (Tmix) between nine pairs of nodes. Here each pair has Poisson arrivals of flows with
Pareto sizes of shape 1.35 and mean 30 kB instead, one flow in ten with segments of 536 bytes; loads are those of the
draft, offered from right to left, and half of it from left to right. The wireless scenario is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.results import Result
from dumbbell.suites import measures, tmrg_flows
from dumbbell.suites.model import Case, Choice, Part, Suite, Values, seconds

SIZES = {"kind": "pareto", "mean": "30kB", "shape": 1.35}
LOADS = (60, 85, 110)
BUFFERS = (10, 20, 50, 100, 200)
LEFT, RIGHT = ("n1", "n2", "n3"), ("n4", "n5", "n6")
SMALL_SEGMENTS = 536
"""Segments of one flow in ten."""


@dataclass(frozen=True)
class Scenario:
    """A basic scenario: nine pairs of nodes over one central link."""

    name: str
    rate: str
    """Of the edges, and of the central link unless `up` and `down` say otherwise."""
    central: str
    """Delay of the central link, one way."""
    edges: tuple[str, ...]
    """Delays of the edges to nodes 1 to 6, one way."""
    buffer: str
    """Of the central link, from right to left."""
    seconds: float
    down: str | None = None
    up: str | None = None
    up_buffer: str | None = None

    def document(self, choice: Choice, cc: str, load: float, buffer: str | None = None) -> dict[str, Any]:
        """The experiment with an offered load in per cent from right to left."""
        central = {
            "name": "central",
            "from": "r1",
            "to": "r2",
            "rate": self.up or self.rate,
            "delay": self.central,
            "buffer": buffer or self.up_buffer or self.buffer,
            "reverse": {
                "rate": self.down or self.rate,
                "delay": self.central,
                "buffer": buffer or self.buffer,
            },
        }
        edges = [
            {
                "from": node,
                "to": "r1" if node in LEFT else "r2",
                "rate": self.rate,
                "delay": delay,
                "buffer": "unlimited",
                "reverse": "symmetric",
            }
            for node, delay in zip((*LEFT, *RIGHT), self.edges, strict=True)
        ]
        length = 2.0 if choice.quick else self.seconds
        return {
            "duration": f"{1.2 * length:g}s",
            "warmup": f"{0.2 * length:g}s",
            "record": {"interval": f"{max(length / 400, 0.001):g}s"},
            "links": [central, *edges],
            "traffic": list(_pairs(cc, load)),
        }


def _pairs(cc: str, load: float) -> list[dict[str, Any]]:
    """The sources of all pairs: nine tenths of the load with full segments, one tenth with small ones."""
    sources = []
    for share, transport in ((0.9, None), (0.1, {"mss": SMALL_SEGMENTS})):
        for left in LEFT:
            for right in RIGHT:
                for way, factor in (((right, left), 1.0), ((left, right), 0.5)):
                    source = {
                        "kind": "short-flows",
                        "label": "down" if factor == 1.0 else "up",
                        "cc": cc,
                        "from": way[0],
                        "to": way[1],
                        "load": f"{load * factor * share / 9:.6g}%",
                        "size": SIZES,
                    }
                    sources.append(source if transport is None else source | {"transport": transport})
    return sources


def _edges(*millis: float) -> tuple[str, ...]:
    return tuple(f"{value:g}ms" for value in millis)


USUAL_EDGES = _edges(0, 12, 25, 0, 35, 73)
ACCESS = Scenario("access", "100mbit", "2ms", USUAL_EDGES, "100ms", 40)
BASIC = (
    ACCESS,
    Scenario("data centre", "1gbit", "0s", _edges(0.01, 0.01, 0.1, 0.01, 0.1, 0.1), "10ms", 5),
    Scenario("trans-oceanic", "1gbit", "65ms", USUAL_EDGES, "100ms", 20),
    Scenario(
        "geostationary", "100mbit", "300ms", USUAL_EDGES, "100ms", 60, down="40mbit", up="4mbit", up_buffer="1000ms"
    ),
    Scenario("dial-up", "100mbit", "5ms", USUAL_EDGES, "1250ms", 600, down="64kbit", up="64kbit"),
)


def _basic_cases(choice: Choice) -> list[Case]:
    return [
        Case((scenario.name, f"{load} %", cc), scenario.document(choice, cc, load))
        for scenario in BASIC
        for load in LOADS
        for cc in choice.cc
    ]


def _measure_basic(result: Result) -> Values:
    down = [row["source"] for row in result.traffic.rows() if row["label"] == "down"]
    central = measures.link(result, "central-reverse")
    return {
        **measures.of_link(central),
        **measures.deviations(result, central),
        "goodput Mbit/s": measures.goodput(result),
        **measures.completion(result, down),
    }


def _buffer_cases(choice: Choice) -> list[Case]:
    # BDP at 100 ms: so many per cent of 100 ms of waiting.
    return [
        Case((f"{share} %", cc), ACCESS.document(choice, cc, 85, buffer=f"{share}ms"))
        for share in BUFFERS
        for cc in choice.cc
    ]


def _parking_lot_cases(choice: Choice) -> list[Case]:
    cases = []
    for load in (30, 40, 50):
        for cc in choice.cc:
            links = [
                {"from": f"r{number}", "to": f"r{number + 1}", "rate": "100mbit", "delay": "10ms", "buffer": "60ms",
                 "reverse": "symmetric"}
                for number in (1, 2, 3)
            ]  # fmt: skip
            source = {"kind": "short-flows", "cc": cc, "load": f"{load}%", "size": SIZES, "access_rate": "1gbit"}
            ways = [("long", "r1", "r4", "0s"), *((f"hop {n}", f"r{n}", f"r{n + 1}", "20ms") for n in (1, 2, 3))]
            cases.append(
                Case(
                    (f"{load} %", cc),
                    {
                        "duration": seconds(choice, 60, 4),
                        "warmup": seconds(choice, 10, 1),
                        "record": {"series": False},
                        "links": links,
                        "traffic": [
                            source | {"label": label, "from": start, "to": end, "access_delay": delay}
                            for label, start, end, delay in ways
                        ],
                    },
                )
            )
    return cases


def _measure_parking_lot(result: Result) -> Values:
    rates = {row["label"]: row["goodput_mbps"] for row in result.traffic.rows()}
    short = [rate for label, rate in rates.items() if label != "long"]
    means = {label: _median_fct(result, number) for number, label in enumerate(rates)}
    others = [value for label, value in means.items() if label != "long" and value is not None]
    return {
        "long Mbit/s": rates["long"],
        "one hop Mbit/s": sum(short) / len(short),
        "long over one hop": rates["long"] / (sum(short) / len(short)) if sum(short) else None,
        "long p50 FCT ms": means["long"],
        "one hop p50 FCT ms": sum(others) / len(others) if others else None,
    }


def _median_fct(result: Result, source: int) -> float | None:
    return measures.completion(result, [source])["p50 FCT ms"]


def _camps_cases(choice: Choice) -> Sequence[Case]:
    """Two camps with the same traffic each; B with the controller under test, or both with Reno."""
    cases = []
    for load in (50, 100):
        for cc in dict.fromkeys(("reno", *choice.cc)):
            source = {"kind": "short-flows", "load": f"{load / 2:g}%", "size": SIZES, "rtt": "80ms"}
            cases.append(
                Case(
                    (f"{load} %", cc),
                    {
                        "duration": seconds(choice, 200, 4),
                        "warmup": seconds(choice, 20, 1),
                        "record": {"series": False},
                        "path": {"rate": "10mbit", "rtt": "80ms", "buffer": "80ms", "reverse": "symmetric"},
                        "traffic": [
                            source | {"label": "A", "cc": "reno"},
                            source | {"label": "B", "cc": cc},
                        ],
                    },
                )
            )
    return cases


def _gain_and_loss(found: Sequence[tuple[Case, dict[str, float | None]]]) -> None:
    """Adds what the camps gain (G) and lose (L) beside the row in which both have Reno."""
    base = {case.key[0]: values for case, values in found if case.key[1] == "reno"}
    for case, values in found:
        for letter, camp in (("G", "B Mbit/s"), ("L", "A Mbit/s")):
            before, now = base[case.key[0]].get(camp), values.get(camp)
            values[letter] = now / before if now is not None and before else None


def _measure_camps(result: Result) -> Values:
    a, b = (row["goodput_mbps"] for row in result.traffic.rows())
    return {
        "A Mbit/s": a,
        "B Mbit/s": b,
        "A p50 FCT ms": _median_fct(result, 0),
        "B p50 FCT ms": _median_fct(result, 1),
        **measures.of_link(measures.link(result, "bottleneck")),
    }


SUITE = Suite(
    "tmrg",
    "the common TCP evaluation suite",
    "draft-irtf-iccrg-tcpeval-01",
    (
        Part(
            "basic",
            "basic scenarios under offered loads of 60, 85 and 110 %",
            (
                "Nine pairs of nodes send short flows (Pareto, shape 1.35, mean 30 kB) over one central link, all with "
                "the controller under test.",
                "Measured is the heavier direction, from right to left; goodput is that of both.",
            ),
            ("scenario", "load", "cc"),
            _basic_cases,
            _measure_basic,
            picture=("mean queue ms", "goodput Mbit/s"),
            panels=("scenario",),
        ),
        Part(
            "buffers",
            "delay and throughput against the buffer, access link at 85 %",
            ("The access scenario with a drop-tail buffer of 10 to 200 % of the BDP at 100 ms.",),
            ("buffer", "cc"),
            _buffer_cases,
            _measure_basic,
            picture=("mean queue ms", "goodput Mbit/s"),
        ),
        *tmrg_flows.PARTS,
        Part(
            "camps",
            "impact on standard TCP: camp A has Reno, camp B the controller",
            (
                "Two sources of equal load over 10 Mbit/s and 80 ms. G is B's goodput over what it is with Reno in "
                "both camps, L is A's.",
            ),
            ("load", "cc of B"),
            _camps_cases,
            _measure_camps,
            derive=_gain_and_loss,
            digits=3,
        ),
        Part(
            "parking-lot",
            "several bottlenecks: one long path beside three of one hop",
            ("Three links of 100 Mbit/s and 10 ms; all paths have a round trip of 60 ms.",),
            ("load", "cc"),
            _parking_lot_cases,
            _measure_parking_lot,
            digits=3,
        ),
    ),
)
