"""``dumbbell check museum``: each mistake fails its check, nothing else does, and the page says what the runs say.

``DUMBBELL_UPDATE_MUSEUM=1`` prints the exhibits into ``docs/museum.md``, and draws ``docs/images/museum``.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from conftest import Cli
from dumbbell import ScenarioError, check
from dumbbell.check import museum_page
from dumbbell.check.cases import CaseTable, case_of
from dumbbell.check.conform import Row
from dumbbell.check.judge import Finding, Observed
from dumbbell.check.museum import Exhibit, Visit, _bug, _span, _transport
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


def exhibit_of(**more: Any) -> Exhibit:
    """An exhibit with these parts."""
    document = {"flows": [{"cc": "cubic"}], "duration": "1s"}
    below = {"number": 0, "title": "t", "section": "s", "assert": [
        {"says": "so", "quantity": "cwnd", "when": {"at": "1s"}, "relation": ">", "value": 1}]}  # fmt: skip
    case = case_of(Path("case.toml"), {"flows": [{}]}, "museum", below)
    given: dict[str, Any] = {
        "file": Path("a/bug.toml"), "title": "The $ grows", "date": "2020", "source": "ours", "story": "It did.",
        "bug": {"cc": {"fault": "x"}}, "check": "", "case": case, "document": document, "draw": ["cwnd"], "span": None,
    }  # fmt: skip
    return Exhibit(**given | more)


def test_a_bug_is_put_into_the_first_flow_beside_what_it_has() -> None:
    one = exhibit_of()
    assert (one.name, one.algorithm, one.changed) == ("bug", "cubic", 'cc.fault = "x"')
    assert one.faulty == {"flows": [{"cc": {"name": "cubic", "fault": "x"}}], "duration": "1s"}
    assert one.document == {"flows": [{"cc": "cubic"}], "duration": "1s"}
    both = exhibit_of(
        bug={"cc": {"a": 1}, "transport": {"mss": 2}},
        document={"flows": [{"cc": {"name": "bbr", "b": 2}}, {"cc": "reno"}], "transport": {"ecn": True}},
    )
    assert both.algorithm == "bbr"
    assert both.changed == "cc.a = 1, transport.mss = 2"
    first, second = both.faulty["flows"]
    assert first == {"cc": {"name": "bbr", "b": 2, "a": 1}, "transport": {"ecn": True, "mss": 2}}
    assert second == {"cc": "reno"}
    plain = exhibit_of(bug={"transport": {"mss": 2}})
    assert plain.faulty["flows"][0]["transport"] == {"profile": "tcp", "mss": 2}
    quic = exhibit_of(document={"flows": [{"cc": "bbr", "transport": "quic"}]}, bug={"transport": {"mss": 2}})
    assert quic.faulty["flows"][0]["transport"] == {"profile": "quic", "mss": 2}
    for transport, said in (("quic", "quic"), ({"profile": "quic"}, "quic"), ({"mss": 1}, "tcp"), (None, "tcp")):
        flow = {"cc": "bbr"} | ({} if transport is None else {"transport": transport})
        assert _transport(exhibit_of(document={"flows": [flow]})) == said
    assert _transport(exhibit_of(document={"flows": [{"cc": "bbr"}], "transport": "quic"})) == "quic"


def table_of(**below: Any) -> CaseTable:
    return CaseTable(Path("bug.toml"), "museum", below)


def test_the_span_of_a_picture_has_a_begin_and_an_end() -> None:
    assert _span(table_of()) is None
    assert _span(table_of(span=["500ms", "2s"])) == (0.5, 2.0)
    for span, said in (
        (["1s"], "it must be two times"), (["1s", "2s", "3s"], "it must be two times"),
        ([1, 2], "it must be two times"),
        (["1s", "soon"], "it must be two times"), ([], "it must be a list"),
        (["2s", "2s"], "must be later than the first"),
    ):  # fmt: skip
        with pytest.raises(ScenarioError, match=said):
            _span(table_of(span=span))
    nothing: list[dict[str, Any]] = [{}, {"cc": {}}, {"cc": {}, "transport": {}}]
    for bug in nothing:
        with pytest.raises(ScenarioError, match="it must change something"):
            _bug(table_of(bug=bug))
    assert _bug(table_of(bug={"cc": {"a": 1}, "transport": {}})) == {"cc": {"a": 1}, "transport": {}}


def observed(level: float, modes: list[str]) -> Observed:
    one = Observed.__new__(Observed)
    one.t = np.arange(1.0, 11.0)
    one.values = {"mode": np.array(modes, dtype=object), "cwnd": level + one.t, "rtt_ms": one.t}
    return one


def visit_of(exhibit: Exhibit, *verdicts: str) -> Visit:
    rows = [Row(exhibit.case, "tcp", [Finding("so", verdict, "> 1", f"found {verdict}", 5.0)]) for verdict in verdicts]  # type: ignore[arg-type]
    return Visit(exhibit, *rows)


def test_the_picture_of_an_exhibit_has_both_runs_beside_each_other() -> None:
    exhibit = exhibit_of(draw=["cwnd", "absent", "rtt_ms"], span=(3.0, 8.0))
    sides = observed(0.0, ["a"] * 5 + ["b"] * 5), observed(100.0, ["b"] * 5 + ["c"] * 5)
    figure = beside(visit_of(exhibit, "pass", "fail"), *sides)
    grid = np.array(figure.axes).reshape(2, 2)
    assert [axes.get_title() for axes in grid[0]] == ["healthy: pass", "with the bug: fail"]
    assert [axes.get_ylabel() for axes in grid[:, 0]] == ["cwnd\n(packets)", "RTT\n(ms)"]
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "", "time in s", "time in s"]
    assert [axes.get_yscale() for axes in figure.axes] == ["linear", "linear", "linear", "linear"]
    assert np.asarray(grid[0, 0].get_lines()[0].get_xdata()).tolist() == [3, 4, 5, 6, 7, 8]
    assert [len(axes.get_lines()) for axes in figure.axes] == [1, 2, 1, 2]
    assert np.asarray(grid[0, 1].get_lines()[1].get_xdata()).tolist() == [5, 5]
    assert grid[0, 0].get_ylim() == grid[0, 1].get_ylim()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["A", "B", "C"]
    # A phase has one shade on both sides.
    shades = [[patch.get_facecolor() for patch in axes.patches] for axes in grid[0]]
    assert shades[0][1] == shades[1][0] != shades[0][0]
    assert figure.legends[0].get_title().get_text() == r"The \$ grows"
    whole = beside(visit_of(exhibit_of(), "pass", "fail"), observed(0.0, [""] * 10), observed(1000.0, [""] * 10))
    assert len(np.asarray(whole.axes[0].get_lines()[0].get_xdata())) == 10
    assert whole.axes[0].get_yscale() == "log"
    outside = beside(visit_of(exhibit_of(span=(6.0, 8.0)), "pass", "fail"), *sides)
    assert [len(axes.get_lines()) for axes in outside.axes] == [1, 1]
    with pytest.raises(ValueError, match=r"museum\.draw\): the algorithm shows none of absent"):
        beside(visit_of(exhibit_of(draw=["absent"]), "pass", "fail"), *sides)


def test_what_an_exhibit_showed_is_written_for_its_page() -> None:
    exhibit = exhibit_of(check="rfc9438/7", story="word " * 40)
    visit = visit_of(exhibit, "pass", "fail")
    assert visit.holds and not visit_of(exhibit, "pass", "pass").holds and not visit_of(exhibit, "fail", "fail").holds
    told = visit.to_json()
    assert {key: told[key] for key in ("name", "title", "algorithm", "date", "source", "bug", "check")} == {
        "name": "bug", "title": "The $ grows", "algorithm": "cubic", "date": "2020", "source": "ours",
        "bug": {"cc": {"fault": "x"}}, "check": "rfc9438/7",
    }  # fmt: skip
    assert (told["healthy"]["verdict"], told["faulty"]["verdict"]) == ("pass", "fail")
    assert told["faulty"]["findings"][0]["found"] == "found fail"
    assert visit_of(exhibit_of(), "pass", "fail").to_json()["check"] == "bug"
    assert museum_page._told(None) == ""
    assert museum_page._told(visit.healthy.findings[0]) == "found pass"
    assert museum_page._told(visit.faulty.findings[0]) == "**FAIL**: found fail"
    assert museum_page._file(exhibit) == "`case.toml`"
    case = replace(exhibit.case, file=Path(museum_page.__file__).parent / "cases/x/1.toml")
    link = "(../python/dumbbell/check/cases/x/1.toml)"
    assert museum_page._file(replace(exhibit, case=case)) == f"[case rfc9438/7]{link}"
    assert museum_page._file(replace(exhibit, case=case, check="")) == f"[1.toml]{link}"
