"""What a run was and what it cost: ``meta.json``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.marker import ResultError, read_json

if TYPE_CHECKING:
    import polars as pl

    from dumbbell import _core

META = "meta.json"


@dataclass(frozen=True, slots=True)
class Meta:
    """What was run, and what it cost."""

    version: str
    """Version of Dumbbell."""
    engine: str
    """Digest of the engine's sources: a sweep resumes with results of the same one, or as its user says."""
    label: str
    """The settings of this point of a sweep, empty for a single run."""
    repeat: int
    """Number of the repetition, from 0."""
    seed: int
    content_hash: str
    """Hash of the resolved scenario with its seed: equal hashes are equal runs."""
    sim_s: float
    """Simulated seconds."""
    cpu_s: float
    """CPU seconds of the simulation."""
    wall_s: float
    """Seconds on the wall clock."""
    events: int
    """Events processed."""
    packets: int
    """Data packets delivered."""
    algorithms: dict[str, str] = field(default_factory=dict)
    """Exact name and version of each algorithm by the name in the experiment file."""
    settings: dict[str, Any] = field(default_factory=dict)
    """What a sweep set for this point: ``{"path.loss": "1%"}``."""
    build: str = ""
    """What the engine was built for and how: target, profile, level of optimisation; empty where that is not known."""
    ground: str = "simulator"
    """What ran it: ``simulator``, or ``linux`` for the running kernel's TCP."""
    certificate: dict[str, Any] | None = None
    """How good a run on the kernel was, and which kernel it was; ``None`` for a simulation."""

    @property
    def void(self) -> list[str]:
        """Why a run on the kernel is not to be used; empty if it is."""
        return [str(reason) for reason in (self.certificate or {}).get("void", [])]


def shown_as(meta: Meta, point: _core.Point) -> Meta:
    """What is stored of a point, with the settings that it has in this sweep."""
    # Settings in the words of another file can give the same point.
    if (meta.label, meta.repeat) == (point.label, point.repeat):
        return meta
    return replace(meta, label=point.label, repeat=point.repeat, settings=point.settings)


def read_meta(folder: Path) -> Meta:
    """What a result directory says of its run; raises :class:`ResultError`."""
    path = folder / META
    return meta_of(read_json(path), str(path))


def meta_of(fields: Any, place: str) -> Meta:
    """A ``Meta`` from the JSON object at ``place``, its types checked."""
    if not isinstance(fields, dict):
        raise ResultError(f"{place}: damaged, not a JSON object")
    fields = _OF_EARLIER | fields
    for key, fits in _META_FIELDS.items():
        if key not in fields:
            raise ResultError(f"{place}: damaged, no `{key}`")
        if not fits(fields[key]):
            raise ResultError(f"{place}: damaged, `{key}` cannot be {json.dumps(fields[key])[:40]}")
    if unknown := sorted(set(fields) - set(_META_FIELDS)):
        raise ResultError(
            f"{place}: unknown `{unknown[0]}`, written by another version (Dumbbell {fields['version']})",
            "read it with that version, or run the experiment again",
        )
    return Meta(**fields)


COLUMNS = {
    "label": "String",
    "version": "String",
    "engine": "String",
    "build": "String",
    "ground": "String",
    **dict.fromkeys(("sim_s", "cpu_s", "wall_s"), "Float64"),
    **dict.fromkeys(("events", "packets"), "UInt64"),
    **dict.fromkeys(("algorithms", "settings", "certificate"), "String"),
}
"""The columns of a table of points and their types; what is no text nor number is JSON."""

FIRST_COLUMN = next(iter(COLUMNS))
"""Where keys and settings of points end in such a table."""

_AS_JSON = ("algorithms", "settings", "certificate")


def columns_of(metas: Sequence[Meta]) -> Iterator[pl.Series]:
    """The columns of a table of points, but for content hash, repetition and seed."""
    import polars as pl

    for name, kind in COLUMNS.items():
        values = [getattr(meta, name) for meta in metas]
        if name in _AS_JSON:
            values = [None if value is None else json.dumps(value) for value in values]
        yield pl.Series(name, values, getattr(pl, kind))


def meta_of_row(row: Mapping[str, Any], place: str) -> Meta:
    """A ``Meta`` from a row of such a table, its types checked."""
    fields = {name: row[name] for name in _META_FIELDS if name in row}
    for name in _AS_JSON:
        try:
            fields[name] = None if fields.get(name) is None else json.loads(fields[name])
        except (ValueError, TypeError, RecursionError):
            raise ResultError(f"{place}: damaged, `{name}` is not JSON") from None
    return meta_of(fields, place)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64


def _is_seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


_META_FIELDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("version", "engine", "build", "label"), _is_text),
    **dict.fromkeys(("seed", "events", "packets"), _is_count),
    "repeat": lambda value: _is_count(value) and value < 2**32,
    **dict.fromkeys(("sim_s", "cpu_s", "wall_s"), _is_seconds),
    # Part of a path.
    "content_hash": lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None,
    "algorithms": lambda value: isinstance(value, dict) and all(map(_is_text, value.values())),
    "settings": lambda value: isinstance(value, dict),
    "ground": lambda value: value in ("simulator", "linux"),
    "certificate": lambda value: value is None or isinstance(value, dict),
}
"""The fields of ``Meta`` and what each may be."""

_OF_EARLIER = {"build": "", "ground": "simulator", "certificate": None}
"""What earlier versions did not write."""
