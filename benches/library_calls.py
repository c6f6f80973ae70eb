"""Measures what a call of an algorithm in a library costs: Reno in C beside its twin, which is part of the engine.

    python benches/library_calls.py [--runs N]

Both give the same tables, so that the difference of their CPU times is that of the calls. They take turns, and the
fastest of each counts: whatever else the machine does makes a run slower, and never faster. It needs a C compiler.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import dumbbell as db
from dumbbell import _core

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/library/reno.c"
SCENARIO: dict[str, Any] = {
    "duration": "60s",
    "path": {"rate": "100mbit", "rtt": "40ms", "buffer": "1bdp"},
    "record": {"series": False},
}
COUNTED = "static void cong_avoid("
COUNTS = "static unsigned long calls;\n#include <stdio.h>\n__attribute__((destructor)) static void tell(void) "
COUNTS += '{ FILE *file = fopen("CALLS", "w"); fprintf(file, "%lu", calls); fclose(file); }\n'


def compiled(folder: Path, name: str, source: str) -> Path:
    """A library of a source."""
    (folder / "dumbbell_cc.h").write_text(_core.contracts()[0])
    (folder / f"{name}.c").write_text(source)
    library = folder / f"lib{name}.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, f"{name}.c"], cwd=folder, check=True)
    return library


def measured(cc: str | dict[str, str]) -> tuple[float, int]:
    """CPU seconds and packets of a run."""
    meta = db.run(SCENARIO | {"flows": [{"cc": cc}]}).meta
    return meta.cpu_s, meta.packets


def calls(folder: Path) -> int:
    """How often the engine calls the library: one that counts says so when the process that loaded it ends."""
    told = folder / "calls"
    source = EXAMPLE.read_text().replace(COUNTED, COUNTS.replace("CALLS", str(told)) + COUNTED)
    source = source.replace(
        "    (void)state;\n    int in_slow_start", "    (void)state;\n    calls++;\n    int in_slow_start"
    )
    library = compiled(folder, "counted", source)
    flow = {"cc": {"library": str(library)}}
    code = f"import dumbbell as db; db.run({SCENARIO | {'flows': [flow]}!r})"
    subprocess.run([sys.executable, "-c", code], check=True)
    return int(told.read_text())


def main() -> None:
    """Prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        library = {"library": str(compiled(folder, "reno", EXAMPLE.read_text()))}
        pairs = [(measured(library), measured("reno")) for _ in range(runs)]
        (own_s, packets), (built_in_s, _) = (min(found) for found in zip(*pairs, strict=True))
        count = calls(folder)
    print("| library | calls | ns/packet | built in, ns/packet | ns/call |")
    print("| --- | ---: | ---: | ---: | ---: |")
    print(
        f"| Reno in C, one function an ACK | {count:,} | {own_s / packets * 1e9:.1f} | "
        f"{built_in_s / packets * 1e9:.1f} | {(own_s - built_in_s) / count * 1e9:.1f} |"
    )


if __name__ == "__main__":
    main()
