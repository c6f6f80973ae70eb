"""Classes of one's own that numba compiles: they decide as they do without, or are refused."""

from __future__ import annotations

import math
import operator
import random
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import _core, experiment, own, parallel
from test_own import OWN, PATH, SITUATIONS, columns, document, mine

pytest.importorskip("numba")

from dumbbell import compiled
from dumbbell.compiled import arithmetic, connection, engine
from dumbbell.compiled.faults import Kind

HOOKS = """\
import math

HALF = 0.5
CYCLE = (5, 3, 4)


def twice(x, plus=0):
    return 2 * x + plus


class Mine:
    '''Does a little of everything that can be compiled.'''

    gain: float = 1.5
    LEVELS = (1, 2.5, 4)

    def __init__(self):
        self.acks = self.losses = self.shown = 0
        self.rate = 0
        self.least = None
        self.is_late = False
        self.recent = [0.0] * 4
        self.counts = [0, 0, 0]
        self.name = "not used in a hook"
        self.__own = 1
        self.peak = 1e9

    def on_start(self, conn):
        conn.cwnd = twice(conn.cwnd, plus=2)

    def on_ack(self, conn, ack):
        self.acks += 1
        self.counts[self.acks % 3] += ack.packets
        if ack.rtt is not None:
            self.recent[self.acks % len(self.recent)] = ack.rtt
            if self.least is None or ack.rtt < self.least:
                self.least = ack.rtt
        if ack.rate is not None:
            self.rate = HALF * (self.rate + ack.rate)
        self.is_late |= conn.now > 3
        self.peak = max(self.peak, conn.cwnd)
        self.__own = self.__own + self.__next(1) & 1023
        total = 0.0
        for rtt in self.recent:
            total += rtt
        for number in range(-3, 7, 2):
            if number == 3:
                continue
            total += 1e-3 * number
        left, right = self.acks, -self.acks
        left, right = right, left
        while left < -1000:
            left //= 2
            if left % 7 == 0:
                break
        step = self._step(conn, kind=CYCLE[self.acks % 3]) + math.sqrt(total) * 1e-3 + left * 1e-7
        if conn.in_slow_start:
            conn.cwnd += ack.packets
        elif conn.random.random() < 0.9 or conn.random.below(3) == 1:
            conn.cwnd += self.gain * step * ack.packets / conn.cwnd
        conn.cwnd = min(conn.cwnd, 5000, max(self.LEVELS) * 1000)

    def __next(self, by):
        return by

    def _step(self, conn, kind):
        if kind in (3, 4) and not self.is_late:
            return 1
        return 0.9 if 2 < kind < 5 else self.LEVELS[kind - 6] / 4

    def on_loss(self, conn, loss):
        self.losses += loss.packets
        conn.cwnd = max(2, conn.cwnd * (0.8 if loss.by_mark else 0.7))
        if self.losses > 20:
            conn.ssthresh = int(conn.cwnd) - 1

    def on_timeout(self, conn):
        conn.cwnd = 1

    def observe(self):
        self.shown += 1
        peak, self.peak = self.peak, 0
        seen = {"peak": peak, "acks": self.acks, "rate": self.rate, "least": self.least, "shown": self.shown}
        return {**seen, "late": self.is_late, "own": self.__own, "sum": sum(self.counts), "losses": self.losses}
"""

KERNEL = """\
class Mine:
    wants_pacing = True

    def __init__(self):
        self.total = self.events = 0
        self.rtts = 0.0

    def init(self, conn):
        conn.pacing_rate = min(conn.max_pacing_rate, 1_000_000)

    def ssthresh(self, conn):
        return max(conn.cwnd // 2, 2)

    def undo_cwnd(self, conn):
        return max(conn.cwnd, conn.prior_cwnd)

    def min_tso_segs(self, conn):
        return 1 if conn.pacing_rate < 150_000 else 2

    def cong_control(self, conn, ack):
        EVERYTHING
        conn.cwnd = max(conn.cwnd + (1 if self.total & 3 else -1), 4)
        conn.pacing_rate = 500_000 + self.events * 1000 + 10_000 * conn.cwnd

    def pkts_acked(self, conn, acked, rtt_us, in_flight):
        self.total ^= acked * 3 + rtt_us + in_flight

    def in_ack_event(self, conn, flags):
        self.total ^= flags << 7

    def packet_lost(self, conn, loss):
        self.total ^= loss.tx_in_flight + loss.delivered + 3 * loss.lost + loss.packets
        self.total ^= loss.is_app_limited + loss.by_mark

    def set_state(self, conn, state):
        self.total ^= state << 3

    def cwnd_event(self, conn, event):
        if event == "tx_start":
            self.events += 1
        elif event in ("complete_cwr", "loss"):
            self.events += 100
        elif "no such" == event:
            self.events = -1

    def observe(self):
        return {"total": self.total & 0xFFFFFFFF, "events": self.events, "rtts": self.rtts}
"""


def everything() -> str:
    """A hook that reads every attribute that there is."""
    lines = []
    for name, of in (("conn", connection.OF_CONN), ("ack", connection.OF_ACK)):
        for attribute, code in of.items():
            if code.endswith("None"):
                lines.append(f"self.rtts += -1 if {name}.{attribute} is None else {name}.{attribute}")
            elif attribute == "now":
                lines.append(f"self.rtts += {name}.now")
            else:
                lines.append(f"self.total = (self.total * 31 ^ {name}.{attribute}) & 0xFFFFFFFFFF")
    return KERNEL.replace("EVERYTHING", "\n        ".join(lines))


def pair(cc: dict[str, Any], **settings: Any) -> tuple[db.Result, db.Result]:
    """A run of a class, interpreted and compiled."""
    flows = [{"cc": cc, "label": "one"}, {"cc": "cubic", "start": "3s"}]
    world = {"duration": "15s", "path": PATH, "flows": flows, "record": {"interval": "5ms"}}
    runs = [db.run(world, set={"flows[0].cc.compiled": is_compiled, **settings}) for is_compiled in (False, True)]
    return runs[0], runs[1]


def assert_same(one: db.Result, other: db.Result) -> None:
    assert one.meta.events == other.meta.events
    for name in ("flows", "series", "links", "link_series"):
        assert getattr(one, name).to_polars().equals(getattr(other, name).to_polars())


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("own_class", ["reno.py:Reno", "bbr.py:Bbr", "mine.py:Mine"])
def test_an_example_decides_compiled_as_it_does_without(own_class: str, situation: str) -> None:
    assert_same(*pair({"python": str(OWN / own_class)}, **SITUATIONS[situation]))


@pytest.mark.parametrize("situation", ["losses", "marks", "on-and-off", "quic", "disorder"])
@pytest.mark.parametrize("text", [HOOKS, everything()], ids=["idea", "port"])
def test_every_hook_and_every_attribute_is_the_same(text: str, situation: str, tmp_path: Path) -> None:
    one, other = pair({"python": f"{mine(tmp_path, text)}:Mine"}, **SITUATIONS[situation])
    assert_same(one, other)
    series = one.series.to_polars()
    assert series["cc_losses" if text == HOOKS else "cc_total"].n_unique() > 5


def test_every_attribute_of_the_contract_can_be_compiled() -> None:
    apart = {"random", "slow_start", "cong_avoid_ai"}
    for kind, known in (("Conn", connection.OF_CONN), ("Ack", connection.OF_ACK), ("Loss", connection.OF_LOSS)):
        names = {name for name in dir(getattr(_core, kind)) if not name.startswith("_")}
        assert names - apart == set(known)


# -- arithmetic -------------------------------------------------------------------------------------------------------

WHOLE = [0, 1, -1, 2, 3, -7, 10, 63, 64, 255, 2**31, -(2**31), 2**53, 2**53 + 1, -(2**62), 2**62, 2**63 - 1, -(2**63)]
FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.1,
    3.7,
    1e-300,
    1e300,
    -1e300,
    2.0**53,
    math.inf,
    -math.inf,
    math.nan,
]
OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "mod": operator.mod,
    "floordiv": operator.floordiv, "power": operator.pow, "lshift": operator.lshift, "rshift": operator.rshift,
    "bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "eq": operator.eq, "max2": max, "min2": min,
}  # fmt: skip
UNARY: dict[str, Callable[..., Any]] = {
    "neg": operator.neg, "pos": operator.pos, "invert": operator.invert, "absolute": abs, "whole": int,
    "fraction": float, "rounded": round,
}  # fmt: skip
ERRORS: dict[Kind, tuple[type[Exception], ...]] = {
    Kind.ZERO: (ZeroDivisionError,), Kind.SHIFT: (ValueError,), Kind.DOMAIN: (ValueError,),
    Kind.NO_INTEGER: (ValueError, OverflowError),
}  # fmt: skip


def numbers(seed: int) -> list[tuple[float, float]]:
    draw = random.Random(seed)
    drawn = [draw.choice([draw.randint(-(10**6), 10**6), draw.uniform(-1e4, 1e4)]) for _ in range(40)]
    return [(a, b) for a in (*WHOLE, *FLOATS, *drawn, True) for b in (*WHOLE, *FLOATS, *drawn[:12], False)]


def answered(function: Callable[..., Any], *values: Any) -> Any:
    """What Python answers, or the error that it raises."""
    try:
        # Python has room for more bits than a machine.
        return function(values[0], min(values[1], 200)) if function is operator.lshift else function(*values)
    except (ArithmeticError, ValueError) as error:
        return error


def compare(name: str, expected: Any, call: Callable[..., Any], *values: Any) -> None:
    """Compiled code gives what Python gives, or leaves what went wrong."""
    import numpy as np

    frame = np.zeros(1, engine.RECORDS["frame"])
    try:
        found = call(frame[0], *values)
    except RuntimeError:
        kind = Kind(int(frame[0]["kind"]))
        if kind is Kind.OVERFLOW:
            is_large = isinstance(expected, OverflowError) or not -(2**63) <= expected < 2**63 or math.isinf(expected)
            assert is_large, (name, values, expected)
        elif kind is Kind.INEXACT:
            assert any(type(value) is int and abs(value) > 2**53 for value in values), (name, values)
        elif kind is Kind.DOMAIN and name == "power":
            # Python goes on with a complex number.
            assert isinstance(expected, complex | OverflowError), (name, values, expected)
        else:
            assert isinstance(expected, ERRORS[kind]), (name, values, expected, kind)
        return
    assert not isinstance(expected, Exception), (name, values, found, expected)
    bits = (struct.pack("<d", float(found)), struct.pack("<d", float(expected)))
    assert bits[0] == bits[1] or (math.isnan(found) and math.isnan(expected)), (name, values, found, expected)
    if isinstance(expected, int) and not isinstance(found, float):
        assert int(found) == int(expected), (name, values)


def function_of(name: str, count: int) -> Any:
    import numba

    operation = arithmetic.MATH.get(name) or getattr(arithmetic, name)
    if count == 2:
        return numba.njit(lambda f, a, b: operation(f, a, b, 0))
    return numba.njit(lambda f, a: operation(f, a, 0))


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_on_two_numbers_are_those_of_python(name: str) -> None:
    call = function_of(name, 2)
    for a, b in numbers(len(name)):
        whole = not isinstance(a, float) and not isinstance(b, float)
        if (name in ("lshift", "rshift", "bit_and", "bit_or", "bit_xor") and not whole) or (name == "power" and whole):
            continue
        compare(name, answered(OPERATIONS[name], a, b), call, a, b)


@pytest.mark.parametrize("name", [*UNARY, *arithmetic.MATH])
def test_operations_on_one_number_are_those_of_python(name: str) -> None:
    call, function = function_of(name, 1), UNARY.get(name) or getattr(math, name)
    draw = random.Random(1)
    drawn = [draw.uniform(-50, 50) for _ in range(300)] + [draw.uniform(0, 1e-3) for _ in range(100)]
    for a in (*WHOLE, *FLOATS, *drawn, True):
        if name == "invert" and isinstance(a, float | bool):
            continue
        compare(name, answered(function, a), call, a)


# -- what goes wrong --------------------------------------------------------------------------------------------------

FAULTS = {
    "division": "conn.cwnd = conn.cwnd / (ack.lost - ack.lost)",
    "remainder": "conn.cwnd = 10 % (ack.lost - ack.lost)",
    "negative": "conn.cwnd = -3",
    "not a number": "conn.cwnd = 1e300 * 1e300 * 0",
    "threshold": "conn.ssthresh = -1",
    "rate": "conn.pacing_rate = 1000",
    "index": "conn.cwnd = (1, 2, 3)[conn.cwnd and int(conn.cwnd) + 5]",
    "list": "self.window[conn.mss] = 4",
    "none": "conn.cwnd += ack.rtt if ack.rtt is None else self.unknown",
    "domain": "conn.cwnd = math.log(-conn.now)",
    "integer": "conn.cwnd = int(conn.now * math.inf)",
    "raise": "raise ValueError('so much')",
    "assert": "assert conn.cwnd < 2, 'too much'",
    "returned": "return conn.cwnd",
    "helper": "conn.cwnd = half(ack.lost - ack.lost)",
}
FAULTY = """\
import math

def half(x):
    return 1 // x

class Wrong:
    def __init__(self):
        self.window, self.unknown = [1, 2], None

    def on_ack(self, conn, ack):
        if conn.now > 0.3:
            LINE
"""


def failure(cc: dict[str, Any], **settings: Any) -> str:
    with pytest.raises(_core.RunError) as error:
        db.run(document(cc), set=settings)
    return str(error.value)


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_says_what_an_interpreted_class_says(what: str, tmp_path: Path) -> None:
    cc = {"python": f"{mine(tmp_path, FAULTY.replace('LINE', FAULTS[what]))}:Wrong"}
    (first, *ours), (expected, *theirs) = (failure(cc | {"compiled": flag}).splitlines() for flag in (True, False))
    assert "in `on_ack`, " in first
    if what in ("remainder", "helper"):
        # Versions of Python differ in their words.
        assert "ZeroDivisionError" in first
        assert first.partition("ZeroDivisionError")[0] == expected.partition("ZeroDivisionError")[0]
    elif what in ("index", "list", "none", "domain", "integer", "returned"):
        words = {
            "integer": "cannot convert",
            "returned": "means nothing",
            "none": "TypeError",
            "domain": "math domain error",
        }
        assert words.get(what, "IndexError") in first
        assert first.partition("Error: ")[0] == expected.partition("Error: ")[0]
    else:
        assert first == expected
    # The line is shown, and where it is.
    if what == "returned":
        assert not ours
        return
    assert str(tmp_path / "mine.py") in ours[-2]
    if what == "none":
        return
    line = theirs[-1 if "~" not in theirs[-1] and "^" not in theirs[-1] else -2].strip()
    assert ours[-1].strip() == line


def test_whole_numbers_end_at_64_bits(tmp_path: Path) -> None:
    lines = ["class Mine:", "    def __init__(self):", "        self.x = 3", ""]
    file = mine(tmp_path, "\n".join([*lines, "    def on_ack(self, conn, ack):", "        self.x *= 3\n"]))
    said = failure({"python": f"{file}:Mine", "compiled": True})
    assert "OverflowError: a number is beyond the 64 bits" in said
    assert f'File "{file}", line 6, in on_ack\n    self.x *= 3' in said
    assert db.run(document({"python": f"{file}:Mine"})).flows.rows()


def test_what_compiled_code_cannot_name_ends_a_run_as_well(tmp_path: Path) -> None:
    loop = "for _ in range(1, 3, conn.mss - conn.mss):\n            pass"
    text = f"class Mine:\n    def on_ack(self, conn, ack):\n        {loop}\n"
    said = failure({"python": f"{mine(tmp_path, text)}:Mine", "compiled": True})
    assert "in `on_ack`, something went wrong that compiled code cannot name" in said


def test_a_loop_without_an_end_is_ended(tmp_path: Path) -> None:
    file = mine(tmp_path, "class Mine:\n    def on_ack(self, conn, ack):\n        while conn.cwnd:\n            pass\n")
    assert "does it loop for ever?" in failure({"python": f"{file}:Mine", "compiled": True})


REFUSED = {
    "deque": ("self.w.append(1)", "`self.w.append` cannot be called in a compiled class"),
    "holds": ("conn.cwnd = len(self.w)", "`self.w` holds a deque"),
    "deep": (f"conn.cwnd = max({', '.join(['conn.cwnd'] * 500)})", "an expression is too deep"),
    "text": ("conn.cwnd = 'x'", "'x' cannot be compiled"),
    "dictionary": ("x = {'a': 1}", "a dictionary cannot be compiled"),
    "fraction": ("conn.cwnd += 0.5; conn.cwnd = conn.cwnd >> 1", "there is no `>>` for float and whole number"),
    "name": ("conn.cwdn += 1", "did you mean `cwnd`?"),
    "other object": ("conn.cwnd += conn.packets", "`conn` has no `packets`"),
    "package": ("conn.cwnd = random.gauss(3, 1)", "`random.gauss` cannot be called"),
    "random": ("conn.cwnd = conn.random.gauss(3, 1)", "there are random() and below(bound)"),
    "try": ("try:\n            pass\n        finally:\n            pass", "try cannot be compiled"),
    "no value": ("if ack.lost:\n            x = 1\n        conn.cwnd += x", "`x` may have no value here"),
    "attribute": ("self.x = 1", "`__init__` must give it a value"),
    "recursion": ("self._again()", "`Mine._again` calls itself"),
    "kinds": ("x = (1, 2)\n        if ack.lost:\n            x = 3\n        y = x", "`x` is Tuple(whole number, whole"),
    "None": ("conn.cwnd = None", "there is no `cwnd` for None"),
    "list": ("self.l[0] = 0.5", "a fraction is written to a list of whole numbers"),
    "read only": ("ack.packets = 3", "`ack.packets` cannot be written"),
    "power": ("conn.cwnd = 2 ** ack.packets", "there is no `**` for whole number and whole number"),
    "self": ("g(self)", "`self` cannot be handed on"),
    "unpacked": ("a, b = 1, 2, 3", "3 values for 2 names"),
    "print": ("print(1)", "`print` cannot be called"),
    "truth": ("conn.cwnd = True", "`conn.cwnd` must be a number, not bool"),
}  # fmt: skip
BEGIN = """\
import random
from collections import deque

def g(x):
    return x

class Mine:
    def __init__(self):
        self.w, self.l = deque([1]), [1]

    def _again(self):
        return self._again()

    def on_ack(self, conn, ack):
        LINE
"""


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_compiled_is_refused(what: str, tmp_path: Path) -> None:
    line, said = REFUSED[what]
    cc = {"python": f"{mine(tmp_path, BEGIN.replace('LINE', line))}:Mine", "compiled": True}
    with pytest.raises(_core.ScenarioError) as error:
        experiment.load(document(cc))
    first, _, rest = str(error.value).partition("\n")
    assert first.startswith("error: `Mine` cannot be compiled: ")
    assert said in first
    assert "flows[0].cc.python" in rest
    assert "the class runs without it" in rest


def test_two_names_for_one_list_are_refused(tmp_path: Path) -> None:
    text = BEGIN.replace("self.w, self.l = deque([1]), [1]", "self.w = self.l = [1]").replace("LINE", "self.w[0] += 1")
    with pytest.raises(_core.ScenarioError, match=r"`self\.w` and `self\.l` are one list"):
        experiment.load(document({"python": f"{mine(tmp_path, text)}:Mine", "compiled": True}))


def test_a_wrong_class_ends_a_command_with_status_2(tmp_path: Path, dumbbell: Cli) -> None:
    mine(tmp_path, BEGIN.replace("LINE", "conn.cwnd = len(self.w)"))
    file = tmp_path / "a.toml"
    cc = '[[flows]]\ncc = { python = "mine.py:Mine", compiled = true }\n'
    file.write_text(f'duration = "1s"\npath = {{ rate = "10mbit", rtt = "40ms" }}\n{cc}')
    outcome = dumbbell("run", file)
    assert outcome.status == 2
    assert "`Mine.on_ack`, line 15: `self.w` holds a deque" in outcome.err
    assert "a.toml:4" in outcome.err


def test_numba_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(_core.ScenarioError, match=r'numba is missing(.|\n)*pip install "dumbbell\[compiled\]"'):
        experiment.load(document({"python": str(OWN / "reno.py:Reno"), "compiled": True}))


# -- how it is said ---------------------------------------------------------------------------------------------------


def test_a_class_may_say_so_itself(tmp_path: Path, dumbbell: Cli) -> None:
    file = mine(tmp_path, HOOKS.replace("    gain: float", "    compiled = True\n    gain: float"))
    point = experiment.load(document({"python": f"{file}:Mine"})).points[0]
    assert not point.is_interpreted
    assert experiment.load(document({"python": f"{file}:Mine", "compiled": False})).points[0].is_interpreted
    assert "Run as machine code" in dumbbell("cc", "show", f"{file}:Mine").out
    with pytest.raises(own.LoadError, match=r"`Mine\.compiled` is 3"):
        own.load(f"{mine(tmp_path, HOOKS.replace('gain: float = 1.5', 'compiled = 3'))}:Mine", "")


def test_compiled_and_interpreted_are_two_algorithms(tmp_path: Path) -> None:
    cc = {"python": f"{mine(tmp_path)}:Mine"}
    hashes = {experiment.load(document(cc | {"compiled": flag})).points[0].content_hash for flag in (True, False)}
    assert len(hashes) == 2


def test_a_class_that_is_in_no_file_is_compiled() -> None:
    class Local:
        def __init__(self) -> None:
            self.acks = 0

        def on_ack(self, conn: db.Conn, ack: db.Ack) -> None:
            self.acks += 1
            conn.cwnd = 20 if self.acks < 50 else 10.5

        def observe(self) -> dict[str, float]:
            return {"acks": self.acks}

    one, other = (db.run(document({"python": Local, "compiled": flag})) for flag in (False, True))
    assert columns(one.series).equals(columns(other.series))
    assert one.series.to_polars()["cc_acks"].equals(other.series.to_polars()["cc_acks"])


def test_a_sweep_compiles_once_and_runs_in_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dumbbell import processes

    cc = {"python": f"{mine(tmp_path, HOOKS)}:Mine"}
    swept = document(cc, duration="2s", sweep={"flows[0].cc.gain": [0.5, 1.0, 2.0, 4.0]})
    interpreted = db.sweep(swept, progress=False).collect()
    made: list[object] = []
    monkeypatch.setattr(processes, "Processes", lambda: made.append(1))
    before = len(compiled._codes)
    machine = db.sweep(swept, set={"flows[0].cc.compiled": True}, progress=False).collect()
    assert not made
    assert len(compiled._codes) <= before + 1
    one, other = (table.flows.to_polars().drop("cc", strict=False) for table in (interpreted, machine))
    assert one["goodput_mbps"].to_list() == other["goodput_mbps"].to_list()


@pytest.mark.parametrize("is_first", [True, False])
def test_interpreted_points_go_to_processes_wherever_they_are_in_a_sweep(is_first: bool, tmp_path: Path) -> None:
    algorithms = [{"python": f"{mine(tmp_path, HOOKS)}:Mine"}, {"name": "cubic"}]
    swept = document({"name": "reno"}, sweep={"flows[0].cc": algorithms if is_first else algorithms[::-1]})
    processes = parallel._processes(experiment.load(swept).points, 2)
    assert processes is not None
    processes.close()


def test_what_a_list_becomes_in_observe_is_checked(tmp_path: Path) -> None:
    text = HOOKS.replace("self.shown += 1", "self.counts = [1]")
    said = failure({"python": f"{mine(tmp_path, text)}:Mine", "compiled": True})
    assert "`self.counts` was a list of 3 numbers" in said
