"""Recordings of a link's rate: Mahimahi's traces, and CSV with a time and a rate in every line."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from dumbbell.metrics import PACKET_BITS

SECONDS: Mapping[str, float] = {"time_s": 1.0, "time_ms": 1e-3}
"""Columns of CSV that are times, and what their unit is in seconds."""

BITS: Mapping[str, float] = {"rate_mbps": 1e6, "rate_kbps": 1e3, "rate_bps": 1.0}
"""Columns of CSV that are rates, and what their unit is in bits per second."""

HEADER = f"write a first line such as time_s,rate_mbps: one of {', '.join(SECONDS)} and one of {', '.join(BITS)}"


@dataclass(frozen=True)
class Recording:
    """A recorded rate as an experiment file has it."""

    path: Mapping[str, Any]
    """The keys of ``[path]`` that say it."""
    mean_mbps: float
    length_s: float


def read(file: Path) -> Recording:
    """The recording in a file: CSV if the name ends so or the first line has a comma, else a trace of Mahimahi.

    Raises:
        ValueError: It is no such CSV; the message has the file, the line and the value. What is wrong in a trace of
            Mahimahi is said when the experiment is loaded.
    """
    text = file.read_text(encoding="utf-8-sig", errors="replace")
    lines = text.splitlines()
    if file.suffix.lower() == ".csv" or "," in next(iter(lines), ""):
        return _of_csv(lines, file.name)
    try:
        stamps = [int(line) for line in lines]
    except ValueError:
        stamps = []
    length = stamps[-1] / 1e3 if stamps else 0.0
    mean = len(stamps) * PACKET_BITS / length / 1e6 if length > 0 else math.nan
    return Recording({"trace": str(file.resolve())}, mean, length)


def _of_csv(lines: Sequence[str], name: str) -> Recording:
    steps = list(_steps(lines, name))
    if len(steps) < 2:
        raise ValueError(f"{name}: {len(steps)} lines with a time and a rate are no recording; give at least two")
    first = steps[0][0]
    spans = [later - earlier for (earlier, _), (later, _) in itertools.pairwise(steps)]
    # The last rate holds as long as a rate usually does.
    length = steps[-1][0] - first + median(spans)
    mean = sum(rate * span for (_, rate), span in zip(steps, [*spans, median(spans)], strict=True)) / length
    if mean == 0:
        raise ValueError(f"{name}: all rates are 0; a link that never transmits carries no flow")
    table = {
        "steps": [[f"{round((start - first) * 1e9)}ns", f"{round(rate)}bit"] for start, rate in steps],
        "repeat": f"{round(length * 1e9)}ns",
    }
    return Recording({"rate": table}, mean / 1e6, length)


def _steps(lines: Sequence[str], name: str) -> Iterator[tuple[float, float]]:
    """Starts in seconds, and rates in bits per second."""
    rows = csv.reader(lines)
    headings = [heading.strip() for heading in next(rows, [])]
    times, rates = ([word for word in headings if word in units] for units in (SECONDS, BITS))
    if len(times) != 1 or len(rates) != 1:
        raise ValueError(f"{name}:1: `{','.join(headings)}` names no time and rate; {HEADER}")
    before = -math.inf
    for number, row in enumerate(rows, 2):
        if not row:
            continue
        time = _number(row, headings.index(times[0]), f"{name}:{number} ({times[0]})") * SECONDS[times[0]]
        rate = _number(row, headings.index(rates[0]), f"{name}:{number} ({rates[0]})") * BITS[rates[0]]
        if time <= before:
            written = row[headings.index(times[0])].strip()
            raise ValueError(f"{name}:{number} ({times[0]}): `{written}` is not later than the time before it")
        before = time
        yield time, rate


def _number(row: Sequence[str], column: int, where: str) -> float:
    word = row[column].strip() if column < len(row) else ""
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(f"{where}: `{word}` is no number; write one that is 0 or more")
    return number
