"""The numbers of a picture, read back from what is drawn through the unit that stands at its axis."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import StepPatch
from numpy.typing import NDArray

import dumbbell as db
from dumbbell.plots import ResultPlots
from dumbbell.plots import limits as band

Numbers = NDArray[np.float64]

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "bytes": 1.0, "kB": 1e3, "packets": 1.0, "Mbit/s": 1.0, "mbps": 1.0}
"""Units as they stand at axes and in names of columns, in the unit of their quantity without a prefix."""

WORLD: dict[str, Any] = {
    "duration": "8s",
    "path": {"rate": "10mbit", "rtt": "40ms", "loss": "0.1%", "buffer": "40packets"},
    "flows": [{"cc": "bbr"}, {"cc": "cubic"}],
    "traffic": [
        {"kind": "short-flows", "cc": "reno", "load": "10%", "size": "30kB"},
        {"kind": "web-pages", "cc": "reno", "users": 6, "think": "100ms"},
        {"kind": "incast", "cc": "reno", "servers": 4, "size": "20kB"},
    ],
}


@pytest.fixture(scope="module")
def world() -> db.Result:
    return db.run(WORLD)


def in_unit_of(axis: str, column: str, values: pl.Series) -> Numbers:
    """The values of a column, whose name says its unit, in the unit in parentheses at an axis."""
    told = re.search(r"\(([^()]*)\)", axis)
    assert told is not None, f"no unit at {axis!r}"
    # A column without a unit in its name counts packets.
    own = UNITS.get(column.rsplit("_", 1)[-1], UNITS["packets"])
    return np.asarray(values.cast(float).to_numpy() * (own / UNITS[told[1]]), dtype=np.float64)


def drawn(axes: Axes, number: int) -> tuple[Numbers, Numbers]:
    line = axes.get_lines()[number]
    return np.asarray(line.get_xdata(), dtype=np.float64), np.asarray(line.get_ydata(), dtype=np.float64)


def axes_of(picture: Any, start: str) -> Axes:
    """The axes whose vertical axis begins so."""
    found: Axes = next(axes for axes in picture.axes if axes.get_ylabel().startswith(start))
    return found


def of_flow(world: db.Result, flow: int, column: str) -> pl.Series:
    return world.series.to_polars().filter(flow=flow)[column]


@pytest.mark.parametrize(("panel", "column"), [("smoothed RTT", "srtt_ms"), ("cwnd", "cwnd")])
def test_the_overview_of_a_run_draws_every_sample(world: db.Result, panel: str, column: str) -> None:
    axes = axes_of(ResultPlots(world).overview(), panel)
    for flow in range(2):
        x, y = drawn(axes, flow)
        assert x == pytest.approx(of_flow(world, flow, "t_s").to_numpy())
        expected = in_unit_of(axes.get_ylabel(), column, of_flow(world, flow, column))
        assert y == pytest.approx(expected, nan_ok=True)


def test_the_overview_of_a_run_draws_the_queue_and_means_of_rates(world: db.Result) -> None:
    picture = ResultPlots(world).overview()
    queue = axes_of(picture, "queue of")
    link = world.links.to_polars().filter(name="bottleneck")["link"][0]
    samples = world.link_series.to_polars().filter(link=link)
    x, y = drawn(queue, 0)
    assert x == pytest.approx(samples["t_s"].to_numpy())
    assert y == pytest.approx(in_unit_of(queue.get_ylabel(), "queue_bytes", samples["queue_bytes"]))
    rate = axes_of(picture, "received")
    for flow in range(2):
        _, y = drawn(rate, flow)
        expected = in_unit_of(rate.get_ylabel(), "received_mbps", of_flow(world, flow, "received_mbps"))
        assert float(np.mean(y)) == pytest.approx(float(np.mean(expected)), rel=0.02)


def test_the_band_of_the_overview_has_the_shares_of_what_limits_each_flow(world: db.Result) -> None:
    axes = axes_of(ResultPlots(world).overview(), "limited by")
    for flow in range(2):
        samples = of_flow(world, flow, "limited_by")
        # The first flow is on top.
        place = 1 - flow
        found: dict[str, float] = {}
        for patch in axes.patches:
            row, _, limit = str(patch.get_label()).partition(": ")
            if row == str(place) and isinstance(patch, StepPatch):
                values, edges, baseline = patch.get_data()
                found[limit] = float(np.sum((values - baseline) * np.diff(edges)) / (edges[-1] - edges[0]))
                assert edges[-1] == pytest.approx(of_flow(world, flow, "t_s").max())
        assert sum(found.values()) == pytest.approx(1)
        for limit, count in samples.value_counts().iter_rows():
            assert found[limit] == pytest.approx(count / samples.len(), abs=0.02), limit


def of_limits(limits: list[str]) -> pl.DataFrame:
    """Samples of every 100 ms."""
    return pl.DataFrame({"t_s": [0.1 * number for number in range(1, len(limits) + 1)], "limited_by": limits})


def test_a_bin_of_the_band_is_the_time_up_to_the_last_of_its_samples() -> None:
    edges, shares = band.binned(of_limits(["cwnd", "cwnd", "link"]))
    assert edges == pytest.approx([0.0, 0.1, 0.2, 0.3])
    assert {limit: list(share) for limit, share in shares.items()} == {"cwnd": [1, 1, 0], "link": [0, 0, 1]}
    # Twice as many samples as bins, and one more: the last bin has what is left.
    limits = ["cwnd", "link", "link"] * (2 * band.BINS // 3) + ["link"]
    edges, shares = band.binned(of_limits(limits))
    assert edges[:3] == pytest.approx([0.0, 0.3, 0.6]) and edges[-1] == pytest.approx(0.1 * len(limits))
    assert shares["cwnd"][:-1] == pytest.approx(1 / 3) and shares["cwnd"][-1] == 0
    assert np.diff(edges)[-1] == pytest.approx(0.1) and sum(shares.values()) == pytest.approx(1)


def test_a_band_of_one_sample_or_of_none_is_drawn_too() -> None:
    edges, shares = band.binned(of_limits(["cwnd"]))
    assert list(edges) == [0.0, 0.1] and {limit: list(share) for limit, share in shares.items()} == {"cwnd": [1]}
    edges, shares = band.binned(of_limits([]))
    assert list(edges) == [0.0] and not shares


@pytest.mark.parametrize(
    ("draw", "table", "column"),
    [
        ("completions", "completions", "fct_s"),
        ("page_loads", "pages", "plt_s"),
        ("query_times", "rounds", "qct_s"),
    ],
)
def test_distributions_of_times_are_those_of_the_table(world: db.Result, draw: str, table: str, column: str) -> None:
    picture = getattr(ResultPlots(world), draw)()
    axes = picture.axes[0]
    rows = getattr(world, table).to_polars().filter((pl.col("measured") == 1) & pl.col(column).is_not_null())
    expected = [np.sort(in_unit_of(axes.get_xlabel(), column, part[column])) for part in rows.partition_by("source")]
    found = [drawn(axes, number) for number in range(len(axes.get_lines()))]
    assert len(found) == len(expected) > 0
    for times in expected:
        # The first step rises from 0.
        steps = np.insert(times, 0, times[0])
        y = next(y for x, y in found if x.size == steps.size and x == pytest.approx(steps))
        assert y == pytest.approx(np.arange(times.size + 1) / times.size)


def test_the_tradeoff_is_that_of_the_table_of_flows(world: db.Result) -> None:
    axes = ResultPlots(world).tradeoff().axes[0]
    points = [
        (float(x[0]), float(y[0])) for x, y in (drawn(axes, n) for n in range(len(axes.get_lines()))) if x.size == 1
    ]
    flows = world.flows.to_polars()
    x = in_unit_of(axes.get_xlabel(), "p95_rtt_ms", flows["p95_rtt_ms"])
    y = in_unit_of(axes.get_ylabel(), "goodput_mbps", flows["goodput_mbps"])
    for pair in zip(x, y, strict=True):
        assert any(point == pytest.approx(pair) for point in points), (pair, points)


@pytest.mark.parametrize("column", ["rtt_ms", "min_rtt_ms", "goodput_mbps", "pacing_mbps", "delivery_mbps"])
def test_a_column_drawn_alone_is_in_the_unit_of_its_axis(world: db.Result, column: str) -> None:
    axes = ResultPlots(world).series(column).axes[0]
    for flow in range(2):
        x, y = drawn(axes, flow)
        assert x == pytest.approx(of_flow(world, flow, "t_s").to_numpy())
        assert y == pytest.approx(in_unit_of(axes.get_ylabel(), column, of_flow(world, flow, column)), nan_ok=True)


def test_a_distribution_of_samples_holds_them_all(world: db.Result) -> None:
    axes = ResultPlots(world).cdf("rtt_ms").axes[0]
    for flow in range(2):
        x, _ = drawn(axes, flow)
        samples = in_unit_of(axes.get_xlabel(), "rtt_ms", of_flow(world, flow, "rtt_ms").drop_nulls())
        samples = samples[~np.isnan(samples)]
        assert [float(x.min()), float(x.max())] == pytest.approx([float(samples.min()), float(samples.max())])
