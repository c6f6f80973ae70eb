"""Throughput against random loss: figure 8 of BBR's first publication with today's versions."""

from __future__ import annotations

from collections.abc import Callable

from dumbbell.papers.family.measure import FOLDER, NAMES, Runs, by, capacity, percent, possible, setting, where
from dumbbell.papers.model import Claim, Grid, Outcome, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Run, total
from dumbbell.papers.testing import across, both, each, mean, paired, ranged


def at(runs: Runs, cc: str, *losses: str) -> Runs:
    """The runs of an algorithm at some losses."""
    return [run for loss in losses for run in where(runs, cc_0=cc, loss=loss)]


def tables(runs: Runs) -> list[Grid]:
    """Goodput, a row a loss rate."""
    rows = (([loss], by(some, "cc_0")) for loss, some in by(runs, "loss").items())
    return [across("loss", "Goodput in Mbit/s", ["loss"], rows, {NAMES[cc]: cc for cc in by(runs, "cc_0")}, total)]


def pictures(runs: Runs) -> Pictures:
    """Goodput over loss with the ideal line."""
    from dumbbell.papers.family import figures

    lines = {cc: [mean(some, total) for some in by(own, "loss").values()] for cc, own in by(runs, "cc_0").items()}
    return {"loss": figures.loss(lines, [100 * percent(loss) for loss in by(runs, "loss")], capacity(runs[0]))}


# --- claims ----------------------------------------------------------------------------------------------------------

Test = Callable[[Runs], list[Outcome]]


def carried(cc: str, holds: Callable[[float], bool], *losses: str, most: float = 0.0) -> Test:
    """What an algorithm carries of the possible at some losses, or at all up to one."""

    def some(runs: Runs) -> dict[str, Runs]:
        small = [loss for loss in by(runs, "loss") if percent(loss) <= most]
        return {NAMES[cc]: at(runs, cc, *losses, *small)}

    return each(some, lambda run: holds(possible(run)), ranged(possible, 2, " of the possible"))


def stalls(run: Run) -> bool:
    """Below 10 Mbit/s at 0.1 %, below 1.5 above 1 %."""
    return total(run) < (10 if setting(run, "loss") == "0.1%" else 1.5)


def cubic(runs: Runs) -> dict[str, Runs]:
    """CUBIC at 0.1 % and above 1 %."""
    return {"CUBIC": at(runs, "cubic", "0.1%", "2%", "3%", "5%")}


def beside_cubic(runs: Runs) -> dict[str, list[tuple[Run, ...]]]:
    """Version 2 and 3 and CUBIC at 3 %."""
    return {NAMES[cc]: paired(at(runs, cc, "3%"), at(runs, "cubic", "3%")) for cc in ("bbr2", "bbr3")}


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
          "10 times at 0.1 %, stalls above 1 % (ACM Queue, figure 8)", each(cubic, stalls,
               lambda runs: ", ".join(f"{total(run):.2f}" for run in runs[::3]) + " Mbit/s")),
    Claim("fam-28", "Version 2 bears random loss below its threshold: at 1 % it carries 90 % of the possible.",
          "2 % (BBRLossThresh)", carried("bbr2", lambda share: share >= 0.9, "1%")),
    Claim("fam-29", "Version 3 does so, too.", "2 % (BBR.LossThresh)",
          carried("bbr3", lambda share: share >= 0.9, "1%"),
          "Between probes any loss, however rare, bounds rate and window by what the round delivered."),
    Claim("fam-30", "At 3 %, above the threshold, both carry less than half of the possible and more than CUBIC.",
          "loss above the threshold bounds inflight (drafts)",
          each(beside_cubic, lambda pair: possible(pair[0]) < 0.5 and total(pair[0]) > total(pair[1]),
               both(ranged(total, 1), "{} against {} Mbit/s"))),
]  # fmt: skip

PART = Part(
    "loss",
    "Throughput over 100 Mbit/s and 100 ms with random loss of 0.001 to 50 %",
    [Experiment(FOLDER / "loss.toml")],
    quick="2s",
    measure=lambda ran: ran.runs,
    setup=["One flow for 60 s, buffer of one BDP, Linux's transport; goodput over the whole run, STARTUP included."],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)
