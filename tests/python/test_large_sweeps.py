"""Sweeps of many different settings: what they take of memory, and what is shown of them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import dumbbell as db
from dumbbell import report, spread
from dumbbell.meta import Meta
from dumbbell.points import Points, points_of, values
from dumbbell.tables import Table

TINY: dict[str, Any] = {
    "duration": "1ms",
    "record": {"series": False},
    "path": {"rate": "10mbit", "rtt": "40ms"},
    "flows": [{"cc": "cubic"}],
}

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from the system")


def growth_mb(before: str, after: str) -> float:
    """What the code ``after`` adds to the most memory that an interpreter has had resident, in megabytes."""
    peak = "int(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
    code = f"import re\n{textwrap.dedent(before)}\nfirst = {peak}\n{textwrap.dedent(after)}\nprint({peak} - first)"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout.split()[-1]) / 1024


@needs_linux
def test_a_combination_takes_little_memory_before_it_runs() -> None:
    before = f"import dumbbell as db\ntiny = {TINY!r}"
    after = """
    rtts, losses = [f"{20 + number}ms" for number in range(100)], [number / 1e6 for number in range(200)]
    sweep = db.sweep(tiny | {"sweep": {"path.rtt": rtts, "path.loss": losses}})
    assert len(sweep) == 20_000
    """
    # 7 kB each when they are resolved.
    assert growth_mb(before, after) < 20_000 * 0.7e-3


@needs_linux
def test_the_table_on_the_terminal_is_made_of_the_rows_that_it_shows() -> None:
    before = f"""
    import sys
    sys.path[:0] = {sys.path!r}
    import dumbbell as db
    from dumbbell import report, spread
    from test_large_sweeps import TINY, of_many_settings
    sweep = of_many_settings(db.sweep(TINY | {{"sweep": {{"path.rtt": ["20ms", "30ms"]}}}}).collect(), 20_000, 1)
    """
    # 35 kB a setting when each has a table of its own.
    assert growth_mb(before, "report.result(sweep)\nspread.note(sweep)") < 20_000 * 3.5e-3


def of_many_settings(sweep: db.SweepResult, settings: int, repeats: int) -> db.SweepResult:
    """The first flow of ``sweep`` as that of many settings and repetitions, which all have the same result."""
    flow = sweep.flows.to_polars().head(1)
    point = pl.int_range(settings * repeats, dtype=pl.UInt32, eager=True)
    rtts = ("1." + (point // repeats).cast(pl.String) + "ms").alias("path.rtt")
    flows = flow.select(pl.all().repeat_by(len(point)).explode()).with_columns(point.alias("point"), rtts)
    return replace(sweep, flows=Table(flows))


def test_the_first_settings_are_shown_and_the_others_counted(capsys: pytest.CaptureFixture[str]) -> None:
    sweep = db.sweep(TINY | {"sweep": {"path.rtt": ["20ms", "30ms"]}}).collect()
    report.result(of_many_settings(sweep, 100, 2))
    printed = capsys.readouterr().out
    shown = [line.split()[0] for line in printed.splitlines() if line.lstrip().startswith("1.")]
    assert shown == [f"1.{number}ms" for number in range(report.MAX_ROWS)]
    assert "and 60 more rows" in printed


def test_repetitions_that_do_not_differ_are_found_in_every_setting() -> None:
    sweep = db.sweep(TINY | {"sweep": {"path.rtt": ["20ms", "30ms"]}}).collect()
    many = of_many_settings(sweep, 10, 3)
    assert spread.alike(many) == ([f"rtt 1.{number}ms" for number in range(10)], 10)
    flows = many.flows.to_polars()
    goodput = pl.col("goodput_mbps") + (pl.col("point") == 7)
    differ = replace(many, flows=Table(flows.with_columns(goodput)))
    assert spread.alike(differ) == ([f"rtt 1.{number}ms" for number in range(10) if number != 2], 10)
    fewer = replace(many, flows=Table(pl.concat([flows, flows.filter(point=7)]).sort("point")))
    assert spread.alike(fewer) == ([f"rtt 1.{number}ms" for number in range(10) if number != 2], 10)


def test_points_are_a_sequence_of_what_was_run() -> None:
    results = list(db.sweep(TINY | {"sweep": {"path.loss": ["0%", 0.01], "seed": [1, 2]}}, jobs=1))
    metas = [result.meta for result in results]
    points = Points(points_of(metas))
    assert points == metas and metas == list(points) and points != metas[1:]
    assert points[-1] == metas[3] and points[1:3] == metas[1:3] and len(points) == 4
    assert metas[2] in points and points.index(metas[2]) == 2
    assert isinstance(points[0], Meta) and points[2].settings == {"path.loss": 0.01, "seed": 1}
    assert values(points, "seed") == values(metas, "seed") == [1, 2, 1, 2]
    with pytest.raises(IndexError):
        points[4]
