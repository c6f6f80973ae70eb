"""Mistakes in an algorithm of one's own: each gives its message, and none hangs or ends the process."""

from __future__ import annotations

import sys
import textwrap
import threading
from pathlib import Path
from typing import NamedTuple

import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import guard

HEAD = "import dumbbell\n"
ON_ACK = "def on_ack(self, conn, ack): pass"
GROWS = "def on_ack(self, conn, ack): conn.cwnd += ack.packets / conn.cwnd"


class Mistake(NamedTuple):
    """A body of the class, and what is said of it."""

    body: str
    says: tuple[str, ...]
    cc: str = 'python = "mine.py:Mine"'
    """Entries of `cc`."""
    head: str = HEAD


def raising(statement: str, *says: str) -> Mistake:
    """A mistake that shows with the first ACK."""
    return Mistake(f"def on_ack(self, conn, ack): {statement}", ("failed at", "in `on_ack`", *says))


LOADING = {
    "typo-in-a-hook": Mistake(
        f"{ON_ACK}\ndef on_los(self, conn, loss): pass", ("`Mine.on_los` is never called", "`on_loss`")
    ),
    "only-a-typo": Mistake(
        "def on_acks(self, conn, ack): pass", ("`Mine.on_acks` is never called", "did you mean `on_ack`?")
    ),
    "unknown-hook": Mistake(f"{ON_ACK}\ndef on_packet(self): pass", ("`Mine.on_packet` is never called", "Hooks are")),
    "no-hook": Mistake("pass", ("`Mine` has no hook", "def on_ack(self, conn, ack):")),
    "no-on-ack": Mistake("def on_loss(self, conn, loss): pass", ("but no `on_ack`",)),
    "two-levels": Mistake(
        f"{ON_ACK}\ndef ssthresh(self, conn): return 2", ("`on_ack`, and `ssthresh`", "hooks of one kind")
    ),
    "no-ssthresh": Mistake("def cong_avoid(self, conn, acked): pass", ("`Mine` has no `ssthresh`",)),
    "no-growth": Mistake("def ssthresh(self, conn): return 2", ("one of `cong_avoid` and `cong_control`",)),
    "missing-argument": Mistake(
        "def on_ack(self, conn): pass", ("cannot be called with (conn, ack)", "def on_ack(self, conn, ack):")
    ),
    "no-self": Mistake("def on_ack(conn, ack): pass", ("cannot be called with (conn, ack)",)),
    "property": Mistake("@property\ndef on_ack(self): return 1", ("`Mine.on_ack` is a property",)),
    "value-for-a-hook": Mistake("on_ack = 3", ("`Mine.on_ack` is a value (3)",)),
    "async": Mistake("async def on_ack(self, conn, ack): pass", ("`async`, and nobody would wait",)),
    "generator": Mistake("def on_ack(self, conn, ack): yield", ("has a `yield`",)),
    "constructor-with-arguments": Mistake(
        f"def __init__(self, gain): self.gain = gain\n{ON_ACK}",
        ("cannot be called without arguments", "'gain'", "gain: float = 1.5"),
    ),
    "syntax-error": Mistake("def on_ack(self, conn, ack)\n    pass", ("mine.py, line 3: SyntaxError", "def on_ack")),
    "missing-package": Mistake(
        ON_ACK,
        ("mine.py, line 1: the package `no_such_package` is missing", "pip install"),
        head="import no_such_package.part\n",
    ),
    "raises-when-loaded": Mistake(ON_ACK, ("mine.py, line 1: ZeroDivisionError",), head="x = 1 / 0\n"),
    "exits-when-loaded": Mistake(
        ON_ACK, ("mine.py, line 1: sys.exit(3) was called",), head="import sys; sys.exit(3)\n"
    ),
    "runs-an-experiment": Mistake(
        ON_ACK,
        ("mine.py runs an experiment while it is loaded", "__main__"),
        head="import dumbbell\ndumbbell.run({'path': {'rate': '1mbit', 'rtt': '9ms'}, 'flows': [{'cc': 'reno'}]})\n",
    ),
    "import-cycle": Mistake(ON_ACK, ("ImportError", "import each other"), head="from beside import x\n"),
    "missing-file": Mistake(
        ON_ACK, ("there is no file `mines.py`", "did you mean `mine.py`?"), 'python = "mines.py:Mine"'
    ),
    "missing-class": Mistake(
        ON_ACK, ("`mine.py` has no class `Main`", "did you mean `Mine`?"), 'python = "mine.py:Main"'
    ),
    "no-class-named": Mistake(ON_ACK, ("`mine.py` names no class", "write mine.py:Mine"), 'python = "mine.py"'),
    "no-class": Mistake(
        ON_ACK, ("`mine.py:make` is a function, not a class",), 'python = "mine.py:make"', "def make(): pass\n"
    ),
    "unknown-parameter": Mistake(
        f"gain: float = 1.5\n{ON_ACK}",
        ("has no parameter `gian`", "did you mean `gain`?"),
        'python = "mine.py:Mine", gian = 2',
    ),
    "no-default": Mistake(
        f"gain: float\n{ON_ACK}",
        ("has no parameter `gain`", "has no default: write gain: float = 1.5"),
        'python = "mine.py:Mine", gain = 2',
    ),
    "out-of-range": Mistake(
        f'gain: float = dumbbell.parameter(1.5, range=(1, 3), unit="packets")\n{ON_ACK}',
        ("`gain = 9.0`: it must lie between 1 and 3 packets (the default is 1.5)", "a.toml:5:"),
        'python = "mine.py:Mine", gain = 9.0',
    ),
    "wrong-type": Mistake(
        f"gain: float = 1.5\n{ON_ACK}",
        ('`gain = "fast"`: it must be a number',),
        'python = "mine.py:Mine", gain = "fast"',
    ),
    "fraction-for-a-count": Mistake(
        f"depth: int = 2\n{ON_ACK}",
        ("`depth = 2.5`: it must be a whole number",),
        'python = "mine.py:Mine", depth = 2.5',
    ),
    "default-out-of-range": Mistake(
        f"gain: float = dumbbell.parameter(9.0, range=(1, 3))\n{ON_ACK}", ("lies outside of its range",)
    ),
    "default-of-another-type": Mistake(
        f"gain: float = 'x'\n{ON_ACK}", ("is declared as float, but its default is 'x'",)
    ),
    "reserved-parameter": Mistake(f"library: float = 1.0\n{ON_ACK}", ("`Mine.library` cannot be a parameter",)),
    "unknown-ecn": Mistake(f"ecn = 'on'\n{ON_ACK}", ("`Mine.ecn` is 'on'", "accurate")),
}

RUNNING = {
    "raises": raising("1 / 0", "ZeroDivisionError: division by zero", "mine.py", "line 3"),
    "raises-in-the-tenth-second": Mistake(
        "def on_ack(self, conn, ack):\n    if conn.now > 10: raise ValueError('late')",
        ("failed at 10.", "ValueError: late"),
    ),
    "constructor-raises": Mistake(
        f"def __init__(self): self.x = {{}}['x']\n{ON_ACK}", ("in `__init__`, KeyError: 'x'",)
    ),
    "observes-what-is-not-there-yet": Mistake(
        f"{GROWS}\ndef on_start(self, conn): self.x = 1\ndef observe(self): return {{'x': self.x}}",
        ("in `observe` right after `__init__`, AttributeError", "'x'"),
    ),
    "negative-window": raising("conn.cwnd = -3", "`conn.cwnd = -3`", "between 1 and 2147483647 packets"),
    "no-number": raising("conn.cwnd = float('nan')", "`conn.cwnd = NaN`"),
    "huge-window": raising("conn.cwnd = 10 ** 30", "`conn.cwnd = "),
    "text-for-a-window": raising("conn.cwnd = '20'", "`conn.cwnd` must be a number, not str"),
    "none-for-a-window": raising("conn.cwnd = None", "`conn.cwnd` must be a number, not NoneType"),
    "truth-for-a-window": raising("conn.cwnd = True", "`conn.cwnd` must be a number, not bool"),
    "negative-rate": raising("conn.pacing_rate = -1", "`conn.pacing_rate` is left to the transport"),
    "no-rate": Mistake(
        "wants_pacing = True\ndef on_ack(self, conn, ack): conn.pacing_rate = 0",
        ("`conn.pacing_rate = 0`: it must lie between 1 and", "bytes per second"),
    ),
    "rate-without-pacing": raising("conn.pacing_rate = 10 ** 6", "say `wants_pacing = True` in the class"),
    "unknown-attribute": raising("conn.cwdn = 3", "'cwdn'", "did you mean `cwnd`?"),
    "reads-an-unknown-attribute": raising("print(ack.rrt)", "did you mean `rtt`?"),
    "deletes-an-attribute": raising("del conn.cwnd", "delete"),
    "writes-to-an-ack": raising("ack.packets = 3", "packets"),
    "adds-to-an-ack": raising("ack.mine = 3", "'mine'"),
    "returns-a-window": raising("return conn.cwnd + 1", "returned 11, which means nothing", "write to `conn`"),
    "calls-exit": raising("__import__('sys').exit(4)", "sys.exit(4) was called"),
    "recursion": raising("self.on_ack(conn, ack)", "RecursionError"),
    "none-arithmetic": raising("conn.cwnd += self.nothing", "AttributeError"),
    "rtt-may-be-none": Mistake("def on_ack(self, conn, ack): ack.rtt + None", ("TypeError",)),
    "text-from-ssthresh": Mistake(
        "def ssthresh(self, conn): return '10'\ndef cong_avoid(self, conn, acked): conn.cwnd += 100",
        ("in `ssthresh`", "must be a number, not str"),
    ),
    "nothing-from-ssthresh": Mistake(
        "def ssthresh(self, conn): pass\ndef cong_avoid(self, conn, acked): conn.cwnd += 100",
        ("in `ssthresh`", "must be a number, not NoneType"),
    ),
    "writes-in-ssthresh": Mistake(
        "def ssthresh(self, conn): conn.cwnd = 2; return 2\ndef cong_avoid(self, conn, acked): conn.cwnd += 100",
        ("`conn.cwnd` cannot be written in `ssthresh`, which answers by what it returns",),
    ),
    "paces-without-control": Mistake(
        "def ssthresh(self, conn): return 2\ndef cong_avoid(self, conn, acked): conn.pacing_rate = 1",
        ("is left to the transport",),
    ),
    "observes-without-end": Mistake(
        f"{GROWS}\ndef observe(self):\n    while True: pass",
        ("in `observe` right after `__init__`", "has not returned"),
    ),
    "observes-a-text": Mistake(
        f"{GROWS}\ndef observe(self): return {{'mode': 'fast'}}", ("in `observe`", "mode = 'fast'; a value is a number")
    ),
    "observes-no-table": Mistake(f"{GROWS}\ndef observe(self): return 3", ("it must return a dictionary",)),
    "observes-a-wrong-name": Mistake(f"{GROWS}\ndef observe(self): return {{'my rate': 3}}", ("lower-case letters",)),
    "observes-other-names": Mistake(
        f"n = 0\n{GROWS}\ndef observe(self):\n    self.n += 1\n    return {{f'x{{self.n > 5}}'.lower(): 1.0}}",
        ("`observe` named xfalse at first and xtrue now",),
    ),
    "changes-a-global": Mistake(
        "def on_ack(self, conn, ack):\n    global total\n    total += 1",
        ("has changed `total`", "from 0 to", "self.NAME"),
        head="total = 0\n",
    ),
    "changes-a-list-of-the-class": Mistake(
        "seen = []\ndef on_ack(self, conn, ack): self.seen.append(1)", ("has changed `Mine.seen`",)
    ),
    "seeds-its-random-numbers": raising("conn.random.seed(3)", "conn.random cannot be seeded"),
    "starts-a-thread": Mistake(
        f"def on_start(self, conn): threading.Thread(target=wait, name='mine', daemon=True).start()\n{ON_ACK}",
        ("has started a thread (mine)",),
        head="import threading\nend = threading.Event()\ndef wait(): end.wait()\n",
    ),
    "never-returns": Mistake(
        "def on_ack(self, conn, ack):\n    while True: pass", ("in `on_ack`", "has not returned", "loop for ever")
    ),
    "takes-all-memory": Mistake(
        "def on_ack(self, conn, ack):\n    self.all = []\n    while True: self.all.append('x' * 1000)",
        ("has grown by more than its runs may take",),
    ),
}


def written(folder: Path, mistake: Mistake) -> Path:
    """The experiment of a mistake."""
    body = textwrap.indent(mistake.body, "    ")
    (folder / "mine.py").write_text(f"{mistake.head}class Mine:\n{body}\n", encoding="utf-8")
    (folder / "beside.py").write_text("from mine import Mine\nx = 1\n", encoding="utf-8")
    file = folder / "a.toml"
    file.write_text(
        'duration = "12s"\npath = { rate = "5mbit", rtt = "20ms", loss = "1%" }\n\n'
        f"[[flows]]\ncc = {{ {mistake.cc} }}\n",
        encoding="utf-8",
    )
    return file


def test_there_are_many_mistakes() -> None:
    assert len(LOADING) + len(RUNNING) >= 60


@pytest.mark.parametrize("name", LOADING)
def test_a_mistake_that_shows_when_the_class_is_loaded(name: str, tmp_path: Path, dumbbell: Cli) -> None:
    file = written(tmp_path, LOADING[name])
    before = set(sys.path)
    done = dumbbell("run", file)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: ")
    for text in (*LOADING[name].says, "a.toml:5:", "flows[0].cc"):
        assert text in done.err
    assert set(sys.path) == before
    assert "mine" not in sys.modules


@pytest.mark.parametrize("name", RUNNING)
def test_a_mistake_that_shows_in_a_run(
    name: str, tmp_path: Path, dumbbell: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "never-returns":
        monkeypatch.setattr(guard, "CALL_S", 0.2)
    file = written(tmp_path, RUNNING[name])
    options = ["--max-memory", "200MiB"] if name == "takes-all-memory" else []
    done = dumbbell("run", file, *options)
    assert (done.status, done.out) == (2, "")
    for text in RUNNING[name].says:
        assert text in done.err
    for thread in threading.enumerate():
        if thread.name == "mine":
            sys.modules[thread._target.__module__].end.set()  # type: ignore[attr-defined]


def test_what_a_class_prints_is_not_among_the_results(tmp_path: Path, dumbbell: Cli) -> None:
    file = written(tmp_path, Mistake("def on_ack(self, conn, ack): print('x' * 100)", ()))
    done = dumbbell("run", file, "--json")
    assert done.status == 0
    assert done.out.startswith("{")
    assert "x" * 100 not in done.out
    assert "x" * 100 in done.err


def test_a_process_that_is_ended_by_the_class_is_an_error_of_its_point(tmp_path: Path) -> None:
    file = written(tmp_path, Mistake("def on_ack(self, conn, ack): __import__('os')._exit(7)", ()))
    with pytest.raises(db.RunError, match=r"the process of this run ended with status 7\n.*os\._exit"):
        db.sweep(file, repeat=2, jobs=2).collect()


def test_an_exception_in_a_process_says_what_it_says_here(tmp_path: Path) -> None:
    file = written(tmp_path, RUNNING["raises"])
    with pytest.raises(db.RunError, match="in `on_ack`, ZeroDivisionError: division by zero"):
        db.sweep(file, repeat=2, jobs=2).collect()


def test_a_file_that_is_no_python_is_refused_with_its_line_and_reason(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("class Mine:\n    def on_ack(self, conn ack):\n        pass\n")
    flows = [{"cc": {"python": f"{file}:Mine"}}]
    with pytest.raises(db.ScenarioError, match=r"broken\.py, line 2: SyntaxError: invalid syntax"):
        db.run({"duration": "1s", "path": {"rate": "1mbit", "rtt": "20ms"}, "flows": flows})
