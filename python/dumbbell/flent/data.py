"""What a test has seen: series over time, with Flent's names and units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any

from dumbbell.fairness import jain

Values = list[float | None]
"""A value for each step; ``None`` where there is none."""


@dataclass(frozen=True)
class FlentData:
    """The series of a test: throughput in Mbit/s, pings in milliseconds."""

    name: str
    title: str
    x_values: list[float]
    """Seconds since the start of the test."""
    results: dict[str, Values]
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def delay(self) -> float:
        """Seconds without load at both ends."""
        length = float(self.metadata.get("LENGTH") or 0)
        total = float(self.metadata.get("TOTAL_LENGTH") or self.x_values[-1])
        return max(0.0, (total - length) / 2) if length else 0.0

    def loaded(self, series: str) -> list[float]:
        """The values of a series while there is load, as Flent's box and CDF plots take them."""
        start, end = self.delay, self.x_values[-1] - self.delay
        pairs = zip(self.x_values, self.results[series], strict=True)
        return [value for at, value in pairs if value is not None and start < at <= end]

    def summary(self) -> list[tuple[str, float, float, int]]:
        """Name, mean, median and count of the values of each series under load."""
        rows = []
        for name in self.results:
            values = self.loaded(name)
            if values:
                rows.append((name, mean(values), median(values), len(values)))
        return rows


def average(columns: Sequence[Values]) -> Values:
    """The mean of what there is, step by step."""
    return [mean(known) if (known := _known(step)) else None for step in zip(*columns, strict=True)]


def total(columns: Sequence[Values]) -> Values:
    """The sum of what there is, step by step."""
    return [math.fsum(known) if (known := _known(step)) else None for step in zip(*columns, strict=True)]


def fairness(columns: Sequence[Values]) -> Values:
    """Jain's index, step by step."""
    return [jain(_known(step)) for step in zip(*columns, strict=True)]


def _known(step: Sequence[float | None]) -> list[float]:
    return [value for value in step if value is not None]


DERIVE: Mapping[str, Any] = {"average": average, "sum": total, "fairness": fairness}
