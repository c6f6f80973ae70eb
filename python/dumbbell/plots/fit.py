"""Whether a picture can be read: nothing lies over a text, nothing is cut off, letters are large enough.

A picture that does not fit is laid out again, step by step. One that nothing helps is refused with what would.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib import cbook
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

LEAST_LETTERS = 5.0
"""Smaller letters, in points, cannot be read in print."""

LEAST_PANEL = (0.45, 0.3)
"""Width and height in inches of a panel in which something can be seen."""

SHRINKS = 0.93
"""Letters get smaller by this factor in a step."""

GROWS = 1.12
"""A picture whose size nobody asked for gets larger by this factor in a step."""

MOST_GROWTH = 2.5
"""It gets no larger than so many times its first size."""

LEAST_GAP = 3.0
"""Pixels between numbers in a row, which would be read as one otherwise."""

MARGIN = 0.5
"""Pixels by which a picture fits better than it must, since other formats round letters otherwise."""

MOST_STEPS = 40
"""After so many steps a picture is refused."""

TOUCH = 0.75
"""Pixels by which texts may touch: their boxes are a little larger than their letters."""

NAME = "name"
"""The identifier of texts that name marks: each is moved to where there is room, or left out."""

REFERENCE = "reference"
"""The identifier of texts beside reference lines, to the right of a panel."""

PLACES = ((7, 5), (7, -11), (-7, 5), (-7, -11), (0, 9), (0, -15), (12, -3), (-12, -3))
"""Where the name of a mark may stand, in points from its middle."""

Kind = Literal["ticks", "legend", "title", "label", "reference", "text", "letters", "room"]
"""What has a flaw."""


@dataclass(frozen=True)
class Flaw:
    """Something that cannot be read."""

    kind: Kind
    words: str
    """What is wrong, for a person."""
    artists: tuple[Any, ...] = ()


@dataclass(frozen=True)
class _Box:
    """A text with the room that it takes, in pixels."""

    kind: Kind
    words: str
    room: Bbox
    artist: Artist


def flaws(figure: Figure, margin: float = 0.0) -> list[Flaw]:
    """What cannot be read in a picture as it is laid out now; ``margin`` is by how many pixels more it must fit."""
    # These decide how many ticks an axis has.
    with mpl.rc_context(dict(getattr(figure, "rules", {}))):
        found = _draw(figure)
        boxes = list(_boxes(figure))
        found += list(_cut(figure, boxes, margin))
        found += list(_overlaps(boxes, margin))
        found += list(_over_data(figure))
        found += list(_small(figure, boxes))
        return found


def fit(figure: Figure, *, grows: tuple[bool, bool]) -> None:
    """Lays a picture out until it can be read.

    Args:
        figure: The picture.
        grows: Whether it may become wider and higher than it is.

    Raises:
        ValueError: Nothing helps; the message says what would.
    """
    limits = [float(size) * (MOST_GROWTH if may else 1.0) for size, may in zip(_size(figure), grows, strict=True)]
    found: list[Flaw] = []
    for _ in range(MOST_STEPS):
        # A layout is found from the one before, and settles when it is found again.
        found = flaws(figure, MARGIN) or flaws(figure, MARGIN)
        if not found:
            _place_names(figure)
            return
        if not any(remedy(figure, found) for remedy in _REMEDIES) and not (
            _grow(figure, limits) or _shrink_letters(figure)
        ):
            break
    width, height = _size(figure)
    raise ValueError(
        f"the picture does not fit {width:.3g}x{height:.3g}in: {found[0].words}\n"
        "  help: give it more room (--size, or no --size), or draw less in it (--where, --panels, --legend none)"
    )


def _size(figure: Figure) -> tuple[float, float]:
    width, height = figure.get_size_inches()
    return float(width), float(height)


def _draw(figure: Figure) -> list[Flaw]:
    """Lays the picture out; what matplotlib warns of is a flaw."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.draw_without_rendering()
    return [Flaw("room", f"there is no room ({one.message})") for one in caught]


def _boxes(figure: Figure) -> Iterator[_Box]:
    """Every text that can be seen, legends as a whole."""
    for legend in figure.legends:
        yield _Box("legend", "the legend", legend.get_window_extent(), legend)
    suptitle = getattr(figure, "_suptitle", None)
    for text in figure.texts:
        if _is_seen(text):
            kind: Kind = "title" if text is suptitle else "label"
            yield _Box(kind, _quoted(text), text.get_window_extent(), text)
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        for axis in (axes.xaxis, axes.yaxis):
            for text in _tick_labels(axis):
                yield _Box("ticks", _quoted(text), text.get_window_extent(), text)
            if _is_seen(axis.label):
                yield _Box("label", _quoted(axis.label), axis.label.get_window_extent(), axis.label)
        for title in _titles(axes):
            yield _Box("title", _quoted(title), title.get_window_extent(), title)
        for text in axes.texts:
            if _is_seen(text) and text.get_gid() != NAME:
                kind = "reference" if text.get_gid() == REFERENCE else "text"
                yield _Box(kind, _quoted(text), Text.get_window_extent(text), text)


def _is_seen(text: Text) -> bool:
    return text.get_visible() and bool(text.get_text().strip())


def _quoted(text: Text) -> str:
    words = " ".join(text.get_text().split())
    return f'"{words if len(words) < 60 else words[:57] + "..."}"'


def _titles(axes: Axes) -> list[Text]:
    found = [axes.title, *(getattr(axes, name, None) for name in ("_left_title", "_right_title"))]
    return [title for title in found if title is not None and _is_seen(title)]


def _tick_labels(axis: Axis) -> list[Text]:
    """The labels of ticks that are in view."""
    low, high = sorted(axis.get_view_interval())
    slack = 1e-9 * max(abs(low), abs(high))
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    seen = [tick for tick in ticks if low - slack <= tick.get_loc() <= high + slack]
    return [label for tick in seen for label in (tick.label1, tick.label2) if _is_seen(label)]


def _cut(figure: Figure, boxes: Sequence[_Box], margin: float) -> Iterator[Flaw]:
    edge = figure.bbox
    for box in boxes:
        room = box.room
        outside = max(edge.x0 - room.x0, room.x1 - edge.x1, edge.y0 - room.y0, room.y1 - edge.y1)
        if outside > TOUCH - margin:
            yield Flaw(box.kind, f"{box.words} is cut off at the edge", (box.artist,))


def _overlaps(boxes: Sequence[_Box], margin: float) -> Iterator[Flaw]:
    """Texts that lie over each other."""
    for number, one in enumerate(boxes):
        for other in boxes[number + 1 :]:
            gap = LEAST_GAP if one.kind == other.kind and _is_row(one, other) else -TOUCH
            if _meet(one.room, other.room, gap + margin):
                kinds = sorted({one.kind, other.kind}, key=_ORDER.index)
                yield Flaw(kinds[0], f"{one.words} and {other.words} overlap", (one.artist, other.artist))


_ORDER: tuple[Kind, ...] = ("title", "ticks", "reference", "text", "legend", "label", "letters", "room")
"""Where two texts overlap, the one of the earlier kind is changed."""


def _is_row(one: _Box, other: _Box) -> bool:
    """Whether two numbers stand beside each other."""
    up = min(one.room.y1, other.room.y1) - max(one.room.y0, other.room.y0)
    return one.kind in ("ticks", "text") and up > 0.7 * min(one.room.height, other.room.height)


def _meet(one: Bbox, other: Bbox, gap: float = -TOUCH) -> bool:
    """Whether two rooms overlap, or have less than ``gap`` pixels between them from left to right."""
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    up = min(one.y1, other.y1) - max(one.y0, other.y0)
    return bool(across > -gap and up > TOUCH)


def _over_data(figure: Figure) -> Iterator[Flaw]:
    """Texts over lines, areas and boxes, and legends over panels."""
    for axes in figure.axes:
        for legend in figure.legends:
            if axes.get_visible() and _meet(legend.get_window_extent(), axes.get_window_extent(), -2.0):
                yield Flaw("legend", "the legend lies over the data", (legend,))
        inside = [text for text in axes.texts if _is_seen(text) and text.get_gid() not in (NAME, REFERENCE)]
        shapes = _shapes(axes) if inside else []
        for text in inside:
            room = Text.get_window_extent(text)
            if any(covers(room) for covers in shapes):
                yield Flaw("text", f"{_quoted(text)} lies over the data", (text,))


def _shapes(axes: Axes) -> list[Callable[[Bbox], bool]]:
    """For everything that is drawn in a panel whether it lies in a room, in pixels."""
    return [
        *(_of_line(line) for line in axes.lines if line.get_visible()),
        *(_of_area(area) for area in axes.collections if area.get_visible()),
        *(
            _of_path(patch.get_transform().transform_path(patch.get_path()), filled=True)
            for patch in axes.patches
            if patch.get_visible()
        ),
    ]


def _of_path(path: Path, *, filled: bool) -> Callable[[Bbox], bool]:
    return lambda room: bool(path.intersects_bbox(room, filled=filled))


def _of_line(line: Line2D) -> Callable[[Bbox], bool]:
    x, y = (np.asarray(values, dtype=float) for values in line.get_data(orig=False))
    if (style := line.get_drawstyle()) in cbook.STEP_LOOKUP_MAP and x.size:
        x, y = cbook.STEP_LOOKUP_MAP[style](x, y)
    places = line.get_transform().transform(np.column_stack([x, y]))
    has_marks = line.get_marker() not in ("", " ", None, "None", "none")
    reach = line.get_markersize() / 2 * line.get_figure(root=True).dpi / 72 if has_marks else 0.0  # type: ignore[union-attr]
    is_joined = line.get_linestyle() not in ("", " ", "None", "none")

    def covers(room: Bbox) -> bool:
        if has_marks:
            near = (places >= np.array([room.x0, room.y0]) - reach) & (places <= np.array([room.x1, room.y1]) + reach)
            if near.all(axis=1).any():
                return True
        return is_joined and len(places) > 1 and bool(Path(places).intersects_bbox(room, filled=False))

    return covers


def _of_area(area: Collection) -> Callable[[Bbox], bool]:
    transform = area.get_transform()
    paths = [transform.transform_path(path) for path in area.get_paths() if np.size(path.vertices)]
    return lambda room: any(path.intersects_bbox(room, filled=True) for path in paths)


def _small(figure: Figure, boxes: Sequence[_Box]) -> Iterator[Flaw]:
    """Letters and panels that are too small."""
    for text in _texts(figure):
        if _is_seen(text) and float(text.get_fontsize()) < LEAST_LETTERS - 1e-6:
            yield Flaw("letters", f"the letters of {_quoted(text)} have less than {LEAST_LETTERS:g} points", (text,))
    for axes in figure.axes:
        if not axes.get_visible() or hasattr(axes, "_colorbar"):
            continue
        room = axes.get_window_extent()
        width, height = room.width / figure.dpi, room.height / figure.dpi
        if width < LEAST_PANEL[0] or height < LEAST_PANEL[1]:
            yield Flaw("room", f"a panel of {width:.2g}x{height:.2g}in shows nothing", (axes,))


def _texts(figure: Figure) -> list[Text]:
    return [text for text in figure.findobj() if isinstance(text, Text)]


def _remedy(kind: Kind) -> Callable[[Callable[[Figure, list[Flaw]], bool]], Callable[[Figure, list[Flaw]], bool]]:
    """A remedy for flaws of one kind."""

    def of(change: Callable[[Figure, list[Flaw]], bool]) -> Callable[[Figure, list[Flaw]], bool]:
        def only(figure: Figure, found: list[Flaw]) -> bool:
            own = [flaw for flaw in found if flaw.kind == kind]
            return bool(own) and change(figure, own)

        return only

    return of


@_remedy("legend")
def _fewer_columns(figure: Figure, found: list[Flaw]) -> bool:
    """Puts the entries of a legend that is too wide into fewer columns."""
    entries = getattr(figure, "entries", None)
    return entries is not None and any("edge" in flaw.words for flaw in found) and bool(entries.narrower())


@_remedy("ticks")
def _thin_ticks(figure: Figure, found: list[Flaw]) -> bool:
    """Leaves out labels of ticks, or turns names."""
    touched = {artist for flaw in found for artist in flaw.artists}
    changed = False
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels = _tick_labels(axis)
            own = [label for label in labels if label in touched]
            if not own:
                continue
            if axis is axes.xaxis and any(not _is_number(label.get_text()) for label in labels):
                changed |= _turn(axes, labels)
            elif len(labels) > 2:
                hidden = {float(tick.get_loc()) for tick in _in_view(axis)[1::2]}
                changed |= _hide(axis, hidden)
    return changed


def _in_view(axis: Axis) -> list[Any]:
    shown = set(_tick_labels(axis))
    return sorted(
        (tick for tick in axis.get_major_ticks() if tick.label1 in shown or tick.label2 in shown),
        key=lambda tick: tick.get_loc(),
    )


def _hide(axis: Axis, places: set[float]) -> bool:
    """Takes the labels of ticks away; the ticks stay."""
    from matplotlib.ticker import FuncFormatter

    shown = {float(tick.get_loc()): tick.label1.get_text() or tick.label2.get_text() for tick in _in_view(axis)}
    labels = {place: text for place, text in shown.items() if place not in places}
    axis.set_major_formatter(FuncFormatter(lambda value, _: labels.get(float(value), "")))
    return True


def _turn(axes: Axes, labels: Sequence[Text]) -> bool:
    """Turns the names below an axis: by a third of a right angle, then upright."""
    angle = max(label.get_rotation() for label in labels)
    if angle >= 90:
        return False
    turned = 30 if angle < 30 else 90
    anchor: Literal["right", "center"] = "right" if turned == 30 else "center"
    axes.tick_params(axis="x", labelrotation=turned)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment(anchor)
        label.set_rotation_mode("anchor" if turned == 30 else "default")
    return True


def _is_number(text: str) -> bool:
    try:
        float(text.replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        return False
    return True


@_remedy("title")
def _break_titles(figure: Figure, found: list[Flaw]) -> bool:
    return _break_lines(found)


@_remedy("label")
def _break_labels(figure: Figure, found: list[Flaw]) -> bool:
    return _break_lines(found)


def _break_lines(found: Sequence[Flaw]) -> bool:
    """Breaks the longest line of texts in two."""
    changed = False
    for text in {artist for flaw in found for artist in flaw.artists if isinstance(artist, Text)}:
        lines = text.get_text().split("\n")
        longest = max(range(len(lines)), key=lambda number: len(lines[number]))
        words = lines[longest]
        broken = textwrap.wrap(words, max(8, len(words) * 3 // 5), break_long_words=False, break_on_hyphens=False)
        if len(broken) > 1 and len(lines) < 4:
            text.set_text("\n".join([*lines[:longest], *broken, *lines[longest + 1 :]]))
            changed = True
    return changed


@_remedy("reference")
def _part_references(figure: Figure, found: list[Flaw]) -> bool:
    """Moves texts beside reference lines away from each other."""
    changed = False
    for flaw in found:
        pair = [artist for artist in flaw.artists if isinstance(artist, Annotation)]
        if len(pair) != 2:
            continue
        below, above = sorted(pair, key=lambda text: Text.get_window_extent(text).y0)
        lower, upper = Text.get_window_extent(below), Text.get_window_extent(above)
        points = (lower.y1 - upper.y0 + 1) * 72 / figure.dpi
        for text, way in ((below, -0.5), (above, 0.5)):
            x, y = text.get_position()
            text.set_position((x, y + way * points))
        changed = True
    return changed


_REMEDIES = (_fewer_columns, _part_references, _thin_ticks, _break_titles, _break_labels)


def _grow(figure: Figure, limits: Sequence[float]) -> bool:
    """Makes the picture larger where it may be."""
    before = _size(figure)
    after = [min(limit, size * GROWS) for size, limit in zip(before, limits, strict=True)]
    figure.set_size_inches((after[0], after[1]))
    return any(new > old + 1e-6 for new, old in zip(after, before, strict=True))


def _shrink_letters(figure: Figure) -> bool:
    """Makes all letters smaller, and with them the samples and gaps of a legend."""
    texts = [text for text in _texts(figure) if float(text.get_fontsize()) > LEAST_LETTERS]
    for text in texts:
        text.set_fontsize(max(LEAST_LETTERS, float(text.get_fontsize()) * SHRINKS))
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            sizes = [float(label.get_fontsize()) for label in _tick_labels(axis)]
            if sizes:
                axis.set_tick_params(which="both", labelsize=min(sizes))
    if texts and (entries := getattr(figure, "entries", None)) is not None:
        entries.smaller(SHRINKS)
    return bool(texts)


def _place_names(figure: Figure) -> None:
    """Puts each name of a mark where nothing else is; one that has no such place is left out."""
    taken = [box.room for box in _boxes(figure)]
    for axes in figure.axes:
        names = [text for text in axes.texts if text.get_gid() == NAME and isinstance(text, Annotation)]
        if not names:
            continue
        shapes = _shapes(axes)
        inside = axes.get_window_extent()
        for name in names:
            for x, y in PLACES:
                name.set_position((x, y))
                name.set_horizontalalignment("left" if x > 0 else "right" if x < 0 else "center")
                room = Text.get_window_extent(name)
                is_inside = (
                    inside.x0 <= room.x0 and room.x1 <= inside.x1 and inside.y0 <= room.y0 and room.y1 <= inside.y1
                )
                if (
                    is_inside
                    and not any(_meet(room, other, 0.0) for other in taken)
                    and not any(covers(room) for covers in shapes)
                ):
                    taken.append(room)
                    break
            else:
                name.set_visible(False)
