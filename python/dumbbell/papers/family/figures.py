"""The family's pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dumbbell.papers.drawing import log_x, marks, panels, plain_ticks, sample
from dumbbell.papers.family.measure import NAMES, Runs, bdps, percent_lost, percent_used, share
from dumbbell.papers.runs import Run
from dumbbell.papers.testing import mean
from dumbbell.plots.style import INK, Picture, legend, look, picture

if TYPE_CHECKING:
    from dumbbell.papers.family.states import Trace

DASHED: Any = (0, (2, 2))
"""Reference lines."""

Lines = Mapping[str, Mapping[str, Runs]]
"""The runs of each line by what the horizontal axis shows."""

BUFFER_TICKS = (0.1, 0.5, 1, 2, 5, 10)


def over_buffers(axes: Axes, lines: Lines, value: Callable[[Run], float]) -> None:
    """A line an algorithm over the size of the buffer: means over seeds."""
    for cc, by_buffer in lines.items():
        y = [mean(runs, value) for runs in by_buffer.values()]
        axes.plot(list(map(bdps, by_buffer)), y, markersize=4, **marks(look(cc)))


def buffers(situations: Mapping[str, Lines]) -> Picture:
    """Loss above, use of the link below, a column a number of flows."""
    with panels(2, len(situations), 9.6, 4.8, sharey="row") as (figure, grid):
        for column, (situation, lines) in zip(grid.T, situations.items(), strict=True):
            for axes, value in zip(column, (percent_lost, percent_used), strict=True):
                over_buffers(axes, lines, value)
            column[0].axhline(2, color=INK, linewidth=0.8, linestyle=DASHED)
            column[0].set_title(situation, loc="left", fontsize=9)
            log_x(column[1], BUFFER_TICKS, "buffer (BDP)")
        grid[0, 0].set_yscale("symlog", linthresh=0.1, linscale=0.5)
        plain_ticks(grid[0, 0].yaxis, [0, 0.1, 0.5, 1, 2, 5, 10, 20])
        grid[0, 0].set_ylim(0, 25)
        grid[0, 0].set_ylabel("loss (%)")
        grid[0, 0].annotate("2 %", (6, 2), xytext=(0, 2), textcoords="offset points", fontsize=8, color=INK)
        grid[1, 0].set_ylabel("use of the link (%)")
        legend(figure, [sample(look(cc), NAMES[cc]) for cc in next(iter(situations.values()))])
    return figure


def coexistence(mixtures: Mapping[str, Lines], rows: int) -> Picture:
    """Shares over buffers, a panel a mixture, a line a version."""
    with panels(rows, len(mixtures) // rows, 9.2, 4.6, y="share (1 is fair)") as (figure, grid):
        for axes, (title, lines) in zip(grid.flat, mixtures.items(), strict=True):
            over_buffers(axes, lines, share)
            axes.axhline(1, color=INK, linewidth=0.9, linestyle=DASHED)
            axes.set_title(title, loc="left", fontsize=9)
        for axes in grid[-1]:
            log_x(axes, BUFFER_TICKS, "buffer (BDP)")
        grid[0, 0].set_yscale("log")
        grid[0, 0].set_ylim(0.4, 5)
        plain_ticks(grid[0, 0].yaxis, [0.5, 1, 2, 4])
        legend(figure, [sample(look(cc), NAMES[cc]) for cc in next(iter(mixtures.values()))])
    return figure


def ecn(rows: Mapping[str, Lines], measures: Mapping[str, Callable[[Run], float]]) -> Picture:
    """A panel a measure, a line a sender, a row a number of flows, over the threshold in packets."""

    def style(sender: str) -> dict[str, Any]:
        cc = {"v2": "bbr2", "v3": "bbr3", "CUBIC": "cubic"}[sender.partition(",")[0]]
        on = sender.endswith("ECN")
        return {"color": look(cc).colour, "marker": look(cc).marker, "linestyle": "-" if on else (0, (1.5, 1.2)),
                "markersize": 4, "markerfacecolor": None if on else "white"}  # fmt: skip

    senders = next(iter(rows.values()))
    thresholds = [float(one.removesuffix("packets")) for one in senders["v2"]]
    with panels(len(rows), len(measures), 9.0, 4.6, sharey="col") as (figure, grid):
        for row, (title, lines) in zip(grid, rows.items(), strict=True):
            for axes, (label, value) in zip(row, measures.items(), strict=True):
                for sender, by_threshold in lines.items():
                    if label != "marked (%)" or sender.endswith("ECN"):
                        axes.plot(thresholds, [mean(runs, value) for runs in by_threshold.values()], **style(sender))
                axes.set_ylabel(label)
                axes.set_title(title, loc="left", fontsize=9)
            row[0].plot(thresholds, thresholds, color=INK, linewidth=0.8)
        grid[0, 0].set_yscale("log")
        grid[0, 0].set_ylim(0.3, 300)
        plain_ticks(grid[0, 0].yaxis, [1, 3, 10, 30, 100])
        for axes in grid[-1]:
            log_x(axes, thresholds, "threshold (packets)")
        threshold = Line2D([], [], color=INK, linewidth=0.8, label="threshold")
        legend(figure, [*(Line2D([], [], label=sender, **style(sender)) for sender in senders), threshold])
    return figure


def loss(lines: Mapping[str, Sequence[float]], percents: Sequence[float], capacity: float) -> Picture:
    """Goodput over loss with the ideal line."""
    with picture(7.0, 3.8) as figure:
        axes = figure.subplots()
        ideal = [capacity * (1 - p / 100) for p in percents]
        axes.plot(percents, ideal, color=INK, linewidth=0.9, linestyle=DASHED)
        axes.annotate("(1 - p) of the link", (0.02, capacity), xytext=(0, 3), textcoords="offset points",
                      fontsize=8, color=INK)  # fmt: skip
        for cc, y in lines.items():
            axes.plot(percents, y, **marks(look(cc)))
        log_x(axes, [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 50], "random loss p (%)")
        axes.set_ylabel("goodput (Mbit/s)")
        axes.set_ylim(0, 108)
        legend(figure, [sample(look(cc), NAMES[cc]) for cc in lines])
    return figure


def gains(parts: Mapping[str, pl.DataFrame], origin: float) -> Picture:
    """Pacing gains over the same stretch of time, a panel a variant."""
    label = "time (s); a round trip without queue is 0.04 s"
    with panels(-(-len(parts) // 2), 2, 9.0, 6.2, label) as (figure, grid):
        for axes, (name, part) in zip(grid.T.flat, parts.items(), strict=False):
            t = part["t_s"] - origin
            gain = part["cc_pacing_gain"].cast(pl.Float64)
            for beyond, colour in ((gain.clip(lower_bound=1), look("bbr").colour),
                                   (gain.clip(upper_bound=1), look("cubic").colour)):  # fmt: skip
                axes.fill_between(t, beyond, 1, step="post", color=colour, alpha=0.35, linewidth=0)
            axes.step(t, gain, where="post", color=INK, linewidth=0.9)
            axes.set_title(name, loc="left", fontsize=9)
        grid[0, 0].set_ylim(0.4, 1.6)
        grid[0, 0].set_yticks([0.5, 0.75, 1, 1.25, 1.5])
        for axes in grid[:, 0]:
            axes.set_ylabel("gain", fontsize=8)
    return figure


# --- states ----------------------------------------------------------------------------------------------------------

SHADES = {
    "startup": "#F6D5C3", "drain": "#CFE3F1", "probe_bw": "#FFFFFF", "probe_rtt": "#E3D3E0",
    "probe_bw_down": "#CFE3F1", "probe_bw_cruise": "#FFFFFF", "probe_bw_refill": "#DDEFE6", "probe_bw_up": "#F6D5C3",
}  # fmt: skip
"""Background of each mode: rising is warm, draining is cold."""


def shade(column: Sequence[Axes], trace: Trace, begin: float, end: float, origin: float) -> None:
    """Bands for the modes between two times; names above the first panel where there is room."""
    for mode, start, stop in trace.stays():
        left, right = max(start, begin), min(stop, end)
        if right <= left:
            continue
        for axes in column:
            axes.axvspan(left - origin, right - origin, color=SHADES[mode], linewidth=0, zorder=0)
        word = mode.removeprefix("probe_bw_").upper()
        if right - left > 0.016 * len(word) * (end - begin):
            column[0].annotate(
                word, ((left + right) / 2 - origin, 1.02), xycoords=("data", "axes fraction"), ha="center", va="bottom",
                fontsize=6.5, annotation_clip=False,
            )  # fmt: skip


LINES: dict[str, dict[str, Any]] = {
    "pacing rate, cwnd": {"color": look("bbr").colour, "linewidth": 1.1},
    "bandwidth estimate": {"color": look("cubic").colour, "linewidth": 1.1, "linestyle": (0, (4, 1.5))},
    "in flight": {"color": look("cubic").colour, "linewidth": 0.9},
    "BDP": {"color": INK, "linewidth": 0.8, "linestyle": DASHED},
    "RTT": {"color": INK, "linewidth": 0.9},
    "min RTT estimate": {"color": look("reno").colour, "linewidth": 1.1, "linestyle": (0, (6, 1.5))},
    "inflight_hi": {"color": look("reno").colour, "linewidth": 1.2, "linestyle": (0, (6, 1.5))},
}
PATCHES = {"queue": "#999999", **{name: SHADES[f"probe_bw_{name.lower()}"] for name in ("REFILL", "UP", "DOWN")}}


def draw(column: Sequence[Axes], part: pl.DataFrame, origin: float, bdp_packets: float) -> None:
    """Rates, windows, queue and, if there is a fourth panel, round-trip times of a stretch."""
    t = part["t_s"] - origin
    column[0].plot(t, part["pacing_mbps"], drawstyle="steps-post", **LINES["pacing rate, cwnd"])
    column[0].plot(t, part["cc_max_bw_mbps"], **LINES["bandwidth estimate"])
    column[1].plot(t, part["cwnd"], **LINES["pacing rate, cwnd"])
    column[1].plot(t, part["inflight"], **LINES["in flight"])
    column[1].axhline(bdp_packets, **LINES["BDP"])
    if "cc_inflight_hi_packets" in part.columns:
        column[1].plot(t, part["cc_inflight_hi_packets"].cast(pl.Float64), **LINES["inflight_hi"])
    queue = part["queue_packets"].cast(pl.Float64).fill_null(0)
    column[2].fill_between(t, queue, color=PATCHES["queue"], linewidth=0)
    if len(column) > 3:
        column[3].plot(t, part["rtt_ms"], **LINES["RTT"])
        column[3].plot(t, part["cc_min_rtt_ms"], **LINES["min RTT estimate"])


def sample_of(name: str) -> Line2D | Patch:
    """The entry of a line or a band in the legend."""
    return Line2D([], [], label=name, **LINES[name]) if name in LINES else Patch(color=PATCHES[name], label=name)


def columns(
    stretches: Sequence[tuple[Trace, float, float, float, str]],
    tops: Sequence[float],
    label: str,
    names: Sequence[str],
    height: float,
    bdp_packets: float,
    **layout: Any,
) -> Picture:
    """Stretches of runs beside each other: rates, windows, queue and round-trip times, with a band for each mode.

    Args:
        stretches: Trace, begin and end from an origin of time, that origin, and the title of each, in seconds.
        tops: Upper ends of the vertical axes, a row each.
        label: Of the horizontal axes.
        names: Entries of the legend.
        height: Of the picture in inches.
        bdp_packets: Drawn in the row of windows.
        layout: Passed on to :func:`panels`.
    """
    labels = ("rate (Mbit/s)", "packets", "queue (packets)", "RTT (ms)")
    with panels(len(tops), len(stretches), 9.0, height, label, sharey="row", **layout) as (figure, grid):
        for column, (trace, begin, end, origin, title) in zip(grid.T, stretches, strict=True):
            draw(column, trace.between(origin + begin, origin + end), origin, bdp_packets)
            shade(column, trace, origin + begin, origin + end, origin)
            column[0].set_title(title, loc="left", pad=16, **({"fontsize": 9} if len(stretches) > 2 else {}))
            column[-1].set_xlim(begin, end)
        for axes, words, top in zip(grid[:, 0], labels, tops, strict=False):
            axes.set_ylabel(words)
            axes.set_ylim(0, top)
        legend(figure, list(map(sample_of, names)))
    return figure
