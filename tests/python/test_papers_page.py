"""The HTML page of a study."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from dumbbell.papers import page
from dumbbell.papers.model import Claim, Grid, Judgement, Outcome, Provenance, Report, Study
from dumbbell.plots.style import Picture, picture

CLAIM: Claim[None] = Claim("abc-01", "BBR < CUBIC", "2.5 Mbit/s", lambda _: [])


def drawn() -> Picture:
    with picture() as figure:
        upper, lower = figure.subplots(2, 1)
        upper.set_ylabel("rate\n(Mbit/s)")
        lower.set_ylabel("RTT (ms)")
        lower.set_xlabel("time (s)")
    return figure


def page_of(judgements: Sequence[Judgement] = (), tables: Sequence[Grid] = ()) -> str:
    report = Report(
        study="abc",
        part="fig1",
        title="One flow",
        setup=["A sentence."],
        tables=tables,
        pictures={"fig1": drawn()},
        judgements=judgements,
        provenance=Provenance("0", "e", [1, 2], 2, 3, 0.1, {"fig1.toml": "a < b"}),
    )
    return page.html(Study("abc", "Title", "somebody", parts=()), [report])


def rows(text: str) -> list[str]:
    return re.findall(r"<tr>.*?</tr>", text[text.index("<caption>") :])


def test_the_contents_lead_to_every_part_and_count_its_verdicts() -> None:
    text = page_of([Judgement(CLAIM, [Outcome("as published", 5, 5, "2.4")])])
    assert '<a href="#fig1">' in text
    assert text.count('id="fig1"') == 1
    assert '(<span class="holds">1 holds</span>)' in text


def test_a_claim_that_depends_says_for_each_choice_what_it_gives() -> None:
    text = page_of([Judgement(CLAIM, [Outcome("paced", 5, 5, "2.4"), Outcome("unpaced", 0, 5, "1")], "Because.")])
    assert '<li>paced: 2.4 (5 of 5, <span class="holds">holds</span>)</li>' in text
    assert '<li>unpaced: 1 (0 of 5, <span class="fails">fails</span>)</li>' in text
    assert "BBR &lt; CUBIC" in text
    assert '<td data-label="why">Because.</td>' in text


def test_without_reasons_there_is_no_column_for_them() -> None:
    assert "why" not in page_of([Judgement(CLAIM, [Outcome("as published", 5, 5, "2.4")])])


def test_without_claims_there_is_no_empty_table_of_them() -> None:
    assert "Claims" in page_of([Judgement(CLAIM, [Outcome("as published", 5, 5, "2.4")])])
    assert "Claims" not in page_of()


def test_neighbouring_columns_of_one_name_share_it() -> None:
    (above, below, first) = rows(
        page_of(tables=[Grid("t", "T", ["loss %", "BBR: ours", "BBR: theirs"], [["1", 2.0, 3.0]])])
    )
    assert above == '<tr><th rowspan="2">loss %</th><th class="group" colspan="2">BBR</th></tr>'
    assert below == "<tr><th>ours</th><th>theirs</th></tr>"
    assert first == "<tr><td>1</td><td>2.00</td><td>3.00</td></tr>"


def test_a_name_of_one_column_stays_in_its_heading() -> None:
    head, _ = rows(page_of(tables=[Grid("t", "T", ["BBR: ours", "CUBIC: ours"], [[1, 2]])]))
    assert head == "<tr><th>BBR: ours</th><th>CUBIC: ours</th></tr>"


@pytest.mark.parametrize("text", ["12", "0.001", "-3.5", "9 to 13", "16.7 %", "1,024", "3 of 5", "-", ""])
def test_numbers_written_as_words_stand_right(text: str) -> None:
    assert f"<td>{text}</td>" in page_of(tables=[Grid("t", "T", ["a"], [[text], [None]])])


def test_a_column_with_one_word_stands_left_as_a_whole() -> None:
    head, *cells = rows(page_of(tables=[Grid("t", "T", ["RTT"], [["published"], ["12"]])]))
    assert all('class="word"' in line for line in (head, *cells))


def test_a_picture_is_described_by_its_axes() -> None:
    assert page_of().count("fig1: rate (Mbit/s), RTT (ms) over time (s)") == 2


def test_a_column_that_reaches_thousands_has_no_decimals() -> None:
    grid = Grid("t", "T", ["sent", "rate", "runs"], [[245978.4, 9.8, 5000], [636.0, None, 1]])
    assert grid.printed() == [["245,978", "9.80", "5000"], ["636", "-", "1"]]
