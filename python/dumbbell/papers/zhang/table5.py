"""Table 5 and figure 13: two flows while the link's rate changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.papers import data
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Provenance, Report
from dumbbell.papers.seeds import spread
from dumbbell.papers.zhang import figures
from dumbbell.papers.zhang.measure import (
    ALGORITHMS,
    BBR_LIKE,
    CODE,
    FIRST_VERSION,
    PAPER,
    TIMING,
    Run,
    Runs,
    Trace,
    View,
    cases_by,
    measure,
    noted,
    published_values,
)

if TYPE_CHECKING:
    from dumbbell.plots import Picture
    from dumbbell.results import Result

TITLE = "Two flows while the link's rate changes between 1 and 4 Mbit/s"

SCENARIO = Path(__file__).with_name("table5.toml")

QUICK = "60s"

SCHEDULES = {
    "1, 2, 3, 4": (50.0, (1.0, 2.0, 3.0, 4.0)),
    "4, 3, 2, 1": (50.0, (4.0, 3.0, 2.0, 1.0)),
    "1, 4": (50.0, (1.0, 4.0)),
    "4, 3, 2, 1 every 20 s": (20.0, (4.0, 3.0, 2.0, 1.0)),
}
"""Seconds between changes and rates in Mbit/s, which start again at the end. The last is the repository's."""
FIRST = "1, 2, 3, 4"
MEAN_MBPS = 2.5
ORDER = ("BBR'", "BBRPlus", "BBR", "Tsunami", "BBR+", "BBRv2", "Reno", "Cubic")
"""By published delay, ascending."""
TIED = ("Tsunami", "BBR+")
"""Neighbours too close to be told apart by one run."""
ONE = "Reno N = 1"

CLAIMS = (
    Claim(
        "zha-38",
        "Order of delays: BBR' < BBRPlus < BBR < Tsunami < BBR+ < BBRv2 < Reno < Cubic (Tsunami and BBR+, 2 % apart in "
        "the study's single run, in either order).",
        "117 < 139 < 170 < 182 < 186 < 225 < 257 < 272 ms",
    ),
    Claim("zha-39", "BBR and all variants lose less than 1 %.", "at most 0.006"),
    Claim(
        "zha-40", "Cubic and Reno lose more than BBR and every variant.", "0.009 and 0.020, the others at most 0.006"
    ),
    Claim(
        "zha-41",
        "BBR's first version and its variants use 0.95 of the link, BBRv2, Cubic and Reno 0.97 (all within 0.015).",
        "0.95; 0.97",
    ),
    Claim(
        "zha-42",
        "Every algorithm follows the changes: at least 0.8 of the capacity in every interval but the first.",
        "figure 13",
    ),
)


def reproduce(options: Options) -> Report:
    """Runs all schedules under all choices."""
    traces: dict[int, Trace] = {}

    def keep(index: int, result: Result) -> None:
        traces[index] = Trace.of(result)

    result = data.run(SCENARIO, options, quick=QUICK, each=keep)
    runs = measure(result, cases_by(result, ("path.rate", "path.buffer"), tuple(SCHEDULES)), traces)
    base = View(runs, CODE, tuple(SCHEDULES))
    report = Report(
        study="zhang",
        part="table5",
        title=TITLE,
        setup=(
            "Two flows for 400 s over 50 ms each way. The paper says that the rate changes every 50 s from 1 to 4 "
            "Mbit/s and that the queue holds 75 kB; the study's repository goes 4, 3, 2, 1 Mbit/s every 20 s with "
            "46.9 kB.",
            TIMING,
            "The published table has two rows called BBRv2; the first is read as BBR+.",
        ),
        tables=(comparison(base), *(schedules(runs, *one) for one in MEASURES)),
        pictures={"fig13": picture(base)},
        judgements=noted(judge(runs)),
        provenance=Provenance.of([result], {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report


def rate_at(schedule: str, t_s: float) -> float:
    """Mbit/s of the link at a time."""
    period, rates = SCHEDULES[schedule]
    return rates[int(t_s // period) % len(rates)]


def mean_rate(schedule: str, run: Run) -> float:
    """Mean capacity in Mbit/s over the run."""
    if run.trace is None:
        return MEAN_MBPS
    return fmean(rate_at(schedule, float(t) - 0.5) for t in run.trace.t_s)


def utilisation(run: Run, schedule: str) -> float:
    """Received UDP payload over mean capacity."""
    return run.total / mean_rate(schedule, run)


def slowest_interval(run: Run, schedule: str) -> float:
    """The least share of the capacity in any interval between two changes but the first."""
    if run.trace is None:
        return 0.0
    period, _ = SCHEDULES[schedule]
    edges = np.arange(period, float(run.trace.t_s[-1]) + period / 2, period)
    shares = []
    for start, end in pairwise(edges):
        rates = run.trace.mean_rates(float(start), float(end))
        if rates is not None:
            shares.append(float(rates.sum()) / rate_at(schedule, float(start)))
    return min(shares, default=0.0)


MEASURES: tuple[tuple[str, str, Callable[[Run, str], float], int], ...] = (
    ("delay", "Mean one-way delay in ms by schedule", lambda run, _: run.delay_ms, 1),
    ("loss", "Loss rate by schedule", lambda run, _: run.loss, 4),
    ("slowest", "Least share of the capacity in an interval by schedule", slowest_interval, 2),
)


def comparison(view: View) -> Grid:
    """The published table beside ours."""
    metrics: tuple[tuple[str, Callable[[Run], float]], ...] = (
        ("loss", lambda run: run.loss),
        ("delay", lambda run: run.delay_ms),
        ("utilization", lambda run: utilisation(run, FIRST)),
    )
    columns = ["algorithm", *(f"{name}: {what}" for name, _ in metrics for what in ("ours", "published", "ratio"))]
    theirs = {name: published_values("table5", name) for name, _ in metrics}
    rows: list[list[Cell]] = []
    for algorithm in ALGORITHMS:
        row: list[Cell] = [algorithm]
        for name, value in metrics:
            ours, reference = view.mean(algorithm, FIRST, value), theirs[name][algorithm, ""]
            row += [ours, reference, ours / reference]
        rows.append(row)
    return Grid("table5", f"Table 5: loss, mean one-way delay in ms, utilisation; schedule {FIRST}", columns, rows, 3)


def schedules(runs: Runs, name: str, title: str, value: Callable[[Run, str], float], digits: int) -> Grid:
    """One measure under every schedule and choice."""
    rows: list[list[Cell]] = []
    for label in dict.fromkeys(label for label, _ in runs):
        algorithm, _, choice = label.partition(", ")
        means = [fmean(value(run, schedule) for run in runs[label, schedule]) for schedule in SCHEDULES]
        rows.append([algorithm, choice or CODE, *means])
    return Grid(name, title, ["algorithm", "choice", *SCHEDULES], rows, digits)


def picture(view: View) -> Picture:
    """Figure 13: throughput of both flows and the capacity."""
    panels = {algorithm: view.of(algorithm, FIRST)[0].trace for algorithm in ALGORITHMS}
    shown = {heading: trace for heading, trace in panels.items() if trace is not None}
    return figures.over_time(
        shown,
        "Zhang figure 13: rates while the capacity changes",
        ("flow 1", "flow 2"),
        capacity=partial(rate_at, FIRST),
        estimate=False,
    )


# --- claims ----------------------------------------------------------------------------------------------------------


def judge(runs: Runs) -> list[Judgement]:
    """Puts every claim to every schedule, and to the choices under the first."""
    renamed = {(f"Reno, {ONE}", FIRST): runs["Reno, N = 1", FIRST]}
    views = [View(runs, schedule, (schedule,)) for schedule in SCHEDULES]
    views += [View(runs, PAPER, (FIRST,)), View(runs | renamed, ONE, (FIRST,))]

    def in_order(view: View, seed: int) -> bool:
        delays = {name: view.of(name, view.cases[0])[seed].delay_ms for name in ORDER}
        apart = [pair for pair in combinations(ORDER, 2) if pair != TIED]
        return all(delays[low] < delays[high] for low, high in apart)

    def losses(view: View, seed: int, names: tuple[str, ...]) -> list[float]:
        return [view.of(name, view.cases[0])[seed].loss for name in names]

    def follows(view: View, seed: int) -> bool:
        return all(slowest_interval(view.of(name, view.cases[0])[seed], view.cases[0]) >= 0.8 for name in ALGORITHMS)

    def full(view: View, seed: int) -> bool:
        def near(names: tuple[str, ...], target: float) -> bool:
            found = [utilisation(view.of(name, view.cases[0])[seed], view.cases[0]) for name in names]
            return all(abs(value - target) <= 0.015 for value in found)

        return near(FIRST_VERSION, 0.95) and near(("BBRv2", "Cubic", "Reno"), 0.97)

    def used(view: View, names: tuple[str, ...]) -> str:
        case = view.cases[0]
        return spread([view.mean(name, case, lambda run: utilisation(run, case)) for name in names], 3)

    def lost(view: View) -> str:
        return view.ranked(ALGORITHMS, view.cases[0], lambda run: run.loss, 3)

    tests: dict[str, tuple[Callable[[View, int], bool], Callable[[View], str]]] = {
        "zha-38": (in_order, lambda view: view.ranked(ALGORITHMS, view.cases[0], lambda run: run.delay_ms, 0)),
        "zha-39": (lambda view, seed: max(losses(view, seed, BBR_LIKE)) < 0.01, lost),
        "zha-40": (
            lambda view, seed: min(losses(view, seed, ("Cubic", "Reno"))) > max(losses(view, seed, BBR_LIKE)),
            lost,
        ),
        "zha-41": (full, lambda view: f"{used(view, FIRST_VERSION)}; {used(view, ('BBRv2', 'Cubic', 'Reno'))}"),
        "zha-42": (
            follows,
            lambda view: view.ranked(ALGORITHMS, view.cases[0], lambda run: slowest_interval(run, view.cases[0]), 2),
        ),
    }
    return [
        Judgement(claim, [view.outcome(partial(tests[claim.id][0], view), tests[claim.id][1](view)) for view in views])
        for claim in CLAIMS
    ]
