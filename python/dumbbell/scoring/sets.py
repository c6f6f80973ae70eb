"""The experiments of scores: those to learn from, and others for the verdict. docs/scores.md lists them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell import api
from dumbbell.fairness import jain

SECONDS = 20
"""Length of an experiment; the first quarter is not counted."""
MSS, PACKET = 1448, 1500


@dataclass(frozen=True)
class Case:
    """One experiment: a path, and who is on it beside the candidate."""

    name: str
    path: Mapping[str, Any]
    company: str = ""
    """Nobody, ``"itself"`` or ``"cubic"``, three seconds later."""
    seed: int = 1

    @property
    def parts(self) -> tuple[str, ...]:
        """What it tells."""
        fairness = {"": (), "itself": ("fair_to_itself",), "cubic": ("fair_to_cubic",)}[self.company]
        return ("goodput", "delay", "loss", *fairness)

    def measure(self, algorithm: Any, *, max_memory: str) -> tuple[str, dict[str, float]]:
        """The exact name of the algorithm, and each part from 0 to 1."""
        flows: list[dict[str, Any]] = [{"cc": algorithm, "label": "candidate"}]
        if self.company:
            other = algorithm if self.company == "itself" else self.company
            flows.append({"cc": other, "label": "other", "start": "3s"})
        document = {
            "duration": f"{SECONDS}s",
            "warmup": f"{SECONDS // 4}s",
            "seed": self.seed,
            "record": {"series": False},
            "path": dict(self.path),
            "flows": flows,
        }
        result = api.run(document, max_memory=max_memory)
        rows = result.flows.rows()
        own = rows[0]
        capacity = result.links.rows()[0]["capacity_mbps"] * MSS / PACKET
        rates = [row["goodput_mbps"] for row in rows]
        rtt = own["mean_rtt_ms"]
        resolved = max(own["sent"], 1)
        excess = max(own["lost"] / resolved - float(self.path.get("loss", 0)), 0.0)
        found = {
            "goodput": min(math.fsum(rates) / capacity, 1.0),
            "delay": min(own["base_rtt_ms"] / rtt, 1.0) if rtt is not None and rtt > 0 else 0.0,
            "loss": max(1 - excess, 0.0),
        }
        if self.company:
            index = jain(rates) or 0.0
            # Two who share have an index of a half where one of them has all.
            found[self.parts[-1]] = max(2 * index - 1, 0.0)
        return own["algorithm"], found


def _path(rate: str | list[list[str]], rtt: str, buffer: str, **others: Any) -> dict[str, Any]:
    return {"rate": rate, "rtt": rtt, "buffer": buffer, **others}


SETS: Mapping[str, tuple[Case, ...]] = {
    "standard": (
        Case("20 Mbit/s", _path("20mbit", "40ms", "1bdp")),
        Case("a short buffer", _path("50mbit", "20ms", "0.25bdp"), seed=2),
        Case("a long buffer", _path("8mbit", "60ms", "5bdp"), seed=3),
        Case("losses", _path("20mbit", "50ms", "1bdp", loss=0.005), seed=4),
        Case("a long way", _path("30mbit", "180ms", "1bdp"), seed=5),
        Case(
            "a rate with steps", _path([["0s", "20mbit"], ["8s", "6mbit"], ["14s", "20mbit"]], "40ms", "80kB"), seed=6
        ),
        Case("with itself", _path("20mbit", "40ms", "1bdp"), "itself", seed=7),
        Case("with itself, a long buffer", _path("10mbit", "80ms", "3bdp"), "itself", seed=8),
        Case("with CUBIC", _path("20mbit", "40ms", "1bdp"), "cubic", seed=9),
        Case("with CUBIC, a long buffer", _path("10mbit", "60ms", "4bdp"), "cubic", seed=10),
    ),
    "verdict": (
        Case("12 Mbit/s", _path("12mbit", "30ms", "1.5bdp"), seed=101),
        Case("a short buffer", _path("40mbit", "35ms", "0.3bdp"), seed=102),
        Case("a long buffer", _path("5mbit", "90ms", "6bdp"), seed=103),
        Case("losses", _path("25mbit", "70ms", "0.8bdp", loss=0.01), seed=104),
        Case("a long way", _path("15mbit", "240ms", "1bdp"), seed=105),
        Case(
            "a rate with steps", _path([["0s", "9mbit"], ["7s", "24mbit"], ["13s", "9mbit"]], "55ms", "100kB"), seed=106
        ),
        Case("with itself", _path("30mbit", "25ms", "0.8bdp"), "itself", seed=107),
        Case("with itself, a long buffer", _path("6mbit", "50ms", "4bdp"), "itself", seed=108),
        Case("with CUBIC", _path("35mbit", "30ms", "1.2bdp"), "cubic", seed=109),
        Case("with CUBIC, a long buffer", _path("8mbit", "100ms", "3bdp"), "cubic", seed=110),
    ),
}
"""The sets by name. No experiment is in both."""
