"""The pages of the site, as docs/site/pages.py prepares them for the program that makes HTML of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import scripts

ROOT = Path(__file__).parents[2]


pages = scripts.load("docs/site/pages.py")


@pytest.mark.parametrize(
    ("page", "link", "there"),
    [
        ("docs/advise.md", "why.md#what-counts", "why.md#what-counts"),
        ("docs/advise.md", "../examples/knife-edge.toml", "repository/examples/knife-edge.toml.md"),
        ("docs/advise.md", "../CONTRIBUTING.md#style", "repository/CONTRIBUTING.md#style"),
        ("docs/studies/zhang.md", "../specs", "../specs/README.md"),
        ("CONTRIBUTING.md", "docs/papers.md", "../papers.md"),
        ("CONTRIBUTING.md", "examples/own", "examples/own/index.md"),
        ("CONTRIBUTING.md", "docs/site/pages.py", "docs/site/pages.py.md"),
        ("README.md", "docs/images/rate-drop.png", "../images/rate-drop.png"),
    ],
)
def test_a_link_leads_to_where_the_site_has_the_file(page: str, link: str, there: str) -> None:
    assert pages.relinked(f"a [text]({link})", page) == f"a [text]({there})"


@pytest.mark.parametrize("text", ["[text](https://example.org/a)", "[text](#here)", "```\n[text](../README.md)\n```"])
def test_other_links_and_code_stay_as_they_are(text: str) -> None:
    assert pages.relinked(text, "docs/advise.md") == text


def test_lists_have_indents_of_four_and_an_empty_line_before_them() -> None:
    text = "Words\n* one\n  more\n  1. inner\n\n     ```\n     code\n     ```\n* two"
    new = "Words\n\n* one\n    more\n    1. inner\n\n        ```\n        code\n        ```\n\n* two"
    assert pages.indented(text) == new


@pytest.mark.parametrize("is_built", [True, False])
def test_the_first_page_shows_the_live_page_where_it_is_built(tmp_path: Path, is_built: bool) -> None:
    live = tmp_path / "live.html"
    if is_built:
        live.write_text("the page")
    pages.prepare(tmp_path / "site", live)
    first = (tmp_path / "site/README.md").read_text("utf-8")
    assert ('<iframe src="live/index.html"' in first) == is_built
    assert (tmp_path / "site/live/index.html").exists() == is_built
    assert "# Dumbbell\n" in first


def test_every_link_of_the_site_leads_to_a_file(tmp_path: Path) -> None:
    pages.prepare(tmp_path)
    prepared = sorted(tmp_path.rglob("*.md"))
    dead = [
        f"{page.relative_to(tmp_path)}: {link}"
        for page in prepared
        for link, path, _ in pages.linked(page.read_text("utf-8"), page.relative_to(tmp_path).as_posix())
        if not re.match("[a-z]+:", link) and not (tmp_path / path).exists()
    ]
    assert dead == []
    assert {"README.md", "cite.md", "reference/api.md", "repository/README.md"} <= {
        page.relative_to(tmp_path).as_posix() for page in prepared
    }
