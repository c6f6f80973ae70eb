"""Table II and figures 2 to 6: throughput of each flow by buffer, and pacing rates, in both versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from dumbbell.papers.kato.measure import (
    BUFFERS,
    FOLDER,
    STARVED_MBPS,
    fast,
    is_split,
    published_values,
    starved,
    unevenness,
)
from dumbbell.papers.model import Cell, Claim, Grid, Outcome, Pictures, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.runs import Cases, Run, deviation, fastest, jain, single, slowest, timeouts, together, total
from dumbbell.papers.testing import average, averaged, each, mean, near, outcome, ranged, spread
from dumbbell.results import Result

OLD, NEW = "ns-3.40", "ns-3.44"
OWN_TOLERANCE = "within a quarter of that, a tolerance of ours"
TRAP_MBPS = 0.2 * 1420 * 8 / 0.12 / 1e6
"""0.2 packets a round trip."""


@dataclass(frozen=True)
class Pacing:
    """Pacing and delivery of every flow of one run."""

    frame: pl.DataFrame
    """Columns ``t_s``, ``flow``, ``pacing_mbps``, ``goodput_mbps``."""

    @classmethod
    def of(cls, result: Result) -> Pacing:
        """Of a run."""
        return cls(result.series.to_polars().select("t_s", "flow", "pacing_mbps", "goodput_mbps"))

    def at(self, time_s: float) -> float:
        """A time of the study's 50 s in a run that may be shorter."""
        return time_s / 50 * float(self.frame["t_s"].max() or 0.0)  # type: ignore[arg-type]

    def rates(self, start_s: float) -> pl.Series:
        """Mean rate of each flow in ten seconds."""
        span = pl.col("t_s").is_between(self.at(start_s), self.at(start_s + 10), closed="right")
        means = self.frame.filter(span).group_by("flow").agg(pl.col("goodput_mbps").mean())
        return means.sort("flow")["goodput_mbps"]

    @property
    def correlation(self) -> float:
        """Rank correlation of flow rates at 10 to 20 s and 40 to 50 s."""
        both = pl.DataFrame({"a": self.rates(10), "b": self.rates(40)})
        return float(both.select(pl.corr("a", "b", method="spearman")).item() or 0.0)

    @property
    def remaining(self) -> float:
        """Share of the flows starved at 10 to 20 s that are starved at 40 to 50 s."""
        starved = [after < 1 for before, after in zip(self.rates(10), self.rates(40), strict=True) if before < 1]
        return sum(starved) / len(starved) if starved else 0.0

    def after(self, start_s: float) -> pl.DataFrame:
        """The frame after a time."""
        return self.frame.filter(pl.col("t_s") > self.at(start_s))

    @property
    def peaks(self) -> list[float]:
        """What each flow paces at most after 20 s, ascending."""
        return sorted(self.after(20).group_by("flow").agg(pl.col("pacing_mbps").max())["pacing_mbps"])

    @property
    def levels(self) -> tuple[float, float, float]:
        """5th, 50th and 95th percentile of the pacing rate of flow 5 after 10 s."""
        values = sorted(self.after(10).filter(pl.col("flow") == 5)["pacing_mbps"]) or [0.0]
        low, middle, high = (values[min(int(share * len(values)), len(values) - 1)] for share in (0.05, 0.5, 0.95))
        return low, max(middle, 1e-9), high


def measured(ran: Ran) -> Cases:
    """Both versions at every buffer."""
    found = ran.by("flows[0].label", "path.buffer")
    return {(version, buffer.removesuffix("packets")): runs for (version, buffer), runs in found.items()}


# --- tables and figures ----------------------------------------------------------------------------------------------


def tables(cases: Cases) -> list[Grid]:
    """Table II beside ours, and how many flows are starved and fast."""
    totals, deviations = published_values("throughput_total"), published_values("throughput_stddev")

    def column(version: str, value: Callable[[Sequence[Run]], Cell]) -> Callable[[str], Cell]:
        return lambda buffer: value(cases[version, buffer])

    comparison: dict[str, Callable[[str], Cell]] = {
        "ns-3.40 total: published": totals.__getitem__,
        "ns-3.40 total: ours": column(OLD, average(total)),
        "ns-3.40 total: over seeds": column(OLD, ranged(total, 0)),
        "ns-3.40 total: ratio": lambda buffer: mean(cases[OLD, buffer], total) / totals[buffer],
        "ns-3.40 deviation: published": deviations.__getitem__,
        "ns-3.40 deviation: ours": column(OLD, average(deviation)),
        "ns-3.44: total": column(NEW, average(total)),
        "ns-3.44: deviation": column(NEW, average(deviation)),
    }
    counts: dict[str, Callable[[Sequence[Run]], Cell]] = {
        "below 1 Mbit/s": ranged(starved, 0),
        "above 50 Mbit/s": ranged(fast, 0),
        "runs with 4 starved": lambda runs: sum(map(is_split, runs)),
        "of": len,
        "Jain": average(jain),
        "slowest": ranged(slowest, 2),
        "fastest": ranged(fastest, 1),
        "timeouts": average(timeouts),
    }
    buffers = (([buffer], buffer) for buffer in BUFFERS)
    title = "Flows that starve and flows that are fast, ranges over seeds"
    return [
        table("table2", "Throughput of 16 flows in Mbit/s beside Table II", ["buffer"], buffers, comparison),
        table("flows", title, ("version", "buffer"), cases.items(), counts),
    ]


LOST = {6: "#D55E00", 12: "#0072B2"}
"""The flows of figure 4 and their colours: in the study flow 6 is fast, flow 12 starves."""


def told_apart(runs: Sequence[Run]) -> pl.DataFrame:
    """The course of the first run in which flow 12 starves and flow 6 does not, or of the first if there is none."""
    fits = (run for run in runs if run.rates[12] < STARVED_MBPS <= run.rates[6])
    frame: pl.DataFrame = next(fits, runs[0]).kept.frame
    return frame


def pictures(cases: Cases) -> Pictures:
    """Figures 2 to 6."""
    from dumbbell.papers.kato import figures

    shown = {OLD: (told_apart(cases[OLD, "100"]), LOST), NEW: (cases[NEW, "100"][0].kept.frame, {5: "#0072B2"})}
    first = {f"{version}, {buffer} packets": runs[0] for (version, buffer), runs in cases.items()}
    return {
        "fig2": figures.sorted_rates(first, 2, 9.0, 4.6, 9),
        "fig3": figures.boxes(cases),
        "fig4": figures.pacing(shown, TRAP_MBPS),
    }


# --- claims ----------------------------------------------------------------------------------------------------------


def at(*buffers: str) -> Callable[[Cases], dict[str, Sequence[Run]]]:
    """The runs of ns-3.40 at some buffers."""
    return single({f"{buffer} packets": (OLD, buffer) for buffer in buffers})


def trace(version: str, name: str) -> Callable[[Cases], dict[str, Sequence[Pacing]]]:
    """The traces of a version at 100 packets."""
    return lambda cases: {name: [run.kept for run in cases[version, "100"]]}


def split(runs: Sequence[Run]) -> str:
    """Fast and starved flows."""
    return f"{ranged(fast, 0)(runs)} fast, {ranged(starved, 0)(runs)} starved"


def totals(runs: Sequence[Run]) -> str:
    """What all flows carry."""
    return f"{ranged(total, 0)(runs)} Mbit/s, mean {mean(runs, total):.0f}"


def as_table_2(buffer: str) -> Callable[[Cases], list[Outcome]]:
    """Total and deviation are near the published ones."""
    carried, deviates = (published_values(f"throughput_{metric}")[buffer] for metric in ("total", "stddev"))
    return each(
        at(buffer),
        lambda run: near(total(run), carried, 0.1) and near(deviation(run), deviates, 0.5),
        lambda runs: f"{totals(runs)}, deviation {ranged(deviation, 1)(runs)}",
    )


def as_published(cases: Cases) -> list[Outcome]:
    """Totals near the published one of each small buffer."""
    theirs = published_values("throughput_total")

    def agrees(buffer: str) -> Outcome:
        runs = cases[OLD, buffer]
        return outcome(f"{buffer} packets", runs, lambda run: near(total(run), theirs[buffer], 0.1), totals(runs))

    return [agrees(buffer) for buffer in BUFFERS[:3]]


def improving(cases: Cases) -> list[Outcome]:
    """Deviations that fall with the buffer."""
    groups = [cases[OLD, buffer] for buffer in ("1000", "2000", "5000")]
    means = ", ".join(map(averaged(deviation, 1), groups))
    seeds = [[deviation(run) for run in runs] for runs in zip(*groups, strict=True)]
    halved, rest = "from 1000 to 2000 packets, at least halved", "from 2000 to 5000 packets"
    return [
        outcome(halved, seeds, lambda seed: 2 * seed[1] <= seed[0], f"mean deviation {means}"),
        outcome(rest, seeds, lambda seed: seed[1] > seed[2], "nothing is lost at either"),
    ]


def evenly(cases: Cases) -> list[Outcome]:
    """All flows of ns-3.44 in the published range, and in one of ours."""
    new = cases[NEW, "100"]

    def between(low: float, high: float) -> Callable[[Run], bool]:
        return lambda run: slowest(run) >= low and fastest(run) <= high

    ours = f"slowest {ranged(slowest, 1)(new)}, fastest {ranged(fastest, 1)(new)} Mbit/s"
    fair = f"none starved in {sum(starved(run) == 0 for run in new)} of {len(new)}"
    return [
        outcome("100 packets", new, between(32, 47), ours),
        outcome(OWN_TOLERANCE, new, between(24, 59), fair),
    ]


def quotients(pairs: Sequence[tuple[Run, ...]]) -> str:
    """ns-3.44's total over ns-3.40's."""
    of_means = mean(pairs, lambda pair: total(pair[1])) / mean(pairs, lambda pair: total(pair[0]))
    return f"{spread((total(new) / total(old) for old, new in pairs), 2)} seed by seed, {of_means:.2f} of means"


def window(cases: Cases) -> str:
    """What the fast flows run at, in words."""
    every = [rate for buffer in BUFFERS[:3] for run in cases[OLD, buffer] for rate in run.rates]
    rates = sorted(rate for rate in every if rate > 50)
    found = f"{rates[len(rates) // 10]:.0f} to {rates[-1]:.0f} Mbit/s" if rates else "rate"
    return f"Fast flows run at the window's {found}, so the total counts them; how many there are is chance."


LOTTERY = "Which flows fall into the trap is decided by the first losses, seed by seed; the study shows one run of it."

CLAIMS = [
    Claim("kat-01", "ns-3.40, 100 packets: ten flows exceed 50 Mbit/s, six stay below 1 Mbit/s.", "10 and 6 (+/- 2)",
          each(at("100"), lambda run: abs(fast(run) - 10) <= 2 and abs(starved(run) - 6) <= 2, split), LOTTERY),
    Claim("kat-02", "ns-3.40, 500 and 1000 packets: nine or ten flows are fast, the rest extremely slow.", "9 or 10",
          each(at("500", "1000"), lambda run: fast(run) in (9, 10) and is_split(run), split), LOTTERY),
    Claim("kat-03", "ns-3.40 carries 575 to 632 Mbit/s at 100, 500 and 1000 packets.", "632, 574.8, 577.9 (+/- 10 %)",
          as_published, window),
    Claim("kat-04", "ns-3.40, 2000 packets: 850 Mbit/s, standard deviation 12.7.",
          "850.3 (+/- 10 %), 12.7 (+/- 50 %)",
          as_table_2("2000"),
          "With 1 MiB windows nothing is lost at 2000 packets, in ns-3.39 itself neither: something in the study's "
          "set-up differs. The bound on the deviation, 50 %, is ours."),
    Claim("kat-05", "ns-3.40, 5000 packets: 900 Mbit/s, standard deviation 3.3.", "900.2 (+/- 10 %), 3.3 (+/- 50 %)",
          as_table_2("5000"),
          "Windows of 1 MiB fit into pipe and buffer together: nothing is lost. The bound on the deviation is ours."),
    Claim("kat-06", "Fairness improves with the buffer, sharply between 1000 and 5000 packets.",
          "28.5, 12.7, 3.3 Mbit/s", improving),
    Claim("kat-07", "A starved flow paces at 0.01 to 0.1 Mbit/s to the end, a fast one at up to 87.",
          "<= 0.1; 87 Mbit/s",
          each(trace(OLD, "after 20 s"), lambda one: one.peaks[0] <= 0.1 and 70 <= one.peaks[-1] <= 110,
               lambda runs: f"slowest flow at most {spread((one.peaks[0] for one in runs), 3)}, fastest up to "
                            f"{spread((one.peaks[-1] for one in runs), 0)} Mbit/s"),
          f"0.2 packets a round trip, {TRAP_MBPS:.3f} Mbit/s, is a fixed point: with a packet in flight the interval "
          "is the round trip and the gap before it, so a rate r gives a sample of 1/(RTT + 1/(1.25 r))."),
    Claim("kat-08", "Losses separate the flows early, and the split persists.",
          "rank correlation of rates at 10-20 and 40-50 s > 0.9",
          each(trace(OLD, "100 packets"), lambda one: one.correlation > 0.9,
               lambda runs: f"{spread(one.correlation for one in runs)}; starved flows that stay starved "
                            f"{spread(one.remaining for one in runs)}"),
          "Fast flows, all near the window's rate, change places; that lowers the rank correlation."),
    Claim("kat-09", "ns-3.44, 100 packets: every flow lies between 32 and 47 Mbit/s.", "32 to 47 Mbit/s", evenly,
          "ns-3.44 itself, run with 10 Gbit/s access, gives 28 to 55 Mbit/s."),
    Claim("kat-10", "At 100 packets both versions carry about the same.", "ratio 0.9 to 1.1",
          each(together({"100 packets": [(OLD, "100"), (NEW, "100")]}),
               lambda pair: 0.9 <= total(pair[1]) / total(pair[0]) <= 1.1, quotients),
          "ns-3.40's total varies with the number of starved flows."),
    Claim("kat-11", "ns-3.44: after 10 s a flow's pacing rate moves among three levels.", "50, 70, 85 Mbit/s",
          each(trace(NEW, "flow 5 after 10 s"),
               lambda one: abs(one.levels[0] / one.levels[1] - 0.75) <= 0.1
               and abs(one.levels[2] / one.levels[1] - 1.25) <= 0.1,
               lambda runs: "; ".join("{:.0f}, {:.0f}, {:.0f}".format(*one.levels) for one in runs[:3]) + " Mbit/s"),
          "The levels are 0.75, 1 and 1.25 times an estimate that itself moves."),
    Claim("kat-16", "The unfairness is much stronger than what Hock et al. found in small buffers.", "max/min > 50",
          each(at("100"), lambda run: unevenness(run) > 50, ranged(unevenness, 0))),
]  # fmt: skip

PART = Part(
    "table2",
    "16 BBR flows over 1 Gbit/s and 120 ms, 100 to 5000 packets of buffer, ns-3.40 and ns-3.44",
    [Experiment(FOLDER / "table2.toml", keep=Pacing.of)],
    quick="2s",
    measure=measured,
    setup=[
        "16 senders with 10 Gbit/s access over one link of 1 Gbit/s, drop-tail, base RTT 120 ms, MSS 1420 (1474 on "
        "the wire), an ACK for every packet, 50 s, starts within 1 ms.",
        "The paper does not say how large the socket buffers were. 1 MiB is what ns-3's example tcp-linux-reno.cc "
        "sets, which has all the options that the paper lists, and what its figures say: 70 Mbit/s at 120 ms, of "
        "which its pacing rates of 50, 70, 85 and 87 Mbit/s are 0.75, 1 and 1.25 times; kato/setups tries others.",
        "Throughput is what the receiving application got, over the whole run.",
    ],
    tables=tables,
    claims=CLAIMS,
    decides=lambda choice: choice != OWN_TOLERANCE,
    pictures=pictures,
)
