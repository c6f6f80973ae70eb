"""The rule itself, read off windows: when a recovery cuts the window, by how much, and what follows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from dumbbell.papers.bbr_acd.forms import FOLDER, FORMS
from dumbbell.papers.model import Cell, Claim, Grid, Outcome, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.testing import outcome
from dumbbell.results import Result

FLOOR = 4
"""BBR's smallest window, packets."""

CASES = {"5": "full queue", "1": "random loss"}
"""By number of flows."""
BY_ACKS = "full queue, losses found by duplicate ACKs"
"""Without RACK, whose timer may find a loss between two ACKs."""


@dataclass(frozen=True)
class Recovery:
    """One fast recovery of a flow; windows in packets."""

    before: float
    first: float
    """After the first ACK."""
    lowest: float
    after: float
    rtt: float
    """RTT at its beginning over BBR's minimum."""

    @property
    def is_congested(self) -> bool:
        """The RTT is above twice its minimum, and the window above what is too near the smallest to be halved."""
        return self.rtt > 2 and self.before > 3 * FLOOR

    @property
    def is_cut(self) -> bool:
        """The first ACK took more than the lost packets away."""
        return self.first <= 0.6 * self.before

    @property
    def is_as_defined(self) -> bool:
        """Half, once, not below the floor, and back again (3 packets of losses and growth aside)."""
        half = max(self.before / 2, FLOOR)
        return self.first <= half + 3 and self.lowest >= min(half, self.first) - 3 and self.after >= self.before - 3


Found = dict[tuple[str, str], list[Recovery]]
"""The recoveries of each form and case, all seeds."""


def recoveries(result: Result) -> list[Recovery]:
    """Every complete fast recovery in PROBE_BW."""
    series = result.series.to_polars().sort("t_s")
    found: list[Recovery] = []
    for flow in sorted(series["flow"].unique()):
        one = series.filter(pl.col("flow") == flow).select("cwnd", "rtt_ms", "cc_min_rtt_ms", "ca_state", "mode")
        previous, entry, lowest = None, None, 0.0
        for cwnd, rtt, least, state, mode in one.iter_rows():
            if state == "recovery" and previous is not None and previous[1] in ("open", "disorder"):
                entry = (previous[0], cwnd, (rtt or 0.0) / least) if mode == "probe_bw" and least else None
                lowest = cwnd
            elif state == "recovery":
                lowest = min(lowest, cwnd)
            elif entry is not None and previous is not None and previous[1] == "recovery":
                if state in ("open", "disorder"):
                    found.append(Recovery(entry[0], entry[1], lowest, cwnd, entry[2]))
                entry = None
            previous = (cwnd, state)
    return found


def measured(ran: Ran, by_acks: Ran) -> Found:
    """By form and case."""
    cases = ran.by("flows[0].cc", "flows[0].count")
    found = {(cc, CASES[count]): [one for run in runs for one in run.kept] for (cc, count), runs in cases.items()}
    others = by_acks.kept_by("flows[0].cc").items()
    return found | {(cc, BY_ACKS): [one for kept in runs for one in kept] for cc, runs in others}


def overview(found: Found) -> Grid:
    """What each form does."""

    def over(value: Callable[[Recovery], float]) -> Callable[[Sequence[Recovery]], Cell]:
        return lambda every: fmean(map(value, every)) if every else None

    columns: dict[str, Callable[[Sequence[Recovery]], Cell]] = {
        "recoveries": len,
        "RTT over minimum": over(lambda one: one.rtt),
        "cuts": lambda every: sum(one.is_cut for one in every),
        "congested": lambda every: sum(one.is_congested for one in every),
        "congested, cut": lambda every: sum(one.is_congested and one.is_cut for one in every),
        "first window over that before": over(lambda one: one.first / one.before),
        "lowest window": over(lambda one: one.lowest),
        "window afterwards over that before": over(lambda one: one.after / one.before),
    }
    rows = (((FORMS[cc], case), every) for (cc, case), every in found.items())
    return table("rule", "Fast recoveries in PROBE_BW, all flows and seeds", ("form", "losses"), rows, columns)


def detects(found: Found) -> list[Outcome]:
    """Cuts where the RTT is above twice its minimum, and none where it is below."""
    outcomes = []
    for cc, form in FORMS.items():
        high = [one for one in found[cc, "full queue"] if one.is_congested]
        low = [one for one in found[cc, "random loss"] if one.rtt < 2]
        above, below = f"{form}, RTT above twice the minimum", f"{form}, random loss, RTT below"
        for choice, every, cut in ((above, high, True), (below, low, False)):
            ours = f"{sum(one.is_cut for one in every)} cut"
            outcomes += [outcome(choice, every, lambda one, cut=cut: one.is_cut is cut, ours)] if every else []  # type: ignore[misc]
    return outcomes or [Outcome("no recovery", 0, 1, "none in a run this short")]


def reacts(found: Found) -> list[Outcome]:
    """Cuts as they are defined."""
    outcomes = []
    for cc, form in FORMS.items():
        if cuts := [one for one in found[cc, "full queue"] if one.is_cut]:
            before, lowest = fmean(one.before for one in cuts), fmean(one.lowest for one in cuts)
            ours = f"from {before:.0f} down to {lowest:.0f} packets on average"
            outcomes.append(outcome(f"{form}, cuts", cuts, lambda one: one.is_as_defined, ours))
    return outcomes or [Outcome("no cut", 0, 1, "none in a run this short")]


CLAIMS = [
    Claim("acd-27",
          "Congestion is inferred when the RTT exceeds twice its minimum, or three samples in a row are alike.",
          "definition (section 4.1)", detects,
          "Counted in recoveries. The ns-3 form cuts in every recovery. The definition itself is the unit test "
          "three_like_round_trips_or_one_of_twice_the_minimum_reveal_a_full_queue of dumbbell-cc."),
    Claim("acd-28",
          "A loss with congestion makes the window min(half, 1 BDP), at least 4; afterwards it is that of before.",
          "definition (section 4.2)", reacts,
          "Counted in cuts. The kernel and ns-3 forms halve with every ACK. Unit tests of dumbbell-cc: "
          "the_papers_acd_halves_the_window_once and the_kernels_acd_halves_the_window_with_every_ack_of_the_round."),
]  # fmt: skip

PART = Part(
    "rule",
    "BBR-ACD's rule: every recovery of a run, by form",
    [
        Experiment(FOLDER / "rule.toml", keep=recoveries),
        Experiment(
            FOLDER / "rule.toml",
            keep=recoveries,
            set={
                "transport.loss_detection": "dupthresh",
                'sweep."flows[0].count"': [5],
                'sweep."path.buffer"': ["100packets"],
                'sweep."path.loss"': ["0%"],
            },
            folder="duplicate-acks",
        ),
    ],
    quick="8s",
    measure=measured,
    setup=[
        "10 Mbit/s and 100 ms: five senders with 100 packets of buffer, whose losses are of congestion, and one "
        "alone with 0.1 % random loss and a short queue. Windows every millisecond, before, in and after each fast "
        "recovery once a flow has found its bandwidth. A cut is a first ACK that takes 40 % of the window away.",
        "The full queue also with losses found by three duplicate ACKs in place of RACK, whose timer starts recoveries "
        "between two ACKs.",
    ],
    tables=lambda found: [overview(found)],
    claims=CLAIMS,
    # The definitions are the paper's; the kernel module and the ns-3 code do other things.
    decides=lambda choice: not choice.startswith((FORMS["bbr-acd"], FORMS["bbr-acd-ns3"])),
)
