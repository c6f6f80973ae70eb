"""``dumbbell run``: experiment files to tables, pictures and data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell import extras
from dumbbell.commands import options
from dumbbell.commands.options import STANDARD_INPUT, Limits, Output
from dumbbell.commands.running import check_out, run_one
from dumbbell.console import examples, fail, print_json

EXAMPLES = examples(
    "dumbbell run who-wins.toml --plot --out result",
    "dumbbell run who-wins.toml --repeat 10 --vary-rtt  # how firm is it?",
    "dumbbell run who-wins.toml --set path.rtt=80ms --json",
    "dumbbell run who-wins.toml --on linux              # on your kernel",
    "dumbbell run stacks.toml --on linux --allow-programs  # any programs",
    "dumbbell run sweep.toml --out sweep --cluster tcp://head:8786",
)

Files = Annotated[
    list[Path], typer.Argument(help="Experiment files (TOML); - reads one from standard input.", show_default=False)
]


def run(
    files: Files,
    settings: options.Settings = None,
    repeat: options.Repeat = None,
    vary_rtt: options.VaryRtt = False,
    jobs: options.Jobs = None,
    threads: options.Threads = 1,
    plain: options.Plain = False,
    max_memory: options.MaxMemory = None,
    seed: options.Seed = None,
    out: options.Out = None,
    plot: options.Plot = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
    on: options.On = "sim",
    retries: options.Retries = None,
    sysctls: options.Sysctls = None,
    allow_programs: options.AllowPrograms = False,
    cluster: options.Cluster = None,
    keep: options.Keep = False,
    rerun: options.Rerun = False,
    verify: options.Verify = None,
) -> None:
    """Run experiment files."""
    if files.count(STANDARD_INPUT) > 1:
        fail("standard input (-) can be read once")
    if plot:
        extras.need("plots", "--plot")
    chosen = options.settings(settings, vary_rtt)
    limits = Limits(
        jobs,
        options.size(max_memory),
        options.ground(on, retries, sysctls, threads=threads, plain=plain, allow_programs=allow_programs),
        others=options.others(keep=keep, rerun=rerun, is_kept=plot or out is not None),
        verify=options.share(verify),
    )
    # All files are read before the first runs: a mistake in the last one costs no time.
    experiments = [(path, options.load(path, set=chosen, seed=seed, repeat=repeat)) for path in files]
    if allow_programs and not any(point.programs for _, loaded in experiments for point in loaded.points):
        fail(f"--allow-programs: no flow of {' or '.join(map(str, files))} is a program; leave it out")
    if plot and out is None:
        out = Path("out") if len(files) > 1 else Path("out") / options.stem(files[0])
    folders = _folders(files, out)
    for (_, loaded), folder in zip(experiments, folders, strict=True):
        check_out(loaded, folder)
    with options.cluster(cluster, limits) as limits:
        objects = [
            run_one(options.stem(path), loaded, limits, Output(folder, plot, as_json, quiet))
            for (path, loaded), folder in zip(experiments, folders, strict=True)
        ]
    if as_json:
        print_json(objects[0] if len(objects) == 1 else {"points": _joined(files, objects)})


def _folders(files: Sequence[Path], out: Path | None) -> list[Path | None]:
    """Where each file's result goes; two in the same place are an error."""
    if out is None or len(files) == 1:
        return [out] * len(files)
    taken: dict[Path, Path] = {}
    for path in files:
        folder = out / options.stem(path)
        if folder in taken:
            fail(
                f"{taken[folder]} and {path} would both be written to {folder}; rename one, or run them one by one "
                "with an --out each"
            )
        taken[folder] = path
    return list(taken)


def _joined(files: list[Path], objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points of several files in one list, each with its file."""
    return [
        {"file": str(path)} | point
        for path, printed in zip(files, objects, strict=True)
        for point in printed.get("points", [printed])
    ]
