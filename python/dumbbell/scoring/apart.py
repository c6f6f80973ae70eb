"""Scores an algorithm of a file in a process of its own: what it is asked comes as JSON, and so does its answer."""

from __future__ import annotations

import json
import math
import os
import sys
import threading

from dumbbell import _core, scoring


def main() -> None:
    """Answers once, and ends at once where standard input ends: whoever asked is gone."""
    # What a library prints is no part of the answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    cc, name, at_least, cpu_s, memory_mib = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, name="dumbbell-input", daemon=True).start()
    _limit(cpu_s, memory_mib)
    answer: dict[str, object]
    try:
        answer = scoring._score(cc, name, at_least, memory_mib).as_dict()
    except MemoryError:
        os._exit(scoring.OUT_OF_MEMORY)
    except (_core.ScenarioError, _core.RunError, ValueError) as error:
        answer = {"kind": type(error).__name__, "error": str(error)}
    print(json.dumps(answer), file=answers, flush=True)


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(1)


def _limit(cpu_s: float, memory_mib: int) -> None:
    try:
        import resource
    except ImportError:
        # Windows has no such bounds.
        return
    seconds = math.ceil(cpu_s)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory_mib << 20, memory_mib << 20))


if __name__ == "__main__":
    main()
