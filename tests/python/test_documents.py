"""What the documents link to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md"),
    *(path for path in (ROOT / "tests").rglob("*.md") if ".venv" not in path.parts),
]  # fmt: skip
_CODE = re.compile(r"```.*?```", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_ANCHOR = re.compile(r'<a id="([^"]+)">')


def anchors(page: Path) -> set[str]:
    """The anchors of a page, those of headings as GitHub makes them."""
    text = page.read_text(encoding="utf-8")
    words = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in _HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", one.strip().lower()).replace(" ", "-") for one in words} | {*_ANCHOR.findall(text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for link in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"(https?|mailto|data):", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_the_readme_counts_the_claims_of_the_studies() -> None:
    table = (ROOT / "docs/studies/README.md").read_text("utf-8").split("## Claims\n")[1].split("\n## ")[0]
    rows = re.findall(
        r"^\| \[.*\]\(([\w-]+)\.md.*\) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", table, re.MULTILINE
    )
    pages = {page.stem for page in (ROOT / "docs/studies").glob("*.md")} - {"README", "swaps"}
    assert {page for page, *_ in rows} == pages
    for page, *counts in rows:
        text = (ROOT / f"docs/studies/{page}.md").read_text("utf-8")
        judged = re.findall(r"^\| \w{3}-\d\d\b[^|]*\| (holds|fails|depends|contradicted)\b", text, re.MULTILINE)
        kinds = ("holds", "fails", "depends", "contradicted")
        assert [len(judged), *map(judged.count, kinds)] == list(map(int, counts)), page
    claims, *verdicts = (sum(map(int, column)) for column in zip(*(row[1:] for row in rows), strict=True))
    assert sum(verdicts) == claims
    hold, fail, depend, contradicted = verdicts
    readme = (ROOT / "README.md").read_text("utf-8")
    told = (
        f"{claims} claims of five studies and six papers, judged one by one: {hold} hold, {fail} fail, {depend} depend"
    )
    assert told in readme
    assert f"{contradicted} are contradicted by the authors' own data" in readme
