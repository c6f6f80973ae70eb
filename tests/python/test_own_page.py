"""docs/own-algorithm.md: what it shows is what happens, and its reference is complete."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import dumbbell as db
from dumbbell import own
from load import PATIENCE_S, wait_until

PAGE = Path(__file__).parents[2] / "docs/own-algorithm.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def test_the_page_is_executed_from_its_beginning_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kinds = []
    for kind, block in BLOCK.findall(TEXT):
        named = re.match(r"# ([\w.]+)\n", block)
        if kind in ("python", "toml") and named is not None:
            (tmp_path / named[1]).write_text(block.removeprefix(named[0]), encoding="utf-8")
        elif kind == "python":
            done = subprocess.run(
                [sys.executable, "-"], input=block, text=True, capture_output=True, cwd=tmp_path, check=False
            )
            assert done.returncode == 0, done.stderr
        else:
            for command, shown in commands(block):
                check(command, shown, tmp_path)
        kinds.append(kind)
    assert kinds.count("console") >= 4
    assert {"python", "toml", "console"} == set(kinds)
    assert (tmp_path / "queue.png").exists()


def commands(block: str) -> list[tuple[str, list[str]]]:
    """The commands of a block, each with the lines that are shown below it."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(part.splitlines()[0], part.splitlines()[1:]) for part in parts]


def check(command: str, shown: list[str], folder: Path) -> None:
    """Runs a command and finds what is shown in what it says, line by line."""
    words = shlex.split(command)
    assert words[0] == "dumbbell"
    arguments = [sys.executable, "-m", "dumbbell", *words[1:]]
    if words[1] == "watch":
        said = watched(arguments, folder)
    else:
        done = subprocess.run(arguments, text=True, capture_output=True, cwd=folder, check=False)
        said = done.stdout + done.stderr
        assert done.returncode == (2 if shown and shown[0].startswith("error") else 0), said
    plain = re.sub(r"[ \t]+", " ", said)
    for line in shown:
        assert re.sub(r"[ \t]+", " ", line.rstrip()) in plain, said


def watched(arguments: list[str], folder: Path) -> str:
    log = folder / "log.txt"
    with log.open("w") as file, subprocess.Popen(arguments, stdout=file, cwd=folder) as process:
        wait_until(lambda: "is drawn" in log.read_text(encoding="utf-8"))
        process.send_signal(2)
        assert process.wait(PATIENCE_S) == 130
    return log.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "found"), [("conn", db.Conn), ("ack", db.Ack), ("loss", db.Loss)])
def test_the_reference_has_every_attribute_and_no_other(name: str, found: type) -> None:
    section = TEXT[TEXT.index(f"| attribute of `{name}` |") :].partition("\n\n")[0]
    rows = [row.split("|")[1] for row in section.splitlines()[2:]]
    listed = {word.partition("(")[0] for row in rows for word in re.findall(r"`([^`]+)`", row)}
    assert listed == {attribute for attribute in dir(found) if not attribute.startswith("_")}


def test_the_reference_has_every_hook_with_its_arguments() -> None:
    section = TEXT[TEXT.index("## Reference: hooks") : TEXT.index("## Reference: the connection")]
    listed = set(re.findall(r"^\| `(\w+\([^)]*\))`", section, re.MULTILINE))
    assert listed == {f"{hook}({', '.join(arguments)})" for hook, arguments in own.HOOKS.items()}
