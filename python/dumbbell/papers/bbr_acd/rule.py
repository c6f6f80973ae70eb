"""The rule itself, read off windows: when a recovery cuts the window, by how much, and what follows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from dumbbell.papers import data
from dumbbell.papers.bbr_acd.forms import FORMS
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Outcome, Provenance, Report

if TYPE_CHECKING:
    from dumbbell.results import Result

TITLE = "BBR-ACD's rule: every recovery of a run, by form"

SCENARIO = Path(__file__).with_name("rule.toml")
QUICK = "8s"
FLOOR = 4
"""BBR's smallest window, packets."""

CLAIMS = (
    Claim(
        "acd-27",
        "Congestion is inferred when the RTT exceeds twice its minimum, or three samples in a row are alike.",
        "definition (section 4.1)",
    ),
    Claim(
        "acd-28",
        "A loss with congestion makes the window min(half, 1 BDP), at least 4; afterwards it is that of before.",
        "definition (section 4.2)",
    ),
)

CASES = {"5": "full queue", "1": "random loss"}


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
    def is_cut(self) -> bool:
        """The first ACK took more than the lost packets away."""
        return self.first <= 0.6 * self.before

    @property
    def is_as_defined(self) -> bool:
        """Half, once, not below the floor, and back again (3 packets of losses and growth aside)."""
        half = max(self.before / 2, FLOOR)
        return self.first <= half + 3 and self.lowest >= min(half, self.first) - 3 and self.after >= self.before - 3


Runs = dict[tuple[str, str], list[list[Recovery]]]
"""The recoveries of each form and case, a list for each seed."""


def reproduce(options: Options) -> Report:
    """Runs every form with full queues and with random losses."""
    found: dict[int, list[Recovery]] = {}

    def keep(point: int, result: Result) -> None:
        found[point] = recoveries(result)

    result = data.run(SCENARIO, options, quick=QUICK, each=keep)
    runs: Runs = {}
    for index, point in enumerate(result.points):
        key = str(point.settings["flows[0].cc"]), CASES[str(point.settings["flows[0].count"])]
        runs.setdefault(key, []).append(found[index])
    report = Report(
        study="bbr-acd",
        part="rule",
        title=TITLE,
        setup=(
            "10 Mbit/s and 100 ms: five senders with 100 packets of buffer, whose losses are of congestion, and one "
            "alone with 0.1 % random loss and a short queue. Windows every millisecond, before, in and after each fast "
            "recovery once a flow has found its bandwidth. A cut is a first ACK that takes 40 % of the window away.",
        ),
        tables=(table(runs),),
        pictures={},
        judgements=judge(runs),
        provenance=Provenance.of([result], {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report


def recoveries(result: Result) -> list[Recovery]:
    """Every complete fast recovery in PROBE_BW."""
    import polars as pl

    series = result.series.to_polars().sort("t_s")
    found: list[Recovery] = []
    for flow in sorted(series["flow"].unique()):
        one = series.filter(pl.col("flow") == flow).select("cwnd", "rtt_ms", "cc_min_rtt_ms", "ca_state", "mode")
        previous, entry, lowest = None, None, 0.0
        for cwnd, rtt, least, state, mode in one.iter_rows():
            if state == "recovery" and previous is not None and previous[3] in ("open", "disorder"):
                entry = (previous[0], cwnd, (rtt or 0.0) / least) if mode == "probe_bw" and least else None
                lowest = cwnd
            elif state == "recovery":
                lowest = min(lowest, cwnd)
            elif entry is not None and previous is not None and previous[3] == "recovery":
                if state in ("open", "disorder"):
                    found.append(Recovery(entry[0], entry[1], lowest, cwnd, entry[2]))
                entry = None
            previous = (cwnd, rtt, least, state, mode)
    return found


def table(runs: Runs) -> Grid:
    """What each form does."""
    rows: list[list[Cell]] = []
    for (cc, case), by_seed in runs.items():
        every = [one for seed in by_seed for one in seed]
        cuts = [one for one in every if one.is_cut]

        def over(values: list[float]) -> Cell:
            return fmean(values) if values else None

        rows.append(
            [
                FORMS[cc],
                case,
                len(every),
                over([one.rtt for one in every]),
                len(cuts),
                over([one.first / one.before for one in every]),
                over([one.lowest for one in every]),
                over([one.after / one.before for one in every]),
            ]
        )
    columns = ("form", "losses", "recoveries", "RTT over minimum", "cuts", "first window over that before",
               "lowest window", "window afterwards over that before")  # fmt: skip
    return Grid("rule", "Fast recoveries in PROBE_BW, all flows and seeds", columns, rows)


def judge(runs: Runs) -> list[Judgement]:
    """Puts the definitions to every recovery."""
    by_id = {claim.id: claim for claim in CLAIMS}

    def every(cc: str, case: str) -> list[Recovery]:
        return [one for seed in runs[cc, case] for one in seed]

    detects: list[Outcome] = []
    reacts: list[Outcome] = []
    for cc, form in FORMS.items():
        # What is near the smallest window cannot be halved.
        high = [one for one in every(cc, "full queue") if one.rtt > 2 and one.before > 3 * FLOOR]
        low = [one for one in every(cc, "random loss") if one.rtt < 2]
        for choice, cases, right in (
            (f"{form}, RTT above twice the minimum", high, sum(one.is_cut for one in high)),
            (f"{form}, random loss, RTT below", low, sum(not one.is_cut for one in low)),
        ):
            if cases:
                detects.append(Outcome(choice, right, len(cases), f"{sum(one.is_cut for one in cases)} cut"))
        cuts = [one for one in every(cc, "full queue") if one.is_cut]
        if cuts:
            lowest = fmean(one.lowest for one in cuts)
            before = fmean(one.before for one in cuts)
            ours = f"from {before:.0f} down to {lowest:.0f} packets on average"
            reacts.append(Outcome(f"{form}, cuts", sum(one.is_as_defined for one in cuts), len(cuts), ours))
    return [
        Judgement(
            by_id["acd-27"],
            detects or [Outcome("no recovery", 0, 1, "none in a run this short")],
            "Counted in recoveries. The ns-3 form cuts in every recovery. The definition itself is the unit test "
            "three_like_round_trips_or_one_of_twice_the_minimum_reveal_a_full_queue of dumbbell-cc.",
        ),
        Judgement(
            by_id["acd-28"],
            reacts or [Outcome("no cut", 0, 1, "none in a run this short")],
            "Counted in cuts. The kernel and ns-3 forms halve with every ACK. Unit tests of dumbbell-cc: "
            "the_papers_acd_halves_the_window_once and the_kernels_acd_halves_the_window_with_every_ack_of_the_round.",
        ),
    ]
