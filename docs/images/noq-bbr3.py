"""Draws the pictures of docs/noq-bbr3.md: noq's BBRv3 beside the rules of the draft and of Linux, all three in noq.

What noq's BBRv3 draws by chance cannot be repeated, so its curves differ a little from run to run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import dumbbell as db
from dumbbell.plots.style import legend, look, picture

HERE = Path(__file__).parent
CLEAN = {"rate": "10mbit", "rtt": "40ms", "buffer": "1bdp"}
NAMES = {"noq:bbr3": "noq's own", "bbr3-draft": "the draft's rules", "bbr3": "Linux's rules"}
LOOKS = {"noq:bbr3": look("bbr"), "bbr3-draft": look("cubic"), "bbr3": look("reno")}
LOSSES = (0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0)
SEEDS = range(1, 6)


def run(cc: str, path: Any, duration: str, interval: str = "10ms", seed: int = 1) -> db.Result:
    """One flow in noq."""
    record = {"interval": interval}
    experiment = {"duration": duration, "transport": "noq", "record": record, "path": path, "flows": [{"cc": cc}]}
    return db.run(experiment, seed=seed)


def over_time(axes: Any, duration: str, column: str, interval: str) -> None:
    """A column of the series of all three."""
    for cc, name in NAMES.items():
        series = run(cc, CLEAN, duration, interval).series.to_polars()
        axes.plot(series["t_s"], series[column], label=name, **LOOKS[cc].line())
    axes.set_xlabel("time (s)")
    axes.margins(x=0)
    axes.set_xlim(left=0)


def rate(axes: Any) -> None:
    """The pacing rate of half a minute."""
    over_time(axes, "20s", "pacing_mbps", "20ms")
    axes.axhline(10, color="0.6", linewidth=0.8, linestyle=":")
    axes.set_ylim(6, 13)
    axes.set_ylabel("pacing rate (Mbit/s)")


def start(axes: Any) -> None:
    """The packets in flight of the first second."""
    over_time(axes, "1.2s", "inflight", "5ms")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("in flight (packets)")


def loss(axes: Any) -> None:
    """Goodput with random losses."""
    for cc, name in NAMES.items():
        paths = [CLEAN | {"buffer": "2bdp", "loss": f"{share}%"} for share in LOSSES]
        results = [[run(cc, path, "30s", "1s", seed).flows.rows()[0] for seed in SEEDS] for path in paths]
        means = [fmean(flow["goodput_mbps"] for flow in flows) for flows in results]
        axes.plot(LOSSES, means, label=name, marker="o", markersize=3, **LOOKS[cc].line())
    axes.set_xlabel("random loss (%)")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("goodput (Mbit/s)")


def draw(name: str, content: Callable[[Any], None]) -> None:
    """Writes a picture."""
    with picture(7.2, 3.0) as figure:
        axes = figure.subplots()
        content(axes)
        legend(figure, axes.get_lines()[: len(NAMES)])
        figure.write(HERE / name, ["png"])


def main() -> None:
    """Writes the three pictures."""
    draw("noq-bbr3-rate", rate)
    draw("noq-bbr3-loss", loss)
    draw("noq-bbr3-start", start)


if __name__ == "__main__":
    main()
