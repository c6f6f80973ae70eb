"""Texts that the tests keep: what a change does to results that nobody thought of."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import pytest

from described import described
from dumbbell.papers.model import Report

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "snapshots" / "python"
MOST_ROWS = 24
"""Of a table; of longer ones every second, third or later row is kept."""


def same_as_kept(name: str, lines: Sequence[str]) -> None:
    """Fails where lines are not those of a file of ``tests/snapshots/python``; prints them into it when asked to."""
    path = FOLDER / f"{name}.txt"
    # A line may hold what begins another one.
    lines = "\n".join(lines).splitlines()
    if os.environ.get("DUMBBELL_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", "utf-8")
    if f"matplotlib=={mpl.__version__} " not in (ROOT / "requirements.txt").read_text():
        pytest.skip("another version of matplotlib chooses other ticks")
    kept = path.read_text("utf-8").splitlines()
    assert lines == kept, "\n".join(difflib.unified_diff(kept, lines, "kept", "now", n=1, lineterm=""))


def of_report(report: Report) -> list[str]:
    """What a part of a study says of its runs: everything but what a machine took for them."""
    lines = [report.title, *report.setup, *(f"caveat: {caveat}" for caveat in report.caveats)]
    for grid in report.tables:
        lines += [f"table {grid.name}: {grid.title}", f"  {' | '.join(grid.columns)}"]
        rows = grid.printed()
        lines += [f"  {' | '.join(row)}" for row in rows[:: len(rows) // MOST_ROWS + 1]]
    for one in report.judgements:
        lines += [f"claim {one.claim.id}: {one.verdict}, {one.notices}", f"  {one.note}", f"  {one.depends_on}"]
        lines += [f"  {each.choice}: {each.verdict}, {each.held} of {each.runs}, {each.ours}" for each in one.outcomes]
        lines += [f"  theirs, {each.choice}: {each.held}, {each.decides}, {each.ours}" for each in one.theirs]
    run = report.provenance
    lines += [f"{run.runs} runs, {run.packets} packets, seeds {run.seeds}, {' '.join(run.scenarios)}"]
    for name, picture in report.pictures.items():
        lines += [name, *described(picture)]
    return [line.rstrip() for line in lines]
