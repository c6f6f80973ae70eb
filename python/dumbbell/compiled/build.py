"""Compiles rewritten hooks."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numba
import numpy as np
from numba.core import errors, types
from numba.extending import overload
from numba.np.numpy_support import from_dtype

from dumbbell.compiled import arithmetic, connection, engine
from dumbbell.compiled.refusals import said
from dumbbell.compiled.slots import Refused, Slot
from dumbbell.compiled.translate import Translation

ARITHMETIC = (
    "add", "sub", "mul", "div", "floordiv", "mod", "power", "power_constant", "lshift", "rshift", "bit_and", "bit_or",
    "bit_xor", "lt", "le", "gt", "ge", "eq", "event_is", "max2", "min2", "neg", "pos", "invert", "absolute", "whole",
    "fraction", "rounded", "truth", "item", "set_item", "unpack", "step",
)  # fmt: skip
CONNECTION = ("slow_start", "cong_avoid_ai", "below", "uniform", "cwnd_as_float")
OPERATIONS: dict[str, Any] = {
    "_db_fail": engine.fail,
    **{f"_db_{name}": getattr(arithmetic, name) for name in ARITHMETIC},
    **{f"_db_{name}": getattr(connection, name) for name in CONNECTION},
    **{f"_db_math_{name}": function for name, function in arithmetic.MATH.items()},
    **{f"_db_get_{name}": getter for name, getter in connection.GET.items()},
    **{f"_db_set_{name}": setter for name, setter in connection.SET.items()},
}
"""What rewritten hooks call."""

HEARD = {
    "on_ack": "sample", "cong_control": "sample", "on_loss": "loss", "packet_lost": "loss",
}  # fmt: skip
"""The structs that hooks hear of."""
ARGUMENTS = {
    **dict.fromkeys(("on_ack", "cong_control"), ", Ack(carray(at_view, 1)[0], carray(at_heard, 1)[0])"),
    **dict.fromkeys(("on_loss", "packet_lost"), ", Loss(carray(at_heard, 1)[0])"),
    **dict.fromkeys(("cong_avoid", "in_ack_event", "set_state"), ", f.arguments[0]"),
    "cwnd_event": ", Event(f.arguments[0])",
    "pkts_acked": ", f.arguments[0], f.arguments[1], f.arguments[2]",
}
"""What hooks are called with behind the connection."""
ANSWERING = ("ssthresh", "undo_cwnd", "min_tso_segs")

ENTRY = """
def entry(at_state, at_view, at_control, at_heard, at_frame):
    f = carray(at_frame, 1)[0]
    conn = Conn(carray(at_view, 1)[0], carray(at_control, 1)[0], f)
    try:
        take(f, hook(f, carray(at_state, 1)[0], conn{arguments}), 0)
    except Exception:
        return 1
    return 0
"""

_TYPES = {"whole": "i8", "float": "f8", "bool": "?"}


def build(made: Translation, hooks: Mapping[str, str], cwnd_is_float: bool) -> tuple[dict[str, Any], dict[str, Slot]]:
    """Functions with C's convention for hooks, and slots that turned out to hold more than they can.

    Raises:
        Refused: numba cannot compile them.
    """
    wider: dict[str, Slot] = {}
    namespace = dict(OPERATIONS)
    for name, slot in made.slots.items():
        namespace[f"_db_put_{name}"] = _putter(name, slot, wider)
        namespace[f"_db_own_{name}"] = _reader(name)
    if not cwnd_is_float:
        namespace["_db_set_cwnd"] = _whole_window(wider)
    module = ast.Module(list(made.functions.values()), [])
    files = {site.file for site in made.sites if site.file}
    exec(compile(ast.fix_missing_locations(module), min(files, default="<class>"), "exec"), namespace)
    for name in made.functions:
        namespace[name] = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(namespace[name])
    state = types.CPointer(from_dtype(_record(made.slots)))
    functions: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NumbaWarning)
        for hook, name in hooks.items():
            try:
                functions[hook] = _entry(hook, namespace[name], state)
            except errors.NumbaError as error:
                # What is not known yet may be why; the next round tells.
                if not wider:
                    raise Refused(f"`{hook}`: {said(error, made)}") from None
            except Exception as error:
                # Records that a function returns are none of the errors that it knows.
                raise Refused(f"`{hook}`: numba says: {type(error).__name__}: {error}") from None
    return functions, wider


def _record(slots: Mapping[str, Slot]) -> np.dtype[Any]:
    """The state of a flow: packed, as ``struct`` packs it."""
    fields: list[Any] = []
    for name, slot in slots.items():
        fields.append((f"a_{name}", _TYPES[slot.kind], *([(slot.length,)] if slot.length is not None else [])))
        if slot.may_be_none:
            fields.append((f"n_{name}", "?"))
    return np.dtype(fields or [("nothing", "?")])


def _entry(hook: str, body: Any, state: Any) -> Any:
    take = connection.answer if hook in ANSWERING else connection.nothing
    space: dict[str, Any] = {
        "hook": body, "take": take, "carray": numba.carray, "Conn": engine.Conn, "Ack": engine.Ack,
        "Loss": engine.Loss, "Event": engine.Event,
    }  # fmt: skip
    exec(ENTRY.format(arguments=ARGUMENTS.get(hook, "")), space)
    pointers = [engine.pointer(name) for name in ("view", "control", HEARD.get(hook, "sample"), "frame")]
    return numba.cfunc(types.int32(state, *pointers))(space["entry"])


# -- attributes of the object -----------------------------------------------------------------------------------------


def _stub(name: str, arguments: str) -> Any:
    space: dict[str, Any] = {}
    exec(f"def {name}({arguments}): pass", space)
    return space[name]


def _overloaded(stub: Any, choose: Callable[..., Any]) -> Any:
    # numba wants arguments that are written as those of what is chosen.
    choose.__annotations__ = {}
    overload(stub)(choose)
    return stub


def _reader(name: str) -> Any:
    """Reads an attribute that may be None."""
    stub = _stub(f"own_{name}", "record")

    def choose(record: Any) -> Callable[..., Any]:
        made: Callable[..., Any] = eval(f"lambda record: None if record.n_{name} else record.a_{name}", {})
        return made

    return _overloaded(stub, choose)


def _putter(name: str, slot: Slot, wider: dict[str, Slot]) -> Any:
    """Writes an attribute; what it cannot hold is noted in ``wider``."""
    stub = _stub(f"put_{name}", "f, record, value, site")

    def widen(**changes: Any) -> Callable[..., Any]:
        wider[name] = replace(wider.get(name, slot), **changes)
        return lambda f, record, value, site: None

    def choose(f: Any, record: Any, value: Any, site: Any) -> Callable[..., Any] | None:
        none, optional = isinstance(value, types.NoneType), isinstance(value, types.Optional)
        kind = value.type if optional else value
        if (none or optional) and not slot.may_be_none:
            return widen(may_be_none=True)
        if isinstance(kind, types.Float) and slot.kind != "float":
            return widen(kind="float")
        if isinstance(kind, types.Integer) and slot.kind == "bool":
            return widen(kind="whole")
        if not (none or isinstance(kind, types.Float | types.Integer | types.Boolean)):
            raise errors.TypingError(f"`self.{name}` holds numbers, and is written with something else")
        return _writer(name, slot, none, optional, isinstance(kind, types.Float))

    return _overloaded(stub, choose)


def _writer(name: str, slot: Slot, none: bool, optional: bool, is_float: bool) -> Callable[..., Any]:
    converted = "value" if not optional else "some(value)"
    if slot.kind == "whole":
        converted = f"int64({converted})"
    elif slot.kind == "float" and not is_float:
        converted = f"exact(f, int64({converted}), site)"
    lines = [f"record.a_{name} = {converted}"]
    if slot.may_be_none:
        lines.append(f"record.n_{name} = False")
    if none:
        lines = [f"record.n_{name} = True"]
    elif optional:
        lines = ["if value is None:", f"    record.n_{name} = True", "else:", *("    " + line for line in lines)]
    space = {"int64": numba.int64, "some": engine.some, "exact": arithmetic.exact}
    exec("def write(f, record, value, site):\n" + "\n".join("    " + line for line in lines), space)
    write: Callable[..., Any] = space["write"]
    return write


def _whole_window(wider: dict[str, Slot]) -> Any:
    """Writes the window of a class that writes whole numbers; others are noted in ``wider``."""
    stub = _stub("set_whole_cwnd", "o, value, site")
    setter = connection.SET["cwnd"]

    def choose(o: Any, value: Any, site: Any) -> Callable[..., Any]:
        kind = value.type if isinstance(value, types.Optional) else value
        if isinstance(kind, types.Float):
            wider["conn.cwnd"] = Slot("float")
            return lambda o, value, site: None
        return lambda o, value, site: setter(o, value, site)

    return _overloaded(stub, choose)
