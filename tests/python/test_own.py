"""Algorithms of one's own: classes in Python, in files and as they are."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import importlib
import io
import os
import pickle
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import dropwhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import _core, experiment, own, parallel, processes
from dumbbell.contract import Random
from dumbbell.jobs import Job, encoded, run_job
from dumbbell.results import load_result
from load import PATIENCE_S

ROOT = Path(__file__).parents[2]
OWN = ROOT / "examples/own"
COMPLETE = ROOT / "../shared/groundtruth/linux-6.18/callback-vectors"
"""The recordings of which the repository has excerpts, where they are beside it."""
RECORDED = [*sorted((ROOT / "crates/cc/tests/data").glob("bbr_*.gz")), *sorted(COMPLETE.glob("bbr_*.gz"))]

PATH: dict[str, Any] = {"rate": "10mbit", "rtt": "40ms", "buffer": "1bdp"}

MINE = """\
class Mine:
    '''Grows by gain packets a round trip.'''

    gain: float = 1.0

    def __init__(self):
        self.acks = 0

    def on_ack(self, conn, ack):
        self.acks += 1
        conn.cwnd += ack.packets if conn.in_slow_start else self.gain * ack.packets / conn.cwnd

    def on_loss(self, conn, loss):
        conn.cwnd = max(2, conn.cwnd / 2)

    def on_timeout(self, conn):
        conn.cwnd = 1

    def observe(self):
        return {"acks": self.acks, "gain_packets": self.gain, "unknown": None}
"""


LOOPS = """\
class Mine:
    def on_ack(self, conn, ack):
        print("looping", flush=True)
        while True:
            pass
"""


class Steady:
    """Keeps its window."""

    window: int = db.parameter(20, range=(1, 1000), unit="packets", meaning="The window.")

    def on_start(self, conn: db.Conn) -> None:
        conn.cwnd = self.window

    def on_ack(self, conn: db.Conn, ack: db.Ack) -> None:
        assert ack.packets > 0


def document(cc: Any, **others: Any) -> dict[str, Any]:
    return {"duration": "10s", "path": PATH, "flows": [{"cc": cc, "label": "one"}]} | others


def mine(folder: Path, text: str = MINE) -> Path:
    file = folder / "mine.py"
    file.write_text(text, encoding="utf-8")
    return file


def columns(table: db.Table) -> pl.DataFrame:
    """What does not depend on the name of an algorithm or on what it lets be observed, its phase included."""
    frame = table.to_polars()
    named = ("cc", "algorithm", "mode", "limited_by")
    return frame.select(name for name in frame.columns if not name.startswith("cc_") and name not in named)


# -- twins ------------------------------------------------------------------------------------------------------------

SITUATIONS: Mapping[str, Mapping[str, Any]] = {
    "clean": {},
    "losses": {"path.loss": "1%"},
    "heavy-losses": {"path.loss": "8%", "duration": "30s"},
    "policer": {"path.policer": {"rate": "5mbit", "burst": "50kB"}},
    "application-limited": {"flows[0].rate": "3mbit"},
    "on-and-off": {"flows[0].rate": {"on": "900ms", "off": "700ms"}},
    "shallow": {"path.buffer": "0.2bdp"},
    "marks": {"path.queue": {"kind": "codel", "ecn": True}, "transport.ecn": True},
    "disorder": {"path.jitter": "5ms"},
    "quic": {"transport": "quic"},
}


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize(("own_class", "twin"), [("reno.py:Reno", "reno"), ("bbr.py:Bbr", "bbr")])
def test_an_example_decides_as_its_twin_does(own_class: str, twin: str, situation: str) -> None:
    flows = [{"cc": twin, "label": "one"}, {"cc": "cubic", "start": "3s"}]
    settings = {"duration": "15s", **SITUATIONS[situation]}
    theirs = db.run({"path": PATH, "flows": flows, "record": {"interval": "5ms"}}, set=settings)
    flows[0]["cc"] = {"python": str(OWN / own_class)}  # type: ignore[assignment]
    ours = db.run({"path": PATH, "flows": flows, "record": {"interval": "5ms"}}, set=settings)
    assert ours.meta.events == theirs.meta.events
    for name in ("flows", "series", "links", "link_series"):
        assert columns(getattr(ours, name)).equals(columns(getattr(theirs, name)))


class _Phase:
    """Draws the phase that the kernel has drawn."""

    phase = 0

    def below(self, bound: int) -> int:
        return (8 - self.phase) % 8


def recorded(path: Path) -> Iterator[SimpleNamespace]:
    with gzip.open(path, "rt", encoding="ascii") as file:
        for row in csv.DictReader(file):
            yield SimpleNamespace(**{key: value if key == "ev" else int(value) for key, value in row.items()})


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.name)
def test_bbr_in_python_answers_recorded_calls_like_the_kernel(file: Path) -> None:
    bbr = own.load("bbr.py:Bbr", str(OWN)).cls()
    conn = SimpleNamespace(
        cwnd=10, ssthresh=0, cwnd_cnt=0, pacing_rate=0, pacing_shift=10, max_pacing_rate=2**64 - 1,
        cwnd_clamp=2**32 - 1, hz=250, random=_Phase(),
    )  # fmt: skip
    calls = 0
    # The kernel asks it about the handshake before `init`.
    for row in dropwhile(lambda row: row.ev != "init", recorded(file)):
        conn.random.phase = row.cycle_idx
        vars(conn).update(
            now_ns=row.in_tcp_clock_cache_ns, mstamp_us=row.tcp_mstamp_us, jiffies=row.jiffies32, mss=row.in_mss_cache,
            cwnd=row.in_snd_cwnd, cwnd_cnt=row.in_snd_cwnd_cnt, ssthresh=row.in_snd_ssthresh,
            next_departure_ns=row.in_tcp_wstamp_ns, ca_state=row.in_ca_state, delivered=row.in_delivered,
            in_flight=row.in_packets_out + row.in_retrans_out - row.in_sacked_out - row.in_lost_out, lost=row.in_lost,
            delivered_mstamp_us=row.in_delivered_mstamp, app_limited=row.in_app_limited, srtt_us_x8=row.in_srtt_us_x8,
            min_rtt_us=row.in_rtt_min_us,
        )  # fmt: skip
        returned = call(bbr, conn, row) or 0
        if row.ev == "init":
            # What the handshake has left.
            bbr.pacing_gain, bbr.cwnd_gain = row.pacing_gain, row.cwnd_gain
        answers = (conn.cwnd, conn.cwnd_cnt, conn.ssthresh, returned, conn.pacing_rate)
        expected = (row.out_snd_cwnd, row.out_snd_cwnd_cnt, row.out_snd_ssthresh, row.ret, row.out_pacing_rate_Bps)
        assert answers == expected, f"call {calls}, {row.ev}"
        state = (
            bbr.mode,
            bbr.round,
            bbr.best_bw[0],
            bbr.pacing_gain,
            bbr.cwnd_gain,
            bbr.full_bw,
            bbr.prior_cwnd,
        )
        expected_state = (row.mode, row.rtt_cnt, row.bw0, row.pacing_gain, row.cwnd_gain, row.full_bw, row.prior_cwnd)
        assert state == expected_state, f"call {calls}, {row.ev}"
        calls += 1
    assert calls > 700


def call(bbr: Any, conn: Any, row: SimpleNamespace) -> int | None:
    events = ("tx_start", "cwnd_restart", "complete_cwr", "loss", "ecn_no_ce", "ecn_is_ce")
    if row.ev == "cong_control":
        ack = SimpleNamespace(
            prior_delivered=row.rs_prior_delivered, delivered=row.rs_delivered, interval_us=row.rs_interval_us,
            rtt_us=row.rs_rtt_us, losses=row.rs_losses, acked_sacked=row.rs_acked_sacked,
            prior_in_flight=row.rs_prior_in_flight, is_app_limited=bool(row.rs_is_app_limited),
            is_ack_delayed=bool(row.rs_is_ack_delayed),
        )  # fmt: skip
        bbr.cong_control(conn, ack)
        return None
    arguments: dict[str, tuple[Any, ...]] = {"set_state": (row.arg,), "cwnd_event": (events[row.arg % 6],)}
    answer: int | None = getattr(bbr, row.ev)(conn, *arguments.get(row.ev, ()))
    return answer


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_class_in_a_file_governs_a_flow(tmp_path: Path, dumbbell: Cli) -> None:
    mine(tmp_path)
    file = tmp_path / "a.toml"
    flow_text = '[[flows]]\ncc = { python = "mine.py:Mine", gain = 2 }\n'
    file.write_text('path = { rate = "10mbit", rtt = "40ms" }\nduration = "5s"\n' + flow_text)
    result = db.run(file)
    (flow,) = result.flows.rows()
    assert flow["cc"] == flow["label"] == "mine.py:Mine"
    assert flow["algorithm"].startswith("mine.py:Mine@")
    assert flow["goodput_mbps"] > 8
    series = result.series.to_polars()
    assert series["cc_gain_packets"].drop_nulls().unique().to_list() == [2.0]
    assert series["cc_acks"].max() > 500  # type: ignore[operator]
    assert series["cc_unknown"].null_count() == len(series)
    explained = dumbbell("explain", file, "--set", "flows[0].cc.gain=3").out
    assert "gain = 3.0" in explained
    shown = dumbbell("cc", "show", f"{tmp_path / 'mine.py'}:Mine").out
    assert "Grows by gain packets a round trip" in shown
    assert "gain" in shown


def test_a_parameter_is_swept(tmp_path: Path) -> None:
    cc = {"python": f"{mine(tmp_path)}:Mine"}
    swept = db.sweep(document(cc, sweep={"flows[0].cc.gain": [0.5, 4.0]})).collect()
    means = swept.flows.to_polars()["mean_rtt_ms"].to_list()
    assert means[0] < means[1]


def test_fractions_of_packets_are_kept() -> None:
    class Slow:
        def on_ack(self, conn: db.Conn, ack: db.Ack) -> None:
            conn.cwnd += 0.25

    result = db.run(document(Slow, duration="2s", path={"rate": "unlimited", "rtt": "100ms"}))
    assert result.series.to_polars()["cwnd"].max() > 15  # type: ignore[operator]


def test_a_class_paces_when_it_says_so() -> None:
    class Paced:
        wants_pacing = True

        def on_ack(self, conn: db.Conn, ack: db.Ack) -> None:
            conn.cwnd = 1000
            conn.pacing_rate = 250_000

    (flow,) = db.run(document(Paced)).flows.rows()
    assert flow["goodput_mbps"] == pytest.approx(2.0, rel=0.05)


def test_hooks_are_called_in_the_order_of_the_contract() -> None:
    class Told:
        def __init__(self) -> None:
            self.calls: list[str] = []

        def on_start(self, conn: db.Conn) -> None:
            self.calls.append("start")

        def on_ack(self, conn: db.Conn, ack: db.Ack) -> None:
            conn.cwnd = 40 if conn.now < 5 else conn.cwnd
            assert ack.rtt is None or ack.rtt >= 0.04
            assert ack.rate is None or ack.rate > 0

        def on_loss(self, conn: db.Conn, loss: db.Loss) -> None:
            assert loss.packets > 0
            assert not loss.by_mark
            assert conn.min_rtt is not None
            conn.cwnd = 30
            self.calls.append("loss")

        def on_timeout(self, conn: db.Conn) -> None:
            self.calls.append("timeout")

        def observe(self) -> dict[str, float]:
            return {name: self.calls.count(name) for name in ("start", "loss", "timeout")}

    last = db.run(document(Told, duration="30s"), set={"path.loss": "3%"}).series.rows()[-1]
    assert last["cc_start"] == 1
    assert last["cc_loss"] > 3
    assert last["ssthresh"] in (30, last["ssthresh"])


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_a_simple_class_lives_over_both_transports(transport: str, tmp_path: Path) -> None:
    text = MINE.replace('"unknown": None', '"losses": self.losses').replace(
        "self.acks = 0", "self.acks = self.losses = 0"
    )
    text = text.replace("conn.cwnd = max(2, conn.cwnd / 2)", "conn.cwnd = max(2, conn.cwnd / 2); self.losses += 1")
    cc = {"python": f"{mine(tmp_path, text)}:Mine"}
    result = db.run(document(cc, duration="20s", transport=transport), set={"path.loss": "1%"})
    reno = db.run(document("reno", duration="20s", transport=transport), set={"path.loss": "1%"})
    assert result.series.rows()[-1]["cc_losses"] > 10
    goodput, of_reno = (run.flows.rows()[0]["goodput_mbps"] for run in (result, reno))
    assert 0.7 * of_reno < goodput < 1.5 * of_reno


def test_the_random_numbers_of_a_flow_follow_from_the_seed() -> None:
    class Restless:
        def on_ack(self, conn: db.Conn, ack: db.Ack) -> None:
            conn.cwnd = conn.random.randint(10, 30) + conn.random.choice([0, 1]) + conn.random.below(3)

    first, again, other = (db.run(document(Restless), seed=seed).series.to_polars() for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_random_numbers_are_as_random_as_they_should_be() -> None:
    from dumbbell._core import Stream

    numbers = Random(Stream(1))
    assert isinstance(numbers, random.Random)
    drawn = [numbers.random() for _ in range(1000)]
    assert 0.45 < sum(drawn) / 1000 < 0.55
    assert {numbers.randrange(6) for _ in range(100)} == set(range(6))
    assert numbers.getrandbits(200).bit_length() > 150
    assert -4 < numbers.gauss(0, 1) < 4


# -- identity ---------------------------------------------------------------------------------------------------------


def test_another_text_is_another_algorithm(tmp_path: Path) -> None:
    cc = {"python": f"{mine(tmp_path)}:Mine"}
    before = experiment.load(document(cc)).points[0].content_hash
    assert experiment.load(document(cc)).points[0].content_hash == before
    mine(tmp_path, MINE.replace("/ 2", "/ 3"))
    assert experiment.load(document(cc)).points[0].content_hash != before


def test_a_file_beside_belongs_to_the_code(tmp_path: Path) -> None:
    beside = tmp_path / "beside.py"
    beside.write_text("GAIN = 1\n")
    cc = {"python": f"{mine(tmp_path, 'from beside import GAIN' + chr(10) + MINE)}:Mine"}
    loaded = experiment.load(document(cc))
    assert sorted(Path(file).name for file in loaded.algorithm_files) == ["beside.py", "mine.py"]
    beside.write_text("GAIN = 2\n")
    assert experiment.load(document(cc)).points[0].content_hash != loaded.points[0].content_hash


def test_files_of_one_name_in_two_folders_do_not_mix(tmp_path: Path) -> None:
    codes = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "beside.py").write_text(f"GAIN = {number}\n")
        mine(folder, "import beside\n" + MINE.replace("float = 1.0", "float = float(beside.GAIN)"))
        codes.append({"cc": {"python": f"{folder / 'mine.py'}:Mine"}, "label": str(number)})
    result = db.run({"duration": "2s", "path": PATH, "flows": codes})
    last = result.series.to_polars().group_by("flow").last().sort("flow")
    assert last["cc_gain_packets"].to_list() == [1.0, 2.0]
    assert len(set(result.flows.to_polars()["algorithm"])) == 2


def test_a_saved_result_is_read_without_its_code(tmp_path: Path, dumbbell: Cli) -> None:
    trap = "open(__file__ + '.loaded', 'a').close()\n"
    file = mine(tmp_path, trap + MINE)
    mark = tmp_path / "mine.py.loaded"
    result = db.run(document({"python": f"{file}:Mine", "gain": 2.0}))
    result.save(tmp_path / "result")
    assert mark.exists()
    mark.unlink()
    for command in (("metrics", tmp_path / "result"), ("plot", tmp_path / "result"), ("schema",), ("columns",)):
        assert dumbbell(*command).status == 0
    loaded = load_result(tmp_path / "result")
    assert "gain = 2.0" in loaded.scenario_toml
    assert not mark.exists()
    # Running it again is something else, and needs the code of then.
    file.rename(tmp_path / "away.py")
    missing = dumbbell("why", tmp_path / "result")
    assert missing.status == 2
    assert "there is no file" in missing.err
    (tmp_path / "away.py").rename(file)
    assert db.run(tmp_path / "result/scenario.toml").meta.content_hash == result.meta.content_hash
    assert mark.exists()
    mine(tmp_path, MINE)
    with pytest.raises(db.ScenarioError, match="is not the code that the experiment was written for"):
        db.run(tmp_path / "result/scenario.toml")


def test_a_sweep_of_a_file_resumes(tmp_path: Path) -> None:
    cc = {"python": f"{mine(tmp_path)}:Mine"}
    swept = document(cc, duration="1s", sweep={"repeat": 2})
    db.sweep(swept, out=tmp_path / "out").collect()
    again = db.sweep(swept, out=tmp_path / "out")
    again.collect()
    assert again.committed == 2
    mine(tmp_path, MINE.replace("/ 2", "/ 3"))
    other = db.sweep(swept, out=tmp_path / "out")
    assert len(list(other)) == 2
    assert {meta.content_hash for meta in db.load_sweep(tmp_path / "out").points} != {
        p.content_hash for p in other.points
    }


def test_a_class_means_its_file_only_while_it_is_what_the_file_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "helper_of_ours.py").write_text("def half(x):\n    return x / 2\n")
    file = tmp_path / "imported_of_ours.py"
    file.write_text("from helper_of_ours import half\n" + MINE.replace("conn.cwnd / 2", "half(conn.cwnd)"))
    cls = importlib.import_module("imported_of_ours").Mine
    named = {"python": f"{file}:Mine"}

    def identity(cc: Any) -> str:
        return experiment.load(document(cc)).points[0].own_algorithms[0][2]

    saved = identity(cls)
    assert saved == identity(named)
    swept = db.sweep(document(cls, duration="1s", sweep={"repeat": 2}), jobs=2, progress=False)
    assert len(list(swept)) == 2
    # Another text beside it, which was not imported again: the class is not what the files say.
    (tmp_path / "helper_of_ours.py").write_text("def half(x):\n    return x / 3\n")
    assert identity(cls).startswith("unsaved")
    assert identity(named) not in (saved, identity(cls))


# -- classes as they are ----------------------------------------------------------------------------------------------


def test_a_class_is_an_algorithm() -> None:
    assert db.run(document(Steady)).series.rows()[-1]["cwnd"] == 20
    assert db.run(document({"python": Steady, "window": 7})).series.rows()[-1]["cwnd"] == 7
    assert db.run(document("reno"), set={"flows[0].cc": Steady}).flows.rows()[0]["cc"].endswith("Steady")
    swept = db.sweep(document("reno", duration="1s", sweep={"flows[0].cc": ["cubic", Steady]}), progress=False)
    assert len(list(swept)) == 2
    compared = db.compare("cubic", Steady, duration="2s", progress=False)
    assert "Steady" in str(compared.flows.to_polars()["label"].to_list())


def test_what_is_in_no_file_is_never_taken_from_an_earlier_result(tmp_path: Path) -> None:
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(MINE, space)
    swept = document(space["Mine"], duration="1s", sweep={"repeat": 2})
    db.sweep(swept, out=tmp_path / "out").collect()
    again = db.sweep(swept, out=tmp_path / "out")
    results = list(again)
    assert len(results) == 2
    assert again.committed == 2, "both ran again"
    first, second = (experiment.load(swept).points[0] for _ in range(2))
    assert first.content_hash != second.content_hash
    assert first.own_algorithms[0][2].startswith("unsaved")


def test_a_class_that_is_in_no_file_is_named_by_its_own_name_and_once() -> None:
    class Local:
        pass

    text = own.named(Local)
    assert re.fullmatch(r"unsaved-\d+/Local", text)
    assert own.named(Local) == text
    assert not own.is_saved(text)


# -- sweeps in processes ----------------------------------------------------------------------------------------------


def test_processes_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cc = {"python": f"{mine(tmp_path)}:Mine"}
    swept = document(cc, duration="2s", sweep={"flows[0].cc.gain": [0.5, 1.0, 2.0]})
    used = []
    run = processes.Processes.run

    def counted(self: processes.Processes, *arguments: Any) -> db.Result:
        used.append(threading.get_ident())
        return run(self, *arguments)

    monkeypatch.setattr(processes.Processes, "run", counted)
    apart = db.sweep(swept, jobs=2, progress=False)
    together = db.sweep(swept, jobs=1, progress=False)
    for (number, one), (same, other) in zip(
        sorted(apart.indexed(), key=lambda x: x[0]), together.indexed(), strict=True
    ):
        assert number == same
        assert one.meta.content_hash == other.meta.content_hash
        assert one.meta.settings == other.meta.settings
        assert one.series.to_polars().equals(other.series.to_polars())
        assert one.flows.to_polars().equals(other.flows.to_polars())
        assert one.scenario_toml == other.scenario_toml
    assert len(used) == 3


def test_processes_end_with_their_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[processes.Processes] = []
    begin = processes.Processes.__init__

    def noted(self: processes.Processes) -> None:
        begin(self)
        made.append(self)

    monkeypatch.setattr(processes.Processes, "__init__", noted)
    cc = {"python": f"{mine(tmp_path)}:Mine"}
    running = iter(db.sweep(document(cc, duration="5s", sweep={"repeat": 20}), jobs=2, progress=False))
    next(running)
    running.close()  # type: ignore[attr-defined]
    (owner,) = made
    assert [process.returncode is None for process in owner._all] == [False, False]


SCRIPT = """
import dumbbell as db
from dumbbell import processes

class Mine:
    def on_ack(self, conn, ack):
        conn.cwnd = 20

run = processes.Processes.run
used = []

def noted(self, *arguments):
    used.append(1)
    return run(self, *arguments)

processes.Processes.run = noted

def main():
    flows = [{"cc": Mine}]
    path = {"rate": "10mbit", "rtt": "40ms"}
    swept = {"duration": "1s", "path": path, "flows": flows, "sweep": {"repeat": 3}}
    print(len(db.sweep(swept, jobs=2, progress=False).collect().flows), len(used))

"""


@pytest.mark.parametrize(("end", "said"), [("if __name__ == '__main__':\n    main()", "3 3"), ("main()", "3 0")])
def test_a_script_with_a_guard_uses_processes_and_one_without_works(end: str, said: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + end)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == said


@contextmanager
def looping(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A sweep in two processes, one of which at least computes for ever."""
    mine(folder, LOOPS)
    file = folder / "a.toml"
    flow_text = '[[flows]]\ncc = { python = "mine.py:Mine" }\n'
    file.write_text('path = { rate = "10mbit", rtt = "40ms" }\nsweep.repeat = 4\n' + flow_text)
    command = [sys.executable, "-m", "dumbbell", "run", "--jobs", "2", str(file)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("looping")
        yield process


def test_an_interrupted_sweep_ends_its_processes(tmp_path: Path) -> None:
    with looping(tmp_path) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 130
        assert process.stderr is not None
        # It ends when nobody can write any more.
        assert "interrupted" in process.stderr.read()


def test_processes_end_when_their_owner_is_killed(tmp_path: Path) -> None:
    with looping(tmp_path) as process:
        process.kill()
        assert process.stderr is not None
        process.stderr.read()


# -- interrupts, grounds ----------------------------------------------------------------------------------------------


def test_an_endless_loop_is_interrupted(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    mine(tmp_path, LOOPS)
    file.write_text('path = { rate = "10mbit", rtt = "40ms" }\n[[flows]]\ncc = { python = "mine.py:Mine" }\n')
    command = [sys.executable, "-m", "dumbbell", "run", str(file)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "looping\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 130
        assert "interrupted" in process.stderr.read()


def test_a_loop_that_was_left_ends() -> None:
    began = threading.Event()

    class Loops:
        def on_ack(self, conn: db.Conn, ack: db.Ack) -> None:
            began.set()
            while True:
                pass

    def interrupt() -> None:
        began.wait()
        os.kill(os.getpid(), signal.SIGINT)

    results = db.sweep(document(Loops), progress=False)
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        list(results)
    end = time.monotonic() + PATIENCE_S
    while any(thread.name.startswith("dumbbell_") and thread.is_alive() for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_kernel_refuses_a_class(tmp_path: Path) -> None:
    cc = {"python": f"{mine(tmp_path)}:Mine"}
    with pytest.raises(db.RunError, match="an algorithm from a file of your own cannot run in the kernel"):
        db.run(document(cc), on=db.Linux(retries=0))


# -- what goes between processes --------------------------------------------------------------------------------------


def test_messages_are_whole_or_their_end_is_seen() -> None:
    stream = io.BytesIO()
    for message in ({"a": 1}, "x" * 1000):
        processes._send(stream, message)
    content = stream.getvalue()
    assert int.from_bytes(content[:8], "little") == len(pickle.dumps({"a": 1}))
    stream.seek(0)
    assert [processes._receive(stream) for _ in range(2)] == [{"a": 1}, "x" * 1000]
    for part in (content[:7], content[:-1], b""):
        cut = io.BytesIO(part)
        with pytest.raises(EOFError):
            for _ in range(3):
                processes._receive(cut)
    assert processes._exactly(io.BytesIO(b"abc"), 3) == b"abc"


def test_errors_that_cannot_be_handed_on_are_told_in_words() -> None:
    same = ValueError("a")
    assert processes._portable(same) is same
    held = KeyError("a")
    held.__dict__["lock"] = threading.Lock()
    told = processes._portable(held)
    assert isinstance(told, db.RunError) and str(told) == "KeyError: 'a'"


def test_how_a_process_was_lost_is_said_with_its_point() -> None:
    point: Any = SimpleNamespace(label="loss=1%")
    assert processes._lost(point, -9).startswith("loss=1%: the process of this run was killed by signal 9\n  help: ")
    point.label = ""
    assert processes._lost(point, 3).startswith("the run: the process of this run ended with status 3\n")
    assert processes._lost(point, 0).startswith("the run: the process of this run ended with status 0\n")


def test_a_job_is_the_point_that_it_says_and_what_fails_has_its_label() -> None:
    (point,) = experiment.load(document("reno", duration="1s")).points
    token = _core.CancelToken()
    place = Path("process")
    job = Job(point.resolved_toml, point.content_hash, "loss=1%", 3, {"path.loss": "1%"})
    ran = run_job(job, place, None, token)
    assert (ran.meta.label, ran.meta.repeat, ran.meta.settings) == ("loss=1%", 3, {"path.loss": "1%"})
    assert ran.scenario_toml == point.resolved_toml
    for label, said in (("a", "the point a for another"), ("", "the point 000000000000 for another")):
        with pytest.raises(db.ClusterError, match=said):
            run_job(dataclasses.replace(job, content_hash="0" * 64, label=label), place, None, token)
    with pytest.raises(db.RunError, match=r"^another process cannot read the experiment:\n.*nonsense"):
        run_job(dataclasses.replace(job, text="nonsense = 1"), place, None, token)
    for label, begin in (("a", "a: "), ("", "")):
        with pytest.raises(db.RunError, match=f"^{begin}after 0 simulated seconds the run would need"):
            run_job(dataclasses.replace(job, label=label), place, 1, token)
    (files,) = encoded([ran, ran])
    assert sorted(files) == [
        "flows.parquet",
        "link_series.parquet",
        "links.parquet",
        "points.parquet",
        "series.parquet",
    ]
    assert list(encoded([])) == []


def test_points_go_to_processes_where_several_of_interpreted_classes_run(tmp_path: Path) -> None:
    swept = document({"python": f"{mine(tmp_path)}:Mine"}, sweep={"repeat": 2})
    points = experiment.load(swept).points
    assert parallel._processes(points, 1) is None
    assert parallel._processes(experiment.load(document("reno")).points, 4) is None
    made = parallel._processes(points, 2)
    assert made is not None
    made.close()
    with pytest.raises(_core.RunCancelled):
        made.run(points[0], None)
    unsaved = experiment.load(document(type("Unsaved", (Steady,), {}))).points
    assert parallel._processes(unsaved, 2) is None


def test_a_process_is_one_of_its_thread_and_does_not_hear_of_an_interrupt_at_the_terminal() -> None:
    owner = processes.Processes()
    try:
        process = owner._process()
        assert owner._process() is process
        assert os.getsid(process.pid) == process.pid != os.getsid(0)
        others: list[object] = []
        thread = threading.Thread(target=lambda: others.append(owner._process()))
        thread.start()
        thread.join()
        assert others != [process]
    finally:
        owner.close()
    assert all(one.returncode is not None for one in owner._all) and len(owner._all) == 2
