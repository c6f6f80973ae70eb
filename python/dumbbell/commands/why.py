"""``dumbbell why``: what holds flows back, proved by the runs without it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import extras
from dumbbell.commands import options
from dumbbell.console import examples, fail, note, print_json, say, show

if TYPE_CHECKING:
    from dumbbell.results import Result

EXAMPLES = examples(
    "dumbbell why result               # a run that --out wrote",
    "dumbbell why slow.toml            # an experiment file, run first",
    "dumbbell why result --flow bbr --json",
    "dumbbell why slow.toml -o result  # and the commands of its runs",
)


@extras.needed("statistics", "dumbbell why")
def why(
    source: Annotated[
        Path,
        typer.Argument(metavar="DIR|FILE", help="A run that --out wrote, or an experiment file.", show_default=False),
    ],
    flow: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL", help="Ask about this flow or source of traffic; default the first four."),
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, max=1000, help="Pairs of runs for each cause.")] = 5,
    settings: options.Settings = None,
    out: options.Out = None,
    jobs: options.Jobs = None,
    max_memory: options.MaxMemory = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell why flows are no faster: repeat a run without one cause after the other.

    Some twenty causes are tried: windows, application, HyStart, PROBE_RTT, timeouts, pacing, policers, queues and
    their marks, losses, reordering, the way back, outages. Those that cost something are named, the greatest first.
    """
    from dumbbell import why as asking
    from dumbbell.results import SCENARIO
    from dumbbell.why import words

    limits = options.Limits(jobs, options.size(max_memory))
    result, folder = _result(source, settings, out, limits)
    if result.meta.certificate is not None:
        note("this run was on the kernel; causes are taken away on the simulator, where its numbers differ a little")
    try:
        found = asking.answers(result, labels=flow or (), repeat=repeat, jobs=limits.jobs, max_memory=limits.max_memory)
    except ValueError as error:
        fail(f"--flow: {error}")
    scenario = None if folder is None else str(folder / SCENARIO)
    if as_json:
        print_json({"answers": [words.as_json(answer, scenario) for answer in found]})
        return
    if not found:
        say("there is no flow that fills the network: datagrams have a rate of their own")
        return
    for answer in found:
        say(words.sentence(answer))
        if answer.named:
            show(words.items(answer, scenario))
        if (cleared := words.cleared(answer)) is not None:
            say(cleared)
        show("")
    if any(answer.is_measured for answer in found):
        say(words.intervals(found))


def _result(
    source: Path, settings: list[str] | None, out: Path | None, limits: options.Limits
) -> tuple[Result, Path | None]:
    """The run that is asked about, and where it is."""
    from dumbbell.commands.running import check_out, run_point
    from dumbbell.results import Result, load

    if source.is_dir():
        if settings or out is not None:
            fail("--set and --out go with an experiment file; this is a result")
        result = load(source)
        if not isinstance(result, Result):
            fail(f"{source}: this is a sweep; ask about one of its points: dumbbell extract {source} 0 --out point")
        return result, source
    loaded = options.load(source, set=options.settings(settings))
    if len(loaded.points) != 1:
        fail(f"{source}: the experiment has {len(loaded.points)} points; run it, and ask about one: dumbbell extract")
    check_out(loaded, out)
    return run_point(loaded, limits, out), out
