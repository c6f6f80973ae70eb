"""Counts the lines of the engine that only leave events out.

    python benches/short_cuts.py [--seeds N] [--lines] [--json]

These are the lines of `sim`, `network` and `path` that some run reaches, and that no run reaches whose packets are
carried one by one (`--plain`). The runs are the first seconds of the benchmarks and N experiments that the fuzz target
`twin` draws. Comments, empty lines and tests do not count, nor what no run reaches. `--lines` names every line.

The compiler's own coverage counts them, so it takes `rustup component add llvm-tools`, and five minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from run import BENCHMARKS, ROOT, SCENARIOS, compiler_tool, drawn, executable

ENGINE = tuple(str(ROOT / "crates" / crate / "src") for crate in ("sim", "network", "path"))

BUILT = ROOT / "target" / "coverage"
"""Away from what is built without counters."""

Line = tuple[str, int]


def reached(program: Path, runs: Iterable[Sequence[str]], folder: Path, *options: str) -> tuple[set[Line], int]:
    """The lines of the engine that these runs reach together, and how many of them were no error."""
    folder.mkdir()
    told = os.environ | {"LLVM_PROFILE_FILE": str(folder / "%m.profraw")}
    done = [subprocess.run([program, *options, *run], env=told, capture_output=True, check=False) for run in runs]
    data = folder / "all"
    subprocess.run([compiler_tool("llvm-profdata"), "merge", "-o", data, *folder.glob("*.profraw")], check=True)
    export = [str(compiler_tool("llvm-cov")), "export", "-format=lcov", f"-instr-profile={data}", str(program), *ENGINE]
    report = subprocess.run(export, check=True, capture_output=True, text=True).stdout
    lines, file = set(), ""
    for entry in report.splitlines():
        kind, _, value = entry.partition(":")
        if kind == "SF":
            file = str(Path(value).relative_to(ROOT))
        elif kind == "DA":
            number, count = value.split(",")[:2]
            if int(count) > 0:
                lines.add((file, int(number)))
    return lines, sum(run.returncode == 0 for run in done)


def main() -> int:
    """Builds, runs and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=300, metavar="N", help="how many experiments are drawn")
    parser.add_argument("--lines", action="store_true", help="names every line")
    parser.add_argument("--json", action="store_true", help="lines by file, as JSON")
    options = parser.parse_args()

    # What runs while it is built, macros and build scripts, is counted nowhere.
    counted = {"RUSTFLAGS": "-Cinstrument-coverage", "LLVM_PROFILE_FILE": os.devnull}
    program = executable("dumbbell-bench", f"--target-dir={BUILT}", **counted)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = [[str(file)] for file in drawn(options.seeds, folder)]
        # A hundred thousand flows do nothing that ten thousand do not.
        benchmarks = [benchmark for benchmark in BENCHMARKS if benchmark.name != "cubic-100000"]
        runs += [[str(SCENARIOS / f"{one.name}.toml"), f"duration={one.first_s}s"] for one in benchmarks]
        fast, done = reached(program, runs, folder / "fast")
        plain, plainly = reached(program, runs, folder / "plain", "--plain")
    if done != plainly:
        raise SystemExit(f"{done} experiments ran, and {plainly} of them with --plain")

    only = sorted(fast - plain)
    by_file = Counter(file for file, _ in only)
    if options.json:
        print(json.dumps(by_file, indent=2))
        return 0
    for file, number in only if options.lines else ():
        print(f"{file}:{number}")
    for file, count in by_file.most_common():
        print(f"{count:5} {file}")
    print(f"{len(only):5} lines of {len(fast)} that {done} runs reach, none with --plain")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
