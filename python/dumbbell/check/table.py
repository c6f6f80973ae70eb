"""Files in two parts: an ordinary experiment, and below a line such as ``[check]`` what it is for.

Values are read with their keys, so that what is wrong is told with file, key and value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dumbbell import _core, experiment
from dumbbell.meant import meant
from dumbbell.printable import one_line

if TYPE_CHECKING:
    from typing_extensions import Self


def files_of(folder: Path, what: str) -> list[Path]:
    """The files ``*.toml`` of a folder, by their names; ``what`` is what each of them is.

    Raises:
        ScenarioError: There are none.
    """
    files = sorted(folder.glob("*.toml")) if folder.is_dir() else []
    if not files:
        there = "no file *.toml in this folder" if folder.is_dir() else "there is no such folder"
        raise _core.ScenarioError(f"error: {there}\n  --> {folder}\n  help: {what} is a file such as 01-name.toml")
    return files


def read_parts(file: Path, word: str, *, swept: bool = False, bare: bool = False) -> tuple[str, Mapping[str, Any], Any]:
    """The experiment of a file, as a text and as data, and what stands below its line ``[word]``.

    ``swept`` allows a sweep, and ``bare`` a file without an experiment.

    Raises:
        ScenarioError: Something in it is wrong; the message says where.
    """
    try:
        text = file.read_bytes().decode().replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise _core.ScenarioError(f"{file}: cannot read: {getattr(error, 'strerror', None) or error}") from None
    split = re.search(rf"^\[{word}\][ \t]*(?:#.*)?$", text, re.MULTILINE)
    if split is None:
        raise _core.ScenarioError(
            f"error: this file has no line `[{word}]`\n  --> {file}\n"
            f"  help: it is an experiment, a line [{word}], and below that line what the experiment is for"
        )
    head, tail = text[: split.start()], text[split.start() :]
    # Of the experiment's mistakes its own reader tells more.
    if bare and not re.search(r"^[ \t]*[^ \t#\n]", head, re.MULTILINE):
        return head, {}, _below(file, text, head, tail, word)
    loaded = experiment.load_text(head.encode(), str(file), only_read=True)
    if not swept and len(loaded.points) != 1:
        raise _core.ScenarioError(
            f"error: a case is one run, not a sweep of {len(loaded.points)}\n  --> {file} (sweep)"
        )
    return head, json.loads(_core.toml_as_json(head)), _below(file, text, head, tail, word)


def _below(file: Path, text: str, head: str, tail: str, word: str) -> Any:
    """What stands below the line ``[word]``, at which ``tail`` begins."""
    try:
        # Lines count from the beginning of the file.
        below = json.loads(_core.toml_as_json("\n" * head.count("\n") + tail))
    except ValueError as error:
        # The experiment's reader says where, of what is no TOML.
        experiment.load_text(text.encode(), str(file), only_read=True)
        raise _core.ScenarioError(f"error: {error}\n  --> {file}") from None
    if other := [key for key in below if key != word]:
        raise _core.ScenarioError(
            f"error: `{other[0]}` stands below [{word}]\n  --> {file} ({other[0]})\n"
            "  help: keys of the experiment stand above it"
        )
    return below[word]


class Table:
    """A table of such a file, with the key where it stands."""

    def __init__(self, file: Path, place: str, values: Any) -> None:
        self.file, self.place = file, place
        if not isinstance(values, dict):
            self.place = ""
            self.values: dict[str, Any] = {place: values}
            self.refuse(place, "it must be a table")
        self.values = values

    def refuse(self, key: str, reason: str) -> NoReturn:
        """Refuses what a key says."""
        path = f"{self.place}.{key}" if self.place and key else self.place or key
        value = self.values.get(key)
        shown = path if value is None else f"{path} = {json.dumps(value, ensure_ascii=False, default=str)}"
        raise _core.ScenarioError(f"error: `{one_line(shown)}`: {reason}\n  --> {self.file} ({one_line(path)})")

    def check(self, keys: Sequence[str]) -> None:
        """Refuses keys that are not among these."""
        for key in self.values:
            if key not in keys:
                remedy = meant(key, keys) or f"keys here are {', '.join(keys)}"
                self.refuse(key, f"there is no such key; {remedy}")

    def needed(self, key: str) -> Any:
        """The value of a key that must be there."""
        if key not in self.values:
            self.refuse(key, "it is missing")
        return self.values[key]

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty."""
        value = self.values.get(key, default) if default is not None else self.needed(key)
        if not isinstance(value, str) or not value:
            self.refuse(key, "it must be a text")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A number."""
        value = self.values.get(key, default) if default is not None else self.needed(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.refuse(key, "it must be a number")
        return float(value)

    def flag(self, key: str) -> bool:
        """Whether a key is true."""
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            self.refuse(key, "it must be true or false")
        return value

    def list(self, key: str, default: Any) -> Any:
        """A list that is not empty."""
        value = self.values.get(key, default)
        if not isinstance(value, list) or not value:
            self.refuse(key, "it must be a list that is not empty")
        return value

    def mapping(self, key: str) -> Mapping[str, Any]:
        """A table whose keys are the reader's, empty where it is missing."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            self.refuse(key, "it must be a table")
        return value

    def choice(self, key: str, value: Any, allowed: Sequence[str]) -> str:
        """A value that is one of some."""
        if value not in allowed:
            self.refuse(key, f"choose among {', '.join(allowed)}")
        return str(value)

    def table(self, key: str) -> Self:
        """The table of a key."""
        return type(self)(self.file, f"{self.place}.{key}" if self.place else key, self.needed(key))

    def tables(self, key: str) -> Sequence[Self]:
        """The tables of a key that has a list of them."""
        value = self.values.get(key, [])
        if not isinstance(value, list):
            self.refuse(key, f"it must be a list of tables: write [[{self.place}.{key}]]")
        return [type(self)(self.file, f"{self.place}.{key}[{number}]", one) for number, one in enumerate(value)]
