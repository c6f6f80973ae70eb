"""Compares the bytes of runs between builds: profiles, and the levels of x86-64 that this processor has.

    python tests/soak/machines.py --seeds 0..2000

A digest of every bit of every table of each drawn experiment is the same in all builds, since a file's hash stands for
its results wherever they are made. Each build has a folder of its own in `target/machines`.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What a level needs besides what the one below it does, of which one is enough to know (psABI of x86-64).
LEVELS = {"x86-64": "sse2", "x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512vl"}


def builds() -> dict[str, tuple[str, str]]:
    """Each build with its profile and its flags; the first is what the others are compared with."""
    found = {"release": ("release", ""), "debug": ("dev", "")}
    if platform.machine() == "x86_64" and Path("/proc/cpuinfo").exists():
        flags = set(Path("/proc/cpuinfo").read_text("ascii", "replace").split())
        levels = [level for level, flag in LEVELS.items() if flag in flags]
        # The lowest is what the first one is built for.
        found |= {level: ("release", f"-C target-cpu={level}") for level in levels[1:]}
    return found


def built(name: str, profile: str, flags: str) -> Path:
    """The fuzzer of a build."""
    folder = ROOT / "target/machines" / name
    command = ["cargo", "build", "--quiet", "--locked", "-p", "dumbbell-fuzz", f"--profile={profile}"]
    environment = os.environ | {"CARGO_TARGET_DIR": str(folder), "RUSTFLAGS": flags}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return folder / ("debug" if profile == "dev" else profile) / "dumbbell-fuzz"


def main() -> int:
    """Builds, runs, compares; fails where a run differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0..2000", help="of the experiments (0..2000)")
    parser.add_argument("--only", nargs="*", default=[], help="builds besides the first (all)")
    arguments = parser.parse_args()
    first: dict[str, str] | None = None
    differing = 0
    for name, (profile, flags) in builds().items():
        if first is not None and arguments.only and name not in arguments.only:
            continue
        command = [str(built(name, profile, flags)), "--digest", arguments.seeds]
        lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
        digests = dict(line.split() for line in lines)
        if first is None:
            first = digests
            ran = sum(digest != "none" for digest in digests.values())
            print(f"{name}: {ran} of {len(digests)} experiments run to their end", flush=True)
            if ran < len(digests) / 2:
                print("too few to say anything")
                return 1
            continue
        others = [seed for seed, digest in digests.items() if digest != first[seed]]
        differing += len(others)
        print(f"{name}: {len(others)} of {len(digests)} differ{': seeds ' if others else ''}{' '.join(others[:10])}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
