"""How often a gate is wrong, on runs of the simulator.

    .venv/bin/python tests/gate/calibrate.py

makes a pool of runs of an algorithm over the package's scenarios, draws base and new from it, with different seeds,
and prints in how many trials the gate passes what is equal, and catches goodput that is 3 % less. Then it runs a BBR
that loses about 3 % by its pacing margin, with fresh seeds in every trial.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dumbbell.check.gate import MANY_RUNS, REPEAT, applied, compared, gate, record
from dumbbell.check.limits import Limit, judge
from dumbbell.check.recorded import Recorded, Runs
from dumbbell.check.scenarios import find
from dumbbell.inference import ALPHA, proportion_interval

PLANTED = 0.97
SLOW = "bbr3:pacing_margin=4.6%"
STEADY = ("short-buffer", "long-buffer")

Judged = Sequence[tuple[str, Limit]]


def draw(pool: Recorded, rng: np.random.Generator, runs: int) -> tuple[Recorded, Recorded]:
    """Two samples of a pool without a run in common."""
    order = rng.permutation(pool.repeat)
    return chosen(pool, order[:runs]), chosen(pool, order[runs : 2 * runs])


def chosen(pool: Recorded, places: NDArray[np.int64]) -> Recorded:
    def of(runs: Runs) -> Runs:
        values = {metric: [numbers[place] for place in places] for metric, numbers in runs.values.items()}
        return Runs(runs.digest, [runs.seeds[place] for place in places], values)

    return replace(pool, scenarios={name: of(runs) for name, runs in pool.scenarios.items()})


def planted(recorded: Recorded, where: Callable[[str], bool]) -> Recorded:
    """The same with less goodput in some scenarios."""

    def less(name: str, runs: Runs) -> Runs:
        if not where(name):
            return runs
        return replace(runs, values={**runs.values, "goodput": [PLANTED * one for one in runs.values["goodput"]]})

    return replace(recorded, scenarios={name: less(name, runs) for name, runs in recorded.scenarios.items()})


def tell(what: str, count: int, trials: int) -> None:
    interval = proportion_interval(count, trials)
    assert interval is not None
    print(f"{what}: {count} of {trials} ({100 * interval.low:.1f} to {100 * interval.high:.1f} %)", flush=True)


def same(pool: Recorded, judged: Judged, trials: int, rng: np.random.Generator) -> None:
    passed = sum(compared(*draw(pool, rng, REPEAT), judged).passes for _ in range(trials))
    tell(f"equal, {REPEAT} runs: passes", passed, trials)


def everywhere(pool: Recorded, judged: Judged, trials: int, rng: np.random.Generator) -> None:
    caught = 0
    for _ in range(trials):
        runs = compared(*draw(pool, rng, REPEAT), judged).advised or REPEAT
        base, new = draw(pool, rng, runs)
        caught += not compared(base, planted(new, lambda name: True), judged).passes
    tell("3 % less in all scenarios, advised runs: fails", caught, trials)


def each_alone(pool: Recorded, judged: Judged, trials: int, rng: np.random.Generator) -> None:
    """The row of goodput of each scenario, with the number of runs that it advises, and a regression there."""
    error = ALPHA / len(judged)
    for name, limit in judged:
        if limit.metric != "goodput":
            continue
        values = np.array(pool.scenarios[name].values["goodput"])
        caught, runs = 0, []
        for _ in range(trials):
            order = rng.permutation(values)
            advised = judge(name, limit, order[:REPEAT], order[REPEAT : 2 * REPEAT], error).advised
            if advised is None or advised > MANY_RUNS:
                continue
            runs.append(advised)
            order = rng.permutation(values)
            row = judge(name, limit, order[:advised], PLANTED * order[advised : 2 * advised], error)
            caught += row.verdict == "fail"
        if runs:
            tell(f"{limit.written}, 3 % less in {name}, {np.median(runs):.0f} runs advised: fails", caught, len(runs))
        if many := trials - len(runs):
            print(
                f"{limit.written}, {name}: in {many} of {trials} trials more than {MANY_RUNS} runs are advised",
                flush=True,
            )


def simulated(algorithm: str, trials: int) -> None:
    caught, losses, runs = 0, [], []
    for trial in range(trials):
        seed = 1_000_000 * (trial + 1)
        pilot = gate(algorithm, SLOW, ["goodput -2%"], names=STEADY, seed=seed, progress=False)
        losses += [row.change.estimate for row in pilot.rows]
        runs.append(pilot.advised or REPEAT)
        report = gate(algorithm, SLOW, ["goodput -2%"], names=STEADY, seed=seed, repeat=runs[-1], progress=False)
        caught += len(report.failed) == len(STEADY)
    loss, advised = 100 * np.median(losses), np.median(runs)
    tell(f"{SLOW}, {loss:.1f} % in {' and '.join(STEADY)}, {advised:.0f} runs advised: fails in both", caught, trials)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algorithm", default="bbr3")
    parser.add_argument("--pool", type=int, default=1000, help="runs of each scenario; default %(default)s")
    parser.add_argument("--trials", type=int, default=200, help="default %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn; default %(default)s")
    parser.add_argument("--out", type=Path, default=Path("out/gate-pool"), help="keeps the pool; default %(default)s")
    given = parser.parse_args()
    if given.pool < 2 * MANY_RUNS or given.trials < 1:
        parser.error(f"a pool has at least {2 * MANY_RUNS} runs, and there is at least one trial")
    pool = record(given.algorithm, given.out, repeat=given.pool)
    judged, rng = applied([], find()), np.random.default_rng(given.seed)
    print(
        f"{given.algorithm}, {len(judged)} rows, a pool of {given.pool} runs of each of {len(pool.scenarios)} scenarios"
    )
    same(pool, judged, given.trials, rng)
    everywhere(pool, judged, given.trials, rng)
    each_alone(pool, judged, given.trials, rng)
    each_alone(pool, applied(["p95 goodput -2%"], find()), given.trials, rng)
    simulated(given.algorithm, given.trials // 4)


if __name__ == "__main__":
    main()
