"""Table 1 and figures 5 to 12: four flows of one algorithm, which come and go, in eleven cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from dumbbell.papers import data
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Outcome, Provenance, Report
from dumbbell.papers.seeds import spread
from dumbbell.papers.zhang import figures
from dumbbell.papers.zhang.measure import (
    ALGORITHMS,
    CODE,
    PAPER,
    PAYLOAD,
    TIMING,
    WIRE,
    Run,
    Runs,
    Trace,
    View,
    cases_by,
    measure,
    noted,
    plain,
)

if TYPE_CHECKING:
    from dumbbell.plots import Picture
    from dumbbell.results import Result

TITLE = "Four flows of one algorithm over one bottleneck, eleven cases"

SCENARIO = Path(__file__).with_name("table1.toml")
CHOICES = Path(__file__).with_name("table1-choices.toml")

QUICK = "130s"

CASES = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11")
CASE_8_OF_THE_CODE = "8, 50 ms"
SHORT = ("1", "2", "3")
"""Cases that were run under every choice."""
DRAWN = ("1", "3")
"""Cases whose rates the study draws: a buffer of one BDP, and of two."""
ONE = "Reno N = 1"

CASE_8 = "case 8 at 50 ms"

STAGES = ((40.0, 80.0, (0, 1)), (80.0, 120.0, (0, 1, 2)), (120.0, 200.0, (0, 1, 2, 3)), (200.0, 300.0, (0, 1, 3)),
          (300.0, 400.0, (0, 1)))  # fmt: skip
"""Start, end and flows of each stage between two changes."""
SETTLED = 10.0
"""Seconds of a stage that its flows have to settle."""
TOGETHER = (120.0, 200.0)
"""When all four flows send."""

CLAIMS = (
    Claim(
        "zha-01", "Four BBR flows over a buffer of one BDP lose about 9 % (within a quarter: 6.75 to 11.25 %).", "0.09"
    ),
    Claim("zha-02", "BBR loses more in case 3 than in case 2, in spite of the longer queue.", "0.010 and 0.007"),
    Claim("zha-03", "BBR is less fair than BBR', BBRPlus and BBRv2 in case 1.", "figure 7a"),
    Claim(
        "zha-04",
        "BBR shares fairly in case 3 (Jain above 0.9 from 150 to 200 s), and flows 2 and 3 overshoot when they start.",
        "figure 7b",
    ),
    Claim("zha-05", "BBR' has the lowest delay of all algorithms in every case.", "figure 5"),
    Claim("zha-06", "BBRPlus has the second lowest delay in every case.", "figure 5"),
    Claim("zha-07", "BBR' loses less than BBR in every case.", "figure 6"),
    Claim("zha-08", "BBRPlus loses no more than BBR in every case.", "figure 6"),
    Claim("zha-09", "BBR' is fairer than BBR in case 1.", "figure 8a"),
    Claim("zha-10", "The rates of BBR' vary more than those of BBR in case 3.", "figures 7b and 8b"),
    Claim(
        "zha-11",
        "BBRPlus flows are close to each other at each stage of cases 1 and 3 (Jain at least 0.95).",
        "figure 9",
    ),
    Claim("zha-12", "Tsunami and BBR+ are less fair than BBR' and BBRPlus in case 1.", "figures 10 and 11"),
    Claim("zha-13", "Tsunami loses most of all algorithms in every case.", "figure 6"),
    Claim("zha-14", "Tsunami's delay is above BBR's in every case.", "figure 5"),
    Claim("zha-15", "The rates of BBR+ vary more than those of BBR in case 3.", "figure 11b"),
    Claim("zha-16", "BBRv2 flows share fairly at each stage of cases 1 and 3 (Jain at least 0.9).", "figure 12"),
    Claim("zha-17", "BBRv2's delay is above that of BBR' in every case and below BBR's in some.", "figure 5"),
    Claim("zha-18", "BBRv2's delay is below that of Cubic and Reno in every case.", "section 5"),
)


def reproduce(options: Options) -> Report:
    """Runs all cases, and the choices in the first three."""
    traces: tuple[dict[int, Trace], dict[int, Trace]] = ({}, {})

    def keeper(kept: dict[int, Trace]) -> Callable[[int, Result], None]:
        def keep(index: int, result: Result) -> None:
            settings = result.meta.settings
            if settings.get("path.rate", "5mbit") == "5mbit" and settings["path.buffer"] != "93750B":
                kept[index] = Trace.of(result)

        return keep

    main = data.run(SCENARIO, options, quick=QUICK, each=keeper(traces[0]))
    choices = data.run(CHOICES, options, quick=QUICK, each=keeper(traces[1]))
    axes = ("path.rate", "path.rtt", "path.buffer")
    runs = measure(main, cases_by(main, axes, (*CASES, CASE_8_OF_THE_CODE)), traces[0])
    runs |= measure(choices, cases_by(choices, ("path.buffer",), SHORT), traces[1])
    base = View(runs, CODE, CASES)
    report = Report(
        study="zhang",
        part="table1",
        title=TITLE,
        setup=(
            "Flow 1 sends from 0 to 400 s, flow 2 from 40 to 400 s, flow 3 from 80 to 200 s, flow 4 from 120 to 300 s; "
            "a byte-limited drop-tail queue; packets of 1040 bytes, an ACK for each.",
            "Cases (rate, one-way delay, queueing time): 1 to 3: 5 Mbit/s, 50 ms, 100, 150, 200 ms; 4, 5: 6 Mbit/s, "
            "50 ms, 100, 150 ms; 6: 7 Mbit/s, 50 ms, 150 ms; 7: 7 Mbit/s, 100 ms, 300 ms; 8, 9: 8 Mbit/s, 100 ms, 200, "
            "300 ms; 10, 11: 10 Mbit/s, 50 ms, 150, 200 ms. Case 8 also with 50 ms, as in the study's repository.",
            TIMING,
            "Jain's index over 120 to 200 s, when all four flows send; per stage without its first 10 s. Variation is "
            "that of the bandwidth estimate from second to second over 120 to 200 s.",
        ),
        tables=(
            plain(
                "delay", "Mean one-way delay in ms (figure 5)", base.cases, mean_of(base, lambda run: run.delay_ms), 1
            ),
            plain("loss", "Loss rate (figure 6)", base.cases, mean_of(base, lambda run: run.loss), 4),
            fairness(runs),
            causes(runs),
        ),
        pictures=pictures(runs, base),
        judgements=noted(judge(runs)),
        provenance=Provenance.of(
            [main, choices], {path.name: path.read_text(encoding="utf-8") for path in (SCENARIO, CHOICES)}
        ),
    )
    return report.shortened(QUICK) if options.quick else report


def mean_of(view: View, value: Callable[[Run], float]) -> Callable[[str, str], float]:
    """The mean over seeds as a function of algorithm and case."""
    return lambda algorithm, case: view.mean(algorithm, case, value)


# --- what is measured over time --------------------------------------------------------------------------------------


def together(run: Run) -> float:
    """Jain's index while all four flows send."""
    found = run.trace.jain(*TOGETHER, range(4)) if run.trace else None
    return found or 0.0


def unfairest_stage(run: Run) -> float:
    """The lowest of Jain's indices of the stages."""
    indices = [run.trace.jain(start + SETTLED, end, flows) for start, end, flows in STAGES] if run.trace else []
    return min((index for index in indices if index is not None), default=0.0)


def variation(run: Run) -> float:
    """How much the bandwidth estimates vary while all four flows send."""
    found = run.trace.variation(*TOGETHER) if run.trace else None
    return found or 0.0


def overshoot(run: Run, flow: int) -> float:
    """The highest estimate of a flow in its first 10 s over its fair share."""
    if run.trace is None:
        return 0.0
    start = (0.0, 40.0, 80.0, 120.0)[flow]
    share = 5.0 * PAYLOAD / WIRE / (flow + 1)
    first = (run.trace.t_s > start) & (run.trace.t_s <= start + 10)
    return float(run.trace.estimate[flow, first].max(initial=0.0)) / share


# --- tables and figures ----------------------------------------------------------------------------------------------


def fairness(runs: Runs) -> Grid:
    """Jain's index and the variation of rates in the cases that the study draws."""
    view = View(runs, CODE, DRAWN)
    values: Mapping[str, Callable[[Run], float]] = {
        "Jain, 120 to 200 s": together,
        "least Jain of a stage": unfairest_stage,
        "variation of rates": variation,
    }
    columns = ["algorithm", *(f"case {case}: {name}" for case in DRAWN for name in values)]
    rows: list[list[Cell]] = [
        [algorithm, *(view.mean(algorithm, case, value) for case in DRAWN for value in values.values())]
        for algorithm in ALGORITHMS
    ]
    return Grid("fairness", "How the flows share (figures 7 to 12)", columns, rows)


def causes(runs: Runs) -> Grid:
    """Loss, delay and fairness under each choice."""
    columns = ["algorithm", "choice"]
    columns += [f"case {case}: {what}" for case in SHORT for what in ("loss", "delay")] + [
        "Jain, case 1",
        "Jain, case 3",
    ]
    rows: list[list[Cell]] = []
    for label in sorted({label for label, _ in runs}, key=lambda name: (ALGORITHMS.index(name.split(",")[0]), name)):
        algorithm, _, choice = label.partition(", ")
        found = [runs[label, case] for case in SHORT]
        numbers: list[Cell] = [algorithm, choice or CODE]
        for of in found:
            numbers += [fmean(run.loss for run in of), fmean(run.delay_ms for run in of)]
        rows.append([*numbers, *(fmean(map(together, runs[label, case])) for case in DRAWN)])
    return Grid("choices", "What the study leaves open, cases 1 to 3", columns, rows, 3)


def pictures(runs: Runs, base: View) -> dict[str, Picture]:
    """Figures 5 to 12."""
    drawn = {
        "fig5": figures.by_case(
            base, lambda run: run.delay_ms, "mean one-way delay (ms)", "Zhang figure 5: delay by case"
        ),
        "fig6": figures.by_case(base, lambda run: 100 * run.loss, "loss (%)", "Zhang figure 6: loss by case"),
    }
    order = ("BBR", "BBR'", "BBRPlus", "Tsunami", "BBR+", "BBRv2")
    for number, algorithm in enumerate(order, start=7):
        panels = {
            f"case {case}: queue of {size} BDP": runs[algorithm, case][0].trace
            for case, size in zip(DRAWN, ("1", "2"), strict=True)
        }
        shown = {heading: trace for heading, trace in panels.items() if trace is not None}
        names = [f"flow {flow}" for flow in range(1, 5)]
        drawn[f"fig{number}"] = figures.over_time(shown, f"Zhang figure {number}: {algorithm}, 5 Mbit/s, 50 ms", names)
    return drawn


# --- claims ----------------------------------------------------------------------------------------------------------


def judge(runs: Runs) -> list[Judgement]:
    """Puts every claim to the runs, and to the choices where they were run."""
    base = View(runs, CODE, CASES)
    eight = View(runs, CASE_8, tuple(CASE_8_OF_THE_CODE if case == "8" else case for case in CASES))
    choices = [base, View(runs, PAPER, SHORT)]
    everywhere = [base, eight, *choices[1:]]
    by_id = {claim.id: claim for claim in CLAIMS}

    def less(
        claim: str,
        algorithm: str,
        others: tuple[str, ...],
        value: Callable[[Run], float],
        digits: int,
        *,
        note: str = "",
        holds: Callable[[float, float], bool] = lambda mine, other: mine < other,
        views: list[View] = everywhere,
    ) -> Judgement:
        def all_hold(found: Mapping[str, Run]) -> bool:
            return all(holds(value(found[algorithm]), value(found[other])) for other in others)

        outcomes = []
        for view in views:
            means = view.ranked((algorithm, *others), "1", value, digits)
            outcomes.append(view.over_cases(all_hold, (algorithm, *others), f"case 1: {means}"))
        return Judgement(by_id[claim], outcomes, note)

    def seeds(claim: str, holds: Callable[[View, int], bool], ours: Callable[[View], str], note: str = "") -> Judgement:
        return Judgement(
            by_id[claim],
            [view.outcome(partial(holds, view), ours(view)) for view in choices],
            note,
        )

    def fairer(view: View, seed: int, low: tuple[str, ...], high: tuple[str, ...]) -> bool:
        least = min(together(view.of(name, "1")[seed]) for name in high)
        return max(together(view.of(name, "1")[seed]) for name in low) < least

    def means(case: str, value: Callable[[Run], float], digits: int, *names: str) -> Callable[[View], str]:
        return lambda view: view.ranked(names, case, value, digits)

    def stages(algorithm: str) -> Callable[[View], str]:
        return lambda view: ", ".join(
            f"case {case}: lowest {spread(map(unfairest_stage, view.of(algorithm, case)))}" for case in DRAWN
        )

    def loss(run: Run) -> float:
        return run.loss

    def delay(run: Run) -> float:
        return run.delay_ms

    rest = tuple(name for name in ALGORITHMS if name != "BBR'")
    return [
        seeds(
            "zha-01",
            lambda view, seed: 0.0675 <= view.of("BBR", "1")[seed].loss <= 0.1125,
            lambda view: f"{spread([run.loss for run in view.of('BBR', '1')], 3)}",
        ),
        seeds(
            "zha-02",
            lambda view, seed: view.of("BBR", "3")[seed].loss > view.of("BBR", "2")[seed].loss,
            lambda view: f"{view.mean('BBR', '3', loss):.4f} and {view.mean('BBR', '2', loss):.4f}",
        ),
        seeds(
            "zha-03",
            lambda view, seed: fairer(view, seed, ("BBR",), ("BBR'", "BBRPlus", "BBRv2")),
            means("1", together, 2, "BBR", "BBR'", "BBRPlus", "BBRv2"),
        ),
        seeds(
            "zha-04",
            lambda view, seed: (
                late_jain(view.of("BBR", "3")[seed]) > 0.9
                and min(overshoot(view.of("BBR", "3")[seed], flow) for flow in (1, 2)) > 1
            ),
            lambda view: (
                f"Jain {spread(map(late_jain, view.of('BBR', '3')))}; peak over fair share, flow 2 "
                f"{spread([overshoot(run, 1) for run in view.of('BBR', '3')])}, flow 3 "
                f"{spread([overshoot(run, 2) for run in view.of('BBR', '3')])}"
            ),
        ),
        less("zha-05", "BBR'", rest, delay, 0),
        less("zha-06", "BBRPlus", tuple(name for name in rest if name != "BBRPlus"), delay, 0),
        less("zha-07", "BBR'", ("BBR",), loss, 4),
        less("zha-08", "BBRPlus", ("BBR",), loss, 4, holds=lambda mine, other: mine <= other),
        seeds(
            "zha-09", lambda view, seed: fairer(view, seed, ("BBR",), ("BBR'",)), means("1", together, 2, "BBR", "BBR'")
        ),
        seeds(
            "zha-10",
            lambda view, seed: variation(view.of("BBR'", "3")[seed]) > variation(view.of("BBR", "3")[seed]),
            means("3", variation, 3, "BBR", "BBR'"),
        ),
        seeds(
            "zha-11",
            lambda view, seed: min(unfairest_stage(view.of("BBRPlus", case)[seed]) for case in DRAWN) >= 0.95,
            stages("BBRPlus"),
        ),
        seeds(
            "zha-12",
            lambda view, seed: fairer(view, seed, ("Tsunami", "BBR+"), ("BBR'", "BBRPlus")),
            means("1", together, 2, "Tsunami", "BBR+", "BBR'", "BBRPlus"),
        ),
        less(
            "zha-13",
            "Tsunami",
            tuple(name for name in ALGORITHMS if name != "Tsunami"),
            loss,
            3,
            holds=lambda mine, other: mine > other,
        ),
        less("zha-14", "Tsunami", ("BBR",), delay, 0, holds=lambda mine, other: mine > other),
        seeds(
            "zha-15",
            lambda view, seed: variation(view.of("BBR+", "3")[seed]) > variation(view.of("BBR", "3")[seed]),
            means("3", variation, 3, "BBR", "BBR+"),
        ),
        seeds(
            "zha-16",
            lambda view, seed: min(unfairest_stage(view.of("BBRv2", case)[seed]) for case in DRAWN) >= 0.9,
            stages("BBRv2"),
        ),
        Judgement(by_id["zha-17"], [second_version(view) for view in (base, eight)]),
        Judgement(
            by_id["zha-18"],
            [
                view.over_cases(
                    lambda found: found["BBRv2"].delay_ms < min(found["Cubic"].delay_ms, found["Reno"].delay_ms),
                    ("BBRv2", "Cubic", "Reno"),
                    f"case 1: {view.ranked(('BBRv2', 'Cubic', 'Reno'), '1', delay, 0)}",
                )
                for view in (base, eight, alone(runs))
            ],
        ),
    ]


def alone(runs: Runs) -> View:
    """Reno as one connection."""
    renamed = {(f"Reno, {ONE}", case): runs["Reno, N = 1", case] for case in SHORT}
    return View(runs | renamed, ONE, SHORT)


def late_jain(run: Run) -> float:
    """Jain's index from 150 to 200 s."""
    found = run.trace.jain(150.0, 200.0, range(4)) if run.trace else None
    return found or 0.0


def second_version(view: View) -> Outcome:
    """Whether BBRv2's delay lies above that of BBR' in all cases and below BBR's in one."""

    def holds(seed: int) -> bool:
        delays = {
            name: [view.of(name, case)[seed].delay_ms for case in view.cases] for name in ("BBR", "BBR'", "BBRv2")
        }
        above = all(two > prime for two, prime in zip(delays["BBRv2"], delays["BBR'"], strict=True))
        return above and any(two < one for two, one in zip(delays["BBRv2"], delays["BBR"], strict=True))

    below = [
        case
        for case in view.cases
        if view.mean("BBRv2", case, lambda run: run.delay_ms) < view.mean("BBR", case, lambda run: run.delay_ms)
    ]
    return view.outcome(holds, "below BBR in " + (f"cases {', '.join(below)}" if below else "no case"))
