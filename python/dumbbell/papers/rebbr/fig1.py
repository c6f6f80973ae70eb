"""Figure 1: CUBIC and BBR over 100 Mbit/s, 100 ms, with random loss from 0.001 % to 50 %."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from dumbbell.papers.model import Cell, Claim, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.rebbr import curves as loss_curves
from dumbbell.papers.rebbr.curves import CUBIC, PACINGS, UNPACED, Curves, Run, beside_cubic, mean, quotient, under
from dumbbell.papers.testing import each, spread

WIDE = "unpaced, wide"
AT_ONCE = "unpaced, ACKs at once"
ENDLESS = "unpaced, endless device queue"

KNEES = {
    f"{pacing}{wide}{off}": (window, pacing, not off)
    for pacing in ("unpaced", "paced")
    for wide, window in (("", "6.25 MiB"), (", wide", "64 MB"))
    for off in ("", ", sampler off")
}
"""Label in the experiment file, and its receive window, pacing, and whether the policer sampler runs."""

LIMITS = {"sampler: 50/306": 50 / 306, "probe: 1 - 1/1.25": 1 - 1 / 1.25, "window: 1 - 1/2": 1 - 1 / 2}
"""Losses at which BBR's constants let the estimate fall: threshold of the sampler, probing gain, window gain."""

CUBICS = {0.0001: 35.0, 0.001: 7.0, 0.01: 2.0}
"""Mbit/s that CUBIC stays below at a loss."""


@dataclass(frozen=True)
class Figure(loss_curves.Figure):
    """The runs of the figure, and of the choices that its shape turns out to depend on."""

    choices: Curves

    def wider(self) -> dict[str, list[Run]]:
        """Unpaced, paced, and unpaced with a window or a queue of the sender's device that never limits."""
        return under(PACINGS)(self) | {"unpaced, 64 MB window": self.choices[WIDE], ENDLESS: self.choices[ENDLESS]}

    def paced(self) -> dict[str, list[Run]]:
        """Every choice with pacing."""
        labels = [label for label, (_, pacing, _) in KNEES.items() if pacing == "paced"]
        return {f"paced, {in_words(label)}": self.choices[label] for label in labels}


# --- the knee, and what else the shape depends on --------------------------------------------------------------------


def found_knees(runs: Sequence[Run]) -> list[float]:
    """The knee of each run that has one."""
    return [run.knee for run in runs if run.knee is not None]


def knee_text(runs: Sequence[Run]) -> str:
    """The range of the knee over seeds."""
    found = [100 * at for at in found_knees(runs)]
    return f"{spread(found, 1)} %" if found else "no loss that was tried"


def in_words(label: str) -> str:
    """Window and sampler of a choice."""
    window, _, sampler = KNEES[label]
    return f"{window} window, policer sampler {'on' if sampler else 'off'}"


def knees(choices: Curves) -> Grid:
    """Where BBR falls to half of the ideal line under each choice."""

    def middle(runs: Sequence[Run]) -> Cell:
        return 100 * median(found) if (found := found_knees(runs)) else None

    rows = (
        ((pacing, window, "on" if sampler else "off"), choices[label])
        for label, (window, pacing, sampler) in KNEES.items()
    )
    title = "Loss at which BBR falls to half of the ideal line (published: 40 to 50 %)"
    columns = {"knee (% loss), median": middle, "range over seeds": knee_text}
    return table("knee", title, ("BBR 4.11", "receive window", "policer sampler"), rows, columns, 1)


def causes(choices: Curves) -> Grid:
    """Link egress under each choice beside the published curve."""
    theirs = loss_curves.published_curves("fig1")["bbr"]
    labels = {
        "as the study": "unpaced",
        "64 MB receive window": WIDE,
        "policer sampler off": "unpaced, sampler off",
        "ACKs at one instant": AT_ONCE,
        "endless device queue": ENDLESS,
    }

    def egress(label: str) -> Callable[[float], Cell]:
        return lambda loss: mean(choices[label], loss)

    tried = (loss for loss in loss_curves.losses({WIDE: choices[WIDE]}) if loss in theirs)
    rows = (((loss_curves.percent(loss), theirs[loss]), loss) for loss in tried)
    title = "Unpaced BBR's link egress in Mbit/s under one other choice at a time"
    columns = {name: egress(label) for name, label in labels.items()}
    return table("causes", title, ["loss %", "published"], rows, columns, 1)


def pictures(figure: Figure) -> Pictures:
    """The figure, and the knee under each choice."""
    from dumbbell.papers.rebbr import figures

    title = "ReBBR figure 1: 100 Mbit/s, 100 ms, 60 s"
    return {
        "fig1": figures.egress(figure.curves, "fig1", 100 * loss_curves.WIRE, title, share=False),
        "knee": figures.knees(figure.choices, KNEES, LIMITS),
    }


# --- claims ----------------------------------------------------------------------------------------------------------


def least_kept(run: Run) -> float:
    """Least share of the ideal line up to 40 % loss."""
    return min(run.share(loss) for loss in run.egress if loss <= 0.4)


def least_lead(pair: tuple[Run, ...]) -> float:
    """Least quotient of the egress of two runs from 0.1 % loss on."""
    return min(quotient(pair[0].egress[loss], pair[1].egress[loss]) for loss in pair[0].egress if loss >= 0.001)


def collapse(runs: Sequence[Run]) -> str:
    """Mean egress at 40 and 50 % loss."""
    at = {loss: mean(runs, loss) for loss in (0.4, 0.5)}
    shares = " and ".join(f"{rate / (100 * (1 - loss)):.2f}" for loss, rate in at.items())
    return f"{at[0.4]:.1f} and {at[0.5]:.1f} Mbit/s, {shares} of ideal"


def window_limits(figure: Figure) -> str:
    """Why the share of the ideal line differs from the study's."""

    def lowest(label: str) -> str:
        runs = figure.choices[label]
        shares = {loss: mean(runs, loss) / (100 * (1 - loss)) for loss in runs[0].egress if loss <= 0.4}
        at = min(sorted(shares), key=lambda loss: shares[loss])
        return f"{shares[at]:.2f} (at {loss_curves.percent(at)} % loss)"

    return (
        "The receive window of 6.25 MiB is the limit: a packet whose retransmission is lost, too, holds it up for "
        f"several round trips. Lowest share with it {lowest('unpaced')}, with 64 MB {lowest(WIDE)}. "
        f"Whether ACKs reach the sender one by one or eight at an instant does not matter ({lowest(AT_ONCE)})."
    )


def unpaced_knees(figure: Figure) -> str:
    """The knees without pacing, in words."""
    labels = [label for label, (_, pacing, _) in KNEES.items() if pacing == "unpaced"]
    found = "; ".join(f"{knee_text(figure.choices[label])} ({in_words(label)})" for label in labels)
    return f"Without pacing: {found}."


def seeds_below(figure: Figure) -> str:
    """In how many seeds CUBIC stays below each limit, in words."""
    cubic = figure.curves[CUBIC]
    below = ", ".join(
        f"{sum(run.egress[loss] < limit for run in cubic)} of {len(cubic)} at {loss_curves.percent(loss)} %"
        for loss, limit in CUBICS.items()
    )
    return (
        f"Seeds below each limit: {below}. A few dozen losses decide the rate of a run at 0.01 and "
        "0.1 %; the study's own four runs span 30 to 69 and 5.8 to 10.7 Mbit/s there."
    )


def theirs(before: str) -> Figure:
    """A run of the authors; what they did not vary is as it was."""
    found = loss_curves.of_authors(f"{before}fig1")
    return Figure(found, dict.fromkeys((WIDE, ENDLESS), found[UNPACED]))


CLAIMS: list[Claim[Figure]] = [
    Claim("reb-01", "With 0.001 % loss CUBIC is a little faster than BBR.", "98.81 and 95.36 Mbit/s, BBR/CUBIC 0.965",
          each(beside_cubic, lambda pair: quotient(pair[0].egress[1e-5], pair[1].egress[1e-5]) < 1,
               lambda pairs: f"BBR/CUBIC {spread((quotient(a.egress[1e-5], b.egress[1e-5]) for a, b in pairs), 3)}")),
    Claim("reb-02", "Up to 0.1 % loss BBR uses at least 94 % of the link.", "0.954, 0.952, 0.949",
          each(under(PACINGS), lambda run: run.used(0.001) >= 0.94,
               lambda runs: f"lowest {spread((run.used(0.001) for run in runs), 3)}")),
    Claim("reb-03", "Up to 40 % loss BBR keeps at least 80 % of the ideal line.", "lowest 0.809, at 5 % loss",
          each(Figure.wider, lambda run: least_kept(run) >= 0.8,
               lambda runs: f"lowest {spread(map(least_kept, runs))}"),
          note=window_limits),
    Claim("reb-04", "BBR collapses between 40 % and 50 % loss, not before.", "57.89 and 17.40 Mbit/s, ratio 0.30",
          each(Figure.wider,
               lambda run: run.egress[0.5] < run.egress[0.4] / 2 and run.share(0.4) >= 0.5, collapse),
          note="Without pacing twice the estimated BDP is in flight, which sustains the estimate up to 1 - 1/2 = 50 % "
               "loss; with pacing the probe at 1.25 times the rate sustains it only up to 1 - 1/1.25 = 20 %, and the "
               f"policer sampler steps in where lost/delivered reaches 50/256, at {100 * 50 / 306:.1f} %."),
    Claim("reb-05", "Where BBR is paced, as in its first publication, it collapses at about 20 % loss.", "about 20 %",
          each(Figure.paced, lambda run: run.knee is not None and 0.15 <= run.knee <= 0.25,
               lambda runs: f"knee at {knee_text(runs)}"),
          note=unpaced_knees, theirs=False),
    Claim("reb-06", "CUBIC stays below 35, 7 and 2 Mbit/s at 0.01, 0.1 and 1 % loss.", "34.14, 5.92, 1.62 Mbit/s",
          each(under({CUBIC: CUBIC}), lambda run: all(run.egress[loss] < limit for loss, limit in CUBICS.items()),
               lambda runs: ", ".join(spread((run.egress[at] for run in runs), 1) for at in CUBICS) + " Mbit/s"),
          note=seeds_below),
    Claim("reb-07", "From 0.1 % loss on BBR is at least ten times as fast as CUBIC.",
          "16.0 at 0.1 %, 52.7 at 1 %, 337 at 20 %",
          each(beside_cubic, lambda pair: least_lead(pair) >= 10,
               lambda pairs: f"lowest BBR/CUBIC {spread(map(least_lead, pairs), 1)}"),
          note="Above its knee a paced BBR is as slow as CUBIC."),
    Claim("reb-26", "What the study calls goodput is what left the link before the loss.",
          "received/egress 0.76 at 20 %, 0.57 at 40 % (an earlier run)",
          each(under({"unpaced": UNPACED}),
               lambda run: all(abs(run.received[at] - (1 - at) * 1448 / 1504) < 0.03 for at in (0.2, 0.4)),
               lambda runs: ", ".join(
                   f"{quotient(loss_curves.mean_goodput(runs, at), mean(runs, at)):.2f} at {100 * at:.0f} %"
                   for at in (0.2, 0.4))), theirs=False),
]  # fmt: skip

PART = Part(
    "fig1",
    "One flow over 100 Mbit/s and 100 ms, random loss 0.001 % to 50 %",
    [Experiment(loss_curves.FOLDER / f"{name}.toml") for name in ("fig1", "fig1-unpaced", "fig1-paced")],
    quick="2s",
    measure=lambda figure, *choices: Figure(
        loss_curves.measure(figure.runs), loss_curves.measure(run for ran in choices for run in ran.runs)
    ),
    setup=[
        "One flow for 60 s over a Mahimahi link of 100 Mbit/s (8, 8, 9 opportunities of 1504 bytes per 3 ms), an "
        "endless queue, independent loss behind the link, 50 ms of delay each way; ACKs over a link of the same "
        "rate without loss. The sender's device is Mahimahi's TUN device, which holds 500 packets.",
        "MSS 1448, initial window 10, receive window 6,553,600 bytes. BBR with the rules of Linux 4.11; that "
        "kernel did not pace by itself and the study installed no fq, so the unpaced runs are the study's. The "
        "rest of the sender is Linux 6.18 with 4.11's timer tick, TCP small queues, burst size and ACK rules.",
        "Link egress counts what left the link before the loss, headers included, as the study's goodput does.",
    ],
    tables=lambda figure: [
        loss_curves.comparison(
            {"": figure.curves}, "fig1", "Link egress and goodput in Mbit/s beside the published egress"
        ),
        loss_curves.agreement({"": figure.curves}, "fig1"),
        knees(figure.choices),
        causes(figure.choices),
    ],
    claims=CLAIMS,
    # The study's kernel did not pace. Where BBR is paced on purpose, everything else is as the study had it.
    decides=lambda choice: choice in ("unpaced", CUBIC, f"paced, {in_words('paced')}"),
    pictures=pictures,
    authors=loss_curves.public(theirs),
)
