"""Measures what a call of an algorithm in Python costs, interpreted and compiled.

An example runs beside its twin, which is part of the engine:

    python benches/calls.py [--runs N]

All give the same tables, so that the difference of their CPU times is that of the calls. They take turns, and the
fastest of each counts: whatever else the machine does makes a run slower, and never faster.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import dumbbell as db
from dumbbell import own

EXAMPLES = Path(__file__).resolve().parents[1] / "examples/own"
SCENARIO: dict[str, Any] = {
    "duration": "60s",
    "path": {"rate": "100mbit", "rtt": "40ms", "buffer": "1bdp"},
    "record": {"series": False},
}


class Twins(NamedTuple):
    """An example, and the algorithm that decides as it does."""

    title: str
    example: str
    built_in: str


ALL = (
    Twins("Reno, one hook an ACK", "reno.py:Reno", "reno"),
    Twins("BBR, one hook an ACK and one a burst", "bbr.py:Bbr", "bbr"),
)


def measured(cc: Any) -> tuple[float, int]:
    """CPU seconds and packets of a run."""
    meta = db.run(SCENARIO | {"flows": [{"cc": cc}]}).meta
    return meta.cpu_s, meta.packets


def calls(twins: Twins) -> int:
    """How often the engine calls the example: a subclass counts."""
    count = 0
    base = own.load(twins.example, str(EXAMPLES)).cls

    def counted(name: str) -> Any:
        def call(self: Any, *arguments: Any) -> Any:
            nonlocal count
            count += 1
            return getattr(base, name)(self, *arguments)

        return call

    hooks = {name: counted(name) for name in own.HOOKS if hasattr(base, name)}
    db.run(SCENARIO | {"flows": [{"cc": type("Counted", (base,), hooks)}]})
    return count


def main() -> None:
    """Prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    print("| algorithm in Python | calls | built in, ns/packet | | ns/packet | ns/call |")
    print("| --- | ---: | ---: | --- | ---: | ---: |")
    for twins in ALL:
        example = {"python": str(EXAMPLES / twins.example)}
        kinds: list[Any] = [twins.built_in, example, {**example, "compiled": True}]
        rounds = [[measured(cc) for cc in kinds] for _ in range(runs)]
        (built_in_s, packets), *others = (min(found) for found in zip(*rounds, strict=True))
        count = calls(twins)
        for kind, (cpu_s, _) in zip(("interpreted", "compiled"), others, strict=True):
            found = (built_in_s / packets, cpu_s / packets, (cpu_s - built_in_s) / count)
            built_in, own_class, call = (f"{1e9 * seconds:.1f}" for seconds in found)
            print(f"| {twins.title} | {count:,} | {built_in} | {kind} | {own_class} | {call} |")


if __name__ == "__main__":
    main()
