"""Draws the moment of a case, and an exhibit without its mistake and with it, with the phases behind."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from dumbbell.check.cases import Quantity
from dumbbell.check.conform import Row
from dumbbell.check.expressions import Expression
from dumbbell.check.judge import Finding, Observed
from dumbbell.check.museum import Visit
from dumbbell.inference import FloatArray
from dumbbell.plots.axes import label_of
from dumbbell.plots.style import Picture, caption, fitted, ink, legend, small

AROUND = 0.6
"""So many seconds before the first moment, and after the last, are shown at least."""

MOST_PANELS = 4

_SHADES = ("#E69F0033", "#56B4E933", "#009E7333", "#CC79A733", "#F0E44244", "#0072B222", "#D55E0022")
_FAILED = "#D55E00"


def moment(row: Row, observed: Observed) -> Picture:
    """The picture of a row."""
    shown = _columns(row, observed)
    low, high = _range(row, observed)
    inside = (observed.t >= low) & (observed.t <= high)
    t = observed.t[inside]
    with fitted(7.0, 1.4 + 1.5 * len(shown), panels=len(shown)) as figure:
        panels = list(figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0])
        modes = observed.values["mode"][inside]
        for axes, column in zip(panels, shown, strict=True):
            axes.plot(t, observed.values[column][inside], color=ink(), drawstyle="steps-post")
            axes.set_ylabel(_label(column), fontsize=small())
            for finding in row.findings:
                if finding.when is not None and low <= finding.when <= high:
                    failed = finding.verdict == "fail"
                    axes.axvline(finding.when, color=_FAILED if failed else ink(), linestyle="-" if failed else ":")
        panels[-1].set_xlabel("time in s")
        words = [f"{row.case.number}. {row.case.title}, {row.transport}: {row.verdict}"]
        if row.verdict != "pass":
            words += textwrap.wrap(_sentence(row.worst), 100)[:2]
        legend(figure, _shade(panels, t, modes), "\n".join(caption(line) for line in words))
    return figure


def beside(visit: Visit, healthy: Observed, faulty: Observed) -> Picture:
    """The picture of an exhibit: on the left without its mistake, on the right with it."""
    exhibit = visit.exhibit
    shown = [column for column in exhibit.draw if column in healthy.values]
    if not shown:
        raise ValueError(f"{exhibit.file} (museum.draw): the algorithm shows none of {', '.join(exhibit.draw)}")
    low, high = exhibit.span or (0.0, float(max(healthy.t[-1], faulty.t[-1])))
    names = list(dict.fromkeys([*healthy.values["mode"], *faulty.values["mode"]]))
    handles: dict[str, Patch] = {}
    with fitted(7.0, 1.2 + 1.15 * len(shown), panels=2 * len(shown)) as figure:
        grid = figure.subplots(len(shown), 2, sharex=True, sharey="row", squeeze=False)
        sides = (("healthy", healthy, visit.healthy), ("with the bug", faulty, visit.faulty))
        for panels, (side, observed, row) in zip(grid.T, sides, strict=True):
            panels[0].set_title(f"{side}: {row.verdict}", fontsize=small())
            inside = (observed.t >= low) & (observed.t <= high)
            for axes, column in zip(panels, shown, strict=True):
                axes.plot(observed.t[inside], observed.values[column][inside], color=ink(), drawstyle="steps-post")
                if row.verdict == "fail" and row.worst.when is not None and low <= row.worst.when <= high:
                    axes.axvline(row.worst.when, color=_FAILED)
            shades = _shade(list(panels), observed.t[inside], observed.values["mode"][inside], names)
            handles |= {str(patch.get_label()): patch for patch in shades}
            panels[-1].set_xlabel("time in s")
        for axes, column in zip(grid[:, 0], shown, strict=True):
            axes.set_ylabel(_label(column), fontsize=small())
            if _is_far_apart(healthy.values[column], faulty.values[column]):
                axes.set_yscale("log")
        legend(figure, list(handles.values()), caption(exhibit.title))
    return figure


def _is_far_apart(first: FloatArray, second: FloatArray) -> bool:
    """Whether one of two series would be flat beside the other."""
    most = sorted(float(np.nanmax(values)) for values in (first, second))
    return most[0] > 0 and most[1] > 30 * most[0]


def _sentence(finding: Finding) -> str:
    return f"{finding.says}: {finding.asked}; found {finding.found}"


def _label(column: str) -> str:
    return label_of(column).replace(" (", "\n(")


def _columns(row: Row, observed: Observed) -> list[str]:
    """Numbers of the series that the case asks about, and the window."""
    names: list[str] = []
    for assertion in row.case.assertions:
        for part in (assertion.quantity, assertion.value):
            expression = part.expression if isinstance(part, Quantity) else part
            names += expression.names if isinstance(expression, Expression) else []
    wanted = [*dict.fromkeys(names), "inflight", "pacing_mbps"]
    numeric = [
        name
        for name in dict.fromkeys(wanted)
        if name != "t_s"
        and isinstance(values := observed.values.get(name), np.ndarray)
        and values.dtype.kind == "f"
        and np.isfinite(values).any()
    ]
    return numeric[:MOST_PANELS]


def _range(row: Row, observed: Observed) -> tuple[float, float]:
    """The seconds that are shown."""
    failed = [finding.when for finding in row.findings if finding.verdict == "fail" and finding.when is not None]
    every = [finding.when for finding in row.findings if finding.when is not None]
    times = failed or every
    if not times:
        return float(observed.t[0]), float(observed.t[-1])
    first, last = min(times), max(times)
    around = max(AROUND, 0.25 * (last - first))
    return max(float(observed.t[0]), first - around), min(float(observed.t[-1]), last + around)


def _shade(panels: Sequence[Axes], t: FloatArray, modes: Sequence[str], all_names: Sequence[str] = ()) -> list[Patch]:
    """Marks the phases; gives what a legend says of them. A name has one shade among ``all_names``."""
    if not len(t) or not any(modes):
        return []
    present = list(dict.fromkeys(modes))
    names = all_names or present
    starts = [0, *(row for row in range(1, len(t)) if modes[row] != modes[row - 1]), len(t) - 1]
    for begin, end in pairwise(starts):
        for axes in panels:
            axes.axvspan(t[begin], t[end], color=_shade_of(names, modes[begin]), linewidth=0)
    return [
        Patch(color=_shade_of(names, name), label=name.removeprefix("probe_bw_").upper()) for name in present if name
    ]


def _shade_of(names: Sequence[str], name: str) -> str:
    return _SHADES[names.index(name) % len(_SHADES)]
