"""The study's figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from dumbbell.papers.drawing import panels, shaded
from dumbbell.papers.kato.measure import BUFFERS, published_values, starved
from dumbbell.papers.runs import Cases, Run, total
from dumbbell.papers.testing import mean, near
from dumbbell.plots.style import INK, Picture, ink_on, look, picture

OLD, NEW = "ns-3.40", "ns-3.44"


def sorted_rates(runs: Mapping[str, Run], rows: int, width: float, height: float, size: float) -> Picture:
    """Goodput of each flow, sorted, in rows of panels: figures 2, 5a and 9."""
    with panels(rows, len(runs) // rows, width, height, "flow, sorted", "goodput (Mbit/s)") as (figure, grid):
        for axes, (title, run) in zip(grid.flat, runs.items(), strict=True):
            rates = sorted(run.rates, reverse=True)
            axes.bar(range(1, len(rates) + 1), rates, color=look("bbr3" if title.startswith(NEW) else "bbr").colour)
            axes.set_title(title, loc="left", fontsize=size)
            axes.grid(axis="x", visible=False)
            axes.set_xticks([1, len(rates) // 2, len(rates)])
    return figure


def boxes(cases: Cases) -> Picture:
    """Goodput over flows and seeds: figures 3 and 5b."""
    with panels(1, 2, 8.0, 3.6, "buffer (packets)", "goodput of a flow (Mbit/s)", sharex=False) as (figure, grid):
        for axes, version in zip(grid.flat, (OLD, NEW), strict=True):
            columns = [[rate for run in cases[version, buffer] for rate in run.rates] for buffer in BUFFERS]
            axes.boxplot(columns, tick_labels=list(BUFFERS), whis=(0, 100))
            axes.set_title(f"{version}, all seeds", loc="left")
    return figure


def pacing(panels_of: Mapping[str, tuple[pl.DataFrame, Mapping[int, str]]], trap_mbps: float) -> Picture:
    """Pacing rates over time at 100 packets: figures 4 and 6.

    Args:
        panels_of: Of each version the course of a run and the colours of the flows that the study shows.
        trap_mbps: The rate at which a starved flow stays.
    """
    with panels(1, 2, 8.4, 3.8, "time (s)", "pacing rate (Mbit/s)") as (figure, grid):
        for axes, (version, (frame, chosen)) in zip(grid.flat, panels_of.items(), strict=True):
            flows = sorted(frame["flow"].unique(), key=lambda flow: flow in chosen)
            for place, flow in enumerate(flows):
                one = frame.filter(pl.col("flow") == flow).sort("t_s")
                style: dict[str, Any] = {"color": "#BBBBBB", "linewidth": 0.5, "label": None if place else "others"}
                if flow in chosen:
                    style = {"color": chosen[flow], "linewidth": 1.4, "zorder": 3, "label": f"flow {flow}"}
                axes.plot(one["t_s"], one["pacing_mbps"], **style)
            if version == OLD:
                axes.axhline(trap_mbps, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
                axes.annotate("0.2 packets a round trip", (2, 0.014), fontsize=7, color=INK, va="top")
            axes.set_yscale("log")
            axes.set_title(f"{version}, 100 packets", loc="left")
            axes.legend(loc="center right", fontsize=7)
    return figure


def starving(counts: Mapping[str, Sequence[int]]) -> Picture:
    """Starved flows of each run, a column a combination."""
    with picture(6.0, 3.4) as figure:
        axes = figure.subplots()
        for at, found in enumerate(counts.values()):
            for value in sorted(set(found)):
                axes.scatter(at, value, s=14 * found.count(value), color=look("bbr").colour, zorder=3)
        axes.set_xticks(range(len(counts)), list(counts), fontsize=8)
        axes.set_xlim(-0.5, len(counts) - 0.5)
        axes.set_ylim(-1, 16)
        axes.set_ylabel("flows below 1 Mbit/s, of 16")
        axes.set_title("Starvation needs both (area: runs, over all other rules and seeds)", loc="left")
        axes.grid(axis="x", visible=False)
    return figure


def setups(cases: Mapping[str, Sequence[Sequence[Run]]]) -> Picture:
    """Flows below 1 Mbit/s and the total, for each set-up and buffer."""
    totals = published_values("throughput_total")
    with picture(7.2, 0.9 + 0.27 * len(cases)) as figure:
        axes = figure.subplots()
        grid = [[mean(runs, starved) for runs in by_buffer] for by_buffer in cases.values()]
        shades = axes.imshow(grid, cmap="Blues", vmin=0, vmax=16, aspect="auto")
        for row, by_buffer in enumerate(cases.values()):
            for column, runs in enumerate(by_buffer):
                weight = "bold" if near(mean(runs, total), totals[BUFFERS[column]], 0.1) else "normal"
                style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7, "weight": weight}
                axes.text(column, row, f"{mean(runs, total):.0f}", color=ink_on(shades, grid[row][column]), **style)
        axes.set_yticks(range(len(cases)), list(cases), fontsize=7)
        ticks = [f"{buffer}\n({totals[buffer]:.0f})" for buffer in BUFFERS]
        axes.set_xticks(range(len(BUFFERS)), ticks, fontsize=7)
        axes.set_xlabel("buffer in packets (published total in Mbit/s)")
        axes.set_title("Total in Mbit/s, bold within 10 % of the published one", loc="left", fontsize=9)
        axes.grid(visible=False)
        figure.colorbar(shades, ax=axes, label="flows below 1 Mbit/s, of 16")
    return figure


def windows(cases: Mapping[str, Sequence[Run]]) -> Picture:
    """Total of each run by receive window at 2000 packets; runs with starved flows are hollow."""
    with picture(7.2, 3.6) as figure:
        axes = figure.subplots()
        for at, runs in enumerate(cases.values()):
            for run in runs:
                fill = "none" if starved(run) else look("bbr").colour
                axes.plot(at, total(run), marker="o", color=look("bbr").colour, markerfacecolor=fill, linestyle="none")
        axes.axhline(published_values("throughput_total")["2000"], color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
        axes.set_xticks(range(len(cases)), list(cases), fontsize=8)
        axes.set_xlabel("receive window")
        axes.set_ylabel("total of 16 flows (Mbit/s)")
        axes.set_title("ns-3.40, 2000 packets: dotted is published, hollow has starved flows", loc="left")
    return figure


SCALES = {"Jain's index": ("viridis", 0.3, 1.0), "use of the link": ("viridis", 0.6, 1.0),
          "share lost": ("magma_r", 0.0, 0.3)}  # fmt: skip
"""Colours and their range."""


def heatmap(
    algorithms: Sequence[str],
    buffers: Sequence[str],
    counts: Sequence[str],
    values: Mapping[str, Callable[[str, str, str], float]],
) -> Picture:
    """A row of maps for each algorithm: a value by buffer and number of flows."""
    size = len(algorithms), len(values), 9.5, 2.3 * len(algorithms)
    with panels(*size, "flows", "buffer (BDP)", sharex=False, sharey=False) as (figure, grid):
        for row, cc in zip(grid, algorithms, strict=True):
            for axes, (name, value) in zip(row, values.items(), strict=True):
                colours, low, high = SCALES[name]
                cells = [[value(cc, buffer, count) for count in counts] for buffer in buffers]
                shaded(axes, cells, ".2f", 6.5, cmap=colours, vmin=low, vmax=high, origin="lower")
                axes.set_title(f"{cc}: {name}", loc="left", fontsize=9)
                axes.set_xticks(range(len(counts)), counts)
                axes.set_yticks(range(len(buffers)), [buffer.removesuffix("bdp") for buffer in buffers])
    return figure
