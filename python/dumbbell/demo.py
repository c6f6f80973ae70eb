"""``make demo``: BBR against CUBIC on a cellular link and on lossy links.

Uses a real cellular trace when there is one (``DUMBBELL_TRACES``, or ``../shared/traces``), else a synthetic stand-in
that the output and the files call so.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import typer

from dumbbell import experiment, plots, report, storage
from dumbbell.api import Sweep
from dumbbell.batches import BATCHES
from dumbbell.console import reporting_errors, say
from dumbbell.interrupts import ending_soon
from dumbbell.results import POINTS

OUT = Path("out/demo")
TRACE = "Verizon-LTE-short"
STAND_IN = "lte-verizon"
ALGORITHMS = ["bbr", "cubic"]


def find_trace() -> Path | None:
    """The real trace's uplink, or ``None``."""
    places = [os.environ.get("DUMBBELL_TRACES"), "../shared/traces"]
    candidates = [Path(place) / f"{TRACE}.up" for place in places if place]
    return next((path for path in candidates if path.is_file()), None)


def cellular(trace: Path | None) -> dict[str, Any]:
    """Each algorithm alone on the uplink of a moving phone, 100 ms from its server, with a deep queue."""
    if trace is not None:
        link: dict[str, Any] = {
            "trace": str(trace.resolve()),
            "reverse": {"trace": str(trace.with_suffix(".down").resolve())},
        }
    else:
        link = {"rate": {"synth": STAND_IN, "seed": 1}}
    return {
        "duration": "60s",
        "path": {"rtt": "100ms", "buffer": "500packets"} | link,
        "flows": [{"cc": ALGORITHMS[0]}],
        "sweep": {"flows[0].cc": ALGORITHMS},
    }


def lossy() -> dict[str, Any]:
    """Each algorithm alone on a fixed link that loses packets at random, five seeds each."""
    return {
        "duration": "30s",
        "record": {"series": False},
        "path": {"rate": "20mbit", "rtt": "40ms", "buffer": "1bdp"},
        "flows": [{"cc": ALGORITHMS[0]}],
        "sweep": {"path.loss": ["0%", "0.01%", "0.1%", "1%", "5%"], "flows[0].cc": ALGORITHMS, "repeat": 5},
    }


def main() -> None:
    """Runs both experiments and prints where their tables and pictures are."""
    # A demonstration shows the simulator at work, not the results of the last time.
    for kind in (BATCHES, POINTS):
        for folder in OUT.glob(f"*/{kind}/*"):
            storage.remove(folder)
    trace = find_trace()
    if trace is not None:
        link = f"cellular link, real trace {trace.name}"
    else:
        link = f"cellular link, SYNTHETIC stand-in {STAND_IN}"
        say(
            f"no {TRACE}.up here: the cellular link is synthetic (the real one is among Mahimahi's traces; set "
            "DUMBBELL_TRACES to their directory)\n"
        )
    _show(link, "cellular" if trace else "cellular-synthetic", cellular(trace))
    _show("lossy link, 20 Mbit/s, 40 ms, queue of 1 BDP", "lossy", lossy())
    say(f"\nTables (Parquet) and scenarios of every run are in {OUT}/; `dumbbell report DIR` makes a page of one.")


def _show(title: str, name: str, document: dict[str, Any]) -> None:
    folder = OUT / name
    sweep = Sweep(experiment.load(document).points, jobs=None, out=folder, progress=None, others="rerun")
    result = sweep.collect()
    report.result(result, name=title)
    for path in plots.draw(result, folder):
        if path.suffix == ".png":
            typer.echo(f"  picture {path} (also .svg, .pdf)")


if __name__ == "__main__":
    with reporting_errors(), ending_soon():
        main()
