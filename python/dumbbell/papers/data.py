"""Published numbers."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Number:
    """A published number."""

    part: str
    case: dict[str, str]
    """What distinguishes it: ``{"cc": "bbr", "loss": "0.01"}``."""
    metric: str
    value: float
    unit: str
    source: str


def published(folder: Path, part: str) -> list[Number]:
    """A part's numbers in ``published.csv``, which has columns part, metric, value, unit, source and any others."""
    fixed = ("part", "metric", "value", "unit", "source")
    with (folder / "published.csv").open(encoding="utf-8", newline="") as file:
        return [
            Number(
                part=row["part"],
                case={key: value for key, value in row.items() if key not in fixed},
                metric=row["metric"],
                value=float(row["value"]),
                unit=row["unit"],
                source=row["source"],
            )
            for row in csv.DictReader(file)
            if row["part"] == part
        ]
