"""The study's figures, each algorithm and each flow in the same colour everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dumbbell.papers.drawing import band, panels, sample, with_band
from dumbbell.papers.zhang.measure import Runs, Trace, Value
from dumbbell.papers.zhang.names import ALGORITHMS
from dumbbell.plots.style import INK, Look, Picture, legend, look

FLOW_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def look_of(algorithm: str) -> Look:
    """The look of an algorithm: familiar ones as everywhere in Dumbbell."""
    familiar = {"BBR": "bbr", "BBRv2": "bbr2", "Cubic": "cubic", "Reno": "reno"}
    own = {
        "BBR'": Look("#E69F00", (0, (6, 1.5)), "v"),
        "BBRPlus": Look("#56B4E9", (0, (4, 1.5, 1, 1.5)), "P"),
        "Tsunami": Look("#000000", "-", "X"),
        "BBR+": Look("#8C510A", (0, (1.5, 1)), "<"),
    }
    return own[algorithm] if algorithm in own else look(familiar[algorithm])


def by_case(runs: Runs, cases: Sequence[str], value: Value, label: str, title: str) -> Picture:
    """A line an algorithm over the cases: means over seeds, in bands from the least to the most."""
    with panels(1, 1, 7.6, 4.4, "case of table 1", label) as (figure, ((axes,),)):
        for algorithm in ALGORITHMS:
            values = [[value(run) for run in runs[algorithm, case]] for case in cases]
            with_band(axes, range(len(cases)), values, look_of(algorithm))
        axes.set_xticks(range(len(cases)), cases)
        axes.set_ylim(bottom=0)
        axes.set_title(title, loc="left")
        legend(figure, [sample(look_of(algorithm), algorithm) for algorithm in ALGORITHMS])
    return figure


def over_time(
    traces: Mapping[str, Sequence[Trace]],
    title: str,
    names: Sequence[str],
    *,
    columns: int = 2,
    capacity: Callable[[float], float] | None = None,
    estimate: bool = True,
    label: str | None = None,
) -> Picture:
    """A panel a case, a line a flow: the bandwidth estimate, as the study draws it, or the throughput.

    Lines are those of the first seed, since the study shows one run; bands reach from the least to the most over seeds.

    Args:
        traces: The seeds of each panel, by its heading.
        title: Above the picture.
        names: Of the flows.
        columns: Panels beside each other.
        capacity: Of the link in Mbit/s at a time, drawn behind.
        estimate: Draw the estimate, or the throughput of an algorithm that has none.
        label: Of the vertical axis, where that tells it apart.
    """
    rows = -(-len(traces) // columns)
    label = label or ("bandwidth estimate (Mbit/s)" if estimate else "throughput (Mbit/s)")
    with panels(rows, columns, 3.7 * columns, 0.9 + 2.2 * rows, "time (s)", label) as (figure, grid):
        for axes, (heading, seeds) in zip(grid.flat, traces.items(), strict=True):
            if capacity is not None:
                t_s = seeds[0].t_s
                steps = [capacity(float(t) - 0.5) for t in t_s]
                axes.plot(t_s, steps, color=INK, linewidth=0.8, linestyle=(0, (1, 2)), drawstyle="steps-mid")
            flows(axes, seeds, estimate)
            axes.set_title(heading, loc="left", fontsize=9)
        grid[0, 0].set_ylim(bottom=0)
        handles: list[Artist] = [
            Line2D([], [], color=colour, label=name) for name, colour in zip(names, FLOW_COLOURS, strict=False)
        ]
        if len(next(iter(traces.values()))) > 1:
            handles.append(Patch(color=INK, alpha=0.18, linewidth=0, label="all seeds"))
        if capacity is not None:
            handles.append(Line2D([], [], color=INK, linewidth=0.8, linestyle=(0, (1, 2)), label="capacity"))
        legend(figure, handles, title)
    return figure


def flows(axes: Axes, seeds: Sequence[Trace], estimate: bool) -> None:
    """The flows of the first seed, in bands over all seeds."""
    for flow, colour in zip(range(len(seeds[0].throughput)), FLOW_COLOURS, strict=False):
        # A flow has no rate before it starts and after it stops.
        shown = np.array([
            np.where(seed.throughput[flow] > 0, (seed.estimate if estimate else seed.throughput)[flow], np.nan)
            for seed in seeds
        ])  # fmt: skip
        sends = ~np.isnan(shown).all(axis=0)
        least, most = np.nanmin(shown[:, sends], axis=0), np.nanmax(shown[:, sends], axis=0)
        axes.plot(seeds[0].t_s, shown[0], color=colour, linewidth=0.9)
        band(axes, seeds[0].t_s[sends], least, most, colour)
