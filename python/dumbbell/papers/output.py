"""Writing what a reproduction yielded."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from dumbbell import papers, storage
from dumbbell.papers import page
from dumbbell.papers.model import Grid, Report, Study
from dumbbell.plots import FORMATS

REPORT = "report.json"

SCHEMA = Path(__file__).with_name("reproduce.schema.json")
"""JSON Schema of what ``dumbbell reproduce --json`` prints; ``report.json`` is a part of it."""


def write(report: Report, folder: Path) -> list[Path]:
    """Writes tables (CSV), pictures and ``report.json`` into ``folder``, all or none; returns the pictures' paths."""
    files = {REPORT: (json.dumps(report.to_json(), indent=2, allow_nan=False) + "\n").encode()}
    files |= {f"{grid.name}.csv": _csv(grid) for grid in report.tables}
    pictures = {f"{name}.{kind}": report.drawn(name, kind) for name in report.pictures for kind in FORMATS}
    with storage.directory(folder, STUDY, [*files, *pictures]) as staging:
        for name, content in (files | pictures).items():
            (staging / name).write_bytes(content)
    return [folder / name for name in pictures]


def _csv(grid: Grid) -> bytes:
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(grid.columns)
    rows.writerows(grid.rows)
    return text.getvalue().encode()


def write_table(grid: Grid, folder: Path) -> Path:
    """Writes a single table (CSV) into ``folder``, and returns its path."""
    name = f"{grid.name}.csv"
    with storage.directory(folder, STUDY, [name]) as staging:
        (staging / name).write_bytes(_csv(grid))
    return folder / name


def write_page(study: Study, reports: Sequence[Report], folder: Path) -> Path:
    """Writes the study's HTML page and returns its path."""
    path = folder / f"{study.name}.html"
    with storage.adding(folder, STUDY, [path.name]):
        storage.write_file(path, page.html(study, reports).encode())
    return path


def _earlier(folder: Path) -> Sequence[str] | None:
    """The files that a version without markers wrote into the directory of a part, or of a study with several."""
    try:
        report = storage.read_json(folder / REPORT)
        tables = [f"{grid['name']}.csv" for grid in report["tables"]]
        return [REPORT, *tables, *(f"{name}.{kind}" for name in report["figures"] for kind in FORMATS)]
    except (storage.ResultError, KeyError, TypeError):
        found = {path.name: (path / REPORT).is_file() for path in folder.iterdir()}
        pages = [name for name in found if name.removesuffix(".html") in papers.NAMES]
        return pages if any(found.values()) and sum(found.values()) + len(pages) == len(found) else None


STUDY = storage.Kind("study", (REPORT,), _earlier)
