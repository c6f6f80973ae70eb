"""Figure 6 and its cause: an earlier run with the kernel's default windows, and with the queues of that time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from dumbbell.papers.model import Cell, Claim, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.rebbr.curves import (
    CUBIC,
    FOLDER,
    PACED,
    PUBLISHED_AS,
    UNPACED,
    Cases,
    Run,
    agreement,
    by_case,
    by_loss,
    comparison,
    is_as_studied,
    mean,
    percent,
    published_curves,
    quotient,
    round_trip,
)
from dumbbell.papers.rebbr.fig3 import carried, rate, seeds
from dumbbell.papers.runs import Run as Point
from dumbbell.papers.testing import each, spread

USUAL, BEHIND_QUEUE, DEFAULT, AS_THEN = (
    "6.25 MiB, endless queue",
    "6.25 MiB, queue of one BDP",
    "default window, endless queue",
    "default window, queue of one BDP",
)
"""Window and queue of a set-up; the last is that of the earlier run, the first that of the others."""


@dataclass(frozen=True)
class Figure:
    """The earlier run."""

    cases: Cases
    """By round-trip time."""
    choices: Cases
    """At 100 ms, by window and queue."""
    slow: Cases
    """Behind a queue of one BDP, by rate."""

    @property
    def compared(self) -> Cases:
        """All but 10 s, of which a run has no more than six: what arrives is the start."""
        return {case: of for case, of in self.cases.items() if case != "10000 ms"}

    def bbr(self) -> dict[str, list[dict[str, Run]]]:
        """BBR by round-trip time, seed by seed."""
        return {name: [bbr for bbr, _ in pairs] for name, pairs in seeds(self.cases).items()}

    def low_loss(self) -> dict[str, list[Run]]:
        """BBR at 100 ms."""
        paced = {"paced": self.cases["100 ms"][PACED]}
        names = {"unpaced": AS_THEN, DEFAULT: DEFAULT, BEHIND_QUEUE: BEHIND_QUEUE}
        return {choice: self.choices[name][UNPACED] for choice, name in names.items()} | paced

    def queues(self) -> dict[str, list[tuple[Run, ...]]]:
        """BBR and CUBIC behind a queue of one BDP, each beside an endless one."""
        pairs = zip(*(self.choices[name][label] for label in (UNPACED, CUBIC) for name in (BEHIND_QUEUE, USUAL)),
                    strict=True)  # fmt: skip
        return {"unpaced": list(pairs)}

    def slowest(self) -> dict[str, list[tuple[Run, ...]]]:
        """All flows over the two slowest links."""
        runs = [self.slow[case][label] for case in ("0.01 Mbit/s", "0.1 Mbit/s") for label in (UNPACED, CUBIC)]
        return {"unpaced": list(zip(*runs, strict=True))}


def set_up(run: Point) -> str:
    """Window and queue of a run."""
    window = "6.25 MiB" if run.settings["transport.receive_window"] == "6553600B" else "default window"
    return f"{window}, {'endless queue' if run.settings['links[1].buffer'] == 'unlimited' else 'queue of one BDP'}"


def causes(figure: Figure) -> Grid:
    """Window and queue alone and together."""
    theirs = published_curves("fig6", "100 ms")
    columns: dict[str, Callable[[float], Cell]] = {}
    for label in (CUBIC, UNPACED):
        columns |= {f"{label}: {name}": partial(mean, curves[label]) for name, curves in figure.choices.items()}
        columns[f"{label}: published"] = theirs[PUBLISHED_AS[label]].get
    rows = by_loss(figure.choices[USUAL])
    return table("causes", "Link egress in Mbit/s at 100 ms by window and queue", ["loss %"], rows, columns, 1)


def behind_queues(figure: Figure) -> Grid:
    """The slow links behind a queue of one BDP."""
    published = {case: published_curves("buffers", case) for case in figure.slow}

    def columns(label: str) -> dict[str, Callable[[tuple[str, float]], Cell]]:
        return {
            f"{label}: egress": lambda at: mean(figure.slow[at[0]][label], at[1]),
            f"{label}: published": lambda at: published[at[0]][PUBLISHED_AS[label]][at[1]],
        }

    rows = (([case, *head], (case, loss)) for case, of in figure.slow.items() for head, loss in by_loss(of))
    title = "Link egress in Mbit/s behind a queue of rate x round-trip time"
    return table("slow", title, ["link", "loss %"], rows, columns(CUBIC) | columns(UNPACED), 3)


def pictures(figure: Figure) -> Pictures:
    """The figure."""
    from dumbbell.papers.rebbr import figures

    title = "ReBBR figure 6, an earlier run: 100 Mbit/s, 60 s, default windows, a queue of one BDP"
    return {"fig6": figures.by_case(figure.compared, "fig6", title, share=False)}


# --- claims ----------------------------------------------------------------------------------------------------------


LOW = (1e-5, 1e-4)


def about_80_percent(run: Run) -> bool:
    """A tenth around the two published rates."""
    return all(0.9 * 77.01 <= run.egress[loss] <= 1.1 * 80.07 for loss in LOW)


def lowest_losses(runs: Sequence[Run]) -> str:
    """Egress at 0.001 and 0.01 % loss, in words."""
    return ", ".join(f"{spread((run.egress[loss] for run in runs), 1)}" for loss in LOW) + " Mbit/s"


def course(seed: dict[str, Run]) -> list[float]:
    """Egress at 0.001 % loss from the shortest round-trip time to the longest."""
    return [run.egress[1e-5] for run in seed.values()]


def queue_quotients(runs: tuple[Run, ...]) -> list[float]:
    """Egress behind a queue of one BDP over that behind an endless one, BBR and CUBIC, at each loss."""
    return [
        quotient(rate, beside.egress[loss])
        for behind, beside in (runs[:2], runs[2:])
        for loss, rate in behind.egress.items()
    ]


def queue_costs(figure: Figure) -> str:
    """Where a queue of one BDP costs BBR most, in words."""
    behind, endless = (figure.choices[name][UNPACED] for name in (BEHIND_QUEUE, USUAL))
    quotients = {loss: quotient(mean(behind, loss), mean(endless, loss)) for loss in behind[0].egress}
    worst = min(quotients, key=lambda loss: quotients[loss])
    return (
        "Unpaced BBR keeps two BDP in flight, which is all that link and queue hold; more overflows the queue. "
        f"It costs most at {percent(worst)} % loss: {quotients[worst]:.2f} of the endless queue's."
    )


def fastest(runs: Sequence[Run]) -> float:
    """The largest goodput of any of the runs at any loss: of a handshake packets do fit."""
    return max(rate for run in runs for rate in run.goodput.values())


def losses_then(figure: Figure) -> str:
    """What window and queue do alone and together, in words."""
    found = ", ".join(f"{name}: {mean(of[UNPACED], 1e-5):.1f}" for name, of in figure.choices.items())
    return f"Window and queue alone and together, BBR at 0.001 % loss (Mbit/s): {found}."


CLAIMS: list[Claim[Figure]] = [
    Claim("reb-22", "With the default windows BBR has about 80 % of 100 Mbit/s at low loss and 100 ms (within a tenth "
          "of the two published rates).", "77.0 and 80.1 Mbit/s at 0.001 and 0.01 %",
          each(Figure.low_loss, about_80_percent, lowest_losses), note=losses_then),
    Claim("reb-23", "With the default windows BBR's rate falls with the round-trip time even at the lowest loss.",
          "51, 92, 77, 6.8 Mbit/s at 2, 10, 100, 1000 ms",
          each(Figure.bbr, lambda seed: all(before > after for before, after in pairwise(course(seed))),
               lambda of: ", ".join(spread(values, 1) for values in zip(*map(course, of), strict=True))
               + " Mbit/s at 0.001 %"),
          note="The study's log has less at 2 ms than at 10 ms, for CUBIC, too."),
    Claim("reb-24", "An endless queue and one of one BDP make no visible difference (within a twentieth) for BBR and "
          "CUBIC in figure 1.", "said, not measured",
          each(Figure.queues, lambda runs: all(0.95 <= value <= 1.05 for value in queue_quotients(runs)),
               lambda of: f"{spread(value for runs in of for value in queue_quotients(runs))} of the endless queue's"),
          cause=queue_costs),
    Claim("reb-25", "Behind a queue of rate x round-trip time nothing arrives at 100 kbit/s and less, since no packet "
          "fits.", "0 Mbit/s",
          each(Figure.slowest, lambda runs: fastest(runs) == 0,
               lambda of: f"at most {max(map(fastest, of)):.3f} Mbit/s")),
]  # fmt: skip

PART = Part(
    "fig6",
    "An earlier run: default windows, queues of one BDP, round-trip times from 2 ms to 10 s",
    [Experiment(FOLDER / f"{name}.toml") for name in ("fig6", "buffers", "buffers-slow")],
    quick="2s",
    measure=lambda ran, choices, slow: Figure(
        by_case(ran.runs, round_trip), by_case(choices.runs, set_up), by_case(slow.runs, rate, carried)
    ),
    setup=[
        "As rebbr/fig1, but with the default of 6 MiB of receive memory, which is a window of 3 MiB that grows "
        "as the application reads, and with the queue that the driver had then, rate x round-trip time in bytes.",
        "Beside it both at 100 ms, alone and together, and the queue on slower links.",
    ],
    tables=lambda figure: [
        comparison(figure.cases, "fig6", "Link egress and goodput in Mbit/s by round-trip time", "RTT"),
        agreement(figure.compared, "fig6", "RTT"),
        causes(figure),
        behind_queues(figure),
    ],
    claims=CLAIMS,
    decides=is_as_studied,
    pictures=pictures,
)
