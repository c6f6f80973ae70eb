"""What one run of the family's experiments shows, and how runs are put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from dumbbell import metrics
from dumbbell.results import setting_text

if TYPE_CHECKING:
    from dumbbell.papers.part import Ran

FOLDER = Path(__file__).parent

PAYLOAD = 1448 / 1500
"""Goodput over throughput where nothing is retransmitted."""

NAMES = {"bbr": "v1", "bbr2": "v2", "bbr3": "v3", "cubic": "CUBIC", "reno": "Reno"}
"""Algorithms as the page calls them."""


@dataclass(frozen=True)
class Run:
    """One seed of one setting."""

    settings: Mapping[str, str | None]
    """What the sweep set, in words."""
    rates: Sequence[float]
    """Goodput of each flow in Mbit/s."""
    labels: Sequence[str]
    loss: float
    """Packets of all flows that the network dropped, of those sent."""
    capacity: float
    """Goodput in Mbit/s that the bottleneck can carry."""
    queue_ms: float
    """Mean queue of the bottleneck as a delay."""
    marked: float
    """Packets marked of those that reached the bottleneck."""

    @property
    def utilisation(self) -> float:
        """Goodput of all flows over what the bottleneck can carry."""
        return sum(self.rates) / self.capacity

    @property
    def jain(self) -> float:
        """Jain's index."""
        return metrics.jain(self.rates) or 0.0

    def share(self, label: str) -> float:
        """Mean goodput of the flows with a label over that of all flows: 1 is fair."""
        chosen = [rate for rate, name in zip(self.rates, self.labels, strict=True) if name == label]
        return fmean(chosen) / max(fmean(self.rates), 1e-9)


Runs = list[Run]


def measure(ran: Ran) -> Runs:
    """One :class:`Run` a point, in the file's order."""
    links = ran.sweep.links.to_polars().filter(pl.col("name") == "bottleneck")
    flows = ran.sweep.flows.to_polars()
    runs = []
    for index, meta in enumerate(ran.sweep.points):
        link: dict[str, Any] = links.filter(pl.col("point") == index).row(0, named=True)
        own = flows.filter(pl.col("point") == index)
        runs.append(
            Run(
                settings={key: setting_text(value) for key, value in meta.settings.items()},
                rates=own["goodput_mbps"].to_list(),
                labels=own["label"].cast(pl.String).to_list(),
                loss=int(own["network_drops"].sum()) / max(int(own["sent"].sum()), 1),
                capacity=link["capacity_mbps"] * PAYLOAD,
                queue_ms=8 * link["mean_queue_bytes"] / (1e3 * link["capacity_mbps"]),
                marked=link["marks"] / max(link["arrivals"], 1),
            )
        )
    return runs


def where(runs: Iterable[Run], **settings: str) -> Runs:
    """The runs with these settings; a keyword is the last part of a swept key with ``_`` in front of flow numbers.

    ``where(runs, cc_0="bbr", buffer="1bdp")`` looks at ``flows[0].cc`` and ``path.buffer``.
    """

    def matches(run: Run) -> bool:
        return all(run.settings.get(key_of(run, name)) == value for name, value in settings.items())

    return [run for run in runs if matches(run)]


def key_of(run: Run, name: str) -> str:
    """The swept key that a keyword of :func:`where` means."""
    stem, _, number = name.rpartition("_")
    wanted = f"flows[{number}].{stem}" if stem and number.isdigit() else f".{name}"
    return next((key for key in run.settings if key == wanted or key.endswith(wanted)), wanted)


def values(runs: Iterable[Run], name: str) -> list[str]:
    """The settings that occur under a keyword of :func:`where`, in the file's order."""
    return list(dict.fromkeys(str(run.settings[key_of(run, name)]) for run in runs))


def bdps(text: str) -> float:
    """``0.5`` of ``0.5bdp``."""
    return float(text.removesuffix("bdp"))


def percent(text: str) -> float:
    """``0.001`` of ``0.1%``."""
    return float(text.removesuffix("%")) / 100


def percent_used(run: Run) -> float:
    """Goodput over what the link can carry, in percent."""
    return 100 * run.utilisation


def percent_lost(run: Run) -> float:
    """Loss in percent."""
    return 100 * run.loss


def queue_ms(run: Run) -> float:
    """Mean queue as a delay in ms."""
    return run.queue_ms


def jain(run: Run) -> float:
    """Jain's index."""
    return run.jain


def goodput(run: Run) -> float:
    """Goodput of all flows in Mbit/s."""
    return sum(run.rates)


def pairs(ours: Runs, theirs: Runs) -> list[tuple[Run, Run]]:
    """Runs of two algorithms with the same seed and buffer."""
    return list(zip(ours, theirs, strict=True))
