"""BBR-n's study: its simulation of STARTUP, its claims, its experiments beside Flent's, and the command."""

from __future__ import annotations

import math
from typing import Any

import pytest

import altered
import snapshots
from conftest import QuickPart
from described import described
from dumbbell import experiment, papers
from dumbbell.flent.tests import FlentTest
from dumbbell.flent.tests import test_named as flents
from dumbbell.flent.trial import document
from dumbbell.papers.bbr_n import choices, courses, figures, gains, rrul, single, startup, tsq, uploads
from dumbbell.papers.bbr_n.growth import Flow
from dumbbell.papers.bbr_n.measure import DEVICES, FOLDER, NAMES, PUBLISHED_AS, VIRTUAL, Trial, distance, table_values
from dumbbell.papers.runs import Cases, Run


def model() -> dict[str, list[Any]]:
    return {gain: Flow(float(gain)).run(startup.ROUNDS) for gain in startup.GAINS}


def test_all_thirty_rows_are_exact_but_one_printed_time() -> None:
    assert startup.differences(model()) == ["gain 2.773, round 5, time: 0.50008 for 0.5"]


def test_another_gain_gives_other_rows() -> None:
    assert len(startup.differences({"2.773": Flow(2.885).run(startup.ROUNDS)})) > 60


def samples(mean: float, variance: float, count: int = 300) -> list[float]:
    """As many values with that mean and variance."""
    from math import sqrt

    step = sqrt(variance * (count - 1) / count)
    return [mean + (step if number % 2 else -step) for number in range(count)]


BASES = {"bbr": "BBRgen", "bbr-4.14": "BBRgen", "bbr-n": "BBR-n", "bbr-n-4-13": "BBR-n"}
"""What algorithms that the tables lack are called in them."""


def published_run(part: str, cc: str) -> Run:
    """What a table has for an algorithm."""
    name = PUBLISHED_AS.get(cc, BASES.get(cc, ""))
    of = {series: table_values(part, series).get(name) for series in ("upload", "download", "ping")}
    rows = {
        series: samples(one["recomputed_average"], one["recomputed_variance"]) if one else []
        for series, one in of.items()
    }
    trial = Trial(rows["upload"], rows["download"], rows["ping"], rows["ping"], rows["ping"])
    return Run([{"goodput_mbps": 1.0}], link={"mean_aggregate": 40.0}, kept=trial)


def of_tables(part: str) -> dict[tuple[str, ...], list[Run]]:
    return {(place, cc): [published_run(part, cc)] * 2 for place in DEVICES for cc in NAMES}


def test_the_recovered_data_satisfy_the_claims_that_they_support() -> None:
    found = {one.claim.id: one.verdict for one in single.PART.judge(of_tables("single"))}
    assert list(found) == [claim.id for claim in single.CLAIMS]
    # With the recovered data BBRgen is slower than Reno; the text's factor of two is contradicted.
    assert found == dict.fromkeys(found, "holds") | {"bbn-06": "fails", "bbn-08": "fails"}


def test_the_recovered_data_contradict_what_the_text_says_of_rrul() -> None:
    cases = of_tables("rrul")
    found = {one.claim.id: one.verdict for one in rrul.PART.judge(rrul.Measured(cases, cases))}
    contradicted = dict.fromkeys(("bbn-21", "bbn-22", "bbn-24", "bbn-27"), "fails")
    assert found == dict.fromkeys(found, "holds") | contradicted


def test_the_claims_say_of_other_numbers_what_is_kept() -> None:
    once = {case: runs[:1] for case, runs in of_tables("single").items()}
    altered.same_as_kept("bbr-n-single-published", single.PART, once, 60)
    twice = {case: runs[:1] for case, runs in of_tables("rrul").items()}
    altered.same_as_kept("bbr-n-rrul-published", rrul.PART, rrul.Measured(twice, twice), 60)


def test_algorithms_that_do_not_differ_fail_the_claims() -> None:
    same: Cases = {(place, cc): [published_run("single", "cubic")] * 2 for place in DEVICES for cc in NAMES}
    found = {one.claim.id: one.verdict for one in single.PART.judge(same)}
    assert {name: found[name] for name in ("bbn-07", "bbn-09", "bbn-11")} == dict.fromkeys(
        ("bbn-07", "bbn-09", "bbn-11"), "fails"
    )


def test_the_published_means_satisfy_the_claims_about_uploads() -> None:
    def run(cc: str, count: str) -> Run:
        found = table_values("uploads", count)["BBR-n" if cc.startswith("bbr-n") else "BBRgen"]
        return Run([], kept=Trial([found["mean"]], [], [found["ping"]], [], []))

    cases: Cases = {
        (place, cc, count): [run(cc, count)] for place in uploads.PLACES for cc in NAMES for count in uploads.COUNTS
    }
    assert {one.verdict for one in uploads.PART.judge(cases)} == {"holds"}


def test_the_distance_of_numbers_is_a_factor() -> None:
    assert distance({"a": 2.0, "b": 0.5}, {"a": 1.0, "b": 1.0}) == pytest.approx(2)


@pytest.mark.parametrize(
    ("file", "test"),
    [("single.toml", flents("tcp_nup", 1)), ("uploads.toml", flents("tcp_nup", 1)),
     ("rrul.toml", flents("rrul"))],
)  # fmt: skip
def test_the_experiments_are_flents(file: str, test: FlentTest) -> None:
    tomllib = pytest.importorskip("tomllib")
    ours = tomllib.loads((FOLDER / file).read_text())["flows"]
    download_cc = "cubic" if "down" in test.directions else None
    theirs = document(test, {"rtt": "2ms"}, cc="bbr2", download_cc=download_cc)["flows"]
    for mine, his in zip(ours, theirs, strict=True):
        assert mine["label"] == his["label"].replace("::1", "")
        for key in ("dscp", "start", "stop"):
            assert mine.get(key) == his.get(key)
        assert mine.get("direction", "up") == his.get("direction", "up")
        assert mine.get("cc") == his.get("cc")
        if "cc" not in his:
            assert mine["transport"] == his["transport"]


@pytest.mark.parametrize(
    ("part", "points"),
    [(startup.PART, [2]), (single.PART, [90, 45, 10, 18]), (courses.PART, [48, 24, 12]),
     (uploads.PART, [120, 60, 24]), (rrul.PART, [54, 54, 6]), (gains.PART, [30]), (tsq.PART, [180]),
     (choices.PART, [144, *[16] * len(choices.SETUPS)])],
)  # fmt: skip
def test_the_experiment_files_are_valid(part: papers.Part[Any], points: list[int]) -> None:
    assert [len(experiment.load(one.file, set=one.set).points) for one in part.experiments] == points  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ["startup", "single", "courses", "uploads", "rrul", "gains", "tsq", "choices"])
def test_a_quick_part_from_end_to_end(quick_part: QuickPart, part: str) -> None:
    quick_part("bbr-n", part, 5_000)


def course(samples: list[tuple[float, float, float | None, float, str]]) -> courses.Course:
    import polars as pl

    columns = ["t_s", "pacing_mbps", "delivery_mbps", "cwnd", "mode"]
    return courses.Course(pl.DataFrame(samples, schema=columns, orient="row"))


def test_a_course_has_means_after_five_seconds_or_a_fifth_and_dips_where_probe_rtt_begins() -> None:
    samples: list[tuple[float, float, float | None, float, str]] = [
        (0.0, 900.0, 900.0, 9.0, "probe_rtt"), (5.0, 900.0, 900.0, 9.0, "probe_bw"),
        (6.0, 60.0, 30.0, 10.0, "probe_rtt"), (8.0, 60.0, 10.0, 20.0, "probe_rtt"),
        (10.0, 30.0, None, 30.0, "probe_bw"), (16.0, 50.0, 20.0, 40.0, "probe_rtt"),
        (20.0, 50.0, 20.0, 50.0, "probe_bw"), (28.0, 50.0, 20.0, 30.0, "probe_rtt"),
    ]  # fmt: skip
    long = Run([], kept=course(samples))
    assert long.kept.dips == [6.0, 16.0, 28.0]
    assert courses.period(long) == 11.0
    assert (courses.pacing(long), courses.delivery(long), courses.cwnd(long)) == (50.0, 20.0, 30.0)
    assert courses.excess(long) == 2.5
    short = Run(
        [], kept=course([(0.4, 9.0, 9.0, 9.0, "startup"), (0.5, 4.0, 2.0, 9.0, "x"), (2.0, 8.0, 2.0, 9.0, "x")])
    )
    assert (courses.pacing(short), courses.period(short), short.kept.end) == (6.0, 0.0, 2.0)


def test_percentiles_of_pings_are_infinite_where_none_came_back() -> None:
    def pings(values: list[float]) -> Run:
        return Run([], kept=Trial([], [], [], values, values))

    some, none = pings([5.0, 1.0, 3.0]), pings([])
    assert (rrul.median_icmp(some), rrul.median_average(some)) == (3.0, 3.0)
    assert rrul.high_icmp(some) == pytest.approx(4.6)
    assert (rrul.median_icmp(none), rrul.median_average(none), rrul.high_icmp(none)) == (math.inf,) * 3
    slower, equal = pings([5.0, 1.1, 3.1]), pings([5.0, 1.0, 3.0])
    assert rrul.below_all((some, slower, pings([6.0, 3.1, 3.2])))
    assert not rrul.below_all((some, slower, equal)) and rrul.below_all((some, some))


def test_what_a_parameter_says_is_within_three_per_cent() -> None:
    measured = startup.Measured(model(), {"2.885": [1.0, 2.0], "2.773": [1.0, 2.0]}, {
        name: {key: factor * value for key, value in startup.STATED.items()}
        for name, factor in (("a", 1.0299), ("b", 0.9701), ("c", 1.0301), ("d", 0.9699))
    })  # fmt: skip
    assert [one.held for one in startup.agrees(measured)] == [1, 1, 0, 0]
    assert all(not one.seeds for one in startup.agrees(measured))
    assert startup.grown([2.0, 4.0, 0.0, 3.0]) == [2.0, 0.0]
    assert [startup.at([5.0, 6.0], index) for index in (0, 1, 2)] == [5.0, 6.0, None]


def test_every_outcome_of_a_computation_is_of_no_seed() -> None:
    rounds = [float(2**number) for number in range(16)]
    measured = startup.Measured(model(), dict.fromkeys(startup.GAINS, rounds), {
        name: startup.parameters(name) for name in ("bbr-n", "bbr-n-patch")
    })  # fmt: skip
    outcomes = [one for claim in startup.CLAIMS for one in claim.test(measured)]
    assert outcomes and not any(one.seeds for one in outcomes)
    found = {claim.id: claim.judge(measured, startup.PART.decides) for claim in startup.CLAIMS}
    verdicts = {name: one.verdict for name, one in found.items()}
    assert verdicts == dict.fromkeys(verdicts, "holds") | {"bbn-31": "fails"}
    assert found["bbn-01"].outcomes[1].held == 1


def test_a_burst_is_a_millisecond_of_the_rate_between_its_bounds() -> None:
    rates = (1e5, 1.19e6, 1.2e6, 4e7, 1e9)
    assert [startup.stated_quantum(rate) for rate in rates] == pytest.approx(
        [1, 1, 4, max(4, 40_000 / 11_584), 65_536 * 8 / 11_584]
    )
    assert [startup.quantum("bbr-n", rate) for rate in rates] == [1, 1, 4, 4, 45]


def test_series_of_runs_that_do_not_differ_have_no_analysis() -> None:
    assert single._anova(None) == [None] * 5
    runs = [Run([], kept=Trial(samples(mean, 4.0), [], samples(mean, 4.0), [], [])) for mean in (10.0, 10.5, 11.0)]
    found = single.of_samples(runs, lambda trial: trial.upload)
    assert found is not None
    f, critical, df, p, eta = single._anova(found)
    assert (f, critical, df, p, eta) == (found.f, found.critical_f(), "2, 897", f"{found.p:.1e}", found.eta_squared)
    assert single.both_differ(tuple(runs)) and not single.both_differ((runs[0], runs[0]))
    rising = [Run([], kept=Trial([rate], [], [], [], [])) for rate in (100.0, 103.0, 106.09)]
    assert single.in_order(tuple(rising)) and single.in_order(tuple(reversed(rising)))
    assert not single.in_order((rising[0], rising[2]))


# --- bounds ----------------------------------------------------------------------------------------------------------


def held(part: papers.Part[Any], claim: str, measured: object) -> set[int]:
    """In how many runs a claim holds, over its choices."""
    return {one.held for one in next(one for one in part.claims if one.id == claim).test(measured)}


def measured_run(upload: float = 100.0, ping: float = 10.0, download: float = 100.0) -> Run:
    return Run([], kept=Trial([upload], [download], [ping], [ping], [ping]))


OURS = ("bbr-n-patch", "bbr-n", "bbr-n-4-13")


def beside(ours: Run, base: Run, others: Run | None = None) -> Cases:
    """One upload: BBR-n's, what it is compared with, and the rest."""
    bases = ("bbr2", "bbr", "bbr-4.14")
    return {
        (place, cc): [ours if cc in OURS else base if cc in bases else others or base]
        for place in (*DEVICES, single.SLOW)
        for cc in (*NAMES, "bbr-4.14", single.STAYS)
    }


def test_bounds_of_one_upload() -> None:
    base = measured_run(100.0)
    ratios = {"bbn-06": ((200.0, 0), (200.1, 1)), "bbn-07": ((106.70, 0), (106.72, 1))}
    for claim, bounds in ratios.items():
        assert [held(single.PART, claim, beside(measured_run(upload), base)) for upload, _ in bounds] == [
            {expected} for _, expected in bounds
        ]
    slow = measured_run(ping=10.0)
    assert [held(single.PART, "bbn-09", beside(measured_run(ping=ping), slow)) for ping in (9.9, 10.0)] == [{1}, {0}]
    assert [held(single.PART, "bbn-10", beside(measured_run(ping=ping), slow)) for ping in (9.9, 10.0)] == [{0}, {1}]


def test_bounds_of_several_uploads() -> None:
    def of(upload: float, ping: float = 10.0) -> Cases:
        ours, base = measured_run(upload, ping), measured_run()
        return {
            (place, cc, count): [ours if cc in OURS else base]
            for place in uploads.PLACES for cc in NAMES for count in uploads.COUNTS
        }  # fmt: skip

    for claim, least in (("bbn-12", 126.9), ("bbn-13", 119.7), ("bbn-14", 132.3)):
        assert [held(uploads.PART, claim, of(least + off)) for off in (-0.1, 0.1)] == [{0}, {1}]
    assert [held(uploads.PART, "bbn-15", of(1.0, ping)) for ping in (9.9, 10.0)] == [{2}, {0}]


def test_bounds_of_rrul() -> None:
    def of(ours: Run, base: Run, others: Run) -> rrul.Measured:
        cases = beside(ours, base, others)
        return rrul.Measured(cases, cases)

    def claims(claim: str, values: list[tuple[Run, Run, Run]]) -> list[set[int]]:
        return [held(rrul.PART, claim, of(*runs)) for runs in values]

    def down(rate: float) -> Run:
        return measured_run(download=rate)

    def up(rate: float) -> Run:
        return measured_run(rate)

    def back(ping: float) -> Run:
        return measured_run(ping=ping)

    downs = [(down(9.1), down(9), down(9)), (down(9), down(9), down(1)), (down(9), down(1), down(9))]
    assert claims("bbn-20", downs) == [{1}, {0}, {0}]
    assert claims("bbn-21", [(up(9.1), up(9), up(1)), (up(9), up(9), up(1))]) == [{1}, {0}]
    assert claims("bbn-22", [(up(5), up(4), up(3.9)), (up(5), up(4), up(4)), (up(4), up(5), up(4))]) == [{1}, {0}, {0}]
    assert claims("bbn-23", [(up(3), up(4), up(4.1)), (up(3), up(4), up(4)), (up(4), up(3), up(4))]) == [{1}, {0}, {0}]
    assert claims("bbn-24", [(back(1), back(1.1), back(1)), (back(1), back(1), back(1))]) == [{1}, {0}]
    pings = [(back(6.49), back(6), back(10)), (back(6.51), back(6), back(10)), (back(6), back(6.51), back(10))]
    assert claims("bbn-25", pings) == [{1}, {0}, {0}]
    assert claims("bbn-26", [(back(1), back(9), back(1.1)), (back(1), back(9), back(1))]) == [{1}, {0}]
    assert claims("bbn-27", [(back(1), back(1.1), back(1)), (back(1), back(1), back(1))]) == [{1}, {0}]


def test_bounds_of_courses() -> None:
    def flowing(pacing: float, delivery: float, cwnd: float, every: float = 10.0) -> Run:
        times = [5.1 + every * number for number in range(3)]
        modes = [(5.0, "x"), *((at + later, mode) for at in times for later, mode in ((0.0, "probe_rtt"), (0.2, "x")))]
        return Run([], kept=course([(at, pacing, delivery, cwnd, mode) for at, mode in modes]))

    def of(ours: Run, base: Run) -> Cases:
        return {
            (place, cc, count): [ours if cc in OURS else base]
            for place in DEVICES for cc in (*NAMES, "bbr-4.14") for count in courses.COUNTS
        }  # fmt: skip

    base = flowing(50.0, 10.0, 20.0)
    for delivery, expected in ((15.9, 0), (16.1, 1), (23.9, 1), (24.1, 0)):
        assert held(courses.PART, "bbn-16", of(flowing(99.0, delivery, 9.0), base)) == {expected}
    for pacing, expected in ((30.0, 0), (30.1, 1)):
        assert held(courses.PART, "bbn-17", of(flowing(pacing, 10.0, 9.0), base)) == {expected}
    for cwnd, expected in ((20.0, 0), (20.1, 1)):
        assert held(courses.PART, "bbn-18", of(flowing(9.0, 9.0, cwnd), base)) == {expected}
    for every, expected in ((8.9, 0), (9.1, 1), (10.9, 1), (11.1, 0)):
        assert held(courses.PART, "bbn-19", of(flowing(9.0, 9.0, 9.0, every), base)) == {expected}


def test_the_pictures_of_two_seeds_are_what_is_kept() -> None:
    one = {case: runs[:1] for case, runs in of_tables("single").items()}
    slow: dict[tuple[str, ...], list[Run]] = {(single.SLOW, cc): one[VIRTUAL, cc] for cc in single.SLOWER}
    altered.pictures_as_kept("bbr-n-single", single.PART, one | slow)
    many = {case: runs[:1] for case, runs in of_tables("rrul").items()}
    altered.pictures_as_kept("bbr-n-rrul", rrul.PART, rrul.Measured(many, many))
    rounds = [float(2**number) for number in range(18)]
    altered.pictures_as_kept(
        "bbr-n-startup", startup.PART, startup.Measured(model(), dict.fromkeys(startup.GAINS, rounds), {})
    )
    ratios = {f"{name}: {base}": [0.5, 1.0, 1.2, 1.6] for name in ("a", "b") for base in ("c", "d")}
    snapshots.same_as_kept("pictures/bbr-n-ratios", described(figures.ratios(ratios, ("1", "4", "8", "12"), 1.2)))
