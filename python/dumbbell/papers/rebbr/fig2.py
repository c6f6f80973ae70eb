"""Figure 2: BBR beside the other algorithms of Linux, with random loss from 0.001 % to 50 %."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from dumbbell.papers.model import Cell, Claim, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.rebbr.curves import (
    CUBIC,
    FOLDER,
    PACINGS,
    PUBLISHED_AS,
    UNPACED,
    WIRE,
    Figure,
    Run,
    by_loss,
    is_as_studied,
    losses,
    mean,
    mean_goodput,
    measure,
    of_authors,
    percent,
    public,
    published_curves,
    quotient,
)
from dumbbell.papers.testing import each, near, spread

OTHERS = {CUBIC: "cubic", "BIC": "bic", "Westwood": "westwood", "Reno": "reno", "Vegas": "vegas"}
"""Labels in the experiment file of what BBR is compared with, and the names in the published data."""
NAMES = PUBLISHED_AS | OTHERS

Seed = dict[str, Run]
"""The runs with one seed: BBR and the others by label."""


def seeds(figure: Figure) -> dict[str, list[Seed]]:
    """BBR unpaced and paced, each beside the others with the same seed."""
    return {
        name: [
            {"BBR": bbr, **{other: figure.curves[other][seed] for other in OTHERS}}
            for seed, bbr in enumerate(figure.curves[label])
        ]
        for name, label in PACINGS.items()
    }


def rates(figure: Figure) -> Grid:
    """Link egress of each algorithm beside the published one."""
    published = published_curves("fig2")
    columns: dict[str, Callable[[float], Cell]] = {}
    for label, runs in figure.curves.items():
        columns[f"{label}: egress"] = partial(mean, runs)
        columns[f"{label}: published"] = published[NAMES[label]].get
    return table("egress", "Link egress in Mbit/s beside the published", ["loss %"], by_loss(figure.curves), columns)


def received(figure: Figure) -> Grid:
    """Goodput of each algorithm."""
    columns = {label: partial(mean_goodput, runs) for label, runs in figure.curves.items()}
    return table("goodput", "Receiver goodput in Mbit/s", ["loss %"], by_loss(figure.curves), columns)


def pictures(figure: Figure) -> Pictures:
    """The figure."""
    from dumbbell.papers.rebbr import figures

    return {"fig2": figures.algorithms(figure.curves, NAMES, 100 * WIRE, "ReBBR figure 2: 100 Mbit/s, 100 ms, 30 s")}


# --- claims ----------------------------------------------------------------------------------------------------------


def ranking(seed: Seed, loss: float) -> list[str]:
    """Algorithms by link egress at a loss, the fastest first."""
    return sorted(seed, key=lambda name: -seed[name].egress[loss])


def least_lead(seed: Seed) -> float:
    """BBR over the best of the others, at the loss where that is least, from 0.01 % on."""
    bbr, *others = seed.values()
    return min(
        quotient(rate, max(other.egress[loss] for other in others))
        for loss, rate in bbr.egress.items()
        if loss >= 0.0001
    )


def runners_up(seed: Seed) -> bool:
    """BIC and Westwood are second and third from 0.01 to 2 %."""
    return all(set(ranking(seed, loss)[1:3]) == {"BIC", "Westwood"} for loss in (0.0001, 0.001, 0.01, 0.02))


def near_nothing(seed: Seed) -> bool:
    """The published order at 0.001 %, with Westwood within a twentieth of BBR."""
    at = {name: run.egress[1e-5] for name, run in seed.items()}
    ahead = min(at[CUBIC], at["BIC"]) > at["BBR"] > max(at["Reno"], at["Vegas"])
    return ahead and near(at["Westwood"], at["BBR"], 0.05)


def at_one_in_ten_thousand(figure: Figure) -> str:
    """How far single runs are apart where few packets are lost, in words."""
    theirs = published_curves("fig2")
    labels = ("BIC", "Westwood", CUBIC)
    at = {label: spread((run.egress[0.0001] for run in figure.curves[label]), 1) for label in labels}
    found = ", ".join(f"{label} {words} ({theirs[NAMES[label]][0.0001]:.1f})" for label, words in at.items())
    rates = {label: [mean(runs, loss) for loss in losses(figure.curves)] for label, runs in figure.curves.items()}
    best = zip(*(rates[label] for label in OTHERS), strict=True)
    first = [bbr > max(others) for bbr, others in zip(rates[UNPACED], best, strict=True)]
    behind = ", ".join(
        percent(loss) for loss, is_first in zip(losses(figure.curves), first, strict=True) if not is_first
    )
    return (
        f"Ours and the published rates (in parentheses) at 0.01 % loss in Mbit/s: {found}. The mean of BBR is not the "
        f"highest at {behind} %."
    )


def order_in_words(at: Sequence[float]) -> Callable[[Sequence[Seed]], str]:
    """Mean rates at some losses, the fastest first."""

    def words(of: Sequence[Seed]) -> str:
        texts = []
        for loss in at:
            rates = {name: mean([seed[name] for seed in of], loss) for name in of[0]}
            ordered = sorted(rates, key=lambda name: -rates[name])
            texts.append(f"{percent(loss)} %: " + " > ".join(f"{name} {rates[name]:.1f}" for name in ordered))
        return "; ".join(texts)

    return words


CLAIMS: list[Claim[Figure]] = [
    Claim("reb-08", "From 0.01 % loss on BBR is faster than BIC, CUBIC, Reno, Vegas and Westwood.",
          "highest at every loss from 0.01 to 50 %",
          each(seeds, lambda seed: least_lead(seed) > 1,
               lambda of: f"lowest quotient to the best other {spread(map(least_lead, of))}"),
          cause=at_one_in_ten_thousand),
    Claim("reb-09", "BIC and Westwood are second and third from 0.01 to 2 % loss.",
          "76 and 70, 14.1 and 14.1, 2.5 and 1.9, 1.9 and 1.3 Mbit/s",
          each(seeds, runners_up, order_in_words((0.0001, 0.001, 0.01, 0.02))), cause="As reb-08."),
    Claim("reb-10", "At 0.001 % loss CUBIC and BIC are faster than BBR, Westwood is about as fast (within 5 %), Reno "
          "and Vegas are slower.", "97.45, 97.12 > 94.93; 94.03; 88.73; 79.51 Mbit/s",
          each(seeds, near_nothing, order_in_words((1e-5,))),
          cause="A run of 30 s loses two or three packets, and when decides."),
]  # fmt: skip

PART = Part(
    "fig2",
    "Six algorithms over 100 Mbit/s and 100 ms, random loss 0.001 % to 50 %",
    [Experiment(FOLDER / "fig2.toml")],
    quick="2s",
    measure=lambda ran: Figure(measure(ran.runs)),
    setup=["As rebbr/fig1, for 30 s. The others are those of Linux 6.18."],
    tables=lambda figure: [rates(figure), received(figure)],
    claims=CLAIMS,
    decides=is_as_studied,
    pictures=pictures,
    authors=public(
        lambda before: Figure(of_authors(f"{before}fig2", names=NAMES)), {"28 May 2017, default windows": "may28/"}
    ),
)
