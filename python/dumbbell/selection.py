"""What of a sweep is looked at: a metric, some of its runs, and a number a run."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dumbbell import arguments
from dumbbell.fairness import jain
from dumbbell.results import setting_name

if TYPE_CHECKING:
    import polars as pl

OF_A_RUN = "jain"
"""The metric that is one of all flows of a run together."""

OF_A_FLOW = ("cc", "label", "algorithm")
"""Columns that tell flows apart, whatever is swept."""

RESULT = "result"
"""The column that tells several results apart."""


def with_metric(flows: pl.DataFrame, y: str) -> pl.DataFrame:
    """The flows with the column ``y``, which is one of theirs, or ``jain``, Jain's index of each run.

    Raises:
        ValueError: There is no such metric; the message lists those that there are.
    """
    import polars as pl

    if y == OF_A_RUN:
        runs = flows.group_by("point", maintain_order=True).agg(pl.col("goodput_mbps"))
        # What has no goodput had nothing, as in the tables of a run.
        indices = [jain([rate or 0.0 for rate in rates]) for rates in runs["goodput_mbps"]]
        index = pl.DataFrame(
            {"point": runs["point"], OF_A_RUN: indices},
            schema_overrides={"point": runs["point"].dtype, OF_A_RUN: pl.Float64},
        )
        return flows.join(index, on="point", how="left")
    numbers = [name for name, kind in flows.schema.items() if kind.is_numeric() and name not in ("flow", "point")]
    if y not in numbers:
        raise ValueError(f"no metric {y!r}; {_meant_metric(y, numbers)}there are {OF_A_RUN}, {', '.join(numbers)}")
    return flows


def of_whom(flows: pl.DataFrame, y: str) -> pl.DataFrame:
    """The flows; of a metric that all flows of a run share one row a run, with the names of all of them."""
    import polars as pl

    if y != OF_A_RUN:
        return flows
    together = [
        pl.col(column).cast(pl.String).unique(maintain_order=True).str.join(" + ") for column in ("cc", "label")
    ]
    names = flows.group_by("point", maintain_order=True).agg(together)
    return flows.unique("point", keep="first", maintain_order=True).drop("cc", "label").join(names, on="point")


def _meant_metric(word: str, numbers: Sequence[str]) -> str:
    """Asks for the metric that ``word`` resembles, with or without its unit; empty where none does."""
    metrics = {metric: metric for metric in numbers if metric not in ("repeat", "seed")}
    metrics |= {metric.rsplit("_", 1)[0]: metric for metric in reversed(metrics) if "_" in metric}
    near = difflib.get_close_matches(word, list(metrics), n=1, cutoff=0.75)
    return f"did you mean `{metrics[near[0]]}`? " if near else ""


def axis_named(flows: pl.DataFrame, axes_: Sequence[str], name: str) -> str:
    """The swept setting that is called ``name``, whole or by its last part.

    Raises:
        ValueError: There is none, or there are several.
    """
    if name in axes_ and name in flows.columns:
        return name
    found = [axis for axis in axes_ if setting_name(axis) == name]
    if len(found) == 1:
        return found[0]
    raise ValueError(f"this sweep does not vary {name}; it varies {', '.join(axes_) or 'nothing'}")


def only(flows: pl.DataFrame, axes_: Sequence[str], where: Mapping[str, str]) -> pl.DataFrame:
    """The flows with these values of swept settings, or with this ``cc`` or ``label``.

    Raises:
        ValueError: Nothing has them.
    """
    import polars as pl

    for word, value in arguments.settings("where", where, '{"rtt": "20ms"}').items():
        if not isinstance(value, str):
            arguments.refuse(f"where[{word!r}]", value, 'a text as it was swept, such as "20ms"')
        column = word if word in OF_A_FLOW else axis_named(flows, axes_, word)
        kept = flows.filter(pl.col(column) == value)
        if kept.is_empty():
            there = ", ".join(dict.fromkeys(map(str, flows[column].drop_nulls())))
            raise ValueError(f"no run has {word} = {value}; there are {there}")
        flows = kept
    return flows


def named_by(keys: Sequence[str], values: Sequence[object]) -> str:
    """What a group of rows is called that have these values of columns: ``cubic, rtt 20ms``.

    A setting that the result of these rows does not sweep is null there, and not in the name.
    """
    words = [
        str(value) if key in (*OF_A_FLOW, RESULT) or setting_name(key) == "cc" else f"{setting_name(key)} {value}"
        for key, value in zip(keys, values, strict=True)
        if value is not None
    ]
    if keys and not words:
        return f"{', '.join(map(setting_name, keys))} not swept"
    return ", ".join(words) or "all runs"


def over_runs(rows: pl.DataFrame, y: str) -> list[float]:
    """The metric of each run: flows of one run are not independent, so that a run is one sample."""
    import polars as pl

    return rows.group_by("point", maintain_order=True).agg(pl.col(y).mean())[y].drop_nulls().to_list()
