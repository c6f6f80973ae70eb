"""Figures 5 and 10: seven flows over 1 Mbit/s, with a short and a long queue, with SACK and without."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from dumbbell import metrics
from dumbbell.inference import mean_interval
from dumbbell.papers.bbr_acd.forms import FOLDER, FORMS, name_of, published_values
from dumbbell.papers.model import Cell, Claim, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.runs import Cases, Run, drops, duplicates, loss, sent, single, summed, timeouts, together
from dumbbell.papers.testing import average, averaged, both, each, mean, near, paired, ranged
from dumbbell.results import Result

BASE = "bbr-ns3-3.41"
OWN = "bbr-acd-ns3"
"""The form that the paper simulated."""
PAYLOAD_BITS = 476 * 8
BUFFERS = {"27packets": "27", "127packets": "27 + 100"}
"""Queue in the experiment file, and as the paper has it."""
NO_SACK = "no SACK"
SETUPS = {**BUFFERS, NO_SACK: f"27 + 100, {NO_SACK}"}
"""The queues, and the longer one with a transport that has no SACK."""


@dataclass(frozen=True)
class Course:
    """What is kept of a run's series."""

    window_jain: float
    """Jain's index of the flows' mean windows after 30 s (after a tenth of a shorter run)."""
    startup_rtt: float
    """Largest RTT of the first 5 s over the smallest."""
    result: Result | None = None
    """All of it, of the first seed."""

    @classmethod
    def of(cls, result: Result) -> Course:
        """The course of a run."""
        series = result.series.to_polars()
        late = series.filter(pl.col("t_s") > result.meta.sim_s / 10)
        early = series.filter((pl.col("t_s") <= 5) & pl.col("rtt_ms").is_not_null())["rtt_ms"]
        least = result.flows.to_polars()["min_rtt_ms"].min()
        return cls(
            metrics.jain(late.group_by("flow").agg(pl.col("cwnd").mean())["cwnd"]) or 0.0,
            float(early.max()) / float(least) if len(early) else 1.0,  # type: ignore[arg-type]
            result if result.meta.repeat == 0 else None,
        )


def measured(ran: Ran, no_sack: Ran) -> Cases:
    """By algorithm and set-up."""
    without = {(cc, NO_SACK): runs for cc, runs in no_sack.by_one("flows[0].cc").items()}
    return ran.by("flows[0].cc", "path.buffer") | without


# --- what is measured ------------------------------------------------------------------------------------------------


def unique(run: Run) -> float:
    """Packets of new payload that arrived."""
    return summed("delivered_bytes_total")(run) * 8 / PAYLOAD_BITS


def duplicate_share(run: Run) -> float:
    """The paper's count: of what arrived, what was not new."""
    return duplicates(run) / max(unique(run) + duplicates(run), 1)


def throughput(run: Run) -> float:
    """Payload that arrived, duplicates included, Mbit/s."""
    return (unique(run) + duplicates(run)) * PAYLOAD_BITS / run.duration_s / 1e6


def goodput(run: Run) -> float:
    """New payload that arrived, Mbit/s."""
    return unique(run) * PAYLOAD_BITS / run.duration_s / 1e6


def reduction(pairs: Sequence[tuple[Run, ...]]) -> float:
    """How much of BBR's duplicates a form saves."""
    bbr, form = (mean(runs, duplicates) for runs in zip(*pairs, strict=True))
    return 1 - form / max(bbr, 1)


MEASURES: dict[str, Callable[[Run], float]] = {
    "transmitted": sent,
    "new data": unique,
    "duplicates": duplicates,
    "duplicate share": duplicate_share,
    "drops": drops,
    "drop share": loss,
    "throughput": throughput,
    "goodput": goodput,
    "timeouts": timeouts,
}


def columns(*names: str) -> dict[str, Callable[[Sequence[Run]], Cell]]:
    """Means of some measures as columns of a table."""
    return {name: average(MEASURES[name]) for name in names}


# --- tables and figures ----------------------------------------------------------------------------------------------


def comparison(cases: Cases) -> Grid:
    """Both counts beside the published ones."""
    theirs = published_values("simulation")

    def published(figure: str, cc: str) -> list[Cell]:
        names = ("packets_received_unique", "packets_lost", "packets_sent", "total_throughput", "total_goodput")
        unique, lost, arrived, throughput, goodput = (theirs[figure, cc, name] for name in names)
        return [cc.upper(), "published", None, unique, lost, lost / arrived, None, None, throughput, goodput, None]

    above = [published("Fig 5", "bbr"), published("Fig 10", "bbr-acd")]
    rows = (((name_of(cc), SETUPS[setup]), runs) for (cc, setup), runs in cases.items())
    title = "Packets and Mbit/s beside the published run"
    return table("simulation", title, ("algorithm", "queue"), rows, columns(*MEASURES), 3, above)


PACKETS = {"new data": "packets_received_unique", "duplicates": "packets_lost"}
RATES_AND_SHARES = {"duplicate share": "loss_share", "throughput": "total_throughput", "goodput": "total_goodput"}
"""Our measures and the published ones."""

INTERVAL: dict[str, Callable[[Sequence[float]], Cell]] = {
    "mean": fmean,
    "95 %: low": lambda values: confident(values)[0],
    "95 %: high": lambda values: confident(values)[1],
    "seeds: least": min,
    "seeds: most": max,
}


def intervals(cases: Cases) -> list[Grid]:
    """Means over seeds with 95 % confidence intervals, BBR's and the published form's."""
    theirs = published_values("simulation")

    def rows(measures: Mapping[str, str]) -> list[tuple[Sequence[Cell], Sequence[float]]]:
        return [
            (
                (name_of(cc), queue, measure, theirs[figure, name, metric] / (100 if metric == "loss_share" else 1)),
                [MEASURES[measure](run) for run in cases[cc, setup]],
            )
            for setup, queue in SETUPS.items()
            for cc, figure, name in ((BASE, "Fig 5", "bbr"), (OWN, "Fig 10", "bbr-acd"))
            for measure, metric in measures.items()
        ]

    saved: list[tuple[Sequence[Cell], Sequence[float]]] = [
        (
            ("BBR-ACD ns3 over BBR", queue, "fewer duplicates", 0.92),
            [reduction([pair]) for pair in paired(cases[BASE, setup], cases[OWN, setup])],
        )
        for setup, queue in SETUPS.items()
    ]
    title = "Means over seeds with 95 % confidence intervals (Student's t), and single runs"
    heads = ("algorithm", "queue", "measure", "published")
    return [
        table("intervals-packets", f"{title}, packets", heads, rows(PACKETS), INTERVAL),
        table("intervals", f"{title}, shares and Mbit/s", heads, rows(RATES_AND_SHARES) + saved, INTERVAL, 3),
    ]


def confident(values: Sequence[float]) -> tuple[float, float]:
    """The interval of the mean; of a single run just that."""
    interval = mean_interval(values)
    return (interval.low, interval.high) if interval is not None and interval.n > 1 else (values[0], values[0])


def pictures(cases: Cases) -> Pictures:
    """Figures 5 and 10 in each set-up."""
    from dumbbell.papers.bbr_acd import figures

    drawn = {"fig5": (BASE, "Figure 5: BBR"), "fig10": (OWN, "Figure 10: BBR-ACD, ns-3 form")}
    setups = {"": "127packets", "-one-queue": "27packets", "-no-sack": NO_SACK}
    return {
        f"{name}{tail}": figures.simulation(
            cases[cc, setup][0].kept.result, f"{title}, queue {SETUPS[setup]}", 27 if setup == "27packets" else 127
        )
        for name, (cc, title) in drawn.items()
        for tail, setup in setups.items()
    }


# --- claims ----------------------------------------------------------------------------------------------------------


bbr = single({f"queue {queue}": (BASE, setup) for setup, queue in SETUPS.items()})
"""BBR alone."""
pairs = together(
    {
        f"{FORMS[form]}, queue {queue}": ((BASE, setup), (form, setup))
        for form in (OWN, "bbr-acd", "bbr-acd-paper")
        for setup, queue in SETUPS.items()
    }
)
"""Pairs of BBR and each form; the ns-3 form is the paper's."""
startups = single(
    {f"{name_of(cc)}, queue {queue}": (cc, setup) for cc in (BASE, OWN) for setup, queue in SETUPS.items()}
)
"""What the paper's two figures show."""


def against(value: Callable[[Run], float], digits: int = 3) -> Callable[[Sequence[tuple[Run, ...]]], str]:
    """A form's mean against BBR's."""
    return both(averaged(value, digits), "{1} against {0}")


RATES = {
    "BBR's throughput": (0, throughput, 0.87),
    "BBR-ACD's throughput": (1, throughput, 0.895),
    "BBR's goodput": (0, goodput, 0.50),
    "BBR-ACD's goodput": (1, goodput, 0.863),
}
"""Of BBR or the form, ours and the published ones."""


def agrees(pair: tuple[Run, ...], name: str) -> bool:
    """Whether one of the rates is near the published one."""
    which, value, theirs = RATES[name]
    return near(value(pair[which]), theirs, 0.1)


def disagreeing(cases: Cases) -> str:
    """Which rates are not near the published ones with the paper's form, in words."""
    every = [pair for choice, of in pairs(cases).items() if choice.startswith("ns3") for pair in of]
    off = [name for name in RATES if 2 * sum(agrees(pair, name) for pair in every) <= len(every)]
    return f"With the ns-3 form all but {' and '.join(off)} agree in most runs." if off else ""


AND = "{} and {}"
COUNTING = "Counted as the paper does: duplicates of what arrived. Drops are reported beside them."
HALVING = (
    "The ns-3 code's detector never fires; it halves the window with every ACK of every recovery and keeps the "
    "window's gain at one until the next PROBE_RTT, so the flows run with one BDP each."
)

CLAIMS = [
    Claim("acd-17", "BBR: 42 % of what is counted as sent does not arrive as new data.", "0.42 (0.30 to 0.55)",
          each(bbr, lambda run: 0.30 <= duplicate_share(run) <= 0.55,
               lambda runs: f"mean {mean(runs, duplicate_share):.3f}"),
          f"{COUNTING} bbr-acd/port varies what the paper leaves open: no transport with SACK comes near."),
    Claim("acd-18", "BBR-ACD: 3.3 % does not arrive as new data.", "0.033 (half to twice as much)",
          each(pairs, lambda pair: 0.0165 <= duplicate_share(pair[1]) <= 0.066, against(duplicate_share)),
          f"{COUNTING} {HALVING}"),
    Claim("acd-19", "BBR-ACD reduces that count by about 92 %.", "at least 0.9",
          each(pairs, lambda pair: duplicates(pair[1]) <= 0.1 * duplicates(pair[0]),
               lambda found: f"-{100 * reduction(found):.0f} %"), HALVING),
    Claim("acd-20", "Throughput is alike, goodput rises from 0.50 to 0.86 Mbit/s.",
          "throughput 0.87 and 0.895, goodput 0.50 and 0.863 (+/- 10 %)",
          each(pairs, lambda pair: all(agrees(pair, name) for name in RATES),
               lambda found: f"throughput {both(averaged(throughput), AND)(found)}, "
                             f"goodput {both(averaged(goodput), AND)(found)}"), disagreeing),
    Claim("acd-21", "BBR's windows are spread unequally over the flows, BBR-ACD's almost equally.", "figures 5a, 10a",
          each(pairs, lambda pair: pair[1].kept.window_jain > pair[0].kept.window_jain,
               against(lambda run: run.kept.window_jain))),
    Claim("acd-22", "BBR has episodes of a full queue that end in timeouts; BBR-ACD has fewer.", "figure 5",
          each(pairs, lambda pair: timeouts(pair[0]) >= 1 and timeouts(pair[0]) > timeouts(pair[1]),
               against(timeouts, 0))),
    Claim("acd-23", "At the start the RTT rises to about four times its minimum.", "800/200 and 600/125 ms (3 to 6)",
          each(startups, lambda run: 3 <= run.kept.startup_rtt <= 6,
               ranged(lambda run: run.kept.startup_rtt, 1)),
          "One BDP of buffer allows three times the minimum at most; the device queue behind it explains the rest."),
]  # fmt: skip

PART = Part(
    "simulation",
    "Seven flows over 1 Mbit/s and 120 ms in ns-3: drops, duplicates, windows",
    [
        Experiment(FOLDER / "simulation.toml", keep=Course.of),
        Experiment(
            FOLDER / "simulation.toml",
            keep=Course.of,
            set={"transport.sack": False, 'sweep."path.buffer"': ["127packets"]},
            folder="no-sack",
        ),
    ],
    quick="10s",
    measure=measured,
    setup=[
        "Seven flows from 0 s over 1 Mbit/s and 120 ms (the text's 50 ms at the bottleneck; the 1 ms of Table 1 "
        "contradicts the 125 ms it measured), MSS 476 and 54 bytes of headers, ns-3's transport of 2018, 300 s, "
        "30 seeds.",
        "Queue: one BDP, 27 packets; 127, what ns-3's device queue of 100 packets behind it makes of it; and 127 with "
        "a transport without SACK, on which the claims are judged.",
        "The paper's 'sent' is what arrived, duplicates included; its 'lost' are the duplicates: 68,420 "
        "packets of 476 bytes are its printed throughput. Duplicates and drops are reported apart.",
    ],
    tables=lambda cases: [comparison(cases), *intervals(cases)],
    claims=CLAIMS,
    # The ns-3 code ran there, only a device queue behind the bottleneck's explains the RTTs of its startup, and with
    # SACK nothing that was tried gives BBR half of the duplicates that the paper counts.
    decides=lambda choice: choice.endswith(SETUPS[NO_SACK]) and not choice.startswith(("kernel", "paper")),
    pictures=pictures,
)
