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
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dumbbell import metrics
from dumbbell.papers.data import published
from dumbbell.papers.model import Cell, Grid, Judgement, Outcome

if TYPE_CHECKING:
    from dumbbell.results import Result, SweepResult

FloatArray = NDArray[np.float64]

PUBLISHED = Path(__file__).with_name("published.csv")

ALGORITHMS = ("BBR", "BBR'", "BBRPlus", "Tsunami", "BBR+", "BBRv2", "Cubic", "Reno")
"""The study's names, which are the labels of the experiment files."""
FIRST_VERSION = ("BBR", "BBR'", "BBRPlus", "Tsunami", "BBR+")
"""BBR and the variants of its first version."""
BBR_LIKE = (*FIRST_VERSION, "BBRv2")

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

    def variation(self, start_s: float, end_s: float) -> float | None:
        """Coefficient of variation of a flow's bandwidth estimate between two times, mean over flows."""
        inside = (self.t_s > start_s) & (self.t_s <= end_s)
        values = [metrics.coefficient_of_variation(row[inside]) for row in self.estimate]
        found = [value for value in values if value is not None]
        return fmean(found) if found else None

    @classmethod
    def of(cls, result: Result) -> Trace:
        """The trace of a run that was recorded."""
        series = result.series.to_polars()
        times, columns = np.unique(series["t_s"].to_numpy(), return_inverse=True)
        flows = series["flow"].to_numpy()

        def rows(name: str) -> FloatArray:
            # A flow has samples from its start on.
            table = np.zeros((int(flows.max()) + 1, times.size))
            table[flows, columns] = series[name].fill_null(float("nan")).to_numpy()
            return table

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


Runs = dict[tuple[str, str], list[Run]]
"""The runs of each label in each case, a run for each seed."""


def measure(
    result: SweepResult, case: Callable[[Mapping[str, Any]], str], traces: Mapping[int, Trace] | None = None
) -> Runs:
    """Collects a sweep.

    Args:
        result: Of :func:`dumbbell.papers.data.run`.
        case: Names the case of a row of its flows from the swept settings.
        traces: By index of the point.
    """
    runs: Runs = {}
    for flows in result.flows.to_polars().partition_by("point", maintain_order=True):
        rows = flows.to_dicts()
        first = rows[0]
        arrived = sum(row["acks_total"] for row in rows)
        sent = sum(row["sent_total"] for row in rows)
        delay = sum(row["mean_one_way_delay_ms"] * row["acks"] for row in rows if row["acks"])
        run = Run(
            rates=tuple(row["goodput_mbps"] * PAYLOAD / STREAM for row in rows),
            loss=sum(row["network_drops_total"] for row in rows) / max(sent, 1),
            delay_ms=delay / max(arrived, 1),
            trace=(traces or {}).get(first["point"]),
        )
        runs.setdefault((first["label"], case(first)), []).append(run)
    return runs


def cases_by(result: SweepResult, axes: Sequence[str], names: Sequence[str]) -> Callable[[Mapping[str, Any]], str]:
    """Names cases in the order in which the experiment file lists the values of ``axes``."""
    seen = result.flows.to_polars().select(axes).unique(maintain_order=True).rows()
    known = dict(zip(seen, names, strict=True))
    return lambda row: known[tuple(row[axis] for axis in axes)]


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

    def mean(self, algorithm: str, case: str, value: Callable[[Run], float]) -> float:
        """Mean over seeds."""
        return fmean(value(run) for run in self.of(algorithm, case))

    def ranked(self, algorithms: Iterable[str], case: str, value: Callable[[Run], float], digits: int) -> str:
        """``BBR' 118 < BBR 170``: means over seeds, ascending."""
        means = {algorithm: self.mean(algorithm, case, value) for algorithm in algorithms}
        return " < ".join(f"{name} {means[name]:.{digits}f}" for name in sorted(means, key=lambda name: means[name]))

    @property
    def seeds(self) -> int:
        """How many seeds there are."""
        return min(len(runs) for (_, case), runs in self.runs.items() if case in self.cases)

    def outcome(self, holds: Callable[[int], bool], ours: str) -> Outcome:
        """A claim put to every seed."""
        count = self.seeds
        return Outcome(self.choice, sum(holds(seed) for seed in range(count)), count, ours)

    def over_cases(
        self,
        holds: Callable[[Mapping[str, Run]], bool],
        algorithms: Sequence[str],
        ours: str,
        cases: Sequence[str] | None = None,
    ) -> Outcome:
        """A claim about every case: ``holds`` is given one seed's run of each algorithm in one case.

        A seed counts where the claim holds in all cases; the outcome says in which it holds for most seeds.
        """
        names = tuple(cases or self.cases)
        kept = {
            case: [
                holds({algorithm: self.of(algorithm, case)[seed] for algorithm in algorithms})
                for seed in range(self.seeds)
            ]
            for case in names
        }
        failing = [case for case, found in kept.items() if sum(found) <= len(found) / 2]
        where = f"fails in {', '.join(failing)}" if failing else f"in all of {len(names)} cases"
        held = sum(all(found[seed] for found in kept.values()) for seed in range(self.seeds))
        return Outcome(self.choice, held, self.seeds, f"{ours}; {where}" if ours else where)


NOTES = {
    "zha-01": "Ours lose 5 to 6 %; why the study's lose more is open.",
    "zha-02": "The flows' starts decide the losses of case 2 and 3; the study has one run of each.",
    "zha-08": "The claim fails by a few tenths of a percent, where BBR itself hardly loses.",
    "zha-13": "BBR+ probes at 1.5 times the bandwidth and loses more than Tsunami in most cases above one BDP.",
    "zha-16": "BBRv2's flows stay below 0.9 for a while after one has come or gone.",
    "zha-18": "BBRv2 and Reno differ by less than a percent in case 1.",
    "zha-24": "Ratios of single runs scatter around both bounds; the means are within 12 % of the published ones.",
    "zha-25": "BBR+ is fairer than published, by 14 % on the average.",
    "zha-26": "BBRv2 exceeds the bound where the link is fastest.",
    "zha-28": "Ours have the published order; the ratio is a quarter larger on the average.",
    "zha-34": "BBRv2's windows grow by packets, which are smaller here than the study's 1460 bytes.",
    "zha-35": "As zha-34.",
    "zha-37": "Reno agrees. Cubic's growth towards Reno's rate counts packets here and 1460 bytes in the study.",
    "zha-39": "BBR+ alone comes near 1 %, in one schedule above it.",
    "zha-40": "Reno agrees; Cubic loses half of the published 0.9 %.",
    "zha-46": "BBRv2 takes too much where the link is fastest, cases 8 and 9.",
    "zha-49": "BBR's two flows have 0.42 to 0.44 with a queue of 2 BDP, BBR+ and Tsunami more than half throughout.",
}
"""Why a claim does not hold plainly."""


def noted(judgements: Sequence[Judgement]) -> list[Judgement]:
    """The judgements with their :data:`NOTES`."""
    return [replace(one, note=NOTES.get(one.claim.id, "") if one.verdict != "holds" else "") for one in judgements]


def published_values(part: str, metric: str) -> dict[tuple[str, str], float]:
    """Published numbers by algorithm and case; with random loss the case is ``2, 5%``."""
    return {
        (number.case["algorithm"], ", ".join(filter(None, (number.case["case"], number.case["loss"])))): number.value
        for number in published(PUBLISHED, part)
        if number.metric == metric
    }


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
        pairs = list(zip(mine, reference, strict=True))
        rows.append([algorithm, "ours", *mine])
        if any(value is not None for value in reference):
            rows.append(["", "published", *reference])
            compare = [None if b is None else a - b if difference else a / b for a, b in pairs]
            rows.append(["", "difference" if difference else "ratio", *compare])
    return Grid(name, title, ["algorithm", "", *cases], rows, digits)


def plain(name: str, title: str, cases: Sequence[str], value: Callable[[str, str], float], digits: int) -> Grid:
    """A row an algorithm, a column a case."""
    rows: list[list[Cell]] = [[algorithm, *(value(algorithm, case) for case in cases)] for algorithm in ALGORITHMS]
    return Grid(name, title, ["algorithm", *cases], rows, digits)


def inside(value: float, low: float, high: float) -> bool:
    """Whether a ratio lies in a published range, within the margin."""
    return low / RATIO_MARGIN <= value <= high * RATIO_MARGIN
