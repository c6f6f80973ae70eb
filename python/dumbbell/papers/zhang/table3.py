"""Tables 2 and 3: two flows of one algorithm with different round-trip times."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from dumbbell.papers import data
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Provenance, Report
from dumbbell.papers.seeds import spread
from dumbbell.papers.zhang.measure import (
    ALGORITHMS,
    CODE,
    FIRST_VERSION,
    JAIN_MARGIN,
    LOOP,
    MARGINS,
    TIMING,
    Run,
    Runs,
    View,
    beside,
    cases_by,
    inside,
    measure,
    noted,
    published_values,
)

TITLE = "Two flows of one algorithm with different round-trip times, nine cases"

SCENARIO = Path(__file__).with_name("table3.toml")

QUICK = "10s"

CASES = tuple(str(number) for number in range(1, 10))
RATES = dict(zip(CASES, (4.0,) * 3 + (6.0,) * 3 + (8.0,) * 3, strict=True))
"""Of the bottleneck, in Mbit/s."""
GROUPS = (("1", "2", "3"), ("4", "5", "6"), ("7", "8", "9"))
"""Cases of one rate, in the order of falling quotients of the round-trip times."""

OTHER_N = "Cubic N = 1, Reno N = 1"

WITHIN = 0.25
"""How near a ratio must be to the published one to agree."""

CLAIMS = (
    Claim(
        "zha-19",
        "BBR's flow with the longer round-trip time gets 2.2 to 4.4 times as much as the other.",
        "2.21 to 4.34",
    ),
    Claim("zha-20", "With BBR the ratio exceeds 4 in case 7.", "4.34"),
    Claim(
        "zha-21",
        "BBR's ratio shrinks with that of the round-trip times.",
        "3.53 > 2.69 > 2.21; 3.94 > 2.76 > 2.32; 4.34 > 2.89 > 2.33",
    ),
    Claim("zha-22", "BBR' and BBRPlus are nearly fair: the ratio is at most 1.29 in all cases.", "1.09 to 1.29"),
    Claim("zha-23", "Jain's index of BBR' and BBRPlus is at least 0.98 in all cases.", "0.98 to 1.00"),
    Claim("zha-24", "Tsunami is as unfair as BBR: 1.84 to 4.36.", "1.84 to 4.36"),
    Claim("zha-25", "BBR+ lies in between: 1.26 to 1.99.", "1.26 to 1.99"),
    Claim("zha-26", "BBRv2 is much fairer than BBR: at most 1.48 in all cases.", "1.09 to 1.48, BBR at least 2.21"),
    Claim("zha-27", "Reno favours the flow with the shorter round-trip time in all cases.", "in all cases"),
    Claim("zha-28", "Reno's ratio is small: 1.13 to 1.41.", "1.13 to 1.41"),
    Claim(
        "zha-29",
        "Both flows together have 94 to 96 % of the link with BBR's first version and its variants, 97 % with BBRv2, "
        "Cubic and Reno.",
        "0.941 to 0.957; 0.967 to 0.971",
    ),
)


def reproduce(options: Options) -> Report:
    """Runs all cases under all choices."""
    result = data.run(SCENARIO, options, quick=QUICK)
    runs = measure(result, cases_by(result, ("links[4].rate", "links[4].delay", "links[4].buffer"), CASES))
    base = View(runs, CODE, CASES)
    theirs = published_values("table3", "ratio")
    report = Report(
        study="zhang",
        part="table3",
        title=TITLE,
        setup=(
            "Bottleneck 4 (cases 1 to 3), 6 (4 to 6), 8 Mbit/s (7 to 9) with 10, 20, 30 ms each way; access links of "
            "100 Mbit/s with 10 ms (flow 1) and 20 ms (flow 2) at both ends: base round-trip times 60 and 100, 80 and "
            "120, 100 and 140 ms. Queues of 1.5 times the longer one at each link's rate. Both flows for 200 s.",
            "r is the larger of the two throughputs over the smaller. Cubic and Reno stand for two connections.",
            TIMING,
            MARGINS,
        ),
        tables=(
            beside(
                "table3",
                "Table 3: ratio r of the throughputs",
                CASES,
                lambda algorithm, case: base.mean(algorithm, case, lambda run: run.ratio),
                theirs,
                algorithms=ALGORITHMS,
            ),
            throughputs(base),
            agreement(runs, theirs),
        ),
        pictures={},
        judgements=noted(judge(runs)),
        provenance=Provenance.of([result], {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report


def throughputs(view: View) -> Grid:
    """Throughput of each flow and Jain's index, ours over published."""
    columns = ["algorithm", "", *CASES]
    rows: list[list[Cell]] = []
    rates = {
        (number.case["algorithm"], number.case["case"], int(number.case["flow"]) - 1): number.value
        for number in data.published(Path(__file__).with_name("published.csv"), "table3")
        if number.metric == "throughput"
    }
    for algorithm in ALGORITHMS:
        for flow in range(2):
            ours = [round(1e3 * fmean(run.rates[flow] for run in view.of(algorithm, case))) for case in CASES]
            rows.append([algorithm if flow == 0 else "", f"flow {flow + 1}", *ours])
            rows.append(["", "published", *(round(rates[algorithm, case, flow]) for case in CASES)])
    return Grid("throughput", "Table 3: throughput in kbit/s; flow 2 has the longer round-trip time", columns, rows)


def agreement(runs: Runs, theirs: dict[tuple[str, str], float]) -> Grid:
    """In how many cases the mean ratio lies near the published one, under each choice."""
    rows: list[list[Cell]] = []
    for label in dict.fromkeys(label for label, _ in runs):
        algorithm, _, choice = label.partition(", ")
        ours = {case: fmean(run.ratio for run in runs[label, case]) for case in CASES}
        quotients = [ours[case] / theirs[algorithm, case] for case in CASES]
        near = sum(abs(quotient - 1) <= WITHIN for quotient in quotients)
        rows.append([algorithm, choice or CODE, f"{near} of 9", min(quotients), fmean(quotients), max(quotients)])
    columns = ["algorithm", "choice", "cases within 25 %", "least quotient", "mean quotient", "largest quotient"]
    return Grid("agreement", "Our r over the published r", columns, rows)


# --- claims ----------------------------------------------------------------------------------------------------------


def judge(runs: Runs) -> list[Judgement]:
    """Puts every claim to the runs under every choice."""
    views = [View(runs, choice, CASES) for choice in (CODE, LOOP)]
    renamed = {
        (f"{algorithm}, {OTHER_N}", case): runs[f"{algorithm}, N = 1", case]
        for algorithm in ("Cubic", "Reno")
        for case in CASES
    }
    classic = [views[0], View(runs | renamed, OTHER_N, CASES)]
    by_id = {claim.id: claim for claim in CLAIMS}

    def ratios(view: View, *algorithms: str) -> str:
        return "; ".join(
            f"{name} {spread([view.mean(name, case, lambda run: run.ratio) for case in CASES])}" for name in algorithms
        )

    def all_cases(
        claim: str, holds: Callable[[Run], bool], *algorithms: str, among: list[View] = views, note: str = ""
    ) -> Judgement:
        outcomes = [
            view.over_cases(lambda found: all(map(holds, found.values())), algorithms, ratios(view, *algorithms))
            for view in among
        ]
        return Judgement(by_id[claim], outcomes, note)

    def exceeds_four(view: View, seed: int) -> bool:
        return view.of("BBR", "7")[seed].ratio > 4

    def shrinks(view: View, seed: int) -> bool:
        return all(
            view.of("BBR", low)[seed].ratio > view.of("BBR", high)[seed].ratio
            for group in GROUPS
            for low, high in pairwise(group)
        )

    def used(view: View, names: tuple[str, ...]) -> list[float]:
        return [view.mean(name, case, lambda run: run.total) / RATES[case] for name in names for case in CASES]

    def sums_hold(view: View, seed: int) -> bool:
        def share(name: str, case: str) -> float:
            return view.of(name, case)[seed].total / RATES[case]

        first = all(0.935 <= share(name, case) < 0.965 for name in FIRST_VERSION for case in CASES)
        return first and all(share(name, case) >= 0.965 for name in ("BBRv2", "Cubic", "Reno") for case in CASES)

    return [
        all_cases(
            "zha-19",
            lambda run: inside(run.rates[1] / run.rates[0], 2.21, 4.34),
            "BBR",
        ),
        Judgement(
            by_id["zha-20"],
            [
                view.outcome(
                    partial(exceeds_four, view),
                    spread([run.ratio for run in view.of("BBR", "7")]),
                )
                for view in views
            ],
        ),
        Judgement(
            by_id["zha-21"],
            [
                view.outcome(
                    partial(shrinks, view),
                    "; ".join(
                        " > ".join(f"{view.mean('BBR', case, lambda run: run.ratio):.2f}" for case in group)
                        for group in GROUPS
                    ),
                )
                for view in views
            ],
        ),
        all_cases("zha-22", lambda run: inside(run.ratio, 1, 1.29), "BBR'", "BBRPlus"),
        all_cases("zha-23", lambda run: run.jain >= 0.98 - JAIN_MARGIN, "BBR'", "BBRPlus"),
        all_cases("zha-24", lambda run: inside(run.ratio, 1.84, 4.36), "Tsunami"),
        all_cases("zha-25", lambda run: inside(run.ratio, 1.26, 1.99), "BBR+"),
        all_cases("zha-26", lambda run: inside(run.ratio, 1, 1.48), "BBRv2"),
        all_cases("zha-27", lambda run: run.rates[0] > run.rates[1], "Reno", among=classic),
        all_cases("zha-28", lambda run: inside(run.ratio, 1.13, 1.41), "Reno", among=classic),
        Judgement(
            by_id["zha-29"],
            [
                view.outcome(
                    partial(sums_hold, view),
                    f"{spread(used(view, FIRST_VERSION), 3)}; {spread(used(view, ('BBRv2', 'Cubic', 'Reno')), 3)}",
                )
                for view in views
            ],
        ),
    ]
