"""Shares beside CUBIC and Reno against the size of the buffer."""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.papers import data
from dumbbell.papers.family.measure import (
    NAMES,
    Run,
    Runs,
    bdps,
    log_ticks,
    measure,
    values,
    where,
)
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Outcome, Provenance, Report
from dumbbell.papers.seeds import mean, outcome, spread

if TYPE_CHECKING:
    from dumbbell.plots import Picture

TITLE = "Shares of the three versions beside CUBIC and Reno over buffers of 0.1 to 10 BDP"

SCENARIO = Path(__file__).with_name("coexistence.toml")
FAST = Path(__file__).with_name("coexistence-fast.toml")
QUICK = "2s"

SLOW_PATH, FAST_PATH = "10 Mbit/s", "100 Mbit/s"
RIVALS = ("cubic", "reno")
MIXES = (("1", "1"), ("1", "4"), ("4", "1"))

CLAIMS = (
    Claim(
        "fam-14",
        "Version 1 converges to a fair share beside loss-based flows (here: a quarter to three quarters of the link "
        "beside one of them).",
        "converges toward a fair share whether competing with BBR or loss-based flows (ACM Queue)",
    ),
    Claim(
        "fam-15",
        "Where the buffer exceeds several BDP (here: 5 and 10), loss-based flows take more than their share from it.",
        "buffers exceeding several BDPs (ACM Queue)",
    ),
    Claim(
        "fam-16",
        "Version 2 shares more evenly with CUBIC and Reno than version 1 in buffers up to 1.5 BDP.",
        "better Reno/CUBIC coexistence than v1 (commit message of Linux's BBRv3, of v2 and v3 alike)",
    ),
    Claim("fam-17", "Version 3 does so, too.", "the same"),
    Claim(
        "fam-18",
        "Beside one flow of CUBIC or Reno, version 2 has a quarter to three quarters of the link at every buffer from "
        "0.25 BDP on.",
        "probes every 2 to 3 s or 63 round trips to coexist (drafts); no number",
    ),
    Claim("fam-19", "Version 3 has that, too.", "the same; no number"),
)


def reproduce(options: Options) -> Report:
    """Runs every version beside every rival at every buffer, on both paths."""
    shorter = {"warmup": "1s"} if options.quick else None
    slow = data.run(SCENARIO, options, quick=QUICK, set=shorter)
    fast = data.run(FAST, options, quick=QUICK, set=shorter)
    paths = {SLOW_PATH: measure(slow), FAST_PATH: measure(fast)}
    report = Report(
        study="family",
        part="coexistence",
        title=TITLE,
        setup=(
            "40 ms, drop-tail, Linux's transport, starts within 1 s. 10 Mbit/s (a BDP of 33 packets) for 120 s with "
            "1:1, 1:4 and 4:1 flows; 100 Mbit/s (333 packets) for 90 s with 1:1. The first 20 s do not count.",
            "A share is the mean goodput of the version's flows over the mean of all flows: 1 is fair, 2 is everything "
            "of two flows. Means over three seeds; a claim is put to each seed at each of its buffers.",
        ),
        tables=(table(paths),),
        pictures={"coexistence": picture_of(paths)},
        judgements=judge(paths),
        provenance=Provenance.of(
            [slow, fast], {path.name: path.read_text(encoding="utf-8") for path in (SCENARIO, FAST)}
        ),
    )
    return report.shortened(QUICK) if options.quick else report


def share(run: Run) -> float:
    """The version's share; 1 is fair."""
    return run.share("family")


def select(paths: dict[str, Runs], path: str, cc: str, rival: str, mix: tuple[str, str] = ("1", "1")) -> Runs:
    """The runs of one mixture, all buffers."""
    counts = {"count_0": mix[0], "count_1": mix[1]} if path == SLOW_PATH else {}
    return where(paths[path], cc_0=cc, cc_1=rival, **counts)


def table(paths: dict[str, Runs]) -> Grid:
    """Shares, a row a version and mixture."""
    buffers = values(paths[SLOW_PATH], "buffer")
    rows: list[list[Cell]] = []
    for path, mixes in ((SLOW_PATH, MIXES), (FAST_PATH, MIXES[:1])):
        for rival in RIVALS:
            for mix in mixes:
                for cc in ("bbr", "bbr2", "bbr3"):
                    runs = select(paths, path, cc, rival, mix)
                    shares = [mean(where(runs, buffer=one), share) for one in buffers]
                    rows.append([path, f"{mix[0]} {NAMES[cc]} : {mix[1]} {NAMES[rival]}", *shares])
    columns = ("path", "flows", *(f"BDP: {bdps(one):g}" for one in buffers))
    return Grid("coexistence", "Share of the version's flows; 1 is fair", columns, rows)


def judge(paths: dict[str, Runs]) -> list[Judgement]:
    """Puts every claim to every run it speaks of."""
    by_id = {claim.id: claim for claim in CLAIMS}

    def pick(path: str, cc: str, rival: str, low: float, high: float) -> Runs:
        runs = select(paths, path, cc, rival)
        return [run for run in runs if low <= bdps(str(run.settings["path.buffer"])) <= high]

    choices = [(path, rival) for path in (SLOW_PATH, FAST_PATH) for rival in RIVALS]

    def within(cc: str, low: float, high: float) -> list[Outcome]:
        found = [(path, rival, pick(path, cc, rival, low, high)) for path, rival in choices]
        return [
            outcome(
                f"{NAMES[rival]}, {path}",
                runs,
                lambda run: 0.5 <= share(run) <= 1.5,
                spread(map(share, runs)),
            )
            for path, rival, runs in found
        ]

    def closer(cc: str) -> list[Outcome]:
        found = [(p, r, pick(p, cc, r, 0, 1.5), pick(p, "bbr", r, 0, 1.5)) for p, r in choices]
        return [
            Outcome(
                f"{NAMES[rival]}, {path}",
                sum(unevenness(a) < unevenness(b) for a, b in zip(ours, theirs, strict=True)),
                len(ours),
                f"{spread(map(share, ours))}, v1 {spread(map(share, theirs))}",
            )
            for path, rival, ours, theirs in found
        ]

    deep = [(path, rival, pick(path, "bbr", rival, 5, 10)) for path, rival in choices]
    return [
        Judgement(
            by_id["fam-14"],
            within("bbr", 0, 10),
            "In buffers below 1.5 BDP its window of two BDP does not fit: the rival's losses do not slow it.",
        ),
        Judgement(
            by_id["fam-15"],
            [
                outcome(f"{NAMES[rival]}, {path}", runs, lambda run: share(run) < 1, spread(map(share, runs)))
                for path, rival, runs in deep
            ],
        ),
        Judgement(by_id["fam-16"], closer("bbr2")),
        Judgement(by_id["fam-17"], closer("bbr3")),
        Judgement(by_id["fam-18"], within("bbr2", 0.25, 10)),
        Judgement(by_id["fam-19"], within("bbr3", 0.25, 10)),
    ]


def unevenness(run: Run) -> float:
    """How far the two sides are from each other, as the logarithm of their quotient."""
    other = run.share("rival")
    return abs(log(max(share(run), 1e-6) / max(other, 1e-6)))


def picture_of(paths: dict[str, Runs]) -> Picture:
    """Shares over buffers: a row a rival, a column a mixture."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    from dumbbell.plots.style import INK, legend, look, picture

    columns = [(SLOW_PATH, mix) for mix in MIXES] + [(FAST_PATH, MIXES[0])]
    buffers = values(paths[SLOW_PATH], "buffer")
    with picture(9.2, 4.6) as figure:
        panels = figure.subplots(len(RIVALS), len(columns), sharex=True, sharey=True)
        for row, rival in zip(panels, RIVALS, strict=True):
            for axes, (path, mix) in zip(row, columns, strict=True):
                for cc in ("bbr", "bbr2", "bbr3"):
                    runs = select(paths, path, cc, rival, mix)
                    y = [mean(where(runs, buffer=one), share) for one in buffers]
                    axes.plot(
                        [bdps(one) for one in buffers], y, marker=look(cc).marker, markersize=4, **look(cc).line()
                    )
                axes.axhline(1, color=INK, linewidth=0.9, linestyle=(0, (2, 2)))
                axes.set_title(f"{mix[0]} : {mix[1]} {NAMES[rival]}, {path}", loc="left", fontsize=9)
        for axes in panels[-1]:
            log_ticks(axes, (0.1, 0.5, 1, 2, 5, 10), "buffer (BDP)")
        for row in panels:
            row[0].set_ylabel("share (1 is fair)")
        panels[0, 0].set_yscale("log")
        panels[0, 0].set_ylim(0.4, 5)
        panels[0, 0].yaxis.set_major_locator(FixedLocator([0.5, 1, 2, 4]))
        panels[0, 0].yaxis.set_minor_locator(NullLocator())
        panels[0, 0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        legend(
            figure,
            [Line2D([], [], marker=look(c).marker, **look(c).line(), label=NAMES[c]) for c in ("bbr", "bbr2", "bbr3")],
        )
    return figure
