"""A study as one HTML file that needs nothing else: set-up, tables, figures, verdicts, versions, seeds."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape

from dumbbell.papers.model import Cell, Grid, Judgement, Report, Study
from dumbbell.plots import Picture

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: .8em 0; font-size: 13px; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .3em; }
th, td { padding: .25em .7em; border-bottom: 1px solid #ddd; text-align: right; vertical-align: top; }
th { border-bottom: 1px solid #555; }
.claims td, .claims th, td.word { text-align: left; }
.scroll { overflow-x: auto; }
.holds { color: #00664f; font-weight: 600; }
.fails { color: #b00020; font-weight: 600; }
.depends { color: #8a5a00; font-weight: 600; }
.caveat { background: #fde8e8; padding: .5em 1em; font-weight: 600; }
figure { margin: 1em 0; }
img { max-width: 100%; }
pre { background: #f6f6f6; padding: 1em; overflow-x: auto; font-size: 12px; }
"""


def html(study: Study, reports: Sequence[Report]) -> str:
    """The page."""
    body = "\n".join(_part(report) for report in reports)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(study.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(study.title)}</h1>\n<p>Repeats: {escape(study.reference)}.</p>\n{body}\n</body>\n</html>\n"
    )


def _part(report: Report) -> str:
    source = report.provenance
    seeds = ", ".join(map(str, source.seeds))
    scenarios = "\n".join(
        f"<details><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"
        for name, text in source.scenarios.items()
    )
    return "\n".join(
        [
            f"<h2>{escape(report.part)}: {escape(report.title)}</h2>",
            *(f'<p class="caveat">{escape(caveat)}</p>' for caveat in report.caveats),
            *(f"<p>{escape(line)}</p>" for line in report.setup),
            *(_figure(name, picture) for name, picture in report.pictures.items()),
            "<h3>Claims</h3>",
            _claims(report.judgements),
            "<h3>Tables</h3>",
            *(_grid(grid) for grid in report.tables),
            "<h3>Where the numbers come from</h3>",
            f"<p>Dumbbell {escape(source.version)}, engine {escape(source.engine)}; {source.runs} runs, "
            f"{source.packets:,} packets, {source.cpu_s:.1f} s of CPU; seeds {seeds}.</p>",
            scenarios,
        ]
    )


def _figure(name: str, picture: Picture) -> str:
    # Embedded as an image, so that the identifiers inside the drawings cannot collide.
    data = base64.b64encode(picture.encoded("svg")).decode("ascii")
    return f'<figure><img alt="{escape(name)}" src="data:image/svg+xml;base64,{data}"></figure>'


def _claims(judgements: Sequence[Judgement]) -> str:
    rows = "".join(
        f'<tr><td>{escape(one.claim.id)}</td><td class="{one.verdict}">{one.verdict}</td>'
        f"<td>{escape(one.claim.statement)}</td><td>{escape(one.claim.published)}</td><td>{escape(one.ours)}</td>"
        f"<td>{escape(' '.join(filter(None, [one.depends_on and one.depends_on + '.', one.note])))}</td></tr>\n"
        for one in judgements
    )
    head = "<tr><th>claim</th><th>verdict</th><th>statement</th><th>published</th><th>ours</th><th>why</th></tr>"
    return f'<div class="scroll"><table class="claims">{head}\n{rows}</table></div>'


def _grid(grid: Grid) -> str:
    def cell(value: Cell) -> str:
        kind = ' class="word"' if isinstance(value, str) else ""
        return f"<td{kind}>{escape(grid.text(value))}</td>"

    head = "".join(f"<th>{escape(column)}</th>" for column in grid.columns)
    rows = "".join(f"<tr>{''.join(cell(value) for value in row)}</tr>\n" for row in grid.rows)
    return f'<div class="scroll"><table><caption>{escape(grid.title)}</caption><tr>{head}</tr>\n{rows}</table></div>'
