"""The picture of the response functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.papers.drawing import log_x, panels, plain_ticks, sample
from dumbbell.papers.responses.theory import LAWS
from dumbbell.plots.style import Picture, legend, looks

if TYPE_CHECKING:
    from dumbbell.papers.responses.windows import Points

LOSSES = (0.001, 0.01, 0.1, 1)


def responses(points: Points, names: Mapping[str, str]) -> Picture:
    """Windows over losses on the left, what they are of the rules on the right."""
    chosen = looks([(cc, name) for cc, name in names.items()])
    with panels(1, 2, 9.2, 4.2, sharey=False) as (figure, grid):
        absolute, relative = grid[0]
        for cc, name in names.items():
            style = chosen[cc, name]
            loss, ours, rules = np.array(points[cc]).T
            absolute.plot(100 * loss, rules, color=style.colour, linewidth=1.2)
            absolute.plot(100 * loss, ours, color=style.colour, linestyle="none", marker=style.marker, markersize=5)
            relative.plot(
                100 * loss, ours / rules, color=style.colour, marker=style.marker, markersize=5, linewidth=0.8
            )
            formula = LAWS[cc].formula
            if formula:
                closed = [formula(p) for p in loss]
                absolute.plot(100 * loss, closed, color=style.colour, linewidth=0.8, linestyle=(0, (2, 2)))
        absolute.set_yscale("log")
        plain_ticks(absolute.yaxis, [10, 100, 1_000, 10_000])
        absolute.set_ylabel("mean window (packets)")
        absolute.set_title("ours (marks), rules (lines), formulas (dashed)", loc="left", fontsize=9)
        relative.set_ylim(0.8, 1.2)
        relative.axhspan(0.9, 1.1, color="#eeeeee", zorder=0)
        relative.set_ylabel("ours over rules")
        relative.set_title("within a tenth is shaded", loc="left", fontsize=9)
        for axes in (absolute, relative):
            log_x(axes, LOSSES, "loss (%)")
        legend(figure, [sample(chosen[kind], kind[1]) for kind in chosen])
    return figure
