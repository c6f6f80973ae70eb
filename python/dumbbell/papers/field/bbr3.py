"""Gomez et al., "Evaluating TCP BBRv3 performance in wired broadband networks" (Computer Communications 2024)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dumbbell.papers.family.measure import NAMES, Runs, bdps, buffers, by, percent_lost, utilisation, where
from dumbbell.papers.field.measure import DIRECTION, FOLDER, part, seeds
from dumbbell.papers.model import Claim, Grid, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Run, retransmitted, total
from dumbbell.papers.testing import across, averaged, both, each, paired, ranged


class Both(NamedTuple):
    """The runs with loss, and those beside CUBIC."""

    loss: Runs
    beside: Runs


def lossy(runs: Both) -> dict[str, Runs]:
    """Version 3 at 1 % of loss."""
    return {"1 %": where(runs.loss, cc_0="bbr3", loss="1%")}


def beside(*others: str) -> Callable[[Both], dict[str, list[tuple[Run, ...]]]]:
    """Version 3 and another version at 1 % of loss."""
    return lambda runs: {
        f"v3 and {NAMES[cc]}": paired(*(where(runs.loss, cc_0=one, loss="1%") for one in ("bbr3", cc))) for cc in others
    }


def versions(runs: Both) -> dict[str, list[tuple[Run, ...]]]:
    """Version 3 and version 2 beside CUBIC, by buffer."""
    third, second = (by(where(runs.beside, cc_0=cc), "buffer") for cc in ("bbr3", "bbr2"))
    return {buffer: paired(own, second[buffer]) for buffer, own in third.items()}


def ends(runs: Both) -> dict[str, list[tuple[Run, ...]]]:
    """Version 3 beside CUBIC in the smallest and in the largest buffer."""
    first, *_, last = by(where(runs.beside, cc_0="bbr3"), "buffer").values()
    return {"0.1 and 10 BDP": paired(first, last)}


def tables(runs: Both) -> list[Grid]:
    """Goodput and loss by random loss; the part beside CUBIC by buffer."""
    losses = {loss: loss for loss in by(runs.loss, "loss")}
    rows = [([NAMES[cc]], by(own, "loss")) for cc, own in by(runs.loss, "cc_0").items()]
    shares = (([NAMES[cc]], by(own, "buffer")) for cc, own in by(runs.beside, "cc_0").items())
    return [
        across("bbr3-goodput", "Goodput in Mbit/s by random loss", ["algorithm"], rows, losses, total, 1),
        across("bbr3-lost", "Packets dropped, percent", ["algorithm"], rows, losses, percent_lost),
        across("bbr3-share", "The version's part beside CUBIC", ["version"], shares, buffers(runs.beside), part),
    ]


def pictures(runs: Both) -> Pictures:
    """The part beside CUBIC over the buffer."""
    from dumbbell.papers.field.figures import curves

    lines = {cc: seeds(by(own, "buffer"), part) for cc, own in by(runs.beside, "cc_0").items()}
    x = [bdps(buffer) for buffer in by(runs.beside, "buffer")]
    return {"bbr3": curves(x, lines, "buffer (BDP)", "part beside CUBIC", {"even": [0.5] * len(x)}, x)}


CLAIMS = [
    Claim("fld-19", "At 1 % of loss version 3 keeps a high throughput (here: half of the link).", DIRECTION,
          each(lossy, lambda run: utilisation(run) >= 0.5, ranged(utilisation))),
    Claim("fld-20", "There it retransmits less than its predecessors.", DIRECTION,
          each(beside("bbr", "bbr2"), lambda pair: retransmitted(pair[0]) < retransmitted(pair[1]),
               both(averaged(retransmitted, 0)))),
    Claim("fld-21", "It shares with CUBIC as version 2 does (here: within 0.15 of the link).", DIRECTION,
          each(versions, lambda pair: abs(part(pair[0]) - part(pair[1])) <= 0.15,
               both(averaged(part)))),
    Claim("fld-22", "How it shares depends on the buffer (here: 0.2 of the link from 0.1 to 10 BDP).", DIRECTION,
          each(ends, lambda pair: abs(part(pair[0]) - part(pair[1])) >= 0.2,
               both(averaged(part)))),
]  # fmt: skip

PART = Part(
    "bbr3",
    "Versions of BBR with random loss, and beside CUBIC",
    [Experiment(FOLDER / "bbr3-loss.toml", quick={"warmup": "500ms"}),
     Experiment(FOLDER / "bbr3-share.toml", quick={"warmup": "500ms"})],
    quick="2s",
    measure=lambda loss, share: Both(loss.runs, share.runs),
    setup=["1 Gbit/s, 20 ms, 1 BDP; 100 Mbit/s, 20 ms, 0.1 to 10 BDP of drop-tail."],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)  # fmt: skip
