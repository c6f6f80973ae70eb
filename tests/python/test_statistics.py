"""Groups of runs compared: which runs make a group, what is tested, and what a reader is told."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dumbbell as db
from conftest import Cli
from dumbbell import flent, samples, selection, statistics
from dumbbell.inference import anova
from dumbbell.samples import measured_interval

LOSSY = {
    "duration": "4s",
    "warmup": "1s",
    "vary_rtt": "1packet",
    "path": {"rate": "10mbit", "rtt": "40ms", "buffer": "1bdp", "loss": "1%"},
    "flows": [{"cc": "reno"}],
    "sweep": {"flows[0].cc": ["bbr", "cubic", "reno"], "repeat": 5},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of three algorithms with five seeds each, on disk."""
    out = tmp_path_factory.mktemp("statistics") / "sweep"
    db.sweep(LOSSY, out=out).collect()
    return out


def test_a_run_is_one_sample(folder: Path) -> None:
    found = db.stats(folder)
    flows = db.load_sweep(folder).flows.to_polars()
    assert [group.name for group in found.groups] == ["bbr", "cubic", "reno"]
    assert [group.n for group in found.groups] == [5, 5, 5]
    groups = [flows.filter(flows["cc"] == name)["goodput_mbps"].to_numpy() for name in ("bbr", "cubic", "reno")]
    assert [group.mean.estimate for group in found.groups] == pytest.approx([values.mean() for values in groups])
    assert found.anova == anova(groups)
    for group in found.groups:
        assert group.quartiles[0] <= group.median.estimate <= group.quartiles[1]
        assert group.median.low <= group.median.estimate <= group.median.high


def test_bbr_is_told_from_reno_under_loss_and_cubic_is_not(folder: Path) -> None:
    found = db.stats(folder)
    assert {test.name: test.p < 0.01 for test in found.tests} == {
        "Levene's test": found.method == "games-howell",
        "one-way ANOVA": True,
        "Welch's ANOVA": True,
        "Kruskal-Wallis": True,
    }
    differ = {(pair.first, pair.second): pair.p < 0.05 for pair in found.pairs}
    assert differ == {(0, 1): True, (0, 2): True, (1, 2): False}


@pytest.mark.parametrize(
    ("sizes", "are_tested", "method"),
    [((2, 2), False, "games-howell"), ((3, 2), False, "games-howell"), ((3, 3), True, "tukey")],
)
def test_variances_of_two_runs_are_not_tested_nor_assumed_to_be_equal(
    sizes: tuple[int, int], are_tested: bool, method: str
) -> None:
    rates = {"cubic": [5.0, 5.3, 5.7], "reno": [4.1, 4.2, 4.4]}
    of = [samples.Group(cc, np.array(rates[cc][:size])) for cc, size in zip(rates, sizes, strict=True)]
    found = statistics._compared("goodput_mbps", of, [], None)
    assert ("Levene's test" in [test.name for test in found.tests]) == are_tested
    assert found.method == method
    assert len(found.pairs) == 1
    assert any("cannot be tested below 3 samples a group: " in note for note in found.notes) == (not are_tested)
    assert any("reno" in note for note in found.notes) == (not are_tested)


def test_flows_of_one_run_are_one_sample_of_their_group() -> None:
    together = db.compare("bbr", "bbr", "cubic", together=True, duration="3s", repeat=3, vary_rtt=True)
    found = db.stats(together, by="cc")
    assert [(group.name, group.n) for group in found.groups] == [("bbr", 3), ("cubic", 3)]
    rows = together.flows.to_polars()
    expected = rows.filter(rows["cc"] == "bbr").group_by("point").mean()["goodput_mbps"].mean()
    assert found.groups[0].mean.estimate == pytest.approx(expected)


def test_jains_index_belongs_to_a_run_and_not_to_its_flows() -> None:
    sweep = db.compare("bbr", "cubic", together=True, buffer=["1bdp", "4bdp"], duration="3s", repeat=3, vary_rtt=True)
    found = db.stats(sweep, metric="jain")
    assert [(group.name, group.n) for group in found.groups] == [("buffer 1bdp", 3), ("buffer 4bdp", 3)]


def test_settings_that_groups_mix_are_named() -> None:
    sweep = db.compare("bbr", "cubic", buffer=["1bdp", "4bdp"], loss="1%", duration="2s", repeat=3)
    apart = db.stats(sweep)
    assert len(apart.groups) == 4
    assert not apart.notes
    mixed = db.stats(sweep, by="cc")
    assert [group.n for group in mixed.groups] == [6, 6]
    assert any("mixes runs of different buffer" in text for text in mixed.notes)
    assert not db.stats(sweep, by="cc", where={"buffer": "4bdp"}).notes


def test_runs_that_do_not_differ_are_shown_and_not_tested() -> None:
    found = db.stats(db.compare("cubic", "reno", duration="2s", repeat=3))
    assert not found.tests
    assert not found.pairs
    assert found.anova is None
    (text,) = found.notes
    assert "all runs gave the same number" in text
    assert "--vary-rtt" in text


def test_points_of_time_series_are_samples_when_asked_for_and_said_to_depend(folder: Path) -> None:
    runs, points = db.stats(folder), db.stats(folder, samples=True)
    sweep = db.load_sweep(folder)
    assert measured_interval(sweep.load(sweep.points[0])) == (1, 4)
    # Three seconds in steps of 20 ms, five runs.
    assert [group.n for group in points.groups] == [750] * 3
    for of_runs, of_points in zip(runs.groups, points.groups, strict=True):
        assert of_points.mean.estimate == pytest.approx(of_runs.mean.estimate, rel=0.01)
        assert of_points.effective is not None
    cubic = points.groups[1]
    assert cubic.effective is not None
    assert 5 < cubic.effective < 400
    assert any("worth at most" in text for text in points.notes)
    assert not any("worth at most" in text for text in runs.notes)


def test_runs_of_the_same_seed_are_paired(folder: Path) -> None:
    found = db.stats(folder, post_hoc="paired")
    flows = db.load_sweep(folder).flows.to_polars()
    bbr, cubic = (
        flows.filter(flows["cc"] == name).sort("repeat")["goodput_mbps"].to_numpy() for name in ("bbr", "cubic")
    )
    assert found.pairs[0].difference.estimate == pytest.approx(float(np.mean(bbr - cubic)))
    other = db.sweep(LOSSY, seed=99).collect()
    with pytest.raises(ValueError, match="have not the same seeds"):
        db.stats(folder, other, by="result", post_hoc="paired")
    with pytest.raises(ValueError, match="are no pairs"):
        db.stats(folder, samples=True, post_hoc="paired")


def test_results_are_groups_of_their_own(folder: Path) -> None:
    other = db.sweep(LOSSY, set={"path.loss": "5%"}).collect()
    found = db.stats(folder, other, by="result", where={"cc": "cubic"})
    assert [group.name for group in found.groups] == [str(folder), "source 1"]
    assert found.groups[0].mean.estimate > 1.5 * found.groups[1].mean.estimate


def test_a_run_that_several_results_hold_counts_once_in_a_group(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    alone, pooled = db.stats(folder, by="cc"), db.stats(folder, copy, by="cc")
    assert pooled.groups == alone.groups and pooled.tests == alone.tests
    assert pooled.notes == [
        "15 of 30 runs are copies of others, by content hash, and left out: a run is one sample",
        *alone.notes,
    ]
    points = [db.stats(*places, by="cc", samples=True).groups for places in ((folder,), (folder, copy))]
    assert points[0] == points[1]
    (twice,) = db.stats(folder, folder, by="result", where={"cc": "reno"}).groups
    assert (twice.name, twice.n) == (str(folder), 5)
    one = db.load_sweep(folder).load(0)
    found = db.stats(folder, one, by="cc")
    assert [group.n for group in found.groups] == [5, 5, 5]
    assert found.notes[0] == "1 of 16 runs is a copy of another, by content hash, and left out: a run is one sample"


def test_groups_that_have_runs_in_common_are_compared_and_said_to(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    for by in ("result", ""):
        found = db.stats(folder, copy, by=by, where={"cc": "reno"})
        assert [group.n for group in found.groups] == [5, 5]
        assert found.notes[0].startswith("5 runs are in more than one group, by content hash: such groups are not")
    assert found.groups[0].mean == found.groups[1].mean
    (note, *_) = db.stats(folder, db.load_sweep(folder).load(0), by="result", where={"cc": "bbr"}).notes
    assert note.startswith("1 run is in more than one group")
    other = db.sweep(LOSSY, seed=99).collect()
    assert not any("content hash" in note for note in db.stats(folder, other).notes)


def test_only_a_copy_of_a_run_on_the_kernel_is_the_same_run(result: db.Result) -> None:
    simulated = result.meta
    again = replace(simulated, cpu_s=9.0, wall_s=9.0)
    assert samples._identity(simulated) == samples._identity(again)
    kernel = replace(simulated, ground="linux")
    identities = [samples._identity(meta) for meta in (simulated, kernel, replace(again, ground="linux"))]
    assert len(set(identities)) == 3
    assert samples._identity(replace(kernel, label="copied")) == identities[1]


def test_what_a_result_does_not_sweep_is_not_in_the_names_of_its_groups(folder: Path) -> None:
    one = {key: value for key, value in LOSSY.items() if key != "sweep"}
    several = db.sweep({**LOSSY, "sweep": {"path.rtt": ["20ms", "40ms"], "repeat": 2}}).collect()
    found = db.stats(folder, db.run(one, seed=77), several)
    assert [group.name for group in found.groups] == [
        *(f"{folder}, {cc}" for cc in ("bbr", "cubic", "reno")), "source 1, reno",
        "source 2, rtt 20ms, reno", "source 2, rtt 40ms, reno",
    ]  # fmt: skip
    by_rtt = db.stats(folder, several, by="rtt")
    assert [group.name for group in by_rtt.groups] == ["rtt not swept", "rtt 20ms", "rtt 40ms"]
    (mixed,) = (note for note in db.stats(folder, several, by="cc").notes if "mixes" in note)
    assert mixed.startswith("each group mixes runs of different result, rtt, whose")
    (mixed,) = (note for note in db.stats(folder, db.run(one, seed=77), by="cc").notes if "mixes" in note)
    assert mixed.startswith("each group mixes runs of different result, whose")
    with pytest.raises(ValueError, match=r"no run has rtt = 30ms; there are 20ms, 40ms$"):
        db.stats(folder, several, where={"rtt": "30ms"})


def test_a_single_run_has_no_interval(result: db.Result) -> None:
    found = db.stats(result)
    assert [(group.name, group.n, group.mean.has_width) for group in found.groups] == [
        ("cubic", 1, False),
        ("bbr", 1, False),
    ]
    assert any("one run alone" in text for text in found.notes)


def test_files_of_flent_are_grouped_by_their_titles(tmp_path: Path) -> None:
    timing = flent.Timing(length=3, delay=1)
    paths = [
        flent.write(
            flent.run(
                flent.test_named("tcp_1up"),
                {"rate": "10mbit", "rtt": "20ms", "loss": "1%"},
                cc=cc,
                timing=timing,
                seed=seed,
            ),
            tmp_path / f"{cc}-{seed}.flent.gz",
        )
        for cc in ("bbr", "cubic")
        for seed in (1, 2, 3)
    ]
    found = db.stats(*paths, metric="TCP upload")
    assert [(group.name, group.n) for group in found.groups] == [("bbr", 3), ("cubic", 3)]
    expected = np.mean([np.mean(flent.read(path).loaded("TCP upload")) for path in paths[:3]])
    assert found.groups[0].mean.estimate == pytest.approx(expected)
    with pytest.raises(ValueError, match="there are Ping"):
        db.stats(*paths)
    with pytest.raises(ValueError, match="have no seeds"):
        db.stats(*paths, metric="TCP upload", post_hoc="paired")
    with pytest.raises(ValueError, match="are compared with each other"):
        db.stats(paths[0], tmp_path)


def test_what_there_is_not_is_said(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"no metric 'goodputt'; did you mean `goodput_mbps`\? there are jain, "):
        db.stats(folder, metric="goodputt")
    with pytest.raises(ValueError, match="does not vary buffer"):
        db.stats(folder, by="buffer")
    with pytest.raises(ValueError, match="no run has cc = vegas; there are bbr"):
        db.stats(folder, where={"cc": "vegas"})
    with pytest.raises(ValueError, match="no post-hoc test 'scheffe'; there are tukey"):
        db.stats(folder, post_hoc="scheffe")
    with pytest.raises(ValueError, match="no column 'jain' of numbers in the time series"):
        db.stats(folder, metric="jain", samples=True)
    alone = {"duration": "1s", "path": {"rate": "10mbit", "rtt": "40ms"}}
    traffic = {"kind": "short-flows", "cc": "cubic", "size": "30kB", "load": "20%"}
    with pytest.raises(ValueError, match="source 0 has no flows to compare"):
        db.stats(db.run(alone | {"traffic": [traffic]}))
    with pytest.raises(ValueError, match="at least one result"):
        db.stats()


def test_many_groups_are_not_compared_each_with_each() -> None:
    losses = [f"{number / 10}%" for number in range(1, 22)]
    found = db.stats(db.compare("reno", loss=losses, duration="2s", repeat=2))
    assert len(found.groups) == 21
    assert found.tests
    assert not found.pairs
    assert "21 groups are too many" in found.notes[-1]


def test_the_command_prints_tables_and_json(folder: Path, dumbbell: Cli) -> None:
    done = dumbbell("stats", folder, "--metric", "p95_rtt_ms", "--by", "cc")
    assert done.status == 0
    for text in ("p95_rtt_ms of 3 groups", "Welch's ANOVA", "bbr - cubic", "eta squared"):
        assert text in done.out
    printed = json.loads(dumbbell("stats", folder, "--json").out)
    assert [group["name"] for group in printed["groups"]] == ["bbr", "cubic", "reno"]
    assert printed["pairs"][0]["first"] == "bbr"
    assert printed["tests"][0]["name"] == "Levene's test"
    assert "<table>" in db.stats(folder)._repr_html_()


def test_the_command_names_what_is_wrong(folder: Path, dumbbell: Cli, tmp_path: Path) -> None:
    for arguments, said in (
        ([folder, "--metric", "speed"], "no metric 'speed'; there are jain"),
        ([folder, "--metric", "goodput"], "no metric 'goodput'; did you mean `goodput_mbps`? there are jain"),
        ([folder, "--where", "cc"], "KEY=VALUE"),
        ([tmp_path], "no result here"),
        ([tmp_path / "none.flent.gz", "--metric", "Ping (ms)"], "is no file of Flent"),
    ):
        done = dumbbell("stats", *arguments)
        assert (done.status, done.out) == (2, "")
        assert said in done.err


def test_a_long_table_of_pairs_ends_and_says_so(dumbbell: Cli, tmp_path: Path) -> None:
    losses = [f"{number / 10}%" for number in range(1, 11)]
    db.compare("reno", loss=losses, duration="2s", repeat=2, out=tmp_path / "out")
    command = ("stats", tmp_path / "out", "--post-hoc", "holm")
    assert "... and 5 more rows" in dumbbell(*command).out
    assert len(json.loads(dumbbell(*command, "--json").out)["pairs"]) == 45


FLOWS = pl.DataFrame(
    {
        "point": [0, 0, 1, 1, 2, 2], "seed": [1, 1, 2, 2, 3, 3], "flow": [0, 1] * 3, "cc": ["a", "b"] * 3,
        "label": ["x", "y"] * 3, "path.loss": ["0%"] * 4 + ["1%"] * 2, "other.loss": ["5"] * 6, "same": ["1"] * 6,
        "goodput_mbps": [4.0, 1.0, 3.0, 3.0, 0.0, None], "lost": [1, 2, 3, 4, 5, None],
    }
)  # fmt: skip
AXES = ["path.loss", "other.loss", "same", "gone"]


def test_a_metric_is_a_column_of_numbers_or_jains_index_of_each_run() -> None:
    with_jain = selection.with_metric(FLOWS, "jain")
    assert with_jain["jain"].to_list() == pytest.approx([25 / 34, 25 / 34, 1.0, 1.0, None, None], nan_ok=True)
    assert with_jain.drop("jain").equals(FLOWS)
    assert selection.with_metric(FLOWS, "lost") is FLOWS
    for wrong in ("flow", "point", "cc", "x"):
        with pytest.raises(ValueError, match=f"no metric '{wrong}'; there are jain, seed, goodput_mbps, lost$"):
            selection.with_metric(FLOWS, wrong)
    assert selection.over_runs(FLOWS, "goodput_mbps") == [2.5, 3.0, 0.0]


def test_a_setting_is_named_whole_or_by_a_last_part_that_no_other_has() -> None:
    assert selection.axis_named(FLOWS, AXES, "path.loss") == "path.loss"
    assert selection.axis_named(FLOWS, AXES, "same") == "same"
    for wrong in ("loss", "rtt"):
        with pytest.raises(ValueError, match=f"does not vary {wrong}; it varies path.loss, other.loss, same, gone$"):
            selection.axis_named(FLOWS, AXES, wrong)
    with pytest.raises(ValueError, match="it varies nothing"):
        selection.axis_named(FLOWS, [], "loss")
    assert selection.axis_named(FLOWS, ["path.loss"], "loss") == "path.loss"


def test_some_flows_are_those_with_all_values() -> None:
    assert selection.only(FLOWS, AXES, {}).equals(FLOWS)
    kept = selection.only(FLOWS, AXES, {"path.loss": "0%", "cc": "b"})
    assert kept["point"].to_list() == [0, 1]
    assert selection.only(FLOWS, AXES, {"label": "x"})["flow"].to_list() == [0, 0, 0]
    with pytest.raises(ValueError, match=r"no run has same = 2; there are 1$"):
        selection.only(FLOWS, AXES, {"same": "2"})


def groups_of(
    by: list[str] | None = None, axes: list[str] | None = None, flows: pl.DataFrame = FLOWS
) -> samples.Groups:
    runs = samples._Runs(flows, ["path.loss"] if axes is None else axes)
    return samples._of_runs(runs, "goodput_mbps", by or [], {}, each_point=False)


def test_groups_are_what_flows_differ_in_and_named_by_it() -> None:
    found = groups_of()
    assert [group.name for group in found.of] == ["loss 0%, a", "loss 0%, b", "loss 1%, a", "loss 1%, b"]
    assert [group.values.tolist() for group in found.of] == [[4.0, 3.0], [1.0, 3.0], [0.0], []]
    assert [group.seeds for group in found.of] == [(1, 2), (1, 2), (3,), ()]
    assert found.notes == []
    by_cc = groups_of(["cc"])
    assert [group.name for group in by_cc.of] == ["a", "b"]
    (note,) = by_cc.notes
    assert note == (
        "each group mixes runs of different loss, whose differences count as chance; --where loss=... takes one value, "
        "--by cc,loss tells them apart"
    )
    assert [group.name for group in groups_of(["loss"]).of] == ["loss 0%", "loss 1%"]
    alike = FLOWS.filter(FLOWS["cc"] == "a").with_columns(pl.lit("0%").alias("path.loss"))
    # Nothing differs: what is left to name it by is the algorithm.
    assert [group.name for group in groups_of(flows=alike).of] == ["a"]
    labelled = FLOWS.with_columns(pl.lit("a").alias("cc"))
    assert [group.name for group in groups_of(flows=labelled, axes=[]).of] == ["x", "y"]
    only_loss = FLOWS.filter(FLOWS["cc"] == "a")
    assert [group.name for group in groups_of(flows=only_loss).of] == ["loss 0%", "loss 1%"]
    assert selection.named_by([], ()) == "all runs"
    assert samples._telling_apart(FLOWS, ["path.loss", "same"], "jain") == ["path.loss"]
    with_result = FLOWS.with_columns(pl.lit("one").alias("result"))
    assert [group.name for group in groups_of(["result"], ["result"], with_result).of] == ["one"]


def group(name: str, values: list[float], effective: float | None = None, seeds: tuple[int, ...] = ()) -> samples.Group:
    return samples.Group(name, np.array(values), seeds, effective)


def test_what_makes_numbers_less_than_they_look_is_said() -> None:
    found = statistics._cautions([group("a", [1.0]), group("b", [2.0, 2.0]), group("c", [1.0, 2.0]), group("d", [3.0])])
    assert found[0].startswith("one run alone has no interval and is not tested: a; d; repeat it")
    assert found[1].startswith("all runs gave the same number, one sample, which is not tested: b\n  help: what varies")
    assert len(found) == 2
    assert statistics._cautions([group("a", [1.0, 2.0])]) == []
    # Ten points that are worth eight are as good as independent.
    assert statistics._cautions([group("a", [*map(float, range(10))], 8.0)]) == []
    (dependent,) = statistics._cautions(
        [group("a", [*map(float, range(1500))], 7.9), group("b", [1.0, 2.0], 2.0), group("c", [1.0, 2.0])]
    )
    assert dependent.startswith("points of a time series depend on each other: these 1,502 are worth at most 10 ")
    assert statistics._named(["a", "b", "c", "d"]) == "a; b; c; d"
    assert statistics._named(["a", "b", "c", "d", "e", "f"]) == "a; b; c; d and 2 more"


def test_pairs_have_the_numbers_of_their_groups_and_the_test_that_variances_ask_for() -> None:
    still, one, other = group("still", [2.0, 2.0]), group("one", [1.0, 1.1, 0.9]), group("other", [5.0, 5.1, 4.9])
    found = statistics._compared("m", [still, one, other], ["first"], None)
    assert [(pair.first, pair.second) for pair in found.pairs] == [(1, 2)]
    assert (found.metric, found.method, found.notes[0]) == ("m", "tukey", "first")
    assert [summary.name for summary in found.groups] == ["still", "one", "other"]
    assert [test.name for test in found.tests] == ["Levene's test", "one-way ANOVA", "Welch's ANOVA", "Kruskal-Wallis"]
    wild = group("wild", [0.0, 50.0, 100.0, 3.0, 97.0, 49.0])
    many = group("many", [1.0, 1.01, 0.99, 1.02, 0.98, 1.0])
    assert statistics._compared("m", [wild, many], [], None).method == "games-howell"
    assert statistics._compared("m", [wild, many], [], "holm").method == "holm"
    printed = found.summary()
    assert (printed["pairs"][0]["first"], printed["pairs"][0]["second"]) == ("one", "other")
    assert statistics._compared("m", [one], [], None).pairs == []
    fifteen = [group(str(number), [number, number + 1.0, number + 3.0]) for number in range(16)]
    assert len(statistics._compared("m", fifteen[:15], [], "holm").pairs) == 105
    refused = statistics._compared("m", fifteen, [], "holm")
    assert refused.pairs == []
    assert refused.notes == ["16 groups are too many to compare each with each, at most 15; choose by --where"]


def test_a_summary_has_quartiles_and_no_interval_of_a_median_of_points() -> None:
    of_runs = statistics._summary(group("a", [1.0, 2.0, 4.0, 9.0]))
    assert (of_runs.name, of_runs.n, of_runs.mean.estimate, of_runs.median.estimate) == ("a", 4, 4.0, 3.0)
    assert of_runs.quartiles == (1.75, 5.25)
    assert of_runs.median.low < 3.0 < of_runs.median.high and of_runs.effective is None
    of_points = statistics._summary(group("a", [1.0, 2.0, 4.0, 9.0], 3.0))
    assert (of_points.median.estimate, of_points.median.n, of_points.effective) == (3.0, 4, 3.0)
    assert np.isnan(of_points.median.low) and np.isnan(of_points.median.high)


def test_only_runs_with_the_same_seeds_are_pairs() -> None:
    one, other = group("one", [1.0, 2.0], seeds=(1, 2)), group("other", [1.0, 3.0], seeds=(1, 2))
    statistics._check_pairs([one, other])
    with pytest.raises(ValueError, match="runs of one and of late are no pairs: they have not the same seeds"):
        statistics._check_pairs([one, other, group("late", [1.0, 3.0], seeds=(2, 1))])
    with pytest.raises(ValueError, match="files of Flent have no seeds"):
        statistics._check_pairs([one, group("file", [1.0, 3.0])])
    with pytest.raises(ValueError, match="points of time series"):
        statistics._check_pairs([one, group("points", [1.0, 3.0], 2.0, (1, 2))])
