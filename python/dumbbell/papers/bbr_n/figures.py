"""BBR-n's pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dumbbell.papers.bbr_n.measure import (
    FOLDER,
    NAMES,
    PUBLISHED_AS,
    Spread,
    Trial,
    deviations,
    downloaded,
    pinged,
    table_values,
    uploaded,
)
from dumbbell.papers.drawing import log_x, panels, sample, shaded
from dumbbell.papers.runs import Cases, Run
from dumbbell.papers.testing import mean
from dumbbell.plots.style import INK, Look, Picture, legend, look, looks, picture

if TYPE_CHECKING:
    from dumbbell.papers.bbr_n.startup import Measured

DEVIATION = "published: mean and standard deviation of the recovered samples"

Series = Callable[[Trial], Sequence[float]]

RATE, PING = "throughput (Mbit/s)", "ping (ms)"


def startup(measured: Measured) -> Picture:
    """Growth of the bandwidth over rounds: the paper's model and Linux's sender."""
    from dumbbell.papers.bbr_n.startup import grown

    styles = dict(zip(measured.model, (look("bbr2"), look("bbr")), strict=True))
    with panels(1, 2, 8.6, 3.2, "round", "bandwidth over that of the round before") as (figure, grid):
        for axes, title in zip(grid[0], ("the paper's model", "Linux's BBR v1, 20 Gbit/s"), strict=True):
            for gain, rows in measured.model.items():
                growth = [row.growth for row in rows] if title.startswith("the") else [0, *grown(measured.linux[gain])]
                shown = [(number, value) for number, value in enumerate(growth[:15], 1) if value > 1]
                style = styles[gain]
                axes.plot(*zip(*shown, strict=True), marker=style.marker, markersize=4, **style.line())
            axes.axhline(2, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))
            axes.set_title(title, loc="left", fontsize=9)
            axes.set_ylim(1.5, 2.15)
        legend(figure, [sample(style, f"gain {gain}") for gain, style in styles.items()])
    return figure


def values(runs: Sequence[Run], series: Series) -> list[float]:
    """The samples of all seeds."""
    return [value for run in runs for value in series(run.kept)]


def draw_boxes(axes: Axes, columns: Mapping[str, Sequence[float]], colours: Sequence[str]) -> None:
    """Quartiles, whiskers from the 5th to the 95th percentile."""
    drawn = axes.boxplot(
        list(columns.values()), tick_labels=list(columns), whis=(5, 95), showfliers=False, patch_artist=True,
        medianprops={"color": INK},
    )  # fmt: skip
    for box, colour in zip(drawn["boxes"], colours, strict=True):
        box.set_facecolor(colour)
        box.set_alpha(0.6)
    axes.grid(axis="x", visible=False)


def published_marks(axes: Axes, theirs: Sequence[Spread | None]) -> None:
    """What was published beside boxes at 1, 2 and so on: the mean, and a line to the ends of its spread."""
    for place, found in enumerate(theirs, 1):
        if found:
            mean, least, most = found
            axes.errorbar(
                place + 0.36, mean, yerr=[[mean - least], [most - mean]], marker="D", markersize=4.5, color=INK,
                markerfacecolor="white", elinewidth=0.9, capsize=2, zorder=5,
            )  # fmt: skip


def published_sample(words: str) -> Line2D:
    """Their entry in a legend."""
    return Line2D([], [], label=words, color=INK, marker="D", markersize=4.5, markerfacecolor="white", linewidth=0.9)


def by_algorithm(
    axes: Axes, algorithms: Mapping[str, Sequence[Run]], series: Series, theirs: Mapping[str, Spread]
) -> None:
    """A box an algorithm: BBR and what derives from it in one colour, all others in another."""
    columns = {name.partition(" (")[0]: values(runs, series) for name, runs in algorithms.items()}
    draw_boxes(axes, columns, [look("bbr" if "BBR" in name else "cubic").colour for name in columns])
    published_marks(axes, [theirs.get(name) for name in algorithms])
    axes.tick_params(axis="x", rotation=60, labelsize=7)


def boxes(devices: Mapping[str, Mapping[str, Sequence[Run]]]) -> Picture:
    """Throughput above, ping below, a column a device: figure 8."""
    with panels(2, len(devices), 9.6, 5.4, sharex=False, sharey="row") as (figure, grid):
        for column, (title, algorithms) in zip(grid.T, devices.items(), strict=True):
            for axes, (name, series) in zip(column, {"upload": uploaded, "ping": pinged}.items(), strict=True):
                by_algorithm(axes, algorithms, series, deviations("single", name))
            column[0].set_title(title, loc="left", fontsize=9)
        grid[0, 0].set_ylabel(RATE)
        grid[1, 0].set_ylabel(PING)
        legend(figure, [published_sample(DEVIATION)])
    return figure


def styles_of(algorithms: Sequence[str]) -> dict[str, Look]:
    """A look for each algorithm."""
    chosen = looks([(cc, cc) for cc in algorithms])
    return {cc: chosen[cc, cc] for cc in algorithms}


def pings(panels_of: Mapping[str, Mapping[str, Sequence[Run]]], theirs: Mapping[str, float] | None = None) -> Picture:
    """Distributions of the pings, a panel a set-up, and published medians: figures 12, 18 and 19."""
    styles = styles_of(list(next(iter(panels_of.values()))))
    with panels(1, len(panels_of), 9.6, 3.4, y="share of pings") as (figure, grid):
        for axes, (title, algorithms) in zip(grid[0], panels_of.items(), strict=True):
            for cc, runs in algorithms.items():
                ordered = np.sort(values(runs, lambda trial: trial.loaded))
                axes.plot(ordered, np.arange(1, ordered.size + 1) / ordered.size, linewidth=1.1, **styles[cc].line())
                if theirs and cc in theirs:
                    hollow = {"markerfacecolor": "none", "markersize": 9, "markeredgewidth": 1.3}
                    axes.plot([theirs[cc]], [0.5], marker="D", color=styles[cc].colour, **hollow)
            log_x(axes, (1, 3, 10, 30, 100, 300, 1000), PING)
            axes.set_title(title, loc="left", fontsize=9)
        words = [
            Line2D([], [], label="published median", linestyle="none", marker="D", markerfacecolor="none", color=INK)
        ]
        legend(figure, [*(sample(style, NAMES[cc]) for cc, style in styles.items()), *(words if theirs else [])])
    return figure


def uploads(cases: Cases, counts: Sequence[str], places: Sequence[str]) -> Picture:
    """Throughput and ping of the patch and of version 2 by number of uploads, a column a device: figures 13 to 16."""
    algorithms = ("bbr-n-patch", "bbr2")
    colours = [look("bbr").colour, look("bbr2").colour]
    with panels(2, len(places), 9.6, 5.0, "uploads", sharex=False, sharey="row") as (figure, grid):
        for column, place in zip(grid.T, places, strict=True):
            for axes, series in zip(column, (uploaded, pinged), strict=True):
                pairs = {
                    f"{count} {cc}": values(cases[place, cc, count], series) for count in counts for cc in algorithms
                }
                draw_boxes(axes, pairs, colours * len(counts))
                theirs = [table_values("uploads", count)[PUBLISHED_AS[cc]] for count in counts for cc in algorithms]
                keys = ("mean", "least", "most") if series is uploaded else ("ping", "ping", "ping")
                published_marks(axes, [(of[keys[0]], of[keys[1]], of[keys[2]]) for of in theirs])
                axes.set_xticks([2 * number + 1.5 for number in range(len(counts))], counts)
            column[0].set_title(place, loc="left", fontsize=9)
        grid[0, 0].set_ylabel(RATE)
        grid[1, 0].set_ylabel(PING)
        legend(figure, [Patch(color=colour, alpha=0.6, label=NAMES[cc])
                        for cc, colour in zip(algorithms, colours, strict=True)]
               + [published_sample("published: mean of runs, least and most run")])  # fmt: skip
    return figure


def recorded_beside(ours: Mapping[str, Run]) -> Picture:
    """A recorded test with four uploads in means of a second, throughput above and ping below, beside one of ours."""
    rows = pl.read_csv(FOLDER / "recorded.csv")
    styles = {"ours": look("bbr"), "published": look("cubic")}
    with panels(2, len(ours), 9.2, 4.8, "time (s)", sharey="row") as (figure, grid):
        for column, (cc, run) in zip(grid.T, ours.items(), strict=True):
            theirs = rows.filter(pl.col("cc") == cc)
            shown = {"upload_mbps": (run.kept.upload, 5.0), "ping_ms": (run.kept.ping, 0.0)}
            for axes, (name, (values_of, start)) in zip(column, shown.items(), strict=True):
                means = [fmean(values_of[at : at + 5]) for at in range(0, len(values_of) - 4, 5)]
                axes.plot([start + 0.5 + at for at in range(len(means))], means, **styles["ours"].line())
                axes.plot(theirs["second"] + 0.5, theirs[name], **styles["published"].line())
                axes.set_ylim(0, None)
            column[0].set_title(cc, loc="left", fontsize=9)
        grid[0, 0].set_ylabel(RATE)
        grid[1, 0].set_ylabel(PING)
        words = {"ours": "ours", "published": "published run of 4 January 2023"}
        legend(figure, [Line2D([], [], label=words[name], **style.line()) for name, style in styles.items()])
    return figure


def rrul_uploads(devices: Mapping[str, Mapping[str, Sequence[Run]]]) -> Picture:
    """Uploads over time, a quarter of their sum: figure 17."""
    with panels(1, len(devices), 9.2, 3.2, "s of load", "upload (Mbit/s a stream)") as (figure, grid):
        styles = styles_of(list(next(iter(devices.values()))))
        for axes, (title, algorithms) in zip(grid[0], devices.items(), strict=True):
            for cc, runs in algorithms.items():
                rates = [rate / 4 for rate in runs[0].kept.upload]
                axes.plot(0.2 * np.arange(1, len(rates) + 1), rates, linewidth=1.0, **styles[cc].line())
            axes.set_title(title, loc="left", fontsize=9)
            axes.set_ylim(0, None)
        legend(figure, [sample(style, NAMES[cc]) for cc, style in styles.items()])
    return figure


def rrul_boxes(algorithms: Mapping[str, Sequence[Run]]) -> Picture:
    """Download, upload and ping by algorithm: figure 20."""
    shown: dict[str, tuple[str, Series]] = {
        "download (Mbit/s)": ("download", downloaded), "upload (Mbit/s)": ("upload", uploaded), PING: ("ping", pinged)
    }  # fmt: skip
    with panels(1, len(shown), 9.6, 3.6, sharex=False, sharey=False) as (figure, grid):
        for axes, (label, (name, series)) in zip(grid[0], shown.items(), strict=True):
            by_algorithm(axes, algorithms, series, deviations("rrul", name))
            axes.set_ylabel(label)
            axes.set_ylim(0, None)
        legend(figure, [published_sample(DEVIATION)])
    return figure


def courses(flows: Mapping[str, pl.DataFrame]) -> Picture:
    """Rates above, window below, a column an algorithm: figures 9 to 11."""
    with panels(2, len(flows), 9.2, 4.4, "time (s)", sharey="row") as (figure, grid):
        lines = {"pacing rate": ("pacing_mbps", look("bbr")), "delivery rate": ("delivery_mbps", look("cubic"))}
        for (above, below), (title, samples) in zip(grid.T, flows.items(), strict=True):
            for column, style in lines.values():
                above.plot(samples["t_s"], samples[column], linewidth=0.8, color=style.colour)
            below.plot(samples["t_s"], samples["cwnd"], linewidth=0.9, color=INK)
            above.set_title(title, loc="left", fontsize=9)
        grid[0, 0].set_ylabel("rate (Mbit/s)")
        grid[0, 0].set_ylim(0, 250)
        grid[1, 0].set_ylabel("window (packets)")
        legend(figure, [Patch(color=style.colour, label=name) for name, (_, style) in lines.items()])
    return figure


def small_queues(
    cases: Cases, bases: Mapping[str, Mapping[str, tuple[str, ...]]], shown: Mapping[str, Callable[[Run], float]]
) -> Picture:
    """Maps by length of the small queue and bursts: a row a base, a column a measure."""
    from dumbbell.papers.bbr_n.tsq import QUEUES, at

    with panels(len(bases), len(shown), 9.6, 5.2, "small queue (ms)") as (figure, grid):
        for row, (base, lines) in zip(grid, bases.items(), strict=True):
            for axes, (name, value) in zip(row, shown.items(), strict=True):
                cells = [[mean(cases[at(key, shift)], value) for shift in QUEUES] for key in lines.values()]
                shaded(axes, cells, ".0f")
                axes.set_title(f"{NAMES[base]}: {name}", loc="left", fontsize=9)
                axes.set_yticks(range(len(lines)), list(lines), fontsize=7)
                axes.set_xticks(range(len(QUEUES)), [str(length) for length in QUEUES.values()])
    return figure


def ratios(grid_of: Mapping[str, Sequence[float]], counts: Sequence[str], wanted: float) -> Picture:
    """BBR-n's throughput over BBRgen's: a row a set-up and base, a column a number of uploads."""
    with picture(7.4, 0.9 + 0.22 * len(grid_of)) as figure:
        axes = figure.subplots()
        shaded(axes, list(grid_of.values()), ".2f", vmin=0.8, vmax=2 * wanted - 0.8)
        axes.set_yticks(range(len(grid_of)), list(grid_of), fontsize=7)
        axes.set_xticks(range(len(counts)), counts)
        axes.set_xlabel("uploads")
    return figure
