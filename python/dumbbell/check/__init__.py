"""Examines an algorithm: does it do what a text says?

Cases are data: an experiment, and what must be seen in it.
"""

from dumbbell.check.cases import SETS, TRANSPORTS, Case, find, read_folder
from dumbbell.check.conform import Row, conform
from dumbbell.check.judge import Finding

__all__ = ["SETS", "TRANSPORTS", "Case", "Finding", "Row", "conform", "find", "read_folder"]
