"""``dumbbell suite``: standard sets of experiments for any controller."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dumbbell import extras
from dumbbell.commands import completion, options
from dumbbell.commands.running import run_parts
from dumbbell.console import examples, fail, print_json, print_paths

EXAMPLES = examples(
    "dumbbell suite --list",
    "dumbbell suite tmrg --quick  # does everything work?",
    "dumbbell suite aqm/congestion --cc cubic,bbr --out out/aqm",
)


@extras.needed("plots", "dumbbell suite")
def suite(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A suite such as aqm, or a part of it such as aqm/bursts; none lists them.",
            autocompletion=completion.suites,
        ),
    ] = None,
    cc: Annotated[
        str,
        typer.Option(
            "--cc",
            help="Controllers under test, separated by commas, as `dumbbell compare` takes them.",
            autocompletion=completion.several_algorithms,
        ),
    ] = "cubic,bbr",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Directory for runs, tables and pictures; default out/SUITE[/PART]."),
    ] = None,
    jobs: options.Jobs = None,
    max_memory: options.MaxMemory = None,
    repeat: Annotated[int, typer.Option(min=1, help="Seeds of each case.")] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="Short runs, one seed: a check, no result.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the suites and their parts.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object: every table, or the list.")] = False,
) -> None:
    """Evaluate controllers and queues with a standard suite: tables, and goodput against delay.

    Runs that are there already are not repeated: the same command goes on after an interrupt.
    """
    from dumbbell import catalogue, suites
    from dumbbell.check.subject import subject
    from dumbbell.suites import text

    if name is None or list_:
        if as_json:
            print_json({"suites": [one.listed() for one in suites.suites()]})
        else:
            text.listing(suites.suites())
        return
    controllers = [word for word in options.several(cc) if word]
    if not controllers:
        fail("--cc: name at least one controller; see `dumbbell cc list`")
    try:
        found, parts = suites.find(name)
    except suites.UnknownSuiteError as error:
        fail(str(error.args[0]))
    for controller in controllers:
        try:
            subject(controller)
        except catalogue.UnknownAlgorithmError as error:
            fail(f"--cc: {error}")
    choice = suites.Choice(controllers, repeat, quick, jobs, options.size(max_memory))
    folder = out or Path("out") / name.strip("/")
    runs = {part.name: partial(part.run, found.name, choice) for part in parts}
    reports, pictures = run_parts(runs, folder, None if as_json else text.report)
    if as_json:
        print_json({"suite": found.name, "reference": found.reference, "parts": [one.to_json() for one in reports]})
    else:
        print_paths(pictures)
