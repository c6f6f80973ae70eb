"""``dumbbell reproduce``: published studies again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.commands import completion, options
from dumbbell.commands.running import run_parts
from dumbbell.console import examples, fail, print_json, print_paths, show

if TYPE_CHECKING:
    from dumbbell.papers.model import Options, Report
    from dumbbell.papers.part import Part

EXAMPLES = examples(
    "dumbbell reproduce --list",
    "dumbbell reproduce rebbr/fig1 --quick  # seconds: does everything work?",
    "dumbbell reproduce zhang --out out/zhang",
)


def reproduce(
    study: Annotated[
        str | None,
        typer.Argument(
            help="A study such as rebbr, or a part of it such as rebbr/fig1; none lists them.",
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
    limit = options.size(max_memory)
    if study is None or list_:
        (text.claims if claims else text.listing)(papers.studies())
        return
    try:
        paper, parts = papers.find(study)
        folder = out or Path("out") / study.strip("/")
        wanted = papers.Options(folder, jobs, repeat, limit, traces, quick)
        runs = {part.name: partial(_run, part, paper.name, wanted) for part in parts}
        reports, pictures = run_parts(runs, folder, None if as_json else partial(text.report, only_claims=claims))
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


def _run(part: Part[Any], study: str, wanted: Options, place: Path) -> Report:
    return part.run(study, replace(wanted, out=place))
