"""Figures 5 and 10: seven flows over 1 Mbit/s, with one BDP of buffer and with a device queue behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from dumbbell import metrics
from dumbbell.papers import data
from dumbbell.papers.bbr_acd.forms import FORMS, PUBLISHED
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Outcome, Provenance, Report
from dumbbell.papers.seeds import mean, paired, spread

if TYPE_CHECKING:
    from dumbbell.plots import Picture
    from dumbbell.results import Result, SweepResult

TITLE = "Seven flows over 1 Mbit/s and 120 ms in ns-3: drops, duplicates, windows"

SCENARIO = Path(__file__).with_name("simulation.toml")
QUICK = "10s"

BASE = "bbr-ns3-3.41"
PAYLOAD_BITS = 476 * 8
BUFFERS = {"27packets": "27", "127packets": "27 + 100"}
"""Queue in the experiment file, and as the paper has it."""

CLAIMS = (
    Claim("acd-17", "BBR: 42 % of what is counted as sent does not arrive as new data.", "0.42 (0.30 to 0.55)"),
    Claim("acd-18", "BBR-ACD: 3.3 % does not arrive as new data.", "0.033 (below 0.066)"),
    Claim("acd-19", "BBR-ACD reduces that count by about 92 %.", "at least 0.9"),
    Claim(
        "acd-20",
        "Throughput is alike, goodput rises from 0.50 to 0.86 Mbit/s.",
        "throughput 0.87 and 0.895, goodput 0.50 and 0.863 (+/- 10 %)",
    ),
    Claim("acd-21", "BBR's windows are spread unequally over the flows, BBR-ACD's almost equally.", "figures 5a, 10a"),
    Claim("acd-22", "BBR has episodes of a full queue that end in timeouts; BBR-ACD has fewer.", "figure 5"),
    Claim("acd-23", "At the start the RTT rises to about four times its minimum.", "800/200 and 600/125 ms (3 to 6)"),
)


@dataclass(frozen=True)
class Run:
    """One run: counters over all flows, and what the claims ask of the series."""

    sent: int
    unique: float
    """Packets of new payload that arrived."""
    duplicates: int
    """Packets that arrived a second time."""
    drops: int
    """Packets that the queue dropped."""
    timeouts: int
    duration_s: float
    window_jain: float
    """Jain's index of the flows' mean windows after 30 s (after a tenth of a shorter run)."""
    startup_rtt: float
    """Largest RTT of the first 5 s over the smallest."""

    @property
    def duplicate_share(self) -> float:
        """The paper's count: of what arrived, what was not new."""
        return self.duplicates / max(self.unique + self.duplicates, 1)

    @property
    def drop_share(self) -> float:
        """Of what was sent, what the queue dropped."""
        return self.drops / max(self.sent, 1)

    @property
    def throughput(self) -> float:
        """Payload that arrived, duplicates included, Mbit/s."""
        return (self.unique + self.duplicates) * PAYLOAD_BITS / self.duration_s / 1e6

    @property
    def goodput(self) -> float:
        """New payload that arrived, Mbit/s."""
        return self.unique * PAYLOAD_BITS / self.duration_s / 1e6


Cases = dict[tuple[str, str], list[Run]]
"""The runs of each algorithm and queue, a run for each seed."""


def reproduce(options: Options) -> Report:
    """Runs BBR and the three forms with both queues."""
    points: list[tuple[int, Run]] = []
    shown: dict[tuple[str, str], Result] = {}

    def keep(point: int, result: Result) -> None:
        points.append((point, measure(result)))
        cc, buffer = (str(result.meta.settings[key]) for key in ("flows[0].cc", "path.buffer"))
        if result.meta.repeat == 0:
            shown[cc, buffer] = result

    result = data.run(SCENARIO, options, quick=QUICK, each=keep)
    cases = collect(result, points, ("flows[0].cc", "path.buffer"))
    report = Report(
        study="bbr-acd",
        part="simulation",
        title=TITLE,
        setup=(
            "Seven flows from 0 s over 1 Mbit/s and 120 ms (the text's 50 ms at the bottleneck; the 1 ms of Table 1 "
            "contradicts the 125 ms it measured), MSS 476 and 54 bytes of headers, ns-3's transport of 2018, 300 s, "
            "30 seeds.",
            "Queue: one BDP, 27 packets; and 127, what ns-3's device queue of 100 packets behind it makes of it.",
            "The paper's 'sent' is what arrived, duplicates included; its 'lost' are the duplicates: 68,420 "
            "packets of 476 bytes are its printed throughput. Duplicates and drops are reported apart.",
        ),
        tables=(comparison(cases),),
        pictures={
            "fig5": panels(shown[BASE, "127packets"], "Figure 5: BBR, 27 + 100 packets"),
            "fig5-one-queue": panels(shown[BASE, "27packets"], "Figure 5: BBR, 27 packets"),
            "fig10": panels(shown["bbr-acd-ns3", "127packets"], "Figure 10: BBR-ACD, ns-3 form, 27 + 100 packets"),
            "fig10-one-queue": panels(shown["bbr-acd-ns3", "27packets"], "Figure 10: BBR-ACD, ns-3 form, 27 packets"),
        },
        judgements=judge(cases),
        provenance=Provenance.of([result], {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report


def collect(result: SweepResult, points: Sequence[tuple[int, Run]], keys: tuple[str, str]) -> Cases:
    """Orders runs by case and seed."""
    cases: Cases = {}
    for point, run in sorted(points, key=lambda pair: pair[0]):
        settings = result.points[point].settings
        cases.setdefault((str(settings[keys[0]]), str(settings[keys[1]])), []).append(run)
    return cases


def measure(result: Result) -> Run:
    """What the tables and claims need of a run."""
    import polars as pl

    flows = result.flows.to_polars()
    duration = result.meta.sim_s
    jain, startup = 0.0, 1.0
    if len(result.series):
        series = result.series.to_polars()
        windows = series.filter(pl.col("t_s") > duration / 10).group_by("flow").agg(pl.col("cwnd").mean())["cwnd"]
        jain = metrics.jain(windows) or 0.0
        early = series.filter((pl.col("t_s") <= 5) & pl.col("rtt_ms").is_not_null())["rtt_ms"]
        startup = float(early.max()) / float(flows["min_rtt_ms"].min()) if len(early) else 1.0  # type: ignore[arg-type]
    return Run(
        sent=int(flows["sent_total"].sum()),
        unique=float(flows["delivered_bytes_total"].sum()) * 8 / PAYLOAD_BITS,
        duplicates=int(flows["duplicates_total"].sum()),
        drops=int(flows["network_drops_total"].sum()),
        timeouts=int(flows["rto_count_total"].sum()),
        duration_s=duration,
        window_jain=jain,
        startup_rtt=startup,
    )


def name_of(cc: str) -> str:
    """``BBR`` or ``BBR-ACD kernel``."""
    return "BBR" if cc == BASE else f"BBR-ACD {FORMS[cc]}"


def comparison(cases: Cases) -> Grid:
    """Both counts beside the published ones."""
    theirs = {(n.case["cc"], n.metric): n.value for n in data.published(PUBLISHED, "simulation")}
    rows: list[list[Cell]] = []
    for cc in ("bbr", "bbr-acd"):
        received = theirs[cc, "packets_sent"]
        rows.append(
            [
                "BBR" if cc == "bbr" else "BBR-ACD",
                "published",
                None,
                theirs[cc, "packets_received_unique"],
                theirs[cc, "packets_lost"],
                theirs[cc, "packets_lost"] / received,
                None,
                None,
                theirs[cc, "total_throughput"],
                theirs[cc, "total_goodput"],
                None,
            ]
        )
    for (cc, buffer), runs in cases.items():
        rows.append(
            [
                name_of(cc),
                BUFFERS[buffer],
                mean(runs, lambda r: r.sent),
                mean(runs, lambda r: r.unique),
                mean(runs, lambda r: r.duplicates),
                mean(runs, lambda r: r.duplicate_share),
                mean(runs, lambda r: r.drops),
                mean(runs, lambda r: r.drop_share),
                mean(runs, lambda r: r.throughput),
                mean(runs, lambda r: r.goodput),
                mean(runs, lambda r: r.timeouts),
            ]
        )
    columns = ("algorithm", "queue", "transmitted", "new data", "duplicates", "duplicate share", "drops", "drop share",
               "throughput", "goodput", "timeouts")  # fmt: skip
    return Grid("simulation", "Packets and Mbit/s beside the published run", columns, rows, 3)


def judge(cases: Cases) -> list[Judgement]:
    """Puts the claims to both queues and, where they are about BBR-ACD, to every form; the ns-3 form is the paper's."""
    by_id = {claim.id: claim for claim in CLAIMS}
    forms = ("bbr-acd-ns3", "bbr-acd", "bbr-acd-paper")

    def bbr(holds: Callable[[Run], bool], value: Callable[[Run], float], digits: int) -> list[Outcome]:
        return [
            Outcome(
                f"queue {queue}",
                sum(map(holds, cases[BASE, buffer])),
                len(cases[BASE, buffer]),
                f"mean {mean(cases[BASE, buffer], value):.{digits}f}",
            )
            for buffer, queue in BUFFERS.items()
        ]

    def both(holds: Callable[[Run, Run], bool], ours: Callable[[list[Run], list[Run]], str]) -> list[Outcome]:
        return [
            paired(
                f"{FORMS[form]}, queue {queue}",
                cases[BASE, buffer],
                cases[form, buffer],
                holds,
                ours(cases[BASE, buffer], cases[form, buffer]),
            )
            for form in forms
            for buffer, queue in BUFFERS.items()
        ]

    def close(value: float, target: float) -> bool:
        return abs(value - target) <= 0.1 * target

    def fewer(base: Run, form: Run) -> bool:
        return form.duplicates <= 0.1 * base.duplicates

    def numbers(value: Callable[[Run], float], digits: int = 3) -> Callable[[list[Run], list[Run]], str]:
        return lambda a, b: f"{mean(b, value):.{digits}f} against {mean(a, value):.{digits}f}"

    counting = "Counted as the paper does: duplicates of what arrived. Drops are reported beside them."
    halving = (
        "The ns-3 code's detector never fires; it halves the window with every ACK of every recovery and keeps the "
        "window's gain at one until the next PROBE_RTT, so the flows run with one BDP each."
    )
    return [
        Judgement(
            by_id["acd-17"],
            bbr(lambda r: 0.30 <= r.duplicate_share <= 0.55, lambda r: r.duplicate_share, 3),
            f"{counting} bbr-acd/port varies what the paper leaves open: without SACK it is 30 %, else at most 16 %.",
        ),
        Judgement(
            by_id["acd-18"],
            both(lambda _, b: b.duplicate_share <= 0.066, numbers(lambda r: r.duplicate_share)),
            f"{counting} {halving}",
        ),
        Judgement(
            by_id["acd-19"],
            both(
                fewer,
                lambda a, b: (
                    f"-{100 * (1 - fmean(r.duplicates for r in b) / max(fmean(r.duplicates for r in a), 1)):.0f} %"
                ),
            ),
            halving,
        ),
        Judgement(
            by_id["acd-20"],
            both(
                lambda a, b: (
                    close(a.throughput, 0.87)
                    and close(b.throughput, 0.895)
                    and close(a.goodput, 0.50)
                    and close(b.goodput, 0.863)
                ),
                lambda a, b: (
                    f"throughput {mean(a, lambda r: r.throughput):.2f} and {mean(b, lambda r: r.throughput):.2f}, "
                    f"goodput {mean(a, lambda r: r.goodput):.2f} and {mean(b, lambda r: r.goodput):.2f}"
                ),
            ),
            "All but BBR's goodput of 0.50 agree.",
        ),
        Judgement(by_id["acd-21"], both(lambda a, b: b.window_jain > a.window_jain, numbers(lambda r: r.window_jain))),
        Judgement(
            by_id["acd-22"],
            both(lambda a, b: a.timeouts >= 1 and a.timeouts > b.timeouts, numbers(lambda r: r.timeouts, 0)),
        ),
        Judgement(
            by_id["acd-23"],
            [
                Outcome(
                    f"{name_of(cc)}, queue {queue}",
                    sum(3 <= r.startup_rtt <= 6 for r in cases[cc, buffer]),
                    len(cases[cc, buffer]),
                    spread((r.startup_rtt for r in cases[cc, buffer]), 1),
                )
                for cc in (BASE, "bbr-acd-ns3")
                for buffer, queue in BUFFERS.items()
            ],
            "One BDP of buffer allows three times the minimum at most; the device queue behind it explains the rest.",
        ),
    ]


def panels(result: Result, title: str) -> Picture:
    """Window and RTT of each flow, the queue, throughput and goodput."""
    import polars as pl

    from dumbbell.plots.style import INK, look, picture

    series = result.series.to_polars().sort("t_s")
    # Medians, since the samples in recovery and PROBE_RTT of seven flows cover everything else.
    medians = pl.col("cwnd").cast(pl.Float64).rolling_median(10, min_samples=1, center=True).over("flow")
    series = series.with_columns(medians.alias("window"))
    links = result.link_series.to_polars()
    names = {row["name"]: row["link"] for row in result.links.rows()}
    queue = links.filter(pl.col("link") == names["bottleneck"]).sort("t_s")
    with picture(8.4, 5.6) as figure:
        (window, occupancy), (rtt, rate) = figure.subplots(2, 2, sharex=True)
        # Lines of seven flows over each other are one area: of the last one the course can be seen.
        *others, last = series["flow"].unique().sort()
        for flow in (*others, last):
            one = series.filter(pl.col("flow") == flow)
            colour = look("cubic").colour if flow == last else "#BBBBBB"
            name = {last: "one flow", others[0]: "the others"}.get(flow)
            window.plot(one["t_s"], one["window"], color=colour, linewidth=0.7, label=name)
            rtt.plot(one["t_s"], one["rtt_ms"], color=colour, linewidth=0.6)
        occupancy.plot(queue["t_s"], queue["queue_packets"], color=INK, linewidth=0.6)
        # Right after startup ns-3's window may be unlimited for a moment.
        window.set_ylim(0, 1.4 * float(series["window"].quantile(0.995) or 1))
        total = series.group_by("t_s").agg(pl.col("throughput_mbps", "goodput_mbps").sum()).sort("t_s")
        total = total.with_columns(pl.col("throughput_mbps", "goodput_mbps").rolling_mean(10, min_samples=1))
        rate.plot(total["t_s"], total["throughput_mbps"], color=look("cubic").colour, linewidth=0.7, label="link")
        rate.plot(total["t_s"], total["goodput_mbps"], color=look("bbr").colour, linewidth=0.7, label="new data")
        rate.set_ylim(0, 1.1)
        window.legend(loc="upper right", fontsize=7, ncols=2)
        rate.legend(loc="lower right", fontsize=7, ncols=2)
        for axes, label in ((window, "window over 5 s (segments)"), (occupancy, "queue (packets)"), (rtt, "RTT (ms)"),
                            (rate, "rate over 5 s (Mbit/s)")):  # fmt: skip
            axes.set_ylabel(label)
        for axes in (occupancy, rtt):
            axes.set_ylim(bottom=0)
        for axes in (rtt, rate):
            axes.set_xlabel("time (s)")
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
    return figure
