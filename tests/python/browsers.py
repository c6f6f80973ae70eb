"""A browser for tests of pages, where there is one.

It needs Chromium (``apt-get install chromium``), Playwright (``pip install playwright``) and the environment variable
DUMBBELL_AXE, the path of ``axe.min.js`` from the npm package ``axe-core``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
AXE = Path(os.environ.get("DUMBBELL_AXE", "no-axe"))
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")

needed = pytest.mark.skipif(
    CHROMIUM is None or not AXE.is_file(), reason="needs Chromium and DUMBBELL_AXE, the path of axe.min.js"
)


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser, or a skipped test."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        # As root Chromium runs only without its sandbox; the pages are our own.
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, file: Path, width: int = 1280, *, fragment: str = "", **settings: Any) -> Iterator[Any]:
    """A page that may say nothing on the console, and load nothing; ``fragment`` ends its address (``#...``)."""
    # axe is a script that the page's policy does not know.
    context = browser.new_context(viewport={"width": width, "height": 800}, bypass_csp=True, **settings)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("requestfailed", lambda request: said.append(request.url))
    page.on("request", lambda request: said.append(request.url) if request.url.startswith("http") else None)
    page.goto(file.as_uri() + fragment)
    yield page
    assert said == []
    context.close()


def objections(page: Any) -> list[tuple[str, list[Any]]]:
    """What axe objects to: the rule, and where."""
    page.add_script_tag(path=AXE)
    violations = page.evaluate("axe.run().then(found => found.violations)")
    return [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in violations]
