"""Two results of the same experiment side by side, usually the simulator's and the kernel's."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.plots import Picture
    from dumbbell.results import Result

MEASURES = {
    "goodput_mbps": "goodput Mbit/s",
    "mean_rtt_ms": "mean RTT ms",
    "p95_rtt_ms": "p95 RTT ms",
    "mean_one_way_delay_ms": "mean one-way ms",
    "retransmits": "retransm.",
    "network_drops": "drops",
    "acks": "ACKs",
    "completion_s": "completion s",
}
"""The columns of ``flows`` that are compared, and their headings."""


@dataclasses.dataclass(frozen=True)
class Pair:
    """A measure of a flow in both results."""

    flow: int
    label: str
    measure: str
    first: float | None
    second: float | None

    @property
    def difference(self) -> float | None:
        """The second over the first, less one; ``None`` where that says nothing."""
        if self.first is None or self.second is None or self.first == 0:
            return None
        return self.second / self.first - 1

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return dataclasses.asdict(self) | {"difference": self.difference}


def pairs(first: Result, second: Result) -> list[Pair]:
    """Every measure of every flow; a flow that has two names, such as two stacks on one path, is called by both.

    Raises:
        ValueError: The results do not have the same number of flows.
    """
    rows = [result.flows.rows() for result in (first, second)]
    labels = [[row["label"] for row in flows] for flows in rows]
    if len(labels[0]) != len(labels[1]):
        raise ValueError(f"these are results of different experiments: flows {labels[0]} and {labels[1]}")
    return [
        Pair(index, _label(one, other), measure, _number(one.get(measure)), _number(other.get(measure)))
        for index, (one, other) in enumerate(zip(*rows, strict=True))
        for measure in MEASURES
        if _number(one.get(measure)) is not None or _number(other.get(measure)) is not None
    ]


def name(result: Result) -> str:
    """What a result is called beside another one."""
    certificate = result.meta.certificate
    return "simulator" if certificate is None else f"Linux {certificate['kernel']}"


def picture(results: Sequence[Result], names: Sequence[str]) -> Picture:
    """Both over each other on one time axis."""
    from dumbbell.plots import timeseries

    return timeseries.overview(results, names)


def _label(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """What a flow is called in both results."""
    labels = dict.fromkeys((one["label"], other["label"]))
    return " | ".join(labels)


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
