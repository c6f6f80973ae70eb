"""From an algorithm to its worst case: search, shrink, and what to compare the case with."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import _core, experiment, storage
from dumbbell.adversary import log, shrink
from dumbbell.adversary.attacks import ATTACKS, Attack, is_allowed
from dumbbell.adversary.base import OWN, Base
from dumbbell.adversary.goals import GOALS, Goal
from dumbbell.adversary.parts import Part
from dumbbell.adversary.search import optimiser, proposals
from dumbbell.adversary.shrink import Case, median
from dumbbell.adversary.text import written
from dumbbell.check.subject import subject
from dumbbell.parallel import engine_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributed import Client

KIND = storage.Kind("worst case", (), lambda folder: None)
MINIMAL, WORST, REPORT, FAILED = "minimal.toml", "worst.toml", "report.json", "failed.toml"
"""What a search writes besides its log; the last where the algorithm cannot go on."""

EVALUATIONS = 5000
"""Experiments that are tried where nothing else is said."""

BESIDE = ("reno", "cubic")
"""Who meets the case for comparison."""


@dataclass(frozen=True)
class Found:
    """The worst case of an algorithm, as far as a search has found it."""

    algorithm: str
    goal: str
    attacks: Sequence[str]
    experiment: str
    """The small experiment, as a file."""
    value: float
    """The goal in its run."""
    with_seeds: float
    """The goal with seeds and round-trip times that differ: the median."""
    beside: Mapping[str, float]
    """The goal of others in the same experiment, without the attack, and with the same attack spread evenly."""
    worst: float
    """The goal of the worst case that the search has met, the median of its seeds."""
    worst_experiment: str
    words: Sequence[str]
    """What the attack does, a text for each part."""
    evaluations: int
    elapsed_s: float
    on_linux: bool
    """Whether the running kernel can replay it, where it has the algorithm."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON, without the larger experiment."""
        return {key: value for key, value in self.__dict__.items() if key != "worst_experiment"}


class _FailedError(Exception):
    """An algorithm cannot go on in an experiment, of which this holds the file and the message."""

    def __init__(self, text: str, message: str) -> None:
        super().__init__(message)
        self.text = text


@dataclass
class _Progress:
    """What the bar says."""

    goal: Goal
    worst: float | None = None
    is_shrinking: bool = False

    def __str__(self) -> str:
        said = "" if self.worst is None else f", worst {self.goal.name} {self.worst:.3g}"
        return ("shrinking" if self.is_shrinking else "searching") + said


def find(
    algorithm: str,
    *,
    goal: str = "throughput",
    attacks: Sequence[str] = ("traffic",),
    evaluations: int | None = None,
    budget_s: float | None = None,
    seed: int = 1,
    share: float | None = None,
    beside: str | None = None,
    source: Path | None = None,
    out: Path | None = None,
    jobs: int | None = None,
    max_memory: int | None = None,
    client: Client | None = None,
    progress: bool | None = None,
) -> Found:
    """Searches the worst case of an algorithm, and shrinks it to a small experiment.

    Args:
        algorithm: A name as for :func:`dumbbell.compare`: ``"reno"``, ``"bbr:drain_gain=0.5"``, ``"mine.py:Mine"``.
        goal: What to spoil: ``"throughput"``, ``"delay"``, ``"starvation"`` or ``"loss"``.
        attacks: With what: ``"traffic"``, ``"connections"``, ``"trace"``, ``"delay"``, ``"losses"``; several at once.
        evaluations: Experiments to try, each with three seeds; default :data:`EVALUATIONS` without a budget.
        budget_s: In place of these: seconds that the search may take, those of earlier calls included.
        seed: Seed of the search.
        share: The most that cross traffic may take of the link, or lossy times of the time; default 0.2 and 0.05.
        beside: For starvation: the algorithm of the flow beside; default ``"cubic"``.
        source: An experiment in place of the package's, whose first flow is examined.
        out: Folder of the log and of what is found. A search that is there goes on.
        jobs: Runs at the same time; default one a core.
        max_memory: Memory in bytes that each run may take.
        client: A client of Dask.distributed, whose workers run the experiments.
        progress: Whether to show a progress bar; by default on a terminal.

    Raises:
        ScenarioError: The algorithm or the experiment is wrong.
        RunError: A run cannot go on, or the package cma is missing.
        OutputError: ``out`` holds something else, or another search.
        ValueError: Another argument is wrong; the message says which, and what would be right.
    """
    chosen = _chosen(goal, attacks, share)
    if evaluations is not None and budget_s is not None:
        raise ValueError("a search ends after a number of evaluations, or after a budget of time: give one of the two")
    if beside is not None and (goal != "starvation" or source is not None):
        raise ValueError("`beside` goes with the goal starvation, and with the package's experiment")
    if goal == "starvation" and source is None and beside is None:
        beside = "cubic"
    base = Base.read(source or OWN, subject(algorithm), None if beside is None else subject(beside))
    base.refuse_beside(attacks)
    if goal == "starvation" and len(base.document["flows"]) == 1:
        raise ValueError(f"{base.file}: starvation is that of one flow beside others, and this experiment has one flow")
    limits = {"jobs": jobs, "max_memory": max_memory, "client": client}
    asked = _command(algorithm, goal, attacks, seed, share, beside, source)
    hunt = _Hunt(algorithm, GOALS[goal], chosen, share, base, seed, limits, asked)
    bounds = _Bounds(evaluations if budget_s is not None else evaluations or EVALUATIONS, budget_s)
    if out is None:
        try:
            return hunt.run(None, bounds, progress)
        except _FailedError as failed:
            raise _core.RunError(str(failed)) from None
    with storage.claimed(out, KIND):
        pass
    out.mkdir(parents=True, exist_ok=True)
    try:
        with storage.adding(out, KIND, [log.NAME]):
            found = hunt.run(out, bounds, progress)
    except _FailedError as failed:
        with storage.adding(out, KIND, [FAILED]):
            storage.write_file(out / FAILED, failed.text.encode())
        raise _core.RunError(f"{failed}\n  help: the experiment in which it fails is {out / FAILED}") from None
    files = {MINIMAL: found.experiment, WORST: found.worst_experiment}
    with storage.adding(out, KIND, [*files, REPORT]):
        for name, content in files.items():
            storage.write_file(out / name, content.encode())
        storage.write_file(out / REPORT, (json.dumps(found.as_dict(), indent=2) + "\n").encode())
    return found


def _chosen(goal: str, attacks: Sequence[str], share: float | None) -> list[Attack]:
    if goal not in GOALS:
        raise ValueError(f"there is no goal `{goal}`; choose among {', '.join(GOALS)}")
    for name in attacks:
        if name not in ATTACKS:
            raise ValueError(f"there is no attack `{name}`; choose among {', '.join(ATTACKS)}")
    if not attacks or len(set(attacks)) < len(attacks):
        raise ValueError(f"name each attack once: {', '.join(ATTACKS)}")
    if GOALS[goal].spoilt_by in attacks:
        raise ValueError(f"the attack `{GOALS[goal].spoilt_by}` is the goal `{goal}` itself: choose another of them")
    chosen = [ATTACKS[name] for name in attacks]
    if share is not None:
        if all(attack.share is None for attack in chosen):
            raise ValueError(f"a share bounds cross traffic and losses, and there are none in {', '.join(attacks)}")
        if not 0 < share <= 0.9:
            raise ValueError(f"a share of {share:g}: write one above 0 and up to 0.9")
    return chosen


def _command(
    algorithm: str,
    goal: str,
    attacks: Sequence[str],
    seed: int,
    share: float | None,
    beside: str | None,
    source: Path | None,
) -> str:
    options = {"goal": goal, "attack": ",".join(attacks), "seed": seed}
    given = {"share": share, "beside": beside, "experiment": source}
    options |= {key: value for key, value in given.items() if value is not None}
    return shlex.join(["dumbbell", "adversary", algorithm, *(f"--{key}={value}" for key, value in options.items())])


@dataclass(frozen=True)
class _Bounds:
    """When a search ends: after the generation in which one of these is reached."""

    evaluations: int | None
    budget_s: float | None

    def reached(self, evaluations: int, elapsed_s: float) -> bool:
        return (self.evaluations is not None and evaluations >= self.evaluations) or (
            self.budget_s is not None and elapsed_s >= self.budget_s
        )

    def total(self) -> int:
        """Steps of the bar: evaluations, or seconds."""
        return self.evaluations if self.evaluations is not None else round(self.budget_s or 0)

    def steps(self, evaluations: int, elapsed_s: float) -> int:
        return evaluations if self.evaluations is not None else int(elapsed_s)


@dataclass(frozen=True)
class _Hunt:
    """What is searched for, and how."""

    algorithm: str
    goal: Goal
    attacks: Sequence[Attack]
    share: float | None
    base: Base
    seed: int
    limits: Mapping[str, Any]
    command: str
    """What one types to search so again."""

    def run(self, out: Path | None, bounds: _Bounds, progress: bool | None) -> Found:
        """Searches, goes on from what ``out`` has, and shrinks what is found."""
        from dumbbell.progress import progress_bar

        shown = _Progress(self.goal)
        bar = progress_bar(bounds.total(), show=progress, what=shown)
        with log.opened(out, self._head()) as kept, bar as advance:
            done = self._search(kept, bounds, shown, advance)
            shown.is_shrinking = True
            return self._result(kept.known[:done])

    def _head(self) -> dict[str, Any]:
        """What the log says the search is: another one is another search."""
        points = experiment.load(self._case(()).repeated(), name=self.base.file).points
        return {
            "format": log.FORMAT,
            "algorithm": self.algorithm,
            "goal": self.goal.name,
            "attacks": [attack.name for attack in self.attacks],
            "share": self.share,
            "seed": self.seed,
            "experiment": points[0].content_hash,
            "engine": engine_digest(),
            "cma": str(optimiser().__version__),
        }

    def _case(self, parts: tuple[Part, ...]) -> Case:
        return Case(self.base, parts, self.base.duration_s, is_varied="vary_rtt" not in self.base.document)

    def _search(self, kept: log.Log, bounds: _Bounds, shown: _Progress, advance: Callable[[], None]) -> int:
        """Evaluates until a bound is reached; returns how many experiments the search has by then."""
        before = kept.known[-1].elapsed_s if kept.known else 0.0
        begin = time.monotonic()
        asked = proposals(sum(attack.genes for attack in self.attacks), self.seed)
        vectors = next(asked)
        done = steps = 0
        while True:
            evaluations = kept.matching(done, vectors)
            new = vectors[len(evaluations) :]
            if new:
                values = self._values([self._case(self.decode(one)).repeated() for one in new])
                elapsed_s = before + time.monotonic() - begin
                added = [log.Evaluation(*one, elapsed_s) for one in zip(new, values, strict=True)]
                kept.add(added)
                evaluations += added
            done += len(vectors)
            elapsed_s = evaluations[-1].elapsed_s
            found = [median(one.values) for one in evaluations]
            shown.worst = min([*found, *([] if shown.worst is None else [shown.worst])], key=self.goal.cost)
            while steps < bounds.steps(done, elapsed_s):
                steps += 1
                advance()
            if bounds.reached(done, elapsed_s):
                return done
            vectors = asked.send([self.goal.cost(value) for value in found])

    def decode(self, vector: Sequence[float]) -> tuple[Part, ...]:
        """The parts of all attacks."""
        parts: list[Part] = []
        for attack in self.attacks:
            share = attack.share if self.share is None else self.share
            parts += attack.decode(vector[: attack.genes], self.base, share or 0.0)
            vector = vector[attack.genes :]
        return tuple(parts)

    def _values(self, documents: Sequence[Mapping[str, Any]]) -> list[list[float]]:
        """The goal in each run of experiments; raises :class:`_FailedError` where the algorithm cannot go on."""
        try:
            return self.evaluate(documents)
        except _core.RunError:
            for document in documents:
                try:
                    self.evaluate([document])
                except _core.RunError as error:
                    raise _FailedError(written(document, [f"{self.algorithm} cannot go on."]), str(error)) from None
            raise

    def evaluate(self, documents: Sequence[Mapping[str, Any]]) -> list[list[float]]:
        """The goal in each run of experiments."""
        from dumbbell.api import Sweep

        points: list[_core.Point] = []
        owners: list[int] = []
        for number, document in enumerate(documents):
            loaded = experiment.load({**document, "record": {"series": False}}, name=self.base.file).points
            points += loaded
            owners += [number] * len(loaded)
        values = [0.0] * len(points)
        for index, result in Sweep(points, out=None, progress=False, **self.limits).indexed():
            values[index] = self.goal.measure(result)
        found: list[list[float]] = [[] for _ in documents]
        for owner, value in zip(owners, values, strict=True):
            found[owner].append(value)
        return found

    def _is_allowed(self, case: Case) -> bool:
        return is_allowed(case.parts, case.base, case.duration_s, self.share)

    def _first(self, worst: log.Evaluation) -> Case:
        """The worst case as one run: that of its seeds which gave the median."""
        case = self._case(self.decode(worst.vector))
        number = list(worst.values).index(median(worst.values))
        points = experiment.load(case.repeated(), name=self.base.file).points
        return replace(case, seed=points[number].seed if number else None)

    def _result(self, known: Sequence[log.Evaluation]) -> Found:
        """Shrinks the worst case, and compares it."""
        worst = min(known, key=lambda one: self.goal.cost(median(one.values)))
        first = self._first(worst)
        small = shrink.shrink(first, self.goal, median(worst.values), self.evaluate, self._is_allowed)
        beside = {
            "without the attack": replace(small, parts=()),
            "the attack spread evenly": small.evenly(),
            **{f"{name} in its place": _with(small, name) for name in BESIDE if name != self.algorithm},
        }
        documents = [small.document(), small.repeated(), *(case.document() for case in beside.values())]
        alone, several, *others = (median(values) for values in self.evaluate(documents))
        words = [part.words() for part in small.parts]
        attacks = [attack.name for attack in self.attacks]
        said = [
            f"{self.algorithm} has {alone:.4g} {self.goal.unit}; {several:.4g} with other seeds (median).",
            *words,
            f"The worst of {len(known)} experiments, made smaller. The search was:",
            f"    {self.command} --evaluations={len(known)}",
        ]
        return Found(
            algorithm=self.algorithm,
            goal=self.goal.name,
            attacks=attacks,
            experiment=written(small.document(), said),
            value=alone,
            with_seeds=several,
            beside=dict(zip(beside, others, strict=True)),
            worst=median(worst.values),
            worst_experiment=written(first.document(), [f"The worst of {len(known)} experiments."]),
            words=words,
            evaluations=len(known),
            elapsed_s=known[-1].elapsed_s,
            on_linux=all(part.on_linux for part in small.parts),
        )


def _with(case: Case, name: str) -> Case:
    """The case with another algorithm in its first flow."""
    first, *others = case.base.document["flows"]
    base = replace(case.base, document={**case.base.document, "flows": [{**first, "cc": name}, *others]})
    return replace(case, base=base)
