"""How an algorithm looks, and how a picture does.

Colours are Okabe and Ito's, which people with any common colour blindness can tell apart; each algorithm also has a
line style and a marker of its own, so that a print in grey stays readable. Familiar algorithms look the same in every
picture; the others look the same where they can, and never like another one in the same picture.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import matplotlib as mpl
import numpy as np
from matplotlib import rcsetup
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from dumbbell.printable import one_line
from dumbbell.storage import write_file

Format = Literal["png", "svg", "pdf"]
FORMATS: tuple[Format, ...] = ("png", "svg", "pdf")

Style = Literal["plain", "paper", "slides", "dark"]
STYLES: tuple[Style, ...] = ("plain", "paper", "slides", "dark")

INK = "#333333"
"""Reference lines: capacity, base RTT, BDP."""

_DASHES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (4, 1.5, 1, 1.5)), (0, (1.5, 1)), (0, (8, 1.5, 1, 1.5, 1, 1.5)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_FAMILIAR = ("bbr", "cubic", "reno", "bbr2", "bbr3", "vegas", "westwood")

HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo", "+++")
"""Areas differ by these where colours are grey."""

_PLACES = re.compile(rb' (?:d|x|y)="[^"]*"')
_LONG = re.compile(rb"-?\d+\.\d{3,}")


@dataclass(frozen=True)
class Look:
    """Colour, line style and marker."""

    colour: str
    dashes: Any
    marker: str

    def line(self, **extra: Any) -> dict[str, Any]:
        """Keyword arguments of ``Axes.plot``."""
        return {"color": self.shown, "linestyle": self.dashes} | extra

    @property
    def shown(self) -> str:
        """The colour, which is white in place of black on a dark ground."""
        return "#FFFFFF" if self.colour == "#000000" and _appearance.get().style == "dark" else self.colour


def look(algorithm: str, variant: int = 0) -> Look:
    """The look of an algorithm; variants of it in the same picture keep its colour."""
    if algorithm in _FAMILIAR:
        index = _FAMILIAR.index(algorithm)
        chosen = Look(_COLOURS[index], _DASHES[index % len(_DASHES)], _MARKERS[index])
    else:
        # Stable across pictures, processes and versions, whatever else is drawn.
        key = zlib.crc32(algorithm.encode())
        chosen = Look(
            _COLOURS[key % len(_COLOURS)], _DASHES[key // 7 % len(_DASHES)], _MARKERS[key // 35 % len(_MARKERS)]
        )
    return _variant(chosen, variant)


def _variant(base: Look, number: int) -> Look:
    """The same colour with other dashes and another marker."""
    dashes = _DASHES[(_DASHES.index(base.dashes) + number) % len(_DASHES)]
    return replace(base, dashes=dashes, marker=_MARKERS[(_MARKERS.index(base.marker) + number) % len(_MARKERS)])


def looks(kinds: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Look]:
    """The looks of the lines of one picture, each an algorithm and a label: no two are the same, not even in grey.

    Labels of one algorithm share its colour. Two algorithms share one only when there are more than colours.
    """
    algorithms = list(dict.fromkeys(algorithm for algorithm, _ in kinds))
    bases: dict[str, Look] = {name: look(name) for name in algorithms if name in _FAMILIAR}
    for name in algorithms:
        if name not in bases:
            bases[name] = _free(look(name), list(bases.values()))
    chosen: dict[tuple[str, str], Look] = {}
    for kind in dict.fromkeys(kinds):
        own = sum(known[0] == kind[0] for known in chosen)
        # The first of an algorithm is its base, which others have to leave alone.
        grey = {(one.dashes, one.marker) for one in (*bases.values(), *chosen.values())}
        variants = [_variant(bases[kind[0]], number) for number in range(len(_DASHES) * len(_MARKERS))]
        free = (one for one in variants if own and (one.dashes, one.marker) not in grey)
        chosen[kind] = next(free, variants[own % len(variants)])
    return chosen


def distinct(names: Sequence[str]) -> dict[str, Look]:
    """The looks of things that are no algorithms, told apart by their order."""
    return {name: numbered(index) for index, name in enumerate(dict.fromkeys(names))}


def numbered(index: int) -> Look:
    """The look of the thing of this number, from 0."""
    return Look(_COLOURS[index % len(_COLOURS)], _DASHES[index % len(_DASHES)], _MARKERS[index % len(_MARKERS)])


def _free(wanted: Look, taken: Sequence[Look]) -> Look:
    """``wanted``, or what differs from all that are ``taken``, in colour, marker and dashes where it can."""

    def first(value: Any, values: Sequence[Any], used: Sequence[Any]) -> Any:
        start = values.index(value)
        ordered = [*values[start:], *values[:start]]
        return min(ordered, key=lambda candidate: used.count(candidate))

    return Look(
        first(wanted.colour, _COLOURS, [one.colour for one in taken]),
        first(wanted.dashes, _DASHES, [one.dashes for one in taken]),
        first(wanted.marker, _MARKERS, [one.marker for one in taken]),
    )


def named(algorithm: str, label: str) -> str:
    """The name of a line in a legend, which says the algorithm also where flows have labels of their own."""
    return label if algorithm in label else f"{label} ({algorithm})"


def caption(words: str) -> str:
    """Words of somebody else as a text of a picture: a dollar is a dollar, and starts no formula."""
    return one_line(words).replace("$", r"\$")


class Picture(Figure):
    """A matplotlib figure that notebooks show and that saves itself whole or not at all."""

    def savefig(self, *arguments: Any, **named: Any) -> None:
        """As matplotlib's, with letters as TrueType in PDF and PostScript, which publishers ask for."""
        with mpl.rc_context({"pdf.fonttype": 42, "ps.fonttype": 42}):
            super().savefig(*arguments, **named)

    def _repr_png_(self) -> bytes:
        return self.encoded("png")

    def encoded(self, format: Format) -> bytes:  # noqa: A002 - matplotlib's own word
        """The picture as a file's content, the same bytes for the same data."""
        buffer = io.BytesIO()
        dates = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
        with mpl.rc_context({"svg.hashsalt": "dumbbell"}):
            self.savefig(buffer, format=format, dpi=150, metadata=dates[format])
        return _shortened(buffer.getvalue()) if format == "svg" else buffer.getvalue()

    def write(self, stem: Path, formats: Sequence[Format] = FORMATS) -> list[Path]:
        """Writes ``stem`` in each format and returns the paths.

        All have the layout of the first, which takes a third of the time to find.
        """
        paths = []
        layout = self.get_layout_engine()
        try:
            for kind in formats:
                path = stem.with_name(f"{stem.name}.{kind}")
                write_file(path, self.encoded(kind))
                paths.append(path)
                self.set_layout_engine("none")
        finally:
            self.set_layout_engine(layout)
        return paths


def _shortened(svg: bytes) -> bytes:
    """The drawing with places to a hundredth of a point in place of a millionth."""
    # Only places: a transformation scales letters by factors that need every digit.
    return _PLACES.sub(lambda place: _LONG.sub(lambda number: b"%.2f" % float(number[0]), place[0]), svg)


@dataclass(frozen=True)
class Appearance:
    """What a whole picture looks like, where it differs from the house style."""

    size: tuple[float, float] | None = None
    """Width and height in inches; default what suits the picture."""
    font_size: float | None = None
    """Points."""
    style: Style = "plain"


_STYLES: dict[Style, dict[str, Any]] = {
    "plain": {},
    "paper": {"font.size": 8, "lines.linewidth": 1.0, "lines.markersize": 4, "legend.handlelength": 2.6},
    "slides": {"font.size": 16, "lines.linewidth": 2.6, "lines.markersize": 9, "axes.linewidth": 1.4},
    "dark": {
        "figure.facecolor": "#1B1B1B", "axes.facecolor": "#1B1B1B", "savefig.facecolor": "#1B1B1B",
        "text.color": "#E6E6E6", "axes.labelcolor": "#E6E6E6", "axes.edgecolor": "#E6E6E6",
        "xtick.color": "#E6E6E6", "ytick.color": "#E6E6E6", "grid.color": "#444444",
    },
}  # fmt: skip
_SIZES: dict[Style, tuple[float, float]] = {"paper": (3.5, 2.4), "slides": (10, 5.6)}
"""Of pictures of one panel: the column of a journal, a slide."""

_HOUSE_STYLE = Appearance()
_appearance: ContextVar[Appearance] = ContextVar("appearance", default=_HOUSE_STYLE)


@contextmanager
def appearance(
    size: tuple[float, float] | None = None, font_size: float | None = None, style: Style = "plain"
) -> Iterator[None]:
    """Pictures that are drawn inside the block look like this.

    Args:
        size: Width and height in inches.
        font_size: Points.
        style: ``"paper"`` (small, for a column of a journal), ``"slides"`` (large), ``"dark"``.
    """
    if style not in STYLES:
        raise ValueError(f"no style {style!r}; there are {', '.join(STYLES)}")
    token = _appearance.set(Appearance(size, font_size, style))
    try:
        yield
    finally:
        _appearance.reset(token)


@contextmanager
def picture(width: float = 7.0, height: float = 4.2, *, panels: int = 1) -> Iterator[Picture]:
    """A new picture (inches) in the house style, which applies inside the block."""
    wanted = _appearance.get()
    base = wanted.font_size or _STYLES[wanted.style].get("font.size", 9)
    rules: dict[Any, Any] = {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#DDDDDD",
        "grid.linewidth": 0.6,
        "axes.prop_cycle": rcsetup.cycler(color=_COLOURS),
        "lines.linewidth": 1.3,
        "lines.markersize": 5,
        "legend.frameon": False,
        "legend.handlelength": 3.2,
        "legend.columnspacing": 1.6,
        **_STYLES[wanted.style],
        "font.size": base,
        "axes.titlesize": base * 10 / 9,
        "axes.labelsize": base,
    }
    if wanted.style in _SIZES and panels == 1:
        width, height = _SIZES[wanted.style]
    elif wanted.style in _SIZES:
        # As wide, and as many times higher as it takes.
        width, height = _SIZES[wanted.style][0], _SIZES[wanted.style][0] * height / width
    with mpl.rc_context(rules):
        figure = Picture(figsize=wanted.size or (width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        # Panels below each other have numbers of different widths.
        figure.align_ylabels()


@contextmanager
def one_panel(ax: Axes | None, width: float = 6.4, height: float = 4.2) -> Iterator[tuple[Picture, Axes]]:
    """A picture with one panel, or the panel ``ax`` of somebody else's figure, to draw into."""
    if ax is None:
        with picture(width, height) as figure:
            yield figure, figure.subplots()
    else:
        yield cast(Picture, ax.get_figure()), ax


def ink() -> str:
    """The colour of reference lines and of words beside marks: capacity, base RTT, BDP."""
    return "#CCCCCC" if _appearance.get().style == "dark" else INK


def small() -> float:
    """The size of words beside marks, in points."""
    return float(mpl.rcParams["font.size"]) * 8 / 9


def ink_on(shades: AxesImage, value: float) -> str:
    """Black or white, whichever has the higher contrast, as WCAG counts it, on the colour of a value in a map."""
    colour = shades.to_rgba(np.array([value]))[0, :3]
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ (0.2126, 0.7152, 0.0722))
    # There white's contrast, 1.05 / (luminance + 0.05), and black's, (luminance + 0.05) / 0.05, are equal.
    return "black" if luminance > (1.05 * 0.05) ** 0.5 - 0.05 else "white"


def legend(figure: Figure, handles: Sequence[Any], title: str | None = None, ax: Axes | None = None) -> None:
    """One legend above all panels, outside of the data, in as many columns as fit, below the picture's title.

    In somebody else's figure, whose panel ``ax`` is drawn into, it belongs to the panel.
    """
    if ax is not None:
        ax.legend(handles=list(handles), title=title, fontsize=small())
        return
    widest = max((len(handle.get_label()) for handle in handles), default=0)
    # An entry is about seven letters of sample and gap besides its text, and an inch holds about twelve letters of nine
    # points.
    letters = 12 * 9 / float(mpl.rcParams["font.size"])
    most = max(1, int(letters * figure.get_figwidth() / (widest + 7)))
    # As many rows as that needs, but all of about the same length.
    rows = -(-len(handles) // most)
    columns = -(-len(handles) // max(rows, 1))
    figure.legend(handles=list(handles), loc="outside upper center", ncols=max(1, columns), title=title)
