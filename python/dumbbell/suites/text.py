"""Suites on a terminal. Everything goes to standard output."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from dumbbell.papers.model import Report
from dumbbell.suites.model import Suite
from dumbbell.terminal import Grid, console


def report(report: Report) -> None:
    """Prints set-up and tables."""
    here = console()
    here.print(Text(f"{report.study}/{report.part}: {report.title}", style="bold"))
    for caveat in report.caveats:
        here.print(Text(f"! {caveat}", style="bold red"))
    for line in report.setup:
        here.print(Text(line))
    for table in report.tables:
        texts = [index for index, cells in enumerate(zip(*table.rows, strict=True)) if isinstance(cells[0], str)]
        grid = Grid(*(head if index in texts else f"{head}:" for index, head in enumerate(table.columns)))
        for row in table.printed():
            grid.add(*row)
        grid.print()
    source = report.provenance
    here.print(Text(f"{source.runs} runs, {source.packets:,} packets, {source.cpu_s:.1f} s of CPU\n"))


def listing(suites: Iterable[Suite]) -> None:
    """Prints the names of all suites and parts."""
    grid = Grid("name", "what it measures...")
    for suite in suites:
        grid.add(Text(suite.name, style="bold"), f"{suite.title} ({suite.reference})")
        for part in suite.parts:
            grid.add(f"{suite.name}/{part.name}", part.title)
    grid.print()
