"""Which claims of a study say something of its algorithm: each is judged with six others in that algorithm's place."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from dumbbell import _core
from dumbbell.console import note
from dumbbell.papers.model import CONTRADICTED, Grid, Options, Study

if TYPE_CHECKING:
    from dumbbell.papers.part import Part

SIX = ("reno", "cubic", "vegas", "westwood", "scalable", "bbr3")
"""What runs in the place of a study's algorithm: by loss, by delay, by bandwidth, gentle and not."""

OWN = "as it is"
RIVALS = "rivals"
"""The column of what claims that survive all six notice in the place of the study's other algorithms."""
ANYTHING = "true of anything"
CANNOT = "cannot be told"
"""Of runs that lack what a part measures, such as the state of another algorithm."""
SAME = ""
"""Where a part does not run what is swapped."""

FILE = "swaps.csv"
"""Where a study keeps the verdicts, beside its published numbers."""

Verdicts = dict[str, dict[str, str]]
"""By claim and what ran."""


def judged(study: Study, parts: Sequence[Part[Any]], options: Options) -> Verdicts:
    """The verdict of every claim as it is and under each swap; ``SAME`` where the part does not run the subject."""
    found: Verdicts = {}
    for part in parts:
        if not part.claims:
            continue
        note(f"{study.name}/{part.name}: as it is and with {', '.join(SIX)}")
        own = verdicts(part, options)
        found |= {claim: {OWN: verdict} for claim, verdict in own.items()}
        for new in SIX:
            for claim, verdict in _with(part, study.subject, new, options).items():
                found[claim][new] = verdict
        survivors = [claim for claim in own if is_true_of_all(found[claim])]
        for claim in own:
            found[claim][RIVALS] = ""
        if survivors:
            others = [_with(part, study.rivals, new, options) for new in SIX]
            for claim in survivors:
                found[claim][RIVALS] = noticed([one[claim] for one in others])
    return found


def _with(part: Part[Any], olds: Sequence[str], new: str, options: Options) -> dict[str, str]:
    swaps = of_part(part, olds, new, options)
    if not swaps:
        return dict.fromkeys((claim.id for claim in part.claims), SAME)
    return verdicts(part, replace(options, swap=swaps))


def noticed(verdicts: Sequence[str]) -> str:
    """How many swaps a claim that holds notices; empty for none."""
    told = [one for one in verdicts if one not in (SAME, CANNOT)]
    count = sum(one != "holds" for one in told)
    return f"notices {count} of {len(told)}" if count else ""


def is_true_of_all(of: Mapping[str, str]) -> bool:
    """Whether a claim holds with every algorithm in the subject's place."""
    return all(of[what] == "holds" for what in (OWN, *SIX))


def of_part(part: Part[Any], olds: Sequence[str], new: str, options: Options) -> dict[str, str]:
    """The swaps that change something in a part."""
    swaps = {old: new for old in olds if old != new}
    changed = part.swapped(replace(options, swap=swaps))
    return {old: new for old in swaps if changed[old]}


def verdicts(part: Part[Any], options: Options) -> dict[str, str]:
    """The verdict of each claim; :data:`CANNOT` where what ran lacks what the part measures."""
    from dumbbell.papers.part import failures

    try:
        with TemporaryDirectory() as place:
            return {one.claim.id: one.verdict for one in part.judged(replace(options, out=Path(place)))}
    except Exception as error:
        if not options.swap or not isinstance(error, (*failures(), _core.RunError)):
            raise
        return {claim.id: CANNOT for claim in part.claims}


def mark(of: Mapping[str, str]) -> str:
    """What is said of a claim that holds: which swaps it notices, or that it is true of anything."""
    if of[OWN] != "holds":
        return ""
    if is_true_of_all(of):
        return f"{of[RIVALS]} in the place of what it is compared with" if of[RIVALS] else ANYTHING
    held = [new for new in SIX if of[new] == "holds"]
    return noticed([of[new] for new in SIX]) or (f"survives {len(held)}" if held else "not tried")


def table(found: Verdicts) -> Grid:
    """A row for each claim, a column for each swap."""
    columns = ["claim", OWN, *SIX, RIVALS, "so"]
    rows = [[claim, *(of[what] for what in (OWN, *SIX, RIVALS)), mark(of)] for claim, of in found.items()]
    return Grid("swaps", "Verdicts with another algorithm in the place of the study's", columns, rows)


def read(folder: Path) -> Verdicts:
    """What a study keeps of its verdicts; nothing if it was never run so."""
    if not (folder / FILE).is_file():
        return {}
    with (folder / FILE).open(encoding="utf-8", newline="") as file:
        return {row.pop("claim"): row for row in csv.DictReader(file)}


def page(folders: Mapping[str, Path]) -> str:
    """What is kept of each study by its name, as tables in Markdown."""
    short = {SAME: "-", CONTRADICTED: "contradicted"}
    parts = []
    for name, folder in folders.items():
        if not (found := read(folder)):
            continue
        rows = [
            [claim, *(short.get(of[what], of[what]) for what in (OWN, *SIX)), mark(of)] for claim, of in found.items()
        ]
        head = ["claim", OWN, *SIX, "so"]
        lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
        lines.insert(1, "|---" * len(head) + "|")
        parts.append("\n".join([f"## {name}", "", *lines]))
    return "\n\n".join(parts) + "\n"
