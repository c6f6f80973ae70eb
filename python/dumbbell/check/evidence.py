"""Runs the criteria of RFC 9743 on an algorithm, with Reno and CUBIC beside it, and judges what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from dumbbell import _core, experiment
from dumbbell.check.criteria import BASELINES, VALUE, Criterion, Measure
from dumbbell.check.quantities import measured
from dumbbell.check.subject import SUBJECT, subject

if TYPE_CHECKING:
    from dumbbell.results import Result

Verdict = Literal["meets", "misses", "not judged"]

REPEAT = 5
"""Runs of each point, with different seeds; one in quick form."""

RUNS = "runs"
"""Folder of all results, beside the pages."""


@dataclass(frozen=True)
class Place:
    """What one algorithm did at one point of a criterion: for each measure the numbers of its runs."""

    algorithm: str
    words: tuple[str, ...]
    numbers: Sequence[Sequence[float]]

    def median(self, measure: int) -> float:
        """The middle one."""
        values = np.asarray(self.numbers[measure])
        if np.isnan(values).all():
            return math.nan
        return float(np.quantile(values[~np.isnan(values)], 0.5, method="lower"))

    def span(self, measure: int) -> tuple[float, float]:
        """The lowest and the highest."""
        values = np.asarray(self.numbers[measure])
        return (math.nan, math.nan) if np.isnan(values).all() else (float(np.nanmin(values)), float(np.nanmax(values)))


@dataclass(frozen=True)
class Missed:
    """A point at which a number is not good enough."""

    measure: Measure
    words: tuple[str, ...]
    value: float
    beside: Mapping[str, float]
    """What Reno and CUBIC had there."""


@dataclass(frozen=True)
class Evidence:
    """What came of a criterion."""

    criterion: Criterion
    algorithm: str
    """As it was asked for."""
    places: Sequence[Place]
    exact: str
    """The exact name of the algorithm."""
    experiment: str
    """The experiment on the algorithm, as a file."""

    @property
    def points(self) -> list[tuple[str, ...]]:
        """What the points are called, in their order."""
        return list(dict.fromkeys(place.words for place in self.places))

    @property
    def algorithms(self) -> list[str]:
        """The algorithm and the baselines, each once."""
        return list(dict.fromkeys(place.algorithm for place in self.places))

    def at(self, algorithm: str, words: tuple[str, ...]) -> Place:
        """What an algorithm did at a point."""
        return next(place for place in self.places if (place.algorithm, place.words) == (algorithm, words))

    @property
    def judged(self) -> int:
        """How many numbers are judged."""
        return len(self.points) * sum(measure.judgement is not None for measure in self.criterion.measures)

    @cached_property
    def missed(self) -> list[Missed]:
        """Those that are not good enough."""
        found = []
        for number, measure in enumerate(self.criterion.measures):
            if measure.judgement is None:
                continue
            for words in self.points:
                value = self.at(self.algorithm, words).median(number)
                beside = {name: self.at(name, words).median(number) for name in BASELINES}
                if not bool(measure.judgement.evaluate({VALUE: value, **beside})):
                    found.append(Missed(measure, words, value, beside))
        return found

    @property
    def verdict(self) -> Verdict:
        """Whether all that is judged is good enough."""
        return "not judged" if not self.judged else "misses" if self.missed else "meets"


def evidence(
    algorithm: str,
    criteria: Sequence[Criterion],
    *,
    quick: bool = False,
    repeat: int = REPEAT,
    transport: str = "tcp",
    out: Path | None = None,
    jobs: int | None = None,
    max_memory: int | None = None,
    progress: bool | None = None,
) -> list[Evidence]:
    """Examines an algorithm by criteria.

    Args:
        algorithm: A name as for :func:`dumbbell.compare`: ``"bbr3"``, ``"bbr3:drain_gain=0.5"``, ``"mine.py:Mine"``.
        criteria: What to examine it by.
        quick: Short runs, one seed.
        repeat: Seeds of each point.
        transport: ``"tcp"`` or ``"quic"``.
        out: Folder of the results of all runs, which are not repeated; nothing is kept without.
        jobs: Runs at the same time; default one a core.
        max_memory: Memory in bytes that each run may take.
        progress: Whether to show a progress bar; by default on a terminal.

    Raises:
        ScenarioError: The algorithm or a criterion is wrong.
        ValueError: There is no such algorithm.
    """
    from dumbbell.api import Sweep

    examined = {algorithm: subject(algorithm)} | {name: name for name in BASELINES if name != algorithm}
    points: list[_core.Point] = []
    owners: list[tuple[int, str]] = []
    for number, criterion in enumerate(criteria):
        for name, written in examined.items():
            document = criterion.experiment(written, quick=quick, repeat=1 if quick else repeat, transport=transport)
            loaded = experiment.load(document, name=str(criterion.file))
            points += loaded.points
            owners += [(number, name)] * len(loaded.points)
    sweep = Sweep(points, jobs=jobs, max_memory=max_memory, out=out, progress=progress, others="rerun")
    found: dict[tuple[int, str, tuple[str, ...]], list[tuple[int, list[float]]]] = {}
    exact = algorithm
    with closing(sweep.indexed()) as results:
        for index, result in results:
            number, name = owners[index]
            criterion = criteria[number]
            values = [_value(measure, result) for measure in criterion.measures]
            key = (number, name, criterion.words(points[index].settings))
            found.setdefault(key, []).append((index, values))
            if name == algorithm:
                rows = [*result.flows.rows(), *result.traffic.rows()]
                exact = next(row["algorithm"] for row in rows if row["label"] == SUBJECT)
    evidences = []
    for number, criterion in enumerate(criteria):
        # In the order of the file, whatever finished first.
        keys = sorted((min(runs)[0], key) for key, runs in found.items() if key[0] == number)
        places = [
            Place(key[1], key[2], list(zip(*(values for _, values in sorted(found[key])), strict=True)))
            for _, key in keys
        ]
        evidences.append(Evidence(criterion, algorithm, places, exact, criterion.written(examined[algorithm])))
    return evidences


def _value(measure: Measure, result: Result) -> float:
    values = measured(result, measure.quantity.names)
    return float(np.asarray(measure.quantity.evaluate(values), dtype=float).ravel()[0])
