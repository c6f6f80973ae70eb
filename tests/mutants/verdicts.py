"""What the surveys of both languages share: a mutant, what became of it, and the table."""

from __future__ import annotations

import math
import resource
import shutil
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEMORY_BYTES = 6 << 30


@dataclass(kw_only=True)
class Mutant:
    """One change of the source."""

    number: int
    group: str
    """Its crate, or its folder of the Python package."""
    file: str
    line: str
    """The line that it changes."""
    diff: str
    verdict: str = ""
    by: str = ""

    @property
    def key(self) -> str:
        """What stays when lines move: the file, the change, and the line that it changes."""
        raise NotImplementedError


def wanted(file: str, only: Sequence[str]) -> bool:
    """Whether mutants of a file are drawn."""
    return not only or any(part in file for part in only)


def copy_sources(tree: Path, without: Collection[str] = ()) -> None:
    """A copy of what git knows or would take, as it lies in the working tree, but for some files."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in names.splitlines():
        source, target = ROOT / name, tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        is_same = target.exists() and source.exists() and target.read_bytes() == source.read_bytes()
        if name not in without and source.is_file() and not is_same:
            shutil.copyfile(source, target)


def write(file: Path, text: str) -> None:
    """Only what differs, since Cargo looks at the times of files."""
    if not file.exists() or file.read_text("utf-8") != text:
        file.write_text(text, "utf-8")


def bound(cpu_s: int) -> None:
    """Bounds the CPU time and the memory of the calling process."""
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def explained() -> dict[str, str]:
    """Why the survivors that are known survive."""
    reasons = {}
    for paragraph in (Path(__file__).parent / "explained.txt").read_text("utf-8").split("\n\n"):
        lines = [line for line in paragraph.strip().splitlines() if not line.startswith("#")]
        if lines:
            reasons[lines[0]] = " ".join(line.strip() for line in lines[1:])
    return reasons


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    z = 1.959964
    centre = (hits + z * z / 2) / (of + z * z)
    half = z / (of + z * z) * math.sqrt(hits * (of - hits) / of + z * z / 4)
    return max(0.0, centre - half), centre + half


def report(sample: Sequence[Mutant], sizes: Mapping[str, int]) -> None:
    """The survivors that nobody has explained, and the table."""
    reasons = explained()
    for mutant in sample:
        if mutant.verdict == "missed" and mutant.key in reasons:
            mutant.verdict = "explained"
        if mutant.verdict == "missed":
            print(f"\n{mutant.key}\n{mutant.diff}")
    verdicts = ("caught", "missed", "explained", "unviable")
    print(("{:>12}" * 7).format("where", "listed", "drawn", *verdicts))
    total = [0] * 6
    for group, size in sizes.items():
        of_group = [mutant.verdict for mutant in sample if mutant.group == group]
        row = [size, len(of_group), *(of_group.count(verdict) for verdict in verdicts)]
        total = [sum(pair) for pair in zip(total, row, strict=True)]
        print(("{:>12}" * 7).format(group, *row))
    print(("{:>12}" * 7).format("all", *total))
    viable, missed = total[1] - total[5], total[3]
    if viable > 0:
        low, high = wilson(missed, viable)
        print(f"unexplained: {missed} of {viable}, {missed / viable:.1%} (95 %: {low:.1%} to {high:.1%})")
