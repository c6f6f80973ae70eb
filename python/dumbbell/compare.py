"""Algorithms side by side on one path, without an experiment file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from dumbbell.api import sweep
from dumbbell.memory import Size
from dumbbell.results import SweepResult


def scenario(
    algorithms: Sequence[str],
    *,
    rate: str = "10mbit",
    rtt: str = "40ms",
    buffer: str = "1bdp",
    loss: str | Sequence[str] = "0%",
    duration: str = "60s",
    repeat: int = 1,
    together: bool = False,
) -> dict[str, Any]:
    """The experiment that :func:`compare` runs, as a dictionary of the shape of an experiment file."""
    losses = [loss] if isinstance(loss, str) else list(loss)
    swept: dict[str, Any] = {"path.loss": losses} if len(losses) > 1 else {}
    if not together and len(algorithms) > 1:
        swept["flows[0].cc"] = list(algorithms)
    if swept or repeat > 1:
        swept["repeat"] = repeat
    document: dict[str, Any] = {
        "duration": duration,
        "path": {"rate": rate, "rtt": rtt, "buffer": buffer, "loss": losses[0]},
        "flows": [{"cc": name} for name in (algorithms if together else algorithms[:1])],
    }
    return document | ({"sweep": swept} if swept else {})


def compare(
    *algorithms: str,
    rate: str = "10mbit",
    rtt: str = "40ms",
    buffer: str = "1bdp",
    loss: str | Sequence[str] = "0%",
    duration: str = "60s",
    repeat: int = 1,
    seed: int | None = None,
    together: bool = False,
    jobs: int | None = None,
    max_memory: Size | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> SweepResult:
    """Runs algorithms on the same path and returns one table.

    Args:
        algorithms: Names as in ``dumbbell cc list``.
        rate: Rate of the bottleneck, as in tc: ``"10mbit"``.
        rtt: Base round-trip time.
        buffer: Size of the bottleneck's queue: ``"1bdp"``, ``"100packets"``, ``"64kB"``.
        loss: Random loss, or several to compare: ``["0%", "1%", "5%"]``.
        duration: Length of each run.
        repeat: Runs of each combination, with different seeds.
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
        rtt=rtt,
        buffer=buffer,
        loss=loss,
        duration=duration,
        repeat=repeat,
        together=together,
    )
    return sweep(document, seed=seed, jobs=jobs, max_memory=max_memory, out=out, progress=progress).collect()
