"""Evaluation suites: their cases are valid experiments, they resume, and their pictures show the spread of the runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.patches import Ellipse

from conftest import Cli
from dumbbell import _core, experiment, suites
from dumbbell.plots.style import look
from dumbbell.suites import aqm, measures, picture
from dumbbell.suites.model import Case

PARTS = [(suite.name, part) for suite in suites.suites() for part in suite.parts]


@pytest.mark.parametrize(("suite", "part"), PARTS, ids=lambda value: getattr(value, "name", value))
@pytest.mark.parametrize("quick", [False, True])
def test_every_case_is_a_valid_experiment_of_its_own(suite: str, part: suites.Part, quick: bool) -> None:
    cases = part.cases(suites.Choice(cc=("cubic", "bbr"), quick=quick))
    hashes = set()
    for case in cases:
        assert len(case.key) == len(part.heads)
        (point,) = experiment.load(dict(case.document)).points
        hashes.add(point.content_hash)
    assert len(hashes) == len({case.key for case in cases}) == len(cases)


@pytest.mark.parametrize(("suite", "part"), PARTS, ids=lambda value: getattr(value, "name", value))
def test_only_what_is_measured_over_time_is_recorded_over_time(suite: str, part: suites.Part) -> None:
    cases = part.cases(suites.Choice(cc=("cubic",), quick=True))
    described = [experiment.load(dict(case.document)).explain() for case in cases]
    over_time = {"tmrg/basic", "tmrg/buffers", "tmrg/ramp-up", "tmrg/transients"}
    assert {"  no time series\n" not in text for text in described} == {f"{suite}/{part.name}" in over_time}


def test_the_queues_are_those_of_the_engine() -> None:
    page = dict(_core.reference())["links"]
    assert {"droptail", "codel", "red", "pie"} <= set(aqm.disciplines())
    assert all(f'kind = "{name}"' in page for name in aqm.disciplines())


def test_the_number_of_flows_follows_from_the_loss() -> None:
    # A window of sqrt(1.5 / 0.01) = 12.2 segments in 100 ms is 1.42 Mbit/s.
    assert [aqm.flows_for(loss) for loss in aqm.LOSSES.values()] == [1, 4, 14]


def test_a_suite_goes_on_where_it_was_interrupted(dumbbell: Cli, tmp_path: Path) -> None:
    arguments = ("suite", "tmrg/camps", "--quick", "--cc", "bbr", "--out", tmp_path / "out")
    first = json.loads(dumbbell(*arguments, "--json").out)
    runs = tmp_path / "out" / "runs" / "batches"
    before = {path: path.stat().st_mtime_ns for path in runs.rglob("*.parquet")}
    again = json.loads(dumbbell(*arguments, "--json").out)
    assert again["parts"][0]["tables"] == first["parts"][0]["tables"]
    assert before and {path: path.stat().st_mtime_ns for path in runs.rglob("*.parquet")} == before
    rows = first["parts"][0]["tables"][0]["rows"]
    assert [(row["load"], row["cc of B"]) for row in rows] == [
        (load, cc) for load in ("50 %", "100 %") for cc in ("reno", "bbr")
    ]
    assert [row["G"] for row in rows if row["cc of B"] == "reno"] == [1.0, 1.0]
    assert all(0 < row["G"] < 3 and 0 < row["L"] < 3 for row in rows)


def test_tables_and_pictures_are_written(dumbbell: Cli, tmp_path: Path) -> None:
    done = dumbbell("suite", "aqm/ecn", "--quick", "--cc", "cubic", "--out", tmp_path / "out")
    assert done.status == 0 and "marks %" in done.out
    assert (tmp_path / "out" / "ecn.png").stat().st_size > 10_000
    rows = json.loads((tmp_path / "out" / "report.json").read_text())["tables"][0]["rows"]
    marks = {(row["ECN"], row["queue"]): row["marks %"] for row in rows}
    assert marks["on", "codel"] > 0 == marks["off", "codel"]


def part_of(path: str) -> suites.Part:
    suite, _, part = path.partition("/")
    return next(one for name, one in PARTS if (name, one.name) == (suite, part))


def ended(goodput: Mapping[str, float], transfers: list[tuple[int, float | None, bool]]) -> Any:
    """A run with sources of these labels and rates; a transfer is its source, its seconds, and whether it counts."""
    completions = pl.DataFrame(
        [(source, 5_000, fct, int(measured)) for source, fct, measured in transfers],
        schema={"source": pl.UInt32, "bytes": pl.UInt64, "fct_s": pl.Float64, "measured": pl.UInt8},
        orient="row",
    )
    rows = [{"label": label, "goodput_mbps": rate} for label, rate in goodput.items()]
    return SimpleNamespace(
        traffic=SimpleNamespace(rows=lambda: rows), completions=SimpleNamespace(to_polars=lambda: completions)
    )


def test_the_long_path_of_a_parking_lot_stands_beside_the_mean_of_the_short_ones() -> None:
    measure = part_of("tmrg/parking-lot").measure
    rates = {"long": 2.0, "a": 6.0, "b": 8.0, "c": 10.0}
    timed = [(0, 0.4, True), (1, 0.1, True), (1, 0.3, True), (2, 0.4, True), (3, None, True), (0, 9.0, False)]
    assert measure(ended(rates, timed)) == pytest.approx({
        "long Mbit/s": 2.0, "one hop Mbit/s": 8.0, "long over one hop": 0.25, "long p50 FCT ms": 400.0,
        # Nothing of `c` has ended, so the mean is that of the other two.
        "one hop p50 FCT ms": 300.0,
    })  # fmt: skip
    nothing = measure(ended(dict.fromkeys(rates, 0.0), []))
    assert nothing["long over one hop"] is nothing["long p50 FCT ms"] is nothing["one hop p50 FCT ms"] is None


def test_what_camps_gain_and_lose_is_beside_the_same_load_with_reno_in_both() -> None:
    def row(load: str, cc: str, a: float, b: float | None) -> tuple[Case, dict[str, float | None]]:
        return Case((load, cc), {}), {"A Mbit/s": a, "B Mbit/s": b}

    found = [row("50 %", "reno", 2.0, 2.0), row("100 %", "reno", 4.0, 5.0), row("100 %", "bbr", 3.0, 6.0)]
    found.append(row("50 %", "bbr", 1.0, None))
    part_of("tmrg/camps").derive(found)
    gained = [(values["G"], values["L"]) for _, values in found]
    assert gained == [(1.0, 1.0), (1.0, 1.0), (pytest.approx(1.2), 0.75), (None, 0.5)]


def test_times_of_completion_are_those_of_what_began_in_the_measured_interval() -> None:
    timed = [(0, 0.1, True), (0, 0.2, True), (1, 0.3, True), (1, None, True), (0, 7.0, False), (1, None, False)]
    run = ended({}, timed)
    assert measures.completion(run) == pytest.approx(
        {"p50 FCT ms": 200.0, "p99 FCT ms": 298.0, "p95 FCT ms up to 10 kB": 290.0, "unfinished %": 25.0}
    )
    assert measures.completion(run, [1])["unfinished %"] == 50.0
    assert measures.completion(run, [2]) == dict.fromkeys(measures.completion(run))


def test_a_queue_is_time_at_the_rate_of_its_link() -> None:
    link = {"capacity_mbps": 8.0, "mean_queue_bytes": 50_000.0, "p95_queue_bytes": 90_000.0, "utilization": 0.75}
    link |= {"arrivals": 200, "drops": 3}
    assert measures.of_link(link) == pytest.approx(
        {"utilisation %": 75.0, "drops %": 1.5, "mean queue ms": 50.0, "p95 queue ms": 90.0}
    )
    idle = link | {"capacity_mbps": 0.0, "utilization": None, "arrivals": 0, "drops": 0}
    assert measures.of_link(idle) == dict.fromkeys(measures.of_link(link))


def test_what_is_not_there_is_named(dumbbell: Cli) -> None:
    wrong = dumbbell("suite", "tmgr")
    assert wrong.status == 2 and "did you mean `tmrg`?" in wrong.err
    assert "`aqm` has no part `burst`" in dumbbell("suite", "aqm/burst").err
    listed = dumbbell("suite", "--list")
    assert "tmrg/parking-lot" in listed.out and "aqm/bursts" in listed.out
    unknown = dumbbell("suite", "aqm/ecn", "--quick", "--cc", "cubik")
    assert unknown.status == 2 and "did you mean `cubic`?" in unknown.err


def test_the_half_axes_of_an_ellipse_are_standard_deviations() -> None:
    generator = np.random.default_rng(1)
    runs = generator.normal(size=(4_000, 2)) * (3.0, 0.5) + (50.0, 10.0)
    drawn = picture.delay_goodput(
        [("", "bbr", "", [tuple(run) for run in runs])], ("delay", "goodput"), algorithms=True
    )
    (ellipse,) = [patch for patch in drawn.axes[0].patches if isinstance(patch, Ellipse)]
    assert (ellipse.width / 2, ellipse.height / 2) == pytest.approx((3.0, 0.5), rel=0.05)
    assert abs(np.sin(np.radians(ellipse.angle))) < 0.05
    assert ellipse.center == pytest.approx((50.0, 10.0), rel=0.01)
    assert drawn.axes[0].lines[0].get_marker() == look("bbr").marker
