"""What a run on the kernel shows of itself while it goes on."""

from __future__ import annotations

from dumbbell import _core

SPAN_S = 1.0
"""Seconds over which throughput is taken."""

MOST_FLOWS = 4
"""More flows than these are shown as their sum."""


class Live:
    """How far the current run is, and what its flows get at present. Without a current run it says nothing."""

    def __init__(self) -> None:
        self._watch: _core.Watch | None = None
        self._begun: tuple[float, list[int]] = (0.0, [])
        self._before = self._begun

    def begin(self) -> _core.Watch:
        """A run begins, which this watch sees."""
        self._begun = self._before = (0.0, [])
        self._watch = _core.Watch()
        return self._watch

    def __str__(self) -> str:
        if self._watch is None:
            return "running"
        duration, elapsed, delivered = self._watch.progress()
        if not delivered:
            return "running"
        if elapsed - self._begun[0] >= SPAN_S:
            self._before, self._begun = self._begun, (elapsed, delivered)
        since, had = self._before
        span = elapsed - since
        rates = [
            (now - before) * 8e-6 / span if span > 0 else 0.0
            for now, before in zip(delivered, had or [0] * len(delivered), strict=True)
        ]
        shown = rates if len(rates) <= MOST_FLOWS else [sum(rates)]
        return f"{elapsed:.0f} of {duration:g} s, {' + '.join(f'{rate:.3g}' for rate in shown)} Mbit/s"
