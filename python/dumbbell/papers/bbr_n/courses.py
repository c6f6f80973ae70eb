"""Figures 9 to 11: pacing rate, delivery rate and window over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from dumbbell.papers.bbr_n.measure import (
    DEVICES,
    FEBRUARY,
    FOLDER,
    NAMES,
    VIRTUAL,
    by_device,
    in_february,
    of_february,
    over_devices,
    table_values,
)
from dumbbell.papers.model import Cell, Claim, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Cases, Run, together
from dumbbell.papers.testing import averaged, both, each, mean, ranged
from dumbbell.results import Result

if TYPE_CHECKING:
    import polars as pl

COUNTS = ("1", "4")
SETTLED_S = 5.0


@dataclass(frozen=True)
class Course:
    """The first upload, sampled every 50 ms."""

    samples: pl.DataFrame
    """Columns ``t_s``, ``pacing_mbps``, ``delivery_mbps``, ``cwnd``, ``mode``."""

    @classmethod
    def of(cls, result: Result) -> Course:
        """Of a run."""
        import polars as pl

        columns = ("t_s", "pacing_mbps", "delivery_mbps", "cwnd", "mode")
        flow = result.series.to_polars().filter(pl.col("flow") == 0).sort("t_s").select(columns)
        return cls(flow.with_columns(pl.col("mode").cast(pl.String)))

    def mean(self, column: str) -> float:
        """After the start."""
        import polars as pl

        settled = self.samples.filter(pl.col("t_s") > min(SETTLED_S, 0.2 * self.end))
        return float(settled[column].cast(pl.Float64).drop_nulls().mean() or 0.0)  # type: ignore[arg-type]

    @property
    def end(self) -> float:
        """Time of the last sample."""
        return float(self.samples["t_s"][-1])

    @property
    def dips(self) -> list[float]:
        """When PROBE_RTT begins."""
        modes = self.samples.select("t_s", "mode").rows()
        return [t for (_, before), (t, mode) in pairwise(modes) if mode == "probe_rtt" != before]


def of(column: str) -> Callable[[Run], float]:
    """The mean of a column."""
    return lambda run: float(run.kept.mean(column))


pacing, delivery, cwnd = map(of, ("pacing_mbps", "delivery_mbps", "cwnd"))


def period(run: Run) -> float:
    """Seconds between two dips in the middle; 0 without two."""
    gaps = [later - earlier for earlier, later in pairwise(run.kept.dips)]
    return median(gaps) if gaps else 0.0


def excess(run: Run) -> float:
    """Pacing rate over delivery rate."""
    return pacing(run) / delivery(run)


VALUES: Mapping[str, Callable[[Run], float]] = {
    "pacing Mbit/s": pacing, "delivery Mbit/s": delivery, "cwnd": cwnd, "s between dips": period
}  # fmt: skip


def tables(cases: Cases) -> list[Grid]:
    """Means after the start."""

    def value(of_run: Callable[[Run], float]) -> Callable[[tuple[str, ...]], Cell]:
        return lambda case: mean(cases[case], of_run)

    found = table_values("courses", "1")
    theirs: list[list[Cell]] = [
        ["published", 1, cc, *(found[cc].get(key) for key in ("pacing", "delivery", "cwnd", "period"))] for cc in found
    ]
    rows = (
        ((place, int(count), NAMES[cc]), (place, cc, count))
        for place in DEVICES
        for count in COUNTS
        for cc in ("bbr-n-4-13", "bbr-4.14", "bbr-n-patch", "bbr-n", "bbr2", "bbr")
        if (place, cc, count) in cases
    )
    columns = {name: value(one) for name, one in VALUES.items()}
    title = "Pacing rate, delivery rate and window of the first upload over the slower path"
    return [table("courses", title, ("device", "uploads", "algorithm"), rows, columns, 1, theirs)]


def pictures(cases: Cases) -> Pictures:
    """A column an algorithm, for one upload and for the first of four."""
    from dumbbell.papers.bbr_n import figures

    return {
        name: figures.courses(
            {NAMES[cc]: cases[VIRTUAL, cc, count][0].kept.samples for cc in FEBRUARY["kernel 4.13.8"]}
        )
        for name, count in (("fig9", "1"), ("fig10", "4"))
    }


alone = together(
    {f"{VIRTUAL}, {base}": [(VIRTUAL, pair[0], "1")] for base, pair in FEBRUARY.items()}
    | {f"{place}, {NAMES[cc]}": [(place, cc, "1")] for place in DEVICES for cc in ("bbr-n-patch", "bbr-n")}
)
"""BBR-n's single uploads by device."""

CLAIMS: list[Claim[Cases]] = [
    Claim("bbn-16", "Slower path: BBR-n's delivery rate is about twice BBRgen's (here: 1.6 to 2.4).",
          "39 to 46 against 21 Mbit/s",
          each(of_february("1"), lambda pair: 1.6 <= delivery(pair[0]) / delivery(pair[1]) <= 2.4,
               both(averaged(delivery, 1), "{} against {} Mbit/s")),
          cause="BBRgen fills this path: half the rate needs half the packets in flight to fill an aggregate."),
    Claim("bbn-17", "BBR-n paces far above its delivery rate (here: over three times).", "200 against 45 Mbit/s",
          each(alone, lambda seed: excess(seed[0]) > 3, lambda seeds: ranged(excess)([seed[0] for seed in seeds])),
          cause="The pacing rate follows the bandwidth estimate, and that what is delivered. 200 Mbit/s are more than "
                "this radio can send, so the figure's estimate is none of its deliveries."),
    Claim("bbn-18", "BBR-n keeps a larger window than BBRgen.", "about 225 against 20 to 120 packets",
          each(of_february("1"), lambda pair: cwnd(pair[0]) > cwnd(pair[1]),
               both(averaged(cwnd, 0), "{} against {} packets"))),
    Claim("bbn-19", "BBR-n's window dips every 10 s (PROBE_RTT of version 1).", "10 s",
          each(alone, lambda seed: 9 <= period(seed[0]) <= 11,
               lambda seeds: ranged(period, 1, " s")([seed[0] for seed in seeds])),
          "Version 2 dips every 5 s and keeps half of what is in flight: what ran derives from version 1."),
]  # fmt: skip

PART: Part[Cases] = Part(
    "courses",
    "Figures 9 to 11: pacing rate, delivery rate and window over time",
    [
        *over_devices("courses", Course.of, {"warmup": "1s"}),
        Experiment(FOLDER / "courses-4-13.toml", keep=Course.of, quick={"warmup": "1s"}),
    ],
    quick="3s",
    measure=by_device("flows[0].cc", "flows[0].count"),
    setup=[
        "One and four uploads over the slower path: 802.11n of 20 MHz, 72 Mbit/s, aggregates of 65 kB; 40 s, three "
        "seeds.",
        "Verdicts come from the BBR of Linux 4.13.8, which the files of February 2023 name; today's stands beside.",
    ],
    tables=tables,
    claims=CLAIMS,
    decides=in_february,
    pictures=pictures,
)
