"""Published numbers."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell import api
from dumbbell.papers.model import Options
from dumbbell.results import Result, SweepResult


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
    folder = folder.parent if folder.suffix else folder
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


def run(
    scenario: Path,
    options: Options,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    quick: str,
    each: Callable[[int, Result], None] | None = None,
) -> SweepResult:
    """Runs an experiment file of a study and writes the joined tables of all its runs below ``options.out``.

    ``quick`` is the duration under ``options.quick``. ``each`` is called with the index of a point and its result,
    which then still has its time series.
    """
    settings = dict(set or {})
    repeat = options.repeat
    if options.quick:
        settings["duration"] = quick
        repeat = repeat or 1
    result = api.sweep(scenario, set=settings, repeat=repeat, jobs=options.jobs).collect(each)
    result.write_tables(options.out / scenario.stem)
    return result
