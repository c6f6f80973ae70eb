"""Small queues of 1 to 16 ms with bursts of 1, 2 and 4 segments: what they leave for an aggregate."""

from __future__ import annotations

from collections.abc import Callable

from dumbbell.papers.bbr_n.measure import FOLDER, NAMES, aggregate
from dumbbell.papers.model import Cell, Claim, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.runs import Cases, Run, together, total
from dumbbell.papers.testing import averaged, both, each, mean

QUEUES = {"10": 1, "9": 2, "8": 4, "7": 8, "6": 16}
"""Shift and milliseconds."""
KERNEL = "bursts as the kernel makes them"
BURSTS = {"1448B": "bursts of 1", "2896B": "bursts of 2", "5792B": "bursts of 4"}
BASES = ("bbr-n-patch", "bbr-n")


def cases_of(ran: Ran) -> Cases:
    """The runs by base, what limits bursts, their least and the shift."""
    keys = ("flows[0].cc.name", "transport.gso_max_bytes", "flows[0].cc.burst_min", "flows[0].cc.small_queue_shift")
    found = ran.by(*keys).items()
    return {(base, BURSTS.get(most, KERNEL), least, shift): runs for (base, most, least, shift), runs in found}


def lines(cases: Cases) -> dict[str, dict[str, tuple[str, str, str]]]:
    """For each base the rows of its maps: name, and the keys of the cases before the shift."""
    return {
        base: {
            name if name != KERNEL else f"kernel's, at least {least}": (base, name, least)
            for of, name, least, shift in cases
            if of == base and shift == "10"
        }
        for base in BASES
    }


def at(row: tuple[str, ...], shift: str) -> tuple[str, ...]:
    """The key of a case."""
    return (*row, shift)


def tables(cases: Cases) -> list[Grid]:
    """Aggregates and throughput by length of the small queue."""

    def of(shift: str, value: Callable[[Run], float]) -> Callable[[tuple[str, str, str]], Cell]:
        return lambda row: mean(cases[at(row, shift)], value)

    columns = {
        f"{name}: {milliseconds} ms": of(shift, value)
        for name, value in (("packets an aggregate", aggregate), ("Mbit/s", total))
        for shift, milliseconds in QUEUES.items()
    }
    rows = (((NAMES[base], name), key) for base, of_base in lines(cases).items() for name, key in of_base.items())
    return [table("tsq", "One upload by length of its small queue", ("algorithm", "bursts"), rows, columns, 1)]


def pictures(cases: Cases) -> Pictures:
    """A map of aggregates and one of throughput for each base."""
    from dumbbell.papers.bbr_n import figures

    return {"tsq": figures.small_queues(cases, lines(cases), {"packets an aggregate": aggregate, "Mbit/s": total})}


CHOICES = {
    f"{NAMES[base]}, {words}": [(base, limit, least, "8"), (base, limit, least, "10")]
    for base in BASES
    for words, limit, least in ((KERNEL, KERNEL, "4"), *((name, name, name[-1]) for name in BURSTS.values()))
}
"""4 and 1 ms."""


def larger(pair: tuple[Run, ...]) -> bool:
    """Aggregates and throughput, by a twentieth at least."""
    return all(value(pair[0]) >= 1.05 * value(pair[1]) for value in (aggregate, total))


CLAIMS: list[Claim[Cases]] = [
    Claim("bbn-28", "Small queues of 4 instead of 1 ms let a sender build larger aggregates and raise throughput "
          "(here: by 5 % at least).",
          "none: the runs with 1 to 16 ms over 802.11n (46.3, 48.0, 48.2, 32.9, 47.6 Mbit/s) show no trend",
          each(together(CHOICES), larger,
               lambda pairs: both(averaged(aggregate, 1), "{} against {} packets")(pairs) + ", "
               + both(averaged(total, 0), "{} against {} Mbit/s")(pairs)),
          cause="The kernel's bursts are 1 ms of the rate, and small queues hold two of them whatever their length in "
                "time. With bursts of 1, 2 or 4 segments it holds."),
]  # fmt: skip

PART: Part[Cases] = Part(
    "tsq",
    "Small queues of 1 to 16 ms with bursts of 1, 2 and 4 segments",
    [Experiment(FOLDER / "tsq.toml", quick={"warmup": "1s"})],
    quick="2s",
    measure=cases_of,
    setup=[
        "One upload over native Wi-Fi (bbr-n/single), 25 s. Bursts are no longer than 1, 2 or 4 segments; or at least "
        "that long, and as long as the kernel makes them: 1 ms of the rate.",
    ],
    tables=tables,
    claims=CLAIMS,
    decides=lambda choice: choice.endswith(KERNEL),
    pictures=pictures,
)
