"""The study's figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from matplotlib import colormaps
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy import linspace

from dumbbell.papers.drawing import log_x, marks, panels, plain_ticks, sample, with_ranges
from dumbbell.papers.rebbr.curves import (
    CUBIC,
    PACED,
    PUBLISHED_AS,
    PUBLISHED_CAPACITY,
    UNPACED,
    Cases,
    Course,
    Curves,
    losses,
    mean,
    published_curves,
)
from dumbbell.plots.style import INK, Look, Picture, legend, look, picture

HOLLOW: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "none"}
"""Published points."""
MARKERS = ("o", "s", "^", "D", "v")
DOTS: dict[str, Any] = {"color": INK, "linestyle": (0, (1, 2))}


def look_of(label: str) -> Look:
    """CUBIC and unpaced BBR look as everywhere; what is paced has a colour of its own, and so has BIC beside Reno."""
    if label == "BIC":
        return look("bbr2")
    if label in ("Vegas", "Westwood", "Reno"):
        return look(label.lower())
    if label in (CUBIC, UNPACED):
        return look("cubic" if label == CUBIC else "bbr")
    if label == PACED:
        return look("bbr3")
    return look("bbr3", variant=2) if label.endswith(" paced") else look("bbr", variant=2)


def egress(curves: Curves, part: str, capacity: float, title: str, *, share: bool) -> Picture:
    """Mean link egress against loss on a logarithmic axis, with the range over seeds and the ideal line.

    Published points are hollow.

    Args:
        curves: Ours.
        part: Whose published numbers to draw.
        capacity: Of the link, in Mbit/s as Mahimahi counts it.
        title: Above the picture.
        share: Draw percentages of each side's own capacity in place of Mbit/s.
    """
    scale = 100 / capacity if share else 1.0
    with picture(6.8, 4.6) as figure:
        axes = figure.subplots()
        handles = []
        for label, runs in curves.items():
            x = sorted(runs[0].egress)
            y = [[scale * run.egress[loss] for run in runs] for loss in x]
            with_ranges(axes, [100 * loss for loss in x], y, look_of(label))
            handles.append(sample(look_of(label), label))
        for cc, points in published_curves(part).items():
            hollow = HOLLOW | {"marker": look(cc).marker, "color": look(cc).colour, "markersize": 9}
            hollow["markeredgewidth"] = 1.3
            reference = 100 / PUBLISHED_CAPACITY[part] if share else 1.0
            axes.plot([100 * loss for loss in points], [reference * value for value in points.values()], **hollow)
            handles.append(Line2D([], [], label=f"{cc.upper()} published", **hollow))
        x = losses(curves)
        fine = [x[0] * (x[-1] / x[0]) ** (step / 200) for step in range(201)]
        axes.plot(
            [100 * loss for loss in fine], [scale * capacity * (1 - loss) for loss in fine], linewidth=0.9, **DOTS
        )
        ideal = "ideal: capacity \N{MULTIPLICATION SIGN} (1 - loss)"
        handles.append(Line2D([], [], linewidth=0.9, label=ideal, **DOTS))
        log_x(axes, [0.001, 0.01, 0.1, 1, 2, 5, 10, 20, 50], "random loss behind the link (%)")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("link egress (% of capacity)" if share else "link egress (Mbit/s)")
        axes.set_title(title, loc="left")
        legend(figure, handles)
    return figure


def algorithms(curves: Curves, names: Mapping[str, str], capacity: float, title: str) -> Picture:
    """Mean link egress of many algorithms against loss, on a linear axis and on one of logarithms.

    Published points are hollow.

    Args:
        curves: Ours.
        names: Of each label in the published data.
        capacity: Of the link, in Mbit/s as Mahimahi counts it.
        title: Above the picture.
    """
    theirs = published_curves("fig2")
    with panels(1, 2, 8.6, 4.6, sharey=False) as (figure, ((linear, logarithmic),)):
        handles = []
        for label, runs in curves.items():
            style = look_of(label)
            x = sorted(runs[0].egress)
            for axes in (linear, logarithmic):
                axes.plot([100 * loss for loss in x], [mean(runs, loss) for loss in x], **marks(style))
                points = {} if label == PACED else theirs[names[label]]
                hollow = HOLLOW | {"marker": style.marker, "color": style.colour, "markersize": 8}
                axes.plot([100 * loss for loss in points], list(points.values()), **hollow)
            handles.append(sample(style, label))
        for axes in (linear, logarithmic):
            log_x(axes, [0.001, 0.01, 0.1, 1, 10, 50], "random loss behind the link (%)")
        linear.set_ylim(0, 1.05 * capacity)
        logarithmic.set_yscale("log")
        logarithmic.set_ylim(0.01, 2 * capacity)
        plain_ticks(logarithmic.yaxis, [0.01, 0.1, 1, 10, 100])
        linear.set_ylabel("link egress (Mbit/s)")
        linear.set_title(title, loc="left")
        legend(figure, [*handles, Line2D([], [], label="published", color=INK, marker="o", markersize=8, **HOLLOW)])
    return figure


def by_case(cases: Cases, part: str, title: str, *, share: bool) -> Picture:
    """Mean link egress of CUBIC and of BBR unpaced and paced against loss, a line for each case.

    Published points are hollow.

    Args:
        cases: Ours, of each rate or round-trip time.
        part: Whose published numbers to draw.
        title: Above the picture.
        share: Draw percentages of the capacity in place of Mbit/s.
    """
    colours = dict(zip(cases, colormaps["viridis"](linspace(0, 0.9, len(cases))), strict=True))
    label = "link egress (% of capacity)" if share else "link egress (Mbit/s)"
    with panels(1, 3, 9.6, 4.4, y=label) as (figure, (row,)):
        for axes, name in zip(row, PUBLISHED_AS, strict=True):
            for (case, curves), marker in zip(cases.items(), MARKERS, strict=False):
                x = sorted(curves[name][0].egress)
                scale = 100 / curves[name][0].capacity if share else 1.0
                style = {"color": colours[case], "marker": marker}
                axes.plot([100 * loss for loss in x], [scale * mean(curves[name], loss) for loss in x], **style)
                points = {} if name == PACED else published_curves(part, case)[PUBLISHED_AS[name]]
                hollow = HOLLOW | style | {"markersize": 9}
                axes.plot([100 * loss for loss in points], [scale * value for value in points.values()], **hollow)
            log_x(axes, [0.001, 0.01, 0.1, 1, 10, 50], "random loss (%)")
            axes.set_title(name, loc="left", fontsize=9)
        row[0].set_ylim(bottom=0)
        handles = [
            Line2D([], [], label=case, color=colours[case], marker=marker)
            for case, marker in zip(cases, MARKERS, strict=False)
        ]
        theirs = Line2D([], [], label="published", color=INK, marker="o", markersize=9, **HOLLOW)
        legend(figure, [*handles, theirs], title)
    return figure


def over_time(courses: Sequence[Course], capacity: Callable[[float, float], float], title: str) -> Picture:
    """What arrives of each flow, before what the link could carry, and its round-trip time.

    Args:
        courses: A flow each, at some losses.
        capacity: Of the link in Mbit/s, from one second to another.
        title: Above the picture.
    """
    columns = list(dict.fromkeys(course.loss for course in courses))
    with panels(2, len(columns), 9.0, 5.6, "time (s)", sharey="row") as (figure, (rates, delays)):
        for column, loss in enumerate(columns):
            found = [course for course in courses if course.loss == loss]
            t = found[0].t_s
            could = [capacity(start, end) for start, end in pairwise([0.0, *t])]
            rates[column].fill_between(t, could, step="pre", color="#DDDDDD", linewidth=0)
            for course in found:
                style = {"color": look_of(course.label).colour, "linewidth": 0.9}
                rates[column].plot(course.t_s, course.rate_mbps, **style)
                delays[column].plot(course.t_s, course.rtt_ms, **style)
            rates[column].set_title(f"{loss} loss", loc="left", fontsize=9)
            delays[column].set_yscale("log")
        plain_ticks(delays[0].yaxis, [100, 200, 500, 1000, 2000, 5000, 10000])
        rates[0].set_ylim(bottom=0)
        rates[0].set_ylabel("arrived payload (Mbit/s)")
        delays[0].set_ylabel("round-trip time (ms)")
        labels = dict.fromkeys(course.label for course in courses)
        handles = [Line2D([], [], label=label, color=look_of(label).colour) for label in labels]
        legend(figure, [*handles, Patch(color="#DDDDDD", label="capacity")], title)
    return figure


def knees(choices: Curves, kinds: dict[str, tuple[str, str, bool]], limits: dict[str, float]) -> Picture:
    """Share of the ideal line against loss, for each choice.

    Args:
        choices: Ours.
        kinds: Receive window, pacing, and whether the long-term sampler runs, of each label.
        limits: Losses at which BBR's constants let the estimate fall, and which.
    """
    dashes: dict[bool, Any] = {True: "-", False: (0, (4, 1.5))}
    styles = {"unpaced": look("bbr"), "paced": look("bbr3")}
    theirs = published_curves("fig1")["bbr"]
    label = "link egress (% of the ideal line)"
    with panels(1, 2, 7.2, 4.0, "random loss (%)", label, sharex=False) as (figure, ((study, wide),)):
        # Above the data there is room for the reasons.
        study.set_ylim(0, 230)
        for axes, window in ((study, "6.25 MiB"), (wide, "64 MB")):
            for label, (its_window, pacing, sampler) in kinds.items():
                if its_window == window:
                    runs = choices[label]
                    x = sorted(runs[0].egress)
                    y = [100 * mean(runs, loss) / (100 * (1 - loss)) for loss in x]
                    line = {"color": styles[pacing].colour, "marker": styles[pacing].marker, "markersize": 4}
                    axes.plot([100 * loss for loss in x], y, linestyle=dashes[sampler], **line)
            axes.axhline(50, linewidth=0.8, **DOTS)
            for reason, limit in limits.items():
                axes.axvline(100 * limit, linewidth=0.8, **DOTS)
                axes.annotate(
                    reason, (100 * limit, axes.get_ylim()[1]), xytext=(-2, -3), textcoords="offset points",
                    rotation=90, ha="right", va="top", fontsize=7, color=INK,
                )  # fmt: skip
            axes.set_title(f"receive window {window}" + (" (the study's)" if window == "6.25 MiB" else ""), loc="left")
        hollow = HOLLOW | {"marker": "o", "color": styles["unpaced"].colour, "markersize": 8}
        at = [loss for loss in theirs if loss >= 0.01]
        study.plot([100 * loss for loss in at], [100 * theirs[loss] / (100 * (1 - loss)) for loss in at], **hollow)
        handles = [
            Line2D([], [], color=style.colour, marker=style.marker, markersize=4, linestyle=dash,
                   label=f"{pacing}, sampler {'on' if on else 'off'}")
            for pacing, style in styles.items()
            for on, dash in dashes.items()
        ]  # fmt: skip
        legend(figure, [*handles, Line2D([], [], label="published", **hollow)])
    return figure
