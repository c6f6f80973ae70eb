"""Sweeps on a cluster: the bytes of one machine, whatever happens to workers."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dumbbell as db
from conftest import SWEEP, Cli
from dumbbell import Sweep, answers, batches, cluster, commits, experiment, parallel
from dumbbell.jobs import Job
from load import PATIENCE_S, wait_until

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
dask = pytest.importorskip("dask")

pytestmark = pytest.mark.filterwarnings("default")

AMPLE = 1 << 30
"""Bytes that an answer may have."""

MANY: dict[str, Any] = {
    "duration": "1s",
    "path": {"rate": "20mbit", "rtt": "20ms"},
    "flows": [{"cc": "bbr"}, {"cc": "cubic"}],
    "sweep": {"path.loss": ["0%", "1%"], "repeat": 50},
}


@pytest.fixture(scope="module")
def local_cluster() -> Iterator[Any]:
    """A cluster of two processes on this machine, which starts workers anew that are killed."""
    with (
        _settings(),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as local,
    ):
        yield local


@pytest.fixture
def client(local_cluster: Any) -> Iterator[Any]:
    """A client of the cluster, whose two workers are there.

    It knows the scheduler alone: the wait of a client that knows its `LocalCluster` overwrites the cluster's own list
    of workers, and where a worker was lost at that moment `LocalCluster.close` fails.
    """
    with distributed.Client(local_cluster.scheduler_address, set_as_default=False) as connected:
        connected.wait_for_workers(2, timeout=PATIENCE_S)
        yield connected


def _settings() -> Any:
    """Nobody waits half a minute for a worker that was killed, and one that starts slowly is not given up.

    Without the last, a cluster forgets a lost worker that is not back within 15 seconds, and no other takes its place.
    """
    patience = {"distributed.comm.retry.count": 1, "distributed.comm.timeouts.connect": "5s"}
    given_up = {"distributed.scheduler.allowed-failures": 1, "distributed.deploy.lost-worker-timeout": f"{PATIENCE_S}s"}
    return dask.config.set(patience | given_up)


def pids(client: Any) -> list[int]:
    return list(client.run(os.getpid).values())


def same_files(one: Path, two: Path) -> bool:
    return all((one / name).read_bytes() == (two / name).read_bytes() for name in ("flows.parquet", "links.parquet"))


def test_a_class_in_a_file_runs_on_workers_that_have_it(client: Any, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("class Mine:\n    def on_ack(self, conn, ack):\n        conn.cwnd = 20\n")
    swept = MANY | {"flows": [{"cc": {"python": f"{file}:Mine"}}], "sweep": {"repeat": 4}}
    here = db.sweep(swept, jobs=1, progress=False).collect()
    there = db.sweep(swept, client=client, progress=False).collect()
    assert there.flows.to_polars().equals(here.flows.to_polars())
    points = experiment.load(swept).points
    file.unlink()
    with pytest.raises(db.RunError, match="another process cannot read the experiment:\nerror: there is no file"):
        Sweep(points, jobs=None, out=None, progress=False, client=client).collect()


def test_a_cluster_gives_the_bytes_of_one_machine_also_when_a_worker_is_killed(client: Any, tmp_path: Path) -> None:
    alone = db.sweep(MANY, out=tmp_path / "alone").collect()
    first = pids(client)
    sweep = db.sweep(MANY, out=tmp_path / "out", client=client)
    indices = []
    for count, result in enumerate(sweep, 1):
        indices.append((result.meta.label, result.meta.repeat))
        if count == 10:
            os.kill(first[0], signal.SIGKILL)
    assert sweep.finished == sweep.committed == len(set(indices)) == 100
    joined = db.sweep(MANY, out=tmp_path / "out", client=client).collect()
    assert same_files(tmp_path / "out", tmp_path / "alone")
    for one, two in zip(joined.points[::17], alone.points[::17], strict=True):
        assert joined.load(one).series.to_polars().equals(alone.load(two).series.to_polars())
        assert joined.load(one).scenario_toml == alone.load(two).scenario_toml
    stored = pl.read_parquet(tmp_path / "out" / "batches" / "*" / "points.parquet")
    assert stored.height == 100 and stored["content_hash"].is_unique().all()


def test_without_a_directory_results_have_their_series_and_traces(client: Any, tmp_path: Path) -> None:
    trace = tmp_path / "my.up"
    trace.write_text("".join(f"{ms}\n" for ms in range(1, 3001)))
    document = MANY | {"path": {"trace": str(trace), "rtt": "20ms"}, "sweep": {"repeat": 3}}
    alone = {result.meta.content_hash: result for result in db.sweep(document)}
    for result in db.sweep(document, client=client):
        again = alone.pop(result.meta.content_hash)
        assert result.scenario_toml == again.scenario_toml
        assert result.series.to_polars().equals(again.series.to_polars())
    assert not alone
    kept = db.sweep(document, out=tmp_path / "out", client=client).collect()
    (file,) = (tmp_path / "out" / "traces").iterdir()
    assert file.read_text() == trace.read_text()
    extracted = kept.load(kept.points[1]).save(tmp_path / "one")
    assert db.run(extracted / "scenario.toml").meta.content_hash == kept.points[1].content_hash


def test_points_too_long_for_memory_come_back_as_batches_of_their_own(client: Any, tmp_path: Path) -> None:
    document = MANY | {"record": {"interval": "10us"}, "flows": [{"cc": "bbr"}], "sweep": {"repeat": 2}}
    sweep = db.sweep(document, out=tmp_path / "out", client=client).collect()
    assert len(list((tmp_path / "out" / "batches").iterdir())) == 2
    assert [len(sweep.load(point).series) > 90_000 for point in sweep.points] == [True, True]


def test_a_run_that_fails_ends_the_sweep_and_what_was_finished_is_kept(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In one task, so that the two are finished before it whatever else the machine does.
    monkeypatch.setattr(cluster._Pace, "size", lambda self, threads: 3)
    endless = {"name": "cubic", "hystart": False}
    document = {
        "duration": "10s",
        "record": {"series": False},
        "path": {"rate": "1mbit", "rtt": "10ms"},
        "flows": [{"cc": endless, "transport": {"profile": "quic", "receive_window": "1024TiB"}}],
        "sweep": {"path.rate": ["1mbit", "2mbit", "unlimited"]},
    }
    sweep = db.sweep(document, out=tmp_path / "out", client=client, max_memory="200MiB")
    with pytest.raises(db.RunError, match=r"path\.rate=unlimited: .*memory"):
        sweep.collect()
    assert sweep.committed == batches.Archive(tmp_path / "out").count() == 2


def test_the_list_of_workers_of_a_local_cluster_is_left_to_it(local_cluster: Any, client: Any) -> None:
    kept = local_cluster.scheduler_info
    with distributed.Client(local_cluster, set_as_default=False) as its_own:
        assert len(list(db.sweep(MANY | {"sweep": {"repeat": 2}}, client=its_own))) == 2
    assert local_cluster.scheduler_info is kept


def test_a_cluster_without_workers_is_said_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "WAIT_S", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        distributed.Client(empty, set_as_default=False) as client,
        pytest.raises(db.ClusterError, match=r"no worker has come to the scheduler within 0\.2 s"),
    ):
        db.sweep(MANY, client=client).collect()


def test_a_worker_with_another_build_is_named_before_anything_runs(client: Any, tmp_path: Path) -> None:
    own = parallel.engine_digest()

    def become(digest: str) -> None:
        import dumbbell.parallel

        dumbbell.parallel.engine_digest = lambda: digest

    (address, _) = client.nthreads()
    client.run(become, "0123456789abcdef", workers=[address])
    try:
        with pytest.raises(db.ClusterError, match=rf"(?s){address} \(0123456789abcdef\).*install the same package"):
            db.sweep(MANY, out=tmp_path / "out", client=client).collect()
    finally:
        client.run(become, own, workers=[address])
    assert not (tmp_path / "out").exists()


def test_a_worker_with_another_build_that_comes_later_mixes_nothing_in() -> None:
    (point,) = experiment.load(MANY, set={"sweep": {"repeat": 1}}).points
    text, _ = point.resolved_toml_beside("x")
    job = Job(text, point.content_hash, point.label, point.repeat, point.settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "_worker_address", lambda: "tcp://late:1")
        outcome = cluster.work([job], "another", None, {}, 1)
    assert outcome.batches == []
    assert isinstance(outcome.error, db.ClusterError) and "tcp://late:1" in str(outcome.error)
    wrong = Job(text, "0" * 64, point.label, point.repeat, point.settings)
    assert isinstance(cluster.work([wrong], parallel.engine_digest(), None, {}, 1).error, db.ClusterError)
    outcome = cluster.work([job], parallel.engine_digest(), None, {}, 1)
    assert outcome.error is None and len(outcome.batches) == 1


def test_a_worker_holds_no_more_rows_than_are_committed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    points = experiment.load(MANY, set={"sweep": {"repeat": 5}}).points
    jobs = [Job(point.resolved_toml, point.content_hash, point.label, point.repeat, point.settings) for point in points]
    rows = parallel.run_point(points[0]).rows
    monkeypatch.setattr(cluster, "MAX_ROWS", 2 * rows - 10)
    outcome = cluster.work(jobs, parallel.engine_digest(), None, {}, 1)
    assert outcome.error is None
    assert [len(batch.metas) for batch in outcome.decoded()] == [2, 2, 1]


def test_a_worker_without_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_worker_address", lambda: "tcp://full:1")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    outcome = cluster.work([], parallel.engine_digest(), None, {}, 1)
    assert isinstance(outcome.error, db.ClusterError) and "tcp://full:1" in str(outcome.error)


def test_a_task_that_kills_its_workers_is_given_up(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "work", _die)
    with pytest.raises(db.ClusterError, match=r"given up after 2 workers were lost"):
        db.sweep(MANY, out=tmp_path / "out", client=client).collect()


@pytest.mark.parametrize(("sign", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_when_who_asked_is_interrupted_or_lost_workers_stop_and_have_nothing_left_to_do(
    client: Any, tmp_path: Path, sign: signal.Signals, status: int
) -> None:
    path, out = tmp_path / "sweep.toml", tmp_path / "out"
    path.write_text(f'{SWEEP.replace("4s", "300h")}"flows[0].cc" = ["cubic", "bbr"]\n')
    command = [sys.executable, "-m", "dumbbell", "run", str(path), "--cluster", client.scheduler.address]
    asking = subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_until(lambda: all(client.run(_runs_something).values()))
    asking.send_signal(sign)
    _, err = asking.communicate(timeout=PATIENCE_S)
    assert asking.returncode == status
    if sign == signal.SIGINT:
        assert err.decode().splitlines()[:2] == ["interrupted", f"0 of 8 points are in {out}; to run the rest:"]
    wait_until(lambda: not any(client.run(_runs_something).values()))
    assert not any(client.processing().values())


def _runs_something(dask_worker: Any) -> bool:
    return bool(dask_worker.active_threads)


def test_tasks_take_a_second_and_longer_where_the_scheduler_has_many() -> None:
    pace = cluster._Pace()
    assert pace.size(2) == 1, "nothing is known yet"
    pace.add(100, 2.0)
    assert pace.size(2) == 50
    assert pace.size(1000) == 250, "a thousand threads ask for 200 tasks a second"
    pace.add(100, 1000.0)
    assert pace.size(2) == 1


def _die(*_: object) -> None:
    os._exit(1)


@pytest.mark.parametrize("retries", [0, 1])
def test_a_lost_scheduler_keeps_what_is_finished_and_the_sweep_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retries: int
) -> None:
    monkeypatch.setattr(commits, "PATIENCE_S", 0.0)
    monkeypatch.setattr(cluster, "WAIT_S", PATIENCE_S)
    timeouts = {"distributed.comm.retry.count": retries, "distributed.comm.timeouts.connect": "3s"}
    with (
        dask.config.set(timeouts),
        _scheduler(tmp_path) as (address, process),
        distributed.Client(address, set_as_default=False) as client,
    ):
        # It cannot end before the scheduler is killed.
        endless = {"duration": ["1s", "700h"], **MANY["sweep"]}
        sweep = db.sweep(MANY | {"sweep": endless}, out=tmp_path / "out", client=client)
        results = iter(sweep)
        with pytest.raises(db.ClusterError, match=r"scheduler at .* was lost"):
            for count, _ in enumerate(results):
                if count == 5:
                    process.kill()
    done = sweep.committed
    assert 0 < done <= 100
    rest = db.sweep(MANY, out=tmp_path / "out")
    rest.collect()
    assert rest.finished == 100
    db.sweep(MANY, out=tmp_path / "alone").collect()
    assert same_files(tmp_path / "out", tmp_path / "alone")


def test_the_command_runs_on_a_cluster_that_is_named(
    dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "WAIT_S", PATIENCE_S)
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    with _scheduler(tmp_path) as (address, _):
        assert dumbbell("run", path, "--out", tmp_path / "out", "--cluster", address).status == 0
        done = dumbbell("run", path, "--jobs", "2", "--cluster", address)
        assert done.status == 2 and "--jobs" in done.err
    assert dumbbell("run", path, "--out", tmp_path / "alone").status == 0
    assert same_files(tmp_path / "out", tmp_path / "alone")


def test_a_scheduler_that_is_not_there_is_said_in_a_line(
    dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    monkeypatch.setattr(cluster, "WAIT_S", 1.0)
    done = dumbbell("run", path, "--cluster", "tcp://127.0.0.1:9")
    assert done.status == 2
    assert done.err.startswith("error: no scheduler answers at tcp://127.0.0.1:9") and "help: " in done.err
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = dumbbell("run", path, "--cluster", "tcp://127.0.0.1:9")
    assert done.status == 2 and 'pip install "dumbbell[cluster]"' in done.err


@contextmanager
def _scheduler(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler and a worker in processes of their own: the address and the process of the scheduler."""
    file = folder / "scheduler.json"
    scheduler = ["dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1"]
    worker = ["dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", str(PATIENCE_S)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{name}", *options, "--scheduler-file", str(file)],
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )
        for name, *options in (scheduler, worker)
    ]
    try:
        wait_until(lambda: file.exists() and file.stat().st_size > 0)
        yield json.loads(file.read_text())["address"], processes[0]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def answered(points: Sequence[Any]) -> cluster.Outcome:
    """What an honest worker answers."""
    jobs = [Job(point.resolved_toml, point.content_hash, point.label, point.repeat, point.settings) for point in points]
    return cluster.work(jobs, parallel.engine_digest(), None, {}, 1)


def rewritten(outcome: cluster.Outcome, table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> cluster.Outcome:
    """The answer with another table in its first batch, well-formed."""
    files = dict(outcome.batches[0])
    content = io.BytesIO()
    change(pl.read_parquet(io.BytesIO(files[f"{table}.parquet"]))).write_parquet(content)
    return dataclasses.replace(outcome, batches=[files | {f"{table}.parquet": content.getvalue()}])


def times_a_thousand(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("goodput_mbps") * 1000)


def test_an_answer_that_cannot_be_right_is_refused_with_its_reason() -> None:
    points = experiment.load(MANY, set={"sweep": {"repeat": 2}}).points
    asked = {point.content_hash: point for point in points}
    honest = answered(points)
    (batch,) = answers.checked(honest, asked, 1.0, AMPLE)
    assert [meta.content_hash for meta in batch.metas] == list(asked)

    def without_table(outcome: cluster.Outcome) -> cluster.Outcome:
        files = {name: content for name, content in outcome.batches[0].items() if name != "flows.parquet"}
        return dataclasses.replace(outcome, batches=[files])

    wrong: list[tuple[object, str]] = [
        ("done", "no batches of points, but str"),
        (None, "no batches of points, but NoneType"),
        (dataclasses.replace(honest, batches=[]), "2 of 2 points missing"),
        (answered(points[:1]), "1 of 2 points missing"),
        (dataclasses.replace(honest, batches=[*honest.batches] * 2), "a point twice"),
        (dataclasses.replace(honest, batches=[{"flows.parquet": b"PAR1"}]), "a batch that cannot be read"),
        (without_table(honest), "a batch without its table `flows`"),
        (rewritten(honest, "points", lambda frame: frame.with_columns(engine=pl.lit("0" * 16))), "another engine"),
        (rewritten(honest, "points", lambda frame: frame.with_columns(content_hash=pl.lit("0" * 64))), "nobody asked"),
        (
            rewritten(honest, "flows", lambda frame: frame.with_columns(mean_rtt_ms=pl.lit(-1.0))),
            r"`flows\.mean_rtt_ms",
        ),
        (
            rewritten(honest, "flows", lambda frame: frame.with_columns(pl.col("delivered_bytes_total") * 1000)),
            "more `delivered_bytes_total` than `throughput_bytes_total`",
        ),
        (rewritten(honest, "flows", times_a_thousand), "other `flows` than a run of"),
    ]
    for answer, reason in wrong:
        with pytest.raises(answers.WrongAnswerError, match=reason):
            answers.checked(answer, asked, 1.0, AMPLE)


def test_an_answer_too_large_for_the_memory_is_refused_before_it_is_read() -> None:
    points = experiment.load(MANY, set={"sweep": {"repeat": 1}}).points[:1]
    asked = {point.content_hash: point for point in points}
    honest = answered(points)
    answers.checked(honest, asked, 0.0, AMPLE)
    # A few kilobytes of equal rows, which would take 8 GB.
    rows = 20_000_000
    bomb = rewritten(honest, "series", lambda frame: pl.DataFrame({"t_s": pl.repeat(0.0, rows, eager=True)}))
    assert sum(map(len, bomb.batches[0].values())) < AMPLE / 100
    with pytest.raises(answers.WrongAnswerError, match=r"153 MiB, of which 100 fit here \(--max-memory\)"):
        answers.checked(bomb, asked, 0.0, 100 << 20)
    long = dataclasses.replace(honest, batches=[{**honest.batches[0], "flows.parquet": bytes(1 << 20)}])
    with pytest.raises(answers.WrongAnswerError, match="1 MiB, of which 1 fit"):
        answers.checked(long, asked, 0.0, 1 << 20)


def lie(kind: str) -> None:
    """Has the worker that calls it answer wrongly from now on; it stands in a test, and is sent to the worker."""
    import dataclasses
    import io
    import time
    from typing import cast

    import polars as pl

    import dumbbell.cluster

    honest = dumbbell.cluster.work

    def rewritten(files: dict[str, bytes], name: str, **columns: Any) -> None:
        content = io.BytesIO()
        pl.read_parquet(io.BytesIO(files[name])).with_columns(**columns).write_parquet(content)
        files[name] = content.getvalue()

    def work(*arguments: Any) -> Any:
        if kind == "slow":
            time.sleep(3600)
        outcome = honest(*arguments)
        for files in cast("list[dict[str, bytes]]", outcome.batches):
            if kind == "wrong numbers":
                rewritten(files, "flows.parquet", goodput_mbps=pl.col("goodput_mbps") * 1000)
            elif kind == "wrong hash":
                rewritten(files, "points.parquet", content_hash=pl.lit("0" * 64))
            elif kind == "another version":
                rewritten(files, "points.parquet", engine=pl.lit("f" * 16))
            elif kind == "huge":
                content = io.BytesIO()
                pl.DataFrame({"t_s": pl.repeat(0.0, 200_000_000, eager=True)}).write_parquet(content)
                files["series.parquet"] = content.getvalue()
        return dataclasses.replace(outcome, batches=[]) if kind == "empty" else outcome

    dumbbell.cluster.work = work  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("wrong numbers", "has answered with other `flows` than a run of"),
        ("wrong hash", "has answered with points that nobody asked for"),
        ("another version", "has answered with points of another engine"),
        ("empty", "has answered with . of . points missing"),
        ("huge", "has answered with 1,5.. MiB, of which 1,024 fit here"),
        ("slow", r"has had \d+ points? for \d+ s: another worker runs the same"),
    ],
)
def test_a_hostile_worker_is_named_and_the_figures_are_right(
    kind: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A machine that is busy makes no other kind a slow one.
    monkeypatch.setattr(cluster, "SLOW_S", 1.0 if kind == "slow" else 3600.0)
    swept = MANY | {"sweep": {"path.loss": ["0%", "1%"], "repeat": 4}}
    with (
        _settings(),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as local,
        distributed.Client(local.scheduler_address, set_as_default=False) as client,
    ):
        client.wait_for_workers(2, timeout=PATIENCE_S)
        address = min(client.nthreads())
        client.run(lie, kind, workers=[address])
        with pytest.warns(db.WorkerWarning, match=rf"{address} {said}"):
            found = db.sweep(swept, client=client, verify=1.0, max_memory="1GiB").collect()
        # One that is slow may be an honest one, and stays.
        assert (address in client.nthreads()) == (kind == "slow")
    ours = db.sweep(swept).collect()
    assert found.flows.to_polars().equals(ours.flows.to_polars())


def test_what_is_verified_is_a_share_of_what_a_cluster_runs(dumbbell: Cli, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a share from 0 to 1 of what a cluster runs"):
        db.sweep(MANY, verify=0.5)
    file = tmp_path / "one.toml"
    file.write_text('duration = "1s"\npath = { rate = "1mbit", rtt = "20ms" }\nflows = [{ cc = "reno" }]\n')
    for options, said in ((("--verify", "many"), "write a share such as 1%"), (("--verify", "1%"), "with --cluster")):
        refused = dumbbell("run", file, *options)
        assert refused.status == 2 and said in refused.err


def test_an_adversary_finds_the_same_on_a_cluster(client: Any) -> None:
    pytest.importorskip("cma", reason="the extra `adversary` is not installed")
    from dumbbell import adversary

    there = adversary.find("reno", attacks=["losses"], evaluations=1, client=client)
    here = adversary.find("reno", attacks=["losses"], evaluations=1, jobs=1)
    assert dataclasses.replace(there, elapsed_s=0) == dataclasses.replace(here, elapsed_s=0)


def test_numbers_that_no_run_has_are_refused_in_both_tables_and_those_at_the_edge_are_not() -> None:
    points = experiment.load(MANY, set={"sweep": {"repeat": 1}}).points[:1]
    asked = {point.content_hash: point for point in points}
    honest = answered(points)

    def reason(table: str, **columns: Any) -> str:
        wrong = rewritten(honest, table, lambda frame: frame.with_columns(**columns))
        with pytest.raises(answers.WrongAnswerError) as error:
            answers.checked(wrong, asked, 0.0, AMPLE)
        return str(error.value)

    for table, column in (("flows", "mean_rtt_ms"), ("links", "utilization")):
        for value in (float("inf"), -1e-9):
            assert reason(table, **{column: pl.lit(value)}) == f"a number in `{table}.{column}` that cannot be"
    more = pl.col("sent_total") + 1
    assert reason("flows", retransmits_total=more) == "more `retransmits_total` than `sent_total`"
    edge = {"retransmits_total": pl.col("sent_total"), "mean_rtt_ms": pl.lit(0.0), "p95_rtt_ms": pl.lit(float("nan"))}
    assert answers.checked(rewritten(honest, "flows", lambda frame: frame.with_columns(**edge)), asked, 0.0, AMPLE)


def test_a_share_of_points_is_verified_by_their_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    points = experiment.load(MANY, set={"sweep": {"repeat": 6}}).points
    asked = {point.content_hash: point for point in points}
    honest = answered(points)
    again: list[str] = []
    monkeypatch.setattr(answers, "_verify", lambda batch, meta, point: again.append(meta.content_hash))
    places = sorted(int(key[:8], 16) / 2**32 for key in asked)
    for share, count in ((0.0, 0), (1.0, 6), ((places[2] + places[3]) / 2, 3), (places[2], 2)):
        again.clear()
        answers.checked(honest, asked, share, AMPLE)
        assert len(again) == count
        assert all(int(key[:8], 16) < share * 2**32 for key in again)


def test_what_was_not_finished_may_be_missing_and_files_are_files() -> None:
    points = experiment.load(MANY, set={"sweep": {"repeat": 2}}).points
    asked = {point.content_hash: point for point in points}
    part = dataclasses.replace(answered(points[:1]), error=db.RunError("no"))
    (batch,) = answers.checked(part, asked, 0.0, AMPLE)
    assert len(batch.metas) == 1
    assert answers.checked(dataclasses.replace(part, batches=[]), asked, 0.0, AMPLE) == []
    no_files: tuple[Any, ...] = ([["a"]], [{"flows.parquet": "text"}])
    for batches_of_it in no_files:
        with pytest.raises(answers.WrongAnswerError, match="a batch that cannot be read: it is not made of files"):
            answers.checked(dataclasses.replace(part, batches=batches_of_it), asked, 0.0, AMPLE)
    assert answers._size(b"nothing") == 7


def test_a_pace_is_bounded_by_what_a_task_may_hold() -> None:
    pace = cluster._Pace()
    pace.add(100_000, 1.0)
    assert pace.size(1) == 1024
    slow = cluster._Pace()
    slow.add(10, 4.0)
    slow.add(10, 1.0)
    assert (slow.points, slow.seconds) == (20, 5.0)
    assert (slow.size(1), slow.size(200), slow.size(400)) == (4, 4, 8)


def test_other_builds_are_told_by_four_of_their_workers() -> None:
    others = {f"tcp://{number}": f"d{number}" for number in (5, 3, 1, 4, 2)}
    said = cluster._other_builds(others, "here")
    assert said.startswith("workers run another build of the engine than this machine (here): tcp://1 (d1), ")
    assert "tcp://4 (d4)\n" in said and "tcp://5" not in said
