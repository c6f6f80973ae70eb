"""The authors' second complete run, of 3 June 2017: figures 1 to 4 with windows of 16 MiB."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.papers.model import Cell, Grid, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.rebbr.curves import (
    CUBIC,
    FACTOR,
    FOLDER,
    PUBLISHED_AS,
    UNPACED,
    Cases,
    Curves,
    by_case,
    by_loss,
    mean,
    measure,
    published_curves,
    quotient,
    round_trip,
)
from dumbbell.papers.rebbr.fig2 import OTHERS
from dumbbell.papers.rebbr.fig3 import carried, rate
from dumbbell.papers.rebbr.fig4 import LONGEST

RUN = "window16"
NEAR = {UNPACED: 1.1, CUBIC: FACTOR}
"""How near our rates shall be to the published, as a factor."""
SLOWEST = "0.01 Mbit/s"
"""Where a run is 25 packets and the start counts: no measure of BBR."""


@dataclass(frozen=True)
class Figure:
    """The curves of each figure and case, and those at 500 ms of a sender whose device loses nothing."""

    cases: dict[tuple[str, str], Curves]
    endless: Curves

    def quotients(self, label: str) -> dict[tuple[str, str], dict[float, float]]:
        """Ours over the published by figure, case and loss, up to 30 %."""
        found = {}
        for (part, case), curves in self.cases.items():
            theirs = published_curves(f"{RUN}/{part}", case)[PUBLISHED_AS[label]]
            ours = curves[label]
            found[part, case] = {loss: quotient(mean(ours, loss), of) for loss, of in theirs.items() if loss <= 0.3}
        return found

    def near(self, label: str) -> tuple[int, int]:
        """At how many points ours are near the published, and of how many."""
        found = [
            is_near(label, one)
            for (_, case), of in self.quotients(label).items()
            if label == CUBIC or case != SLOWEST
            for one in of.values()
        ]
        return sum(found), len(found)


def is_near(label: str, ours_over_published: float) -> bool:
    """Whether a quotient is near enough for a flow of this label."""
    return 1 / NEAR[label] <= ours_over_published <= NEAR[label]


def measured(fig1: Ran, fig2: Ran, fig3: Ran, fig4: Ran, endless: Ran) -> Figure:
    """The curves by figure and case."""
    cases: dict[tuple[str, str], Curves] = {("fig1", ""): measure(fig1.runs), ("fig2", ""): measure(fig2.runs)}
    by: dict[str, Cases] = {"fig3": by_case(fig3.runs, rate, carried), "fig4": by_case(fig4.runs, round_trip)}
    cases |= {(part, case): curves for part, of in by.items() for case, curves in of.items()}
    return Figure(cases, measure(endless.runs))


def near(figure: Figure) -> Grid:
    """At how many losses up to 30 % ours are near the published, figure by figure and over all."""
    found = {label: figure.quotients(label) for label in NEAR}

    def count(label: str) -> Callable[[tuple[str, str]], Cell]:
        def of(at: tuple[str, str]) -> Cell:
            values = found[label][at].values()
            return f"{sum(is_near(label, one) for one in values)} of {len(values)}"

        return of

    def furthest(at: tuple[str, str]) -> Cell:
        return max(found[UNPACED][at].values(), key=lambda one: abs(one - 1))

    columns: dict[str, Callable[[tuple[str, str]], Cell]] = {
        "BBR within 10 %": count(UNPACED),
        "furthest quotient": furthest,
        f"CUBIC within a factor of {FACTOR:g}": count(CUBIC),
    }
    rows = table("near", "", ["figure", "case"], (([part, case], (part, case)) for part, case in figure.cases), columns)
    bbr, cubic = (" of ".join(map(str, figure.near(label))) for label in (UNPACED, CUBIC))
    title = "Losses up to 30 % at which ours are near the second run; BBR over all without 0.01 Mbit/s"
    return Grid("near", title, rows.columns, [*rows.rows, ["all", "", bbr, None, cubic]])


def rates(figure: Figure) -> Grid:
    """Link egress beside the published."""

    def columns(label: str) -> dict[str, Callable[[tuple[str, str, float]], Cell]]:
        def theirs(at: tuple[str, str, float]) -> Cell:
            return published_curves(f"{RUN}/{at[0]}", at[1])[PUBLISHED_AS[label]].get(at[2])

        return {f"{label}: egress": lambda at: mean(figure.cases[at[0], at[1]][label], at[2]),
                f"{label}: published": theirs}  # fmt: skip

    rows = (
        ([part, case, *head], (part, case, loss))
        for (part, case), curves in figure.cases.items()
        for head, loss in by_loss({CUBIC: curves[CUBIC]})
    )
    title = "Link egress in Mbit/s beside that of the second run"
    return table("rates", title, ["figure", "case", "loss %"], rows, columns(CUBIC) | columns(UNPACED))


def devices(figure: Figure) -> Grid:
    """BBR at 500 ms with and without the device that holds 500 packets."""
    theirs = published_curves(f"{RUN}/fig4", LONGEST)["bbr"]
    queue, endless = (curves[UNPACED] for curves in (figure.cases["fig4", LONGEST], figure.endless))
    columns: dict[str, Callable[[float], Cell]] = {
        "published": theirs.get,
        "500 packets": lambda loss: mean(queue, loss),
        "500 packets: quotient": lambda loss: quotient(mean(queue, loss), theirs[loss]),
        "endless": lambda loss: mean(endless, loss),
        "endless: quotient": lambda loss: quotient(mean(endless, loss), theirs[loss]),
    }
    title = f"BBR's link egress in Mbit/s at {LONGEST} by the queue of the sender's device"
    return table("device", title, ["loss %"], by_loss({UNPACED: queue}), columns)


def others(figure: Figure) -> Grid:
    """The six algorithms of figure 2 beside the published."""
    theirs = published_curves(f"{RUN}/fig2")
    first = published_curves("fig2")
    curves = figure.cases["fig2", ""]
    columns: dict[str, Callable[[float], Cell]] = {}
    for label, cc in {UNPACED: "bbr", **OTHERS}.items():
        columns[f"{label}: egress"] = lambda loss, label=label: mean(curves[label], loss)  # type: ignore[misc]
        columns[f"{label}: 3 June"] = theirs[cc].get
        columns[f"{label}: report"] = first[cc].get
    return table("algorithms", "Link egress in Mbit/s of figure 2 beside both published runs", ["loss %"],
                 by_loss(curves), columns)  # fmt: skip


def only(labels: Mapping[str, str]) -> dict[str, Any]:
    """Windows of 16 MiB, and flows of some labels and algorithms, unpaced."""
    return {
        "transport.receive_window": "16MiB",
        'sweep."flows[0].label"': list(labels),
        'sweep."flows[0].cc"': list(labels.values()),
    }


UNPACED_ONLY = {'sweep."transport.pacing"': ["off"] * 2}
TWO = only({CUBIC: "cubic", UNPACED: "bbr-4-11"})
SIX = only({CUBIC: "cubic", UNPACED: "bbr-4-11"} | {label: cc for label, cc in OTHERS.items() if label != CUBIC})

PART = Part(
    RUN,
    "The authors' second run, of 3 June 2017, with windows of 16 MiB: figures 1 to 4",
    [
        Experiment(FOLDER / "fig1.toml", set=TWO | UNPACED_ONLY, repeat=1),
        Experiment(FOLDER / "fig2.toml", set=SIX | {'sweep."transport.pacing"': ["off"] * 6}, repeat=1),
        Experiment(FOLDER / "fig3.toml", set=TWO | UNPACED_ONLY, repeat=1),
        Experiment(FOLDER / "fig4.toml", set=TWO, repeat=1),
        Experiment(FOLDER / "fig4-device.toml", set=TWO | {'sweep."links[1].delay"': ["250ms"],
                                                           'sweep."links[0].buffer"': ["unlimited"]}, repeat=1),
    ],
    quick="2s",
    measure=measured,
    setup=[
        "As rebbr/fig1 to fig4 with a receive window of 16 MiB, unpaced, one seed as the authors' one run.",
        f"Near is within 10 % for BBR and within a factor of {FACTOR:g} for CUBIC. At 0.01 Mbit/s a run is 25 packets "
        "and the start counts, so BBR is not counted there.",
        "The claims of figures 1 to 5 are put to this run in those parts.",
    ],
    tables=lambda figure: [near(figure), devices(figure), others(figure), rates(figure)],
)  # fmt: skip
