"""``dumbbell qlog``: time series as qlog."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell import storage
from dumbbell.commands import options
from dumbbell.console import examples, fail, print_paths

EXAMPLES = examples(
    "dumbbell qlog result --out qlog        # qlog/0-bbr.sqlog, for qvis",
    "dumbbell extract sweep 3 --out point-3 && dumbbell qlog point-3 --out q",
)

FILES = storage.Kind("qlog", (), lambda folder: None)


def qlog(
    folder: options.Folder,
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for the files.", show_default=False)],
    quiet: options.Quiet = False,
) -> None:
    """Write the time series of a run as qlog, a file a flow, for viewers such as qvis.

    Whatever the ground and the transport: window, packets in flight, round-trip
    times, threshold, pacing rate, and the state of the controller, where a sample
    differs from the one before.
    """
    from dumbbell import qlog as writer
    from dumbbell.results import SweepResult, load

    result = load(folder)
    if isinstance(result, SweepResult):
        fail(f"{folder} is a sweep; write a point of it with dumbbell extract first")
    try:
        files = writer.files(result)
    except ValueError as error:
        fail(f"{folder}: {error}")
    with storage.directory(out, FILES, list(files)) as staging:
        for name, text in files.items():
            (staging / name).write_text(text, encoding="utf-8")
    if not quiet:
        print_paths([out / name for name in files])
