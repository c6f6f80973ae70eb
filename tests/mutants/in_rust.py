"""Mutants of the crates, as cargo-mutants makes them.

Building the workspace once for each of thousands would take days, so all drawn mutants are woven into one build: a
function with mutants becomes a choice between its body and the mutated ones, by the environment variable
DUMBBELL_MUTANT. Constants, which have no run time, are built apart. The tests of a mutant's crate run first, those of
the others and of Python only if these pass.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from in_python import PACKAGE, Suite
from seen import TESTS
from verdicts import ROOT, Mutant, bound, copy_sources, wanted, write

# Not the tests' own tools (packetdrill, fuzz), the benchmarks, or the example that users copy.
CRATES = (
    "cc-contract",
    "cc",
    "cc-family",
    "path",
    "recovery",
    "transport",
    "results",
    "sim",
    "scenario",
    "network",
    "traffic",
    "parameters",
    "units",
    "linux",
    "library",
    "gym",
    "quic",
    "web",
    "python",
)
# Compiled for a browser alone, so that no test of this machine runs them.
ELSEWHERE = {"crates/web/src/exports.rs"}
# Whose tests see a mutant, in the order in which they are asked after those of its own crate.
ORDER = (
    "parameters",
    "units",
    "cc-contract",
    "cc",
    "recovery",
    "transport",
    "results",
    "traffic",
    "path",
    "packetdrill",
    "network",
    "sim",
    "scenario",
    "library",
    "gym",
    "quic",
    "web",
    "own-controller",
    "fuzz",
    "cc-family",
    "linux",
)
# The test files in Python that look at what the tests of a crate do not see.
IN_PYTHON = {
    "python": ("api", "own", "own_mistakes", "arrow", "cli", "check", "bounds", "schema", "gym", "library", "live"),
    "gym": ("gym", "learners", "onnx"),
    "quic": ("quic", "live"),
    "library": ("library",),
    "linux": ("linux", "linux_machine", "bpf"),
    "scenario": ("cli", "schema", "completion", "settings"),
    "network": ("api", "linux"),
}
OF_EVERY_CRATE = ("api", "columns", "traffic", "streams")
# Their results on the kernel say nothing beside other work, and a mutant of theirs is one of real time.
IN_REAL_TIME = {"linux", "network"}
VARIABLE = "DUMBBELL_MUTANT"
SWITCH = f"""
/// The number of the mutant that is alive, 0 for none.
#[doc(hidden)]
#[inline]
pub(crate) fn mutant_alive() -> u32 {{
    static ALIVE: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *ALIVE.get_or_init(|| std::env::var("{VARIABLE}").map_or(0, |number| number.parse().unwrap()))
}}
"""


@dataclass(kw_only=True)
class RustMutant(Mutant):
    """One change of the source, as cargo-mutants describes it."""

    text: str
    name: str
    span: tuple[int, int]
    replacement: str
    function: tuple[int, int] | None

    @property
    def key(self) -> str:
        return f"{self.file}: {re.sub(r'^[^ ]+ ', '', self.name)} | {self.line}"


@dataclass
class Test:
    """A test binary."""

    package: str
    binary: Path
    folder: Path
    limit_s: int = field(default=0)
    is_sound: bool = field(default=True)

    @property
    def name(self) -> str:
        """Its name without the hash of its build."""
        return self.binary.name.rsplit("-", 1)[0]

    def check(self, mutant: int, only: str) -> str:
        """Runs the tests whose names contain `only`: nothing if they pass, otherwise why they did not."""
        if self.limit_s == 0:
            before = children_s()
            if why := self.run(0, "", 1000):
                print(f"{self.name} is left out, since it fails without a mutant: {why}", flush=True)
                self.is_sound = False
            # Three times what it takes without a mutant.
            self.limit_s = 3 * math.ceil(children_s() - before) + 1
        return self.run(mutant, only, self.limit_s) if self.is_sound else ""

    def run(self, mutant: int, only: str, limit_s: int) -> str:
        """Runs tests within bounds of CPU time and memory."""
        environment = os.environ | {VARIABLE: str(mutant), "PROPTEST_CASES": "32", "PROPTEST_RNG_SEED": "1"}
        environment["PROPTEST_FAILURE_PERSISTENCE"] = "off"
        try:
            done = subprocess.run(
                [str(self.binary), "--quiet", *([only] if only else [])],
                cwd=self.folder,
                env=environment,
                preexec_fn=lambda: bound(limit_s),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=30 * limit_s,
            )
        except subprocess.TimeoutExpired:
            return "hangs"
        if done.returncode == 0:
            return ""
        failed = re.findall(r"^---- (.*) stdout ----$", done.stdout, re.MULTILINE)
        return failed[0] if failed else "too long" if done.returncode in (-9, -24) else f"status {done.returncode}"


def children_s() -> float:
    """CPU seconds of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def listed(tool: list[str], only: list[str]) -> dict[str, list[dict[str, Any]]]:
    """All mutants of each crate."""
    mutants = {}
    for crate in CRATES:
        command = [*tool, "mutants", "--list", "--json", "-p", f"dumbbell-{crate}"]
        found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
        mutants[crate] = [
            mutant for mutant in found if wanted(mutant["file"], only) and mutant["file"] not in ELSEWHERE
        ]
    return mutants


def drawn(mutants: dict[str, list[dict[str, Any]]], seed: int, size: int, least: int) -> list[RustMutant]:
    """A sample, stratified by crate in proportion."""
    total = sum(len(of_crate) for of_crate in mutants.values()) or 1
    sample: list[RustMutant] = []
    for crate, of_crate in mutants.items():
        count = min(len(of_crate), max(least, round(size * len(of_crate) / total)))
        for described in random.Random(f"{seed}/{crate}").sample(of_crate, count):
            sample.append(mutant(len(sample) + 1, crate, described))
    return sample


def mutant(number: int, crate: str, described: dict[str, Any]) -> RustMutant:
    """What is needed of cargo-mutants' description: its places become offsets in the file."""
    text = (ROOT / described["file"]).read_text()
    starts = [0]
    starts.extend(found.end() for found in re.finditer("\n", text))

    def offsets(span: dict[str, dict[str, int]]) -> tuple[int, int]:
        begin, end = (starts[span[at]["line"] - 1] + span[at]["column"] - 1 for at in ("start", "end"))
        return begin, end

    function = described["function"] and offsets(described["function"]["span"])
    line = text.split("\n")[described["span"]["start"]["line"] - 1].strip()
    return RustMutant(
        number=number,
        group=crate,
        file=described["file"],
        text=text,
        name=described["name"],
        span=offsets(described["span"]),
        replacement=described["replacement"],
        function=function,
        line=line,
        diff=described["diff"],
    )


def body_of(text: str, function: tuple[int, int]) -> tuple[int, int] | None:
    """The inside of the braces of a function's body; nothing where a choice at run time is not possible."""
    begin, end = function
    signature = re.compile(r"^[ \t]*((?:pub(?:\([^)]*\))? )?(?:const )?(?:async )?)fn ", re.MULTILINE)
    line_start = text.rfind("\n", 0, begin) + 1
    found = signature.search(text, line_start, end)
    if found is None or "const" in found[1]:
        return None
    depth = 0
    for at in range(found.end(), end):
        if text[at] in "([":
            depth += 1
        elif text[at] in ")]":
            depth -= 1
        elif text[at] == "{" and depth == 0:
            # Two bodies have two hidden types.
            return None if re.search(r"-> .*\bimpl\b", text[found.end() : at]) else (at + 1, end - 1)
    return None


def is_inside(function: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    """Whether a function lies within another one."""
    if function is None or other is None or function == other:
        return False
    return other[0] <= function[0] and function[1] <= other[1]


def split(sample: list[RustMutant]) -> tuple[list[RustMutant], list[RustMutant]]:
    """Those that can be woven in, and those that have to be built apart."""
    woven: list[RustMutant] = []
    apart: list[RustMutant] = []
    functions = {(mutant.file, mutant.function) for mutant in sample if mutant.function}
    for mutant in sample:
        body = mutant.function and body_of(mutant.text, mutant.function)
        inner = any(file == mutant.file and is_inside(mutant.function, other) for file, other in functions)
        (woven if body and not inner else apart).append(mutant)
    return woven, apart


def lib_of(crate: str) -> str:
    """The root of a crate, in which all of it finds which mutant is alive."""
    return f"crates/{crate}/src/lib.rs"


def weave(tree: Path, mutants: list[RustMutant]) -> dict[tuple[str, int], RustMutant]:
    """Writes the files with all mutants in them; whose each line is."""
    by_file: dict[str, dict[tuple[int, int], list[RustMutant]]] = {}
    for mutant in mutants:
        assert mutant.function is not None
        by_file.setdefault(mutant.file, {}).setdefault(mutant.function, []).append(mutant)
    owners = {}
    texts = {mutant.file: mutant.text for mutant in mutants}
    for file, functions in by_file.items():
        text = texts[file]
        pieces, at = [], 0
        for function, alternatives in sorted(functions.items()):
            body = body_of(text, function)
            assert body is not None
            pieces.append(text[at : body[0]] + "match crate::mutant_alive() {")
            for mutant in alternatives:
                begin, end = mutant.span
                first = "".join(pieces).count("\n") + 2
                pieces.append(
                    f"\n{mutant.number} => {{{text[body[0] : begin]}{mutant.replacement}{text[end : body[1]]}}}\n"
                )
                last = "".join(pieces).count("\n")
                owners.update({(file, line): mutant for line in range(first, last + 1)})
            pieces.append(f"_ => {{{text[body[0] : body[1]]}}}\n}}")
            at = body[1]
        texts[file] = "".join(pieces) + text[at:]
    for crate in CRATES:
        lib = lib_of(crate)
        texts[lib] = texts.get(lib, (ROOT / lib).read_text("utf-8")) + SWITCH
    for file, text in texts.items():
        write(tree / file, text)
    return owners


def cargo(tree: Path, *arguments: str) -> tuple[bool, list[dict[str, Any]]]:
    """Whether it succeeded, and its messages."""
    command = ["cargo", *arguments, "--message-format=json", "--offline"]
    environment = os.environ | {"CARGO_TARGET_DIR": str(tree.parent / "build"), "CARGO_INCREMENTAL": "1"}
    environment["PYO3_CONFIG_FILE"] = str(ROOT / ".venv/pyo3.config")
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode and not messages:
        sys.exit(done.stderr)
    return done.returncode == 0, messages


def errors(messages: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], list[tuple[str, int]]]]:
    """What the compiler refuses, and where."""
    for message in messages:
        if message["reason"] == "compiler-message" and message["message"]["level"] == "error":
            spans = message["message"]["spans"]
            yield message["message"], [(span["file_name"], span["line_start"]) for span in spans if span["is_primary"]]


def build(tree: Path, packages: list[str]) -> tuple[bool, list[Test], list[dict[str, Any]]]:
    """The test binaries; the extension module, which has no tests of its own, goes into the package."""
    done, messages = cargo(tree, "test", "--no-run", *packages)
    if done:
        done, of_extension = cargo(tree, "build", "--package=dumbbell-python")
        messages += of_extension
    tests = []
    for message in messages:
        if message["reason"] != "compiler-artifact":
            continue
        if message["executable"] and message["profile"]["test"]:
            package = Path(message["manifest_path"]).parent
            tests.append(Test(package.name, Path(message["executable"]), package))
        if message["target"]["name"] == "_core":
            shutil.copy2(message["filenames"][0], tree / PACKAGE / "_core.abi3.so")
    return done, tests, messages


def everything() -> list[str]:
    """Cargo's arguments for all tests that can see a mutant."""
    return ["--workspace", "--exclude=dumbbell-bench", "--exclude=dumbbell-python", "--lib", "--bins", "--tests"]


def build_woven(tree: Path, mutants: list[RustMutant]) -> list[Test]:
    """One build with all mutants; those that the compiler refuses are left out."""
    while True:
        alive = [mutant for mutant in mutants if not mutant.verdict]
        without = {mutant.file: mutant.text for mutant in mutants}
        for file in without.keys() - {mutant.file for mutant in alive}:
            write(tree / file, without[file])
        owners = weave(tree, alive)
        done, tests, messages = build(tree, everything())
        if done:
            return tests
        refused = 0
        for message, places in errors(messages):
            for mutant in {owners[place].number: owners[place] for place in places if place in owners}.values():
                refused += not mutant.verdict
                mutant.verdict, mutant.by = "unviable", message["message"]
        if refused == 0:
            sys.exit("the build fails without an error in a mutant")
        print(f"{refused} mutants do not compile", flush=True)


def place(package: str) -> int:
    """When the tests of a package are asked."""
    return ORDER.index(package) if package in ORDER else len(ORDER)


def ordered(tests: list[Test], crate: str) -> list[Test]:
    """Those of the crate first, the slow ones of the family of controllers and those in real time last."""
    return sorted(tests, key=lambda test: (test.package != crate, place(test.package), test.name))


def judge(mutant: RustMutant, tests: list[Test], suite: Suite, number: int) -> None:
    """Runs tests until one fails: those of the module, of the crate, of the crates that use it, and of Python."""
    module = mutant.file.split("/src/")[1].removesuffix(".rs").removesuffix("/mod").replace("/", "::")
    in_order = ordered(tests, mutant.group)
    own = [(test, module) for test in in_order if test.package == mutant.group]
    snapshots = [(test, "snapshots::") for test in in_order if test.package == "sim"]
    others = [test for test in in_order if test.package != "linux" or mutant.group in IN_REAL_TIME]
    for test, only in [*own, *((test, "") for test, _ in own), *snapshots, *((test, "") for test in others)]:
        if why := test.check(number, only):
            mutant.verdict, mutant.by = "caught", f"{test.package}: {why}"
            return
    names = dict.fromkeys((*IN_PYTHON.get(mutant.group, ()), *OF_EVERY_CRATE))
    files = [str(TESTS / f"test_{name}.py") for name in names]
    takes_real_time = mutant.group in IN_REAL_TIME
    while why := suite.check(files, {VARIABLE: str(number)}, takes_real_time=takes_real_time):
        is_test = why.startswith(str(TESTS))
        if not is_test or not suite.check([why], {VARIABLE: "0"}, takes_real_time=takes_real_time):
            mutant.verdict, mutant.by = "caught", f"python: {why}"
            return
        suite.leave_out([why])
    mutant.verdict = "missed"


def judge_apart(tree: Path, mutant: RustMutant, suite: Suite) -> None:
    """Builds and tests one mutant that cannot be woven in."""
    woven = (tree / mutant.file).read_text("utf-8")
    begin, end = mutant.span
    root = SWITCH if mutant.file == lib_of(mutant.group) else ""
    write(tree / mutant.file, mutant.text[:begin] + mutant.replacement + mutant.text[end:] + root)
    try:
        done, tests, messages = build(tree, everything())
        if not done:
            mutant.verdict = "unviable"
            mutant.by = next((message["message"] for message, _ in errors(messages)), "")
            return
        for test in tests:
            test.limit_s = 300
        judge(mutant, tests, suite, 0)
    finally:
        write(tree / mutant.file, woven)


def survey(work: Path, arguments: argparse.Namespace) -> tuple[list[Mutant], dict[str, int]]:
    """Draws mutants of the crates and judges them; how many there are in each."""
    mutants = listed((arguments.tool or "cargo").split(), arguments.only)
    sample = drawn(mutants, arguments.seed, arguments.size, arguments.least)
    tree = work / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    woven, apart = split(sample)
    copy_sources(tree, {mutant.file for mutant in woven} | {lib_of(crate) for crate in CRATES})
    print(f"{len(woven)} mutants in one build, {len(apart)} apart", flush=True)
    tests = build_woven(tree, woven)
    suite = Suite(tree)
    if why := suite.check([str(TESTS / "test_columns.py")]):
        sys.exit(f"the tests in Python fail without a mutant: {why}")
    with (work / f"rust-{arguments.seed}.jsonl").open("w", encoding="utf-8") as log:
        for mutant in woven + apart:
            began = time.monotonic()
            if mutant in apart:
                judge_apart(tree, mutant, suite)
            elif not mutant.verdict:
                judge(mutant, tests, suite, mutant.number)
            seconds = round(time.monotonic() - began, 1)
            print(json.dumps([mutant.number, mutant.key, mutant.verdict, mutant.by, seconds]), file=log, flush=True)
    return list(sample), {crate: len(of_crate) for crate, of_crate in mutants.items()}
