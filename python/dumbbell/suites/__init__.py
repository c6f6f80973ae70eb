"""Evaluation suites: standard sets of experiments for any congestion controller.

A suite is a list of parts. A part has cases, experiments with the values that tell them apart; every case runs with
several seeds, what is measured of the runs goes into a table, and goodput against delay into a picture.
"""

from __future__ import annotations

from dumbbell.meant import meant
from dumbbell.suites.model import Choice, Part, Suite

__all__ = ["NAMES", "Choice", "Part", "Suite", "UnknownSuiteError", "find", "suites"]

NAMES = ("tmrg", "aqm")


class UnknownSuiteError(LookupError):
    """There is no suite or part of this name."""


def suites() -> list[Suite]:
    """All suites."""
    from dumbbell.suites import aqm, tmrg

    return [tmrg.SUITE, aqm.SUITE]


def find(name: str) -> tuple[Suite, list[Part]]:
    """The suite and the parts that ``name`` means: ``tmrg``, or ``tmrg/buffers``."""
    suite_name, _, part_name = name.strip("/").partition("/")
    known = {suite.name: suite for suite in suites()}
    if suite_name not in known:
        remedy = meant(suite_name, known) or f"there are {', '.join(known)}"
        raise UnknownSuiteError(f"there is no suite `{suite_name}`; {remedy}")
    suite = known[suite_name]
    if not part_name:
        return suite, list(suite.parts)
    parts = [part for part in suite.parts if part.name == part_name]
    if not parts:
        raise UnknownSuiteError(
            f"`{suite_name}` has no part `{part_name}`; there are {', '.join(part.name for part in suite.parts)}"
        )
    return suite, parts
