"""The scenarios of a gate: experiments with an algorithm to examine, and what is measured of their runs."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell import _core, experiment
from dumbbell.check.quantities import Quantity, measured
from dumbbell.check.subject import SUBJECT, put_subject, senders
from dumbbell.check.table import files_of
from dumbbell.fairness import jain
from dumbbell.meant import meant
from dumbbell.printable import one_line

if TYPE_CHECKING:
    from dumbbell.results import Result


@dataclass(frozen=True)
class Metric:
    """What is measured of a run."""

    name: str
    unit: str
    meaning: str
    quantity: Quantity | None
    """Of the flows and traffic that are examined; ``None`` of fairness, which looks at all flows."""


METRICS: Mapping[str, Metric] = {
    one.name: one
    for one in (
        Metric("goodput", "Mbit/s", "payload that arrived, of all that is examined", Quantity(
            f"sum({SUBJECT}.goodput_mbps)")),
        Metric("delay", "ms", "95th percentile of the round-trip times, mean of the flows", Quantity(
            f"mean({SUBJECT}.p95_rtt_ms)")),
        Metric("loss", "points", "percent of the packets sent that the network lost or dropped", Quantity(
            f"100 * sum({SUBJECT}.network_drops) / sum({SUBJECT}.sent)")),
        Metric("fairness", "", "Jain's index of the goodput of all flows", None),
        Metric("completion", "s", "95th percentile of the times that transfers took", Quantity(
            f"p95({SUBJECT}_transfers.fct_s)")),
    )
}  # fmt: skip
"""The metrics by their names."""

WITHOUT: Mapping[str, float] = {"delay": math.inf, "completion": math.inf}
"""What a metric is where nothing arrived; 0 for the others."""


@dataclass(frozen=True)
class Scenario:
    """A file of a scenario: one run, in which flows or traffic have the label ``subject``."""

    file: Path
    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The stem of its file without the number in front."""
        return _name(self.file)

    @cached_property
    def metrics(self) -> Sequence[str]:
        """What can be measured in it."""
        flows = sum(int(entry.get("count", 1)) for entry in self.document.get("flows", ()))
        transfers = any(entry.get("label") == SUBJECT for entry in self.document.get("traffic", ()))
        absent = {"fairness"} if flows < 2 else set()
        return [name for name in METRICS if name not in (absent if transfers else absent | {"completion"})]

    def points(self, algorithm: Any, *, repeat: int, seed: int | None, transport: str) -> Sequence[_core.Point]:
        """Its repetitions with an algorithm, as ``cc`` takes it, in the place of the one that is examined."""
        document: dict[str, Any] = copy.deepcopy(dict(self.document))
        put_subject(document, algorithm, transport)
        document.setdefault("vary_rtt", "1packet")
        document.setdefault("record", {"series": False})
        document["sweep"] = {"repeat": repeat}
        return experiment.load(document, seed=seed, name=str(self.file)).points

    @cached_property
    def digest(self) -> str:
        """Equal for scenarios that ask the same of an algorithm."""
        return self.points("reno", repeat=1, seed=1, transport="tcp")[0].content_hash

    def values(self, result: Result) -> dict[str, float]:
        """What was measured of a run of it."""
        return {name: _value(METRICS[name], result) for name in self.metrics}


def find() -> list[Scenario]:
    """The scenarios of the package."""
    return read_scenarios(Path(__file__).parent / "scenarios")


def read_scenarios(folder: Path) -> list[Scenario]:
    """The scenarios in the files ``*.toml`` of a folder, by their names.

    Raises:
        ScenarioError: There are none, or one is wrong.
    """
    found: dict[str, Scenario] = {}
    for file in files_of(folder, "a scenario"):
        name = _name(file)
        if name in found:
            raise _core.ScenarioError(f"error: {found[name].file.name} is called `{name}`, too\n  --> {file}")
        found[name] = _read(file)
    return list(found.values())


def choose(scenarios: Sequence[Scenario], names: Sequence[str]) -> list[Scenario]:
    """The scenarios of these names, in their order; all without names.

    Raises:
        ValueError: There is none of a name.
    """
    known = {one.name: one for one in scenarios}
    for name in names:
        if name not in known:
            raise ValueError(f"there is no scenario `{name}`; {hint(name, list(known))}")
    return [one for one in scenarios if not names or one.name in names]


def hint(word: str, known: Sequence[str]) -> str:
    """What could have been meant by a word."""
    return meant(word, known) or f"there are {', '.join(known)}"


def _name(file: Path) -> str:
    return re.sub(r"^\d+[-_]", "", file.stem)


def _read(file: Path) -> Scenario:
    # Its reader tells what is wrong in it, with its line.
    loaded = experiment.load(file)
    if len(loaded.points) != 1:
        _refuse(file, "sweep", f"a scenario is one run, not a sweep of {len(loaded.points)}", "remove [sweep]")
    document = json.loads(_core.toml_as_json(file.read_text(encoding="utf-8")))
    if "include" in document:
        _refuse(file, "include", "a scenario stands in one file", "write what is included into it")
    if not any(entry.get("label") == SUBJECT for entry in senders(document)):
        _refuse(file, "flows", "nobody is examined", f'give a flow or traffic the label = "{SUBJECT}"')
    return Scenario(file, document)


def _refuse(file: Path, key: str, reason: str, remedy: str) -> None:
    raise _core.ScenarioError(f"error: {one_line(reason)}\n  --> {file} ({key})\n  help: {remedy}")


def _value(metric: Metric, result: Result) -> float:
    if metric.quantity is None:
        return jain(row["goodput_mbps"] for row in result.flows.rows()) or 0.0
    found = float(np.asarray(metric.quantity.evaluate(measured(result, metric.quantity.names)), dtype=float).ravel()[0])
    return WITHOUT.get(metric.name, 0.0) if math.isnan(found) else found
