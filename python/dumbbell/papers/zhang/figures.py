"""The study's figures, each algorithm and each flow in the same colour everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from matplotlib.lines import Line2D

from dumbbell.papers.drawing import panels, sample, with_ranges
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
    """A line an algorithm over the cases: mean and range over seeds."""
    with panels(1, 1, 7.6, 4.4, "case of table 1", label) as (figure, ((axes,),)):
        for position, algorithm in enumerate(ALGORITHMS):
            x = [index + 0.06 * (position - 3.5) for index in range(len(cases))]
            with_ranges(axes, x, [[value(run) for run in runs[algorithm, case]] for case in cases], look_of(algorithm))
        axes.set_xticks(range(len(cases)), cases)
        axes.set_ylim(bottom=0)
        axes.set_title(title, loc="left")
        legend(figure, [sample(look_of(algorithm), algorithm) for algorithm in ALGORITHMS])
    return figure


def over_time(
    traces: Mapping[str, Trace | None],
    title: str,
    names: Sequence[str],
    *,
    columns: int = 2,
    capacity: Callable[[float], float] | None = None,
    estimate: bool = True,
    label: str | None = None,
) -> Picture:
    """A panel a run, a line a flow: the bandwidth estimate, as the study draws it, or the throughput.

    Args:
        traces: By the heading of their panel, which is left out without one.
        title: Above the picture.
        names: Of the flows.
        columns: Panels beside each other.
        capacity: Of the link in Mbit/s at a time, drawn behind.
        estimate: Draw the estimate, or the throughput of an algorithm that has none.
        label: Of the vertical axis, where that tells it apart.
    """
    drawn = {heading: trace for heading, trace in traces.items() if trace is not None}
    rows = -(-len(drawn) // columns)
    label = label or ("bandwidth estimate (Mbit/s)" if estimate else "throughput (Mbit/s)")
    with panels(rows, columns, 3.7 * columns, 0.9 + 2.2 * rows, "time (s)", label) as (figure, grid):
        for axes in grid.flat[len(drawn) :]:
            axes.set_visible(False)
        for axes, (heading, trace) in zip(grid.flat, drawn.items(), strict=False):
            if capacity is not None:
                steps = [capacity(float(t) - 0.5) for t in trace.t_s]
                axes.plot(trace.t_s, steps, color=INK, linewidth=0.8, linestyle=(0, (1, 2)), drawstyle="steps-mid")
            rows_shown = trace.estimate if estimate else trace.throughput
            for row, rates, colour in zip(rows_shown, trace.throughput, FLOW_COLOURS, strict=False):
                shown = [value if rate > 0 else None for value, rate in zip(row, rates, strict=True)]
                axes.plot(trace.t_s, shown, color=colour, linewidth=0.9)
            axes.set_title(heading, loc="left", fontsize=9)
        grid[0, 0].set_ylim(bottom=0)
        handles = [Line2D([], [], color=colour, label=name) for name, colour in zip(names, FLOW_COLOURS, strict=False)]
        if capacity is not None:
            handles.append(Line2D([], [], color=INK, linewidth=0.8, linestyle=(0, (1, 2)), label="capacity"))
        legend(figure, handles, title)
    return figure
