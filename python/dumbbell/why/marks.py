"""Links that mark packets of a queue which is none: a warning after any run, and a cause to take away.

It needs no extra, because every run with marks is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dumbbell.report import number
from dumbbell.why.setup import Link, Setup, in_unit

if TYPE_CHECKING:
    from dumbbell.results import Result


class EarlyMarks(NamedTuple):
    """A threshold in time, without a least queue, at which a link marks."""

    step_ms: float
    packet_ms: float
    mended: str
    """The setting with which a packet that waits behind one more is no queue."""


def early_marks(link: Link) -> EarlyMarks | None:
    """The threshold of a link that has marked; ``None`` if a queue of two packets is not marked anyway."""
    kind, queue = link.queue
    is_dual = kind == "dualpi2"
    step, packet = in_unit(queue.get("step" if is_dual else "threshold"), "ms"), link.packet_time_ms
    if not step or packet is None or not link.row["marks_total"] or queue.get("min_step_queue", 0) >= 2:
        return None
    return EarlyMarks(step, packet, "min_step_queue = 2" if is_dual else 'threshold = "2packets"')


def warnings(result: Result) -> list[str]:
    """What in a run starves flows that need marks of ECN."""
    found = [(link, early) for link in Setup(result).links if (early := early_marks(link)) is not None]
    return [
        f"{link.name} marks above {number(early.step_ms)} ms and a packet takes {number(early.packet_ms)} ms there: "
        "what waits behind another packet is marked, which starves scalable flows; "
        f"{early.mended} leaves such a queue alone"
        for link, early in found
        if early.step_ms < early.packet_ms
    ]
