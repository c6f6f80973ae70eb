"""How an algorithm looks, in every picture the same.

Colours are Okabe and Ito's, which people with any common colour blindness can tell apart; each algorithm also has a
line style and a marker of its own, so that a print in grey stays readable.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib import rcsetup
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from dumbbell.printable import one_line
from dumbbell.storage import write_file

Format = Literal["png", "svg", "pdf"]
FORMATS: tuple[Format, ...] = ("png", "svg", "pdf")

INK = "#333333"
"""Reference lines: capacity, base RTT, BDP."""

_DASHES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (4, 1.5, 1, 1.5)), (0, (1.5, 1)), (0, (8, 1.5, 1, 1.5, 1, 1.5)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_FAMILIAR = ("bbr", "cubic", "reno", "bbr2", "bbr3", "vegas", "westwood")

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
        return {"color": self.colour, "linestyle": self.dashes} | extra


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
    if variant == 0:
        return chosen
    dashes = _DASHES[(_DASHES.index(chosen.dashes) + variant) % len(_DASHES)]
    return replace(chosen, dashes=dashes, marker=_MARKERS[(_MARKERS.index(chosen.marker) + variant) % len(_MARKERS)])


def looks(kinds: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Look]:
    """The looks of the lines of one picture, each an algorithm and a label."""
    variants: dict[str, int] = {}
    chosen: dict[tuple[str, str], Look] = {}
    for kind in dict.fromkeys(kinds):
        variant = variants.get(kind[0], 0)
        variants[kind[0]] = variant + 1
        chosen[kind] = look(kind[0], variant)
    return chosen


def distinct(names: Sequence[str]) -> dict[str, Look]:
    """The looks of things that are no algorithms, told apart by their order."""
    return {
        name: Look(_COLOURS[index % len(_COLOURS)], _DASHES[index % len(_DASHES)], _MARKERS[index % len(_MARKERS)])
        for index, name in enumerate(dict.fromkeys(names))
    }


def caption(words: str) -> str:
    """Words of somebody else as a text of a picture: a dollar is a dollar, and starts no formula."""
    return one_line(words).replace("$", r"\$")


class Picture(Figure):
    """A matplotlib figure that notebooks show and that saves itself whole or not at all."""

    def _repr_png_(self) -> bytes:
        return self.encoded("png")

    def encoded(self, format: Format) -> bytes:  # noqa: A002 - matplotlib's own word
        """The picture as a file's content, the same bytes for the same data."""
        buffer = io.BytesIO()
        dates = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
        with mpl.rc_context({"svg.hashsalt": "dumbbell", "pdf.fonttype": 42}):
            self.savefig(buffer, format=format, dpi=150, metadata=dates[format])
        return _shortened(buffer.getvalue()) if format == "svg" else buffer.getvalue()

    def write(self, stem: Path, formats: Sequence[Format] = FORMATS) -> list[Path]:
        """Writes ``stem`` in each format and returns the paths."""
        paths = []
        for kind in formats:
            path = stem.with_name(f"{stem.name}.{kind}")
            write_file(path, self.encoded(kind))
            paths.append(path)
        return paths


def _shortened(svg: bytes) -> bytes:
    """The drawing with places to a hundredth of a point in place of a millionth."""
    # Only places: a transformation scales letters by factors that need every digit.
    return _PLACES.sub(lambda place: _LONG.sub(lambda number: b"%.2f" % float(number[0]), place[0]), svg)


@contextmanager
def picture(width: float = 7.0, height: float = 4.2) -> Iterator[Picture]:
    """A new picture (inches) in the house style, which applies inside the block."""
    style: dict[Any, Any] = {
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.labelsize": 9,
        "grid.color": "#DDDDDD",
        "grid.linewidth": 0.6,
        "axes.prop_cycle": rcsetup.cycler(color=_COLOURS),
        "lines.linewidth": 1.3,
        "lines.markersize": 5,
        "legend.frameon": False,
        "legend.handlelength": 3.2,
        "legend.columnspacing": 1.6,
    }
    with mpl.rc_context(style):
        figure = Picture(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        # Panels below each other have numbers of different widths.
        figure.align_ylabels()


def ink_on(shades: AxesImage, value: float) -> str:
    """Black or white, whichever has the higher contrast, as WCAG counts it, on the colour of a value in a map."""
    colour = shades.to_rgba(np.array([value]))[0, :3]
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ (0.2126, 0.7152, 0.0722))
    # There white's contrast, 1.05 / (luminance + 0.05), and black's, (luminance + 0.05) / 0.05, are equal.
    return "black" if luminance > (1.05 * 0.05) ** 0.5 - 0.05 else "white"


def legend(figure: Figure, handles: Sequence[Any], title: str | None = None) -> None:
    """One legend above all panels, outside of the data, in as many columns as fit, below the picture's title."""
    widest = max((len(handle.get_label()) for handle in handles), default=0)
    # An entry is about seven letters of sample and gap besides its text, and an inch holds about twelve letters.
    most = max(1, int(12 * figure.get_figwidth() / (widest + 7)))
    # As many rows as that needs, but all of about the same length.
    rows = -(-len(handles) // most)
    columns = -(-len(handles) // max(rows, 1))
    figure.legend(handles=list(handles), loc="outside upper center", ncols=max(1, columns), title=title)
