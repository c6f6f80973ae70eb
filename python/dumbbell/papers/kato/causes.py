"""Which rule makes flows starve: every combination of what differs between the versions, and what else matters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from dumbbell.papers.kato.measure import FOLDER, fast, is_split, starved
from dumbbell.papers.kato.table2 import split
from dumbbell.papers.model import Cell, Claim, Grid, Outcome, Pictures, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Cases, Run, jain, single, timeouts, together, total
from dumbbell.papers.testing import average, averaged, both, each, ranged

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
SAMPLER, BUFFER = (NEW[0], *OLD[1:]), (OLD[0], NEW[1], *OLD[2:])
"""One of the two rules that matter as in ns-3.44."""

SUMMARY: dict[str, Callable[[Sequence[Run]], Cell]] = {
    "starved flows: mean": average(starved),
    "starved flows: over seeds": ranged(starved, 0),
    "Jain": average(jain),
    "total Mbit/s": average(total),
    "timeouts": average(timeouts),
}


def version(rule: int, value: str) -> str:
    """``3.40`` or ``3.44``."""
    return "3.40" if value == RULES[rule][2] else "3.44"


def switches(cases: Cases) -> list[tuple[Sequence[Cell], Sequence[Run]]]:
    """Single rules and pairs of ns-3.44 in ns-3.40, and the reverse."""
    rows: list[tuple[Sequence[Cell], Sequence[Run]]] = []
    for base, other, name in ((OLD, NEW, "ns-3.40"), (NEW, OLD, "ns-3.44")):
        for size in range(3):
            for chosen in combinations(range(len(RULES)), size):
                case = tuple(other[i] if i in chosen else base[i] for i in range(len(RULES)))
                rows.append(((name, " + ".join(RULES[i][1] for i in chosen) or "nothing"), cases[case]))
    return rows


def effects(cases: Cases) -> Grid:
    """Starved flows by each rule, over all combinations of the others."""

    def of(value: int, summary: Callable[[Sequence[Run]], float]) -> Callable[[int], float]:
        return lambda rule: summary(
            [run for case, runs in cases.items() if case[rule] == RULES[rule][value] for run in runs]
        )

    counted: dict[str, Callable[[Run], float]] = {"starved": starved, "share of runs split": is_split}
    columns = {
        f"{name}: as {word}": of(value, average(summary))
        for name, summary in counted.items()
        for value, word in ((2, "3.40"), (3, "3.44"))
    }
    rows = (([rule[1]], index) for index, rule in enumerate(RULES))
    return table("effects", "Each rule's effect over all combinations of the others", ["rule"], rows, columns)


def tables(cases: Cases) -> list[Grid]:
    """Every combination, each rule's effect, and single switches."""
    every = (([version(rule, value) for rule, value in enumerate(case)], runs) for case, runs in cases.items())
    names = [rule[1] for rule in RULES]
    title = "One rule and two rules of the other version"
    return [
        table("combinations", "Every combination of the rules", names, every, SUMMARY),
        effects(cases),
        table("switches", title, ("version", "with the other's"), switches(cases), SUMMARY),
    ]


def pictures(cases: Cases) -> Pictures:
    """What starvation needs."""
    from dumbbell.papers.kato import figures

    counts = {
        f"sampler of {version(0, sampler)}\nNextSeg of {version(1, rescue)}": [
            starved(run) for case, runs in cases.items() if case[:2] == (sampler, rescue) for run in runs
        ]
        for sampler in RULES[0][2:]
        for rescue in RULES[1][2:]
    }
    return {"causes": figures.starving(counts)}


# --- claims ----------------------------------------------------------------------------------------------------------


def cures(cases: Cases) -> list[Outcome]:
    """In how many runs one of the two rules leaves flows starved."""

    def cured(name: str, case: tuple[str, ...], words: str) -> Outcome:
        count, left = len(cases[case]), sum(starved(run) > 0 for run in cases[case])
        return Outcome(name, left, count, f"{count - left} of {count}{words}")

    return [
        cured("sampler (tcp-rate-ops.cc) fixed", SAMPLER, " runs without a starved flow"),
        cured("NextSeg (tcp-tx-buffer.cc) fixed", BUFFER, ""),
    ]


def both_needed(cases: Cases) -> str:
    """What cures the starvation, in words."""
    new = cases[NEW]
    return (
        "Either of two files that the authors did not compare cures it alone; starvation needs both as in 3.40. "
        f"With everything of 3.44 {sum(starved(run) == 0 for run in new)} of {len(new)} runs starve nobody."
    )


CLAIMS: list[Claim[Cases]] = [
    Claim("kat-12", "BBR and the socket of ns-3.44 in ns-3.40 do not cure it.", "9 fast, 7 extremely slow (+/- 2)",
          each(single({"starves all the same": PORT}),
               lambda run: abs(starved(run) - 7) <= 2 and abs(fast(run) - 9) <= 2, split),
          "Neither file holds the sampler or NextSeg."),
    Claim("kat-13", "With them the total is below that of plain ns-3.40.", "below 632 Mbit/s",
          each(together({"seed by seed": [PORT, OLD]}), lambda pair: total(pair[0]) < total(pair[1]),
               both(averaged(total, 0), "{} against {} Mbit/s")),
          "The total follows the number of starved flows, which is chance."),
    Claim("kat-14", "The difference is not in the TCP-related source.", "stated, no number", cures, both_needed),
    Claim("kat-15", "The delivery-rate fix alone changes the fairness at 100 packets.",
          "our hypothesis: Jain's index fixed > unfixed",
          each(together({"in ns-3.40": [SAMPLER, OLD]}), lambda pair: jain(pair[0]) > jain(pair[1]),
               both(averaged(jain), "Jain {1} unfixed, {0} fixed")),
          "True, and so does NextSeg's fix alone: the hypothesis was half of it."),
]  # fmt: skip

PART = Part(
    "causes",
    "Which change between ns-3.40 and ns-3.44 ended the starvation",
    [Experiment(FOLDER / "causes.toml")],
    quick="2s",
    measure=lambda ran: ran.by(*(rule[0] for rule in RULES)),
    setup=[
        "16 flows at 100 packets as in kato/table2. Four rules differ between the versions: the delivery-rate "
        "sampler (issue 1026, fixed in 3.41), what NextSeg sends when the window is full (issue 805, 3.43), "
        "whether BBR is shown the smoothed or the last RTT (issue 1043, 3.43), and BBR's own file (a margin).",
        "In ns-3.40 a fast recovery whose receive window is full retransmits segments that are still on their way; "
        "the retransmission restamps them, the original's ACK arrives milliseconds later, its sample is shorter "
        "than the minimum RTT and discarded, and the sample after it spans everything since time zero. Every such "
        "pair also counts as a round, so the maximum filter forgets the true rate within a round trip. BBR then "
        "sends 0.2 packets a round trip, where the same sampler keeps it.",
    ],
    tables=tables,
    claims=CLAIMS,
    pictures=pictures,
)
