"""Six results of the field: each part from end to end, and the model that one of the papers has."""

from itertools import product
from typing import Any

import pytest

import snapshots
from conftest import QuickPart
from described import described
from dumbbell import papers
from dumbbell.papers.family.measure import PAYLOAD
from dumbbell.papers.field import bbr3, cacm, figures, measure, prague, shades, starvation, ware
from dumbbell.papers.field.ware import model
from dumbbell.papers.runs import Run


@pytest.mark.parametrize("part", [part.name for part in papers.load("field").parts])
def test_a_quick_part_from_end_to_end(part: str, quick_part: QuickPart) -> None:
    quick_part("field", part, 5_000)


def test_wares_model_takes_what_loss_based_flows_leave_and_the_time_in_probe_rtt() -> None:
    # 8 BDP are 266.7 packets: 1/2 - 1/16 - 4/266.7 for the others; (0.32 + 0.2 + 0.04) s of every 10 s.
    assert model(8) == pytest.approx((1 - 0.4225) * (1 - 0.056))
    assert model(2) > model(8) > model(64)


# --- bounds ----------------------------------------------------------------------------------------------------------

CAPACITY = 100.0


def run(*rates: float, queue_ms: float = 1.0, again: int = 0, **settings: Any) -> Run:
    """Flows over 100 Mbit/s of payload, and what a sweep set: ``cc_0`` is the algorithm of flow 0."""
    capacity = CAPACITY / PAYLOAD
    flows = [{"goodput_mbps": rate, "retransmits_total": again} for rate in rates]
    link = {"capacity_mbps": capacity, "mean_queue_bytes": queue_ms * 1e3 * capacity / 8}
    known = {
        f"flows[{name[-1]}].{name[:-2]}" if name[-2:-1] == "_" else f"path.{name}": of for name, of in settings.items()
    }
    return Run(flows, known, link)


def shared(part: float, **settings: Any) -> Run:
    """Two flows, of which the first has so much of 10 Mbit/s."""
    return run(10 * part, 10 - 10 * part, **settings)


def held(part: papers.Part[Any], claim: str, measured: object) -> list[int]:
    """In how many runs a claim holds, choice by choice."""
    return [one.held for one in next(one for one in part.claims if one.id == claim).test(measured)]


def test_parts_and_ratios_of_flows() -> None:
    assert (measure.part(run(1.0, 3.0)), measure.ratio(run(1.0, 3.0)), measure.ratio(run(4.0, 2.0))) == (0.25, 3.0, 2.0)
    assert (measure.part(run(0.0, 0.0)), measure.ratio(run(0.0, 0.0))) == (0.0, 0.0)
    assert measure.ratio(run(0.0, 2.0)) == pytest.approx(2_000)
    assert measure.seeds({"a": [run(1.0, 3.0), run(1.0, 1.0)], "b": [run(1.0, 0.0)]}, measure.part) == [
        [0.25, 0.5],
        [1.0],
    ]


@pytest.mark.parametrize(
    ("claim", "cc", "loss", "bounds"),
    [
        ("fld-01", "cubic", "0.1%", ((4.9, 0), (5.1, 1), (19.9, 1), (20.1, 0))),
        ("fld-02", "cubic", "2%", ((1.9, 1), (2.1, 0))),
        ("fld-02", "cubic", "50%", ((1.9, 1), (2.1, 0))),
        ("fld-03", "bbr", "0%", ((89.9, 0), (90.1, 1))),
        ("fld-03", "bbr", "5%", ((85.4, 0), (85.6, 1))),
        ("fld-04", "bbr", "10%", ((67.4, 0), (67.6, 1))),
        ("fld-04", "bbr", "15%", ((63.7, 0), (63.8, 1))),
    ],
)
def test_bounds_of_goodput_with_random_loss(
    claim: str, cc: str, loss: str, bounds: tuple[tuple[float, int], ...]
) -> None:
    # Losses next to those that a claim speaks of, at which it would hold.
    beside = {"fld-01": ("0.09%", "0.11%"), "fld-02": ("1.9%",), "fld-03": ("5.1%",), "fld-04": ("9.9%", "15.1%")}
    would_hold = {"fld-01": 9.0, "fld-02": 1.0, "fld-03": 99.0, "fld-04": 99.0}[claim]
    others = [run(would_hold, cc_0=cc, loss=other) for other in beside[claim]]
    for rate, expected in bounds:
        figures = cacm.Figures([run(rate, cc_0=cc, loss=loss), *others], [], [])
        assert held(cacm.PART, claim, figures) == [expected]


def test_bounds_of_queues_and_of_five_flows() -> None:
    def first(cc: str, queue_ms: float) -> cacm.Figures:
        return cacm.Figures([], [run(1.0, queue_ms=queue_ms, cc_0=cc, buffer="2bdp")], [])

    assert [held(cacm.PART, "fld-05", first("bbr", queue)) for queue in (9.9, 10.1)] == [[1], [0]]
    queues = (47.9, 48.1, 79.9, 80.1)
    assert [held(cacm.PART, "fld-06", first("cubic", queue)) for queue in queues] == [[0], [1], [1], [0]]
    fair, unfair = [run(1.0, 1.0, 1.0, 1.0, 1.59)], [run(1.0, 1.0, 1.0, 1.0, 1.65)]
    assert [held(cacm.PART, "fld-07", cacm.Figures([], [], one)) for one in (fair, unfair)] == [[1], [0]]


def test_bounds_of_one_flow_beside_many() -> None:
    def beside(part: float, buffer: str = "2bdp", count: str = "16") -> Run:
        return shared(part, cc_1="cubic", count_1=count, buffer=buffer)

    assert [held(ware.PART, "fld-08", [beside(part)])[0] for part in (0.29, 0.31, 0.49, 0.51)] == [0, 1, 1, 0]
    for one, many, expected in ((0.3, 0.39, 1), (0.39, 0.3, 1), (0.3, 0.41, 0), (0.41, 0.3, 0)):
        pair = [beside(one, "4bdp", "1"), beside(many, "4bdp"), beside(0.9, "3.9bdp", "1"), beside(0.1, "3.9bdp")]
        assert held(ware.PART, "fld-09", pair) == [expected]
    for off, expected in ((0.09, 1), (-0.09, 1), (0.11, 0), (-0.11, 0)):
        assert held(ware.PART, "fld-10", [beside(model(64) + off, "64bdp"), beside(0.0, "65bdp")]) == [expected]
    assert ware.difference(beside(0.5, "4bdp")) == pytest.approx(0.5 - model(4))


def test_bounds_of_pairs() -> None:
    names = ("reno", "bic", "cubic", "vegas", "copa", "bbr")

    def of(claim: str, part: float, rtt: str) -> set[int]:
        """Of all pairs at one round-trip time, beside other ones at the other."""
        runs = [
            shared(part if delay == rtt else 0.501, cc_0=one, cc_1=other, rtt_1=delay, buffer="1bdp")
            for one in names for other in names for delay in ("20ms", "40ms")
        ]  # fmt: skip
        return set(held(shades.PART, claim, runs))

    assert [of("fld-11", part, "20ms") for part in (0.79, 0.81)] == [{0}, {1}]
    assert [of("fld-12", part, "20ms") for part in (0.33, 0.34, 0.66, 0.67)] == [{0}, {1}, {1}, {0}]
    assert [of("fld-13", part, "40ms") for part in (0.54, 0.56)] == [{0}, {1}]
    assert [of("fld-14", part, "40ms") for part in (0.44, 0.46)] == [{1}, {0}]


def test_bounds_of_starvation() -> None:
    def of(claim: str, faster: float) -> set[int]:
        times = (starvation.NONE, "2ms", "10ms", "20ms", "50ms")
        runs = [run(1.0, faster, cc_0=cc, every=every) for cc in starvation.NAMES for every in times]
        return set(held(starvation.PART, claim, starvation.Both(runs, runs)))

    assert [of("fld-15", faster) for faster in (2.0, 2.01)] == [{1}, {0}]
    assert [of("fld-16", faster) for faster in (4.99, 5.0)] == [{0}, {1}]
    # Four algorithms; without bundles nothing is asked.
    assert [of("fld-17", faster) for faster in (4.99, 5.0)] == [{0}, {4}]
    assert list(starvation.bundled(starvation.Both([], [run(1.0, every="1us"), run(1.0, every="2ms")]))) == ["2ms"]
    assert [of("fld-18", faster) for faster in (3.0, 3.01)] == [{1}, {0}]


def test_bounds_of_version_3() -> None:
    def lossy(rate: float, again: int, other: int) -> bbr3.Both:
        return bbr3.Both([run(rate, again=again, cc_0="bbr3", loss="1%"),
                          *(run(9.0, again=other, cc_0=cc, loss="1%") for cc in ("bbr", "bbr2"))], [])  # fmt: skip

    assert [held(bbr3.PART, "fld-19", lossy(rate, 0, 0)) for rate in (49.9, 50.1)] == [[0], [1]]
    assert [held(bbr3.PART, "fld-20", lossy(9.0, again, 7)) for again in (6, 7)] == [[1, 1], [0, 0]]

    def beside(third: float, second: float, last: float) -> bbr3.Both:
        parts = (
            (third, "bbr3", "0.1bdp"), (second, "bbr2", "0.1bdp"), (last, "bbr3", "10bdp"), (last, "bbr2", "10bdp"),
        )  # fmt: skip
        return bbr3.Both([], [shared(part, cc_0=cc, buffer=buffer) for part, cc, buffer in parts])

    for second, expected in ((0.36, 1), (0.64, 1), (0.34, 0), (0.66, 0)):
        assert held(bbr3.PART, "fld-21", beside(0.5, second, 0.5))[0] == expected
    for last, expected in ((0.29, 1), (0.71, 1), (0.31, 0), (0.69, 0)):
        assert held(bbr3.PART, "fld-22", beside(0.5, 0.5, last)) == [expected]


def test_bounds_of_prague() -> None:
    def behind(queue: str, part: float, fallen_back: float = 0.0) -> list[Run]:
        parts = {"false": part, "true": fallen_back}
        return [
            shared(parts[value] if kind == queue else 0.5, queue=kind, classic_fallback=value)
            for kind in prague.QUEUES
            for value in parts
        ]

    for claim, queue, bounds in (
        ("fld-23", "threshold", ((0.79, 0), (0.81, 1))),
        ("fld-24", "fq_codel", ((0.39, 0), (0.41, 1), (0.59, 1), (0.61, 0))),
        ("fld-25", "droptail", ((0.49, 1), (0.5, 0))),
        ("fld-26", "dualpi2", ((0.34, 0), (0.36, 1), (0.64, 1), (0.66, 0))),
    ):
        assert [held(prague.PART, claim, behind(queue, part))[0] for part, _ in bounds] == [one for _, one in bounds]
    assert [held(prague.PART, "fld-27", behind("codel", 0.8, part)) for part in (0.69, 0.71)] == [[0, 1], [0, 0]]
    assert prague.queue(shared(0.5, queue="kind=codel target=5ms")) == prague.CODEL


def test_the_pictures_of_several_seeds_are_what_is_kept() -> None:
    lines = {"bbr": [[1.0, 3.0], [4.0], [2.0, 2.5]], "cubic": [[0.5], [0.6, 0.8], [9.0]]}
    x = (0.1, 1.0, 10.0)
    drawn = {
        "curves": figures.curves(
            x, lines, "loss (%)", "goodput", {"ideal": [3.0, 2.0, 1.0], "half": [1.0] * 3}, (1, 10)
        ),
        "shares": figures.shares(
            {"CUBIC": lines, "Reno": dict(reversed(lines.items()))}, x, (0.5, 0.2), (0.9, 0.5, 0.3)
        ),
        "boxes": figures.boxes(lines, ("a", "b", "c"), "queue", "part"),
        "one": figures.boxes({"bbr": lines["bbr"]}, ("a", "b", "c"), "queue", "part"),
        "matrix": figures.matrix(
            {"T": {(one, other): 0.1 * at for at, (one, other) in enumerate(product("abc", "abc"))}}, ("a", "b", "c")
        ),
    }
    snapshots.same_as_kept("pictures/field", [line for name, one in drawn.items() for line in (name, *described(one))])
