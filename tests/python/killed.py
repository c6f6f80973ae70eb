"""Kills a process at each change that it makes to files, one after the other.

Run as ``python killed.py SCENE FOLDER``: prints for each step what the folder held afterwards, as a line of JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dumbbell import batches, results, storage

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir"}
WRITING = os.O_WRONLY | os.O_RDWR


def kill_before_change(number: int, counts: Callable[[str, tuple[Any, ...]], bool] | None = None) -> None:
    """From now on this process is killed when it is about to change files for the ``number``-th time."""
    changes = 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal changes
        is_change = event in CHANGES or (event == "open" and isinstance(args[2], int) and bool(args[2] & WRITING))
        if is_change and (counts is None or counts(event, args)):
            changes += 1
            if changes == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def write(folder: Path, content: str) -> None:
    with storage.directory(folder, results.RESULT) as staging:
        for name in results.RESULT.files:
            (staging / name).write_text(content)


def draw(folder: Path, content: str) -> None:
    with storage.adding(folder, results.RESULT, ["overview.svg"]):
        storage.write_file(folder / "overview.svg", content.encode())


def sweep(folder: Path, content: str) -> None:
    archive = batches.Archive(folder)
    with storage.claimed(folder, results.SWEEP):
        archive.discard_stale()
        there = [path for path in archive.folders() if (path / "points.parquet").read_text() == content]
        earlier = [path for path in archive.folders() if path not in there]
        for _ in range(2 - len(there)):
            with storage.directory(archive.next_folder(), batches.BATCH) as staging:
                for name in batches.BATCH.files:
                    (staging / name).write_text(content)
    with storage.directory(folder, results.SWEEP) as staging:
        for name in results.SWEEP.files:
            (staging / name).write_text(content)
    with storage.claimed(folder, results.SWEEP):
        for batch in earlier:
            storage.remove(batch, batches.BATCH)


def prepare(scene: str, folder: Path) -> Callable[[Path, str], None]:
    """Puts the folder into its state before the scene, and returns what happens in it."""
    if scene == "new":
        return write
    if scene == "empty":
        folder.mkdir()
        return write
    if scene == "new-sweep":
        return sweep
    (write if scene in ("replace", "draw") else sweep)(folder, "old")
    if scene != "replace-sweep":
        draw(folder, "old")
    (folder / "notes.txt").write_text("mine")
    (folder / "src").mkdir()
    (folder / "src" / "app.js").write_text("mine")
    return {"replace": write, "draw": draw, "replace-sweep": sweep}[scene]


def content(folder: Path) -> dict[str, str]:
    """The files below a folder; of the marker only that it is there."""
    return {
        str(path.relative_to(folder)): "" if path.name == storage.MARKER else path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def main(scene: str, parent: Path) -> None:
    folder = parent / "out"
    for step in range(1, 200):
        shutil.rmtree(parent)
        parent.mkdir()
        act = prepare(scene, folder)
        child = os.fork()
        if child == 0:
            kill_before_change(step)
            act(folder, "new")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        was_killed = os.WIFSIGNALED(status)
        for place in (folder, *folder.glob("batches/*")):
            storage.recover(place)
        after_kill = content(folder)
        act(folder, "new")
        print(json.dumps({"killed": was_killed, "after_kill": after_kill, "after_next": content(parent)}))
        if not was_killed:
            return


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
