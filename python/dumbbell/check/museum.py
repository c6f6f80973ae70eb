"""Mistakes of the past, each with the experiment that shows it and the check that it fails.

An exhibit is a file: an experiment, and below its line ``[museum]`` who had the mistake, what its first flow has in
place of its own keys to have it, too, and what must be seen. An exhibit may name a case of a set instead.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from dumbbell import _core, experiment
from dumbbell.check.cases import TRANSPORTS, Case, CaseTable, case_of, find
from dumbbell.check.conform import INTERVAL, Row, document_of, examine
from dumbbell.check.judge import Observed
from dumbbell.check.subject import subject
from dumbbell.check.table import files_of, read_parts
from dumbbell.meant import meant

WORD = "museum"
"""The line of a file below which it is an exhibit."""

_KEYS = ("title", "date", "source", "story", "bug", "draw", "span", "check", "algorithm", "place", "assert")
_OWN = ("place", "assert")
"""Keys of an exhibit that brings its own check."""

_NAMES = {"cc": "name", "transport": "profile"}
"""Keys of a flow that a bug may change, and what a text in their place is short for."""


@dataclass(frozen=True)
class Exhibit:
    """A mistake, and the experiment that shows it."""

    file: Path
    title: str
    date: str
    """The day, month or year in which the mistake was mended, or reported."""
    source: str
    story: str
    bug: Mapping[str, Mapping[str, Any]]
    """What the first flow has in its ``cc`` and its ``transport`` besides to have the mistake."""
    check: str
    """The case of a set that catches it, such as ``rfc9438/7``; empty where the exhibit brings its own."""
    case: Case
    document: Mapping[str, Any]
    """The experiment without the mistake."""
    draw: Sequence[str]
    """Columns of the series that a picture shows."""
    span: tuple[float, float] | None
    """The seconds that it shows; by default all."""

    @property
    def name(self) -> str:
        """That of its file."""
        return self.file.stem

    @property
    def algorithm(self) -> str:
        """The algorithm of the first flow."""
        cc = self.document["flows"][0]["cc"]
        return str(cc["name"] if isinstance(cc, dict) else cc)

    @property
    def experiment(self) -> str:
        """What the file of the experiment says about it in its first lines; empty where it says nothing."""
        lines = self.case.file.read_text(encoding="utf-8").splitlines()
        return " ".join(line.removeprefix("#").strip() for line in takewhile(lambda one: one.startswith("#"), lines))

    @property
    def faulty(self) -> dict[str, Any]:
        """The experiment with the mistake."""
        document: dict[str, Any] = copy.deepcopy(dict(self.document))
        flow = document["flows"][0]
        for key, changes in self.bug.items():
            given = flow.get(key, document.get(key, "tcp"))
            flow[key] = (given if isinstance(given, dict) else {_NAMES[key]: given}) | dict(changes)
        return document

    @property
    def changed(self) -> str:
        """The mistake as an experiment file has it: ``cc.fault = "idle_epoch"``."""
        return ", ".join(
            f"{key}.{name} = {experiment.toml(value)}"
            for key, changes in self.bug.items()
            for name, value in changes.items()
        )


@dataclass(frozen=True)
class Visit:
    """What an exhibit showed, without its mistake and with it."""

    exhibit: Exhibit
    healthy: Row
    faulty: Row

    @property
    def holds(self) -> bool:
        """Whether the check passes without the mistake and fails with it."""
        return self.healthy.verdict == "pass" and self.faulty.verdict == "fail"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        exhibit = self.exhibit
        rows = {"healthy": self.healthy.to_json(), "faulty": self.faulty.to_json()}
        return {
            "name": exhibit.name,
            "title": exhibit.title,
            "algorithm": exhibit.algorithm,
            "date": exhibit.date,
            "source": exhibit.source,
            "bug": exhibit.bug,
            "check": exhibit.check or exhibit.name,
        } | {which: {key: row[key] for key in ("verdict", "findings")} for which, row in rows.items()}


def museum(
    names: Sequence[str] = (),
    *,
    exhibits: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    max_memory: int | None = None,
    progress: bool | None = None,
    each: Callable[[Visit, Observed, Observed], None] | None = None,
) -> list[Visit]:
    """Runs exhibits without their mistakes and with them.

    Args:
        names: Those to run, such as ``"cubic-idle"``; default all.
        exhibits: A folder of exhibits of your own, in place of the package's.
        jobs: Runs at the same time; default one a core.
        max_memory: Memory in bytes that each run may take.
        progress: Whether to show a progress bar; by default on a terminal.
        each: Called with each visit, and what its runs show without the mistake and with it.

    Returns:
        A visit for each exhibit, in the order of their dates.

    Raises:
        ScenarioError: An exhibit is wrong; the message says where.
        ValueError: There is no exhibit of a name.
    """
    there = {one.name: one for one in read_exhibits(exhibits)}
    for name in names:
        if name not in there:
            remedy = meant(name, there) or f"choose among {', '.join(there)}"
            raise ValueError(f"there is no exhibit `{name}`; {remedy}")
    chosen = [one for name, one in there.items() if not names or name in names]
    seen: dict[int, Observed] = {}
    rows = examine(
        [(one.case, _transport(one)) for one in chosen for _ in range(2)],
        [document for one in chosen for document in (one.document, one.faulty)],
        {"jobs": jobs, "max_memory": max_memory, "progress": progress},
        lambda index, _row, _result, observed: seen.update({index: observed} if each is not None else {}),
    )
    visits = [Visit(one, *pair) for one, pair in zip(chosen, zip(rows[::2], rows[1::2], strict=True), strict=True)]
    if each is not None:
        for number, visit in enumerate(visits):
            each(visit, seen[2 * number], seen[2 * number + 1])
    return visits


def read_exhibits(folder: str | os.PathLike[str] | None = None) -> list[Exhibit]:
    """The exhibits in the files ``*.toml`` of a folder, or of the package, in the order of their dates.

    Raises:
        ScenarioError: There are none, or one is wrong; the message says where.
    """
    where = Path(__file__).parent / "museum" if folder is None else Path(folder)
    return sorted((read_exhibit(file) for file in files_of(where, "an exhibit")), key=lambda one: (one.date, one.name))


def read_exhibit(file: Path) -> Exhibit:
    """The exhibit of a file.

    Raises:
        ScenarioError: Something in it is wrong; the message says where.
    """
    _, whole, below = read_parts(file, WORD, bare=True)
    table = CaseTable(file, WORD, below)
    table.check(_KEYS)
    title, source, story = table.text("title"), table.text("source"), table.text("story")
    date = table.text("date")
    if not re.fullmatch(r"\d{4}(-\d{2}){0,2}", date):
        table.refuse("date", 'it must be a day, a month or a year: "2015-09-10", "2015-09", "2015"')
    check = table.text("check", "-").removeprefix("-")
    case, document = _named(table, check, whole) if check else _own(table, whole, title, source)
    draw = [table.column(f"draw[{number}]", str(one)) for number, one in enumerate(table.list("draw", ["cwnd"]))]
    exhibit = Exhibit(
        file, title, date, source, " ".join(story.split()), _bug(table), check, case, document, draw, _span(table)
    )
    experiment.load(exhibit.faulty, name=f"{file}, with its bug")
    return exhibit


def _own(table: CaseTable, whole: Mapping[str, Any], title: str, source: str) -> tuple[Case, dict[str, Any]]:
    """The case that an exhibit brings, and its experiment."""
    if "algorithm" in table.values:
        table.refuse("algorithm", "the experiment says it; it goes with `check`")
    given = {key: table.values[key] for key in _OWN if key in table.values}
    case = case_of(table.file, whole, WORD, {"number": 0, "title": title, "section": source} | given)
    document = copy.deepcopy(dict(whole))
    document["record"] = {"interval": INTERVAL} | document.get("record", {})
    return case, document


def _named(table: CaseTable, check: str, whole: Mapping[str, Any]) -> tuple[Case, dict[str, Any]]:
    """The case of a set that an exhibit names, and its experiment."""
    if whole:
        table.refuse("check", "a case of a set brings its experiment: leave out the one above [museum]")
    if own := [key for key in _OWN if key in table.values]:
        table.refuse(own[0], "a case of a set brings its own")
    name, _, number = check.partition("/")
    try:
        case = next(one for one in find(name) if str(one.number) == number)
    except ValueError as error:
        table.refuse("check", str(error))
    except StopIteration:
        table.refuse("check", f'the set {name} has no such case; write its number, such as "{name}/1"')
    try:
        examined = subject(table.text("algorithm"))
    except ValueError as error:
        table.refuse("algorithm", str(error))
    return case, document_of(case, examined, case.transports[0])


def _bug(table: CaseTable) -> dict[str, Mapping[str, Any]]:
    bug = table.table("bug")
    bug.check(tuple(_NAMES))
    found = {key: bug.mapping(key) for key in bug.values}
    if not any(found.values()):
        bug.refuse("", "it must change something: cc = { fault = … }, or transport = { … }")
    return found


def _span(table: CaseTable) -> tuple[float, float] | None:
    if "span" not in table.values:
        return None
    try:
        begin, end = (_core.seconds(one) for one in table.list("span", []))
    except (TypeError, ValueError):
        table.refuse("span", 'it must be two times, such as ["9s", "11s"]')
    if begin >= end:
        table.refuse("span", "the second time must be later than the first")
    return begin, end


def _transport(exhibit: Exhibit) -> str:
    """The transport of the first flow, as far as a row tells it."""
    given = exhibit.document["flows"][0].get("transport", exhibit.document.get("transport", TRANSPORTS[0]))
    return str(given.get("profile", TRANSPORTS[0]) if isinstance(given, dict) else given)
