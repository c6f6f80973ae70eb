"""``dumbbell reproduce``: published studies again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell import catalogue, extras
from dumbbell.commands import completion, options
from dumbbell.commands.running import run_parts
from dumbbell.console import examples, fail, print_json, print_paths, show
from dumbbell.grounds import LINUX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.papers.model import Options, Report, Study
    from dumbbell.papers.part import Part

EXAMPLES = examples(
    "dumbbell reproduce --list",
    "dumbbell reproduce rebbr/fig1 --quick  # seconds: does everything work?",
    "dumbbell reproduce zhang --out out/zhang",
    "dumbbell reproduce kato --decide        # as many seeds as it takes",
    "dumbbell reproduce kato/heatmap --swap ns3-3-40=cubic  # who notices?",
    "dumbbell reproduce ./my-study                          # your own folder",
)


@extras.needed("plots", "dumbbell reproduce")
def reproduce(
    study: Annotated[
        str | None,
        typer.Argument(
            help="A study such as rebbr, a part such as rebbr/fig1, or your own by its folder: ./study, ./study/part. "
            "None lists them.",
            autocompletion=completion.studies,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Directory for tables and figures; default out/STUDY, or out/STUDY/PART for a part."
        ),
    ] = None,
    jobs: options.Jobs = None,
    max_memory: options.MaxMemory = None,
    repeat: Annotated[
        int | None, typer.Option(min=1, help="Seeds of each point; default the study's own number.")
    ] = None,
    decide: Annotated[
        bool,
        typer.Option(
            "--decide",
            help="Repeat a part with other seeds until they decide on each claim: with 28 runs they always do.",
        ),
    ] = False,
    traces: Annotated[
        Path | None, typer.Option(envvar="DUMBBELL_TRACES", help="Directory with the study's cellular traces.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few seconds of each run, one seed: a check, no result.")
    ] = False,
    settings: options.Settings = None,
    swap: Annotated[
        list[str] | None,
        typer.Option(
            "--swap",
            metavar="OLD=NEW",
            help="Run algorithm or preset NEW under the name of OLD: --swap bbr=cubic. A claim that holds all the same "
            "says nothing of OLD.",
        ),
    ] = None,
    swaps: Annotated[
        bool,
        typer.Option(
            "--swaps",
            help="Judge every claim with six other algorithms in the place of the study's own: which does it notice?",
        ),
    ] = False,
    on: options.On = "sim",
    retries: options.Retries = None,
    list_: Annotated[bool, typer.Option("--list", help="List the studies and their parts.")] = False,
    claims: Annotated[
        bool, typer.Option("--claims", help="Only the claims: judged for a study, otherwise the list of all.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: every table and every claim, or the list.")
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
    limit = options.size(max_memory)
    if study is None or list_:
        if as_json:
            print_json({"studies": [one.listed() for one in papers.studies()]})
        else:
            (text.claims if claims else text.listing)(papers.studies())
        return
    changes = options.settings(settings)
    replaced = options.split(swap, "--swap", "OLD=NEW, such as --swap bbr=cubic")
    if quick and "duration" in changes:
        fail("--quick sets the duration: leave it out, or --set duration")
    if quick and decide:
        fail("--quick judges nothing, so that --decide has nothing to decide: leave one of them out")
    ground = options.ground(on, retries, None)
    try:
        paper, parts = papers.find(study)
        is_part = study.rstrip("/").rpartition("/")[2] == parts[0].name
        folder = out or Path("out", paper.name, parts[0].name if is_part else "")
        wanted = papers.Options(folder, jobs, repeat, limit, traces, quick, changes, replaced, decide, ground)
        if swaps:
            if quick or decide or as_json or html or changes or replaced or ground.name == LINUX:
                fail("--swaps goes with --repeat, --jobs and --out: leave out the other options")
            _swaps(paper, parts, wanted)
            return
        _check(parts, wanted)
        runs = {part.name: partial(_run, part, paper, wanted) for part in parts}
        reports, pictures = run_parts(runs, folder, None if as_json else partial(text.report, only_claims=claims))
    except (
        papers.UnknownStudyError, papers.StudyError, recordings.MissingTraceError, catalogue.UnknownAlgorithmError
    ) as error:  # fmt: skip
        fail(str(error.args[0]))
    if html:
        pictures.append(output.write_page(paper, reports, folder))
    if as_json:
        print_json({"study": paper.name, "reference": paper.reference, "parts": [one.to_json() for one in reports]})
    else:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in text.verdicts(reports).items())
        show(f"\nclaims: {counts}; tables and figures in {folder}")
        print_paths(pictures)


def _swaps(study: Study, parts: Sequence[Part[Any]], wanted: Options) -> None:
    """Prints and writes which claims notice another algorithm in the place of the study's."""
    from dumbbell import terminal
    from dumbbell.papers import output, swaps, text

    if not study.subject:
        fail(
            f"--swaps: the study `{study.name}` names no algorithm as its subject\n  help: Study(..., subject=(NAME,))"
        )
    grid = swaps.table(swaps.judged(study, parts, wanted))
    text.table(terminal.console(), grid)
    show(f"\n{output.write_table(grid, wanted.out)}")


def _check(parts: Sequence[Part[Any]], wanted: Options) -> None:
    """Refuses what no experiment can take before anything runs."""
    if wanted.set or wanted.swap:
        swapped = [part.swapped(wanted) for part in parts]
        for old, new in wanted.swap.items():
            if not any(one[old] for one in swapped):
                fail(
                    f"--swap {old}={new}: no flow runs `{old}` in {', '.join(part.name for part in parts)}\n"
                    "  help: write the name of an algorithm, or of a preset of the study's experiment files"
                )


def _run(part: Part[Any], study: Study, wanted: Options, place: Path) -> Report:
    from dumbbell.papers import StudyError, outside
    from dumbbell.papers.part import failures
    from dumbbell.papers.traces import MissingTraceError

    try:
        return part.run(study.name, replace(wanted, out=place))
    except MissingTraceError:
        raise
    except failures() as error:
        if not outside.is_own(part) and not (wanted.set or wanted.swap or wanted.ground.name == LINUX):
            raise
        raise StudyError(
            f"{study.name}/{part.name}: cannot tell what its runs say: {outside.told(error, part.folder)}\n"
            "  help: a part needs all runs and series that it measures; with --set keep what is swept"
        ) from error
