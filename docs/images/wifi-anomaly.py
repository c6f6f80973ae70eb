"""Draws wifi-anomaly.png of examples/wifi-anomaly.toml: what two stations get over time, in turn and with fairness."""

from __future__ import annotations

from pathlib import Path

import dumbbell as db
from dumbbell.plots.style import legend, look, picture

HERE = Path(__file__).parent
TITLES = {False: "the access point serves its stations in turn", True: "airtime fairness"}
LOOKS = {"near": look("cubic"), "far": look("bbr")}


def main() -> None:
    """Runs the example and writes the picture."""
    with picture(7.2, 4.6) as figure:
        panels = figure.subplots(2, 1, sharex=True, sharey=True)
        for axes, run in zip(
            panels, db.sweep(HERE.parents[1] / "examples/wifi-anomaly.toml", jobs=1, progress=False), strict=True
        ):
            is_fair = run.meta.settings["links[0].wifi.airtime_fairness"]
            series = run.series.to_polars()
            for flow, label in enumerate(run.flows.to_polars()["label"]):
                samples = series.filter(series["flow"] == flow)
                axes.plot(samples["t_s"], samples["goodput_mbps"], label=label, **LOOKS[label].line())
            axes.set_title(TITLES[is_fair], loc="left")
            axes.set_ylabel("goodput (Mbit/s)")
            axes.set_ylim(bottom=0)
            axes.margins(x=0)
            airtime = run.links.to_polars().select("name", "airtime").rows()
            share = {name.removesuffix("-reverse"): value for name, value in airtime if name.endswith("-reverse")}
            goodput = dict(run.flows.to_polars().select("label", "goodput_mbps").rows())
            words = [f"{name}: {goodput[name]:.0f} Mbit/s, {share[name]:.0%} of the time" for name in LOOKS]
            axes.text(0.995, 0.93, "\n".join(words), transform=axes.transAxes, ha="right", va="top", fontsize=8)
        panels[-1].set_xlabel("time (s)")
        panels[-1].set_xlim(left=0)
        handles = panels[0].get_lines()
        handles[0].set_label("near: MCS 9, 433 Mbit/s")
        handles[1].set_label("far: MCS 0, 32.5 Mbit/s, from 10 s on")
        legend(figure, handles)
        figure.write(HERE / "wifi-anomaly", ["png"])


if __name__ == "__main__":
    main()
