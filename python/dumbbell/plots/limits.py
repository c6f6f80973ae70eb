"""What keeps flows from sending more, as a band over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from dumbbell.inference import FloatArray
from dumbbell.plots.style import caption, ink, small

if TYPE_CHECKING:
    import polars as pl

BINS = 120
"""How many bins a band has: each shows the shares of its samples."""

MOST_LETTERS = 12
"""Longer names of rows are cut."""

LOOKS: dict[str, tuple[str, str]] = {
    "link": ("#DDDDDD", ""),
    "cwnd": ("#999999", ""),
    "pacing": ("#999999", "///"),
    "slow_start": ("#009E73", ""),
    "probe_rtt": ("#CC79A7", ""),
    "recovery": ("#E69F00", ""),
    "timeout": ("#D55E00", ""),
    "receive_window": ("#0072B2", ""),
    "send_buffer": ("#0072B2", "///"),
    "application": ("#56B4E9", ""),
    "nagle": ("#56B4E9", "///"),
    "host_queue": ("#56B4E9", "..."),
}
"""Colour and hatch of everything that may limit a flow, from the bottom of a row to its top: the network grey, the
controller green and pink, losses orange and red, both ends blue."""


def band(axes: Axes, rows: Sequence[tuple[str, pl.DataFrame]]) -> list[Patch]:
    """Draws a row for each name with its samples (``t_s``, ``limited_by``), the first one on top.

    A row is one high, and each of its bins shows which share of its samples was limited by what. Returns the entries of
    the legend.
    """
    present: set[str] = set()
    for place, (_, samples) in enumerate(reversed(rows)):
        edges, shares = binned(samples)
        base = np.full(edges.size - 1, float(place))
        for limit, (colour, hatch) in LOOKS.items():
            if (share := shares.get(limit)) is None:
                continue
            look: dict[str, Any] = {"facecolor": colour, "hatch": hatch, "edgecolor": ink(), "linewidth": 0}
            axes.stairs(base + share, edges, baseline=base, fill=True, **look, label=f"{place}: {limit}")
            base = base + share
            present.add(limit)
        if place:
            axes.axhline(place, color=ink(), linewidth=0.6)
    axes.set_ylim(0, max(1, len(rows)))
    axes.set_yticks([place + 0.5 for place in range(len(rows))] if len(rows) > 1 else [])
    if len(rows) > 1:
        names = [name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…" for name, _ in reversed(rows)]
        axes.set_yticklabels([caption(name) for name in names], fontsize=small())
    return [
        Patch(facecolor=colour, hatch=hatch, edgecolor=ink(), linewidth=0, label=_name(limit))
        for limit, (colour, hatch) in LOOKS.items()
        if limit in present
    ]


def binned(samples: pl.DataFrame) -> tuple[FloatArray, dict[str, FloatArray]]:
    """The edges of bins in seconds, and for each limit its share of the samples of each bin."""
    t = samples["t_s"].to_numpy()
    if t.size == 0:
        return np.zeros(1), {}
    step = float(t[1] - t[0]) if t.size > 1 else float(t[0])
    width = -(-t.size // BINS)
    starts = np.arange(0, t.size, width)
    # A sample stands for the time up to it.
    edges = np.append(t[starts] - step, t[-1])
    names = samples["limited_by"].cast(str).to_numpy()
    counts = np.diff(np.append(starts, t.size))
    return edges, {limit: np.add.reduceat(names == limit, starts) / counts for limit in LOOKS if limit in names}


def _name(limit: str) -> str:
    """As it stands in a legend, where a link may be an area that shows its capacity."""
    return "full link" if limit == "link" else limit.replace("_", " ")
