"""Threshold marking, with and without a reaction to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.papers import data
from dumbbell.papers.family.measure import (
    Run,
    Runs,
    log_ticks,
    measure,
    values,
    where,
)
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Outcome, Provenance, Report
from dumbbell.papers.seeds import mean, outcome, spread

if TYPE_CHECKING:
    from dumbbell.plots import Picture

TITLE = "A switch that marks above a threshold: version 2 and 3 with ECN on and off, CUBIC with classic ECN"

SCENARIO = Path(__file__).with_name("ecn.toml")
QUICK = "1s"

SENDERS: dict[tuple[str, str], str] = {
    ("bbr2 ecn=false", "false"): "v2",
    ("bbr2 ecn=true", "true"): "v2, ECN",
    ("bbr3 ecn=false", "false"): "v3",
    ("bbr3 ecn=true", "true"): "v3, ECN",
    ("cubic", "false"): "CUBIC",
    ("cubic", "true"): "CUBIC, ECN",
}
"""By the settings of controller and transport."""

CLAIMS = (
    Claim(
        "fam-20",
        "Marks shorten the queue: with ECN it is at most half of what it is without, where four flows meet a threshold "
        "of up to 20 packets (1.2 BDP) at 2 ms.",
        "uses DCTCP-style ECN to maintain its model (commit message of Linux's BBRv3); no number",
    ),
    Claim(
        "fam-21",
        "The share of marks stays within the bound.",
        "ecn_thresh: half of a round's packets (Linux's v2 and v3)",
    ),
    Claim(
        "fam-22",
        "From a threshold of 10 packets (0.6 BDP) on ECN costs less than 2 % of goodput.",
        "no number; DCTCP recommends at least 1/7 BDP for full use (RFC 8257's reference)",
    ),
    Claim(
        "fam-23",
        "Above a minimum round-trip time of 5 ms marks are ignored: at 20 ms they do not halve the queue of four "
        "flows.",
        "ecn_max_rtt: 5 ms (Linux's v2 and v3)",
    ),
)


def reproduce(options: Options) -> Report:
    """Runs every sender at every threshold."""
    result = data.run(SCENARIO, options, quick=QUICK, set={"warmup": "200ms"} if options.quick else None)
    runs = measure(result)
    report = Report(
        study="family",
        part="ecn",
        title=TITLE,
        setup=(
            "100 Mbit/s, 200 packets of buffer, a switch that marks what arrives above the threshold; 2 ms (a BDP of "
            "17 packets) and 20 ms; 20 s of which the first 5 s do not count; three seeds.",
            "The receivers of v2 and v3 echo marks exactly, CUBIC's as RFC 3168 says.",
        ),
        tables=tuple(
            table(runs, name, title, value)
            for name, title, value in (
                ("queue", "Mean queue in packets of 1500 bytes", packets),
                ("marks", "Marked packets, percent", lambda run: 100 * run.marked),
                ("utilisation", "Goodput over what the link can carry, percent", lambda run: 100 * run.utilisation),
                ("loss", "Loss, percent", lambda run: 100 * run.loss),
            )
        ),
        pictures={"ecn": picture_of(runs)},
        judgements=judge(runs),
        provenance=Provenance.of([result], {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report


def packets(run: Run) -> float:
    """Mean queue in packets."""
    return run.queue_ms * run.capacity / (8 * 1.448)


def of(runs: Runs, sender: str, rtt: str, count: str, *thresholds: str) -> Runs:
    """The runs of a sender in a situation, at some thresholds or all."""
    cc, ecn = next(key for key, name in SENDERS.items() if name == sender)
    some = where(runs, cc_0=cc, rtt=rtt, count_0=count)
    some = [run for run in some if run.settings["flows[0].transport.ecn"] == ecn]
    return [run for run in some if not thresholds or run.settings["path.queue.threshold"] in thresholds]


def table(runs: Runs, name: str, title: str, value: Callable[[Run], float]) -> Grid:
    """One row a sender and situation, one column a threshold."""
    thresholds = values(runs, "threshold")
    rows: list[list[Cell]] = [
        [sender, rtt, int(count), *(mean(of(runs, sender, rtt, count, one), value) for one in thresholds)]
        for rtt in values(runs, "rtt")
        for count in values(runs, "count_0")
        for sender in SENDERS.values()
    ]
    columns = ("sender", "RTT", "flows", *(f"threshold: {one.removesuffix('packets')}" for one in thresholds))
    return Grid(f"ecn-{name}", title, columns, rows)


def judge(runs: Runs) -> list[Judgement]:
    """Puts every claim to every run it speaks of."""
    by_id = {claim.id: claim for claim in CLAIMS}
    small = ("3packets", "5packets", "10packets", "20packets")
    large = ("10packets", "20packets", "50packets", "100packets")

    def against(
        rtt: str,
        counts: tuple[str, ...],
        thresholds: tuple[str, ...],
        holds: Callable[[Run, Run], bool],
        value: Callable[[Run], float],
        digits: int,
    ) -> list[Outcome]:
        outcomes = []
        for name in ("v2", "v3"):
            for count in counts:
                on, off = of(runs, f"{name}, ECN", rtt, count, *thresholds), of(runs, name, rtt, count, *thresholds)
                outcomes.append(
                    Outcome(
                        f"{name}, {count} flow{'s' * (count != '1')}",
                        sum(holds(a, b) for a, b in zip(on, off, strict=True)),
                        len(on),
                        f"{spread(map(value, on), digits)} against {spread(map(value, off), digits)}",
                    )
                )
        return outcomes

    marks = [
        outcome(
            f"{name}, {count} flow{'s' * (count != '1')}",
            some,
            lambda run: run.marked <= 0.5,
            spread((100 * run.marked for run in some), 0, " %"),
        )
        for name in ("v2", "v3")
        for count in ("1", "4")
        for some in [of(runs, f"{name}, ECN", "2ms", count)]
    ]
    return [
        Judgement(
            by_id["fam-20"], against("2ms", ("4",), small, lambda a, b: packets(a) <= packets(b) / 2, packets, 1)
        ),
        Judgement(by_id["fam-21"], marks),
        Judgement(
            by_id["fam-22"],
            against(
                "2ms",
                ("1", "4"),
                large,
                lambda a, b: a.utilisation >= b.utilisation - 0.02,
                lambda run: 100 * run.utilisation,
                1,
            ),
        ),
        Judgement(
            by_id["fam-23"],
            against(
                "20ms",
                ("4",),
                tuple(values(runs, "threshold")),
                lambda a, b: packets(a) > packets(b) / 2,
                packets,
                0,
            ),
        ),
    ]


def picture_of(runs: Runs) -> Picture:
    """Queue, marks and use of the link over the threshold, a row a number of flows, at 2 ms."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    from dumbbell.plots.style import INK, legend, look, picture

    thresholds = values(runs, "threshold")
    x = [float(one.removesuffix("packets")) for one in thresholds]

    def style(sender: str) -> dict[str, Any]:
        cc = {"v2": "bbr2", "v3": "bbr3", "CUBIC": "cubic"}[sender.partition(",")[0]]
        on = sender.endswith("ECN")
        return {"color": look(cc).colour, "marker": look(cc).marker, "linestyle": "-" if on else (0, (1.5, 1.2)),
                "markersize": 4, "markerfacecolor": None if on else "white"}  # fmt: skip

    measures: tuple[tuple[str, Callable[[Run], float]], ...] = (
        ("mean queue (packets)", packets),
        ("marked (%)", lambda run: 100 * run.marked),
        ("use of the link (%)", lambda run: 100 * run.utilisation),
    )
    with picture(9.0, 4.6) as figure:
        panels = figure.subplots(2, len(measures), sharex=True, sharey="col")
        for row, count in zip(panels, ("1", "4"), strict=True):
            for axes, (label, value) in zip(row, measures, strict=True):
                for sender in SENDERS.values():
                    if label == "marked (%)" and not sender.endswith("ECN"):
                        continue
                    y = [mean(of(runs, sender, "2ms", count, one), value) for one in thresholds]
                    axes.plot(x, y, **style(sender))
                axes.set_ylabel(label)
                axes.set_title(f"{count} flow{'s' * (count != '1')}", loc="left", fontsize=9)
            row[0].plot(x, x, color=INK, linewidth=0.8)
        panels[0, 0].set_yscale("log")
        panels[0, 0].set_ylim(0.3, 300)
        panels[0, 0].yaxis.set_major_locator(FixedLocator([1, 3, 10, 30, 100]))
        panels[0, 0].yaxis.set_minor_locator(NullLocator())
        panels[0, 0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        for axes in panels[-1]:
            log_ticks(axes, x, "threshold (packets)")
        threshold = Line2D([], [], color=INK, linewidth=0.8, label="threshold")
        legend(figure, [*(Line2D([], [], label=sender, **style(sender)) for sender in SENDERS.values()), threshold])
    return figure
