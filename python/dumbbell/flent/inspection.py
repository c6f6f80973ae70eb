"""What a file of Flent tells of the machine and the network that it was recorded in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dumbbell.flent.data import FlentData

LATE_MS = 15.0
"""An idle ping is late that takes so much longer than the quick half of the idle pings."""

AWAY_SHARE = 1 / 7
"""A radio was away if more than this share of the idle pings on one side of the load was late."""

FEWEST_PINGS = 10
"""Of fewer pings nothing is said."""

SETTLE_S = 1.0
"""After the load the queue drains for so long."""

LEAST_SHIFT = 0.3
"""The throughput has changed where its means before and after differ by such a share of the larger, and by four times
what chance explains."""

LEAST_PART_S = 5.0
"""Each of these means is over so many seconds at least."""


@dataclass(frozen=True)
class Idle:
    """Pings without load on one side of it."""

    pings: int
    late_share: float | None
    """Share of late ones; nothing where there are too few pings."""
    largest_ms: float | None

    @property
    def is_away(self) -> bool | None:
        """Whether the radio was off its channel at times; nothing where that is not known."""
        return None if self.late_share is None else self.late_share > AWAY_SHARE


@dataclass(frozen=True)
class Change:
    """The throughput of all uploads or downloads changes for good."""

    at_s: float
    """Seconds after the load has begun."""
    before_mbps: float
    after_mbps: float


@dataclass(frozen=True)
class Inspection:
    """What a file tells. What it does not tell is ``None`` or empty."""

    name: str
    test: str
    title: str
    uploads: Sequence[str]
    """Controllers that governed uploads, as the sockets said."""
    downloads: Sequence[str]
    default: str | None
    """The kernel's default controller."""
    kernel: str | None
    qdisc: str | None
    driver: str | None
    markings: Sequence[str]
    """DSCPs of TCP's packets that are not 0."""
    ecn: int | None
    """The sysctl ``net.ipv4.tcp_ecn``."""
    before: Idle
    after: Idle
    change: Change | None

    @property
    def is_away(self) -> bool | None:
        """Whether the radio was off its channel before or after the load; nothing where no side is known."""
        sides = [side.is_away for side in (self.before, self.after)]
        return None if all(side is None for side in sides) else any(sides)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {
            "away_before": self.before.is_away,
            "away_after": self.after.is_away,
            "away": self.is_away,
        }


def inspect(data: FlentData, path: Path) -> Inspection:
    """What a file tells of the network."""
    metadata = data.metadata
    series = {str(name): _table(about) for name, about in _table(metadata.get("SERIES_META")).items()}
    sysctls, egress = _table(metadata.get("SYSCTLS")), _table(metadata.get("EGRESS_INFO"))
    before, after = _idle(data)
    return Inspection(
        path.name,
        data.name,
        data.title,
        _controllers(series, "upload"),
        _controllers(series, "download"),
        _text(sysctls.get("net.ipv4.tcp_congestion_control")),
        _text(metadata.get("KERNEL_RELEASE")),
        _qdisc(egress, sysctls),
        _text(egress.get("driver")),
        sorted({_dscp(about) for name, about in series.items() if name.startswith("TCP")} - {""}),
        ecn if isinstance(ecn := sysctls.get("net.ipv4.tcp_ecn"), int) else None,
        before,
        after,
        _change(data),
    )


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _controllers(series: Mapping[str, Mapping[str, Any]], direction: str) -> list[str]:
    found = {_text(about.get("CONG_CONTROL")) for name, about in series.items() if f"TCP {direction}" in name}
    return sorted(name for name in found if name is not None)


def _qdisc(egress: Mapping[str, Any], sysctls: Mapping[str, Any]) -> str | None:
    listed = egress.get("qdiscs")
    first = _table(listed[0]) if isinstance(listed, list) and listed else {}
    return _text(first.get("name")) or _text(sysctls.get("net.core.default_qdisc"))


def _dscp(about: Mapping[str, Any]) -> str:
    tos = about.get("UPSTREAM_TOS", about.get("DATA_TOS"))
    return f"0x{tos >> 2:02x}" if isinstance(tos, int) and 0 < tos < 256 and tos >> 2 else ""


def _idle(data: FlentData) -> tuple[Idle, Idle]:
    """The idle pings before and after the load."""
    name = next((name for name in data.results if name.startswith("Ping") and "ICMP" in name), None)
    name = name or next((name for name in data.results if name.startswith("Ping")), None)
    nothing = Idle(0, None, None)
    if name is None or data.delay <= 0:
        return nothing, nothing
    at = np.asarray(data.x_values, dtype=np.float64)
    pings = np.asarray([np.nan if value is None else value for value in data.results[name]], dtype=np.float64)
    sides = [at < data.delay, at > _end(data, at) + SETTLE_S]
    idle = np.sort(pings[(sides[0] | sides[1]) & ~np.isnan(pings)])
    if idle.size == 0:
        return nothing, nothing
    quick = float(np.median(idle[: max(1, idle.size // 2)]))
    first, last = (_side(pings[side & ~np.isnan(pings)], quick) for side in sides)
    return first, last


def _end(data: FlentData, at: NDArray[np.float64]) -> float:
    """When the load ends: flows with full buffers go on after their time."""
    flows = [values for name, values in data.results.items() if name.startswith("TCP")]
    loaded = [when for when, *values in zip(at, *flows, strict=True) if any(value is not None for value in values)]
    return float(max([at[-1] - data.delay, *loaded[-1:]]))


def _side(pings: NDArray[np.float64], quick: float) -> Idle:
    if pings.size < FEWEST_PINGS:
        return Idle(int(pings.size), None, None)
    return Idle(int(pings.size), float(np.mean(pings > quick + LATE_MS)), float(pings.max()))


def _change(data: FlentData) -> Change | None:
    """Where the sum of uploads, or of downloads where there are none, changes most, if it does."""
    flows = _flows(data, "upload") or _flows(data, "download")
    if not flows:
        return None
    at = np.asarray(data.x_values, dtype=np.float64)
    rates = np.asarray([[np.nan if v is None else v for v in data.results[name]] for name in flows], dtype=np.float64)
    total = np.nansum(rates, axis=0)
    loaded = (at > data.delay + LEAST_PART_S) & (at <= at[-1] - data.delay)
    at, total = at[loaded], total[loaded]
    if not at.size:
        return None
    splits = np.arange(1, at.size)
    splits = splits[(at[splits] - at[0] >= LEAST_PART_S) & (at[-1] - at[splits] >= LEAST_PART_S)]
    if not splits.size:
        return None
    scores = _shifts(total, splits)
    place = int(splits[scores.argmax()])
    before, after = float(np.median(total[:place])), float(np.median(total[place:]))
    if scores.max() < 4.0 or abs(before - after) < LEAST_SHIFT * max(before, after):
        return None
    return Change(float(at[place] - data.delay), before, after)


def _flows(data: FlentData, direction: str) -> list[str]:
    """The series of single flows, without their mean and sum."""
    begin, aggregates = f"TCP {direction}", (" avg", " sum")
    return [name for name in data.results if name.startswith(begin) and not name.endswith(aggregates)]


def _shifts(values: NDArray[np.float64], splits: NDArray[np.int_]) -> NDArray[np.float64]:
    """By how many standard errors the means before and after each split differ."""
    # Sums from the first value on take linear time; about their mean they lose no digits.
    centred = values - values.mean()
    sums, squares = np.cumsum(centred), np.cumsum(centred**2)

    def mean_and_error(
        total: NDArray[np.float64], square: NDArray[np.float64], count: NDArray[np.int_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        mean = total / count
        return mean, np.maximum(square / count - mean**2, 0.0) / count

    before, before_error = mean_and_error(sums[splits - 1], squares[splits - 1], splits)
    rest = values.size - splits
    after, after_error = mean_and_error(sums[-1] - sums[splits - 1], squares[-1] - squares[splits - 1], rest)
    return np.abs(before - after) / np.maximum(np.sqrt(before_error + after_error), 1e-9)
