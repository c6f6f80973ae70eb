"""Prepares the pages of the site: they are written for the forge, and stay as they are there.

* A link out of ``docs`` leads to a page of the site that shows the file, below ``repository``; a folder is a list.
* Lists may have the indents of CommonMark, which Python-Markdown would not take for lists.
* The reference of functions and classes is ``api.md`` beside this file.
* The live page, where ``make live`` has built it, is shown on the first page.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = "docs/site/"
LIVE = ROOT / "out/live/index.html"
FRAME = """\
---
hide: [navigation, toc]
---

<iframe src="live/index.html" title="Dumbbell live" allow="clipboard-write"
  style="width: 100%; height: 48rem; max-height: 85vh; border: 1px solid currentcolor"></iframe>
<p><a href="live/index.html">The live page in a window of its own</a></p>

"""
"""What the first page begins with."""
PICTURES = {".png", ".svg", ".gif"}
LANGUAGES = {".rs": "rust", ".py": "python", ".toml": "toml", ".c": "c", ".json": "json", ".ipynb": "json"}
_FENCED = re.compile(r"^( *```.*?^ *```)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ITEM = re.compile(r"([*+-]|\d{1,9}[.)]) +(?=\S)")


def stays(path: str) -> bool:
    """Whether a path of the repository is in ``docs``, and is no program."""
    return path.startswith("docs/") and not path.startswith(HERE) and not path.endswith(".py")


def place(path: str) -> str:
    """Where the site has a path of the repository (a file or a folder, relative to its root)."""
    there = ROOT / path
    if there.is_dir():
        path = f"{path}/{'README' if (there / 'README.md').exists() else 'index'}.md"
    if stays(path):
        return path.removeprefix("docs/")
    return f"repository/{path}" if Path(path).suffix in {".md", *PICTURES} else f"repository/{path}.md"


def linked(text: str, source: str) -> Iterator[tuple[str, str, str]]:
    """Links of a page to what is in the repository: the link, the path that it names, and the anchor with its ``#``."""
    for part in _FENCED.split(text)[::2]:
        for link in _LINK.findall(part):
            path, hash_sign, anchor = link.partition("#")
            if path and not re.match(r"[a-z]+:", path):
                yield link, posixpath.normpath(posixpath.join(posixpath.dirname(source), path)), hash_sign + anchor


def relinked(text: str, source: str) -> str:
    """The page with its links led to the places of the site; ``source`` is its path in the repository."""
    folder = posixpath.dirname(place(source))
    new = {link: posixpath.relpath(place(path), folder or ".") + anchor for link, path, anchor in linked(text, source)}
    parts = _FENCED.split(text)
    parts[::2] = [_LINK.sub(lambda found: f"]({new.get(found[1], found[1])})", part) for part in parts[::2]]
    return "".join(parts)


def indented(text: str) -> str:
    """The page with each level of its lists indented by four, and an empty line where a list needs one."""
    columns: list[int] = []  # where the text of each list item begins that the line is in
    lines: list[str] = []
    fence: tuple[int, int] | None = None  # what the fence was indented by, and is
    paragraphs = False  # the item before has several
    for line in text.split("\n"):
        stripped = line.lstrip(" ")
        indent = len(line) - len(stripped)
        if not stripped:
            paragraphs = paragraphs or bool(columns)
            lines.append("")
            continue
        if fence:
            lines.append(" " * max(0, indent - fence[0] + fence[1]) + stripped)
            fence = None if stripped.startswith("```") else fence
            continue
        within = bool(columns)
        while columns and indent < columns[-1]:
            columns.pop()
        column = 4 * len(columns) + indent - (columns[-1] if columns else 0)
        item = _ITEM.match(stripped)
        if stripped.startswith("```"):
            fence = indent, column
        elif item and column < 4 * len(columns) + 4:
            lines += [""] if lines and lines[-1] and (paragraphs or not within) else []
            columns.append(indent + item.end())
            paragraphs = False
        lines.append(" " * column + stripped)
    return "\n".join(lines)


def shown(path: str) -> str:
    """A page that shows a file of the repository, or lists a folder."""
    hidden = "---\nsearch:\n  exclude: true\n---\n\n"
    there = ROOT / path
    if there.is_dir():
        files = sorted(one.name for one in there.iterdir() if one.is_file() and one.name[0] not in "._")
        return f"{hidden}# {path}\n\n" + "\n".join(f"* [{name}]({name})" for name in files) + "\n"
    text = there.read_text("utf-8")
    if there.suffix == ".md":
        return text
    return f"{hidden}# {path}\n\n````{LANGUAGES.get(there.suffix, 'text')}\n{text.rstrip()}\n````\n"


def outside(pages: list[str]) -> Iterator[str]:
    """What pages link to that is not in ``docs``, and what is linked to from there."""
    known = set(pages)
    while pages:
        source = pages.pop()
        for _, path, _ in linked(shown(source), inside(source)):
            there = ROOT / path
            one = f"{path}/README.md" if (there / "README.md").exists() else path
            if one in known or stays(one) or not there.exists():
                continue
            known.add(one)
            yield one
            if one.endswith(".md") or there.is_dir():
                pages.append(one)


def inside(path: str) -> str:
    """What the links of a page are relative to: of a folder, a page in it."""
    return f"{path}/index.md" if (ROOT / path).is_dir() else path


def written(path: str) -> bytes:
    """What the site has in the place of a page or file of the repository."""
    if Path(path).suffix in PICTURES or (stays(path) and not path.endswith(".md")):
        return (ROOT / path).read_bytes()
    return indented(relinked(shown(path), inside(path))).encode()


def prepare(into: Path, live: Path = LIVE) -> None:
    """Writes all pages and files of the site below a folder, emptied first, with the page ``live`` if there is one."""
    shutil.rmtree(into, ignore_errors=True)
    files = (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*")) if path.is_file())
    docs = list(filter(stays, files))
    for path in [*docs, *outside([path for path in docs if path.endswith(".md")])]:
        file = into / place(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(written(path))
    shutil.copy(ROOT / HERE / "api.md", into / "reference/api.md")
    for name in ["site.css", "site.js"]:
        shutil.copy(ROOT / HERE / name, into / name)
    if live.exists():
        (into / "live").mkdir()
        shutil.copy(live, into / "live/index.html")
        first = into / "README.md"
        first.write_text(FRAME + first.read_text("utf-8"), "utf-8")
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    missing = [path for path in map(place, docs) if path.endswith(".md") and f" {path}\n" not in nav]
    if missing:
        print(f"note: `nav` in mkdocs.yml does not name {', '.join(missing)}", file=sys.stderr)


if __name__ == "__main__":
    prepare(ROOT / "out/site-pages")
