"""Pages say what is: docs/site/history.py finds words of a change log, and lets physics pass."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import scripts

SCRIPT = Path(__file__).parents[2] / "docs/site/history.py"
history = scripts.load("docs/site/history.py")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It takes 9 ns in place of 310.", "9 ns in place of 310"),
        ("The claim holds now.", "holds now"),
        ("The rates are now\nequal.", "are now"),
        ("This page used to add jitter.", "page used to add"),
        ("Since then it is faster.", "Since then"),
        ("It no longer matters.", "It no longer"),
        ("Of 120 runs 114 agree (91 before).", "91 before"),
        ("The rule of today is stricter.", "today"),
        ("| runs | before | now |", "| runs | before | now |"),
        ("## Claims, before and after", "## Claims, before and after"),
    ],
)
def test_history_is_found_with_its_line(text: str, words: str) -> None:
    found = [(line, what) for line, what, _ in history.findings(f"# A page\n\n{text}\n")]
    assert found == [(3, words)]


@pytest.mark.parametrize(
    "text",
    [
        "What is sent before the first loss counts.",
        "The segment is no longer in flight, and the key is used to sign.",
        "The sample is lower than before: a probe now and then.",
        "A fall of the rate, and a range no longer than the window.",
        "Events in place of losses; `now = 3 in place of 4`.",
        "```\nit no longer works, today\n```",
        "    t is now zero\n",
        "See [this](since then.md).",
    ],
)
def test_physics_and_code_pass(text: str) -> None:
    assert list(history.findings(text)) == []


def test_a_finding_names_page_line_and_remedy_and_fails_the_lint() -> None:
    page = SCRIPT.parents[2] / "docs/history/performance.md"
    done = subprocess.run([sys.executable, SCRIPT, page], capture_output=True, text=True)
    assert done.returncode == 1
    first = done.stdout.splitlines()[0]
    assert re.match(r'docs/history/performance\.md:\d+: "\w+" tells history: write ', first)
    assert "CHANGELOG.md or docs/history" in first


def test_the_pages_say_what_is() -> None:
    assert history.main([]) == 0
