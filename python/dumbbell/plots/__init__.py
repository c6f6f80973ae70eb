"""Pictures. Each returns a matplotlib figure; ``draw`` writes what suits a result into a directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.plots import summary, timeseries, transfers
from dumbbell.plots.style import FORMATS, Format, Picture
from dumbbell.results import RESULT, SWEEP, SweepResult, separating_axes, setting_name, setting_text
from dumbbell.storage import adding

if TYPE_CHECKING:
    from dumbbell.results import Meta, Result

__all__ = ["FORMATS", "Format", "Picture", "ResultPlots", "SweepPlots", "draw"]

MAX_OVERLAID = 3
"""Up to this many runs can be told apart when they lie over each other."""


class ResultPlots:
    """Pictures of one run."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def overview(self) -> Picture:
        """Throughput, RTT, queue, and cwnd with in-flight data against the BDP, on one time axis."""
        return timeseries.overview([self._result])

    def series(self, column: str) -> Picture:
        """One column of ``series`` over time, a line a flow."""
        return timeseries.series(self._result, column)

    def tradeoff(self, delay: str = "p95_rtt_ms") -> Picture:
        """Goodput against delay, a mark a flow; up and to the right is better."""
        return summary.tradeoff(self._result.flows.to_polars(), delay=delay)

    def completions(self) -> Picture:
        """Completion times of the transfers of `[[traffic]]`, and their slowdown by size."""
        return transfers.completions(self._result)

    def suitable(self) -> dict[str, Picture]:
        """The pictures that make sense for this run, by name."""
        pictures = {"tradeoff": self.tradeoff()} if len(self._result.flows) > 1 else {}
        if len(self._result.completions):
            pictures["completions"] = self.completions()
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
        return timeseries.overview([self._sweep.load(point) for point in points], names)

    def tradeoff(self, delay: str = "p95_rtt_ms") -> Picture:
        """Goodput against delay, a mark a flow and run; up and to the right is better."""
        return summary.tradeoff(self._flows, self._axes, delay)

    def loss_curve(self, axis: str = "path.loss") -> Picture:
        """Goodput against random loss, with the 95 % interval over repetitions."""
        return summary.loss_curve(self._flows, self._axes, axis)

    def _firsts(self) -> list[Meta]:
        return [point for point in self._sweep.points if point.repeat == 0]

    def suitable(self) -> dict[str, Picture]:
        """The pictures that make sense for this sweep, by name."""
        if not len(self._sweep.flows):
            # Traffic alone.
            return {}
        pictures = {"tradeoff": self.tradeoff()}
        if self._sweep.folder is not None and len(self._firsts()) <= MAX_OVERLAID:
            pictures["overview"] = self.overview()
        loss = next((axis for axis in self._axes if axis.endswith("loss")), None)
        if loss is not None:
            pictures["loss-curve"] = self.loss_curve(loss)
        return pictures


def draw(
    result: Result | SweepResult, folder: Path, formats: Sequence[Format] = FORMATS, series: Sequence[str] = ()
) -> list[Path]:
    """Writes the pictures that suit a result, and one of each column in ``series``, into its folder.

    Returns their paths. They join the list of files in the folder's marker.

    Raises:
        ValueError: ``series`` names a column that there is not, or the result is of a sweep.
        OutputError: A picture cannot be written, or a file that Dumbbell has not written is in its place.
    """
    pictures = result.plot.suitable()
    for column in series:
        if isinstance(result, SweepResult):
            raise ValueError("time series need a single run; see the directories under points/")
        pictures[column] = result.plot.series(column)
    names = [f"{name}.{kind}" for name in pictures for kind in formats]
    with adding(folder, SWEEP if isinstance(result, SweepResult) else RESULT, names):
        return [path for name, figure in pictures.items() for path in figure.write(folder / name, formats)]
