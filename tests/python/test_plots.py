"""Pictures: what they show, and that an algorithm looks the same in all of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib.lines import Line2D

import dumbbell as db
from dumbbell import catalogue, metrics
from dumbbell.plots import Picture, style, summary, timeseries
from dumbbell.plots.capacity import capacity_over_time
from dumbbell.plots.distribution import samples_of_run
from dumbbell.results import separating_axes


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
    from matplotlib.figure import Figure

    figure = Figure()
    panels = figure.subplots(2, 2)
    result.plot.cdf("rtt_ms", ax=panels[0, 0])
    result.plot.shares(ax=panels[0, 1])
    grid.plot.metric("buffer", where={"rtt": "20ms"}, ax=panels[1, 0])
    grid.plot.tradeoff(ax=panels[1, 1])
    assert len(figure.axes) == 4
    assert panels[1, 0].get_xlabel() == "buffer (BDP)"
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
