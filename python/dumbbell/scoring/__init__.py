"""One number for an algorithm, with its parts, over a fixed set of experiments."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dumbbell import _core, catalogue
from dumbbell.compare import written
from dumbbell.scoring.sets import SETS, Case

CPU_S = 120
"""CPU seconds that a candidate may take."""
MEMORY_MIB = 2_048
"""Memory that a candidate may take, the program included."""
HOPELESS = 0.02
"""Whoever leaves more of a link unused in the first experiment than 1 minus this scores 0."""


@dataclass(frozen=True)
class Score:
    """How good an algorithm is, and at what."""

    algorithm: str
    """The exact name, with the digest of code that is not built in."""
    set: str
    """The experiments."""
    value: float
    """100 times the geometric mean of the parts; 0 where it was given up."""
    parts: Mapping[str, float]
    """Each from 0 to 1: ``goodput``, ``delay``, ``loss``, ``fair_to_itself``, ``fair_to_cubic``."""
    cases: list[dict[str, Any]] = field(default_factory=list)
    """What each experiment gave."""
    stopped: str | None = None
    """Why it was given up before the end."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


PARTS = ("goodput", "delay", "loss", "fair_to_itself", "fair_to_cubic")
"""What a score is made of."""


def score(
    cc: str | Mapping[str, Any] | type,
    set: str = "standard",  # noqa: A002 - what one calls a set
    *,
    at_least: float = 0,
    cpu_s: float = CPU_S,
    memory_mib: int = MEMORY_MIB,
) -> Score:
    """How good an algorithm is: one number from 0 to 100, and its parts.

    A score depends on the code alone, to the last bit. Code that is in a file runs in a process of its own.

    Args:
        cc: An algorithm as commands take it (``"bbr"``, ``"bbr:drain_gain=0.5"``, ``"mine.py:Mine"``,
            ``"./libmine.so"``, ``"agent.npz"``), as an experiment writes it, or a class.
        set: ``"standard"``, the experiments to learn from, or ``"verdict"``, others to judge by.
        at_least: Give up where the score cannot become as large as this.
        cpu_s: CPU seconds that it may take.
        memory_mib: Memory that it may take.

    Raises:
        ScenarioError: The algorithm is wrong.
        RunError: It could not go on, or took more time or memory than it may.
        ValueError: There is no such set.
    """
    if set not in SETS:
        raise ValueError(f"there is no set `{set}`; there are {', '.join(SETS)}")
    if not 0 <= at_least <= 100 or not cpu_s > 0 or memory_mib < 1:
        raise ValueError("at_least lies between 0 and 100; cpu_s and memory_mib are more than 0")
    # Whoever is in a file may crash, and must not take this process along.
    if isinstance(cc, str) and catalogue.own_key(cc.split(":")[0]) in ("python", "library"):
        return _apart(cc, set, at_least, cpu_s, memory_mib)
    return _score(cc, set, at_least, memory_mib)


def _score(cc: str | Mapping[str, Any] | type, name: str, at_least: float, memory_mib: int) -> Score:
    algorithm = written(cc)
    cases: list[dict[str, Any]] = []
    measured: dict[str, list[float]] = {part: [] for part in PARTS}
    exact_name, stopped = "", None
    experiments = SETS[name]
    for number, case in enumerate(experiments):
        exact_name, found = case.measure(algorithm, max_memory=f"{memory_mib}MiB")
        cases.append({"case": case.name, **found})
        for part, value in found.items():
            measured[part].append(value)
        if number == 0 and found["goodput"] < HOPELESS:
            stopped = f"it uses {100 * found['goodput']:.2g} % of the link of `{case.name}`"
        elif _most(measured, experiments) < at_least:
            stopped = f"it cannot become {at_least:g} any more after `{case.name}`"
        if stopped:
            return Score(exact_name, name, 0.0, _means(measured), cases, stopped)
    means = _means(measured)
    return Score(exact_name, name, _mean_of_parts(means), means, cases)


def _means(measured: Mapping[str, list[float]]) -> dict[str, float]:
    return {part: math.fsum(values) / len(values) if values else 0.0 for part, values in measured.items()}


def _mean_of_parts(parts: Mapping[str, float]) -> float:
    if any(value <= 0 for value in parts.values()):
        return 0.0
    return 100 * math.exp(math.fsum(math.log(value) for value in parts.values()) / len(parts))


def _most(measured: Mapping[str, list[float]], experiments: tuple[Case, ...]) -> float:
    """The score if all that is left went as well as it can."""
    best = {}
    for part, values in measured.items():
        count = sum(part in case.parts for case in experiments)
        best[part] = (math.fsum(values) + count - len(values)) / count
    return _mean_of_parts(best)


def _apart(cc: str, name: str, at_least: float, cpu_s: float, memory_mib: int) -> Score:
    asked = json.dumps([cc, name, at_least, cpu_s, memory_mib])
    command = [sys.executable, "-m", "dumbbell.scoring.apart"]
    done = subprocess.run(command, input=asked, capture_output=True, text=True)
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise _core.RunError(_end(cc, done, cpu_s, memory_mib)) from None
    if "error" in answer:
        kinds: dict[str, type[Exception]] = {"ScenarioError": _core.ScenarioError, "ValueError": ValueError}
        raise kinds.get(answer["kind"], _core.RunError)(answer["error"])
    return Score(**answer)


def _end(cc: str, done: subprocess.CompletedProcess[str], cpu_s: float, memory_mib: int) -> str:
    """Why a process has ended without a score."""
    if done.returncode in (-24, -9):  # SIGXCPU, and SIGKILL a second later
        return f"`{cc}` has computed for {cpu_s:g} s, which is all that it may take; cpu_s allows more"
    if "MemoryError" in done.stderr or "memory allocation" in done.stderr:
        return f"`{cc}` needs more memory than the {memory_mib} MiB that it may take; memory_mib allows more"
    why = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
    return f"`{cc}` has ended its process ({why})"
