"""From the worst case to a small one: whatever can be left out or rounded goes, as long as the case stays as bad."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dumbbell.adversary.base import REPEAT, Base
from dumbbell.adversary.goals import Goal
from dumbbell.adversary.parts import Part

SHORTEST_S = 10.0
"""A measured interval is never made shorter."""

TOGETHER = 16
"""So many simpler cases are tried at a time."""

Evaluate = Callable[[Sequence[dict[str, Any]]], list[list[float]]]
"""Values of experiments, a list with that of each run for each of them."""


@dataclass(frozen=True)
class Case:
    """An attack, and how it is run."""

    base: Base
    parts: tuple[Part, ...]
    duration_s: float
    seed: int | None = None
    """In place of the experiment's."""
    is_varied: bool = True
    """Whether the seed makes round-trip times longer by a fraction of a packet time."""

    def document(self) -> dict[str, Any]:
        """The experiment, as one run."""
        return self._document() | ({} if self.seed is None else {"seed": self.seed})

    def repeated(self) -> dict[str, Any]:
        """The experiment with several seeds."""
        return replace(self, is_varied=True)._document() | {"sweep": {"repeat": REPEAT}}

    def _document(self) -> dict[str, Any]:
        document = self.base.attacked(self.parts)
        if self.duration_s != self.base.duration_s:
            document["duration"] = f"{self.duration_s:.12g}s"
        if self.is_varied:
            # Without it seeds would differ in nothing.
            document.setdefault("vary_rtt", "1packet")
        return document

    def evenly(self) -> Case:
        """The same amount of everything, spread evenly over time."""
        return replace(self, parts=tuple(part.even() for part in self.parts))

    def simpler(self) -> Iterator[Case]:
        """Simpler cases, those that leave most out first."""
        for index in range(len(self.parts)):
            yield replace(self, parts=self.parts[:index] + self.parts[index + 1 :])
        yield replace(self, seed=None, is_varied=False)
        yield replace(self, seed=None)
        begin_s = self.base.duration_s - self.base.measured_s
        shorter_s = begin_s + round((self.duration_s - begin_s) / 2)
        if shorter_s - begin_s >= SHORTEST_S:
            yield replace(self, duration_s=shorter_s)
        for index, part in enumerate(self.parts):
            for simple in part.simpler():
                yield replace(self, parts=(*self.parts[:index], simple, *self.parts[index + 1 :]))

    @property
    def complexity(self) -> int:
        """How much there is to read: parts, digits of their numbers, seeds, and seconds."""
        seeds = 5 * (self.seed is not None) + 5 * self.is_varied
        return 10 * len(self.parts) + sum(_digits(asdict(part)) for part in self.parts) + seeds + round(self.duration_s)


def shrink(case: Case, goal: Goal, worst: float, evaluate: Evaluate, is_allowed: Callable[[Case], bool]) -> Case:
    """A smaller case in which the goal holds: of a run as it is, and of the median of runs with other seeds.

    Every change that holds is kept, and the simplest are tried first, until none holds.
    """
    while (smaller := _first(case, goal, worst, evaluate, is_allowed)) is not None:
        case = smaller
    return case


def _first(case: Case, goal: Goal, worst: float, evaluate: Evaluate, is_allowed: Callable[[Case], bool]) -> Case | None:
    """The first simpler case in which the goal holds."""
    candidates = [one for one in case.simpler() if one.complexity < case.complexity and is_allowed(one)]
    for begin in range(0, len(candidates), TOGETHER):
        some = candidates[begin : begin + TOGETHER]
        values = evaluate([document for one in some for document in (one.document(), one.repeated())])
        for number, one in enumerate(some):
            alone, several = values[2 * number : 2 * number + 2]
            if all(goal.holds(median(runs), worst) for runs in (alone, several)):
                return one
    return None


def median(values: Sequence[float]) -> float:
    """The middle one, the lower of two."""
    return sorted(values)[(len(values) - 1) // 2]


def _digits(value: Any) -> int:
    if isinstance(value, dict):
        return sum(_digits(one) for one in value.values())
    if isinstance(value, list | tuple):
        return sum(1 + _digits(one) for one in value)
    if isinstance(value, str) or value is None:
        return 0
    return len(f"{value:.9f}".replace(".", "").strip("0"))
