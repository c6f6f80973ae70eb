"""Zhang's evaluation: what is measured, that the published numbers satisfy the claims, and a part from end to end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest

import altered
import snapshots
from conftest import Cli, QuickPart
from described import described
from dumbbell import api, experiment, papers
from dumbbell.papers.data import published
from dumbbell.papers.runs import jain, ratio
from dumbbell.papers.zhang import (
    STUDY,
    algorithms,
    choices,
    figures,
    measure,
    names,
    table1,
    table3,
    table4,
    table5,
    table7,
)
from dumbbell.papers.zhang.choices import Choice, View
from dumbbell.papers.zhang.measure import Run, Runs, Trace
from dumbbell.papers.zhang.names import ALGORITHMS, CODE, PAPER
from dumbbell.papers.zhang.tables import published_values

SEEDS = 5


def run(
    rates: Sequence[float], loss: float = 0.0, delay_ms: float = 100.0, trace: Trace | None = None, case: str = ""
) -> Run:
    flows = [
        {
            "goodput_mbps": rate * measure.STREAM / measure.PAYLOAD,
            "sent_total": 1,
            "network_drops_total": loss,
            "acks": 1,
            "acks_total": 1,
            "mean_one_way_delay_ms": delay_ms,
        }
        for rate in rates
    ]
    return Run(flows, kept=trace, case=case)


def seeds(rates: Sequence[float], case: str = "") -> list[Run]:
    return [run(rates, case=case)] * SEEDS


def verdicts(found: Sequence[papers.Judgement]) -> dict[str, str]:
    """The verdict under the first choice, which is the study's set-up."""
    return {one.claim.id: one.outcomes[0].verdict for one in found}


# --- what is measured ------------------------------------------------------------------------------------------------


def test_jain_and_ratio_are_those_of_the_published_table() -> None:
    jains, ratios = published_values("table3", "jain"), published_values("table3", "ratio")
    for (label, case), runs in published_table3().items():
        if (label, case) in jains:
            assert jain(runs[0]) == pytest.approx(jains[label, case], abs=0.006)
            assert ratio(runs[0]) == pytest.approx(ratios[label, case], abs=0.011)


def test_a_flow_that_starts_late_has_its_samples_at_their_times() -> None:
    scenario = {
        "duration": "6s",
        "record": {"interval": "1s"},
        "path": {"rate": "5mbit", "rtt": "40ms"},
        "flows": [{"cc": "bbr-dqc"}, {"cc": "bbr-dqc", "start": "3s"}],
    }
    result = api.run(scenario)
    trace = Trace.of(result)
    assert trace.throughput.shape == (2, 6)
    assert (trace.throughput[1, :3] == 0).all()
    assert (trace.throughput[1, 4:] > 0).all()
    at_five = result.series.to_polars().filter((pl.col("t_s") == 5.0) & (pl.col("flow") == 1))
    expected = at_five["received_mbps"].item() * measure.PAYLOAD / measure.WIRE
    assert trace.throughput[1, 4] == pytest.approx(expected)


def test_stages_are_measured_over_the_flows_that_send() -> None:
    t_s = np.arange(1.0, 401.0)
    rates = np.zeros((4, 400))
    rates[0] = rates[1] = 1.0
    trace = Trace(t_s, rates, rates)
    assert trace.jain(50, 80, (0, 1)) == pytest.approx(1)
    assert trace.jain(130, 200, range(4)) == pytest.approx(0.5)
    assert trace.jain(500, 600, (0, 1)) is None
    assert table1.unfairest_stage(run((1.0, 1.0), trace=trace)) == pytest.approx(0.5)


def test_a_fairness_that_is_exactly_the_least_of_a_claim_holds() -> None:
    rates = np.array([[1.0], [1.0], [0.0], [0.0]]).repeat(400, axis=1)
    traced = [run((1.0, 1.0), trace=Trace(np.arange(1.0, 401.0), rates, rates))] * SEEDS
    runs: Runs = {("BBR", case): traced for case in table1.DRAWN}
    for least, held in ((0.5, SEEDS), (0.501, 0)):
        (outcome, *_) = table1.stages("BBR", least)(runs)
        assert (outcome.held, outcome.runs, outcome.ours) == (held, SEEDS, "case 1: lowest 0.50, case 3: lowest 0.50")


def test_a_picture_over_time_shows_the_first_seed_in_a_band_of_all() -> None:
    t_s = np.arange(1.0, 6.0)
    throughput = np.array([[2.0, 2.0, 2.0, 2.0, 2.0], [0.0, 0.0, 1.0, 1.0, 0.0]])
    traces = [Trace(t_s, factor * throughput, 10 * factor * throughput) for factor in (1.0, 1.5)]
    drawn = figures.over_time(dict.fromkeys("abcd", traces), "title", ["one", "other"], capacity=lambda t: t)
    axes = drawn.axes
    assert [one.get_title(loc="left") for one in axes] == ["a", "b", "c", "d"]
    assert [one.get_xlabel() for one in axes] == ["", "", "time (s)", "time (s)"]
    assert [one.get_ylabel() for one in axes] == ["bandwidth estimate (Mbit/s)", ""] * 2
    capacity, first, second = (np.asarray(line.get_ydata(), dtype=float) for line in axes[0].lines)
    # Each sample stands for the second before it.
    assert capacity == pytest.approx(t_s - 0.5) and first == pytest.approx([20.0] * 5)
    assert second == pytest.approx([np.nan, np.nan, 10.0, 10.0, np.nan], nan_ok=True)
    bounds = [band.get_paths()[0].get_extents() for band in axes[0].collections]
    assert [(box.x0, box.x1, box.y0, box.y1) for box in bounds] == [(1, 5, 20, 30), (3, 4, 10, 15)]
    words = [text.get_text() for legend in drawn.legends for text in legend.get_texts()]
    assert words == ["one", "other", "all seeds", "capacity"]


def test_a_picture_of_one_seed_has_no_band_in_its_legend_and_may_show_throughput() -> None:
    trace = Trace(np.arange(1.0, 3.0), np.array([[1.0, 2.0]]), np.array([[9.0, 9.0]]))
    drawn = figures.over_time({"a": [trace]}, "title", ["one"], columns=1, estimate=False)
    (axes,) = drawn.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time (s)", "throughput (Mbit/s)")
    assert np.asarray(axes.lines[0].get_ydata(), dtype=float) == pytest.approx([1.0, 2.0])
    assert [text.get_text() for legend in drawn.legends for text in legend.get_texts()] == ["one"]
    named = figures.over_time({"a": [trace]}, "title", ["one"], columns=1, label="windows")
    assert named.axes[0].get_ylabel() == "windows"


def test_a_choice_falls_back_to_the_study_s_code_where_it_was_not_run() -> None:
    runs: Runs = {
        ("BBR", "1"): seeds([1, 2]),
        ("BBR, startup 2/ln 2", "1"): seeds([1, 3]),
        ("Reno", "1"): seeds([1, 1]),
    }
    view = View(runs, Choice(PAPER, ("1",)))
    assert view.mean("BBR", "1", ratio) == pytest.approx(3)
    assert view.mean("Reno", "1", ratio) == 1
    assert view.ranked(("BBR", "Reno"), "1", ratio, 1) == "Reno 1.0 < BBR 3.0"


def test_a_seed_counts_where_a_claim_holds_in_every_case() -> None:
    runs: Runs = {("BBR", "1"): seeds([1, 2]), ("BBR", "2"): [*seeds([1, 5])[:2], *seeds([1, 2])[:3]]}
    test = choices.everywhere(
        [Choice(CODE, ("1", "2"))],
        ["BBR"],
        lambda found: ratio(found["BBR"]) < 3,
        lambda _: "numbers",
    )
    (outcome,) = test(runs)
    assert (outcome.held, outcome.runs, outcome.ours) == (3, 5, "numbers; in all of 2 cases")


def test_single_published_runs_have_a_margin_of_a_tenth() -> None:
    assert choices.inside(1.4, 1, 1.29)
    assert not choices.inside(1.43, 1, 1.29)
    assert choices.inside(2.05, 2.21, 4.34)
    assert not choices.inside(2.0, 2.21, 4.34)


# --- the published numbers and the claims ----------------------------------------------------------------------------


def published_table3() -> Runs:
    rates: dict[tuple[str, str], list[float]] = {}
    for number in published(names.FOLDER, "table3"):
        if number.metric == "throughput":
            rates.setdefault((number.case["algorithm"], number.case["case"]), []).append(number.value / 1e3)
    runs: Runs = {key: seeds(values, key[1]) for key, values in rates.items()}
    extra: Runs = {
        (f"{algorithm}, N = 1", case): runs[algorithm, case] for algorithm in ("Cubic", "Reno") for case in table3.CASES
    }
    return runs | extra


def test_the_published_numbers_satisfy_the_claims_of_table_3() -> None:
    found = verdicts(table3.PART.judge(published_table3()))
    assert list(found) == [claim.id for claim in table3.PART.claims]
    assert set(found.values()) == {"holds"}
    equal: Runs = {key: seeds([1, 1], key[1]) for key in published_table3()}
    other = verdicts(table3.PART.judge(equal))
    assert [name for name, verdict in other.items() if verdict == "holds"] == ["zha-22", "zha-23", "zha-26"]


def published_table4() -> Runs:
    runs: Runs = {
        key: seeds([value * table4.LINKS[key[1].partition(",")[0]] / 4] * 4, key[1])
        for key, value in published_values("table4", "utilization").items()
    }
    return runs | {("Reno, N = 1", case): runs["Reno", case] for case in table4.CASES}


def test_the_published_numbers_satisfy_the_claims_of_table_4() -> None:
    found = verdicts(table4.PART.judge(published_table4()))
    assert list(found) == [claim.id for claim in table4.PART.claims]
    assert set(found.values()) == {"holds"}
    idle: Runs = {key: seeds([0.1] * 4, key[1]) for key in published_table4()}
    # What uses nothing loses nothing.
    assert {name for name, verdict in verdicts(table4.PART.judge(idle)).items() if verdict == "holds"} == {"zha-32"}


def published_table5(used: float = 1.0) -> Runs:
    values = {name: published_values("table5", name) for name in ("loss", "delay", "utilization")}
    t_s = np.arange(1.0, 401.0)
    runs: Runs = {}
    for algorithm in ALGORITHMS:
        loss, delay, utilisation = (values[name][algorithm, ""] for name in ("loss", "delay", "utilization"))
        for schedule in table5.SCHEDULES:
            capacity = np.array([table5.rate_at(schedule, t - 0.5) for t in t_s])
            rates = np.vstack([capacity, capacity]) / 2 * utilisation * used
            mean = float(capacity.mean()) * utilisation * used
            runs[algorithm, schedule] = [
                run((mean / 2, mean / 2), loss, delay, Trace(t_s, rates, rates), schedule)
            ] * SEEDS
    return runs | {("Reno, N = 1", table5.FIRST): runs["Reno", table5.FIRST]}


def test_the_published_numbers_satisfy_the_claims_of_table_5() -> None:
    found = verdicts(table5.PART.judge(published_table5()))
    assert list(found) == [claim.id for claim in table5.PART.claims]
    assert set(found.values()) == {"holds"}
    slow = verdicts(table5.PART.judge(published_table5(0.7)))
    assert {name for name, verdict in slow.items() if verdict == "fails"} == {"zha-41", "zha-42"}


def test_fair_flows_starve_nobody_in_table_7() -> None:
    fair: Runs = {(label, case): seeds([1, 1, 1, 1]) for label in names.BBR_LIKE for case in table7.CASES}
    found = verdicts(table7.PART.judge(fair))
    assert list(found) == [claim.id for claim in table7.PART.claims]
    assert [name for name, verdict in found.items() if verdict == "holds"] == ["zha-45", "zha-46", "zha-47"]
    starved: Runs = {key: seeds([2, 2, 0.1, 0.1]) for key in fair}
    harsh = verdicts(table7.PART.judge(starved))
    assert [name for name, verdict in harsh.items() if verdict == "holds"] == ["zha-43", "zha-44", "zha-49"]


@pytest.mark.parametrize("part", [table3, table4, table5, table7])
def test_the_claims_say_of_other_numbers_what_is_kept(part: ModuleType) -> None:
    measured: dict[str, Runs] = {
        "table3": published_table3(),
        "table4": published_table4(),
        "table5": published_table5(),
        "table7": {(label, case): seeds([2, 2, 1, 1]) for label in names.BBR_LIKE for case in table7.CASES},
    }
    of = {key: runs[:1] for key, runs in measured[part.PART.name].items()}
    altered.same_as_kept(f"zhang-{part.PART.name}-published", part.PART, of, 90)


def test_the_picture_of_two_seeds_is_what_is_kept() -> None:
    altered.pictures_as_kept("zhang-table5", table5.PART, {key: runs[:1] for key, runs in published_table5().items()})


def test_every_claim_of_the_study_is_judged_once() -> None:
    ids = [claim.id for part in STUDY.parts for claim in part.claims]
    assert sorted(ids) == [f"zha-{number:02}" for number in range(1, 53)]


# --- experiment files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "points"),
    [
        (algorithms, [10]),
        (table1, [480, 90, 120, 15]),
        (table3, [720, 360]),
        (table4, [700, 60, 50, 225]),
        (table5, [280, 40]),
        (table7, [270]),
    ],
)
def test_the_experiment_files_are_valid(part: ModuleType, points: list[int]) -> None:
    assert [len(experiment.load(one.file).points) for one in part.PART.experiments] == points


def test_published_numbers_have_units_and_sources() -> None:
    counts = {"table1": 3, "table3": 288, "table4": 120, "table5": 24, "table7": 108}
    for part, count in counts.items():
        numbers = published(names.FOLDER, part)
        assert len(numbers) == count
        assert all(number.unit and number.source for number in numbers)


# --- from end to end -------------------------------------------------------------------------------------------------


def test_cycles_are_seen_as_written(dumbbell: Cli, tmp_path: Path) -> None:
    done = dumbbell("reproduce", "zhang/algorithms", "--repeat", 1, "--json", "--out", tmp_path)
    assert (done.status, done.err) == (0, "")
    (part,) = json.loads(done.out)["parts"]
    assert [(claim["id"], claim["verdict"]) for claim in part["claims"]] == [("zha-51", "holds"), ("zha-52", "holds")]
    (table,) = part["tables"]
    plus = next(row for row in table["rows"] if row["algorithm"] == "BBRPlus")
    assert 1.95 < plus["cycle: least"] < 2.2
    assert 4.5 < plus["cycle: mean"] < 5.5


def test_quick_table_5_from_end_to_end(dumbbell: Cli, tmp_path: Path) -> None:
    done = dumbbell("reproduce", "zhang/table5", "--quick", "--json", "--html", "--out", tmp_path)
    assert (done.status, done.err) == (0, "")
    (part,) = json.loads(done.out)["parts"]
    assert [claim["id"] for claim in part["claims"]] == [claim.id for claim in table5.PART.claims]
    assert any("Shortened" in caveat for caveat in part["caveats"])
    first = part["tables"][0]["rows"][0]
    assert (first["algorithm"], first["delay: published"]) == ("BBR", 170.21)
    assert first["delay: ratio"] == pytest.approx(first["delay: ours"] / 170.21)
    assert (tmp_path / "fig13.svg").stat().st_size > 1000
    assert "zha-38" in (tmp_path / "zhang.html").read_text()


def test_a_clock_of_milliseconds_keeps_reno_s_flows_from_locking_to_the_queue() -> None:
    """Table 3, case 4: with an exact clock the drop-tail queue favours the longer path, against the study's table."""

    def link(name: str, ends: str, rate: str, delay: str, buffer: str) -> dict[str, str]:
        nodes = {"name": name, "from": ends[:2], "to": ends[2:], "reverse": "symmetric"}
        return nodes | {"rate": rate, "delay": delay, "buffer": buffer}

    def shorter_over_longer(resolution: str, interval: str) -> float:
        quic = {"clock_resolution": resolution, "poll_interval": interval}
        scenario: dict[str, Any] = {
            "duration": "60s",
            "transport": {"profile": "dqc", "mss": 990, "quic": quic},
            "links": [
                link("l1", "n0n2", "100mbit", "10ms", "1875000B"),
                link("l3", "n3n4", "100mbit", "10ms", "1875000B"),
                link("l4", "n1n2", "100mbit", "20ms", "1875000B"),
                link("l5", "n3n5", "100mbit", "20ms", "1875000B"),
                link("l2", "n2n3", "6mbit", "10ms", "112500B"),
            ],
            "flows": [{"cc": "reno", "from": "n0", "to": "n4"}, {"cc": "reno", "from": "n1", "to": "n5"}],
        }
        shorter, longer = api.run(scenario).flows.to_polars()["goodput_mbps"].to_list()
        return float(shorter / longer)

    assert shorter_over_longer("1ms", "500us") > 1.1
    assert shorter_over_longer("0s", "0s") < 0.95


@pytest.mark.parametrize("part", ["table1", "table3", "table4", "table5", "table7"])
def test_a_quick_part_from_end_to_end(quick_part: QuickPart, part: str) -> None:
    quick_part("zhang", part, 5_000)


# --- bounds ----------------------------------------------------------------------------------------------------------


def test_means_over_time_begin_after_their_start_and_end_with_their_end() -> None:
    trace = Trace(np.array([1.0, 2.0, 3.0, 4.0]), np.array([[1.0, 2.0, 3.0, 9.0]]), np.array([[5.0, 1.0, 3.0, 9.0]]))
    rates = trace.mean_rates(1.0, 3.0)
    assert rates is not None and rates.tolist() == [2.5]
    assert trace.mean_rates(4.0, 9.0) is None and trace.jain(4.0, 9.0, [0]) is None
    assert trace.variation(1.0, 3.0) == pytest.approx(0.5**0.5) and trace.variation(4.0) == 0.0
    two = Trace(trace.t_s, np.vstack([trace.throughput] * 2), np.vstack([trace.estimate, np.ones((1, 4))]))
    assert two.variation(1.0, 3.0) == pytest.approx(0.5**0.5 / 2)
    assert two.variation(1.0, 3.0, 1) == pytest.approx(0.5**0.5)


def test_a_delay_is_the_mean_over_packets() -> None:
    flows: list[dict[str, Any]] = [{"mean_one_way_delay_ms": 100.0, "acks": 3, "acks_total": 3},
             {"mean_one_way_delay_ms": 20.0, "acks": 1, "acks_total": 1},
             {"mean_one_way_delay_ms": None, "acks": 0, "acks_total": 0}]  # fmt: skip
    assert measure.delay(Run(flows)) == 80.0
    assert measure.delay(Run(flows[2:])) == 0.0


def test_an_overshoot_is_the_highest_estimate_of_the_first_ten_seconds_over_the_fair_share() -> None:
    t_s = np.arange(1.0, 201.0)
    estimate = np.zeros((4, 200))
    estimate[1, 39], estimate[1, 40], estimate[1, 49], estimate[1, 50] = 90.0, 1.0, 4.0, 99.0
    one = run((1.0,) * 4, trace=Trace(t_s, estimate, estimate))
    full = 5.0 * measure.PAYLOAD / measure.WIRE
    assert table1.overshoot(1)(one) == pytest.approx(4.0 / (full / 2))
    estimate[3, 120] = 2.0
    assert table1.overshoot(3)(one) == pytest.approx(2.0 / (full / 4))
    assert table1.overshoot(0)(one) == 0.0
    without = run((1.0,))
    of = (table1.overshoot(0), table1.together, table1.late_jain, table1.unfairest_stage, table1.variation)
    assert [value(without) for value in of] == [0.0] * 5
    rates = np.ones((4, 200))
    rates[0, :150] = 3.0
    traced = run((1.0,) * 4, trace=Trace(t_s, rates, rates))
    assert table1.late_jain(traced) == pytest.approx(1.0) and table1.together(traced) < 0.95


def test_a_claim_about_every_case_says_where_it_fails_for_half_of_the_seeds() -> None:
    def told(good: int, of: int) -> str:
        found: Runs = {
            ("BBR", "1"): [*seeds([1, 2])[:good], *seeds([1, 5])[: of - good]],
            ("BBR", "2"): seeds([1, 2])[:of],
        }
        test = choices.everywhere(
            [Choice(CODE, ("1", "2"))], ["BBR"], lambda found: ratio(found["BBR"]) < 3, lambda _: ""
        )
        return test(found)[0].ours

    assert told(1, 2) == "fails in 1" and told(2, 3) == "in all of 2 cases"


def test_a_choice_has_the_seeds_that_all_its_cases_have() -> None:
    runs: Runs = {("BBR", "1"): seeds([1, 2])[:2], ("BBR", "2"): seeds([1, 2]), ("BBR", "3"): seeds([1, 2])[:1]}
    view = View(runs, Choice(CODE, ("1", "2")))
    assert len(view.seeds) == 2 and (view.case, view.seeds[0].case) == ("1", "1")
    assert view.range(["BBR"], ["1", "2"], ratio) == "2.00"
    runs["Reno", "1"] = seeds([2, 4])
    equal = choices.below([Choice(CODE, ("1",))], ["BBR"], ["Reno"], "1", ratio, 1)(runs)[0]
    assert (equal.held, equal.ours) == (0, "BBR 2.0 < Reno 2.0")


def test_bounds_of_cycles_are_those_of_the_algorithm() -> None:
    def cycles(cycle: list[float], probing: list[float], left: list[float]) -> algorithms.Cycles:
        return {algorithms.CYCLE: cycle, algorithms.PROBING: probing, algorithms.LEFT: left}

    good = cycles([2.0, 8.0], [1.0], [2.0])
    assert algorithms.as_written(good) and algorithms.drains(good)
    wrong = [cycles([1.9], [1.0], [2.0]), cycles([8.5], [1.0], [2.0]), cycles([4.0], [0.95], [2.0]),
             cycles([4.0], [1.0], [2.1]),
             cycles([], [1.0], [2.0]), cycles([4.0], [1.0], [])]  # fmt: skip
    assert not any(map(algorithms.as_written, wrong))
    nearly = cycles([2 / 1.05, 8 * 1.05], [1 / 1.05], [2.0])
    assert algorithms.as_written(nearly)
    assert algorithms.left([wrong[5]]) == "at most 0.0 packets above the BDP after a drain"
    assert algorithms.lasted([good, good]) == "cycles of 2.0 to 8.0, at most 2.0 packets above the BDP after a drain"
    assert algorithms.lasted([wrong[4]]).startswith("at most 2.0")


def test_cycles_are_read_off_gains() -> None:
    columns = ["t_s", "mode", "cc_pacing_gain", "cc_min_rtt_ms", "cc_max_bw_mbps", "inflight"]
    bdp_8 = 8 * 990 * 8 / 100 / 1e3
    course = [
        (0.0, "startup", 1.25, 9), (0.1, "probe_bw", 1.0, 9), (0.2, "probe_bw", 1.25, 9), (0.3, "probe_bw", 1.25, 9),
        (0.4, "probe_bw", 0.75, 9), (0.5, "probe_bw", 1.0, 11), (0.7, "probe_bw", 1.25, 9), (0.8, "probe_rtt", 1.0, 4),
        (0.9, "probe_bw", 1.25, 9), (1.0, "probe_bw", 0.75, 9), (1.1, "probe_bw", 1.25, 9), (1.4, "probe_bw", 1.0, 9),
        (1.5, "probe_bw", 1.25, 9),
    ]  # fmt: skip
    samples = [(t_s, mode, gain, 100.0, bdp_8, flying) for t_s, mode, gain, flying in course]
    found = algorithms.cycles(pl.DataFrame(samples, schema=columns, orient="row"))
    assert found[algorithms.CYCLE] == pytest.approx([5.0, 4.0])
    assert found[algorithms.PROBING] == pytest.approx([2.0])
    assert found[algorithms.LEFT] == pytest.approx([3.0])


def test_the_rate_of_a_schedule_starts_again_at_its_end() -> None:
    rates = [table5.rate_at("1, 2, 3, 4", t_s) for t_s in (0.0, 49.9, 50.0, 199.9, 200.0)]
    assert rates == [1.0, 1.0, 2.0, 4.0, 1.0]
    t_s = np.arange(1.0, 201.0)
    capacity = np.array([table5.rate_at(table5.FIRST, t - 0.5) for t in t_s])
    capacity[100:150] *= 0.5
    capacity[:50] = 0.0
    one = run((2.5 / 2, 2.5 / 2), trace=Trace(t_s, capacity[None, :], capacity[None, :]), case=table5.FIRST)
    assert table5.slowest_interval(one) == pytest.approx(0.5)
    assert table5.utilisation(one) == pytest.approx(1.0)
    short = run((1.0,), trace=Trace(t_s[:40], capacity[None, :40], capacity[None, :40]), case=table5.FIRST)
    assert table5.slowest_interval(short) == 0.0


def held(part: papers.Part[Any], claim: str, runs: Runs) -> int:
    """In how many seeds a claim holds under the study's choice."""
    return next(one for one in part.claims if one.id == claim).test(runs)[0].held


def test_bounds_of_sharing_with_cubic() -> None:
    def of(rates: Sequence[float]) -> Runs:
        return {(label, case): seeds(rates, case)[:1] for label in names.BBR_LIKE for case in table7.CASES}

    assert [held(table7.PART, "zha-43", of([5.0, 5.0, 5.0, slowest])) for slowest in (1.0, 1.01)] == [1, 0]
    # Two of one rate beside two of another.
    for claim, bounds in {
        "zha-44": ((0.66, 1), (0.68, 0)), "zha-45": ((0.961, 1), (0.959, 0)),
        "zha-46": ((0.931, 1), (0.929, 0)), "zha-47": ((0.911, 1), (0.909, 0)),
    }.items():  # fmt: skip
        for index, expected in bounds:
            off = (1 / index - 1) ** 0.5
            rates = [1 + off, 1 + off, 1 - off, 1 - off]
            assert jain(run(rates)) == pytest.approx(index)
            assert held(table7.PART, claim, of(rates)) == expected
    # One flow beside three that are equal.
    for claim, most in (("zha-45", 1.51), ("zha-46", 1.73), ("zha-47", 1.94)):
        for factor, expected in ((1.09, 1), (1.11, 0)):
            assert held(table7.PART, claim, of([1.0, 1.0, 1.0, 1 / (most * factor)])) == expected
    assert [held(table7.PART, "zha-49", of([1.0, 1.0, 1.0, other])) for other in (0.99, 1.0)] == [1, 0]
    assert table7.share(run([1.0, 2.0, 3.0, 4.0])) == pytest.approx(0.3)


def test_jains_index_recovers_with_the_queue() -> None:
    def of(shallow: float, middle: float, deep: float) -> int:
        rates = dict.fromkeys(table7.CASES, 1.0)
        rates |= (
            dict.fromkeys(table7.SHALLOW, shallow)
            | dict.fromkeys(table7.MIDDLE, middle)
            | dict.fromkeys(table7.DEEP, deep)
        )
        runs: Runs = {
            (label, case): seeds([1.0, 1.0, rate, rate], case)[:1]
            for label in names.BBR_LIKE
            for case, rate in rates.items()
        }
        return held(table7.PART, "zha-48", runs)

    assert of(0.2, 0.5, 1.0) == 1 and of(0.5, 0.5, 1.0) == 0 and of(0.2, 1.0, 0.8) == 1 and of(0.2, 1.0, 0.7) == 0


def used_of_links(rates: dict[str, float], default: float) -> Runs:
    """Four flows that together use so much of every link, by algorithm or algorithm and loss."""
    runs: Runs = {}
    for name in table4.TABLE:
        for case in table4.CASES:
            link, _, loss = case.partition(", ")
            used = rates.get(f"{name} {loss}", rates.get(name, default))
            runs[name, case] = seeds([used * table4.LINKS[link] / 4] * 4, case)[:1]
    return runs


@pytest.mark.parametrize(
    ("claim", "names_", "loss", "bounds"),
    [
        ("zha-30", ["Reno"], "0%", ((0.899, 0), (0.901, 1))),
        ("zha-31", ["Cubic"], "0%", ((0.954, 0), (0.956, 1), (0.984, 1), (0.986, 0))),
        ("zha-31", ["BBR'"], "0%", ((0.924, 0), (0.926, 1), (0.964, 1), (0.966, 0))),
        ("zha-33", ["BBR"], "5%", ((0.879, 0), (0.881, 1))),
        ("zha-32", ["BBRPlus"], "5%", ((0.894, 0), (0.896, 1))),
    ],
)
def test_bounds_of_use_with_random_loss(
    claim: str, names_: Sequence[str], loss: str, bounds: tuple[tuple[float, int], ...]
) -> None:
    for used, expected in bounds:
        runs = used_of_links({f"{name} {loss}": used for name in names_}, 0.96)
        assert held(table4.PART, claim, runs) == expected


def test_bounds_of_cells_with_random_loss() -> None:
    def off(cell: tuple[str, str], by: float) -> Runs:
        runs = used_of_links({}, 0.9)
        for name, case in (*table4.LONG, *table4.BRIEF, *table4.ONE_PERCENT):
            used = table4.THEIRS[name, case] + (by if (name, case) == cell else 0.0)
            runs[name, case] = seeds([used * table4.LINKS[case.partition(",")[0]] / 4] * 4, case)[:1]
        return runs

    for claim, cells, margin in (
        ("zha-34", table4.LONG, 0.1), ("zha-35", table4.BRIEF, 0.05), ("zha-37", table4.ONE_PERCENT, 0.1)
    ):  # fmt: skip
        for cell in cells:
            for by, expected in ((margin - 0.001, 1), (0.001 - margin, 1), (margin + 0.001, 0), (-0.001 - margin, 0)):
                assert held(table4.PART, claim, off(cell, by)) == expected
    for slow, expected in ((0.49, 1), (0.5, 0)):
        runs = used_of_links({"Cubic": slow, "Reno": 0.4, "BBRv2": 0.5}, 0.9)
        assert held(table4.PART, "zha-36", runs) == expected


def of_table3(rates: Mapping[str, Sequence[float]]) -> Runs:
    """Rates of two flows over a link of one Mbit/s, by algorithm and, in front of it, by case."""
    known: dict[str, Sequence[float]] = {
        name: [0.55, 0.42] if name in names.OTHERS else [0.55, 0.4] for name in ALGORITHMS
    }
    known |= rates
    return {
        (name, case): seeds([table3.RATES[case] * rate for rate in known.get(f"{case} {name}", known[name])], case)[:1]
        for name in ALGORITHMS
        for case in table3.CASES
    }


@pytest.mark.parametrize(
    ("claim", "name", "low", "high"),
    [("zha-24", "Tsunami", 1.84, 4.36), ("zha-25", "BBR+", 1.26, 1.99), ("zha-26", "BBRv2", 0.0, 1.48),
     ("zha-28", "Reno", 1.13, 1.41), ("zha-22", "BBR'", 0.0, 1.29), ("zha-22", "BBRPlus", 0.0, 1.29)],
)  # fmt: skip
def test_bounds_of_ratios_with_their_margin(claim: str, name: str, low: float, high: float) -> None:
    fair = {other: [1.0, 1.0] for other in ("BBR'", "BBRPlus") if other != name}
    bounds = [(1.09 * high, 1), (1.11 * high, 0)]
    if low:
        bounds += [(low / 1.09, 1), (low / 1.11, 0)]
    for value, expected in bounds:
        assert held(table3.PART, claim, of_table3(fair | {name: [max(value, 1.0), 1.0]})) == expected


def test_bounds_of_two_flows_with_different_round_trips() -> None:
    for second, expected in ((2.21 / 1.09, 1), (2.21 / 1.11, 0), (4.34 * 1.09, 1), (4.34 * 1.11, 0)):
        assert held(table3.PART, "zha-19", of_table3({"BBR": [1.0, second]})) == expected
    assert held(table3.PART, "zha-19", of_table3({"BBR": [3.0, 1.0]})) == 0
    assert [held(table3.PART, "zha-20", of_table3({"7 BBR": [1.0, ratio_]})) for ratio_ in (4.0, 4.01)] == [0, 1]
    falling = {f"{case} BBR": [1.0, 5.0 - at] for group in table3.GROUPS for at, case in enumerate(group)}
    assert held(table3.PART, "zha-21", of_table3(falling)) == 1
    assert held(table3.PART, "zha-21", of_table3(falling | {"9 BBR": [1.0, 4.0]})) == 0
    assert [held(table3.PART, "zha-27", of_table3({"Reno": [rate, 1.0]})) for rate in (1.0, 1.1)] == [0, 1]
    for index, expected in ((0.961, 1), (0.959, 0)):
        off = (1 / index - 1) ** 0.5
        assert held(table3.PART, "zha-23", of_table3({"BBR'": [1 + off, 1 - off], "BBRPlus": [1.0, 1.0]})) == expected
    for name, used, expected in (
        ("BBR", 0.934, 0), ("BBR", 0.936, 1), ("BBR", 0.964, 1), ("BBR", 0.966, 0),
        ("Cubic", 0.964, 0), ("Cubic", 0.966, 1),
    ):  # fmt: skip
        assert held(table3.PART, "zha-29", of_table3({name: [used / 2, used / 2]})) == expected


def of_table5(
    used: dict[str, float], lost: dict[str, float] | None = None, delays: dict[str, float] | None = None
) -> Runs:
    """Two flows under every schedule: what they use of the link, lose, and their delays."""
    t_s = np.arange(1.0, 401.0)
    capacity = np.array([table5.rate_at(table5.FIRST, t - 0.5) for t in t_s])
    runs: Runs = {}
    for at, name in enumerate(table5.ORDER):
        share = used.get(name, 0.97 if name in names.OTHERS else 0.95)
        rates = np.vstack([capacity, capacity]) / 2 * share
        rate = float(capacity.mean()) * share / 2
        loss = (lost or {}).get(name, 0.02 if name in ("Cubic", "Reno") else 0.005)
        delay = (delays or {}).get(name, 100.0 + 10 * at)
        one = run((rate, rate), loss, delay, Trace(t_s, rates, rates), table5.FIRST)
        runs |= {(name, schedule): [one] for schedule in table5.SCHEDULES}
    return runs


def test_bounds_while_the_rate_changes() -> None:
    for name, used, expected in (
        ("BBR", 0.934, 0), ("BBR", 0.936, 1), ("BBR", 0.964, 1), ("BBR", 0.966, 0),
        ("Reno", 0.954, 0), ("Reno", 0.956, 1), ("Reno", 0.984, 1), ("Reno", 0.986, 0),
    ):  # fmt: skip
        assert held(table5.PART, "zha-41", of_table5({name: used})) == expected
    assert [held(table5.PART, "zha-42", of_table5({"Tsunami": used})) for used in (0.79, 0.81)] == [0, 1]
    assert [held(table5.PART, "zha-39", of_table5({}, {"BBRv2": lost})) for lost in (0.0099, 0.01)] == [1, 0]
    assert [held(table5.PART, "zha-40", of_table5({}, {"Reno": lost})) for lost in (0.0051, 0.005)] == [1, 0]
    delays = [({}, 1), ({"Tsunami": 145.0}, 1), ({"BBRv2": 140.0}, 0), ({"BBR'": 110.0}, 0), ({"Tsunami": 120.0}, 0)]
    assert [held(table5.PART, "zha-38", of_table5({}, None, of)) for of, _ in delays] == [one for _, one in delays]


def of_table1(case: str = "", losses: dict[str, float] | None = None, delays: dict[str, float] | None = None) -> Runs:
    """Four flows of each algorithm; in a case some lose more, or have other delays."""
    runs: Runs = {}
    for at, name in enumerate(("BBR'", "BBRPlus", "BBR", "Tsunami", "BBR+", "BBRv2", "Cubic", "Reno")):
        for one in (*table1.CASES, table1.CASE_8_OF_THE_CODE):
            own = case in ("", one)
            loss = (losses or {}).get(name, 0.01 * at) if own else 0.01 * at
            delay = (delays or {}).get(name, 100.0 + 10 * at) if own else 100.0 + 10 * at
            runs[name, one] = [run((1.0,) * 4, loss, delay, case=one)]
    return runs


@pytest.mark.parametrize(
    ("claim", "case", "losses", "delays", "expected"),
    [
        ("zha-01", "1", {"BBR": 0.0674}, {}, 0), ("zha-01", "1", {"BBR": 0.0676}, {}, 1),
        ("zha-01", "1", {"BBR": 0.1124}, {}, 1), ("zha-01", "1", {"BBR": 0.1126}, {}, 0),
        ("zha-02", "3", {"BBR": 0.02}, {}, 0), ("zha-02", "3", {"BBR": 0.021}, {}, 1),
        ("zha-05", "", {}, {}, 1), ("zha-05", "9", {}, {"Reno": 100.0}, 0),
        ("zha-06", "", {}, {}, 1), ("zha-06", "9", {}, {"BBR": 110.0}, 0), ("zha-06", "9", {}, {"BBR'": 115.0}, 1),
        ("zha-07", "", {}, {}, 1), ("zha-07", "4", {"BBR": 0.0}, {}, 0),
        ("zha-08", "4", {"BBRPlus": 0.02}, {}, 1), ("zha-08", "4", {"BBRPlus": 0.021}, {}, 0),
        ("zha-13", "", {"Tsunami": 0.08}, {}, 1), ("zha-13", "2", {"Tsunami": 0.07}, {}, 0),
        ("zha-14", "", {}, {}, 1), ("zha-14", "2", {}, {"Tsunami": 120.0}, 0),
        ("zha-17", "2", {}, {"BBRv2": 119.0}, 1), ("zha-17", "2", {}, {"BBRv2": 120.0}, 0),
        ("zha-17", "2", {}, {"BBRv2": 100.0}, 0), ("zha-17", "", {}, {"BBRv2": 101.0}, 1),
        ("zha-18", "", {}, {}, 1), ("zha-18", "2", {}, {"BBRv2": 160.0}, 0), ("zha-18", "2", {}, {"Reno": 150.0}, 0),
    ],
)  # fmt: skip
def test_bounds_of_four_flows(
    claim: str, case: str, losses: dict[str, float], delays: dict[str, float], expected: int
) -> None:
    runs = of_table1(case, losses, delays)
    if claim == "zha-13" and case:
        others = of_table1("", {"Tsunami": 0.08})
        runs = {key: runs[key] if key[1] == case else others[key] for key in runs}
    assert held(table1.PART, claim, runs) == expected


def test_a_picture_by_case_spans_all_seeds() -> None:
    runs = {key: [*of, replace(of[0], flows=[{**flow, "mean_one_way_delay_ms": 150.0} for flow in of[0].flows])]
            for key, of in of_table1().items()}  # fmt: skip
    drawn = figures.by_case(runs, table1.CASES[:3], measure.delay, "delay (ms)", "Title")
    snapshots.same_as_kept("pictures/zhang-by-case", described(drawn))
