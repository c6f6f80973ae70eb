"""What a run on the kernel shows of itself while it goes on."""

from __future__ import annotations

from dumbbell import _core

SPAN_S = 1.0
"""Seconds over which throughput is taken."""

MOST_FLOWS = 4
"""More flows than these are shown as their sum."""


class Live:
    """How far the current run is, and what its flows get at present.

    Of a run that has not begun yet, or is not watched because it is in a process of its own, it says only that it runs.
    """

    def __init__(self) -> None:
        self._run: _Run | None = None

    def begin(self) -> _core.Watch:
        """A run begins, which this watch sees."""
        # Another thread may be about to show the run before, which keeps what it knows to itself.
        self._run = _Run()
        return self._run.watch

    def __str__(self) -> str:
        return "running" if self._run is None else str(self._run)


class _Run:
    """How far one run is, and what its flows get at present."""

    def __init__(self) -> None:
        self.watch = _core.Watch()
        self._begun: tuple[float, list[int]] = (0.0, [])
        self._before = self._begun

    def __str__(self) -> str:
        duration, elapsed, delivered = self.watch.progress()
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
