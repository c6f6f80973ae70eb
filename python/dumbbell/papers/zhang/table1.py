"""Table 1 and figures 5 to 12: four flows of one algorithm, which come and go, in eleven cases."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from dumbbell.papers.model import Claim, Grid, Pictures
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.runs import loss
from dumbbell.papers.testing import mean, ranged, spread
from dumbbell.papers.zhang.choices import Choice, Seed, Test, View, below, everywhere, seeds
from dumbbell.papers.zhang.measure import PAYLOAD, WIRE, Run, Runs, Trace, Value, delay, measure
from dumbbell.papers.zhang.names import ALGORITHMS, BBR_LIKE, CODE, FOLDER, ONE_SIZE, PAPER, TIMING
from dumbbell.papers.zhang.tables import AS_THE_CODE, labels, means
from dumbbell.results import Result

CASES = tuple(str(number) for number in range(1, 12))
CASE_8_OF_THE_CODE = "8, 50 ms"
SHORT = ("1", "2", "3")
"""Cases that were run under every choice."""
BASE, STARTUP = Choice(CODE, CASES), Choice(PAPER, SHORT)
STARTUPS = (BASE, STARTUP)
AT_ZERO = tuple(", ".join(["all flows from 0", *size]) for size in ((), (ONE_SIZE,), ("packets of 1440 bytes",)))
STARTS = (*STARTUPS, *(Choice(name, ["1"]) for name in AT_ZERO))
EVEN = Choice(ONE_SIZE, SHORT)
CASE_8 = (BASE, Choice("case 8 at 50 ms", [CASE_8_OF_THE_CODE if case == "8" else case for case in CASES]))
"""As in the paper and as in the repository."""
DRAWN = ("1", "3")
"""Cases whose rates the study draws: a buffer of one BDP, and of two."""
STAGES = ((40.0, 80.0, (0, 1)), (80.0, 120.0, (0, 1, 2)), (120.0, 200.0, (0, 1, 2, 3)), (200.0, 300.0, (0, 1, 3)),
          (300.0, 400.0, (0, 1)))  # fmt: skip
"""Start, end and flows of each stage between two changes."""
SETTLED = 10.0
"""Seconds of a stage that its flows have to settle."""
TOGETHER = (120.0, 200.0)
"""When all four flows send."""


def keep(result: Result) -> Trace | None:
    """The traces of cases 1 and 3."""
    settings = result.meta.settings
    drawn = settings.get("path.rate", "5mbit") == "5mbit" and settings["path.buffer"] != "93750B"
    return Trace.of(result) if drawn else None


def measured(main: Ran, choices: Ran, one_size: Ran, at_zero: Ran) -> Runs:
    """All sweeps together."""
    runs = measure(main, ("path.rate", "path.rtt", "path.buffer"), (*CASES, CASE_8_OF_THE_CODE))
    runs |= measure(choices, ["path.buffer"], SHORT) | measure(one_size, ["path.buffer"], SHORT)
    return runs | measure(at_zero, ["path.buffer"], ["1"])


# --- what is measured over time --------------------------------------------------------------------------------------


def together(run: Run) -> float:
    """Jain's index while all four flows send."""
    return (run.kept and run.kept.jain(*TOGETHER, range(4))) or 0.0


def late_jain(run: Run) -> float:
    """Jain's index from 150 to 200 s."""
    return (run.kept and run.kept.jain(150.0, 200.0, range(4))) or 0.0


def unfairest_stage(run: Run) -> float:
    """The lowest of Jain's indices of the stages."""
    indices = [run.kept.jain(start + SETTLED, end, flows) for start, end, flows in STAGES] if run.kept else []
    return min((index for index in indices if index is not None), default=0.0)


def variation(run: Run) -> float:
    """How much the bandwidth estimates vary while all four flows send."""
    return run.kept.variation(*TOGETHER) if run.kept else 0.0


def overshoot(flow: int) -> Value:
    """The highest estimate of a flow in its first 10 s over its fair share."""

    def of(run: Run) -> float:
        if run.kept is None:
            return 0.0
        start = (0.0, 40.0, 80.0, 120.0)[flow]
        share = 5.0 * PAYLOAD / WIRE / (flow + 1)
        first = (run.kept.t_s > start) & (run.kept.t_s <= start + 10)
        return float(run.kept.estimate[flow, first].max(initial=0.0)) / share

    return of


# --- tables and figures ----------------------------------------------------------------------------------------------


def tables(runs: Runs) -> list[Grid]:
    """Figures 5 and 6 in numbers, how the flows share, and what the choices change."""
    values: Mapping[str, Value] = {
        "Jain, 120 to 200 s": together,
        "least Jain of a stage": unfairest_stage,
        "variation of rates": variation,
    }
    sharing = {f"case {case}: {name}": (case, value) for case in DRAWN for name, value in values.items()}
    lost: Mapping[str, Value] = {"loss": loss, "delay": delay}
    causes = {f"case {case}: {name}": (case, value) for case in SHORT for name, value in lost.items()}
    causes |= {f"Jain, case {case}": (case, together) for case in DRAWN}
    tried = {label: words for label, words in labels(runs).items() if (label, "2") in runs}
    rows = sorted(tried.items(), key=lambda row: (ALGORITHMS.index(row[1][0]), row[0]))
    return [
        means("delay", "Mean one-way delay in ms (figure 5)", runs, AS_THE_CODE, {c: (c, delay) for c in CASES}, 1),
        means("loss", "Loss rate (figure 6)", runs, AS_THE_CODE, {c: (c, loss) for c in CASES}, 4),
        means("fairness", "How the flows share (figures 7 to 12)", runs, AS_THE_CODE, sharing),
        means("choices", "What the study leaves open, cases 1 to 3", runs, dict(rows), causes, 3),
    ]


def pictures(runs: Runs) -> Pictures:
    """Figures 5 to 12."""
    from dumbbell.papers.zhang import figures

    drawn = {
        "fig5": figures.by_case(runs, CASES, delay, "mean one-way delay (ms)", "Zhang figure 5: delay by case"),
        "fig6": figures.by_case(runs, CASES, lambda run: 100 * loss(run), "loss (%)", "Zhang figure 6: loss by case"),
    }
    sizes = dict(zip(DRAWN, "12", strict=True))
    names = [f"flow {flow}" for flow in range(1, 5)]
    for number, algorithm in enumerate(BBR_LIKE, start=7):
        panels = {
            f"case {case}: queue of {size} BDP": [run.kept for run in runs[algorithm, case]]
            for case, size in sizes.items()
        }
        drawn[f"fig{number}"] = figures.over_time(panels, f"Zhang figure {number}: {algorithm}, 5 Mbit/s, 50 ms", names)
    return drawn


# --- claims ----------------------------------------------------------------------------------------------------------


def less(
    algorithm: str, others: Sequence[str], value: Value, digits: int, holds: Callable[[float, float], bool]
) -> Test:
    """In every case an algorithm compares so with others."""
    return everywhere(
        (*CASE_8, STARTUP),
        (algorithm, *others),
        lambda found: all(holds(value(found[algorithm]), value(found[other])) for other in others),
        lambda view: f"case 1: {view.ranked((algorithm, *others), '1', value, digits)}",
    )


def fairer(low: Sequence[str], high: Sequence[str]) -> Test:
    """In case 1 some algorithms are less fair than others."""
    return below(STARTUPS, low, high, "1", together, 2)


def stages(algorithm: str, least: float) -> Test:
    """The flows of an algorithm are close to each other at each stage of cases 1 and 3."""
    lowest = ranged(unfairest_stage)
    return seeds(
        STARTUPS,
        lambda seed: min(unfairest_stage(seed[algorithm, case]) for case in DRAWN) >= least,
        lambda view: ", ".join(f"case {case}: lowest {lowest(view.of(algorithm, case))}" for case in DRAWN),
    )


def second_version(seed: Seed) -> bool:
    """BBRv2's delay lies above that of BBR' in all cases and below BBR's in one."""
    cases = seed.view.choice.cases
    above = all(delay(seed["BBRv2", case]) > delay(seed["BBR'", case]) for case in cases)
    return above and any(delay(seed["BBRv2", case]) < delay(seed["BBR", case]) for case in cases)


def overshoots_and_settles(seed: Seed) -> bool:
    """What zha-04 says of BBR in case 3."""
    run = seed["BBR", "3"]
    return late_jain(run) > 0.9 and min(overshoot(1)(run), overshoot(2)(run)) > 1


def overshooting(view: View) -> str:
    """What zha-04 says of BBR in case 3, in numbers."""
    late, second, third = (ranged(value)(view.of("BBR", "3")) for value in (late_jain, overshoot(1), overshoot(2)))
    return f"Jain {late}; peak over fair share, flow 2 {second}, flow 3 {third}"


def below_bbr(view: View) -> str:
    """Where BBRv2's mean delay is below BBR's."""
    cases = [case for case in view.choice.cases if view.mean("BBRv2", case, delay) < view.mean("BBR", case, delay)]
    return "below BBR in " + (f"cases {', '.join(cases)}" if cases else "no case")


def started_together(runs: Runs) -> str:
    """What BBR loses in case 1 when all flows start at once, in words."""
    views = [View(runs, choice) for choice in STARTS if choice.name in AT_ZERO]
    found = (
        f"{spread((100 * loss(run) for run in view.of('BBR', '1')), 1)} % with {view.choice.name}" for view in views
    )
    return f"A program of the study's repository starts all four flows at once. Ours lose {'; '.join(found)}."


def at_the_starts(runs: Runs) -> str:
    """What BBR loses in cases 2 and 3 with either STARTUP and size of packets, in words."""
    found = (
        f"{100 * view.mean('BBR', '2', loss):.1f} and {100 * view.mean('BBR', '3', loss):.1f} % {view.choice.name}"
        for view in (View(runs, choice) for choice in (*STARTUPS, EVEN))
    )
    return f"These are losses of the flows' startups: {'; '.join(found)}."


def excess(runs: Runs) -> str:
    """By how much BBRPlus loses more than BBR, in words."""
    view = View(runs, BASE)
    both = [[100 * view.mean(name, case, loss) for name in ("BBRPlus", "BBR")] for case in CASES]
    beyond = [(plus, bbr) for plus, bbr in both if plus > bbr]
    if not beyond:
        return ""
    points = max(plus - bbr for plus, bbr in beyond)
    return f"It fails by at most {points:.2f} points, where BBR itself loses {spread([b for _, b in beyond])} %."


def losing_more(runs: Runs) -> str:
    """In how many cases BBR+ loses more than Tsunami, in words."""
    more = sum(mean(runs["BBR+", case], loss) > mean(runs["Tsunami", case], loss) for case in CASES)
    return f"BBR+ probes at 1.5 times the bandwidth and loses more than Tsunami in {more} of {len(CASES)} cases."


def apart(runs: Runs) -> str:
    """How close BBRv2's delay is to Reno's in case 1, in words."""
    two, reno = (mean(runs[name, "1"], delay) for name in ("BBRv2", "Reno"))
    return f"The delays of BBRv2 and Reno differ by {100 * abs(two / reno - 1):.1f} % in case 1."


def but(*names: str) -> tuple[str, ...]:
    """All other algorithms."""
    return tuple(name for name in ALGORITHMS if name not in names)


CLAIMS: list[Claim[Runs]] = [
    Claim("zha-01", "Four BBR flows over a buffer of one BDP lose about 9 % (within a quarter: 6.75 to 11.25 %).",
          "0.09",
          seeds(STARTS, lambda seed: 0.0675 <= loss(seed["BBR", "1"]) <= 0.1125,
                lambda view: spread(map(loss, view.of("BBR", "1")), 3)),
          cause=started_together),
    Claim("zha-02", "BBR loses more in case 3 than in case 2, in spite of the longer queue.", "0.010 and 0.007",
          seeds((*STARTUPS, EVEN), lambda seed: loss(seed["BBR", "3"]) > loss(seed["BBR", "2"]),
                lambda view: f"{view.mean('BBR', '3', loss):.4f} and {view.mean('BBR', '2', loss):.4f}"),
          cause=at_the_starts),
    Claim("zha-03", "BBR is less fair than BBR', BBRPlus and BBRv2 in case 1.", "figure 7a",
          fairer(["BBR"], ["BBR'", "BBRPlus", "BBRv2"])),
    Claim("zha-04",
          "BBR shares fairly in case 3 (Jain above 0.9 from 150 to 200 s), and flows 2 and 3 overshoot when they "
          "start.", "figure 7b",
          seeds(STARTUPS, overshoots_and_settles, overshooting)),
    Claim("zha-05", "BBR' has the lowest delay of all algorithms in every case.", "figure 5",
          less("BBR'", but("BBR'"), delay, 0, operator.lt)),
    Claim("zha-06", "BBRPlus has the second lowest delay in every case.", "figure 5",
          less("BBRPlus", but("BBR'", "BBRPlus"), delay, 0, operator.lt)),
    Claim("zha-07", "BBR' loses less than BBR in every case.", "figure 6",
          less("BBR'", ["BBR"], loss, 4, operator.lt)),
    Claim("zha-08", "BBRPlus loses no more than BBR in every case.", "figure 6",
          less("BBRPlus", ["BBR"], loss, 4, operator.le), cause=excess),
    Claim("zha-09", "BBR' is fairer than BBR in case 1.", "figure 8a", fairer(["BBR"], ["BBR'"])),
    Claim("zha-10", "The rates of BBR' vary more than those of BBR in case 3.", "figures 7b and 8b",
          below(STARTUPS, ["BBR"], ["BBR'"], "3", variation, 3)),
    Claim("zha-11", "BBRPlus flows are close to each other at each stage of cases 1 and 3 (Jain at least 0.95).",
          "figure 9", stages("BBRPlus", 0.95)),
    Claim("zha-12", "Tsunami and BBR+ are less fair than BBR' and BBRPlus in case 1.", "figures 10 and 11",
          fairer(["Tsunami", "BBR+"], ["BBR'", "BBRPlus"])),
    Claim("zha-13", "Tsunami loses most of all algorithms in every case.", "figure 6",
          less("Tsunami", but("Tsunami"), loss, 3, operator.gt), cause=losing_more),
    Claim("zha-14", "Tsunami's delay is above BBR's in every case.", "figure 5",
          less("Tsunami", ["BBR"], delay, 0, operator.gt)),
    Claim("zha-15", "The rates of BBR+ vary more than those of BBR in case 3.", "figure 11b",
          below(STARTUPS, ["BBR"], ["BBR+"], "3", variation, 3)),
    Claim("zha-16", "BBRv2 flows share fairly at each stage of cases 1 and 3 (Jain at least 0.9).", "figure 12",
          stages("BBRv2", 0.9), cause="BBRv2's flows stay below 0.9 for a while after one has come or gone."),
    Claim("zha-17", "BBRv2's delay is above that of BBR' in every case and below BBR's in some.", "figure 5",
          seeds(CASE_8, second_version, below_bbr)),
    Claim("zha-18", "BBRv2's delay is below that of Cubic and Reno in every case.", "section 5",
          everywhere([*CASE_8, Choice("Reno N = 1", SHORT, single=["Reno"])],
                     ("BBRv2", "Cubic", "Reno"),
                     lambda found: delay(found["BBRv2"]) < min(delay(found["Cubic"]), delay(found["Reno"])),
                     lambda view: f"case 1: {view.ranked(('BBRv2', 'Cubic', 'Reno'), '1', delay, 0)}"), cause=apart),
]  # fmt: skip

PART = Part(
    "table1",
    "Four flows of one algorithm over one bottleneck, eleven cases",
    [
        Experiment(FOLDER / "table1.toml", keep),
        Experiment(FOLDER / "table1-choices.toml", keep),
        Experiment(FOLDER / "table1-one-size.toml", keep),
        Experiment(FOLDER / "table1-at-zero.toml"),
    ],
    quick="130s",
    measure=measured,
    setup=[
        "Flow 1 sends from 0 to 400 s, flow 2 from 40 to 400 s, flow 3 from 80 to 200 s, flow 4 from 120 to 300 s; "
        "a byte-limited drop-tail queue; packets of 1440, 1440 and 240 bytes, an ACK for each.",
        "Cases (rate, one-way delay, queueing time): 1 to 3: 5 Mbit/s, 50 ms, 100, 150, 200 ms; 4, 5: 6 Mbit/s, "
        "50 ms, 100, 150 ms; 6: 7 Mbit/s, 50 ms, 150 ms; 7: 7 Mbit/s, 100 ms, 300 ms; 8, 9: 8 Mbit/s, 100 ms, 200, "
        "300 ms; 10, 11: 10 Mbit/s, 50 ms, 150, 200 ms. Case 8 also with 50 ms, as in the study's repository.",
        TIMING,
        "Jain's index over 120 to 200 s, when all four flows send; per stage without its first 10 s. Variation is "
        "that of the bandwidth estimate from second to second over 120 to 200 s.",
    ],
    tables=tables,
    claims=CLAIMS,
    decides=lambda choice: choice == CODE,
    pictures=pictures,
)
