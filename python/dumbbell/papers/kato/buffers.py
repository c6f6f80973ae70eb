"""Send and receive buffers apart: which of the two makes flows starve?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dumbbell.papers.kato.measure import FOLDER, published_values, starved
from dumbbell.papers.kato.setups import BUFFER_KEY, OLD_RULES
from dumbbell.papers.model import Cell, Grid, table
from dumbbell.papers.part import Part, Ran, variations
from dumbbell.papers.runs import Run, timeouts, total
from dumbbell.papers.testing import average, ranged

SHOWN = ("100", "1000", "2000")
"""Buffers of the router, packets."""
RECEIVE, SEND = "transport.receive_window", "transport.send_buffer"

SETUPS: dict[str, dict[str, Any]] = {
    "receive 1 MiB": {},
    "receive 1 MiB, send 2 MiB": {SEND: "2MiB"},
    "receive 1 MiB, send 1 MiB": {SEND: "1MiB"},
    "receive 16 MiB, send 1 MiB": {RECEIVE: "16MiB", SEND: "1MiB"},
    "receive 16 MiB, send 512 KiB": {RECEIVE: "16MiB", SEND: "512KiB"},
}  # fmt: skip

Found = Mapping[tuple[str, str], Sequence[Run]]
"""The runs of each set-up at each buffer."""


def measured(*ran: Ran) -> Found:
    """Every set-up at every buffer."""
    return {
        (name, buffer.removesuffix("packets")): runs
        for name, one in zip(SETUPS, ran, strict=True)
        for buffer, runs in one.by_one("path.buffer").items()
    }


def tables(found: Found) -> list[Grid]:
    """Starved flows and totals."""
    columns: dict[str, Callable[[Sequence[Run]], Cell]] = {
        "starved flows": ranged(starved, 0),
        "total Mbit/s": ranged(total, 0),
        "timeouts": average(timeouts),
    }
    totals = published_values("throughput_total")
    above: list[list[Cell]] = [["published", buffer, "", f"{totals[buffer]:.0f}", None] for buffer in SHOWN]
    title = "ns-3.40 with send and receive buffers apart, range over seeds"
    return [table("buffers", title, ("sockets", "buffer"), found.items(), columns, 0, above)]


PART = Part(
    "buffers",
    "Send and receive buffers apart, ns-3.40",
    variations(
        FOLDER / "table2.toml",
        SETUPS,
        {**OLD_RULES, BUFFER_KEY: [f"{buffer}packets" for buffer in SHOWN]},
        repeat=3,
    ),
    quick="2s",
    measure=measured,
    setup=[
        "ns-3.40's rules as in kato/table2 at 100, 1000 and 2000 packets, 3 seeds. In table2 the receive window alone "
        "is 1 MiB, the send buffer unlimited. A send buffer is Linux's here: SO_SNDBUF counts twice, headers and "
        "bookkeeping take about half of that, and the application waits until a third of it is free; ns-3's counts "
        "payload and is refilled byte by byte.",
    ],
    tables=tables,
)
