"""The pictures of the gallery, ``docs/gallery.md``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import dumbbell as db
from dumbbell.plots import Picture


@cache
def sweep() -> db.SweepResult:
    """Three algorithms over five buffers and two losses, five seeds each."""
    return db.compare(
        "bbr",
        "bbr3",
        "cubic",
        buffer=["0.25bdp", "0.5bdp", "1bdp", "2bdp", "4bdp"],
        loss=["0.01%", "0.1%"],
        rate="20mbit",
        duration="12s",
        repeat=5,
        progress=False,
    )


@cache
def rtts() -> db.SweepResult:
    """Two CUBIC flows over five round-trip times of the second one and four buffers."""
    document = {
        "duration": "20s",
        "warmup": "5s",
        "vary_rtt": "1packet",
        "record": {"series": False},
        "path": {"rate": "20mbit", "rtt": "20ms"},
        "flows": [{"cc": "cubic"}, {"cc": "cubic", "label": "far"}],
        "sweep": {
            "path.buffer": ["0.5bdp", "1bdp", "2bdp", "4bdp"],
            "flows[1].rtt": ["20ms", "40ms", "80ms", "160ms"],
            "repeat": 3,
        },
    }
    return db.sweep(document, progress=False).collect()


@cache
def cellular() -> db.Result:
    """BBR joins CUBIC on a cellular link."""
    return db.run(
        {
            "duration": "20s",
            "record": {"interval": "100ms"},
            "path": {"rate": {"synth": "lte-verizon", "seed": 1}, "rtt": "60ms", "buffer": "200packets"},
            "flows": [{"cc": "cubic"}, {"cc": "bbr3", "start": "5s", "stop": "15s"}],
        }
    )


ONE_LOSS = {"loss": "0.1%"}

PICTURES: dict[str, Callable[[], Picture]] = {
    "overview": lambda: cellular().plot.overview(),
    "series": lambda: cellular().plot.series("received_mbps"),
    "share": lambda: cellular().plot.shares(),
    "cdf": lambda: cellular().plot.cdf("rtt_ms"),
    "tradeoff": lambda: sweep().plot.tradeoff(where=ONE_LOSS),
    "line": lambda: sweep().plot.metric("buffer", "p95_rtt_ms", where=ONE_LOSS),
    "box": lambda: sweep().plot.box("buffer", "goodput_mbps", where=ONE_LOSS),
    "heat": lambda: rtts().plot.heat_map("flows[1].rtt", "buffer", "jain"),
    "heat-panels": lambda: sweep().plot.heat_map("buffer", "loss"),
    "delay-panels": lambda: sweep().plot.metric("buffer", "p95_rtt_ms", panels="loss"),
    "cdf-of-runs": lambda: sweep().plot.cdf("goodput_mbps", by="loss"),
}
"""Each by its name, which is that of its file."""


def paper() -> Picture:
    """The picture of a column of a journal."""
    with db.plots.appearance(size=(3.3, 2.2), font_size=8, style="paper"):
        return sweep().plot.metric("buffer", "goodput_mbps", where=ONE_LOSS)


def dark() -> Picture:
    """The picture of :func:`paper` on a dark ground."""
    with db.plots.appearance(style="dark"):
        return sweep().plot.metric("buffer", "goodput_mbps", where=ONE_LOSS)


def slides() -> Picture:
    """The picture of :func:`paper` for a slide."""
    with db.plots.appearance(style="slides"):
        return sweep().plot.metric("buffer", "goodput_mbps", where=ONE_LOSS)


def panels() -> Picture:
    """Small multiples for a column of a journal."""
    with db.plots.appearance(size=(3.3, 2.2), style="paper"):
        return sweep().plot.metric("buffer", "goodput_mbps", panels="loss")


PICTURES |= {"panels": panels, "paper": paper, "dark": dark, "slides": slides}
