"""The forms of BBR-ACD, and what the parts of the study share."""

from __future__ import annotations

from pathlib import Path

from dumbbell.papers.data import published

FOLDER = Path(__file__).parent

FORMS = {"bbr-acd": "kernel", "bbr-acd-paper": "paper", "bbr-acd-ns3": "ns3"}
"""Algorithm and name of each form of BBR-ACD."""


def name_of(cc: str) -> str:
    """``BBR`` or ``BBR-ACD kernel``."""
    return f"BBR-ACD {FORMS[cc]}" if cc in FORMS else "CUBIC" if cc == "cubic" else "BBR"


def published_values(part: str) -> dict[tuple[str, str, str], float]:
    """A part's numbers by scenario, algorithm (bbr, bbr-acd) and metric."""
    return {(n.case["scenario"], n.case["cc"], n.metric): n.value for n in published(FOLDER, part)}
