"""Draws a random sample of mutants, and says how many of them no test notices.

cargo-mutants lists the mutants. Building the workspace once for each of thousands would take days, so all drawn mutants
are woven into one build: a function with mutants becomes a choice between its body and the mutated ones, by the
environment variable DUMBBELL_MUTANT. Constants, which have no run time, are built apart. The tests of a mutant's crate
run first, the others only if those pass. See README.md beside this file.
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

ROOT = Path(__file__).resolve().parents[2]
CRATES = ("cc-contract", "cc", "path", "recovery", "transport", "results")
# Whose tests see a mutant, in the order in which they are asked after those of its own crate.
ORDER = (
    "cc-contract",
    "cc",
    "recovery",
    "transport",
    "results",
    "path",
    "packetdrill",
    "sim",
    "scenario",
    "network",
    "cc-family",
)
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
MEMORY_BYTES = 6 << 30


@dataclass
class Mutant:
    """One change of the source, as cargo-mutants describes it."""

    number: int
    crate: str
    file: str
    text: str
    name: str
    span: tuple[int, int]
    replacement: str
    function: tuple[int, int] | None
    line: str
    diff: str
    verdict: str = ""
    by: str = ""

    @property
    def key(self) -> str:
        """What stays when lines move: the file, the change, and the line that it changes."""
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

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s + 1))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        environment = os.environ | {VARIABLE: str(mutant), "PROPTEST_CASES": "32", "PROPTEST_RNG_SEED": "1"}
        environment["PROPTEST_FAILURE_PERSISTENCE"] = "off"
        try:
            done = subprocess.run(
                [str(self.binary), "--quiet", *([only] if only else [])],
                cwd=self.folder,
                env=environment,
                preexec_fn=limit,
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


def listed(tool: list[str]) -> dict[str, list[dict[str, Any]]]:
    """All mutants of each crate."""
    mutants = {}
    for crate in CRATES:
        command = [*tool, "mutants", "--list", "--json", "-p", f"dumbbell-{crate}"]
        mutants[crate] = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    return mutants


def drawn(mutants: dict[str, list[dict[str, Any]]], seed: int, size: int, least: int) -> list[Mutant]:
    """A sample, stratified by crate in proportion."""
    total = sum(len(of_crate) for of_crate in mutants.values())
    sample: list[Mutant] = []
    for crate, of_crate in mutants.items():
        count = min(len(of_crate), max(least, round(size * len(of_crate) / total)))
        for described in random.Random(f"{seed}/{crate}").sample(of_crate, count):
            sample.append(mutant(len(sample) + 1, crate, described))
    return sample


def mutant(number: int, crate: str, described: dict[str, Any]) -> Mutant:
    """What is needed of cargo-mutants' description: its places become offsets in the file."""
    text = (ROOT / described["file"]).read_text()
    starts = [0]
    starts.extend(found.end() for found in re.finditer("\n", text))

    def offsets(span: dict[str, dict[str, int]]) -> tuple[int, int]:
        begin, end = (starts[span[at]["line"] - 1] + span[at]["column"] - 1 for at in ("start", "end"))
        return begin, end

    function = described["function"] and offsets(described["function"]["span"])
    line = text.split("\n")[described["span"]["start"]["line"] - 1].strip()
    return Mutant(
        number=number,
        crate=crate,
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


def split(sample: list[Mutant]) -> tuple[list[Mutant], list[Mutant]]:
    """Those that can be woven in, and those that have to be built apart."""
    woven: list[Mutant] = []
    apart: list[Mutant] = []
    functions = {(mutant.file, mutant.function) for mutant in sample if mutant.function}
    for mutant in sample:
        body = mutant.function and body_of(mutant.text, mutant.function)
        inner = any(file == mutant.file and is_inside(mutant.function, other) for file, other in functions)
        (woven if body and not inner else apart).append(mutant)
    return woven, apart


def lib_of(crate: str) -> str:
    """The root of a crate, which holds no mutants."""
    return f"crates/{crate}/src/lib.rs"


def weave(tree: Path, mutants: list[Mutant]) -> dict[tuple[str, int], Mutant]:
    """Writes the files with all mutants in them; whose each line is."""
    by_file: dict[str, dict[tuple[int, int], list[Mutant]]] = {}
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
        write(tree / file, "".join(pieces) + text[at:])
    for crate in CRATES:
        write(tree / lib_of(crate), (ROOT / lib_of(crate)).read_text() + SWITCH)
    return owners


def write(file: Path, text: str) -> None:
    """Only what differs, since Cargo looks at the times of files."""
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


def copy_sources(tree: Path, woven: set[str]) -> None:
    """A copy of what git knows, as it lies in the working tree, but for what will be woven."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in names.splitlines():
        source, target = ROOT / name, tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        is_same = target.exists() and source.exists() and target.read_bytes() == source.read_bytes()
        if name not in woven and source.is_file() and not is_same:
            shutil.copyfile(source, target)


def cargo(tree: Path, *arguments: str) -> tuple[bool, list[dict[str, Any]]]:
    """Whether it succeeded, and its messages."""
    command = ["cargo", *arguments, "--message-format=json", "--offline"]
    environment = os.environ | {"CARGO_TARGET_DIR": str(tree.parent / "build"), "CARGO_INCREMENTAL": "1"}
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
    """The test binaries."""
    done, messages = cargo(tree, "test", "--no-run", *packages)
    tests = []
    for message in messages:
        if message["reason"] == "compiler-artifact" and message["executable"] and message["profile"]["test"]:
            package = Path(message["manifest_path"]).parent
            tests.append(Test(package.name, Path(message["executable"]), package))
    return done, tests, messages


def everything() -> list[str]:
    """Cargo's arguments for all tests that can see a mutant."""
    return [f"--package=dumbbell-{name}" for name in ORDER]


def build_woven(tree: Path, mutants: list[Mutant]) -> list[Test]:
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


def ordered(tests: list[Test], crate: str) -> list[Test]:
    """Those of the crate first, the slow ones of the family of controllers last."""
    return sorted(tests, key=lambda test: (test.package != crate, ORDER.index(test.package), test.name))


def judge(mutant: Mutant, tests: list[Test], number: int) -> None:
    """Runs tests until one fails: those of the module, of the crate, and of the crates that use it."""
    module = mutant.file.split("/src/")[1].removesuffix(".rs").removesuffix("/mod").replace("/", "::")
    in_order = ordered(tests, mutant.crate)
    own = [(test, module) for test in in_order if test.package == mutant.crate]
    snapshots = [(test, "snapshots::") for test in in_order if test.package == "sim"]
    for test, only in [*own, *((test, "") for test, _ in own), *snapshots, *((test, "") for test in in_order)]:
        if why := test.check(number, only):
            mutant.verdict, mutant.by = "caught", f"{test.package}: {why}"
            return
    mutant.verdict = "missed"


def judge_apart(tree: Path, mutant: Mutant) -> None:
    """Builds and tests one mutant that cannot be woven in."""
    woven = (tree / mutant.file).read_text()
    begin, end = mutant.span
    write(tree / mutant.file, mutant.text[:begin] + mutant.replacement + mutant.text[end:])
    try:
        for packages in ([f"--package=dumbbell-{mutant.crate}"], everything()):
            done, tests, messages = build(tree, packages)
            if not done:
                mutant.verdict = "unviable"
                mutant.by = next((message["message"] for message, _ in errors(messages)), "")
                return
            for test in tests:
                test.limit_s = 300
            judge(mutant, tests, 0)
            if mutant.verdict == "caught":
                return
    finally:
        write(tree / mutant.file, woven)


def explained() -> dict[str, str]:
    """Why the survivors that are known survive."""
    reasons = {}
    for paragraph in (Path(__file__).parent / "explained.txt").read_text().split("\n\n"):
        lines = [line for line in paragraph.strip().splitlines() if not line.startswith("#")]
        if lines:
            reasons[lines[0]] = " ".join(line.strip() for line in lines[1:])
    return reasons


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    z = 1.959964
    centre = (hits + z * z / 2) / (of + z * z)
    half = z / (of + z * z) * math.sqrt(hits * (of - hits) / of + z * z / 4)
    return centre - half, centre + half


def report(sample: list[Mutant], sizes: dict[str, int]) -> None:
    """The survivors that nobody has explained, and the table."""
    reasons = explained()
    for mutant in sample:
        if mutant.verdict == "missed" and mutant.key in reasons:
            mutant.verdict = "explained"
        if mutant.verdict == "missed":
            print(f"\n{mutant.key}\n{mutant.diff}")
    verdicts = ("caught", "missed", "explained", "unviable")
    print(("{:>10}" * 7).format("crate", "listed", "drawn", *verdicts))
    total = [0] * 6
    for crate in CRATES:
        of_crate = [mutant.verdict for mutant in sample if mutant.crate == crate]
        row = [sizes[crate], len(of_crate), *(of_crate.count(verdict) for verdict in verdicts)]
        total = [sum(pair) for pair in zip(total, row, strict=True)]
        print(("{:>10}" * 7).format(crate, *row))
    print(("{:>10}" * 7).format("all", *total))
    viable, missed = total[1] - total[5], total[3]
    low, high = wilson(missed, viable)
    print(f"unexplained: {missed} of {viable}, {missed / viable:.1%} (95 %: {low:.1%} to {high:.1%})")


def main() -> None:
    """Draws, builds, judges, reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True, help="of the sample: a fresh one for a fresh estimate")
    parser.add_argument("--size", type=int, default=300, help="how many mutants (300)")
    parser.add_argument("--least", type=int, default=20, help="how many of a crate at least (20)")
    parser.add_argument("--work", type=Path, default=ROOT / "target/mutants", help="where to build (target/mutants)")
    parser.add_argument("--tool", default="cargo", help="the command that has the subcommand mutants (cargo)")
    arguments = parser.parse_args()
    mutants = listed(arguments.tool.split())
    sample = drawn(mutants, arguments.seed, arguments.size, arguments.least)
    tree = arguments.work.resolve() / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    woven, apart = split(sample)
    copy_sources(tree, {mutant.file for mutant in woven} | {lib_of(crate) for crate in CRATES})
    print(f"{len(woven)} mutants in one build, {len(apart)} apart", flush=True)
    tests = build_woven(tree, woven)
    log = (arguments.work / f"seed-{arguments.seed}.jsonl").open("w")
    for mutant in woven + apart:
        began = time.monotonic()
        if mutant in apart:
            judge_apart(tree, mutant)
        elif not mutant.verdict:
            judge(mutant, tests, mutant.number)
        seconds = round(time.monotonic() - began, 1)
        print(json.dumps([mutant.number, mutant.name, mutant.verdict, mutant.by, seconds]), file=log, flush=True)
    report(sample, {crate: len(of_crate) for crate, of_crate in mutants.items()})


if __name__ == "__main__":
    main()
