"""Studies: verdicts, registry, and the command that repeats them."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fastjsonschema
import pytest
from rich.console import Console

import altered
import snapshots
from conftest import EXPERIMENT, Cli
from described import described
from dumbbell import experiment, papers
from dumbbell.papers import Claim, Judgement, Outcome, beside, drawing, output, rebbr, runs, testing, text, traces
from dumbbell.papers.data import published
from dumbbell.papers.model import CONTRADICTED, ENOUGH, Grid, table
from dumbbell.papers.part import changes, repeated
from dumbbell.papers.rebbr import curves, fig1, fig5
from dumbbell.papers.rebbr.curves import CUBIC, PACED, UNPACED, Curves, Run
from dumbbell.plots.style import look
from dumbbell.storage import OutputError

CLAIM: Claim[None] = Claim("x-1", "It is fast.", "very", lambda _: [])
LOSSES = (1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)


def outcome(held: int, runs: int = 5, choice: str = "as it is") -> Outcome:
    return Outcome(choice, held, runs, "our number")


def flow(rate: float | dict[float, float]) -> Run:
    """A run whose link egress is the same at every loss, or as given."""
    egress = rate if isinstance(rate, dict) else dict.fromkeys(LOSSES, rate)
    return Run(egress, {loss: mbps * (1 - loss) * 1448 / 1504 for loss, mbps in egress.items()})


def as_published(part: str) -> Curves:
    """Runs that measured exactly what was published, paced BBR collapsing at 20 %."""
    theirs = curves.published_curves(part)
    paced = {loss: rate if loss < 0.2 else 0.02 for loss, rate in theirs["bbr"].items()}
    runs = {CUBIC: theirs["cubic"], UNPACED: theirs["bbr"], PACED: paced}
    extra = {fig5.NO_SAMPLER: theirs["bbr"]}
    return {label: [flow(curve)] * 5 for label, curve in (runs | extra).items()}


def alternatives() -> Curves:
    """Every choice: collapse at 20 % when paced, at 50 % otherwise."""

    def curve(knee: float) -> Run:
        return flow({loss: 95.0 * (1 - loss) if loss < knee else 1.0 for loss in LOSSES})

    choices = {label: [curve(0.2 if pacing == "paced" else 0.5)] * 3 for label, (_, pacing, _) in fig1.KNEES.items()}
    return choices | {label: [curve(0.5)] * 3 for label in (fig1.AT_ONCE, fig1.ENDLESS)}


# --- verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("held", "runs", "verdict"),
    [(5, 5, "holds"), (4, 5, "holds"), (3, 5, "depends"), (2, 5, "depends"), (1, 5, "fails"), (0, 5, "fails"),
     (1, 1, "holds"), (0, 1, "fails"), (2, 3, "depends"), (8, 10, "holds"), (2, 10, "fails")],
)  # fmt: skip
def test_four_of_five_runs_make_a_verdict(held: int, runs: int, verdict: str) -> None:
    assert outcome(held, runs).verdict == verdict


@pytest.mark.parametrize(
    ("held", "runs", "verdict"),
    [(5, 5, "holds"), (0, 5, "fails"), (12, 15, "holds"), (20, 30, "holds"), (10, 30, "fails"), (32, 50, "holds"),
     (5, 10, "depends"), (9, 25, "depends"), (16, 25, "depends"), (1000, 2000, "depends")],
)  # fmt: skip
def test_runs_decide_by_a_binomial_test(held: int, runs: int, verdict: str) -> None:
    assert (outcome(held, runs).is_decided, outcome(held, runs).verdict) == (True, verdict)


@pytest.mark.parametrize(("held", "runs"), [(1, 1), (3, 3), (4, 5), (3, 5), (11, 15), (19, 25), (4, 10), (6, 10)])
def test_few_runs_or_those_between_two_verdicts_decide_nothing(held: int, runs: int) -> None:
    for one in (outcome(held, runs), outcome(runs - held, runs)):
        assert one.is_decided == (held == 19)
    assert replace(outcome(held, runs), seeds=False).is_decided


def test_the_tests_behind_decisions_are_right_in_19_of_20_cases() -> None:
    stats = pytest.importorskip("scipy.stats")
    for count in range(1, 51):
        for held in range(count + 1):
            above = stats.binomtest(max(held, count - held), count, 0.5, "greater").pvalue <= 0.05
            between = stats.binomtest(min(held, count - held), count, 0.2, "greater").pvalue <= 0.05
            assert outcome(held, count).is_decided == (above or between), (held, count)
            assert above or between or count < ENOUGH


def test_more_seeds_add_to_the_runs_of_their_choice_and_nothing_to_a_formula() -> None:
    more = [outcome(3, choice="unpaced"), outcome(0, choice="paced"), outcome(5, choice="unpaced")]
    found = outcome(4, choice="unpaced").with_more(more)
    assert (found.held, found.runs, found.ours) == (12, 15, "our number")
    formula = replace(outcome(1, 1, choice="unpaced"), seeds=False)
    assert formula.with_more(more) == formula


def test_a_judgement_is_decided_where_all_choices_are_that_decide() -> None:
    assert Judgement(CLAIM, [outcome(5), replace(outcome(2), decides=False)]).is_decided
    assert not Judgement(CLAIM, [outcome(5), outcome(2)]).is_decided


def test_a_claim_depends_on_the_choice_that_decides_it() -> None:
    judgement = Judgement(CLAIM, [outcome(5, choice="unpaced"), outcome(0, choice="paced")])
    assert judgement.verdict == "depends"
    assert judgement.depends_on == "unpaced: holds; paced: fails"
    assert judgement.ours == "unpaced: our number (5 of 5); paced: our number (0 of 5)"


def test_a_set_up_that_the_study_did_not_have_stands_beside_the_verdict() -> None:
    claim: Claim[None] = Claim("x-1", "", "", lambda _: [outcome(5, choice="as it ran"), outcome(0, choice="paced")])
    judgement = claim.judge(None, lambda choice: choice == "as it ran")
    assert (judgement.verdict, judgement.depends_on, judgement.would_change) == ("holds", "", "paced: fails")
    assert judgement.ours == "as it ran: our number (5 of 5)"
    assert claim.judge(None, lambda choice: False).verdict == "depends", "something has to decide"


def test_what_fails_here_and_in_a_run_of_the_authors_is_contradicted_by_their_own_data() -> None:
    report, second = outcome(1, 1, "the report's"), outcome(0, 1, "the second")
    for held, verdict in ((0, CONTRADICTED), (2, CONTRADICTED), (5, "holds")):
        assert Judgement(CLAIM, [outcome(held)], theirs=[report, second]).verdict == verdict
    assert Judgement(CLAIM, [outcome(0)], theirs=[report]).verdict == "fails"
    other = replace(second, decides=False)
    assert Judgement(CLAIM, [outcome(0)], theirs=[report, other]).verdict == "fails", "another set-up says nothing"
    assert Judgement(CLAIM, [replace(outcome(0), judged=False)], theirs=[second]).verdict == "not judged in quick form"


def test_choices_that_agree_leave_nothing_to_depend_on() -> None:
    for held, verdict in ((5, "holds"), (0, "fails")):
        judgement = Judgement(CLAIM, [outcome(held, choice="unpaced"), outcome(held, choice="paced")])
        assert (judgement.verdict, judgement.depends_on) == (verdict, "")
    assert Judgement(CLAIM, [outcome(2)]).depends_on == "as it is: depends on the seed"


def test_the_knee_lies_where_the_curve_crosses_half_of_the_ideal_line() -> None:
    shares = {0.1: 1.0, 0.2: 0.75, 0.3: 0.25, 0.4: 0.0}
    rates = {loss: 100 * share * (1 - loss) for loss, share in shares.items()}
    assert flow(rates).knee == pytest.approx(0.25)
    assert flow(90.0).knee is None


def test_the_published_numbers_satisfy_the_claims_of_figure_1() -> None:
    found = {one.claim.id: one for one in fig1.PART.judge(fig1.Figure(as_published("fig1"), alternatives()))}
    assert list(found) == [claim.id for claim in fig1.CLAIMS]
    first = {name: one.outcomes[0].verdict for name, one in found.items()}
    assert first == dict.fromkeys(found, "holds")
    for pacing in ("reb-03", "reb-04", "reb-07"):
        assert found[pacing].verdict == "holds"
        assert "paced: fails" in found[pacing].would_change
    assert found["reb-05"].verdict == "holds"


def test_other_numbers_fail_the_claims_of_figure_1() -> None:
    slow = {label: [flow(50.0)] * 5 for label in as_published("fig1")}
    straight = {label: [flow(95.0)] * 3 for label in alternatives()}
    found = {one.claim.id: one.verdict for one in fig1.PART.judge(fig1.Figure(slow, straight))}
    # Goodput of these runs is a fixed share of their egress, which is what reb-26 says.
    assert found.pop("reb-26") == "holds"
    assert set(found.values()) == {"fails"}


def test_the_published_numbers_satisfy_the_claims_of_figure_5() -> None:
    # The study's table has two decimals, too few to tell the two apart at 50 %.
    found = fig5.PART.judge(figure_5(as_published("fig5")))
    assert [one.claim.id for one in found] == [claim.id for claim in fig5.CLAIMS]
    assert {one.outcomes[0].verdict for one in found} == {"holds"}
    slow = {label: [flow(3.0)] * 5 for label in as_published("fig5")}
    assert {one.verdict for one in fig5.PART.judge(figure_5(slow))} <= {"fails", CONTRADICTED}


def figure_5(measured: Curves, stand_in: str = "") -> fig5.Figure:
    """Figure 5 over a link as fast as the study's."""
    capacity = curves.PUBLISHED_CAPACITY["fig5"]
    runs = {label: [replace(run, capacity=capacity) for run in of] for label, of in measured.items()}
    return fig5.Figure(runs, capacity, stand_in)


def test_what_the_claims_of_figures_1_and_5_say_of_other_numbers_is_what_is_kept() -> None:
    first = fig1.Figure(as_published("fig1"), alternatives())
    altered.same_as_kept("rebbr-fig1-published", fig1.PART, first)
    altered.same_as_kept("rebbr-fig5-published", fig5.PART, figure_5(as_published("fig5")))
    snapshots.same_as_kept("claims/rebbr-fig1-alternatives", altered.said(fig1.PART, first))


def test_verdicts_over_a_synthetic_link_say_so() -> None:
    found = fig5.PART.judge(figure_5(as_published("fig5"), fig5.STAND_IN))
    assert all("SYNTHETIC" in one.note for one in found)


def test_a_run_without_any_delivery_is_judged_too() -> None:
    dead = {label: [flow(0.0)] * 2 for label in as_published("fig1")}
    still = {label: [flow(0.0)] * 2 for label in alternatives()}
    assert len(fig1.PART.judge(fig1.Figure(dead, still))) == len(fig1.CLAIMS)
    assert curves.quotient(1.0, 0.0) == math.inf


# --- registry and package data ---------------------------------------------------------------------------------------


def test_every_study_loads_and_names_each_claim_once() -> None:
    seen: list[str] = []
    for study in papers.studies():
        assert study.name in papers.NAMES
        assert study.parts
        seen += [claim.id for part in study.parts for claim in part.claims]
    assert len(seen) == len(set(seen))


def test_a_part_is_found_by_path_and_a_study_brings_all() -> None:
    study, parts = papers.find("rebbr/fig5")
    assert (study.name, [part.name for part in parts]) == ("rebbr", ["fig5"])
    assert [part.name for part in papers.find("rebbr")[1]] == [
        "fig1",
        "fig2",
        "fig3",
        "fig4",
        "fig5",
        "fig6",
        "window16",
        "today",
    ]
    for wrong in ("rebbr/fig9", "nobody", ""):
        with pytest.raises(papers.UnknownStudyError, match=r"rebbr/fig1"):
            papers.find(wrong)


def test_published_numbers_have_units_and_sources() -> None:
    for part in ("fig1", "fig5"):
        numbers = published(curves.FOLDER, part)
        assert all(number.unit and number.source for number in numbers)
        assert [sorted(points) for points in curves.published_curves(part).values()] == [list(LOSSES)] * 2


@pytest.mark.parametrize(("part", "points"), [(fig1.PART, [195, 162, 200]), (fig5.PART, [650, 10])])
def test_the_experiment_files_are_valid(part: papers.Part[Any], points: list[int]) -> None:
    assert [len(experiment.load(one.file).points) for one in part.experiments] == points


# --- traces ----------------------------------------------------------------------------------------------------------


def test_a_directory_without_the_traces_is_an_error_that_says_where_they_are(dumbbell: Cli, tmp_path: Path) -> None:
    (tmp_path / fig5.UPLINK).write_text("1\n")
    done = dumbbell("reproduce", "rebbr/fig5", "--quick", "--traces", tmp_path, "--out", tmp_path / "out")
    assert (done.status, done.out) == (2, "")
    assert f"no {fig5.DOWNLINK} here" in done.err
    for part in ("Mahimahi", "ravinet/mahimahi", "GPL-3.0", "NSDI 2013", "--traces", "DUMBBELL_TRACES"):
        assert part in done.err
    assert not (tmp_path / "out").exists()


def test_another_recording_under_the_same_name_is_refused(dumbbell: Cli, tmp_path: Path) -> None:
    for name in (fig5.UPLINK, fig5.DOWNLINK):
        (tmp_path / name).write_text("1\n2\n3\n")
    done = dumbbell("reproduce", "rebbr/fig5", "--quick", "--traces", tmp_path, "--out", tmp_path / "out")
    assert done.status == 2
    assert fig5.UPLINK in done.err


def test_without_traces_a_labelled_stand_in_runs(
    dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DUMBBELL_TRACES", raising=False)
    monkeypatch.setattr(traces, "PLACE", tmp_path / "nothing")
    done = dumbbell("reproduce", "rebbr/fig5", "--quick", "--out", tmp_path / "out")
    assert done.status == 0
    assert "SYNTHETIC stand-in" in done.err
    assert "Mahimahi" in done.err
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert "SYNTHETIC" in report["title"]
    assert any("SYNTHETIC" in caveat for caveat in report["caveats"])
    assert all("SYNTHETIC" in (tmp_path / "out" / f"{name}.svg").read_text() for name in ("fig5", "fig5-time"))
    assert done.err.count("SYNTHETIC") == 1


# --- command ---------------------------------------------------------------------------------------------------------


def test_quick_figure_1_from_end_to_end(dumbbell: Cli, tmp_path: Path) -> None:
    done = dumbbell("reproduce", "rebbr/fig1", "--quick", "--json", "--html", "--out", tmp_path)
    assert (done.status, done.err) == (0, "")
    printed = json.loads(done.out)
    (part,) = printed["parts"]
    assert [claim["id"] for claim in part["claims"]] == [claim.id for claim in fig1.CLAIMS]
    for claim in part["claims"]:
        assert claim["verdict"] == "not judged in quick form"
        assert {choice["verdict"] for choice in claim["choices"]} == {"not judged in quick form"}
        assert (claim["note"], claim["depends_on"], claim["would_change"]) == ("", "", "")
    assert any("Shortened" in caveat for caveat in part["caveats"])
    assert [table["name"] for table in part["tables"]] == ["comparison", "agreement", "knee", "causes"]
    first = part["tables"][0]["rows"][0]
    assert (first["loss %"], first["CUBIC: published"]) == ("0.001", 98.81)
    assert first["CUBIC: ratio"] == pytest.approx(first["CUBIC: egress"] / 98.81)
    for stem in ("fig1", "knee"):
        for kind in ("png", "svg", "pdf"):
            assert (tmp_path / f"{stem}.{kind}").stat().st_size > 1000
    with (tmp_path / "comparison.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(LOSSES)
    page = (tmp_path / "rebbr.html").read_text()
    assert not re.search('class="(fails|holds|depends)"', page)
    assert "http" not in page.replace("http://www.w3.org", "")
    assert all(claim.id in page for claim in fig1.CLAIMS)
    assert page.count("data:image/svg+xml;base64,") == 2


@pytest.mark.parametrize("part", ["rebbr/fig5", "bbr-acd/rule"])
def test_the_output_follows_its_schema(dumbbell: Cli, tmp_path: Path, part: str) -> None:
    schema = json.loads(dumbbell("reproduce", "--schema").out)
    follows = fastjsonschema.compile(schema)
    printed = json.loads(dumbbell("reproduce", part, "--quick", "--json", "--out", tmp_path).out)
    follows(printed)
    assert printed["parts"] == [json.loads((tmp_path / "report.json").read_text())]
    follows({**printed, "parts": [{**printed["parts"][0], "claims": [figure_claim()]}]})
    for wrong in ({"verdict": "maybe"}, {"surprise": 1}):
        (claims := printed["parts"][0]["claims"]).append({**figure_claim(), **wrong})
        with pytest.raises(fastjsonschema.JsonSchemaValueException):
            follows(printed)
        claims.pop()


def figure_claim() -> dict[str, Any]:
    """A claim as it is printed."""
    texts = dict.fromkeys(("id", "statement", "ours", "published", "depends_on", "would_change", "note", "notices"), "")
    public = {"origin": "", "decides": True, "held": True, "numbers": ""}
    choice = {"choice": "", "decides": True, "verdict": "holds", "held": 1, "runs": 1, "is_decided": False, "ours": ""}
    return {**texts, "verdict": "holds", "choices": [choice], "authors": [public]}


def test_repeating_a_study_is_deterministic(dumbbell: Cli, tmp_path: Path) -> None:
    tables = []
    for jobs in ("1", "2"):
        folder = tmp_path / jobs
        assert dumbbell("reproduce", "rebbr/fig1", "--quick", "--jobs", jobs, "--out", folder).status == 0
        tables.append((folder / "comparison.csv").read_bytes())
    assert tables[0] == tables[1]


def test_lists_need_no_runs(dumbbell: Cli) -> None:
    for arguments in ((), ("--list",)):
        listed = dumbbell("reproduce", *arguments)
        assert listed.status == 0
        assert all(f"rebbr/fig{number}" in listed.out for number in range(1, 7))
    listed = dumbbell("reproduce", "--claims")
    ids = [*(claim.id for claim in fig1.CLAIMS), *(claim.id for claim in fig5.CLAIMS)]
    assert all(name in listed.out for name in ids)
    for words in ((), ("--list",), ("--list", "--claims")):
        found = json.loads(dumbbell("reproduce", *words, "--json").out)["studies"]
        (rebbr,) = (one for one in found if one["study"] == "rebbr")
        assert rebbr["title"] and rebbr["reference"]
        parts = {part["part"]: part for part in rebbr["parts"]}
        assert parts["fig1"]["title"] == fig1.PART.title
        assert [claim["id"] for claim in parts["fig1"]["claims"]] == [claim.id for claim in fig1.CLAIMS]
        assert parts["fig1"]["claims"][0] == {
            "id": fig1.CLAIMS[0].id,
            "statement": fig1.CLAIMS[0].statement,
            "published": fig1.CLAIMS[0].published,
        }


@pytest.mark.parametrize("width", [40, 50, 60, 75, 120])
def test_a_table_wider_than_the_terminal_comes_in_parts_of_which_nothing_is_cut(width: int) -> None:
    columns = ["algorithm", "remark", "throughput: first", "throughput: second", "delay: first", "delay: second"]
    rows: list[list[str | float]] = [
        ["cubic", "it fills the whole buffer and then some of the next", 1.25, 12_345.0, 3.5, 4.25],
        ["bbr", "it does not", 1.0, 2.0, 30.0, 400.0],
    ]
    written = io.StringIO()
    text.table(Console(width=width, file=written), Grid("x", "Title", columns, rows))
    said = written.getvalue()
    assert max(map(len, said.splitlines())) <= width
    numbers = ["1.25", "1.00", "12,345", "2", "3.50", "30.00", "4.25", "400.00"]
    assert set(numbers) <= set(said.split()) and all(said.split().count(word) == 1 for word in numbers)
    # Each part names its rows, and the title is told once.
    parts = said.split().count("algorithm")
    assert said.split().count("cubic") == said.split().count("bbr") == said.count("remark") == parts
    assert said.split().count("first") == said.split().count("second") == 2 and said.count("Title") == 1
    assert (parts > 1) == (width < 75)


def test_an_unknown_study_is_wrong_input(dumbbell: Cli) -> None:
    done = dumbbell("reproduce", "rebbr/fig9")
    assert done.status == 2
    assert "rebbr/fig1" in done.err


def test_a_study_leaves_files_of_others_alone(dumbbell: Cli, tmp_path: Path) -> None:
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    (thesis / "report.json").write_text("{}")
    done = dumbbell("reproduce", "rebbr/fig1", "--quick", "--out", thesis)
    assert done.status == 2
    assert "thesis holds files (report.json) but no dumbbell.json" in done.err
    assert [path.name for path in thesis.iterdir()] == ["report.json"]
    out = tmp_path / "out"
    assert dumbbell("reproduce", "rebbr/fig1", "--quick", "--out", out).status == 0
    (out / "notes.txt").write_text("mine")
    # As an earlier version left it.
    (out / "dumbbell.json").unlink()
    assert dumbbell("reproduce", "rebbr/fig1", "--quick", "--html", "--out", out).status == 0
    assert (out / "notes.txt").read_text() == "mine"
    assert "rebbr.html" in json.loads((out / "dumbbell.json").read_text())["files"]


@pytest.mark.parametrize(
    ("names", "is_ours"),
    [
        (["fig1/report.json", "fig2/report.json"], True),
        (["fig1/report.json", "rebbr.html"], True),
        (["fig1/report.json", "rebbr.html", "bbr-n.html"], True),
        (["rebbr.html"], False),
        (["fig1/report.json", "mine.html"], False),
        (["fig1/report.json", "rebbr.txt"], False),
        (["fig1/report.json", "fig2/mine.json"], False),
    ],
)
def test_parts_and_pages_alone_show_that_an_earlier_version_wrote_a_study(
    names: list[str], is_ours: bool, tmp_path: Path
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("earlier")
    if is_ours:
        assert output.write_page(rebbr.STUDY, [], tmp_path).read_text().lower().startswith("<!doctype html>")
        assert "rebbr.html" in json.loads((tmp_path / "dumbbell.json").read_text())["files"]
    else:
        with pytest.raises(OutputError, match="so no study of Dumbbell"):
            output.write_page(rebbr.STUDY, [], tmp_path)
        assert all((tmp_path / name).read_text() == "earlier" for name in names)


STUDIES = Path(__file__).parents[2] / "docs/studies"


def judged(page: str) -> list[tuple[str, str]]:
    """The figures and tables that the page of a study lists, and the first word of what it says of each."""
    text = (STUDIES / f"{page}.md").read_text("utf-8")
    (section,) = re.findall(r"^## .*point by point\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if "|" in line)
    return [(row[0], row[head.index("verdict")].partition(" ")[0].rstrip(":;,")) for row in rows]


def test_one_page_lists_what_works_of_every_study() -> None:
    text = (STUDIES / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| \[[^]]+\]\(([a-z-]+)\.md\) \| (.+) \| (\w+) \|$", text, re.MULTILINE)
    pages = sorted(path.stem for path in STUDIES.glob("*.md") if path.stem not in ("README", "swaps"))
    assert sorted({page for page, *_ in listed}) == pages
    for page in pages:
        assert [(what, verdict) for of, what, verdict in listed if of == page] == judged(page)
    assert {verdict for *_, verdict in listed} == {"works", "partly", "not", "answered"}


# --- what studies are made of ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("study", papers.NAMES)
def test_what_a_study_runs_is_what_is_kept(study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its full form, of which the other tests run nothing, and in the quick one."""
    monkeypatch.setattr(traces, "PLACE", tmp_path / "nothing")
    lines = []
    for part in papers.load(study).parts:
        lines.append(f"{part.name}: {part.title}, quick {part.quick}")
        for one in part.experiments:
            lines.append(f"  {one.file.name} {one.folder} {one.repeat} {one.once}")
            before: dict[str, Any] = {}
            for options in (papers.Options(tmp_path), papers.Options(tmp_path, quick=True)):
                settings = one.settings(options, part.quick)
                points = one.points(options, settings)
                seeds = {point.seed for point in points}
                new = {key: value for key, value in settings.items() if value != before.get(key)}
                lines.append(f"    {len(points)} points, {len(seeds)} seeds, {json.dumps(new)}")
                before = settings
    snapshots.same_as_kept(f"experiments/{study}", lines)


def test_the_quick_form_comes_after_the_study_s_own_settings_and_before_what_is_asked_for(tmp_path: Path) -> None:
    file = experiment_of(tmp_path)
    one = papers.Experiment(file, set={"warmup": "1s", "duration": "9s"}, quick={"warmup": "2s", "seed": 4})
    asked = papers.Options(tmp_path, set={"seed": 5})
    assert one.settings(asked, "3s") == {"warmup": "1s", "duration": "9s", "seed": 5}
    assert one.settings(replace(asked, quick=True), "3s") == {"warmup": "2s", "duration": "3s", "seed": 5}
    assert replace(one, set=lambda options: {"seed": options.jobs}).settings(papers.Options(tmp_path, jobs=2), "") == {
        "seed": 2
    }


def test_a_study_is_repeated_as_asked_as_it_says_or_as_its_file_says(tmp_path: Path) -> None:
    file = experiment_of(tmp_path)

    def seeds(options: papers.Options, **one: Any) -> int:
        return len(papers.Experiment(file, **one).points(options, {}))

    plain, quick, asked = (
        papers.Options(tmp_path),
        papers.Options(tmp_path, quick=True),
        papers.Options(tmp_path, repeat=7),
    )
    assert [seeds(options) for options in (plain, quick, asked)] == [3, 1, 7]
    assert [seeds(options, repeat=2) for options in (plain, quick, asked)] == [2, 2, 7]
    assert [seeds(options, once=True, repeat=2) for options in (plain, quick, asked)] == [1, 1, 1]
    assert papers.Experiment(file).texts() == {"x.toml": file.read_text()}


def experiment_of(folder: Path) -> Path:
    """A file with three seeds."""
    file = folder / "x.toml"
    file.write_text(f"{EXPERIMENT}\n[sweep]\nrepeat = 3\n")
    return file


def test_what_was_changed_is_told_but_for_the_seed(tmp_path: Path) -> None:
    def ran(*swapped: str) -> Any:
        return SimpleNamespace(swapped=dict.fromkeys(swapped, 1))

    options = papers.Options(tmp_path, set={"seed": 7, "duration": "1s"}, swap={"bbr": "reno", "vegas": "reno"})
    told = "Changed by --set duration=1s, --swap bbr=reno: not the study."
    assert changes(options, [ran(), ran("bbr")]) == [told]
    assert changes(papers.Options(tmp_path, set={"seed": 7}), [ran()]) == []
    linux: Any = SimpleNamespace(name="linux")
    on_linux = replace(papers.Options(tmp_path), ground=linux)
    assert changes(on_linux, [ran()]) == [f"On the TCP of {beside.kernel()}."]
    assert [repeated(times) for times in (1, 2)] == ["Repeated with other seeds", "Repeated with other seeds 2 times"]


def sweep_of(rows: list[dict[str, Any]], axes: tuple[str, ...] = ("loss", "seed")) -> Any:
    return SimpleNamespace(axes=axes, flows=SimpleNamespace(rows=lambda: rows))


def test_the_kernel_stands_beside_the_simulator_in_means_over_seeds() -> None:
    def row(loss: str, seed: int, flow: int, rate: float) -> dict[str, Any]:
        return {"loss": loss, "seed": seed, "flow": flow, "label": "bbr", "goodput_mbps": rate}

    real = [row("0%", 1, 0, 4.0), row("0%", 2, 0, 6.0), row("1%", 1, 0, 3.0), row("1%", 1, 1, 1.0)]
    simulated = [row("0%", 1, 0, 2.0), row("0%", 2, 0, 2.0), row("1%", 1, 0, 0.0), row("1%", 1, 1, 4.0)]
    pair: Any = SimpleNamespace(sweep=sweep_of(real), simulated=sweep_of(simulated))
    alone: Any = SimpleNamespace(sweep=sweep_of(real), simulated=None)
    (grid,) = beside.tables([alone, pair])
    assert (grid.name, list(grid.columns)) == ("grounds", ["loss", "flow", "Linux", "simulator", "quotient"])
    assert list(grid.rows) == [
        ["0%", "0: bbr", 5.0, 2.0, 2.5],
        ["1%", "0: bbr", 3.0, 0.0, None],
        ["1%", "1: bbr", 1.0, 4.0, 0.25],
    ]
    assert [one.name for one in beside.tables([pair, pair])] == ["grounds-1", "grounds-2"]
    assert beside.tables([alone]) == []


def test_a_report_sums_over_all_its_sweeps() -> None:
    def point(seed: int) -> Any:
        return SimpleNamespace(version="1", engine="e", seed=seed, packets=10 * seed, cpu_s=0.5)

    sweeps: Any = [SimpleNamespace(points=[point(2), point(1)]), SimpleNamespace(points=[point(2)])]
    found = papers.Provenance.of(sweeps, {"a": "b"})
    assert found == papers.Provenance("1", "e", [1, 2], 3, 50, 1.5, {"a": "b"})


def test_columns_of_numbers_from_a_thousand_on_have_no_decimals() -> None:
    rows: list[list[float | None]] = [[999.99, 1000.0, -1000.5, 1000], [1.0, 1.0, 1.0, None]]
    assert Grid("t", "T", ["a", "b", "c", "d"], rows).printed() == [
        ["999.99", "1,000", "-1,000", "1000"],
        ["1.00", "1", "1", "-"],
    ]
    made = table("t", "T", ["n"], [(["x"], 2.0), (["y"], 3.0)], {"twice": lambda n: 2 * n}, 1, [["z", 1.0]])
    assert (made.columns, made.digits) == (["n", "twice"], 1)
    assert made.rows == [["z", 1.0], ["x", 4.0], ["y", 6.0]]
    assert Grid("t", "T", ["a"], [[1.0]]).digits == 2


def test_numbers_of_runs_become_words() -> None:
    assert [testing.near(value, 10.0, 0.1) for value in (8.9, 9.0, 11.0, 11.1)] == [False, True, True, False]
    assert testing.near(-10.5, -10.0, -0.1) and not testing.near(0.2, 0.0, 0.5)
    assert testing.spread([1.234, 1.2341]) == "1.23" and testing.spread([3.0, 1.0], 0, " ms") == "1 to 3 ms"
    assert testing.ranged(abs, 1, " %")([-2.0, 1.0]) == "1.0 to 2.0 %"
    assert testing.averaged(abs)([-2.0, 1.0]) == "1.50" and testing.average(abs)([-2.0, 1.0]) == 1.5
    assert testing.both(testing.averaged(abs))([(1, 2), (3, 4)]) == "2.00 against 3.00"
    grid = testing.across("n", "t", ["h"], [(["x"], {"a": [1.0, 2.0], "b": [5.0]})], {"B": "b", "A": "a"}, abs)
    assert (grid.columns, grid.rows, grid.digits) == (["h", "B", "A"], [["x", 5.0, 1.5]], 2)


def test_causes_are_told_where_a_claim_does_not_hold() -> None:
    def noted(held: int, note: Any = "Note.", cause: Any = "Cause.") -> str:
        return replace(CLAIM, test=lambda _: [outcome(held)], note=note, cause=cause).judge(None).note

    assert [noted(held) for held in (5, 2, 0)] == ["Note.", "Note. Cause.", "Note. Cause."]
    assert noted(0, "", lambda measured: f"Of {measured}.") == "Of None."
    assert noted(5, lambda measured: f"Of {measured}.") == "Of None."


def test_quantities_of_a_run() -> None:
    flows = [
        {"goodput_mbps": 1.0, "sent_total": 10, "network_drops_total": 2, "retransmits_total": 3},
        {"goodput_mbps": 3.0, "sent_total": 30, "network_drops_total": 4, "retransmits_total": 0},
    ]
    run = runs.Run(flows, {"a": "x", "b": None})
    assert (runs.total(run), runs.slowest(run), runs.fastest(run), runs.ratio(run)) == (4.0, 1.0, 3.0, 3.0)
    assert (runs.loss(run), runs.retransmitted(run), runs.jain(run)) == (0.15, 3.0, 0.8)
    assert runs.deviation(run) == pytest.approx(2**0.5)
    assert (run.swept("b", "a"), run.duration_s, run.kept) == (("None", "x"), 0.0, None)
    still = runs.Run([{"goodput_mbps": 0.0, "sent_total": 0, "network_drops_total": 0}] * 2)
    assert (runs.ratio(still), runs.loss(still), runs.jain(still)) == (math.inf, 0.0, 0.0)


# --- what is printed -------------------------------------------------------------------------------------------------


def test_a_report_on_a_terminal_says_everything_of_its_claims(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    claim = replace(CLAIM, id="x-2", statement="It is fair.")
    besides, theirs = replace(outcome(1, choice="paced"), decides=False), [outcome(1, 1, "June"), outcome(0, 1, "July")]
    report = papers.Report(
        study="abc", part="one", title="One flow", setup=["A sentence.", "Another."], pictures={},
        tables=[Grid("t", "Table", ["name", "BBR: ours", "BBR: theirs", "rate"], [["x", 1.0, 2.5, 3000.0]], 1)],
        judgements=[
            Judgement(CLAIM, [outcome(5)]),
            Judgement(claim, [outcome(3), besides], "Because.", theirs, "notices 2 of 6"),
            Judgement(claim, [outcome(5, choice="a"), outcome(0, choice="b")]),
            Judgement(claim, [replace(outcome(3), judged=False)]),
        ],
        provenance=papers.Provenance("1.2", "e", [1], 12, 3_456_789, 1.26),
        caveats=["Not all of it."],
    )  # fmt: skip
    text.report(report)
    text.report(report, only_claims=True)
    text.claims([rebbr.STUDY])
    text.listing([rebbr.STUDY])
    snapshots.same_as_kept("terminal", [line.rstrip() for line in capsys.readouterr().out.splitlines()])


def test_verdicts_are_counted_and_contradictions_only_where_there_are_some() -> None:
    def report(*judgements: Judgement) -> Any:
        return SimpleNamespace(judgements=judgements)

    held, failed, open_ = (Judgement(CLAIM, [outcome(n)]) for n in (5, 0, 3))
    assert text.verdicts([report(held, failed), report(held, open_)]) == {"holds": 2, "fails": 1, "depends": 1}
    against = replace(failed, theirs=[outcome(0, 1)])
    assert text.verdicts([report(against)]) == {"holds": 0, "fails": 0, "depends": 0, CONTRADICTED: 1}
    quick = Judgement(CLAIM, [replace(outcome(3), judged=False)])
    assert text.verdicts([report(quick, quick)]) == {"not judged in quick form": 2}


@pytest.mark.parametrize("width", [24, 30, 36, 42, 48, 60])
def test_parts_of_a_wide_table_are_as_wide_as_the_terminal_lets_them_be(width: int) -> None:
    columns = ["name", "kind", "a: first", "a: second", "b", "c: one", "c: two", "c: three"]
    rows: list[list[str | float]] = [["x", "some words that are many more than fit", 1.0, 22.0, 333.0, 4.0, 5.0, 6.0]]
    written = io.StringIO()
    text.table(Console(width=width, file=written), Grid("x", "Title", columns, rows))
    snapshots.same_as_kept(f"wide/{width}", [line.rstrip() for line in written.getvalue().splitlines()])


def test_a_trace_is_looked_for_in_the_folder_that_was_named_or_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "PLACE", tmp_path)
    names = ("up", "down")
    (tmp_path / "up").touch()
    assert traces.find(None, names) is None
    with pytest.raises(traces.MissingTraceError, match="no down here"):
        traces.find(tmp_path, names)
    (tmp_path / "down").touch()
    assert traces.find(None, names) == traces.find(tmp_path, names) == [tmp_path / "up", tmp_path / "down"]
    with pytest.raises(traces.MissingTraceError, match="no up and no down here"):
        traces.find(tmp_path / "nowhere", names)


def test_pictures_of_studies_share_their_axes_and_show_what_seeds_span() -> None:
    style = look("bbr")
    with drawing.panels(2, 2, 6.0, 4.0, "x", "y") as (figure, grid):
        drawing.with_ranges(grid[0, 0], [1.0, 2.0], [[1.0, 3.0], [4.0]], style)
        drawing.with_band(grid[0, 1], [1.0, 2.0], [[1.0, 3.0], [4.0]], style)
        drawing.shaded(grid[1, 0], [[0.0, 1.0], [2.0, 3.0]], ".1f")
        drawing.log_x(grid[1, 1], [1, 10, 100], "loss")
    with drawing.panels(1, 1, 3.0, 3.0, sharex=False) as (alone, _):
        pass
    lines = [*described(figure), *described(alone)]
    assert grid[0, 0].get_shared_x_axes().joined(grid[0, 0], grid[1, 1])
    assert grid[0, 0].get_shared_y_axes().joined(grid[0, 0], grid[1, 1])
    snapshots.same_as_kept("drawing", lines)


# --- a part and its seeds --------------------------------------------------------------------------------------------


@dataclass
class Scripted:
    """An experiment whose runs are numbers: how many of five seeds a claim holds in, time by time."""

    held: list[int]
    asked: list[papers.Options] = field(default_factory=list)

    def run(self, options: papers.Options, quick: str) -> Any:
        self.asked.append(options)
        return SimpleNamespace(
            sweep=f"sweep {len(self.asked)}", found=self.held[min(len(self.asked), len(self.held)) - 1]
        )


def of_numbers(name: str, test: Callable[[int], list[Outcome]], **more: Any) -> Claim[int]:
    return Claim(name, "It is fast.", "very", test, **more)


def scripted(*held: int) -> tuple[papers.Part[int], Scripted]:
    one: Any = Scripted(list(held))
    claims = [of_numbers("x-1", lambda found: [outcome(found)]), of_numbers("x-2", lambda _: [outcome(5)])]
    return papers.Part("p", "P", [one], "1s", lambda ran: ran.found, [], lambda _: [], claims), one


def test_a_part_is_repeated_with_the_seeds_after_its_own_until_they_decide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part, one = scripted(3, 5)
    more, sweeps = part.decided("s", 3, papers.Options(tmp_path, set={"duration": "2s"}))
    # 3 of 5, 6 of 10 (with the 3 that come again), 11 of 15, and 16 of 20, which decides.
    assert [asked.set["seed"] for asked in one.asked] == [2, 3, 4]
    assert all(asked.set["duration"] == "2s" and asked.out != tmp_path for asked in one.asked)
    assert [found.held for found in more["x-1"]] == [3, 5, 5] and len(more["x-2"]) == 3
    assert list(map(str, sweeps)) == ["sweep 1", "sweep 2", "sweep 3"]
    told = [line for line in capsys.readouterr().err.splitlines() if line]
    assert "s/p: repeated with other seeds for x-1" in told[0] and "3 times" in told[2] and "x-2" not in told[0]
    part, one = scripted(5)
    assert part.decided("s", 5, papers.Options(tmp_path)) == ({"x-1": [], "x-2": []}, []) and one.asked == []
    part, one = scripted(3)
    part.decided("s", 3, papers.Options(tmp_path, set={"seed": "0x10"}))
    assert one.asked[0].set["seed"] == 17


def test_claims_are_put_to_the_runs_of_the_authors_as_they_ran_them() -> None:
    def both(found: int) -> list[Outcome]:
        return [outcome(found, choice="as it ran"), outcome(5 - found, choice="else")]

    public = [papers.model.Published("June", lambda: 5), papers.model.Published("July", lambda: 0, decides=False)]
    claims = [of_numbers("x-1", both), of_numbers("x-2", both, theirs=False)]
    part: papers.Part[int] = papers.Part(
        "p", "P", [], "1s", lambda: 0, [], lambda _: [], claims, lambda choice: choice == "as it ran", authors=public
    )
    assert part.theirs(claims[0]) == [
        Outcome("June", 1, 1, "our number"), Outcome("July", 0, 1, "our number", decides=False)
    ]  # fmt: skip
    assert part.theirs(claims[1]) == []


def test_a_judgement_in_json_has_every_choice_and_every_run_of_the_authors() -> None:
    judgement = Judgement(
        CLAIM, [outcome(5), replace(outcome(0, choice="b"), decides=False)], "Note.",
        [outcome(1, 1, "June"), replace(outcome(1, 2, "July"), decides=False)], "notices 2 of 6",
    )  # fmt: skip
    assert judgement.to_json() == {
        "id": "x-1", "statement": "It is fast.", "verdict": "holds", "ours": "as it is: our number (5 of 5)",
        "published": "very", "depends_on": "", "would_change": "b: fails", "note": "Note.", "notices": "notices 2 of 6",
        "choices": [
            {"choice": "as it is", "decides": True, "verdict": "holds", "held": 5, "runs": 5, "is_decided": True,
             "ours": "our number"},
            {"choice": "b", "decides": False, "verdict": "fails", "held": 0, "runs": 5, "is_decided": True,
             "ours": "our number"},
        ],
        "authors": [
            {"origin": "June", "decides": True, "held": True, "numbers": "our number"},
            {"origin": "July", "decides": False, "held": False, "numbers": "our number"},
        ],
    }  # fmt: skip
