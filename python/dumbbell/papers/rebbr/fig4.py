"""Figure 4: CUBIC and BBR over round-trip times from 2 to 500 ms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dumbbell.papers.model import Cell, Claim, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.rebbr.curves import (
    CUBIC,
    FACTOR,
    FOLDER,
    PUBLISHED_AS,
    RUNS,
    UNPACED,
    WINDOW_16,
    Cases,
    agreement,
    by_case,
    by_loss,
    comparison,
    is_as_studied,
    mean,
    of_authors,
    percent,
    public,
    published_curves,
    quotient,
    round_trip,
)
from dumbbell.papers.rebbr.fig3 import Seed, seeds
from dumbbell.papers.testing import each, near, spread

LONGEST = "500 ms"
"""The round-trip time at which the study's rates are furthest below those of a sender that loses nothing itself."""


@dataclass(frozen=True)
class Figure:
    """The curves of each round-trip time, and those of a sender whose device holds whatever it sends."""

    cases: Cases
    endless: Cases

    def seeds(self) -> dict[str, list[Seed]]:
        """BBR beside CUBIC, seed by seed."""
        return seeds(self.cases)

    def longest(self) -> dict[str, list[Seed]]:
        """BBR beside CUBIC, also with an endless queue of the sender's device at the longest round-trip times."""
        return self.seeds() | {"unpaced, endless device queue": seeds(self.endless)["unpaced"]}


def devices(figure: Figure) -> Grid:
    """What the queue of the sender's device takes."""
    theirs = {case: published_curves("fig4", case) for case in figure.endless}

    def columns(label: str) -> dict[str, Callable[[tuple[str, float]], Cell]]:
        return {
            f"{label}: published": lambda at: theirs[at[0]][PUBLISHED_AS[label]].get(at[1]),
            f"{label}: 500 packets": lambda at: mean(figure.cases[at[0]][label], at[1]),
            f"{label}: endless": lambda at: mean(figure.endless[at[0]][label], at[1]),
        }

    rows = (([case, *head], (case, loss)) for case, of in figure.endless.items() for head, loss in by_loss(of))
    title = "Link egress in Mbit/s by the queue of the sender's device"
    return table("device", title, ["RTT", "loss %"], rows, columns(UNPACED) | columns(CUBIC))


def device_explains(figure: Figure) -> str:
    """What the queue of the sender's device does at the longest round-trip time, in words."""
    found = ", ".join(
        f"{label} {mean(figure.cases[LONGEST][label], 1e-5):.1f} and {mean(of, 1e-5):.1f}"
        for label, of in figure.endless[LONGEST].items()
    )
    return (
        "A TUN device holds 500 packets; what a window lets out at once besides is lost before the link. With that "
        f"queue and with an endless one ours have (Mbit/s): {found}."
    )


def rates(seed: Seed, which: int, loss: float) -> list[float]:
    """Link egress of BBR (0) or CUBIC (1) at a loss, from the shortest round-trip time to the longest."""
    return [run.egress[loss] for run in seed[which].values()]


def falls(found: list[float]) -> bool:
    """With the round-trip time."""
    return all(before > after for before, after in pairwise(found))


def cubic_as_published(seed: Seed) -> bool:
    """CUBIC falls with the round-trip time and is near the published rates at 2 and 100 ms."""
    short, _, middle, *_ = found = rates(seed, 1, 0.01)
    return falls(found) and all(1 / FACTOR <= rate / of <= FACTOR for rate, of in ((short, 25.22), (middle, 1.42)))


def least_lead(seed: Seed) -> float:
    """Least quotient of BBR and CUBIC over all round-trip times from 0.1 to 40 % loss."""
    bbr, cubic = seed
    return min(
        quotient(rate, cubic[case].egress[loss])
        for case, run in bbr.items()
        for loss, rate in run.egress.items()
        if 0.001 <= loss <= 0.4
    )


def equality(seed: Seed) -> float:
    """BBR over CUBIC at 500 ms and 0.001 %."""
    return quotient(*(of[LONGEST].egress[1e-5] for of in seed))


def courses(which: int, loss: float) -> Callable[[Sequence[Seed]], str]:
    """The rates over the round-trip times, in words."""
    return lambda of: (
        ", ".join(spread(values, 1) for values in zip(*(rates(seed, which, loss) for seed in of), strict=True))
        + f" Mbit/s at {percent(loss)} %"
    )


def pictures(figure: Figure) -> Pictures:
    """The figure."""
    from dumbbell.papers.rebbr import figures

    title = "ReBBR figure 4: 100 Mbit/s, 120 s, and the round-trip time"
    return {"fig4": figures.by_case(figure.cases, "fig4", title, share=False)}


def theirs(before: str) -> Figure:
    """A run of the authors, whose device was always the same."""
    cases = {case: of_authors(f"{before}fig4", case) for case in ("2 ms", "10 ms", "100 ms", "200 ms", LONGEST)}
    return Figure(cases, cases)


CLAIMS: list[Claim[Figure]] = [
    Claim("reb-14", "CUBIC stands more loss where the round-trip time is short: at 1 % about 25 Mbit/s at 2 ms and "
          "1 Mbit/s at 100 ms (within a factor of 1.6 of what was measured).",
          "25.2, 9.7, 1.4, 0.8, 0.6 Mbit/s at 2, 10, 100, 200, 500 ms",
          each(Figure.seeds, cubic_as_published, courses(1, 0.01))),
    Claim("reb-15", "At 2 ms and 1 % loss BBR has about 98 Mbit/s (within a tenth).", "98.19 Mbit/s",
          each(Figure.seeds, lambda seed: near(rates(seed, 0, 0.01)[0], 98.19, 0.1), courses(0, 0.01))),
    Claim("reb-16", "At every round-trip time BBR is faster than CUBIC from 0.1 to 40 % loss.", "in all 50 points",
          each(Figure.seeds, lambda seed: least_lead(seed) > 1,
               lambda of: f"lowest BBR/CUBIC {spread(map(least_lead, of))}")),
    Claim("reb-17", "BBR's average falls with the round-trip time.",
          "98.3, 98.2, 95.5, 90.2, 52.5 Mbit/s at 0.001 %",
          each(Figure.seeds, lambda seed: falls(rates(seed, 0, 1e-5)), courses(0, 1e-5))),
    Claim("reb-18", "At 500 ms and 0.001 % loss BBR and CUBIC are about equal (within a tenth).",
          "52.49 and 53.94 Mbit/s",
          each(Figure.longest, lambda seed: 0.9 <= equality(seed) <= 1.1,
               lambda of: f"BBR/CUBIC {spread(map(equality, of))}"),
          note=device_explains),
]  # fmt: skip

PART = Part(
    "fig4",
    "Round-trip times from 2 to 500 ms, 100 Mbit/s, random loss 0.001 % to 50 %",
    [Experiment(FOLDER / f"{name}.toml") for name in ("fig4", "fig4-paced", "fig4-device")],
    quick="2s",
    measure=lambda ran, paced, endless: Figure(
        by_case([*ran.runs, *paced.runs], round_trip), by_case(endless.runs, round_trip)
    ),
    setup=["As rebbr/fig1, for 120 s, over five round-trip times."],
    tables=lambda figure: [
        comparison(figure.cases, "fig4", "Link egress and goodput in Mbit/s by round-trip time", "RTT"),
        agreement(figure.cases, "fig4", "RTT"),
        devices(figure),
    ],
    claims=CLAIMS,
    decides=is_as_studied,
    pictures=pictures,
    # At 500 ms a window of 6.25 MiB is a BDP, and one of 16 MiB another set-up.
    authors=public(theirs, {WINDOW_16: RUNS[WINDOW_16]}),
)
