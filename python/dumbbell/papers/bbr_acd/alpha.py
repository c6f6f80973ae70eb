"""Table 3: the tolerance within which two round-trip times are alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from dumbbell.papers.bbr_acd.forms import FOLDER, FORMS, published_values
from dumbbell.papers.bbr_acd.simulation import BUFFERS, Run, measure
from dumbbell.papers.model import Cell, Claim, Grid, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.testing import average, each, mean

ALPHAS = {"500us": "500us", "1ms": "1000us", "1500us": "1500us"}
"""In the experiment file and in the published numbers."""

Cases = dict[tuple[str, ...], list[Run]]
"""The runs of each form, queue and tolerance, a run for each seed."""


def measured(ran: Ran) -> Cases:
    """By form, queue and tolerance."""
    return ran.by("flows[0].cc.name", "path.buffer", "flows[0].cc.acd_tolerance")


def comparison(cases: Cases) -> Grid:
    """Table 3 beside ours."""
    theirs = published_values("alpha")
    columns: dict[str, Callable[[Sequence[Run]], Cell]] = {
        "duplicates": average(lambda run: run.duplicates),
        "throughput": average(lambda run: run.throughput),
        "goodput": average(lambda run: run.goodput),
        "drops": average(lambda run: run.drops),
    }
    ours = table(
        "table3",
        "Table 3 beside ours, packets and Mbit/s",
        ("form", "queue", "tolerance"),
        (((FORMS[form], BUFFERS[buffer], ALPHAS[alpha]), runs) for (form, buffer, alpha), runs in cases.items()),
        columns,
        3,
    )
    metrics = ("total_retransmitted", "total_throughput", "total_goodput")
    published: list[list[Cell]] = [
        ["published", "", alpha, *(theirs[alpha, "bbr-acd", metric] for metric in metrics), None]
        for alpha in ALPHAS.values()
    ]
    return Grid(ours.name, ours.title, ours.columns, [*published, *ours.rows], 3)


def tolerances(cases: Cases) -> dict[str, list[tuple[Run, ...]]]:
    """Runs of the three tolerances with the same seed, by form and queue."""
    return {
        f"{name}, queue {queue}": list(zip(*(cases[form, buffer, alpha] for alpha in ALPHAS), strict=True))
        for form, name in FORMS.items()
        for buffer, queue in BUFFERS.items()
    }


def means(value: Callable[[Run], float], digits: int) -> Callable[[Sequence[tuple[Run, ...]]], str]:
    """Means over seeds of the three tolerances."""
    return lambda seeds: ", ".join(f"{mean(runs, value):.{digits}f}" for runs in zip(*seeds, strict=True))


def middle_is_best(seed: tuple[Run, ...]) -> bool:
    """The second tolerance has the highest throughput and goodput."""
    low, middle, high = seed
    return middle.goodput > max(low.goodput, high.goodput) and middle.throughput > max(low.throughput, high.throughput)


def same(cases: Cases) -> str:
    """What the tolerance changes in the ns-3 form, in words."""
    seeds = [seed for choice, of in tolerances(cases).items() if choice.startswith("ns3") for seed in of]
    alike = sum(all(run == seed[0] for run in seed) for seed in seeds)
    return (
        f"In the ns-3 form the three runs of a seed are the same to the packet in {alike} of {len(seeds)} seeds: Table "
        "3 cannot come from the published code, and its differences are those of seeds."
    )


# fmt: off
CLAIMS = [
    Claim("acd-24", "Retransmissions fall as the tolerance grows.", "4523 > 2311 > 1568",
          each(tolerances, lambda seed: all(a.duplicates > b.duplicates for a, b in pairwise(seed)),
               means(lambda run: run.duplicates, 0)), same),
    Claim("acd-25", "1000 us gives the highest throughput and goodput.", "0.895 and 0.863 Mbit/s",
          each(tolerances, middle_is_best, lambda seeds: f"goodput {means(lambda run: run.goodput, 3)(seeds)}"), same),
]
# fmt: on

PART = Part(
    "alpha",
    "Tolerance of BBR-ACD's detector: 500, 1000 and 1500 microseconds",
    [Experiment(FOLDER / "alpha.toml", keep=measure)],
    quick="10s",
    measure=measured,
    setup=[
        "The simulation of bbr-acd/simulation, 30 seeds. The paper's 'retransmitted' are duplicate deliveries.",
        "The published ns-3 code clears its detector before it uses it: the tolerance has no effect there.",
    ],
    tables=lambda cases: [comparison(cases)],
    claims=CLAIMS,
    decides=lambda choice: choice == f"{FORMS['bbr-acd-ns3']}, queue {BUFFERS['127packets']}",
)
