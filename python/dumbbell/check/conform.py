"""Runs the cases of a set on an algorithm."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import _core, experiment
from dumbbell.check.cases import TRANSPORTS, Case, find, put, read_folder
from dumbbell.check.judge import Finding, NeverError, NotObservableError, Observed, Verdict, judge
from dumbbell.check.subject import subject

if TYPE_CHECKING:
    from dumbbell.results import Result

INTERVAL = "1ms"
"""Of the samples of a case that says nothing about it."""


@dataclass(frozen=True)
class Row:
    """What came of a case over a transport."""

    case: Case
    transport: str
    findings: Sequence[Finding]

    @property
    def verdict(self) -> Verdict:
        """That of its worst finding."""
        verdicts = [finding.verdict for finding in self.findings]
        return "fail" if "fail" in verdicts else "not observable" if "not observable" in verdicts else "pass"

    @property
    def worst(self) -> Finding:
        """The first finding that decides."""
        return next(finding for finding in self.findings if finding.verdict == self.verdict)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        findings = [
            {"says": one.says, "verdict": one.verdict, "asked": one.asked, "found": one.found, "t_s": one.when}
            for one in self.findings
        ]
        return {
            "case": self.case.number,
            "title": self.case.title,
            "section": self.case.section,
            "transport": self.transport,
            "verdict": self.verdict,
            "findings": findings,
        }


def conform(
    algorithm: str,
    *,
    set: str | None = None,  # noqa: A002 - the name of the command line's option
    cases: str | os.PathLike[str] | None = None,
    numbers: Sequence[int] = (),
    transports: Sequence[str] = TRANSPORTS,
    jobs: int | None = None,
    max_memory: int | None = None,
    progress: bool | None = None,
    each: Callable[[Row, Result, Observed], None] | None = None,
) -> list[Row]:
    """Examines an algorithm with a set of cases.

    Args:
        algorithm: A name as for :func:`dumbbell.compare`: ``"bbr3"``, ``"bbr3:drain_gain=0.5"``, ``"mine.py:Mine"``.
        set: The cases of the package to take: ``"bbr3"``, which is the default, ``"rfc9438"``, ``"rfc5681"``,
            ``"rfc9002"``, ``"hystart++"``.
        cases: A folder of cases of your own, in place of a set.
        numbers: The cases to run; default all.
        transports: ``"tcp"``, ``"quic"``, or both, which is the default.
        jobs: Runs at the same time; default one a core.
        max_memory: Memory in bytes that each run may take.
        progress: Whether to show a progress bar; by default on a terminal.
        each: Called with each row, its run, and what the run shows.

    Returns:
        A row for each case and transport.

    Raises:
        ScenarioError: A case or the algorithm is wrong; the message says where.
        ValueError: There is no such set, case, transport or algorithm; or nothing is left to run.
    """
    if set is not None and cases is not None:
        raise ValueError("cases of your own are in place of a set: give one of the two")
    found = find(set or "bbr3") if cases is None else read_folder(Path(cases))
    there = {case.number: case for case in found}
    if unknown := [number for number in numbers if number not in there]:
        raise ValueError(f"there is no case {unknown[0]}; there are {', '.join(map(str, there))}")
    if wrong := [one for one in transports if one not in TRANSPORTS]:
        raise ValueError(f"there is no transport `{wrong[0]}`; choose among {', '.join(TRANSPORTS)}")
    chosen = [there[number] for number in dict.fromkeys(numbers)] if numbers else found
    examined = subject(algorithm)
    asked = [(case, one) for case in chosen for one in dict.fromkeys(transports) if one in case.transports]
    if not asked:
        raise ValueError(f"none of these cases is about {', '.join(transports)}")
    documents = [document_of(case, examined, transport) for case, transport in asked]
    limits = {"jobs": jobs, "max_memory": max_memory, "progress": progress}
    return examine(asked, documents, limits, None if each is None else lambda _, *found: each(*found))


def examine(
    asked: Sequence[tuple[Case, str]],
    documents: Sequence[Mapping[str, Any]],
    limits: Mapping[str, Any],
    each: Callable[[int, Row, Result, Observed], None] | None = None,
) -> list[Row]:
    """Runs experiments, and judges each by the assertions of its case.

    Args:
        asked: Cases, and the transport that each is about.
        documents: The experiment of each.
        limits: The arguments ``jobs``, ``max_memory`` and ``progress`` of :func:`conform`.
        each: Called with the place of each in `asked`, its row, its run, and what the run shows.

    Returns:
        A row for each.

    Raises:
        ScenarioError: An experiment is wrong; the message says where.
    """
    rows: dict[int, Row] = {}
    placed = dict(enumerate(documents))
    again: list[int] = []

    def finish(index: int, row: Row, result: Result, observed: Observed) -> None:
        rows[index] = row
        if each is not None:
            each(index, row, result, observed)

    def judged(index: int, observed: Observed) -> Row:
        case, transport = asked[index]
        return Row(case, transport, [judge(assertion, observed) for assertion in case.assertions])

    for index, result in _run(asked, placed, range(len(asked)), limits):
        case, transport = asked[index]
        observed = Observed(result)
        if not case.places:
            finish(index, judged(index, observed), result, observed)
            continue
        try:
            placed[index] = _placed(documents[index], case, observed)
            again.append(index)
        except (NeverError, NotObservableError) as error:
            finish(index, _unplaced(case, transport, error), result, observed)
    for index, result in _run(asked, placed, sorted(again), limits):
        observed = Observed(result)
        finish(index, judged(index, observed), result, observed)
    return [rows[index] for index in range(len(asked))]


def document_of(case: Case, examined: Any, transport: str) -> dict[str, Any]:
    """The experiment of a case, with the algorithm that is examined in its first flow."""
    document: dict[str, Any] = copy.deepcopy(dict(case.document))
    flow = document["flows"][0]
    flow["cc"] = examined
    given = flow.get("transport", document.get("transport"))
    flow["transport"] = given | {"profile": transport} if isinstance(given, dict) else transport
    document["record"] = {"interval": INTERVAL} | document.get("record", {})
    return document


def _placed(document: Mapping[str, Any], case: Case, observed: Observed) -> dict[str, Any]:
    """The experiment with the times of its moments, which a run without them has shown."""
    placed: dict[str, Any] = copy.deepcopy(dict(document))
    for key, moment in case.places:
        put(placed, key, f"{observed.t[observed.one(moment)]:.6f}s")
    return placed


def _unplaced(case: Case, transport: str, error: Exception) -> Row:
    is_hidden = isinstance(error, NotObservableError)
    says = "The experiment has to wait for something"
    found = f"the algorithm does not show {error}" if is_hidden else str(error)
    return Row(case, transport, [Finding(says, "not observable" if is_hidden else "fail", "it comes", found, None)])


def _run(
    asked: Sequence[tuple[Case, str]],
    documents: Mapping[int, Mapping[str, Any]],
    indices: Sequence[int],
    limits: Mapping[str, Any],
) -> Iterator[tuple[int, Result]]:
    from dumbbell.api import Sweep

    points: list[_core.Point] = []
    for index in indices:
        points += experiment.load(documents[index], name=str(asked[index][0].file)).points
    if points:
        for place, result in Sweep(points, out=None, **limits).indexed():
            yield indices[place], result
