"""One table over all algorithms of the family, and the pacing gains of the variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from dumbbell.papers.family.measure import FOLDER, Runs, by, percent_lost, percent_used, queue_ms, share, where
from dumbbell.papers.model import Cell, Grid, Pictures, table
from dumbbell.papers.part import Experiment, Part, Ran
from dumbbell.papers.runs import Run, jain
from dumbbell.papers.testing import mean

WINDOW, EARLY = (6.0, 8.4), (0.6, 3.0)
"""Seconds of the picture of gains, and of that of runs that end before."""


@dataclass(frozen=True)
class Measured:
    """All three experiments."""

    situations: Runs
    beside: Runs
    """Beside one flow of CUBIC."""
    gains: Mapping[str, pl.DataFrame]
    """The samples of one flow of each variant."""

    @classmethod
    def of(cls, situations: Ran, beside: Ran, gains: Ran) -> Measured:
        """Of the sweeps."""
        samples = {cc: frames[-1] for cc, frames in gains.kept_by("flows[0].cc").items()}
        return cls(situations.runs, beside.runs, samples)


def tables(measured: Measured) -> list[Grid]:
    """One row an algorithm; means over seeds."""

    def column(value: Callable[[Run], float], runs: Runs = measured.situations, **at: str) -> Callable[[str], Cell]:
        chosen = where(runs, **at)
        return lambda cc: mean(where(chosen, cc_0=cc), value)

    clean = where(measured.situations, loss="0%")
    alone, three = {"count_0": "1"}, {"count_0": "3"}
    columns = {
        "1 flow, 10 BDP: queue ms": column(queue_ms, clean, buffer="10bdp", **alone),
        "1 flow, 10 BDP: use %": column(percent_used, clean, buffer="10bdp", **alone),
        "1 flow, 0.5 BDP: loss %": column(percent_lost, clean, buffer="0.5bdp", **alone),
        "3 flows, 10 BDP: queue ms": column(queue_ms, clean, buffer="10bdp", **three),
        "3 flows, 1 BDP: queue ms": column(queue_ms, clean, buffer="1bdp", **three),
        "3 flows, 1 BDP: loss %": column(percent_lost, clean, buffer="1bdp", **three),
        "3 flows, 1 BDP: use %": column(percent_used, clean, buffer="1bdp", **three),
        "3 flows, 1 BDP: Jain": column(jain, clean, buffer="1bdp", **three),
        "2 % loss: use %": column(percent_used, loss="2%"),
    }
    for buffer in by(measured.beside, "buffer"):
        name = f"beside CUBIC: {buffer.removesuffix('bdp')} BDP"
        columns[name] = column(share, measured.beside, buffer=buffer)
    rows = (([cc], cc) for cc in by(measured.situations, "cc_0"))
    return [table("variants", "The family in the same situations", ["algorithm"], rows, columns)]


def steps(samples: pl.DataFrame, column: str) -> pl.DataFrame:
    """The samples at which a column changes, the first and the last: all that a line of steps needs."""
    at = pl.int_range(pl.len())
    return samples.filter(pl.col(column).ne_missing(pl.col(column).shift()) | (at == 0) | (at == pl.len() - 1))


def pictures(measured: Measured) -> Pictures:
    """Pacing gains over the same stretch of time."""
    from dumbbell.papers.family import figures

    end = min(float(str(samples["t_s"].max())) for samples in measured.gains.values())
    window = WINDOW if end >= WINDOW[1] else EARLY
    parts = {
        name: steps(samples.filter(pl.col("t_s").is_between(*window)), "cc_pacing_gain")
        for name, samples in measured.gains.items()
    }
    return {"gains": figures.gains(parts, window[0])}


PART: Part[Measured] = Part(
    "variants",
    "Every variant in the same five situations and beside CUBIC; the pacing gains of twelve of them",
    [
        Experiment(FOLDER / "variants.toml", quick={"warmup": "1s"}),
        Experiment(FOLDER / "variants-cubic.toml", quick={"warmup": "1s"}),
        Experiment(
            FOLDER / "gains.toml",
            keep=lambda result: result.series.to_polars().filter(pl.col("flow") == 0).sort("t_s"),
        ),
    ],
    quick="3s",
    measure=Measured.of,
    setup=[
        "10 Mbit/s, 40 ms (a BDP of 33 packets), Linux's transport for all, so that only the rules of congestion "
        "control differ; starts within 1 s, 60 s of which the first 10 s do not count; three seeds.",
        "Queue as a delay, use as goodput over what the link can carry, share beside CUBIC with 1 as fair.",
    ],
    tables=tables,
    pictures=pictures,
)
