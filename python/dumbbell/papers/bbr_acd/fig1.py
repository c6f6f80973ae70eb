"""Figure 1: delivery rate and round-trip time against what is in flight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from dumbbell.papers.bbr_acd.forms import FOLDER
from dumbbell.papers.model import Cell, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.runs import Run, loss
from dumbbell.papers.testing import average
from dumbbell.results import Result

PACKET_BITS = 1538 * 8
"""On the wire."""
BDP_PACKETS = 10e6 * 0.040 / PACKET_BITS
LIMIT_PACKETS = BDP_PACKETS + 100
"""What pipe and queue hold."""


def in_flight(result: Result) -> float:
    """Mean over the second half of a run, packets."""
    series = result.series.to_polars().filter(pl.col("t_s") > result.meta.sim_s / 2)
    return float(series["inflight"].mean() or 0.0)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Figure:
    """What figure 1 shows."""

    windows: dict[int, list[Run]]
    """The runs of each fixed window, packets."""
    algorithms: dict[str, list[Run]]
    """The runs of each algorithm, seed by seed."""


def measured(windows: Ran, algorithms: Ran) -> Figure:
    """Both experiments."""
    swept = windows.by_one("transport.receive_window")
    return Figure(
        {int(size.removesuffix("B")) // 1448: runs for size, runs in swept.items()},
        algorithms.by_one("flows[0].cc"),
    )


def rate(run: Run) -> float:
    """What left the link, Mbit/s."""
    return float(run.flows[0]["throughput_mbps"])


def rtt(run: Run) -> float:
    """Mean round-trip time in ms."""
    return float(run.flows[0]["mean_rtt_ms"])


VALUES = {"delivery rate (Mbit/s)": rate, "mean RTT (ms)": rtt}
"""What the figure shows."""

COLUMNS: dict[str, Callable[[Sequence[Run]], Cell]] = {
    "in flight": average(lambda run: run.kept),
    "delivery rate Mbit/s": average(rate),
    "RTT ms": average(rtt),
    "lost %": average(lambda run: 100 * loss(run)),
}


def tables(figure: Figure) -> list[Grid]:
    """Every window, and where algorithms operate."""
    title = f"A fixed window; the BDP is {BDP_PACKETS:.1f} packets, with the queue {LIMIT_PACKETS:.1f}"
    windows = (([window], runs) for window, runs in figure.windows.items())
    algorithms = (([cc], runs) for cc, runs in figure.algorithms.items())
    return [
        table("windows", title, ["window (packets)"], windows, COLUMNS),
        table("algorithms", "Algorithms on the same path", ["algorithm"], algorithms, COLUMNS),
    ]


def pictures(figure: Figure) -> Pictures:
    """Figure 1."""
    from dumbbell.papers.bbr_acd import figures

    return {"fig1": figures.operating(figure)}


PART = Part(
    "fig1",
    "Delivery rate and round-trip time against what is in flight",
    [
        Experiment(FOLDER / f"{name}.toml", keep=in_flight, quick={"warmup": "2s"})
        for name in ("fig1", "fig1-algorithms")
    ],
    quick="4s",
    measure=measured,
    setup=[
        "A sender alone over the testbed's 10 Mbit/s with 40 ms and 100 packets of buffer. Its window is fixed, from 2 "
        "to 200 packets: Reno that gives nothing up after a loss, held by the receive window. Beside it BBR, BBR-ACD's "
        "kernel module and CUBIC, 5 seeds.",
        "Means of the second half of 40 s. The paper's figure is a sketch without numbers.",
    ],
    tables=tables,
    pictures=pictures,
)
