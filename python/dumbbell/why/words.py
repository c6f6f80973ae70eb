"""What an answer says, in sentences and as a table."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from dumbbell.report import number, percent
from dumbbell.terminal import Grid
from dumbbell.why import limits
from dumbbell.why.trial import Answer, Effect


def sentence(answer: Answer) -> str:
    """What holds the subject back most, what its samples say, and the first thing to change."""
    return " ".join(filter(None, (_first(answer), limits.sentence(answer.limited_by), _to_change(answer))))


def _to_change(answer: Answer) -> str | None:
    """The settings of the first cause that one can change: capacity and other flows are as they are."""
    first = next((effect for effect in answer.named if not effect.cause.is_natural), None)
    if first is None:
        return None
    settings = [f"{key}={value}" for key, value in first.cause.settings.items()]
    return f"To change first: {settings[0]}" + (f" and {len(settings) - 1} more." if len(settings) > 1 else ".")


def _first(answer: Answer) -> str:
    label, now = answer.subject.label, f"{number(answer.now)} {answer.unit}"
    if not answer.is_measured:
        return (
            f"No transfer of {label} began in the measured interval, so that there is none to ask about. To change "
            "first: warmup and cooldown, between which one has to begin, or when transfers do."
        )
    has = f"{label} takes {now}" if answer.unit == "s" else f"{label} has {now}"
    if not answer.named:
        return f"{has}; nothing of what was tried makes it faster."
    first = answer.named[0]
    return f"{has}. What holds it back first is {first.cause.name}: without it {_faster(answer, first)}."


def grid(answer: Answer) -> Grid:
    """What holds the subject back, what shows it, and what it costs."""
    table = Grid("held back by…", "which shows in…", "without it…")
    for effect in answer.named:
        table.add(effect.cause.name, effect.cause.shown, _faster(answer, effect))
    return table


def items(answer: Answer, scenario: str | None) -> str:
    """An answer for a terminal: an item a cause, with the run that proves it where the experiment is a file."""
    lines = []
    for place, effect in enumerate(answer.named, 1):
        lines += [f"  {place}. {effect.cause.name}: {_faster(answer, effect)}", f"     {effect.cause.shown}"]
        if scenario is not None:
            lines.append(f"     {command(effect, scenario)}")
    return "\n".join(lines)


def cleared(answer: Answer) -> str | None:
    """What was suspected: what may cost something, and what costs nothing."""
    parts = []
    if open_ := _names(answer.undecided):
        parts.append(f"Undecided, because the {answer.runs} pairs differ much: {open_}; more of them tell (--repeat).")
    if names := _names(answer.cleared):
        parts.append(f"Tried, and not the cause: {names}.")
    return " ".join(parts) or None


def _names(effects: Sequence[Effect]) -> str:
    return "; ".join(dict.fromkeys(effect.cause.name for effect in effects))


def command(effect: Effect, scenario: str) -> str:
    """The run without a cause."""
    words = ["dumbbell", "run", scenario]
    for key, value in effect.cause.settings.items():
        words += ["--set", f"{key}={value}"]
    return shlex.join(words)


def as_json(answer: Answer, scenario: str | None) -> dict[str, Any]:
    """An answer as an object."""
    return {
        "label": answer.subject.label,
        "unit": answer.unit,
        "now": _finite(answer.now),
        "runs": answer.runs,
        "limited_by": dict(answer.limited_by),
        "causes": [
            {
                "name": effect.cause.name,
                "shown": effect.cause.shown,
                "is_shown": effect.is_shown,
                "is_undecided": effect.is_open,
                "is_natural": effect.cause.is_natural,
                "without": effect.without,
                "gain": effect.gain.estimate,
                "gain_low": _finite(effect.gain.low),
                "gain_high": _finite(effect.gain.high),
                "set": dict(effect.cause.settings),
                "command": None if scenario is None else command(effect, scenario),
            }
            for effect in answer.effects
        ],
    }


def _faster(answer: Answer, effect: Effect) -> str:
    text = f"{number(effect.without)} {answer.unit}, {_share(effect.gain.estimate)}"
    if np.isfinite(effect.gain.low) and effect.gain.has_width:
        low, high = effect.gain.low, effect.gain.high
        ends = (number(1 + low), number(1 + high)) if effect.gain.estimate >= 1 else (percent(low), percent(high))
        text += f" ({' to '.join(ends)})"
    return text


def _share(gain: float) -> str:
    return f"{number(1 + gain)} times as fast" if gain >= 1 else f"{percent(gain)} faster"


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def intervals(answers: Sequence[Answer]) -> str:
    """What the spans in brackets are."""
    runs = answers[0].runs
    return (
        f"means of {runs} pairs of runs with the same seeds; in brackets the 95 % interval, so wide that all of an "
        "answer hold together"
        if runs > 1
        else "one pair of runs each: how much of a small difference is chance is not known"
    )
