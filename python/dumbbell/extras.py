"""Packages that only parts of Dumbbell need, and the extras of the package that install them.

Running experiments, storing results and printing tables needs none of them: an installation without extras has a third
of the size. What needs one says so before it begins.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.util import find_spec
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")

_STATISTICS = ("numpy", "scipy")

PACKAGES: dict[str, tuple[str, ...]] = {
    "adversary": (*_STATISTICS, "cma"),
    "cluster": ("distributed",),
    "compiled": ("numba",),
    "gym": ("gymnasium", "onnx", "pettingzoo"),
    "pandas": ("pandas",),
    "plots": (*_STATISTICS, "jinja2", "matplotlib"),
    "statistics": _STATISTICS,
}
"""What the extras of ``pyproject.toml`` bring that is imported."""


class MissingExtraError(ImportError):
    """An extra is not installed; the message says which, and how to install it."""


def install(extra: str) -> str:
    """The command that installs an extra."""
    return f'pip install "dumbbell[{extra}]"'


def missing(extra: str) -> list[str]:
    """The packages of an extra that are not installed."""
    return [package for package in PACKAGES[extra] if find_spec(package) is None]


def need(extra: str, what: str) -> None:
    """Refuses to go on without an extra that ``what`` needs.

    Raises:
        MissingExtraError: A package of it is not installed.
    """
    if absent := missing(extra):
        *others, last = absent
        named, verb = (f"{', '.join(others)} and {last}", "are") if others else (last, "is")
        raise MissingExtraError(f"{what} needs {named}, which {verb} not installed\n  help: {install(extra)}")


def needed(extra: str, what: str) -> Callable[[Callable[_Given, _Made]], Callable[_Given, _Made]]:
    """Marks a function, such as a command, that cannot begin without an extra."""

    def marked(function: Callable[_Given, _Made]) -> Callable[_Given, _Made]:
        @functools.wraps(function)
        def checked(*args: _Given.args, **named: _Given.kwargs) -> _Made:
            need(extra, what)
            return function(*args, **named)

        return checked

    return marked
