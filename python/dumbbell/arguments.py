"""Arguments of public functions that are of another type than they may be: errors that name them.

Each function returns what it was given in the one type that the caller needs, or raises a ``TypeError`` with the name
of the argument, its value, and what would be right.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from dumbbell.printable import one_line

MAX_SHOWN = 60
"""Characters of a value that a message shows."""


def refuse(name: str, value: object, allowed: str) -> NoReturn:
    """Raises the error of an argument that must be something else."""
    shown = one_line(repr(value))
    shown = shown if len(shown) <= MAX_SHOWN else f"{shown[:MAX_SHOWN]}..."
    raise TypeError(f"{name}={shown}: must be {allowed}")


def settings(name: str, value: Mapping[str, Any] | None, example: str) -> dict[str, Any]:
    """Values by their names; none for ``None``."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        refuse(name, value, f"a dictionary of names and values, such as {example}")
    return dict(value)


def text(name: str, value: str, example: str) -> str:
    """A text."""
    if not isinstance(value, str):
        refuse(name, value, f"a text, such as {example}")
    return value


def texts(name: str, value: str | Iterable[str], example: str) -> list[str]:
    """One text, or several."""
    if isinstance(value, str):
        return [value]
    given = list(value) if isinstance(value, Iterable) and not isinstance(value, Mapping) else [value]
    if not isinstance(value, Iterable) or not all(isinstance(one, str) for one in given):
        refuse(name, value, f"a text or a list of texts, such as {example}")
    return [str(one) for one in given]


def several(name: str, value: str | Iterable[str], example: str) -> list[str]:
    """One text, or several, of which all are tried.

    Raises:
        ValueError: There is none.
    """
    given = texts(name, value, example)
    if not given:
        raise ValueError(f"{name}=[]: there is nothing to try; leave it out, or name one at least, such as {example}")
    return given


def whole(name: str, value: int, example: int) -> int:
    """A whole number, also one of NumPy."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        refuse(name, value, f"a whole number, such as {example}")
    return value.__index__()


def count(name: str, value: int, example: int) -> int:
    """A whole number of things of which there must be one at least.

    Raises:
        ValueError: It is less than one.
    """
    read = whole(name, value, example)
    if read < 1:
        raise ValueError(f"{name}={read}: must be 1 or more")
    return read


def number(name: str, value: float, example: float) -> float:
    """A number, also one of NumPy."""
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        refuse(name, value, f"a number, such as {example}")
    return float(value)


def path(name: str, value: str | os.PathLike[str], what: str) -> Path:
    """A path of something."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        refuse(name, value, f"the path of {what}, a text or a Path")
    return Path(value)
