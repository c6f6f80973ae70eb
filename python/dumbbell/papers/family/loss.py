"""Throughput against random loss: figure 8 of BBR's first publication with today's versions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.papers import data
from dumbbell.papers.family.measure import (
    NAMES,
    Run,
    Runs,
    measure,
    percent,
    values,
    where,
)
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Outcome, Provenance, Report
from dumbbell.papers.seeds import mean, outcome, spread

if TYPE_CHECKING:
    from dumbbell.plots import Picture

TITLE = "Throughput over 100 Mbit/s and 100 ms with random loss of 0.001 to 50 %"

SCENARIO = Path(__file__).with_name("loss.toml")
QUICK = "2s"

CLAIMS = (
    Claim(
        "fam-24",
        "Up to 5 % loss version 1 carries close to what is possible (here: 90 % of (1 - p) of the link).",
        "close to the maximum up to 5 % (ACM Queue, figure 8)",
    ),
    Claim("fam-25", "At 10 and 15 % it still does (here: 75 %).", "close to it up to 15 % (ACM Queue, figure 8)"),
    Claim(
        "fam-26",
        "Its throughput falls sharply where the loss reaches what a gain of 1.25 can outweigh, at 20 % (here: less "
        "than a quarter of the possible).",
        "as the loss rate approaches the peak gain (ACM Queue, figure 8); 1 - 1/1.25 = 20 %",
    ),
    Claim(
        "fam-27",
        "CUBIC's throughput falls tenfold at 0.1 % (here: below 10 Mbit/s) and stalls above 1 % (below 1.5 Mbit/s).",
        "10 times at 0.1 %, stalls above 1 % (ACM Queue, figure 8)",
    ),
    Claim(
        "fam-28",
        "Version 2 bears random loss below its threshold: at 1 % it carries 90 % of the possible.",
        "2 % (BBRLossThresh)",
    ),
    Claim("fam-29", "Version 3 does so, too.", "2 % (BBR.LossThresh)"),
    Claim(
        "fam-30",
        "At 3 %, above the threshold, both carry less than half of the possible and more than CUBIC.",
        "loss above the threshold bounds inflight (drafts)",
    ),
)


def reproduce(options: Options) -> Report:
    """Runs every algorithm at every loss rate."""
    result = data.run(SCENARIO, options, quick=QUICK)
    runs = measure(result)
    report = Report(
        study="family",
        part="loss",
        title=TITLE,
        setup=(
            "One flow for 60 s, buffer of one BDP, Linux's transport; goodput over the whole run, STARTUP included.",
        ),
        tables=(table(runs),),
        pictures={"loss": picture_of(runs)},
        judgements=judge(runs),
        provenance=Provenance.of([result], {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report


def possible(run: Run) -> float:
    """Goodput over the share of the link that loss leaves."""
    return run.utilisation / (1 - percent(str(run.settings["path.loss"])))


def table(runs: Runs) -> Grid:
    """Goodput, a row a loss rate."""
    algorithms = values(runs, "cc_0")
    rows: list[list[Cell]] = [
        [loss, *(mean(where(runs, cc_0=cc, loss=loss), lambda run: sum(run.rates)) for cc in algorithms)]
        for loss in values(runs, "loss")
    ]
    return Grid("loss", "Goodput in Mbit/s", ("loss", *(NAMES[cc] for cc in algorithms)), rows)


def judge(runs: Runs) -> list[Judgement]:
    """Puts every claim to every run it speaks of."""
    by_id = {claim.id: claim for claim in CLAIMS}

    def at(cc: str, *losses: str) -> Runs:
        return [run for loss in losses for run in where(runs, cc_0=cc, loss=loss)]

    def carried(cc: str, losses: tuple[str, ...], holds: Callable[[Run], bool]) -> Outcome:
        some = at(cc, *losses)
        return outcome(NAMES[cc], some, holds, f"{spread(map(possible, some))} of the possible")

    def stalls(run: Run) -> bool:
        return sum(run.rates) < (10 if run.settings["path.loss"] == "0.1%" else 1.5)

    cubic = at("cubic", "0.1%", "2%", "3%", "5%")
    three = {cc: list(zip(at(cc, "3%"), at("cubic", "3%"), strict=True)) for cc in ("bbr2", "bbr3")}
    early = [loss for loss in values(runs, "loss") if percent(loss) <= 0.05]
    return [
        Judgement(by_id["fam-24"], [carried("bbr", tuple(early), lambda run: possible(run) >= 0.9)]),
        Judgement(by_id["fam-25"], [carried("bbr", ("10%", "15%"), lambda run: possible(run) >= 0.75)]),
        Judgement(by_id["fam-26"], [carried("bbr", ("20%", "25%", "30%"), lambda run: possible(run) < 0.25)]),
        Judgement(
            by_id["fam-27"],
            [outcome("CUBIC", cubic, stalls, ", ".join(f"{run.rates[0]:.2f}" for run in cubic[::3]) + " Mbit/s")],
        ),
        Judgement(by_id["fam-28"], [carried("bbr2", ("1%",), lambda run: possible(run) >= 0.9)]),
        Judgement(
            by_id["fam-29"],
            [carried("bbr3", ("1%",), lambda run: possible(run) >= 0.9)],
            "Between probes any loss, however rare, bounds rate and window by what the round delivered.",
        ),
        Judgement(
            by_id["fam-30"],
            [
                Outcome(
                    NAMES[cc],
                    sum(possible(ours) < 0.5 and ours.rates[0] > theirs.rates[0] for ours, theirs in some),
                    len(some),
                    f"{spread((ours.rates[0] for ours, _ in some), 1)} against "
                    f"{spread((theirs.rates[0] for _, theirs in some), 1)} Mbit/s",
                )
                for cc, some in three.items()
            ],
        ),
    ]


def picture_of(runs: Runs) -> Picture:
    """Goodput over loss with the ideal line."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    from dumbbell.plots.style import INK, legend, look, picture

    losses = values(runs, "loss")
    x = [100 * percent(loss) for loss in losses]
    with picture(7.0, 3.8) as figure:
        axes = figure.subplots()
        capacity = runs[0].capacity
        axes.plot(x, [capacity * (1 - p / 100) for p in x], color=INK, linewidth=0.9, linestyle=(0, (2, 2)))
        axes.annotate("(1 - p) of the link", (0.02, capacity), xytext=(0, 3), textcoords="offset points",
                      fontsize=8, color=INK)  # fmt: skip
        lines = [
            axes.plot(x, [mean(where(runs, cc_0=cc, loss=loss), lambda run: sum(run.rates)) for loss in losses],
                      marker=look(cc).marker, label=NAMES[cc], **look(cc).line())[0]
            for cc in values(runs, "cc_0")
        ]  # fmt: skip
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator([0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 50]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlabel("random loss p (%)")
        axes.set_ylabel("goodput (Mbit/s)")
        axes.set_ylim(0, 108)
        legend(figure, lines)
    return figure
