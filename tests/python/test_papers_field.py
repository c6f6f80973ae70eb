"""Six results of the field: each part from end to end, and the model that one of the papers has."""

import pytest

from conftest import QuickPart
from dumbbell import papers
from dumbbell.papers.field.ware import model


@pytest.mark.parametrize("part", [part.name for part in papers.load("field").parts])
def test_a_quick_part_from_end_to_end(part: str, quick_part: QuickPart) -> None:
    quick_part("field", part, 5_000)


def test_wares_model_takes_what_loss_based_flows_leave_and_the_time_in_probe_rtt() -> None:
    # 8 BDP are 266.7 packets: 1/2 - 1/16 - 4/266.7 for the others; (0.32 + 0.2 + 0.04) s of every 10 s.
    assert model(8) == pytest.approx((1 - 0.4225) * (1 - 0.056))
    assert model(2) > model(8) > model(64)
