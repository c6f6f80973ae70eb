"""Which claims notice another algorithm in the place of their study's.

With ``DUMBBELL_UPDATE_SWAPS=1`` the page ``docs/studies/swaps.md`` is printed anew from what the studies keep.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import Cli
from dumbbell import api, catalogue, experiment, papers
from dumbbell.papers import swap, swaps
from dumbbell.papers.swaps import ANYTHING, CANNOT, OWN, RIVALS, SAME, SIX

PAGE = Path(__file__).parents[2] / "docs" / "studies" / "swaps.md"
FOLDERS = {study.name: study.parts[0].folder for study in papers.studies()}
KEPT = {name: found for name, folder in FOLDERS.items() if (found := swaps.read(folder))}


def row(own: str, *others: str) -> dict[str, str]:
    return dict(zip((OWN, *SIX), (own, *others), strict=True)) | {RIVALS: ""}


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        (("holds",) * 7, ANYTHING),
        (("holds", *["holds"] * 5, "fails"), "notices 1 of 6"),
        (("holds", *["depends"] * 4, CANNOT, SAME), "notices 4 of 4"),
        (("holds", *["holds"] * 4, CANNOT, SAME), "survives 4"),
        (("holds", *[SAME] * 6), "not tried"),
        (("fails", *["holds"] * 6), ""),
    ],
)
def test_a_claim_that_no_swap_changes_is_true_of_anything(verdicts: tuple[str, ...], said: str) -> None:
    assert swaps.mark(row(*verdicts)) == said


def test_a_claim_about_a_rival_is_not_true_of_anything() -> None:
    said = "notices 2 of 6 in the place of what it is compared with"
    assert swaps.mark(row(*["holds"] * 7) | {RIVALS: "notices 2 of 6"}) == said


def test_swaps_of_a_part_name_only_what_it_runs(tmp_path: Path) -> None:
    (part,) = papers.find("kato/heatmap")[1]
    options = papers.Options(tmp_path, repeat=1)
    subject = ("bbr", "bbr-n-4-13", "vegas")
    assert swaps.of_part(part, subject, "reno", options) == {"bbr": "reno"}
    assert swaps.of_part(part, ("vegas",), "reno", options) == {}
    assert swaps.of_part(part, ("reno", "bbr3"), "bbr3", options) == {}


def test_a_swap_is_written_as_compare_takes_it() -> None:
    points = experiment.load(
        {"duration": "1s", "path": {"rate": "1mbit", "rtt": "9ms"}, "flows": [{"cc": "reno"}]}
    ).points
    (changed,), counts = swap.swapped(points, [], {"reno": "bbr:drain_gain=0.5"})
    assert counts == {"reno": 1} and "drain_gain = 0.5" in changed.resolved_toml
    with pytest.raises(catalogue.UnknownAlgorithmError, match="--swap reno=nope: unknown algorithm `nope`"):
        swap.swapped(points, [], {"reno": "nope"})


@pytest.mark.parametrize("options", [("--quick",), ("--json",), ("--swap", "bbr=reno"), ("--set", "duration=1s")])
def test_what_swaps_cannot_use_is_refused(dumbbell: Cli, options: tuple[str, ...]) -> None:
    done = dumbbell("reproduce", "rebbr/fig1", "--swaps", *options)
    assert (done.status, done.out) == (2, "")
    assert "leave out the other options" in done.err


def test_a_study_without_a_subject_has_nothing_to_swap(dumbbell: Cli) -> None:
    done = dumbbell("reproduce", "responses", "--swaps")
    assert done.status == 2
    assert "names no algorithm as its subject" in done.err


SHORT = """\
\"\"\"Reno beside a rate that anything reaches.\"\"\"

from pathlib import Path

from dumbbell.papers.model import Claim, Study
from dumbbell.papers.part import Experiment, Part
from dumbbell.papers.runs import Run, total
from dumbbell.papers.testing import averaged, each


def claim(name: str, least: float) -> Claim[list[Run]]:
    return Claim(name, "", "", each(lambda runs: {"": runs}, lambda run: total(run) > least, averaged(total)))


PART = Part("one", "One flow", [Experiment(Path(__file__).parent / "one.toml")], quick="1s",
            measure=lambda ran: ran.runs, setup=[], tables=lambda runs: [], claims=[claim("a", 0.1), claim("b", 5.0)])
STUDY = Study("short", "Short", "nowhere", (PART,), subject=("bbr",))
"""
ONE = """\
duration = "5s"
[path]
rate = "10mbit"
rtt = "100ms"
loss = "1%"
[[flows]]
cc = "bbr"
"""


def test_the_command_prints_and_writes_what_each_claim_notices(
    dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "short"
    folder.mkdir()
    (folder / "__init__.py").write_text(SHORT)
    (folder / "one.toml").write_text(ONE)
    monkeypatch.chdir(tmp_path)
    done = dumbbell("reproduce", "./short", "--swaps", "--out", "out")
    assert done.status == 0
    assert ANYTHING in done.out
    found = swaps.read(tmp_path / "out")
    assert swaps.mark(found["a"]) == ANYTHING
    assert found["b"][OWN] == "holds"
    assert [found["b"][new] for new in ("reno", "vegas")] == ["fails", "fails"]


def test_what_is_kept_names_every_claim_of_its_parts() -> None:
    for name, found in KEPT.items():
        parts = [[claim.id for claim in part.claims] for part in papers.load(name).parts]
        assert list(found) == [claim for part in parts if set(part) & found.keys() for claim in part]


def test_the_page_is_what_the_studies_keep() -> None:
    text = PAGE.read_text("utf-8")
    before = text[: text.index("\n## ") + 1] if "\n## " in text else text
    printed = before + swaps.page({name: FOLDERS[name] for name in KEPT})
    if os.environ.get("DUMBBELL_UPDATE_SWAPS"):
        PAGE.write_text(printed, "utf-8")
    assert PAGE.read_text("utf-8") == printed


def test_every_claim_that_holds_notices_a_swap_or_is_marked() -> None:
    for found in KEPT.values():
        assert all(swaps.mark(of) for of in found.values() if of[OWN] == "holds")


def test_the_report_of_a_claim_says_what_it_notices() -> None:
    known: Any = KEPT["rebbr"]
    from dumbbell.papers.rebbr import fig4

    found = {one.claim.id: one.notices for one in fig4.PART.judge(fig4.theirs(""))}
    assert found == {name: swaps.mark(known[name]) for name in found}


def test_a_claim_that_survives_all_six_is_tried_with_the_rivals_swapped(tmp_path: Path) -> None:
    asked: list[dict[str, str]] = []

    @dataclass
    class Short:
        """A part of which the second claim notices only what the rival is."""

        name = "one"
        claims = (SimpleNamespace(id="a"), SimpleNamespace(id="b"))

        def swapped(self, options: papers.Options) -> Counter[str]:
            return Counter({old: 1 for old in options.swap if old != "gone"})

        def judged(self, options: papers.Options) -> list[Any]:
            swap = dict(options.swap)
            asked.append(swap)
            assert options.out != tmp_path and options.out.is_dir()
            if swap.get("bbr") == "vegas":
                raise LookupError("no state of BBR")
            first = "fails" if swap.get("bbr") == "reno" else "holds"
            second = "fails" if swap.get("cubic") in ("reno", "bbr3") else "holds"
            return [
                SimpleNamespace(claim=one, verdict=verdict)
                for one, verdict in zip(self.claims, (first, second), strict=True)
            ]

    study: Any = SimpleNamespace(name="s", subject=("bbr", "gone"), rivals=("cubic",))
    part: Any = Short()
    empty: Any = SimpleNamespace(name="two", claims=())
    found = swaps.judged(study, [empty, part], papers.Options(tmp_path))
    assert asked[0] == {} and {"bbr": "reno"} in asked and not any("gone" in swap for swap in asked)
    assert found["a"] == {OWN: "holds", **dict.fromkeys(SIX, "holds"), "reno": "fails", "vegas": CANNOT, RIVALS: ""}
    # Whether it survives cannot be told where a run lacks what it measures.
    assert found["b"] == {OWN: "holds", **dict.fromkeys(SIX, "holds"), "vegas": CANNOT, RIVALS: ""}
    study.subject = ("gone",)
    assert swaps.judged(study, [part], papers.Options(tmp_path))["b"] == {
        OWN: "holds",
        **dict.fromkeys(SIX, SAME),
        RIVALS: "",
    }
    study.subject = ("reno",)
    study.rivals = ("cubic",)
    found = swaps.judged(study, [part], papers.Options(tmp_path))
    assert (found["b"]["reno"], found["b"]["vegas"], found["b"][RIVALS]) == (SAME, "holds", "")


def test_what_rivals_notice_is_counted_without_the_ones_that_change_nothing(tmp_path: Path) -> None:
    def judged(options: papers.Options) -> list[Any]:
        verdict = "fails" if options.swap.get("cubic") in ("reno", "bbr3") else "holds"
        return [SimpleNamespace(claim=SimpleNamespace(id="a"), verdict=verdict)]

    part: Any = SimpleNamespace(
        name="one",
        claims=(SimpleNamespace(id="a"),),
        judged=judged,
        swapped=lambda options: Counter(options.swap.keys()),
    )
    study: Any = SimpleNamespace(name="s", subject=("bbr",), rivals=("cubic",))
    found = swaps.judged(study, [part], papers.Options(tmp_path))
    # CUBIC in the place of CUBIC is no swap.
    assert found["a"][RIVALS] == "notices 2 of 5"
    assert swaps.mark(found["a"]) == "notices 2 of 5 in the place of what it is compared with"
    grid = swaps.table(found)
    assert list(grid.columns) == ["claim", OWN, *SIX, RIVALS, "so"]
    assert list(grid.rows[0]) == ["a", "holds", *["holds"] * 6, "notices 2 of 5", swaps.mark(found["a"])]


def test_what_a_part_raises_as_it_is_is_no_verdict(tmp_path: Path) -> None:
    def judged(options: papers.Options) -> list[Any]:
        raise errors.pop()

    errors: list[Exception] = [KeyError("a"), KeyError("a"), OSError("disk")]
    part: Any = SimpleNamespace(claims=(SimpleNamespace(id="a"),), judged=judged)
    swapped = papers.Options(tmp_path, swap={"bbr": "reno"})
    with pytest.raises(OSError, match="disk"):
        swaps.verdicts(part, swapped)
    assert swaps.verdicts(part, swapped) == {"a": CANNOT}
    with pytest.raises(KeyError):
        swaps.verdicts(part, papers.Options(tmp_path))


def test_a_study_that_keeps_nothing_is_left_out_of_the_page(tmp_path: Path) -> None:
    assert swaps.read(tmp_path) == {}
    assert swaps.page({"none": tmp_path}) == "\n"


def test_of_two_presets_of_one_name_the_first_file_s_counts(tmp_path: Path) -> None:
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text('[presets.mine]\nbase = "reno"\n')
    second.write_text('[presets.mine]\nbase = "bbr"\n[presets.other]\nbase = "cubic"\n')
    found = swap.presets([first, second])
    assert (found["mine"]["base"], found["other"]["base"]) == ("reno", "cubic")


def test_results_of_other_algorithms_stand_under_the_settings_of_the_study(tmp_path: Path) -> None:
    document = {"duration": "1s", "path": {"rate": "5mbit", "rtt": "20ms"}, "flows": [{"cc": "bbr"}, {"cc": "cubic"}],
                "sweep": {"flows[0].cc": ["bbr", "reno"], "repeat": 2}}  # fmt: skip
    points = experiment.load(document).points
    others, changed = swap.swapped(points, [], {"bbr": "vegas", "nobody": "reno"})
    assert changed == {"bbr": 2} and len(others) == 4
    assert swap.swapped(points, [], {"nobody": "reno"}) == (list(points), Counter())
    result = api.Sweep(others, jobs=1, progress=None, out=None).collect()
    named = swap.under_names(result, points)
    assert [meta.settings for meta in named.points] == [point.settings for point in points]
    rows = named.flows.rows()
    own = [(point.settings["flows[0].cc"], point.repeat, point.seed) for point in points]
    assert [(row["flows[0].cc"], row["repeat"], row["seed"]) for row in rows if row["flow"] == 0] == own
    assert [row["cc"] for row in rows if row["flow"] == 0] == ["vegas", "vegas", "reno", "reno"]
    assert [row["content_hash"] for row in rows] == [point.content_hash for point in others for _ in range(2)]
