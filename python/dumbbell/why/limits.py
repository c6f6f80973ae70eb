"""For which share of its life each thing kept a subject from sending more, as samples of the run tell."""

from __future__ import annotations

from collections.abc import Mapping

from dumbbell.report import percent
from dumbbell.why.setup import Setup, Subject

WORDS = {
    "link": "a full link",
    "cwnd": "the congestion window",
    "pacing": "the pacing rate",
    "slow_start": "slow start",
    "probe_rtt": "PROBE_RTT",
    "recovery": "the repair of losses",
    "timeout": "timeouts",
    "receive_window": "the receive window",
    "send_buffer": "the send buffer",
    "application": "the application",
    "nagle": "Nagle's algorithm",
    "host_queue": "TCP small queues",
}
"""What ``limited_by`` of the time series says, as it stands in a sentence."""

MOST = 3
"""So many are told."""

LEAST = 0.01
"""None of them with less than this share."""


def shares(setup: Setup, subject: Subject) -> dict[str, float]:
    """The share of the samples of the measured interval, of all members, by what limited them; the largest first.

    Samples of a transfer that is complete do not count. Empty where nothing was recorded, and for sources of traffic.
    """
    import polars as pl

    series = setup.result.series
    if subject.kind != "flows" or not len(series) or "limited_by" not in series.columns:
        return {}
    begin, over = setup.measured_s
    ends = {
        row["flow"]: over if row["completion_s"] is None else min(over, row["start_s"] + row["completion_s"])
        for row in setup.flow_rows(subject)
    }
    frame = series.to_polars(["t_s", "flow", "limited_by"]).filter(pl.col("flow").is_in(list(ends)))
    end = pl.col("flow").replace_strict(ends, default=0.0, return_dtype=pl.Float64)
    names = frame.filter((pl.col("t_s") > begin) & (pl.col("t_s") <= end))["limited_by"]
    counts = {str(name): int(count) for name, count in names.value_counts(sort=True).iter_rows() if name}
    whole = sum(counts.values())
    return {name: count / whole for name, count in counts.items()}


def sentence(found: Mapping[str, float]) -> str | None:
    """Those with the largest shares in words; ``None`` where nothing is known."""
    told = [(name, share) for name, share in found.items() if share >= LEAST][:MOST]
    if not told:
        return None
    parts = [f"{WORDS[name]} in {percent(share)}" for name, share in told]
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"It is limited by {listed} of its samples."
