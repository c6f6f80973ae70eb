"""``dumbbell adversary``: the worst case of an algorithm."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import extras
from dumbbell.commands import completion, options
from dumbbell.commands.options import Limits
from dumbbell.console import examples, fail, note, print_json, say, show

if TYPE_CHECKING:
    from dumbbell.adversary import Found

EXAMPLES = examples(
    "dumbbell adversary reno                       # bursts of datagrams",
    "dumbbell adversary bbr --attack delay --budget 10min",
    "dumbbell adversary mine.py:Mine --goal starvation --attack trace,losses",
    "dumbbell adversary cubic --attack connections # replays on the kernel",
)


@extras.needed("adversary", "dumbbell adversary")
def adversary(
    algorithm: options.Algorithm,
    goal: Annotated[
        str,
        typer.Option(help="What to spoil: throughput, delay, starvation or loss.", autocompletion=completion.goals),
    ] = "throughput",
    attack: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="With what: traffic, connections, trace, delay, losses; several, separated by commas, at once.",
            autocompletion=completion.attacks,
        ),
    ] = "traffic",
    evaluations: Annotated[
        int | None, typer.Option(min=1, help="Experiments to try, each with three seeds; default 5000.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="In place of --evaluations: time that the search may take, such as 10min."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 1,
    share: Annotated[
        str | None,
        typer.Option(
            help="The most that cross traffic takes of the link, or lossy times of the time; default 20% and 5%."
        ),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            metavar="CC",
            help="With --goal starvation: the algorithm of the flow beside; default cubic.",
            autocompletion=completion.algorithms,
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--experiment", metavar="FILE", help="An experiment of your own, whose first flow is examined."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Directory for the log and what is found; default out/adversary/..."),
    ] = None,
    jobs: options.Jobs = None,
    max_memory: options.MaxMemory = None,
    cluster: options.Cluster = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Search the worst case of an algorithm, and shrink it to a small experiment that replays.

    What is tried is kept: the same command goes on after an interrupt, and a longer search goes on from a shorter one.
    """
    from dumbbell import adversary as searching
    from dumbbell import interrupts
    from dumbbell.printable import file_name

    attacks = options.several(attack)
    folder = out or Path("out") / "adversary" / file_name(f"{algorithm}-{goal}-{'-'.join(attacks)}")
    command = shlex.join(["dumbbell", *sys.argv[1:]])
    interrupts.advise(lambda: f"what was tried is in {folder}; to go on:\n  {command}")
    limits = Limits(jobs, options.size(max_memory))
    with options.cluster(cluster, limits) as limits:
        try:
            found = searching.find(
                algorithm,
                goal=goal,
                attacks=attacks,
                evaluations=evaluations,
                budget_s=None if budget is None else _seconds(budget),
                seed=seed,
                share=None if share is None else options.share(share, "--share"),
                beside=beside,
                source=source,
                out=folder,
                jobs=limits.jobs,
                max_memory=limits.max_memory,
                client=limits.client,
                progress=False if quiet else None,
            )
        except ValueError as error:
            fail(str(error))
    interrupts.advise(None)
    if as_json:
        print_json(found.as_dict())
    elif not quiet:
        _tell(found, folder)


def _seconds(text: str) -> float:
    """The seconds of ``--budget``, of which ``10m`` are minutes."""
    from dumbbell import _core

    try:
        seconds = _core.seconds(re.sub(r"(?<=\d)m$", "min", text))
    except ValueError as error:
        fail(f"--budget {text}: {error}")
    if not seconds > 0:
        fail(f"--budget {text}: write a time above 0, such as 10min")
    return seconds


def _tell(found: Found, folder: Path) -> None:
    from dumbbell.adversary import GOALS
    from dumbbell.adversary.finding import MINIMAL
    from dumbbell.terminal import Grid

    say(
        f"{found.algorithm}: {found.goal} {found.value:.3g} {GOALS[found.goal].unit}, the worst of {found.evaluations} "
        f"experiments, made smaller"
    )
    for text in found.words:
        say(f"  {text}")
    table = Grid("the same experiment", f"{found.goal}:")
    table.add("as it is", f"{found.value:.3g}")
    table.add("with other seeds, the median", f"{found.with_seeds:.3g}")
    for name, value in found.beside.items():
        table.add(name, f"{value:.3g}")
    table.print()
    path = shlex.quote(str(folder / MINIMAL))
    show(f"to run it again:\n  dumbbell run {path} --plot --out result")
    if found.on_linux:
        show(f"  dumbbell run {path} --on linux          # where the kernel has the algorithm")
    else:
        note("the running kernel carries no datagrams; --attack connections makes an attack of TCP, which it replays")
