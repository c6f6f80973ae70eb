"""Throughput against random loss: figure 8 of BBR's first publication with today's versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dumbbell.papers.family.measure import FOLDER, NAMES, Run, Runs, goodput, measure, pairs, percent, values, where
from dumbbell.papers.model import Claim, Grid, Outcome, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.testing import each, mean, spread

if TYPE_CHECKING:
    from dumbbell.plots import Picture


def possible(run: Run) -> float:
    """Goodput over the share of the link that loss leaves."""
    return run.utilisation / (1 - percent(str(run.settings["path.loss"])))


def at(runs: Runs, cc: str, *losses: str) -> Runs:
    """The runs of an algorithm at some losses."""
    return [run for loss in losses for run in where(runs, cc_0=cc, loss=loss)]


def tables(runs: Runs) -> list[Grid]:
    """Goodput, a row a loss rate."""

    def column(cc: str) -> Callable[[str], float]:
        return lambda loss: mean(at(runs, cc, loss), goodput)

    rows = (([loss], loss) for loss in values(runs, "loss"))
    return [table("loss", "Goodput in Mbit/s", ["loss"], rows, {NAMES[cc]: column(cc) for cc in values(runs, "cc_0")})]


def pictures(runs: Runs) -> dict[str, Picture]:
    """Goodput over loss with the ideal line."""
    from dumbbell.papers.family import figures

    losses = values(runs, "loss")
    lines = {cc: [mean(at(runs, cc, loss), goodput) for loss in losses] for cc in values(runs, "cc_0")}
    return {"loss": figures.loss(lines, [100 * percent(loss) for loss in losses], runs[0].capacity)}


# --- claims ----------------------------------------------------------------------------------------------------------

Test = Callable[[Runs], list[Outcome]]


def carried(cc: str, holds: Callable[[float], bool], *losses: str, most: float = 0.0) -> Test:
    """What an algorithm carries of the possible at some losses, or at all up to one."""

    def some(runs: Runs) -> dict[str, Runs]:
        small = [loss for loss in values(runs, "loss") if percent(loss) <= most]
        return {NAMES[cc]: at(runs, cc, *losses, *small)}

    return each(some, lambda run: holds(possible(run)), lambda runs: f"{spread(map(possible, runs))} of the possible")


def stalls(run: Run) -> bool:
    """Below 10 Mbit/s at 0.1 %, below 1.5 above 1 %."""
    return goodput(run) < (10 if run.settings["path.loss"] == "0.1%" else 1.5)


def cubic(runs: Runs) -> dict[str, Runs]:
    """CUBIC at 0.1 % and above 1 %."""
    return {"CUBIC": at(runs, "cubic", "0.1%", "2%", "3%", "5%")}


def first_seeds(runs: Sequence[Run]) -> str:
    """Goodput of the first seed at each loss."""
    return ", ".join(f"{run.rates[0]:.2f}" for run in runs[::3]) + " Mbit/s"


def beside_cubic(runs: Runs) -> dict[str, list[tuple[Run, Run]]]:
    """Version 2 and 3 and CUBIC at 3 %."""
    return {NAMES[cc]: pairs(at(runs, cc, "3%"), at(runs, "cubic", "3%")) for cc in ("bbr2", "bbr3")}


def both_rates(found: Sequence[tuple[Run, Run]]) -> str:
    """The ranges of a version and of CUBIC."""
    ours, theirs = ([pair[which].rates[0] for pair in found] for which in range(2))
    return f"{spread(ours, 1)} against {spread(theirs, 1)} Mbit/s"


# fmt: off
CLAIMS = [
    Claim("fam-24", "Up to 5 % loss version 1 carries close to what is possible (here: 90 % of (1 - p) of the link).",
          "close to the maximum up to 5 % (ACM Queue, figure 8)",
          carried("bbr", lambda share: share >= 0.9, most=0.05)),
    Claim("fam-25", "At 10 and 15 % it still does (here: 75 %).",
          "close to it up to 15 % (ACM Queue, figure 8)",
          carried("bbr", lambda share: share >= 0.75, "10%", "15%")),
    Claim("fam-26",
          "Its throughput falls sharply where the loss reaches what a gain of 1.25 can outweigh, at 20 % (here: less "
          "than a quarter of the possible).",
          "as the loss rate approaches the peak gain (ACM Queue, figure 8); 1 - 1/1.25 = 20 %",
          carried("bbr", lambda share: share < 0.25, "20%", "25%", "30%")),
    Claim("fam-27",
          "CUBIC's throughput falls tenfold at 0.1 % (here: below 10 Mbit/s) and stalls above 1 % (below 1.5 Mbit/s).",
          "10 times at 0.1 %, stalls above 1 % (ACM Queue, figure 8)", each(cubic, stalls, first_seeds)),
    Claim("fam-28", "Version 2 bears random loss below its threshold: at 1 % it carries 90 % of the possible.",
          "2 % (BBRLossThresh)", carried("bbr2", lambda share: share >= 0.9, "1%")),
    Claim("fam-29", "Version 3 does so, too.", "2 % (BBR.LossThresh)",
          carried("bbr3", lambda share: share >= 0.9, "1%"),
          "Between probes any loss, however rare, bounds rate and window by what the round delivered."),
    Claim("fam-30", "At 3 %, above the threshold, both carry less than half of the possible and more than CUBIC.",
          "loss above the threshold bounds inflight (drafts)",
          each(beside_cubic, lambda pair: possible(pair[0]) < 0.5 and pair[0].rates[0] > pair[1].rates[0], both_rates)),
]
# fmt: on

PART = Part(
    "loss",
    "Throughput over 100 Mbit/s and 100 ms with random loss of 0.001 to 50 %",
    [Experiment(FOLDER / "loss.toml")],
    quick="2s",
    measure=measure,
    setup=["One flow for 60 s, buffer of one BDP, Linux's transport; goodput over the whole run, STARTUP included."],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)
