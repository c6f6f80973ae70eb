"""What compiled code knows of the engine: its structs, its functions, and how a call ends."""

from __future__ import annotations

import ctypes
from collections import namedtuple
from typing import Any

import numpy as np
from numba import float64, int64, njit, types
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from dumbbell import _core

CONTRACT = _core.machine_contract()
RECORDS = {
    name: np.dtype({
        "names": [field.replace(".", "_") for field, _, _ in fields],
        "offsets": [offset for _, offset, _ in fields],
        "formats": [(np.int64, (3,)) if code == "3i8" else np.dtype(code) for _, _, code in fields],
        "itemsize": size,
    })
    for name, (size, fields) in CONTRACT["records"].items()
}  # fmt: skip
"""The engine's structs."""

Conn = namedtuple("Conn", ("seen", "control", "frame"))
Ack = namedtuple("Ack", ("seen", "sample"))
Loss = namedtuple("Loss", ("loss",))
Event = namedtuple("Event", ("number",))

_FRAME = from_dtype(RECORDS["frame"])


def pointer(name: str) -> Any:
    """The type of a pointer to one of the structs."""
    return types.CPointer(from_dtype(RECORDS[name]))


def function(name, result, *arguments):
    """A function of the engine; addresses of structs are whole numbers."""
    kinds: dict[str, Any] = {
        "u4": ctypes.c_uint32,
        "u8": ctypes.c_uint64,
        "f8": ctypes.c_double,
        "?": ctypes.c_bool,
        "": None,
    }
    prototype = ctypes.CFUNCTYPE(kinds[result], *(kinds[kind] for kind in arguments))
    return prototype(CONTRACT["functions"][name])


def once(result, *arguments):
    """Compiles a function for a frame and these types at once, and for no others."""
    return njit(result(_FRAME, *arguments))


@once(types.none, int64, int64, float64)
def fail(f, kind, site, value):
    """Ends the call."""
    f.kind = kind
    f.site = site
    f.value = value
    raise RuntimeError


@intrinsic
def some(typingctx, value):
    """The value of what may be None, which it must not be."""
    kind = value.type if isinstance(value, types.Optional) else value

    def codegen(context, builder, signature, arguments):
        return context.cast(builder, arguments[0], signature.args[0], signature.return_type)

    return kind(value), codegen


def is_whole(kind):
    """Whether a type is one of whole numbers."""
    return isinstance(kind, types.Integer | types.Boolean)


def is_number(kind):
    """Whether a type is one of numbers."""
    return is_whole(kind) or isinstance(kind, types.Float)


def is_a(kind, instance):
    """Whether a type is that of a connection, an ACK, a loss or an event."""
    return isinstance(kind, types.BaseNamedTuple) and kind.instance_class is instance
