"""Recordings of a link's rate: measured series and Mahimahi's traces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dumbbell import _core


@dataclass(frozen=True)
class Recording:
    """A recorded rate."""

    trace: str
    """The file, as ``path.trace`` of an experiment has it."""
    mean_mbps: float
    length_s: float


def read(file: Path) -> Recording:
    """The recording in a file.

    Raises:
        ValueError: There is none; the message has the file, the line and the value.
    """
    trace = str(file.resolve())
    mean_mbps, length_s = _core.recording(trace)
    return Recording(trace, mean_mbps, length_s)
