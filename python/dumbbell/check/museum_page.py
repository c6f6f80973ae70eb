"""Writes what the museum showed as Markdown, for its page."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

import dumbbell
from dumbbell.check.judge import Finding
from dumbbell.check.museum import Exhibit, Visit

IMAGES = "images/museum"
"""Where the page has its pictures."""

WIDTH = 128
"""Columns of its lines."""


def sections(visits: Sequence[Visit]) -> str:
    """A section for each exhibit: story, source, experiment, findings and picture."""
    return "\n".join(_section(visit) for visit in visits)


def _section(visit: Visit) -> str:
    exhibit = visit.exhibit
    lines = [
        f"## {exhibit.title}",
        "",
        f"`{exhibit.name}` · {exhibit.date} · {exhibit.source}",
        "",
        textwrap.fill(exhibit.story, WIDTH),
        "",
        f"![{exhibit.title}: healthy, and with the bug]({IMAGES}/{exhibit.name}.png)",
        "",
        textwrap.fill(f"The experiment ({_file(exhibit)}): {exhibit.experiment}", WIDTH),
        "",
        f"The bug is `{exhibit.changed}` of `{exhibit.algorithm}`.",
        "",
        "| what must be seen | asked | healthy | with the bug |",
        "|---|---|---|---|",
    ]
    for healthy, faulty in zip_longest(visit.healthy.findings, visit.faulty.findings):
        said = healthy or faulty
        lines.append(f"| {said.says} | `{said.asked}` | {_told(healthy)} | {_told(faulty)} |")
    return "\n".join(lines) + "\n"


def _file(exhibit: Exhibit) -> str:
    """Where the experiment is: the exhibit's own, or that of the case that it names."""
    file = exhibit.case.file
    package = Path(dumbbell.__file__).parent
    if not file.is_relative_to(package):
        return f"`{file.name}`"
    name = f"case {exhibit.check}" if exhibit.check else file.name
    return f"[{name}](../python/dumbbell/{file.relative_to(package).as_posix()})"


def _told(finding: Finding | None) -> str:
    if finding is None:
        return ""
    return finding.found if finding.verdict == "pass" else f"**FAIL**: {finding.found}"
