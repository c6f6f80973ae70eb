"""``dumbbell check gate``: is a new algorithm worse than limits allow?"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell import extras, interrupts
from dumbbell.commands import completion, options
from dumbbell.console import examples, fail, note, print_json, print_paths, say

EXAMPLES = examples(
    "dumbbell check gate bbr3 bbr3:pacing_margin=4%",
    "dumbbell check gate bbr3 mine.py:Mine --gate 'late-comer: fairness -0.02'",
    "dumbbell check gate bbr3 -o baseline  # once; commit baseline/gate.json",
    "dumbbell check gate baseline mine.py:Mine --markdown gate.md",
)

FAILED = 1
"""Exit status where a regression is shown."""

Compared = Annotated[
    str,
    typer.Argument(
        metavar="BASE",
        help="An algorithm, or a folder that `-o` wrote.",
        show_default=False,
        autocompletion=completion.algorithms,
    ),
]


@extras.needed("statistics", "dumbbell check gate")
def gate(
    base: Compared,
    new: Annotated[
        str | None,
        typer.Argument(
            metavar="NEW",
            help="The same; without it BASE is recorded in -o DIR.",
            show_default=False,
            autocompletion=completion.algorithms,
        ),
    ] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT",
            help="[SCENARIO:] [median|pNN] METRIC -LIMIT or +LIMIT, such as 'p95 goodput -2%'; may be repeated. METRIC "
            "is goodput, delay, loss, fairness or completion.",
        ),
    ] = None,
    scenarios: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Scenarios of your own, files *.toml, in place of the package's.")
    ] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this scenario; may be repeated.", autocompletion=completion.scenarios),
    ] = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Runs of each scenario; default 40, or as recorded.")
    ] = None,
    seed: options.Seed = None,
    transport: Annotated[str | None, typer.Option(help="tcp or quic; default tcp, or as recorded.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Directory for gate.json and all runs, which are not repeated.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page for a forge: table and two charts.")
    ] = None,
    jobs: options.Jobs = None,
    max_memory: options.MaxMemory = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare two algorithms over scenarios, and fail where the new one is shown to be worse than limits allow.

    Exit status 1 says that a regression is shown. What is undecided does not fail; a line says how many runs decide.
    """
    from dumbbell.check import gate as gating
    from dumbbell.check import gate_page
    from dumbbell.check.recorded import FILE

    if out is not None:
        command = shlex.join(["dumbbell", *sys.argv[1:]])
        interrupts.advise(lambda: f"runs that are finished are kept in {out}; to go on:\n  {command}")
    shared: dict[str, Any] = {
        "scenarios": scenarios,
        "names": scenario or (),
        "repeat": repeat,
        "seed": seed,
        "transport": transport,
        "jobs": jobs,
        "max_memory": options.size(max_memory),
    }
    try:
        if new is None:
            _record(base, out, [*(gate or []), *([] if markdown is None else [str(markdown)])], as_json, shared)
            return
        if markdown is not None:
            gate_page.check(markdown)
        report = gating.gate(base, new, gate or (), out=out, **shared)
    except ValueError as error:
        fail(str(error))
    for one in report.notes:
        note(one)
    if as_json:
        print_json(report.summary())
    else:
        gate_page.grid(report).print()
        for sentence in gate_page.sentences(report):
            say(sentence)
    if markdown is not None:
        gate_page.write(report, markdown)
    if not as_json:
        print_paths([*([] if out is None else [out / FILE]), *([] if markdown is None else [markdown])])
    if report.failed:
        sys.exit(FAILED)


def _record(algorithm: str, out: Path | None, unused: list[str], as_json: bool, shared: dict[str, Any]) -> None:
    from dumbbell.check import gate as gating
    from dumbbell.check import gate_page
    from dumbbell.check.recorded import FILE

    if out is None:
        fail(f"{algorithm} is compared with nothing: name a second algorithm, or record this one with -o DIR")
    if unused:
        fail(f"{unused[0]}: nothing is judged where one algorithm is recorded; leave out --gate and --markdown")
    recorded = gating.record(algorithm, out, **shared)
    if as_json:
        print_json(recorded.to_json())
        return
    gate_page.recorded_grid(recorded).print()
    print_paths([out / FILE])
