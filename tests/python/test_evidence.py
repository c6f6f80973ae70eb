"""``dumbbell check evidence``: criteria are data, verdicts follow from numbers, and pages are the same bytes again."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from conftest import Cli
from dumbbell.check import criteria
from dumbbell.check.criteria import LEVELS
from dumbbell.check.dossier import picture
from dumbbell.check.evidence import Evidence, Place, evidence
from dumbbell.check.quantities import FUNCTIONS, Quantity

PAGE = Path(__file__).parents[2] / "docs/evidence/README.md"
CRITERION = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
QUICK = {'"30s"': '"6s"', '"10s"': '"2s"'}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with the criterion of the page, in short."""
    folder = tmp_path / "mine"
    folder.mkdir()
    text = CRITERION
    for old, new in QUICK.items():
        text = text.replace(old, new)
    (folder / "short-queue.toml").write_text(text)
    return folder


def test_the_rfc_has_its_criteria_with_words_and_numbers() -> None:
    found = criteria.find()
    assert len(found) >= 24
    sections = {one.section for one in found}
    assert {"5.1.1", "5.1.5", "5.2.1", "5.3.1", "6.1", "7.1", "7.9", "7.11"} <= sections
    for one in found:
        assert one.level in LEVELS
        assert one.asks and one.setup and one.not_shown.endswith(".")
        assert one.measures and one.heads
    assert sum(any(measure.judgement for measure in one.measures) for one in found) >= 24


def test_every_criterion_can_be_read_as_an_experiment_of_its_own() -> None:
    from dumbbell import experiment

    for one in criteria.find():
        text = one.written({"name": "bbr", "drain_gain": 0.5})
        assert 'cc = { "name" = "bbr", "drain_gain" = 0.5 }' in text
        assert experiment.load_text(text.encode(), str(one.file)).points


def test_a_verdict_follows_from_the_numbers_of_all_three(own: Path) -> None:
    (one,) = evidence("bbr", criteria.read_criteria(own), repeat=2, progress=False)
    assert one.algorithms == ["bbr", "reno", "cubic"]
    assert one.points == [("0.5bdp",), ("2bdp",)]
    deep = one.at("cubic", ("2bdp",)).median(0)
    assert one.at("bbr", ("2bdp",)).median(0) < 60 < deep
    assert one.verdict == "meets"
    (other,) = evidence("cubic", criteria.read_criteria(own), repeat=1, progress=False)
    assert other.algorithms == ["cubic", "reno"]
    assert other.verdict == "misses"
    assert other.missed[-1].words == ("2bdp",)
    assert other.missed[-1].beside["reno"] > 60


def test_an_axis_of_numbers_that_differ_much_has_plain_labels_and_the_width_of_others(own: Path) -> None:
    (criterion,) = criteria.read_criteria(own)
    wide = {name: [Place(name, words, [[value]]) for words, value in numbers.items()] for name, numbers in {
        "bbr": {("0.5bdp",): 18.0, ("2bdp",): 20.0},
        "reno": {("0.5bdp",): 21.0, ("2bdp",): 300.0},
        "cubic": {("0.5bdp",): 22.0, ("2bdp",): 650.0},
    }.items()}  # fmt: skip
    one = Evidence(criterion, "bbr", [place for places in wide.values() for place in places], "bbr", "")
    figure = picture(one)
    figure.canvas.draw()
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    low, high = axes.get_xlim()
    assert [tick.get_text() for tick in axes.get_xticklabels() if low <= tick.get_position()[0] <= high] == [
        "20", "50", "100", "200", "500",
    ]  # fmt: skip
    assert figure.get_size_inches()[0] == pytest.approx(7.6)


def test_a_second_build_gives_the_same_bytes_and_runs_nothing_again(own: Path, tmp_path: Path, dumbbell: Cli) -> None:
    command = ("check", "evidence", "bbr", "--criteria", str(own), "--repeat", "2", "--out", str(tmp_path / "out"))
    done = dumbbell(*command)
    assert done.status == 0, done.err
    assert "meets 2 of 2" in done.out
    files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert {"report.md", "report.html", "numbers.csv", "short-queue.png", "short-queue.toml"} <= set(files)
    runs = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/runs").rglob("*.parquet")}
    assert runs
    assert dumbbell(*command).status == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()} == files
    assert {path: path.stat().st_mtime_ns for path in runs} == runs
    assert dumbbell(*command[:-1], str(tmp_path / "other")).status == 0
    assert all((tmp_path / "other" / name).read_bytes() == content for name, content in files.items() if name[0] != ".")
    page = files["report.md"].decode()
    assert "Every threshold below is ours" in page
    assert "What this does not show: Several flows." in page
    assert "p95 round trip, ms: at most 60 ms." in page
    assert dumbbell("run", str(tmp_path / "out/short-queue.toml"), "--quiet").status == 0


def test_own_algorithms_and_quic_and_json(own: Path, tmp_path: Path, dumbbell: Cli) -> None:
    done = dumbbell(
        "check", "evidence", "bbr:drain_gain=0.5", "--criteria", str(own), "--quick", "--transport", "quic",
        "--json", "--out", str(tmp_path / "out"),
    )  # fmt: skip
    assert done.status == 0, done.err
    (one,) = json.loads(done.out)["criteria"]
    assert (one["verdict"], one["judged"], one["level"]) == ("meets", 2, "SHOULD")


def test_functions_know_what_is_missing() -> None:
    values = np.array([3.0, np.nan, 1.0])
    found = {name: FUNCTIONS[name][1](values) for name in ("sum", "mean", "least", "most", "count")}
    assert found == {"sum": 4.0, "mean": 2.0, "least": 1.0, "most": 3.0, "count": 2.0}
    assert math.isnan(FUNCTIONS["sum"][1](np.array([np.nan])))
    # A transfer that did not end took longer than all that did.
    assert FUNCTIONS["p95"][1](np.array([1.0, 2.0, np.inf])) == np.inf
    times, rates = np.arange(6.0), np.array([0.0, 9.0, 9.0, 9.0, 0.0, 9.0])
    quantity = Quantity("first(s.t, smooth(s.x, 2) >= 9, 1)")
    assert quantity.evaluate({"s.t": times, "s.x": rates}) == 1.0
    assert Quantity("first(s.t, s.x > 10, 0)").evaluate({"s.t": times, "s.x": rates}) == np.inf


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('label = "subject"', 'label = "mine"', 'label = "subject"'),
        ("mean(subject.p95_rtt_ms)", "mean(subject.p95_rtt)", "there is no column `p95_rtt` of flows or traffic"),
        ("mean(subject.p95_rtt_ms)", "mean(other.p95_rtt_ms)", "there is no `other.p95_rtt_ms`"),
        ("mean(subject.p95_rtt_ms)", "open(1)", "`open(1)` is not allowed"),
        ("value <= 60", "value <= vegas", "there is no `vegas`; a judgement knows value, reno, cubic"),
        ("value <= 60", "value", "it must be something that holds or not"),
        ('says = "at most 60 ms"', "", "`criterion.quantity[0].says`: it is missing"),
        ('level = "SHOULD"', 'level = "OUGHT"', "choose among MUST, SHOULD, evaluate, consider"),
        ('{ "path.buffer" = "buffer" }', '{ "path.rate" = "rate" }', "`path.rate` is not swept"),
        ('{ "path.buffer" = "buffer" }', "5", "`criterion.heads = 5`: it must be a table"),
        ('{ "path.buffer" = "buffer" }', '{ "path.buffer" = 5 }', "`path.buffer` must be a text"),
        ('level = "SHOULD"', 'level = "SHOULD"\nnames = { "path.buffer" = 5 }', "`path.buffer` must be a list"),
        ('level = "SHOULD"', 'level = "SHOULD"\nquick = 5', "`criterion.quick = 5`: it must be a table"),
        ('cc = "cubic"\n', "", "cc"),
        ('rate = "20mbit"', 'rate = "20mbps"', "20mbps"),
    ],
)
def test_a_bad_criterion_is_explained(old: str, new: str, message: str, tmp_path: Path, dumbbell: Cli) -> None:
    assert old in CRITERION
    (tmp_path / "bad.toml").write_text(CRITERION.replace(old, new))
    done = dumbbell("check", "evidence", "bbr", "--criteria", str(tmp_path), "--out", str(tmp_path / "out"))
    assert done.status == 2
    assert message in done.err
    assert "bad.toml" in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bbr4"], "unknown algorithm `bbr4`; did you mean"),
        (["bbr", "--criterion", "encn"], "--criterion encn: there are collapse-many,"),
        (["bbr", "--transport", "udp"], "--transport udp: choose tcp or quic"),
        (["bbr", "--criteria", "nowhere"], "there is no such folder"),
    ],
)
def test_a_bad_command_is_explained(arguments: list[str], message: str, tmp_path: Path, dumbbell: Cli) -> None:
    done = dumbbell("check", "evidence", *arguments, "--out", str(tmp_path / "out"))
    assert done.status == 2
    assert message in done.err
    assert not (tmp_path / "out").exists()
