"""Writes what criteria have shown: a page in HTML and Markdown, a picture and an experiment file for each criterion."""

from __future__ import annotations

import base64
import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from matplotlib.lines import Line2D

from dumbbell import _core, storage
from dumbbell.check.criteria import Measure
from dumbbell.check.evidence import Evidence, Missed, Verdict
from dumbbell.pages.writing import template
from dumbbell.plots.axes import plain_log_ticks
from dumbbell.plots.style import Look, Picture, appearance, caption, fitted, legend, looks
from dumbbell.printable import printable
from dumbbell.report import number

KIND = storage.Kind("evidence", ("report.md", "report.html", "numbers.csv"), lambda folder: None)

DPI = 72
"""Dots an inch: a dossier has some thirty pictures."""

WIDE = 30.0
"""Numbers that differ by more than this factor get a logarithmic axis."""

MOST_PANELS = 2

VERDICTS: tuple[Verdict, ...] = ("meets", "misses", "not judged")

NAMES = {"reno": "Reno", "cubic": "CUBIC"}
"""The baselines in sentences."""


@dataclass(frozen=True)
class Dossier:
    """What a page shows."""

    algorithm: str
    exact: str
    """The exact name of the algorithm."""
    evidences: Sequence[Evidence]
    repeat: int
    transport: str
    quick: bool

    @cached_property
    def sections(self) -> list[_Section]:
        """The criteria, in the order of the RFC."""
        return [_Section(one) for one in self.evidences]

    @property
    def version(self) -> str:
        """What has run it."""
        return _core.__version__

    @property
    def baselines(self) -> str:
        """Who stands beside it."""
        return " and ".join(NAMES[name] for name in NAMES if name != self.algorithm)

    @property
    def counts(self) -> dict[str, int]:
        """How many criteria have each verdict."""
        return {verdict: sum(one.verdict == verdict for one in self.evidences) for verdict in VERDICTS}


@dataclass(frozen=True)
class _Section:
    """A criterion on the page."""

    evidence: Evidence

    @property
    def anchor(self) -> str:
        return self.evidence.criterion.name

    @property
    def head(self) -> str:
        criterion = self.evidence.criterion
        return f"{criterion.section} {criterion.title}"

    @property
    def file(self) -> str:
        return f"{self.evidence.criterion.name}.toml"

    @property
    def picture(self) -> str:
        return f"{self.evidence.criterion.name}.png"

    @cached_property
    def drawn(self) -> bytes:
        """The picture, as PNG of few colours."""
        return drawn(self.evidence)

    @property
    def image(self) -> str:
        """The picture within a page."""
        return "data:image/png;base64," + base64.b64encode(self.drawn).decode("ascii")

    @property
    def verdict(self) -> str:
        """The verdict with how much of it."""
        missed, judged = self.evidence.missed, self.evidence.judged
        if not judged:
            return "not judged"
        return f"misses {len(missed)} of {judged}" if missed else f"meets {judged} of {judged}"

    @property
    def thresholds(self) -> list[str]:
        """What is asked of each number that is judged."""
        return [f"{one.title}: {one.says}" for one in self.evidence.criterion.measures if one.judgement is not None]

    @property
    def worst(self) -> list[str]:
        """Of each number that is not good enough the first point, and at how many."""
        texts = []
        for measure in self.evidence.criterion.measures:
            missed = [one for one in self.evidence.missed if one.measure is measure]
            if missed:
                texts.append(_missed(missed, self.heads))
        return texts

    @property
    def heads(self) -> list[str]:
        return list(self.evidence.criterion.heads.values())

    @property
    def measures(self) -> Sequence[Measure]:
        return self.evidence.criterion.measures

    @property
    def algorithms(self) -> list[str]:
        return self.evidence.algorithms

    @property
    def rows(self) -> list[tuple[tuple[str, ...], list[str]]]:
        """What each point is called, and its numbers, those of a measure beside each other."""
        evidence = self.evidence
        return [
            (
                words,
                [
                    text(evidence.at(name, words).median(place))
                    for place in range(len(self.measures))
                    for name in self.algorithms
                ],
            )
            for words in evidence.points
        ]


def _missed(missed: Sequence[Missed], heads: Sequence[str]) -> str:
    first = missed[0]
    beside = " and ".join(f"{text(value)} of {NAMES[name]}" for name, value in first.beside.items())
    where = ", ".join(f"{head} {word}" for head, word in zip(heads, first.words, strict=True))
    more = len(missed) - 1
    others = f"; so {'does' if more == 1 else 'do'} {more} more point{'s' * (more > 1)}" if more else ""
    name, unit = first.measure.name, first.measure.unit
    return f"At {where} it misses: {name} {text(first.value)} {unit}".rstrip() + f", beside {beside}{others}."


def text(value: float) -> str:
    """A number of a table."""
    return "never" if math.isinf(value) else number(value)


def drawn(evidence: Evidence) -> bytes:
    """The picture of a criterion, as PNG of few colours."""
    from PIL import Image

    with appearance(dpi=DPI):
        content = picture(evidence).encoded("png")
    image = Image.open(io.BytesIO(content)).convert("RGB")
    small = io.BytesIO()
    image.quantize(32, dither=Image.Dither.NONE).save(small, "png", optimize=True)
    return small.getvalue()


def picture(evidence: Evidence) -> Picture:
    """A dot for each algorithm at each point, the points below each other."""
    measures = list(enumerate(evidence.criterion.measures))[:MOST_PANELS]
    points = evidence.points
    style = {kind[0]: look for kind, look in looks([(name, name) for name in evidence.algorithms]).items()}
    heads = list(evidence.criterion.heads.values())
    with fitted(7.6, 1.1 + 0.27 * len(points), panels=len(measures)) as figure:
        panels = list(figure.subplots(1, len(measures), sharey=True, squeeze=False)[0])
        for axes, (place, measure) in zip(panels, measures, strict=True):
            values = {name: [evidence.at(name, words).median(place) for words in points] for name in style}
            finite = [value for one in values.values() for value in one if math.isfinite(value)]
            edge = 1.15 * max(finite, default=1.0)
            for row, _ in enumerate(points):
                here = [min(one[row], edge) for one in values.values() if not math.isnan(one[row])]
                if here:
                    axes.plot([min(here), max(here)], [row, row], color="#BBBBBB", linewidth=1, zorder=1)
            for name, one in values.items():
                _dots(axes, one, edge, style[name])
            positive = [value for value in finite if value > 0]
            if positive and len(positive) == len(finite) and max(positive) / min(positive) > WIDE:
                axes.set_xscale("log")
                plain_log_ticks(axes)
            else:
                axes.set_xlim(left=min(0.0, *finite) if finite else 0.0)
            axes.set_xlabel(caption(measure.title))
        panels[0].set_yticks(range(len(points)), [caption(", ".join(words)) for words in points])
        panels[0].set_ylim(len(points) - 0.5, -0.5)
        panels[0].set_ylabel(caption(", ".join(heads)))
        handles = [
            Line2D([], [], marker=look.marker, linestyle="", color=look.shown, label=caption(name))
            for name, look in style.items()
        ]
        legend(figure, handles)
    return figure


def _dots(axes: object, values: Sequence[float], edge: float, look: Look) -> None:
    rows = np.arange(len(values))
    places = np.array(values)
    for mask, face in ((np.isfinite(places), look.shown), (np.isposinf(places), "none")):
        axes.plot(  # type: ignore[attr-defined]
            np.minimum(places[mask], edge), rows[mask], marker=look.marker, linestyle="", color=look.shown,
            markerfacecolor=face, markersize=6, zorder=2,
        )  # fmt: skip


def numbers(evidences: Sequence[Evidence]) -> str:
    """All numbers as CSV: medians, and the lowest and the highest of the runs."""
    table = io.StringIO(newline="")
    rows = csv.writer(table, lineterminator="\n")
    rows.writerow(("criterion", "point", "algorithm", "measure", "unit", "median", "lowest", "highest", "runs"))
    for evidence in evidences:
        for place in evidence.places:
            for index, measure in enumerate(evidence.criterion.measures):
                low, high = place.span(index)
                spans = (f"{value:.6g}" for value in (place.median(index), low, high))
                where = "; ".join(place.words)
                rows.writerow(
                    (evidence.criterion.name, where, place.algorithm, measure.name, measure.unit, *spans,
                     len(place.numbers[index]))
                )  # fmt: skip
    return table.getvalue()


def render(dossier: Dossier, kind: str) -> str:
    """The page as ``md`` or ``html``."""
    return printable(template(f"evidence.{kind}").render(dossier=dossier, sections=dossier.sections))


def write(dossier: Dossier, folder: Path) -> list[Path]:
    """Writes pages, numbers, pictures and experiments into a folder, all or none; returns the paths of the pages.

    Raises:
        OutputError: It cannot be written, or somebody else's file is in its place.
    """
    files: dict[str, bytes] = {
        "report.md": render(dossier, "md").encode(),
        "report.html": render(dossier, "html").encode(),
        "numbers.csv": numbers(dossier.evidences).encode(),
    }
    for section in dossier.sections:
        files[section.picture] = section.drawn
        files[section.file] = section.evidence.experiment.encode()
    with storage.directory(folder, KIND, list(files)) as staging:
        for name, content in files.items():
            (staging / name).write_bytes(content)
    return [folder / "report.html", folder / "report.md"]
