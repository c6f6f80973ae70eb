"""Time series as qlog, which viewers of QUIC read: a file a connection, whatever the ground and the transport.

qlog's version 0.3, as a sequence of JSON texts (RFC 7464), is what qvis and qlog-dancer read
(draft-ietf-quic-qlog-main-schema-03, draft-ietf-quic-qlog-quic-events-02). An event is written where a sample differs
from the one before, with what differs. Packets are not in it, because a result does not keep them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell import _core
from dumbbell.recorded import check_samples

if TYPE_CHECKING:
    from dumbbell.results import Result

ENDING = ".sqlog"
VERSION = "0.3"
SEPARATOR = "\x1e"
_RECOVERS = frozenset({"recovery", "cwr", "loss"})

Event = dict[str, Any]
Row = Mapping[str, Any]


def files(result: Result) -> dict[str, str]:
    """A file for each flow whose sender can be looked into: its name, and what is in it.

    Raises:
        ValueError: there is no such flow.
    """
    check_samples(result)
    experiment = json.loads(_core.toml_as_json(result.scenario_toml))
    series = result.series.to_polars()
    found = {}
    for number, flow in enumerate(experiment["flows"]):
        rows = series.filter((series["flow"] == number) & series["cwnd"].is_not_null()).rows(named=True)
        if rows:
            label = re.sub(r"[^\w.-]+", "-", flow["label"])
            transport = flow.get("transport", {})
            head = _head(result, flow["label"], transport.get("protocol", "tcp"))
            texts = (json.dumps(text) for text in (head, *events(rows, transport.get("mss", 1448))))
            found[f"{number}-{label}{ENDING}"] = "".join(f"{SEPARATOR}{text}\n" for text in texts)
    if not found:
        raise ValueError("no flow has time series of its sender, which `record.series` keeps where the ground tells")
    return found


def _head(result: Result, label: str, protocol: str) -> Event:
    meta = result.meta
    return {
        "qlog_version": VERSION,
        "qlog_format": "JSON-SEQ",
        "title": f"{label}, {result.scenario_name}",
        "description": f"Dumbbell {meta.version}, content hash {meta.content_hash}, seed {meta.seed}",
        "trace": {
            "vantage_point": {"type": "client", "name": "the sender of data"},
            "common_fields": {
                "protocol_type": ["QUIC" if protocol in ("quic", "noq") else protocol.upper()],
                "time_format": "relative",
                "reference_time": 0,
            },
        },
    }


def events(rows: Sequence[Row], mss: int) -> Iterator[Event]:
    """What changes from sample to sample: times in milliseconds, sizes in bytes, rates in bits a second."""
    known: dict[str, Any] = {}
    state = None
    for row in rows:
        now_ms = 1e3 * row["t_s"]
        metrics = _metrics(row, mss)
        changed = {key: value for key, value in metrics.items() if value is not None and known.get(key) != value}
        known.update(changed)
        if changed:
            yield {"time": now_ms, "name": "recovery:metrics_updated", "data": changed}
        following = _state(row)
        if following != state:
            old: Event = {} if state is None else {"old": state}
            yield {"time": now_ms, "name": "recovery:congestion_state_updated", "data": {**old, "new": following}}
            state = following


def _metrics(row: Row, mss: int) -> dict[str, float | None]:
    def times(key: str, factor: float) -> float | None:
        value = row[key]
        return None if value is None else round(value * factor, 6)

    return {
        "min_rtt": times("min_rtt_ms", 1),
        "smoothed_rtt": times("srtt_ms", 1) or None,
        "latest_rtt": times("rtt_ms", 1),
        "congestion_window": times("cwnd", mss),
        "bytes_in_flight": times("inflight", mss),
        "packets_in_flight": times("inflight", 1),
        "ssthresh": times("ssthresh", mss),
        "pacing_rate": times("pacing_mbps", 1e6) or None,
    }


def _state(row: Row) -> str:
    """A controller's own phase, where it has any, or one of QUIC's."""
    if row["mode"]:
        return str(row["mode"])
    if row["ca_state"] in _RECOVERS:
        return "recovery"
    is_below = row["ssthresh"] is None or row["cwnd"] < row["ssthresh"]
    return "slow_start" if is_below else "congestion_avoidance"
