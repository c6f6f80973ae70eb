"""Flent's tests on simulated paths, and files that Flent and Dumbbell both read.

Flent (https://flent.org) runs bulk transfers and probes at the same time on a real network and keeps what it saw in
``.flent.gz`` files. :func:`run` does the same on a simulated path; :func:`write` and :func:`read` exchange the files.
"""

from __future__ import annotations

from dumbbell.flent.data import FlentData
from dumbbell.flent.files import FlentFileError, is_named_so, read, write
from dumbbell.flent.tests import TESTS, FlentTest, test_named
from dumbbell.flent.trial import Timing, document, run

__all__ = [
    "TESTS",
    "FlentData",
    "FlentFileError",
    "FlentTest",
    "Timing",
    "document",
    "is_named_so",
    "read",
    "run",
    "test_named",
    "write",
]
