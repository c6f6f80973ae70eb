"""The data of a page's charts, as plain values for JSON: numbers with four digits, and no more points than are seen.

What draws them is in ``charts.js``. Lines of one run share their times. Where there are more samples than points, two
neighbouring points are the smallest and the largest value of the samples that they stand for, in their order.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dumbbell.inference import FloatArray, mean_interval
from dumbbell.pages.limits import busiest_link
from dumbbell.plots.axes import Scale, label_of
from dumbbell.plots.capacity import base_rtt_and_bdp, capacity_over_time
from dumbbell.plots.metric import lines, with_followers
from dumbbell.plots.style import Look, looks, named, numbered
from dumbbell.plots.timeseries import by_flow, until_the_end
from dumbbell.printable import one_line
from dumbbell.results import following_axes, leading_axes, separating_axes, setting_name, setting_text
from dumbbell.selection import over_runs

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.results import Meta, Result, SweepResult

Json = dict[str, Any]

NUMBERS = 30_000
"""So many numbers of time series are on a page."""

MAX_LINES = 24
"""So many flows of a run have lines."""

MAX_RUNS = 8
"""So many settings of a sweep can be looked at over time."""

MAX_PARTS = 24
"""So many values of other settings a chart over a setting has."""

FEWEST, MOST = 240, 1200
"""Points of a line."""

MEANS = 120
"""How many values the course of a rate has: with more, bursts hide it."""

MAX_MARKS = 400
"""More runs than these have no marks of their own in a trade-off."""

OF_DISTRIBUTION = 160
"""Points of a distribution."""

PANELS = (
    ("received_mbps", "Throughput (Mbit/s)"),
    ("srtt_ms", "Smoothed RTT (ms)"),
    ("cwnd", "Congestion window and, thin, in flight (packets)"),
)
"""The columns of series that are drawn. The queue has a panel after the RTT, and what is in flight is in the last."""

QUEUE_AFTER = "srtt_ms"


class _Flow(NamedTuple):
    """A flow with its samples."""

    result: Result
    number: int
    algorithm: str
    name: str


@dataclass(frozen=True)
class Buckets:
    """How samples become points."""

    t: FloatArray
    """The times of the samples."""
    width: int
    """Samples that two points stand for; 1 where each sample is a point."""

    @classmethod
    def of(cls, t: FloatArray, points: int) -> Buckets:
        """As many buckets as give about ``points``."""
        return cls(t, 1 if t.size <= points else math.ceil(2 * t.size / points))

    @property
    def times(self) -> FloatArray:
        """The times of the points."""
        if self.width == 1:
            return self.t
        starts = np.arange(0, self.t.size, self.width)
        seconds = np.minimum(starts + self.width // 2, self.t.size - 1)
        both: FloatArray = np.column_stack([self.t[starts], self.t[seconds]]).ravel()
        return both

    def extremes(self, values: FloatArray) -> FloatArray:
        """The smallest and the largest value of each bucket, in the order in which they came; NaN for none."""
        if self.width == 1:
            return values
        cells = self._cells(values)
        known = np.isfinite(cells)
        low, high = np.where(known, cells, np.inf), np.where(known, cells, -np.inf)
        is_rising = (low.argmin(axis=1) <= high.argmax(axis=1))[:, np.newaxis]
        pair = np.column_stack([low.min(axis=1), high.max(axis=1)])
        pair[~np.isfinite(pair)] = np.nan
        ordered: FloatArray = np.where(is_rising, pair, pair[:, ::-1]).ravel()
        return ordered

    def means(self, values: FloatArray, count: int) -> tuple[list[int], FloatArray]:
        """Means over about ``count`` equal parts, and the points in whose places they stand."""
        per = max(1, math.ceil(math.ceil(self.t.size / self.width) / count))
        wide = Buckets(self.t, per * self.width)._cells(values)
        known = np.isfinite(wide)
        n = known.sum(axis=1)
        means = np.where(n > 0, np.where(known, wide, 0.0).sum(axis=1) / np.maximum(n, 1), np.nan)
        of_a_point = per * (1 if self.width == 1 else 2)
        last = self.times.size - 1
        places = [min(number * of_a_point + of_a_point // 2, last) for number in range(means.size)]
        return places, means

    def _cells(self, values: FloatArray) -> FloatArray:
        count = math.ceil(values.size / self.width)
        padded = np.full(count * self.width, np.nan)
        padded[: values.size] = values
        return padded.reshape(count, self.width)


def of_run(result: Result) -> list[Json]:
    """The charts of a run."""
    found = []
    if len(result.series):
        found.append(_over_time([("", [result])]))
    return found + _completions(result)


def of_sweep(sweep: SweepResult) -> list[Json]:
    """The charts of a sweep: metrics over settings, the trade-off, and first repetitions over time."""
    found = []
    if len(sweep.flows):
        flows = sweep.flows.to_polars()
        found += list(_metrics(flows, sweep.axes))
        if sweep.folder is not None:
            runs = list(_first_runs(sweep))
            if runs and all(len(result.series) for _, results in runs for result in results):
                found.append(_over_time(runs))
        if (scatter := _tradeoff(flows, sweep.axes)) is not None:
            found.append(scatter)
    return found


# --- over time -------------------------------------------------------------------------------------------------------


def firsts(sweep: SweepResult) -> dict[str, list[Meta]]:
    """First repetitions by their setting in words; runs that differ in an algorithm alone are together."""
    found: dict[str, list[Meta]] = {}
    for point in sweep.points:
        if point.repeat == 0:
            words = [
                f"{setting_name(axis)} {setting_text(value)}"
                for axis, value in point.settings.items()
                if not axis.endswith(".cc")
            ]
            found.setdefault(one_line(", ".join(words)), []).append(point)
    return found


def _first_runs(sweep: SweepResult) -> Iterator[tuple[str, list[Result]]]:
    """Runs to look at over time: those of one flow over each other, others one by one."""
    is_alone = sweep.flows.to_polars().group_by("point").len()["len"].max() == 1
    count = 0
    for setting, points in firsts(sweep).items():
        results = [sweep.load(point) for point in points]
        parts = [(setting, results)] if is_alone else [(_words(p), [r]) for p, r in zip(points, results, strict=True)]
        for name, part in parts:
            count += 1
            if count > MAX_RUNS:
                return
            yield name, part


def _words(point: Meta) -> str:
    return one_line(", ".join(f"{setting_name(axis)} {setting_text(value)}" for axis, value in point.settings.items()))


def _over_time(runs: Sequence[tuple[str, Sequence[Result]]]) -> Json:
    flows = [_flows(results) for _, results in runs]
    columns = len(PANELS) + 2
    points = NUMBERS // max(1, columns * sum(map(len, flows)))
    kept = len(runs)
    while points < FEWEST and kept > 1:
        kept -= 1
        points = NUMBERS // (columns * sum(map(len, flows[:kept])))
    points = min(MOST, max(FEWEST, points))
    drawn = [_run(name, results, own, points) for (name, results), own in zip(runs[:kept], flows[:kept], strict=True)]
    left_out = max(sum(len(result.flows) for result in results) - MAX_LINES for _, results in runs)
    return {"kind": "time", "title": "Over time", "runs": drawn, "leftOut": max(0, left_out)}


def _flows(results: Sequence[Result]) -> list[_Flow]:
    """The flows that have lines, each with a name of its own."""
    found = [
        _Flow(result, index, str(row["cc"]), one_line(named(str(row["cc"]), str(row["label"]))))
        for result in results
        for index, row in enumerate(result.flows.rows())
    ][:MAX_LINES]
    counts, seen = Counter(flow.name for flow in found), Counter[str]()
    unique = []
    for flow in found:
        seen[flow.name] += 1
        unique.append(flow._replace(name=f"{flow.name} {seen[flow.name]}") if counts[flow.name] > 1 else flow)
    return unique


def _run(name: str, results: Sequence[Result], flows: Sequence[_Flow], points: int) -> Json:
    columns = [column for column, _ in PANELS]
    parts = {id(result): by_flow(result, ("t_s", *columns)) for result in results}
    samples = [until_the_end(parts[id(flow.result)][flow.number]) for flow in flows]
    queues = [_queue(result) for result in results]
    stamps = [frame["t_s"].to_numpy() for frame in (*samples, *queues) if frame.height]
    buckets = Buckets.of(np.unique(np.concatenate([np.empty(0), *stamps])), points)
    panels = []
    for column, title in PANELS:
        series = []
        for line, frame in enumerate(samples):
            values = _on(buckets.t, frame, column)
            if not np.isfinite(values).any():
                continue
            if column == "received_mbps":
                places, means = buckets.means(values, MEANS)
                if len(places) < buckets.times.size:
                    faint = {"line": line, "look": "faint", "v": _short(buckets.extremes(values))}
                    series += [faint, {"line": line, "look": "line", "at": places, "v": _short(means)}]
                    continue
            series.append({"line": line, "look": "line", "v": _short(buckets.extremes(values))})
            if column == "cwnd":
                inflight = buckets.extremes(_on(buckets.t, frame, "inflight"))
                series.append({"line": line, "look": "faint", "name": "in flight", "v": _short(inflight)})
        if column == "received_mbps" and (offered := _capacity(results, buckets)) is not None:
            series.insert(0, {"line": None, "look": "area", "name": "capacity", "v": _short(offered)})
        if series:
            changes = any(one["look"] == "area" for one in series)
            panels.append({"title": title, "series": series, "refs": _references(results, column, changes=changes)})
        if column == QUEUE_AFTER:
            panels += _queue_panel(results, queues, buckets)
    if len({flow.algorithm for flow in flows}) > 1:
        of_kinds = looks([(flow.algorithm, flow.name) for flow in flows])
        chosen = [of_kinds[flow.algorithm, flow.name] for flow in flows]
    else:
        # Nobody is there to be told from by the colour of the algorithm.
        chosen = [numbered(number) for number in range(len(flows))]
    return {
        "name": name,
        "t": _short(buckets.times, digits=6),
        "samples": buckets.width,
        "lines": [_line(flow.name, own) for flow, own in zip(flows, chosen, strict=True)],
        "panels": panels,
    }


def _queue(result: Result) -> pl.DataFrame:
    import polars as pl

    samples = result.link_series.to_polars(["t_s", "link", "queue_bytes"])
    return samples.filter(pl.col("link") == busiest_link(result).get("link", 0)) if samples.height else samples


def _queue_panel(results: Sequence[Result], queues: Sequence[pl.DataFrame], buckets: Buckets) -> list[Json]:
    """The queue; of runs over each other each has the look of its flow."""
    if not any(queue.height for queue in queues):
        return []
    alone = len(results) == 1
    series = [
        {
            "line": None if alone else line,
            "look": "area" if alone else "line",
            "name": "queue",
            "v": _short(buckets.extremes(_on(buckets.t, queue, "queue_bytes") / 1e3)),
        }
        for line, queue in enumerate(queues)
    ]
    name = one_line(str(busiest_link(results[0]).get("name", "the link")))
    return [{"title": f"Queue of {name} (kB)", "series": series, "refs": []}]


def _on(t: FloatArray, samples: pl.DataFrame, column: str) -> FloatArray:
    """A column of samples at the times ``t``; NaN where there is no sample."""
    values = np.full(t.size, np.nan)
    if samples.height:
        own = samples[column].cast(float).fill_null(np.nan).to_numpy()
        values[np.searchsorted(t, samples["t_s"].to_numpy())] = own
    return values


def _capacity(results: Sequence[Result], buckets: Buckets) -> FloatArray | None:
    """The rate of a link that changes; ``None`` for a constant one."""
    steps = capacity_over_time(results[0], busiest_link(results[0]).get("link", 0), MEANS)
    if steps is None:
        return None
    starts, rates = steps
    offered: FloatArray = rates[np.clip(np.searchsorted(starts, buckets.times, side="right") - 1, 0, rates.size - 1)]
    return offered


def _references(results: Sequence[Result], column: str, *, changes: bool) -> list[Json]:
    """What a column is to be held against, where all runs agree; a capacity that ``changes`` has a mean."""
    found = {_reference(result, column) for result in results}
    if len(found) != 1 or (reference := next(iter(found))) is None:
        return []
    value, name = reference
    return [{"y": _number(value), "name": f"{'mean ' if changes else ''}{name} {value:.3g}"}]


def _reference(result: Result, column: str) -> tuple[float, str] | None:
    link = busiest_link(result)
    capacity = link.get("capacity_mbps")
    base, bdp = base_rtt_and_bdp(result, link)
    values = {
        "received_mbps": (capacity, "capacity"), "srtt_ms": (base, "without a queue"), "cwnd": (bdp, "BDP"),
    }  # fmt: skip
    value, name = values.get(column, (None, ""))
    return (value, name) if value else None


# --- over settings ---------------------------------------------------------------------------------------------------


def _metrics(flows: pl.DataFrame, axes: Sequence[str]) -> Iterator[Json]:
    """Goodput and delay over each swept setting that is no algorithm, for each value of the others."""
    settings = [axis for axis in axes if axis in flows.columns and flows[axis].n_unique() > 1]
    settings = [axis for axis in settings if not axis.endswith(".cc")]
    for axis in leading_axes(flows, settings):
        followers = following_axes(flows, settings, axis)
        others = [other for other in settings if other not in (axis, *followers)]
        scale = Scale.of(axis, [str(value) for value in flows[axis].drop_nulls().to_list()])
        places = _places(scale)
        for column in ("goodput_mbps", "p95_rtt_ms"):
            parts = [
                {"name": name} | part
                for name, rows in itertools.islice(_by_setting(flows, others), MAX_PARTS)
                if (part := _part(rows, axes, axis, column, scale, places)) is not None
            ]
            if parts:
                yield {
                    "kind": "setting",
                    "title": f"{_capital(label_of(column))} over {setting_name(axis)}",
                    "x": {
                        "label": one_line(with_followers(setting_name(axis).replace("_", " "), flows, settings, axis)),
                        "ticks": [[places[p], one_line(v)] for p, v in zip(scale.places, scale.values, strict=True)],
                    },
                    "parts": parts,
                }


def _by_setting(flows: pl.DataFrame, axes: Sequence[str]) -> Iterator[tuple[str, pl.DataFrame]]:
    """The flows by their values of some settings, and these in words."""
    if not axes:
        yield "", flows
        return
    for setting, rows in flows.partition_by(*axes, as_dict=True, maintain_order=True).items():
        words = [f"{setting_name(axis)} {value}" for axis, value in zip(axes, setting, strict=True)]
        yield one_line(", ".join(words)), rows


def _part(
    flows: pl.DataFrame, axes: Sequence[str], axis: str, column: str, scale: Scale, places: dict[float, float]
) -> Json | None:
    """A line an algorithm and label; ``None`` where there are too many, and the table has the numbers."""
    try:
        found = lines(flows, axes, axis, ())
    except ValueError:
        return None
    chosen = looks([(line.algorithm, line.name) for line in found])
    return {
        # Names are captions of matplotlib, in which a dollar is escaped.
        "lines": [_line(line.name.replace(r"\$", "$"), chosen[line.algorithm, line.name]) for line in found],
        "series": [
            {"line": number} | _means(line.rows, axis, column, scale, places) for number, line in enumerate(found)
        ],
    }


def _means(rows: pl.DataFrame, axis: str, column: str, scale: Scale, places: dict[float, float]) -> Json:
    """The mean of each value of a setting, and where its 95 % interval ends; a run is one sample."""
    found = []
    for (value,), part in rows.partition_by(axis, as_dict=True, maintain_order=True).items():
        interval = None if value is None else mean_interval(over_runs(part, column))
        if interval is not None:
            half = interval.half_width if interval.has_width else 0.0
            mean = interval.estimate
            found.append((places[scale.place(str(value))], mean, mean - half, mean + half))
    x, y, low, high = zip(*sorted(found), strict=True) if found else ((), (), (), ())
    return {"x": list(x), "y": _short(y), "low": _short(low), "high": _short(high)}


def _places(scale: Scale) -> dict[float, float]:
    """Where the values of a setting stand: as far apart as their ratio where they span more than a factor of ten."""
    positive = sorted(place for place in scale.places if place > 0)
    if not scale.is_numeric or len(positive) < 2 or positive[-1] / positive[0] <= 10:
        return {place: _number(place) for place in scale.places}
    step = (math.log10(positive[-1]) - math.log10(positive[0])) / (len(positive) - 1)
    return {p: _number(math.log10(p) if p > 0 else math.log10(positive[0]) - step) for p in scale.places}


def _tradeoff(flows: pl.DataFrame, axes: Sequence[str]) -> Json | None:
    """Goodput against delay: a mark a setting, and a small one a run."""
    import polars as pl

    varying = separating_axes(flows, axes)
    runs = flows.drop_nulls(["goodput_mbps", "p95_rtt_ms"])
    kinds = runs.partition_by("cc", "label", as_dict=True, maintain_order=True)
    if not kinds or (len(kinds) == 1 and not varying):
        return None
    chosen = looks([(str(cc), str(label)) for cc, label in kinds])
    marks, series = [], []
    for number, ((cc, label), rows) in enumerate(kinds.items()):
        settings = rows.group_by(*varying, maintain_order=True) if varying else rows.group_by(pl.lit(0))
        means = settings.agg(pl.col("p95_rtt_ms").mean(), pl.col("goodput_mbps").mean())
        names = [one_line(", ".join(map(str, setting))) for setting in means.select(varying).rows()] if varying else []
        few = rows.height <= MAX_MARKS // len(kinds) and rows.height > means.height
        series.append(
            {
                "line": number,
                "x": _short(means["p95_rtt_ms"]),
                "y": _short(means["goodput_mbps"]),
                "names": names,
                "runs": [_short(rows["p95_rtt_ms"]), _short(rows["goodput_mbps"])] if few else [[], []],
            }
        )
        marks.append(_line(one_line(named(str(cc), str(label))), chosen[str(cc), str(label)]))
    return {
        "kind": "tradeoff",
        "title": "Goodput of a flow (Mbit/s) against delay: up and to the right is better",
        "x": {"label": f"{label_of('p95_rtt_ms')}, smaller to the right"},
        "lines": marks,
        "series": series,
    }


def _completions(result: Result) -> list[Json]:
    """The distributions of completion times, of load times of pages, and of query completion times."""
    found = []
    for table, column, title in (
        (result.completions, "fct_s", "Completion times of transfers: part that took no longer (%)"),
        (result.pages, "plt_s", "Load times of pages: part that took no longer (%)"),
        (result.rounds, "qct_s", "Query completion times: part that took no longer (%)"),
    ):
        if not len(table):
            continue
        frame = table.to_polars()
        frame = frame.filter(frame["measured"] == 1).drop_nulls(column)
        frame = frame.filter(frame[column] > 0)
        groups = frame.partition_by("source", "label", as_dict=True, maintain_order=True)
        if not groups:
            continue
        times = 1e3 * frame[column].to_numpy()
        x = np.geomspace(times.min(), times.max(), OF_DISTRIBUTION) if np.ptp(times) else times[:1]
        parts = [
            100 * np.searchsorted(np.sort(1e3 * rows[column].to_numpy()), x * (1 + 1e-9)) / rows.height
            for rows in groups.values()
        ]
        names = [one_line(str(label)) for _, label in groups]
        chosen = looks([(f"source {number}", name) for number, name in enumerate(names)])
        found.append(
            {
                "kind": "distribution",
                "title": title,
                "x": {"label": "ms"},
                "t": _short(x),
                "lines": [_line(name, chosen[f"source {number}", name]) for number, name in enumerate(names)],
                "series": [{"line": number, "v": _short(values)} for number, values in enumerate(parts)],
            }
        )
    return found


# --- values ----------------------------------------------------------------------------------------------------------


def _line(name: str, look: Look) -> Json:
    dashes = [] if isinstance(look.dashes, str) else [2 * length for length in look.dashes[1]]
    # Black is the ink of the page, which is light on a dark one.
    return {"name": name, "colour": None if look.colour == "#000000" else look.colour, "dash": dashes}


def _short(numbers: Iterable[Any], digits: int = 4) -> list[float | int | None]:
    return [_number(value, digits) for value in numbers]


def _number(value: Any, digits: int = 4) -> Any:
    """A number with so many significant digits, as short as JSON has it; ``None`` for what JSON has not."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
