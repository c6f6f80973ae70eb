"""Mutants of the Python package, as mutmut makes them: one file of a copy of the project is changed at a time.

What the type checker refuses is unviable, as what does not compile. The rest is shown to the tests that run the line,
if that was measured, then to one test file after another, the nearest first, until a test fails.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from seen import TESTS, Seen, seen
from verdicts import ROOT, Mutant, bound, copy_sources, wanted

PACKAGE = Path("python/dumbbell")
TOOL = "uv run --no-project --with mutmut==3.8.1 python"
CPU_S = 600
PATIENCE_S = 1800
# Words in the names of test files that take long: asked late, unless the module has them in its name.
SLOW = {"cluster", "large", "browser", "notebook", "linux", "machine", "tutorials", "gallery", "papers"}
# What most modules are seen by, whatever they are called: asked early.
BROAD = {"test_kept_commands"}
# Their tests take real time.
OF_THE_KERNEL = {"grounds", "live", "rootless", "shell", "worker"}


@dataclass(kw_only=True)
class PythonMutant(Mutant):
    """One change of a module."""

    mutated: str
    """The whole file with the change."""
    after: str
    """What the line has become."""
    lines: range
    """Those of the file that are changed, from 1."""

    @property
    def key(self) -> str:
        return f"{self.file}: {self.after or 'nothing'} | {self.line}"


@dataclass
class Suite:
    """The Python tests of a tree."""

    tree: Path
    unsound: set[str] = field(default_factory=set)
    """Tests, and whole files, that fail without a mutant, too."""

    def run(self, words: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str] | None:
        """What a command says in the tree, within bounds; nothing if it hangs."""
        paths = {"PYTHONPATH": str(self.tree / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            return subprocess.run(
                [Path(sys.executable).with_name(words[0]), *words[1:]],
                cwd=self.tree,
                env=os.environ | paths | dict(environment),
                preexec_fn=lambda: bound(CPU_S),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=PATIENCE_S,
            )
        except subprocess.TimeoutExpired:
            return None

    def check(
        self, files: Sequence[str], environment: Mapping[str, str] | None = None, *, takes_real_time: bool = False
    ) -> str:
        """Runs test files, or one test, until one fails: nothing if they pass, otherwise why they did not."""
        words = ["pytest", "-x", "--tb=no", "-p", "no:cacheprovider", *files]
        if not takes_real_time:
            words += ["-m", "not real_time"]
        while True:
            left_out = [f"--deselect={test}" for test in sorted(self.unsound)]
            done = self.run([*words, *left_out], environment or {})
            if done is None:
                return "hangs"
            # 5: all were left out.
            if done.returncode in (0, 5):
                return ""
            # The name of a test may have spaces, and nothing need follow it.
            failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
            return failed[1] if failed else f"status {done.returncode}"

    def types(self, cache: Path) -> str:
        """What the type checker has to say; nothing if types are right."""
        done = self.run(["mypy", "--cache-dir", str(cache)], {})
        return "" if done is not None and done.returncode == 0 else "hangs" if done is None else done.stdout

    def leave_out(self, tests: Sequence[str]) -> None:
        """Tests that fail without a mutant say nothing about one."""
        print(f"left out, since without a mutant they fail: {', '.join(tests)}", flush=True)
        self.unsound.update(tests)

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """The modules that each module of the package, and each file of the tests, imports anywhere in it."""
        modules = {name_of(path.relative_to(self.tree / "python")): path for path in self.sources}
        modules |= {path.stem: path for path in sorted((self.tree / TESTS).glob("*.py"))}
        return {name: imported(path, name, modules.keys()) for name, path in modules.items()}

    @property
    def sources(self) -> list[Path]:
        """The modules of the package."""
        return sorted((self.tree / PACKAGE).rglob("*.py"))

    def ordered(self, module: str) -> list[str]:
        """All test files: those that see a module soonest first, by name and by the way of imports."""
        distance, front = {module: 0}, {module}
        while front:
            front = {name for name, used in self.imports.items() if name not in distance and used & front}
            distance.update(dict.fromkeys(front, max(distance.values()) + 1))
        words = set(re.split(r"[._]", module)) - {"dumbbell"}

        def order(name: str) -> tuple[int, bool, int, float, str]:
            words_of_test = set(name.split("_"))
            common = len(words & words_of_test) or int(name in BROAD)
            is_slow = bool((SLOW & words_of_test) - words)
            return -common, is_slow, -min(self.mentions(name, module), 3), distance.get(name, math.inf), name

        return sorted((name for name in self.imports if name.startswith("test_")), key=order)

    def mentions(self, test: str, module: str) -> int:
        """How often a test file names the last part of a module."""
        text = (self.tree / TESTS / f"{test}.py").read_text("utf-8")
        return len(re.findall(rf"\b{re.escape(module.rsplit('.', 1)[-1])}\b", text))


def name_of(file: Path) -> str:
    """The name of a module in a file of ``python``."""
    return ".".join(file.with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path, name: str, modules: AbstractSet[str]) -> set[str]:
    """Those of some modules that a file imports, wherever in it."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *([base] if base else [])])
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return found & modules


def made(tool: str, asked: Mapping[str, Sequence[int] | None]) -> dict[str, Any]:
    """What mutmut says of files: the numbers of their mutants, or the texts of those that are asked for."""
    command = [*tool.split(), str(Path(__file__).parent / "listing.py")]
    done = subprocess.run(command, cwd=ROOT, input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def described(number: int, file: str, mutated: str) -> PythonMutant:
    """A mutant from the text of its file."""
    text = (ROOT / file).read_text("utf-8")
    before, after = text.splitlines(keepends=True), mutated.splitlines(keepends=True)
    diff = "".join(difflib.unified_diff(before, after, file, file, n=2))
    changed = [at for at in difflib.SequenceMatcher(None, before, after, False).get_opcodes() if at[0] != "equal"]
    removed = [line[1:].strip() for line in diff.splitlines()[2:] if line.startswith("-")]
    added = [line[1:].strip() for line in diff.splitlines()[2:] if line.startswith("+")]
    return PythonMutant(
        number=number,
        group=group_of(file),
        file=file,
        line=" ".join(removed),
        after=" ".join(added),
        lines=range(changed[0][1] + 1, max(changed[-1][2], changed[0][1] + 1) + 1),
        diff=diff,
        mutated=mutated,
    )


def group_of(file: str) -> str:
    """The folder of the package."""
    parts = Path(file).relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else "dumbbell"


def judge(mutant: PythonMutant, suite: Suite, ran: Seen, most: int | None, cache: Path) -> None:
    """Changes the file, and has it looked at until somebody notices."""
    with changed(suite.tree / mutant.file, mutant.mutated):
        if suite.types(cache):
            mutant.verdict, mutant.by = "unviable", "mypy"
            return
    module = name_of(Path(mutant.file).relative_to("python"))
    takes_real_time = module.rsplit(".", 1)[-1] in OF_THE_KERNEL
    mutant.verdict = "missed"
    quick = ran.of(mutant.file, mutant.lines, (suite.tree / mutant.file).read_text("utf-8"))
    files = [[str(TESTS / f"{name}.py")] for name in suite.ordered(module)[:most]]
    for tests in [*([quick] if quick else []), *files]:
        while not suite.unsound.issuperset(tests):
            with changed(suite.tree / mutant.file, mutant.mutated):
                why = suite.check(tests, takes_real_time=takes_real_time)
            if not why:
                break
            # A test is asked once more alone, and all of them if they were ended from outside.
            asked = [why] if why.startswith(str(TESTS)) else tests
            if not suite.check(asked, takes_real_time=takes_real_time):
                mutant.verdict, mutant.by = "caught", why
                return
            suite.leave_out(asked)


@contextmanager
def changed(file: Path, text: str) -> Iterator[None]:
    """A file with another text, which is put back.

    Each text has a second of its own: mypy takes a text as long as the one that it knows, of the same second, for that.
    """
    unchanged = file.read_text("utf-8")
    written = max(int(time.time()), int(file.stat().st_mtime)) + 1
    try:
        file.write_text(text, "utf-8")
        os.utime(file, (written, written))
        yield
    finally:
        file.write_text(unchanged, "utf-8")
        os.utime(file, (written + 1, written + 1))


def survey(work: Path, arguments: argparse.Namespace) -> tuple[list[Mutant], dict[str, int]]:
    """Draws mutants of the package and judges them; how many there are in each folder."""
    tree = work / "python-tree"
    tree.mkdir(parents=True, exist_ok=True)
    copy_sources(tree)
    for library in (ROOT / PACKAGE).glob("_core*.so"):
        shutil.copy2(library, tree / PACKAGE / library.name)
    files = [str(path.relative_to(ROOT)) for path in sorted((ROOT / PACKAGE).rglob("*.py"))]
    tool = arguments.tool or TOOL
    numbers = made(tool, {file: None for file in files if wanted(file, arguments.only)})
    mutants: dict[str, list[tuple[str, int]]] = {}
    for file, of_file in numbers.items():
        mutants.setdefault(group_of(file), []).extend((file, number) for number in of_file)
    total = sum(map(len, mutants.values()))
    drawn: list[tuple[str, int]] = []
    for group, of_group in mutants.items():
        count = min(len(of_group), max(arguments.least, round(arguments.size * len(of_group) / total)))
        drawn.extend(random.Random(f"{arguments.seed}/{group}").sample(of_group, count))
    texts = made(tool, {file: [number for other, number in drawn if other == file] for file in dict(drawn)})
    sample = [
        described(number, file, texts[file][str(of_file)]) for number, (file, of_file) in enumerate(drawn, start=1)
    ]
    print(f"{len(sample)} mutants of {total}", flush=True)
    suite = Suite(tree)
    if said := suite.types(work / "mypy"):
        sys.exit(f"types are wrong without a mutant:\n{said}")
    ran = seen(tree, work) if arguments.coverage else Seen({}, {})
    with (work / f"python-{arguments.seed}.jsonl").open("w", encoding="utf-8") as log:
        for mutant in sample:
            began = time.monotonic()
            judge(mutant, suite, ran, arguments.files, work / "mypy")
            seconds = round(time.monotonic() - began, 1)
            print(json.dumps([mutant.number, mutant.key, mutant.verdict, mutant.by, seconds]), file=log, flush=True)
    return list(sample), {group: len(of_group) for group, of_group in mutants.items()}
