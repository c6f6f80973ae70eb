"""What a study is made of and what repeating it yields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

from dumbbell.grounds import SIMULATED, Ground

if TYPE_CHECKING:
    from dumbbell.papers.part import Part
    from dumbbell.plots import Format, Picture
    from dumbbell.results import SweepResult

NOT_JUDGED: Final = "not judged in quick form"
"""What is said of a claim after runs that were too short to tell."""

CONTRADICTED: Final = "contradicted by the authors' own data"
"""What is said of a claim that does not hold here and that a run of its authors in the same set-up fails, too."""

Verdict = Literal["holds", "fails", "depends", "not judged in quick form", "contradicted by the authors' own data"]
Cell: TypeAlias = str | float | int | None
Pictures: TypeAlias = "Mapping[str, Picture]"
"""By the stem of their files."""


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
    set: Mapping[str, Any] = field(default_factory=dict)
    """Settings that replace those of every experiment, the study's own, too."""
    swap: Mapping[str, str] = field(default_factory=dict)
    """Algorithms, and what runs under their names; see :func:`dumbbell.papers.swap.swapped`."""
    decide: bool = False
    """Whether a part is repeated with other seeds until they decide on each of its claims."""
    ground: Ground = SIMULATED
    """What runs the experiments. What ran on the kernel is simulated, too, to stand beside it."""


Measured = TypeVar("Measured", contravariant=True)
"""What a part measures of its runs."""


Found = TypeVar("Found", covariant=True)


@dataclass(frozen=True)
class Claim(Generic[Measured]):
    """Something that a study says it found, and how it is put to the test."""

    id: str
    statement: str
    published: str
    """The numbers that the study gives for it."""
    test: Callable[[Measured], Sequence[Outcome]]
    """Puts it to the runs; see :func:`dumbbell.papers.testing.each`."""
    note: str | Callable[[Measured], str] = ""
    """What there is to know about it."""
    cause: str | Callable[[Measured], str] = ""
    """Why it does not hold; said where that is so."""
    theirs: bool = True
    """Whether the runs that the authors made public have what the test asks for."""

    def judge(
        self,
        measured: Measured,
        decides: Callable[[str], bool] = lambda choice: True,
        more: Iterable[Outcome] = (),
    ) -> Judgement:
        """Whether it holds, by the choices that decide; ``more`` is what other seeds say, in the same choices."""
        others = list(more)
        outcomes = [replace(one, decides=decides(one.choice)).with_more(others) for one in self.test(measured)]
        if not any(one.decides for one in outcomes):
            outcomes = [replace(one, decides=True) for one in outcomes]
        judgement = Judgement(self, outcomes)
        notes = (self.note, "" if judgement.verdict == "holds" else self.cause)
        texts = (note if isinstance(note, str) else note(measured) for note in notes)
        return replace(judgement, note=" ".join(filter(None, texts)))


WORDS: dict[Verdict, str] = {
    "holds": "holds",
    "fails": "fails",
    "depends": "depends on the seed",
    NOT_JUDGED: NOT_JUDGED,
    CONTRADICTED: CONTRADICTED,
}
"""The verdict of a single choice."""

ONE_IN = 5
"""So many runs speak for all of them if all but one agree, where they do not decide."""
MOST = 1 - 1 / ONE_IN
"""Share of the runs that does."""
DOUBT = 0.05
"""How likely runs that decide may be where they decide wrongly."""
ENOUGH = 28
"""Runs that always decide."""


def at_least(held: int, runs: int, one_in: int) -> float:
    """How likely a claim holds in so many runs or more, if it holds in one run in so many."""
    ways = sum(comb(runs, k) * (one_in - 1) ** (runs - k) for k in range(held, runs + 1))
    return float(ways / one_in**runs)


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
    decides: bool = True
    """Whether this is a set-up that the evidence argues for; others are shown beside it."""
    judged: bool = True
    """Whether the runs were long enough for a verdict."""
    seeds: bool = True
    """Whether another seed can give another outcome; a formula has none."""

    @property
    def is_decided(self) -> bool:
        """Whether the runs say, with 95 % confidence, in how many of all runs the claim holds.

        In more than half, as 5 of 5 say and 12 of 15; in less than half; or in some, between one and four of five,
        as 5 of 10 say and 16 of 25. From :data:`ENOUGH` runs on one of these is always so.
        """
        return not self.seeds or self._most_agree or self._is_on_the_seed

    @property
    def _most_agree(self) -> bool:
        """Whether so many would hardly agree if the claim held in every second run."""
        return at_least(max(self.held, self.runs - self.held), self.runs, 2) <= DOUBT

    @property
    def _is_on_the_seed(self) -> bool:
        """Whether so many would hardly differ if the claim held, or failed, in all runs but one of five."""
        return at_least(min(self.held, self.runs - self.held), self.runs, ONE_IN) <= DOUBT

    @property
    def verdict(self) -> Verdict:
        """``holds`` or ``fails`` where most runs agree, so many that they decide, or four of five.

        Where fewer agree it ``depends`` on the seed.
        """
        if not self.judged:
            return NOT_JUDGED
        share = self.held / self.runs
        if self._most_agree:
            return "holds" if share > 0.5 else "fails"
        return "holds" if share >= MOST else "fails" if share <= 1 - MOST + 1e-9 else "depends"

    def with_more(self, others: Iterable[Outcome]) -> Outcome:
        """The outcome of these runs and of those of others under the same choice; the numbers stay."""
        if not self.seeds:
            return self
        found = [one for one in others if one.choice == self.choice]
        held, runs = sum(one.held for one in found), sum(one.runs for one in found)
        return replace(self, held=self.held + held, runs=self.runs + runs)


@dataclass(frozen=True)
class Published(Generic[Found]):
    """A run of a part that the authors made public."""

    origin: str
    """Such as ``3 June 2017, window of 16 MiB``."""
    measured: Callable[[], Found]
    """What the part would have measured of it."""
    decides: bool = True
    """Whether its set-up is the one that the claims speak of; others are shown beside it."""


@dataclass(frozen=True)
class Judgement:
    """A claim and whether it holds."""

    claim: Claim[Any]
    outcomes: Sequence[Outcome]
    """At least one that decides; the first is the study's own set-up as far as it is known."""
    note: str = ""
    """The cause, where the claim does not hold plainly."""
    theirs: Sequence[Outcome] = ()
    """The claim put to each run that the authors made public, whose origin is the name of the choice."""
    notices: str = ""
    """Which other algorithms in the study's place it notices (:func:`dumbbell.papers.swaps.mark`), if known."""

    @property
    def deciding(self) -> list[Outcome]:
        """The outcomes that the verdict comes from."""
        return [outcome for outcome in self.outcomes if outcome.decides]

    @property
    def beside(self) -> list[Outcome]:
        """The outcomes of other set-ups."""
        return [outcome for outcome in self.outcomes if not outcome.decides]

    @property
    def is_decided(self) -> bool:
        """Whether the runs decide under every choice that does."""
        return all(one.is_decided for one in self.deciding)

    @property
    def verdict(self) -> Verdict:
        """``holds`` or ``fails`` where every choice that decides agrees, otherwise ``depends``.

        What does not plainly hold is contradicted where a run of the authors in the same set-up fails it, too.
        """
        verdicts = {outcome.verdict for outcome in self.deciding}
        ours = verdicts.pop() if len(verdicts) == 1 else "depends"
        fails = any(one.decides and one.verdict == "fails" for one in self.theirs)
        return CONTRADICTED if fails and ours in ("fails", "depends") else ours

    @property
    def ours(self) -> str:
        """Our numbers under each choice that decides, and in how many runs the claim held."""
        return "; ".join(f"{one.choice}: {one.ours} ({one.held} of {one.runs})" for one in self.deciding)

    @property
    def depends_on(self) -> str:
        """Which choice gives what; empty unless the verdict is ``depends``."""
        if self.verdict != "depends":
            return ""
        return "; ".join(f"{outcome.choice}: {WORDS[outcome.verdict]}" for outcome in self.deciding)

    @property
    def would_change(self) -> str:
        """The set-ups beside that give another verdict."""
        known = {outcome.verdict for outcome in self.deciding}
        others = [outcome for outcome in self.beside if known != {outcome.verdict}]
        return "; ".join(f"{outcome.choice}: {WORDS[outcome.verdict]}" for outcome in others)

    def to_json(self) -> dict[str, Any]:
        """As ``dumbbell reproduce --json`` prints it."""
        columns = ("choice", "decides", "verdict", "held", "runs", "is_decided", "ours")
        choices = [_named(one, *columns) for one in self.outcomes]
        return {
            **_named(self.claim, "id", "statement"),
            **_named(self, "verdict", "ours"),
            "published": self.claim.published,
            **_named(self, "depends_on", "would_change", "note", "notices"),
            "choices": choices,
            "authors": [
                {"origin": one.choice, "decides": one.decides, "held": one.held == one.runs, "numbers": one.ours}
                for one in self.theirs
            ],
        }


def _named(of: object, *names: str) -> dict[str, Any]:
    return {name: getattr(of, name) for name in names}


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


Row = TypeVar("Row")


def table(
    name: str,
    title: str,
    heads: Sequence[str],
    rows: Iterable[tuple[Sequence[Cell], Row]],
    columns: Mapping[str, Callable[[Row], Cell]],
    digits: int = 2,
    above: Iterable[Sequence[Cell]] = (),
) -> Grid:
    """A table with a row for each of ``rows``: the cells under ``heads``, then what ``columns`` make of the rest.

    Rows that are known, such as published ones, stand ``above``.
    """
    cells = [[*head, *(value(row) for value in columns.values())] for head, row in rows]
    return Grid(name, title, [*heads, *columns], [*above, *cells], digits)


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
    pictures: Pictures
    judgements: Sequence[Judgement]
    provenance: Provenance
    caveats: Sequence[str] = ()
    """What forbids to take this for a reproduction: a synthetic stand-in, shortened runs."""
    _drawn: dict[tuple[str, Format], bytes] = field(default_factory=dict, repr=False, compare=False)

    def drawn(self, name: str, kind: Format) -> bytes:
        """A picture as a file's content; drawn once, though its own file and the page of the study both ask for it."""
        if (name, kind) not in self._drawn:
            self._drawn[name, kind] = self.pictures[name].encoded(kind)
        return self._drawn[name, kind]

    def shortened(self, duration: str) -> Report:
        """The report of runs that were too short to tell anything: without verdicts and causes, and marked."""
        caveat = f"Shortened to {duration}: start-up, not the study."
        judgements = [
            replace(one, outcomes=[replace(outcome, judged=False) for outcome in one.outcomes], note="", theirs=())
            for one in self.judgements
        ]
        return replace(self, judgements=judgements, caveats=[*self.caveats, caveat])

    def to_json(self) -> dict[str, Any]:
        """The report as ``dumbbell reproduce --json`` prints it."""
        return {
            "part": self.part,
            "title": self.title,
            "caveats": list(self.caveats),
            "setup": list(self.setup),
            "tables": [
                {"name": grid.name, "title": grid.title, "columns": list(grid.columns), "rows": grid.records()}
                for grid in self.tables
            ],
            "claims": [judgement.to_json() for judgement in self.judgements],
            "figures": sorted(self.pictures),
            "run": _named(self.provenance, "version", "engine", "seeds", "runs", "packets", "cpu_s"),
        }


@dataclass(frozen=True)
class Study:
    """A published study."""

    name: str
    title: str
    reference: str
    """Where it was published."""
    parts: Sequence[Part[Any]]
    subject: Sequence[str] = ()
    """Algorithms and presets that it is about, which :mod:`dumbbell.papers.swaps` replaces."""
    rivals: Sequence[str] = ()
    """What it is compared with, which is replaced where a claim holds whatever the subject is."""

    def listed(self) -> dict[str, Any]:
        """What ``dumbbell reproduce --list --json`` prints of it."""
        parts = [
            {
                "part": part.name,
                "title": part.title,
                "claims": [_named(claim, "id", "statement", "published") for claim in part.claims],
            }
            for part in self.parts
        ]
        return {"study": self.name, "title": self.title, "reference": self.reference, "parts": parts}
