"""Runs played in time: what frames show, and what is written."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import dumbbell as db
from conftest import Cli
from dumbbell.plots import animation
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
