"""The command line: what it prints, writes and refuses."""

from __future__ import annotations

import io
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from conftest import EXPERIMENT, Cli
from dumbbell import _core, catalogue

FLOW_KEYS = [
    "cc", "algorithm", "start_s", "goodput_mbps", "throughput_mbps", "mean_rtt_ms", "p95_rtt_ms", "min_rtt_ms",
    "retransmits", "lost", "rto_count", "delivered_bytes", "retransmits_total", "lost_total", "rto_count_total",
    "delivered_bytes_total",
]  # fmt: skip
LINK_KEYS = ["name", "utilization", "mean_queue_bytes", "p95_queue_bytes", "arrivals", "drops", "losses",
             "arrivals_total", "drops_total", "losses_total"]  # fmt: skip
RUN_KEYS = ["seed", "sim_s", "cpu_s", "events", "packets", "version", "content_hash"]

RESULT_FILES = [
    "dumbbell.json",
    "flows.parquet",
    "link_series.parquet",
    "links.parquet",
    "meta.json",
    "scenario.toml",
    "series.parquet",
]

COMMANDS = (
    "run",
    "watch",
    "compare",
    "plot",
    "stats",
    "report",
    "advise",
    "adversary",
    "explain",
    "metrics",
    "columns",
    "schema",
    "shell",
    "reproduce",
)

BAD_INPUT = sorted((Path(__file__).parents[1] / "bad-input").glob("*.toml"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_version_and_help(dumbbell: Cli) -> None:
    assert dumbbell("--version").out.startswith("dumbbell 0.")
    text = dumbbell("--help").out
    for command in ("run", "compare", "plot", "explain", "schema", "cc", "reproduce"):
        assert command in text


def test_run_json_is_one_object_with_the_promised_keys(dumbbell: Cli, experiment: Path) -> None:
    done = dumbbell("run", experiment, "--json")
    assert (done.status, done.err) == (0, "")
    printed = json.loads(done.out)
    assert list(printed) == ["flows", "links", "run"]
    assert [flow["cc"] for flow in printed["flows"]] == ["cubic", "bbr"]
    for flow in printed["flows"]:
        assert set(FLOW_KEYS) <= set(flow)
    for link in printed["links"]:
        assert set(LINK_KEYS) <= set(link)
    assert list(printed["run"]) == RUN_KEYS
    assert printed["run"]["seed"] == 7
    assert printed["run"]["sim_s"] == 4


def test_the_same_file_and_seed_print_the_same_numbers(dumbbell: Cli, experiment: Path) -> None:
    first, second = (json.loads(dumbbell("run", experiment, "--set", "path.loss=1%", "--json").out) for _ in range(2))
    for printed in (first, second):
        del printed["run"]["cpu_s"]
    assert first == second
    other = json.loads(dumbbell("run", experiment, "--set", "path.loss=1%", "--seed", "8", "--json").out)
    assert other["flows"] != first["flows"]
    assert other["run"]["content_hash"] != first["run"]["content_hash"]


def test_the_measured_interval_starts_after_the_warmup(dumbbell: Cli, experiment: Path) -> None:
    flow = json.loads(dumbbell("run", experiment, "--json").out)["flows"][0]
    assert 0 < flow["delivered_bytes"] < flow["delivered_bytes_total"]
    assert flow["goodput_mbps"] == pytest.approx(8 * flow["delivered_bytes"] / 3 / 1e6, rel=1e-6)


def test_a_table_names_the_exact_algorithms(dumbbell: Cli, experiment: Path) -> None:
    text = dumbbell("run", experiment).out
    assert "bbr1-linux-6.18" in text
    assert "goodput" in text
    assert "bottleneck" in text


def test_set_replaces_what_the_file_says(dumbbell: Cli, experiment: Path) -> None:
    done = dumbbell("run", experiment, "--set", "flows[0].cc=reno", "--set", "duration=2s", "--json")
    printed = json.loads(done.out)
    assert printed["flows"][0]["cc"] == "reno"
    assert printed["run"]["sim_s"] == 2


@pytest.mark.parametrize("setting", ["path.loss", "=1%", "path.los=1%", "path.loss=150%", "path.rate=10mbps"])
def test_a_wrong_setting_is_refused(dumbbell: Cli, experiment: Path, setting: str) -> None:
    done = dumbbell("run", experiment, "--set", setting, "--json")
    assert done.status == 2
    assert done.out == ""
    assert setting.split("=")[0] in done.err


@pytest.mark.parametrize("path", BAD_INPUT, ids=lambda path: path.stem)
def test_bad_input_gives_a_located_message_and_writes_nothing(dumbbell: Cli, path: Path, tmp_path: Path) -> None:
    done = dumbbell("run", path, "--json", "--out", tmp_path / "out")
    assert done.status == 2
    assert done.out == ""
    assert path.name in done.err
    assert names(tmp_path) == []


def test_there_are_bad_inputs() -> None:
    assert len(BAD_INPUT) >= 40


def test_a_missing_file_is_named(dumbbell: Cli, tmp_path: Path) -> None:
    done = dumbbell("run", tmp_path / "nowhere.toml", "--out", tmp_path / "out")
    assert done.status == 2
    assert "nowhere.toml" in done.err
    assert names(tmp_path) == []


def test_a_mistake_in_the_last_file_stops_all(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(EXPERIMENT.replace("bbr", "brb"))
    done = dumbbell("run", experiment, wrong, "--out", tmp_path / "out")
    assert done.status == 2
    assert "wrong.toml" in done.err
    assert not (tmp_path / "out").exists()


def test_several_files_print_one_object(dumbbell: Cli, experiment: Path, sweep: Path) -> None:
    points = json.loads(dumbbell("run", experiment, sweep, "--json").out)["points"]
    assert [Path(point["file"]).name for point in points] == ["two-flows.toml"] + ["sweep.toml"] * 4


def test_out_holds_a_whole_result_and_nothing_else(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    assert dumbbell("run", experiment, "--out", out).status == 0
    assert names(out) == RESULT_FILES
    assert names(out.parent) == ["out"]
    meta = json.loads((out / "meta.json").read_text())
    assert meta["algorithms"] == {"cubic": "cubic-linux-6.18", "bbr": "bbr1-linux-6.18"}
    assert meta["seed"] == 7
    assert pl.read_parquet(out / "flows.parquet").height == 2
    assert dumbbell("run", experiment, "--out", out).status == 0, "an earlier result is replaced"


def test_the_written_scenario_runs_to_the_same_result(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    first = json.loads(dumbbell("run", experiment, "--out", tmp_path / "out", "--json").out)
    again = json.loads(dumbbell("run", tmp_path / "out" / "scenario.toml", "--json").out)
    assert again["run"]["content_hash"] == first["run"]["content_hash"]
    assert again["flows"] == first["flows"]


def test_a_directory_that_is_no_result_is_left_alone(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter1.tex").write_text("text")
    done = dumbbell("run", experiment, "--out", precious)
    assert done.status == 2
    assert "thesis" in done.err
    assert names(precious) == ["chapter1.tex"]


def test_an_impossible_place_is_refused_before_anything_runs(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    begin = time.process_time()
    done = dumbbell("run", experiment, "--set", "duration=1h", "--out", tmp_path / "file" / "out")
    assert done.status == 2
    assert "cannot write" in done.err
    assert time.process_time() - begin < 5


def run_on_a_disk_with_room_for(file_bytes: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run ``dumbbell run`` where no file can grow beyond a size.

    ``-B``, as Python would cut the bytecode of what it imports at that size, too, and every later test would read that.
    """

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))

    command = [sys.executable, "-B", "-m", "dumbbell", "run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)


def test_a_full_disk_leaves_nothing_behind(experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "results" / "out"
    done = run_on_a_disk_with_room_for(1024, experiment, "--out", out)
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr
    assert names(out.parent) == []


def test_a_disk_that_fills_while_pictures_are_drawn_costs_neither_data_nor_table(
    experiment: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = run_on_a_disk_with_room_for(30_000, experiment, "--set", "duration=2s", "--out", out, "--plot")
    assert done.returncode == 2
    assert f"cannot write {out}/" in done.stderr
    assert "Traceback" not in done.stderr
    assert "bbr1-linux-6.18" in done.stdout and f"results in {out}" in done.stdout
    assert set(RESULT_FILES) <= set(names(out))
    assert pl.read_parquet(out / "flows.parquet")["cc"].to_list() == ["cubic", "bbr"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "json"])
def test_a_full_disk_behind_standard_output_is_said_in_a_line(experiment: Path, options: list[str]) -> None:
    command = [sys.executable, "-m", "dumbbell", "run", str(experiment), *options]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: cannot write to standard output: No space left on device\n"


def test_a_sweep_has_one_table_of_a_kind_for_all_points(dumbbell: Cli, sweep: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert dumbbell("run", sweep, "--out", out).status == 0
    assert names(out) == ["batches", "dumbbell.json", "flows.parquet", "links.parquet", "points.parquet"]
    flows = pl.read_parquet(out / "flows.parquet")
    assert flows.height == 4 * 2
    assert flows["path.loss"].unique(maintain_order=True).to_list() == ["0%", "1%"]
    assert flows["repeat"].to_list() == [0, 0, 1, 1] * 2
    series = pl.read_parquet(out / "batches" / "*" / "series.parquet")
    assert series.columns[:4] == ["content_hash", "repeat", "seed", "path.loss"]
    assert set(series["content_hash"]) == set(flows["content_hash"])
    rows = series.group_by("content_hash", "path.loss", "repeat").len()
    assert sorted(rows.select("path.loss", "repeat").rows()) == [("0%", 0), ("0%", 1), ("1%", 0), ("1%", 1)]


@pytest.mark.parametrize(("option", "value"), [("--repeat", "0"), ("--repeat", "1000001"), ("--seed", "-1")])
def test_a_number_out_of_range_names_its_option(dumbbell: Cli, experiment: Path, option: str, value: str) -> None:
    done = dumbbell("run", experiment, option, value)
    assert (done.status, done.out) == (2, "")
    assert f"Invalid value for '{option}'" in done.err


def test_an_interrupted_sweep_resumes_with_the_points_it_has(dumbbell: Cli, sweep: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dumbbell("run", sweep, "--set", 'sweep."path.loss"=["0%"]', "--out", out)
    (first,) = (out / "batches").iterdir()
    before = {path: path.stat().st_mtime_ns for path in first.iterdir()}
    assert dumbbell("run", sweep, "--out", out).status == 0
    assert {path: path.stat().st_mtime_ns for path in first.iterdir()} == before
    assert names(out / "batches") == ["000000", "000001"]
    assert pl.read_parquet(out / "batches" / "000001" / "points.parquet")["path.loss"].to_list() == ["1%", "1%"]
    whole = tmp_path / "whole"
    assert dumbbell("run", sweep, "--out", whole).status == 0
    for name in ("flows.parquet", "links.parquet"):
        assert (out / name).read_bytes() == (whole / name).read_bytes()


def test_results_depend_neither_on_the_number_of_threads_nor_on_recording(
    dumbbell: Cli, sweep: Path, tmp_path: Path
) -> None:
    tables = set()
    for jobs in ("1", "2"):
        for series in ("true", "false"):
            out = tmp_path / f"{jobs}-{series}"
            assert dumbbell("run", sweep, "--jobs", jobs, "--set", f"record.series={series}", "--out", out).status == 0
            # Whether series are recorded is part of the experiment, and so of its hash, but of nothing else.
            tables.add(pl.read_parquet(out / "flows.parquet").drop("content_hash").write_csv())
    assert len(tables) == 1


def test_compare_needs_no_file(dumbbell: Cli) -> None:
    options = ["--rate", "10mbit", "--rtt", "40ms", "--buffer", "1bdp", "--loss", "0%,1%", "--duration", "2s"]
    done = dumbbell("compare", "bbr", "cubic", *options, "--json")
    assert done.status == 0
    points = json.loads(done.out)["points"]
    assert [(point["settings"]["path.loss"], point["flows"][0]["cc"]) for point in points] == [
        ("0%", "bbr"), ("0%", "cubic"), ("1%", "bbr"), ("1%", "cubic"),
    ]  # fmt: skip
    together = json.loads(dumbbell("compare", "bbr", "cubic", "--together", "--duration", "2s", "--json").out)
    assert [flow["cc"] for flow in together["flows"]] == ["bbr", "cubic"]


def test_compare_refuses_what_a_file_would_refuse(dumbbell: Cli) -> None:
    done = dumbbell("compare", "bbr", "cubik")
    assert done.status == 2
    assert "cubic" in done.err, "the nearest spelling is offered"


def test_plot_draws_what_a_result_holds(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dumbbell("run", experiment, "--out", out)
    done = dumbbell("plot", out, "--format", "svg", "--series", "pacing_mbps")
    assert done.status == 0
    assert set(names(out)) - set(RESULT_FILES) == {"overview.svg", "tradeoff.svg", "pacing_mbps.svg"}
    assert str(out / "overview.svg") in done.out
    assert dumbbell("plot", out, "--format", "gif").status == 2
    assert dumbbell("plot", tmp_path).status == 2


def test_explain_echoes_what_will_run_and_marks_defaults(dumbbell: Cli, experiment: Path) -> None:
    text = dumbbell("explain", experiment, "--set", "path.loss=1%").out
    assert "10 Mbit/s" in text
    assert "1.00 BDP" in text
    assert "1 %" in text or "1%" in text
    assert "bbr1-linux-6.18" in text
    assert "(default)" in text


def test_schema_is_a_json_schema_with_descriptions(dumbbell: Cli) -> None:
    schema = json.loads(dumbbell("schema").out)
    assert schema["properties"]["path"]["description"]


def test_the_pages_of_the_reference_are_printed(dumbbell: Cli) -> None:
    folder = Path(__file__).parents[2] / "docs" / "reference"
    for page in ("links", "transport", "traffic"):
        assert dumbbell("schema", "--markdown", page).out == (folder / f"{page}.md").read_text()
    wrong = dumbbell("schema", "--markdown", "queues")
    assert (wrong.status, wrong.out) == (2, "")
    assert "choose from links, transport" in wrong.err


def test_algorithms_are_listed_and_shown_with_their_parameters(dumbbell: Cli) -> None:
    listed = dumbbell("cc", "list").out
    for name in ("reno", "cubic", "bbr", "bbr1-linux-6.18"):
        assert name in listed
    assert "hystart" in dumbbell("cc", "show", "cubic").out
    shown = json.loads(dumbbell("cc", "show", "bbr", "--json").out)
    assert shown["exact_name"] == "bbr1-linux-6.18"
    for parameter in shown["parameters"]["properties"].values():
        assert parameter["description"]
        assert "default" in parameter
    wrong = dumbbell("cc", "show", "bbbr")
    assert wrong.status == 2
    assert "`bbr`" in wrong.err


def test_a_controller_that_fails_is_named_on_standard_error(
    dumbbell: Cli, experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No built-in controller fails; how the engine reports one that does is tested where it can be built.
    def fail(*_: object) -> None:
        raise _core.RunError("the controller of flow 1 (`bbr`, bbr1-linux-6.18) failed at 2.5s: no idea")

    monkeypatch.setattr("dumbbell.parallel.run_point", fail)
    failed = dumbbell("run", experiment)
    assert (failed.status, failed.out) == (2, "")
    assert "flow 1" in failed.err
    assert "2.5s: no idea" in failed.err


def test_an_unknown_study_is_refused(dumbbell: Cli) -> None:
    assert dumbbell("reproduce", "nobody/fig9").status == 2
    assert dumbbell("reproduce").status == 0


def test_plot_draws_any_metric_over_any_swept_setting(dumbbell: Cli, sweep: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert dumbbell("run", sweep, "--out", out, "--quiet").out == ""
    done = dumbbell("plot", out, "--x", "path.loss", "--y", "p95_rtt_ms", "--size", "84x56mm", "--format", "pdf")
    assert (done.status, done.out) == (0, f"  {out / 'p95_rtt_ms-path.loss-size-84x56mm.pdf'}\n")
    for kind, setting in (("box", "--x"), ("cdf", "--by")):
        assert dumbbell("plot", out, "--kind", kind, setting, "loss", "--style", "paper").status == 0
    point = tmp_path / "point"
    assert dumbbell("extract", out, "2", "--out", point).out == f"  {point}\n"
    assert dumbbell("plot", point, "--kind", "share", "--format", "svg").status == 0
    assert (point / "share.svg").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [("--kind", "box"), ("--x", "a"), ("--y", "a"), ("--by", "a"), ("--where", "a=b"), ("--panels", "a")],
)
def test_what_chooses_of_a_result_is_refused_with_files_of_flent(
    dumbbell: Cli, tmp_path: Path, name: str, value: str
) -> None:
    done = dumbbell("plot", tmp_path / "a.flent.gz", name, value, "--out", tmp_path / "out")
    assert done.status == 2
    assert "--kind, --x, --y, --by, --where and --panels go with a directory that --out wrote" in done.err


def test_a_point_of_a_sweep_is_extracted_by_number_or_hash(dumbbell: Cli, sweep: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert dumbbell("run", sweep, "--out", out).status == 0
    points = pl.read_parquet(out / "points.parquet")
    for word, number in (("3", 3), (points["content_hash"][1][:12], 1)):
        place = tmp_path / word
        assert dumbbell("extract", out, word, "--out", place).status == 0
        assert names(place) == RESULT_FILES
        assert json.loads((place / "meta.json").read_text())["content_hash"] == points["content_hash"][number]
        alone = tmp_path / f"{word}-alone"
        assert dumbbell("run", place / "scenario.toml", "--out", alone).status == 0
        for table in ("flows", "links", "series", "link_series"):
            stored, again = (pl.read_parquet(folder / f"{table}.parquet") for folder in (place, alone))
            assert stored.equals(again), table
    for word in ("4", "xyz", ""):
        done = dumbbell("extract", out, word, "--out", tmp_path / "none")
        assert done.status == 2 and "no such point" in done.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--x", "path.lost"], "it varies path.loss"),
        (["--y", "goodput_mbps"], "--x is missing: one of path.loss"),
        (["--kind", "pie"], "choose from line, box"),
        (["--x", "loss", "--size", "big"], "3.3x2.2in"),
        (["--x", "loss", "--style", "poster"], "slides"),
        (["--x", "loss", "--where", "rtt"], "KEY=VALUE"),
        (["--kind", "heat", "--x", "loss"], "--by"),
        (["--kind", "share"], "single run"),
        (["--kind", "cdf", "--x", "loss"], "--kind cdf has no --x"),
        (["--x", "loss", "--label", "cubik=ours"], "nothing is called 'cubik'"),
        (["--x", "loss", "--y", "completion_s"], "there is no value of completion_s"),
    ],
)
def test_plot_says_what_it_could_draw(
    dumbbell: Cli, sweep: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    out = tmp_path / "out"
    dumbbell("run", sweep, "--out", out)
    before = names(out)
    done = dumbbell("plot", out, *options)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert names(out) == before


def test_a_column_that_is_misspelt_is_named_with_the_nearest(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    dumbbell("run", experiment, "--out", tmp_path / "out")
    done = dumbbell("plot", tmp_path / "out", "--series", "cwmd")
    assert done.status == 2
    assert "did you mean cwnd?" in done.err


def test_compare_takes_settings_traces_and_round_trip_times(dumbbell: Cli, tmp_path: Path) -> None:
    trace = tmp_path / "my.up"
    trace.write_text("".join(f"{ms}\n" for ms in range(2, 1001, 2)))
    done = dumbbell("compare", "bbr", "cubic", "--trace", trace, "--duration", "3s", "--json")
    links = [point["links"][0] for point in json.loads(done.out)["points"]]
    assert [link["capacity_mbps"] for link in links] == [6.0, 6.0]
    rtts = ["--together", "--rtt", "20ms,60ms", "--duration", "3s", "--json"]
    flows = json.loads(dumbbell("compare", "bbr", "cubic", *rtts).out)["flows"]
    assert [flow["base_rtt_ms"] for flow in flows] == [20, 60]
    coded = json.loads(dumbbell("compare", "cubic", "--set", "path.queue=codel", "--duration", "3s", "--json").out)
    assert coded["flows"][0]["p95_rtt_ms"] < 75


def test_compare_does_not_measure_slow_start(dumbbell: Cli) -> None:
    short = ["--duration", "6s", "--json"]
    flow = json.loads(dumbbell("compare", "cubic", *short).out)["flows"][0]
    assert flow["goodput_mbps"] == pytest.approx(8 * flow["delivered_bytes"] / 5 / 1e6, rel=1e-6)
    whole = json.loads(dumbbell("compare", "cubic", *short, "--warmup", "0s").out)["flows"][0]
    assert whole["delivered_bytes"] == whole["delivered_bytes_total"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cubic", "--loss", "0,1"], "a loss of 1 is 100 % of all packets"),
        (["cubic", "--sysctl", "net.ipv4.tcp_sack=0"], "--sysctl goes with --on"),
        (["cubic", "--retries", "3"], "--retries goes with --on"),
        (["cubic", "--trace", "x", "--rate", "1mbit"], "not both"),
        (["cubic", "bbr", "reno", "--together", "--rtt", "1ms,2ms"], "2 round-trip times for 3 algorithms"),
        (["cubic", "--duration", "6x"], "unknown unit"),
        (["cubic", "bbr", "--together", "--rtt", "1ms,x"], "a duration"),
    ],
)
def test_compare_refuses_what_cannot_be_meant(dumbbell: Cli, arguments: list[str], said: str) -> None:
    done = dumbbell("compare", *arguments)
    assert (done.status, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--retries", "0"], "--retries goes with --on linux"),
        (["--keep"], "--keep goes with --out"),
        (["--rerun"], "--rerun goes with --out"),
    ],
)
def test_run_refuses_an_option_that_would_change_nothing(
    dumbbell: Cli, experiment: Path, option: list[str], said: str
) -> None:
    done = dumbbell("run", experiment, *option)
    assert (done.status, done.out) == (2, "")
    assert said in done.err


def test_a_folder_with_the_name_of_an_algorithm_is_no_result(
    dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cubic").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "cubic-linux" in dumbbell("compare", "cubic", "--duration", "1s").out
    assert dumbbell("compare", "./cubic", "./cubic").status == 2


@pytest.mark.parametrize(
    "option",
    [
        ["--rate", "5mbit"], ["--trace", "a.up"], ["--rtt", "9ms"], ["--buffer", "2bdp"], ["--loss", "1%"],
        ["--duration", "9s"], ["--warmup", "1s"], ["--repeat", "2"], ["--together"],
    ],
)  # fmt: skip
def test_a_comparison_of_results_or_of_grounds_takes_no_option_of_a_path(
    dumbbell: Cli, experiment: Path, tmp_path: Path, option: list[str]
) -> None:
    (tmp_path / "one").mkdir()
    done = dumbbell("compare", tmp_path / "one", tmp_path / "one", *option)
    assert done.status == 2
    assert f"{option[0]} has nothing to say in a comparison of two results, which have run" in done.err
    done = dumbbell("compare", "--on", "sim,sim", experiment, *option)
    assert done.status == 2
    assert f"{option[0]} has nothing to say in `compare --on`, whose path is that of the file" in done.err


@pytest.mark.parametrize("option", [["--set", "path.loss=1%"], ["--vary-rtt"], ["--seed", "2"], ["--jobs", "1"]])
def test_a_comparison_of_results_runs_nothing_that_could_be_set(
    dumbbell: Cli, tmp_path: Path, option: list[str]
) -> None:
    (tmp_path / "one").mkdir()
    done = dumbbell("compare", tmp_path / "one", tmp_path / "one", *option)
    assert done.status == 2
    assert f"{option[0]} has nothing to say in a comparison of two results, which have run" in done.err


def test_pictures_of_a_comparison_replace_nothing(
    dumbbell: Cli, experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "comparison.png").write_text("mine")
    dumbbell("run", experiment, "--out", "one")
    for _ in range(2):
        assert dumbbell("compare", "./one", "./one", "--plot").status == 0
    assert (tmp_path / "out" / "comparison.png").read_text() == "mine"
    assert names(tmp_path / "out" / "one" / "comparison") == [
        "dumbbell.json", "overview.pdf", "overview.png", "overview.svg"
    ]  # fmt: skip


def test_an_experiment_comes_from_standard_input(
    dumbbell: Cli, experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(experiment.read_bytes())))
    assert "standard-input: 4 s" in dumbbell("run", "-").out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"duration = 1\n")))
    done = dumbbell("run", "-")
    assert done.status == 2
    assert "<standard input>:1" in done.err


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), ["cc", "list"], ["cc", "show"]])
def test_every_help_has_examples_that_name_the_command(dumbbell: Cli, command: list[str]) -> None:
    text = dumbbell(*command, "--help").out
    assert "Examples:" in text
    shown = text.split("Examples:")[1].strip().splitlines()
    assert all(" ".join(["dumbbell", *command]) in line for line in shown)
    assert all(len(line) <= 100 for line in text.splitlines())


def test_short_options_are_those_of_other_tools(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    assert dumbbell("-V").out == dumbbell("--version").out
    done = dumbbell("run", experiment, "-o", tmp_path / "out", "-j", "1", "-q")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert names(tmp_path / "out") == RESULT_FILES


def test_completion_knows_algorithms(dumbbell: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_DUMBBELL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "dumbbell cc show bbr")
    monkeypatch.setenv("COMP_CWORD", "3")
    assert "bbr3" in dumbbell().out.split()


def test_exact_names_are_known(dumbbell: Cli) -> None:
    assert dumbbell("cc", "show", "bbr1-linux-6.18").out == dumbbell("cc", "show", "bbr").out


def test_explain_lists_every_parameter_and_marks_what_is_not_given(dumbbell: Cli, experiment: Path) -> None:
    text = dumbbell("explain", experiment, "--set", "flows[1].cc={name = 'bbr', min_rtt_window = '10s'}").out
    lines = text.splitlines()
    assert "transport of flows 0 to 1" in lines
    assert "  mss = 1448 (default)" in lines
    assert "  min_rtt_window = 10s" in lines
    assert "  probe_rtt_dwell = 200ms (default)" in lines
    tuned = dumbbell("explain", experiment, "--set", "transport.mss=1448").out.splitlines()
    assert "  mss = 1448" in tuned


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_what_identifies_a_row_fits_any_terminal(dumbbell: Cli, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setattr("dumbbell.terminal.WIDTH_WITHOUT_TERMINAL", columns)
    sweep = ["--buffer", "0.5bdp,1bdp", "--loss", "0.1%,1%", "--repeat", "3", "--duration", "2s"]
    done = dumbbell("compare", "bbr", "cubic", *sweep)
    assert max(map(len, done.out.splitlines())) <= columns
    for words in ("0.5bdp  0.1%  bbr1-linux-6.18", "1bdp    1%    cubic-linux-6.18"):
        assert words in done.out
    if columns < 100:
        assert "left out" in done.out


@pytest.mark.parametrize("arguments", [["cc", "list"], ["cc", "show", "bbr3"], ["columns"]])
def test_names_are_whole_on_a_narrow_terminal(
    dumbbell: Cli, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr("dumbbell.terminal.WIDTH_WITHOUT_TERMINAL", 80)
    text = dumbbell(*arguments).out
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    if arguments == ["cc", "show", "bbr3"]:
        for name in catalogue.find("bbr3")["parameters"]["properties"]:
            assert f" {name} " in text


def test_a_run_that_cannot_be_split_says_why_it_takes_one_thread(dumbbell: Cli, tmp_path: Path) -> None:
    crowd = tmp_path / "crowd.toml"
    crowd.write_text('duration = "1s"\n[path]\nrate = "20mbit"\nrtt = "40ms"\n[[flows]]\ncc = "cubic"\ncount = 4\n')
    run = ("run", crowd, "--json", "--threads", "2")
    split = dumbbell(*run)
    assert "thread" not in split.err
    assert json.loads(split.out)["flows"] == json.loads(dumbbell("run", crowd, "--json").out)["flows"]
    managed = dumbbell(*run, "--set", "path.queue=codel")
    assert "note: the run takes one thread: there is no single link" in managed.err
    refused = dumbbell(*run, "--on", "linux")
    assert refused.status == 2 and "--threads" in refused.err


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("compare bbr --bw 1mbit", "--rate"),
        ("compare bbr --queue codel", "--set path.queue=NAME"),
        ("compare bbr --time 3s", "--duration"),
        ("advise --delay 30ms", "--rtt"),
        ("run a.toml --runs 3", "--repeat"),
        ("run a.toml --bw 1mbit", "--set path.rate=VALUE"),
        ("run a.toml --loss 1%", "--set path.loss=VALUE"),
        ("check gate bbr bbr3 --runs 3", "--repeat"),
    ],
)
def test_options_of_other_tools_lead_to_what_does_the_same(line: str, offered: str, dumbbell: Cli) -> None:
    done = dumbbell(*line.split())
    assert (done.status, done.out) == (2, "")
    assert offered in done.err.partition("No such option")[2]
