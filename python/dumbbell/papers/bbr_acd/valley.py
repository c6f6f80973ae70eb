"""Table 2's third scenario over round-trip times and buffers: where the kernel module halves the retransmissions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dumbbell.papers.bbr_acd.forms import FOLDER, published_values
from dumbbell.papers.bbr_acd.table2 import BASE, equilibrium, goodput, seconds
from dumbbell.papers.model import Cell, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Cases, Run, retransmitted
from dumbbell.papers.testing import mean

FORM = "bbr-acd"
"""The kernel module, which ran on the testbed."""


@dataclass(frozen=True)
class Point:
    """BBR and the kernel module at one round-trip time and buffer, seed by seed."""

    bbr: Sequence[Run]
    form: Sequence[Run]

    def ratio(self, value: Callable[[Run], float]) -> float:
        """The module over BBR, of means over seeds."""
        base = mean(self.bbr, value)
        return mean(self.form, value) / base if base > 0 else 1.0


Points = dict[tuple[str, str], Point]
"""By round-trip time and buffer."""


def points(cases: Cases) -> Points:
    """Both algorithms at each point."""
    places = [(rtt, buffer) for cc, rtt, buffer in cases if cc == BASE]
    return {(rtt, buffer): Point(cases[BASE, rtt, buffer], cases[FORM, rtt, buffer]) for rtt, buffer in places}


def published(metric: str, cc: str) -> float:
    """A number of the third scenario."""
    return published_values("table2")["3", cc, metric]


def over_published(point: Point) -> float:
    """BBR's retransmissions over the published ones."""
    return mean(point.bbr, retransmitted) / published("total_retransmitted", "bbr")


def scan(found: Points) -> Grid:
    """Every point beside the published numbers."""
    columns: dict[str, Callable[[Point], Cell]] = {
        "BBR retransmits": lambda point: mean(point.bbr, retransmitted),
        "over published": over_published,
        "retransmissions: ACD/BBR": lambda point: point.ratio(retransmitted),
        "goodput: ACD/BBR": lambda point: point.ratio(goodput),
        "BBR: equal shares after s": lambda point: equilibrium(point.bbr),
        "ACD: equal shares after s": lambda point: equilibrium(point.form),
    }
    theirs = [published(metric, cc) for metric in ("total_retransmitted", "total_goodput") for cc in ("bbr", FORM)]
    times = [f"{published('equilibrium_time', cc):.0f}" for cc in ("bbr", FORM)]
    above: list[Cell] = ["published", "100", theirs[0], 1.0, theirs[1] / theirs[0], theirs[3] / theirs[2], *times]
    rows = (((rtt, buffer.removesuffix("packets")), point) for (rtt, buffer), point in found.items())
    return table("valley", "Scenario 3 over round-trip time and buffer", ("RTT", "buffer"), rows, columns, 2, [above])


def pictures(found: Points) -> Pictures:
    """The valley."""
    from dumbbell.papers.bbr_acd import figures

    ratio = published("total_retransmitted", FORM) / published("total_retransmitted", "bbr")
    maps = {
        f"retransmissions, kernel form over BBR (published {ratio:.2f})": lambda point: point.ratio(retransmitted),
        "BBR's retransmissions over the published": over_published,
    }
    return {"valley": figures.valley(found, maps)}


PART = Part(
    "valley",
    "Round-trip times and buffers at which the kernel module halves BBR's retransmissions",
    [Experiment(FOLDER / "valley.toml", keep=seconds, quick={"flows[1].start": "1s"})],
    quick="6s",
    measure=lambda ran: points(ran.by("flows[0].cc", "path.rtt", "path.buffer")),
    setup=["Scenario 3 of bbr-acd/table2 (no random loss), BBR of Linux 4.14 and the kernel module, 3 seeds."],
    tables=lambda found: [scan(found)],
    pictures=pictures,
)
