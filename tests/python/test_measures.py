"""The metrics of results that are written here by hand: from which columns each comes, and where it is left out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import metrics
from dumbbell.measures import Measure, measures
from dumbbell.results import Meta, Result, SweepResult
from dumbbell.tables import Table

FLOW: dict[str, Any] = {
    "flow": 0, "label": "a", "start_s": 0.0, "goodput_mbps": 6.0, "mean_rtt_ms": 50.0, "base_rtt_ms": 40.0,
    "sent": 1000, "duplicates": 20, "network_drops": 50, "completion_s": None, "delivered_bytes_total": 1_000_000,
}  # fmt: skip
LINK: dict[str, Any] = {"link": 0, "name": "slow", "utilization": 0.75, "capacity_mbps": 10.0}


def result(
    flows: Sequence[Mapping[str, Any]],
    rates: Sequence[Sequence[float | None]] | None = None,
    used: Sequence[float | None] | None = None,
    links: list[dict[str, Any]] | None = None,
    step_s: float = 1.0,
) -> Result:
    """A run of flows whose goodputs are ``rates`` in bins of a step, over links of which the first is ``used`` so."""
    series = [
        {"flow": flow, "t_s": (at + 1) * step_s, "goodput_mbps": rate}
        for flow, of_flow in enumerate(rates or [])
        for at, rate in enumerate(of_flow)
    ]
    link_series = [{"link": link, "t_s": (at + 1) * step_s, "utilization": value if link == 0 else 0.01}
                   for at, value in enumerate(used or []) for link in (0, 1)]  # fmt: skip
    rows = [{**FLOW, "flow": number, **flow} for number, flow in enumerate(flows)]
    tables = (rows, series, [LINK] if links is None else links, link_series)
    flow_table, series_table, link_table, link_series_table = (
        Table(pl.DataFrame(table, infer_schema_length=None)) for table in tables
    )
    meta = Meta("1", "e", "", 0, 1, "a" * 64, 20.0, 0.5, 0.6, 10, 1500)
    return Result(flow_table, series_table, link_table, link_series_table, meta, "")


def found(result: Result, solo: Result | None = None) -> dict[tuple[str, str], float]:
    return {(measure.of, measure.name): measure.value for measure in measures(result, solo)}


def test_a_flow_alone_has_its_own_metrics_and_no_fairness() -> None:
    values = found(result([{}]))
    assert values == pytest.approx(
        {
            ("run", "goodput"): 6.0,
            ("run", "utilization"): 0.75,
            ("0 a", "loss_rate"): 0.05,
            ("0 a", "spurious_rate"): 0.02,
            ("0 a", "rtt_inflation"): 1.25,
            ("0 a", "utility"): math.log(6) - math.log(50),
            ("0 a", "normalized_power"): 0.6 / 1.25,
        }
    )


def test_units_and_meanings_are_told() -> None:
    by_name = {measure.name: measure for measure in measures(result([{}]))}
    assert by_name["goodput"].unit == "Mbit/s"
    assert by_name["utilization"].unit == ""
    assert "slow" in by_name["utilization"].meaning
    assert isinstance(by_name["goodput"], Measure)


def test_what_did_not_happen_has_no_metrics() -> None:
    nothing = {"goodput_mbps": None, "sent": 0, "mean_rtt_ms": None}
    assert found(result([nothing], links=[])) == {("run", "goodput"): 0.0}
    without_base = found(result([{"base_rtt_ms": 0.0}]))
    assert ("0 a", "rtt_inflation") not in without_base and ("0 a", "loss_rate") in without_base
    once = found(result([{"sent": 1, "network_drops": 1, "duplicates": 0}]))
    assert (once["0 a", "loss_rate"], once["0 a", "spurious_rate"]) == (1.0, 0.0)


def test_a_transfer_that_is_complete_has_a_slowdown() -> None:
    values = found(result([{"completion_s": 1.68}]))
    # A megabyte at 10 Mbit/s takes 0.8 s, and 40 ms more.
    assert values["0 a", "fct_slowdown"] == pytest.approx(2.0)
    unlimited = found(result([{"completion_s": 1.68}], links=[LINK | {"capacity_mbps": None}]))
    assert not {("0 a", "fct_slowdown"), ("0 a", "normalized_power")} & unlimited.keys()
    assert ("0 a", "utility") in unlimited


def test_the_busiest_link_tells_of_utilisation_and_the_slowest_of_capacity() -> None:
    links = [
        LINK, LINK | {"link": 1, "name": "fast", "utilization": 0.8, "capacity_mbps": 20.0},
        LINK | {"link": 2, "name": "free", "utilization": None, "capacity_mbps": None},
    ]  # fmt: skip
    values = measures(result([{}], links=links))
    (busiest,) = [measure for measure in values if measure.name == "utilization"]
    assert (busiest.of, busiest.value) == ("run", 0.8)
    assert "fast" in busiest.meaning
    assert found(result([{}], links=links))["0 a", "normalized_power"] == pytest.approx(0.6 / 1.25)


def test_two_flows_have_fairness_and_shares() -> None:
    values = found(result([{}, {"label": "b", "goodput_mbps": 2.0, "base_rtt_ms": 80.0}]))
    assert values["run", "goodput"] == 8.0
    assert values["run", "jain"] == pytest.approx(64 / 80)
    assert values["run", "max_min_ratio"] == 3.0
    assert values["run", "rtt_fairness_exponent"] == pytest.approx(math.log(3) / math.log(2))
    assert (values["0 a", "share"], values["1 b", "share"]) == (0.75, 0.25)
    assert not {("run", "short_term_jain"), ("run", "convergence_time")} & values.keys(), "there are no series"
    starved = found(result([{}, {"label": "b", "goodput_mbps": None}]))
    assert ("run", "max_min_ratio") not in starved, "which is infinite"


LATE = {"label": "b", "start_s": 4.0}


def test_a_newcomer_converges_to_what_the_end_of_the_series_has() -> None:
    # The last fifth has 10 together, so that 5 is fair: 4.5 is near enough from the bin at 8 s on, 4 earlier.
    first = [10.0] * 4 + [8.0] * 2 + [5.5] * 14
    second = [*[None] * 4, *[2.0] * 2, *[4.0] * 2, *[4.5] * 12]
    values = found(result([{}, LATE], [first, second]))
    assert values["run", "convergence_time"] == pytest.approx(2.0)
    assert values["1 b", "newcomer_time"] == pytest.approx(2.0)
    assert ("0 a", "newcomer_time") not in values
    together = found(result([{}, LATE | {"start_s": 0.0}], [first, second]))
    assert not [key for key in together if key[1] == "newcomer_time"], "neither came later"
    # Both are held to half of what all have in the last four of twenty bins, not in the last five.
    rich = [*first[:15], 50.0, *first[16:]]
    assert found(result([{}, LATE], [rich, second]))["1 b", "newcomer_time"] == pytest.approx(2.0)
    poorer = [*first[:16], 50.0, *first[17:]]
    assert ("1 b", "newcomer_time") not in found(result([{}, LATE], [poorer, second]))


def test_fairness_over_a_short_term_is_over_ten_of_the_longest_round_trips() -> None:
    # Flows that alternate every two bins are fair over four of them, and not over two.
    alternating: list[list[float | None]] = [[4.0, 4.0, 0.0, 0.0] * 10, [0.0, 0.0, 4.0, 4.0] * 10]
    for rtt_ms, jain in ((40.0, 1.0), (20.0, 0.5), (1.0, 0.5)):
        flows: list[dict[str, Any]] = [{"base_rtt_ms": 1.0}, {"label": "b", "base_rtt_ms": rtt_ms}]
        values = found(result(flows, alternating, step_s=0.1))
        assert values["run", "short_term_jain"] == pytest.approx(jain)


def test_a_series_tells_how_even_a_flow_is_and_how_it_oscillates() -> None:
    wave: list[float | None] = [6.0, 2.0, None, 2.0] * 10
    values = found(result([{}], [wave], step_s=0.5))
    assert values["0 a", "oscillation_period"] == pytest.approx(2.0)
    # Windows of a second are pairs of bins, with means of 4 and 1.
    assert values["0 a", "smoothness"] == pytest.approx(metrics.coefficient_of_variation([4.0, 1.0] * 10))
    assert not {("0 a", "smoothness"), ("0 a", "share")} & found(result([{}], [[6.0]])).keys(), "one bin is no series"
    two = found(result([{}], [[6.0, 2.0]]))
    assert two["0 a", "smoothness"] == pytest.approx(metrics.coefficient_of_variation([6.0, 2.0]))
    # Each flow has its own series; one that was never sampled had nothing.
    both = found(result([{}, {"label": "b"}, {"label": "c"}], [[4.0] * 40, wave], step_s=0.5))
    assert both["0 a", "smoothness"] == 0.0
    assert both["1 b", "oscillation_period"] == pytest.approx(2.0)
    assert ("2 c", "smoothness") not in both


def test_what_a_series_tells_is_of_the_measured_interval_and_of_the_time_when_flows_are_there() -> None:
    # After 4 s of warm-up and before 4 s of cool-down both have 5, from the start of the second, at 6 s, on.
    first = [20.0] * 4 + [10.0] * 2 + [5.0] * 10 + [0.0] * 4
    second = [*[None] * 6, *[5.0] * 10, *[20.0] * 4]
    run = result([{}, LATE | {"start_s": 6.0}], [first, second])
    measured = replace(run, described='warmup = "4s"\ncooldown = "4s"\n')
    values = found(measured)
    assert values["1 b", "smoothness"] == 0.0
    assert values["0 a", "smoothness"] == pytest.approx(metrics.coefficient_of_variation(first[4:16]))
    assert values["run", "short_term_jain"] == pytest.approx(1.0)
    assert found(run)["1 b", "smoothness"] == pytest.approx(metrics.coefficient_of_variation([5.0] * 10 + [20.0] * 4))
    # A transfer is there until it is complete, at 12 s; one that was complete before has nothing to tell.
    gone = found(replace(measured, flows=Table(measured.flows.to_polars().with_columns(completion_s=pl.lit(6.0)))))
    assert not {("run", "short_term_jain"), ("0 a", "oscillation_period")} & gone.keys()
    assert gone["0 a", "smoothness"] == pytest.approx(metrics.coefficient_of_variation([10.0, 10.0]), abs=1e-12)
    early = {"start_s": 0.0, "completion_s": 3.0}
    assert ("1 b", "smoothness") not in found(
        replace(result([{}, LATE | early], [first, second]), described=measured.described)
    )


def test_a_link_starts_up_from_the_first_flow_on_and_is_in_equilibrium_once_flows_are_even() -> None:
    used: list[float | None] = [None, 0.0, 0.5, 0.8, *[1.0] * 26]
    flows: list[dict[str, Any]] = [{"start_s": 2.5}, {"label": "b", "start_s": 1.0}]
    rates = [[9.0] * 7 + [5.0] * 23, [1.0] * 7 + [5.0] * 23]
    values = found(result(flows, rates, used, [LINK, LINK | {"link": 1, "utilization": 0.1}]))
    assert values["run", "startup_time"] == pytest.approx(3.0)
    assert values["run", "equilibrium_time"] == pytest.approx(7.0)
    alone = found(result(flows[:1], rates[:1], used))
    assert alone["run", "startup_time"] == pytest.approx(1.5)
    assert ("run", "equilibrium_time") not in alone
    shorter = found(result(flows, [row[:-1] for row in rates], used))
    assert ("run", "startup_time") in shorter and ("run", "equilibrium_time") not in shorter
    without_series = found(result(flows, None, used))
    assert ("run", "startup_time") in without_series and ("run", "equilibrium_time") not in without_series
    assert ("run", "startup_time") not in found(result(flows, rates))


def test_harm_is_done_to_flows_of_the_same_name() -> None:
    alone = result([{"label": "b", "goodput_mbps": 8.0, "mean_rtt_ms": 40.0}])
    values = found(result([{}, {"label": "b", "goodput_mbps": 6.0, "mean_rtt_ms": 50.0}]), alone)
    assert values["1 b", "harm_goodput"] == pytest.approx(0.25)
    assert values["1 b", "harm_rtt"] == pytest.approx(0.2)
    assert ("0 a", "harm_goodput") not in values
    for before, after in ((None, 50.0), (50.0, None)):
        timeless = found(result([{"mean_rtt_ms": after}]), result([{"mean_rtt_ms": before}]))
        assert ("0 a", "harm_goodput") in timeless and ("0 a", "harm_rtt") not in timeless


SOURCE: dict[str, Any] = {
    "source": 0, "label": "mice", "goodput_mbps": 4.0, "sent": 200, "network_drops": 10,
}  # fmt: skip


def of_transfers(sources: Sequence[Mapping[str, Any]], times: Sequence[tuple[int, int, float | None]]) -> Result:
    """A run of traffic alone, whose transfers are of a source, measured or not, and took so many seconds."""
    completions = [
        {"source": source, "label": "mice", "measured": measured, "bytes": 30_000, "fct_s": fct,
         "slowdown": None if fct is None else fct / 0.05}
        for source, measured, fct in times
    ]  # fmt: skip
    run = result([], used=[0.5, 0.9, 0.9])
    traffic = [{**SOURCE, **source} for source in sources]
    took = pl.DataFrame(completions, schema_overrides=dict.fromkeys(("fct_s", "slowdown"), pl.Float64))
    return replace(run, traffic=Table(pl.DataFrame(traffic)), completions=Table(took))


def test_a_run_of_traffic_alone_tells_of_its_link_and_its_transfers_and_of_no_flows() -> None:
    times = [(0, 0, 9.0), (0, 1, 0.1), (0, 1, 0.2), (0, 1, 0.3), (0, 1, None)]
    values = found(of_transfers([{}, {"source": 1, "sent": 0, "network_drops": 0, "goodput_mbps": 0.0}], times))
    assert values == pytest.approx(
        {
            ("run", "utilization"): 0.75,
            ("traffic 0 mice", "goodput"): 4.0,
            ("traffic 0 mice", "loss_rate"): 0.05,
            ("traffic 0 mice", "unfinished"): 0.25,
            ("traffic 0 mice", "p50_fct"): 0.2,
            ("traffic 0 mice", "p95_fct"): 0.29,
            ("traffic 0 mice", "p99_fct"): 0.298,
            ("traffic 0 mice", "p50_slowdown"): 4.0,
            ("traffic 0 mice", "p95_slowdown"): 5.8,
            ("traffic 0 mice", "p99_slowdown"): 5.96,
            ("traffic 1 mice", "goodput"): 0.0,
        }
    )
    none_whole = found(of_transfers([{}], [(0, 1, None)]))
    assert none_whole["traffic 0 mice", "unfinished"] == 1.0 and ("traffic 0 mice", "p50_fct") not in none_whole


def test_metrics_of_a_run_of_traffic_alone_are_printed(dumbbell: Cli, tmp_path: Path) -> None:
    traffic = {"kind": "list", "cc": "reno", "flows": [["0s", "10kB"], ["100ms", "30kB"]]}
    path = {"rate": "10mbit", "rtt": "20ms"}
    db.run({"duration": "1s", "path": path, "traffic": [traffic]}).save(tmp_path / "mice")
    done = dumbbell("metrics", tmp_path / "mice", "--json")
    assert (done.status, done.err) == (0, "")
    named = {(row["of"], row["name"]) for row in json.loads(done.out)["metrics"]}
    assert {("run", "utilization"), ("traffic 0 list", "p95_fct")} <= named
    assert not named & {("run", "goodput"), ("run", "startup_time")}


def swept(axis: str, values: list[str], goodputs: list[float]) -> SweepResult:
    rows = [
        {"label": "a", "cc": "reno", axis: value, "goodput_mbps": goodput}
        for value, goodput in zip(values, goodputs, strict=True)
    ]
    return of_rows([*rows, *(row | {"label": "b", "goodput_mbps": 10.0} for row in rows)], [axis])


def of_rows(rows: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> SweepResult:
    metas = [
        Meta("1", "e", "", 0, 1, "a" * 64, 2.0, 0.5, 0.6, 10, 15, settings={axis: row[axis] for axis in axes})
        for row in rows
    ]
    return SweepResult(Table(pl.DataFrame(rows)), Table(pl.DataFrame()), metas)


def test_the_loss_that_halves_is_one_of_means_over_repetitions_in_percent_or_parts() -> None:
    for losses in (["0%", "0%", "1%", "2%"], ["0", "0", "0.01", "0.02"]):
        (measure,) = measures(swept("path.loss", losses, [8.0, 12.0, 8.0, 2.0]))
        assert (measure.of, measure.name, measure.unit) == ("a", "half_throughput_loss", "")
        assert measure.value == pytest.approx(0.015)
    assert measures(swept("path.rtt", ["1ms", "2ms"], [8.0, 2.0])) == []


def test_a_model_of_losses_is_no_point_of_the_curve_over_losses() -> None:
    losses = ["0%", "1%", "2%", "gilbert-elliott p=0.1"]
    (measure,) = measures(swept("path.loss", losses, [10.0, 8.0, 2.0, 1.0]))
    assert measure.value == pytest.approx(0.015)


def test_each_other_setting_has_its_own_loss_that_halves() -> None:
    curves = {"10ms": [10.0, 8.0, 2.0], "100ms": [10.0, 4.0, 2.0]}
    rows = [
        {"label": "a", "cc": "reno", "path.loss": loss, "path.rtt": rtt, "seed": seed, "goodput_mbps": rate}
        for rtt, rates in curves.items()
        for loss, rate in zip(["0%", "1%", "2%"], rates, strict=True)
        for seed in ("1", "2")
    ]
    found = {measure.of: measure.value for measure in measures(of_rows(rows, ["path.loss", "path.rtt", "seed"]))}
    assert found == pytest.approx({"a, rtt 10ms": 0.015, "a, rtt 100ms": 0.01 * 5 / 6})


def test_algorithms_under_one_label_have_each_their_own_loss_that_halves() -> None:
    curves = {"reno": [10.0, 8.0, 2.0], "bbr": [10.0, 10.0, 5.0]}
    rows = [
        {"label": "main", "cc": cc, "path.loss": loss, "flows[0].cc": cc, "goodput_mbps": rate}
        for cc, rates in curves.items()
        for loss, rate in zip(["0", "0.01", "0.02"], rates, strict=True)
    ]
    found = {measure.of: measure.value for measure in measures(of_rows(rows, ["path.loss", "flows[0].cc"]))}
    assert found == pytest.approx({"main, reno": 0.015, "main, bbr": 0.02})
