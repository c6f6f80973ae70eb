"""Pictures: what they show, and that an algorithm looks the same in all of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.lines import Line2D

import dumbbell as db
from dumbbell.plots import Picture, style


def labels(picture: Picture) -> list[str]:
    return [text for axes in picture.axes for text in (axes.get_xlabel(), axes.get_ylabel()) if text]


def entries(picture: Picture) -> list[str]:
    return [text.get_text() for legend in picture.legends for text in legend.get_texts()]


@pytest.fixture(scope="module")
def curve() -> db.SweepResult:
    return db.compare("bbr", "cubic", loss=["0%", "0.1%", "1%"], duration="3s", repeat=2)


def test_the_overview_has_units_on_every_axis_and_one_entry_an_algorithm(result: db.Result) -> None:
    picture = result.plot.overview()
    assert len(picture.axes) == 4
    assert all("(" in label for label in labels(picture))
    assert entries(picture) == ["cubic", "bbr", "in flight"]


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
    assert labels(picture) == ["random loss (%)", "goodput of a flow (Mbit/s)"]
    lines = [container.lines[0] for container in picture.axes[0].containers]  # type: ignore[attr-defined]
    assert [list(line.get_xdata()) for line in lines] == [pytest.approx([0, 0.1, 1])] * 2


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
