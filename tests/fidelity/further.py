"""Further runs of a kernel whose experiments others recorded (``cases.json`` and ``flows.csv`` in a folder).

Chance decides more with random loss than the runs of a collection can average. Who has such a kernel records others of
its experiments, here Google's BBR v3 (``virtual/kernel.sh`` with the patch): they are kept in ``recordings``, with the
columns of the collection, and count beside its own.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import polars as pl
from own import RECORDINGS
from rich.console import Console

import dumbbell

#: What the kernels of a collection call an algorithm that has another name here: v3 replaces the module `bbr`.
NAMES: Mapping[str, Mapping[str, str]] = MappingProxyType({"linux-6.12-bbr3": {"bbr3": "bbr"}})
#: Where a kernel says which BBR it has. That of the main line says nothing.
VERSION = Path("/sys/module/tcp_bbr/version")


def path_of(truth: Path) -> Path:
    """Where the further runs of a collection are kept."""
    return RECORDINGS / f"{truth.name}-flows.csv"


def recorded(truth: Path) -> pl.DataFrame:
    """A row for each flow and run: those of the collection, and the further ones."""
    rows = pl.read_csv(truth / "flows.csv", infer_schema_length=None)
    if not path_of(truth).is_file():
        return rows
    return pl.concat([rows, pl.read_csv(path_of(truth), infer_schema_length=None)], how="diagonal_relaxed")


def refusal(truth: Path, names: Iterable[str]) -> str | None:
    """Why nothing can be recorded: no experiments, none of that name, or a kernel with another BBR."""
    if not (truth / "cases.json").is_file():
        return f"no experiments at {truth / 'cases.json'}: give the folder of the collections with --groundtruth"
    if unknown := set(names) - set(json.loads((truth / "cases.json").read_text())):
        return f"no case {sorted(unknown)[0]} in {truth / 'cases.json'}"
    if "bbr3" in NAMES[truth.name] and not (VERSION.is_file() and VERSION.read_text().strip() == "3"):
        return f"the running kernel has no BBR v3, of which {truth.name} is: build it with the patch (docs/linux.md)"
    return None


def on_the_kernel(experiment: Mapping[str, Any], truth: Path) -> dict[str, Any]:
    """An experiment as the kernel names its algorithms."""
    chosen = copy.deepcopy(dict(experiment))
    for flow in chosen["flows"]:
        flow["cc"] = NAMES.get(truth.name, {}).get(flow["cc"], flow["cc"])
    return chosen


def record(
    truth: Path, names: Sequence[str] | None, runs: int, on: Literal["simulator"] | dumbbell.Linux, console: Console
) -> int:
    """Records so many further runs of each experiment, with the seeds that come next. Returns how many are missing."""
    experiments: dict[str, dict[str, Any]] = json.loads((truth / "cases.json").read_text())
    missing = 0
    for name in names or list(experiments):
        spec = on_the_kernel(experiments[name], truth) if isinstance(on, dumbbell.Linux) else experiments[name]
        have = recorded(truth)
        last = max(have.filter(pl.col("case") == name)["seed"], default=0)
        for seed in range(last + 1, last + runs + 1):
            try:
                flows = dumbbell.run(spec, seed=seed, on=on).flows.to_polars()
            except dumbbell.VoidRunError as error:
                console.print(f"{name}, seed {seed}: {error}", style="yellow", highlight=False)
                missing += 1
                continue
            rows = [
                {key: round(value, 4) if isinstance(value, float) else value for key, value in flow.items()}
                | {"case": name, "seed": seed, "cc": told["cc"]}
                for flow, told in zip(flows.iter_rows(named=True), experiments[name]["flows"], strict=True)
            ]
            _append(path_of(truth), pl.DataFrame(rows, infer_schema_length=None).select(have.columns))
            console.print(f"{name}, seed {seed}: {', '.join(str(row['goodput_mbps']) for row in rows)} Mbit/s")
    return missing


def _append(path: Path, rows: pl.DataFrame) -> None:
    begins = not path.is_file()
    with path.open("a") as file:
        file.write(rows.write_csv(include_header=begins))
