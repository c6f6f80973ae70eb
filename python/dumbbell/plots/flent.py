"""Pictures of Flent's data: what was measured on different paths, real or simulated, over each other.

Every transfer and every ping is a line of its own; sums and means of several are not drawn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dumbbell.plots.style import Look, Picture, caption, fitted, legend, numbered, varied

if TYPE_CHECKING:
    from dumbbell.flent import FlentData
    from dumbbell.flent.data import Values

DERIVED = re.compile(r"(?:^| )(?:avg|sum|totals|fairness)$")
"""Names of series that Flent computes from others."""

OF_A_FLOW = re.compile(r"^[^:]+(?:::\d+)?$")
"""Names of series that are measured themselves; behind colons stand what a socket, queue or host tells besides."""

MOST_NAMED = 16
"""With more lines than these the legend has the files alone."""

PANELS = (
    ("throughput\n(Mbit/s)", re.compile(r"^TCP ")),
    ("ping (ms)", re.compile(r"^Ping ")),
    ("HTTP latency", re.compile(r"^HTTP latency")),
    ("DNS latency", re.compile(r"^DNS latency")),
    ("VoIP: one-way\ndelay (ms)", re.compile(r"^VoIP.*::delay$")),
    ("VoIP: jitter\n(ms)", re.compile(r"^VoIP.*::jitter$")),
    ("VoIP: loss\n(share)", re.compile(r"^VoIP.*::loss$")),
)
"""What a panel shows, and the names of its series."""


@dataclass(frozen=True)
class _Line:
    """A series of a file, with its panel and its look."""

    panel: str
    file: str
    name: str
    data: FlentData
    look: Look

    @property
    def values(self) -> Values:
        return self.data.results[self.name]


def overlay(data: Sequence[FlentData], names: Sequence[str]) -> Picture:
    """Each transfer, ping and call over time, and the distribution of each ping under load.

    Raises:
        ValueError: The files hold nothing that is drawn.
    """
    lines = _lines(data, names)
    if not lines:
        there = ", ".join(dict.fromkeys(name for one in data for name in one.results)) or "none"
        raise ValueError(f"there is nothing to draw: no transfers, pings, calls or latencies; the series are {there}")
    shown = [title for title, _ in PANELS if any(line.panel == title for line in lines)]
    pings = [line for line in lines if line.panel == PANELS[1][0]]
    thin = {"linewidth": 0.8, "alpha": 0.8} if len(lines) > MOST_NAMED else {}
    count = len(shown) + bool(pings)
    with fitted(7.2, 1.2 + 1.8 * count, panels=max(2, count)) as figure:
        panels = list(figure.subplots(count, 1, squeeze=False).flat)
        for title, axes in zip(shown, panels, strict=False):
            for line in lines:
                if line.panel == title:
                    axes.plot(line.data.x_values, _floats(line.values), **line.look.line(**thin))
            _axes(axes, "time (s)" if title == shown[-1] else "", title)
        if pings:
            for line in pings:
                loaded = np.sort(np.array(line.data.loaded(line.name)))
                panels[-1].plot(loaded, np.arange(1, len(loaded) + 1) / max(len(loaded), 1), **line.look.line(**thin))
            _axes(panels[-1], "ping (ms)", "share of pings\nunder load")
            panels[-1].set_xlim(left=0)
        legend(figure, _handles(lines))
    return figure


def _axes(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_ylim(bottom=0)
    axes.margins(x=0)


def _lines(data: Sequence[FlentData], files: Sequence[str]) -> list[_Line]:
    found: list[_Line] = []
    for number, (one, file) in enumerate(zip(data, files, strict=True)):
        own = 0
        for title, pattern in PANELS:
            measured = [name for name in one.results if pattern.search(name) and not DERIVED.search(name)]
            if not title.startswith("VoIP"):
                measured = [name for name in measured if OF_A_FLOW.match(name)]
            for name in measured or _alone(one, pattern):
                if any(value is not None for value in one.results[name]):
                    # Of one file every line has a colour, of several files every file.
                    look = numbered(own) if len(data) == 1 else varied(numbered(number), own)
                    found.append(_Line(title, file, name, one, look))
                    own += 1
    return found


def _alone(data: FlentData, pattern: re.Pattern[str]) -> list[str]:
    """A sum or a mean of which the file has no parts."""
    derived = [name for name in data.results if pattern.search(name) and DERIVED.search(name)]
    return [name for name in derived if not name.endswith("fairness")][:1]


def _handles(lines: Sequence[_Line]) -> list[Line2D]:
    """An entry a line; an entry a file where there are many."""
    files = list(dict.fromkeys(line.file for line in lines))
    if len(lines) <= MOST_NAMED:
        named = [(line, line.name if len(files) == 1 else f"{line.file}: {line.name}") for line in lines]
        return [Line2D([], [], **line.look.line(), label=caption(text)) for line, text in named]
    first = {line.file: line for line in reversed(lines)}
    counts = {file: sum(line.file == file for line in lines) for file in files}
    return [
        Line2D([], [], **first[file].look.line(), label=caption(f"{file} ({counts[file]} lines)")) for file in files
    ]


def _floats(values: Values) -> list[float]:
    return [float("nan") if value is None else value for value in values]
