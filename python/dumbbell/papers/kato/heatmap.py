"""The same load for today's algorithms: fairness, utilisation and loss by buffer and number of flows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dumbbell import metrics
from dumbbell.papers.kato.measure import FOLDER
from dumbbell.papers.model import table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.testing import average, mean

if TYPE_CHECKING:
    from dumbbell.plots import Picture

CAPACITY_MBPS = 100 * 1448 / 1500
"""Payload that 100 Mbit/s can carry."""


@dataclass(frozen=True)
class Share:
    """One run."""

    jain: float
    utilisation: float
    """Goodput over the payload that the link can carry."""
    loss: float
    """Segments lost of those sent."""


Cells = dict[tuple[str, str, int], list[Share]]
"""The runs of each algorithm, buffer and number of flows."""


def measure(ran: Ran) -> Cells:
    """Collects the sweep."""
    columns = ("point", "cc", "path.buffer", "goodput_mbps", "retransmits", "sent")
    runs: dict[tuple[int, str, str], list[tuple[float, int, int]]] = {}
    for point, cc, buffer, *values in ran.sweep.flows.to_polars().select(columns).iter_rows():
        runs.setdefault((point, cc, buffer), []).append(tuple(values))
    cells: Cells = {}
    for (_, cc, buffer), flows in runs.items():
        rates, lost, sent = zip(*flows, strict=True)
        share = Share(metrics.jain(rates) or 0.0, sum(rates) / CAPACITY_MBPS, sum(lost) / max(sum(sent), 1))
        cells.setdefault((cc, buffer, len(flows)), []).append(share)
    return cells


VALUES: dict[str, tuple[str, Callable[[Share], float]]] = {
    "Jain": ("Jain's index", lambda share: share.jain),
    "utilisation": ("use of the link", lambda share: share.utilisation),
    "loss": ("share lost", lambda share: share.loss),
}


def pictures(cells: Cells) -> dict[str, Picture]:
    """A row of maps for each algorithm."""
    from dumbbell.papers.kato import figures

    def of(value: Callable[[Share], float]) -> Callable[[str, str, int], float]:
        return lambda *cell: mean(cells[cell], value)

    algorithms, buffers, counts = (list(dict.fromkeys(keys)) for keys in zip(*cells, strict=True))
    maps = {shown: of(value) for shown, value in VALUES.values()}
    return {"heatmap": figures.heatmap(algorithms, buffers, sorted(counts), maps)}


PART = Part(
    "heatmap",
    "1 to 64 flows of bbr, bbr2, bbr3 and cubic over buffers of 0.05 to 2 BDP",
    [Experiment(FOLDER / "heatmap.toml", quick={"warmup": "500ms"})],
    quick="2s",
    measure=measure,
    setup=[
        "100 Mbit/s, 40 ms, drop-tail, Linux's transport, starts within 1 s, 30 s of which the first 10 s do not "
        "count.",
        "Jain's index of the flows' goodput, goodput over the payload the link can carry, and retransmitted of "
        "transmitted segments; means over seeds.",
    ],
    tables=lambda cells: [
        table(
            "heatmap",
            "Fairness, utilisation and loss",
            ("algorithm", "buffer (BDP)", "flows"),
            (((cc, buffer.removesuffix("bdp"), count), runs) for (cc, buffer, count), runs in cells.items()),
            {name: average(value) for name, (_, value) in VALUES.items()},
            3,
        )
    ],
    pictures=pictures,
)
