"""Tables on a terminal, fitted to its width.

What identifies a row is never shortened. Where a table is too wide, its last columns of numbers are left out, and a
line below says which.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dumbbell.printable import in_markdown, one_line

WIDTH_WITHOUT_TERMINAL = 120

GAP = 2
"""Characters between two columns."""

EDGES = 2
"""Characters on the left and right of a table."""

MIN_PROSE = 24
"""Characters that a column of sentences needs."""

_LINK = re.compile(r"\[((?:`[^`]*`|[^\]])*)\]\([^)]*\)")


class Grid:
    """A table whose last columns of numbers may be left out.

    A heading that ends in a colon belongs to a column of numbers, one that ends in an ellipsis to a column of
    sentences, which are wrapped; any other names what a row is about.
    """

    def __init__(self, *headings: str | Text) -> None:
        self._headings = headings
        self._rows: list[Sequence[str | Text]] = []

    def add(self, *cells: str | Text) -> None:
        """Adds a row."""
        self._rows.append(cells)

    def print(self, title: str | None = None) -> None:
        """Prints the table."""
        here = console()
        if title:
            here.print(Text(one_line(title), style="bold"))
        kept = self._fitting(here.width)
        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for index in kept:
            heading = self._headings[index]
            numeric, prose = _is_numeric(heading), _is_prose(heading)
            grid.add_column(
                Text(_plain(_shown(heading))),
                justify="right" if numeric else "left",
                no_wrap=numeric,
                overflow="fold",
                min_width=None if prose else min(self._width(index), here.width // 2),
            )
        for cells in self._rows:
            grid.add_row(*(cells[index] for index in kept))
        here.print(grid)
        left_out = [
            _plain(heading).replace("\n", " ")
            for index, heading in enumerate(map(_shown, self._headings))
            if index not in kept
        ]
        if left_out:
            here.print(
                Text(f"left out, {here.width} columns are too narrow: {', '.join(left_out)}; --json has them"),
                style="dim",
            )

    def html(self) -> str:
        """The whole table as HTML."""
        headings = "".join(
            f"<th{_aligned(heading)}>{escape(_plain(_shown(heading))).replace(chr(10), '<br>')}</th>"
            for heading in self._headings
        )
        rows = "".join(
            "<tr>"
            + "".join(
                f"<td{_aligned(heading)}>{escape(_plain(cell))}</td>"
                for heading, cell in zip(self._headings, row, strict=True)
            )
            + "</tr>"
            for row in self._rows
        )
        return f"<table><thead><tr>{headings}</tr></thead><tbody>{rows}</tbody></table>"

    def _repr_html_(self) -> str:
        return self.html()

    def markdown(self) -> str:
        """The whole table as Markdown."""
        lines = [
            [in_markdown(_plain(_shown(heading)).replace("\n", " ")) for heading in self._headings],
            ["---:" if _is_numeric(heading) else "---" for heading in self._headings],
            *([in_markdown(_plain(cell)) for cell in row] for row in self._rows),
        ]
        return "".join("| " + " | ".join(line) + " |\n" for line in lines)

    def _fitting(self, width: int) -> list[int]:
        kept = list(range(len(self._headings)))
        while sum(self._width(index) + GAP for index in kept) - GAP + EDGES > width:
            last = next((index for index in reversed(kept) if _is_numeric(self._headings[index])), None)
            if last is None or sum(_is_numeric(self._headings[index]) for index in kept) == 1:
                break
            kept.remove(last)
        return kept

    def _width(self, index: int) -> int:
        heading = self._headings[index]
        cells = [_shown(heading), *(row[index] for row in self._rows)]
        widest = max(len(line) for cell in cells for line in _plain(cell).splitlines() or [""])
        return min(widest, MIN_PROSE) if _is_prose(heading) else widest


class Output(Console):
    """Standard output, whose reader may leave (``| head``) like that of any other text of ours."""

    def on_broken_pipe(self) -> None:
        """Leaves it to :func:`dumbbell.console.reporting_errors`, where Rich would end the process with status 1."""
        raise BrokenPipeError


def console() -> Console:
    """Standard output, as wide as the terminal, or 120 columns where there is none."""
    found = Output()
    return found if found.is_terminal else Output(width=WIDTH_WITHOUT_TERMINAL)


def page(markdown: str) -> None:
    """Prints a page of Markdown: as it is for a file or a pipe, as headings, lists and tables on a terminal."""
    here = Output()
    if not here.is_terminal:
        sys.stdout.write(markdown)
        return
    from rich.markdown import Markdown, TableElement

    class WholeTable(TableElement):
        """A table whose words are never cut, and those of its first column not even divided."""

        def __rich_console__(self, *where: Any) -> Iterator[Any]:
            for table in super().__rich_console__(*where):
                for number, column in enumerate(table.columns if isinstance(table, Table) else ()):
                    column.overflow, column.no_wrap = "fold", number == 0
                yield table

    class Page(Markdown):
        elements = Markdown.elements | {"table_open": WholeTable}

    # Links lead to pages that lie elsewhere; their words stay.
    here.print(Page(_LINK.sub(r"\1", markdown).replace("<br>", " ")))


def _aligned(heading: str | Text) -> str:
    return f' style="text-align: {"right" if _is_numeric(heading) else "left"}"'


def _is_numeric(heading: str | Text) -> bool:
    return isinstance(heading, str) and heading.endswith(":")


def _is_prose(heading: str | Text) -> bool:
    return isinstance(heading, str) and heading.endswith("...")


def _shown(heading: str | Text) -> str | Text:
    return heading.removesuffix("...").removesuffix(":") if isinstance(heading, str) else heading


def _plain(cell: Any) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)
