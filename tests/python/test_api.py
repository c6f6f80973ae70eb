"""The package as a notebook uses it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dumbbell as db
from conftest import EXPERIMENT, SWEEP
from dumbbell import experiment

DOCUMENT: dict[str, Any] = {
    "duration": "2s",
    "path": {"rate": "10mbit", "rtt": "40ms"},
    "flows": [{"cc": "bbr"}],
}


def test_a_dictionary_runs_like_the_file_it_stands_for(tmp_path: Path) -> None:
    path = tmp_path / "same.toml"
    path.write_text('duration = "2s"\n[path]\nrate = "10mbit"\nrtt = "40ms"\n[[flows]]\ncc = "bbr"\n')
    one, other = db.run(DOCUMENT), db.run(path)
    assert one.meta.content_hash == other.meta.content_hash
    assert one.flows.to_polars().equals(other.flows.to_polars())


def test_settings_and_seed_replace_what_the_dictionary_says() -> None:
    result = db.run(DOCUMENT, set={"flows[0].cc": {"name": "cubic", "hystart": False}, "path.loss": "1%"}, seed=3)
    assert result.flows.rows()[0]["cc"] == "cubic"
    assert result.meta.seed == 3
    assert "hystart = false" in result.scenario_toml


def test_a_run_on_two_threads_is_the_run_on_one() -> None:
    crowd = DOCUMENT | {"flows": [{"cc": "bbr", "count": 3}, {"cc": "cubic", "count": 4}]}
    one, two = db.run(crowd), db.run(crowd, threads=2)
    for name in ("flows", "links", "series", "link_series"):
        assert getattr(one, name).to_polars().equals(getattr(two, name).to_polars()), name
    assert (one.meta.events, one.meta.content_hash) == (two.meta.events, two.meta.content_hash)
    [swept] = db.sweep(crowd, threads=2, progress=False)
    assert swept.flows.to_polars().equals(one.flows.to_polars())
    with pytest.raises(ValueError, match="at least one thread"):
        db.run(crowd, threads=0)


def test_a_wrong_key_raises_with_the_nearest_spelling() -> None:
    with pytest.raises(db.ScenarioError, match="`duration`"):
        db.run({"durtion": "2s"} | {key: DOCUMENT[key] for key in ("path", "flows")})


def test_several_points_are_not_a_run(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    with pytest.raises(ValueError, match="4 points"):
        db.run(path)


def test_tables_reach_polars_without_a_copy(result: db.Result) -> None:
    first, second = (pl.DataFrame(result.series)["t_s"].to_numpy(allow_copy=False) for _ in range(2))
    assert first.size > 100
    assert first.ctypes.data == second.ctypes.data


def test_missing_numbers_are_null_and_nan_in_pandas(result: db.Result) -> None:
    series = result.series.to_polars()
    assert not any(series[name].is_nan().any() for name, kind in series.schema.items() if kind == pl.Float64)
    pytest.importorskip("pandas")
    frame = result.flows.to_pandas()
    assert list(frame.columns) == result.flows.columns
    assert frame["goodput_mbps"].tolist() == pytest.approx(result.flows.to_polars()["goodput_mbps"].to_list())


def test_modes_repeat_as_categories(result: db.Result) -> None:
    series = result.series.to_polars()
    assert series.schema["mode"] == pl.Categorical
    bbr = series.filter(pl.col("flow") == 1)["mode"].cast(pl.String).unique().to_list()
    assert {"STARTUP", "PROBE_BW"} <= {mode.upper() for mode in bbr}


def test_a_saved_result_reads_back_the_same(result: db.Result, tmp_path: Path) -> None:
    folder = result.save(tmp_path / "out")
    again = db.load_result(folder)
    assert again.meta == result.meta
    assert again.scenario_toml == result.scenario_toml
    for name in ("flows", "series", "links", "link_series"):
        assert getattr(again, name).to_polars().equals(getattr(result, name).to_polars())


def test_a_sweep_streams_results_and_joins_them_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    sweep = db.sweep(path, jobs=2)
    assert len(sweep) == 4
    assert {result.meta.label for result in sweep} == {point.label for point in sweep.points}
    joined = sweep.collect()
    assert [point.settings["path.loss"] for point in joined.points] == ["0%", "0%", "1%", "1%"]
    assert [point.repeat for point in joined.points] == [0, 1, 0, 1]
    assert len({point.content_hash for point in joined.points}) == 4
    assert joined.flows.to_polars()["point"].to_list() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_sweep_that_is_only_joined_writes_no_experiment_until_somebody_asks() -> None:
    sweep = db.sweep(DOCUMENT, repeat=2)
    results: dict[int, db.Result] = {}
    sweep.collect(lambda index, result: results.update({index: result}))
    assert not any("scenario_toml" in vars(result) for result in results.values())
    assert [results[index].scenario_toml for index in (0, 1)] == [point.resolved_toml for point in sweep.points]


def test_repeat_gives_points_with_different_seeds() -> None:
    sweep = db.sweep(DOCUMENT, repeat=3)
    assert len({point.seed for point in sweep.points}) == 3


def test_one_repetition_is_one_run() -> None:
    (only,) = db.sweep(DOCUMENT, repeat=1)
    assert only.flows.to_polars().equals(db.run(DOCUMENT).flows.to_polars())


def test_leaving_a_sweep_early_stops_it(tmp_path: Path) -> None:
    path = tmp_path / "long.toml"
    path.write_text(EXPERIMENT)
    sweep = db.sweep(path, set={"record.series": False}, repeat=200)
    results = iter(sweep)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert next(results, None) is None


def test_compare_returns_one_table() -> None:
    result = db.compare("bbr", "cubic", loss="2%", duration="5s", buffer="100packets")
    rates = {row["cc"]: row["goodput_mbps"] for row in result.flows.rows()}
    assert rates["bbr"] > 3 * rates["cubic"]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"path": {"rate": "10mbit", "rtt": "40ms", "loss": float("nan")}}, "path.loss"),
        ({"path": {"rate": "10mbit", "rtt": float("inf")}}, "path.rtt"),
        ({"flows": [{"cc": "bbr"}, {"cc": {"name": "bbr", "min_rtt_window": float("nan")}}]}, r"flows\[1\].cc.min_rtt"),
        ({"sweep": {"path.loss": ["1%", float("-inf")]}}, r'sweep."path.loss"\[1\]'),
        ({"flows": [{"cc": object()}]}, r"flows\[0\].cc"),
        ({"flows": [{"cc": "\ud800"}]}, r"flows\[0\].cc"),
        ({"path": {3: "x"}}, "path"),
    ],
)
def test_what_a_dictionary_cannot_say_is_blamed_on_its_key(change: dict[str, Any], where: str) -> None:
    with pytest.raises(db.ScenarioError, match=rf"<dict> \({where}"):
        db.run(DOCUMENT | change)


def test_a_dictionary_that_contains_itself_is_refused() -> None:
    document = dict(DOCUMENT)
    document["path"] = document
    with pytest.raises(db.ScenarioError, match="contain itself"):
        db.run(document)


def test_a_setting_that_is_not_a_number_names_its_key() -> None:
    with pytest.raises(db.ScenarioError, match=r"path\.loss"):
        db.run(DOCUMENT, set={"path.loss": float("nan")})


def test_numbers_of_numpy_and_paths_are_understood() -> None:
    path = {"rate": "10mbit", "rtt": "40ms", "loss": np.float32(0.5)}
    assert "loss" in db.run(DOCUMENT | {"path": path, "seed": np.int64(3)}).scenario_toml
    with pytest.raises(db.ScenarioError, match="nowhere"):
        db.run(DOCUMENT | {"path": {"trace": Path("nowhere.up"), "rtt": "40ms"}})


def test_settings_are_written_as_toml_in_one_line() -> None:
    for value, text in (
        ("a", '"a"'), (1.5, "1.5"), (True, "true"), ([1, "b"], '[1, "b"]'), ((1, 2), "[1, 2]"),
        ({"name": "cubic", "a b": [False]}, '{ "name" = "cubic", "a b" = [false] }'),
        ("\N{GREEK SMALL LETTER MU}", '"μ"'),
    ):  # fmt: skip
        assert experiment.toml(value) == text
    assert experiment._overrides({"path.loss": "1%", "a": 2}, seed=0, repeat=1) == [
        ("path.loss", "1%"), ("a", "2"), ("seed", "0"), ("sweep.repeat", "1"),
    ]  # fmt: skip
    assert experiment._overrides(None) == []


def test_an_experiment_that_is_resolved_often_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b'duration = "1s"\r\nseed = 1\r')
    assert experiment.written(path, set={"seed": 2}) == (
        'duration = "1s"\nseed = 1\n', False, str(path), [("seed", "2")]
    )  # fmt: skip
    assert experiment.written({"a": (1, Path("x"), None)}) == ('{"a": [1, "x", null]}', True, "<dict>", [])
    path.write_bytes(b"ab\xff")
    with pytest.raises(db.ScenarioError, match=r"a\.toml: not UTF-8 text \(byte 2\)"):
        experiment.written(path)
    with pytest.raises(db.ScenarioError, match=r"none\.toml: cannot read: No such file or directory"):
        experiment.written(tmp_path / "none.toml")


def test_a_text_is_an_experiment_with_the_name_and_the_settings_that_it_is_given() -> None:
    text = b'duration = "1s"\npath = { rate = "1mbit", rtt = "20ms" }\n[[flows]]\ncc = "reno"\n'
    loaded = experiment.load_text(text, "given.toml", seed=5, repeat=3, set={"duration": "2s"})
    assert [point.repeat for point in loaded.points] == [0, 1, 2]
    assert 'duration = "2s"' in loaded.points[0].resolved_toml
    with pytest.raises(db.ScenarioError, match=r"given\.toml:1"):
        experiment.load_text(b"x = 1\n", "given.toml")
    other = text.replace(b'"reno"', b'{ python = "nowhere.py:Mine" }')
    with pytest.raises(db.ScenarioError, match="there is no file"):
        experiment.load_text(other, "given.toml")


def test_dictionaries_may_be_deep_and_no_deeper() -> None:
    def deep(levels: int) -> Any:
        return {"a": deep(levels - 1)} if levels else 1

    assert experiment._plain(deep(100), "", "x") == deep(100)
    with pytest.raises(db.ScenarioError, match="nested too deep; does it contain itself"):
        experiment._plain(deep(101), "", "x")
    with pytest.raises(db.ScenarioError, match=r'--> x \(a\."b c"\[1\]\)$'):
        experiment._plain({"a": {"b c": [1, object()]}}, "", "x")
    with pytest.raises(db.ScenarioError, match=r"error: b'x' is not a text\n  --> x \(a\)$"):
        experiment._plain({"a": _Bytes()}, "", "x")
    with pytest.raises(db.ScenarioError, match="the key 3 is not a text"):
        experiment._plain({3: 1}, "", "x")
    plain = experiment._plain([np.int64(3), np.float32(0.5), True, None], "", "x")
    assert [type(value) for value in plain] == [int, float, bool, type(None)]


class _Bytes:
    """A path that is no text."""

    def __fspath__(self) -> bytes:
        return b"x"


def test_what_a_sweep_cannot_do_is_refused_before_it_runs() -> None:
    for verify in (-0.1, 1.1, 0.5):
        with pytest.raises(ValueError, match=f"verify={verify}: a share from 0 to 1 of what a cluster runs"):
            db.sweep(DOCUMENT, verify=verify)
    client: Any = object()
    for wrong in ({"jobs": 1}, {"threads": 2}, {"plain": True}):
        with pytest.raises(ValueError, match="a cluster runs the simulator"):
            db.sweep(DOCUMENT, client=client, **wrong)
    for verify in (0.0, 1.0):
        assert len(db.sweep(DOCUMENT, client=client, verify=verify)) == 1


UNTYPED: Any = db
"""For calls that types refuse."""


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (
            lambda: UNTYPED.run(["a.toml"]),
            r"source=\['a.toml'\]: must be the path of an experiment file, or a dictionary",
        ),
        (lambda: UNTYPED.run(DOCUMENT, set=["path.rate=5mbit"]), r"set=\['path.rate=5mbit'\]: must be a dictionary of"),
        (lambda: UNTYPED.run(DOCUMENT, set={1: "5mbit"}), "set={1: '5mbit'}: must be a dictionary of"),
        (lambda: UNTYPED.run(DOCUMENT, max_memory=1.5), "max_memory=1.5: must be a whole number"),
        (lambda: UNTYPED.run(DOCUMENT, threads="2"), "threads='2': must be a whole number"),
        (lambda: UNTYPED.sweep(DOCUMENT, out=5), "out=5: must be the path of a directory"),
        (lambda: UNTYPED.sweep(DOCUMENT, jobs="2"), "jobs='2': must be a whole number"),
        (
            lambda: UNTYPED.compare("bbr", "cubic", rate=5),
            'rate=5: must be a text or a list of texts, such as "10mbit"',
        ),
        (lambda: UNTYPED.compare("bbr", rtt=["40ms", 50]), r"rtt=\['40ms', 50\]: must be a text or a list of texts"),
        (lambda: UNTYPED.compare("bbr", loss=0.01), 'loss=0.01: must be a text or a list of texts, such as "1%"'),
        (lambda: UNTYPED.compare("bbr", duration=5), 'duration=5: must be a text, such as "60s"'),
        (lambda: UNTYPED.compare("bbr", repeat="3"), "repeat='3': must be a whole number"),
        (lambda: UNTYPED.compare("bbr", set="path.queue=codel"), "set='path.queue=codel': must be a dictionary"),
        (lambda: UNTYPED.compare(["bbr", "cubic"]), r"algorithms=\['bbr', 'cubic'\]: must be names"),
        (lambda: UNTYPED.compare("bbr", trace=5), "trace=5: must be the path of a trace"),
        (lambda: UNTYPED.advise(["bbr"], buffer=5), "buffer=5: must be a text or a list of texts"),
        (lambda: UNTYPED.stats(["a", "b"]), r"sources=\['a', 'b'\]: must be results, sweeps, or paths"),
        (lambda: UNTYPED.load_result(5), "folder=5: must be the path of the directory of a result"),
        (lambda: UNTYPED.load_sweep(5), "folder=5: must be the path of the directory of a sweep"),
    ],
)
def test_an_argument_of_another_type_is_named_with_what_would_be_right(call: Callable[[], object], named: str) -> None:
    with pytest.raises(TypeError, match=named):
        call()


@pytest.mark.parametrize("name", ["rate", "rtt", "buffer", "loss", "company"])
def test_of_what_is_tried_there_is_one_at_least(name: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{name}=[]: there is nothing to try; leave it out, or")):
        UNTYPED.advise(["bbr", "cubic"], **{name: []})
    if name != "company":
        with pytest.raises(ValueError, match=re.escape(f"{name}=[]: there is nothing to try; leave it out, or")):
            UNTYPED.compare("bbr", **{name: []})


@pytest.mark.parametrize("jobs", [0, -2])
def test_of_jobs_there_is_one_at_least(jobs: int) -> None:
    with pytest.raises(ValueError, match=f"^jobs={jobs}: must be 1 or more$"):
        db.sweep(DOCUMENT, jobs=jobs)


def test_one_name_is_a_list_of_one_name() -> None:
    with pytest.raises(ValueError, match="--candidates bbr: name at least two algorithms"):
        db.advise("bbr", rate="5mbit")


def test_other_points_of_a_sweep_are_treated_in_one_of_three_ways() -> None:
    wrong: Any = "forget"
    with pytest.raises(ValueError, match="others='forget': there are 'refuse', 'keep', 'rerun'"):
        db.sweep(DOCUMENT, others=wrong)


def test_a_point_of_a_sweep_is_loaded_by_its_number_or_the_beginning_of_its_hash(tmp_path: Path) -> None:
    swept = db.sweep(SHORT, repeat=3, out=tmp_path / "out", progress=False).collect()
    third = swept.points[2]
    for name in (third, 2, np.int64(2), "2", third.content_hash, third.content_hash[:12]):
        assert swept.load(name).meta.seed == third.seed
    for missing in (3, -1, "x"):
        with pytest.raises(ValueError, match=f"{missing}: there is no such point; write a number from 0 to 2"):
            swept.load(missing)
    none: Any = 1.5
    with pytest.raises(TypeError, match=r"point=1\.5: must be one of `points`, its number"):
        swept.load(none)


def test_a_table_is_written_where_a_text_or_a_path_says(result: db.Result, tmp_path: Path) -> None:
    for path in (str(tmp_path / "text.parquet"), tmp_path / "path.parquet"):
        result.flows.write_parquet(path)
        assert pl.read_parquet(path).equals(result.flows.to_polars())
    wrong: Any = 5
    with pytest.raises(TypeError, match="path=5: must be the path of the file to write"):
        result.flows.write_parquet(wrong)
    with pytest.raises(TypeError, match="folder=5: must be the path of a directory"):
        result.save(wrong)


def test_a_sweep_counts_what_it_has_given_and_what_is_on_disk(tmp_path: Path) -> None:
    short = DOCUMENT | {"duration": "1s"}
    sweep = db.sweep(short, repeat=3, out=tmp_path / "out", progress=False)
    assert (sweep.finished, sweep.committed, sweep.stored()) == (0, 0, 0)
    first = dict(sweep.indexed())
    assert sorted(first) == [0, 1, 2]
    assert (sweep.finished, sweep.committed, sweep.stored()) == (3, 3, 3)
    seen: list[int] = []
    again = db.sweep(short, repeat=4, out=tmp_path / "out", progress=False)
    assert again.stored() == 3
    again.collect(lambda index, result: seen.append(index))
    assert sorted(seen) == [0, 1, 2, 3]
    assert (again.finished, again.committed) == (4, 4)
    memory = db.sweep(short, repeat=2, progress=False)
    assert (len(list(memory)), memory.finished, memory.committed, memory.stored()) == (2, 2, 0, 0)


SHORT = DOCUMENT | {"duration": "1s"}


def test_what_a_run_and_a_sweep_are_given_reaches_the_engine(tmp_path: Path) -> None:
    plain = db.run(SHORT, plain=True)
    assert plain.flows.to_polars().equals(db.run(SHORT).flows.to_polars())
    for wrong in ({"plain": True, "threads": 2}, {"on": "bsd"}, {"on": "linux", "plain": True}, {"threads": 0}):
        given: dict[str, Any] = wrong
        with pytest.raises(ValueError, match=r"threads=|on=|plain="):
            db.run(SHORT, **given)
        with pytest.raises(ValueError, match=r"threads=|on=|plain="):
            db.sweep(SHORT, **given)
    for limited in (
        lambda: db.run(SHORT, max_memory=1),
        lambda: db.sweep(SHORT, max_memory="1B").collect(),
        lambda: db.compare("reno", duration="1s", max_memory=1),
    ):
        with pytest.raises(db.RunError, match=r"would need .* of memory"):
            limited()
    swept = db.sweep(SHORT, seed=5, repeat=2, set={"path.loss": "1%"}, out=tmp_path / "out", jobs=1, progress=False)
    assert [point.repeat for point in swept.points] == [0, 1]
    assert all('loss = "1%"' in point.resolved_toml for point in swept.points)
    assert [point.content_hash for point in swept.points] != [
        point.content_hash for point in db.sweep(SHORT, seed=6, repeat=2, set={"path.loss": "1%"}).points
    ]
    joined = swept.collect()
    assert joined.folder == tmp_path / "out" and (tmp_path / "out" / "flows.parquet").exists()


def test_what_a_comparison_is_given_is_in_its_experiment(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "rate": "5mbit", "rtt": "30ms", "buffer": "20packets", "loss": "1%", "duration": "2s", "warmup": "1s",
        "repeat": 2, "seed": 5, "together": True, "vary_rtt": True, "set": {"path.queue": "codel"}, "jobs": 1,
        "out": tmp_path / "out", "progress": False,
    }  # fmt: skip
    found = db.compare("reno", "cubic", **given)
    assert len(found.points) == 2 and found.folder == tmp_path / "out"
    text = found.load(found.points[0]).scenario_toml
    for words in (
        'rate = "5mbit"',
        'duration = "2s"',
        'warmup = "1s"',
        "codel",
    ):
        assert words in text, words
    assert found.flows.to_polars()["cc"].to_list() == ["reno", "cubic"] * 2
    assert all(30 < rtt < 33 for rtt in found.flows.to_polars()["base_rtt_ms"])
    assert [point.seed for point in found.points] != [
        point.seed for point in db.compare("reno", duration="1s", repeat=2, seed=6).points
    ]
    one, two = (
        db.compare("reno", duration="1s", vary_rtt=True, set=settings).flows.rows()[0]["base_rtt_ms"] - 40
        for settings in ({}, {"vary_rtt": "2packets"})
    )
    assert one > 0 and two == pytest.approx(2 * one, rel=1e-3)
    trace = tmp_path / "a.up"
    trace.write_text("1\n2\n")
    traced = db.compare("reno", duration="1s", trace=trace, out=tmp_path / "traced")
    assert "trace" in traced.load(traced.points[0]).scenario_toml
