"""What limits each flow of a run, as far as its tables show it.

The answer is the first of these that holds: nothing arrived, the application offers little, the way back is full, a
policer dropped packets, the link is full, the window is full, and, where the window is not full, pacing. What a sender
may have in flight also ends at the receiver's window and the send buffer. :mod:`dumbbell.why` proves a cause by the run
without it; this is for runs that cannot be repeated at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.plots.timeseries import by_flow, until_the_end
from dumbbell.why.setup import Block, Link, Setup, Subject, in_unit

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.results import Result, SweepResult

BUSY = 0.95
"""A link that is used so much is full."""

NEAR = 0.95
"""In flight is at the window from this part of it on."""

OFTEN = 0.5
"""What holds in this part of the samples is what limits."""

PACED = 1.25
"""A pacing rate of no more than so many times the throughput is what holds it."""

OFFERED = 0.98
"""Goodput of this part of what the application offers is all that it asks for."""


@dataclass(frozen=True)
class Limit:
    """What limits a flow, and what shows it."""

    flow: int
    label: str
    by: str
    evidence: str
    setting: str = ""
    """The setting of a sweep in whose first repetition that is so."""


def limits(result: Result) -> list[Limit]:
    """What limits each flow; empty where something arrived and no time series were recorded."""
    if not len(result.series) and any(row["goodput_mbps"] for row in result.flows.rows()):
        return []
    setup = Setup(result)
    # The resolved form has a block for each flow.
    offers = [_Offer.of(block) for block in setup.experiment.get("flows", [])]
    parts = by_flow(result, ("cwnd", "pacing_mbps"))
    return [
        Limit(index, row["label"], *_of_flow(row, offers[index], parts[index], setup, index))
        for index, row in enumerate(result.flows.rows())
    ]


def of_sweep(sweep: SweepResult, most: int) -> tuple[list[Limit], int]:
    """What limits flows in the first repetition of each setting, up to about ``most``, and how many settings are left.

    Nothing of a sweep that is not on disk.
    """
    firsts = [point for point in sweep.points if point.repeat == 0] if sweep.folder is not None else []
    found: list[Limit] = []
    for number, point in enumerate(firsts):
        if number == most or (found and len(found) + len(sweep.flows) // len(sweep.points) > most):
            return found, len(firsts) - number
        of_point = limits(sweep.load(point))
        found += [replace(limit, setting=point.label) for limit in of_point]
    return found, 0


@dataclass(frozen=True)
class _Offer:
    """What an application offers."""

    mbps: float | None
    """Its rate, where it has a constant one."""
    changes: bool
    read_mbps: float | None
    """The rate at which its receiver reads, where that is constant."""
    read_changes: bool

    @classmethod
    def of(cls, block: Block) -> _Offer:
        """From the block of a flow in the resolved form."""
        rate, read_rate = block.get("rate"), block.get("read_rate")
        offered = block.get("app", {}).get("rate", rate)
        return cls(
            in_unit(offered, "Mbit/s"),
            isinstance(rate, dict),
            in_unit(read_rate, "Mbit/s"),
            isinstance(read_rate, dict),
        )


def busiest_link(result: Result) -> dict[str, Any]:
    """The busiest link."""
    rows = [row for row in result.links.rows() if row["utilization"] is not None]
    return max(rows, key=lambda row: float(row["utilization"]), default={})


def _of_flow(row: dict[str, Any], offer: _Offer, samples: pl.DataFrame, setup: Setup, index: int) -> tuple[str, str]:
    goodput = row["goodput_mbps"] or 0.0
    if goodput == 0 and row["completion_s"] is None:
        return "nothing arrived", f"{row['rto_count_total']} retransmission timeouts"
    if offer.mbps is not None and goodput >= OFFERED * offer.mbps:
        return "its application", f"which offers {offer.mbps:.3g} Mbit/s and gets {goodput:.3g}"
    if offer.read_mbps is not None and goodput >= OFFERED * offer.read_mbps:
        reads = f"which reads {offer.read_mbps:.3g} Mbit/s, and {goodput:.3g} arrive"
        return "the receive window, because of its receiver", reads
    own = Subject(str(row["label"]), "flows", (index,))
    forward, back = setup.forward(own), setup.back(own)
    if (acks := _busiest(back)) is not None and (acks.usage or 0.0) >= BUSY:
        return "the way back, which ACKs fill", f"{acks.name} is used by {100 * (acks.usage or 0.0):.0f} %"
    if policers := [link for link in forward if link.row["drops_policed_total"]]:
        dropped = policers[0].row["drops_policed_total"]
        return f"the policer of {policers[0].name}", f"which dropped {dropped:,} packets"
    link = _busiest(forward)
    used = 0.0 if link is None else link.usage or 0.0
    lost = (row["network_drops"] or 0) / row["sent"] if row["sent"] else 0.0
    full = _share_at_window(until_the_end(samples))
    name = "the link" if link is None else link.name
    shown = f"{name} is used by {100 * used:.0f} %, in flight is at cwnd in {100 * full:.0f} % of samples"
    if used >= BUSY:
        return "the capacity of the link", shown
    if offer.changes:
        return "its application, whose rate changes", shown
    if row["completion_s"] is not None and not row["lost_total"]:
        return "its size", f"all its data was there after {row['completion_s']:.3g} s, and nothing was lost; {shown}"
    if full >= OFTEN:
        losses = f", which {100 * lost:.2g} % losses hold down" if lost > 0 else ""
        return f"its congestion window{losses}", shown
    if _is_paced(samples, row["throughput_mbps"] or 0.0):
        return "its pacing rate", shown
    if offer.read_changes:
        return "the receive window, because its receiver pauses or reads slowly", shown
    return "the receiver's window or the send buffer", shown


def _busiest(links: Sequence[Link]) -> Link | None:
    """The one that is used most while the flow has data."""
    return max((link for link in links if link.usage is not None), key=lambda link: link.usage or 0.0, default=None)


def _is_paced(samples: pl.DataFrame, throughput: float) -> bool:
    """Whether the pacing rate is near what leaves; that of a sender which does not pace is far above."""
    rates = samples["pacing_mbps"].cast(float).drop_nulls().to_numpy()
    return rates.size > 0 and float(np.median(rates)) <= PACED * throughput


def _share_at_window(samples: pl.DataFrame) -> float:
    """The part of samples in which in flight is at the window."""
    window = samples["cwnd"].cast(float).fill_null(np.nan).to_numpy()
    inflight = samples["inflight"].cast(float).fill_null(np.nan).to_numpy()
    return float(np.nanmean(inflight >= NEAR * window)) if window.size else 0.0
