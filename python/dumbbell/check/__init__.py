"""Examines an algorithm: does it do what a text says?

Cases are data: an experiment, and what must be seen in it. This needs the extra ``statistics``.
"""

from dumbbell import extras

try:
    import numpy  # noqa: F401 - whether it is there
except ImportError:
    extras.need("statistics", "dumbbell.check")
    raise

from dumbbell.check.cases import SETS, TRANSPORTS, Case, find, read_folder
from dumbbell.check.conform import Row, conform
from dumbbell.check.judge import Finding
from dumbbell.check.museum import Exhibit, Visit, museum, read_exhibits

__all__ = [
    "SETS", "TRANSPORTS", "Case", "Exhibit", "Finding", "Row", "Visit", "conform", "find", "museum", "read_exhibits",
    "read_folder",
]  # fmt: skip
