"""The tables of verdicts in the pages of studies are what a run of the study said.

After ``dumbbell reproduce STUDY --out DIR`` the same with ``DUMBBELL_UPDATE_VERDICTS=DIR`` keeps its claims in
``docs/studies/STUDY/verdicts.json`` and prints the table of the page anew.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dumbbell import papers
from dumbbell.papers.model import CONTRADICTED

STUDIES = Path(__file__).parents[2] / "docs" / "studies"
INDEX = STUDIES / "README.md"
COUNTS = re.compile(r"^\| (\[.+?\]\((.+?)\.md#verdicts\)) \|.*$", re.MULTILINE)
"""The row of a study in the table of all."""
TABLE = re.compile(r"(?<=<!-- verdicts -->\n).*?(?=<!-- end -->)", re.DOTALL)
WITH = {"holds": "holds", "fails": "fails", "depends": "on the seed"}


def kept(study: str) -> list[dict[str, Any]]:
    """The claims of the latest run that was kept."""
    claims: list[dict[str, Any]] = json.loads((STUDIES / study / "verdicts.json").read_text("utf-8"))
    return claims


def table(claims: list[dict[str, Any]]) -> str:
    """The claims in Markdown, below a sentence that counts the verdicts."""
    counts = Counter(claim["verdict"] for claim in claims)
    told = [f"{counts['holds']} hold", f"{counts['fails']} fail", f"{counts['depends']} depend on the seed or a choice"]
    told += [f"{counts[CONTRADICTED]} are {CONTRADICTED}"] if counts[CONTRADICTED] else []
    head = ["claim", "verdict", "ours", "what would change it"]
    rows = [
        [
            f"{claim['id']} {claim['statement'].removesuffix('.')}",
            verdict(claim),
            numbers(claim["choices"]),
            beside(claim) or "nothing that was tried",
        ]
        for claim in claims
    ]
    lines = [head, ["---"] * len(head), *rows]
    return "\n" + ", ".join(told) + ".\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def counted(link: str, study: str) -> str:
    """The row of a study: its claims, and those of each verdict."""
    found = Counter(claim["verdict"] for claim in kept(study))
    return f"| {link} | {' | '.join(map(str, [found.total(), *(found[one] for one in (*WITH, CONTRADICTED))]))} |"


def verdict(claim: dict[str, Any]) -> str:
    """In words; which choice gives what where several decide."""
    if claim["verdict"] != "depends":
        return str(claim["verdict"])
    deciding = [one for one in claim["choices"] if one["decides"]]
    return f"depends: {by_verdict(deciding)}" if len(deciding) > 1 else "depends on the seed"


def beside(claim: dict[str, Any]) -> str:
    """The set-ups beside the verdict that give another one."""
    known = {one["verdict"] for one in claim["choices"] if one["decides"]}
    return by_verdict([one for one in claim["choices"] if not one["decides"] and known != {one["verdict"]}])


def by_verdict(choices: list[dict[str, Any]]) -> str:
    """``fails with paced; holds with unpaced``."""
    found: dict[str, list[str]] = {}
    for one in choices:
        found.setdefault(WITH[one["verdict"]], []).append(one["choice"])
    return "; ".join(f"{words} with {', '.join(names)}" for words, names in found.items())


def numbers(choices: list[dict[str, Any]]) -> str:
    """Ours under each choice that decides; its name where there are several."""
    deciding = [one for one in choices if one["decides"]]
    return "; ".join(
        (f"{one['choice']}: " if len(deciding) > 1 else "") + f"{one['ours']} ({one['held']} of {one['runs']})"
        for one in deciding
    )


def update(folder: Path) -> None:
    """Keeps the claims of a study that was written to a folder, and prints its table."""
    reports = {path.parent.name: json.loads(path.read_text("utf-8")) for path in folder.glob("*/report.json")}
    (study,) = [one for one in papers.studies() if {part.name for part in one.parts} == set(reports)]
    claims = [claim for part in study.parts for claim in reports[part.name]["claims"]]
    for claim in claims:
        del claim["authors"], claim["note"], claim["notices"]
    text = "[\n" + ",\n".join(json.dumps(claim, ensure_ascii=False) for claim in claims) + "\n]\n"
    (STUDIES / study.name / "verdicts.json").write_text(text, "utf-8")
    page = STUDIES / f"{study.name}.md"
    page.write_text(TABLE.sub(lambda _: table(claims), page.read_text("utf-8")), "utf-8")
    counts = COUNTS.sub(
        lambda row: counted(row[1], row[2]) if row[2] == study.name else row[0], INDEX.read_text("utf-8")
    )
    INDEX.write_text(counts, "utf-8")


if "DUMBBELL_UPDATE_VERDICTS" in os.environ:
    update(Path(os.environ["DUMBBELL_UPDATE_VERDICTS"]))

PAGES = sorted(path.parent.name for path in STUDIES.glob("*/verdicts.json"))


@pytest.mark.parametrize("study", PAGES)
def test_the_table_of_the_page_is_what_the_run_said(study: str) -> None:
    (printed,) = TABLE.findall((STUDIES / f"{study}.md").read_text("utf-8"))
    assert printed == table(kept(study))


@pytest.mark.parametrize("study", PAGES)
def test_what_is_kept_are_the_claims_as_the_study_has_them(study: str) -> None:
    claims = [claim for part in papers.load(study).parts for claim in part.claims]
    found = [(claim["id"], claim["statement"], claim["published"]) for claim in kept(study)]
    assert found == [(claim.id, claim.statement, claim.published) for claim in claims]
