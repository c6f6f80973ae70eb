"""One number for an algorithm, with its parts, over a fixed set of experiments."""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import IO, Any

from dumbbell import _core, catalogue
from dumbbell.compare import written
from dumbbell.scoring.sets import SETS, Case

CPU_S = 120
"""CPU seconds that a candidate may take."""
MEMORY_MIB = 2_048
"""Memory that a candidate may take, the program included."""
OUT_OF_MEMORY = 12
"""Status of a process that needs more (ENOMEM)."""
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
    if not 0 <= at_least <= 100:
        raise ValueError(f"at_least = {at_least:g}: it must lie between 0 and 100")
    if not cpu_s > 0:
        raise ValueError(f"cpu_s = {cpu_s:g}: it must be more than 0")
    if memory_mib < 1:
        raise ValueError(f"memory_mib = {memory_mib}: it must be 1 or more")
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
    command = [sys.executable, "-m", "dumbbell.scoring.apart"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, errors="replace") as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        said: deque[str] = deque(maxlen=20)
        telling = threading.Thread(target=_tell, args=(process.stderr, said), daemon=True)
        telling.start()
        try:
            # Its input stays open, since the process ends with it.
            with contextlib.suppress(BrokenPipeError):
                print(json.dumps([cc, name, at_least, cpu_s, memory_mib]), file=process.stdin, flush=True)
            text = process.stdout.read()
            process.wait()
        except BaseException:
            process.kill()
            raise
        telling.join()
    try:
        answer = json.loads(text)
    except ValueError:
        raise _core.RunError(_end(cc, process.returncode, "".join(said), cpu_s, memory_mib)) from None
    if "error" in answer:
        kinds: dict[str, type[Exception]] = {"ScenarioError": _core.ScenarioError, "ValueError": ValueError}
        raise kinds.get(answer["kind"], _core.RunError)(answer["error"])
    return Score(**answer)


def _tell(source: IO[str], said: deque[str]) -> None:
    """Prints what a process says on its standard error, and keeps the last lines."""
    for line in source:
        said.append(line)
        print(line, end="", file=sys.stderr)


def _end(cc: str, status: int, said: str, cpu_s: float, memory_mib: int) -> str:
    """Why a process has ended without a score."""
    if status in (-24, -9):  # SIGXCPU, and SIGKILL a second later
        return (
            f"`{cc}` has computed for {cpu_s:g} s, which is all that it may take; "
            "--cpu-seconds, in Python `cpu_s`, allows more"
        )
    if status == OUT_OF_MEMORY or "MemoryError" in said or "memory allocation" in said:
        return (
            f"`{cc}` needs more memory than the {memory_mib} MiB that it may take; in Python `memory_mib` allows more"
        )
    why = f"signal {-status}" if status < 0 else f"status {status}"
    return f"`{cc}` has ended its process ({why})"
