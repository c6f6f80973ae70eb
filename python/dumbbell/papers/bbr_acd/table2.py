"""Table 2 and figures 3 and 9: two senders of five flows, four scenarios of buffer and random loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import polars as pl

from dumbbell.papers.bbr_acd.forms import FOLDER, FORMS, name_of, published_values
from dumbbell.papers.model import Cell, Claim, Grid, Outcome, Pictures, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.runs import Cases, Run, retransmitted, sent, single, together
from dumbbell.papers.testing import average, averaged, both, each, mean, ranged, spread
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


Pair = tuple[Run, ...]
"""BBR and a form of BBR-ACD, with the same seed."""
Pairs = Sequence[Pair]
Test = Callable[[Cases], list[Outcome]]
Seed = TypeVar("Seed")
"""A run, or the runs that a claim compares."""


CHOICES = {f"{name}, {rtt}": (form, rtt) for form, name in FORMS.items() for rtt in RTTS}
"""Form and round-trip time."""


def measured(ran: Ran, windows: Ran) -> Cases:
    """The four scenarios, and the one in which windows are sampled finely."""
    found = ran.by("flows[0].cc", "path.rtt", "path.buffer", "path.loss")
    cases: dict[tuple[str, ...], list[Run]] = {
        (cc, rtt, SCENARIOS[buffer, loss]): runs for (cc, rtt, buffer, loss), runs in found.items()
    }
    return cases | {(cc, "100ms", "windows"): runs for cc, runs in windows.by_one("flows[0].cc").items()}


# --- what is measured ------------------------------------------------------------------------------------------------


def seconds(result: Result) -> pl.DataFrame:
    """Packets of each sender in each second; columns ``t_s``, ``label`` (S1, S2), ``sent``, ``arrived``, ``lost``."""
    labels = result.flows.to_polars().select(pl.col("flow"), pl.col("label").cast(pl.String))
    second = (
        result.series.to_polars()
        .sort("flow", "t_s")
        .with_columns(pl.col("t_s").round(0).cast(pl.Int64))
        .with_columns(
            sent=pl.col("sent_total").diff().over("flow").fill_null(pl.col("sent_total")),
            lost=pl.col("lost_total").diff().over("flow").fill_null(pl.col("lost_total")),
            arrived=pl.col("received_mbps") * 1e6 / (1500 * 8),
        )
        .join(labels, on="flow")
        .group_by("label", "t_s")
        .agg(pl.col("sent", "arrived", "lost").sum())
    )
    every = pl.DataFrame({"t_s": range(1, round(result.meta.sim_s) + 1)})
    span = every.join(pl.DataFrame({"label": ["S1", "S2"]}), how="cross")
    return span.join(second, on=["label", "t_s"], how="left").fill_null(0)


def throughput(run: Run) -> float:
    """Transmitted, by the paper's formula, Mbit/s."""
    return sent(run) * PACKET_BITS / run.duration_s / 1e6


def goodput(run: Run) -> float:
    """Transmitted less retransmitted, by the paper's formula, Mbit/s."""
    return (sent(run) - retransmitted(run)) * PACKET_BITS / run.duration_s / 1e6


def of_sender(run: Run, label: str, column: str) -> list[float]:
    """Packets of one sender, second by second."""
    return [float(value) for value in run.kept.filter(pl.col("label") == label).sort("t_s")[column]]


def losses(run: Run, label: str, start_s: float, end_s: float) -> float:
    """Packets of a sender marked lost in a span."""
    return sum(of_sender(run, label, "lost")[int(start_s) : int(end_s)])


def settled(run: Run) -> float:
    """Seconds from the second sender's start until the senders' shares are equal; not a number if never.

    From 59 s on their rates have to differ by at most 15 % of their sum for ten seconds.
    """
    first, second = of_sender(run, "S1", "arrived"), of_sender(run, "S2", "arrived")
    close = [abs(a - b) <= 0.15 * (a + b) for a, b in zip(first, second, strict=True)]
    return next((start - 55.0 for start in range(59, len(close) - 9) if all(close[start : start + 10])), math.nan)


# --- tables and figures ----------------------------------------------------------------------------------------------


def equilibrium(runs: Sequence[Run]) -> str:
    """Range over seeds; runs that never settle are counted."""
    found = [at for at in map(settled, runs) if not math.isnan(at)]
    text = spread(found, 0) if found else "-"
    return text if len(found) == len(runs) else f"{text} ({len(runs) - len(found)} never)"


def comparison(cases: Cases) -> Grid:
    """Table 2 beside ours at every round-trip time."""
    theirs = published_values("table2")
    columns: dict[str, Callable[[Sequence[Run]], Cell]] = {
        "transmitted": average(sent),
        "retransmitted": average(retransmitted),
        "goodput Mbit/s": average(goodput),
        "throughput Mbit/s": average(throughput),
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


def ratio(pairs: Pairs, value: Callable[[Run], float]) -> float:
    """BBR-ACD over BBR, of means over seeds."""
    base, form = (mean(runs, value) for runs in zip(*pairs, strict=True))
    return form / base if base > 0 else 1.0


def ratios(cases: Cases) -> Grid:
    """BBR-ACD over BBR: retransmissions and goodput."""
    theirs = published_values("table2")
    metrics = {"total_retransmitted": retransmitted, "total_goodput": goodput}
    rows: list[list[Cell]] = []
    for scenario in SCENARIOS.values():
        of = [theirs[scenario, "bbr-acd", metric] / theirs[scenario, "bbr", metric] for metric in metrics]
        rows.append([scenario, "published", "", *of])
        rows += [
            [scenario, *choice.split(", "), *(ratio(pairs, value) for value in metrics.values())]
            for choice, pairs in forms(scenario)(cases).items()
        ]
    columns = ("scenario", "form", "RTT", "retransmissions: ACD/BBR", "goodput: ACD/BBR")
    return Grid("ratios", "BBR-ACD over BBR", columns, rows, 3)


def fit(cases: Cases) -> Grid:
    """How far BBR's retransmissions at each round-trip time are from the published ones."""
    theirs = published_values("table2")

    def ours(scenario: str, reference: float) -> Callable[[str], float]:
        return lambda rtt: mean(cases[BASE, rtt, scenario], retransmitted) / reference

    columns = {}
    for scenario in ("3", "4"):
        columns[f"S{scenario}: BBR retransmits"] = ours(scenario, 1)
        columns[f"S{scenario}: ours/published"] = ours(scenario, theirs[scenario, "bbr", "total_retransmitted"])
    rows = (([rtt], rtt) for rtt in RTTS)
    return table("fit", "Which round-trip time fits BBR's retransmissions", ["RTT"], rows, columns)


def pictures(cases: Cases) -> Pictures:
    """Figures 3 and 9, and the windows of all forms."""
    from dumbbell.papers.bbr_acd import figures

    return {
        "fig3": figures.seconds(cases, BASE, "Figure 3: BBR"),
        "fig9": figures.seconds(cases, "bbr-acd", "Figure 9: BBR-ACD, kernel form"),
        "windows": figures.windows(cases),
        "fig9-paper": figures.seconds(cases, "bbr-acd-paper", "Figure 9: BBR-ACD, the paper's form"),
        "fig9-ns3": figures.seconds(cases, "bbr-acd-ns3", "Figure 9: BBR-ACD, ns-3 form"),
    }


# --- claims ----------------------------------------------------------------------------------------------------------


def forms(scenario: str) -> Callable[[Cases], dict[str, list[Pair]]]:
    """The pairs of a scenario."""
    return together({choice: [(cc, rtt, scenario) for cc in (BASE, form)] for choice, (form, rtt) in CHOICES.items()})


def at_any_rtt(choices: Callable[[Cases], Mapping[str, Sequence[Seed]]]) -> Callable[[Cases], dict[str, list[Seed]]]:
    """What a form does whatever the round-trip time, since the paper states none, and at each of them."""

    def both_ways(cases: Cases) -> dict[str, list[Seed]]:
        alone = {choice: list(runs) for choice, runs in choices(cases).items()}
        together: dict[str, list[Seed]] = {}
        for choice, runs in alone.items():
            together.setdefault(choice.partition(", ")[0], []).extend(runs)
        return together | alone

    return both_ways


def in_both(cases: Cases) -> dict[str, list[Pair]]:
    """The pairs of scenario 3, then those of scenario 4."""
    third, fourth = (at_any_rtt(forms(scenario))(cases) for scenario in ("3", "4"))
    return {choice: [*pairs, *fourth[choice]] for choice, pairs in third.items()}


def alone(scenario: str) -> Callable[[Cases], dict[str, list[Run]]]:
    """The runs of a scenario, BBR's and each form's."""
    return at_any_rtt(
        single(
            {f"BBR, {rtt}": (BASE, rtt, scenario) for rtt in RTTS}
            | {choice: (*of, scenario) for choice, of in CHOICES.items()}
        )
    )


def less(scenario: str, holds: Callable[[Pair], bool], value: Callable[[Run], float], digits: int = 2) -> Test:
    """A claim about a form beside BBR, told by the quotient of the two."""
    return each(at_any_rtt(forms(scenario)), holds, lambda pairs: f"ratio {ratio(pairs, value):.{digits}f}")


def sooner(scenario: str) -> Test:
    """A form reaches equal shares before BBR does."""
    return each(
        at_any_rtt(forms(scenario)),
        lambda pair: settled(pair[1]) < (math.inf if math.isnan(settled(pair[0])) else settled(pair[0])),
        both(equilibrium, "{1} against {0} s"),
    )


def half(pair: Pair) -> bool:
    """About half of BBR's retransmissions."""
    return 0.4 * retransmitted(pair[0]) <= retransmitted(pair[1]) <= 0.65 * retransmitted(pair[0])


def halves(pairs: Pairs) -> str:
    """The quotients of scenarios 3 and 4, which come one after the other."""
    middle = len(pairs) // 2
    return " and ".join(f"{ratio(part, retransmitted):.2f}" for part in (pairs[:middle], pairs[middle:]))


def bursts(run: Run) -> bool:
    """Both senders lose in their startups, the first again when the second starts."""

    def above_steady(label: str, start: float) -> bool:
        steady = max(losses(run, label, 90, run.duration_s) / max(run.duration_s - 90, 1), 1)
        return losses(run, label, start, start + 6) / 6 > steady

    return above_steady("S1", 0) and above_steady("S2", 55) and losses(run, "S1", 55, 61) > 0


def lasting(run: Run) -> bool:
    """Losses in every half minute to the end."""
    spans = [
        losses(run, "S1", t, t + 30) + losses(run, "S2", t, t + 30) for t in range(90, int(run.duration_s) - 29, 30)
    ]
    return bool(spans) and min(spans) > 0


def as_table_2(seed: tuple[Run, ...]) -> bool:
    """Fewer retransmissions except in scenario 2, more packets in all."""
    pairs = list(zip(seed[::2], seed[1::2], strict=True))
    fewer = all(retransmitted(form) <= retransmitted(bbr) for i, (bbr, form) in enumerate(pairs) if i != 1)
    return fewer and all(sent(form) > sent(bbr) for bbr, form in pairs)


four_scenarios = at_any_rtt(
    together(
        {
            choice: [(cc, rtt, scenario) for scenario in SCENARIOS.values() for cc in (BASE, form)]
            for choice, (form, rtt) in CHOICES.items()
        }
    )
)
"""The pairs of all scenarios with the same seed."""
scenarios_3_and_4 = at_any_rtt(together({f"BBR, {rtt}": [(BASE, rtt, "3"), (BASE, rtt, "4")] for rtt in RTTS}))
"""BBR without and with random loss."""


def random_losses(cases: Cases) -> str:
    """What random loss alone takes, in words."""
    packets = mean([run for rtt in RTTS for run in cases[BASE, rtt, "2"]], sent)
    found = f"0.1 % of {packets:,.0f} packets are {0.001 * packets:.0f}"
    return f"{found}; nothing else is lost in a buffer of 100,000 packets."


KERNEL = (
    "The kernel module evaluates its detector on the ACK that enters recovery, and then halves the window with "
    "every ACK of the round, to four packets: fewer losses where the BDP is large, but a drained pipe too. "
    "The paper's form cuts once and restores the window of before at the end, which is not conserving packets as "
    "BBR does: it loses more."
)
FULL = "The link is full all the time: who retransmits less also sends less."
LOW = "BBR fills the link in spite of its losses: its goodput cannot rise, and falls where the cuts drain the pipe."

CLAIMS = [
    Claim("acd-01", "S1: without random loss and with a huge buffer neither algorithm loses packets.", "1 and 1",
          each(alone("1"), lambda run: retransmitted(run) <= 1, ranged(retransmitted, 0))),
    Claim("acd-02", "S1: without losses BBR-ACD behaves like BBR.", "text; Table 2: goodput +20 %",
          less("1", lambda pair: 0.95 <= goodput(pair[1]) / goodput(pair[0]) <= 1.05, goodput, 3),
          "Without a loss the code cannot run; the +20 % of Table 2 is another run, not another algorithm."),
    Claim("acd-03", "S1: the two senders reach equal shares 40 to 50 s after the second one starts.", "50 and 40 s",
          each(alone("1"), lambda run: 30 <= settled(run) <= 60, equilibrium), "Read by eye in the paper."),
    Claim("acd-04", "S2: BBR-ACD's goodput is at least BBR's.",
          "9.803 and 8.449 Mbit/s, ratio 1.160 (at least half of the gain: 1.08)",
          less("2", lambda pair: goodput(pair[1]) >= 1.08 * goodput(pair[0]), goodput, 3), random_losses),
    Claim("acd-05", "S2: BBR-ACD retransmits more than BBR.", "2852 and 636",
          less("2", lambda pair: retransmitted(pair[1]) > 1.1 * retransmitted(pair[0]), retransmitted), random_losses),
    Claim("acd-06", "S2: BBR-ACD shortens the time to equal shares.", "30 and 70 s", sooner("2")),
    Claim("acd-07", "S3: BBR-ACD at least halves BBR's retransmissions.", "4568 and 9990, ratio 0.457",
          less("3", lambda pair: retransmitted(pair[1]) <= 0.5 * retransmitted(pair[0]), retransmitted), KERNEL),
    Claim("acd-08", "S3: BBR-ACD's goodput exceeds BBR's.", "9.644 and 8.824 Mbit/s, ratio 1.093",
          less("3", lambda pair: goodput(pair[1]) > goodput(pair[0]), goodput, 3), LOW),
    Claim("acd-09", "S3: BBR-ACD shortens the time to equal shares.", "5 and 30 s", sooner("3")),
    Claim("acd-10", "S3: both senders lose in their startups, the first again when the second starts.", "figure 3",
          each(alone("3"), bursts, ranged(lambda run: losses(run, "S1", 0, 6), 0))),
    Claim("acd-11", "S3: losses go on at a steady rate to the end.", "figure 3",
          each(alone("3"), lasting, ranged(lambda run: losses(run, "S1", 90, 300), 0))),
    Claim("acd-12", "S4: BBR-ACD cuts retransmissions by about half.", "5103 and 9539, ratio 0.535 (0.4 to 0.65)",
          less("4", half, retransmitted), KERNEL),
    Claim("acd-13", "S4: BBR-ACD's goodput exceeds BBR's.", "9.709 and 8.803 Mbit/s, ratio 1.103",
          less("4", lambda pair: goodput(pair[1]) > goodput(pair[0]), goodput, 3), LOW),
    Claim("acd-14", "S4: BBR-ACD shortens the time to equal shares.", "10 and 40 s", sooner("4")),
    Claim("acd-15", "BBR loses more in scenario 4 than in 3.", "text; Table 2: 9539 and 9990",
          each(scenarios_3_and_4, lambda pair: retransmitted(pair[1]) > retransmitted(pair[0]),
               both(averaged(retransmitted, 0), "S3 {}, S4 {}")),
          "The text says so, Table 2 the reverse."),
    Claim("acd-16", "Except in S2 BBR-ACD retransmits less, and it always sends more.", "Table 2",
          each(four_scenarios, as_table_2, lambda _: "all four scenarios together"), FULL),
    Claim("acd-26", "Retransmissions are reduced by about half overall.", "-54 % (S3), -47 % (S4)",
          each(in_both, half, halves), KERNEL),
]  # fmt: skip

PART = Part(
    "table2",
    "Two senders of five flows over 10 Mbit/s: large and small buffer, without and with 0.1 % random loss",
    [
        Experiment(
            FOLDER / "table2.toml",
            keep=seconds,
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
    measure=measured,
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
    tables=lambda cases: [comparison(cases), ratios(cases), fit(cases)],
    claims=CLAIMS,
    # The kernel module ran on the testbed.
    decides=lambda choice: choice in ("BBR", FORMS["bbr-acd"]),
    pictures=pictures,
)
