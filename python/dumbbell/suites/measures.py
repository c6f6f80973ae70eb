"""What suites measure of a run, in the words of their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dumbbell import metrics, transfers
from dumbbell.results import Result

Row = Mapping[str, Any]


def link(result: Result, name: str) -> Row:
    """The row of a link."""
    return next(row for row in result.links.rows() if row["name"] == name)


def queue_ms(row: Row, column: str = "mean_queue_bytes") -> float | None:
    """What waits in the queue, as time at the mean rate of the link."""
    capacity = row["capacity_mbps"]
    return 8e-3 * row[column] / capacity if capacity else None


def drop_percent(row: Row) -> float | None:
    """Packets dropped of those that arrived, per cent."""
    return 100 * row["drops"] / row["arrivals"] if row["arrivals"] else None


def of_link(row: Row) -> dict[str, float | None]:
    """Utilisation, drops and queueing delay of a link."""
    used = row["utilization"]
    return {
        "utilisation %": None if used is None else 100 * used,
        "drops %": drop_percent(row),
        "mean queue ms": queue_ms(row),
        "p95 queue ms": queue_ms(row, "p95_queue_bytes"),
    }


def completion(result: Result, sources: Sequence[int] | None = None) -> dict[str, float | None]:
    """Completion times over all transfers, or those of some sources, that began in the measured interval."""
    import polars as pl

    table = result.completions.to_polars().filter(pl.col("measured") == 1)
    if sources is not None:
        table = table.filter(pl.col("source").is_in(list(sources)))
    fct = table["fct_s"].drop_nulls().to_numpy() * 1e3
    small = table.filter(pl.col("bytes") <= transfers.BOUNDS[0])["fct_s"].drop_nulls().to_numpy() * 1e3
    return {
        "p50 FCT ms": metrics.quantile(fct, 0.5),
        "p99 FCT ms": metrics.quantile(fct, 0.99),
        "p95 FCT ms up to 10 kB": metrics.quantile(small, 0.95),
        "unfinished %": 100 * (1 - fct.size / table.height) if table.height else None,
    }


def goodput(result: Result) -> float:
    """Goodput of all flows and sources of traffic in Mbit/s."""
    rows = [*result.flows.rows(), *result.traffic.rows()]
    return float(sum(row["goodput_mbps"] or 0.0 for row in rows))


def deviations(result: Result, row: Row) -> dict[str, float | None]:
    """Standard deviations over time of a link's throughput and queueing delay, from its samples."""
    import polars as pl

    capacity_mbps = row["capacity_mbps"]
    samples = result.link_series.to_polars().filter(pl.col("link") == row["link"])
    if samples.height < 2:
        return {}
    queue = samples["queue_bytes"].to_numpy() * 8e-3 / capacity_mbps
    used = samples["utilization"].fill_null(0.0).to_numpy() * capacity_mbps
    return {"sd queue ms": float(np.std(queue, ddof=1)), "sd throughput Mbit/s": float(np.std(used, ddof=1))}
