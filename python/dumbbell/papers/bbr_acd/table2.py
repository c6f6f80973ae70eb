"""Table 2 and figures 3 and 9: two senders of five flows, four scenarios of buffer and random loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.papers import data
from dumbbell.papers.bbr_acd.forms import FORMS, PUBLISHED
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Outcome, Provenance, Report
from dumbbell.papers.seeds import mean, paired, spread

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.plots import Picture
    from dumbbell.results import Result

TITLE = "Two senders of five flows over 10 Mbit/s: large and small buffer, without and with 0.1 % random loss"

SCENARIO = Path(__file__).with_name("table2.toml")
WINDOWS = Path(__file__).with_name("windows.toml")
QUICK = "6s"

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

CLAIMS = (
    Claim("acd-01", "S1: without random loss and with a huge buffer neither algorithm loses packets.", "1 and 1"),
    Claim("acd-02", "S1: without losses BBR-ACD behaves like BBR.", "text; Table 2: goodput +20 %"),
    Claim("acd-03", "S1: the two senders reach equal shares 40 to 50 s after the second one starts.", "50 and 40 s"),
    Claim("acd-04", "S2: BBR-ACD's goodput is at least BBR's.", "9.803 and 8.449 Mbit/s"),
    Claim("acd-05", "S2: BBR-ACD retransmits more than BBR.", "2852 and 636"),
    Claim("acd-06", "S2: BBR-ACD shortens the time to equal shares.", "30 and 70 s"),
    Claim("acd-07", "S3: BBR-ACD at least halves BBR's retransmissions.", "4568 and 9990, ratio 0.457"),
    Claim("acd-08", "S3: BBR-ACD's goodput exceeds BBR's.", "9.644 and 8.824 Mbit/s, ratio 1.093"),
    Claim("acd-09", "S3: BBR-ACD shortens the time to equal shares.", "5 and 30 s"),
    Claim("acd-10", "S3: both senders lose in their startups, the first again when the second starts.", "figure 3"),
    Claim("acd-11", "S3: losses go on at a steady rate to the end.", "figure 3"),
    Claim("acd-12", "S4: BBR-ACD cuts retransmissions by about half.", "5103 and 9539, ratio 0.535 (0.4 to 0.65)"),
    Claim("acd-13", "S4: BBR-ACD's goodput exceeds BBR's.", "9.709 and 8.803 Mbit/s, ratio 1.103"),
    Claim("acd-14", "S4: BBR-ACD shortens the time to equal shares.", "10 and 40 s"),
    Claim("acd-15", "BBR loses more in scenario 4 than in 3.", "text; Table 2: 9539 and 9990"),
    Claim("acd-16", "Except in S2 BBR-ACD retransmits less, and it always sends more.", "Table 2"),
    Claim("acd-26", "Retransmissions are reduced by about half overall.", "-54 % (S3), -47 % (S4)"),
)


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
        import polars as pl

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


Cases = dict[tuple[str, str, str], list[Run]]
"""The runs of each algorithm, round-trip time and scenario, a run for each seed."""


def reproduce(options: Options) -> Report:
    """Runs the four scenarios for BBR and the three forms, at three round-trip times."""
    cases: Cases = {}
    points: list[tuple[int, Run]] = []

    def keep(point: int, result: Result) -> None:
        points.append((point, measure(result)))

    result = data.run(SCENARIO, options, quick=QUICK, set=shortened(options), each=keep)
    for point, run in sorted(points, key=lambda pair: pair[0]):
        settings = result.points[point].settings
        scenario = SCENARIOS[settings["path.buffer"], settings["path.loss"]]
        cases.setdefault((settings["flows[0].cc"], settings["path.rtt"], scenario), []).append(run)
    close_up: dict[int, pl.DataFrame] = {}
    windows = data.run(
        WINDOWS,
        replace(options, repeat=1),
        quick=QUICK,
        each=lambda point, result: close_up.update({point: result.series.to_polars().select("t_s", "flow", "cwnd")}),
    )
    report = Report(
        study="bbr-acd",
        part="table2",
        title=TITLE,
        setup=(
            "Sender 1 starts a flow at 0, 1, 2, 3 and 4 s, sender 2 at 55 to 59 s; 10 Mbit/s with Ethernet framing, "
            "300 s; buffer and random loss: 100,000 packets and none (S1), 100,000 and 0.1 % (S2), 100 and none (S3), "
            "100 and 0.1 % (S4).",
            "The paper does not state the round-trip time: 10, 40 and 100 ms. BBR of Linux 4.14; BBR-ACD as the "
            "authors' kernel module, as the paper words it, and as their ns-3 code.",
            "Transmitted packets and retransmissions of both senders over the whole run; throughput and goodput by the "
            "paper's formula, 1512 bytes a packet. Time to equal shares: from 55 s until the senders' rates differ by "
            "at most 15 % of their sum for 10 s.",
        ),
        tables=(comparison(cases), ratios(cases), fit(cases)),
        pictures={
            "fig3": seconds_picture(cases, BASE, "Figure 3: BBR"),
            "fig9": seconds_picture(cases, "bbr-acd", "Figure 9: BBR-ACD, kernel form"),
            "windows": windows_picture(
                {str(point.settings["flows[0].cc"]): close_up[index] for index, point in enumerate(windows.points)}
            ),
            "fig9-paper": seconds_picture(cases, "bbr-acd-paper", "Figure 9: BBR-ACD, the paper's form"),
        },
        judgements=judge(cases),
        provenance=Provenance.of(
            [result, windows], {path.name: path.read_text(encoding="utf-8") for path in (SCENARIO, WINDOWS)}
        ),
    )
    return report.shortened(QUICK) if options.quick else report


def shortened(options: Options) -> dict[str, str] | None:
    """Both senders must start in a shortened run."""
    return {"flows[1].start": "1s", "flows[0].stagger": "100ms", "flows[1].stagger": "100ms"} if options.quick else None


def measure(result: Result) -> Run:
    """Both senders' counters."""
    import polars as pl

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


# --- tables ----------------------------------------------------------------------------------------------------------


def published() -> dict[tuple[str, str, str], float]:
    """Table 2 by scenario, algorithm (bbr, bbr-acd) and metric."""
    return {(n.case["scenario"], n.case["cc"], n.metric): n.value for n in data.published(PUBLISHED, "table2")}


def equilibrium(runs: Sequence[Run]) -> str:
    """Range over seeds; runs that never settle are counted."""
    found = [run.equilibrium_s for run in runs]
    settled = [value for value in found if value is not None]
    text = spread(settled, 0) if settled else "-"
    return text if len(settled) == len(found) else f"{text} ({len(found) - len(settled)} never)"


def comparison(cases: Cases) -> Grid:
    """Table 2 beside ours at every round-trip time."""
    theirs = published()
    rows: list[list[Cell]] = []
    for scenario in SCENARIOS.values():
        for cc, key in ((BASE, "bbr"), *((form, "bbr-acd") for form in FORMS)):
            name = "BBR" if cc == BASE else f"BBR-ACD {FORMS[cc]}"
            of = {m: theirs[scenario, key, m] for m in ("total_transmitted", "total_retransmitted", "total_goodput",
                                                        "equilibrium_time")}  # fmt: skip
            rows.append([scenario, name, "published", *(float(v) for v in of.values()), ""])
            rows[-1][3:7] = [of["total_transmitted"], of["total_retransmitted"], of["total_goodput"], None]
            rows[-1][7] = f"{of['equilibrium_time']:.0f}"
            for rtt in RTTS:
                runs = cases[cc, rtt, scenario]
                rows.append(
                    [
                        scenario,
                        name,
                        rtt,
                        mean(runs, lambda r: r.sent),
                        mean(runs, lambda r: r.retransmitted),
                        mean(runs, lambda r: r.goodput),
                        mean(runs, lambda r: r.throughput),
                        equilibrium(runs),
                    ]
                )
    columns = ("scenario", "algorithm", "RTT", "transmitted", "retransmitted", "goodput Mbit/s", "throughput Mbit/s",
               "equal shares after s")  # fmt: skip
    return Grid("table2", "Table 2 beside ours", columns, rows)


def ratio(cases: Cases, form: str, rtt: str, scenario: str, value: Callable[[Run], float]) -> float:
    """BBR-ACD over BBR, of means over seeds."""
    base = mean(cases[BASE, rtt, scenario], value)
    return mean(cases[form, rtt, scenario], value) / base if base > 0 else 1.0


def ratios(cases: Cases) -> Grid:
    """BBR-ACD over BBR: retransmissions and goodput."""
    theirs = published()
    rows: list[list[Cell]] = []
    for scenario in SCENARIOS.values():
        of = [
            theirs[scenario, "bbr-acd", metric] / theirs[scenario, "bbr", metric]
            for metric in ("total_retransmitted", "total_goodput")
        ]
        rows.append([scenario, "published", "", *of])
        for form, name in FORMS.items():
            for rtt in RTTS:
                rows.append(
                    [
                        scenario,
                        name,
                        rtt,
                        ratio(cases, form, rtt, scenario, lambda r: r.retransmitted),
                        ratio(cases, form, rtt, scenario, lambda r: r.goodput),
                    ]
                )
    columns = ("scenario", "form", "RTT", "retransmissions: ACD/BBR", "goodput: ACD/BBR")
    return Grid("ratios", "BBR-ACD over BBR", columns, rows, 3)


def fit(cases: Cases) -> Grid:
    """How far BBR's retransmissions at each round-trip time are from the published ones."""
    theirs = published()
    rows: list[list[Cell]] = []
    for rtt in RTTS:
        row: list[Cell] = [rtt]
        for scenario in ("3", "4"):
            ours = mean(cases[BASE, rtt, scenario], lambda r: r.retransmitted)
            row += [ours, ours / theirs[scenario, "bbr", "total_retransmitted"]]
        rows.append(row)
    columns = ("RTT", "S3: BBR retransmits", "S3: ours/published", "S4: BBR retransmits", "S4: ours/published")
    return Grid("fit", "Which round-trip time fits BBR's retransmissions", columns, rows)


# --- claims ----------------------------------------------------------------------------------------------------------


def judge(cases: Cases) -> list[Judgement]:
    """Puts every claim to every form at every round-trip time."""
    by_id = {claim.id: claim for claim in CLAIMS}

    def everywhere(scenario: str, holds: Callable[[Run, Run], bool], ours: Callable[[str, str], str]) -> list[Outcome]:
        return [
            paired(f"{name}, {rtt}", cases[BASE, rtt, scenario], cases[form, rtt, scenario], holds, ours(form, rtt))
            for form, name in FORMS.items()
            for rtt in RTTS
        ]

    def every(
        scenario: str, holds: Callable[[Run, Run], bool], value: Callable[[Run], float], digits: int = 2
    ) -> list[Outcome]:
        def ours(form: str, rtt: str) -> str:
            return f"ratio {ratio(cases, form, rtt, scenario, value):.{digits}f}"

        return everywhere(scenario, holds, ours)

    def sooner(scenario: str) -> list[Outcome]:
        def holds(base: Run, form: Run) -> bool:
            a, b = base.equilibrium_s, form.equilibrium_s
            return b is not None and (a is None or b < a)

        def ours(form: str, rtt: str) -> str:
            found = (equilibrium(cases[one, rtt, scenario]) for one in (form, BASE))
            return f"{' against '.join(found)} s"

        return everywhere(scenario, holds, ours)

    def retransmitted(run: Run) -> float:
        return run.retransmitted

    def goodput(run: Run) -> float:
        return run.goodput

    def single(scenario: str, holds: Callable[[Run], bool], ours: Callable[[Run], float], digits: int) -> list[Outcome]:
        return [
            Outcome(
                f"{'BBR' if cc == BASE else FORMS[cc]}, {rtt}",
                sum(map(holds, cases[cc, rtt, scenario])),
                len(cases[cc, rtt, scenario]),
                spread(map(ours, cases[cc, rtt, scenario]), digits),
            )
            for cc in (BASE, *FORMS)
            for rtt in RTTS
        ]

    def half(base: Run, form: Run) -> bool:
        return 0.4 * base.retransmitted <= form.retransmitted <= 0.65 * base.retransmitted

    def bursts(run: Run) -> bool:
        def bursts_above_steady(label: str, start: float) -> bool:
            steady = max(run.losses(label, 90, run.duration_s) / max(run.duration_s - 90, 1), 1)
            return run.losses(label, start, start + 6) / 6 > steady

        return bursts_above_steady("S1", 0) and bursts_above_steady("S2", 55) and run.losses("S1", 55, 61) > 0

    def lasting(run: Run) -> bool:
        spans = [
            run.losses("S1", t, t + 30) + run.losses("S2", t, t + 30) for t in range(90, int(run.duration_s) - 29, 30)
        ]
        return bool(spans) and min(spans) > 0

    kernel = (
        "The kernel module evaluates its detector on the ACK that enters recovery, and then halves the window with "
        "every ACK of the round, to four packets: fewer losses where the BDP is large, but a drained pipe too. "
        "The paper's form cuts once and restores the window of before at the end, which is not conserving packets as "
        "BBR does: it loses more."
    )
    full = "The link is full all the time: who retransmits less also sends less."
    mixed = "0.1 % of 240,000 packets are 240; nothing else is lost in a buffer of 100,000 packets."
    low = "BBR fills the link in spite of its losses: its goodput cannot rise, and falls where the cuts drain the pipe."
    fifteen = [
        Outcome(
            rtt,
            sum(
                b.retransmitted > a.retransmitted
                for a, b in zip(cases[BASE, rtt, "3"], cases[BASE, rtt, "4"], strict=True)
            ),
            len(cases[BASE, rtt, "3"]),
            f"S3 {mean(cases[BASE, rtt, '3'], retransmitted):.0f}, S4 {mean(cases[BASE, rtt, '4'], retransmitted):.0f}",
        )
        for rtt in RTTS
    ]

    def sixteen(form: str, rtt: str) -> Outcome:
        held = 0
        count = len(cases[BASE, rtt, "1"])
        for seed in range(count):
            runs = {s: (cases[BASE, rtt, s][seed], cases[form, rtt, s][seed]) for s in SCENARIOS.values()}
            less = all(b.retransmitted <= a.retransmitted for s, (a, b) in runs.items() if s != "2")
            held += less and all(b.sent > a.sent for a, b in runs.values())
        return Outcome(f"{FORMS[form]}, {rtt}", held, count, "all four scenarios together")

    overall = [
        Outcome(
            f"{name}, {rtt}",
            sum(half(a, b) for s in ("3", "4") for a, b in zip(cases[BASE, rtt, s], cases[form, rtt, s], strict=True)),
            2 * len(cases[BASE, rtt, "3"]),
            " and ".join(f"{ratio(cases, form, rtt, s, retransmitted):.2f}" for s in ("3", "4")),
        )
        for form, name in FORMS.items()
        for rtt in RTTS
    ]
    return [
        Judgement(by_id["acd-01"], single("1", lambda r: r.retransmitted <= 1, retransmitted, 0)),
        Judgement(
            by_id["acd-02"],
            every("1", lambda a, b: 0.95 <= b.goodput / a.goodput <= 1.05, goodput, 3),
            "Without a loss the code cannot run; the +20 % of Table 2 is another run, not another algorithm.",
        ),
        Judgement(
            by_id["acd-03"],
            single(
                "1",
                lambda r: r.equilibrium_s is not None and 30 <= r.equilibrium_s <= 60,
                lambda r: r.equilibrium_s if r.equilibrium_s is not None else float("nan"),
                0,
            ),
            "Read by eye in the paper.",
        ),
        Judgement(by_id["acd-04"], every("2", lambda a, b: b.goodput >= 0.995 * a.goodput, goodput, 3), mixed),
        Judgement(
            by_id["acd-05"], every("2", lambda a, b: b.retransmitted > 1.1 * a.retransmitted, retransmitted), mixed
        ),
        Judgement(by_id["acd-06"], sooner("2")),
        Judgement(
            by_id["acd-07"], every("3", lambda a, b: b.retransmitted <= 0.5 * a.retransmitted, retransmitted), kernel
        ),
        Judgement(by_id["acd-08"], every("3", lambda a, b: b.goodput > a.goodput, goodput, 3), low),
        Judgement(by_id["acd-09"], sooner("3")),
        Judgement(by_id["acd-10"], single("3", bursts, lambda r: r.losses("S1", 0, 6), 0)),
        Judgement(by_id["acd-11"], single("3", lasting, lambda r: r.losses("S1", 90, 300), 0)),
        Judgement(by_id["acd-12"], every("4", half, retransmitted), kernel),
        Judgement(by_id["acd-13"], every("4", lambda a, b: b.goodput > a.goodput, goodput, 3), low),
        Judgement(by_id["acd-14"], sooner("4")),
        Judgement(by_id["acd-15"], fifteen, "The text says so, Table 2 the reverse."),
        Judgement(by_id["acd-16"], [sixteen(form, rtt) for form in FORMS for rtt in RTTS], full),
        Judgement(by_id["acd-26"], overall, kernel),
    ]


# --- pictures --------------------------------------------------------------------------------------------------------


def seconds_picture(cases: Cases, cc: str, title: str) -> Picture:
    """Packets a second out of and in from each sender, losses as bars, at 40 ms, first seed."""
    from matplotlib.lines import Line2D

    from dumbbell.plots.style import legend, picture

    colours = {"S1": "#D55E00", "S2": "#0072B2"}
    with picture(9.0, 5.6) as figure:
        panels = figure.subplots(2, 2, sharex=True, sharey=True)
        for axes, scenario in zip(panels.flat, SCENARIOS.values(), strict=True):
            run = cases[cc, "40ms", scenario][0]
            for label, colour in colours.items():
                t = range(1, len(run.of(label, "sent")) + 1)
                axes.plot(t, run.of(label, "sent"), color=colour, linewidth=0.6, alpha=0.5)
                axes.plot(t, run.of(label, "arrived"), color=colour, linewidth=1.0)
                # One outline takes much less room in a drawing than a rectangle for each of 300 seconds.
                axes.stairs(run.of(label, "lost"), [0.5, *(second + 0.5 for second in t)], fill=True, color=colour)
            axes.set_title(f"{title}, 40 ms: scenario {scenario}", loc="left", fontsize=9)
        for axes in panels[1]:
            axes.set_xlabel("time (s)")
        for row in panels:
            row[0].set_ylabel("packets a second")
        handles = [Line2D([], [], color=c, label=f"{s} (thin: out, thick: in, bars: lost)") for s, c in colours.items()]
        legend(figure, handles)
    return figure


def windows_picture(frames: dict[str, pl.DataFrame]) -> Picture:
    """Windows of the five flows over two seconds after their startups, for BBR and each form."""
    import polars as pl

    from dumbbell.plots.style import picture

    with picture(9.0, 5.0) as figure:
        panels = figure.subplots(2, 2, sharey=True, sharex=True)
        for axes, (cc, frame) in zip(panels.flat, frames.items(), strict=True):
            end = float(frame["t_s"].max() or 0.0)  # type: ignore[arg-type]
            late = frame.filter(pl.col("t_s") > 0.85 * end)
            for flow in late["flow"].unique().sort():
                one = late.filter(pl.col("flow") == flow)
                axes.plot(one["t_s"], one["cwnd"], linewidth=0.8)
            axes.set_title("BBR" if cc == BASE else f"BBR-ACD, {FORMS[cc]} form", loc="left", fontsize=9)
        for axes in panels[1]:
            axes.set_xlabel("time (s)")
        for row in panels:
            row[0].set_ylabel("window (segments)")
        figure.suptitle("Windows of five flows, 100 packets of buffer, 100 ms", x=0.01, ha="left", fontsize=10)
    return figure
