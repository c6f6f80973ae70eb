"""``dumbbell plot``: pictures of a result."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell.commands import options
from dumbbell.console import examples, fail, print_paths

EXAMPLES = examples(
    "dumbbell plot result",
    "dumbbell plot result --series cwnd --format svg",
)


def plot(
    folder: options.Folder,
    formats: Annotated[str, typer.Option("--format", help="Any of png, svg, pdf.")] = "png,svg,pdf",
    series: Annotated[
        list[str] | None, typer.Option(help="Also draw this column of the time series, such as pacing_mbps.")
    ] = None,
) -> None:
    """Draw the pictures of a result."""
    from dumbbell import plots
    from dumbbell.results import load

    chosen = [name for name in plots.FORMATS if name in formats.split(",")]
    if not chosen or set(formats.split(",")) - set(plots.FORMATS):
        fail(f"--format {formats}: choose from {', '.join(plots.FORMATS)}")
    try:
        paths = plots.draw(load(folder), folder, chosen, series or [])
    except ValueError as error:
        fail(f"{folder}: {error}")
    print_paths(paths)
