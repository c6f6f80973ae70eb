"""What may go wrong in compiled code: numbers that it leaves behind, and what they say."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from dumbbell import _core


class Kind(IntEnum):
    """What went wrong."""

    OTHER = 0
    ZERO = 1
    OVERFLOW = 2
    INEXACT = 3
    INDEX = 4
    NOTHING = 5
    DOMAIN = 6
    NO_INTEGER = 7
    SHIFT = 8
    PASSES = 9
    RAISED = 10
    RETURNED = 11
    UNWRITABLE = 12
    NO_PACING = 13
    BELOW = 14
    ACKED = 15
    CWND = 16
    SSTHRESH = 17
    PACING_RATE = 18
    CWND_CNT = 19
    PACING_SHIFT = 20
    APP_LIMITED = 21
    ANSWER = 22
    ANSWER_NONE = 23


SAYS = {
    Kind.OTHER: "something went wrong that compiled code cannot name; without `compiled` the class says what",
    Kind.ZERO: "ZeroDivisionError: division by zero",
    Kind.OVERFLOW: "OverflowError: a number is beyond the 64 bits of whole numbers in compiled classes",
    Kind.INEXACT: "OverflowError: a whole number beyond 2**53 meets a fraction, which compiled classes refuse",
    Kind.INDEX: "IndexError: index {value:.0f} out of range",
    Kind.NOTHING: "TypeError: None where a number is needed",
    Kind.DOMAIN: "ValueError: math domain error ({value:g})",
    Kind.NO_INTEGER: "{infinite}",
    Kind.SHIFT: "ValueError: negative shift count",
    Kind.PASSES: "the call has made two hundred million passes of its loops; does it loop for ever?",
    Kind.RAISED: "{raised}",
    Kind.RETURNED: "TypeError: `{hook}` returned a value, which means nothing: it must return None and write to `conn`",
    Kind.UNWRITABLE: "AttributeError: `conn` cannot be written in `{hook}`, which answers by what it returns",
    Kind.NO_PACING: "AttributeError: {no_pacing}",
    Kind.BELOW: "OverflowError: conn.random.below({value:.0f}): it takes 0 to 2**32 - 1",
    Kind.ACKED: "ValueError: `acked = {value:.0f}`: one ACK is of at most {acked} packets",
    Kind.ANSWER_NONE: "TypeError: `what {hook}() returned` must be a number, not NoneType (None)",
}

BOUNDS = {
    Kind.CWND: ("conn.cwnd", "packets", 1),
    Kind.SSTHRESH: ("conn.ssthresh", "packets", 0),
    Kind.PACING_RATE: ("conn.pacing_rate", "bytes per second", 1),
    Kind.CWND_CNT: ("conn.cwnd_cnt", "packets", 0),
    Kind.PACING_SHIFT: ("conn.pacing_shift", "", 0),
    Kind.APP_LIMITED: ("conn.app_limited", "packets", 0),
    Kind.ANSWER: ("what {hook}() returned", "packets", 1),
}
"""Kinds that are numbers out of bounds: what, its unit, and the least that it may be."""


@dataclass(frozen=True)
class Site:
    """A place in the source."""

    function: str
    file: str
    line: int
    text: str
    raised: str = ""
    """What is raised here, for those that the class raises itself."""


def most(kind: Kind) -> float:
    """The greatest number that a kind allows."""
    bounds = _core.machine_contract()["bounds"]
    if kind is Kind.PACING_SHIFT:
        return 31.0
    return float(bounds["rate"] if kind in (Kind.PACING_RATE, Kind.APP_LIMITED) else bounds["cwnd"])


def described(hook: str, kind: int, site: Site, value: float) -> str:
    """What went wrong, as an interpreted class would say it."""
    what = Kind(kind)
    contract = _core.machine_contract()
    if what is Kind.RAISED:
        said = site.raised
    elif what in BOUNDS:
        name, unit, least = BOUNDS[what]
        allowed = f"it must lie between {least} and {most(what):.0f} {unit}".rstrip()
        said = f"ValueError: `{name.format(hook=hook)} = {_number(value)}`: {allowed}"
    else:
        infinite = "OverflowError: cannot convert float infinity to integer"
        said = SAYS[what].format(
            hook=hook, value=value, no_pacing=contract["no_pacing"], acked=contract["bounds"]["acked"],
            infinite="ValueError: cannot convert float NaN to integer" if math.isnan(value) else infinite,
        )  # fmt: skip
    # What a hook returns is looked at when it has ended.
    place = [f'  File "{site.file}", line {site.line}, in {site.function}', f"    {site.text}"] if site.file else []
    return "\n".join([f"in `{hook}`, {said}", *place])


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return f"{value:.0f}" if value.is_integer() else f"{value}"
