"""Axes: their span, their numbers, their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from dumbbell import _core
from dumbbell.results import setting_name

LEAST_SPAN = 0.1
"""An axis that does not begin at 0 covers at least this part of its middle: less is noise, drawn large."""

LOGARITHMIC = 10
"""An axis whose last value is so many times its first is logarithmic."""

HEADROOM = 1.05
"""Top of an axis that begins at 0, over the highest value."""

FROM_ZERO = ("_mbps", "_bytes", "_s", "retransmits", "lost", "drops", "utilization", "jain", "count")
"""Endings of metrics whose axis begins at 0."""


LABELS = {
    "cwnd": "cwnd (packets)",
    "ssthresh": "ssthresh (packets)",
    "inflight": "in flight (packets)",
    "pacing_mbps": "pacing rate (Mbit/s)",
    "srtt_ms": "smoothed RTT (ms)",
    "rtt_ms": "RTT (ms)",
    "min_rtt_ms": "min RTT (ms)",
    "delivery_mbps": "delivery rate (Mbit/s)",
    "goodput_mbps": "goodput (Mbit/s)",
    "throughput_mbps": "throughput (Mbit/s)",
    "received_mbps": "received rate (Mbit/s)",
    "lost_total": "lost packets",
    "retransmits_total": "retransmitted packets",
    "p95_rtt_ms": "95th percentile of RTT (ms)",
    "p50_rtt_ms": "median RTT (ms)",
    "p99_rtt_ms": "99th percentile of RTT (ms)",
    "mean_rtt_ms": "mean RTT (ms)",
    "mean_one_way_delay_ms": "mean one-way delay (ms)",
    "retransmits": "retransmitted packets",
    "lost": "lost packets",
    "completion_s": "completion time (s)",
    "jain": "Jain's index",
    "utilization": "utilisation",
    "mean_queue_bytes": "mean queue (bytes)",
}
"""Axis labels of columns and metrics."""

_UNITS = {"_mbps": "Mbit/s", "_ms": "ms", "_s": "s", "_bytes": "bytes"}


def label_of(column: str) -> str:
    """What an axis of a column says, with its unit."""
    if column in LABELS:
        return LABELS[column]
    for suffix, unit in _UNITS.items():
        if column.endswith(suffix):
            return f"{column.removesuffix(suffix).replace('_', ' ')} ({unit})"
    return column.replace("_", " ")


@dataclass(frozen=True)
class Scale:
    """Where the values of a swept setting stand on an axis."""

    setting: str
    values: tuple[str, ...]
    """As they are written, in the order of the axis."""
    places: tuple[float, ...]
    unit: str
    """Empty for plain numbers and names."""
    is_numeric: bool

    @classmethod
    def of(cls, setting: str, values: Sequence[str]) -> Scale:
        """Numbers where all values are quantities of one unit, and names one beside the other elsewhere."""
        distinct = list(dict.fromkeys(values))
        read = [_core.quantity(value) for value in distinct]
        quantities = [quantity for quantity in read if quantity is not None]
        # A zero, and a plain ratio such as 0.01 beside 1%, have no unit.
        units = {unit for number, unit in quantities if number != 0 or unit}
        if len(quantities) < len(distinct) or len(units) > 1:
            return cls(setting, tuple(distinct), tuple(map(float, range(len(distinct)))), "", False)
        ordered = sorted(zip((number for number, _ in quantities), distinct, strict=True))
        return cls(setting, tuple(v for _, v in ordered), tuple(n for n, _ in ordered), min(units, default=""), True)

    @property
    def label(self) -> str:
        """What the axis says."""
        name = setting_name(self.setting).replace("_", " ")
        return f"{name} ({self.unit})" if self.unit else name

    def place(self, value: str) -> float:
        """Where a value stands."""
        return self.places[self.values.index(value)]

    def apply(self, axes: Axes) -> None:
        """Sets up the horizontal axis: its ticks are the values."""
        axes.set_xlabel(self.label)
        if not self.is_numeric:
            name_places(axes.xaxis, self.places, self.values)
            axes.margins(x=0.15)
            return
        positive = [place for place in self.places if place > 0]
        if positive and positive[-1] / positive[0] > LOGARITHMIC:
            if len(positive) == len(self.places):
                axes.set_xscale("log")
            else:
                axes.set_xscale("symlog", linthresh=positive[0], linscale=0.5)
        axes.xaxis.set_major_locator(FixedLocator(list(self.places)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def name_places(axis: Axis, places: Sequence[float], names: Sequence[str]) -> None:
    """Gives an axis names side by side: a fixed formatter says that it has no numbers."""
    axis.set_ticks(list(places))
    axis.set_major_formatter(FixedFormatter(list(names)))


def vertical(panels: Axes | Sequence[Axes], column: str) -> None:
    """Sets up the vertical axis for a column, shared by panels: its label, and where it begins."""
    shared = [panels] if isinstance(panels, Axes) else panels
    for axes in shared:
        axes.set_ylabel(label_of(column))
    if column.endswith(FROM_ZERO):
        highest = max(float(axes.dataLim.y1) for axes in shared)
        # The margin above the data is a part of what the axis shows, not of the data's own span.
        shared[0].set_ylim(0, HEADROOM * highest if np.isfinite(highest) and highest > 0 else None)
    else:
        least_span(shared[0], "y")


def least_span(axes: Axes, which: str, data: Sequence[float] | None = None) -> None:
    """Widens an axis, ``"x"`` or ``"y"``, so that differences that are noise look like noise."""
    low, high = sorted(getattr(axes, f"get_{which}lim")())
    inverted = getattr(axes, f"{which}axis_inverted")()
    values = [low, high] if data is None or len(data) == 0 else data
    middle = float(np.mean([min(values), max(values)]))
    half = LEAST_SPAN / 2 * abs(middle)
    if max(values) - min(values) < 2 * half:
        low, high = min(low, middle - half), max(high, middle + half)
        getattr(axes, f"set_{which}lim")((high, low) if inverted else (low, high))


def plain_log_ticks(axes: Axes) -> None:
    """Labels such as 50, 100, 200 in place of powers of ten."""
    low, high = sorted(axes.get_xlim())
    few = FixedLocator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)[1:-1])
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)) if high / low > 8 else few)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
