"""From an experiment file (or a dictionary of the same shape) to its points."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from dumbbell import _core

Source: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""Path of an experiment file, or a dictionary of the same shape."""


def load(
    source: Source,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    seed: int | None = None,
    repeat: int | None = None,
) -> _core.Experiment:
    """Reads, validates and expands an experiment; raises ``ScenarioError`` with a located message."""
    settings = _overrides(set, seed=seed, repeat=repeat)
    if isinstance(source, Mapping):
        return _core.load_json(json.dumps(source), "<dict>", settings)
    return _core.load(_text(source), os.fspath(source), settings)


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise _core.ScenarioError(f"{os.fspath(path)}: cannot read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise _core.ScenarioError(f"{os.fspath(path)}: not UTF-8 text (byte {error.start})") from None


def _overrides(
    settings: Mapping[str, Any] | None, *, seed: int | None = None, repeat: int | None = None
) -> list[tuple[str, str]]:
    """Settings that replace what the file says, as ``key=value`` pairs of the command line."""
    pairs = [(key, value if isinstance(value, str) else _toml(value)) for key, value in (settings or {}).items()]
    if seed is not None:
        pairs.append(("seed", str(seed)))
    if repeat is not None:
        pairs.append(("sweep.repeat", str(repeat)))
    return pairs


def _toml(value: Any) -> str:
    """A value as TOML writes it in one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(str(key))} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
