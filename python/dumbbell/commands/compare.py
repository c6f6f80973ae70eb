"""``dumbbell compare``: algorithms on one path, grounds on one file, or two results."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from dumbbell import _core, experiment, extras, grounds, storage
from dumbbell.commands import completion, options
from dumbbell.commands.options import Limits, Output
from dumbbell.commands.running import check_out, run_one, run_point
from dumbbell.console import examples, fail, note, print_json, print_paths
from dumbbell.printable import file_name

if TYPE_CHECKING:
    from dumbbell._core import Experiment
    from dumbbell.results import Result

EXAMPLES = examples(
    "dumbbell compare bbr cubic --rate 50mbit --rtt 20ms --buffer 0.5bdp",
    "dumbbell compare bbr bbr3 cubic --loss 0%,0.1%,1%,5% --repeat 10 --plot",
    "dumbbell compare cubic bbr --together --rtt 20ms,100ms --repeat 10",
    "dumbbell compare bbr3 cubic --trace my.up --buffer 500packets",
    "dumbbell compare bbr bbr:drain_gain=0.5  # with one constant changed",
    "dumbbell compare cubic mine.py:Mine mine.py:Mine:gain=2  # your own",
    "dumbbell compare --on sim,linux who-wins.toml",
    "dumbbell compare ./monday ./tuesday  # two results side by side",
)

COMPARISON = storage.Kind("comparison", (), lambda folder: None)
"""A folder with pictures of two results."""

HELP = "\n  help: name two directories that `dumbbell run --out` wrote, or algorithms alone"

Named: TypeAlias = "tuple[str, Result]"
"""A result and what it is called."""


_OF_RESULTS = ("algorithms", "out", "plot", "quiet", "as_json")
"""The parameters that a comparison of two results reads: both have run."""

_OF_GROUNDS = (*_OF_RESULTS, "settings", "vary_rtt", "seed", "jobs", "max_memory", "on", "retries", "sysctls")
"""Those that a comparison of two grounds reads, whose path is that of its file."""


def compare(
    context: typer.Context,
    algorithms: Annotated[
        list[str],
        typer.Argument(
            help="Names from `dumbbell cc list`, also with changed parameters, NAME:PARAMETER=VALUE, as in "
            "bbr:drain_gain=0.5, and classes of your own, mine.py:Mine; with --on a file; or two results.",
            show_default=False,
            autocompletion=completion.algorithms,
        ),
    ],
    rate: Annotated[
        str | None, typer.Option(help="Rate of the bottleneck, as in tc; default 10mbit.", show_default=False)
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="In place of a rate: a Mahimahi trace that it follows.")
    ] = None,
    rtt: Annotated[
        str, typer.Option(help="Base round-trip time; with --together also one for each algorithm: 20ms,100ms.")
    ] = "40ms",
    buffer: Annotated[str, typer.Option(help="Queue of the bottleneck: 1bdp, 100packets, 64kB, 50ms.")] = "1bdp",
    loss: Annotated[str, typer.Option(help="Random loss; several, as in 0%,1%,5%, give a curve.")] = "0%",
    duration: Annotated[str, typer.Option(help="Length of each run.")] = "60s",
    warmup: Annotated[
        str | None,
        typer.Option(help="Not measured at the start; default a sixth of the run.", show_default=False),
    ] = None,
    settings: options.Settings = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each combination, with different seeds.")] = 1,
    vary_rtt: options.VaryRtt = False,
    jobs: options.Jobs = None,
    max_memory: options.MaxMemory = None,
    seed: options.Seed = None,
    together: Annotated[
        bool, typer.Option("--together/--alone", help="Share the path, or have it alone, one after the other.")
    ] = False,
    out: options.Out = None,
    plot: options.Plot = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
    on: Annotated[
        str | None, typer.Option("--on", metavar="sim,linux", help="Compare grounds instead: run a file on both.")
    ] = None,
    retries: options.Retries = None,
    sysctls: options.Sysctls = None,
) -> None:
    """Run algorithms on the same path, without an experiment file.

    Several values, as in --loss 0%,1%,5% or --buffer 0.5bdp,1bdp, are all run. With --on sim,linux FILE: run a file on
    the simulator and on the running kernel, and print both side by side. With two directories that --out wrote: print
    these side by side; write ./cubic for one that has the name of an algorithm.
    """
    if plot:
        extras.need("plots", "--plot")
    limits = Limits(jobs, options.size(max_memory))
    chosen = options.settings(settings, vary_rtt)
    if on is None and sysctls:
        fail("--sysctl goes with --on: algorithms run side by side in the simulator, which has no sysctls")
    if on is None and retries is not None:
        fail("--retries goes with --on: algorithms run side by side in the simulator, which nothing disturbs")
    if on is not None:
        options.refuse_others(context, _OF_GROUNDS, "`compare --on`, whose path is that of the file")
        beside = _on_both_grounds(algorithms, on, (chosen, seed), limits, (retries, sysctls), out)
    elif _are_results(algorithms):
        options.refuse_others(context, _OF_RESULTS, "a comparison of two results, which have run")
        beside = _from_folders(algorithms)
    else:
        path = {"rate": rate, "rtt": rtt, "buffer": buffer, "loss": loss}
        described = document(
            algorithms, path, trace=trace, duration=duration, warmup=warmup, repeat=repeat, together=together
        )
        options.check_trace(trace)
        place = _default_place(algorithms) if plot and out is None else out
        loaded = experiment.load(described, set=chosen, seed=seed, name=options.OPTIONS)
        check_out(loaded, place)
        printed = run_one(None, loaded, limits, Output(place, plot, as_json, quiet))
        if as_json:
            print_json(printed)
        return
    _show_beside(*beside, Output(out or _default_place(algorithms), plot, as_json, quiet))


def document(algorithms: list[str], path: dict[str, str | None], **others: Any) -> dict[str, Any]:
    """The experiment that the options describe; ``others`` as in :func:`dumbbell.compare.scenario`."""
    from dumbbell.compare import scenario

    given: dict[str, Any] = {key: None if text is None else options.several(text) for key, text in path.items()}
    try:
        return scenario(algorithms, **given, **others)
    except ValueError as error:
        fail(str(error))


def _default_place(arguments: list[str]) -> Path:
    named = (Path(argument).stem if Path(argument).exists() else argument for argument in arguments)
    return Path("out") / "-vs-".join(dict.fromkeys(file_name(name) for name in named))


def _are_results(arguments: list[str]) -> bool:
    """Whether these are directories of results; refuses directories that are not there, or beside algorithms."""
    folder = next(filter(_is_folder, arguments), None)
    if folder is None:
        return False
    for argument in arguments:
        is_there = Path(argument).is_dir()
        if _is_folder(argument):
            if not is_there:
                fail(
                    f"{argument}: {'this is a file' if Path(argument).exists() else 'there is no such directory'}{HELP}"
                )
        elif _is_algorithm(argument):
            meant = f"; ./{argument} is the directory" if is_there else ""
            fail(f"{argument} is an algorithm, and {folder} the directory of a result{meant}{HELP}")
        else:
            fail(f"{argument}: there is neither a directory nor an algorithm of that name{HELP}")
    return True


def _is_folder(argument: str) -> bool:
    """Whether a directory is meant. The name of an algorithm is one, whatever lies in the working directory."""
    from dumbbell import catalogue

    if catalogue.is_known(argument):
        return False
    # Behind a colon are a class or changed parameters.
    file = argument.partition(":")[0]
    return Path(argument).is_dir() or (os.sep in file and catalogue.own_key(file) is None)


def _is_algorithm(argument: str) -> bool:
    from dumbbell import catalogue

    return ":" in argument or catalogue.is_known(argument) or catalogue.own_key(argument) is not None


def _from_folders(arguments: list[str]) -> tuple[Named, Named]:
    from dumbbell.results import load_result

    if len(arguments) != 2:
        fail("give two directories to compare, or the names of algorithms")
    first, second = (load_result(folder) for folder in arguments)
    return (arguments[0], first), (arguments[1], second)


def _on_both_grounds(
    arguments: list[str],
    on: str,
    replaced: tuple[dict[str, str], int | None],
    limits: Limits,
    kernel: tuple[int | None, list[str] | None],
    out: Path | None,
) -> tuple[Named, Named]:
    """The results of a file on two grounds, with their names."""
    from dumbbell.agreement import name

    wanted = options.several(on)
    if len(arguments) != 1 or len(wanted) != 2:
        fail("compare --on takes two grounds and one file: dumbbell compare --on sim,linux FILE")
    # Both before the first runs: a mistake in the second one costs no time.
    made = [options.ground(ground, *(kernel if ground == "linux" else (None, None))) for ground in wanted]
    chosen, seed = replaced
    loaded = with_buffers_of_hosts(Path(arguments[0]), chosen, seed)
    if len(loaded.points) != 1:
        fail(f"{arguments[0]} has {len(loaded.points)} points; compare grounds with a file of one run")
    folders = [None if out is None else out / ground for ground in wanted]
    for folder in folders:
        check_out(loaded, folder)
    first, second = (
        run_point(loaded, limits._replace(ground=ground), folder) for ground, folder in zip(made, folders, strict=True)
    )
    return (name(first), first), (name(second), second)


def with_buffers_of_hosts(file: Path, chosen: dict[str, str], seed: int | None) -> Experiment:
    """The experiment, with the buffers and the clock that hosts of the running kernel have.

    A file that says nothing of both means ample buffers and a fine clock, which no kernel has: its numbers would differ
    from the kernel's for that reason alone. ``--set transport=tcp`` leaves them so.
    """
    loaded = options.load(file, set=chosen, seed=seed)
    if any(key.partition(".")[0] == "transport" for key in chosen) or not _has_plain_hosts(loaded):
        return loaded
    host = {
        "transport.receive_autotuning": "true",
        "transport.send_buffer": "autotuning",
        **{f"transport.{key}": value for key, value in grounds.receivers().items()},
        "transport.hz": str(grounds.hz()),
    }
    changed = options.load(file, set=host | chosen, seed=seed)
    if changed.points[0].content_hash != loaded.points[0].content_hash:
        note(
            f"both grounds have the buffers of Linux hosts, which size themselves, and a clock of {grounds.hz()} Hz "
            "(transport = linux-host); --set transport=tcp compares with ample buffers instead"
        )
    return changed


def _has_plain_hosts(loaded: Experiment) -> bool:
    """Whether no flow says anything of its buffers and its clock; of a program nothing can be said."""
    plain = {
        "protocol": "tcp",
        "receive_autotuning": False,
        "send_buffer": "unlimited",
        **dict.fromkeys(grounds.receivers(), "linux"),
        "hz": 1000,
    }
    flows = json.loads(_core.toml_as_json(loaded.points[0].resolved_toml))["flows"]
    transports = [flow["transport"] for flow in flows if "transport" in flow]
    return all(transport.get(key) == value for transport in transports for key, value in plain.items())


def _show_beside(first: Named, second: Named, output: Output) -> None:
    """Prints two results side by side, and draws them over each other."""
    from dumbbell import agreement, report

    names = (first[0], second[0])
    try:
        pairs = agreement.pairs(first[1], second[1])
    except ValueError as error:
        fail(str(error))
    if output.as_json:
        print_json({"names": names, "pairs": [pair.to_json() for pair in pairs]})
    elif not output.quiet:
        report.side_by_side(pairs, names)
    if output.draw and output.folder is not None:
        from dumbbell.plots import FORMATS

        place = output.folder / "comparison"
        with storage.directory(place, COMPARISON, [f"overview.{kind}" for kind in FORMATS]) as staging:
            written = agreement.picture([first[1], second[1]], names).write(staging / "overview")
        paths = [place / path.name for path in written]
        if not output.as_json and not output.quiet:
            print_paths(paths)
