"""The adversary: what it finds is bad, small, within its bounds, and replays; a search goes on where it ended."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import experiment, storage
from dumbbell.adversary import ATTACKS, GOALS, Found, attacks, finding, log, parts, search
from dumbbell.adversary import shrink as shrink_module
from dumbbell.adversary.attacks import is_allowed
from dumbbell.adversary.base import OWN, Base
from dumbbell.adversary.parts import Bursts, Drops, Loss, Part, Steps
from dumbbell.adversary.shrink import Case, shrink
from dumbbell.adversary.text import written

pytest.importorskip("cma", reason="the extra `adversary` is not installed")

ROOT = Path(__file__).parents[2]
FOUND = sorted((ROOT / "examples/adversary").glob("*.toml"))

SMALL = """\
duration = "14s"
warmup = "2s"

[path]
rate = "5mbit"
rtt = "40ms"
buffer = "25kB"

[[flows]]
cc = "cubic"
"""

ONE_ROUND = 64
"""The experiments that a search draws before it learns."""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def timeless(found: Found) -> dict[str, Any]:
    return {key: value for key, value in vars(found).items() if key != "elapsed_s"}


def tried(folder: Path) -> list[Any]:
    lines = (folder / log.NAME).read_text().splitlines()[1:]
    return [json.loads(line)[:2] for line in lines]


def test_what_is_found_is_the_same_for_any_number_of_jobs(small: Path, tmp_path: Path) -> None:
    one, two = (
        finding.find("reno", source=small, evaluations=70, jobs=jobs, out=tmp_path / str(jobs)) for jobs in (1, 2)
    )
    assert timeless(one) == timeless(two) and one.evaluations >= 70
    assert tried(tmp_path / "1") == tried(tmp_path / "2")
    other = finding.find("reno", source=small, evaluations=10, seed=2, out=tmp_path / "other")
    assert tried(tmp_path / "other")[0] != tried(tmp_path / "1")[0] and other.evaluations == ONE_ROUND


def test_reno_meets_the_low_rate_attack_which_the_search_is_not_told(small: Path, tmp_path: Path) -> None:
    found = finding.find("reno", source=small, evaluations=300, out=tmp_path / "out")
    # Reno gets little of what is left, though the same traffic without bursts costs it nothing.
    assert found.value < 0.35 < 0.85 < found.beside["the attack spread evenly"]
    assert 'transport = "udp"' in found.experiment and not found.on_linux
    (tmp_path / "again.toml").write_text(found.experiment)
    result = db.run(tmp_path / "again.toml")
    assert GOALS["throughput"].measure(result) == found.value
    assert (tmp_path / "out/minimal.toml").read_text() == found.experiment
    attackers = [row["throughput_mbps"] for row in result.flows.rows() if row["label"] == "attacker"]
    assert 0 < sum(attackers) <= 0.2 * 5 * 1.05


@pytest.mark.parametrize(("goal", "attack"), [("delay", "trace"), ("loss", "connections"), ("starvation", "delay")])
def test_goals_and_attacks_give_what_a_run_of_the_file_measures(
    goal: str, attack: str, small: Path, tmp_path: Path
) -> None:
    small.write_text(SMALL + ('[[flows]]\ncc = "cubic"\n' if goal == "starvation" else ""))
    found = finding.find("reno", goal=goal, attacks=[attack], evaluations=1, source=small)
    path = tmp_path / "found.toml"
    path.write_text(found.experiment)
    chosen = GOALS[goal]
    assert chosen.measure(db.run(path)) == found.value
    assert chosen.holds(found.value, found.worst)
    assert chosen.cost(found.value) < chosen.cost(found.beside["without the attack"])
    assert found.on_linux
    path.write_text(found.experiment.replace('cc = "reno"', 'cc = "cubic"', 1))
    assert chosen.measure(db.run(path)) == found.beside["cubic in its place"] != found.value


def test_starvation_is_that_beside_another_flow(small: Path) -> None:
    beside = Base.read(OWN, "reno", "bbr").document["flows"]
    assert [flow["cc"] for flow in beside] == ["reno", "bbr"]
    with pytest.raises(ValueError, match="this experiment has one flow"):
        finding.find("reno", goal="starvation", source=small)


def test_a_search_goes_on_where_it_was_interrupted(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dumbbell: Cli
) -> None:
    command = ("adversary", "reno", "--experiment", small, "--evaluations", "90", "--json")
    whole = dumbbell(*command, "-o", tmp_path / "whole")
    evaluate, calls = finding._Hunt.evaluate, 0

    def once(self: finding._Hunt, documents: Sequence[dict[str, Any]]) -> list[list[float]]:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return evaluate(self, documents)

    monkeypatch.setattr(finding._Hunt, "evaluate", once)
    stopped = dumbbell(*command, "-o", tmp_path / "out")
    assert stopped.status == 130
    assert f"what was tried is in {tmp_path / 'out'}; to go on:\n  dumbbell adversary reno" in stopped.err
    assert len(tried(tmp_path / "out")) == ONE_ROUND
    monkeypatch.setattr(finding._Hunt, "evaluate", evaluate)
    # A kill may have left a part of a line.
    kept = tmp_path / "out" / log.NAME
    kept.write_text(kept.read_text()[:-20])
    gone_on = dumbbell(*command, "-o", tmp_path / "out")
    assert gone_on.status == whole.status == 0
    one, two = (json.loads(done.out) | {"elapsed_s": 0} for done in (whole, gone_on))
    assert one == two
    assert tried(tmp_path / "out") == tried(tmp_path / "whole")
    # A shorter search than what is there takes as much of it as it would have tried.
    shorter = finding.find("reno", source=small, evaluations=ONE_ROUND, out=tmp_path / "out")
    assert shorter.evaluations == ONE_ROUND


def test_a_log_that_is_no_text_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / log.NAME).write_bytes(b"\xff\n")
    with pytest.raises(storage.OutputError, match="no first line of a search"), log.opened(tmp_path, {}):
        pass


def test_a_search_ends_after_its_time(small: Path) -> None:
    assert finding.find("reno", source=small, budget_s=0.01).evaluations == ONE_ROUND


def test_another_search_and_other_files_are_left_alone(small: Path, tmp_path: Path, dumbbell: Cli) -> None:
    place = tmp_path / "out"
    command = ("adversary", "reno", "--experiment", small, "--evaluations", "1", "-o", place)
    assert dumbbell(*command, "-q").status == 0
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    for change, said in (
        (("--goal", "loss"), 'goal is "throughput" there and "loss" here'),
        (("--seed", "2"), "seed is 1 there and 2 here"),
        (("--share", "10%"), "share is null there and 0.1 here"),
    ):
        done = dumbbell(*command, *change)
        assert done.status == 2 and "is of another search" in done.err and said in done.err
    small.write_text(SMALL.replace("25kB", "50kB"))
    assert "experiment is" in dumbbell(*command).err
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    done = dumbbell(*command[:-1], tmp_path / "mine")
    assert done.status == 2 and "holds files (notes.txt)" in done.err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("path", [("10mbit", "40ms"), ("300kbit", "600ms"), ("10gbit", "50us")])
def test_an_attack_stays_within_its_bounds(name: str, path: tuple[str, str], small: Path) -> None:
    small.write_text(SMALL.replace("5mbit", path[0]).replace("40ms", path[1]))
    base = Base.read(small, "reno", None)
    drawn = random.Random(1)
    attack = ATTACKS[name]
    for share in (attack.share or 0.0, 0.01):
        for _ in range(25):
            vector = [drawn.choice([0.0, 1.0, drawn.random()]) for _ in range(attack.genes)]
            decoded = tuple(attack.decode(vector, base, share))
            assert is_allowed(decoded, base, base.duration_s, share or None), decoded
            case = Case(base, decoded, base.duration_s)
            experiment.load(case.document())
            experiment.load(case.evenly().document())
    # What is rounded or made shorter must not pass them either.
    base = Base.read(OWN, "reno", None)
    beyond: dict[str, Part] = {
        "traffic": Bursts("traffic", 60, 0.3, 0.0, None),
        "connections": Bursts("connections", 60, 0.3, 0.0, None),
        "trace": Steps("rate", (0.0, 1.0), (1e7, 0.5e6), 2.0),
        "delay": Steps("rtt", (0.0, 1.0), (0.04, 0.2), 2.0),
        "losses": Drops(1.0, 0.02, 0.3),
    }
    assert not is_allowed([beyond[name]], base, base.duration_s, None)


def test_shrinking_leaves_out_what_costs_nothing_and_keeps_the_goal() -> None:
    base = Base.read(OWN, "reno", None)
    hurts, useless = Drops(2.0123, 0.01234, 0.24567), Drops(29.99, 0.0001, None)
    case = Case(base, (useless, hurts), base.duration_s, seed=5)
    hunt = finding._Hunt("reno", GOALS["throughput"], [ATTACKS["losses"]], None, base, 1, {"jobs": 2}, "")
    ((worst,),) = hunt.evaluate([case.document()])
    small = shrink(case, GOALS["throughput"], worst, hunt.evaluate, hunt._is_allowed)
    (left,) = small.parts
    assert isinstance(left, Drops) and left.period_s is not None
    assert small.seed is None and small.complexity < replace(case, parts=(hurts,)).complexity
    ((value,),) = hunt.evaluate([small.document()])
    assert GOALS["throughput"].holds(value, worst) and is_allowed(small.parts, base, small.duration_s, None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("renno",), "unknown algorithm `renno`; did you mean `reno`?"),
        (("reno", "--goal", "speed"), "there is no goal `speed`; choose among throughput, delay, starvation, loss"),
        (("reno", "--attack", "trafic"), "there is no attack `trafic`; choose among traffic, connections, trace"),
        (("reno", "--attack", "trace,trace"), "name each attack once"),
        (("reno", "--goal", "loss", "--attack", "losses"), "the attack `losses` is the goal `loss` itself"),
        (("reno", "--attack", "trace", "--share", "10%"), "a share bounds cross traffic and losses"),
        (("reno", "--share", "95%"), "a share of 0.95: write one above 0 and up to 0.9"),
        (("reno", "--share", "much"), "--share much: write a share such as 1% or 0.01"),
        (("reno", "--budget", "10"), "--budget 10: "),
        (("reno", "--budget", "0s"), "--budget 0s: write a time above 0, such as 10min"),
        (("reno", "--budget", "10m", "--evaluations", "5"), "give one of the two"),
        (("reno", "--beside", "bbr"), "`beside` goes with the goal starvation"),
        (("reno", "--experiment", "missing.toml"), "missing.toml: cannot read"),
        (("reno", "--cluster", "tcp://127.0.0.1:1", "--jobs", "2"), "leave out --jobs"),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(
    arguments: Sequence[str], said: str, dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = dumbbell("adversary", *arguments)
    assert done.status == 2 and said in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda text: text.replace('"5mbit"', '[["0s", "5mbit"], ["1s", "1mbit"]]'), "path.rate"),
        (lambda text: text.replace('"40ms"', '[["0s", "40ms"], ["1s", "10ms"]]'), "path.rtt"),
        (lambda text: text + "[sweep]\nrepeat = 2\n", "sweep"),
        (lambda text: text.replace("[[flows]]", "[[flows]]\ncount = 2"), "flows[0].count"),
        (lambda text: text.replace('"cubic"', '"cubic"\nlabel = "attacker"'), "flows[0].label"),
        (lambda text: text.replace("[[f", 'reverse = "symmetric"\n[[f') + 'direction = "down"\n', "flows[0].direction"),
        (lambda text: text.replace('cc = "cubic"', 'transport = "udp"\nrate = "1mbit"'), "flows[0]"),
        (lambda text: text.replace("[[f", 'events = [{ action = "drop", packets = [1, 2] }]\n[[f'), "path.events"),
        (lambda text: text.replace("40ms", "40"), "path.rtt"),
    ],
)  # fmt: skip
def test_an_experiment_that_cannot_be_attacked_is_refused_by_its_key(
    change: Callable[[str], str], key: str, small: Path, dumbbell: Cli
) -> None:
    small.write_text(change(SMALL))
    done = dumbbell("adversary", "reno", "--attack", "losses", "--experiment", small)
    assert done.status == 2 and key in done.err and str(small) in done.err


def test_without_its_package_the_search_says_what_to_install(
    small: Path, dumbbell: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cma", None)
    done = dumbbell("adversary", "reno", "--experiment", small, "-o", tmp_path / "out")
    assert done.status == 2 and 'pip install "dumbbell[adversary]"' in done.err


def test_an_experiment_in_which_the_algorithm_fails_is_kept(small: Path, dumbbell: Cli, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "class Mine:\n    def on_ack(self, conn, ack):\n        conn.cwnd = 20\n\n"
        "    def on_loss(self, conn, loss):\n        raise ValueError('a loss')\n"
    )
    place = tmp_path / "out"
    done = dumbbell("adversary", f"{file}:Mine", "--attack", "losses", "--experiment", small, "-o", place)
    assert done.status == 2 and "ValueError: a loss" in done.err
    assert f"help: the experiment in which it fails is {place / 'failed.toml'}" in done.err
    again = dumbbell("run", place / "failed.toml")
    assert again.status == 2 and "ValueError: a loss" in again.err


def test_the_terminal_shows_the_case_and_how_to_run_it_again(small: Path, dumbbell: Cli, tmp_path: Path) -> None:
    place = tmp_path / "out"
    done = dumbbell(
        "adversary", "cubic", "--attack", "losses", "--experiment", small, "--evaluations", "1", "-o", place
    )
    assert done.status == 0 and done.err == ""
    for words in ("cubic: throughput 0.", "without the attack", "the attack spread evenly", "reno in its place"):
        assert words in done.out
    assert f"dumbbell run {place}/minimal.toml --on linux" in done.out
    assert dumbbell("run", place / "minimal.toml", "-q").status == 0
    assert dumbbell("run", place / "worst.toml", "-q").status == 0


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_the_found_examples_are_as_bad_as_they_say(path: Path) -> None:
    text = path.read_text("utf-8")
    claimed = re.search(r"^# (\S+) has ([\d.]+) ", text, re.MULTILINE)
    goal = re.search(r"--goal=(\w+)", text)
    assert claimed is not None and goal is not None
    assert GOALS[goal[1]].measure(db.run(path)) == pytest.approx(float(claimed[2]), rel=1e-3)


# Parts, goals, cases and files by hand.


def put(part: Part) -> dict[str, Any]:
    """What a part writes into an experiment."""
    document: dict[str, Any] = {"path": {}, "flows": []}
    part.put(document)
    return document["flows"][0] if document["flows"] else document["path"]  # type: ignore[no-any-return]


def test_times_and_rates_are_written_as_they_are_read() -> None:
    assert [parts.time_text(seconds) for seconds in (0.0, 4e-10, 1e-7, 0.0123456789123, 2.0, 123.456)] == [
        "0s", "0s", "0.0001ms", "12.345679ms", "2000ms", "123456ms",
    ]  # fmt: skip
    assert [parts.rate_text(rate) for rate in (1e7, 1234567.8, 1.0)] == ["10000kbit", "1234.568kbit", "0.001kbit"]
    assert [parts.rounded(12345.678, digits) for digits in (1, 2, 3)] == [10000, 12000, 12300]


def test_a_burst_is_an_equal_part_of_each_of_its_flows() -> None:
    datagrams = Bursts("traffic", 60, 0.5, 0.25, 2e7)
    assert put(datagrams) == {
        "label": "attacker", "transport": "udp", "app": {"rate": "1413.12kbit", "write": "88320B"}, "start": "250ms",
        "access_rate": "20000kbit",
    }  # fmt: skip
    assert (datagrams.count, datagrams.together, datagrams.mean_bps, datagrams.on_linux) == (1, 60, 1.44e6, False)
    connections = Bursts("connections", 25, 0.5, 0.0, None)
    assert put(connections) == {
        "label": "attacker", "cc": "cubic", "count": 3, "app": {"rate": "185.344kbit", "write": "11584B"},
    }  # fmt: skip
    assert (connections.count, connections.together, connections.on_linux) == (3, 24, True)
    single = Bursts("connections", 10, 0.5, 0.0, None)
    assert "count" not in put(single) and single.count == 1
    assert [Bursts("connections", packets, 1.0, 0.0, None).count for packets in (11, 320, 321, 999)] == [2, 32, 32, 32]
    assert datagrams.even() == Bursts("traffic", 1, 0.5 / 60, 0.25, None)
    assert connections.even() == Bursts("connections", 1, 0.5 / 24, 0.0, None)
    assert datagrams.words() == "every 500 ms 60 datagrams, 1.44 Mbit/s on average"
    assert connections.words() == "every 500 ms 24 segments of TCP, 0.576 Mbit/s on average"


def test_simpler_bursts_leave_out_and_round() -> None:
    found = list(Bursts("traffic", 123, 0.4567, 0.1234, 1.2345e7).simpler())
    assert found[0] == Bursts("traffic", 123, 0.4567, 0.1234, None)
    assert found[1] == Bursts("traffic", 123, 0.4567, 0.0, 1.2345e7)
    assert [(one.period_s, one.packets, one.start_s, one.rate_bps) for one in found[2:6]] == [
        (0.5, 123, 0.1234, 1.2345e7), (0.4567, 100, 0.1234, 1.2345e7), (0.4567, 123, 0.1, 1.2345e7),
        (0.4567, 123, 0.1234, 1e7),
    ]  # fmt: skip
    assert len(found) == 2 + 3 * 4
    assert found[-1].rate_bps == 1.23e7
    assert len(list(Bursts("traffic", 123, 0.4567, 0.0, None).simpler())) == 9


def test_steps_repeat_and_have_a_mean_over_time() -> None:
    rate = Steps("rate", (0.0, 0.5, 1.5), (1e7, 4e6, 1e6), 2.0)
    assert put(rate) == {
        "rate": {"steps": [["0s", "10000kbit"], ["500ms", "4000kbit"], ["1500ms", "1000kbit"]], "repeat": "2000ms"}
    }
    assert rate.mean == pytest.approx((5e6 + 4e6 + 0.5e6) / 2)
    assert rate.even() == Steps("rate", (0.0,), (rate.mean,), 2.0)
    assert put(Steps("rtt", (0.0,), (0.04,), 2.0)) == {"rtt": "40ms"}
    rtt = Steps("rtt", (0.0, 1.0), (0.04, 0.08), 2.0)
    assert put(rtt) == {"rtt": {"steps": [["0s", "40ms"], ["1000ms", "80ms"]], "repeat": "2000ms"}}
    assert rate.words() == "a rate of 1 to 10 Mbit/s in 3 steps, again every 2 s"
    assert rtt.words() == "a round-trip time of 40 to 80 ms in 2 steps, again every 2 s"
    assert [Steps("rtt", starts, (1.0, 2.0), 2.0).is_in_order for starts in ((0.0, 0.0), (0.0, 2e-9), (0.0, 2.0))] == [
        False, True, False,
    ]  # fmt: skip


def test_simpler_steps_are_fewer_or_rounder_and_in_order() -> None:
    found = list(Steps("rtt", (0.0, 0.5, 1.5), (0.0123, 0.0456, 0.0789), 2.15).simpler())
    assert [(one.starts_s, one.values) for one in found[:3]] == [
        ((0.0, 1.5), (0.0456, 0.0789)), ((0.0, 1.5), (0.0123, 0.0789)), ((0.0, 0.5), (0.0123, 0.0456)),
    ]  # fmt: skip
    assert found[3].values == (0.01, 0.05, 0.08)
    assert all(one.is_in_order for one in found)
    # To one digit the period is 2 s, and the last step begins at 1.5 s or in proportion.
    periods = [(one.starts_s, one.period_s) for one in found if one.period_s == 2.0]
    assert periods[0] == ((0.0, 0.5, 1.5), 2.0)
    assert periods[1][0] == pytest.approx((0.0, 0.5 * 2 / 2.15, 1.5 * 2 / 2.15))
    assert ((0.0, 0.5, 1.5), (0.01, 0.0456, 0.0789)) in [(one.starts_s, one.values) for one in found]
    assert ((0.0, 0.5, 2.0), (0.0123, 0.0456, 0.0789)) in [(one.starts_s, one.values) for one in found]
    two = list(Steps("rtt", (0.0, 0.5), (0.01, 0.02), 2.0).simpler())
    assert all(len(one.values) == 2 for one in two)


def test_drops_come_again_and_are_spread_as_random_loss() -> None:
    once, often = Drops(1.5, 0.02, None), Drops(1.5, 0.02, 0.5)
    assert put(once) == {"events": [{"action": "drop", "from": "1500ms", "until": "1520ms"}]}
    assert put(often)["events"][0]["repeat"] == "500ms"
    document: dict[str, Any] = {"path": {"events": [1]}}
    once.put(document)
    assert len(document["path"]["events"]) == 2
    assert (once.share(10.0), often.share(10.0)) == (0.002, 0.04)
    assert (once.even(), often.even()) == (Loss(0.0), Loss(0.04))
    assert once.words() == "once 20 ms in which all data is lost"
    assert often.words() == "every 500 ms 20 ms in which all data is lost"
    found = list(Drops(1.2345, 0.01234, 0.5678).simpler())
    assert found[:4] == [
        Drops(1.2345, 0.01234, None), Drops(1.0, 0.01234, 0.5678), Drops(1.2345, 0.01, 0.5678),
        Drops(1.2345, 0.01234, 0.6),
    ]  # fmt: skip
    assert (len(found), len(list(Drops(1.2, 0.1, None).simpler()))) == (10, 6)
    assert put(Loss(0.25)) == {"loss": 0.25}
    lossy = {"path": {"loss": 0.9}}
    Loss(0.25).put(lossy)
    assert lossy == {"path": {"loss": 1.0}}
    assert (Loss(0.1).even(), list(Loss(0.1).simpler()), Loss(0.123).words()) == (Loss(0.1), [], "12.3 % random loss")


def measured(goal: str, *flows: dict[str, Any], capacity: float = 10.0) -> float:
    rows = [
        {
            "label": "a",
            "throughput_mbps": 3.0,
            "goodput_mbps": 2.0,
            "p95_rtt_ms": 100.0,
            "base_rtt_ms": 40.0,
            "network_drops": 5,
            "sent": 50,
        }
        | flow
        for flow in flows
    ]
    links = [{"name": "other", "capacity_mbps": 99.0}, {"name": "bottleneck", "capacity_mbps": capacity}]
    run = SimpleNamespace(flows=SimpleNamespace(rows=lambda: rows), links=SimpleNamespace(rows=lambda: links))
    return GOALS[goal].measure(run)  # type: ignore[arg-type]


def test_goals_are_shares_of_what_the_attacker_leaves() -> None:
    attacker = {"label": "attacker", "throughput_mbps": 2.0}
    silent = {"label": "attacker", "throughput_mbps": None}
    assert measured("throughput", {}) == 0.2
    assert measured("throughput", {}, attacker, silent) == 0.25
    assert measured("throughput", {}, {}, attacker) == 0.5
    assert measured("throughput", {"goodput_mbps": 0.0}, {"label": "attacker", "throughput_mbps": 10.0}) == 0
    assert measured("throughput", {}, {"label": "attacker", "throughput_mbps": 11.0}) == pytest.approx(2e9)
    assert measured("starvation", {"goodput_mbps": 1.0}, {"goodput_mbps": 3.0}, attacker | {"goodput_mbps": 9.0}) == 0.5
    assert measured("starvation", {"goodput_mbps": 0.0}, {"goodput_mbps": 0.0}) == 1
    assert measured("delay", {}) == 2.5
    assert measured("delay", {"p95_rtt_ms": None}) == measured("delay", {"p95_rtt_ms": math.inf}) == 1
    assert measured("loss", {}) == 0.1
    assert measured("loss", {"sent": 0}) == 5
    assert [goal.cost(3.0) for goal in GOALS.values()] == [3, -3, 3, -3]
    less, more = GOALS["throughput"], GOALS["delay"]
    assert [less.holds(value, 0.5) for value in (0.1, 0.555, 0.556)] == [True, True, False]
    assert [more.holds(value, 10.0) for value in (20.0, 9.0, 8.99)] == [True, True, False]


def test_numbers_of_an_attack_stand_by_their_ratio_and_times_in_ticks() -> None:
    base = Base.read(OWN, "reno", None)
    assert base.tick_s == pytest.approx(1e-4)
    assert [attacks.between(gene, 2.0, 32.0) for gene in (0.0, 0.5, 1.0)] == pytest.approx([2, 8, 32])
    assert attacks.between(1.0, 2.0, 1.0) == 2
    assert attacks.ticked(0.12346, base) == pytest.approx(0.1235)
    assert attacks.ticked(0.12346, base, down=True) == pytest.approx(0.1234)
    assert attacks.rounded_rate(1234567.0) == 1235000


@pytest.fixture
def easy() -> Base:
    """10 Mbit/s and 40 ms for 40 s, of which the last 30 are measured."""
    return Base("easy.toml", {"path": {}, "flows": [{"cc": "reno"}]}, 1e7, 0.04, 40.0, 30.0)


def test_genes_of_traffic_are_sources_with_their_numbers(easy: Base) -> None:
    none = [0.29, 0.5, 0.5, 0.5, 0.5]
    assert ATTACKS["traffic"].decode(none * 3, easy, 0.2) == []
    (one,) = ATTACKS["traffic"].decode([0.3, 1.0, 0.0, 0.5, 0.0, *none * 2], easy, 0.2)
    # In 40 ms a fifth of the link is 6.67 packets.
    assert isinstance(one, Bursts)
    assert astuple(one) == pytest.approx(("traffic", 6, 0.04, 0.02, 1e7))
    # The middle between one packet and those is their geometric mean.
    (middle,) = ATTACKS["traffic"].decode([0.3, 0.5, 0.0, 0.0, 0.0, *none * 2], easy, 0.2)
    assert isinstance(middle, Bursts) and middle.packets == 3
    (slow,) = ATTACKS["connections"].decode([*none, 0.9, 0.0, 1.0, 0.0, 1.0, *none], easy, 0.2)
    assert slow == Bursts("connections", 1, 7.5, 0.0, 2e8)
    both = ATTACKS["traffic"].decode([0.3, 1.0, 0.5, 0.0, 0.0] * 2 + none, easy, 0.2)
    assert len(both) == 2
    assert sum(one.mean_bps for one in both if isinstance(one, Bursts)) <= 0.2 * 1e7
    assert sum(one.mean_bps for one in both if isinstance(one, Bursts)) > 0.19 * 1e7


def test_genes_of_steps_and_drops_are_their_places(easy: Base) -> None:
    (steps,) = ATTACKS["trace"].decode([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.5, 0.25], easy, 0.0)
    assert isinstance(steps, Steps)
    assert steps.key == "rate"
    assert steps.period_s == pytest.approx(0.4)
    assert steps.starts_s == pytest.approx((0.0, 0.1, 0.2, 0.3))
    assert steps.values == pytest.approx((1e6, 1e7, 3162000, 1778000))
    (steps,) = ATTACKS["delay"].decode([1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.5, 0.5], easy, 0.0)
    assert isinstance(steps, Steps)
    assert steps.key == "rtt"
    assert steps.period_s == pytest.approx(30.0)
    assert steps.starts_s == pytest.approx([30 * share for share in (0, 1 / 33, 31 / 33, 32 / 33)], abs=1e-4)
    assert steps.values == pytest.approx((0.01, 0.16, 0.04, 0.04))
    none = [0.29, 0.5, 0.5, 0.5]
    assert ATTACKS["losses"].decode(none * 4, easy, 0.05) == []
    (once,) = ATTACKS["losses"].decode([0.3, 1.0, 0.0, 0.86, *none * 3], easy, 0.05)
    assert isinstance(once, Drops)
    assert astuple(once) == pytest.approx((25.0, 0.02, None))
    (often,) = ATTACKS["losses"].decode([*none, 0.3, 0.0, 1.0, 0.85, *none * 2], easy, 0.05)
    assert isinstance(often, Drops)
    assert astuple(often) == pytest.approx((0.0, 0.75, 15.0))
    two = ATTACKS["losses"].decode([0.3, 0.0, 1.0, 0.85] * 2 + none * 2, easy, 0.05)
    assert [one.length_s for one in two if isinstance(one, Drops)] == pytest.approx([0.375, 0.375])
    # Less than a tick is nothing.
    assert ATTACKS["losses"].decode([0.3, 0.0, 0.0, 0.0, *none * 3], easy, 0.05) == []


@pytest.mark.parametrize(
    ("given", "share", "allowed"),
    [
        ([Bursts("traffic", 100, 0.6, 0.0, None)], None, True),
        ([Bursts("traffic", 101, 0.6, 0.0, None)], None, False),
        ([Bursts("traffic", 50, 0.6, 0.0, None)] * 2, None, True),
        ([Bursts("traffic", 51, 0.6, 0.0, None)] * 2, None, False),
        ([Bursts("traffic", 100, 0.6, 0.0, None), Bursts("connections", 100, 0.6, 0.0, None)], None, True),
        ([Bursts("traffic", 100, 0.6, 0.0, None)], 0.1, False),
        ([Bursts("traffic", 200, 0.6, 0.0, None)], 0.4, True),
        ([Drops(0.0, 0.05, 1.0)], None, True),
        ([Drops(0.0, 0.051, 1.0)], None, False),
        ([Drops(0.0, 1.0, None)], None, True),
        ([Drops(0.0, 1.1, None)], None, False),
        ([Steps("rate", (0.0, 1.0), (1e6, 1e7), 2.0)], None, True),
        ([Steps("rate", (0.0, 1.0), (0.99e6, 1e7), 2.0)], None, False),
        ([Steps("rate", (0.0, 1.0), (1e6, 1.02e7), 2.0)], None, False),
        ([Steps("rtt", (0.0, 1.0), (0.01, 0.16), 2.0)], None, True),
        ([Steps("rtt", (0.0, 1.0), (0.0099, 0.16), 2.0)], None, False),
        ([Steps("rtt", (0.0, 1.0), (0.01, 0.162), 2.0)], None, False),
        ([Loss(0.9)], None, True),
    ],
)
def test_what_an_attack_may_take(given: list[Part], share: float | None, allowed: bool, easy: Base) -> None:
    assert is_allowed(given, easy, 20.0, share) is allowed


def test_a_case_is_run_alone_with_seeds_and_spread_evenly(easy: Base) -> None:
    part = Drops(1.0, 0.1, 2.0)
    case = Case(easy, (part,), 25.0, seed=9)
    assert case.document() == {
        "path": {"events": [{"action": "drop", "from": "1000ms", "until": "1100ms", "repeat": "2000ms"}]},
        "flows": [{"cc": "reno"}], "duration": "25s", "vary_rtt": "1packet", "seed": 9,
    }  # fmt: skip
    plain = Case(easy, (), 40.0, is_varied=False)
    assert plain.document() == {"path": {}, "flows": [{"cc": "reno"}]}
    assert plain.repeated() == {"path": {}, "flows": [{"cc": "reno"}], "vary_rtt": "1packet", "sweep": {"repeat": 3}}
    assert "seed" not in case.repeated()
    assert case.evenly().parts == (Loss(0.05),)
    assert easy.document == {"path": {}, "flows": [{"cc": "reno"}]}
    varied = replace(easy, document={"vary_rtt": "2ms", "path": {}, "flows": []})
    assert Case(varied, (), 40.0).document()["vary_rtt"] == "2ms"


def test_simpler_cases_leave_most_out_first(easy: Base) -> None:
    one, other = Drops(1.25, 0.1, None), Loss(0.5)
    case = Case(easy, (one, other), 40.0, seed=9)
    found = list(case.simpler())
    assert [(item.parts, item.seed, item.is_varied, item.duration_s) for item in found[:5]] == [
        ((other,), 9, True, 40.0), ((one,), 9, True, 40.0), ((one, other), None, False, 40.0),
        ((one, other), None, True, 40.0), ((one, other), 9, True, 25.0),
    ]  # fmt: skip
    assert [item.parts for item in found[5:]] == [(part, other) for part in one.simpler()]
    # The measured interval is never shorter than ten seconds.
    assert [item.duration_s for item in replace(case, duration_s=30.0).simpler() if item.duration_s != 30.0] == [20.0]
    assert [item.duration_s for item in replace(case, duration_s=29.0).simpler() if item.duration_s != 29.0] == [20.0]
    assert [item.duration_s for item in replace(case, duration_s=28.0).simpler() if item.duration_s != 28.0] == []
    # 10 for each part, the digits of 1.25, 0.1 and 0.5, 5 for the seed and 5 for what it varies, and 40 seconds.
    assert case.complexity == 20 + 3 + 1 + 1 + 10 + 40
    assert replace(case, seed=None, is_varied=False, duration_s=12.4).complexity == 20 + 5 + 12
    steps = Case(easy, (Steps("rate", (0.0, 0.25), (1e6, 2e6), 3.0),), 40.0, is_varied=False)
    assert steps.complexity == 10 + (1 + 0) + (1 + 2) + (1 + 1) + (1 + 1) + 1 + 40


def test_shrinking_keeps_the_simplest_that_is_as_bad_alone_and_in_the_median(easy: Base) -> None:
    asked: list[int] = []

    def evaluate(documents: Sequence[dict[str, Any]]) -> list[list[float]]:
        asked.append(len(documents))
        found = []
        for document in documents:
            is_bad = any(event["until"] == "1300ms" for event in document["path"].get("events", []))
            runs = document.get("sweep", {}).get("repeat", 1)
            found.append([0.1, 0.2, 0.9][:runs] if is_bad else [0.9] * runs)
        return found

    case = Case(easy, (Drops(1.0, 0.3, 2.5), Drops(3.0, 0.123, None)), 40.0, seed=3)
    small = shrink(case, GOALS["throughput"], 0.2, evaluate, lambda one: True)
    assert small == Case(easy, (Drops(1.0, 0.3, None),), 25.0, None, False)
    assert max(asked) <= 2 * shrink_module.TOGETHER
    kept = shrink(case, GOALS["throughput"], 0.2, evaluate, lambda one: False)
    assert kept == case
    # A seed alone is not enough.
    assert shrink(case, GOALS["throughput"], 0.05, evaluate, lambda one: True) == case
    assert [shrink_module.median(values) for values in ([3.0], [3.0, 1.0], [3.0, 1.0, 2.0], [4.0, 3.0, 1.0, 2.0])] == [
        3,
        1,
        2,
        2,
    ]


def test_an_experiment_is_written_as_one_would_write_it() -> None:
    document = {
        "duration": "5s", "seed": 3, "path": {"rate": "1mbit", "odd key": True, "events": [{"a": 1, "b c": "x"}]},
        "flows": [{"cc": "reno"}, {"cc": {"name": "bbr", "gain": 0.5}, "way": ["a", "b"]}], "empty": [],
    }  # fmt: skip
    assert written(document, ["What is said.", "More."]) == (
        '# What is said.\n# More.\n\nduration = "5s"\nseed = 3\n\n[path]\nrate = "1mbit"\n"odd key" = true\n'
        'events = [{ a = 1, "b c" = "x" }]\n\n[[flows]]\ncc = "reno"\n\n[[flows]]\n'
        'cc = { name = "bbr", gain = 0.5 }\nway = ["a", "b"]\n'
    )
    # With these letters the line has 110 and 111.
    for letters, lines in ((83, 1), (84, 4)):
        text = written({"values": ["a" * 10, "b" * letters]}, [])
        assert len(text.splitlines()) == 1 + lines
    assert written({"values": ["a" * 60, "b" * 60]}, []).endswith(
        f'values = [\n    "{"a" * 60}",\n    "{"b" * 60}",\n]\n'
    )
    assert written({"text": "a" * 200}, []).count("\n") == 2


def test_a_log_takes_up_what_is_there_and_refuses_another_search(tmp_path: Path) -> None:
    head = {"seed": 1, "goal": "a", "list": [1, 2]}
    one, two = log.Evaluation([0.25, 0.5], [1.0, 2.0], 1.23456), log.Evaluation([0.75, 1.0], [3.0], 2.0)
    assert one.line() == "[[0.25, 0.5], [1.0, 2.0], 1.235]\n"
    with log.opened(tmp_path, head) as kept:
        assert kept.known == []
        kept.add([one, two])
        assert kept.known == [one, two]
    path = tmp_path / log.NAME
    whole = path.read_text()
    assert whole == json.dumps(head) + "\n" + one.line() + two.line()
    path.write_text(whole[:-4])
    with log.opened(tmp_path, head) as kept:
        assert [evaluation.elapsed_s for evaluation in kept.known] == [1.235]
        assert path.read_text() == json.dumps(head) + "\n" + one.line()
        kept.add([two])
    assert path.read_text() == whole
    path.write_text(whole.replace(one.line(), "[1]\n"))
    with (
        pytest.raises(storage.OutputError, match=rf"{path}:2: no evaluation; move the file"),
        log.opened(tmp_path, head),
    ):
        pass
    path.write_text(whole)
    said = 'seed is 1 there and 2 here, goal is "a" there and "b" here, more is null there and 5 here; choose another'
    other = {"seed": 2, "goal": "b", "list": [1, 2], "more": 5, "last": 6}
    with pytest.raises(storage.OutputError, match=said), log.opened(tmp_path, other):
        pass
    path.write_text("[]\n")
    with pytest.raises(storage.OutputError, match="seed is null there and 1 here"), log.opened(tmp_path, head):
        pass
    path.write_text("")
    with log.opened(tmp_path, head) as kept:
        assert kept.known == []
    with log.opened(None, head) as kept:
        kept.add([one])
        assert kept.known == [one]


def test_a_log_gives_what_follows_as_long_as_it_is_what_is_asked_for() -> None:
    known = [log.Evaluation([float(number), 0.5], [0.0], 0.0) for number in range(3)]
    kept = log.Log({}, known)
    assert kept.matching(0, [[0.0, 0.5], [1.0, 0.5]]) == known[:2]
    assert kept.matching(1, [[1.0, 0.5 + 0.9e-6], [2.0, 0.5], [9.0, 9.0]]) == known[1:]
    assert kept.matching(3, [[1.0, 1.0]]) == []
    for vector in ([1.0, 0.5 + 1.1e-6], [1.0], [1.1, 0.5]):
        with pytest.raises(
            storage.ResultError, match="the search: evaluation 1 is not the one that this search asks for"
        ):
            kept.matching(0, [[0.0, 0.5], vector])


def test_a_search_draws_four_populations_and_then_learns() -> None:
    asked = search.proposals(3, 7)
    first = next(asked)
    assert (len(first), {len(vector) for vector in first}) == (64, {3})
    # One of each of 64 equal parts in every dimension.
    assert sorted(int(64 * vector[1]) for vector in first) == list(range(64))
    best = min(range(64), key=lambda number: sum(first[number]))
    second = asked.send([sum(vector) for vector in first])
    assert len(second) == 16
    middle = [sum(column) / 16 for column in zip(*second, strict=True)]
    assert all(abs(a - b) < 0.4 for a, b in zip(middle, first[best], strict=True))
    again = search.proposals(3, 7)
    assert next(again) == first
    assert again.send([sum(vector) for vector in first]) == second
    assert next(search.proposals(3, 8)) != first
    rounds = [64]
    vectors = second
    for _ in range(400):
        vectors = asked.send([0.0] * len(vectors))
        if len(vectors) >= 4 * rounds[-1] // 2 and len(vectors) % 64 == 0:
            rounds.append(len(vectors))
        if len(rounds) == 4:
            break
    assert rounds == [64, 128, 256, 512]


def test_a_search_ends_by_its_bounds() -> None:
    of = finding._Bounds
    assert [of(5, None).reached(done, 99.0) for done in (4, 5, 6)] == [False, True, True]
    assert [of(None, 2.0).reached(99, seconds) for seconds in (1.9, 2.0)] == [False, True]
    assert (of(5, None).total(), of(None, 2.6).total()) == (5, 3)
    assert (of(5, None).steps(3, 9.9), of(None, 2.0).steps(3, 9.9)) == (3, 9)
    shown = finding._Progress(GOALS["delay"])
    assert str(shown) == "searching"
    shown.worst, shown.is_shrinking = 1.23456, True
    assert str(shown) == "shrinking, worst delay 1.23"


def test_the_command_of_a_search_has_what_was_asked() -> None:
    command = finding._command("mine.py:A B", "delay", ["trace", "losses"], 3, None, None, None)
    assert command == "dumbbell adversary 'mine.py:A B' --goal=delay --attack=trace,losses --seed=3"
    command = finding._command("reno", "loss", ["trace"], 1, 0.1, "bbr", Path("a b.toml"))
    assert command.endswith(" --share=0.1 --beside=bbr '--experiment=a b.toml'")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"attacks": []}, "name each attack once: traffic, connections, trace, delay, losses"),
        ({"share": 0.0}, "a share of 0: write one above 0 and up to 0.9"),
        ({"share": 0.91}, "a share of 0.91: write one above 0 and up to 0.9"),
        ({"goal": "delay", "attacks": ["traffic", "delay"]}, "the attack `delay` is the goal `delay` itself"),
        ({"attacks": ["trace", "delay"], "share": 0.1}, "and there are none in trace, delay"),
        ({"beside": "bbr", "goal": "starvation", "source": OWN}, "`beside` goes with the goal starvation, and with"),
        ({"evaluations": 1, "budget_s": 1.0}, "give one of the two"),
    ],
)
def test_a_search_that_cannot_be_meant_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        finding.find("reno", **asked)
    assert finding._chosen("throughput", ["traffic", "trace"], 0.9) == [ATTACKS["traffic"], ATTACKS["trace"]]


def test_a_base_is_what_its_file_says(tmp_path: Path) -> None:
    file = tmp_path / "base.toml"
    file.write_text(SMALL.replace('"2s"', '"2s"\ncooldown = "1500ms"'))
    base = Base.read(file, {"name": "bbr"}, None)
    assert (base.rate_bps, base.rtt_s, base.duration_s, base.measured_s) == (5e6, 0.04, 14.0, 10.5)
    assert base.document["flows"] == [{"cc": {"name": "bbr"}}]
    file.write_text(SMALL.replace('duration = "14s"\nwarmup = "2s"\n', ""))
    assert (Base.read(file, "bbr", None).duration_s, Base.read(file, "bbr", None).measured_s) == (60, 60)
    for rtt, tick in (("40ms", 1e-4), ("39ms", 1e-5), ("400ms", 1e-3), ("4s", 1e-2)):
        file.write_text(SMALL.replace("40ms", rtt))
        assert Base.read(file, "bbr", None).tick_s == pytest.approx(tick)
    file.write_text(SMALL.replace("[[flows]]", 'loss = "1%"\n\n[[flows]]'))
    lossy = Base.read(file, "bbr", None)
    lossy.refuse_beside(["traffic", "trace"])
    with pytest.raises(db.ScenarioError, match=r"`path\.loss`: the attack `losses` writes it"):
        lossy.refuse_beside(["losses"])
    file.write_text(SMALL + 'count = 1\ndirection = "up"\n')
    assert Base.read(file, "bbr", "cubic").document["flows"][1] == {"cc": "cubic", "label": "other"}
    file.write_text(SMALL + '[[traffic]]\nkind = "short-flows"\ncc = "cubic"\nload = "10%"\nsize = "20kB"\n')
    with pytest.raises(db.ScenarioError, match="`traffic`: an attack is made on"):
        Base.read(file, "bbr", None)


def test_another_algorithm_takes_the_place_of_the_first_flow(easy: Base) -> None:
    beside = replace(easy, document={"path": {"rate": "1mbit"}, "flows": [{"cc": "bbr", "label": "a"}, {"cc": "x"}]})
    case = Case(beside, (), 40.0, seed=4)
    changed = finding._with(case, "cubic")
    assert changed.base.document == {"path": {"rate": "1mbit"}, "flows": [{"cc": "cubic", "label": "a"}, {"cc": "x"}]}
    assert (changed.seed, case.base.document["flows"][0]["cc"]) == (4, "bbr")


def test_the_first_case_has_the_seed_whose_run_was_the_median() -> None:
    base = Base.read(OWN, "reno", None)
    hunt = finding._Hunt("reno", GOALS["throughput"], [ATTACKS["losses"]], None, base, 1, {}, "")
    genes = [0.0] * ATTACKS["losses"].genes
    seeds = [point.seed for point in experiment.load(hunt._case(()).repeated(), name=base.file).points]
    for values, seed in (((0.2, 0.1, 0.3), None), ((0.1, 0.2, 0.3), seeds[1]), ((0.1, 0.3, 0.2), seeds[2])):
        assert hunt._first(log.Evaluation(genes, values, 0.0)).seed == seed
    both = replace(hunt, attacks=[ATTACKS["losses"], ATTACKS["trace"]], share=0.01)
    decoded = both.decode([0.3, 0.0, 1.0, 1.0, *[0.0] * 12, *[0.0] * 9])
    assert [type(part) for part in decoded] == [Drops, Steps]
    assert isinstance(decoded[0], Drops) and decoded[0].length_s == pytest.approx(0.01 * base.duration_s, abs=2e-4)
    varied = replace(hunt, base=replace(base, document={**base.document, "vary_rtt": "1ms"}))
    assert (hunt._case(()).is_varied, varied._case(()).is_varied) == (True, False)
