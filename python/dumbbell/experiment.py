"""From an experiment file (or a dictionary of the same shape) to its points."""

from __future__ import annotations

import json
import math
import numbers
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from dumbbell import _core, arguments, own
from dumbbell.printable import one_line, printable

Source: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""Path of an experiment file, or a dictionary of the same shape."""


def load(
    source: Source,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    seed: int | None = None,
    repeat: int | None = None,
    name: str = "<dict>",
) -> _core.Experiment:
    """Reads, validates and expands an experiment; raises ``ScenarioError`` with a located message.

    ``name`` is where a message finds the keys of a dictionary.
    """
    with _printable_errors():
        settings = _checked(_overrides(set, seed=seed, repeat=repeat))
        if isinstance(source, Mapping):
            return _core.load_json(json.dumps(_plain(source, "", name)), name, settings)
        path = _path(source)
        return _core.load(_text(source), _check_text(path, path, ""), settings)


def load_text(
    text: bytes,
    name: str,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    seed: int | None = None,
    repeat: int | None = None,
    only_read: bool = False,
) -> _core.Experiment:
    """Resolves the text of an experiment file.

    Files that it names are relative to the folder of ``name``, which need be no file. With ``only_read`` no algorithm
    is loaded from a file, and the points of those that are named so cannot run.
    """
    with _printable_errors():
        settings = _checked(_overrides(set, seed=seed, repeat=repeat))
        return _core.load(_decoded(text, name), name, settings, only_read)


def written(
    source: Source,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
) -> tuple[str, bool, str, list[tuple[str, str]]]:
    """An experiment for whoever resolves it often: its text, whether that is JSON, its name, and what is set."""
    with _printable_errors():
        settings = _checked(_overrides(set))
        if isinstance(source, Mapping):
            return json.dumps(_plain(source, "", "<dict>")), True, "<dict>", settings
        path = _path(source)
        return _text(source), False, _check_text(path, path, ""), settings


def _path(source: str | os.PathLike[str]) -> str:
    path = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    if not isinstance(path, str):
        arguments.refuse("source", source, "the path of an experiment file, or a dictionary of the same shape")
    return path


MAX_DEPTH = 100
"""Deeper dictionaries contain themselves."""


def _plain(value: Any, key: str, source: str, depth: int = 0) -> Any:
    """``value`` in the types of JSON; whatever an experiment cannot hold is blamed on its key."""
    if depth > MAX_DEPTH:
        _refuse(source, key, "nested too deep; does it contain itself?")
    if isinstance(value, type):
        text = own.named(value)
        return text if key.endswith("python") else {"python": text}
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                _refuse(source, key, f"the key {name!r} is not a text")
            _check_text(name, source, key)
        return {name: _plain(entry, _below(key, name), source, depth + 1) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry, f"{key}[{index}]", source, depth + 1) for index, entry in enumerate(value)]
    if isinstance(value, str | os.PathLike):
        text = os.fspath(value)
        if not isinstance(text, str):
            _refuse(source, key, f"{text!r} is not a text")
        return _check_text(text, source, key)
    if value is None or isinstance(value, bool):
        return value
    # Numbers of NumPy are numbers too.
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        if not math.isfinite(number):
            _refuse(source, key, f"{number} is not a number that an experiment can hold; write a finite one")
        return number
    _refuse(source, key, f"cannot use {value!r}; write a text, a number, true or false, a list or a table")


def _check_text(text: str, source: str, key: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            _refuse(source, key, f"{text!r} is not Unicode text")
    return text


def _below(key: str, name: str) -> str:
    word = name if re.fullmatch(r"[\w-]+", name) else json.dumps(name, ensure_ascii=False)
    return f"{key}.{word}" if key else word


def _refuse(source: str, key: str, reason: str) -> NoReturn:
    raise _core.ScenarioError(f"error: {one_line(reason)}\n  --> {source}" + (f" ({one_line(key)})" if key else ""))


@contextmanager
def _printable_errors() -> Iterator[None]:
    """Messages quote files; nothing in them may command a terminal."""
    try:
        yield
    except _core.ScenarioError as error:
        if own.take_interrupt():
            raise KeyboardInterrupt from None
        raise _core.ScenarioError(printable(str(error))) from None


def _text(path: str | os.PathLike[str]) -> str:
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise _core.ScenarioError(f"{os.fspath(path)}: cannot read: {error.strerror or error}") from None
    return _decoded(content, os.fspath(path))


def _decoded(content: bytes, name: str | bytes) -> str:
    try:
        return content.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise _core.ScenarioError(f"{os.fsdecode(name)}: not UTF-8 text (byte {error.start})") from None


def _checked(settings: list[tuple[str, str]]) -> list[tuple[str, str]]:
    for key, value in settings:
        _check_text(value, "--set", _check_text(key, "--set", key))
    return settings


def _overrides(
    settings: Mapping[str, Any] | None, *, seed: int | None = None, repeat: int | None = None
) -> list[tuple[str, str]]:
    """Settings that replace what the file says, as ``key=value`` pairs of the command line."""
    pairs = [
        (key, value if isinstance(value, str) else toml(_plain(value, key, "--set")))
        for key, value in arguments.settings("set", settings, '{"path.rate": "5mbit"}').items()
    ]
    if seed is not None:
        pairs.append(("seed", str(seed)))
    if repeat is not None:
        pairs.append(("sweep.repeat", str(repeat)))
    return pairs


def toml(value: Any) -> str:
    """A value as TOML writes it in one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(str(key))} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
