"""Sarpkaya et al., "To switch or not to switch to TCP Prague?" (ANRW 2024): Prague beside CUBIC, and its fall-back."""

from __future__ import annotations

from collections.abc import Callable

from dumbbell.papers.family.measure import Runs, by, setting, where
from dumbbell.papers.field.measure import DIRECTION, FOLDER, part, seeds
from dumbbell.papers.model import Claim, Grid, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Run, grouped
from dumbbell.papers.testing import across, both, each, paired, ranged

DROP_TAIL, FIFO, CODEL, FQ_CODEL, DUALPI2 = "drop-tail", "FIFO with ECN", "CoDel", "FQ-CoDel", "DualPI2"
QUEUES = {"droptail": DROP_TAIL, "threshold": FIFO, "codel": CODEL, "fq_codel": FQ_CODEL, "dualpi2": DUALPI2}
WITHOUT, WITH = "false", "true"


def queue(run: Run) -> str:
    """The queue of a run, as the page calls it."""
    return QUEUES[setting(run, "queue").split()[0].removeprefix("kind=")]


def behind(name: str) -> Callable[[Runs], dict[str, Runs]]:
    """The runs without fall-back behind a queue."""
    return lambda runs: {name: grouped(where(runs, classic_fallback=WITHOUT), queue)[name]}


def fallen_back(runs: Runs) -> dict[str, list[tuple[Run, ...]]]:
    """Runs with the fall-back and without, behind queues that do not know L4S and mark."""
    found, own = (grouped(where(runs, classic_fallback=value), queue) for value in (WITH, WITHOUT))
    return {name: paired(found[name], own[name]) for name in (FIFO, CODEL)}


def tables(runs: Runs) -> list[Grid]:
    """Prague's part by queue."""
    rows = (([name], by(own, "classic_fallback")) for name, own in grouped(runs, queue).items())
    columns = {"without fall-back": WITHOUT, "with fall-back": WITH}
    return [across("prague", "Prague's part beside CUBIC", ["queue"], rows, columns, part)]


def pictures(runs: Runs) -> Pictures:
    """Prague's part, a box for each queue."""
    from dumbbell.papers.field.figures import boxes

    groups = {title: seeds(grouped(where(runs, classic_fallback=value), queue), part)
              for title, value in (("without fall-back", WITHOUT), ("with fall-back", WITH))}  # fmt: skip
    return {"prague": boxes(groups, list(grouped(runs, queue)), "queue", "Prague's part")}


words = ranged(part)
CLAIMS = [
    Claim("fld-23", "In a queue with ECN that does not know L4S Prague starves CUBIC (here: 80 % of the link).",
          DIRECTION, each(behind(FIFO), lambda run: part(run) >= 0.8, words)),
    Claim("fld-24", "Behind FQ-CoDel the two share (here: 40 to 60 %).", DIRECTION,
          each(behind(FQ_CODEL), lambda run: 0.4 <= part(run) <= 0.6, words)),
    Claim("fld-25", "Behind drop-tail CUBIC gets more than Prague.", DIRECTION,
          each(behind(DROP_TAIL), lambda run: part(run) < 0.5, words)),
    Claim("fld-26", "Behind DualPI2 the two share (here: 35 to 65 %).", DIRECTION,
          each(behind(DUALPI2), lambda run: 0.35 <= part(run) <= 0.65, words)),
    Claim("fld-27", "The fall-back takes less from CUBIC where marks are deep.", DIRECTION,
          each(fallen_back, lambda pair: part(pair[0]) < part(pair[1]) - 0.1,
               both(words, "{} with it, {} without"))),
]  # fmt: skip

PART = Part(
    "prague",
    "Prague beside CUBIC behind five queues, with its fall-back and without",
    [Experiment(FOLDER / "prague.toml", quick={"warmup": "500ms"})],
    quick="2s",
    measure=lambda ran: ran.runs,
    setup=[
        "100 Mbit/s, 25 ms, 2 BDP, 60 s of which the last 40 s count; the threshold is half a BDP. All queues but "
        "drop-tail mark."
    ],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)
