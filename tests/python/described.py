"""What a picture shows, as lines of text: everything but how thick, how large and how opaque it is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from matplotlib import colors
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import Collection
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, StepPatch
from matplotlib.spines import Spine
from matplotlib.text import Text
from matplotlib.ticker import NullFormatter
from numpy.typing import NDArray

DIGITS = 4


def described(figure: Figure) -> list[str]:
    """A picture: its size in inches, its panels, and what is written around them."""
    width, height = figure.get_size_inches()
    lines = [f"picture of {number(width)} x {number(height)}"]
    lines += [f"  {words(text)}" for text in figure.texts]
    lines += [f"  {line}" for legend in figure.legends for line in of_legend(legend)]
    for axes in figure.axes:
        lines += [f"  {line}" for line in panel(axes)]
    return lines


def panel(axes: Axes) -> Iterator[str]:
    """One panel: its axes, its legend, and what is drawn in it, in the order of drawing."""
    titles = [text for place in ("left", "center", "right") if (text := axes.get_title(loc=place))]
    yield f"panel {'; '.join(titles)}".rstrip()
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        yield f"  {name} {of_axis(axis)}"
    if (legend := axes.get_legend()) is not None:
        yield from (f"  {line}" for line in of_legend(legend))
    for one in axes.get_children():
        is_frame = isinstance(one, Spine) or one is axes.patch
        if one.get_visible() and not is_frame and (line := drawn(one)):
            yield f"  {line}"
    yield from (
        f"  bars of errors: {bars.get_label()}" for bars in axes.containers if isinstance(bars, ErrorbarContainer)
    )


def of_axis(axis: Axis) -> str:
    """Name, scale, span and ticks of an axis."""
    low, high = axis.get_view_interval()
    if axis.get_inverted():
        low, high = max(low, high), min(low, high)
    has_texts = not isinstance(axis.get_major_formatter(), NullFormatter) and axis.get_visible()
    least, most = sorted((low, high))
    ticks = [
        f"{number(place)}{f'={text.get_text()}' if text.get_visible() and text.get_text() else ''}"
        for place, text in zip(axis.get_majorticklocs(), axis.get_ticklabels() if has_texts else [], strict=False)
        if least <= place <= most
    ]
    grid = "with grid" if any(line.get_visible() for line in axis.get_gridlines()) else "without grid"
    title = axis.get_label_text()
    return f"{title!r}: {axis.get_scale()} from {number(low)} to {number(high)} {grid}, {' '.join(ticks)}".rstrip(" ,")


def of_legend(legend: Legend) -> Iterator[str]:
    """The entries of a legend, with what stands beside their texts."""
    yield f"legend {legend.get_title().get_text()!r}"
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        yield f"  {text.get_text()!r} {drawn(handle, is_sample=True) if handle is not None else ''}".rstrip()


def drawn(one: Artist, *, is_sample: bool = False) -> str:
    """What is drawn: kind, name, colour and numbers; of the sample of a legend without numbers."""
    if isinstance(one, Line2D):
        data = "" if is_sample else f" x {numbers(one.get_xdata())} y {numbers(one.get_ydata())}"
        step = "" if one.get_drawstyle() == "default" else f" {one.get_drawstyle()}"
        face = colour(one.get_markerfacecolor())
        marker = "" if one.get_marker() in ("None", None, "") else f" marker {one.get_marker()} {face}"
        return f"line{name(one)} {colour(one.get_color())} {dashes(one)}{step}{marker}{data}"
    if isinstance(one, StepPatch):
        values, edges, baseline = map(numbers, one.get_data())
        return f"steps{name(one)} {faces(one)} {values} at {edges} on {baseline}"
    if isinstance(one, Patch):
        box = one.get_path().get_extents(one.get_patch_transform())
        data = "" if is_sample else f" {numbers(np.asarray(box.extents))}"
        return f"area{name(one)} {faces(one)}{data}"
    if isinstance(one, Text):
        return words(one) if one.get_text() else ""
    if isinstance(one, AxesImage):
        low, high = one.get_clim()
        shown = f"{one.get_cmap().name} from {number(low)} to {number(high)} at {numbers(np.asarray(one.get_extent()))}"
        return f"image {numbers(np.ma.filled(np.ma.asarray(one.get_array(), float), np.nan))} {shown}"
    if isinstance(one, Collection):
        paths = [path.vertices for path in one.get_paths()]
        places = np.concatenate(paths) if paths and not is_sample else np.zeros((0, 2))
        data = (
            "" if is_sample else f" x {numbers(places[:, 0])} y {numbers(places[:, 1])} at {numbers(one.get_offsets())}"
        )
        shades = {colour(each) for each in one.get_facecolor()} | {colour(each) for each in one.get_edgecolor()}
        hatch = f" {one.get_hatch()!r}" if one.get_hatch() else ""
        return f"{type(one).__name__}{name(one)} {' '.join(sorted(shades))}{hatch}{data}"
    return ""


def words(text: Text) -> str:
    """A text and where it stands."""
    place = ", ".join(number(at) if isinstance(at, int | float) else str(at) for at in text.get_position())
    side = f"{text.get_horizontalalignment()} {text.get_verticalalignment()}"
    turned = f" turned {number(text.get_rotation())}" if text.get_rotation() else ""
    return f"text {text.get_text()!r} at {place} {side} {colour(text.get_color())}{turned}"


def name(one: Artist) -> str:
    """What a legend would call it."""
    label = str(one.get_label())
    return "" if label.startswith("_") or not label else f" {label!r}"


def faces(patch: Patch) -> str:
    """Colours and hatches of an area."""
    filled = colour(patch.get_facecolor()) if patch.get_fill() else "empty"
    return f"{filled} in {colour(patch.get_edgecolor())}{f' {patch.get_hatch()!r}' if patch.get_hatch() else ''}"


def dashes(line: Line2D) -> str:
    """The dashes of a line in units of its width."""
    offset, pattern = line._unscaled_dash_pattern  # type: ignore[attr-defined]
    if line.get_linestyle() == "None":
        return "no line"
    return "solid" if not pattern else f"dashes {number(offset)}: {' '.join(map(number, pattern))}"


def colour(given: Any) -> str:
    """A colour without its opacity, since that is looks."""
    return "none" if isinstance(given, str) and given in ("none", "None") else colors.to_hex(given)


def number(value: Any) -> str:
    """A number with as many digits as can be seen."""
    return f"{float(value) + 0.0:.{DIGITS}g}"


def numbers(values: Any) -> str:
    """Few numbers as they are; of many their count, first, last, least, most, mean, and where the large ones are."""
    found: NDArray[np.float64] = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan).ravel()
    if found.size <= 8:
        return f"[{' '.join(map(number, found))}]"
    there = found[np.isfinite(found)]
    moment = float(np.average(np.nan_to_num(found, posinf=0, neginf=0), weights=np.arange(found.size)))
    gaps = f", {found.size - there.size} missing" if there.size < found.size else ""
    said: Iterable[float] = (found[0], found[-1], there.min(), there.max(), there.mean(), moment) if there.size else ()
    return f"[{found.size}{gaps}: {' '.join(map(number, said))}]"
