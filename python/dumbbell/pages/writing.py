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

    Markdown has its pictures beside it: those that `dumbbell plot` has drawn there already, and the others, which are
    drawn.

    Raises:
        OutputError: It cannot be written, or somebody else's file is in its place.
    """
    texts = {f"{NAME}.{chosen}": render(content, chosen) for chosen in formats}
    pictures = {file_of(name): picture for name, picture in content.pictures.items()} if "md" in formats else {}
    marker = storage.read_marker(folder)
    present = {name for name in (marker.files if marker else {}) if (folder / name).exists()}
    missing = {name: picture for name, picture in pictures.items() if name not in present}
    with storage.adding(folder, kind, [*texts, *missing]):
        for name, picture in missing.items():
            storage.write_file(folder / name, picture.encoded("png"))
        for name, text in texts.items():
            storage.write_file(folder / name, text.encode())
    return [folder / name for name in (*texts, *missing)]


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
