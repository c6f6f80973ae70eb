"""Whether a run has time series, and what to do where it has none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dumbbell import _core

if TYPE_CHECKING:
    from dumbbell.results import Result


def check_samples(result: Result) -> None:
    """Refuses a run without time series."""
    if (why := why_no_samples(result)) is not None:
        raise ValueError(f"this run has no time series: {why}")


def why_no_samples(result: Result) -> str | None:
    """Why a run has no time series, and what to do about it; ``None`` for one that has."""
    if len(result.series):
        return None
    if not len(result.flows):
        return "those are of [[flows]], and this is [[traffic]] alone"
    experiment = json.loads(_core.toml_as_json(result.scenario_toml))
    record = experiment.get("record", {})
    if not record.get("series", True):
        return "set record.series = true in the experiment"
    every, whole = record.get("interval", "20ms"), experiment.get("duration", f"{result.meta.sim_s:g}s")
    return f"samples are {every} apart, and it takes {whole}; set a shorter record.interval in the experiment"
