"""Today's algorithms over little buffer: fairness, utilisation and loss by buffer and number of flows."""

from __future__ import annotations

from collections.abc import Callable

from dumbbell.papers.kato.measure import FOLDER
from dumbbell.papers.model import Pictures, table
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Cases, Run, jain, total
from dumbbell.papers.testing import average, mean

CAPACITY_MBPS = 100 * 1448 / 1500
"""Payload that 100 Mbit/s can carry."""

VALUES: dict[str, tuple[str, Callable[[Run], float]]] = {
    "Jain": ("Jain's index", jain),
    "utilisation": ("use of the link", lambda run: total(run) / CAPACITY_MBPS),
    "loss": ("share lost", lambda run: sum(run.of("retransmits")) / max(sum(run.of("sent")), 1)),
}
"""In the table and in the picture."""


def pictures(cases: Cases) -> Pictures:
    """A row of maps for each algorithm."""
    from dumbbell.papers.kato import figures

    def of(value: Callable[[Run], float]) -> Callable[[str, str, str], float]:
        return lambda *case: mean(cases[case], value)

    algorithms, buffers, counts = (list(dict.fromkeys(keys)) for keys in zip(*cases, strict=True))
    maps = {shown: of(value) for shown, value in VALUES.values()}
    return {"heatmap": figures.heatmap(algorithms, buffers, counts, maps)}


PART = Part(
    "heatmap",
    "1 to 64 flows of bbr, bbr2, bbr3 and cubic over buffers of 0.05 to 2 BDP",
    [Experiment(FOLDER / "heatmap.toml", quick={"warmup": "500ms"})],
    quick="2s",
    measure=lambda ran: ran.by("flows[0].cc", "path.buffer", "flows[0].count"),
    setup=[
        "100 Mbit/s, 40 ms, drop-tail, Linux's transport, starts within 1 s, 30 s of which the first 10 s do not "
        "count.",
        "Jain's index of the flows' goodput, goodput over the payload the link can carry, and retransmitted of "
        "transmitted segments; means over seeds.",
    ],
    tables=lambda cases: [
        table(
            "heatmap",
            "Fairness, utilisation and loss",
            ("algorithm", "buffer (BDP)", "flows"),
            (((cc, buffer.removesuffix("bdp"), int(count)), runs) for (cc, buffer, count), runs in cases.items()),
            {name: average(value) for name, (_, value) in VALUES.items()},
            3,
        )
    ],
    pictures=pictures,
)
