"""The family beside its promises: what its rules do, its claims, and the command."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import altered
import dumbbell as package
from conftest import QuickPart
from dumbbell import experiment, papers
from dumbbell.papers.family import buffers, coexistence, ecn, loss, measure, states, variants
from dumbbell.papers.family.measure import PAYLOAD, Runs, bdps, percent, percent_lost, share, where
from dumbbell.papers.family.states import Trace
from dumbbell.papers.model import Judgement
from dumbbell.papers.part import Ran
from dumbbell.papers.runs import Run

FAMILY = papers.load("family")


def run(settings: dict[str, Any], rates: list[float], **measured: float) -> Run:
    values = {"loss": 0.0, "capacity": 10.0, "queue_ms": 1.0, "marked": 0.0} | measured
    labels = ["family", "rival"] if len(rates) == 2 else ["family"] * len(rates)
    flows = [
        {"goodput_mbps": rate, "label": label, "sent": 1, "network_drops": values["loss"]}
        for rate, label in zip(rates, labels, strict=True)
    ]
    capacity = values["capacity"] / PAYLOAD
    link = {
        "capacity_mbps": capacity,
        "mean_queue_bytes": values["queue_ms"] * 1e3 * capacity / 8,
        "arrivals": 1,
        "marks": values["marked"],
    }
    return Run(flows, {key: str(value) for key, value in settings.items()}, link)


def verdicts(found: list[Judgement]) -> dict[str, str]:
    return {one.claim.id: one.verdict for one in found}


def test_a_share_is_the_mean_of_a_side_over_the_mean_of_all() -> None:
    one = run({}, [6.0, 2.0])
    assert (share(one, "family"), share(one, "rival")) == (1.5, 0.5)


def test_runs_are_found_by_the_last_part_of_a_swept_key() -> None:
    runs = [run({"flows[0].cc": cc, "flows[1].cc": "reno", "path.buffer": "1bdp"}, [1.0]) for cc in ("bbr", "bbr2")]
    assert where(runs, cc_0="bbr2", cc_1="reno", buffer="1bdp") == runs[1:]
    assert where(runs, cc_0="bbr2", cc_1="cubic") == []


def of_buffers(lossy: Callable[[str, float], float]) -> Runs:
    """Runs at every buffer with a given loss; BBR queues 1 ms and fills the link, the others queue all of it."""
    sizes = (0.1, 0.5, 1.0, 1.5, 3.0, 5.0, 10.0)
    return [
        run(
            {"flows[0].cc": cc, "flows[0].count": count, "path.rate": rate, "path.buffer": f"{size}bdp"},
            # Version 2's flows are unequal.
            [9.0 + 0.4 * (cc == "bbr")] if count == "1" else [6.0, 3.0] if cc == "bbr2" else [4.5, 4.5],
            loss=lossy(cc, size),
            queue_ms=1.0 if cc.startswith("bbr") else 40 * size,
        )
        for count, rate in buffers.SITUATIONS.values()
        for cc in ("bbr", "bbr2", "bbr3", "cubic", "reno")
        for size in sizes
    ]


def test_losses_as_promised_satisfy_the_claims_of_the_buffers() -> None:
    def lossy(cc: str, size: float) -> float:
        return {"bbr": 0.1 if size < 2 else 0.0, "bbr2": 0.01, "bbr3": 0.015}.get(cc, 0.001)

    found = verdicts(buffers.PART.judge(of_buffers(lossy)))
    assert found.pop("fam-12") == "depends", "only version 1 has more than CUBIC"
    assert set(found.values()) == {"holds"}


def test_equal_losses_fail_the_claims_of_the_buffers() -> None:
    found = verdicts(buffers.PART.judge(of_buffers(lambda cc, size: 0.05)))
    assert {found[claim] for claim in ("fam-07", "fam-08", "fam-09", "fam-10", "fam-11")} == {"fails"}


def test_a_run_that_gives_everything_to_one_side_fails_coexistence() -> None:
    def paths(rates: list[float], v1: list[float]) -> dict[str, Runs]:
        def runs(**more: str) -> Runs:
            return [
                run(
                    {"flows[0].cc": cc, "flows[1].cc": rival, "path.buffer": size, **more},
                    v1 if cc == "bbr" else rates,
                )
                for cc in ("bbr", "bbr2", "bbr3")
                for rival in coexistence.RIVALS
                for size in ("0.5bdp", "5bdp")
            ]

        slow = runs(**{"flows[0].count": "1", "flows[1].count": "1"})
        return {coexistence.SLOW_PATH: slow, coexistence.FAST_PATH: runs()}

    fair = verdicts(coexistence.PART.judge(paths([5.0, 5.0], v1=[4.0, 6.0])))
    assert set(fair.values()) == {"holds"}
    greedy = verdicts(coexistence.PART.judge(paths([9.9, 0.1], v1=[6.0, 4.0])))
    assert {greedy[claim] for claim in ("fam-15", "fam-16", "fam-17", "fam-18", "fam-19")} == {"fails"}


def of_ecn(marked: float, with_marks: float, far: float) -> Runs:
    return [
        run(
            {"flows[0].cc": cc, "flows[0].transport.ecn": on, "path.rtt": rtt, "flows[0].count": count,
             "path.queue.threshold": f"{threshold}packets"},
            [96.0],
            capacity=96.5,
            queue_ms=(with_marks if rtt == "2ms" else far) if on == "true" else 10.0,
            marked=marked if on == "true" else 0.0,
        )
        for cc, on in ecn.SENDERS.values()
        for rtt in ("2ms", "20ms")
        for count in ("1", "4")
        for threshold in (3, 5, 10, 20, 50, 100)
    ]  # fmt: skip


def test_marks_must_shorten_the_queue_near_and_not_far() -> None:
    assert set(verdicts(ecn.PART.judge(of_ecn(0.4, 2.0, 10.0))).values()) == {"holds"}
    found = verdicts(ecn.PART.judge(of_ecn(0.7, 9.0, 2.0)))
    assert {found[claim] for claim in ("fam-20", "fam-21", "fam-23")} == {"fails"}


def of_loss(knees: dict[str, float], cubic: float) -> Runs:
    def goodput(cc: str, p: float) -> float:
        return 95 * (1 - p) if p < knees.get(cc, 0) else 4.0 if cc in knees else cubic

    losses = ("0.1%", "1%", "2%", "3%", "5%", "10%", "15%", "20%", "25%", "30%")
    return [
        run({"flows[0].cc": cc, "path.loss": p}, [goodput(cc, percent(p))], capacity=100.0)
        for cc in ("bbr", "bbr2", "bbr3", "cubic", "reno")
        for p in losses
    ]


def test_knees_where_they_are_promised_satisfy_the_claims_of_random_loss() -> None:
    assert set(verdicts(loss.PART.judge(of_loss({"bbr": 0.2, "bbr2": 0.02, "bbr3": 0.02}, 1.0))).values()) == {"holds"}
    found = verdicts(loss.PART.judge(of_loss({"bbr": 0.01, "bbr2": 0.5, "bbr3": 0.5}, 20.0)))
    assert {found[claim] for claim in ("fam-24", "fam-25", "fam-27", "fam-30")} == {"fails"}


def test_the_claims_say_of_other_numbers_what_is_kept() -> None:
    def lossy(cc: str, size: float) -> float:
        return {"bbr": 0.1 if size < 2 else 0.005, "bbr2": 0.01, "bbr3": 0.015}.get(cc, 0.001)

    knees = {"bbr": 0.2, "bbr2": 0.02, "bbr3": 0.02}
    altered.same_as_kept("family-buffers-promised", buffers.PART, of_buffers(lossy), 60)
    altered.same_as_kept("family-ecn-promised", ecn.PART, of_ecn(0.4, 4.0, 10.0))
    altered.same_as_kept("family-loss-promised", loss.PART, of_loss(knees, 1.0))


def test_the_pictures_of_two_seeds_are_what_is_kept() -> None:
    sizes = {"bbr": 0.1, "bbr2": 0.01, "bbr3": 0.015}
    altered.pictures_as_kept("family-buffers", buffers.PART, of_buffers(lambda cc, size: sizes.get(cc, 0.001)))
    altered.pictures_as_kept("family-ecn", ecn.PART, of_ecn(0.4, 4.0, 10.0))
    altered.pictures_as_kept("family-loss", loss.PART, of_loss({"bbr": 0.2, "bbr2": 0.02, "bbr3": 0.02}, 1.0))


def traced(cc: str) -> Trace:
    (single,) = package.sweep(states.PART.experiments[0].file, set={"sweep": {"flows[0].cc": [cc]}, "duration": "12s"})
    return Trace.of(single)


def test_a_trace_tells_the_states_in_their_order() -> None:
    trace = traced("bbr")
    assert [mode for mode, _, _ in trace.stays()] == ["startup", "drain", "probe_bw", "probe_rtt", "probe_bw"]
    ((begin, length, least),) = states.visits(trace)
    assert 9.9 < begin < 10.3
    assert 0.2 < length < 0.3
    assert least <= 4
    assert 0.95 < states.share_of(trace, "probe_bw") < 0.99


@pytest.mark.parametrize(
    ("visit", "holds"),
    [
        ((10.0, 0.25, 4.0), True),
        ((8.9, 0.25, 4.0), False),
        ((11.1, 0.25, 4.0), False),
        ((10.0, 0.19, 4.0), False),
        ((10.0, 0.31, 4.0), False),
        ((10.0, 0.25, 0.0), False),
        ((10.0, 0.25, 5.0), False),
    ],
)
def test_a_visit_of_probe_rtt_has_its_time_its_length_and_its_packets(
    visit: tuple[float, float, float], holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "visits", lambda trace: [visit])
    trace: Any = None
    assert states.visited((9.0, 11.0), (1.0, 4.0))(trace) is holds


def test_version_3_probes_longer_and_starts_with_less_queue_than_version_2() -> None:
    second, third = traced("bbr2"), traced("bbr3")
    assert states.startup_queue(third) < 0.7 * states.startup_queue(second)
    lengths = [sum(b - a for _, a, b in t.stays("probe_bw_up")) / len(t.stays("probe_bw_up")) for t in (second, third)]
    assert lengths[1] > 2.5 * lengths[0]


def test_one_parameter_turns_version_2s_losses_into_version_3s() -> None:
    kinds = ["bbr2", "bbr3", {"name": "bbr2", "up_exit": "plateau"}, {"name": "bbr2", "up_window_gain": 2.25}]
    document = {
        "duration": "30s", "warmup": "5s", "path": {"rate": "10mbit", "rtt": "40ms", "buffer": "1bdp"},
        "flows": [{"cc": "bbr2", "count": 3, "start_jitter": "1s"}], "sweep": {"flows[0].cc": kinds},
    }  # fmt: skip
    second, third, longer, wider = (percent_lost(one) for one in Ran(package.sweep(document).collect(), [], {}).runs)
    assert second < 0.3 > wider
    assert third > 0.6 < longer


@pytest.mark.parametrize(
    ("part", "points"),
    [(states, [3, 2]), (variants, [480, 192, 12]), (buffers, [600]), (coexistence, [486, 162]), (ecn, [432]),
     (loss, [285])],
)  # fmt: skip
def test_the_experiment_files_are_valid(part: ModuleType, points: list[int]) -> None:
    assert [len(experiment.load(one.file).points) for one in part.PART.experiments] == points


def test_units_of_settings_are_read() -> None:
    assert (bdps("0.5bdp"), percent("0.1%")) == (0.5, 0.001)


@pytest.mark.parametrize("part", [part.name for part in FAMILY.parts])
def test_a_quick_part_from_end_to_end(quick_part: QuickPart, part: str) -> None:
    assert quick_part("family", part, 10_000)["caveats"]


def test_steps_keep_the_first_the_last_and_every_change() -> None:
    samples = pl.DataFrame({"t_s": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "gain": [1.0, 1.0, 1.25, 1.25, 0.75, 0.75]})
    assert variants.steps(samples, "gain")["t_s"].to_list() == [0.0, 2.0, 4.0, 5.0]


def test_numbers_of_a_run_are_those_of_its_flows_and_its_link() -> None:
    one = run({"path.loss": "20%"}, [6.0, 2.0], capacity=10.0, queue_ms=4.0, marked=0.25)
    link = {**one.link, "arrivals": 8, "marks": 2}
    flows = [{**flow, "sent": 30, "network_drops": 3} for flow in one.flows]
    found = Run(flows, one.settings, link)
    assert (measure.capacity(found), measure.utilisation(found), measure.percent_used(found)) == pytest.approx(
        (10, 0.8, 80)
    )
    assert measure.possible(found) == pytest.approx(1.0)
    assert (measure.percent_lost(found), measure.percent_marked(found)) == pytest.approx((10.0, 25.0))
    assert (measure.queue_ms(found), measure.queued(found)) == pytest.approx((4.0, 4 * 10 / (8 * 1.448)))
    nothing = Run(
        [{"sent": 0, "network_drops": 0, "goodput_mbps": 0.0, "label": "family"}], {}, {"marks": 0, "arrivals": 0}
    )
    assert (measure.percent_lost(nothing), measure.percent_marked(nothing), share(nothing)) == (0.0, 0.0, 0.0)
    sizes = [run({"path.buffer": f"{size}bdp"}, [1.0]) for size in (0.5, 1, 10, 11)]
    assert measure.sized(sizes, 1) == sizes[1:3] and measure.sized(sizes, 0.6, 0.9) == []
    assert measure.buffers(sizes[:2]) == {"BDP: 0.5": "0.5bdp", "BDP: 1": "1bdp"}
    assert measure.setting(found, "loss") == "20%" and measure.setting(found, "cc_0") == ""


def course(*samples: tuple[float, str, float, float, float]) -> Trace:
    """Time, mode, queue, in flight and round of each sample."""
    columns = ["t_s", "mode", "queue_packets", "inflight", "cc_round"]
    return Trace(pl.DataFrame(samples, schema=columns, orient="row"))


def test_stays_begin_and_end_where_a_mode_does() -> None:
    trace = course(
        (0.0, "startup", 1, 10, 0), (1.0, "startup", 70, 20, 5), (2.0, "drain", 80, 20, 6),
        (3.0, "probe_bw_up", 90, 20, 7), (5.0, "probe_rtt", 0, 4, 8), (6.0, "probe_rtt", 0, 3, 9),
        (7.0, "probe_bw_down", 2, 20, 9), (13.0, "probe_rtt", 0, 5, 9),
    )  # fmt: skip
    assert trace.stays() == [
        ("startup", 0.0, 2.0), ("drain", 2.0, 3.0), ("probe_bw_up", 3.0, 5.0), ("probe_rtt", 5.0, 7.0),
        ("probe_bw_down", 7.0, 13.0), ("probe_rtt", 13.0, 13.0),
    ]  # fmt: skip
    assert [stay[1] for stay in trace.stays("probe_bw")] == [3.0, 7.0]
    # Of the ten seconds after DRAIN eight.
    assert states.share_of(trace, "probe_bw") == pytest.approx(0.8)
    assert states.visits(trace) == [(5.0, 2.0, 3.0), (13.0, 0.0, 5.0)]
    assert states.startup_queue(trace) == pytest.approx(90 / states.BDP_PACKETS)
    assert states.rounds(trace) == 6.0
    assert states.told(trace) == "5.0 s for 2000 ms with 3; 13.0 s for 0 ms with 5"
    assert trace.between(1.0, 3.0).height == 3
    assert [states.cycle_of(trace, after) for after in (2.9, 3.0)] == [3.0, 3.0]
    assert states.cycle_of(course((0.0, "startup", 0, 0, 0)), 1.5) == 1.5


def test_bounds_of_the_states_are_those_of_the_text() -> None:
    def draining(queue: float, rounds: float = 5) -> Trace:
        packets = queue * states.BDP_PACKETS
        return course((0.0, "startup", 0, 9, 0), (1.0, "drain", packets, 9, rounds), (2.0, "probe_bw", 0, 9, 9))

    def held(claim: int, **alone: Trace) -> bool:
        return bool(states.CLAIMS[claim].test(states.Measured(alone, {}))[0].held)

    def starting(rounds: float, queue: float) -> bool:
        return held(0, bbr=draining(queue, rounds))

    assert [starting(9, 2.29), starting(10, 2.29), starting(9, 2.31)] == [True, False, False]

    def third(queue: float, of_first: float) -> bool:
        return held(4, bbr=draining(of_first), bbr3=draining(queue))

    assert [third(1.49, 1.6), third(1.51, 1.6), third(1.2, 1.2)] == [True, False, False]

    def probing(share: float) -> bool:
        end = 100 * share
        modes = ((0.0, "drain"), (0.0, "probe_bw"), (end, "probe_rtt"), (100.0, "x"))
        return held(1, bbr=course(*((at, mode, 0.0, 9.0, 0.0) for at, mode in modes)))

    assert [probing(share) for share in (0.96, 0.97, 0.98, 0.99, 1.0)] == [False, True, True, True, False]

    def often(claim: int, cc: str, gap: float, flying: float) -> bool:
        modes = ((0.0, "x", 99.0), (gap, "probe_rtt", flying), (gap + 0.25, "x", 99.0))
        return held(claim, **{cc: course(*((at, mode, 0.0, inflight, 0.0) for at, mode, inflight in modes))})

    assert [often(2, "bbr", gap, 4) for gap in (9.8, 9.9, 10.5, 10.6)] == [False, True, True, False]
    assert [often(2, "bbr", 10.0, flying) for flying in (0.9, 1, 4, 5)] == [False, True, True, False]
    assert [often(3, "bbr3", gap, 16) for gap in (4.8, 4.9, 5.7, 5.8)] == [False, True, True, False]
    assert [often(3, "bbr3", 5.0, flying) for flying in (13, 14, 20, 21)] == [False, True, True, False]


def test_the_unevenness_of_two_sides_is_the_logarithm_of_their_quotient() -> None:
    import math

    assert coexistence.unevenness(run({}, [6.0, 2.0])) == pytest.approx(math.log(3))
    assert coexistence.unevenness(run({}, [2.0, 6.0])) == pytest.approx(math.log(3))
    assert coexistence.unevenness(run({}, [0.0, 1.0])) == pytest.approx(math.log(2e6))


def test_a_picture_of_gains_begins_where_all_runs_have_samples() -> None:
    def drawn(end: float) -> tuple[float, float]:
        times = [0.0, 0.7, 2.9, 3.1, 6.1, min(8.3, end), end]
        samples = pl.DataFrame({"t_s": times, "cc_pacing_gain": [float(at) for at in range(7)]})
        found = variants.pictures(variants.Measured([], [], {"bbr": samples, "bbr2": samples}))
        low, high = found["gains"].axes[0].get_xlim()
        return low, high

    assert drawn(8.4)[1] > 1.5 and drawn(8.4) != drawn(8.3)


# --- bounds ----------------------------------------------------------------------------------------------------------


def counts(part: papers.Part[Any], claim: str, measured: object) -> set[int]:
    """In how many runs a claim holds, over its choices."""
    return {one.held for one in next(one for one in part.claims if one.id == claim).test(measured)}


@pytest.mark.parametrize(
    ("claim", "cc", "buffer", "lost", "expected"),
    [
        ("fam-06", "bbr", "1bdp", 2.0, 0), ("fam-06", "bbr", "1bdp", 2.01, 1), ("fam-06", "bbr", "0.1bdp", 2.01, 1),
        ("fam-07", "bbr", "3bdp", 1.0, 0), ("fam-07", "bbr", "3bdp", 0.99, 1), ("fam-07", "bbr", "10bdp", 0.99, 1),
        ("fam-10", "bbr2", "10bdp", 2.0, 1), ("fam-10", "bbr2", "0.1bdp", 2.01, 0),
        ("fam-11", "bbr3", "10bdp", 2.0, 1), ("fam-11", "bbr3", "0.1bdp", 2.01, 0),
    ],
)  # fmt: skip
def test_bounds_of_loss_at_a_buffer(claim: str, cc: str, buffer: str, lost: float, expected: int) -> None:
    others = {"fam-06": ("1.01bdp", 3.0), "fam-07": ("2.9bdp", 0.0)}.get(claim, ("11bdp", 0.0))
    runs = [
        run(
            {"flows[0].cc": cc, "flows[0].count": count, "path.rate": rate, "path.buffer": size}, [1.0], loss=loss / 100
        )
        for count, rate in buffers.SITUATIONS.values()
        for size, loss in ((buffer, lost), others)
    ]
    assert counts(buffers.PART, claim, runs) == {expected}


def test_bounds_of_comparisons_over_buffers() -> None:
    def both(cc: str, other: str, size: str, **values: tuple[Any, Any]) -> Runs:
        return [
            run(
                {"flows[0].cc": name, "flows[0].count": count, "path.rate": rate, "path.buffer": size},
                list(values.get("rates", ((4.0, 4.0),) * 2)[at]),
                loss=values.get("loss", (0.0, 0.0))[at],
                queue_ms=values.get("queue_ms", (1.0, 1.0))[at],
            )
            for count, rate in buffers.SITUATIONS.values()
            for at, name in enumerate((cc, other))
        ]

    for claim, cc in (("fam-08", "bbr2"), ("fam-09", "bbr3")):
        losses = ((0.01, 0.02), (0.02, 0.02))
        assert [counts(buffers.PART, claim, both(cc, "bbr", "1.5bdp", loss=loss)) for loss in losses] == [{1}, {0}]
    even = (([3.0, 3.0], [3.0, 2.9]), ([3.0, 3.0], [3.0, 3.0]))
    assert [counts(buffers.PART, "fam-31", both("bbr3", "bbr2", "1bdp", rates=of)) for of in even] == [{1}, {0}]

    def versions(size: str, rate: float, queue: float) -> Runs:
        pairs = [(cc, (rate,), queue) for cc in ("bbr", "bbr2", "bbr3")] + [
            (cc, (5.0,), 8.0) for cc in ("cubic", "reno")
        ]
        return [
            run(
                {"flows[0].cc": cc, "flows[0].count": "1", "path.rate": "50mbit", "path.buffer": size},
                list(rates),
                queue_ms=ms,
            )
            for cc, rates, ms in pairs
        ]

    assert [counts(buffers.PART, "fam-12", versions("0.1bdp", rate, 1.0)) for rate in (5.01, 5.0)] == [{1}, {0}]
    for size in ("5bdp", "10bdp"):
        assert [counts(buffers.PART, "fam-13", versions(size, 1.0, queue)) for queue in (3.9, 4.1)] == [{1}, {0}]


def test_bounds_of_shares_beside_a_rival() -> None:
    def paths(share: float, first: float, size: str = "5bdp") -> dict[str, Runs]:
        def runs(**counts: str) -> Runs:
            return [
                run({"flows[0].cc": cc, "flows[1].cc": rival, "path.buffer": size, **counts},
                    [5 * one, 10 - 5 * one])
                for cc, one in (("bbr", first), ("bbr2", share), ("bbr3", share))
                for rival in coexistence.RIVALS
            ]  # fmt: skip

        alone = {"flows[0].count": "1", "flows[1].count": "1"}
        return {coexistence.SLOW_PATH: runs(**alone), coexistence.FAST_PATH: runs()}

    shares = (0.49, 0.51, 1.49, 1.51)
    assert [counts(coexistence.PART, "fam-14", paths(1.0, one)) for one in shares] == [{0}, {1}, {1}, {0}]
    for claim in ("fam-18", "fam-19"):
        for size in ("0.25bdp", "10bdp"):
            found = [counts(coexistence.PART, claim, paths(one, 1.0, size)) for one in shares]
            assert found == [{0}, {1}, {1}, {0}]
    assert [counts(coexistence.PART, "fam-15", paths(1.0, one)) for one in (0.99, 1.0)] == [{1}, {0}]
    for claim in ("fam-16", "fam-17"):
        assert [counts(coexistence.PART, claim, paths(one, 1.5, "1.5bdp")) for one in (1.4, 1.5, 1.6)] == [
            {1},
            {0},
            {0},
        ]


def test_bounds_of_marks() -> None:
    assert [counts(ecn.PART, "fam-21", of_ecn(marked, 1.0, 10.0)) for marked in (0.499, 0.501)] == [{6}, {0}]
    assert [counts(ecn.PART, "fam-20", of_ecn(0.1, near, 10.0)) for near in (4.99, 5.01)] == [{4}, {0}]
    assert [counts(ecn.PART, "fam-23", of_ecn(0.1, 1.0, far)) for far in (4.99, 5.01)] == [{0}, {6}]

    def used(rate: float) -> Runs:
        runs = of_ecn(0.1, 1.0, 10.0)
        return [
            Run([{**flow, "goodput_mbps": rate} for flow in one.flows], one.settings, one.link)
            if one.settings["flows[0].transport.ecn"] == "true" else one
            for one in runs
        ]  # fmt: skip

    # Two of a hundred less than 96 of 96.5 Mbit/s.
    assert [counts(ecn.PART, "fam-22", used(rate)) for rate in (94.06, 94.08)] == [{0}, {4}]
    assert [ecn.in_words(count) for count in ("1", "4")] == ["1 flow", "4 flows"]


def test_bounds_of_random_loss() -> None:
    def of(cc: str, p: str, possible: float) -> Runs:
        losses = ("0.1%", "1%", "2%", "3%", "5%", "10%", "15%", "20%", "25%", "30%")
        names = ("bbr", "bbr2", "bbr3", "cubic")
        return [
            run({"flows[0].cc": name, "path.loss": one},
                [possible * (1 - percent(one)) if (name, one) == (cc, p) else 1.0], capacity=100.0)
            for name in names for one in losses
        ]  # fmt: skip

    def held(claim: str, cc: str, p: str, values: tuple[float, float]) -> list[set[int]]:
        return [counts(loss.PART, claim, of(cc, p, value)) for value in values]

    assert held("fam-24", "bbr", "5%", (89.9, 90.1)) == [{0}, {1}] and held("fam-24", "bbr", "0.1%", (89.9, 90.1)) == [
        {0},
        {1},
    ]
    assert held("fam-25", "bbr", "15%", (74.9, 75.1)) == [{0}, {1}] and held("fam-25", "bbr", "10%", (74.9, 75.1)) == [
        {0},
        {1},
    ]
    assert held("fam-26", "bbr", "20%", (24.9, 25.1)) == [{3}, {2}]
    assert held("fam-28", "bbr2", "1%", (89.9, 90.1)) == held("fam-29", "bbr3", "1%", (89.9, 90.1)) == [{0}, {1}]

    def stalls(p: str, rate: float) -> bool:
        return loss.stalls(run({"path.loss": p}, [rate]))

    assert [stalls("0.1%", 9.9), stalls("0.1%", 10.0), stalls("2%", 1.4), stalls("2%", 1.5)] == [
        True,
        False,
        True,
        False,
    ]

    def beside(third: float, cubic: float) -> Runs:
        rates = {"bbr2": third, "bbr3": third, "cubic": cubic}
        return [run({"flows[0].cc": cc, "path.loss": "3%"}, [rate], capacity=100.0) for cc, rate in rates.items()]

    pairs = ((48.4, 48.3), (48.6, 1.0), (40.0, 40.0))
    assert [counts(loss.PART, "fam-30", beside(*pair)) for pair in pairs] == [{1}, {0}, {0}]
