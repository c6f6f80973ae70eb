"""``dumbbell extract``: a point of a sweep as a result of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell.commands import options
from dumbbell.console import examples, fail, print_paths

if TYPE_CHECKING:
    from dumbbell.results import Meta, SweepResult

EXAMPLES = examples(
    "dumbbell extract sweep 3 --out point-3     # point 3 of flows.parquet",
    "dumbbell extract sweep 5bce12 --out point  # its content hash begins so",
    "dumbbell plot point-3 && dumbbell run point-3/scenario.toml",
)

LEAST_OF_A_HASH = 8
"""So many digits alone may begin a content hash; fewer are a number."""

Point = Annotated[
    str, typer.Argument(metavar="POINT", help="Number of the point, or the beginning of its content hash.")
]
Place = Annotated[Path, typer.Option("--out", "-o", help="Directory for the result.", show_default=False)]


def extract(folder: options.Folder, point: Point, out: Place, quiet: options.Quiet = False) -> None:
    """Write a point of a sweep as a result of its own, with its time series and its experiment file."""
    from dumbbell.results import load_sweep

    sweep = load_sweep(folder)
    written = sweep.load(_chosen(sweep, point)).save(out)
    if not quiet:
        print_paths([written])


def _chosen(sweep: SweepResult, word: str) -> Meta:
    if word.isdecimal() and int(word) < len(sweep.points):
        return sweep.points[int(word)]
    # A number that is too large is no beginning of a hash that happens to fit.
    is_hash = len(word) >= LEAST_OF_A_HASH or (word and not word.isdecimal())
    found = {meta.content_hash: meta for meta in sweep.points if is_hash and meta.content_hash.startswith(word)}
    if len(found) != 1:
        several = f"{len(found)} points have content hashes that begin so" if found else "there is no such point"
        fail(f"{word}: {several}; write a number from 0 to {len(sweep.points) - 1}, or more of a content hash")
    return next(iter(found.values()))
