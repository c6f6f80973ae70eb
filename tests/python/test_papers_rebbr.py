"""ReBBR's figures 2, 3, 4 and 6: published numbers satisfy the claims, wrong ones do not."""

from __future__ import annotations

from typing import Any

import pytest

import altered
import dumbbell as db
from conftest import QuickPart
from dumbbell import experiment, papers
from dumbbell.papers.data import published
from dumbbell.papers.model import CONTRADICTED
from dumbbell.papers.rebbr import curves, fig1, fig2, fig3, fig4, fig5, fig6, window16
from dumbbell.papers.rebbr.curves import CUBIC, PACED, PUBLISHED_AS, UNPACED, Cases, Curves, Run
from dumbbell.papers.runs import Run as Point

RATES = ("0.01 Mbit/s", "0.1 Mbit/s", "1 Mbit/s", "10 Mbit/s", "100 Mbit/s")
ROUND_TRIPS = ("2 ms", "10 ms", "100 ms", "200 ms", "500 ms")


def as_published(part: str, case: str = "", capacity: float = 100.0) -> Curves:
    """Runs with the published rates; a paced BBR is as fast as CUBIC."""
    theirs = curves.published_curves(part, case)
    names = fig2.NAMES if part == "fig2" else PUBLISHED_AS
    rates = {label: theirs[cc] for label, cc in names.items()} | {PACED: theirs["cubic"]}
    return {label: [Run(egress, egress, capacity)] * 3 for label, egress in rates.items()}


def constant(cases: Cases, rate: float) -> Cases:
    """``cases`` with one rate everywhere."""

    def even(run: Run) -> Run:
        rates = dict.fromkeys(run.egress, rate)
        return Run(rates, rates)

    return {case: {label: [even(run) for run in runs] for label, runs in of.items()} for case, of in cases.items()}


def figure_2() -> curves.Figure:
    return curves.Figure(as_published("fig2"))


def figure_3() -> Cases:
    return {case: as_published("fig3", case, float(case.split()[0])) for case in RATES}


def figure_4(cases: Cases) -> fig4.Figure:
    endless = {case: {label: cases[case][label] for label in (CUBIC, UNPACED)} for case in ROUND_TRIPS[3:]}
    return fig4.Figure(cases, endless)


def figure_6(cases: Cases, slow: float, queue: float = 1.0) -> fig6.Figure:
    """The earlier run; ``queue`` is what a queue of one BDP does to the rate of BBR."""
    middle = cases["100 ms"]
    behind = {
        CUBIC: middle[CUBIC],
        UNPACED: [Run({loss: queue * rate for loss, rate in run.egress.items()}, {}) for run in middle[UNPACED]],
    }
    choices = dict.fromkeys((fig6.USUAL, fig6.DEFAULT, fig6.AS_THEN), middle) | {fig6.BEHIND_QUEUE: behind}
    nothing = constant({case: as_published("buffers", case) for case in RATES[:2]}, slow)
    return fig6.Figure(cases, choices, nothing)


def earlier() -> Cases:
    """By round-trip time; at 2 ms more than at 10 ms, where the study's log has less."""
    cases = {case: as_published("fig6", case) for case in ("2 ms", "10 ms", "100 ms", "1000 ms")}
    return cases | {"2 ms": {label: [Run(dict.fromkeys(run.egress, 96.0), {}) for run in of]
                             for label, of in cases["2 ms"].items()}}  # fmt: skip


def verdicts(part: papers.Part[Any], measured: object) -> dict[str, str]:
    return {one.claim.id: one.verdict for one in part.judge(measured)}


def test_the_published_numbers_satisfy_the_claims() -> None:
    cases = {case: as_published("fig4", case) for case in ROUND_TRIPS}
    found = (
        verdicts(fig2.PART, figure_2())
        | verdicts(fig3.PART, figure_3())
        | verdicts(fig4.PART, figure_4(cases))
        | verdicts(fig6.PART, figure_6(earlier(), 0.0))
    )
    assert found == {f"reb-{number:02}": "holds" for number in (*range(8, 19), 22, 23, 24, 25)}


def test_the_claims_say_of_other_numbers_what_is_kept() -> None:
    cases = {case: as_published("fig4", case) for case in ROUND_TRIPS}
    altered.same_as_kept("rebbr-fig2-published", fig2.PART, figure_2())
    altered.same_as_kept("rebbr-fig3-published", fig3.PART, figure_3())
    altered.same_as_kept("rebbr-fig4-published", fig4.PART, figure_4(cases))
    altered.same_as_kept("rebbr-fig6-published", fig6.PART, figure_6(earlier(), 0.0))


def test_equal_rates_everywhere_fail_them() -> None:
    even = curves.Figure(constant({"": as_published("fig2")}, 50.0)[""])
    same = constant({case: as_published("fig4", case) for case in ROUND_TRIPS}, 50.0)
    found = (
        verdicts(fig2.PART, even)
        | verdicts(fig3.PART, constant(figure_3(), 0.5))
        | verdicts(fig4.PART, figure_4(same))
        | verdicts(fig6.PART, figure_6(constant(earlier(), 50.0), 0.01, queue=0.9))
    )
    # What is the same everywhere is also the same for BBR and CUBIC.
    assert found.pop("reb-18") == "holds"
    assert set(found.values()) <= {"fails", CONTRADICTED}


@pytest.mark.parametrize(
    ("part", "points"),
    [(fig2.PART, [455]), (fig3.PART, [585]), (fig4.PART, [260, 65, 104]), (fig6.PART, [195, 144, 312])],
)
def test_the_experiment_files_are_valid(part: papers.Part[Any], points: list[int]) -> None:
    assert [len(experiment.load(one.file).points) for one in part.experiments] == points


def test_rates_and_set_ups_have_names() -> None:
    def run(settings: dict[str, str]) -> Any:
        return Point([{"base_rtt_ms": 100.0}], settings)

    assert fig3.rate(run({"links[1].trace": "[2, 3, 4, 5, 6]"})) == "10 Mbit/s"
    assert curves.round_trip(run({})) == "100 ms"
    settings = {"transport.receive_window": "3145728B", "links[1].buffer": "1250kB"}
    assert fig6.set_up(run(settings)) == fig6.AS_THEN
    usual = {"transport.receive_window": "6553600B", "links[1].buffer": "unlimited"}
    assert fig6.set_up(run(usual)) == fig6.USUAL


@pytest.mark.parametrize(("pacing", "loses"), [("off", True), ("auto", False)])
def test_the_senders_device_loses_what_an_unpaced_window_lets_out_at_once(pacing: str, loses: bool) -> None:
    points = {'sweep."links[1].loss"': ["0%"], "links[1].delay": "100ms", "transport.pacing": pacing, "duration": "15s"}
    (run,) = db.sweep(curves.FOLDER / "base.toml", set=points, jobs=1)
    assert [row["network_drops_total"] > 0 for row in run.flows.rows()] == [loses]


PARTS: tuple[papers.Part[Any], ...] = (fig1.PART, fig2.PART, fig3.PART, fig4.PART, fig5.PART)
ALL = {claim.id for part in PARTS for claim in part.claims}


def test_the_authors_report_satisfies_its_claims_and_their_second_run_fails_five() -> None:
    held: dict[str, set[str]] = {}
    for part in PARTS:
        for claim in part.claims:
            for one in part.theirs(claim):
                if one.decides and one.held:
                    held.setdefault(one.choice, set()).add(claim.id)
    report, second = held.values()
    assert ALL - report == {"reb-05", "reb-26"}, "these have no public run that could tell"
    assert ALL - second == {"reb-05", "reb-26", "reb-08", "reb-09", "reb-10", "reb-19", "reb-20"} | {
        claim.id for claim in fig4.CLAIMS
    }


def test_the_second_run_has_a_place_for_every_point() -> None:
    theirs = {part: {number.case["case"] for number in published(curves.FOLDER, f"window16/{part}")} for part in
              ("fig1", "fig2", "fig3", "fig4")}  # fmt: skip
    assert theirs == {"fig1": {""}, "fig2": {""}, "fig3": set(RATES), "fig4": set(ROUND_TRIPS)}
    cases = {(part, case): curves.of_authors(f"window16/{part}", case) for part, of in theirs.items() for case in of}
    same = window16.Figure(cases, {})
    assert (same.near(UNPACED), same.near(CUBIC)) == ((121, 121), (132, 132))
    halved = {key: {label: [Run({at: rate / 2 for at, rate in run.egress.items()}, {}) for run in runs]
                    for label, runs in of.items()} for key, of in cases.items()}  # fmt: skip
    assert window16.Figure(halved, {}).near(UNPACED)[0] == 0
    assert window16.Figure(halved, {}).near(CUBIC)[0] == 0


def test_with_windows_of_16_mib_the_sender_s_device_decides_at_500_ms() -> None:
    theirs = curves.published_curves("window16/fig4", "500 ms")["bbr"]
    losses = {"0.01%": 1e-4, "0.1%": 1e-3, "1%": 0.01}
    near: dict[str, list[bool]] = {"500packets": [], "unlimited": []}
    for buffer, found in near.items():
        points = {
            'sweep."links[1].loss"': list(losses),
            'sweep."flows[0].cc"': ["bbr-4-11"],
            'sweep."flows[0].label"': [UNPACED],
            'sweep."links[1].delay"': ["250ms"],
            "links[0].buffer": buffer,
            "transport.receive_window": "16MiB",
        }
        for run in db.sweep(curves.FOLDER / "fig4.toml", set=points, repeat=1, jobs=1).collect().flows.rows():
            of = theirs[losses[run["links[1].loss"]]]
            found.append(abs(run["throughput_mbps"] * curves.WIRE / of - 1) <= 0.1)
    assert near == {"500packets": [True] * 3, "unlimited": [False] * 3}


@pytest.mark.parametrize("part", ["fig1", "fig2", "fig3", "fig4", "fig6", "window16", "today"])
def test_a_quick_part_from_end_to_end(quick_part: QuickPart, part: str) -> None:
    quick_part("rebbr", part, 5_000)
