"""Figure 3: CUBIC and BBR over links from 10 kbit/s to 100 Mbit/s."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

from dumbbell.papers.model import Claim, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.rebbr.curves import (
    CUBIC,
    FOLDER,
    PACINGS,
    UNPACED,
    WIRE,
    Cases,
    Run,
    agreement,
    by_case,
    comparison,
    is_as_studied,
    mean,
    of_authors,
    percent,
    public,
    quotient,
)
from dumbbell.papers.runs import Run as Point
from dumbbell.papers.testing import each, spread

Seed = tuple[dict[str, Run], dict[str, Run]]
"""BBR and CUBIC with one seed, each by rate."""


def offered(run: Point) -> float:
    """The rate of the link's opportunities in Mbit/s, 1500 bytes each."""
    milliseconds: list[int] = json.loads(run.settings["links[1].trace"] or "")
    return 12.0 * len(milliseconds) / max(milliseconds)


def rate(run: Point) -> str:
    """The link's rate, in words."""
    return f"{offered(run):g} Mbit/s"


def carried(run: Point) -> float:
    """What the link can carry in Mbit/s, as Mahimahi counts it."""
    return offered(run) * WIRE


def seeds(cases: Cases) -> dict[str, list[Seed]]:
    """BBR unpaced and paced, as far as it was run so, each beside CUBIC with the same seed."""

    def at(label: str, seed: int) -> dict[str, Run]:
        return {case: curves[label][seed] for case, curves in cases.items()}

    first = next(iter(cases.values()))
    return {
        name: [(at(label, seed), at(CUBIC, seed)) for seed in range(len(first[label]))]
        for name, label in PACINGS.items()
        if label in first
    }


def advantages(seed: Seed) -> list[float]:
    """BBR over CUBIC at 1 % loss, from the slowest link to the fastest."""
    bbr, cubic = seed
    return [quotient(run.egress[0.01], cubic[case].egress[0.01]) for case, run in bbr.items()]


def advantage_grows(seed: Seed) -> bool:
    """With the rate; on the slow links, where both fill them, it is the same within 5 %."""
    found = advantages(seed)
    return all(after > 0.95 * before for before, after in pairwise(found)) and found[-1] > found[-2] > found[-3]


def alike(seed: Seed) -> bool:
    """At 10 kbit/s both have the rate of the link, in hundredths of a Mbit/s as the study printed it."""
    return all(
        round(run.egress[loss], 2) == 0.01 for run in (of["0.01 Mbit/s"] for of in seed) for loss in run.egress
        if loss <= 0.4
    )  # fmt: skip


def at_10_mbps(seed: Seed) -> float:
    """BBR's least share of 10 Mbit/s up to 40 % loss."""
    return seed[0]["10 Mbit/s"].used(0.4)


def slowest_rates(of: Sequence[Seed]) -> str:
    """The range of each algorithm at 10 kbit/s."""
    texts = []
    for name, runs in zip(("BBR", "CUBIC"), zip(*of, strict=True), strict=True):
        rates = [rate for run in runs for loss, rate in run["0.01 Mbit/s"].egress.items() if loss <= 0.4]
        texts.append(f"{name} {spread(rates, 4)}")
    return ", ".join(texts) + " Mbit/s"


def slow_start_at_40_percent(cases: Cases) -> str:
    """Where the share is lowest, in words."""
    runs = cases["10 Mbit/s"][UNPACED]
    found = ", ".join(f"{mean(runs, loss) / runs[0].capacity:.2f} at {percent(loss)} %" for loss in (0.3, 0.4))
    return f"Mean shares: {found}. Runs of 120 s (rebbr/fig4) are nearer to the study's at 40 %."


def pictures(cases: Cases) -> Pictures:
    """The figure."""
    from dumbbell.papers.rebbr import figures

    title = "ReBBR figure 3: 100 ms, 30 s, and the rate of the link"
    return {"fig3": figures.by_case(cases, "fig3", title, share=True)}


def theirs(before: str) -> Cases:
    """A run of the authors, by rate."""
    return {
        f"{rate:g} Mbit/s": of_authors(f"{before}fig3", f"{rate:g} Mbit/s", rate * WIRE)
        for rate in (0.01, 0.1, 1, 10, 100)
    }


CLAIMS: list[Claim[Cases]] = [
    Claim("reb-11", "BBR's advantage shrinks as the link gets slower (at 1 % loss; where both fill it, alike within "
          "5 %).",
          "BBR/CUBIC 58, 7.8, 1.03, 1.0, 1.0 at 100, 10, 1, 0.1, 0.01 Mbit/s",
          each(seeds, advantage_grows,
               lambda of: "BBR/CUBIC " + ", ".join(spread(values) for values in zip(*map(advantages, of), strict=True))
               + " from 0.01 to 100 Mbit/s")),
    Claim("reb-12", "At 10 kbit/s BBR and CUBIC are alike: 0.01 Mbit/s at every loss up to 40 %.", "0.01 Mbit/s",
          each(seeds, alike, slowest_rates),
          cause="25 packets leave such a link in 30 s; where the first ones are lost, timeouts decide."),
    Claim("reb-13", "At 10 Mbit/s BBR uses at least 92 % of the link up to 40 % loss.", "lowest 0.929",
          each(seeds, lambda seed: at_10_mbps(seed) >= 0.92, lambda of: f"lowest {spread(map(at_10_mbps, of), 3)}"),
          cause=slow_start_at_40_percent),
]  # fmt: skip

PART = Part(
    "fig3",
    "Rates from 10 kbit/s to 100 Mbit/s, 100 ms, random loss 0.001 % to 50 %",
    [Experiment(FOLDER / "fig3.toml")],
    quick="2s",
    measure=lambda ran: by_case(ran.runs, rate, carried),
    setup=[
        "As rebbr/fig1, for 30 s, over five rates, whose opportunities the study's generator rounds to milliseconds."
    ],
    tables=lambda cases: [
        comparison(cases, "fig3", "Link egress and goodput in Mbit/s by rate", "link", 3),
        agreement(cases, "fig3", "link"),
    ],
    claims=CLAIMS,
    decides=is_as_studied,
    pictures=pictures,
    authors=public(theirs),
)
