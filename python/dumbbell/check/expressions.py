"""Arithmetic over the columns of a time series: ``cc_bw_mbps * cc_min_rtt_ms / 8``, ``lost_total > 0``."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Container, Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np

from dumbbell.inference import FloatArray

CONSTANTS = ("mss", "packet", "inf")
"""Bytes of payload and of IP in a full packet, and what is not bounded."""

DURATION = "duration"
"""The seconds of the window that an assertion looks at."""

FLOW = "flow"
"""``flow.NAME`` is a column of the table of flows, over the whole run."""

TEXTS = ("mode", "ca_state", "limited_by")
"""Columns of the series that are texts."""

_ARITHMETIC: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
_COMPARISONS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "abs": (1, np.abs),
    "cbrt": (1, np.cbrt),
    "min": (2, np.minimum),
    "max": (2, np.maximum),
    "fill": (2, lambda values, other: np.where(np.isnan(values), other, values)),
}
"""``fill(x, y)`` is ``y`` where ``x`` has no value."""


class ExpressionError(ValueError):
    """A text is no expression."""


class Expression:
    """An expression that has been read."""

    functions: Mapping[str, tuple[int, Callable[..., Any]]] = _FUNCTIONS
    """How many values each takes, and what it makes of them."""
    owners: Container[str] = (FLOW,)
    """What may stand before a dot."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError):
            raise ExpressionError(f"this is no expression; {self._allowed}") from None
        self._check(tree)
        self._tree = tree

    @property
    def names(self) -> list[str]:
        """The columns that it reads, those of the table of flows as ``flow.NAME``."""
        return list(dict.fromkeys(_names(self._tree)))

    @property
    def is_condition(self) -> bool:
        """Whether it is true or false."""
        return bool(np.asarray(self._tried()).dtype == bool)

    @property
    def is_number(self) -> bool:
        """Whether it has a number as its value."""
        try:
            np.asarray(self._tried(), dtype=float)
        except (TypeError, ValueError):
            return False
        return True

    def _tried(self) -> Any:
        """Its value for some row; ``None`` where it cannot have any."""
        values = {name: np.array(["text"], dtype=object) if name in TEXTS else np.ones(1) for name in self.names}
        try:
            return self.evaluate(values)
        except TypeError:
            return "none"

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Its value, from those of its names."""
        with np.errstate(all="ignore"):
            return self._evaluated(self._tree, values)

    def at(self, values: Mapping[str, Any], length: int) -> FloatArray:
        """Its value in each of ``length`` rows."""
        return np.broadcast_to(np.asarray(self.evaluate(values), dtype=float), (length,))

    @property
    def _allowed(self) -> str:
        letters = "xyz"
        calls = [f"{name}({', '.join(letters[:count])})" for name, (count, _) in self.functions.items()]
        return f"it may have columns, numbers, + - * / ** ( ), comparisons, and, or, {', '.join(calls)}"

    def _check(self, node: ast.expr) -> None:
        match node:
            case ast.Name():
                return
            case ast.Constant(value=int() | float() | str()) if not isinstance(node.value, bool):
                return
            case ast.Attribute(value=ast.Name(id=owner)) if owner in self.owners:
                return
            case ast.BinOp(op=op) if type(op) in _ARITHMETIC:
                parts = [node.left, node.right]
            case ast.UnaryOp(op=ast.USub()):
                parts = [node.operand]
            case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
                parts = [node.left, *node.comparators]
            case ast.BoolOp():
                parts = node.values
            case ast.Call(func=ast.Name(id=name), keywords=[]) if name in self.functions:
                if len(node.args) != self.functions[name][0]:
                    raise ExpressionError(f"`{name}` takes {self.functions[name][0]} values, not {len(node.args)}")
                parts = node.args
            case _:
                raise ExpressionError(f"`{ast.unparse(node)}` is not allowed; {self._allowed}")
        for part in parts:
            self._check(part)

    def _evaluated(self, node: ast.expr, values: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return values[name]
            case ast.Attribute(value=ast.Name(id=owner)):
                return values[f"{owner}.{node.attr}"]
            case ast.BinOp():
                return _ARITHMETIC[type(node.op)](
                    self._evaluated(node.left, values), self._evaluated(node.right, values)
                )
            case ast.UnaryOp():
                return -self._evaluated(node.operand, values)
            case ast.Compare():
                return _COMPARISONS[type(node.ops[0])](
                    self._evaluated(node.left, values), self._evaluated(node.comparators[0], values)
                )
            case ast.BoolOp():
                join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
                return reduce(join, (self._evaluated(part, values) for part in node.values))
            case ast.Call(func=ast.Name(id=name)):
                return self.functions[name][1](*(self._evaluated(argument, values) for argument in node.args))
        raise AssertionError(f"{ast.dump(node)} was not refused")


def _names(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Attribute(value=ast.Name(id=owner)):
            yield f"{owner}.{node.attr}"
        case ast.Name(id=name):
            yield name
        case ast.Call():
            for argument in node.args:
                yield from _names(argument)
        case _:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    yield from _names(child)
