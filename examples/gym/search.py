"""An agent that knows nothing learns to send over a path that loses packets: a cross-entropy search.

Its policy is linear. Run it with ``python examples/gym/search.py``. It needs ``pip install "dumbbell[gym]"``, takes
some seconds, and writes ``agent.npz``, which is an algorithm afterwards: ``dumbbell run examples/gym/agent.toml``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import dumbbell as db
from dumbbell import gym

PATH = {"rate": "6mbit", "rtt": "100ms", "buffer": "1bdp", "loss": 0.02}
WORLD = {"duration": "30s", "path": PATH, "flows": [{"cc": "reno"}]}
POPULATION, ELITE, GENERATIONS, STEPS = 32, 8, 30, 120


def search(seed: int = 1) -> tuple[gym.VectorEnv, np.ndarray]:
    """The best linear policy that was found: weights of what is seen, and a bias."""
    worlds = gym.VectorEnv(WORLD, POPULATION, history=3)
    rng = np.random.default_rng(seed)
    width = worlds.single_observation_space.shape[0]
    mean, spread = np.zeros(width + 1), np.ones(width + 1)
    for generation in range(GENERATIONS):
        # Each world has a candidate of its own, and random events that differ in every generation.
        candidates = rng.normal(mean, spread, (POPULATION, width + 1))
        seen, _ = worlds.reset(seed=generation)
        earned = np.zeros(POPULATION)
        for _ in range(STEPS):
            actions = np.sum(candidates[:, :-1] * seen, axis=1) + candidates[:, -1]
            seen, rewards, _, _, _ = worlds.step(actions[:, np.newaxis])
            earned += rewards
        elite = candidates[np.argsort(earned)[-ELITE:]]
        mean, spread = elite.mean(axis=0), elite.std(axis=0) + 0.3 * 0.9**generation
    return worlds, mean


def utility(cc: str | dict[str, str]) -> float:
    """Aurora's reward for a whole run of an algorithm, the mean of five seeds."""
    earned = []
    for seed in range(1, 6):
        flow = db.run({**WORLD, "flows": [{"cc": cc}]}, seed=seed).flows.rows()[0]
        packets_per_s = flow["goodput_mbps"] * 1e6 / (8 * 1448)
        earned.append(10 * packets_per_s - flow["mean_rtt_ms"] - 2000 * flow["lost_total"] / flow["sent_total"])
    return sum(earned) / len(earned)


def main() -> None:
    """Searches, writes the agent, and compares it with Reno and others."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "agent.npz")
    begin = time.perf_counter()
    worlds, best = search()
    gym.save_policy(target, worlds, [(best[np.newaxis, :-1], best[-1:])])
    print(f"searched for {time.perf_counter() - begin:.0f} s; {target} is an algorithm now")
    for name, cc in {"the agent": {"policy": str(target)}, "reno": "reno", "cubic": "cubic", "bbr": "bbr"}.items():
        print(f"{name:10} {utility(cc):7.0f}")


if __name__ == "__main__":
    main()
