"""The ``dumbbell`` command.

Standard output carries results, standard error everything else. Exit status: 0 done (a claim of a study that turns out
not to hold is a result), 2 wrong input or unwritable output (a message, nothing written), 3 the machine has disturbed a
run on the kernel (it is kept aside under ``void``), 130 interrupted.

Long because every command declares its options and their help here; what it does is elsewhere.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dumbbell import _core, experiment, interrupts, storage
from dumbbell.api import Sweep
from dumbbell.console import Commands, fail, print_json, print_paths, reporting_errors, show
from dumbbell.grounds import VoidRunError

if TYPE_CHECKING:
    from dumbbell.grounds import Linux
    from dumbbell.results import Result, SweepResult


app = typer.Typer(
    name="dumbbell",
    cls=Commands,
    help="A congestion-control laboratory: run an experiment file, get tables, pictures and open data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
cc = typer.Typer(help="The congestion controllers and their parameters.", no_args_is_help=True)
app.add_typer(cc, name="cc")

File = Annotated[Path, typer.Argument(help="Experiment file (TOML).", show_default=False)]
Files = Annotated[list[Path], typer.Argument(help="Experiment files (TOML).", show_default=False)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Replace a setting: --set path.loss=1% --set flows[0].cc=bbr."),
]
Repeat = Annotated[int | None, typer.Option(min=1, help="Runs of each point, with different seeds.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Runs at the same time; default one a core.")]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="Memory that each run may take, such as 2GiB; default its part of half of the machine's."
    ),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed in place of the file's.")]
Out = Annotated[Path | None, typer.Option(help="Directory for results: scenario.toml, Parquet tables, meta.json.")]
Plot = Annotated[bool, typer.Option("--plot", help="Draw pictures (PNG, SVG, PDF) beside the results.")]
On = Annotated[
    str, typer.Option("--on", metavar="GROUND", help="sim, or linux: the running kernel's TCP, in real time.")
]
Retries = Annotated[int, typer.Option(min=0, help="With --on linux: attempts after one that the machine disturbed.")]
Sysctls = Annotated[
    list[str] | None,
    typer.Option("--sysctl", metavar="NAME=VALUE", help="With --on linux: a sysctl of the hosts, net.*."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object in place of tables.")]


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"dumbbell {_core.__version__}")
        raise typer.Exit


@app.command()
def run(
    files: Files,
    settings: Settings = None,
    repeat: Repeat = None,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    seed: Seed = None,
    out: Out = None,
    plot: Plot = False,
    as_json: AsJson = False,
    on: On = "sim",
    retries: Retries = 2,
    sysctls: Sysctls = None,
) -> None:
    """Run experiment files."""
    chosen = _settings(settings)
    limits = _Limits(jobs, _size(max_memory), _linux(on, retries, sysctls))
    # All files are read before the first runs: a mistake in the last one costs no time.
    experiments = [(path, experiment.load(path, set=chosen, seed=seed, repeat=repeat)) for path in files]
    if plot and out is None:
        out = Path("out") if len(files) > 1 else Path("out") / files[0].stem
    folders = _folders(files, out)
    for (_, loaded), folder in zip(experiments, folders, strict=True):
        _check_out(loaded, folder)
    objects = [
        _run_one(path, loaded, limits, folder, plot, as_json)
        for (path, loaded), folder in zip(experiments, folders, strict=True)
    ]
    if as_json:
        print_json(objects[0] if len(objects) == 1 else {"points": _joined(files, objects)})


@app.command()
def compare(
    algorithms: Annotated[
        list[str],
        typer.Argument(help="Names from `dumbbell cc list`; with --on a file; or two results.", show_default=False),
    ],
    rate: Annotated[str, typer.Option(help="Rate of the bottleneck, as in tc.")] = "10mbit",
    rtt: Annotated[str, typer.Option(help="Base round-trip time.")] = "40ms",
    buffer: Annotated[str, typer.Option(help="Queue of the bottleneck: 1bdp, 100packets, 64kB, 50ms.")] = "1bdp",
    loss: Annotated[str, typer.Option(help="Random loss; several, as in 0%,1%,5%, give a curve.")] = "0%",
    duration: Annotated[str, typer.Option(help="Length of each run.")] = "60s",
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each combination, with different seeds.")] = 1,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    seed: Seed = None,
    together: Annotated[
        bool, typer.Option("--together/--alone", help="Share the path, or have it alone, one after the other.")
    ] = False,
    out: Out = None,
    plot: Plot = False,
    as_json: AsJson = False,
    on: Annotated[
        str | None, typer.Option("--on", metavar="sim,linux", help="Compare grounds instead: run a file on both.")
    ] = None,
    retries: Retries = 2,
    sysctls: Sysctls = None,
) -> None:
    """Run algorithms on the same path, without an experiment file.

    With --on sim,linux FILE: run a file on the simulator and on the running kernel, and print both side by side. With
    two directories that --out wrote: print these side by side.
    """
    from dumbbell.compare import scenario

    if on is not None or all(Path(argument).is_dir() for argument in algorithms):
        beside = _on_both_grounds(algorithms, on, seed, _Limits(jobs, _size(max_memory)), retries, sysctls, out)
        _show_beside(*beside, out=out, draw=plot, as_json=as_json)
        return

    limits = _Limits(jobs, _size(max_memory))
    document = scenario(
        algorithms,
        rate=rate,
        rtt=rtt,
        buffer=buffer,
        loss=[part.strip() for part in loss.split(",")],
        duration=duration,
        repeat=repeat,
        together=together,
    )
    if plot and out is None:
        out = Path("out") / "-vs-".join(dict.fromkeys(algorithms))
    loaded = experiment.load(document, seed=seed)
    _check_out(loaded, out)
    printed = _run_one(None, loaded, limits, out, plot, as_json)
    if as_json:
        print_json(printed)


@app.command()
def plot(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Directory that --out wrote.", show_default=False)],
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


@app.command(context_settings={"ignore_unknown_options": True})
def shell(
    file: File,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="Program and arguments; default $SHELL.", show_default=False),
    ] = None,
    peer: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Program on the other side, as a line for the shell.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a log of every packet: packets.parquet, up.log, down.log.")
    ] = None,
    settings: Settings = None,
    max_memory: MaxMemory = None,
    seed: Seed = None,
    sysctls: Sysctls = None,
) -> None:
    """Run any program inside an experiment's network, on the running kernel.

    $DUMBBELL_PEER is the other side's address. The path is that of the first flow. The exit status is the program's.
    """
    from dumbbell import shell as shells

    loaded = experiment.load(file, set=_settings(settings), seed=seed)
    if len(loaded.points) != 1:
        fail(f"{file} has {len(loaded.points)} points; choose one with --set")
    if log is not None:
        storage.check_target(log, shells.LOG)
    done = shells.run(
        loaded.points[0],
        command or [os.environ.get("SHELL", "sh")],
        peer=None if peer is None else [peer],
        sysctls=list(_pairs(sysctls, "--sysctl", "NAME=VALUE").items()),
        log=log is not None,
        max_memory=_size(max_memory),
    )
    if log is not None and done.packets is not None:
        for path in shells.write_log(done.packets, log):
            typer.echo(f"  {path}", err=True)
    if done.late_p999_us > LATE_US:
        typer.echo(f"note: one packet in a thousand was more than {done.late_p999_us:.0f} us late", err=True)
    sys.exit(done.status)


@app.command()
def explain(file: File, settings: Settings = None) -> None:
    """Show what an experiment means, defaults included and marked."""
    show(experiment.load(file, set=_settings(settings)).explain().rstrip("\n"))


@app.command()
def schema(
    markdown: Annotated[
        str | None, typer.Option(metavar="PAGE", help="A page of the reference instead: links, transport or traffic.")
    ] = None,
) -> None:
    """Print the JSON Schema of experiment files, for editors, or what it says about parameters, for people."""
    if markdown is None:
        typer.echo(_core.schema())
        return
    pages = dict(_core.reference())
    if markdown not in pages:
        fail(f"--markdown {markdown}: choose from {', '.join(pages)}")
    typer.echo(pages[markdown], nl=False)


@app.command("metrics")
def metrics_(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Directory that --out wrote.", show_default=False)],
    solo: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The same flows alone on the same path: adds the harm done.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute the metrics of a result: fairness, convergence, utilisation, power, harm."""
    import dataclasses

    from dumbbell import report
    from dumbbell.measures import measures
    from dumbbell.results import Result, load

    alone = None if solo is None else load(solo)
    if alone is not None and not isinstance(alone, Result):
        fail(f"--solo {solo}: this is a sweep; give the directory of one run")
    found = measures(load(folder), alone)
    if as_json:
        print_json({"metrics": [dataclasses.asdict(measure) for measure in found]})
    else:
        report.measures(found)


@app.command()
def columns(
    table: Annotated[
        str | None,
        typer.Argument(help="A table such as flows or completions; none shows all.", show_default=False),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page.")] = False,
    as_json: AsJson = False,
) -> None:
    """Explain the columns of result tables: unit, meaning, who fills them."""
    import dataclasses

    from dumbbell import columns as catalogue
    from dumbbell import report

    if table is not None and table not in catalogue.TABLES:
        fail(f"no table `{table}`; there are {', '.join(catalogue.TABLES)}")
    chosen = [column for column in catalogue.columns() if table in (None, column.table)]
    if markdown:
        typer.echo(catalogue.reference(), nl=False)
    elif as_json:
        print_json({"columns": [dataclasses.asdict(column) for column in chosen]})
    else:
        report.columns(chosen)


@cc.command("list")
def cc_list(as_json: AsJson = False) -> None:
    """List the algorithms."""
    from dumbbell import report

    algorithms = json.loads(_core.algorithms())
    if as_json:
        print_json({"algorithms": algorithms})
    else:
        report.algorithms(algorithms)


@cc.command("show")
def cc_show(
    name: Annotated[str, typer.Argument(help="Name from `dumbbell cc list`.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Show an algorithm's parameters: default, meaning, source."""
    from dumbbell import report

    known = {entry["name"]: entry for entry in json.loads(_core.algorithms())}
    if name not in known:
        import difflib

        near = difflib.get_close_matches(name, known, n=1)
        fail(f"unknown algorithm `{name}`" + (f"; did you mean `{near[0]}`?" if near else "; see `dumbbell cc list`"))
    if as_json:
        print_json(known[name])
    else:
        report.algorithm(known[name])


@app.command()
def reproduce(
    study: Annotated[
        str | None, typer.Argument(help="A study such as rebbr, or a part of it such as rebbr/fig1; none lists them.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Directory for tables and figures; default out/STUDY, or out/STUDY/PART for a part."),
    ] = None,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, help="Seeds of each point; default the study's own number.")
    ] = None,
    traces: Annotated[
        Path | None, typer.Option(envvar="DUMBBELL_TRACES", help="Directory with the study's cellular traces.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few seconds of each run, one seed: a check, no result.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the studies and their parts.")] = False,
    claims: Annotated[
        bool, typer.Option("--claims", help="Only the claims: judged for a study, otherwise the list of all.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: every table and every claim.")
    ] = False,
    html: Annotated[bool, typer.Option("--html", help="Also write the study as one HTML page.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of what --json prints.")] = False,
) -> None:
    """Repeat a published study: our numbers beside theirs, its figures, and whether each claim holds.

    A claim holds, fails, or depends on a choice that the study leaves open; finding out that it fails is no error.
    """
    from dumbbell import papers
    from dumbbell.papers import output, text
    from dumbbell.papers import traces as recordings

    if schema:
        typer.echo(output.SCHEMA.read_text(encoding="utf-8"), nl=False)
        return
    limit = _size(max_memory)
    if study is None or list_:
        (text.claims if claims else text.listing)(papers.studies())
        return
    try:
        paper, parts = papers.find(study)
        folder = out or Path("out") / study.strip("/")
        reports, pictures = [], []
        several = len(parts) > 1
        with storage.claimed(folder, output.STUDY) if several else nullcontext():
            for part in parts:
                target = folder / part.name if several else folder
                with storage.claimed(target, output.STUDY):
                    done = part.run(paper.name, papers.Options(target, jobs, repeat, limit, traces, quick))
                pictures += output.write(done, target)
                reports.append(done)
                if not as_json:
                    text.report(done, only_claims=claims)
    except (papers.UnknownStudyError, recordings.MissingTraceError) as error:
        fail(str(error.args[0]))
    if html:
        pictures.append(output.write_page(paper, reports, folder))
    if as_json:
        print_json({"study": paper.name, "reference": paper.reference, "parts": [one.to_json() for one in reports]})
    else:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in text.verdicts(reports).items())
        show(f"\nclaims: {counts}; tables and figures in {folder}")
        print_paths(pictures)


def main() -> None:
    """Entry point of the ``dumbbell`` command."""
    with reporting_errors(), interrupts.ending_soon():
        app(standalone_mode=True)


def _folders(files: Sequence[Path], out: Path | None) -> list[Path | None]:
    """Where each file's result goes; two in the same place are an error."""
    if out is None or len(files) == 1:
        return [out] * len(files)
    taken: dict[Path, Path] = {}
    for path in files:
        folder = out / path.stem
        if folder in taken:
            fail(
                f"{taken[folder]} and {path} would both be written to {folder}; rename one, or run them one by one "
                "with an --out each"
            )
        taken[folder] = path
    return list(taken)


def _check_out(loaded: _core.Experiment, out: Path | None) -> None:
    """Refuses a place that cannot be written before anything runs."""
    from dumbbell.results import RESULT, SWEEP

    if out is not None:
        if len(loaded.points) == 1:
            storage.check_target(out, RESULT)
        else:
            storage.check_claim(out, SWEEP)


def _run_one(
    path: Path | None, loaded: _core.Experiment, limits: _Limits, out: Path | None, draw: bool, as_json: bool
) -> dict[str, Any]:
    """Runs one experiment, writes, prints and draws it, and returns its JSON object."""
    from dumbbell import report
    from dumbbell.results import SWEEP

    def advise(say: Callable[[], str]) -> None:
        interrupts.advise(None if out is None else say)

    command = shlex.join(["dumbbell", *sys.argv[1:]])
    result: Result | SweepResult
    if len(loaded.points) == 1:
        advise(lambda: f"to run it again, with nothing half written in {out}:\n  {command}")
        result = _run_point(loaded, limits, out)
        printed = result.summary()
    else:
        summaries: dict[int, dict[str, Any]] = {}

        def keep(index: int, run: Result) -> None:
            if as_json:
                point = {"label": run.meta.label, "repeat": run.meta.repeat, "settings": run.meta.settings}
                summaries[index] = point | run.summary()

        sweep = Sweep(loaded.points, out=out, progress=None, **limits._asdict())
        advise(lambda: f"{sweep.finished} of {len(sweep)} points are in {out}; to run the rest:\n  {command}")
        with _keeping_void_attempts(out, SWEEP):
            result = sweep.collect(keep)
        printed = {"points": [summaries[index] for index in sorted(summaries)]}
    advise(lambda: f"the results are in {out}; to draw them:\n  dumbbell plot {shlex.quote(str(out))}")
    if not as_json:
        # Before the pictures, so that it is there when one of them cannot be written.
        report.result(result, name=path.stem if path else None)
        if out is not None:
            show(f"\nresults in {out}")
    if draw and out is not None:
        from dumbbell import plots

        paths = plots.draw(result, out)
        if not as_json:
            print_paths(paths)
    return printed


def _run_point(loaded: _core.Experiment, limits: _Limits, out: Path | None) -> Result:
    """Runs an experiment of one point and writes its result."""
    from dumbbell.results import RESULT

    with _keeping_void_attempts(out, RESULT):
        result = next(iter(Sweep(loaded.points, out=None, progress=None, **limits._asdict())))
    if out is not None:
        result.save(out)
    return result


@contextmanager
def _keeping_void_attempts(out: Path | None, kind: storage.Kind) -> Iterator[None]:
    """Writes what is left of a run on the kernel that was void, for whoever wants to know why."""
    from dumbbell.results import save_void

    try:
        yield
    except VoidRunError as error:
        if out is not None:
            # Marked as ours, so that the same command may be given again.
            with storage.claimed(out, kind):
                save_void(error.attempts, out)
        raise


def _on_both_grounds(
    arguments: list[str],
    on: str | None,
    seed: int | None,
    limits: _Limits,
    retries: int,
    sysctls: list[str] | None,
    out: Path | None,
) -> tuple[tuple[str, Result], tuple[str, Result]]:
    """Two results and their names: of a file on two grounds, or from two directories."""
    from dumbbell.agreement import name
    from dumbbell.results import load_result

    if on is None:
        if len(arguments) != 2:
            fail("give two directories to compare, or the names of algorithms")
        first, second = (load_result(folder) for folder in arguments)
        return (arguments[0], first), (arguments[1], second)
    grounds = [word.strip() for word in on.split(",")]
    if len(arguments) != 1 or len(grounds) != 2:
        fail("compare --on takes two grounds and one file: dumbbell compare --on sim,linux FILE")
    # Both before the first runs: a mistake in the second one costs no time.
    linuxes = [_linux(ground, retries, sysctls if ground == "linux" else None) for ground in grounds]
    loaded = experiment.load(Path(arguments[0]), seed=seed)
    if len(loaded.points) != 1:
        fail(f"{arguments[0]} has {len(loaded.points)} points; compare grounds with a file of one run")
    folders = [None if out is None else out / ground for ground in grounds]
    for folder in folders:
        _check_out(loaded, folder)
    first, second = (
        _run_point(loaded, limits._replace(linux=linux), folder) for linux, folder in zip(linuxes, folders, strict=True)
    )
    return (name(first), first), (name(second), second)


def _show_beside(
    first: tuple[str, Result], second: tuple[str, Result], *, out: Path | None, draw: bool, as_json: bool
) -> None:
    """Prints two results side by side, and draws them over each other."""
    from dumbbell import agreement, report

    names = (first[0], second[0])
    try:
        pairs = agreement.pairs(first[1], second[1])
    except ValueError as error:
        fail(str(error))
    if as_json:
        print_json({"names": names, "pairs": [pair.to_json() for pair in pairs]})
    else:
        report.side_by_side(pairs, names)
    if draw:
        place = (out or Path("out")) / "comparison"
        place.parent.mkdir(parents=True, exist_ok=True)
        paths = agreement.picture([first[1], second[1]], names).write(place)
        if not as_json:
            print_paths(paths)


def _joined(files: list[Path], objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points of several files in one list, each with its file."""
    return [
        {"file": str(path)} | point
        for path, printed in zip(files, objects, strict=True)
        for point in printed.get("points", [printed])
    ]


LATE_US = 1000.0
"""Programs are told when packets were later than this."""


class _Limits(NamedTuple):
    """What runs may take of the machine."""

    jobs: int | None
    max_memory: int | None
    linux: Linux | None = None


def _linux(on: str, retries: int, sysctls: list[str] | None) -> Linux | None:
    """The settings of the kernel's ground; ``None`` for the simulator."""
    from dumbbell.grounds import Linux, ground

    try:
        if ground(on) is None:  # type: ignore[arg-type]
            if sysctls:
                fail("--sysctl goes with --on linux")
            return None
    except ValueError:
        fail(f"--on {on}: choose sim or linux")
    return Linux(
        retries=retries, sysctl=_pairs(sysctls, "--sysctl", "NAME=VALUE, such as --sysctl net.ipv4.tcp_sack=0")
    )


def _size(text: str | None) -> int | None:
    from dumbbell.memory import limit_of_a_run

    if text is None:
        return None
    try:
        return limit_of_a_run(text, 1)
    except ValueError as error:
        fail(f"--max-memory {text}: {error}")


def _settings(pairs: list[str] | None) -> dict[str, str]:
    return _pairs(pairs, "--set", "KEY=VALUE, such as --set path.loss=1%")


def _pairs(pairs: list[str] | None, option: str, shape: str) -> dict[str, str]:
    settings = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            fail(f"{option} {pair}: write {shape}")
        settings[key.strip()] = value.strip()
    return settings
