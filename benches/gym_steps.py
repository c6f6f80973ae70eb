"""Measures how many steps a second and core the worlds of agents make, in the ranges in which Aurora was trained.

    python benches/gym_steps.py [--steps N]

CPU time of this process counts, so that the machine may be busy; the agents move their rates at random. PCC-RL's own
simulator, in which Aurora was trained, lets a step last half of the average latency of the one before: ``0.5rtt``, and
``0.5min_rtt`` where there is no queue.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from dumbbell import gym

WORLD: dict[str, Any] = {
    "duration": "1000000s",
    "path": {"rate": "3mbit", "rtt": "100ms", "buffer": "100packets", "loss": "0%"},
    "flows": [{"cc": "reno"}],
}
EPISODE = 400


def measured(worlds: int, steps: int, **keywords: Any) -> tuple[float, float]:
    """Steps a CPU second, and packets a step."""
    vector = gym.VectorEnv(WORLD, worlds, threads=1, start_rate="2.4mbit", scale=0.025, **keywords)
    actions = np.random.default_rng(1).normal(size=(steps, worlds, 1)).astype(np.float32)

    def go(after: Any) -> None:
        for number in range(steps):
            if number % EPISODE == 0:
                vector.reset(seed=number)
            vector.step(actions[number])
            after()

    begin = time.process_time()
    go(lambda: None)
    spent = time.process_time() - begin
    packets: list[float] = []
    go(lambda: packets.append(vector.features(0)["sent"]))
    return steps * worlds / spent, float(np.mean(packets))


def reset_us() -> float:
    """CPU time of a reset, the handshake and the first interval included."""
    env = gym.Env(WORLD, draw=gym.AURORA, start_rate="2.4mbit", interval="1min_rtt")
    begin = time.process_time()
    for seed in range(1_000):
        env.reset(seed=seed)
    return (time.process_time() - begin) * 1e3


def main() -> None:
    """Prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=4_000)
    steps = parser.parse_args().steps
    print("| worlds | interval | in a process | packets a step | steps a second and core |")
    print("| --- | --- | ---: | ---: | ---: |")
    for title, draw in (("3 Mbit/s, 100 ms", None), ("Aurora's ranges", gym.AURORA)):
        for interval in ("0.5min_rtt", "0.5rtt", "1min_rtt", "1rtt"):
            for worlds in (1, 16):
                rate, packets = measured(worlds, steps // worlds, draw=draw, interval=interval)
                print(f"| {title} | {interval} | {worlds} | {packets:.0f} | {rate:,.0f} |")
    print(f"\nA new episode takes {reset_us():.0f} us.")


if __name__ == "__main__":
    main()
