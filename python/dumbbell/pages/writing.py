"""From the content of a page to its files: HTML, which needs nothing else, or Markdown with pictures beside it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dumbbell import storage
from dumbbell.pages.content import Content, file_of
from dumbbell.printable import in_markdown, printable

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from markupsafe import Markup

Format = Literal["html", "md"]
FORMATS: tuple[Format, ...] = ("html", "md")
NAME = "report"


def render(content: Content, format: Format) -> str:  # noqa: A002 - the word for it
    """The page as a text."""
    return printable(template(f"report.{format}").render(content=content, assets=_assets()))


def template(name: str) -> Template:
    """A template of a page."""
    return _environment().get_template(name)


def write(content: Content, folder: Path, kind: storage.Kind, formats: Sequence[Format] = FORMATS) -> list[Path]:
    """Writes the page into the folder of a result, whose marker then lists it; returns the paths.

    Markdown has its pictures beside it. Those that are there and show the same, as `dumbbell plot` draws them, stay as
    they are; of another question, or another version, they are replaced.

    Raises:
        OutputError: It cannot be written, or somebody else's file is in its place.
    """
    pictures = content.pictures if "md" in formats else {}
    # Before the page, whose small images are laid out anew.
    drawn = {file_of(name): picture.encoded("png") for name, picture in pictures.items()}
    texts = {f"{NAME}.{chosen}": render(content, chosen) for chosen in formats}
    new = {name: png for name, png in drawn.items() if not _holds(folder / name, png)}
    for name in new:
        if storage.is_altered(folder, name):
            raise storage.OutputError(
                f"{folder / name} was changed since it was drawn; move it, so that the page can have its picture there"
            )
    with storage.adding(folder, kind, [*texts, *new]):
        for name, png in new.items():
            storage.write_file(folder / name, png)
        for name, text in texts.items():
            storage.write_file(folder / name, text.encode())
    return [folder / name for name in (*texts, *new)]


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


@dataclass(frozen=True)
class Assets:
    """What a page of charts brings along, so that it needs no network."""

    library: str
    library_style: str
    own: str

    @property
    def policy(self) -> str:
        """A content security policy: these scripts alone run, and nothing is loaded."""
        sums = " ".join(f"'sha256-{_sum(script)}'" for script in (self.library, self.own))
        return f"default-src 'none'; script-src {sums}; style-src 'unsafe-inline'; img-src data:"


def _sum(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


@cache
def _assets() -> Assets:
    here = resources.files("dumbbell.pages")
    library, style, own = (
        (here / name).read_text("utf-8")
        for name in ("uplot/uPlot.iife.min.js", "uplot/uPlot.min.css", "templates/charts.js")
    )
    return Assets(library, style, own)


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
    environment.filters["with_options"] = _with_options
    return environment


def _fenced(text: str) -> str:
    """A block of code in Markdown, whose fence is longer than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _with_options(text: str) -> Markup:
    """A sentence in HTML, whose options of commands are not broken over lines."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"(--[a-z-]+(?: \d+)?)", r"<code>\1</code>", str(escape(text))))
