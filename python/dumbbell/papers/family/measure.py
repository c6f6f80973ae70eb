"""What one run of the family's experiments shows, and how runs are found."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

from dumbbell.papers.runs import Run, grouped, summed, total

FOLDER = Path(__file__).parent

PAYLOAD = 1448 / 1500
"""Goodput over throughput where nothing is retransmitted."""

NAMES = {"bbr": "v1", "bbr2": "v2", "bbr3": "v3", "cubic": "CUBIC", "reno": "Reno"}
"""Algorithms as the page calls them."""


Runs = list[Run]


def where(runs: Iterable[Run], **settings: str) -> Runs:
    """The runs with these settings; a keyword is the last part of a swept key with ``_`` in front of flow numbers.

    ``where(runs, cc_0="bbr", buffer="1bdp")`` looks at ``flows[0].cc`` and ``path.buffer``.
    """
    return [run for run in runs if all(setting(run, name) == value for name, value in settings.items())]


def setting(run: Run, name: str) -> str:
    """What the sweep set under a keyword of :func:`where`."""
    stem, _, number = name.rpartition("_")
    wanted = f"flows[{number}].{stem}" if number.isdigit() else f".{name}"
    return next((str(value) for key, value in run.settings.items() if key.endswith(wanted)), "")


def by(runs: Iterable[Run], name: str) -> dict[str, Runs]:
    """The runs by what the sweep set under a keyword of :func:`where`, in the file's order."""
    return grouped(runs, lambda run: setting(run, name))


def sized(runs: Iterable[Run], low: float, high: float = 10) -> Runs:
    """The runs with a buffer of so many BDP."""
    return [run for run in runs if low <= bdps(setting(run, "buffer")) <= high]


def bdps(text: str) -> float:
    """``0.5`` of ``0.5bdp``."""
    return float(text.removesuffix("bdp"))


def buffers(runs: Iterable[Run]) -> dict[str, str]:
    """Columns of a table: what the sweep set for each buffer, by its size in words."""
    return {f"BDP: {bdps(one):g}": one for one in by(runs, "buffer")}


def percent(text: str) -> float:
    """``0.001`` of ``0.1%``."""
    return float(text.removesuffix("%")) / 100


def capacity(run: Run) -> float:
    """Goodput in Mbit/s that the bottleneck can carry."""
    return float(run.link["capacity_mbps"] * PAYLOAD)


def utilisation(run: Run) -> float:
    """Goodput of all flows over what the bottleneck can carry."""
    return total(run) / capacity(run)


def possible(run: Run) -> float:
    """Goodput over the share of the link that random loss leaves."""
    return utilisation(run) / (1 - percent(setting(run, "loss")))


def percent_used(run: Run) -> float:
    """Goodput of all flows over what the bottleneck can carry, in percent."""
    return 100 * utilisation(run)


def percent_lost(run: Run) -> float:
    """Packets of all flows that the network dropped of those sent, in percent."""
    return 100 * (summed("network_drops")(run) / max(summed("sent")(run), 1))


def percent_marked(run: Run) -> float:
    """Packets marked of those that reached the bottleneck, in percent."""
    return float(100 * (run.link["marks"] / max(run.link["arrivals"], 1)))


def queue_ms(run: Run) -> float:
    """Mean queue of the bottleneck as a delay."""
    return float(8 * run.link["mean_queue_bytes"] / (1e3 * run.link["capacity_mbps"]))


def queued(run: Run) -> float:
    """Mean queue of the bottleneck in packets."""
    return queue_ms(run) * capacity(run) / (8 * 1.448)


def share(run: Run, label: str = "family") -> float:
    """Mean goodput of the flows with a label over that of all flows: 1 is fair."""
    chosen = [flow["goodput_mbps"] for flow in run.flows if flow["label"] == label]
    return fmean(chosen) / max(fmean(run.rates), 1e-9)
