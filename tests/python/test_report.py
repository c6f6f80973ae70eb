"""Tables for people, of results that are written here by hand: what stands where, and how numbers are written."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from dumbbell import agreement, report
from dumbbell.agreement import MEASURES
from dumbbell.agreement import Pair as Agreement
from dumbbell.columns import Column
from dumbbell.inference import HypothesisTest, Interval, anova
from dumbbell.measures import Measure
from dumbbell.posthoc import Pair
from dumbbell.results import Meta, Result, SweepResult
from dumbbell.statistics import Statistics, Summary
from dumbbell.tables import Table
from dumbbell.terminal import Grid

FLOW = {
    "label": "first", "cc": "cubic", "algorithm": "cubic-linux", "goodput_mbps": 9.5, "throughput_mbps": 9.75,
    "mean_rtt_ms": 41.25, "p95_rtt_ms": 60.5, "retransmits": 1200, "lost": 7, "rto_count": 1, "completion_s": None,
    "transfer_mbps": None, "messages": None, "mean_message_ms": None, "p95_message_ms": None, "mean_hol_ms": None,
    "p99_hol_ms": None, "hol_share": None,
}  # fmt: skip
LINK = {
    "name": "bottleneck", "utilization": 0.955, "mean_queue_bytes": 25_000, "p95_queue_bytes": 50_500,
    "arrivals": 20_000, "drops": 12, "losses": 3,
}  # fmt: skip
DATAGRAM = {
    "label": "call", "kind": "call", "sent": 1500, "loss": 0.0125, "p50_one_way_ms": 21.0, "p95_one_way_ms": 22.0,
    "p50_rtt_ms": 41.0, "p95_rtt_ms": 42.0, "rate_mbps": 1.5, "frames": 300, "late_frames": 4, "lost_frames": 2,
    "p95_frame_ms": 33.0,
}  # fmt: skip
SOURCE = {
    "label": "web", "algorithm": "reno-linux", "started": 1010, "completed": 1005, "goodput_mbps": 3.5,
    "mean_rtt_ms": 44.0, "retransmits": 17, "rto_count": 5, "pages": 20, "pages_total": 25, "mean_plt_s": 0.5,
    "p50_plt_s": 0.25, "p95_plt_s": 1.5, "p99_plt_s": 2.0, "rounds": 30, "rounds_total": 35, "mean_qct_s": 0.05,
    "p50_qct_s": 0.025, "p95_qct_s": 0.15, "p99_qct_s": 0.2,
}  # fmt: skip


def meta(**given: Any) -> Meta:
    known: dict[str, Any] = {
        "version": "1", "engine": "e", "label": "", "repeat": 0, "seed": 3, "content_hash": "a" * 64, "sim_s": 20.0,
        "cpu_s": 0.5, "wall_s": 0.6, "events": 10, "packets": 1500,
    }  # fmt: skip
    return Meta(**known | given)


def table(rows: list[dict[str, Any]]) -> Table:
    return Table(pl.DataFrame(rows, infer_schema_length=None))


def run(flows: list[dict[str, Any]], **others: Any) -> Result:
    for name in {"traffic", "datagrams", "pages", "rounds"} & set(others):
        others[name] = table(others[name])
    links = table(others.pop("links", [LINK]))
    rows = [FLOW | flow for flow in flows]
    return Result(table(rows), table([]), links, table([]), others.pop("meta", meta()), "", **others)


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines that were printed, with one space between words."""
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def cells(grid: Grid) -> list[list[str]]:
    """The headings, and the rows, as they would be printed."""
    lines = grid.markdown().replace("\\_", "_").replace("\\*", "*").splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in [lines[0], *lines[2:]]]


def test_numbers_have_four_digits_and_small_ones_three() -> None:
    for value, text in (
        (None, "-"), (math.nan, "-"), (math.inf, "-"), (0, "0"), (0.12345, "0.123"), (-0.12345, "-0.123"),
        (1, "1"), (1.23456, "1.235"), (-1.23456, "-1.235"), (999.94, "999.9"), (1000, "1,000"), (-1234.5, "-1,234"),
        (1234567.0, "1,234,567"),
    ):  # fmt: skip
        assert report.number(value) == text, value


def test_shares_have_two_digits() -> None:
    for share, text in ((0.1, "10 %"), (-0.163, "-16 %"), (0.0999, "10 %"), (0.00514, "0.51 %"), (1.0, "100 %")):
        assert report.percent(share) == text
    assert report.percent(0.104) == "10 %"


def test_a_flow_is_a_row_of_its_numbers() -> None:
    grid = report.flows_grid(run([{}, {"label": "two\x1b", "goodput_mbps": None, "lost": None, "rto_count": 1000}]))
    assert cells(grid) == [
        ["flow", "algorithm", "goodput Mbit/s", "throughput Mbit/s", "mean RTT ms", "p95 RTT ms", "retransm.", "lost",
         "RTOs"],
        ["first", "cubic-linux", "9.5", "9.75", "41.25", "60.5", "1,200", "7", "1"],
        ["two\\\\x1b", "cubic-linux", "-", "9.75", "41.25", "60.5", "1,200", "-", "1,000"],
    ]  # fmt: skip


def test_transfers_that_are_complete_have_their_time_and_rate() -> None:
    grid = report.flows_grid(run([{"completion_s": 2.5, "transfer_mbps": 8.25}, {}]))
    head, *rows = cells(grid)
    assert head[2:6] == ["goodput Mbit/s", "took s", "in that time Mbit/s", "throughput Mbit/s"]
    assert [row[2:6] for row in rows] == [["9.5", "2.5", "8.25", "9.75"], ["9.5", "-", "-", "9.75"]]


def test_a_link_is_a_row_with_queues_in_kilobytes() -> None:
    unknown = {"name": "fast", "utilization": None, "mean_queue_bytes": None, "p95_queue_bytes": None}
    grid = report.links_grid(run([{}], links=[LINK, LINK | unknown, LINK | {"utilization": math.inf}]))
    assert cells(grid) == [
        ["link", "utilisation", "mean queue kB", "p95 queue kB", "arrivals", "drops", "losses"],
        ["bottleneck", "95.5 %", "25", "50.5", "20,000", "12", "3"],
        ["fast", "-", "-", "-", "20,000", "12", "3"],
        ["bottleneck", "-", "25", "50.5", "20,000", "12", "3"],
    ]


def test_several_flows_have_a_sum_and_a_fairness() -> None:
    assert report.sum_and_fairness(run([{}])) is None
    two = run([{"goodput_mbps": 4.0}, {"goodput_mbps": 1.0}])
    assert report.sum_and_fairness(two) == "sum 5 Mbit/s, Jain's index 0.735"
    # What has no goodput has none; where nobody has any there is no fairness.
    starved = run([{"goodput_mbps": 4.0}, {"goodput_mbps": None}])
    assert report.sum_and_fairness(starved) == "sum 4 Mbit/s, Jain's index 0.500"
    assert report.sum_and_fairness(run([{"goodput_mbps": None}] * 2)) == "sum 0 Mbit/s"


def completions() -> Table:
    rows = [
        {"source": 0, "label": "web", "measured": True, "bytes": size, "fct_s": fct, "slowdown": slow}
        for size, fct, slow in ((1_000, 0.1, 2.0), (1_000, 0.3, 4.0), (50_000_000, None, None))
    ]
    return table(rows)


def test_a_source_of_traffic_has_its_numbers_and_its_completion_times_in_milliseconds() -> None:
    result = run([], traffic=[SOURCE], completions=completions())
    sources, sizes, count = report.traffic_grids(result)
    assert cells(sources) == [
        ["traffic", "algorithm", "started", "completed", "goodput Mbit/s", "mean RTT ms", "retransm.", "RTOs"],
        ["web", "reno-linux", "1,010", "1,005", "3.5", "44", "17", "5"],
    ]
    head, *rows = cells(sizes)
    assert head == [
        "traffic", "sizes", "transfers", "unfinished", "p50 FCT ms", "p95 FCT ms", "p99 FCT ms", "p50 slowdown",
        "p99 slowdown",
    ]  # fmt: skip
    assert count == len(rows)
    assert rows[0] == ["web", "all", "3", "1", "200", "290", "298", "3", "3.98"]
    assert rows[-1][2:] == ["1", "1", "-", "-", "-", "-", "-"]


def test_pages_and_rounds_are_rows_in_milliseconds_where_there_are_any() -> None:
    without = SOURCE | {"label": "other", "pages_total": 0, "rounds_total": 0}
    result = run([], traffic=[without, SOURCE])
    assert cells(report.pages_grid(result)) == [
        ["pages", "loaded", "mean load ms", "p50 load ms", "p95 load ms", "p99 load ms"],
        ["web", "20", "500", "250", "1,500", "2,000"],
    ]
    assert cells(report.rounds_grid(result)) == [
        ["incast", "rounds", "mean query ms", "p50 query ms", "p95 query ms", "p99 query ms"],
        ["web", "30", "50", "25", "150", "200"],
    ]
    earlier = run([], traffic=[{name: value for name, value in SOURCE.items() if name != "rounds_total"}])
    assert len(cells(report.rounds_grid(earlier))) == 1, "earlier versions counted no rounds"


def test_flows_of_datagrams_are_rows_of_losses_and_delays() -> None:
    probe = {"label": "ping", "kind": "probe", "loss": None, "frames": None, "late_frames": None, "p95_frame_ms": None}
    assert cells(report.datagrams_grid(run([], datagrams=[DATAGRAM, DATAGRAM | probe]))) == [
        ["datagrams", "kind", "sent", "loss", "p50 one way ms", "p95 one way ms", "p50 RTT ms", "p95 RTT ms",
         "rate Mbit/s", "frames", "late", "lost", "p95 frame ms"],
        ["call", "call", "1,500", "1.2 %", "21", "22", "41", "42", "1.5", "300", "4", "2", "33"],
        ["ping", "probe", "1,500", "-", "21", "22", "41", "42", "1.5", "-", "-", "2", "-"],
    ]  # fmt: skip


STREAMS = {
    "messages": 1400, "mean_message_ms": 51.0, "p95_message_ms": 52.0, "mean_hol_ms": 1.5, "p99_hol_ms": 12.5,
    "hol_share": 0.125,
}  # fmt: skip


def test_flows_with_streams_are_rows_of_waiting() -> None:
    assert report.streams_grid(run([{}])) is None
    grid = report.streams_grid(run([{}, STREAMS, STREAMS | {"label": "idle", "messages": 0, "hol_share": None}]))
    assert grid is not None
    assert cells(grid) == [
        ["streams", "messages", "mean message ms", "p95 message ms", "mean HoL ms", "p99 HoL ms", "waited %"],
        ["first", "1,400", "51", "52", "1.5", "12.5", "12.5"],
        ["idle", "0", "51", "52", "1.5", "12.5", "-"],
    ]


def sweep(flows: list[dict[str, Any]], points: list[Meta], **others: list[dict[str, Any]]) -> SweepResult:
    tables: dict[str, Any] = {name: table(rows) for name, rows in others.items()}
    return SweepResult(table([FLOW | flow for flow in flows]), table([LINK]), points, **tables)


def points(*losses: str, repeats: int = 2) -> list[Meta]:
    return [
        meta(repeat=repeat, seed=repeat, settings={"path.loss": loss}, content_hash=f"{number:064x}")
        for number, (loss, repeat) in enumerate((loss, repeat) for loss in losses for repeat in range(repeats))
    ]


def rows_of(of: dict[str, Any], *losses: str, **columns: list[Any]) -> list[dict[str, Any]]:
    """A row for each of two runs of each setting, with columns that differ."""
    keys = [{"point": 2 * at + repeat, "repeat": repeat, "path.loss": loss} for at, loss in enumerate(losses)
            for repeat in range(2)]  # fmt: skip
    return [of | key | {name: values[at] for name, values in columns.items()} for at, key in enumerate(keys)]


def test_a_sweep_has_means_over_runs_with_intervals() -> None:
    # Of two runs 2 apart, Student's interval is 12.7 to either side.
    flows = rows_of(
        FLOW, "0%", "1%", goodput_mbps=[8.0, 10.0, 5.0, None], mean_rtt_ms=[40.0, 42.0, 50.0, 50.0],
        p95_rtt_ms=[60.0, 62.0, 70.0, 71.0], retransmits=[0, 1, 2000, 2001], lost=[1, 1, 4, 6], rto_count=[0, 0, 0, 1],
    )  # fmt: skip
    grid, count = report.sweep_grid(sweep(flows, points("0%", "1%")))
    assert count == 2
    assert cells(grid) == [
        ["loss", "algorithm", "goodput Mbit/s", "mean RTT ms", "p95 RTT ms", "retransm.", "lost", "RTOs"],
        ["0%", "first (cubic-linux)", "9 ± 13", "41 ± 13", "61 ± 13", "0.5", "1", "0"],
        ["1%", "first (cubic-linux)", "5", "50", "70.5 ± 6.4", "2,000", "5", "0.5"],
    ]


def test_flows_of_a_run_are_one_sample_and_an_algorithm_is_named_once() -> None:
    flows = [
        FLOW | {"label": "cubic-linux", "point": point, "repeat": point, "path.loss": "0%", "goodput_mbps": goodput}
        for point, goodput in ((0, 1.0), (0, 3.0), (1, 3.0), (1, 5.0))
    ]
    grid, count = report.sweep_grid(sweep(flows, points("0%")))
    assert count == 1
    assert cells(grid) == [
        ["algorithm", "goodput Mbit/s", "mean RTT ms", "p95 RTT ms", "retransm.", "lost", "RTOs"],
        ["cubic-linux", "3 ± 13", "41.25", "60.5", "1,200", "7", "1"],
    ]


def test_the_title_of_a_sweep_says_what_its_numbers_are() -> None:
    apart = rows_of(FLOW, "0%", goodput_mbps=[8.0, 10.0])
    assert report.sweep_title(sweep(apart, points("0%"))) == "2 runs, mean of 2 with 95 % interval"
    alike = rows_of(FLOW, "0%", goodput_mbps=[8.0, 8.0])
    assert report.sweep_title(sweep(alike, points("0%"))) == "2 runs, mean of 2"
    half = rows_of(FLOW, "0%", "1%", goodput_mbps=[8.0, 8.0, 7.0, 6.0])
    assert report.sweep_title(sweep(half, points("0%", "1%"))) == "4 runs, mean of 2 with 95 % interval"
    once = rows_of(FLOW, "0%")[:1]
    assert report.sweep_title(sweep(once, points("0%", repeats=1))) == "1 runs"


def test_tables_of_a_sweep_of_what_is_no_lasting_flow() -> None:
    transfer = {"source": 0, "label": "web", "sizes": "all", "transfers": 10, "unfinished": 1, "p50_fct_s": 0.1,
                "p95_fct_s": 0.2, "p99_fct_s": 0.3}  # fmt: skip
    transfers = rows_of(transfer, "0%", transfers=[10, 11], unfinished=[1, 2], p50_fct_s=[0.1, 0.102])
    small = rows_of(transfer | {"sizes": "up to 10 kB"}, "0%")
    incasts = rows_of(SOURCE, "0%", rounds=[30, 33], mean_qct_s=[0.05, 0.052], goodput_mbps=[3.0, 3.0])
    no_incast = rows_of(SOURCE | {"label": "none", "rounds": None, "rounds_total": 0}, "0%")
    datagrams = rows_of(DATAGRAM, "0%", loss=[0.01, 0.01], late_frames=[4, 4])
    streams = rows_of(FLOW | STREAMS, "0%", messages=[1400, 1500])
    plain = rows_of(FLOW | {"label": "plain"}, "0%")
    found = report.others_of_sweep(
        sweep([*streams, *plain], points("0%"), transfers=[*transfers, *small], traffic=[*incasts, *no_incast],
              datagrams=datagrams)
    )  # fmt: skip
    assert list(found) == ["Completion times", "Query completion times", "Datagrams", "Streams"]
    assert [count for _, count in found.values()] == [1, 1, 1, 1]
    assert [cells(grid) for grid, _ in found.values()] == [
        [["loss", "traffic", "transfers", "unfinished", "p50 FCT ms", "p95 FCT ms", "p99 FCT ms"],
         ["0%", "web", "10.5", "1.5", "101 ± 13", "200", "300"]],
        [["loss", "incast", "rounds", "mean query ms", "p50 query ms", "p99 query ms", "goodput Mbit/s", "RTOs"],
         ["0%", "web", "31.5", "51 ± 13", "25", "200", "3", "5"]],
        [["loss", "datagrams", "loss %", "p95 one way ms", "p95 RTT ms", "rate Mbit/s", "late frames", "lost frames",
          "p95 frame ms"],
         ["0%", "call", "1", "22", "42", "1.5", "4", "2", "33"]],
        [["streams", "messages", "mean message ms", "p95 message ms", "mean HoL ms", "p99 HoL ms", "waited %"],
         ["first", "1,450", "51", "52", "1.5", "12.5", "12.5"]],
    ]  # fmt: skip


def test_streams_of_a_sweep_are_told_apart_by_its_settings() -> None:
    flows = rows_of(FLOW | STREAMS, "0%", "1%", messages=[1400, 1500, 1600, 1700])
    grid, count = report.others_of_sweep(sweep(flows, points("0%", "1%")))["Streams"]
    assert count == 2
    head, *rows = cells(grid)
    assert head[:3] == ["loss", "streams", "messages"]
    assert [row[:3] for row in rows] == [["0%", "first", "1,450"], ["1%", "first", "1,650"]]


def test_a_setting_that_some_points_do_not_have_and_a_metric_that_no_run_has_are_dashes() -> None:
    metas = [meta(repeat=number, settings=settings, content_hash=f"{number:064x}") for number, settings in
             enumerate([{"path.loss": "1%"}, {}])]  # fmt: skip
    flows = [FLOW | {"point": 0, "path.loss": "1%", "goodput_mbps": None}, FLOW | {"point": 1, "path.loss": None}]
    grid, count = report.sweep_grid(sweep(flows, metas))
    assert count == 2
    assert [[row[0], row[2]] for row in cells(grid)[1:]] == [["1%", "-"], ["-", "9.5"]]


def test_a_sweep_of_lasting_flows_has_no_other_tables() -> None:
    traffic = rows_of(SOURCE | {"rounds_total": 0}, "0%")
    assert report.others_of_sweep(sweep(rows_of(FLOW, "0%"), points("0%"), traffic=traffic)) == {}
    without_streams = [{name: value for name, value in row.items() if name != "messages"} for row in rows_of({}, "0%")]
    earlier = SweepResult(table([{"label": "a", "cc": "b"} | row for row in without_streams]), table([]), points("0%"))
    assert report.others_of_sweep(earlier) == {}


def test_settings_are_printed_as_they_were_written(capsys: pytest.CaptureFixture[str]) -> None:
    entry = {
        "name": "cubic", "exact_name": "cubic-linux", "summary": "a cube", "source": "a paper",
        "parameters": {"properties": {
            "hystart": {"default": True, "description": "leaves  slow\nstart", "x-source": "RFC 9406"},
            "fast": {"default": False}, "beta": {"default": 0.7, "description": "how much stays"}, "cap": {},
        }},
    }  # fmt: skip
    report.algorithm(entry)
    lines = printed(capsys)
    assert lines[:3] == ["cubic is cubic-linux", "a cube", "source: a paper"]
    assert lines[lines.index("hystart true leaves slow start [RFC 9406]") + 1 :][:3] == [
        "fast false", "beta 0.7 how much stays", "cap -",
    ]  # fmt: skip
    report.algorithm(entry | {"parameters": {}})
    assert "parameter default meaning [source]" in printed(capsys)
    report.algorithms([entry])
    lines = printed(capsys)
    assert "name exact name what it is" in lines
    assert "cubic cubic-linux a cube" in lines


def test_columns_and_measures_are_printed_with_their_units(capsys: pytest.CaptureFixture[str]) -> None:
    report.columns([Column("flows", "lost", "packets", "what `cubic` lost", ("simulator",))])
    assert "flows lost packets what cubic lost" in printed(capsys)
    report.measures([Measure("0 first", "share", 0.51234, "s", "a part")])
    assert "0 first share 0.512 s a part" in printed(capsys)


def test_two_results_are_printed_side_by_side_with_their_difference(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [
        Agreement(flow=0, label="a", measure="goodput_mbps", first=10.0, second=11.0),
        Agreement(flow=1, label="b", measure="goodput_mbps", first=0.0, second=11.0),
    ]
    report.side_by_side(pairs, ("here", "there"))
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[0][-3:] == ["here", "there", "difference"]
    assert [line[-4:] for line in lines if line[:1] == ["a"]] == [["10", "11", "+10.0", "%"]]
    assert [line[-3:] for line in lines if line[:1] == ["b"]] == [["0", "11", "-"]]
    report.side_by_side(pairs[:1] * 1000, ("here", "there"))
    rows = [line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["a"]]
    assert len(rows) == 40 * len(MEASURES)


def test_a_run_is_printed_with_all_that_it_has_and_what_it_cost(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(
        [{}, STREAMS], traffic=[SOURCE], completions=completions(), datagrams=[DATAGRAM], pages=[{"plt_s": 1.0}],
        rounds=[{"qct_s": 1.0}],
    )  # fmt: skip
    report.result(result, "my-run")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "my-run: 20 s, seed 3"
    kinds = {"flow", "link", "traffic", "pages", "incast", "datagrams", "streams"}
    heads = [line.split()[0] for line in lines if line.split() and line.split()[0] in kinds]
    assert heads == ["flow", "link", "traffic", "traffic", "pages", "incast", "datagrams", "streams"]
    assert "sum 19 Mbit/s, Jain's index 1.000" in lines
    assert lines[-1] == "1,500 packets in 0.50 s of CPU, 40 times real time"
    report.result(run([{}]))
    printed = capsys.readouterr().out
    assert not {"seed", "sum", "traffic", "pages", "incast", "datagrams", "streams"} & set(printed.split())
    report.result(run([], meta=meta(cpu_s=0.0), traffic=[SOURCE], completions=completions()), "none\n")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "none\\n: 20 s, seed 3"
    assert lines[-1] == "1,500 packets in 0.00 s of CPU"
    assert not any(line.split()[:1] == ["flow"] for line in lines)


def test_long_tables_end_after_forty_rows_and_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    more = "... and 1 more rows; --json or --out has them all"
    for count, said in ((40, False), (41, True)):
        numbered = [{"label": f"row{number}"} for number in range(count)]
        traffic = [SOURCE | row for row in numbered]
        links, datagrams = ([of | {"name": row["label"]} | row for row in numbered] for of in (LINK, DATAGRAM))
        many = run(numbered, links=links, datagrams=datagrams, traffic=traffic, completions=completions())
        sources, _, _ = report.traffic_grids(many)
        streams = report.streams_grid(run([STREAMS | row for row in numbered]))
        assert streams is not None
        for grid in (report.flows_grid(many), report.links_grid(many), report.datagrams_grid(many), sources, streams,
                     report.pages_grid(many), report.rounds_grid(many)):  # fmt: skip
            assert [row[0] for row in cells(grid)[1:]] == [f"row{number}" for number in range(40)]
        for shown in (report.result, lambda of: print(report.html(of))):
            shown(run(numbered))
            out = capsys.readouterr().out
            assert ("... and 1 more rows" in out) == ("more rows" in out) == said
        losses = [f"{number}%" for number in range(count)]
        swept = sweep([FLOW | {"point": at, "path.loss": loss} for at, loss in enumerate(losses)],
                      points(*losses, repeats=1))  # fmt: skip
        grid, rows = report.sweep_grid(swept)
        assert (len(cells(grid)) - 1, rows) == (40, count)
        report.result(swept)
        out = capsys.readouterr().out
        assert (more in out) == ("more rows" in out) == said
        assert ("<p>... and 1 more rows</p>" in report.html(swept)) == said


def test_a_sweep_is_printed_with_its_name_and_what_all_of_it_cost(capsys: pytest.CaptureFixture[str]) -> None:
    swept = sweep(rows_of(FLOW, "0%"), points("0%"), datagrams=rows_of(DATAGRAM, "0%"))
    report.result(swept, "mine")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "mine: 2 runs, mean of 2"
    assert "Datagrams, mine: 2 runs, mean of 2" in lines
    assert lines[-1] == "3,000 packets in 1.00 s of CPU, 40 times real time"
    report.result(swept)
    assert capsys.readouterr().out.splitlines()[0] == "2 runs, mean of 2"


def test_a_page_of_a_run_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert report.html(run([{}])).startswith("<p>20 s, seed 3</p><table>")
    named = report.html(run([{}, {}], meta=meta(label="a<b", sim_s=1.5)))
    assert named.startswith("<p>a&lt;b: 1.5 s, seed 3</p><table>")
    assert named.endswith("</table><p>sum 19 Mbit/s, Jain&#x27;s index 1.000</p>")
    swept = report.html(sweep(rows_of(FLOW, "0%"), points("0%")))
    assert swept.startswith("<p>2 runs, mean of 2</p><table>") and swept.endswith("</table>")


def found(**given: Any) -> Statistics:
    def summary(name: str, mean: float, effective: float | None = None) -> Summary:
        return Summary(name, 1500, Interval(mean, mean - 2, mean + 2, 1500, 0.75), Interval(mean + 1, 0, 9, 1500),
                       (mean - 1, mean + 3), effective)  # fmt: skip

    known: dict[str, Any] = {
        "metric": "goodput_mbps", "groups": [summary("a", 5.0), summary("b", 8.0)], "anova": None, "tests": [],
        "method": "holm", "pairs": [], "notes": [],
    }  # fmt: skip
    if given.pop("of_points", False):
        known["groups"] = [summary("a", 5.0, 123.6), summary("b", 8.0, 1500.0)]
    return Statistics(**known | given)


def test_groups_are_printed_with_intervals_and_quartiles(capsys: pytest.CaptureFixture[str]) -> None:
    report.statistics(found())
    lines = printed(capsys)
    assert lines[0] == "goodput_mbps of 2 groups"
    assert "group runs mean, 95 % sd median quartiles" in lines
    assert "a 1,500 5 ± 2 0.75 6 4 to 8" in lines
    assert not any("variance" in line for line in lines)
    report.statistics(found(groups=found().groups[:1]))
    assert printed(capsys)[0] == "goodput_mbps of 1 group"
    report.statistics(found(of_points=True))
    lines = printed(capsys)
    assert "group points worth mean, 95 % sd median quartiles" in lines
    assert "a 1,500 124 5 ± 2 0.75 6 4 to 8" in lines


def test_tests_and_pairs_are_printed_with_their_probabilities(capsys: pytest.CaptureFixture[str]) -> None:
    tests = [
        HypothesisTest("ANOVA", "means", 12.5, (1.0, 17.25678), 0.0123),
        HypothesisTest("Levene", "variances", 0.5, (2.0,), 0.00009),
        HypothesisTest("Kruskal", "ranks", 0.5, (2.0,), 0.0001),
    ]
    pairs = [Pair(0, 1, Interval(-3.0, -4.5, -1.5, 20), 0.5)]
    one_way = anova([[1, 2, 3], [2, 3, 4]])
    statistics = found(tests=tests, pairs=pairs, anova=one_way, notes=["mind & this"])
    report.statistics(statistics)
    lines = printed(capsys)
    for line in (
        "do they differ?", "test statistic df p at 5 %", "ANOVA 12.5 1, 17.26 0.012 means differ",
        "Levene 0.5 2 <0.0001 variances differ", "Kruskal 0.5 2 0.0001 ranks differ",
        "which do? Welch's t tests with Holm's correction", "pair difference 95 % interval p at 5 %",
        "a - b -3 -4.5 to -1.5 0.5 not shown to differ",
        "27.3 % of the variance is between groups (eta squared 0.273, omega squared 0.077)",
    ):  # fmt: skip
        assert line in lines, line
    page = report.statistics_html(statistics)
    assert page.count("<table>") == 3
    assert page.startswith("<p>goodput_mbps of 2 groups</p><table>")
    assert page.endswith("omega squared 0.077)</p><p>mind &amp; this</p>")
    assert report.statistics_html(found()).endswith("</table>")


def test_many_groups_and_pairs_end_after_forty(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [Pair(0, 1, Interval(-3.0, -4.5, -1.5, 20), 0.5)] * 42
    report.statistics(found(pairs=pairs))
    out = capsys.readouterr().out
    assert out.count("a - b") == 40
    assert "... and 2 more rows" in out
    report.statistics(found(groups=[found().groups[0]] * 41))
    out = capsys.readouterr().out
    assert sum(line.split()[:2] == ["a", "1,500"] for line in out.splitlines()) == 40
    assert "... and 1 more rows" in out


def test_two_results_agree_measure_by_measure() -> None:
    numbers = {"goodput_mbps": 10.0, "mean_rtt_ms": None, "acks": 3, "network_drops": math.nan, "lost": 5}
    first = run([numbers, numbers | {"label": "two"}])
    second = run(
        [numbers | {"label": "other", "goodput_mbps": 9.0, "mean_rtt_ms": 41.0, "acks": True}, {"label": "two"}]
    )
    found = agreement.pairs(first, second)
    assert {pair.label for pair in found if pair.flow == 0} == {"first | other"}
    assert {pair.label for pair in found if pair.flow == 1} == {"two"}
    by_measure = {pair.measure: pair for pair in found if pair.flow == 0}
    assert "lost" not in by_measure and "network_drops" not in by_measure, "neither has it"
    assert (by_measure["mean_rtt_ms"].first, by_measure["mean_rtt_ms"].second) == (None, 41.0)
    assert by_measure["mean_rtt_ms"].difference is None
    assert by_measure["goodput_mbps"].difference == pytest.approx(-0.1)
    assert by_measure["acks"].second is None, "a truth value is no number"
    assert by_measure["goodput_mbps"].to_json() == {
        "flow": 0, "label": "first | other", "measure": "goodput_mbps", "first": 10.0, "second": 9.0,
        "difference": pytest.approx(-0.1),
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"different experiments: flows \['first'\] and \['first', 'first'\]"):
        agreement.pairs(run([{}]), run([{}, {}]))
    assert agreement.name(first) == "simulator"
    assert agreement.name(run([{}], meta=meta(certificate={"kernel": "6.18"}))) == "Linux 6.18"
