"""``dumbbell score``: one number for an algorithm."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell.commands import completion, options
from dumbbell.console import examples, fail, print_json

EXAMPLES = examples(
    "dumbbell score bbr3",
    "dumbbell score mine.py:Mine --set verdict",
    "dumbbell score ./libmine.so --json        # with its parts",
)


def score(
    cc: Annotated[
        str,
        typer.Argument(
            metavar="CC",
            help="A name, NAME:PARAMETER=VALUE, or of your own: FILE.py:CLASS, FILE.so, FILE.npz or FILE.onnx.",
            show_default=False,
            autocompletion=completion.algorithms,
        ),
    ],
    experiments: Annotated[
        str, typer.Option("--set", metavar="SET", help="standard, to learn from, or verdict, to judge by.")
    ] = "standard",
    at_least: Annotated[float, typer.Option(help="Give up where the score cannot become as large as this.")] = 0,
    cpu_s: Annotated[float, typer.Option("--cpu-seconds", help="CPU time that it may take.")] = 120,
    as_json: options.AsJson = False,
) -> None:
    """Score an algorithm: goodput, delay, loss, fairness, and one number of them all."""
    from dumbbell import scoring

    if not 0 <= at_least <= 100:
        fail(f"--at-least {at_least:g}: it must lie between 0 and 100")
    if not cpu_s > 0:
        fail(f"--cpu-seconds {cpu_s:g}: it must be more than 0")
    try:
        found = scoring.score(cc, experiments, at_least=at_least, cpu_s=cpu_s)
    except ValueError as error:
        fail(str(error))
    if as_json:
        print_json(found.as_dict())
        return
    typer.echo(f"{found.value:6.2f}  {found.algorithm}, set `{found.set}`")
    for part, value in found.parts.items():
        typer.echo(f"{100 * value:6.2f}  {part}")
    if found.stopped:
        typer.echo(f"given up: {found.stopped}")
