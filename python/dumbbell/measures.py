"""The metrics of a result directory: what ``dumbbell metrics`` prints.

The definitions are in :mod:`dumbbell.metrics`; here they get their arguments from a result's tables. A metric without a
value in this run (one flow has no fairness, a transfer without an end no completion) is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dumbbell import metrics, transfers
from dumbbell.results import Result, SweepResult, separating_axes
from dumbbell.samples import measured_interval
from dumbbell.selection import named_by

WINDOW_S = 1.0
"""Windows of rates, where a metric looks at windows."""

QUANTILES = {"p50": "Median", "p95": "95th percentile", "p99": "99th percentile"}
"""Of completion times, in words."""

Span: TypeAlias = tuple[float, float]
"""From when to when, in seconds."""

LOSS = "path.loss"
"""The swept setting over which a sweep has metrics."""


@dataclass(frozen=True)
class Measure:
    """One metric of a run, of a flow or a source of traffic of it, or of a sweep."""

    of: str
    """What it belongs to: ``run``, a flow, a source of traffic, or of a sweep the label and what else is swept."""
    name: str
    value: float
    unit: str
    meaning: str


def measures(result: Result | SweepResult, solo: Result | None = None) -> list[Measure]:
    """Every metric that ``result`` has.

    Args:
        result: A run, or a sweep, of which only what compares its points is computed.
        solo: The same flows alone on the same path; with it the harm that company does to them is computed.
    """
    found = _of_sweep(result) if isinstance(result, SweepResult) else _of_run(result, solo)
    return [measure for measure in found if math.isfinite(measure.value)]


def _measure(of: str, name: str, value: float | None, unit: str, meaning: str) -> Measure:
    return Measure(of, name, math.nan if value is None else float(value), unit, meaning)


def _of_run(result: Result, solo: Result | None) -> Iterator[Measure]:
    rows = result.flows.rows()
    rates = np.array([row["goodput_mbps"] or 0.0 for row in rows])
    measured = measured_interval(result)
    spans = [_span(measured, row) for row in rows]
    if rows:
        yield _measure("run", "goodput", rates.sum(), "Mbit/s", "Sum of the flows' goodputs.")
    if len(rows) > 1:
        yield from _fairness(result, rates, spans)
    yield from _link(result)
    for index, row in enumerate(rows):
        yield from _of_flow(result, index, row, rates, spans[index])
    yield from _of_traffic(result)
    if solo is not None:
        yield from _harm(rows, solo)


def _fairness(result: Result, rates: metrics.FloatArray, spans: Sequence[Span]) -> Iterator[Measure]:
    rows = result.flows.rows()
    yield _measure("run", "jain", metrics.jain(rates), "", "Jain's index of the goodputs: 1/n to 1.")
    yield _measure("run", "max_min_ratio", metrics.max_min_ratio(rates), "", "Fastest over slowest flow.")
    exponent = metrics.rtt_fairness_exponent(rates, [row["base_rtt_ms"] for row in rows])
    yield _measure("run", "rtt_fairness_exponent", exponent, "", "g of the fit goodput ~ base RTT ** -g.")
    grid = _rates(result)
    if grid is None:
        return
    t, series = grid
    step = _step(t)
    longest_s = max(row["base_rtt_ms"] for row in rows) / 1e3
    window = max(10 * longest_s, step)
    together = _bins_within(t, max(start for start, _ in spans), min(end for _, end in spans))
    value = metrics.short_term_jain(series[:, together], step, window)
    yield _measure(
        "run", "short_term_jain", value, "", "Median of Jain's index over windows of 10 RTTs, while all are there."
    )
    last = max(row["start_s"] for row in rows)
    value = metrics.convergence_time(t, series, last, series[:, -_tail(t) :].sum(axis=0).mean() / len(rows))
    yield _measure(
        "run", "convergence_time", value, "s", "From the last start until all flows stay within 20 % of equal."
    )


def _link(result: Result) -> Iterator[Measure]:
    links = [row for row in result.links.rows() if row["utilization"] is not None]
    if not links:
        return
    busiest = max(links, key=lambda row: row["utilization"])
    name = busiest["name"]
    yield _measure("run", "utilization", busiest["utilization"], "", f"Of the busiest link, {name}.")
    frame = result.link_series.to_polars()
    if frame.is_empty():
        return
    samples = frame.filter(frame["link"] == busiest["link"])
    t, used = samples["t_s"].to_numpy(), samples["utilization"].fill_null(0.0).to_numpy()
    # Traffic that comes and goes has a load of its own: a link that reaches 80 % was not started up by it.
    starts = [row["start_s"] for row in result.flows.rows()]
    value = metrics.startup_time(t, used, min(starts)) if starts else None
    yield _measure("run", "startup_time", value, "s", f"From the first start until {name} is used by 80 %.")
    if (grid := _rates(result)) is not None and len(grid[1]) > 1 and used.size == grid[0].size:
        value = metrics.equilibrium_time(grid[0], grid[1], used)
        yield _measure(
            "run", "equilibrium_time", value, "s", "From which the flows are even and the link is busy for 10 s."
        )


def _of_flow(
    result: Result, index: int, row: dict[str, Any], rates: metrics.FloatArray, span: Span
) -> Iterator[Measure]:
    of = f"{row['flow']} {row['label']}"
    if len(rates) > 1:
        members = np.arange(len(rates)) == index
        yield _measure(of, "share", metrics.share(rates, members), "", "Part of all goodput.")
    sent, duplicates = row["sent"], row["duplicates"]
    yield _measure(
        of, "loss_rate", row["network_drops"] / sent if sent else None, "", "Packets dropped over packets sent."
    )
    yield _measure(
        of, "spurious_rate", duplicates / sent if sent else None, "", "Duplicates at the receiver over packets sent."
    )
    rtt, base = row["mean_rtt_ms"], row["base_rtt_ms"]
    if rtt is not None and base:
        yield _measure(of, "rtt_inflation", rtt / base, "", "Mean RTT over base RTT.")
        yield _measure(
            of, "utility", metrics.utility(rates[index], rtt), "", "log(goodput in Mbit/s) - log(mean RTT in ms)."
        )
        capacity = _capacity_mbps(result)
        if capacity is not None:
            value = metrics.normalized_power(rates[index], capacity, rtt, base)
            yield _measure(of, "normalized_power", value, "", "Goodput over capacity, over mean RTT over base RTT.")
            if row["completion_s"] is not None:
                value = metrics.fct_slowdown(
                    row["completion_s"], base / 1e3, row["delivered_bytes_total"], capacity * 1e6
                )
                yield _measure(of, "fct_slowdown", value, "", "Completion time over that of an empty path.")
    grid = _rates(result)
    if grid is None:
        return
    t, series = grid
    own = series[index]
    while_there = own[_bins_within(t, *span)]
    value = metrics.smoothness(while_there, _step(t), WINDOW_S)
    yield _measure(of, "smoothness", value, "", "Coefficient of variation over 1 s.")
    value = metrics.oscillation_period(while_there, _step(t))
    yield _measure(of, "oscillation_period", value, "s", "Dominant period of the goodput.")
    if len(rates) > 1 and row["start_s"] > min(other["start_s"] for other in result.flows.rows()):
        fair = series[:, -_tail(t) :].sum(axis=0).mean() / len(rates)
        value = metrics.newcomer_time(t, own, row["start_s"], fair)
        yield _measure(of, "newcomer_time", value, "s", "From its start until it has 80 % of an equal share.")


def _of_traffic(result: Result) -> Iterator[Measure]:
    """Of each source of transfers: what it carried, and how long its transfers of all sizes took."""
    sizes = transfers.by_size(result.completions.to_polars()).to_dicts()
    times = {row["source"]: row for row in sizes if row["sizes"] == transfers.ALL}
    for row in result.traffic.rows():
        of = f"traffic {row['source']} {row['label']}"
        yield _measure(of, "goodput", row["goodput_mbps"], "Mbit/s", "Of all its transfers.")
        sent = row["sent"]
        value = row["network_drops"] / sent if sent else None
        yield _measure(of, "loss_rate", value, "", "Packets dropped over packets sent.")
        if (took := times.get(row["source"])) is None:
            continue
        value = took["unfinished"] / took["transfers"]
        yield _measure(of, "unfinished", value, "", "Part of the transfers that the end of the run cut short.")
        for name, words in QUANTILES.items():
            yield _measure(of, f"{name}_fct", took[f"{name}_fct_s"], "s", f"{words} of completion times.")
        for name, words in QUANTILES.items():
            meaning = f"{words} of times over those of an empty path."
            yield _measure(of, f"{name}_slowdown", took[f"{name}_slowdown"], "", meaning)


def _harm(rows: list[dict[str, Any]], solo: Result) -> Iterator[Measure]:
    alone = {row["label"]: row for row in solo.flows.rows()}
    for row in rows:
        if (before := alone.get(row["label"])) is None:
            continue
        of = f"{row['flow']} {row['label']}"
        value = metrics.harm(before["goodput_mbps"], row["goodput_mbps"])
        yield _measure(of, "harm_goodput", value, "", "Part of the goodput alone that company takes.")
        if before["mean_rtt_ms"] is not None and row["mean_rtt_ms"] is not None:
            value = metrics.harm(before["mean_rtt_ms"], row["mean_rtt_ms"], more_is_better=False)
            yield _measure(of, "harm_rtt", value, "", "Part of the mean RTT that company adds.")


def _of_sweep(sweep: SweepResult) -> Iterator[Measure]:
    import polars as pl

    if LOSS not in sweep.axes:
        return
    flows = sweep.flows.to_polars().with_columns(pl.col("label", "cc").cast(pl.String))
    # Repetitions are averaged, and nothing else: each other setting has a curve of its own.
    others = separating_axes(flows, [axis for axis in sweep.axes if axis not in (LOSS, "seed")])
    has_algorithms = flows.group_by("label").agg(pl.col("cc").n_unique())["cc"].max() != 1
    keys = ["label", *(["cc"] if has_algorithms else []), *others]
    for key, rows in flows.partition_by(*keys, as_dict=True, maintain_order=True).items():
        means = rows.group_by(LOSS, maintain_order=True).agg(pl.col("goodput_mbps").mean()).drop_nulls()
        points = [
            (loss, rate)
            for text, rate in means.select(LOSS, "goodput_mbps").iter_rows()
            if (loss := _share(text)) is not None
        ]
        value = metrics.half_throughput_loss([loss for loss, _ in points], [rate for _, rate in points])
        of = named_by(keys, key)
        yield _measure(of, "half_throughput_loss", value, "", "Loss at which goodput falls to a half.")


def _share(text: str) -> float | None:
    """A swept loss, in percent or parts of one, as a part of one; ``None`` for a model of losses."""
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None


def _rates(result: Result) -> tuple[metrics.FloatArray, metrics.FloatArray] | None:
    """Starts of the bins, and goodput in Mbit/s with one row a flow; ``None`` without series."""
    frame = result.series.to_polars()
    if frame.is_empty():
        return None
    wide = frame.select("t_s", "flow", "goodput_mbps").pivot(on="flow", index="t_s", values="goodput_mbps").sort("t_s")
    ends = wide["t_s"].to_numpy()
    if ends.size < 2:
        return None
    columns = [str(flow) for flow in range(len(result.flows))]
    rates = np.array([wide[name].fill_null(0.0).to_numpy() if name in wide.columns else 0 * ends for name in columns])
    return ends - _step(ends), rates


def _span(measured: Span, row: dict[str, Any]) -> Span:
    """From when to when a flow was there in the measured interval: from its start, to the end of its transfer."""
    start, end = measured
    done = math.inf if row["completion_s"] is None else row["start_s"] + row["completion_s"]
    return max(start, row["start_s"]), min(end, done)


def _bins_within(t: metrics.FloatArray, start_s: float, end_s: float) -> slice:
    """The bins of the series that lie whole between two times."""
    rounding = 1e-6 * _step(t)
    first, last = np.searchsorted(t, [start_s - rounding, end_s - _step(t) + rounding])
    return slice(int(first), max(int(first), int(last)))


def _step(t: metrics.FloatArray) -> float:
    return float(t[1] - t[0])


def _tail(t: metrics.FloatArray) -> int:
    """Bins of the last fifth of the series: what a run has settled to."""
    return max(1, t.size // 5)


def _capacity_mbps(result: Result) -> float | None:
    """Capacity of the slowest link; ``None`` when all are unlimited."""
    return min((row["capacity_mbps"] for row in result.links.rows() if row["capacity_mbps"] is not None), default=None)
