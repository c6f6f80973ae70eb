"""Finds what was written of a function."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from dumbbell.compiled.slots import Refused


def definition(function: types.FunctionType) -> tuple[ast.FunctionDef, list[str]]:
    """The definition of a function, with the line numbers of its file, and the lines of that.

    Raises:
        Refused: There is none, or it is not what runs.
    """
    file = function.__code__.co_filename
    try:
        lines, start = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise Refused(f"the source of `{function.__qualname__}` is not to be found") from None
    tree = ast.parse(textwrap.dedent("".join(lines)))
    found = tree.body[0]
    if not isinstance(found, ast.FunctionDef) or found.decorator_list:
        raise Refused(f"`{function.__qualname__}` is not a plain function")
    ast.increment_lineno(found, start - 1)
    if Path(file).is_file() and _identity(function.__code__) not in _identities(Path(file).read_bytes(), file):
        raise Refused(f"`{function.__qualname__}` is not what its file says now; load it again")
    _mangle(found, function.__qualname__)
    return found, ["", *(["" for _ in range(start - 1)]), *(line.rstrip("\n") for line in lines)]


@lru_cache(maxsize=16)
def _identities(whole: bytes, file: str) -> Sequence[tuple[object, ...]]:
    """What the functions of a file do, by its text, which is compiled once for all of them."""
    try:
        return [_identity(code) for code in _codes(compile(whole, file, "exec", dont_inherit=True))]
    except (SyntaxError, ValueError):
        return []


def _codes(code: types.CodeType) -> Sequence[types.CodeType]:
    found = [code]
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found += _codes(const)
    return found


def _mangle(node: ast.AST, qualified: str) -> None:
    """Names that begin with two underscores are the class's own."""
    parts = qualified.split(".")
    if len(parts) < 2 or parts[-2] == "<locals>":
        return
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and inner.attr.startswith("__") and not inner.attr.endswith("__"):
            inner.attr = f"_{parts[-2].lstrip('_')}{inner.attr}"


def _identity(code: types.CodeType) -> tuple[object, ...]:
    """What code does and where it stands. Constants may be NaN, which differs from itself."""
    constants = [repr(const) for const in code.co_consts if not isinstance(const, types.CodeType)]
    return code.co_name, code.co_firstlineno, code.co_code, code.co_names, constants
