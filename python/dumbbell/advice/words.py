"""What a map says, in sentences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dumbbell import _core
from dumbbell.advice.rule import COUNTS, WEIGHT, Difference, Run, Verdict
from dumbbell.compare import WARMUP_SHARE
from dumbbell.inference import Interval

if TYPE_CHECKING:
    from dumbbell.advice.grid import Question
    from dumbbell.advice.map import Cell, DecisionMap, Region, Row

#: Logarithm of the largest ratio that an interval of a few runs may reach and still say something.
WIDEST = math.log(100)


def utility(weight: float) -> str:
    """What is to be as high as it can be."""
    delay = "the 95th percentile of RTT"
    if weight == 0:
        return "goodput"
    if weight == 1:
        return f"power, that is goodput over {delay}"
    return f"goodput over {delay} to the power of {weight:g}"


def rule(confidence: float, weight: float = WEIGHT) -> str:
    """When an algorithm is chosen."""
    counts = f"{100 * COUNTS:.0f} %"
    return (
        f"Rule: the algorithm with the most utility is the best, which is {utility(weight)}. A difference in it counts "
        f"from {counts} on, and a choice is named where the intervals show one; where no difference is shown, none of "
        f"{counts} or more is. Differences are paired by seed. Brackets hold {interval_name(confidence)}s, so wide "
        "that of the differences shown at most one in a hundred is expected to be chance (Benjamini and Hochberg)."
    )


def of_best(best: Sequence[str], candidates: Sequence[str]) -> str:
    """A verdict in a few words."""
    if len(best) == 1:
        return best[0]
    return "no difference shown" if len(best) == len(candidates) else " or ".join(best)


def listed(names: Sequence[str], last: str = "and") -> str:
    """``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def of_row(found: DecisionMap, row: Row) -> str:
    """The choice in a row over its queues."""
    title = str(row)
    return f"{title[0].upper()}{title[1:]}: {_regions(found.regions(row), found.candidates)}."


def reasons(found: DecisionMap, row: Row) -> list[str]:
    """Why that is the choice in each region, and what is left to the company."""
    regions = found.regions(row)
    said = [_reason(region, found) for region in regions]
    if row.company != "alone":
        said.append(_shares(regions, row, found.candidates))
    return [text for text in said if text]


def _regions(regions: Sequence[Region], candidates: Sequence[str]) -> str:
    from dumbbell.advice.map import boundary

    names = [of_best(region.best, candidates) for region in regions]
    tried = [cell.queue for region in regions for cell in region.cells]
    if len(regions) == 1:
        where = (
            f"with a queue of {tried[0]}"
            if len(tried) == 1
            else f"at all {len(tried)} queues tried from {tried[0]} to {tried[-1]}"
        )
        return f"{names[0]} {where}"
    edges = [f"{boundary(one.cells, other.cells):.2g}" for one, other in itertools.pairwise(regions)]
    middle = [
        f"{name} from {low} to {high} BDP" for name, low, high in zip(names[1:-1], edges[:-1], edges[1:], strict=True)
    ]
    return ", ".join([f"{names[0]} below {edges[0]} BDP", *middle, f"{names[-1]} above {edges[-1]} BDP"])


def _reason(region: Region, found: DecisionMap) -> str:
    """How the best differ from the others in the midst of a region."""
    cell = region.cells[len(region.cells) // 2]
    first, *ties = region.best
    others = ties or [name for name in found.candidates if name != first]
    means = {name: cell.mean(name) for name in found.candidates}
    said = reason(first, others, cell.verdict, means)
    return f"At {cell.queue} {said}" if said else ""


def reason(first: str, others: Sequence[str], verdict: Verdict, means: Mapping[str, Run]) -> str:
    """What an algorithm has, and how it differs from others; empty if there is nothing to compare it with."""
    pairs = [verdict.between(first, other) for other in others]
    said = [of_difference(pair) for pair in pairs if pair is not None]
    goodput, delay = means[first]
    own = f"{goodput:.3g} Mbit/s" + ("" if delay is None else f" at {delay:.3g} ms")
    return f"{first} has {own}: {'; '.join(said)}." if said else ""


def of_difference(found: Difference) -> str:
    """``8 % more utility (7 to 9 %) than cubic, with 12 % less delay and 3 % less goodput``."""
    parts = [] if found.delay is None else [_share(found.delay, "delay")]
    parts.append(_share(found.goodput, "goodput"))
    return f"{_signed(found.utility, 'utility')} than {found.second}, with {' and '.join(parts)}"


def _share(interval: Interval, what: str) -> str:
    share = 100 * math.expm1(interval.estimate)
    is_none = abs(share) < 0.05
    return f"the same {what}" if is_none else f"{percent(abs(share))} % {'less' if share < 0 else 'more'} {what}"


def _signed(interval: Interval, what: str) -> str:
    text = _share(interval, what)
    if not interval.has_width:
        return text
    if max(-interval.low, interval.high) > WIDEST:
        return f"{text} (too few runs for an interval)"
    low, high = (100 * math.expm1(log) for log in (interval.low, interval.high))
    if low < 0 < high:
        return f"{text} ({percent(-low)} % less to {percent(high)} % more)"
    nearer, farther = sorted((abs(low), abs(high)))
    return f"{text} ({percent(nearer)} to {percent(farther)} %)"


def interval_name(confidence: float) -> str:
    """``99.7 % interval``, to one digit of what is missing."""
    return f"{100 - float(f'{100 * (1 - confidence):.1g}'):g} % interval"


def percent(share: float) -> str:
    """To two digits."""
    return f"{share:.0f}" if abs(share) >= 10 else f"{share:.2g}"


def _shares(regions: Sequence[Region], row: Row, candidates: Sequence[str]) -> str:
    first, last = regions[0].cells[0], regions[-1].cells[-1]
    parts = []
    for name in candidates:
        ends = [cell.shares[name] for cell in ([first] if first is last else [first, last])]
        if all(end is not None for end in ends):
            parts.append(f"{' and '.join(f'{100 * (end or 0.0):.0f} %' for end in ends)} with {name}")
    if not parts:
        return ""
    where = f"at {first.queue}" + ("" if first is last else f" and at {last.queue}")
    whose = "the slower of two equal flows has" if row.company == "itself" else f"the flow beside {row.company} takes"
    return f"Of what both flows get, {whose}, {where}: {listed(parts)}."


def of_regret(found: DecisionMap) -> str:
    """What to take where the queue is not known."""
    least, regrets = found.least_regret, found.regrets
    own = regrets[0]
    costs = [f"{one.name} at worst {percent(100 * one.worst)} % ({_place(found.cells[one.place])})" for one in regrets]
    regret = "how much less utility it has than the best one of the same place"
    start = "If you do not know which of these places is yours"
    if len(least) > 1:
        chosen = f"{start}, no difference is shown between {listed(least)}"
    else:
        chosen = f"{start}: {own.name}, whose regret is the least"
    return f"{chosen}. Regret is {regret}: {', '.join(costs)}."


def _place(cell: Cell) -> str:
    return f"{cell.row}, {cell.queue}"


def assumptions(found: DecisionMap) -> str:
    """What was run and what was not."""
    asked = found.question
    queues = sorted({cell.queue for cell in found.cells}, key=lambda queue: queue.bdp)
    company = {"alone": "alone", "itself": "beside a second flow of its own kind"}
    with_whom = listed([company.get(name, f"beside one flow of {name}") for name in asked.company], "or")
    kind = "a drop-tail queue" if not any(key.startswith("path.queue") for key in asked.settings) else "a queue"
    span = f"{queues[0]} (taken from the measured {asked.measured_queue})" if asked.measured_queue else (
        str(queues[0]) if len(queues) == 1 else f"{queues[0]} to {queues[-1]}"
    )  # fmt: skip
    runs = sum(len(sweep.points) for sweep in found.sweeps.values())
    extra = "".join(f", {key} = {value}" for key, value in asked.settings.items())
    measured = f"{asked.duration} each, of which the first {_share_of(asked.duration)} are not measured"
    aqm = "active queue management, " if kind != "a queue" else ""
    sentences = [
        f"Assumed: one long flow of {listed(asked.candidates, 'or')}, {with_whom}, on {_link(asked)}, with a base "
        f"round trip of {listed(asked.rtts, 'or')}, random loss of {listed(asked.losses, 'or')}, and {kind} of "
        f"{span}{extra}.",
        f"Tried: {runs:,} runs of {measured}; {asked.repeat} seeds of each, which draw {_chance(asked)}.",
        f"Not tried: other rates, round trips and losses, {aqm}more flows, short flows, cross traffic, and candidates "
        "that are not named.",
    ]
    return " ".join(sentences)


def _link(asked: Question) -> str:
    if asked.recording is None or asked.trace is None:
        return f"a link of {listed(asked.rates, 'or')}"
    recording = asked.recording
    mean = f"{recording.mean_mbps:.3g} Mbit/s in the mean of {recording.length_s:.3g} s"
    return f"a link that follows {asked.trace.name} ({mean})"


def _share_of(duration: str) -> str:
    try:
        return f"{_core.seconds(duration) * WARMUP_SHARE:.3g} s"
    except ValueError:
        return "sixth"


def _chance(asked: Question) -> str:
    drawn = ["round trips longer by up to a packet's time"] if "vary_rtt" not in asked.settings else []
    if asked.recording is not None and asked.settings.get("vary_phase") != "false":
        drawn.insert(0, "the place in the recording where a run begins")
    if any(loss.rstrip("%") not in ("0", "0.0") for loss in asked.losses):
        drawn.append("losses")
    if any(name != "alone" for name in asked.company):
        drawn.append("starts within a second where two flows share the path")
    return listed(drawn) if drawn else "what the settings say"
