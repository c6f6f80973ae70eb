"""What is found, checked and read of a class of one's own, without a run."""

from __future__ import annotations

import importlib
import json
import math
import sys
import textwrap
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import dumbbell as db
from dumbbell import guard, new_algorithm, own
from dumbbell.storage import OutputError

GROWS = "    def on_ack(self, conn, ack): conn.cwnd += 1\n"


class Base:
    def on_ack(self, conn: db.Conn, ack: db.Ack) -> None:
        conn.cwnd += 1


def checked(cls: type) -> own.Algorithm:
    return own.load(own.named(cls), "")


def refused(cls: type) -> own.LoadError:
    with pytest.raises(own.LoadError) as caught:
        checked(cls)
    assert str(caught.value) == caught.value.message
    return caught.value


def written(folder: Path, text: str, name: str = "mine.py") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def loading(folder: Path, text: str) -> tuple[str, str]:
    """What is said of a text that names no algorithm, and the help."""
    with pytest.raises(own.LoadError) as caught:
        own.load(text, str(folder))
    return caught.value.message, caught.value.help


# -- what a class says of itself --------------------------------------------------------------------------------------


def test_a_summary_is_the_first_line_of_the_documentation() -> None:
    class Told(Base):
        """Does this.

        And that.
        """

    assert checked(Told).summary == "Does this"
    assert checked(Base).summary == "the class Base"


def test_what_a_class_does_not_say_is_as_linux_has_it() -> None:
    class Says(Base):
        wants_pacing = True
        ecn = "l4s"
        sndbuf_expand = 3

    plain, says = checked(Base), checked(Says)
    assert (plain.wants_pacing, plain.ecn, plain.sndbuf_expand) == (False, "none", 2)
    assert (says.wants_pacing, says.ecn, says.sndbuf_expand) == (True, "l4s", 3)
    assert list(plain.hooks) == ["on_ack"]
    assert plain.cls is Base


@pytest.mark.parametrize(
    ("settings", "message", "help_"),
    [
        ({"wants_pacing": 1}, "wants_pacing` is 1", "write wants_pacing = True, or leave it out"),
        ({"ecn": "on"}, "ecn` is 'on'", "allowed are none, classic, accurate, l4s"),
        ({"compiled": 1}, "compiled` is 1", "write compiled = True, leave it out, or choose another name"),
        ({"compiled": lambda self: None}, "compiled` is a function", "choose another name"),
        ({"sndbuf_expand": 0}, "sndbuf_expand` is 0", "a whole number from 1 to 16"),
        ({"sndbuf_expand": 17}, "sndbuf_expand` is 17", "a whole number from 1 to 16"),
        ({"sndbuf_expand": 2.0}, "sndbuf_expand` is 2.0", "a whole number from 1 to 16"),
    ],
)
def test_a_setting_that_is_none_is_refused(settings: Mapping[str, Any], message: str, help_: str) -> None:
    error = refused(type("Mine", (Base,), dict(settings)))
    assert error.message == f"`Mine.{message}"
    assert error.help.endswith(help_)


@pytest.mark.parametrize(
    "settings",
    [{"wants_pacing": False}, *({"ecn": value} for value in own.ECN), {"sndbuf_expand": 1}, {"sndbuf_expand": 16},
     {"compiled": False}],
)  # fmt: skip
def test_settings_at_their_bounds_are_taken(settings: Mapping[str, Any]) -> None:
    algorithm = checked(type("Mine", (Base,), dict(settings)))
    assert all(getattr(algorithm.cls, name) == value for name, value in settings.items())


def test_an_annotation_without_a_default_is_told_and_no_parameter() -> None:
    class Other(Base):
        bare: int
        given: int = 3

    class Mine(Other):
        more: float

    algorithm = checked(Mine)
    assert algorithm.annotated == ["more", "bare"]
    assert [entry["name"] for entry in json.loads(algorithm.declared)] == ["given", "compiled"]


def test_parameters_have_a_type_a_default_a_range_a_unit_and_a_meaning() -> None:
    class Other(Base):
        first: int = 1
        gain: float = 2

    class Mine(Other):
        wants_pacing: bool = True
        compiled: bool = True
        gain: float = db.parameter(1.5, range=(1.5, None), unit="packets", meaning="How much.")
        plain = db.parameter(3, range=(None, 3))
        truth: bool = True
        word: str = "x"
        steps: int = 4
        shared: ClassVar[int] = 3
        also_shared: ClassVar = 4
        table: dict[str, int] = {}  # noqa: RUF012 - what is no parameter
        _mine: int = 5
        nothing = 6

    def entry(name: str, kind: str, default: Any, least: Any = None, most: Any = None, *words: str) -> dict[str, Any]:
        unit, meaning = words or ("", "")
        return {"name": name, "type": kind, "default": default, "minimum": least, "maximum": most, "unit": unit,
                "meaning": meaning}  # fmt: skip

    declared = json.loads(checked(Mine).declared)
    assert declared[-1].pop("meaning").startswith("Run as machine code")
    last = entry("compiled", "bool", True)
    del last["meaning"]
    by_name = {found["name"]: found for found in declared}
    assert [found["name"] for found in declared] == [
        "first", "gain", "truth", "word", "steps", "plain", "compiled",
    ]  # fmt: skip
    assert by_name == {
        "first": entry("first", "int", 1),
        "gain": entry("gain", "float", 1.5, 1.5, None, "packets", "How much."),
        "truth": entry("truth", "bool", True),
        "word": entry("word", "str", "x"),
        "steps": entry("steps", "int", 4),
        "plain": entry("plain", "int", 3, None, 3),
        "compiled": last,
    }
    (whole, *_) = json.loads(checked(type("Alone", (Base,), {"__annotations__": {"g": float}, "g": 2})).declared)
    assert repr(whole["default"]) == "2.0"
    assert json.loads(checked(Base).declared)[-1]["default"] is False


def test_annotations_that_are_texts_mean_what_they_say_and_those_that_mean_nothing_are_texts(tmp_path: Path) -> None:
    written(
        tmp_path,
        "from __future__ import annotations\nimport typing\nWhole = int\n"
        "class Mine:\n    shared: typing.ClassVar[int] = 3\n"
        f"    gain: Whole = 4\n    depth: float = 5\n{GROWS}class Other(Mine):\n    unknown: Nowhere = 1\n"
        "    rate: float = 2\n    also: ClassVar[int] = 3\n",
    )

    def parameters(name: str) -> list[tuple[str, str]]:
        declared = json.loads(own.load(f"mine.py:{name}", str(tmp_path)).declared)
        return [(entry["name"], entry["type"]) for entry in declared[:-1]]

    assert parameters("Mine") == [("gain", "int"), ("depth", "float")]
    assert parameters("Other") == [("gain", "int"), ("depth", "float"), ("unknown", "int"), ("rate", "float")]


def declaring(annotation: object, value: Any, name: str = "gain") -> type:
    return type("Mine", (Base,), {"__annotations__": {name: annotation}, name: value})


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (int, True, "`Mine.gain` is declared as int, but its default is True"),
        (int, 1.0, "`Mine.gain` is declared as int, but its default is 1.0"),
        (bool, 1, "`Mine.gain` is declared as bool, but its default is 1"),
        (float, True, "`Mine.gain` is declared as float, but its default is True"),
        (float, math.nan, "the default of `Mine.gain` is nan"),
        (float, math.inf, "the default of `Mine.gain` is inf"),
        (float, db.parameter(0.9, range=(1, 2)), "the default of `Mine.gain`, 0.9, lies outside of its range 1 to 2"),
        (float, db.parameter(2.1, range=(1, 2)), "the default of `Mine.gain`, 2.1, lies outside of its range 1 to 2"),
        (float, db.parameter(2.1, range=(None, 2)), "lies outside of its range None to 2"),
        (object, db.parameter([1]), "the default of `Mine.gain` is [1]"),  # type: ignore[type-var]
    ],
)
def test_a_default_that_cannot_be_is_refused(annotation: type, value: Any, message: str) -> None:
    assert message in refused(declaring(annotation, value)).message


@pytest.mark.parametrize("name", own.RESERVED)
def test_a_parameter_cannot_have_the_name_of_another_key(name: str) -> None:
    assert f"`Mine.{name}` cannot be a parameter" in refused(declaring(float, 1.0, name)).message


# -- hooks ------------------------------------------------------------------------------------------------------------


def hook(*names: str) -> Any:
    arguments = ", ".join(("self", *names))
    return eval(f"lambda {arguments}: None")


def with_hooks(*names: str, **others: Any) -> type:
    return type("Mine", (), {name: hook(*own.HOOKS[name]) for name in names} | others)


def test_every_hook_of_one_kind_may_be_there() -> None:
    kernel = [name for name in own.KERNEL if name != "cong_avoid"]
    for names in ([*own.SIMPLE, "observe"], [*kernel, "observe"], ["ssthresh", "cong_avoid"], ["on_ack"]):
        assert sorted(checked(with_hooks(*names)).hooks) == sorted(names)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "`Mine` has no hook"),
        (["observe"], "`Mine` has no hook"),
        (["on_loss"], "`Mine` has `on_loss`, but no `on_ack`"),
        (["on_ack", "on_loss", "ssthresh", "init"], "`Mine` has `on_ack`, and `init`, which is one of the kernel's"),
        (["cong_avoid"], "`Mine` has no `ssthresh`"),
        (["ssthresh"], "`Mine` must have one of `cong_avoid` and `cong_control`"),
        (["ssthresh", "cong_avoid", "cong_control"], "`Mine` must have one of `cong_avoid` and `cong_control`"),
    ],
)
def test_hooks_that_do_not_go_together_are_refused(names: list[str], message: str) -> None:
    assert refused(with_hooks(*names)).message.startswith(message)


@pytest.mark.parametrize("name", own.HOOKS)
def test_a_hook_takes_what_it_is_called_with(name: str) -> None:
    needed = ["ssthresh", "cong_avoid"] if name in own.KERNEL and name != "cong_control" else ["ssthresh"]
    others = ["on_ack"] if name not in own.KERNEL else needed
    cls = with_hooks(*others, **{name: hook(*own.HOOKS[name], "more")})
    arguments = ", ".join(own.HOOKS[name])
    error = refused(cls)
    assert error.message.startswith(f"`Mine.{name}` cannot be called with ({arguments}): missing a required argument")
    assert error.help == f"write def {name}({', '.join(('self', *own.HOOKS[name]))}):"


def test_what_cannot_be_called_is_no_hook() -> None:
    async def yields(self: object, conn: object, ack: object) -> Any:
        yield 1

    for value, said in (
        (yields, "has a `yield`"), (staticmethod(hook()), "is a function, but must be a method"),
        (property(hook()), "is a property"), ([1], "is a value ([1])"),
    ):  # fmt: skip
        assert f"`Mine.on_ack` {said}" in refused(type("Mine", (), {"on_ack": value})).message


def test_a_method_of_ones_own_has_its_own_name() -> None:
    assert list(checked(with_hooks("on_ack", _on_acks=hook(), helper=hook(), on_x=3)).hooks) == ["on_ack"]
    near = refused(with_hooks("on_ack", on_los=hook()))
    assert near.message == "`Mine.on_los` is never called"
    assert near.help.startswith("did you mean `on_loss`? Hooks are on_start, on_ack, ")
    far = refused(with_hooks("on_ack", on_packet_of_mine=hook()))
    assert far.help.startswith("Hooks are on_start, ")
    kernel = refused(with_hooks("on_ack", cong_avoided=hook()))
    assert "did you mean `cong_avoid`?" in kernel.help


def test_a_constructor_is_called_without_arguments() -> None:
    def optional(self: Any, gain: float = 1.0, *others: int, **named: int) -> None:
        self.gain = gain

    assert checked(type("Mine", (Base,), {"__init__": optional}))
    error = refused(type("Mine", (Base,), {"__init__": hook("gain")}))
    assert error.message == "`Mine.__init__` cannot be called without arguments: missing a required argument: 'gain'"


# -- objects ----------------------------------------------------------------------------------------------------------


class Observed(Base):
    gain: float = 1.0

    def __init__(self) -> None:
        self.seen = self.gain

    def observe(self) -> dict[str, Any]:
        return {"gain_2": self.seen, "unknown": None}


def test_an_object_has_its_parameters_before_it_is_made() -> None:
    algorithm = checked(Observed)
    made: Any = algorithm.instance('{"gain": 2.5, "compiled": true}')
    assert (made.seen, made.gain, hasattr(made, "compiled")) == (2.5, 2.5, False)
    hooks, numbers, names = algorithm.make("{}", db._core.Stream(1))
    assert sorted(hooks) == ["observe", "on_ack"]
    assert hooks["observe"]() == {"gain_2": 1.0, "unknown": None}
    assert 0 <= numbers.random() < 1
    assert names == ["gain_2", "unknown"]
    assert checked(Base).first_names(Base()) == []


def test_observed_values_are_numbers_in_the_order_of_their_names() -> None:
    algorithm = checked(Observed)
    first, second = algorithm.observed({"a": True, "b": None}, ["a", "b"])
    assert first == 1.0 and math.isnan(second)
    with pytest.raises(TypeError, match="named b, a at first and a, b now"):
        algorithm.observed({"a": 1, "b": 2}, ["b", "a"])
    with pytest.raises(TypeError, match="named nothing at first and a now"):
        algorithm.observed({"a": 1}, [])
    with pytest.raises(TypeError, match="named a at first and nothing now"):
        algorithm.observed({}, ["a"])
    for answer, said in (
        ([1], "returned \\[1\\]; it must return a dictionary"), ({3: 1}, "names a value 3"),
        ({"A": 1}, "names a value"),
        ({"a": "1"}, "a value is a number"), ({"a": [1]}, "a value is a number"), ({"1a": 1}, "names a value"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=said):
            algorithm.observed(answer, ["a"])


def failing(depth: int) -> None:
    if depth:
        failing(depth - 1)
    raise ValueError("deep")


def test_a_failure_is_told_with_the_beginning_and_the_end_of_its_way() -> None:
    algorithm = checked(Base)
    for depth, shown in ((2, 4), (3, 5), (4, 5), (9, 5)):
        try:
            failing(depth)
        except ValueError as error:
            told = algorithm.described("on_ack", error, error.__traceback__).splitlines()
            frames = traceback.extract_tb(error.__traceback__)
        assert told[0] == "in `on_ack`, ValueError: deep"
        assert sum(line.strip().startswith("File") for line in told) == shown
        assert f"line {frames[0].lineno}," in told[1]
        assert told[-1].strip().startswith('raise ValueError("deep")') or "^" in told[-1]
    assert algorithm.described("on_ack", SystemExit(4), None) == (
        "in `on_ack`, sys.exit(4) was called; raise an exception to end a run"
    )
    assert algorithm.described("on_ack", KeyboardInterrupt(), None) == "in `on_ack`, interrupted"


def test_a_failure_to_observe_at_first_is_told_so_and_not_through_the_package() -> None:
    class Mine(Observed):
        def observe(self) -> dict[str, Any]:
            raise ValueError("not yet")

    algorithm = checked(Mine)
    with pytest.raises(ValueError, match="not yet") as caught:
        algorithm.first_names(Mine())
    told = algorithm.described("on_ack", caught.value, caught.tb)
    assert told.startswith("in `observe` right after `__init__`, ValueError: not yet\n")
    assert "own.py" not in told


def test_an_unknown_attribute_is_answered_with_the_nearest_or_with_all() -> None:
    algorithm = checked(Base)

    def told(kind: str, name: str) -> str:
        return algorithm.described("on_ack", AttributeError(f"'{kind}' object has no attribute '{name}'"), None)

    assert told("dumbbell.Conn", "cwdn").endswith("'cwdn'; did you mean `cwnd`?")
    assert told("Ack", "xyzzy").endswith("packets, " + told("Ack", "xyzzy").partition("packets, ")[2])
    assert "; it has " in told("Loss", "xyzzy") and "_" not in told("Loss", "xyzzy").partition("; it has ")[2][:1]
    assert told("Mine", "cwdn").endswith("'cwdn'")
    other = ValueError("'Conn' object has no attribute 'cwdn'")
    assert algorithm.described("on_ack", other, None).endswith("'cwdn'")


def test_what_a_run_must_not_change_are_plain_values_of_the_class_and_its_file(tmp_path: Path) -> None:
    text = (
        "TOTAL = 3\nSEEN = [1]\nWORDS = {'a': 1}\nKNOWN = {1}\nNOTHING = None\nimport math\n"
        f"class Other:\n    depth = 2\n{GROWS}\nclass Mine(Other):\n    mine = 'x'\n    rate = 1.5\n"
    )
    file = written(tmp_path, text)
    algorithm = own.load("mine.py:Mine", str(tmp_path))
    before = algorithm.state()
    assert before == {
        "Mine.mine": "x", "Mine.rate": 1.5, "Other.depth": 2, "TOTAL": 3, "SEEN": [1], "WORDS": {"a": 1}, "KNOWN": {1},
        "NOTHING": None,
    }  # fmt: skip
    module: Any = algorithm.module
    module.SEEN.append(2)
    module.WORDS.clear()
    module.KNOWN.add(2)
    assert before["SEEN"] == [1] and before["WORDS"] == {"a": 1} and before["KNOWN"] == {1}
    assert algorithm.state()["SEEN"] == [1, 2]
    assert (algorithm.text, algorithm.files) == (f"{file}:Mine", [str(file)])


# -- finding ----------------------------------------------------------------------------------------------------------


def test_a_class_is_named_by_its_file_and_its_place_in_it(tmp_path: Path) -> None:
    nested = textwrap.indent(f"class Inner:\n{GROWS}", "    ")
    file = written(tmp_path, f"from math import pi\nclass Mine:\n{GROWS}{nested}def make(): pass\nVALUE = 3\n")
    assert own.load(f"{file}:Mine.Inner", "").text == f"{file}:Mine.Inner"
    assert own.load("mine.py:Mine", str(tmp_path)).cls.__name__ == "Mine"
    assert loading(tmp_path, "mine.py") == ("`mine.py` names no class", "write mine.py:Mine")
    assert loading(tmp_path, "mine.py:") == ("`mine.py:` names no class", "write mine.py:Mine")
    assert loading(tmp_path, "mine.py:Main") == (
        "`mine.py` has no class `Main`", "did you mean `Mine`? it has Mine"
    )  # fmt: skip
    assert loading(tmp_path, "mine.py:Zzz") == ("`mine.py` has no class `Zzz`", "it has Mine")
    assert loading(tmp_path, "mine.py:Mine.Zzz")[0] == "`mine.py` has no class `Mine.Zzz`"
    assert loading(tmp_path, "mine.py:make")[0] == "`mine.py:make` is a function, not a class"
    assert loading(tmp_path, "mine.py:VALUE")[0] == "`mine.py:VALUE` is a value (3), not a class"
    written(tmp_path, "x = 1\nfrom pathlib import Path\n")
    assert loading(tmp_path, "mine.py") == ("`mine.py` names no class", "write mine.py:CLASS")
    assert loading(tmp_path, "mine.py:Mine") == ("`mine.py` has no class `Mine`", "it has no class")


def test_a_file_that_is_not_there_is_told_with_the_nearest_or_where_it_was_looked_for(tmp_path: Path) -> None:
    written(tmp_path, "")
    assert loading(tmp_path, "mines.py:Mine") == (
        "there is no file `mines.py`, relative to the experiment file", "did you mean `mine.py`?"
    )  # fmt: skip
    assert loading(tmp_path, "zzz.txt:Mine")[1] == f"looked for {tmp_path / 'zzz.txt'}"
    nowhere = tmp_path / "nowhere" / "mine.py"
    assert loading(tmp_path, f"{nowhere}:Mine") == (f"there is no file `{nowhere}`", f"looked for {nowhere}")
    assert loading(tmp_path, "nowhere")[0] == "there is no file `nowhere`, relative to the experiment file"
    assert loading(tmp_path, ":Mine")[0] == "there is no file `:Mine`, relative to the experiment file"


def test_what_is_imported_from_beside_belongs_to_the_code_and_nothing_else_does(tmp_path: Path) -> None:
    written(
        tmp_path,
        "import json, beside\nfrom package.part import name\nfrom package import other\n"
        f"try:\n    import missing_of_mine\nexcept ImportError: pass\nclass Mine:\n{GROWS}",
    )
    for name, text in {
        "beside.py": "import deeper.below\nimport mine\n", "deeper/below.py": "x = 1\n", "package/__init__.py": "",
        "package/part.py": "from . import other\nname = 1\n", "package/other.py": "", "package/unused.py": "",
        "unused.py": "",
    }.items():  # fmt: skip
        written(tmp_path, text, name)
    files = own.load("mine.py:Mine", str(tmp_path)).files
    assert [str(Path(file).relative_to(tmp_path)) for file in files] == [
        "mine.py", "beside.py", "deeper/below.py", "package/__init__.py", "package/other.py", "package/part.py",
    ]  # fmt: skip
    assert not {"mine", "beside", "package", "package.part"} & sys.modules.keys()
    assert str(tmp_path) not in sys.path


def test_a_digest_follows_the_text_of_all_files_and_plain_globals_that_methods_read(tmp_path: Path) -> None:
    def digest(text: str, beside: str = "x = 1\n") -> str:
        written(tmp_path, beside, "beside.py")
        written(tmp_path, text)
        return own.load("mine.py:Mine", str(tmp_path)).digest

    text = f"import beside\nclass Mine:\n{GROWS}"
    first = digest(text)
    assert digest(text) == first
    assert len({first, digest(text + "\n"), digest(text, "x = 2\n")}) == 3
    reads = "import os\nGAIN = float(os.environ.get('GAIN_OF_MINE', 1))\nOTHER = GAIN\n" + (
        "class Mine:\n    def on_ack(self, conn, ack): conn.cwnd += GAIN\n"
    )
    with pytest.MonkeyPatch.context() as patched:
        one = digest(reads)
        unread = digest(reads.replace("+= GAIN", "+= 1"))
        patched.setenv("GAIN_OF_MINE", "2")
        assert digest(reads) != one
        assert digest(reads.replace("+= GAIN", "+= 1")) == unread


def test_what_a_file_does_wrong_while_it_is_loaded_is_told_with_its_line(tmp_path: Path) -> None:
    def told(text: str) -> tuple[str, str]:
        written(tmp_path, text)
        return loading(tmp_path, "mine.py:Mine")

    assert told("x = 1\ny = (\n")[0] == "mine.py, line 2: SyntaxError: '(' was never closed"
    assert told("x = 1\ny = (\n")[1] == "y = ("
    assert told("x = 1\n\n1 / 0\n") == ("mine.py, line 3: ZeroDivisionError: division by zero",
                                        "loading the file runs it")  # fmt: skip
    assert told("def f():\n    1 / 0\n\nf()\n")[0].startswith("mine.py, line 2: ")
    assert told("import sys\nsys.exit('no')\n") == (
        "mine.py, line 2: sys.exit('no') was called while it was loaded", "remove it"
    )  # fmt: skip
    assert told("import nowhere_of_mine.part\n") == (
        "mine.py, line 1: the package `nowhere_of_mine` is missing", "install it: pip install nowhere_of_mine"
    )  # fmt: skip
    assert told("raise ModuleNotFoundError('mine')\n")[0] == "mine.py, line 1: ModuleNotFoundError: mine"
    assert told("raise KeyboardInterrupt\n") == ("mine.py was interrupted while it was loaded", "")
    assert own.take_interrupt()
    assert not own.take_interrupt()
    written(tmp_path, "x = \x00 1\n")
    assert loading(tmp_path, "mine.py:Mine")[0].startswith("mine.py: ")
    assert str(tmp_path) not in sys.path


def test_experiments_are_not_run_while_a_file_is_loaded(tmp_path: Path) -> None:
    own.check_not_loading()
    written(tmp_path, "from dumbbell import own\nown.check_not_loading()\n", "beside.py")
    written(tmp_path, f"import beside\nclass Mine:\n{GROWS}")
    message, _ = loading(tmp_path, "mine.py:Mine")
    assert "RuntimeError: mine.py runs an experiment while it is loaded" in message
    own.check_not_loading()


def test_what_a_file_prints_goes_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, f"import sys\nprint('a', 'b', sep='-')\nprint('c', file=sys.stdout)\nclass Mine:\n{GROWS}")
    own.load("mine.py:Mine", str(tmp_path))
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("c\n", "a-b\n")


def test_a_class_in_a_file_is_named_by_it_and_one_without_by_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file = written(
        tmp_path, f"class Mine:\n{GROWS}\ndef make():\n    class Local(Mine): pass\n    return Local\n", "named_mine.py"
    )
    module = importlib.import_module("named_mine")
    assert own.named(module.Mine) == f"{file}:Mine"
    assert own.is_saved(f"{file}:Mine")
    assert own.is_loaded_elsewhere(f"{file}:Mine")
    assert list(own.load(f"{file}:Mine", "").files) == [str(file)]
    assert not own.is_saved(own.named(module.make()))
    # A script that does something wherever it is loaded is loaded nowhere else.
    monkeypatch.setitem(sys.modules, "__main__", module)
    monkeypatch.setattr(module.Mine, "__module__", "__main__")
    assert not own.is_loaded_elsewhere(f"{file}:Mine")
    file.write_text(file.read_text() + "if __name__ == 'x': pass\n")
    assert own.is_loaded_elsewhere(f"{file}:Mine")
    assert own.is_loaded_elsewhere("some.py:Class")
    other = type("Other", (Base,), {})
    text = own.named(other)
    assert text.startswith("unsaved-") and text.endswith("/Other")
    assert not own.is_loaded_elsewhere(text)
    algorithm = own.load(text, "")
    assert algorithm.digest.startswith("unsaved-")
    assert own.load(text, "").digest != algorithm.digest
    assert list(algorithm.files) == []


def test_algorithms_of_a_point_are_those_of_its_flows() -> None:
    point = SimpleNamespace(
        own_algorithms=[
            ("python", (one := checked(Base)).text, one.digest), ("library", one.text, one.digest),
            ("python", "nowhere.py:X", "0"),
        ]
    )  # fmt: skip
    assert own.algorithms_of(point) == [one]  # type: ignore[arg-type]


# -- what a class may do to a process ---------------------------------------------------------------------------------


def test_a_change_of_state_is_one_of_type_or_value_and_nan_is_itself() -> None:
    for old, new in ((1, 1.0), (1, True), (1.0, 2.0), ([1], [2]), (None, 0), ("a", "b")):
        assert not guard._same(old, new)
    for value in (1, math.nan, [1, 2], {"a": 1}, None):
        assert guard._same(value, value)
    assert guard._same(math.nan, float("nan"))
    # What cannot say whether it is equal is not blamed.
    assert guard._same([np.arange(2)], [np.arange(2)])
    assert guard._short("x" * 38) == "'" + "x" * 38 + "'"
    assert guard._short("x" * 39) == "'" + "x" * 36 + "..."
    algorithm = checked(Observed)
    guard._check_state(algorithm, algorithm.state())
    with pytest.raises(db.RunError, match=r"has changed `gone` of .* from 3 to None, and the next one would"):
        guard._check_state(algorithm, algorithm.state() | {"gone": 3})
    before = algorithm.state()
    del before["Observed.gain"]
    with pytest.raises(db.RunError, match=r"has changed `Observed\.gain` of .* from None to 1\.0"):
        guard._check_state(algorithm, before)


def test_the_hook_that_a_thread_is_in_is_the_outermost_frame_that_is_not_ours() -> None:
    frame = sys._getframe()
    found = guard._hook(frame)
    assert found is None, "nothing of the package is on the way here"
    seen: list[Any] = []

    class Mine(Base):
        def observe(self) -> dict[str, Any]:
            def deeper() -> None:
                seen.append(guard._hook(sys._getframe()))

            deeper()
            return {}

    checked(Mine).first_names(Mine())
    assert [one.f_code.co_name for one in seen] == ["observe"]
    assert guard._hook(None) is None
    assert guard._resident() > 1 << 20


# -- a project to begin with ------------------------------------------------------------------------------------------


def test_a_project_is_a_folder_of_files_that_name_the_algorithm(tmp_path: Path) -> None:
    names = {
        "python": ["mine.py"], "c": ["mine.c", "Makefile", "dumbbell_cc.h"],
        "rust": ["Cargo.toml", "src/lib.rs", "src/contract.rs"],
    }  # fmt: skip
    for language, own_files in names.items():
        files = new_algorithm.begin("mine", language, tmp_path / language / "deep")
        folder = tmp_path / language / "deep" / "mine"
        common = ["README.md", "mine.toml", "test_mine.py", ".gitignore"]
        assert [str(file.relative_to(folder)) for file in files] == [*common, *own_files]
        texts = {file.name: file.read_text() for file in files}
        assert not any("@NAME@" in text or "@PLACE@" in text or "@STEPS@" in text for text in texts.values())
        spoken = new_algorithm.LANGUAGES[language]
        assert f'{spoken.key} = "{spoken.place.replace("NAME", "mine")}"' in texts["mine.toml"]
        assert "dumbbell run mine.toml" in texts["README.md"]
        assert all(word in texts["README.md"] for word in (" ".join(spoken.build), "python -m unittest"))
    with pytest.raises(OutputError, match="mine is there already: choose another name"):
        new_algorithm.begin("mine", "python", tmp_path / "c" / "deep")


@pytest.mark.parametrize("name", ["", "Mine", "1a", "_a", "a-b", "a" * 42, "a b"])
def test_a_name_of_an_algorithm_is_small_letters_digits_and_underscores(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is no name for an algorithm"):
        new_algorithm.begin(name, "python", tmp_path)
    with pytest.raises(ValueError, match="--in java: choose from python, c, rust"):
        new_algorithm.begin("a" * 41, "java", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_project_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="mine: cannot make this folder: Not a directory"):
        new_algorithm.begin("mine", "python", tmp_path / "file")
    write = Path.write_text

    def failing_write(self: Path, *arguments: Any, **named: Any) -> int:
        if self.name == "mine.py":
            raise OSError(28, "No space left on device")
        return write(self, *arguments, **named)

    monkeypatch.setattr(Path, "write_text", failing_write)
    with pytest.raises(OutputError, match=r"mine\.py: cannot write: No space left on device"):
        new_algorithm.begin("mine", "python", tmp_path)
    assert not (tmp_path / "mine").exists()
