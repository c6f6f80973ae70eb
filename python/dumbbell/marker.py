"""The marker of a folder of Dumbbell's, and the files that it lists, as they are read.

The marker, ``dumbbell.json``, says what a folder holds, which of its files are ours, and with which content they were
made.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell import _core
from dumbbell.printable import printable

MARKER = "dumbbell.json"
"""The file that tells a folder of Dumbbell's from any other."""

FORMATS = {"sweep": 2}
"""Version of what a folder of a kind holds, 1 where it is not here; a program reads its own and older ones.

2 of sweeps: points in batches; in 1 each had a folder of its own, and ``sweep.json`` listed them.
"""


class ResultError(Exception):
    """A result could not be read; the message names the file, what is wrong, and what to do."""

    def __init__(self, problem: str, remedy: str = "run the experiment again, which replaces the result") -> None:
        self.problem = printable(problem)
        super().__init__(f"{self.problem}\n  help: {printable(remedy)}")


class NewerError(ResultError):
    """A newer version has written it."""


@dataclass(frozen=True)
class Marker:
    """The content of ``dumbbell.json``."""

    kind: str
    files: Mapping[str, str | None]
    """The files in the folder that are Dumbbell's, without the marker, with the checksums of what it was made with."""

    def content(self) -> bytes:
        """The marker as the content of its file."""
        fields = {
            "kind": self.kind,
            "format": FORMATS.get(self.kind, 1),
            "version": _core.__version__,
            "files": dict(sorted(self.files.items())),
        }
        return (json.dumps(fields, indent=2) + "\n").encode()


def read_file(path: Path) -> bytes:
    """The content of a file of a result; raises :class:`ResultError` if there is none."""
    try:
        # Anything else, a pipe for example, could be waited for without end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ResultError(f"{path}: not a file")
        return path.read_bytes()
    except FileNotFoundError:
        raise ResultError(f"{path}: missing") from None
    except OSError as error:
        raise ResultError(f"{path}: cannot read: {error.strerror or error}", "make it readable") from None


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a result; raises :class:`ResultError` if there is none."""
    content = read_file(path)
    try:
        value = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{path}: damaged, not JSON ({error})") from None
    if not isinstance(value, dict):
        raise ResultError(f"{path}: damaged, not a JSON object")
    return value


def read_marker(folder: Path) -> Marker | None:
    """The marker of a folder, ``None`` if it has none; raises :class:`ResultError` if it cannot be understood."""
    path = folder / MARKER
    if not os.path.lexists(path):
        return None
    remedy = f"if {folder} is a result, remove this file: the others can be read without it"
    try:
        fields = read_json(path)
    except ResultError as error:
        raise ResultError(error.problem, remedy) from None
    kind, version, files = fields.get("kind"), fields.get("format"), fields.get("files")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ResultError(f"{path}: damaged, `format` is not a number", remedy)
    if version > (newest := FORMATS.get(str(kind), 1)):
        by = fields.get("version")
        raise NewerError(
            f"{path}: written by a newer Dumbbell ({by}, format {version}); this is {_core.__version__} and reads "
            f"formats up to {newest}",
            "update Dumbbell",
        )
    if not isinstance(kind, str):
        raise ResultError(f"{path}: damaged, `kind` is not a text", remedy)
    if not isinstance(files, dict) or not all(map(_is_plain, files)):
        raise ResultError(f"{path}: damaged, `files` does not hold names of files in this directory", remedy)
    if not all(checksum is None or isinstance(checksum, str) for checksum in files.values()):
        raise ResultError(f"{path}: damaged, `files` holds a checksum that is not a text", remedy)
    return Marker(kind, files)


def checksum(content: bytes) -> str:
    """The CRC-32 of a file: damage is found here, before a library trips over it."""
    return f"{zlib.crc32(content):08x}"


def _is_plain(name: str) -> bool:
    """Whether ``name`` is a file in the folder itself, not elsewhere, and not the marker."""
    return name not in ("", ".", "..", MARKER) and not {"/", "\\", "\0"} & set(name)
