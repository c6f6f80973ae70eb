"""``dumbbell check museum``: mistakes of the past, and the checks that catch them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dumbbell import extras
from dumbbell.commands import completion, options
from dumbbell.commands.check import FAILED, MARKS, Drawn
from dumbbell.console import examples, fail, print_json, print_paths, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.check.judge import Finding, Observed
    from dumbbell.check.museum import Visit

EXAMPLES = examples(
    "dumbbell check museum                         # every exhibit, in seconds",
    "dumbbell check museum cubic-idle -o pictures  # both beside each other",
    "dumbbell check museum --exhibits my-exhibits --json",
)


@extras.needed("statistics", "dumbbell check museum")
def museum(
    name: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Exhibits to run; default all.", autocompletion=completion.exhibits),
    ] = None,
    exhibits: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Exhibits of your own, files *.toml, in place of the package's.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Directory for a picture of each exhibit.")] = None,
    jobs: options.Jobs = None,
    max_memory: options.MaxMemory = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print stories and findings as Markdown.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Run algorithms with mistakes of the past, and without: each must fail the check that catches it.

    Exit status 1 says that a check passes with the mistake, or fails without it.
    """
    from dumbbell import check

    if markdown and as_json:
        fail("--markdown and --json: give one of the two")
    pictures = None if out is None else _Pictures(out, "museum")
    try:
        visits = check.museum(
            name or (),
            exhibits=exhibits,
            jobs=jobs,
            max_memory=options.size(max_memory),
            each=None if pictures is None else pictures.draw,
        )
    except ValueError as error:
        fail(str(error))
    if as_json:
        print_json({"exhibits": [visit.to_json() for visit in visits]})
    elif markdown:
        from dumbbell.check.museum_page import sections

        print(sections(visits), end="")
    else:
        _print(visits)
    if pictures is not None:
        paths = pictures.write()
        if not (as_json or markdown):
            print_paths(paths)
    if not all(visit.holds for visit in visits):
        sys.exit(FAILED)


class _Pictures(Drawn):
    """A picture of each exhibit."""

    def draw(self, visit: Visit, healthy: Observed, faulty: Observed) -> None:
        """Draws an exhibit."""
        from dumbbell.check.picture import beside

        self.drawn[f"{visit.exhibit.name}.png"] = beside(visit, healthy, faulty).encoded("png")


def _print(visits: Sequence[Visit]) -> None:
    from dumbbell.terminal import Grid

    table = Grid("exhibit", "algorithm", "date", "healthy", "with the bug", "check")
    for visit in visits:
        exhibit, verdicts = visit.exhibit, (visit.healthy.verdict, visit.faulty.verdict)
        table.add(
            exhibit.name, exhibit.algorithm, exhibit.date, *(MARKS[one] for one in verdicts), exhibit.check or "its own"
        )
    table.print()
    for visit in visits:
        say(_sentence(visit))
    caught = sum(visit.holds for visit in visits)
    say(f"{caught} of {len(visits)} mistakes are told from none")


def _sentence(visit: Visit) -> str:
    """What was asked, and what was found without the mistake and with it."""
    if visit.healthy.verdict != "pass":
        worst = visit.healthy.worst
        return f"{visit.exhibit.name}: {worst.says}: asked {worst.asked}, found {_found(worst)} without the bug"
    faulty = visit.faulty.worst
    if faulty.verdict != "fail":
        what = "passes" if faulty.verdict == "pass" else f"says nothing, since {faulty.found},"
        return f"{visit.exhibit.name}: its check {what} with the bug"
    without = next((_found(one) for one in visit.healthy.findings if one.says == faulty.says), "none")
    found = f"found {_found(faulty)} with the bug, {without} without"
    return f"{visit.exhibit.name}: {faulty.says}: asked {faulty.asked}, {found}"


def _found(finding: Finding) -> str:
    return finding.found.partition(" against ")[0]
