"""Figures 13 to 16: 1, 4, 8 and 12 uploads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dumbbell.papers.bbr_n.measure import (
    AWAY,
    DEVICES,
    FOLDER,
    NAMES,
    PAIRS,
    VIRTUAL,
    Trial,
    aggregate,
    by_device,
    over_devices,
    pairs,
    ping,
    ratio,
    table_values,
    upload,
)
from dumbbell.papers.bbr_n.single import QUICK, QUICK_AWAY
from dumbbell.papers.model import Cell, Claim, Grid, Outcome, Pictures, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.runs import Cases, Run
from dumbbell.papers.testing import average, averaged, both, each, mean, paired, ranged

COUNTS = ("1", "4", "8", "12")
SHOWN = ("bbr-n-patch", "bbr-n", "bbr2", "bbr", "cubic")
PLACES = (AWAY, *DEVICES)
WANTED = 1.2
"""What BBR-n should gain with any number of uploads."""


def measured(stays: Ran, bursts: Ran, away: Ran) -> Cases:
    """The runs by device, algorithm and number of uploads; where BBRgen's radio is away BBR-n's stays."""
    by = by_device("flows[0].cc", "flows[0].count")
    found = dict(by(stays, bursts))
    found.update({(AWAY, *rest): runs for (place, *rest), runs in list(found.items()) if place == VIRTUAL})
    found.update({(AWAY, *rest): runs for (_, *rest), runs in by(away).items()})
    return found


def tables(cases: Cases) -> list[Grid]:
    """Throughput, ping and aggregates; and the gain of BBR-n on every base."""
    columns: dict[str, Callable[[Sequence[Run]], Cell]] = {
        "Mbit/s": average(upload), "ping ms": average(ping), "packets an aggregate": average(aggregate)
    }  # fmt: skip
    rows = (
        ((place, int(count), NAMES[cc]), cases[place, cc, count])
        for place in PLACES
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
    rows = (((place, base), (place, *pair)) for place in PLACES for base, pair in PAIRS.items())
    columns = {f"uploads: {count}": of(count) for count in COUNTS}
    return table("gains", "Throughput of BBR-n over BBRgen's", ("device", "base"), rows, columns, 2, [published])


def pictures(cases: Cases) -> Pictures:
    """Boxes as in figures 13 to 16, and a run over time beside a published one."""
    from dumbbell.papers.bbr_n import figures

    ours = {"BBRgen": cases[AWAY, "bbr2", "4"][0], "BBR-n": cases[AWAY, "bbr-n-patch", "4"][0]}
    return {
        "uploads": figures.uploads(cases, COUNTS, (AWAY, VIRTUAL, DEVICES[2])),
        "away": figures.recorded_beside(ours),
    }


# --- claims ----------------------------------------------------------------------------------------------------------

ratios = ranged(ratio(upload))
rates = both(averaged(upload, 0), "{} against {} Mbit/s")
STAYS = (
    "With a radio that stays for both BBR-n has 1.03 to 1.07 times as much: the published difference is the radio's."
)


def more(
    count: str, published: float, words: Callable[[Sequence[tuple[Run, ...]]], str]
) -> Callable[[Cases], list[Outcome]]:
    """BBR-n has so many times the throughput, within a tenth."""
    return each(pairs(count, places=PLACES), lambda pair: ratio(upload)(pair) >= 0.9 * published, words)


def four_and_eight(cases: Cases) -> dict[str, list[tuple[Run, ...]]]:
    """The pairs of both."""
    four, eight = (pairs(count, places=PLACES)(cases) for count in ("4", "8"))
    return {choice: [*four[choice], *eight[choice]] for choice in four}


CLAIMS: list[Claim[Cases]] = [
    Claim("bbn-12", "Four uploads: BBR-n about 260, BBRgen about 150 Mbit/s (here: 1.27 times as much at least).",
          "1.41 to 1.77 (means 244 and 174)", more("4", 1.41, ratios), STAYS),
    Claim("bbn-13", "BBR-n exceeds BBRgen with eight uploads (here: 1.20 times as much at least).",
          "247 against 185 Mbit/s (1.33)", more("8", 1.33, rates), STAYS),
    Claim("bbn-14", "BBR-n exceeds BBRgen with twelve uploads (here: 1.32 times as much at least).",
          "242 against 165 Mbit/s (1.47)", more("12", 1.47, rates), STAYS),
    Claim("bbn-15", "BBR-n's ping is lower than BBRgen's with four and eight uploads.", "48 < 84 ms; 57 < 104 ms",
          each(four_and_eight, lambda pair: ping(pair[0]) < ping(pair[1]), both(averaged(ping, 1), "{} against {} ms")),
          "A sender that has more in the queue cannot have the lower ping over a radio that stays for both."),
]  # fmt: skip

PART: Part[Cases] = Part(
    "uploads",
    "Figures 13 to 16: 1, 4, 8 and 12 uploads",
    [
        *over_devices("uploads", Trial.of, QUICK),
        Experiment(FOLDER / "uploads-away.toml", keep=Trial.of, quick=QUICK | QUICK_AWAY),
    ],
    quick="3s",
    measure=measured,
    setup=[
        "Flent's tcp_nup over the Wi-Fi of bbr-n/single; 60 s, three seeds. BBR-n and BBRgen are compared on three "
        "bases: the authors' patch of version 1 against version 2, against version 1, and the paper's words on version "
        "2 against version 2.",
        "In the files of BBRgen the client's radio was off its channel for 117 of every 264 ms, in those of BBR-n it "
        "stayed. Verdicts come from the virtual NIC with such a radio for BBRgen from 20 s of load on; radios that "
        "stay stand beside.",
    ],
    tables=tables,
    claims=CLAIMS,
    decides=lambda choice: choice.startswith(AWAY),
    pictures=pictures,
)
