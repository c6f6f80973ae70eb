"""Pictures. Each returns a matplotlib figure; ``draw`` writes what suits a result into a directory.

Pictures of one panel also draw into a panel of yours: ``result.plot.cdf("rtt_ms", ax=ax)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dumbbell.plots import distribution, metric, summary, timeseries, transfers
from dumbbell.plots.style import FORMATS, STYLES, Format, Picture, Style, appearance, check_labels, is_ours
from dumbbell.printable import file_name
from dumbbell.recorded import why_no_samples
from dumbbell.results import RESULT, SWEEP, SweepResult, separating_axes, setting_name, setting_text
from dumbbell.selection import only
from dumbbell.storage import OutputError, adding, write_file

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from dumbbell.results import Meta, Result

__all__ = [
    "FORMATS", "STYLES", "Format", "Picture", "ResultPlots", "Style", "SweepPlots", "appearance", "check_labels",
    "chosen", "draw", "left_out", "write", "write_alone",
]  # fmt: skip

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

    def query_times(self) -> Picture:
        """Query completion times of the incasts of `[[traffic]]`."""
        return transfers.query_times(self._result)

    def suitable(self) -> dict[str, Picture]:
        """The pictures that make sense for this run, by name."""
        pictures = {
            "tradeoff": (len(self._result.flows) > 1, self.tradeoff),
            "completions": (transfers.has_times(self._result.completions, "fct_s"), self.completions),
            "pages": (transfers.has_times(self._result.pages, "plt_s"), self.page_loads),
            "queries": (transfers.has_times(self._result.rounds, "qct_s"), self.query_times),
            "overview": (len(self._result.series) > 0, self.overview),
        }
        return {name: _drawn(name, draw) for name, (suits, draw) in pictures.items() if suits}


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
        repeats = 1 + max((point.repeat for point in self._sweep.points), default=0)
        titles = [f"the first of {repeats} repetitions"] if repeats > 1 else []
        runs = [self._sweep.load(point) for point in points]
        if len(runs) > 1 and any(len(run.flows) > 1 for run in runs):
            return timeseries.overviews(runs, [_settings(point) for point in points], "; ".join(titles))
        names = [
            ", ".join(f"{setting_name(axis)} {setting_text(point.settings[axis])}" for axis in axes) for point in points
        ]
        titles += ["each flow has the link to itself"] if len(runs) > 1 else []
        return timeseries.overview(runs, names, "; ".join(titles))

    def tradeoff(
        self,
        delay: str = "p95_rtt_ms",
        where: Where = NOWHERE,
        ax: Axes | None = None,
        panels: Sequence[str] | str = (),
    ) -> Picture:
        """Goodput against delay, a mark a flow and run; up and to the right is better.

        Of several settings the one with the most values lies along a line; the others have panels of their own.
        """
        return summary.tradeoff(self._only(where), self._axes, delay, ax, _words(panels))

    def loss_curve(
        self,
        axis: str = "path.loss",
        where: Where = NOWHERE,
        ax: Axes | None = None,
        panels: Sequence[str] | str = (),
    ) -> Picture:
        """Goodput against random loss, with the 95 % interval over repetitions."""
        return summary.loss_curve(self._only(where), self._axes, axis, ax, _words(panels))

    def metric(
        self,
        x: str,
        y: str = "goodput_mbps",
        by: Sequence[str] | str = (),
        where: Where = NOWHERE,
        ax: Axes | None = None,
        panels: Sequence[str] | str = (),
    ) -> Picture:
        """A metric over a swept setting, a line an algorithm, with the 95 % interval over repetitions as a band.

        Args:
            x: A swept setting, ``"path.buffer"`` or ``"buffer"``.
            y: A column of ``flows``, or ``"jain"``.
            by: What lines stand for: ``"cc"``, ``"label"``, swept settings. Settings that would be mixed are added.
            where: Values of settings that alone are drawn: ``{"rtt": "20ms"}``.
            ax: The panel of a figure of yours to draw into.
            panels: What has panels of its own, with shared axes: swept settings, ``"cc"``, ``"label"``.
        """
        return metric.metric(self._only(where), self._axes, x, y, _words(by), ax, _words(panels))

    def box(
        self,
        x: str,
        y: str = "goodput_mbps",
        by: Sequence[str] | str = (),
        where: Where = NOWHERE,
        ax: Axes | None = None,
        panels: Sequence[str] | str = (),
    ) -> Picture:
        """A metric of the runs of each value of a swept setting as boxes; arguments as of :meth:`metric`."""
        return distribution.box(self._only(where), self._axes, x, y, _words(by), ax, _words(panels))

    def cdf(
        self,
        y: str = "goodput_mbps",
        by: Sequence[str] | str = (),
        where: Where = NOWHERE,
        ax: Axes | None = None,
        panels: Sequence[str] | str = (),
    ) -> Picture:
        """The distribution of a metric over runs, a line an algorithm; ``by`` tells settings apart, ``panels`` too."""
        parts = distribution.samples_of_sweep(self._only(where), self._axes, y, _words(by), _words(panels))
        return distribution.cdfs(parts, y, ax)

    def heat_map(
        self,
        x: str,
        by: str,
        y: str = "goodput_mbps",
        where: Where = NOWHERE,
        ax: Axes | None = None,
        panels: Sequence[str] | str = (),
    ) -> Picture:
        """A metric over two swept settings as a map; what a cell would mix, as algorithms, has panels of its own."""
        who = ", ".join(where.values())
        return metric.heat_map(self._only(where), self._axes, x, by, y, who, ax, _words(panels))

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
        numeric = [axis for axis in separating_axes(self._flows, self._axes) if not axis.endswith(".cc")]
        along = max(numeric, key=lambda axis: self._flows[axis].n_unique(), default="")
        others = separating_axes(self._flows, numeric, [along])
        pictures = self._over_settings(along, others) if others else {"tradeoff": _drawn("tradeoff", self.tradeoff)}
        if self._sweep.folder is not None and len(self._firsts()) <= MAX_OVERLAID and self._has_series():
            try:
                pictures["overview"] = _drawn("overview", self.overview)
            except ValueError:
                # More lines than fit beside their legend; whoever asks for some of them gets them.
                if not pictures:
                    raise
        loss = next((axis for axis in self._axes if axis.endswith("loss")), None)
        if loss is not None and not others:
            pictures["loss-curve"] = _drawn("loss-curve", lambda: self.loss_curve(loss))
        return pictures

    def _over_settings(self, along: str, others: Sequence[str]) -> dict[str, Picture]:
        """Goodput and delay over a setting, a panel for each value of the others."""
        try:
            return {
                f"{y}-{setting_name(along)}-panels={','.join(map(setting_name, others))}": self.metric(
                    along, y, panels=others
                )
                for y in ("goodput_mbps", "p95_rtt_ms")
                if self._flows[y].null_count() < self._flows.height
            }
        except ValueError:
            # More panels or lines than can be read; whoever asks for some of them gets them.
            return {}


def _drawn(name: str, draw: Callable[[], Picture]) -> Picture:
    """A picture; one that cannot be drawn is named."""
    try:
        return draw()
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _settings(point: Meta) -> str:
    """What a run's swept settings are."""
    return ", ".join(
        text if axis.endswith("cc") else f"{setting_name(axis)} {text}"
        for axis, setting in point.settings.items()
        if (text := str(setting_text(setting)))
    )


def _words(given: Sequence[str] | str) -> list[str]:
    return [word.strip() for word in given.split(",") if word.strip()] if isinstance(given, str) else list(given)


def draw(result: Result | SweepResult, folder: Path, formats: Sequence[Format] = FORMATS) -> list[Path]:
    """Writes the pictures that suit a result into its folder, and returns their paths.

    Raises:
        OutputError: A picture cannot be written, or a file that Dumbbell has not written is in its place.
    """
    return write(result, folder, formats, result.plot.suitable())


def left_out(result: Result | SweepResult) -> str | None:
    """Which picture a run of flows lacks among those that suit it, and why."""
    if isinstance(result, SweepResult) or not len(result.flows):
        return None
    why = why_no_samples(result)
    return None if why is None else f"no picture over time, since there is no time series: {why}"


def chosen(
    result: Result | SweepResult, pictures: Mapping[str, Picture] | None, series: Sequence[str]
) -> dict[str, Picture]:
    """``pictures``, by default those that suit a result, and one of each column in ``series``.

    Raises:
        ValueError: ``series`` names a column that there is not, or the result is of a sweep.
    """
    drawn = dict(result.plot.suitable() if pictures is None else pictures)
    for column in series:
        if isinstance(result, SweepResult):
            raise ValueError("time series need a single run: dumbbell extract DIR POINT --out PLACE writes one")
        drawn[column] = result.plot.series(column)
    return drawn


def write(
    result: Result | SweepResult, folder: Path, formats: Sequence[Format], pictures: Mapping[str, Picture]
) -> list[Path]:
    """Writes pictures of a result into its folder, and returns their paths.

    They join the list of files in the folder's marker.
    """
    stems = {file_name(name): picture for name, picture in pictures.items()}
    names = [f"{stem}.{kind}" for stem in stems for kind in formats]
    with adding(folder, SWEEP if isinstance(result, SweepResult) else RESULT, names):
        return [path for stem, figure in stems.items() for path in figure.write(folder / stem, formats)]


def write_alone(picture: Picture, path: Path, kind: Format) -> None:
    """Writes a picture to a file of any name; one that is there is replaced if it is a picture of Dumbbell's.

    Raises:
        OutputError: It cannot be written, or something else is there.
    """
    if path.exists() and not is_ours(path):
        raise OutputError(f"{path}: there is a file that is no picture of Dumbbell's; remove it, or name another one")
    write_file(path, picture.encoded(kind))
