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
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import dumbbell as db
from conftest import Cli
from dumbbell.plots import STYLES, Picture, style
from dumbbell.plots import fit as layout
from dumbbell.plots.fit import LEAST_LETTERS, NAME, REFERENCE, fit, flaws

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


@pytest.mark.parametrize("seed", range(100, 100 + RESULTS))
def test_what_suits_a_result_is_never_refused_in_a_size_of_its_own(seed: int, tmp_path: Path) -> None:
    result = drawn_result(seed, tmp_path)
    for chosen in STYLES if WHOLE else [STYLES[seed % len(STYLES)]]:
        with db.plots.appearance(style=chosen):
            assert result.plot.suitable() is not None


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


def plain(width: float = 4.0, height: float = 3.0) -> tuple[Picture, Axes]:
    """A picture with one panel from 0 to 1, in which a point is a pixel."""
    figure = Picture(figsize=(width, height), dpi=72)
    axes = figure.add_axes((0.2, 0.2, 0.6, 0.6))
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
    return figure, axes


def room(x0: float, y0: float, x1: float, y1: float) -> Bbox:
    return Bbox.from_extents(x0, y0, x1, y1)


@pytest.mark.parametrize(
    ("other", "gap", "expected"),
    [
        ((9.25, 0, 20, 10), None, False),
        ((9.2, 0, 20, 10), None, True),
        ((-9, 0, 0.75, 10), None, False),
        ((-9, 0, 0.8, 10), None, True),
        ((0, 9.25, 10, 20), None, False),
        ((0, 9.2, 10, 20), None, True),
        ((0, -9, 10, 0.75), None, False),
        ((0, -9, 10, 0.8), None, True),
        ((13, 0, 20, 10), 3.0, False),
        ((12.9, 0, 20, 10), 3.0, True),
        ((12.9, 9.5, 20, 20), 3.0, False),
        ((2, 2, 3, 3), None, True),
    ],
)
def test_texts_may_touch_but_not_meet(other: tuple[float, ...], gap: float | None, expected: bool) -> None:
    one, two = room(0, 0, 10, 10), room(*other)
    for pair in ((one, two), (two, one)):
        assert (layout._meet(*pair) if gap is None else layout._meet(*pair, gap)) is expected


def box(kind: layout.Kind, *places: float, words: str = "") -> layout._Box:
    return layout._Box(kind, words or kind, room(*places), Text(text=words))


@pytest.mark.parametrize(
    ("kind", "low", "high", "expected"),
    [("ticks", 3, 13, False), ("ticks", 2.9, 13, True), ("text", 2.9, 30, True), ("label", 0, 10, False)],
)
def test_numbers_stand_in_a_row_that_are_about_as_high(
    kind: layout.Kind, low: float, high: float, expected: bool
) -> None:
    one, other = box(kind, 0, 0, 9, 10), box(kind, 20, low, 29, high)
    assert bool(layout._is_row(one, other)) is expected
    assert bool(layout._is_row(other, one)) is expected


@pytest.mark.parametrize(
    ("kinds", "x", "margin", "flaw"),
    [
        (("ticks", "ticks"), 12.9, 0.0, "ticks"),
        (("ticks", "ticks"), 13.0, 0.0, None),
        (("ticks", "ticks"), 13.4, 0.5, "ticks"),
        (("label", "label"), 9.2, 0.0, "label"),
        (("label", "label"), 9.3, 0.0, None),
        (("label", "label"), 9.7, 0.5, "label"),
        (("label", "ticks"), 9.3, 0.0, None),
        (("label", "ticks"), 9.0, 0.0, "ticks"),
        (("ticks", "title"), 9.0, 0.0, "title"),
        (("legend", "reference"), 9.0, 0.0, "reference"),
        (("legend", "text"), 9.0, 0.0, "text"),
        (("legend", "label"), 9.0, 0.0, "legend"),
        (("reference", "ticks"), 9.0, 0.0, "ticks"),
    ],
)
def test_of_two_texts_over_each_other_the_one_that_is_easier_to_change_has_the_flaw(
    kinds: tuple[layout.Kind, layout.Kind], x: float, margin: float, flaw: str | None
) -> None:
    boxes = [
        box(kinds[0], 0, 0, 10, 10, words="one"),
        box(kinds[1], x, 0, x + 10, 10, words="other"),
        box("title", 0, 99, 9, 109),
    ]
    found = list(layout._overlaps(boxes, margin))
    assert [one.kind for one in found] == ([flaw] if flaw else [])
    for one in found:
        assert one.words == "one and other overlap"
        assert one.artists == (boxes[0].artist, boxes[1].artist)


def test_every_pair_of_texts_over_each_other_is_a_flaw() -> None:
    boxes = [box("text", 0, 0, 10, 10, words=name) for name in ("a", "b", "c")]
    words = [one.words for one in layout._overlaps(boxes, 0.0)]
    assert words == ["a and b overlap", "a and c overlap", "b and c overlap"]


@pytest.mark.parametrize("side", range(4))
def test_a_text_may_reach_over_the_edge_by_less_than_a_pixel(side: int) -> None:
    figure = Picture(figsize=(4, 3), dpi=72)
    for beyond, margin, expected in ((0.7, 0.0, 0), (0.8, 0.0, 1), (0.2, 0.5, 0), (0.3, 0.5, 1)):
        places = [100.0, 100.0, 120.0, 120.0]
        places[side] = (-beyond, -beyond, 288 + beyond, 216 + beyond)[side]
        one = box("label", *places, words="words")
        found = list(layout._cut(figure, [one], margin))
        assert [(flaw.kind, flaw.words, flaw.artists) for flaw in found] == [
            ("label", "words is cut off at the edge", (one.artist,))
        ] * expected


def test_long_texts_are_quoted_in_part() -> None:
    assert layout._quoted(Text(text=" two\nlines ")) == '"two lines"'
    assert layout._quoted(Text(text="x" * 59)) == f'"{"x" * 59}"'
    assert layout._quoted(Text(text="x" * 60)) == f'"{"x" * 57}..."'


def test_every_text_that_is_seen_has_its_room() -> None:
    figure, axes = plain()
    axes.plot([0, 1], [0, 1])
    figure.legend(handles=[Line2D([], [], label="entry")])
    figure.suptitle("whole")
    figure.supxlabel("below all")
    figure.text(0.5, 0.5, " ")
    axes.set(title="middle", xlabel="across", ylabel="")
    axes.set_title("left", loc="left")
    axes.set_title("right", loc="right")
    axes.set_xticks([0, 0.5, 1, 2], labels=["none", "half", "all", "beyond"])
    axes.set_xticks([0.25], labels=["minor"], minor=True)
    axes.set_xlim(0, 1)
    axes.tick_params(axis="x", labeltop=True)
    axes.annotate("mark", (0.5, 0.5), gid=NAME)
    axes.annotate("line", (0.5, 0.6), gid=REFERENCE)
    axes.text(0.1, 0.1, "inside")
    axes.text(0.1, 0.2, "hidden").set_visible(False)
    figure.add_axes((0.9, 0.9, 0.05, 0.05), visible=False, xlabel="of nothing")
    other = figure.add_axes((0.85, 0.2, 0.1, 0.6), ylabel="up", xticks=[], yticks=[])
    figure.draw_without_rendering()
    found = [(one.kind, one.words) for one in layout._boxes(figure)]
    assert found == [
        ("legend", "the legend"),
        ("title", '"whole"'),
        ("label", '"below all"'),
        *(("ticks", f'"{word}"') for word in ("none", "none", "half", "half", "all", "all", "minor")),
        ("label", '"across"'),
        ("title", '"middle"'),
        ("title", '"left"'),
        ("title", '"right"'),
        ("reference", '"line"'),
        ("text", '"inside"'),
        ("label", '"up"'),
    ]
    rooms = {one.words: one for one in layout._boxes(figure)}
    assert rooms['"up"'].artist is other.yaxis.label
    assert rooms["the legend"].artist is figure.legends[0]
    assert all(one.room.width > 1 and one.room.height > 1 for one in rooms.values())
    assert all(one.room.height < 40 for one in rooms.values())


def test_a_number_at_the_end_of_an_axis_is_seen() -> None:
    _, axes = plain()
    axes.set_xticks([0, 1e-10, 100 + 1e-8, 100 + 1e-6], labels=["a", "b", "c", "d"])
    for limits in ((0, 100), (100, 0)):
        axes.set_xlim(*limits)
        assert [text.get_text() for text in layout._tick_labels(axes.xaxis)] == ["a", "b", "c"]


def over(figure: Picture) -> list[tuple[str, str]]:
    figure.draw_without_rendering()
    return [(flaw.kind, flaw.words) for flaw in layout._over_data(figure)]


def test_a_legend_over_a_panel_that_is_seen_is_a_flaw() -> None:
    for x, expected in ((0.5, [("legend", "the legend lies over the data")]), (0.95, [])):
        figure, axes = plain()
        figure.legend(handles=[Line2D([], [], label="e")], loc="lower left", bbox_to_anchor=(x, 0.5))
        assert over(figure) == expected
        axes.set_visible(False)
        assert over(figure) == []


def test_a_legend_may_touch_a_panel_by_two_pixels() -> None:
    figure, axes = plain()
    figure.legend(handles=[Line2D([], [], label="e")], loc="lower left", bbox_to_anchor=(0.0, 0.4))
    figure.draw_without_rendering()
    (legend,) = figure.legends
    edge = legend.get_window_extent().x1
    for into, artists in ((1.5, []), (2.5, [(legend,)])):
        axes.set_position(((edge - into) / 288, 0.2, 0.4, 0.6))
        figure.draw_without_rendering()
        assert [flaw.artists for flaw in layout._over_data(figure)] == artists


def test_a_picture_fits_by_no_more_than_it_must_unless_it_is_asked_for() -> None:
    figure, _ = plain()
    text = figure.text(0.5, 0.5, "words", ha="right")
    figure.draw_without_rendering()
    text.set_x(0.5 + (287.9 - text.get_window_extent().x1) / 288)
    assert flaws(figure) == []
    assert [flaw.kind for flaw in flaws(figure, 1.0)] == ["label"]


def test_a_picture_is_judged_by_the_rules_that_it_was_drawn_by() -> None:
    def ticks_of(figure: Picture) -> int:
        flaws(figure)
        return len(figure.axes[0].xaxis.majorTicks)

    with db.plots.appearance(font_size=40, size=(4, 3)), style.picture() as figure:
        figure.subplots().plot([0, 1], [0, 1])
    large = ticks_of(figure)
    figure.rules = {}
    assert large < ticks_of(figure)


def test_lines_areas_and_boxes_lie_under_a_text_if_they_are_seen() -> None:
    def drawn(draw: Any, gid: str | None = None) -> tuple[Picture, Any]:
        figure, axes = plain()
        artist = draw(axes)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.text(0.5, 0.5, "words", ha="center", va="center", gid=gid)
        return figure, artist

    ways: dict[str, Any] = {
        "a line": lambda axes: axes.plot([0, 1], [0.5, 0.5])[0],
        "an area": lambda axes: axes.fill_between([0, 1], [0, 0], [1, 1]),
        "a box": lambda axes: axes.add_patch(Rectangle((0.1, 0.1), 0.8, 0.8)),
        "a mark": lambda axes: axes.plot([0.5], [0.5], marker="o")[0],
        "a point of a line": lambda axes: axes.plot([0.1, 0.5], [0.5, 0.5], marker="o", linestyle="none")[0],
    }
    for way in ways.values():
        for gid in (NAME, REFERENCE):
            assert over(drawn(way, gid)[0]) == []
        figure, artist = drawn(way)
        assert over(figure) == [("text", '"words" lies over the data')]
        artist.set_visible(False)
        assert over(figure) == []
    elsewhere: dict[str, Any] = {
        "a line beside it": lambda axes: axes.plot([0, 1], [0.9, 0.9]),
        "a point without a mark": lambda axes: axes.plot([0.5], [0.5]),
        "nothing but ends": lambda axes: axes.plot([0.1, 0.9], [0.5, 0.5], marker="o", linestyle="none"),
        "a frame around it": lambda axes: axes.plot([0.1, 0.9, 0.9, 0.1, 0.1], [0.1, 0.1, 0.9, 0.9, 0.1]),
        "an empty area": lambda axes: axes.fill_between([], [], []),
        "no points": lambda axes: axes.plot([], [], drawstyle="steps-post"),
    }
    for way in elsewhere.values():
        assert over(drawn(way)[0]) == []


def test_a_mark_reaches_as_far_as_it_is_drawn_and_steps_go_around() -> None:
    figure, axes = plain(5, 5)
    (mark,) = axes.plot([0.5], [0.5], marker="o", markersize=20, linestyle="none")
    middle = figure.dpi * 5 / 2
    covers = layout._of_line(mark)
    for far, expected in ((9.5, True), (10.5, False)):
        assert covers(room(middle + far, middle - 1, middle + far + 5, middle + 1)) is expected
        assert covers(room(middle - far - 5, middle - 1, middle - far, middle + 1)) is expected
        assert covers(room(middle - 1, middle + far, middle + 1, middle + far + 5)) is expected
        assert covers(room(middle - 1, middle - far - 5, middle + 1, middle - far)) is expected
    # Beside the reach in one direction is beside it.
    assert not covers(room(middle - 1, middle + 50, middle + 1, middle + 60))
    figure.set_dpi(144)
    (mark,) = axes.plot([0.5], [0.5], marker="o", markersize=20, linestyle="none")
    assert layout._of_line(mark)(room(2 * middle + 19, 2 * middle - 1, 2 * middle + 25, 2 * middle + 1))
    (step,) = axes.plot([0.0, 1.0], [0.0, 1.0], drawstyle="steps-post")
    (straight,) = axes.plot([0.0, 1.0], [0.0, 1.0])
    corner = axes.transData.transform((0.9, 0.0))
    diagonal = axes.transData.transform((0.5, 0.5))
    for place, lies in ((corner, (True, False)), (diagonal, (False, True))):
        near = room(place[0] - 3, place[1] - 3, place[0] + 3, place[1] + 3)
        assert tuple(layout._of_line(line)(near) for line in (step, straight)) == lies


def test_letters_and_panels_that_are_too_small_are_told() -> None:
    figure, axes = plain()
    axes.set_xlabel("least", fontsize=LEAST_LETTERS)
    axes.set_ylabel("less", fontsize=LEAST_LETTERS - 0.1)
    axes.text(0.5, 0.5, " ", fontsize=1)

    def said() -> list[tuple[str, str]]:
        figure.draw_without_rendering()
        return [(flaw.kind, flaw.words) for flaw in layout._small(figure, [])]

    letters = ("letters", 'the letters of "less" have less than 5 points')
    assert said() == [letters]
    inch = (1 / 4, 1 / 3)
    for width, height, shown in (
        (0.46, 0.31, None),
        (0.44, 2.0, "0.44x2"),
        (2.0, 0.29, "2x0.29"),
        (0.2, 0.1, "0.2x0.1"),
    ):
        axes.set_position((0.2, 0.2, width * inch[0], height * inch[1]))
        panel = [("room", f"a panel of {shown}in shows nothing")] if shown else []
        assert said() == [letters, *panel]
    axes.set_visible(False)
    assert said() == [letters]
    axes.set_visible(True)
    axes._colorbar = None  # type: ignore[attr-defined]
    assert said() == [letters]


def ticks(axes: Axes) -> list[str]:
    axes.get_figure(root=True).draw_without_rendering()  # type: ignore[union-attr]
    return [label.get_text() for label in axes.get_xticklabels()]


def test_every_second_number_is_left_out_until_two_are_left() -> None:
    figure, axes = plain()
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])

    def thinned() -> bool:
        figure.draw_without_rendering()
        return layout._thin_ticks(figure, [layout.Flaw("ticks", "", (layout._tick_labels(axes.xaxis)[0],))])

    assert thinned() is True
    assert ticks(axes) == ["0.0", "", "0.4", "", "0.8", ""]
    assert thinned() is True
    assert ticks(axes) == ["0.0", "", "", "", "0.8", ""]
    assert thinned() is False
    assert ticks(axes) == ["0.0", "", "", "", "0.8", ""]
    assert len(axes.get_xticks()) == 6
    # Flaws of another kind, and texts that are none of its own, leave an axis alone.
    axes.set_yticks([0, 0.5, 1])
    figure.draw_without_rendering()
    label = layout._tick_labels(axes.yaxis)[0]
    assert layout._thin_ticks(figure, [layout.Flaw("label", "", (label,))]) is False
    assert layout._thin_ticks(figure, [layout.Flaw("ticks", "", (axes.title,))]) is False
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0.0", "0.5", "1.0"]


def test_numbers_up_an_axis_and_those_above_a_panel_are_thinned_too() -> None:
    figure, axes = plain()
    axes.set_yticks([0, 0.5, 1], labels=["low", "-0.5", "1e3"])
    axes.set_xticks([0, 0.5, 1], labels=["\N{MINUS SIGN}1", "0", "1"])
    axes.tick_params(axis="x", labeltop=True, labelbottom=False)
    figure.draw_without_rendering()
    labels = [layout._tick_labels(axis)[0] for axis in (axes.xaxis, axes.yaxis)]
    assert layout._thin_ticks(figure, [layout.Flaw("ticks", "", (label,)) for label in labels]) is True
    figure.draw_without_rendering()
    assert [tick.label2.get_text() for tick in axes.xaxis.get_major_ticks()] == ["\N{MINUS SIGN}1", "", "1"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["low", "", "1e3"]


def test_names_below_an_axis_are_turned_by_a_third_and_then_upright() -> None:
    figure, axes = plain()
    axes.set_xticks([0, 1], labels=["1", "reno"])
    axes.set_yticks([0, 1], labels=["a", "b"])
    found = []
    for _ in range(3):
        figure.draw_without_rendering()
        changed = layout._thin_ticks(figure, [layout.Flaw("ticks", "", (layout._tick_labels(axes.xaxis)[0],))])
        label = axes.get_xticklabels()[1]
        found.append((changed, label.get_rotation(), label.get_horizontalalignment(), label.get_rotation_mode()))
        assert {label.get_rotation() for label in axes.get_yticklabels()} == {0}
    assert found == [
        (True, 30, "right", "anchor"),
        (True, 90, "center", "default"),
        (False, 90, "center", "default"),
    ]


@pytest.mark.parametrize(
    ("words", "broken"),
    [
        ("two words", "two\nwords"),
        ("two word", "two word"),
        ("aaaa bbbb cccc", "aaaa\nbbbb\ncccc"),
        ("short\naaaaaaaaa bbbbbbbbb\nlast", "short\naaaaaaaaa\nbbbbbbbbb\nlast"),
        ("aa\nbb\ncc\naaaaaaaaaaa bbbbbbbbbbb", "aa\nbb\ncc\naaaaaaaaaaa bbbbbbbbbbb"),
        ("aa\nbb\naaaaaaaaaaa bbbbbbbbbbb", "aa\nbb\naaaaaaaaaaa\nbbbbbbbbbbb"),
        ("aaaaaaaaaaaa-aaaaaaaaaaaaa", "aaaaaaaaaaaa-aaaaaaaaaaaaa"),
        ("aaaaa bbbbb ccccc ddddd", "aaaaa bbbbb\nccccc ddddd"),
        ("aaaaaa bbbbb ccccc dddd", "aaaaaa bbbbb\nccccc dddd"),
        ("aaa bbb ccc", "aaa bbb\nccc"),
    ],
)
def test_the_longest_line_of_a_title_or_label_is_broken(words: str, broken: str) -> None:
    _, axes = plain()
    for kind, remedy in (("title", layout._break_titles), ("label", layout._break_labels)):
        axes.set_title(words)
        flaw = layout.Flaw(kind, "", (axes.title, axes.lines))  # type: ignore[arg-type]
        assert remedy(Figure(), [flaw]) is (words != broken)
        assert axes.get_title() == broken
        assert remedy(Figure(), [layout.Flaw("ticks", "", (axes.title,))]) is False


def test_texts_beside_reference_lines_part_by_half_their_overlap_each() -> None:
    for turned in (False, True):
        figure, axes = plain()
        figure.set_dpi(144)
        names = [
            axes.annotate(str(y), (1, y), xytext=(4, 0), textcoords="offset points", va="center", gid=REFERENCE)
            for y in (0.5, 0.52)
        ]
        figure.draw_without_rendering()
        lower, upper = (Text.get_window_extent(name) for name in names)
        by = (lower.y1 - upper.y0 + 1) / 2 / 2
        assert by > 1
        flaws_ = [
            layout.Flaw("reference", "", (names[0],)),
            layout.Flaw("reference", "", tuple(names[:: -1 if turned else 1])),
        ]
        assert layout._part_references(figure, flaws_) is True
        assert [name.get_position()[0] for name in names] == [4, 4]
        assert [name.get_position()[1] for name in names] == pytest.approx([-by, by])
        assert layout._part_references(figure, flaws_[:1]) is False
        assert layout._part_references(figure, [layout.Flaw("text", "", tuple(names))]) is False


def test_a_picture_grows_by_steps_up_to_its_limit_where_it_may() -> None:
    figure = Picture(figsize=(4, 3))
    assert layout._grow(figure, (10, 3)) is True
    assert tuple(figure.get_size_inches()) == pytest.approx((4 * layout.GROWS, 3))
    assert layout._grow(figure, (4.5, 5)) is True
    assert tuple(figure.get_size_inches()) == pytest.approx((4.5, 3 * layout.GROWS))
    assert layout._grow(figure, tuple(figure.get_size_inches())) is False


@pytest.mark.parametrize("grows", [(True, False), (False, True)])
def test_a_picture_becomes_wider_or_higher_only_if_it_may(grows: tuple[bool, bool]) -> None:
    """A word that does not fit either way: the picture grows to its limit, its letters shrink, and it is refused."""
    figure = Picture(figsize=(2, 2))
    axes = figure.add_axes((0.2, 0.2, 0.6, 0.6), xticks=[], yticks=[])
    axes.set_xlabel("w" * 200)
    axes.set_ylabel("w" * 200)
    shown = "5x2" if grows[0] else "2x5"
    with pytest.raises(
        ValueError, match=rf"does not fit {shown}in: \"w+\.\.\." + r"\" is cut off at the edge\n  help: "
    ):
        fit(figure, grows=grows)
    assert {text.get_fontsize() for text in (axes.xaxis.label, axes.yaxis.label)} == {LEAST_LETTERS}


def test_letters_shrink_by_steps_but_not_below_what_can_be_read() -> None:
    figure, axes = plain()
    axes.set_xlabel("large", fontsize=10)
    axes.set_ylabel("small", fontsize=5.1)
    axes.set_title("tiny", fontsize=4)
    axes.set_xticks([0, 1])
    axes.set_yticks([0, 1])
    axes.set_xticks([0.5], labels=["half"], minor=True)
    axes.tick_params(axis="x", which="both", labelsize=8)
    axes.tick_params(axis="y", labelsize=6)
    style.legend(figure, [Line2D([], [], label="entry")])
    assert figure.entries is not None
    size = float(figure.legends[0].get_texts()[0].get_fontsize())
    figure.draw_without_rendering()
    assert layout._shrink_letters(figure) is True
    texts = (axes.xaxis.label, axes.yaxis.label, axes.title)
    assert [text.get_fontsize() for text in texts] == [pytest.approx(9.3), LEAST_LETTERS, 4]
    for axis, before in zip((axes.xaxis, axes.yaxis), (8.0, 6.0), strict=True):
        figure.draw_without_rendering()
        assert [label.get_fontsize() for label in axis.get_ticklabels()] == pytest.approx([before * 0.93] * 2)
    assert axes.xaxis.get_ticklabels(minor=True)[0].get_fontsize() == pytest.approx(8 * 0.93)
    assert figure.legends[0].get_texts()[0].get_fontsize() == pytest.approx(size * 0.93)
    assert figure.entries._size == pytest.approx(size * 0.93)
    for text in layout._texts(figure):
        text.set_fontsize(LEAST_LETTERS)
    assert layout._shrink_letters(figure) is False


@pytest.mark.parametrize(
    ("blocked", "place"),
    [
        ([], (7, 5, "left")),
        ([(0, 0, 40, 40)], (7, -11, "left")),
        ([(0, -40, 40, 40)], (-7, 5, "right")),
        ([(0, -40, 40, 40), (-40, 0, 0, 40)], (-7, -11, "right")),
        ([(8, -40, 40, 40), (-40, -40, -8, 40)], (0, 9, "center")),
        ([(8, -40, 40, 40), (-40, -40, -8, 40), (-40, 0, 40, 40)], (0, -15, "center")),
        ([(-40, 8, 40, 40), (-40, -40, 40, -8)], (12, -3, "left")),
        ([(-40, 8, 40, 40), (-40, -40, 40, -8), (4, -40, 40, 40)], (-12, -3, "right")),
        ([(-40, -40, 40, 40)], None),
    ],
)
def test_the_name_of_a_mark_stands_at_the_first_place_that_is_free(
    blocked: list[tuple[float, ...]], place: tuple[float, float, str] | None
) -> None:
    figure, axes = plain()
    axes.set(xlim=(-120, 120), ylim=(-90, 90))
    for x0, y0, x1, y1 in blocked:
        axes.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0))
    style.name_mark(axes, "i", (0, 0))
    (name,) = axes.texts
    name.set_fontsize(6)
    figure.draw_without_rendering()
    layout._place_names(figure)
    assert name.get_visible() is (place is not None)
    if place:
        assert (*name.get_position(), name.get_horizontalalignment()) == place


def test_names_of_marks_stay_in_their_panel_and_leave_each_other_room() -> None:
    figure = Picture(figsize=(4, 3), dpi=72)
    figure.add_axes((0.85, 0.2, 0.1, 0.1), xticks=[], yticks=[])
    axes = figure.add_axes((0.2, 0.2, 0.6, 0.6), xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
    corners = [(0, 0, (7, 5)), (1, 0, (-7, 5)), (0, 1, (7, -11)), (1, 1, (-7, -11))]
    for x, y, _ in corners:
        style.name_mark(axes, "name", (x, y))
    style.name_mark(axes, "one", (0.5, 0.5))
    style.name_mark(axes, "two", (0.5, 0.5))
    axes.text(0.5, 0.5, "inside", va="top")
    figure.draw_without_rendering()
    layout._place_names(figure)
    *of_corners, one, two, _ = axes.texts
    assert [name.get_position() for name in of_corners] == [place for _, _, place in corners]
    assert one.get_position() == (7, 5)
    assert two.get_position() == (-7, 5)


def test_what_matplotlib_warns_of_is_a_flaw() -> None:
    figure = Picture(figsize=(4, 3), layout="constrained")
    figure.subplots(1, 2)[0].set_ylabel("\n" * 200 + "x")
    found = flaws(figure)
    assert found[0].kind == "room"
    assert found[0].words.startswith("there is no room (constrained_layout not applied")


def test_a_legend_too_wide_gets_fewer_columns_and_then_broken_lines() -> None:
    figure = crowded()
    assert figure.entries is not None
    wide = layout.Flaw("legend", "the legend is cut off at the edge")
    assert layout._fewer_columns(figure, [layout.Flaw("legend", "the legend lies over the data")]) is False
    assert layout._fewer_columns(figure, [layout.Flaw("ticks", "is cut off at the edge")]) is False
    assert layout._fewer_columns(Figure(), [wide]) is False
    assert figure.legends[0]._ncols == 1  # type: ignore[attr-defined]
    assert layout._fewer_columns(figure, [wide]) is True
    assert "\n" in figure.legends[0].get_texts()[0].get_text()
    assert layout._fewer_columns(figure, [wide]) is False
