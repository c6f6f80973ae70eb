"""What an algorithm did in the scenarios of a gate: in memory, and as ``gate.json``, with which later gates compare."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from dumbbell import storage
from dumbbell.check.scenarios import METRICS
from dumbbell.parallel import engine_digest
from dumbbell.storage import ResultError

FILE = "gate.json"
"""The file of a folder of a gate that has its numbers."""

FORMAT = 1

LARGEST = 1e300
"""No number of a record is larger."""

_REMEDY = "record it again: dumbbell check gate ALGORITHM -o DIR"


@dataclass(frozen=True)
class Runs:
    """The repetitions of a scenario."""

    digest: str
    """What they are of, without the algorithm."""
    seeds: Sequence[int]
    values: Mapping[str, Sequence[float]]
    """The values of each metric, one for each seed."""

    def first(self, repeat: int) -> Runs:
        """The first so many repetitions."""
        values = {name: numbers[:repeat] for name, numbers in self.values.items()}
        return Runs(self.digest, self.seeds[:repeat], values)


@dataclass(frozen=True)
class Recorded:
    """What an algorithm did."""

    algorithm: str
    """As it was asked for."""
    exact: str
    """The exact name of the algorithm."""
    transport: str
    engine: str
    """The digest of the engine that ran it."""
    scenarios: Mapping[str, Runs]

    @property
    def repeat(self) -> int:
        """How many repetitions each scenario has at least."""
        return min(len(runs.seeds) for runs in self.scenarios.values())

    def first(self, names: Sequence[str], repeat: int) -> Recorded:
        """Its first so many repetitions of these scenarios."""
        chosen = {name: self.scenarios[name].first(repeat) for name in names}
        return Recorded(self.algorithm, self.exact, self.transport, self.engine, chosen)

    def to_json(self) -> dict[str, Any]:
        """For JSON, which has no infinite numbers: ``null`` takes their place."""
        return {
            "algorithm": self.algorithm,
            "exact_name": self.exact,
            "transport": self.transport,
            "engine": self.engine,
            "scenarios": {
                name: {
                    "digest": runs.digest,
                    "seeds": list(runs.seeds),
                    "values": {
                        metric: [value if math.isfinite(value) else None for value in values]
                        for metric, values in runs.values.items()
                    },
                }
                for name, runs in self.scenarios.items()
            },
        }


def content(recorded: Recorded, outcome: Mapping[str, Any] | None) -> bytes:
    """The content of ``gate.json``: what was run, a scenario a line, and what came of it."""
    whole = recorded.to_json()
    lines = [f"    {json.dumps(name)}: {json.dumps(runs)}" for name, runs in whole.pop("scenarios").items()]
    head = json.dumps({"format": FORMAT, **whole, "gate": outcome}, indent=2, allow_nan=False)
    return (head[:-2] + ',\n  "scenarios": {\n' + ",\n".join(lines) + "\n  }\n}\n").encode()


def is_recorded(text: str) -> bool:
    """Whether a text names what a gate has recorded: its folder, or its file."""
    path = Path(text)
    return path.is_dir() or path.name == FILE


def read(text: str) -> Recorded:
    """Reads what a gate has recorded.

    Raises:
        ResultError: It is not there, or damaged, or of a newer version.
    """
    path = Path(text) / FILE if Path(text).is_dir() else Path(text)
    try:
        found = storage.read_json(path)
    except ResultError as error:
        raise ResultError(error.problem, _REMEDY) from None
    if found.get("format") != FORMAT:
        _refuse(path, "format", f"this version reads {FORMAT}, found {found.get('format')!r}")
    words = {key: _text(path, found, key) for key in ("algorithm", "exact_name", "transport", "engine")}
    scenarios = found.get("scenarios")
    if not isinstance(scenarios, dict) or not scenarios:
        _refuse(path, "scenarios", "a table of scenarios is missing")
    runs = {name: _runs(path, f"scenarios.{name}", one) for name, one in scenarios.items()}
    return Recorded(words["algorithm"], words["exact_name"], words["transport"], words["engine"], runs)


def is_of_another_engine(recorded: Recorded) -> bool:
    """Whether an engine of other sources has run it."""
    return recorded.engine != engine_digest()


def _runs(path: Path, key: str, found: Any) -> Runs:
    if not isinstance(found, dict):
        _refuse(path, key, "it must be a table")
    seeds, values = found.get("seeds"), found.get("values")
    if not isinstance(seeds, list) or not seeds or not all(type(seed) is int for seed in seeds):
        _refuse(path, f"{key}.seeds", "it must be a list of whole numbers")
    if not isinstance(values, dict):
        _refuse(path, f"{key}.values", "it must be a table")
    for metric, numbers in values.items():
        place = f"{key}.values.{metric}"
        if metric not in METRICS:
            _refuse(path, place, f"there is no such metric; there are {', '.join(METRICS)}")
        if not isinstance(numbers, list) or len(numbers) != len(seeds):
            _refuse(path, place, f"it must be a list of {len(seeds)} numbers, one for each seed")
        if not all(number is None or (type(number) in (int, float) and 0 <= number <= LARGEST) for number in numbers):
            _refuse(path, place, f"numbers must lie between 0 and {LARGEST:g}, or be null")
    return Runs(
        _text(path, found, "digest"),
        seeds,
        {metric: [math.inf if one is None else float(one) for one in numbers] for metric, numbers in values.items()},
    )


def _text(path: Path, found: Mapping[str, Any], key: str) -> str:
    value = found.get(key)
    if not isinstance(value, str):
        _refuse(path, key, "it must be a text")
    return value


def _refuse(path: Path, key: str, reason: str) -> NoReturn:
    raise ResultError(f"{path}: {key}: {reason}", _REMEDY)
