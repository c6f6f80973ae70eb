"""Figures 17 to 20, Tables 5 to 7: four uploads and four downloads in four classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from dumbbell import metrics
from dumbbell.papers.bbr_n.measure import (
    ALGORITHMS,
    FEBRUARY,
    FOLDER,
    LOSS_BASED,
    NAMES,
    NATIVE,
    PAIRS,
    PUBLISHED_AS,
    VIRTUAL,
    Trial,
    by_device,
    decides,
    download,
    downloaded,
    ping,
    pinged,
    published_column,
    upload,
    uploaded,
)
from dumbbell.papers.bbr_n.single import analysis
from dumbbell.papers.model import Cell, Claim, Grid, Outcome, Pictures, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.runs import Cases, Run, together
from dumbbell.papers.testing import averaged, both, each, mean

QUICK: dict[str, str] = {"warmup": "500ms", "cooldown": "500ms"} | {
    f"flows[{number}].{key}": at for number in range(8) for key, at in (("start", "500ms"), ("stop", "2500ms"))
}
Seed = tuple[Run, ...]
PLACES = (VIRTUAL, NATIVE)


@dataclass(frozen=True)
class Measured:
    """RRUL by device and algorithm."""

    fast: Cases
    slow: Cases
    """Over the slower path."""

    @classmethod
    def of(cls, fast: Ran, slow: Ran, slow_february: Ran) -> Measured:
        """Of the sweeps."""
        return cls(_cases(fast), {**_cases(slow), **_cases(slow_february)})


def _cases(ran: Ran) -> Cases:
    """BBR-n has parameters of its own in this test, and the name that it has elsewhere."""
    found = by_device("flows[0].cc")(ran)
    return {(place, cc.removesuffix("-rrul")): runs for (place, cc), runs in found.items()}


SERIES: dict[str, tuple[Callable[[Trial], Sequence[float]], str]] = {
    "download": (downloaded, "download"),
    "upload": (uploaded, "upload"),
    "ping": (pinged, "ping"),
}


def tables(measured: Measured) -> list[Grid]:
    """Tables 5 to 7 beside ours, their analyses of variance, and the slower path."""
    of: dict[str, tuple[str, Callable[[Run], float]]] = {
        "download": ("Mbit/s down", download), "upload": ("Mbit/s up", upload), "ping": ("ping ms", ping)
    }  # fmt: skip

    def ours(place: str, value: Callable[[Run], float], cases: Cases) -> Callable[[str], Cell]:
        return lambda cc: mean(cases[place, cc], value)

    columns: dict[str, Callable[[str], Cell]] = {}
    for series, (shown, value) in of.items():
        columns[f"{shown}: printed"] = published_column("rrul", series, "average")
        columns[f"{shown}: recovered"] = published_column("rrul", series, "recomputed_average")
        columns |= {f"{shown}: {place}": ours(place, value, measured.fast) for place in PLACES}
    slow = {f"{place}: {shown}": ours(place, value, measured.slow) for place in PLACES for shown, value in of.values()}
    rows = [((NAMES[cc],), cc) for cc in ALGORITHMS]
    february = [((NAMES[cc],), cc) for pair in FEBRUARY.values() for cc in pair]
    virtual = {name: value for name, value in slow.items() if name.startswith(VIRTUAL)}
    return [
        table("rrul", "Tables 5 to 7 beside ours", ("algorithm",), rows, columns, 1),
        table("rrul-slow", "The same over the slower path", ("algorithm",), rows, slow, 1),
        table("rrul-slow-4-13", "The same with Linux 4.13.8's BBR", ("algorithm",), february, virtual, 1),
        analysis(measured.fast, "rrul", VIRTUAL, SERIES),
    ]


def pictures(measured: Measured) -> Pictures:
    """Boxes as in figure 20, uploads over time as in figure 17, pings of the slower path as in figures 18 and 19."""
    from dumbbell.papers.bbr_n import figures

    boxes = {NAMES[cc]: measured.fast[VIRTUAL, cc] for cc in PUBLISHED_AS}
    return {
        "fig17": figures.rrul_uploads({place: {cc: measured.fast[place, cc] for cc in PAIRS["patch against v2"]}
                                       for place in PLACES}),
        "fig18": figures.pings({VIRTUAL: {cc: measured.slow[VIRTUAL, cc] for pair in FEBRUARY.values()
                                          for cc in (*pair, *LOSS_BASED)}}),
        "fig20": figures.rrul_boxes(boxes),
    }  # fmt: skip


# --- claims ----------------------------------------------------------------------------------------------------------


def seeds(others: Sequence[str] = (), slow: bool = False) -> Callable[[Measured], dict[str, list[Seed]]]:
    """BBR-n, BBRgen and others with the same seed, by device and base."""
    beside = "BBR of Linux 6.18, " if slow else ""
    bases = [(f"{beside}{place}, {base}", place, pair) for place in PLACES for base, pair in PAIRS.items()]
    if slow:
        bases += [(f"{VIRTUAL}, {base}", VIRTUAL, pair) for base, pair in FEBRUARY.items()]
    choose = together({choice: [(place, cc) for cc in (*pair, *others)] for choice, place, pair in bases})
    return lambda measured: choose(measured.slow if slow else measured.fast)


def test(
    holds: Callable[[Seed], bool],
    words: Callable[[Sequence[Seed]], str],
    others: Sequence[str] = (),
    slow: bool = False,
) -> Callable[[Measured], list[Outcome]]:
    """Something about BBR-n, BBRgen and others, seed by seed."""
    return each(seeds(others, slow), holds, words)


def half(seed: Seed) -> bool:
    """BBR-n's and BBRgen's ping are at most 0.65 of the loss-based algorithms' in the mean."""
    return max(map(ping, seed[:2])) <= 0.65 * fmean(map(ping, seed[2:]))


def median_icmp(run: Run) -> float:
    """Of the probe without a class."""
    return float(median(run.kept.icmp)) if run.kept.icmp else math.inf


def median_average(run: Run) -> float:
    """Of the mean of all probes."""
    return float(median(run.kept.loaded)) if run.kept.loaded else math.inf


def high_icmp(run: Run) -> float:
    """Its 90th percentile."""
    found = metrics.quantile(run.kept.icmp, 0.9)
    return math.inf if found is None else found


def below_all(seed: Seed) -> bool:
    """BBR-n's median and 90th percentile are below everybody's but BBRgen's."""
    return all(value(seed[0]) < value(other) for value in (median_icmp, high_icmp) for other in seed[2:])


FOUR = "{} and {} against {}, {}, {}, {}"
DOWNLOADS = (
    "All downloads run CUBIC: they have what the uploads leave. BBR's uploads leave more, since they queue less than "
    "CUBIC's."
)
CLAIMS: list[Claim[Measured]] = [
    Claim("bbn-20", "BBR-n's downloads exceed BBRgen's and those of all loss-based algorithms.",
          "193.7 > 139.9 > 92.2, 67.7, 51.2, 28.3 Mbit/s",
          test(lambda seed: all(download(seed[0]) > download(other) for other in seed[1:]),
               both(averaged(download, 1), FOUR + " Mbit/s"), LOSS_BASED), DOWNLOADS,
          "BBRgen uploads less than BBR-n here, so that its downloads have more."),
    Claim("bbn-21", "BBR-n outperforms BBRgen in RRUL's uploads.", "50 against 37 Mbit/s a stream (Fig. 17)",
          test(lambda seed: upload(seed[0]) > upload(seed[1]), both(averaged(upload, 1), "{} against {} Mbit/s")),
          "The authors' own data contradict it: Table 6 has 95.0 against 99.0, the recovered data 90.0, January's 139 "
          "against 147 Mbit/s. Only figure 17 and one run of February agree."),
    Claim("bbn-22", "BBR-n's and BBRgen's uploads exceed CUBIC's and Reno's.", "none",
          test(lambda seed: min(map(upload, seed[:2])) > max(map(upload, seed[2:])),
               both(averaged(upload, 1), "{} and {} against {}, {} Mbit/s"), ("cubic", "reno")),
          "Table 6 contradicts it: 95 and 99 against 175 and 212 Mbit/s; the sentence fits Table 5."),
    Claim("bbn-23", "Loss-based algorithms upload more than BBR-n and BBRgen.", "175 to 218 against 95 and 99 Mbit/s",
          test(lambda seed: min(map(upload, seed[2:])) > max(map(upload, seed[:2])),
               both(averaged(upload, 1), FOUR + " Mbit/s"), LOSS_BASED),
          cause="Queues are full in RRUL, and losses slow Veno and Reno but not version 1 and its patch."),
    Claim("bbn-24", "BBR-n's ping is lower than BBRgen's in RRUL.", "86.3 against 88.6 ms",
          test(lambda seed: ping(seed[0]) < ping(seed[1]), both(averaged(ping, 1), "{} against {} ms")),
          "The recovered data contradict it: 99.3 against 88.6 ms, and the printed F fits those."),
    Claim("bbn-25", "BBR-n's and BBRgen's ping is about half of the loss-based algorithms' (here: at most 0.65).",
          "86 to 99 against 160 to 227 ms",
          test(half, both(averaged(ping, 1), FOUR + " ms"), LOSS_BASED)),
    Claim("bbn-26", "Slower path: BBR-n's pings are lower than those of the loss-based algorithms (median, 90 %).",
          "none",
          test(below_all, both(averaged(median_icmp, 1), "medians " + FOUR + " ms"), LOSS_BASED, slow=True),
          "Figure 18 contradicts it: all have seconds, and BBR-n's tail is the heaviest."),
    Claim("bbn-27", "Slower path: BBR-n's median ping is lower than BBRgen's.", "none",
          test(lambda seed: median_average(seed[0]) < median_average(seed[1]),
               both(averaged(median_average, 1), "{} against {} ms"), slow=True),
          "Figure 19 contradicts it: BBRgen's curve lies to the left (means 1395 and 2408 ms)."),
]  # fmt: skip

PART: Part[Measured] = Part(
    "rrul",
    "Figures 17 to 20, Tables 5 to 7: four uploads and four downloads in four classes",
    [
        Experiment(FOLDER / "rrul.toml", keep=Trial.of, quick=QUICK),
        Experiment(FOLDER / "rrul-slow.toml", keep=Trial.of, quick=QUICK),
        Experiment(FOLDER / "rrul-slow-4-13.toml", keep=Trial.of, quick=QUICK),
    ],
    quick="3s",
    measure=Measured.of,
    setup=[
        "Flent's rrul over the Wi-Fi of bbr-n/single; 60 s, three seeds. Downloads run CUBIC, as the January files "
        "say. As the paper states for this test, BBR-n's small queues are 1 ms and its bursts 2 segments at least.",
        "The slower path (figures 18 and 19) is 802.11n: 20 MHz, 72 Mbit/s, aggregates of 65 kB.",
    ],
    tables=tables,
    claims=CLAIMS,
    decides=decides,
    pictures=pictures,
)
