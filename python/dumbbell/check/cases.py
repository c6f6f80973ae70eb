"""Reads case files: an ordinary experiment, and from the line ``[check]`` on what must be seen in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from dumbbell import _core
from dumbbell.check.expressions import CONSTANTS, DURATION, FLOW, TEXTS, Expression, ExpressionError
from dumbbell.check.table import Table, files_of, read_parts
from dumbbell.meant import meant

SETS = ("bbr3", "rfc9438", "rfc5681", "rfc9002", "hystart++")
"""Sets of cases that come with the package."""

TRANSPORTS = ("tcp", "quic")

COUNT = "count"
"""The quantity that is how often a moment comes."""

NUMBERS = ("<", "<=", ">", ">=", "=")
WORDS = ("is", "is not")
TAKES = ("all", "any", "mean", "min", "max", "first", "last", "change")

_CHECK = ("number", "title", "section", "transports", "place", "assert")
_PLACE = ("key", "when")
_ASSERT = ("says", "quantity", "when", "take", "each", "at_least", "relation", "value", "tolerance")
_MOMENT = ("at", "enter", "leave", "first", "nth", "after", "until", "plus", "rounds")
_WINDOW = ("during", "from", "skip", "last")
_VALUE = ("quantity", "when", "take")


@dataclass(frozen=True)
class Moment:
    """Instants of a run. One of ``at``, ``enter``, ``leave`` and ``first`` says which."""

    kind: str
    text: str
    """A mode, which may end in ``*``."""
    condition: Expression | None
    seconds: float
    nth: int
    after: Moment | None
    until: Moment | None
    plus: float
    rounds: int

    def __str__(self) -> str:
        words = {"at": f"at {self.seconds:g} s", "enter": f"{self.text} begins", "leave": f"{self.text} ends"}
        later = f" {self.plus * 1e3:+g} ms" if self.plus else f" +{self.rounds} rounds" if self.rounds else ""
        return words.get(self.kind, f"{self.text} becomes true") + later


@dataclass(frozen=True)
class Window:
    """Stretches of a run: the stays in a mode, or what lies between two moments."""

    during: str | None
    begin: Moment | None
    end: Moment | None
    nth: int
    after: Moment | None
    skip: float
    last: float | None

    def __str__(self) -> str:
        return f"in {self.during}" if self.during is not None else f"from {self.begin} until {self.end}"


@dataclass(frozen=True)
class Quantity:
    """What is looked at, and when."""

    expression: Expression | None
    """None counts how often ``when`` comes."""
    when: Moment | Window | None
    take: str


@dataclass(frozen=True)
class Assertion:
    """What must be seen."""

    says: str
    quantity: Quantity
    each: bool
    at_least: int
    relation: str
    value: float | str | Expression | Quantity
    tolerance: float
    is_relative: bool

    @property
    def asked(self) -> str:
        """The relation in words."""
        value = self.value
        if isinstance(value, Quantity):
            text = f"{value.expression.text if value.expression else COUNT} when {value.when}"
        else:
            text = value.text if isinstance(value, Expression) else f"{value:g}" if isinstance(value, float) else value
        if not self.tolerance:
            return f"{self.relation} {text}"
        return f"{self.relation} {text} ± " + (
            f"{100 * self.tolerance:g} %" if self.is_relative else f"{self.tolerance:g}"
        )


@dataclass(frozen=True)
class Case:
    """A case file."""

    file: Path
    number: int
    title: str
    section: str
    transports: Sequence[str]
    document: Mapping[str, Any]
    """The experiment."""
    places: Sequence[tuple[str, Moment]]
    """Keys of the experiment whose times are those of moments of a run without them."""
    assertions: Sequence[Assertion]


def find(name: str) -> list[Case]:
    """The cases of a set of the package.

    Raises:
        ValueError: There is none of that name.
    """
    if name not in SETS:
        remedy = meant(name, SETS) or f"choose among {', '.join(SETS)}"
        raise ValueError(f"there is no set `{name}`; {remedy}")
    return read_folder(Path(__file__).parent / "cases" / name)


def read_folder(folder: Path) -> list[Case]:
    """The cases in the files ``*.toml`` of a folder, in the order of their numbers.

    Raises:
        ScenarioError: There are none, or one is wrong.
    """
    found = sorted((read(file) for file in files_of(folder, "a case")), key=lambda case: case.number)
    for first, second in pairwise(found):
        if first.number == second.number:
            CaseTable(second.file, "check", {"number": second.number}).refuse(
                "number", f"{first.file.name} has it, too"
            )
    return found


def read(file: Path) -> Case:
    """The case of a file.

    Raises:
        ScenarioError: Something in it is wrong; the message says where.
    """
    _, whole, below = read_parts(file, "check")
    return case_of(file, whole, "check", below)


def case_of(file: Path, document: Mapping[str, Any], word: str, below: Any) -> Case:
    """The case that an experiment and what stands below its line ``[word]`` are.

    Raises:
        ScenarioError: Something in it is wrong; the message says where.
    """
    table = CaseTable(file, word, below)
    table.check(_CHECK)
    given = table.list("transports", list(TRANSPORTS))
    transports = [table.choice(f"transports[{number}]", one, TRANSPORTS) for number, one in enumerate(given)]
    if not document.get("flows"):
        table.refuse("title", "the experiment has no [[flows]]: the first of them is the one that is examined")
    if document.get("record", {}).get("series") is False:
        CaseTable(file, "", document).table("record").refuse(
            "series", "assertions are about the series, which it leaves out"
        )
    places = []
    for place in table.tables("place"):
        place.check(_PLACE)
        key = place.text("key")
        try:
            put(json.loads(json.dumps(document)), key, "0s")
        except (KeyError, IndexError, TypeError, ValueError):
            place.refuse("key", "the experiment has no such key; write a key path, such as path.events[0].from")
        places.append((key, _moment(place.table("when"))))
    assertions = [_assertion(one) for one in table.tables("assert")]
    if not assertions:
        table.refuse("assert", f"there is no [[{word}.assert]]: nothing would be asked")
    number = table.number("number")
    if number < 0 or number != int(number):
        table.refuse("number", "it must be a whole number from 0")
    return Case(file, int(number), table.text("title"), table.text("section"), transports, document, places, assertions)


def put(document: Any, path: str, value: Any) -> None:
    """Replaces what a key path names, such as ``path.rate[1][0]``; raises ``LookupError`` if it is not there."""
    words = re.findall(r"[\w-]+(?!\])|\[\d+\]", path)
    steps: list[Any] = [int(word[1:-1]) if word.startswith("[") else word for word in words]
    *way, last = steps
    for step in way:
        document = document[step]
    document[last]
    document[last] = value


def _assertion(table: CaseTable) -> Assertion:
    table.check(_ASSERT)
    relation = table.choice("relation", table.text("relation"), (*NUMBERS, *WORDS))
    quantity = _quantity(table, is_text=relation in WORDS)
    each = table.flag("each")
    at_least = int(table.number("at_least", 1))
    if "at_least" in table.values and not each:
        table.refuse("at_least", "it says of how many moments at least each is looked at: write each = true beside it")
    if each and getattr(quantity.when, "nth", 1) != 1:
        table.refuse("each", "`nth` chooses one moment, and `each` is all of them: leave one out")
    tolerance, is_relative = table.tolerance()
    if tolerance and relation in WORDS:
        table.refuse("tolerance", "a text has none")
    raw = table.needed("value")
    value: float | str | Expression | Quantity
    if relation in WORDS:
        value = table.text("value")
    elif isinstance(raw, dict):
        below = table.table("value")
        below.check(_VALUE)
        value = _quantity(below)
        if value.expression is None:
            below.refuse("quantity", "a count is compared with a number")
        if value.when is None:
            below.refuse("when", "a quantity of another time needs it")
    elif isinstance(raw, str):
        value = table.expression("value", raw)
        if not value.is_number:
            table.refuse("value", "this is a text; relations of texts are " + " and ".join(WORDS))
    else:
        value = table.number("value")
    return Assertion(table.text("says"), quantity, each, at_least, relation, value, tolerance, is_relative)


def _quantity(table: CaseTable, is_text: bool = False) -> Quantity:
    text = table.text("quantity")
    when = _when(table.table("when")) if "when" in table.values else None
    take = table.choice("take", table.text("take", "all"), TAKES)
    if "take" in table.values and not isinstance(when, Window):
        table.refuse("take", "it goes with a window: during, or from and until")
    if text == COUNT:
        if not isinstance(when, Moment) or "take" in table.values or table.values.get("each"):
            table.refuse("quantity", "`count` counts the moments of `when`, and takes neither a window nor `each`")
        return Quantity(None, when, take)
    expression = table.expression("quantity", text)
    if when is None and any(not name.startswith(f"{FLOW}.") and name not in CONSTANTS for name in expression.names):
        table.refuse("when", "a quantity of the series needs it; only flow.NAME is of the whole run")
    if DURATION in expression.names and not isinstance(when, Window):
        table.refuse("quantity", "only a window has a duration: during, or from and until")
    if is_text and text not in TEXTS:
        table.refuse(
            "quantity", f"only {', '.join(TEXTS)} are texts; for numbers the relation is one of {' '.join(NUMBERS)}"
        )
    if not is_text and not expression.is_number:
        table.refuse("quantity", f"this is a text; relations of texts are {' and '.join(WORDS)}")
    return Quantity(expression, when, take)


def _when(table: CaseTable) -> Moment | Window:
    if "during" in table.values:
        table.check(("during", "nth", "after", "skip", "last"))
        nth, after = table.nth(), _nested(table, "after")
        last = table.time("last") if "last" in table.values else None
        return Window(table.text("during"), None, None, nth, after, table.time("skip", "0s"), last)
    if "from" in table.values:
        table.check(("from", "until", "skip", "last"))
        begin, end = _nested(table, "from"), _nested(table, "until")
        if end is None:
            table.refuse("until", "a window that has `from` needs it")
        last = table.time("last") if "last" in table.values else None
        return Window(None, begin, end, 1, None, table.time("skip", "0s"), last)
    return _moment(table)


def _nested(table: CaseTable, key: str) -> Moment | None:
    value = table.values.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        return _plain(table.time(key))
    return _moment(table.table(key))


def _plain(seconds: float) -> Moment:
    return Moment("at", "", None, seconds, 1, None, None, 0.0, 0)


def _moment(table: CaseTable) -> Moment:
    table.check(_MOMENT)
    kinds = [kind for kind in ("at", "enter", "leave", "first") if kind in table.values]
    if len(kinds) != 1:
        table.refuse(
            kinds[1] if kinds else "",
            "a moment has one of at, enter, leave and first; a window has during, or from and until",
        )
    kind = kinds[0]
    text = table.text(kind)
    condition = table.expression(kind, text) if kind == "first" else None
    if condition is not None and not condition.is_condition:
        table.refuse(kind, "it must be something that becomes true, such as lost_total > 0")
    seconds = table.time(kind) if kind == "at" else 0.0
    rounds = table.number("rounds", 0)
    return Moment(
        kind, text, condition, seconds, table.nth(), _nested(table, "after"), _nested(table, "until"),
        table.time("plus", "0s"), int(rounds),
    )  # fmt: skip


class CaseTable(Table):
    """A table of a case file."""

    def nth(self) -> int:
        """Which of several is meant."""
        value = self.number("nth", 1)
        if value == 0 or value != int(value):
            self.refuse("nth", "1 is the first, 2 the second, -1 the last")
        return int(value)

    def time(self, key: str, default: str | None = None) -> float:
        """Seconds, which may be negative."""
        value = self.text(key, default)
        negative = value.startswith("-")
        try:
            seconds = _core.seconds(value.removeprefix("-"))
        except ValueError as error:
            self.refuse(key, str(error))
        return -seconds if negative else seconds

    def tolerance(self) -> tuple[float, bool]:
        """The number, and whether it is a share of the value."""
        value = self.values.get("tolerance", 0)
        if isinstance(value, str):
            word = value.strip().removesuffix("%")
            try:
                return float(word) / 100 if value.strip().endswith("%") else self.refuse("tolerance", _TOLERANCE), True
            except ValueError:
                self.refuse("tolerance", _TOLERANCE)
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            self.refuse("tolerance", _TOLERANCE)
        return float(value), False

    def expression(self, key: str, text: str) -> Expression:
        """Arithmetic over columns of the series, and of the table of flows."""
        try:
            found = Expression(text)
        except ExpressionError as error:
            self.refuse(key, str(error))
        series, flows = _columns()
        for name in found.names:
            is_flow = name.startswith(f"{FLOW}.")
            known = [f"{FLOW}.{one}" for one in flows] if is_flow else [*series, *CONSTANTS, DURATION]
            self._known(key, name, known)
        return found

    def column(self, key: str, name: str) -> str:
        """A column of the series of flows."""
        self._known(key, name, _columns()[0])
        return name

    def _known(self, key: str, name: str, known: Sequence[str]) -> None:
        """Refuses a column that there is not; an algorithm has its own, ``cc_NAME``."""
        if name not in known and not name.startswith("cc_"):
            remedy = meant(name, known) or "`dumbbell columns` names all"
            self.refuse(key, f"there is no column `{name}`; {remedy}")


_TOLERANCE = 'it must be a number in the unit of the quantity, or a share such as "2%"'


@cache
def _columns() -> tuple[list[str], list[str]]:
    """The columns of the series of flows, and of the table of flows."""
    from dumbbell.columns import columns

    series, flows = ([one.name for one in columns() if one.table == table] for table in ("series", "flows"))
    return series, flows
