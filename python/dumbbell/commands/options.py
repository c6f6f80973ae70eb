"""Options that several commands have, and what their texts mean."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dumbbell import experiment
from dumbbell.commands import completion
from dumbbell.console import fail
from dumbbell.grounds import LINUX, SIMULATED, SIMULATOR, Ground, Linux, Simulator

if TYPE_CHECKING:
    from distributed import Client

    from dumbbell import _core
    from dumbbell.api import Others


def refuse_others(context: typer.Context, read: Collection[str], where: str) -> None:
    """Refuses options that were given and that this form of a command does not read; ``read`` are parameters."""
    for parameter in context.command.params:
        name = str(parameter.name)
        is_given = getattr(context.get_parameter_source(name), "name", "DEFAULT") != "DEFAULT"
        if is_given and name not in read:
            fail(f"{parameter.opts[0]} has nothing to say in {where}: leave it out")


OPTIONS = "the options"
"""Where messages find what is wrong in an experiment that was given by options."""

STANDARD_INPUT = Path("-")
"""The name of an experiment file that is read from standard input."""

File = Annotated[
    Path, typer.Argument(help="Experiment file (TOML); - reads it from standard input.", show_default=False)
]
Algorithm = Annotated[
    str,
    typer.Argument(
        help="A name as in `dumbbell cc list`, NAME:PARAMETER=VALUE, or FILE.py:CLASS.",
        show_default=False,
        autocompletion=completion.algorithms,
    ),
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Directory that --out wrote.", show_default=False)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Replace a setting: --set path.loss=1% --set flows[0].cc=bbr.",
        autocompletion=completion.settings,
    ),
]
VaryRtt = Annotated[
    bool,
    typer.Option(
        "--vary-rtt", help="Lengthen the round trip of each flow by a fraction of a packet time, drawn from the seed."
    ),
]
Repeat = Annotated[int | None, typer.Option(min=1, max=1_000_000, help="Runs of each point, with different seeds.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at the same time; default one a core.")]
Threads = Annotated[
    int, typer.Option(min=1, help="Threads of each run, among which flows that meet in one link are divided.")
]
Plain = Annotated[
    bool, typer.Option("--plain", help="Carry packets one by one, without short cuts: equal results, for doubters.")
]
Keep = Annotated[bool, typer.Option("--keep", help="Take points in --out as they are that another engine has made.")]
Rerun = Annotated[bool, typer.Option("--rerun", help="Run points in --out again that another engine has made.")]
Verify = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE", help="With --cluster: run such a share of points again here and compare, such as 1%."
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="Memory that each run may take, such as 2GiB; default its part of half of the machine's."
    ),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed in place of the file's.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Directory for results: scenario.toml, Parquet tables, meta.json."),
]
Plot = Annotated[bool, typer.Option("--plot", help="Draw pictures (PNG, SVG, PDF) beside the results.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print neither tables nor notes; errors remain.")]
On = Annotated[
    str, typer.Option("--on", metavar="GROUND", help="sim, or linux: the running kernel's TCP, in real time.")
]
Retries = Annotated[
    int | None,
    typer.Option(min=0, help="With --on linux: attempts after one that the machine disturbed; 2 by default."),
]
Sysctls = Annotated[
    list[str] | None,
    typer.Option("--sysctl", metavar="NAME=VALUE", help="With --on linux: a sysctl of the hosts, net.*."),
]
AllowPrograms = Annotated[
    bool,
    typer.Option(
        "--allow-programs",
        help="With --on linux: run the programs that flows of the file name, which can do everything that you can.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="ADDRESS", help="Run on a cluster of Dask.distributed: tcp://HOST:8786, of its scheduler."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object in place of tables.")]


class Limits(NamedTuple):
    """What runs may take of the machine."""

    jobs: int | None
    max_memory: int | None
    ground: Ground = SIMULATED
    client: Client | None = None
    others: Others = "refuse"
    verify: float = 0.0


class Output(NamedTuple):
    """Where results go, and what is said of them."""

    folder: Path | None
    draw: bool = False
    as_json: bool = False
    quiet: bool = False


def load(file: Path, **replaced: Any) -> _core.Experiment:
    """Reads an experiment file, or standard input; ``replaced`` as in :func:`dumbbell.experiment.load`."""
    if file == STANDARD_INPUT:
        return experiment.load_text(sys.stdin.buffer.read(), "<standard input>", **replaced)
    return experiment.load(file, **replaced)


def stem(file: Path) -> str:
    """What the results of a file are called."""
    return "standard-input" if file == STANDARD_INPUT else file.stem


def settings(pairs: list[str] | None, vary_rtt: bool = False) -> dict[str, str]:
    """What ``--set`` and ``--vary-rtt`` replace."""
    always = {"vary_rtt": "1packet"} if vary_rtt else {}
    return always | split(pairs, "--set", "KEY=VALUE, such as --set path.loss=1%")


def split(pairs: list[str] | None, option: str, shape: str) -> dict[str, str]:
    """The pairs of an option that can be given several times."""
    found = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            fail(f"{option} {pair}: write {shape}")
        found[key.strip()] = value.strip()
    return found


def check_trace(trace: Path | None) -> None:
    """Refuses a trace that is not there."""
    if trace is not None and not trace.is_file():
        fail(
            f"--trace {trace}: {missing(trace)}\n  help: a Mahimahi trace, one time in milliseconds for every "
            "delivery opportunity of 1500 bytes; for a link without a trace give --rate 20mbit"
        )


def missing(path: Path) -> str:
    """What to say of a path that is no file."""
    return "this is a directory, and a file is wanted" if path.is_dir() else "there is no such file"


def several(text: str) -> list[str]:
    """The values of an option that takes several, separated by commas."""
    return [part.strip() for part in text.split(",")]


def ground(
    on: str,
    retries: int | None,
    sysctls: list[str] | None,
    *,
    threads: int = 1,
    plain: bool = False,
    allow_programs: bool = False,
) -> Ground:
    """The ground that ``--on`` names, with the settings of other options."""
    if plain and threads != 1:
        fail("a --plain run takes one thread: leave out --threads")
    if on in ("sim", SIMULATOR):
        if sysctls:
            fail("--sysctl goes with --on linux")
        if retries is not None:
            fail("--retries goes with --on linux")
        if allow_programs:
            fail("--allow-programs goes with --on linux")
        return Simulator(threads, plain)
    if on != LINUX:
        fail(f"--on {on}: choose sim or linux")
    if threads != 1 or plain:
        fail(f"{'--plain' if plain else '--threads'} goes with the simulator: leave it out, or --on linux")
    sysctl = split(sysctls, "--sysctl", "NAME=VALUE, such as --sysctl net.ipv4.tcp_sack=0")
    given: dict[str, Any] = {} if retries is None else {"retries": retries}
    return Linux(**given, sysctl=sysctl, allow_programs=allow_programs)


def others(*, keep: bool, rerun: bool, is_kept: bool) -> Others:
    """What becomes of points that another engine has made, where results are kept."""
    if (keep or rerun) and not is_kept:
        fail(f"{'--keep' if keep else '--rerun'} goes with --out: without it nothing is kept")
    if keep and rerun:
        fail("--keep and --rerun exclude each other: leave one out")
    return "keep" if keep else "rerun" if rerun else "refuse"


def share(text: str | None, option: str = "--verify") -> float:
    """The share that an option says, 0 without one."""
    if text is None:
        return 0.0
    try:
        value = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        value = -1.0
    if not 0.0 < value <= 1.0:
        fail(f"{option} {text}: write a share such as 1% or 0.01")
    return value


@contextmanager
def cluster(address: str | None, limits: Limits) -> Iterator[Limits]:
    """The limits with a client of the scheduler at ``address``, if there is one, for the length of a block."""
    if address is None:
        if limits.verify:
            fail("--verify goes with --cluster: leave it out")
        yield limits
        return
    if limits.jobs is not None or limits.ground != SIMULATED:
        fail(
            "--cluster runs the simulator, on all threads of its workers: leave out --jobs, --threads, --plain and --on"
        )
    from dumbbell.cluster import connect

    with connect(address) as client:
        yield limits._replace(client=client)


def size(text: str | None) -> int | None:
    """The bytes of ``--max-memory``."""
    from dumbbell.memory import limit_of_a_run

    if text is None:
        return None
    try:
        return limit_of_a_run(text, 1)
    except ValueError as error:
        fail(f"--max-memory {text}: {error}")
