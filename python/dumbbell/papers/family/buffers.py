"""Loss, use and queue against the size of the buffer, one flow and several."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dumbbell.papers.family.measure import (
    FOLDER,
    NAMES,
    Runs,
    buffers,
    by,
    percent_lost,
    percent_used,
    queue_ms,
    sized,
    where,
)
from dumbbell.papers.model import Claim, Grid, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Run, jain, total
from dumbbell.papers.testing import across, averaged, both, each, paired, ranged

SITUATIONS = {
    "1 flow": ("1", "50mbit"),
    "3 flows": ("3", "50mbit"),
    "8 flows": ("8", "50mbit"),
    "8 flows, 10 Mbit/s": ("8", "10mbit"),
}
"""Number of flows and rate. In the last one a fair share is four packets, the least that BBR keeps in flight."""
SEVERAL = tuple(SITUATIONS)[1:]
THRESHOLD = 2
"""Loss in percent that version 2 and 3 accept when they probe."""


def at(runs: Runs, cc: str, situation: str) -> Runs:
    """The runs of an algorithm in a situation."""
    count, rate = SITUATIONS[situation]
    return where(runs, cc_0=cc, count_0=count, rate=rate)


def tables(runs: Runs) -> list[Grid]:
    """One row an algorithm and number of flows, one column a buffer; means over seeds."""
    columns = buffers(runs)
    rows = [((NAMES[cc], one), by(at(runs, cc, one), "buffer")) for one in SITUATIONS for cc in by(runs, "cc_0")]
    values: dict[str, tuple[str, Callable[[Run], float]]] = {
        "loss": ("Loss in percent", percent_lost),
        "utilisation": ("Goodput over what the link can carry, percent", percent_used),
        "queue": ("Mean queue in ms", queue_ms),
        "jain": ("Jain's index", jain),
    }
    heads = ("algorithm", "flows")
    return [across(f"buffers-{name}", title, heads, rows, columns, value) for name, (title, value) in values.items()]


def pictures(runs: Runs) -> Pictures:
    """Loss and use of the link."""
    from dumbbell.papers.family import figures

    lines = {one: {cc: by(at(runs, cc, one), "buffer") for cc in by(runs, "cc_0")} for one in SITUATIONS}
    return {"buffers": figures.buffers(lines)}


# --- claims ----------------------------------------------------------------------------------------------------------


def losing(cc: str, low: float, high: float, situations: Sequence[str]) -> Callable[[Runs], dict[str, Runs]]:
    """The runs of an algorithm at buffers of so many BDP, by situation."""
    return lambda runs: {one: sized(at(runs, cc, one), low, high) for one in situations}


def two(
    cc: str, other: str, low: float, high: float, situations: Sequence[str] = SEVERAL
) -> Callable[[Runs], dict[str, list[tuple[Run, ...]]]]:
    """The runs of two algorithms at buffers of so many BDP, by situation."""
    return lambda runs: {
        one: paired(*(sized(at(runs, name, one), low, high) for name in (cc, other))) for one in situations
    }


def against_loss_based(low: float, high: float) -> Callable[[Runs], dict[str, list[tuple[Run, ...]]]]:
    """One flow of each version and one of each loss-based algorithm, at buffers of so many BDP."""
    return lambda runs: {
        f"{NAMES[cc]} against {NAMES[rival]}": two(cc, rival, low, high, ["1 flow"])(runs)["1 flow"]
        for cc in ("bbr", "bbr2", "bbr3")
        for rival in ("cubic", "reno")
    }


losses = ranged(percent_lost, 2, " %")
FLOOR = "With a fair share of four packets nobody can give way: that is the least that BBR keeps in flight."

CLAIMS = [
    Claim("fam-06",
          "Several flows of version 1 lose packets all the time where the buffer is below 1.5 BDP (here: over 2 %).",
          "about 1.5 BDP (RFC 9743, protection against high packet loss)",
          each(losing("bbr", 0, 1, SEVERAL), lambda run: percent_lost(run) > THRESHOLD, losses)),
    Claim("fam-07", "From 3 BDP on they lose hardly any (here: below 1 %).", "the same, turned round",
          each(losing("bbr", 3, 10, SEVERAL), lambda run: percent_lost(run) < 1, losses)),
    Claim("fam-08", "Version 2 loses less than version 1 under several flows, at every buffer up to 1.5 BDP.",
          "aims for lower loss than v1 (commit message of Linux's BBRv3, of v2 and v3 alike)",
          each(two("bbr2", "bbr", 0, 1.5), lambda pair: percent_lost(pair[0]) < percent_lost(pair[1]), both(losses))),
    Claim("fam-09", "Version 3 loses less than version 1 there, too.", "the same",
          each(two("bbr3", "bbr", 0, 1.5), lambda pair: percent_lost(pair[0]) < percent_lost(pair[1]), both(losses))),
    Claim("fam-10", "Version 2 keeps its loss within its threshold at every buffer.", "2 % (BBRLossThresh)",
          each(losing("bbr2", 0, 10, tuple(SITUATIONS)), lambda run: percent_lost(run) <= THRESHOLD, losses), FLOOR),
    Claim("fam-11", "Version 3 keeps its loss within its threshold at every buffer.", "2 % (BBR.LossThresh)",
          each(losing("bbr3", 0, 10, tuple(SITUATIONS)), lambda run: percent_lost(run) <= THRESHOLD, losses), FLOOR),
    Claim("fam-12", "A flow of version 1, 2 or 3 gets more through a buffer of 0.1 BDP than one of CUBIC or Reno.",
          "substantially higher throughput for shallow buffers (abstract of the drafts)",
          each(against_loss_based(0.1, 0.1), lambda pair: total(pair[0]) > total(pair[1]),
               both(averaged(total, 1), "{} and {}"))),
    Claim("fam-13", "In buffers of 5 and 10 BDP versions 1, 2 and 3 queue less than half as much as CUBIC and Reno.",
          "substantially lower queueing delays for deep buffers (abstract of the drafts)",
          each(against_loss_based(5, 10), lambda pair: queue_ms(pair[0]) < queue_ms(pair[1]) / 2,
               both(averaged(queue_ms, 1), "{} and {}"))),
    Claim("fam-31", "Flows of version 3 share more evenly than those of version 2 in buffers from 1 BDP on.",
          "bandwidth convergence repaired (BBRv3: Algorithm Bug Fixes, IETF 117); no number",
          each(two("bbr3", "bbr2", 1, 10), lambda pair: jain(pair[0]) > jain(pair[1]),
               both(averaged(jain), "Jain {} against {}"))),
]  # fmt: skip

PART = Part(
    "buffers",
    "Loss over buffers of 0.1 to 10 BDP for one, three and eight flows",
    [Experiment(FOLDER / "buffers.toml", quick={"warmup": "1s"})],
    quick="2s",
    measure=lambda ran: ran.runs,
    setup=[
        "50 Mbit/s (a BDP of 167 packets), or 10 Mbit/s (33), 40 ms, drop-tail, Linux's transport, starts within "
        "1 s, 60 s of which the first 10 s do not count.",
        "Loss is what the network dropped of what was sent. A claim is put to each seed at each of its buffers.",
    ],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)
