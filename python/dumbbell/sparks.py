"""Time series as lines of text, for a terminal: a row a flow, a character a span of time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dumbbell.printable import one_line

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.results import Result

BARS = "▁▂▃▄▅▆▇█"
MAX_FLOWS = 12
"""So many flows are drawn; the table below has all."""

OF_FLOWS = (
    ("received_mbps", "received", "Mbit/s", 1.0),
    ("cwnd", "window", "packets", 1.0),
    ("rtt_ms", "RTT", "ms", 1.0),
)
"""Columns, what they are called, their unit, and what they are multiplied with."""
OF_LINKS = (("queue_bytes", "queue", "kB", 1e-3),)


def lines(result: Result, width: int) -> Iterator[str]:
    """The lines of a picture ``width`` characters wide; none without time series."""
    flows = [one_line(str(row["label"])) for row in result.flows.rows()[:MAX_FLOWS]]
    links = [one_line(str(row["name"])) if row["utilization"] is not None else None for row in result.links.rows()]
    for table, key, names, columns in (
        (result.series.to_polars(), "flow", flows, OF_FLOWS),
        (result.link_series.to_polars(), "link", links, OF_LINKS),
    ):
        if not len(table):
            continue
        room = max(len(name) for name in names if name) if any(names) else 0
        for column, what, unit, factor in columns:
            drawn = {
                name: _binned(table.filter(table[key] == number), column, result.meta.sim_s, max(10, width - room - 24))
                for number, name in enumerate(names)
                if name is not None
            }
            known = [value for values in drawn.values() for value in values if not math.isnan(value)]
            if not known:
                continue
            most = max(known)
            yield f"{what}, {unit}; full height is {most * factor:.4g}"
            for name, values in drawn.items():
                last = next((value for value in reversed(values) if not math.isnan(value)), math.nan)
                yield f"  {name:{room}} {_bars(values, most)} {last * factor:.4g}"


def _binned(rows: pl.DataFrame, column: str, seconds: float, bins: int) -> list[float]:
    """The mean of a column in equal spans of time; NaN where there is none."""
    sums, counts = [0.0] * bins, [0] * bins
    for time, value in rows.select("t_s", column).iter_rows():
        if value is not None and math.isfinite(value):
            place = min(int(time / seconds * bins), bins - 1)
            sums[place] += value
            counts[place] += 1
    return [total / count if count else math.nan for total, count in zip(sums, counts, strict=True)]


def _bars(values: Sequence[float], most: float) -> str:
    def bar(value: float) -> str:
        if math.isnan(value):
            return " "
        return BARS[min(int(value / most * len(BARS)), len(BARS) - 1)] if most > 0 else BARS[0]

    return "".join(map(bar, values))
