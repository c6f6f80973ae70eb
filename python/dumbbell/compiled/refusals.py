"""What numba says of what it cannot compile, in a line or two."""

from __future__ import annotations

import re
from pathlib import Path

from dumbbell.compiled.translate import Translation

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PLACE = re.compile(r"(?:typing of [\w ]+ at |File \")([^\n\"]+?)\"?(?:, line | \()(\d+)")
_OPERATIONS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "power": "**", "power_constant": "**",
    "lshift": "<<", "rshift": ">>", "bit_and": "&", "bit_or": "|", "bit_xor": "^", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "eq": "==", "_eq": "==", "max2": "max", "min2": "min", "neg": "-", "invert": "~", "absolute": "abs",
    "whole": "int", "fraction": "float", "rounded": "round", "truth": "bool", "item": "[]", "event_is": "==",
    "cwnd_as_float": "cwnd",
}  # fmt: skip
_KINDS = (
    (r"OptionalType\((\w+)\)|Optional\((\w+)\)", r"\1\2 or None"), (r"Literal\[(\w+)\]\([^)]*\)", r"\1"),
    (r"\bfloat64\b", "float"), (r"\b(int64|int|uint64)\b", "whole number"), (r"\bbool(ean)?\b", "truth value"),
    (r"\bnone\b", "None"), (r"\bEvent\(.*?\)", "event"), (r"\bunicode_type\b|\bstr\b", "text"),
)  # fmt: skip


def said(error: Exception, made: Translation) -> str:
    """What numba says, in a line or two, and where."""
    text = _COLOURS.sub("", str(error))
    while "Record(" in text:
        text = _without(text, "Record(", "object")
    specific = re.findall(r"raised a specific error:\s*\n\s*(?:Typing|Internal)Error: (.+)", text)
    unified = re.search(r"Cannot unify (.+?) and (.+?) for '([\w.]+)'", text)
    missing = re.findall(r"Function\(<function (\w+)[^>]*>\) found for.*?>>> \w+\((.*?)\)\n", text, re.DOTALL)
    lines_said = [line for line in text.splitlines() if line.strip() and not line.startswith(("Failed in", "During"))]
    if specific and not specific[-1].startswith("Failed in"):
        what = specific[-1]
    elif missing:
        name, arguments = missing[-1]
        name = name.removeprefix("set_").removeprefix("own_")
        kinds = [kind for kind in map(_kind, _split(arguments)) if kind not in ("object", "Conn")]
        if name not in ("neg", "item", "truth", "event_is"):
            kinds = kinds[: -1 if kinds[-1:] == ["whole number"] else None]
        what = f"there is no `{_OPERATIONS.get(name, name)}` for {' and '.join(kinds) or 'this'}"
    elif unified:
        what = f"`{unified[3].partition('.')[0]}` is {_kind(unified[1])} here and {_kind(unified[2])} there"
    else:
        what = lines_said[0].strip() if lines_said else type(error).__name__
    lines = {(Path(site.file).name, site.line): site for site in made.sites if site.file}
    places = [lines.get((Path(file).name, int(line))) for file, line in _PLACE.findall(text)]
    where = next((f"line {site.line}, `{site.text}`: " for site in places if site is not None), "")
    return f"{where}numba says: {what}"


def _without(text: str, start: str, word: str) -> str:
    """The text with what begins so, up to its closing parenthesis, as a word."""
    begin = text.index(start)
    depth = end = 0
    for letter in text[begin:]:
        end += 1
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == ")" and depth == 0:
            break
    return text[:begin] + word + text[begin + end :]


def _split(arguments: str) -> list[str]:
    """Types between commas that are in no parentheses."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _kind(numba: str) -> str:
    """A type of numba in words."""
    if numba.startswith(("Conn(", "Ack(", "Loss(")):
        return numba.partition("(")[0]
    for pattern, words in _KINDS:
        numba = re.sub(pattern, words, numba)
    return numba
