"""What becomes of the text of a class that is compiled, before numba sees it: each piece of syntax, or its refusal."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import math
import struct
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import dumbbell as db
from dumbbell import _core, compiled, own
from dumbbell.compiled import faults, refusals
from dumbbell.compiled.faults import Kind, Site
from dumbbell.compiled.slots import Refused, Slot, article, slot_of
from dumbbell.compiled.source import definition
from dumbbell.compiled.translate import Translation, Translator

HEAD = """\
import enum
import math
import operator
import random

HALF = 0.5
PAIR = (1, 2)
MIXED = (1, 2.5, True)
WORDS = ("a",)
HUGE = 2**63
LEAST = -(2**63)


class State(enum.IntEnum):
    OPEN = 3


def twice(x, plus=1):
    return x


def late(x, *, by):
    return x


def on_ack(x):
    return x


class Mine:
    LEVELS = (4, 5)
    gain = 1.5

    def __init__(self): pass
    def _step(self, kind, by=2): return kind
    @property
    def _prop(self): return 1
    def on_ack(self, conn, ack):
"""
"""A file whose last method is to be filled."""

VALUES = {"x": 1, "rate": 0.5, "none": None, "is_late": False, "l": [1, 2], "_Mine__own": 1}
"""What the constructor leaves."""

FIRST = len(HEAD.splitlines())
_numbers = itertools.count()


def translator(folder: Path, text: str, known: Mapping[str, Slot] | None = None, *, is_float: bool = False) -> Any:
    name = f"translated_{next(_numbers)}"
    file = folder / f"{name}.py"
    file.write_text(HEAD + textwrap.indent(text, "        ") + "\n")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return Translator(module.Mine, VALUES, known or {}, is_float)


def normal(text: str) -> str:
    """Text as this version of Python writes it."""
    return ast.unparse(ast.parse(text))


def body(made: Translator, name: str) -> str:
    (function,) = ast.parse(made.made.source(name)).body
    assert isinstance(function, ast.FunctionDef)
    return "\n".join(map(ast.unparse, function.body))


REWRITTEN: list[tuple[str, str]] = [
    (
        "x = 1 + 2.5",
        "x = _db_add(_db_f, 1, 2.5, 1)",
    ),
    (
        "y = 3 - conn.cwnd * ack.rtt",
        "y = _db_sub(_db_f, 3, _db_mul(_db_f, _db_get_cwnd(conn), _db_get_rtt(ack), 1), 2)",
    ),
    (
        "self.x = self.x // 2 % 3 / 4",
        "_db_t1 = _db_div(_db_f, _db_mod(_db_f, _db_floordiv(_db_f, self.a_x, 2, 1), 3, 2), 4, 3)\n"
        "_db_put_x(_db_f, self, _db_t1, 4)",
    ),
    (
        "self.x = 1 << 2 >> 3 & 4 | 5 ^ 6",
        "_db_t1 = _db_bit_or(_db_f, _db_bit_and(_db_f, _db_rshift(_db_f, _db_lshift(_db_f, 1, 2, 1), 3, "
        "2), 4, 3), _db_bit_xor(_db_f, 5, 6, 4), 5)\n"
        "_db_put_x(_db_f, self, _db_t1, 6)",
    ),
    (
        "self.x = -conn.cwnd + +self.x - ~self.x",
        "_db_t1 = _db_sub(_db_f, _db_add(_db_f, _db_neg(_db_f, _db_get_cwnd(conn), 1), _db_pos(_db_f, "
        "self.a_x, 2), 3), _db_invert(_db_f, self.a_x, 4), 5)\n"
        "_db_put_x(_db_f, self, _db_t1, 6)",
    ),
    (
        "self.x = self.x ** 2 + self.x ** 64 + self.x ** 65 + self.x ** -1 + self.x ** 2.0 + self.x ** 0",
        "_db_t1 = _db_add(_db_f, _db_add(_db_f, _db_add(_db_f, _db_add(_db_f, _db_add(_db_f, "
        "_db_power_constant(_db_f, self.a_x, 2, 1), _db_power_constant(_db_f, self.a_x, 64, 2), 3), "
        "_db_power(_db_f, self.a_x, 65, 4), 5), _db_power(_db_f, self.a_x, _db_neg(_db_f, 1, 6), 7), 8), "
        "_db_power(_db_f, self.a_x, 2.0, 9), 10), _db_power_constant(_db_f, self.a_x, 0, 11), 12)\n"
        "_db_put_x(_db_f, self, _db_t1, 13)",
    ),
    (
        "self.x = 1 if not self.is_late and conn.cwnd else 2",
        "_db_t1 = 1 if not _db_truth(self.a_is_late) and _db_truth(_db_get_cwnd(conn)) else 2\n"
        "_db_put_x(_db_f, self, _db_t1, 1)",
    ),
    (
        "self.x = self.x or conn.cwnd",
        "_db_t1 = self.a_x or _db_get_cwnd(conn)\n_db_put_x(_db_f, self, _db_t1, 1)",
    ),
    (
        "self.x = 1 < self.x <= 3",
        "_db_t1 = _db_lt(_db_f, 1, self.a_x, 1) and _db_le(_db_f, self.a_x, 3, 2)\n_db_put_x(_db_f, self, _db_t1, 3)",
    ),
    (
        "if self.x == 1 or self.x != 2 or self.x > 3 or self.x >= 4: pass",
        "if _db_eq(_db_f, self.a_x, 1, 1) or not _db_eq(_db_f, self.a_x, 2, 2) or _db_gt(_db_f, "
        "self.a_x, 3, 3) or _db_ge(_db_f, self.a_x, 4, 4):\n"
        "    pass",
    ),
    (
        "if self.none is None or self.none is not None: pass",
        "if _db_own_none(self) is None or _db_own_none(self) is not None:\n    pass",
    ),
    (
        "if self.x in (1, 2) or self.x not in [3]: pass",
        "if (_db_eq(_db_f, self.a_x, 1, 1) or _db_eq(_db_f, self.a_x, 2, 2)) or not (_db_eq(_db_f, "
        "self.a_x, 3, 3)):\n"
        "    pass",
    ),
    (
        "x = HALF + LEAST + State.OPEN + PAIR[0] + MIXED[1]",
        "x = _db_add(_db_f, _db_add(_db_f, _db_add(_db_f, _db_add(_db_f, 0.5, -9223372036854775808, 1), "
        "3, 2), _db_item(_db_f, (1, 2), 0, 3), 4), _db_item(_db_f, (1.0, 2.5, 1.0), 1, 5), 6)",
    ),
    (
        "x = ()",
        "x = ()",
    ),
    (
        "x = math.pi",
        "x = 3.141592653589793",
    ),
    (
        "x = self.gain + self.LEVELS[0]",
        "x = _db_add(_db_f, 1.5, _db_item(_db_f, (4, 5), 0, 1), 2)",
    ),
    (
        "x = self.none",
        "x = _db_own_none(self)",
    ),
    (
        "x = self.l[1]",
        "x = _db_item(_db_f, self.a_l, 1, 1)",
    ),
    (
        "self.l[self.x] += 2",
        "_db_t1 = self.a_x\n"
        "_db_set_item(_db_f, self.a_l, _db_t1, _db_add(_db_f, _db_item(_db_f, self.a_l, _db_t1, 1), 2, "
        "2), 3)",
    ),
    (
        "self.none = 2",
        "_db_t1 = 2\n_db_put_none(_db_f, self, _db_t1, 1)",
    ),
    (
        "conn.cwnd = conn.cwnd + 1",
        "_db_t1 = _db_add(_db_f, _db_get_cwnd(conn), 1, 1)\n_db_set_cwnd(conn, _db_t1, 2)",
    ),
    (
        "conn.cwnd += 1",
        "_db_set_cwnd(conn, _db_add(_db_f, _db_get_cwnd(conn), 1, 1), 2)",
    ),
    (
        "a, b = 1, 2",
        "_db_t1 = (1, 2)\n_db_t2 = _db_unpack(_db_t1, 2)\na = _db_t2[0]\nb = _db_t2[1]",
    ),
    (
        "a = b = 3",
        "_db_t1 = 3\na = _db_t1\nb = _db_t1",
    ),
    (
        "a, (b, c) = 1, (2, 3)",
        "_db_t1 = (1, (2, 3))\n"
        "_db_t2 = _db_unpack(_db_t1, 2)\n"
        "a = _db_t2[0]\n"
        "_db_t3 = _db_unpack(_db_t2[1], 2)\n"
        "b = _db_t3[0]\n"
        "c = _db_t3[1]",
    ),
    (
        "a: int = 3",
        "a = 3",
    ),
    (
        "a: int",
        "pass",
    ),
    (
        "self.__own += 1",
        "_db_put__Mine__own(_db_f, self, _db_add(_db_f, self.a__Mine__own, 1, 1), 2)",
    ),
    (
        "if self.x:\n    y = 1\nelse:\n    y = 2\nz = y",
        "if _db_truth(self.a_x):\n    y = 1\nelse:\n    y = 2\nz = y",
    ),
    (
        "if self.x:\n    return\nelse:\n    y = 2\nz = y",
        "if _db_truth(self.a_x):\n    return\nelse:\n    y = 2\nz = y",
    ),
    (
        "if self.x:\n    y = 2\nelse:\n    return\nz = y",
        "if _db_truth(self.a_x):\n    y = 2\nelse:\n    return\nz = y",
    ),
    (
        "if self.x:\n    return 1\nelse:\n    return 2\nx = 3",
        "if _db_truth(self.a_x):\n    return 1\nelse:\n    return 2",
    ),
    (
        "while self.x:\n    self.x -= 1\n    if self.x == 3: break\n    continue",
        "while _db_truth(self.a_x):\n"
        "    _db_step(_db_f, 4)\n"
        "    _db_put_x(_db_f, self, _db_sub(_db_f, self.a_x, 1, 1), 2)\n"
        "    if _db_eq(_db_f, self.a_x, 3, 3):\n"
        "        break\n"
        "    continue",
    ),
    (
        "while True:\n    self.x -= 1\nself.x = 3",
        "while _db_truth(True):\n    _db_step(_db_f, 3)\n    _db_put_x(_db_f, self, _db_sub(_db_f, self.a_x, 1, 1), 2)",
    ),
    (
        "while True:\n    break\nself.x = 3",
        "while _db_truth(True):\n    _db_step(_db_f, 1)\n    break\n_db_t1 = 3\n_db_put_x(_db_f, self, _db_t1, 2)",
    ),
    (
        "for i in range(3): self.x += i",
        "for i in range(_db_bit_or(_db_f, 3, 0, 1)):\n"
        "    _db_step(_db_f, 4)\n"
        "    _db_put_x(_db_f, self, _db_add(_db_f, self.a_x, i, 2), 3)",
    ),
    (
        "for i in self.l: pass",
        "for i in self.a_l:\n    _db_step(_db_f, 1)\n    pass",
    ),
    (
        "for i in (1, 2): pass",
        "for i in (1, 2):\n    _db_step(_db_f, 1)\n    pass",
    ),
    (
        "for i in PAIR: pass",
        "for i in (1, 2):\n    _db_step(_db_f, 1)\n    pass",
    ),
    (
        'raise ValueError("so", self.x)',
        "_db_fail(_db_f, 10, 1, 0.0)\nraise RuntimeError",
    ),
    (
        "raise ValueError",
        "_db_fail(_db_f, 10, 1, 0.0)\nraise RuntimeError",
    ),
    (
        "raise ValueError()",
        "_db_fail(_db_f, 10, 1, 0.0)\nraise RuntimeError",
    ),
    (
        "raise",
        "_db_fail(_db_f, 10, 1, 0.0)\nraise RuntimeError",
    ),
    (
        "assert self.x",
        "if not _db_truth(self.a_x):\n    _db_fail(_db_f, 10, 1, 0.0)\n    raise RuntimeError",
    ),
    (
        'assert self.x, "said"',
        "if not _db_truth(self.a_x):\n    _db_fail(_db_f, 10, 1, 0.0)\n    raise RuntimeError",
    ),
    (
        "assert self.x, self.x + 1",
        "if not _db_truth(self.a_x):\n    _db_fail(_db_f, 10, 1, 0.0)\n    raise RuntimeError",
    ),
    (
        '"""a text"""\npass',
        "pass",
    ),
    (
        "x = None",
        "x = None",
    ),
    (
        "x = True",
        "x = True",
    ),
    (
        "x = twice(1)",
        "x = _db_1_twice(_db_f, 1, 1)",
    ),
    (
        "x = twice(plus=3, x=2)",
        "x = _db_1_twice(_db_f, 2, 3)",
    ),
    (
        "x = self._step(1)",
        "x = _db_1__step(_db_f, self, 1, 2)",
    ),
    (
        "x = self._step(1, by=3)",
        "x = _db_1__step(_db_f, self, 1, 3)",
    ),
    (
        "x = conn.slow_start(1)",
        "x = _db_slow_start(_db_f, conn, 1, 1)",
    ),
    (
        "x = conn.slow_start(acked=1)",
        "x = _db_slow_start(_db_f, conn, 1, 1)",
    ),
    (
        "conn.cong_avoid_ai(1, 2)",
        "_db_cong_avoid_ai(_db_f, conn, 1, 2, 1)",
    ),
    (
        "conn.cong_avoid_ai(1, acked=2)",
        "_db_cong_avoid_ai(_db_f, conn, 1, 2, 1)",
    ),
    (
        "x = conn.random.random()",
        "x = _db_uniform(_db_f)",
    ),
    (
        "x = conn.random.below(3)",
        "x = _db_below(_db_f, _db_bit_or(_db_f, 3, 0, 1), 2)",
    ),
    (
        "x = min(1, 2, self.x)",
        "x = _db_min2(_db_f, _db_min2(_db_f, 1, 2, 1), self.a_x, 2)",
    ),
    (
        "x = max(self.l)",
        "x = _db_max2(_db_f, _db_item(_db_f, self.a_l, 0, 1), _db_item(_db_f, self.a_l, 1, 2), 3)",
    ),
    (
        "x = max(PAIR)",
        "x = _db_max2(_db_f, 1, 2, 1)",
    ),
    (
        "x = min((1, 2))",
        "x = _db_min2(_db_f, 1, 2, 1)",
    ),
    (
        "x = len(PAIR) + len(self.l) + len((1, 2, 3))",
        "x = _db_add(_db_f, _db_add(_db_f, 2, 2, 3), 3, 4)",
    ),
    (
        "x = math.pow(self.x, 2)",
        "x = _db_power(_db_f, _db_fraction(_db_f, self.a_x, 1), _db_fraction(_db_f, 2, 2), 3)",
    ),
    (
        "x = bool(self.x) + abs(self.x) + int(self.x) + float(self.x) + round(self.x)",
        "x = _db_add(_db_f, _db_add(_db_f, _db_add(_db_f, _db_add(_db_f, _db_truth(self.a_x), "
        "_db_absolute(_db_f, self.a_x, 1), 2), _db_whole(_db_f, self.a_x, 3), 4), _db_fraction(_db_f, "
        "self.a_x, 5), 6), _db_rounded(_db_f, self.a_x, 7), 8)",
    ),
    (
        "x = math.sqrt(self.x) + math.floor(2.5)",
        "x = _db_add(_db_f, _db_math_sqrt(_db_f, self.a_x, 1), _db_math_floor(_db_f, 2.5, 2), 3)",
    ),
    (
        "x = ack.rtt + conn.now",
        "x = _db_add(_db_f, _db_get_rtt(ack), _db_get_now(conn), 1)",
    ),
    (
        "x = conn.packets + 1",
        "x = _db_add(_db_f, _db_get_packets(conn), 1, 1)",
    ),
    (
        "x = conn.cwnd if self.x > 1 else ack.rtt",
        "x = _db_get_cwnd(conn) if _db_gt(_db_f, self.a_x, 1, 1) else _db_get_rtt(ack)",
    ),
    (
        "if not (self.x and not self.rate): pass",
        "if not (_db_truth(self.a_x) and (not _db_truth(self.a_rate))):\n    pass",
    ),
    (
        "if True: x = 3",
        "if _db_truth(True):\n    x = 3",
    ),
    (
        'if ack == "tx_start" or "nothing" != ack: pass',
        "if _db_event_is(ack, 0) or not _db_event_is(ack, -1):\n    pass",
    ),
    (
        "x = math.isnan(self.rate)",
        "x = _db_math_isnan(_db_f, self.a_rate, 1)",
    ),
    (
        "self.none = None",
        "_db_t1 = None\n_db_put_none(_db_f, self, _db_t1, 1)",
    ),
    (
        "x = self.is_late",
        "x = self.a_is_late",
    ),
    (
        "x = max(self.l, 3)",
        "x = _db_max2(_db_f, self.a_l, 3, 1)",
    ),
    (
        "for i in range(PAIR[0]):\n    if i: break\n    y = i",
        "for i in range(_db_bit_or(_db_f, _db_item(_db_f, (1, 2), 0, 1), 0, 2)):\n"
        "    _db_step(_db_f, 3)\n"
        "    if _db_truth(i):\n"
        "        break\n"
        "    y = i",
    ),
    (
        "self.x += 1 if self.x else 2",
        "_db_put_x(_db_f, self, _db_add(_db_f, self.a_x, 1 if _db_truth(self.a_x) else 2, 1), 2)",
    ),
    (
        "x = -1",
        "x = _db_neg(_db_f, 1, 1)",
    ),
    (
        "x, self.x = 1, 2",
        "_db_t1 = (1, 2)\n_db_t2 = _db_unpack(_db_t1, 2)\nx = _db_t2[0]\n_db_put_x(_db_f, self, _db_t2[1], 1)",
    ),
    (
        "return self.x",
        "return self.a_x",
    ),
    (
        "x = (1, self.x)",
        "x = (1, self.a_x)",
    ),
    (
        "x = PAIR[self.x]",
        "x = _db_item(_db_f, (1, 2), self.a_x, 1)",
    ),
    (
        "while 0:\n    self.x = 1\nself.x = 2",
        "while _db_truth(0):\n"
        "    _db_step(_db_f, 2)\n"
        "    _db_t1 = 1\n"
        "    _db_put_x(_db_f, self, _db_t1, 1)\n"
        "_db_t2 = 2\n"
        "_db_put_x(_db_f, self, _db_t2, 3)",
    ),
    (
        "while True:\n    while self.x: break\n    self.x = 3\nself.x = 2",
        "while _db_truth(True):\n"
        "    _db_step(_db_f, 3)\n"
        "    while _db_truth(self.a_x):\n"
        "        _db_step(_db_f, 1)\n"
        "        break\n"
        "    _db_t1 = 3\n"
        "    _db_put_x(_db_f, self, _db_t1, 2)\n"
        "_db_t2 = 2\n"
        "_db_put_x(_db_f, self, _db_t2, 4)",
    ),
    (
        "if self.x:\n    y = 1\n    return\nelse:\n    z = 1\n    return\nx = y",
        "if _db_truth(self.a_x):\n    y = 1\n    return\nelse:\n    z = 1\n    return",
    ),
    (
        "while self.x:\n    return\nself.x = 3",
        "while _db_truth(self.a_x):\n    _db_step(_db_f, 1)\n    return\n_db_t1 = 3\n_db_put_x(_db_f, self, _db_t1, 2)",
    ),
    (
        "for i in PAIR:\n    return\nself.x = 3",
        "for i in (1, 2):\n    _db_step(_db_f, 1)\n    return\n_db_t1 = 3\n_db_put_x(_db_f, self, _db_t1, 2)",
    ),
    (
        "assert False\nself.x = 3",
        "if not _db_truth(False):\n"
        "    _db_fail(_db_f, 10, 1, 0.0)\n"
        "    raise RuntimeError\n"
        "_db_t1 = 3\n"
        "_db_put_x(_db_f, self, _db_t1, 2)",
    ),
    (
        "raise math.nothing\nself.x = 3",
        "_db_fail(_db_f, 10, 1, 0.0)\nraise RuntimeError",
    ),
    (
        "x = Mine.LEVELS[0]",
        "x = _db_item(_db_f, (4, 5), 0, 1)",
    ),
    (
        "x = ack.cwnd.rtt",
        "x = _db_get_rtt(_db_get_cwnd(ack))",
    ),
    (
        "if self.x < 3 < conn.cwnd + 1: pass",
        "if _db_lt(_db_f, self.a_x, 3, 1) and _db_lt(_db_f, 3, _db_add(_db_f, _db_get_cwnd(conn), 1, 2), 3):\n    pass",
    ),
    (
        "if self.x is None: pass",
        "if self.a_x is None:\n    pass",
    ),
    (
        "if conn.now in {1, 2}: pass",
        "if _db_eq(_db_f, _db_get_now(conn), 1, 1) or _db_eq(_db_f, _db_get_now(conn), 2, 2):\n    pass",
    ),
    (
        "x = self._step(kind=1)",
        "x = _db_1__step(_db_f, self, 1, 2)",
    ),
    ("x = 1\nx += 2", "x = 1\nx = _db_add(_db_f, x, 2, 1)"),
    ("while self.x:\n    break\n    x = 1", "while _db_truth(self.a_x):\n    _db_step(_db_f, 1)\n    break"),
    (
        "while self.x:\n    if self.x:\n        y = 1\n    else:\n        continue\n    z = y",
        "while _db_truth(self.a_x):\n    _db_step(_db_f, 1)\n    if _db_truth(self.a_x):\n        y = 1\n    else:\n"
        "        continue\n    z = y",
    ),
    ("ack.cwnd.cwnd = 1", "_db_t1 = 1\n_db_set_cwnd(_db_get_cwnd(ack), _db_t1, 1)"),
]
"""Statements, and what they become."""

NOT_COMPILED: list[tuple[str, int, str]] = [
    (
        "self.x = self.x @ 2",
        1,
        "@ cannot be compiled",
    ),
    (
        "if 1 < conn.cwnd + 1 < 3: pass",
        1,
        "a chain of comparisons goes through names and numbers; write it with `and`",
    ),
    (
        "if self.none is self.x: pass",
        1,
        "`is` can be compiled with None alone; compare with ==",
    ),
    (
        "if self.x in (): pass",
        1,
        "`in` can be compiled with a name before it and a tuple behind it",
    ),
    (
        "if self.x in PAIR: pass",
        1,
        "`in` can be compiled with a name before it and a tuple behind it",
    ),
    (
        "if self.x + 1 in (1, 2): pass",
        1,
        "`in` can be compiled with a name before it and a tuple behind it",
    ),
    (
        'if ack.state == "tx_start" or "nothing" != ack.state: pass',
        1,
        "`ack.state` cannot be compiled: no connection, ACK or loss has it; did you mean `ca_state`?",
    ),
    (
        "x = HUGE",
        1,
        "9223372036854775808 has more than 64 bits",
    ),
    (
        "x = WORDS",
        1,
        "`WORDS` is a tuple, which cannot be compiled",
    ),
    (
        "x = twice",
        1,
        "`twice` is a function, which cannot be compiled",
    ),
    (
        "x = nothing",
        1,
        "there is no `nothing`",
    ),
    (
        "x = math.nothing",
        1,
        "there is no `math.nothing`",
    ),
    (
        "x = self",
        1,
        "`self` cannot be handed on; hand on what is needed of it",
    ),
    (
        "x = self.nothing",
        1,
        "`self.nothing` has no value after `__init__`",
    ),
    (
        "x = self._step",
        1,
        "`self._step` is a method, which can only be called",
    ),
    (
        "x = self._prop",
        1,
        "`self._prop` is a method, which can only be called",
    ),
    (
        "self.l = 3",
        1,
        "`self.l` is a list, whose items can be written, but which stays",
    ),
    (
        "self.y = 3",
        1,
        "`self.y` is written here first; `__init__` must give it a value",
    ),
    (
        "self = 3",
        1,
        "`self` cannot be written",
    ),
    (
        "conn.mss = 3",
        1,
        "`conn.mss` cannot be written; it can be read",
    ),
    (
        "conn.xyz = 3",
        1,
        "`conn.xyz` cannot be written; `conn` has cwnd, ssthresh, pacing_rate, cwnd_cnt, pacing_shift, "
        "app_limited to write",
    ),
    (
        "conn.cwdn += 1",
        1,
        "`conn.cwdn` cannot be compiled: no connection, ACK or loss has it; did you mean `cwnd`?",
    ),
    (
        "conn.random += 1",
        1,
        "`conn.random` can only be called",
    ),
    (
        "[a, b] = 1, 2",
        1,
        "a new list cannot be compiled",
    ),
    (
        "twice(1).x += 3",
        1,
        "twice(1).x += 3 cannot be compiled; write it out",
    ),
    (
        "if self.x:\n    y = 1\nz = y",
        3,
        "`y` may have no value here; give it one on every way",
    ),
    (
        "while self.x:\n    y = 1\nz = y",
        3,
        "`y` may have no value here; give it one on every way",
    ),
    (
        "while self.x: pass\nelse: pass",
        1,
        "`else` of a loop cannot be compiled",
    ),
    (
        "for i in range(1, self.x, 2):\n    y = i\nz = y",
        3,
        "`y` may have no value here; give it one on every way",
    ),
    (
        "for i in range(stop=3): pass",
        1,
        "a loop goes through a range, or through a list or tuple of numbers",
    ),
    (
        "for i in [1]: pass",
        1,
        "a loop goes through a range, or through a list or tuple of numbers",
    ),
    (
        "for i, j in PAIR: pass",
        1,
        "a loop with several variables cannot be compiled",
    ),
    (
        "for i in range(3): pass\nelse: pass",
        1,
        "`else` of a loop cannot be compiled",
    ),
    (
        "for i in range(3): pass\nx = i",
        2,
        "`i` may have no value here; give it one on every way",
    ),
    (
        'x = "text"',
        1,
        "'text' cannot be compiled; texts can be compared with an event alone",
    ),
    (
        'x = b"x"',
        1,
        "b'x' cannot be compiled; texts can be compared with an event alone",
    ),
    (
        "x = 3j",
        1,
        "3j cannot be compiled; texts can be compared with an event alone",
    ),
    (
        "x = ...",
        1,
        "Ellipsis cannot be compiled; texts can be compared with an event alone",
    ),
    (
        "try:\n    pass\nfinally: pass",
        1,
        "try cannot be compiled",
    ),
    (
        "with conn: pass",
        1,
        "with cannot be compiled",
    ),
    (
        "x = lambda: 3",
        1,
        "lambda cannot be compiled",
    ),
    (
        "x = [1]",
        1,
        "a new list cannot be compiled",
    ),
    (
        "x = [i for i in PAIR]",
        1,
        "a new list cannot be compiled",
    ),
    (
        "x = {i for i in PAIR}",
        1,
        "a set cannot be compiled",
    ),
    (
        "x = {1}",
        1,
        "a set cannot be compiled",
    ),
    (
        "x = {i: i for i in PAIR}",
        1,
        "a dictionary cannot be compiled",
    ),
    (
        'x = f"a"',
        1,
        "a text cannot be compiled",
    ),
    (
        "def f(): pass",
        1,
        "a function in a function cannot be compiled",
    ),
    (
        "class F: pass",
        1,
        "class cannot be compiled",
    ),
    (
        "del conn",
        1,
        "del cannot be compiled",
    ),
    (
        "import os",
        1,
        "import cannot be compiled",
    ),
    (
        "from os import path",
        1,
        "import cannot be compiled",
    ),
    (
        "global HALF",
        1,
        "global cannot be compiled",
    ),
    (
        "x = (i for i in PAIR)",
        1,
        "a generator cannot be compiled",
    ),
    (
        "match self.x:\n    case 1: pass",
        1,
        "match cannot be compiled",
    ),
    (
        "x = self.l[0:1]",
        1,
        "a slice cannot be compiled",
    ),
    (
        "x = (y := 3)",
        1,
        ":= cannot be compiled",
    ),
    (
        "async def f(): pass",
        1,
        "AsyncFunctionDef cannot be compiled",
    ),
    (
        "x = twice()",
        1,
        "`twice`: missing a required argument: 'x'",
    ),
    (
        "x = twice(**conn)",
        1,
        "** cannot be compiled",
    ),
    (
        "x = twice(*PAIR)",
        1,
        "* cannot be compiled",
    ),
    (
        "x = self._step()",
        1,
        "`self._step`: missing a required argument: 'kind'",
    ),
    (
        "x = self._prop()",
        1,
        "`self._prop` is no method that can be compiled",
    ),
    (
        "x = self.nothing()",
        1,
        "`self.nothing` is no method that can be compiled",
    ),
    (
        "x = conn.slow_start(1, 2)",
        1,
        "`conn.slow_start` takes acked",
    ),
    (
        "x = conn.slow_start(per=1)",
        1,
        "`conn.slow_start` takes acked",
    ),
    (
        "conn.cong_avoid_ai(per_increment=1, acked=2)",
        1,
        "write the arguments of `conn.cong_avoid_ai` in their order",
    ),
    (
        "conn.cong_avoid_ai(1)",
        1,
        "`conn.cong_avoid_ai` takes per_increment and acked",
    ),
    (
        "x = conn.slow_start",
        1,
        "`conn.slow_start` can only be called",
    ),
    (
        "x = conn.random",
        1,
        "`conn.random` can only be called",
    ),
    (
        "x = conn.random.random(1)",
        1,
        "`conn.random.random` cannot be compiled; there are random() and below(bound)",
    ),
    (
        "x = conn.random.random(x=1)",
        1,
        "`conn.random.random` cannot be compiled; there are random() and below(bound)",
    ),
    (
        "x = conn.random.below()",
        1,
        "`conn.random.below` cannot be compiled; there are random() and below(bound)",
    ),
    (
        "x = conn.random.below(bound=3)",
        1,
        "`conn.random.below` cannot be compiled; there are random() and below(bound)",
    ),
    (
        "x = min(self.x)",
        1,
        "`min` takes numbers, or a list or tuple of numbers",
    ),
    (
        "x = min()",
        1,
        "`min` cannot be called in a compiled class",
    ),
    (
        "x = len(conn.cwnd)",
        1,
        "`len` cannot be called in a compiled class",
    ),
    (
        "x = len(PAIR, 1)",
        1,
        "`len` cannot be called in a compiled class",
    ),
    (
        "x = math.pow(self.x)",
        1,
        "`math.pow` cannot be called in a compiled class",
    ),
    (
        "x = round(self.x, 2)",
        1,
        "`round` takes one argument in a compiled class",
    ),
    (
        "x = math.gcd(2)",
        1,
        "`math.gcd` cannot be called in a compiled class",
    ),
    (
        "x = operator.add(1, 2)",
        1,
        "`operator.add` cannot be called in a compiled class",
    ),
    (
        "x = int(x=3)",
        1,
        "`int` cannot be called in a compiled class",
    ),
    (
        "x = print(1)",
        1,
        "`print` cannot be called in a compiled class",
    ),
    (
        "y = x + 1\nx = 3",
        1,
        "`x` may have no value here; give it one on every way",
    ),
    (
        "max(*PAIR)",
        1,
        "* cannot be compiled",
    ),
    (
        "min(x=3)",
        1,
        "`min` cannot be called in a compiled class",
    ),
    (
        "x = max(self.l + 1)",
        1,
        "`max` takes numbers, or a list or tuple of numbers",
    ),
    (
        "x = abs(1, 2)",
        1,
        "`abs` takes one argument in a compiled class",
    ),
    (
        "for i in twice(1): pass",
        1,
        "a loop goes through a range, or through a list or tuple of numbers",
    ),
    (
        "x = 9223372036854775808",
        1,
        "9223372036854775808 has more than 64 bits",
    ),
    (
        "x = HALF.real",
        1,
        "`HALF.real` cannot be compiled: no connection, ACK or loss has it",
    ),
    (
        "x = State.SHUT",
        1,
        "there is no `State.SHUT`",
    ),
    (
        "x = self.x.y",
        1,
        "`self.x.y` cannot be compiled: no connection, ACK or loss has it",
    ),
    (
        "if None is self.x: pass",
        1,
        "`is` can be compiled with None alone; compare with ==",
    ),
    (
        "if self._step(1) in (1, 2): pass",
        1,
        "`in` can be compiled with a name before it and a tuple behind it",
    ),
    (
        "x = twice(1, 2, 3)",
        1,
        "`twice`: too many positional arguments",
    ),
    ("y = 1\nx += 2", 2, "`x` may have no value here; give it one on every way"),
    ("if self.x:\n    y = 1\nelse:\n    z = 2\nw = z", 5, "`z` may have no value here; give it one on every way"),
    ("if self.x:\n    y = 1\nelse:\n    z = 2\nw = y", 5, "`y` may have no value here; give it one on every way"),
    ("y = 1\nif self.x:\n    return\nw = z", 4, "there is no `z`"),
]
"""Statements, the line of them that is refused, and what is said."""


@pytest.mark.parametrize(("text", "becomes"), REWRITTEN)
def test_each_operation_becomes_a_call_with_the_number_of_its_place(text: str, becomes: str, tmp_path: Path) -> None:
    made = translator(tmp_path, text)
    assert normal(body(made, made.hook("on_ack"))) == normal(becomes)
    functions: list[ast.stmt] = list(made.made.functions.values())
    compile(ast.fix_missing_locations(ast.Module(functions, [])), "made", "exec")


@pytest.mark.parametrize(("text", "line", "said"), NOT_COMPILED)
def test_what_cannot_be_rewritten_is_refused_with_its_line(text: str, line: int, said: str, tmp_path: Path) -> None:
    made = translator(tmp_path, text)
    with pytest.raises(Refused) as refused:
        made.hook("on_ack")
    assert refused.value.message == f"`Mine.on_ack`, line {FIRST + line}: {said}"


def test_arguments_with_stars_are_refused_where_the_function_is(tmp_path: Path) -> None:
    made = translator(tmp_path, "x = late(1, by=2)")
    with pytest.raises(Refused, match=r"^`late`, line 22: arguments with \* cannot be compiled$"):
        made.hook("on_ack")


def test_a_place_has_its_function_file_line_text_and_what_it_raises(tmp_path: Path) -> None:
    made = translator(tmp_path, "self.x += 1\nraise ValueError('so', self.x)\n")
    made.hook("on_ack")
    file = str(next(tmp_path.glob("*.py")))
    assert [(site.function, site.file, site.line - FIRST, site.text, site.raised) for site in made.made.sites[1:]] == [
        ("on_ack", file, 1, "self.x += 1", ""),
        ("on_ack", file, 1, "self.x += 1", ""),
        ("on_ack", file, 2, "raise ValueError('so', self.x)", "ValueError: so, self.x"),
    ]
    assert made.made.sites[0].file == ""


@pytest.mark.parametrize(
    ("statement", "said"),
    [("raise ValueError", "ValueError"), ("raise ValueError()", "ValueError"), ("raise", "RuntimeError"),
     ("assert self.x", "AssertionError"), ("assert self.x, 'so'", "AssertionError: so"),
     ("assert self.x, self.x + 1", "AssertionError: self.x + 1"), ("raise math.inf", "math.inf")],
)  # fmt: skip
def test_what_is_raised_is_known_from_its_text(statement: str, said: str, tmp_path: Path) -> None:
    made = translator(tmp_path, statement)
    made.hook("on_ack")
    assert made.made.sites[-1].raised == said


def test_a_pass_of_a_loop_has_the_place_of_the_loop(tmp_path: Path) -> None:
    made = translator(tmp_path, "x = 1\nwhile self.x:\n    pass\nfor i in PAIR:\n    pass\n")
    made.hook("on_ack")
    assert [(site.line - FIRST, site.text) for site in made.made.sites[1:]] == [
        (2, "while self.x:"), (4, "for i in PAIR:"),
    ]  # fmt: skip


def test_a_function_beside_a_class_has_no_object(tmp_path: Path) -> None:
    made = translator(tmp_path, "return twice(conn.cwnd)")
    made.hook("on_ack")
    assert "def _db_1_twice(_db_f, x, plus):" in made.made.source()
    alone = translator(tmp_path, "pass")
    assert alone.function(alone.cls.on_ack.__globals__["twice"]) == "_db_0_twice"
    assert alone.made.source() == "def _db_0_twice(_db_f, x, plus):\n    return x"


def test_functions_are_rewritten_once_and_those_that_call_themselves_never(tmp_path: Path) -> None:
    made = translator(tmp_path, "x = twice(1) + twice(2) + self._step(3)")
    assert made.hook("on_ack") == "_db_0_on_ack"
    assert made.hook("on_ack") == "_db_0_on_ack"
    assert list(made.made.functions) == ["_db_1_twice", "_db_2__step", "_db_0_on_ack"]
    assert made.made.source("_db_1_twice") == "def _db_1_twice(_db_f, x, plus):\n    return x"
    assert made.made.source().count("def ") == 3
    endless = translator(tmp_path, "return self.on_ack(conn, ack)")
    with pytest.raises(Refused, match=r"`Mine\.on_ack` calls itself"):
        endless.hook("on_ack")


def test_a_function_may_have_the_name_of_the_hook_that_calls_it(tmp_path: Path) -> None:
    made = translator(tmp_path, "x = on_ack(1)")
    assert body(made, made.hook("on_ack")) == "x = _db_1_on_ack(_db_f, 1)"
    assert body(made, "_db_1_on_ack") == "return x"


def test_slots_are_those_that_are_used_and_may_be_known_to_hold_more(tmp_path: Path) -> None:
    made = translator(tmp_path, "x = self.x\ny = self.none", {"x": Slot("whole", may_be_none=True)}, is_float=True)
    made.hook("on_ack")
    assert made.made.slots == {"x": Slot("whole", may_be_none=True), "none": Slot("float", may_be_none=True)}
    assert "x = _db_own_x(self)" in made.made.source()
    reads = translator(tmp_path, "x = conn.cwnd + conn.ssthresh", is_float=True)
    reads.hook("on_ack")
    assert "_db_add(_db_f, _db_cwnd_as_float(conn), _db_get_ssthresh(conn), 1)" in reads.made.source()


class Half(float):
    """A float of a kind of its own."""


@pytest.mark.parametrize(
    ("value", "slot"),
    [
        (True, Slot("bool")), (3, Slot("whole")), (0.5, Slot("float")), (Half(0.5), Slot("float")),
        (None, Slot("float", may_be_none=True)), ([1, 2, 3], Slot("whole", length=3)),
        ([1, 0.5], Slot("float", length=2)), ([0.5], Slot("float", length=1)),
    ],
)  # fmt: skip
def test_an_attribute_has_a_slot_by_what_it_begins_with(value: object, slot: Slot) -> None:
    assert slot_of("mine", value) == slot


@pytest.mark.parametrize(
    ("value", "what"),
    [([], "an empty list"), ([True], "a list"), (["a"], "a list"), ((1, 2), "a tuple"), ("a", "a str"),
     (object(), "an object"), ({}, "a dict")],
)  # fmt: skip
def test_an_attribute_without_a_slot_is_refused(value: object, what: str) -> None:
    with pytest.raises(Refused) as refused:
        slot_of("mine", value)
    assert refused.value.message.startswith(f"`self.mine` holds {what}; compiled classes hold numbers")
    assert str(refused.value) == refused.value.message


def test_words_have_their_article() -> None:
    assert [article(word) for word in ("int", "Union", "float")] == ["an int", "an Union", "a float"]


# -- what went wrong --------------------------------------------------------------------------------------------------

SITE = Site("half", "/a/mine.py", 7, "return 1 // x", "ValueError: so")


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (Kind.ZERO, 0.0, "ZeroDivisionError: division by zero"),
        (Kind.INDEX, -7.0, "IndexError: index -7 out of range"),
        (Kind.DOMAIN, -0.25, "ValueError: math domain error (-0.25)"),
        (Kind.NO_INTEGER, math.nan, "ValueError: cannot convert float NaN to integer"),
        (Kind.NO_INTEGER, -math.inf, "OverflowError: cannot convert float infinity to integer"),
        (Kind.RAISED, 0.0, "ValueError: so"),
        (Kind.RETURNED, 0.0, "TypeError: `on_ack` returned a value, which means nothing: it must return None and write "
         "to `conn`"),
        (Kind.BELOW, -1.0, "OverflowError: conn.random.below(-1): it takes 0 to 2**32 - 1"),
        (Kind.CWND, 0.0, "ValueError: `conn.cwnd = 0`: it must lie between 1 and 2147483647 packets"),
        (Kind.CWND, 0.5, "ValueError: `conn.cwnd = 0.5`: it must lie between 1 and 2147483647 packets"),
        (Kind.CWND, math.nan, "ValueError: `conn.cwnd = NaN`: it must lie between 1 and 2147483647 packets"),
        (Kind.SSTHRESH, -1.0, "ValueError: `conn.ssthresh = -1`: it must lie between 0 and 2147483647 packets"),
        (Kind.CWND_CNT, -1.0, "ValueError: `conn.cwnd_cnt = -1`: it must lie between 0 and 2147483647 packets"),
        (Kind.PACING_SHIFT, 32.0, "ValueError: `conn.pacing_shift = 32`: it must lie between 0 and 31"),
        (Kind.ANSWER, 0.0, "ValueError: `what on_ack() returned = 0`: it must lie between 1 and 2147483647 packets"),
        (Kind.ANSWER_NONE, 0.0, "TypeError: `what on_ack() returned` must be a number, not NoneType (None)"),
    ],
)  # fmt: skip
def test_a_number_left_behind_says_what_an_interpreted_class_says(kind: Kind, value: float, said: str) -> None:
    told = faults.described("on_ack", int(kind), SITE, value).splitlines()
    assert told == [f"in `on_ack`, {said}", '  File "/a/mine.py", line 7, in half', "    return 1 // x"]
    assert faults.described("on_ack", int(kind), Site("", "", 0, "", SITE.raised), value) == told[0]


def test_rates_have_bounds_of_their_own() -> None:
    bounds = _core.machine_contract()["bounds"]
    for kind, least in ((Kind.PACING_RATE, "1"), (Kind.APP_LIMITED, "0")):
        told = faults.described("on_ack", int(kind), SITE, -1.0)
        assert f"= -1`: it must lie between {least} and {bounds['rate']:.0f} " in told
    assert faults.most(Kind.CWND) == bounds["cwnd"] != bounds["rate"]
    assert f"at most {bounds['acked']} packets" in faults.described("on_ack", int(Kind.ACKED), SITE, 1e9)


def test_every_kind_says_something() -> None:
    for kind in Kind:
        assert len(faults.described("on_ack", int(kind), SITE, 1.0).splitlines()[0]) > len("in `on_ack`, ")


def numba_says(text: str) -> str:
    made = Translation({}, [Site("", "", 0, ""), Site("f", "/a/mine.py", 7, "x = 1"), SITE], {})
    return refusals.said(Exception(text), made)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("No", "numba says: No"),
        ("\n\nFailed in nopython\n\x1b[1mDuring: x\n\x1b[0m  first \nsecond", "numba says: first"),
        ("", "numba says: Exception"),
        ('first\nFile "mine.py", line 7:\n', "line 7, `return 1 // x`: numba says: first"),
        ('first\nFile "/b/other.py", line 7\nDuring: typing of call at /a/mine.py (7)\n',
         "line 7, `return 1 // x`: numba says: first"),
        ('first\nFile "mine.py", line 8:\n', "numba says: first"),
        ("x\nraised a specific error:\n  TypingError: 3 values\nmore", "numba says: 3 values"),
        ("x\nraised a specific error:\n  InternalError: one\nraised a specific error:\n  TypingError: two",
         "numba says: two"),
        ("x\nraised a specific error:\n  TypingError: Failed in nopython", "numba says: x"),
        ("Cannot unify int64 and Tuple(float64, bool) for 'x.2', defined",
         "numba says: `x` is whole number here and Tuple(float, truth value) there"),
        ("Cannot unify Literal[int](3) and OptionalType(float64) for 'y', defined",
         "numba says: `y` is whole number here and float or None there"),
        ("Cannot unify none and unicode_type for 'y', defined", "numba says: `y` is None here and text there"),
        ("Cannot unify Conn(a, b) and Event(int64) for 'y', defined", "numba says: `y` is Conn here and event there"),
    ],
)  # fmt: skip
def test_what_numba_says_is_a_line_with_its_place(text: str, said: str) -> None:
    assert numba_says(text) == said


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("rshift", "Record(a(b)c), float64, int64, int64", "`>>` for float and whole number"),
        ("neg", "object, none, float64", "`-` for None and float"),
        ("neg", "Record(x), int64", "`-` for whole number"),
        ("add", "Record(x), Tuple(int64, float64), int64, Literal[int](4)",
         "`+` for Tuple(whole number, float) and whole number"),
        ("set_cwnd", "Conn(a, b), none, int64", "`cwnd` for None"),
        ("own_least", "Record(x)", "`least` for this"),
        ("unknown", "Record(x), bool", "`unknown` for truth value"),
        ("max2", "Record(x), unicode_type, boolean, int64", "`max` for text and truth value"),
    ],
)  # fmt: skip
def test_an_operation_that_is_not_there_is_called_by_its_sign(name: str, arguments: str, said: str) -> None:
    text = f"Use of\nFunction(<function {name} at 0x7>) found for signature:\n\n >>> {name}({arguments})\n\nmore"
    assert numba_says(text) == f"numba says: there is no {said}"


def test_a_definition_is_the_one_that_runs(tmp_path: Path) -> None:
    made = translator(tmp_path, "x = 1\nreturn self.__own")
    node, lines = definition(made.cls.on_ack)
    assert node.name == "on_ack"
    assert node.lineno == FIRST
    assert lines[FIRST].strip() == "def on_ack(self, conn, ack):"
    assert lines[FIRST + 2].strip() == "return self.__own"
    assert len(lines) == FIRST + 3
    assert "self._Mine__own" in ast.unparse(node)
    file = next(tmp_path.glob("*.py"))
    file.write_text(file.read_text().replace("x = 1", "x = 2"))
    with pytest.raises(Refused, match=r"`Mine\.on_ack` is not what its file says now; load it again"):
        definition(made.cls.on_ack)
    space: dict[str, Any] = {}
    exec("def made(): pass", space)
    with pytest.raises(Refused, match="the source of `made` is not to be found"):
        definition(space["made"])
    with pytest.raises(Refused, match="is not a plain function"):
        definition(lambda: None)  # type: ignore[arg-type]
    with pytest.raises(Refused, match=r"`Mine\._prop` is not a plain function"):
        definition(made.cls._prop.fget)


# -- the state of a flow ----------------------------------------------------------------------------------------------


class Stateful:
    """Has an attribute of each kind."""

    gain: float = 1.5

    def __init__(self) -> None:
        self.whole, self.least, self.is_late, self.counts = 3, None, True, [1, 2]
        self.shown: float = self.gain

    def on_ack(self, conn: db.Conn, ack: db.Ack) -> None:
        conn.cwnd = self.whole

    def observe(self) -> dict[str, float | None]:
        self.whole += 1
        return {"whole": self.whole, "least": self.least, "late": self.is_late, "sum": sum(self.counts)}


SLOTS = {
    "whole": Slot("whole"), "least": Slot("float", may_be_none=True), "is_late": Slot("bool"),
    "counts": Slot("whole", length=2), "shown": Slot("float"),
}  # fmt: skip


def stateful(slots: Mapping[str, Slot] = SLOTS) -> compiled.Machine:
    algorithm = own.load(own.named(Stateful), "")
    return compiled.Machine(algorithm, compiled._Code({}, slots), Translation({}, [Site("", "", 0, ""), SITE], {}))


def test_a_state_is_packed_as_its_slots_say() -> None:
    machine = stateful()
    instance, state, names = machine.start('{"gain": 2.5, "compiled": true}')
    assert names == ["whole", "least", "late", "sum"]
    # What is observed first may change the object, whose state is taken afterwards.
    assert struct.unpack("=qd??2qd", state) == (4, 0.0, True, True, 1, 2, 2.5)
    written = struct.pack("=qd??2qd", 7, 0.25, False, False, 5, 6, 1.0)
    values, after = machine.observe(instance, written, names)
    assert values == [8.0, 0.25, 0.0, 11.0]
    assert struct.unpack("=qd??2qd", after) == (8, 0.25, False, False, 5, 6, 1.0)
    none = struct.pack("=qd??2qd", 7, 9.0, True, False, 5, 6, 1.0)
    values, after = machine.observe(instance, none, names)
    assert math.isnan(values[1]) and values[0] == 8.0
    assert struct.unpack("=qd??2qd", after)[1:3] == (0.0, True)
    assert machine.described("on_ack", int(Kind.ZERO), 1, 0.0).startswith("in `on_ack`, ZeroDivisionError")
    assert stateful({}).start("{}")[1] == b""


def test_an_attribute_that_has_changed_what_it_holds_is_refused() -> None:
    def packed(**changes: object) -> str:
        machine = stateful()
        made: Any = machine.algorithm.instance("{}")
        for name, value in changes.items():
            setattr(made, name, value)
        with pytest.raises(TypeError) as error:
            machine._packed(made)
        return str(error.value)

    assert packed(whole=None) == "`self.whole` was a number and is None"
    assert packed(counts=[1]) == "`self.counts` was a list of 2 numbers and is [1]"
    assert packed(counts=(1, 2)) == "`self.counts` was a list of 2 numbers and is (1, 2)"
    assert packed(whole="a").startswith("an attribute of the class has changed what it holds: ")
    assert packed(whole=2**63).startswith("an attribute of the class has changed what it holds: ")


def test_what_cannot_be_compiled_at_all_is_said_before_anything_is() -> None:
    pytest.importorskip("numba")

    def refused(cls: type) -> str:
        with pytest.raises(own.LoadError) as error:
            compiled.machine(own.load(own.named(cls), ""), "{}")
        return error.value.message

    def kernel(**methods: Any) -> type:
        known = {"ssthresh": lambda self, conn: 2, "cong_avoid": lambda self, conn, acked: None}
        return type("Mine", (), {**known, **methods})

    assert refused(kernel(begins_reduction=lambda self: None)) == (
        "`Mine` cannot be compiled: `begins_reduction` cannot be compiled"
    )
    stamps = refused(kernel(ack_timestamps=lambda self, value_ms, echo_ms: None))
    assert stamps == "`Mine` cannot be compiled: `ack_timestamps` cannot be compiled"

    class Raises(Stateful):
        def __init__(self) -> None:
            raise ValueError("no")

    assert refused(Raises).endswith(".Raises.__init__`: ValueError: no")

    class Twice(Stateful):
        def __init__(self) -> None:
            self.one = [1]
            self.other = [1]
            self.third = self.one

    assert refused(Twice).endswith("`self.one` and `self.third` are one list; let each have its own")
