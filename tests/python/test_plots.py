"""Pictures: what they show, and that an algorithm looks the same in all of them."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

import dumbbell as db
from conftest import Cli
from dumbbell import catalogue, metrics
from dumbbell.pages import charts
from dumbbell.plots import (
    Picture,
    capacity,
    distribution,
    limits,
    metric,
    panels,
    style,
    summary,
    timeseries,
    transfers,
)
from dumbbell.plots.axes import Scale, label_of, least_span, plain_log_ticks, vertical
from dumbbell.plots.capacity import capacity_over_time
from dumbbell.plots.distribution import samples_of_run
from dumbbell.results import following_axes, leading_axes, separating_axes


def labels(picture: Picture) -> list[str]:
    return [text for axes in picture.axes for text in (axes.get_xlabel(), axes.get_ylabel()) if text]


def entries(picture: Picture) -> list[str]:
    return [text.get_text() for legend in picture.legends for text in legend.get_texts()]


@pytest.fixture(scope="module")
def curve() -> db.SweepResult:
    return db.compare("bbr", "cubic", loss=["0%", "0.1%", "1%"], duration="3s", repeat=2)


def test_the_overview_has_units_on_every_axis_and_one_entry_an_algorithm(result: db.Result) -> None:
    picture = result.plot.overview()
    assert len(picture.axes) == 5
    assert all("(" in label for label in labels(picture))
    assert entries(picture)[:3] == ["cubic", "bbr", "in flight"]
    assert {"full link", "slow start"} <= set(entries(picture)[3:])


def test_the_overview_draws_the_samples_that_were_recorded(result: db.Result) -> None:
    rtt = result.plot.overview().axes[1]
    drawn = {str(line.get_color()): np.asarray(line.get_ydata(), dtype=float) for line in rtt.get_lines()}
    series = result.series.to_polars()
    for flow, name in enumerate(("cubic", "bbr")):
        recorded = series.filter(series["flow"] == flow)["srtt_ms"].drop_nulls()
        assert np.nanmax(drawn[style.look(name).colour]) == pytest.approx(recorded.max())


def test_reference_lines_are_capacity_base_rtt_and_bdp(result: db.Result) -> None:
    texts = [text.get_text() for axes in result.plot.overview().axes for text in axes.texts]
    assert texts == ["capacity 10", "base 40", "BDP 33.3"]


def test_the_bdp_of_a_link_is_that_of_the_longest_flow_that_crosses_it() -> None:
    links = [
        {"from": "a", "to": "b", "rate": "20mbit", "delay": "3ms"},
        {"from": "b", "to": "c", "rate": "2mbit", "delay": "47ms"},
    ]
    far, near = {"cc": "cubic", "from": "a", "to": "c"}, {"cc": "reno", "from": "a", "to": "b"}
    elsewhere = {"cc": "vegas", "from": "b", "to": "c"}
    for flows, said in (([far, near], ("100", "167")), ([near, elsewhere], ("6", "10"))):
        result = db.run({"duration": "3s", "links": links, "flows": flows})
        drawn = result.plot.overview()
        assert drawn.axes[2].get_ylabel().startswith("queue of\na-b ")
        texts = [text.get_text() for axes in drawn.axes for text in axes.texts]
        assert texts == ["capacity 20", f"base {said[0]}", f"BDP {said[1]}"]
        (over_time,) = charts.of_run(result)
        on_page = [ref["name"] for panel in over_time["runs"][0]["panels"] for ref in panel["refs"]]
        assert on_page == ["capacity 20", f"without a queue {said[0]}", f"BDP {said[1]}"]


def test_the_bdp_of_a_path_is_that_of_its_own_round_trip_time(tmp_path: Path) -> None:
    flows = [{"cc": "cubic", "rtt": "40ms"}, {"cc": "reno", "rtt": "80ms"}]
    result = db.run({"duration": "2s", "path": {"rate": "12mbit", "rtt": "20ms"}, "flows": flows})
    for one in (result, db.load_result(result.save(tmp_path / "out"))):
        texts = [text.get_text() for axes in one.plot.overview().axes for text in axes.texts]
        assert texts == ["capacity 12", "base 40", "BDP 20"]


def test_lines_of_a_picture_differ_in_dashes_or_marker_too() -> None:
    kinds = [(cc, f"{cc}, loss {loss}") for cc in ("bbr", "bbr3", "cubic", "reno") for loss in ("0%", "0.1%", "1%")]
    chosen = style.looks(kinds)
    assert len({(look.dashes, look.marker) for look in chosen.values()}) == len(kinds)
    for cc in ("bbr", "bbr3", "cubic", "reno"):
        assert chosen[cc, f"{cc}, loss 0%"] == style.look(cc)
        assert len({look.colour for (name, _), look in chosen.items() if name == cc}) == 1


def test_the_capacity_that_changes_is_in_the_legend() -> None:
    document = {
        "duration": "2s",
        "path": {"rate": {"steps": [["0s", "10mbit"], ["1s", "5mbit"]]}, "rtt": "40ms"},
        "flows": [{"cc": "cubic"}],
    }
    run = db.run(document)
    for drawn in (run.plot.overview(), run.plot.series("received_mbps")):
        assert "capacity" in [text.get_text() for text in drawn.legends[0].get_texts()]


def test_the_highest_mark_lies_below_the_top(curve: db.SweepResult) -> None:
    axes = curve.plot.metric("path.loss", "goodput_mbps").axes[0]
    assert axes.get_ylim()[1] > 1.04 * max(float(np.nanmax(line.get_ydata())) for line in axes.get_lines())


def test_a_sweep_without_series_has_its_other_pictures(tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    sweep = db.compare("bbr", "cubic", duration="1s", out=out)
    assert "overview" in sweep.plot.suitable()
    document = {"duration": "1s", "record": {"series": False}, "path": {"rate": "10mbit", "rtt": "40ms"}}
    bare = db.sweep(document | {"flows": [{"cc": "bbr"}], "sweep": {"flows[0].cc": ["bbr", "cubic"]}}, out=out / "bare")
    assert set(bare.collect().plot.suitable()) == {"tradeoff"}


def test_a_run_without_series_says_how_to_record_them() -> None:
    document = {"duration": "1s", "record": {"series": False}, "path": {"rate": "10mbit", "rtt": "40ms"}}
    bare = db.run(document | {"flows": [{"cc": "bbr"}]})
    with pytest.raises(ValueError, match=r"record\.series"):
        bare.plot.overview()


def test_a_column_can_be_drawn_alone_and_a_wrong_one_is_refused(result: db.Result) -> None:
    assert labels(result.plot.series("pacing_mbps")) == ["time (s)", "pacing rate (Mbit/s)"]
    with pytest.raises(ValueError, match="pacing_mbps"):
        result.plot.series("pacing")


def test_delay_falls_to_the_right_in_the_tradeoff(result: db.Result) -> None:
    axes = result.plot.tradeoff().axes[0]
    left, right = axes.get_xlim()
    assert left > right
    assert axes.get_xscale() == "log"


def test_the_loss_curve_has_a_line_an_algorithm_and_a_point_a_loss(curve: db.SweepResult) -> None:
    picture = curve.plot.loss_curve()
    assert entries(picture) == ["bbr", "cubic"]
    assert labels(picture) == ["loss (%)", "goodput (Mbit/s)"]
    lines = picture.axes[0].get_lines()
    assert [np.asarray(line.get_xdata()).tolist() for line in lines] == [pytest.approx([0, 0.1, 1])] * 2


def test_a_sweep_without_loss_has_no_loss_curve() -> None:
    sweep = db.compare("bbr", "cubic", duration="1s")
    with pytest.raises(ValueError, match=r"path\.loss"):
        sweep.plot.loss_curve()
    assert "loss-curve" not in sweep.plot.suitable()


def test_familiar_algorithms_differ_in_colour_and_marker() -> None:
    looks = [style.look(name) for name in ("bbr", "cubic", "reno", "bbr2", "bbr3", "vegas", "westwood")]
    assert len({look.colour for look in looks}) == len(looks)
    assert len({look.marker for look in looks}) == len(looks)


def test_an_algorithm_looks_the_same_whatever_else_is_drawn() -> None:
    assert style.looks([("cubic", "cubic"), ("bbr", "bbr")])["bbr", "bbr"] == style.look("bbr")
    assert style.look("my-own-algorithm") == style.look("my-own-algorithm")
    variants = style.looks([("bbr", "paced"), ("bbr", "unpaced")])
    assert variants["bbr", "paced"].colour == variants["bbr", "unpaced"].colour
    assert variants["bbr", "paced"].marker != variants["bbr", "unpaced"].marker


def test_pictures_are_written_in_three_formats_and_the_same_bytes_each_time(result: db.Result, tmp_path: Path) -> None:
    first = [path.read_bytes() for path in result.plot.tradeoff().write(tmp_path / "a" / "tradeoff")]
    second = [path.read_bytes() for path in result.plot.tradeoff().write(tmp_path / "b" / "tradeoff")]
    assert [content[:4] for content in first] == [b"\x89PNG", b"<?xm", b"%PDF"]
    assert first == second
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["tradeoff.pdf", "tradeoff.png", "tradeoff.svg"]


def test_all_formats_of_a_picture_have_one_layout_and_it_can_be_laid_out_again(tmp_path: Path) -> None:
    with style.picture() as figure:
        axes = figure.subplots()
        axes.set_ylabel("throughput (Mbit/s)")
    layout = figure.get_layout_engine()
    assert layout is not None
    figure.write(tmp_path / "first", ["png"])
    found = axes.get_position().bounds
    figure.write(tmp_path / "all")
    assert axes.get_position().bounds == found
    assert figure.get_layout_engine() is layout
    axes.set_ylabel("a\nlabel\nof\nfour lines")
    figure.write(tmp_path / "changed", ["png"])
    assert axes.get_position().bounds != found


def test_drawings_have_no_more_digits_than_can_be_seen() -> None:
    with style.picture() as figure:
        figure.subplots().plot([0, 1 / 3, 1], [0, 2 / 3, 0.1])
    svg = figure.encoded("svg").decode()
    places = re.findall(r' (?:d|x|y)="([^"]*)"', svg)
    assert len(places) > 10
    assert not [place for place in places if re.search(r"\.\d{3}", place)]
    # The factors that scale letters keep theirs.
    assert re.search(r"scale\(0\.\d{3,}", svg)


def test_a_legend_of_several_rows_has_rows_of_the_same_length() -> None:
    with style.picture(6.0, 3.0) as figure:
        figure.subplots()
        style.legend(figure, [Line2D([], [], label=f"algorithm {index}") for index in range(8)])
    assert figure.legends[0]._ncols == 4  # type: ignore[attr-defined]


def test_numbers_on_a_map_contrast_with_it() -> None:
    with style.picture() as figure:
        shades = figure.subplots().imshow([[0.0, 1.0]], cmap="gray")
    assert [style.ink_on(shades, value) for value in (0.0, 0.3, 0.6, 1.0)] == ["white", "white", "black", "black"]


def test_each_colour_counts_as_much_as_it_is_bright() -> None:
    colours = [(1, 0, 0), (0.9, 0, 0), (0, 0.5, 0), (0, 0.48, 0), (0, 0, 1), (0.03, 0.03, 0.03), (0.46, 0.46, 0.46)]
    with style.picture() as figure:
        scale = mpl.colors.ListedColormap(colours)
        shades = figure.subplots().imshow([[0.0, len(colours)]], cmap=scale, vmin=0, vmax=len(colours))
    inks = [style.ink_on(shades, number + 0.5) for number in range(len(colours))]
    assert inks == ["black", "white", "white", "white", "white", "white", "white"]


def test_no_two_algorithms_of_a_picture_look_the_same() -> None:
    names = [entry["name"] for entry in catalogue.entries()]
    for start in range(0, len(names) - 7):
        chosen = style.looks([(name, name) for name in names[start : start + 7]])
        assert len({look.colour for look in chosen.values()}) == 7
        assert len({look.marker for look in chosen.values()}) == 7
    crowd = style.looks([(name, name) for name in names[:30]])
    assert len({(look.colour, look.dashes, look.marker) for look in crowd.values()}) == 30
    assert crowd["bbr", "bbr"] == style.look("bbr")


def test_a_legend_names_the_algorithm_also_of_flows_with_labels_of_their_own(tmp_path: Path) -> None:
    document = {
        "duration": "3s",
        "path": {"rate": "10mbit", "rtt": "40ms"},
        "flows": [{"cc": "bbr", "label": "first"}, {"cc": "bbr", "label": "late", "start": "1s"}],
        "sweep": {"flows[*].cc": ["bbr", "cubic"], "repeat": 2},
    }
    sweep = db.sweep(document, out=tmp_path).collect()
    expected = ["first (bbr)", "late (bbr)", "first (cubic)", "late (cubic)"]
    assert entries(sweep.plot.tradeoff()) == expected
    overview = sweep.plot.overview()
    assert [entry.split(", ")[0] for entry in entries(overview)][:5] == [*expected, "in flight"]
    assert overview.legends[0].get_title().get_text() == "the first of 2 repetitions"


def test_a_flow_that_has_stopped_is_not_drawn_on() -> None:
    document = {
        "duration": "4s",
        "path": {"rate": "10mbit", "rtt": "40ms"},
        "flows": [{"cc": "cubic"}, {"cc": "bbr", "stop": "2s"}],
    }
    result = db.run(document)
    rtt = result.plot.overview().axes[1]
    ends = [float(np.nanmax(np.asarray(line.get_xdata(), dtype=float))) for line in rtt.get_lines()[:2]]
    assert ends[0] > 3.9
    assert 2 <= ends[1] < 2.5
    stopped = dict(samples_of_run(result, "rtt_ms"))["bbr", "bbr"]
    assert len(stopped) < 130


def test_settings_that_tell_rows_apart_are_those_that_vary_within_an_algorithm_and_label() -> None:
    flows = pl.DataFrame(
        {
            "cc": ["bbr", "bbr", "cubic", "cubic"],
            "label": [""] * 4,
            "path.loss": [0.0, 0.1] * 2,
            "queue": ["a", "a", "b", "b"],
        }
    )
    assert separating_axes(flows, ["path.loss", "queue", "absent"]) == ["path.loss"]
    assert separating_axes(flows, ["path.loss", "queue"], ["path.loss", "cc"]) == []


def test_of_settings_that_move_together_the_one_with_more_values_or_the_first_leads() -> None:
    flows = pl.DataFrame(
        {"rate": [1, 2, 3, 4] * 2, "buffer": list("abcd") * 2, "queue": list("xxyy") * 2, "loss": [0] * 4 + [1] * 4}
    )
    axes = ["queue", "rate", "buffer", "loss"]
    assert leading_axes(flows, axes) == ["rate", "loss"]
    assert following_axes(flows, axes, "rate") == ["queue", "buffer"]
    assert following_axes(flows, axes, "queue") == following_axes(flows, axes, "loss") == []


def test_an_axis_names_the_other_settings_that_move_along_with_it_once() -> None:
    flows = pl.DataFrame(
        {"cc": "bbr", "label": "", "a.rate": [1, 2], "b.rate": [1, 2], "a.b_c": [3, 4], "d.b_c": [3, 4]}
    )
    axes = ["a.rate", "b.rate", "a.b_c", "d.b_c"]
    assert metric.with_followers("rate", flows, axes, "a.rate") == "rate, with b c"
    assert metric.with_followers("rate", flows, ["a.rate", "b.rate"], "a.rate") == "rate"


def test_settings_that_move_together_are_one_axis() -> None:
    rates, queues = ["2mbit", "4mbit", "8mbit"], ["0.5bdp", "1bdp", "2bdp"]
    document = {
        "duration": "2s",
        "path": {"rate": "2mbit", "rtt": "20ms"},
        "flows": [{"cc": "cubic"}],
        "sweep": {"path.rate": rates, "path.buffer": queues, "zip": [["path.rate", "path.buffer"]]},
    }
    sweep = db.sweep(document).collect()
    for x, label in (("rate", "rate (Mbit/s), with buffer"), ("buffer", "buffer (BDP), with rate")):
        axes = sweep.plot.metric(x).axes[0]
        assert [np.asarray(line.get_xdata()).size for line in axes.get_lines()] == [3]
        assert axes.get_xlabel() == label
    assert entries(sweep.plot.box("rate")) == ["cubic"]
    suitable = sweep.plot.suitable()
    assert list(suitable) == ["tradeoff"]
    assert len(suitable["tradeoff"].axes) == 1
    titles = [chart["title"] for chart in charts.of_sweep(sweep) if chart["kind"] == "setting"]
    assert titles == ["Goodput (Mbit/s) over rate", "95th percentile of RTT (ms) over rate"]
    crossed = document | {"sweep": document["sweep"] | {"path.loss": ["0%", "1%"]}}  # type: ignore[operator]
    lossy = db.sweep(crossed).collect()
    assert entries(lossy.plot.metric("rate")) == ["cubic, loss 0%", "cubic, loss 1%"]
    assert entries(lossy.plot.metric("loss"))[0] == "cubic, rate 2mbit, buffer 0.5bdp"


def test_an_axis_of_noise_is_not_drawn_large() -> None:
    flows = pl.DataFrame(
        {"cc": ["bbr", "cubic"], "label": ["bbr", "cubic"], "p95_rtt_ms": [119.438, 119.437], "goodput_mbps": [5.0, 5]}
    )
    left, right = summary.tradeoff(flows).axes[0].get_xlim()
    assert left / right > 1.09


def test_marks_with_one_setting_have_one_name() -> None:
    sweep = db.compare("bbr", "cubic", buffer=["1bdp", "2bdp"], duration="2s")
    texts = [text.get_text() for text in sweep.plot.tradeoff().axes[0].texts]
    assert texts
    assert not [text for text in texts if len(set(text.split(" to "))) < len(text.split(" to "))]


@pytest.fixture(scope="module")
def grid() -> db.SweepResult:
    return db.compare(
        "bbr", "cubic", buffer=["0.5bdp", "1bdp", "20bdp"], rtt=["20ms", "40ms"], loss="1%", duration="3s", repeat=3
    )


def test_a_metric_over_a_setting_has_numbers_on_its_axis_and_a_band_over_seeds(grid: db.SweepResult) -> None:
    picture = grid.plot.metric("buffer", "goodput_mbps", where={"rtt": "20ms"})
    axes = picture.axes[0]
    assert axes.get_xlabel() == "buffer (BDP)"
    assert axes.get_xscale() == "log"
    assert [np.asarray(line.get_xdata()).tolist() for line in axes.get_lines()] == [[0.5, 1.0, 20.0]] * 2
    assert entries(picture) == ["bbr", "cubic"]
    assert len(axes.collections) == 2
    flows = grid.flows.to_polars()
    own = flows.filter((flows["cc"] == "bbr") & (flows["path.rtt"] == "20ms") & (flows["path.buffer"] == "1bdp"))
    assert np.asarray(axes.get_lines()[0].get_ydata())[1] == pytest.approx(own["goodput_mbps"].mean())


def test_settings_that_would_be_mixed_are_told_apart(grid: db.SweepResult) -> None:
    picture = grid.plot.metric("path.buffer", "p95_rtt_ms")
    assert entries(picture) == ["bbr, rtt 20ms", "cubic, rtt 20ms", "bbr, rtt 40ms", "cubic, rtt 40ms"]


def test_a_flow_whose_company_is_varied_has_a_line_for_each_of_them() -> None:
    document = {
        "duration": "2s",
        "path": {"rate": "5mbit", "rtt": "20ms"},
        "flows": [{"cc": "cubic"}, {"cc": "reno", "label": "other"}],
        "sweep": {"path.buffer": ["1bdp", "4bdp"], "flows[0].cc": ["cubic", "bbr"]},
    }
    sweep = db.sweep(document).collect()
    expected = ["cubic", "other (reno), cc cubic", "bbr", "other (reno), cc bbr"]
    assert sorted(entries(sweep.plot.metric("buffer"))) == sorted(expected)
    assert sorted(entries(sweep.plot.box("buffer"))) == sorted(expected)
    over_buffer = next(chart for chart in charts.of_sweep(sweep) if chart["kind"] == "setting")
    lines = over_buffer["parts"][0]["lines"]
    assert sorted(line["name"] for line in lines) == sorted(expected)
    assert len({(line["colour"], *line["dash"]) for line in lines}) == 4
    two = document | {
        "flows": [{"cc": "cubic"}, {"cc": "reno"}, {"cc": "vegas", "label": "third"}],
        "sweep": {"path.buffer": ["1bdp", "4bdp"], "flows[0].cc": ["cubic", "bbr"], "flows[1].cc": ["reno", "bbr2"]},
    }
    named = entries(db.sweep(two).collect().plot.metric("buffer", where={"label": "third"}))
    assert named[0] == "third (vegas), flows[0].cc cubic, flows[1].cc reno"
    assert len(set(named)) == 4


def test_jain_is_a_metric_of_a_run() -> None:
    sweep = db.compare("bbr", "cubic", together=True, buffer=["1bdp", "4bdp"], duration="3s")
    line = sweep.plot.metric("buffer", "jain").axes[0].get_lines()[0]
    flows = sweep.flows.to_polars()
    rates = flows.filter(flows["path.buffer"] == "1bdp")["goodput_mbps"].to_list()
    assert np.asarray(line.get_ydata())[0] == pytest.approx(metrics.jain(rates))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"x": "delay"}, "it varies path.rtt, path.buffer"),
        ({"x": "buffer", "y": "goodputt"}, "goodput_mbps"),
        ({"x": "buffer", "where": {"rtt": "30ms"}}, "there are 20ms, 40ms"),
        ({"x": "buffer", "by": "colour"}, "does not vary colour"),
    ],
)
def test_a_metric_that_there_is_not_is_refused(grid: db.SweepResult, arguments: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        grid.plot.metric(**arguments)


def test_a_map_shows_the_mean_of_each_pair_of_values(grid: db.SweepResult) -> None:
    axes = grid.plot.heat_map("buffer", "rtt", where={"cc": "cubic"}).axes[0]
    shown = {text.get_text() for text in axes.texts}
    flows = grid.flows.to_polars()
    cell = flows.filter((flows["cc"] == "cubic") & (flows["path.rtt"] == "40ms") & (flows["path.buffer"] == "0.5bdp"))
    assert f"{np.mean(cell['goodput_mbps'].to_numpy()):.3g}" in shown
    assert len(shown) <= 6


def test_a_metric_that_no_flow_has_is_refused_and_not_drawn_as_an_empty_picture(
    grid: db.SweepResult, result: db.Result
) -> None:
    pictures: list[Callable[[], Picture]] = [
        lambda: grid.plot.metric("buffer", "completion_s"),
        lambda: grid.plot.box("buffer", "completion_s"),
        lambda: grid.plot.heat_map("buffer", "rtt", "completion_s"),
        lambda: grid.plot.cdf("completion_s"),
    ]
    for draw in pictures:
        with pytest.raises(ValueError, match="there is no value of completion_s"):
            draw()
    unread = replace(result, series=db.Table(result.series.to_polars().with_columns(srtt_ms=pl.lit(None, pl.Float64))))
    for draw in (lambda: unread.plot.series("srtt_ms"), lambda: unread.plot.shares("srtt_ms")):
        with pytest.raises(ValueError, match="there is no value of srtt_ms"):
            draw()


def test_a_sweep_of_flows_without_round_trips_has_a_picture_of_their_goodput_alone() -> None:
    flow = {"transport": "udp", "rate": "3mbit"}
    base = {"duration": "2s", "path": {"rate": "2mbit", "rtt": "20ms"}, "flows": [flow]}
    swept = {"sweep": {"path.rate": ["1mbit", "2mbit"], "path.rtt": ["10ms", "20ms"]}}
    sweep = db.sweep(base, set=swept, jobs=1).collect()
    assert [name.split("-")[0] for name in sweep.plot.suitable()] == ["goodput_mbps"]


def test_a_map_of_one_setting_is_refused(grid: db.SweepResult) -> None:
    with pytest.raises(ValueError, match=r"a map is over two settings, and both axes are path\.rtt"):
        grid.plot.heat_map("path.rtt", "rtt")


def test_boxes_and_distributions_hold_every_run(grid: db.SweepResult) -> None:
    boxes = grid.plot.box("buffer", "p95_rtt_ms", where={"rtt": "20ms"})
    assert entries(boxes) == ["bbr", "cubic"]
    lines = grid.plot.cdf("goodput_mbps").axes[0].get_lines()
    assert [len(np.asarray(line.get_xdata())) for line in lines] == [18, 18]


def test_shares_stack_up_to_the_throughput_of_all(result: db.Result) -> None:
    areas = result.plot.shares().axes[0].collections
    top = max(float(np.asarray(path.vertices)[:, 1].max()) for path in areas[-1].get_paths())
    assert 9 < top < 11


def test_the_capacity_of_a_changing_link_lies_behind_the_throughput() -> None:
    path = {"rate": [["0s", "10mbit"], ["1s", "2mbit"]], "rtt": "40ms"}
    result = db.run({"duration": "2s", "path": path, "flows": [{"cc": "bbr"}]})
    t, rate = capacity_over_time(result, 0, 10) or ([], [])
    assert (list(t), list(rate)) == ([0, 1, 2], [10, 2, 2])
    trace = {"trace": list(range(1, 1001)), "rtt": "40ms"}
    result = db.run({"duration": "2s", "path": trace, "flows": [{"cc": "bbr"}]})
    t, rate = capacity_over_time(result, 0, 10) or ([], [])
    assert list(rate) == pytest.approx([12] * 11, rel=0.02)
    assert len(result.plot.overview().axes[0].collections) == 1
    constant = db.run({"duration": "1s", "path": {"rate": "10mbit", "rtt": "40ms"}, "flows": [{"cc": "bbr"}]})
    assert capacity_over_time(constant, 0, 10) is None


def test_pictures_draw_into_a_panel_of_somebody_else(result: db.Result, grid: db.SweepResult) -> None:
    figure = Figure()
    places = figure.subplots(2, 2)
    result.plot.cdf("rtt_ms", ax=places[0, 0])
    result.plot.shares(ax=places[0, 1])
    grid.plot.metric("buffer", where={"rtt": "20ms"}, ax=places[1, 0])
    grid.plot.tradeoff(ax=places[1, 1])
    assert len(figure.axes) == 4
    assert places[1, 0].get_xlabel() == "buffer (BDP)"
    assert all(axes.get_legend() is not None for axes in figure.axes)


def test_size_letters_and_ground_can_be_chosen(result: db.Result) -> None:
    with db.plots.appearance(size=(3.3, 2.2), font_size=7, style="dark"):
        picture = result.plot.tradeoff()
    assert tuple(picture.get_size_inches()) == (3.3, 2.2)
    assert picture.axes[0].xaxis.label.get_fontsize() == 7
    assert mpl.colors.to_hex(picture.get_facecolor()) == "#1b1b1b"
    assert tuple(result.plot.tradeoff().get_size_inches()) == (6.4, 4.2)
    with pytest.raises(ValueError, match="slides"), db.plots.appearance(style="poster"):  # type: ignore[arg-type]
        pass


def test_letters_are_truetype_also_in_a_file_of_the_readers_own(result: db.Result, tmp_path: Path) -> None:
    result.plot.tradeoff().savefig(tmp_path / "mine.pdf")
    content = (tmp_path / "mine.pdf").read_bytes()
    assert b"/TrueType" in content or b"/CIDFontType2" in content
    assert b"/Type3" not in content


def test_a_line_of_many_points_keeps_its_peaks_and_its_gaps() -> None:
    t = np.arange(100_000.0)
    values = np.sin(t / 1e4)
    values[51_234], values[70_001] = 9.0, -9.0
    values[20_000:30_000] = np.nan
    shown_t, shown = timeseries._ranges(t, values)
    assert shown.size <= timeseries.MOST_POINTS
    assert (float(np.nanmax(shown)), float(np.nanmin(shown))) == (9, -9)
    assert shown_t[np.nanargmax(shown)] == pytest.approx(51_234, abs=10)
    assert np.isnan(shown[(shown_t > 20_010) & (shown_t < 29_990)]).all()
    few = t[:1000]
    assert timeseries._ranges(few, few)[1] is few


def own_panel(width: float = 6.4, height: float = 4.8) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height))
    return figure, figure.subplots()


def numbers(values: Any) -> list[float]:
    return [float(value) for value in np.asarray(values, dtype=float)]


@pytest.mark.parametrize(
    ("column", "label"),
    [
        ("srtt_ms", "smoothed RTT (ms)"),
        ("own_delay_ms", "own delay (ms)"),
        ("some_rate_mbps", "some rate (Mbit/s)"),
        ("busy_s", "busy (s)"),
        ("queue_limit_bytes", "queue limit (bytes)"),
        ("of_nothing_known", "of nothing known"),
    ],
)
def test_an_axis_says_what_a_column_is_and_in_which_unit(column: str, label: str) -> None:
    assert label_of(column) == label


@pytest.mark.parametrize(
    ("values", "order", "places", "label"),
    [
        (["20ms", "5ms", "1s", "5ms"], ["5ms", "20ms", "1s"], [5, 20, 1000], "round trip (ms)"),
        (["0", "2bdp", "1bdp"], ["0", "1bdp", "2bdp"], [0, 1, 2], "round trip (BDP)"),
        (["3", "1", "2"], ["1", "2", "3"], [1, 2, 3], "round trip"),
        (["2bdp", "10ms"], ["2bdp", "10ms"], [0, 1], "round trip"),
        (["reno", "5ms", "bbr"], ["reno", "5ms", "bbr"], [0, 1, 2], "round trip"),
        (["1%", "0.5"], ["1%", "0.5"], [0, 1], "round trip"),
    ],
)
def test_values_of_one_unit_stand_at_their_size_and_others_beside_each_other(
    values: list[str], order: list[str], places: list[float], label: str
) -> None:
    scale = Scale.of("path.round_trip", values)
    assert (list(scale.values), list(scale.places), scale.label) == (order, places, label)
    assert scale.is_numeric is (order != list(dict.fromkeys(values)) or values == sorted(values))
    assert [scale.place(value) for value in order] == places


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1ms", "10ms"], "linear"),
        (["1ms", "10.5ms"], "log"),
        (["0ms", "2ms", "20ms"], "linear"),
        (["0ms", "2ms", "21ms"], "symlog"),
        (["0ms"], "linear"),
    ],
)
def test_an_axis_over_more_than_a_decade_is_logarithmic(values: list[str], kind: str) -> None:
    figure, axes = own_panel()
    scale = Scale.of("path.rtt", values)
    axes.plot(list(scale.places), list(scale.places))
    scale.apply(axes)
    figure.draw_without_rendering()
    assert axes.get_xscale() == kind
    assert axes.get_xlabel() == "rtt (ms)"
    assert numbers(axes.get_xticks()) == list(scale.places)
    assert [text.get_text() for text in axes.get_xticklabels()] == [value[:-2] for value in scale.values]
    assert not axes.xaxis.get_minorticklocs().size
    if kind == "symlog":
        # All that is below the least positive value takes half of what a decade takes.
        left, middle, right = (axes.transData.transform((place, 1))[0] for place in (0, 2, 20))
        assert (middle - left) / (right - middle) == pytest.approx(0.5 / 0.9)


def test_names_stand_on_an_axis_with_room_beside_them() -> None:
    figure, axes = own_panel()
    scale = Scale.of("path.queue", ["codel", "droptail"])
    axes.plot([0, 1], [1, 1])
    scale.apply(axes)
    figure.draw_without_rendering()
    assert [text.get_text() for text in axes.get_xticklabels()] == ["codel", "droptail"]
    assert axes.get_xlim() == (-0.15, 1.15)
    assert (axes.get_xlabel(), axes.get_xscale()) == ("queue", "linear")


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        ("goodput_mbps", [2.0, 8.0], (0, 8.4)),
        ("jain", [0.2, 0.8], (0, 0.84)),
        ("retransmits", [0.0, 0.0], (0, None)),
        ("p95_rtt_ms", [99.0, 101.0], (95, 105)),
        ("p95_rtt_ms", [50.0, 150.0], (45, 155)),
    ],
)
def test_amounts_begin_at_0_and_delays_cover_more_than_noise(
    column: str, values: list[float], expected: tuple[float, float | None]
) -> None:
    figure = Figure()
    shared = figure.subplots(1, 2, sharey=True)
    shared[0].plot([0, 1], [values[0]] * 2)
    shared[1].plot([0, 1], values)
    vertical(list(shared), column)
    for axes in shared:
        assert axes.get_ylabel() == label_of(column)
        low, high = axes.get_ylim()
        assert low == pytest.approx(expected[0])
        assert high == pytest.approx(expected[1]) if expected[1] is not None else high > 0
    single = own_panel()[1]
    single.plot([0, 1], values)
    vertical(single, column)
    assert single.get_ylim() == shared[0].get_ylim()


def test_an_axis_covers_a_tenth_of_its_middle_in_its_direction() -> None:
    for which in ("x", "y"):
        for turned in (False, True):
            axes = own_panel()[1]
            limits = (101.0, 99.0) if turned else (99.0, 101.0)
            getattr(axes, f"set_{which}lim")(*limits)
            least_span(axes, which)
            found = getattr(axes, f"get_{which}lim")()
            assert found == pytest.approx((105.0, 95.0) if turned else (95.0, 105.0))
    axes = own_panel()[1]
    for limits, data, expected in (
        ((-21.0, -19.0), None, (-21.0, -19.0)),
        ((-20.5, -19.5), None, (-21.0, -19.0)),
        ((90.0, 120.0), [100.0, 100.0], (90.0, 120.0)),
        ((99.0, 101.0), [99.5, 100.5], (95.0, 105.0)),
        ((104.0, 106.0), [100.0, 111.0], (104.0, 106.0)),
        ((99.0, 120.0), [100.0], (95.0, 120.0)),
        ((80.0, 101.0), [100.0], (80.0, 105.0)),
        ((95.0, 104.9), [], (94.9525, 104.9475)),
    ):
        axes.set_ylim(*limits)
        least_span(axes, "y", data)
        assert axes.get_ylim() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (30.0, 300.0, ["50", "100", "200"]),
        (10.0, 80.0, ["20", "40", "60"]),
        (10.0, 80.5, ["10", "20", "50"]),
        (95.0, 105.0, ["96", "98", "100", "102", "104"]),
    ],
)
def test_a_logarithmic_axis_has_plain_numbers(low: float, high: float, shown: list[str]) -> None:
    figure, axes = own_panel()
    axes.set_xscale("log")
    axes.set_xlim(high, low)
    plain_log_ticks(axes)
    figure.draw_without_rendering()
    ticks = [text.get_text() for text in axes.get_xticklabels() if low <= float(text.get_text()) <= high]
    assert ticks == shown
    assert not axes.xaxis.get_minorticklocs().size


def test_the_rate_of_a_link_in_steps_repeats_and_ends_with_the_run() -> None:
    steps = [(0.0, 10.0), (1.0, 2.0)]
    for repeat, duration, starts, rates in (
        (None, 3.0, [0, 1, 3], [10, 2, 2]),
        (None, 1.0, [0, 1], [10, 10]),
        (2.0, 5.0, [0, 1, 2, 3, 4, 5], [10, 2, 10, 2, 10, 10]),
        (2.0, 4.0, [0, 1, 2, 3, 4], [10, 2, 10, 2, 2]),
    ):
        found = capacity._of_steps(steps, repeat, duration)
        assert [numbers(part) for part in found] == [starts, rates]


def test_the_rate_of_a_trace_is_that_of_its_opportunities_and_0_after_its_only_turn() -> None:
    every_ms = list(range(1, 1001))
    edges, rates = capacity._of_trace(every_ms, False, 2.0, 4)
    assert numbers(edges) == [0, 0.5, 1, 1.5, 2]
    assert numbers(rates) == pytest.approx([12.0] * 5, rel=0.01)
    edges, rates = capacity._of_trace(every_ms, True, 3.0, 4)
    assert numbers(rates) == pytest.approx([12.0, 4.0, 0.0, 0.0, 0.0], rel=0.01)


def test_bins_are_averaged_down_and_those_that_are_over_left_out() -> None:
    values = np.arange(10.0)
    t = 0.1 * (values + 1)

    def averaged(of: Any, points: int) -> Any:
        return timeseries._averaged(of, t, timeseries._bin([t], points))

    assert numbers(averaged(values, 5)) == [0.5, 2.5, 4.5, 6.5, 8.5]
    assert numbers(averaged(values, 3)) == [1, 4, 7]
    assert numbers(averaged(values, 20)) == numbers(values)
    assert averaged(np.array([values, values + 1]), 5).tolist() == [
        [0.5, 2.5, 4.5, 6.5, 8.5],
        [1.5, 3.5, 5.5, 7.5, 9.5],
    ]


def test_rates_of_flows_that_last_differently_long_are_means_over_bins_of_one_length() -> None:
    flows = [{"cc": "cubic"}, {"cc": "bbr", "start": "3s", "stop": "4s"}, {"cc": "reno", "start": "4.9s"}]
    result = db.run({"duration": "25s", "path": {"rate": "10mbit", "rtt": "20ms"}, "flows": flows})
    drawn = [np.asarray(line.get_xdata(), dtype=float) for line in result.plot.overview().axes[0].get_lines()[:3]]
    for t in drawn:
        # Ten samples of 20 ms; a hundred and twentieth of the run is a little more.
        assert np.diff(t) == pytest.approx(0.2, rel=1e-6)
    assert [len(t) for t in drawn] == [124, pytest.approx(5, abs=1), pytest.approx(100, abs=1)]


def test_a_line_that_is_shorter_than_a_bin_is_a_point() -> None:
    long, short = np.arange(1.0, 41), np.arange(1.0, 4)
    span = timeseries._bin([short, long, np.empty(0)], 4)
    assert span == 10
    assert numbers(timeseries._averaged(short, short, span)) == [2]
    assert timeseries._averaged(np.empty(0), np.empty(0), span).size == 0
    assert timeseries._bin([np.empty(0), np.ones(1)], 4) == 0


def test_a_line_has_its_points_up_to_the_most_and_then_the_range_of_each_few() -> None:
    most = timeseries.MOST_POINTS
    t = np.arange(float(most))
    assert timeseries._ranges(t, t)[1] is t
    t = np.arange(most + 1.0)
    shown_t, shown = timeseries._ranges(t, -t)
    # Three neighbours each, since two would be no fewer points.
    assert numbers(shown_t[:4]) == [0, 0, 3, 3]
    assert numbers(shown[:4]) == [-2, 0, -5, -3]
    assert shown.size == 2 * -(-t.size // 3)


def samples(acked: list[float | None], sent: list[float], inflight: list[float]) -> pl.DataFrame:
    return pl.DataFrame({"acked_total": acked, "sent_total": sent, "inflight": inflight})


@pytest.mark.parametrize(
    ("acked", "sent", "inflight", "kept"),
    [
        ([1, 2, 3, 3, 3], [1, 2, 3, 3, 3], [1, 1, 0, 0, 0], 3),
        ([1, 2, 3, 3, 3], [1, 2, 3, 3, 3], [1, 1, 1, 1, 1], 5),
        ([1, 2, 3, 3, 3], [1, 2, 3, 3, 3], [1, 1, 1, 1, 0], 5),
        ([1, 2, 2, 2, 2], [1, 1, 1, 2, 2], [0, 0, 0, 0, 0], 4),
        ([1, 1, 2, 2, 2], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0], 3),
        ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0], 5),
        ([None, 1, 1, 1, 1], [1, 1, 1, 1, 1], [0, 0, 0, 0, 0], 2),
    ],
)
def test_a_flow_is_drawn_up_to_the_sample_in_which_it_ended(
    acked: list[float | None], sent: list[float], inflight: list[float], kept: int
) -> None:
    assert timeseries.until_the_end(samples(acked, sent, inflight)).height == kept
    assert timeseries.until_the_end(samples([], [], [])).height == 0


def test_the_link_that_is_shown_is_the_one_called_bottleneck_or_else_the_busiest() -> None:
    def shown(*links: tuple[str, float | None]) -> tuple[int, dict[str, Any]]:
        rows = [{"name": name, "utilization": share} for name, share in links]
        return timeseries._bottleneck(SimpleNamespace(links=SimpleNamespace(rows=lambda: rows)))  # type: ignore[arg-type]

    assert shown() == (0, {})
    assert shown(("a", 0.2), ("b", 0.9), ("c", None))[0] == 1
    assert shown(("a", 0.9), ("bottleneck", 0.1), ("c", 1.0)) == (1, {"name": "bottleneck", "utilization": 0.1})
    assert shown(("a", math.nan), ("b", 0.1))[0] == 1


def test_a_number_that_is_none_is_not_drawn() -> None:
    assert [timeseries._finite(value) for value in (1, 2.5, math.nan, "3", None)] == [1.0, 2.5, None, None, None]


def of_flows(count: int, points: int = 40, algorithm: str = "bbr") -> list[Any]:
    t = np.arange(float(points))
    own = pl.DataFrame({"t_s": t, "cwnd": t, "limited_by": ["link"] * points})
    return [timeseries._Line(algorithm, f"flow {number}", style.look("bbr"), own) for number in range(count)]


def test_each_line_has_ten_marks_at_places_of_its_own_unless_there_are_many_lines() -> None:
    axes = own_panel()[1]
    timeseries._draw(axes, of_flows(4), "cwnd")
    assert [line.get_markevery() for line in axes.get_lines()] == [(0, 4), (1, 4), (2, 4), (3, 4)]
    assert {line.get_marker() for line in axes.get_lines()} == {style.look("bbr").marker}
    axes = own_panel()[1]
    timeseries._draw(axes, of_flows(timeseries.CROWD - 1, 4), "cwnd")
    assert [line.get_markevery() for line in axes.get_lines()] == [(0, 1)] * 5
    axes = own_panel()[1]
    timeseries._draw(axes, of_flows(timeseries.CROWD), "cwnd")
    assert {line.get_marker() for line in axes.get_lines()} == {"None"}
    axes = own_panel()[1]
    timeseries._draw(axes, of_flows(2), "cwnd", faint=True, points=10)
    assert [numbers(line.get_ydata())[:2] for line in axes.get_lines()] == [[1.5, 5.5]] * 2
    assert {(line.get_marker(), line.get_linestyle()) for line in axes.get_lines()} == {("None", "-")}


def test_the_band_has_a_row_a_flow_or_one_for_many() -> None:
    many = timeseries.CROWD
    for count, rows in ((1, 1), (many - 1, many - 1), (many, 1)):
        lines = of_flows(count)
        assert timeseries._heights(lines) == (*timeseries.HEIGHTS, 0.25 + 0.15 * rows)
        found = timeseries._rows_of_band(lines)
        assert len(found) == rows
        assert found[0][1].height == (40 if count < many else 40 * many)
        assert found[-1][0] == ("all" if count == many else f"flow {count - 1}")
        assert found[0][1]["t_s"].is_sorted()
    without = [timeseries._Line("bbr", "a", style.look("bbr"), pl.DataFrame({"t_s": [0.0]}))]
    assert timeseries._heights(without) == timeseries.HEIGHTS
    assert timeseries._rows_of_band(without) == []


def test_a_short_overshoot_does_not_flatten_the_windows() -> None:
    values = [10.0] * 999 + [1000.0]
    lines = [timeseries._Line("bbr", "a", style.look("bbr"), pl.DataFrame({"cwnd": part})) for part in (values, [None])]
    assert timeseries._window_ceiling(lines, 5.0) == pytest.approx(13)
    assert timeseries._window_ceiling(lines, 20.0) == pytest.approx(26)
    assert timeseries._window_ceiling(lines[1:], 20.0) == np.inf


def test_the_legend_counts_flows_that_look_the_same() -> None:
    one, other, third = of_flows(3)
    entries = timeseries._handles([one, other, one, third, one])
    assert [handle.get_label() for handle in entries] == ["flow 0 (x3)", "flow 1", "flow 2"]
    assert {handle.get_marker() for handle in entries} == {style.look("bbr").marker}


def test_what_a_reference_line_is_stands_to_its_right() -> None:
    axes = own_panel()[1]
    timeseries._reference(axes, 3.0, "base 3")
    (line,), (text,) = axes.get_lines(), axes.texts
    assert (numbers(line.get_ydata()), line.get_linestyle()) == ([3, 3], "--")
    assert isinstance(text, Annotation)
    assert (text.get_text(), text.xy, text.get_position(), text.get_gid()) == ("base 3", (1, 3.0), (4, 0), "reference")
    assert (text.get_verticalalignment(), text.get_annotation_clip()) == ("center", False)
    assert text.xycoords == ("axes fraction", "data")


def test_a_misspelt_column_is_refused_with_what_was_meant_and_what_there_is(result: db.Result) -> None:
    for draw in (result.plot.series, result.plot.shares, result.plot.cdf):
        with pytest.raises(
            ValueError, match=r"no column 'cwmd' of numbers in series; did you mean cwnd\?\n  help: there are cwnd, "
        ):
            draw("cwmd")
        # What there is of words, times and numbers of flows is nothing to draw over time.
        for column in ("zzzzz", "mode", "ca_state", "limited_by", "t_s", "flow"):
            with pytest.raises(
                ValueError, match=rf"no column '{column}' of numbers in series\n  help: there are cwnd, "
            ):
                draw(column)


def test_the_band_of_limits_has_a_row_for_each_name_from_the_top_down() -> None:
    def of(*names: str) -> pl.DataFrame:
        return pl.DataFrame({"t_s": [0.5 * (number + 1) for number in range(len(names))], "limited_by": names})

    axes = own_panel()[1]
    entries = limits.band(
        axes, [("exactly 12 l", of("cwnd", "link")), ("thirteen lett", of("link", "slow_start")), ("$", of("cwnd"))]
    )
    assert [(one.get_label(), one.get_hatch()) for one in entries] == [
        ("full link", ""),
        ("cwnd", ""),
        ("slow start", ""),
    ]
    assert mpl.colors.to_hex(entries[0].get_facecolor()) == "#dddddd"
    assert axes.get_ylim() == (0, 3)
    assert numbers(axes.get_yticks()) == [0.5, 1.5, 2.5]
    assert [text.get_text() for text in axes.get_yticklabels()] == [r"\$", "thirteen le…", "exactly 12 l"]
    assert [numbers(line.get_ydata()) for line in axes.get_lines()] == [[1, 1], [2, 2]]
    drawn = [(str(patch.get_label()), *map(np.ndarray.tolist, patch.get_data()[:2])) for patch in axes.patches]  # type: ignore[attr-defined]
    assert drawn == [
        ("0: cwnd", [1.0], [0.0, 0.5]),
        ("1: link", [2.0, 1.0], [0.0, 0.5, 1.0]),
        ("1: slow_start", [2.0, 2.0], [0.0, 0.5, 1.0]),
        ("2: link", [2.0, 3.0], [0.0, 0.5, 1.0]),
        ("2: cwnd", [3.0, 3.0], [0.0, 0.5, 1.0]),
    ]
    baselines = [patch.get_data()[2].tolist() for patch in axes.patches]  # type: ignore[attr-defined]
    assert baselines == [[0.0], [1.0, 1.0], [2.0, 1.0], [2.0, 2.0], [2.0, 3.0]]
    alone = own_panel()[1]
    assert limits.band(alone, [("one", of("cwnd"))])[0].get_label() == "cwnd"
    assert (alone.get_ylim(), list(alone.get_yticks()), list(alone.get_lines())) == ((0, 1), [], [])
    nothing = own_panel()[1]
    assert limits.band(nothing, []) == []
    assert nothing.get_ylim() == (0, 1)


def test_the_bins_of_a_band_have_the_shares_of_their_samples() -> None:
    most = limits.BINS
    count = 2 * most + 1
    t = [0.1 * (number + 1) for number in range(count)]
    edges, shares = limits.binned(
        pl.DataFrame({"t_s": t, "limited_by": ["link", "cwnd", "cwnd"] * (count // 3) + ["link"] * (count % 3)})
    )
    assert len(edges) == -(-count // 3) + 1
    assert numbers(edges[:3]) == pytest.approx([0.0, 0.3, 0.6])
    assert edges[-1] == pytest.approx(t[-1])
    assert numbers(shares["link"][:2]) == pytest.approx([1 / 3, 1 / 3])
    assert numbers(shares["cwnd"][:2]) == pytest.approx([2 / 3, 2 / 3])
    assert set(shares) == {"link", "cwnd"}
    edges, shares = limits.binned(pl.DataFrame({"t_s": t[:most], "limited_by": ["link"] * most}))
    assert numbers(edges) == pytest.approx([0.0, *t[:most]])
    edges, shares = limits.binned(pl.DataFrame({"t_s": [2.0], "limited_by": ["link"]}))
    assert (numbers(edges), numbers(shares["link"])) == ([0.0, 2.0], [1.0])
    edges, shares = limits.binned(pl.DataFrame({"t_s": [], "limited_by": []}, schema={"t_s": float, "limited_by": str}))
    assert (numbers(edges), shares) == ([0.0], {})


def test_a_distribution_is_the_share_of_samples_that_are_at_most_so_large() -> None:
    values = {("bbr", "many"): [3.0, 1.0, 2.0, 4.0] * 6, ("bbr", "few"): [5.0, 6.0], ("cubic", "none"): []}
    picture = distribution.cdf(values, "p95_rtt_ms")
    (axes,) = picture.axes
    many, few = axes.get_lines()
    assert numbers(many.get_xdata())[::6] == [1, 2, 3, 4]
    assert numbers(many.get_ydata()) == pytest.approx([number / 24 for number in range(1, 25)])
    assert (numbers(few.get_xdata()), numbers(few.get_ydata())) == ([5, 6], [0.5, 1])
    assert (many.get_markevery(), few.get_markevery()) == (3, 1)
    assert {line.get_drawstyle() for line in (many, few)} == {"steps-post"}
    assert (many.get_marker(), few.get_marker()) == ("o", "^")
    assert entries(picture) == ["many", "few", "none"]
    assert [handle.get_marker() for handle in picture.legends[0].get_lines()] == ["o", "^", style.look("cubic").marker]
    assert labels(picture) == ["95th percentile of RTT (ms)", "share of samples at most so large"]
    assert axes.get_ylim() == (0, 1.02)


def table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Flows of a sweep, a row each."""
    return pl.DataFrame([{"point": number, "flow": 0, "label": row["cc"]} | row for number, row in enumerate(rows)])


def test_boxes_stand_beside_each_other_around_their_value() -> None:
    flows = table(
        [
            {"cc": cc, "path.loss": loss, "goodput_mbps": base + seed, "p95_rtt_ms": 1.0}
            for cc, base in (("bbr", 5.0), ("cubic", 1.0), ("reno", 2.0))
            for loss in ("0%", "1%")
            for seed in range(3)
            if (cc, loss) != ("reno", "1%")
        ]
    )
    picture = distribution.box(flows, ["path.loss"], "loss")
    (axes,) = picture.axes
    lines = [(numbers(line.get_xdata()), numbers(line.get_ydata())) for line in axes.get_lines()]
    medians = [x for x, y in lines if len(x) == 2 and y[0] == y[1]]
    spans = {tuple(np.round(x, 4)) for x in medians}
    width = 0.8 / 3
    for place in (0, 1):
        for shift in (-width, 0, width)[: 3 - place]:
            half = width * 0.85 / 2
            assert tuple(np.round([place + shift - half, place + shift + half], 4)) in spans
    assert numbers(axes.get_xticks()) == [0, 1]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0%", "1%"]
    assert labels(picture) == ["loss", "goodput (Mbit/s)"]
    assert axes.get_ylim()[0] == 0
    assert not any(line.get_visible() for line in axes.xaxis.get_gridlines())
    assert entries(picture) == ["bbr", "cubic", "reno"]
    boxes = axes.patches
    hatches = [style.HATCHES[number] for number in (0, 0, 1, 1, 2, 2)]
    assert [box.get_hatch() or "" for box in boxes] == hatches
    colours = [style.look(cc).colour for cc in ("bbr", "bbr", "cubic", "cubic", "reno", "reno")]
    assert [mpl.colors.to_hex(box.get_facecolor()).upper() for box in boxes] == colours
    handles = picture.legends[0].get_patches()
    assert [(mpl.colors.to_hex(one.get_facecolor()).upper(), one.get_hatch() or "") for one in handles] == list(
        zip(colours[::2], hatches[::2], strict=True)
    )
    assert np.asarray(boxes[0].get_path().vertices)[:, 1].min() == 5.5


def test_panels_stand_in_rows_of_up_to_four_of_the_same_length() -> None:
    shapes: dict[int, list[int]] = {
        2: [2],
        3: [3],
        4: [4],
        5: [3, 2],
        7: [4, 3],
        8: [4, 4],
        9: [3, 3, 3],
        10: [4, 4, 2],
    }
    for count, rows in shapes.items():
        titles = [f"panel {number}" for number in range(count)]
        with panels.multiples(titles, None, 6.4, 3.0) as (figure, grid):
            for axes in grid:
                axes.set(xlabel="across", ylabel="up")
        assert [axes.get_title() for axes in grid] == titles
        shown = [axes for axes in figure.axes if axes.get_visible()]
        assert shown == grid
        tops = [round(axes.get_position().y1, 3) for axes in grid]
        assert [tops.count(top) for top in sorted(set(tops), reverse=True)] == rows
        assert (figure.get_supxlabel(), figure.get_supylabel()) == ("across", "up")
        assert {(axes.get_xlabel(), axes.get_ylabel()) for axes in grid} == {("", "")}
        # The last panel of each column has the numbers of the axis.
        last = [number for number in range(count) if number + rows[0] >= count]
        numbered = [number for number, axes in enumerate(grid) if axes.xaxis.get_major_ticks()[0].label1.get_visible()]
        assert numbered == last
        assert figure.get_figheight() >= max(3.0, 1.1 + 1.7 * len(rows))
        grid[0].set(xlim=(3, 4), ylim=(5, 6))
        assert {axes.get_xlim() + axes.get_ylim() for axes in grid} == {(3, 4, 5, 6)}


def test_one_panel_has_its_labels_and_its_title() -> None:
    with panels.multiples(["alone"], None, 5.0, 3.0) as (figure, (axes,)):
        axes.set(xlabel="across", ylabel="up")
    assert (axes.get_title(), axes.get_xlabel(), tuple(figure.get_size_inches())) == ("alone", "across", (5, 3))
    mine, own = own_panel()
    with panels.multiples(["mine"], own) as (figure, grid):
        assert (figure, grid) == (mine, [own])
    with (
        pytest.raises(ValueError, match=r"one panel cannot show 2: a; b\n  help: choose one"),
        panels.multiples("ab", own),
    ):
        pass


def test_panels_are_ordered_by_what_they_stand_for_and_no_more_than_can_be_read() -> None:
    def of(count: int) -> pl.DataFrame:
        return table([{"cc": "bbr", "path.rtt": f"{number}ms"} for number in range(count, 0, -1)])

    flows = table(
        [{"cc": cc, "path.rtt": rtt, "flows[0].cc": cc} for cc in ("cubic", "bbr") for rtt in ("100ms", "20ms", None)]
    )
    assert panels.columns_of(flows, ["path.rtt"], ["rtt", "cc"]) == ["path.rtt", "cc"]
    found = panels.panels_of(flows, ["path.rtt", "cc"])
    assert [part.title for part in found] == ["rtt 20ms, cubic", "rtt 20ms, bbr", "rtt 100ms, cubic", "rtt 100ms, bbr"]
    assert [part.rows["point"].to_list() for part in found] == [[1], [4], [0], [3]]
    assert [part.title for part in panels.panels_of(flows, ["flows[0].cc"])] == ["cubic", "bbr"]
    (whole,) = panels.panels_of(flows, [])
    assert (whole.title, whole.rows.height) == ("", 6)
    assert len(panels.panels_of(of(24), ["path.rtt"])) == 24
    with pytest.raises(
        ValueError, match=r"25 panels cannot be read, at most 24 can; they stand for path.rtt\n.*where rtt="
    ):
        panels.panels_of(of(25), ["path.rtt"])


def test_no_more_lines_than_can_be_told_apart() -> None:
    def of(count: int, **more: Any) -> pl.DataFrame:
        return table([{"cc": "bbr", "path.rtt": f"{number}ms", "path.loss": "1%"} | more for number in range(count)])

    found = metric.lines(of(12), ["path.rtt"], "path.loss", [])
    assert [line.name for line in found] == [f"bbr, rtt {number}ms" for number in range(12)]
    assert [line.rows.height for line in found] == [1] * 12
    with pytest.raises(
        ValueError, match=r"13 lines cannot .* at most 12 can; varied besides: path.rtt\n.*--panels rtt, or"
    ):
        metric.lines(of(13), ["path.rtt"], "path.loss", [])
    assert [line.name for line in metric.lines(of(13), ["path.rtt"], "path.rtt", [])] == ["bbr"]
    assert [line.name for line in metric.lines(of(13), ["path.rtt"], "path.loss", [], ["path.rtt"])] == ["bbr"]


def test_lines_are_told_apart_by_labels_where_nothing_else_was_asked_for() -> None:
    flows = table(
        [
            {"cc": cc, "label": label, "path.rtt": rtt, "path.loss": loss}
            for cc, label in (("bbr", "a"), ("bbr", "b"), ("cubic", "c"))
            for rtt in ("1ms", "2ms")
            for loss in ("0%", "1%")
        ]
    )
    axes_ = ["path.rtt", "path.loss"]

    def names(by: list[str], apart: tuple[str, ...] = ("path.rtt",)) -> list[str]:
        return [line.name for line in metric.lines(flows, axes_, "path.loss", by, apart)]

    assert names([]) == ["a (bbr)", "b (bbr)", "c (cubic)"]
    assert names([], ("path.rtt", "label")) == ["bbr", "cubic"]
    assert names(["label"]) == ["a (bbr)", "b (bbr)", "c (cubic)"]
    both = [f"{name}, rtt {rtt}" for name in ("a (bbr)", "b (bbr)", "c (cubic)") for rtt in ("1ms", "2ms")]
    assert names(["cc"], ()) == both
    one_label = flows.filter(flows["label"] != "b")
    assert [line.name for line in metric.lines(one_label, axes_, "path.loss", ["cc"], ("path.rtt",))] == [
        "bbr",
        "cubic",
    ]
    with_loss = metric.lines(one_label, axes_, "path.rtt", ["loss", "cc"], ())
    assert [line.name for line in with_loss] == ["bbr, loss 0%", "bbr, loss 1%", "cubic, loss 0%", "cubic, loss 1%"]


def test_intervals_of_a_setting_without_a_size_are_bars_and_of_others_a_band() -> None:
    def of(values: list[str], seeds: int = 3) -> Picture:
        rows = [
            {"cc": "bbr", "path.queue": value, "goodput_mbps": 5.0 + seed + 10 * place}
            for place, value in enumerate(values)
            for seed in range(seeds)
        ]
        return metric.metric(table(rows), ["path.queue"], "queue")

    band = of(["10kB", "20kB"])
    (axes,) = band.axes
    (line,), (area,) = axes.get_lines(), axes.collections
    interval = metrics.mean_interval(np.array([5.0, 6.0, 7.0]))
    assert interval is not None
    assert (numbers(line.get_xdata()), numbers(line.get_ydata())) == ([10, 20], [6, 16])
    heights = np.asarray(area.get_paths()[0].vertices)[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((6 - interval.half_width, 16 + interval.half_width))
    assert mpl.colors.to_hex(np.asarray(area.get_facecolor())[0]).upper() == style.look("bbr").colour
    assert band.legends[0].get_title().get_text() == "mean of 3 runs, 95 % interval"
    bars = of(["codel", "droptail"])
    assert len(bars.axes[0].containers) == 1
    (segments,) = bars.axes[0].collections
    ends = [numbers(np.asarray(path.vertices)[:, 1]) for path in segments.get_paths()]
    assert ends[0] == pytest.approx([6 - interval.half_width, 6 + interval.half_width])
    assert bars.axes[0].get_lines()[0].get_linestyle() == "-"
    single = of(["10kB", "20kB"], 1)
    assert (len(single.axes[0].collections), single.legends[0].get_title().get_text()) == (0, "")


def test_a_map_has_the_mean_of_its_runs_in_the_cell_of_both_settings() -> None:
    rows = [
        {"cc": "bbr", "path.rtt": rtt, "path.loss": loss, "goodput_mbps": 10.0 * x + y + seed}
        for x, rtt in enumerate(("5ms", "20ms", "100ms"))
        for y, loss in enumerate(("0%", "1%"))
        for seed in (0, 1)
        if (x, y) != (2, 1)
    ]
    picture = metric.heat_map(table(rows), ["path.rtt", "path.loss"], "rtt", "loss", who="bbr")
    axes, bar = picture.axes
    cells = axes.images[0].get_array()
    assert np.ma.filled(cells, -1.0).tolist() == [[0.5, 10.5, 20.5], [1.5, 11.5, -1.0]]  # type: ignore[arg-type]
    assert axes.images[0].get_clim() == (0.5, 20.5)
    assert [(text.get_position(), text.get_text()) for text in axes.texts] == [
        ((0, 0), "0.5"), ((1, 0), "10.5"), ((2, 0), "20.5"), ((0, 1), "1.5"), ((1, 1), "11.5"),
    ]  # fmt: skip
    assert [text.get_color() for text in axes.texts] == ["white", "black", "black", "white", "black"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("rtt", "loss")
    assert [text.get_text() for text in axes.get_xticklabels()] == ["5ms", "20ms", "100ms"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0%", "1%"]
    assert axes.get_ylim()[0] < axes.get_ylim()[1]
    assert bar.get_ylabel() == "goodput (Mbit/s), bbr"
    assert not any(line.get_visible() for line in [*axes.xaxis.get_gridlines(), *axes.yaxis.get_gridlines()])
    unnamed = metric.heat_map(table(rows), ["path.rtt", "path.loss"], "rtt", "loss")
    assert unnamed.axes[1].get_ylabel() == "goodput (Mbit/s)"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 3.0], (1, 3)),
        ([99.0, 101.0], (95, 105)),
        ([95.0, 105.0], (95, 105)),
        ([-21.0, -19.0], (-21, -19)),
        ([-20.5, -19.5, np.nan], (-21, -19)),
    ],
)
def test_colours_of_a_map_do_not_show_noise_as_large(values: list[float], expected: tuple[float, float]) -> None:
    assert metric._span(np.array(values)) == pytest.approx(expected)


def test_the_index_of_a_run_is_one_line_that_names_all_whom_it_compares() -> None:
    rows = [
        {"cc": cc, "label": label, "path.loss": loss, "goodput_mbps": rate, "point": point}
        for point, loss in enumerate(("0%", "1%"))
        for cc, label, rate in (("bbr", "ours", 8.0), ("cubic", "cubic", 2.0), ("cubic", "cubic", 2.0))
    ]
    picture = metric.metric(table(rows), ["path.loss"], "loss", "jain")
    (line,) = [line for line in picture.axes[0].get_lines() if len(np.asarray(line.get_xdata())) == 2]
    assert np.asarray(line.get_ydata()).tolist() == pytest.approx([metrics.jain([8.0, 2.0, 2.0])] * 2)
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["ours + cubic (bbr + cubic)"]
    alone = [row for row in rows if row["cc"] == "cubic"]
    picture = metric.metric(table(alone), ["path.loss"], "loss", "jain")
    assert not picture.legends or [text.get_text() for text in picture.legends[0].get_texts()] == ["cubic"]


def test_colours_of_a_map_end_where_the_metric_ends() -> None:
    assert metric._span(np.array([0.99, 1.0]), 1.0) == pytest.approx((1.0 - 0.0995, 1.0))
    assert metric._span(np.array([0.5, 1.0]), 1.0) == (0.5, 1.0)
    rows = [
        {"cc": "bbr", "path.rtt": rtt, "path.loss": "0%", "goodput_mbps": rate, "point": point}
        for point, rtt in enumerate(("5ms", "20ms"))
        for rate in (5.0, 5.0 + point)
    ]
    picture = metric.heat_map(table(rows), ["path.rtt", "path.loss"], "rtt", "loss", "jain")
    assert picture.axes[0].images[0].get_clim()[1] == pytest.approx(1.0), "Jain's index is at most 1"


def test_a_map_tells_apart_what_a_cell_would_mix() -> None:
    flows = table(
        [
            {"cc": cc, "path.rtt": rtt, "path.loss": loss, "path.queue": queue, "path.rate": rate}
            for cc, queue in (("bbr", "a"), ("cubic", "b"))
            for rtt in ("1ms", "2ms")
            for loss in ("0%", "1%")
            for rate in ("1mbit", "2mbit")
        ]
    )
    axes_ = ["path.rtt", "path.loss", "path.queue", "path.rate", "path.absent"]
    cell = ("path.rtt", "path.loss")
    assert metric._told_apart(flows, axes_, cell, "goodput_mbps", []) == ["cc", "path.rate"]
    assert metric._told_apart(flows, axes_, cell, "jain", []) == ["path.queue", "path.rate"]
    assert metric._told_apart(flows, axes_, cell, "goodput_mbps", ["path.rate"]) == ["path.rate", "cc"]


def test_the_tradeoff_has_a_large_mark_for_each_mean_and_a_line_along_a_setting() -> None:
    rows = [
        {"cc": cc, "path.rtt": rtt, "path.loss": loss, "p95_rtt_ms": (x + 1) * 10.0 + seed, "goodput_mbps": y + seed}
        for y, cc in enumerate(("bbr", "cubic"))
        for x, rtt in enumerate(("10ms", "20ms", "30ms"))
        for loss in ("0%", "1%")
        for seed in (0.0, 1.0)
    ]
    axes_ = ["path.rtt", "path.loss"]
    picture = summary.tradeoff(table(rows), axes_)
    assert [axes.get_title() for axes in picture.axes] == ["loss 0%", "loss 1%"]
    assert picture.get_supxlabel() == "95th percentile of RTT (ms), smaller to the right"
    assert picture.get_supylabel() == "goodput of a flow (Mbit/s)"
    lines = picture.axes[0].get_lines()
    # For each of three values two small marks; then the line along them, and the large marks.
    assert [len(numbers(line.get_xdata())) for line in lines] == [2, 2, 2, 3, 3] * 2
    assert [line.get_linestyle() == "None" for line in lines[:5]] == [True, True, True, False, True]
    assert (numbers(lines[3].get_xdata()), numbers(lines[3].get_ydata())) == ([10.5, 20.5, 30.5], [0.5] * 3)
    assert (numbers(lines[8].get_xdata()), numbers(lines[8].get_ydata())) == ([10.5, 20.5, 30.5], [1.5] * 3)
    assert entries(picture) == ["bbr", "cubic"]
    assert picture.legends[0].get_title().get_text() == "beside the marks: rtt; small: each flow"
    assert [text.get_text() for text in picture.axes[0].texts] == ["10ms", "20ms", "30ms"] * 2
    low, high = picture.axes[0].get_ylim()
    assert (low, high > 2) == (0, True)
    left, right = picture.axes[0].get_xlim()
    assert left > right
    mine, own = own_panel()
    summary.tradeoff(table(rows), axes_, ax=own)
    assert len(mine.axes) == 1
    assert own.get_title(loc="right").startswith("better")
    title = own.get_legend().get_title().get_text()  # type: ignore[union-attr]
    assert title == "along a line: rtt 10ms to 30ms; small: each flow"
    assert [len(numbers(line.get_xdata())) for line in own.get_lines()] == [2, 2, 2, 3, 3] * 4


def test_marks_have_names_as_long_as_they_are_few() -> None:
    def of(count: int) -> Picture:
        rows = [
            {"cc": "bbr", "path.rtt": f"{number}ms", "p95_rtt_ms": 10.0 * number, "goodput_mbps": float(number)}
            for number in range(1, count + 1)
        ]
        return summary.tradeoff(table(rows), ["path.rtt"])

    named = of(12)
    assert len(named.axes[0].texts) == 12
    assert named.legends[0].get_title().get_text() == "beside the marks: rtt"
    crowded = of(13)
    assert len(crowded.axes[0].texts) == 0
    assert crowded.legends[0].get_title().get_text() == "along a line: rtt 1ms to 13ms"
    without = summary.tradeoff(table([{"cc": "bbr", "p95_rtt_ms": 10.0, "goodput_mbps": 1.0}]))
    assert (without.legends[0].get_title().get_text(), len(without.axes[0].texts)) == ("", 0)


def test_an_algorithm_without_a_delay_is_not_in_the_tradeoff() -> None:
    rows: list[dict[str, Any]] = [
        {"cc": "bbr", "p95_rtt_ms": 10.0, "goodput_mbps": 1.0},
        {"cc": "cubic", "p95_rtt_ms": None, "goodput_mbps": 2.0},
    ]
    picture = summary.tradeoff(table(rows))
    assert entries(picture) == ["bbr"]
    assert picture.legends[0].get_title().get_text() == "small: each flow"


def test_marks_closer_than_ten_points_share_one_name() -> None:
    figure = Figure(figsize=(4, 4), dpi=144)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 288), ylim=(0, 288))
    summary._name(axes, [((50, 50), "a"), ((59, 41), "b"), ((61, 50), "c"), ((50, 39), "d"), ((50, 59), "a")])
    assert [(text.get_text(), text.xy) for text in axes.texts if isinstance(text, Annotation)] == [
        ("a to b", (50, 50)),
        ("c", (61, 50)),
        ("d", (50, 39)),
    ]


def test_a_loss_curve_without_that_setting_says_what_varies() -> None:
    flows = table([{"cc": "bbr", "path.rtt": "1ms"}])
    with pytest.raises(ValueError, match=r"does not vary path\.loss; it varies path\.rtt"):
        summary.loss_curve(flows, ["path.rtt"])
    with pytest.raises(ValueError, match="it varies nothing"):
        summary.loss_curve(flows, [])


def test_every_picture_of_one_panel_draws_into_that_of_somebody_else(result: db.Result, grid: db.SweepResult) -> None:
    one = {"rtt": "20ms", "cc": "bbr"}
    ways: list[Callable[[Axes], Picture]] = [
        lambda ax: result.plot.series("cwnd", ax),
        lambda ax: result.plot.shares("received_mbps", ax),
        lambda ax: result.plot.cdf("rtt_ms", ax),
        lambda ax: result.plot.tradeoff(ax=ax),
        lambda ax: grid.plot.tradeoff(where=one, ax=ax),
        lambda ax: grid.plot.metric("buffer", where=one, ax=ax),
        lambda ax: grid.plot.loss_curve("path.buffer", where=one, ax=ax),
        lambda ax: grid.plot.box("buffer", where=one, ax=ax),
        lambda ax: grid.plot.cdf(where=one, ax=ax),
    ]
    for way in ways:
        figure, axes = own_panel()
        assert way(axes) is figure
        assert figure.axes == [axes]
        assert axes.get_lines() or axes.collections
        legend = axes.get_legend()
        assert legend is not None
        assert len(legend.get_texts()) in (1, 2)
        assert axes.get_xlabel()
        assert figure.get_layout_engine() is not None
    figure, axes = own_panel()
    grid.plot.heat_map("buffer", "rtt", where={"cc": "bbr"}, ax=axes)
    assert len(axes.texts) == 6 and len(figure.axes) == 2


def test_panels_and_lines_are_named_in_one_word_or_several(grid: db.SweepResult) -> None:
    for words in ("cc, rtt,", ["cc", "rtt"]):
        for picture in (
            grid.plot.metric("buffer", panels=words),
            grid.plot.loss_curve("path.buffer", panels=words),
            grid.plot.box("buffer", panels=words),
            grid.plot.cdf(panels=words),
            grid.plot.tradeoff(panels=words),
        ):
            titles = [axes.get_title() for axes in picture.axes]
            assert titles == ["bbr, rtt 20ms", "bbr, rtt 40ms", "cubic, rtt 20ms", "cubic, rtt 40ms"]
    assert len(entries(grid.plot.cdf(by="rtt,buffer"))) == 12


def test_pictures_that_suit_are_those_of_what_was_recorded_and_varied(
    result: db.Result, curve: db.SweepResult, grid: db.SweepResult, tmp_path: Path
) -> None:
    assert list(result.plot.suitable()) == ["tradeoff", "overview"]
    document = {"duration": "1s", "path": {"rate": "10mbit", "rtt": "40ms"}, "flows": [{"cc": "bbr"}]}
    assert list(db.run(document).plot.suitable()) == ["overview"]
    assert list(curve.plot.suitable()) == ["tradeoff", "loss-curve"]
    assert list(grid.plot.suitable()) == ["goodput_mbps-buffer-panels=rtt", "p95_rtt_ms-buffer-panels=rtt"]
    for losses, overlaid in ((["0%", "1%", "2%"], True), (["0%", "1%", "2%", "3%"], False)):
        out = tmp_path / str(len(losses))
        sweep = db.sweep(document | {"sweep": {"path.loss": losses}}, out=out, progress=False).collect()
        assert ("overview" in sweep.plot.suitable()) is overlaid
    refused = db.sweep(document | {"sweep": {"path.loss": ["0%", "1%"]}}, progress=False).collect()
    assert list(refused.plot.suitable()) == ["tradeoff", "loss-curve"]


def test_a_picture_that_cannot_be_drawn_is_named(result: db.Result) -> None:
    with pytest.raises(ValueError, match=r"^tradeoff: the picture does not fit"), db.plots.appearance(size=(0.6, 0.6)):
        result.plot.suitable()


def test_the_overview_of_a_sweep_says_which_runs_it_shows(tmp_path: Path) -> None:
    document = {"duration": "1s", "path": {"rate": "10mbit", "rtt": "40ms"}, "flows": [{"cc": "bbr"}]}
    document |= {"sweep": {"path.loss": ["0%", "1%"], "flows[0].cc": ["bbr", "cubic"]}}
    overview = db.sweep(document, out=tmp_path / "sweep", progress=False).collect().plot.overview()
    assert overview.legends[0].get_title().get_text() == "each flow has the link to itself"
    assert entries(overview)[:4] == ["bbr, loss 0%", "cubic, loss 0%", "bbr, loss 1%", "cubic, loss 1%"]
    flows = [{"cc": "bbr"}, {"cc": "reno"}]
    document |= {"flows": flows, "sweep": {"path.loss": ["0%", "1%"], "flows[0].cc": ["bbr", "cubic"]}}
    beside = db.sweep(document, out=tmp_path / "beside", progress=False).collect().plot.overview()
    assert [axes.get_title() for axes in beside.axes[:4]] == [
        "loss 0%, bbr",
        "loss 0%, cubic",
        "loss 1%, bbr",
        "loss 1%, cubic",
    ]
    assert beside.legends[0].get_title().get_text() == ""
    assert [bool(axes.get_ylabel()) for axes in beside.axes] == [True, False, False, False] * 5
    assert beside.axes[-1].get_xlabel() == "time (s)"
    assert beside.axes[0].get_xlim() == beside.axes[-1].get_xlim()
    assert len({axes.get_ylim() for axes in beside.axes[:4]}) == 1


def test_series_of_a_sweep_are_refused_with_what_gives_them(grid: db.SweepResult, result: db.Result) -> None:
    with pytest.raises(ValueError, match="time series need a single run: dumbbell extract"):
        db.plots.chosen(grid, {}, ["cwnd"])
    assert list(db.plots.chosen(result, {}, ["cwnd", "rtt_ms"])) == ["cwnd", "rtt_ms"]
    assert list(db.plots.chosen(result, None, ["cwnd"])) == ["tradeoff", "overview", "cwnd"]


def transfers_of(rows: list[dict[str, Any]], sources: list[tuple[int, str]]) -> Any:
    """A run with these completed transfers."""
    traffic = pl.DataFrame([{"source": number, "cc": cc} for number, cc in sources])
    completions = pl.DataFrame([{"measured": 1, "slowdown": 1.0, "bytes": 1000} | row for row in rows])
    return SimpleNamespace(
        traffic=SimpleNamespace(to_polars=lambda: traffic), completions=SimpleNamespace(to_polars=lambda: completions)
    )


def test_completions_are_drawn_by_source_with_the_slowdown_of_each_size_of_enough_transfers() -> None:
    rows = [
        {"source": source, "label": label, "fct_s": 0.01 * (number + 1), "bytes": size, "slowdown": 1.0 + number}
        for source, label, size, count in (
            (0, "web", 1100, 20),
            (0, "web", 20_000, 19),
            (1, "bulk", 1_500_000, 40),
            (2, "bulk", 100, 2),
        )
        for number in range(count)
    ]
    rows += [
        {"source": 0, "label": "web", "fct_s": None},
        {"source": 0, "label": "web", "fct_s": 99.0, "measured": 0},
    ]
    picture = transfers.completions(transfers_of(rows, [(0, "bbr"), (1, "cubic"), (2, "cubic")]))
    times, slowdowns = picture.axes
    assert entries(picture) == ["web", "bulk 1", "bulk 2"]
    assert [len(numbers(line.get_xdata())) for line in times.get_lines()] == [40, 41, 3]
    last = times.get_lines()[2]
    assert (numbers(last.get_xdata()), numbers(last.get_ydata())) == ([10, 10, 20], [0, 0.5, 1])
    assert {line.get_drawstyle() for line in times.get_lines()} == {"steps-post"}
    curves = slowdowns.get_lines()
    assert [numbers(line.get_xdata()) for line in curves] == [
        pytest.approx([1100]), pytest.approx([1100]), pytest.approx([1.5e6]), pytest.approx([1.5e6]), [0, 1],
    ]  # fmt: skip
    assert [numbers(line.get_ydata()) for line in curves[:4:2]] == [
        [metrics.quantile(np.arange(1.0, count + 1), 0.5)] for count in (20, 40)
    ]
    assert [numbers(line.get_ydata()) for line in curves[1:4:2]] == [
        [metrics.quantile(np.arange(1.0, count + 1), 0.99)] for count in (20, 40)
    ]
    assert numbers(curves[4].get_ydata()) == [1, 1]
    assert {axes.get_xscale() for axes in picture.axes} == {"log"}
    assert (times.get_yscale(), slowdowns.get_yscale(), times.get_ylim()) == ("linear", "log", (0, 1))
    assert labels(picture) == [
        "completion time (ms)", "share of transfers", "size (bytes)", "slowdown: median, and p99 (pale)",
    ]  # fmt: skip
    assert mpl.colors.to_hex(curves[0].get_color()).upper() == style.look("bbr").colour
    # A source that the second panel does not show has no mark of it, and the picture says why.
    assert [handle.get_marker() for handle in picture.legends[0].get_lines()] == ["o", "s", "None"]
    said = picture.legends[0].get_title().get_text()
    assert said == "fewer than 20 transfers of one size, so no slowdown: bulk 2"


def test_a_single_transfer_is_a_step_and_a_panel_without_a_line_is_left_out() -> None:
    rows = [{"source": source, "label": f"s{source}", "fct_s": 0.1} for source in (0, 1, 1)]
    picture = transfers.completions(transfers_of(rows, [(0, "bbr"), (1, "cubic")]))
    (times,) = picture.axes
    assert [numbers(line.get_ydata()) for line in times.get_lines()] == [[0, 1], [0, 0.5, 1]]
    assert entries(picture) == ["s0", "s1"]
    assert picture.legends[0].get_title().get_text() == ""
    many = [{"source": 0, "label": "a", "fct_s": 0.1}] * 20
    many += [{"source": number, "label": f"s{number}", "fct_s": 0.1} for number in range(1, 7)]
    crowd = transfers.completions(transfers_of(many, [(number, "bbr") for number in range(7)]))
    assert crowd.legends[0].get_title().get_text().endswith("no slowdown: s1, s2, s3, s4 and 2 more")


def without_samples(**more: Any) -> dict[str, Any]:
    path = {"rate": "5mbit", "rtt": "20ms"}
    return {"duration": "1s", "path": path, "flows": [{"cc": "reno"}]} | more


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (without_samples(record={"series": False}), "set record.series = true in the experiment"),
        (without_samples(record={"interval": "3s"}), "samples are 3s apart, and it takes 1s; set a shorter"),
        (
            without_samples(flows=[], traffic=[{"kind": "list", "cc": "reno", "flows": [["0s", "10kB"]]}]),
            "those are of [[flows]], and this is [[traffic]] alone",
        ),
    ],
)
def test_a_run_without_samples_has_no_picture_of_them_and_says_why(document: dict[str, Any], said: str) -> None:
    run = db.run(document)
    for draw in (run.plot.overview, run.plot.cdf, run.plot.shares, lambda: run.plot.series("cwnd")):
        with pytest.raises(ValueError, match="this run has no time series: " + re.escape(said)):
            draw()


def test_a_distribution_of_nothing_is_refused(curve: db.SweepResult) -> None:
    with pytest.raises(ValueError, match="there is no value of completion_s"):
        curve.plot.cdf("completion_s")


def test_pictures_of_a_run_without_samples_are_told_to_be_left_out(dumbbell: Cli, tmp_path: Path) -> None:
    file, out = tmp_path / "alone.toml", tmp_path / "out"
    flow = '[[flows]]\ncc = "reno"\n'
    text = 'duration = "1s"\nrecord.interval = "3s"\npath = { rate = "5mbit", rtt = "20ms" }\n' + flow
    why = "no picture over time, since there is no time series: samples are 3s apart, and it takes 1s; set a shorter"
    file.write_text(text)
    done = dumbbell("run", file, "--plot", "--out", out)
    assert done.status == 0
    assert f"note: {why}" in done.err
    done = dumbbell("plot", out)
    assert done.status == 2
    assert f"{out}: {why}" in done.err
    file.write_text(text + flow)
    assert dumbbell("run", file, "--out", out).status == 0
    done = dumbbell("plot", out, "--format", "png")
    assert (done.status, done.out) == (0, f"  {out / 'tradeoff.png'}\n")
    assert f"note: {why}" in done.err


def test_transfers_of_which_none_is_complete_have_no_picture() -> None:
    document = {
        "duration": "1s",
        "path": {"rate": "1mbit", "rtt": "20ms"},
        "traffic": [{"kind": "list", "cc": "cubic", "flows": [["0s", "10MB"]]}],
    }
    run = db.run(document)
    assert len(run.completions) == 1
    assert run.plot.suitable() == {}
    with pytest.raises(ValueError, match="nothing that began in the measured interval is complete"):
        run.plot.completions()


def test_sizes_of_three_classes_a_decade_are_drawn_apart_at_their_geometric_mean() -> None:
    sizes = [1000] * 10 + [2000] * 10 + [2200] * 20 + [4700] * 19
    rows = pl.DataFrame({"bytes": sizes, "slowdown": [float(number) for number in range(len(sizes))]})
    means, _, high = zip(*transfers._by_size(rows), strict=True)
    assert means == pytest.approx([math.sqrt(2e6), 2200])
    assert list(high) == [metrics.quantile(np.arange(20.0) + start, 0.99) for start in (0, 20)]
    assert transfers._by_size(rows.head(10)) == []


def test_sizes_have_the_unit_that_suits_them() -> None:
    figure, axes = own_panel()
    places = [1, 999, 1e3, 2.5e4, 1e6, 1e9, 3e9]
    axes.set_xlim(1, 3e9)
    axes.set_xscale("log")
    axes.set_xticks(places)
    transfers._sizes(axes)
    figure.draw_without_rendering()
    shown = ["1 B", "999 B", "1 kB", "25 kB", "1 MB", "1 GB", "3 GB"]
    assert [text.get_text() for text in axes.get_xticklabels()] == shown
    assert not any(text.get_text() for text in axes.get_xticklabels(minor=True))


@pytest.mark.parametrize(
    ("low", "high", "shown"), [(1.0, 99.0, ["1", "2", "5", "10", "20", "50"]), (1.0, 100.0, ["1", "10", "100"])]
)
def test_numbers_of_a_logarithmic_axis_are_few_and_plain(low: float, high: float, shown: list[str]) -> None:
    figure, axes = own_panel()
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    transfers._plain(axes.xaxis)
    figure.draw_without_rendering()
    texts = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    assert [text.get_text() for place, text in texts if low <= place <= high] == shown
    assert not any(text.get_text() for text in axes.get_xticklabels(minor=True))


def test_load_times_and_query_times_are_distributions_in_milliseconds() -> None:
    rows = pl.DataFrame({"source": [0, 0, 1], "label": ["a", "a", "b"], "measured": [1, 1, 1], "t": [0.2, 0.1, 0.3]})
    run = SimpleNamespace(
        traffic=SimpleNamespace(to_polars=lambda: pl.DataFrame({"source": [0, 1], "cc": ["bbr", "cubic"]})),
        pages=SimpleNamespace(to_polars=lambda: rows.rename({"t": "plt_s"})),
        rounds=SimpleNamespace(to_polars=lambda: rows.rename({"t": "qct_s"})),
    )
    for picture, said in (
        (transfers.page_loads(run), ["load time (ms)", "share of pages"]),  # type: ignore[arg-type]
        (transfers.query_times(run), ["query completion time (ms)", "share of rounds"]),  # type: ignore[arg-type]
    ):
        (axes,) = picture.axes
        assert labels(picture) == said
        assert [numbers(line.get_xdata()) for line in axes.get_lines()] == [[100, 100, 200], [300, 300]]
        assert (axes.get_xscale(), axes.get_ylim(), entries(picture)) == ("log", (0, 1), ["a", "b"])


def legend_of(count: int, place: style.Place = "top", width: float = 6.0, letters: int = 11) -> tuple[Picture, Any]:
    """A picture of a legend of so many entries of so many letters."""
    with db.plots.appearance(size=(width, 3.0), legend=place), style.picture() as figure:
        figure.subplots()
        style.legend(figure, [Line2D([], [], label=f"{index:0{letters}}") for index in range(count)])
    assert figure.entries is not None
    return figure, figure.entries


@pytest.mark.parametrize(
    ("count", "place", "width", "letters", "columns"),
    [
        (1, "top", 6.0, 11, 1),
        (4, "top", 6.0, 11, 4),
        (5, "top", 6.0, 11, 3),
        (9, "top", 6.0, 11, 3),
        (8, "bottom", 6.0, 11, 4),
        (8, "right", 6.0, 11, 1),
        (3, "top", 1.0, 40, 1),
        (6, "top", 3.0, 5, 3),
        (6, "top", 3.0, 6, 2),
        (7, "top", 10.0, 5, 7),
    ],
)
def test_a_legend_has_as_many_columns_as_fit_and_rows_of_about_the_same_length(
    count: int, place: style.Place, width: float, letters: int, columns: int
) -> None:
    figure, _ = legend_of(count, place, width, letters)
    assert figure.legends[0]._ncols == columns  # type: ignore[attr-defined]


def legend_of_label(label: str, width: float) -> tuple[Picture, Any]:
    figure, entries_ = legend_of(2, width=width, letters=11)
    for handle in entries_._handles:
        handle.set_label(label)
    return figure, entries_


def test_a_legend_becomes_narrower_column_by_column_and_then_line_by_line() -> None:
    figure, entries_ = legend_of(8, width=6.0)
    found = [figure.legends[0]._ncols]  # type: ignore[attr-defined]
    while found[-1] > 1:
        assert entries_.narrower() is True
        found.append(figure.legends[0]._ncols)  # type: ignore[attr-defined]
    assert found == [4, 3, 2, 1]
    assert entries_.narrower() is False
    figure, entries_ = legend_of_label("sixteen letters, and more", width=2.0)
    assert entries_.narrower() is True
    assert entries(figure) == ["sixteen letters,\nand more"] * 2
    assert entries_.narrower() is False
    figure, entries_ = legend_of_label("twelve letter s", width=1.0)
    assert entries_.narrower() is True
    assert entries(figure) == ["twelve\nletter s"] * 2


def test_a_legend_has_one_place_and_letters_that_can_be_read() -> None:
    places = {"top": "outside upper center", "bottom": "outside lower center", "right": "outside right upper"}
    for place in ("top", "bottom", "right"):
        figure, entries_ = legend_of(2, place)
        assert entries_._SPOTS[place] == places[place]
        assert len(figure.legends) == 1
        texts = figure.legends[0].get_texts()
        assert [text.get_fontsize() for text in texts] == [9, 9]
        assert figure.legends[0].get_title().get_fontsize() == 8
        entries_.smaller(0.5)
        assert len(figure.legends) == 1
        assert {text.get_fontsize() for text in figure.legends[0].get_texts()} == {5}
        assert figure.legends[0].get_title().get_fontsize() == 5
    figure, entries_ = legend_of(2, "none")
    assert figure.legends == []


def test_the_title_of_a_picture_stands_above_its_legend() -> None:
    def drawn(**asked: Any) -> Picture:
        with db.plots.appearance(**asked), style.fitted(4, 3) as figure:
            figure.subplots()
            style.legend(figure, [Line2D([], [], label="bbr"), Line2D([], [], label="reno")], "what is meant")
        return figure

    top = drawn(title="50 $", labels={"bbr": "our $", "other": "x"})
    assert top.legends[0].get_title().get_text() == "50 \\$\nwhat is meant"
    assert entries(top) == ["our \\$", "reno"]
    assert top.get_suptitle() == ""
    with db.plots.appearance(labels={"x": "time", "bbr": "ours", "other": "x"}):
        with style.fitted(4, 3) as figure:
            style.legend(figure, [Line2D([], [], label="bbr"), Line2D([], [], label="reno")])
        with pytest.raises(ValueError, match=r"nothing is called 'other' that .*; there are 'x', 'y', 'bbr', 'reno'$"):
            style.check_labels()
    with db.plots.appearance(labels={"x": "time", "bbr": "ours"}):
        style.legend(figure, [Line2D([], [], label="bbr")])
        style.check_labels()
    right = drawn(title="50 $", legend="right")
    assert (right.get_suptitle(), right.legends[0].get_title().get_text()) == ("50 \\$", "what is meant")
    assert drawn().legends[0].get_title().get_text() == "what is meant"
    with db.plots.appearance(title="whole"), style.fitted(4, 3) as bare:
        bare.subplots()
    assert bare.get_suptitle() == "whole"


def test_a_legend_in_the_figure_of_somebody_else_is_above_its_panel_or_all_of_them() -> None:
    figure, axes = own_panel()
    handles = [Line2D([], [], label=name) for name in ("a", "b", "c")]
    style.legend(figure, handles, "meant", axes)
    own = axes.get_legend()
    assert own is not None
    assert (own._ncols, own.get_title().get_text(), len(own.get_texts())) == (2, "meant", 3)  # type: ignore[attr-defined]
    assert own._loc == 3  # type: ignore[attr-defined]
    box = axes.transAxes.inverted().transform(own.get_bbox_to_anchor())
    assert np.asarray(box)[0].tolist() == pytest.approx([0, 1])
    assert figure.legends == []
    style.legend(figure, handles[:1], ax=axes)
    assert axes.get_legend()._ncols == 1  # type: ignore[union-attr]
    style.legend(figure, handles, "meant")
    assert figure.legends[0].get_title().get_text() == "meant"
    style.legend(figure, [], None, axes)


def say(*axes: dict[str, Any], **asked: Any) -> Picture:
    """A picture of panels with these properties, asked for so."""
    with db.plots.appearance(**asked), style.fitted(5, 4, panels=len(axes)) as figure:
        for panel, own in zip(np.atleast_1d(figure.subplots(1, len(axes))).flat, axes, strict=True):
            panel.plot([1, 2], [2, 20])
            panel.set(**own)
    return figure


def test_labels_scales_and_limits_are_what_was_asked_for() -> None:
    one, other = {"xlabel": "time", "ylabel": "rate"}, {"xlabel": "time", "ylabel": ""}
    picture = say(one, other, labels={"x": "our $", "y": "rates"}, log="xy", ylim=(1.0, None))
    assert [axes.get_xlabel() for axes in picture.axes] == ["our \\$"] * 2
    assert [axes.get_ylabel() for axes in picture.axes] == ["rates", ""]
    assert {(axes.get_xscale(), axes.get_yscale()) for axes in picture.axes} == {("log", "log")}
    assert {axes.get_ylim()[0] for axes in picture.axes} == {1.0}
    assert say(one, log="y").axes[0].get_ylim()[0] == pytest.approx(2 / 1.1)
    assert say(one, log="x").axes[0].get_yscale() == "linear"
    assert say(one, ylim=(None, 50.0)).axes[0].get_ylim()[1] == 50
    assert say(one, ylim=(3.0, 50.0)).axes[0].get_ylim() == (3, 50)
    different = {"xlabel": "time", "ylabel": "delay\n(ms)"}
    for asked, option in (
        ({"labels": {"y": "a"}}, "--label y"),
        ({"log": "y"}, "--log y"),
        ({"ylim": (0, 1)}, "--ylim"),
    ):
        said = f"{option} goes with a picture of one quantity; this one shows delay (ms), rate"
        with pytest.raises(ValueError, match=re.escape(said)):
            say(one, different, **asked)
    assert say(one, different, labels={"x": "a"}, log="x").axes[0].get_xscale() == "log"


def test_an_axis_of_names_is_not_logarithmic(grid: db.SweepResult) -> None:
    flows = grid.flows.to_polars().with_columns(pl.col("path.buffer").replace({"1bdp": "64kB", "20bdp": "20ms"}))
    where = flows.filter(pl.col("path.rtt") == "20ms")
    drawn: list[tuple[str, Callable[[], Picture]]] = [
        ("0.5bdp, 64kB, 20ms", lambda: metric.metric(where, grid.axes, "buffer")),
        ("0.5bdp, 1bdp, 20bdp", lambda: grid.plot.box("buffer", where={"rtt": "20ms"})),
        ("0.5bdp, 1bdp, 20bdp", lambda: grid.plot.heat_map("buffer", "rtt", where={"cc": "bbr"})),
    ]
    for names, draw in drawn:
        said = f"--log x: {names} stand side by side as names"
        with db.plots.appearance(log="x"), pytest.raises(ValueError, match=re.escape(said)):
            draw()


def test_a_logarithmic_axis_shows_no_values_of_0_or_less() -> None:
    for x, y, which in (([0, 1], [1, 2], "x"), ([1, 2], [-1, 2], "y"), ([1, 2], [0, np.nan], "y")):
        with style.picture() as figure:
            axes = figure.subplots()
            axes.plot(x, y)
            other = "y" if which == "x" else "x"
            style._logarithmic(axes, other)
            with pytest.raises(ValueError, match=rf"--log {which}: there are values of 0 or less"):
                style._logarithmic(axes, which)
    with style.picture() as figure:
        axes = figure.subplots()
        axes.plot([], [])
        axes.plot([1, 2], [np.nan, 0.5])
        style._logarithmic(axes, "y")
    assert axes.get_ylim()[0] == pytest.approx(0.5 / 1.1)
    with style.picture() as figure:
        axes = figure.subplots()
        axes.plot([], [])
        style._logarithmic(axes, "y")
    assert axes.get_yscale() == "log"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"style": "poster"}, "no style 'poster'; there are plain, paper, slides, dark"),
        ({"legend": "left"}, "no place 'left' for the legend; there are top, bottom, right, none"),
        ({"log": "xz"}, "no axes 'xz'; write x, y or xy"),
        ({"ylim": (1.0, 1.0)}, "an axis from 1 to 1 has no length"),
        ({"ylim": (2.0, 1.0)}, "an axis from 2 to 1 has no length"),
        ({"font": "No Such Letters"}, "no font 'No Such Letters' is installed; there are "),
    ],
)
def test_an_appearance_that_there_is_not_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)), db.plots.appearance(**asked):
        pass


def test_an_appearance_ends_with_its_block() -> None:
    with pytest.raises(KeyError), db.plots.appearance(style="dark", ylim=(None, 0.0), log="x", legend="bottom"):
        assert style.ink() == "#CCCCCC"
        assert style.Look("#000000", "-", "o").shown == "#FFFFFF"
        assert style.Look("#D55E00", "-", "o").shown == "#D55E00"
        raise KeyError
    assert style.ink() == style.INK
    assert style.Look("#000000", "-", "o").shown == "#000000"


def test_each_style_has_its_size_and_its_letters() -> None:
    for chosen, panels_, size, letters in (
        ("plain", 1, (7.0, 4.0), 9),
        ("dark", 1, (7.0, 4.0), 9),
        ("paper", 1, (3.5, 2.4), 8),
        ("paper", 2, (3.5, 2.0), 8),
        ("slides", 1, (10.0, 5.6), 16),
        ("slides", 3, (10.0, 40 / 7), 16),
    ):
        with db.plots.appearance(style=chosen), style.picture(7.0, 4.0, panels=panels_) as figure:  # type: ignore[arg-type]
            axes = figure.subplots()
        assert tuple(figure.get_size_inches()) == pytest.approx(size)
        assert axes.xaxis.label.get_fontsize() == letters
        assert axes.title.get_fontsize() == pytest.approx(letters * 10 / 9)
        assert figure.dpi == 150
    with db.plots.appearance(style="slides", font_size=10, dpi=60), style.picture() as figure:
        axes = figure.subplots()
        assert style.small() == pytest.approx(80 / 9)
    assert (axes.xaxis.label.get_fontsize(), figure.dpi) == (10, 60)
    assert tuple(figure.get_size_inches()) == (10, 5.6)
    with db.plots.appearance(font_size=4), style.picture() as figure:
        assert style.small() == 5
        assert not figure.subplots().spines["top"].get_visible()


def test_a_picture_of_a_journal_grows_higher_but_not_wider() -> None:
    def drawn(**asked: Any) -> tuple[float, float]:
        with db.plots.appearance(**asked), style.fitted(3.0, 2.0) as figure:
            figure.subplots().set_ylabel("w" * 60)
        width, height = figure.get_size_inches()
        return float(width), float(height)

    width, height = drawn(style="paper")
    assert (width, height > 2.4) == (3.5, True)
    width, height = drawn()
    assert width > 3 and height > 2
    assert drawn(size=(5.0, 6.0)) == (5, 6)


def test_looks_are_told_apart_by_their_order() -> None:
    names = [f"thing {number}" for number in range(9)]
    chosen = style.distinct([*names, names[0]])
    assert list(chosen) == names
    assert [look.colour for look in chosen.values()] == [*style._COLOURS, *style._COLOURS[:2]]
    assert [look.marker for look in chosen.values()] == list(style._MARKERS)
    assert [style._DASHES.index(look.dashes) for look in chosen.values()] == [0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert style.numbered(0) == style.look("bbr")
    assert style.numbered(9).marker == style._MARKERS[0]
    base = style.look("bbr")
    turned = style.varied(base, 6)
    assert (turned.colour, turned.dashes, turned.marker) == (base.colour, style._DASHES[1], style._MARKERS[6])
    assert style.varied(base, 9).marker == base.marker


def test_an_algorithm_that_is_not_familiar_has_a_look_of_its_name() -> None:
    found = {name: style.look(name) for name in ("copa", "vivace", "ledbat", "dctcp", "illinois")}
    places = {
        name: (style._COLOURS.index(one.colour), style._DASHES.index(one.dashes), style._MARKERS.index(one.marker))
        for name, one in found.items()
    }
    expected = {}
    for name in found:
        key = zlib.crc32(name.encode())
        expected[name] = (key % 7, (key // 7) % 5, (key // 35) % 9)
    assert places == expected
    assert style.look("copa", 1) == style.varied(style.look("copa"), 1)
    assert style.look("cubic", 2) == style.varied(style.look("cubic"), 2)


def test_a_look_that_is_taken_gives_way_in_colour_first() -> None:
    base = style.numbered(0)
    assert style._free(base, []) == base
    free = style._free(base, [base])
    assert (free.colour, free.dashes, free.marker) == (style._COLOURS[1], style._DASHES[1], style._MARKERS[1])
    last = style.Look(style._COLOURS[-1], style._DASHES[-1], style._MARKERS[-1])
    free = style._free(last, [last, style.numbered(0)])
    assert (free.colour, free.dashes, free.marker) == (style._COLOURS[1], style._DASHES[1], style._MARKERS[1])


def test_more_labels_of_an_algorithm_than_looks_come_around_again() -> None:
    count = len(style._DASHES) * len(style._MARKERS)
    chosen = style.looks([("bbr", str(number)) for number in range(count + 2)])
    assert len({(look.dashes, look.marker) for look in list(chosen.values())[:count]}) == count
    assert chosen["bbr", str(count)] == style.look("bbr")
    assert chosen["bbr", str(count + 1)] == style.varied(style.look("bbr"), 1)


def test_the_caption_of_a_letter_that_no_font_has_names_it() -> None:
    assert style.caption("50 $ and \u6f22") == r"50 \$ and \u6f22"
    assert style.caption("two\nlines") != "two\nlines"
    assert style.named("bbr", "bbr, late") == "bbr, late"
    assert style.named("bbr", "late") == "late (bbr)"


def test_a_file_is_ours_if_it_says_so(tmp_path: Path) -> None:
    with style.picture() as figure:
        figure.subplots()
    for kind in style.FORMATS:
        (path,) = figure.write(tmp_path / "own", [kind])
        assert style.is_ours(path)
        path.write_bytes(path.read_bytes().replace(b"Dumbbell", b"Somebody"))
        assert not style.is_ours(path)
    assert not style.is_ours(tmp_path / "missing.png")
    assert not style.is_ours(tmp_path)
    assert figure._repr_png_() == figure.encoded("png")


def test_a_word_beside_a_mark_takes_no_room_of_the_layout() -> None:
    with style.picture() as figure:
        axes = figure.subplots()
        style.name_mark(axes, "name", (0.5, 0.5))
    (text,) = axes.texts
    assert isinstance(text, Annotation)
    assert (text.get_in_layout(), text.get_gid(), text.xy, text.get_position()) == (False, "name", (0.5, 0.5), (7, 5))
    assert (text.get_color(), text.anncoords) == (style.INK, "offset points")


def test_a_panel_of_a_figure_with_a_layout_keeps_it() -> None:
    figure = Figure(layout="tight")
    axes = figure.subplots()
    engine = figure.get_layout_engine()
    with style.one_panel(axes) as (whole, own):
        assert (whole, own) == (figure, axes)
    assert figure.get_layout_engine() is engine
    with style.one_panel(None, 5.0, 4.0) as (new, panel):
        assert new.axes == [panel]
    assert tuple(new.get_size_inches()) == (5, 4)
