"""Sweeps on many machines: points as tasks of Dask.distributed, several in each.

A task holds experiments as texts with every default filled in, and answers with the files of a batch, as they are
stored. Traces are tasks of their own, so that each machine gets one once, also after another was lost. What comes back
is committed by the machine that asked, as if it had run there. When that is interrupted or lost, tasks that wait are
taken back, and those that run stop.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell import _core, extras, memory, scratch
from dumbbell.answers import WrongAnswerError, checked
from dumbbell.batches import Batch
from dumbbell.commits import MAX_ROWS
from dumbbell.jobs import Job, encoded, run_job
from dumbbell.parallel import PATIENCE_S, ClusterError, WorkerWarning, engine_digest
from dumbbell.results import BESIDE, SCENARIO, TRACES, Result

if TYPE_CHECKING:
    from dask.typing import Key
    from distributed import Client, Future, Worker

TASK_S = 1.0
"""How long a task should take: long beside what the scheduler needs for one, short beside what a lost worker costs."""

TASKS_PER_S = 200
"""What a scheduler can be asked to hand out in a second: on large clusters tasks are longer, so that it is no more."""

MAX_POINTS = 1024
"""So many points are one task at most."""

AHEAD = 3
"""So many tasks for each thread are with the scheduler: one that runs, and others that wait where they will run."""

SLOW_S = 60.0
"""A task that has been with a worker for so long, and longer than others took, is given to one that is idle, too."""

WAIT_S = 30.0
"""How long to wait for the scheduler, and for the first worker."""


@dataclass(frozen=True)
class Outcome:
    """What a task has finished."""

    batches: Sequence[Mapping[str, bytes]]
    """The files of batches."""
    error: Exception | None
    """Why it did not finish the rest."""
    seconds: float

    def decoded(self) -> Iterator[Batch]:
        """The batches."""
        return (Batch.decoded(files, Path("worker")) for files in self.batches)


@dataclass
class _Pace:
    """How many points a task should have."""

    points: int = 0
    seconds: float = 0.0

    def size(self, threads: int) -> int:
        """As many as take :data:`TASK_S`, or longer where there are many threads; one until a point is known."""
        if not self.seconds:
            return 1
        task_s = max(TASK_S, threads / TASKS_PER_S)
        return max(1, min(MAX_POINTS, int(task_s * self.points / self.seconds)))

    def add(self, points: int, seconds: float) -> None:
        self.points += points
        self.seconds += seconds


def connect(address: str) -> Client:
    """The client of the scheduler at an address such as ``tcp://head:8786``.

    Raises:
        ClusterError: It does not answer.
        MissingExtraError: Dask.distributed is not installed.
    """
    extras.need("cluster", "a cluster")
    from distributed import Client

    try:
        return Client(address, timeout=WAIT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(
            f"no scheduler answers at {address}: {error}\n"
            "  help: start one with `dask scheduler`, and workers with `dask worker`"
        ) from None


def run_on_cluster(
    points: Sequence[_core.Point],
    client: Client,
    max_memory: memory.Size | None = None,
    idle: Callable[[], None] = lambda: None,
    keep_traces: Callable[[Sequence[tuple[str, str]]], None] = lambda traces: None,
    verify: float = 0.0,
) -> Generator[Batch]:
    """Runs points on the workers of ``client``, yielding them in batches as they finish.

    Few more tasks are with the scheduler than run at a time, so that memory does not grow with the sweep.
    ``idle`` is called now and then, and ``keep_traces`` with the traces that a point names, before it runs.
    A worker whose answer cannot be right is left out, with a :class:`WorkerWarning`, and its points run elsewhere; what
    one holds while others have nothing left to do runs on another, too, and the first answer counts;
    of all points a share of ``verify`` is run again on this machine and compared.

    Raises:
        ClusterError: A worker runs another build of the engine, or the scheduler was lost, or one task several workers.
    """
    _check_workers(client)
    done: queue.SimpleQueue[Future] = queue.SimpleQueue()
    tasks = _Tasks(client, points, max_memory, keep_traces)
    limit = memory.limit_of_a_run(max_memory, 1) or sys.maxsize
    pending: set[Future] = set()
    pace = _Pace()
    try:
        while True:
            threads = tasks.threads()
            while len(pending) < AHEAD * threads and (future := tasks.submit(pace.size(threads))) is not None:
                pending.add(future)
                future.add_done_callback(done.put)
            if not pending:
                return
            try:
                future = done.get(timeout=PATIENCE_S)
            except queue.Empty:
                _check_scheduler(client)
                idle()
                if len(pending) < AHEAD * threads:
                    for future in tasks.run_slow_ones_again(pending):
                        pending.add(future)
                        future.add_done_callback(done.put)
                continue
            if future not in pending:
                # Its worker was left out since.
                continue
            pending.remove(future)
            try:
                outcome, batches = _outcome(future, client, tasks.asked[future], verify, limit)
            except WrongAnswerError as error:
                tasks.take_back(future)
                for other in _leave_out(client, future, pending, str(error)):
                    pending.remove(other)
                    tasks.take_back(other)
                continue
            finally:
                future.release()
            if (other := tasks.finish(future, outcome.seconds)) is not None:
                pending.remove(other)
                client.cancel([other])
            for batch in batches:
                pace.add(len(batch.metas), outcome.seconds / len(batches))
                yield batch
            if outcome.error is not None:
                yield from _finished(done, client, tasks, verify, limit)
                raise outcome.error
    finally:
        try:
            client.cancel(list(pending))
        except OSError:
            pass
        except Exception:
            # A client that has given its scheduler up has nothing to cancel, and each version says so in its own way.
            if client.status != "closed":
                raise


class _Tasks:
    """The points that are not yet with the scheduler."""

    def __init__(
        self,
        client: Client,
        points: Sequence[_core.Point],
        max_memory: memory.Size | None,
        keep_traces: Callable[[Sequence[tuple[str, str]]], None],
    ) -> None:
        self._client = client
        self._waiting = iter(points)
        self.asked: dict[Future, Mapping[str, _core.Point]] = {}
        """The points of each task that is with the scheduler, by their hashes."""
        self._max_memory = max_memory
        self._keep_traces = keep_traces
        self._traces: dict[str, Future] = {}
        self._threads = (0.0, 1)
        self._since: dict[Future, float] = {}
        """When each task that is with the scheduler was given to it."""
        self._longest_s = 0.0
        """Of the tasks that are finished."""
        self._twins: dict[Future, Future] = {}
        """Tasks with equal points, two by two."""

    def threads(self) -> int:
        """The threads of all workers, which come and go."""
        asked, threads = self._threads
        if time.monotonic() - asked > 1.0:
            with _scheduler_needed(self._client):
                threads = max(1, sum(self._client.nthreads().values()))
            self._threads = time.monotonic(), threads
        return threads

    def submit(self, size: int) -> Future | None:
        """Gives ``size`` points to the scheduler; ``None`` if there are none left."""
        points = list(islice(self._waiting, size))
        return self._submit(points) if points else None

    def _submit(self, points: Iterable[_core.Point], workers: Sequence[str] | None = None) -> Future:
        jobs: list[Job] = []
        asked: dict[str, _core.Point] = {}
        names: set[str] = set()
        for point in points:
            text, traces = point.resolved_toml_beside(BESIDE)
            self._keep_traces(traces)
            for name, content in traces:
                names.add(name)
                if name not in self._traces:
                    self._traces[name] = self._client.submit(_same, content, key=f"dumbbell-{name}")
            asked[point.content_hash] = point
            jobs.append(Job(text, point.content_hash, point.label, point.repeat, point.settings))
        traces_of_jobs = {name: self._traces[name] for name in sorted(names)}
        arguments = (jobs, engine_digest(), self._max_memory, traces_of_jobs)
        future = self._client.submit(work, *arguments, pure=False, workers=workers)
        self.asked[future] = asked
        self._since[future] = time.monotonic()
        return future

    def take_back(self, future: Future) -> None:
        """Its points are for another worker, unless another has them already."""
        asked = self.asked.pop(future)
        if self._forget(future) is None:
            self._waiting = chain(asked.values(), self._waiting)

    def finish(self, future: Future, seconds: float) -> Future | None:
        """Has the answer of a task; returns the other one with its points, which nobody waits for any more."""
        del self.asked[future]
        self._longest_s = max(self._longest_s, seconds)
        other = self._forget(future)
        if other is not None:
            del self.asked[other]
            self._forget(other)
        return other

    def _forget(self, future: Future) -> Future | None:
        """The other task with its points, if there is one."""
        del self._since[future]
        other = self._twins.pop(future, None)
        if other is not None:
            self._twins.pop(other, None)
        return other

    def run_slow_ones_again(self, pending: Collection[Future]) -> list[Future]:
        """Gives what workers have held for long to others that have nothing to do."""
        now, patience = time.monotonic(), max(SLOW_S, 2 * AHEAD * self._longest_s)
        slow = [one for one in pending if one not in self._twins and now - self._since[one] > patience]
        if not slow:
            return []
        with _scheduler_needed(self._client):
            processing = self._client.processing()
        idle = [address for address, keys in processing.items() if not keys]
        again: list[Future] = []
        for future in slow:
            holder = next((address for address, keys in processing.items() if future.key in keys), None)
            if holder is None or not idle:
                continue
            held_s, count = now - self._since[future], len(self.asked[future])
            warnings.warn(
                f"{holder} has had {count} {'point' if count == 1 else 'points'} for {held_s:,.0f} s: "
                "another worker runs the same, and the first answer counts",
                WorkerWarning,
                stacklevel=2,
            )
            other = self._submit(self.asked[future].values(), idle)
            self._twins |= {future: other, other: future}
            again.append(other)
        return again


def work(
    jobs: Sequence[Job],
    engine: str,
    max_memory: memory.Size | None,
    traces: Mapping[str, str],
    threads: int | None = None,
) -> Outcome:
    """Runs points on a worker, which holds no more rows of them than are committed together."""
    begin = time.perf_counter()
    error: Exception | None = None
    batches: list[Mapping[str, bytes]] = []
    results: list[Result] = []
    rows = 0
    try:
        if engine_digest() != engine:
            raise ClusterError(_other_builds({_worker_address(): engine_digest()}, engine))
        limit = memory.limit_of_a_run(max_memory, threads or _worker_threads())
        with _while_wanted() as cancel, scratch.Folder("task") as folder:
            place = folder / "batches" / "0" / SCENARIO
            place.parent.mkdir(parents=True)
            (folder / TRACES).mkdir()
            for name, content in traces.items():
                (folder / TRACES / name).write_text(content, encoding="utf-8")
            for job in jobs:
                results.append(run_job(job, place, limit, cancel))
                rows += results[-1].rows
                if results[-1].is_long or rows >= MAX_ROWS:
                    batches += encoded(results)
                    results.clear()
                    rows = 0
    except (_core.RunError, ClusterError) as raised:
        error = raised
    except OSError as raised:
        error = ClusterError(f"the worker {_worker_address()} could not run a point: {raised}")
    return Outcome([*batches, *encoded(results)], error, time.perf_counter() - begin)


@contextmanager
def _while_wanted() -> Iterator[_core.CancelToken]:
    """A token that is cancelled when nobody waits for this task any more: whoever asked was interrupted, or is gone."""
    from distributed import get_worker

    cancel = _core.CancelToken()
    ended = threading.Event()
    try:
        worker = get_worker()
    except ValueError:
        # Not a task, but called by somebody who waits.
        yield cancel
        return
    arguments = (worker, worker.get_current_task(), ended, cancel)
    threading.Thread(target=_watch, args=arguments, name="dumbbell-watch", daemon=True).start()
    try:
        yield cancel
    finally:
        ended.set()


def _watch(worker: Worker, key: Key, ended: threading.Event, cancel: _core.CancelToken) -> None:
    """Cancels the run of a task that the scheduler has taken back, which the worker knows without asking anybody."""
    while not ended.wait(PATIENCE_S):
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            cancel.cancel()
            return


def _same(content: str) -> str:
    """A trace as a task, which another worker can do again when one is lost."""
    return content


def _outcome(
    future: Future, client: Client, asked: Mapping[str, _core.Point], verify: float, limit: int
) -> tuple[Outcome, list[Batch]]:
    """What a task has finished, looked through; raises :class:`WrongAnswerError`."""
    from distributed import KilledWorker

    try:
        with _scheduler_needed(client):
            outcome = future.result()
    except KilledWorker as error:
        raise ClusterError(
            f"a task was given up after {error.allowed_failures + 1} workers were lost with it, the last "
            f"{error.last_worker.address}\n"
            "  help: look into the workers' logs; runs may need more memory than the workers have (--max-memory)"
        ) from None
    return outcome, checked(outcome, asked, verify, limit)


def _leave_out(client: Client, future: Future, pending: Collection[Future], problem: str) -> list[Future]:
    """Gives no more tasks to the worker that has answered so, of whom the scheduler tells who that was.

    Returns its other tasks, also those that it has finished: leaving, it would hand them on to other workers, which
    would be blamed. Tasks that no worker has yet are returned, too: the next would go to it.
    """
    with _scheduler_needed(client):
        # In this order: a task that is finished in between is found as one that was running.
        processing = client.processing()
        holders = client.who_has([future, *pending])
        addresses = set(holders.get(future.key, ()))
        shown = ", ".join(sorted(addresses)) or "a worker that is gone"
        warnings.warn(f"{shown} has answered with {problem}: it is left out", WorkerWarning, stacklevel=2)
        if not set(client.nthreads()) - addresses:
            raise ClusterError(f"no worker is left: {shown} has answered with {problem}")
        elsewhere = {key for address, keys in processing.items() if address not in addresses for key in keys}
        elsewhere |= {key for key, there in holders.items() if there and not addresses & set(there)}
        others = [one for one in pending if one.key not in elsewhere]
        client.cancel(others)
        client.retire_workers(list(addresses), close_workers=True)
    return others


def _finished(
    done: queue.SimpleQueue[Future], client: Client, tasks: _Tasks, verify: float, limit: int
) -> Iterator[Batch]:
    """What other tasks have finished when one has failed."""
    while not done.empty():
        future = done.get()
        if future.status == "finished" and future in tasks.asked:
            with suppress(WrongAnswerError):
                batches = _outcome(future, client, tasks.asked[future], verify, limit)[1]
                tasks.finish(future, 0.0)
                yield from batches


@contextmanager
def _scheduler_needed(client: Client) -> Iterator[None]:
    """Says of a call that failed because the scheduler is gone that it is."""
    from distributed.comm import CommClosedError

    try:
        yield
    except (CommClosedError, CancelledError, TimeoutError):
        raise ClusterError(_lost(client)) from None
    except OSError:
        # Where Dask is told to try again, it ends with another error.
        if client.status == "running":
            raise
        raise ClusterError(_lost(client)) from None


def _check_scheduler(client: Client) -> None:
    if client.status in ("closed", "closing"):
        raise ClusterError(_lost(client))


def _lost(client: Client) -> str:
    address = client.scheduler.address if client.scheduler is not None else "the cluster"
    return f"the scheduler at {address} was lost\n  help: start it again, and run the same command, which runs the rest"


def _check_workers(client: Client) -> None:
    """Waits for a worker and refuses workers that would not give the same bytes.

    The scheduler is asked, not `Client.wait_for_workers`: that puts a new list of workers into the cluster object of
    the client, and a worker lost at that moment then makes `LocalCluster.close` fail with a `KeyError`.
    """
    deadline = time.monotonic() + WAIT_S
    while not client.nthreads():
        if time.monotonic() > deadline:
            raise ClusterError(f"no worker has come to the scheduler within {WAIT_S:g} s")
        time.sleep(0.05)
    here = engine_digest()
    found = client.run(engine_digest, on_error="return")
    if others := {address: digest for address, digest in found.items() if digest != here}:
        raise ClusterError(_other_builds(others, here))


def _other_builds(others: Mapping[str, object], here: str) -> str:
    shown = ", ".join(f"{address} ({digest})" for address, digest in sorted(others.items())[:4])
    return (
        f"workers run another build of the engine than this machine ({here}): {shown}\n"
        "  help: install the same package on all of them; other builds are not mixed into one sweep"
    )


def _worker_threads() -> int:
    from distributed import get_worker

    return int(get_worker().state.nthreads)


def _worker_address() -> str:
    from distributed import get_worker

    return str(get_worker().address)
