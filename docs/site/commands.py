"""Prints the reference of the command line: ``python docs/site/commands.py > docs/reference/commands.md``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

INTRODUCTION = """\
# Commands

Every command with its arguments, options and defaults, as its `--help` prints them. `dumbbell --install-completion`
lets your shell complete commands, options and values. Standard output has results, standard error everything else.

| exit status | means |
|---|---|
| 0 | done; a claim of a study that does not hold is a result |
| 1 | `dumbbell check`: a case fails, a regression is shown, or a check of the museum misses its mistake; \
`run`: a program of a flow fails |
| 2 | wrong input, or output that cannot be written: a message, nothing written |
| 3 | the machine disturbed a run on the kernel, which is kept aside under `void` |
| 130 | interrupted |

This page is printed by `docs/site/commands.py`.
"""


def leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """All commands below one that have no commands of their own."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for word, one in inner.items():
        if not one.hidden:
            yield from leaves(one, f"{name} {word}")


def cell(text: str) -> str:
    """A text in a table."""
    return " ".join(text.split()).replace("|", r"\|")


def names(param: Any) -> str:
    """How a parameter is written: an argument by its name, an option with what follows it."""
    if param.param_type_name == "argument":
        return f"{param.metavar or param.name.upper()}{'...' if param.nargs == -1 else ''}"
    return ", ".join([*param.opts, *param.secondary_opts]) + (f" {param.metavar}" if param.metavar else "")


def section(name: str, command: Any) -> str:
    """What a command does, takes and offers."""
    context = command.make_context(name, [], resilient_parsing=True)
    lines = [f"## `{name}`", "", inspect.cleandoc(command.help), "", "| | |", "|---|---|"]
    for param in command.params:
        _, says = param.get_help_record(context) or ("", "")
        lines += [f"| `{cell(names(param))}` | {cell(says)} |"] if says else []
    if command.epilog:
        examples = command.epilog.replace("\b", "").strip().removeprefix("Examples:")
        lines += ["", "```sh", inspect.cleandoc(examples), "```"]
    return "\n".join(lines)


def reference() -> str:
    """The whole page."""
    from dumbbell.application import app

    sections = [section(name, command) for name, command in leaves(typer.main.get_command(app), "dumbbell")]
    return "\n".join([INTRODUCTION, *(f"{one}\n" for one in sections)])


if __name__ == "__main__":
    print(reference(), end="")
