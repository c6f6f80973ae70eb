"""Which tests run which lines of the package, as one run of all of them under coverage saw it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

TESTS = Path("tests/python")
COVERAGE = "coverage==7.17.5"
PATIENCE_S = 600
SLOW_S = 60
"""CPU seconds that the tests of one line may take together; those beyond come with their files."""


@dataclass(frozen=True)
class Seen:
    """For each line of a file the tests that run it in this process, and how long each takes."""

    lines: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]

    def of(self, file: str, changed: range, text: str) -> list[str]:
        """The tests that run the statements on some lines of a file, the quickest first.

        Statements of a module or class run when it is imported: what runs anything of the file sees them.
        """
        of_file = self.lines.get(file, {})
        found = set[str]().union(*(of_file.get(line, set()) for line in _statements(text, changed)))
        found = found or set[str]().union(*of_file.values())
        quickest = sorted(found, key=lambda name: (self.seconds.get(name, 0.0), name))
        taken = accumulate(self.seconds.get(name, 0.0) for name in quickest)
        return [name for name, seconds in zip(quickest, taken, strict=True) if seconds <= SLOW_S]


def _statements(text: str, changed: range) -> set[int]:
    """The first lines of the innermost statements that some lines belong to, and these lines."""
    statements = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    found = set(changed)
    for line in changed:
        around = [one.lineno for one in statements if one.lineno <= line <= (one.end_lineno or one.lineno)]
        found.update([max(around)] if around else [])
    return found


def seen(tree: Path, work: Path) -> Seen:
    """Measures the tests of a tree, which can take more than an hour, or takes what was measured in ``work``."""
    library, data, told = (work / f"coverage{end}" for end in ("", ".sqlite", ".txt"))
    if not library.is_dir():
        subprocess.run(["uv", "pip", "install", "--quiet", "--target", str(library), COVERAGE], check=True)
    if not told.is_file():
        data.unlink(missing_ok=True)
        texts = [_measured(tree, library, data, file) for file in sorted((tree / TESTS).glob("test_*.py"))]
        told.write_text("".join(texts), "utf-8")
    sys.path.append(str(library))
    from coverage import CoverageData

    found = CoverageData(str(data))
    found.read()
    lines = {
        str(Path(file).relative_to(tree)): {
            line: {named(context) for context in contexts if context.startswith("test_")}
            for line, contexts in found.contexts_by_lineno(file).items()
        }
        for file in found.measured_files()
    }
    seconds: dict[str, float] = {}
    for took, test in re.findall(r"^ *([\d.]+)s (?:call|setup) +(\S+?::\w+)", told.read_text("utf-8"), re.MULTILINE):
        seconds[test] = seconds.get(test, 0.0) + float(took)
    return Seen(lines, seconds)


def _measured(tree: Path, library: Path, data: Path, file: Path) -> str:
    """Adds a test file to what is measured; what pytest says of it, nothing if it hangs under coverage."""
    rules = library / "rules.ini"
    source = tree / "python/dumbbell"
    rules.write_text(f"[run]\nsource = {source}\ndynamic_context = test_function\ndata_file = {data}\n", "utf-8")
    pytest = str(Path(sys.executable).with_name("pytest"))
    command = [sys.executable, "-m", "coverage", "run", "--append", f"--rcfile={rules}", pytest]
    paths = {"PYTHONPATH": os.pathsep.join([str(library), str(tree / "python")])}
    try:
        return subprocess.run(
            [*command, "-vv", "--tb=no", "--durations=0", "-p", "no:cacheprovider", "-m", "not real_time",
             str(file.relative_to(tree))],
            cwd=tree, env=os.environ | paths, stdout=subprocess.PIPE, text=True, errors="replace", timeout=PATIENCE_S,
        ).stdout  # fmt: skip
    except subprocess.TimeoutExpired:
        return ""


def named(context: str) -> str:
    """A test as pytest calls it: `test_own.test_it` is a function of `tests/python/test_own.py`."""
    module, _, function = context.partition(".")
    return f"{TESTS / module}.py::{function}"
