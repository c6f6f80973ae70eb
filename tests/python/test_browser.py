"""The pages in a browser, wide and narrow: a silent console, nothing wider than the screen, no objection of axe.

Runs where there is a browser: Chromium (``apt-get install chromium``), Playwright (``pip install playwright``) and the
environment variable DUMBBELL_AXE, the path of ``axe.min.js`` from the npm package ``axe-core``. Skipped elsewhere.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
AXE = Path(os.environ.get("DUMBBELL_AXE", "no-axe"))

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or not AXE.is_file(), reason="needs Chromium and DUMBBELL_AXE, the path of axe.min.js"
)

WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        # As root Chromium runs only without its sandbox; the pages are our own.
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


EXPERIMENT = """\
duration = "3s"
path = { rate = "10mbit", rtt = "40ms", loss = "1%" }

[[flows]]
cc = "bbr"

[[flows]]
cc = "cubic"
label = "a flow with a long name, which has to break somewhere"

[[traffic]]
kind = "short-flows"
cc = "cubic"
size = "30kB"
load = "20%"
"""

COMMANDS = {
    "run": [["run", "experiment.toml", "--out", "run"], ["report", "run"]],
    "sweep": [["run", "experiment.toml", "--set", "sweep={repeat=3}", "--out", "sweep"], ["report", "sweep"]],
    "advice": [["advise", "--loss", "0%,1%", "--duration", "3s", "--repeat", "2", "--out", "advice"]],
    "study": [["reproduce", "bbr-acd/rule", "--quick", "--html", "--out", "study"]],
}
"""What writes the pages."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "experiment.toml").write_text(EXPERIMENT)
    for command in itertools.chain.from_iterable(COMMANDS.values()):
        subprocess.run([sys.executable, "-m", "dumbbell", *command], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_in_a_browser(browser: Any, written: Path, name: str, width: int) -> None:
    (file,) = (written / name).glob("*.html")
    page = browser.new_page(viewport={"width": width, "height": 800})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("requestfailed", lambda request: said.append(request.url))
    page.goto(file.as_uri())
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.add_script_tag(path=AXE)
    violations = page.evaluate("axe.run().then(found => found.violations)")
    assert [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in violations] == []
    page.close()
