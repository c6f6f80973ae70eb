"""Temporary folders do not outlive whoever made them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import dumbbell as db
from dumbbell import scratch

SWEEP = {
    "duration": "200ms",
    "path": {"rate": "1mbit", "rtt": "20ms"},
    "flows": [{"cc": "reno"}],
    "sweep": {"repeat": 2},
}
MAKING = (
    "import sys; from dumbbell import scratch; "
    "folder = scratch.Folder('task'); (folder.path / 'file').write_text('x'); print(folder.path, flush=True); "
    "sys.stdin.read()"
)


LOCKS = pytest.mark.skipif(os.name != "posix", reason="there are no such locks")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders appear, here and in processes that are started."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


@LOCKS
def test_the_folder_of_a_killed_process_goes_with_the_next_sweep(tmp_path: Path, place: Path) -> None:
    command = [sys.executable, "-c", MAKING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        # It is in use, and others leave it alone, as what is not ours.
        (place / "dumbbell-notes").mkdir()
        db.sweep(SWEEP, out=tmp_path / "one").collect()
        assert (folder / "file").is_file()
        process.kill()
    assert folder.is_dir()
    db.sweep(SWEEP, out=tmp_path / "two").collect()
    assert [path.name for path in place.iterdir()] == ["dumbbell-notes"]


REMOVING = (
    "import os, signal, sys; from dumbbell import scratch\n"
    "folder = scratch.Folder('task'); [(folder.path / name).mkdir() for name in 'az']; (folder.path / 'm').touch()\n"
    "left = int(sys.argv[1])\n"
    "def hook(event, args):\n"
    "    global left\n"
    "    left -= event in ('os.remove', 'os.rmdir', 'os.unlink')\n"
    "    if left < 0: os.kill(os.getpid(), signal.SIGKILL)\n"
    "sys.addaudithook(hook); folder.remove()"
)


@LOCKS
def test_a_process_killed_while_it_removes_its_folder_leaves_what_the_next_one_knows(place: Path) -> None:
    # Three things within it.
    for step in range(4):
        subprocess.run([sys.executable, "-c", REMOVING, str(step)])
        (left,) = place.iterdir()
        assert {path.name for path in left.iterdir()} >= {"owner"}, step
        scratch.remove_abandoned()
        assert not list(place.iterdir()), step


def owner() -> bytes:
    """What the file of the owner of a folder says."""
    with scratch.Folder("task") as folder:
        return (folder / "owner").read_bytes()


@LOCKS
def test_a_folder_of_somebodys_own_stays_whatever_its_files_are_called(place: Path) -> None:
    ours = owner()
    for name, said in (("empty", b""), ("notes", b"me"), ("more", ours + b"."), ("ours", ours)):
        (place / f"dumbbell-{name}").mkdir()
        (place / f"dumbbell-{name}" / "owner").write_bytes(said)
    scratch.remove_abandoned()
    assert {path.name for path in place.iterdir()} == {"dumbbell-empty", "dumbbell-notes", "dumbbell-more"}


def test_the_folder_of_another_user_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can become another user")
    said = owner()
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        theirs = Path(place) / "dumbbell-theirs"
        theirs.mkdir(mode=0o700)
        (theirs / "owner").write_bytes(said)
        monkeypatch.setattr("tempfile.tempdir", place)
        os.seteuid(65534)
        try:
            scratch.remove_abandoned()
        finally:
            os.seteuid(0)
        assert (theirs / "owner").is_file()


def test_a_folder_goes_with_its_block(place: Path) -> None:
    with scratch.Folder("task") as folder:
        (folder / "file").write_text("x")
        assert folder.parent == place
    assert not list(place.iterdir())
