"""The adversary: what it finds is bad, small, within its bounds, and replays; a search goes on where it ended."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import experiment, storage
from dumbbell.adversary import ATTACKS, GOALS, Found, finding, log
from dumbbell.adversary.attacks import is_allowed
from dumbbell.adversary.base import OWN, Base
from dumbbell.adversary.parts import Bursts, Drops, Part, Steps
from dumbbell.adversary.shrink import Case, shrink

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
            parts = tuple(attack.decode(vector, base, share))
            assert is_allowed(parts, base, base.duration_s, share or None), parts
            case = Case(base, parts, base.duration_s)
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
