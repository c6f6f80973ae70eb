"""Draws noq-zhang.png: Zhang's table 4 for BBR and Cubic in noq, beside our endpoints and what was published.

Four flows share a link behind which packets are lost at random. Utilisation is the UDP payload that arrives over what
the link carries, as in the study; the mean over the five links of the table is drawn.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Any

import dumbbell as db
from dumbbell.plots.style import legend, look, picture

HERE = Path(__file__).parent
LOSSES = (0, 1, 3, 5)
LINKS = {"2": (5, 100), "5": (6, 100), "7": (7, 200), "9": (8, 200), "10": (10, 100)}
"""Mbit/s and milliseconds of each case; its buffer is 1.5 BDP."""
CONTROLLERS = {"BBR": "bbr", "Cubic": "cubic-quic"}
LOOKS = {"BBR": look("bbr"), "Cubic": look("cubic")}
PAYLOAD, PACKET = 1416, 1452
"""Bytes of data in a full packet of either transport, and of UDP's payload."""
TRANSPORTS: dict[str, Any] = {"noq": "noq", "our endpoints": {"profile": "quic", "mss": 1414}}


def utilisation(cc: str, transport: Any, case: str, loss: int) -> float:
    """Of a link, by four flows."""
    rate, rtt = LINKS[case]
    buffer = f"{rate * rtt * 1000 * 3 // 16}B"
    path = {"rate": f"{rate}mbit", "rtt": f"{rtt}ms", "buffer": buffer, "loss": f"{loss}%"}
    flows = [{"cc": cc, "count": 4, "start_jitter": "100ms"}]
    experiment = {"duration": "200s", "transport": transport, "path": path, "flows": flows}
    return sum(float(flow["goodput_mbps"]) for flow in db.run(experiment).flows.rows()) * PACKET / PAYLOAD / rate


def published() -> dict[tuple[str, int], float]:
    """The table's means over its links."""
    text = files("dumbbell.papers.zhang").joinpath("published.csv").read_text("utf-8")
    found: dict[tuple[str, int], list[float]] = {}
    for row in csv.reader(text.splitlines()):
        if row[0] == "table4" and row[3] in CONTROLLERS:
            found.setdefault((row[3], int(row[2].rstrip("%"))), []).append(float(row[6]))
    return {key: fmean(values) for key, values in found.items()}


def main() -> None:
    """Runs and draws."""
    theirs = published()
    with picture(7.2, 3.4) as figure:
        axes = figure.subplots()
        for name, cc in CONTROLLERS.items():
            colour = LOOKS[name].line()["color"]
            for transport, style in zip(TRANSPORTS, ("-", "--"), strict=True):
                means = [fmean(utilisation(cc, TRANSPORTS[transport], case, loss) for case in LINKS) for loss in LOSSES]
                print(name, transport, " ".join(f"{mean:.3f}" for mean in means))
                axes.plot(LOSSES, means, linestyle=style, color=colour, label=f"{name}, {transport}")
            values = [theirs[name, loss] for loss in LOSSES]
            print(name, "published", " ".join(f"{value:.3f}" for value in values))
            axes.plot(LOSSES, values, linestyle="none", marker="o", color=colour, label=f"{name}, published")
        axes.set_xlabel("random loss (%)")
        axes.set_ylabel("utilisation of the link")
        axes.set_ylim(0, 1)
        legend(figure, axes.get_lines())
        figure.write(HERE / "noq-zhang", ["png"])


if __name__ == "__main__":
    main()
