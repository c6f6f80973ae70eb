"""Completion times of transfers: their quantiles by size, from the table ``completions`` of a result."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

BOUNDS = (10e3, 100e3, 1e6, 10e6)
"""Bytes at which the classes of sizes end; what is larger is a class, too."""

CLASSES = ("up to 10 kB", "10 to 100 kB", "100 kB to 1 MB", "1 to 10 MB", "above 10 MB")
"""Names of the classes of sizes."""

ALL = "all"
"""The class of all sizes."""

_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def by_size(completions: pl.DataFrame) -> pl.DataFrame:
    """Quantiles of completion times and slowdowns of each source, over all its transfers and by their size.

    One row a source and class that has transfers, those that began in the measured interval. Transfers that the end of
    the run cut short are counted as ``unfinished``; they have no completion time, so quantiles are over the others.
    """
    import polars as pl

    rows = []
    if completions.height:
        measured = completions.filter(pl.col("measured") == 1)
        classes = pl.Series("class", _class(measured["bytes"]), pl.String)
        measured = measured.with_columns(classes, pl.col("label").cast(pl.String))
        for (source, label), own in measured.partition_by("source", "label", as_dict=True, maintain_order=True).items():
            for name in (ALL, *CLASSES):
                part = own if name == ALL else own.filter(pl.col("class") == name)
                if part.height:
                    rows.append({"source": source, "label": label, "sizes": name} | _quantiles(part))
    schema = {name: getattr(pl, kind) for name, kind in _SCHEMA.items()}
    return pl.DataFrame(rows, schema=schema)


def _class(sizes: pl.Series) -> list[str]:
    """The class of each size."""
    return [CLASSES[bisect_left(BOUNDS, size)] for size in sizes]


def _quantiles(part: pl.DataFrame) -> dict[str, float | int | None]:
    fct, slowdown = (part[column].drop_nulls() for column in ("fct_s", "slowdown"))
    return {
        "transfers": part.height,
        "unfinished": part.height - len(fct),
        **{f"{name}_fct_s": fct.quantile(p, "linear") for name, p in _QUANTILES.items()},
        **{f"{name}_slowdown": slowdown.quantile(p, "linear") for name, p in _QUANTILES.items()},
    }


_SCHEMA = {
    "source": "UInt32",
    "label": "String",
    "sizes": "String",
    "transfers": "UInt32",
    "unfinished": "UInt32",
    **{f"{name}_{column}": "Float64" for column in ("fct_s", "slowdown") for name in _QUANTILES},
}
