"""What Flent's tests consist of: streams, probes, and series that are computed of them, with Flent's names."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["average", "sum", "fairness"]
Direction = Literal["up", "down"]
WAYS: tuple[tuple[str, Direction], ...] = (("upload", "up"), ("download", "down"))
SUMMARIES: tuple[tuple[str, Kind], ...] = (("avg", "average"), ("sum", "sum"), ("fairness", "fairness"))
"""What is computed of several streams, by the end of its name."""


@dataclass(frozen=True)
class Stream:
    """A bulk transfer."""

    name: str
    direction: Direction
    dscp: str | None = None
    host: int = 0
    """Which of the test's hosts it is with; hosts have round-trip times of their own."""


@dataclass(frozen=True)
class Probe:
    """Small packets, one every step, each answered at once."""

    name: str
    dscp: str | None = None
    host: int = 0


@dataclass(frozen=True)
class Derived:
    """A series that is computed of others, step by step."""

    name: str
    kind: Kind
    of: tuple[str, ...]


@dataclass(frozen=True)
class FlentTest:
    """A test: what runs at the same time."""

    name: str
    about: str
    streams: tuple[Stream, ...]
    probes: tuple[Probe, ...]
    derived: tuple[Derived, ...] = ()
    hosts: int = 1

    @property
    def directions(self) -> set[Direction]:
        """Where its bulk transfers go."""
        return {stream.direction for stream in self.streams}

    @property
    def parts(self) -> tuple[Stream | Probe, ...]:
        """Streams and probes: the flows of its experiment, in their order."""
        return (*self.streams, *self.probes)


ICMP = Probe("Ping (ms) ICMP")


def _several(name: str, direction: Direction, streams: int) -> FlentTest:
    word = "upload" if direction == "up" else "download"
    names = tuple(f"TCP {word}::{number}" for number in range(1, streams + 1))
    return FlentTest(
        name,
        f"{streams} TCP {word}s and a ping",
        tuple(Stream(stream, direction) for stream in names),
        (ICMP,),
        tuple(Derived(f"TCP {word} {suffix}", kind, names) for suffix, kind in SUMMARIES),
    )


def _both_ways(name: str, about: str, classes: tuple[tuple[str, str], ...], probes: tuple[Probe, ...]) -> FlentTest:
    streams = tuple(
        Stream(f"TCP {word} {label}", direction, dscp) for word, direction in WAYS for label, dscp in classes
    )
    derived = []
    for word, _ in WAYS:
        names = tuple(stream.name for stream in streams if word in stream.name)
        derived += [Derived(f"TCP {word} avg", "average", names), Derived(f"TCP {word} sum", "sum", names)]
    derived.append(Derived("TCP totals", "sum", tuple(stream.name for stream in streams)))
    derived.append(Derived("Ping (ms) avg", "average", tuple(probe.name for probe in probes)))
    return FlentTest(name, about, streams, probes, tuple(derived))


def _rrul() -> FlentTest:
    classes = (("BE", "cs0"), ("BK", "cs1"), ("CS5", "cs5"), ("EF", "ef"))
    probes = tuple(Probe(f"Ping (ms) UDP {label}", dscp) for label, dscp in (classes[3], classes[1], classes[0]))
    return _both_ways("rrul", "4 uploads, 4 downloads in four classes, and four pings", classes, (*probes, ICMP))


def _rrul_be() -> FlentTest:
    classes = tuple((label, "cs0") for label in ("BE", "BE2", "BE3", "BE4"))
    probes = tuple(Probe(f"Ping (ms) UDP BE{number}", "cs0") for number in (1, 2, 3))
    return _both_ways("rrul_be", "4 uploads, 4 downloads, all best effort, and four pings", classes, (*probes, ICMP))


def _rtt_fair(name: str, classes: tuple[tuple[str, str], ...]) -> FlentTest:
    hosts = tuple(f"host{number}" for number in range(1, 5))
    streams = tuple(
        Stream(f"TCP {word} {label} {hosts[host]}", direction, dscp, host)
        for word, direction in WAYS
        for host, (label, dscp) in enumerate(classes)
    )
    probes = tuple(Probe(f"Ping (ms) ICMP{host + 1} {hosts[host]}", None, host) for host in range(4))
    derived = tuple(
        Derived(f"TCP {word} {suffix}", kind, tuple(stream.name for stream in streams if word in stream.name))
        for word, _ in WAYS
        for suffix, kind in SUMMARIES
    )
    ping = Derived("Ping (ms) avg", "average", tuple(probe.name for probe in probes))
    return FlentTest(
        name, "uploads and downloads with four hosts at different distances", streams, probes, (*derived, ping), 4
    )


def _one_each(name: str, about: str, *streams: Stream) -> FlentTest:
    return FlentTest(name, about, streams, (ICMP,))


def _always(test: FlentTest) -> Callable[[int], FlentTest]:
    """A test that has as many streams as it has."""
    return lambda _: test


def _tests() -> dict[str, Callable[[int], FlentTest]]:
    """Every test by its name, for a number of streams where it has one."""
    up, down = Stream("TCP upload", "up"), Stream("TCP download", "down")
    fixed = [
        _one_each("tcp_1up", "a TCP upload and a ping", up),
        _one_each("tcp_upload", "the same as tcp_1up", up),
        _one_each("tcp_1down", "a TCP download and a ping", down),
        _one_each("tcp_download", "the same as tcp_1down", down),
        _one_each("tcp_bidirectional", "a TCP upload, a TCP download and a ping", down, up),
        *(_several(f"tcp_{count}up", "up", count) for count in (2, 4, 6, 8, 12)),
        _rrul(),
        _rrul_be(),
        _rtt_fair("rtt_fair", (("BE1", "cs0"), ("BE2", "cs0"), ("BK1", "cs1"), ("BK2", "cs1"))),
        _rtt_fair("rtt_fair4be", tuple((f"BE{number}", "cs0") for number in (1, 2, 3, 4))),
    ]
    tests = {test.name: _always(test) for test in fixed}
    tests["tcp_nup"] = lambda streams: _several("tcp_nup", "up", streams)
    tests["tcp_ndown"] = lambda streams: _several("tcp_ndown", "down", streams)
    return tests


TESTS = _tests()


def test_named(name: str, streams: int | None = None) -> FlentTest:
    """The test of that name, with so many streams, by default one, where it can have any number.

    Raises:
        ValueError: There is no such test, or its number of streams is its own or below one.
    """
    if name not in TESTS:
        raise ValueError(f"there is no test {name!r}; choose from {', '.join(sorted(TESTS))}")
    takes_streams = re.fullmatch(r"tcp_n(up|down)", name) is not None
    if streams is not None and not takes_streams:
        raise ValueError(f"{name} has as many streams as it has; use tcp_nup or tcp_ndown for another number")
    if streams is not None and streams < 1:
        raise ValueError(f"{streams} streams: a test needs at least one")
    return TESTS[name](streams or 1)
