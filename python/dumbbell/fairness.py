"""Jain's index. Every table of several flows has it, and a short run does not wait for numpy."""

from __future__ import annotations

import math
from collections.abc import Iterable


def jain(rates: Iterable[float]) -> float | None:
    """Jain's index, 1/n (one flow has all) to 1 (all equal); ``None`` for no flows or all zero."""
    known = [float(rate) for rate in rates]
    squares = math.fsum(rate * rate for rate in known)
    return math.fsum(known) ** 2 / (len(known) * squares) if squares != 0 else None
