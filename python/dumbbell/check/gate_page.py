"""What a gate shows: a table on a terminal, and a page of Markdown with two charts for a forge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from dumbbell import storage
from dumbbell.check.gate import MANY_RUNS, Report
from dumbbell.check.limits import BEYOND, POWER, Row
from dumbbell.check.recorded import Recorded
from dumbbell.inference import ALPHA, Interval, quantile_interval
from dumbbell.printable import in_markdown, one_line
from dumbbell.report import number
from dumbbell.storage import OutputError
from dumbbell.terminal import Grid

MARK = "<!-- dumbbell check gate -->"
"""The first line of a page, by which it is known again."""

CHARTS = ("goodput", "delay")
"""The metrics that are drawn."""

HALF = 24
"""Characters to the left and right of no change."""

MOST_NAMED = 6

WORDS = {"pass": "pass", "fail": "FAIL", "undecided": "undecided"}


def grid(report: Report) -> Grid:
    """The table of all rows."""
    table = Grid("scenario", "limit", "verdict", "runs", "change:", "base:", "new:")
    for row in report.rows:
        table.add(
            one_line(row.scenario),
            row.limit.written,
            WORDS[row.verdict],
            "-" if row.advised is None else str(row.advised),
            row.limit.interval(row.change),
            _with_bounds(row.base),
            _with_bounds(row.new),
        )
    return table


def recorded_grid(recorded: Recorded) -> Grid:
    """The table of what was recorded: medians."""
    table = Grid("scenario", "metric", "median:", "runs:")
    for name, runs in recorded.scenarios.items():
        for metric, values in runs.values.items():
            median = quantile_interval(values)
            assert median is not None  # there is a run
            table.add(one_line(name), metric, _with_bounds(median), str(len(values)))
    return table


def sentences(report: Report) -> list[str]:
    """What the table says, in words."""
    counts = ", ".join(f"{count} {WORDS[verdict]}" for verdict, count in report.counts.items())
    found = [
        f"{_rows(len(report.rows))} of {report.repeat} pairs of runs: {counts}; the verdicts hold together with "
        f"{100 - 100 * ALPHA:g} %"
    ]
    if report.is_same:
        return [*found, "base and new did the same in every run"]
    return [*found, *_advice(report)]


def _advice(report: Report) -> list[str]:
    shown = f"a regression {BEYOND:g} times as large as its limit, with {100 * POWER:g} %"
    found = [f"{report.repeat} runs show {shown}, in {_rows(report.enough(report.repeat))}"]
    most = report.advised
    if most is not None and most > report.repeat:
        found.append(f"--repeat {most} shows it in {report.enough(most)}")
    if beyond := report.beyond:
        names = [f"{row.scenario} {row.limit.metric}" for row in beyond[:MOST_NAMED]]
        more = len(beyond) - len(names)
        others = f" and {more} more" if more else ""
        found.append(f"more than {MANY_RUNS} runs, or a larger limit, are needed for {', '.join(names)}{others}")
    return found


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"


def page(report: Report) -> str:
    """The page of Markdown, which begins with :data:`MARK`."""
    base, new = (_named(one) for one in (report.base, report.new))
    failed = len(report.failed)
    head = f"**{failed} of {_rows(len(report.rows))} fail**" if failed else "**no regression shown**"
    decided = [row for row in report.rows if row.verdict != "pass"]
    lines = [MARK, f"### {new} against {base}: {head}", "", *(f"{in_markdown(one)}." for one in sentences(report)), ""]
    for one in report.notes:
        lines += [f"Note: {in_markdown(one)}", ""]
    if decided:
        lines += [_table(report, decided), ""]
    for metric in CHARTS:
        if drawn := chart([row for row in report.rows if row.limit.metric == metric]):
            lines += [f"Change of {metric}, with its interval; `|` is the limit:", "", "```text", *drawn, "```", ""]
    lines += ["<details><summary>all rows</summary>", "", grid(report).markdown(), "</details>"]
    return "\n".join(lines) + "\n"


def chart(rows: Sequence[Row]) -> list[str]:
    """Changes with their intervals, a line a row, from twice the largest limit below to as much above."""
    if not rows:
        return []
    names = [f"{row.scenario}: {row.limit.written}" for row in rows]
    room = max(map(len, names))
    return [
        f"{one_line(name):{room}} {_line(row)} {row.limit.amount(row.change.estimate):>6} {WORDS[row.verdict]}"
        for name, row in zip(names, rows, strict=True)
    ]


def _line(row: Row) -> str:
    """A change on a line of which each half is twice the limit."""
    edge = 2 * row.limit.size

    def place(change: float) -> int:
        return round(HALF + HALF * max(-1.0, min(1.0, change / edge)))

    cells = [" "] * (2 * HALF + 1)
    low, high = place(row.change.low), place(row.change.high)
    cells[HALF] = "."
    for cell in range(low, high + 1):
        cells[cell] = "-"
    cells[place(row.limit.sign * row.limit.size)] = "|"
    cells[place(row.change.estimate)] = "o"
    return "[" + "".join(cells) + "]"


def write(report: Report, file: Path) -> None:
    """Writes the page.

    Raises:
        OutputError: It cannot be written, or a file that is no such page is in its place.
    """
    check(file)
    storage.write_file(file, page(report).encode())


def check(file: Path) -> None:
    """Raises :class:`OutputError` if a file that is no such page is where one shall be."""
    try:
        with file.open("rb") as there:
            is_ours = there.read(len(MARK)) == MARK.encode()
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(f"cannot write {file}: {error.strerror or error}") from error
    if not is_ours:
        raise OutputError(f"{file} is no page of a gate, and stays as it is; choose another name")


def _table(report: Report, rows: Sequence[Row]) -> str:
    return grid(Report(report.base, report.new, rows, ())).markdown()


def _named(recorded: Recorded) -> str:
    return in_markdown(recorded.algorithm if recorded.algorithm else recorded.exact)


def _with_bounds(interval: Interval) -> str:
    def text(value: float) -> str:
        return "never" if math.isinf(value) else number(value)

    if not interval.has_width:
        return text(interval.estimate)
    return f"{text(interval.estimate)} [{number(interval.low)},{number(interval.high)}]"
