"""What to choose: when a difference is shown, where the boundaries of a map lie, and what a question may be."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell.advice import grid, rule, traces, words
from dumbbell.advice.map import Cell, Queue, Row
from dumbbell.advice.rule import Runs, judge, least_regret, regrets

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
