"""One table over all algorithms of the family, and the pacing gains of the variants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.papers import data
from dumbbell.papers.family.measure import Run, Runs, measure, values, where
from dumbbell.papers.model import Cell, Claim, Grid, Options, Provenance, Report
from dumbbell.papers.seeds import mean

if TYPE_CHECKING:
    import polars as pl

    from dumbbell.plots import Picture
    from dumbbell.results import Result

TITLE = "Every variant in the same five situations and beside CUBIC; the pacing gains of twelve of them"

SCENARIO = Path(__file__).with_name("variants.toml")
CUBIC = Path(__file__).with_name("variants-cubic.toml")
GAINS = Path(__file__).with_name("gains.toml")
QUICK = "3s"

CLAIMS: tuple[Claim, ...] = ()
"""What the authors of single variants promise is in the reproductions of their studies."""

WINDOW = (6.0, 8.4)
"""Seconds of the picture of gains."""


def reproduce(options: Options) -> Report:
    """Runs every algorithm in every situation."""
    shorter = {"warmup": "1s"} if options.quick else None
    situations = data.run(SCENARIO, options, quick=QUICK, set=shorter)
    beside = data.run(CUBIC, options, quick=QUICK, set=shorter)
    gains: dict[int, pl.DataFrame] = {}

    def keep(index: int, result: Result) -> None:
        gains[index] = first_flow(result)

    drawn = data.run(GAINS, options, quick=QUICK, each=keep)
    named = {str(point.settings["flows[0].cc"]): gains[index] for index, point in enumerate(drawn.points)}
    report = Report(
        study="family",
        part="variants",
        title=TITLE,
        setup=(
            "10 Mbit/s, 40 ms (a BDP of 33 packets), Linux's transport for all, so that only the rules of congestion "
            "control differ; starts within 1 s, 60 s of which the first 10 s do not count; three seeds.",
            "Queue as a delay, use as goodput over what the link can carry, share beside CUBIC with 1 as fair.",
        ),
        tables=(table(measure(situations), measure(beside)),),
        pictures={"gains": picture_of(named, (0.6, 3.0) if options.quick else WINDOW)},
        judgements=(),
        provenance=Provenance.of(
            [situations, beside, drawn],
            {path.name: path.read_text(encoding="utf-8") for path in (SCENARIO, CUBIC, GAINS)},
        ),
    )
    return report.shortened(QUICK) if options.quick else report


def table(situations: Runs, beside: Runs) -> Grid:
    """One row an algorithm; means over seeds."""
    clean = where(situations, loss="0%")
    rows: list[list[Cell]] = []
    for cc in values(situations, "cc_0"):
        alone = where(clean, cc_0=cc, count_0="1", buffer="10bdp")
        shallow = where(clean, cc_0=cc, count_0="1", buffer="0.5bdp")
        three = where(clean, cc_0=cc, count_0="3", buffer="10bdp")
        tight = where(clean, cc_0=cc, count_0="3", buffer="1bdp")
        lossy = where(situations, cc_0=cc, loss="2%")
        rows.append(
            [
                cc,
                mean(alone, queue),
                mean(alone, use),
                mean(shallow, lost),
                mean(three, queue),
                mean(tight, queue),
                mean(tight, lost),
                mean(tight, use),
                mean(tight, lambda run: run.jain),
                mean(lossy, use),
                *(
                    mean(where(beside, cc_0=cc, buffer=buffer), lambda run: run.share("family"))
                    for buffer in values(beside, "buffer")
                ),
            ]
        )
    columns = (
        "algorithm",
        "1 flow, 10 BDP: queue ms",
        "1 flow, 10 BDP: use %",
        "1 flow, 0.5 BDP: loss %",
        "3 flows, 10 BDP: queue ms",
        "3 flows, 1 BDP: queue ms",
        "3 flows, 1 BDP: loss %",
        "3 flows, 1 BDP: use %",
        "3 flows, 1 BDP: Jain",
        "2 % loss: use %",
        *(f"beside CUBIC: {buffer.removesuffix('bdp')} BDP" for buffer in values(beside, "buffer")),
    )
    return Grid("variants", "The family in the same situations", columns, rows)


def queue(run: Run) -> float:
    """Mean queue in ms."""
    return run.queue_ms


def use(run: Run) -> float:
    """Goodput over what the link can carry, in percent."""
    return 100 * run.utilisation


def lost(run: Run) -> float:
    """Loss in percent."""
    return 100 * run.loss


def first_flow(result: Result) -> pl.DataFrame:
    """The samples of flow 0."""
    import polars as pl

    return result.series.to_polars().filter(pl.col("flow") == 0).sort("t_s")


def steps(samples: pl.DataFrame, column: str) -> pl.DataFrame:
    """The samples at which a column changes, the first and the last: all that a line of steps needs."""
    import polars as pl

    at = pl.int_range(pl.len())
    return samples.filter(pl.col(column).ne_missing(pl.col(column).shift()) | (at == 0) | (at == pl.len() - 1))


def picture_of(gains: dict[str, pl.DataFrame], window: tuple[float, float]) -> Picture:
    """Pacing gains over the same stretch of time, a panel a variant."""
    import polars as pl

    from dumbbell.plots.style import INK, look, picture

    names = list(gains)
    with picture(9.0, 6.2) as figure:
        panels = figure.subplots(-(-len(names) // 2), 2, sharex=True, sharey=True)
        for axes, name in zip(panels.T.flat, names, strict=False):
            part = steps(gains[name].filter(pl.col("t_s").is_between(*window)), "cc_pacing_gain")
            t = part["t_s"] - window[0]
            gain = part["cc_pacing_gain"].cast(pl.Float64)
            for beyond, colour in ((gain.clip(lower_bound=1), look("bbr").colour),
                                   (gain.clip(upper_bound=1), look("cubic").colour)):  # fmt: skip
                axes.fill_between(t, beyond, 1, step="post", color=colour, alpha=0.35, linewidth=0)
            axes.step(t, gain, where="post", color=INK, linewidth=0.9)
            axes.set_title(name, loc="left", fontsize=9)
        panels[0, 0].set_ylim(0.4, 1.6)
        panels[0, 0].set_yticks([0.5, 0.75, 1, 1.25, 1.5])
        for axes in panels[:, 0]:
            axes.set_ylabel("gain", fontsize=8)
        for axes in panels[-1]:
            axes.set_xlabel("time (s); a round trip without queue is 0.04 s")
    return figure
