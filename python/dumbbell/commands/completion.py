"""What a shell offers for a value when Tab is pressed: what the program has, loaded only then."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any


def algorithms(incomplete: str) -> list[str]:
    """Congestion controllers."""
    from dumbbell import catalogue

    return _beginning([entry["name"] for entry in catalogue.entries()], incomplete)


def several_algorithms(incomplete: str) -> list[str]:
    """Congestion controllers, separated by commas."""
    before, comma, last = incomplete.rpartition(",")
    there = before.split(",")
    return [before + comma + name for name in algorithms(last) if name not in there]


def tables(incomplete: str) -> list[str]:
    """Tables of a result."""
    from dumbbell.columns import TABLES

    return _beginning(TABLES, incomplete)


def metrics(incomplete: str) -> list[str]:
    """What a run is measured by: columns of flows and links, and fairness."""
    return [*_columns(("flows", "links"), incomplete), *_beginning(["jain"], incomplete)]


def series(incomplete: str) -> list[str]:
    """Columns of the time series of flows."""
    return _columns(("series",), incomplete)


def studies(incomplete: str) -> list[str]:
    """Published studies; after a slash their parts."""
    from dumbbell import papers

    name, slash, _ = incomplete.partition("/")
    if slash and name in papers.NAMES:
        return _beginning((f"{name}/{part.name}" for part in papers.load(name).parts), incomplete)
    return _beginning(papers.NAMES, incomplete)


def cases(incomplete: str) -> list[str]:
    """Sets of cases that come with the package."""
    from dumbbell.check import SETS

    return _beginning(SETS, incomplete)


def exhibits(incomplete: str) -> list[str]:
    """Mistakes of the past that come with the package."""
    from dumbbell.check import read_exhibits

    return _beginning([exhibit.name for exhibit in read_exhibits()], incomplete)


def scenarios(incomplete: str) -> list[str]:
    """Scenarios of a gate that come with the package."""
    from dumbbell.check.scenarios import find

    return _beginning((one.name for one in find()), incomplete)


def goals(incomplete: str) -> list[str]:
    """What an adversary spoils."""
    from dumbbell.adversary import GOALS

    return _beginning(GOALS, incomplete)


def attacks(incomplete: str) -> list[str]:
    """What an adversary does, separated by commas."""
    from dumbbell.adversary import ATTACKS

    before, comma, last = incomplete.rpartition(",")
    there = before.split(",")
    return [before + comma + name for name in _beginning(ATTACKS, last) if name not in there]


def suites(incomplete: str) -> list[str]:
    """Evaluation suites; after a slash their parts."""
    from dumbbell import suites as evaluation

    if "/" in incomplete:
        parts = (f"{suite.name}/{part.name}" for suite in evaluation.suites() for part in suite.parts)
        return _beginning(parts, incomplete)
    return _beginning(evaluation.NAMES, incomplete)


def flent_tests(incomplete: str) -> list[str]:
    """Tests of Flent."""
    from dumbbell.flent.tests import TESTS

    return _beginning(TESTS, incomplete)


def settings(incomplete: str) -> list[str]:
    """Keys of an experiment, a level at a time: ``path``, then ``path.loss``; ``flows[0]``, then ``flows[0].cc``."""
    from dumbbell import _core

    whole = json.loads(_core.schema())
    before, dot, last = incomplete.rpartition(".")
    place = [whole]
    for key in re.findall(r"[^.\[\]]+", before):
        place = [
            inner
            for schema in _parts(place, whole)
            for inner in ([schema["items"]] if key.isdigit() and "items" in schema else _properties(schema, key))
        ]
    keys = dict.fromkeys(key for schema in _parts(place, whole) for key in schema.get("properties", {}))
    return [f"{before}{dot}{key}" for key in _beginning(keys, last)]


def _properties(schema: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = schema.get("properties", {}).get(key)
    return [found] if isinstance(found, dict) else []


def _parts(schemas: Iterable[dict[str, Any]], whole: dict[str, Any]) -> list[dict[str, Any]]:
    """Schemas with all that they refer to, and of which they are made."""
    found: list[dict[str, Any]] = []
    waiting = list(schemas)
    named = set()
    while waiting:
        schema = waiting.pop(0)
        found.append(schema)
        for word in ("allOf", "anyOf", "oneOf"):
            waiting.extend(schema.get(word, []))
        if isinstance(then := schema.get("then"), dict):
            waiting.append(then)
        if (name := schema.get("$ref")) is not None and name not in named:
            named.add(name)
            waiting.append(whole["$defs"][name.rpartition("/")[2]])
    return found


def _columns(tables: tuple[str, ...], incomplete: str) -> list[str]:
    from dumbbell.columns import columns

    return _beginning(dict.fromkeys(column.name for column in columns() if column.table in tables), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
