"""Arithmetic over what a run measured: ``sum(subject.retransmits) / sum(subject.sent)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.check.expressions import Expression
from dumbbell.fairness import jain

if TYPE_CHECKING:
    from dumbbell.results import Result

SERIES = "_series"
"""``LABEL_series.COLUMN`` is a column of the time series, added up over the flows of a label."""

TRANSFERS = "_transfers"
"""``LABEL_transfers.COLUMN`` is a column of the transfers of a source that began in the measured interval."""


def _known(values: Any) -> Any:
    values = np.asarray(values, dtype=float).ravel()
    return values[~np.isnan(values)]


def _of_known(function: Callable[[Any], Any]) -> Callable[[Any], float]:
    """A function of those values that there are; no number without any."""

    def applied(values: Any) -> float:
        known = _known(values)
        return float(function(known)) if known.size else np.nan

    return applied


def _quantile(share: float) -> Callable[[Any], float]:
    # Where a transfer did not end, its time is infinite; there is nothing between it and another one.
    return _of_known(lambda known: np.quantile(known, share, method="higher" if np.isinf(known).any() else "linear"))


def _first(times: Any, holds: Any, start: Any) -> float:
    """How long after ``start`` a condition holds first; infinite if it never does."""
    found = np.flatnonzero(np.asarray(holds, dtype=bool) & (np.asarray(times) >= start))
    return float(times[found[0]] - start) if found.size else np.inf


def _smooth(values: Any, samples: Any) -> Any:
    """Means over so many samples up to each; none where there are fewer."""
    width = int(samples)
    sums = np.cumsum(np.nan_to_num(np.asarray(values, dtype=float)))
    means = np.full(len(sums), np.nan)
    means[width - 1 :] = (sums[width - 1 :] - np.concatenate(([0.0], sums[:-width]))) / width
    return means


FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "sum": (1, _of_known(np.sum)),
    "mean": (1, _of_known(np.mean)),
    "median": (1, _quantile(0.5)),
    "p95": (1, _quantile(0.95)),
    "p99": (1, _quantile(0.99)),
    "least": (1, _of_known(np.min)),
    "most": (1, _of_known(np.max)),
    "count": (1, lambda values: float(_known(values).size)),
    "jain": (1, _of_known(lambda known: jain(known) or 0.0)),
    "abs": (1, np.abs),
    "sqrt": (1, np.sqrt),
    "min": (2, np.minimum),
    "max": (2, np.maximum),
    "fill": (2, lambda values, other: np.where(np.isnan(values), other, values)),
    "pick": (2, lambda values, holds: np.where(holds, values, np.nan)),
    "smooth": (2, _smooth),
    "first": (3, _first),
}
"""How many values each takes, and what it makes of them."""


class _Any:
    def __contains__(self, name: object) -> bool:
        return True


class Quantity(Expression):
    """A number of a run."""

    functions = FUNCTIONS
    owners = _Any()


class Judgement(Expression):
    """Whether a number is good enough, beside those of others."""

    functions: Mapping[str, tuple[int, Callable[..., Any]]] = {
        "min": (2, np.minimum),
        "max": (2, np.maximum),
        "abs": (1, np.abs),
    }
    owners = ()


def measured(result: Result, names: Sequence[str]) -> dict[str, Any]:
    """The values of names, such as ``subject.goodput_mbps``, in a run; none where the run has none."""
    import polars as pl

    found: dict[str, Any] = {}
    tables = (result.flows, result.datagrams, result.traffic)
    rows = [row for table in tables if table is not None for row in table.rows()]
    links = {str(row["name"]).replace("-", "_"): row for row in result.links.rows()}
    labels = {row["flow"]: row["label"] for row in result.flows.rows()}
    for name in names:
        owner, _, column = name.partition(".")
        if owner in links:
            values = [links[owner].get(column)]
        elif owner.endswith(SERIES):
            wanted = [flow for flow, label in labels.items() if label == owner.removesuffix(SERIES)]
            frame = result.series.to_polars().filter(pl.col("flow").is_in(wanted))
            added = [] if column == "t_s" else [pl.col(column).sum()]
            values = frame.group_by("t_s").agg(added).sort("t_s")[column].cast(pl.Float64).to_list()
        elif owner.endswith(TRANSFERS):
            frame = result.completions.to_polars().filter(
                (pl.col("label") == owner.removesuffix(TRANSFERS)) & (pl.col("measured") == 1)
            )
            series = frame[column].cast(pl.Float64)
            # What did not end took longer than there was time.
            values = (series.fill_null(np.inf) if column in ("fct_s", "slowdown") else series).to_list()
        else:
            merged: dict[int, dict[str, Any]] = {}
            for place, row in enumerate(row for row in rows if row["label"] == owner):
                merged.setdefault(row.get("flow", -1 - place), {}).update(row)
            values = [row.get(column) for row in merged.values()]
        found[name] = np.array([np.nan if value is None else float(value) for value in values])
    return found
