"""What the study measures, from Dumbbell's tables.

Throughput counts UDP payload, as the study's receivers do: on average 1010 of the 1040 bytes of a packet on the wire,
so that a full link shows 0.971 of its capacity. Loss is what the network dropped over what was sent, delay the mean
over all packets that arrived, both over the flows of a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from dumbbell import metrics
from dumbbell.papers import runs
from dumbbell.papers.part import Ran
from dumbbell.results import Result

FloatArray = NDArray[np.float64]

PAYLOAD, STREAM, WIRE = 1010, 990, 1040
"""Mean bytes of a packet: UDP payload, what the transport counts, and on the wire. The study's sender asks its
application for 3000 bytes whenever it has none and sends them as 1400, 1400 and 200."""


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

        throughput = rows("received_mbps") * PAYLOAD / WIRE
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
