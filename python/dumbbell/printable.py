r"""Text from files, made safe to print.

Labels, keys and names of files come from whoever wrote the experiment. What a terminal would obey in them (escape
sequences, changes of writing direction) is shown as an escape, ``\x1b``.
"""

from __future__ import annotations

import hashlib
import re

_UNPRINTABLE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline
    "\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, direction, line ends
    "\ud800-\udfff"  # halves of characters, from names of files that are not UTF-8
    "\U000e0000-\U000e007f"  # tags
    "]"
)


def printable(text: str) -> str:
    """``text`` with every character that a terminal would obey, or not show, as an escape; lines stay lines."""
    return _UNPRINTABLE.sub(_escape, text)


def one_line(text: str) -> str:
    """``text`` as :func:`printable` has it, in one line, for a cell of a table."""
    return printable(text).replace("\n", r"\n").replace("\t", r"\t")


def in_markdown(text: str) -> str:
    """``text`` as :func:`one_line` has it, as plain words of a line of Markdown."""
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", one_line(text))


LONGEST_NAME = 120
"""Characters of a name of a file that is made of words."""


def file_name(words: str) -> str:
    """``words`` as the name of a file: letters, digits, dots and hyphens; different words have different names."""
    plain = re.sub(r"[^\w.-]+", "-", words.replace("%", "pct")).strip("-.")
    if len(plain) <= LONGEST_NAME and re.fullmatch(r"[\w.\-=,\[\]* %]*", words):
        return plain
    digest = hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{plain[: LONGEST_NAME - 9]}-{digest}".strip("-.")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
