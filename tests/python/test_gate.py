"""``dumbbell check gate``: verdicts follow from pairs of runs and hold together, and an advice says how many decide."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from conftest import Cli
from dumbbell.check import gate_page, recorded, scenarios
from dumbbell.check.gate import applied, compared, gate
from dumbbell.check.limits import DEFAULTS, Limit, Row, judge, parse
from dumbbell.check.recorded import Recorded, Runs
from dumbbell.check.scenarios import METRICS
from dumbbell.inference import ALPHA

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]

STEADY = """\
duration = "6s"
warmup = "2s"
vary_rtt = "2ms"

[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"

[[flows]]
cc = "cubic"
label = "subject"
"""
BESIDE = STEADY.replace('"subject"', '"other"') + '\n[[flows]]\ncc = "cubic"\nlabel = "subject"\nstart_jitter = "1s"\n'
SHORT = """\
duration = "6s"
warmup = "1s"

[path]
rate = "10mbit"
rtt = "20ms"
buffer = "1bdp"

[[traffic]]
kind = "short-flows"
cc = "cubic"
label = "subject"
load = "30%"
size = "20kB"
"""
SLOWER = "bbr3:pacing_margin=6%"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with three short scenarios."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, text in (("01-steady", STEADY), ("02-beside", BESIDE), ("03-short", SHORT)):
        (folder / f"{name}.toml").write_text(text)
    return folder


def drawn(rng: np.random.Generator, runs: int, spread: float, middle: float = 10.0, tail: float = 3) -> list[float]:
    """Runs whose tails are heavy, or normal with a large ``tail``."""
    return [float(value) for value in middle * np.exp(spread * rng.standard_t(tail, runs))]


def recorded_of(values: dict[str, dict[str, list[float]]]) -> Recorded:
    runs = {name: Runs("", list(range(len(next(iter(one.values()))))), one) for name, one in values.items()}
    return Recorded("drawn", "drawn", "tcp", "", runs)


# What numbers say.


def test_the_same_algorithm_passes_and_all_verdicts_hold_together() -> None:
    limits = [(f"s{number}", parse("goodput -0.1%")) for number in range(8)]
    rng = np.random.default_rng(49)
    failed = 0
    for _ in range(200):
        base, new = (recorded_of({name: {"goodput": drawn(rng, 20, 0.05)} for name, _ in limits}) for _ in range(2))
        failed += not compared(base, new, limits).passes
    # A limit so small that chance alone would break each single one in a twentieth of the trials, if they were not
    # corrected: all eight together would break in a third.
    assert 0 < failed <= 0.05 * 200


@pytest.mark.parametrize(
    ("limit", "spread", "tail"),
    [
        ("goodput -2%", 0.002, 3),
        ("goodput -2%", 0.005, 3),
        ("delay +10%", 0.02, 3),
        ("p95 goodput -2%", 0.003, 100),
        ("p95 delay +10%", 0.01, 100),
    ],
)
def test_a_regression_is_shown_by_the_advised_number_of_runs(limit: str, spread: float, tail: float) -> None:
    one, rng = parse(limit), np.random.default_rng(7)
    worse = 1 + one.sign * 1.5 * one.size
    error = ALPHA / 30

    def judged(runs: int, middle: float) -> Row:
        base, new = drawn(rng, runs, spread, tail=tail), drawn(rng, runs, spread, middle, tail)
        return judge("s", one, base, new, error)

    found, advised = 0, []
    for _ in range(100):
        runs = judged(40, 10).advised
        assert runs is not None
        advised.append(runs)
        found += judged(runs, 10 * worse).verdict == "fail"
    assert found >= 90
    without = judge("s", one, [10.0] * 40, [10.0] * 40, error).advised
    assert without is not None and math.log2(1 / error) <= without <= min(advised)


def test_few_runs_decide_nothing() -> None:
    row = judge("s", parse("goodput -2%"), [10.0] * 3, [1.0] * 3, ALPHA)
    assert row.verdict == "undecided"
    assert (row.change.low, row.change.high) == (-math.inf, math.inf)
    assert judge("s", parse("goodput -2%"), [10.0] * 5, [1.0] * 5, ALPHA).verdict == "fail"


def test_a_note_says_where_there_are_too_few_runs(own: Path) -> None:
    limits = ["p95 goodput -2%", "delay +10%"]
    few, enough = (
        gate("bbr3", "bbr", limits, scenarios=own, names=["steady"], repeat=repeat, progress=False).notes
        for repeat in (5, 85)
    )
    assert few == ["too few runs to show anything: p95 goodput -2% needs 86, delay +10% needs 6"]
    assert enough == ["too few runs to show anything: p95 goodput -2% needs 86"]


def test_a_quantile_that_is_not_the_median_needs_more_runs_and_is_judged_by_both_samples() -> None:
    rng = np.random.default_rng(3)
    limit = parse("p95 delay +10%")
    base, new = drawn(rng, 200, 0.01), drawn(rng, 200, 0.01, 12)
    row = judge("s", limit, base, new, ALPHA)
    assert row.base.estimate == pytest.approx(np.quantile(base, 0.95))
    assert row.verdict == "fail"
    assert row.advised is not None and row.advised >= 72
    assert judge("s", limit, new, base, ALPHA).verdict == "pass"
    assert judge("s", limit, base[:50], new[:50], ALPHA).verdict == "undecided"


def test_what_never_ends_and_what_was_zero_can_be_compared() -> None:
    never, two = [math.inf] * 20, [2.0] * 20
    rise, fall = parse("completion +10%"), parse("completion -10%")
    assert judge("s", rise, two, never, ALPHA).verdict == "fail"
    assert judge("s", rise, never, never, ALPHA).verdict == "pass"
    assert judge("s", rise, never, two, ALPHA).verdict == "pass"
    assert judge("s", fall, never, two, ALPHA).verdict == "fail"
    zero = [0.0] * 20
    assert judge("s", parse("loss +10%"), zero, zero, ALPHA).verdict == "pass"
    assert judge("s", parse("loss +10%"), zero, two, ALPHA).verdict == "fail"
    assert judge("s", parse("loss +2.5"), zero, two, ALPHA).verdict == "pass"


def test_a_limit_says_what_it_limits() -> None:
    assert parse("short: p95 goodput -2%") == Limit("short: p95 goodput -2%", "short", 0.95, "goodput", -1, 0.02, True)
    assert parse("fairness -0.05") == Limit("fairness -0.05", None, 0.5, "fairness", -1, 0.05, False)
    assert parse("median delay+10%").written == "delay +10%"
    assert {parse(text).metric for text in DEFAULTS} == set(METRICS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("goodput", "this is no limit; write [SCENARIO:] [median|pNN] METRIC +LIMIT or -LIMIT"),
        ("goodput 2%", "this is no limit"),
        ("godput -2%", "there is no metric `godput`; did you mean `goodput`?"),
        ("mean goodput -2%", "a mean has no interval without assumptions; write median or p95"),
        ("p100 goodput -2%", "`p100` is no quantile"),
        ("goodput -0%", "no number of runs shows that nothing changes at all"),
        ("goodput -100%", "nothing falls by more than 100 %"),
        ("late: goodput -2%", "there is no scenario `late`; there are steady, beside, short"),
        ("steady: fairness -0.1", "`steady` has no fairness to measure, so that this limit changes nothing"),
    ],
)
def test_a_bad_limit_is_explained(text: str, message: str, own: Path, dumbbell: Cli) -> None:
    done = dumbbell("check", "gate", "bbr3", "bbr", "--gate", text, "--scenarios", own)
    assert done.status == 2
    assert f"error: {text}: " in done.err
    assert message in done.err


# The scenarios.


def test_the_package_has_scenarios_in_which_seeds_make_a_difference() -> None:
    found = scenarios.find()
    assert 8 <= len(found) <= 12
    assert {name for one in found for name in one.metrics} == set(METRICS)
    for one in found:
        assert one.points("bbr3", repeat=2, seed=None, transport="quic")[0].seed != one.points(
            "bbr3", repeat=2, seed=None, transport="quic")[1].seed  # fmt: skip
        assert one.document.get("vary_rtt")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('label = "subject"', 'label = "mine"', 'give a flow or traffic the label = "subject"'),
        ('rate = "10mbit"', 'rate = "10mbps"', "10mbps"),
        ("[[flows]]", "[sweep]\nrepeat = 2\n\n[[flows]]", "a scenario is one run, not a sweep of 2"),
    ],
)
def test_a_bad_scenario_is_explained(old: str, new: str, message: str, own: Path, dumbbell: Cli) -> None:
    (own / "04-bad.toml").write_text(STEADY.replace(old, new))
    done = dumbbell("check", "gate", "bbr3", "bbr", "--scenarios", own)
    assert done.status == 2
    assert message in done.err and "04-bad.toml" in done.err


# The command.


def test_a_planted_regression_is_red_and_the_same_algorithm_green(own: Path, dumbbell: Cli) -> None:
    command = ("check", "gate", "--scenarios", own, "--repeat", "16", "--json", "bbr3")
    done = dumbbell(*command, SLOWER)
    assert done.status == 1, done.err
    found = json.loads(done.out)
    rows = {(row["scenario"], row["metric"]): row for row in found["rows"]}
    assert (found["verdict"], rows["steady", "goodput"]["verdict"]) == ("fail", "fail")
    assert rows["steady", "goodput"]["change"]["estimate"] == pytest.approx(-0.045, abs=0.02)
    assert set(rows) == {
        *((name, metric) for name in ("steady", "beside", "short") for metric in ("goodput", "delay", "loss")),
        ("beside", "fairness"), ("short", "completion"),
    }  # fmt: skip
    done = dumbbell(*command, "bbr3")
    assert done.status == 0, done.err
    assert json.loads(done.out)["counts"] == {"pass": 11, "fail": 0, "undecided": 0}
    assert "nothing in it is random" not in done.err


def test_a_planted_regression_of_fairness_is_red(dumbbell: Cli) -> None:
    greedy = "cubic:emulated_connections=8"
    done = dumbbell("check", "gate", "cubic", greedy, "--scenario", "beside-cubic", "--gate", "fairness -0.05")
    assert done.status == 1, done.err
    assert "1 row of 40 pairs of runs: 0 pass, 1 FAIL, 0 undecided" in done.out


def test_what_was_recorded_is_a_base_and_runs_are_not_repeated(own: Path, tmp_path: Path, dumbbell: Cli) -> None:
    common = ("--scenarios", own, "--repeat", "12")
    folder = tmp_path / "baseline"
    done = dumbbell("check", "gate", "bbr3", *common, "-o", folder)
    assert done.status == 0, done.err
    kept = (folder / recorded.FILE).read_bytes()
    runs = {path: path.stat().st_mtime_ns for path in (folder / "runs").rglob("*.parquet")}
    assert runs
    assert dumbbell("check", "gate", "bbr3", *common, "-o", folder).status == 0
    assert (folder / recorded.FILE).read_bytes() == kept
    assert {path: path.stat().st_mtime_ns for path in runs} == runs
    # The file alone is enough: that is what one commits.
    alone = tmp_path / "committed"
    alone.mkdir()
    (alone / recorded.FILE).write_bytes(kept)
    by_file = dumbbell("check", "gate", alone, SLOWER, "--scenarios", own, "--json")
    by_run = dumbbell("check", "gate", "bbr3", SLOWER, *common, "--json")
    assert by_file.status == by_run.status == 1
    assert json.loads(by_file.out)["rows"] == json.loads(by_run.out)["rows"]
    same = dumbbell("check", "gate", alone, "bbr3", "--scenarios", own)
    assert "base and new did the same in every run" in same.out
    other = dumbbell("check", "gate", alone, "bbr3", "--scenarios", own, "--seed", "99")
    assert other.status == 0
    assert "base and new have different seeds" in other.err


def test_own_classes_and_quic_are_compared(own: Path, tmp_path: Path, dumbbell: Cli) -> None:
    (tmp_path / "mine.py").write_text(
        "class Mine:\n"
        "    def on_ack(self, conn, ack):\n"
        "        conn.cwnd = 10\n"
        "    def on_loss(self, conn, loss):\n"
        "        pass\n"
    )
    done = dumbbell(
        "check", "gate", "reno", f"{tmp_path / 'mine.py'}:Mine", "--scenarios", own, "--scenario", "steady", "--repeat",
        "8", "--transport", "quic", "--gate", "goodput -5%", "--json",
    )  # fmt: skip
    assert done.status == 1, done.err
    assert json.loads(done.out)["transport"] == "quic"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format: this version reads 1, found 2"),
        ({"scenarios": {}}, "scenarios: a table of scenarios is missing"),
        ({"scenarios": ["steady"]}, "scenarios: a table of scenarios is missing"),
        ({"transport": "quic"}, "was recorded over quic, which cannot be compared with another transport"),
        ({"scenarios": {"other": {"digest": "", "seeds": [1], "values": {}}}}, "`steady` was not recorded"),
        (
            {"scenarios": {"steady": {"digest": "", "seeds": [1], "values": {}}}},
            "`steady` was recorded of another experiment",
        ),
        *(
            (
                {"scenarios": {"steady": {"digest": "", "seeds": seeds, "values": {}}}},
                "scenarios.steady.seeds: it must be a list of whole numbers",
            )
            for seeds in ([], 1, ["1"], [1, 1.5], [True])
        ),
        (
            {"scenarios": {"steady": {"digest": "", "seeds": [1], "values": {"goodput": [-1]}}}},
            "scenarios.steady.values.goodput: numbers must lie between 0 and 1e+300, or be null",
        ),
        (
            {"scenarios": {"steady": {"digest": "", "seeds": [1], "values": {"goodput": [1, 2]}}}},
            "scenarios.steady.values.goodput: it must be a list of 1 numbers",
        ),
    ],
)
def test_a_record_that_cannot_be_a_base_is_explained(
    change: dict[str, object], message: str, own: Path, tmp_path: Path, dumbbell: Cli
) -> None:
    whole = {"format": 1, "algorithm": "a", "exact_name": "a", "transport": "tcp", "engine": "x"}
    steady = {"digest": "", "seeds": [1], "values": {"goodput": [1.0]}}
    (tmp_path / recorded.FILE).write_text(json.dumps(whole | {"scenarios": {"steady": steady}} | change))
    done = dumbbell("check", "gate", tmp_path, "bbr", "--scenarios", own, "--scenario", "steady", "--transport", "tcp")
    assert done.status == 2
    assert message in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bbr3"], "bbr3 is compared with nothing: name a second algorithm, or record this one with -o DIR"),
        (["bbr3", "bbr4"], "unknown algorithm `bbr4`; did you mean"),
        (["bbr3", "bbr", "--scenario", "latecomer"], "there is no scenario `latecomer`; did you mean `late-comer`?"),
        (["bbr3", "bbr", "--scenarios", "nowhere"], "there is no such folder"),
        (["bbr3", "bbr", "--transport", "udp"], "there is no transport `udp`; choose among tcp, quic"),
        (["bbr3", "bbr", "--gate", "loss +1", "--gate", "loss +2"], "short-buffer has the limit loss +1 already"),
        (["gate.json", "bbr"], "gate.json"),
    ],
)
def test_a_bad_command_is_explained(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dumbbell: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    done = dumbbell("check", "gate", *arguments)
    assert done.status == 2
    assert message in done.err
    assert list(tmp_path.iterdir()) == []


# What is shown.


def test_a_page_has_the_table_and_two_charts_and_replaces_only_pages(own: Path, tmp_path: Path, dumbbell: Cli) -> None:
    page, command = tmp_path / "gate.md", ("check", "gate", "bbr3", SLOWER, "--scenarios", own, "--repeat", "12")
    page.write_text("mine\n")
    done = dumbbell(*command, "--markdown", page)
    assert done.status == 2
    assert "is no page of a gate, and stays as it is" in done.err
    assert page.read_text() == "mine\n"
    page.unlink()
    assert dumbbell(*command, "--markdown", page).status == 1
    text = page.read_text()
    assert text.startswith(gate_page.MARK)
    assert "rows fail**" in text
    assert text.count("```text") == 2
    assert "| steady | goodput -2% | FAIL |" in text
    assert dumbbell(*command, "--markdown", page).status == 1
    assert page.read_text() == text


def test_a_chart_puts_the_change_and_the_limit_where_they_are() -> None:
    limit = parse("goodput -2%")
    rows = [
        judge(name, limit, [10.0] * 12, [value] * 12, ALPHA) for name, value in (("a", 10.0), ("b", 9.8), ("c", 1.0))
    ]
    same, at_limit, far = (line.split("[")[1].split("]")[0] for line in gate_page.chart(rows))
    assert len(same) == 2 * gate_page.HALF + 1
    assert same.index("o") == gate_page.HALF
    assert same.index("|") == at_limit.index("o") == gate_page.HALF // 2
    assert far.index("o") == 0


# Other doors.


def test_pytest_has_the_scenarios_as_a_fixture(own: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        def test_same(dumbbell_scenarios):
            report = dumbbell_scenarios.gate("bbr3", "bbr3")
            assert report.passes, report
            assert len(report.rows) == 11

        def test_slower(dumbbell_scenarios):
            report = dumbbell_scenarios.gate("bbr3", "{SLOWER}", "goodput -2%", names=["steady"])
            assert report.passes, report
        """
    )
    done = pytester.runpytest("--dumbbell-scenarios", str(own), "--dumbbell-repeat", "12", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*1 of 1 rows fail*", "*steady: goodput -2%: -*"])
    assert pytester.runpytest("--dumbbell-repeat", "0").ret == pytest.ExitCode.USAGE_ERROR


def test_in_python_limits_are_judged_in_the_order_of_the_scenarios(own: Path) -> None:
    report = gate("bbr3", "bbr", ["delay +10%", "steady: goodput -2%"], scenarios=own, repeat=6, progress=False)
    found = [(row.scenario, row.limit.metric) for row in report.rows]
    assert found == [("steady", "delay"), ("steady", "goodput"), ("beside", "delay"), ("short", "delay")]
    assert len(applied([], scenarios.read_scenarios(own))) == 11


ACTION = yaml.safe_load((ROOT / ".github/actions/gate/action.yml").read_text("utf-8"))
STEPS = {step.get("name"): step for step in ACTION["runs"]["steps"]}


def step(name: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a step of the action as its forge does, with the programs of this environment and those in the folder."""
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    files = {"GITHUB_OUTPUT": folder / "output", "GITHUB_STEP_SUMMARY": folder / "summary", "RUNNER_TEMP": folder}
    known = dict.fromkeys(STEPS[name]["env"], "") | {key: str(file) for key, file in files.items()}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]],
        env=os.environ | known | environment | {"PATH": path}, cwd=folder, capture_output=True, text=True,
    )  # fmt: skip


def test_the_action_runs_the_gate_with_its_inputs(own: Path, tmp_path: Path) -> None:
    inputs = {"BASE": "bbr3", "NEW": SLOWER, "SCENARIOS": str(own), "REPEAT": "8"}
    done = step("gate", tmp_path, **inputs, LIMITS="steady: goodput -2%\ndelay +50%\n")
    assert done.returncode == 0, done.stderr
    page = tmp_path / "dumbbell-gate.md"
    assert (tmp_path / "output").read_text() == f"status=1\npage={page}\n"
    assert (tmp_path / "summary").read_text() == page.read_text()
    assert "1 of 4 rows fail" in page.read_text()
    assert step("verdict", tmp_path, STATUS="1").returncode == 1
    page.unlink()
    wrong = step("gate", tmp_path, **inputs, LIMITS="godput -2%")
    assert wrong.returncode == 2
    assert "did you mean `goodput`?" in wrong.stderr


def test_the_action_installs_what_the_gate_needs(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > called\n')
    program.chmod(0o755)
    for package, first in (("", "/here/action/../../.."), ("my wheel.whl", "my wheel.whl")):
        step("install", tmp_path, PACKAGE=package, GITHUB_ACTION_PATH="/here/action")
        *_, asked, extra = (tmp_path / "called").read_text().splitlines()
        assert (asked, extra) == (first, "dumbbell[statistics]")


@pytest.mark.parametrize(
    ("said", "place"), [("", "POST repos/o/r/issues/7/comments"), ("42\n43", "PATCH repos/o/r/issues/comments/42")]
)
def test_the_action_comments_once(said: str, place: str, tmp_path: Path) -> None:
    forge = tmp_path / "gh"
    forge.write_text(f'#!/bin/sh\necho "$@" >> calls\ncase "$*" in *--paginate*) echo "{said}";; esac\n')
    forge.chmod(0o755)
    done = step("comment", tmp_path, PAGE="gate.md", PULL="7", GITHUB_REPOSITORY="o/r")
    assert done.returncode == 0, done.stderr
    asked, sent = (tmp_path / "calls").read_text().splitlines()
    assert gate_page.MARK in asked
    assert sent == f"api --silent --method {place} -F body=@gate.md"
    forge.write_text("#!/bin/sh\nexit 1\n")
    assert "::warning::" in step("comment", tmp_path, PAGE="gate.md", PULL="7", GITHUB_REPOSITORY="o/r").stdout


def test_the_inputs_of_the_action_are_those_that_its_steps_name() -> None:
    used = set(re.findall(r"inputs\.(\w+)", json.dumps(ACTION["runs"])))
    assert used == set(ACTION["inputs"])
    assert all(one["description"] for one in ACTION["inputs"].values())


SAMPLE = ROOT / "examples/gate"


def test_the_sample_is_red_where_fairness_is_lost_and_green_where_nothing_changes(tmp_path: Path) -> None:
    workflow = (SAMPLE / ".github/workflows/gate.yml").read_text("utf-8")
    assert f"```yaml\n{workflow}```" in (ROOT / "docs/gate.md").read_text("utf-8")
    (job,) = yaml.safe_load(workflow)["jobs"].values()
    (given,) = (one["with"] for one in job["steps"] if "/gate@" in one["uses"])
    assert set(given) <= set(ACTION["inputs"])
    assert job["permissions"]["pull-requests"] == "write"
    shutil.copytree(SAMPLE, tmp_path, dirs_exist_ok=True)
    shutil.copytree(SAMPLE, tmp_path / "before")
    environment = {key.upper(): value for key, value in given.items()} | {"REPEAT": "12"}
    assert step("gate", tmp_path, **environment).returncode == 0
    assert "status=0" in (tmp_path / "output").read_text()
    text = (tmp_path / "mine.py").read_text()
    (tmp_path / "mine.py").write_text(text.replace("parameter(1.0,", "parameter(8.0,"))
    done = step("gate", tmp_path, **environment)
    assert "status=1" in (tmp_path / "output").read_text()
    assert re.search(r"beside-cubic +fairness -0.05 +FAIL", done.stdout)


def test_the_page_shows_what_its_first_command_prints(dumbbell: Cli) -> None:
    text = (ROOT / "docs/gate.md").read_text("utf-8")
    block = re.findall(r"```console\n\$ dumbbell (.*?)\n(.*?)\n\$ echo", text, re.DOTALL)[0]
    done = dumbbell(*block[0].split())
    assert done.status == 1
    assert [line.rstrip() for line in done.out.splitlines() if line.strip()] == block[1].splitlines()
    named = re.findall(r"^\| `([a-z-]+)` \|", text.split("## Scenarios")[1], re.MULTILINE)
    assert named == [one.name for one in scenarios.find()]
