"""The running kernel's TCP beside the simulator's."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from dumbbell.papers.model import Cell, Grid

if TYPE_CHECKING:
    from dumbbell.papers.part import Ran
    from dumbbell.results import SweepResult


def kernel() -> str:
    """The running kernel: ``Linux 6.18.5``."""
    return f"{platform.system()} {platform.release()}"


def tables(ran: Iterable[Ran]) -> list[Grid]:
    """A table of goodputs for each experiment that ran on the kernel."""
    pairs = [(one.sweep, one.simulated) for one in ran if one.simulated is not None]
    several = len(pairs) > 1
    return [
        _table(f"grounds-{number}" if several else "grounds", real, simulated)
        for number, (real, simulated) in enumerate(pairs, start=1)
    ]


def _table(name: str, real: SweepResult, simulated: SweepResult) -> Grid:
    axes = [axis for axis in real.axes if axis != "seed"]
    sides = [_goodputs(sweep, axes) for sweep in (real, simulated)]
    rows: list[Sequence[Cell]] = []
    for key, found in sides[0].items():
        linux, simulator = fmean(found), fmean(sides[1][key])
        rows.append([*key, linux, simulator, linux / simulator if simulator else None])
    title = f"Goodput in Mbit/s on {kernel()} and in the simulator, means over seeds"
    return Grid(name, title, [*axes, "flow", "Linux", "simulator", "quotient"], rows)


def _goodputs(sweep: SweepResult, axes: Sequence[str]) -> dict[tuple[Any, ...], list[float]]:
    found: dict[tuple[Any, ...], list[float]] = {}
    for row in sweep.flows.rows():
        key = (*(row[axis] for axis in axes), f"{row['flow']}: {row['label']}")
        found.setdefault(key, []).append(row["goodput_mbps"])
    return found
