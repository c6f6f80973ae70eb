"""Figures 5 and 10: seven flows over 1 Mbit/s, with one BDP of buffer and with a device queue behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from dumbbell import metrics
from dumbbell.papers.bbr_acd.forms import FOLDER, FORMS, name_of, published_values
from dumbbell.papers.model import Cell, Claim, Grid, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.testing import average, each, mean, ranged

if TYPE_CHECKING:
    from dumbbell.plots import Picture
    from dumbbell.results import Result

BASE = "bbr-ns3-3.41"
OWN = "bbr-acd-ns3"
"""The form that the paper simulated."""
PAYLOAD_BITS = 476 * 8
BUFFERS = {"27packets": "27", "127packets": "27 + 100"}
"""Queue in the experiment file, and as the paper has it."""


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


def measure(result: Result) -> Run:
    """What the tables and claims need of a run."""
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


@dataclass(frozen=True)
class Measured:
    """The runs of each algorithm and queue, a run for each seed."""

    cases: Mapping[tuple[str, ...], Sequence[Run]]
    shown: Mapping[tuple[str, ...], Result]
    """The first seed of each, with its series."""

    @classmethod
    def of(cls, ran: Ran) -> Measured:
        """Of the sweep."""
        kept = ran.by("flows[0].cc", "path.buffer")
        return cls({case: [run for run, _ in of] for case, of in kept.items()},
                   {case: of[0][1] for case, of in kept.items()})  # fmt: skip

    def bbr(self) -> dict[str, Sequence[Run]]:
        """BBR alone."""
        return {f"queue {queue}": self.cases[BASE, buffer] for buffer, queue in BUFFERS.items()}

    def both(self) -> dict[str, list[tuple[Run, Run]]]:
        """Pairs of BBR and each form; the ns-3 form is the paper's."""
        return {
            f"{FORMS[form]}, queue {queue}": list(zip(self.cases[BASE, buffer], self.cases[form, buffer], strict=True))
            for form in (OWN, "bbr-acd", "bbr-acd-paper")
            for buffer, queue in BUFFERS.items()
        }

    def startups(self) -> dict[str, Sequence[Run]]:
        """What the paper's two figures show."""
        return {
            f"{name_of(cc)}, queue {queue}": self.cases[cc, buffer]
            for cc in (BASE, OWN)
            for buffer, queue in BUFFERS.items()
        }


def comparison(measured: Measured) -> Grid:
    """Both counts beside the published ones."""
    theirs = published_values("simulation")

    def published(figure: str, cc: str) -> list[Cell]:
        names = ("packets_received_unique", "packets_lost", "packets_sent", "total_throughput", "total_goodput")
        unique, lost, arrived, throughput, goodput = (theirs[figure, cc, name] for name in names)
        return [cc.upper(), "published", None, unique, lost, lost / arrived, None, None, throughput, goodput, None]

    columns: dict[str, Callable[[Sequence[Run]], Cell]] = {
        "transmitted": average(lambda run: run.sent),
        "new data": average(lambda run: run.unique),
        "duplicates": average(lambda run: run.duplicates),
        "duplicate share": average(lambda run: run.duplicate_share),
        "drops": average(lambda run: run.drops),
        "drop share": average(lambda run: run.drop_share),
        "throughput": average(lambda run: run.throughput),
        "goodput": average(lambda run: run.goodput),
        "timeouts": average(lambda run: run.timeouts),
    }
    rows = (((name_of(cc), BUFFERS[buffer]), runs) for (cc, buffer), runs in measured.cases.items())
    title = "Packets and Mbit/s beside the published run"
    ours = table("simulation", title, ("algorithm", "queue"), rows, columns)
    return Grid(
        ours.name, title, ours.columns, [published("Fig 5", "bbr"), published("Fig 10", "bbr-acd"), *ours.rows], 3
    )


def pictures(measured: Measured) -> dict[str, Picture]:
    """Figures 5 and 10 with both queues."""
    from dumbbell.papers.bbr_acd import figures

    drawn = {"fig5": (BASE, "Figure 5: BBR"), "fig10": (OWN, "Figure 10: BBR-ACD, ns-3 form")}
    queues = {"": "127packets", "-one-queue": "27packets"}
    return {
        f"{name}{tail}": figures.simulation(measured.shown[cc, buffer], f"{title}, {BUFFERS[buffer]} packets")
        for name, (cc, title) in drawn.items()
        for tail, buffer in queues.items()
    }


# --- claims ----------------------------------------------------------------------------------------------------------

Pairs = Sequence[tuple[Run, Run]]


def against(value: Callable[[Run], float], digits: int = 3) -> Callable[[Pairs], str]:
    """A form's mean against BBR's."""
    return lambda pairs: (
        f"{mean(pairs, lambda pair: value(pair[1])):.{digits}f} against "
        f"{mean(pairs, lambda pair: value(pair[0])):.{digits}f}"
    )


def reduction(pairs: Pairs) -> str:
    """By how much a form has fewer duplicates than BBR."""
    bbr, form = (mean(pairs, lambda pair, i=i: pair[i].duplicates) for i in range(2))  # type: ignore[misc]
    return f"-{100 * (1 - form / max(bbr, 1)):.0f} %"


RATES: dict[str, Callable[[tuple[Run, Run]], tuple[float, float]]] = {
    "BBR's throughput": lambda pair: (pair[0].throughput, 0.87),
    "BBR-ACD's throughput": lambda pair: (pair[1].throughput, 0.895),
    "BBR's goodput": lambda pair: (pair[0].goodput, 0.50),
    "BBR-ACD's goodput": lambda pair: (pair[1].goodput, 0.863),
}
"""Ours and the published ones."""


def close(ours: float, theirs: float) -> bool:
    """Within a tenth."""
    return abs(ours - theirs) <= 0.1 * theirs


def rates(pairs: Pairs) -> str:
    """Mean throughputs and goodputs."""
    found = [mean(pairs, lambda pair, rate=rate: rate(pair)[0]) for rate in RATES.values()]  # type: ignore[misc]
    return "throughput {:.2f} and {:.2f}, goodput {:.2f} and {:.2f}".format(*found)


def disagreeing(measured: Measured) -> str:
    """Which rates are not near the published ones with the paper's form, in words."""
    every = [pair for choice, pairs in measured.both().items() if choice.startswith("ns3") for pair in pairs]
    off = [name for name, rate in RATES.items() if 2 * sum(close(*rate(pair)) for pair in every) <= len(every)]
    return f"With the ns-3 form all but {' and '.join(off)} agree in most runs." if off else ""


COUNTING = "Counted as the paper does: duplicates of what arrived. Drops are reported beside them."
HALVING = (
    "The ns-3 code's detector never fires; it halves the window with every ACK of every recovery and keeps the "
    "window's gain at one until the next PROBE_RTT, so the flows run with one BDP each."
)

# fmt: off
CLAIMS = [
    Claim("acd-17", "BBR: 42 % of what is counted as sent does not arrive as new data.", "0.42 (0.30 to 0.55)",
          each(Measured.bbr, lambda run: 0.30 <= run.duplicate_share <= 0.55,
               lambda runs: f"mean {mean(runs, lambda run: run.duplicate_share):.3f}"),
          f"{COUNTING} bbr-acd/port varies what the paper leaves open: it is highest without SACK."),
    Claim("acd-18", "BBR-ACD: 3.3 % does not arrive as new data.", "0.033 (half to twice as much)",
          each(Measured.both, lambda pair: 0.0165 <= pair[1].duplicate_share <= 0.066,
               against(lambda run: run.duplicate_share)),
          f"{COUNTING} {HALVING}"),
    Claim("acd-19", "BBR-ACD reduces that count by about 92 %.", "at least 0.9",
          each(Measured.both, lambda pair: pair[1].duplicates <= 0.1 * pair[0].duplicates, reduction), HALVING),
    Claim("acd-20", "Throughput is alike, goodput rises from 0.50 to 0.86 Mbit/s.",
          "throughput 0.87 and 0.895, goodput 0.50 and 0.863 (+/- 10 %)",
          each(Measured.both, lambda pair: all(close(*rate(pair)) for rate in RATES.values()), rates), disagreeing),
    Claim("acd-21", "BBR's windows are spread unequally over the flows, BBR-ACD's almost equally.", "figures 5a, 10a",
          each(Measured.both, lambda pair: pair[1].window_jain > pair[0].window_jain,
               against(lambda run: run.window_jain))),
    Claim("acd-22", "BBR has episodes of a full queue that end in timeouts; BBR-ACD has fewer.", "figure 5",
          each(Measured.both, lambda pair: pair[0].timeouts >= 1 and pair[0].timeouts > pair[1].timeouts,
               against(lambda run: run.timeouts, 0))),
    Claim("acd-23", "At the start the RTT rises to about four times its minimum.", "800/200 and 600/125 ms (3 to 6)",
          each(Measured.startups, lambda run: 3 <= run.startup_rtt <= 6, ranged(lambda run: run.startup_rtt, 1)),
          "One BDP of buffer allows three times the minimum at most; the device queue behind it explains the rest."),
]
# fmt: on

PART = Part(
    "simulation",
    "Seven flows over 1 Mbit/s and 120 ms in ns-3: drops, duplicates, windows",
    [
        Experiment(
            FOLDER / "simulation.toml",
            keep=lambda result: (measure(result), result if result.meta.repeat == 0 else None),
        )
    ],
    quick="10s",
    measure=Measured.of,
    setup=[
        "Seven flows from 0 s over 1 Mbit/s and 120 ms (the text's 50 ms at the bottleneck; the 1 ms of Table 1 "
        "contradicts the 125 ms it measured), MSS 476 and 54 bytes of headers, ns-3's transport of 2018, 300 s, "
        "30 seeds.",
        "Queue: one BDP, 27 packets; and 127, what ns-3's device queue of 100 packets behind it makes of it.",
        "The paper's 'sent' is what arrived, duplicates included; its 'lost' are the duplicates: 68,420 "
        "packets of 476 bytes are its printed throughput. Duplicates and drops are reported apart.",
    ],
    tables=lambda measured: [comparison(measured)],
    claims=CLAIMS,
    # The ns-3 code ran there, and only a device queue behind the bottleneck's explains the RTTs of its startup.
    decides=lambda choice: choice.endswith(BUFFERS["127packets"]) and not choice.startswith(("kernel", "paper")),
    pictures=pictures,
)
