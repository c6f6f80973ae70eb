"""A study as one HTML file that needs nothing else: set-up, tables, figures, verdicts, versions, seeds."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

from dumbbell.pages.writing import template
from dumbbell.papers.model import NOT_JUDGED, Grid, Report, Study
from dumbbell.papers.text import verdicts
from dumbbell.plots import Picture

_NUMBER = re.compile(r"[-+]?[\d.,]+(?: (?:to|of|±) [-+]?[\d.,]+)?(?: ?%)?|-?")

Row = list[tuple[str, str]]
"""Cells of a table: attributes and text."""


def html(study: Study, reports: Sequence[Report]) -> str:
    """The page."""
    sections = [_Section(report) for report in reports]
    return template("study.html").render(study=study, sections=sections, not_judged=NOT_JUDGED)


@dataclass(frozen=True)
class _Section:
    """A part of the study on the page."""

    report: Report

    @property
    def verdicts(self) -> dict[str, int]:
        """How many claims have each verdict."""
        return {str(verdict): n for verdict, n in verdicts([self.report]).items() if n}

    @property
    def claim_columns(self) -> list[str]:
        """The headings of the table of claims; a column of reasons only where there are some."""
        reasons = ["why"] if any(one.note for one in self.report.judgements) else []
        return ["claim", "verdict", "statement", "published", "ours", *reasons]

    @property
    def figures(self) -> dict[str, str]:
        """The pictures by what is said below them, as images, so that identifiers inside of drawings cannot collide."""
        return {
            f"{name}: {_axes(picture)}": _image(self.report.drawn(name, "svg"))
            for name, picture in self.report.pictures.items()
        }

    @property
    def tables(self) -> list[_Table]:
        """The tables."""
        return [_Table(grid) for grid in self.report.tables]


@dataclass(frozen=True)
class _Table:
    """A table on the page."""

    grid: Grid

    @property
    def title(self) -> str:
        """What is said above it."""
        return self.grid.title

    @cached_property
    def _kinds(self) -> list[str]:
        """The attribute of each column's cells: numbers and ranges of numbers stand right, words left."""
        columns = zip(*self.grid.rows, strict=True) if self.grid.rows else [()] * len(self.grid.columns)
        return [
            "" if all(not isinstance(cell, str) or _NUMBER.fullmatch(cell) for cell in column) else ' class="word"'
            for column in columns
        ]

    @property
    def rows(self) -> list[Row]:
        """The cells below the headings."""
        return [list(zip(self._kinds, row, strict=True)) for row in self.grid.printed()]

    @property
    def head(self) -> list[Row]:
        """The headings; neighbours ``NAME: a``, ``NAME: b`` share one NAME above them."""
        columns = list(zip(self._kinds, self.grid.columns, strict=True))
        parts = [(*name.rpartition(": ")[::2], kind) for kind, name in columns]
        if not any(one[0] and one[0] == other[0] for one, other in pairwise(parts)):
            return [columns]
        above: Row = []
        below: Row = []
        for name, group in groupby(parts, key=lambda part: part[0]):
            members = [(kind, rest) for _, rest, kind in group]
            if name:
                above.append((f' class="group" colspan="{len(members)}"', name))
                below += members
            else:
                above += [(f'{kind} rowspan="2"', rest) for kind, rest in members]
        return [above, below]


def _image(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")


def _axes(picture: Picture) -> str:
    """What a picture shows over what, from the labels of its axes."""
    y, x = (
        dict.fromkeys(label.replace("\n", " ") for label in labels if label)
        for labels in ([one.get_ylabel() for one in picture.axes], [one.get_xlabel() for one in picture.axes])
    )
    return " over ".join(filter(None, [", ".join(y), ", ".join(x)]))
