"""Which transport and which port of BBR give the published share of duplicates?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dumbbell.papers.bbr_acd.forms import FOLDER
from dumbbell.papers.bbr_acd.simulation import BASE, BUFFERS, MEASURES, reduction
from dumbbell.papers.model import Cell, Grid, table
from dumbbell.papers.part import Part, Ran, variations
from dumbbell.papers.runs import Run
from dumbbell.papers.testing import mean, paired

FORM = "bbr-acd-ns3"
ALGORITHMS = 'sweep."flows[0].cc"'
NO_SACK: dict[str, Any] = {"transport.sack": False}

SETUPS: dict[str, dict[str, Any]] = {
    "as in simulation": {},
    "the authors' published BBR": {ALGORITHMS: ["bbr-ns3-2018", FORM]},
    "ns-3's windows, RTTs from timestamps": {
        "transport.held_data_takes_window": False, "transport.rtt_samples": "timestamps-of-originals",
    },
    "Linux's pacing credit and DSACK": {"transport.pacing_credit": True, "transport.dsack": True},
    "ns-3.40's delivery rates": {"transport.delivery_rate": "ns3-3.40"},
    "ns-3.41's delivery rates": {"transport.delivery_rate": "ns3"},
    "last RTT": {"transport.controller_rtt": "last"},
    "min RTO 1 s": {"transport.rto_min": "1s"},
    "an ACK for every packet": {"transport.ack_every": 1},
    "MSS 1448": {"transport.mss": 1448, "transport.gso_max_bytes": "1448B"},
    "starts within 0.7 s": {"flows[0].start_jitter": "700ms"},
    "without SACK": NO_SACK,
    "without SACK, the authors' published BBR": {**NO_SACK, ALGORITHMS: ["bbr-ns3-2018", FORM]},
    "without SACK, ns-3.41's delivery rates": {**NO_SACK, "transport.delivery_rate": "ns3"},
    "without SACK, last RTT": {**NO_SACK, "transport.controller_rtt": "last"},
    "without SACK, min RTO 1 s": {**NO_SACK, "transport.rto_min": "1s"},
}  # fmt: skip

Pairs = Mapping[tuple[str, str], list[tuple[Run, ...]]]
"""The runs of BBR and of the ns-3 form, by set-up and queue."""


def measured(*ran: Ran) -> Pairs:
    """BBR is the algorithm that stands first in the sweep."""
    found = {}
    for name, one in zip(SETUPS, ran, strict=True):
        for buffer, queue in BUFFERS.items():
            bbr, form = [runs for (at, _), runs in one.by("path.buffer", "flows[0].cc").items() if at == buffer]
            found[name, queue] = paired(bbr, form)
    return found


def comparison(pairs: Pairs) -> Grid:
    """Duplicates by set-up."""

    def of(which: int, measure: str) -> Callable[[list[tuple[Run, ...]]], Cell]:
        return lambda found: mean(found, lambda pair: MEASURES[measure](pair[which]))

    columns = {
        f"{name}: {word}": of(which, measure)
        for which, name in enumerate(("BBR", "BBR-ACD"))
        for word, measure in (("duplicates", "duplicates"), ("share", "duplicate share"), ("goodput", "goodput"))
    }
    published: list[Cell] = ["published", "", 28775, 0.42, 0.50, 2311, 0.033, 0.86, 0.92]
    return table(
        "port", "Duplicates by set-up", ("set-up", "queue"), pairs.items(), columns | {"reduction": reduction}, 3,
        [published],
    )  # fmt: skip


PART = Part(
    "port",
    "BBR's 42 % duplicates: what the paper leaves open about its port and its transport",
    variations(FOLDER / "simulation.toml", SETUPS, {ALGORITHMS: [BASE, FORM], "record.series": False}, repeat=3),
    quick="10s",
    measure=measured,
    setup=[
        "As bbr-acd/simulation, one thing made differently (or two), 3 seeds; BBR-ACD in its ns-3 form. Goodput in "
        "Mbit/s. The authors' BBR is tcp-bbr.cc of their repository, a port of 2018; the simulation's is ns-3's.",
    ],
    tables=lambda pairs: [comparison(pairs)],
)
