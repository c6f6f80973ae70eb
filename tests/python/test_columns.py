"""What is said of columns agrees with the tables and with the reference page, and metrics come from both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell.columns import columns, reference
from dumbbell.measures import measures

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "results.md"

TWO_FLOWS: dict[str, Any] = {
    "duration": "20s",
    "path": {"rate": "10mbit", "rtt": "40ms", "buffer": "1bdp"},
    "flows": [{"cc": "cubic", "label": "first"}, {"cc": "cubic", "label": "second", "start": "5s"}],
}


@pytest.fixture(scope="module")
def run() -> db.Result:
    return db.run(TWO_FLOWS)


@pytest.mark.parametrize("table", ["flows", "links", "series", "link_series"])
def test_the_catalogue_has_the_columns_of_every_table_in_their_order(run: db.Result, table: str) -> None:
    found = [name for name in getattr(run, table).columns if not name.startswith("cc_")]
    assert found == [column.name for column in columns() if column.table == table]


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_what_receivers_get_of_a_full_link_is_its_rate(transport: str) -> None:
    run = db.run(TWO_FLOWS | {"transport": transport, "warmup": "10s", "path": TWO_FLOWS["path"] | {"buffer": "2bdp"}})
    series = run.series.to_polars().filter(pl.col("t_s") > 10)
    received = series.group_by("flow").agg(pl.col("received_mbps").mean()).sort("flow")["received_mbps"]
    left = run.flows.to_polars()["throughput_mbps"]
    assert received.to_list() == pytest.approx(left.to_list(), rel=0.01)
    assert received.sum() == pytest.approx(10, rel=0.002)
    assert run.links.to_polars()["throughput_mbps"][0] == pytest.approx(10, rel=0.002)


def test_the_reference_page_is_the_catalogue() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "dumbbell columns --markdown > docs/reference/results.md"


def test_the_command_knows_tables_and_refuses_others(dumbbell: Cli) -> None:
    shown = json.loads(dumbbell("columns", "links", "--json").out)["columns"]
    assert {entry["table"] for entry in shown} == {"links"}
    assert any(entry["name"] == "utilization" and entry["unit"] == "share" for entry in shown)
    wrong = dumbbell("columns", "link")
    assert wrong.status == 2
    assert "no table `link`; there are flows, links, series, link_series" in wrong.err


def test_metrics_of_two_flows_follow_from_their_tables(run: db.Result) -> None:
    found = {(measure.of, measure.name): measure.value for measure in measures(run)}
    rates = run.flows.to_polars()["goodput_mbps"].to_list()
    assert found["run", "goodput"] == pytest.approx(sum(rates))
    assert found["run", "jain"] == pytest.approx(sum(rates) ** 2 / (2 * sum(rate**2 for rate in rates)))
    assert found["0 first", "share"] == pytest.approx(rates[0] / sum(rates))
    assert 0 < found["1 second", "newcomer_time"] < 15
    assert ("0 first", "newcomer_time") not in found, "the first flow is no newcomer"
    assert ("run", "rtt_fairness_exponent") not in found, "all flows have the same RTT"


def test_harm_compares_with_the_flow_alone(run: db.Result) -> None:
    alone = db.run(TWO_FLOWS | {"flows": TWO_FLOWS["flows"][:1]})
    found = {(measure.of, measure.name): measure.value for measure in measures(run, alone)}
    solo = alone.flows.rows()[0]["goodput_mbps"]
    assert found["0 first", "harm_goodput"] == pytest.approx(1 - run.flows.rows()[0]["goodput_mbps"] / solo)
    assert ("1 second", "harm_goodput") not in found, "it never was alone"


def test_a_sweep_over_loss_tells_where_goodput_is_halved() -> None:
    document = TWO_FLOWS | {"duration": "5s", "flows": [{"cc": "cubic"}]}
    sweep = db.sweep(document, set={"sweep": {"path.loss": ["0%", "1%", "5%", "20%"]}}, progress=False).collect()
    (measure,) = measures(sweep)
    assert (measure.of, measure.name) == ("cubic", "half_throughput_loss")
    assert 0 < measure.value < 0.2


def test_the_command_prints_metrics_of_a_directory(dumbbell: Cli, run: db.Result, tmp_path: Path) -> None:
    folder = run.save(tmp_path / "result")
    printed = json.loads(dumbbell("metrics", folder, "--solo", folder, "--json").out)["metrics"]
    assert {"jain", "utilization", "harm_goodput"} <= {entry["name"] for entry in printed}
    missing = dumbbell("metrics", tmp_path)
    assert (missing.status, "no result here" in missing.err) == (2, True)


def test_the_command_says_what_a_sweep_has_no_metrics_for(dumbbell: Cli, run: db.Result, tmp_path: Path) -> None:
    folder, alone = tmp_path / "sweep", run.save(tmp_path / "alone")
    document = {"duration": "1s", "path": {"rate": "5mbit", "rtt": "20ms"}, "flows": [{"cc": "cubic"}]}
    db.sweep(document, set={"sweep": {"path.rtt": ["10ms", "20ms"]}}, out=folder, progress=False).collect()
    printed = dumbbell("metrics", folder)
    assert (printed.status, "of sweeps over path.loss" in printed.err) == (0, True)
    refused = dumbbell("metrics", folder, "--solo", alone)
    assert (refused.status, "harm is done in one run" in refused.err) == (2, True)
