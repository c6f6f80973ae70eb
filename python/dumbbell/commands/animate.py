"""``dumbbell animate``: a run played in time, as GIF or MP4."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import extras
from dumbbell.commands import options
from dumbbell.console import examples, fail, note, print_paths

if TYPE_CHECKING:
    from dumbbell.results import Result

EXAMPLES = examples(
    "dumbbell animate late --out late.gif                  # for slides",
    "dumbbell animate late --point 1 --out cubic.mp4 --seconds 20 --fps 25",
    "dumbbell animate result --series received_mbps --out rates.gif --width 640",
)

MAX_FRAMES = 3000


@extras.needed("plots", "dumbbell animate")
def animate(
    folder: options.Folder,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="NAME.gif, or NAME.mp4, which needs ffmpeg.")
    ],
    seconds: Annotated[float, typer.Option(min=0.5, max=600, help="Length of the film.")] = 10.0,
    fps: Annotated[int, typer.Option(min=1, max=50, help="Frames a second.")] = 15,
    width: Annotated[int, typer.Option(min=200, max=4000, help="Width in pixels.")] = 960,
    series: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Show this column of the time series alone.")
    ] = None,
    point: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Of a sweep: the number of the point; default 0.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Play a run in time, for slides: the pictures of `dumbbell plot` grow from the left to the right.

    A file that is there is replaced if Dumbbell wrote it.
    """
    from dumbbell.plots import animation

    if seconds * fps > MAX_FRAMES:
        fail(f"--seconds {seconds:g} --fps {fps}: {seconds * fps:.0f} frames, at most {MAX_FRAMES}; give less of one")
    animation.check_place(out)
    result = _chosen(folder, point, quiet=quiet)
    try:
        animation.write(result, out, column=series, seconds=seconds, fps=fps, width=width)
    except ValueError as error:
        fail(f"{folder}: {error}")
    if not quiet:
        print_paths([out])


def _chosen(folder: Path, point: int | None, *, quiet: bool) -> Result:
    """The run of a directory: its only one, or the point of a sweep."""
    from dumbbell.results import SweepResult, load

    loaded = load(folder)
    if not isinstance(loaded, SweepResult):
        if point is not None:
            fail(f"--point {point}: {folder} holds a single run; leave it out")
        return loaded
    count = len(loaded.points)
    number = point or 0
    if number >= count:
        fail(f"--point {point}: {folder} has points 0 to {count - 1}")
    if point is None and count > 1 and not quiet:
        note(f"point 0 of {count} is shown, {loaded.points[0].label}; --point chooses another")
    return loaded.load(loaded.points[number])
