"""Table 4: how much of the link four flows use when packets are lost at random."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from dumbbell.papers.model import Claim, Grid, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import total
from dumbbell.papers.testing import mean
from dumbbell.papers.zhang.choices import Choice, Seed, View, seeds
from dumbbell.papers.zhang.measure import Run, Runs, measure
from dumbbell.papers.zhang.names import CODE, FOLDER, ONE_SIZE, OTHERS, PAPER, TIMING
from dumbbell.papers.zhang.tables import beside, labels, published_values

LOSSES = ("0%", "1%", "3%", "5%")
LINKS = {"2": 5.0, "5": 6.0, "7": 7.0, "9": 8.0, "10": 10.0}
"""Mbit/s of each case of table 1."""
CASES = tuple(f"{case}, {loss}" for loss in LOSSES for case in LINKS)
SHORT = tuple(f"{case}, {loss}" for loss in ("0%", "5%") for case in ("2", "9"))
"""Cases that were run under every choice."""
BASE = Choice(CODE, CASES)
STARTUPS = (BASE, Choice(PAPER, SHORT))
WITH_LOSS = tuple(f"{case}, {loss}" for case in LINKS for loss in LOSSES[1:])
"""In the order of the runs, since table4-one-size.toml sweeps the loss anew."""
CONNECTIONS = (BASE, Choice("Reno N = 1", CASES, single=["Reno"]), Choice(ONE_SIZE, WITH_LOSS))
LOSSY = tuple(f"{case}, 5%" for case in LINKS)
ROUNDS = (BASE, *(Choice(name, LOSSY) for name in ("3 events", ONE_SIZE, f"{ONE_SIZE}, 3 events")))
"""How many ACKs with losses make a round of BBRv2 too lossy, and the sizes of the packets."""
STEADY = ("BBR", "BBR'", "BBRPlus")
TABLE = (*STEADY, *OTHERS)
"""Algorithms of the published table."""
WITHIN = 0.03
"""How near a utilisation must be to the published one to agree."""
THEIRS = published_values("table4", "utilization")
AXES = ("path.loss", "path.rate", "path.rtt", "path.buffer")


def utilisation(run: Run) -> float:
    """Received UDP payload over what the link of a case such as ``2, 5%`` carries."""
    return total(run) / LINKS[run.case.partition(",")[0]]


def at(choice: Choice, loss: str) -> list[str]:
    """The cases with this loss."""
    return [case for case in choice.cases if case.endswith(f" {loss}")]


def lowest(algorithms: Sequence[str], loss: str) -> Callable[[View], str]:
    """The range over algorithms and links."""
    return lambda view: view.range(algorithms, at(view.choice, loss), utilisation, 3)


def listed(view: View, *cells: tuple[str, str]) -> str:
    """Some cells."""
    return "; ".join(f"{view.mean(*cell, utilisation):.2f}" for cell in cells)


def all_of(algorithms: Sequence[str], loss: str, low: float, high: float = math.inf) -> Callable[[Seed], bool]:
    """Whether algorithms use so much of every link."""
    return lambda seed: all(
        low <= utilisation(seed[name, case]) <= high for name in algorithms for case in at(seed.view.choice, loss)
    )


def near(margin: float, *cells: tuple[str, str]) -> Callable[[Seed], bool]:
    """Whether some cells are near the published ones."""
    return lambda seed: all(abs(utilisation(seed[cell]) - THEIRS[cell]) <= margin for cell in cells)


def agreement(runs: Runs) -> Grid:
    """In how many cells the mean utilisation lies near the published one, under each choice."""

    def differences(label: str, algorithm: str) -> list[float]:
        cases = [case for case in CASES if (label, case) in runs]
        return [mean(runs[label, case], utilisation) - THEIRS[algorithm, case] for case in cases]

    rows = (((algorithm, choice), differences(label, algorithm)) for label, (algorithm, choice) in labels(runs).items())
    columns: Mapping[str, Callable[[list[float]], str | float]] = {
        "cells within 0.03": lambda found: f"{sum(abs(one) <= WITHIN for one in found)} of {len(found)}",
        "least difference": min,
        "largest difference": max,
    }
    return table("agreement", "Our utilisation less the published one", ["algorithm", "choice"], rows, columns, 3)


def tables(runs: Runs) -> list[Grid]:
    """The published table, loss by loss, beside ours."""
    grids = [
        beside(
            f"table4-{loss.rstrip('%')}",
            f"Table 4, {loss} loss: utilisation by case of table 1",
            View(runs, BASE),
            at(BASE, loss),
            utilisation,
            THEIRS,
            algorithms=TABLE,
            difference=True,
            digits=3,
        )
        for loss in LOSSES
    ]
    return [*grids, agreement(runs)]


LONG = (("BBRv2", "7, 5%"), ("BBRv2", "9, 5%"))
BRIEF = (("BBRv2", "2, 5%"), ("BBRv2", "5, 5%"), ("BBRv2", "10, 5%"))
ONE_PERCENT = (("Cubic", "7, 1%"), ("Cubic", "9, 1%"), ("Reno", "7, 1%"), ("Reno", "9, 1%"))
THREE = ("7", "9", "10")
HARD = tuple(f"{case}, {loss}" for case in THREE for loss in ("3%", "5%"))

CLAIMS: list[Claim[Runs]] = [
    Claim("zha-30", "Without random loss all algorithms use more than 90 % of the link.", "0.94 to 0.97",
          seeds(STARTUPS, all_of(TABLE, "0%", 0.9), lowest(TABLE, "0%"))),
    Claim("zha-31",
          "Without random loss BBRv2, Cubic and Reno use 0.97, BBR, BBR' and BBRPlus 0.94 to 0.95 (both within 0.015).",
          "0.96 to 0.97; 0.94 to 0.95",
          seeds(STARTUPS,
                lambda seed: all_of(OTHERS, "0%", 0.955, 0.985)(seed) and all_of(STEADY, "0%", 0.925, 0.965)(seed),
                lambda view: f"{lowest(OTHERS, '0%')(view)}; {lowest(STEADY, '0%')(view)}")),
    Claim("zha-32", "From 0 to 5 % loss BBR, BBR' and BBRPlus lose at most 6 points.", "0.04 to 0.06",
          seeds(STARTUPS,
                lambda seed: all(utilisation(seed[name, clean]) - utilisation(seed[name, lossy]) <= 0.065
                                 for clean, lossy in zip(*(at(seed.view.choice, loss) for loss in ("0%", "5%")),
                                                         strict=True) for name in STEADY),
                lambda view: f"{lowest(STEADY, '0%')(view)} without loss, {lowest(STEADY, '5%')(view)} with 5 %")),
    Claim("zha-33", "With 5 % loss BBR, BBR' and BBRPlus keep at least 0.88.", "0.88 to 0.91",
          seeds(STARTUPS, all_of(STEADY, "5%", 0.88), lowest(STEADY, "5%"))),
    Claim("zha-34", "With 5 % loss BBRv2 drops to 0.62 in case 7 and 0.51 in case 9 (within 0.1).", "0.62; 0.51",
          seeds(ROUNDS, near(0.1, *LONG), lambda view: listed(view, *LONG)),
          cause="How many ACKs with losses make a round too lossy decides, and how large packets are; that increments "
          "are of 1460 bytes does not."),
    Claim("zha-35", "With 5 % loss BBRv2 keeps 0.91 in cases 2 and 5 and 0.81 in case 10 (within 0.05).",
          "0.91; 0.91; 0.81", seeds(ROUNDS, near(0.05, *BRIEF), lambda view: listed(view, *BRIEF)),
          cause="As zha-34."),
    Claim("zha-36", "With 3 and 5 % loss Cubic and Reno use less than BBRv2 in cases 7, 9 and 10.",
          "0.25 to 0.64 against 0.51 to 0.92",
          seeds(CONNECTIONS,
                lambda seed: all(max(seed.over(("Cubic", "Reno"), case, utilisation)) < utilisation(seed["BBRv2", case])
                                 for case in HARD),
                lambda view: "; ".join(f"{name} {listed(view, *((name, f'{case}, 5%') for case in THREE))}"
                                       for name in ("Cubic", "Reno", "BBRv2")))),
    Claim("zha-37",
          "With 1 % loss Cubic falls to 0.70 (case 7) and 0.62 (case 9), Reno to 0.85 and 0.75 (all within 0.1).",
          "0.70; 0.62; 0.85; 0.75",
          seeds(CONNECTIONS, near(0.1, *ONE_PERCENT), lambda view: listed(view, *ONE_PERCENT)),
          cause="Linux's Cubic, beside it, counts packets; QUIC's own counts bytes in units of 1460."),
]  # fmt: skip

PART = Part(
    "table4",
    "Four flows of one algorithm, random loss 0 to 5 %, five cases",
    [Experiment(FOLDER / f"{name}.toml") for name in ("table4", "table4-choices", "table4-losses", "table4-one-size")],
    quick="10s",
    measure=lambda main, choices, losses, one_size: (
        measure(main, AXES, CASES)
        | measure(choices, AXES, SHORT)
        | measure(losses, AXES, LOSSY)
        | measure(one_size, AXES, WITH_LOSS)
    ),
    setup=[
        "The link of table 1 with a queue of 1.5 BDP in cases 2, 5, 7, 9, 10; four flows for 400 s; independent loss "
        "behind the link, data direction only.",
        TIMING,
        "Utilisation is received UDP payload over capacity; without loss at most 0.971.",
    ],
    tables=tables,
    claims=CLAIMS,
    decides=lambda choice: choice == CODE,
)
