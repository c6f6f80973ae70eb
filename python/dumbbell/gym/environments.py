"""Worlds as environments of Gymnasium and PettingZoo."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from pettingzoo import ParallelEnv as PettingZooParallelEnv

from dumbbell.experiment import Source
from dumbbell.gym import worlds
from dumbbell.gym.draws import Distribution
from dumbbell.gym.worlds import Agent, Flow

Seen = NDArray[np.float32]
Action = NDArray[np.float32]


def _spaces(made: Any) -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    seen = gymnasium.spaces.Box(-1e9, 1e9, (made.width,), np.float32)
    return seen, gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)


class Env(gymnasium.Env[Seen, Action]):
    """An agent that governs one flow of an experiment.

    Args:
        experiment: Path of an experiment file, or a dictionary of the same shape.
        flow: The flow that the agent governs, by its number or its label. Its own algorithm does not run.
        interval: Length of a monitor interval: round trips as they are when it begins (``"1rtt"``), the shortest so far
            (``"1min_rtt"``), or a time (``"20ms"``).
        action: ``"rate"``: an action a of -1 to 1 multiplies the pacing rate by 1 + scale * a, or divides it by
            1 - scale * a where a is negative. ``"window"``: it multiplies the window by 2 ** (scale * a).
        scale: How far an action of 1 goes; 0.25 for the rate, 2 for the window, as in Orca.
        start_rate: Rate at which an agent begins that acts on its rate; an initial window a round trip without it.
        observation: What it sees of an interval: ``"aurora"``, ``"orca"``, or names of
            :func:`dumbbell.gym.observations`.
        history: How many intervals it sees, the oldest first; 10 for ``"aurora"``, else 1.
        reward: What an interval earns: ``"aurora"``, ``"orca"``, or a weight for each of some observations.
        draw: What keys of the experiment are drawn from for every episode.
        set: Values in place of the experiment's.

    The episode ends with the run (``duration``), as truncated. ``reset(seed=...)`` draws keys and random events anew.
    ``info`` is empty; :meth:`features` tells everything that is known of the last interval.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium has it

    def __init__(
        self,
        experiment: Source,
        *,
        flow: Flow = 0,
        interval: str = "1rtt",
        action: str = "rate",
        scale: float | None = None,
        start_rate: str | None = None,
        observation: str | Sequence[str] = "aurora",
        history: int | None = None,
        reward: str | Mapping[str, float] = "aurora",
        draw: Mapping[str, Distribution] | None = None,
        set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    ) -> None:
        self.agent = Agent(
            interval=interval,
            action=action,
            scale=scale,
            start_rate=start_rate,
            observation=observation,
            history=history,
            reward=reward,
        )
        self._worlds = worlds.make(experiment, self.agent, flows=[flow], draw=draw, set=set, count=1, threads=1)
        self._act = self._worlds.act
        self.observation_space, self.action_space = cast(tuple[Any, Any], _spaces(self._worlds))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, dict[str, Any]]:
        """Begins another episode; the connection is there then, and one interval has passed."""
        if seed is not None:
            super().reset(seed=seed)
        self._worlds.reset(seed)
        return np.frombuffer(self._worlds.state()[0], np.float32).copy(), {}

    def step(self, action: Action) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Acts, and lets one interval pass."""
        seen, reward, is_over = self._act(action.item())
        return np.frombuffer(bytearray(seen), np.float32), reward, False, is_over, {}

    def features(self) -> dict[str, float]:
        """Everything that is known of the last interval, by name."""
        return dict(self._worlds.features(0, 0))

    @property
    def time_s(self) -> float:
        """Simulated seconds since the episode began."""
        return self._worlds.time_s(0)


class VectorEnv(gymnasium.vector.VectorEnv[Seen, Action, Any]):
    """Many worlds of one kind in this process, on all cores. Other arguments are those of :class:`Env`.

    Args:
        experiment: As in :class:`Env`.
        num_envs: How many worlds.
        threads: How many threads step them; without it as many as the process may use.

    A world that is over begins again with the next step, which earns nothing (``AutoresetMode.NEXT_STEP``).
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - as Gymnasium has it

    def __init__(
        self,
        experiment: Source,
        num_envs: int,
        *,
        threads: int | None = None,
        flow: Flow = 0,
        interval: str = "1rtt",
        action: str = "rate",
        scale: float | None = None,
        start_rate: str | None = None,
        observation: str | Sequence[str] = "aurora",
        history: int | None = None,
        reward: str | Mapping[str, float] = "aurora",
        draw: Mapping[str, Distribution] | None = None,
        set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    ) -> None:
        self.agent = Agent(
            interval=interval,
            action=action,
            scale=scale,
            start_rate=start_rate,
            observation=observation,
            history=history,
            reward=reward,
        )
        threads = _cores() if threads is None else threads
        made = worlds.make(experiment, self.agent, flows=[flow], draw=draw, set=set, count=num_envs, threads=threads)
        self._worlds = made
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = _spaces(made)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._never = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Begins an episode in every world; those of one seed differ from each other."""
        if isinstance(seed, list):
            raise ValueError("worlds of a vector have one seed, from which each has its own; write an integer")
        self._worlds.reset(seed)
        return self._seen(self._worlds.state()[0]), {}

    def step(self, actions: Action) -> tuple[Seen, Any, Any, Any, dict[str, Any]]:
        """Every agent acts, and one interval of its own passes in every world."""
        chosen = np.ascontiguousarray(actions, np.float32).tobytes()
        seen, rewards, over = self._worlds.step(chosen)
        truncated = np.frombuffer(over, np.bool_).copy()
        return self._seen(seen), np.frombuffer(rewards, np.float64).copy(), self._never.copy(), truncated, {}

    def _seen(self, seen: bytes) -> Seen:
        return np.frombuffer(bytearray(seen), np.float32).reshape(self.num_envs, -1)

    def features(self, world: int) -> dict[str, float]:
        """Everything that is known of the last interval of a world, by name."""
        return dict(self._worlds.features(world, 0))


class ParallelEnv(PettingZooParallelEnv[str, Seen, Action]):  # type: ignore[misc]  # it has no types
    """Several agents in one network, who act at the same time. Other arguments are those of :class:`Env`.

    Args:
        experiment: As in :class:`Env`.
        flows: The flows that agents govern. An agent is called ``flow_0`` by the number, or by the label, of its flow.

    An interval in round trips is as long as that of the agent with the longest round trip.
    """

    metadata: dict[str, Any] = {"render_modes": [], "name": "dumbbell_v0"}  # noqa: RUF012 - as Gymnasium has it

    def __init__(
        self,
        experiment: Source,
        flows: Sequence[Flow],
        *,
        interval: str = "1rtt",
        action: str = "rate",
        scale: float | None = None,
        start_rate: str | None = None,
        observation: str | Sequence[str] = "aurora",
        history: int | None = None,
        reward: str | Mapping[str, float] = "aurora",
        draw: Mapping[str, Distribution] | None = None,
        set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    ) -> None:
        self.agent = Agent(
            interval=interval,
            action=action,
            scale=scale,
            start_rate=start_rate,
            observation=observation,
            history=history,
            reward=reward,
        )
        self._worlds = worlds.make(experiment, self.agent, flows=flows, draw=draw, set=set, count=1, threads=1)
        self.possible_agents = [f"flow_{flow}" for flow in flows]
        self.agents: list[str] = []
        spaces = [_spaces(self._worlds) for _ in flows]
        self.observation_spaces = {name: seen for name, (seen, _) in zip(self.possible_agents, spaces, strict=True)}
        self.action_spaces = {name: act for name, (_, act) in zip(self.possible_agents, spaces, strict=True)}

    def observation_space(self, agent: str) -> gymnasium.spaces.Box:
        """What an agent sees."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Box:
        """What an agent does."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, dict[str, Any]]]:
        """Begins another episode; all connections are there then, and one interval has passed."""
        self._worlds.reset(seed)
        self.agents = list(self.possible_agents)
        return self._seen(self._worlds.state()[0]), {name: {} for name in self.agents}

    def step(
        self, actions: dict[str, Action]
    ) -> tuple[dict[str, Seen], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """All agents act, and one interval passes."""
        chosen = np.array([np.asarray(actions[name]).item() for name in self.agents], np.float32).tobytes()
        seen, rewards, over = self._worlds.step(chosen)
        names, is_over = self.agents, bool(over[0])
        earned = dict(zip(names, np.frombuffer(rewards, np.float64).tolist(), strict=True))
        if is_over:
            self.agents = []
        return (
            self._seen(seen),
            earned,
            dict.fromkeys(names, False),
            dict.fromkeys(names, is_over),
            {name: {} for name in names},
        )

    def _seen(self, seen: bytes) -> dict[str, Seen]:
        rows = np.frombuffer(bytearray(seen), np.float32).reshape(len(self.possible_agents), -1)
        return dict(zip(self.possible_agents, rows, strict=True))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
