"""Figures 8 and 12, Tables 3 and 4: one upload with every algorithm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, variance

from dumbbell import metrics
from dumbbell.papers.bbr_n.measure import (
    ALGORITHMS,
    DEVICES,
    FOLDER,
    LOSS_BASED,
    NAMES,
    PUBLISHED_AS,
    VIRTUAL,
    Trial,
    aggregate,
    by_device,
    decides,
    distance,
    over_devices,
    pairs,
    ping,
    pinged,
    published_column,
    ratio,
    recomputed,
    table_values,
    upload,
    uploaded,
)
from dumbbell.papers.model import Cell, Claim, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.runs import Cases, Run, together
from dumbbell.papers.testing import averaged, both, each, mean, ranged

SLOW = "slower path"
STAYS = "bbrp-stays"
"""BBRp with a radio that stays on its channel; where no word is said of it, it leaves, as in BBRp's files."""
SLOWER = ("bbr-n-4-13", "bbr-4.14", *LOSS_BASED)
"""The algorithms of figure 12; those of BBR are of the kernel that its files name."""
SLOWER_AS = {"bbr-n-4-13": "BBR-n", "bbr-4.14": "BBRgen", **{cc: PUBLISHED_AS[cc] for cc in LOSS_BASED}}
QUICK = {"warmup": "500ms", "cooldown": "500ms", "flows[0].start": "500ms", "flows[0].stop": "2500ms"}
QUICK_AWAY = {"path.wifi.away.from": "1s"}
Seed = tuple[Run, ...]

ORDER = ("veno", "bbr-n-patch", "dctcp", "cubic", "bbr2", "reno", "bbrp")
"""Table 3 from the fastest to the slowest."""
ALIKE = 0.03
"""Algorithms so near to each other share a place: the authors' two runs of Reno, one called DCTCP, differ by 13 %."""


def measured(stays: Ran, bursts: Ran, away: Ran, slow: Ran) -> Cases:
    """The runs by device and algorithm, and those of the slower path."""
    by = by_device("flows[0].cc")
    found = dict(by(stays, bursts))
    found.update({(place, STAYS): found[place, "bbrp"] for place in DEVICES})
    found.update(by(away))
    found.update({(SLOW, cc): runs for cc, runs in slow.by_one("flows[0].cc").items()})
    return found


# --- tables ----------------------------------------------------------------------------------------------------------


def of_samples(runs: Iterable[Run], series: Callable[[Trial], Sequence[float]]) -> metrics.Anova | None:
    """ANOVA as the study has it: over the samples of a run of each algorithm."""
    return metrics.anova([series(run.kept) for run in runs])


def analysis(
    cases: Cases, part: str, place: str, series: Mapping[str, tuple[Callable[[Trial], Sequence[float]], str]]
) -> Grid:
    """ANOVA as published, of the recovered data, and ours: over samples of single runs, and over means of runs."""
    ours = [cases[place, cc] for cc in PUBLISHED_AS]
    rows: list[list[Cell]] = []
    for name, (values, shown) in series.items():
        theirs = table_values(part, name)
        for key, source in (("", "published"), ("recomputed_", "recovered data")):
            of = [theirs[cc] for cc in PUBLISHED_AS.values()]
            found = metrics.anova_from_summary(
                [one[f"{key}average"] for one in of], [one[f"{key}variance"] for one in of],
                [one[f"{key}count"] for one in of],
            )  # fmt: skip
            printed = theirs["all"].get("anova_f") if not key else None
            rows.append([shown, f"{source}, as its rows give it", printed, *_anova(found)])
        rows.append([shown, "ours, samples of a run", None, *_anova(of_samples((runs[0] for runs in ours), values))])
        means = [[fmean(values(run.kept)) for run in runs] for runs in ours]
        rows.append([shown, "ours, means of runs", None, *_anova(metrics.anova(means))])
    heads = ["series", "data", "printed F", "F", "critical F", "df", "p", "eta squared"]
    return Grid("anova", f"One-way ANOVA of seven algorithms, {place}", heads, rows)


def _anova(found: metrics.Anova | None) -> list[Cell]:
    if found is None:
        return [None, None, None, None, None]
    return [found.f, found.critical_f(), f"{found.df_between}, {found.df_within}", f"{found.p:.1e}",
            found.eta_squared]  # fmt: skip


def comparison(cases: Cases, place: str) -> Grid:
    """Tables 3 and 4 beside ours on one device."""

    def ours(value: Callable[[Run], float]) -> Callable[[str], Cell]:
        return lambda cc: mean(cases[place, cc], value)

    columns: dict[str, Callable[[str], Cell]] = {
        "Mbit/s: printed": published_column("single", "upload", "average"),
        "Mbit/s: recovered": published_column("single", "upload", "recomputed_average"),
        "Mbit/s: ours": ours(upload),
        "Mbit/s: variance of ours": ours(lambda run: variance(run.kept.upload)),
        "ping ms: printed": published_column("single", "ping", "average"),
        "ping ms: ours": ours(ping),
        "packets an aggregate": ours(aggregate),
    }
    rows = (((NAMES[cc],), cc) for cc in ALGORITHMS)
    name = "table3-" + "-".join(place.replace(",", "").split()).lower()
    return table(name, f"Tables 3 and 4 beside ours, {place}", ("algorithm",), rows, columns, 1)


def slower(cases: Cases) -> Grid:
    """Figure 12: its path, beside what its files say."""
    columns: dict[str, Callable[[str], Cell]] = {
        f"{shown}: {side}": value
        for shown, metric, own in (("Mbit/s", "mean", upload), ("ping ms", "ping", ping))
        for side, value in (
            ("published", published_slower(metric)), ("ours", lambda cc, own=own: mean(cases[SLOW, cc], own))
        )
    }  # fmt: skip
    rows = (((NAMES[cc],), cc) for cc in SLOWER)
    return table("fig12", "Figure 12: one upload over the slower path", ("algorithm",), rows, columns, 1)


def published_slower(metric: str) -> Callable[[str], Cell]:
    """A metric of the files of figure 12."""
    values = table_values("fig12", "upload")
    return lambda cc: values[SLOWER_AS[cc]][metric]


def agreement(cases: Cases) -> Grid:
    """By which factor each device's means are apart from those of the recovered data."""

    def apart(series: str, value: Callable[[Run], float]) -> Callable[[str], Cell]:
        theirs = recomputed("single", series)
        return lambda place: distance(
            {name: mean(cases[place, cc], value) for cc, name in PUBLISHED_AS.items()}, theirs
        )

    columns = {"throughput": apart("upload", upload), "ping": apart("ping", ping)}
    rows = (((place,), place) for place in DEVICES)
    title = "Tables 3 and 4: by which factor seven means are apart, on average"
    return table("agreement", title, ("device",), rows, columns)


def tables(cases: Cases) -> list[Grid]:
    """Everything of one upload."""
    series = {"upload": (uploaded, "throughput"), "ping": (pinged, "ping")}
    return [*(comparison(cases, place) for place in DEVICES), slower(cases), agreement(cases),
            analysis(cases, "single", VIRTUAL, series)]  # fmt: skip


def pictures(cases: Cases) -> Pictures:
    """Boxes of throughput and ping as in figure 8, and distributions of pings as in figure 12."""
    from dumbbell.papers.bbr_n import figures

    shown = {NAMES[cc]: cc for cc in PUBLISHED_AS}
    return {
        "fig8": figures.boxes({place: {name: cases[place, cc] for name, cc in shown.items()} for place in DEVICES}),
        "fig12": figures.pings(
            {SLOW: {cc: cases[SLOW, cc] for cc in SLOWER}},
            {cc: float(published_slower("ping_median")(cc) or 0) for cc in SLOWER},
        ),
    }


# --- claims ----------------------------------------------------------------------------------------------------------


def beside(others: Sequence[str]) -> Callable[[Cases], dict[str, list[Seed]]]:
    """BBR-n in both forms and others with the same seed, by device."""
    return together(
        {
            f"{place}, {NAMES[ours]}": [(place, cc) for cc in (ours, *others)]
            for place in DEVICES
            for ours in ("bbr-n-patch", "bbr-n")
        }
    )


def of_table_3(cases: Cases) -> dict[str, list[Seed]]:
    """The algorithms in the order of Table 3, by device."""
    return together({f"{place}, all": [(place, cc) for cc in ORDER] for place in DEVICES})(cases)


def in_order(seed: Seed) -> bool:
    """None is faster than the one before it by more than :data:`ALIKE`."""
    return all(upload(slower) <= (1 + ALIKE) * upload(faster) for faster, slower in pairwise(seed))


def both_differ(seed: Seed) -> bool:
    """The samples of throughput and those of ping."""
    found = [of_samples(seed, series) for series in (uploaded, pinged)]
    return all(one is not None and one.f > one.critical_f() for one in found)


def f_values(seeds: Sequence[Seed]) -> str:
    """F over samples of throughput and ping in the first run, and over means of runs."""
    first = [of_samples(seeds[0], series) for series in (uploaded, pinged)]
    means = metrics.anova([[upload(run) for run in runs] for runs in zip(*seeds, strict=True)])
    words = [f"F = {one.f:.0f}" for one in first if one is not None]
    return " and ".join(words) + (f"; over means of runs {means.f:.0f}" if means is not None else "")


rates = both(averaged(upload, 1), "{} against {} Mbit/s")
ratios = ranged(ratio(upload))
HALF_OF_PRINTED = 1 + (230.9 / 203.6 - 1) / 2
LOADED = (
    "In the runs behind Tables 3 and 4 the modules are called `bbr` and `bbr2`: version 1, patched or not, against 2."
)

CLAIMS: list[Claim[Cases]] = [
    Claim("bbn-06", "BBR-n achieves over twice the throughput of BBRgen.", "250 against 100 Mbit/s (text)",
          each(pairs(), lambda pair: ratio(upload)(pair) > 2, ratios),
          "The authors' own data contradict it: Table 3 gives 1.13, the recovered data 1.28, the January runs 1.32.",
          "BBRgen's aggregates are so long here that longer ones add little."),
    Claim("bbn-07", "BBR-n's throughput is higher than BBRgen's (here: by half of what was printed at least, 6.7 %).",
          "230.9 > 203.6 Mbit/s (1.13); recovered 180.3",
          each(pairs(), lambda pair: ratio(upload)(pair) >= HALF_OF_PRINTED, rates), LOADED,
          "BBRgen's aggregates are so long here that longer ones add little: the direction holds, its size does not."),
    Claim("bbn-08", "Veno > BBR-n = DCTCP > CUBIC > BBRgen = Reno > BBRp in throughput (here: within 3 %).",
          "255.6, 230.9, 230.1, 217.5, 203.6, 202.4, 154.2 Mbit/s",
          each(of_table_3, in_order, lambda seeds: ", ".join(averaged(upload, 0)(runs)
                                                             for runs in zip(*seeds, strict=True))),
          "DCTCP ran as Reno (no ECN), so Table 3 has Reno twice, 13 % apart: its order is one of single runs.",
          "Algorithms that fill the queue use the whole link here, and BBRp does not fall behind BBR."),
    Claim("bbn-09", "BBR-n's ping is lower than CUBIC's, Reno's, DCTCP's, Veno's and BBRp's.",
          "9.15 < 17.3, 27.9, 27.1, 40.1, 38.2 ms",
          each(beside((*LOSS_BASED, "bbrp")), lambda seed: all(ping(seed[0]) < ping(other) for other in seed[1:]),
               both(averaged(ping, 1), "{} against {}, {}, {}, {}, {} ms")),
          "In all three files of BBRp the radio was away; with one that stays BBRp, which drains to 0.75, has a lower "
          "ping than the patch."),
    Claim("bbn-10", "BBR-n's ping is not lower than BBRgen's.", "9.15 against 6.44 ms (1.42)",
          each(pairs(), lambda pair: ping(pair[0]) >= ping(pair[1]), both(averaged(ping, 1), "{} against {} ms"))),
    Claim("bbn-11", "The means of the seven algorithms differ (one-way ANOVA).", "F = 224.8 and 111.5; critical 2.10",
          each(of_table_3, both_differ, f_values),
          "Samples of one run are not independent; over means of runs the groups differ as well."),
]  # fmt: skip

PART: Part[Cases] = Part(
    "single",
    "Figures 8 and 12, Tables 3 and 4: one upload with every algorithm",
    [
        *over_devices("single", Trial.of, QUICK),
        Experiment(FOLDER / "single-away.toml", keep=Trial.of, quick=QUICK | QUICK_AWAY),
        Experiment(FOLDER / "single-slow.toml", keep=Trial.of, quick=QUICK),
    ],
    quick="3s",
    measure=measured,
    setup=[
        "Flent's tcp_1up over QCA9377's 802.11ac (one stream, 80 MHz, MCS 7, aggregates of up to 64 frames of three "
        "packets, fixed when the one before starts), 2 ms, queues of 1000 packets; 60 s, a value each 0.2 s, five "
        "seeds.",
        "Virtual NIC: TCP's small queues end where the guest's device takes the packet, as the published metadata have "
        "it. Native Wi-Fi: they end with the Block-ACK. Both size bursts as the kernel does, 1 ms of the rate.",
        "BBRp's radio leaves its channel for 117 of every 264 ms, as the idle pings of its files show. Figure 12 runs "
        "over 802.11n of 20 MHz with the BBR of Linux 4.13.8, as its files say.",
        "Verdicts come from the virtual NIC, which the files show, and with which Tables 3 and 4 are nearest.",
    ],
    tables=tables,
    claims=CLAIMS,
    decides=decides,
    pictures=pictures,
)
