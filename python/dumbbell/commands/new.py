"""``dumbbell new-algorithm``: begins a project with an algorithm of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.console import examples, fail

EXAMPLES = examples(
    "dumbbell new-algorithm mine                # a class in Python",
    "dumbbell new-algorithm mine --in c         # a library and its header",
    "dumbbell new-algorithm mine --in rust      # a library, behind a safe trait",
)


def new_algorithm(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called: small letters, digits and _.")],
    language: Annotated[str, typer.Option("--in", metavar="LANGUAGE", help="python, c or rust.")] = "python",
    to: Annotated[Path, typer.Option(metavar="DIR", help="Where its folder is made.")] = Path(),
) -> None:
    """Begin a project with an algorithm of your own: the algorithm, an experiment, and a test that runs."""
    from dumbbell import new_algorithm as new

    try:
        files = new.begin(name, language, to)
    except ValueError as error:
        fail(str(error))
    for file in files:
        typer.echo(file)
