"""The study's words: its algorithms, what it leaves open, and what holds for several parts."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent

ALGORITHMS = ("BBR", "BBR'", "BBRPlus", "Tsunami", "BBR+", "BBRv2", "Cubic", "Reno")
"""The study's names, which are the labels of the experiment files."""
FIRST_VERSION = ("BBR", "BBR'", "BBRPlus", "Tsunami", "BBR+")
"""BBR and the variants of its first version."""
BBR_LIKE = (*FIRST_VERSION, "BBRv2")
OTHERS = ("BBRv2", "Cubic", "Reno")

CODE, PAPER = "as the code", "startup 2/ln 2"
"""Choices: STARTUP at 2 until growth falls below a half, as in the study's code of 2019, or at 2/ln 2 until it falls
below a quarter, as in its text."""
ONE_SIZE = "one size"
"""A choice: packets that are all of the mean size, and Linux's Cubic and Reno with QUIC's constants, in place of the
study's three sizes and Chromium's own."""
LOOP = "loop of 0.1 ms"
"""A choice: a sender that polls every 0.1 ms, as the study's code of later."""

RATIO_MARGIN, JAIN_MARGIN = 1.1, 0.02
"""Bounds that are the extremes of published single runs hold within a tenth, of Jain's index within 0.02."""
TIMING = (
    "As in the study's framework the sender's clock counts milliseconds and its loop looks every 0.5 ms whether it may "
    "send; ACKs return over a link with a queue like the bottleneck."
)
MARGINS = "Bounds that are extremes of the published runs are met within a tenth, for Jain's index within 0.02."
SIZES = (
    f"Packets are of the study's three sizes; beside, as '{ONE_SIZE}', all of the mean size, with Linux's Cubic and "
    "Reno with QUIC's constants."
)
