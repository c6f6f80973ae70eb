"""ns-3.40 at 2000 packets over windows around 1 MiB: where Table II's 850 Mbit/s may come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dumbbell.papers.kato.measure import FOLDER, published_values, starved
from dumbbell.papers.model import Cell, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Run, deviation, drops, total
from dumbbell.papers.testing import ranged

Windows = dict[str, list[Run]]
"""The runs of each window."""
BUFFER = "2000"


def scan(windows: Windows) -> Grid:
    """Each window, and the published run."""
    columns: dict[str, Callable[[Sequence[Run]], Cell]] = {
        "dropped packets": ranged(drops, 0),
        "starved flows": ranged(starved, 0),
        "total Mbit/s": ranged(total, 0),
        "deviation": ranged(deviation, 1),
    }
    theirs = [f"{published_values(metric)[BUFFER]:g}" for metric in ("throughput_total", "throughput_stddev")]
    rows = (([window], runs) for window, runs in windows.items())
    return table("windows", "ns-3.40 at 2000 packets by receive window, range over seeds", ["window"], rows, columns, 0,
                 [["published", None, None, *theirs]])  # fmt: skip


def pictures(windows: Windows) -> Pictures:
    """Total and starved flows by window."""
    from dumbbell.papers.kato import figures

    return {"windows": figures.windows(windows)}


PART = Part(
    "windows",
    "Receive windows around 1 MiB at 2000 packets, ns-3.40",
    [Experiment(FOLDER / "windows.toml")],
    quick="2s",
    measure=lambda ran: ran.by_one("transport.receive_window"),
    setup=["ns-3.40's rules as in kato/table2, 2000 packets of buffer, receive windows from 1.00 to 1.31 MB, 3 seeds."],
    tables=lambda windows: [scan(windows)],
    pictures=pictures,
)
