"""The sixteen-flow study: what its rules do, its claims, and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import altered
import dumbbell as package
from conftest import Cli, QuickPart
from dumbbell import experiment, papers
from dumbbell.papers.kato import buffers, causes, figures, heatmap, measure, port, setups, table2, windows
from dumbbell.papers.kato.table2 import NEW, OLD, Pacing
from dumbbell.papers.part import Ran
from dumbbell.papers.runs import Cases, Run, jain, total

FAST, STARVED = 63.0, 0.3


def run(*rates: float) -> Run:
    return Run([{"goodput_mbps": rate} for rate in rates])


def split(starved: int) -> Run:
    return run(*[FAST] * (16 - starved), *[STARVED] * starved)


def fair(rate: float) -> Run:
    return run(*(rate + 0.1 * flow for flow in range(16)))


def test_a_run_counts_its_starved_and_fast_flows() -> None:
    one = split(6)
    assert (measure.starved(one), measure.fast(one), round(total(one))) == (6, 10, 632)
    assert measure.unevenness(one) > 200
    assert jain(one) < 0.7 < jain(fair(39))


def as_published() -> dict[tuple[str, ...], list[Run]]:
    """Ten fast and six starved up to 1000 packets, the published mean and deviation beyond."""
    scattered = [run(*(53.1 + step * 1.65 for step in range(-8, 9) if step))]
    cases: dict[tuple[str, ...], list[Run]] = {
        (OLD, "100"): [split(6)],
        (OLD, "500"): [run(*[57.4] * 10, *[STARVED] * 6)],
        (OLD, "1000"): [run(*[57.7] * 10, *[STARVED] * 6)],
        (OLD, "2000"): scattered,
        (OLD, "5000"): [run(*(56.3 + step * 0.43 for step in range(-8, 9) if step))],
    }
    return cases | {(NEW, buffer): [fair(38.5)] for buffer in measure.BUFFERS}


def pacing(version: str) -> Pacing:
    """Flow 15 starves in ns-3.40, the others pace in cycles around their own rate."""
    import polars as pl

    gains = (1.25, 0.75, 1, 1, 1, 1, 1, 1)
    rows = [
        (t / 5, flow, 0.02 if version == OLD and flow == 15 else (70 - flow) * gains[t % 8],
         0.02 if version == OLD and flow == 15 else 70.0 - flow)
        for t in range(1, 251)
        for flow in range(16)
    ]  # fmt: skip
    return Pacing(pl.DataFrame(rows, schema=["t_s", "flow", "pacing_mbps", "goodput_mbps"], orient="row"))


def with_traces(cases: Cases, old: str) -> Cases:
    """The runs with the traces of a version in the place of ns-3.40's."""
    return {
        case: [replace(one, kept=pacing(old if case[0] == OLD else NEW)) for one in runs]
        for case, runs in cases.items()
    }


def test_the_published_numbers_satisfy_the_claims_of_table_2() -> None:
    found = table2.PART.judge(with_traces(as_published(), OLD))
    assert [one.claim.id for one in found] == [claim.id for claim in table2.CLAIMS]
    assert {one.claim.id: one.outcomes[0].verdict for one in found} == {one.claim.id: "holds" for one in found}


def test_the_claims_say_of_other_numbers_what_is_kept() -> None:
    altered.same_as_kept("kato-table2-published", table2.PART, with_traces(as_published(), OLD))
    cases = {case: [split(7) if case == causes.OLD else fair(38)] * 2 for case in _product()}
    altered.same_as_kept("kato-causes-published", causes.PART, cases)


def test_the_pictures_of_two_seeds_are_what_is_kept() -> None:
    altered.pictures_as_kept("kato-table2", table2.PART, with_traces(as_published(), OLD))
    cases = {case: [split(7) if case == causes.OLD else fair(38)] for case in _product()}
    altered.pictures_as_kept("kato-causes", causes.PART, cases)
    altered.pictures_as_kept("kato-windows", windows.PART, {"1 MiB": [split(6)], "2 MiB": [fair(39)]})
    sizes = {"as in table2": [[split(6)], [run(*[57.4] * 10, *[STARVED] * 6)], [fair(36)], [fair(53)], [split(16)]]}
    altered.pictures_as_kept("kato-setups", setups.PART, sizes)


def test_a_fair_ns3_40_fails_the_claims_of_unfairness() -> None:
    cases: Cases = {key: [fair(38.5)] for key in as_published()}
    found = {one.claim.id: one.verdict for one in table2.PART.judge(with_traces(cases, NEW))}
    assert {found[claim] for claim in ("kat-01", "kat-02", "kat-04", "kat-05", "kat-07", "kat-16")} == {"fails"}


@pytest.mark.parametrize("culprit", [0, 1])
def test_a_rule_that_alone_makes_flows_starve_is_blamed_alone(culprit: int) -> None:
    cases: Cases = {case: [split(7) if case[culprit] == causes.OLD[culprit] else fair(38)] * 2 for case in _product()}
    effects = {str(row[0]): list(row[1:3]) for row in causes.effects(cases).rows}
    for index, (_, name, *_) in enumerate(causes.RULES):
        assert effects[name] == ([7.0, 0.0] if index == culprit else [3.5, 3.5])


def _product() -> list[tuple[str, ...]]:
    from itertools import product

    return list(product(*(rule[2:] for rule in causes.RULES)))


def small(rules: tuple[str, ...]) -> Run:
    """The study at a tenth of its rate, window and buffer, which starves as many flows, over the last ten seconds."""
    settings = {rule[0]: value for rule, value in zip(causes.RULES, rules, strict=True)}
    settings |= {"path.rate": "100mbit", "path.buffer": "10packets", "transport.receive_window": "131072B"}
    short = {**settings, "duration": "20s", "warmup": "10s", "sweep": {"repeat": 3}}
    sweep = package.sweep(causes.PART.experiments[0].file, set=short).collect()
    return run(*(rate for one in Ran(sweep, [], {}).runs for rate in one.rates))


def test_flows_starve_only_with_both_the_sampler_and_the_rescue_of_ns3_40() -> None:
    starved = {rules: measure.starved(small(rules)) for rules in _product() if rules[2:] == causes.OLD[2:]}
    assert starved.pop(causes.OLD) >= 3 * measure.SPLIT
    assert set(starved.values()) == {0}


def test_a_starved_flow_sends_a_fifth_of_a_packet_a_round_trip() -> None:
    rates = sorted(small(causes.OLD).rates)
    packet_a_round_trip = 1420 * 8 / 0.12 / 1e6
    assert 0.1 * packet_a_round_trip < rates[0] < packet_a_round_trip


def test_half_of_the_seeds_are_not_most_of_them() -> None:
    half = [[split(5), fair(30)]] * 5
    cells = setups.agreement({"half": half, "more": [[*of, split(5)] for of in half]})
    assert [row[1] for row in cells.rows[1:]] == ["no no no no no", "yes yes yes yes yes"]


def test_set_ups_are_scored_by_the_cells_of_table_2_they_give() -> None:
    lossless = [fair(56)]
    as_in_the_study = [[split(6)], [run(*[57.4] * 10, *[STARVED] * 6)], [run(*[57.7] * 10, *[STARVED] * 6)]]
    cases = {"right": [*as_in_the_study, [fair(53)], lossless], "fair": [lossless] * 5}
    published, right, unsplit = map(list, setups.agreement(cases).rows)
    assert published[1] == right[1] == "yes yes yes no no"
    assert (right[-3:], unsplit[1], unsplit[-3:]) == ([5, 5, 10], "no no no no no", [2, 2, 4])


def test_totals_within_a_tenth_of_the_published_ones_are_bold() -> None:
    published = list(measure.published_values("throughput_total").values())
    shares = (1.0, 0.91, 1.09, 0.89, 1.11)
    runs = [[run(share * mbps)] for share, mbps in zip(shares, published, strict=True)]
    cells = figures.setups({"all": runs}).axes[0].texts
    assert [cell.get_fontweight() for cell in cells] == ["bold", "bold", "bold", "normal", "normal"]


@pytest.mark.parametrize(
    ("part", "points"),
    [(table2.PART, 100), (causes.PART, 80), (heatmap.PART, 504), (windows.PART, 30), (port.PART, 15)],
)
def test_the_experiment_files_are_valid(part: papers.Part[Any], points: int) -> None:
    assert [len(experiment.load(one.file).points) for one in part.experiments] == [points]


@pytest.mark.parametrize("part", ["table2", "causes", "port", "setups", "windows", "buffers", "heatmap"])
def test_a_quick_part_from_end_to_end(quick_part: QuickPart, part: str) -> None:
    assert quick_part("kato", part, 5_000)["caveats"]


def test_send_and_receive_buffers_are_tried_apart(dumbbell: Cli, tmp_path: Path) -> None:
    done = dumbbell("reproduce", "kato/buffers", "--quick", "--json", "--out", tmp_path)
    assert (done.status, done.err) == (0, "")
    (part,) = json.loads(done.out)["parts"]
    totals = {(row["sockets"], row["buffer"]): row["total Mbit/s"] for row in part["tables"][0]["rows"]}
    assert len(totals) == len(buffers.SHOWN) * (len(buffers.SETUPS) + 1)
    # Two seconds are mostly one window after the other: half of the send buffer is half of the rate.
    assert float(totals["receive 16 MiB, send 512 KiB", "2000"]) < 0.7 * float(totals["receive 1 MiB", "2000"])


def test_a_flow_starves_below_1_and_is_fast_above_50_mbit_s() -> None:
    one = run(0.99, 1.0, 50.0, 50.01)
    assert (measure.starved(one), measure.fast(one)) == (1, 1)
    assert [measure.is_split(split(count)) for count in (3, 4)] == [False, True]
    assert measure.unevenness(run(0.0, 2.0)) == pytest.approx(2e6)


def test_pacing_is_read_at_the_times_of_the_study() -> None:
    import polars as pl

    rows = [
        (float(t), flow, 100.0 * flow + t, (0.5 if flow == 2 or (flow == 3 and t <= 20) else 10.0 * (flow + 1)))
        for t in range(1, 51)
        for flow in range(6)
    ]
    one = Pacing(pl.DataFrame(rows, schema=["t_s", "flow", "pacing_mbps", "goodput_mbps"], orient="row"))
    assert (one.at(20), one.rates(10).to_list()) == (20.0, [10.0, 20.0, 0.5, 0.5, 50.0, 60.0])
    assert one.rates(40).to_list() == [10.0, 20.0, 0.5, 40.0, 50.0, 60.0]
    assert one.remaining == 0.5
    assert one.correlation == pytest.approx(13 / (17 * 17.5) ** 0.5)
    assert one.after(49).height == 6
    assert one.peaks == [50.0, 150.0, 250.0, 350.0, 450.0, 550.0]
    # Of the forty samples of flow 5 after 10 s.
    assert one.levels == (513.0, 531.0, 549.0)
    short = Pacing(one.frame.with_columns(pl.col("t_s") / 10))
    assert (short.at(20), short.rates(10).to_list(), short.peaks) == (2.0, one.rates(10).to_list(), one.peaks)
    still = Pacing(one.frame.with_columns(pl.lit(5.0).alias("goodput_mbps"), pl.lit(0.0).alias("pacing_mbps")))
    assert (still.remaining, still.levels) == (0.0, (0.0, 1e-9, 0.0))


def test_the_figure_shows_a_run_in_which_the_flows_of_the_study_differ() -> None:
    def rates(sixth: float, twelfth: float) -> Run:
        values = [20.0] * 16
        values[6], values[12] = sixth, twelfth
        return replace(run(*values), kept=Pacing(f"{sixth} {twelfth}"))  # type: ignore[arg-type]

    neither, both, fits = rates(20, 20), rates(0.5, 0.5), rates(1.0, 0.9)
    assert table2.told_apart([neither, both, fits, rates(30, 0.1)]) == "1.0 0.9"
    assert table2.told_apart([neither, rates(20, 1.0), both]) == "20 20"


def test_a_window_of_table_2_is_told_by_the_fast_flows() -> None:
    cases: Cases = {(OLD, buffer): [run(*[float(rate) for rate in range(50, 71)])] for buffer in measure.BUFFERS}
    assert "the window's 53 to 70 Mbit/s" in table2.window(cases)
    slow: Cases = {key: [fair(30)] for key in cases}
    assert "the window's rate," in table2.window(slow)


def test_single_rules_and_pairs_are_switched_from_both_versions() -> None:
    cases: Cases = {case: [run(float(at))] for at, case in enumerate(_product())}
    rows = causes.switches(cases)
    assert len(rows) == 2 * (1 + 4 + 6)
    found = {tuple(head): runs[0].rates[0] for head, runs in rows}
    order = _product()
    assert found["ns-3.40", "nothing"] == order.index(causes.OLD) and found["ns-3.44", "nothing"] == order.index(
        causes.NEW
    )
    assert found["ns-3.40", "delivery rate"] == order.index(causes.SAMPLER)
    assert found["ns-3.40", "NextSeg"] == order.index(causes.BUFFER)
    assert found["ns-3.44", "RTT shown to BBR + BBR's own file"] == order.index((*causes.NEW[:2], *causes.OLD[2:]))


def test_what_cures_the_starvation_is_counted_in_runs() -> None:
    cases: Cases = {case: [fair(30), split(5)] for case in _product()}
    assert [(one.held, one.runs, one.ours) for one in causes.cures(cases)] == [
        (1, 2, "1 of 2 runs without a starved flow"), (1, 2, "1 of 2")
    ]  # fmt: skip
    assert "1 of 2 runs starve nobody" in causes.both_needed(cases)


def test_a_map_of_little_buffer_shows_shares() -> None:
    one = Run(
        [{"goodput_mbps": 4.0, "retransmits": 3, "sent": 10}, {"goodput_mbps": 8.0, "retransmits": 0, "sent": 20}]
    )
    found = {name: value(one) for name, (_, value) in heatmap.VALUES.items()}
    assert found == pytest.approx({"Jain": 0.9, "utilisation": 12 * 1500 / 144_800, "loss": 0.1})
    still = Run([{"goodput_mbps": 0.0, "retransmits": 0, "sent": 0}])
    assert heatmap.VALUES["loss"][1](still) == 0.0


# --- bounds ----------------------------------------------------------------------------------------------------------


def held(part: papers.Part[Any], claim: str, cases: Cases) -> list[int]:
    """In how many runs a claim holds, choice by choice."""
    return [one.held for one in next(one for one in part.claims if one.id == claim).test(cases)]


def at_100(*rates: float, kept: Pacing | None = None) -> Cases:
    """Published runs, but for one of ns-3.40 at 100 packets."""
    return {**with_traces(as_published(), OLD), (OLD, "100"): [replace(run(*rates), kept=kept)]}


def counted(fast: int, starved: int) -> list[float]:
    return [FAST] * fast + [STARVED] * starved + [20.0] * (16 - fast - starved)


def test_bounds_of_how_many_starve() -> None:
    around = ((8, 6, 1), (12, 4, 1), (7, 6, 0), (13, 3, 0), (8, 8, 1), (10, 4, 1), (10, 3, 0), (7, 9, 0))
    for fast, starved, expected in around:
        assert held(table2.PART, "kat-01", at_100(*counted(fast, starved))) == [expected]
    for fast, starved, expected in ((9, 4, 1), (10, 6, 1), (8, 6, 0), (11, 4, 0), (9, 3, 0)):
        cases = as_published() | {(OLD, buffer): [run(*counted(fast, starved))] for buffer in ("500", "1000")}
        assert held(table2.PART, "kat-02", cases) == [expected] * 2
    # Approach 2 of the port: seven and nine.
    for fast, starved, expected in ((9, 5, 1), (7, 9, 1), (9, 4, 0), (6, 9, 0), (11, 5, 1), (12, 4, 0)):
        cases = {case: [run(*counted(fast, starved))] for case in _product()}
        assert held(causes.PART, "kat-12", cases) == [expected]


def test_bounds_of_totals_and_deviations() -> None:
    for buffer, total_ in (("100", 632.0), ("500", 574.8), ("1000", 577.9)):
        index = ("100", "500", "1000").index(buffer)
        for factor, expected in ((0.901, 1), (1.099, 1), (0.899, 0), (1.101, 0)):
            cases = as_published() | {(OLD, buffer): [run(*[factor * total_ / 16] * 16)]}
            assert held(table2.PART, "kat-03", cases)[index] == expected
    for claim, buffer, carried, deviates in (("kat-04", "2000", 850.3, 12.7), ("kat-05", "5000", 900.2, 3.3)):
        for of_total, of_deviation, expected in (
            (1.0, 0.51, 1), (1.0, 1.49, 1), (1.0, 0.49, 0), (1.0, 1.51, 0),
            (0.91, 1.0, 1), (0.89, 1.0, 0), (1.11, 1.0, 0),
        ):  # fmt: skip
            step = of_deviation * deviates * (15 / 16) ** 0.5
            middle = of_total * carried / 16
            cases = as_published() | {(OLD, buffer): [run(*[middle + step, middle - step] * 8)]}
            assert held(table2.PART, claim, cases) == [expected]

    def deviating(*steps: float) -> Cases:
        sizes = zip(("1000", "2000", "5000"), steps, strict=True)
        return as_published() | {(OLD, buffer): [run(*[50.0 + step, 50.0 - step] * 8)] for buffer, step in sizes}

    assert held(table2.PART, "kat-06", deviating(8.0, 4.0, 3.0)) == [1, 1]
    assert held(table2.PART, "kat-06", deviating(7.9, 4.0, 4.0)) == [0, 0]


def test_bounds_of_evenness() -> None:
    ranges = ((32, 47, [1, 1]), (31.9, 47, [0, 1]), (32, 47.1, [0, 1]), (24, 59, [0, 1]), (23.9, 47, [0, 0]))
    for low, high, both in (*ranges, (32, 59.1, [0, 0])):
        cases = as_published() | {(NEW, "100"): [run(*[40.0] * 14, low, high)]}
        assert held(table2.PART, "kat-09", cases) == both
    for quotient, expected in ((0.91, 1), (1.09, 1), (0.89, 0), (1.11, 0)):
        cases = as_published() | {(OLD, "100"): [run(*[40.0] * 16)], (NEW, "100"): [run(*[quotient * 40.0] * 16)]}
        assert held(table2.PART, "kat-10", cases) == [expected]
    assert [held(table2.PART, "kat-16", at_100(*[50.0] * 15, slowest)) for slowest in (1.0, 0.99)] == [[0], [1]]
    cases = {case: [run(*[40.0] * 16)] for case in _product()}
    assert held(causes.PART, "kat-13", cases) == held(causes.PART, "kat-15", cases) == [0]
    better = cases | {causes.SAMPLER: [run(*[40.0] * 16)], causes.OLD: [run(*[41.0] * 15, 40.0)]}
    assert held(causes.PART, "kat-13", better) == held(causes.PART, "kat-15", better) == [1]


def test_bounds_of_pacing() -> None:
    import polars as pl

    def paced(slowest: float, fastest: float) -> Pacing:
        rows = [(float(t), flow, [slowest, 50.0, fastest][flow], 1.0) for t in range(1, 51) for flow in range(3)]
        return Pacing(pl.DataFrame(rows, schema=["t_s", "flow", "pacing_mbps", "goodput_mbps"], orient="row"))

    for slowest, fastest, expected in ((0.1, 70, 1), (0.1, 110, 1), (0.11, 87, 0), (0.1, 69.9, 0), (0.1, 110.1, 0)):
        assert held(table2.PART, "kat-07", at_100(1.0, 2.0, kept=paced(slowest, fastest))) == [expected]

    def levels(low: float, high: float) -> Pacing:
        shares = [low] * 10 + [1.0] * 20 + [high] * 10
        rows = [(float(t), 5, 100 * shares[max(t - 11, 0)], 1.0) for t in range(1, 51)]
        return Pacing(pl.DataFrame(rows, schema=["t_s", "flow", "pacing_mbps", "goodput_mbps"], orient="row"))

    around = ((0.66, 1.34, 1), (0.84, 1.16, 1), (0.64, 1.25, 0), (0.86, 1.25, 0), (0.75, 1.36, 0), (0.75, 1.14, 0))
    for low, high, expected in around:
        cases = as_published() | {(NEW, "100"): [replace(fair(40), kept=levels(low, high))]}
        assert held(table2.PART, "kat-11", cases) == [expected]
