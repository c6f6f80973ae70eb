"""The kinds of attack: what numbers from 0 to 1 stand for. No kind knows an attack that is known to work."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dumbbell.adversary.base import Base
from dumbbell.adversary.parts import PACKET, Bursts, Drops, Part, Steps

SOURCES = 3
"""Of cross traffic, at most."""
WINDOWS = 4
"""In which packets are lost, at most."""
STEPS = 4
"""Of a rate or a delay in a period."""
LONGER = 30.0
"""The longest step may be so many times as long as the shortest."""
SHORTER = 100.0
"""A window may be so many times as short as it may be long."""
SLOWEST, LONGEST = 0.1, 4.0
"""A link never falls below this share of its rate; a round trip stays within this factor of its own, both ways."""
ROUNDING = 1e-3
"""What is rounded may pass a bound by this share."""
IS_THERE = 0.3
"""A part whose first number is smaller is left out."""
IS_ONCE = 0.85
"""A window whose period is larger does not come again."""


@dataclass(frozen=True)
class Attack:
    """A kind of attack."""

    name: str
    genes: int
    """How many numbers from 0 to 1 it is."""
    decode: Callable[[Sequence[float], Base, float], list[Part]]
    """Its parts, from these numbers, the experiment, and the most that it may take."""
    share: float | None = None
    """The most that it may take by default, of the link or of the time; ``None`` where nothing is taken."""


def between(gene: float, low: float, most: float) -> float:
    """The number at a place from 0 to 1 between two others, by their ratio."""
    return float(low * (max(most, low) / low) ** gene)


def ticked(seconds: float, base: Base, *, down: bool = False) -> float:
    """A time in whole ticks of the experiment."""
    ticks = seconds / base.tick_s
    return (math.floor(ticks) if down else round(ticks)) * base.tick_s


def _bursts(kind: str) -> Callable[[Sequence[float], Base, float], list[Part]]:
    def decode(genes: Sequence[float], base: Base, share: float) -> list[Part]:
        sources: list[Bursts] = []
        for slot in range(SOURCES):
            there, size, period, phase, speed = genes[5 * slot : 5 * slot + 5]
            if there < IS_THERE:
                continue
            period_s = ticked(between(period, base.rtt_s, base.measured_s / 4), base)
            most = share * base.rate_bps * period_s / (8 * PACKET)
            rate_bps = rounded_rate(between(speed, base.rate_bps, 20 * base.rate_bps))
            packets = max(round(between(size, 1, most)), 1)
            sources.append(Bursts(kind, packets, period_s, ticked(phase * period_s, base), rate_bps))
        while (taken := math.fsum(one.mean_bps for one in sources) / base.rate_bps) > share:
            # Equal parts of connections make it less than proportional.
            factor = min(share / taken, 0.99)
            sources = [replace(one, packets=n) for one in sources if (n := int(one.packets * factor)) > 0]
        return list(sources)

    return decode


def rounded_rate(bits_per_s: float) -> float:
    """A rate in whole kbit/s."""
    return float(round(bits_per_s / 1e3)) * 1e3


def _steps(key: str) -> Callable[[Sequence[float], Base, float], list[Part]]:
    def decode(genes: Sequence[float], base: Base, share: float) -> list[Part]:
        period_s = ticked(between(genes[0], 10 * base.rtt_s, base.measured_s), base)
        weights = [between(gene, 1.0, LONGER) for gene in genes[1 : STEPS + 1]]
        ends = [math.fsum(weights[:step]) / math.fsum(weights) for step in range(STEPS)]
        starts = tuple(ticked(period_s * end, base) for end in ends)
        if key == "rate":
            values = [
                rounded_rate(between(gene, SLOWEST * base.rate_bps, base.rate_bps)) for gene in genes[STEPS + 1 :]
            ]
        else:
            low, most = base.rtt_s / LONGEST, base.rtt_s * LONGEST
            values = [ticked(between(gene, low, most), base) for gene in genes[STEPS + 1 :]]
        return [Steps(key, starts, tuple(values), period_s)]

    return decode


def _drops(genes: Sequence[float], base: Base, share: float) -> list[Part]:
    windows: list[Drops] = []
    for slot in range(WINDOWS):
        there, begin, length, period = genes[4 * slot : 4 * slot + 4]
        if there < IS_THERE:
            continue
        from_s = ticked(begin * (base.duration_s - base.measured_s / 2), base)
        every = None if period > IS_ONCE else ticked(between(period / IS_ONCE, base.rtt_s, base.measured_s / 2), base)
        most = share * (base.duration_s if every is None else every)
        windows.append(Drops(from_s, between(length, most / SHORTER, most), every))
    taken = math.fsum(one.share(base.duration_s) for one in windows)
    factor = min(share / taken, 1.0) if taken else 1.0
    return [
        replace(one, length_s=length)
        for one in windows
        if (length := ticked(one.length_s * factor, base, down=True)) > 0
    ]


ATTACKS: Mapping[str, Attack] = {
    attack.name: attack
    for attack in (
        Attack("traffic", 5 * SOURCES, _bursts("traffic"), 0.2),
        Attack("connections", 5 * SOURCES, _bursts("connections"), 0.2),
        Attack("trace", 1 + 2 * STEPS, _steps("rate")),
        Attack("delay", 1 + 2 * STEPS, _steps("rtt")),
        Attack("losses", 4 * WINDOWS, _drops, 0.05),
    )
}
"""The kinds of attack by their names."""


def is_allowed(parts: Sequence[Part], base: Base, duration_s: float, share: float | None) -> bool:
    """Whether parts stay within what their attacks may do, in a run of this length."""
    taken = dict.fromkeys(ATTACKS, 0.0)
    for part in parts:
        if isinstance(part, Bursts):
            taken[part.kind] += part.mean_bps / base.rate_bps
        elif isinstance(part, Drops):
            taken["losses"] += part.share(duration_s)
        elif isinstance(part, Steps) and not _is_within(part, base):
            return False
    return all(part <= (share or ATTACKS[name].share or 0.0) * (1 + ROUNDING) for name, part in taken.items())


def _is_within(part: Steps, base: Base) -> bool:
    low, most = (
        (SLOWEST * base.rate_bps, base.rate_bps) if part.key == "rate" else (base.rtt_s / LONGEST, base.rtt_s * LONGEST)
    )
    return low * (1 - ROUNDING) <= min(part.values) and max(part.values) <= most * (1 + ROUNDING)
