"""Table 3: the tolerance within which two round-trip times are alike."""

from __future__ import annotations

from itertools import pairwise

from dumbbell.papers.bbr_acd.forms import FOLDER, FORMS, published_values
from dumbbell.papers.bbr_acd.simulation import BUFFERS, MEASURES, columns, goodput, throughput
from dumbbell.papers.model import Cell, Claim, Grid, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Cases, Run, duplicates, together
from dumbbell.papers.testing import averaged, both, each

ALPHAS = {"500us": "500us", "1ms": "1000us", "1500us": "1500us"}
"""In the experiment file and in the published numbers."""


def comparison(cases: Cases) -> Grid:
    """Table 3 beside ours."""
    theirs = published_values("alpha")
    metrics = ("total_retransmitted", "total_throughput", "total_goodput")
    published: list[list[Cell]] = [
        ["published", "", alpha, *(theirs[alpha, "bbr-acd", metric] for metric in metrics), None]
        for alpha in ALPHAS.values()
    ]
    rows = (((FORMS[form], BUFFERS[buffer], ALPHAS[alpha]), runs) for (form, buffer, alpha), runs in cases.items())
    shown = columns("duplicates", "throughput", "goodput", "drops")
    title = "Table 3 beside ours, packets and Mbit/s"
    return table("table3", title, ("form", "queue", "tolerance"), rows, shown, 3, published)


tolerances = together(
    {
        f"{name}, queue {queue}": [(form, buffer, alpha) for alpha in ALPHAS]
        for form, name in FORMS.items()
        for buffer, queue in BUFFERS.items()
    }
)
"""Runs of the three tolerances with the same seed, by form and queue."""


def middle_is_best(seed: tuple[Run, ...]) -> bool:
    """The second tolerance has the highest throughput and goodput."""
    return all(value(seed[1]) > max(value(seed[0]), value(seed[2])) for value in (goodput, throughput))


def same(cases: Cases) -> str:
    """What the tolerance changes in the ns-3 form, in words."""
    seeds = [seed for choice, of in tolerances(cases).items() if choice.startswith("ns3") for seed in of]
    alike = sum(all(len({value(run) for run in seed}) == 1 for value in MEASURES.values()) for seed in seeds)
    return (
        f"In the ns-3 form the three runs of a seed are the same to the packet in {alike} of {len(seeds)} seeds: Table "
        "3 cannot come from the published code, and its differences are those of seeds."
    )


CLAIMS = [
    Claim("acd-24", "Retransmissions fall as the tolerance grows.", "4523 > 2311 > 1568",
          each(tolerances, lambda seed: all(duplicates(a) > duplicates(b) for a, b in pairwise(seed)),
               both(averaged(duplicates, 0), "{}, {}, {}")), same),
    Claim("acd-25", "1000 us gives the highest throughput and goodput.", "0.895 and 0.863 Mbit/s",
          each(tolerances, middle_is_best, both(averaged(goodput, 3), "goodput {}, {}, {}")), same),
]  # fmt: skip

PART = Part(
    "alpha",
    "Tolerance of BBR-ACD's detector: 500, 1000 and 1500 microseconds",
    [Experiment(FOLDER / "alpha.toml")],
    quick="10s",
    measure=lambda ran: ran.by("flows[0].cc.name", "path.buffer", "flows[0].cc.acd_tolerance"),
    setup=[
        "The simulation of bbr-acd/simulation, 30 seeds. The paper's 'retransmitted' are duplicate deliveries.",
        "The published ns-3 code clears its detector before it uses it: the tolerance has no effect there.",
    ],
    tables=lambda cases: [comparison(cases)],
    claims=CLAIMS,
    decides=lambda choice: choice == f"{FORMS['bbr-acd-ns3']}, queue {BUFFERS['127packets']}",
)
