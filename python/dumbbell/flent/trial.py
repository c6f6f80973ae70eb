"""A test on a simulated path: the experiment that it is, and its series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dumbbell import _core, api
from dumbbell.check.subject import subject
from dumbbell.flent.data import DERIVE, FlentData, Values
from dumbbell.flent.tests import FlentTest, Probe, Stream

if TYPE_CHECKING:
    from dumbbell.results import Result

PROBE_BYTES = 64
"""Payload of a probe, as of Flent's UDP probes; with headers 92 bytes."""
HOST_RTTS = ("20ms", "50ms", "100ms", "200ms")
"""Round-trip times of four hosts where nothing else is said."""


@dataclass(frozen=True)
class Timing:
    """When load begins and ends, and how often values are taken, in seconds."""

    length: float = 60.0
    delay: float = 5.0
    step: float = 0.2

    @property
    def total(self) -> float:
        """The test with the times without load before and after it."""
        return self.length + 2 * self.delay


def document(
    test: FlentTest,
    path: Mapping[str, Any],
    *,
    cc: str = "cubic",
    download_cc: str | None = None,
    rtts: Sequence[str] = (),
    timing: Timing = Timing(),
) -> dict[str, Any]:
    """The experiment that a test is, as a dictionary of the shape of an experiment file.

    Args:
        test: The test.
        path: The keys of ``[path]``; the way back is symmetric where it says nothing of it.
        cc: The controller of uploads, and of downloads unless ``download_cc`` names another; both are written as
            ``compare`` takes them.
        download_cc: The controller of downloads.
        rtts: Round-trip times of the hosts of a test that has several.
        timing: Length, times without load, step.

    Raises:
        ValueError: The test has no downloads for ``download_cc``, or not so many hosts.
    """
    if download_cc is not None and "down" not in test.directions:
        raise ValueError(f"{test.name} has no downloads, whose controller --download-cc (in Python `download_cc`) is")
    whole = dict(path)
    if "wifi" not in whole:
        whole.setdefault("reverse", "symmetric")
    rtts = _rtts(test, whole, rtts)
    flows = [_stream(stream, cc, download_cc or cc, rtts, timing) for stream in test.streams]
    flows += [_probe(probe, rtts, timing) for probe in test.probes]
    return {
        "duration": _seconds(timing.total),
        "warmup": _seconds(timing.delay),
        "cooldown": _seconds(timing.delay),
        "record": {"interval": _seconds(timing.step)},
        "path": whole,
        "flows": flows,
    }


def _rtts(test: FlentTest, path: dict[str, Any], rtts: Sequence[str]) -> list[str]:
    """The round-trip time of each host; the path has the shortest of them."""
    if test.hosts == 1:
        if rtts:
            raise ValueError(f"{test.name} has one host; its round-trip time is that of the path")
        return []
    chosen = list(rtts or HOST_RTTS)
    if len(chosen) != test.hosts:
        raise ValueError(f"{test.name} has {test.hosts} hosts, but {len(chosen)} round-trip times are given")
    path["rtt"] = min(chosen, key=_core.seconds)
    return chosen


def _stream(stream: Stream, cc: str, download_cc: str, rtts: list[str], timing: Timing) -> dict[str, Any]:
    flow: dict[str, Any] = {
        "label": stream.name,
        "cc": subject(cc if stream.direction == "up" else download_cc),
        "direction": stream.direction,
        "start": _seconds(timing.delay),
        "stop": _seconds(timing.delay + timing.length),
    }
    return flow | _marked(stream.dscp) | ({"rtt": rtts[stream.host]} if rtts else {})


def _probe(probe: Probe, rtts: list[str], timing: Timing) -> dict[str, Any]:
    """A datagram every step, sent back at once; one that is lost leaves a gap in the series."""
    flow: dict[str, Any] = {
        "label": probe.name,
        "transport": {"profile": "probe", "mss": PROBE_BYTES, "probe": {"interval": _seconds(timing.step)}},
    }
    return flow | _marked(probe.dscp) | ({"rtt": rtts[probe.host]} if rtts else {})


def _marked(dscp: str | None) -> dict[str, Any]:
    return {} if dscp is None else {"dscp": dscp}


def _seconds(value: float) -> str:
    return f"{value:g}s"


def run(
    test: FlentTest,
    path: Mapping[str, Any],
    *,
    cc: str = "cubic",
    download_cc: str | None = None,
    rtts: Sequence[str] = (),
    timing: Timing = Timing(),
    title: str = "",
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    seed: int | None = None,
) -> FlentData:
    """Runs a test on a simulated path; the arguments are those of :func:`document`, and ``title`` names the data.

    Without a title they are called as the controllers that run.
    """
    experiment = document(test, path, cc=cc, download_cc=download_cc, rtts=rtts, timing=timing)
    return of_result(test, api.run(experiment, set=set, seed=seed), timing, title or _title(test, cc, download_cc))


def _title(test: FlentTest, cc: str, download_cc: str | None) -> str:
    """The controllers of a test; of uploads and downloads where they differ."""
    uploads, downloads = cc, download_cc or cc
    if test.directions == {"down"}:
        return downloads
    if test.directions == {"up"} or uploads == downloads:
        return uploads
    return f"{uploads} up, {downloads} down"


def of_result(test: FlentTest, result: Result, timing: Timing, title: str) -> FlentData:
    """The series of a test of what its run recorded."""
    steps = round(timing.total / timing.step)
    x_values = [round((number + 1) * timing.step, 9) for number in range(steps)]
    series = result.series.to_polars()
    results: dict[str, Values] = {}
    for index, part in enumerate(test.parts):
        column = "goodput_mbps" if isinstance(part, Stream) else "rtt_ms"
        rows = series.filter(series["flow"] == index).select("t_s", column)
        ends = timing.delay + timing.length if isinstance(part, Stream) else timing.total
        results[part.name] = _on_grid(rows.rows(), steps, timing.step, ends)
    for derived in test.derived:
        results[derived.name] = DERIVE[derived.kind]([results[name] for name in derived.of])
    metadata = {
        "NAME": test.name,
        "TITLE": title,
        "LENGTH": timing.length,
        "TOTAL_LENGTH": timing.total,
        "STEP_SIZE": timing.step,
    }
    return FlentData(test.name, title, x_values, results, metadata)


def _on_grid(rows: Sequence[tuple[float, float | None]], steps: int, step: float, ends: float) -> Values:
    values: Values = [None] * steps
    for at, value in rows:
        number = round(at / step) - 1
        if 0 <= number < steps and at <= ends + step / 2 and value is not None:
            values[number] = round(value, 6)
    return values
