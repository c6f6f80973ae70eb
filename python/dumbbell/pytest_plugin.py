"""A plugin for pytest: ``dumbbell check gate`` as a fixture, for tests of an algorithm of one's own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dumbbell.check.gate import Report


@dataclass(frozen=True)
class Scenarios:
    """A set of scenarios, and how often they run."""

    folder: Path | None
    """Files ``*.toml``; ``None`` for those of the package."""
    repeat: int | None
    """Runs of each scenario; ``None`` for 40, or as many as were recorded."""

    def gate(self, base: str, new: str, *limits: str, names: Sequence[str] = ()) -> Report:
        """Compares two algorithms; as :func:`dumbbell.check.gate.gate`.

        Args:
            base: An algorithm (``"bbr3"``, ``"mine.py:Mine"``), or a folder that ``dumbbell check gate -o`` wrote.
            new: The same.
            limits: Such as ``"p95 goodput -2%"``; default those of the command.
            names: Only these scenarios.
        """
        from dumbbell.check.gate import gate

        return gate(base, new, limits, scenarios=self.folder, names=names, repeat=self.repeat, progress=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the options of the command line."""
    group = parser.getgroup("dumbbell", "congestion control in simulated networks")
    group.addoption(
        "--dumbbell-scenarios",
        metavar="DIR",
        type=Path,
        help="scenarios of dumbbell_scenarios, files *.toml; default those of the package",
    )
    group.addoption(
        "--dumbbell-repeat",
        metavar="RUNS",
        type=_runs,
        help="runs of each scenario; default 40, or as many as were recorded",
    )


@pytest.fixture(scope="session")
def dumbbell_scenarios(pytestconfig: pytest.Config) -> Scenarios:
    """Scenarios over which ``gate(base, new, limits)`` compares two algorithms: ``assert report.passes, report``."""
    return Scenarios(pytestconfig.getoption("dumbbell_scenarios"), pytestconfig.getoption("dumbbell_repeat"))


def _runs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: RUNS is a number from 1")
    return int(text)
