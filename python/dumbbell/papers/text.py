"""Studies on a terminal. Everything goes to standard output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from textwrap import wrap

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dumbbell import terminal
from dumbbell.papers.model import CONTRADICTED, NOT_JUDGED, Grid, Judgement, Report, Study, Verdict

EDGES = 1
"""Characters on the left and right of a table, less the gap behind its last column."""
MAX_TEXT = 24
"""Longer texts than this are wrapped where a table is too wide."""
STYLES: dict[Verdict, str] = {
    "holds": "green",
    "fails": "red",
    "depends": "yellow",
    NOT_JUDGED: "dim",
    CONTRADICTED: "magenta",
}


def report(report: Report, *, only_claims: bool = False) -> None:
    """Prints set-up, tables and judgements."""
    console = terminal.console()
    console.print(Text(f"{report.study}/{report.part}: {report.title}", style="bold"))
    for caveat in report.caveats:
        console.print(Text(f"! {caveat}", style="bold yellow"))
    if not only_claims:
        for line in report.setup:
            console.print(Text(line))
        for grid in report.tables:
            console.print()
            table(console, grid)
    console.print()
    claims = _table("claim", "verdict", "what the study says, what it published, what we measured")
    for judgement in report.judgements:
        lines = [
            judgement.claim.statement,
            f"published: {judgement.claim.published}",
            f"ours: {judgement.ours}{_hint(judgement)}",
            *([f"depends on: {judgement.depends_on}"] if judgement.depends_on else []),
            *(
                f"beside, {one.choice}: {one.ours} ({one.held} of {one.runs}, {one.verdict})"
                for one in judgement.beside
            ),
            *(
                f"theirs, {one.choice}: {one.ours} ({'holds' if one.held else 'does not hold'})"
                for one in judgement.theirs
            ),
            *([f"with six other algorithms: {judgement.notices}"] if judgement.notices else []),
            *([f"note: {judgement.note}"] if judgement.note else []),
        ]
        verdict = Text(judgement.verdict, style=STYLES[judgement.verdict])
        claims.add_row(judgement.claim.id, verdict, Text("\n".join(lines)))
    console.print(claims)
    source = report.provenance
    console.print(
        Text(f"{source.runs} runs, {source.packets:,} packets, {source.cpu_s:.1f} s of CPU, Dumbbell {source.version}")
    )


def _hint(judgement: Judgement) -> str:
    """How to become sure of a verdict."""
    return "" if judgement.is_decided or judgement.verdict == NOT_JUDGED else "; --decide adds seeds"


def table(console: Console, grid: Grid) -> None:
    """Prints a table; of neighbouring columns ``NAME: a``, ``NAME: b`` only the first has the name above it.

    One that is wider than the terminal is printed in parts, each of which begins with the columns that name its rows.
    """
    rows = grid.printed()
    numbers = [all(not isinstance(row[index], str) for row in grid.rows) for index in range(len(grid.columns))]
    for number, part in enumerate(_parts(grid.columns, rows, numbers, console.width)):
        headings = _headings([grid.columns[index] for index in part])
        shown = _table(*headings, title=None if number else grid.title)
        shown.padding = (0, 0, 0, 0)
        for place, (index, column) in enumerate(zip(part, shown.columns, strict=True)):
            column.justify = "right" if numbers[index] or place == 0 else "left"
        for row in rows:
            shown.add_row(*(row[index] for index in part))
        console.print(shown)


def _least_width(heading: str, cells: Iterable[str], *, is_number: bool) -> int:
    """What a column needs so that no word of its heading, and no number, is cut."""
    widest = max(map(len, cells), default=0)
    return max([widest if is_number else min(widest, MAX_TEXT), *map(len, heading.split())])


def _parts(
    columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[bool], width: int
) -> list[list[int]]:
    """The columns of each part of a table: first those that name its rows, then as many as fit.

    A group of columns that have a name above them begins a new part rather than being divided.
    """

    def taken(part: Sequence[int]) -> int:
        needed = (
            _least_width(heading, [row[index] for row in rows], is_number=numbers[index])
            for index, heading in zip(part, _headings([columns[index] for index in part]), strict=True)
        )
        return sum(needed) + len(part) + EDGES

    names = list(range(max(1, next((index for index, number in enumerate(numbers) if number), len(columns)))))
    others = range(len(names), len(columns))
    groups = [
        list(group) for _, group in groupby(others, key=lambda index: columns[index].rpartition(": ")[0] or index)
    ]
    parts = [names]
    for group in groups:
        pieces = [group] if taken([*names, *group]) <= width else [[index] for index in group]
        for piece in pieces:
            if taken([*parts[-1], *piece]) <= width or parts[-1] == names:
                parts[-1] = [*parts[-1], *piece]
            else:
                parts.append([*names, *piece])
    return parts


def listing(studies: Iterable[Study]) -> None:
    """Prints the names of all studies and parts."""
    console = terminal.console()
    shown = _table("name", "what it repeats")
    for study in studies:
        shown.add_row(Text(study.name, style="bold"), Text(study.title))
        for part in study.parts:
            shown.add_row(f"{study.name}/{part.name}", Text(part.title))
    console.print(shown)


def claims(studies: Iterable[Study]) -> None:
    """Prints all claims and what was published for them."""
    console = terminal.console()
    shown = _table("claim", "part", "what the study says", "published")
    for study in studies:
        for part in study.parts:
            for claim in part.claims:
                shown.add_row(claim.id, f"{study.name}/{part.name}", Text(claim.statement), Text(claim.published))
    console.print(shown)


def _headings(columns: Sequence[str]) -> list[str]:
    headings = []
    before = ""
    for column in columns:
        group, _, rest = column.rpartition(": ")
        headings.append("\n".join([*wrap(group, 10), rest]) if group and group != before else rest)
        before = group
    return headings


def _table(*columns: str, title: str | None = None) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", pad_edge=False)
    shown.padding = (0, 1, 0, 0)
    for column in columns:
        shown.add_column(column)
    return shown


def verdicts(reports: Sequence[Report]) -> dict[Verdict, int]:
    """How many claims hold, fail and depend and, if any, are contradicted; or how many there are in quick form."""
    counts = dict.fromkeys(STYLES, 0)
    for one in reports:
        for judgement in one.judgements:
            counts[judgement.verdict] += 1
    quick = counts.pop(NOT_JUDGED)
    if not counts[CONTRADICTED]:
        del counts[CONTRADICTED]
    return {NOT_JUDGED: quick} if quick else counts
