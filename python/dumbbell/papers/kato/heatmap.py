"""The same load for today's algorithms: fairness, utilisation and loss by buffer and number of flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from dumbbell import metrics
from dumbbell.papers import data
from dumbbell.papers.model import Cell, Claim, Grid, Options, Provenance, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

    from dumbbell.plots import Picture
    from dumbbell.results import SweepResult

TITLE = "1 to 64 flows of bbr, bbr2, bbr3 and cubic over buffers of 0.05 to 2 BDP"

SCENARIO = Path(__file__).with_name("heatmap.toml")
QUICK = "2s"

CLAIMS: tuple[Claim, ...] = ()
"""The paper says nothing about them."""

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


Cell3 = dict[tuple[str, str, int], list[Share]]


def reproduce(options: Options) -> Report:
    """Runs every algorithm at every buffer and number of flows."""
    result = data.run(SCENARIO, options, quick=QUICK, set={"warmup": "500ms"} if options.quick else None)
    cells = measure(result)
    report = Report(
        study="kato",
        part="heatmap",
        title=TITLE,
        setup=(
            "100 Mbit/s, 40 ms, drop-tail, Linux's transport, starts within 1 s, 30 s of which the first 10 s do not "
            "count.",
            "Jain's index of the flows' goodput, goodput over the payload the link can carry, and retransmitted of "
            "transmitted segments; means over seeds.",
        ),
        tables=(table(cells),),
        pictures={"heatmap": picture_of(cells)},
        judgements=(),
        provenance=Provenance.of([result], {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report


def measure(result: SweepResult) -> Cell3:
    """Collects the sweep by algorithm, buffer and number of flows."""
    runs: dict[tuple[int, str, str], list[tuple[float, int, int]]] = {}
    columns = ("point", "cc", "path.buffer", "goodput_mbps", "retransmits", "sent")
    for point, cc, buffer, *values in result.flows.to_polars().select(columns).iter_rows():
        runs.setdefault((point, cc, buffer), []).append(tuple(values))
    cells: Cell3 = {}
    for (_, cc, buffer), flows in runs.items():
        rates = [rate for rate, _, _ in flows]
        share = Share(
            metrics.jain(rates) or 0.0,
            sum(rates) / CAPACITY_MBPS,
            sum(lost for _, lost, _ in flows) / max(sum(sent for _, _, sent in flows), 1),
        )
        cells.setdefault((cc, buffer, len(flows)), []).append(share)
    return cells


def axes_of(cells: Cell3) -> tuple[list[str], list[str], list[int]]:
    """Algorithms, buffers and numbers of flows, in the file's order."""
    algorithms, buffers, counts = (list(dict.fromkeys(key[i] for key in cells)) for i in range(3))
    return [str(a) for a in algorithms], [str(b) for b in buffers], sorted(int(c) for c in counts)


VALUES: tuple[tuple[str, Callable[[Share], float]], ...] = (
    ("Jain", lambda share: share.jain),
    ("utilisation", lambda share: share.utilisation),
    ("loss", lambda share: share.loss),
)


SHOWN = {"Jain": "Jain's index", "utilisation": "use of the link", "loss": "share lost"}


def table(cells: Cell3) -> Grid:
    """One row a cell."""
    rows: list[list[Cell]] = [
        [cc, buffer.removesuffix("bdp"), count, *(fmean(map(value, runs)) for _, value in VALUES)]
        for (cc, buffer, count), runs in cells.items()
    ]
    columns = ("algorithm", "buffer (BDP)", "flows", *(name for name, _ in VALUES))
    return Grid("heatmap", "Fairness, utilisation and loss", columns, rows, 3)


def picture_of(cells: Cell3) -> Picture:
    """A row of maps for each algorithm."""
    from dumbbell.plots.style import picture

    algorithms, buffers, counts = axes_of(cells)
    scales = {"Jain": ("viridis", 0.3, 1.0), "utilisation": ("viridis", 0.6, 1.0), "loss": ("magma_r", 0.0, 0.3)}
    with picture(9.5, 2.3 * len(algorithms)) as figure:
        panels = figure.subplots(len(algorithms), len(VALUES), squeeze=False)
        for row, cc in zip(panels, algorithms, strict=True):
            for axes, (name, value) in zip(row, VALUES, strict=True):
                grid = [[fmean(map(value, cells[cc, b, n])) for n in counts] for b in buffers]
                colours, low, high = scales[name]
                shades = axes.imshow(grid, cmap=colours, vmin=low, vmax=high, aspect="auto", origin="lower")
                _label(axes, grid, shades)
                axes.set_title(f"{cc}: {SHOWN[name]}", loc="left", fontsize=9)
                axes.set_xticks(range(len(counts)), [str(count) for count in counts])
                axes.set_yticks(range(len(buffers)), [b.removesuffix("bdp") for b in buffers])
                axes.grid(visible=False)
            row[0].set_ylabel("buffer (BDP)")
        for axes in panels[-1]:
            axes.set_xlabel("flows")
    return figure


def _label(axes: Axes, grid: Sequence[Sequence[float]], shades: AxesImage) -> None:
    from dumbbell.plots.style import ink_on

    for y, row in enumerate(grid):
        for x, value in enumerate(row):
            colour = ink_on(shades, value)
            axes.text(x, y, f"{value:.2f}", ha="center", va="center", fontsize=6.5, color=colour)
