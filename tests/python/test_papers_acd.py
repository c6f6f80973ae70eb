"""BBR-ACD's study: its metrics, its claims, and the command."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import altered
from conftest import Cli, QuickPart
from dumbbell import experiment, papers
from dumbbell.papers.bbr_acd import alpha, fig1, figures, forms, rule, simulation, table2, valley
from dumbbell.papers.bbr_acd.table2 import BASE, RTTS, SCENARIOS
from dumbbell.papers.runs import Run, loss, retransmitted


def counted(totals: dict[str, float], kept: object, duration_s: float) -> Run:
    return Run([totals], kept=kept, duration_s=duration_s)


def two_senders(
    rates: list[tuple[float, float]], sent: int = 240_000, retransmitted: int = 0, lost: float = 0.0
) -> Run:
    import polars as pl

    rows = [
        (second + 1, label, rate, rate, lost)
        for second, pair in enumerate(rates)
        for label, rate in zip(("S1", "S2"), pair, strict=True)
    ]
    frame = pl.DataFrame(rows, schema=["t_s", "label", "sent", "arrived", "lost"], orient="row")
    return counted({"sent_total": sent, "retransmits_total": retransmitted}, frame, float(len(rates)))


def meeting(after_s: int) -> list[tuple[float, float]]:
    """Sender 2 starts at 55 s and has its share ``after_s`` later."""
    return [(800.0, 0.0)] * 55 + [(700.0, 100.0)] * after_s + [(410.0, 390.0)] * (300 - 55 - after_s)


def test_shares_are_equal_when_rates_stay_close_for_ten_seconds() -> None:
    assert table2.settled(two_senders(meeting(40))) == 40
    assert math.isnan(table2.settled(two_senders(meeting(245))))
    brief = meeting(100)
    brief[80:89] = [(400.0, 400.0)] * 9
    assert table2.settled(two_senders(brief)) == 100
    # Before the last flow has started nothing is an equilibrium.
    assert table2.settled(two_senders([(400.0, 400.0)] * 300)) == 4


def test_senders_that_never_share_equally_are_counted_in_the_words_of_the_claim() -> None:
    cases = as_published()
    cases[BASE, RTTS[0], "1"] = [two_senders(meeting(after)) for after in (30, 245)]
    judged = next(one for one in table2.PART.judge(cases) if one.claim.id == "acd-03")
    words = {one.ours: (one.held, one.runs) for one in judged.outcomes}
    assert words["30 (1 never)"] == (1, 2)


def test_throughput_and_goodput_follow_the_papers_formula() -> None:
    run = two_senders(meeting(30), sent=228_826, retransmitted=9_990)
    assert table2.throughput(run) == pytest.approx(9.227, abs=0.002)
    assert table2.goodput(run) == pytest.approx(8.824, abs=0.002)


def as_published() -> dict[tuple[str, ...], list[Run]]:
    theirs = forms.published_values("table2")
    cases: dict[tuple[str, ...], list[Run]] = {}
    for cc in (BASE, *forms.FORMS):
        key = "bbr" if cc == BASE else "bbr-acd"
        for scenario in SCENARIOS.values():
            of = {metric: theirs[scenario, key, metric] for metric in
                  ("total_transmitted", "total_retransmitted", "equilibrium_time")}  # fmt: skip
            run = two_senders(
                meeting(int(of["equilibrium_time"])), int(of["total_transmitted"]), int(of["total_retransmitted"]), 1.5
            )
            for rtt in RTTS:
                cases[cc, rtt, scenario] = [run] * 2
    return cases


def test_the_published_numbers_satisfy_the_claims_that_table_2_supports() -> None:
    found = {one.claim.id: one.outcomes[0].verdict for one in table2.PART.judge(as_published())}
    assert list(found) == [claim.id for claim in table2.CLAIMS]
    # The text contradicts the table in 2, 15 and 16; figures 3 and 9 (10, 11) are not numbers.
    contradicted = {"acd-02": "fails", "acd-15": "fails", "acd-10": "fails"}
    assert found == dict.fromkeys(found, "holds") | contradicted


def test_losses_must_come_in_bursts_at_both_startups() -> None:
    def verdict(first: float, second: float) -> str:
        cases = {
            key: [with_bursts(run, first, second) for run in runs] if key[2] == "3" else runs
            for key, runs in as_published().items()
        }
        return next(one.verdict for one in table2.PART.judge(cases) if one.claim.id == "acd-10")

    assert verdict(200.0, 200.0) == "holds"
    assert verdict(1.5, 1.5) == "fails"
    assert verdict(200.0, 1.5) == "fails"
    assert verdict(1.5, 200.0) == "fails"


@pytest.mark.parametrize(("last", "holds"), [(8.0, True), (12.0, False)])
def test_a_last_second_is_as_good_as_a_last_minute_to_say_what_is_lost_without_bursts(last: float, holds: bool) -> None:
    import polars as pl

    run = with_bursts(two_senders(meeting(30)[:91]), 10.0, 10.0)
    steady = pl.when(pl.col("t_s") == 91).then(last).otherwise(pl.col("lost")).alias("lost")
    assert table2.bursts(replace(run, kept=run.kept.with_columns(steady))) is holds


@pytest.mark.parametrize(("base", "form", "holds"), [(100, 50, True), (100, 66, False), (100, 39, False)])
def test_half_of_the_retransmissions_is_from_four_to_six_and_a_half_tenths(
    base: float, form: float, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table2, "retransmitted", lambda run: run)
    pair: Any = (base, form)
    assert table2.half(pair) is holds


def with_bursts(run: Run, first: float, second: float) -> Run:
    """Losses a second while the first and the second sender start."""
    import polars as pl

    lost = (
        pl.when(pl.col("t_s") <= 5).then(first).when(pl.col("t_s").is_between(56, 60)).then(second).otherwise(1.5)
    ).alias("lost")
    return replace(run, kept=run.kept.with_columns(lost))


def test_the_rule_is_judged_by_recoveries() -> None:
    def recovery(before: float, first: float, lowest: float, rtt: float) -> rule.Recovery:
        return rule.Recovery(before, first, lowest, before, rtt)

    once = {"full queue": [recovery(60, 30, 30, 2.4)] * 5, "random loss": [recovery(60, 59, 59, 1.1)] * 5}
    always = {"full queue": [recovery(60, 30, 4, 2.4)] * 5, "random loss": [recovery(60, 30, 4, 1.1)] * 5}
    runs = {(cc, case): (always if cc == "bbr-acd-ns3" else once)[case] for cc in forms.FORMS for case in once}
    detects, reacts = rule.PART.judge(runs)
    assert {o.choice: o.verdict for o in detects.outcomes if o.verdict == "fails"} == {
        "ns3, random loss, RTT below": "fails"
    }
    assert {o.choice: o.verdict for o in reacts.outcomes} == {
        "kernel, cuts": "holds", "paper, cuts": "holds", "ns3, cuts": "fails",
    }  # fmt: skip


def simulated(unique: float, duplicates: int, timeouts: int = 5, jain: float = 0.9) -> Run:
    totals = {
        "sent_total": 80_000,
        "delivered_bytes_total": unique * 476,
        "duplicates_total": duplicates,
        "network_drops_total": 1_000,
        "rto_count_total": timeouts,
    }
    return counted(totals, simulation.Course(jain, 4.0), 299.2)


def published_simulation() -> dict[tuple[str, ...], list[Run]]:
    cases: dict[tuple[str, ...], list[Run]] = {
        (simulation.BASE, setup): [simulated(39_645, 28_775)] for setup in simulation.SETUPS
    }
    for form in forms.FORMS:
        cases |= {(form, setup): [simulated(68_013, 2_311, 1, 0.99)] for setup in simulation.SETUPS}
    return cases


def test_the_claims_say_of_other_numbers_what_is_kept() -> None:
    once = {case: runs[:1] for case, runs in as_published().items()}
    altered.same_as_kept("bbr-acd-table2-published", table2.PART, once, 30)
    altered.same_as_kept("bbr-acd-simulation-published", simulation.PART, published_simulation())


def test_the_published_counts_satisfy_the_claims_of_the_simulation() -> None:
    found = {one.claim.id: one.verdict for one in simulation.PART.judge(published_simulation())}
    assert found == dict.fromkeys((claim.id for claim in simulation.CLAIMS), "holds")


def test_duplicates_and_drops_are_counted_apart() -> None:
    run = simulated(39_645, 28_775)
    assert round(simulation.duplicate_share(run), 2) == 0.42
    assert round(simulation.throughput(run), 2) == 0.87
    assert loss(run) == 1_000 / 80_000


@pytest.mark.parametrize(
    ("part", "points"),
    [
        (table2.PART, [240, 4]),
        (simulation.PART, [240, 240]),
        (alpha.PART, [540]),
        (rule.PART, [18, 18]),
        (valley.PART, [216]),
        (fig1.PART, [23, 15]),
    ],
)
def test_the_experiment_files_are_valid(part: papers.Part[Any], points: list[int]) -> None:
    assert [len(experiment.load(one.file).points) for one in part.experiments] == points


@pytest.mark.parametrize("part", ["fig1", "table2", "valley", "netem", "simulation", "port", "rule", "alpha"])
def test_a_quick_part_from_end_to_end(quick_part: QuickPart, part: str) -> None:
    quick_part("bbr-acd", part, 5_000)


def test_the_tolerance_has_no_effect_in_the_ns3_form(dumbbell: Cli, tmp_path: Path) -> None:
    assert dumbbell("reproduce", "bbr-acd/alpha", "--quick", "--json", "--out", tmp_path).status == 0
    (report,) = [json.loads((tmp_path / "report.json").read_text())]
    rows = [row for row in report["tables"][0]["rows"] if row["form"] == "ns3"]
    for queue in {row["queue"] for row in rows}:
        assert len({(row["duplicates"], row["drops"]) for row in rows if row["queue"] == queue}) == 1


def test_a_map_says_the_value_of_each_cell_at_its_round_trip_time_and_buffer() -> None:
    points: Any = {
        (rtt, f"{packets}packets"): delay * packets / 100
        for packets in (50, 100)
        for delay, rtt in ((1.0, "10ms"), (2.0, "20ms"), (3.0, "40ms"))
    }
    maps: dict[str, Any] = {"once": lambda value: value, "twice": lambda value: 2 * value}
    drawn = figures.valley(points, maps)
    for factor, axes in zip((1, 2), drawn.axes, strict=True):
        cells = {text.get_position(): text.get_text() for text in axes.texts}
        assert cells == {
            (0, 0): f"{factor * 0.5:.2f}", (1, 0): f"{factor * 1.0:.2f}", (2, 0): f"{factor * 1.5:.2f}",
            (0, 1): f"{factor * 1.0:.2f}", (1, 1): f"{factor * 2.0:.2f}", (2, 1): f"{factor * 3.0:.2f}",
        }  # fmt: skip
        assert [label.get_text() for label in axes.get_xticklabels()] == ["10", "20", "40"]
        assert axes.get_xlabel() == "round-trip time (ms)"
    assert [label.get_text() for label in drawn.axes[0].get_yticklabels()] == ["50", "100"]
    assert [axes.get_title(loc="left") for axes in drawn.axes] == ["once", "twice"]
    assert drawn.axes[0].get_ylabel() == "buffer (packets)"


def frame_of(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> Any:
    """A table as a result has it."""
    import polars as pl

    frame = pl.DataFrame(rows, schema=list(columns), orient="row")
    return SimpleNamespace(to_polars=lambda: frame)


def test_a_recovery_is_seen_from_the_sample_before_it_to_the_one_after_it() -> None:
    columns = ("flow", "t_s", "cwnd", "rtt_ms", "cc_min_rtt_ms", "ca_state", "mode")
    course = [
        (60, 40.0, "open", "probe_bw"), (55, 90.0, "recovery", "probe_bw"), (30, 50.0, "recovery", "probe_bw"),
        (40, 50.0, "recovery", "probe_bw"), (58, 50.0, "open", "probe_bw"),
        # Another begins in disorder and ends there; one that a timeout ends, and one of STARTUP, do not count.
        (50, 40.0, "disorder", "probe_bw"), (20, None, "recovery", "probe_bw"), (25, 40.0, "disorder", "probe_bw"),
        (60, 40.0, "open", "probe_bw"), (30, 40.0, "recovery", "probe_bw"), (1, 40.0, "loss", "probe_bw"),
        (20, 40.0, "open", "startup"), (10, 40.0, "recovery", "startup"), (20, 40.0, "open", "startup"),
        (9, 40.0, "recovery", "probe_bw"),
    ]  # fmt: skip
    rows = [(0, float(at), cwnd, rtt, 40.0, state, mode) for at, (cwnd, rtt, state, mode) in enumerate(course)]
    rows += [(1, 0.5, 8, 40.0, 40.0, "recovery", "probe_bw"), (1, 1.5, 9, 40.0, 40.0, "open", "probe_bw")]
    result: Any = SimpleNamespace(series=frame_of(columns, rows))
    assert rule.recoveries(result) == [rule.Recovery(60, 55, 30, 58, 2.25), rule.Recovery(50, 20, 20, 25, 0.0)]


@pytest.mark.parametrize(
    ("before", "first", "lowest", "after", "rtt", "said"),
    [
        (60, 33, 27, 57, 2.01, (True, True, True)),
        (60, 36, 27, 57, 2.0, (False, True, False)),
        (60, 37, 27, 57, 2.1, (True, False, False)),
        (60, 33, 26.9, 57, 2.1, (True, True, False)),
        (60, 33, 27, 56.9, 2.1, (True, True, False)),
        (12, 7, 3, 12, 2.1, (False, True, True)),
        (13, 7, 3.5, 12, 2.1, (True, True, True)),
        # Nobody goes below the floor of four packets.
        (6, 3.5, 0.5, 6, 3.0, (False, True, True)),
        (6, 3.5, 0.4, 6, 3.0, (False, True, False)),
    ],
)
def test_a_cut_takes_half_once_and_gives_it_back(
    before: float, first: float, lowest: float, after: float, rtt: float, said: tuple[bool, bool, bool]
) -> None:
    one = rule.Recovery(before, first, lowest, after, rtt)
    assert (one.is_congested, one.is_cut, one.is_as_defined) == said


def test_a_form_detects_where_it_cuts_above_twice_the_minimum_alone() -> None:
    high, low = rule.Recovery(60, 30, 30, 60, 2.5), rule.Recovery(60, 60, 60, 60, 1.9)
    at_two = rule.Recovery(60, 30, 30, 60, 2.0)
    found = {(cc, case): [high, low, at_two] for cc in forms.FORMS for case in ("full queue", "random loss")}
    told = [(one.held, one.runs, one.ours) for one in rule.detects(found)]
    assert told == [(1, 1, "1 cut"), (1, 1, "0 cut")] * len(forms.FORMS)
    assert [(one.held, one.runs, one.ours) for one in rule.reacts(found)] == [
        (2, 2, "from 60 down to 30 packets on average")
    ] * len(forms.FORMS)
    nothing: rule.Found = {key: [] for key in found}
    assert [(one.choice, one.held, one.runs) for one in (*rule.detects(nothing), *rule.reacts(nothing))] == [
        ("no recovery", 0, 1), ("no cut", 0, 1)
    ]  # fmt: skip


def test_a_course_is_judged_after_a_tenth_of_the_run_and_its_start_in_five_seconds() -> None:
    columns = ("flow", "t_s", "cwnd", "rtt_ms")
    rows = [
        (0, 2.0, 500, 80.0), (0, 5.0, 500, 120.0), (0, 5.1, 500, 400.0), (0, 10.0, 900, 50.0), (0, 10.1, 10, 50.0),
        (0, 20.0, 30, 50.0), (1, 3.0, 70, None), (1, 11.0, 10, 50.0), (1, 12.0, 10, 50.0),
    ]  # fmt: skip

    def result(sim_s: float, repeat: int) -> Any:
        meta = SimpleNamespace(sim_s=sim_s, repeat=repeat)
        return SimpleNamespace(
            series=frame_of(columns, rows), flows=frame_of(["min_rtt_ms"], [(40.0,), (50.0,)]), meta=meta
        )

    first = result(100.0, 0)
    course = simulation.Course.of(first)
    # Mean windows of 20 and 10 packets.
    assert course.window_jain == pytest.approx(0.9) and course.startup_rtt == 3.0
    assert course.result is first and simulation.Course.of(result(100.0, 1)).result is None
    rows[:] = [(0, 6.0, 1, 50.0)]
    late = simulation.Course.of(result(50.0, 0))
    assert (late.startup_rtt, late.window_jain) == (1.0, 1.0)


def test_what_simulated_runs_measure() -> None:
    run = simulated(unique=3_000, duplicates=1_000)
    assert simulation.unique(run) == 3_000
    assert simulation.duplicate_share(run) == 0.25
    assert simulation.throughput(run) == pytest.approx(4_000 * 476 * 8 / 299.2 / 1e6)
    assert simulation.goodput(run) == pytest.approx(3_000 * 476 * 8 / 299.2 / 1e6)
    assert simulation.reduction([(run, simulated(3_000, 250))]) == 0.75
    nothing = simulated(0, 0)
    assert (simulation.duplicate_share(nothing), simulation.reduction([(nothing, run)])) == (0.0, -999.0)


def test_packets_of_each_sender_are_counted_second_by_second() -> None:
    columns = ("flow", "t_s", "sent_total", "lost_total", "received_mbps")
    rows = [
        (0, 1.0, 10, 0, 12.0), (0, 2.0, 30, 4, 24.0), (1, 1.0, 5, 1, 0.0), (1, 2.0, 5, 1, 12.0), (2, 2.0, 7, 2, 6.0),
    ]  # fmt: skip
    result: Any = SimpleNamespace(
        flows=frame_of(["flow", "label"], [(0, "S1"), (1, "S1"), (2, "S2")]), series=frame_of(columns, rows),
        meta=SimpleNamespace(sim_s=3.0),
    )  # fmt: skip
    found = table2.seconds(result).sort("label", "t_s").select("label", "t_s", "sent", "arrived", "lost").rows()
    assert found == [
        ("S1", 1, 15, 1000.0, 1), ("S1", 2, 20, 3000.0, 4), ("S1", 3, 0, 0.0, 0),
        ("S2", 1, 0, 0.0, 0), ("S2", 2, 7, 500.0, 2), ("S2", 3, 0, 0.0, 0),
    ]  # fmt: skip


def test_rates_that_differ_by_15_per_cent_of_their_sum_are_close() -> None:
    for difference, settles in ((150.0, True), (151.0, False)):
        rates = [(800.0, 0.0)] * 60 + [(500 + difference / 2, 500 - difference / 2)] * 10
        assert math.isnan(table2.settled(two_senders(rates))) is not settles
    assert table2.settled(two_senders([(800.0, 0.0)] * 59 + [(1.0, 1.0)] * 10)) == 4.0
    assert math.isnan(table2.settled(two_senders([(800.0, 0.0)] * 59 + [(1.0, 1.0)] * 9)))


def test_a_mean_in_flight_is_that_of_the_second_half() -> None:
    rows = [(2.0, 90), (2.1, 10), (4.0, 30)]
    result: Any = SimpleNamespace(series=frame_of(["t_s", "inflight"], rows), meta=SimpleNamespace(sim_s=4.0))
    assert fig1.in_flight(result) == 20.0


def test_a_point_of_the_valley_is_the_module_over_bbr() -> None:
    bbr, form = ([Run([{"retransmits_total": one}]) for one in of] for of in ((100, 300), (50, 50)))
    assert valley.Point(bbr, form).ratio(retransmitted) == 0.25
    assert valley.Point([Run([{"retransmits_total": 0}])], form).ratio(retransmitted) == 1.0


# --- bounds ----------------------------------------------------------------------------------------------------------


def counts(part: papers.Part[Any], claim: str, measured: object) -> set[int]:
    """In how many runs a claim holds, over its choices."""
    return {one.held for one in next(one for one in part.claims if one.id == claim).test(measured)}


def on_the_testbed(scenario: str, bbr: Run, form: Run, other: Run | None = None) -> dict[tuple[str, ...], list[Run]]:
    """The testbed with these runs in a scenario, and others in the rest."""
    return {
        (cc, rtt, one): [(bbr if cc == BASE else form) if one == scenario else other or bbr]
        for cc in (BASE, *forms.FORMS)
        for rtt in RTTS
        for one in SCENARIOS.values()
    }


@pytest.mark.parametrize(
    ("claim", "scenario", "bbr", "form", "holds"),
    [
        ("acd-02", "1", (1_000, 0), (1_049, 0), True), ("acd-02", "1", (1_000, 0), (1_051, 0), False),
        ("acd-02", "1", (1_000, 0), (951, 0), True), ("acd-02", "1", (1_000, 0), (949, 0), False),
        ("acd-04", "2", (1_000, 0), (1_081, 0), True), ("acd-04", "2", (1_000, 0), (1_079, 0), False),
        ("acd-05", "2", (1_000, 100), (1_000, 111), True), ("acd-05", "2", (1_000, 100), (1_000, 109), False),
        ("acd-07", "3", (1_000, 100), (1_000, 50), True), ("acd-07", "3", (1_000, 100), (1_000, 51), False),
        ("acd-08", "3", (1_000, 0), (1_001, 0), True), ("acd-08", "3", (1_000, 0), (1_000, 0), False),
        ("acd-12", "4", (1_000, 100), (1_000, 40), True), ("acd-12", "4", (1_000, 100), (1_000, 66), False),
        ("acd-13", "4", (1_000, 0), (1_001, 0), True), ("acd-13", "4", (1_000, 0), (1_000, 0), False),
    ],
)  # fmt: skip
def test_bounds_of_a_form_beside_bbr(
    claim: str, scenario: str, bbr: tuple[int, int], form: tuple[int, int], holds: bool
) -> None:
    first, second = (two_senders(meeting(40), *of) for of in (bbr, form))
    found = counts(table2.PART, claim, on_the_testbed(scenario, first, second))
    # At each round-trip time, and at all three together.
    assert found == ({1, 3} if holds else {0})


def test_bounds_of_runs_of_the_testbed() -> None:
    for retransmitted_, expected in ((1, {1, 3}), (2, {0})):
        run = two_senders(meeting(40), 1_000, retransmitted_)
        assert counts(table2.PART, "acd-01", on_the_testbed("1", run, run)) == expected
    for after, expected in ((29, {0}), (30, {1, 3}), (60, {1, 3}), (61, {0})):
        run = two_senders(meeting(after))
        assert counts(table2.PART, "acd-03", on_the_testbed("1", run, run)) == expected
    late, soon, never = (two_senders(meeting(after)) for after in (50, 40, 245))
    for claim, scenario in (("acd-06", "2"), ("acd-09", "3"), ("acd-14", "4")):
        for bbr, form, expected in (
            (late, soon, {1, 3}), (late, late, {0}), (never, late, {1, 3}), (never, never, {0}), (soon, never, {0}),
        ):  # fmt: skip
            assert counts(table2.PART, claim, on_the_testbed(scenario, bbr, form)) == expected


def test_losses_last_where_every_half_minute_has_some() -> None:
    def lost_in(*seconds: int) -> Run:
        import polars as pl

        run = two_senders(meeting(40)[:180])
        return replace(run, kept=run.kept.with_columns(lost=pl.col("t_s").is_in(list(seconds)).cast(pl.Float64)))

    assert table2.lasting(lost_in(91, 150, 151)) and table2.lasting(lost_in(120, 121, 180))
    assert not table2.lasting(lost_in(90, 150, 151)) and not table2.lasting(lost_in(91, 151))
    assert not table2.lasting(two_senders(meeting(40)[:100]))
    assert table2.losses(lost_in(1, 5, 6), "S1", 0, 5) == 2.0


def test_more_packets_and_less_of_them_again_but_in_the_second_scenario() -> None:
    def pair(bbr: tuple[int, int], form: tuple[int, int]) -> tuple[Run, Run]:
        first, second = (two_senders([], *of) for of in (bbr, form))
        return first, second

    good, worse, slower = pair((100, 9), (101, 9)), pair((100, 9), (101, 10)), pair((100, 9), (100, 9))
    assert table2.as_table_2((*good, *worse, *good, *good))
    assert not table2.as_table_2((*good, *good, *worse, *good)) and not table2.as_table_2((*worse, *good, *good, *good))
    assert not table2.as_table_2((*good, *good, *good, *slower))


def of_simulation(bbr: Run, form: Run) -> dict[tuple[str, ...], list[Run]]:
    return {(cc, setup): [bbr if cc == simulation.BASE else form]
            for cc in (simulation.BASE, *forms.FORMS) for setup in simulation.SETUPS}  # fmt: skip


def test_bounds_of_the_simulation() -> None:
    def of(claim: str, bbr: Run, form: Run | None = None) -> set[int]:
        return counts(simulation.PART, claim, of_simulation(bbr, form or bbr))

    shares = [of("acd-17", simulated(1_000 - again, again)) for again in (299, 300, 550, 551)]
    assert shares == [{0}, {1}, {1}, {0}]
    shares = [of("acd-18", simulated(10_000 - again, again)) for again in (164, 165, 660, 661)]
    assert shares == [{0}, {1}, {1}, {0}]
    assert [of("acd-19", simulated(9, 1_000), simulated(9, again)) for again in (100, 101)] == [{1}, {0}]
    jains = [of("acd-21", simulated(9, 1), simulated(9, 1, jain=jain)) for jain in (0.9, 0.91)]
    assert jains == [{0}, {1}]
    episodes = [((1, 0), 1), ((0, 0), 0), ((2, 2), 0), ((2, 1), 1)]
    for (first, second), expected in episodes:
        assert of("acd-22", simulated(9, 1, first), simulated(9, 1, second)) == {expected}
    for startup_rtt, expected in ((2.9, 0), (3.0, 1), (6.0, 1), (6.1, 0)):
        run = replace(simulated(9, 1), kept=simulation.Course(0.9, startup_rtt))
        assert of("acd-23", run) == {expected}


def test_rates_of_the_simulation_agree_within_a_tenth() -> None:
    def at(throughput: float, goodput: float) -> Run:
        packets = 299.2 * 1e6 / (476 * 8)
        return simulated(goodput * packets, throughput * packets - goodput * packets)  # type: ignore[arg-type]

    pair = (at(0.87 * 1.09, 0.5 * 0.91), at(0.895 * 0.91, 0.863 * 0.91))
    assert all(simulation.agrees(pair, name) for name in simulation.RATES)
    other = (at(0.87 * 1.11, 0.5 * 0.89), at(0.895 * 1.11, 0.863 * 1.11))
    assert not any(simulation.agrees(other, name) for name in simulation.RATES)
    half = of_simulation(pair[0], other[1])
    told = "With the ns-3 form all but BBR-ACD's throughput and BBR-ACD's goodput agree in most runs."
    assert simulation.disagreeing(half) == told
    assert simulation.disagreeing(of_simulation(*pair)) == ""
    twice = {case: [pair[0], other[0]] if case[0] == simulation.BASE else [pair[1]] * 2 for case in half}
    assert (
        simulation.disagreeing(twice)
        == "With the ns-3 form all but BBR's throughput and BBR's goodput agree in most runs."
    )


def test_an_interval_of_a_single_run_is_that_run() -> None:
    assert simulation.confident([3.0]) == (3.0, 3.0)
    low, high = simulation.confident([1.0, 3.0])
    assert low < 1.0 and high > 3.0 and low + high == pytest.approx(4.0)
