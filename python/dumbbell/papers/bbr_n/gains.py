"""The authors' sweep of gains: PROBE_BW at 3.75 p/5 and 2.25 p/5 for p = 1 to 5."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from dumbbell.papers.bbr_n.measure import FOLDER, NATIVE, VIRTUAL, aggregate, by_device, table_values
from dumbbell.papers.model import Cell, Grid, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Cases, Run, total
from dumbbell.papers.testing import mean


def published(p: int) -> str:
    """Of each run, Mbit/s."""
    runs = [one["mean"] for run in ("", "-wave2") for one in table_values("gains", f"BBRn-{p}p{run}").values()]
    return ", ".join(f"{value:.0f}" for value in runs)


def tables(cases: Cases) -> list[Grid]:
    """A row for each p."""

    def of(place: str, value: Callable[[Run], float]) -> Callable[[int], Cell]:
        return lambda p: mean(cases[place, f"gains-{p}"], value)

    columns: dict[str, Callable[[int], Cell]] = {
        "gains": lambda p: f"{0.75 * p:g}, {0.45 * p:g}",
        "mean gain": lambda p: fmean([0.75 * p, 0.45 * p, *[1.0] * 6]),
        "published Mbit/s": published,
    }
    for place in (VIRTUAL, NATIVE):
        columns |= {f"{place}: Mbit/s": of(place, total), f"{place}: packets an aggregate": of(place, aggregate)}
    title = "One upload by the gains of PROBE_BW"
    return [table("gains", title, ("p",), (((p,), p) for p in range(1, 6)), columns)]


PART: Part[Cases] = Part(
    "gains",
    "The authors' sweep of gains, p = 1 to 5",
    [Experiment(FOLDER / "gains.toml", quick={"warmup": "1s"})],
    quick="2s",
    measure=by_device("flows[0].cc"),
    setup=[
        "One upload over the Wi-Fi of bbr-n/single, BBR-n's patch with gains of 3.75 p/5 and 2.25 p/5; p = 2 is "
        "BBR-n's 1.5 and 0.9. 45 s, three seeds.",
        "In the published runs every odd p above 1 collapses to a tenth. The authors' second patch computes its gains "
        "in whole numbers, and divides before it multiplies.",
    ],
    tables=tables,
)
