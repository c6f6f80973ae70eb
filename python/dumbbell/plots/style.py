"""How an algorithm looks, and how a picture does.

Colours are Okabe and Ito's, which people with any common colour blindness can tell apart; each algorithm also has a
line style and a marker of its own, so that a print in grey stays readable. Familiar algorithms look the same in every
picture; the others look the same where they can, and never like another one in the same picture.
"""

from __future__ import annotations

import io
import re
import textwrap
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager, rcsetup
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import FixedFormatter

from dumbbell.plots.fit import LEAST_LETTERS, NAME, fit
from dumbbell.printable import one_line
from dumbbell.storage import write_file

Format = Literal["png", "svg", "pdf"]
FORMATS: tuple[Format, ...] = ("png", "svg", "pdf")

SOFTWARE = "Dumbbell"
"""Who has drawn a picture, as its file says."""

DPI = 150
"""Dots an inch in PNG where nothing else is asked for."""

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
    return varied(chosen, variant)


def varied(base: Look, number: int) -> Look:
    """A look of that colour with other dashes and another marker."""
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
        variants = [varied(bases[kind[0]], number) for number in range(len(_DASHES) * len(_MARKERS))]
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

    def ordered(value: Any, values: Sequence[Any]) -> list[Any]:
        start = values.index(value)
        return [*values[start:], *values[:start]]

    def used(one: Look) -> tuple[bool, int, int, int]:
        alike = (
            sum(one.colour == other.colour for other in taken),
            sum(one.dashes == other.dashes for other in taken),
            sum(one.marker == other.marker for other in taken),
        )
        return one in taken, *alike

    whole = product(ordered(wanted.colour, _COLOURS), ordered(wanted.dashes, _DASHES), ordered(wanted.marker, _MARKERS))
    return min((Look(*parts) for parts in whole), key=used)


def named(algorithm: str, label: str) -> str:
    """The name of a line in a legend, which says the algorithm also where flows have labels of their own."""
    return label if algorithm in label else f"{label} ({algorithm})"


def caption(words: str) -> str:
    """Words of somebody else as a text of a picture: a dollar starts no formula; a letter that no font has is named."""
    known = _letters(str(_appearance.get().font or ""))
    shown = "".join(letter if ord(letter) in known else f"\\u{ord(letter):04x}" for letter in one_line(words))
    return shown.replace("$", r"\$")


@cache
def _letters(font: str) -> frozenset[int]:
    """The letters that a font or the house's own one has."""
    families = [font, "DejaVu Sans"] if font else ["DejaVu Sans"]
    places = (font_manager.findfont(family) for family in families)
    return frozenset(code for place in places for code in font_manager.get_font(place).get_charmap())


Place = Literal["top", "bottom", "right", "none"]
PLACES: tuple[Place, ...] = ("top", "bottom", "right", "none")


class Entries:
    """The legend of a whole picture, outside of its panels, which can be laid out anew."""

    _SPOTS: Mapping[Place, Any] = {
        "top": "outside upper center",
        "bottom": "outside lower center",
        "right": "outside right upper",
    }

    def __init__(self, figure: Figure, handles: Sequence[Any], title: str | None, place: Place) -> None:
        self._figure = figure
        self._handles = list(handles)
        self._title = title
        self._place = place
        self._size = float(mpl.rcParams["font.size"])
        self._columns = 1 if place == "right" else self._guess()
        self._draw()

    def _guess(self) -> int:
        """In how many columns the entries fit, as far as that can be told before they are drawn."""
        widest = max((len(handle.get_label()) for handle in self._handles), default=0)
        # An entry is about seven letters of sample and gap besides its text, and an inch holds about twelve letters of
        # nine points.
        most = max(1, int(12 * 9 / self._size * self._figure.get_figwidth() / (widest + 7)))
        return self._even(most)

    def _even(self, most: int) -> int:
        """As many columns as give as few rows, all of about the same length."""
        rows = -(-len(self._handles) // most)
        return max(1, -(-len(self._handles) // max(rows, 1)))

    def _draw(self) -> None:
        for old in list(self._figure.legends):
            old.remove()
        if self._place == "none":
            return
        self._figure.legend(
            handles=self._handles,
            loc=self._SPOTS[self._place],
            ncols=self._columns,
            title=self._title,
            fontsize=self._size,
            title_fontsize=max(LEAST_LETTERS, self._size * 8 / 9),
        )

    def narrower(self) -> bool:
        """Takes fewer columns, or breaks the lines of long entries; whether that changed anything."""
        if self._columns > 1:
            self._columns = self._even(self._columns - 1)
        else:
            letters = max(12, int(12 * 9 / self._size * self._figure.get_figwidth()) - 8)
            texts = [textwrap.fill(handle.get_label(), letters) for handle in self._handles]
            if texts == [handle.get_label() for handle in self._handles]:
                return False
            for handle, text in zip(self._handles, texts, strict=True):
                handle.set_label(text)
        self._draw()
        return True

    def smaller(self, factor: float) -> None:
        """Makes letters smaller."""
        self._size = max(LEAST_LETTERS, factor * self._size)
        self._draw()


class Picture(Figure):
    """A matplotlib figure that notebooks show and that saves itself whole or not at all."""

    entries: Entries | None = None
    """Its legend."""
    rules: Mapping[Any, Any] = MappingProxyType({})
    """matplotlib's settings, which also decide how many ticks an axis has whenever it is laid out."""

    def savefig(self, *arguments: Any, **named: Any) -> None:
        """As matplotlib's, with letters as TrueType in PDF and PostScript, which publishers ask for."""
        with mpl.rc_context({**self.rules, "pdf.fonttype": 42, "ps.fonttype": 42}):
            super().savefig(*arguments, **named)

    def _repr_png_(self) -> bytes:
        return self.encoded("png")

    def encoded(self, format: Format) -> bytes:  # noqa: A002 - matplotlib's own word
        """The picture as a file's content, the same bytes for the same data."""
        buffer = io.BytesIO()
        named = {"png": {"Software": SOFTWARE}, "svg": {"Date": None, "Creator": SOFTWARE}}
        named["pdf"] = {"CreationDate": None, "Creator": SOFTWARE}
        with mpl.rc_context({"svg.hashsalt": "dumbbell"}):
            self.savefig(buffer, format=format, metadata=named[format])
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


def is_ours(path: Path) -> bool:
    """Whether a file says that it is a picture of Dumbbell's."""
    mark = SOFTWARE.encode()
    signs = (b"Software\x00" + mark, b"<dc:title>" + mark, b"(" + mark + b")")
    content = path.read_bytes() if path.is_file() else b""
    return any(sign in content for sign in signs)


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
    font: str | None = None
    """The family of letters."""
    dpi: float | None = None
    """Dots an inch in PNG."""
    title: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    """What is written in place of something: of the axes ``x`` and ``y``, and of entries of the legend."""
    log: frozenset[str] = frozenset()
    """Axes, ``x`` and ``y``, that are logarithmic."""
    ylim: tuple[float | None, float | None] | None = None
    legend: Place = "top"
    entries: dict[str, None] = field(default_factory=dict)
    """What the legends of pictures that were drawn said before ``labels`` stood in its place."""


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
    size: tuple[float, float] | None = None,
    font_size: float | None = None,
    style: Style = "plain",
    *,
    font: str | None = None,
    dpi: float | None = None,
    title: str | None = None,
    labels: Mapping[str, str] | None = None,
    log: str = "",
    ylim: tuple[float | None, float | None] | None = None,
    legend: Place = "top",
) -> Iterator[None]:
    """Pictures that are drawn inside the block look like this.

    Args:
        size: Width and height in inches.
        font_size: Points.
        style: ``"paper"`` (small, for a column of a journal), ``"slides"`` (large), ``"dark"``.
        font: Family of letters, such as ``"serif"`` or ``"Times New Roman"``, which must be installed.
        dpi: Dots an inch in PNG; default 150.
        title: Written above the picture.
        labels: What is written in place of labels: of the axes ``"x"`` and ``"y"``, and of entries of the legend.
        log: Axes that are logarithmic: ``"x"``, ``"y"`` or ``"xy"``.
        ylim: Lowest and highest value of the vertical axis; ``None`` for what suits the data.
        legend: ``"top"``, ``"bottom"``, ``"right"`` of the panels, or ``"none"``.

    Raises:
        ValueError: There is no such style, font, axis or place.
    """
    if style not in STYLES:
        raise ValueError(f"no style {style!r}; there are {', '.join(STYLES)}")
    if legend not in PLACES:
        raise ValueError(f"no place {legend!r} for the legend; there are {', '.join(PLACES)}")
    if set(log) - {"x", "y"}:
        raise ValueError(f"no axes {log!r}; write x, y or xy")
    if ylim is not None and None not in ylim and not ylim[0] < ylim[1]:  # type: ignore[operator]
        raise ValueError(f"an axis from {ylim[0]:g} to {ylim[1]:g} has no length")
    if font is not None:
        _check_font(font)
    wanted = Appearance(size, font_size, style, font, dpi, title, dict(labels or {}), frozenset(log), ylim, legend)
    token = _appearance.set(wanted)
    try:
        yield
    finally:
        _appearance.reset(token)


def check_labels() -> None:
    """Refuses labels that replace nothing in any picture that was drawn in this block.

    Raises:
        ValueError: No axis and no entry of a legend has such a name.
    """
    wanted = _appearance.get()
    for name in wanted.labels:
        if name not in ("x", "y", *wanted.entries):
            there = ", ".join(map(repr, ["x", "y", *wanted.entries]))
            raise ValueError(f"nothing is called {name!r} that another label could stand for; there are {there}")


def _check_font(family: str) -> None:
    """Refuses letters that are not installed."""
    try:
        font_manager.findfont(family, fallback_to_default=False)
    except ValueError:
        there = ", ".join(sorted({entry.name for entry in font_manager.fontManager.ttflist}))
        raise ValueError(f"no font {family!r} is installed; there are {there}") from None


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
        **({"font.family": [wanted.font, "DejaVu Sans"]} if wanted.font else {}),
        "axes.titlesize": base * 10 / 9,
        "axes.labelsize": base,
    }
    if wanted.style in _SIZES and panels == 1:
        width, height = _SIZES[wanted.style]
    elif wanted.style in _SIZES:
        # As wide, and as many times higher as it takes.
        width, height = _SIZES[wanted.style][0], _SIZES[wanted.style][0] * height / width
    with mpl.rc_context(rules):
        figure = Picture(figsize=wanted.size or (width, height), dpi=wanted.dpi or DPI, layout="constrained")
        figure.rules = rules
        FigureCanvasAgg(figure)
        yield figure
        # Panels below each other have numbers of different widths.
        figure.align_ylabels()


@contextmanager
def fitted(width: float = 7.0, height: float = 4.2, *, panels: int = 1) -> Iterator[Picture]:
    """A :func:`picture` that says what was asked for and in which nothing overlaps when the block ends.

    Raises:
        ValueError: What is drawn does not fit into the size that was asked for, or cannot have what was asked for.
    """
    with picture(width, height, panels=panels) as figure:
        yield figure
        wanted = _appearance.get()
        _say(figure, wanted)
        # The width of a column of a journal is given; its height is not.
        fit(figure, grows=(wanted.size is None and wanted.style not in _SIZES, wanted.size is None))


def _say(figure: Picture, wanted: Appearance) -> None:
    """Gives a picture the words and axes that were asked for."""
    panels = [axes for axes in figure.axes if axes.get_visible() and not hasattr(axes, "_colorbar")]
    if wanted.title and not (figure.entries is not None and wanted.legend == "top"):
        figure.suptitle(caption(wanted.title))
    for which in ("x", "y"):
        if which in wanted.labels:
            _label(figure, panels, which, caption(wanted.labels[which]))
    for which in sorted(wanted.log):
        _one_quantity(panels, which, f"--log {which}")
        for axes in panels:
            _logarithmic(axes, which)
    if wanted.ylim is not None:
        _one_quantity(panels, "y", "--ylim")
        low, high = wanted.ylim
        for axes in panels:
            axes.set_ylim(bottom=low, top=high)


def _label(figure: Picture, panels: Sequence[Axes], which: str, text: str) -> None:
    shared = getattr(figure, f"_sup{which}label")
    if shared is not None:
        shared.set_text(text)
        return
    _one_quantity(panels, which, f"--label {which}")
    for axes in panels:
        if getattr(axes, f"get_{which}label")():
            getattr(axes, f"set_{which}label")(text)


def _one_quantity(panels: Sequence[Axes], which: str, option: str) -> None:
    """Refuses an option for an axis where panels show several quantities."""
    labels = {label for axes in panels if (label := getattr(axes, f"get_{which}label")())}
    if len(labels) > 1:
        shown = ", ".join(" ".join(label.split()) for label in sorted(labels))
        raise ValueError(f"{option} goes with a picture of one quantity; this one shows {shown}")


def _logarithmic(axes: Axes, which: str) -> None:
    formatter = getattr(axes, f"{which}axis").get_major_formatter()
    if isinstance(formatter, FixedFormatter):
        names = ", ".join(formatter.seq)
        raise ValueError(
            f"--log {which}: {names} stand side by side as names; an axis that can be logarithmic is that of a line "
            "over numbers of one unit"
        )
    if any(np.nanmin(values, initial=np.inf) <= 0 for line in axes.lines if (values := _values(line, which)).size):
        raise ValueError(f"--log {which}: there are values of 0 or less, which a logarithmic axis cannot show")
    getattr(axes, f"set_{which}scale")("log")
    if which == "y":
        low = float(axes.dataLim.minposy)
        axes.set_ylim(bottom=low / 1.1 if np.isfinite(low) else None)


def _values(line: Any, which: str) -> Any:
    # A reference line has an end of the panel in place of a value.
    return np.asarray(line.get_xdata() if which == "x" else line.get_ydata(), dtype=float)


@contextmanager
def one_panel(ax: Axes | None, width: float = 6.4, height: float = 4.2) -> Iterator[tuple[Picture, Axes]]:
    """A picture with one panel, or the panel ``ax`` of somebody else's figure, to draw into."""
    if ax is None:
        with fitted(width, height) as figure:
            yield figure, figure.subplots()
        return
    figure = cast(Picture, ax.get_figure(root=True))
    yield figure, ax
    # Legends and labels of neighbours would lie over each other in a figure that nobody lays out.
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")


def ink() -> str:
    """The colour of reference lines and of words beside marks: capacity, base RTT, BDP."""
    return "#CCCCCC" if _appearance.get().style == "dark" else INK


def small() -> float:
    """The size of words beside marks, in points."""
    return max(LEAST_LETTERS, float(mpl.rcParams["font.size"]) * 8 / 9)


def ink_on(shades: AxesImage, value: float) -> str:
    """Black or white, whichever has the higher contrast, as WCAG counts it, on the colour of a value in a map."""
    colour = shades.to_rgba(np.array([value]))[0, :3]
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ (0.2126, 0.7152, 0.0722))
    # There white's contrast, 1.05 / (luminance + 0.05), and black's, (luminance + 0.05) / 0.05, are equal.
    return "black" if luminance > (1.05 * 0.05) ** 0.5 - 0.05 else "white"


def name_mark(axes: Axes, text: str, place: tuple[float, float]) -> None:
    """Writes a name beside a mark if there is room for it: in a crowd of marks only some have names."""
    axes.annotate(
        text, place, xytext=(7, 5), textcoords="offset points", fontsize=small(), color=ink(), gid=NAME
    ).set_in_layout(False)


def legend(figure: Figure, handles: Sequence[Any], title: str | None = None, ax: Axes | None = None) -> None:
    """One legend above all panels, outside of the data, in as many columns as fit, below the picture's title.

    In somebody else's figure, whose panel ``ax`` is drawn into, it stands above the panel.
    """
    wanted = _appearance.get()
    for handle in handles:
        label = str(handle.get_label())
        if wanted.labels:
            wanted.entries[label] = None
        handle.set_label(caption(wanted.labels[label]) if label in wanted.labels else label)
    if ax is not None:
        columns = min(len(handles), 2)
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
        ax.legend(handles=list(handles), title=title, fontsize=small(), ncols=max(columns, 1), **place)
    elif isinstance(figure, Picture):
        if wanted.title and wanted.legend == "top":
            # Matplotlib would write a title of the figure over a legend that is there too.
            title = "\n".join(filter(None, (caption(wanted.title), title)))
        figure.entries = Entries(figure, handles, title, wanted.legend)
    else:
        figure.legend(handles=list(handles), loc="outside upper center", title=title)
