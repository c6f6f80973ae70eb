"""Studies of one's own in a folder, and studies with something changed."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from conftest import Cli
from dumbbell import experiment, papers
from dumbbell.papers import outside, swap
from dumbbell.papers.beside import kernel
from test_linux import FORBIDDEN

DOCS = Path(__file__).parents[2] / "docs"
FILES = {"# base": "base.toml", "# table1": "table1.toml", "part,": "published.csv", '"""Table': "table1.py",
         '"""Two': "__init__.py"}  # fmt: skip
"""What the example of the documentation is made of, by how its blocks begin."""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The study of the documentation, in the working directory."""
    folder = tmp_path / "jain84"
    folder.mkdir()
    for block in re.findall(r"   ```\w*\n(.*?)   ```", (DOCS / "papers.md").read_text(), re.DOTALL):
        (name,) = [name for start, name in FILES.items() if dedent(block).startswith(start)]
        (folder / name).write_text(dedent(block))
    monkeypatch.chdir(tmp_path)
    return folder


def verdicts(part: dict[str, Any]) -> dict[str, str]:
    return {claim["id"]: claim["verdict"] for claim in part["claims"]}


@pytest.mark.parametrize(
    ("name", "place"),
    [("./jain84", "out/jain84"), ("jain84/", "out/jain84"), ("./jain84/table1", "out/jain84/table1")],
)
def test_the_study_of_the_documentation_runs_from_its_folder(dumbbell: Cli, study: Path, name: str, place: str) -> None:
    done = dumbbell("reproduce", name, "--json")
    assert (done.status, done.err) == (0, "")
    (part,) = json.loads(done.out)["parts"]
    assert verdicts(part) == {"jai-01": "holds"}
    assert part["caveats"] == []
    assert json.loads((study.parent / place / "report.json").read_text()) == part


def test_an_edit_of_a_folder_is_seen_in_the_same_process(dumbbell: Cli, study: Path) -> None:
    assert papers.find("./jain84")[0].title == "Two flows share"
    file = study / "__init__.py"
    file.write_text(file.read_text().replace("Two flows share", "Two flows share evenly"))
    assert papers.find("./jain84")[0].title == "Two flows share evenly"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("__init__.py", "STUDY = 1"), "sets STUDY to int, not a Study"),
        (("__init__.py", "x = 1"), "sets no STUDY"),
        (("__init__.py", "from . import table9"), "__init__.py:1: ImportError"),
        (("table1.py", "def f(:\n"), "table1.py:1: SyntaxError"),
        (("published.csv", "part,cc,metric,value,unit,source\n"), "KeyError: 'reno'"),
    ],
)
def test_what_is_wrong_with_a_folder_is_told(dumbbell: Cli, study: Path, wrong: tuple[str, str], said: str) -> None:
    (study / wrong[0]).write_text(wrong[1])
    done = dumbbell("reproduce", "./jain84", "--quick")
    assert done.status == 2
    assert said in done.err
    assert "jain84" in done.err


@pytest.mark.parametrize(
    ("name", "said"),
    [("./nobody", "./nobody: is no folder"), (".", "has no __init__.py"), ("./jain84/table7", "its parts are table1")],
)
def test_a_path_without_a_study_is_wrong_input(dumbbell: Cli, study: Path, name: str, said: str) -> None:
    done = dumbbell("reproduce", name)
    assert (done.status, done.out) == (2, "")
    assert said in done.err


def test_a_swap_runs_another_algorithm_under_the_name_and_the_claims_say_so(dumbbell: Cli, study: Path) -> None:
    rows = {}
    for folder, options in (
        ("a", ()),
        ("b", ("--swap", "reno=cubic")),
        ("c", ("--swap", "reno=cubic", "--swap", "cubic=reno")),
    ):
        done = dumbbell("reproduce", "./jain84", "--json", "--out", folder, *options)
        assert (done.status, done.err) == (0, "")
        (part,) = json.loads(done.out)["parts"]
        rows[folder] = {row["algorithm"]: row["ours"] for row in part["tables"][0]["rows"]}
        asked = ", ".join(" ".join(options[at : at + 2]) for at in range(0, len(options), 2))
        assert part["caveats"] == ([f"Changed by {asked}: not the study."] if options else [])
    assert rows["a"]["reno"] != rows["a"]["cubic"]
    assert rows["b"] == dict.fromkeys(("reno", "cubic"), rows["a"]["cubic"])
    assert rows["c"] == {"reno": rows["a"]["cubic"], "cubic": rows["a"]["reno"]}


def test_a_setting_replaces_the_file_s(dumbbell: Cli, study: Path) -> None:
    done = dumbbell("reproduce", "./jain84", "--json", "--set", "flows[0].start_jitter=0s", "--set", "duration=5s")
    assert done.status == 0
    (part,) = json.loads(done.out)["parts"]
    assert part["caveats"] == ["Changed by --set flows[0].start_jitter=0s, --set duration=5s: not the study."]


def test_other_seeds_are_run_until_they_decide_and_the_numbers_stay(dumbbell: Cli, study: Path) -> None:
    claim = study / "table1.py"
    often = claim.read_text().replace("jain(run) >= 0.95", "int(1e9 * jain(run)) % 5 > 1")
    claim.write_text(often)
    shorter = ("--set", "duration=3s", "--json")
    (few,) = json.loads(dumbbell("reproduce", "./jain84", *shorter).out)["parts"]
    done = dumbbell("reproduce", "./jain84", "--decide", *shorter)
    (many,) = json.loads(done.out)["parts"]
    (one,), (other,) = few["claims"][0]["choices"], many["claims"][0]["choices"]
    assert not one["is_decided"]
    assert other["is_decided"]
    assert 30 >= other["runs"] > one["runs"] == 5
    assert (other["ours"], many["tables"]) == (one["ours"], few["tables"])
    times = other["runs"] // 5 - 1
    assert done.err.count("repeated with other seeds") == times
    assert many["run"]["runs"] == few["run"]["runs"] * (times + 1)
    assert len(many["run"]["seeds"]) == len(few["run"]["seeds"]) * (times + 1)
    assert many["setup"][-1].startswith("Repeated with other seeds")


def test_another_seed_is_no_change_of_the_study(dumbbell: Cli, study: Path) -> None:
    (part,) = json.loads(dumbbell("reproduce", "./jain84", "--json", "--set", "seed=7", "--repeat", "1").out)["parts"]
    assert (part["caveats"], part["run"]["seeds"]) == ([], [7])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--decide", "--quick"), "--quick judges nothing"),
        (("--decide", "--swaps"), "--swaps goes with"),
        (("--swap", "vegas=bbr"), "no flow runs `vegas` in table1"),
        (("--swap", "renno=bbr"), "no flow runs `renno` in table1"),
        (("--swap", "reno=bbrr"), "did you mean `bbr`?"),
        (("--swap", "reno"), "--swap bbr=cubic"),
        (("--set", "path.rat=1mbit"), "did you mean `rate`?"),
        (("--set", "flows[0].cc=bbr"), "changes nothing"),
        (("--set", "duration=1s", "--quick"), "--quick sets the duration"),
        (("--set", 'sweep."flows[0].cc"=["cubic"]'), "keep what is swept"),
    ],
)
def test_a_change_that_cannot_be_made_is_wrong_input(
    dumbbell: Cli, study: Path, options: tuple[str, ...], said: str
) -> None:
    done = dumbbell("reproduce", "./jain84", *options)
    assert (done.status, done.out) == (2, "")
    assert said in done.err


def test_an_algorithm_s_name_means_every_preset_on_it_and_a_preset_s_only_itself() -> None:
    file = papers.find("rebbr/fig1")[1][0].experiments[1].file
    included = [file, *map(Path, experiment.load(file).included)]
    points = experiment.load(file, repeat=1).points
    every, without = (
        swap.swapped(points, included, {name: "cubic"})[1][name] for name in ("bbr", "bbr-4-11-no-sampler")
    )
    assert (every, without) == (len(points), len(points) // 3)


def test_a_folder_without_the_name_of_a_package_is_no_study(tmp_path: Path) -> None:
    folder = tmp_path / "3-flows"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    with pytest.raises(papers.StudyError, match="`3-flows` is no name of a Python package"):
        outside.load(folder)


def test_where_an_error_of_a_folder_is_told_by_its_last_line_there(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import other\n\n\nother.fail()\n")
    (folder / "other.py").write_text("import json\n\n\ndef fail():\n    json.loads('{')\n")
    with pytest.raises(papers.StudyError, match=r"mine: other\.py:5: JSONDecodeError: Expecting"):
        outside.load(folder)
    assert outside.told(ValueError("elsewhere"), folder) == "ValueError: elsewhere"
    assert not [name for name in sys.modules if name.startswith("dumbbell.papers.mine") and name.endswith(".mine")]


def test_a_path_is_a_folder_or_a_folder_and_a_part(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert outside.split("jain84") == outside.split("./jain84") == (study, "")
    assert outside.split("jain84/table1") == (study, "table1")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert outside.split("~/jain84") == (study, "")
    assert outside.split("nobody") is None and outside.split("nobody/table1") is None
    (tmp_path / "empty").mkdir()
    for name, said in (
        ("~/empty", "has no __init__.py"),
        ("/nobody", "is no folder"),
        ("./empty", "has no __init__.py"),
    ):
        with pytest.raises(papers.StudyError, match=said):
            outside.split(name)
    assert [outside.is_own(part) for part in (papers.find("./jain84")[1][0], papers.find("rebbr/fig1")[1][0])] == [
        True, False
    ]  # fmt: skip


def test_a_study_without_parts_says_so(study: Path) -> None:
    (study / "__init__.py").write_text("from dumbbell.papers import Study\nSTUDY = Study('a', 'b', 'c', parts=())\n")
    with pytest.raises(papers.UnknownStudyError, match=r"has no part `x`\n  help: its parts are none"):
        papers.find("./jain84/x")


@pytest.mark.real_time
def test_on_linux_the_kernel_and_the_simulator_stand_side_by_side(dumbbell: Cli, study: Path) -> None:
    asked = ("--on", "linux", "--repeat", "1", "--set", "duration=2s", "--retries", "5")
    done = dumbbell("reproduce", "./jain84", "--json", *asked)
    if done.status == 3 or any(words in done.err for words in FORBIDDEN):
        pytest.skip(done.err)
    assert done.status == 0, done.err
    (part,) = json.loads(done.out)["parts"]
    assert part["caveats"][-1] == f"On the TCP of {kernel()}."
    (grounds,) = [table for table in part["tables"] if table["name"] == "grounds"]
    assert [row["flow"] for row in grounds["rows"]] == ["0: reno", "1: reno", "0: cubic", "1: cubic"]
    for row in grounds["rows"]:
        assert row["quotient"] == pytest.approx(row["Linux"] / row["simulator"])


def test_a_part_that_no_kernel_can_run_says_why(dumbbell: Cli, tmp_path: Path) -> None:
    done = dumbbell("reproduce", "rebbr/fig1", "--quick", "--on", "linux", "--out", tmp_path / "out")
    assert done.status == 2
    assert "`transport.pacing` cannot be set in the running kernel" in done.err
