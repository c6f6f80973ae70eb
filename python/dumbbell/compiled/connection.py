"""What compiled hooks read and write of their connection, and what becomes of their answers."""

from __future__ import annotations

from typing import Any

from numba import float64, int64, types
from numba.core import errors
from numba.extending import overload

from dumbbell.compiled.arithmetic import OVERFLOW, plain
from dumbbell.compiled.engine import CONTRACT, Ack, Conn, Loss, fail, function, is_a, is_number, is_whole, once, some
from dumbbell.compiled.faults import BOUNDS, Kind, most

RETURNED, UNWRITABLE, NO_PACING = int(Kind.RETURNED), int(Kind.UNWRITABLE), int(Kind.NO_PACING)
BELOW, ACKED, ANSWER, ANSWER_NONE = int(Kind.BELOW), int(Kind.ACKED), int(Kind.ANSWER), int(Kind.ANSWER_NONE)
MOST = 2**63 - 1
MAX_ACKED = CONTRACT["bounds"]["acked"]
MAX_CWND = CONTRACT["bounds"]["cwnd"]

_below = function("below", "u4", "u8", "u4")
_uniform = function("uniform", "f8", "u8")
_is_cwnd_limited = function("is_cwnd_limited", "?", "u8", "u8")
_slow_start = function("slow_start", "u4", "u8", "u8", "u4")
_cong_avoid_ai = function("cong_avoid_ai", "", "u8", "u8", "u4", "u4")


# -- what a connection says -------------------------------------------------------------------------------------------


def _signed(value):
    """A number of 64 bits without a sign, which is the greatest with one where it has no bound."""
    return f"int64({value}) if int64({value}) >= 0 else MOST"


OF_CONN = {
    **{
        name: f"int64(o.seen.{name})"
        for name in (
            "mss", "mstamp_us", "jiffies", "hz", "prior_cwnd", "cwnd_clamp", "gso_max_bytes", "packets_out",
            "sacked_out", "lost_out", "retrans_out", "max_packets_out", "snd_una", "snd_nxt", "ca_state", "delivered",
            "delivered_ce", "lost", "delivered_mstamp_us", "srtt_us_x8", "min_rtt_us",
        )
    },
    **{
        name: f"o.seen.{name} != 0" for name in ("paced", "cwnd_limited", "no_unsent_data", "receive_window_full")
    },
    **{name: f"int64(o.control.{name})" for name in ("ssthresh", "cwnd_cnt", "pacing_shift", "app_limited")},
    "now": "float64(int64(o.seen.now)) / 1e9",
    "now_ns": "int64(o.seen.now)",
    "next_departure_ns": "int64(o.seen.next_departure)",
    "last_sent_ns": "int64(o.seen.last_sent)",
    "max_pacing_rate": _signed("o.seen.max_pacing_rate"),
    "pacing_rate": _signed("o.control.pacing_rate"),
    "cwnd": "int64(o.control.cwnd)",
    "in_flight": "int64(o.seen.packets_out) + int64(o.seen.retrans_out) "
    "- int64(o.seen.sacked_out) - int64(o.seen.lost_out)",
    "in_slow_start": "o.control.cwnd < o.control.ssthresh",
    "is_cwnd_limited": "_is_cwnd_limited(o.frame.view_at, o.frame.control_at)",
    "srtt": "float64(int64(o.seen.srtt_us_x8)) / 8e6 if o.seen.srtt_us_x8 > 0 else None",
    "min_rtt": "float64(int64(o.seen.min_rtt_us)) / 1e6 if int64(o.seen.min_rtt_us) != 0xFFFFFFFF else None",
}  # fmt: skip
OF_ACK = {
    **{
        name: f"int64(o.sample.{name})"
        for name in (
            "prior_delivered", "prior_mstamp_us", "delivered", "interval_us", "rtt_us", "losses", "acked_sacked",
            "prior_in_flight", "tx_in_flight", "lost_since_sent", "delivered_ce",
        )
    },
    **{name: f"o.sample.{name} != 0" for name in ("is_app_limited", "is_retrans", "is_ack_delayed")},
    "packets": "int64(o.sample.acked_sacked)",
    "lost": "int64(o.sample.losses)",
    "marked": "o.sample.is_ece != 0",
    "rtt": "float64(int64(o.sample.rtt_us)) / 1e6 if o.sample.rtt_us >= 0 else None",
    "rate": "float64(int64(o.sample.delivered)) * float64(int64(o.seen.mss)) * 1e6 "
    "/ float64(int64(o.sample.interval_us)) if o.sample.delivered >= 0 and o.sample.interval_us > 0 else None",
}  # fmt: skip
OF_LOSS = {
    "packets": "int64(o.loss.packets)",
    "by_mark": "o.loss.by_mark != 0",
    "tx_in_flight": "int64(o.loss.packet_tx_in_flight)",
    "delivered": "int64(o.loss.packet_delivered)",
    "lost": "int64(o.loss.packet_lost)",
    "is_app_limited": "o.loss.packet_is_app_limited != 0",
}


def _getter(name):
    """Reads an attribute of whatever has it."""
    namespace: dict[str, Any] = {}
    exec(f"def {name}(o): pass", namespace)
    stub = namespace[name]
    known = {Conn: OF_CONN, Ack: OF_ACK, Loss: OF_LOSS}
    made = {kind: eval(f"lambda o: {of[name]}", globals()) for kind, of in known.items() if name in of}

    @overload(stub)
    def _choose(o):
        if isinstance(o, types.BaseNamedTuple) and o.instance_class in known:
            if o.instance_class not in made:
                raise errors.TypingError(f"`{o.instance_class.__name__.lower()}` has no `{name}`")
            return made[o.instance_class]
        return None

    return stub


GET = {name: _getter(name) for name in sorted({*OF_CONN, *OF_ACK, *OF_LOSS})}
"""Attributes of connections, ACKs and losses."""


def cwnd_as_float(o):
    """The window with its fraction."""


@overload(cwnd_as_float)
def _over_cwnd_as_float(o):
    if is_a(o, Conn):
        return lambda o: float64(int64(o.control.cwnd)) + o.frame.fraction
    return None


# -- what a connection is told ----------------------------------------------------------------------------------------


@once(types.none, int64)
def _may_write(f, site):
    if f.writes == 2:
        fail(f, UNWRITABLE, site, 0.0)


def _setter(kind, after, is_rate=False):
    """Writes an attribute of a connection."""
    name, _, least = BOUNDS[kind]
    name = name.removeprefix("conn.")
    number, low, high = int(kind), float(least), most(kind)
    namespace: dict[str, Any] = {}
    exec(f"def set_{name}(o, value, site): pass", namespace)
    stub = namespace[f"set_{name}"]

    @once(types.none, float64, int64)
    def check(f, value, site):
        _may_write(f, site)
        if is_rate and f.writes == 1:
            fail(f, NO_PACING, site, 0.0)
        if not (low <= value <= high):
            fail(f, number, site, value)

    if is_rate:
        source = """
def written(o, value, site):
    whole = int64(value)
    most = int64(o.seen.max_pacing_rate)
    if not (is_whole and 0 < whole and (most < 0 or whole <= most)):
        check(o.frame, float64(value), site)
    elif o.frame.writes != 0:
        check(o.frame, 1.0, site)
    o.control.pacing_rate = whole
"""
    else:
        source = f"""
def written(o, value, site):
    check(o.frame, float64(value), site)
    o.control.{name} = int64(value)
    {after}
"""

    def variant(is_whole):
        space = {**globals(), "check": check, "is_whole": is_whole}
        exec(source, space)
        return space["written"]

    by_whole, by_float = variant(True), variant(False)

    @overload(stub)
    def _choose(o, value, site):
        if not is_a(o, Conn):
            return None
        if isinstance(value, types.Boolean):
            raise errors.TypingError(f"`conn.{name}` must be a number, not bool")
        if isinstance(value, types.Optional):
            return lambda o, value, site: stub(o, plain(o.frame, value, site), site)
        return by_whole if is_whole(value) else by_float if isinstance(value, types.Float) else None

    return stub


SET = {
    "ssthresh": _setter(Kind.SSTHRESH, "o.frame.wrote_ssthresh = True"),
    "pacing_rate": _setter(Kind.PACING_RATE, "", is_rate=True),
    "cwnd_cnt": _setter(Kind.CWND_CNT, ""),
    "pacing_shift": _setter(Kind.PACING_SHIFT, ""),
    "app_limited": _setter(Kind.APP_LIMITED, ""),
    "cwnd": _setter(
        Kind.CWND,
        "o.control.cwnd_bytes = 0; o.frame.fraction = 0.0 if is_whole else float64(value) - float64(int64(value))",
    ),
}
"""Attributes of connections that can be written."""


@once(int64, int64, int64)
def _count(f, value, site):
    if value < 0 or value > MAX_ACKED:
        fail(f, ACKED, site, float64(value))
    return value


def slow_start(f, o, acked, site):
    """``conn.slow_start``."""


@overload(slow_start)
def _over_slow_start(f, o, acked, site):
    if not (is_a(o, Conn) and is_whole(acked)):
        return None

    def call(f, o, acked, site):
        _may_write(f, site)
        return int64(_slow_start(f.view_at, f.control_at, _count(f, int64(acked), site)))

    return call


def cong_avoid_ai(f, o, per_increment, acked, site):
    """``conn.cong_avoid_ai``."""


@overload(cong_avoid_ai)
def _over_cong_avoid_ai(f, o, per_increment, acked, site):
    if not (is_a(o, Conn) and is_whole(acked)):
        return None
    if not is_whole(per_increment):
        raise errors.TypingError("`conn.cong_avoid_ai` takes whole numbers of packets")

    def call(f, o, per_increment, acked, site):
        _may_write(f, site)
        if int64(per_increment) < 0 or int64(per_increment) > 0xFFFFFFFF:
            fail(f, OVERFLOW, site, 0.0)
        _cong_avoid_ai(f.view_at, f.control_at, int64(per_increment), _count(f, int64(acked), site))

    return call


@once(int64, int64, int64)
def below(f, bound, site):
    """``conn.random.below``."""
    if bound < 0 or bound > 0xFFFFFFFF:
        fail(f, BELOW, site, float64(bound))
    return int64(_below(f.random_at, bound))


@once(float64)
def uniform(f):
    """``conn.random.random``."""
    return _uniform(f.random_at)


# -- answers ----------------------------------------------------------------------------------------------------------


def nothing(f, value, site):
    """Refuses what a hook returns that answers by what it writes."""


@overload(nothing)
def _over_nothing(f, value, site):
    if isinstance(value, types.NoneType):
        return lambda f, value, site: None
    if isinstance(value, types.Optional):

        def optional(f, value, site):
            if value is not None:
                fail(f, RETURNED, site, 0.0)

        return optional
    return lambda f, value, site: fail(f, RETURNED, site, 0.0)


def answer(f, value, site):
    """Takes over the number of packets that a hook returns."""


@overload(answer)
def _over_answer(f, value, site):
    if isinstance(value, types.NoneType):
        return lambda f, value, site: fail(f, ANSWER_NONE, site, 0.0)
    if isinstance(value, types.Optional):

        def optional(f, value, site):
            if value is None:
                fail(f, ANSWER_NONE, site, 0.0)
            answer(f, some(value), site)

        return optional
    if isinstance(value, types.Boolean) or not is_number(value):
        return None

    def number(f, value, site):
        if not (1.0 <= float64(value) <= MAX_CWND):
            fail(f, ANSWER, site, float64(value))
        f.answer = int64(value)

    return number
