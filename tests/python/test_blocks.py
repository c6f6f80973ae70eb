"""Commands and code of the README and of the how-to pages work as they are written, in an empty directory."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from conftest import SWEEP, Cli
from dumbbell.application import app

ROOT = Path(__file__).parents[2]
HOW_TO = [ROOT / "README.md", *(page for page in (ROOT / "docs").rglob("*.md") if "history" not in page.parts)]
# Pages whose blocks run here, with the files that a reader has, and options that make a command short.
RUN: dict[str, dict[str, str]] = {
    "README.md": {},
    "docs/README.md": {},
    "docs/cite.md": {"bbr-vs-cubic.toml": (ROOT / "examples/bbr-vs-cubic.toml").read_text("utf-8")},
    "docs/advise.md": {"my.csv": "time_s,rate_mbps\n0,10\n2,4\n4,12\n6,8\n"},
    "docs/sweeps.md": {"sweep.toml": SWEEP},
    "docs/suites.md": {},
    "docs/reference/statistics.md": {},
    "docs/howto/figure.md": {},
    "docs/howto/link.md": {},
    "docs/howto/lecture.md": {},
}
SHORT = {
    "advise": "--repeat 2 --duration 3s",
    "animate": "--seconds 1 --fps 4",
    "compare": "--duration 3s",
    "suite": "--quick",
}
# What a page names and this test does not run.
ELSEWHERE = {
    "make": "the tests of the build",
    "pip": "needs an index",
    "dask": "waits for ever",
    "--on linux": "test_linux.py",
    "--cluster": "test_cluster.py",
    "Client": "test_cluster.py",
    "tmrg": "takes a minute",
    "aqm": "test_suites.py",
    "my.up": "the same as the command before, with other settings",
    "conform": "test_check.py",
}
_FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"^ {4}((?:\.venv/bin/)?dumbbell (?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)
_INLINE = re.compile(r"(?<!\\)`((?:\.venv/bin/)?dumbbell [^`\n]+)`")


def commands(text: str) -> Iterator[list[str]]:
    """The lines of consoles, with what is continued on the next line, as words."""
    for line in re.findall(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)$", text, re.MULTILINE):
        yield shlex.split(line.replace("\\\n", " "), comments=True)


@cache
def root() -> Any:
    return typer.main.get_command(app)


def parsed(words: list[str]) -> None:
    """Looks whether a command and its options exist; what they are set to is not looked at."""
    command = root()
    context = command.make_context("dumbbell", [], resilient_parsing=True)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
        context = command.make_context(command.name, [], parent=context, resilient_parsing=True)
    assert not hasattr(command, "commands") or not words or words[0].startswith("-"), words
    context.resilient_parsing = False  # which leaves unknown options out
    command.make_parser(context).parse_args(words)


def named(page: Path) -> Iterator[list[str]]:
    """All commands of a page, in consoles, indented and in sentences."""
    text = page.read_text("utf-8")
    blocks = "\n".join(body for _, language, body in _FENCED.findall(text) if language == "console")
    prose = _FENCED.sub("", text)
    inline = (shlex.split(found.replace("\\\n", " "), comments=True) for found in _INDENTED.findall(prose))
    sentences = (shlex.split(found) if found.count("'") % 2 == 0 else found.split() for found in _INLINE.findall(prose))
    for words in [*commands(blocks), *inline, *sentences]:
        if words and words[0].endswith("dumbbell"):
            yield words[1:]


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_that_a_page_names_exist_with_their_options(page: Path) -> None:
    wrong = []
    for words in named(page):
        try:
            parsed([word for word in words if word not in {"...", "…", "|"}])
        except Exception as error:
            wrong.append(f"{' '.join(words)}: {error}")
    assert wrong == []


def test_a_command_that_does_not_exist_is_noticed() -> None:
    for words in (["run", "a.toml", "--plots"], ["runs", "a.toml"], ["check", "confirm", "bbr"]):
        with pytest.raises(Exception, match=r"No such|plots|runs|confirm"):
            parsed(words)


def elsewhere(text: str) -> bool:
    return any(re.search(rf"(?<![\w-]){re.escape(word)}(?!\w)", text) for word in ELSEWHERE)


@pytest.mark.parametrize("page", RUN)
def test_the_blocks_of_a_page_run_in_an_empty_directory(
    page: str, dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in RUN[page].items():
        Path(name).write_text(content, "utf-8")
    ran = 0
    for _, language, body in _FENCED.findall((ROOT / page).read_text("utf-8")):
        file = re.match(r"# ([\w-]+\.(?:toml|csv))\n", body)
        if language in {"toml", "csv"} and file:
            Path(file[1]).write_text(body, "utf-8")
        elif language == "python" and not elsewhere(body):
            exec(compile(body, page, "exec"), {})
            ran += 1
        for words in commands(body) if language == "console" else ():
            line = " ".join(words)
            if elsewhere(line):
                continue
            if words[0] == "cat":
                assert Path(words[1]).read_text("utf-8")
                continue
            done = dumbbell(*words[1:], *shlex.split(SHORT.get(words[1], "") if "--list" not in words else ""))
            assert done.status == 0, f"{line}\n{done.err}"
            ran += 1
    assert ran


def test_a_run_is_cited_by_the_hash_that_the_page_shows(dumbbell: Cli, tmp_path: Path) -> None:
    assert dumbbell("run", ROOT / "examples/bbr-vs-cubic.toml", "--out", tmp_path / "result").status == 0
    assert dumbbell("run", tmp_path / "result/scenario.toml", "--out", tmp_path / "again").status == 0
    first, again = (json.loads((tmp_path / name / "meta.json").read_text("utf-8")) for name in ("result", "again"))
    assert first["content_hash"] == again["content_hash"]
    assert first["content_hash"] in (ROOT / "docs/cite.md").read_text("utf-8")
    assert f"version: {first['version']}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_first_page_says_truly_what_the_default_queue_does(dumbbell: Cli) -> None:
    answers = []
    for queue in ("droptail", "fq_codel"):
        done = dumbbell("run", ROOT / "examples/bbr-vs-cubic.toml", "--set", f"path.queue={queue}", "--json")
        answers += [f"{flow['goodput_mbps']:.1f}" for flow in json.loads(done.out)["flows"]]
    bbr, cubic, bbr_apart, cubic_apart = answers
    sentence = (
        f"BBR gets {bbr} and CUBIC {cubic} Mbit/s behind drop-tail, {bbr_apart} and {cubic_apart} behind `fq_codel`"
    )
    assert sentence in (ROOT / "docs/README.md").read_text("utf-8")
