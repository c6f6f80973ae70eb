"""The study's figures."""

from __future__ import annotations

from typing import Any

from matplotlib.lines import Line2D

from dumbbell.papers.drawing import panels, plain_ticks, sample, with_ranges
from dumbbell.papers.rebbr.curves import (
    CUBIC,
    PACED,
    PUBLISHED_CAPACITY,
    UNPACED,
    Curves,
    losses,
    mean,
    published_curves,
)
from dumbbell.plots.style import INK, Look, Picture, legend, look, picture

HOLLOW: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "none"}
"""Published points."""
DOTS: dict[str, Any] = {"color": INK, "linestyle": (0, (1, 2))}


def look_of(label: str) -> Look:
    """CUBIC and unpaced BBR look as everywhere; what is paced has a colour of its own."""
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
        axes.set_xscale("log")
        plain_ticks(axes.xaxis, [0.001, 0.01, 0.1, 1, 2, 5, 10, 20, 50])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("random loss behind the link (%)")
        axes.set_ylabel("link egress (% of capacity)" if share else "link egress (Mbit/s)")
        axes.set_title(title, loc="left")
        legend(figure, handles)
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
                    marks = {"color": styles[pacing].colour, "marker": styles[pacing].marker, "markersize": 4}
                    axes.plot([100 * loss for loss in x], y, linestyle=dashes[sampler], **marks)
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
