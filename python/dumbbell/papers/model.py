"""What a study is made of and what repeating it yields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from dumbbell.plots import Picture
    from dumbbell.results import SweepResult

Verdict = Literal["holds", "fails", "depends"]
Cell: TypeAlias = str | float | int | None


@dataclass(frozen=True)
class Options:
    """What the command line says about a reproduction."""

    out: Path
    """Directory of the part's tables and figures."""
    jobs: int | None = None
    """Runs at the same time; ``None`` is one a core."""
    repeat: int | None = None
    """Repetitions; ``None`` is the study's own number."""
    max_memory: int | str | None = None
    """Memory of each run; ``None`` is a share of the machine."""
    traces: Path | None = None
    """Directory with the study's cellular traces, if there is one."""
    quick: bool = False
    """Runs of a few seconds, once each: shows that everything works, not what the study found."""


@dataclass(frozen=True)
class Claim:
    """Something that a study says it found."""

    id: str
    statement: str
    published: str
    """The numbers that the study gives for it."""


MOST = 0.8
"""Share of the runs that speaks for all of them."""


@dataclass(frozen=True)
class Outcome:
    """A claim put to the test under one choice of what the study leaves open."""

    choice: str
    """Such as ``unpaced``."""
    held: int
    """Runs in which the claim held. A study that published single runs is compared run by run."""
    runs: int
    ours: str
    """Our numbers, in the terms of the claim."""

    @property
    def verdict(self) -> Verdict:
        """``holds`` or ``fails`` where four of five runs agree, otherwise ``depends``: on the seed."""
        share = self.held / self.runs
        return "holds" if share >= MOST else "fails" if share <= 1 - MOST + 1e-9 else "depends"


@dataclass(frozen=True)
class Judgement:
    """A claim and whether it holds."""

    claim: Claim
    outcomes: Sequence[Outcome]
    """At least one; the first is the study's own set-up as far as it is known."""
    note: str = ""
    """The cause, where the claim does not hold plainly."""

    @property
    def verdict(self) -> Verdict:
        """``holds`` or ``fails`` where every choice agrees, otherwise ``depends``."""
        verdicts = {outcome.verdict for outcome in self.outcomes}
        return verdicts.pop() if len(verdicts) == 1 else "depends"

    @property
    def ours(self) -> str:
        """Our numbers under each choice, and in how many runs the claim held."""
        return "; ".join(
            f"{outcome.choice}: {outcome.ours} ({outcome.held} of {outcome.runs})" for outcome in self.outcomes
        )

    @property
    def depends_on(self) -> str:
        """Which choice gives what; empty unless the verdict is ``depends``."""
        if self.verdict != "depends":
            return ""
        words = {"holds": "holds", "fails": "fails", "depends": "depends on the seed"}
        return "; ".join(f"{outcome.choice}: {words[outcome.verdict]}" for outcome in self.outcomes)


@dataclass(frozen=True)
class Grid:
    """A table of a report."""

    name: str
    """Stem of its file."""
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    digits: int = 2
    """Decimals of numbers when printed."""

    def records(self) -> list[dict[str, Cell]]:
        """The rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def printed(self) -> list[list[str]]:
        """The rows as they are printed; a column that reaches thousands has no decimals."""
        columns = zip(*self.rows, strict=True)
        digits = [0 if any(_is_thousands(cell) for cell in column) else self.digits for column in columns]
        return [[_text(cell, places) for cell, places in zip(row, digits, strict=True)] for row in self.rows]


def _is_thousands(cell: Cell) -> bool:
    return isinstance(cell, float) and abs(cell) >= 1000


def _text(cell: Cell, digits: int) -> str:
    if cell is None:
        return "-"
    return f"{cell:,.{digits}f}" if isinstance(cell, float) else str(cell)


@dataclass(frozen=True)
class Provenance:
    """What the numbers of a report come from."""

    version: str
    engine: str
    seeds: Sequence[int]
    runs: int
    packets: int
    cpu_s: float
    scenarios: Mapping[str, str] = field(default_factory=dict)
    """Text of each experiment file, by name."""

    @classmethod
    def of(cls, sweeps: Sequence[SweepResult], scenarios: Mapping[str, str]) -> Provenance:
        """Sums over all runs of the sweeps."""
        points = [point for sweep in sweeps for point in sweep.points]
        return cls(
            version=points[0].version,
            engine=points[0].engine,
            seeds=sorted({point.seed for point in points}),
            runs=len(points),
            packets=sum(point.packets for point in points),
            cpu_s=sum(point.cpu_s for point in points),
            scenarios=scenarios,
        )


@dataclass(frozen=True)
class Report:
    """What repeating a part of a study yielded."""

    study: str
    part: str
    title: str
    setup: Sequence[str]
    """What was done, a sentence each."""
    tables: Sequence[Grid]
    pictures: Mapping[str, Picture]
    """By stem of their files; the caption is the picture's title."""
    judgements: Sequence[Judgement]
    provenance: Provenance
    caveats: Sequence[str] = ()
    """What forbids to take this for a reproduction: a synthetic stand-in, shortened runs."""

    def shortened(self, duration: str) -> Report:
        """The same for runs that were too short to explain anything: without the causes, and marked."""
        caveat = f"Shortened to {duration}: start-up, not the study."
        judgements = [replace(judgement, note="") for judgement in self.judgements]
        return replace(self, judgements=judgements, caveats=[*self.caveats, caveat])

    def to_json(self) -> dict[str, Any]:
        """The report as ``dumbbell reproduce --json`` prints it."""
        provenance = self.provenance
        return {
            "part": self.part,
            "title": self.title,
            "caveats": list(self.caveats),
            "setup": list(self.setup),
            "tables": [
                {"name": grid.name, "title": grid.title, "columns": list(grid.columns), "rows": grid.records()}
                for grid in self.tables
            ],
            "claims": [
                {
                    "id": judgement.claim.id,
                    "statement": judgement.claim.statement,
                    "verdict": judgement.verdict,
                    "ours": judgement.ours,
                    "published": judgement.claim.published,
                    "depends_on": judgement.depends_on,
                    "note": judgement.note,
                    "choices": [
                        {
                            "choice": outcome.choice,
                            "verdict": outcome.verdict,
                            "held": outcome.held,
                            "runs": outcome.runs,
                            "ours": outcome.ours,
                        }
                        for outcome in judgement.outcomes
                    ],
                }
                for judgement in self.judgements
            ],
            "figures": sorted(self.pictures),
            "run": {
                "version": provenance.version,
                "engine": provenance.engine,
                "seeds": list(provenance.seeds),
                "runs": provenance.runs,
                "packets": provenance.packets,
                "cpu_s": provenance.cpu_s,
            },
        }


@dataclass(frozen=True)
class Part:
    """A figure or table of a study."""

    name: str
    title: str
    claims: Sequence[Claim]
    run: Callable[[Options], Report]


@dataclass(frozen=True)
class Study:
    """A published study."""

    name: str
    title: str
    reference: str
    """Where it was published."""
    parts: Sequence[Part]
