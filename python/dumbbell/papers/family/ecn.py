"""Threshold marking, with and without a reaction to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dumbbell.papers.family.measure import FOLDER, Runs, by, percent_lost, percent_marked, percent_used, queued, where
from dumbbell.papers.model import Claim, Grid, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Run
from dumbbell.papers.testing import across, both, each, paired, ranged

SENDERS: dict[str, tuple[str, str]] = {
    "v2": ("bbr2 ecn=false", "false"),
    "v2, ECN": ("bbr2 ecn=true", "true"),
    "v3": ("bbr3 ecn=false", "false"),
    "v3, ECN": ("bbr3 ecn=true", "true"),
    "CUBIC": ("cubic", "false"),
    "CUBIC, ECN": ("cubic", "true"),
}
"""Settings of controller and transport."""


def of(runs: Runs, sender: str, rtt: str, count: str) -> dict[str, Runs]:
    """The runs of a sender in a situation, by threshold."""
    cc, ecn = SENDERS[sender]
    some = where(runs, cc_0=cc, rtt=rtt, count_0=count)
    return by([run for run in some if run.settings["flows[0].transport.ecn"] == ecn], "threshold")


def tables(runs: Runs) -> list[Grid]:
    """One row a sender and situation, one column a threshold."""
    rows = [
        ((sender, rtt, int(count)), of(runs, sender, rtt, count))
        for rtt in by(runs, "rtt")
        for count in by(runs, "count_0")
        for sender in SENDERS
    ]
    thresholds = {f"threshold: {one.removesuffix('packets')}": one for one in by(runs, "threshold")}
    values: dict[str, tuple[str, Callable[[Run], float]]] = {
        "queue": ("Mean queue in packets of 1500 bytes", queued),
        "marks": ("Marked packets, percent", percent_marked),
        "utilisation": ("Goodput over what the link can carry, percent", percent_used),
        "loss": ("Loss, percent", percent_lost),
    }
    heads = ("sender", "RTT", "flows")
    return [across(f"ecn-{name}", title, heads, rows, thresholds, value) for name, (title, value) in values.items()]


def pictures(runs: Runs) -> Pictures:
    """Queue, marks and use of the link over the threshold, a row a number of flows, at 2 ms."""
    from dumbbell.papers.family import figures

    measures = {"mean queue (packets)": queued, "marked (%)": percent_marked, "use of the link (%)": percent_used}
    rows = {in_words(count): {sender: of(runs, sender, "2ms", count) for sender in SENDERS} for count in ("1", "4")}
    return {"ecn": figures.ecn(rows, measures)}


def in_words(count: str) -> str:
    """``1 flow``, ``4 flows``."""
    return f"{count} flow{'s' * (count != '1')}"


# --- claims ----------------------------------------------------------------------------------------------------------


def versions(
    tail: str, rtt: str, counts: Sequence[str] = ("1", "4"), *thresholds: str
) -> Callable[[Runs], dict[str, Runs]]:
    """Version 2 and 3, with ECN if that is their tail, at some thresholds or all."""

    def chosen(by_threshold: dict[str, Runs]) -> Runs:
        return [run for threshold in thresholds or by_threshold for run in by_threshold[threshold]]

    return lambda runs: {
        f"{name}, {in_words(count)}": chosen(of(runs, f"{name}{tail}", rtt, count))
        for name in ("v2", "v3")
        for count in counts
    }


def on_and_off(rtt: str, counts: Sequence[str], *thresholds: str) -> Callable[[Runs], dict[str, list[tuple[Run, ...]]]]:
    """Runs of :func:`versions` with ECN, each paired with the one without."""
    on, off = (versions(tail, rtt, counts, *thresholds) for tail in (", ECN", ""))
    return lambda runs: {choice: paired(marked, off(runs)[choice]) for choice, marked in on(runs).items()}


CLAIMS = [
    Claim("fam-20",
          "Marks shorten the queue: with ECN it is at most half of what it is without, where four flows meet a "
          "threshold of up to 20 packets (1.2 BDP) at 2 ms.",
          "uses DCTCP-style ECN to maintain its model (commit message of Linux's BBRv3); no number",
          each(on_and_off("2ms", ["4"], "3packets", "5packets", "10packets", "20packets"),
               lambda pair: queued(pair[0]) <= queued(pair[1]) / 2, both(ranged(queued, 1)))),
    Claim("fam-21", "The share of marks stays within the bound.",
          "ecn_thresh: half of a round's packets (Linux's v2 and v3)",
          each(versions(", ECN", "2ms"), lambda run: percent_marked(run) <= 50, ranged(percent_marked, 0, " %"))),
    Claim("fam-22", "From a threshold of 10 packets (0.6 BDP) on ECN costs less than 2 % of goodput.",
          "no number; DCTCP recommends at least 1/7 BDP for full use (RFC 8257's reference)",
          each(on_and_off("2ms", ["1", "4"], "10packets", "20packets", "50packets", "100packets"),
               lambda pair: percent_used(pair[0]) >= percent_used(pair[1]) - 2, both(ranged(percent_used, 1)))),
    Claim("fam-23",
          "Above a minimum round-trip time of 5 ms marks are ignored: at 20 ms they do not halve the queue of four "
          "flows.",
          "ecn_max_rtt: 5 ms (Linux's v2 and v3)",
          each(on_and_off("20ms", ["4"]), lambda pair: queued(pair[0]) > queued(pair[1]) / 2,
               both(ranged(queued, 0)))),
]  # fmt: skip

PART = Part(
    "ecn",
    "A switch that marks above a threshold: version 2 and 3 with ECN on and off, CUBIC with classic ECN",
    [Experiment(FOLDER / "ecn.toml", quick={"warmup": "200ms"})],
    quick="1s",
    measure=lambda ran: ran.runs,
    setup=[
        "100 Mbit/s, 200 packets of buffer, a switch that marks what arrives above the threshold; 2 ms (a BDP of "
        "17 packets) and 20 ms; 20 s of which the first 5 s do not count; three seeds.",
        "The receivers of v2 and v3 echo marks exactly, CUBIC's as RFC 3168 says.",
    ],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)
