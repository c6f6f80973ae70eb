"""What an attack is made of. Each part writes itself into an experiment, and knows simpler parts than itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

ATTACKER = "attacker"
"""The label of flows that attack."""

PACKET, DATAGRAM, SEGMENT = 1500, 1472, 1448
"""Bytes of a full packet, and of its payload as a datagram and as a segment of TCP."""

INITIAL_WINDOW = 10
"""Segments that a connection sends at once after a pause."""

MOST_CONNECTIONS = 32
"""Of a source: the kernel's ground takes 256 flows."""


class Part(Protocol):
    """A part of an attack."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def put(self, document: dict[str, Any]) -> None:
        """Writes it into an experiment."""

    def even(self) -> Part:
        """The same amount of it, spread evenly over time."""

    def simpler(self) -> Iterator[Part]:
        """Parts that are simpler to read, the simplest first."""

    def words(self) -> str:
        """What it does."""

    @property
    def on_linux(self) -> bool:
        """Whether the kernel's ground replays it."""


def rounded(value: float, digits: int) -> float:
    """A number with so many significant digits."""
    return float(f"{value:.{digits}g}")


def _rounded_at(values: tuple[float, ...], index: int, digits: int) -> tuple[float, ...]:
    return (*values[:index], rounded(values[index], digits), *values[index + 1 :])


def time_text(seconds: float) -> str:
    """A time as experiments write it, in whole nanoseconds."""
    return "0s" if seconds < 5e-10 else f"{round(seconds * 1e3, 6):.12g}ms"


def rate_text(bits_per_s: float) -> str:
    """A rate as experiments write it."""
    return f"{round(bits_per_s / 1e3, 3):.12g}kbit"


@dataclass(frozen=True)
class Bursts:
    """Cross traffic: so many packets at once, again and again."""

    kind: str
    """``"traffic"``, datagrams that heed nothing, or ``"connections"``, TCP connections of CUBIC."""
    packets: int
    period_s: float
    start_s: float
    rate_bps: float | None
    """At which a burst comes; all at once without."""

    @property
    def on_linux(self) -> bool:
        """Whether it is no datagrams."""
        return self.kind != "traffic"

    @property
    def count(self) -> int:
        """Flows that send a burst, each an equal part, which a connection sends at once."""
        return 1 if self.kind == "traffic" else min(-(-self.packets // INITIAL_WINDOW), MOST_CONNECTIONS)

    @property
    def together(self) -> int:
        """Packets of a burst, the same number of each flow."""
        return self.packets // self.count * self.count

    @property
    def mean_bps(self) -> float:
        """What it takes of a link, headers included."""
        return self.together * 8 * PACKET / self.period_s

    def put(self, document: dict[str, Any]) -> None:
        """Adds its flow."""
        count, payload = self.count, DATAGRAM if self.kind == "traffic" else SEGMENT
        write = self.together // count * payload
        flow: dict[str, Any] = {"label": ATTACKER}
        if self.kind == "traffic":
            flow["transport"] = "udp"
        else:
            flow["cc"] = "cubic"
            if count > 1:
                flow["count"] = count
        flow["app"] = {"rate": rate_text(write * 8 / self.period_s), "write": f"{write}B"}
        if self.start_s > 0:
            flow["start"] = time_text(self.start_s)
        if self.rate_bps is not None:
            flow["access_rate"] = rate_text(self.rate_bps)
        document["flows"].append(flow)

    def even(self) -> Bursts:
        """A packet at a time, in one flow."""
        return replace(self, packets=1, period_s=self.period_s / self.together, rate_bps=None)

    def simpler(self) -> Iterator[Bursts]:
        """Without a rate or a start, and with rounder numbers."""
        if self.rate_bps is not None:
            yield replace(self, rate_bps=None)
        if self.start_s > 0:
            yield replace(self, start_s=0.0)
        for digits in (1, 2, 3):
            yield replace(self, period_s=rounded(self.period_s, digits))
            yield replace(self, packets=max(int(rounded(self.packets, digits)), 1))
            yield replace(self, start_s=rounded(self.start_s, digits))
            if self.rate_bps is not None:
                yield replace(self, rate_bps=rounded(self.rate_bps, digits))

    def words(self) -> str:
        """What it does."""
        what = "datagrams" if self.kind == "traffic" else "segments of TCP"
        return f"every {1e3 * self.period_s:.4g} ms {self.together} {what}, {self.mean_bps / 1e6:.3g} Mbit/s on average"


@dataclass(frozen=True)
class Steps:
    """The link's rate, or its round-trip time, in steps that repeat."""

    key: str
    """``"rate"``, in bits per second, or ``"rtt"``, in seconds."""
    starts_s: tuple[float, ...]
    values: tuple[float, ...]
    period_s: float

    on_linux: ClassVar[bool] = True

    def _text(self, value: float) -> str:
        return rate_text(value) if self.key == "rate" else time_text(value)

    def put(self, document: dict[str, Any]) -> None:
        """Replaces the key of the path."""
        if len(self.values) == 1:
            document["path"][self.key] = self._text(self.values[0])
            return
        steps = [[time_text(at), self._text(value)] for at, value in zip(self.starts_s, self.values, strict=True)]
        document["path"][self.key] = {"steps": steps, "repeat": time_text(self.period_s)}

    @property
    def mean(self) -> float:
        """Of the value, over time."""
        ends = [*self.starts_s[1:], self.period_s]
        spans = [end - at for at, end in zip(self.starts_s, ends, strict=True)]
        return math.fsum(map(math.prod, zip(spans, self.values, strict=True))) / self.period_s

    def even(self) -> Steps:
        """The mean."""
        return replace(self, starts_s=(0.0,), values=(self.mean,))

    def simpler(self) -> Iterator[Steps]:
        """With fewer steps, and with rounder numbers."""
        return (one for one in self._simpler() if one.is_in_order)

    @property
    def is_in_order(self) -> bool:
        """Whether each step ends after it has begun."""
        ends = [*self.starts_s[1:], self.period_s]
        return all(end - at > 1e-9 for at, end in zip(self.starts_s, ends, strict=True))

    def _simpler(self) -> Iterator[Steps]:
        for index in range(len(self.values) if len(self.values) > 2 else 0):
            # The step before goes on in its place; in place of the first, the second begins earlier.
            starts = [at for number, at in enumerate(self.starts_s) if number != index]
            values = [value for number, value in enumerate(self.values) if number != index]
            yield replace(self, starts_s=(0.0, *starts[1:]), values=tuple(values))
        for digits in (1, 2, 3):
            yield replace(self, values=tuple(rounded(value, digits) for value in self.values))
            yield replace(self, starts_s=tuple(rounded(at, digits) for at in self.starts_s))
            period_s = rounded(self.period_s, digits)
            yield replace(self, period_s=period_s)
            yield replace(
                self, period_s=period_s, starts_s=tuple(at * period_s / self.period_s for at in self.starts_s)
            )
            for index in range(len(self.values)):
                yield replace(self, values=_rounded_at(self.values, index, digits))
                yield replace(self, starts_s=_rounded_at(self.starts_s, index, digits))

    def words(self) -> str:
        """What it does."""
        low, most = min(self.values), max(self.values)
        span = (
            f"{low / 1e6:.3g} to {most / 1e6:.3g} Mbit/s"
            if self.key == "rate"
            else f"{1e3 * low:.3g} to {1e3 * most:.3g} ms"
        )
        what = "rate" if self.key == "rate" else "round-trip time"
        return f"a {what} of {span} in {len(self.values)} steps, again every {self.period_s:.3g} s"


@dataclass(frozen=True)
class Drops:
    """A time in which every data packet is lost."""

    from_s: float
    length_s: float
    period_s: float | None
    """It comes again so much later each time; once without."""

    on_linux: ClassVar[bool] = True

    def share(self, duration_s: float) -> float:
        """Of the time."""
        return self.length_s / (duration_s if self.period_s is None else self.period_s)

    def put(self, document: dict[str, Any]) -> None:
        """Adds an event."""
        event = {"action": "drop", "from": time_text(self.from_s), "until": time_text(self.from_s + self.length_s)}
        if self.period_s is not None:
            event["repeat"] = time_text(self.period_s)
        document["path"].setdefault("events", []).append(event)

    def even(self) -> Loss:
        """Random loss of the same share; of a single time, none."""
        return Loss(self.share(math.inf) if self.period_s is not None else 0.0)

    def simpler(self) -> Iterator[Drops]:
        """Once, and with rounder numbers."""
        if self.period_s is not None:
            yield replace(self, period_s=None)
        for digits in (1, 2, 3):
            yield replace(self, from_s=rounded(self.from_s, digits))
            yield replace(self, length_s=rounded(self.length_s, digits))
            if self.period_s is not None:
                yield replace(self, period_s=rounded(self.period_s, digits))

    def words(self) -> str:
        """What it does."""
        again = "once" if self.period_s is None else f"every {1e3 * self.period_s:.4g} ms"
        return f"{again} {1e3 * self.length_s:.3g} ms in which all data is lost"


@dataclass(frozen=True)
class Loss:
    """Random loss, which is what drops are when they are spread evenly."""

    share: float

    on_linux: ClassVar[bool] = True

    def put(self, document: dict[str, Any]) -> None:
        """Adds to the loss of the path."""
        path = document["path"]
        path["loss"] = min(path.get("loss", 0.0) + self.share, 1.0)

    def even(self) -> Loss:
        """Itself."""
        return self

    def simpler(self) -> Iterator[Loss]:
        """Nothing is."""
        return iter(())

    def words(self) -> str:
        """What it does."""
        return f"{100 * self.share:.3g} % random loss"
