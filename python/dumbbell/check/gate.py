"""Two algorithms over a set of scenarios: is the new one worse than the limits allow?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell import _core, catalogue, spread, storage
from dumbbell.check import recorded as recording
from dumbbell.check.cases import TRANSPORTS
from dumbbell.check.limits import DEFAULTS, Limit, Row, Verdict, judge, parse
from dumbbell.check.recorded import Recorded, Runs
from dumbbell.check.scenarios import Scenario, choose, find, hint, read_scenarios
from dumbbell.check.subject import SUBJECT, subject
from dumbbell.inference import ALPHA
from dumbbell.memory import Size
from dumbbell.parallel import engine_digest
from dumbbell.results import without_infinities
from dumbbell.storage import OtherEngineWarning, ResultError

REPEAT = 40
"""Runs of each scenario and algorithm."""

RUNS = "runs"
"""Folder of all results, beside the numbers."""

MANY_RUNS = 400
"""A row that needs more runs is told apart: one would rather change its limit or its scenario."""

KIND = storage.Kind("gate", (recording.FILE,), lambda folder: None)


@dataclass(frozen=True, repr=False)
class Report:
    """What came of a gate."""

    base: Recorded
    new: Recorded
    rows: Sequence[Row]
    notes: Sequence[str]

    @property
    def repeat(self) -> int:
        """Pairs of runs of each scenario."""
        return self.new.repeat

    @property
    def failed(self) -> list[Row]:
        """The rows whose change is shown to be beyond the limit."""
        return [row for row in self.rows if row.verdict == "fail"]

    @property
    def passes(self) -> bool:
        """Whether no regression is shown."""
        return not self.failed

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many rows have each verdict."""
        return {verdict: sum(row.verdict == verdict for row in self.rows) for verdict in ("pass", "fail", "undecided")}

    @property
    def is_same(self) -> bool:
        """Whether base and new did the same in every run."""
        return self.base.scenarios == self.new.scenarios

    @property
    def advised(self) -> int | None:
        """The runs that show a regression larger than its limit, as :class:`Row` says, in all rows but :attr:`beyond`.

        ``None`` if there are no others.
        """
        needed = [row.advised for row in self.rows if row.advised is not None and row.advised <= MANY_RUNS]
        return max(needed, default=None)

    @property
    def beyond(self) -> list[Row]:
        """The rows that need more than :data:`MANY_RUNS`."""
        return [row for row in self.rows if row.advised is None or row.advised > MANY_RUNS]

    def enough(self, runs: int) -> int:
        """In how many rows so many runs show such a regression."""
        return sum(row.advised is not None and row.advised <= runs for row in self.rows)

    def __repr__(self) -> str:
        # What pytest shows of an assertion that fails.
        lines = [f"{row.scenario}: {row.limit.written}: {row.limit.interval(row.change)}" for row in self.failed]
        return "\n".join([f"{len(self.failed)} of {len(self.rows)} rows fail", *lines])

    def summary(self) -> dict[str, Any]:
        """What ``dumbbell check gate --json`` prints. Bounds and values that are infinite are ``null``."""
        printed: dict[str, Any] = without_infinities(
            {
                "base": self.base.algorithm,
                "new": self.new.algorithm,
                "transport": self.new.transport,
                "repeat": self.repeat,
                "verdict": "pass" if self.passes else "fail",
                "counts": dict(self.counts),
                "advised_runs": self.advised,
                "rows": [_row(row) for row in self.rows],
                "notes": list(self.notes),
            }
        )
        return printed


def gate(
    base: str,
    new: str,
    limits: Sequence[str] = (),
    *,
    scenarios: Path | None = None,
    names: Sequence[str] = (),
    repeat: int | None = None,
    seed: int | None = None,
    transport: str | None = None,
    out: Path | None = None,
    jobs: int | None = None,
    max_memory: Size | None = None,
    progress: bool | None = None,
) -> Report:
    """Compares two algorithms by limits, over a set of scenarios.

    Args:
        base: An algorithm as for :func:`dumbbell.compare`, or the folder of an earlier gate or recording, of which the
            newer algorithm counts.
        new: The same.
        limits: Such as ``"p95 goodput -2%"``; default :data:`dumbbell.check.limits.DEFAULTS`, as far as they fit.
        scenarios: A folder of experiments; default those of the package.
        names: Only these scenarios.
        repeat: Runs of each scenario and algorithm; default 40, or as many as were recorded.
        seed: Base seed in place of the scenarios'.
        transport: ``"tcp"``, the default, or ``"quic"``; default what was recorded.
        out: Folder for the numbers and all runs. Runs that are there are not repeated.
        jobs: Runs at the same time; default one a core.
        max_memory: Memory that each run may take, in bytes or as ``"2GiB"``.
        progress: Whether to show a progress bar; by default on a terminal.

    Raises:
        ScenarioError: An algorithm or a scenario is wrong.
        ValueError: A limit, a name or a number is wrong.
        ResultError: What was recorded cannot be read, or is of other scenarios.
    """
    chosen = choose(find() if scenarios is None else read_scenarios(scenarios), names)
    judged = applied(limits, chosen)
    old = {text: recording.read(text) for text in (base, new) if _is_recorded(text)}
    if len(old) == len({base, new}) and not (seed is None and jobs is None and max_memory is None):
        raise ValueError("both were recorded and nothing is run: leave out seed, jobs and max_memory")
    carried = _transport(transport, old)
    count = _repeat(repeat, old)
    _check_recorded(old, chosen)
    run = [text for text in dict.fromkeys((base, new)) if text not in old]
    found = _Runner(out, jobs, max_memory, progress).run(run, chosen, count, seed, carried) | old
    wanted = [one.name for one in chosen]
    before, after = (found[text].first(wanted, count) for text in (base, new))
    report = compared(before, after, judged)
    if out is not None:
        _write(out, report.new, report.summary())
    return report


def record(
    algorithm: str,
    out: Path,
    *,
    scenarios: Path | None = None,
    names: Sequence[str] = (),
    repeat: int | None = None,
    seed: int | None = None,
    transport: str | None = None,
    jobs: int | None = None,
    max_memory: Size | None = None,
    progress: bool | None = None,
) -> Recorded:
    """Runs an algorithm over a set of scenarios, for later gates to compare with; arguments as for :func:`gate`.

    Raises:
        ScenarioError: The algorithm or a scenario is wrong.
        ValueError: A name is wrong.
    """
    if _is_recorded(algorithm):
        raise ValueError(f"{algorithm} is recorded already; name an algorithm, or a second one to compare it with")
    chosen = choose(find() if scenarios is None else read_scenarios(scenarios), names)
    carried, count = _transport(transport, {}), _repeat(repeat, {})
    runner = _Runner(out, jobs, max_memory, progress)
    found = runner.run([algorithm], chosen, count, seed, carried)[algorithm]
    _write(out, found, None)
    return found


def applied(texts: Sequence[str], scenarios: Sequence[Scenario]) -> list[tuple[str, Limit]]:
    """Each limit with each scenario that it is for, by scenarios.

    Raises:
        ValueError: A limit is wrong, or there is nothing for it to judge.
    """
    found: list[tuple[str, Limit]] = []
    seen: dict[tuple[str, float, str, int], str] = {}
    known = [one.name for one in scenarios]
    for limit in map(parse, texts or DEFAULTS):
        if limit.scenario not in (None, *known):
            raise ValueError(
                f"{limit.text}: there is no scenario `{limit.scenario}`; {hint(str(limit.scenario), known)}"
            )
        of = [one.name for one in scenarios if limit.scenario in (None, one.name) and limit.metric in one.metrics]
        if not of and texts:
            where = f"`{limit.scenario}` measures no" if limit.scenario else "no scenario measures"
            raise ValueError(f"{limit.text}: {where} {limit.metric}, so that this limit changes nothing")
        for name in of:
            key = (name, limit.share, limit.metric, limit.sign)
            if key in seen:
                raise ValueError(f"{limit.text}: {name} has the limit {seen[key]} already; leave one out")
            seen[key] = limit.text
            found.append((name, limit))
    return sorted(found, key=lambda pair: known.index(pair[0]))


def compared(base: Recorded, new: Recorded, applied: Sequence[tuple[str, Limit]]) -> Report:
    """What recorded runs say about limits, each with the scenario that it is for; runs at the same place are pairs."""
    # All verdicts hold together.
    error = ALPHA / len(applied)
    rows = []
    for name, limit in applied:
        before, after = (one.scenarios[name].values[limit.metric] for one in (base, new))
        rows.append(judge(name, limit, before, after, error))
    return Report(base, new, rows, _notes(base, new, rows))


def _row(row: Row) -> dict[str, Any]:
    def three(interval: Any) -> dict[str, float]:
        return {"estimate": interval.estimate, "low": interval.low, "high": interval.high}

    return {
        "scenario": row.scenario,
        "limit": row.limit.text,
        "metric": row.limit.metric,
        "quantile": row.limit.share,
        "base": three(row.base),
        "new": three(row.new),
        "change": three(row.change) | {"unit": "share" if row.limit.is_relative else "difference"},
        "verdict": row.verdict,
        "advised_runs": row.advised,
    }


def _is_recorded(text: str) -> bool:
    # A folder that has the name of an algorithm is not meant.
    return not catalogue.is_known(text) and recording.is_recorded(text)


def _transport(asked: str | None, old: Mapping[str, Recorded]) -> str:
    known = {one.transport: text for text, one in old.items()}
    if asked is not None and asked not in TRANSPORTS:
        raise ValueError(f"there is no transport `{asked}`; choose among {', '.join(TRANSPORTS)}")
    for transport, text in known.items():
        if transport != (asked or next(iter(known))):
            raise ValueError(f"{text} was recorded over {transport}, which cannot be compared with another transport")
    return asked or next(iter(known), TRANSPORTS[0])


def _repeat(asked: int | None, old: Mapping[str, Recorded]) -> int:
    fewest = min(((one.repeat, text) for text, one in old.items()), default=None)
    if fewest is None:
        return REPEAT if asked is None else asked
    if asked is not None and asked > fewest[0]:
        raise ValueError(f"{fewest[1]} has {fewest[0]} runs of each scenario, not {asked}; record it with more")
    return fewest[0] if asked is None else asked


def _check_recorded(old: Mapping[str, Recorded], scenarios: Sequence[Scenario]) -> None:
    for text, one in old.items():
        for scenario in scenarios:
            runs = one.scenarios.get(scenario.name)
            if runs is None:
                raise ResultError(
                    f"{text}: `{scenario.name}` was not recorded", "record it again, or choose --scenario"
                )
            if runs.digest != scenario.digest or set(runs.values) != set(scenario.metrics):
                raise ResultError(f"{text}: `{scenario.name}` was recorded of another experiment", "record it again")
        if recording.is_of_another_engine(one):
            warnings.warn(
                f"{text} was recorded by another engine ({one.engine}): a change may be the engine's",
                OtherEngineWarning,
                stacklevel=3,
            )


@dataclass(frozen=True)
class _Runner:
    """What runs algorithms, and what it may take."""

    out: Path | None
    jobs: int | None
    max_memory: Size | None
    progress: bool | None

    def run(
        self, algorithms: Sequence[str], scenarios: Sequence[Scenario], repeat: int, seed: int | None, transport: str
    ) -> dict[str, Recorded]:
        """Runs algorithms over scenarios, all on one bar."""
        from dumbbell.api import Sweep

        points: list[_core.Point] = []
        owners: list[tuple[str, int]] = []
        for algorithm in algorithms:
            written = subject(algorithm)
            for number, scenario in enumerate(scenarios):
                points += scenario.points(written, repeat=repeat, seed=seed, transport=transport)
                owners += [(algorithm, number)] * repeat
        found: dict[tuple[str, int], dict[int, tuple[int, dict[str, float]]]] = {owner: {} for owner in owners}
        exact: dict[str, str] = {}
        with nullcontext() if self.out is None else storage.claimed(self.out, KIND):
            sweep = Sweep(
                points,
                jobs=self.jobs,
                max_memory=self.max_memory,
                out=None if self.out is None else self.out / RUNS,
                progress=self.progress,
                others="rerun",
            )
            with closing(sweep.indexed()) as results:
                for index, result in results:
                    algorithm, number = owners[index]
                    found[algorithm, number][index] = (result.meta.seed, scenarios[number].values(result))
                    rows = [*result.flows.rows(), *result.traffic.rows()]
                    exact[algorithm] = next(row["algorithm"] for row in rows if row["label"] == SUBJECT)
        return {
            algorithm: Recorded(
                algorithm,
                exact[algorithm],
                transport,
                engine_digest(),
                {one.name: _runs(one, found[algorithm, number]) for number, one in enumerate(scenarios)},
            )
            for algorithm in algorithms
        }


def _runs(scenario: Scenario, found: Mapping[int, tuple[int, dict[str, float]]]) -> Runs:
    # In the order of the seeds, whatever finished first.
    ordered = [one for _, one in sorted(found.items())]
    values = {metric: [numbers[metric] for _, numbers in ordered] for metric in scenario.metrics}
    return Runs(scenario.digest, [seed for seed, _ in ordered], values)


def _notes(base: Recorded, new: Recorded, rows: Sequence[Row]) -> list[str]:
    """What makes the rows say less than they seem to."""
    found = []
    if any(base.scenarios[name].seeds != runs.seeds for name, runs in new.scenarios.items()):
        found.append("base and new have different seeds: pairs share no chance, and intervals are wider")
    fewest = {row.limit.written: row.limit.fewest(ALPHA / len(rows)) for row in rows}
    if few := {limit: runs for limit, runs in fewest.items() if runs > new.repeat}:
        found.append("too few runs to show anything: " + ", ".join(f"{one} needs {runs}" for one, runs in few.items()))
    for name, runs in base.scenarios.items():
        if new.repeat > 1 and all(len(set(values)) == 1 for values in runs.values.values()):
            found.append(f"{name}: all runs of {base.algorithm} are equal, one sample\n  help: {spread.HINT}")
    return found


def _write(out: Path, recorded: Recorded, outcome: Mapping[str, Any] | None) -> None:
    with storage.directory(out, KIND) as staging:
        (staging / recording.FILE).write_bytes(recording.content(recorded, outcome))
