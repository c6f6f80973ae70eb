"""Pages about results: what they say, and that they are whole."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import pages, printable, report
from dumbbell.advice import rule, words
from dumbbell.pages import charts, content, verdict
from dumbbell.pages.advice import advice, sentences
from dumbbell.pages.limits import limits, of_sweep
from dumbbell.plots import Picture, ResultPlots
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
