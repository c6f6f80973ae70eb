"""The family's pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dumbbell.papers.drawing import log_x, plain_ticks, sample
from dumbbell.papers.family.measure import NAMES, Run, Runs, bdps, values, where
from dumbbell.papers.testing import mean
from dumbbell.plots.style import INK, Picture, legend, look, picture

if TYPE_CHECKING:
    from dumbbell.papers.family.states import Trace

DASHED: Any = (0, (2, 2))
"""Reference lines."""

BUFFER_TICKS = (0.1, 0.5, 1, 2, 5, 10)


def loss_of(run: Run) -> float:
    """Share of the packets that the network dropped."""
    return run.loss


def use_of(run: Run) -> float:
    """Goodput over what the link can carry."""
    return run.utilisation


def buffers(runs: Runs, situations: Sequence[str], at: Callable[[Runs, str, str, Sequence[str]], Runs]) -> Picture:
    """Loss above, use of the link below, a column a number of flows."""
    sizes, algorithms = values(runs, "buffer"), values(runs, "cc_0")
    x = [bdps(one) for one in sizes]
    with picture(9.6, 4.8) as figure:
        panels = figure.subplots(2, len(situations), sharex=True, sharey="row")
        for column, situation in zip(panels.T, situations, strict=True):
            for cc in algorithms:
                for axes, value in zip(column, (loss_of, use_of), strict=True):
                    y = [100 * mean(at(runs, cc, situation, [one]), value) for one in sizes]
                    axes.plot(x, y, marker=look(cc).marker, markersize=4, **look(cc).line())
            column[0].axhline(2, color=INK, linewidth=0.8, linestyle=DASHED)
            column[0].set_title(situation, loc="left", fontsize=9)
            log_x(column[1], BUFFER_TICKS, "buffer (BDP)")
        panels[0, 0].set_yscale("symlog", linthresh=0.1, linscale=0.5)
        plain_ticks(panels[0, 0].yaxis, [0, 0.1, 0.5, 1, 2, 5, 10, 20])
        panels[0, 0].set_ylim(0, 25)
        panels[0, 0].set_ylabel("loss (%)")
        panels[0, 0].annotate("2 %", (6, 2), xytext=(0, 2), textcoords="offset points", fontsize=8, color=INK)
        panels[1, 0].set_ylabel("use of the link (%)")
        legend(figure, [sample(cc, NAMES[cc]) for cc in algorithms])
    return figure


def coexistence(panels: Mapping[str, Mapping[str, Runs]], rows: int, share: Callable[[Run], float]) -> Picture:
    """Shares over buffers, a panel a mixture, a line a version."""
    with picture(9.2, 4.6) as figure:
        grid = figure.subplots(rows, len(panels) // rows, sharex=True, sharey=True)
        for axes, (title, lines) in zip(grid.flat, panels.items(), strict=True):
            for cc, runs in lines.items():
                sizes = values(runs, "buffer")
                y = [mean(where(runs, buffer=one), share) for one in sizes]
                axes.plot([bdps(one) for one in sizes], y, marker=look(cc).marker, markersize=4, **look(cc).line())
            axes.axhline(1, color=INK, linewidth=0.9, linestyle=DASHED)
            axes.set_title(title, loc="left", fontsize=9)
        for axes in grid[-1]:
            log_x(axes, BUFFER_TICKS, "buffer (BDP)")
        for row in grid:
            row[0].set_ylabel("share (1 is fair)")
        grid[0, 0].set_yscale("log")
        grid[0, 0].set_ylim(0.4, 5)
        plain_ticks(grid[0, 0].yaxis, [0.5, 1, 2, 4])
        legend(figure, [sample(cc, NAMES[cc]) for cc in next(iter(panels.values()))])
    return figure


def ecn(rows: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]], thresholds: Sequence[float]) -> Picture:
    """A panel a measure, a line a sender, a row a number of flows, over the threshold in packets."""

    def style(sender: str) -> dict[str, Any]:
        cc = {"v2": "bbr2", "v3": "bbr3", "CUBIC": "cubic"}[sender.partition(",")[0]]
        on = sender.endswith("ECN")
        return {"color": look(cc).colour, "marker": look(cc).marker, "linestyle": "-" if on else (0, (1.5, 1.2)),
                "markersize": 4, "markerfacecolor": None if on else "white"}  # fmt: skip

    senders = next(iter(rows.values()))
    labels = list(next(iter(senders.values())))
    with picture(9.0, 4.6) as figure:
        panels = figure.subplots(len(rows), len(labels), sharex=True, sharey="col")
        for row, (title, lines) in zip(panels, rows.items(), strict=True):
            for axes, label in zip(row, labels, strict=True):
                for sender, measured in lines.items():
                    if label != "marked (%)" or sender.endswith("ECN"):
                        axes.plot(thresholds, measured[label], **style(sender))
                axes.set_ylabel(label)
                axes.set_title(title, loc="left", fontsize=9)
            row[0].plot(thresholds, thresholds, color=INK, linewidth=0.8)
        panels[0, 0].set_yscale("log")
        panels[0, 0].set_ylim(0.3, 300)
        plain_ticks(panels[0, 0].yaxis, [1, 3, 10, 30, 100])
        for axes in panels[-1]:
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
            axes.plot(percents, y, marker=look(cc).marker, **look(cc).line())
        log_x(axes, [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 50], "random loss p (%)")
        axes.set_ylabel("goodput (Mbit/s)")
        axes.set_ylim(0, 108)
        legend(figure, [sample(cc, NAMES[cc]) for cc in lines])
    return figure


def gains(parts: Mapping[str, pl.DataFrame], origin: float) -> Picture:
    """Pacing gains over the same stretch of time, a panel a variant."""
    with picture(9.0, 6.2) as figure:
        panels = figure.subplots(-(-len(parts) // 2), 2, sharex=True, sharey=True)
        for axes, (name, part) in zip(panels.T.flat, parts.items(), strict=False):
            t = part["t_s"] - origin
            gain = part["cc_pacing_gain"].cast(pl.Float64)
            for beyond, colour in ((gain.clip(lower_bound=1), look("bbr").colour),
                                   (gain.clip(upper_bound=1), look("cubic").colour)):  # fmt: skip
                axes.fill_between(t, beyond, 1, step="post", color=colour, alpha=0.35, linewidth=0)
            axes.step(t, gain, where="post", color=INK, linewidth=0.9)
            axes.set_title(name, loc="left", fontsize=9)
        panels[0, 0].set_ylim(0.4, 1.6)
        panels[0, 0].set_yticks([0.5, 0.75, 1, 1.25, 1.5])
        for axes in panels[:, 0]:
            axes.set_ylabel("gain", fontsize=8)
        for axes in panels[-1]:
            axes.set_xlabel("time (s); a round trip without queue is 0.04 s")
    return figure


# --- states ----------------------------------------------------------------------------------------------------------

SHADES = {
    "startup": "#F6D5C3", "drain": "#CFE3F1", "probe_bw": "#FFFFFF", "probe_rtt": "#E3D3E0",
    "probe_bw_down": "#CFE3F1", "probe_bw_cruise": "#FFFFFF", "probe_bw_refill": "#DDEFE6", "probe_bw_up": "#F6D5C3",
}  # fmt: skip
"""Background of each mode: rising is warm, draining is cold."""


def shade(panels: Sequence[Axes], trace: Trace, begin: float, end: float, origin: float) -> None:
    """Bands for the modes between two times; names above the first panel where there is room."""
    for mode, start, stop in trace.stays():
        left, right = max(start, begin), min(stop, end)
        if right <= left:
            continue
        for axes in panels:
            axes.axvspan(left - origin, right - origin, color=SHADES[mode], linewidth=0, zorder=0)
        word = mode.removeprefix("probe_bw_").upper()
        if right - left > 0.016 * len(word) * (end - begin):
            panels[0].annotate(
                word, ((left + right) / 2 - origin, 1.02), xycoords=("data", "axes fraction"), ha="center", va="bottom",
                fontsize=6.5, annotation_clip=False,
            )  # fmt: skip


def draw(panels: Sequence[Axes], part: pl.DataFrame, origin: float, bdp_packets: float) -> None:
    """Rates, windows, queue and, if there is a fourth panel, round-trip times of a stretch."""
    t = part["t_s"] - origin
    warm, cold, green = look("bbr").colour, look("cubic").colour, look("reno").colour
    panels[0].plot(t, part["pacing_mbps"], color=warm, linewidth=1.1, drawstyle="steps-post")
    panels[0].plot(t, part["cc_max_bw_mbps"], color=cold, linewidth=1.1, linestyle=(0, (4, 1.5)))
    panels[1].plot(t, part["cwnd"], color=warm, linewidth=1.1)
    panels[1].plot(t, part["inflight"], color=cold, linewidth=0.9)
    panels[1].axhline(bdp_packets, color=INK, linewidth=0.8, linestyle=DASHED)
    if "cc_inflight_hi_packets" in part.columns:
        high = part["cc_inflight_hi_packets"].cast(pl.Float64)
        panels[1].plot(t, high, color=green, linewidth=1.2, linestyle=(0, (6, 1.5)))
    panels[2].fill_between(t, part["queue_packets"].cast(pl.Float64).fill_null(0), color="#999999", linewidth=0)
    if len(panels) > 3:
        panels[3].plot(t, part["rtt_ms"], color=INK, linewidth=0.9)
        panels[3].plot(t, part["cc_min_rtt_ms"], color=green, linewidth=1.1, linestyle=(0, (6, 1.5)))


def key(figure: Picture, *names: str) -> None:
    """The legend: which line is what."""
    warm, cold, green = look("bbr").colour, look("cubic").colour, look("reno").colour
    lines: dict[str, Any] = {
        "pacing rate, cwnd": {"color": warm},
        "bandwidth estimate": {"color": cold, "linestyle": (0, (4, 1.5))},
        "in flight": {"color": cold, "linewidth": 0.9},
        "BDP": {"color": INK, "linewidth": 0.8, "linestyle": DASHED},
        "RTT": {"color": INK, "linewidth": 0.9},
        "min RTT estimate": {"color": green, "linestyle": (0, (6, 1.5))},
        "inflight_hi": {"color": green, "linestyle": (0, (6, 1.5))},
    }
    patches = {"queue": "#999999", **{name: SHADES[f"probe_bw_{name.lower()}"] for name in ("REFILL", "UP", "DOWN")}}
    legend(
        figure,
        [
            Line2D([], [], label=name, **lines[name]) if name in lines else Patch(color=patches[name], label=name)
            for name in names
        ],
    )


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
        layout: Passed on to ``Figure.subplots``.
    """
    labels = ("rate (Mbit/s)", "packets", "queue (packets)", "RTT (ms)")
    with picture(9.0, height) as figure:
        panels = figure.subplots(len(tops), len(stretches), sharey="row", **layout)
        for column, (trace, begin, end, origin, title) in zip(panels.T, stretches, strict=True):
            draw(column, trace.between(origin + begin, origin + end), origin, bdp_packets)
            shade(column, trace, origin + begin, origin + end, origin)
            column[0].set_title(title, loc="left", pad=16, **({"fontsize": 9} if len(stretches) > 2 else {}))
            column[-1].set_xlim(begin, end)
            column[-1].set_xlabel(label)
        for axes, words, top in zip(panels[:, 0], labels, tops, strict=False):
            axes.set_ylabel(words)
            axes.set_ylim(0, top)
        key(figure, *names)
    return figure
