"""The paper's simulation of STARTUP: one flow over a path without a rate, in steps of a microsecond.

Times are floating-point numbers of seconds that are cut to steps by a division, as in the authors' program: it shows in
the last digits that the paper prints.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import astuple, dataclass

STEP_S = 1e-6
RTT_S = 0.1
RTT_STEPS = 100_000
INITIAL_CWND = 10


@dataclass(frozen=True)
class Row:
    """What the paper prints for a round, in its units."""

    growth: float
    """Bandwidth over that of the row before; 0 where it is the same."""
    time_s: float
    cwnd: int
    in_flight: int
    bandwidth: float
    """Packets a second."""
    pacing_rate: float
    """Packets a second."""
    next_release_s: float

    def printed(self) -> tuple[float, ...]:
        """With as many decimals as the paper."""
        growth, time, cwnd, in_flight, bandwidth, rate, release = astuple(self)
        return (round(growth, 3), round(time, 6), cwnd, in_flight, bandwidth, round(rate, 2), round(release, 6))


def step_of(seconds: float) -> int:
    """The step in which an instant lies."""
    return int(seconds / STEP_S)


class Flow:
    """Slow start, paced at a gain over the largest bandwidth of a round trip so far."""

    def __init__(self, gain: float) -> None:
        self.gain = gain
        self.rows: list[Row] = []
        self.cwnd = self.in_flight = INITIAL_CWND
        self.round = 1
        self.bandwidth = 0.0
        self.last_release_s = 0.0
        # Steps in which ACKs arrive: how many, and the round in which the last of them was sent.
        self.due: dict[int, tuple[int, int]] = {RTT_STEPS: (INITIAL_CWND, 1)}
        self.steps = [RTT_STEPS]
        self.acked: deque[tuple[int, int]] = deque()
        self.acked_in_rtt = 0

    @property
    def pacing_rate(self) -> float:
        """Packets a second."""
        return self.gain * self.bandwidth

    @property
    def next_release_s(self) -> float:
        """When the next packet may leave."""
        return self.last_release_s + 1 / self.pacing_rate

    def run(self, rounds: int) -> list[Row]:
        """A row for each round."""
        step = RTT_STEPS
        while len(self.rows) < rounds:
            if self.steps and self.steps[0] <= step:
                self.receive(step)
            self.release(step)
            arrival = self.steps[0] if self.steps else None
            departure = max(step, step_of(self.next_release_s)) if self.in_flight < self.cwnd else None
            step = min(one for one in (arrival, departure) if one is not None)
        return self.rows

    def receive(self, step: int) -> None:
        """The ACKs of a step; one of a later round ends the round."""
        count, sent_in = self.due.pop(heapq.heappop(self.steps))
        self.in_flight -= count
        self.cwnd += count
        self.acked.append((step, count))
        self.acked_in_rtt += count
        while self.acked[0][0] <= step - RTT_STEPS:
            self.acked_in_rtt -= self.acked.popleft()[1]
        self.bandwidth = max(self.bandwidth, self.acked_in_rtt / RTT_S)
        if sent_in >= self.round:
            self.end_round(step)

    def end_round(self, step: int) -> None:
        """Another row."""
        before = self.rows[-1].bandwidth if self.rows else self.bandwidth
        growth = 0.0 if self.bandwidth == before else self.bandwidth / before
        self.rows.append(
            Row(growth, step * STEP_S, self.cwnd, self.in_flight, self.bandwidth, self.pacing_rate, self.next_release_s)
        )
        self.round += 1

    def release(self, step: int) -> None:
        """Every packet whose instant lies in this step or before, as far as the window goes."""
        while self.in_flight < self.cwnd and step_of(self.next_release_s) <= step:
            self.last_release_s = max(self.next_release_s, step * STEP_S)
            arrival = step_of(self.last_release_s + RTT_S)
            count, _ = self.due.get(arrival, (0, 0))
            if not count:
                heapq.heappush(self.steps, arrival)
            self.due[arrival] = (count + 1, self.round)
            self.in_flight += 1
