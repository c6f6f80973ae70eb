"""Builds a wheel with profile-guided optimisation, and says what it gains.

    python benches/pgo.py [--drawn N] [--runs N] [--no-instructions] OUT COMMAND...      (make wheel-pgo)

COMMAND builds a wheel as `maturin build` does. It runs three times: plainly; with counters, for the first seconds of
the benchmarks; and with what these have counted. The wheel is put into OUT only if its tables are equal to the byte to
those of the plain one, in the benchmarks and in N experiments that the fuzz target `twin` draws.

Instructions are those of these seconds, less those of a millisecond, where valgrind is installed. CPU time is that of
whole benchmarks: the median of N ratios of two runs that follow each other. `rustup component add llvm-tools` brings
what merges the counts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from run import BENCHMARKS, ROOT, SCENARIOS, Benchmark, callgrind, compiler_tool, drawn, print_table

RUN = """
import hashlib, importlib.util, json, sys
library, file, *settings = sys.argv[1:]
spec = importlib.util.spec_from_file_location("_core", library)
core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(core)
pairs = [tuple(setting.split("=", 1)) for setting in settings]
try:
    done = core.load(open(file, encoding="utf-8").read(), file, pairs).points[0].run(core.CancelToken())
except (core.ScenarioError, core.RunError) as error:
    print(json.dumps({"tables": str(error)}))
else:
    names = "flows series links link_series traffic completions pages rounds datagrams".split()
    tables = json.dumps([getattr(done, name).rows() for name in names])
    digest = hashlib.sha256(tables.encode()).hexdigest()
    print(json.dumps({"tables": digest, "cpu_s": done.cpu_s, "packets": done.packets}))
"""
"""A run of an experiment file by the extension module alone: what Python adds is a tenth of a second."""


@dataclass(frozen=True)
class Build:
    """A wheel, and the extension module in it."""

    wheel: Path
    library: Path

    def command(self, file: Path, settings: Sequence[str]) -> list[str]:
        """What runs an experiment file with other settings."""
        return [sys.executable, "-I", "-c", RUN, str(self.library), str(file), *settings]

    def run(self, file: Path, *settings: str, **variables: str) -> dict[str, Any]:
        """The digest of the tables, CPU seconds and packets; or in place of the digest why it does not run."""
        done = subprocess.run(
            self.command(file, settings), check=True, stdout=subprocess.PIPE, text=True, env=os.environ | variables
        )
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    def instructions(self, file: Path, *settings: str) -> int:
        """What callgrind counts in such a run, with all that Python does."""
        return callgrind(self.command(file, settings), PYTHONHASHSEED="0")[1]


def build(command: Sequence[str], folder: Path, flags: str) -> Build:
    """Builds a wheel with further `flags` of the compiler, and unpacks its extension module.

    Beside the folder lies what cargo builds for all of them: it would not notice that counts of one name are new.
    """
    rustflags = f"{os.environ.get('RUSTFLAGS', '')} {flags}".strip()
    told = os.environ | {"RUSTFLAGS": rustflags, "CARGO_TARGET_DIR": str(folder.parent / "target")}
    # What runs while it is built, macros and build scripts, is counted nowhere.
    told["LLVM_PROFILE_FILE"] = os.devnull
    subprocess.run([*command, "--out", str(folder)], check=True, cwd=ROOT, env=told)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (module,) = (name for name in archive.namelist() if re.fullmatch(r"dumbbell/_core\..*(so|pyd)", name))
        return Build(wheel, Path(archive.extract(module, folder)))


def of_this_machine(command: Sequence[str]) -> list[str]:
    """The command for a wheel that need not run elsewhere."""
    kept = list(command)
    if "--compatibility" in kept:
        kept[kept.index("--compatibility") + 1] = "linux"
    return kept


def shortened(benchmark: Benchmark) -> tuple[Path, str]:
    """Its file, and its first seconds."""
    return SCENARIOS / f"{benchmark.name}.toml", f"duration={benchmark.first_s}s"


def trained(counting: Build, folder: Path) -> Path:
    """What the runs of the benchmarks count together, in a file for the compiler."""
    for benchmark in BENCHMARKS:
        file, length = shortened(benchmark)
        counting.run(file, length, LLVM_PROFILE_FILE=str(folder / "%m.profraw"))
    counts = folder / "counts.profdata"
    subprocess.run([compiler_tool("llvm-profdata"), "merge", "-o", counts, *folder.glob("*.profraw")], check=True)
    return counts


def different(plain: Build, guided: Build, files: Iterable[tuple[Path, list[str]]]) -> tuple[int, list[str]]:
    """How many experiments run, and those whose tables, or errors, are not equal."""
    ran, unequal = 0, []
    for file, settings in files:
        one, other = (build.run(file, *settings) for build in (plain, guided))
        ran += "packets" in one
        if one["tables"] != other["tables"]:
            unequal.append(file.name)
    return ran, unequal


def gain(plain: Build, guided: Build, benchmark: Benchmark, runs: int, *, instructions: bool) -> list[str]:
    """The row of a benchmark."""
    file = SCENARIOS / f"{benchmark.name}.toml"
    counted = "-"
    if instructions:
        lengths = ("duration=1ms", shortened(benchmark)[1])
        one, other = (
            [build.instructions(file, length, "record.series=false") for length in lengths] for build in (plain, guided)
        )
        counted = f"{(other[1] - other[0]) / (one[1] - one[0]) - 1:+.1%}"
    ratios = []
    for _ in range(runs):
        plainly, guidedly = (build.run(file, "record.series=false")["cpu_s"] for build in (plain, guided))
        ratios.append(guidedly / plainly)
    return [benchmark.title, counted, f"{statistics.median(ratios) - 1:+.1%}"]


def main() -> int:
    """Builds, compares, measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--drawn", type=int, default=50, metavar="N", help="how many experiments are drawn")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs whose CPU times are compared")
    parser.add_argument("--no-instructions", action="store_true", help="do not count instructions with callgrind")
    parser.add_argument("out", type=Path, metavar="OUT", help="where the wheel is put")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help="builds a wheel")
    options = parser.parse_args()
    if options.drawn < 0 or options.runs < 1 or not options.command:
        parser.error("--drawn must be at least 0, --runs at least 1, and there must be a COMMAND")
    compiler_tool("llvm-profdata")

    def note(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    target = ROOT / "target"
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pgo-", dir=target) as name:
        folder = Path(name)
        note("Building with counters ...")
        # Zig cannot link counters. Without its environment symbols would have other names, and counts belong to names.
        counters = f"-Cprofile-generate={folder} -Clinker=cc"
        counting = build(of_this_machine(options.command), folder / "counting", counters)
        note("Running the benchmarks ...")
        counts = trained(counting, folder)
        note("Building with the counts ...")
        guided = build(options.command, folder / "guided", f"-Cprofile-use={counts}")
        note("Building plainly ...")
        plain = build(options.command, folder / "plain", "")

        note("Comparing tables ...")
        files = [(file, [length]) for file, length in map(shortened, BENCHMARKS)]
        files += [(file, []) for file in drawn(options.drawn, folder)]
        ran, unequal = different(plain, guided, files)
        if unequal:
            print(f"tables differ from the plain build's: {', '.join(unequal)}", file=sys.stderr)
            return 1
        note("Measuring ...")
        instructions = not options.no_instructions and shutil.which("valgrind") is not None
        rows = [gain(plain, guided, benchmark, options.runs, instructions=instructions) for benchmark in BENCHMARKS]
        print_table(("scenario", "instructions", "CPU time"), rows)
        options.out.mkdir(parents=True, exist_ok=True)
        shutil.copy(guided.wheel, options.out / guided.wheel.name)
        sizes = [build.wheel.stat().st_size / 1e6 for build in (plain, guided)]
        print(f"\nTables of {ran} experiments are equal to the byte to those of the plain build.")
        print(f"{options.out / guided.wheel.name}: {sizes[1]:.1f} MB, plainly {sizes[0]:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
