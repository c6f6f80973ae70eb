"""The study's figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from statistics import fmean

import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D

from dumbbell.papers.bbr_acd.fig1 import BDP_PACKETS, LIMIT_PACKETS, VALUES, Figure
from dumbbell.papers.bbr_acd.forms import FORMS, name_of
from dumbbell.papers.bbr_acd.table2 import BASE, SCENARIOS, of_sender
from dumbbell.papers.bbr_acd.valley import Point, Points
from dumbbell.papers.drawing import panels
from dumbbell.papers.runs import Cases, loss
from dumbbell.plots.style import INK, Picture, ink_on, legend, look
from dumbbell.results import Result

SENDERS = {"S1": "#D55E00", "S2": "#0072B2"}


def seconds(cases: Cases, cc: str, title: str) -> Picture:
    """Packets a second out of and in from each sender, losses as bars, in each scenario: figures 3 and 9."""
    with panels(2, 2, 9.0, 5.6, "time (s)", "packets a second") as (figure, grid):
        for axes, scenario in zip(grid.flat, SCENARIOS.values(), strict=True):
            run = cases[cc, "40ms", scenario][0]
            for label, colour in SENDERS.items():
                out, into, lost = (of_sender(run, label, column) for column in ("sent", "arrived", "lost"))
                t = range(1, len(out) + 1)
                axes.plot(t, out, color=colour, linewidth=0.6, alpha=0.5)
                axes.plot(t, into, color=colour, linewidth=1.0)
                # One outline takes much less room in a drawing than a rectangle for each of 300 seconds.
                axes.stairs(lost, [0.5, *(second + 0.5 for second in t)], fill=True, color=colour)
            axes.set_title(f"{title}, 40 ms: scenario {scenario}", loc="left", fontsize=9)
        words = "(thin: out, thick: in, bars: lost)"
        legend(figure, [Line2D([], [], color=colour, label=f"{name} {words}") for name, colour in SENDERS.items()])
    return figure


def windows(cases: Cases) -> Picture:
    """Windows of the five flows over two seconds after their startups, for BBR and each form."""
    with panels(2, 2, 9.0, 5.0, "time (s)", "window (segments)") as (figure, grid):
        for axes, cc in zip(grid.flat, (BASE, *FORMS), strict=True):
            late = cases[cc, "100ms", "windows"][0].kept.filter(pl.col("t_s") > 0.85 * pl.col("t_s").max())
            for one in late.sort("flow", "t_s").partition_by("flow", maintain_order=True):
                axes.plot(one["t_s"], one["cwnd"], linewidth=0.8)
            axes.set_title(f"BBR-ACD, {FORMS[cc]} form" if cc in FORMS else "BBR", loc="left", fontsize=9)
        figure.suptitle("Windows of five flows, 100 packets of buffer, 100 ms", x=0.01, ha="left", fontsize=10)
    return figure


def valley(points: Points, maps: Mapping[str, Callable[[Point], float]]) -> Picture:
    """Maps of values by round-trip time and buffer."""
    rtts, buffers = (list(dict.fromkeys(keys)) for keys in zip(*points, strict=True))
    with panels(1, len(maps), 9.5, 3.2, "round-trip time (ms)", "buffer (packets)") as (figure, (row,)):
        for axes, (name, value) in zip(row, maps.items(), strict=True):
            cells = [[value(points[rtt, buffer]) for rtt in rtts] for buffer in buffers]
            shades = axes.imshow(cells, cmap="viridis", norm=LogNorm(0.1, 10), aspect="auto", origin="lower")
            for y, x in product(range(len(buffers)), range(len(rtts))):
                ink = ink_on(shades, cells[y][x])
                axes.text(x, y, f"{cells[y][x]:.2f}", ha="center", va="center", fontsize=6.5, color=ink)
            axes.set_title(name, loc="left", fontsize=9)
            axes.set_xticks(range(len(rtts)), [rtt.removesuffix("ms") for rtt in rtts])
            axes.set_yticks(range(len(buffers)), [buffer.removesuffix("packets") for buffer in buffers])
            axes.grid(visible=False)
    return figure


def operating(shown: Figure) -> Picture:
    """Delivery rate and RTT of fixed windows by what is in flight, and where algorithms operate: figure 1."""
    looks = {cc: (name_of(cc), look("bbr" if cc == BASE else cc)) for cc in shown.algorithms}
    with panels(2, 1, 6.4, 5.0, "in flight (packets)", sharey=False) as (figure, grid):
        for (axes,), (label, value) in zip(grid, VALUES.items(), strict=True):
            for is_lossy, marker, line in ((False, "o", "-"), (True, "x", "none")):
                fixed = [run for (run,) in shown.windows.values() if (loss(run) > 0) is is_lossy]
                x, y = [run.kept for run in fixed], [value(run) for run in fixed]
                axes.plot(x, y, marker=marker, markersize=3, linestyle=line, color=INK)
            for size, (cc, runs) in zip((7, 11, 7), shown.algorithms.items(), strict=True):
                at, mean = fmean(run.kept for run in runs), fmean(map(value, runs))
                # BBR and BBR-ACD alone are the same: one mark has to fit around the other.
                style = {"markersize": size, "markeredgewidth": 1.6, "markerfacecolor": "none"}
                axes.plot(at, mean, marker=looks[cc][1].marker, color=looks[cc][1].colour, **style)
            for at, name in ((BDP_PACKETS, "BDP"), (LIMIT_PACKETS, "BDP and queue")):
                axes.axvline(at, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
                place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "ha": "right"}
                axes.annotate(name, (at, 0.04), xytext=(-4, 0), fontsize=8, **place)
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
        handles = [
            Line2D([], [], color=INK, marker="o", markersize=3, label="fixed window"),
            Line2D([], [], color=INK, marker="x", markersize=3, linestyle="none", label="fixed, with losses"),
        ]
        handles += [
            Line2D([], [], color=one.colour, marker=one.marker, markerfacecolor="none", linestyle="none", label=name)
            for name, one in looks.values()
        ]
        legend(figure, handles, "One flow, 10 Mbit/s, 40 ms, 100 packets of buffer")
    return figure


STARTUP_S = 10.0
"""What the insets of figures 5 and 10 show."""


def simulation(result: Result, title: str, limit: int) -> Picture:
    """Window and RTT of each flow, the queue and its limit (packets), throughput and goodput: figures 5 and 10."""
    series = result.series.to_polars().sort("t_s")
    # Medians, since the samples in recovery and PROBE_RTT of seven flows cover everything else.
    medians = pl.col("cwnd").cast(pl.Float64).rolling_median(10, min_samples=1, center=True).over("flow")
    series = series.with_columns(medians.alias("window"))
    names = {row["name"]: row["link"] for row in result.links.rows()}
    queue = result.link_series.to_polars().filter(pl.col("link") == names["bottleneck"]).sort("t_s")
    with panels(2, 2, 8.4, 5.6, "time (s)", sharey=False) as (figure, grid):
        window, occupancy, rtt, rate = grid.flat
        # Lines of seven flows over each other are one area: of the last one the course can be seen.
        *others, last = series["flow"].unique().sort()
        for flow in (*others, last):
            one = series.filter(pl.col("flow") == flow)
            colour = look("cubic").colour if flow == last else "#BBBBBB"
            name = {last: "one flow", others[0]: "the others"}.get(flow)
            window.plot(one["t_s"], one["window"], color=colour, linewidth=0.7, label=name)
            rtt.plot(one["t_s"], one["rtt_ms"], color=colour, linewidth=0.6)
        occupancy.plot(queue["t_s"], queue["queue_packets"], color=INK, linewidth=0.6)
        occupancy.axhline(limit, color=look("bbr").colour, linewidth=0.8, linestyle=(0, (4, 2)), label="limit")
        occupancy.legend(loc="upper right", fontsize=7)
        # Right after startup ns-3's window may be unlimited for a moment.
        window.set_ylim(0, 1.4 * float(series["window"].quantile(0.995) or 1))
        total = series.group_by("t_s").agg(pl.col("received_mbps", "goodput_mbps").sum()).sort("t_s")
        total = total.with_columns(pl.col("received_mbps", "goodput_mbps").rolling_mean(10, min_samples=1))
        rate.plot(total["t_s"], total["received_mbps"], color=look("cubic").colour, linewidth=0.7, label="link")
        rate.plot(total["t_s"], total["goodput_mbps"], color=look("bbr").colour, linewidth=0.7, label="new data")
        rate.set_ylim(0, 1.1)
        window.legend(loc="upper right", fontsize=7, ncols=2)
        rate.legend(loc="lower right", fontsize=7, ncols=2)
        labels = ("window over 5 s (segments)", "queue (packets)", "RTT (ms)", "rate over 5 s (Mbit/s)")
        for axes, label in zip(grid.flat, labels, strict=True):
            axes.set_ylabel(label)
        occupancy.set_ylim(0, 1.2 * limit)
        # Room for the inset above the lines.
        rtt.set_ylim(0, 2.2 * float(series["rtt_ms"].max() or 1))  # type: ignore[arg-type]
        inset(rtt, series)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    return figure


def inset(rtt: Axes, series: pl.DataFrame) -> None:
    """The RTTs of the startup, which the study gives numbers for, in a panel of their own."""
    small = rtt.inset_axes((0.32, 0.62, 0.64, 0.34))
    for one in series.filter(pl.col("t_s") <= STARTUP_S).drop_nulls("rtt_ms").partition_by("flow", maintain_order=True):
        small.plot(one["t_s"], one["rtt_ms"], linewidth=0.6, color="#888888")
    small.set_ylim(bottom=0)
    small.tick_params(labelsize=6)
    small.set_title(f"first {STARTUP_S:g} s", fontsize=7, pad=2)
