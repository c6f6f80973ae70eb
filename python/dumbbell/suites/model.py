"""What a suite is made of, and how a part of it runs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell import experiment
from dumbbell.api import Sweep
from dumbbell.check.subject import senders, subject
from dumbbell.memory import Size
from dumbbell.papers.model import Cell, Grid, Provenance, Report
from dumbbell.plots.style import Picture
from dumbbell.results import Result
from dumbbell.suites.picture import Mark, delay_goodput

Values = Mapping[str, float | None]
"""What was measured of a run, by the heading of its column."""

RUNS = "runs"
"""Folder of the results of all runs, beside the tables."""

QUICK = "quick: short runs, one seed; a check that everything works, no result"


@dataclass(frozen=True)
class Choice:
    """What a suite is run for."""

    cc: Sequence[str] = ("cubic", "bbr")
    """Controllers under test, written as ``compare`` takes them."""
    repeat: int = 5
    """Seeds of each case."""
    quick: bool = False
    """Short runs, one seed."""
    jobs: int | None = None
    max_memory: Size | None = None


@dataclass(frozen=True)
class Case:
    """An experiment, and the values that tell it from the others of its part."""

    key: tuple[str, ...]
    document: Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """A table of a suite."""

    name: str
    title: str
    setup: Sequence[str]
    """What is done, a sentence each."""
    heads: tuple[str, ...]
    """What tells cases apart, one of them ``cc``."""
    cases: Callable[[Choice], Sequence[Case]]
    measure: Callable[[Result], Values]
    picture: tuple[str, str] | None = None
    """The columns of delay and goodput of the picture, if there is one."""
    panels: tuple[str, ...] = ()
    """The heads that tell the panels of the picture apart."""
    lines: str = "cc"
    """The head that gives each line of the picture."""
    derive: Callable[[Sequence[tuple[Case, dict[str, float | None]]]], None] = lambda found: None
    """Adds columns that follow from the means of several cases."""
    digits: int = 2

    def run(self, suite: str, choice: Choice, folder: Path, *, progress: bool | None = None) -> Report:
        """Runs what is not yet in ``folder``, and makes table and picture of all of it."""
        cases = list(self.cases(choice))
        points, owners = [], []
        for number, case in enumerate(cases):
            repeat = 1 if choice.quick else choice.repeat
            loaded = experiment.load(_resolved(case.document), set={"sweep": {"repeat": repeat}})
            points += loaded.points
            owners += [number] * len(loaded.points)
        sweep = Sweep(
            points, jobs=choice.jobs, out=folder / RUNS, progress=progress, max_memory=choice.max_memory, others="rerun"
        )
        measured: list[Values | None] = [None] * len(points)

        def each(index: int, result: Result) -> None:
            measured[index] = self.measure(result)

        joined = sweep.collect(each)
        runs: list[list[Values]] = [[] for _ in cases]
        for owner, values in zip(owners, measured, strict=True):
            runs[owner].append(values or {})
        found = list(zip(cases, runs, strict=True))
        scenarios = {
            "-".join(case.key): points[owners.index(number)].resolved_toml for number, case in enumerate(cases)
        }
        return Report(
            study=suite,
            part=self.name,
            title=self.title,
            setup=self.setup,
            tables=[self._table(found)],
            pictures=self._pictures(found),
            judgements=[],
            provenance=Provenance.of([joined], scenarios),
            caveats=[QUICK] if choice.quick else [],
        )

    def _table(self, found: Sequence[tuple[Case, Sequence[Values]]]) -> Grid:
        columns = list(dict.fromkeys(name for _, runs in found for values in runs for name in values))
        means = [
            (case, {column: _mean([values.get(column) for values in runs]) for column in columns})
            for case, runs in found
        ]
        self.derive(means)
        columns = list(dict.fromkeys(name for _, values in means for name in values))
        rows: list[list[Cell]] = [[*case.key, *map(values.get, columns)] for case, values in means]
        return Grid(self.name, f"{self.title}: means over seeds", [*self.heads, *columns], rows, self.digits)

    def _pictures(self, found: Sequence[tuple[Case, Sequence[Values]]]) -> dict[str, Picture]:
        if self.picture is None:
            return {}
        delay, goodput = self.picture
        marks: list[Mark] = []
        for case, runs in found:
            key = dict(zip(self.heads, case.key, strict=True))
            panel, line = ", ".join(key.pop(head) for head in self.panels), key.pop(self.lines)
            marks.append((panel, line, ", ".join(key.values()), [(run.get(delay), run.get(goodput)) for run in runs]))
        return {self.name: delay_goodput(marks, self.picture, algorithms=self.lines == "cc")}


@dataclass(frozen=True)
class Suite:
    """A published set of experiments."""

    name: str
    title: str
    reference: str
    """Where it is defined."""
    parts: Sequence[Part]

    def listed(self) -> dict[str, Any]:
        """What ``dumbbell suite --list --json`` prints of it."""
        parts = [{"part": part.name, "title": part.title} for part in self.parts]
        return {"suite": self.name, "title": self.title, "reference": self.reference, "parts": parts}


def _resolved(document: Mapping[str, Any]) -> dict[str, Any]:
    """An experiment whose controllers are written as commands take them, as an experiment file writes them."""
    found = copy.deepcopy(dict(document))
    for entry in senders(found):
        if isinstance(entry.get("cc"), str):
            entry["cc"] = subject(entry["cc"])
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean over the runs that have a value."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def seconds(choice: Choice, full: float, quick: float) -> str:
    """The length of a run, as experiment files write it."""
    return f"{min(full, quick) if choice.quick else full:g}s"
