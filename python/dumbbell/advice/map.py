"""The map of what to choose: its rows, its places, and what they say in words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dumbbell import _core
from dumbbell.advice import words
from dumbbell.advice.rule import Regret, Run, Runs, Verdict, least_regret, mean, regrets
from dumbbell.terminal import Grid

if TYPE_CHECKING:
    from dumbbell.advice.grid import Question
    from dumbbell.plots import Picture
    from dumbbell.results import SweepResult

PACKET_BYTES = 1500
"""What a packet is in the order of queues that are given in packets."""


ALONE, ITSELF = "alone", "itself"
"""Company that is no algorithm: nobody, and a second flow of the candidate."""


def folder_of(company: str) -> str:
    """The folder of the sweep of a company, below that of the map."""
    return company if company == ALONE else f"beside-{company}"


@dataclass(frozen=True)
class Queue:
    """A queue as an experiment file has it, and where it stands among others."""

    text: str
    bdp: float
    """Bandwidth-delay products; infinite for one without a limit."""

    @classmethod
    def of_bdp(cls, products: float) -> Queue:
        """A queue of so many bandwidth-delay products, to three digits."""
        return cls(f"{products:.3g}bdp", float(f"{products:.3g}"))

    def __str__(self) -> str:
        return f"{self.bdp:g} BDP" if self.text == f"{self.bdp:g}bdp" else self.text


@dataclass(frozen=True)
class Row:
    """Company on a path."""

    company: str
    setting: str
    """What of the path differs from other rows, in words; empty if nothing does."""
    rate: str
    """Empty with a recording."""
    rtt: str
    loss: str
    mean_mbps: float

    def __str__(self) -> str:
        company = self.company if self.company == ALONE else f"beside {self.company}"
        return f"{company}, {self.setting}" if self.setting else company

    def queue(self, text: str) -> Queue:
        """The queue that an option says, in whatever unit."""
        read = _core.quantity(text)
        try:
            rtt_s = _core.seconds(self.rtt)
        except ValueError:
            # Which the experiment refuses.
            return Queue(text, math.nan)
        number, unit = read or (math.inf, "")
        product_bytes = self.mean_mbps * 1e6 * rtt_s / 8
        if unit == "BDP":
            return Queue.of_bdp(number)
        if unit == "ms":
            return Queue(text, number / 1e3 / rtt_s)
        if unit == "kB":
            return Queue(text, number * 1e3 / product_bytes)
        return Queue(text, number * (PACKET_BYTES if unit == "packets" else 1) / product_bytes)

    def queue_of_delay(self, text: str) -> Queue:
        """The queue that holds a packet for this time at the mean rate when it is full."""
        try:
            delay, rtt = _core.seconds(text), _core.seconds(self.rtt)
        except ValueError as error:
            raise ValueError(f"--measured-queue {text}: {error}; write a time such as 180ms") from None
        if delay <= 0:
            raise ValueError(f"--measured-queue {text}: that is a queue without room; write a time such as 180ms")
        return Queue.of_bdp(delay / rtt)


@dataclass(frozen=True)
class Cell:
    """A place of the map: a queue in a row."""

    row: Row
    queue: Queue
    runs: Mapping[str, Runs]
    """Of each candidate."""
    shares: Mapping[str, float | None]
    """Beside another algorithm the candidate's part of what both get; beside itself that of the slower flow."""
    verdict: Verdict

    def mean(self, name: str) -> Run:
        """Goodput and delay of a candidate over its runs."""
        return mean(self.runs[name])


def by_row(cells: Sequence[Cell]) -> dict[Row, list[Cell]]:
    """The places of each row, from the smallest queue on."""
    rows: dict[Row, list[Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.row, []).append(cell)
    return {row: sorted(own, key=lambda cell: cell.queue.bdp) for row, own in rows.items()}


@dataclass(frozen=True)
class Region:
    """Neighbours in a row with one verdict."""

    best: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class DecisionMap:
    """What to choose over queues and company, with what the runs allow to say of it."""

    question: Question
    cells: tuple[Cell, ...]
    confidence: float
    """Of the intervals of differences."""
    sweeps: Mapping[str, SweepResult]
    """What was run, by company."""

    @property
    def folders(self) -> dict[str, str]:
        """The folder of the sweep of each company, below that of the map."""
        return {company: folder_of(company) for company in self.question.company}

    @property
    def candidates(self) -> tuple[str, ...]:
        """The algorithms to choose from."""
        return tuple(self.question.candidates)

    def by_row(self) -> dict[Row, list[Cell]]:
        """The places of each row, from the smallest queue on."""
        return by_row(self.cells)

    def regions(self, row: Row) -> list[Region]:
        """The regions of a row, from the smallest queue on."""
        parts = itertools.groupby(self.by_row()[row], key=lambda cell: cell.verdict.best)
        return [Region(best, tuple(cells)) for best, cells in parts]

    @cached_property
    def regrets(self) -> list[Regret]:
        """What each candidate costs at worst, the least first."""
        return regrets([cell.runs for cell in self.cells], self.question.delay_weight)

    @property
    def least_regret(self) -> list[str]:
        """The candidate to take where the place is not known, and those that it is not shown to differ from."""
        return least_regret(self.regrets)

    @property
    def assumptions(self) -> str:
        """What was run and what was not: the map says nothing beyond it."""
        return words.assumptions(self)

    @property
    def rule(self) -> str:
        """When an algorithm is chosen."""
        return words.rule(self.confidence, self.question.delay_weight)

    @property
    def sentences(self) -> list[str]:
        """The choice in each row, and what to take where the place is not known."""
        found = [words.of_row(self, row) for row in self.by_row()]
        return [*found, words.of_regret(self)] if len(self.cells) > 1 else found

    def reasons(self) -> Grid:
        """Why each choice is one, a line a region of a row."""
        grid = Grid("company", "reason...")
        for row in self.by_row():
            for reason in words.reasons(self, row):
                grid.add(str(row), reason)
        return grid

    def grid(self, *, with_shares: bool = False) -> Grid:
        """A line a place: the choice, and the goodput and the 95th percentile of RTT of each candidate."""
        names = self.candidates
        shares = [f"{name}\nshare %:" for name in names] if with_shares else []
        numbers = [heading for name in names for heading in (f"{name}\nMbit/s:", f"{name}\nms:")]
        grid = Grid("company", "queue", "choice", *numbers, *shares)
        for row, cells in self.by_row().items():
            for cell in cells:
                means = [cell.mean(name) for name in names]
                measured = [text for goodput, delay in means for text in (f"{goodput:.4g}", _number(delay))]
                parts = [_percent(cell.shares[name]) for name in names] if with_shares else []
                grid.add(str(row), str(cell.queue), words.of_best(cell.verdict.best, names), *measured, *parts)
        return grid

    def picture(self) -> Picture:
        """The map: queues from left to right, a row for each company, and what to choose."""
        from dumbbell.plots import decision

        return decision.picture(self)

    def _repr_html_(self) -> str:
        from html import escape

        paragraphs = "".join(f"<p>{escape(text)}</p>" for text in [self.assumptions, *self.sentences, self.rule])
        return paragraphs + self.grid().html() + self.reasons().html()

    def __repr__(self) -> str:
        return "\n".join([self.assumptions, *self.sentences, self.rule])


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _percent(part: float | None) -> str:
    return "" if part is None else f"{100 * part:.0f}"


def boundary(one: Sequence[Cell], other: Sequence[Cell]) -> float:
    """Between two regions, in the midst of their nearest places, in bandwidth-delay products."""
    low, high = one[-1].queue.bdp, other[0].queue.bdp
    return math.sqrt(low * high) if low > 0 and math.isfinite(high) else low
