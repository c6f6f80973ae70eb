"""Other algorithms under the names of a study's own: whether its claims notice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dumbbell import _core, catalogue, experiment
from dumbbell.check.subject import subject
from dumbbell.points import keys_of, numbered
from dumbbell.results import Meta, SweepResult
from dumbbell.tables import Table


def swapped(
    points: Sequence[_core.Point], files: Sequence[Path], swaps: Mapping[str, str]
) -> tuple[list[_core.Point], Counter[str]]:
    """The points with other algorithms, and how many flows each swap changed.

    Args:
        points: What the files say.
        files: The experiment file and what it includes, for the presets that they declare.
        swaps: Old names and new ones. The name of an algorithm stands for all flows of it, whatever their parameters,
            that of a preset of the files for the flows with exactly its parameters. A new one may be written in any way
            that ``compare`` takes.

    Raises:
        UnknownAlgorithmError: There is no algorithm or preset of a new name.
        ScenarioError: What is in its file, or a parameter of it, is wrong.
    """
    if not swaps:
        return list(points), Counter()
    known = presets(files)
    names = known.keys() | {entry["name"] for entry in catalogue.entries()}
    swaps = {old: new for old, new in swaps.items() if old in names}
    if not swaps:
        return list(points), Counter()
    named = {old: (_resolved(old, known, f"--swap {old}={new}"), _resolved(new, known, f"--swap {old}={new}"))
             for old, new in swaps.items()}  # fmt: skip
    found: list[_core.Point] = []
    changed: Counter[str] = Counter()
    for point in points:
        document = json.loads(_core.toml_as_json(point.resolved_toml))
        count: Counter[str] = Counter()
        for flow in document["flows"]:
            name = next((one for one, (old, _) in named.items() if _is(flow["cc"], one, old)), None)
            if name is not None:
                flow["cc"] = named[name][1]
                count[name] += 1
        found += experiment.load(document, name=point.label).points if count else [point]
        changed += count
    return found, changed


def _is(found: Any, name: str, algorithm: Any) -> bool:
    """Whether a flow's algorithm is the one of a name."""
    return found == algorithm or (isinstance(found, dict) and found.get("name") == name)


def presets(files: Sequence[Path]) -> dict[str, Any]:
    """What an experiment file and those it includes declare; of two of one name the first file's."""
    found: dict[str, Any] = {}
    for file in reversed(files):
        found |= json.loads(_core.toml_as_json(file.read_text(encoding="utf-8"))).get("presets", {})
    return found


def _resolved(name: str, known: Mapping[str, Any], source: str) -> Any:
    """An algorithm with all its parameters."""
    try:
        cc = name if name in known else subject(name)
    except catalogue.UnknownAlgorithmError as error:
        raise catalogue.UnknownAlgorithmError(f"{source}: {error}") from None
    alone = {"duration": "1s", "presets": known, "path": {"rate": "1mbit", "rtt": "1ms"}, "flows": [{"cc": cc}]}
    (point,) = experiment.load(alone, name=source).points
    return json.loads(_core.toml_as_json(point.resolved_toml))["flows"][0]["cc"]


def renamed(meta: Meta, point: _core.Point) -> Meta:
    """What is known of a run with other algorithms, under the settings of the point in whose place it ran."""
    return replace(meta, label=point.label, repeat=point.repeat, settings=point.settings)


def under_names(result: SweepResult, points: Sequence[_core.Point]) -> SweepResult:
    """The results under the settings of the points in whose place they ran."""
    import polars as pl

    metas = [renamed(meta, point) for meta, point in zip(result.points, points, strict=True)]
    keys = numbered(keys_of(metas))
    own = ("repeat", "seed", "content_hash")

    def named(table: Table) -> Table:
        frame = table.to_polars()
        if frame.is_empty():
            return table
        rest = frame.drop(own).drop([axis for axis in keys.columns if axis != "point"], strict=False)
        return Table(
            keys.join(rest.with_columns(pl.col("point").cast(pl.UInt32)), on="point", maintain_order="left_right")
        )

    tables: dict[str, Any] = {
        name: named(getattr(result, name)) for name in ("flows", "links", "traffic", "transfers", "datagrams")
    }
    return replace(result, points=metas, **tables)
