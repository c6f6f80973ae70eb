"""Loss, use and queue against the size of the buffer, one flow and several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.papers import data
from dumbbell.papers.family.measure import (
    NAMES,
    Run,
    Runs,
    bdps,
    log_ticks,
    measure,
    values,
    where,
)
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Outcome, Provenance, Report
from dumbbell.papers.seeds import mean, outcome, spread

if TYPE_CHECKING:
    from dumbbell.plots import Picture

TITLE = "Loss over buffers of 0.1 to 10 BDP for one, three and eight flows"

SCENARIO = Path(__file__).with_name("buffers.toml")
QUICK = "2s"

SITUATIONS = {
    "1 flow": ("1", "50mbit"),
    "3 flows": ("3", "50mbit"),
    "8 flows": ("8", "50mbit"),
    "8 flows, 10 Mbit/s": ("8", "10mbit"),
}
"""Number of flows and rate. In the last one a fair share is four packets, the least that BBR keeps in flight."""
SEVERAL = tuple(SITUATIONS)[1:]
THRESHOLD = 0.02
"""Loss that version 2 and 3 accept when they probe."""

CLAIMS = (
    Claim(
        "fam-06",
        "Several flows of version 1 lose packets all the time where the buffer is below 1.5 BDP (here: over 2 %).",
        "about 1.5 BDP (RFC 9743, protection against high packet loss)",
    ),
    Claim("fam-07", "From 3 BDP on they lose hardly any (here: below 1 %).", "the same, turned round"),
    Claim(
        "fam-08",
        "Version 2 loses less than version 1 under several flows, at every buffer up to 1.5 BDP.",
        "aims for lower loss than v1 (commit message of Linux's BBRv3, of v2 and v3 alike)",
    ),
    Claim("fam-09", "Version 3 loses less than version 1 there, too.", "the same"),
    Claim("fam-10", "Version 2 keeps its loss within its threshold at every buffer.", "2 % (BBRLossThresh)"),
    Claim("fam-11", "Version 3 keeps its loss within its threshold at every buffer.", "2 % (BBR.LossThresh)"),
    Claim(
        "fam-12",
        "A flow of version 1, 2 or 3 gets more through a buffer of 0.1 BDP than one of CUBIC or Reno.",
        "substantially higher throughput for shallow buffers (abstract of the drafts)",
    ),
    Claim(
        "fam-13",
        "In buffers of 5 and 10 BDP versions 1, 2 and 3 queue less than half as much as CUBIC and Reno.",
        "substantially lower queueing delays for deep buffers (abstract of the drafts)",
    ),
    Claim(
        "fam-31",
        "Flows of version 3 share more evenly than those of version 2 in buffers from 1 BDP on.",
        "bandwidth convergence repaired (BBRv3: Algorithm Bug Fixes, IETF 117); no number",
    ),
)


def reproduce(options: Options) -> Report:
    """Runs every algorithm at every buffer and number of flows."""
    result = data.run(SCENARIO, options, quick=QUICK, set={"warmup": "1s"} if options.quick else None)
    runs = measure(result)
    report = Report(
        study="family",
        part="buffers",
        title=TITLE,
        setup=(
            "50 Mbit/s (a BDP of 167 packets), or 10 Mbit/s (33), 40 ms, drop-tail, Linux's transport, starts within "
            "1 s, 60 s of which the first 10 s do not count.",
            "Loss is what the network dropped of what was sent. A claim is put to each seed at each of its buffers.",
        ),
        tables=tuple(
            table(runs, name, title, value)
            for name, title, value in (
                ("loss", "Loss in percent", lambda run: 100 * run.loss),
                ("utilisation", "Goodput over what the link can carry, percent", lambda run: 100 * run.utilisation),
                ("queue", "Mean queue in ms", lambda run: run.queue_ms),
                ("jain", "Jain's index", lambda run: run.jain),
            )
        ),
        pictures={"buffers": picture_of(runs)},
        judgements=judge(runs),
        provenance=Provenance.of([result], {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report


def at(runs: Runs, cc: str, situation: str, buffers: list[str]) -> Runs:
    """The runs of an algorithm in a situation, at some buffers."""
    count, rate = SITUATIONS[situation]
    return [run for one in buffers for run in where(runs, cc_0=cc, count_0=count, rate=rate, buffer=one)]


def table(runs: Runs, name: str, title: str, value: Callable[[Run], float]) -> Grid:
    """One row an algorithm and number of flows, one column a buffer; means over seeds."""
    buffers = values(runs, "buffer")
    rows: list[list[Cell]] = [
        [NAMES[cc], situation, *(mean(at(runs, cc, situation, [one]), value) for one in buffers)]
        for situation in SITUATIONS
        for cc in values(runs, "cc_0")
    ]
    return Grid(f"buffers-{name}", title, ("algorithm", "flows", *(f"BDP: {bdps(one):g}" for one in buffers)), rows)


def judge(runs: Runs) -> list[Judgement]:
    """Puts every claim to every run it speaks of."""
    by_id = {claim.id: claim for claim in CLAIMS}
    buffers = values(runs, "buffer")
    shallow = [one for one in buffers if bdps(one) <= 1]
    below = [one for one in buffers if bdps(one) <= 1.5]

    def losses(chosen: Runs) -> str:
        return spread((100 * run.loss for run in chosen), 2, " %")

    everywhere = tuple(SITUATIONS)

    def bounded(cc: str, chosen: list[str], holds: Callable[[Run], bool], situations: tuple[str, ...]) -> list[Outcome]:
        found = [(situation, at(runs, cc, situation, chosen)) for situation in situations]
        return [outcome(situation, some, holds, losses(some)) for situation, some in found]

    def pairs(cc: str, other: str, situation: str, chosen: list[str]) -> list[tuple[Run, Run]]:
        return list(zip(at(runs, cc, situation, chosen), at(runs, other, situation, chosen), strict=True))

    def less(cc: str) -> list[Outcome]:
        found = [(situation, pairs(cc, "bbr", situation, below)) for situation in SEVERAL]
        return [
            Outcome(
                situation,
                sum(ours.loss < theirs.loss for ours, theirs in some),
                len(some),
                f"{losses([ours for ours, _ in some])} against {losses([theirs for _, theirs in some])}",
            )
            for situation, some in found
        ]

    def against(chosen: list[str], holds: Callable[[Run, Run], bool], value: Callable[[Run], float]) -> list[Outcome]:
        outcomes = []
        for cc in ("bbr", "bbr2", "bbr3"):
            for rival in ("cubic", "reno"):
                found = pairs(cc, rival, "1 flow", chosen)
                ours, theirs = mean([a for a, _ in found], value), mean([b for _, b in found], value)
                held = sum(holds(a, b) for a, b in found)
                outcomes.append(
                    Outcome(f"{NAMES[cc]} against {NAMES[rival]}", held, len(found), f"{ours:.1f} and {theirs:.1f}")
                )
        return outcomes

    deep = [one for one in buffers if bdps(one) >= 5]
    roomy = [one for one in buffers if bdps(one) >= 1]
    converging = [(situation, pairs("bbr3", "bbr2", situation, roomy)) for situation in SEVERAL]
    floor = "With a fair share of four packets nobody can give way: that is the least that BBR keeps in flight."
    return [
        Judgement(by_id["fam-06"], bounded("bbr", shallow, lambda run: run.loss > THRESHOLD, SEVERAL)),
        Judgement(
            by_id["fam-07"],
            bounded("bbr", [one for one in buffers if bdps(one) >= 3], lambda run: run.loss < 0.01, SEVERAL),
        ),
        Judgement(by_id["fam-08"], less("bbr2")),
        Judgement(by_id["fam-09"], less("bbr3")),
        Judgement(by_id["fam-10"], bounded("bbr2", buffers, lambda run: run.loss <= THRESHOLD, everywhere), floor),
        Judgement(by_id["fam-11"], bounded("bbr3", buffers, lambda run: run.loss <= THRESHOLD, everywhere), floor),
        Judgement(
            by_id["fam-12"],
            against(["0.1bdp"], lambda ours, theirs: sum(ours.rates) > sum(theirs.rates), lambda run: sum(run.rates)),
        ),
        Judgement(
            by_id["fam-13"],
            against(deep, lambda ours, theirs: ours.queue_ms < theirs.queue_ms / 2, lambda run: run.queue_ms),
        ),
        Judgement(
            by_id["fam-31"],
            [
                Outcome(
                    situation,
                    sum(third.jain > second.jain for third, second in found),
                    len(found),
                    f"Jain {mean([third for third, _ in found], lambda run: run.jain):.2f} against "
                    f"{mean([second for _, second in found], lambda run: run.jain):.2f}",
                )
                for situation, found in converging
            ],
        ),
    ]


def picture_of(runs: Runs) -> Picture:
    """Loss above, use of the link below, a column a number of flows."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FixedLocator, FuncFormatter

    from dumbbell.plots.style import INK, legend, look, picture

    buffers = values(runs, "buffer")
    algorithms = values(runs, "cc_0")
    with picture(9.6, 4.8) as figure:
        panels = figure.subplots(2, len(SITUATIONS), sharex=True, sharey="row")
        for column, situation in zip(panels.T, SITUATIONS, strict=True):
            for cc in algorithms:
                chosen = [at(runs, cc, situation, [one]) for one in buffers]
                x = [bdps(one) for one in buffers]
                style = {"marker": look(cc).marker, "markersize": 4, **look(cc).line()}
                column[0].plot(x, [100 * mean(some, lambda run: run.loss) for some in chosen], **style)
                column[1].plot(x, [100 * mean(some, lambda run: run.utilisation) for some in chosen], **style)
            column[0].axhline(2, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))
            column[0].set_title(situation, loc="left", fontsize=9)
            log_ticks(column[1], (0.1, 0.5, 1, 2, 5, 10), "buffer (BDP)")
        panels[0, 0].set_yscale("symlog", linthresh=0.1, linscale=0.5)
        panels[0, 0].yaxis.set_major_locator(FixedLocator([0, 0.1, 0.5, 1, 2, 5, 10, 20]))
        panels[0, 0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panels[0, 0].set_ylim(0, 25)
        panels[0, 0].set_ylabel("loss (%)")
        panels[0, 0].annotate("2 %", (6, 2), xytext=(0, 2), textcoords="offset points", fontsize=8, color=INK)
        panels[1, 0].set_ylabel("use of the link (%)")
        legend(
            figure, [Line2D([], [], marker=look(cc).marker, **look(cc).line(), label=NAMES[cc]) for cc in algorithms]
        )
    return figure
