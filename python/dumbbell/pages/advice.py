"""What to choose, on a page: for each setting of a sweep over algorithms, or as a map over queues and company."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.advice import words
from dumbbell.advice.rule import Run, Runs, Verdict, judge, mean
from dumbbell.results import setting_name

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.advice import DecisionMap
    from dumbbell.pages.content import Content
    from dumbbell.results import SweepResult

DELAY = "p95_rtt_ms"
ALGORITHMS = ("flows[0].cc", "flows[*].cc")
"""Swept settings that are algorithms."""


@dataclass(frozen=True)
class Advice:
    """The choice for one setting, or that no difference is shown."""

    setting: str
    """Of what is swept besides the algorithm, in words; empty if nothing is."""
    runs: dict[str, Runs]
    verdict: Verdict
    confidence: float
    """Of the intervals of differences."""

    @property
    def repeats(self) -> int:
        """How many runs each algorithm has at least."""
        return min(len(runs) for runs in self.runs.values())

    def sentence(self) -> str:
        """The verdict and its reason."""
        where = f"For {self.setting}: " if self.setting else ""
        best = self.verdict.best
        means: dict[str, Run] = {name: mean(runs) for name, runs in self.runs.items()}
        others = [name for name in self.runs if name not in best] if len(best) == 1 else best[1:]
        said = words.reason(best[0], others, self.verdict, means)
        chosen = best[0] if len(best) == 1 else f"no difference is shown between {words.listed(best)}"
        return f"{where}{chosen}; {said}" if said else f"{where}{chosen}."


def advice(sweep: SweepResult) -> list[Advice]:
    """The choice for each setting of a sweep over algorithms that are alone on the path; empty for any other sweep."""
    axis = next((name for name in ALGORITHMS if name in sweep.axes), None)
    flows = sweep.flows.to_polars()
    if axis is None or flows[axis].n_unique() < 2 or flows["flow"].n_unique() > 1:
        return []
    others = [name for name in sweep.axes if name != axis]
    parts = flows.partition_by(*others, as_dict=True, maintain_order=True) if others else {(): flows}
    settings = [
        ", ".join(f"{setting_name(name)} {value}" for name, value in zip(others, setting, strict=True))
        for setting in parts
    ]
    places = [_runs(rows, axis) for rows in parts.values()]
    verdicts, confidence = judge(places)
    return [Advice(*one, confidence) for one in zip(settings, places, verdicts, strict=True)]


def _runs(rows: pl.DataFrame, axis: str) -> dict[str, Runs]:
    found: dict[str, dict[int, Run]] = {}
    for name, repeat, goodput, delay in rows.select(axis, "repeat", "goodput_mbps", DELAY).rows():
        found.setdefault(str(name), {})[repeat] = (goodput or 0.0, delay)
    return dict(found)


def sentences(choices: Sequence[Advice]) -> list[str]:
    """The choices in words: one for all settings where it is the same."""
    found = [choice.sentence() for choice in choices]
    if any(choice.repeats == 1 for choice in choices):
        found.append("One run of each does not say how much of this is chance: --repeat 10 does.")
    chosen = {choice.verdict.choice for choice in choices}
    if len(choices) > 1 and len(chosen) == 1 and None not in chosen:
        found.insert(0, f"{choices[0].verdict.choice} in all {len(choices)} settings.")
    return found


def of_map(found: DecisionMap, folder: Path, command: str) -> Content:
    """The content of a page about a map in ``folder``: what was assumed, the choice, the map, the numbers."""
    from dumbbell.pages.content import Content, described, provenance

    first = next(iter(found.sweeps.values()))
    places = [f"dumbbell report {shlex.quote(str(folder / place))}" for place in found.folders.values()]
    return Content(
        title=folder.name or "advice",
        question=found.assumptions,
        recommendation=found.sentences,
        verdict=[],
        notes=[],
        described=f"the first run:\n{described(first.load(first.points[0]))}",
        tables=[
            ("Why", found.reasons()),
            ("Goodput and 95th percentile of RTT in each place", found.grid(with_shares=True)),
        ],
        charts=[],
        pictures={"what to choose over queue and company, and what the candidates had": found.picture()},
        names=list(found.question.candidates),
        why=[],
        limits=[],
        limits_left=0,
        provenance=provenance([point for sweep in found.sweeps.values() for point in sweep.points]),
        commands=[command, "", "# all numbers of each company:", *places],
        rule=found.rule,
    )
