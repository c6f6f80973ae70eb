"""docs/reference/commands.md has every command and option as the command line has them."""

from __future__ import annotations

from pathlib import Path

import typer

import scripts
from dumbbell.application import app

ROOT = Path(__file__).parents[2]
commands = scripts.load("docs/site/commands.py")
PAGE = (ROOT / "docs/reference/commands.md").read_text("utf-8")


def test_the_page_is_what_the_command_line_offers() -> None:
    assert commands.reference() == PAGE, "python docs/site/commands.py > docs/reference/commands.md"


def test_it_names_every_visible_option_of_every_command() -> None:
    found = dict(commands.leaves(typer.main.get_command(app), "dumbbell"))
    assert {"dumbbell run", "dumbbell cc show", "dumbbell check conform"} <= set(found)
    for name, command in found.items():
        section = PAGE.split(f"\n## `{name}`\n")[1].split("\n## ")[0]
        for param in command.params:
            if param.param_type_name == "option" and not param.hidden:
                assert f"`{param.opts[0]}" in section or f", {param.opts[0]}" in section, (name, param.opts)
