"""Figure 9: the two ways in which the authors ported ns-3.44 to ns-3.40."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dumbbell.papers.kato.measure import FOLDER, fast, starved
from dumbbell.papers.model import Cell, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Run, jain, total
from dumbbell.papers.testing import average, ranged

Approaches = Mapping[str, Sequence[Run]]
"""The runs of plain ns-3.40 and of each approach."""

COLUMNS: dict[str, Callable[[Sequence[Run]], Cell]] = {
    "below 1 Mbit/s": ranged(starved, 0),
    "above 50 Mbit/s": ranged(fast, 0),
    "Jain": average(jain),
    "total Mbit/s": average(total),
    "over seeds": ranged(total, 0),
}


def tables(approaches: Approaches) -> list[Grid]:
    """Both approaches beside plain ns-3.40."""
    rows = (([name], runs) for name, runs in approaches.items())
    title = "Ports of ns-3.44 to ns-3.40 at 100 packets; published of both: nine fast flows, seven extremely slow"
    return [table("port", title, ["port"], rows, COLUMNS)]


def pictures(approaches: Approaches) -> Pictures:
    """Figure 9."""
    from dumbbell.papers.kato import figures

    first = {f"{name}, 100 packets": runs[0] for name, runs in approaches.items()}
    return {"fig9": figures.sorted_rates(first, 1, 8.0, 2.8, 8)}


PART = Part(
    "port",
    "The authors' two ports of ns-3.44 to ns-3.40",
    [Experiment(FOLDER / "port.toml")],
    quick="2s",
    measure=lambda ran: ran.by_one("flows[0].label"),
    setup=[
        "16 flows at 100 packets as in kato/table2, 5 seeds. Approach 1 edits the places that the authors suspected: "
        "BBR's margin and test of samples, and the last in place of the smoothed round-trip time. Approach 2 takes "
        "tcp-bbr and tcp-socket-base whole, and with them round-trip times from retransmissions.",
        "kato/causes judges approach 2 (kat-12, kat-13).",
    ],
    tables=tables,
    pictures=pictures,
)
