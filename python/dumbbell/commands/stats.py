"""``dumbbell stats``: whether groups of runs differ, and which."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell import extras
from dumbbell.commands import completion, options
from dumbbell.console import examples, fail, note, print_json

EXAMPLES = examples(
    "dumbbell stats sweep                    # what --repeat 10 --out sweep wrote",
    "dumbbell stats sweep --metric p95_rtt_ms --by cc --where buffer=1bdp",
    "dumbbell stats sweep --post-hoc paired  # runs of the same seed",
    "dumbbell stats monday tuesday --by result",
    "dumbbell stats *.flent.gz --metric 'TCP upload avg'",
)


@extras.needed("statistics", "dumbbell stats")
def stats(
    places: Annotated[
        list[Path],
        typer.Argument(metavar="DIR", help="Directories that --out wrote; or files of Flent.", show_default=False),
    ],
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            "-m",
            help="A column (`dumbbell columns`) or jain; of Flent's files a series.",
            autocompletion=completion.metrics,
        ),
    ] = "goodput_mbps",
    by: Annotated[
        str,
        typer.Option(
            metavar="SETTING",
            help="What makes groups: cc, label, swept settings, result; default all in which runs differ.",
            show_default=False,
        ),
    ] = "",
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Only these values of a swept setting, cc or label: --where rtt=20ms."),
    ] = None,
    samples: Annotated[
        bool, typer.Option("--samples", help="Take each point of the time series for a sample; a run is one else.")
    ] = False,
    post_hoc: Annotated[
        str | None,
        typer.Option(
            metavar="TEST",
            help="tukey, games-howell, holm or paired; default tukey, or games-howell where variances differ.",
            show_default=False,
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Compare groups of runs: means with intervals, analysis of variance, and which groups differ.

    A run is one sample. Levene's test says whether variances differ; then Welch's analysis of variance is the one to
    read, else the one-way. Kruskal and Wallis's test compares ranks, for skewed metrics.
    """
    from dumbbell import flent, report, statistics

    chosen = options.split(where, "--where", "KEY=VALUE, such as --where rtt=20ms")
    try:
        found = statistics.stats(*places, metric=metric, by=by, where=chosen, samples=samples, post_hoc=post_hoc)
    except (ValueError, flent.FlentFileError) as error:
        fail(str(error))
    if as_json:
        print_json(found.summary())
        return
    report.statistics(found)
    for text in found.notes:
        note(text)
