"""Distributions: over the samples of a run, and over the runs of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from dumbbell.plots.axes import Scale, label_of, least_span, name_places, vertical
from dumbbell.plots.metric import lines, with_followers, with_values
from dumbbell.plots.panels import columns_of, multiples, panels_of
from dumbbell.plots.style import HATCHES, Look, Picture, caption, ink, legend, looks, named
from dumbbell.plots.timeseries import by_flow, check_column, until_the_end
from dumbbell.recorded import check_samples
from dumbbell.selection import OF_A_FLOW, axis_named, of_whom, over_runs, with_metric

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.results import Result

BOX_WIDTH = 0.8
"""Of all boxes at one place, as a part of the distance between places."""


Samples = Mapping[tuple[str, str], Sequence[float]]
"""The samples of each line, by its algorithm and name."""


def cdf(samples: Samples, y: str, ax: Axes | None = None) -> Picture:
    """The share of samples that are at most so large, a line for each algorithm and name."""
    return cdfs([("", samples)], y, ax)


def cdfs(parts: Sequence[tuple[str, Samples]], y: str, ax: Axes | None = None) -> Picture:
    """Such a picture with several panels, each with its title.

    Raises:
        ValueError: There is nothing to draw.
    """
    chosen = looks([kind for _, samples in parts for kind in samples])
    if not any(len(values) for _, samples in parts for values in samples.values()):
        raise ValueError(f"there is no value of {y}")
    with multiples([title for title, _ in parts], ax, 5.6, 3.8) as (figure, grid):
        for axes, (_, samples) in zip(grid, parts, strict=True):
            for kind, values in samples.items():
                data: NDArray[np.float64] = np.sort(np.asarray(values, dtype=float))
                if data.size:
                    share = np.arange(1, data.size + 1) / data.size
                    every = max(1, data.size // 8)
                    style = chosen[kind]
                    axes.step(data, share, where="post", marker=style.marker, markevery=every, **style.line())
            axes.set_ylim(0, 1.02)
            axes.set_xlabel(label_of(y))
            axes.set_ylabel("share of samples at most so large")
        least_span(grid[0], "x")
        legend(
            figure, [Line2D([], [], marker=s.marker, **s.line(), label=kind[1]) for kind, s in chosen.items()], ax=ax
        )
    return figure


def samples_of_run(result: Result, column: str) -> dict[tuple[str, str], list[float]]:
    """The samples of a column of ``series`` by label, from the flow's start to its end.

    Raises:
        ValueError: There is no such column of numbers, or no time series.
    """
    check_samples(result)
    check_column(result, column)
    found: dict[tuple[str, str], list[float]] = {}
    kinds = result.flows.to_polars().select("cc", "label").rows()
    for (cc, label), samples in zip(kinds, by_flow(result, [column]), strict=True):
        values = until_the_end(samples)[column].drop_nulls().to_list()
        found.setdefault((cc, caption(named(cc, label))), []).extend(values)
    return found


def samples_of_sweep(
    flows: pl.DataFrame, axes_: Sequence[str], y: str, by: Sequence[str], panels: Sequence[str] = ()
) -> list[tuple[str, Samples]]:
    """A metric of every run of a sweep, by panel, algorithm and what ``by`` names; other settings are put together."""
    flows = of_whom(with_metric(flows, y), y)
    apart = columns_of(flows, axes_, panels)
    wanted = [axis_named(flows, axes_, word) for word in by if word not in OF_A_FLOW]
    words = [*wanted, *(word for word in by if word == "label")]
    parts: list[tuple[str, Samples]] = []
    for panel in panels_of(flows, apart):
        found = lines(panel.rows, wanted, "", words, apart)
        parts.append((panel.title, {(line.algorithm, line.name): over_runs(line.rows, y) for line in found}))
    return parts


def box(
    flows: pl.DataFrame,
    axes_: Sequence[str],
    x: str,
    y: str = "goodput_mbps",
    by: Sequence[str] = (),
    ax: Axes | None = None,
    panels: Sequence[str] = (),
) -> Picture:
    """The runs of each value of a swept setting as boxes: median, quartiles, whiskers over 1.5 times their range."""
    x = axis_named(flows, axes_, x)
    flows = of_whom(with_values(flows, y), y)
    apart = columns_of(flows, axes_, panels)
    found = lines(flows, axes_, x, by, apart)
    chosen = looks([(line.algorithm, line.name) for line in found])
    scale = Scale.of(x, [str(value) for value in flows[x].drop_nulls().to_list()])
    width = BOX_WIDTH / len(found)
    parts = panels_of(flows, apart)
    with multiples([part.title for part in parts], ax) as (figure, grid):
        for axes, part in zip(grid, parts, strict=True):
            for number, line in enumerate(found):
                own = line.rows.join(part.rows, on=["point", "flow"], how="semi").partition_by(x, as_dict=True)
                data = [over_runs(own[value,], y) if (value,) in own else [] for value in scale.values]
                shift = (number - (len(found) - 1) / 2) * width
                _boxes(axes, data, shift, width, chosen[line.algorithm, line.name], number)
            name_places(axes.xaxis, range(len(scale.values)), scale.values)
            axes.set_xlabel(with_followers(scale.label.split(" (")[0], flows, axes_, x))
            axes.grid(visible=False, axis="x")
        vertical(grid, y)
        handles = [
            Patch(
                facecolor=chosen[line.algorithm, line.name].shown,
                hatch=HATCHES[number % len(HATCHES)],
                alpha=0.6,
                edgecolor=ink(),
                label=line.name,
            )
            for number, line in enumerate(found)
        ]
        legend(figure, handles, ax=ax)
    return figure


def _boxes(axes: Axes, data: list[list[float]], shift: float, width: float, style: Look, number: int) -> None:
    drawn: dict[str, Any] = axes.boxplot(
        data,
        positions=[place + shift for place in range(len(data))],
        widths=width * 0.85,
        patch_artist=True,
        manage_ticks=False,
        medianprops={"color": ink(), "linewidth": 1.4},
        flierprops={"marker": style.marker, "markersize": 3, "markeredgecolor": style.shown},
    )
    for patch in drawn["boxes"]:
        patch.set(facecolor=style.shown, alpha=0.6, edgecolor=ink(), hatch=HATCHES[number % len(HATCHES)])
