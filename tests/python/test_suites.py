"""Evaluation suites: their cases are valid experiments, they resume, and their pictures show the spread of the runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import Ellipse

from conftest import Cli
from dumbbell import _core, experiment, suites
from dumbbell.plots.style import look
from dumbbell.suites import aqm, picture

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
