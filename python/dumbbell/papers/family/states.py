"""The state machines at work: version 1 from its start to PROBE_RTT, cycles of version 2 and 3 side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.papers import data
from dumbbell.papers.family.measure import NAMES
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Outcome, Provenance, Report

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from dumbbell.plots import Picture
    from dumbbell.results import Result

TITLE = "One run of each version: states, rates, windows, queue and round-trip times"

SCENARIO = Path(__file__).with_name("states.toml")
BOUNDS = Path(__file__).with_name("bounds.toml")
QUICK = "12s"

BDP_PACKETS = 10e6 * 0.04 / 8 / 1500
"""Of 10 Mbit/s and 40 ms, in packets of 1500 bytes."""
QUEUE_LIMIT_BDPS = 2.0

CLAIMS = (
    Claim(
        "fam-01",
        "STARTUP of version 1 finds the bandwidth in about log2 of the BDP round trips (here: 5, and at most 4 more to "
        "be sure) and leaves up to 2 BDP of queue (within 15 %).",
        "log2 BDP round trips, up to 2 BDP (ACM Queue)",
    ),
    Claim("fam-02", "Version 1 spends 98 % of its time in PROBE_BW (here: 97 to 99 %).", "98 % (ACM Queue)"),
    Claim(
        "fam-03",
        "Version 1 visits PROBE_RTT about every 10 s, for 200 ms and a round trip, with 4 packets.",
        "10 s, 200 ms, 4 packets (ACM Queue)",
    ),
    Claim(
        "fam-04",
        "Version 3 visits PROBE_RTT about every 5 s with half a BDP in flight.",
        "5 s, 0.5 BDP (draft-ietf-ccwg-bbr)",
    ),
    Claim(
        "fam-05",
        "STARTUP of version 3 leaves less queue than that of version 1, at most a BDP and what ACKs aggregate.",
        "window gain 2 for 2.885 (draft-ietf-ccwg-bbr)",
    ),
)


@dataclass(frozen=True)
class Trace:
    """One run with one flow, sampled finely."""

    flow: pl.DataFrame
    """Samples of the flow with the queue (packets) beside them, in the order of time."""

    @classmethod
    def of(cls, result: Result) -> Trace:
        """The trace of flow 0."""
        import polars as pl

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
        import polars as pl

        return self.flow.filter(pl.col("t_s").is_between(begin, end))


def reproduce(options: Options) -> Report:
    """Runs each version alone, and two of version 2 and 3 in half a BDP."""
    traces: dict[str, Trace] = {}
    bounded: dict[str, Trace] = {}

    def keep(store: dict[str, Trace], result: Result) -> None:
        store[str(result.meta.settings["flows[0].cc"])] = Trace.of(result)

    alone = data.run(SCENARIO, options, quick=QUICK, each=lambda _, result: keep(traces, result))
    shallow = data.run(BOUNDS, options, quick=QUICK, each=lambda _, result: keep(bounded, result))
    report = Report(
        study="family",
        part="states",
        title=TITLE,
        setup=(
            "10 Mbit/s, 40 ms, a BDP of 33 packets; one flow over Linux's transport with a buffer of 10 BDP, and two "
            "flows with half a BDP.",
        ),
        tables=(table(traces),),
        pictures={"v1": v1(traces["bbr"]), "cycles": cycles(traces), "bounds": bounds(bounded)},
        judgements=judge(traces),
        provenance=Provenance.of(
            [alone, shallow], {path.name: path.read_text(encoding="utf-8") for path in (SCENARIO, BOUNDS)}
        ),
    )
    return report.shortened(QUICK) if options.quick else report


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


def table(traces: dict[str, Trace]) -> Grid:
    """What each version did, in numbers."""
    import polars as pl

    rows: list[list[Cell]] = []
    for cc in ("bbr", "bbr2", "bbr3"):
        trace = traces[cc]
        startup, drain = trace.stays("startup")[0], trace.stays("drain")[0]
        found = visits(trace)
        steady = trace.flow.filter((pl.col("t_s") > 3) & pl.col("mode").str.starts_with("probe_bw"))
        gaps = [b[0] - a[0] for a, b in pairwise(found)]
        rows.append(
            [
                NAMES[cc],
                startup[2],
                startup_queue(trace),
                drain[2] - drain[1],
                float(str(steady["queue_packets"].mean())),
                float(str(steady["queue_packets"].max())),
                float(str(steady["cwnd"].max())),
                gaps[0] if gaps else None,
                1e3 * found[0][1] if found else None,
                found[0][2] if found else None,
            ]
        )
    columns = (
        "version",
        "STARTUP ends (s)",
        "largest queue then (BDP)",
        "DRAIN lasts (s)",
        "PROBE_BW: mean queue",
        "PROBE_BW: largest queue",
        "PROBE_BW: largest cwnd",
        "PROBE_RTT: every (s)",
        "PROBE_RTT: lasts (ms)",
        "PROBE_RTT: least in flight",
    )
    return Grid("states", "One flow in a deep buffer; queues and windows in packets", columns, rows)


def judge(traces: dict[str, Trace]) -> list[Judgement]:
    """Puts every claim to the single run, which has no randomness but the phase of the first cycle."""
    by_id = {claim.id: claim for claim in CLAIMS}
    first, third = traces["bbr"], traces["bbr3"]
    rounds = float(str(first.between(0, first.stays("startup")[0][2])["cc_round"].max()))

    def once(name: str, holds: bool, ours: str) -> list[Outcome]:
        return [Outcome(name, int(holds), 1, ours)]

    def visited(trace: Trace, every: tuple[float, float], flying: tuple[float, float]) -> bool:
        found = visits(trace)
        gaps = [b[0] - a[0] for a, b in zip([(0.0,), *found], found, strict=False)]
        return bool(found) and all(
            every[0] <= gap <= every[1] and 0.2 <= length <= 0.3 and flying[0] <= least <= flying[1]
            for gap, (_, length, least) in zip(gaps, found, strict=True)
        )

    def told(trace: Trace) -> str:
        return "; ".join(
            f"{at:.1f} s for {1e3 * length:.0f} ms with {least:.0f}" for at, length, least in visits(trace)
        )

    busy = share_of(first, "probe_bw")
    queue = {name: startup_queue(trace) for name, trace in sorted(traces.items())}
    return [
        Judgement(
            by_id["fam-01"],
            once(
                "v1",
                rounds <= 5 + 4 and queue["bbr"] <= QUEUE_LIMIT_BDPS * 1.15,
                f"{rounds:.0f} round trips, {queue['bbr']:.2f} BDP",
            ),
        ),
        Judgement(by_id["fam-02"], once("v1", 0.97 <= busy <= 0.99, f"{100 * busy:.1f} %")),
        Judgement(by_id["fam-03"], once("v1", visited(first, (9.9, 10.5), (1, 4)), told(first))),
        Judgement(
            by_id["fam-04"],
            once("v3", visited(third, (4.9, 5.7), (0.4 * BDP_PACKETS, 0.6 * BDP_PACKETS)), told(third)),
        ),
        Judgement(
            by_id["fam-05"],
            once("v3", queue["bbr3"] < queue["bbr"] and queue["bbr3"] <= 1.5, f"{queue['bbr3']:.2f} BDP"),
        ),
    ]


# --- pictures --------------------------------------------------------------------------------------------------------

SHADES = {
    "startup": "#F6D5C3", "drain": "#CFE3F1", "probe_bw": "#FFFFFF", "probe_rtt": "#E3D3E0",
    "probe_bw_down": "#CFE3F1", "probe_bw_cruise": "#FFFFFF", "probe_bw_refill": "#DDEFE6", "probe_bw_up": "#F6D5C3",
}  # fmt: skip
"""Background of each mode: rising is warm, draining is cold."""


def shade(panels: Sequence[Axes], trace: Trace, begin: float, end: float, origin: float) -> None:
    """Bands for the modes between two times; names above the first panel where there is room."""
    for mode, start, stop in trace.stays():
        left, right = max(start, begin), min(stop, end)
        if right <= left:
            continue
        for axes in panels:
            axes.axvspan(left - origin, right - origin, color=SHADES[mode], linewidth=0, zorder=0)
        word = mode.removeprefix("probe_bw_").upper()
        if right - left > 0.016 * len(word) * (end - begin):
            panels[0].annotate(
                word, ((left + right) / 2 - origin, 1.02), xycoords=("data", "axes fraction"), ha="center", va="bottom",
                fontsize=6.5, annotation_clip=False,
            )  # fmt: skip


def draw(panels: Sequence[Axes], part: pl.DataFrame, origin: float) -> None:
    """Rates, windows, queue and, if there is a fourth panel, round-trip times of a stretch."""
    import polars as pl

    from dumbbell.plots.style import INK, look

    t = part["t_s"] - origin
    warm, cold, green = look("bbr").colour, look("cubic").colour, look("reno").colour
    panels[0].plot(t, part["pacing_mbps"], color=warm, linewidth=1.1, drawstyle="steps-post")
    panels[0].plot(t, part["cc_max_bw_mbps"], color=cold, linewidth=1.1, linestyle=(0, (4, 1.5)))
    panels[1].plot(t, part["cwnd"], color=warm, linewidth=1.1)
    panels[1].plot(t, part["inflight"], color=cold, linewidth=0.9)
    panels[1].axhline(BDP_PACKETS, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))
    if "cc_inflight_hi_packets" in part.columns:
        high = part["cc_inflight_hi_packets"].cast(pl.Float64)
        panels[1].plot(t, high, color=green, linewidth=1.2, linestyle=(0, (6, 1.5)))
    panels[2].fill_between(t, part["queue_packets"].cast(pl.Float64).fill_null(0), color="#999999", linewidth=0)
    if len(panels) > 3:
        panels[3].plot(t, part["rtt_ms"], color=INK, linewidth=0.9)
        panels[3].plot(t, part["cc_min_rtt_ms"], color=green, linewidth=1.1, linestyle=(0, (6, 1.5)))


def key(figure: object, *names: str) -> None:
    """The legend: which line is what."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from dumbbell.plots.style import INK, legend, look

    assert isinstance(figure, Figure)
    warm, cold, green = look("bbr").colour, look("cubic").colour, look("reno").colour
    lines = {
        "pacing rate, cwnd": Line2D([], [], color=warm, label="pacing rate, cwnd"),
        "bandwidth estimate": Line2D([], [], color=cold, linestyle=(0, (4, 1.5)), label="bandwidth estimate"),
        "in flight": Line2D([], [], color=cold, linewidth=0.9, label="in flight"),
        "BDP": Line2D([], [], color=INK, linewidth=0.8, linestyle=(0, (2, 2)), label="BDP"),
        "RTT": Line2D([], [], color=INK, linewidth=0.9, label="RTT"),
        "min RTT": Line2D([], [], color=green, linestyle=(0, (6, 1.5)), label="min RTT estimate"),
        "inflight_hi": Line2D([], [], color=green, linestyle=(0, (6, 1.5)), label="inflight_hi"),
        "queue": Patch(color="#999999", label="queue"),
    }
    phases = {name: Patch(color=SHADES[f"probe_bw_{name.lower()}"], label=name) for name in ("REFILL", "UP", "DOWN")}
    legend(figure, [(lines | phases)[name] for name in names])


def v1(trace: Trace) -> Picture:
    """Version 1: start, cycles, PROBE_RTT."""
    from dumbbell.plots.style import picture

    probe = trace.stays("probe_rtt")
    dip = probe[0][1] if probe else 10.0
    windows = (
        (0.0, 0.9, "start"),
        (dip - 1.6, dip - 0.7, "two cycles and a half"),
        (dip - 0.3, dip + 0.6, "PROBE_RTT"),
    )
    with picture(9.0, 6.4) as figure:
        panels = figure.subplots(4, 3, sharey="row", sharex="col")
        for column, (begin, end, title) in zip(panels.T, windows, strict=True):
            part = trace.between(begin, end)
            draw(column, part, 0.0)
            shade(column, trace, begin, end, 0.0)
            column[0].set_title(title, loc="left", fontsize=9, pad=16)
            column[-1].set_xlim(begin, end)
            column[-1].set_xlabel("time (s)")
        for axes, label, top in zip(
            panels[:, 0],
            ("rate (Mbit/s)", "packets", "queue (packets)", "RTT (ms)"),
            (30, 110, 75, 130),
            strict=True,
        ):
            axes.set_ylabel(label)
            axes.set_ylim(0, top)
        key(figure, "pacing rate, cwnd", "bandwidth estimate", "in flight", "BDP", "queue", "RTT", "min RTT")
    return figure


def cycle_of(trace: Trace, after: float = 0.0) -> float:
    """When the first complete UP after a time begins."""
    return next((start for _, start, _ in trace.stays("probe_bw_up") if start > after), after)


def cycles(traces: dict[str, Trace]) -> Picture:
    """Version 2 and 3: the same cycle side by side, from before REFILL to the next."""
    from dumbbell.plots.style import picture

    with picture(9.0, 5.4) as figure:
        panels = figure.subplots(3, 2, sharey="row", sharex=True)
        for column, cc in zip(panels.T, ("bbr2", "bbr3"), strict=True):
            trace = traces[cc]
            origin = cycle_of(trace, 1.2)
            begin, end = origin - 0.15, origin + 0.75
            draw(column, trace.between(begin, end), origin)
            shade(column, trace, begin, end, origin)
            column[0].set_title(f"version {cc[-1]}", loc="left", pad=16)
            column[-1].set_xlim(-0.15, 0.75)
            column[-1].set_xlabel("time since UP began (s)")
        for axes, label, top in zip(
            panels[:, 0], ("rate (Mbit/s)", "packets", "queue (packets)"), (15, 110, 45), strict=True
        ):
            axes.set_ylabel(label)
            axes.set_ylim(0, top)
        key(figure, "pacing rate, cwnd", "bandwidth estimate", "in flight", "BDP", "queue", "REFILL", "UP", "DOWN")
    return figure


def bounds(traces: dict[str, Trace]) -> Picture:
    """One of two flows in half a BDP: ``inflight_hi`` at work."""
    from dumbbell.plots.style import picture

    with picture(9.0, 4.4) as figure:
        panels = figure.subplots(3, 2, sharey="row", sharex=True, height_ratios=(1, 1.4, 1))
        for column, cc in zip(panels.T, ("bbr2", "bbr3"), strict=True):
            trace = traces[cc]
            begin, end = 5.6, 9.6
            draw(column, trace.between(begin, end), 0.0)
            shade(column, trace, begin, end, 0.0)
            column[0].set_title(f"version {cc[-1]}, one of two flows", loc="left", pad=16)
            column[-1].set_xlim(begin, end)
            column[-1].set_xlabel("time (s)")
        for axes, label, top in zip(
            panels[:, 0], ("rate (Mbit/s)", "packets", "queue (packets)"), (12, 60, 20), strict=True
        ):
            axes.set_ylabel(label)
            axes.set_ylim(0, top)
        names = ("pacing rate, cwnd", "bandwidth estimate", "in flight", "inflight_hi", "BDP", "queue")
        key(figure, *names, "REFILL", "UP", "DOWN")
    return figure
