"""Studies on a terminal. Everything goes to standard output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dumbbell.papers.model import NOT_JUDGED, Grid, Report, Study, Verdict

WIDTH_WITHOUT_TERMINAL = 120
STYLES: dict[Verdict, str] = {"holds": "green", "fails": "red", "depends": "yellow", NOT_JUDGED: "dim"}


def report(report: Report, *, only_claims: bool = False) -> None:
    """Prints set-up, tables and judgements."""
    console = _console()
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
            f"ours: {judgement.ours}",
            *([f"depends on: {judgement.depends_on}"] if judgement.depends_on else []),
            *(
                f"beside, {one.choice}: {one.ours} ({one.held} of {one.runs}, {one.verdict})"
                for one in judgement.beside
            ),
            *([f"note: {judgement.note}"] if judgement.note else []),
        ]
        verdict = Text(judgement.verdict, style=STYLES[judgement.verdict])
        claims.add_row(judgement.claim.id, verdict, Text("\n".join(lines)))
    console.print(claims)
    source = report.provenance
    console.print(
        Text(f"{source.runs} runs, {source.packets:,} packets, {source.cpu_s:.1f} s of CPU, Dumbbell {source.version}")
    )


def table(console: Console, grid: Grid) -> None:
    """Prints a table; of neighbouring columns ``NAME: a``, ``NAME: b`` only the first has the name above it."""
    shown = _table(*_headings(grid.columns), title=grid.title)
    shown.padding = (0, 0, 0, 0)
    for index, column in enumerate(shown.columns):
        number = all(not isinstance(row[index], str) for row in grid.rows)
        column.justify = "right" if number or index == 0 else "left"
    for row in grid.printed():
        shown.add_row(*row)
    console.print(shown)


def listing(studies: Iterable[Study]) -> None:
    """Prints the names of all studies and parts."""
    console = _console()
    shown = _table("name", "what it repeats")
    for study in studies:
        shown.add_row(Text(study.name, style="bold"), Text(study.title))
        for part in study.parts:
            shown.add_row(f"{study.name}/{part.name}", Text(part.title))
    console.print(shown)


def claims(studies: Iterable[Study]) -> None:
    """Prints all claims and what was published for them."""
    console = _console()
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


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=WIDTH_WITHOUT_TERMINAL)


def verdicts(reports: Sequence[Report]) -> dict[Verdict, int]:
    """How many claims hold, fail and depend, or how many there are in quick form."""
    counts = dict.fromkeys(STYLES, 0)
    for one in reports:
        for judgement in one.judgements:
            counts[judgement.verdict] += 1
    quick = counts.pop(NOT_JUDGED)
    return {NOT_JUDGED: quick} if quick else counts
