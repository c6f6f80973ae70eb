"""What a person sees on a terminal of 80 columns: nothing is wider, nothing that identifies is cut."""

from __future__ import annotations

import io
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
import warnings
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path

import pytest
import typer.main
from rich.console import Console
from rich.text import Text

from conftest import Cli
from dumbbell import _core, console, storage
from dumbbell import terminal as terminal_tables
from dumbbell.application import app
from dumbbell.papers import text
from dumbbell.papers.model import Grid

COLUMNS, ROWS = 80, 24
_COMMANDS_OF_A_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")

Terminal = Callable[[str], list[str]]


def command_names() -> list[str]:
    """Every command, the empty one and those of a group included."""
    root = typer.main.get_command(app)
    found = [""]
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        found += [name, *(f"{name} {inner}" for inner in getattr(command, "commands", ()))]
    return found


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """Lines that a command prints on a terminal, of which the last state of a progress bar remains."""

    def call(command: str) -> list[str]:
        ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "xterm"}
        words = [sys.executable, "-m", "dumbbell", *shlex.split(command)]
        process = subprocess.Popen(
            words, cwd=tmp_path, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        printed = b""
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:
                # The other end is closed.
                break
            printed += piece
        process.wait()
        os.close(ours)
        text = _COMMANDS_OF_A_TERMINAL.sub("", printed.decode())
        return [line.split("\r")[-1] for line in text.replace("\r\n", "\n").split("\n")]

    return call


@pytest.mark.parametrize("command", command_names())
def test_help_fits(dumbbell: Cli, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    done = dumbbell(*command.split(), "--help")
    assert done.status == 0
    assert [line for line in done.out.splitlines() if len(line) > COLUMNS] == []


@pytest.mark.parametrize(
    "command",
    [
        "explain two-flows.toml",
        "run two-flows.toml --out result",
        "run two-flows.toml --set path.lss=1%",
        "run two-flows.toml --set path.rate=10mbps",
        "run two-flows.toml --repeat 3",
        "compare bbr cubic --loss 0%,1% --buffer 1bdp,2bdp --repeat 2 --duration 2s",
        "cc list",
        "cc show bbr",
        "columns",
        "reproduce --list",
        "suite --list",
        "schema --markdown links",
        "reproduce rebbr/fig1 --quick",
    ],
)
def test_output_fits(terminal: Terminal, experiment: Path, command: str) -> None:
    lines = terminal(command)
    assert len(lines) > 3
    assert [line for line in lines if len(line) > COLUMNS] == []
    assert [line for line in lines if "\N{HORIZONTAL ELLIPSIS}" in line] == []


def test_a_wide_table_of_a_study_is_printed_in_parts_that_name_their_rows(capsys: pytest.CaptureFixture[str]) -> None:
    groups = [f"{name}: {column}" for name in ("one", "two", "three") for column in ("goodput", "published")]
    grid = Grid("wide", "title", ["loss", *groups], [["1 %", *map(float, range(1000, 1006))]])
    text.table(Console(width=50), grid)
    first, second = capsys.readouterr().out.split("loss")[1:]
    assert "1,003" in first
    assert "1,004" in second
    text.table(Console(width=100), grid)
    assert capsys.readouterr().out.count("loss") == 1


def test_sentences_are_broken_between_words_and_lines_of_a_file_are_not(terminal: Terminal, experiment: Path) -> None:
    lines = terminal("run two-flows.toml --set path.lss=1%")
    start = next(number for number, line in enumerate(lines) if line.startswith("  help: "))
    assert lines[start + 1].startswith(" " * len("  help: ") + "wifi")
    assert "1 | path.lss=1%" in lines


def test_without_a_terminal_a_message_is_one_line(dumbbell: Cli, experiment: Path) -> None:
    done = dumbbell("run", experiment, "--set", "path.lss=1%")
    (line,) = [line for line in done.err.splitlines() if line.startswith("  help: ")]
    assert len(line) > COLUMNS


def test_a_reader_that_leaves_ends_nothing_badly(experiment: Path) -> None:
    for command in ("run two-flows.toml", "explain two-flows.toml", "cc list", "schema"):
        line = f"{shlex.quote(sys.executable)} -m dumbbell {command} | true; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", line], cwd=experiment.parent, capture_output=True, text=True, check=True)
        assert (command, done.stdout, done.stderr) == (command, "0\n", "")


def test_what_is_wrong_with_options_is_not_found_in_a_dictionary(dumbbell: Cli) -> None:
    for command in (["compare", "bbr"], ["advise"]):
        done = dumbbell(*command, "--buffer", "huge")
        assert "--> the options (path.buffer)" in done.err


def test_a_study_that_there_is_not_has_a_nearest(dumbbell: Cli) -> None:
    done = dumbbell("reproduce", "kata/tabel2")
    assert (done.status, done.out) == (2, "")
    assert "help: did you mean `kato/table2`?" in done.err


def printed(capsys: pytest.CaptureFixture[str], table: terminal_tables.Grid, width: int) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terminal_tables, "WIDTH_WITHOUT_TERMINAL", width)
        table.print()
    return [line for line in capsys.readouterr().out.splitlines() if line.strip()]


def test_columns_of_numbers_are_left_out_from_the_last_on_until_a_table_fits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = terminal_tables.Grid("name", "first:", "second\nms:", "third:")
    table.add("abcdef", "11111", "22", "3")
    # Widths of 6, 5, 6 and 5, two between, and two at the edges.
    assert table._fitting(30) == [0, 1, 2, 3]
    assert table._fitting(29) == [0, 1, 2]
    assert table._fitting(23) == [0, 1, 2]
    assert table._fitting(22) == [0, 1]
    assert table._fitting(15) == [0, 1]
    assert table._fitting(1) == [0, 1], "one column of numbers stays"
    lines = printed(capsys, table, 29)
    assert "left out, 29 columns are too narrow: third; --json has them" in " ".join(" ".join(lines).split())
    assert "left out" not in "".join(printed(capsys, table, 30))
    assert "second ms, third" in " ".join(" ".join(printed(capsys, table, 22)).split())
    words = terminal_tables.Grid("a", "b")
    words.add("x" * 20, "y" * 20)
    assert words._fitting(10) == [0, 1], "what names a row is never left out"


def test_sentences_are_wrapped_at_a_width_that_they_need_at_least() -> None:
    table = terminal_tables.Grid("name", "number:", "meaning...")
    table.add("abc", "1", "a sentence that is a good deal longer than its column")
    assert [table._width(index) for index in range(3)] == [4, 6, 24]
    short = terminal_tables.Grid("meaning...")
    short.add("abc")
    assert short._width(0) == 7
    short.add("two\nlines that are")
    assert short._width(0) == 14
    assert terminal_tables.Grid("")._width(0) == 0


def test_a_table_is_the_same_as_html_and_as_markdown() -> None:
    table = terminal_tables.Grid("a|b", "n\nms:", "what...", Text("[x]:"))
    table.add("<1>", "2", Text("three*"), "4")
    assert (
        table.html()
        == table._repr_html_()
        == (
            '<table><thead><tr><th style="text-align: left">a|b</th><th style="text-align: right">n<br>ms</th>'
            '<th style="text-align: left">what</th><th style="text-align: left">[x]:</th></tr></thead><tbody><tr>'
            '<td style="text-align: left">&lt;1&gt;</td><td style="text-align: right">2</td>'
            '<td style="text-align: left">three*</td><td style="text-align: left">4</td></tr></tbody></table>'
        )
    )
    assert table.markdown() == (
        "| a\\|b | n ms | what | \\[x\\]: |\n| --- | ---: | --- | --- |\n| \\<1\\> | 2 | three\\* | 4 |\n"
    )


def test_a_heading_is_printed_as_it_is_written_above_its_column(capsys: pytest.CaptureFixture[str]) -> None:
    table = terminal_tables.Grid("name [of it]", "number:")
    table.add("a", "1")
    table.add("b", "1,000")
    head, _, first, second = printed(capsys, table, 80)
    assert head.split() == ["name", "[of", "it]", "number"]
    assert first.rstrip().endswith("     1") and second.rstrip().endswith(" 1,000")
    assert first.startswith("  a") or first.startswith(" a")


class Screen(io.StringIO):
    """A terminal of some columns."""

    def isatty(self) -> bool:
        return True


def fitted(text: str, columns: int, item: bool = False) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((columns, 24)))
        start, hanging = (console._ITEM, 4) if item else (console._SENTENCE, 0)
        return console._fitted(text, Screen(), start, hanging=hanging).split("\n")


def test_a_line_is_broken_where_it_is_longer_than_the_terminal_and_goes_on_below_its_words() -> None:
    assert fitted("error: one two three", 20) == ["error: one two three"]
    assert fitted("error: one two three", 19) == ["error: one two", "       three"]
    assert fitted("  help: one two three", 18) == ["  help: one two", "        three"]
    assert fitted("note: one two three", 14) == ["note: one two", "      three"]
    assert fitted("one two-three four", 14) == ["one two-three", "four"]
    assert fitted("    12 | a line of a file as it is", 10) == ["    12 | a line of a file as it is"]
    assert fitted("  item that is long", 14, item=True) == ["  item that is", "      long"]
    assert fitted("an-unbreakable-word", 5) == ["an-unbreakable-word"]
    assert fitted("a\x1bb\nc", 80) == ["a\\x1bb", "c"]
    assert console._fitted("error: one two three", io.StringIO(), console._SENTENCE) == "error: one two three"


def test_a_mistake_is_a_line_with_status_two_and_a_program_that_fails_one_with_status_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cases: list[tuple[BaseException, int, str]] = [
        (_core.ScenarioError("error: wrong"), 2, "error: wrong\n"),
        (_core.RunError("too much"), 2, "error: too much\n"),
        (storage.ResultError("damaged", "mend it"), 2, "error: damaged\n  help: mend it\n"),
        (_core.ProgramError("it ended"), 1, "error: it ended\n"),
    ]
    for error, status, said in cases:
        with pytest.raises(SystemExit) as ended, console.reporting_errors():
            raise error
        assert (ended.value.code, capsys.readouterr().err) == (status, said)
    with pytest.raises(OSError, match="broken"), console.reporting_errors():
        raise OSError(5, "broken", "a-file")
    with pytest.raises(ValueError, match="ours"), console.reporting_errors():
        raise ValueError("ours")


def test_warnings_of_ours_are_notes_each_time_and_others_are_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(UserWarning, match="theirs"), console.reporting_errors():
        for _ in range(2):
            warnings.warn("damaged", storage.DamagedResultWarning, stacklevel=1)
        warnings.warn("theirs", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "note: damaged\nnote: damaged\n"


def test_what_is_printed_cannot_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    console.show("a\x1b")
    console.say("b\x1b")
    console.itemise("c\x1b")
    console.print_paths([Path("d\x1b"), Path("e")])
    console.print_json({"f": [1.5]})
    assert capsys.readouterr().out == 'a\\x1b\nb\\x1b\nc\\x1b\n  d\\x1b\n  e\n{\n  "f": [\n    1.5\n  ]\n}\n'
    with pytest.raises(ValueError, match="Out of range"):
        console.print_json(float("nan"))
    assert console.examples("a", "b") == "\b\nExamples:\n  a\n  b"
