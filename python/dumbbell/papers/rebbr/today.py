"""Figure 1 with today's endpoints, which the running kernel has, too: ``--on linux``."""

from __future__ import annotations

from functools import partial

from dumbbell.papers.model import Grid, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.rebbr.curves import (
    CUBIC,
    FOLDER,
    Figure,
    by_loss,
    mean,
    mean_goodput,
    measure,
    published_curves,
)

BBR = "BBR 6.18"


def tables(figure: Figure) -> list[Grid]:
    """Link egress and goodput beside what the study published of its own endpoints."""
    theirs = published_curves("fig1")
    columns = {
        f"{label}: {what}": of
        for label, cc in ((CUBIC, "cubic"), (BBR, "bbr"))
        for what, of in (
            ("egress", partial(mean, figure.curves[label])),
            ("goodput", partial(mean_goodput, figure.curves[label])),
            ("published, 4.11", theirs[cc].get),
        )
    }
    title = "Link egress and goodput in Mbit/s of today's endpoints beside the published egress"
    return [table("today", title, ["loss %"], by_loss(figure.curves), columns)]


PART = Part(
    "today",
    "Figure 1 at six losses with the endpoints of Linux 6.18, for the simulator and for a kernel",
    [Experiment(FOLDER / "today.toml")],
    quick="2s",
    measure=lambda ran: Figure(measure(ran.runs)),
    setup=[
        "As rebbr/fig1, for 20 s, at losses from 0.001 to 5 %, with the endpoints of Linux 6.18 and the study's "
        "receive window.",
        "No kernel of today can run the study's BBR: since Linux 4.13 TCP paces where no queueing discipline does, so "
        "that BBR is always paced. The published rates are those of an unpaced BBR.",
    ],
    tables=tables,
)
