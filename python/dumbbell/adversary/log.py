"""What a search has evaluated: a line for each experiment, behind a line that says what is searched for.

Lines are only ever added, so that a kill at any moment costs no more than the generation that was under way.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dumbbell import storage

NAME = "evaluations.jsonl"
FORMAT = 1
CLOSE = 1e-6
"""Vectors whose numbers differ by less are the same."""


@dataclass(frozen=True)
class Evaluation:
    """An experiment that was run."""

    vector: Sequence[float]
    values: Sequence[float]
    """Of each seed."""
    elapsed_s: float
    """That the search had taken when it was there."""

    def line(self) -> str:
        """As the log has it."""
        return json.dumps([list(self.vector), list(self.values), round(self.elapsed_s, 3)]) + "\n"


class Log:
    """The log of a search, in memory and, with a file, on disk."""

    def __init__(self, head: Mapping[str, Any], known: Sequence[Evaluation] = (), file: IO[str] | None = None) -> None:
        self.head = head
        self.known = list(known)
        """What earlier calls have evaluated."""
        self._file = file

    def add(self, evaluations: Sequence[Evaluation]) -> None:
        """Keeps new evaluations."""
        self.known += evaluations
        if self._file is not None:
            try:
                self._file.write("".join(map(Evaluation.line, evaluations)))
                self._file.flush()
            except OSError as error:
                raise storage.OutputError(f"cannot write {self._file.name}: {error.strerror or error}") from error

    def matching(self, begin: int, vectors: Sequence[Sequence[float]]) -> list[Evaluation]:
        """What is known of the vectors that follow one another from ``begin`` on.

        Raises:
            ResultError: Others were evaluated there.
        """
        known = self.known[begin : begin + len(vectors)]
        for number, (one, vector) in enumerate(zip(known, vectors, strict=False)):
            if len(one.vector) != len(vector) or any(
                abs(a - b) > CLOSE for a, b in zip(one.vector, vector, strict=True)
            ):
                place = "the search" if self._file is None else self._file.name
                raise storage.ResultError(
                    f"{place}: evaluation {begin + number} is not the one that this search asks for; "
                    "choose another directory"
                )
        return known


@contextmanager
def opened(folder: Path | None, head: Mapping[str, Any]) -> Iterator[Log]:
    """The log of a search, which goes on where an earlier one in ``folder`` ended.

    Raises:
        OutputError: Another search is there, or the folder cannot be written.
    """
    if folder is None:
        yield Log(head)
        return
    path = folder / NAME
    known = _known(path, head) if path.exists() else None
    if known is None:
        storage.write_file(path, (json.dumps(head) + "\n").encode())
        known = []
    else:
        # Without what a kill has left of a line.
        whole = "".join([json.dumps(head) + "\n", *map(Evaluation.line, known)])
        if path.read_bytes() != whole.encode():
            storage.write_file(path, whole.encode())
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise storage.OutputError(f"cannot write {path}: {error.strerror or error}") from error
    with file:
        yield Log(head, known, file)
        os.fsync(file.fileno())


def _known(path: Path, head: Mapping[str, Any]) -> list[Evaluation] | None:
    """What a log holds; ``None`` where there is not even a first line."""
    lines = path.read_text("utf-8", "replace").splitlines()
    if not lines:
        return None
    try:
        there = json.loads(lines[0])
    except ValueError:
        raise storage.OutputError(
            f"{path}:1: no first line of a search; move the file, or choose another place"
        ) from None
    if there != json.loads(json.dumps(head)):
        differing = [key for key in head if not isinstance(there, dict) or there.get(key) != head[key]]
        said = ", ".join(
            f"{key} is {json.dumps(there.get(key) if isinstance(there, dict) else None)} there and "
            f"{json.dumps(head[key])} here"
            for key in differing[:3]
        )
        raise storage.OutputError(f"{path} is of another search: {said}; choose another directory")
    found: list[Evaluation] = []
    for number, line in enumerate(lines[1:], 2):
        try:
            vector, values, elapsed_s = json.loads(line)
            found.append(Evaluation([float(one) for one in vector], [float(one) for one in values], float(elapsed_s)))
        except (ValueError, TypeError):
            if number < len(lines):
                raise storage.OutputError(
                    f"{path}:{number}: no evaluation; move the file, or choose another place"
                ) from None
    return found
