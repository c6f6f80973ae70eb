"""What the ``dumbbell`` command says on the terminal: results, errors, and how it ends after them."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TextIO

import typer
from typer.core import TyperGroup

from dumbbell import _core, interrupts, storage
from dumbbell.extras import MissingExtraError
from dumbbell.grounds import VoidRunError
from dumbbell.parallel import ClusterError, WorkerWarning
from dumbbell.printable import printable
from dumbbell.storage import DamagedResultWarning, OtherEngineWarning

VOID_STATUS = 3
"""Exit status where the machine was too busy for a run on the kernel."""

PROGRAM_STATUS = 1
"""Exit status where a program of a flow failed."""

_SENTENCE = re.compile(r"(?:error: |note: |  help: |(?=\S))")
_ITEM = re.compile(r" *")


def examples(*lines: str) -> str:
    """Lines of at most 76 characters that show how a command is used, as the end of its help."""
    # The first character keeps the lines as they are.
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


class _ReaderLeftError(Exception):
    """Nobody reads our output any more."""


_OTHER_OPTIONS = {
    "--bandwidth": "--rate", "--bw": "--rate", "--capacity": "--rate",
    "--delay": "--rtt", "--latency": "--rtt",
    "--buf": "--buffer", "--queue-size": "--buffer",
    "--aqm": "--set path.queue=NAME", "--qdisc": "--set path.queue=NAME", "--queue": "--set path.queue=NAME",
    "--plr": "--loss", "--loss-rate": "--loss",
    "--dur": "--duration", "--time": "--duration", "--seconds": "--duration",
    "--runs": "--repeat", "--reps": "--repeat", "--repetitions": "--repeat", "--seeds": "--repeat",
    "--output": "--out", "--threads": "--jobs", "--parallel": "--jobs",
}  # fmt: skip
"""What other tools call an option, and what does the same here."""


_KEYS = {"--rate": "path.rate", "--rtt": "path.rtt", "--buffer": "path.buffer", "--loss": "path.loss",
         "--duration": "duration"}  # fmt: skip
"""The keys of an experiment that some commands have as options."""


def _offer_options(error: Any) -> None:
    """Offers what does the same as an option of other tools or commands, in place of what merely looks alike."""
    read = getattr(error, "option_name", None)
    command = getattr(getattr(error, "ctx", None), "command", None)
    if read is None or command is None:
        return
    here = _OTHER_OPTIONS.get(read, read)
    set_ = f"--set {_KEYS[here]}=VALUE" if here in _KEYS else ""
    known = {option for parameter in command.params for option in parameter.opts}
    meant = [way for way in (here, set_) if way and way != read and way.split()[0] in known]
    if meant:
        error.possibilities = meant[:1]


class Commands(TyperGroup):
    """Commands whose errors cannot command the terminal, and whose interrupts reach :func:`reporting_errors`."""

    def invoke(self, ctx: Any) -> Any:
        """Runs the command that the command line names."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise interrupts.Interrupted from None
        except BrokenPipeError as error:
            # Which Typer would end with status 1.
            raise _ReaderLeftError from error
        except Exception as error:
            # A usage error quotes the command line, which may hold names of files.
            if isinstance(getattr(error, "message", None), str):
                error.message = printable(error.message)  # type: ignore[attr-defined]
            _offer_options(error)
            raise


_TOLD = (DamagedResultWarning, OtherEngineWarning, WorkerWarning)
"""Warnings of Dumbbell that a command shows as a line each."""

_MISTAKES = (
    _core.ScenarioError,
    _core.RunError,
    storage.OutputError,
    storage.ResultError,
    ClusterError,
    MissingExtraError,
)
"""Errors of the user, whose message is all that there is to say."""


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Turns errors of the user into a message on standard error and exit status 2, those of programs into status 1."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning(warnings.showwarning)
            for category in _TOLD:
                warnings.simplefilter("always", category)
            yield
    except _core.ProgramError as error:
        _complain(f"error: {error}")
        sys.exit(PROGRAM_STATUS)
    except _MISTAKES as error:
        fail(str(error))
    except VoidRunError as error:
        _complain(f"error: {error}")
        sys.exit(VOID_STATUS)
    except (KeyboardInterrupt, interrupts.Interrupted):
        interrupts.report()
        sys.exit(interrupts.STATUS)
    except (BrokenPipeError, _ReaderLeftError):
        # The reader of our output has left (head); nothing is wrong.
        _close_output()
        sys.exit(0)
    except OSError as error:
        if error.filename is not None:
            raise
        # A file that cannot be written is an OutputError, so this is standard output, on a full disk for example.
        _close_output()
        fail(f"cannot write to standard output: {error.strerror or error}")


def _close_output() -> None:
    """Sends what standard output still buffers nowhere, or the interpreter tries once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: object) -> None:
    """Prints one JSON object."""
    typer.echo(json.dumps(value, indent=2, allow_nan=False))


def print_paths(paths: list[Path]) -> None:
    """Prints what was written, a line a file."""
    for path in paths:
        show(f"  {path}")


def note(text: str) -> None:
    """Prints on standard error what somebody should know besides the results."""
    _complain(f"note: {text}")


def show(text: str) -> None:
    """Prints a text that cannot command the terminal, line by line as it is: names of files, commands to copy."""
    typer.echo(printable(text))


def say(text: str) -> None:
    """Prints sentences that cannot command the terminal, as wide as it is."""
    typer.echo(_fitted(text, sys.stdout, _SENTENCE))


def itemise(text: str) -> None:
    """Prints indented items that cannot command the terminal, as wide as it is."""
    typer.echo(_fitted(text, sys.stdout, _ITEM, hanging=4))


def _complain(text: str) -> None:
    typer.echo(_fitted(text, sys.stderr, _SENTENCE), err=True)


def _fitted(text: str, stream: TextIO, start: re.Pattern[str], hanging: int = 0) -> str:
    """A printable text whose lines that begin with ``start`` are broken at the width of the terminal, if there is one.

    What follows in such a line is indented by as much as the beginning takes, and by ``hanging``. Other lines stay
    whole: a line of a file with marks below it, a command to copy.
    """
    text = printable(text)
    if not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    lines = []
    for line in text.split("\n"):
        begins = start.match(line)
        if begins is None or len(line) <= width:
            lines.append(line)
            continue
        indent = " " * (begins.end() + hanging)
        lines += textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def _show_warning(other: Callable[..., None]) -> Callable[..., None]:
    """Shows a warning of Dumbbell as a line, and any other as ever."""

    def show_warning(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
        if issubclass(category, _TOLD):
            note(str(message))
        else:
            other(message, category, *rest, **named)

    return show_warning


def fail(message: str) -> NoReturn:
    """Ends the command with a message and exit status 2."""
    _complain(message if message.startswith("error") else f"error: {message}")
    sys.exit(2)
