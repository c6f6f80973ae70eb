"""Published studies, repeated: ``dumbbell reproduce``.

A study is a module with a function that runs the study's experiments, prints our numbers beside the published ones,
draws the figure, and returns whether every claim holds. It is registered here by name and loaded when it is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast


@dataclass(frozen=True)
class Options:
    """What the command line says about a reproduction."""

    out: Path
    """Directory for tables and figures."""
    jobs: int | None = None
    """Runs at the same time; ``None`` is one a core."""
    repeat: int | None = None
    """Repetitions; ``None`` is the study's own number."""
    traces: Path | None = None
    """Directory with the study's cellular traces, if there is one."""


@dataclass(frozen=True)
class Study:
    """A figure or table of a paper."""

    title: str
    module: str
    """Module of this package with a function ``reproduce(options) -> bool``."""

    def load(self) -> Callable[[Options], bool]:
        """The study's function: whether every claim holds."""
        return cast("Callable[[Options], bool]", importlib.import_module(f"dumbbell.papers.{self.module}").reproduce)


STUDIES: dict[str, Study] = {}
"""Studies by name, ``paper/figure``."""
