"""``dumbbell advise``: which algorithm to choose for a path."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import extras, interrupts, storage
from dumbbell.commands import completion, options
from dumbbell.commands.pages import Pages, formats
from dumbbell.console import examples, fail, print_paths, say

if TYPE_CHECKING:
    from dumbbell.advice.grid import Question
    from dumbbell.pages.writing import Format

EXAMPLES = examples(
    "dumbbell advise --rate 50mbit --rtt 20ms --loss 0.1%",
    "dumbbell advise --trace my.up --candidates bbr,bbr3,cubic",
    "dumbbell advise --trace my.csv --measured-queue 180ms --company alone",
    "dumbbell advise --buffer 1bdp,500packets --rtt 20ms,80ms -o advice",
)


@extras.needed("plots", "dumbbell advise")
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
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A recording that the bottleneck follows: Mahimahi's, or CSV with columns such as time_s,rate_mbps.",
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(help="In place of a trace: rate of the bottleneck; default 10mbit.", show_default=False),
    ] = None,
    rtt: Annotated[str, typer.Option(help="Base round-trip time.")] = "40ms",
    buffer: Annotated[
        str | None,
        typer.Option(
            help="Queues of the bottleneck; more are tried between two that differ. "
            "Default 0.5bdp,1bdp,2bdp,4bdp,10bdp.",
            show_default=False,
        ),
    ] = None,
    measured_queue: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="In place of --buffer: the longest less the shortest round-trip time that ping shows while a transfer "
            "fills the link, such as 180ms.",
        ),
    ] = None,
    company: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Who shares the path: alone for nobody, itself for a second flow of the candidate, or an algorithm "
            "for one flow of it.",
        ),
    ] = "alone,cubic,itself",
    loss: Annotated[str, typer.Option(help="Random loss.")] = "0%",
    duration: Annotated[str, typer.Option(help="Length of each run; its first sixth is not measured.")] = "60s",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting that has no option: --set path.queue=codel."),
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=2, help="Runs of each candidate in each place, with different seeds.")
    ] = 20,
    delay_weight: Annotated[
        float,
        typer.Option(
            help="How much delay counts beside goodput: utility is goodput over the 95th percentile of RTT to this "
            "power."
        ),
    ] = 1.0,
    jobs: options.Jobs = None,
    max_memory: options.MaxMemory = None,
    seed: options.Seed = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Directory for the page, and for a sweep for each company.")
    ] = None,
    chosen_formats: Pages = "html,md",
    quiet: options.Quiet = False,
) -> None:
    """Choose an algorithm for a path: a map over its queue and over who shares it, as a page with its reasons.

    Every candidate runs with every queue in all company. The best is the one with the most utility, which is power:
    goodput over the 95th percentile of RTT. A difference counts from 5 % on, and a choice is named where intervals over
    the seeds show it; elsewhere the map says that no difference is shown. Several rates, round-trip times or losses, as
    in --loss 0%,1%, are rows of it.
    Seeds draw where in a recording a run begins, and round-trip times that are longer by a fraction of a packet time.
    """
    from dumbbell.advice.grid import ADVICE, ask

    wanted = formats(chosen_formats)
    options.check_trace(trace)
    if buffer is not None and measured_queue is not None:
        fail(f"--measured-queue {measured_queue}: the queue is that of a measurement or of --buffer {buffer}, not both")
    try:
        question = ask(
            options.several(candidates),
            rate=None if rate is None else options.several(rate),
            trace=trace,
            rtt=options.several(rtt),
            loss=options.several(loss),
            buffer=None if buffer is None else options.several(buffer),
            measured_queue=measured_queue,
            company=options.several(company),
            duration=duration,
            repeat=repeat,
            delay_weight=delay_weight,
            set=options.settings(settings),
            seed=seed,
        )
    except ValueError as error:
        fail(str(error))
    place = out or Path("out") / f"advice-{trace.stem if trace else rate or '10mbit'}".replace(",", "-")
    storage.check_claim(place, ADVICE)
    _answer(question, place, wanted, {"jobs": jobs, "max_memory": options.size(max_memory)}, quiet)


def _answer(question: Question, place: Path, wanted: list[Format], limits: dict[str, int | None], quiet: bool) -> None:
    """Runs the candidates, prints the map, and writes the page."""
    from dumbbell import pages
    from dumbbell.advice.grid import ADVICE, answer
    from dumbbell.pages.advice import of_map

    command = shlex.join(["dumbbell", *sys.argv[1:]])
    interrupts.advise(lambda: f"what has run is in {place}; to run the rest:\n  {command}")
    found = answer(question, place, limits | {"progress": False if quiet else None})
    interrupts.advise(None)
    paths = pages.write(of_map(found, place, command), place, ADVICE, wanted)
    if quiet:
        return
    for paragraph in (found.assumptions, *found.sentences):
        say(f"{paragraph}\n")
    found.grid().print()
    found.reasons().print()
    say(found.rule)
    print_paths(paths)
