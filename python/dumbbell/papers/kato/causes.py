"""Which rule makes flows starve: every combination of what differs between the versions, and what else matters."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.papers import data
from dumbbell.papers.kato.measure import SPLIT, Cases, Run, measure
from dumbbell.papers.model import Cell, Claim, Grid, Judgement, Options, Outcome, Provenance, Report
from dumbbell.papers.seeds import mean, outcome, spread

if TYPE_CHECKING:
    from dumbbell.plots import Picture

TITLE = "Which change between ns-3.40 and ns-3.44 ended the starvation"

SCENARIO = Path(__file__).with_name("causes.toml")
QUICK = "2s"

RULES = (
    ("transport.delivery_rate", "delivery rate", "ns3-3.40", "ns3"),
    ("transport.rescue", "NextSeg", "any", "below-sack"),
    ("transport.controller_rtt", "RTT shown to BBR", "smoothed", "last"),
    ("flows[0].cc", "BBR's own file", "ns3-3-40", "ns3-3-44"),
)
"""Key in the experiment file, name, value in ns-3.40, value in ns-3.44."""

OLD = tuple(rule[2] for rule in RULES)
NEW = tuple(rule[3] for rule in RULES)
PORT = ("ns3-3.40", "any", "last", "ns3-3-44")
"""What the authors' second approach took over: BBR and the socket, but neither the sampler nor the send buffer."""

CLAIMS = (
    Claim("kat-12", "BBR and the socket of ns-3.44 in ns-3.40 do not cure it.", "9 fast, 7 extremely slow (+/- 2)"),
    Claim("kat-13", "With them the total is below that of plain ns-3.40.", "below 632 Mbit/s"),
    Claim("kat-14", "The difference is not in the TCP-related source.", "stated, no number"),
    Claim(
        "kat-15",
        "The delivery-rate fix alone changes the fairness at 100 packets.",
        "our hypothesis: Jain's index fixed > unfixed",
    ),
)


def reproduce(options: Options) -> Report:
    """Runs every combination of the four rules."""
    result = data.run(SCENARIO, options, quick=QUICK)
    cases = measure(result, [rule[0] for rule in RULES])
    report = Report(
        study="kato",
        part="causes",
        title=TITLE,
        setup=(
            "16 flows at 100 packets as in kato/table2. Four rules differ between the versions: the delivery-rate "
            "sampler (issue 1026, fixed in 3.41), what NextSeg sends when the window is full (issue 805, 3.43), "
            "whether BBR is shown the smoothed or the last RTT (issue 1043, 3.43), and BBR's own file (a margin).",
            "In ns-3.40 a fast recovery whose receive window is full retransmits segments that are still on their way; "
            "the retransmission restamps them, the original's ACK arrives milliseconds later, its sample is shorter "
            "than the minimum RTT and discarded, and the sample after it spans everything since time zero. Every such "
            "pair also counts as a round, so the maximum filter forgets the true rate within a round trip. BBR then "
            "sends 0.2 packets a round trip, where the same sampler keeps it.",
        ),
        tables=(combinations_table(cases), effects(cases), singles(cases)),
        pictures={"causes": picture_of(cases), "fig9": port_picture(cases)},
        judgements=judge(cases),
        provenance=Provenance.of([result], {SCENARIO.name: SCENARIO.read_text(encoding="utf-8")}),
    )
    return report.shortened(QUICK) if options.quick else report


def version(rule: int, value: str) -> str:
    """``3.40`` or ``3.44``."""
    return "3.40" if value == RULES[rule][2] else "3.44"


def summary(runs: list[Run]) -> list[Cell]:
    """What the tables show of a case."""
    return [
        mean(runs, lambda r: r.starved),
        spread((r.starved for r in runs), 0),
        mean(runs, lambda r: r.jain),
        mean(runs, lambda r: r.total),
        mean(runs, lambda r: r.timeouts),
    ]


SUMMARY = ("starved flows: mean", "starved flows: over seeds", "Jain", "total Mbit/s", "timeouts")


def combinations_table(cases: Cases) -> Grid:
    """Every combination."""
    rows: list[list[Cell]] = [
        [*(version(rule, value) for rule, value in enumerate(case)), *summary(runs)] for case, runs in cases.items()
    ]
    return Grid("combinations", "Every combination of the rules", (*(rule[1] for rule in RULES), *SUMMARY), rows)


def singles(cases: Cases) -> Grid:
    """Single rules and pairs of ns-3.44 in ns-3.40, and the reverse."""
    rows: list[list[Cell]] = []
    for base, other, name in ((OLD, NEW, "ns-3.40"), (NEW, OLD, "ns-3.44")):
        rows.append([name, "nothing", *summary(cases[base])])
        for size in (1, 2):
            for chosen in combinations(range(len(RULES)), size):
                case = tuple(other[i] if i in chosen else base[i] for i in range(len(RULES)))
                rows.append([name, " + ".join(RULES[i][1] for i in chosen), *summary(cases[case])])
    title = "One rule and two rules of the other version"
    return Grid("switches", title, ("version", "with the other's", *SUMMARY), rows)


def effects(cases: Cases) -> Grid:
    """Starved flows by each rule, over all combinations of the others."""
    rows: list[list[Cell]] = []
    for index, (_, name, old, new) in enumerate(RULES):
        by_value = {
            value: [run for case, runs in cases.items() if case[index] == value for run in runs] for value in (old, new)
        }
        rows.append(
            [
                name,
                *(mean(by_value[value], lambda r: r.starved) for value in (old, new)),
                *(sum(r.starved >= SPLIT for r in by_value[value]) / len(by_value[value]) for value in (old, new)),
            ]
        )
    columns = ("rule", "starved: as 3.40", "starved: as 3.44", "share of runs split: as 3.40",
               "share of runs split: as 3.44")  # fmt: skip
    return Grid("effects", "Each rule's effect over all combinations of the others", columns, rows)


def judge(cases: Cases) -> list[Judgement]:
    """Puts the claims to the combinations."""
    by_id = {claim.id: claim for claim in CLAIMS}
    old, new, port = cases[OLD], cases[NEW], cases[PORT]
    pairs = list(zip(port, old, strict=True))
    sampler = (NEW[0], *OLD[1:])
    buffer = (OLD[0], NEW[1], *OLD[2:])

    def cured(case: tuple[str, ...]) -> int:
        return sum(run.starved == 0 for run in cases[case])

    def fixes(case: tuple[str, ...]) -> tuple[int, str]:
        held = sum(b.jain > a.jain for a, b in zip(old, cases[case], strict=True))
        return held, f"Jain {mean(old, lambda r: r.jain):.2f} unfixed, {mean(cases[case], lambda r: r.jain):.2f} fixed"

    fixed = fixes(sampler)
    return [
        Judgement(
            by_id["kat-12"],
            [
                outcome(
                    "starves all the same",
                    port,
                    lambda r: r.starved >= SPLIT,
                    f"{spread((r.fast for r in port), 0)} fast, {spread((r.starved for r in port), 0)} starved",
                ),
            ],
            "Neither file holds the sampler or NextSeg.",
        ),
        Judgement(
            by_id["kat-13"],
            [
                Outcome(
                    "seed by seed",
                    sum(a.total < b.total for a, b in pairs),
                    len(pairs),
                    f"{mean(port, lambda r: r.total):.0f} against {mean(old, lambda r: r.total):.0f} Mbit/s",
                )
            ],
            "The total follows the number of starved flows, which is chance.",
        ),
        Judgement(
            by_id["kat-14"],
            [
                Outcome(
                    "sampler (tcp-rate-ops.cc) fixed",
                    len(old) - cured(sampler),
                    len(old),
                    f"{cured(sampler)} of {len(old)} runs without a starved flow",
                ),
                Outcome(
                    "NextSeg (tcp-tx-buffer.cc) fixed",
                    len(old) - cured(buffer),
                    len(old),
                    f"{cured(buffer)} of {len(old)}",
                ),
            ],
            "Either of two files that the authors did not compare cures it alone; starvation needs both as in 3.40. "
            f"With everything of 3.44 {sum(r.starved == 0 for r in new)} of {len(new)} runs starve nobody.",
        ),
        Judgement(
            by_id["kat-15"],
            [Outcome("in ns-3.40", fixed[0], len(old), fixed[1])],
            "True, and so does NextSeg's fix alone: the hypothesis was half of it.",
        ),
    ]


def picture_of(cases: Cases) -> Picture:
    """Starved flows of each seed for the four combinations of sampler and NextSeg."""
    from dumbbell.plots.style import look, picture

    with picture(6.0, 3.4) as figure:
        axes = figure.subplots()
        ticks = []
        for at, (sampler, rescue) in enumerate((a, b) for a in RULES[0][2:] for b in RULES[1][2:]):
            runs = [run for case, group in cases.items() if case[:2] == (sampler, rescue) for run in group]
            counts = [run.starved for run in runs]
            for value in sorted(set(counts)):
                axes.scatter(at, value, s=14 * counts.count(value), color=look("bbr").colour, zorder=3)
            ticks.append(f"sampler of {version(0, sampler)}\nNextSeg of {version(1, rescue)}")
        axes.set_xticks(range(len(ticks)), ticks, fontsize=8)
        axes.set_xlim(-0.5, len(ticks) - 0.5)
        axes.set_ylim(-0.7, 16)
        axes.set_ylabel("flows below 1 Mbit/s, of 16")
        axes.set_title("Starvation needs both (area: runs, over all other rules and seeds)", loc="left")
        axes.grid(axis="x", visible=False)
    return figure


def port_picture(cases: Cases) -> Picture:
    """Goodput of each flow, sorted, of one seed: figure 9."""
    from dumbbell.plots.style import look, picture

    titles = {OLD: "ns-3.40", PORT: "with BBR and socket of 3.44", NEW: "ns-3.44"}
    with picture(8.0, 2.8) as figure:
        panels = figure.subplots(1, len(titles), sharey=True)
        for axes, (case, title) in zip(panels, titles.items(), strict=True):
            rates = sorted(cases[case][0].goodputs_mbps, reverse=True)
            axes.bar(range(1, len(rates) + 1), rates, color=look("bbr3" if case == NEW else "bbr").colour)
            axes.set_title(f"{title}, 100 packets", loc="left", fontsize=8)
            axes.set_xticks([1, len(rates) // 2, len(rates)])
            axes.set_xlabel("flow, sorted")
            axes.grid(axis="x", visible=False)
        panels[0].set_ylabel("goodput (Mbit/s)")
    return figure
