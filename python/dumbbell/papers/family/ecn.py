"""Threshold marking, with and without a reaction to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dumbbell.papers.family.measure import (
    FOLDER,
    Run,
    Runs,
    measure,
    pairs,
    percent_lost,
    percent_used,
    values,
    where,
)
from dumbbell.papers.model import Claim, Grid, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.testing import each, mean, ranged, spread

if TYPE_CHECKING:
    from dumbbell.plots import Picture

SENDERS: dict[str, tuple[str, str]] = {
    "v2": ("bbr2 ecn=false", "false"),
    "v2, ECN": ("bbr2 ecn=true", "true"),
    "v3": ("bbr3 ecn=false", "false"),
    "v3, ECN": ("bbr3 ecn=true", "true"),
    "CUBIC": ("cubic", "false"),
    "CUBIC, ECN": ("cubic", "true"),
}
"""Settings of controller and transport."""


def packets(run: Run) -> float:
    """Mean queue in packets."""
    return run.queue_ms * run.capacity / (8 * 1.448)


def percent_marked(run: Run) -> float:
    """Share of packets that were marked, in percent."""
    return 100 * run.marked


def of(runs: Runs, sender: str, rtt: str, count: str, *thresholds: str) -> Runs:
    """The runs of a sender in a situation, at some thresholds or all."""
    cc, ecn = SENDERS[sender]
    some = where(runs, cc_0=cc, rtt=rtt, count_0=count)
    some = [run for run in some if run.settings["flows[0].transport.ecn"] == ecn]
    return [run for run in some if not thresholds or run.settings["path.queue.threshold"] in thresholds]


def tables(runs: Runs) -> list[Grid]:
    """One row a sender and situation, one column a threshold."""

    def by_threshold(name: str, title: str, value: Callable[[Run], float]) -> Grid:
        def column(threshold: str) -> Callable[[tuple[str, str, str]], float]:
            return lambda row: mean(of(runs, *row, threshold), value)

        rows = (
            ((sender, rtt, int(count)), (sender, rtt, count))
            for rtt in values(runs, "rtt")
            for count in values(runs, "count_0")
            for sender in SENDERS
        )
        columns = {f"threshold: {one.removesuffix('packets')}": column(one) for one in values(runs, "threshold")}
        return table(f"ecn-{name}", title, ("sender", "RTT", "flows"), rows, columns)

    return [
        by_threshold("queue", "Mean queue in packets of 1500 bytes", packets),
        by_threshold("marks", "Marked packets, percent", percent_marked),
        by_threshold("utilisation", "Goodput over what the link can carry, percent", percent_used),
        by_threshold("loss", "Loss, percent", percent_lost),
    ]


def pictures(runs: Runs) -> dict[str, Picture]:
    """Queue, marks and use of the link over the threshold, a row a number of flows, at 2 ms."""
    from dumbbell.papers.family import figures

    measures = {"mean queue (packets)": packets, "marked (%)": percent_marked, "use of the link (%)": percent_used}
    thresholds = values(runs, "threshold")
    rows = {
        in_words(count): {
            sender: {
                label: [mean(of(runs, sender, "2ms", count, one), value) for one in thresholds]
                for label, value in measures.items()
            }
            for sender in SENDERS
        }
        for count in ("1", "4")
    }
    return {"ecn": figures.ecn(rows, [float(one.removesuffix("packets")) for one in thresholds])}


def in_words(count: str) -> str:
    """``1 flow``, ``4 flows``."""
    return f"{count} flow{'s' * (count != '1')}"


# --- claims ----------------------------------------------------------------------------------------------------------


def on_and_off(rtt: str, counts: Sequence[str], *thresholds: str) -> Callable[[Runs], dict[str, list[tuple[Run, Run]]]]:
    """Version 2 and 3 with and without ECN."""
    return lambda runs: {
        f"{name}, {in_words(count)}": pairs(
            *(of(runs, sender, rtt, count, *thresholds) for sender in (f"{name}, ECN", name))
        )
        for name in ("v2", "v3")
        for count in counts
    }


def marking(runs: Runs) -> dict[str, Runs]:
    """Version 2 and 3 with ECN at 2 ms."""
    return {
        f"{name}, {in_words(count)}": of(runs, f"{name}, ECN", "2ms", count)
        for name in ("v2", "v3")
        for count in ("1", "4")
    }


def both(value: Callable[[Run], float], digits: int) -> Callable[[Sequence[tuple[Run, Run]]], str]:
    """The ranges with and without ECN."""
    return lambda found: (
        f"{spread((value(on) for on, _ in found), digits)} against {spread((value(off) for _, off in found), digits)}"
    )


# fmt: off
CLAIMS = [
    Claim("fam-20",
          "Marks shorten the queue: with ECN it is at most half of what it is without, where four flows meet a "
          "threshold of up to 20 packets (1.2 BDP) at 2 ms.",
          "uses DCTCP-style ECN to maintain its model (commit message of Linux's BBRv3); no number",
          each(on_and_off("2ms", ["4"], "3packets", "5packets", "10packets", "20packets"),
               lambda pair: packets(pair[0]) <= packets(pair[1]) / 2, both(packets, 1))),
    Claim("fam-21", "The share of marks stays within the bound.",
          "ecn_thresh: half of a round's packets (Linux's v2 and v3)",
          each(marking, lambda run: run.marked <= 0.5, ranged(percent_marked, 0, " %"))),
    Claim("fam-22", "From a threshold of 10 packets (0.6 BDP) on ECN costs less than 2 % of goodput.",
          "no number; DCTCP recommends at least 1/7 BDP for full use (RFC 8257's reference)",
          each(on_and_off("2ms", ["1", "4"], "10packets", "20packets", "50packets", "100packets"),
               lambda pair: pair[0].utilisation >= pair[1].utilisation - 0.02, both(percent_used, 1))),
    Claim("fam-23",
          "Above a minimum round-trip time of 5 ms marks are ignored: at 20 ms they do not halve the queue of four "
          "flows.",
          "ecn_max_rtt: 5 ms (Linux's v2 and v3)",
          each(on_and_off("20ms", ["4"]), lambda pair: packets(pair[0]) > packets(pair[1]) / 2, both(packets, 0))),
]
# fmt: on

PART = Part(
    "ecn",
    "A switch that marks above a threshold: version 2 and 3 with ECN on and off, CUBIC with classic ECN",
    [Experiment(FOLDER / "ecn.toml", quick={"warmup": "200ms"})],
    quick="1s",
    measure=measure,
    setup=[
        "100 Mbit/s, 200 packets of buffer, a switch that marks what arrives above the threshold; 2 ms (a BDP of "
        "17 packets) and 20 ms; 20 s of which the first 5 s do not count; three seeds.",
        "The receivers of v2 and v3 echo marks exactly, CUBIC's as RFC 3168 says.",
    ],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)
