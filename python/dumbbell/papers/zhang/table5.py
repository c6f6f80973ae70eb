"""Table 5 and figure 13: two flows while the link's rate changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations, pairwise
from statistics import fmean

import numpy as np

from dumbbell.papers.model import Cell, Claim, Grid, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import loss, total
from dumbbell.papers.testing import mean
from dumbbell.papers.zhang.choices import Choice, Seed, View, seeds
from dumbbell.papers.zhang.measure import Run, Runs, Trace, Value, delay, measure
from dumbbell.papers.zhang.names import ALGORITHMS, BBR_LIKE, FIRST_VERSION, FOLDER, ONE_SIZE, OTHERS, PAPER, TIMING
from dumbbell.papers.zhang.tables import labels, means, published_values

SCHEDULES = {
    "1, 2, 3, 4": (50.0, (1.0, 2.0, 3.0, 4.0)),
    "4, 3, 2, 1": (50.0, (4.0, 3.0, 2.0, 1.0)),
    "1, 4": (50.0, (1.0, 4.0)),
    "4, 3, 2, 1 every 20 s": (20.0, (4.0, 3.0, 2.0, 1.0)),
}
"""Seconds between changes and rates in Mbit/s, which start again at the end. The last is the repository's."""
FIRST = "1, 2, 3, 4"
AXES = ("path.rate", "path.buffer")
ORDER = ("BBR'", "BBRPlus", "BBR", "Tsunami", "BBR+", "BBRv2", "Reno", "Cubic")
"""By published delay, ascending."""
TIED = ("Tsunami", "BBR+")
"""Neighbours too close to be told apart by one run."""


CHOICES = (
    *(Choice(schedule, (schedule,)) for schedule in SCHEDULES),
    Choice(PAPER, (FIRST,)),
    Choice("Reno N = 1", (FIRST,), single=["Reno"]),
    Choice(ONE_SIZE, (FIRST,)),
)
"""Every schedule, and what else is open under the first."""


def rate_at(schedule: str, t_s: float) -> float:
    """Mbit/s of the link at a time."""
    period, rates = SCHEDULES[schedule]
    return rates[int(t_s // period) % len(rates)]


def utilisation(run: Run) -> float:
    """Received UDP payload over mean capacity."""
    return total(run) / fmean(rate_at(run.case, float(t) - 0.5) for t in run.kept.t_s)


def slowest_interval(run: Run) -> float:
    """The least share of the capacity in any interval between two changes but the first."""
    period, _ = SCHEDULES[run.case]
    edges = np.arange(period, float(run.kept.t_s[-1]) + period / 2, period)
    shares = []
    for start, end in pairwise(edges):
        rates = run.kept.mean_rates(float(start), float(end))
        if rates is not None:
            shares.append(float(rates.sum()) / rate_at(run.case, float(start)))
    return min(shares, default=0.0)


def tables(runs: Runs) -> list[Grid]:
    """The published table beside ours, and every measure under every schedule and choice."""
    columns = ["algorithm"]
    rows: list[list[Cell]] = [[name] for name in ALGORITHMS]
    values: Mapping[str, Value] = {"loss": loss, "delay": delay, "utilization": utilisation}
    for metric, value in values.items():
        columns += [f"{metric}: {what}" for what in ("ours", "published", "ratio")]
        for name, row in zip(ALGORITHMS, rows, strict=True):
            ours, theirs = mean(runs[name, FIRST], value), published_values("table5", metric)[name, ""]
            row += [ours, theirs, ours / theirs]
    title = f"Table 5: loss, mean one-way delay in ms, utilisation; schedule {FIRST}"

    complete = {label: words for label, words in labels(runs).items() if all((label, one) in runs for one in SCHEDULES)}

    def by_schedule(name: str, title: str, value: Value, digits: int) -> Grid:
        return means(name, title, runs, complete, {one: (one, value) for one in SCHEDULES}, digits)

    return [
        Grid("table5", title, columns, rows, 3),
        by_schedule("delay", "Mean one-way delay in ms by schedule", delay, 1),
        by_schedule("loss", "Loss rate by schedule", loss, 4),
        by_schedule("slowest", "Least share of the capacity in an interval by schedule", slowest_interval, 2),
    ]


def pictures(runs: Runs) -> Pictures:
    """Figure 13: throughput of both flows and the capacity."""
    from dumbbell.papers.zhang import figures

    drawn = figures.over_time(
        {algorithm: [run.kept for run in runs[algorithm, FIRST]] for algorithm in ALGORITHMS},
        "Zhang figure 13: rates while the capacity changes",
        ("flow 1", "flow 2"),
        capacity=partial(rate_at, FIRST),
        estimate=False,
    )
    return {"fig13": drawn}


# --- claims ----------------------------------------------------------------------------------------------------------


def in_order(seed: Seed) -> bool:
    """The delays have the published order."""
    delays = dict(zip(ORDER, seed.over(ORDER, seed.case, delay), strict=True))
    return all(delays[low] < delays[high] for low, high in combinations(ORDER, 2) if (low, high) != TIED)


def near(seed: Seed, names: Sequence[str], target: float) -> bool:
    """The utilisation of each is near a number."""
    return all(abs(used - target) <= 0.015 for used in seed.over(names, seed.case, utilisation))


def used(view: View, names: Sequence[str]) -> str:
    """The range of utilisations, means over seeds."""
    return view.range(names, view.choice.cases, utilisation, 3)


def lost(view: View) -> str:
    """Mean losses, ascending."""
    return view.ranked(ALGORITHMS, view.case, loss, 3)


def most_lossy(runs: Runs) -> str:
    """What BBR+ loses in each schedule, in words."""
    found = ", ".join(f"{100 * mean(runs['BBR+', schedule], loss):.2f}" for schedule in SCHEDULES)
    return f"It is BBR+ that loses most: {found} % in the four schedules."


def too_little(runs: Runs) -> str:
    """What Cubic and Reno lose, in words."""
    ours, theirs = (
        [100 * value for value in values]
        for values in (
            [mean(runs[name, FIRST], loss) for name in ("Cubic", "Reno")],
            [published_values("table5", "loss")[name, ""] for name in ("Cubic", "Reno")],
        )
    )
    return f"Cubic loses {ours[0]:.2f} % (published {theirs[0]:.1f}), Reno {ours[1]:.2f} % ({theirs[1]:.1f})."


CLAIMS: list[Claim[Runs]] = [
    Claim("zha-38",
          "Order of delays: BBR' < BBRPlus < BBR < Tsunami < BBR+ < BBRv2 < Reno < Cubic (Tsunami and BBR+, 2 % apart "
          "in the study's single run, in either order).", "117 < 139 < 170 < 182 < 186 < 225 < 257 < 272 ms",
          seeds(CHOICES, in_order, lambda view: view.ranked(ALGORITHMS, view.case, delay, 0))),
    Claim("zha-39", "BBR and all variants lose less than 1 %.", "at most 0.006",
          seeds(CHOICES, lambda seed: max(seed.over(BBR_LIKE, seed.case, loss)) < 0.01, lost), cause=most_lossy),
    Claim("zha-40", "Cubic and Reno lose more than BBR and every variant.", "0.009 and 0.020, the others at most 0.006",
          seeds(CHOICES,
                lambda seed: min(seed.over(("Cubic", "Reno"), seed.case, loss))
                             > max(seed.over(BBR_LIKE, seed.case, loss)), lost), cause=too_little),
    Claim("zha-41",
          "BBR's first version and its variants use 0.95 of the link, BBRv2, Cubic and Reno 0.97 (all within 0.015).",
          "0.95; 0.97",
          seeds(CHOICES, lambda seed: near(seed, FIRST_VERSION, 0.95) and near(seed, OTHERS, 0.97),
                lambda view: f"{used(view, FIRST_VERSION)}; {used(view, OTHERS)}")),
    Claim("zha-42",
          "Every algorithm follows the changes: at least 0.8 of the capacity in every interval but the first.",
          "figure 13",
          seeds(CHOICES,
                lambda seed: min(seed.over(ALGORITHMS, seed.case, slowest_interval)) >= 0.8,
                lambda view: view.ranked(ALGORITHMS, view.case, slowest_interval, 2))),
]  # fmt: skip

PART = Part(
    "table5",
    "Two flows while the link's rate changes between 1 and 4 Mbit/s",
    [Experiment(FOLDER / f"{name}.toml", keep=Trace.of) for name in ("table5", "table5-one-size")],
    quick="60s",
    measure=lambda main, one_size: measure(main, AXES, tuple(SCHEDULES)) | measure(one_size, AXES, (FIRST,)),
    setup=[
        "Two flows for 400 s over 50 ms each way. The paper says that the rate changes every 50 s from 1 to 4 "
        "Mbit/s and that the queue holds 75 kB; the study's repository goes 4, 3, 2, 1 Mbit/s every 20 s with "
        "46.9 kB.",
        TIMING,
        "The published table has two rows called BBRv2; the first is read as BBR+.",
    ],
    tables=tables,
    pictures=pictures,
    claims=CLAIMS,
    # The paper's words; with the repository's schedule the delays are far below the published ones.
    decides=lambda choice: choice == FIRST,
)
