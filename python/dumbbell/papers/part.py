"""A part of a study: the experiments it runs, what is measured of the runs, and the claims about it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeVar

from dumbbell import _core, api, experiment
from dumbbell.console import note
from dumbbell.grounds import LINUX
from dumbbell.papers import beside, swap, swaps
from dumbbell.papers.model import (
    ENOUGH,
    Claim,
    Grid,
    Judgement,
    Options,
    Outcome,
    Pictures,
    Provenance,
    Published,
    Report,
)
from dumbbell.papers.runs import Run, grouped
from dumbbell.results import Result, SweepResult, setting_text

Measured = TypeVar("Measured")

SEED = "seed"
"""The setting that no study states."""


@dataclass(frozen=True)
class Ran:
    """What is left of an experiment's runs."""

    sweep: SweepResult
    """The summary tables of all runs."""
    kept: Sequence[Any]
    """What was kept of each run, in the order of the file."""
    settings: Mapping[str, Any]
    """What replaced settings of the file."""
    swapped: Mapping[str, int] = field(default_factory=dict)
    """For each swap the flows that ran another algorithm than the file's."""
    simulated: SweepResult | None = None
    """The same points in the simulator, where they ran on the kernel."""

    @cached_property
    def runs(self) -> list[Run]:
        """Every run, in the order of the file."""
        flows = self.sweep.flows.to_polars().partition_by("point", maintain_order=True)
        links = {row["point"]: row for row in self.sweep.links.rows() if row["name"] == "bottleneck"}
        kept = self.kept or [None] * len(flows)
        return [
            Run(
                own.to_dicts(), {key: setting_text(value) for key, value in point.settings.items()},
                links.get(index, {}), kept[index], point.sim_s,
            )
            for index, (point, own) in enumerate(zip(self.sweep.points, flows, strict=True))
        ]  # fmt: skip

    def by(self, *keys: str) -> dict[tuple[str, ...], list[Run]]:
        """The runs by the values of swept keys; a run for each seed."""
        return grouped(self.runs, lambda run: run.swept(*keys))

    def by_one(self, key: str) -> dict[str, list[Run]]:
        """The runs by the values of a single key."""
        return {value: runs for (value,), runs in self.by(key).items()}

    def kept_by(self, key: str) -> dict[str, list[Any]]:
        """What was kept of the runs, by the values of a swept key."""
        return {value: [run.kept for run in runs] for value, runs in self.by_one(key).items()}


@dataclass(frozen=True)
class Experiment:
    """An experiment file of a study and how it is run."""

    file: Path
    keep: Callable[[Result], Any] = lambda result: None
    """What to keep of a run besides its summary; called while it still has its time series."""
    set: Mapping[str, Any] | Callable[[Options], Mapping[str, Any]] = field(default_factory=dict)
    """Settings that replace what the file says."""
    quick: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the quick form, besides the duration."""
    repeat: int | None = None
    """Seeds in place of the file's."""
    once: bool = False
    """One seed, whatever was asked for."""
    folder: str = ""
    """Of its tables, below the part's."""

    def run(self, options: Options, quick: str) -> Ran:
        """Runs it and writes the joined tables of all its runs below ``options.out``."""
        settings = self.settings(options, quick)
        points = self.points(options, settings)
        others, swapped = swap.swapped(points, self.files(), options.swap)
        kept: dict[int, Any] = {}

        def keep(index: int, run: Result) -> None:
            kept[index] = self.keep(replace(run, meta=swap.renamed(run.meta, points[index])) if swapped else run)

        limits: dict[str, Any] = {"jobs": options.jobs, "max_memory": options.max_memory, "progress": None, "out": None}
        result = api.Sweep(others, ground=options.ground, **limits).collect(keep)
        simulated = api.Sweep(others, **limits).collect() if options.ground.name == LINUX else None
        if swapped:
            result = swap.under_names(result, points)
            simulated = simulated and swap.under_names(simulated, points)
        result.write_tables(options.out / self.folder / self.file.stem)
        return Ran(result, [kept[index] for index in range(len(kept))], settings, swapped, simulated)

    def settings(self, options: Options, quick: str) -> dict[str, Any]:
        """What replaces settings of the file: the study's own, those of the quick form, and what was asked for."""
        own = dict(self.set(options) if callable(self.set) else self.set)
        return own | ({**self.quick, "duration": quick} if options.quick else {}) | dict(options.set)

    def points(self, options: Options, settings: Mapping[str, Any]) -> list[_core.Point]:
        """What is run; raises ``ScenarioError`` where a setting does not fit."""
        repeat = options.repeat or self.repeat or (1 if options.quick else None)
        return experiment.load(self.file, set=settings, repeat=1 if self.once else repeat).points

    def swapped(self, options: Options, quick: str) -> Counter[str]:
        """For each swap the flows that it changes; recordings that the study looks for are left out."""
        plain = replace(self, set={}) if callable(self.set) else self
        return swap.swapped(plain.points(options, plain.settings(options, quick)), self.files(), options.swap)[1]

    def files(self) -> list[Path]:
        """The experiment file, and what it includes."""
        return [self.file, *map(Path, experiment.load(self.file).included)]

    def texts(self) -> dict[str, str]:
        """The file and what it includes, by name."""
        return {file.name: file.read_text(encoding="utf-8") for file in self.files()}


def variations(
    file: Path,
    setups: Mapping[str, Mapping[str, Any]],
    common: Mapping[str, Any],
    repeat: int,
    quick: Mapping[str, Any] | None = None,
) -> list[Experiment]:
    """A file with other settings for each of some set-ups, and with those that they have in common."""
    return [
        Experiment(
            file, set={**common, **changes}, quick=quick or {}, repeat=repeat, folder=re.sub(r"[^\w.]+", "-", name)
        )
        for name, changes in setups.items()
    ]


def failures() -> tuple[type[Exception], ...]:
    """What a part raises where its runs lack what it measures."""
    from polars.exceptions import PolarsError

    return (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, PolarsError)


def changes(options: Options, ran: Sequence[Ran]) -> list[str]:
    """What was changed of the study by who repeats it."""
    asked = [f"--set {key}={value}" for key, value in options.set.items() if key != SEED]
    asked += [f"--swap {old}={new}" for old, new in options.swap.items() if any(old in one.swapped for one in ran)]
    told = [f"Changed by {', '.join(asked)}: not the study."] if asked else []
    return told + ([f"On the TCP of {beside.kernel()}."] if options.ground.name == LINUX else [])


def repeated(times: int) -> str:
    """How often a part was run again."""
    return "Repeated with other seeds" if times == 1 else f"Repeated with other seeds {times} times"


@dataclass(frozen=True)
class Part(Generic[Measured]):
    """A figure or table of a study."""

    name: str
    title: str
    experiments: Sequence[Experiment]
    quick: str
    """Duration of the runs in the quick form."""
    measure: Callable[..., Measured]
    """Is given a :class:`Ran` for each experiment."""
    setup: Sequence[str] | Callable[[Measured], Sequence[str]]
    """What was done, a sentence each."""
    tables: Callable[[Measured], Sequence[Grid]]
    claims: Sequence[Claim[Measured]] = ()
    decides: Callable[[str], bool] = lambda choice: True
    """Which choices are set-ups that the evidence argues for; verdicts come from these, others stand beside them."""
    pictures: Callable[[Measured], Pictures] = lambda measured: {}
    """By stem of their files."""
    caveats: Callable[[Measured], Sequence[str]] = lambda measured: ()
    """What forbids to take this for a reproduction."""
    authors: Sequence[Published[Measured]] = ()
    """Every run of it that the authors made public: the claims are put to these, too."""

    def run(self, study: str, options: Options) -> Report:
        """Runs the experiments and reports on them."""
        ran = self.ran(options)
        measured = self.measure(*ran)
        more, added = self.decided(study, measured, options) if options.decide else ({}, [])
        ran_in_all = [one.sweep for one in ran] + added
        texts = {name: text for one in self.experiments for name, text in one.texts().items()}
        caveats = [*self.caveats(measured), *changes(options, ran)]
        setup = [*(self.setup(measured) if callable(self.setup) else self.setup)]
        if added:
            setup.append(f"{repeated(len(added) // len(ran))} for the verdicts; numbers are those of the first seeds.")
        report = Report(
            study=study,
            part=self.name,
            title=" ".join([self.title, *(f"({caveat})" for caveat in caveats)]),
            setup=setup,
            tables=[*self.tables(measured), *beside.tables(ran)],
            pictures=self.pictures(measured),
            judgements=self.judge(measured, more),
            provenance=Provenance.of(ran_in_all, texts),
            caveats=caveats,
        )
        return report.shortened(self.quick) if options.quick else report

    def ran(self, options: Options) -> list[Ran]:
        """Runs every experiment."""
        return [one.run(options, self.quick) for one in self.experiments]

    def swapped(self, options: Options) -> Counter[str]:
        """For each swap the flows that it changes; raises ``ScenarioError`` where a setting does not fit."""
        changed: Counter[str] = Counter()
        for one in self.experiments:
            changed += one.swapped(options, self.quick)
        return changed

    @property
    def folder(self) -> Path:
        """Where its experiment files are."""
        return self.experiments[0].file.parent

    def judged(self, options: Options) -> list[Judgement]:
        """Runs the experiments and judges the claims, without tables and pictures."""
        return self.judge(self.measure(*self.ran(options)))

    def decided(
        self, study: str, measured: Measured, options: Options
    ) -> tuple[dict[str, list[Outcome]], list[SweepResult]]:
        """Repeats the part with other seeds until they decide: what every claim's tests say of these, and the runs."""
        more: dict[str, list[Outcome]] = defaultdict(list)
        sweeps: list[SweepResult] = []
        for times in range(1, ENOUGH):
            still = [one.id for one in self.claims if not one.judge(measured, self.decides, more[one.id]).is_decided]
            if not still:
                break
            note(f"{study}/{self.name}: {repeated(times).lower()} for {', '.join(still)}")
            seed = {SEED: int(str(options.set.get(SEED, 1)), base=0) + times}
            with TemporaryDirectory() as place:
                ran = self.ran(replace(options, out=Path(place), set={**options.set, **seed}))
            sweeps += [one.sweep for one in ran]
            found = self.measure(*ran)
            for claim in self.claims:
                more[claim.id] += claim.test(found)
        return more, sweeps

    def judge(self, measured: Measured, more: Mapping[str, Sequence[Outcome]] | None = None) -> list[Judgement]:
        """Puts every claim to what was measured, and to ``more`` seeds by its id."""
        known = swaps.read(self.folder)
        return [
            replace(
                claim.judge(measured, self.decides, (more or {}).get(claim.id, ())),
                theirs=self.theirs(claim),
                notices=swaps.mark(known[claim.id]) if claim.id in known else "",
            )
            for claim in self.claims
        ]

    def theirs(self, claim: Claim[Measured]) -> list[Outcome]:
        """A claim put to each run that the authors made public."""
        return [self._put(claim, one) for one in self.authors] if claim.theirs else []

    def _put(self, claim: Claim[Measured], public: Published[Measured]) -> Outcome:
        """A claim put to a run of the authors, as they ran it."""
        found = [one for one in claim.test(public.measured()) if self.decides(one.choice)]
        held = all(one.verdict == "holds" for one in found)
        return Outcome(public.origin, int(held), 1, "; ".join(one.ours for one in found), public.decides)
