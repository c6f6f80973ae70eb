"""Pictures that results of the field share: a curve, shares over the buffer, ranges over a count, a matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.papers.drawing import log_x, panels, sample, shaded, with_ranges
from dumbbell.plots.style import INK, Picture, legend, look, looks, picture

DASHED: Any = {"color": INK, "linewidth": 0.9, "linestyle": (0, (4, 2))}
"""What is known without a run."""

Values = Sequence[Sequence[float]]
"""For each place on the horizontal axis a value of each seed."""


def curves(
    x: Sequence[float],
    lines: Mapping[str, Values],
    label: str,
    value: str,
    dashed: Mapping[str, Sequence[float]],
    ticks: Sequence[float],
) -> Picture:
    """A line an algorithm over a logarithmic axis, with the least and the most over seeds; what is known, dashed."""
    chosen = looks([(cc, cc) for cc in lines])
    with picture(6.6, 3.8) as figure:
        axes = figure.subplots()
        for style, values in zip(chosen.values(), lines.values(), strict=True):
            with_ranges(axes, x, values, style)
        handles = [sample(style, name) for (_, name), style in chosen.items()]
        for name, known in dashed.items():
            handles += axes.plot(x, known, label=name, **DASHED)
        log_x(axes, ticks, label)
        axes.set_ylabel(value)
        axes.set_ylim(bottom=0)
        legend(figure, handles)
    return figure


def shares(
    rows: Mapping[str, Mapping[str, Values]], x: Sequence[float], fair: Sequence[float], model: Sequence[float]
) -> Picture:
    """A panel a rival, a line a number of its flows: the share of one flow over the buffer; its fair share dotted."""
    names = list(next(iter(rows.values())))
    chosen = [look("bbr", variant) for variant in range(len(names))]
    with panels(1, len(rows), 8.6, 3.6, y="share of the link") as (figure, grid):
        for axes, (title, lines) in zip(grid[0], rows.items(), strict=True):
            for style, even, values in zip(chosen, fair, lines.values(), strict=True):
                with_ranges(axes, x, values, style)
                axes.axhline(even, color=style.shown, linewidth=0.8, linestyle=(0, (1, 2)))
            (known,) = axes.plot(x, model, label="model", **DASHED)
            log_x(axes, x, "buffer (BDP)")
            axes.set_title(title, loc="left", fontsize=9)
            axes.set_ylim(0, 1)
        handles = [sample(style, name) for style, name in zip(chosen, names, strict=True)]
        legend(figure, [*handles, known])
    return figure


def boxes(groups: Mapping[str, Values], labels: Sequence[str], label: str, value: str) -> Picture:
    """Boxes of the values of seeds: a colour a group, a place a case."""
    with picture(6.6, 3.6) as figure:
        axes = figure.subplots()
        width, chosen = 0.8 / len(groups), looks([(name, name) for name in groups])
        handles: list[Any] = []
        for index, (name, values) in enumerate(groups.items()):
            places = [at + (index - (len(groups) - 1) / 2) * width for at in range(len(labels))]
            box = axes.boxplot(
                [list(one) for one in values], positions=places, widths=0.8 * width, patch_artist=True,
                medianprops={"color": INK}, boxprops={"facecolor": chosen[name, name].shown, "alpha": 0.6},
            )  # fmt: skip
            handles.append(box["boxes"][0])
            handles[-1].set_label(name)
        axes.set_xticks(range(len(labels)), labels)
        axes.set_xlabel(label)
        axes.set_ylabel(value)
        axes.set_ylim(0, 1)
        legend(figure, handles)
    return figure


def matrix(maps: Mapping[str, Mapping[tuple[str, str], float]], names: Sequence[str]) -> Picture:
    """A map for each title: what the flow of the row gets of the two flows' goodput beside that of the column."""
    with panels(1, len(maps), 9.2, 4.4, "beside") as (figure, grid):
        for axes, (title, values) in zip(grid[0], maps.items(), strict=True):
            cells = [[values[row, column] for column in names] for row in names]
            shaded(axes, cells, ".2f", vmin=0, vmax=1, cmap="PuOr", aspect="equal")
            axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
            axes.set_yticks(range(len(names)), names)
            axes.set_title(title, loc="left", fontsize=9)
        grid[0, 0].set_ylabel("share of")
    return figure
