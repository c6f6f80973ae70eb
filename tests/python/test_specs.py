"""The specifications name the tests that show their checks; those tests exist, and links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs/specs").glob("*.md"))
CRATES = {folder.name for folder in (ROOT / "crates").iterdir() if folder.is_dir()} - {"python"}
NAMED = re.compile(rf"`({'|'.join(sorted(CRATES | {'python'}))})/([a-z][a-z0-9_]*)`")


def names_of_tests(area: str) -> set[str]:
    if area == "python":
        sources, pattern = (ROOT / "tests/python").glob("*.py"), r"^def (test_\w+)"
    else:
        sources, pattern = (ROOT / "crates" / area).rglob("*.rs"), r"^ *fn (\w+)\("
    return {name for source in sources for name in re.findall(pattern, source.read_text("utf-8"), re.MULTILINE)}


def checks(page: Path) -> list[tuple[str, str]]:
    """Number and answer of every check of a page: the rows of tables whose last column says what shows them."""
    rows, inside = [], False
    for line in page.read_text("utf-8").splitlines():
        inside = line.endswith("| shown by |") or (inside and line.startswith("|"))
        cells = line.strip("|").split("|")
        if inside and cells[0].strip()[:1].isdigit():
            rows.append((cells[0].strip(), cells[-1]))
    return rows


@pytest.mark.parametrize("area", [*sorted(CRATES), "python"])
def test_every_test_that_a_specification_names_exists(area: str) -> None:
    named = {name for page in PAGES for found, name in NAMED.findall(page.read_text("utf-8")) if found == area}
    assert named <= names_of_tests(area)


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "README"], ids=lambda page: page.stem)
def test_every_check_names_its_test_or_says_that_there_is_none(page: Path) -> None:
    assert len(checks(page)) >= 8
    for number, answer in checks(page):
        assert NAMED.search(answer) or "no test yet" in answer or "not built" in answer, number


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_of_the_specifications_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]*)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert "://" in target or (page.parent / target).exists(), target
