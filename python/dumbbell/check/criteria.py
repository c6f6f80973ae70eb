"""Reads criteria: experiments with sweeps, and from the line ``[criterion]`` on what is measured and judged in them."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dumbbell.check.expressions import ExpressionError
from dumbbell.check.quantities import SERIES, TRANSFERS, Judgement, Quantity
from dumbbell.check.subject import SUBJECT, put_subject, senders
from dumbbell.check.table import Table, files_of, read_parts
from dumbbell.experiment import toml
from dumbbell.meant import meant

BASELINES = ("reno", "cubic")
"""Who is examined beside it."""

LEVELS = ("MUST", "SHOULD", "evaluate", "consider")
"""What RFC 9743 says about a criterion."""

VALUE = "value"
"""What a judgement calls the number of the algorithm that is examined."""

_EXAMINED = re.compile(rf'^cc = .*\n(label = "{SUBJECT}")$', re.MULTILINE)
"""Where an experiment names the algorithm that is examined."""

_CRITERION = ("section", "title", "level", "asks", "setup", "not_shown", "heads", "names", "quick", "quantity")
_QUANTITY = ("name", "unit", "value", "judge", "says")


@dataclass(frozen=True)
class Measure:
    """A number of every run, and when it is good enough."""

    name: str
    unit: str
    quantity: Quantity
    judgement: Judgement | None
    says: str
    """The judgement in words; empty where it is not judged."""

    @property
    def title(self) -> str:
        """The name with its unit."""
        return f"{self.name}, {self.unit}" if self.unit else self.name


@dataclass(frozen=True)
class Criterion:
    """A file of a criterion."""

    file: Path
    section: str
    title: str
    level: str
    asks: str
    """What the RFC asks for."""
    setup: str
    """What is done, in words."""
    not_shown: str
    """What it does not show."""
    text: str
    """The experiment as it is written."""
    document: Mapping[str, Any]
    """The experiment."""
    quick: Mapping[str, Any]
    """What differs from it in quick form."""
    heads: Mapping[str, str]
    """Swept keys that tell the points apart, and what they are called."""
    names: Mapping[str, Sequence[str]]
    """What the values of a swept key are called, where their texts say little."""
    measures: Sequence[Measure]

    @property
    def name(self) -> str:
        """The stem of its file."""
        return self.file.stem

    def experiment(self, algorithm: Any, *, quick: bool, repeat: int, transport: str = "tcp") -> dict[str, Any]:
        """The experiment with an algorithm in the place of the one that is examined."""
        document: dict[str, Any] = copy.deepcopy(dict(self.document))
        if quick:
            _merge(document, self.quick)
        put_subject(document, algorithm, transport)
        document.setdefault("vary_rtt", "1packet")
        needs_series = any(SERIES in name for measure in self.measures for name in measure.quantity.names)
        document.setdefault("record", {"series": needs_series})
        document.setdefault("sweep", {})["repeat"] = repeat
        return document

    def written(self, algorithm: Any) -> str:
        """The experiment as a file, with an algorithm in the place of the one that is examined."""
        value = toml(algorithm)
        return _EXAMINED.sub(lambda found: f"cc = {value}\n{found[1]}", self.text).strip() + "\n"

    def words(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """What a point is called, a word for each head."""
        return tuple(self._word(key, settings[key]) for key in self.heads)

    def _word(self, key: str, value: Any) -> str:
        values = self.document["sweep"][key]
        if key in self.names and value in values:
            return str(self.names[key][values.index(value)])
        return str(value.get("kind", value)) if isinstance(value, dict) else str(value)


def find() -> list[Criterion]:
    """The criteria of the package, in the order of the RFC."""
    return read_criteria(Path(__file__).parent / "criteria")


def read_criteria(folder: Path) -> list[Criterion]:
    """The criteria in the files ``*.toml`` of a folder, by their names.

    Raises:
        ScenarioError: There are none, or one is wrong.
    """
    return [_read(file) for file in files_of(folder, "a criterion")]


def _read(file: Path) -> Criterion:
    text, document, below = read_parts(file, "criterion", swept=True)
    table = _Table(file, "criterion", below)
    table.check(_CRITERION)
    entries = list(senders(document))
    if not any(entry.get("label") == SUBJECT for entry in entries):
        table.refuse("title", f'no flow or traffic has the label = "{SUBJECT}": nobody would be examined')
    if len(_EXAMINED.findall(text)) != sum(entry.get("label") == SUBJECT for entry in entries):
        table.refuse("title", f'write `cc` on the line before label = "{SUBJECT}"')
    swept = document.get("sweep", {})
    heads, names = table.mapping("heads"), table.mapping("names")
    for kind, keys in (("heads", heads), ("names", names)):
        for key in keys:
            if key not in swept:
                table.refuse(kind, f"`{key}` is not swept; {', '.join(swept) or 'nothing is'}")
    if wrong := [key for key, head in heads.items() if not isinstance(head, str)]:
        table.refuse("heads", f"`{wrong[0]}` must be a text")
    for key, given in names.items():
        if not isinstance(given, list):
            table.refuse("names", f"`{key}` must be a list")
        if len(given) != len(swept[key]):
            table.refuse("names", f"`{key}` has {len(swept[key])} values and {len(given)} names")
    quick = table.mapping("quick")
    measures = [_measure(one, document) for one in table.tables("quantity")]
    if not measures:
        table.refuse("quantity", "there is no [[criterion.quantity]]: nothing would be measured")
    return Criterion(
        file,
        table.text("section"),
        table.text("title"),
        table.choice("level", table.text("level"), LEVELS),
        table.text("asks"),
        table.text("setup"),
        table.text("not_shown"),
        text,
        document,
        quick,
        heads,
        names,
        measures,
    )


def _measure(table: _Table, document: Mapping[str, Any]) -> Measure:
    table.check(_QUANTITY)
    try:
        quantity = Quantity(table.text("value"))
    except ExpressionError as error:
        table.refuse("value", str(error))
    table.check_names("value", quantity.names, document)
    judgement, says = None, ""
    if "judge" in table.values:
        says = table.text("says")
        try:
            judgement = Judgement(table.text("judge"))
        except ExpressionError as error:
            table.refuse("judge", str(error))
        known = (VALUE, *BASELINES)
        if wrong := [name for name in judgement.names if name not in known]:
            table.refuse("judge", f"there is no `{wrong[0]}`; a judgement knows {', '.join(known)}")
        if not judgement.is_condition:
            table.refuse("judge", "it must be something that holds or not, such as value <= cubic")
    elif "says" in table.values:
        table.refuse("says", "it says in words what `judge` asks, which is missing")
    unit = table.values.get("unit", "")
    return Measure(table.text("name"), str(unit), quantity, judgement, says)


class _Table(Table):
    """A table of a file of a criterion."""

    def check_names(self, key: str, names: Sequence[str], document: Mapping[str, Any]) -> None:
        """Refuses names that no run of the experiment has."""
        columns = _columns()
        labels = {str(entry.get("label", entry.get("cc", entry.get("kind")))) for entry in senders(document)}
        for name in names:
            owner, dot, column = name.partition(".")
            label = owner.removesuffix(SERIES).removesuffix(TRANSFERS)
            if not dot or (label not in labels and label not in ("bottleneck", "bottleneck_reverse")):
                known = ", ".join(sorted(f"{label}.COLUMN" for label in labels))
                self.refuse(key, f"there is no `{name}`; write {known} or bottleneck.COLUMN")
            kinds = (
                ("series",)
                if owner.endswith(SERIES)
                else ("completions",)
                if owner.endswith(TRANSFERS)
                else ("links",)
                if label.startswith("bottleneck")
                else ("flows", "traffic", "datagrams")
            )
            known_columns = [one for kind in kinds for one in columns[kind]]
            if column not in known_columns:
                remedy = meant(column, known_columns) or "`dumbbell columns` names all"
                self.refuse(key, f"there is no column `{column}` of {' or '.join(kinds)}; {remedy}")


@cache
def _columns() -> Mapping[str, list[str]]:
    from dumbbell.columns import columns

    found: dict[str, list[str]] = {}
    for one in columns():
        found.setdefault(one.table, []).append(one.name)
    return found


def _merge(document: dict[str, Any], changes: Mapping[str, Any]) -> None:
    """Replaces what differs; tables merge key by key."""
    for key, value in changes.items():
        if isinstance(value, dict) and isinstance(document.get(key), dict):
            _merge(document[key], value)
        else:
            document[key] = value
