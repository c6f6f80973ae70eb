"""Rewrites expressions: each operation becomes a call with the place where it stands."""

from __future__ import annotations

import ast
import builtins
import enum
import inspect
import math
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from dumbbell import _core
from dumbbell.compiled.faults import Site
from dumbbell.compiled.slots import Refused, Slot, article
from dumbbell.compiled.source import definition
from dumbbell.meant import meant

if TYPE_CHECKING:
    from dumbbell.compiled.translate import Translator

EVENTS: tuple[str, ...] = tuple(_core.machine_contract()["events"])
ATTRIBUTES = frozenset(
    name for kind in (_core.Conn, _core.Ack, _core.Loss) for name in dir(kind) if not name.startswith("_")
)

_BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "bit_and", ast.BitOr: "bit_or", ast.BitXor: "bit_xor",
}  # fmt: skip
_UNARY: Mapping[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_COMPARED: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq",
}  # fmt: skip
_FUNCTIONS: Mapping[object, str] = {
    abs: "absolute", int: "whole", float: "fraction", round: "rounded",
}  # fmt: skip
_MATH = (
    "exp", "expm1", "sinh", "cosh", "sqrt", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "atan", "tanh",
    "floor", "ceil", "isnan", "isinf", "isfinite", "fabs",
)  # fmt: skip
_WORDS: Mapping[type[ast.AST], str] = {
    ast.Try: "try", ast.With: "with", ast.Lambda: "lambda", ast.ListComp: "a new list", ast.List: "a new list",
    ast.Dict: "a dictionary", ast.Set: "a set", ast.JoinedStr: "a text", ast.FunctionDef: "a function in a function",
    ast.Delete: "del", ast.Import: "import", ast.ImportFrom: "import", ast.Global: "global", ast.Nonlocal: "nonlocal",
    ast.GeneratorExp: "a generator", ast.DictComp: "a dictionary", ast.SetComp: "a set", ast.Match: "match",
    ast.Starred: "*", ast.Slice: "a slice", ast.NamedExpr: ":=", ast.ClassDef: "class",
}  # fmt: skip
FRAME = "_db_f"
MISSING = object()


class Expressions:
    """Rewrites the expressions of one function."""

    def __init__(self, of: Translator, function: types.FunctionType, is_method: bool) -> None:
        self._of = of
        self._function = function
        self._node, self._lines = definition(function)
        arguments = self._node.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            self._refuse(self._node, "arguments with * cannot be compiled")
        self._parameters = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        self._self = self._parameters[0] if is_method and self._parameters else None
        self._locals = {
            *self._parameters,
            *(
                node.id
                for node in ast.walk(self._node)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            ),
        }
        self._assigned = set(self._parameters)
        self._temporaries = 0

    # -- places -------------------------------------------------------------------------------------------------------

    def _refuse(self, node: ast.AST, what: str) -> NoReturn:
        line = getattr(node, "lineno", self._node.lineno)
        raise Refused(f"`{self._function.__qualname__}`, line {line}: {what}")

    def _site(self, node: ast.AST, raised: str = "") -> ast.expr:
        line = getattr(node, "lineno", self._node.lineno)
        text = self._lines[line].strip() if line < len(self._lines) else ""
        file = self._function.__code__.co_filename
        return ast.Constant(self._of.site(Site(self._function.__name__, file, line, text, raised)))

    def _call(self, name: str, *arguments: ast.expr, at: ast.AST) -> ast.expr:
        made = ast.Call(ast.Name(f"_db_{name}", ast.Load()), list(arguments), [])
        return ast.copy_location(made, at)

    def _operation(self, name: str, *arguments: ast.expr, at: ast.AST) -> ast.expr:
        return self._call(name, frame(), *arguments, self._site(at), at=at)

    # -- expressions --------------------------------------------------------------------------------------------------

    def _is_self(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and self._self is not None and node.id == self._self

    def _slot(self, node: ast.AST, name: str) -> Slot:
        try:
            return self._of.slot(name)
        except Refused as refused:
            self._refuse(node, refused.message)

    def _static(self, node: ast.expr) -> object:
        """What a name means that no call can change; ``MISSING`` for others."""
        if isinstance(node, ast.Name):
            if node.id in self._locals:
                return MISSING
            closed = inspect.getclosurevars(self._function).nonlocals
            for space in (closed, self._function.__globals__, vars(builtins)):
                if node.id in space:
                    return space[node.id]
            self._refuse(node, f"there is no `{node.id}`")
        if isinstance(node, ast.Attribute):
            base = self._static(node.value)
            if base is not MISSING and isinstance(base, types.ModuleType | type):
                if hasattr(base, node.attr):
                    return getattr(base, node.attr)
                self._refuse(node, f"there is no `{ast.unparse(node)}`")
        return MISSING

    def _constant(self, node: ast.AST, value: object, name: str) -> ast.expr:
        if isinstance(value, enum.IntEnum | enum.IntFlag):
            value = int(value)
        if isinstance(value, bool) or type(value) is float or value is None:
            return ast.Constant(value)
        if type(value) is int:
            if not -(2**63) <= value < 2**63:
                self._refuse(node, f"{value} has more than 64 bits")
            return ast.Constant(value)
        if isinstance(value, tuple) and value and all(type(item) in (bool, int, float) for item in value):
            items = [float(item) for item in value] if any(type(item) is float for item in value) else list(value)
            return ast.Tuple([self._constant(node, item, name) for item in items], ast.Load())
        self._refuse(node, f"`{name}` is {article(type(value).__name__)}, which cannot be compiled")

    def _value(self, node: ast.expr) -> ast.expr:
        return ast.copy_location(self._rewritten(node), node)

    def _rewritten(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str | bytes | complex) or node.value is ...:
                self._refuse(node, f"{node.value!r} cannot be compiled; texts can be compared with an event alone")
            return self._constant(node, node.value, ast.unparse(node))
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.BinOp):
            return self._combined(node.op, self._value(node.left), node.right, node)
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return ast.UnaryOp(ast.Not(), self._test(node.operand))
            return self._operation(_UNARY[type(node.op)], self._value(node.operand), at=node)
        if isinstance(node, ast.BoolOp):
            return ast.BoolOp(node.op, [self._value(value) for value in node.values])
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.IfExp):
            return ast.IfExp(self._test(node.test), self._value(node.body), self._value(node.orelse))
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self._value(item) for item in node.elts], ast.Load())
        if isinstance(node, ast.Subscript):
            return self._operation("item", self._value(node.value), self._value(node.slice), at=node)
        self._refuse(node, f"{word(node)} cannot be compiled")

    def _test(self, node: ast.expr) -> ast.expr:
        """A truth value."""
        if isinstance(node, ast.BoolOp):
            return ast.copy_location(ast.BoolOp(node.op, [self._test(value) for value in node.values]), node)
        value = self._value(node)
        is_truth = isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
        return value if is_truth else self._call("truth", value, at=node)

    def _name(self, node: ast.Name) -> ast.expr:
        if node.id == self._self:
            self._refuse(node, "`self` cannot be handed on; hand on what is needed of it")
        if node.id not in self._locals:
            return self._constant(node, self._static(node), node.id)
        if node.id not in self._assigned:
            self._refuse(node, f"`{node.id}` may have no value here; give it one on every way")
        return ast.Name(node.id, ast.Load())

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        name = node.attr
        if self._is_self(node.value):
            return self._own(node)
        static = self._static(node)
        if static is not MISSING:
            return self._constant(node, static, ast.unparse(node))
        if name not in ATTRIBUTES:
            reason = "; ".join(filter(None, ["no connection, ACK or loss has it", meant(name, ATTRIBUTES)]))
            self._refuse(node, f"`{ast.unparse(node)}` cannot be compiled: {reason}")
        if name in ("slow_start", "cong_avoid_ai", "random"):
            self._refuse(node, f"`{ast.unparse(node)}` can only be called")
        getter = "cwnd_as_float" if name == "cwnd" and self._of.cwnd_is_float else f"get_{name}"
        return self._call(getter, self._value(node.value), at=node)

    def _own(self, node: ast.Attribute) -> ast.expr:
        """An attribute of the object."""
        name = node.attr
        if name in self._of.values:
            record = ast.Name(str(self._self), ast.Load())
            if self._slot(node, name).may_be_none:
                return self._call(f"own_{name}", record, at=node)
            return ast.Attribute(record, f"a_{name}", ast.Load())
        value = inspect.getattr_static(self._of.cls, name, MISSING)
        if value is MISSING:
            self._refuse(node, f"`self.{name}` has no value after `__init__`")
        if isinstance(value, types.FunctionType | property | staticmethod | classmethod):
            self._refuse(node, f"`self.{name}` is a method, which can only be called")
        return self._constant(node, value, f"self.{name}")

    def _combined(self, operator: ast.operator, left: ast.expr, right: ast.expr, at: ast.AST) -> ast.expr:
        if isinstance(operator, ast.Pow):
            is_constant = isinstance(right, ast.Constant) and type(right.value) is int and 0 <= right.value <= 64
            return self._operation("power_constant" if is_constant else "power", left, self._value(right), at=at)
        if type(operator) not in _BINARY:
            self._refuse(at, "@ cannot be compiled")
        return self._operation(_BINARY[type(operator)], left, self._value(right), at=at)

    def _compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) > 1 and not all(map(_is_simple, node.comparators[:-1])):
            self._refuse(node, "a chain of comparisons goes through names and numbers; write it with `and`")
        sides = [node.left, *node.comparators]
        parts = [
            self._compared(operator, left, right, node)
            for operator, left, right in zip(node.ops, sides, sides[1:], strict=False)
        ]
        return parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)

    def _compared(self, operator: ast.cmpop, left: ast.expr, right: ast.expr, at: ast.AST) -> ast.expr:
        if isinstance(operator, ast.NotEq):
            return ast.UnaryOp(ast.Not(), self._compared(ast.Eq(), left, right, at))
        if isinstance(operator, ast.NotIn):
            return ast.UnaryOp(ast.Not(), self._compared(ast.In(), left, right, at))
        if isinstance(operator, ast.Is | ast.IsNot):
            if not (isinstance(right, ast.Constant) and (right.value is None)):
                self._refuse(at, "`is` can be compiled with None alone; compare with ==")
            return ast.Compare(self._value(left), [operator], [ast.Constant(None)])
        if isinstance(operator, ast.In):
            if not (isinstance(right, ast.Tuple | ast.List | ast.Set) and right.elts and _is_simple(left)):
                self._refuse(at, "`in` can be compiled with a name before it and a tuple behind it")
            found = [self._compared(ast.Eq(), left, item, at) for item in right.elts]
            return found[0] if len(found) == 1 else ast.BoolOp(ast.Or(), found)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                number = EVENTS.index(one.value) if one.value in EVENTS else -1
                return self._call("event_is", self._value(other), ast.Constant(number), at=at)
        return self._operation(_COMPARED[type(operator)], self._value(left), self._value(right), at=at)

    # -- calls --------------------------------------------------------------------------------------------------------

    def _called(self, node: ast.Call) -> ast.expr:
        function = node.func
        if any(keyword.arg is None for keyword in node.keywords):
            self._refuse(node, "** cannot be compiled")
        if isinstance(function, ast.Attribute):
            if self._is_self(function.value):
                return self._own_method(node, function.attr)
            if (made := self._of_connection(node, function)) is not None:
                return made
        static = self._static(function)
        if isinstance(static, types.FunctionType) and not static.__module__.startswith("dumbbell."):
            return self._own_call(node, static)
        if not node.keywords and (made := self._known_call(node, static)) is not None:
            return made
        self._refuse(node, f"`{ast.unparse(function)}` cannot be called in a compiled class")

    def _own_method(self, node: ast.Call, name: str) -> ast.expr:
        method = inspect.getattr_static(self._of.cls, name, MISSING)
        if not isinstance(method, types.FunctionType):
            self._refuse(node, f"`self.{name}` is no method that can be compiled")
        return self._own_call(node, method, ast.Name(str(self._self), ast.Load()))

    def _own_call(self, node: ast.Call, function: types.FunctionType, first: ast.expr | None = None) -> ast.expr:
        signature = inspect.signature(function)
        given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        try:
            bound = signature.bind(*([None] if first is not None else []), *node.args, **given)
        except TypeError as error:
            self._refuse(node, f"`{ast.unparse(node.func)}`: {error}")
        name = self._of.function(function, is_method=first is not None)
        arguments: list[ast.expr] = [frame()]
        for number, (key, parameter) in enumerate(signature.parameters.items()):
            if number == 0 and first is not None:
                arguments.append(first)
            elif key in bound.arguments:
                arguments.append(self._value(bound.arguments[key]))
            else:
                arguments.append(self._constant(node, parameter.default, key))
        return ast.Call(ast.Name(name, ast.Load()), arguments, [])

    def _of_connection(self, node: ast.Call, function: ast.Attribute) -> ast.expr | None:
        name = function.attr
        if name in ("slow_start", "cong_avoid_ai"):
            names = ("acked",) if name == "slow_start" else ("per_increment", "acked")
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            if len(arguments) != len(names) or any(keyword.arg not in names for keyword in node.keywords):
                self._refuse(node, f"`{ast.unparse(function)}` takes {' and '.join(names)}")
            if len(node.keywords) > 1:
                self._refuse(node, f"write the arguments of `{ast.unparse(function)}` in their order")
            values = [self._value(argument) for argument in arguments]
            return self._operation(name, self._value(function.value), *values, at=node)
        if isinstance(function.value, ast.Attribute) and function.value.attr == "random":
            if name == "random" and not node.args and not node.keywords:
                return self._call("uniform", frame(), at=node)
            if name == "below" and len(node.args) == 1 and not node.keywords:
                bound = self._operation("bit_or", self._value(node.args[0]), ast.Constant(0), at=node)
                return self._operation("below", bound, at=node)
            self._refuse(node, f"`{ast.unparse(function)}` cannot be compiled; there are random() and below(bound)")
        return None

    def _known_call(self, node: ast.Call, function: object) -> ast.expr | None:
        arguments = node.args
        if any(isinstance(argument, ast.Starred) for argument in arguments):
            self._refuse(node, "* cannot be compiled")
        if function in (min, max) and arguments:
            return self._folded(node, function)
        if function is len and len(arguments) == 1:
            items = self._items(arguments[0])
            return None if items is None else ast.Constant(len(items))
        if function is math.pow and len(arguments) == 2:
            floats = [self._operation("fraction", self._value(argument), at=node) for argument in arguments]
            return self._operation("power", *floats, at=node)
        if len(arguments) != 1:
            of_one = (*_FUNCTIONS, *(getattr(math, name) for name in _MATH))
            if isinstance(function, type | types.BuiltinFunctionType) and function in of_one:
                self._refuse(node, f"`{ast.unparse(node.func)}` takes one argument in a compiled class")
            return None
        if function is bool:
            return self._call("truth", self._value(arguments[0]), at=node)
        if isinstance(function, type | types.BuiltinFunctionType) and function in _FUNCTIONS:
            return self._operation(_FUNCTIONS[function], self._value(arguments[0]), at=node)
        known = next((name for name in _MATH if function is getattr(math, name)), None)
        return None if known is None else self._operation(f"math_{known}", self._value(arguments[0]), at=node)

    def _items(self, node: ast.expr) -> list[ast.expr] | None:
        """The items of what has always as many."""
        if isinstance(node, ast.Tuple):
            return [self._value(item) for item in node.elts]
        if isinstance(node, ast.Attribute) and self._is_self(node.value) and node.attr in self._of.values:
            length = self._slot(node, node.attr).length
            if length is not None:
                numbers = (ast.Constant(number) for number in range(length))
                return [self._operation("item", self._value(node), number, at=node) for number in numbers]
        value = self._value(node)
        return list(value.elts) if isinstance(value, ast.Tuple) else None

    def _folded(self, node: ast.Call, function: object) -> ast.expr:
        is_one = len(node.args) == 1
        items = self._items(node.args[0]) if is_one else [self._value(argument) for argument in node.args]
        if not items:
            self._refuse(node, f"`{ast.unparse(node.func)}` takes numbers, or a list or tuple of numbers")
        found = items.pop(0)
        for item in items:
            found = self._operation("min2" if function is min else "max2", found, item, at=node)
        return found


def frame() -> ast.expr:
    """The name of the frame."""
    return ast.Name(FRAME, ast.Load())


def _is_simple(node: ast.expr) -> bool:
    """Whether it may be computed twice."""
    return isinstance(node, ast.Name | ast.Constant) or (isinstance(node, ast.Attribute) and _is_simple(node.value))


def word(node: ast.AST) -> str:
    """What a reader calls a piece of syntax."""
    return _WORDS.get(type(node), type(node).__name__)
