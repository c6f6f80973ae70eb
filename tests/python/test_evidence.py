"""``dumbbell check evidence``: criteria are data, verdicts follow from numbers, and pages are the same bytes again."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import Cli
from dumbbell import ScenarioError
from dumbbell.check import criteria, dossier
from dumbbell.check.criteria import LEVELS
from dumbbell.check.dossier import Dossier, picture
from dumbbell.check.evidence import Evidence, Place, evidence
from dumbbell.check.expressions import ExpressionError
from dumbbell.check.quantities import FUNCTIONS, Judgement, Quantity, measured
from dumbbell.check.subject import put_subject, senders, subject
from dumbbell.check.table import Table as Keys
from dumbbell.plots import style
from dumbbell.tables import Table

PAGE = Path(__file__).parents[2] / "docs/evidence/README.md"
CRITERION = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
QUICK = {'"30s"': '"6s"', '"10s"': '"2s"'}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with the criterion of the page, in short."""
    folder = tmp_path / "mine"
    folder.mkdir()
    text = CRITERION
    for old, new in QUICK.items():
        text = text.replace(old, new)
    (folder / "short-queue.toml").write_text(text)
    return folder


def test_the_rfc_has_its_criteria_with_words_and_numbers() -> None:
    found = criteria.find()
    assert len(found) >= 24
    sections = {one.section for one in found}
    assert {"5.1.1", "5.1.5", "5.2.1", "5.3.1", "6.1", "7.1", "7.9", "7.11"} <= sections
    for one in found:
        assert one.level in LEVELS
        assert one.asks and one.setup and one.not_shown.endswith(".")
        assert one.measures and one.heads
    assert sum(any(measure.judgement for measure in one.measures) for one in found) >= 24


def test_every_criterion_can_be_read_as_an_experiment_of_its_own() -> None:
    from dumbbell import experiment

    for one in criteria.find():
        text = one.written({"name": "bbr", "drain_gain": 0.5})
        assert 'cc = { "name" = "bbr", "drain_gain" = 0.5 }' in text
        assert experiment.load_text(text.encode(), str(one.file)).points


def test_a_verdict_follows_from_the_numbers_of_all_three(own: Path) -> None:
    (one,) = evidence("bbr", criteria.read_criteria(own), repeat=2, progress=False)
    assert one.algorithms == ["bbr", "reno", "cubic"]
    assert one.points == [("0.5bdp",), ("2bdp",)]
    deep = one.at("cubic", ("2bdp",)).median(0)
    assert one.at("bbr", ("2bdp",)).median(0) < 60 < deep
    assert one.verdict == "meets"
    (other,) = evidence("cubic", criteria.read_criteria(own), repeat=1, progress=False)
    assert other.algorithms == ["cubic", "reno"]
    assert other.verdict == "misses"
    assert other.missed[-1].words == ("2bdp",)
    assert other.missed[-1].beside["reno"] > 60


def test_an_axis_of_numbers_that_differ_much_has_plain_labels_and_the_width_of_others(own: Path) -> None:
    (criterion,) = criteria.read_criteria(own)
    wide = {name: [Place(name, words, [[value]]) for words, value in numbers.items()] for name, numbers in {
        "bbr": {("0.5bdp",): 18.0, ("2bdp",): 20.0},
        "reno": {("0.5bdp",): 21.0, ("2bdp",): 300.0},
        "cubic": {("0.5bdp",): 22.0, ("2bdp",): 650.0},
    }.items()}  # fmt: skip
    one = Evidence(criterion, "bbr", [place for places in wide.values() for place in places], "bbr", "")
    figure = picture(one)
    figure.canvas.draw()
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    low, high = axes.get_xlim()
    assert [tick.get_text() for tick in axes.get_xticklabels() if low <= tick.get_position()[0] <= high] == [
        "20", "50", "100", "200", "500",
    ]  # fmt: skip
    assert figure.get_size_inches()[0] == pytest.approx(7.6)


def test_a_second_build_gives_the_same_bytes_and_runs_nothing_again(own: Path, tmp_path: Path, dumbbell: Cli) -> None:
    command = ("check", "evidence", "bbr", "--criteria", str(own), "--repeat", "2", "--out", str(tmp_path / "out"))
    done = dumbbell(*command)
    assert done.status == 0, done.err
    assert "meets 2 of 2" in done.out
    files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert {"report.md", "report.html", "numbers.csv", "short-queue.png", "short-queue.toml"} <= set(files)
    runs = {path: path.stat().st_mtime_ns for path in (tmp_path / "out/runs").rglob("*.parquet")}
    assert runs
    assert dumbbell(*command).status == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir() if path.is_file()} == files
    assert {path: path.stat().st_mtime_ns for path in runs} == runs
    assert dumbbell(*command[:-1], str(tmp_path / "other")).status == 0
    assert all((tmp_path / "other" / name).read_bytes() == content for name, content in files.items() if name[0] != ".")
    page = files["report.md"].decode()
    assert "Every threshold below is ours" in page
    assert "What this does not show: Several flows." in page
    assert "p95 round trip, ms: at most 60 ms." in page
    assert dumbbell("run", str(tmp_path / "out/short-queue.toml"), "--quiet").status == 0


def test_own_algorithms_and_quic_and_json(own: Path, tmp_path: Path, dumbbell: Cli) -> None:
    done = dumbbell(
        "check", "evidence", "bbr:drain_gain=0.5", "--criteria", str(own), "--quick", "--transport", "quic",
        "--json", "--out", str(tmp_path / "out"),
    )  # fmt: skip
    assert done.status == 0, done.err
    (one,) = json.loads(done.out)["criteria"]
    assert (one["verdict"], one["judged"], one["level"]) == ("meets", 2, "SHOULD")


def test_functions_know_what_is_missing() -> None:
    values = np.array([3.0, np.nan, 1.0])
    found = {name: FUNCTIONS[name][1](values) for name in ("sum", "mean", "least", "most", "count")}
    assert found == {"sum": 4.0, "mean": 2.0, "least": 1.0, "most": 3.0, "count": 2.0}
    assert math.isnan(FUNCTIONS["sum"][1](np.array([np.nan])))
    # A transfer that did not end took longer than all that did.
    assert FUNCTIONS["p95"][1](np.array([1.0, 2.0, np.inf])) == np.inf
    times, rates = np.arange(6.0), np.array([0.0, 9.0, 9.0, 9.0, 0.0, 9.0])
    quantity = Quantity("first(s.t, smooth(s.x, 2) >= 9, 1)")
    assert quantity.evaluate({"s.t": times, "s.x": rates}) == 1.0
    assert Quantity("first(s.t, s.x > 10, 0)").evaluate({"s.t": times, "s.x": rates}) == np.inf


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('label = "subject"', 'label = "mine"', 'label = "subject"'),
        ("mean(subject.p95_rtt_ms)", "mean(subject.p95_rtt)", "there is no column `p95_rtt` of flows or traffic"),
        ("mean(subject.p95_rtt_ms)", "mean(other.p95_rtt_ms)", "there is no `other.p95_rtt_ms`"),
        ("mean(subject.p95_rtt_ms)", "open(1)", "`open(1)` is not allowed"),
        ("value <= 60", "value <= vegas", "there is no `vegas`; a judgement knows value, reno, cubic"),
        ("value <= 60", "value", "it must be something that holds or not"),
        ('says = "at most 60 ms"', "", "`criterion.quantity[0].says`: it is missing"),
        ('level = "SHOULD"', 'level = "OUGHT"', "choose among MUST, SHOULD, evaluate, consider"),
        ('{ "path.buffer" = "buffer" }', '{ "path.rate" = "rate" }', "`path.rate` is not swept"),
        ('{ "path.buffer" = "buffer" }', "5", "`criterion.heads = 5`: it must be a table"),
        ('{ "path.buffer" = "buffer" }', '{ "path.buffer" = 5 }', "`path.buffer` must be a text"),
        ('level = "SHOULD"', 'level = "SHOULD"\nnames = { "path.buffer" = 5 }', "`path.buffer` must be a list"),
        ('level = "SHOULD"', 'level = "SHOULD"\nquick = 5', "`criterion.quick = 5`: it must be a table"),
        ('cc = "cubic"\n', "", "cc"),
        ('rate = "20mbit"', 'rate = "20mbps"', "20mbps"),
    ],
)
def test_a_bad_criterion_is_explained(old: str, new: str, message: str, tmp_path: Path, dumbbell: Cli) -> None:
    assert old in CRITERION
    (tmp_path / "bad.toml").write_text(CRITERION.replace(old, new))
    done = dumbbell("check", "evidence", "bbr", "--criteria", str(tmp_path), "--out", str(tmp_path / "out"))
    assert done.status == 2
    assert message in done.err
    assert "bad.toml" in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bbr4"], "unknown algorithm `bbr4`; did you mean"),
        (["bbr", "--criterion", "encn"], "--criterion encn: there are collapse-many,"),
        (["bbr", "--transport", "udp"], "--transport udp: choose tcp or quic"),
        (["bbr", "--criteria", "nowhere"], "there is no such folder"),
    ],
)
def test_a_bad_command_is_explained(arguments: list[str], message: str, tmp_path: Path, dumbbell: Cli) -> None:
    done = dumbbell("check", "evidence", *arguments, "--out", str(tmp_path / "out"))
    assert done.status == 2
    assert message in done.err
    assert not (tmp_path / "out").exists()


# Numbers, judgements and pages by hand.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("median(s.x)", 2.5),
        ("p95(s.x)", 3.85),
        ("p99(s.x)", 3.97),
        ("p95(s.never)", math.inf),
        ("median(s.never)", 3.0),
        ("least(s.gaps)", 1.0),
        ("count(s.gaps)", 2.0),
        ("count(s.none)", 0.0),
        ("jain(s.x)", 100 / 120),
        ("jain(s.zero)", 0.0),
        ("abs(-3)", 3.0),
        ("sqrt(9)", 3.0),
        ("min(4, 3) + max(1, 2)", 5.0),
        ("sum(fill(s.gaps, 9))", 13.0),
        ("sum(pick(s.x, s.x > 2))", 7.0),
        ("first(s.x, s.x >= 3, 1)", 2.0),
        ("first(s.x, s.x >= 1, 2)", 0.0),
        ("first(s.x, s.x > 4, 0)", math.inf),
        ("most(smooth(s.x, 2))", 3.5),
        ("least(smooth(s.x, 3))", 2.0),
        ("count(smooth(s.x, 3))", 2.0),
        ("sum(smooth(s.gaps, 1))", 4.0),
    ],
)
def test_functions_are_what_they_are_called(text: str, value: float) -> None:
    values = {
        "s.x": np.array([1.0, 2.0, 3.0, 4.0]), "s.never": np.array([1.0, 2.0, 3.0, np.inf]),
        "s.gaps": np.array([np.nan, 1.0, 3.0]), "s.none": np.array([np.nan]), "s.zero": np.zeros(2),
    }  # fmt: skip
    assert float(np.asarray(Quantity(text).evaluate(values))) == pytest.approx(value)
    assert Judgement("value <= min(cubic, 2)").is_condition
    with pytest.raises(ExpressionError, match=r"`sum\(value\)` is not allowed"):
        Judgement("sum(value)")


def test_numbers_of_a_run_are_those_of_flows_links_series_and_transfers() -> None:
    def table(rows: list[dict[str, Any]]) -> Any:
        return Table(pl.DataFrame(rows, infer_schema_length=None))

    run: Any = SimpleNamespace(
        flows=table([{"flow": 0, "label": "a", "x": 1.0, "y": None}, {"flow": 1, "label": "b", "x": 2.0, "y": 5.0},
                     {"flow": 2, "label": "a", "x": 3.0, "y": 6.0}]),
        datagrams=table([{"flow": 0, "label": "a", "loss": 0.5}]),
        traffic=table([{"label": "a", "x": 9.0}]),
        links=table([{"name": "bottleneck", "rate": 10.0}, {"name": "way-back", "rate": 20.0}]),
        series=table([{"flow": flow, "t_s": t, "x": value} for flow, t, value in
                      ((0, 2.0, 1.0), (2, 1.0, 2.0), (0, 1.0, 4.0), (1, 1.0, 100.0))]),
        completions=table([{"label": "a", "measured": 1, "fct_s": None, "bytes": 7},
                           {"label": "a", "measured": 0, "fct_s": 1.0, "bytes": 1},
                           {"label": "b", "measured": 1, "fct_s": 2.0, "bytes": None}]),
    )  # fmt: skip
    names = ["a.x", "a.y", "a.loss", "b.absent", "way_back.rate", "a_series.x", "a_series.t_s", "a_transfers.fct_s",
             "b_transfers.fct_s", "b_transfers.bytes", "c.x"]  # fmt: skip
    found = {
        name: [None if np.isnan(one) else float(one) for one in values] for name, values in measured(run, names).items()
    }
    assert found == {
        "a.x": [1, 3, 9], "a.y": [None, 6, None], "a.loss": [0.5, None, None], "b.absent": [None],
        "way_back.rate": [20],
        "a_series.x": [6, 1], "a_series.t_s": [1, 2], "a_transfers.fct_s": [math.inf], "b_transfers.fct_s": [2],
        "b_transfers.bytes": [None], "c.x": [],
    }  # fmt: skip


def judged(own: Path, *places: tuple[str, str, list[float]], algorithm: str = "bbr") -> Evidence:
    """What came of the criterion of the page, from the numbers of runs."""
    (criterion,) = criteria.read_criteria(own)
    return Evidence(
        criterion, algorithm, [Place(name, (word,), [values]) for name, word, values in places], "bbr-1", "text"
    )


def test_a_point_has_the_middle_run_and_the_span_of_all() -> None:
    place = Place("bbr", ("x",), [[3.0, 1.0, 2.0, 9.0], [math.nan, 5.0, 4.0], [math.nan]])
    assert [place.median(number) for number in (0, 1)] == [2, 4]
    assert math.isnan(place.median(2))
    assert (place.span(0), place.span(1)) == ((1, 9), (4, 5))
    assert all(math.isnan(one) for one in place.span(2))


def test_a_criterion_misses_where_a_judgement_does_not_hold(own: Path) -> None:
    numbers = [(name, word, [value]) for name, word, value in (
        ("bbr", "0.5bdp", 60.0), ("bbr", "2bdp", 61.0), ("bbr", "4bdp", 300.0),
        *((name, word, 100.0) for name in ("reno", "cubic") for word in ("0.5bdp", "2bdp", "4bdp")),
    )]  # fmt: skip
    one = judged(own, *numbers)
    assert (one.points, one.algorithms) == ([("0.5bdp",), ("2bdp",), ("4bdp",)], ["bbr", "reno", "cubic"])
    assert (one.judged, one.verdict) == (3, "misses")
    assert [(miss.words, miss.value, miss.beside) for miss in one.missed] == [
        (("2bdp",), 61.0, {"reno": 100.0, "cubic": 100.0}), (("4bdp",), 300.0, {"reno": 100.0, "cubic": 100.0}),
    ]  # fmt: skip
    better = judged(own, *((name, word, [1.0]) for name, word, _ in numbers))
    assert better.verdict == "meets"
    silent = replace(one.criterion, measures=[replace(measure, judgement=None) for measure in one.criterion.measures])
    assert replace(one, criterion=silent).verdict == "not judged"
    page = Dossier("cubic", "cubic-1", [one, better, replace(one, criterion=silent)], 5, "tcp", False)
    assert page.baselines == "Reno"
    assert replace(page, algorithm="bbr").baselines == "Reno and CUBIC"
    assert page.counts == {"meets": 1, "misses": 1, "not judged": 1}
    first, second, third = page.sections
    assert [section.verdict for section in page.sections] == ["misses 2 of 3", "meets 3 of 3", "not judged"]
    assert (first.anchor, first.file, first.picture) == ("short-queue", "short-queue.toml", "short-queue.png")
    assert first.worst == [
        "At buffer 2bdp it misses: p95 round trip 61 ms, beside 100 of Reno and 100 of CUBIC; so does 1 more point."
    ]
    assert second.worst == []
    assert first.thresholds == ["p95 round trip, ms: at most 60 ms"] and third.thresholds == []
    assert first.rows == [
        (("0.5bdp",), ["60", "100", "100"]),
        (("2bdp",), ["61", "100", "100"]),
        (("4bdp",), ["300", "100", "100"]),
    ]
    assert dossier._missed(one.missed[:1], ["buffer"]).endswith("of CUBIC.")
    assert dossier._missed(one.missed * 2, ["buffer"]).endswith("; so do 3 more points.")
    assert [dossier.text(value) for value in (math.inf, 1234.5, math.nan)] == ["never", "1,234", "-"]
    lines = dossier.numbers([one]).splitlines()
    assert lines[0] == "criterion,point,algorithm,measure,unit,median,lowest,highest,runs"
    assert lines[1] == "short-queue,0.5bdp,bbr,p95 round trip,ms,60,60,60,1"
    assert len(lines) == 10


def test_the_picture_of_a_criterion_has_a_dot_for_each_algorithm_at_each_point(own: Path) -> None:
    one = judged(
        own, ("bbr", "0.5bdp", [10.0]), ("bbr", "2bdp", [math.inf]), ("reno", "0.5bdp", [20.0]),
        ("reno", "2bdp", [math.nan]),
        ("cubic", "0.5bdp", [15.0]), ("cubic", "2bdp", [40.0]),
    )  # fmt: skip
    figure = picture(one)
    (axes,) = figure.axes
    drawn = [
        (np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()) for line in axes.get_lines()
    ]
    edge = pytest.approx(46.0)
    assert drawn[:2] == [([10, 20], [0, 0]), ([40, edge], [1, 1])]
    assert drawn[2:] == [([10], [0]), ([edge], [1]), ([20], [0]), ([], []), ([15, 40], [0, 1]), ([], [])]
    faces = [line.get_markerfacecolor() for line in axes.get_lines()[2:4]]
    assert faces == [style.look("bbr").colour, "none"]
    assert (axes.get_xscale(), axes.get_xlim()[0], axes.get_ylim()) == ("linear", 0, (1.5, -0.5))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0.5bdp", "2bdp"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("p95 round trip, ms", "buffer")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["bbr", "reno", "cubic"]
    for values, scale in (
        ((1.0, 30.0), "linear"),
        ((1.0, 30.1), "log"),
        ((0.0, 31.0), "linear"),
        ((-5.0, 200.0), "linear"),
    ):
        numbers = [
            (name, word, [value]) for name in ("bbr", "reno", "cubic") for word, value in zip("ab", values, strict=True)
        ]
        (axes,) = picture(judged(own, *numbers)).axes
        assert axes.get_xscale() == scale
        if scale == "linear":
            assert axes.get_xlim()[0] == min(0.0, values[0])
    nothing = picture(judged(own, *((name, "a", [math.nan]) for name in ("bbr", "reno", "cubic"))))
    assert nothing.axes[0].get_xlim()[0] == 0


def test_the_experiment_of_a_criterion_has_the_algorithm_seeds_and_what_is_quick(own: Path) -> None:
    (criterion,) = criteria.read_criteria(own)
    whole = criterion.experiment({"name": "bbr"}, quick=False, repeat=4)
    examined = next(flow for flow in whole["flows"] if flow.get("label") == "subject")
    assert examined["cc"] == {"name": "bbr"} and "transport" not in examined
    assert (whole["sweep"]["repeat"], whole["vary_rtt"], whole["record"]) == (4, "1packet", {"series": False})
    assert criterion.document["sweep"].get("repeat") is None
    quic = criterion.experiment("bbr", quick=False, repeat=1, transport="quic")
    assert {flow["transport"]["profile"] for flow in quic["flows"]} == {"quic"}
    quick = replace(criterion, quick={"duration": "1s", "path": {"rtt": "1ms"}, "sweep": {"path.buffer": ["1bdp"]}})
    short = quick.experiment("bbr", quick=True, repeat=1)
    assert (short["duration"], short["path"]["rtt"], short["path"]["rate"]) == ("1s", "1ms", whole["path"]["rate"])
    assert short["sweep"] == {"path.buffer": ["1bdp"], "repeat": 1}
    assert quick.experiment("bbr", quick=False, repeat=1)["duration"] == whole["duration"]
    series = replace(
        criterion, measures=[replace(criterion.measures[0], quantity=Quantity("most(subject_series.cwnd)"))]
    )
    assert series.experiment("bbr", quick=False, repeat=1)["record"] == {"series": True}
    named = replace(criterion, names={"path.buffer": ["shallow", "deep"]})
    values = criterion.document["sweep"]["path.buffer"]
    assert [named.words({"path.buffer": value}) for value in (*values, "9bdp")] == [("shallow",), ("deep",), ("9bdp",)]
    assert criterion.words({"path.buffer": {"kind": "red"}}) == ("red",)
    assert criterion.words({"path.buffer": {"x": 1}}) == ("{'x': 1}",)
    assert replace(criterion.measures[0], unit="").title == "p95 round trip"


def test_a_table_reads_values_by_their_keys() -> None:
    table = Keys(
        Path("f.toml"),
        "a",
        {"text": "x", "number": 2, "flag": True, "list": [1], "table": {"k": 1}, "tables": [{}, {}]},
    )
    assert (table.text("text"), table.text("absent", "y"), table.number("number"), table.number("absent", 3)) == (
        "x",
        "y",
        2.0,
        3.0,
    )
    assert (table.flag("flag"), table.flag("absent")) == (True, False)
    assert (table.list("list", [2]), table.list("absent", [2])) == ([1], [2])
    assert (table.mapping("table"), table.mapping("absent")) == ({"k": 1}, {})
    assert (table.table("table").place, [one.place for one in table.tables("tables")]) == (
        "a.table",
        ["a.tables[0]", "a.tables[1]"],
    )
    assert (table.tables("absent"), Keys(Path("f"), "", {"x": {}}).table("x").place) == ([], "x")
    assert table.choice("x", "b", ["a", "b"]) == "b"
    table.check(["text", "number", "flag", "list", "table", "tables"])
    for call, said in (
        (lambda: table.text("number"), "`a.number = 2`: it must be a text"),
        (lambda: table.text("absent"), "`a.absent`: it is missing"),
        (lambda: table.number("text"), '`a.text = "x"`: it must be a number'),
        (lambda: table.number("flag"), "`a.flag = true`: it must be a number"),
        (lambda: table.flag("number"), "`a.number = 2`: it must be true or false"),
        (lambda: table.list("text", []), "it must be a list that is not empty"),
        (lambda: table.list("absent", []), "`a.absent`: it must be a list that is not empty"),
        (lambda: table.mapping("list"), "`a.list = [1]`: it must be a table"),
        (lambda: table.tables("table"), "it must be a list of tables: write [[a.table]]"),
        (lambda: table.choice("text", "x", ["a", "b"]), '`a.text = "x"`: choose among a, b'),
        (lambda: table.check(["text"]), "`a.number = 2`: there is no such key; keys here are text"),
        (lambda: table.check(["text", "numbers"]), "did you mean `numbers`?"),
        (lambda: Keys(Path("f.toml"), "a", [1]), "`a = [1]`: it must be a table"),
    ):  # fmt: skip
        with pytest.raises(ScenarioError, match=re.escape(said)) as refused:
            call()
        assert "--> f.toml (a" in str(refused.value)


def test_who_is_examined_is_put_in_its_place() -> None:
    document: dict[str, Any] = {
        "transport": {"ecn": True},
        "flows": [
            {"cc": "reno", "label": "subject"}, {"cc": "cubic", "transport": {"mss": 1000}}, {"transport": "udp"},
        ],
        "traffic": [{"cc": "reno", "label": "subject", "transport": "tcp"}],
    }  # fmt: skip
    put_subject(document, "bbr", "tcp")
    assert [flow.get("cc") for flow in senders(document)] == ["bbr", "cubic", None, "bbr"]
    assert [flow.get("transport") for flow in senders(document)] == [None, {"mss": 1000}, "udp", "tcp"]
    put_subject(document, "bbr", "quic")
    assert [flow.get("transport") for flow in senders(document)] == [
        {"ecn": True, "profile": "quic"}, {"mss": 1000, "profile": "quic"}, "udp", {"profile": "quic"},
    ]  # fmt: skip
    assert subject("bbr") == "bbr"
    assert subject("bbr:drain_gain=0.5") == {"name": "bbr", "drain_gain": 0.5}
