"""Table 2 and figures 3 and 9: two senders of five flows, four scenarios of buffer and random loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from dumbbell.papers.bbr_acd.forms import FOLDER, FORMS, name_of, published_values
from dumbbell.papers.model import Cell, Claim, Grid, Outcome, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.testing import average, each, mean, ranged, spread

if TYPE_CHECKING:
    from dumbbell.plots import Picture
    from dumbbell.results import Result

BASE = "bbr-4.14"
RTTS = ("10ms", "40ms", "100ms")
SCENARIOS = {
    ("100000packets", "0%"): "1",
    ("100000packets", "0.1%"): "2",
    ("100packets", "0%"): "3",
    ("100packets", "0.1%"): "4",
}
"""Buffer and random loss of each scenario."""

PACKET_BITS = 1512 * 8
"""The paper's packet: its throughputs are packets of 1512 bytes in 300 s."""


@dataclass(frozen=True)
class Run:
    """One run: counters of both senders, and what they did in every second."""

    sent: int
    retransmitted: int
    duration_s: float
    seconds: pl.DataFrame
    """Columns ``t_s``, ``label`` (S1, S2), ``sent``, ``arrived``, ``lost``: packets in the second before ``t_s``."""

    @property
    def throughput(self) -> float:
        """Transmitted, by the paper's formula, Mbit/s."""
        return self.sent * PACKET_BITS / self.duration_s / 1e6

    @property
    def goodput(self) -> float:
        """Transmitted less retransmitted, by the paper's formula, Mbit/s."""
        return (self.sent - self.retransmitted) * PACKET_BITS / self.duration_s / 1e6

    def of(self, label: str, column: str) -> list[float]:
        """A column of one sender, second by second."""
        return [float(value) for value in self.seconds.filter(pl.col("label") == label).sort("t_s")[column]]

    @property
    def equilibrium_s(self) -> float | None:
        """Seconds from the second sender's start until the senders' shares are equal; ``None`` if never.

        From 59 s on their rates have to differ by at most 15 % of their sum for ten seconds.
        """
        first, second = self.of("S1", "arrived"), self.of("S2", "arrived")
        close = [abs(a - b) <= 0.15 * (a + b) for a, b in zip(first, second, strict=True)]
        for start in range(59, len(close) - 10 + 1):
            if all(close[start : start + 10]):
                return start - 55.0
        return None

    def losses(self, label: str, start_s: float, end_s: float) -> float:
        """Packets of a sender marked lost in a span."""
        return sum(self.of(label, "lost")[int(start_s) : int(end_s)])


def measure(result: Result) -> Run:
    """Both senders' counters."""
    flows = result.flows.to_polars()
    second = (
        result.series.to_polars()
        .sort("flow", "t_s")
        .with_columns(pl.col("t_s").round(0).cast(pl.Int64))
        .with_columns(
            sent=pl.col("sent_total").diff().over("flow").fill_null(pl.col("sent_total")),
            lost=pl.col("lost_total").diff().over("flow").fill_null(pl.col("lost_total")),
            arrived=pl.col("throughput_mbps") * 1e6 / (1500 * 8),
        )
        .join(flows.select(pl.col("flow"), pl.col("label").cast(pl.String)), on="flow")
        .group_by("label", "t_s")
        .agg(pl.col("sent", "arrived", "lost").sum())
    )
    span = pl.DataFrame({"t_s": range(1, round(result.meta.sim_s) + 1)}).join(
        pl.DataFrame({"label": ["S1", "S2"]}), how="cross"
    )
    return Run(
        sent=int(flows["sent_total"].sum()),
        retransmitted=int(flows["retransmits_total"].sum()),
        duration_s=result.meta.sim_s,
        seconds=span.join(second, on=["label", "t_s"], how="left").fill_null(0).sort("label", "t_s"),
    )


Cases = Mapping[tuple[str, str, str], Sequence[Run]]
"""The runs of each algorithm, round-trip time and scenario, a run for each seed."""


@dataclass(frozen=True)
class Measured:
    """Both experiments."""

    cases: Cases
    windows: Mapping[str, pl.DataFrame]
    """Windows over time of each algorithm."""

    @classmethod
    def of(cls, ran: Ran, windows: Ran) -> Measured:
        """Of the sweeps."""
        found = ran.by("flows[0].cc", "path.rtt", "path.buffer", "path.loss")
        cases = {(cc, rtt, SCENARIOS[buffer, loss]): runs for (cc, rtt, buffer, loss), runs in found.items()}
        return cls(cases, {cc: frames[0] for (cc,), frames in windows.by("flows[0].cc").items()})


def retransmitted(run: Run) -> float:
    """Retransmissions of both senders."""
    return run.retransmitted


def goodput(run: Run) -> float:
    """By the paper's formula, Mbit/s."""
    return run.goodput


# --- tables and figures ----------------------------------------------------------------------------------------------


def equilibrium(runs: Sequence[Run]) -> str:
    """Range over seeds; runs that never settle are counted."""
    found = [run.equilibrium_s for run in runs]
    settled = [value for value in found if value is not None]
    text = spread(settled, 0) if settled else "-"
    return text if len(settled) == len(found) else f"{text} ({len(found) - len(settled)} never)"


def comparison(cases: Cases) -> Grid:
    """Table 2 beside ours at every round-trip time."""
    theirs = published_values("table2")
    columns: dict[str, Callable[[Sequence[Run]], Cell]] = {
        "transmitted": average(lambda run: run.sent),
        "retransmitted": average(retransmitted),
        "goodput Mbit/s": average(goodput),
        "throughput Mbit/s": average(lambda run: run.throughput),
        "equal shares after s": equilibrium,
    }
    metrics = ("total_transmitted", "total_retransmitted", "total_goodput")
    rows: list[Sequence[Cell]] = []
    for scenario in SCENARIOS.values():
        for cc in (BASE, *FORMS):
            key = "bbr" if cc == BASE else "bbr-acd"
            settled = f"{theirs[scenario, key, 'equilibrium_time']:.0f}"
            of = [theirs[scenario, key, metric] for metric in metrics]
            rows.append([scenario, name_of(cc), "published", *of, None, settled])
            ours = (((scenario, name_of(cc), rtt), cases[cc, rtt, scenario]) for rtt in RTTS)
            rows += table("", "", ("scenario", "algorithm", "RTT"), ours, columns).rows
    return Grid("table2", "Table 2 beside ours", ("scenario", "algorithm", "RTT", *columns), rows)


def ratio(pairs: Sequence[tuple[Run, Run]], value: Callable[[Run], float]) -> float:
    """BBR-ACD over BBR, of means over seeds."""
    base = mean(pairs, lambda pair: value(pair[0]))
    return mean(pairs, lambda pair: value(pair[1])) / base if base > 0 else 1.0


def ratios(cases: Cases) -> Grid:
    """BBR-ACD over BBR: retransmissions and goodput."""
    theirs = published_values("table2")
    rows: list[list[Cell]] = []
    for scenario in SCENARIOS.values():
        of = [
            theirs[scenario, "bbr-acd", metric] / theirs[scenario, "bbr", metric]
            for metric in ("total_retransmitted", "total_goodput")
        ]
        rows.append([scenario, "published", "", *of])
        rows += [
            [scenario, FORMS[form], rtt, ratio(pairs, retransmitted), ratio(pairs, goodput)]
            for (form, rtt), pairs in paired(cases, scenario).items()
        ]
    columns = ("scenario", "form", "RTT", "retransmissions: ACD/BBR", "goodput: ACD/BBR")
    return Grid("ratios", "BBR-ACD over BBR", columns, rows, 3)


def fit(cases: Cases) -> Grid:
    """How far BBR's retransmissions at each round-trip time are from the published ones."""
    theirs = published_values("table2")

    def ours(scenario: str) -> Callable[[str], float]:
        return lambda rtt: mean(cases[BASE, rtt, scenario], retransmitted)

    def over_published(scenario: str) -> Callable[[str], float]:
        return lambda rtt: ours(scenario)(rtt) / theirs[scenario, "bbr", "total_retransmitted"]

    columns = {}
    for scenario in ("3", "4"):
        columns[f"S{scenario}: BBR retransmits"] = ours(scenario)
        columns[f"S{scenario}: ours/published"] = over_published(scenario)
    rows = (([rtt], rtt) for rtt in RTTS)
    return table("fit", "Which round-trip time fits BBR's retransmissions", ["RTT"], rows, columns)


def pictures(measured: Measured) -> dict[str, Picture]:
    """Figures 3 and 9, and the windows of all forms."""
    from dumbbell.papers.bbr_acd import figures

    def seconds(cc: str, title: str) -> Picture:
        runs = {scenario: measured.cases[cc, "40ms", scenario][0] for scenario in SCENARIOS.values()}
        return figures.seconds(runs, title)

    return {
        "fig3": seconds(BASE, "Figure 3: BBR"),
        "fig9": seconds("bbr-acd", "Figure 9: BBR-ACD, kernel form"),
        "windows": figures.windows(measured.windows),
        "fig9-paper": seconds("bbr-acd-paper", "Figure 9: BBR-ACD, the paper's form"),
    }


# --- claims ----------------------------------------------------------------------------------------------------------

Pair = tuple[Run, Run]
"""BBR and a form of BBR-ACD, with the same seed."""
Pairs = Sequence[Pair]
Test = Callable[[Measured], list[Outcome]]


def paired(cases: Cases, scenario: str) -> dict[tuple[str, str], list[Pair]]:
    """The pairs of a scenario by form and round-trip time."""
    return {
        (form, rtt): list(zip(cases[BASE, rtt, scenario], cases[form, rtt, scenario], strict=True))
        for form in FORMS
        for rtt in RTTS
    }


def forms(*scenarios: str) -> Callable[[Measured], dict[str, list[Pair]]]:
    """The pairs of some scenarios, one after the other, by the words for form and round-trip time."""
    return lambda measured: {
        f"{name}, {rtt}": [pair for scenario in scenarios for pair in paired(measured.cases, scenario)[form, rtt]]
        for form, name in FORMS.items()
        for rtt in RTTS
    }


def alone(scenario: str) -> Callable[[Measured], dict[str, Sequence[Run]]]:
    """The runs of a scenario, BBR's and each form's."""
    return lambda measured: {
        f"{FORMS.get(cc, 'BBR')}, {rtt}": measured.cases[cc, rtt, scenario] for cc in (BASE, *FORMS) for rtt in RTTS
    }


def less(scenario: str, holds: Callable[[Pair], bool], value: Callable[[Run], float], digits: int = 2) -> Test:
    """A claim about a form beside BBR, told by the quotient of the two."""
    return each(forms(scenario), holds, lambda pairs: f"ratio {ratio(pairs, value):.{digits}f}")


def sooner(scenario: str) -> Test:
    """A form reaches equal shares before BBR does."""

    def holds(pair: Pair) -> bool:
        bbr, form = (run.equilibrium_s for run in pair)
        return form is not None and (bbr is None or form < bbr)

    def ours(pairs: Pairs) -> str:
        bbr, form = zip(*pairs, strict=True)
        return f"{equilibrium(form)} against {equilibrium(bbr)} s"

    return each(forms(scenario), holds, ours)


def half(pair: Pair) -> bool:
    """About half of BBR's retransmissions."""
    return 0.4 * pair[0].retransmitted <= pair[1].retransmitted <= 0.65 * pair[0].retransmitted


def halves(pairs: Pairs) -> str:
    """The quotients of scenarios 3 and 4, which come one after the other."""
    middle = len(pairs) // 2
    return " and ".join(f"{ratio(part, retransmitted):.2f}" for part in (pairs[:middle], pairs[middle:]))


def bursts(run: Run) -> bool:
    """Both senders lose in their startups, the first again when the second starts."""

    def above_steady(label: str, start: float) -> bool:
        steady = max(run.losses(label, 90, run.duration_s) / max(run.duration_s - 90, 1), 1)
        return run.losses(label, start, start + 6) / 6 > steady

    return above_steady("S1", 0) and above_steady("S2", 55) and run.losses("S1", 55, 61) > 0


def lasting(run: Run) -> bool:
    """Losses in every half minute to the end."""
    spans = [run.losses("S1", t, t + 30) + run.losses("S2", t, t + 30) for t in range(90, int(run.duration_s) - 29, 30)]
    return bool(spans) and min(spans) > 0


def settled(run: Run) -> float:
    """Seconds to equal shares, or not a number."""
    return float("nan") if run.equilibrium_s is None else run.equilibrium_s


def four_scenarios(measured: Measured) -> dict[str, list[tuple[Pair, ...]]]:
    """The pairs of all scenarios with the same seed, by form and round-trip time."""
    found = [forms(scenario)(measured) for scenario in SCENARIOS.values()]
    return {choice: list(zip(*(of[choice] for of in found), strict=True)) for choice in found[0]}


def as_table_2(seed: tuple[Pair, ...]) -> bool:
    """Fewer retransmissions except in scenario 2, more packets in all."""
    fewer = all(form.retransmitted <= bbr.retransmitted for i, (bbr, form) in enumerate(seed) if i != 1)
    return fewer and all(form.sent > bbr.sent for bbr, form in seed)


def scenarios_3_and_4(measured: Measured) -> dict[str, list[Pair]]:
    """BBR without and with random loss, with the same seed."""
    cases = measured.cases
    return {rtt: list(zip(cases[BASE, rtt, "3"], cases[BASE, rtt, "4"], strict=True)) for rtt in RTTS}


def random_losses(measured: Measured) -> str:
    """What random loss alone takes, in words."""
    sent = mean([run for rtt in RTTS for run in measured.cases[BASE, rtt, "2"]], lambda run: run.sent)
    return f"0.1 % of {sent:,.0f} packets are {0.001 * sent:.0f}; nothing else is lost in a buffer of 100,000 packets."


KERNEL = (
    "The kernel module evaluates its detector on the ACK that enters recovery, and then halves the window with "
    "every ACK of the round, to four packets: fewer losses where the BDP is large, but a drained pipe too. "
    "The paper's form cuts once and restores the window of before at the end, which is not conserving packets as "
    "BBR does: it loses more."
)
FULL = "The link is full all the time: who retransmits less also sends less."
LOW = "BBR fills the link in spite of its losses: its goodput cannot rise, and falls where the cuts drain the pipe."

# fmt: off
CLAIMS = [
    Claim("acd-01", "S1: without random loss and with a huge buffer neither algorithm loses packets.", "1 and 1",
          each(alone("1"), lambda run: run.retransmitted <= 1, ranged(retransmitted, 0))),
    Claim("acd-02", "S1: without losses BBR-ACD behaves like BBR.", "text; Table 2: goodput +20 %",
          less("1", lambda pair: 0.95 <= pair[1].goodput / pair[0].goodput <= 1.05, goodput, 3),
          "Without a loss the code cannot run; the +20 % of Table 2 is another run, not another algorithm."),
    Claim("acd-03", "S1: the two senders reach equal shares 40 to 50 s after the second one starts.", "50 and 40 s",
          each(alone("1"), lambda run: 30 <= settled(run) <= 60, ranged(settled, 0)), "Read by eye in the paper."),
    Claim("acd-04", "S2: BBR-ACD's goodput is at least BBR's.",
          "9.803 and 8.449 Mbit/s, ratio 1.160 (at least half of the gain: 1.08)",
          less("2", lambda pair: pair[1].goodput >= 1.08 * pair[0].goodput, goodput, 3), random_losses),
    Claim("acd-05", "S2: BBR-ACD retransmits more than BBR.", "2852 and 636",
          less("2", lambda pair: pair[1].retransmitted > 1.1 * pair[0].retransmitted, retransmitted), random_losses),
    Claim("acd-06", "S2: BBR-ACD shortens the time to equal shares.", "30 and 70 s", sooner("2")),
    Claim("acd-07", "S3: BBR-ACD at least halves BBR's retransmissions.", "4568 and 9990, ratio 0.457",
          less("3", lambda pair: pair[1].retransmitted <= 0.5 * pair[0].retransmitted, retransmitted), KERNEL),
    Claim("acd-08", "S3: BBR-ACD's goodput exceeds BBR's.", "9.644 and 8.824 Mbit/s, ratio 1.093",
          less("3", lambda pair: pair[1].goodput > pair[0].goodput, goodput, 3), LOW),
    Claim("acd-09", "S3: BBR-ACD shortens the time to equal shares.", "5 and 30 s", sooner("3")),
    Claim("acd-10", "S3: both senders lose in their startups, the first again when the second starts.", "figure 3",
          each(alone("3"), bursts, ranged(lambda run: run.losses("S1", 0, 6), 0))),
    Claim("acd-11", "S3: losses go on at a steady rate to the end.", "figure 3",
          each(alone("3"), lasting, ranged(lambda run: run.losses("S1", 90, 300), 0))),
    Claim("acd-12", "S4: BBR-ACD cuts retransmissions by about half.", "5103 and 9539, ratio 0.535 (0.4 to 0.65)",
          less("4", half, retransmitted), KERNEL),
    Claim("acd-13", "S4: BBR-ACD's goodput exceeds BBR's.", "9.709 and 8.803 Mbit/s, ratio 1.103",
          less("4", lambda pair: pair[1].goodput > pair[0].goodput, goodput, 3), LOW),
    Claim("acd-14", "S4: BBR-ACD shortens the time to equal shares.", "10 and 40 s", sooner("4")),
    Claim("acd-15", "BBR loses more in scenario 4 than in 3.", "text; Table 2: 9539 and 9990",
          each(scenarios_3_and_4, lambda pair: pair[1].retransmitted > pair[0].retransmitted,
               lambda pairs: f"S3 {mean(pairs, lambda pair: pair[0].retransmitted):.0f}, "
                             f"S4 {mean(pairs, lambda pair: pair[1].retransmitted):.0f}"),
          "The text says so, Table 2 the reverse."),
    Claim("acd-16", "Except in S2 BBR-ACD retransmits less, and it always sends more.", "Table 2",
          each(four_scenarios, as_table_2, lambda _: "all four scenarios together"), FULL),
    Claim("acd-26", "Retransmissions are reduced by about half overall.", "-54 % (S3), -47 % (S4)",
          each(forms("3", "4"), half, halves), KERNEL),
]
# fmt: on

PART = Part(
    "table2",
    "Two senders of five flows over 10 Mbit/s: large and small buffer, without and with 0.1 % random loss",
    [
        Experiment(
            FOLDER / "table2.toml",
            keep=measure,
            # Both senders must start in a shortened run.
            quick={"flows[1].start": "1s", "flows[0].stagger": "100ms", "flows[1].stagger": "100ms"},
        ),
        Experiment(
            FOLDER / "windows.toml",
            keep=lambda result: result.series.to_polars().select("t_s", "flow", "cwnd"),
            once=True,
        ),
    ],
    quick="6s",
    measure=Measured.of,
    setup=[
        "Sender 1 starts a flow at 0, 1, 2, 3 and 4 s, sender 2 at 55 to 59 s; 10 Mbit/s with Ethernet framing, "
        "300 s; buffer and random loss: 100,000 packets and none (S1), 100,000 and 0.1 % (S2), 100 and none (S3), "
        "100 and 0.1 % (S4).",
        "The paper does not state the round-trip time: 10, 40 and 100 ms. BBR of Linux 4.14; BBR-ACD as the "
        "authors' kernel module, as the paper words it, and as their ns-3 code.",
        "Transmitted packets and retransmissions of both senders over the whole run; throughput and goodput by the "
        "paper's formula, 1512 bytes a packet. Time to equal shares: from 55 s until the senders' rates differ by "
        "at most 15 % of their sum for 10 s.",
    ],
    tables=lambda measured: [comparison(measured.cases), ratios(measured.cases), fit(measured.cases)],
    claims=CLAIMS,
    # The kernel module ran on the testbed.
    decides=lambda choice: not choice.startswith((FORMS["bbr-acd-paper"], FORMS["bbr-acd-ns3"])),
    pictures=pictures,
)
