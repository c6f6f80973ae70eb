"""What the study measures, from Dumbbell's tables.

Throughput counts UDP payload, as the study's receivers do: 1010 of the 1040 bytes that a packet has on the wire, so
that a full link shows 0.971 of its capacity. Loss is what the network dropped over what was sent, delay the mean
over all packets that arrived, both over the flows of a run.

A *label* of the experiment files is an algorithm, or an algorithm and a choice that the study leaves open, ``BBR,
startup 2/ln 2``. A :class:`View` shows the runs under one choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dumbbell import metrics
from dumbbell.papers.data import published
from dumbbell.papers.model import Cell, Grid, Outcome, table
from dumbbell.papers.testing import mean, outcome, spread

if TYPE_CHECKING:
    from dumbbell.papers.part import Ran
    from dumbbell.results import Result

FloatArray = NDArray[np.float64]

FOLDER = Path(__file__).parent

ALGORITHMS = ("BBR", "BBR'", "BBRPlus", "Tsunami", "BBR+", "BBRv2", "Cubic", "Reno")
"""The study's names, which are the labels of the experiment files."""
FIRST_VERSION = ("BBR", "BBR'", "BBRPlus", "Tsunami", "BBR+")
"""BBR and the variants of its first version."""
BBR_LIKE = (*FIRST_VERSION, "BBRv2")
OTHERS = ("BBRv2", "Cubic", "Reno")

CODE, PAPER = "as the code", "startup 2/ln 2"
"""Choices: STARTUP at 2 until growth falls below a half, as in the study's code of 2019, or at 2/ln 2 until it falls
below a quarter, as in its text."""
LOOP = "loop of 0.1 ms"
"""A choice: a sender that polls every 0.1 ms, as the study's code of later."""

RATIO_MARGIN, JAIN_MARGIN = 1.1, 0.02
"""Bounds that are the extremes of published single runs hold within a tenth, of Jain's index within 0.02."""
TIMING = (
    "As in the study's framework the sender's clock counts milliseconds and its loop looks every 0.5 ms whether it may "
    "send; ACKs return over a link with a queue like the bottleneck."
)
MARGINS = "Bounds that are extremes of the published runs are met within a tenth, for Jain's index within 0.02."

PAYLOAD, STREAM, WIRE = 1010, 990, 1040
"""Bytes of a packet: UDP payload, what the transport counts, and on the wire. The study's sender asks its application
for 3000 bytes whenever it has none and sends them as 1400, 1400 and 200; ours are all of the mean size."""


@dataclass(frozen=True)
class Trace:
    """One run over time: a row a flow, a column a second."""

    t_s: FloatArray
    """End of each second."""
    throughput: FloatArray
    """UDP payload in Mbit/s that left the bottleneck; 0 before a flow starts."""
    estimate: FloatArray
    """The algorithm's bandwidth estimate in Mbit/s, which is what the study draws; the throughput if it has none."""

    def mean_rates(self, start_s: float, end_s: float) -> FloatArray | None:
        """Mean throughput of each flow between two times; ``None`` if the run was shorter."""
        inside = (self.t_s > start_s) & (self.t_s <= end_s)
        return self.throughput[:, inside].mean(axis=1) if inside.any() else None

    def jain(self, start_s: float, end_s: float, flows: Sequence[int]) -> float | None:
        """Jain's index of some flows between two times; ``None`` if the run was shorter."""
        rates = self.mean_rates(start_s, end_s)
        return None if rates is None else metrics.jain(rates[list(flows)])

    def variation(self, start_s: float, end_s: float = math.inf, flows: int | None = None) -> float:
        """Coefficient of variation of a flow's bandwidth estimate between two times, mean over (the first) flows."""
        inside = (self.t_s > start_s) & (self.t_s <= end_s)
        values = [metrics.coefficient_of_variation(row[inside]) for row in self.estimate[:flows]]
        found = [value for value in values if value is not None]
        return fmean(found) if found else 0.0

    @classmethod
    def of(cls, result: Result) -> Trace:
        """The trace of a run that was recorded."""
        series = result.series.to_polars()
        times, columns = np.unique(series["t_s"].to_numpy(), return_inverse=True)
        flows = series["flow"].to_numpy()

        def rows(name: str) -> FloatArray:
            # A flow has samples from its start on.
            samples = np.zeros((int(flows.max()) + 1, times.size))
            samples[flows, columns] = series[name].fill_null(float("nan")).to_numpy()
            return samples

        throughput = rows("throughput_mbps") * PAYLOAD / WIRE
        estimate = rows("cc_bw_mbps") * PAYLOAD / STREAM if "cc_bw_mbps" in series.columns else throughput
        return cls(times, throughput, np.where(np.isnan(estimate), throughput, estimate))


@dataclass(frozen=True)
class Run:
    """One seed."""

    rates: tuple[float, ...]
    """UDP payload of each flow in Mbit/s over the whole run."""
    loss: float
    delay_ms: float
    trace: Trace | None = None

    @property
    def total(self) -> float:
        """Of all flows, in Mbit/s."""
        return sum(self.rates)

    @property
    def jain(self) -> float:
        """Jain's index."""
        return metrics.jain(self.rates) or 0.0

    @property
    def ratio(self) -> float:
        """Largest over smallest rate."""
        return max(self.rates) / min(self.rates) if min(self.rates) > 0 else math.inf


Value = Callable[[Run], float]


def loss(run: Run) -> float:
    """Loss rate of a run."""
    return run.loss


def delay(run: Run) -> float:
    """Mean one-way delay of a run in ms."""
    return run.delay_ms


Runs = dict[tuple[str, str], list[Run]]
"""The runs of each label in each case, a run for each seed."""


def measure(ran: Ran, axes: Sequence[str], names: Sequence[str]) -> Runs:
    """Collects a sweep; what was kept of a run is its trace.

    Args:
        ran: The runs.
        axes: Swept keys that make a case.
        names: Of the cases, in the order in which the experiment file lists the values of ``axes``.
    """
    flows = ran.sweep.flows.to_polars()
    cases = dict(zip(flows.select(axes).unique(maintain_order=True).rows(), names, strict=True))
    runs: Runs = {}
    for point, trace in zip(flows.partition_by("point", maintain_order=True), ran.kept, strict=True):
        rows = point.to_dicts()
        arrived = sum(row["acks_total"] for row in rows)
        sent = sum(row["sent_total"] for row in rows)
        delays = sum(row["mean_one_way_delay_ms"] * row["acks"] for row in rows if row["acks"])
        run = Run(
            rates=tuple(row["goodput_mbps"] * PAYLOAD / STREAM for row in rows),
            loss=sum(row["network_drops_total"] for row in rows) / max(sent, 1),
            delay_ms=delays / max(arrived, 1),
            trace=trace,
        )
        case = cases[tuple(rows[0][axis] for axis in axes)]
        runs.setdefault((rows[0]["label"], case), []).append(run)
    return runs


@dataclass(frozen=True)
class View:
    """The runs under one choice; where an algorithm was not run under it, as the study's code."""

    runs: Runs
    choice: str
    cases: tuple[str, ...]
    """The cases that were run under it."""

    def of(self, algorithm: str, case: str) -> list[Run]:
        """The runs of an algorithm in a case."""
        found = self.runs.get((f"{algorithm}, {self.choice}", case))
        return self.runs[(algorithm, case)] if found is None else found

    def mean(self, algorithm: str, case: str, value: Value) -> float:
        """Mean over seeds."""
        return mean(self.of(algorithm, case), value)

    def means(self, algorithms: Iterable[str], cases: Iterable[str], value: Value) -> list[float]:
        """Mean over seeds of each algorithm in each case."""
        every = list(cases)
        return [self.mean(algorithm, case, value) for algorithm in algorithms for case in every]

    def ranked(self, algorithms: Iterable[str], case: str, value: Value, digits: int) -> str:
        """``BBR' 118 < BBR 170``: means over seeds, ascending."""
        means = {algorithm: self.mean(algorithm, case, value) for algorithm in algorithms}
        return " < ".join(f"{name} {means[name]:.{digits}f}" for name in sorted(means, key=lambda name: means[name]))

    @property
    def seeds(self) -> list[Seed]:
        """The seeds that every case has."""
        count = min(len(runs) for (_, case), runs in self.runs.items() if case in self.cases)
        return [Seed(self, number) for number in range(count)]


@dataclass(frozen=True)
class Seed:
    """One run of every algorithm in every case: what a claim about several of them is tested on."""

    view: View
    number: int

    def __getitem__(self, key: tuple[str, str]) -> Run:
        """The run of an algorithm in a case."""
        return self.view.of(*key)[self.number]

    def over(self, algorithms: Iterable[str], case: str, value: Value) -> list[float]:
        """A value of each algorithm in a case."""
        return [value(self[algorithm, case]) for algorithm in algorithms]


Views = Callable[[Runs], Sequence[View]]
Test = Callable[[Runs], list[Outcome]]


def alone(runs: Runs, choice: str, algorithms: Iterable[str], cases: tuple[str, ...]) -> View:
    """A view of algorithms that stand for one connection, under the name of a choice."""
    renamed = {(f"{name}, {choice}", case): runs[f"{name}, N = 1", case] for name in algorithms for case in cases}
    return View(runs | renamed, choice, cases)


def seeds(views: Views, holds: Callable[[Seed], bool], ours: Callable[[View], str]) -> Test:
    """A test that asks every seed."""
    return lambda runs: [outcome(view.choice, view.seeds, holds, ours(view)) for view in views(runs)]


def everywhere(
    views: Views,
    algorithms: Sequence[str],
    holds: Callable[[Mapping[str, Run]], bool],
    ours: Callable[[View], str],
    cases: Sequence[str] | None = None,
) -> Test:
    """A test of a claim about every case: ``holds`` is given one seed's run of each algorithm in one case.

    A seed counts where the claim holds in all cases; the outcome says in which it holds for most seeds.
    """

    def of(view: View) -> Outcome:
        kept = {
            case: [holds({name: seed[name, case] for name in algorithms}) for seed in view.seeds]
            for case in cases or view.cases
        }
        failing = [case for case, found in kept.items() if sum(found) <= len(found) / 2]
        where = f"fails in {', '.join(failing)}" if failing else f"in all of {len(kept)} cases"
        held = sum(all(found) for found in zip(*kept.values(), strict=True))
        return Outcome(view.choice, held, len(view.seeds), "; ".join(filter(None, [ours(view), where])))

    return lambda runs: [of(view) for view in views(runs)]


def ranges(value: Value, *algorithms: str, digits: int = 2) -> Callable[[View], str]:
    """``BBR 1.09 to 1.29; ...``: the range over cases of means over seeds."""
    return lambda view: "; ".join(
        f"{name} {spread(view.means([name], view.cases, value), digits)}" for name in algorithms
    )


def published_values(part: str, metric: str) -> dict[tuple[str, str], float]:
    """Published numbers by algorithm and case; with random loss the case is ``2, 5%``."""
    return {
        (number.case["algorithm"], ", ".join(filter(None, (number.case["case"], number.case["loss"])))): number.value
        for number in published(FOLDER, part)
        if number.metric == metric
    }


def quotients(runs: Runs, part: str, metric: str, algorithm: str, value: Value) -> list[float]:
    """Ours, means over seeds, over the published numbers of an algorithm, in each case."""
    return [
        mean(runs[algorithm, case], value) / theirs
        for (name, case), theirs in published_values(part, metric).items()
        if name == algorithm
    ]


def beside(
    name: str,
    title: str,
    cases: Sequence[str],
    ours: Callable[[str, str], float],
    theirs: Mapping[tuple[str, str], float],
    *,
    algorithms: Iterable[str],
    difference: bool = False,
    digits: int = 2,
) -> Grid:
    """Ours, published, and the quotient (or difference) of the two: three rows an algorithm, a column a case."""
    rows: list[list[Cell]] = []
    for algorithm in algorithms:
        mine = [ours(algorithm, case) for case in cases]
        reference = [theirs.get((algorithm, case)) for case in cases]
        rows.append([algorithm, "ours", *mine])
        if any(value is not None for value in reference):
            pairs = zip(mine, reference, strict=True)
            compare = [None if b is None else a - b if difference else a / b for a, b in pairs]
            rows += [["", "published", *reference], ["", "difference" if difference else "ratio", *compare]]
    return Grid(name, title, ["algorithm", "", *cases], rows, digits)


def plain(name: str, title: str, view: View, algorithms: Sequence[str], value: Value, digits: int = 2) -> Grid:
    """Means over seeds: a row an algorithm, a column a case."""
    columns = {case: of_case(view.runs, case, value) for case in view.cases}
    return table(name, title, ["algorithm"], (([name], name) for name in algorithms), columns, digits)


def labels(runs: Runs) -> dict[str, tuple[str, str]]:
    """Algorithm and choice of each label."""
    parts = {label: label.partition(", ") for label, _ in runs}
    return {label: (algorithm, choice or CODE) for label, (algorithm, _, choice) in parts.items()}


def of_case(runs: Runs, case: str, value: Value) -> Callable[[str], float]:
    """The mean over seeds of each label in a case, as a column of a table."""
    return lambda label: mean(runs[label, case], value)


def inside(value: float, low: float, high: float) -> bool:
    """Whether a ratio lies in a published range, within the margin."""
    return low / RATIO_MARGIN <= value <= high * RATIO_MARGIN
