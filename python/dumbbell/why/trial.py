"""Repeats a run without one of its causes after the other, and measures what each of them costs.

Runs are paired: each repetition has the same seed with and without the cause. Round trips are longer by a fraction of a
packet time that is drawn from the seed, so that repetitions of a network without chance differ, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell import _core, experiment
from dumbbell.inference import ALPHA, FloatArray, Interval, finite, mean_interval
from dumbbell.why import limits
from dumbbell.why.causes import Cause, causes
from dumbbell.why.setup import Setup, Subject

if TYPE_CHECKING:
    from dumbbell.results import Result

LEAST_GAIN = 0.01
"""Causes that cost less than this share are not named."""

LEAST_OF_ONE = 0.05
"""So much it has to be where all repetitions are alike: a small difference of one pair may hang on a detail."""

ALIKE = 0.25
"""Gains that differ by less than this share of the greater are equal; the cause nearer to the sender comes first."""

VARIED = {"vary_rtt": "1packet"}
"""Repetitions of a network without chance differ by this."""

MAX_SUBJECTS = 4
"""So many labels are asked about; of more the first."""


@dataclass(frozen=True)
class Effect:
    """What a cause costs."""

    cause: Cause
    gain: Interval
    """The share by which its subject is faster without it: 1 is twice as fast. Without an interval if the repetitions
    do not differ, or there is one."""
    without: float
    """The measure without it."""

    @property
    def is_shown(self) -> bool:
        """Whether it costs something that is not chance."""
        if not (np.isfinite(self.gain.low) and self.gain.has_width):
            return self.gain.estimate >= LEAST_OF_ONE
        return self.gain.estimate >= LEAST_GAIN and self.gain.low > 0

    @property
    def is_open(self) -> bool:
        """Whether it would cost much if it were not chance."""
        return not self.is_shown and self.gain.estimate >= LEAST_OF_ONE


@dataclass(frozen=True)
class Answer:
    """Why a subject is no faster."""

    subject: Subject
    unit: str
    """Of the measure: ``Mbit/s`` of goodput, or ``s`` that its transfers take on average."""
    now: float
    """NaN where no transfer began in the measured interval."""
    effects: Sequence[Effect]
    """Of all causes that were tried, those that cost most first, natural ones last."""
    runs: int
    limited_by: Mapping[str, float]
    """The share of its samples by what limited it; the largest first. Empty where nothing was recorded."""

    @property
    def is_measured(self) -> bool:
        """Whether there is something to explain."""
        return bool(np.isfinite(self.now))

    @property
    def named(self) -> list[Effect]:
        """What holds it back."""
        return [effect for effect in self.effects if effect.is_shown]

    @property
    def undecided(self) -> list[Effect]:
        """What may cost something: repetitions differ too much to tell."""
        return [effect for effect in self.effects if effect.is_open]

    @property
    def cleared(self) -> list[Effect]:
        """What was suspected and costs nothing that these repetitions show."""
        return [effect for effect in self.effects if not effect.is_shown and not effect.is_open]


def answers(
    result: Result,
    *,
    labels: Sequence[str] = (),
    repeat: int = 5,
    jobs: int | None = None,
    max_memory: int | None = None,
    progress: bool | None = None,
) -> list[Answer]:
    """Why the flows of a simulated run are no faster.

    Args:
        result: The run.
        labels: Flows and sources of traffic to ask about; by default the first four labels.
        repeat: Repetitions of each run.
        jobs: Runs at the same time; default one a core.
        max_memory: Memory in bytes that each run may take.
        progress: Whether to show a progress bar; by default on a terminal.

    Raises:
        ValueError: There is no flow with such a label.
        ScenarioError: The experiment cannot be repeated: an algorithm of one's own is not what it was.
        RunError: A flow is two programs, which the simulator cannot repeat.
    """
    setup = Setup(result)
    programs = [flow["label"] for flow in setup.experiment.get("flows", ()) if "program" in flow]
    if programs:
        raise _core.RunError(
            f"flow {programs[0]} is a `program`: causes are taken away on the simulator, which cannot run it\n"
            "  help: ask about the experiment with a `cc` in the place of each program"
        )
    asked = _chosen(setup, labels)
    suspects = {subject: causes(setup, subject) for subject in asked}
    always = {"record.series": "false"}
    # The file may say by itself how round trips vary; with and without a cause they vary alike.
    if _points(result, always | VARIED, 1):
        always |= VARIED
    else:
        # Where an algorithm of one's own is not what it was, nothing can be repeated, and this says so.
        experiment.load_text(result.scenario_toml.encode(), result.scenario_name, set=always)
    settings: dict[_Key, list[_core.Point]] = {}
    for cause in (Cause("", "", {}), *(cause for found in suspects.values() for cause in found)):
        settings.setdefault(_key(cause), _points(result, always | dict(cause.settings), repeat))
    speeds = _run(setup, asked, settings, jobs=jobs, max_memory=max_memory, progress=progress)
    return [_answer(setup, subject, suspects[subject], speeds, repeat) for subject in asked]


def tried(result: Result) -> int:
    """How many experiments :func:`answers` would repeat."""
    setup = Setup(result)
    keys = {_key(cause) for subject in _chosen(setup, ()) for cause in causes(setup, subject)}
    return 1 + len(keys)


_Key = tuple[tuple[str, str], ...]


def _key(cause: Cause) -> _Key:
    return tuple(sorted(cause.settings.items()))


def _chosen(setup: Setup, labels: Sequence[str]) -> list[Subject]:
    if not labels:
        return setup.subjects[:MAX_SUBJECTS]
    by_label = {subject.label: subject for subject in setup.subjects}
    if unknown := [label for label in labels if label not in by_label]:
        raise ValueError(f"no flow is called {unknown[0]}; there are {', '.join(by_label)}")
    return [by_label[label] for label in labels]


def _points(result: Result, settings: Mapping[str, str], repeat: int) -> list[_core.Point]:
    """The repetitions of the experiment with some settings replaced; none if they do not go with the others."""
    text, name = result.scenario_toml.encode(), result.scenario_name
    try:
        return experiment.load_text(text, name, set=settings, repeat=repeat).points
    except _core.ScenarioError:
        return []


def _run(
    setup: Setup, asked: Sequence[Subject], settings: Mapping[_Key, Sequence[_core.Point]], **limits: Any
) -> dict[tuple[_Key, Subject], list[float]]:
    """The measure of each subject in each repetition of each experiment."""
    from dumbbell.api import Sweep

    places = [(key, place) for key, points in settings.items() for place in range(len(points))]
    sweep = Sweep([point for points in settings.values() for point in points], out=None, **limits)
    found = {(key, subject): [np.nan] * len(points) for key, points in settings.items() for subject in asked}
    units = {subject: _unit(setup, subject) for subject in asked}
    for index, result in sweep.indexed():
        key, place = places[index]
        for subject, unit in units.items():
            found[key, subject][place] = _measure(Setup(result), subject, unit)
    return found


def _unit(setup: Setup, subject: Subject) -> str:
    """``s`` that transfers take on average, or ``Mbit/s`` of goodput."""
    has_ended = any(row.get("completion_s") is not None for row in setup.flow_rows(subject))
    return "s" if has_ended or setup.is_finite(subject) else "Mbit/s"


def _measure(setup: Setup, subject: Subject, unit: str) -> float:
    """How fast a subject is. A transfer that did not end counts with the time that it had."""
    end_s = setup.result.meta.sim_s
    if subject.kind == "traffic":
        frame = setup.result.completions.to_polars()
        rows = frame.filter((frame["source"] == subject.members[0]) & (frame["measured"] == 1))
        times = rows["fct_s"].fill_null(end_s - rows["start_s"])
        return float(np.mean(times.to_numpy())) if times.len() else np.nan
    flows = setup.flow_rows(subject)
    if unit == "s":
        return float(np.mean([row["completion_s"] or end_s - row["start_s"] for row in flows]))
    return float(np.mean([row["goodput_mbps"] or 0.0 for row in flows]))


def _answer(
    setup: Setup,
    subject: Subject,
    suspects: Sequence[Cause],
    measures: Mapping[tuple[_Key, Subject], Sequence[float]],
    repeat: int,
) -> Answer:
    unit = _unit(setup, subject)
    now = np.asarray(measures[(), subject])
    effects = []
    # All intervals of an answer hold together.
    confidence = 1 - ALPHA / max(1, len(suspects))
    for cause in suspects:
        without = np.asarray(measures[_key(cause), subject])
        if without.shape != now.shape:
            continue
        interval = mean_interval(_log_ratios(now, without, unit), confidence)
        if interval is not None:
            effects.append(Effect(cause, _as_gain(interval), float(np.nanmean(without))))
    measured = finite(now)
    mean = float(measured.mean()) if measured.size else np.nan
    return Answer(subject, unit, mean, _ranked(effects), repeat, limited_by=limits.shares(setup, subject))


def _log_ratios(now: FloatArray, without: FloatArray, unit: str) -> FloatArray:
    """The logarithm of how many times as fast each repetition is without: twice and half as fast are as far apart."""
    fast, slow = (now, without) if unit == "s" else (without, now)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(fast / slow), dtype=np.float64)


def _as_gain(logarithm: Interval) -> Interval:
    """The share by which something is faster: the geometric mean over the repetitions, less one."""
    low, estimate, high = (float(np.expm1(value)) for value in (logarithm.low, logarithm.estimate, logarithm.high))
    return Interval(estimate, low, high, logarithm.n)


def _ranked(effects: Sequence[Effect]) -> list[Effect]:
    """Those that cost most first; of those that cost as much the first of the list, natural ones after all."""
    left = sorted(effects, key=lambda effect: (effect.cause.is_natural, -effect.gain.estimate))
    ranked: list[Effect] = []
    while left:
        first = left[0]
        alike = [
            effect
            for effect in left
            if effect.cause.is_natural == first.cause.is_natural
            and effect.gain.estimate >= first.gain.estimate - ALIKE * abs(first.gain.estimate)
        ]
        nearest = min(alike, key=effects.index)
        ranked.append(nearest)
        left.remove(nearest)
    return ranked
