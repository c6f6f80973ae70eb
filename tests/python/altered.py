"""What was measured, with other numbers: claims that hold of runs have to fail of others, on the right side of a bound.

The quick form of a study has runs too short for most bounds to matter. Its numbers are multiplied here, those of a
column, of a case, or of a flow by a factor of their own, so that some pass every bound, and rounded, so that some lie
on it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
import polars as pl

import snapshots
from described import described
from dumbbell.papers.model import Judgement
from dumbbell.papers.part import Part
from dumbbell.papers.rebbr import curves
from dumbbell.papers.runs import Run

Measured = TypeVar("Measured")
Chance = tuple[float, float, float, float]
Case = tuple[str, ...]
"""What tells a measurement from others: keys on the way to it, and what a sweep set."""

TIMES, SHOWN = 72, 2
"""Alterations, and how many of them are kept in words, too."""
MOST_ROWS = 12
"""Of a table."""
FEWER = {"family/states": 48, "family/buffers": 48, "bbr-acd/table2": 24, "zhang/table1": 48, "zhang/table3": 48}
"""Of parts whose claims take long to judge."""
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
CHANCES: tuple[Chance, ...] = (
    (0.3, 0.0, 0.0, 0.0), (0.1, 0.3, 0.0, 0.0), (0.0, 0.0, 0.4, 0.0), (0.2, 0.1, 0.1, 0.2), (0.0, 0.1, 0.0, 0.5),
)  # fmt: skip
GENTLE: tuple[Chance, ...] = ((0.15, 0.0, 0.0, 0.0), (0.0, 0.1, 0.0, 0.0), (0.0, 0.0, 0.06, 0.0), (0.0, 0.0, 0.0, 0.04))
"""How likely a column, what has a part of its case in common, a case, and a place in it have a factor."""
FAR, NEAR = (0.02, 0.1, 0.25, 0.5, 2.0, 4.0, 10.0, 50.0), (0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 1.05, 1.1, 1.25, 1.5)
INSTEAD_OF_0 = (0, 1, 2, 5, 10, 20, 50, 1000)
LEVELS = (0.5, 1, 5, 10, 20, 50, 100, 1000)
SERIES = 24
"""Numbers in a list that are multiplied by the same factor."""
NOT_MEASURED = {"t_s", "flow", "link", "point", "seed", "repeat", "duration_s", "capacity"}


class Alteration:
    """One way to change numbers: whatever is at a place is multiplied by the same factor."""

    def __init__(self, number: int, *, gentle: bool = False) -> None:
        self.number = number
        self.known: dict[str, float] = {}
        draw = random.Random(number)
        self.chances = draw.choice(GENTLE if gentle else CHANCES)
        self.figures = draw.choice([2, 3, 17] if gentle else [1, 2, 2, 17])
        self.factors = draw.choice([FAR + NEAR, NEAR])
        self.levels = not gentle and draw.random() < 0.4
        """Whether all flows of all runs have the same numbers before they are multiplied."""

    def drawn(self, place: str) -> int:
        """A large number that hangs on the place alone."""
        return int.from_bytes(blake2b(f"{self.number} {place}".encode(), digest_size=8).digest(), "big")

    def factor_at(self, chance: float, place: str) -> float:
        """Of a single place."""
        if (known := self.known.get(place)) is None:
            drawn = self.drawn(place)
            known = self.factors[drawn // 1000 % len(self.factors)] if drawn % 1000 < 1000 * chance else 1.0
            self.known[place] = known
        return known

    def factor(self, column: str, case: Case, within: str) -> float:
        """The product of those of a column, of the parts of its case, of the case, and of the place in it."""
        whole, part, each, place = self.chances
        product = self.factor_at(whole, column) if whole else 1.0
        if part:
            for one in case:
                product *= self.factor_at(part, f"{column} {one}")
        if each or place:
            name = f"{column} {case}"
            product *= self.factor_at(each, name) if each else 1.0
            product *= self.factor_at(place, f"{name} {within}") if place else 1.0
        return product

    def number_of(self, value: float, factor: float, place: str) -> float:
        """A number times a factor, rounded; a count stays one, and some of nothing becomes something."""
        if not value and factor != 1:
            value = type(value)(INSTEAD_OF_0[self.drawn(place) % len(INSTEAD_OF_0)])
        changed = float(f"{value * factor:.{self.figures}g}") if self.figures < 17 else value * factor
        return round(changed) if isinstance(value, int) else changed

    def of(self, value: Any, column: str = "", case: Case = (), within: str = "") -> Any:
        """The same thing with other numbers."""
        if isinstance(value, bool | str) or value is None or column in NOT_MEASURED:
            return value
        if isinstance(value, int | float):
            return self.number_of(value, self.factor(column, case, within), f"{column} {case}")
        if isinstance(value, np.ndarray):
            return self.array(value, column, case)
        if isinstance(value, pl.DataFrame):
            return self.frame(value, case)
        if isinstance(value, Run):
            return self.run(value, case)
        if is_dataclass(value) and not isinstance(value, type):
            parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
            return replace(value, **{name: self.of(one, name, case, within) for name, one in parts.items()})
        if isinstance(value, Mapping):
            return {key: self.of(one, column, (*case, *map(str, keys(key))), within) for key, one in value.items()}
        if isinstance(value, tuple) and (names := getattr(value, "_fields", ())):
            return type(value)(*(self.of(one, name, case, within) for name, one in zip(names, value, strict=True)))
        if isinstance(value, list | tuple) and len(value) >= SERIES and isinstance(value[0], int | float):
            factor = self.factor(column, case, within)
            return [one * factor for one in value]
        if isinstance(value, list | tuple):
            return type(value)(self.of(one, column, case, f"{within}/{at}") for at, one in enumerate(value))
        return value

    def run(self, run: Run, case: Case) -> Run:
        """Its flows, its link, and what was kept of it."""
        case = (*case, *(f"{key}={text}" for key, text in sorted(run.settings.items()) if key != "seed"))
        flows = [Row(self, case, f"flow {at}", flow) for at, flow in enumerate(run.flows)]
        return replace(run, flows=flows, link=Row(self, case, "", run.link), kept=self.of(run.kept, "kept", case))

    def array(self, values: np.ndarray[Any, Any], column: str, case: Case) -> np.ndarray[Any, Any]:
        """Of a matrix each row has factors of its own."""
        if values.dtype.kind not in "fi":
            return values
        rows = [self.factor(column, case, f"flow {at}") for at in range(len(values))] if values.ndim > 1 else []
        factor = np.array(rows)[:, None] if rows else self.factor(column, case, "")
        return (values * factor).astype(values.dtype)

    def frame(self, frame: pl.DataFrame, case: Case) -> pl.DataFrame:
        """Column by column; each of several flows has factors of its own."""
        numeric = [name for name, kind in frame.schema.items() if kind.is_numeric() and name not in NOT_MEASURED]
        flows = sorted(frame["flow"].unique().to_list()) if "flow" in frame.columns else []

        def factor(name: str) -> pl.Expr:
            factors = [self.factor(name, case, f"flow {flow}") for flow in flows]
            return pl.col("flow").replace_strict(flows, factors) if flows else pl.lit(self.factor(name, case, ""))

        return frame.with_columns((pl.col(name) * factor(name)).cast(frame.schema[name]) for name in numeric)


def keys(key: Any) -> tuple[Any, ...]:
    """The parts of a key."""
    return key if isinstance(key, tuple) else (key,)


class Row(dict[str, Any]):
    """A row of a table with other numbers, which are made when they are looked at."""

    def __init__(self, alteration: Alteration, case: Case, within: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.alteration, self.case, self.within = alteration, case, within
        self.made: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if name not in self.made:
            self.made.add(name)
            if self.alteration.levels and self.within and type(value) in (int, float) and name not in NOT_MEASURED:
                value = type(value)(LEVELS[self.alteration.drawn(name) % len(LEVELS)])
            value = self.alteration.of(value, name, self.case, self.within)
            self[name] = value
        return value


def same_as_kept(name: str, part: Part[Measured], measured: Measured, times: int = TIMES) -> None:
    """Fails where claims say something else than they did of measurements near to those of which they hold."""
    snapshots.same_as_kept(f"claims/{name}", said(part, measured, times, gentle=True))


def said(part: Part[Measured], measured: Measured, times: int = TIMES, *, gentle: bool = False) -> list[str]:
    """What the claims of a part say of altered measurements; ``gentle`` alterations change little at a time.

    A claim has a line, in which each alteration has a character: in how many runs it holds, or ``-`` if it cannot be
    put to the numbers.
    """
    words: list[str] = []
    found: dict[str, list[str]] = {}
    for number in range(times):
        for one in judged(part, Alteration(number, gentle=gentle).of(measured)):
            for outcome in one.outcomes:
                kind = f"{'' if outcome.decides else ' beside'}{'' if outcome.seeds else ' of no seed'}"
                row = found.setdefault(f"{one.claim.id}, {outcome.choice}{kind}", ["-"] * times)
                row[number] = DIGITS[min(outcome.held, len(DIGITS) - 1)]
            if number < SHOWN:
                is_note_known = isinstance(one.claim.note, str) and isinstance(one.claim.cause, str)
                words += [f"altered {number}, {one.claim.id}: {one.verdict}{'' if is_note_known else f', {one.note}'}"]
                words += [f"  {each.choice}: {each.held} of {each.runs}, {each.ours}" for each in one.outcomes]
    return [f"{name}: {''.join(held)}" for name, held in found.items()] + words


def pictures_as_kept(name: str, part: Part[Measured], measured: Measured) -> None:
    """Fails where the pictures of a part show two seeds differently than they did."""
    alteration = Alteration(0, gentle=True)
    alteration.chances = (0.0, 0.1, 0.1, 0.3)
    lines = []
    for stem, picture in part.pictures(doubled(measured, alteration)).items():
        lines += [stem, *(line.rstrip() for line in described(picture))]
    snapshots.same_as_kept(f"pictures/{name}", lines)


def of_two_seeds(part: Part[Measured], measured: Measured) -> list[str]:
    """What the tables and claims of a part say where every run has a second seed, with other numbers."""
    alteration = Alteration(0)
    alteration.chances, alteration.figures, alteration.levels = (0.3, 0.2, 0.3, 0.3), 3, False
    both = doubled(measured, alteration)
    lines = []
    for grid in part.tables(both):
        rows = grid.printed()
        lines += [f"two seeds, {grid.name}: {' | '.join(row)}" for row in rows[1 :: len(rows) // MOST_ROWS + 1]]
    for one in judged(part, both):
        lines += [f"two seeds, {one.claim.id}, {each.choice}: {each.held}, {each.ours}" for each in one.outcomes]
    return lines


def doubled(value: Any, alteration: Alteration, case: Case = ()) -> Any:
    """The same thing with two runs in the place of each."""
    if isinstance(value, Mapping):
        return {key: doubled(one, alteration, (*case, *map(str, keys(key)))) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(doubled(one, alteration, case) for one in value))
    if isinstance(value, list) and value and isinstance(value[0], Run | curves.Run):
        return [*value, *alteration.of(value, case=case)]
    if isinstance(value, list | tuple):
        return type(value)(doubled(one, alteration, case) for one in value)
    if is_dataclass(value) and not isinstance(value, type | Run | curves.Run):
        parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        return replace(value, **{name: doubled(one, alteration, case) for name, one in parts.items()})
    return value


def judged(part: Part[Measured], measured: Measured) -> list[Judgement]:
    """The claims, as far as they can be put to it."""
    found = []
    for claim in part.claims:
        try:
            found.append(claim.judge(measured, part.decides))
        except ArithmeticError:
            continue
    return found
