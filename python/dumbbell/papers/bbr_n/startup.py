"""Figures 5 and 6: STARTUP with gains of 2.773 and 2.885 in the paper's own simulation; and BBR-n's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import fmean, variance
from typing import Any

from dumbbell.catalogue import find
from dumbbell.papers.bbr_n.growth import Flow, Row
from dumbbell.papers.bbr_n.measure import FOLDER
from dumbbell.papers.data import published
from dumbbell.papers.model import Cell, Claim, Grid, Outcome, Pictures, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.testing import spread
from dumbbell.results import Result

GAINS = ("2.773", "2.885")
ROUNDS = 15
METRICS = ("growth", "time", "cwnd", "in_flight", "bandwidth", "pacing_rate", "next_release")
"""What a printed row has, in the order of :class:`Row`."""
LINUX = {"gain-2773": "2.773", "gain-2885": "2.885"}
MSS_BITS = 1448 * 8
KIB_64 = 65536


@dataclass(frozen=True)
class Measured:
    """The paper's model, Linux's sender, and the parameters of our presets."""

    model: Mapping[str, Sequence[Row]]
    """By gain, a row a round."""
    linux: Mapping[str, Sequence[float]]
    """Packets acknowledged in each round, by gain."""
    parameters: Mapping[str, Mapping[str, float]]

    @classmethod
    def of(cls, ran: Ran) -> Measured:
        """Runs the model beside the experiment."""
        model = {gain: Flow(float(gain)).run(ROUNDS) for gain in GAINS}
        linux = {LINUX[cc]: rounds[0] for cc, rounds in ran.kept_by("flows[0].cc").items()}
        return cls(model, linux, {name: parameters(name) for name in ("bbr-n", "bbr-n-patch")})


def rounds(result: Result) -> list[float]:
    """Packets acknowledged in each round."""
    totals = [float(row["acked_total"]) for row in sorted(result.series.rows(), key=lambda row: row["t_s"])]
    return [after - before for before, after in pairwise(totals)]


def grown(packets: Sequence[float]) -> list[float]:
    """Of each round over the one before, up to the first that the path limits."""
    return [after / before for before, after in pairwise(packets) if before]


def printed_rows() -> dict[tuple[str, int], dict[str, float]]:
    """The published rows by gain and round."""
    rows: dict[tuple[str, int], dict[str, float]] = {}
    for number in published(FOLDER, "startup"):
        rows.setdefault((number.case["case"], int(number.case["round"])), {})[number.metric] = number.value
    return rows


def differences(model: Mapping[str, Sequence[Row]]) -> list[str]:
    """The published numbers that the model does not give, in words."""
    theirs = printed_rows()
    return [
        f"gain {gain}, round {number}, {metric}: {value:.6g} for {theirs[gain, number][metric]:.6g}"
        for gain, rows in model.items()
        for number, row in enumerate(rows, 1)
        for metric, value in zip(METRICS, row.printed(), strict=True)
        if value != theirs[gain, number][metric]
    ]


# --- parameters ------------------------------------------------------------------------------------------------------

STATED = {
    "STARTUP's gain": 2.885, "first gain of the cycle": 1.5, "second": 0.9, "others": 1.0,
    "smallest burst below 1.2 Mbit/s": 1.0, "above": 4.0, "small queues in ms": 4.0,
}  # fmt: skip
"""What the paper states."""
WITHIN = 0.03
"""Linux counts gains in 1/256 and a millisecond as 1/1024 s."""


def defaults(name: str) -> dict[str, Any]:
    """The parameters of a preset."""
    return {key: value["default"] for key, value in find(name)["parameters"]["properties"].items()}


def parameters(name: str) -> dict[str, float]:
    """What :data:`STATED` says, of a preset."""
    of = defaults(name)
    cycle = of.get("cycle_gains") or [of["up_pacing_gain"], of["down_pacing_gain"], of["cruise_pacing_gain"]]
    others = cycle[2:]
    assert len(set(others)) == 1
    values = (of["startup_pacing_gain"], *cycle[:3], of["burst_min_slow"], of["burst_min"])
    return dict(zip(STATED, map(float, (*values, 1000 / 2 ** of["small_queue_shift"])), strict=True))


def quantum(name: str, rate: float) -> int:
    """Packets of a burst at a pacing rate (bit/s) by the parameters of a preset."""
    of = defaults(name)
    least = of["burst_min_slow"] if rate < 1.2e6 else of["burst_min"]
    share = min(rate / 8 / 1024, float(str(of["burst_max_bytes"]).removesuffix("B")))
    return max(int(share // 1448), int(least))


def stated_quantum(rate: float) -> float:
    """Algorithm 1b: max(min(rate in 1 ms, 64 KB), base), in packets."""
    base = 1 if rate < 1.2e6 else 4
    return max(min(rate / 1000, 8 * KIB_64) / MSS_BITS, base)


RATES = [10 ** (5 + step / 10) for step in range(41)]
"""0.1 Mbit/s to 1 Gbit/s."""


# --- tables ----------------------------------------------------------------------------------------------------------


def rows_of(model: Mapping[str, Sequence[Row]], gain: str, name: str, figure: int) -> Grid:
    """A figure's rows, ours, and the published growth beside them."""
    theirs = printed_rows()
    rows: list[list[Cell]] = [
        [number, theirs[gain, number]["growth"], *row.printed()] for number, row in enumerate(model[gain], 1)
    ]
    heads = ["round", "published growth", "growth", "time", "cwnd", "in flight", "bandwidth", "rate", "next release"]
    return Grid(name, f"Figure {figure}: gain {gain}, packets and seconds", heads, rows, 3)


def tables(measured: Measured) -> list[Grid]:
    """Both figures, Linux's sender, the parameters."""
    growth: dict[str, Callable[[int], Cell]] = {
        f"{who}: {gain}": partial(at, values)
        for gain in GAINS
        for who, values in (("model", [row.growth for row in measured.model[gain]]),
                            ("Linux", [0.0, *grown(measured.linux[gain])]))
    }  # fmt: skip
    columns: dict[str, Callable[[str], Cell]] = {
        name: partial(lambda values, key: values[key], values)
        for name, values in {"paper": STATED, **measured.parameters}.items()
    }
    return [
        rows_of(measured.model, "2.773", "fig5", 5),
        rows_of(measured.model, "2.885", "fig6", 6),
        table("linux", "Growth of the bandwidth from round to round, and that of Linux's BBR v1 with the same gain",
              ("round",), (((number,), number - 1) for number in range(1, ROUNDS + 1)), growth, 3),
        table("parameters", "Parameters", ("parameter",), (((key,), key) for key in STATED), columns),
    ]  # fmt: skip


def at(values: Sequence[float], index: int) -> Cell:
    """A value, if there is one."""
    return values[index] if index < len(values) else None


def pictures(measured: Measured) -> Pictures:
    """Growth over rounds."""
    from dumbbell.papers.bbr_n import figures

    return {"startup": figures.startup(measured)}


# --- claims ----------------------------------------------------------------------------------------------------------


def one(choice: str, holds: bool, ours: str) -> list[Outcome]:
    """The outcome of something that is computed once."""
    return [Outcome(choice, int(holds), 1, ours, seeds=False)]


def of_rounds(measured: Measured, gain: str, first: int) -> list[float]:
    """The model's growth from a round on."""
    return [row.growth for row in measured.model[gain]][first - 1 :]


def doubles(measured: Measured) -> list[Outcome]:
    """The paper's model, and Linux's sender beside it."""
    found = {
        "the paper's model": of_rounds(measured, "2.885", 8),
        "Linux's sender": grown(measured.linux["2.885"])[6:13],
    }
    return [
        Outcome(choice, int(all(abs(value - 2) <= 0.001 for value in values)), 1, spread(values, 3), seeds=False)
        for choice, values in found.items()
    ]


def smoother(measured: Measured) -> list[Outcome]:
    """Variances of the growth from round 6 on."""
    slow, fast = (variance(of_rounds(measured, gain, 6)) for gain in GAINS)
    beside = [variance(grown(measured.linux[gain])[4:13]) for gain in GAINS]
    return [
        Outcome("the paper's model", int(fast < slow), 1, f"variance {fast:.5f} against {slow:.5f}", seeds=False),
        Outcome("Linux's sender", int(beside[1] < beside[0]), 1,
                f"variance {beside[1]:.5f} against {beside[0]:.5f}", seeds=False),
    ]  # fmt: skip


def exact(measured: Measured) -> list[Outcome]:
    """All rows, but the time that the authors' own program does not print either."""
    found = differences(measured.model)
    return one("the paper's model", len(found) == 1 and "2.773, round 5, time" in found[0],
               f"{len(GAINS) * ROUNDS * len(METRICS) - len(found)} of {len(GAINS) * ROUNDS * len(METRICS)} numbers; "
               + "; ".join(found))  # fmt: skip


def agrees(measured: Measured) -> list[Outcome]:
    """Parameters of both presets."""
    return [
        Outcome(f"`{name}`", int(all(abs(found[key] - value) <= WITHIN * value for key, value in STATED.items())), 1,
                ", ".join(f"{found[key]:.3g}" for key in STATED), seeds=False)
        for name, found in measured.parameters.items()
    ]  # fmt: skip


def quanta(measured: Measured) -> list[Outcome]:
    """Bursts at rates from 0.1 Mbit/s to 1 Gbit/s: whole packets, and 1/1024 s for 1 ms."""
    return [
        Outcome(f"`{name}`", sum(abs(quantum(name, rate) - stated_quantum(rate)) <= 1.1 for rate in RATES), len(RATES),
                f"{quantum(name, 1e6)}, {quantum(name, 1e7)}, {quantum(name, 1e8)}, {quantum(name, 1e9)} packets at "
                "1, 10, 100, 1000 Mbit/s", seeds=False)
        for name in measured.parameters
    ]  # fmt: skip


def balanced(measured: Measured) -> list[Outcome]:
    """The mean gain of the eight phases."""
    found = measured.parameters["bbr-n-patch"]
    gain = fmean([found["first gain of the cycle"], found["second"], *[found["others"]] * 6])
    return one("`bbr-n-patch`", abs(gain - 1) <= 0.005, f"{gain:.2f}")


CLAIMS = [
    Claim("bbn-01", "With a gain of 2.885 the bandwidth doubles in each round from round 8 on.",
          "2.000 +/- 0.001, rounds 8 to 15", doubles),
    Claim("bbn-02", "With 2.773 it grows by 1.952 to 2.010 from round 8 on.", "1.952 to 2.010",
          lambda measured: one("the paper's model",
                               all(1.952 <= round(value, 3) <= 2.010 for value in of_rounds(measured, "2.773", 8)),
                               spread(of_rounds(measured, "2.773", 8), 3))),
    Claim("bbn-03", "Both gains stall in round 5.", "1.725 and 1.850",
          lambda measured: one("the paper's model",
                               [round(measured.model[gain][4].growth, 3) for gain in GAINS] == [1.725, 1.85],
                               " and ".join(f"{measured.model[gain][4].growth:.3f}" for gain in GAINS))),
    Claim("bbn-04", "The rows of both figures are reproduced exactly.", "30 rows of 7 numbers", exact,
          "The time of round 5 is printed as 0.500000; the authors' program prints 0.500080, too."),
    Claim("bbn-05", "2.885 doubles more smoothly than 2.773.", "variance of the growth, rounds 6 to 15", smoother),
    Claim("bbn-29", "STARTUP at 2.885; 1.5, 0.9 and 1 in PROBE_BW; bursts of 4 packets at least; 4 ms of queue.",
          "2.885, 1.5, 0.9, 1, 1, 4, 4", agrees),
    Claim("bbn-30", "A burst is max(min(rate in 1 ms, 64 KB), base).", "Algorithm 1b", quanta),
    Claim("bbn-31", "0.9 balances 1.5, so that the mean gain of PROBE_BW stays at 1.", "1.0", balanced,
          cause="(1.5 + 0.9 + 6)/8 = 1.05; BBR v1 has 1."),
]  # fmt: skip

PART: Part[Measured] = Part(
    "startup",
    "Figures 5 and 6: STARTUP with gains of 2.773 and 2.885; BBR-n's parameters",
    [Experiment(FOLDER / "startup.toml", keep=rounds)],
    quick="1700ms",
    measure=Measured.of,
    setup=[
        "The paper's simulation in steps of 1 us: 10 packets at once, RTT 0.1 s, no rate, no loss; afterwards a packet "
        "waits 1/(gain x bandwidth), and each ACK lets the window grow by a packet.",
        "Linux's BBR v1 with either gain over 20 Gbit/s and 100 ms, on which a dozen rounds double.",
    ],
    tables=tables,
    claims=CLAIMS,
    decides=lambda choice: choice != "Linux's sender",
    pictures=pictures,
)
