"""What the paper leaves open: which set-ups give its Table II?"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.papers import data
from dumbbell.papers.kato.measure import SPLIT, Run, measure
from dumbbell.papers.model import Cell, Claim, Grid, Options, Provenance, Report
from dumbbell.papers.seeds import mean
from dumbbell.results import SweepResult

if TYPE_CHECKING:
    from dumbbell.plots import Picture

TITLE = "Set-ups the paper leaves open, beside its Table II"

SCENARIO = Path(__file__).with_name("table2.toml")
PUBLISHED = Path(__file__).with_name("published.csv")
QUICK = "2s"
SEEDS = 3

CLAIMS: tuple[Claim, ...] = ()
"""The paper says nothing about them."""

BUFFERS = ("100", "500", "1000", "2000", "5000")
BUFFER_KEY = 'sweep."path.buffer"'
PHASES = "presets.ns3-3-40.cycle_first_phases"
LATER_PHASES = [0, 5, 0, 3, 0, 6, 6, 7, 3, 4]
"""What ns-3 draws with its run number 2 instead of 1."""


def queue(extra: int) -> dict[str, Any]:
    """Buffers with a device's queue in series behind them."""
    return {BUFFER_KEY: [f"{int(buffer) + extra}packets" for buffer in BUFFERS]}


SETUPS: dict[str, dict[str, Any]] = {
    "as in table2": {},
    "window 0.79 MB": {"transport.receive_window": "786432B"},
    "window 1.15 MB": {"transport.receive_window": "1150000B"},
    "window 1.31 MB": {"transport.receive_window": "1310720B"},
    "window 2 MiB": {"transport.receive_window": "2MiB"},
    "window 16 MiB": {"transport.receive_window": "16MiB"},
    "started at the same instant": {"flows[0].start_jitter": "0s"},
    "device queue of 100 packets": queue(100),
    "access links of 1 Gbit/s": {"flows[0].access_rate": "1gbit"},
    "the same instant, device queue, 1 Gbit/s": {
        **queue(100), "flows[0].start_jitter": "0s", "flows[0].access_rate": "1gbit",
    },
    "phases of ns-3's run 2": {PHASES: LATER_PHASES},
    "own phases": {PHASES: []},
    "an ACK for two packets": {"transport.ack_every": 2},
    "MSS 536": {"transport.mss": 536, "transport.gso_max_bytes": "536B"},
    "min RTO 200 ms": {"transport.rto_min": "200ms"},
}  # fmt: skip

OLD_RULES: dict[str, Any] = {
    'sweep."flows[0].label"': ["ns-3.40"],
    'sweep."flows[0].cc"': ["ns3-3-40"],
    'sweep."transport.delivery_rate"': ["ns3-3.40"],
    'sweep."transport.controller_rtt"': ["smoothed"],
    'sweep."transport.rescue"': ["any"],
    'sweep."transport.rtt_samples"': ["timestamps-of-originals"],
    "record.series": False,
}


def reproduce(options: Options) -> Report:
    """Runs ns-3.40's rules at every buffer in every set-up."""
    options = replace(options, repeat=options.repeat or SEEDS)
    results: list[SweepResult] = []
    cases: dict[str, list[list[Run]]] = {}
    for name, changes in SETUPS.items():
        folder = replace(options, out=options.out / re.sub(r"[^\w.]+", "-", name))
        result = data.run(SCENARIO, folder, set={**OLD_RULES, **changes}, quick=QUICK)
        results.append(result)
        cases[name] = list(measure(result, ["path.buffer"]).values())
    report = Report(
        study="kato",
        part="setups",
        title=TITLE,
        setup=(
            "ns-3.40's rules as in kato/table2, one thing made differently (in one row several), "
            f"{len(next(iter(cases.values()))[0])} seeds. A cell of Table II is either the split, at least {SPLIT} "
            "flows "
            "below 1 Mbit/s in most seeds at 100, 500 and 1000 packets and not at 2000 and 5000, or the total, its "
            "mean within 10 % of the published one.",
        ),
        tables=(agreement(cases),),
        pictures={"setups": picture_of(cases)},
        judgements=(),
        provenance=Provenance.of(results, {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report


def splits(runs: list[Run]) -> bool:
    """Most seeds are bimodal."""
    return 2 * sum(run.starved >= SPLIT for run in runs) > len(runs)


def published_totals() -> dict[str, float]:
    """Table II's totals by buffer."""
    return {
        n.case["buffer"]: n.value
        for n in data.published(PUBLISHED, "table2")
        if n.metric == "throughput_total" and n.case["version"] == "ns-3.40"
    }


def picture_of(cases: dict[str, list[list[Run]]]) -> Picture:
    """Flows below 1 Mbit/s and the total, for each set-up and buffer."""
    from dumbbell.plots.style import ink_on, picture

    totals = published_totals()
    with picture(7.2, 0.9 + 0.27 * len(cases)) as figure:
        axes = figure.subplots()
        starved = [[mean(runs, lambda r: r.starved) for runs in by_buffer] for by_buffer in cases.values()]
        shades = axes.imshow(starved, cmap="Blues", vmin=0, vmax=16, aspect="auto")
        for row, by_buffer in enumerate(cases.values()):
            for column, runs in enumerate(by_buffer):
                total = mean(runs, lambda r: r.total)
                near = abs(total / totals[BUFFERS[column]] - 1) <= 0.1
                axes.text(
                    column, row, f"{total:.0f}", ha="center", va="center", fontsize=7,
                    weight="bold" if near else "normal", color=ink_on(shades, starved[row][column]),
                )  # fmt: skip
        axes.set_yticks(range(len(cases)), list(cases), fontsize=7)
        ticks = [f"{buffer}\n({totals[buffer]:.0f})" for buffer in BUFFERS]
        axes.set_xticks(range(len(BUFFERS)), ticks, fontsize=7)
        axes.set_xlabel("buffer in packets (published total in Mbit/s)")
        axes.set_title("Total in Mbit/s, bold within 10 % of the published one", loc="left", fontsize=9)
        axes.grid(visible=False)
        figure.colorbar(shades, ax=axes, label="flows below 1 Mbit/s, of 16")
    return figure


def agreement(cases: dict[str, list[list[Run]]]) -> Grid:
    """Cells of Table II that each set-up gives."""
    totals = published_totals()
    rows: list[list[Cell]] = []
    published: list[Cell] = ["published", "yes yes yes no no", *(totals[buffer] for buffer in BUFFERS)]
    rows.append([*published, "", "", ""])
    for name, by_buffer in cases.items():
        split = [splits(runs) for runs in by_buffer]
        total = [mean(runs, lambda r: r.total) for runs in by_buffer]
        right = sum(is_split == (int(buffer) <= 1000) for buffer, is_split in zip(BUFFERS, split, strict=True))
        near = sum(abs(ours / totals[buffer] - 1) <= 0.1 for buffer, ours in zip(BUFFERS, total, strict=True))
        shown = " ".join("yes" if is_split else "no" for is_split in split)
        rows.append([name, shown, *total, right, near, right + near])
    columns = ("set-up", "split at each buffer", *(f"total at {buffer}" for buffer in BUFFERS), "splits right, of 5",
               "totals right, of 5", "cells, of 10")  # fmt: skip
    return Grid("setups", "Cells of Table II by set-up (totals in Mbit/s, means over seeds)", columns, rows)
