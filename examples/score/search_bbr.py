"""Searches BBR's gains on the set that is there to learn from, and says on the other one whether that gained anything.

Run it with ``python examples/score/search_bbr.py``. It needs ``pip install cma`` and some minutes.
"""

from __future__ import annotations

import sys

import cma

import dumbbell as db

GAINS = {"startup": (1.5, 4.0), "window": (1.2, 3.0), "probing": (1.05, 1.6)}


def algorithm(place: list[float]) -> dict[str, object]:
    """BBR with gains at places from 0 to 1 of their ranges."""
    startup, window, up = (
        low + (most - low) * float(at) for at, (low, most) in zip(place, GAINS.values(), strict=True)
    )
    # What is probed is given back in the next phase.
    return {
        "name": "bbr",
        "startup_pacing_gain": startup,
        "steady_window_gain": window,
        "cycle_gains": [up, 2 - up, *[1.0] * 6],
    }


def main(evaluations: int = 120) -> None:
    """Searches, and compares with BBR as it is."""
    search = cma.CMAEvolutionStrategy(
        [0.5] * len(GAINS), 0.25, {"bounds": [0, 1], "seed": 1, "maxfevals": evaluations, "verbose": -9}
    )
    while not search.stop():
        places = search.ask()
        search.tell(places, [-db.score(algorithm(place)).value for place in places])
    best = algorithm(list(search.result.xbest))
    print(f"found {best}")
    for name in ("standard", "verdict"):
        before, after = db.score("bbr", name), db.score(best, name)
        print(f"{name:9} bbr {before.value:.2f}, found {after.value:.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
