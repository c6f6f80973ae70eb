"""``dumbbell extract``: a point of a sweep as a result of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.commands import options
from dumbbell.console import examples, fail, print_paths

EXAMPLES = examples(
    "dumbbell extract sweep 3 --out point-3     # point 3 of flows.parquet",
    "dumbbell extract sweep 5bce12 --out point  # its content hash begins so",
    "dumbbell plot point-3 && dumbbell run point-3/scenario.toml",
)

Point = Annotated[
    str, typer.Argument(metavar="POINT", help="Number of the point, or the beginning of its content hash.")
]
Place = Annotated[Path, typer.Option("--out", "-o", help="Directory for the result.", show_default=False)]


def extract(folder: options.Folder, point: Point, out: Place, quiet: options.Quiet = False) -> None:
    """Write a point of a sweep as a result of its own, with its time series and its experiment file."""
    from dumbbell.results import load_sweep, point_named

    sweep = load_sweep(folder)
    try:
        chosen = point_named(sweep.points, point)
    except ValueError as error:
        fail(str(error))
    written = sweep.load(chosen).save(out)
    if not quiet:
        print_paths([written])
