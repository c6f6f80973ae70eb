"""``dumbbell check conform``: cases are data, rows are true, and mistakes turn the right rows red."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Cli
from dumbbell import ScenarioError, check
from dumbbell.check.cases import find
from dumbbell.check.expressions import Expression, ExpressionError

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
