"""Finds words of a change log outside of it. A page says what is; what changed belongs to CHANGELOG.md or docs/history.

Patterns find history, not physics: "before the first loss", "is no longer in flight" and "used to sign" pass, and so
does code.

    python docs/site/history.py [PAGE...]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "examples", "tests", "crates", "benches")
_CODE = re.compile(r"^ *```.*?^ *```|`[^`]+`|(?<=\]\()[^)\s]+|^ {4}[^\n]*$", re.DOTALL | re.MULTILINE)

NOW = "the same without `now`"
NUMBER = r"\d+(?:[.,]\d+)*"
# What finds history, and what to write. Spaces are any white space, but that of a new paragraph.
WORDS = {
    r"since then|changed since|(?:has|have) since (?:been|become)": "what it is",
    r"until now|up to now|as of now|formerly": "what it is",
    r"(?!is |are |be |was |were |been )[a-z]+ used to (?:be|have|carry|add|take|say|do|make|get|judge)": "what it does",
    r"(?:it|we|they|page|simulator|engine|endpoints?|command|dumbbell) no longer": "what it does",
    r"(?:is|are|has|have|does|do|holds?|fails?|depends?|stands?|takes?|asks?|tests|verdict|gain) now(?! and then)": NOW,
    r"(?:it|they|we|which|that|sender|receiver|simulator) now (?!and then|is )[a-z]+": NOW,
    r"(?:had|was|were) [^.|;:]{1,40}, now \d+": "the number that holds",
    r"today(?:'s)?": "the version or the date",
    r"\d+ before(?=[;)])": "the number that holds",
    r"(?<=\()(?:failed|held|depended|before \d[^)]*)(?=\))": "the verdict that holds",
    r"(?:were|was|been) (?:mended|rewritten|renamed)": "what it does",
    r"(?:earlier|older|previous|old) (?:versions? of (?:ours|dumbbell|this)|editions?|engines?|endpoints|allowance)":
        "what it is",
    r"earlier versions (?:kept|had|wrote)|first written": "what it is",
    rf"{NUMBER}(?: [a-zµ%/]+)? in place of {NUMBER}": "`A, and B without it`",
}  # fmt: skip
_PROSE = {
    re.compile(rf"(?<!\w)(?:{found})(?!\w)".replace(" ", "(?: |\n) *"), re.IGNORECASE): write
    for found, write in WORDS.items()
}
_LINES = {
    re.compile(r"^\|.*\b[Bb]efore *\|.*\b(?:now|what changed).*\|$", re.MULTILINE): "one column, of what is",
    re.compile(r"^#.*\bbefore and after$", re.MULTILINE): "a heading that says what is",
}


def findings(text: str) -> Iterator[tuple[int, str, str]]:
    """History in a page: its line, the words, and what to write in their place."""
    prose = _CODE.sub(lambda code: re.sub(r"\S", "\0", code[0]), text)
    found = [(match, write) for pattern, write in (_PROSE | _LINES).items() for match in pattern.finditer(prose)]
    for match, write in sorted(found, key=lambda one: one[0].start()):
        yield prose.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), write


def pages() -> list[Path]:
    """All pages but those of history, of which the museum's is one."""
    found = [*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))]
    others = re.compile(r"CHANGELOG\.md|docs/(?:history/|museum\.md)|.*/(?:\.venv|target)")
    return sorted(page for page in found if not others.match(page.relative_to(ROOT).as_posix()))


def main(names: list[str]) -> int:
    """Prints what is found; the exit status is 1 if anything is."""
    status = 0
    for page in map(Path, names) if names else pages():
        name = page.resolve().relative_to(ROOT)
        for line, words, write in findings(page.read_text("utf-8")):
            status = 1
            remedy = f"write {write}; what changed belongs to CHANGELOG.md or docs/history"
            print(f'{name}:{line}: "{words}" tells history: {remedy}')
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
