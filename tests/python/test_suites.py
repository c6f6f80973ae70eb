"""Evaluation suites: their cases are valid experiments, they resume, and their pictures show the spread of the runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.patches import Ellipse

import snapshots
from conftest import Cli
from dumbbell import _core, experiment, suites
from dumbbell.plots.style import look
from dumbbell.suites import aqm, measures, picture
from dumbbell.suites.model import Case, Choice
from kept_files import flat

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


@pytest.mark.parametrize(("suite", "part"), PARTS, ids=lambda value: getattr(value, "name", value))
def test_the_experiments_of_a_part_are_what_is_kept(suite: str, part: suites.Part) -> None:
    lines = []
    for quick in (False, True):
        for case in part.cases(Choice(cc=("cubic",), quick=quick)):
            written = json.dumps(case.document)
            document = written if len(written) < 1_000 else "; ".join(flat(json.loads(written)))
            lines.append(f"{'quick: ' if quick else ''}{', '.join(case.key)}: {document}")
    # Every queue discipline has the same experiments.
    lines = [line for line in lines if suite != "aqm" or any(f", {queue}, " in line for queue in ("codel", "red"))]
    snapshots.same_as_kept(f"suites/{suite}-{part.name}", lines)


@pytest.mark.parametrize("name", ["buffers", "ramp-up", "transients", "fairness", "inter-rtt", "camps", "parking-lot"])
def test_what_a_part_measures_is_what_is_kept(tmp_path: Path, name: str) -> None:
    part = part_of(f"tmrg/{name}")

    def some(choice: Choice) -> list[Case]:
        cases = list(part.cases(choice))
        return cases[:: len(cases) // 3]

    report = replace(part, cases=some).run("tmrg", Choice(cc=("cubic",), quick=True), tmp_path, progress=False)
    snapshots.same_as_kept(f"suites/measured-{name}", snapshots.of_report(report))


def test_a_table_has_the_means_of_the_seeds_and_a_picture_all_of_them(tmp_path: Path) -> None:
    part = replace(part_of("tmrg/fairness"), picture=("mean queue ms", "first Mbit/s"), panels=("RTT",))
    cases = [replace(case, document={**case.document, "duration": "2s", "warmup": "1s"})
             for case in part.cases(Choice(cc=("reno",), quick=True))[:2]]  # fmt: skip
    report = replace(part, cases=lambda choice: cases).run("tmrg", Choice(repeat=3), tmp_path, progress=False)
    assert report.caveats == [] and report.provenance.runs == 6
    snapshots.same_as_kept("suites/seeds", snapshots.of_report(report))


def test_the_queues_are_those_of_the_engine() -> None:
    page = dict(_core.reference())["links"]
    assert {"droptail", "codel", "red", "pie"} <= set(aqm.disciplines())
    assert all(f'kind = "{name}"' in page for name in aqm.disciplines())


def test_the_number_of_flows_follows_from_the_loss() -> None:
    # A window of sqrt(1.5 / 0.01) = 12.2 segments in 100 ms is 1.42 Mbit/s.
    assert [aqm.flows_for(loss) for loss in aqm.LOSSES.values()] == [1, 4, 14]


def test_a_controller_is_written_as_compare_takes_it(dumbbell: Cli, tmp_path: Path) -> None:
    suite, (part,) = suites.find("tmrg/camps")
    report = part.run(suite.name, Choice(["cubic:beta=0.75"], quick=True), tmp_path)
    assert {row[1] for row in report.tables[0].rows} == {"reno", "cubic:beta=0.75"}
    assert sum("beta = 0.75" in text for text in report.provenance.scenarios.values()) == 2
    done = dumbbell("suite", "tmrg/camps", "--quick", "--cc", "cubic,nope", "--out", tmp_path / "out")
    assert (done.status, done.out) == (2, "")
    assert "--cc: unknown algorithm `nope`" in done.err


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


def sampled(t_s: list[float], **columns: list[float]) -> Any:
    """A run whose first link and second flow have these samples."""
    frame = pl.DataFrame({"t_s": t_s, **columns, "link": [0] * len(t_s), "flow": [1] * len(t_s)})
    other = frame.with_columns(pl.col("link") + 7, pl.col("flow") - 1, *(pl.col(name) * 99 for name in columns))
    series = SimpleNamespace(to_polars=lambda: pl.concat([frame, other]))
    return SimpleNamespace(link_series=series, series=series)


def test_deviations_are_those_of_the_samples_of_one_link() -> None:
    link = {"link": 0, "capacity_mbps": 10.0}
    run = sampled([1.0, 2.0, 3.0], queue_bytes=[0.0, 12_500.0, 25_000.0], utilization=[0.2, 0.4, 0.6])
    assert measures.deviations(run, link) == pytest.approx({"sd queue ms": 10.0, "sd throughput Mbit/s": 2.0})
    two = sampled([1.0, 2.0], queue_bytes=[0.0, 12_500.0], utilization=[0.2, 0.4])
    assert measures.deviations(two, link)["sd queue ms"] == pytest.approx(10 / 2**0.5)
    assert measures.deviations(sampled([1.0], queue_bytes=[0.0], utilization=[0.2]), link) == {}


def test_goodput_is_that_of_flows_and_traffic_alike() -> None:
    rows = [{"goodput_mbps": 2.0}, {"goodput_mbps": None}]
    traffic = [{"goodput_mbps": 0.5}]
    run: Any = SimpleNamespace(flows=SimpleNamespace(rows=lambda: rows), traffic=SimpleNamespace(rows=lambda: traffic))
    assert measures.goodput(run) == 2.5


def test_transfers_up_to_10_kb_are_small() -> None:
    frame = pl.DataFrame(
        {"source": [0, 0, 0], "bytes": [9_999, 10_000, 10_001], "fct_s": [0.1, 0.2, 0.9], "measured": [1, 1, 1]}
    )
    run: Any = SimpleNamespace(completions=SimpleNamespace(to_polars=lambda: frame))
    assert measures.completion(run)["p95 FCT ms up to 10 kB"] == pytest.approx(195.0)


def test_a_transient_says_when_the_window_reaches_parts_of_the_bdp() -> None:
    measure = part_of("tmrg/transients").measure
    bdp = 100e6 * 0.1 / 8 / 1500
    windows = [0.5 * bdp] * 5 + [0.6 * bdp] * 5 + [0.8 * bdp] * 5 + [0.85 * bdp]
    times = [round(2.0 + 0.02 * at, 2) for at in range(16)]
    frame = pl.DataFrame({"t_s": [1.98, *times], "cwnd": [5_000.0, *windows], "flow": [0] * 17})
    rows = [
        {"label": "0", "goodput_mbps": 40.0, "network_drops": 1},
        {"label": "2 s: 75 to 0 Mbit/s", "goodput_mbps": 3.0, "network_drops": 12},
    ]
    run: Any = SimpleNamespace(
        flows=SimpleNamespace(rows=lambda: rows), series=SimpleNamespace(to_polars=lambda: frame)
    )
    assert measure(run) == pytest.approx({
        "goodput Mbit/s": 40.0, "to 60 % of BDP s": 0.1, "to 80 % of BDP s": 0.2, "to 90 % of BDP s": None,
        # Window by window of five samples: 0.5, 0.6, 0.8, 0.85.
        "largest change of cwnd in an RTT": 0.2 * bdp,
    })  # fmt: skip
    rows[1]["label"] = "2 s: 0 to 75 Mbit/s"
    assert measure(run) == {"goodput Mbit/s": 40.0, "drops of cross-traffic": 12.0}


def test_a_new_flow_has_ramped_up_when_it_has_received_so_many_bytes() -> None:
    run = sampled([5.0, 6.0, 7.0], goodput_mbps=[0.12, 0.0, 1.08])
    run.flows = SimpleNamespace(rows=lambda: [{"start_s": 0.0}, {"start_s": 4.5}])
    assert part_of("tmrg/ramp-up").measure(run) == {
        "to 1500 * 10^1 B s": 0.5,
        "to 1500 * 10^2 B s": 2.5,
        "to 1500 * 10^3 B s": None,
        "to 1500 * 10^4 B s": None,
    }


def test_the_second_of_two_flows_is_compared_with_the_first() -> None:
    link = {"name": "bottleneck", "capacity_mbps": 8.0, "mean_queue_bytes": 0.0, "p95_queue_bytes": 0.0}
    link |= {"utilization": 0.5, "arrivals": 10, "drops": 0}

    def measured(first: float, second: float) -> Mapping[str, float | None]:
        rows = [{"goodput_mbps": first}, {"goodput_mbps": second}]
        run: Any = SimpleNamespace(
            flows=SimpleNamespace(rows=lambda: rows), links=SimpleNamespace(rows=lambda: [{"name": "access"}, link])
        )
        return part_of("tmrg/fairness").measure(run)

    found = measured(4.0, 2.0)
    assert (found["first Mbit/s"], found["second Mbit/s"], found["second over first"]) == (4.0, 2.0, 0.5)
    assert found["jain"] == pytest.approx(0.9) and found["utilisation %"] == 50.0
    assert measured(0.0, 2.0)["second over first"] is None


def test_marks_and_bursts_are_per_cent_of_what_was_sent() -> None:
    link = {"name": "bottleneck", "capacity_mbps": 8.0, "mean_queue_bytes": 0.0, "p95_queue_bytes": 0.0}
    link |= {"utilization": 0.5, "arrivals": 200, "drops": 1, "marks": 3}
    burst = {"cc": "none", "goodput_mbps": 5.0, "sent": 40, "network_drops": 10, "mean_one_way_delay_ms": 7.0}
    flows = [{"cc": "cubic", "goodput_mbps": 3.0}, burst]
    run: Any = SimpleNamespace(flows=SimpleNamespace(rows=lambda: flows), links=SimpleNamespace(rows=lambda: [link]))
    found = part_of("aqm/bursts").measure(run)
    told = ("goodput Mbit/s", "marks %", "jain", "lost of bursts %", "delay of bursts ms")
    assert [found[name] for name in told] == [3.0, 1.5, None, 25.0, 7.0]
    link["arrivals"], burst["sent"] = 0, 0
    flows.insert(0, {"cc": "reno", "goodput_mbps": 1.0})
    found = part_of("aqm/bursts").measure(run)
    assert [found[name] for name in told] == [4.0, None, pytest.approx(0.8), None, 7.0]


def test_what_is_not_there_is_named(dumbbell: Cli) -> None:
    wrong = dumbbell("suite", "tmgr")
    assert wrong.status == 2 and "did you mean `tmrg`?" in wrong.err
    assert "`aqm` has no part `burst`" in dumbbell("suite", "aqm/burst").err
    listed = dumbbell("suite", "--list")
    assert "tmrg/parking-lot" in listed.out and "aqm/bursts" in listed.out
    for arguments in ((), ("--list",)):
        found = json.loads(dumbbell("suite", *arguments, "--json").out)["suites"]
        assert [one["suite"] for one in found] == [suite.name for suite in suites.suites()]
        parts = {f"{one['suite']}/{part['part']}": part["title"] for one in found for part in one["parts"]}
        assert parts["tmrg/parking-lot"] and parts["aqm/bursts"]
        assert all(one["reference"] and one["title"] for one in found)
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


def test_a_picture_names_few_settings_and_spreads_what_differs_much() -> None:
    def marks(panel: str, many: int, factor: float) -> list[picture.Mark]:
        return [(panel, "reno", f"{at}", [(1.0 + factor * at, 5.0), (2.0, None)]) for at in range(many)]

    drawn = picture.delay_goodput(
        [*marks("a", 16, 1.15), *marks("b", 17, 1.13), *marks("c", 1, 1.0), ("d", "cubic", "", [(None, 1.0)])],
        ("delay", "goodput"),
        algorithms=False,
    )
    a, b, c, d, *rest = drawn.axes
    assert [axes.get_visible() for axes in (a, b, c, d, *rest)] == [True] * 4 + [False] * 2
    assert [len(axes.texts) for axes in (a, b, c, d)] == [16, 0, 1, 0]
    assert [axes.get_xscale() for axes in (a, b, c)] == ["linear", "log", "linear"]
    assert [axes.get_xlabel() for axes in drawn.axes] == ["", "", "", "delay", "delay", "delay"]
    assert [axes.get_ylabel() for axes in drawn.axes] == ["goodput", "", ""] * 2
    assert a.get_xlim()[0] > a.get_xlim()[1]
    low, high = a.get_ylim()
    assert (high - low) / high == pytest.approx(0.12, abs=0.03) and (low + high) / 2 == pytest.approx(5.0)
    assert [text.get_text() for legend in drawn.legends for text in legend.get_texts()] == ["reno", "cubic"]


def test_an_ellipse_needs_three_runs() -> None:
    for runs, count in (([(1.0, 2.0), (2.0, 1.0)], 0), ([(1.0, 2.0), (2.0, 1.0), (3.0, 3.0)], 1)):
        drawn = picture.delay_goodput([("", "bbr", "", runs)], ("delay", "goodput"), algorithms=True)
        assert len(drawn.axes[0].patches) == count
