"""Everything that looks for faults by chance, within a budget of time, and one report.

    make soak BUDGET=10m          # to a night: BUDGET=8h

What is drawn begins where nobody has drawn before, at the second in which it starts, unless `--seed` says where.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNITS_S = {"s": 1, "m": 60, "h": 3600}
KEEP = ROOT / "out/soak"
FUZZER = ROOT / "target/debug/dumbbell-fuzz"
# Disks that are full, files that are damaged, processes that end or are interrupted, threads that disagree.
FAULTS = ("storage", "batches", "interrupts", "damaged_results", "large_sweeps", "bounds", "cluster")
LEAST_FOR_BUILDS_S = 1500
"""What is built anew, for mutants and for other machines, takes minutes before it says anything."""


@dataclass(frozen=True)
class Stage:
    """A part of the whole."""

    name: str
    command: Sequence[str]
    share: float
    """Of the budget, after which it is stopped; nothing where it stops by itself after that."""
    stops_itself: bool


@dataclass(frozen=True)
class Ended:
    """What a stage has said."""

    stage: Stage
    failed: bool
    said: str
    seconds: float
    is_whole: bool


def stages(budget_s: float, seed: int, tool: str | None, mutmut: str | None) -> list[Stage]:
    """What is done in a budget."""
    python = sys.executable
    # In whole minutes, of which there is one at least.
    minutes = max(1, int(0.45 * budget_s / 60))
    fuzz = [str(FUZZER), "--from", str(seed * 1000), "--minutes", str(minutes), "--keep", str(KEEP / "fuzz")]
    deaths = [python, "tests/soak/deaths.py", "--seed", str(seed), "--count", "100000"]
    files = [f"tests/python/test_{name}.py" for name in FAULTS]
    found = [
        Stage("fuzzing", fuzz, 0.45, True),
        Stage("deaths", [*deaths, "--minutes", str(0.2 * budget_s / 60)], 0.2, True),
        Stage(
            "disks, threads, clusters",
            [python, "-m", "pytest", "--tb=short", "-m", "not real_time", *files],
            0.15,
            False,
        ),
    ]
    if budget_s >= LEAST_FOR_BUILDS_S:
        seeds = f"{seed * 1000}..{seed * 1000 + int(budget_s / 3)}"
        found.append(Stage("builds", [python, "tests/soak/machines.py", "--seeds", seeds], 0.1, False))
        survey = [
            python,
            "tests/mutants/survey.py",
            "--seed",
            str(seed),
            "--size",
            str(int(budget_s / 120)),
            "--least",
            "0",
        ]
        if tool is not None:
            found.append(Stage("mutants of Rust", [*survey, "--tool", tool], 0.05, False))
        if mutmut is not None:
            # All files for a survivor would take longer than the night.
            of_python = [*survey, "--language", "python", "--files", "16", "--tool", mutmut]
            found.append(Stage("mutants of Python", of_python, 0.05, False))
    return found


def run(stage: Stage, budget_s: float) -> Ended:
    """Runs a stage, and stops it where it takes more than its share."""
    began = time.monotonic()
    # A little more, since one that stops by itself looks at the clock now and then.
    limit_s = stage.share * budget_s * (1.5 if stage.stops_itself else 1.0) + 60
    said = KEEP / f"{re.sub('[^a-z]+', '-', stage.name.lower())}.txt"
    is_whole = True
    with said.open("w", encoding="utf-8") as file:
        nothing = subprocess.DEVNULL
        process = subprocess.Popen(
            stage.command, cwd=ROOT, stdin=nothing, stdout=file, stderr=file, start_new_session=True
        )
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            is_whole = False
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    text = said.read_text("utf-8", "replace")
    failed = (
        process.returncode != 0 if is_whole else bool(re.search(r"^(FAILED|ERROR|.* differ: )", text, re.MULTILINE))
    )
    return Ended(stage, failed, text, time.monotonic() - began, is_whole)


def report(ended: Sequence[Ended], budget: str, seed: int) -> str:
    """The page."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    day = time.strftime("%Y-%m-%d", time.gmtime())
    lines = [
        "# Soak",
        "",
        "The last report of `make soak`, which looks for faults by chance within a budget of time: experiments that",
        "nobody has thought of, processes killed at any moment, disks that fill up, clusters that fail, other builds,",
        "mutants.",
        f"This one has `BUDGET={budget}` and seed {seed}, on {day} at commit {commit.stdout.strip() or 'unknown'},",
        f"{os.cpu_count()} cores of {platform.machine()}.",
        "",
        "| part | result | minutes |",
        "|---|---|---:|",
    ]
    for one in ended:
        what = "**failures**" if one.failed else "no failure"
        told = what if one.is_whole else f"{what}, stopped after its time"
        lines.append(f"| {one.stage.name} | {told} | {one.seconds / 60:.0f} |")
    for one in ended:
        text = one.said.rstrip().splitlines()
        # A survey tells its survivors above the table, pytest each test that failed.
        lines += ["", f"## {one.stage.name.capitalize()}", "", "```text", *(text[-120:] or ["nothing was said"]), "```"]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Runs all stages; fails if one does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="10m", help="time, such as 10m or 8h (10m)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="where to begin (now)")
    parser.add_argument("--report", type=Path, default=KEEP / "report.md", help="where the report goes (out/soak)")
    parser.add_argument("--cargo", help="a cargo that has the subcommand mutants (the one on the path, if it has)")
    parser.add_argument("--mutmut", help="a Python that has mutmut (none)")
    arguments = parser.parse_args()
    found = re.fullmatch(r"(\d+)([smh])", arguments.budget)
    if found is None:
        parser.error(f"--budget {arguments.budget}: a whole number and s, m or h, such as 10m")
    budget_s = int(found[1]) * UNITS_S[found[2]]
    KEEP.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "dumbbell-fuzz"], cwd=ROOT, check=True)
    tool = arguments.cargo or ("cargo" if shutil.which("cargo-mutants") else None)
    ended = []
    for stage in stages(budget_s, arguments.seed, tool, arguments.mutmut):
        print(f"{stage.name} ...", flush=True)
        ended.append(run(stage, budget_s))
        print(f"  {'FAILED' if ended[-1].failed else 'fine'}, {ended[-1].seconds:.0f} s", flush=True)
    arguments.report.write_text(report(ended, arguments.budget, arguments.seed), "utf-8")
    print(arguments.report)
    return 1 if any(one.failed for one in ended) else 0


if __name__ == "__main__":
    sys.exit(main())
