"""What a run of sixteen flows shows: who starves, how evenly the rest shares, how much is carried."""

from __future__ import annotations

from pathlib import Path

from dumbbell.papers.data import published
from dumbbell.papers.runs import Run, fastest, slowest

FOLDER = Path(__file__).parent

BUFFERS = ("100", "500", "1000", "2000", "5000")
"""Packets."""
STARVED_MBPS = 1.0
"""A flow below this is starved."""
FAST_MBPS = 50.0
"""A flow above this is fast."""
SPLIT = 4
"""Starved flows that make a run bimodal."""


def starved(run: Run) -> int:
    """Flows below 1 Mbit/s."""
    return sum(rate < STARVED_MBPS for rate in run.rates)


def fast(run: Run) -> int:
    """Flows above 50 Mbit/s."""
    return sum(rate > FAST_MBPS for rate in run.rates)


def is_split(run: Run) -> bool:
    """Whether so many flows starve that the run is bimodal."""
    return starved(run) >= SPLIT


def unevenness(run: Run) -> float:
    """The fastest flow's rate over that of the slowest."""
    return fastest(run) / max(slowest(run), 1e-6)


def published_values(metric: str) -> dict[str, float]:
    """Table II's numbers by buffer."""
    numbers = published(FOLDER, "table2")
    return {n.case["buffer"]: n.value for n in numbers if (n.case["version"], n.metric) == ("ns-3.40", metric)}
