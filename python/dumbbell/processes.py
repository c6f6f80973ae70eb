"""Points in processes of their own, for algorithms in Python: one interpreter runs one thread of Python at a time.

A thread of the sweep has a process and speaks with it over its standard input and output; it ends when the thread's
owner closes it, or is gone.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from dumbbell import _core
from dumbbell.jobs import Job, encoded, run_job
from dumbbell.results import Result

_SIZE = 8
"""Bytes before each message that say how long it is."""


class Processes:
    """Processes that run points, one for each thread that asks."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._all: list[subprocess.Popen[bytes]] = []
        self._closed = False
        self._lock = threading.Lock()

    def run(self, point: _core.Point, limit: int | None) -> Result:
        """Runs a point in the process of this thread, in ``limit`` bytes."""
        process = self._process()
        text = point.resolved_toml
        job = Job(text, point.content_hash, point.label, point.repeat, point.settings)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _send(process.stdin, (job, limit))
            answer = _receive(process.stdout)
        except (OSError, EOFError):
            del self._own.process
            if self._closed:
                raise _core.RunCancelled("interrupted") from None
            raise _core.RunError(_lost(point, process.wait())) from None
        if isinstance(answer, BaseException):
            raise answer
        from dumbbell.batches import Batch

        (result,) = Batch.decoded(answer, Path("process")).results(Path("process"))
        return replace(result, described=point)

    def close(self) -> None:
        """Ends all processes, whatever they do."""
        with self._lock:
            self._closed = True
        for process in self._all:
            process.kill()
        for process in self._all:
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()

    def _process(self) -> subprocess.Popen[bytes]:
        found: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        if found is not None:
            return found
        with self._lock:
            if self._closed:
                raise _core.RunCancelled("interrupted")
            command = [sys.executable, "-m", "dumbbell.processes"]
            path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
            environment = os.environ | {"PYTHONPATH": path}
            # Ctrl-C is meant for whoever asked; the process is told by its end.
            found = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
            )
            self._all.append(found)
            self._own.process = found
            return found


def _lost(point: _core.Point, status: int) -> str:
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    return (
        f"{point.label or 'the run'}: the process of this run {how}\n"
        "  help: does the algorithm call os._exit, or a library that crashes, or was memory short?"
    )


def _send(stream: IO[bytes], message: object) -> None:
    content = pickle.dumps(message)
    stream.write(len(content).to_bytes(_SIZE, "little") + content)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    size = int.from_bytes(_exactly(stream, _SIZE), "little")
    return pickle.loads(_exactly(stream, size))


def _exactly(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


def work() -> None:
    """Runs points until standard input ends, and then ends at once."""
    source = sys.stdin.buffer
    # What an algorithm prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    jobs: queue.SimpleQueue[tuple[Job, int | None]] = queue.SimpleQueue()

    def read() -> None:
        try:
            while True:
                jobs.put(_receive(source))
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=read, name="dumbbell-jobs", daemon=True).start()
    from dumbbell.guard import Patience

    cancel = _core.CancelToken()
    while True:
        job, limit = jobs.get()
        ended = threading.Event()
        watch = threading.Thread(target=_watch, args=(Patience(limit), ended), name="dumbbell-watch", daemon=True)
        watch.start()
        try:
            answer: object = next(encoded([run_job(job, Path("process"), limit, cancel)]))
        except BaseException as error:
            answer = _portable(error)
        ended.set()
        watch.join()
        _send(answers, answer)


def _watch(patience: Any, ended: threading.Event) -> None:
    while not ended.wait(0.1):
        patience.check()


def _portable(error: BaseException) -> BaseException:
    """An error that another process can read."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return _core.RunError(f"{type(error).__name__}: {error}")
    return error


if __name__ == "__main__":
    work()
