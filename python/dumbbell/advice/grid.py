"""The places of a map, and the runs of every candidate there.

A place is a queue in a row of the map; a row is company on a path. Between two neighbours whose verdicts differ further
queues are tried, until neighbours are so near that a boundary between them is known well enough.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from dumbbell import _core, arguments, experiment, scratch
from dumbbell.advice import traces
from dumbbell.advice.map import ALONE, ITSELF, Cell, DecisionMap, Queue, Row, by_row, folder_of
from dumbbell.advice.rule import WEIGHT, Runs, judge
from dumbbell.api import Sweep
from dumbbell.compare import RATE, scenario
from dumbbell.memory import Size
from dumbbell.results import SweepResult
from dumbbell.storage import Kind, claimed

CANDIDATES = ("bbr", "bbr3", "cubic")
QUEUES = ("0.5bdp", "1bdp", "2bdp", "4bdp", "10bdp")
COMPANY = (ALONE, "cubic", ITSELF)

REPEAT = 20
"""Seeds: two CUBIC flows in one queue differ so much from run to run that fewer show little."""

NEAR = 1.2
"""Queues whose ratio is at most this are neighbours between which nothing more is tried."""

MAX_ROUNDS = 4
"""So many times further queues are tried at most."""

START_JITTER = "1s"
"""Flows that share the path start within this span of each other, or which is first would be no chance."""

OWN = {
    "path.rate": "--rate", "path.trace": "--trace", "path.rtt": "--rtt", "path.buffer": "--buffer",
    "path.loss": "--loss", "path": "--rate, --rtt, --buffer and --loss", "duration": "--duration", "seed": "--seed",
    "sweep": "--repeat", "flows": "--candidates and --company", "flows[0].cc": "--candidates",
    "flows[*].cc": "--candidates", "flows[1].cc": "--company",
}  # fmt: skip
"""Keys of the experiment that a map writes anew for every run, and the options that say them."""

ADVICE = Kind("advice", (), lambda folder: None)
"""A folder with a sweep for each company, and the page."""


@dataclass(frozen=True)
class Question:
    """What is asked: the path, the candidates, and how they are tried."""

    candidates: Sequence[str]
    rates: Sequence[str]
    """Empty with a trace."""
    trace: Path | None
    rtts: Sequence[str]
    losses: Sequence[str]
    queues: Sequence[str]
    measured_queue: str | None
    company: Sequence[str]
    duration: str
    repeat: int
    delay_weight: float
    settings: Mapping[str, Any]
    seed: int | None
    recording: traces.Recording | None = field(init=False)

    def __post_init__(self) -> None:
        try:
            recording = None if self.trace is None else traces.read(self.trace)
        except ValueError as error:
            raise ValueError(f"--trace: {error}") from None
        object.__setattr__(self, "recording", recording)
        _check_names("--candidates", self.candidates, at_least=2)
        _check_names("--company", self.company, at_least=1)
        for key in self.settings:
            own = next((word for word in OWN if key == word or _is_below(key, word)), None)
            if own is not None:
                raise ValueError(f"--set {key}: a map writes this key for each of its runs; use {OWN[own]}")

    @property
    def rows(self) -> Iterator[Row]:
        """A row for each company and setting of the path."""
        for company in self.company:
            for rate, rtt, loss in itertools.product(self.rates or [""], self.rtts, self.losses):
                given = [(self.rates, rate), (self.rtts, f"RTT {rtt}"), (self.losses, f"loss {loss}")]
                words = ", ".join(word for values, word in given if len(values) > 1)
                yield Row(company, words, rate, rtt, loss, self._mean_mbps(rate))

    def _mean_mbps(self, rate: str) -> float:
        if self.recording is not None:
            return self.recording.mean_mbps
        read = _core.quantity(rate)
        return read[0] if read is not None and read[1] == "Mbit/s" else math.nan

    def first_queues(self, row: Row) -> list[Queue]:
        """The queues that are tried in a row whatever they show."""
        if self.measured_queue is not None:
            return [row.queue_of_delay(self.measured_queue)]
        found = [row.queue(text) for text in self.queues]
        return sorted(found, key=lambda queue: queue.bdp)

    def load(self, row: Row, queues: Sequence[Queue]) -> _core.Experiment:
        """The experiment of a row with these queues: of each all candidates, of each candidate all repetitions."""
        document = scenario(
            self.candidates,
            rate=row.rate or None,
            rtt=row.rtt,
            loss=row.loss,
            buffer=[queue.text for queue in queues],
            duration=self.duration,
            repeat=self.repeat,
        )
        path, swept = document["path"], document.get("sweep", {})
        if self.recording is not None:
            del path["rate"]
            path["trace"] = self.recording.trace
            document["vary_phase"] = True
        document |= {
            "vary_rtt": "1packet",
            "record": {"series": False},
            "flows": _flows(row.company, self.candidates[0]),
        }
        settings = {f"path.{key}": [path[key]] for key in ("rate", "rtt", "loss") if key in path and self._varies(key)}
        document["sweep"] = {
            **settings,
            "path.buffer": [queue.text for queue in queues],
            "flows[0].cc": swept["flows[0].cc"],
            "repeat": self.repeat,
        }
        return experiment.load(document, set=self.settings, seed=self.seed, name="the options")

    def _varies(self, key: str) -> bool:
        return len({"rate": self.rates, "rtt": self.rtts, "loss": self.losses}[key]) > 1


def _check_names(option: str, names: Sequence[str], at_least: int) -> None:
    given = f"{option} {','.join(names)}"
    if len([name for name in names if name]) < at_least:
        raise ValueError(f"{given}: name at least {'two algorithms' if at_least > 1 else 'one'}")
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        raise ValueError(f"{given}: {twice} is named twice")


def _is_below(key: str, word: str) -> bool:
    return key.startswith(f"{word}.") and word not in ("path", "flows")


def _flows(company: str, candidate: str) -> list[dict[str, Any]]:
    """The candidate, which the sweep replaces, and its company."""
    if company == ALONE:
        return [{"cc": candidate}]
    if company == ITSELF:
        return [{"cc": candidate, "count": 2, "start_jitter": START_JITTER}]
    beside = {"cc": company, "label": f"{company} beside", "start_jitter": START_JITTER}
    return [{"cc": candidate, "start_jitter": START_JITTER}, beside]


def advise(
    candidates: Sequence[str] = CANDIDATES,
    *,
    rate: str | Sequence[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    rtt: str | Sequence[str] = "40ms",
    loss: str | Sequence[str] = "0%",
    buffer: str | Sequence[str] | None = None,
    measured_queue: str | None = None,
    company: Sequence[str] = COMPANY,
    duration: str = "60s",
    repeat: int = REPEAT,
    delay_weight: float = WEIGHT,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the command line's option
    seed: int | None = None,
    jobs: int | None = None,
    max_memory: Size | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> DecisionMap:
    """Which algorithm to choose for a path, over its queue and over who shares it.

    Args:
        candidates: Names as in ``dumbbell cc list``.
        rate: Rate of the bottleneck; default ``"10mbit"``. Several rates, round-trip times or losses are rows of
            the map.
        trace: In place of a rate: a Mahimahi trace, or CSV with a time and a rate (``time_s,rate_mbps``). Each
            repetition begins at a place in it that its seed draws.
        rtt: Base round-trip time.
        loss: Random loss.
        buffer: Queues of the bottleneck; default 0.5, 1, 2, 4 and 10 bandwidth-delay products. Between two that differ
            in the choice more are tried.
        measured_queue: In place of ``buffer``: the longest less the shortest round-trip time that a measurement shows
            while the link is full, ``"180ms"``.
        company: ``"alone"``, ``"itself"`` for two flows of the candidate, or an algorithm whose flow is beside it.
        duration: Length of each run; the first sixth is not measured.
        repeat: Runs of each candidate in each place, with different seeds; at least 2.
        delay_weight: How much delay counts beside goodput: utility is goodput over delay to this power.
        set: Further settings, as in an experiment file: ``{"path.queue": "codel"}``.
        seed: Base seed.
        jobs: Runs at the same time; default as many as keep all cores busy.
        max_memory: Memory that each run may take, as in :func:`dumbbell.run`.
        out: Directory for the results, a sweep for each company; what is there already is not run again.
        progress: Whether to show progress bars; by default on a terminal.

    Raises:
        ScenarioError: The path or a candidate is wrong.
        ValueError: The question is wrong: one candidate, a rate and a trace, a key of ``set`` that the map writes
            itself.
        OutputError: ``out`` cannot be written.
    """
    question = ask(
        candidates, rate=rate, trace=trace, rtt=rtt, loss=loss, buffer=buffer, measured_queue=measured_queue,
        company=company, duration=duration, repeat=repeat, delay_weight=delay_weight, set=set, seed=seed,
    )  # fmt: skip
    folder = None if out is None else Path(out)
    return answer(question, folder, {"jobs": jobs, "max_memory": max_memory, "progress": progress})


def ask(
    candidates: Sequence[str],
    *,
    rate: str | Sequence[str] | None,
    trace: str | os.PathLike[str] | None,
    rtt: str | Sequence[str],
    loss: str | Sequence[str],
    buffer: str | Sequence[str] | None,
    measured_queue: str | None,
    company: Sequence[str],
    duration: str,
    repeat: int,
    delay_weight: float,
    set: Mapping[str, Any] | None,  # noqa: A002 - as above
    seed: int | None,
) -> Question:
    """The question of :func:`advise`, checked as far as that can be done without a run."""
    if rate is not None and trace is not None:
        raise ValueError("the bottleneck follows a rate or a trace, not both")
    if measured_queue is not None and buffer is not None:
        raise ValueError("the queue is that of `buffer` or that of a measurement, not both")
    if arguments.whole("repeat", repeat, 20) < 2:
        raise ValueError(f"repeat={repeat}: one run says nothing of chance; at least 2")
    if not (math.isfinite(delay_weight) and delay_weight >= 0):
        raise ValueError(f"--delay-weight {delay_weight:g}: write a number from 0 on, such as 0.5")
    rates = [] if trace is not None else arguments.several("rate", RATE if rate is None else rate, '"10mbit"')
    question = Question(
        arguments.texts("candidates", candidates, '["bbr", "cubic"]'), rates,
        None if trace is None else arguments.path("trace", trace, "a trace"),
        arguments.several("rtt", rtt, '"40ms"'), arguments.several("loss", loss, '"1%"'),
        arguments.several("buffer", QUEUES if buffer is None else buffer, '"1bdp"'), measured_queue,
        arguments.several("company", company, '["alone", "cubic"]'), arguments.text("duration", duration, '"60s"'),
        repeat, delay_weight, arguments.settings("set", set, '{"path.queue": "codel"}'), seed,
    )  # fmt: skip
    for row in question.rows:
        question.load(row, question.first_queues(row))
    return question


def answer(question: Question, out: Path | None, limits: dict[str, Any]) -> DecisionMap:
    """Runs the candidates and judges; ``limits`` as :class:`dumbbell.api.Sweep` takes them."""
    if out is None:
        # Each round takes what the earlier ones have left there.
        with scratch.Folder("advice") as place:
            return _simulated(question, place, limits)
    with claimed(out, ADVICE):
        return _simulated(question, out, limits)


def _simulated(question: Question, out: Path, limits: dict[str, Any]) -> DecisionMap:
    sweeps: dict[str, SweepResult] = {}

    def run(company: str, queues: Mapping[Row, Sequence[Queue]]) -> Iterator[Tried]:
        points = [point for row, own in queues.items() for point in question.load(row, own).points]
        sweeps[company] = Sweep(points, out=out / folder_of(company), **limits | {"others": "rerun"}).collect()
        return _tried(sweeps[company], question, company)

    cells, confidence = refined({row: question.first_queues(row) for row in question.rows}, run, question.delay_weight)
    return DecisionMap(question, cells, confidence, sweeps)


Runner: TypeAlias = "Callable[[str, Mapping[Row, Sequence[Queue]]], Iterable[Tried]]"
"""Tries the candidates in a company: with the queues of each of its rows, in that order."""


def refined(
    first: Mapping[Row, Sequence[Queue]], run: Runner, weight: float = WEIGHT
) -> tuple[tuple[Cell, ...], float]:
    """The places of a map that begins with these queues, and the confidence of its intervals."""
    queues: dict[Row, list[Queue]] = {row: list(own) for row, own in first.items()}
    changed = set(queues)
    tried: dict[tuple[Row, Queue], Tried] = {}
    for left in reversed(range(MAX_ROUNDS + 1)):
        for company in dict.fromkeys(row.company for row in queues if row in changed):
            own = {row: queues[row] for row in queues if row.company == company}
            tried |= zip(_places(own), run(company, own), strict=True)
        verdicts, confidence = judge([tried[place].runs for place in _places(queues)], weight)
        cells = tuple(
            Cell(*place, tried[place].runs, tried[place].shares, verdict)
            for place, verdict in zip(_places(queues), verdicts, strict=True)
        )
        more = further(cells) if left else {}
        changed = set(more)
        if not more:
            break
        for row, between in more.items():
            queues[row] = sorted([*queues[row], *between], key=lambda queue: queue.bdp)
    return cells, confidence


def _places(queues: Mapping[Row, Sequence[Queue]]) -> list[tuple[Row, Queue]]:
    return [(row, queue) for row, own in queues.items() for queue in own]


def further(cells: Sequence[Cell]) -> dict[Row, list[Queue]]:
    """Queues between neighbours whose verdicts differ, where these are not near each other."""
    more: dict[Row, list[Queue]] = {}
    for row, own in by_row(cells).items():
        for one, other in itertools.pairwise(own):
            low, high = one.queue.bdp, other.queue.bdp
            if one.verdict.best != other.verdict.best and low > 0 and math.isfinite(high) and high / low > NEAR:
                more.setdefault(row, []).append(Queue.of_bdp(math.sqrt(low * high)))
    return more


@dataclass(frozen=True)
class Tried:
    """What the candidates had in one place, before it is judged."""

    runs: dict[str, Runs]
    shares: dict[str, float | None]


def _tried(sweep: SweepResult, question: Question, company: str) -> Iterator[Tried]:
    """What the candidates had in each place of a company, in the order of the points."""
    flows = _by_point(sweep)
    with_itself = company == ITSELF
    of_place = len(question.candidates) * question.repeat
    for start in range(0, len(flows), of_place):
        runs: dict[str, Runs] = {}
        shares: dict[str, float | None] = {}
        for number, name in enumerate(question.candidates):
            begin = start + number * question.repeat
            own = flows[begin : begin + question.repeat]
            runs[name] = {repeat: _measured(one, is_pair=with_itself) for repeat, one in enumerate(own)}
            shares[name] = _share(own, of_the_lesser=with_itself)
        yield Tried(runs, shares)


Flow: TypeAlias = "tuple[float, float | None]"
"""Goodput and delay."""


def _by_point(sweep: SweepResult) -> list[list[Flow]]:
    """Goodput and delay of the flows of every point."""
    columns = sweep.flows.to_polars().select("point", "goodput_mbps", "p95_rtt_ms")
    found: list[list[Flow]] = [[] for _ in sweep.points]
    for point, goodput, delay in columns.rows():
        found[point].append((goodput or 0.0, delay))
    return found


def _measured(flows: Sequence[Flow], *, is_pair: bool) -> Flow:
    """Of the candidate's flow, or the mean of its two."""
    own = flows if is_pair else flows[:1]
    delays = [delay for _, delay in own]
    known = [delay for delay in delays if delay is not None]
    return sum(goodput for goodput, _ in own) / len(own), sum(known) / len(known) if len(known) == len(delays) else None


def _share(runs: Sequence[Sequence[Flow]], *, of_the_lesser: bool) -> float | None:
    """The candidate's part of what two flows get, or that of the slower one; the mean over runs."""
    parts = []
    for flows in runs:
        rates = [goodput for goodput, _ in flows]
        if len(rates) == 2 and sum(rates) > 0:
            parts.append((min(rates) if of_the_lesser else rates[0]) / sum(rates))
    return sum(parts) / len(parts) if parts else None
