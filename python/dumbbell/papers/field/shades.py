"""Turkovic, Kuipers and Uhlig, "Fifty Shades of Congestion Control" (arXiv:1903.03852): every pair of eight."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dumbbell.papers.family.measure import Runs, by, where
from dumbbell.papers.field.measure import DIRECTION, FOLDER, part
from dumbbell.papers.model import Claim, Grid, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import jain
from dumbbell.papers.testing import across, each, mean, ranged

LOSS_BASED, DELAY_BASED = ("reno", "bic", "cubic"), ("vegas", "copa")
RTTS = {"one round-trip time": "20ms", "the column's is twice as long": "40ms"}


def pairs(rows: Sequence[str], columns: Sequence[str]) -> Callable[[Runs], dict[str, Runs]]:
    """The runs of each pair with one round-trip time."""
    return lambda runs: {f"{row} beside {column}": where(runs, cc_0=row, cc_1=column, rtt_1="20ms")
                         for row in rows for column in columns}  # fmt: skip


def alike(ccs: Sequence[str], rtt: str) -> Callable[[Runs], dict[str, Runs]]:
    """The runs of two flows of one algorithm, by buffer."""
    return lambda runs: {f"{cc} at {buffer}": where(runs, cc_0=cc, cc_1=cc, rtt_1=rtt, buffer=buffer)
                         for cc in ccs for buffer in by(runs, "buffer")}  # fmt: skip


def tables(runs: Runs) -> list[Grid]:
    """The row's part beside each column, over both buffers."""
    names = {cc: cc for cc in by(runs, "cc_0")}
    return [
        across(f"shades-{rtt}", f"Part of the row's flow, {title}", ["part of"],
               (([cc], by(where(runs, cc_0=cc, rtt_1=rtt), "cc_1")) for cc in names), names, part)
        for title, rtt in RTTS.items()
    ]  # fmt: skip


def pictures(runs: Runs) -> Pictures:
    """A matrix for one round-trip time, and one for two."""
    from dumbbell.papers.field.figures import matrix

    names = list(by(runs, "cc_0"))
    maps = {
        title: {(row, column): mean(where(runs, cc_0=row, cc_1=column, rtt_1=rtt), part)
                for row in names for column in names}
        for title, rtt in RTTS.items()
    }  # fmt: skip
    return {"shades": matrix(maps, names)}


CLAIMS = [
    Claim("fld-11", "Loss-based flows overpower delay-based ones (here: 80 % of the link beside Vegas).", DIRECTION,
          each(pairs(LOSS_BASED, ("vegas",)), lambda run: part(run) >= 0.8, ranged(part))),
    Claim("fld-12", "Two flows of one loss-based or delay-based algorithm share evenly (here: Jain 0.9).", DIRECTION,
          each(alike((*LOSS_BASED, *DELAY_BASED), "20ms"), lambda run: jain(run) >= 0.9, ranged(jain))),
    Claim("fld-13", "Of two loss-based flows the one with the shorter round trip gets more.", DIRECTION,
          each(alike(LOSS_BASED, "40ms"), lambda run: part(run) > 0.55, ranged(part))),
    Claim("fld-14", "Of two flows of BBR the one with the longer round trip gets more.", DIRECTION,
          each(alike(("bbr",), "40ms"), lambda run: part(run) < 0.45, ranged(part))),
]  # fmt: skip

PART = Part(
    "shades",
    "Every pair of eight algorithms, with one round-trip time and with two",
    [Experiment(FOLDER / "shades.toml", quick={"warmup": "500ms"})],
    quick="2s",
    measure=lambda ran: ran.runs,
    setup=["100 Mbit/s, 20 ms (and 40 ms for the second flow), 1 and 4 BDP of drop-tail, 60 s, the last 40 s count."],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)
