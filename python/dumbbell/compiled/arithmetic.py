"""The operations of Python on whole numbers of 64 bits and on floats.

Each either gives what Python gives, to the bit, or ends the call: it leaves a number of
:class:`~dumbbell.compiled.faults.Kind` and a place in the frame. Everything else is left to numba.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64, int64, njit, types
from numba.core import errors
from numba.extending import intrinsic, overload

from dumbbell.compiled.engine import Event, fail, function, is_a, is_number, is_whole, once, some
from dumbbell.compiled.faults import Kind

# numba takes numbers of its surroundings for constants, but not those of an enumeration.
ZERO, OVERFLOW, INEXACT = int(Kind.ZERO), int(Kind.OVERFLOW), int(Kind.INEXACT)
INDEX, NOTHING, DOMAIN = int(Kind.INDEX), int(Kind.NOTHING), int(Kind.DOMAIN)
NO_INTEGER, SHIFT, PASSES = int(Kind.NO_INTEGER), int(Kind.SHIFT), int(Kind.PASSES)
LEAST = -(2**63)
EXACT = 2**53

# `pow` of the C library, as Python calls it.
_power = function("power", "f8", "f8", "f8")


# -- whole numbers ----------------------------------------------------------------------------------------------------


def _checked(name):
    """An operation of the processor on two whole numbers, and whether its result has more than 64 bits."""

    @intrinsic
    def operation(typingctx, a, b):
        answer = types.Tuple((types.int64, types.boolean))

        def codegen(context, builder, signature, arguments):
            pair = getattr(builder, name)(*arguments)
            parts = [builder.extract_value(pair, 0), builder.extract_value(pair, 1)]
            return context.make_tuple(builder, signature.return_type, parts)

        return answer(types.int64, types.int64), codegen

    return operation


_add, _sub, _mul = _checked("sadd_with_overflow"), _checked("ssub_with_overflow"), _checked("smul_with_overflow")


@once(float64, int64, int64)
def exact(f, a, site):
    """A whole number as a float, which must be the same number."""
    if a > EXACT or a < -EXACT:
        fail(f, INEXACT, site, float64(a))
    return float64(a)


def _may_be_none(*kinds):
    return any(isinstance(kind, types.Optional) for kind in kinds)


def plain(f, value, site):
    """A value that must not be None."""


@overload(plain)
def _plain(f, value, site):
    if isinstance(value, types.Optional):

        def needed(f, value, site):
            if value is None:
                fail(f, NOTHING, site, 0.0)
            return some(value)

        return needed
    return lambda f, value, site: value


def _binary(name, whole, floats, mixed=None, same_if_bool=None):
    """An operation on two numbers, each a variant for whole numbers, for floats, and for one of each."""
    namespace: dict[str, Any] = {}
    exec(f"def {name}(f, a, b, site): pass", namespace)
    stub = namespace[name]

    @overload(stub)
    def _choose(f, a, b, site):
        if _may_be_none(a, b):
            return lambda f, a, b, site: stub(f, plain(f, a, site), plain(f, b, site), site)
        if same_if_bool is not None and isinstance(a, types.Boolean) and isinstance(b, types.Boolean):
            return same_if_bool
        if is_whole(a) and is_whole(b):
            return whole
        if is_number(a) and is_number(b):
            return mixed if mixed is not None and (is_whole(a) or is_whole(b)) else floats
        return None

    return stub


def _bounded(operation):
    """An operation on whole numbers whose result must have 64 bits."""

    def bounded(f, a, b, site):
        result, is_over = operation(int64(a), int64(b))
        if is_over:
            fail(f, OVERFLOW, site, 0.0)
        return result

    return bounded


def _div_whole(f, a, b, site):
    if int64(b) == 0:
        fail(f, ZERO, site, 0.0)
    return exact(f, int64(a), site) / exact(f, int64(b), site)


def _div_floats(f, a, b, site):
    if float64(b) == 0.0:
        fail(f, ZERO, site, 0.0)
    return float64(a) / float64(b)


def _floordiv_whole(f, a, b, site):
    if int64(b) == 0:
        fail(f, ZERO, site, 0.0)
    if int64(b) == -1 and int64(a) == LEAST:
        fail(f, OVERFLOW, site, 0.0)
    return int64(a) // int64(b)


def _mod_whole(f, a, b, site):
    if int64(b) == 0:
        fail(f, ZERO, site, 0.0)
    return int64(0) if int64(b) == -1 else int64(a) % int64(b)


def _floordiv_floats(f, a, b, site):
    if float64(b) == 0.0:
        fail(f, ZERO, site, 0.0)
    return float64(a) // float64(b)


def _mod_floats(f, a, b, site):
    if float64(b) == 0.0:
        fail(f, ZERO, site, 0.0)
    return float64(a) % float64(b)


def _lshift_whole(f, a, b, site):
    count, value = int64(b), int64(a)
    if count < 0:
        fail(f, SHIFT, site, 0.0)
    if value == 0:
        return value
    if count > 63 or (value << count) >> count != value:
        fail(f, OVERFLOW, site, 0.0)
    return value << count


def _rshift_whole(f, a, b, site):
    count = int64(b)
    if count < 0:
        fail(f, SHIFT, site, 0.0)
    return int64(a) >> min(count, int64(63))


def _power_floats(f, a, b, site):
    base, exponent = float64(a), float64(b)
    if base == 0.0 and exponent < 0.0 and math.isfinite(exponent):
        fail(f, ZERO, site, 0.0)
    result = _power(base, exponent)
    is_finite = math.isfinite(base) and math.isfinite(exponent)
    if is_finite and math.isnan(result):
        fail(f, DOMAIN, site, base)
    if is_finite and math.isinf(result):
        fail(f, OVERFLOW, site, base)
    return result


def _whole_power(f, a, b, site):
    result = int64(1)
    for _ in range(b):
        result = _mul_step(f, result, int64(a), site)
    return result


@once(int64, int64, int64, int64)
def _mul_step(f, a, b, site):
    result, is_over = _mul(a, b)
    if is_over:
        fail(f, OVERFLOW, site, 0.0)
    return result


add = _binary("add", _bounded(_add), lambda f, a, b, site: float64(a) + float64(b))
sub = _binary("sub", _bounded(_sub), lambda f, a, b, site: float64(a) - float64(b))
mul = _binary("mul", _bounded(_mul), lambda f, a, b, site: float64(a) * float64(b))
div = _binary("div", _div_whole, _div_floats)
floordiv = _binary("floordiv", _floordiv_whole, _floordiv_floats)
mod = _binary("mod", _mod_whole, _mod_floats)
power = _binary("power", None, _power_floats)
power_constant = _binary("power_constant", _whole_power, _power_floats)
lshift = _binary("lshift", _lshift_whole, None)
rshift = _binary("rshift", _rshift_whole, None)
bit_and = _binary(
    "bit_and", lambda f, a, b, site: int64(a) & int64(b), None, same_if_bool=lambda f, a, b, site: a and b
)
bit_or = _binary("bit_or", lambda f, a, b, site: int64(a) | int64(b), None, same_if_bool=lambda f, a, b, site: a or b)
bit_xor = _binary("bit_xor", lambda f, a, b, site: int64(a) ^ int64(b), None, same_if_bool=lambda f, a, b, site: a != b)

# -- comparisons ------------------------------------------------------------------------------------------------------


def _mixed(operation):
    """A comparison of a whole number with a float."""
    namespace = {"int64": int64, "float64": float64, "exact": exact, "_as_float": _as_float}
    exec(f"def compare(f, a, b, site): return _as_float(f, a, site) {operation} _as_float(f, b, site)", namespace)
    return namespace["compare"]


def _as_float(f, value, site):
    """A number as a float, which must be exact."""


@overload(_as_float)
def _over_as_float(f, value, site):
    if is_whole(value):
        return lambda f, value, site: exact(f, int64(value), site)
    return lambda f, value, site: float64(value)


lt = _binary(
    "lt", lambda f, a, b, site: int64(a) < int64(b), lambda f, a, b, site: float64(a) < float64(b), _mixed("<")
)
le = _binary(
    "le", lambda f, a, b, site: int64(a) <= int64(b), lambda f, a, b, site: float64(a) <= float64(b), _mixed("<=")
)
gt = _binary(
    "gt", lambda f, a, b, site: int64(a) > int64(b), lambda f, a, b, site: float64(a) > float64(b), _mixed(">")
)
ge = _binary(
    "ge", lambda f, a, b, site: int64(a) >= int64(b), lambda f, a, b, site: float64(a) >= float64(b), _mixed(">=")
)
_eq = _binary(
    "_eq", lambda f, a, b, site: int64(a) == int64(b), lambda f, a, b, site: float64(a) == float64(b), _mixed("==")
)


def eq(f, a, b, site):
    """Equality, also of what may be None."""


@overload(eq)
def _over_eq(f, a, b, site):
    if _may_be_none(a, b):

        def optional(f, a, b, site):
            if a is None or b is None:
                return a is None and b is None
            return _eq(f, some(a), some(b), site)

        return optional
    return lambda f, a, b, site: _eq(f, a, b, site)


def event_is(event, number):
    """Whether an event has a number."""


@overload(event_is)
def _over_event_is(event, number):
    if is_a(event, Event):
        return lambda event, number: event.number == number
    return None


max2 = _binary(
    "max2",
    lambda f, a, b, site: max(int64(a), int64(b)),
    lambda f, a, b, site: float64(b) if float64(b) > float64(a) else float64(a),
    lambda f, a, b, site: (
        _as_float(f, b, site) if _as_float(f, b, site) > _as_float(f, a, site) else _as_float(f, a, site)
    ),
)
min2 = _binary(
    "min2",
    lambda f, a, b, site: min(int64(a), int64(b)),
    lambda f, a, b, site: float64(b) if float64(b) < float64(a) else float64(a),
    lambda f, a, b, site: (
        _as_float(f, b, site) if _as_float(f, b, site) < _as_float(f, a, site) else _as_float(f, a, site)
    ),
)

# -- one operand ------------------------------------------------------------------------------------------------------


def _unary(name, whole, floats):
    namespace: dict[str, Any] = {}
    exec(f"def {name}(f, a, site): pass", namespace)
    stub = namespace[name]

    @overload(stub)
    def _choose(f, a, site):
        if _may_be_none(a):
            return lambda f, a, site: stub(f, plain(f, a, site), site)
        return whole if is_whole(a) else floats if isinstance(a, types.Float) else None

    return stub


def _neg_whole(f, a, site):
    if int64(a) == LEAST:
        fail(f, OVERFLOW, site, 0.0)
    return -int64(a)


def _abs_whole(f, a, site):
    if int64(a) == LEAST:
        fail(f, OVERFLOW, site, 0.0)
    return abs(int64(a))


def _to_whole(cut):
    """Makes a float a whole number."""

    def to_whole(f, a, site):
        if math.isnan(a) or math.isinf(a):
            fail(f, NO_INTEGER, site, a)
        if abs(a) >= 2.0**63:
            fail(f, OVERFLOW, site, a)
        return int64(cut(a))

    return to_whole


def _itself(f, a, site):
    return int64(a)


neg = _unary("neg", _neg_whole, lambda f, a, site: -a)
pos = _unary("pos", _itself, lambda f, a, site: a)
invert = _unary("invert", lambda f, a, site: ~int64(a), None)
absolute = _unary("absolute", _abs_whole, lambda f, a, site: abs(a))
whole = _unary("whole", _itself, _to_whole(np.trunc))
fraction = _unary("fraction", lambda f, a, site: float64(a), lambda f, a, site: a)
rounded = _unary("rounded", _itself, _to_whole(np.rint))
floor = _unary("floor", _itself, _to_whole(np.floor))
ceil = _unary("ceil", _itself, _to_whole(np.ceil))
is_nan = _unary("is_nan", lambda f, a, site: False, lambda f, a, site: math.isnan(a))
is_inf = _unary("is_inf", lambda f, a, site: False, lambda f, a, site: math.isinf(a))
is_finite = _unary("is_finite", lambda f, a, site: True, lambda f, a, site: math.isfinite(a))
fabs = _unary("fabs", lambda f, a, site: abs(float64(a)), lambda f, a, site: abs(a))


def truth(value):
    """Whether a value counts as true."""


@overload(truth)
def _over_truth(value):
    if isinstance(value, types.Optional):

        def optional(value):
            if value is None:
                return False
            return some(value) != 0

        return optional
    if is_number(value):
        return lambda value: value != 0
    if isinstance(value, types.NoneType):
        return lambda value: False
    return None


def _mathematical(name, can_overflow):
    """A function of one number of the C library, with the errors of the ``math`` module."""
    function = getattr(math, name)

    def floats(f, a, site):
        result = function(a)
        if math.isnan(result) and not math.isnan(a):
            fail(f, DOMAIN, site, a)
        if math.isinf(result) and math.isfinite(a):
            fail(f, OVERFLOW if can_overflow else DOMAIN, site, a)
        return result

    floats = njit(floats)
    return _unary(name, lambda f, a, site: floats(f, float64(a), site), lambda f, a, site: floats(f, a, site))


MATH = {
    **{name: _mathematical(name, True) for name in ("exp", "expm1", "sinh", "cosh")},
    **{
        name: _mathematical(name, False)
        for name in ("sqrt", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "atan", "tanh")
    },
    "floor": floor, "ceil": ceil, "isnan": is_nan, "isinf": is_inf, "isfinite": is_finite, "fabs": fabs,
}  # fmt: skip
"""Functions of ``math`` by name."""

# -- sequences and loops ----------------------------------------------------------------------------------------------


@once(int64, int64, int64, int64)
def _place(f, index, length, site):
    place = index + length if index < 0 else index
    if place < 0 or place >= length:
        fail(f, INDEX, site, float64(index))
    return place


def item(f, sequence, index, site):
    """An item of a list or a tuple."""


@overload(item)
def _over_item(f, sequence, index, site):
    if isinstance(sequence, types.UniTuple | types.Array) and is_whole(index):
        return lambda f, sequence, index, site: sequence[_place(f, int64(index), int64(len(sequence)), site)]
    return None


def unpack(value, count):
    """A tuple of as many values as there are names for."""


@overload(unpack, prefer_literal=True)
def _over_unpack(value, count):
    if not isinstance(count, types.Literal):
        return None
    if not isinstance(value, types.BaseTuple):
        raise errors.TypingError("only tuples can be dealt out to several names")
    if len(value) != count.literal_value:
        raise errors.TypingError(f"{len(value)} values for {count.literal_value} names")
    return lambda value, count: value


def set_item(f, sequence, index, value, site):
    """Writes an item of a list."""


@overload(set_item)
def _over_set_item(f, sequence, index, value, site):
    if not isinstance(sequence, types.Array) or not is_whole(index):
        return None
    if isinstance(sequence.dtype, types.Integer) and not is_whole(value):
        raise errors.TypingError("a fraction is written to a list of whole numbers; let it begin with fractions: [0.0]")

    def write(f, sequence, index, value, site):
        sequence[_place(f, int64(index), int64(len(sequence)), site)] = plain(f, value, site)

    return write


@once(types.none, int64)
def step(f, site):
    """Counts a pass of a loop."""
    f.passes -= 1
    if f.passes < 0:
        fail(f, PASSES, site, 0.0)
