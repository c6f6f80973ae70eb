"""An experiment as a file that one reads."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.experiment import toml

_PLAIN = re.compile(r"[\w-]+")
WIDTH = 110


def written(document: Mapping[str, Any], said: Sequence[str]) -> str:
    """The file of an experiment, with what is said of it above."""
    lines = [f"# {line}" for line in said]
    lines.append("")
    lines += [_pair(key, value) for key, value in document.items() if not _is_table(value)]
    for key, value in document.items():
        if not _is_table(value):
            continue
        for table in value if isinstance(value, list) else [value]:
            lines += ["", f"[[{_key(key)}]]" if isinstance(value, list) else f"[{_key(key)}]"]
            lines += [_pair(name, one) for name, one in table.items()]
    return "\n".join(lines) + "\n"


def _is_table(value: Any) -> bool:
    """Whether something stands below a line of its own."""
    return isinstance(value, Mapping) or (isinstance(value, list) and all(isinstance(one, Mapping) for one in value))


def _pair(key: str, value: Any) -> str:
    line = f"{_key(key)} = {_inline(value)}"
    if len(line) <= WIDTH or not isinstance(value, list):
        return line
    return "\n".join([f"{_key(key)} = [", *(f"    {_inline(one)}," for one in value), "]"])


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {_inline(one)}" for name, one in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return toml(value)


def _key(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else toml(key)
