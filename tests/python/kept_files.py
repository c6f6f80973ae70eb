"""What files that a command wrote say, as lines of text in which long rows of numbers are short."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from described import numbers

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
PLACES = {"d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "points", "width", "height"}
"""Attributes of drawings that are numbers."""
MOST = 12
"""Numbers of an attribute, or texts of a column, that are kept as they are."""


def told(path: Path) -> list[str]:
    """What a file says; of formats that this does not know, nothing."""
    match path.suffix:
        case ".html":
            return Page(path.read_text("utf-8")).lines
        case ".csv":
            return list(table(path.read_text("utf-8")))
        case ".json":
            return list(flat(json.loads(path.read_text("utf-8"))))
        case ".sqlog":
            records = [json.loads(record) for record in path.read_text("utf-8").split("\x1e") if record.strip()]
            return list(flat(records))
        case ".md" | ".txt":
            return path.read_text("utf-8").splitlines()
    return []


def table(text: str) -> Iterator[str]:
    """The columns of a table."""
    head, *rows = csv.reader(io.StringIO(text))
    for name, column in zip(head, zip(*rows, strict=True), strict=False):
        yield f"{name}: {row(column)}"


def flat(value: Any, name: str = "") -> Iterator[str]:
    """The leaves of an object by their way; those of equal ways in lists are one row."""
    found: dict[str, list[Any]] = {}

    def walk(value: Any, way: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(inner, f"{way}.{key}" if way else key)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, f"{way}[]")
        else:
            found.setdefault(way, []).append(value)

    walk(value, name)
    yield from (f"{way}: {row(values)}" for way, values in found.items())


def row(values: Any) -> str:
    """Numbers in short, and the first texts."""
    figures = [float(value) for value in values if is_number(value)]
    texts = list(dict.fromkeys(str(value) for value in values if not is_number(value)))
    words = " | ".join(texts[:MOST]) + (f" and {len(texts) - MOST} more" if len(texts) > MOST else "")
    return f"{numbers(figures) if figures else ''} {words}".strip()


def is_number(value: Any) -> bool:
    """Whether something is a number or the text of one."""
    return (isinstance(value, int | float) and not isinstance(value, bool)) or (
        isinstance(value, str) and NUMBER.fullmatch(value) is not None
    )


class Page(html.parser.HTMLParser):
    """The texts of a page in the order of reading, the shapes of its drawings, and the data of its charts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._inside.append("data" if tag == "script" and "json" in given.get("type", "") else tag)
        shapes = [f"{name} {numbers(NUMBER.findall(value))}" for name, value in given.items() if name in PLACES]
        said = [f"{name} {value}" for name, value in given.items() if name in ("fill", "stroke", "class", "href", "id")]
        if shapes or any(word.startswith(("href", "id")) for word in said):
            self.lines.append(f"<{tag} {', '.join([*said, *shapes])}>")
        if tag in ("meta", "link", "br", "img", "input", "hr", "col"):
            self._inside.pop()

    def handle_endtag(self, tag: str) -> None:
        while self._inside and self._inside.pop() not in (tag, "data"):
            pass

    def handle_data(self, data: str) -> None:
        where = self._inside[-1] if self._inside else ""
        if where == "data":
            self.lines.extend(flat(json.loads(data), "data"))
        elif where not in ("script", "style") and data.strip():
            self.lines.append(" ".join(data.split()))
