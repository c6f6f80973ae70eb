"""A run played in time, as a file for slides: GIF or MP4."""

from __future__ import annotations

import io
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from PIL import Image

from dumbbell.inference import FloatArray
from dumbbell.storage import OutputError, write_file

if TYPE_CHECKING:
    from dumbbell.plots.style import Picture
    from dumbbell.results import Result

FORMATS = (".gif", ".mp4")

SIGN = b"dumbbell animation"
"""What a file of ours says in its comment."""

WIDTH = 960
"""Pixels."""

_COLOURS = 64
"""Of a GIF."""

_STAYS_MS = 2000

_FEWEST_POINTS = 3
"""A line of fewer points is a reference line, which is there from the beginning."""


class Film:
    """A picture over time of which only what had happened by a time is seen."""

    def __init__(self, picture: Picture, width: int) -> None:
        self._lines: list[tuple[Line2D, FloatArray, FloatArray]] = []
        self._covers: list[tuple[Artist, Rectangle, float]] = []
        self._moving: list[tuple[Axes, Artist]] = []
        _scale(picture, width)
        for axes in picture.axes:
            self._take(axes)
        # All that stands still is drawn once.
        # matplotlib has no types for its canvas of pixels.
        self._canvas = cast(Any, picture.canvas)
        self._canvas.draw()
        self._still = self._canvas.copy_from_bbox(picture.bbox)

    def _take(self, axes: Axes) -> None:
        low, high = axes.get_xlim()
        axes.set_xlim(low, high)
        axes.set_ylim(axes.get_ylim())
        cover = Rectangle((low, 0), high - low, 1, transform=axes.get_xaxis_transform())
        self._covers += [(area, cover, low) for area in axes.collections]
        self._moving += [(axes, area) for area in axes.collections]
        for line in axes.get_lines():
            x, y = (np.asarray(values, dtype=np.float64) for values in line.get_data())
            if x.size >= _FEWEST_POINTS:
                self._lines.append((line, x, y))
                self._moving.append((axes, line))
        for _, artist in self._moving:
            artist.set_animated(True)

    def show(self, until: float) -> None:
        """Hides what came after a time (s)."""
        for line, x, y in self._lines:
            count = int(np.searchsorted(x, until, side="right"))
            line.set_data(x[:count], y[:count])
        for area, cover, low in self._covers:
            cover.set_width(max(0.0, until - low))
            # Each time: a rectangle is looked at once.
            area.set_clip_path(cover)

    def frame(self, until: float) -> NDArray[np.uint8]:
        """What is seen at a time (s): rows of pixels of red, green and blue."""
        self.show(until)
        self._canvas.restore_region(self._still)
        for axes, artist in sorted(self._moving, key=lambda moving: moving[1].get_zorder()):
            axes.draw_artist(artist)
        pixels: NDArray[np.uint8] = np.asarray(self._canvas.buffer_rgba())[..., :3].copy()
        return pixels


def _scale(picture: Picture, width: int) -> None:
    """Gives a picture so many pixels, an even number in each direction as H.264 wants them, and fixes its layout."""
    inches, height = picture.get_size_inches()
    dpi = 2 * (width // 2) / inches
    picture.set_size_inches(inches, 2 * round(height * dpi / 2) / dpi)
    picture.set_dpi(dpi)
    picture.canvas.draw()
    picture.set_layout_engine("none")


def times(end: float, seconds: float, fps: int) -> Iterator[float]:
    """The time that each frame shows; the last shows all."""
    count = max(2, round(seconds * fps))
    yield from (end * (number + 1) / count for number in range(count - 1))
    yield end


def check_place(path: Path) -> None:
    """Raises :class:`OutputError` now where :func:`write` would later."""
    if path.suffix not in FORMATS:
        raise OutputError(f"{path}: the name of an animation ends in {' or '.join(FORMATS)}")
    if path.suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise OutputError(
            f"{path}: an MP4 needs the program ffmpeg, and there is none on the path\n"
            "  help: install it (Debian's package ffmpeg), or write a .gif, which needs nothing"
        )
    if path.exists() and not _is_ours(path):
        raise OutputError(f"{path} was not written by Dumbbell; choose another name or remove it")


def write(
    result: Result,
    path: Path,
    *,
    column: str | None = None,
    seconds: float = 10.0,
    fps: int = 15,
    width: int = WIDTH,
) -> Path:
    """Writes a run played in time as ``path``, a GIF or MP4 by its name, whole or not at all, and returns the path.

    A file that is there is replaced if Dumbbell wrote it.

    Args:
        result: The run, with time series.
        path: The file.
        column: The column of ``series`` to show alone; default the overview.
        seconds: Length of the film, whatever the run's.
        fps: Frames a second.
        width: Pixels.

    Raises:
        OutputError: It cannot be written, somebody else's file is there, or ffmpeg is missing or fails.
        ValueError: The run has no time series, or not this column.
    """
    check_place(path)
    film = Film(result.plot.overview() if column is None else result.plot.series(column), width)
    frames = (film.frame(until) for until in times(result.meta.sim_s, seconds, fps))
    write_file(path, _gif(list(frames), fps) if path.suffix == ".gif" else _mp4(frames, fps, path))
    return path


def _gif(frames: Sequence[NDArray[np.uint8]], fps: int) -> bytes:
    """The frames with the colours of the last, which shows all there is."""
    last = Image.fromarray(frames[-1]).quantize(_COLOURS, dither=Image.Dither.NONE)
    first, *others = (Image.fromarray(one).quantize(palette=last, dither=Image.Dither.NONE) for one in frames)
    buffer = io.BytesIO()
    # It stays on the last frame for a while before it begins again.
    durations = [1000 // fps] * len(others) + [_STAYS_MS]
    first.save(
        buffer, "gif", save_all=True, append_images=others, duration=durations, loop=0, comment=SIGN, optimize=False
    )
    return buffer.getvalue()


def _mp4(frames: Iterator[NDArray[np.uint8]], fps: int, path: Path) -> bytes:
    first = next(frames)
    height, width, _ = first.shape
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "film.mp4"
        command = [
            "ffmpeg", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
            "-r", str(fps), "-i", "-", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart",
            "-metadata", f"comment={SIGN.decode()}", str(made),
        ]  # fmt: skip
        with (Path(folder) / "said").open("w+b") as said:
            ran = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=said)
            assert ran.stdin is not None
            try:
                with ran.stdin as pipe:
                    for one in itertools.chain([first], frames):
                        pipe.write(one.tobytes())
            except BrokenPipeError:
                # It has ended before, and says why.
                pass
            finally:
                status = ran.wait()
            if status != 0:
                said.seek(0)
                why = said.read().decode(errors="replace").strip().split("\n")[-1]
                raise OutputError(f"cannot write {path}: ffmpeg failed: {why}")
        return made.read_bytes()


def _is_ours(path: Path) -> bool:
    try:
        return SIGN in path.read_bytes()
    except OSError:
        return False
