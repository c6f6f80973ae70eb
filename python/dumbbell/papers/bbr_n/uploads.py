"""Figures 13 to 16: 1, 4, 8 and 12 uploads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dumbbell.papers.bbr_n.measure import (
    DEVICES,
    NAMES,
    PAIRS,
    Trial,
    aggregate,
    by_device,
    decides,
    over_devices,
    pairs,
    ping,
    ratio,
    table_values,
    upload,
)
from dumbbell.papers.bbr_n.single import QUICK
from dumbbell.papers.model import Cell, Claim, Grid, Outcome, Pictures, table
from dumbbell.papers.part import Part
from dumbbell.papers.runs import Cases, Run
from dumbbell.papers.testing import average, averaged, both, each, mean, paired, ranged

COUNTS = ("1", "4", "8", "12")
SHOWN = ("bbr-n-patch", "bbr-n", "bbr2", "bbr", "cubic")
WANTED = 1.2
"""What BBR-n should gain with any number of uploads."""


def tables(cases: Cases) -> list[Grid]:
    """Throughput, ping and aggregates; and the gain of BBR-n on every base."""
    columns: dict[str, Callable[[Sequence[Run]], Cell]] = {
        "Mbit/s": average(upload), "ping ms": average(ping), "packets an aggregate": average(aggregate)
    }  # fmt: skip
    rows = (
        ((place, int(count), NAMES[cc]), cases[place, cc, count])
        for place in DEVICES
        for count in COUNTS
        for cc in SHOWN
    )
    theirs: list[list[Cell]] = []
    for count in COUNTS:
        found = table_values("uploads", count)
        theirs += [["published", int(count), cc, found[cc]["mean"], found[cc]["ping"], None] for cc in found]
    title = "Uploads beside the published means of run means (4 January 2023)"
    return [table("uploads", title, ("device", "uploads", "algorithm"), rows, columns, 1, theirs), gains(cases)]


def gains(cases: Cases) -> Grid:
    """BBR-n over BBRgen in throughput, a row a device and base."""

    def of(count: str) -> Callable[[tuple[str, str, str]], Cell]:
        return lambda row: mean(paired(cases[row[0], row[1], count], cases[row[0], row[2], count]), ratio(upload))

    published: list[Cell] = ["published", ""]
    for count in COUNTS:
        found = table_values("uploads", count)
        published.append(found["BBR-n"]["mean"] / found["BBRgen"]["mean"])
    rows = (((place, base), (place, *pair)) for place in DEVICES for base, pair in PAIRS.items())
    columns = {f"uploads: {count}": of(count) for count in COUNTS}
    return table("gains", "Throughput of BBR-n over BBRgen's", ("device", "base"), rows, columns, 2, [published])


def pictures(cases: Cases) -> Pictures:
    """Boxes as in figures 13 to 16."""
    from dumbbell.papers.bbr_n import figures

    return {"uploads": figures.uploads(cases, COUNTS)}


# --- claims ----------------------------------------------------------------------------------------------------------

ratios = ranged(ratio(upload))
rates = both(averaged(upload, 0), "{} against {} Mbit/s")
CAUSE = (
    "TCP's small queues are per connection: several uploads together have what fills an aggregate in front of the "
    "radio, whatever each may queue."
)


def more(count: str) -> Callable[[Cases], list[Outcome]]:
    """BBR-n has more throughput."""
    return each(pairs(count), lambda pair: ratio(upload)(pair) > 1, rates)


def four_and_eight(cases: Cases) -> dict[str, list[tuple[Run, ...]]]:
    """The pairs of both."""
    four, eight = pairs("4")(cases), pairs("8")(cases)
    return {choice: [*four[choice], *eight[choice]] for choice in four}


def far_more(pair: tuple[Run, ...]) -> bool:
    """The ratio of the published runs, 1.41, within a tenth."""
    return ratio(upload)(pair) >= 0.9 * 1.41


CLAIMS: list[Claim[Cases]] = [
    Claim("bbn-12", "Four uploads: BBR-n about 260, BBRgen about 150 Mbit/s (here: 1.27 times as much at least).",
          "1.41 to 1.77 (means 244 and 174)", each(pairs("4"), far_more, ratios), cause=CAUSE),
    Claim("bbn-13", "BBR-n exceeds BBRgen with eight uploads.", "247 against 185 Mbit/s (1.33)", more("8"),
          "By less than published everywhere."),
    Claim("bbn-14", "BBR-n exceeds BBRgen with twelve uploads.", "242 against 165 Mbit/s (1.47)", more("12"),
          "By less than published everywhere."),
    Claim("bbn-15", "BBR-n's ping is lower than BBRgen's with four and eight uploads.", "48 < 84 ms; 57 < 104 ms",
          each(four_and_eight, lambda pair: ping(pair[0]) < ping(pair[1]), both(averaged(ping, 1), "{} against {} ms")),
          cause="A sender that has more in the queue cannot have the lower ping over the same radio. In the published "
                "BBRgen runs a lower throughput comes with a longer ping: the radio itself was slower in them."),
]  # fmt: skip

PART: Part[Cases] = Part(
    "uploads",
    "Figures 13 to 16: 1, 4, 8 and 12 uploads",
    over_devices("uploads", Trial.of, QUICK),
    quick="3s",
    measure=by_device("flows[0].cc", "flows[0].count"),
    setup=[
        "Flent's tcp_nup over the Wi-Fi of bbr-n/single; 60 s, three seeds. BBR-n and BBRgen are compared on three "
        "bases: the authors' patch of version 1 against version 2, against version 1, and the paper's words on version "
        "2 against version 2.",
    ],
    tables=tables,
    claims=CLAIMS,
    decides=decides,
    pictures=pictures,
)
