"""From the content of a page to its file: HTML or Markdown, one file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dumbbell import storage
from dumbbell.pages.content import Content
from dumbbell.printable import in_markdown, printable

if TYPE_CHECKING:
    from jinja2 import Environment, Template

Format = Literal["html", "md"]
FORMATS: tuple[Format, ...] = ("html", "md")
NAME = "report"


def render(content: Content, format: Format) -> str:  # noqa: A002 - the word for it
    """The page as a text."""
    return printable(template(f"report.{format}").render(content=content))


def template(name: str) -> Template:
    """A template of a page."""
    return _environment().get_template(name)


def write(content: Content, folder: Path, kind: storage.Kind, formats: Sequence[Format] = FORMATS) -> list[Path]:
    """Writes the page into the folder of a result, whose marker then lists it; returns the paths.

    Raises:
        OutputError: It cannot be written, or somebody else's file is in its place.
    """
    texts = {f"{NAME}.{chosen}": render(content, chosen) for chosen in formats}
    with storage.adding(folder, kind, texts):
        for name, text in texts.items():
            storage.write_file(folder / name, text.encode())
    return [folder / name for name in texts]


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dumbbell.pages", "templates"),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.filters["fenced"] = _fenced
    environment.filters["inline"] = in_markdown
    return environment


def _fenced(text: str) -> str:
    """A block of code in Markdown, whose fence is longer than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
