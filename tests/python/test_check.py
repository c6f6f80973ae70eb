"""``dumbbell check conform``: cases are data, rows are true, and mistakes turn the right rows red."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import dumbbell as db
from conftest import Cli
from dumbbell import ScenarioError, check
from dumbbell.check import picture
from dumbbell.check.cases import Assertion, Moment, Window, case_of, find, put
from dumbbell.check.conform import Row, document_of
from dumbbell.check.expressions import Expression, ExpressionError
from dumbbell.check.judge import Finding, Observed, judge

PAGE = Path(__file__).parents[2] / "docs/conform.md"
TEXT = PAGE.read_text(encoding="utf-8")

CASE = """\
duration = "2s"
record.interval = "5ms"

[path]
rate = "10mbit"
rtt = "40ms"

[[flows]]
cc = "bbr3"

[check]
number = 1
title = "STARTUP ends"
section = "ours"

[[check.assert]]
says = "DRAIN follows"
quantity = "mode"
when = { leave = "startup" }
relation = "is"
value = "drain"
"""


def failed(algorithm: str) -> set[int]:
    return {row.case.number for row in check.conform(algorithm) if row.verdict == "fail"}


@pytest.fixture(scope="module")
def failed_by_the_draft() -> set[int]:
    return failed("bbr3-draft")


def test_saving_once_an_episode_passes_what_the_letter_of_the_draft_fails(failed_by_the_draft: set[int]) -> None:
    assert failed_by_the_draft - failed("bbr3-draft:undo=episode") == {18, 19}
    assert failed_by_the_draft == {6, 18, 19}
    assert failed("bbr3-draft:undo=episode:app_limited_lowers_bound=true") == set()


@pytest.mark.parametrize("transport", ["tcp", "quic"])
def test_a_spurious_recovery_of_any_number_of_packets_is_taken_back(tmp_path: Path, transport: str) -> None:
    case = next(case.file for case in find("bbr3") if case.number == 18).read_text(encoding="utf-8")
    # A packet leaves every 1.2 ms or a little sooner.
    for packets in range(1, 11):
        text = case.replace("43500us", f"{40_000 + 1_200 * packets - 600}us").replace(
            "number = 18", f"number = {packets}"
        )
        (tmp_path / f"{packets:02}.toml").write_text(text, encoding="utf-8")

    def verdicts(algorithm: str) -> dict[int, str]:
        rows = check.conform(algorithm, cases=tmp_path, transports=[transport])
        return {row.case.number: row.verdict for row in rows}

    assert set(verdicts("bbr3-draft:undo=episode").values()) == {"pass"}
    assert "fail" in verdicts("bbr3-draft").values()


def mistakes() -> list[tuple[str, set[int]]]:
    """The rows of the page: a changed parameter, and the cases that it fails."""
    rows = re.findall(r"^\| [^|]+ \| `(\w+=[\w.]+)`[^|]*\| ([\d, ]+) \|$", TEXT, re.MULTILINE)
    return [(change, {int(number) for number in numbers.split(",")}) for change, numbers in rows]


def test_the_page_has_a_mistake_for_each_state() -> None:
    assert len(mistakes()) == 8


@pytest.mark.parametrize(("change", "red"), mistakes(), ids=[change for change, _ in mistakes()])
def test_a_mistake_turns_its_rows_red_and_no_other(change: str, red: set[int], failed_by_the_draft: set[int]) -> None:
    assert failed(f"bbr3-draft:{change}") - failed_by_the_draft == red


def test_the_page_is_executed(tmp_path: Path) -> None:
    commands = 0
    for kind, block in re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL):
        if kind == "toml":
            name, _, content = block.removeprefix("# ").partition("\n")
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(content, encoding="utf-8")
            continue
        command, *shown = block.removeprefix("$ ").splitlines()
        words = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(words, text=True, capture_output=True, cwd=tmp_path, check=False)
        said = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
        assert [line for line in shown if line.rstrip() not in said] == []
        expected = 2 if shown[0].startswith("error") else 1 if "FAIL" in block else 0
        assert done.returncode == expected, done.stderr
        commands += 1
    assert commands == 5


def test_the_sets_of_the_rfcs_hold_for_their_algorithms() -> None:
    for algorithm, name in (
        ("cubic", "rfc9438"),
        ("cubic-rfc", "rfc9438"),
        ("cubic-rfc", "hystart++"),
        ("reno", "rfc9002"),
    ):
        assert {row.verdict for row in check.conform(algorithm, set=name)} == {"pass"}, (algorithm, name)


def test_another_algorithm_fails_the_set_of_an_rfc() -> None:
    verdicts = {row.case.number: row.verdict for row in check.conform("reno", set="rfc9438", transports=["tcp"])}
    assert verdicts == {1: "fail", 2: "fail", 3: "pass", 4: "fail", 5: "not observable", 6: "fail", 7: "pass"}


def test_quic_has_losses_of_its_own_and_cubic_another_decrease() -> None:
    rows = check.conform("cubic", set="rfc9002")
    assert {row.transport for row in rows} == {"quic"}
    assert {row.case.number for row in rows if row.verdict == "fail"} == {2, 3}


def test_the_draft_has_22_cases_and_each_set_five_at_least() -> None:
    assert [case.number for case in check.find("bbr3")] == list(range(1, 23))
    for name in check.SETS:
        cases = check.find(name)
        assert len(cases) >= 5
        assert all(case.section and case.assertions for case in cases)


def test_what_an_algorithm_does_not_show_is_not_observable(tmp_path: Path, dumbbell: Cli) -> None:
    (tmp_path / "case.toml").write_text(CASE)
    done = dumbbell("check", "conform", "cubic", "--cases", str(tmp_path), "--json")
    assert done.status == 0
    row = json.loads(done.out)["cases"][0]
    assert row["verdict"] == "not observable"
    assert row["findings"][0]["found"] == "the algorithm does not show phases"


def test_a_class_of_ones_own_is_examined(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Mine:\n"
        "    def on_ack(self, conn, ack):\n        conn.cwnd = 7\n"
        "    def observe(self):\n        return {'w': 7}\n"
        "class Phased(Mine):\n"
        "    now = 0.0\n"
        "    def on_ack(self, conn, ack):\n        conn.cwnd = 7\n        self.now = conn.now\n"
        "    def observe(self):\n        return {'in_startup': self.now < 1, 'in_drain': self.now >= 1}\n"
    )
    cases = tmp_path / "cases"
    cases.mkdir()
    change = {'"mode"': '"cc_w"', '{ leave = "startup" }': '"1s"', '"is"': '"="', '"drain"': "7"}
    text = CASE
    for old, new in change.items():
        text = text.replace(old, new)
    (cases / "1.toml").write_text(text.replace('when = "1s"', 'when = { at = "1s" }'))
    rows = check.conform(f"{tmp_path}/mine.py:Mine", cases=cases, progress=False)
    assert [(row.transport, row.verdict) for row in rows] == [("tcp", "pass"), ("quic", "pass")]
    (cases / "1.toml").write_text(CASE)
    rows = check.conform(f"{tmp_path}/mine.py:Phased", cases=cases, progress=False)
    assert [row.verdict for row in rows] == ["pass", "pass"]
    assert all(row.worst.when == pytest.approx(1, abs=0.05) for row in rows)


def test_a_failure_says_what_was_asked_and_found_and_when(tmp_path: Path, dumbbell: Cli) -> None:
    (tmp_path / "case.toml").write_text(CASE.replace('value = "drain"', 'value = "probe_rtt"'))
    done = dumbbell("check", "conform", "bbr3", "--cases", str(tmp_path), "--transport", "tcp")
    assert done.status == 1
    assert re.search(r"1, tcp: DRAIN follows: asked is probe_rtt, found drain at 0\.\d+ s", done.out)


def test_a_phase_that_never_comes_fails(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(CASE.replace("startup", "holiday"))
    (row,) = check.conform("bbr3", cases=tmp_path, transports=["tcp"])
    assert row.verdict == "fail"
    assert row.worst.found.startswith("holiday ends: never; phases were startup, drain")


def test_pictures_and_experiments_are_written(tmp_path: Path, dumbbell: Cli) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/one.toml").write_text(CASE)
    out = tmp_path / "moments"
    command = ("check", "conform", "bbr3", "--cases", str(tmp_path / "cases"), "-o", str(out))
    assert dumbbell(*command).status == 0
    assert {path.name for path in out.glob("one-*")} == {
        f"one-{transport}.{kind}" for transport in check.TRANSPORTS for kind in ("png", "toml")
    }
    assert (out / "one-tcp.png").stat().st_size > 10_000
    assert dumbbell("run", str(out / "one-tcp.toml"), "--quiet").status == 0
    # Again over what it has written; and never over a file of the user's.
    assert dumbbell(*command).status == 0
    (out / "one-tcp.png").unlink()
    other = tmp_path / "mine"
    other.mkdir()
    (other / "one-tcp.png").write_text("mine")
    assert dumbbell(*command[:-1], str(other)).status == 2
    assert (other / "one-tcp.png").read_text() == "mine"


@pytest.mark.parametrize(
    ("old", "new", "message", "where"),
    [
        ('relation = "is"', 'relation = "=="', 'check.assert[0].relation = "=="`: choose among',
         "check.assert[0].relation"),
        ('quantity = "mode"', 'quantity = "cwmd"', '"cwmd"`: there is no column `cwmd`; did you mean `cwnd`?',
         "check.assert[0].quantity"),
        ('quantity = "mode"', 'quantity = "open(1)"', "`open(1)` is not allowed", "check.assert[0].quantity"),
        ('quantity = "mode"', 'quantity = "cwnd +"', "this is no expression", "check.assert[0].quantity"),
        ('leave = "startup"', 'leaves = "startup"', "did you mean `leave`?", "check.assert[0].when.leaves"),
        ('leave = "startup"', 'at = "5"', 'when.at = "5"`', "check.assert[0].when.at"),
        ('leave = "startup"', 'at = "1s", enter = "drain"', "a moment has one of", "check.assert[0].when.enter"),
        ('says = "DRAIN follows"', "", "`check.assert[0].says`: it is missing", "check.assert[0].says"),
        ("number = 1", "number = 1.5", "check.number = 1.5`: it must be a whole number", "check.number"),
        ("number = 1", 'number = 1\ntransports = ["sctp"]', "choose among tcp, quic", "check.transports[0]"),
        ('section = "ours"', 'section = "ours"\n[[check.place]]\nkey = "path.ratte"\nwhen = { at = "1s" }',
         "the experiment has no such key", "check.place[0].key"),
        ('value = "drain"', 'value = "drain"\ntolerance = "2%"', "a text has none", "check.assert[0].tolerance"),
        ('value = "drain"', 'value = "drain"\ntake = "mean"', "it goes with a window", "check.assert[0].take"),
        ('rate = "10mbit"', 'rate = "10mbps"', "10mbps", "5:8 (path.rate)"),
        ('quantity = "mode"\nwhen = { leave = "startup" }\nrelation = "is"',
         'quantity = "cwnd"\nwhen = { leave = "startup" }\nrelation = "="',
         'value = "drain"`: there is no column', "check.assert[0].value"),
        ('relation = "is"\nvalue = "drain"', 'relation = "="\nvalue = 1', "this is a text", "check.assert[0].quantity"),
        ('leave = "startup"', 'first = "cwnd"', "something that becomes true", "check.assert[0].when.first"),
        ('leave = "startup"', 'first = "cwnd > 3", nth = 0', "nth = 0`: 1 is the first", "check.assert[0].when.nth"),
        ('record.interval = "5ms"', "record.series = false", "record.series = false`: assertions", "record.series"),
        ('value = "drain"', 'value = "drain', "not TOML", "bad.toml:21:15"),
        ("[check]", "[checks]", "has no line `[check]`", ""),
        ('value = "drain"', 'value = "drain"\n[path]\nrate = "1mbit"', "`path` stands below [check]", "path"),
    ],
)  # fmt: skip
def test_a_bad_case_is_explained(old: str, new: str, message: str, where: str, tmp_path: Path, dumbbell: Cli) -> None:
    assert old in CASE
    file = tmp_path / "bad.toml"
    file.write_text(CASE.replace(old, new))
    done = dumbbell("check", "conform", "bbr3", "--cases", str(tmp_path))
    assert done.status == 2
    assert done.out == ""
    assert message in done.err
    assert f"--> {file}" in done.err
    assert where in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bbr4"], "unknown algorithm `bbr4`; did you mean"),
        (["bbr3", "--set", "rfc9483"], "there is no set `rfc9483`; did you mean `rfc9438`?"),
        (["bbr3", "--case", "23"], "there is no case 23"),
        (["bbr3", "--transport", "udp"], "there is no transport `udp`"),
        (["bbr3:drain_gian=1"], "drain_gian"),
        (["bbr3", "--cases", "nowhere"], "there is no such folder"),
        (["bbr3", "--cases", "nowhere", "--set", "bbr3"], "give one of the two"),
        (["reno", "--set", "rfc5681", "--case", "4", "--transport", "quic"], "none of these cases is about quic"),
        (["nowhere.py:Mine"], "nowhere.py"),
    ],
)
def test_a_bad_command_is_explained(arguments: list[str], message: str, dumbbell: Cli) -> None:
    done = dumbbell("check", "conform", *arguments)
    assert done.status == 2
    assert message in done.err


def test_two_cases_of_a_number_are_refused(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(CASE)
    with pytest.raises(ScenarioError, match=r"check\.number = 1`: a\.toml has it, too"):
        check.read_folder(tmp_path)


@pytest.mark.parametrize(
    "text", ["__import__('os')", "mode.upper()", "[1]", "cwnd if 1 else 2", "lambda: 1", "abs(1, 2)"]
)
def test_an_expression_is_arithmetic_and_nothing_else(text: str) -> None:
    with pytest.raises(ExpressionError):
        Expression(text)


MODES = ["startup"] * 3 + ["drain"] * 2 + ["probe_bw"] * 3 + ["drain", "probe_bw"]


def seen(**series: Any) -> Observed:
    """What ten samples show, a tenth of a second apart."""
    one = Observed.__new__(Observed)
    one.t = np.arange(1, 11) / 10
    one.values = {
        "t_s": one.t, "mode": np.array(MODES, dtype=object), "cwnd": np.arange(10.0, 101, 10),
        "cc_round": np.array([1.0, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
        "lost_total": np.array([0.0, 0, 1, 1, 0, 0, 0, 2, 2, 2]),
        "flow.sent": 500, "mss": 1448.0, "packet": 1500.0, "inf": np.inf,
    }  # fmt: skip
    one.values |= series
    return one


def asserted(**below: Any) -> Assertion:
    """An assertion of a case, as its file has it."""
    document = {"flows": [{"cc": "reno"}]}
    case = case_of(
        Path("case.toml"),
        document,
        "check",
        {"number": 1, "title": "t", "section": "s", "assert": [{"says": "so"} | below]},
    )
    return case.assertions[0]


def cwnd(when: dict[str, Any], relation: str, value: object, **more: object) -> dict[str, Any]:
    """An assertion about the window."""
    return {"quantity": "cwnd", "when": when, "relation": relation, "value": value} | more


@pytest.mark.parametrize(
    ("when", "times"),
    [
        ({"at": "0.3s"}, [0.3]),
        ({"at": "0.31s"}, [0.4]),
        ({"at": "2s"}, []),
        ({"at": "0s"}, [0.1]),
        ({"enter": "drain"}, [0.4, 0.9]),
        ({"enter": "startup"}, [0.1]),
        ({"enter": "*"}, [0.1]),
        ({"leave": "drain"}, [0.6, 1.0]),
        ({"leave": "probe_*"}, [0.9]),
        ({"leave": "holiday"}, []),
        ({"first": "lost_total > 0"}, [0.3, 0.8]),
        ({"first": "cwnd >= 10"}, [0.1]),
        ({"first": "lost_total > 0", "after": "0.5s"}, [0.8]),
        ({"first": "lost_total > 0", "after": "0.4s"}, [0.4, 0.8]),
        ({"first": "lost_total > 0", "after": "0.3s"}, [0.3, 0.8]),
        ({"first": "lost_total > 0", "until": "0.8s"}, [0.3]),
        ({"enter": "drain", "after": {"enter": "probe_bw"}}, [0.9]),
        ({"enter": "drain", "after": {"enter": "drain"}}, [0.4, 0.9]),
        ({"enter": "drain", "until": {"enter": "drain", "nth": 2}}, [0.4]),
        ({"enter": "drain", "plus": "100ms"}, [0.5, 1.0]),
        ({"enter": "drain", "plus": "150ms"}, [0.6]),
        ({"enter": "drain", "plus": "-100ms"}, [0.3, 0.8]),
        ({"enter": "drain", "rounds": 1}, [0.5]),
        ({"enter": "startup", "rounds": 2}, [0.5]),
    ],
)
def test_a_moment_is_where_its_words_say(when: dict[str, Any], times: list[float]) -> None:
    assertion = asserted(quantity="cwnd", relation=">", value=0, when=when)
    moment = assertion.quantity.when
    assert isinstance(moment, Moment)
    one = seen()
    assert [one.t[row] for row in one.instants(moment)] == pytest.approx(times)


@pytest.mark.parametrize(
    ("below", "verdict", "found", "when"),
    [
        # At a moment.
        (cwnd({"at": "0.3s"}, "=", 30), "pass", "30", 0.3),
        (cwnd({"at": "0.3s"}, "=", 31), "fail", "30", 0.3),
        (cwnd({"enter": "drain"}, "=", 40), "pass", "40", 0.4),
        (cwnd({"enter": "drain", "nth": 2}, "=", 90), "pass", "90", 0.9),
        (cwnd({"enter": "drain", "nth": -1}, "=", 90), "pass", "90", 0.9),
        (cwnd({"enter": "drain", "nth": 3}, "=", 90), "fail",
         "drain begins: 2 times, not 3; phases were startup, drain, probe_bw", None),
        (cwnd({"enter": "drain", "nth": -3}, "=", 90), "fail",
         "drain begins: 2 times, not 3; phases were startup, drain, probe_bw", None),
        (cwnd({"at": "9s"}, "=", 1), "fail",
         "at 9 s: never; phases were startup, drain, probe_bw", None),
        # Each of several.
        (cwnd({"enter": "drain"}, "<", 95, each=True), "pass", "90", 0.9),
        (cwnd({"enter": "drain"}, ">", 40, each=True), "fail", "40", 0.4),
        (cwnd({"enter": "drain"}, ">", 1, each=True, at_least=2),
         "pass", "90", 0.9),
        (cwnd({"enter": "drain"}, ">", 1, each=True, at_least=3),
         "fail", "drain begins: 2 times, not 3", None),
        (cwnd({"enter": "nap"}, ">", 1, each=True), "fail",
         "nap begins: never", None),
        (cwnd({"enter": "nap"}, ">", 1, each=True, at_least=0),
         "pass", "", None),
        # Counted.
        ({"quantity": "count", "when": {"enter": "drain"}, "relation": "=", "value": 2}, "pass", "2", None),
        ({"quantity": "count", "when": {"first": "lost_total > 0"}, "relation": "<", "value": 2}, "fail", "2", None),
        ({"quantity": "count", "when": {"enter": "nap"}, "relation": "=", "value": 0}, "pass", "0", None),
        # Of the whole run.
        ({"quantity": "flow.sent / mss", "relation": "<", "value": 1}, "pass", "0.3453", None),
        ({"quantity": "flow.sent", "relation": "<", "value": "packet"}, "pass", "500 against 1500", None),
        ({"quantity": "flow.sent", "relation": "<", "value": "inf"}, "pass", "500 against inf", None),
        ({"quantity": "flow.sent", "relation": ">", "value": "cwnd"}, "pass", "500 against 100", None),
        # In windows.
        (cwnd({"during": "drain"}, "<", 50), "fail", "50", 0.5),
        (cwnd({"during": "drain"}, "<=", 50), "pass", "40", 0.4),
        (cwnd({"during": "drain"}, ">", 40, take="any"), "pass", "50", 0.5),
        (cwnd({"during": "drain"}, ">", 50, take="any"), "fail", "40", 0.4),
        (cwnd({"during": "drain"}, "=", 45, take="mean"), "pass", "45", 0.5),
        (cwnd({"during": "drain"}, "=", 40, take="min"), "pass", "40", 0.4),
        (cwnd({"during": "drain"}, "=", 50, take="max"), "pass", "50", 0.5),
        ({"quantity": "-cwnd", "when": {"during": "drain"}, "take": "max", "relation": "=", "value": -40},
         "pass", "-40", 0.4),
        (cwnd({"during": "drain"}, "=", 40, take="first"), "pass", "40", 0.4),
        (cwnd({"during": "drain"}, "=", 50, take="last"), "pass", "50", 0.5),
        (cwnd({"during": "startup"}, "=", 20, take="change"), "pass", "20", 0.3),
        (cwnd({"during": "drain", "nth": 2}, "=", 90), "pass", "90", 0.9),
        (cwnd({"during": "drain", "nth": -1}, "=", 90), "pass", "90", 0.9),
        (cwnd({"during": "drain", "nth": -2}, "<", 60), "pass", "40", 0.4),
        (cwnd({"during": "drain", "nth": 3}, "=", 90), "fail",
         "in drain: 2 times, not 3", None),
        (cwnd({"during": "drain", "nth": -3}, "=", 90), "fail",
         "in drain: 2 times, not -3", None),
        (cwnd({"during": "nap"}, "=", 90), "fail", "in nap: never", None),
        (cwnd({"during": "drain", "after": "0.5s"}, "=", 90), "pass", "90", 0.9),
        (cwnd({"during": "drain", "after": "0.4s"}, "<", 60), "pass", "40", 0.4),
        # The last stay is cut off by the end of the run.
        (cwnd({"during": "probe_bw"}, "<", 90, each=True), "pass", "60", 0.6),
        (cwnd({"during": "drain"}, "<", 60, each=True), "fail", "90", 0.9),
        (cwnd({"during": "probe_bw", "skip": "100ms"}, ">", 60), "pass", "70", 0.7),
        (cwnd({"during": "probe_bw", "skip": "900ms"}, "=", 80), "pass", "80", 0.8),
        (cwnd({"during": "probe_bw", "last": "100ms"}, "=", 80), "pass", "80", 0.8),
        (cwnd({"during": "probe_bw", "last": "900ms"}, "=", 60, take="first"), "pass", "60", 0.6),
        (cwnd({"from": "0.2s", "until": "0.4s"}, "=", 25, take="mean"),
         "pass", "25", 0.3),
        (cwnd({"from": "0.2s", "until": {"at": "1s"}}, "=", 90, take="last"),
         "pass", "90", 0.9),
        (cwnd({"from": "0.4s", "until": "0.4s"}, "=", 40), "fail",
         "from at 0.4 s until at 0.4 s: never", None),
        ({"quantity": "cwnd / duration", "when": {"from": "0.2s", "until": "0.4s"}, "relation": "=", "value": 150},
         "pass", "150", 0.3),
        # Compared with other numbers.
        (cwnd({"at": "0.3s"}, "=", "10 * cc_round + 10"), "pass",
         "30 against 30", 0.3),
        (cwnd({"during": "drain"}, "<", "20 * cc_round"), "fail",
         "40 against 40", 0.4),
        ({"quantity": "cwnd", "when": {"at": "0.3s"}, "relation": "<",
          "value": {"quantity": "cwnd", "when": {"at": "0.5s"}}}, "pass", "30 against 50", 0.3),
        ({"quantity": "cwnd", "when": {"during": "startup"}, "relation": "<=",
          "value": {"quantity": "cwnd", "when": {"during": "startup"}, "take": "mean"}}, "fail", "30 against 20", 0.3),
        ({"quantity": "cwnd", "when": {"during": "startup"}, "relation": "<=",
          "value": {"quantity": "cwnd", "when": {"enter": "nap"}}}, "fail",
         "nap begins: never; phases were startup, drain, probe_bw", None),
        # Texts.
        ({"quantity": "mode", "when": {"at": "0.3s"}, "relation": "is", "value": "start*"}, "pass", "startup", 0.3),
        ({"quantity": "mode", "when": {"at": "0.4s"}, "relation": "is", "value": "startup"}, "fail", "drain", 0.4),
        ({"quantity": "mode", "when": {"at": "0.4s"}, "relation": "is not", "value": "startup"}, "pass", "drain", 0.4),
        ({"quantity": "mode", "when": {"from": "0.2s", "until": "0.5s"}, "relation": "is", "value": "startup"}, "fail",
         "drain", 0.4),
        ({"quantity": "mode", "when": {"from": "0.2s", "until": "0.5s"}, "relation": "is not", "value": "probe*"},
         "pass", "startup", 0.2),
        ({"quantity": "mode", "when": {"from": "0.2s", "until": "0.5s", "skip": "100ms"}, "take": "any",
          "relation": "is", "value": "drain"}, "pass", "startup", 0.3),
        ({"quantity": "mode", "when": {"from": "0.2s", "until": "0.4s"}, "take": "any", "relation": "is",
          "value": "drain"}, "fail", "startup", 0.2),
        # What is not shown.
        ({"quantity": "cc_gain", "when": {"at": "0.4s"}, "relation": "=", "value": 1}, "not observable",
         "the algorithm does not show cc_gain", None),
        (cwnd({"at": "0.4s"}, "=", "cc_gain"), "not observable",
         "the algorithm does not show cc_gain", None),
        (cwnd({"first": "cc_gain > 1"}, "=", 1), "not observable",
         "the algorithm does not show cc_gain", None),
        ({"quantity": "cwnd", "when": {"at": "0.4s"}, "relation": "=",
          "value": {"quantity": "cc_gain", "when": {"at": "0.5s"}}}, "not observable",
         "the algorithm does not show cc_gain", None),
    ],
)  # fmt: skip
def test_an_assertion_holds_or_not_where_it_looks(
    below: dict[str, Any], verdict: str, found: str, when: float | None
) -> None:
    finding = judge(asserted(**below), seen())
    assert (finding.verdict, finding.found) == (verdict, found)
    assert finding.when == (None if when is None else pytest.approx(when))
    assert finding.says == "so"


def test_a_value_that_is_missing_holds_for_nothing() -> None:
    gaps = np.array([np.nan] * 3 + [40.0, np.nan] + [60.0, np.nan, 80.0] + [np.nan] * 2)
    for take, found, when in (("mean", "70", 0.8), ("min", "60", 0.6), ("max", "80", 0.8), ("all", "none", 0.7)):
        below = {"quantity": "cwnd", "when": {"during": "probe_bw"}, "take": take, "relation": ">", "value": 50}
        finding = judge(asserted(**below), seen(cwnd=gaps))
        assert finding.found == found
        assert finding.when == pytest.approx(when)
        assert finding.verdict == ("fail" if take == "all" else "pass")
    for take in ("mean", "min", "max"):
        below = {"quantity": "cwnd", "when": {"during": "startup"}, "take": take, "relation": ">", "value": 0}
        finding = judge(asserted(**below), seen(cwnd=gaps))
        assert (finding.verdict, finding.found) == ("fail", "none")
    without = seen(mode=np.array([""] * 10, dtype=object))
    moment = {"quantity": "cwnd", "when": {"enter": "drain"}, "relation": "=", "value": 1}
    assert judge(asserted(**moment), without).found == "the algorithm does not show phases"
    rounds = seen()
    del rounds.values["cc_round"]
    moment = {"quantity": "cwnd", "when": {"enter": "drain", "rounds": 1}, "relation": "=", "value": 1}
    assert judge(asserted(**moment), rounds).found == "the algorithm does not show cc_round"
    some = seen(mode=np.array([""] * 4 + ["drain"] * 6, dtype=object))
    text = {"quantity": "mode", "when": {"at": "0.3s"}, "relation": "is", "value": "drain"}
    assert judge(asserted(**text), some).found == "no phase"
    never = judge(asserted(quantity="cwnd", when={"leave": "drain"}, relation=">", value=0), some)
    assert never.found == "drain ends: never; phases were drain"
    first = {"quantity": "cwnd", "when": {"at": "2s"}, "relation": "=", "value": 1}
    nothing = seen(mode=np.array([""] * 10, dtype=object))
    assert judge(asserted(**first), nothing).found == "at 2 s: never"


@pytest.mark.parametrize(
    ("relation", "tolerance", "holds", "breaks"),
    [
        ("=", 0, [100.0, 100 + 1e-10], [100.1, 99.9]),
        ("=", 5, [95.0, 105.0], [94.9, 105.1]),
        ("=", "5%", [95.0, 105.0], [94.9, 105.1]),
        ("<", 0, [99.9], [100.0]),
        ("<", 5, [104.9], [105.0]),
        ("<=", "5%", [105.0], [105.1]),
        (">", 0, [100.1], [100.0]),
        (">", 5, [95.1], [95.0]),
        (">=", "5%", [95.0], [94.9]),
    ],
)
def test_a_tolerance_widens_what_holds(
    relation: str, tolerance: float | str, holds: list[float], breaks: list[float]
) -> None:
    for values, verdict in ((holds, "pass"), (breaks, "fail")):
        for value in values:
            below = {"quantity": "cwnd", "when": {"at": "0.5s"}, "relation": relation, "value": 100}
            finding = judge(asserted(**below, tolerance=tolerance), seen(cwnd=np.full(10, value)))
            assert finding.verdict == verdict, value
    below = {"quantity": "cwnd", "when": {"at": "0.5s"}, "relation": "=", "value": "inf", "tolerance": "5%"}
    assert judge(asserted(**below), seen(cwnd=np.full(10, np.inf))).verdict == "pass"


@pytest.mark.parametrize(
    ("below", "asked"),
    [
        ({"quantity": "cwnd", "when": {"at": "1s"}, "relation": "<", "value": 1234.5}, "< 1234.5"),
        ({"quantity": "cwnd", "when": {"at": "1s"}, "relation": "=", "value": 3, "tolerance": 0.5}, "= 3 ± 0.5"),
        ({"quantity": "cwnd", "when": {"at": "1s"}, "relation": "=", "value": "2 * mss", "tolerance": "2.5%"},
         "= 2 * mss ± 2.5 %"),
        ({"quantity": "mode", "when": {"at": "1s"}, "relation": "is not", "value": "drain"}, "is not drain"),
        ({"quantity": "cwnd", "when": {"at": "1s"}, "relation": "=",
          "value": {"quantity": "cwnd", "when": {"leave": "drain", "plus": "5ms"}}}, "= cwnd when drain ends +5 ms"),
        ({"quantity": "cwnd", "when": {"at": "1s"}, "relation": "=",
          "value": {"quantity": "cwnd", "when": {"enter": "drain", "rounds": 2}}},
         "= cwnd when drain begins +2 rounds"),
        ({"quantity": "cwnd", "when": {"at": "1s"}, "relation": "=",
          "value": {"quantity": "cwnd", "when": {"first": "cwnd > 5"}}}, "= cwnd when cwnd > 5 becomes true"),
        ({"quantity": "cwnd", "when": {"at": "1s"}, "relation": "=",
          "value": {"quantity": "cwnd", "when": {"from": "1s", "until": {"leave": "drain"}}}},
         "= cwnd when from at 1 s until drain ends"),
        ({"quantity": "cwnd", "when": {"at": "1s"}, "relation": "=",
          "value": {"quantity": "cwnd", "when": {"during": "drain"}}}, "= cwnd when in drain"),
    ],
)  # fmt: skip
def test_what_is_asked_is_said_in_words(below: dict[str, Any], asked: str) -> None:
    assert asserted(**below).asked == asked


WHEN = {"at": "1s"}
NUMBER = {"quantity": "cwnd", "when": WHEN, "relation": "=", "value": 1}


@pytest.mark.parametrize(
    ("below", "message"),
    [
        (NUMBER | {"at_least": 2}, "assert[0].at_least = 2`: it says of how many moments at least each is looked at"),
        (NUMBER | {"each": 1}, "assert[0].each = 1`: it must be true or false"),
        (NUMBER | {"each": True, "when": {"enter": "a", "nth": 2}}, "each = true`: `nth` chooses one moment"),
        (NUMBER | {"relation": "is"}, "only mode, ca_state, limited_by are texts; for numbers"),
        (NUMBER | {"quantity": "mode"}, "this is a text; relations of texts are is and is not"),
        (NUMBER | {"value": "mode"}, "assert[0].value = \"mode\"`: this is a text"),
        (NUMBER | {"value": True}, "assert[0].value = true`: it must be a number"),
        (NUMBER | {"value": {"quantity": "count", "when": WHEN}}, "a count is compared with a number"),
        (NUMBER | {"value": {"quantity": "flow.sent"}}, "assert[0].value.when`: a quantity of another time needs it"),
        (NUMBER | {"value": {"quantity": "cwnd", "when": WHEN, "each": True}}, "value.each = true`: there is no"),
        (NUMBER | {"tolerance": -1}, "tolerance = -1`: it must be a number in the unit of the quantity, or a share"),
        (NUMBER | {"tolerance": True}, "tolerance = true`: it must be a number in the unit"),
        (NUMBER | {"tolerance": "2"}, 'tolerance = "2"`: it must be a number in the unit'),
        (NUMBER | {"tolerance": "x%"}, 'tolerance = "x%"`: it must be a number in the unit'),
        (NUMBER | {"take": "mean"}, "take = \"mean\"`: it goes with a window"),
        (NUMBER | {"take": "median", "when": {"during": "a"}}, "choose among all, any, mean, min, max, first"),
        ({"quantity": "count", "relation": "=", "value": 1}, "`count` counts the moments of `when`"),
        (NUMBER | {"quantity": "count", "when": {"during": "a"}}, "`count` counts the moments"),
        (NUMBER | {"quantity": "count", "each": True}, "`count` counts the moments"),
        ({"quantity": "cwnd + flow.sent", "relation": "=", "value": 1}, "a quantity of the series needs it"),
        (NUMBER | {"quantity": "cwnd / duration"}, "only a window has a duration"),
        (NUMBER | {"quantity": "flow.snet"}, "there is no column `flow.snet`; did you mean `flow.sent`?"),
        (NUMBER | {"quantity": "zzzz"}, "there is no column `zzzz`; `dumbbell columns` names all"),
        (NUMBER | {"when": {"during": "a", "from": "1s"}}, "when.from = \"1s\"`: there is no such key"),
        (NUMBER | {"when": {"from": "1s"}}, "when.until`: a window that has `from` needs it"),
        (NUMBER | {"when": {}}, "a moment has one of at, enter, leave and first"),
        (NUMBER | {"when": {"enter": "a", "nth": 1.5}}, "nth = 1.5`: 1 is the first"),
        (NUMBER | {"when": {"enter": "a", "plus": "x"}}, 'when.plus = "x"`'),
        (NUMBER | {"when": "1s"}, "assert[0].when = \"1s\"`: it must be a table"),
        (NUMBER | {"says": ""}, 'assert[0].says = ""`: it must be a text'),
        (NUMBER | {"sais": "x"}, "did you mean `says`?"),
    ],
)  # fmt: skip
def test_an_assertion_that_cannot_be_meant_is_refused_with_its_key(below: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        asserted(**below)
    assert message in str(refused.value)
    assert "--> case.toml (check.assert[0]" in str(refused.value)


@pytest.mark.parametrize(
    ("document", "below", "message"),
    [
        ({}, {}, "check.title = \"t\"`: the experiment has no [[flows]]"),
        ({"record": {"series": False}}, {}, "record.series = false`: assertions are about the series"),
        ({"record": {"series": True}}, {"number": -1}, "check.number = -1`: it must be a whole number from 0"),
        ({}, {"transports": []}, "check.transports = []`: it must be a list that is not empty"),
        ({}, {"transports": ["tcp", "udp"]}, "check.transports[1]`: choose among tcp, quic"),
        ({}, {"assert": []}, "check.assert = []`: there is no [[check.assert]]: nothing would be asked"),
        ({}, {"assert": {}}, "it must be a list of tables: write [[check.assert]]"),
        ({}, {"assert": [3]}, "check.assert[0] = 3`: it must be a table"),
        ({}, {"place": [{"key": "path.rate", "when": WHEN}]}, "the experiment has no such key; write"),
        ({}, {"place": [{"key": "flows[1].cc", "when": WHEN}]}, "the experiment has no such key"),
        ({}, {"place": [{"key": "flows.cc", "when": WHEN}]}, "the experiment has no such key"),
        ({}, {"title": ""}, "check.title = \"\"`: it must be a text"),
    ],
)  # fmt: skip
def test_a_case_that_cannot_be_meant_is_refused_with_its_key(
    document: dict[str, Any], below: dict[str, Any], message: str
) -> None:
    flows = {} if "[[flows]]" in message else {"flows": [{"cc": "reno"}]}
    whole = {"number": 1, "title": "t", "section": "s", "assert": [{"says": "so"} | NUMBER]} | below
    with pytest.raises(ScenarioError) as refused:
        case_of(Path("case.toml"), flows | document, "check", whole)
    assert message in str(refused.value)


def test_a_case_is_what_its_file_says() -> None:
    document = {"flows": [{"cc": "reno", "start": "0s"}], "path": {"rate": [["0s", 1], ["5s", 2]]}}
    below = {
        "number": 0, "title": "t", "section": "s", "transports": ["quic"],
        "place": [{"key": "path.rate[1][0]", "when": {"at": "2s"}}, {"key": "flows[0].start", "when": {"enter": "a"}}],
        "assert": [
            {"says": "a", **NUMBER},
            {"says": "b", "quantity": "cwnd", "when": {"during": "x", "skip": "1s", "last": "2s", "nth": 2,
                                                      "after": "3s"}, "relation": ">", "value": 2, "take": "min"},
            {"says": "c", "quantity": "cwnd", "relation": ">", "value": 2, "tolerance": "3%",
             "when": {"first": "cwnd > 1", "plus": "-1s", "rounds": 2, "until": "4s"}},
        ],
    }  # fmt: skip
    case = case_of(Path("case.toml"), document, "check", below)
    assert (case.number, case.title, case.section, case.transports) == (0, "t", "s", ["quic"])
    assert [key for key, _ in case.places] == ["path.rate[1][0]", "flows[0].start"]
    assert [str(moment) for _, moment in case.places] == ["at 2 s", "a begins"]
    assert document["path"] == {"rate": [["0s", 1], ["5s", 2]]}
    first, second, third = case.assertions
    assert (first.quantity.take, first.each, first.at_least, first.value, first.tolerance) == ("all", False, 1, 1.0, 0)
    window = second.quantity.when
    assert isinstance(window, Window)
    assert (window.during, window.nth, window.skip, window.last, str(window.after)) == ("x", 2, 1.0, 2.0, "at 3 s")
    moment = third.quantity.when
    assert isinstance(moment, Moment)
    assert (moment.kind, moment.plus, moment.rounds, moment.nth, str(moment.until)) == ("first", -1.0, 2, 1, "at 4 s")
    assert (third.tolerance, third.is_relative) == (0.03, True)
    default = case_of(Path("case.toml"), document, "check", below | {"transports": ["tcp", "quic"], "place": []})
    assert (default.transports, default.places) == (["tcp", "quic"], [])
    put(document, "path.rate[1][0]", "6s")
    put(document, "flows[0].start", "1s")
    assert document == {"flows": [{"cc": "reno", "start": "1s"}], "path": {"rate": [["0s", 1], ["6s", 2]]}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x + 2 * y - 1", [2 + 2 * 3 - 1, 4 + 2 * 5 - 1]),
        ("x / y", [2 / 3, 4 / 5]),
        ("x ** 2", [4, 16]),
        ("-x", [-2, -4]),
        ("x < 3", [True, False]),
        ("x <= 4", [True, True]),
        ("x > 2", [False, True]),
        ("x >= 2", [True, True]),
        ("x == 4", [False, True]),
        ("x != 4", [True, False]),
        ("x > 2 and y > 2", [False, True]),
        ("x > 2 or y > 2", [True, True]),
        ("x > 9 or y > 9 or x > 3", [False, True]),
        ("abs(-x)", [2, 4]),
        ("cbrt(x * x * x)", [2, 4]),
        ("min(x, 3)", [2, 3]),
        ("max(x, 3)", [3, 4]),
        ("fill(z, x)", [2, 7]),
        ("flow.sent + 0 * x", [9, 9]),
        ("5", [5, 5]),
    ],
)
def test_an_expression_is_what_it_says(text: str, value: list[float]) -> None:
    values = {"x": np.array([2.0, 4.0]), "y": np.array([3.0, 5.0]), "z": np.array([np.nan, 7.0]), "flow.sent": 9}
    expression = Expression(text)
    assert expression.at(values, 2).tolist() == pytest.approx([float(one) for one in value])
    assert expression.is_condition is isinstance(value[0], bool)
    assert expression.is_number is True


def test_what_an_expression_reads_and_what_it_is() -> None:
    assert Expression("max(b, a) + flow.sent * a - min(c, 1)").names == ["b", "a", "flow.sent", "c"]
    assert Expression("mode").is_number is False
    assert Expression("mode + 1").is_number is False
    assert Expression("'text'").is_number is False
    assert Expression("mode == 'text'").is_condition is True
    assert Expression("cwnd").is_condition is False


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("min(1)", "`min` takes 2 values, not 1"),
        ("abs(1, 2)", "`abs` takes 1 values, not 2"),
        ("other.sent", "`other.sent` is not allowed; it may have columns, numbers"),
        ("1 < 2 < 3", "`1 < 2 < 3` is not allowed"),
        ("not x", "`not x` is not allowed"),
        ("+x", "`+x` is not allowed"),
        ("True", "`True` is not allowed"),
        ("x % 2", "`x % 2` is not allowed"),
        ("x is y", "`x is y` is not allowed"),
        ("x +", "this is no expression; it may have columns, numbers, + - * / ** ( ), comparisons, and, or, abs(x), "
         "cbrt(x), min(x, y), max(x, y), fill(x, y)"),
        ("min(x=1, y=2)", "is not allowed"),
        ("1 + open(2)", "`open(2)` is not allowed"),
        ("max(1, [2])", "`[2]` is not allowed"),
        ("x and [1]", "`[1]` is not allowed"),
        ("-[1]", "`[1]` is not allowed"),
        ("x < [1]", "`[1]` is not allowed"),
        ("\0", "this is no expression"),
    ],
)  # fmt: skip
def test_what_is_no_arithmetic_is_told(text: str, said: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        Expression(text)
    assert said in str(refused.value)


def rows_of(*verdicts: str) -> Row:
    case = case_of(Path("case.toml"), {"flows": [{}]}, "check", {"number": 3, "title": "t", "section": "s",
                                                                "assert": [{"says": "so"} | NUMBER]})  # fmt: skip
    return Row(
        case,
        "quic",
        [Finding(f"says {number}", verdict, "asked", "found", number / 2) for number, verdict in enumerate(verdicts)],  # type: ignore[arg-type]
    )


def test_the_verdict_of_a_case_is_that_of_its_worst_finding() -> None:
    for verdicts, verdict, worst in (
        (["pass", "pass"], "pass", 0),
        (["pass", "not observable", "fail", "fail"], "fail", 2),
        (["pass", "not observable", "pass"], "not observable", 1),
    ):
        row = rows_of(*verdicts)
        assert (row.verdict, row.worst.says) == (verdict, f"says {worst}")
    told = rows_of("pass", "fail").to_json()
    assert {key: told[key] for key in ("case", "title", "section", "transport", "verdict")} == {
        "case": 3, "title": "t", "section": "s", "transport": "quic", "verdict": "fail",
    }  # fmt: skip
    assert told["findings"][1] == {"says": "says 1", "verdict": "fail", "asked": "asked", "found": "found", "t_s": 0.5}


def test_the_experiment_of_a_case_has_the_algorithm_and_the_transport_in_its_first_flow() -> None:
    def made(transport: Any = None, whole: Any = None, **more: Any) -> dict[str, Any]:
        flow = {"cc": "reno"} | ({} if transport is None else {"transport": transport})
        document = {"flows": [flow, {"cc": "reno"}]} | ({} if whole is None else {"transport": whole}) | more
        case = case_of(Path("x.toml"), document, "check", {"number": 3, "title": "t", "section": "s",
                                                         "assert": [{"says": "so"} | NUMBER]})  # fmt: skip
        found = document_of(case, {"name": "bbr"}, "quic")
        assert document["flows"][0]["cc"] == "reno"
        assert found["flows"][1] == {"cc": "reno"}
        return found

    assert made()["flows"][0] == {"cc": {"name": "bbr"}, "transport": "quic"}
    assert made()["record"] == {"interval": "1ms"}
    assert made(record={"interval": "5ms", "rtt": True})["record"] == {"interval": "5ms", "rtt": True}
    assert made({"mss": 1000})["flows"][0]["transport"] == {"mss": 1000, "profile": "quic"}
    assert made(whole={"ecn": True})["flows"][0]["transport"] == {"ecn": True, "profile": "quic"}
    assert made("tcp", {"ecn": True})["flows"][0]["transport"] == "quic"


def test_a_case_waits_for_a_moment_of_a_run_without_it(tmp_path: Path) -> None:
    text = CASE.replace(
        'rtt = "40ms"', 'rtt = "40ms"\nevents = [{ action = "drop", flow = 0, from = "1s", until = "1005ms" }]'
    )
    placed = text + '\n[[check.place]]\nkey = "path.events[0].from"\nwhen = { enter = "WHERE" }\n'
    (tmp_path / "1.toml").write_text(placed.replace("WHERE", "holiday"))
    (row,) = check.conform("bbr3", cases=tmp_path, transports=["tcp"], progress=False)
    assert row.verdict == "fail"
    assert (row.worst.says, row.worst.asked) == ("The experiment has to wait for something", "it comes")
    assert row.worst.found.startswith("holiday begins: never")
    (row,) = check.conform("cubic", cases=tmp_path, transports=["tcp"], progress=False)
    assert (row.verdict, row.worst.found) == ("not observable", "the algorithm does not show phases")


def numbered(verdict: str = "pass", when: tuple[float | None, ...] = (0.5,), *quantities: str) -> Row:
    below = [{"says": "so", "quantity": one, "when": WHEN, "relation": "=", "value": "flow.sent"} for one in quantities]
    case = case_of(
        Path("case.toml"),
        {"flows": [{}]},
        "check",
        {"number": 3, "title": "t", "section": "s", "assert": below or [{"says": "so"} | NUMBER]},
    )
    return Row(case, "tcp", [Finding("so", verdict, "= 1", "2", at) for at in when])  # type: ignore[arg-type]


def test_the_picture_of_a_moment_shows_what_was_asked_about_and_what_was_around() -> None:
    one = seen(inflight=np.full(10, 3.0), pacing_mbps=np.full(10, np.nan), rtt_ms=np.arange(10.0))
    assert picture._columns(numbered("pass", (0.5,), "cwnd + t_s", "rtt_ms"), one) == ["cwnd", "rtt_ms", "inflight"]
    assert picture._columns(numbered("pass", (0.5,), "lost_total", "cwnd", "rtt_ms", "cc_round"), one) == [
        "lost_total", "cwnd", "rtt_ms", "cc_round",
    ]  # fmt: skip
    long = seen()
    long.t = np.arange(1, 101) / 10
    assert picture._range(numbered("pass", (None,)), long) == (0.1, 10.0)
    assert picture._range(numbered("pass", (5.0, None)), long) == pytest.approx((4.4, 5.6))
    assert picture._range(numbered("pass", (3.0, 7.0)), long) == (2.0, 8.0)
    assert picture._range(numbered("pass", (0.2, 9.9)), long) == (0.1, 10.0)
    mixed = Row(numbered().case, "tcp", [Finding("a", "pass", "", "", 1.0), Finding("b", "fail", "", "", 5.0)])
    assert picture._range(mixed, long) == pytest.approx((4.4, 5.6))
    passed = picture.moment(numbered("pass", (0.4, 0.6, 9.0), "cwnd", "rtt_ms"), one)
    assert [axes.get_ylabel() for axes in passed.axes] == ["cwnd\n(packets)", "RTT\n(ms)", "in flight\n(packets)"]
    assert [axes.get_xlabel() for axes in passed.axes] == ["", "", "time in s"]
    for axes in passed.axes:
        curve, *marks = axes.get_lines()
        assert curve.get_drawstyle() == "steps-post"
        assert [(mark.get_linestyle(), np.asarray(mark.get_xdata()).tolist()) for mark in marks] == [
            (":", [0.4] * 2),
            (":", [0.6] * 2),
        ]
    assert passed.legends[0].get_title().get_text() == "3. t, tcp: pass"
    assert [text.get_text() for text in passed.legends[0].get_texts()] == ["STARTUP", "DRAIN", "PROBE_BW"]
    failed_ = picture.moment(numbered("fail", (0.4,), "cwnd"), one)
    assert failed_.legends[0].get_title().get_text() == "3. t, tcp: fail\nso: = 1; found 2"
    mark = failed_.axes[0].get_lines()[1]
    assert (mark.get_linestyle(), mark.get_color()) == ("-", "#D55E00")
    assert np.asarray(failed_.axes[0].get_lines()[0].get_xdata()).tolist() == pytest.approx(
        [0.1 * n for n in range(1, 11)]
    )


def test_phases_are_shaded_from_where_they_begin() -> None:
    figure = Figure()
    axes = figure.subplots()
    one = seen()
    entries = picture._shade([axes], one.t, list(one.values["mode"]))
    assert [entry.get_label() for entry in entries] == ["STARTUP", "DRAIN", "PROBE_BW"]
    spans = [patch.get_extents().transformed(axes.transData.inverted()).intervalx for patch in axes.patches]
    assert [span.tolist() for span in spans] == [
        pytest.approx(span) for span in ([0.1, 0.4], [0.4, 0.6], [0.6, 0.9], [0.9, 1.0], [1.0, 1.0])
    ]
    colours = [to_hex(patch.get_facecolor(), keep_alpha=True).upper() for patch in axes.patches]
    shades = picture._SHADES
    assert colours == [shades[0], shades[1], shades[2], shades[1], shades[2]]
    assert picture._shade([axes], one.t, [""] * 10) == []
    assert picture._shade([axes], one.t[:0], []) == []
    named = picture._shade([axes], one.t, ["", *["probe_bw_up"] * 9], ["a", "b", "", "probe_bw_up"])
    assert [(entry.get_label(), to_hex(entry.get_facecolor(), keep_alpha=True).upper()) for entry in named] == [
        ("UP", shades[3])
    ]
    assert picture._shade_of([str(number) for number in range(9)], "8") == shades[1]
    for most, expected in ((30.0, False), (31.0, True)):
        assert picture._is_far_apart(np.array([1.0, np.nan]), np.array([most])) is expected
        assert picture._is_far_apart(np.array([most]), np.array([1.0])) is expected
    assert picture._is_far_apart(np.array([0.0]), np.array([99.0])) is False


@pytest.mark.parametrize(
    ("transport", "payload", "packet"),
    [
        ({"profile": "tcp", "mss": 1000, "timestamps": True}, 1000, 1052),
        ({"profile": "tcp", "mss": 1000, "timestamps": False}, 1000, 1040),
        ({"profile": "quic", "mss": 1000}, 1000, 1050),
    ],
)
def test_what_a_run_shows_is_its_first_flow(transport: dict[str, Any], payload: float, packet: float) -> None:
    flows = [{"cc": "reno", "transport": transport}, {"cc": "bbr"}]
    run = db.run({"duration": "1s", "path": {"rate": "5mbit", "rtt": "20ms"}, "flows": flows})
    one = Observed(run)
    series = run.series.to_polars()
    own = series.filter(series["flow"] == 0)
    assert one.t.tolist() == own["t_s"].to_list()
    assert np.nanmax(one.values["cwnd"]) == own["cwnd"].max()
    row = run.flows.to_polars().row(0, named=True)
    assert one.values["flow.sent"] == row["sent"]
    assert one.values["flow.goodput_mbps"] == row["goodput_mbps"]
    assert row["completion_s"] is None and np.isnan(one.values["flow.completion_s"])
    assert "flow.label" not in one.values
    assert (one.values["mss"], one.values["packet"], one.values["inf"]) == (payload, packet, np.inf)


def test_phases_of_a_class_are_those_whose_values_are_1() -> None:
    one = seen()
    one.values = {"cc_in_up": np.array([1.0, 0, np.nan] + [0.0] * 7), "cc_in_down": np.array([0.0, 1, 0] + [0.0] * 7)}
    assert one._phases().tolist() == ["up", "down", *[""] * 8]
