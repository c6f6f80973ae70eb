"""``dumbbell report`` and ``dumbbell advise``: a page about a result, and a page that answers a question."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import experiment
from dumbbell.commands import completion, options
from dumbbell.commands.compare import document
from dumbbell.commands.running import check_out
from dumbbell.console import examples, fail, note, print_paths, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell import _core
    from dumbbell.pages.writing import Format

REPORT_EXAMPLES = examples(
    "dumbbell report result  # writes result/report.html and report.md",
    "dumbbell report result --format html",
)
ADVISE_EXAMPLES = examples(
    "dumbbell advise --trace my.up --loss 0.5% --candidates bbr,bbr3,cubic",
    "dumbbell advise --rate 50mbit --rtt 20ms,80ms --buffer 0.5bdp,2bdp -o advice",
)

Pages = Annotated[str, typer.Option("--format", help="html, md, or both: html,md.")]


def report(folder: options.Folder, formats: Pages = "html,md", quiet: options.Quiet = False) -> None:
    """Write a page about a result: who won, charts, numbers, what limits each flow, how to repeat it."""
    from dumbbell import pages
    from dumbbell.results import RESULT, SWEEP, SweepResult, load

    wanted = _formats(formats)
    result = load(folder)
    kind = SWEEP if isinstance(result, SweepResult) else RESULT
    paths = pages.write(pages.of_result(result, folder), folder, kind, wanted)
    if not quiet:
        print_paths(paths)


def advise(
    candidates: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Algorithms to choose from; see `dumbbell cc list`.",
            autocompletion=completion.several_algorithms,
        ),
    ] = "bbr,bbr3,cubic",
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A Mahimahi trace that the bottleneck follows.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(help="In place of a trace: rate of the bottleneck; default 10mbit.")
    ] = None,
    rtt: Annotated[str, typer.Option(help="Base round-trip time.")] = "40ms",
    buffer: Annotated[str, typer.Option(help="Queue of the bottleneck.")] = "1bdp",
    loss: Annotated[str, typer.Option(help="Random loss.")] = "0%",
    duration: Annotated[str, typer.Option(help="Length of each run.")] = "60s",
    settings: options.Settings = None,
    repeat: Annotated[int, typer.Option(min=2, help="Runs of each combination, with different seeds.")] = 5,
    jobs: options.Jobs = None,
    max_memory: options.MaxMemory = None,
    seed: options.Seed = None,
    out: options.Out = None,
    formats: Pages = "html,md",
    quiet: options.Quiet = False,
) -> None:
    """Choose an algorithm for a path: run candidates alone on it, and write a page with the choice and its reason.

    Among the algorithms whose goodput is within 5 % of the highest, the one with the least delay. Several values, as in
    --loss 0%,1%, are all tried. Round-trip times vary by a fraction of a packet time, so that seeds differ.
    """
    wanted = _formats(formats)
    names = [name for name in options.several(candidates) if name]
    if len(names) < 2:
        fail(f"--candidates {candidates}: name at least two algorithms")
    path = {"rate": rate, "rtt": rtt, "buffer": buffer, "loss": loss}
    described = document(names, path, trace=trace, duration=duration, repeat=repeat)
    options.check_trace(trace)
    place = out or Path("out") / f"advice-{trace.stem if trace else rate or '10mbit'}".replace(",", "-")
    loaded = experiment.load(described, set=options.settings(settings, vary_rtt=True), seed=seed, name=options.OPTIONS)
    check_out(loaded, place)
    question = _question(names, trace, rate, rtt, buffer, loss)
    limits = options.Limits(jobs, options.size(max_memory))
    _answer(loaded.points, place, question, wanted, limits, quiet)


def _answer(
    points: Sequence[_core.Point],
    place: Path,
    question: str,
    formats: list[Format],
    limits: options.Limits,
    quiet: bool,
) -> None:
    """Runs the candidates, prints the choice, and writes the page."""
    from dumbbell import pages, spread
    from dumbbell import report as tables
    from dumbbell.api import Sweep
    from dumbbell.results import SWEEP

    sweep = Sweep(points, out=place, progress=False if quiet else None, **limits._asdict()).collect()
    command = shlex.join(["dumbbell", *sys.argv[1:]])
    content = pages.of_result(sweep, place, question=question, command=command)
    paths = pages.write(content, place, SWEEP, formats)
    if quiet:
        return
    tables.result(sweep)
    for sentence in content.recommendation:
        say(sentence)
    if (text := spread.note(sweep)) is not None:
        note(text)
    print_paths(paths)


def _question(names: list[str], trace: Path | None, rate: str | None, rtt: str, buffer: str, loss: str) -> str:
    link = f"a link that follows {trace.name}" if trace else f"a link of {rate or '10mbit'}"
    return (
        f"Which of {', '.join(names)} for a sender alone on {link}, with a round-trip time of {rtt}, "
        f"a queue of {buffer} and {loss} of random loss?"
    )


def _formats(text: str) -> list[Format]:
    from dumbbell.pages.writing import FORMATS

    words = options.several(text)
    chosen = [name for name in FORMATS if name in words]
    if not chosen or set(words) - set(FORMATS):
        fail(f"--format {text}: choose from {', '.join(FORMATS)}")
    return chosen
