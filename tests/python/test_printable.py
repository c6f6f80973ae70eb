"""What somebody else wrote into a file never commands the terminal."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import dumbbell as db
from conftest import Cli
from dumbbell.printable import file_name, in_markdown, one_line, printable

EVIL = "a\x1b[31mred\x07\x9b1m\u202etxt\u2066\x7f\r[bold]:smile:"
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def document(label: str) -> dict[str, object]:
    return {
        "duration": "1s",
        "path": {"rate": "10mbit", "rtt": "40ms"},
        "flows": [{"cc": "bbr", "label": label}, {"cc": "cubic"}],
    }


def toml(label: str) -> str:
    escaped = "".join(f"\\U{ord(letter):08x}" for letter in label)
    return (
        'duration = "1s"\n[path]\nrate = "10mbit"\nrtt = "40ms"\n'
        f'[[flows]]\ncc = "bbr"\nlabel = "{escaped}"\n[[flows]]\ncc = "cubic"\n'
    )


def test_every_character_that_a_terminal_obeys_becomes_an_escape() -> None:
    for code in [*range(0x20), *range(0x7F, 0xA0), 0x061C, *range(0x200B, 0x2010), *range(0x2028, 0x202F), 0xFEFF]:
        letter = chr(code)
        if letter in "\n\t":
            assert printable(letter) == letter
        else:
            assert printable(f"x{letter}y") == f"x\\{'x' if code < 256 else 'u'}{code:0{2 if code < 256 else 4}x}y"
    assert one_line("a\nb\tc") == r"a\nb\tc"
    assert printable("40 ms ± 3 é 漢 → `x`") == "40 ms ± 3 é 漢 → `x`"


def test_text_that_is_no_unicode_can_be_printed() -> None:
    printable(os.fsdecode(b"\xff.toml")).encode()


@pytest.mark.parametrize("command", ["run", "explain"])
def test_labels_are_shown_as_they_are_written(dumbbell: Cli, tmp_path: Path, command: str) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text(toml(EVIL))
    done = dumbbell(command, path)
    assert done.status == 0
    assert not COMMANDS.search(done.out + done.err)
    assert r"a\x1b[31mred\x07\x9b1m" in done.out


def test_markup_and_names_of_emoji_are_text(dumbbell: Cli, tmp_path: Path) -> None:
    path = tmp_path / "[bold]x[red].toml"
    path.write_text(toml("[red]:smile:[/]\\") + '[sweep]\n"flows[0].label" = ["[red]a", "[/b]:smile:"]\n')
    done = dumbbell("run", path)
    assert done.status == 0
    for text in ("[bold]x[red]", "[red]a", "[/b]:smile:"):
        assert text in done.out
    assert "[red]:smile:[/]\\" in dumbbell("run", path, "--set", 'sweep={ "path.loss" = ["0%"] }').out


def test_errors_quote_files_safely(dumbbell: Cli, tmp_path: Path) -> None:
    for name, text in (
        ("key", '"d\\u001b[31m\\u202e" = 1\n'),
        ("raw", "d\x1b[31m = \x9b1m\n"),
        ("value", 'duration = "\\u001b]0;title\\u0007"\n'),
        ("name\x1b[31m", "duration = 1\n"),
    ):
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        done = dumbbell("run", path)
        assert done.status == 2
        assert done.err and not COMMANDS.search(done.out + done.err)
        with pytest.raises(db.ScenarioError) as error:
            db.run(path)
        assert not COMMANDS.search(str(error.value))


def test_results_and_options_are_quoted_safely(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    evil = tmp_path / "out\x1b[31m"
    for arguments in (
        ("plot", evil), ("run", experiment, "--out", evil), ("run", experiment, "--\x1b[31m"), ("\x1b[31m",),
        ("run", experiment, "--set", "\x1b[31m"), ("cc", "show", "\x1b[31m"), ("reproduce", "\x1b[31m"),
        ("plot", evil, "--series", "\x1b[31m"),
    ):  # fmt: skip
        done = dumbbell(*arguments)
        assert "\x1b[31m" not in done.out + done.err
        assert "31m" in done.out + done.err


def test_a_table_of_a_notebook_is_printed_safely() -> None:
    result = db.run(document(EVIL))
    assert not COMMANDS.search(repr(result.flows))
    assert "\\x1b[31m" in repr(result.flows)


def test_a_name_that_is_no_unicode_is_refused_in_words(dumbbell: Cli, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.toml")
    path.write_text(toml("x"))
    done = dumbbell("run", path)
    assert done.status == 2
    assert "not Unicode text" in done.err
    assert dumbbell("run", tmp_path / "x.toml", "--set", os.fsdecode(b"a=\xff")).status == 2


def test_labels_are_drawn_as_they_are_written(tmp_path: Path) -> None:
    result = db.run(document("$\\frac{$ \x1b[31m"))
    for picture in result.plot.suitable().values():
        picture.encoded("png")
        assert b"\x1b" not in picture.encoded("svg")
    (legend,) = result.plot.overview().legends
    assert legend.get_texts()[0].get_text() == "\\$\\frac{\\$ \\x1b[31m (bbr)"


def test_words_become_the_name_of_a_file_and_different_words_different_names() -> None:
    for words, name in (
        ("path.loss=1%, cc=bbr", "path.loss-1pct-cc-bbr"), ("a b", "a-b"), ("...a..", "a"), ("x" * 120, "x" * 120),
    ):  # fmt: skip
        assert file_name(words) == name
    long, other = file_name("x" * 121), file_name("x" * 122)
    assert long != other and len(long) == len(other) == 120
    assert long.startswith("x" * 111 + "-")
    slash = file_name("a/b")
    assert slash.startswith("a-b-") and len(slash) == 12 and slash != file_name("a:b")
    assert file_name("/") != file_name(":")
    assert not file_name("/").startswith("-")


def test_characters_are_escaped_by_their_width() -> None:
    assert printable("a\x7f\u200b\U000e0001b\tc\nd") == "a\\x7f\\u200b\\U000e0001b\tc\nd"
    assert one_line("a\tb\nc") == "a\\tb\\nc"
    assert in_markdown("a|*b*_[c]<d>#`e`\\{f}\n") == "a\\|\\*b\\*\\_\\[c\\]\\<d\\>\\#\\`e\\`\\\\\\{f\\}\\\\n"
