"""What else the testbed leaves open: netem's limit, which counts delayed packets too, and the kernel's version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dumbbell.papers.bbr_acd.forms import FOLDER, published_values
from dumbbell.papers.bbr_acd.table2 import SCENARIOS, goodput
from dumbbell.papers.bbr_acd.valley import Point
from dumbbell.papers.model import Cell, Grid, table
from dumbbell.papers.part import Part, Ran, variations
from dumbbell.papers.runs import retransmitted
from dumbbell.papers.testing import mean

PAIR = [["flows[0].cc", "flows[1].cc"]]
RTTS = ["10ms", "40ms", "70ms", "100ms"]
NETEM: dict[str, Any] = {'sweep."path.buffer"': ["unlimited"], "path.limit": 100, "path.loss_at": "before"}
"""Delay and random loss before the slow device, all of it in one queue of 100 packets."""
LATER = ["bbr-4.17", "bbr-acd"]

SETUPS: dict[str, dict[str, Any]] = {
    "as in table2": {},
    "netem, half of the delay there": NETEM,
    "netem, all of the delay there": {
        **NETEM, 'sweep."path.delay"': RTTS, "sweep.zip": [*PAIR, ["path.rtt", "path.delay"]],
    },
    "Linux 4.17's BBR": {'sweep."flows[0].cc"': LATER, 'sweep."flows[1].cc"': LATER},
}  # fmt: skip

Points = Mapping[tuple[str, str, str], Point]
"""By set-up, round-trip time and scenario."""


def measured(*ran: Ran) -> Points:
    """BBR and the kernel module under every set-up."""
    found = {}
    for name, one in zip(SETUPS, ran, strict=True):
        runs = one.by("path.rtt", "path.loss", "flows[0].cc")
        bbr, form = dict.fromkeys(cc for _, _, cc in runs)
        for rtt, loss in dict.fromkeys((rtt, loss) for rtt, loss, _ in runs):
            point = Point(runs[rtt, loss, bbr], runs[rtt, loss, form])
            found[name, rtt, SCENARIOS["100packets", loss]] = point
    return found


def comparison(points: Points) -> Grid:
    """Every set-up beside the published numbers."""
    theirs = published_values("table2")

    def over(scenario: str) -> float:
        return theirs[scenario, "bbr", "total_retransmitted"]

    columns: dict[str, Callable[[tuple[str, Point]], Cell]] = {
        "BBR retransmits": lambda row: mean(row[1].bbr, retransmitted),
        "over published": lambda row: mean(row[1].bbr, retransmitted) / over(row[0]),
        "retransmissions: ACD/BBR": lambda row: row[1].ratio(retransmitted),
        "goodput: ACD/BBR": lambda row: row[1].ratio(goodput),
    }
    above: list[list[Cell]] = []
    for scenario in ("3", "4"):
        of = [theirs[scenario, cc, "total_retransmitted"] for cc in ("bbr", "bbr-acd")]
        goodputs = [theirs[scenario, cc, "total_goodput"] for cc in ("bbr", "bbr-acd")]
        above.append(["published", "", scenario, of[0], 1.0, of[1] / of[0], goodputs[1] / goodputs[0]])
    rows = (((setup, rtt, scenario), (scenario, point)) for (setup, rtt, scenario), point in points.items())
    title = "Scenarios 3 and 4 under other readings of the testbed"
    return table("netem", title, ("set-up", "RTT", "scenario"), rows, columns, 2, above)


PART = Part(
    "netem",
    "Netem's limit and kernel 4.17: what else the testbed leaves open",
    variations(FOLDER / "netem.toml", SETUPS, {"record.series": False}, repeat=3, quick={"flows[1].start": "1s"}),
    quick="6s",
    measure=measured,
    setup=[
        "Scenarios 3 and 4 of bbr-acd/table2, BBR and the kernel module, 3 seeds. Table2's router delays behind its "
        "queue of 100 packets. Netem, which made the delays, delays before the slow device, loses at random before "
        "that, and counts what it delays with what waits: its limit is 100 packets on their way or waiting.",
        "Half of the round-trip time on the way of the data, or all of it. Linux 4.17's BBR differs from 4.14's, which "
        "the published module changes, by what a spurious loss resets, by samples of delayed ACKs, by restarts from "
        "idle, and by the cycle under a policer.",
    ],
    tables=lambda points: [comparison(points)],
)
