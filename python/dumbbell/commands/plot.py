"""``dumbbell plot``: pictures of a result, or of Flent's files over each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import storage
from dumbbell.console import examples, fail, print_paths

if TYPE_CHECKING:
    from dumbbell.plots import Format

EXAMPLES = examples(
    "dumbbell plot result",
    "dumbbell plot result --series cwnd --format svg",
    "dumbbell plot ours.flent.gz lab.flent.gz --out beside",
)

OVERLAY = storage.Kind("overlay", (), lambda folder: None)
"""A folder with pictures of Flent's files."""


def plot(
    places: Annotated[
        list[Path], typer.Argument(metavar="DIR", help="Directory that --out wrote; or files of Flent.", show_default=False)
    ],
    formats: Annotated[str, typer.Option("--format", help="Any of png, svg, pdf.")] = "png,svg,pdf",
    series: Annotated[
        list[str] | None, typer.Option(help="Also draw this column of the time series, such as pacing_mbps.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="With files of Flent: directory for the pictures.")] = None,
) -> None:
    """Draw the pictures of a result, or those of Flent's files, real and simulated, over each other."""
    from dumbbell import plots
    from dumbbell.results import load

    chosen = [name for name in plots.FORMATS if name in formats.split(",")]
    if not chosen or set(formats.split(",")) - set(plots.FORMATS):
        fail(f"--format {formats}: choose from {', '.join(plots.FORMATS)}")
    if any(place.name.endswith((".flent.gz", ".flent", ".flnt")) for place in places):
        print_paths(_overlay(places, chosen, series, out))
        return
    if len(places) != 1 or out is not None:
        fail("give one directory that --out wrote, whose pictures go there, or files of Flent with --out")
    folder = places[0]
    try:
        paths = plots.draw(load(folder), folder, chosen, series or [])
    except ValueError as error:
        fail(f"{folder}: {error}")
    print_paths(paths)


def _overlay(places: list[Path], formats: list[Format], series: list[str] | None, out: Path | None) -> list[Path]:
    """Draws Flent's files over each other into a directory, and returns the paths."""
    from dumbbell import flent
    from dumbbell.plots.flent import overlay

    if out is None:
        fail("pictures of Flent's files go into a directory of their own: add --out DIR")
    if series:
        fail("--series goes with a directory that --out wrote")
    try:
        data = [flent.read(place) for place in places]
    except flent.FlentFileError as error:
        fail(str(error))
    names = [place.name.removesuffix(flent.files.SUFFIX) for place in places]
    with storage.directory(out, OVERLAY, [f"overlay.{kind}" for kind in formats]) as staging:
        written = overlay(data, names).write(staging / "overlay", formats)
    return [out / path.name for path in written]
