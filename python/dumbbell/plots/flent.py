"""Pictures of Flent's data: what was measured on different paths, real or simulated, over each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D

from dumbbell.plots.style import Picture, caption, fitted, legend, numbered

if TYPE_CHECKING:
    from dumbbell.flent import FlentData

BOTH = ("TCP totals",)
UPLOADS = ("TCP upload sum", "TCP upload")
DOWNLOADS = ("TCP download sum", "TCP download")
PINGS = ("Ping (ms) avg", "Ping (ms) ICMP")


def overlay(data: Sequence[FlentData], names: Sequence[str]) -> Picture:
    """Throughput and ping over time, and the distribution of pings under load, a line for each."""
    with fitted(7.2, 6.4) as figure:
        rate, ping, share = figure.subplots(3, 1, height_ratios=[1.1, 1, 1])
        handles = []
        for number, (one, name) in enumerate(zip(data, names, strict=True)):
            line = numbered(number).line()
            rate.plot(one.x_values, _throughput(one), **line)
            pings = _first(one, PINGS)
            if pings is not None:
                ping.plot(one.x_values, _floats(one.results[pings]), **line)
                loaded = np.sort(np.array(one.loaded(pings)))
                share.plot(loaded, np.arange(1, len(loaded) + 1) / max(len(loaded), 1), **line)
            handles.append(Line2D([], [], **line, label=caption(name)))
        for axes, label in ((rate, "throughput\n(Mbit/s)"), (ping, "ping (ms)"), (share, "share of pings\nunder load")):
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0)
            axes.margins(x=0)
        ping.set_xlabel("time (s)")
        share.set_xlabel("ping (ms)")
        share.set_xlim(left=0)
        legend(figure, handles)
    return figure


def _throughput(data: FlentData) -> list[float]:
    """Everything that is transferred, in whichever direction."""
    if (both := _first(data, BOTH)) is not None:
        return _floats(data.results[both])
    parts = [name for names in (UPLOADS, DOWNLOADS) if (name := _first(data, names)) is not None]
    columns = [_floats(data.results[part]) for part in parts] or [[float("nan")] * len(data.x_values)]
    return [
        float(np.nansum(step)) if not np.all(np.isnan(step)) else float("nan") for step in zip(*columns, strict=True)
    ]


def _first(data: FlentData, names: Sequence[str]) -> str | None:
    return next((name for name in names if name in data.results), None)


def _floats(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]
