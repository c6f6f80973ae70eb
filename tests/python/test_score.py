"""Scores: one number for an algorithm, and bounds that a candidate cannot pass."""

from __future__ import annotations

import json
import math
import re
import runpy
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import dumbbell as db
import snapshots
from conftest import Cli
from dumbbell import _core, scoring
from dumbbell.application import app
from dumbbell.scoring import PARTS, sets
from load import wait_until

ROOT = Path(__file__).parents[2]
needs_c = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def test_a_score_is_the_geometric_mean_of_parts_that_are_means_of_experiments() -> None:
    found = db.score("reno")
    assert found.algorithm == "reno-linux-6.18" and found.set == "standard" and found.stopped is None
    assert tuple(found.parts) == PARTS
    assert len(found.cases) == 10
    for part, value in found.parts.items():
        values = [case[part] for case in found.cases if part in case]
        assert len(values) == (2 if part.startswith("fair") else 10)
        assert all(0 <= one <= 1 for one in values)
        assert value == pytest.approx(sum(values) / len(values))
    assert found.value == pytest.approx(100 * math.prod(found.parts.values()) ** 0.2)
    assert db.score("reno") == found


def test_scores_know_what_algorithms_are_known_for() -> None:
    reno, cubic, bbr, copa = (db.score(name).parts for name in ("reno", "cubic", "bbr", "copa"))
    # Losses do not slow BBR down, which is unfair to CUBIC; Copa keeps queues short.
    assert bbr["goodput"] > max(reno["goodput"], cubic["goodput"]) + 0.05
    assert copa["delay"] > cubic["delay"] + 0.2
    assert bbr["fair_to_cubic"] < reno["fair_to_cubic"] - 0.3


def test_a_class_of_a_file_and_its_built_in_twin_have_one_score() -> None:
    own = db.score(f"{ROOT}/examples/own/reno.py:Reno", set="verdict")
    built_in = db.score("reno", set="verdict")
    assert (own.value, own.parts, own.cases) == (built_in.value, built_in.parts, built_in.cases)
    assert own.algorithm.startswith("reno.py:Reno@")


def test_no_experiment_is_in_both_sets() -> None:
    standard, verdict = (sets.SETS[name] for name in ("standard", "verdict"))
    assert [case.name for case in standard][1:] == [case.name for case in verdict][1:]
    seeds = {case.seed for case in standard} | {case.seed for case in verdict}
    paths = {json.dumps(case.path) for case in standard} & {json.dumps(case.path) for case in verdict}
    assert len(seeds) == 20 and not paths


def test_the_experiments_are_what_is_kept() -> None:
    lines = [f"{name}: {json.dumps(asdict(case))}" for name, cases in sets.SETS.items() for case in cases]
    snapshots.same_as_kept("scores", lines)


def test_a_score_is_at_most_that_of_the_best_experiments_still_to_come() -> None:
    first, second = (replace(case, company="") for case in sets.SETS["standard"][:2])
    both = (first, replace(second, company="itself"))
    measured: dict[str, list[float]] = {"goodput": [0.5], "delay": [0.8], "loss": [1.0], "fair_to_itself": []}
    # Means of what is known and of 1 for what is not: 0.75, 0.9, 1 and 1.
    assert scoring._most(measured, both) == pytest.approx(100 * (0.75 * 0.9) ** 0.25)
    assert scoring._means(measured) == {"goodput": 0.5, "delay": 0.8, "loss": 1.0, "fair_to_itself": 0.0}
    assert scoring._mean_of_parts({"goodput": 0.5, "delay": 0.0}) == 0.0


def test_a_score_that_can_just_be_reached_is_not_given_up() -> None:
    value = db.score("reno").value
    assert db.score("reno", at_least=value).stopped is None
    given_up = db.score("reno", at_least=value + 0.01)
    assert given_up.value == 0.0 and given_up.stopped == (
        f"it cannot become {value + 0.01:g} any more after `{sets.SETS['standard'][len(given_up.cases) - 1].name}`"
    )


@pytest.mark.parametrize(
    ("status", "error", "told"),
    [
        (
            -24,
            "",
            "has computed for 2.5 s, which is all that it may take; --cpu-seconds, in Python `cpu_s`, allows more",
        ),
        (-9, "MemoryError", "has computed for 2.5 s"),
        (1, "MemoryError", "needs more memory than the 64 MiB that it may take; in Python `memory_mib` allows more"),
        (scoring.OUT_OF_MEMORY, "", "needs more memory than the 64 MiB"),
        (-6, "memory allocation of 8 bytes failed", "needs more memory than the 64 MiB"),
        (-11, "", r"has ended its process \(signal 11\)"),
        (3, "", r"has ended its process \(status 3\)"),
        (0, "", r"has ended its process \(status 0\)"),
    ],
)
def test_why_a_process_ended_without_a_score_is_told(status: int, error: str, told: str) -> None:
    assert re.match(f"`mine.py` {told}", scoring._end("mine.py", status, error, 2.5, 64))


def test_what_a_file_may_take_is_passed_on(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("print('{}')\nclass Mine:\n    def on_ack(self, conn, ack):\n        conn.cwnd = 1\n")
    found = db.score(f"{file}:Mine", set="verdict", at_least=3)
    assert found.set == "verdict" and found.stopped is not None
    with pytest.raises(db.RunError, match="more memory than the 40 MiB"):
        db.score(f"{file}:Mine", memory_mib=40)


def test_the_parts_of_an_experiment_are_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = {"algorithm": "x", "goodput_mbps": 6.0, "mean_rtt_ms": 50.0, "base_rtt_ms": 40.0, "sent": 100, "lost": 3}
    flows, asked = [flow], []
    links = [{"capacity_mbps": 20.0 * 1500 / 1448}]

    def run(document: dict[str, Any], max_memory: str) -> Any:
        asked.append((document, max_memory))
        return SimpleNamespace(flows=SimpleNamespace(rows=lambda: flows), links=SimpleNamespace(rows=lambda: links))

    monkeypatch.setattr("dumbbell.api.run", run)
    case = sets.Case("a", {"rate": "20mbit", "loss": 0.01}, seed=5)
    name, found = case.measure("x", max_memory="9MiB")
    assert name == "x" and found == pytest.approx({"goodput": 0.3, "delay": 0.8, "loss": 0.98})
    ((document, memory),) = asked
    assert (document["duration"], document["warmup"], document["seed"], memory) == ("20s", "5s", 5, "9MiB")
    assert document["flows"] == [{"cc": "x", "label": "candidate"}]
    for sent, rtt, loss, delay in ((0, None, 0.0, 0.0), (1, 0.0, 0.0, 0.0), (300, 20.0, 1.0, 1.0)):
        flow |= {"sent": sent, "mean_rtt_ms": rtt}
        found = case.measure("x", max_memory="")[1]
        assert (found["loss"], found["delay"]) == (loss, delay)
    flows.append(flow | {"goodput_mbps": 2.0})
    flow |= {"goodput_mbps": 19.0}
    for company, part in (("itself", "fair_to_itself"), ("cubic", "fair_to_cubic")):
        found = replace(case, company=company).measure("x", max_memory="")[1]
        assert found["goodput"] == 1.0
        assert found[part] == pytest.approx(2 * 21**2 / (2 * (19**2 + 2**2)) - 1)
        other = {"itself": "x", "cubic": "cubic"}[company]
        assert asked[-1][0]["flows"][1] == {"cc": other, "label": "other", "start": "3s"}
    flow |= {"goodput_mbps": 0.0}
    flows[1] |= {"goodput_mbps": 0.0}
    assert replace(case, company="cubic").measure("x", max_memory="")[1]["fair_to_cubic"] == 0.0


def test_the_page_lists_the_experiments() -> None:
    page = (ROOT / "docs/scores.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    for name, column in (("standard", 2), ("verdict", 3)):
        for case in sets.SETS[name][1:]:
            (row,) = [line for line in rows if line.startswith(f"| {case.name} |")]
            told = row.split("|")[column]
            rtt, buffer = case.path["rtt"], case.path["buffer"]
            for value in (rtt.replace("ms", " ms"), buffer.replace("bdp", " BDP").replace("kB", " kB")):
                assert value in told, (case, told)


def test_parameters_and_tables_are_scored_as_commands_take_them() -> None:
    named = db.score("bbr:drain_gain=0.5")
    assert named.value == db.score({"name": "bbr", "drain_gain": 0.5}).value != db.score("bbr").value


def test_whoever_is_hopeless_is_given_up_at_once() -> None:
    found = db.score({"name": "reno", "beta": 0.0, "increase": 1}, at_least=99)
    assert found.value == 0 and found.stopped is not None and len(found.cases) < 10

    class Still:
        def on_ack(self, conn: db.Conn, ack: db.Ack) -> None:
            conn.cwnd = 1

        def on_loss(self, conn: db.Conn, loss: db.Loss) -> None:
            conn.cwnd = 1

        def on_timeout(self, conn: db.Conn) -> None:
            conn.cwnd = 1

    found = db.score(Still)
    assert found.value == 0 and len(found.cases) == 1
    assert found.stopped is not None and "it uses" in found.stopped


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"set": "all"}, "there is no set `all`; there are standard, verdict"),
        ({"at_least": 101}, "at_least = 101: it must lie between 0 and 100"),
        ({"at_least": math.nan}, "at_least = nan: it must lie between 0 and 100"),
        ({"cpu_s": 0}, "cpu_s = 0: it must be more than 0"),
        ({"memory_mib": 0}, "memory_mib = 0: it must be 1 or more"),
    ],
)
def test_what_is_not_possible_is_said(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        db.score("reno", **keywords)


def test_what_cannot_be_scored_is_said_as_a_run_says_it(tmp_path: Path) -> None:
    with pytest.raises(db.ScenarioError, match="unknown algorithm `rino`"):
        db.score("rino")
    file = tmp_path / "mine.py"
    file.write_text("class Mine:\n    def on_ack(self, conn, ack):\n        raise RuntimeError('astray')\n")
    with pytest.raises(db.RunError, match="astray"):
        db.score(f"{file}:Mine")
    with pytest.raises(db.ScenarioError, match="cannot read"):
        db.score(str(tmp_path / "nothing.npz"))


@pytest.mark.parametrize(
    ("option", "message"),
    [("--at-least=-1", "--at-least -1: it must lie between 0 and 100"),
     ("--cpu-seconds=nan", "--cpu-seconds nan: it must be more than 0")],
)  # fmt: skip
def test_an_option_that_is_not_possible_is_named(dumbbell: Cli, option: str, message: str) -> None:
    done = dumbbell("score", "reno", option)
    assert (done.status, done.out) == (2, "")
    assert message in done.err


def test_what_a_class_prints_goes_to_standard_error(dumbbell: Cli, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("class Mine:\n    def on_ack(self, conn, ack):\n        print('hello')\n        conn.cwnd = 1\n")
    done = dumbbell("score", f"{file}:Mine", "--json")
    assert json.loads(done.out)["stopped"] is not None
    assert "hello\n" in done.err


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="there is no /proc")
def test_the_process_of_a_score_ends_with_whoever_asked(tmp_path: Path) -> None:
    file, place = tmp_path / "mine.py", tmp_path / "process"
    file.write_text(
        "import os, pathlib\nclass Mine:\n    def on_ack(self, conn, ack):\n"
        f"        pathlib.Path({str(place)!r}).write_text(str(os.getpid()))\n        while True: pass\n"
    )
    asking = subprocess.Popen([sys.executable, "-m", "dumbbell", "score", f"{file}:Mine"])
    wait_until(lambda: place.is_file() and place.read_text() != "")
    asking.kill()
    asking.wait()
    state = Path(f"/proc/{place.read_text()}/stat")
    # Nobody may wait for it: then it is there, as a zombie.
    wait_until(lambda: not state.exists() or state.read_text().rpartition(") ")[2].startswith("Z"))


CRASHES = "control->cwnd = *(volatile uint32_t *)0;"
LOOPS = "for (volatile int i = 0;; i++) control->cwnd = 1;"
GROWS = "for (;;) { char *p = malloc(1 << 20); if (!p) abort(); p[0] = 1; }"


@needs_c
@pytest.mark.parametrize(
    ("code", "message"),
    [(CRASHES, r"has ended its process \(signal 11\)"), (LOOPS, "has computed for 2 s"), (GROWS, r"signal 6|memory")],
)
def test_a_library_that_goes_astray_takes_nobody_along(tmp_path: Path, code: str, message: str) -> None:
    (tmp_path / "dumbbell_cc.h").write_text(_core.contracts()[0])
    source = (ROOT / "examples/library/reno.c").read_text()
    begin = source.index("    int in_slow_start")
    end = source.index("static const dumbbell_algorithm")
    body = f"    (void)view, (void)acked;\n    {code}\n}}\n\n"
    (tmp_path / "own.c").write_text("#include <stdlib.h>\n" + source[:begin] + body + source[end:])
    library = tmp_path / "own.so"
    subprocess.run(["cc", "-O1", "-w", "-shared", "-fPIC", "-o", library, "own.c"], cwd=tmp_path, check=True)
    before = time.process_time()
    with pytest.raises(db.RunError, match=message):
        db.score(str(library), cpu_s=2, memory_mib=1500)
    assert time.process_time() - before < 1


def test_the_command_prints_the_number_and_its_parts() -> None:
    told = CliRunner().invoke(app, ["score", "reno", "--set", "verdict", "--json"])
    assert told.exit_code == 0
    found = json.loads(told.output)
    assert found == db.score("reno", set="verdict").as_dict()
    lines = CliRunner().invoke(app, ["score", "reno", "--set", "verdict"]).output.splitlines()
    assert lines[0].split()[:2] == [f"{found['value']:.2f}", "reno-linux-6.18,"] and len(lines) == 6
    refused = CliRunner().invoke(app, ["score", "reno", "--set", "x"])
    assert refused.exit_code == 2 and "there is no set `x`" in refused.stderr


def test_the_blocks_of_the_page_run() -> None:
    page = (ROOT / "docs/scores.md").read_text("utf-8")
    _, _, rest = page.partition("```python\n")
    exec(compile(rest.split("```")[0], "docs/scores.md", "exec"), {})


def test_a_search_on_one_set_gains_on_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples/score/search_bbr.py"))["main"](40)
    lines = capsys.readouterr().out.splitlines()
    for line, name in zip(lines[-2:], ("standard", "verdict"), strict=True):
        word, _, before, _, after = line.replace(",", "").split()
        assert word == name and float(after) > float(before) + 3
