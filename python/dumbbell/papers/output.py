"""Writing what a reproduction yielded."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from dumbbell.papers import page
from dumbbell.papers.model import Report, Study
from dumbbell.storage import write_file

SCHEMA = Path(__file__).with_name("reproduce.schema.json")
"""JSON Schema of what ``dumbbell reproduce --json`` prints; ``report.json`` is a part of it."""


def write(report: Report, folder: Path) -> list[Path]:
    """Writes tables (CSV), pictures and ``report.json`` into ``folder``; returns the pictures' paths."""
    for grid in report.tables:
        text = io.StringIO(newline="")
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(grid.columns)
        rows.writerows(grid.rows)
        write_file(folder / f"{grid.name}.csv", text.getvalue().encode())
    write_file(folder / "report.json", (json.dumps(report.to_json(), indent=2, allow_nan=False) + "\n").encode())
    return [path for name, picture in report.pictures.items() for path in picture.write(folder / name)]


def write_page(study: Study, reports: Sequence[Report], folder: Path) -> Path:
    """Writes the study's HTML page and returns its path."""
    path = folder / f"{study.name}.html"
    write_file(path, page.html(study, reports).encode())
    return path
