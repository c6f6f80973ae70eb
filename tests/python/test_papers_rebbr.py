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


def test_the_pictures_of_two_seeds_are_what_is_kept() -> None:
    cases = {case: as_published("fig4", case) for case in ROUND_TRIPS}
    altered.pictures_as_kept("rebbr-fig2", fig2.PART, figure_2())
    altered.pictures_as_kept("rebbr-fig3", fig3.PART, figure_3())
    altered.pictures_as_kept("rebbr-fig4", fig4.PART, figure_4(cases))
    altered.pictures_as_kept("rebbr-fig6", fig6.PART, figure_6(earlier(), 0.0))


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


# --- bounds ----------------------------------------------------------------------------------------------------------


def held(part: papers.Part[Any], claim: str, measured: object) -> list[int]:
    """In how many runs a claim holds, choice by choice."""
    return [one.held for one in next(one for one in part.claims if one.id == claim).test(measured)]


def flat(rate: float, capacity: float = 100.0, **other: float) -> Run:
    """A rate at every loss but some, which are written as ``at_20`` for 20 %."""
    losses = (1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
    rates = dict.fromkeys(losses, rate) | {float(name[3:]) / 100: value for name, value in other.items()}
    return Run(rates, rates, capacity)


def test_an_advantage_may_shrink_by_a_twentieth_and_has_to_grow_on_the_fast_links() -> None:
    def grows(*advantages: float) -> bool:
        bbr = {str(at): flat(value) for at, value in enumerate(advantages)}
        return fig3.advantage_grows((bbr, {case: flat(1.0) for case in bbr}))

    assert grows(20.0, 19.5, 19.0, 19.1, 19.2)
    assert not grows(20.0, 19.0, 20.0, 21.0, 22.0), "a twentieth less is no longer the same"
    assert not grows(1.0, 1.0, 2.0, 2.0, 3.0) and not grows(1.0, 1.0, 2.0, 3.0, 3.0)
    slow = ({"0.01 Mbit/s": flat(0.0149)}, {"0.01 Mbit/s": flat(0.0051, at_50=9.0)})
    assert fig3.alike(slow) and fig3.at_10_mbps(({"10 Mbit/s": flat(9.2, 10.0, at_50=0.0)}, {})) == pytest.approx(0.92)
    assert not fig3.alike(({"0.01 Mbit/s": flat(0.0151)}, slow[1]))
    assert not fig3.alike((slow[0], {"0.01 Mbit/s": flat(0.0051, at_40=0.0049)}))


def test_a_lead_is_the_least_over_the_losses_of_its_claim() -> None:
    bbr, cubic = {"a": flat(10.0, at_50=0.1)}, {"a": flat(5.0)}
    bbr["a"].egress[1e-4] = 1.0
    assert fig4.least_lead((bbr, cubic)) == 2.0
    bbr["a"].egress[0.4] = bbr["a"].egress[1e-3] = 7.5
    assert fig4.least_lead((bbr, cubic)) == 1.5
    pair = (flat(10.0, at_50=40.0), flat(5.0))
    pair[0].egress[1e-4] = 1.0
    assert fig1.least_lead(pair) == 2.0
    pair[0].egress[1e-3] = 6.0
    assert fig1.least_lead(pair) == 1.2
    seed = {"BBR": flat(10.0), "x": flat(5.0), "y": flat(8.0)}
    seed["BBR"].egress[1e-5] = 1.0
    assert fig2.least_lead(seed) == 1.25
    seed["BBR"].egress[1e-4] = 8.0
    assert fig2.least_lead(seed) == 1.0


def test_rates_fall_where_each_is_below_the_one_before() -> None:
    assert fig4.falls([3.0, 2.0, 1.0]) and not fig4.falls([3.0, 2.0, 2.0])

    def cubic(*rates: float) -> bool:
        return fig4.cubic_as_published(({}, {str(at): flat(rate) for at, rate in enumerate(rates)}))

    assert cubic(25.22 * 1.59, 9.0, 1.42 * 1.59, 0.8, 0.6) and cubic(25.22 / 1.59, 9.0, 1.42 / 1.59, 0.8, 0.6)
    assert not cubic(25.22 * 1.61, 9.0, 1.42, 0.8, 0.6) and not cubic(25.22, 9.0, 1.42 * 1.61, 0.8, 0.6)
    assert not cubic(25.22, 9.0, 1.42 / 1.61, 0.8, 0.6) and not cubic(25.22, 9.0, 1.42, 0.8, 0.8)


def test_bounds_of_figure_4_at_500_ms_and_at_2_ms() -> None:
    def of(first: float, last: float) -> fig4.Figure:
        cases: Cases = {
            "2 ms": {CUBIC: [flat(99.0)], UNPACED: [flat(first)]},
            "500 ms": {CUBIC: [flat(50.0)], UNPACED: [flat(last)]},
        }
        return fig4.Figure(cases, cases)

    assert [held(fig4.PART, "reb-18", of(99, last))[0] for last in (44.9, 45, 55, 55.1)] == [0, 1, 1, 0]
    near = [held(fig4.PART, "reb-15", of(first, 1))[0] for first in (88.3, 88.4, 108.0, 108.1)]
    assert near == [0, 1, 1, 0]
    assert held(fig4.PART, "reb-16", of(99.0, 60.0)) == [0] and held(fig4.PART, "reb-16", of(99.1, 50.1)) == [1]


def test_the_order_of_six_is_strict() -> None:
    def at(**rates: float) -> bool:
        names = {"bbr": "BBR", "cubic": CUBIC, "bic": "BIC", "westwood": "Westwood", "reno": "Reno", "vegas": "Vegas"}
        known = {"bbr": 90.0, "cubic": 97.0, "bic": 96.0, "westwood": 94.5, "reno": 80.0, "vegas": 70.0} | rates
        return fig2.near_nothing({names[name]: flat(rate) for name, rate in known.items()})

    assert at() and at(westwood=85.5)
    assert not any((at(cubic=90.0), at(bic=90.0), at(reno=90.0), at(vegas=90.0), at(westwood=95.0), at(westwood=85.0)))
    seed = {name: flat(rate) for name, rate in (("BBR", 9.0), ("BIC", 5.0), ("Westwood", 4.0), ("Reno", 1.0))}
    assert fig2.ranking(seed, 0.01) == ["BBR", "BIC", "Westwood", "Reno"] and fig2.runners_up(seed)
    seed["Reno"].egress[0.02] = 4.5
    assert not fig2.runners_up(seed)


def test_bounds_of_figure_1() -> None:
    def of(bbr: Run, cubic: Run | None = None) -> fig1.Figure:
        found = {UNPACED: [bbr], PACED: [bbr], CUBIC: [cubic or flat(1.0)]}
        labels = (*fig1.KNEES, fig1.WIDE, fig1.ENDLESS, fig1.AT_ONCE)
        return fig1.Figure(found, {label: [bbr] for label in labels})

    assert [held(fig1.PART, "reb-02", of(flat(rate, at_1=0.0)))[0] for rate in (93.9, 94.0)] == [0, 1]
    assert [held(fig1.PART, "reb-01", of(flat(95.0), flat(rate)))[0] for rate in (95.0, 95.1)] == [0, 1]
    assert [held(fig1.PART, "reb-07", of(flat(95.0), flat(rate)))[0] for rate in (9.5, 9.6)] == [1, 0]
    ideal = {at: 100 * (1 - at) for at in flat(0.0).egress}

    def kept(share: float, **other: float) -> Run:
        rates = {at: share * rate for at, rate in ideal.items()}
        return Run(rates | {float(name[3:]) / 100: rate for name, rate in other.items()}, {})

    assert [held(fig1.PART, "reb-03", of(kept(share, at_50=0.0)))[0] for share in (0.79, 0.81)] == [0, 1]
    for last, before, expected in ((14.9, 30.0, 1), (15.0, 30.0, 0), (1.0, 29.9, 0)):
        assert held(fig1.PART, "reb-04", of(kept(1.0, at_40=before, at_50=last)))[0] == expected
    for limits, expected in (
        ((34.9, 6.9, 1.9), 1),
        ((35.0, 6.9, 1.9), 0),
        ((34.9, 7.0, 1.9), 0),
        ((34.9, 6.9, 2.0), 0),
    ):
        cubic = flat(0.0)
        cubic.egress.update(zip(fig1.CUBICS, limits, strict=True))
        assert held(fig1.PART, "reb-06", of(flat(95.0), cubic)) == [expected]
    payload = {at: (1 - at) * 1448 / 1504 * 50 for at in ideal}
    for off, expected in ((0.029, 1), (-0.029, 1), (0.031, 0), (-0.031, 0)):
        for at in (0.2, 0.4):
            run = Run(dict.fromkeys(ideal, 50.0), payload | {at: payload[at] + 50 * off})
            assert held(fig1.PART, "reb-26", of(run)) == [expected]


def test_a_knee_of_a_paced_bbr_lies_between_15_and_25_per_cent() -> None:
    def knee_at(loss: float) -> Run:
        low, high = loss - 0.01, loss + 0.01
        return Run({low: 75.0 * (1 - low), high: 25.0 * (1 - high), 0.9: 0.0}, {})

    assert knee_at(0.2).knee == pytest.approx(0.2)
    for loss, expected in ((0.149, 0), (0.151, 1), (0.249, 1), (0.251, 0)):
        figure = fig1.Figure({}, {label: [knee_at(loss)] for label in fig1.KNEES})
        assert held(fig1.PART, "reb-05", figure) == [expected] * len(figure.paced())
    assert Run({0.1: 45.0, 0.2: 0.0}, {}).knee == 0.1, "half of the ideal line itself"
    assert Run({0.1: 90.0, 0.2: 40.0}, {}).knee is None


def test_bounds_of_figures_5_and_6() -> None:
    bbr, cubic = flat(3.0), flat(2.0)
    bbr.egress.update({1e-5: 2.0, 1e-4: 2.0})
    assert fig5.as_published((bbr, cubic))
    assert not fig5.as_published((flat(3.0), cubic)) and not fig5.as_published((bbr, flat(2.0, at_50=3.0)))
    for small, large, expected in ((0.69, 0.24, 1), (0.7, 0.24, 0), (0.69, 0.25, 0)):
        one = flat(0.0, 1.0)
        one.egress.update({1e-3: small, 0.01: large})
        assert held(fig5.PART, "reb-20", fig5.Figure({CUBIC: [one]}, 1.0)) == [expected]
    for rate, expected_6 in ((69.3, 0), (69.4, 1), (88.0, 1), (88.1, 0)):
        assert fig6.about_80_percent(flat(rate, at_1=0.0)) == bool(expected_6)
    assert all(fig6.about_80_percent(flat(rate)) for rate in (0.9 * 77.01, 1.1 * 80.07))
    both = (flat(95.0), flat(100.0), flat(21.0), flat(20.0))
    assert set(fig6.queue_quotients(both)) == {0.95, 1.05}
    assert fig6.fastest([flat(0.0), flat(0.0, at_50=1.0)]) == 1.0
    for values, expected in (((0.95, 1.05), 1), ((0.94, 1.0), 0), ((1.0, 1.06), 0)):
        usual = {label: [flat(100.0)] for label in (UNPACED, CUBIC)}
        behind = {label: [flat(100 * value)] for label, value in zip(usual, values, strict=True)}
        choices = {fig6.USUAL: usual, fig6.BEHIND_QUEUE: behind}
        assert held(fig6.PART, "reb-24", fig6.Figure({}, choices, {})) == [expected]


def test_ours_agree_within_a_tenth_and_a_factor() -> None:
    theirs = {case: curves.published_curves("fig3", case) for case in ("1 Mbit/s",)}["1 Mbit/s"]

    def agreeing(bbr: float, cubic: float) -> list[Any]:
        of = {UNPACED: [Run({at: bbr * rate for at, rate in theirs["bbr"].items()}, {})],
              CUBIC: [Run({at: cubic * rate for at, rate in theirs["cubic"].items()}, {})]}  # fmt: skip
        return list(curves.agreement({"1 Mbit/s": of}, "fig3", "link").rows[0])

    losses = sum(loss <= 0.3 for loss in theirs["bbr"])
    for bbr, cubic, near in ((1.09, 1.59, True), (0.92, 0.63, True), (1.11, 1.61, False), (0.9, 0.62, False)):
        count = losses if near else 0
        _, of_bbr, furthest, of_cubic = agreeing(bbr, cubic)
        assert (of_bbr, of_cubic) == (f"{count} of {losses}",) * 2 and furthest == pytest.approx(bbr)
