"""What the study leaves open about its path: how much BBR-n gains with 1, 4, 8 and 12 uploads under each choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dumbbell.papers.bbr_n.measure import FOLDER, NAMES, NATIVE, PAIRS, device
from dumbbell.papers.bbr_n.uploads import COUNTS, WANTED
from dumbbell.papers.model import Cell, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part, Ran, variations
from dumbbell.papers.runs import Cases, grouped, total
from dumbbell.papers.testing import mean

SETUPS: dict[str, Mapping[str, Any]] = {
    "as in bbr-n/uploads": {},
    "MCS 9": {"path.wifi.mcs": 9},
    "40 MHz": {"path.wifi.width": "40mhz"},
    "one packet a frame": {"path.wifi.amsdu": 1},
    "aggregates fixed when they start": {"path.wifi.prebuild": False},
    "one frame in ten lost on the air": {"path.loss": "10%"},
    "queue of 64 packets": {"path.buffer": "64packets"},
    "RTT 10 ms": {"path.rtt": "10ms"},
    "bursts of 1 segment for all": {"transport.gso_max_bytes": "1448B"},
}
QUICK = {"warmup": "1s"}
LOSSES = "bursts of losses on the wire"
Setups = Mapping[str, Cases]
"""The runs of each set-up by algorithm and number of uploads."""


def measured(losses: Ran, *others: Ran) -> Setups:
    """All set-ups, the lossy one with either device."""
    found = {name: ran.runs for name, ran in zip(SETUPS, others, strict=True)}
    found |= grouped(losses.runs, lambda run: f"{LOSSES}, {device(run)}")
    return {name: grouped(runs, lambda run: run.swept("flows[0].cc", "flows[0].count")) for name, runs in found.items()}


def ratio(runs: Cases, base: str, count: str) -> float:
    """BBR-n's throughput over BBRgen's, of means over seeds."""
    ours, theirs = (mean(runs[cc, count], total) for cc in PAIRS[base])
    return ours / theirs


def tables(setups: Setups) -> list[Grid]:
    """Ratios; and with losses the throughput of one upload."""

    def of(count: str) -> Callable[[tuple[str, str]], Cell]:
        return lambda row: ratio(setups[row[0]], row[1], count)

    rows = (((name, base), (name, base)) for name in setups for base in PAIRS)
    columns = {f"uploads: {count}": of(count) for count in COUNTS}
    lossy = {name: runs for name, runs in setups.items() if name.startswith(LOSSES)}

    def rate(cc: str) -> Callable[[str], Cell]:
        return lambda name: mean(lossy[name][cc, "1"], total)

    rates = {NAMES[cc]: rate(cc) for cc in LOSSY}
    return [
        table("choices", "Throughput of BBR-n over BBRgen's", ("set-up", "base"), rows, columns),
        table("losses", f"{LOSSES}: one upload, Mbit/s", ("set-up",), (((name,), name) for name in lossy), rates, 0,
              [["recovered data", *(PUBLISHED[cc] for cc in LOSSY)]]),
    ]  # fmt: skip


LOSSY = ("bbr-n-patch", "bbr-n", "bbr2", "bbr", "cubic", "reno")
PUBLISHED: dict[str, Cell] = {
    "bbr-n-patch": 230.9, "bbr-n": None, "bbr2": 180.3, "bbr": None, "cubic": 217.5, "reno": 202.7
}  # fmt: skip


def pictures(setups: Setups) -> Pictures:
    """A map of the ratios."""
    from dumbbell.papers.bbr_n import figures

    grid = {
        f"{name}: {base}": [ratio(runs, base, count) for count in COUNTS]
        for name, runs in setups.items()
        for base in PAIRS
    }
    return {"choices": figures.ratios(grid, COUNTS, WANTED)}


PART: Part[Setups] = Part(
    "choices",
    "What the study leaves open about its path",
    [
        Experiment(FOLDER / "choices-losses.toml", quick=QUICK),
        *variations(FOLDER / "choices.toml", SETUPS, {}, repeat=1, quick=QUICK),
    ],
    quick="2s",
    measure=measured,
    setup=[
        f"1, 4, 8 and 12 uploads over {NATIVE} (bbr-n/uploads), 25 s, with one thing changed at a time.",
        "Losses: a burst of 20 packets each 12,500 or so on the wire behind the access point, so rare that Reno and "
        "CUBIC still have more than in Table 3; 60 s, three seeds.",
    ],
    tables=tables,
    pictures=pictures,
)
