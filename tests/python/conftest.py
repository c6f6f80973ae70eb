"""What the tests share: a small experiment, and the command line as a function."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import altered
import load
import snapshots
from dumbbell import Result, cli, papers
from dumbbell import run as run_experiment
from dumbbell.papers.model import Judgement, Report
from dumbbell.papers.output import SCHEMA
from dumbbell.papers.part import Part

# A shell's background job ignores SIGINT, and what it starts inherits that: a test's interrupt would do nothing.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

EXPERIMENT = """\
duration = "4s"
warmup = "1s"
seed = 7

[path]
rate = "10mbit"
rtt = "40ms"
buffer = "1bdp"

[[flows]]
cc = "cubic"

[[flows]]
cc = "bbr"
start = "500ms"
"""

SWEEP = (
    EXPERIMENT
    + """
[sweep]
"path.loss" = ["0%", "1%"]
repeat = 2
"""
)


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    status: int
    out: str
    err: str


Cli = Callable[..., Outcome]
QuickPart = Callable[[str, str, int], dict[str, Any]]


@pytest.fixture(autouse=True)
def _turn(request: pytest.FixtureRequest) -> Iterator[None]:
    """Lets a test on the kernel wait where another wants the machine to itself."""
    if request.node.get_closest_marker("real_time") is None:
        yield
        return
    with load.on_the_kernel():
        yield


@pytest.fixture
def dumbbell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line, in this process."""

    def call(*arguments: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["dumbbell", *map(str, arguments)])
        capsys.readouterr()
        try:
            cli.main()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return call


@pytest.fixture
def quick_part(dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QuickPart:
    """Runs a part of a study from end to end in the quick form, with its page; gives what ``--json`` prints of it.

    What is printed follows its schema, and is what ``report.json`` keeps. What the runs would have said, had they been
    long enough for a verdict, is what ``tests/snapshots`` keeps, and so is what the claims say of other numbers.
    """
    import fastjsonschema

    whole: list[Report] = []
    found: list[tuple[Part[Any], Any]] = []
    shortened, judge = Report.shortened, Part.judge

    def kept(report: Report, duration: str) -> Report:
        whole.append(report)
        return shortened(report, duration)

    def judged(part: Part[Any], measured: Any, more: Any = None) -> list[Judgement]:
        found.append((part, measured))
        return judge(part, measured, more)

    monkeypatch.setattr(Report, "shortened", kept)
    monkeypatch.setattr(Part, "judge", judged)

    follows = fastjsonschema.compile(json.loads(SCHEMA.read_text()))

    def call(study: str, part: str, page_bytes: int) -> dict[str, Any]:
        done = dumbbell("reproduce", f"{study}/{part}", "--quick", "--json", "--html", "--out", tmp_path)
        assert (done.status, done.err) == (0, "")
        told = json.loads(done.out)
        follows(told)
        (printed,) = told["parts"]
        assert printed == json.loads((tmp_path / "report.json").read_text())
        claims = next(one for one in papers.load(study).parts if one.name == part).claims
        assert [claim["id"] for claim in printed["claims"]] == [claim.id for claim in claims]
        assert (tmp_path / f"{study}.html").stat().st_size > page_bytes
        assert isinstance(printed, dict)
        (report,) = whole
        snapshots.same_as_kept(f"studies/{study}-{part}", snapshots.of_report(report))
        times = altered.FEWER.get(f"{study}/{part}", altered.TIMES) if claims else 0
        snapshots.same_as_kept(
            f"claims/{study}-{part}", [*altered.said(*found[0], times), *altered.of_two_seeds(*found[0])]
        )
        return printed

    return call


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """A file with two flows."""
    path = tmp_path / "two-flows.toml"
    path.write_text(EXPERIMENT)
    return path


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """A file with four points."""
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    return path


@pytest.fixture(scope="session")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The run of the small experiment."""
    path = tmp_path_factory.mktemp("experiment") / "two-flows.toml"
    path.write_text(EXPERIMENT)
    return run_experiment(path)
