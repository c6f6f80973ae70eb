"""Claims under the choices that the study leaves open.

A *label* of the experiment files is an algorithm, or an algorithm and a choice, ``BBR, startup 2/ln 2``. A
:class:`View` shows the runs under one choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dumbbell.papers.model import Outcome
from dumbbell.papers.testing import mean, outcome, spread
from dumbbell.papers.zhang.measure import Run, Runs, Value
from dumbbell.papers.zhang.names import RATIO_MARGIN


@dataclass(frozen=True)
class Choice:
    """One way to fill in what the study leaves open."""

    name: str
    cases: Sequence[str]
    """The cases that were run so."""
    single: Sequence[str] = ()
    """Algorithms that stand for one connection."""


@dataclass(frozen=True)
class View:
    """The runs under one choice; where an algorithm was not run under it, as the study's code."""

    runs: Runs
    choice: Choice

    def of(self, algorithm: str, case: str) -> list[Run]:
        """The runs of an algorithm in a case."""
        name = "N = 1" if algorithm in self.choice.single else self.choice.name
        return self.runs.get((f"{algorithm}, {name}", case)) or self.runs[algorithm, case]

    def mean(self, algorithm: str, case: str, value: Value) -> float:
        """Mean over seeds."""
        return mean(self.of(algorithm, case), value)

    def range(self, algorithms: Iterable[str], cases: Sequence[str], value: Value, digits: int = 2) -> str:
        """The range over algorithms and cases of means over seeds."""
        return spread((self.mean(algorithm, case, value) for algorithm in algorithms for case in cases), digits)

    def ranked(self, algorithms: Iterable[str], case: str, value: Value, digits: int) -> str:
        """``BBR' 118 < BBR 170``: means over seeds, ascending."""
        means = {algorithm: self.mean(algorithm, case, value) for algorithm in algorithms}
        return " < ".join(f"{name} {means[name]:.{digits}f}" for name in sorted(means, key=lambda name: means[name]))

    @property
    def case(self) -> str:
        """Its first case."""
        return self.choice.cases[0]

    @property
    def seeds(self) -> list[Seed]:
        """The seeds that every case has."""
        count = min(len(runs) for (_, case), runs in self.runs.items() if case in self.choice.cases)
        return [Seed(self, number) for number in range(count)]


@dataclass(frozen=True)
class Seed:
    """One run of every algorithm in every case: what a claim about several of them is tested on."""

    view: View
    number: int

    def __getitem__(self, key: tuple[str, str]) -> Run:
        """The run of an algorithm in a case."""
        return self.view.of(*key)[self.number]

    @property
    def case(self) -> str:
        """The first case of its choice."""
        return self.view.case

    def over(self, algorithms: Iterable[str], case: str, value: Value) -> list[float]:
        """A value of each algorithm in a case."""
        return [value(self[algorithm, case]) for algorithm in algorithms]


Test = Callable[[Runs], list[Outcome]]


def seeds(choices: Sequence[Choice], holds: Callable[[Seed], bool], ours: Callable[[View], str]) -> Test:
    """A test that asks every seed."""
    return lambda runs: [
        outcome(view.choice.name, view.seeds, holds, ours(view)) for view in (View(runs, choice) for choice in choices)
    ]


def everywhere(
    choices: Sequence[Choice],
    algorithms: Sequence[str],
    holds: Callable[[Mapping[str, Run]], bool],
    ours: Callable[[View], str],
    cases: Sequence[str] | None = None,
) -> Test:
    """A test of a claim about every case: ``holds`` is given one seed's run of each algorithm in one case.

    A seed counts where the claim holds in all cases; the outcome says in which it holds for most seeds.
    """

    def of(view: View) -> Outcome:
        kept = {
            case: [holds({name: seed[name, case] for name in algorithms}) for seed in view.seeds]
            for case in cases or view.choice.cases
        }
        failing = [case for case, found in kept.items() if sum(found) <= len(found) / 2]
        where = f"fails in {', '.join(failing)}" if failing else f"in all of {len(kept)} cases"
        held = sum(all(found) for found in zip(*kept.values(), strict=True))
        return Outcome(view.choice.name, held, len(view.seeds), "; ".join(filter(None, [ours(view), where])))

    return lambda runs: [of(View(runs, choice)) for choice in choices]


def below(
    choices: Sequence[Choice],
    low: Sequence[str],
    high: Sequence[str],
    case: str,
    value: Value,
    digits: int,
    told: Sequence[str] = (),
) -> Test:
    """A test that a value of some algorithms is below that of others in a case; words tell these or more of them."""
    return seeds(
        choices,
        lambda seed: max(seed.over(low, case, value)) < min(seed.over(high, case, value)),
        lambda view: view.ranked(told or (*low, *high), case, value, digits),
    )


def inside(value: float, low: float, high: float) -> bool:
    """Whether a ratio lies in a published range, within the margin."""
    return low / RATIO_MARGIN <= value <= high * RATIO_MARGIN
