"""What a page says, gathered from a result."""

from __future__ import annotations

import base64
import platform
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell import report, spread
from dumbbell.advice import words
from dumbbell.pages.advice import advice, sentences
from dumbbell.pages.limits import Limit, limits
from dumbbell.results import SCENARIO, Meta, Result, SweepResult, experiment_of, setting_text
from dumbbell.terminal import Grid

if TYPE_CHECKING:
    from dumbbell.plots import Picture

MAX_COMMANDS = 40
"""So many points of a sweep have the command that repeats them on the page."""

MAX_FLOWS = 40
"""What limits more flows than these nobody reads."""


@dataclass(frozen=True)
class Content:
    """A page before it is written."""

    title: str
    question: str | None
    """What was assumed, with `dumbbell advise`."""
    recommendation: list[str]
    notes: list[str]
    """What to know before believing the numbers."""
    described: str
    """What was run, in words and values."""
    tables: list[tuple[str, Grid]]
    pictures: dict[str, Picture]
    limits: list[Limit]
    provenance: list[tuple[str, str]]
    commands: list[str]
    """What gives the same numbers again."""
    rule: str | None = None
    """When something is recommended."""

    @cached_property
    def images(self) -> dict[str, str]:
        """The pictures in the page itself, by what is said below them.

        They are images, so that identifiers inside of drawings cannot collide.
        """
        return {CAPTIONS.get(name, name): _image(picture) for name, picture in self.pictures.items()}


CAPTIONS = {
    "overview": "Throughput, RTT, queue and windows over time",
    "tradeoff": "Goodput against delay: up and to the right is better",
    "loss-curve": "Goodput against random loss",
    "shares": "What each flow has of the whole, stacked over time",
}


def _image(picture: Picture) -> str:
    return "data:image/png;base64," + base64.b64encode(picture.encoded("png")).decode("ascii")


def of_result(result: Result | SweepResult, folder: Path) -> Content:
    """The content of a page about the result in ``folder``."""
    if isinstance(result, SweepResult):
        return _of_sweep(result, folder)
    return _of_run(result, folder)


def _of_run(result: Result, folder: Path) -> Content:
    pictures = dict(result.plot.suitable())
    if len(result.flows) > 1 and len(result.series):
        pictures["shares"] = result.plot.shares()
    together = report.sum_and_fairness(result)
    return Content(
        title=folder.name or "result",
        question=None,
        recommendation=[],
        notes=[*result.meta.void, *([together] if together else [])],
        described=described(result),
        tables=_tables(result),
        pictures=pictures,
        limits=limits(result)[:MAX_FLOWS],
        provenance=provenance([result.meta]),
        commands=[f"dumbbell run {shlex.quote(str(folder / SCENARIO))}"],
    )


def _tables(result: Result) -> list[tuple[str, Grid]]:
    tables = [("Flows", report.flows_grid(result))] if len(result.flows) else []
    tables.append(("Links", report.links_grid(result)))
    if len(result.traffic):
        sources, sizes, _ = report.traffic_grids(result)
        tables += [("Traffic", sources), ("Completion times by size", sizes)]
    if len(result.pages):
        tables.append(("Load times of pages", report.pages_grid(result)))
    if len(result.datagrams):
        tables.append(("Datagrams", report.datagrams_grid(result)))
    return tables


def _of_sweep(sweep: SweepResult, folder: Path) -> Content:
    grid, rows = report.sweep_grid(sweep)
    first = sweep.load(sweep.points[0])
    choices = advice(sweep)
    note = spread.note(sweep)
    notes = [] if note is None else [note.split("\n")[0]]
    if rows > report.MAX_ROWS:
        notes.append(f"{rows - report.MAX_ROWS} more rows are in flows.parquet")
    settings = "".join(
        f"varied: {axis} = {', '.join(_distinct(sweep, axis))}\n" for axis in sweep.axes if axis != "repeat"
    )
    return Content(
        title=folder.name or "sweep",
        question=None,
        recommendation=sentences(choices),
        notes=notes,
        described=f"{settings}\nthe first run:\n{described(first)}",
        tables=_tables_of_sweep(sweep, grid, rows),
        pictures=_pictures(sweep),
        limits=[],
        provenance=provenance(sweep.points),
        commands=_commands(sweep, folder),
        rule=words.rule(choices[0].confidence) if choices else None,
    )


def _tables_of_sweep(sweep: SweepResult, flows: Grid, rows: int) -> list[tuple[str, Grid]]:
    title = report.sweep_title(sweep)
    others = {f"{heading}, {title}": grid for heading, (grid, _) in report.others_of_sweep(sweep).items()}
    return [*([(title, flows)] if rows or not others else []), *others.items()]


def _pictures(sweep: SweepResult) -> dict[str, Picture]:
    """Those that suit the sweep, and the goodput and delay over its first setting of numbers."""
    pictures = dict(sweep.plot.suitable())
    for axis in sweep.axes:
        if axis.endswith((".cc", "loss")) or len(_distinct(sweep, axis)) < 2:
            continue
        try:
            pictures[f"goodput over {axis}"] = sweep.plot.metric(axis, "goodput_mbps")
            pictures[f"95th percentile of RTT over {axis}"] = sweep.plot.metric(axis, "p95_rtt_ms")
        except ValueError:
            # Too many lines; the table has the numbers.
            continue
    return pictures


def _distinct(sweep: SweepResult, axis: str) -> list[str]:
    return list(dict.fromkeys(str(setting_text(point.settings.get(axis))) for point in sweep.points))


def described(result: Result) -> str:
    """What was run, in words and values."""
    # The first line is the name of the file.
    return experiment_of(result).explain().split("\n", 1)[1].replace(" (default)", "").rstrip()


def _commands(sweep: SweepResult, folder: Path) -> list[str]:
    commands = []
    for number, point in enumerate(sweep.points[:MAX_COMMANDS]):
        place = f"point-{number}"
        extract = f"dumbbell extract {shlex.quote(str(folder))} {number} --out {place}"
        commands.append(f"{extract} && dumbbell run {place}/{SCENARIO}  # {point.label}, seed {point.seed}")
    return commands


def provenance(metas: Sequence[Meta]) -> list[tuple[str, str]]:
    """Where the numbers of runs come from."""
    first = metas[0]
    seeds = list(dict.fromkeys(str(meta.seed) for meta in metas))
    shown = ", ".join(seeds[:10]) + (f" and {len(seeds) - 10} more" if len(seeds) > 10 else "")
    algorithms = {name: exact for meta in metas for name, exact in meta.algorithms.items()}
    rows = [
        ("Dumbbell", f"{first.version}, engine {first.engine}"),
        ("ground", first.ground if first.certificate is None else f"Linux {first.certificate.get('kernel')}"),
        ("algorithms", ", ".join(f"{name} is {exact}" for name, exact in algorithms.items())),
        ("runs", f"{len(metas)}, {sum(meta.packets for meta in metas):,} packets"),
        ("seeds", shown),
        (
            "CPU",
            f"{sum(meta.cpu_s for meta in metas):.2f} s for {sum(meta.sim_s for meta in metas):g} simulated seconds",
        ),
        ("written with", f"Python {platform.python_version()}"),
    ]
    if len(metas) == 1:
        rows.append(("content hash", first.content_hash))
    return rows
