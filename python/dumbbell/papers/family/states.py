"""The state machines at work: version 1 from its start to PROBE_RTT, cycles of version 2 and 3 side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from dumbbell.papers.family.measure import FOLDER, NAMES
from dumbbell.papers.model import Cell, Claim, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.testing import each
from dumbbell.results import Result

BDP_PACKETS = 10e6 * 0.04 / 8 / 1500
"""Of 10 Mbit/s and 40 ms, in packets of 1500 bytes."""
QUEUE_LIMIT_BDPS = 2.0


@dataclass(frozen=True)
class Trace:
    """One run with one flow, sampled finely."""

    flow: pl.DataFrame
    """Samples of the flow with the queue (packets) beside them, in the order of time."""

    @classmethod
    def of(cls, result: Result) -> Trace:
        """The trace of flow 0."""
        number = next(row["link"] for row in result.links.rows() if row["name"] == "bottleneck")
        queue = result.link_series.to_polars().filter(pl.col("link") == number).select("t_s", "queue_packets")
        flow = result.series.to_polars().filter(pl.col("flow") == 0).with_columns(pl.col("mode").cast(pl.String))
        return cls(flow.join(queue, on="t_s", how="left").sort("t_s"))

    def stays(self, prefix: str = "") -> list[tuple[str, float, float]]:
        """Mode, begin and end of each stay in a mode, in order."""
        found: list[tuple[str, float, float]] = []
        for mode, t in self.flow.select("mode", "t_s").iter_rows():
            if found and found[-1][0] == mode:
                found[-1] = (mode, found[-1][1], t)
            else:
                if found:
                    found[-1] = (*found[-1][:2], t)
                found.append((mode, t, t))
        return [stay for stay in found if stay[0].startswith(prefix)]

    def between(self, begin: float, end: float) -> pl.DataFrame:
        """The samples of a stretch of time."""
        return self.flow.filter(pl.col("t_s").is_between(begin, end))


@dataclass(frozen=True)
class Measured:
    """A run of each version: there is no randomness but the phase of the first cycle."""

    alone: Mapping[str, Trace]
    """One flow in a deep buffer."""
    shallow: Mapping[str, Trace]
    """Version 2 and 3, one of two flows in half a BDP."""

    @classmethod
    def of(cls, alone: Ran, shallow: Ran) -> Measured:
        """Of the sweeps."""
        return cls(*({cc: kept[0] for cc, kept in ran.kept_by("flows[0].cc").items()} for ran in (alone, shallow)))


def startup_queue(trace: Trace) -> float:
    """Largest queue, in BDP, until the end of DRAIN."""
    drain = trace.stays("drain")[0]
    return float(str(trace.between(0, drain[2])["queue_packets"].max())) / BDP_PACKETS


def visits(trace: Trace) -> list[tuple[float, float, float]]:
    """Begin, length in seconds and least in flight (packets) of each PROBE_RTT that is over."""
    found = []
    for _, begin, end in trace.stays("probe_rtt"):
        part = trace.between(begin, end)
        found.append((begin, end - begin, float(str(part["inflight"].min()))))
    return found


def share_of(trace: Trace, prefix: str) -> float:
    """Share of the run after STARTUP and DRAIN spent in modes with a prefix."""
    begin = trace.stays("drain")[0][2]
    end = float(str(trace.flow["t_s"].max()))
    return sum(max(0.0, b - max(a, begin)) for _, a, b in trace.stays(prefix)) / (end - begin)


def rounds(trace: Trace) -> float:
    """Round trips until the end of STARTUP."""
    return float(str(trace.between(0, trace.stays("startup")[0][2])["cc_round"].max()))


def tables(measured: Measured) -> list[Grid]:
    """What each version did, in numbers."""

    def steady(column: str, summary: Callable[[pl.Series], object]) -> Callable[[Trace], float]:
        late = (pl.col("t_s") > 3) & pl.col("mode").str.starts_with("probe_bw")
        return lambda trace: float(str(summary(trace.flow.filter(late)[column])))

    def first_visit(value: Callable[[tuple[float, float, float]], float]) -> Callable[[Trace], float | None]:
        return lambda trace: value(visits(trace)[0]) if visits(trace) else None

    def gap(trace: Trace) -> float | None:
        return next((later[0] - earlier[0] for earlier, later in pairwise(visits(trace))), None)

    columns: dict[str, Callable[[Trace], Cell]] = {
        "STARTUP ends (s)": lambda trace: trace.stays("startup")[0][2],
        "largest queue then (BDP)": startup_queue,
        "DRAIN lasts (s)": lambda trace: trace.stays("drain")[0][2] - trace.stays("drain")[0][1],
        "PROBE_BW: mean queue": steady("queue_packets", pl.Series.mean),
        "PROBE_BW: largest queue": steady("queue_packets", pl.Series.max),
        "PROBE_BW: largest cwnd": steady("cwnd", pl.Series.max),
        "PROBE_RTT: every (s)": gap,
        "PROBE_RTT: lasts (ms)": first_visit(lambda visit: 1e3 * visit[1]),
        "PROBE_RTT: least in flight": first_visit(lambda visit: visit[2]),
    }
    rows = (([NAMES[cc]], measured.alone[cc]) for cc in ("bbr", "bbr2", "bbr3"))
    return [table("states", "One flow in a deep buffer; queues and windows in packets", ["version"], rows, columns)]


# --- claims ----------------------------------------------------------------------------------------------------------


def one(cc: str) -> Callable[[Measured], dict[str, list[Trace]]]:
    """The run of a version."""
    return lambda measured: {NAMES[cc]: [measured.alone[cc]]}


def visited(every: tuple[float, float], flying: tuple[float, float]) -> Callable[[Trace], bool]:
    """Whether PROBE_RTT comes so often, for 200 ms and a round trip, with so many packets."""

    def holds(trace: Trace) -> bool:
        found = visits(trace)
        gaps = [later[0] - earlier[0] for earlier, later in pairwise([(0.0,), *found])]
        return bool(found) and all(
            every[0] <= gap <= every[1] and 0.2 <= length <= 0.3 and flying[0] <= least <= flying[1]
            for gap, (_, length, least) in zip(gaps, found, strict=True)
        )

    return holds


def told(trace: Trace) -> str:
    """Every PROBE_RTT in words."""
    return "; ".join(f"{at:.1f} s for {1e3 * length:.0f} ms with {least:.0f}" for at, length, least in visits(trace))


CLAIMS: list[Claim[Measured]] = [
    Claim("fam-01",
          "STARTUP of version 1 finds the bandwidth in about log2 of the BDP round trips (here: 5, and at most 4 more "
          "to be sure) and leaves up to 2 BDP of queue (within 15 %).",
          "log2 BDP round trips, up to 2 BDP (ACM Queue)",
          each(one("bbr"), lambda v1: rounds(v1) <= 5 + 4 and startup_queue(v1) <= QUEUE_LIMIT_BDPS * 1.15,
               lambda runs: f"{rounds(runs[0]):.0f} round trips, {startup_queue(runs[0]):.2f} BDP")),
    Claim("fam-02", "Version 1 spends 98 % of its time in PROBE_BW (here: 97 to 99 %).", "98 % (ACM Queue)",
          each(one("bbr"), lambda v1: 0.97 <= share_of(v1, "probe_bw") <= 0.99,
               lambda runs: f"{100 * share_of(runs[0], 'probe_bw'):.1f} %")),
    Claim("fam-03", "Version 1 visits PROBE_RTT about every 10 s, for 200 ms and a round trip, with 4 packets.",
          "10 s, 200 ms, 4 packets (ACM Queue)",
          each(one("bbr"), visited((9.9, 10.5), (1, 4)), lambda runs: told(runs[0]))),
    Claim("fam-04", "Version 3 visits PROBE_RTT about every 5 s with half a BDP in flight.",
          "5 s, 0.5 BDP (draft-ietf-ccwg-bbr)",
          each(one("bbr3"), visited((4.9, 5.7), (0.4 * BDP_PACKETS, 0.6 * BDP_PACKETS)), lambda runs: told(runs[0]))),
    Claim("fam-05",
          "STARTUP of version 3 leaves less queue than that of version 1, at most a BDP and what ACKs aggregate.",
          "window gain 2 for 2.885 (draft-ietf-ccwg-bbr)",
          each(lambda measured: {"v3": [(measured.alone["bbr"], measured.alone["bbr3"])]},
               lambda pair: startup_queue(pair[1]) < startup_queue(pair[0]) and startup_queue(pair[1]) <= 1.5,
               lambda pairs: f"{startup_queue(pairs[0][1]):.2f} BDP")),
]  # fmt: skip

# --- pictures --------------------------------------------------------------------------------------------------------


def pictures(measured: Measured) -> Pictures:
    """Start, cycles and PROBE_RTT of version 1; a cycle of version 2 and 3; what bounds them in half a BDP."""
    from dumbbell.papers.family import figures

    v1 = measured.alone["bbr"]
    dip = next((begin for _, begin, _ in v1.stays("probe_rtt")), 10.0)
    spans = {"start": (0.0, 0.9), "two cycles and a half": (dip - 1.6, dip - 0.7), "PROBE_RTT": (dip - 0.3, dip + 0.6)}
    later = {f"version {cc[-1]}": measured.alone[cc] for cc in ("bbr2", "bbr3")}
    cycles = [(trace, -0.15, 0.75, at, title) for title, trace in later.items() for at in [cycle_of(trace, 1.2)]]
    bounds = [(measured.shallow[cc], 5.6, 9.6, 0.0, f"version {cc[-1]}, one of two flows") for cc in ("bbr2", "bbr3")]
    lines = ["pacing rate, cwnd", "bandwidth estimate", "in flight"]
    phases = ["REFILL", "UP", "DOWN"]
    since = "time since UP began (s)"
    return {
        "v1": figures.columns(
            [(v1, *span, 0.0, title) for title, span in spans.items()], (30, 110, 75, 130), "time (s)",
            [*lines, "BDP", "queue", "RTT", "min RTT estimate"], 6.4, BDP_PACKETS, sharex="col",
        ),
        "cycles": figures.columns(
            cycles, (15, 110, 45), since, [*lines, "BDP", "queue", *phases], 5.4, BDP_PACKETS, sharex=True
        ),
        "bounds": figures.columns(
            bounds, (12, 60, 20), "time (s)", [*lines, "inflight_hi", "BDP", "queue", *phases], 4.4, BDP_PACKETS,
            sharex=True, height_ratios=(1, 1.4, 1),
        ),
    }  # fmt: skip


def cycle_of(trace: Trace, after: float = 0.0) -> float:
    """When the first complete UP after a time begins."""
    return next((start for _, start, _ in trace.stays("probe_bw_up") if start > after), after)


PART = Part(
    "states",
    "One run of each version: states, rates, windows, queue and round-trip times",
    [Experiment(FOLDER / "states.toml", keep=Trace.of), Experiment(FOLDER / "bounds.toml", keep=Trace.of)],
    quick="12s",
    measure=Measured.of,
    setup=[
        "10 Mbit/s, 40 ms, a BDP of 33 packets; one flow over Linux's transport with a buffer of 10 BDP, and two "
        "flows with half a BDP.",
    ],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)
