"""Tables 2 and 3: two flows of one algorithm with different round-trip times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean

from dumbbell.papers.data import published
from dumbbell.papers.model import Cell, Claim, Grid, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import jain, ratio, total
from dumbbell.papers.testing import mean, spread
from dumbbell.papers.zhang.choices import Choice, Seed, Test, View, everywhere, inside, seeds
from dumbbell.papers.zhang.measure import Run, Runs, measure
from dumbbell.papers.zhang.names import (
    ALGORITHMS,
    CODE,
    FIRST_VERSION,
    FOLDER,
    JAIN_MARGIN,
    LOOP,
    MARGINS,
    ONE_SIZE,
    OTHERS,
    SIZES,
    TIMING,
)
from dumbbell.papers.zhang.tables import beside, labels, published_values

CASES = tuple(str(number) for number in range(1, 10))
RATES = dict(zip(CASES, (4.0,) * 3 + (6.0,) * 3 + (8.0,) * 3, strict=True))
"""Of the bottleneck, in Mbit/s."""
GROUPS = (("1", "2", "3"), ("4", "5", "6"), ("7", "8", "9"))
"""Cases of one rate, in the order of falling quotients of the round-trip times."""
WITHIN = 0.25
"""How near a ratio must be to the published one to agree."""

AXES = ("links[4].rate", "links[4].delay", "links[4].buffer")
BASE = Choice(CODE, CASES)
LOOPS = (BASE, Choice(LOOP, CASES), Choice(ONE_SIZE, CASES))
CONNECTIONS = (BASE, Choice("Cubic N = 1, Reno N = 1", CASES, single=["Cubic", "Reno"]), Choice(ONE_SIZE, CASES))
"""Cubic and Reno as two connections and as one, and Linux's."""


def utilisation(run: Run) -> float:
    """What both flows have of the link."""
    return total(run) / RATES[run.case]


# --- tables ----------------------------------------------------------------------------------------------------------


def throughputs(view: View) -> Grid:
    """Throughput of each flow beside the published one."""
    rates = {
        (number.case["algorithm"], number.case["case"], int(number.case["flow"]) - 1): number.value
        for number in published(FOLDER, "table3")
        if number.metric == "throughput"
    }
    rows: list[list[Cell]] = []
    for algorithm in ALGORITHMS:
        for flow in range(2):
            ours = [round(1e3 * fmean(run.rates[flow] for run in view.of(algorithm, case))) for case in CASES]
            rows.append([algorithm if flow == 0 else "", f"flow {flow + 1}", *ours])
            rows.append(["", "published", *(round(rates[algorithm, case, flow]) for case in CASES)])
    title = "Table 3: throughput in kbit/s; flow 2 has the longer round-trip time"
    return Grid("throughput", title, ["algorithm", "", *CASES], rows)


def tables(runs: Runs) -> list[Grid]:
    """Table 3 beside ours, and in how many cases the mean ratio is near the published one under each choice."""
    theirs = published_values("table3", "ratio")
    agreement = (
        ((algorithm, choice), [mean(runs[label, case], ratio) / theirs[algorithm, case] for case in CASES])
        for label, (algorithm, choice) in labels(runs).items()
    )
    summary: dict[str, Callable[[list[float]], Cell]] = {
        "cases within 25 %": lambda found: f"{sum(abs(one - 1) <= WITHIN for one in found)} of 9",
        "least quotient": min,
        "mean quotient": fmean,
        "largest quotient": max,
    }
    view = View(runs, BASE)
    return [
        beside("table3", "Table 3: ratio r of the throughputs", view, CASES, ratio, theirs, algorithms=ALGORITHMS),
        throughputs(view),
        table("agreement", "Our r over the published r", ["algorithm", "choice"], agreement, summary),
    ]


# --- claims ----------------------------------------------------------------------------------------------------------


def always(holds: Callable[[Run], bool], *algorithms: str, choices: Sequence[Choice] = LOOPS) -> Test:
    """Something holds for every algorithm in every case."""
    return everywhere(
        choices,
        algorithms,
        lambda found: all(map(holds, found.values())),
        lambda view: "; ".join(f"{name} {view.range([name], CASES, ratio)}" for name in algorithms),
    )


def off(algorithm: str, words: Callable[[Sequence[float]], str]) -> Callable[[Runs], str]:
    """How far our ratios are from the published ones, in words."""
    theirs = published_values("table3", "ratio")
    return lambda runs: words([mean(runs[algorithm, case], ratio) / theirs[algorithm, case] for case in CASES])


def full(seed: Seed) -> bool:
    """The sums that zha-29 states."""
    first = all(0.935 <= utilisation(seed[name, case]) < 0.965 for name in FIRST_VERSION for case in CASES)
    return first and all(utilisation(seed[name, case]) >= 0.965 for name in OTHERS for case in CASES)


CLAIMS: list[Claim[Runs]] = [
    Claim("zha-19", "BBR's flow with the longer round-trip time gets 2.2 to 4.4 times as much as the other.",
          "2.21 to 4.34", always(lambda run: inside(run.rates[1] / run.rates[0], 2.21, 4.34), "BBR")),
    Claim("zha-20", "With BBR the ratio exceeds 4 in case 7.", "4.34",
          seeds(LOOPS, lambda seed: ratio(seed["BBR", "7"]) > 4, lambda view: spread(map(ratio, view.of("BBR", "7"))))),
    Claim("zha-21", "BBR's ratio shrinks with that of the round-trip times.",
          "3.53 > 2.69 > 2.21; 3.94 > 2.76 > 2.32; 4.34 > 2.89 > 2.33",
          seeds(LOOPS,
                lambda seed: all(ratio(seed["BBR", one]) > ratio(seed["BBR", other])
                                 for group in GROUPS for one, other in pairwise(group)),
                lambda view: "; ".join(" > ".join(f"{view.mean('BBR', case, ratio):.2f}" for case in group)
                                       for group in GROUPS))),
    Claim("zha-22", "BBR' and BBRPlus are nearly fair: the ratio is at most 1.29 in all cases.", "1.09 to 1.29",
          always(lambda run: inside(ratio(run), 1, 1.29), "BBR'", "BBRPlus")),
    Claim("zha-23", "Jain's index of BBR' and BBRPlus is at least 0.98 in all cases.", "0.98 to 1.00",
          always(lambda run: jain(run) >= 0.98 - JAIN_MARGIN, "BBR'", "BBRPlus")),
    Claim("zha-24", "Tsunami is as unfair as BBR: 1.84 to 4.36.", "1.84 to 4.36",
          always(lambda run: inside(ratio(run), 1.84, 4.36), "Tsunami"),
          cause=off("Tsunami",
                    lambda found: "Ratios of single runs scatter around both bounds; the means are within "
                                  f"{100 * max(abs(one - 1) for one in found):.0f} % of the published ones.")),
    Claim("zha-25", "BBR+ lies in between: 1.26 to 1.99.", "1.26 to 1.99",
          always(lambda run: inside(ratio(run), 1.26, 1.99), "BBR+"),
          cause=off("BBR+", lambda found: f"BBR+ has {fmean(found):.2f} times the published ratio on the average.")),
    Claim("zha-26", "BBRv2 is much fairer than BBR: at most 1.48 in all cases.", "1.09 to 1.48, BBR at least 2.21",
          always(lambda run: inside(ratio(run), 1, 1.48), "BBRv2"),
          cause="BBRv2 exceeds the bound where the link is fastest."),
    Claim("zha-27", "Reno favours the flow with the shorter round-trip time in all cases.", "in all cases",
          always(lambda run: run.rates[0] > run.rates[1], "Reno", choices=CONNECTIONS)),
    Claim("zha-28", "Reno's ratio is small: 1.13 to 1.41.", "1.13 to 1.41",
          always(lambda run: inside(ratio(run), 1.13, 1.41), "Reno", choices=CONNECTIONS),
          cause=off("Reno",
                    lambda found: f"Ours have the published order; the ratio is {fmean(found):.2f} times the published "
                                  "one on the average.")),
    Claim("zha-29",
          "Both flows together have 94 to 96 % of the link with BBR's first version and its variants, 97 % with "
          "BBRv2, Cubic and Reno.", "0.941 to 0.957; 0.967 to 0.971",
          seeds(LOOPS, full, lambda view: "; ".join(view.range(names, CASES, utilisation, 3)
                                                    for names in (FIRST_VERSION, OTHERS)))),
]  # fmt: skip

PART = Part(
    "table3",
    "Two flows of one algorithm with different round-trip times, nine cases",
    [Experiment(FOLDER / f"{name}.toml") for name in ("table3", "table3-one-size")],
    quick="10s",
    measure=lambda main, one_size: measure(main, AXES, CASES) | measure(one_size, AXES, CASES),
    setup=[
        "Bottleneck 4 (cases 1 to 3), 6 (4 to 6), 8 Mbit/s (7 to 9) with 10, 20, 30 ms each way; access links of "
        "100 Mbit/s with 10 ms (flow 1) and 20 ms (flow 2) at both ends: base round-trip times 60 and 100, 80 and "
        "120, 100 and 140 ms. Queues of 1.5 times the longer one at each link's rate. Both flows for 200 s.",
        "r is the larger of the two throughputs over the smaller. Cubic and Reno stand for two connections.",
        TIMING,
        MARGINS,
        SIZES,
    ],
    tables=tables,
    claims=CLAIMS,
    decides=lambda choice: choice == CODE,
)
