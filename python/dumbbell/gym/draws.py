"""What keys of an experiment are drawn from for every episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Distribution: TypeAlias = dict[str, list[Any]]
"""What a key is drawn from, as :func:`uniform`, :func:`log_uniform` and :func:`choice` make it."""


def uniform(low: str | float, high: str | float) -> Distribution:
    """Evenly between two amounts of one unit, for example ``uniform("1mbit", "6mbit")``."""
    return {"uniform": [low, high]}


def log_uniform(low: str | float, high: str | float) -> Distribution:
    """Every factor is as likely anywhere between two amounts of one unit."""
    return {"log_uniform": [low, high]}


def choice(*values: str | float | bool | list[Any] | Mapping[str, Any]) -> Distribution:
    """One of some values, which may be anything that the key may have: also lists and tables."""
    return {"choice": list(values)}


AURORA: Mapping[str, Distribution] = {
    "path.rate": uniform("1.2mbit", "6mbit"),
    "path.rtt": uniform("50ms", "500ms"),
    "path.buffer": log_uniform("2packets", "3000packets"),
    "path.loss": uniform(0.0, 0.05),
}
"""The ranges in which Aurora was trained (Jay et al., ICML 2019, table 1), for an experiment with a ``[path]``."""
