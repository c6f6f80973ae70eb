"""Pages about results: what they say, and that they are whole."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import pages
from dumbbell.advice import rule, words
from dumbbell.pages.advice import advice, sentences
from dumbbell.pages.limits import limits


class Page(HTMLParser):
    """The elements of a page, whose tags must be closed in their order."""

    VOID = ("meta", "img", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> db.SweepResult:
    out = tmp_path_factory.mktemp("sweep") / "lossy"
    return db.compare("bbr", "cubic", loss="1%", duration="8s", repeat=5, out=out)


def test_a_report_of_a_run_is_one_file_with_everything(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dumbbell("run", experiment, "--out", out)
    done = dumbbell("report", out)
    assert (done.status, done.out) == (0, f"  {out / 'report.html'}\n  {out / 'report.md'}\n")
    page = Page((out / "report.html").read_text())
    text = " ".join(page.text)
    for said in ("bbr1-linux-6.18", "What limits each flow", "bottleneck", "content hash", f"dumbbell run {out}"):
        assert said in text
    images = [attributes for tag, attributes in page.seen if tag == "img"]
    assert len(images) == 3
    assert all((image["src"] or "").startswith("data:image/png;base64,") and image["alt"] for image in images)
    assert not [attributes for _, attributes in page.seen if "href" in attributes]
    markdown = (out / "report.md").read_text()
    assert "| flow | algorithm | goodput Mbit/s |" in markdown
    assert markdown.count("data:image/png;base64,") == 3
    # Once more, over its own files.
    assert dumbbell("report", out, "--quiet").out == ""
    assert db.load_result(out).flows.rows() == db.run(experiment).flows.rows()


def test_a_report_replaces_no_file_of_somebody_else(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dumbbell("run", experiment, "--out", out)
    (out / "report.md").write_text("mine")
    done = dumbbell("report", out)
    assert done.status == 2
    assert (out / "report.md").read_text() == "mine"
    assert not (out / "report.html").exists()


def test_labels_cannot_command_a_page(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)> | [a](b) `c` \x1b[31m"
    document = {
        "duration": "2s",
        "path": {"rate": "2mbit", "rtt": "40ms"},
        "flows": [{"cc": "bbr", "label": evil}, {"cc": "cubic"}],
    }
    content = pages.of_result(db.run(document), tmp_path)
    html = pages.render(content, "html")
    assert "<img src=x" not in html
    assert "\x1b" not in html
    markdown = pages.render(content, "md")
    assert "[a](b)" not in markdown.split("## What was run")[0]


def test_the_recommendation_has_its_reason_and_an_interval(sweep: db.SweepResult) -> None:
    (choice,) = advice(sweep)
    assert choice.verdict.choice == "bbr"
    difference = choice.verdict.between("bbr", "cubic")
    assert difference is not None
    flows = sweep.flows.to_polars()
    ratios = []
    for repeat in range(5):
        own, other = (
            flows.filter((flows["cc"] == name) & (flows["repeat"] == repeat))["goodput_mbps"].item()
            for name in ("bbr", "cubic")
        )
        ratios.append(math.log(own / other))
    assert difference.goodput.estimate == pytest.approx(sum(ratios) / 5)
    assert difference.goodput.low < difference.goodput.estimate < difference.goodput.high
    reason = r"bbr has .*: \d+ % more utility \([\d.]+ to [\d.]+ %\) than cubic, with .* delay and \d+ % more goodput"
    assert re.fullmatch(rf"bbr; {reason}\.", choice.sentence())


def test_with_equal_goodput_the_one_with_less_delay_is_chosen() -> None:
    lossy = db.compare("cubic", "bbr", duration="10s", buffer="4bdp", repeat=3, vary_rtt=True)
    (choice,) = advice(lossy)
    assert choice.verdict.choice == "bbr"
    difference = choice.verdict.between("bbr", "cubic")
    assert difference is not None
    assert difference.delay is not None
    assert difference.delay.estimate < -0.2


def test_a_difference_that_chance_may_have_made_is_no_recommendation() -> None:
    """Reno and CUBIC with one packet in a hundred lost: 12 % less to 40 % more is nothing to sell."""
    sweep = db.compare("reno", "cubic", loss="1%", duration="4s", repeat=3)
    (choice,) = advice(sweep)
    assert choice.verdict.choice is None
    (said,) = sentences([choice])
    assert said.startswith("no difference is shown between reno and cubic; reno has ")
    assert re.search(r"\([\d.]+ % less to [\d.]+ % more\)", said)


def test_a_sweep_of_one_algorithm_recommends_nothing(tmp_path: Path) -> None:
    sweep = db.compare("bbr", buffer=["1bdp", "2bdp"], duration="2s", out=tmp_path / "one")
    assert advice(sweep) == []
    assert "Recommendation" not in pages.render(pages.of_result(sweep, tmp_path / "one"), "md")


def test_flows_that_share_a_path_are_no_choice_of_an_operator(tmp_path: Path) -> None:
    flows = [{"cc": "bbr", "count": 2, "start_jitter": "1s"}]
    path = {"rate": "10mbit", "rtt": "40ms"}
    document = {"duration": "2s", "path": path, "flows": flows, "sweep": {"flows[*].cc": ["bbr", "cubic"]}}
    assert advice(db.sweep(document).collect()) == []


def test_one_run_of_each_is_called_so(tmp_path: Path) -> None:
    sweep = db.compare("bbr", "cubic", duration="2s", out=tmp_path / "once")
    assert "One run of each" in pages.render(pages.of_result(sweep, tmp_path / "once"), "md")


def test_a_report_of_a_sweep_of_traffic_has_its_completion_times(tmp_path: Path) -> None:
    document = {
        "duration": "4s",
        "record": {"series": False},
        "path": {"rate": "10mbit", "rtt": "40ms"},
        "flows": [{"cc": "cubic"}],
        "traffic": [{"kind": "short-flows", "cc": "cubic", "size": "30kB", "load": "20%"}],
        "sweep": {"path.queue": ["droptail", "fq_codel"]},
    }
    out = tmp_path / "queues"
    text = pages.render(pages.of_result(db.sweep(document, out=out).collect(), out), "md")
    assert "### Completion times, 2 runs" in text
    assert "p95 FCT" in text


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ((-0.3, -0.2, -0.25), "22 % less utility (12 to 31 %)"),
        ((0.3, 0.2, 0.25), "28 % more utility (13 to 45 %)"),
        ((0.1, -0.2, 0.2), "3.4 % more utility (38 % less to 73 % more)"),
        ((0.0, 0.0, 0.0), "the same utility"),
    ],
)
def test_an_interval_is_said_in_the_direction_of_its_sentence(shares: tuple[float, ...], said: str) -> None:
    interval = db.metrics.mean_interval(shares)
    assert interval is not None
    assert words.of_difference(rule.Difference("bbr", "cubic", interval, interval, interval, None)).startswith(said)


def test_a_trace_that_is_not_there_is_refused_by_its_option(dumbbell: Cli) -> None:
    for command in (("advise",), ("compare", "bbr")):
        done = dumbbell(*command, "--trace", "absent.up")
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith("error: --trace absent.up: there is no such file\n  help: ")


LIMITED = [
    ({}, {"cc": "cubic"}, "the capacity of the link"),
    ({}, {"cc": "cubic", "rate": "2mbit"}, "its application"),
    ({}, {"cc": "cubic", "bytes": "1MB"}, "its size"),
    ({"loss": "2%"}, {"cc": "reno"}, "its congestion window, which"),
    ({}, {"cc": "cubic", "transport": {"receive_window": "20kB"}}, "the receiver's window or the send buffer"),
    ({"loss": "100%"}, {"cc": "cubic"}, "nothing arrived"),
    ({}, {"cc": "cubic", "rate": {"on": "200ms", "off": "1s"}}, "its application, whose rate changes"),
]


@pytest.mark.parametrize(("path", "flow", "by"), LIMITED)
def test_what_limits_a_flow_is_named(path: dict[str, str], flow: dict[str, object], by: str) -> None:
    link = {"rate": "20mbit", "rtt": "40ms"} | path
    (limit,) = limits(db.run({"duration": "10s", "warmup": "1s", "path": link, "flows": [flow]}))
    assert limit.by.startswith(by)
    assert limit.evidence


def test_advice_answers_a_question_with_a_page(dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.up").write_text("".join(f"{ms}\n" for ms in range(2, 2001, 2)))
    options = ["--trace", "my.up", "--loss", "2%", "--candidates", "bbr,cubic", "--duration", "12s", "--repeat", "8"]
    done = dumbbell("advise", *options, "--buffer", "1bdp,4bdp")
    assert done.status == 0, done.err
    first, alone = done.out.split("\n\n")[:2]
    assert first.startswith("Assumed: one long flow of bbr or cubic, alone, beside one flow of cubic or beside")
    assert "a link that follows my.up (6 Mbit/s in the mean of 2 s)" in first
    assert alone == "Alone: bbr at all 2 queues tried from 1 BDP to 4 BDP."
    html = Path("out/advice-my/report.html").read_text()
    parsed = Page(html)
    page = " ".join(parsed.text)
    assert (
        page.index("Assumed:")
        < page.index("Alone: bbr at all 2 queues")
        < page.index("Rule: the algorithm with the most utility")
    )
    assert "dumbbell advise --trace my.up" in page
    assert "dumbbell report out/advice-my/alone" in page
    assert len([tag for tag, _ in parsed.seen if tag == "img"]) == 1
    assert done.err == ""
    assert dumbbell("report", "out/advice-my/alone").status == 0
    assert db.load_sweep("out/advice-my/beside-cubic").axes == ["path.buffer", "flows[0].cc"]


def test_advice_goes_into_no_folder_of_somebody_else(dumbbell: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = dumbbell("advise", "--out", tmp_path)
    assert (done.status, done.out) == (2, "")
    assert str(tmp_path) in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
