"""``dumbbell check``: does an algorithm do what a text says?"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import extras
from dumbbell.commands import completion, options
from dumbbell.console import examples, fail, print_json, print_paths, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.check import Row
    from dumbbell.check.judge import Observed
    from dumbbell.results import Result

EXAMPLES = examples(
    "dumbbell check conform bbr3",
    "dumbbell check conform bbr3:drain_gain=0.5 --case 3 -o moments",
    "dumbbell check conform mine.py:Mine --transport quic --json",
    "dumbbell check conform cubic-rfc --set rfc9438",
    "dumbbell check conform bbr3 --cases my-cases",
)

FAILED = 1
"""Exit status where a case fails."""

MARKS = {"pass": "pass", "fail": "FAIL", "not observable": "not observable"}


@extras.needed("statistics", "dumbbell check conform")
def conform(
    algorithm: options.Algorithm,
    set_: Annotated[
        str | None,
        typer.Option(
            "--set",
            metavar="SET",
            help="Cases: bbr3, which is the default, rfc9438, rfc5681, rfc9002 or hystart++.",
            autocompletion=completion.cases,
        ),
    ] = None,
    cases: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Cases of your own, files *.toml, in place of a set.")
    ] = None,
    case: Annotated[list[int] | None, typer.Option(metavar="NUMBER", help="Only this case; may be repeated.")] = None,
    transport: Annotated[str, typer.Option(help="tcp, quic, or both.")] = "tcp,quic",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Directory for a picture of the moment of each case.")
    ] = None,
    jobs: options.Jobs = None,
    max_memory: options.MaxMemory = None,
    as_json: options.AsJson = False,
) -> None:
    """Run the example cases of a text on an algorithm: pass, fail, or not observable.

    Exit status 1 says that a case fails.
    """
    from dumbbell import check

    pictures = None if out is None else _Moments(out, "conformance")
    try:
        rows = check.conform(
            algorithm,
            set=set_,
            cases=cases,
            numbers=case or (),
            transports=options.several(transport),
            jobs=jobs,
            max_memory=options.size(max_memory),
            each=None if pictures is None else pictures.draw,
        )
    except ValueError as error:
        fail(str(error))
    if as_json:
        print_json({"algorithm": algorithm, "cases": [row.to_json() for row in rows]})
    else:
        _print(rows)
    if pictures is not None:
        paths = pictures.write()
        if not as_json:
            print_paths(paths)
    if any(row.verdict == "fail" for row in rows):
        sys.exit(FAILED)


class Drawn:
    """Pictures and other files, written when all are drawn; ``what`` is what their folder is."""

    def __init__(self, folder: Path, what: str) -> None:
        from dumbbell.storage import Kind, check_claim

        extras.need("plots", "--out")
        self.kind = Kind(what, (), lambda folder: None)
        self.folder = folder
        self.drawn: dict[str, bytes] = {}
        check_claim(folder, self.kind)

    def write(self) -> list[Path]:
        """Writes them all; gives the pictures."""
        from dumbbell.storage import adding, claimed, write_file

        with claimed(self.folder, self.kind):
            pass
        self.folder.mkdir(parents=True, exist_ok=True)
        with adding(self.folder, self.kind, self.drawn):
            for name, content in sorted(self.drawn.items()):
                write_file(self.folder / name, content)
        return [self.folder / name for name in sorted(self.drawn) if name.endswith(".png")]


class _Moments(Drawn):
    """Pictures of moments."""

    def draw(self, row: Row, result: Result, observed: Observed) -> None:
        """Draws a row, and keeps the experiment that was run."""
        from dumbbell.check.picture import moment

        name = re.sub(r"[^\w-]+", "-", row.case.file.stem)
        self.drawn[f"{name}-{row.transport}.png"] = moment(row, observed).encoded("png")
        self.drawn[f"{name}-{row.transport}.toml"] = result.scenario_toml.encode()


def _print(rows: Sequence[Row]) -> None:
    from dumbbell.terminal import Grid

    transports = list(dict.fromkeys(row.transport for row in rows))
    table = Grid("case", "title", *transports)
    verdicts = {(row.case.number, row.transport): row.verdict for row in rows}
    for case in dict.fromkeys(row.case.number for row in rows):
        title = next(row.case.title for row in rows if row.case.number == case)
        cells = [verdicts.get((case, transport)) for transport in transports]
        table.add(str(case), title, *("-" if cell is None else MARKS[cell] for cell in cells))
    table.print()
    for row in rows:
        if row.verdict != "pass":
            say(_sentence(row))
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in MARKS}
    say(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


def _sentence(row: Row) -> str:
    """What decides about a row."""
    worst = row.worst
    more = sum(finding.verdict == row.verdict for finding in row.findings) - 1
    begin = f"{row.case.number}, {row.transport}: {worst.says}"
    if worst.verdict == "not observable":
        return f"{begin}: {worst.found}"
    when = "" if worst.when is None else f" at {worst.when:.3f} s"
    others = f"; {more} more fail" if more else ""
    return f"{begin}: asked {worst.asked}, found {worst.found}{when}{others}"
