"""A study as one HTML file that needs nothing else: set-up, tables, figures, verdicts, versions, seeds."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from itertools import groupby, pairwise

from dumbbell.papers.model import NOT_JUDGED, Grid, Judgement, Outcome, Report, Study
from dumbbell.papers.text import verdicts
from dumbbell.plots import Picture

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #222;
  background: #fff; }
h1, h2, h3 { line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin-top: 2em; padding-top: .6em; border-top: 1px solid #ddd; }
p { max-width: 60em; }
a { color: #00579c; }
table { border-collapse: collapse; margin: .8em 0; font-size: 13px; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .3em; }
caption span { display: inline-block; position: sticky; left: 0; max-width: calc(100vw - 3em); }
th, td { padding: .25em .7em; border-bottom: 1px solid #ddd; text-align: right; vertical-align: top; }
th { vertical-align: bottom; }
thead tr:last-child th, th[rowspan] { border-bottom: 1px solid #555; }
th.group { text-align: center; border-left: .7em solid #fff; }
.claims td, .claims th, td.word, th.word { text-align: left; }
.id { white-space: nowrap; }
.claims th:nth-child(5) { width: 32%; }
.claims th:nth-child(6) { width: 28%; }
td ul { list-style: none; margin: 0; padding: 0; }
.holds, .fails, .depends { white-space: nowrap; }
.scroll { overflow-x: auto; }
.holds { color: #00664f; font-weight: 600; }
.fails { color: #b00020; font-weight: 600; }
.depends { color: #8a5a00; font-weight: 600; }
.judged { color: #555; }
.beside { color: #555; }
.caveat { background: #fde8e8; padding: .5em 1em; font-weight: 600; }
figure { margin: 1.5em 0; overflow-x: auto; }
figcaption { font-size: 13px; color: #555; }
img { max-width: 100%; }
pre { background: #f6f6f6; padding: 1em; overflow-x: auto; font-size: 12px; }
@media (max-width: 50em) {
  h1 { font-size: 1.5em; }
  h2 { font-size: 1.25em; }
  img { max-width: none; }
  .claims, .claims tbody, .claims tr, .claims td { display: block; }
  .claims thead { display: none; }
  .claims tr { padding: .5em 0; border-bottom: 1px solid #555; }
  .claims td { border: 0; padding: .1em 0; }
  .claims td:empty { display: none; }
  .claims td[data-label]::before { content: attr(data-label) ": "; color: #555; }
}
"""
"""Light, as the pictures are. A narrow screen gets the claims below each other, and pictures at full size to scroll."""

_NUMBER = re.compile(r"[-+]?[\d.,]+(?: (?:to|of|±) [-+]?[\d.,]+)?(?: ?%)?|-?")


def html(study: Study, reports: Sequence[Report]) -> str:
    """The page."""
    contents = "".join(
        f'<li><a href="#{escape(one.part)}">{escape(one.part)}</a>: {escape(one.title)}{_counts([one])}</li>\n'
        for one in reports
    )
    body = "\n".join([*(_part(report) for report in reports), _summary(reports)])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(study.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(study.title)}</h1>\n<p>Repeats: {escape(study.reference)}.</p>\n"
        f"<nav><ul>\n{contents}</ul></nav>\n{body}\n</body>\n</html>\n"
    )


def _counts(reports: Sequence[Report]) -> str:
    """`` (2 holds, 1 fails)``, or nothing where nothing is claimed."""
    counts = [f'<span class="{verdict}">{n} {verdict}</span>' for verdict, n in verdicts(reports).items() if n]
    return f" ({', '.join(counts)})" if counts else ""


def _part(report: Report) -> str:
    source = report.provenance
    seeds = ", ".join(map(str, source.seeds))
    scenarios = "\n".join(
        f"<details><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>"
        for name, text in source.scenarios.items()
    )
    claims = ["<h3>Claims</h3>", _claims(report.judgements)] if report.judgements else []
    return "\n".join(
        [
            f'<h2 id="{escape(report.part)}">{escape(report.part)}: {escape(report.title)}</h2>',
            *(f'<p class="caveat">{escape(caveat)}</p>' for caveat in report.caveats),
            *(f"<p>{escape(line)}</p>" for line in report.setup),
            *(_figure(name, picture) for name, picture in report.pictures.items()),
            *claims,
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
    caption = escape(f"{name}: {_axes(picture)}")
    return (
        f'<figure><img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _axes(picture: Picture) -> str:
    """What a picture shows over what, from the labels of its axes."""
    y, x = (
        dict.fromkeys(label.replace("\n", " ") for label in labels if label)
        for labels in ([one.get_ylabel() for one in picture.axes], [one.get_xlabel() for one in picture.axes])
    )
    return " over ".join(filter(None, [", ".join(y), ", ".join(x)]))


def _claims(judgements: Sequence[Judgement]) -> str:
    gives_reasons = any(one.note for one in judgements)
    rows = "".join(
        f'<tr><td class="id">{escape(one.claim.id)}</td><td class="{one.verdict}">{one.verdict}</td>'
        f"<td>{escape(one.claim.statement)}</td>"
        f'<td data-label="published">{escape(one.claim.published)}</td><td data-label="ours">{_ours(one)}</td>'
        f"{_why(one.note) if gives_reasons else ''}</tr>\n"
        for one in judgements
    )
    names = ("claim", "verdict", "statement", "published", "ours", *(["why"] if gives_reasons else []))
    head = "".join(f"<th>{name}</th>" for name in names)
    return f'<table class="claims"><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>'


def _ours(judgement: Judgement) -> str:
    """A line a choice; where it depends on the choice, each says what it gives."""

    def line(outcome: Outcome) -> str:
        count = f"{outcome.held} of {outcome.runs}"
        if judgement.verdict == "depends" or not outcome.decides:
            count += f', <span class="{outcome.verdict}">{outcome.verdict}</span>'
        words = f"{'' if outcome.decides else 'beside, '}{outcome.choice}: {outcome.ours}"
        style = "" if outcome.decides else ' class="beside"'
        return f"<li{style}>{escape(words)} ({count})</li>"

    return f"<ul>{''.join(map(line, [*judgement.deciding, *judgement.beside]))}</ul>"


def _why(note: str) -> str:
    # A label in front of nothing would be read as something missing.
    return f'<td data-label="why">{escape(note)}</td>' if note else "<td></td>"


def _summary(reports: Sequence[Report]) -> str:
    """Every claim with its verdict, our numbers, and the set-ups that would change it."""

    def row(one: Judgement) -> str:
        tried = "" if one.verdict == NOT_JUDGED else "nothing that was tried"
        change = one.would_change or one.depends_on or tried
        return (
            f'<tr><td class="id">{escape(one.claim.id)}</td><td class="{one.verdict}">{one.verdict}</td>'
            f"<td>{escape(one.ours)}</td><td>{escape(change)}</td></tr>\n"
        )

    rows = "".join(row(one) for report in reports for one in report.judgements)
    if not rows:
        return ""
    head = "".join(f"<th>{name}</th>" for name in ("claim", "verdict", "numbers", "what would change it"))
    table = f'<table class="claims"><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>'
    return f'<h2 id="claims">All claims</h2>\n{table}'


def _grid(grid: Grid) -> str:
    kinds = [_kind(grid, index) for index in range(len(grid.columns))]

    def cells(row: Sequence[str]) -> str:
        return "".join(f"<td{kind}>{escape(text)}</td>" for kind, text in zip(kinds, row, strict=True))

    rows = "".join(f"<tr>{cells(row)}</tr>\n" for row in grid.printed())
    return (
        f'<div class="scroll"><table><caption><span>{escape(grid.title)}</span></caption>\n'
        f"<thead>{_head(grid.columns, kinds)}</thead>\n<tbody>{rows}</tbody></table></div>"
    )


def _kind(grid: Grid, index: int) -> str:
    """The attribute of a column's cells: numbers and ranges of numbers stand right, words left."""
    numbers = all(not isinstance(row[index], str) or _NUMBER.fullmatch(str(row[index])) for row in grid.rows)
    return "" if numbers else ' class="word"'


def _head(columns: Sequence[str], kinds: Sequence[str]) -> str:
    """The headings; neighbours ``NAME: a``, ``NAME: b`` share one NAME above them."""
    parts = [(*column.rpartition(": ")[::2], kind) for column, kind in zip(columns, kinds, strict=True)]
    if not any(one[0] and one[0] == other[0] for one, other in pairwise(parts)):
        return (
            "<tr>"
            + "".join(f"<th{kind}>{escape(name)}</th>" for name, kind in zip(columns, kinds, strict=True))
            + "</tr>"
        )
    above, below = "", ""
    for name, group in groupby(parts, key=lambda part: part[0]):
        members = list(group)
        if name:
            above += f'<th class="group" colspan="{len(members)}">{escape(name)}</th>'
            below += "".join(f"<th{kind}>{escape(rest)}</th>" for _, rest, kind in members)
        else:
            above += "".join(f'<th{kind} rowspan="2">{escape(rest)}</th>' for _, rest, kind in members)
    return f"<tr>{above}</tr><tr>{below}</tr>"
