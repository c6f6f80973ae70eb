"""Runs played in time: what frames show, and what is written."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import dumbbell as db
from conftest import Cli
from dumbbell.plots import Picture, animation, style
from dumbbell.storage import OutputError


@pytest.fixture(scope="module")
def result() -> db.Result:
    flows = [{"cc": "bbr"}, {"cc": "cubic", "start": "2s"}]
    return db.run({"duration": "4s", "path": {"rate": "10mbit", "rtt": "40ms"}, "flows": flows})


def test_the_last_frame_has_the_numbers_of_the_table(result: db.Result) -> None:
    picture = result.plot.series("cwnd")
    film = animation.Film(picture, 480)
    film.show(1.0)
    lines = picture.axes[0].get_lines()
    assert [max(np.asarray(line.get_xdata()), default=0) <= 1 for line in lines] == [True, True]
    assert [len(np.asarray(line.get_xdata())) > 0 for line in lines] == [True, False]
    *_, end = animation.times(result.meta.sim_s, 1, 10)
    film.show(end)
    for flow, line in enumerate(lines):
        own = result.series.to_polars().filter(result.series.to_polars()["flow"] == flow)
        assert np.asarray(line.get_xdata()) == pytest.approx(own["t_s"].to_numpy())
        assert np.asarray(line.get_ydata()) == pytest.approx(own["cwnd"].to_numpy())


def test_what_came_later_is_hidden_also_of_areas(result: db.Result) -> None:
    film = animation.Film(result.plot.overview(), 480)
    start, half, whole = (film.frame(time).astype(int) for time in (0.0, 2.0, 4.0))
    right = slice(300, 400)
    # Nothing but what stands still is to the right of the middle, in the panel of the queue too.
    assert np.abs(half - start)[:, right].max() == 0
    assert np.abs(half - start)[:, :200].max() > 0
    assert np.abs(whole - half)[:, right].max() > 0


def test_a_gif_has_its_frames_and_its_size(result: db.Result, tmp_path: Path) -> None:
    path = animation.write(result, tmp_path / "film.gif", seconds=1, fps=10, width=321)
    with Image.open(path) as film:
        assert (film.n_frames, film.width) == (10, 320)
    content = path.read_bytes()
    # Once more, over its own file; two times the same gives the same bytes.
    assert animation.write(result, path, seconds=1, fps=10, width=321).read_bytes() == content


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")
def test_an_mp4_has_its_frames(result: db.Result, tmp_path: Path) -> None:
    path = animation.write(result, tmp_path / "film.mp4", column="cwnd", seconds=1, fps=10, width=320)
    command = ["ffprobe", "-loglevel", "error", "-show_entries", "stream=nb_frames,width", "-of", "csv=p=0", str(path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "320,10"
    animation.write(result, path, column="cwnd", seconds=1, fps=10, width=320)


def test_an_mp4_without_ffmpeg_says_what_to_do(
    result: db.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OutputError, match=r"ffmpeg, and there is none on the path\n  help: install it"):
        animation.write(result, tmp_path / "film.mp4")
    assert list(tmp_path.iterdir()) == []


def test_ffmpeg_that_fails_leaves_nothing_behind(
    result: db.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin/ffmpeg"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho no such codec >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    with pytest.raises(OutputError, match="ffmpeg failed: no such codec"):
        animation.write(result, tmp_path / "film.mp4", seconds=1, fps=5, width=320)
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]


def test_a_command_plays_a_point_of_a_sweep(dumbbell: Cli, tmp_path: Path) -> None:
    out, film = tmp_path / "sweep", tmp_path / "film.gif"
    dumbbell("compare", "bbr", "cubic", "--duration", "2s", "--out", out)
    options = ("--seconds", "0.5", "--fps", "4", "--width", "240")
    done = dumbbell("animate", out, "--out", film, *options)
    assert (done.status, done.out) == (0, f"  {film}\n")
    assert done.err == "note: point 0 of 2 is shown, flows[0].cc=bbr; --point chooses another\n"
    first = film.read_bytes()
    assert dumbbell("animate", out, "--out", film, "--point", "1", "-q", *options).err == ""
    assert film.read_bytes() != first


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--out", "film.avi"], "ends in .gif or .mp4"),
        (["--out", "mine.gif"], "was not written by Dumbbell"),
        (["--out", "film.gif", "--series", "cwn"], "did you mean cwnd?"),
        (["--out", "film.gif", "--point", "1"], "holds a single run"),
        (["--out", "film.gif", "--seconds", "600", "--fps", "50"], "30000 frames, at most 3000"),
    ],
)
def test_what_cannot_be_played_is_refused(
    dumbbell: Cli, result: db.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result.save("run")
    Path("mine.gif").write_bytes(b"GIF89a mine")
    done = dumbbell("animate", "run", *options)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.gif", "run"]
    assert Path("mine.gif").read_bytes() == b"GIF89a mine"


def test_frames_share_the_run_evenly_and_the_last_shows_all() -> None:
    assert list(animation.times(4.0, 1.0, 4)) == [1, 2, 3, 4]
    assert list(animation.times(4.0, 0.3, 10)) == pytest.approx([4 / 3, 8 / 3, 4])
    assert list(animation.times(4.0, 0.1, 10)) == [2, 4]
    assert len(list(animation.times(4.0, 2.66, 10))) == 27


def small() -> Picture:
    """Two panels with lines, an area, a reference line and a mark."""
    with style.picture(4.0, 3.0) as figure:
        one, other = figure.subplots(1, 2)
        one.plot([0, 1, 2], [5, 6, 7], zorder=5)
        one.plot([0, 2], [6, 6])
        one.fill_between([0, 1, 2], [1, 2, 3])
        other.plot([1, 2, 3, 4], [1, 2, 3, 4])
        other.set_xlim(-2, 4)
        other.fill_between([-2, 4], [2, 3])
    return figure


def test_lines_and_areas_are_shown_up_to_a_time_and_reference_lines_always() -> None:
    picture = small()
    limits = [axes.get_xlim() + axes.get_ylim() for axes in picture.axes]
    film = animation.Film(picture, 300)
    for until, points, widths in ((-3.0, (0, 0), (0, 0)), (1.0, (2, 1), (1.1, 3)), (2.5, (3, 2), (2.6, 4.5))):
        film.show(until)
        one, other = picture.axes
        assert [len(np.asarray(axes.get_lines()[0].get_xdata())) for axes in (one, other)] == list(points)
        assert [len(np.asarray(axes.get_lines()[0].get_ydata())) for axes in (one, other)] == list(points)
        assert len(np.asarray(one.get_lines()[1].get_xdata())) == 2
        assert [cover.get_width() for _, cover, _ in film._covers] == pytest.approx(list(widths))
        for axes, (area, _, low), wide in zip((one, other), film._covers, widths, strict=True):
            ends = axes.transData.transform([(low, 0), (low + wide, 0)])[:, 0]
            assert np.asarray(area.get_clip_box())[:, 0].tolist() == pytest.approx(ends.tolist())
    assert [axes.get_xlim() + axes.get_ylim() for axes in picture.axes] == limits
    covers = [cover for _, cover, _ in film._covers]
    assert [(cover.get_x(), cover.get_y(), cover.get_height()) for cover in covers] == [
        (pytest.approx(-0.1), 0, 1),
        (-2, 0, 1),
    ]
    moving = [artist for _, artist in film._moving]
    assert all(artist.get_animated() for artist in moving) and len(moving) == 4
    assert not picture.axes[0].get_lines()[1].get_animated()
    first, last = film.frame(-3.0), film.frame(9.0)
    assert (first.shape, str(first.dtype)) == ((224, 300, 3), "uint8")
    assert (first != last).any()
    # What was shown is gone again, and later things lie over earlier ones as in the picture itself.
    assert (film.frame(-3.0) == first).all()
    assert (film.frame(9.0) == last).all()
    for artist in moving:
        artist.set_animated(False)
    picture.canvas.draw()
    whole = np.asarray(picture.canvas.buffer_rgba())[..., :3]  # type: ignore[attr-defined]
    assert np.abs(whole.astype(int) - last.astype(int)).mean() < 0.5


@pytest.mark.parametrize(("width", "shape"), [(300, (224, 300)), (303, (226, 302)), (402, (302, 402))])
def test_a_film_has_even_sizes_and_the_layout_that_it_began_with(width: int, shape: tuple[int, int]) -> None:
    picture = small()
    film = animation.Film(picture, width)
    assert film.frame(1.0).shape[:2] == shape
    assert picture.get_figwidth() == 4
    places = [axes.get_position().bounds for axes in picture.axes]
    picture.axes[0].set_ylabel("of\nmany\nlines")
    film.frame(2.0)
    picture.canvas.draw()
    assert [axes.get_position().bounds for axes in picture.axes] == places


def test_a_gif_plays_its_frames_evenly_stays_on_the_last_and_begins_again(result: db.Result, tmp_path: Path) -> None:
    path = animation.write(result, tmp_path / "film.gif", column="cwnd", seconds=0.4, fps=12, width=240)
    with Image.open(path) as film:
        durations = []
        for number in range(film.n_frames):
            film.seek(number)
            durations.append(film.info["duration"])
        # A GIF counts in hundredths of a second.
        assert durations == [80, 80, 80, 80, 2000]
        assert (film.info["loop"], film.info["comment"]) == (0, animation.SIGN)
        shown = len(set(np.asarray(film.convert("RGB")).reshape(-1, 3).view("u1,u1,u1").ravel().tolist()))
        assert 16 < shown <= 64


def test_a_film_is_ten_seconds_of_fifteen_frames_unless_asked_otherwise(
    result: db.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[float] = []
    frame = animation.Film.frame

    def once(film: animation.Film, until: float) -> np.ndarray[Any, np.dtype[np.uint8]]:
        shown.append(until)
        # Later frames are as long to draw, and no other.
        return frame(film, until) if len(shown) == 1 else np.zeros((454, 960, 3), np.uint8)

    monkeypatch.setattr(animation.Film, "frame", once)
    with Image.open(animation.write(result, tmp_path / "film.gif", column="cwnd")) as film:
        assert (film.width, film.height) == (960, 454)
    assert shown == pytest.approx([4 * (number + 1) / 150 for number in range(150)])


def test_ffmpeg_gets_the_pixels_of_every_frame_and_how_they_are_meant(
    result: db.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin/ffmpeg"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\nfor last; do :; done\necho "$@" > "$last"\nwc -c >> "$last"\necho dumbbell animation >> "$last"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    path = animation.write(result, tmp_path / "film.mp4", column="cwnd", seconds=0.5, fps=6, width=320)
    said, count, _ = path.read_text().splitlines()
    # A picture of 7.2 by 3.4 inches, rounded to even numbers.
    width, height = 320, 152
    assert f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r 6 -i - -c:v libx264 -pix_fmt yuv420p" in said
    assert int(count) == 3 * width * height * 3
    # Once more, over its own file.
    animation.write(result, path, column="cwnd", seconds=0.5, fps=6, width=320)
    program.write_text("#!/bin/sh\necho first >&2\necho why >&2\nexit 3\n")
    with pytest.raises(OutputError, match=rf"cannot write {path}: ffmpeg failed: why$"):
        animation.write(result, path, column="cwnd", seconds=0.5, fps=6, width=320)
    assert path.read_text().splitlines()[1] == count


def test_a_film_is_not_written_over_what_is_not_ours(tmp_path: Path) -> None:
    animation.check_place(tmp_path / "new.gif")
    (tmp_path / "ours.gif").write_bytes(b"GIF89a " + animation.SIGN)
    animation.check_place(tmp_path / "ours.gif")
    (tmp_path / "folder.gif").mkdir()
    (tmp_path / "theirs.gif").write_bytes(b"GIF89a")
    for name, said in (
        ("folder.gif", "was not written by Dumbbell"),
        ("theirs.gif", "was not written by Dumbbell; choose another name or remove it"),
        ("film.avi", "the name of an animation ends in .gif or .mp4"),
    ):
        with pytest.raises(OutputError, match=re.escape(f"{tmp_path / name}") + ".*" + re.escape(said)):
            animation.check_place(tmp_path / name)
