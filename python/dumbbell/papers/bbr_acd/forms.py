"""The forms of BBR-ACD, and what the parts of the study share."""

from __future__ import annotations

from pathlib import Path

PUBLISHED = Path(__file__).with_name("published.csv")

FORMS = {"bbr-acd": "kernel", "bbr-acd-paper": "paper", "bbr-acd-ns3": "ns3"}
"""Algorithm and name of each form of BBR-ACD."""
