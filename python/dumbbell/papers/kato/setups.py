"""What the paper leaves open: which set-ups give its Table II?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dumbbell.papers.kato.measure import BUFFERS, FOLDER, SPLIT, is_split, published_values
from dumbbell.papers.model import Cell, Grid, Pictures, table
from dumbbell.papers.part import Part, variations
from dumbbell.papers.runs import Run, total
from dumbbell.papers.testing import mean, near

Setups = Mapping[str, Sequence[Sequence[Run]]]
"""The runs of each set-up at each buffer."""

BUFFER_KEY = 'sweep."path.buffer"'
PHASES = "presets.ns3-3-40.cycle_first_phases"
LATER_PHASES = [0, 5, 0, 3, 0, 6, 6, 7, 3, 4]
"""What ns-3 draws with its run number 2 instead of 1."""


def queue(extra: int) -> dict[str, Any]:
    """Buffers with a device's queue in series behind them."""
    return {BUFFER_KEY: [f"{int(buffer) + extra}packets" for buffer in BUFFERS]}


SETUPS: dict[str, dict[str, Any]] = {
    "as in table2": {},
    "window 0.79 MB": {"transport.receive_window": "786432B"},
    "window 1.15 MB": {"transport.receive_window": "1150000B"},
    "window 1.31 MB": {"transport.receive_window": "1310720B"},
    "window 2 MiB": {"transport.receive_window": "2MiB"},
    "window 16 MiB": {"transport.receive_window": "16MiB"},
    "started at the same instant": {"flows[0].start_jitter": "0s"},
    "device queue of 100 packets": queue(100),
    "access links of 1 Gbit/s": {"flows[0].access_rate": "1gbit"},
    "the same instant, device queue, 1 Gbit/s": {
        **queue(100), "flows[0].start_jitter": "0s", "flows[0].access_rate": "1gbit",
    },
    "phases of ns-3's run 2": {PHASES: LATER_PHASES},
    "own phases": {PHASES: []},
    "an ACK for two packets": {"transport.ack_every": 2},
    "MSS 536": {"transport.mss": 536, "transport.gso_max_bytes": "536B"},
    "min RTO 200 ms": {"transport.rto_min": "200ms"},
}  # fmt: skip

OLD_RULES: dict[str, Any] = {
    'sweep."flows[0].label"': ["ns-3.40"],
    'sweep."flows[0].cc"': ["ns3-3-40"],
    'sweep."transport.delivery_rate"': ["ns3-3.40"],
    'sweep."transport.controller_rtt"': ["smoothed"],
    'sweep."transport.rescue"': ["any"],
    'sweep."transport.rtt_samples"': ["timestamps-of-originals"],
    "record.series": False,
}


def agreement(setups: Setups) -> Grid:
    """Cells of Table II that each set-up gives."""
    published = published_values("throughput_total")

    def splits(of: Sequence[Sequence[Run]]) -> list[bool]:
        return [2 * sum(map(is_split, runs)) > len(runs) for runs in of]

    def right(of: Sequence[Sequence[Run]]) -> int:
        return sum(split == (int(buffer) <= 1000) for buffer, split in zip(BUFFERS, splits(of), strict=True))

    def agreeing(of: Sequence[Sequence[Run]]) -> int:
        return sum(near(mean(runs, total), published[b], 0.1) for b, runs in zip(BUFFERS, of, strict=True))

    def total_at(column: int) -> Callable[[Sequence[Sequence[Run]]], Cell]:
        return lambda of: mean(of[column], total)

    columns: dict[str, Callable[[Sequence[Sequence[Run]]], Cell]] = {
        "split at each buffer": lambda of: " ".join("yes" if split else "no" for split in splits(of)),
        **{f"total at {buffer}": total_at(column) for column, buffer in enumerate(BUFFERS)},
        "splits right, of 5": right,
        "totals right, of 5": agreeing,
        "cells, of 10": lambda of: right(of) + agreeing(of),
    }
    title = "Cells of Table II by set-up (totals in Mbit/s, means over seeds)"
    theirs: list[Cell] = ["published", "yes yes yes no no", *(published[buffer] for buffer in BUFFERS), "", "", ""]
    return table("setups", title, ["set-up"], (([name], of) for name, of in setups.items()), columns, above=[theirs])


def pictures(setups: Setups) -> Pictures:
    """All set-ups."""
    from dumbbell.papers.kato import figures

    return {"setups": figures.setups(setups)}


PART = Part(
    "setups",
    "Set-ups the paper leaves open, beside its Table II",
    variations(FOLDER / "table2.toml", SETUPS, OLD_RULES, repeat=3),
    quick="2s",
    measure=lambda *ran: {name: list(one.by("path.buffer").values()) for name, one in zip(SETUPS, ran, strict=True)},
    setup=lambda setups: [
        "ns-3.40's rules as in kato/table2, one thing made differently (in one row several), "
        f"{len(next(iter(setups.values()))[0])} seeds. A cell of Table II is either the split, at least {SPLIT} flows "
        "below 1 Mbit/s in most seeds at 100, 500 and 1000 packets and not at 2000 and 5000, or the total, its mean "
        "within 10 % of the published one.",
    ],
    tables=lambda setups: [agreement(setups)],
    pictures=pictures,
)
