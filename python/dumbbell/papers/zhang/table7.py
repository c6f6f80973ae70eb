"""Tables 6 and 7 and figure 14: two flows of an algorithm against two of Cubic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dumbbell.papers.model import Claim, Grid, Pictures
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import jain, ratio, total
from dumbbell.papers.zhang.choices import Choice, Seed, Test, View, below, everywhere, inside, seeds
from dumbbell.papers.zhang.measure import Run, Runs, Trace, Value, measure
from dumbbell.papers.zhang.names import BBR_LIKE, CODE, FOLDER, JAIN_MARGIN, MARGINS, TIMING
from dumbbell.papers.zhang.tables import beside, means, published_values
from dumbbell.results import Result

CASES = tuple(str(number) for number in range(1, 10))
SHALLOW, MIDDLE, DEEP = ("1", "4"), ("2", "5"), ("3", "6")
"""Cases with a buffer of one, one and a half, and two BDP."""
ABOVE = ("2", "3", "5", "6")
DRAWN = "5"
"""The case of figure 14."""
HARSH = ("BBR", "BBR+", "Tsunami")

BASE = Choice(CODE, CASES)


def keep(result: Result) -> Trace | None:
    """The traces of figure 14."""
    return Trace.of(result) if result.meta.settings["path.buffer"] == "112500B" else None


def share(run: Run) -> float:
    """What the algorithm's two flows have of all throughput."""
    return sum(run.rates[:2]) / total(run)


def variation(run: Run) -> float:
    """How much the bandwidth estimates of the algorithm's flows vary after the first 20 s."""
    return run.kept.variation(20, flows=2) if run.kept else 0.0


def tables(runs: Runs) -> list[Grid]:
    """Table 7 beside ours."""

    def table7(name: str, title: str, value: Value) -> Grid:
        theirs = published_values("table7", name)
        grid = f"table7-{name}", f"Table 7: {title}", View(runs, BASE), CASES, value, theirs
        return beside(*grid, algorithms=BBR_LIKE, difference=name == "jain")

    rows, shares = {name: (name,) for name in BBR_LIKE}, {case: (case, share) for case in CASES}
    return [
        table7("jain", "Jain's index", jain),
        table7("ratio", "largest over smallest throughput", ratio),
        means("share", "Share of the algorithm's two flows", runs, rows, shares),
    ]


def pictures(runs: Runs) -> Pictures:
    """Figure 14: rates in case 5."""
    from dumbbell.papers.zhang import figures

    panels = {f"{algorithm} against Cubic": [run.kept for run in runs[algorithm, DRAWN]] for algorithm in BBR_LIKE}
    names = ("flow 1", "flow 2", "flow 3 (Cubic)", "flow 4 (Cubic)")
    title = "Zhang figure 14: 6 Mbit/s, 50 ms, queue of 150 ms"
    label = "estimate; Cubic: throughput\n(Mbit/s)"
    return {"fig14": figures.over_time(panels, title, names, columns=3, label=label)}


# --- claims ----------------------------------------------------------------------------------------------------------


def texts(names: Sequence[str], cases: Sequence[str], value: Value) -> Callable[[View], str]:
    """``BBR 1.00, 2.00; ...``: means over seeds by case."""
    return lambda view: "; ".join(
        f"{name} {', '.join(f'{view.mean(name, case, value):.2f}' for case in cases)}" for name in names
    )


def harsh(cases: Sequence[str], value: Value, holds: Callable[[list[float]], bool]) -> Test:
    """A claim about BBR, BBR+ and Tsunami in some cases."""
    return everywhere(
        [BASE], HARSH, lambda found: holds([value(run) for run in found.values()]), texts(HARSH, cases, value), cases
    )


def coexists(name: str, least: float, most: float) -> Test:
    """An algorithm shares with Cubic in all cases: Jain's index at least, the ratio at most this."""
    return everywhere(
        [BASE],
        [name],
        lambda found: jain(found[name]) >= least - JAIN_MARGIN and inside(ratio(found[name]), 1, most),
        lambda view: f"Jain {view.range([name], CASES, jain)}, ratio {view.range([name], CASES, ratio)}",
    )


def recovers(seed: Seed) -> bool:
    """Jain's index of BBR against Cubic grows with the queue."""
    return all(
        jain(seed["BBR", one]) < jain(seed["BBR", two]) <= jain(seed["BBR", three]) + JAIN_MARGIN
        for one, two, three in zip(SHALLOW, MIDDLE, DEEP, strict=True)
    )


def shares(runs: Runs) -> str:
    """What the three have of the link, in words."""
    view = View(runs, BASE)
    deep, others = view.range(["BBR"], DEEP, share), view.range(["BBR+", "Tsunami"], ABOVE, share)
    return f"BBR's two flows have {deep} with a queue of 2 BDP, BBR+ and Tsunami {others} throughout."


CLAIMS: list[Claim[Runs]] = [
    Claim("zha-43", "With a buffer of one BDP BBR, BBR+ and Tsunami starve Cubic: the ratio of rates is at least 5.",
          "BBR 13.6, 17.1; BBR+ 5.9, 7.9; Tsunami 26.1, 34.4", harsh(SHALLOW, ratio, lambda found: min(found) >= 5)),
    Claim("zha-44", "With a buffer of one BDP Jain's index of BBR, BBR+ and Tsunami is at most 0.65.", "0.38 to 0.65",
          harsh(SHALLOW, jain, lambda found: max(found) <= 0.65 + JAIN_MARGIN)),
    Claim("zha-45", "BBRPlus coexists with Cubic in all cases: Jain at least 0.98, ratio at most 1.51.", "0.98; 1.51",
          coexists("BBRPlus", 0.98, 1.51)),
    Claim("zha-46", "BBRv2 coexists with Cubic in all cases: Jain at least 0.95, ratio at most 1.73.", "0.95; 1.73",
          coexists("BBRv2", 0.95, 1.73), cause="BBRv2 takes too much where the link is fastest."),
    Claim("zha-47", "BBR' coexists with Cubic in all cases: Jain at least 0.93, ratio at most 1.94.", "0.93; 1.94",
          coexists("BBR'", 0.93, 1.94)),
    Claim("zha-48",
          "Larger buffers let Cubic recover against BBR: Jain's index rises from 1 to 1.5 BDP and does not fall from "
          "1.5 to 2 BDP (within 0.02).", "0.55 < 0.95 < 1.00; 0.50 < 0.97 < 0.98",
          seeds([BASE], recovers, texts(["BBR"], CASES[:6], jain))),
    Claim("zha-49", "With 1.5 and 2 BDP (cases 2, 3, 5, 6) BBR, BBR+ and Tsunami still take more than half.",
          "section 4.5", harsh(ABOVE, share, lambda found: min(found) > 0.5), cause=shares),
    Claim("zha-50", "In case 5 the rates of BBR and Tsunami vary more than those of BBRPlus and BBRv2.", "figure 14",
          below([BASE], ("BBRPlus", "BBRv2"), ("BBR", "Tsunami"), DRAWN, variation, 2, BBR_LIKE)),
]  # fmt: skip

PART = Part(
    "table7",
    "Two flows of an algorithm against two of Cubic, nine cases",
    [Experiment(FOLDER / "table7.toml", keep)],
    quick="10s",
    measure=lambda ran: measure(ran, ("path.rate", "path.buffer"), CASES),
    setup=[
        "Flows 1 and 2 use the algorithm, 3 and 4 Cubic as QUIC has it (standing for two connections); all for "
        "200 s over 50 ms each way. Cases: 4 Mbit/s with queues of 100, 150, 200 ms (1 to 3), 6 Mbit/s with the "
        "same (4 to 6), 8, 10, 12 Mbit/s with 150 ms (7 to 9).",
        "Jain's index and the ratio of the largest to the smallest rate are over all four flows.",
        TIMING,
        MARGINS,
    ],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)
