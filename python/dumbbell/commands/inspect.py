"""Commands that show what there is: what a file means, the schema, columns, algorithms, the metrics of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell import _core, extras
from dumbbell.commands import completion, options
from dumbbell.console import examples, fail, itemise, note, print_json

EXPLAIN_EXAMPLES = examples(
    "dumbbell explain who-wins.toml",
    "dumbbell explain who-wins.toml --set flows[0].cc=bbr3",
)
SCHEMA_EXAMPLES = examples(
    "dumbbell schema > dumbbell.schema.json  # for #:schema in your files",
    "dumbbell schema --markdown links        # what a queue or a loss can be",
)
METRICS_EXAMPLES = examples(
    "dumbbell metrics result",
    "dumbbell metrics shared --solo alone  # adds the harm that company does",
)
COLUMNS_EXAMPLES = examples("dumbbell columns flows", "dumbbell columns --json")
CC_LIST_EXAMPLES = examples("dumbbell cc list", "dumbbell cc list --json")
CC_SHOW_EXAMPLES = examples(
    "dumbbell cc show bbr3",
    "dumbbell cc show cubic-linux-6.18",
    "dumbbell cc show mine.py:Mine  # a class of your own",
    "dumbbell cc show ./libmine.so   # a library",
)


def explain(file: options.File, settings: options.Settings = None, vary_rtt: options.VaryRtt = False) -> None:
    """Show every value that an experiment will use, defaults marked."""
    loaded = options.load(file, set=options.settings(settings, vary_rtt))
    itemise(loaded.explain() + loaded.explain_parameters().rstrip("\n"))


def schema(
    markdown: Annotated[
        str | None, typer.Option(metavar="PAGE", help="A page of the reference instead: links, transport or traffic.")
    ] = None,
) -> None:
    """Print the JSON Schema of experiment files, for editors, or what it says about parameters, for people."""
    if markdown is None:
        typer.echo(_core.schema())
        return
    from dumbbell import terminal

    pages = dict(_core.reference())
    if markdown not in pages:
        fail(f"--markdown {markdown}: choose from {', '.join(pages)}")
    terminal.page(pages[markdown])


@extras.needed("statistics", "dumbbell metrics")
def metrics(
    folder: options.Folder,
    solo: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The same flows alone on the same path: adds the harm done.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Compute the metrics of a result: fairness, convergence, utilisation, power, harm."""
    import dataclasses

    from dumbbell import report
    from dumbbell.measures import measures
    from dumbbell.results import Result, load

    result = load(folder)
    alone = None if solo is None else load(solo)
    if alone is not None and not isinstance(alone, Result):
        fail(f"--solo {solo}: this is a sweep; give the directory of one run")
    if alone is not None and not isinstance(result, Result):
        fail(f"--solo {solo}: harm is done in one run, and {folder} is a sweep; give the directory of one run")
    found = measures(result, alone)
    if as_json:
        print_json({"metrics": [dataclasses.asdict(measure) for measure in found]})
    elif found or isinstance(result, Result):
        report.measures(found)
    else:
        note("no metric of this sweep has a value: there is the loss that halves goodput, of sweeps over path.loss")


def columns(
    table: Annotated[
        str | None,
        typer.Argument(
            help="A table such as flows or completions; none shows all.",
            show_default=False,
            autocompletion=completion.tables,
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Explain the columns of result tables: unit, meaning, who fills them."""
    import dataclasses

    from dumbbell import columns as described
    from dumbbell import report, terminal

    if table is not None and table not in described.TABLES:
        fail(f"no table `{table}`; there are {', '.join(described.TABLES)}")
    chosen = [column for column in described.columns() if table in (None, column.table)]
    if markdown:
        terminal.page(described.reference())
    elif as_json:
        print_json({"columns": [dataclasses.asdict(column) for column in chosen]})
    else:
        report.columns(chosen)


def cc_list(as_json: options.AsJson = False) -> None:
    """List the algorithms."""
    from dumbbell import catalogue, report

    entries = catalogue.entries()
    if as_json:
        print_json({"algorithms": entries})
    else:
        report.algorithms(entries)


def cc_show(
    name: Annotated[
        str,
        typer.Argument(
            help="Name or exact name from `dumbbell cc list`, or of your own: FILE.py:CLASS, FILE.so, FILE.npz, "
            "FILE.onnx.",
            show_default=False,
            autocompletion=completion.algorithms,
        ),
    ],
    as_json: options.AsJson = False,
) -> None:
    """Show an algorithm's parameters: default, meaning, source."""
    from dumbbell import catalogue, report

    try:
        entry = catalogue.find(name)
    except catalogue.UnknownAlgorithmError as error:
        fail(str(error))
    if as_json:
        print_json(entry)
    else:
        report.algorithm(entry)
