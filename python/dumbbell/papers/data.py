"""Published numbers."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Number:
    """A published number."""

    part: str
    metric: str
    value: float
    unit: str
    source: str
    case: dict[str, str]
    """What distinguishes it: ``{"cc": "bbr", "loss": "0.01"}``."""


def published(folder: Path, part: str) -> list[Number]:
    """A part's numbers in ``published.csv``, which has columns part, metric, value, unit, source and any others."""

    def number(part: str, metric: str, value: str, unit: str, source: str, **case: str) -> Number:
        return Number(part, metric, float(value), unit, source, case)

    with (folder / "published.csv").open(encoding="utf-8", newline="") as file:
        return [number(**row) for row in csv.DictReader(file) if row["part"] == part]
