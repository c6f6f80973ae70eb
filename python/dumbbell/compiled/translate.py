"""Rewrites the hooks of a class so that numba compiles them to what Python would do.

Each operation becomes a call of one of :mod:`dumbbell.compiled.arithmetic` or :mod:`dumbbell.compiled.connection`, with
the place where it stands; attributes of the object become fields of a record. What cannot be rewritten so is refused.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dumbbell.compiled.expressions import ATTRIBUTES, FRAME, Expressions, frame, word
from dumbbell.compiled.faults import Kind, Site
from dumbbell.compiled.slots import Refused, Slot, slot_of

WRITTEN = ("cwnd", "ssthresh", "pacing_rate", "cwnd_cnt", "pacing_shift", "app_limited")
"""What can be written of a connection."""


@dataclass
class Translation:
    """The rewritten functions of a class."""

    functions: dict[str, ast.FunctionDef]
    sites: list[Site]
    slots: dict[str, Slot]

    def source(self, name: str | None = None) -> str:
        """Their text, which tells whether two translations are the same."""
        chosen = self.functions.values() if name is None else [self.functions[name]]
        return "\n".join(ast.unparse(function) for function in chosen)


@dataclass
class Translator:
    """Rewrites what the hooks of a class need."""

    cls: type
    values: Mapping[str, object]
    """The attributes of an object as its constructor leaves them."""
    known: Mapping[str, Slot]
    """Slots that are known to hold more than these values."""
    cwnd_is_float: bool
    made: Translation = field(default_factory=lambda: Translation({}, [Site("", "", 0, "")], {}))
    _names: dict[object, str] = field(default_factory=dict)
    _open: list[object] = field(default_factory=list)

    def hook(self, name: str) -> str:
        """The name of the rewritten hook."""
        return self.function(inspect.getattr_static(self.cls, name), is_method=True)

    def function(self, function: types.FunctionType, *, is_method: bool = False) -> str:
        """The name of a rewritten function."""
        if function in self._open:
            raise Refused(f"`{function.__qualname__}` calls itself")
        if function not in self._names:
            self._open.append(function)
            number = len(self._names) + len(self._open) - 1
            rewritten = _Function(self, function, is_method).rewritten(f"_db_{number}_{function.__name__}")
            self._open.pop()
            self._names[function] = rewritten.name
            self.made.functions[rewritten.name] = rewritten
        return self._names[function]

    def slot(self, name: str) -> Slot:
        """The slot of an attribute."""
        if name not in self.made.slots:
            self.made.slots[name] = self.known.get(name) or slot_of(name, self.values[name])
        return self.made.slots[name]

    def site(self, site: Site) -> int:
        """The number of a place."""
        self.made.sites.append(site)
        return len(self.made.sites) - 1


class _Function(Expressions):
    """Rewrites one function."""

    def rewritten(self, name: str) -> ast.FunctionDef:
        body, _ = self._block(self._node.body)
        arguments = [ast.arg(FRAME), *(ast.arg(parameter) for parameter in self._parameters)]
        made = ast.FunctionDef(
            name=name,
            args=ast.arguments(posonlyargs=[], args=arguments, kwonlyargs=[], kw_defaults=[], defaults=[]),
            body=body or [ast.Pass()],
            decorator_list=[],
        )
        if hasattr(made, "type_params"):
            made.type_params = []
        ast.copy_location(made, self._node)
        return ast.fix_missing_locations(made)

    # -- statements ---------------------------------------------------------------------------------------------------

    def _block(self, statements: Sequence[ast.stmt]) -> tuple[list[ast.stmt], bool]:
        """Rewritten statements, and whether none follows them."""
        made: list[ast.stmt] = []
        for statement in statements:
            more, ends = self._statement(statement)
            made += [ast.copy_location(one, statement) for one in more]
            if ends:
                return made, True
        return made, False

    def _statement(self, node: ast.stmt) -> tuple[list[ast.stmt], bool]:
        if isinstance(node, ast.Expr):
            return self._expression_statement(node), False
        if isinstance(node, ast.Assign):
            return self._assign(node.targets, self._value(node.value), node), False
        if isinstance(node, ast.AnnAssign):
            return ([] if node.value is None else self._assign([node.target], self._value(node.value), node)), False
        if isinstance(node, ast.AugAssign):
            return self._augmented(node), False
        if isinstance(node, ast.Return):
            return [ast.Return(None if node.value is None else self._value(node.value))], True
        if isinstance(node, ast.If):
            return self._if(node)
        if isinstance(node, ast.While):
            return self._while(node)
        if isinstance(node, ast.For):
            return self._for(node), False
        if isinstance(node, ast.Break | ast.Continue):
            return [node], True
        if isinstance(node, ast.Pass):
            return [node], False
        if isinstance(node, ast.Raise):
            return self._end(node, _raised(node)), True
        if isinstance(node, ast.Assert):
            said = "AssertionError" if node.msg is None else f"AssertionError: {_said(node.msg)}"
            test = ast.UnaryOp(ast.Not(), self._test(node.test))
            return [ast.If(test, self._end(node, said), [])], False
        self._refuse(node, f"{word(node)} cannot be compiled")

    def _end(self, node: ast.stmt, said: str) -> list[ast.stmt]:
        call = self._call(
            "fail", frame(), ast.Constant(int(Kind.RAISED)), self._site(node, said), ast.Constant(0.0), at=node
        )
        return [ast.Expr(call), ast.Raise(ast.Name("RuntimeError", ast.Load()))]

    def _expression_statement(self, node: ast.Expr) -> list[ast.stmt]:
        if isinstance(node.value, ast.Constant):
            return []
        return [ast.Expr(self._value(node.value))]

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr, at: ast.stmt) -> list[ast.stmt]:
        if len(targets) == 1 and isinstance(targets[0], ast.Name):
            return self._store(targets[0], value, at)
        name = self._temporary()
        made: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], value)]
        for target in targets:
            made += self._store(target, ast.Name(name, ast.Load()), at)
        return made

    def _temporary(self) -> str:
        self._temporaries += 1
        return f"_db_t{self._temporaries}"

    def _store(self, target: ast.expr, value: ast.expr, at: ast.stmt) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            if target.id == self._self:
                self._refuse(target, "`self` cannot be written")
            self._assigned.add(target.id)
            return [ast.Assign([ast.Name(target.id, ast.Store())], value)]
        if isinstance(target, ast.Tuple):
            name = self._temporary()
            unpacked = self._call("unpack", value, ast.Constant(len(target.elts)), at=at)
            made: list[ast.stmt] = [ast.Assign([ast.Name(name, ast.Store())], unpacked)]
            for number, part in enumerate(target.elts):
                one = ast.Subscript(ast.Name(name, ast.Load()), ast.Constant(number), ast.Load())
                made += self._store(part, one, at)
            return made
        if isinstance(target, ast.Subscript):
            place = (self._value(target.value), self._value(target.slice))
            return [ast.Expr(self._operation("set_item", *place, value, at=at))]
        if isinstance(target, ast.Attribute):
            return [ast.Expr(self._store_attribute(target, value, at))]
        self._refuse(target, f"{word(target)} cannot be compiled")

    def _store_attribute(self, target: ast.Attribute, value: ast.expr, at: ast.stmt) -> ast.expr:
        name = target.attr
        if self._is_self(target.value):
            if name not in self._of.values:
                self._refuse(target, f"`self.{name}` is written here first; `__init__` must give it a value")
            if self._slot(target, name).length is not None:
                self._refuse(target, f"`self.{name}` is a list, whose items can be written, but which stays")
            return self._operation(f"put_{name}", ast.Name(str(self._self), ast.Load()), value, at=at)
        if name not in WRITTEN:
            known = "it can be read" if name in ATTRIBUTES else f"`conn` has {', '.join(WRITTEN)} to write"
            self._refuse(target, f"`{ast.unparse(target)}` cannot be written; {known}")
        return self._call(f"set_{name}", self._value(target.value), value, self._site(at), at=at)

    def _augmented(self, node: ast.AugAssign) -> list[ast.stmt]:
        target = node.target
        if isinstance(target, ast.Name):
            before: ast.expr = self._value(ast.copy_location(ast.Name(target.id, ast.Load()), target))
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            before = self._value(ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target))
        elif isinstance(target, ast.Subscript):
            # The index is computed once.
            index = self._temporary()
            self._locals.add(index)
            self._assigned.add(index)
            made: list[ast.stmt] = [ast.Assign([ast.Name(index, ast.Store())], self._value(target.slice))]
            place = ast.copy_location(ast.Subscript(target.value, ast.Name(index, ast.Load()), ast.Load()), target)
            after = self._combined(node.op, self._value(place), node.value, node)
            return [*made, *self._store(place, after, node)]
        else:
            self._refuse(node, f"{ast.unparse(node)} cannot be compiled; write it out")
        return self._store(target, self._combined(node.op, before, node.value, node), node)

    def _if(self, node: ast.If) -> tuple[list[ast.stmt], bool]:
        test = self._test(node.test)
        before = set(self._assigned)
        body, body_ends = self._block(node.body)
        after_body, self._assigned = self._assigned, set(before)
        other, other_ends = self._block(node.orelse)
        if body_ends and not other_ends:
            pass
        elif other_ends and not body_ends:
            self._assigned = after_body
        else:
            self._assigned &= after_body
        return [ast.If(test, body or [ast.Pass()], other)], body_ends and other_ends

    def _while(self, node: ast.While) -> tuple[list[ast.stmt], bool]:
        if node.orelse:
            self._refuse(node, "`else` of a loop cannot be compiled")
        test = self._test(node.test)
        before = set(self._assigned)
        body, _ = self._block(node.body)
        self._assigned = before
        is_endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        ends = is_endless and not any(isinstance(inner, ast.Break) for inner in ast.walk(node))
        return [ast.While(test, [self._pass(node), *body], [])], ends

    def _for(self, node: ast.For) -> list[ast.stmt]:
        if node.orelse:
            self._refuse(node, "`else` of a loop cannot be compiled")
        if not isinstance(node.target, ast.Name):
            self._refuse(node, "a loop with several variables cannot be compiled")
        through = node.iter
        if isinstance(through, ast.Call) and self._static(through.func) is range and not through.keywords:
            ends = [self._operation("bit_or", self._value(end), ast.Constant(0), at=through) for end in through.args]
            through = ast.Call(ast.Name("range", ast.Load()), ends, [])
        elif isinstance(through, ast.Attribute | ast.Name | ast.Tuple):
            through = self._value(through)
        else:
            self._refuse(node, "a loop goes through a range, or through a list or tuple of numbers")
        before = set(self._assigned)
        self._assigned.add(node.target.id)
        body, _ = self._block(node.body)
        self._assigned = before
        target = ast.Name(node.target.id, ast.Store())
        return [ast.For(target, through, [self._pass(node), *body], [])]

    def _pass(self, node: ast.stmt) -> ast.stmt:
        return ast.copy_location(ast.Expr(self._call("step", frame(), self._site(node), at=node)), node)


def _said(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


def _raised(node: ast.Raise) -> str:
    """What a ``raise`` says, as far as its text tells."""
    if isinstance(node.exc, ast.Call):
        arguments = ", ".join(map(_said, node.exc.args))
        return f"{ast.unparse(node.exc.func)}: {arguments}" if arguments else ast.unparse(node.exc.func)
    return "RuntimeError" if node.exc is None else ast.unparse(node.exc)
