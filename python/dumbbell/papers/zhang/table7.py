"""Tables 6 and 7 and figure 14: two flows of an algorithm against two of Cubic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from dumbbell import metrics
from dumbbell.papers import data
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Provenance, Report
from dumbbell.papers.seeds import spread
from dumbbell.papers.zhang import figures
from dumbbell.papers.zhang.measure import (
    BBR_LIKE,
    CODE,
    JAIN_MARGIN,
    MARGINS,
    TIMING,
    Run,
    Runs,
    Trace,
    View,
    beside,
    cases_by,
    inside,
    measure,
    noted,
    published_values,
)

if TYPE_CHECKING:
    from dumbbell.plots import Picture
    from dumbbell.results import Result

TITLE = "Two flows of an algorithm against two of Cubic, nine cases"

SCENARIO = Path(__file__).with_name("table7.toml")

QUICK = "10s"

CASES = tuple(str(number) for number in range(1, 10))
SHALLOW = ("1", "4")
"""Cases with a buffer of one BDP."""
DRAWN = "5"
"""The case of figure 14."""
HARSH = ("BBR", "BBR+", "Tsunami")

CLAIMS = (
    Claim(
        "zha-43",
        "With a buffer of one BDP BBR, BBR+ and Tsunami starve Cubic: the ratio of rates is at least 5.",
        "BBR 13.6, 17.1; BBR+ 5.9, 7.9; Tsunami 26.1, 34.4",
    ),
    Claim("zha-44", "With a buffer of one BDP Jain's index of BBR, BBR+ and Tsunami is at most 0.65.", "0.38 to 0.65"),
    Claim("zha-45", "BBRPlus coexists with Cubic in all cases: Jain at least 0.98, ratio at most 1.51.", "0.98; 1.51"),
    Claim("zha-46", "BBRv2 coexists with Cubic in all cases: Jain at least 0.95, ratio at most 1.73.", "0.95; 1.73"),
    Claim("zha-47", "BBR' coexists with Cubic in all cases: Jain at least 0.93, ratio at most 1.94.", "0.93; 1.94"),
    Claim(
        "zha-48",
        "Larger buffers let Cubic recover against BBR: Jain's index rises from 1 to 1.5 BDP and does not fall from 1.5 "
        "to 2 BDP (within 0.02).",
        "0.55 < 0.95 < 1.00; 0.50 < 0.97 < 0.98",
    ),
    Claim(
        "zha-49",
        "With 1.5 and 2 BDP (cases 2, 3, 5, 6) BBR, BBR+ and Tsunami still take more than half.",
        "section 4.5",
    ),
    Claim("zha-50", "In case 5 the rates of BBR and Tsunami vary more than those of BBRPlus and BBRv2.", "figure 14"),
)


def reproduce(options: Options) -> Report:
    """Runs all cases."""
    traces: dict[int, Trace] = {}

    def keep(index: int, result: Result) -> None:
        if result.meta.settings["path.buffer"] == "112500B":
            traces[index] = Trace.of(result)

    result = data.run(SCENARIO, options, quick=QUICK, each=keep)
    runs = measure(result, cases_by(result, ("path.rate", "path.buffer"), CASES), traces)
    base = View(runs, CODE, CASES)

    def table(name: str, title: str, value: Callable[[Run], float]) -> Grid:
        return beside(
            f"table7-{name}",
            title,
            CASES,
            lambda algorithm, case: base.mean(algorithm, case, value),
            published_values("table7", name),
            algorithms=BBR_LIKE,
            difference=name == "jain",
        )

    report = Report(
        study="zhang",
        part="table7",
        title=TITLE,
        setup=(
            "Flows 1 and 2 use the algorithm, 3 and 4 Cubic as QUIC has it (standing for two connections); all for "
            "200 s over 50 ms each way. Cases: 4 Mbit/s with queues of 100, 150, 200 ms (1 to 3), 6 Mbit/s with the "
            "same (4 to 6), 8, 10, 12 Mbit/s with 150 ms (7 to 9).",
            "Jain's index and the ratio of the largest to the smallest rate are over all four flows.",
            TIMING,
            MARGINS,
        ),
        tables=(
            table("jain", "Table 7: Jain's index", lambda run: run.jain),
            table("ratio", "Table 7: largest over smallest throughput", lambda run: run.ratio),
            shares(base),
        ),
        pictures={"fig14": picture(base)},
        judgements=noted(judge(runs)),
        provenance=Provenance.of([result], {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report


def share(run: Run) -> float:
    """What the algorithm's two flows have of all throughput."""
    return sum(run.rates[:2]) / run.total


def variation(run: Run) -> float:
    """How much the bandwidth estimates of the algorithm's flows vary after the first 20 s."""
    if run.trace is None:
        return 0.0
    steady = run.trace.estimate[:2, run.trace.t_s > 20]
    return fmean(metrics.coefficient_of_variation(row) or 0.0 for row in steady)


def shares(view: View) -> Grid:
    """What the algorithm's two flows have of all throughput in each case."""
    rows: list[list[Cell]] = [
        [algorithm, *(view.mean(algorithm, case, share) for case in CASES)] for algorithm in BBR_LIKE
    ]
    return Grid("share", "Share of the algorithm's two flows", ["algorithm", *CASES], rows)


def picture(view: View) -> Picture:
    """Figure 14: rates in case 5."""
    panels = {f"{algorithm} against Cubic": view.of(algorithm, DRAWN)[0].trace for algorithm in BBR_LIKE}
    shown = {heading: trace for heading, trace in panels.items() if trace is not None}
    names = ("flow 1", "flow 2", "flow 3 (Cubic)", "flow 4 (Cubic)")
    title = "Zhang figure 14: 6 Mbit/s, 50 ms, queue of 150 ms"
    return figures.over_time(shown, title, names, columns=3, label="estimate; Cubic: throughput\n(Mbit/s)")


# --- claims ----------------------------------------------------------------------------------------------------------


def judge(runs: Runs) -> list[Judgement]:
    """Puts every claim to the runs."""
    views = [View(runs, CODE, CASES)]
    by_id = {claim.id: claim for claim in CLAIMS}

    def texts(view: View, names: tuple[str, ...], cases: tuple[str, ...], value: Callable[[Run], float]) -> str:
        return "; ".join(
            f"{name} {', '.join(f'{view.mean(name, case, value):.2f}' for case in cases)}" for name in names
        )

    def in_cases(
        claim: str,
        holds: Callable[[Mapping[str, Run]], bool],
        names: tuple[str, ...],
        cases: tuple[str, ...],
        ours: Callable[[View], str],
    ) -> Judgement:
        return Judgement(by_id[claim], [view.over_cases(holds, names, ours(view), cases) for view in views])

    def coexists(claim: str, name: str, jain: float, ratio: float) -> Judgement:
        def ours(view: View) -> str:
            indices = spread([view.mean(name, case, lambda run: run.jain) for case in CASES])
            ratios = spread([view.mean(name, case, lambda run: run.ratio) for case in CASES])
            return f"Jain {indices}, ratio {ratios}"

        return in_cases(
            claim,
            lambda found: found[name].jain >= jain - JAIN_MARGIN and inside(found[name].ratio, 1, ratio),
            (name,),
            CASES,
            ours,
        )

    def recovers(view: View, seed: int) -> bool:
        def jain(case: str) -> float:
            return view.of("BBR", case)[seed].jain

        return all(
            jain(shallow) < jain(middle) <= jain(deep) + JAIN_MARGIN
            for shallow, middle, deep in (("1", "2", "3"), ("4", "5", "6"))
        )

    def calmer(view: View, seed: int) -> bool:
        def of(name: str) -> float:
            return variation(view.of(name, DRAWN)[seed])

        return min(of("BBR"), of("Tsunami")) > max(of("BBRPlus"), of("BBRv2"))

    return [
        in_cases(
            "zha-43",
            lambda found: min(run.ratio for run in found.values()) >= 5,
            HARSH,
            SHALLOW,
            lambda view: texts(view, HARSH, SHALLOW, lambda run: run.ratio),
        ),
        in_cases(
            "zha-44",
            lambda found: max(run.jain for run in found.values()) <= 0.65 + JAIN_MARGIN,
            HARSH,
            SHALLOW,
            lambda view: texts(view, HARSH, SHALLOW, lambda run: run.jain),
        ),
        coexists("zha-45", "BBRPlus", 0.98, 1.51),
        coexists("zha-46", "BBRv2", 0.95, 1.73),
        coexists("zha-47", "BBR'", 0.93, 1.94),
        Judgement(
            by_id["zha-48"],
            [
                view.outcome(partial(recovers, view), texts(view, ("BBR",), CASES[:6], lambda run: run.jain))
                for view in views
            ],
        ),
        in_cases(
            "zha-49",
            lambda found: min(map(share, found.values())) > 0.5,
            HARSH,
            ("2", "3", "5", "6"),
            lambda view: texts(view, HARSH, ("2", "3", "5", "6"), share),
        ),
        Judgement(
            by_id["zha-50"],
            [view.outcome(partial(calmer, view), view.ranked(BBR_LIKE, DRAWN, variation, 2)) for view in views],
        ),
    ]
