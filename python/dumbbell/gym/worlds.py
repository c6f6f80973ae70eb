"""From an experiment to worlds of the engine."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dumbbell import _core, arguments
from dumbbell import experiment as experiments
from dumbbell.gym.draws import Distribution
from dumbbell.printable import printable

Flow: TypeAlias = int | str
"""A flow by its number or its label."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """What an agent sees, earns and does; see :class:`dumbbell.gym.Env`."""

    interval: str
    action: str
    scale: float | None
    start_rate: str | None
    observation: str | Sequence[str]
    history: int | None
    reward: str | Mapping[str, float]

    def as_json(self) -> str:
        """For the engine.

        Raises:
            TypeError: An argument is of a type that it cannot be.
            ValueError: A number is not finite.
        """
        given = {
            "interval": arguments.text("interval", self.interval, '"1rtt" or "20ms"'),
            "action": arguments.text("action", self.action, '"rate"'),
            "scale": None if self.scale is None else arguments.number("scale", self.scale, 0.25),
            "start_rate": None if self.start_rate is None else arguments.text("start_rate", self.start_rate, '"1mbit"'),
            "observation": self.observation
            if isinstance(self.observation, str)
            else arguments.texts("observation", self.observation, '"aurora" or ["sent", "rtt_ms"]'),
            "history": None if self.history is None else arguments.whole("history", self.history, 10),
            "reward": self.reward if isinstance(self.reward, str) else self._weights(self.reward),
        }
        _check_finite("scale", given["scale"])
        _check_finite("reward", given["reward"])
        return json.dumps(given)

    @staticmethod
    def _weights(reward: Mapping[str, float]) -> dict[str, float]:
        weights = arguments.settings("reward", reward, '{"delivery_rate_mbps": 1, "rtt_ms": -0.01}')
        return {name: arguments.number(f"reward[{name!r}]", weight, -0.01) for name, weight in weights.items()}

    def as_policy(self) -> dict[str, Any]:
        """What a trained agent has to know."""
        known = json.loads(self.as_json())
        del known["reward"]
        return {key: value for key, value in known.items() if value is not None}


def make(
    source: experiments.Source,
    agent: Agent,
    *,
    flows: Sequence[Flow],
    draw: Mapping[str, Distribution] | None,
    set: Mapping[str, Any] | None,  # noqa: A002 - the name of the command line's option
    count: int,
    threads: int,
) -> _core.Worlds:
    """Worlds of an experiment; what is wrong with it is said as ``dumbbell run`` says it."""
    text, is_json, name, settings = experiments.written(source, set=set)
    names = [str(flow) for flow in flows]
    given = arguments.settings("draw", draw, '{"path.rate": gym.uniform("1mbit", "6mbit")}')
    _check_finite("draw", given)
    drawn = json.dumps({key: _in_words(distribution) for key, distribution in given.items()})
    count, threads = arguments.count("num_envs", count, 16), arguments.count("threads", threads, 2)
    try:
        return _core.Worlds(text, is_json, name, settings, names, agent.as_json(), drawn, count, threads)
    except _core.ScenarioError as error:
        raise _core.ScenarioError(printable(str(error))) from None


def _in_words(distribution: Distribution) -> Distribution:
    """A distribution whose tables and lists to choose from are written as the values of settings are."""
    if not isinstance(distribution, Mapping) or not isinstance(distribution.get("choice"), list | tuple):
        return distribution
    values = [experiments.toml(one) if isinstance(one, Mapping | list) else one for one in distribution["choice"]]
    return {**distribution, "choice": values}


def _check_finite(name: str, value: object) -> None:
    """Refuses what is no number in JSON."""
    if isinstance(value, Mapping):
        for key, of_key in value.items():
            _check_finite(f"{name}[{key!r}]", of_key)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _check_finite(f"{name}[{number}]", item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} = {value}: it must be a finite number")


def observations() -> dict[str, str]:
    """All that an agent may see of an interval: names and meanings."""
    return {entry["name"]: entry["meaning"] for entry in json.loads(_core.observations())}
