"""Mutants of the Python package, as mutmut makes them: one file of a copy of the project is changed at a time.

What the type checker refuses is unviable, as what does not compile. The rest is shown to the test files from which
imports lead to the module, the nearest first.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from verdicts import ROOT, Mutant, bound, copy_sources, wanted

PACKAGE = Path("python/dumbbell")
TESTS = Path("tests/python")
TOOL = "uv run --no-project --with mutmut==3.8.1 python"
CPU_S = 600
PATIENCE_S = 1800
# Words in the names of test files that take long: asked late, unless a module is called so.
SLOW = {"cluster", "large", "browser", "notebook", "linux", "machine", "tutorials", "gallery", "papers"}
# Their tests take real time.
OF_THE_KERNEL = {"grounds", "live", "rootless", "shell", "worker"}


@dataclass(kw_only=True)
class PythonMutant(Mutant):
    """One change of a module."""

    mutated: str
    """The whole file with the change."""
    after: str
    """What the line has become."""

    @property
    def key(self) -> str:
        return f"{self.file}: {self.after or 'nothing'} | {self.line}"


@dataclass
class Suite:
    """The Python tests of a tree."""

    tree: Path
    unsound: set[str] = field(default_factory=set)
    """Tests that fail without a mutant, too."""

    def run(self, words: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str] | None:
        """What a command says in the tree, within bounds; nothing if it hangs."""
        paths = {"PYTHONPATH": str(self.tree / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            return subprocess.run(
                [sys.executable, "-m", *words],
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
        """Runs test files until one fails: nothing if they pass, otherwise why they did not."""
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
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
            return failed[1] if failed else f"status {done.returncode}"

    def types(self, cache: Path) -> str:
        """What the type checker has to say; nothing if types are right."""
        done = self.run(["mypy", "--cache-dir", str(cache)], {})
        return "" if done is not None and done.returncode == 0 else "hangs" if done is None else done.stdout

    def leave_out(self, test: str) -> None:
        """A test that fails without a mutant says nothing about one."""
        print(f"{test} is left out, since it fails without a mutant", flush=True)
        self.unsound.add(test)

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """The modules that each module of the package, and each test file, imports anywhere in it."""
        modules = {name_of(path.relative_to(self.tree / "python")): path for path in self.sources}
        found = {name: imported(path, name, modules.keys()) for name, path in modules.items()}
        for path in sorted((self.tree / TESTS).glob("test_*.py")):
            found[path.stem] = imported(path, path.stem, modules.keys())
        return found

    @property
    def sources(self) -> list[Path]:
        """The modules of the package."""
        return sorted((self.tree / PACKAGE).rglob("*.py"))

    def nearest(self, module: str, most: int) -> list[str]:
        """The test files that see a module soonest, by name first, and then by the way that imports take to it."""
        distance, front = {module: 0}, {module}
        while front:
            front = {name for name, used in self.imports.items() if name not in distance and used & front}
            distance.update(dict.fromkeys(front, max(distance.values()) + 1))
        words = set(module.split(".")[1:])
        tests = [name for name in distance if name.startswith("test_")]
        mentions = {name: self.mentions(name, module) for name in tests}

        def order(name: str) -> tuple[bool, bool, int, int, str]:
            words_of_test = set(name.split("_"))
            return not words & words_of_test, bool(SLOW & words_of_test), -min(mentions[name], 3), distance[name], name

        tests.sort(key=order)
        return [str(TESTS / f"{name}.py") for name in tests[:most]]

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
    removed = [line[1:].strip() for line in diff.splitlines()[2:] if line.startswith("-")]
    added = [line[1:].strip() for line in diff.splitlines()[2:] if line.startswith("+")]
    return PythonMutant(
        number=number,
        group=group_of(file),
        file=file,
        line=" ".join(removed),
        after=" ".join(added),
        diff=diff,
        mutated=mutated,
    )


def group_of(file: str) -> str:
    """The folder of the package."""
    parts = Path(file).relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else "dumbbell"


def judge(mutant: PythonMutant, suite: Suite, most: int, cache: Path) -> None:
    """Changes the file, has it looked at until somebody notices, and puts it back."""
    file = suite.tree / mutant.file
    module = name_of(Path(mutant.file).relative_to("python"))
    takes_real_time = module.rsplit(".", 1)[-1] in OF_THE_KERNEL
    tests = suite.nearest(module, most)
    unchanged = file.read_text("utf-8")
    while True:
        try:
            file.write_text(mutant.mutated, "utf-8")
            if suite.types(cache):
                mutant.verdict, mutant.by = "unviable", "mypy"
                return
            why = suite.check(tests, takes_real_time=takes_real_time)
        finally:
            file.write_text(unchanged, "utf-8")
        if not why:
            mutant.verdict = "missed"
            return
        if why.startswith(str(TESTS)) and suite.check([why], takes_real_time=takes_real_time):
            suite.leave_out(why)
            continue
        mutant.verdict, mutant.by = "caught", why
        return


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
    with (work / f"python-{arguments.seed}.jsonl").open("w", encoding="utf-8") as log:
        for mutant in sample:
            began = time.monotonic()
            judge(mutant, suite, arguments.files, work / "mypy")
            seconds = round(time.monotonic() - began, 1)
            print(json.dumps([mutant.number, mutant.key, mutant.verdict, mutant.by, seconds]), file=log, flush=True)
    return list(sample), {group: len(of_group) for group, of_group in mutants.items()}
