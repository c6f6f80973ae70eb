"""Algorithms side by side on one path, without an experiment file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell import _core, arguments, catalogue
from dumbbell.api import sweep
from dumbbell.memory import Size
from dumbbell.results import SweepResult

RATE = "10mbit"
"""The bottleneck where nothing else is said."""

WARMUP_SHARE = 1 / 6
"""Part of a run that is not measured by default: 10 s of a minute, in which slow start ends on most paths."""


def scenario(
    algorithms: Sequence[str | type],
    *,
    rate: str | Sequence[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    rtt: str | Sequence[str] = "40ms",
    buffer: str | Sequence[str] = "1bdp",
    loss: str | Sequence[str] = "0%",
    duration: str = "60s",
    warmup: str | None = None,
    repeat: int = 1,
    together: bool = False,
) -> dict[str, Any]:
    """The experiment that :func:`compare` runs, as a dictionary of the shape of an experiment file."""
    if not algorithms:
        raise ValueError("name at least one algorithm")
    for one in algorithms:
        if not isinstance(one, str | type):
            arguments.refuse("algorithms", one, 'names such as "bbr", or classes, one after the other')
    classes = {one.__qualname__: one for one in algorithms if isinstance(one, type)}
    names = [one.__qualname__ if isinstance(one, type) else one for one in algorithms]
    if rate is not None and trace is not None:
        raise ValueError("the bottleneck follows a rate or a trace, not both")
    given = {
        "rate": arguments.several("rate", RATE if rate is None else rate, '"10mbit"'),
        "rtt": arguments.several("rtt", rtt, '"40ms"'),
        "buffer": arguments.several("buffer", buffer, '"1bdp"'),
        "loss": [_probability(word) for word in arguments.several("loss", loss, '"1%"')],
    }
    duration = arguments.text("duration", duration, '"60s"')
    repeat = arguments.whole("repeat", repeat, 10)
    flows: list[dict[str, Any]] = [{"cc": name} for name in (names if together else names[:1])]
    if together and len(given["rtt"]) > 1:
        _give_rtts(flows, given["rtt"])
        given["rtt"] = [min(given["rtt"], key=_core.seconds)]  # which raises a ValueError for what is no time
    path: dict[str, Any] = {key: values[0] for key, values in given.items()}
    swept: dict[str, Any] = {f"path.{key}": values for key, values in given.items() if len(values) > 1}
    if trace is not None:
        del path["rate"]
        path["trace"] = str(arguments.path("trace", trace, "a trace"))
    if not together and len(names) > 1:
        swept["flows[0].cc"] = names
    if swept or repeat > 1:
        swept["repeat"] = repeat
    presets = {name: changed for name in names if (changed := variant(name)) is not None}
    presets |= {name: {"python": cls} for name, cls in classes.items()}
    document: dict[str, Any] = {
        "duration": duration,
        "warmup": _share_of(duration) if warmup is None else arguments.text("warmup", warmup, '"10s"'),
        "path": path,
        "flows": flows,
    }
    return document | ({"presets": presets} if presets else {}) | ({"sweep": swept} if swept else {})


def written(cc: str | Mapping[str, Any] | type) -> str | Mapping[str, Any]:
    """An algorithm as commands take it, as an experiment writes it."""
    if isinstance(cc, type):
        return {"python": cc}
    named = variant(cc) if isinstance(cc, str) else None
    if named is None:
        return cc
    return {"name" if key == "base" else key: value for key, value in named.items()}


def variant(text: str) -> dict[str, Any] | None:
    """What ``bbr:drain_gain=0.5``, ``mine.py:Mine`` or ``a.so`` stands for as a preset; ``None`` for a plain name."""
    name, *given = text.split(":")
    key = catalogue.file_key(name) or "base"
    if name.endswith(".py"):
        # A class of one's own; without one the engine says what is there.
        name, key = f"{name}:{given.pop(0)}" if given else name, "python"
    elif name == "bpf" and given:
        # The name of a program for the kernel.
        name = f"{name}:{given.pop(0)}"
    if not given and key == "base":
        return None
    variant: dict[str, Any] = {key: name}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not (name and key and equals and value):
            raise ValueError(
                f"{text}: an algorithm with changed parameters is NAME:PARAMETER=VALUE, such as bbr:drain_gain=0.5"
            )
        if key in variant:
            raise ValueError(f"{text}: {key} is given twice")
        try:
            variant[key] = json.loads(value)
        except ValueError:
            variant[key] = value
    return variant


def _share_of(duration: str) -> str:
    """The default of ``warmup``."""
    try:
        return f"{_core.seconds(duration) * WARMUP_SHARE:.3g}s"
    except ValueError:
        # The experiment refuses the duration, and says why.
        return "0s"


def _probability(word: str) -> str:
    """A loss as written; 1 is refused, because 0,1 is a tenth to some and two losses to others."""
    try:
        is_everything = float(word) >= 1
    except ValueError:
        return word
    if is_everything:
        raise ValueError(
            f"a loss of {word} is {100 * float(word):g} % of all packets; write {word}% for {word} percent"
        )
    return word


def _give_rtts(flows: Sequence[dict[str, Any]], rtts: Sequence[str]) -> None:
    """Gives each flow a round-trip time of its own."""
    if len(rtts) != len(flows):
        raise ValueError(f"{len(rtts)} round-trip times for {len(flows)} algorithms; give one, or one for each")
    for number, (flow, rtt) in enumerate(zip(flows, rtts, strict=True)):
        flow["rtt"] = rtt
        flow["label"] = f"{flow['cc']} {rtt}" if [one["cc"] for one in flows].count(flow["cc"]) > 1 else flow["cc"]
        if [one.get("label") for one in flows[:number]].count(flow["label"]):
            flow["label"] += f" {number}"


def compare(
    *algorithms: str | type,
    rate: str | Sequence[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    rtt: str | Sequence[str] = "40ms",
    buffer: str | Sequence[str] = "1bdp",
    loss: str | Sequence[str] = "0%",
    duration: str = "60s",
    warmup: str | None = None,
    repeat: int = 1,
    vary_rtt: bool = False,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    seed: int | None = None,
    together: bool = False,
    jobs: int | None = None,
    max_memory: Size | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> SweepResult:
    """Runs algorithms on the same path and returns one table.

    Several rates, round-trip times, buffers or losses are a sweep: ``loss=["0%", "1%", "5%"]``.

    Args:
        algorithms: Names as in ``dumbbell cc list``, also with changed parameters: ``"bbr:drain_gain=0.5"``. Or classes
            of your own, and names of theirs: ``"mine.py:Mine:gain=2"``.
        rate: Rate of the bottleneck, as in tc: ``"10mbit"``, which is the default.
        trace: In place of a rate: a file of a measured rate, or a Mahimahi trace, that the bottleneck follows.
        rtt: Base round-trip time. With ``together`` several are those of the algorithms.
        buffer: Size of the bottleneck's queue: ``"1bdp"``, ``"100packets"``, ``"64kB"``.
        loss: Random loss.
        duration: Length of each run.
        warmup: What is not measured at the start; default a sixth of the run, so that slow start is not in the numbers.
        repeat: Runs of each combination, with different seeds.
        vary_rtt: Lengthen the round trip of each flow by a fraction of a packet time, drawn from the seed.
        set: Further settings, as in an experiment file: ``{"path.queue": "codel"}``.
        seed: Base seed.
        together: Let the algorithms share the path; by default each has it for itself.
        jobs: Threads; default one a core.
        max_memory: Memory that each run may take, in bytes or as ``"2GiB"``; default its part of half of the machine's.
        out: Directory for the results.
        progress: Whether to show a progress bar; by default on a terminal.
    """
    document = scenario(
        algorithms,
        rate=rate,
        trace=trace,
        rtt=rtt,
        buffer=buffer,
        loss=loss,
        duration=duration,
        warmup=warmup,
        repeat=repeat,
        together=together,
    )
    settings = {"vary_rtt": "1packet"} if vary_rtt else {}
    settings |= arguments.settings("set", set, '{"path.queue": "codel"}')
    return sweep(
        document, set=settings, seed=seed, jobs=jobs, max_memory=max_memory, out=out, progress=progress
    ).collect()
