"""Response functions: the fluid of the rules, and the claims about windows."""

import pytest

from conftest import QuickPart
from dumbbell.papers.responses.theory import LAWS, window
from dumbbell.papers.responses.windows import NAMES, PART, Points, mean_window
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
