"""What stands in ``cc`` for an algorithm that is examined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dumbbell import catalogue
from dumbbell.compare import written

SUBJECT = "subject"
"""The label of flows and traffic whose algorithm is examined."""


def subject(algorithm: str) -> dict[str, Any] | str:
    """What stands in ``cc`` for an algorithm."""
    changed = written(algorithm)
    if isinstance(changed, str):
        return str(catalogue.find(changed)["name"])
    key, own = next(iter(changed.items()))
    # What is wrong with a name or a file is not the fault of an experiment.
    known = catalogue.find(str(own))["name"]
    if key == "name":
        return {**changed, key: known}
    file, colon, name = str(own).rpartition(":") if key == "python" else (own, "", "")
    return {**changed, key: f"{Path(file).resolve()}{colon}{name}"}


def senders(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The flows and the traffic of an experiment."""
    yield from document.get("flows", ())
    yield from document.get("traffic", ())


def put_subject(document: dict[str, Any], algorithm: Any, transport: str) -> None:
    """Puts an algorithm, as ``cc`` takes it, in the place of the one that is examined; all senders over a transport."""
    for entry in senders(document):
        if entry.get("label") == SUBJECT:
            entry["cc"] = algorithm
        if transport != "tcp" and "cc" in entry:
            given = entry.get("transport", document.get("transport", {}))
            entry["transport"] = {**(given if isinstance(given, dict) else {}), "profile": transport}
