"""Scores an algorithm of a file in a process of its own: what it is asked comes as JSON, and so does its answer."""

from __future__ import annotations

import json
import math
import sys

from dumbbell import _core, scoring


def main() -> None:
    """Answers once."""
    cc, name, at_least, cpu_s, memory_mib = json.load(sys.stdin)
    _limit(cpu_s, memory_mib)
    # What a library prints is no part of the answer.
    answer: dict[str, object]
    try:
        answer = scoring._score(cc, name, at_least, memory_mib).as_dict()
    except (_core.ScenarioError, _core.RunError, ValueError) as error:
        answer = {"kind": type(error).__name__, "error": str(error)}
    print("\n" + json.dumps(answer))


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
