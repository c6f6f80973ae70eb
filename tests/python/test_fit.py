"""Pictures that can be read: in random results of all sizes and styles nothing overlaps, and no file is overwritten."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import dumbbell as db
from conftest import Cli
from dumbbell.plots import STYLES, Picture, style
from dumbbell.plots.fit import LEAST_LETTERS, fit, flaws

WHOLE = "DUMBBELL_TEST_WHOLE" in os.environ
RESULTS = 200 if WHOLE else 8
"""How many random results there are."""

SIZES = ((3.3, 2.2), (5.0, 3.0), (10.0, 5.6), None)
LABELS = ("a", "long label of somebody", "50 $ a day", "p95_rtt_ms", "W x i", "\u6f22\u5b57", "<b>x</b>", "a\tb")
VALUES: dict[str, list[Any]] = {
    "path.buffer": ["0.25bdp", "0.5bdp", "1bdp", "2bdp", "4bdp", "8bdp"],
    "path.loss": ["0%", "0.01%", "0.1%", "1%", "5%"],
    "path.rtt": ["5ms", "20ms", "100ms", "350ms"],
    "path.queue": ["droptail", "codel", "fq_codel"],
    "flows[0].cc.name": ["bbr", "cubic", "reno", "vegas", "bbr3", "westwood", "illinois", "bbr-acd", "cubic-rfc"],
}


def drawn_result(seed: int, folder: Path) -> db.Result | db.SweepResult:
    """A run or a sweep of flows, labels and settings that the seed draws."""
    draw = random.Random(seed)
    count = draw.choice([1, 1, 2, 2, 3, 6, 12])
    flows = [{"cc": draw.choice(VALUES["flows[0].cc.name"])} for _ in range(count)]
    for flow in flows:
        if draw.random() < 0.4:
            flow["label"] = draw.choice(LABELS)
    path = {"rate": draw.choice(["1mbit", "10mbit", "400mbit"]), "rtt": "20ms", "loss": draw.choice(["0%", "0.5%"])}
    document: dict[str, Any] = {
        "duration": draw.choice(["1s", "3s"]),
        "vary_rtt": "1packet",
        "path": path,
        "flows": flows,
    }
    axes = draw.sample(list(VALUES), draw.choice([0, 1, 1, 2, 2, 3]))
    sweep: dict[str, Any] = {axis: draw.sample(VALUES[axis], draw.randint(2, 3)) for axis in axes}
    if sweep:
        document["sweep"] = sweep | {"repeat": draw.choice([1, 2, 3])}
    sweep_or_run = db.sweep(document, out=folder / "sweep", progress=False) if sweep else db.run(document)
    return sweep_or_run if isinstance(sweep_or_run, db.Result) else sweep_or_run.collect()


def pictures(result: db.Result | db.SweepResult, draw: random.Random) -> Iterator[Any]:
    """What draws pictures of a result: those that suit it, and some that somebody asks for."""
    plot = result.plot
    yield lambda: list(plot.suitable().values())
    if isinstance(result, db.Result):
        yield lambda: [result.plot.cdf("rtt_ms"), result.plot.shares(), result.plot.series("cwnd")]
        return
    axes = [axis for axis in result.axes if axis != "repeat"]
    x = draw.choice(axes)
    others = [axis for axis in axes if axis != x]
    y = draw.choice(["goodput_mbps", "p95_rtt_ms", "jain", "retransmits"])
    yield lambda: [result.plot.metric(x, y, panels=others)]
    yield lambda: [result.plot.metric(x, y)]
    yield lambda: [result.plot.box(x, y, panels=others)]
    yield lambda: [result.plot.cdf(y, panels=[x])]
    if others:
        yield lambda: [result.plot.heat_map(x, others[0], y)]


@pytest.mark.parametrize("seed", range(RESULTS))
def test_in_every_picture_all_texts_can_be_read(seed: int, tmp_path: Path) -> None:
    result = drawn_result(seed, tmp_path)
    ways = list(pictures(result, random.Random(seed)))
    looks = [(size, chosen) for size in SIZES for chosen in STYLES]
    for number, (size, chosen) in enumerate(looks if WHOLE else looks[seed % 3 :: 5]):
        way = ways[number % len(ways)]
        with db.plots.appearance(size=size, style=chosen), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                found: list[Picture] = way()
            except ValueError as error:
                # What does not fit, or cannot be told apart, is refused with what would help.
                assert "help:" in str(error), error
                continue
            for picture in found:
                picture.encoded("png")
                assert flaws(picture) == [], (seed, chosen, size)
                assert size is None or tuple(picture.get_size_inches()) == size


@pytest.mark.parametrize("name", ["suitable"])
def test_what_suits_a_result_is_never_refused_in_a_size_of_its_own(name: str, tmp_path: Path) -> None:
    for seed in range(100, 100 + RESULTS):
        result = drawn_result(seed, tmp_path / str(seed))
        for chosen in STYLES:
            with db.plots.appearance(style=chosen):
                assert getattr(result.plot, name)() is not None


def crowded(width: float = 2.5, height: float = 1.8) -> Picture:
    """A small picture whose legend does not fit."""
    with db.plots.appearance(size=(width, height)), style.picture() as figure:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1e6])
        style.legend(figure, [Line2D([], [], label=f"an algorithm of a long name {number}") for number in range(6)])
    return figure


def test_a_picture_that_does_not_fit_is_laid_out_again_or_refused_with_advice() -> None:
    figure = crowded()
    assert flaws(figure)
    fit(figure, grows=(True, True))
    assert flaws(figure) == []
    with pytest.raises(ValueError, match=r"does not fit 1.5x1in.*\n  help: .*--size"):
        fit(crowded(1.5, 1.0), grows=(False, False))


def test_a_long_label_is_broken_between_words_and_one_word_gets_a_larger_picture() -> None:
    for label, expected in (("w" * 20 + " " + "v" * 20, "w" * 20 + "\n" + "v" * 20), ("w" * 40, "w" * 40)):
        with db.plots.appearance(size=(2.0, 1.5)), style.picture() as figure:
            axes = figure.subplots()
            axes.set_ylabel(label)
        fit(figure, grows=(True, True))
        assert flaws(figure) == []
        assert axes.get_ylabel() == expected


@pytest.mark.parametrize(
    ("x", "y", "words", "kind"),
    [(0.5, 0.5, "over the line", "text"), (0.99, 0.9, "cut off at the edge of the picture", "text")],
)
def test_a_text_over_data_or_beyond_the_edge_is_a_flaw(x: float, y: float, words: str, kind: str) -> None:
    figure = Picture(figsize=(4, 3))
    axes = figure.add_axes((0.2, 0.2, 0.75, 0.7))
    axes.plot([0, 1], [0, 1])
    axes.set(xlim=(0, 1), ylim=(0, 1))
    assert flaws(figure) == []
    axes.text(x, y, words)
    assert [flaw.kind for flaw in flaws(figure)] == [kind]


def test_two_texts_over_each_other_and_letters_that_are_too_small_are_flaws() -> None:
    figure = Picture(figsize=(4, 3))
    axes = figure.add_axes((0.2, 0.2, 0.75, 0.7))
    axes.text(0.2, 0.2, "one")
    axes.text(0.21, 0.2, "other")
    axes.text(0.5, 0.8, "small", fontsize=LEAST_LETTERS - 1)
    assert sorted(flaw.kind for flaw in flaws(figure)) == ["letters", "text"]


def test_the_edge_is_that_of_the_file_that_is_written(tmp_path: Path) -> None:
    """The judge agrees with the pixels: nothing dark touches the border of a picture that has no flaw."""
    sweep = db.compare("bbr", "cubic", buffer=["0.5bdp", "1bdp", "2bdp"], duration="2s", progress=False)
    with db.plots.appearance(size=(3.3, 2.2), style="paper", dpi=200):
        picture = sweep.plot.metric("buffer", "p95_rtt_ms")
        picture.write(tmp_path / "picture", ["png"])
    pixels = mpl.image.imread(tmp_path / "picture.png")[..., :3]
    edges = [pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]]
    assert all(edge.min() > 0.99 for edge in edges)


def refused(dumbbell: Cli, *arguments: str) -> str:
    """What a command says that refuses."""
    done = dumbbell(*arguments)
    assert done.status == 2
    return done.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pictures") / "sweep"
    sweep = {"flows[0].cc": ["bbr", "cubic"], "path.buffer": ["1bdp", "2bdp"], "path.loss": ["0%", "1%"], "repeat": 2}
    document = {"duration": "2s", "path": {"rate": "10mbit", "rtt": "20ms"}, "flows": [{"cc": "bbr"}], "sweep": sweep}
    db.sweep(document, out=place, progress=False).collect()
    return place


def test_what_a_picture_shows_is_in_its_name(dumbbell: Cli, folder: Path) -> None:
    asked = [
        ["--x", "loss", "--where", "buffer=1bdp"],
        ["--x", "loss", "--where", "buffer=2bdp"],
        ["--x", "loss", "--panels", "buffer"],
        ["--x", "loss", "--panels", "buffer", "--style", "dark"],
        ["--x", "loss", "--panels", "buffer", "--size", "4x3in"],
        ["--x", "loss", "--panels", "buffer", "--title", "a/b"],
        ["--x", "loss", "--panels", "buffer", "--title", "a:b"],
        ["--x", "loss", "--by", "buffer"],
        ["--x", "loss"],
        ["--x", "loss", "--ylim", "0:20"],
        ["--kind", "heat", "--x", "loss", "--by", "buffer"],
        ["--kind", "heat", "--x", "loss", "--by", "buffer", "--where", "cc=bbr"],
        ["--kind", "box", "--x", "loss", "--panels", "buffer"],
        ["--kind", "cdf", "--panels", "cc"],
        [],
    ]
    written: list[str] = []
    for options in asked:
        done = dumbbell("plot", str(folder), "--format", "png", *options)
        assert done.status == 0, done.err
        shown = done.out.split()
        assert shown and all(Path(path).is_file() for path in shown)
        written += shown
    assert len(set(written)) == len(written)


def test_a_file_of_any_name_is_written_and_replaced_only_if_it_is_a_picture_of_ours(
    dumbbell: Cli, folder: Path, tmp_path: Path
) -> None:
    for kind in ("pdf", "png", "svg"):
        place = tmp_path / f"fig3.{kind}"
        for _ in range(2):
            dumbbell("plot", str(folder), "--x", "loss", "--panels", "buffer", "--out", str(place))
            assert style.is_ours(place)
        place.write_bytes(b"mine")
        said = refused(dumbbell, "plot", str(folder), "--x", "loss", "--out", str(place))
        assert str(place) in said and place.read_bytes() == b"mine"
    assert "or a directory" in refused(dumbbell, "plot", str(folder), "--out", str(tmp_path / "all.png"))
    assert not (tmp_path / "all.png").exists()
    dumbbell("plot", str(folder), "--out", str(tmp_path / "all"), "--format", "png")
    assert len(list((tmp_path / "all").glob("*.png"))) >= 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--x", "loss", "--ylim", "10"], "LOW:HIGH"),
        (["--x", "loss", "--ylim", "10:1"], "no length"),
        (["--x", "loss", "--log", "z"], "write x, y or xy"),
        (["--x", "loss", "--log", "x"], "0 or less"),
        (["--x", "loss", "--font", "No Such Letters"], "is installed"),
        (["--x", "loss", "--legend", "left"], "top, bottom, right, none"),
        (["--x", "loss", "--panels", "rtt"], "does not vary rtt"),
        (["--x", "loss", "--label", "x"], "NAME=TEXT"),
        (["--x", "loss", "--out", "a.png", "--format", "pdf"], "is a png"),
        (["--x", "loss", "--out", "a.jpg"], "no picture is written as .jpg; choose from .png, .svg, .pdf"),
        (["--x", "loss", "--size", "0.6x0.6in"], "does not fit"),
    ],
)
def test_what_cannot_be_drawn_is_refused(dumbbell: Cli, folder: Path, options: list[str], said: str) -> None:
    before = sorted(folder.iterdir())
    assert said in refused(dumbbell, "plot", str(folder), *options)
    assert sorted(folder.iterdir()) == before


def test_words_axes_and_letters_can_be_chosen(folder: Path) -> None:
    sweep = db.load_sweep(folder)
    labels = {"x": "random loss (%)", "cubic": "CUBIC, RFC 9438"}
    with db.plots.appearance(
        title="Who shares", labels=labels, ylim=(0, 20), legend="right", font="DejaVu Serif", font_size=8
    ):
        picture = sweep.plot.metric("loss", where={"buffer": "1bdp"})
    (axes,) = picture.axes
    assert (picture.get_suptitle(), axes.get_xlabel(), axes.get_ylim()) == ("Who shares", labels["x"], (0, 20))
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["bbr", "CUBIC, RFC 9438"]
    assert axes.xaxis.label.get_fontfamily()[0] == "DejaVu Serif"
    with db.plots.appearance(legend="none"):
        assert sweep.plot.metric("loss", where={"buffer": "1bdp"}).legends == []
    with pytest.raises(ValueError, match="one quantity"), db.plots.appearance(ylim=(0, 1)):
        db.run({"duration": "1s", "path": {"rate": "5mbit", "rtt": "9ms"}, "flows": [{"cc": "bbr"}]}).plot.overview()


def test_panels_hold_every_value_once_on_shared_axes(folder: Path) -> None:
    sweep = db.load_sweep(folder)
    picture = sweep.plot.metric("loss", "goodput_mbps", panels="buffer")
    assert [axes.get_title() for axes in picture.axes] == ["buffer 1bdp", "buffer 2bdp"]
    assert len({axes.get_ylim() for axes in picture.axes}) == 1
    flows = sweep.flows.to_polars()
    for axes, buffer in zip(picture.axes, ["1bdp", "2bdp"], strict=True):
        for line, cc in zip(axes.get_lines(), ["bbr", "cubic"], strict=True):
            rows = flows.filter((flows["path.buffer"] == buffer) & (flows["cc"].cast(str) == cc))
            means = [rows.filter(rows["path.loss"] == loss)["goodput_mbps"].mean() for loss in ("0%", "1%")]
            assert np.asarray(line.get_ydata()).tolist() == pytest.approx(means)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep in which two flows of different algorithms share a path."""
    place = tmp_path_factory.mktemp("shared") / "sweep"
    flows = [{"cc": "bbr", "label": "early"}, {"cc": "cubic", "label": "late"}]
    document = {"duration": "1s", "path": {"rate": "5mbit", "rtt": "20ms"}, "flows": flows}
    db.sweep(document | {"sweep": {"path.loss": ["0%", "1%"]}}, out=place, progress=False).collect()
    return place


@pytest.mark.parametrize(("word", "titles"), [("label", ["early", "late"]), ("cc", ["bbr", "cubic"])])
def test_flows_that_share_a_path_have_panels_of_their_own(word: str, titles: list[str], shared: Path) -> None:
    plot = db.load_sweep(shared).plot
    for picture in (plot.metric("loss", panels=word), plot.cdf("goodput_mbps", panels=[word])):
        assert [axes.get_title() for axes in picture.axes] == titles


def test_flows_that_share_a_path_have_lines_of_their_own(shared: Path) -> None:
    def names(picture: Figure) -> list[str]:
        return [text.get_text() for text in picture.legends[0].get_texts()]

    plot = db.load_sweep(shared).plot
    for picture in (
        plot.metric("loss", by="label"),
        plot.box("loss", by="label"),
        plot.cdf("goodput_mbps", by="label"),
    ):
        assert names(picture) == ["early (bbr)", "late (cubic)"]
    both = names(plot.cdf("goodput_mbps", by=["loss", "label"]))
    assert both == [f"{name}, loss {loss}" for loss in ("0%", "1%") for name in ("early (bbr)", "late (cubic)")]


def test_a_map_mixes_no_algorithms(folder: Path) -> None:
    sweep = db.load_sweep(folder)
    picture = sweep.plot.heat_map("loss", "buffer")
    panels = [axes for axes in picture.axes if axes.get_title()]
    assert [axes.get_title() for axes in panels] == ["bbr", "cubic"]
    flows = sweep.flows.to_polars()
    for axes, cc in zip(panels, ["bbr", "cubic"], strict=True):
        rows = flows.filter(
            (flows["cc"].cast(str) == cc) & (flows["path.loss"] == "1%") & (flows["path.buffer"] == "2bdp")
        )
        assert axes.images[0].get_array()[1, 1] == pytest.approx(rows["goodput_mbps"].mean())  # type: ignore[index]
    with pytest.raises(ValueError, match="one panel cannot show 2: bbr; cubic"):
        sweep.plot.heat_map("loss", "buffer", ax=Figure().subplots())
    alone = sweep.plot.heat_map("loss", "buffer", where={"cc": "bbr"}, ax=Figure().subplots())
    assert len(alone.axes) == 2


def test_runs_with_links_of_their_own_have_columns_of_their_own(tmp_path: Path) -> None:
    flows = [{"cc": "bbr"}, {"cc": "bbr", "label": "late", "start": "1s"}]
    document = {"duration": "3s", "path": {"rate": "50mbit", "rtt": "30ms"}, "flows": flows}
    document |= {"sweep": {"flows[*].cc": ["bbr", "cubic"]}}
    picture = db.sweep(document, out=tmp_path / "late", progress=False).collect().plot.overview()
    rates = picture.axes[:2]
    assert [axes.get_title() for axes in rates] == ["bbr", "cubic"]
    for axes in rates:
        *flows_of_a_run, capacity = axes.get_lines()
        assert len(flows_of_a_run) == 2
        together = np.nansum([np.interp(2.5, *np.asarray(line.get_data(), dtype=float)) for line in flows_of_a_run])
        assert together == pytest.approx(50, rel=0.05)
        assert capacity.get_ydata() == [50, 50]


def test_panels_of_a_figure_of_the_readers_own_do_not_lie_over_each_other(folder: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    sweep = db.load_sweep(folder)
    figure = Figure(figsize=(9, 7))
    FigureCanvasAgg(figure)
    for axes, loss in zip(figure.subplots(2, 2).flat, ["0%", "1%", "0%", "1%"], strict=True):
        sweep.plot.metric("buffer", "p95_rtt_ms", where={"loss": loss}, ax=axes)
    assert flaws(figure) == []
