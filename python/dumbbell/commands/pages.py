"""``dumbbell report``: a page about a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import extras
from dumbbell.commands import options
from dumbbell.console import examples, fail, print_paths

if TYPE_CHECKING:
    from dumbbell.pages.writing import Format

EXAMPLES = examples(
    "dumbbell report result  # writes result/report.html and report.md",
    "dumbbell report result --format html",
)

Pages = Annotated[str, typer.Option("--format", help="html, md, or both: html,md.")]


@extras.needed("plots", "dumbbell report")
def report(folder: options.Folder, chosen: Pages = "html,md", quiet: options.Quiet = False) -> None:
    """Write a page about a result: who won, charts, numbers, what limits each flow, how to repeat it."""
    from dumbbell import pages
    from dumbbell.results import RESULT, SWEEP, SweepResult, load

    wanted = formats(chosen)
    result = load(folder)
    kind = SWEEP if isinstance(result, SweepResult) else RESULT
    paths = pages.write(pages.of_result(result, folder), folder, kind, wanted)
    if not quiet:
        print_paths(paths)


def formats(text: str) -> list[Format]:
    """The formats that ``--format`` names."""
    from dumbbell.pages.writing import FORMATS

    words = options.several(text)
    chosen = [name for name in FORMATS if name in words]
    if not chosen or set(words) - set(FORMATS):
        fail(f"--format {text}: choose from {', '.join(FORMATS)}")
    return chosen
