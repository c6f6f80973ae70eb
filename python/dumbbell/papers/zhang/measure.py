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

import numpy as np
from numpy.typing import NDArray

from dumbbell import metrics
from dumbbell.papers import runs
from dumbbell.papers.data import published
from dumbbell.papers.model import Cell, Grid, Outcome, table
from dumbbell.papers.part import Ran
from dumbbell.papers.testing import mean, outcome, spread
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
class Run(runs.Run):
    """One seed of a label in a case; its trace is kept."""

    case: str = ""

    @property
    def rates(self) -> list[float]:
        """UDP payload of each flow in Mbit/s over the whole run."""
        return [rate * PAYLOAD / STREAM for rate in self.of("goodput_mbps")]


Value = Callable[[Run], float]


def delay(run: Run) -> float:
    """Mean one-way delay in ms over all packets that arrived."""
    delays = sum(flow["mean_one_way_delay_ms"] * flow["acks"] for flow in run.flows if flow["acks"])
    return float(delays / max(sum(run.of("acks_total")), 1))


Runs = dict[tuple[str, str], list[Run]]
"""The runs of each label in each case, a run for each seed."""


def measure(ran: Ran, axes: Sequence[str], names: Sequence[str]) -> Runs:
    """Collects a sweep.

    Args:
        ran: The runs.
        axes: Swept keys that make a case.
        names: Of the cases, in the order in which the experiment file lists the values of ``axes``.
    """
    grouped = ran.by(*axes)
    found: Runs = {}
    for case, of in zip(names, grouped.values(), strict=True):
        for run in of:
            found.setdefault((run.flows[0]["label"], case), []).append(Run(**vars(run), case=case))
    return found


@dataclass(frozen=True)
class Choice:
    """One way to fill in what the study leaves open."""

    name: str
    cases: Sequence[str]
    """The cases that were run so."""
    single: Sequence[str] = ()
    """Algorithms that stand for one connection."""


@dataclass(frozen=True)
class View:
    """The runs under one choice; where an algorithm was not run under it, as the study's code."""

    runs: Runs
    choice: Choice

    def of(self, algorithm: str, case: str) -> list[Run]:
        """The runs of an algorithm in a case."""
        name = "N = 1" if algorithm in self.choice.single else self.choice.name
        return self.runs.get((f"{algorithm}, {name}", case)) or self.runs[algorithm, case]

    def mean(self, algorithm: str, case: str, value: Value) -> float:
        """Mean over seeds."""
        return mean(self.of(algorithm, case), value)

    def range(self, algorithms: Iterable[str], cases: Sequence[str], value: Value, digits: int = 2) -> str:
        """The range over algorithms and cases of means over seeds."""
        return spread((self.mean(algorithm, case, value) for algorithm in algorithms for case in cases), digits)

    def ranked(self, algorithms: Iterable[str], case: str, value: Value, digits: int) -> str:
        """``BBR' 118 < BBR 170``: means over seeds, ascending."""
        means = {algorithm: self.mean(algorithm, case, value) for algorithm in algorithms}
        return " < ".join(f"{name} {means[name]:.{digits}f}" for name in sorted(means, key=lambda name: means[name]))

    @property
    def case(self) -> str:
        """Its first case."""
        return self.choice.cases[0]

    @property
    def seeds(self) -> list[Seed]:
        """The seeds that every case has."""
        count = min(len(runs) for (_, case), runs in self.runs.items() if case in self.choice.cases)
        return [Seed(self, number) for number in range(count)]


@dataclass(frozen=True)
class Seed:
    """One run of every algorithm in every case: what a claim about several of them is tested on."""

    view: View
    number: int

    def __getitem__(self, key: tuple[str, str]) -> Run:
        """The run of an algorithm in a case."""
        return self.view.of(*key)[self.number]

    @property
    def case(self) -> str:
        """The first case of its choice."""
        return self.view.case

    def over(self, algorithms: Iterable[str], case: str, value: Value) -> list[float]:
        """A value of each algorithm in a case."""
        return [value(self[algorithm, case]) for algorithm in algorithms]


Test = Callable[[Runs], list[Outcome]]


def seeds(choices: Sequence[Choice], holds: Callable[[Seed], bool], ours: Callable[[View], str]) -> Test:
    """A test that asks every seed."""
    return lambda runs: [
        outcome(view.choice.name, view.seeds, holds, ours(view)) for view in (View(runs, choice) for choice in choices)
    ]


def everywhere(
    choices: Sequence[Choice],
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
            for case in cases or view.choice.cases
        }
        failing = [case for case, found in kept.items() if sum(found) <= len(found) / 2]
        where = f"fails in {', '.join(failing)}" if failing else f"in all of {len(kept)} cases"
        held = sum(all(found) for found in zip(*kept.values(), strict=True))
        return Outcome(view.choice.name, held, len(view.seeds), "; ".join(filter(None, [ours(view), where])))

    return lambda runs: [of(View(runs, choice)) for choice in choices]


def published_values(part: str, metric: str) -> dict[tuple[str, str], float]:
    """Published numbers by algorithm and case; with random loss the case is ``2, 5%``."""
    return {
        (number.case["algorithm"], ", ".join(filter(None, (number.case["case"], number.case["loss"])))): number.value
        for number in published(FOLDER, part)
        if number.metric == metric
    }


def beside(
    name: str,
    title: str,
    view: View,
    cases: Sequence[str],
    value: Value,
    theirs: Mapping[tuple[str, str], float],
    *,
    algorithms: Iterable[str],
    difference: bool = False,
    digits: int = 2,
) -> Grid:
    """Ours, published, and the quotient (or difference) of the two: three rows an algorithm, a column a case."""
    rows: list[list[Cell]] = []
    for algorithm in algorithms:
        ours = [view.mean(algorithm, case, value) for case in cases]
        reference = [theirs.get((algorithm, case)) for case in cases]
        rows.append([algorithm, "ours", *ours])
        if any(value is not None for value in reference):
            pairs = zip(ours, reference, strict=True)
            compare = [None if b is None else a - b if difference else a / b for a, b in pairs]
            rows += [["", "published", *reference], ["", "difference" if difference else "ratio", *compare]]
    return Grid(name, title, ["algorithm", "", *cases], rows, digits)


def means(
    name: str,
    title: str,
    runs: Runs,
    rows: Mapping[str, Sequence[Cell]],
    columns: Mapping[str, tuple[str, Value]],
    digits: int = 2,
) -> Grid:
    """Means over seeds: a row for each label, which begins with its words, and a column for each case and value."""

    def of(case: str, value: Value) -> Callable[[str], Cell]:
        return lambda label: mean(runs[label, case], value)

    heads = ["algorithm", "choice"][: len(next(iter(rows.values())))]
    shown = {column: of(*key) for column, key in columns.items()}
    return table(name, title, heads, ((words, label) for label, words in rows.items()), shown, digits)


AS_THE_CODE = {algorithm: (algorithm,) for algorithm in ALGORITHMS}
"""The labels of the study's own set-up, as rows of a table."""


def labels(runs: Runs) -> dict[str, tuple[str, str]]:
    """Algorithm and choice of each label."""
    parts = {label: label.partition(", ") for label, _ in runs}
    return {label: (algorithm, choice or CODE) for label, (algorithm, _, choice) in parts.items()}


def inside(value: float, low: float, high: float) -> bool:
    """Whether a ratio lies in a published range, within the margin."""
    return low / RATIO_MARGIN <= value <= high * RATIO_MARGIN
