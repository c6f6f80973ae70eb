"""Algorithms of one's own: finds a class in a file, checks it, and says what is wrong with it.

Loading a file runs its code. Only what runs experiments loads any: results, reports and the schema are read without.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib.util
import inspect
import json
import math
import re
import sys
import threading
import traceback
import types
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NoReturn, get_origin

from dumbbell import _core
from dumbbell.contract import Parameter, Random
from dumbbell.meant import meant

SIMPLE: Mapping[str, tuple[str, ...]] = {
    "on_start": ("conn",),
    "on_ack": ("conn", "ack"),
    "on_loss": ("conn", "loss"),
    "on_timeout": ("conn",),
}
"""The hooks of a class that begins with an idea, with what they are called with."""

KERNEL: Mapping[str, tuple[str, ...]] = {
    "init": ("conn",),
    "ssthresh": ("conn",),
    "cong_avoid": ("conn", "acked"),
    "cong_control": ("conn", "ack"),
    "begins_reduction": (),
    "ack_timestamps": ("value_ms", "echo_ms"),
    "pkts_acked": ("conn", "acked", "rtt_us", "in_flight"),
    "in_ack_event": ("conn", "flags"),
    "packet_lost": ("conn", "loss"),
    "set_state": ("conn", "state"),
    "cwnd_event": ("conn", "event"),
    "undo_cwnd": ("conn",),
    "min_tso_segs": ("conn",),
}
"""The hooks of a class that ports a module of the kernel: those of ``struct tcp_congestion_ops``."""

HOOKS: Mapping[str, tuple[str, ...]] = {**SIMPLE, **KERNEL, "observe": ()}

KINDS = {bool: "bool", int: "int", float: "float", str: "str"}
"""Types of parameters."""

RESERVED = ("name", "base", "python", "library", "sha256")
"""Keys beside parameters in an experiment file."""

SETTINGS = ("wants_pacing", "ecn", "sndbuf_expand")
"""Attributes of a class that are no parameters."""

COMPILED = "compiled"
"""The parameter of every class that says whether numba makes machine code of it; an attribute is its default."""

ECN = ("none", "classic", "accurate", "l4s")

UNSAVED = "unsaved"
"""What the digest of a class begins with whose code is in no file."""

EXAMPLE = "def on_ack(self, conn, ack):\n          conn.cwnd += ack.packets / conn.cwnd"

_HOOK = "dumbbell_hook"
"""Attribute of an exception with the name of the method that raised it, where that is not the one that was called."""
_COLUMN = re.compile(r"[a-z][a-z0-9_]*")
_objects: dict[str, type] = {}
_algorithms: dict[tuple[str, str], Algorithm] = {}
_loading = threading.local()
_lock = threading.RLock()


class LoadError(Exception):
    """An algorithm cannot be used; ``message`` says why, ``help`` what would be right."""

    def __init__(self, message: str, help: str) -> None:  # noqa: A002 - the word of all errors
        super().__init__(message)
        self.message = message
        self.help = help


@dataclass(frozen=True)
class Algorithm:
    """A class that has been checked."""

    cls: type
    text: str
    """What names it from any folder."""
    digest: str
    files: Sequence[str]
    hooks: Sequence[str]
    declared: str
    """Its parameters as JSON."""
    module: types.ModuleType | None

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        lines = (self.cls.__doc__ or "").strip().splitlines()
        return lines[0].rstrip(".") if lines else f"the class {self.cls.__qualname__}"

    @property
    def annotated(self) -> list[str]:
        """Attributes that are annotated and have no default, which makes them no parameters."""
        return [name for base in self.cls.__mro__[:-1] for name in _annotations(base) if not hasattr(self.cls, name)]

    @property
    def wants_pacing(self) -> bool:
        """Whether the sender paces."""
        return bool(getattr(self.cls, "wants_pacing", False))

    @property
    def ecn(self) -> str:
        """The congestion notification that both ends use."""
        return str(getattr(self.cls, "ecn", "none"))

    @property
    def sndbuf_expand(self) -> int:
        """How many windows the send buffer holds."""
        return int(getattr(self.cls, "sndbuf_expand", 2))

    def make(self, parameters: str, stream: _core.Stream) -> tuple[dict[str, Any], Random, list[str]]:
        """An object for a flow: its hooks, its random numbers, and what it lets be observed."""
        instance = self.instance(parameters)
        hooks = {name: getattr(instance, name) for name in self.hooks}
        return hooks, Random(stream), self.first_names(instance)

    def instance(self, parameters: str) -> object:
        """An object for a flow."""
        cls: Any = self.cls
        instance: object = cls.__new__(cls)
        for name, value in json.loads(parameters).items():
            if name != COMPILED:
                setattr(instance, name, value)
        instance.__init__()  # type: ignore[misc]
        return instance

    def first_names(self, instance: Any) -> list[str]:
        """What an object lets be observed, which the tables must know before its connection is there."""
        if "observe" not in self.hooks:
            return []
        try:
            return _names_of(instance.observe())
        except BaseException as error:
            error.__dict__[_HOOK] = "observe` right after `__init__"
            raise

    def observed(self, answer: object, names: Sequence[str]) -> list[float]:
        """The values of what ``observe`` returned, in the order of ``names``."""
        if (found := _names_of(answer)) != list(names):
            raise TypeError(
                f"`observe` named {', '.join(names) or 'nothing'} at first and {', '.join(found) or 'nothing'} now; "
                "it must always name the same values, with None for what is not known"
            )
        assert isinstance(answer, Mapping)
        return [math.nan if value is None else float(value) for value in answer.values()]

    def described(self, hook: str, error: BaseException, way: types.TracebackType | None) -> str:
        """What went wrong in a hook: what, where, and the way there."""
        where = f"in `{error.__dict__.get(_HOOK, hook)}`"
        if isinstance(error, SystemExit):
            what = f"{where}, sys.exit({error.code!r}) was called; raise an exception to end a run"
        elif isinstance(error, KeyboardInterrupt):
            what = f"{where}, interrupted"
        else:
            what = f"{where}, {type(error).__name__}: {error}{_hint(error)}"
        frames = [frame for frame in traceback.extract_tb(way) if frame.filename != __file__]
        shown = traceback.StackSummary.from_list(frames[:2] + frames[-3:] if len(frames) > 5 else frames).format()
        return "\n".join([what, *"".join(shown).rstrip().splitlines()])

    def state(self) -> dict[str, object]:
        """What a run must not change, because the next one would begin with it."""
        found: dict[str, object] = {}
        spaces: list[tuple[str, Mapping[str, Any]]] = [
            (f"{cls.__name__}.", vars(cls)) for cls in self.cls.__mro__ if cls.__module__ == self.cls.__module__
        ]
        if self.module is not None:
            spaces.append(("", vars(self.module)))
        for prefix, space in spaces:
            for name, value in list(space.items()):
                if not name.startswith("__") and isinstance(value, bool | int | float | str | list | dict | set | None):
                    copied = value.copy() if isinstance(value, list | dict | set) else value
                    found[prefix + name] = copied
        return found


def _names_of(answer: object) -> list[str]:
    if not isinstance(answer, Mapping):
        raise TypeError(f"`observe` returned {answer!r}; it must return a dictionary of names and numbers")
    for name, value in answer.items():
        if not isinstance(name, str) or not _COLUMN.fullmatch(name):
            raise TypeError(f"`observe` names a value {name!r}; a name is lower-case letters, digits and underscores")
        if isinstance(value, str) or not (value is None or hasattr(value, "__float__")):
            raise TypeError(f"`observe` gives {name} = {value!r}; a value is a number, or None where there is none")
    return list(answer)


def _hint(error: BaseException) -> str:
    """The attribute that was probably meant."""
    if not isinstance(error, AttributeError):
        return ""
    words = re.search(r"'(?:dumbbell\.)?(Conn|Ack|Loss)' object has no attribute '(\w+)'", str(error))
    if words is None:
        return ""
    known = [name for name in dir(getattr(_core, words[1])) if not name.startswith("_")]
    return "; " + (meant(words[2], known) or f"it has {', '.join(known)}")


# -- finding ----------------------------------------------------------------------------------------------------------


def load(text: str, folder: str) -> Algorithm:
    """The class that ``text`` names: ``FILE:CLASS``, relative to ``folder``, or what :func:`named` gave.

    Raises:
        LoadError: There is none, or it is no algorithm.
    """
    cls = _objects.get(text)
    # What names a file means what is in that file, whatever was imported from it before.
    if cls is not None and (not is_saved(text) or _file_of(cls) is not None):
        return _of_object(cls, text)
    file, colon, name = text.rpartition(":")
    if not colon or not file or not name:
        file, name = text.rstrip(":"), ""
    path = Path(folder, file)
    if not path.is_file():
        beside = sorted(other.name for other in path.parent.glob("*.py")) if path.parent.is_dir() else []
        relative = ", relative to the experiment file" if not Path(file).is_absolute() else ""
        _refuse(f"there is no file `{file}`{relative}", meant(path.name, beside) or f"looked for {path}")
    path = path.resolve()
    source = path.read_bytes()
    with _lock:
        module = _executed(path, source)
    classes = [
        key for key, value in vars(module).items() if isinstance(value, type) and value.__module__ == module.__name__
    ]
    if not name:
        _refuse(f"`{text}` names no class", f"write {file}:{classes[0] if classes else 'CLASS'}")
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        there = f"it has {', '.join(classes)}" if classes else "it has no class"
        _refuse(f"`{file}` has no class `{name}`", f"{meant(name, classes)} {there}".strip())
    if not isinstance(found, type):
        _refuse(f"`{text}` is {_kind(found)}, not a class", "an algorithm is a class: each flow has an object of it")
    files = [path, *_beside(path)]
    digest = _digest(files, found)
    if path.read_bytes() != source:
        # It was saved meanwhile: the digest is that of another text.
        return load(text, folder)
    return _checked(found, f"{path}:{name}", digest, list(map(str, files)), module)


def named(cls: type) -> str:
    """A text that names a class for :func:`load` in this process, and in others if its code is in a file."""
    saved = _file_of(cls)
    with _lock:
        number = next((text for text, other in _objects.items() if other is cls and text.startswith(UNSAVED)), None)
        if saved is not None:
            text = f"{saved}:{cls.__qualname__}"
        else:
            text = number or f"{UNSAVED}-{len(_objects)}/{cls.__qualname__.rsplit('.', 1)[-1]}"
        _objects[text] = cls
    return text


def is_saved(text: str) -> bool:
    """Whether another process can load what ``text`` names."""
    return not text.startswith(f"{UNSAVED}-")


def is_loaded_elsewhere(text: str) -> bool:
    """Whether other processes are to load what ``text`` names: it is in a file that does nothing else.

    A script that runs experiments wherever it is loaded would run them there, too.
    """
    cls = _objects.get(text)
    if cls is None or cls.__module__ != "__main__":
        return is_saved(text)
    path = _file_of(cls)
    return path is not None and "__name__" in path.read_text(encoding="utf-8", errors="replace")


def algorithms_of(point: _core.Point) -> list[Algorithm]:
    """The classes that govern flows of a point."""
    own = ((text, digest) for key, text, digest in point.own_algorithms if key == "python")
    return [_algorithms[key] for key in own if key in _algorithms]


def _of_object(cls: type, text: str) -> Algorithm:
    module = sys.modules.get(cls.__module__)
    if (path := _file_of(cls)) is None:
        # Taken for another one each time: nobody knows whether a method was replaced meanwhile.
        return _checked(cls, text, f"{UNSAVED}-{uuid.uuid4().hex}", [], module)
    files = [path, *_beside(path)]
    return _checked(cls, text, _digest(files, cls), list(map(str, files)), module)


def _file_of(cls: type) -> Path | None:
    """The file of a class, if what is written there, and in the files beside it, is what it does."""
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if module is None or file is None or "<locals>" in cls.__qualname__ or not Path(file).is_file():
        return None
    path = Path(file).resolve()
    found: Any = module
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    beside = set(map(str, _beside(path)))
    modules = [other for other in list(sys.modules.values()) if getattr(other, "__file__", None) in beside]
    return path if found is cls and all(map(_is_current, (module, *modules))) else None


def _is_current(module: types.ModuleType) -> bool:
    """Whether the functions of a module are what its file says now."""
    path = Path(module.__file__ or "")
    try:
        written = set(_codes(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)))
    except (OSError, SyntaxError, ValueError):
        return False
    own = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
    classes = [value for value in own if isinstance(value, type)]
    functions = [value for space in (own, *(vars(cls).values() for cls in classes)) for value in space]
    return all(value.__code__ in written for value in functions if isinstance(value, types.FunctionType))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)


def _beside(path: Path) -> list[Path]:
    """The files in the folder of a file, and below it, that it imports, directly or through others."""
    found: dict[Path, None] = {}
    waiting = [path]
    while waiting:
        try:
            tree = ast.parse(waiting.pop().read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for name in names:
                for place in _places(path.parent, name.split(".")):
                    if place != path and place not in found and place.is_file() and _is_beside(place, path.parent):
                        found[place] = None
                        waiting.append(place)
    return sorted(found)


def _places(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    """The files that may be run where a name is imported: those of packages on the way, and a module."""
    for count in range(1, len(parts) + 1):
        package = folder.joinpath(*parts[:count])
        yield package / "__init__.py"
        yield package.with_suffix(".py")


def _digest(files: Sequence[Path], cls: type) -> str:
    """Digest of the texts of files, and of the plain globals that the methods of a class read."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    module = sys.modules.get(cls.__module__)
    functions = [value for value in vars(cls).values() if isinstance(value, types.FunctionType)]
    names = sorted({name for function in functions for name in function.__code__.co_names})
    for name in names:
        value = getattr(module, name, None)
        if isinstance(value, bool | int | float | str) and not name.startswith("__"):
            digest.update(f"{name}={value!r};".encode())
    return digest.hexdigest()


def _short(found: object) -> str:
    return _kind(found) if callable(found) else repr(found)


def _kind(found: object) -> str:
    return "a function" if callable(found) else f"a value ({found!r})"


# -- executing --------------------------------------------------------------------------------------------------------


def check_not_loading() -> None:
    """Refuses to run experiments while the file of an algorithm is loaded."""
    if getattr(_loading, "path", None) is not None:
        raise RuntimeError(
            f"{_loading.path.name} runs an experiment while it is loaded; put what is not part of the algorithm below "
            '`if __name__ == "__main__":`'
        )


def _executed(path: Path, source: bytes) -> types.ModuleType:
    """A fresh module of a file."""
    try:
        code = compile(importlib.util.decode_source(source), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        text = (getattr(error, "text", None) or "").rstrip()
        place = f"{path.name}, line {line}" if line else path.name
        _refuse(f"{place}: {type(error).__name__}: {getattr(error, 'msg', error)}", text.strip() or "mend the file")
    name = f"{path.stem}-{hashlib.sha256(str(path).encode() + source).hexdigest()[:12]}"
    module = types.ModuleType(name)
    module.__file__ = str(path)
    # Standard output carries results.
    module.__dict__["print"] = _print
    sys.modules[name] = module
    with _importable(path, module):
        try:
            exec(code, module.__dict__)
        except KeyboardInterrupt:
            _loading.interrupted = True
            _refuse(f"{path.name} was interrupted while it was loaded", "")
        except ModuleNotFoundError as error:
            if error.name is None or (path.parent / f"{error.name}.py").exists():
                _refuse_to_load(path, error)
            help_ = f"install it: pip install {error.name.partition('.')[0]}"
            _refuse(f"{_line_of(path, error)}: the package `{error.name}` is missing", help_)
        except BaseException as error:
            _refuse_to_load(path, error)
    return module


def _refuse_to_load(path: Path, error: BaseException) -> NoReturn:
    if isinstance(error, SystemExit):
        _refuse(f"{_line_of(path, error)}: sys.exit({error.code!r}) was called while it was loaded", "remove it")
    is_cycle = isinstance(error, ImportError) and error.path == str(path)
    cycle = "; do two files import each other?" if is_cycle else ""
    _refuse(f"{_line_of(path, error)}: {type(error).__name__}: {error}", f"loading the file runs it{cycle}")


def _line_of(path: Path, error: BaseException) -> str:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path.name}, line {lines[-1]}" if lines else path.name


def take_interrupt() -> bool:
    """Whether Ctrl-C came while a file was loaded, which is forgotten then."""
    found: bool = getattr(_loading, "interrupted", False)
    _loading.interrupted = False
    return found


@contextmanager
def _importable(path: Path, module: types.ModuleType) -> Iterator[None]:
    """Lets a file import those beside it, which are imported anew for each file."""
    before = dict(sys.modules)
    outer = getattr(_loading, "path", None)
    is_new = path.stem not in sys.modules
    sys.path.insert(0, str(path.parent))
    if is_new:
        sys.modules[path.stem] = module
    _loading.path = path
    try:
        yield
    finally:
        _loading.path = outer
        sys.path.remove(str(path.parent))
        if is_new:
            sys.modules.pop(path.stem, None)
        for name, other in list(sys.modules.items()):
            file = getattr(other, "__file__", None)
            if name not in before and other is not module and file is not None and _is_beside(Path(file), path.parent):
                del sys.modules[name]


def _is_beside(file: Path, folder: Path) -> bool:
    installed = {"site-packages", "dist-packages"} & set(file.parts) or file.is_relative_to(sys.prefix)
    return file.suffix == ".py" and file.is_relative_to(folder) and not installed


def _print(*values: object, **named: Any) -> None:
    """``print`` of a file of one's own, to standard error where nothing else is said."""
    named.setdefault("file", sys.stderr)
    builtins.print(*values, **named)


# -- checking ---------------------------------------------------------------------------------------------------------


def _refuse(message: str, help: str) -> NoReturn:  # noqa: A002 - the word of all errors
    raise LoadError(message, help) from None


def _checked(cls: type, text: str, digest: str, files: Sequence[str], module: types.ModuleType | None) -> Algorithm:
    name = cls.__qualname__
    _check_constructor(cls, name)
    hooks = _hooks_of(cls, name)
    _check_level(set(hooks), name)
    _check_settings(cls, name)
    declared = json.dumps(_parameters_of(cls, name))
    algorithm = Algorithm(cls, text, digest, files, hooks, declared, module)
    _algorithms[text, digest] = algorithm
    return algorithm


def _check_constructor(cls: type, name: str) -> None:
    init = inspect.getattr_static(cls, "__init__")
    if not isinstance(init, types.FunctionType):
        return
    try:
        inspect.signature(init).bind(None)
    except TypeError as error:
        _refuse(
            f"`{name}.__init__` cannot be called without arguments: {error}",
            "each flow makes its object without any; declare parameters as attributes of the class, gain: float = 1.5",
        )


def _hooks_of(cls: type, name: str) -> list[str]:
    found = []
    for attribute in dir(cls):
        if attribute.startswith("_"):
            continue
        static = inspect.getattr_static(cls, attribute)
        if attribute in HOOKS:
            _check_hook(cls, name, attribute, static)
            found.append(attribute)
        elif isinstance(static, types.FunctionType):
            near = meant(attribute, HOOKS, cutoff=0.75)
            if near or attribute.startswith("on_"):
                hooks = f"Hooks are {', '.join(HOOKS)}; a method for yourself begins with an underscore"
                _refuse(f"`{name}.{attribute}` is never called", f"{near} {hooks}".strip())
    return found


def _check_hook(cls: type, name: str, hook: str, static: object) -> None:
    written = f"def {hook}({', '.join(('self', *HOOKS[hook]))}):"
    if isinstance(static, property):
        _refuse(f"`{name}.{hook}` is a property, but must be a method", f"write {written}")
    if not isinstance(static, types.FunctionType):
        _refuse(f"`{name}.{hook}` is {_kind(static)}, but must be a method", f"write {written}")
    if inspect.iscoroutinefunction(static):
        _refuse(f"`{name}.{hook}` is `async`, and nobody would wait for it", f"write {written}")
    if inspect.isgeneratorfunction(static) or inspect.isasyncgenfunction(static):
        _refuse(f"`{name}.{hook}` has a `yield`, so that a call would run none of it", f"write {written}")
    try:
        inspect.signature(static).bind(None, *HOOKS[hook])
    except TypeError as error:
        _refuse(f"`{name}.{hook}` cannot be called with ({', '.join(HOOKS[hook])}): {error}", f"write {written}")


def _check_level(hooks: set[str], name: str) -> None:
    simple, kernel = sorted(hooks & set(SIMPLE)), sorted(hooks & set(KERNEL))
    if not simple and not kernel:
        _refuse(f"`{name}` has no hook, so that it would decide nothing", f"write at least\n      {EXAMPLE}")
    if simple and kernel:
        _refuse(
            f"`{name}` has `{simple[0]}`, and `{kernel[0]}`, which is one of the kernel's",
            f"take hooks of one kind: {', '.join(SIMPLE)}; or {', '.join(KERNEL)}",
        )
    if simple and "on_ack" not in hooks:
        _refuse(f"`{name}` has `{simple[0]}`, but no `on_ack`", f"its window would never grow: write\n      {EXAMPLE}")
    if kernel and "ssthresh" not in hooks:
        _refuse(f"`{name}` has no `ssthresh`", "the kernel asks it for the threshold of each reduction, in packets")
    if kernel and len(hooks & {"cong_avoid", "cong_control"}) != 1:
        _refuse(
            f"`{name}` must have one of `cong_avoid` and `cong_control`",
            "the first grows a window that Linux reduces, the second owns window and pacing rate in every state",
        )


def _check_settings(cls: type, name: str) -> None:
    pacing, ecn, expand = (getattr(cls, key, None) for key in SETTINGS)
    if pacing is not None and not isinstance(pacing, bool):
        _refuse(f"`{name}.wants_pacing` is {pacing!r}", "write wants_pacing = True, or leave it out")
    if ecn is not None and ecn not in ECN:
        _refuse(f"`{name}.ecn` is {ecn!r}", f"allowed are {', '.join(ECN)}")
    if not isinstance(compiled := getattr(cls, COMPILED, False), bool):
        _refuse(
            f"`{name}.{COMPILED}` is {_short(compiled)}", "write compiled = True, leave it out, or choose another name"
        )
    if expand is not None and (not isinstance(expand, int) or not 1 <= expand <= 16):
        _refuse(f"`{name}.sndbuf_expand` is {expand!r}", "it must be a whole number from 1 to 16")


def _parameters_of(cls: type, name: str) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for base in reversed(cls.__mro__[:-1]):
        annotations = _annotations(base)
        for key in dict.fromkeys((*annotations, *vars(base))):
            value = vars(base).get(key)
            is_declared = isinstance(value, Parameter)
            if key.startswith("_") or key in (*SETTINGS, COMPILED) or not (is_declared or key in annotations):
                continue
            annotation = annotations.get(key)
            if key not in vars(base) or _is_class_variable(annotation):
                continue
            if (read := _parameter(name, key, value, annotation)) is not None:
                found[key] = read
    compiled = {
        "name": COMPILED, "type": "bool", "default": getattr(cls, COMPILED, False), "minimum": None, "maximum": None,
        "unit": "", "meaning": "Run as machine code, which numba makes of the class.",
    }  # fmt: skip
    return [*found.values(), compiled]


def _annotations(cls: type) -> Mapping[str, Any]:
    try:
        return inspect.get_annotations(cls, eval_str=True)
    except Exception:
        # Names that exist for type checkers alone.
        return inspect.get_annotations(cls)


def _is_class_variable(annotation: object) -> bool:
    return annotation is ClassVar or get_origin(annotation) is ClassVar or str(annotation).startswith("ClassVar")


def _parameter(name: str, key: str, value: Any, annotation: object) -> dict[str, Any] | None:
    declared = value if isinstance(value, Parameter) else Parameter(value, None, None, "", "")
    default = declared.default
    if type(default) not in KINDS:
        if isinstance(value, Parameter):
            _refuse(f"the default of `{name}.{key}` is {default!r}", "a parameter is a number, a truth value or a text")
        return None
    kind = next((kind for kind in KINDS if annotation in (kind, kind.__name__)), type(default))
    if kind is float and type(default) is int:
        default = float(default)
    if type(default) is not kind:
        _refuse(f"`{name}.{key}` is declared as {kind.__name__}, but its default is {default!r}", "let both agree")
    if key in RESERVED:
        _refuse(f"`{name}.{key}` cannot be a parameter: the key means something else in `cc`", "choose another name")
    least, most = declared.least, declared.most
    if isinstance(default, float) and not math.isfinite(default):
        _refuse(f"the default of `{name}.{key}` is {default}", "a parameter is a finite number")
    if isinstance(default, int | float) and not (
        (least is None or least <= default) and (most is None or default <= most)
    ):
        _refuse(f"the default of `{name}.{key}`, {default}, lies outside of its range {least} to {most}", "mend one")
    return {
        "name": key, "type": KINDS[kind], "default": default, "minimum": least, "maximum": most,
        "unit": declared.unit, "meaning": declared.meaning,
    }  # fmt: skip
