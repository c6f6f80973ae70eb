"""Table 3: the tolerance within which two round-trip times are alike."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from dumbbell.papers import data
from dumbbell.papers.bbr_acd.forms import FORMS, PUBLISHED
from dumbbell.papers.bbr_acd.simulation import BUFFERS, Run, measure
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Outcome, Provenance, Report
from dumbbell.papers.seeds import mean
from dumbbell.results import Result

TITLE = "Tolerance of BBR-ACD's detector: 500, 1000 and 1500 microseconds"

SCENARIO = Path(__file__).with_name("alpha.toml")
QUICK = "10s"
ALPHAS = ("500us", "1ms", "1500us")
LABELS = {"500us": "500us", "1ms": "1000us", "1500us": "1500us"}
"""In the experiment file and in the published numbers."""

CLAIMS = (
    Claim("acd-24", "Retransmissions fall as the tolerance grows.", "4523 > 2311 > 1568"),
    Claim("acd-25", "1000 us gives the highest throughput and goodput.", "0.895 and 0.863 Mbit/s"),
)

Cases = dict[tuple[str, str, str], list[Run]]
"""The runs of each form, queue and tolerance, a run for each seed."""


def reproduce(options: Options) -> Report:
    """Runs the three forms with each tolerance and both queues."""
    points: list[tuple[int, Run]] = []

    def keep(point: int, result: Result) -> None:
        points.append((point, measure(result)))

    result = data.run(SCENARIO, options, quick=QUICK, each=keep)
    cases: Cases = {}
    keys = ("flows[0].cc.name", "path.buffer", "flows[0].cc.acd_tolerance")
    for point, run in sorted(points, key=lambda pair: pair[0]):
        form, buffer, alpha = (str(result.points[point].settings[key]) for key in keys)
        cases.setdefault((form, buffer, alpha), []).append(run)
    report = Report(
        study="bbr-acd",
        part="alpha",
        title=TITLE,
        setup=(
            "The simulation of bbr-acd/simulation, 30 seeds. The paper's 'retransmitted' are duplicate deliveries.",
            "The published ns-3 code clears its detector before it uses it: the tolerance has no effect there.",
        ),
        tables=(comparison(cases),),
        pictures={},
        judgements=judge(cases),
        provenance=Provenance.of([result], {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report


def comparison(cases: Cases) -> Grid:
    """Table 3 beside ours."""
    theirs = {(n.case["scenario"], n.metric): n.value for n in data.published(PUBLISHED, "alpha")}
    rows: list[list[Cell]] = [
        [
            "published",
            "",
            LABELS[alpha],
            *(theirs[LABELS[alpha], f"total_{metric}"] for metric in ("retransmitted", "throughput", "goodput")),
            None,
        ]
        for alpha in ALPHAS
    ]
    rows += [
        [
            FORMS[form],
            BUFFERS[buffer],
            LABELS[alpha],
            mean(runs, lambda r: r.duplicates),
            mean(runs, lambda r: r.throughput),
            mean(runs, lambda r: r.goodput),
            mean(runs, lambda r: r.drops),
        ]
        for (form, buffer, alpha), runs in cases.items()
    ]
    columns = ("form", "queue", "tolerance", "duplicates", "throughput", "goodput", "drops")
    return Grid("table3", "Table 3 beside ours, packets and Mbit/s", columns, rows, 3)


def judge(cases: Cases) -> list[Judgement]:
    """Puts both claims to each form and queue, seed by seed."""

    def outcomes(holds: Callable[[list[Run]], bool], ours: Callable[[list[list[Run]]], str]) -> list[Outcome]:
        found = []
        for form, name in FORMS.items():
            for buffer, queue in BUFFERS.items():
                by_alpha = [cases[form, buffer, alpha] for alpha in ALPHAS]
                seeds = [list(runs) for runs in zip(*by_alpha, strict=True)]
                found.append(Outcome(f"{name}, queue {queue}", sum(map(holds, seeds)), len(seeds), ours(by_alpha)))
        return found

    falling = outcomes(
        lambda runs: all(a.duplicates > b.duplicates for a, b in pairwise(runs)),
        lambda runs: ", ".join(f"{mean(one, lambda r: r.duplicates):.0f}" for one in runs),
    )
    best = outcomes(
        lambda runs: (
            runs[1].goodput > max(runs[0].goodput, runs[2].goodput)
            and runs[1].throughput > max(runs[0].throughput, runs[2].throughput)
        ),
        lambda runs: "goodput " + ", ".join(f"{mean(one, lambda r: r.goodput):.3f}" for one in runs),
    )
    dead = (
        "In the ns-3 form the three runs of a seed are the same to the packet: Table 3 cannot come from the published "
        "code, and its differences are those of seeds."
    )
    return [Judgement(CLAIMS[0], falling, dead), Judgement(CLAIMS[1], best, dead)]
