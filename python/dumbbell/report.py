"""Tables of results: for a terminal, on standard output, and as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dumbbell import spread, transfers
from dumbbell.agreement import MEASURES, Pair
from dumbbell.fairness import jain
from dumbbell.points import values
from dumbbell.printable import one_line
from dumbbell.results import Meta, Result, SweepResult, separating_axes, setting_name
from dumbbell.terminal import Grid, console

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.columns import Column
    from dumbbell.inference import Interval
    from dumbbell.measures import Measure
    from dumbbell.statistics import Statistics

MAX_ROWS = 40
"""A table for people ends here; the files have all rows."""


def result(result: Result | SweepResult, name: str | None = None) -> None:
    """Prints the flows and links of a run, or the means over repetitions of each setting of a sweep."""
    if isinstance(result, SweepResult):
        _sweep(result, name)
    else:
        _run(result, name)


def algorithms(entries: Iterable[Mapping[str, Any]]) -> None:
    """Prints the names of all algorithms and what they are."""
    grid = Grid("name", "exact name", "what it is...")
    for entry in entries:
        grid.add(entry["name"], entry["exact_name"], entry["summary"])
    grid.print()


def algorithm(entry: Mapping[str, Any]) -> None:
    """Prints one algorithm and its parameters."""
    here = console()
    here.print(Text.assemble((entry["name"], "bold"), f" is {entry['exact_name']}"))
    here.print(Text(entry["summary"]))
    here.print(Text(f"source: {entry['source']}\n"))
    grid = Grid("parameter", "default...", "meaning [source]...")
    for name, parameter in entry["parameters"].get("properties", {}).items():
        meaning = _text(" ".join(parameter.get("description", "").split()))
        if source := parameter.get("x-source"):
            meaning = Text.assemble(meaning, (one_line(f" [{source}]"), "dim"))
        grid.add(name, _setting(parameter.get("default")), meaning)
    grid.print()


def columns(entries: Iterable[Column]) -> None:
    """Prints the columns of result tables."""
    grid = Grid("table", "column", "unit", "meaning...")
    for entry in entries:
        grid.add(entry.table, entry.name, entry.unit, _text(entry.meaning.replace("`", "")))
    grid.print()


def measures(entries: Iterable[Measure]) -> None:
    """Prints the metrics of a result."""
    grid = Grid("of", "metric", "value:", "unit", "meaning...")
    for entry in entries:
        grid.add(_text(entry.of), entry.name, number(entry.value), entry.unit, _text(entry.meaning))
    grid.print()


def side_by_side(pairs: Sequence[Pair], names: tuple[str, str]) -> None:
    """Prints the measures of two results of the same experiment, and by how much the second differs."""
    grid = Grid("flow", "measure", f"{names[0]}:", f"{names[1]}:", "difference:")
    for row in pairs[: MAX_ROWS * len(MEASURES)]:
        difference = "-" if row.difference is None else f"{100 * row.difference:+.1f} %"
        grid.add(_text(row.label), MEASURES[row.measure], number(row.first), number(row.second), _text(difference))
    grid.print()


def flows_grid(result: Result) -> Grid:
    """The flows of a run, a row each; of transfers that are complete also how long they took and their own rate."""
    rows = result.flows.rows()[:MAX_ROWS]
    has_transfers = any(row.get("completion_s") is not None for row in rows)
    took = ("took\ns:", "in that time\nMbit/s:") if has_transfers else ()
    grid = Grid(
        "flow", "algorithm", "goodput\nMbit/s:", *took, "throughput\nMbit/s:", "mean RTT\nms:", "p95 RTT\nms:",
        "retransm.:", "lost:", "RTOs:",
    )  # fmt: skip
    for row in rows:
        transfer = (number(row.get(name)) for name in ("completion_s", "transfer_mbps")) if has_transfers else ()
        grid.add(
            _text(row["label"]), _text(row["algorithm"]), number(row["goodput_mbps"]), *transfer,
            number(row["throughput_mbps"]), number(row["mean_rtt_ms"]), number(row["p95_rtt_ms"]),
            _count(row["retransmits"]), _count(row["lost"]), _count(row["rto_count"]),
        )  # fmt: skip
    return grid


def links_grid(result: Result) -> Grid:
    """The links of a run, a row each."""
    grid = Grid("link", "utilisation:", "mean queue\nkB:", "p95 queue\nkB:", "arrivals:", "drops:", "losses:")
    for row in result.links.rows()[:MAX_ROWS]:
        grid.add(
            _text(row["name"]), _percent(row["utilization"]), number(_scaled(row["mean_queue_bytes"])),
            number(_scaled(row["p95_queue_bytes"])), _count(row["arrivals"]), _count(row["drops"]),
            _count(row["losses"]),
        )  # fmt: skip
    return grid


def sum_and_fairness(result: Result) -> str | None:
    """What several flows have together; ``None`` for one."""
    goodputs = [row["goodput_mbps"] or 0.0 for row in result.flows.rows()]
    if len(goodputs) < 2:
        return None
    index = jain(goodputs)
    return f"sum {number(sum(goodputs))} Mbit/s" + ("" if index is None else f", Jain's index {index:.3f}")


def traffic_grids(result: Result) -> tuple[Grid, Grid, int]:
    """The sources of traffic, the completion times of their transfers by size, and how many rows these have in all."""
    sources = Grid(
        "traffic", "algorithm", "started:", "completed:", "goodput\nMbit/s:", "mean RTT\nms:", "retransm.:", "RTOs:"
    )
    for row in result.traffic.rows()[:MAX_ROWS]:
        sources.add(
            _text(row["label"]), _text(row["algorithm"]), _count(row["started"]), _count(row["completed"]),
            number(row["goodput_mbps"]), number(row["mean_rtt_ms"]), _count(row["retransmits"]),
            _count(row["rto_count"]),
        )  # fmt: skip
    sizes = Grid(
        "traffic", "sizes", "transfers:", "unfinished:", "p50 FCT\nms:", "p95 FCT\nms:", "p99 FCT\nms:",
        "p50\nslowdown:", "p99\nslowdown:",
    )  # fmt: skip
    rows = transfers.by_size(result.completions.to_polars()).to_dicts()
    for row in rows[:MAX_ROWS]:
        fct = (number(_scaled(row[f"{p}_fct_s"], 1e3)) for p in ("p50", "p95", "p99"))
        sizes.add(
            _text(row["label"]), row["sizes"], _count(row["transfers"]), _count(row["unfinished"]), *fct,
            number(row["p50_slowdown"]), number(row["p99_slowdown"]),
        )  # fmt: skip
    return sources, sizes, len(rows)


def pages_grid(result: Result) -> Grid:
    """The load times of web pages, a row a source of them."""
    grid = Grid("pages", "loaded:", "mean load\nms:", "p50 load\nms:", "p95 load\nms:", "p99 load\nms:")
    for row in result.traffic.rows()[:MAX_ROWS]:
        if row["pages_total"]:
            times = (number(_scaled(row[f"{name}_plt_s"], 1e3)) for name in ("mean", "p50", "p95", "p99"))
            grid.add(_text(row["label"]), _count(row["pages"]), *times)
    return grid


def rounds_grid(result: Result) -> Grid:
    """The query completion times of incasts, a row a source of them."""
    grid = Grid("incast", "rounds:", "mean query\nms:", "p50 query\nms:", "p95 query\nms:", "p99 query\nms:")
    for row in result.traffic.rows()[:MAX_ROWS]:
        if row.get("rounds_total"):
            times = (number(_scaled(row[f"{name}_qct_s"], 1e3)) for name in ("mean", "p50", "p95", "p99"))
            grid.add(_text(row["label"]), _count(row["rounds"]), *times)
    return grid


def datagrams_grid(result: Result) -> Grid:
    """The flows of datagrams, a row each: loss and delays, and what became of the frames of calls."""
    grid = Grid(
        "datagrams", "kind", "sent:", "loss:", "p50 one way\nms:", "p95 one way\nms:", "p50 RTT\nms:", "p95 RTT\nms:",
        "rate\nMbit/s:", "frames:", "late:", "lost:", "p95 frame\nms:",
    )  # fmt: skip
    for row in result.datagrams.rows()[:MAX_ROWS]:
        grid.add(
            _text(row["label"]), row["kind"], _count(row["sent"]), _percent(row["loss"]),
            *(number(row[name]) for name in ("p50_one_way_ms", "p95_one_way_ms", "p50_rtt_ms", "p95_rtt_ms")),
            number(row["rate_mbps"]), *(_count(row[name]) for name in ("frames", "late_frames", "lost_frames")),
            number(row["p95_frame_ms"]),
        )  # fmt: skip
    return grid


STREAMS = ("mean_message_ms", "p95_message_ms", "mean_hol_ms", "p99_hol_ms")


def _grid_of_streams(*first: str | Text) -> Grid:
    return Grid(
        *first, "messages:", "mean message\nms:", "p95 message\nms:", "mean HoL\nms:", "p99 HoL\nms:", "waited\n%:"
    )


def streams_grid(result: Result) -> Grid | None:
    """The flows with several streams, a row each: times of messages and head-of-line delays; ``None`` without any."""
    rows = [row for row in result.flows.rows() if row.get("messages") is not None]
    grid = _grid_of_streams("streams")
    for row in rows[:MAX_ROWS]:
        times = (number(row[name]) for name in STREAMS)
        grid.add(_text(row["label"]), _count(row["messages"]), *times, number(_scaled(row["hol_share"], 100)))
    return grid if rows else None


def sweep_grid(sweep: SweepResult) -> tuple[Grid, int]:
    """Means over the repetitions of each setting, a row an algorithm, and how many rows there are in all."""
    import polars as pl

    flows = sweep.flows.to_polars()
    axes = separating_axes(flows, sweep.axes)
    grid = Grid(
        *(_text(setting_name(axis)) for axis in axes), "algorithm", "goodput\nMbit/s:", "mean RTT\nms:",
        "p95 RTT\nms:", "retransm.:", "lost:", "RTOs:",
    )  # fmt: skip
    groups, count = _first_groups(flows, *axes, "label", "algorithm")
    for key, rows in groups.items():
        # Flows of one run are not independent: a run is one sample.
        runs = rows.group_by("point", maintain_order=True).agg(pl.col(COUNTED).mean())
        label, exact = str(key[-2]), str(key[-1])
        grid.add(
            *(_setting(value) for value in key[: len(axes)]),
            _text(exact if label in exact else f"{label} ({exact})"),
            _interval(runs["goodput_mbps"]), _interval(runs["mean_rtt_ms"]), _interval(runs["p95_rtt_ms"]),
            *(number(runs[column].mean()) for column in ("retransmits", "lost", "rto_count")),
        )  # fmt: skip
    return grid, count


def sweep_title(sweep: SweepResult) -> str:
    """How many runs, and what the numbers of :func:`sweep_grid` are."""
    repeats = max(values(sweep.points, "repeat"), default=0) + 1
    if repeats == 1:
        return f"{len(sweep.points)} runs"
    alike, repeated = spread.alike(sweep)
    has_intervals = len(alike) < repeated or not repeated
    return f"{len(sweep.points)} runs, mean of {repeats}" + (" with 95 % interval" if has_intervals else "")


def html(result: Result | SweepResult) -> str:
    """The tables of a result or a sweep for a notebook or a page."""
    if isinstance(result, SweepResult):
        grid, rows = sweep_grid(result)
        return f"<p>{sweep_title(result)}</p>{grid.html()}{_more_html(rows)}"
    meta = result.meta
    title = f"{meta.label}: " if meta.label else ""
    together = sum_and_fairness(result)
    return (
        f"<p>{escape(title)}{meta.sim_s:g} s, seed {meta.seed}</p>{flows_grid(result).html()}"
        f"{_more_html(len(result.flows))}" + (f"<p>{escape(together)}</p>" if together else "")
    )


def statistics(found: Statistics) -> None:
    """Prints what a comparison of groups found."""
    for title, grid in _statistics_grids(found):
        grid.print(title)
    _more(max(len(found.groups), len(found.pairs)))
    if (line := _effect(found)) is not None:
        console().print(line, highlight=False)


def statistics_html(found: Statistics) -> str:
    """What a comparison of groups found, for a notebook."""
    tables = "".join(f"<p>{escape(title)}</p>{grid.html()}" for title, grid in _statistics_grids(found))
    lines = [line for line in (_effect(found), *found.notes) if line is not None]
    return tables + "".join(f"<p>{escape(line)}</p>" for line in lines)


def _statistics_grids(found: Statistics) -> list[tuple[str, Grid]]:
    from dumbbell.posthoc import TITLES

    of_points = any(group.effective is not None for group in found.groups)
    what, worth = ("points", ["worth:"]) if of_points else ("runs", [])
    groups = Grid("group", f"{what}:", *worth, "mean, 95 %:", "sd:", "median:", "quartiles:")
    for group in found.groups[:MAX_ROWS]:
        mean = group.mean
        groups.add(
            _text(group.name), _count(group.n), *([] if group.effective is None else [_count(round(group.effective))]),
            _with_interval(mean), number(mean.sd), number(group.median.estimate),
            " to ".join(map(number, group.quartiles)),
        )  # fmt: skip
    several = "s" if len(found.groups) > 1 else ""
    tables = [(f"{found.metric} of {len(found.groups)} group{several}", groups)]
    if found.tests:
        tests = Grid("test", "statistic:", "df:", "p:", "at 5 %...")
        for test in found.tests:
            df = ", ".join(f"{number:.4g}" for number in test.df)
            tests.add(test.name, number(test.statistic), df, _probability(test.p), str(test))
        tables.append(("do they differ?", tests))
    if found.pairs:
        pairs = Grid("pair", "difference:", "95 % interval:", "p:", "at 5 %...")
        for pair in found.pairs[:MAX_ROWS]:
            first, second = (found.groups[number].name for number in (pair.first, pair.second))
            difference = pair.difference
            pairs.add(
                _text(f"{first} - {second}"), number(difference.estimate),
                f"{number(difference.low)} to {number(difference.high)}", _probability(pair.p),
                str(pair),
            )  # fmt: skip
        tables.append((f"which do? {TITLES[found.method]}", pairs))
    return tables


def _effect(found: Statistics) -> str | None:
    if found.anova is None:
        return None
    share = f"{100 * found.anova.eta_squared:.3g} % of the variance is between groups"
    return f"{share} (eta squared {found.anova.eta_squared:.3f}, omega squared {found.anova.omega_squared:.3f})"


def _probability(p: float) -> str:
    return "<0.0001" if p < 1e-4 else f"{p:.2g}"


def _more_html(rows: int) -> str:
    return f"<p>... and {rows - MAX_ROWS} more rows</p>" if rows > MAX_ROWS else ""


def _run(result: Result, name: str | None) -> None:
    meta = result.meta
    title = f"{name}: {meta.sim_s:g} s, seed {meta.seed}" if name else None
    if len(result.flows):
        flows_grid(result).print(title)
        _more(len(result.flows))
    elif title:
        console().print(Text(one_line(title), style="bold"))
    if (line := sum_and_fairness(result)) is not None:
        console().print(line, highlight=False)
    links_grid(result).print()
    if len(result.traffic):
        sources, sizes, rows = traffic_grids(result)
        sources.print()
        sizes.print()
        _more(rows)
    if len(result.pages):
        pages_grid(result).print()
    if len(result.rounds):
        rounds_grid(result).print()
    if len(result.datagrams):
        datagrams_grid(result).print()
    if (streams := streams_grid(result)) is not None:
        streams.print()
    _cost([meta])


def _sweep(sweep: SweepResult, name: str | None) -> None:
    grid, rows = sweep_grid(sweep)
    title = (f"{name}: " if name else "") + sweep_title(sweep)
    if rows or not len(sweep.transfers):
        grid.print(title)
        _more(rows)
    for heading, (others, count) in others_of_sweep(sweep).items():
        others.print(f"{heading}, {title}")
        _more(count)
    _cost(sweep.points)


def others_of_sweep(sweep: SweepResult) -> dict[str, tuple[Grid, int]]:
    """The tables of what is no lasting flow, by their headings, and how many rows each has in all."""
    found = {}
    if len(sweep.transfers):
        found["Completion times"] = _transfers(sweep)
    if "rounds_total" in sweep.traffic.columns and sweep.traffic.to_polars()["rounds_total"].sum():
        found["Query completion times"] = _rounds(sweep)
    if len(sweep.datagrams):
        found["Datagrams"] = _datagrams(sweep)
    if "messages" in sweep.flows.columns and sweep.flows.to_polars()["messages"].count():
        found["Streams"] = _streams(sweep)
    return found


def _transfers(sweep: SweepResult) -> tuple[Grid, int]:
    """The completion times of each setting, over all sizes: means over repetitions."""
    import polars as pl

    sizes = sweep.transfers.to_polars().filter(pl.col("sizes") == transfers.ALL)
    axes = [axis for axis in sweep.axes if axis in sizes.columns]
    grid = Grid(
        *(_text(setting_name(axis)) for axis in axes), "traffic", "transfers:", "unfinished:", "p50 FCT\nms:",
        "p95 FCT\nms:", "p99 FCT\nms:",
    )  # fmt: skip
    groups, count = _first_groups(sizes, *axes, "label")
    for key, rows in groups.items():
        grid.add(
            *(_setting(value) for value in key),
            *(number(rows[column].mean()) for column in ("transfers", "unfinished")),
            *(_interval(1e3 * rows[f"{p}_fct_s"]) for p in ("p50", "p95", "p99")),
        )  # fmt: skip
    return grid, count


def _rounds(sweep: SweepResult) -> tuple[Grid, int]:
    """The query completion times of incasts of each setting: means over repetitions."""
    import polars as pl

    incasts = sweep.traffic.to_polars().filter(pl.col("rounds_total") > 0)
    axes = [axis for axis in sweep.axes if axis in incasts.columns]
    grid = Grid(
        *(_text(setting_name(axis)) for axis in axes), "incast", "rounds:", "mean query\nms:", "p50 query\nms:",
        "p99 query\nms:", "goodput\nMbit/s:", "RTOs:",
    )  # fmt: skip
    groups, count = _first_groups(incasts, *axes, "label")
    for key, rows in groups.items():
        grid.add(
            *(_setting(value) for value in key), number(rows["rounds"].mean()),
            *(_interval(1e3 * rows[f"{name}_qct_s"]) for name in ("mean", "p50", "p99")),
            _interval(rows["goodput_mbps"]), number(rows["rto_count"].mean()),
        )  # fmt: skip
    return grid, count


def _datagrams(sweep: SweepResult) -> tuple[Grid, int]:
    """Loss and delays of the flows of datagrams of each setting: means over repetitions."""
    datagrams = sweep.datagrams.to_polars()
    axes = [axis for axis in sweep.axes if axis in datagrams.columns]
    grid = Grid(
        *(_text(setting_name(axis)) for axis in axes), "datagrams", "loss %:", "p95 one way\nms:", "p95 RTT\nms:",
        "rate\nMbit/s:", "late\nframes:", "lost\nframes:", "p95 frame\nms:",
    )  # fmt: skip
    columns = (
        "p95_one_way_ms", "p95_rtt_ms", "rate_mbps", "late_frames", "lost_frames", "p95_frame_ms",
    )  # fmt: skip
    groups, count = _first_groups(datagrams, *axes, "label")
    for key, rows in groups.items():
        grid.add(
            *(_setting(value) for value in key),
            _interval(100 * rows["loss"]),
            *(_interval(rows[column]) for column in columns),
        )
    return grid, count


def _streams(sweep: SweepResult) -> tuple[Grid, int]:
    """Times of messages and head-of-line delays of each setting: means over repetitions."""
    import polars as pl

    flows = sweep.flows.to_polars().filter(pl.col("messages").is_not_null())
    axes = separating_axes(flows, sweep.axes)
    grid = _grid_of_streams(*(_text(setting_name(axis)) for axis in axes), "streams")
    groups, count = _first_groups(flows, *axes, "label")
    for key, rows in groups.items():
        grid.add(
            *(_setting(value) for value in key[:-1]),
            _text(str(key[-1])),
            number(rows["messages"].mean()),
            *(_interval(rows[column]) for column in STREAMS),
            _interval(100 * rows["hol_share"]),
        )
    return grid, count


def _first_groups(rows: pl.DataFrame, *columns: str) -> tuple[dict[tuple[Any, ...], pl.DataFrame], int]:
    """The rows that agree in ``columns``, of as many groups as are shown, and how many groups there are."""
    groups = rows.select(columns).unique(maintain_order=True)
    shown = rows.join(groups.head(MAX_ROWS), on=columns, how="semi", nulls_equal=True, maintain_order="left")
    return shown.partition_by(columns, as_dict=True, maintain_order=True), groups.height


COUNTED = ("goodput_mbps", "mean_rtt_ms", "p95_rtt_ms", "retransmits", "lost", "rto_count")


def _cost(points: Sequence[Meta]) -> None:
    packets, cpu, simulated = (sum(values(points, key)) for key in ("packets", "cpu_s", "sim_s"))
    speed = f", {simulated / cpu:,.0f} times real time" if cpu > 0 else ""
    console().print(f"{packets:,} packets in {cpu:.2f} s of CPU{speed}", highlight=False)


def _more(rows: int) -> None:
    if rows > MAX_ROWS:
        console().print(f"... and {rows - MAX_ROWS} more rows; --json or --out has them all", highlight=False)


def _interval(values: pl.Series) -> str:
    samples = values.drop_nulls()
    if len(samples) < 2:
        # A single run has no interval, and its table needs no SciPy.
        return number(samples[0] if len(samples) else None)
    from dumbbell.inference import mean_interval

    interval = mean_interval(samples.to_numpy())
    return "-" if interval is None else _with_interval(interval)


def _with_interval(interval: Interval) -> str:
    text = number(interval.estimate)
    return f"{text} \N{PLUS-MINUS SIGN} {interval.half_width:.2g}" if interval.has_width else text


def number(value: Any) -> str:
    """A number as tables have it; ``-`` where there is none."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}" if abs(value) < 1 else f"{value:.4g}"


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def percent(share: float) -> str:
    """A share to two digits: ``16 %``, ``0.51 %``."""
    return f"{100 * share:.0f} %" if abs(share) >= 0.1 else f"{100 * share:.2g} %"


def _percent(value: float | None) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{100 * value:.1f} %"


def _scaled(value: float | None, factor: float = 1e-3) -> float | None:
    return None if value is None else value * factor


def _setting(value: Any) -> Text:
    if value is None:
        return Text("-")
    if isinstance(value, bool):
        return Text("true" if value else "false")
    return _text(str(value))


def _text(words: str) -> Text:
    """Words of somebody else as a cell: neither the terminal nor rich obeys them."""
    return Text(one_line(words))
