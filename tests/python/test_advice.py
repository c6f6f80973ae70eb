"""What to choose: when a difference is shown, where the boundaries of a map lie, and what a question may be."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

import dumbbell as db
from conftest import Cli
from dumbbell.advice import grid, rule, traces, words
from dumbbell.advice.map import Cell, DecisionMap, Queue, Row
from dumbbell.advice.rule import Runs, judge, least_regret, regrets
from dumbbell.inference import Interval, mean_interval
from dumbbell.plots import decision, style

ALONE = Row("alone", "", "10mbit", "40ms", "0%", 10.0)
SEEDS = 20


def runs(goodput: Sequence[float], delay: Sequence[float | None]) -> Runs:
    return dict(enumerate(zip(goodput, delay, strict=True)))


def noisy(rng: np.random.Generator, goodput: float, delay: float, noise: float = 0.01) -> Runs:
    """Runs around these means; delays differ three times as much as goodputs do."""
    goodputs, delays = np.exp(rng.normal(0, [[noise], [3 * noise]], (2, SEEDS)))
    return runs((goodput * goodputs).tolist(), (delay * delays).tolist())


def mapped(candidates: Callable[[float], Mapping[str, Runs]]) -> list[Cell]:
    """The map of candidates whose runs are a function of the queue, from the queues that are tried by default on."""

    def run(_: str, queues: Mapping[Row, Sequence[Queue]]) -> Iterator[grid.Tried]:
        for own in queues.values():
            for queue in own:
                yield grid.Tried(dict(candidates(queue.bdp)), {})

    cells, _ = grid.refined({ALONE: [ALONE.queue(text) for text in grid.QUEUES]}, run)
    return sorted(cells, key=lambda cell: cell.queue.bdp)


def boundaries(cells: Sequence[Cell]) -> list[tuple[str | None, float, str | None]]:
    """The choice on both sides of each boundary, and where it lies."""
    pairs = itertools.pairwise(cells)
    return [
        (low.verdict.choice, math.sqrt(low.queue.bdp * high.queue.bdp), high.verdict.choice)
        for low, high in pairs
        if low.verdict.choice != high.verdict.choice
    ]


@pytest.mark.parametrize("link", range(50))
def test_the_boundary_of_a_link_with_a_known_best_is_within_a_step(link: int) -> None:
    """Goodput is the same; shallow has less delay below one queue, and deep has less above it."""
    rng = np.random.default_rng(link)
    cross, slope = math.exp(rng.uniform(math.log(0.9), math.log(6.0))), rng.uniform(0.4, 1.5)
    # Where the difference is as large as counts.
    known = [cross * math.exp(side * rule.MARGIN / slope) for side in (-1, 1)]

    def candidates(bdp: float) -> dict[str, Runs]:
        return {
            "shallow": noisy(rng, 9.5, 50 * (bdp / cross) ** slope),
            "deep": noisy(rng, 9.5, 50),
        }

    found = boundaries(mapped(candidates))
    assert found[0][0] == "shallow"
    assert found[-1][2] == "deep"
    for (_, place, _), truth in zip((found[0], found[-1]), known, strict=True):
        assert abs(math.log(place / truth)) <= math.log(grid.NEAR)


def test_one_algorithm_under_two_names_is_a_tie() -> None:
    rng = np.random.default_rng(1)
    ties = sum(
        all(cell.verdict.choice is None for cell in mapped(lambda _: {a: noisy(rng, 5, 80, 0.1) for a in "ab"}))
        for _ in range(100)
    )
    assert ties >= 95


def test_bbr_with_other_seeds_is_a_tie_with_itself() -> None:
    document = {
        "duration": "5s",
        "warmup": "1s",
        "record": {"series": False},
        "path": {"rate": "10mbit", "rtt": "40ms", "loss": "1%"},
        "flows": [{"cc": "bbr"}],
        "sweep": {"path.buffer": ["0.5bdp", "2bdp"], "repeat": 2 * SEEDS * 20},
    }
    flows = db.sweep(document, progress=False).collect().flows.to_polars()
    parts = {key[0]: part for key, part in flows.partition_by("path.buffer", as_dict=True).items()}
    ties = 0
    for trial in range(20):
        places = []
        for part in parts.values():
            own = part.slice(2 * SEEDS * trial, 2 * SEEDS).select("goodput_mbps", "p95_rtt_ms").rows()
            places.append({"bbr": dict(enumerate(own[:SEEDS])), "other": dict(enumerate(own[SEEDS:]))})
        verdicts, _ = judge(places)
        ties += all(verdict.choice is None for verdict in verdicts)
    assert ties >= 19


def test_two_names_of_one_algorithm_have_the_same_runs_and_no_choice() -> None:
    found = db.advise(
        ["bbr", "bbr1-linux-6.18"], company=["alone"], buffer=["1bdp"], duration="2s", repeat=3, progress=False
    )
    (cell,) = found.cells
    assert cell.verdict.choice is None
    assert found.sentences == ["Alone: no difference shown with a queue of 1 BDP."]
    assert (
        "the same utility than bbr1-linux-6.18, with the same delay and the same goodput"
        in words.reasons(found, cell.row)[0]
    )


def chosen(first: Runs, second: Runs) -> str | None:
    (verdict,), _ = judge([{"first": first, "second": second}])
    return verdict.choice


@pytest.mark.parametrize(
    ("goodput", "delay", "weight", "choice"),
    [
        (1.2, 1.0, 1.0, "first"),
        (1.0, 0.8, 1.0, "first"),
        (0.9, 0.2, 1.0, "first"),
        (1.2, 1.4, 1.0, "second"),
        (1.03, 0.99, 1.0, None),  # less than what counts
        (1.2, 1.2, 1.0, None),
        (1.2, 1.4, 0.5, None),
        (1.2, 1.2, 0.5, "first"),
        (1.2, 5.0, 0.0, "first"),
    ],
)
def test_utility_is_goodput_over_delay_to_the_power_of_its_weight(
    goodput: float, delay: float, weight: float, choice: str | None
) -> None:
    rng = np.random.default_rng(2)
    first, second = noisy(rng, 10 * goodput, 50 * delay, 0.002), noisy(rng, 10, 50, 0.002)
    (verdict,), _ = judge([{"first": first, "second": second}], weight)
    assert verdict.choice == choice


def test_a_difference_whose_interval_covers_zero_is_no_choice() -> None:
    first = runs([10.0] * 5, [30.0, 70.0, 40.0, 90.0, 50.0])
    second = runs([10.0, 10.1, 9.9, 10.0, 10.0], [57.0] * 5)
    (verdict,), _ = judge([{"first": first, "second": second}])
    assert verdict.choice is None
    assert verdict.best == ("first", "second")
    (pair,) = verdict.differences
    assert pair.delay is not None
    assert pair.delay.low < 0 < pair.delay.high


def test_one_run_or_the_same_run_again_shows_nothing() -> None:
    for repeats in (1, 5):
        assert chosen(runs([10.0] * repeats, [50.0] * repeats), runs([5.0] * repeats, [90.0] * repeats)) is None


def test_an_algorithm_that_gets_nothing_is_no_choice() -> None:
    nothing = runs([0.0, 0.1, 0.0, 0.0], [None, 50.0, None, None])
    assert chosen(nothing, runs([10.0, 11.0, 10.5, 10.2], [50.0, 51.0, 50.0, 52.0])) == "second"


def test_intervals_leave_out_what_counts_exactly_where_a_difference_is_shown() -> None:
    rng = np.random.default_rng(3)
    factors = np.linspace(0.8, 1.25, 40)
    places = [{"a": noisy(rng, 10 * factor, 50), "b": noisy(rng, 10, 50 * factor)} for factor in factors]
    verdicts, confidence = judge(places)
    assert 0.99 <= confidence < 1

    shown = 0
    for verdict in verdicts:
        for name, other in ("ab", "ba"):
            pair = verdict.between(name, other)
            assert pair is not None
            assert (pair.better == name) == (pair.utility.low > rule.MARGIN)
            shown += pair.better == name
    assert 10 < shown < 40


def test_the_least_regret_is_that_of_the_one_that_is_never_bad() -> None:
    rng = np.random.default_rng(5)
    places = [
        {"a": noisy(rng, 10, 40), "b": noisy(rng, 10, 100), "even": noisy(rng, 10, 44)},
        {"a": noisy(rng, 10, 100), "b": noisy(rng, 10, 40), "even": noisy(rng, 10, 44)},
    ]
    found = regrets(places)
    assert found[0].name == "even"
    assert found[0].worst == pytest.approx(1 - 40 / 44, abs=0.03)
    a = next(one for one in found if one.name == "a")
    assert a.worst == pytest.approx(0.6, abs=0.03)
    assert a.place == 1
    assert a.low < a.worst < a.high
    assert least_regret(found) == ["even"]
    # Both meet the same outage.
    outage = runs([0.0, 9.0, 9.0], [None, 50.0, 51.0])
    assert least_regret(regrets([{"a": outage, "b": outage}])) == ["a", "b"]
    same = regrets([{"a": noisy(rng, 10, 40, 0.1), "b": noisy(rng, 10, 40, 0.1)} for _ in range(8)])
    assert sorted(least_regret(same)) == ["a", "b"]


def test_a_map_says_what_it_assumes_what_to_choose_and_how_sure_that_is(tmp_path: Path) -> None:
    found = db.advise(
        ["cubic", "bbr"], duration="10s", repeat=4, company=["alone", "cubic"], buffer=["1bdp", "40packets", "4bdp"],
        out=tmp_path / "map", progress=False,
    )  # fmt: skip
    assert found.assumptions.startswith("Assumed: one long flow of cubic or bbr, alone or beside one flow of cubic, on")
    for said in ("10mbit", "40ms", "0%", "drop-tail queue of 1 BDP to 4 BDP", "4 seeds", "Not tried:"):
        assert said in found.assumptions
    rows = found.by_row()
    assert [str(row) for row in rows] == ["alone", "beside cubic"]
    deep = next(cell for cell in rows[next(iter(rows))] if cell.queue.bdp == 4)
    assert deep.verdict.choice == "bbr"
    # 40 packets of 1500 bytes over 50 kB.
    assert [cell.queue.text for cell in rows[next(iter(rows))]][:2] == ["1bdp", "40packets"]
    assert found.sentences[0].startswith("Alone: ")
    assert "bbr at worst" in found.sentences[-1]
    assert len(found.picture().axes) == 5
    # What is there is not run again, and says the same.
    marks = {path: path.stat().st_mtime_ns for path in (tmp_path / "map").rglob("batches/*/flows.parquet")}
    again = db.advise(
        ["cubic", "bbr"], duration="10s", repeat=4, company=["alone", "cubic"], buffer=["1bdp", "40packets", "4bdp"],
        out=tmp_path / "map", progress=False,
    )  # fmt: skip
    assert repr(again) == repr(found)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "map").rglob("batches/*/flows.parquet")} == marks


def test_the_answer_of_a_shallow_queue_is_not_that_of_a_deep_one() -> None:
    """Beside CUBIC a shallow queue favours BBR, and a deep one CUBIC."""
    found = db.advise(
        ["cubic", "bbr3"], rate="2mbit", rtt="40ms", loss="0.01%", company=["cubic"], duration="30s", seed=6,
        progress=False,
    )  # fmt: skip
    cells = next(iter(found.by_row().values()))
    assert (cells[0].verdict.choice, cells[-1].verdict.choice) == ("bbr3", "cubic")
    assert found.sentences[0].startswith("Beside cubic: bbr3 below ")
    assert found.sentences[0].endswith(" BDP.")
    assert (cells[0].shares["bbr3"] or 0) > 0.5 > (cells[-1].shares["bbr3"] or 1)


def test_every_repetition_meets_another_part_of_a_recording(tmp_path: Path) -> None:
    """Two seconds of 4 Mbit/s, then eight of 1 Mbit/s: runs of two seconds see one or the other."""
    trace = tmp_path / "link.csv"
    trace.write_text("time_s,rate_mbps\n0,4\n2,1\n" + "".join(f"{second},1\n" for second in range(4, 10, 2)))
    found = db.advise(
        ["bbr", "cubic"], trace=trace, company=["alone"], buffer="1bdp", duration="2s", repeat=12, progress=False
    )
    (cell,) = found.cells
    rates = sorted(goodput for goodput, _ in cell.runs["cubic"].values())
    assert rates[0] < 1.1
    assert rates[-1] > 1.5


def test_a_measured_queue_is_the_time_that_a_full_one_takes() -> None:
    found = db.advise(
        ["bbr", "cubic"], measured_queue="180ms", company=["alone"], duration="20s", repeat=2, progress=False
    )
    (cell,) = found.cells
    assert cell.queue == Queue("4.5bdp", 4.5)
    _, delay = cell.mean("cubic")
    assert delay == pytest.approx(40 + 180, rel=0.03)
    assert "4.5 BDP (taken from the measured 180ms)" in found.assumptions


MAHIMAHI = "".join(f"{ms}\n" for ms in range(2, 2001, 2))


def test_a_recording_is_read_in_both_formats(tmp_path: Path) -> None:
    (tmp_path / "my.up").write_text(MAHIMAHI)
    (tmp_path / "my.csv").write_text("rate_kbps, place, time_ms\n6000,x,500\n3000,y,1000\n0,z,1500\n")
    mahimahi, csv = traces.read(tmp_path / "my.up"), traces.read(tmp_path / "my.csv")
    assert (mahimahi.mean_mbps, mahimahi.length_s) == (6.0, 2.0)
    assert (csv.mean_mbps, csv.length_s) == (3.0, 1.5)
    assert csv.trace == str(tmp_path / "my.csv")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("t,mbit\n1,2\n", "none of its columns (t, mbit) is named like a rate"),
        ("time_s,rate_mbps\n0,1\n1,fast\n", 'line 3, column `rate_mbps`, reads "fast": expected a number'),
        ("time_s,rate_mbps\n0,1\n1\n", 'line 3, column `rate_mbps`, reads "": expected a number'),
        ("time_s,rate_mbps\n0,1\n1,-2\n", 'line 3, column `rate_mbps`, reads "-2": expected a number'),
        (
            "time_s,rate_mbps\n0,1\n2,1\n1,1\n",
            'line 4, column `time_s`, reads "1": it is not later than the row before it',
        ),
        ("time_s,rate_mbps\n0,1\n", "1 rows with a time and a rate: expected at least two"),
        ("time_s,rate_mbps\n0,0\n1,0\n", "all rates are 0"),
        ("", "the trace is empty"),
    ],
)
def test_a_wrong_recording_is_refused_with_its_line_and_value(
    dumbbell: Cli, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "bad.csv").write_text(text)
    done = dumbbell("advise", "--trace", tmp_path / "bad.csv", "--out", tmp_path / "out")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error: --trace: the trace file `{tmp_path / 'bad.csv'}` is wrong: ")
    assert said in done.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--candidates", "bbr"], "--candidates bbr: name at least two algorithms"),
        (["--candidates", "bbr,bbr"], "--candidates bbr,bbr: bbr is named twice"),
        (["--candidates", "bbr,cubik"], "did you mean `cubic`?"),
        (["--company", "alone,cubik"], "did you mean `cubic`?"),
        (["--company", ""], "--company : name at least one"),
        (["--company", "alone,alone"], "--company alone,alone: alone is named twice"),
        (["--rate", "1mbit", "--trace", "x.up"], "not both"),
        (["--buffer", "1bpd"], "1bpd"),
        (["--rtt", "40"], "40"),
        (["--measured-queue", "180"], "--measured-queue 180: "),
        (["--measured-queue", "0ms"], "--measured-queue 0ms: "),
        (["--measured-queue", "180ms", "--buffer", "1bdp"], "--measured-queue 180ms: "),
        (["--set", "path.buffer=1bdp"], "--set path.buffer: a map writes this key for each of its runs; use --buffer"),
        (["--set", "flows[0].cc.cwnd_gain=3"], "--set flows[0].cc.cwnd_gain: a map writes this key"),
        (["--set", "sweep.repeat=3"], "use --repeat"),
        (["--set", "vary_phase=true"], "remove `vary_phase`"),
        (["--format", "pdf"], "choose from html, md"),
        (["--trace", "nowhere.up"], "nowhere.up"),
        (["--delay-weight", "-1"], "--delay-weight -1: write a number from 0 on"),
        (["--repeat", "1"], "repeat"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(
    dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if "x.up" in options:
        Path("x.up").write_text(MAHIMAHI)
    before = list(tmp_path.iterdir())
    done = dumbbell("advise", *options)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert list(tmp_path.iterdir()) == before


def test_settings_that_a_map_does_not_write_are_taken(tmp_path: Path) -> None:
    found = db.advise(
        ["bbr", "cubic"], set={"path.queue": "codel"}, company=["alone"], buffer="4bdp", duration="10s", repeat=3,
        progress=False,
    )  # fmt: skip
    _, delay = found.cells[0].mean("cubic")
    assert delay is not None
    assert delay < 100
    assert "path.queue = codel" in found.assumptions
    assert "drop-tail" not in found.assumptions


def test_rows_are_settings_and_company() -> None:
    found = db.advise(
        ["bbr", "cubic"], loss=["0%", "1%"], company=["alone", "itself"], buffer="1bdp", duration="3s", repeat=2,
        progress=False,
    )  # fmt: skip
    rows = list(found.by_row())
    assert [str(row) for row in rows] == [
        "alone, loss 0%", "alone, loss 1%", "beside itself, loss 0%", "beside itself, loss 1%",
    ]  # fmt: skip
    means = [found.by_row()[row][0].mean("cubic")[0] for row in rows]
    assert means[0] > 2 * means[1]
    assert means[0] == pytest.approx(2 * means[2], rel=0.1)


LIMITLESS = Queue("unlimited", math.inf)


def cell(row: Row, queue: Queue, best: Sequence[str], numbers: Mapping[str, Runs], **shares: float) -> Cell:
    """A place with these runs, whose verdict is given."""
    (found,), _ = judge([numbers])
    parts: dict[str, float | None] = dict.fromkeys(numbers) | shares
    return Cell(row, queue, numbers, parts, rule.Verdict(tuple(best), found.differences))


def decision_map(cells: Sequence[Cell], **asked: object) -> DecisionMap:
    """The map of these places."""
    given: dict[str, object] = {
        "candidates": list(cells[0].runs), "rates": ["10mbit"], "trace": None, "rtts": ["40ms"], "losses": ["0%"],
        "queues": ["1bdp"], "measured_queue": None, "company": ["alone"], "duration": "30s", "repeat": 3,
        "delay_weight": 1.0, "settings": {}, "seed": None,
    }  # fmt: skip
    question = grid.Question(**given | asked)  # type: ignore[arg-type]
    return DecisionMap(question, tuple(cells), 0.99, {})


def same(goodput: float, delay: float | None) -> Runs:
    return {seed: (goodput + 0.1 * seed, None if delay is None else delay + seed) for seed in range(3)}


ABC = {"a": same(8, 50), "b": same(4, 40), "c": same(2, 90)}


def test_a_picture_of_a_map_has_the_regions_of_each_row_and_their_numbers() -> None:
    beside = Row("cubic", "", "10mbit", "40ms", "0%", 10.0)
    queues = [Queue("0.5bdp", 0.5), Queue("1bdp", 1.0), Queue("4bdp", 4.0)]
    cells = [
        cell(ALONE, queues[0], ["a"], ABC),
        cell(ALONE, queues[1], ["a"], ABC),
        cell(ALONE, queues[2], ["b", "c"], ABC),
        cell(beside, queues[0], ["a", "b", "c"], ABC),
        cell(beside, queues[2], ["b"], ABC),
        cell(beside, LIMITLESS, ["b"], {"a": same(8, 50), "b": {0: (4.0, 40.0)}, "c": same(2, None)}),
    ]
    picture = decision_map(cells, company=["alone", "cubic"]).picture()
    top, *numbers = picture.axes
    first, last = 0.5 / 1.15, 4 * 1.15
    spans = [(patch.get_x(), patch.get_width() + patch.get_x(), patch.get_y()) for patch in top.patches]  # type: ignore[attr-defined]
    assert [pytest.approx(span) for span in spans] == [
        (first, 2, -0.42),
        (2, last, -0.42),
        (first, math.sqrt(0.5 * 4), 0.58),
        (math.sqrt(0.5 * 4), 8 * 1.15, 0.58),
    ]
    assert {round(patch.get_height(), 6) for patch in top.patches} == {0.84}  # type: ignore[attr-defined]
    colours = [to_hex(patch.get_facecolor()) for patch in top.patches]
    looks = style.looks([(name, name) for name in "abc"])
    pale = []
    for name in "ab":
        red, green, blue = (1 - 0.45 * (1 - part) for part in to_rgb(looks[name, name].shown))
        pale.append(to_hex((red, green, blue)))
    assert colours == [pale[0], "#d9d9d9", "#d9d9d9", pale[1]]
    assert [patch.get_hatch() or "" for patch in top.patches] == [style.HATCHES[0], "", "", style.HATCHES[1]]
    assert [(text.get_text(), text.get_position()[1]) for text in top.texts] == [("a", 0), ("b or\nc", 0), ("b", 1)]
    middles = [math.sqrt(first * 2), math.sqrt(2 * last), math.sqrt(math.sqrt(2) * 8 * 1.15)]
    assert [text.get_position()[0] for text in top.texts] == pytest.approx(middles)
    tried = [(np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()) for line in top.get_lines()]
    assert tried == [([0.5, 1, 4], [0.42] * 3), ([0.5, 4, 8], [1.42] * 3)]
    assert [text.get_text() for text in top.get_yticklabels()] == ["alone", "beside cubic"]
    assert top.get_ylim() == (1.55, -0.55)
    assert top.get_xlim() == pytest.approx((0.5 / 1.2, 8 * 1.2))
    assert top.get_xlabel() == "queue (BDP)"
    assert top.get_title(loc="left") == "what to choose; marks are queues that were tried"
    assert len(numbers) == 4
    assert [axes.get_ylabel() for axes in numbers] == ["goodput (Mbit/s)", "", "p95 RTT (ms)", ""]
    assert [axes.get_xlabel() for axes in numbers] == ["", "", "queue (BDP)", "queue (BDP)"]
    assert [axes.get_title(loc="left") for axes in numbers] == ["alone", "beside cubic", "", ""]
    assert [axes.get_yscale() for axes in numbers] == ["linear", "linear", "log", "log"]
    assert [len(axes.get_lines()) for axes in numbers] == [3] * 4
    lines = [[np.asarray(line.get_data()).tolist() for line in axes.get_lines()] for axes in numbers]
    assert lines[0][0] == [[0.5, 1, 4], pytest.approx([8.1] * 3)]
    assert lines[1][1] == [[0.5, 4, 8], pytest.approx([4.1, 4.1, 4])]
    assert lines[2][2] == [[0.5, 1, 4], pytest.approx([91] * 3)]
    assert lines[3][2] == [[0.5, 4], pytest.approx([91] * 2)]
    interval = mean_interval([8.0, 8.1, 8.2])
    assert interval is not None
    band = np.asarray(numbers[0].collections[0].get_paths()[0].vertices)
    assert (band[:, 1].min(), band[:, 1].max()) == pytest.approx((interval.low, interval.high))
    single = np.asarray(numbers[1].collections[1].get_paths()[0].vertices)
    assert set(single[single[:, 0] == 8][:, 1]) == {4}
    low, high = numbers[0].get_ylim()
    assert low == 0 and high > interval.high
    assert numbers[0].get_ylim() == numbers[1].get_ylim()
    labels = [axes.yaxis.get_major_ticks()[0].label1.get_visible() for axes in numbers]
    assert labels == [True, False, True, False]
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["a", "b", "c", "no difference shown"]
    assert to_hex(picture.legends[0].get_patches()[0].get_facecolor()) == "#d9d9d9"


def test_a_picture_of_a_map_of_many_rows_has_numbers_of_four() -> None:
    rows = [Row("alone", f"loss {number}%", "10mbit", "40ms", f"{number}%", 10.0) for number in range(5)]
    picture = decision_map([cell(row, Queue("1bdp", 1.0), ["a"], ABC) for row in rows]).picture()
    assert len(picture.axes) == 1 + 2 * 4
    assert len(picture.axes[0].get_yticks()) == 5
    assert picture.get_size_inches().tolist() == pytest.approx([2.6 * 4 + 1.6, 1.1 + 0.5 * 5 + 4])
    single = decision_map([cell(ALONE, Queue("1bdp", 1.0), ["a"], ABC)]).picture()
    assert single.get_size_inches().tolist() == pytest.approx([2.6 * 2 + 1.6, 1.1 + 0.5 + 4])


def ticks(*places: Queue) -> list[str]:
    """What the axis of these queues says."""
    figure = Figure()
    axes = figure.subplots()
    decision._queues(axes, [[cell(ALONE, queue, ["a"], ABC) for queue in places]])
    figure.draw_without_rendering()
    assert not axes.xaxis.get_minorticklocs().size
    return [text.get_text() for text in axes.get_xticklabels()]


def test_the_axis_of_queues_has_round_numbers_between_the_least_and_the_largest() -> None:
    assert ticks(Queue("0.1bdp", 0.1), Queue("500bdp", 500.0)) == [
        "0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50", "100", "200", "500",
    ]  # fmt: skip
    assert ticks(Queue("0.9bdp", 0.9), Queue("4.96bdp", 4.96)) == ["1", "2", "5"]
    assert ticks(Queue("0.9bdp", 0.9), Queue("4.9bdp", 4.9)) == ["1", "2"]
    assert ticks(Queue("3bdp", 3.0), Queue("4.321bdp", 4.321)) == ["3", "4.321"]
    assert ticks(Queue("1bdp", 1.0), LIMITLESS) == ["1", "unlimited"]


def test_a_name_is_written_into_a_region_that_has_room_for_it() -> None:
    def names(width: float, name: str) -> list[str]:
        runs_ = {name: same(8, 50), "b": same(4, 40)}
        queues = [Queue("1bdp", 1.0), Queue("w", width), Queue("100bdp", 100.0)]
        cells = [cell(ALONE, queue, [name if queue is queues[0] else "b"], runs_) for queue in queues]
        return [text.get_text() for text in decision_map(cells).picture().axes[0].texts]

    # From 1 / 1.15 to the midst between 1 and 2, of 1 / 1.2 to 120 in all, a letter needs 0.012.
    part = math.log(1.15 * math.sqrt(2)) / math.log(1.2**2 * 100)
    assert 8 < part / 0.012 < 9
    assert names(2.0, "a" * 8) == ["a" * 8, "b"]
    assert names(2.0, "a" * 9) == ["b"]


def test_a_row_is_said_by_its_boundaries() -> None:
    def said(*verdicts: Sequence[str], queues: Sequence[float] = (0.5, 2.0, 8.0, 32.0)) -> str:
        cells = [cell(ALONE, Queue.of_bdp(bdp), best, ABC) for bdp, best in zip(queues, verdicts, strict=False)]
        return words.of_row(decision_map(cells), ALONE)

    assert said("a") == "Alone: a with a queue of 0.5 BDP."
    assert said("a", "a", "a") == "Alone: a at all 3 queues tried from 0.5 BDP to 8 BDP."
    assert said("a", "b") == "Alone: a below 1 BDP, b above 1 BDP."
    assert (
        said("a", "ab", "ab", "abc")
        == "Alone: a below 1 BDP, a or b from 1 to 16 BDP, no difference shown above 16 BDP."
    )
    assert said("a", "b", "c") == "Alone: a below 1 BDP, b from 1 to 4 BDP, c above 4 BDP."
    assert said("a", "b", queues=(0.0, 2.0)) == "Alone: a below 0 BDP, b above 0 BDP."
    assert said("a", "b", queues=(3.0, math.inf)) == "Alone: a below 3 BDP, b above 3 BDP."


def test_the_reason_of_a_region_is_that_of_its_midst() -> None:
    faster = {"a": same(16, 50), "b": same(4, 40), "c": same(2, 90)}
    cells = [cell(ALONE, Queue.of_bdp(bdp), ["a"], numbers) for bdp, numbers in ((1.0, ABC), (2.0, faster), (4.0, ABC))]
    (said,) = words.reasons(decision_map(cells), ALONE)
    assert said.startswith("At 2 BDP a has 16.1 Mbit/s at 51 ms: ")
    assert said.count(" than b, with ") == said.count(" than c, with ") == 1
    (tie,) = words.reasons(decision_map([cell(ALONE, Queue.of_bdp(1.0), "ab", ABC)]), ALONE)
    assert tie.startswith("At 1 BDP a has 8.1 Mbit/s at 51 ms: ") and "than b" in tie and "than c" not in tie
    silent = {"a": same(8, None), "b": {7: (1.0, 2.0)}}
    assert words.reasons(decision_map([cell(ALONE, Queue.of_bdp(1.0), "ab", silent)]), ALONE) == []
    verdict = cell(ALONE, Queue.of_bdp(1.0), "a", {"a": same(8, None), "b": same(4, 40)}).verdict
    said = words.reason("a", ["b"], verdict, {"a": (8.0, None), "b": (4.0, 40.0)})
    assert said.startswith("a has 8 Mbit/s: ")
    assert "than b, with 96 % more goodput" in said or "more goodput" in said
    assert "delay" not in said


def test_what_is_left_to_the_company_is_said_of_both_ends_of_a_row() -> None:
    beside, itself = (Row(name, "", "10mbit", "40ms", "0%", 10.0) for name in ("cubic", "itself"))
    cells = [
        cell(beside, Queue.of_bdp(1.0), "a", ABC, a=0.256, b=0.5, c=0.1),
        cell(beside, Queue.of_bdp(2.0), "b", ABC, a=0.9, b=0.9, c=0.9),
        cell(beside, Queue.of_bdp(4.0), "b", ABC, a=0.7, b=0.8),
    ]
    said = words.reasons(decision_map(cells, company=["cubic"]), beside)
    assert said[-1] == (
        "Of what both flows get, the flow beside cubic takes, at 1 BDP and at 4 BDP: 26 % and 70 % with a and "
        "50 % and 80 % with b."
    )
    alone = [cell(itself, Queue.of_bdp(1.0), "a", ABC, a=0.5, b=0.25, c=0.0)]
    said = words.reasons(decision_map(alone, company=["itself"]), itself)
    assert said[-1] == (
        "Of what both flows get, the slower of two equal flows has, at 1 BDP: 50 % with a, 25 % with b and 0 % with c."
    )
    unknown = [cell(itself, Queue.of_bdp(1.0), "a", ABC)]
    assert len(words.reasons(decision_map(unknown, company=["itself"]), itself)) == 1


@pytest.mark.parametrize(
    ("estimate", "low", "high", "said"),
    [
        (0.1, 0.05, 0.15, "11 % more utility (5.1 to 16 %)"),
        (-0.1, -0.15, -0.05, "9.5 % less utility (4.9 to 14 %)"),
        (0.1, -0.1, 0.3, "11 % more utility (9.5 % less to 35 % more)"),
        (0.0004, -0.1, 0.1, "the same utility (9.5 % less to 11 % more)"),
        (0.0006, 0.0, 0.1, "0.06 % more utility (0 to 11 %)"),
        (-0.0006, -0.1, 0.0, "0.06 % less utility (0 to 9.5 %)"),
        (1.0, 0.5, 4.6, "172 % more utility (65 to 9848 %)"),
        (1.0, -4.7, 2.0, "172 % more utility (too few runs for an interval)"),
        (1.0, 0.5, 4.7, "172 % more utility (too few runs for an interval)"),
    ],
)
def test_a_difference_is_said_in_percent_with_its_interval(estimate: float, low: float, high: float, said: str) -> None:
    assert words._signed(Interval(estimate, low, high, 5), "utility") == said


def test_an_interval_without_a_width_and_a_difference_without_delay_are_said_shortly() -> None:
    assert words._signed(Interval(0.1, 0.1, 0.1, 1), "utility") == "11 % more utility"
    one, other = Interval(0.1, 0.1, 0.1, 1), Interval(-0.3, -0.3, -0.3, 1)
    both = rule.Difference("a", "b", one, other, one, "a")
    assert words.of_difference(both) == "11 % more utility than b, with 11 % more delay and 26 % less goodput"
    without = rule.Difference("a", "b", one, other, None, "a")
    assert words.of_difference(without) == "11 % more utility than b, with 26 % less goodput"


def test_numbers_in_words() -> None:
    assert [words.percent(share) for share in (9.94, 10.0, 123.4, -10.4, 0.123, -9.96)] == [
        "9.9", "10", "123", "-10", "0.12", "-10",
    ]  # fmt: skip
    assert [words.interval_name(confidence) for confidence in (0.99, 0.9972, 0.95)] == [
        "99 % interval", "99.7 % interval", "95 % interval",
    ]  # fmt: skip
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b"]) == "a and b"
    assert words.listed(["a", "b", "c"], "or") == "a, b or c"
    assert [words.of_best(best, "abc") for best in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a", "a or b", "no difference shown",
    ]  # fmt: skip
    assert words.utility(0) == "goodput"
    assert words.utility(1) == "power, that is goodput over the 95th percentile of RTT"
    assert words.utility(0.5) == "goodput over the 95th percentile of RTT to the power of 0.5"
    assert "counts from 5 % on" in words.rule(0.997)
    assert "the best, which is power" in words.rule(0.997)
    assert "Brackets hold 99.7 % intervals" in words.rule(0.997, 2.0)


def test_what_a_map_assumes_is_what_was_asked(tmp_path: Path) -> None:
    def said(*queues: str, **asked: object) -> str:
        cells = [cell(ALONE, ALONE.queue(queue), "a", ABC) for queue in queues or ("1bdp",)]
        return words.assumptions(decision_map(cells, **asked))

    plain = said("4bdp", "1bdp")
    assert plain.startswith(
        "Assumed: one long flow of a, b or c, alone, on a link of 10mbit, with a base round trip of 40ms, random loss "
        "of 0%, and a drop-tail queue of 1 BDP to 4 BDP. Tried: 0 runs of 30s each, of which the first 5 s are not "
        "measured; 3 seeds of each, which draw round trips longer by up to a packet's time. "
    )
    assert "round trips and losses, active queue management, more flows" in plain
    other = said(
        company=["itself", "reno"], rates=["1mbit", "2mbit"], rtts=["1ms", "2ms", "3ms"], losses=["0%", "0.1%"],
        settings={"path.queue": "codel", "vary_rtt": "0s"}, duration="${length}", measured_queue="10ms",
    )  # fmt: skip
    assert (
        "beside a second flow of its own kind or beside one flow of reno, on a link of 1mbit or 2mbit, with a base "
        "round trip of 1ms, 2ms or 3ms, random loss of 0% or 0.1%, and a queue of 1 BDP (taken from the measured "
        "10ms), path.queue = codel, vary_rtt = 0s."
    ) in other
    assert "of ${length} each, of which the first sixth are not measured" in other
    assert "which draw losses and starts within a second where two flows share the path." in other
    assert "round trips and losses, more flows" in other
    assert "which draw what the settings say." in said(settings={"vary_rtt": "0s"}, losses=["0.0"])
    (tmp_path / "my.up").write_text(MAHIMAHI)
    recorded = said(trace=tmp_path / "my.up", rates=[])
    assert "on a link that follows my.up (6 Mbit/s in the mean of 2 s), with" in recorded
    drawn = "which draw the place in the recording where a run begins and round trips longer"
    assert drawn in recorded
    assert drawn not in said(trace=tmp_path / "my.up", rates=[], settings={"vary_phase": "false"})


def test_what_to_take_where_the_place_is_not_known_has_its_cost() -> None:
    far = {"a": same(8, 50), "b": same(4, 50)}
    near = {"a": same(8, 50), "b": same(7.9, 50)}
    cells = [cell(ALONE, Queue.of_bdp(bdp), "a", numbers) for bdp, numbers in ((1.0, near), (2.0, far))]
    found = decision_map(cells)
    assert found.sentences[-1] == (
        "If you do not know which of these places is yours: a, whose regret is the least. Regret is how much less "
        "utility it has than the best one of the same place: a at worst 0 % (alone, 1 BDP), b at worst 49 % (alone, "
        "2 BDP)."
    )
    tie = decision_map(
        [cell(ALONE, Queue.of_bdp(bdp), "ab", {"a": same(8, 50), "b": same(8, 50)}) for bdp in (1.0, 2.0)]
    )
    assert tie.sentences[-1].startswith(
        "If you do not know which of these places is yours, no difference is shown between a and b. Regret is"
    )
    assert len(decision_map(cells[:1]).sentences) == 1


def test_the_table_of_a_map_has_a_line_a_place() -> None:
    cells = [
        cell(ALONE, Queue.of_bdp(2.0), "ab", {"a": same(8, 50), "b": same(4, None)}, a=0.256),
        cell(ALONE, Queue("40packets", 1.2), "a", {"a": same(8, 50), "b": same(4, 40)}, a=0.5, b=0.1),
    ]
    found = decision_map(cells)
    assert [list(map(str, row)) for row in found.grid()._rows] == [
        ["alone", "40packets", "a", "8.1", "51", "4.1", "41"],
        ["alone", "2 BDP", "no difference shown", "8.1", "51", "4.1", ""],
    ]
    assert [list(map(str, row))[-2:] for row in found.grid(with_shares=True)._rows] == [["50", "10"], ["26", ""]]
    assert [len(list(row)) for row in found.grid(with_shares=True)._rows] == [9, 9]
    page = found._repr_html_()
    assert page.count("<p>") == 1 + len(found.sentences) + 1 and page.count("<table") == 2
    assert repr(found).split("\n") == [found.assumptions, *found.sentences, found.rule]


@pytest.mark.parametrize(
    ("text", "bdp"),
    [
        ("1.2345bdp", 1.23), ("20ms", 0.5), ("50kB", 1.0), ("100kB", 2.0), ("40packets", 1.2), ("50000", 1.0),
        ("nonsense", math.inf),
    ],
)  # fmt: skip
def test_a_queue_of_any_unit_has_its_place_among_others(text: str, bdp: float) -> None:
    found = ALONE.queue(text)
    assert found.bdp == pytest.approx(bdp)
    assert math.isnan(Row("alone", "", "10mbit", "40", "0%", 10.0).queue(text).bdp)


def test_a_queue_is_called_by_its_products_or_by_its_text() -> None:
    assert str(Queue("2bdp", 2.0)) == "2 BDP"
    assert str(Queue("40packets", 2.0)) == "40packets"
    assert str(Queue.of_bdp(1.23456)) == "1.23 BDP"
    assert str(Row("cubic", "loss 1%", "10mbit", "40ms", "1%", 10.0)) == "beside cubic, loss 1%"
    assert str(ALONE) == "alone"
    assert ALONE.queue_of_delay("100ms") == Queue("2.5bdp", 2.5)
    for text, said in (("0s", "a queue without room"), ("-1ms", ""), ("soon", "write a time such as 180ms")):
        with pytest.raises(ValueError, match=f"--measured-queue {text}: .*{said}"):
            ALONE.queue_of_delay(text)


def test_the_level_of_benjamini_and_hochberg() -> None:
    def level(*p: float) -> tuple[float, bool]:
        found, is_any = rule._level(np.array(p))
        return round(found, 12), is_any

    assert level() == (0.01, False)
    assert level(0.5, 0.6) == (0.005, False)
    assert level(0.004, 0.6) == (0.005, True)
    assert level(0.6, 0.009, 0.009, 0.001) == (0.0025, True)
    assert level(0.6, 0.007, 0.0074, 0.001) == (0.0075, True)
    assert level(0.01) == (0.01, True)


def test_a_verdict_is_turned_for_the_other_one() -> None:
    (verdict,), _ = judge([{"a": same(8, 50), "b": same(4, 40)}])
    one, other = verdict.between("a", "b"), verdict.between("b", "a")
    assert one is not None and other is not None and one.delay is not None and other.delay is not None
    assert (other.first, other.second) == ("b", "a")
    for own, turned in ((one.utility, other.utility), (one.goodput, other.goodput), (one.delay, other.delay)):
        assert (turned.estimate, turned.low, turned.high) == (-own.estimate, -own.high, -own.low)
        assert (turned.n, turned.sd) == (own.n, own.sd)
    assert verdict.between("a", "c") is None
    (without,), _ = judge([{"a": same(8, None), "b": dict.fromkeys((1, 2, 9), (4.0, 40.0))}])
    turned_ = without.between("b", "a")
    assert turned_ is not None
    assert (turned_.delay, turned_.goodput.n) == (None, 2)
    (apart,), _ = judge([{"a": {1: (1.0, 1.0)}, "b": {2: (1.0, 1.0)}}])
    assert (apart.best, apart.differences) == (("a", "b"), ())


def test_a_circle_of_differences_leaves_all() -> None:
    rng = np.random.default_rng(4)

    def of(*parts: tuple[float, range]) -> Runs:
        return {seed: (goodput * float(rng.normal(1, 0.01)), 50.0) for goodput, seeds in parts for seed in seeds}

    first, second, third = range(20), range(20, 40), range(40, 60)
    # Each is better than one of the others, in the runs that both have.
    place = {"a": of((10, first), (5, third)), "b": of((5, first), (10, second)), "c": of((5, second), (10, third))}
    (verdict,), _ = judge([place])
    assert [one.better for one in verdict.differences] == ["a", "c", "b"]
    assert verdict.best == ("a", "b", "c")


def test_goodput_and_delay_over_runs() -> None:
    assert rule.mean({0: (1.0, 10.0), 1: (3.0, 30.0)}) == (2.0, 20.0)
    assert rule.mean({0: (1.0, 10.0), 1: (3.0, None)}) == (2.0, None)
    assert rule.logarithm(0.0) == math.log(1e-3)
    assert rule.logarithm(2.0) == math.log(2)


def test_a_run_in_which_nothing_arrived_has_the_longest_delay_of_its_place() -> None:
    found = rule._utilities({"a": {0: (2.0, 10.0), 1: (1.0, None)}, "b": {0: (1.0, 40.0)}}, 2.0)
    assert found["a"] == pytest.approx({0: math.log(2) - 2 * math.log(10), 1: -2 * math.log(40)})
    assert found["b"] == pytest.approx({0: -2 * math.log(40)})
    assert rule._utilities({"a": {0: (2.0, None)}}, 1.0)["a"] == pytest.approx({0: math.log(2)})


def test_regret_holds_for_all_places_and_algorithms_together() -> None:
    rng = np.random.default_rng(9)
    places = [{name: noisy(rng, 10 - number, 50, 0.05) for number, name in enumerate("abc")} for _ in range(4)]
    found = {one.name: one for one in regrets(places)}
    confidence = 1 - 0.01 / (4 * 2)
    costs = []
    for place in places:
        pairs = [
            [
                math.log(place[other][seed][0] / place["c"][seed][0])
                - math.log((place[other][seed][1] or 1) / (place["c"][seed][1] or 1))
                for seed in place["c"]
            ]
            for other in "ab"
        ]
        intervals = [mean_interval(pair, confidence) for pair in pairs]
        costs.append([max(0.0, *(getattr(one, bound) for one in intervals)) for bound in ("estimate", "low", "high")])
    worst = max(range(4), key=lambda number: costs[number][0])
    own = found["c"]
    assert own.place == worst
    assert own.worst == pytest.approx(1 - math.exp(-costs[worst][0]))
    assert own.low == pytest.approx(1 - math.exp(-max(low for _, low, _ in costs)))
    assert own.high == pytest.approx(1 - math.exp(-max(high for *_, high in costs)))
    (alone,) = regrets([{"a": noisy(rng, 10, 50)}])
    assert (alone.worst, alone.low, alone.high) == (0, 0, 1)
    once = regrets([{"a": {0: (1.0, 1.0)}, "b": {0: (2.0, 1.0)}}])
    assert [(one.worst, one.low, one.high) for one in once] == [(0, 0, 1)] * 2
    shown = [
        rule.Regret("a", 0.1, 0.05, 0.2, 0),
        rule.Regret("b", 0.2, 0.2, 0.4, 0),
        rule.Regret("c", 0.3, 0.21, 0.4, 0),
    ]
    assert least_regret(shown) == ["a", "b"]


def test_further_queues_are_tried_between_neighbours_that_differ_and_are_not_near() -> None:
    def more(*given: tuple[float, str]) -> list[float]:
        found = grid.further([cell(ALONE, Queue.of_bdp(bdp), best, ABC) for bdp, best in given])
        return [queue.bdp for queue in found.get(ALONE, [])]

    assert more((1.0, "a"), (4.0, "b"), (9.0, "c")) == [2.0, 6.0]
    assert more((1.0, "a"), (4.0, "a")) == []
    assert more((1.0, "a"), (1.2, "b")) == []
    assert more((1.0, "a"), (1.21, "b")) == [1.1]
    assert more((0.0, "a"), (4.0, "b")) == []
    assert more((4.0, "a"), (math.inf, "b")) == []


def test_a_map_is_refined_in_four_rounds_and_only_where_it_changed() -> None:
    other = Row("cubic", "", "10mbit", "40ms", "0%", 10.0)
    asked: list[tuple[str, list[list[float]]]] = []

    def run(company: str, queues: Mapping[Row, Sequence[Queue]]) -> Iterator[grid.Tried]:
        asked.append((company, [[queue.bdp for queue in own] for own in queues.values()]))
        for own in queues.values():
            for queue in own:
                fast, slow = runs([9.0, 9.1, 9.2, 9.3, 9.4], [50.0] * 5), runs([1.0, 1.0, 1.0, 1.1, 1.0], [50.0] * 5)
                is_low = company == "alone" and queue.bdp < 3
                yield grid.Tried({"a": fast if is_low else slow, "b": slow if is_low else fast}, {"a": None, "b": None})

    first = [Queue.of_bdp(1.0), Queue.of_bdp(100.0)]
    cells, confidence = grid.refined({ALONE: first, other: first}, run)
    assert [company for company, _ in asked] == ["alone", "cubic", "alone", "alone", "alone", "alone"]
    assert asked[1][1] == [[1, 100]]
    assert asked[2][1] == [[1, 10, 100]]
    assert asked[3][1] == [[1, 3.16, 10, 100]]
    assert len(asked[-1][1][0]) == 6
    assert [cell.row for cell in cells] == [ALONE] * 6 + [other] * 2
    assert [cell.verdict.choice for cell in cells] == ["a", "a", "a", "b", "b", "b", "b", "b"]
    assert 0.98 < confidence < 1


def test_what_flows_had_in_a_run() -> None:
    pair: list[tuple[float, float | None]] = [(6.0, 40.0), (2.0, 60.0)]
    assert grid._measured(pair, is_pair=False) == (6.0, 40.0)
    assert grid._measured(pair, is_pair=True) == (4.0, 50.0)
    assert grid._measured([(6.0, 40.0), (2.0, None)], is_pair=True) == (4.0, None)
    assert grid._share([pair, [(1.0, None), (3.0, None)]], of_the_lesser=False) == 0.5
    assert grid._share([pair, [(1.0, None), (3.0, None)]], of_the_lesser=True) == 0.25
    assert grid._share([[(1.0, None)], [(0.0, None), (0.0, None)], pair], of_the_lesser=False) == 0.75
    assert grid._share([[(1.0, None)]], of_the_lesser=False) is None


def question(**asked: object) -> grid.Question:
    given: dict[str, object] = {
        "rate": None, "trace": None, "rtt": "40ms", "loss": "0%", "buffer": None, "measured_queue": None,
        "company": ["alone"], "duration": "6s", "repeat": 2, "delay_weight": 1.0, "set": None, "seed": None,
    }  # fmt: skip
    return grid.ask(["bbr", "reno"], **given | asked)  # type: ignore[arg-type]


def test_rows_of_a_question_are_its_company_and_what_of_the_path_it_varies() -> None:
    asked = question(company=["alone", "cubic"], rate=["1mbit", "2mbit"], rtt=["10ms", "20ms"], loss=["0%", "1%"])
    rows = list(asked.rows)
    assert len(rows) == 16
    assert [(row.company, row.setting) for row in rows[:3]] == [
        ("alone", "1mbit, RTT 10ms, loss 0%"), ("alone", "1mbit, RTT 10ms, loss 1%"),
        ("alone", "1mbit, RTT 20ms, loss 0%"),
    ]  # fmt: skip
    assert (rows[-1].rate, rows[-1].rtt, rows[-1].loss, rows[-1].mean_mbps) == ("2mbit", "20ms", "1%", 2.0)
    (plain,) = question().rows
    assert plain == Row("alone", "", "10mbit", "40ms", "0%", 10.0)
    assert [queue.text for queue in question().first_queues(plain)] == list(grid.QUEUES)
    ordered = question(buffer=["100kB", "1bdp", "20ms"])
    assert [queue.text for queue in ordered.first_queues(plain)] == ["20ms", "1bdp", "100kB"]
    assert question(measured_queue="80ms").first_queues(plain) == [Queue("2bdp", 2.0)]


def test_the_experiment_of_a_row_has_each_queue_with_each_candidate_and_seed(tmp_path: Path) -> None:
    asked = question(company=["alone", "itself", "cubic"], loss=["0%", "1%"], seed=7, set={"path.queue": "codel"})
    rows = {(row.company, row.loss): row for row in asked.rows}

    def document(row: Row) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        points = asked.load(row, [row.queue("1bdp"), row.queue("2bdp")]).points
        resolved = json.loads(db._core.toml_as_json(points[0].resolved_toml))
        return [dict(point.settings) | {"repeat": point.repeat} for point in points], resolved

    settings, alone = document(rows["alone", "1%"])
    assert [(one["path.buffer"], one["flows[0].cc"], one["repeat"]) for one in settings] == [
        (queue, cc, repeat) for queue in ("1bdp", "2bdp") for cc in ("bbr", "reno") for repeat in (0, 1)
    ]
    assert {one["path.loss"] for one in settings} == {"1%"}
    assert "path.rtt" not in settings[0]
    assert len(alone["flows"]) == 1
    _, itself = document(rows["itself", "0%"])
    assert [flow["cc"]["name"] for flow in itself["flows"]] == ["bbr", "bbr"]
    _, beside = document(rows["cubic", "0%"])
    assert [(flow["cc"]["name"], flow["label"]) for flow in beside["flows"]] == [
        ("bbr", "bbr"),
        ("cubic", "cubic beside"),
    ]
    assert grid._flows("alone", "x") == [{"cc": "x"}]
    assert grid._flows("itself", "x") == [{"cc": "x", "count": 2, "start_jitter": "1s"}]
    assert grid._flows("y", "x") == [
        {"cc": "x", "start_jitter": "1s"}, {"cc": "y", "label": "y beside", "start_jitter": "1s"},
    ]  # fmt: skip
    (tmp_path / "my.up").write_text(MAHIMAHI)
    recorded = question(trace=tmp_path / "my.up")
    (row,) = recorded.rows
    assert (row.rate, row.mean_mbps) == ("", 6.0)
    assert len(recorded.load(row, [row.queue("1bdp")]).points) == 4


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"rate": "1mbit", "trace": "x"}, "the bottleneck follows a rate or a trace, not both"),
        (
            {"measured_queue": "1ms", "buffer": "1bdp"},
            "the queue is that of `buffer` or that of a measurement, not both",
        ),
        ({"repeat": 1}, "repeat=1: one run says nothing of chance; at least 2"),
        ({"delay_weight": -0.5}, "--delay-weight -0.5: write a number from 0 on"),
        ({"delay_weight": math.inf}, "--delay-weight inf: write a number"),
        ({"company": ["", ""]}, "--company ,: name at least one"),
        ({"company": ["alone", "cubic", "alone"]}, "--company alone,cubic,alone: alone is named twice"),
        ({"set": {"path": 1}}, "--set path: a map writes this key for each of its runs; use --rate, --rtt, --buffer"),
        ({"set": {"duration": "1s"}}, "use --duration"),
        ({"set": {"flows": []}}, "use --candidates and --company"),
        ({"set": {"flows[1].cc": "x"}}, "use --company"),
    ],
)
def test_a_question_in_python_that_cannot_be_answered_is_refused(asked: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        question(**asked)
    assert question(delay_weight=0.0, set={"flows[0].rtt": "90ms"}).delay_weight == 0


def test_what_is_tried_is_told_apart_by_place_candidate_and_seed() -> None:
    asked = question(company=["cubic"])
    points = [(place, cc, seed) for place in (0, 1) for cc in (0, 1) for seed in (0, 1)]
    flows = pl.DataFrame(
        [
            {"point": number, "goodput_mbps": rate, "p95_rtt_ms": 10.0 * number if flow == 0 else 99.0}
            for number, (place, cc, seed) in enumerate(points)
            for flow, rate in ((0, 1.0 + place + 2 * cc + 4 * seed), (1, 1.0))
        ]
    )
    sweep: Any = SimpleNamespace(flows=SimpleNamespace(to_polars=lambda: flows), points=points)
    first, second = grid._tried(sweep, asked, "cubic")
    assert first.runs == {"bbr": {0: (1.0, 0.0), 1: (5.0, 10.0)}, "reno": {0: (3.0, 20.0), 1: (7.0, 30.0)}}
    assert second.runs["reno"] == {0: (4.0, 60.0), 1: (8.0, 70.0)}
    assert first.shares == pytest.approx({"bbr": (1 / 2 + 5 / 6) / 2, "reno": (3 / 4 + 7 / 8) / 2})
    (pair, _) = grid._tried(sweep, asked, "itself")
    assert pair.runs["bbr"][1] == (3.0, 54.5)
    assert pair.shares["bbr"] == pytest.approx((1 / 2 + 1 / 6) / 2)
    nothing = flows.with_columns(goodput_mbps=pl.lit(None, pl.Float64))
    silent: Any = SimpleNamespace(flows=SimpleNamespace(to_polars=lambda: nothing), points=points)
    assert next(iter(grid._tried(silent, asked, "cubic"))).runs["bbr"][0] == (0.0, 0.0)


def test_all_intervals_of_a_map_have_one_confidence() -> None:
    rng = np.random.default_rng(6)
    place = {"a": noisy(rng, 10, 50), "b": noisy(rng, 8, 60)}
    (verdict,), confidence = judge([place])
    (pair,) = verdict.differences
    logs = [
        [math.log((place["a"][seed][part] or 1) / (place["b"][seed][part] or 1)) for seed in range(SEEDS)]
        for part in (0, 1)
    ]
    for found, values in zip((pair.goodput, pair.delay), logs, strict=True):
        expected = mean_interval(values, confidence)
        assert found is not None and expected is not None
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    # One place and two algorithms are one comparison.
    worse = next(one for one in regrets([place]) if one.name == "b")
    cost = mean_interval([logs[0][seed] - logs[1][seed] for seed in range(SEEDS)], 0.99)
    assert cost is not None
    assert (worse.low, worse.high) == pytest.approx((1 - math.exp(-cost.low), 1 - math.exp(-cost.high)))


def test_algorithms_without_a_seed_in_common_leave_the_others_compared() -> None:
    same_ = runs([10.0, 10.1], [50.0, 51.0])
    (verdict,), _ = judge([{"a": same_, "b": {7: (1.0, 1.0)}, "c": same_}])
    assert [(one.first, one.second) for one in verdict.differences] == [("a", "c")]
    assert rule._p(np.array([0.0, 0.001, -0.001])) == 1.0
