"""Running points, on as many cores as there are.

The engine releases the interpreter lock while it simulates, so threads are enough: no processes, no pickling, and
results stay in the memory where the engine put them.
"""

from __future__ import annotations

import json
import os
import queue
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from dumbbell import _core, guard, memory, own
from dumbbell.grounds import LINUX, SIMULATED, SIMULATOR, Ground
from dumbbell.live import Live
from dumbbell.pieces import Pieces
from dumbbell.results import Meta, Result
from dumbbell.tables import Table

if TYPE_CHECKING:
    from dumbbell.processes import Processes

PATIENCE_S = 0.1
"""How long an interrupt may go unnoticed, and how long to wait for runs to stop that were left early: they look at
their token many times a second."""


class ClusterError(Exception):
    """A sweep cannot go on on its cluster; the message says why. What has finished is kept."""

    # Here, because whoever only has to know it by name need not import what runs on clusters.


class WorkerWarning(UserWarning):
    """A worker of a cluster has answered with what cannot be right, and is left out; the message names it."""


def engine_digest() -> str:
    """Digest of the sources of the engine, so that results of another one can be told apart.

    Two builds of the same sources have the same digest.
    """
    return _core.__sources__


def run_point(
    point: _core.Point,
    cancel: _core.CancelToken | None = None,
    max_memory: int | None = None,
    threads: int = 1,
    plain: bool = False,
) -> Result:
    """Simulates one point, in ``max_memory`` bytes, on ``threads`` threads; a ``plain`` run packet by packet."""
    pieces = Pieces()
    token = cancel or _core.CancelToken()
    try:
        with guard.watched(point, token):
            return measured(
                point, lambda: point.run(token, max_memory, pieces.take, threads, plain), tables=pieces.tables
            )
    except BaseException:
        pieces.discard()
        raise


def measured(
    point: _core.Point,
    run: Callable[[], _core.RunOutput],
    *,
    tables: Callable[[_core.Table, _core.Table], tuple[Table, Table]] | None = None,
) -> Result:
    """The result of a point that ``run`` runs; ``tables`` joins its series to what it has given away before."""
    begin = time.perf_counter()
    try:
        output = run()
        series, link_series = (
            (Table(output.series), Table(output.link_series))
            if tables is None
            else tables(output.series, output.link_series)
        )
    except _core.RunError as error:
        if point.label:
            raise type(error)(f"{point.label}: {error}") from None
        raise
    wall_s = time.perf_counter() - begin
    flows = Table(output.flows)
    traffic = Table(output.traffic)
    names = {row["cc"]: row["algorithm"] for table in (flows, traffic) for row in table.rows()}
    meta = Meta(
        version=_core.__version__,
        engine=engine_digest(),
        build=_core.__build__,
        label=point.label,
        repeat=point.repeat,
        seed=output.seed,
        content_hash=point.content_hash,
        sim_s=output.sim_s,
        cpu_s=output.cpu_s,
        wall_s=wall_s,
        events=output.events,
        packets=output.packets,
        algorithms=names,
        settings=point.settings,
        ground=SIMULATOR if output.certificate is None else LINUX,
        certificate=None if output.certificate is None else json.loads(output.certificate),
    )
    return Result(
        flows, series, Table(output.links), link_series, meta, point,
        traffic=traffic, completions=Table(output.completions), pages=Table(output.pages),
        rounds=Table(output.rounds), datagrams=Table(output.datagrams),
    )  # fmt: skip


def run_points(
    points: Sequence[_core.Point],
    jobs: int | None = None,
    max_memory: memory.Size | None = None,
    ground: Ground = SIMULATED,
    live: Live | None = None,
    idle: Callable[[], None] = lambda: None,
) -> Generator[tuple[int, Result]]:
    """Runs ``jobs`` points at a time on a ground, yielding index and result as they finish.

    By default there are as many runs at a time as keep all cores busy; one, where they would disturb each other.
    ``live``, which the ground has given, sees how far each of them is.

    At most two points a job are under way or waiting to be taken, so memory does not grow with the sweep. Leaving
    the iterator early, by an exception or an interrupt, stops the points under way. Each run may take ``max_memory``,
    by default its part of :data:`dumbbell.memory.SHARE` of the machine. ``idle`` is called now and then while no result
    comes.
    """
    at_once = jobs or max(1, (os.cpu_count() or 1) // ground.threads)
    own.check_not_loading()
    workers = 1 if ground.is_alone else min(at_once, max(1, len(points)))
    processes = _processes(points, workers) if ground.takes_processes else None
    limit = memory.limit_of_a_run(max_memory, workers)
    cancel = _core.CancelToken()
    patience = guard.Patience(limit and limit * workers)
    waiting = iter(enumerate(points))
    pending: dict[Future[Result], int] = {}
    done: queue.SimpleQueue[Future[Result]] = queue.SimpleQueue()
    executor = ThreadPoolExecutor(workers, thread_name_prefix="dumbbell")
    try:
        while True:
            while len(pending) < 2 * workers and (entry := next(waiting, None)) is not None:
                index, point = entry
                if processes is not None:
                    future = executor.submit(processes.run, point, limit)
                else:
                    future = executor.submit(ground.run, point, cancel, limit, live)
                pending[future] = index
                future.add_done_callback(done.put)
            if not pending:
                return
            # Waiting has to end now and then: with Polars loaded, system calls go on after a signal, and an interrupt
            # would be seen only when a point is finished.
            try:
                future = done.get(timeout=PATIENCE_S)
            except queue.Empty:
                patience.check()
                idle()
                continue
            yield pending.pop(future), future.result()
    finally:
        cancel.cancel()
        guard.interrupt(cancel)
        if processes is not None:
            processes.close()
        executor.shutdown(wait=False, cancel_futures=True)
        wait(pending, timeout=PATIENCE_S)


def _processes(points: Sequence[_core.Point], workers: int) -> Processes | None:
    """Processes for several points of algorithms in Python, all of which another process can load.

    Where all classes are compiled, points run in threads, all with what was compiled once.
    """
    if workers < 2:
        return None
    texts = {text for point in points for key, text, _ in point.loaded_algorithms if key == "python"}
    if not texts or not all(map(own.is_loaded_elsewhere, texts)) or not any(point.is_interpreted for point in points):
        return None
    from dumbbell.processes import Processes

    return Processes()
