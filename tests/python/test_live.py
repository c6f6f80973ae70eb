"""What is shown of a run on the kernel while it goes on, without a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dumbbell import _core
from dumbbell.live import Live

Progress = tuple[float, float, list[int]]


class Watch:
    """A run that says what it is told to."""

    def __init__(self) -> None:
        self.progress: Callable[[], Progress] = lambda: (0.0, 0.0, [])


def test_of_a_run_that_has_not_begun_nothing_is_known() -> None:
    assert _core.Watch().progress() == (0.0, 0.0, [])
    assert str(Live()) == "running"


def test_a_run_that_begins_while_the_one_before_is_shown_has_its_own_flows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "Watch", Watch)
    live = Live()
    watches: list[Any] = [live.begin()]

    def late() -> Progress:
        watches.append(live.begin())
        return (5.0, 5.0, [5_000_000])

    watches[0].progress = late
    assert str(live) == "5 of 5 s, 8 Mbit/s"
    assert str(live) == "running"
    shown = []
    for second in (1.0, 2.0, 7.0):
        delivered = [int(second * 1e6), int(second * 2e6)]
        watches[1].progress = lambda now=second, read=delivered: (9.0, now, read)
        shown.append(str(live))
    assert shown == [f"{second} of 9 s, 8 + 16 Mbit/s" for second in (1, 2, 7)]
