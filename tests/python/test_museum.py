"""``dumbbell check museum``: each mistake fails its check, nothing else does, and the page says what the runs say.

``DUMBBELL_UPDATE_MUSEUM=1`` prints the exhibits into ``docs/museum.md``, and draws ``docs/images/museum``.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
from pathlib import Path

import pytest
from PIL import Image

from conftest import Cli
from dumbbell import ScenarioError, check
from dumbbell.check.judge import Observed
from dumbbell.check.museum_page import sections
from dumbbell.check.picture import beside

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "museum.md"
IMAGES = DOCS / "images/museum"
BELOW = re.compile(r"(?<=-->\n\n).*\Z", re.DOTALL)
"""What the page has from the runs: all below its mark."""

EXHIBIT = next(
    block.partition("\n")[2]
    for kind, block in re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    if kind == "toml"
)
"""That of the page."""

NAMED = """\
[museum]
title = "The window grows"
date = "2023"
source = "ours"
story = "It did."
bug = { cc = { fault = "unused_window" } }
check = "rfc9438/7"
algorithm = "cubic"
"""


@pytest.fixture(scope="module")
def visits() -> list[check.Visit]:
    return check.museum(progress=False)


def test_each_mistake_fails_the_check_that_passes_without_it(visits: list[check.Visit]) -> None:
    verdicts = {visit.exhibit.name: (visit.healthy.verdict, visit.faulty.verdict) for visit in visits}
    assert len(verdicts) >= 12
    assert set(verdicts.values()) == {("pass", "fail")}, verdicts
    assert all(visit.holds for visit in visits)


def test_an_exhibit_says_who_had_the_mistake_and_until_when(visits: list[check.Visit]) -> None:
    exhibits = [visit.exhibit for visit in visits]
    assert [one.date for one in exhibits] == sorted(one.date for one in exhibits)
    for one in exhibits:
        assert re.search(r"\b[0-9a-f]{12}\b|(issues?|pull request|merge request) \d+", one.source), one.name


def test_only_the_bug_differs(visits: list[check.Visit]) -> None:
    for visit in visits:
        healthy, faulty = visit.exhibit.document, visit.exhibit.faulty
        first, *others = faulty["flows"]
        assert {**faulty, "flows": [healthy["flows"][0], *others]} == healthy, visit.exhibit.name
        assert {key for key in first if first[key] != healthy["flows"][0].get(key)} == set(visit.exhibit.bug)


def test_every_fault_of_an_algorithm_is_in_the_museum(dumbbell: Cli, visits: list[check.Visit]) -> None:
    shown = {(visit.exhibit.algorithm, str(visit.exhibit.bug.get("cc", {}).get("fault"))) for visit in visits}
    for algorithm, family in (("cubic", ["cubic"]), ("dctcp", ["dctcp"]), ("bbr3", ["bbr2", "bbr3", "bbr3-draft"])):
        done = dumbbell("compare", f"{algorithm}:fault=none", "--duration", "1s")
        assert done.status == 2
        (allowed,) = re.findall(r"allowed: ([\w, ]+) \(", done.err)
        assert set(allowed.split(", ")) == {fault for name, fault in shown if name in family} - {"None"}


def test_the_page_has_what_the_runs_say(visits: list[check.Visit]) -> None:
    said = sections(visits)
    text = PAGE.read_text(encoding="utf-8")
    if os.environ.get("DUMBBELL_UPDATE_MUSEUM"):
        PAGE.write_text(text.partition("-->\n")[0] + "-->\n\n" + said, encoding="utf-8")
        _draw()
    else:
        (below,) = BELOW.findall(text)
        assert below == said, "print the page anew; the first lines of this file say how"
    names = {visit.exhibit.name for visit in visits}
    assert {path.stem for path in IMAGES.glob("*.png")} == names


def _draw() -> None:
    IMAGES.mkdir(exist_ok=True)

    def draw(visit: check.Visit, healthy: Observed, faulty: Observed) -> None:
        png = Image.open(io.BytesIO(beside(visit, healthy, faulty).encoded("png"))).convert("RGB")
        small = png.quantize(128, dither=Image.Dither.NONE)
        small.save(IMAGES / f"{visit.exhibit.name}.png", optimize=True)

    check.museum(each=draw, progress=False)


def test_the_commands_of_the_page_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dumbbell: Cli
) -> None:
    (tmp_path / "my-exhibits").mkdir()
    (tmp_path / "my-exhibits/no-drain.toml").write_text(EXHIBIT)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```console\n\$ dumbbell (.*?)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    for command, shown in blocks:
        done = dumbbell(*shlex.split(command))
        assert done.status == 0
        lines = {line.rstrip() for line in done.out.splitlines()}
        assert [line for line in shown.splitlines() if line.rstrip() not in lines] == []


def test_a_mistake_that_its_check_does_not_see_is_told(tmp_path: Path, dumbbell: Cli) -> None:
    (tmp_path / "blind.toml").write_text(EXHIBIT.replace("drain_gain = 0.99", "drain_gain = 0.3"))
    done = dumbbell("check", "museum", "--exhibits", str(tmp_path), "--json")
    assert done.status == 1
    (exhibit,) = json.loads(done.out)["exhibits"]
    assert (exhibit["healthy"]["verdict"], exhibit["faulty"]["verdict"]) == ("pass", "pass")
    done = dumbbell("check", "museum", "--exhibits", str(tmp_path))
    assert "blind: its check passes with the bug" in done.out
    (tmp_path / "blind.toml").write_text(EXHIBIT.replace('"is not"', '"is"'))
    done = dumbbell("check", "museum", "--exhibits", str(tmp_path))
    assert done.status == 1
    assert "asked is drain, found probe_bw without the bug" in done.out


def test_pictures_are_drawn_beside_each_other_and_never_over_a_users_file(tmp_path: Path, dumbbell: Cli) -> None:
    out = tmp_path / "pictures"
    command = ("check", "museum", "cubic-paced-train", "-o", str(out))
    assert dumbbell(*command).status == 0
    with Image.open(out / "cubic-paced-train.png") as drawn:
        assert drawn.size[0] > 1000
    assert dumbbell(*command).status == 0
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "cubic-paced-train.png").write_text("mine")
    assert dumbbell(*command[:-1], str(mine)).status == 2
    assert (mine / "cubic-paced-train.png").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "old", "new", "message", "where"),
    [
        (EXHIBIT, 'date = "2026-11"', 'date = "November"', 'museum.date = "November"`: it must be', "museum.date"),
        (EXHIBIT, 'source = "our own code, by us"', "", "`museum.source`: it is missing", "museum.source"),
        (EXHIBIT, "bug = {", "bugs = {", "did you mean `bug`?", "museum.bugs"),
        (EXHIBIT, "cc = { drain_gain = 0.99 }", "", "it must change something", "museum.bug"),
        (EXHIBIT, "cc = { drain_gain", "cc = { drain_gian", "drain_gian", "with its bug"),
        (EXHIBIT, "cc = { drain_gain", "path = { drain_gain", "there is no such key; keys here are cc, transport",
         "museum.bug.path"),
        (EXHIBIT, 'draw = ["rtt_ms"]', 'draw = ["rtt_ms"]\nspan = ["3s", "1s"]', "must be later", "museum.span"),
        (EXHIBIT, 'draw = ["rtt_ms"]', 'draw = ["rtt"]', "there is no column `rtt`", "museum.draw[0]"),
        (EXHIBIT, 'quantity = "mode"', 'quantity = "moed"', "there is no column `moed`", "museum.assert[0].quantity"),
        (EXHIBIT, "[museum]", "[check]", "has no line `[museum]`", ""),
        (EXHIBIT, 'title = "DRAIN', 'check = "bbr3/1"\ntitle = "DRAIN', "a case of a set brings its experiment",
         "museum.check"),
        (NAMED, "rfc9438/7", "rfc9438/70", 'museum.check = "rfc9438/70"`: the set rfc9438 has no such case',
         "museum.check"),
        (NAMED, "rfc9438/7", "rfc9483/7", "did you mean `rfc9438`?", "museum.check"),
        (NAMED, '"cubic"', '"cubik"', "cubik", "museum.algorithm"),
        (NAMED, 'check = "rfc9438/7"\n', "", "it goes with `check`", "museum.algorithm"),
    ],
)  # fmt: skip
def test_a_bad_exhibit_is_explained(
    text: str, old: str, new: str, message: str, where: str, tmp_path: Path, dumbbell: Cli
) -> None:
    assert old in text
    file = tmp_path / "bad.toml"
    file.write_text(text.replace(old, new))
    done = dumbbell("check", "museum", "--exhibits", str(tmp_path))
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert f"--> {file}" in done.err
    assert where in done.err


def test_a_bad_command_is_explained(dumbbell: Cli) -> None:
    for arguments, message in (
        (["cubic-idel"], "there is no exhibit `cubic-idel`; did you mean `cubic-idle`?"),
        (["--exhibits", "nowhere"], "there is no such folder"),
        (["--markdown", "--json"], "give one of the two"),
    ):
        done = dumbbell("check", "museum", *arguments)
        assert done.status == 2
        assert message in done.err
    with pytest.raises(ScenarioError, match="there is no such folder"):
        check.read_exhibits("nowhere")
