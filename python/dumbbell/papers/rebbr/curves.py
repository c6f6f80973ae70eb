"""Throughput against random loss: what all figures measure, tabulate and draw.

The study's "goodput" is what left the emulated link, retransmissions, headers and the 4 bytes of Mahimahi's device
included, divided by the duration. Packets are lost behind that link, so it does not say what arrived. We report it as
*link egress*, and beside it the *goodput*: payload that the receiving application got.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import TypeVar

from dumbbell import metrics
from dumbbell.papers import runs
from dumbbell.papers.data import published
from dumbbell.papers.model import Cell, Grid, Published, table
from dumbbell.papers.testing import paired

FOLDER = Path(__file__).parent

WIRE = 1504 / 1500
"""Mahimahi counts 4 bytes of its device with every packet; ours are counted by IP length."""

CUBIC, UNPACED, PACED = "CUBIC", "BBR 4.11 unpaced", "BBR 4.11 paced"
"""Labels of flows in the experiment files that are compared with the published numbers."""
PUBLISHED_AS = {CUBIC: "cubic", UNPACED: "bbr", PACED: "bbr"}
"""Names in the published data."""

FACTOR = 1.6
"""How far single runs of CUBIC are apart: 29.7 to 68.7 Mbit/s at one point of the study's own four runs."""


@dataclass(frozen=True)
class Run:
    """One seed at every loss, in Mbit/s by loss."""

    egress: dict[float, float]
    goodput: dict[float, float]
    capacity: float = 100.0
    """Of the link; what the study's ideal line starts from."""

    def share(self, loss: float) -> float:
        """Egress over what the ideal line has at a loss."""
        return self.egress[loss] / (self.capacity * (1 - loss))

    def used(self, most: float) -> float:
        """Least egress over capacity up to a loss."""
        return min(rate for loss, rate in self.egress.items() if loss <= most) / self.capacity

    @property
    def received(self) -> dict[float, float]:
        """Goodput over egress by loss."""
        return {loss: quotient(self.goodput[loss], rate) for loss, rate in self.egress.items()}

    @property
    def knee(self) -> float | None:
        """The loss at which the egress falls to half of the ideal line; ``None`` if it never does.

        Interpolated between the two points around it.
        """
        for loss, beyond in pairwise(sorted(self.egress)):
            share, next_share = self.share(loss), self.share(beyond)
            if share >= 0.5 > next_share:
                return loss + (share - 0.5) / (share - next_share) * (beyond - loss)
        return None


Measured = TypeVar("Measured")

Curves = dict[str, list[Run]]
"""The runs of each label, a run for each seed."""
Cases = dict[str, Curves]
"""The curves of each rate, round-trip time or set-up."""


@dataclass(frozen=True)
class Figure:
    """What a figure shows."""

    curves: Curves


@dataclass(frozen=True)
class Course:
    """A flow over time."""

    label: str
    loss: str
    t_s: Sequence[float]
    rate_mbps: Sequence[float]
    """Payload that arrived."""
    rtt_ms: Sequence[float]


WINDOW_16 = "3 June 2017, window of 16 MiB"
RUNS = {"the report's run, window of 6.25 MiB": "", WINDOW_16: "window16/"}
"""The authors' complete runs, and what stands before the part in the published data."""


def public(measured: Callable[[str], Measured], beside: Mapping[str, str] | None = None) -> list[Published[Measured]]:
    """Every run that the authors made public; ``measured`` makes a part's measure of what stands before its name.

    ``beside`` are runs in another set-up.
    """
    runs = {origin: (before, True) for origin, before in RUNS.items()}
    runs |= {origin: (before, False) for origin, before in (beside or {}).items()}
    return [Published(origin, partial(measured, before), decides) for origin, (before, decides) in runs.items()]


def of_authors(part: str, case: str = "", capacity: float = 100.0, names: Mapping[str, str] | None = None) -> Curves:
    """The published curves as a single run of each label; the paced BBR, which they did not run, is their BBR."""
    theirs = published_curves(part, case)
    return {label: [Run(theirs[cc], {}, capacity)] for label, cc in (names or PUBLISHED_AS).items()}


PACINGS = {"unpaced": UNPACED, "paced": PACED}
"""BBR without and with pacing, and its labels."""


def under(labels: Mapping[str, str]) -> Callable[[Figure], dict[str, list[Run]]]:
    """The runs of some labels by the names of choices."""
    return lambda figure: {name: figure.curves[label] for name, label in labels.items()}


def beside_cubic(figure: Figure) -> dict[str, list[tuple[Run, ...]]]:
    """Pairs of BBR and CUBIC with the same seed."""
    return {name: paired(figure.curves[label], figure.curves[CUBIC]) for name, label in PACINGS.items()}


def measure(points: Iterable[runs.Run], capacity: float = 100.0) -> Curves:
    """Collects runs of one flow by label, seed and loss."""
    seeds: dict[tuple[str, int], Run] = {}
    for point in points:
        (flow,) = point.flows
        curve = seeds.setdefault((flow["label"], flow["repeat"]), Run({}, {}, capacity))
        loss = round(float(flow["links[1].loss"].removesuffix("%")) / 100, 9)
        curve.egress[loss], curve.goodput[loss] = flow["throughput_mbps"] * WIRE, flow["goodput_mbps"]
    curves: Curves = {}
    for (label, _), curve in seeds.items():
        curves.setdefault(label, []).append(curve)
    return curves


def by_case(
    ran: Iterable[runs.Run], case: Callable[[runs.Run], str], capacity: Callable[[runs.Run], float] = lambda run: 100.0
) -> Cases:
    """The curves of each case; ``case`` names that of a run."""
    return {name: measure(of, capacity(of[0])) for name, of in runs.grouped(ran, case).items()}


def round_trip(run: runs.Run) -> str:
    """The round-trip time without queues, in words."""
    return f"{run.flows[0]['base_rtt_ms']:g} ms"


def published_curves(part: str, case: str = "") -> dict[str, dict[float, float]]:
    """The published curve of each algorithm, by loss."""
    curves: dict[str, dict[float, float]] = {}
    for number in published(FOLDER, part):
        if (number.metric, number.case["case"]) == ("link_egress", case):
            curves.setdefault(number.case["cc"], {})[float(number.case["loss"])] = number.value
    return curves


def losses(curves: Curves) -> list[float]:
    """Every loss that was run, ascending."""
    return sorted({loss for runs in curves.values() for run in runs for loss in run.egress})


def mean(runs: Sequence[Run], loss: float) -> float:
    """Mean link egress over seeds."""
    return fmean(run.egress[loss] for run in runs)


def mean_goodput(runs: Sequence[Run], loss: float) -> float:
    """Mean goodput over seeds."""
    return fmean(run.goodput[loss] for run in runs)


def quotient(a: float, b: float) -> float:
    """``a / b``, infinite over nothing."""
    return a / b if b > 0 else math.inf


def half_width(runs: Sequence[Run], loss: float) -> float | None:
    """Half of the 95 % interval of the mean egress over seeds; ``None`` for a single seed."""
    interval = metrics.mean_interval([run.egress[loss] for run in runs])
    return None if interval is None or interval.n < 2 else interval.half_width


def comparison(cases: Cases, part: str, title: str, head: str = "", digits: int = 2) -> Grid:
    """Ours beside the published numbers, and the ratio of the two.

    Args:
        cases: Ours, all with the same labels; a single one may have an empty name.
        part: Whose published numbers to show.
        title: Above the table.
        head: What the cases are; empty for a single one.
        digits: Decimals.
    """
    published = {case: published_curves(part, case) for case in cases}

    def columns(label: str) -> dict[str, Callable[[tuple[str, float]], Cell]]:
        def of(value: Callable[[Sequence[Run], float], Cell]) -> Callable[[tuple[str, float]], Cell]:
            return lambda at: value(cases[at[0]][label], at[1])

        def theirs(at: tuple[str, float]) -> float | None:
            return published[at[0]].get(PUBLISHED_AS[label], {}).get(at[1])

        def ratio(at: tuple[str, float]) -> Cell:
            value = theirs(at)
            return mean(cases[at[0]][label], at[1]) / value if value else None

        shown: dict[str, Callable[[tuple[str, float]], Cell]] = {
            "egress": of(mean),
            "\N{PLUS-MINUS SIGN}": of(half_width),
            "goodput": of(mean_goodput),
            # The published BBR stands once, beside the variant that the study ran.
            **({} if label == PACED else {"published": theirs}),
            "ratio": ratio,
        }
        return {f"{label}: {what}": value for what, value in shown.items()}

    every = columns(CUBIC) | columns(UNPACED) | columns(PACED)
    rows = (
        ([*([case] if head else []), percent(loss)], (case, loss)) for case, of in cases.items() for loss in losses(of)
    )
    return table("comparison", title, [*([head] if head else []), "loss %"], rows, every, digits)


def agreement(cases: Cases, part: str, head: str = "") -> Grid:
    """At how many losses up to 30 % ours are near the published: BBR within 10 %, CUBIC within :data:`FACTOR`."""

    def near(label: str, factor: float) -> Callable[[str], Cell]:
        def count(case: str) -> Cell:
            theirs = published_curves(part, case)[PUBLISHED_AS[label]]
            found = [quotient(mean(cases[case][label], loss), theirs[loss]) for loss in theirs if loss <= 0.3]
            return f"{sum(1 / factor <= one <= factor for one in found)} of {len(found)}"

        return count

    def furthest(case: str) -> Cell:
        theirs = published_curves(part, case)["bbr"]
        found = [quotient(mean(cases[case][UNPACED], loss), theirs[loss]) for loss in theirs if loss <= 0.3]
        return max(found, key=lambda one: abs(one - 1))

    columns: dict[str, Callable[[str], Cell]] = {
        "BBR unpaced within 10 %": near(UNPACED, 1.1),
        "furthest quotient": furthest,
        f"CUBIC within a factor of {FACTOR:g}": near(CUBIC, FACTOR),
    }
    rows = (([case] if head else [], case) for case in cases)
    return table("agreement", "Losses up to 30 % at which ours are near the published", [head] if head else [], rows,
                 columns)  # fmt: skip


def variants(curves: Curves, title: str) -> Grid:
    """Link egress and goodput of what the study did not run."""
    columns = {
        f"{label}: {what}": partial(of, curves[label])
        for label in curves
        if label not in PUBLISHED_AS
        for what, of in (("egress", mean), ("goodput", mean_goodput))
    }
    return table("variants", title, ["loss %"], by_loss(curves), columns)


def by_loss(curves: Curves) -> list[tuple[list[Cell], float]]:
    """A row of a table for each loss."""
    return [([percent(loss)], loss) for loss in losses(curves)]


def is_as_studied(choice: str) -> bool:
    """Whether a choice is the study's: its kernel did not pace."""
    return choice == "unpaced"


def percent(loss: float) -> str:
    """``0.001`` as ``0.1``."""
    return f"{100 * loss:g}"


PUBLISHED_CAPACITY = {"fig1": 100.27, "fig5": 5.96}
"""Capacity of each link as the study's logs give it, in Mbit/s."""
