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
from dumbbell.papers.kato import buffers, causes, heatmap, measure, port, setups, table2, windows
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


def test_set_ups_are_scored_by_the_cells_of_table_2_they_give() -> None:
    lossless = [fair(56)]
    as_in_the_study = [[split(6)], [run(*[57.4] * 10, *[STARVED] * 6)], [run(*[57.7] * 10, *[STARVED] * 6)]]
    cases = {"right": [*as_in_the_study, [fair(53)], lossless], "fair": [lossless] * 5}
    published, right, unsplit = map(list, setups.agreement(cases).rows)
    assert published[1] == right[1] == "yes yes yes no no"
    assert (right[-3:], unsplit[1], unsplit[-3:]) == ([5, 5, 10], "no no no no no", [2, 2, 4])


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
