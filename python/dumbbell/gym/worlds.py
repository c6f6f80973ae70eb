"""From an experiment to worlds of the engine."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dumbbell import _core
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
            ValueError: A number is none.
        """
        _check_finite("scale", self.scale)
        _check_finite("reward", self.reward)
        seen = self.observation if isinstance(self.observation, str) else list(self.observation)
        earned = self.reward if isinstance(self.reward, str) else dict(self.reward)
        return json.dumps({**self.__dict__, "observation": seen, "reward": earned})

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
    _check_finite("draw", draw)
    drawn = json.dumps(dict(draw or {}))
    try:
        return _core.Worlds(text, is_json, name, settings, names, agent.as_json(), drawn, count, threads)
    except _core.ScenarioError as error:
        raise _core.ScenarioError(printable(str(error))) from None


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
