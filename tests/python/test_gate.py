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
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from scipy.stats import binom, chi2

from conftest import Cli
from dumbbell import ScenarioError
from dumbbell.check import gate as whole_gate
from dumbbell.check import gate_page, limits, recorded, scenarios
from dumbbell.check.gate import Report, applied, compared, gate
from dumbbell.check.limits import DEFAULTS, Limit, Row, advised, judge, parse
from dumbbell.check.recorded import Recorded, Runs
from dumbbell.check.scenarios import METRICS
from dumbbell.inference import ALPHA, Interval, proportion_interval, quantile_interval, quantile_ranks
from dumbbell.parallel import engine_digest
from dumbbell.storage import OtherEngineWarning, OutputError, ResultError

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
        ("steady: fairness -0.1", "`steady` measures no fairness, so that this limit changes nothing"),
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


# What a limit and a row say in words and numbers.


@pytest.mark.parametrize(
    ("text", "written", "share", "sign", "size"),
    [
        ("goodput -2%", "goodput -2%", 0.5, -1, 0.02),
        (" p95  delay + 12.5 % ", "p95 delay +12.5%", 0.95, 1, 0.125),
        ("p99.9 loss +.5", "p99.9 loss +0.5", 0.999, 1, 0.5),
        ("p1 fairness -0.05", "p1 fairness -0.05", 0.01, -1, 0.05),
        ("goodput -99.9%", "goodput -99.9%", 0.5, -1, 0.999),
        ("delay +100%", "delay +100%", 0.5, 1, 1.0),
        ("goodput -1", "goodput -1", 0.5, -1, 1.0),
    ],
)
def test_a_limit_is_read_and_written(text: str, written: str, share: float, sign: int, size: float) -> None:
    limit = parse(text)
    assert limit.written == written
    assert limit.sign == sign
    assert [limit.share, limit.size] == pytest.approx([share, size])
    assert limit.is_relative is ("%" in text)
    assert (limit.text, limit.scenario) == (text.strip(), None)


@pytest.mark.parametrize("text", ["p0 goodput -2%", "p100 goodput -2%", "p150 goodput -2%"])
def test_a_quantile_lies_between_all_and_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no quantile; write p1 to p99\.9, such as p95"):
        parse(text)


def test_changes_are_shares_or_differences_and_0_where_nothing_changed() -> None:
    base, new = np.array([2.0, 4.0, 0.0, 0.0, math.inf, math.inf]), np.array([3.0, 2.0, 0.0, 1.0, math.inf, 5.0])
    assert parse("delay +1%").changes(base, new).tolist() == [0.5, -0.5, 0, math.inf, 0, -1]
    assert parse("delay +1").changes(base[:4], new[:4]).tolist() == [1, -2, 0, 1]
    assert parse("delay +1").changes(base, new).tolist()[4:] == [0, -math.inf]


def test_a_change_is_told_in_the_unit_of_its_limit() -> None:
    relative, absolute = parse("goodput -2%"), parse("loss +0.5")
    assert [relative.amount(change) for change in (0.0123, -0.0999, 0.0999949, 0.1, -2.5)] == [
        "+1.23", "-9.99", "+10.00", "+10.0", "-250.0",
    ]  # fmt: skip
    assert [absolute.amount(change) for change in (0.0123, -12.3456)] == ["+0.012", "-12.346"]
    assert relative.interval(Interval(0.01, -0.02, 0.25, 5)) == "+1.00% [-2.00,+25.0]"
    assert absolute.interval(Interval(0.01, -0.02, 0.25, 5)) == "+0.010 [-0.020,+0.250]"


@pytest.mark.parametrize(
    ("text", "low", "high", "verdict"),
    [
        ("goodput -2%", -0.05, -0.02, "undecided"),
        ("goodput -2%", -0.05, -0.021, "fail"),
        ("goodput -2%", -0.02, 0.5, "pass"),
        ("goodput -2%", -0.021, 0.5, "undecided"),
        ("delay +10%", 0.1, 0.2, "undecided"),
        ("delay +10%", 0.11, 0.2, "fail"),
        ("delay +10%", -0.5, 0.1, "pass"),
        ("delay +10%", -0.5, 0.11, "undecided"),
    ],
)
def test_a_row_fails_beyond_its_limit_and_passes_within_it(text: str, low: float, high: float, verdict: str) -> None:
    interval = Interval((low + high) / 2, low, high, 9)
    row = Row("s", parse(text), interval, interval, interval, None)
    assert row.verdict == verdict


def test_the_fewest_runs_are_those_of_which_a_bound_is_a_run() -> None:
    # All of n runs lie on one side of the median with a probability of 2 ** -n.
    assert parse("goodput -2%").fewest(1 / 32) == 5
    assert parse("goodput -2%").fewest(1 / 33) == 6
    assert parse("p90 goodput -2%").fewest(0.05) == math.ceil(math.log(0.025) / math.log(0.9))
    assert parse("p10 goodput -2%").fewest(0.05) == parse("p90 goodput -2%").fewest(0.05)


def test_the_change_of_a_quantile_has_the_opposite_bounds_of_both_samples() -> None:
    rng = np.random.default_rng(11)
    limit = parse("p80 delay +10%")
    base, new = (np.array(drawn(rng, 60, 0.05, middle)) for middle in (10.0, 12.0))
    row = judge("s", limit, base, new, 0.04)
    before, after = (quantile_interval(values, 0.8, 0.02) for values in (base, new))
    assert before is not None and after is not None
    assert row.change.estimate == pytest.approx(after.estimate / before.estimate - 1)
    assert row.change.low == pytest.approx(after.low / before.high - 1)
    assert row.change.high == pytest.approx(after.high / before.low - 1)
    assert (row.change.n, row.base.estimate, row.new.estimate) == (60, before.estimate, after.estimate)
    own = quantile_interval(base, 0.8)
    assert own is not None
    assert (row.base.low, row.base.high) == (own.low, own.high)
    median = judge("s", parse("delay +10%"), base, new, 0.04)
    change = quantile_interval(new / base - 1, 0.5, 0.04)
    assert change is not None
    assert [median.change.low, median.change.high] == pytest.approx([change.low, change.high])
    few = judge("s", limit, base[:4], new[:4], 0.04)
    assert few.change.low == -1 and few.change.high == math.inf


def test_how_many_runs_a_median_needs_follows_from_the_binomial_distribution() -> None:
    limit, error = parse("goodput -2%"), 0.01
    base = np.full(30, 10.0)
    # Of 30 pairs 3 would be within a limit whose regression is half as large again.
    new = 10.0 * (1 + np.array([0.03, 0.02, 0.0101] + [0.0] * 27))
    found = advised(limit, base, new, error)
    share = proportion_interval(3, 30, 0.8)
    assert share is not None
    expected = None
    for runs in range(1, 2001):
        rank = max((rank for rank in range(runs) if binom.cdf(rank - 1, runs, 0.5) <= error), default=0)
        if rank and binom.cdf(rank - 1, runs, share.high) >= 0.9:
            expected = runs
            break
    assert found == expected
    ranks = limits._low_ranks(error)
    assert len(ranks) == 2000
    for runs in (1, 6, 7, 8, 50, 2000):
        # The highest rank whose chance to lie above the median is small enough.
        rank = ranks[runs - 1]
        assert rank == 0 or binom.cdf(rank - 1, runs, 0.5) <= error
        assert binom.cdf(rank, runs, 0.5) > error
    assert advised(limit, base, 10.0 * (1 + np.linspace(-1, 1, 30)), error) is None
    assert advised(parse("p95 goodput -2%"), base[:1], base[:1], error) is None
    assert advised(parse("p95 delay +2%"), base, np.array([math.inf] * 30), error) is None


def test_how_many_runs_another_quantile_needs_is_tried_with_normal_samples() -> None:
    rng = np.random.default_rng(5)
    found = {}
    for text in ("p80 goodput -5%", "p80 delay +5%", "p80 delay +0.5"):
        base, new = rng.normal(10, 0.2, 40), rng.normal(10, 0.3, 40)
        limit, error = parse(text), 0.02
        found[text] = advised(limit, base, new, error)
        spread = max(base.std(ddof=1), new.std(ddof=1)) * math.sqrt(39 / chi2.isf(0.9, 39))
        runs, middle = limit.fewest(error), float(np.median(base))
        while True:
            low, high = quantile_ranks(runs, 0.8, error / 2)
            two = np.sort(np.random.default_rng(1).normal(size=(2, 400, runs)))
            before, after = (middle + spread * one for one in two)
            after = after + limit.sign * 1.5 * limit.size * (after if limit.is_relative else 1)
            if limit.sign < 0:
                worst = 1 - after[:, high - 1] / before[:, low - 1]
            elif limit.is_relative:
                worst = after[:, low - 1] / before[:, high - 1] - 1
            else:
                worst = after[:, low - 1] - before[:, high - 1]
            if (worst > limit.size).mean() >= 0.9:
                break
            runs = math.ceil(1.2 * runs)
        assert found[text] == runs
    assert len(set(found.values())) > 1


# What a report and its page say.


def row_of(verdict: str, *, name: str = "s", text: str = "goodput -2%", advised: int | None = 30) -> Row:
    low, high = {"pass": (-0.01, 0.01), "fail": (-0.5, -0.3), "undecided": (-0.1, 0.1)}[verdict]
    middle = (low + high) / 2
    return Row(
        name,
        parse(text),
        Interval(9.876, 9.5, 10.5, 5),
        Interval(math.inf, 1.0, 2.0, 5),
        Interval(middle, low, high, 5),
        advised,
    )


def report_of(*rows: Row, base: str = "old", new: str = "new", seeds: int = 5, notes: tuple[str, ...] = ()) -> Report:
    runs = {name: Runs("d", list(range(seeds)), {"goodput": [1.0 + seed for seed in range(seeds)]}) for name in ("s",)}
    other = {"s": Runs("d", list(range(seeds)), {"goodput": [2.0] * seeds})}
    return Report(Recorded(base, "old-1", "tcp", "", runs), Recorded(new, "new-1", "quic", "", other), rows, notes)


def test_a_report_counts_its_rows() -> None:
    rows = [
        row_of("pass", advised=400),
        row_of("fail", advised=401),
        row_of("undecided", advised=None),
        row_of("pass", advised=7),
    ]
    report = report_of(*rows, notes=("one",))
    assert report.counts == {"pass": 2, "fail": 1, "undecided": 1}
    assert (report.failed, report.passes, report.repeat) == ([rows[1]], False, 5)
    assert (report.advised, report.beyond) == (400, [rows[1], rows[2]])
    assert [report.enough(runs) for runs in (6, 7, 400, 401)] == [0, 1, 2, 3]
    assert (report_of(rows[1]).advised, report_of(rows[0]).passes, report.is_same) == (None, True, False)
    assert Report(report.base, report.base, rows, ()).is_same
    assert repr(report) == "1 of 4 rows fail\ns: goodput -2%: -40.0% [-50.0,-30.0]"
    told = report.summary()
    assert {key: told[key] for key in ("base", "new", "transport", "repeat", "verdict", "advised_runs", "notes")} == {
        "base": "old", "new": "new", "transport": "quic", "repeat": 5, "verdict": "fail", "advised_runs": 400,
        "notes": ["one"],
    }  # fmt: skip
    assert told["rows"][1] == {
        "scenario": "s", "limit": "goodput -2%", "metric": "goodput", "quantile": 0.5,
        "base": {"estimate": 9.876, "low": 9.5, "high": 10.5}, "new": {"estimate": None, "low": 1.0, "high": 2.0},
        "change": {"estimate": -0.4, "low": -0.5, "high": -0.3, "unit": "share"}, "verdict": "fail",
        "advised_runs": 401,
    }  # fmt: skip
    absolute = report_of(row_of("pass", text="loss +0.5")).summary()
    assert absolute["rows"][0]["change"]["unit"] == "difference"
    assert absolute["verdict"] == "pass"


def test_a_report_in_sentences() -> None:
    assert gate_page.sentences(report_of(row_of("pass", advised=5))) == [
        "1 row of 5 pairs of runs: 1 pass, 0 FAIL, 0 undecided; the verdicts hold together with 95 %",
        "5 runs show a regression 1.5 times as large as its limit, with 90 %, in 1 row",
    ]
    many = report_of(row_of("fail", advised=6), row_of("pass", advised=30), row_of("pass", advised=None))
    assert gate_page.sentences(many)[1:] == [
        "5 runs show a regression 1.5 times as large as its limit, with 90 %, in 0 rows",
        "--repeat 30 shows it in 2",
        "more than 400 runs, or a larger limit, are needed for s goodput",
    ]
    same = Report(many.base, many.base, many.rows, ())
    assert gate_page.sentences(same)[1:] == ["base and new did the same in every run"]
    for count, end in ((6, "s5 goodput"), (7, "s5 goodput and 1 more"), (9, "s5 goodput and 3 more")):
        rows = [row_of("pass", name=f"s{number}", advised=None) for number in range(count)]
        assert gate_page.sentences(report_of(*rows))[-1].endswith(end)


def test_the_tables_of_a_gate() -> None:
    grid = gate_page.grid(report_of(row_of("fail", advised=None), row_of("pass", text="p95 delay +10%")))
    assert [list(row) for row in grid._rows] == [
        ["s", "goodput -2%", "FAIL", "-", "-40.0% [-50.0,-30.0]", "9.876 [9.5,10.5]", "never"],
        ["s", "p95 delay +10%", "pass", "30", "+0.00% [-1.00,+1.00]", "9.876 [9.5,10.5]", "never"],
    ]
    report = report_of(row_of("pass"))
    recorded_ = gate_page.recorded_grid(report.new)
    assert [list(row) for row in recorded_._rows] == [["s", "goodput", "2 [-,-]", "5"]]
    single = Interval(3.0, 3.0, 3.0, 1)
    assert gate_page._with_bounds(single) == "3"


def test_the_page_of_a_gate_shows_what_is_not_decided_first() -> None:
    green = gate_page.page(report_of(row_of("pass"), row_of("pass", text="loss +0.5")))
    assert green.splitlines()[:2] == [gate_page.MARK, "### new against old: **no regression shown**"]
    assert green.count("| s |") == 2 and green.count("```text") == 1
    assert "Change of goodput, with its interval; `|` is the limit:" in green
    red = gate_page.page(
        report_of(
            row_of("pass", name="a"), row_of("fail", name="b"), row_of("undecided", name="c", text="delay +5%"),
            row_of("fail", name="d", text="fairness -0.05"), base="", notes=("a | b",),
        )
    )  # fmt: skip
    assert "### new against old-1: **2 of 4 rows fail**" in red
    assert "Note: a \\| b\n" in red
    first, rest = red.split("<details><summary>all rows</summary>")
    assert [name in first for name in ("| a |", "| b |", "| c |", "| d |")] == [False, True, True, True]
    assert all(name in rest for name in ("| a |", "| b |", "| c |", "| d |"))
    assert rest.endswith("</details>\n")
    assert red.count("```text") == 2


def test_a_chart_is_twice_the_largest_limit_to_each_side() -> None:
    assert gate_page.chart([]) == []
    half = gate_page.HALF

    def line(text: str, estimate: float, low: float, high: float) -> str:
        row = Row("s", parse(text), Interval(1, 1, 1, 1), Interval(1, 1, 1, 1), Interval(estimate, low, high, 5), None)
        (drawn_line,) = gate_page.chart([row])
        return drawn_line

    drawn_line = line("delay +10%", 0.05, -0.05, 0.15)
    cells = drawn_line.split("[")[1].split("]")[0]
    quarter = half // 4
    assert [cells.index(letter) for letter in ("-", "o", "|")] == [half - quarter, half + quarter, half + 2 * quarter]
    assert cells.rindex("-") == half + 3 * quarter
    assert cells.count(" ") == 2 * half + 1 - (4 * quarter + 1)
    assert drawn_line.startswith("s: delay +10% [") and drawn_line.endswith("]  +5.00 undecided")
    far = line("goodput -2%", 9.0, 8.0, math.inf).split("[")[1].split("]")[0]
    assert (far[-1], far[half], far[half // 2]) == ("o", ".", "|")
    below = line("goodput -2%", -9.0, -math.inf, -8.0).split("[")[1].split("]")[0]
    assert (below[0], below[half]) == ("o", ".")
    names = gate_page.chart([row_of("pass"), row_of("fail", name="longer")])
    assert [one.index("[") for one in names] == [len("longer: goodput -2%") + 1] * 2


def test_the_place_of_a_page_is_free_or_a_page(tmp_path: Path) -> None:
    gate_page.check(tmp_path / "new.md")
    (tmp_path / "ours.md").write_text(f"{gate_page.MARK}\nold")
    gate_page.check(tmp_path / "ours.md")
    (tmp_path / "short.md").write_text(gate_page.MARK[:-1])
    for name, said in (("short.md", "is no page of a gate, and stays as it is"), (".", "cannot write")):
        with pytest.raises(OutputError, match=said):
            gate_page.check(tmp_path / name)
    gate_page.write(report_of(row_of("pass")), tmp_path / "new.md")
    assert (tmp_path / "new.md").read_text() == gate_page.page(report_of(row_of("pass")))


# What is kept, and what may be compared.


def test_what_is_recorded_is_read_again_as_it_was(tmp_path: Path) -> None:
    runs = {
        "a": Runs("x", [3, 1, 2], {"goodput": [1.5, 2.0, 0.0], "delay": [math.inf, 2.0, 1e300]}),
        "b": Runs("y", [1, 2], {"loss": [0.0, 1.0]}),
    }
    whole = Recorded("asked", "exact", "quic", "engine", runs)
    (tmp_path / recorded.FILE).write_bytes(recorded.content(whole, {"verdict": "pass"}))
    text = (tmp_path / recorded.FILE).read_text()
    assert json.loads(text)["gate"] == {"verdict": "pass"}
    assert list(json.loads(text)) == ["format", "algorithm", "exact_name", "transport", "engine", "gate", "scenarios"]
    assert sum(line.startswith('    "') for line in text.splitlines()) == 2 + text.count('    "verdict"')
    for place in (tmp_path, tmp_path / recorded.FILE):
        assert recorded.read(str(place)) == whole
        assert recorded.is_recorded(str(place))
    assert not recorded.is_recorded("bbr")
    assert whole.repeat == 2
    first = whole.first(["a"], 2)
    assert first.scenarios == {"a": Runs("x", [3, 1], {"goodput": [1.5, 2.0], "delay": [math.inf, 2.0]})}
    assert (first.algorithm, first.exact, first.transport, first.engine) == ("asked", "exact", "quic", "engine")
    assert recorded.is_of_another_engine(whole)
    assert not recorded.is_of_another_engine(Recorded("a", "a", "tcp", engine_digest(), runs))


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (5, "scenarios.a: it must be a table"),
        ({"seeds": [1], "digest": "", "values": []}, "scenarios.a.values: it must be a table"),
        (
            {"seeds": [1], "digest": "", "values": {"speed": [1]}},
            "scenarios.a.values.speed: there is no such metric; there",
        ),
        ({"seeds": [1], "digest": "", "values": {"loss": 1}}, "must be a list of 1 numbers, one for each seed"),
        (
            {"seeds": [1], "digest": "", "values": {"loss": [1e301]}},
            "numbers must lie between 0 and 1e+300, or be null",
        ),
        ({"seeds": [1], "digest": "", "values": {"loss": [True]}}, "numbers must lie between 0"),
        ({"seeds": [1, 2], "digest": "", "values": {"loss": [1, "2"]}}, "numbers must lie between 0"),
        ({"seeds": [1], "values": {"loss": [0]}}, "digest: it must be a text"),
    ],
)
def test_a_damaged_record_is_refused_with_its_key(scenario: object, said: str, tmp_path: Path) -> None:
    file = tmp_path / recorded.FILE
    whole = {"format": 1, "algorithm": "a", "exact_name": "a", "transport": "tcp", "engine": "x"}
    file.write_text(json.dumps(whole | {"scenarios": {"a": scenario}}))
    with pytest.raises(ResultError, match=re.escape(f"{file}: ") + ".*" + re.escape(said)):
        recorded.read(str(file))
    good = {"seeds": [1, 2], "digest": "d", "values": {"loss": [None, 0]}}
    for key in ("algorithm", "exact_name", "transport", "engine"):
        file.write_text(json.dumps(whole | {"scenarios": {"a": good}, key: 5}))
        with pytest.raises(ResultError, match=f"{key}: it must be a text"):
            recorded.read(str(file))
    file.write_text(json.dumps(whole | {"scenarios": {"a": good}}))
    assert recorded.read(str(file)).scenarios["a"].values == {"loss": [math.inf, 0.0]}


def test_what_was_recorded_decides_about_the_transport_and_the_runs() -> None:
    def old(transport: str, runs: int) -> Recorded:
        return Recorded("a", "a", transport, "", {"s": Runs("", list(range(runs)), {})})

    assert whole_gate._transport(None, {}) == "tcp"
    assert whole_gate._transport("quic", {}) == "quic"
    assert whole_gate._transport(None, {"a": old("quic", 3)}) == "quic"
    assert whole_gate._transport("quic", {"a": old("quic", 3)}) == "quic"
    for asked, known in (("tcp", {"a": old("quic", 3)}), (None, {"b": old("tcp", 3), "a": old("quic", 3)})):
        with pytest.raises(ValueError, match="a was recorded over quic, which cannot be compared"):
            whole_gate._transport(asked, known)
    assert whole_gate._repeat(None, {}) == 40
    assert whole_gate._repeat(3, {}) == 3
    assert whole_gate._repeat(None, {"a": old("tcp", 9), "b": old("tcp", 7)}) == 7
    assert whole_gate._repeat(7, {"a": old("tcp", 9), "b": old("tcp", 7)}) == 7
    with pytest.raises(ValueError, match="b has 7 runs of each scenario, not 8; record it with more"):
        whole_gate._repeat(8, {"a": old("tcp", 9), "b": old("tcp", 7)})


def test_notes_say_what_the_rows_leave_out() -> None:
    def of(seeds: list[int], values: list[float], other: list[float]) -> Recorded:
        return Recorded("base", "b", "tcp", "", {"s": Runs("", seeds, {"goodput": values, "delay": other})})

    varied = of([1, 2], [1.0, 2.0], [1.0, 1.0])
    constant = of([1, 2], [1.0, 1.0], [2.0, 2.0])
    row = row_of("pass")
    few = "too few runs to show anything: goodput -2% needs 5"
    assert whole_gate._notes(varied, varied, [row]) == [few]
    assert whole_gate._notes(varied, of([1, 3], [1.0, 2.0], [1.0, 1.0]), [row])[0].startswith(
        "base and new have different"
    )
    assert whole_gate._notes(constant, varied, [row])[1].startswith(
        "s: all runs of base are equal, one sample\n  help: "
    )
    one = of([1], [1.0], [1.0])
    assert len(whole_gate._notes(one, one, [row])) == 1
    enough = of([1, 2, 3, 4, 5], [1.0, 2.0, 3.0, 4.0, 5.0], [1.0] * 5)
    assert whole_gate._notes(enough, enough, [row]) == []
    assert whole_gate._notes(enough, enough, [row] * 2) == ["too few runs to show anything: goodput -2% needs 6"]


def test_two_records_are_compared_without_a_run(own: Path, tmp_path: Path) -> None:
    chosen = scenarios.read_scenarios(own)[:1]
    places = []
    for name, value in (("a", 9.0), ("b", 8.0)):
        values = {metric: [value + seed / 100 for seed in range(8)] for metric in chosen[0].metrics}
        whole = Recorded(name, name, "tcp", engine_digest(), {"steady": Runs(chosen[0].digest, list(range(8)), values)})
        (tmp_path / name).mkdir()
        (tmp_path / name / recorded.FILE).write_bytes(recorded.content(whole, None))
        places.append(str(tmp_path / name))
    report = gate(*places, scenarios=own, names=["steady"])
    assert [row.verdict for row in report.rows] == ["fail", "pass", "pass"]
    assert report.repeat == 8
    assert gate(*places, scenarios=own, names=["steady"], repeat=7, out=tmp_path / "out").repeat == 7
    kept = recorded.read(str(tmp_path / "out"))
    assert (kept.algorithm, kept.repeat) == ("b", 7)
    assert json.loads((tmp_path / "out" / recorded.FILE).read_text())["gate"]["verdict"] == "fail"
    for more in ({"seed": 0}, {"jobs": 1}, {"max_memory": 10**9}):
        with pytest.raises(
            ValueError, match="both were recorded and nothing is run: leave out seed, jobs and max_memory"
        ):
            gate(*places, scenarios=own, names=["steady"], **more)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is recorded already; name an algorithm"):
        whole_gate.record(places[0], tmp_path / "other")
    other = json.loads((tmp_path / "a" / recorded.FILE).read_text())
    other["engine"] = "another"
    (tmp_path / "a" / recorded.FILE).write_text(json.dumps(other))
    with pytest.warns(OtherEngineWarning, match=r"was recorded by another engine \(another\)"):
        gate(*places, scenarios=own, names=["steady"])
    del other["scenarios"]["steady"]["values"]["loss"]
    (tmp_path / "a" / recorded.FILE).write_text(json.dumps(other))
    with pytest.raises(ResultError, match="`steady` was recorded of another experiment"):
        gate(*places, scenarios=own, names=["steady"])


def test_a_scenario_measures_what_it_has(own: Path) -> None:
    found = {one.name: one for one in scenarios.read_scenarios(own)}
    assert list(found) == ["steady", "beside", "short"]
    assert [list(one.metrics) for one in found.values()] == [
        ["goodput", "delay", "loss"], ["goodput", "delay", "loss", "fairness"],
        ["goodput", "delay", "loss", "completion"],
    ]  # fmt: skip
    two = scenarios.Scenario(own / "x.toml", {"flows": [{"label": "subject", "count": 2}]})
    assert list(two.metrics) == ["goodput", "delay", "loss", "fairness"]
    assert scenarios.choose(list(found.values()), ["short", "steady"]) == [found["steady"], found["short"]]
    assert scenarios.choose(list(found.values()), []) == list(found.values())
    assert scenarios.hint("stedy", ["steady", "short"]) == "did you mean `steady`?"
    assert scenarios.hint("zzz", ["steady", "short"]) == "there are steady, short"
    points = found["steady"].points("reno", repeat=3, seed=5, transport="quic")
    assert len(points) == 3
    assert found["steady"].digest == found["steady"].digest != found["beside"].digest
    (own / "04_steady.toml").write_text(STEADY)
    with pytest.raises(ScenarioError, match=r"01-steady\.toml is called `steady`, too"):
        scenarios.read_scenarios(own)
    (own / "04_steady.toml").write_text(STEADY.replace('"subject"', '"other"'))


def test_a_metric_without_a_value_is_the_worst_there_is() -> None:
    tables = {
        "flows": [{"flow": 0,
                   "label": "subject", "goodput_mbps": 0.0, "p95_rtt_ms": None, "network_drops": 0, "sent": 0}],
        "traffic": [], "links": [],
    }  # fmt: skip
    run = SimpleNamespace(
        **{name: SimpleNamespace(rows=lambda rows=rows: rows) for name, rows in tables.items()}, datagrams=None
    )
    found = {name: scenarios._value(METRICS[name], run) for name in ("goodput", "delay", "loss", "fairness")}  # type: ignore[arg-type]
    assert found == {"goodput": 0, "delay": math.inf, "loss": 0, "fairness": 0}
    tables["flows"] = [
        {"flow": 0, "label": "subject", "goodput_mbps": 3.0, "p95_rtt_ms": 20.0, "network_drops": 1, "sent": 10},
        {"flow": 1, "label": "subject", "goodput_mbps": 1.0, "p95_rtt_ms": 40.0, "network_drops": 2, "sent": 30},
    ]
    run.flows = SimpleNamespace(rows=lambda: tables["flows"])
    found = {name: scenarios._value(METRICS[name], run) for name in ("goodput", "delay", "loss", "fairness")}  # type: ignore[arg-type]
    assert found == {"goodput": 4, "delay": 30, "loss": 7.5, "fairness": pytest.approx(0.8)}
