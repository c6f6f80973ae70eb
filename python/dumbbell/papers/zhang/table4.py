"""Table 4: how much of the link four flows use when packets are lost at random."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from dumbbell.papers import data
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Provenance, Report
from dumbbell.papers.zhang.measure import (
    CODE,
    PAPER,
    TIMING,
    Run,
    Runs,
    View,
    beside,
    cases_by,
    measure,
    noted,
    published_values,
)

TITLE = "Four flows of one algorithm, random loss 0 to 5 %, five cases"

SCENARIO = Path(__file__).with_name("table4.toml")
CHOICES = Path(__file__).with_name("table4-choices.toml")

QUICK = "10s"

LOSSES = ("0%", "1%", "3%", "5%")
LINKS = {"2": 5.0, "5": 6.0, "7": 7.0, "9": 8.0, "10": 10.0}
"""Mbit/s of each case of table 1."""
CASES = tuple(f"{case}, {loss}" for loss in LOSSES for case in LINKS)
SHORT = tuple(f"{case}, {loss}" for loss in ("0%", "5%") for case in ("2", "9"))
"""Cases that were run under every choice."""
TABLE = ("BBR", "BBR'", "BBRPlus", "BBRv2", "Cubic", "Reno")
"""Algorithms of the published table."""
STEADY = ("BBR", "BBR'", "BBRPlus")
ONE = "Reno N = 1"

WITHIN = 0.03
"""How near a utilisation must be to the published one to agree."""

CLAIMS = (
    Claim("zha-30", "Without random loss all algorithms use more than 90 % of the link.", "0.94 to 0.97"),
    Claim(
        "zha-31",
        "Without random loss BBRv2, Cubic and Reno use 0.97, BBR, BBR' and BBRPlus 0.94 to 0.95 (both within 0.015).",
        "0.96 to 0.97; 0.94 to 0.95",
    ),
    Claim("zha-32", "From 0 to 5 % loss BBR, BBR' and BBRPlus lose at most 6 points.", "0.04 to 0.06"),
    Claim("zha-33", "With 5 % loss BBR, BBR' and BBRPlus keep at least 0.88.", "0.88 to 0.91"),
    Claim("zha-34", "With 5 % loss BBRv2 drops to 0.62 in case 7 and 0.51 in case 9 (within 0.1).", "0.62; 0.51"),
    Claim(
        "zha-35",
        "With 5 % loss BBRv2 keeps 0.91 in cases 2 and 5 and 0.81 in case 10 (within 0.05).",
        "0.91; 0.91; 0.81",
    ),
    Claim(
        "zha-36",
        "With 3 and 5 % loss Cubic and Reno use less than BBRv2 in cases 7, 9 and 10.",
        "0.25 to 0.64 against 0.51 to 0.92",
    ),
    Claim(
        "zha-37",
        "With 1 % loss Cubic falls to 0.70 (case 7) and 0.62 (case 9), Reno to 0.85 and 0.75 (all within 0.1).",
        "0.70; 0.62; 0.85; 0.75",
    ),
)


def reproduce(options: Options) -> Report:
    """Runs the table, and STARTUP at 2/ln 2 at its corners."""
    main = data.run(SCENARIO, options, quick=QUICK)
    choices = data.run(CHOICES, options, quick=QUICK)
    axes = ("path.loss", "path.rate", "path.rtt", "path.buffer")
    runs = measure(main, cases_by(main, axes, CASES)) | measure(choices, cases_by(choices, axes, SHORT))
    base = View(runs, CODE, CASES)
    theirs = published_values("table4", "utilization")
    report = Report(
        study="zhang",
        part="table4",
        title=TITLE,
        setup=(
            "The link of table 1 with a queue of 1.5 BDP in cases 2, 5, 7, 9, 10; four flows for 400 s; independent "
            "loss behind the link, data direction only.",
            TIMING,
            "Utilisation is received UDP payload over capacity; without loss at most 0.971.",
        ),
        tables=(
            *(
                beside(
                    f"table4-{loss.rstrip('%')}",
                    f"Table 4, {loss} loss: utilisation by case of table 1",
                    [f"{case}, {loss}" for case in LINKS],
                    lambda algorithm, case: utilisation(base, algorithm, case),
                    theirs,
                    algorithms=TABLE,
                    difference=True,
                    digits=3,
                )
                for loss in LOSSES
            ),
            agreement(runs, theirs),
        ),
        pictures={},
        judgements=noted(judge(runs)),
        provenance=Provenance.of(
            [main, choices], {path.name: path.read_text(encoding="utf-8") for path in (SCENARIO, CHOICES)}
        ),
    )
    return report.shortened(QUICK) if options.quick else report


def capacity(case: str) -> float:
    """Mbit/s of the link of a case such as ``2, 5%``."""
    return LINKS[case.partition(",")[0]]


def used(run: Run, case: str) -> float:
    """Utilisation of a run."""
    return run.total / capacity(case)


def utilisation(view: View, algorithm: str, case: str) -> float:
    """Mean over seeds."""
    return view.mean(algorithm, case, lambda run: run.total) / capacity(case)


def agreement(runs: Runs, theirs: dict[tuple[str, str], float]) -> Grid:
    """In how many cells the mean utilisation lies near the published one, under each choice."""
    rows: list[list[Cell]] = []
    for label in dict.fromkeys(label for label, _ in runs):
        algorithm, _, choice = label.partition(", ")
        cases = [case for case in CASES if (label, case) in runs]
        view = View(runs, choice or CODE, CASES)
        differences = [utilisation(view, algorithm, case) - theirs[algorithm, case] for case in cases]
        near = sum(abs(difference) <= WITHIN for difference in differences)
        rows.append([algorithm, choice or CODE, f"{near} of {len(cases)}", min(differences), max(differences)])
    columns = ["algorithm", "choice", "cells within 0.03", "least difference", "largest difference"]
    return Grid("agreement", "Our utilisation less the published one", columns, rows, 3)


# --- claims ----------------------------------------------------------------------------------------------------------


def judge(runs: Runs) -> list[Judgement]:
    """Puts every claim to the runs under every choice that matters to it."""
    base = View(runs, CODE, CASES)
    paper = View(runs, PAPER, SHORT)
    renamed = {(f"Reno, {ONE}", case): runs["Reno, N = 1", case] for case in CASES}
    classic = View(runs | renamed, ONE, CASES)
    by_id = {claim.id: claim for claim in CLAIMS}

    def at(view: View, algorithm: str, case: str, seed: int) -> float:
        return used(view.of(algorithm, case)[seed], case)

    def links(view: View) -> list[str]:
        return [case for case in LINKS if f"{case}, 0%" in view.cases]

    def put(claim: str, holds: Callable[[View, int], bool], ours: Callable[[View], str], *views: View) -> Judgement:
        return Judgement(by_id[claim], [view.outcome(partial(holds, view), ours(view)) for view in views])

    def lowest(view: View, names: tuple[str, ...], loss: str) -> str:
        values = [utilisation(view, name, f"{case}, {loss}") for name in names for case in links(view)]
        return f"{min(values):.3f} to {max(values):.3f}"

    def listed(view: View, *cells: tuple[str, str]) -> str:
        return "; ".join(f"{utilisation(view, name, case):.2f}" for name, case in cells)

    def near(view: View, seed: int, targets: dict[tuple[str, str], float], margin: float) -> bool:
        return all(abs(at(view, name, case, seed) - target) <= margin for (name, case), target in targets.items())

    def full(view: View, seed: int) -> bool:
        high = all(
            abs(at(view, name, f"{case}, 0%", seed) - 0.97) <= 0.015 for name in TABLE[3:] for case in links(view)
        )
        low = all(0.925 <= at(view, name, f"{case}, 0%", seed) <= 0.965 for name in STEADY for case in links(view))
        return high and low

    def drop(view: View, seed: int) -> bool:
        return all(
            at(view, name, f"{case}, 0%", seed) - at(view, name, f"{case}, 5%", seed) <= 0.065
            for name in STEADY
            for case in links(view)
        )

    def worse(view: View, seed: int) -> bool:
        return all(
            max(at(view, name, f"{case}, {loss}", seed) for name in ("Cubic", "Reno"))
            < at(view, "BBRv2", f"{case}, {loss}", seed)
            for case in ("7", "9", "10")
            for loss in ("3%", "5%")
        )

    long = {("BBRv2", "7, 5%"): 0.62, ("BBRv2", "9, 5%"): 0.51}
    short = {("BBRv2", "2, 5%"): 0.91, ("BBRv2", "5, 5%"): 0.91, ("BBRv2", "10, 5%"): 0.81}
    one = {("Cubic", "7, 1%"): 0.70, ("Cubic", "9, 1%"): 0.62, ("Reno", "7, 1%"): 0.85, ("Reno", "9, 1%"): 0.75}
    return [
        put(
            "zha-30",
            lambda view, seed: all(at(view, name, f"{case}, 0%", seed) > 0.9 for name in TABLE for case in links(view)),
            lambda view: lowest(view, TABLE, "0%"),
            base,
            paper,
        ),
        put("zha-31", full, lambda view: f"{lowest(view, TABLE[3:], '0%')}; {lowest(view, STEADY, '0%')}", base, paper),
        put(
            "zha-32",
            drop,
            lambda view: f"{lowest(view, STEADY, '0%')} without loss, {lowest(view, STEADY, '5%')} with 5 %",
            base,
            paper,
        ),
        put(
            "zha-33",
            lambda view, seed: all(
                at(view, name, f"{case}, 5%", seed) >= 0.88 for name in STEADY for case in links(view)
            ),
            lambda view: lowest(view, STEADY, "5%"),
            base,
            paper,
        ),
        put("zha-34", lambda view, seed: near(view, seed, long, 0.1), lambda view: listed(view, *long), base),
        put("zha-35", lambda view, seed: near(view, seed, short, 0.05), lambda view: listed(view, *short), base),
        put(
            "zha-36",
            worse,
            lambda view: "; ".join(
                f"{name} {listed(view, *((name, f'{case}, 5%') for case in ('7', '9', '10')))}"
                for name in ("Cubic", "Reno", "BBRv2")
            ),
            base,
            classic,
        ),
        put("zha-37", lambda view, seed: near(view, seed, one, 0.1), lambda view: listed(view, *one), base, classic),
    ]
