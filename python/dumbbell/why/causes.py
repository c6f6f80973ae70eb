"""What may hold a sender back, what shows it, and the settings that take it away.

A cause is a guess until it is taken away and the run is repeated (:mod:`dumbbell.why.trial`). Of causes that explain
as much the first of the list below is named first: those of the sender come before what sets them off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dumbbell.packets import PACKET_BITS
from dumbbell.report import number, percent
from dumbbell.why.marks import early_marks
from dumbbell.why.setup import Block, Link, Setup, Subject, in_unit, ways

WINDOW = "1GiB"
"""No path of the real world has room for more."""

UNLIMITED = "unlimited"

OFTEN_USED = 0.5
"""A way back that is used less, and drops nothing, holds no ACK up for long."""

FEW_ACKS = 2.0
"""Where more ACKs than these are on their way the next one comes before a timer expires."""

OUTAGE_MS = 200.0
"""A pause of a trace from this length on is an outage: a sender's shortest timeout."""


@dataclass(frozen=True)
class Cause:
    """What may hold a sender back."""

    name: str
    """As in ``the receive window``."""
    shown: str
    """What the run shows of it."""
    settings: Mapping[str, str]
    """What takes it away from the resolved experiment."""
    is_natural: bool = False
    """Whether every network has it: more capacity helps nearly always. It is named after all others."""


def causes(setup: Setup, subject: Subject) -> list[Cause]:
    """All that may hold ``subject`` back."""
    return [cause for each in _ALL for cause in each(setup, subject) if cause.settings]


# --- the sender ------------------------------------------------------------------------------------------------------


def _hystart(setup: Setup, subject: Subject) -> Iterator[Cause]:
    off = {"hystart": "false", "hystart_plus_plus": "false", "hystart_delay": "false", "hystart_train": "false"}
    own = _of_controller(setup, subject, lambda key, value: off.get(key) if value is True else None)
    if own:
        window = _first_ssthresh(setup, subject)
        left = "" if window is None else f": slow start ended at a window of {window:.0f} packets, before any loss"
        yield Cause("HyStart, which ends slow start early", f"HyStart is on{left}", own)


def _probe_rtt(setup: Setup, subject: Subject) -> Iterator[Cause]:
    def zero(key: str, value: object) -> str | None:
        return "0s" if key == "probe_rtt_dwell" and in_unit(value, "ms") else None

    if own := _of_controller(setup, subject, zero):
        dwell = next(block["cc"]["probe_rtt_dwell"] for block in setup.blocks(subject))
        yield Cause(
            "PROBE_RTT, in which the window is held down",
            f"{dwell} each{_share_of_mode(setup, subject, 'probe_rtt')}",
            own,
        )


def _bound_of_window(setup: Setup, subject: Subject) -> Iterator[Cause]:
    bounds = {"max_window": "100000", "max_cwnd": "100000"}
    own = _of_controller(setup, subject, lambda key, value: bounds.get(key) if value else None)
    if own:
        values = {value for block in setup.blocks(subject) for key, value in block["cc"].items() if key in bounds}
        shown = f"the algorithm's window ends at {_listed(values)} packets"
        yield Cause("the upper bound of the congestion window", shown, own)


def _slow_reader(setup: Setup, subject: Subject) -> Iterator[Cause]:
    own, rates = {}, set()
    for index, block in zip(subject.members, setup.blocks(subject), strict=True):
        if "read_rate" in block:
            own[f"{subject.kind}[{index}].read_rate"] = _enough(setup, subject)
            rates.add(_in_words(block["read_rate"]))
    if own:
        name = "the receiving application, which reads slowly and so closes the receive window"
        yield Cause(name, f"it reads {_listed(rates)}", own)


def _receive_window(setup: Setup, subject: Subject) -> Iterator[Cause]:
    if not _is(setup, subject, "protocol", ("tcp", "quic")):
        return
    windows = {block["transport"]["receive_window"] for block in setup.blocks(subject)}
    own = setup.settings(subject, "transport.receive_window", WINDOW)
    for index, block in zip(subject.members, setup.blocks(subject), strict=True):
        if block["transport"].get("protocol", "tcp") == "tcp":
            own[f"{subject.kind}[{index}].transport.receive_autotuning"] = "false"
            own[f"{subject.kind}[{index}].transport.window_scale"] = "14"
    is_quic = _is(setup, subject, "protocol", ("quic",))
    name = "flow control: what the receiver allows in flight" if is_quic else "the receive window"
    yield Cause(name, f"{_listed(windows)}{_share_at_window(setup, subject)}", own)


def _send_buffer(setup: Setup, subject: Subject) -> Iterator[Cause]:
    buffers = {block["transport"]["send_buffer"] for block in setup.blocks(subject)} - {UNLIMITED}
    if buffers:
        yield Cause("the send buffer", _listed(buffers), setup.settings(subject, "transport.send_buffer", UNLIMITED))


def _device_queue(setup: Setup, subject: Subject) -> Iterator[Cause]:
    if _is(setup, subject, "completion", ("immediate",)):
        return
    yield Cause(
        "TCP small queues, which end what waits in the sender's own device",
        _listed({block["transport"]["limit_output_bytes"] for block in setup.blocks(subject)}),
        setup.settings(subject, "transport.limit_output_bytes", WINDOW),
    )


def _application(setup: Setup, subject: Subject) -> Iterator[Cause]:
    own: dict[str, str] = {}
    rates = set()
    enough = _enough(setup, subject)
    for index, block in zip(subject.members, setup.blocks(subject), strict=True):
        if "rate" in block and subject.kind == "flows":
            own[f"flows[{index}].rate"] = enough
            rates.add(_in_words(block["rate"]))
        elif "app" in block:
            own[f"flows[{index}].app.rate"] = enough
            rates.add(_in_words(block["app"]["rate"]))
    if own:
        yield Cause("its application, which offers no more", f"it offers {_listed(rates)}", own)


def _nagle(setup: Setup, subject: Subject) -> Iterator[Cause]:
    writes = {block["app"]["write"] for block in setup.blocks(subject) if "write" in block.get("app", {})}
    if writes and not any(block["transport"].get("nodelay") for block in setup.blocks(subject)):
        own = setup.settings(subject, "transport.nodelay", "true")
        yield Cause("Nagle's algorithm, beside delayed ACKs", f"its application writes {_listed(writes)}", own)


def _timeouts(setup: Setup, subject: Subject) -> Iterator[Cause]:
    expired = setup.total(subject, "rto_count")
    least = in_unit(setup.blocks(subject)[0]["transport"].get("rto_min"), "ms")
    rtt = setup.base_rtt_ms(subject)
    shorter = max(1.0, 2 * rtt)
    if expired and least and shorter < least and _is(setup, subject, "protocol", ("tcp",)):
        yield Cause(
            "retransmission timeouts",
            f"{expired} expired, each after {number(least)} ms (rto_min) and more on a path of {number(rtt)} ms",
            setup.settings(subject, "transport.rto_min", f"{shorter:g}ms"),
        )


def _idle(setup: Setup, subject: Subject) -> Iterator[Cause]:
    pauses = subject.kind == "traffic" or any("rate" in block or "app" in block for block in setup.blocks(subject))
    if pauses and all(block["transport"].get("slow_start_after_idle") is True for block in setup.blocks(subject)):
        own = setup.settings(subject, "transport.slow_start_after_idle", "false")
        yield Cause("slow start after idle times", "the window is halved for every RTO of silence", own)


# --- the network -----------------------------------------------------------------------------------------------------


def _policer(setup: Setup, subject: Subject) -> Iterator[Cause]:
    for link in setup.forward(subject):
        policer = link.block.get("policer")
        if not policer:
            continue
        rate, burst, dropped = policer["rate"], policer["burst"], link.row["drops_policed_total"]
        shown = f"{link.name} polices to {rate} with a bucket of {burst} and dropped {dropped:,} packets"
        if reached := link.row["throughput_mbps"]:
            share = reached / (in_unit(rate, "Mbit/s") or reached)
            shown += f"; what passes is {percent(share)} of that rate"
        rtt = setup.base_rtt_ms(subject)
        one_round_trip = {f"{link.key}.policer.burst": f"{max(rtt, 1.0):g}ms"}
        is_small = _bucket_ms(policer) < rtt
        if is_small:
            yield Cause("the policer, whose bucket is smaller than a round trip's data", shown, one_round_trip)
        yield Cause("the rate of the policer", shown, {f"{link.key}.policer.rate": "100tbit"}, is_natural=True)


def _marks(setup: Setup, subject: Subject) -> Iterator[Cause]:
    for link in setup.forward(subject):
        if (early := early_marks(link)) is None or early.step_ms >= 2 * early.packet_ms:
            continue
        shown = (
            f"{link.name} marks above {number(early.step_ms)} ms and a packet takes {number(early.packet_ms)} ms: "
            f"{link.row['marks_total']:,} marks"
        )
        key, _, value = early.mended.partition(" = ")
        yield Cause("marks of ECN below a packet time", shown, {f"{link.key}.queue.{key}": value.strip('"')})


def _queue_discipline(setup: Setup, subject: Subject) -> Iterator[Cause]:
    for link in setup.forward(subject):
        kind, queue = link.queue
        acted = link.row["drops_aqm_total"] + link.row["marks_total"]
        if kind == "droptail" or not acted:
            continue
        target, burst = in_unit(queue.get("target"), "ms"), _burst_ms(setup.forward(subject), link)
        name = f"{kind} of {link.name}, which drops or marks what would fit"
        shown = f"{acted:,} drops and marks"
        if target is not None:
            shown += f" above a target of {number(target)} ms"
            if burst is not None and burst > target:
                name = f"the target of {kind} at {link.name}, which is below a burst"
                shown += f"; packets come {number(burst)} ms' worth at a time"
        yield Cause(name, shown, _lenient(link, kind, queue))


def _bursts(setup: Setup, subject: Subject) -> Iterator[Cause]:
    if not _is(setup, subject, "protocol", ("tcp", "quic")):
        return
    dropped = sum(link.row["drops_full_total"] + link.row["drops_policed_total"] for link in setup.forward(subject))
    current = {block["transport"]["pacing"] for block in setup.blocks(subject)}
    if dropped and current <= {"auto", "off"}:
        shown = f"{dropped:,} packets found no room; with pacing they come one by one"
        yield Cause("bursts, which pacing would take apart", shown, setup.settings(subject, "transport.pacing", "on"))
    if dropped and current <= {"auto", "on"}:
        shown = f"{dropped:,} packets found no room"
        own = setup.settings(subject, "transport.pacing", "off")
        yield Cause("pacing, beside bursts that take the room", shown, own)


def _reordering(setup: Setup, subject: Subject) -> Iterator[Cause]:
    own: dict[str, str] = {}
    for link in setup.forward(subject):
        jitter, reorder, late = (link.block.get(key) or {} for key in ("jitter", "reorder", "late"))
        if jitter.get("reorders") and in_unit(jitter.get("amount"), "ms"):
            own[f"{link.key}.jitter.reorders"] = "false"
        if in_unit(reorder.get("probability"), "%"):
            own[f"{link.key}.reorder.probability"] = "0%"
        if in_unit(late.get("probability"), "%"):
            own[f"{link.key}.late.probability"] = "0%"
    if own:
        spurious, lost = setup.total(subject, "spurious_losses"), setup.total(subject, "lost")
        shown = f"{spurious:,} of {lost:,} packets declared lost had arrived" if lost else "packets overtake each other"
        yield Cause("reordering, which looks like loss", shown, own)


def _way_back(setup: Setup, subject: Subject) -> Iterator[Cause]:
    own: dict[str, str] = {}
    shown = []
    for link in setup.back(subject):
        dropped, arrived = link.row["drops_total"], link.row["arrivals_total"]
        is_limited = link.block.get("rate", UNLIMITED) != UNLIMITED and not link.block.get("wifi")
        if not is_limited or not (dropped or (link.usage or 0.0) >= OFTEN_USED):
            continue
        used = "" if link.usage is None else f" is used by {percent(link.usage)}"
        shown.append(f"{link.name}{used}" + (f" and dropped {dropped:,} of {arrived:,} packets" if dropped else ""))
        unlimited = {"rate": UNLIMITED, "buffer": UNLIMITED, "queue": "droptail"}
        own |= {f"{link.key}.{key}": value for key, value in unlimited.items()}
    if own:
        yield Cause("the way back, which ACKs fill", _first_of(shown), own)


def _outage(setup: Setup, subject: Subject) -> Iterator[Cause]:
    for link in setup.forward(subject):
        rate = link.block.get("rate")
        found = _without_outages(rate) if isinstance(rate, dict) else None
        if found is not None:
            longest_s, value = found
            shown = f"{link.name} carries nothing for up to {number(longest_s)} s"
            yield Cause("outages of the link", shown, {f"{link.key}.rate": value})


def _random_loss(setup: Setup, subject: Subject) -> Iterator[Cause]:
    own, lost = {}, 0
    for link in setup.forward(subject):
        if link.row["losses_total"] and not link.block.get("wifi"):
            own[f"{link.key}.loss"] = "0%"
            lost += link.row["losses_total"]
            if in_unit((link.block.get("corrupt") or {}).get("probability"), "%"):
                own[f"{link.key}.corrupt.probability"] = "0%"
    if own:
        yield Cause("random loss", f"{lost:,} packets were lost at random", own)


def _small_buffer(setup: Setup, subject: Subject) -> Iterator[Cause]:
    rtt = setup.base_rtt_ms(subject)
    for link in setup.forward(subject):
        dropped, capacity = link.row["drops_full_total"], link.row["capacity_mbps"]
        buffer = _kilobytes(link.block.get("buffer"))
        if not dropped or not capacity or buffer is None or link.block.get("wifi"):
            continue
        bdp = capacity * rtt / 8
        if buffer < 0.9 * bdp:
            shown = f"{link.name} holds {number(buffer / bdp)} BDP and dropped {dropped:,} packets"
            yield Cause("a small buffer", shown, {f"{link.key}.buffer": "1bdp"})


def _limit(setup: Setup, subject: Subject) -> Iterator[Cause]:
    for link in setup.forward(subject):
        if link.block.get("limit"):
            own = {f"{link.key}.limit": "10000000"}
            yield Cause("the most packets that may be on the link", f"limit is {link.block['limit']}", own)


def _bundles(setup: Setup, subject: Subject) -> Iterator[Cause]:
    for link in setup.forward(subject) + setup.back(subject):
        if aggregate := link.block.get("aggregate"):
            shown = f"{link.name} releases packets in bundles ({', '.join(f'{k} {v}' for k, v in aggregate.items())})"
            # A bundle of one packet is none.
            own = {f"{link.key}.aggregate": '{ timeout = "1us", packets = 1 }'}
            yield Cause("bundles of packets", shown, own)


def _jitter(setup: Setup, subject: Subject) -> Iterator[Cause]:
    own, amounts = {}, set()
    for link in setup.forward(subject) + setup.back(subject):
        amount = (link.block.get("jitter") or {}).get("amount")
        if in_unit(amount, "ms"):
            own[f"{link.key}.jitter.amount"] = "0s"
            amounts.add(amount)
    if own:
        yield Cause("jitter", f"delays vary by {_listed(amounts)}", own)


def _delayed_acks(setup: Setup, subject: Subject) -> Iterator[Cause]:
    inflight = [float(packets) for packets in _series(setup, subject, "inflight") if packets]
    every = max(int(block["transport"].get("ack_every", 1)) for block in setup.blocks(subject))
    if every > 1 and inflight and (median := float(np.median(inflight))) <= FEW_ACKS * every:
        shown = f"an ACK waits for {every} packets or its timer, and {number(median)} are in flight in the median"
        yield Cause(
            "delayed ACKs, for which a small window waits", shown, setup.settings(subject, "transport.ack_every", "1")
        )


def _capacity(setup: Setup, subject: Subject) -> Iterator[Cause]:
    links = [link for link in setup.forward(subject) if link.mbps]
    if links:
        busiest = max(links, key=lambda link: link.usage or 0.0)
        used = "" if busiest.usage is None else f", which is used by {percent(busiest.usage)}"
        own = {f"{busiest.key}.rate": f"{2 * (busiest.mbps or 0.0):.6g}mbit"}
        yield Cause(f"the capacity of {busiest.name}", f"{number(busiest.mbps)} Mbit/s{used}", own, is_natural=True)


def _company(setup: Setup, subject: Subject) -> Iterator[Cause]:
    """Others on the way; what they take is theirs, so that this is no fault."""
    links = {link.name for link in setup.forward(subject)}
    own, labels = {}, set()
    for index, block in enumerate(setup.experiment.get("flows", [])):
        is_own = subject.kind == "flows" and index in subject.members
        if not is_own and links & {name for way in ways(block) for name in way} and _protocol(block) in ("tcp", "quic"):
            own[f"flows[{index}].bytes"] = "1B"
            labels.add(block.get("label", "flows"))
    if own:
        yield Cause("the company of other flows", f"{len(own)} of {_listed(labels)}", own, is_natural=True)


def _start(setup: Setup, subject: Subject) -> Iterator[Cause]:
    if setup.is_finite(subject) and _is(setup, subject, "protocol", ("tcp", "quic")):
        windows = {block["transport"]["initial_cwnd"] for block in setup.blocks(subject)}
        own = setup.settings(subject, "transport.initial_cwnd", str(10 * max(windows)))
        yield Cause("its start", f"its first window is {_listed(windows)} packets", own, is_natural=True)


_ALL: tuple[Callable[[Setup, Subject], Iterator[Cause]], ...] = (
    _application,
    _nagle,
    _slow_reader,
    _receive_window,
    _send_buffer,
    _device_queue,
    _bound_of_window,
    _way_back,
    _hystart,
    _probe_rtt,
    _timeouts,
    _idle,
    _outage,
    _policer,
    _marks,
    _reordering,
    _queue_discipline,
    _random_loss,
    _bursts,
    _small_buffer,
    _limit,
    _bundles,
    _jitter,
    _delayed_acks,
    _capacity,
    _company,
    _start,
)


# --- what they read --------------------------------------------------------------------------------------------------


def _of_controller(setup: Setup, subject: Subject, value_of: Callable[[str, object], str | None]) -> dict[str, str]:
    """Settings of parameters of the controllers, for which ``value_of`` gives a value."""
    own = {}
    for index, block in zip(subject.members, setup.blocks(subject), strict=True):
        controller = block.get("cc")
        for key, value in controller.items() if isinstance(controller, dict) else ():
            if (new := value_of(key, value)) is not None:
                own[f"{subject.kind}[{index}].cc.{key}"] = new
    return own


def _enough(setup: Setup, subject: Subject) -> str:
    """A rate that the network does not carry."""
    fastest = max((link.row["capacity_mbps"] or 0.0 for link in setup.forward(subject)), default=0.0)
    return f"{max(10.0 * fastest, 1.0):.0f}mbit"


def _is(setup: Setup, subject: Subject, key: str, allowed: tuple[str, ...]) -> bool:
    return all(block["transport"].get(key) in allowed for block in setup.blocks(subject))


def _protocol(block: Block) -> str:
    return str(block.get("transport", {}).get("protocol", ""))


def _share_of_mode(setup: Setup, subject: Subject, mode: str) -> str:
    modes = _series(setup, subject, "mode")
    share = sum(str(value).lower() == mode for value in modes) / len(modes) if modes else 0.0
    return f", {percent(share)} of the time" if share else ""


def _share_at_window(setup: Setup, subject: Subject) -> str:
    """How often as much is in flight as the receiver allows, and the congestion window allows more."""
    window, inflight = _series(setup, subject, "cwnd"), _series(setup, subject, "inflight")
    if not window:
        return ""
    transport = setup.blocks(subject)[0]["transport"]
    kilobytes = in_unit(transport["receive_window"], "kB")
    if kilobytes is None:
        return ""
    packets = 1e3 * kilobytes / transport["mss"]
    known = [(own, bound) for own, bound in zip(inflight, window, strict=True) if own and bound]
    full = sum(0.75 * packets <= own < 0.95 * bound for own, bound in known)
    return f", full in {percent(full / len(window))} of samples" if full else ""


def _first_ssthresh(setup: Setup, subject: Subject) -> float | None:
    """The threshold with which the first member left slow start, if nothing was lost by then."""
    thresholds, lost = _series(setup, subject, "ssthresh"), _series(setup, subject, "lost_total")
    for threshold, so_far in zip(thresholds, lost, strict=True):
        if threshold is not None and not math.isnan(threshold):
            return None if so_far else float(threshold)
    return None


def _series(setup: Setup, subject: Subject, column: str) -> list[Any]:
    """Of the first member; empty where nothing was recorded."""
    if subject.kind != "flows" or not len(setup.result.series):
        return []
    frame = setup.result.series.to_polars()
    return frame.filter(frame["flow"] == subject.members[0])[column].to_list()


def _burst_ms(links: list[Link], before: Link) -> float | None:
    """How long a link takes for what an earlier one on the way releases at once."""
    spans = []
    for link in links:
        if link.index == before.index:
            break
        spans.append(in_unit((link.block.get("aggregate") or {}).get("every"), "ms"))
        spans.append(in_unit((link.block.get("aggregate") or {}).get("timeout"), "ms"))
    return max(filter(None, spans), default=None)


def _without_outages(rate: Block) -> tuple[float, str] | None:
    """The longest outage of a rate that changes, and the rate without any."""
    if isinstance(times := rate.get("trace"), list):
        gaps = np.diff(np.asarray([0, *times], dtype=float))
        is_outage = gaps >= OUTAGE_MS
        if not is_outage.any() or is_outage.all():
            return None
        opportunities_per_ms = np.count_nonzero(~is_outage) / max(float(gaps[~is_outage].sum()), 1.0)
        return float(gaps.max()) / 1e3, f"{PACKET_BITS * opportunities_per_ms / 1e3:.6g}mbit"
    steps = [(in_unit(start, "ms") or 0.0, value, in_unit(value, "Mbit/s")) for start, value in rate.get("steps", [])]
    running = [value for _, value, mbps in steps if mbps]
    if len(running) in (0, len(steps)):
        return None
    period = in_unit(rate.get("repeat"), "ms")
    ends = [start for start, _, _ in steps[1:]] + [period or math.inf]
    away = [end - start for (start, _, mbps), end in zip(steps, ends, strict=True) if not mbps]
    # What the link had before goes on; at the beginning of a period that is what the one before ended with.
    kept, before = [], running[-1]
    for start, value, mbps in steps:
        before = value if mbps else before
        kept.append(f'["{start:g}ms", "{before}"]')
    again = f', repeat = "{rate["repeat"]}"' if "repeat" in rate else ""
    return max(away) / 1e3, f"{{ steps = [{', '.join(kept)}]{again} }}"


def _lenient(link: Link, kind: str, queue: Block) -> dict[str, str]:
    """A discipline that lets a queue of a tenth of a second stand; one without a target becomes drop-tail."""
    if kind == "cake":
        return {f"{link.key}.queue.rtt": "2s"}
    if "target" in queue and in_unit(queue["target"], "ms") is not None:
        own = {"target": "100ms"} | ({"interval": "1s"} if "interval" in queue else {})
        return {f"{link.key}.queue.{key}": value for key, value in own.items()}
    return {f"{link.key}.queue": "droptail"}


def _bucket_ms(policer: Block) -> float:
    """How long the policer's rate takes to fill its bucket."""
    kilobytes, rate = _kilobytes(policer["burst"]), in_unit(policer["rate"], "Mbit/s")
    return in_unit(policer["burst"], "ms") or (8 * kilobytes / rate if kilobytes and rate else 0.0)


def _kilobytes(text: object) -> float | None:
    packets = in_unit(text, "packets")
    return in_unit(text, "kB") if packets is None else packets * PACKET_BITS / 8e3


def _first_of(texts: list[str]) -> str:
    return texts[0] + (f", and {len(texts) - 1} more links" if len(texts) > 1 else "")


def _in_words(rate: object) -> str:
    return rate if isinstance(rate, str) else "a rate that changes"


def _listed(values: set[Any]) -> str:
    return " or ".join(sorted(map(str, values)))
