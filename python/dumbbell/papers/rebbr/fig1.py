"""Figure 1: CUBIC and BBR over 100 Mbit/s, 100 ms, with random loss from 0.001 % to 50 %."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from dumbbell.papers import data
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Outcome, Provenance, Report
from dumbbell.papers.rebbr import curves as loss_curves
from dumbbell.papers.rebbr.curves import (
    CUBIC,
    PACED,
    UNPACED,
    Curves,
    Run,
    mean,
    mean_goodput,
    quotient,
)
from dumbbell.papers.seeds import outcome, spread

if TYPE_CHECKING:
    from dumbbell.plots import Picture

TITLE = "One flow over 100 Mbit/s and 100 ms, random loss 0.001 % to 50 %"

SCENARIO = Path(__file__).with_name("fig1.toml")
CHOICES = Path(__file__).with_name("fig1-choices.toml")

QUICK = "2s"

LINK_MBPS = 100.0
"""What the study's ideal line starts from."""
CAPACITY_MBPS = LINK_MBPS * loss_curves.WIRE

WIDE = "BBR 4.11 unpaced, 64 MB window"
TODAY = "BBR 6.18 paced"

CLAIMS = (
    Claim("reb-01", "With 0.001 % loss CUBIC is a little faster than BBR.", "98.81 and 95.36 Mbit/s, BBR/CUBIC 0.965"),
    Claim("reb-02", "Up to 0.1 % loss BBR uses at least 94 % of the link.", "0.954, 0.952, 0.949"),
    Claim("reb-03", "Up to 40 % loss BBR keeps at least 80 % of the ideal line.", "lowest 0.809, at 5 % loss"),
    Claim("reb-04", "BBR collapses between 40 % and 50 % loss, not before.", "57.89 and 17.40 Mbit/s, ratio 0.30"),
    Claim("reb-05", "Where BBR is paced, as in its first publication, it collapses at about 20 % loss.", "about 20 %"),
    Claim("reb-06", "CUBIC stays below 35, 7 and 2 Mbit/s at 0.01, 0.1 and 1 % loss.", "34.14, 5.92, 1.62 Mbit/s"),
    Claim(
        "reb-07",
        "From 0.1 % loss on BBR is at least ten times as fast as CUBIC.",
        "16.0 at 0.1 %, 52.7 at 1 %, 337 at 20 %",
    ),
    Claim(
        "reb-26",
        "What the study calls goodput is what left the link before the loss.",
        "received/egress 0.76 at 20 %, 0.57 at 40 % (an earlier run)",
    ),
)


def reproduce(options: Options) -> Report:
    """Runs the figure, and the choices that its shape turns out to depend on."""
    figure = data.run(SCENARIO, options, quick=QUICK)
    choices = data.run(CHOICES, options, quick=QUICK)
    curves, alternatives = loss_curves.measure(figure), loss_curves.measure(choices)
    report = Report(
        study="rebbr",
        part="fig1",
        title=TITLE,
        setup=(
            "One flow for 60 s over a Mahimahi link of 100 Mbit/s (8, 8, 9 opportunities of 1504 bytes per 3 ms), an "
            "endless queue, independent loss behind the link, 50 ms of delay each way; ACKs over a link of the same "
            "rate without loss.",
            "MSS 1448, initial window 10, receive window 6,553,600 bytes. BBR with the rules of Linux 4.11; that "
            "kernel did not pace by itself and the study installed no fq, so the unpaced runs are the study's. The "
            "rest of the sender is Linux 6.18 with 4.11's timer tick, TCP small queues, burst size and ACK rules.",
            "Link egress counts what left the link before the loss, headers included, as the study's goodput does.",
        ),
        tables=(
            loss_curves.comparison(curves, "fig1", "Link egress and goodput in Mbit/s beside the published egress"),
            loss_curves.variants(curves, "What the study did not run, in Mbit/s"),
            knees(alternatives),
            causes(alternatives),
        ),
        pictures={
            "fig1": loss_curves.picture(
                curves, "fig1", CAPACITY_MBPS, "ReBBR figure 1: 100 Mbit/s, 100 ms, 60 s", share=False
            ),
            "knee": knee_picture(alternatives),
        },
        judgements=judge(curves, alternatives),
        provenance=Provenance.of(
            [figure, choices], {path.name: path.read_text(encoding="utf-8") for path in (SCENARIO, CHOICES)}
        ),
    )
    return report.shortened(QUICK) if options.quick else report


# --- claims ----------------------------------------------------------------------------------------------------------


def judge(curves: Curves, alternatives: Curves) -> list[Judgement]:
    """Puts every claim to the runs of the figure, and of the choices where they say more."""
    cubic = curves[CUBIC]
    variants = [("unpaced", curves[UNPACED]), ("paced", curves[PACED])]
    wide = ("unpaced, 64 MB window", curves[WIDE])
    ratios = [loss for loss in loss_curves.losses(curves) if loss >= 0.001]
    by_id = {claim.id: claim for claim in CLAIMS}

    def paired(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
        return list(zip(runs, cubic, strict=True))

    first = []
    tenfold = []
    for choice, runs in variants:
        quotients = [quotient(run.egress[1e-5], other.egress[1e-5]) for run, other in paired(runs)]
        first.append(Outcome(choice, sum(q < 1 for q in quotients), len(runs), f"BBR/CUBIC {spread(quotients, 3)}"))
        lowest = [min(quotient(run.egress[loss], other.egress[loss]) for loss in ratios) for run, other in paired(runs)]
        tenfold.append(
            Outcome(choice, sum(q >= 10 for q in lowest), len(runs), f"lowest BBR/CUBIC {spread(lowest, 1)}")
        )

    def used(run: Run) -> float:
        return min(rate for loss, rate in run.egress.items() if loss <= 0.001) / LINK_MBPS

    def kept(run: Run) -> float:
        return min(rate / ideal(loss) for loss, rate in run.egress.items() if loss <= 0.4)

    def collapses(run: Run) -> bool:
        return run.egress[0.5] < run.egress[0.4] / 2 and run.egress[0.4] >= ideal(0.4) / 2

    def collapse(runs: Sequence[Run]) -> str:
        at = [mean(runs, loss) for loss in (0.4, 0.5)]
        return f"{at[0]:.1f} and {at[1]:.1f} Mbit/s, {at[0] / ideal(0.4):.2f} and {at[1] / ideal(0.5):.2f} of ideal"

    knees_when_paced = [
        outcome(
            f"paced, {name}",
            alternatives[label],
            lambda run: (at := loss_curves.knee(run.egress, LINK_MBPS)) is not None and 0.15 <= at <= 0.25,
            f"knee at {knee_text(alternatives[label])}",
        )
        for label, _, pacing, _, name in KNEES
        if pacing == "paced"
    ]
    limits = {0.0001: 35.0, 0.001: 7.0, 0.01: 2.0}
    at_limits = ", ".join(spread((run.egress[loss] for run in cubic), 1) for loss in limits)
    below = [
        f"{sum(run.egress[loss] < limit for run in cubic)} of {len(cubic)} at {loss_curves.percent(loss)} %"
        for loss, limit in limits.items()
    ]
    received = [
        outcome(
            choice,
            runs,
            lambda run: all(
                abs(quotient(run.goodput[loss], run.egress[loss]) - (1 - loss) * 1448 / 1504) < 0.03
                for loss in (0.2, 0.4)
            ),
            ", ".join(
                f"{quotient(mean_goodput(runs, loss), mean(runs, loss)):.2f} at {100 * loss:.0f} %"
                for loss in (0.2, 0.4)
            ),
        )
        for choice, runs in variants[:1]
    ]
    kept_outcomes = [
        outcome(choice, runs, lambda run: kept(run) >= 0.8, f"lowest {spread(map(kept, runs))}")
        for choice, runs in [*variants, wide]
    ]
    collapse_outcomes = [outcome(choice, runs, collapses, collapse(runs)) for choice, runs in [*variants, wide]]
    return [
        Judgement(by_id["reb-01"], first),
        Judgement(
            by_id["reb-02"],
            [
                outcome(choice, runs, lambda run: used(run) >= 0.94, f"lowest {spread(map(used, runs), 3)}")
                for choice, runs in variants
            ],
        ),
        Judgement(by_id["reb-03"], kept_outcomes, kept_note(alternatives)),
        Judgement(
            by_id["reb-04"],
            collapse_outcomes,
            "Without pacing twice the estimated BDP is in flight, which sustains the estimate up to 1 - 1/2 = 50 % "
            "loss; with pacing the probe at 1.25 times the rate sustains it only up to 1 - 1/1.25 = 20 %, and the "
            "policer sampler steps in where lost/delivered reaches 50/256, at 16.3 %.",
        ),
        Judgement(by_id["reb-05"], knees_when_paced, f"Without pacing: {unpaced_knees(alternatives)}."),
        Judgement(
            by_id["reb-06"],
            [
                outcome(
                    "CUBIC",
                    cubic,
                    lambda run: all(run.egress[loss] < limit for loss, limit in limits.items()),
                    f"{at_limits} Mbit/s",
                )
            ],
            f"Seeds below each limit: {', '.join(below)}. A few dozen losses decide the rate of a run at 0.01 and "
            "0.1 %; the study's own four runs span 30 to 69 and 5.8 to 10.7 Mbit/s there.",
        ),
        Judgement(
            by_id["reb-07"],
            tenfold,
            "Above its knee a paced BBR is as slow as CUBIC.",
        ),
        Judgement(by_id["reb-26"], received),
    ]


def ideal(loss: float) -> float:
    """The study's ideal line."""
    return LINK_MBPS * (1 - loss)


# --- the knee, and what else the shape depends on --------------------------------------------------------------------

KNEES = (
    ("unpaced", "6.25 MiB", "unpaced", True, "6.25 MiB window, policer sampler on"),
    ("unpaced, sampler off", "6.25 MiB", "unpaced", False, "6.25 MiB window, policer sampler off"),
    ("unpaced, wide", "64 MB", "unpaced", True, "64 MB window, policer sampler on"),
    ("unpaced, wide, sampler off", "64 MB", "unpaced", False, "64 MB window, policer sampler off"),
    ("paced", "6.25 MiB", "paced", True, "6.25 MiB window, policer sampler on"),
    ("paced, sampler off", "6.25 MiB", "paced", False, "6.25 MiB window, policer sampler off"),
    ("paced, wide", "64 MB", "paced", True, "64 MB window, policer sampler on"),
    ("paced, wide, sampler off", "64 MB", "paced", False, "64 MB window, policer sampler off"),
)
"""Label in the experiment file, receive window, pacing, whether the long-term sampler runs, the last two in words."""

AT_ONCE = "unpaced, ACKs at once"

LIMITS = ((50 / 306, "sampler: 50/306"), (1 - 1 / 1.25, "probe: 1 - 1/1.25"), (1 - 1 / 2, "window: 1 - 1/2"))
"""Losses at which BBR's constants let the estimate fall: threshold of the sampler, probing gain, window gain."""


def knees(alternatives: Curves) -> Grid:
    """Where BBR falls to half of the ideal line under each choice."""
    rows = []
    for label, window, pacing, sampler, _ in KNEES:
        found = found_knees(alternatives[label])
        middle = 100 * median(found) if found else None
        rows.append((pacing, window, "on" if sampler else "off", middle, knee_text(alternatives[label])))
    title = "Loss at which BBR falls to half of the ideal line (published: 40 to 50 %)"
    columns = ("BBR 4.11", "receive window", "policer sampler", "knee (% loss), median", "range over seeds")
    return Grid("knee", title, columns, rows, 1)


def found_knees(runs: Sequence[Run]) -> list[float]:
    """The knee of each run that has one."""
    return [at for run in runs if (at := loss_curves.knee(run.egress, LINK_MBPS)) is not None]


def causes(alternatives: Curves) -> Grid:
    """Link egress under each choice beside the published curve."""
    theirs = loss_curves.published_curves("fig1")["bbr"]
    labels = ["unpaced", "unpaced, wide", "unpaced, sampler off", AT_ONCE]
    shown = [loss for loss in loss_curves.losses(alternatives) if loss in theirs]
    rows: list[list[Cell]] = [
        [loss_curves.percent(loss), theirs[loss], *(mean(alternatives[label], loss) for label in labels)]
        for loss in shown
    ]
    names = ["as the study", "64 MB receive window", "policer sampler off", "ACKs at one instant"]
    return Grid(
        "causes",
        "Unpaced BBR's link egress in Mbit/s under one other choice at a time",
        ["loss %", "published", *names],
        rows,
        1,
    )


def knee_text(runs: Sequence[Run]) -> str:
    """The range of the knee over seeds, in percent."""
    found = [100 * at for at in found_knees(runs)]
    return f"{spread(found, 1)} %" if found else "no loss that was tried"


def unpaced_knees(alternatives: Curves) -> str:
    """The knees without pacing, in words."""
    return "; ".join(
        f"{knee_text(alternatives[label])} ({name})" for label, _, pacing, _, name in KNEES if pacing == "unpaced"
    )


def kept_note(alternatives: Curves) -> str:
    """Why the share of the ideal line differs from the study's."""

    def lowest(label: str) -> str:
        runs = alternatives[label]
        shares = {loss: mean(runs, loss) / ideal(loss) for loss in loss_curves.losses(alternatives) if loss <= 0.4}
        at = min(shares, key=lambda loss: shares[loss])
        return f"{shares[at]:.2f} (at {100 * at:g} % loss)"

    return (
        "The receive window of 6.25 MiB is the limit: a packet whose retransmission is lost, too, holds it up for "
        f"several round trips. Lowest share with it {lowest('unpaced')}, with 64 MB {lowest('unpaced, wide')}. "
        f"Whether ACKs reach the sender one by one or eight at an instant does not matter ({lowest(AT_ONCE)})."
    )


def knee_picture(alternatives: Curves) -> Picture:
    """Share of the ideal line against loss, for each choice."""
    from matplotlib.lines import Line2D

    from dumbbell.plots.style import INK, legend, look, picture

    dashes: dict[str, Any] = {"on": "-", "off": (0, (4, 1.5))}
    styles = {"unpaced": look("bbr"), "paced": look("bbr3")}
    theirs = loss_curves.published_curves("fig1")["bbr"]
    with picture(7.2, 4.0) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        # Above the data there is room for the reasons.
        panels[0].set_ylim(0, 230)
        for axes, window in zip(panels, ("6.25 MiB", "64 MB"), strict=True):
            for label, its_window, pacing, sampler, _ in KNEES:
                if its_window != window:
                    continue
                runs = alternatives[label]
                x = sorted(runs[0].egress)
                style = styles[pacing]
                axes.plot(
                    [100 * loss for loss in x],
                    [100 * mean(runs, loss) / ideal(loss) for loss in x],
                    color=style.colour,
                    marker=style.marker,
                    linestyle=dashes["on" if sampler else "off"],
                    markersize=4,
                )
            axes.axhline(50, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
            for limit, reason in LIMITS:
                axes.axvline(100 * limit, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
                anchor = (100 * limit, axes.get_ylim()[1])
                axes.annotate(
                    reason,
                    anchor,
                    xytext=(-2, -3),
                    textcoords="offset points",
                    rotation=90,
                    ha="right",
                    va="top",
                    fontsize=7,
                    color=INK,
                )
            axes.set_xlabel("random loss (%)")
            axes.set_title(f"receive window {window}" + (" (the study's)" if window == "6.25 MiB" else ""), loc="left")
        hollow: dict[str, Any] = {
            "marker": "o",
            "color": styles["unpaced"].colour,
            "linestyle": "none",
            "markerfacecolor": "none",
            "markersize": 8,
        }
        at = [loss for loss in theirs if loss >= 0.01]
        panels[0].plot([100 * loss for loss in at], [100 * theirs[loss] / ideal(loss) for loss in at], **hollow)
        panels[0].set_ylabel("link egress (% of the ideal line)")
        handles = [
            Line2D(
                [],
                [],
                color=style.colour,
                marker=style.marker,
                markersize=4,
                linestyle=dash,
                label=f"{pacing}, sampler {word}",
            )
            for pacing, style in styles.items()
            for word, dash in dashes.items()
        ]
        legend(figure, [*handles, Line2D([], [], label="published", **hollow)])
    return figure
