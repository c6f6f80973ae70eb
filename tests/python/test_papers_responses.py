"""Response functions: the fluid of the rules, and the claims about windows."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import snapshots
from conftest import QuickPart
from dumbbell.papers.responses.theory import LAWS, State, lose, window
from dumbbell.papers.responses.windows import NAMES, PART, Points, mean_window, measured
from dumbbell.papers.runs import Run


@pytest.mark.parametrize("loss", [1e-3, 1e-4])
def test_renos_fluid_follows_the_square_root_law(loss: float) -> None:
    # Independent losses give up to 7 % more than periodic ones.
    assert 1.0 < window(LAWS["reno"], loss, 0.1) / (1.5 / loss) ** 0.5 < 1.1


def test_scalables_fluid_is_inverse_to_the_loss() -> None:
    assert window(LAWS["scalable"], 1e-4, 0.1) / window(LAWS["scalable"], 3e-4, 0.1) == pytest.approx(3, rel=0.15)


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0, "holds"), (1.09, "holds"), (0.8, "fails"), (1.2, "fails")])
def test_a_window_beyond_a_tenth_of_the_rules_fails_the_claim(ratio: float, verdict: str) -> None:
    points: Points = {cc: [(0.001, 40.0, 40.0), (0.01, 12.0 * ratio, 12.0)] for cc in NAMES}
    judgements = PART.judge(points)
    assert {judgement.verdict for judgement in judgements} == {verdict}


def test_a_transfer_that_does_not_end_has_the_window_of_the_whole_run() -> None:
    def packets(completion_s: float | None) -> float:
        flow = {"delivered_bytes_total": 1448 * 1000, "completion_s": completion_s}
        return mean_window(Run([flow], duration_s=20.0))

    assert packets(10.0) == pytest.approx(10)
    assert packets(None) == pytest.approx(5)


def test_a_quick_part_from_end_to_end(quick_part: QuickPart) -> None:
    quick_part("responses", "windows", 5_000)


def stood(window: float, sought: float, since_s: float, rtt_s: float, share: float = 0.5) -> State:
    """A single connection."""
    one = {name: np.array([value]) for name, value in (("window", window), ("peak", 100.0), ("sought", sought))}
    return State(rtt_s, **one, since_s=np.array([since_s]), share=np.array([share]), steady=np.zeros(1))


def test_the_rules_add_and_leave_what_is_kept() -> None:
    """Below, at and above what divides the branches of each rule."""
    windows = (2.0, 14.0, 14.5, 38.0, 39.0, 68.0, 72.0, 90.0, 96.0, 99.0, 104.0, 106.0, 160.0, 900.0, 90_000.0)
    times = ((0.0, 0.1), (0.5, 0.005), (1.0, 0.1), (1.5, 0.3), (3.0, 2.0), (9.0, 0.1))
    lines = []
    for name, law in LAWS.items():
        for since_s, rtt_s in times:
            growths = [law.growth(stood(one, 100.0, since_s, rtt_s))[0] for one in windows]
            lines.append(f"{name} after {since_s:g} s at {rtt_s:g} s: {' '.join(f'{one:.5g}' for one in growths)}")
        kept = [law.keep(stood(one, 100.0, 0.0, 0.1), np.array([True]))[0] for one in windows]
        lines.append(f"{name} keeps {' '.join(f'{one:.5g}' for one in kept)}")
        formula = law.formula
        if formula is not None:
            promised = [formula(p) for p in (1e-5, 7.9e-4, 8e-4, 1.4e-3, 1.5e-3, 0.01, 0.1)]
            lines.append(f"{name} promises {' '.join(f'{one:.5g}' for one in promised)}")
    snapshots.same_as_kept("responses", lines)


def test_htcp_keeps_more_from_the_second_loss_on_at_which_little_has_changed() -> None:
    state = stood(100.0, 100.0, 0.0, 0.1)
    lost = np.array([True])
    shares = []
    for window_then in (119.0, 81.0, 120.0, 79.0, 100.0, 121.0, 100.0, 80.0):
        state.window[:] = window_then
        shares.append(float(LAWS["htcp"].keep(state, lost)[0]))
    assert shares == [0.5, 0.8, 0.8, 0.5, 0.5, 0.5, 0.5, 0.8]


def test_a_loss_leaves_a_share_of_the_window_and_where_to_look_for_the_next() -> None:
    def after(window: float, law: str = "reno") -> State:
        state = stood(window, 100.0, 5.0, 0.1)
        lose(state, LAWS[law], np.array([True]))
        return state

    above, below, least = after(120.0), after(80.0), after(3.0)
    assert (above.window[0], above.peak[0], above.sought[0], above.since_s[0]) == (60.0, 120.0, 120.0, 0.0)
    # The rules converge sooner where a loss comes below the last one.
    assert (below.window[0], below.peak[0], below.sought[0]) == (40.0, 80.0, 60.0)
    assert least.window[0] == 2.0
    assert after(100.0, "cubic").sought[0] == 100.0 and after(100.0, "cubic").window[0] == pytest.approx(70.0)
    two = State(0.1, np.array([10.0, 20.0]), np.zeros(2), np.zeros(2), np.ones(2))
    lose(two, LAWS["scalable"], np.array([False, True]))
    assert (two.window.tolist(), two.since_s.tolist()) == ([10.0, 17.5], [1.0, 0.0])


def test_points_are_the_windows_of_the_first_seed_beside_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dumbbell.papers.responses.windows.window", lambda law, loss, rtt_s: 1e4 * loss + rtt_s)
    flow = {"delivered_bytes_total": 1448 * 1000, "completion_s": 10.0}
    runs = [Run([flow], {"flows[0].cc": cc, "path.loss": loss}) for cc in NAMES for loss in ("0.1%", "1%")]
    ran: Any = SimpleNamespace(by=lambda *keys: {run.swept(*keys): [run] for run in runs})
    found = measured(ran)
    assert found["bic"] == [pytest.approx((0.001, 10.0, 10.1)), pytest.approx((0.01, 10.0, 100.1))]
    assert list(found) == list(NAMES)
