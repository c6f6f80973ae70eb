"""The experiment that an attack is made on."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dumbbell import _core, experiment
from dumbbell.adversary.parts import ATTACKER

if TYPE_CHECKING:
    from dumbbell.adversary.parts import Part

OWN = Path(__file__).parent / "base.toml"
"""The experiment where nobody gives another."""

OTHER = "other"
"""The label of the flow beside the one that is examined."""

REPEAT = 3
"""Runs of an evaluation, with different seeds, of which the median counts."""


@dataclass(frozen=True)
class Base:
    """An experiment with one bottleneck, whose first flow is examined."""

    file: str
    document: Mapping[str, Any]
    """The experiment without a sweep."""
    rate_bps: float
    rtt_s: float
    duration_s: float
    measured_s: float

    @classmethod
    def read(cls, file: Path, algorithm: Any, beside: Any) -> Base:
        """The experiment in a file with an algorithm in its first flow, and perhaps a flow beside it.

        Raises:
            ScenarioError: It is wrong, or no experiment that an attack can be made on.
        """
        text = experiment._text(file)
        loaded = experiment.load_text(text.encode(), str(file), only_read=True)
        document: dict[str, Any] = json.loads(_core.toml_as_json(text))
        if len(loaded.points) != 1:
            _refuse(file, "sweep", "an attack is made on one run, and gives it seeds itself: leave it out")
        for key in ("include", "traffic"):
            if key in document:
                _refuse(file, key, "an attack is made on a [path] and [[flows]] that stand in one file")
        path = document.get("path")
        if path is None:
            _refuse(file, "path", "it is missing: an attack is made on the bottleneck of a [path]")
        rate, rtt = (_core.quantity(path[key]) if isinstance(path.get(key), str) else None for key in ("rate", "rtt"))
        if rate is None or rate[1] != "Mbit/s":
            _refuse(file, "path.rate", 'it must be one rate, such as "10mbit"')
        if rtt is None or rtt[1] != "ms":
            _refuse(file, "path.rtt", 'it must be one time, such as "40ms"')
        if "cc" not in document["flows"][0]:
            _refuse(file, "flows[0]", "the first flow is the one that is examined, and needs a `cc`")
        first = document["flows"][0]
        if first.get("count", 1) > 1:
            _refuse(file, "flows[0].count", "the first flow is the one that is examined: leave it out")
        if first.get("direction", "up") != "up":
            _refuse(file, "flows[0].direction", "the flow that is examined goes up, as the attacker's do: leave it out")
        if first.get("label") == ATTACKER:
            _refuse(file, "flows[0].label", f"`{ATTACKER}` is what flows of the attack are called: choose another")
        first["cc"] = algorithm
        if beside is not None:
            document["flows"].append({"cc": beside, "label": OTHER})
        seconds = [_core.seconds(document.get(key, "0s")) for key in ("warmup", "cooldown")]
        duration_s = _core.seconds(document.get("duration", "60s"))
        return cls(str(file), document, rate[0] * 1e6, rtt[0] / 1e3, duration_s, duration_s - sum(seconds))

    @property
    def tick_s(self) -> float:
        """What times of an attack are multiples of: at most a 400th of a round trip, a power of ten; 0.1 ms of 40."""
        return float(10.0 ** math.floor(math.log10(self.rtt_s / 400)))

    def refuse_beside(self, attacks: Sequence[str]) -> None:
        """Refuses what these attacks, or the same spread evenly, would write over."""
        for key in ("events", "loss"):
            if "losses" in attacks and key in self.document["path"]:
                _refuse(Path(self.file), f"path.{key}", "the attack `losses` writes it: leave it out")

    def attacked(self, parts: Iterable[Part]) -> dict[str, Any]:
        """The experiment with parts of an attack."""
        document: dict[str, Any] = copy.deepcopy(dict(self.document))
        for part in parts:
            part.put(document)
        return document


def _refuse(file: Path, key: str, reason: str) -> NoReturn:
    raise _core.ScenarioError(f"error: `{key}`: {reason}\n  --> {file} ({key})")
