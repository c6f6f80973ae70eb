"""The commands of the command line, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell import _core
from dumbbell.commands import (
    adversary,
    advise,
    animate,
    check,
    compare,
    evidence,
    extract,
    flent,
    gate,
    inspect,
    museum,
    new,
    pages,
    plot,
    qlog,
    reproduce,
    run,
    score,
    shell,
    stats,
    suite,
    watch,
    why,
)
from dumbbell.console import Commands, examples

EXAMPLES = examples(
    "dumbbell run who-wins.toml --plot --out result  # table, pictures, data",
    "dumbbell compare bbr cubic --loss 1%            # no file at all",
    "dumbbell explain who-wins.toml                  # every value it will use",
    "dumbbell reproduce --list                       # published studies again",
)

app = typer.Typer(
    name="dumbbell",
    cls=Commands,
    help="A congestion-control laboratory: run an experiment file, get tables, pictures and open data.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
checks = typer.Typer(help="Examinations of an algorithm.", no_args_is_help=True, rich_markup_mode=None)
cc = typer.Typer(help="The congestion controllers and their parameters.", no_args_is_help=True, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(f"dumbbell {_core.__version__}")
        raise typer.Exit


app.command(epilog=run.EXAMPLES)(run.run)
app.command(epilog=watch.EXAMPLES)(watch.watch)
app.command(epilog=compare.EXAMPLES)(compare.compare)
app.command(epilog=plot.EXAMPLES)(plot.plot)
app.command(epilog=animate.EXAMPLES)(animate.animate)
app.command(epilog=extract.EXAMPLES)(extract.extract)
app.command(epilog=qlog.EXAMPLES)(qlog.qlog)
app.command(epilog=stats.EXAMPLES)(stats.stats)
app.command(epilog=score.EXAMPLES)(score.score)
app.command(epilog=adversary.EXAMPLES)(adversary.adversary)
app.command("new-algorithm", epilog=new.EXAMPLES)(new.new_algorithm)
app.command(epilog=pages.EXAMPLES)(pages.report)
app.command(epilog=why.EXAMPLES)(why.why)
app.command(epilog=advise.EXAMPLES)(advise.advise)
app.command(epilog=flent.EXAMPLES)(flent.flent)
app.command(epilog=inspect.EXPLAIN_EXAMPLES)(inspect.explain)
app.command(epilog=inspect.METRICS_EXAMPLES)(inspect.metrics)
app.command(epilog=inspect.COLUMNS_EXAMPLES)(inspect.columns)
app.command(epilog=inspect.SCHEMA_EXAMPLES)(inspect.schema)
app.command(epilog=shell.EXAMPLES, context_settings={"ignore_unknown_options": True})(shell.shell)
app.command(epilog=reproduce.EXAMPLES)(reproduce.reproduce)
app.command(epilog=suite.EXAMPLES)(suite.suite)
checks.command(epilog=check.EXAMPLES)(check.conform)
checks.command(epilog=evidence.EXAMPLES)(evidence.evidence)
checks.command(epilog=museum.EXAMPLES)(museum.museum)
checks.command(epilog=gate.EXAMPLES)(gate.gate)
cc.command("list", epilog=inspect.CC_LIST_EXAMPLES)(inspect.cc_list)
cc.command("show", epilog=inspect.CC_SHOW_EXAMPLES)(inspect.cc_show)
app.add_typer(cc, name="cc")
app.add_typer(checks, name="check")
