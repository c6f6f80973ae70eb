"""Pages about results: what they say, and that they are whole."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import itertools
import json
import math
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import pages, printable, report, why
from dumbbell.advice import rule, words
from dumbbell.inference import Interval
from dumbbell.pages import charts, content, verdict, writing
from dumbbell.pages import limits as limiting
from dumbbell.pages.advice import Advice, advice, sentences
from dumbbell.pages.limits import limits, of_sweep
from dumbbell.plots import Picture, ResultPlots, style
from dumbbell.plots.axes import Scale
from dumbbell.report import number
from dumbbell.tables import Table

ROOT = Path(__file__).parents[2]


class Page(HTMLParser):
    """The elements of a page, whose tags must be closed in their order."""

    VOID = ("meta", "img", "br")
    RAW = ("script", "style")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.raw: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        (self.raw if self.open and self.open[-1] in self.RAW else self.text).append(data)

    def charts(self) -> list[dict[str, Any]]:
        """The data of the charts."""
        found: list[dict[str, Any]] = json.loads(self.raw[-3])
        return found


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> db.SweepResult:
    out = tmp_path_factory.mktemp("sweep") / "lossy"
    return db.compare("bbr", "cubic", loss="1%", duration="8s", repeat=5, out=out)


def test_a_report_of_a_run_is_one_file_with_everything(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dumbbell("run", experiment, "--out", out)
    done = dumbbell("report", out)
    names = ("report.html", "report.md", "tradeoff.png", "overview.png", "shares.png")
    assert (done.status, done.out) == (0, "".join(f"  {out / name}\n" for name in names))
    page = Page((out / "report.html").read_text())
    text = " ".join(page.text)
    for said in ("bbr1-linux-6.18", "What holds flows back", "bottleneck", "content hash", f"dumbbell run {out}"):
        assert said in text
    images = [attributes for tag, attributes in page.seen if tag == "img"]
    assert len(images) == 3
    assert all((image["src"] or "").startswith("data:image/png;base64,") and image["alt"] for image in images)
    assert not [attributes for _, attributes in page.seen if "href" in attributes]
    markdown = (out / "report.md").read_text()
    assert "| flow | algorithm | goodput Mbit/s |" in markdown
    # Once more, over its own files.
    assert dumbbell("report", out, "--quiet").out == ""
    assert db.load_result(out).flows.rows() == db.run(experiment).flows.rows()


def test_markdown_names_pictures_that_are_there_and_says_what_is_seen(dumbbell: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dumbbell("compare", "bbr", "cubic", "--together", "--duration", "4s", "--plot", "--out", out)
    before = (out / "overview.png").stat().st_mtime_ns
    assert dumbbell("report", out, "--format", "md").status == 0
    markdown = (out / "report.md").read_text()
    assert "data:" not in markdown
    pictures = re.findall(r"^!\[(.+)\]\((.+)\)$", markdown, re.MULTILINE)
    assert {"overview.png", "shares.png"} <= {file for _, file in pictures}
    for seen, file in pictures:
        assert "bbr, cubic" in seen
        assert (out / file).read_bytes().startswith(b"\x89PNG")
        assert file in json.loads((out / "dumbbell.json").read_text())["files"]
    # What `dumbbell plot` has drawn is taken as it is.
    assert (out / "overview.png").stat().st_mtime_ns == before


def test_the_picture_of_a_page_is_that_of_the_last_question(dumbbell: Cli, tmp_path: Path) -> None:
    fixed = ("--candidates", "bbr,cubic", "--company", "alone", "--repeat", "2", "--duration", "3s", "-q")
    path = ("--buffer", "1bdp,4bdp", *fixed)
    slow, fast = ("--rate", "5mbit"), ("--rate", "20mbit", "--rtt", "80ms", "--loss", "1%")
    out, fresh = tmp_path / "map", tmp_path / "fresh"
    assert dumbbell("advise", *slow, *path, "-o", out).status == 0
    (picture,) = out.glob("*.png")
    assert dumbbell("advise", *fast, *path, "-o", fresh).status == 0
    assert dumbbell("advise", *fast, *path, "-o", out).status == 0
    assert picture.read_bytes() == (fresh / picture.name).read_bytes()
    # What somebody has drawn over is theirs.
    picture.write_bytes(b"mine")
    done = dumbbell("advise", *slow, *path, "-o", out)
    assert done.status != 0
    assert f"{picture.name} was changed since it was drawn; move it" in done.err
    assert picture.read_bytes() == b"mine"


EXAMPLES = ("late-comer", "loss-sweep", "call", "unresponsive", "short-flows", "dctcp-switch", "web-pages", "cellular")


@pytest.mark.parametrize("name", EXAMPLES)
def test_pages_of_examples_are_light_and_need_no_network(name: str, tmp_path: Path) -> None:
    file, out = ROOT / f"examples/{name}.toml", tmp_path / name
    result = db.sweep(file, out=out).collect() if "[sweep]" in file.read_text() else db.run(file)
    content = pages.of_result(result, out)
    html, markdown = pages.render(content, "html"), pages.render(content, "md")
    assert len(html.encode()) < 500_000
    assert len(markdown.encode()) < 30_000
    assert "data:" not in markdown
    # The address in the library's first line is a comment.
    page = Page(html.replace("/*! https://github.com/leeoniya/uPlot", "/*"))
    assert "http" not in " ".join(page.raw[:-3]) + " ".join(
        str(seen) for _, seen in page.seen if "http-equiv" not in seen
    )
    assert content.verdict
    assert page.charts()


def test_only_the_scripts_of_the_page_may_run(sweep: db.SweepResult) -> None:
    assert sweep.folder is not None
    page = Page(pages.render(pages.of_result(sweep, sweep.folder), "html"))
    (policy,) = (
        attributes["content"] or ""
        for tag, attributes in page.seen
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    sums = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in page.raw[-2:]]
    assert policy.startswith("default-src 'none'; script-src " + " ".join(f"'sha256-{one}'" for one in sums))


def test_the_library_of_charts_is_what_its_note_says() -> None:
    folder = resources.files("dumbbell.pages") / "uplot"
    sums = re.findall(r"^([0-9a-f]{64})  (\S+)$", (folder / "VERSION.txt").read_text(), re.MULTILINE)
    assert {name for _, name in sums} == {"uPlot.iife.min.js", "uPlot.min.css", "LICENSE"}
    for digest, name in sums:
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def _over_time(found: list[dict[str, Any]]) -> dict[str, Any]:
    return next(chart for chart in found if chart["kind"] == "time")


def test_charts_have_the_numbers_of_the_series(tmp_path: Path) -> None:
    path = {"rate": "10mbit", "rtt": "40ms"}
    result = db.run({"duration": "4s", "path": path, "flows": [{"cc": "bbr"}, {"cc": "cubic", "start": "1s"}]})
    page = Page(pages.render(pages.of_result(result, tmp_path), "html"))
    (run,) = _over_time(page.charts())["runs"]
    assert run["samples"] == 1
    assert [line["name"] for line in run["lines"]] == ["bbr", "cubic"]
    (rtt,) = (panel for panel in run["panels"] if panel["title"] == "Smoothed RTT (ms)")
    assert rtt["refs"] == [{"y": 40, "name": "without a queue 40"}]
    frame = result.series.to_polars()
    for series in rtt["series"]:
        rows = frame.filter(pl.col("flow") == series["line"]).select("t_s", "srtt_ms").drop_nulls()
        drawn = {t: value for t, value in zip(run["t"], series["v"], strict=True) if value is not None}
        assert list(drawn) == pytest.approx(rows["t_s"].to_list())
        assert list(drawn.values()) == pytest.approx(rows["srtt_ms"].to_list(), rel=1e-3)


def test_charts_over_settings_have_the_means_and_intervals_of_the_table(tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    losses = ["0.1%", "1%"]
    sweep = db.compare("bbr", "cubic", loss=losses, buffer=["1bdp", "2bdp"], duration="2s", repeat=3, out=out)
    found = Page(pages.render(pages.of_result(sweep, out), "html")).charts()
    (chart,) = (one for one in found if one["title"] == "Goodput (Mbit/s) over loss")
    assert [text for _, text in chart["x"]["ticks"]] == losses
    assert [part["name"] for part in chart["parts"]] == ["buffer 1bdp", "buffer 2bdp"]
    flows = sweep.flows.to_polars().filter(pl.col("path.buffer") == "2bdp", pl.col("cc") == "cubic")
    (series,) = (
        one
        for one in chart["parts"][1]["series"]
        if chart["parts"][1]["lines"][one["line"]]["name"].startswith("cubic")
    )
    for index, loss in enumerate(losses):
        interval = db.metrics.mean_interval(flows.filter(pl.col("path.loss") == loss)["goodput_mbps"].to_numpy())
        assert interval is not None
        drawn = [series[column][index] for column in ("y", "low", "high")]
        assert drawn == pytest.approx([interval.estimate, interval.low, interval.high], rel=1e-3)
    runs = _over_time(found)["runs"]
    assert {run["name"] for run in runs} == set(charts.firsts(sweep))
    assert len(runs) == 4
    assert [line["name"] for line in runs[0]["lines"]] == ["bbr", "cubic"]


def test_long_series_keep_their_extremes() -> None:
    random = np.random.default_rng(1)
    t, values = np.arange(10_007) / 100, random.normal(size=10_007)
    values[1234], values[8765], values[5000:5050] = 99.0, -99.0, np.nan
    buckets = charts.Buckets.of(t, 500)
    drawn = buckets.extremes(values)
    assert drawn.size == buckets.times.size <= 502
    assert (np.diff(buckets.times) > 0).all()
    assert (np.nanmin(drawn), np.nanmax(drawn)) == (-99.0, 99.0)
    for start in range(0, t.size, buckets.width):
        own = values[start : start + buckets.width]
        pair = drawn[2 * start // buckets.width :][:2]
        if np.isfinite(own).any():
            assert sorted(pair) == sorted([np.nanmin(own), np.nanmax(own)])
    places, means = buckets.means(np.ones(t.size), 100)
    assert len(places) == means.size <= 101
    assert means == pytest.approx(1.0)


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


@pytest.mark.parametrize(
    "evil", ["</script><script>alert(1)</script>", "<!--<script>", "a\"b'c", "x\u2028y", "&lt;b&gt;"]
)
def test_labels_cannot_command_the_data_of_charts(evil: str, tmp_path: Path) -> None:
    flows = [{"cc": "bbr", "label": evil}, {"cc": "cubic"}]
    document = {"duration": "2s", "path": {"rate": "2mbit", "rtt": "40ms"}, "flows": flows}
    html = pages.render(pages.of_result(db.run(document), tmp_path), "html")
    page = Page(html)
    assert sum(tag == "script" for tag, _ in page.seen) == 3
    assert html.count("</script>") == 3
    assert _over_time(page.charts())["runs"][0]["lines"][0]["name"] == f"{printable.one_line(evil)} (bbr)"
    assert not set("<>&\u2028") & set(page.raw[-3])


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
        ((-400.0, 400.5), "28 % more utility (too few runs for an interval)"),
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
    (
        {},
        {"cc": "cubic", "read_rate": "2mbit", "transport": {"receive_window": "64kB"}},
        "the receive window, because of its receiver",
    ),
    (
        {},
        {"cc": "cubic", "read_rate": {"on": "1s", "off": "1s"}, "transport": {"receive_window": "64kB"}},
        "the receive window, because its receiver pauses",
    ),
    ({"loss": "100%"}, {"cc": "cubic"}, "nothing arrived"),
    ({"reverse": {"rate": "150kbit", "buffer": "50packets"}}, {"cc": "bbr", "bytes": "3MB"}, "the way back"),
    ({"policer": {"rate": "10mbit", "burst": "5packets"}}, {"cc": "cubic"}, "the policer of bottleneck"),
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


# --- who won ---------------------------------------------------------------------------------------------------------


def test_one_run_says_what_each_had_and_that_chance_is_not_known() -> None:
    flows = [{"cc": "bbr"}, {"cc": "cubic"}]
    result = db.run({"duration": "10s", "path": {"rate": "10mbit", "rtt": "40ms"}, "flows": flows})
    (sentence,) = verdict.of_run(result)
    goodput = {row["label"]: row["goodput_mbps"] for row in result.flows.rows()}
    (first, more), (second, less) = sorted(goodput.items(), key=lambda item: -item[1])
    total = more + less
    assert sentence == (
        f"{first} had {100 * more / total:.0f} % of the goodput ({number(more)} of {number(total)} Mbit/s), {second} "
        f"{100 * less / total:.0f} %; one run: how much of that is chance is not known: --repeat 10 --vary-rtt tells."
    )
    table = report.flows_grid(result).markdown()
    assert f"| {number(more)} |" in table


def test_a_flow_alone_is_held_against_its_link() -> None:
    result = db.run({"duration": "5s", "path": {"rate": "10mbit", "rtt": "40ms"}, "flows": [{"cc": "cubic"}]})
    (row,) = result.flows.rows()
    (sentence,) = verdict.of_run(result)
    assert sentence.startswith(f"cubic had {number(row['goodput_mbps'])} Mbit/s of goodput, ")
    assert "of the 10 Mbit/s of bottleneck" in sentence
    assert f"up to {number(row['p95_rtt_ms'])} ms in 95 % of samples (40 ms without a queue)" in sentence


def test_traffic_and_datagrams_have_sentences_of_their_own() -> None:
    document = {
        "duration": "4s",
        "path": {"rate": "10mbit", "rtt": "40ms"},
        "flows": [{"label": "ping", "transport": "probe"}],
        "traffic": [{"kind": "short-flows", "cc": "cubic", "size": "30kB", "load": "20%", "label": "web"}],
    }
    found = verdict.of_run(db.run(document))
    assert [sentence.split(" ")[0] for sentence in found] == ["web:", "ping"]
    assert "transfers took up to" in found[0]
    assert "ms one way" in found[1]


def test_calls_and_pings_take_part_in_no_contest() -> None:
    flows = [{"cc": "cubic"}, {"transport": {"profile": "real-time"}, "label": "call"}, {"transport": "probe"}]
    result = db.run({"duration": "4s", "path": {"rate": "10mbit", "rtt": "40ms"}, "flows": flows})
    assert [sentence.split(" ")[:2] for sentence in verdict.of_run(result)] == [
        ["cubic", "had"],
        ["call", "(real-time)"],
        ["probe", "(probe)"],
    ]


def _sweep_of(goodputs: dict[str, list[float]], delays: dict[str, list[float]] | None = None) -> db.SweepResult:
    """The sweep of one algorithm after the other, alone on a path, with these numbers."""
    sweep = db.compare(*goodputs, duration="1s", repeat=len(next(iter(goodputs.values()))))
    flows = sweep.flows.to_polars()
    for column, given in (("goodput_mbps", goodputs), ("p95_rtt_ms", delays or goodputs)):
        values = [given[row["cc"]][row["repeat"]] for row in flows.iter_rows(named=True)]
        flows = flows.with_columns(pl.Series(column, values, pl.Float64))
    return dataclasses.replace(sweep, flows=Table(flows))


def test_a_winner_is_one_whose_paired_interval_does_not_cover_zero() -> None:
    # Seeds differ much, and algorithms by little: only pairs show it.
    bbr, cubic = [9.0, 7.0, 8.0], [8.5, 6.6, 7.4]
    sentence, _ = verdict.of_sweep(_sweep_of({"bbr": bbr, "cubic": cubic}))
    interval = db.metrics.mean_interval([b - c for b, c in zip(bbr, cubic, strict=True)])
    assert interval is not None
    assert sentence == (
        "bbr won: 0.5 Mbit/s (6.7 %) more goodput than cubic, 8 and 7.5 (95 % interval: "
        f"{number(interval.low)} to {number(interval.high)} Mbit/s, 3 runs of each with the same seeds)."
    )


def test_no_difference_is_claimed_whose_interval_covers_zero() -> None:
    sentence, delay = verdict.of_sweep(
        _sweep_of({"bbr": [9.0, 7.0, 8.0], "cubic": [8.0, 8.0, 7.0]}, {"bbr": [50, 51, 52], "cubic": [80, 82, 81]})
    )
    assert sentence.startswith("No difference shown between bbr and cubic in goodput: 8 and 7.667 Mbit/s; bbr has -")
    assert "won" not in sentence
    assert delay.startswith("bbr had the least p95 RTT: 30 ms (37 %) less p95 RTT than cubic, 51 and 81")


def test_the_last_of_three_is_named_where_the_first_two_cannot_be_told_apart() -> None:
    goodputs = {"bbr": [9.0, 9.2, 9.1, 9.0], "bbr3": [9.1, 9.1, 9.0, 9.1], "cubic": [5.0, 5.2, 5.1, 5.1]}
    sentence, _ = verdict.of_sweep(_sweep_of(goodputs))
    assert sentence.startswith("No difference shown between bbr and bbr3 in goodput")
    assert sentence.endswith("cubic (5.1) had less.")


def test_seeds_that_all_give_the_same_show_nothing() -> None:
    sentence, *_ = verdict.of_sweep(_sweep_of({"bbr": [9.0, 9.0], "cubic": [8.0, 8.0]}))
    assert "all 2 seeds gave the same result, which is one sample" in sentence
    assert "won" not in sentence
    once, *_ = verdict.of_sweep(_sweep_of({"bbr": [9.0], "cubic": [8.0]}))
    assert "one run of each: how much of that is chance is not known" in once


def test_flows_that_share_each_run_are_compared_within_it(tmp_path: Path) -> None:
    sweep = db.compare("bbr", "cubic", together=True, duration="6s", repeat=4, vary_rtt=True)
    flows = sweep.flows.to_polars()
    bbr, cubic = (flows.filter(flows["cc"] == name)["goodput_mbps"].to_numpy() for name in ("bbr", "cubic"))
    interval = db.metrics.mean_interval(abs(bbr.mean() - cubic.mean()) / (bbr.mean() - cubic.mean()) * (bbr - cubic))
    assert interval is not None
    (sentence,) = verdict.of_sweep(sweep)
    assert f"{number(interval.low)} to {number(interval.high)} Mbit/s" in sentence
    assert sentence.startswith("No difference shown") == (interval.low <= 0)


def test_a_sweep_over_settings_says_where_who_won(tmp_path: Path) -> None:
    sweep = db.compare("bbr", "reno", loss=["0.1%", "5%"], duration="6s", repeat=3, out=tmp_path / "lossy")
    sentence, *_ = verdict.of_sweep(sweep)
    assert "bbr had the most goodput" in sentence
    assert "loss 5%" in sentence or "in all 2 settings" in sentence


def test_what_limits_flows_is_said_of_each_setting_of_a_sweep(tmp_path: Path) -> None:
    out = tmp_path / "rates"
    document = {
        "duration": "4s",
        "path": {"rate": "10mbit", "rtt": "40ms"},
        "flows": [{"cc": "cubic"}],
        "sweep": {"flows[0].rate": ["2mbit", "50mbit"], "repeat": 2},
    }
    sweep = db.sweep(document, out=out).collect()
    found, left = of_sweep(sweep, 40)
    assert left == 0
    assert [(limit.setting, limit.by) for limit in found] == [
        ("flows[0].rate=2mbit", "its application"),
        ("flows[0].rate=50mbit", "the capacity of the link"),
    ]
    assert of_sweep(sweep, 1)[1] == 1
    text = " ".join(Page(pages.render(pages.of_result(sweep, out), "html")).text)
    assert "In the first repetition of each setting" in text
    assert "flows[0].rate=2mbit" in text


def test_a_page_says_in_one_line_why_it_has_no_pictures(result: db.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(plots: ResultPlots) -> dict[str, Picture]:
        raise ValueError("overview: too many lines\n  help: draw less in it")

    monkeypatch.setattr(ResultPlots, "suitable", refused)
    assert content._suitable(result) == ({}, ["there are no pictures: overview: too many lines"])


# --- sentences about numbers by hand ---------------------------------------------------------------------------------


def run_of(*, certificate: dict[str, Any] | None = None, **tables: list[dict[str, Any]]) -> Any:
    """A run with these rows in its tables."""
    names = ("flows", "links", "datagrams", "traffic", "completions", "pages", "rounds")
    made = {name: Table(pl.DataFrame(tables.get(name, []), infer_schema_length=None)) for name in names}
    return SimpleNamespace(**made, meta=SimpleNamespace(certificate=certificate))


def flow(label: str, goodput: float | None, cc: str = "bbr", number: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "flow": number, "label": label, "cc": cc, "goodput_mbps": goodput, "completion_s": None, "p95_rtt_ms": 50.0,
        "base_rtt_ms": 40.0,
    } | more  # fmt: skip


CHANCE = "; one run: how much of that is chance is not known: --repeat 10 --vary-rtt tells."
LINK = {"name": "bottleneck", "capacity_mbps": 10.0, "utilization": 0.9}


@pytest.mark.parametrize(
    ("row", "links", "said"),
    [
        (flow("bbr", 9.5), [LINK], "bbr had 9.5 Mbit/s of goodput, 95 % of the 10 Mbit/s of bottleneck, at an RTT of "
         "up to 50 ms in 95 % of samples (40 ms without a queue)"),
        (flow("x", 9.5, base_rtt_ms=0.0), [], "x (bbr) had 9.5 Mbit/s of goodput, at an RTT of up to 50 ms in 95 % of "
         "samples"),
        (flow("x", 9.5, "none", p95_rtt_ms=None), [LINK | {"capacity_mbps": None}], "x had 9.5 Mbit/s of goodput"),
        (flow("bbr", None), [LINK], "bbr had - Mbit/s of goodput, at an RTT of up to 50 ms in 95 % of samples "
         "(40 ms without a queue)"),
        (flow("bbr", 1.0, completion_s=3.25), [LINK], "bbr had sent all its data after 3.25 s"),
    ],
)  # fmt: skip
def test_a_single_flow_is_told_with_what_is_known(row: dict[str, Any], links: list[dict[str, Any]], said: str) -> None:
    assert verdict.of_run(run_of(flows=[row], links=links)) == [said + CHANCE]


def test_runs_of_a_kernel_are_repeated_without_other_round_trips() -> None:
    (said,) = verdict.of_run(run_of(flows=[flow("bbr", 9.0)], certificate={"kernel": "6.1"}))
    assert said.endswith("is not known: --repeat 10 tells.")


def test_several_flows_are_told_by_what_they_share() -> None:
    def said(*flows: dict[str, Any]) -> str:
        (sentence,) = verdict.of_run(run_of(flows=[row | {"flow": number} for number, row in enumerate(flows)]))
        return sentence.removesuffix(CHANCE)

    assert said(flow("a", 0.0), flow("b", None)) == "none of 2 flows got anything"
    assert said(flow("bbr", 1.0), flow("bbr", 3.0)) == (
        "2 flows of bbr had 4 Mbit/s of goodput together, each 1 to 3 (Jain's index 0.800)"
    )
    assert said(flow("bbr", 1.0), flow("cubic", 3.0, "cubic")) == (
        "cubic had 75 % of the goodput (3 of 4 Mbit/s), bbr 25 %"
    )
    assert said(flow("bbr", 1.0), flow("cubic", 3.0, "cubic"), flow("cubic", 4.0, "cubic")) == (
        "cubic (2 flows) had 88 % of the goodput (7 of 8 Mbit/s), bbr 12 %; per flow that is 3.5 for cubic, 1 for bbr"
    )
    many = [flow(f"bbr {number}", 1.0 + number) for number in range(6)]
    assert said(*many) == ("bbr 5 had 29 % of the goodput (6 of 21 Mbit/s), bbr 4 24 %, bbr 3 19 %, bbr 2 14 %, 2 more")


def test_other_senders_have_a_sentence_each_up_to_four() -> None:
    traffic = [
        {"label": name, "pages_total": pages_, "p50_plt_s": 0.5, "p95_plt_s": None, "source": number}
        for number, (name, pages_) in enumerate((("web", 3), ("bulk", 0)))
    ]
    datagrams = [
        {"flow": number, "label": f"call {number}", "kind": "probe", "sent": sent, "loss": loss, "p95_one_way_ms": 12.5,
         "frames": frames, "late_frames": late}
        for number, (sent, loss, frames, late) in enumerate(
            ((0, 0.0, 0, 0), (9, None, 0, None), (9, 0.25, 2000, 1500), (9, 0.001, 5, None))
        )
    ]  # fmt: skip
    found = verdict.of_run(run_of(traffic=traffic, pages=[{"x": 1}], datagrams=datagrams))
    assert found == [
        "web: half of the pages loaded in up to 500 ms, 95 % in up to - ms.",
        "call 1 (probe) lost 0 % of its packets; 95 % of the others took up to 12.5 ms one way.",
        "call 2 (probe) lost 25 % of its packets; 95 % of the others took up to 12.5 ms one way; 1,500 of 2,000 frames "
        "were late.",
        "call 3 (probe) lost 0.1 % of its packets; 95 % of the others took up to 12.5 ms one way; 0 of 5 frames were "
        "late.",
    ]
    assert verdict.of_run(run_of(traffic=traffic, datagrams=datagrams))[0].startswith("call 1")
    more = [datagrams[1] | {"flow": number, "label": f"p{number}"} for number in range(6)]
    found = verdict.of_run(run_of(datagrams=more))
    assert (len(found), found[-1]) == (5, "2 more in the tables.")


def numbers_of(*outcomes: dict[str, list[float]]) -> list[verdict.Outcome]:
    """Of each setting who is best, from the goodput of contestants in each repetition."""
    found = [
        verdict._outcome(f"loss {number}%", {name: dict(enumerate(own)) for name, own in one.items()}, verdict.GOODPUT)
        for number, one in enumerate(outcomes)
    ]
    assert all(found)
    return [one for one in found if one is not None]


def told(*outcomes: dict[str, list[float]], repeats: int = 3) -> str:
    contest = verdict._Contest(pl.DataFrame(), (verdict.GOODPUT,), is_swept=True)
    return verdict._sentence(numbers_of(*outcomes), verdict.GOODPUT, contest, repeats)


FAR = {"bbr": [9.0, 9.2, 9.1], "reno": [5.0, 5.1, 5.2]}
LESS = {"bbr": [7.0, 7.2, 7.1], "reno": [5.0, 5.1, 5.2]}
TURNED = {"bbr": [5.0, 5.1, 5.2], "reno": [9.0, 9.2, 9.1]}
TIED = {"bbr": [9.0, 7.0, 8.0], "reno": [8.0, 8.0, 7.0]}
SAME = {"bbr": [9.0] * 3, "reno": [8.0] * 3}


def test_an_outcome_has_its_best_and_intervals_of_pairs_that_hold_together() -> None:
    samples = {
        "a": {0: 5.0, 1: 6.0, 2: 5.5},
        "b": {0: 4.0, 1: 5.5, 2: 4.4},
        "c": {0: 1.0, 1: 2.0, 9: 3.0},
        "d": {7: 1.0},
    }
    found = verdict._outcome("w", samples, verdict.GOODPUT)
    assert found is not None
    assert (found.setting, found.best, found.runs, list(found.against)) == ("w", "a", 3, ["b", "c"])
    assert found.means["c"] == 2.0
    expected = db.metrics.mean_interval([1.0, 0.5, 1.1], 1 - 0.05 / 6)
    assert expected is not None
    assert [found.against["b"].low, found.against["b"].high] == pytest.approx([expected.low, expected.high])
    assert found.against["c"].n == 2
    assert (found.next, found.is_sampled) == ("b", True)
    delays = verdict._outcome("w", {name: samples[name] for name in "abc"}, verdict.DELAY)
    assert delays is not None
    assert (delays.best, delays.against["b"].estimate > 0) == ("c", True)
    assert verdict._outcome("w", {"a": {0: 1.0}, "b": {1: 1.0}}, verdict.GOODPUT) is None
    near = verdict.Outcome(
        "w", "a", {}, {name: Interval(estimate, low, 9.0, 3) for name, estimate, low in
                       (("b", 3.0, 0.0), ("c", 1.0, -1.0), ("d", 2.0, 0.1))}, 3,
    )  # fmt: skip
    assert (near.equals, near.next) == (["c", "b"], "c")
    flat = verdict.Outcome("w", "a", {}, {"b": Interval(1.0, 1.0, 1.0, 1)}, 1)
    assert (flat.equals, flat.is_sampled) == (["b"], False)


def test_one_setting_in_a_sentence() -> None:
    (one,) = numbers_of(FAR)
    interval = one.against["reno"]
    span = f"{number(interval.low)} to {number(interval.high)}"
    assert told(FAR) == (
        f"bbr won: 4 Mbit/s (78 %) more goodput than reno, 9.1 and 5.1 (95 % interval: {span} Mbit/s, 3 runs of each "
        "with the same seeds)."
    )
    contest = verdict._Contest(pl.DataFrame(), (verdict.GOODPUT,), is_swept=False)
    assert "Mbit/s, 3 runs)." in verdict._sentence(numbers_of(FAR), verdict.GOODPUT, contest, 3)
    third = FAR | {"cubic": [1.0, 1.1, 1.2]}
    assert "(95 % intervals that hold together: " in told(third)
    assert told(third).endswith("; cubic (1.1) had less.")
    nothing = {"bbr": [9.0, 9.2, 9.1], "reno": [0.0] * 3}
    assert "bbr won: 9.1 Mbit/s more goodput than reno, 9.1 and 0 (" in told(nothing)
    tie = told(TIED | {"cubic": [1.0, 1.1, 1.2]})
    (outcome,) = numbers_of(TIED | {"cubic": [1.0, 1.1, 1.2]})
    assert tie.startswith("No difference shown between bbr and reno in goodput: 8 and 7.667 Mbit/s; bbr has ")
    assert f"{verdict._span(outcome.against['reno'])} Mbit/s more (95 % intervals that hold together, 3 runs" in tie
    assert tie.endswith("; cubic (1.1) had less.")
    delays = verdict._outcome("", {name: dict(enumerate(own)) for name, own in FAR.items()}, verdict.DELAY)
    assert delays is not None
    said = verdict._sentence([delays], verdict.DELAY, verdict._Contest(pl.DataFrame(), (), is_swept=True), 3)
    assert said.startswith(
        "reno had the least p95 RTT: 4 ms (44 %) less p95 RTT than bbr, 5.1 and 9.1 (95 % interval: "
    )
    fair = verdict._outcome("", {name: dict(enumerate(own)) for name, own in FAR.items()}, verdict.FAIRNESS)
    assert fair is not None
    said = verdict._sentence([fair], verdict.FAIRNESS, verdict._Contest(pl.DataFrame(), (), is_swept=True), 3)
    assert said.startswith(
        "bbr had the highest fairness (Jain's index): 4 (78 %) more fairness (Jain's index) than reno"
    )


def test_runs_that_show_nothing_in_a_sentence() -> None:
    seeds = "; all 3 seeds gave the same result, which is one sample: --vary-rtt makes them differ."
    assert told(SAME) == f"bbr had the most goodput: 9 Mbit/s, reno 8{seeds}"
    once = "; one run of each: how much of that is chance is not known: --repeat 10 --vary-rtt tells."
    assert told({"bbr": [9.0], "reno": [8.0]}, repeats=1) == f"bbr had the most goodput: 9 Mbit/s, reno 8{once}"
    turned = {"bbr": [1.0] * 3, "reno": [8.0] * 3}
    assert told(SAME, SAME, turned) == f"bbr had the most goodput in 2 of 3 settings, reno in 1{seeds}"
    delays = verdict._outcome("", {"bbr": {0: 9.0}, "reno": {0: 8.0}}, verdict.DELAY)
    assert delays is not None
    assert verdict._unsampled([delays], verdict.DELAY, 1).startswith("reno had the least p95 RTT: 8 ms, bbr 9;")


def test_several_settings_in_a_sentence() -> None:
    end = " (95 % intervals, 3 runs of each)."
    assert told(FAR, LESS) == f"bbr had the most goodput in all 2 settings, by 2 to 4 Mbit/s over the next{end}"
    assert told(FAR, FAR) == f"bbr had the most goodput in all 2 settings, by 4 Mbit/s over the next{end}"
    assert told(FAR, TURNED, LESS) == (
        "bbr had the most goodput in 2 of 3 settings (loss 0%; loss 2%), by 2 to 4 Mbit/s over the next; reno had the "
        f"most goodput in 1 of 3 settings (loss 1%), by 4 Mbit/s over the next{end}"
    )
    assert told(FAR, TIED) == (
        "bbr had the most goodput in 1 of 2 settings (loss 0%), by 4 Mbit/s over the next; no difference shown between "
        f"bbr and reno in goodput in 1 of 2 settings (loss 1%){end}"
    )
    assert told(TIED, TIED) == f"No difference shown between bbr and reno in goodput in all 2 settings{end}"
    assert told(FAR, SAME) == (
        "bbr had the most goodput in 1 of 2 settings (loss 0%), by 4 Mbit/s over the next; all seeds gave the same "
        f"result, which is one sample, in 1 of 2 settings (loss 1%){end}"
    )
    with_third = TIED | {"cubic": [1.0, 1.1, 1.2]}
    together = " (95 % intervals that hold together in each setting, 3 runs of each)."
    assert told(with_third, with_third) == (
        f"No difference shown between bbr and reno, and cubic had less goodput in all 2 settings{together}"
    )
    other = {"bbr": [9.0, 7.0, 8.0], "cubic": [8.0, 8.0, 7.0], "reno": [1.0, 1.1, 1.2]}
    assert told(with_third, other) == (
        "No difference shown in goodput between the best and the next in all 2 settings, where cubic in 1 and reno in "
        f"1 had less goodput than the best{together}"
    )
    won = FAR | {"cubic": [1.0, 1.1, 1.2]}
    assert "; no difference shown between the best and the next in 2 of 3 settings (loss 1%; loss 2%), where" in told(
        won, with_third, other
    )
    many = [FAR] * 5 + [TURNED]
    assert "in 5 of 6 settings (loss 0%; loss 1%; loss 2%; loss 3%; 1 more)" in told(*many)
    assert "in 5 of 8 settings (loss 0%" in told(*[FAR] * 5, *[TURNED] * 3)
    assert "in 5 of 9 settings, by" in told(*[FAR] * 5, *[TURNED] * 4)


def test_numbers_of_sources_over_settings_in_a_sentence() -> None:
    def of(settings: int, seeds: int = 1, label: str = "web") -> pl.DataFrame:
        return pl.DataFrame(
            [
                {
                    "point": settings * seed + place,
                    "label": label,
                    "path.loss": f"{place}%",
                    "t": 1.0 + place + seed / 10,
                }
                for place in range(settings)
                for seed in range(seeds)
            ]
        )

    def said(rows: pl.DataFrame, factor: float = 1.0) -> list[str]:
        words_ = ("took", "ms")
        return list(verdict._over_settings(rows, ["path.loss", "path.none"], ("label",), "t", words_, factor))

    assert said(of(1)) == ["web took 1 ms."]
    assert said(of(2)) == ["web took 1 ms with loss 0%, 2 with loss 1%."]
    assert said(of(2), 1e3) == ["web took 1,000 ms with loss 0%, 2,000 with loss 1%."]
    assert said(of(4))[0].endswith("4 with loss 3%.")
    assert said(of(5)) == ["web took 1 (loss 0%) to 5 (loss 4%) ms over 5 settings."]
    interval = db.metrics.mean_interval([1.0, 1.1, 1.2])
    assert interval is not None
    assert said(of(1, 3)) == [f"web took 1.1 \N{PLUS-MINUS SIGN} {interval.half_width:.2g} ms."]
    assert said(pl.concat([of(1), of(1, label="other")])) == ["web took 1 ms.", "other took 1 ms."]
    assert said(of(1).with_columns(t=pl.lit(None, pl.Float64))) == []


def test_contestants_are_the_flows_whose_algorithm_changes() -> None:
    def contest(rows: list[dict[str, Any]], *axes: str) -> verdict._Contest:
        whole = [
            {"repeat": 0, "goodput_mbps": 1.0, "p95_rtt_ms": 2.0, "algorithm": row["cc"], "label": row["cc"]} | row
            for row in rows
        ]
        return verdict._Contest.of(pl.DataFrame(whole), axes)

    alone = [
        {"point": point, "flow": 0, "cc": cc, "flows[0].cc": cc, "path.loss": loss}
        for point, (cc, loss) in enumerate((cc, loss) for cc in ("bbr", "reno") for loss in ("0%", None))
    ]
    found = contest(alone, "flows[0].cc", "path.loss", "path.absent")
    assert (found.quantities, found.is_swept) == ((verdict.GOODPUT, verdict.DELAY), True)
    assert found.flows.select("who", "where").rows() == [
        ("bbr", "loss 0%"), ("bbr", "loss -"), ("reno", "loss 0%"), ("reno", "loss -"),
    ]  # fmt: skip
    beside = [
        {"point": point, "flow": number, "cc": one, "flows[0].cc": cc}
        for point, cc in enumerate(("bbr", "reno"))
        for number, one in enumerate((cc, "cubic"))
    ]
    found = contest(beside, "flows[0].cc")
    assert (found.quantities, found.is_swept) == ((verdict.GOODPUT,), True)
    assert found.flows.select("flow", "who", "where").rows() == [(0, "bbr", ""), (0, "reno", "")]
    both = [row | {"cc": row["flows[0].cc"], "algorithm": row["flows[0].cc"]} for row in beside]
    found = contest(both, "flows[0].cc")
    assert found.quantities == (verdict.GOODPUT, verdict.FAIRNESS)
    assert found.flows.height == 4 and "jain" in found.flows.columns
    same = contest([row | {"algorithm": "one"} for row in alone], "flows[0].cc")
    assert same.flows.height == 4
    shared = contest([row | {"flows[0].cc": "x", "label": row["cc"]} for row in beside], "flows[0].cc")
    assert (shared.quantities, shared.is_swept) == ((verdict.GOODPUT,), False)
    assert shared.flows["who"].to_list() == ["bbr", "cubic", "reno", "cubic"]
    outcomes = contest(
        [{**row, "goodput_mbps": 2.0 + number % 2} for number, row in enumerate(both)], "flows[0].cc"
    ).outcomes(verdict.GOODPUT)
    # Flows of one algorithm in a run are one sample, which is what they have together.
    assert [outcome.means for outcome in outcomes] == [{"bbr": 5.0, "reno": 5.0}]


# --- the data of charts ----------------------------------------------------------------------------------------------


def test_buckets_are_as_wide_as_the_points_ask_for() -> None:
    t = np.arange(10.0)
    for points, width in ((10, 1), (9, 3), (5, 4), (2, 10), (20, 1)):
        assert charts.Buckets.of(t, points).width == width
    whole = charts.Buckets.of(t, 10)
    assert whole.times is t
    assert whole.extremes(t) is t
    buckets = charts.Buckets.of(t, 5)
    assert buckets.times.tolist() == [0, 2, 4, 6, 8, 9]
    values = np.array([3.0, 1.0, 2.0, 2.5, 1.0, 5.0, 4.0, 2.0, np.nan, np.nan])
    assert buckets.extremes(values)[:4].tolist() == [3, 1, 1, 5]
    assert np.isnan(buckets.extremes(values)[4:]).all()
    flat = buckets.extremes(np.array([2.0, 2.0, 2.0, 2.0, 7.0, np.nan, 6.0, np.nan, 1.0, np.nan]))
    assert flat.tolist() == [2, 2, 7, 6, 1, 1]
    places, means = buckets.means(np.array([1.0, 2.0, 3.0, np.nan, 5.0, 5.0, 5.0, 5.0, np.nan, np.nan]), 3)
    assert places == [1, 3, 5]
    assert means[:2].tolist() == [2, 5]
    assert np.isnan(means[2])
    places, means = whole.means(t, 5)
    assert (places, means.tolist()) == ([1, 3, 5, 7, 9], [0.5, 2.5, 4.5, 6.5, 8.5])
    places, means = whole.means(t, 4)
    assert (places, means.tolist()) == ([1, 4, 7, 9], [1, 4, 7, 9])
    places, means = whole.means(t, 100)
    assert places == list(range(10))
    places, means = buckets.means(t, 2)
    assert (places, means.tolist()) == ([2, 5], [3.5, 8.5])


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [(None, 4, None), (math.nan, 4, None), (math.inf, 4, None), (12345.6, 4, 12350), (0.123456, 4, 0.1235),
     (2.0, 4, 2), (1.23456789, 6, 1.23457), (-0.5, 4, -0.5)],
)  # fmt: skip
def test_numbers_of_charts_are_short(value: float | None, digits: int, said: float | None) -> None:
    found = charts._number(value, digits)
    assert found == said
    assert isinstance(found, type(said))
    assert charts._short([value], digits) == [said]


def test_the_look_of_a_line_is_that_of_its_pictures() -> None:
    assert charts._line("a", style.Look("#000000", "-", "o")) == {"name": "a", "colour": None, "dash": []}
    dashed = style.Look("#D55E00", (0, (6, 1.5)), "o")
    assert charts._line("b", dashed) == {"name": "b", "colour": "#D55E00", "dash": [12, 3]}
    assert charts._capital("goodput (Mbit/s)") == "Goodput (Mbit/s)"


@pytest.mark.parametrize(
    ("values", "places"),
    [
        (["1ms", "10ms"], [1, 10]),
        (["1ms", "100ms", "10ms"], [0, 1, 2]),
        (["0", "1ms", "100ms"], [-2, 0, 2]),
        (["0", "1ms", "10ms", "1000ms"], [-1.5, 0, 1, 3]),
        (["a", "b"], [0, 1]),
        (["0", "5ms"], [0, 5]),
    ],
)
def test_values_over_more_than_a_decade_stand_by_their_ratio(values: list[str], places: list[float]) -> None:
    scale = Scale.of("path.rtt", values)
    assert [charts._places(scale)[place] for place in scale.places] == pytest.approx(places)


def settings_of(*seeds: int, **more: Any) -> pl.DataFrame:
    """Flows of two algorithms over three round trips and two losses."""
    return pl.DataFrame(
        [
            {"point": point, "flow": 0, "cc": cc, "label": cc, "path.rtt": rtt, "path.loss": loss, "flows[0].cc": cc,
             "path.rate": "1mbit", "goodput_mbps": 10.0 * x + y + seed / 10, "p95_rtt_ms": 5.0 + x} | more
            for point, (cc, (x, rtt), (y, loss), seed) in enumerate(
                itertools.product(("bbr", "reno"), enumerate(("5ms", "10ms", "20ms")), enumerate(("0%", "1%")), seeds)
            )
        ]
    )  # fmt: skip


AXES = ["path.rtt", "path.loss", "flows[0].cc", "path.rate", "path.absent"]


def test_charts_over_settings_are_one_for_each_setting_and_number() -> None:
    found = list(charts._metrics(settings_of(0, 1, 2), AXES))
    assert [one["title"] for one in found] == [
        "Goodput (Mbit/s) over rtt", "95th percentile of RTT (ms) over rtt",
        "Goodput (Mbit/s) over loss", "95th percentile of RTT (ms) over loss",
    ]  # fmt: skip
    first = found[0]
    assert (first["kind"], first["x"]) == (
        "setting",
        {"label": "rtt", "ticks": [[5, "5ms"], [10, "10ms"], [20, "20ms"]]},
    )
    assert [part["name"] for part in first["parts"]] == ["loss 0%", "loss 1%"]
    assert [part["name"] for part in found[2]["parts"]] == ["rtt 5ms", "rtt 10ms", "rtt 20ms"]
    part = first["parts"][1]
    assert [line["name"] for line in part["lines"]] == ["bbr", "reno"]
    interval = db.metrics.mean_interval([1.0, 1.1, 1.2])
    assert interval is not None
    (one, other) = part["series"]
    assert (one["line"], other["line"]) == (0, 1)
    assert (one["x"], one["y"]) == ([5, 10, 20], [1.1, 11.1, 21.1])
    assert one["low"] == charts._short([interval.low + 10 * x for x in range(3)])
    assert one["high"] == charts._short([interval.high + 10 * x for x in range(3)])
    single = next(charts._metrics(settings_of(0), AXES))["parts"][0]["series"][0]
    assert single["low"] == single["high"] == single["y"] == [0, 10, 20]
    missing = settings_of(0).with_columns(
        pl.when(pl.col("path.rtt") == "5ms").then(None).otherwise("p95_rtt_ms").alias("p95_rtt_ms")
    )
    assert list(charts._metrics(missing, AXES))[1]["parts"][0]["series"][0]["x"] == [10, 20]
    unset = settings_of(0).with_columns(
        pl.when(pl.col("path.rtt") == "5ms").then(None).otherwise("path.rtt").alias("path.rtt")
    )
    assert next(charts._metrics(unset, AXES))["parts"][0]["series"][0]["x"] == [10, 20]
    crowded = pl.concat([settings_of(0).with_columns(label=pl.lit(f"l{number}")) for number in range(7)])
    assert list(charts._metrics(crowded, AXES)) == []
    assert list(charts._metrics(settings_of(0).filter(pl.col("path.rtt") == "5ms"), ["path.rtt"])) == []
    many = pl.concat([settings_of(0).with_columns(pl.lit(f"{number}s").alias("path.absent")) for number in range(14)])
    parts = next(charts._metrics(many, AXES))["parts"]
    assert (len(parts), parts[-1]["name"]) == (24, "loss 1%, absent 11s")


def test_the_tradeoff_has_a_mark_a_setting_and_small_ones_of_few_runs() -> None:
    found = charts._tradeoff(settings_of(0, 1), AXES)
    assert found is not None
    assert (found["kind"], found["x"]["label"]) == ("tradeoff", "95th percentile of RTT (ms), smaller to the right")
    assert [line["name"] for line in found["lines"]] == ["bbr", "reno"]
    one, other = found["series"]
    assert (one["line"], other["line"]) == (0, 1)
    assert one["names"] == [f"{rtt}, {loss}" for rtt in ("5ms", "10ms", "20ms") for loss in ("0%", "1%")]
    assert (one["x"], one["y"]) == ([5, 5, 6, 6, 7, 7], [0.05, 1.05, 10.05, 11.05, 20.05, 21.05])
    assert [len(part) for part in one["runs"]] == [12, 12]
    assert one["runs"][1][:2] == [0, 0.1]
    alone = charts._tradeoff(settings_of(0), AXES)
    assert alone is not None
    assert alone["series"][0]["runs"] == [[], []]
    few = settings_of(0).filter(pl.col("cc") == "bbr")
    assert charts._tradeoff(few.head(1), []) is None
    assert charts._tradeoff(few, AXES) is not None
    same = charts._tradeoff(settings_of(0).group_by("cc", maintain_order=True).head(1), [])
    assert same is not None
    assert [one["names"] for one in same["series"]] == [[], []]
    assert charts._tradeoff(few.with_columns(p95_rtt_ms=pl.lit(None, pl.Float64)), AXES) is None
    for rows, shown in ((200, 200), (201, 0)):
        both = pl.DataFrame(
            {"point": range(2 * rows), "cc": ["bbr", "reno"] * rows, "label": ["bbr", "reno"] * rows,
             "goodput_mbps": [1.0] * (2 * rows), "p95_rtt_ms": [1.0] * (2 * rows)}
        )  # fmt: skip
        found = charts._tradeoff(both, [])
        assert found is not None
        assert [len(one["runs"][0]) for one in found["series"]] == [shown] * 2


def test_distributions_of_times_are_in_percent_of_each_source() -> None:
    rows = [
        {"source": source, "label": label, "measured": measured, "fct_s": seconds}
        for source, label, measured, seconds in (
            (0, "web", 1, 0.1), (0, "web", 1, 0.2), (1, "bulk", 1, 0.4), (1, "bulk", 0, 9.0), (0, "web", 1, None),
            (0, "web", 1, 0.0),
        )
    ]  # fmt: skip
    (found,) = charts._completions(run_of(completions=rows))
    assert (found["kind"], found["title"]) == (
        "distribution",
        "Completion times of transfers: part that took no longer (%)",
    )
    assert found["x"] == {"label": "ms"}
    assert (len(found["t"]), found["t"][0], found["t"][-1]) == (160, 100, 400)
    assert found["t"][80] == pytest.approx(100 * 4 ** (80 / 159), rel=1e-3)
    assert [line["name"] for line in found["lines"]] == ["web", "bulk"]
    web, bulk = found["series"]
    assert (web["line"], web["v"][0], web["v"][-1]) == (0, 50, 100)
    assert (bulk["line"], bulk["v"][0], bulk["v"][-2], bulk["v"][-1]) == (1, 0, 0, 100)
    assert sum(value == 50 for value in web["v"]) == sum(t < 200 for t in found["t"])
    (one,) = charts._completions(run_of(pages=[{"source": 0, "label": "a", "measured": 1, "plt_s": 0.25}]))
    assert (one["title"][:10], one["t"], one["series"][0]["v"]) == ("Load times", [250], [100])
    unmeasured = [{"source": 0, "label": "a", "measured": 0, "qct_s": 0.25}]
    assert charts._completions(run_of(rounds=unmeasured)) == []


def test_reference_lines_of_charts_are_those_on_which_all_runs_agree() -> None:
    def of(rate: str, rtt: str) -> db.Result:
        return db.run({"duration": "200ms", "path": {"rate": rate, "rtt": rtt}, "flows": [{"cc": "reno"}]})

    run, slower = of("12mbit", "20ms"), of("10mbit", "20ms")
    assert charts._references([run], "received_mbps", changes=False) == [{"y": 12, "name": "capacity 12"}]
    assert charts._references([run], "received_mbps", changes=True) == [{"y": 12, "name": "mean capacity 12"}]
    assert charts._references([run], "srtt_ms", changes=False) == [{"y": 20, "name": "without a queue 20"}]
    assert charts._references([run], "cwnd", changes=False) == [{"y": 20, "name": "BDP 20"}]
    assert charts._references([run], "inflight", changes=False) == []
    assert charts._references([run, slower], "received_mbps", changes=False) == []
    assert charts._references([run, slower], "srtt_ms", changes=False)[0]["y"] == 20
    for column in ("received_mbps", "cwnd"):
        assert charts._references([of("unlimited", "20ms")], column, changes=False) == []
    assert charts._references([of("unlimited", "20ms")], "srtt_ms", changes=False)[0]["y"] == 20


def test_flows_of_one_name_are_numbered_and_not_all_of_many_have_lines() -> None:
    def of(*names: str) -> Any:
        return run_of(flows=[{"cc": name, "label": name} for name in names])

    first, second = of("bbr", "cubic"), of("bbr")
    found = charts._flows([first, second])
    assert [(one.name, one.number, one.algorithm) for one in found] == [
        ("bbr 1", 0, "bbr"),
        ("cubic", 1, "cubic"),
        ("bbr 2", 0, "bbr"),
    ]
    assert [one.result for one in found] == [first, first, second]
    assert len(charts._flows([of(*["bbr"] * 30)])) == charts.MAX_LINES


@pytest.mark.parametrize(
    ("flows", "runs", "kept", "points"),
    [
        (1, 1, 1, 1200),
        (5, 1, 1, 1200),
        (10, 1, 1, 600),
        (10, 2, 2, 300),
        (10, 3, 2, 300),
        (24, 1, 1, 250),
        (40, 2, 1, 250),
    ],
)
def test_so_many_numbers_are_on_a_page(
    flows: int, runs: int, kept: int, points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def drawn(name: str, _results: object, _flows: object, points: int) -> dict[str, Any]:
        asked.append(points)
        return {"name": name}

    monkeypatch.setattr(charts, "_run", drawn)
    result = run_of(flows=[{"cc": "bbr", "label": f"l{number}"} for number in range(flows)])
    found = charts._over_time([(f"run {number}", [result]) for number in range(runs)])
    assert [one["name"] for one in found["runs"]] == [f"run {number}" for number in range(kept)]
    assert set(asked) == {points}
    assert found["leftOut"] == max(0, flows - 24)
    assert (found["kind"], found["title"]) == ("time", "Over time")


def test_a_chart_over_time_has_its_panels_in_their_order(result: db.Result) -> None:
    (chart,) = charts.of_run(result)
    (run,) = chart["runs"]
    assert [panel["title"] for panel in run["panels"]] == [
        "Throughput (Mbit/s)", "Smoothed RTT (ms)", "Queue of bottleneck (kB)",
        "Congestion window and, thin, in flight (packets)",
    ]  # fmt: skip
    rate, _, queue, window = run["panels"]
    assert [(one["line"], one["look"]) for one in rate["series"]] == [
        (0, "faint"),
        (0, "line"),
        (1, "faint"),
        (1, "line"),
    ]
    assert len(rate["series"][1]["at"]) == len(rate["series"][1]["v"]) <= charts.MEANS
    assert len(rate["series"][0]["v"]) == len(run["t"])
    assert [(one["line"], one["look"], one.get("name")) for one in window["series"]] == [
        (0, "line", None), (0, "faint", "in flight"), (1, "line", None), (1, "faint", "in flight"),
    ]  # fmt: skip
    assert [(one["line"], one["look"], one["name"]) for one in queue["series"]] == [(None, "area", "queue")]
    recorded = result.link_series.to_polars().filter(pl.col("link") == 0)["queue_bytes"].max()
    assert max(value for value in queue["series"][0]["v"] if value is not None) == charts._number(recorded / 1e3)  # type: ignore[operator]
    assert [line["colour"] for line in run["lines"]] == [style.look("cubic").colour, style.look("bbr").colour]
    own = result.series.to_polars().filter(pl.col("flow") == 1)["inflight"].drop_nulls().max()
    assert max(value for value in window["series"][3]["v"] if value is not None) == charts._number(own)


def test_runs_of_one_flow_lie_over_each_other_and_others_have_one_each(tmp_path: Path) -> None:
    path = {"rate": [["0s", "10mbit"], ["500ms", "5mbit"]], "rtt": "20ms"}
    document = {"duration": "1s", "path": path, "flows": [{"cc": "bbr"}], "sweep": {"flows[0].cc": ["bbr", "reno"]}}
    alone = db.sweep(document, out=tmp_path / "alone", progress=False).collect()
    (chart,) = (one for one in charts.of_sweep(alone) if one["kind"] == "time")
    (run,) = chart["runs"]
    assert [line["name"] for line in run["lines"]] == ["bbr", "reno"]
    rate, _, queue, _ = run["panels"]
    assert [(one["line"], one["look"]) for one in queue["series"]] == [(0, "line"), (1, "line")]
    assert (rate["series"][0]["look"], rate["series"][0]["name"], rate["series"][0]["line"]) == (
        "area",
        "capacity",
        None,
    )
    capacity = dict(zip(run["t"], rate["series"][0]["v"], strict=True))
    assert {value for t, value in capacity.items() if t < 0.5} == {10}
    assert {value for t, value in capacity.items() if t >= 0.5} == {5}
    assert rate["refs"][0]["name"].startswith("mean capacity")
    shared = db.sweep(document | {"flows": [{"cc": "bbr"}] * 2}, out=tmp_path / "shared", progress=False).collect()
    (chart,) = (one for one in charts.of_sweep(shared) if one["kind"] == "time")
    assert [one["name"] for one in chart["runs"]] == ["cc bbr", "cc reno"]
    # Of one algorithm every line has a colour of its own.
    assert [line["colour"] for line in chart["runs"][0]["lines"]] != [style.look("bbr").colour] * 2
    assert "time" not in {one["kind"] for one in charts.of_sweep(dataclasses.replace(alone, folder=None))}


# --- the page --------------------------------------------------------------------------------------------------------


def test_what_is_seen_in_a_picture_is_said_in_words() -> None:
    def of(*names: str) -> pages.Content:
        return pages.Content("t", None, [], [], [], "", [], [], {}, list(names), [], [], 0, [], [])

    assert of("bbr").alt("overview") == "Throughput, RTT, queue and windows over time. Seen are bbr."
    assert of().alt("tradeoff") == "Goodput against delay, up and to the right is better."
    assert of("a", "b").alt("goodput over rtt") == "Goodput over rtt. Seen are a, b."
    assert of().alt("goodput_mbps-buffer-panels=loss,rtt") == "goodput_mbps over buffer, a panel for each loss,rtt."
    names = [str(number) for number in range(9)]
    assert of(*names[:8]).alt("x") == "X. Seen are 0, 1, 2, 3, 4, 5, 6, 7."
    assert of(*names).alt("x") == "X. Seen are 0, 1, 2, 3, 4, 5, 6, 7, ...."
    page = dataclasses.replace(of(), charts=[{"runs": [{"samples": 3}, {"samples": 7}]}, {"kind": "<&>"}])
    assert page.extremes == 7
    assert of().extremes == 1
    assert page.data == r'[{"runs":[{"samples":3},{"samples":7}]},{"kind":"\u003c\u0026\u003e"}]'


def test_where_numbers_come_from() -> None:
    def of(number: int, **more: Any) -> Any:
        given = {
            "seed": number, "version": "1.0", "engine": "e", "ground": "simulation", "certificate": None,
            "algorithms": {"bbr": "bbr-1"}, "packets": 1000, "cpu_s": 0.5, "sim_s": 2.0, "content_hash": "abc",
        }  # fmt: skip
        return SimpleNamespace(**given | more)

    (first, *_, last) = content.provenance([of(1)])
    assert (first, last) == (("Dumbbell", "1.0, engine e"), ("content hash", "abc"))
    found = dict(content.provenance([of(number % 12) for number in range(14)]))
    assert found["seeds"] == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"
    assert found["runs"] == "14, 14,000 packets"
    assert found["CPU"] == "7.00 s for 28 simulated seconds"
    assert "content hash" not in found
    assert dict(content.provenance([of(number) for number in range(10)]))["seeds"].endswith("8, 9")
    several = [of(1), of(2, algorithms={"reno": "reno-2", "bbr": "bbr-1"}, certificate={"kernel": "6.1"})]
    assert dict(content.provenance(several))["algorithms"] == "bbr is bbr-1, reno is reno-2"
    assert dict(content.provenance(several))["ground"] == "simulation"
    assert dict(content.provenance(several[::-1]))["ground"] == "Linux 6.1"


@pytest.mark.parametrize(
    ("cpu_s", "runs", "repeat"), [(0.1, 4, 5), (1.0, 4, 5), (1.01, 4, 1), (5.0, 4, 1), (5.01, 4, None)]
)
def test_causes_are_tried_as_long_as_they_take_little(
    cpu_s: float, runs: int, repeat: int | None, result: db.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def answers(_: object, repeat: int) -> list[object]:
        asked.append(repeat)
        return []

    monkeypatch.setattr(why, "tried", lambda _: runs)
    monkeypatch.setattr(why, "answers", answers)
    timed = dataclasses.replace(result, meta=dataclasses.replace(result.meta, cpu_s=cpu_s))
    found, notes = content._why(timed, Path("my run"))
    assert found == []
    assert asked == ([] if repeat is None else [repeat])
    said = "dumbbell why 'my run' proves what holds flows back; it takes 4 such runs"
    assert notes == ([said] if repeat is None else [])
    of_kernel = dataclasses.replace(result, meta=dataclasses.replace(result.meta, certificate={"kernel": "6"}))
    assert content._why(of_kernel, Path("x")) == ([], [])


def test_a_sweep_has_the_commands_that_repeat_its_first_points(tmp_path: Path) -> None:
    points = [SimpleNamespace(label=f"loss={number}", seed=number) for number in range(41)]
    found = content._commands(SimpleNamespace(points=points), Path("my dir"))  # type: ignore[arg-type]
    assert len(found) == 40
    assert found[3] == (
        "dumbbell extract 'my dir' 3 --out point-3 && dumbbell run point-3/scenario.toml  # loss=3, seed 3"
    )


def test_what_limits_a_flow_is_the_first_that_holds() -> None:
    class Ways:
        """A network of links that are used so much."""

        def __init__(self, forward: list[Any], back: list[Any]) -> None:
            self._links = {"forward": forward, "back": back}

        def forward(self, _: object) -> list[Any]:
            return self._links["forward"]

        def back(self, _: object) -> list[Any]:
            return self._links["back"]

    def link(usage: float | None, policed: int = 0, name: str = "up") -> Any:
        return SimpleNamespace(usage=usage, name=name, row={"drops_policed_total": policed})

    def said(
        links: Any = None, back: Any = (), offer: tuple[Any, ...] = (None, False, None, False),
        full: float = 0.0, pacing: float | None = None, **row: Any,
    ) -> tuple[str, str]:  # fmt: skip
        count = 100
        samples = pl.DataFrame(
            {"cwnd": [100.0] * count, "inflight": [95.0 if at < full * count else 94.0 for at in range(count)],
             "pacing_mbps": [pacing] * count, "acked_total": range(count), "sent_total": range(count)},
            schema_overrides={"pacing_mbps": pl.Float64},
        )  # fmt: skip
        given = {"label": "a", "goodput_mbps": 4.0, "completion_s": None, "rto_count_total": 3, "network_drops": 0,
                 "sent": 1000, "lost_total": 0, "throughput_mbps": 4.0} | row  # fmt: skip
        ways: Any = Ways(list(links or [link(0.5)]), list(back))
        return limiting._of_flow(given, limiting._Offer(*offer), samples, ways, 0)

    shown = "up is used by 50 %, in flight is at cwnd in 0 % of samples"
    assert said(goodput_mbps=0.0) == ("nothing arrived", "3 retransmission timeouts")
    assert said(goodput_mbps=None)[0] == "nothing arrived"
    assert said(goodput_mbps=0.0, completion_s=2.0)[0] != "nothing arrived"
    assert said(offer=(4.0, False, None, False)) == ("its application", "which offers 4 Mbit/s and gets 4")
    assert said(offer=(4 / 0.98, False, None, False))[0] == "its application"
    assert said(offer=(4.1, False, None, False))[0] != "its application"
    reads = ("the receive window, because of its receiver", "which reads 4.08 Mbit/s, and 4 arrive")
    assert said(offer=(None, False, 4.08, False)) == reads
    assert said(offer=(None, False, 4.1, False))[0] != reads[0]
    acks = ("the way back, which ACKs fill", "down is used by 95 %")
    assert said(back=[link(None), link(0.95, name="down"), link(0.5)]) == acks
    assert said(back=[link(0.949, name="down")])[0] != acks[0]
    assert said([link(0.99), link(0.5, 1234, "shaper")]) == ("the policer of shaper", "which dropped 1,234 packets")
    assert said([link(0.5), link(0.95, name="slow"), link(None)]) == (
        "the capacity of the link", "slow is used by 95 %, in flight is at cwnd in 0 % of samples"
    )  # fmt: skip
    assert said([link(0.949)])[0] != "the capacity of the link"
    assert said(offer=(None, True, None, False)) == ("its application, whose rate changes", shown)
    assert said(completion_s=1.234) == (
        "its size",
        f"all its data was there after 1.23 s, and nothing was lost; {shown}",
    )
    assert said(completion_s=1.234, lost_total=1)[0] != "its size"
    assert said(full=0.5)[0] == "its congestion window"
    assert said(full=0.49)[0] != "its congestion window"
    assert said(full=0.5, network_drops=25)[0] == "its congestion window, which 2.5 % losses hold down"
    assert said(full=0.5, network_drops=25, sent=0)[0] == "its congestion window"
    assert said(pacing=5.0) == ("its pacing rate", shown)
    assert said(pacing=5.1)[0] != "its pacing rate"
    assert said(offer=(None, False, None, True)) == (
        "the receive window, because its receiver pauses or reads slowly", shown
    )  # fmt: skip
    assert said() == ("the receiver's window or the send buffer", shown)
    assert said([link(None)])[1].startswith("the link is used by 0 %")


def test_what_is_offered_is_read_from_the_experiment() -> None:
    of = limiting._Offer.of
    assert of({}) == limiting._Offer(None, False, None, False)
    assert of({"rate": "2mbit"}) == limiting._Offer(2.0, False, None, False)
    assert of({"rate": {"on": "1s"}, "read_rate": {"on": "1s"}}) == limiting._Offer(None, True, None, True)
    assert of({"app": {"rate": "3mbit"}, "rate": "2mbit", "read_rate": "5mbit"}) == limiting._Offer(
        3.0, False, 5.0, False
    )
    links = [{"name": name, "utilization": used} for name, used in (("a", 0.1), ("b", None), ("c", 0.4))]
    assert limiting.busiest_link(run_of(links=links))["name"] == "c"
    assert limiting.busiest_link(run_of()) == {}


def test_choices_in_words() -> None:
    def of(setting: str, best: tuple[str, ...], repeats: int = 3) -> Advice:
        runs: dict[str, rule.Runs] = {
            name: {seed: (10.0 - place + 0.01 * seed, 50.0) for seed in range(repeats)}
            for place, name in enumerate("abc")
        }
        (found,), _ = rule.judge([runs])
        return Advice(setting, runs, rule.Verdict(best, found.differences), 0.99)

    one = of("", ("a",))
    assert one.repeats == 3
    assert one.sentence().startswith("a; a has 10 Mbit/s at 50 ms: ")
    assert one.sentence().count(" than b") == one.sentence().count(" than c") == 1
    tie = of("loss 1%", ("a", "b")).sentence()
    assert tie.startswith("For loss 1%: no difference is shown between a and b; a has ")
    assert "than b" in tie and "than c" not in tie
    same = [of("loss 0%", ("a",)), of("loss 1%", ("a",))]
    assert sentences(same)[0] == "a in all 2 settings."
    assert len(sentences(same)) == 3
    assert len(sentences([of("x", ("a",)), of("y", ("b",))])) == 2
    assert len(sentences([of("x", ("a", "b")), of("y", ("a", "b"))])) == 2
    assert len(sentences(same[:1])) == 1
    once = sentences([of("x", ("a",), 1), of("y", ("b",))])
    assert once[-1] == "One run of each does not say how much of this is chance: --repeat 10 does."


def test_a_block_of_code_has_a_fence_that_ends_nowhere_in_it() -> None:
    assert writing._fenced("a") == "```text\na\n```"
    assert writing._fenced("a ``b`` c") == "```text\na ``b`` c\n```"
    assert writing._fenced("````") == "`````text\n````\n`````"
    assert str(writing._with_options("use --repeat 10 --vary-rtt <b>")) == (
        "use <code>--repeat 10</code> <code>--vary-rtt</code> &lt;b&gt;"
    )


def test_a_flow_without_a_number_has_no_line_and_the_next_one_has(tmp_path: Path) -> None:
    flows = [{"cc": "bbr", "start": "900ms"}, {"cc": "cubic"}]
    document = {"duration": "1s", "record": {"interval": "500ms"}, "path": {"rate": "10mbit", "rtt": "300ms"}}
    (chart,) = charts.of_run(db.run(document | {"flows": flows}))
    rtt = next(panel for panel in chart["runs"][0]["panels"] if panel["title"].startswith("Smoothed"))
    assert [one["line"] for one in rtt["series"]] == [1]


@pytest.mark.parametrize(("count", "shown"), [(8, 8), (9, 8)])
def test_so_many_runs_can_be_looked_at_over_time(count: int, shown: int) -> None:
    points = [SimpleNamespace(repeat=0, settings={"path.rtt": f"{number}ms"}, number=number) for number in range(count)]
    flows = pl.DataFrame({"point": [number // 2 for number in range(2 * count)]})
    sweep: Any = SimpleNamespace(
        points=[*points, SimpleNamespace(repeat=1, settings={}, number=99)], load=lambda point: point.number,
        flows=SimpleNamespace(to_polars=lambda: flows),
    )  # fmt: skip
    found: list[Any] = list(charts._first_runs(sweep))
    assert found == [(f"rtt {number}ms", [number]) for number in range(shown)]


def test_other_sources_of_a_sweep_are_told_over_its_settings_and_are_no_contestants() -> None:
    flows = pl.DataFrame({"point": [0, 0, 1, 1], "flow": [0, 1, 0, 1], "goodput_mbps": [1.0, 2.0, 3.0, 4.0]})
    datagrams = pl.DataFrame(
        [
            {"point": point, "flow": flow, "label": label, "kind": kind, "path.loss": f"{point}%",
             "p95_frame_ms": frame, "p95_one_way_ms": 5.0 + point}
            for point in (0, 1)
            for flow, label, kind, frame in (
                (1, "call", "real-time", 50.0 + point), (7, "ping", "probe", None), (0, "udp", "udp", None),
            )
        ],
        schema_overrides={"p95_frame_ms": pl.Float64},
    )  # fmt: skip
    transfers = pl.DataFrame(
        {"point": [0, 0], "label": ["web", "web"], "sizes": ["all", "up to 10 kB"], "p95_fct_s": [0.25, 9.0]}
    )

    def of(**tables: pl.DataFrame) -> Any:
        made = {name: Table(tables.get(name, pl.DataFrame())) for name in ("flows", "datagrams", "transfers")}
        return SimpleNamespace(**made, axes=["path.loss"])

    assert list(verdict._datagrams_of_sweep(of(datagrams=datagrams))) == [
        "call had 95 % of its frames within 50 ms with loss 0%, 51 with loss 1%.",
        "ping had 95 % of its packets within 5 ms one way with loss 0%, 6 with loss 1%.",
        "udp had 95 % of its packets within 5 ms one way with loss 0%, 6 with loss 1%.",
    ]
    assert list(verdict._datagrams_of_sweep(of())) == list(verdict._traffic_of_sweep(of())) == []
    assert list(verdict._traffic_of_sweep(of(transfers=transfers))) == [
        "web needed for 95 % of its transfers up to 250 ms."
    ]
    assert verdict._without_guests(of(flows=flows, datagrams=datagrams)).rows() == [(0, 0, 1.0), (1, 0, 3.0)]
    assert verdict._without_guests(of(flows=flows)).height == 4
    assert verdict._without_guests(of(datagrams=datagrams)).height == 0
