"""``dumbbell shell``: any program inside an experiment's network."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import rootless, storage
from dumbbell.commands import options
from dumbbell.console import examples, fail

if TYPE_CHECKING:
    from dumbbell.shell import Left

EXAMPLES = examples(
    "dumbbell shell lte.toml --peer 'iperf3 -s' -- 'iperf3 -c $DUMBBELL_PEER'",
    "dumbbell shell lte.toml --down --peer 'python3 -m http.server 80' -- bash",
    "dumbbell shell who-wins.toml --log packets -- ping -c 3 10.0.0.2",
)

LATE_US = 1000.0
"""Programs are told when packets were later than this."""


def shell(
    file: options.File,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="Program and arguments; default $SHELL.", show_default=False),
    ] = None,
    peer: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Program on the other side, as a line for the shell.")
    ] = None,
    down: Annotated[
        bool,
        typer.Option(
            "--down", help="The peer sends: what it sends goes over the path, what it gets comes over the way back."
        ),
    ] = False,
    log: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a log of every packet: packets.parquet, up.log, down.log.")
    ] = None,
    settings: options.Settings = None,
    max_memory: options.MaxMemory = None,
    seed: options.Seed = None,
    sysctls: options.Sysctls = None,
) -> None:
    """Run any program inside an experiment's network, on the running kernel.

    $DUMBBELL_PEER is the other side's address. The path is that of the first flow: what the command sends goes over it,
    and what it gets comes over the way back, or with --down the other way round. The exit status is the program's.
    """
    from dumbbell import shell as shells

    if file == options.STANDARD_INPUT:
        fail("the program needs standard input; give the experiment as a file")
    loaded = options.load(file, set=options.settings(settings), seed=seed)
    if len(loaded.points) != 1:
        fail(f"{file} has {len(loaded.points)} points; choose one with --set")
    if log is not None:
        storage.check_target(log, shells.LOG)
    if sys.platform == "linux" and os.geteuid() != 0:
        # Only a process with a single thread can get a user namespace.
        rootless.start_again(sys.argv[1:])
    done = shells.run(
        loaded.points[0],
        command or [os.environ.get("SHELL", "sh")],
        peer=None if peer is None else [peer],
        peer_sends=down,
        sysctls=list(options.split(sysctls, "--sysctl", "NAME=VALUE").items()),
        log=log is not None,
        max_memory=options.size(max_memory),
    )
    if log is not None and done.packets is not None:
        for path in shells.write_log(done.packets, log):
            typer.echo(f"  {path}", err=True)
    if (words := _unshaped(done, down=down)) is not None:
        typer.echo(f"note: {words}", err=True)
    if done.late_p999_us > LATE_US:
        typer.echo(f"note: one packet in a thousand was more than {done.late_p999_us:.0f} us late", err=True)
    sys.exit(done.status)


def _unshaped(done: Left, *, down: bool) -> str | None:
    """Says so where most went over a way back without a rate."""
    forth, back = (size / 1e6 for size in done.carried_bytes)
    if back <= forth or done.shapes_way_back:
        return None
    advice = "leave out --down" if down else "give --down"
    return (
        f"{back:.3g} of {forth + back:.3g} MB went over the way back, which has no rate; {advice} if they should go "
        "over the path, or describe the way back (path.reverse)"
    )
