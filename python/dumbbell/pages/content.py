"""What a page says, gathered from a result."""

from __future__ import annotations

import base64
import io
import json
import platform
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell import report, spread
from dumbbell import why as asking
from dumbbell.advice import words
from dumbbell.pages import charts, verdict
from dumbbell.pages import limits as limiting
from dumbbell.pages.advice import advice, sentences
from dumbbell.pages.limits import Limit, limits
from dumbbell.printable import file_name
from dumbbell.results import SCENARIO, Meta, Result, SweepResult, experiment_of, leading_axes, setting_text
from dumbbell.terminal import Grid
from dumbbell.why import marks
from dumbbell.why import words as reasons

if TYPE_CHECKING:
    from dumbbell.plots import Picture

MAX_COMMANDS = 40
"""So many points of a sweep have the command that repeats them on the page."""

MAX_FLOWS = 40
"""What limits more flows than these nobody reads."""

PRINTED_DPI = 90
"""Of the pictures in a page, which are seen on paper and where there is no JavaScript."""

PRINTED_COLOURS = 32


MAX_WHY_CPU_S = 20.0
"""A page repeats its run without the causes of a low rate only if that takes no more CPU."""

WHY_REPEATS = 5


@dataclass(frozen=True)
class Why:
    """What holds a flow back."""

    sentence: str
    grid: Grid | None
    cleared: str | None
    command: str | None
    """The run without the first cause."""
    intervals: str


@dataclass(frozen=True)
class Content:
    """A page before it is written."""

    title: str
    question: str | None
    """What was assumed, with `dumbbell advise`."""
    recommendation: list[str]
    verdict: list[str]
    """Who won, by how much, and how sure that is."""
    notes: list[str]
    """What to know before believing the numbers."""
    described: str
    """What was run, in words and values."""
    tables: list[tuple[str, Grid]]
    charts: list[dict[str, Any]]
    """The data of the charts; see :mod:`dumbbell.pages.charts`."""
    pictures: dict[str, Picture]
    names: list[str]
    """Who is seen in charts and pictures."""
    why: list[Why]
    """What holds flows of a run back, proved by the runs without it."""
    limits: list[Limit]
    limits_left: int
    """Settings of a sweep of which the page does not say what limits their flows."""
    provenance: list[tuple[str, str]]
    commands: list[str]
    """What gives the same numbers again."""
    rule: str | None = None
    """When something is recommended."""

    @cached_property
    def images(self) -> dict[str, str]:
        """The pictures in the page itself, small, by what is seen in them.

        They are images, so that identifiers inside of drawings cannot collide.
        """
        return {self.alt(name): _image(picture) for name, picture in self.pictures.items()}

    @cached_property
    def files(self) -> dict[str, str]:
        """The files of pictures beside the page, by what is seen in them."""
        return {self.alt(name): file_of(name) for name in self.pictures}

    def alt(self, name: str) -> str:
        """What is seen in a picture."""
        shown = CAPTIONS.get(name, name[0].upper() + name[1:])
        if panels := re.fullmatch(r"(\w+)-(.+)-panels=(.+)", name):
            column, axis, others = panels.groups()
            shown = f"{column} over {axis}, a panel for each {others}"
        who = ", ".join(self.names[:MAX_NAMES]) + (", ..." if len(self.names) > MAX_NAMES else "")
        return f"{shown}. Seen are {who}." if who else f"{shown}."

    @cached_property
    def data(self) -> str:
        """The data of the charts as JSON that ends no element of HTML."""
        text = json.dumps(self.charts, separators=(",", ":"), allow_nan=False)
        return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")

    @property
    def extremes(self) -> int:
        """Of how many samples two points of a line over time are the extremes, at most; 1 if every sample is drawn."""
        return max((run["samples"] for chart in self.charts for run in chart.get("runs", [])), default=1)


MAX_NAMES = 8

CAPTIONS = {
    "overview": "Throughput, RTT, queue and windows over time",
    "tradeoff": "Goodput against delay, up and to the right is better",
    "loss-curve": "Goodput against random loss",
    "shares": "What each flow has of the whole, stacked over time",
    "completions": "Completion times of transfers, and their slowdown by size",
    "pages": "Load times of web pages",
    "queries": "Query completion times of incasts",
}


def file_of(name: str) -> str:
    """The file of a picture."""
    return f"{file_name(name)}.png"


def _image(picture: Picture) -> str:
    from PIL import Image

    buffer = io.BytesIO()
    picture.savefig(buffer, format="png", dpi=PRINTED_DPI)
    small = io.BytesIO()
    # A few colours are enough for lines, and take a third of the bytes.
    Image.open(buffer).convert("RGB").quantize(PRINTED_COLOURS).save(small, "png", optimize=True)
    return "data:image/png;base64," + base64.b64encode(small.getvalue()).decode("ascii")


def of_result(result: Result | SweepResult, folder: Path) -> Content:
    """The content of a page about the result in ``folder``."""
    if isinstance(result, SweepResult):
        return _of_sweep(result, folder)
    return _of_run(result, folder)


def _of_run(result: Result, folder: Path) -> Content:
    pictures, missing = _suitable(result)
    if len(result.flows) > 1 and len(result.series):
        pictures["shares"] = result.plot.shares()
    together = report.sum_and_fairness(result)
    causes, untold = _why(result, folder)
    return Content(
        title=folder.name or "result",
        question=None,
        recommendation=[],
        verdict=verdict.of_run(result),
        notes=[*result.meta.void, *([together] if together else []), *missing, *untold, *marks.warnings(result)],
        described=described(result),
        tables=_tables(result),
        charts=charts.of_run(result),
        pictures=pictures,
        names=_names(result),
        why=causes,
        limits=[] if causes else limits(result)[:MAX_FLOWS],
        limits_left=0,
        provenance=provenance([result.meta]),
        commands=[f"dumbbell run {shlex.quote(str(folder / SCENARIO))}"],
    )


def _why(result: Result, folder: Path) -> tuple[list[Why], list[str]]:
    """What holds flows back, and a note where finding that out would take long."""
    if result.meta.certificate is not None:
        return [], []
    runs = asking.tried(result)
    repeat = next((n for n in (WHY_REPEATS, 1) if runs * n * result.meta.cpu_s <= MAX_WHY_CPU_S), None)
    if repeat is None:
        return [], [f"dumbbell why {shlex.quote(str(folder))} proves what holds flows back; it takes {runs} such runs"]
    found = []
    for answer in asking.answers(result, repeat=repeat):
        command = reasons.command(answer.named[0], str(folder / SCENARIO)) if answer.named else None
        grid = reasons.grid(answer) if answer.named else None
        sentence, cleared = reasons.sentence(answer), reasons.cleared(answer)
        intervals = reasons.intervals([answer]) if answer.is_measured else ""
        found.append(Why(sentence, grid, cleared, command, intervals))
    return found, []


def _tables(result: Result) -> list[tuple[str, Grid]]:
    tables = [("Flows", report.flows_grid(result))] if len(result.flows) else []
    tables.append(("Links", report.links_grid(result)))
    if len(result.traffic):
        sources, sizes, _ = report.traffic_grids(result)
        tables += [("Traffic", sources), ("Completion times by size", sizes)]
    if len(result.pages):
        tables.append(("Load times of pages", report.pages_grid(result)))
    if len(result.rounds):
        tables.append(("Query completion times", report.rounds_grid(result)))
    if len(result.datagrams):
        tables.append(("Datagrams", report.datagrams_grid(result)))
    if (streams := report.streams_grid(result)) is not None:
        tables.append(("Streams", streams))
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
    limited, left = limiting.of_sweep(sweep, MAX_FLOWS)
    pictures, missing = _pictures(sweep)
    notes += missing
    return Content(
        title=folder.name or "sweep",
        question=None,
        recommendation=sentences(choices),
        verdict=verdict.of_sweep(sweep),
        notes=notes,
        described=f"{settings}\nthe first run:\n{described(first)}",
        tables=_tables_of_sweep(sweep, grid, rows),
        charts=charts.of_sweep(sweep),
        pictures=pictures,
        names=_names(sweep),
        why=[],
        limits=limited,
        limits_left=left,
        provenance=provenance(sweep.points),
        commands=_commands(sweep, folder),
        rule=words.rule(choices[0].confidence) if choices else None,
    )


def _tables_of_sweep(sweep: SweepResult, flows: Grid, rows: int) -> list[tuple[str, Grid]]:
    title = report.sweep_title(sweep)
    others = {f"{heading}, {title}": grid for heading, (grid, _) in report.others_of_sweep(sweep).items()}
    return [*([(title, flows)] if rows or not others else []), *others.items()]


def _suitable(result: Result | SweepResult) -> tuple[dict[str, Picture], list[str]]:
    """The pictures that suit a result, or why there are none."""
    try:
        return dict(result.plot.suitable()), []
    except ValueError as error:
        return {}, [f"there are no pictures: {error}".split("\n")[0]]


def _pictures(sweep: SweepResult) -> tuple[dict[str, Picture], list[str]]:
    """Those that suit the sweep, and the goodput and delay over its setting where they are not among these."""
    pictures, missing = _suitable(sweep)
    if any("-panels=" in name for name in pictures) or not len(sweep.flows):
        return pictures, missing
    for axis in leading_axes(sweep.flows.to_polars(), [axis for axis in sweep.axes if not axis.endswith(".cc")]):
        if axis.endswith("loss"):
            continue
        try:
            pictures[f"goodput over {axis}"] = sweep.plot.metric(axis, "goodput_mbps")
            pictures[f"95th percentile of RTT over {axis}"] = sweep.plot.metric(axis, "p95_rtt_ms")
        except ValueError:
            # Too many lines; the table has the numbers.
            continue
    return pictures, missing


def _names(result: Result | SweepResult) -> list[str]:
    """The algorithms and labels of flows, and the sources of traffic."""
    from dumbbell.plots.style import named

    frames = [table.to_polars() for table in (result.flows, result.traffic) if len(table)]
    rows = [row for frame in frames for row in frame.select("cc", "label").unique(maintain_order=True).rows()]
    return list(dict.fromkeys(named(str(cc), str(label)) for cc, label in rows))


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
