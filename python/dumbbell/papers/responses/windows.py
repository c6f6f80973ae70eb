"""The mean window over the loss, beside what the rules promise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dumbbell.papers.model import Claim, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.responses.theory import LAWS, window
from dumbbell.papers.runs import Run
from dumbbell.papers.testing import each, near, spread

FOLDER = Path(__file__).parent

RTT_S = 0.1
MSS = 1448

NAMES = {
    "reno": "Reno",
    "cubic": "CUBIC",
    "highspeed": "HighSpeed",
    "bic": "BIC",
    "htcp": "H-TCP",
    "scalable": "Scalable",
}

Point = tuple[float, float, float]
"""Loss, our mean window, that of the rules."""

Points = dict[str, list[Point]]
"""The points of each algorithm."""


def measured(ran: Ran) -> Points:
    """Windows in packets by algorithm, from size and completion time."""
    points: Points = {cc: [] for cc in NAMES}
    for (cc, loss), runs in ran.by("flows[0].cc", "path.loss").items():
        share = float(loss.rstrip("%")) / 100
        points[cc].append((share, mean_window(runs[0]), window(LAWS[cc], share, RTT_S)))
    return points


def mean_window(run: Run) -> float:
    """Packets of a transfer over the round trips that it took, or that the run had; its end may wait for a timeout."""
    flow = run.flows[0]
    took_s = run.duration_s if flow["completion_s"] is None else flow["completion_s"]
    return float(flow["delivered_bytes_total"] / MSS * RTT_S / took_s)


def tables(points: Points) -> list[Grid]:
    """A row a loss, our window and that of the rules for each algorithm."""
    losses = [loss for loss, _, _ in points["reno"]]
    rows = (((f"{100 * loss:g} %",), row) for row, loss in enumerate(losses))

    def ours(cc: str) -> Callable[[int], float]:
        return lambda row: points[cc][row][1]

    def rules(cc: str) -> Callable[[int], float]:
        return lambda row: points[cc][row][2]

    columns = {f"{name}{what}": of(cc) for cc, name in NAMES.items() for what, of in (("", ours), (", rules", rules))}
    return [table("windows", "Mean window in packets", ("loss",), rows, columns, 1)]


def pictures(points: Points) -> Pictures:
    """Windows over losses."""
    from dumbbell.papers.responses import figures

    return {"responses": figures.responses(points, NAMES)}


def ratios(points: list[Point]) -> str:
    """``0.96 to 1.03 of the rules``."""
    return spread((ours / rules for _, ours, rules in points)) + " of the rules"


def of(cc: str) -> Callable[[Points], dict[str, list[list[Point]]]]:
    """All points of an algorithm, which count as one run."""
    return lambda points: {"0.001 to 3 % of loss": [points[cc]]}


CAUSES = {
    "cubic": "At 3 % the window is six packets, of which the kernel cuts off fractions.",
    "bic": "Around 60 packets the kernel cuts the number of ACKs for a packet off, and looks at it 32 times a second.",
    "htcp": "At 3 % the window is six packets, and the kernel leaves out two ACKs of each window.",
}
"""Why an algorithm's windows leave the tenth."""


def all_near(points: list[Point]) -> bool:
    """Every window within a tenth."""
    return all(near(ours, rules, 0.1) for _, ours, rules in points)


PART = Part(
    "windows",
    "Mean windows under independent losses",
    [Experiment(FOLDER / "responses.toml")],
    quick="5s",
    measure=measured,
    setup=[
        "One flow over 100 ms without a queue and with independent losses; each segment is acknowledged.",
        "The rules are those of the paper or RFC as a fluid, with a round of recovery and no timeouts.",
        "The formulas hold for periodic losses.",
    ],
    tables=tables,
    pictures=pictures,
    claims=[
        Claim(
            f"res-{number:02}",
            f"{name}'s mean window is that of its rules within a tenth, from 0.001 to 3 % of loss.",
            "1",
            each(of(cc), all_near, lambda runs: ratios(runs[0])),
            cause=CAUSES.get(cc, ""),
        )
        for number, (cc, name) in enumerate(NAMES.items(), 1)
    ],
)
