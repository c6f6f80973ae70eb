"""The congestion controllers that there are."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from dumbbell import _core
from dumbbell.meant import meant
from dumbbell.tables import Table


class UnknownAlgorithmError(ValueError):
    """There is no algorithm of that name; the message names the nearest."""


@cache
def entries() -> list[dict[str, Any]]:
    """Every algorithm: ``name``, ``exact_name``, ``version``, ``base``, ``summary``, ``source``, ``parameters``."""
    found: list[dict[str, Any]] = json.loads(_core.algorithms())
    return found


def algorithms() -> Table:
    """The congestion controllers: names for ``cc``, what each is, its exact name and its source."""
    import polars as pl

    keys = ("name", "summary", "exact_name", "version", "source")
    return Table(pl.DataFrame([{key: str(entry[key]) for key in keys} for entry in entries()]))


def find(name: str) -> dict[str, Any]:
    """The algorithm with a name, or with the exact name that tables print.

    ``FILE.py:CLASS`` is a class of one's own, whose file is run; ``FILE.so`` a library, which is loaded; ``FILE.npz``
    and ``FILE.onnx`` trained agents.

    Raises:
        UnknownAlgorithmError: There is none.
        ScenarioError: The class, the library or the agent is wrong.
    """
    key = own_key(name)
    if key is not None:
        own: dict[str, Any] = json.loads(_core.described(key, name))
        return own
    known = {entry["exact_name"]: entry for entry in entries()} | {entry["name"]: entry for entry in entries()}
    if name in known:
        return known[name]
    remedy = meant(name, known) or "see `dumbbell cc list`"
    raise UnknownAlgorithmError(f"unknown algorithm `{name}`; {remedy}")


def own_key(name: str) -> str | None:
    """The key under which an experiment names what is in a file of one's own; ``None`` for other names."""
    if ".py:" in name or name.endswith(".py"):
        return "python"
    return file_key(name)


def file_key(name: str) -> str | None:
    """The key of what a file alone names, a library or a trained agent; ``None`` for other names."""
    if name.endswith((".so", ".dylib", ".dll")):
        return "library"
    return "policy" if name.endswith((".npz", ".onnx")) else None


def is_known(name: str) -> bool:
    """Whether ``name`` can stand in ``cc`` of an experiment file."""
    return any(name == entry["name"] for entry in entries())
