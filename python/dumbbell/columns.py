"""What the columns of result tables mean."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from dumbbell import _core
from dumbbell.results import OPTIONAL_TABLES

TABLES = {
    "flows": """One row a flow. Rates and counts are over the measured interval, between `warmup` and `cooldown`;
columns that end in `_total` count the whole run.""",
    "links": "One row a link, each direction of its own, over the same interval.",
    "series": "One row a flow and sample, every `record.interval`, from its connection on.",
    "link_series": "One row a link and sample.",
    "traffic": """One row a source of [`[[traffic]]`](scenario.md#traffic). Rates and counts are over the measured
interval; columns that end in `_total` count the whole run.""",
    "completions": "One row a transfer of such a source, in the order in which they began.",
    "pages": "One row a web page of such a source, in the order in which they began.",
    "rounds": "One row a round of an [incast](traffic.md#kind--incast), in the order in which they began.",
    "datagrams": """One row a flow of datagrams: `"udp"`, `"probe"` or `"real-time"` as its
[`transport`](scenario.md#transport), over the measured interval.""",
}
"""The tables and their rows."""

_INTRODUCTION = """\
# Results

`dumbbell run --out DIR` writes these tables as Parquet; in Python `result.flows`, `result.links` and so on are the same
ones. `traffic` and `completions` are there where the experiment has `[[traffic]]`, `pages` where that
loads web pages, `rounds` where it has an incast, and `datagrams` where a flow consists of datagrams. A number that
does not exist is null. This page is printed by `dumbbell columns --markdown`; `dumbbell columns` shows it in a
terminal.
"""

_OBSERVED = """
`series` has a column `cc_NAME` more for every value that a controller of the run lets be observed, such as
`cc_bw_mbps`; it is null in rows of flows whose controller has no such value. In a sweep's directory `flows` and
`links` begin with `point`, `repeat`, `seed`, `content_hash` and a column for each swept setting.
"""

_METRICS = """
## Metrics

`dumbbell metrics DIR` computes what follows from these tables: fairness, convergence, utilisation, start-up,
smoothness, power, slowdown, and with `--solo DIR` harm; of `[[traffic]]` goodput, loss, and the completion times
and slowdowns of transfers that began in the measured interval. Smoothness, the period of an oscillation and fairness
over a short term are of the measured interval, too: of a flow from its start to the end of its transfer, of all flows
while all of them are there. Convergence and start-up are of the whole run. Of a sweep over `path.loss` it computes the
loss that halves goodput: a row for each label, algorithm and other swept setting, over the means of repetitions.
`dumbbell.metrics` has the functions, each with its definition, for numbers of your own.
"""


@dataclass(frozen=True)
class Column:
    """A column of a result table."""

    table: str
    name: str
    unit: str
    """In words; empty for names and text."""
    meaning: str
    grounds: tuple[str, ...]
    """Who fills it."""


@cache
def columns() -> tuple[Column, ...]:
    """Every column of every table, in their order."""
    return tuple(Column(**{**entry, "grounds": tuple(entry["grounds"])}) for entry in json.loads(_core.columns()))


def reference() -> str:
    """The reference of results, `docs/reference/results.md`."""
    parts = [_INTRODUCTION]
    for table, rows in TABLES.items():
        parts.append(f"\n## `{table}`\n\n{rows}\n\n| column | unit | meaning |\n|---|---|---|\n")
        own = [column for column in columns() if column.table == table]
        parts += [f"| `{column.name}` | {column.unit} | {column.meaning} |\n" for column in own]
    return "".join([*parts, _OBSERVED, "\n", *_grounds(), _METRICS])


_GROUNDS = {"simulator": "The simulator", "linux": "A run on the Linux kernel"}


def _grounds() -> Iterator[str]:
    for ground in dict.fromkeys(ground for column in columns() for ground in column.grounds):
        left_out = [
            f"`{column.table}.{column.name}`"
            for column in columns()
            if ground not in column.grounds and column.table not in OPTIONAL_TABLES
        ]
        yield f"{_GROUNDS[ground]} fills " + (
            f"all but {', '.join(left_out)}, which are null; it has no `[[traffic]]` and no datagrams.\n"
            if left_out
            else "every column.\n"
        )
