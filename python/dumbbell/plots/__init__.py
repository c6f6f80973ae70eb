"""Pictures. Each returns a matplotlib figure; ``draw`` writes what suits a result into a directory.

Pictures of one panel also draw into a panel of yours: ``result.plot.cdf("rtt_ms", ax=ax)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dumbbell.plots import distribution, metric, summary, timeseries, transfers
from dumbbell.plots.style import FORMATS, STYLES, Format, Picture, Style, appearance
from dumbbell.printable import file_name
from dumbbell.results import RESULT, SWEEP, SweepResult, separating_axes, setting_name, setting_text
from dumbbell.selection import only
from dumbbell.storage import adding

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from dumbbell.results import Meta, Result

__all__ = ["FORMATS", "STYLES", "Format", "Picture", "ResultPlots", "Style", "SweepPlots", "appearance", "draw"]

Where: TypeAlias = Mapping[str, str]
"""Values of settings, of ``cc`` or of ``label`` that alone are drawn."""

NOWHERE: Where = {}

MAX_OVERLAID = 3
"""Up to this many runs can be told apart when they lie over each other."""


class ResultPlots:
    """Pictures of one run."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def overview(self) -> Picture:
        """Throughput, RTT, queue, and cwnd with in-flight data against the BDP, on one time axis."""
        return timeseries.overview([self._result])

    def series(self, column: str, ax: Axes | None = None) -> Picture:
        """One column of ``series`` over time, a line a flow."""
        return timeseries.series(self._result, column, ax)

    def shares(self, column: str = "received_mbps", ax: Axes | None = None) -> Picture:
        """What each flow has of the whole, stacked over time."""
        return timeseries.shares(self._result, column, ax)

    def cdf(self, column: str = "rtt_ms", ax: Axes | None = None) -> Picture:
        """The distribution of a column of ``series``, a line a label."""
        return distribution.cdf(distribution.samples_of_run(self._result, column), column, ax)

    def tradeoff(self, delay: str = "p95_rtt_ms", ax: Axes | None = None) -> Picture:
        """Goodput against delay, a mark a flow; up and to the right is better."""
        return summary.tradeoff(self._result.flows.to_polars(), delay=delay, ax=ax)

    def completions(self) -> Picture:
        """Completion times of the transfers of `[[traffic]]`, and their slowdown by size."""
        return transfers.completions(self._result)

    def page_loads(self) -> Picture:
        """Load times of the web pages of `[[traffic]]`."""
        return transfers.page_loads(self._result)

    def suitable(self) -> dict[str, Picture]:
        """The pictures that make sense for this run, by name."""
        pictures = {"tradeoff": self.tradeoff()} if len(self._result.flows) > 1 else {}
        if len(self._result.completions):
            pictures["completions"] = self.completions()
        if len(self._result.pages):
            pictures["pages"] = self.page_loads()
        if len(self._result.series):
            pictures["overview"] = self.overview()
        return pictures


class SweepPlots:
    """Pictures of a sweep."""

    def __init__(self, sweep: SweepResult) -> None:
        self._sweep = sweep
        self._flows = sweep.flows.to_polars()
        self._axes = sweep.axes

    def overview(self) -> Picture:
        """The first repetition of every point, over each other on one time axis; needs the sweep's directory."""
        points = self._firsts()
        axes = separating_axes(self._flows, self._axes)
        names = [
            ", ".join(f"{setting_name(axis)} {setting_text(point.settings[axis])}" for axis in axes) for point in points
        ]
        repeats = 1 + max((point.repeat for point in self._sweep.points), default=0)
        title = f"the first of {repeats} repetitions" if repeats > 1 else ""
        return timeseries.overview([self._sweep.load(point) for point in points], names, title)

    def tradeoff(self, delay: str = "p95_rtt_ms", where: Where = NOWHERE, ax: Axes | None = None) -> Picture:
        """Goodput against delay, a mark a flow and run; up and to the right is better."""
        return summary.tradeoff(self._only(where), self._axes, delay, ax)

    def loss_curve(self, axis: str = "path.loss", where: Where = NOWHERE, ax: Axes | None = None) -> Picture:
        """Goodput against random loss, with the 95 % interval over repetitions."""
        return summary.loss_curve(self._only(where), self._axes, axis, ax)

    def metric(
        self,
        x: str,
        y: str = "goodput_mbps",
        by: Sequence[str] | str = (),
        where: Where = NOWHERE,
        ax: Axes | None = None,
    ) -> Picture:
        """A metric over a swept setting, a line an algorithm, with the 95 % interval over repetitions as a band.

        Args:
            x: A swept setting, ``"path.buffer"`` or ``"buffer"``.
            y: A column of ``flows``, or ``"jain"``.
            by: What lines stand for: ``"cc"``, ``"label"``, swept settings. Settings that would be mixed are added.
            where: Values of settings that alone are drawn: ``{"rtt": "20ms"}``.
            ax: The panel of a figure of yours to draw into.
        """
        return metric.metric(self._only(where), self._axes, x, y, _words(by), ax)

    def box(
        self,
        x: str,
        y: str = "goodput_mbps",
        by: Sequence[str] | str = (),
        where: Where = NOWHERE,
        ax: Axes | None = None,
    ) -> Picture:
        """A metric of the runs of each value of a swept setting as boxes; arguments as of :meth:`metric`."""
        return distribution.box(self._only(where), self._axes, x, y, _words(by), ax)

    def cdf(
        self,
        y: str = "goodput_mbps",
        by: Sequence[str] | str = (),
        where: Where = NOWHERE,
        ax: Axes | None = None,
    ) -> Picture:
        """The distribution of a metric over runs, a line an algorithm; ``by`` tells settings apart."""
        samples = distribution.samples_of_sweep(self._only(where), self._axes, y, _words(by))
        return distribution.cdf(samples, y, ax)

    def heat_map(
        self,
        x: str,
        by: str,
        y: str = "goodput_mbps",
        where: Where = NOWHERE,
        ax: Axes | None = None,
    ) -> Picture:
        """A metric over two swept settings as a map, of all flows or, with ``where={"cc": "bbr"}``, of some."""
        return metric.heat_map(self._only(where), self._axes, x, by, y, ", ".join(where.values()), ax)

    def _only(self, where: Where) -> pl.DataFrame:
        return only(self._flows, self._axes, where)

    def _has_series(self) -> bool:
        return all(len(self._sweep.load(point).series) for point in self._firsts())

    def _firsts(self) -> list[Meta]:
        return [point for point in self._sweep.points if point.repeat == 0]

    def suitable(self) -> dict[str, Picture]:
        """The pictures that make sense for this sweep, by name."""
        if not len(self._sweep.flows):
            # Traffic alone.
            return {}
        pictures = {"tradeoff": self.tradeoff()}
        if self._sweep.folder is not None and len(self._firsts()) <= MAX_OVERLAID and self._has_series():
            pictures["overview"] = self.overview()
        loss = next((axis for axis in self._axes if axis.endswith("loss")), None)
        if loss is not None:
            pictures["loss-curve"] = self.loss_curve(loss)
        return pictures


def _words(given: Sequence[str] | str) -> list[str]:
    return [word.strip() for word in given.split(",")] if isinstance(given, str) else list(given)


def draw(
    result: Result | SweepResult,
    folder: Path,
    formats: Sequence[Format] = FORMATS,
    series: Sequence[str] = (),
    pictures: Mapping[str, Picture] | None = None,
) -> list[Path]:
    """Writes ``pictures``, by default those that suit a result, and one of each column in ``series``, into its folder.

    Returns their paths. They join the list of files in the folder's marker.

    Raises:
        ValueError: ``series`` names a column that there is not, or the result is of a sweep.
        OutputError: A picture cannot be written, or a file that Dumbbell has not written is in its place.
    """
    drawn = dict(result.plot.suitable() if pictures is None else pictures)
    for column in series:
        if isinstance(result, SweepResult):
            raise ValueError("time series need a single run: dumbbell extract DIR POINT --out PLACE writes one")
        drawn[column] = result.plot.series(column)
    drawn = {file_name(name): picture for name, picture in drawn.items()}
    names = [f"{name}.{kind}" for name in drawn for kind in formats]
    with adding(folder, SWEEP if isinstance(result, SweepResult) else RESULT, names):
        return [path for name, figure in drawn.items() for path in figure.write(folder / name, formats)]
