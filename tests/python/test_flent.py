"""Flent's tests on simulated paths, and the files that Flent opens."""

from __future__ import annotations

import bz2
import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from conftest import Cli
from dumbbell import flent
from dumbbell.application import app
from dumbbell.flent import files, inspection, trial
from dumbbell.flent.data import average, fairness, total
from dumbbell.plots import style
from dumbbell.plots.flent import overlay
from dumbbell.storage import OutputError
from load import PATIENCE_S

SHORT = flent.Timing(length=4.0, delay=1.0)
PATH = {"rate": "20mbit", "rtt": "20ms", "buffer": "50packets"}


@pytest.fixture(scope="module")
def upload() -> flent.FlentData:
    return flent.run(flent.test_named("tcp_1up"), PATH, timing=SHORT)


def test_series_have_a_value_for_each_step_and_load_begins_after_the_delay(upload: flent.FlentData) -> None:
    assert len(upload.x_values) == 30
    assert upload.x_values[:2] == [0.2, 0.4] and upload.x_values[-1] == 6.0
    throughput, pings = upload.results["TCP upload"], upload.results["Ping (ms) ICMP"]
    assert all(value is None for value in throughput[:4]) and throughput[15] is not None
    assert all(value is None for value in throughput[26:])
    before = [value for value in pings[1:5] if value is not None]
    # The round trip of a path without load, and the transmission of a ping there and back.
    assert before == pytest.approx([20.07] * len(before), abs=0.05) and len(before) >= 3
    ((_, mean, _, count), (_, ping, _, _)) = upload.summary()
    assert 17 < mean < 20 and count == 20
    assert 25 < ping < 50, "the buffer holds 30 ms"


@pytest.mark.parametrize("name", sorted(flent.TESTS))
def test_every_test_runs_and_its_sums_are_those_of_its_streams(name: str) -> None:
    streams = 3 if name in ("tcp_nup", "tcp_ndown") else None
    test = flent.test_named(name, streams)
    rtts = ("10ms", "20ms", "30ms", "40ms") if test.hosts > 1 else ()
    data = flent.run(test, PATH, rtts=rtts, timing=flent.Timing(length=2.0, delay=0.4))
    assert list(data.results) == [part.name for part in test.parts] + [part.name for part in test.derived]
    for word in ("upload", "download"):
        if f"TCP {word} sum" in data.results:
            of = [data.results[stream.name][8] or 0.0 for stream in test.streams if word in stream.name]
            assert data.results[f"TCP {word} sum"][8] == pytest.approx(sum(of))
            loaded = data.loaded(f"TCP {word} sum")
            # What a filled hole releases counts in one step; over all of them the link carries no more than it can.
            assert sum(loaded) / len(loaded) <= 20


def test_fairness_is_jains_index() -> None:
    data = flent.run(flent.test_named("tcp_2up"), PATH, timing=SHORT)
    one, other = (data.results[f"TCP upload::{number}"][20] or 0.0 for number in (1, 2))
    assert data.results["TCP upload fairness"][20] == pytest.approx((one + other) ** 2 / (2 * (one**2 + other**2)))


def test_the_same_seed_gives_the_same_file(tmp_path: Path) -> None:
    test = flent.test_named("rrul")
    files = [
        flent.write(flent.run(test, {"wifi": {}, "rtt": "10ms"}, timing=SHORT, seed=7), tmp_path / f"{name}.flent.gz")
        for name in ("a", "b")
    ]
    contents = [json.loads(gzip.decompress(file.read_bytes())) for file in files]
    for content in contents:
        del content["metadata"]["DATA_FILENAME"]
    assert contents[0] == contents[1]


def test_what_was_written_is_read_again(upload: flent.FlentData, tmp_path: Path) -> None:
    again = flent.read(flent.write(upload, tmp_path / "up.flent.gz"))
    assert (again.name, again.title, again.x_values, again.results) == (
        upload.name,
        upload.title,
        upload.x_values,
        upload.results,
    )
    assert again.delay == 1.0


@pytest.mark.skipif(find_spec("flent") is None, reason="Flent itself is not installed")
def test_flent_itself_opens_and_plots_the_file(upload: flent.FlentData, tmp_path: Path) -> None:
    file = flent.write(upload, tmp_path / "up.flent.gz")
    for plot in ("box_totals", "ping_cdf", "totals"):
        picture = tmp_path / f"{plot}.png"
        command = [sys.executable, "-m", "flent", str(file), "-p", plot, "-o", str(picture), "-f", "plot"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr
        assert picture.stat().st_size > 5_000, plot
    summary = [sys.executable, "-m", "flent", str(file), "-f", "summary"]
    done = subprocess.run(summary, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    mean = next(value for name, value, _, _ in upload.summary() if name == "TCP upload")
    line = next(line for line in done.stdout.splitlines() if "TCP upload" in line)
    assert float(line.split(":")[1].split()[0]) == pytest.approx(mean, rel=0.05)


def test_damaged_and_foreign_files_are_refused_by_name(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.flent.gz"
    broken = bytearray(gzip.compress(b"{" * 100 + b"}" * 1000))
    broken[12] ^= 0xFF
    series = '{"metadata": {%s}, "x_values": [1, %s], "results": {}}'
    for content in (
        b"no gzip",
        bytes(broken),
        gzip.compress(b"no JSON"),
        gzip.compress(b"[" * 100_000),
        gzip.compress(b'{"results": {}}'),
        gzip.compress(b"[]"),
        gzip.compress((series % ("", "1" + 400 * "0")).encode()),
        gzip.compress((series % ('"LENGTH": "long"', "2")).encode()),
    ):
        damaged.write_bytes(content)
        with pytest.raises(flent.FlentFileError, match=r"damaged\.flent\.gz"):
            flent.read(damaged)
    with pytest.raises(flent.FlentFileError, match="missing"):
        flent.read(tmp_path / "missing.flent.gz")


def test_load_lies_between_equal_delays_and_its_end_counts() -> None:
    metadata = {"LENGTH": 4, "TOTAL_LENGTH": 10}
    data = flent.FlentData("a", "", [float(at) for at in range(11)], {"x": [float(at) for at in range(11)]}, metadata)
    assert (data.delay, data.loaded("x")) == (3.0, [4.0, 5.0, 6.0, 7.0])
    ((name, mean, median, count),) = data.summary()
    assert (name, mean, median, count) == ("x", 5.5, 5.5, 4)
    # A test that ends early was to have as much without load at its beginning.
    cut = flent.FlentData("a", "", [float(at) for at in range(9)], {"x": [float(at) for at in range(9)]}, metadata)
    assert (cut.delay, cut.loaded("x")) == (3.0, [4.0, 5.0])
    without = flent.FlentData("a", "", [1.0, 2.0], {"x": [5.0, None]}, {})
    assert (without.delay, without.loaded("x")) == (0.0, [5.0])


def recording(*, is_away: bool, falls: bool = False, **metadata: object) -> flent.FlentData:
    """Seventy seconds, sixty of them with load; a radio that is away is off its channel for 117 of every 264 ms."""
    at = [round(0.2 * step, 1) for step in range(350)]
    pings = [
        (max(0.0, 117.0 - (1e3 * t) % 264.0) if is_away else 0.0) + 2.0 + 0.1 * (number % 7)
        for number, t in enumerate(at)
    ]
    loaded = [5.0 < t <= 65.0 for t in at]
    rates = [(120.0 if falls and t > 26.0 else 240.0) if load else None for t, load in zip(at, loaded, strict=True)]
    series: dict[str, list[float | None]] = {"Ping (ms) ICMP": [*pings], "TCP upload": [*rates]}
    return flent.FlentData("tcp_1up", "a title", at, series, {"LENGTH": 60, "TOTAL_LENGTH": 70, **metadata})


def test_an_inspection_tells_a_radio_that_was_away_and_where_the_throughput_fell() -> None:
    away = inspection.inspect(recording(is_away=True, falls=True), Path("x.flent.gz"))
    assert (away.before.is_away, away.after.is_away, away.is_away) == (True, True, True)
    assert away.before.late_share == pytest.approx(102 / 264, abs=0.15)
    assert away.change is not None
    assert (away.change.at_s, away.change.before_mbps, away.change.after_mbps) == pytest.approx(
        (21.2, 240.0, 120.0), abs=0.2
    )
    there = inspection.inspect(recording(is_away=False), Path("x.flent.gz"))
    assert (there.is_away, there.before.late_share, there.change) == (False, 0.0, None)


def test_the_shift_at_a_split_is_the_difference_of_means_by_its_standard_error() -> None:
    rates = np.random.default_rng(1).normal(1e4, 1.0, 60) + np.where(np.arange(60) < 25, 0.0, 30.0)
    splits = np.arange(2, 58)
    expected = []
    for place in splits:
        first, second = rates[:place], rates[place:]
        error = np.sqrt(first.var() / first.size + second.var() / second.size)
        expected.append(abs(first.mean() - second.mean()) / error)
    shifts = inspection._shifts(rates, splits)
    assert shifts == pytest.approx(expected, rel=1e-9)
    assert splits[shifts.argmax()] == 25


def test_a_load_that_is_too_short_for_two_parts_has_no_change(upload: flent.FlentData) -> None:
    assert inspection.inspect(upload, Path("x.flent.gz")).change is None


def test_an_inspection_tells_what_the_sockets_and_the_kernel_said() -> None:
    data = recording(
        is_away=False,
        SERIES_META={
            "TCP upload": {"CONG_CONTROL": "bbrgen", "UPSTREAM_TOS": 0xB8},
            "Ping (ms) ICMP": {"UPSTREAM_TOS": 32},
        },
        SYSCTLS={"net.ipv4.tcp_congestion_control": "cubic", "net.ipv4.tcp_ecn": 2, "net.core.default_qdisc": "fq"},
        EGRESS_INFO={"driver": "ath10k", "qdiscs": [{"name": "fq_codel"}]},
        KERNEL_RELEASE="5.13.12",
    )
    found = inspection.inspect(data, Path("x.flent.gz"))
    assert (found.uploads, found.default, found.kernel) == (["bbrgen"], "cubic", "5.13.12")
    assert (found.qdisc, found.driver, found.markings, found.ecn) == ("fq_codel", "ath10k", ["0x2e"], 2)


@pytest.mark.parametrize("wrong", [None, 3, "text", ["list"], {"TCP upload": 5}, {"TCP upload": {"CONG_CONTROL": []}}])
def test_metadata_of_other_types_is_not_told(wrong: object) -> None:
    data = recording(is_away=False, SERIES_META=wrong, SYSCTLS=wrong, EGRESS_INFO=wrong, KERNEL_RELEASE=wrong)
    found = inspection.inspect(data, Path("x.flent.gz"))
    assert (found.uploads, found.default, found.qdisc, found.driver, found.ecn) == ([], None, None, None, None)
    json.dumps(found.as_dict())


def test_the_command_inspects_files_and_takes_no_other_option(tmp_path: Path) -> None:
    paths = [flent.write(recording(is_away=is_away), tmp_path / f"{is_away}.flent.gz") for is_away in (True, False)]
    told = CliRunner().invoke(app, ["flent", "inspect", *map(str, paths), "--json"])
    assert [one["away"] for one in json.loads(told.stdout)["files"]] == [True, False]
    shown = CliRunner().invoke(app, ["flent", "inspect", *map(str, paths)])
    assert "2 recordings, 1 of a radio that was away" in shown.stdout
    for words in (["inspect"], ["inspect", str(paths[0]), "--rate", "5mbit"], ["tcp_1up", str(paths[0])]):
        assert CliRunner().invoke(app, ["flent", *words]).exit_code == 2


@pytest.mark.parametrize("nothing", [b"[],", b"{},", b"0,", b"[[]],"])
def test_a_small_file_that_would_fill_the_memory_is_refused_before_it_is_read(tmp_path: Path, nothing: bytes) -> None:
    path = tmp_path / "bomb.flent.gz"
    content = b'{"metadata": {}, "x_values": [0], "results": {"a": [' + nothing * 4_200_000 + b"0]}}"
    path.write_bytes(gzip.compress(content, 1))
    with pytest.raises(flent.FlentFileError, match="more than 4194304 values, which is no test"):
        flent.read(path)


def test_a_file_of_somebody_else_is_not_overwritten(upload: flent.FlentData, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.flent.gz"
    theirs.write_bytes(b"precious")
    with pytest.raises(OutputError, match="not written by Dumbbell"):
        flent.write(upload, theirs)
    assert theirs.read_bytes() == b"precious"
    with pytest.raises(OutputError, match="ends in"):
        flent.write(upload, tmp_path / "up.json")


def test_the_command_writes_prints_and_plots(tmp_path: Path) -> None:
    runner = CliRunner()
    file = tmp_path / "wifi.flent.gz"
    arguments = ["flent", "tcp_1up", "--wifi", "--rtt", "5ms", "--length", "3", "--delay", "1", "--out", str(file)]
    done = runner.invoke(app, arguments)
    assert done.exit_code == 0 and "TCP upload" in done.stdout and file.exists()
    beside = tmp_path / "beside"
    done = runner.invoke(app, ["plot", str(file), str(file), "--format", "png", "--out", str(beside)])
    assert done.exit_code == 0, done.output
    assert (beside / "overlay.png").stat().st_size > 5_000
    done = runner.invoke(app, ["plot", str(file), "--format", "svg", "--out", str(beside)])
    assert done.exit_code == 0, done.output
    assert {path.name for path in beside.glob("overlay.*")} == {"overlay.png", "overlay.svg"}
    (beside / "overlay.pdf").write_text("mine")
    done = runner.invoke(app, ["plot", str(file), "--format", "pdf", "--out", str(beside)])
    assert done.exit_code != 0
    assert (beside / "overlay.pdf").read_text() == "mine"


def drawn(name: str, **series: float) -> dict[str, list[tuple[str, float]]]:
    """The lines of each panel of a picture of a file with these series: entry of the legend, and value."""
    results: dict[str, list[float | None]] = {key: [value] * 3 for key, value in series.items()}
    picture = overlay([flent.FlentData(name, "", [1.0, 2.0, 3.0], results)], [name])
    legend = picture.legends[0]
    entries = dict(zip((one.get_color() for one in legend.get_lines()), legend.get_texts(), strict=True))
    return {
        axes.get_ylabel(): [
            (entries[line.get_color()].get_text(), float(np.asarray(line.get_ydata())[0])) for line in axes.get_lines()
        ]
        for axes in picture.axes
    }


def test_each_ping_and_each_transfer_is_a_line_of_its_own() -> None:
    pings = {"Ping (ms)::1": 10.0, "Ping (ms)::2": 500.0}
    flows = {"TCP upload::1": 40.0, "TCP upload::2": 10.0}
    means = {"Ping (ms) avg": 255.0, "TCP upload avg": 25.0, "TCP upload sum": 50.0, "TCP upload::1::tcp_cwnd": 7.0}
    panels = drawn("rtt_fair", **pings, **flows, **means)
    assert panels["ping (ms)"] == list(pings.items())
    assert panels["throughput\n(Mbit/s)"] == list(flows.items())


def test_calls_and_latencies_are_drawn_and_what_has_none_is_refused(tmp_path: Path) -> None:
    assert drawn("http", **{"HTTP latency": 1.05}) == {"HTTP latency": [("HTTP latency", 1.05)]}
    panels = drawn("voip", **{"VoIP::delay": 25.0, "VoIP::jitter": 0.1, "VoIP::loss": 0.0, "VoIP::bitrate": 73.0})
    assert [lines[0][1] for lines in panels.values()] == [25.0, 0.1, 0.0]
    with pytest.raises(ValueError, match=r"nothing to draw.*cpu_stats::load"):
        drawn("idle", **{"cpu_stats::load": 1.0})
    place = flent.write(flent.FlentData("idle", "", [1.0], {"cpu_stats::load": [1.0]}), tmp_path / "idle.flent.gz")
    done = CliRunner().invoke(app, ["plot", str(place), "--out", str(tmp_path / "out")])
    assert done.exit_code != 0
    assert not (tmp_path / "out").exists()


SHARED = Path(__file__).parents[3] / "shared" / "reference" / "flent-tests"


@pytest.mark.skipif(not SHARED.is_dir(), reason="Flent's own files are not here")
@pytest.mark.parametrize("place", sorted(SHARED.glob("*.flent.gz")), ids=lambda place: place.name.split(".")[0])
def test_files_of_flents_own_tests_are_drawn_series_by_series(place: Path) -> None:
    data = flent.read(place)
    picture = overlay([data], [place.name])
    lines = [line for axes in picture.axes for line in axes.get_lines()]
    measured = [name for name in data.results if name.startswith(("TCP ", "Ping ")) and "::tcp" not in name]
    measured = [name for name in measured if name.split(" ")[-1] not in ("avg", "sum", "totals", "fairness")]
    assert len(lines) >= max(1, len(measured))


def test_files_without_transfers_are_drawn_too() -> None:
    data = flent.FlentData("ping", "", [1.0, 2.0, 3.0], {"Ping (ms) ICMP": [10.0, None, 12.0]})
    assert overlay([data], ["ping"]).encoded("png")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tcp_9up"], "there is no test"),
        (["rrul", "--streams", "3"], "as many streams as it has"),
        (["tcp_1up", "--wifi", "--rate", "5mbit"], "the path is one of them"),
        (["rtt_fair", "--rtt", "10ms,20ms"], "2 round-trip times"),
        (["tcp_1up", "--out", "data.json"], "ends in"),
        (["tcp_1up", "--download-cc", "bbr"], "tcp_1up has no downloads"),
    ],
)
def test_wrong_arguments_are_explained(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["flent", *arguments])
    assert done.exit_code != 0 and message in f"{done.output} {done.exception}"


@pytest.mark.parametrize(
    ("test", "download_cc", "title"),
    [
        ("tcp_1up", None, "reno"),
        ("tcp_1down", None, "reno"),
        ("tcp_1down", "bbr", "bbr"),
        ("tcp_bidirectional", None, "reno"),
        ("tcp_bidirectional", "reno", "reno"),
        ("tcp_bidirectional", "bbr", "reno up, bbr down"),
    ],
)
def test_data_are_called_as_the_controllers_that_ran(test: str, download_cc: str | None, title: str) -> None:
    path = {"rate": "5mbit", "rtt": "10ms"}
    timing = flent.Timing(length=1.0, delay=0.2, step=0.2)
    asked = {"cc": "reno", "download_cc": download_cc, "timing": timing}
    assert flent.run(flent.test_named(test), path, **asked).title == title  # type: ignore[arg-type]
    assert flent.run(flent.test_named(test), path, title="mine", **asked).title == "mine"  # type: ignore[arg-type]


# -- what tests are ---------------------------------------------------------------------------------------------------


def flows_of(name: str, streams: int | None = None, **others: Any) -> list[dict[str, Any]]:
    flows = trial.document(flent.test_named(name, streams), {"rate": "1mbit", "rtt": "10ms"}, **others)["flows"]
    assert isinstance(flows, list)
    return flows


def test_a_test_is_an_experiment_with_silence_before_and_after_it() -> None:
    document = trial.document(
        flent.test_named("tcp_bidirectional"), {"rate": "1mbit", "rtt": "10ms"}, cc="bbr", download_cc="reno",
        timing=flent.Timing(length=4.5, delay=1.5, step=0.25),
    )  # fmt: skip
    assert document == {
        "duration": "7.5s", "warmup": "1.5s", "cooldown": "1.5s", "record": {"interval": "0.25s"},
        "path": {"rate": "1mbit", "rtt": "10ms", "reverse": "symmetric"},
        "flows": [
            {"label": "TCP download", "cc": "reno", "direction": "down", "start": "1.5s", "stop": "6s"},
            {"label": "TCP upload", "cc": "bbr", "direction": "up", "start": "1.5s", "stop": "6s"},
            {"label": "Ping (ms) ICMP",
             "transport": {"profile": "probe", "mss": 64, "probe": {"interval": "0.25s"}}},
        ],
    }  # fmt: skip
    usual = trial.document(flent.test_named("tcp_bidirectional"), {"wifi": {}, "rtt": "10ms"})
    assert usual["path"] == {"wifi": {}, "rtt": "10ms"}
    assert (usual["duration"], usual["warmup"], usual["record"]) == ("70s", "5s", {"interval": "0.2s"})
    assert [flow.get("cc") for flow in usual["flows"]] == ["cubic", "cubic", None]
    assert [flow.get("cc") for flow in flows_of("tcp_bidirectional", cc="bbr")] == ["bbr", "bbr", None]
    one_way = trial.document(flent.test_named("tcp_1up"), {"rate": "1mbit", "rtt": "10ms", "reverse": "unlimited"})
    assert one_way["path"]["reverse"] == "unlimited"


def test_a_controller_is_written_as_compare_takes_it(dumbbell: Cli) -> None:
    assert flows_of("tcp_1up", cc="bbr:drain_gain=0.5")[0]["cc"] == {"name": "bbr", "drain_gain": 0.5}
    done = dumbbell("flent", "tcp_1up", "--cc", "nope", "--rate", "10mbit")
    assert (done.status, done.out) == (2, "")
    assert "unknown algorithm `nope`" in done.err


def test_hosts_are_at_different_distances_of_which_the_path_has_the_shortest() -> None:
    test = flent.test_named("rtt_fair")
    document = trial.document(test, {"rate": "1mbit"})
    assert document["path"]["rtt"] == "20ms"
    far = ["20ms", "50ms", "100ms", "200ms"]
    assert [flow["rtt"] for flow in document["flows"]] == far * 3
    given = trial.document(test, {"rate": "1mbit"}, rtts=["100ms", "9ms", "1s", "20ms"])
    assert given["path"]["rtt"] == "9ms"
    assert [flow["rtt"] for flow in given["flows"][:4]] == ["100ms", "9ms", "1s", "20ms"]
    assert not any("rtt" in flow for flow in flows_of("rrul"))
    with pytest.raises(ValueError, match="tcp_1up has one host"):
        flows_of("tcp_1up", rtts=["10ms"])
    with pytest.raises(ValueError, match="rtt_fair has 4 hosts, but 3 round-trip times are given"):
        trial.document(test, {"rate": "1mbit"}, rtts=["1ms"] * 3)


def streams_of(name: str) -> list[tuple[str, str, str | None, int]]:
    return [(one.name, one.direction, one.dscp, one.host) for one in flent.test_named(name).streams]


def probes_of(name: str) -> list[tuple[str, str | None, int]]:
    return [(one.name, one.dscp, one.host) for one in flent.test_named(name).probes]


def test_rrul_has_four_classes_both_ways_and_four_pings() -> None:
    marks = [("BE", "cs0"), ("BK", "cs1"), ("CS5", "cs5"), ("EF", "ef")]
    ways = [("upload", "up"), ("download", "down")]
    assert streams_of("rrul") == [(f"TCP {word} {label}", way, dscp, 0) for word, way in ways for label, dscp in marks]
    assert probes_of("rrul") == [
        ("Ping (ms) UDP EF", "ef", 0), ("Ping (ms) UDP BK", "cs1", 0), ("Ping (ms) UDP BE", "cs0", 0),
        ("Ping (ms) ICMP", None, 0),
    ]  # fmt: skip
    assert streams_of("rrul_be") == [
        (f"TCP {word} {label}", way, "cs0", 0) for word, way in ways for label in ("BE", "BE2", "BE3", "BE4")
    ]
    assert probes_of("rrul_be") == [
        *((f"Ping (ms) UDP BE{number}", "cs0", 0) for number in (1, 2, 3)), ("Ping (ms) ICMP", None, 0)
    ]  # fmt: skip
    test = flent.test_named("rrul")
    uploads, downloads = ([one[0] for one in streams_of("rrul") if one[1] == way] for _, way in ways)
    assert [(one.name, one.kind, list(one.of)) for one in test.derived] == [
        ("TCP upload avg", "average", uploads), ("TCP upload sum", "sum", uploads),
        ("TCP download avg", "average", downloads), ("TCP download sum", "sum", downloads),
        ("TCP totals", "sum", [*uploads, *downloads]),
        ("Ping (ms) avg", "average", [one[0] for one in probes_of("rrul")]),
    ]  # fmt: skip
    assert [flow.get("dscp") for flow in flows_of("rrul")][-4:] == ["ef", "cs1", "cs0", None]


def test_rtt_fair_has_an_upload_a_download_and_a_ping_with_each_host() -> None:
    labels = [("BE1", "cs0"), ("BE2", "cs0"), ("BK1", "cs1"), ("BK2", "cs1")]
    for name, classes in (("rtt_fair", labels), ("rtt_fair4be", [(f"BE{host}", "cs0") for host in range(1, 5)])):
        assert streams_of(name) == [
            (f"TCP {word} {label} host{host + 1}", way, dscp, host)
            for word, way in (("upload", "up"), ("download", "down"))
            for host, (label, dscp) in enumerate(classes)
        ]
        assert probes_of(name) == [(f"Ping (ms) ICMP{host + 1} host{host + 1}", None, host) for host in range(4)]
    test = flent.test_named("rtt_fair")
    uploads, downloads = ([one.name for one in test.streams if one.direction == way] for way in ("up", "down"))
    assert [(one.name, one.kind, list(one.of)) for one in test.derived] == [
        *((f"TCP {word} {end}", kind, of) for word, of in (("upload", uploads), ("download", downloads))
          for end, kind in (("avg", "average"), ("sum", "sum"), ("fairness", "fairness"))),
        ("Ping (ms) avg", "average", [one.name for one in test.probes]),
    ]  # fmt: skip
    assert test.hosts == 4


def test_tests_of_one_kind_have_as_many_streams_as_their_name_or_somebody_says() -> None:
    for count in (2, 4, 6, 8, 12):
        assert streams_of(f"tcp_{count}up") == [(f"TCP upload::{n}", "up", None, 0) for n in range(1, count + 1)]
    down = flent.test_named("tcp_ndown", 3)
    names = tuple(f"TCP download::{number}" for number in (1, 2, 3))
    assert tuple(one.name for one in down.streams) == names
    assert [(one.name, one.kind, one.of) for one in down.derived] == [
        ("TCP download avg", "average", names), ("TCP download sum", "sum", names),
        ("TCP download fairness", "fairness", names),
    ]  # fmt: skip
    assert (down.name, down.about, down.hosts) == ("tcp_ndown", "3 TCP downloads and a ping", 1)
    assert len(flent.test_named("tcp_nup").streams) == len(flent.test_named("tcp_nup", 1).streams) == 1
    assert streams_of("tcp_upload") == streams_of("tcp_1up") == [("TCP upload", "up", None, 0)]
    assert streams_of("tcp_download") == streams_of("tcp_1down") == [("TCP download", "down", None, 0)]
    assert probes_of("tcp_1up") == [("Ping (ms) ICMP", None, 0)]
    assert flent.test_named("rrul").name == "rrul"
    with pytest.raises(ValueError, match="0 streams: a test needs at least one"):
        flent.test_named("tcp_nup", 0)
    with pytest.raises(ValueError, match="as many streams as it has"):
        flent.test_named("tcp_2up", 2)
    with pytest.raises(
        ValueError, match="there is no test 'x'; choose from rrul, rrul_be, rtt_fair, rtt_fair4be, tcp_"
    ):
        flent.test_named("x")


# -- series -----------------------------------------------------------------------------------------------------------


def test_what_is_computed_of_streams_is_of_those_that_have_a_value() -> None:
    columns: list[list[float | None]] = [[1.0, None, None, 0.0], [3.0, 5.0, None, 0.0]]
    assert average(columns) == [2.0, 5.0, None, 0.0]
    assert total(columns) == [4.0, 5.0, None, 0.0]
    assert fairness(columns) == [pytest.approx(0.8), pytest.approx(1.0), None, None]


def test_samples_of_a_run_are_values_at_their_steps() -> None:
    rows: list[dict[str, float | None]] = [
        {"flow": flow, "t_s": at, "goodput_mbps": 10.0 * flow + at, "rtt_ms": 100.0 + at}
        for flow in (0, 1, 2) for at in (0.0, 0.5, 1.0, 1.5, 2.1, 2.5, 3.0, 3.5, 4.5)
    ]  # fmt: skip
    rows += [{"flow": 0, "t_s": 2.0, "goodput_mbps": None, "rtt_ms": None}]
    result: Any = SimpleNamespace(series=SimpleNamespace(to_polars=lambda: pl.DataFrame(rows)))
    timing = flent.Timing(length=2.0, delay=1.0, step=0.5)
    test = flent.test_named("tcp_2up")
    data = trial.of_result(test, result, timing, "mine")
    assert (data.name, data.title) == ("tcp_2up", "mine")
    assert data.x_values == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    # Streams end with the load, pings with the test; what lies before the first step is left out.
    assert data.results["TCP upload::1"] == [0.5, 1.0, 1.5, 2.1, 2.5, 3.0, None, None]
    assert data.results["TCP upload::2"] == [10.5, 11.0, 11.5, 12.1, 12.5, 13.0, None, None]
    assert data.results["Ping (ms) ICMP"] == [100.5, 101.0, 101.5, 102.1, 102.5, 103.0, 103.5, None]
    assert data.results["TCP upload sum"] == pytest.approx([11.0, 12.0, 13.0, 14.2, 15.0, 16.0, None, None])
    assert data.metadata == {
        "NAME": "tcp_2up", "TITLE": "mine", "LENGTH": 2.0, "TOTAL_LENGTH": 4.0, "STEP_SIZE": 0.5,
    }  # fmt: skip
    assert trial._on_grid([(0.2, 1 / 3), (0.9, 1.0)], 3, 0.2, 0.4) == [0.333333, None, None]
    assert trial._on_grid([(0.49, 2.0), (0.51, 3.0)], 3, 0.2, 0.4) == [None, 2.0, None]


def test_a_title_is_the_algorithm_where_there_is_none() -> None:
    short = {"timing": flent.Timing(length=0.4, delay=0.2)}
    plain = flent.run(flent.test_named("tcp_1up"), PATH, cc="bbr", **short)  # type: ignore[arg-type]
    assert plain.title == "bbr"
    titled = flent.run(flent.test_named("tcp_1up"), PATH, title="mine", **short)  # type: ignore[arg-type]
    assert titled.title == "mine"


def test_a_delay_is_half_of_what_is_longer_than_the_load() -> None:
    def delay(**metadata: object) -> float:
        return flent.FlentData("a", "", [1.0, 8.0], {}, dict(metadata)).delay

    assert delay(LENGTH=4, TOTAL_LENGTH=10) == 3.0
    assert delay(LENGTH=4) == 2.0, "the last value is the end"
    assert delay(TOTAL_LENGTH=10) == delay(LENGTH=0, TOTAL_LENGTH=10) == delay(LENGTH=20, TOTAL_LENGTH=10) == 0.0


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_file_says_what_flent_wants_to_know(tmp_path: Path) -> None:
    series: dict[str, list[float | None]] = {"Ping (ms) ICMP": [1.5, None], "TCP upload": [None, 2.5]}
    data = flent.FlentData("tcp_1up", "mine", [0.2, 0.4], series, {"LENGTH": 1, "NAME": "other", "NOTE": "x"})
    file = flent.write(data, tmp_path / "up.flent.gz")
    content = file.read_bytes()
    assert content[4:8] == bytes(4), "no time of day is in the file"
    written = json.loads(gzip.decompress(content))
    version = written["metadata"].pop("FLENT_VERSION")
    assert version.startswith("dumbbell 0.")
    assert list(written) == sorted(written)
    assert written == {
        "version": 4,
        "x_values": [0.2, 0.4],
        "results": series,
        "raw_values": {"Ping (ms) ICMP": [{"t": 0.2, "val": 1.5}], "TCP upload": [{"t": 0.4, "val": 2.5}]},
        "metadata": {
            "DATA_FILENAME": "up.flent.gz", "FAILED_RUNNERS": 0, "HOST": "simulated", "HOSTS": ["simulated"],
            "IP_VERSION": 4, "LOCAL_HOST": "dumbbell", "NOTE": "x", "LENGTH": 1, "NAME": "tcp_1up", "TITLE": "mine",
            "SERIES_META": {"Ping (ms) ICMP": {"UNITS": "ms", "IDX": 0}, "TCP upload": {"UNITS": "Mbits/s", "IDX": 1}},
            "T0": "2000-01-01T00:00:00.000000Z", "TIME": "2000-01-01T00:00:00.000000Z", "TEST_PARAMETERS": {},
        },
    }  # fmt: skip
    assert flent.write(data, file) == file, "a file of ours is replaced"


def parsed(folder: Path, content: object, name: str = "x.flent.gz") -> flent.FlentData:
    path = folder / name
    packed = json.dumps(content).encode()
    path.write_bytes(bz2.compress(packed) if path.suffix in (".bz2", ".flnt") else gzip.compress(packed))
    return flent.read(path)


def test_a_file_without_a_name_has_that_of_its_place_and_holes_are_none(tmp_path: Path) -> None:
    content = {"metadata": {}, "x_values": [1, 2.5], "results": {"a": [float("nan"), 3], "b": [None, float("inf")]}}
    for name in ("x.flent.gz", "x.flnt", "x.flent.bz2"):
        data = parsed(tmp_path, content, name)
        assert (data.name, data.title, data.x_values) == (name, "", [1.0, 2.5])
        assert data.results == {"a": [None, 3.0], "b": [None, None]}
    named = parsed(tmp_path, content | {"metadata": {"NAME": "n", "TITLE": "t", "LENGTH": None, "TOTAL_LENGTH": 3}})
    assert (named.name, named.title) == ("n", "t")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"metadata": []}, "it has no `metadata`, `x_values` or `results`"),
        ({"x_values": {}}, "it has no `metadata`, `x_values` or `results`"),
        ({"results": []}, "it has no `metadata`, `x_values` or `results`"),
        ({"x_values": [], "results": {}}, "`x_values` are not all numbers"),
        ({"x_values": [1, None]}, "`x_values` are not all numbers"),
        ({"x_values": [1, "a"]}, "`x_values` holds 'a', which is no number"),
        ({"results": {"a": [1, True]}}, "`a` holds True, which is no number"),
        ({"results": {"a": 3}}, "`a` is no list"),
        ({"results": {"a": [1]}}, "the series `a` has 1 values for 2 times"),
        ({"metadata": {"TOTAL_LENGTH": "x"}}, "`TOTAL_LENGTH` holds 'x'"),
        ({"metadata": {"LENGTH": True}}, "`LENGTH` holds True"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(change: dict[str, object], said: str, tmp_path: Path) -> None:
    good: dict[str, object] = {"metadata": {}, "x_values": [1, 2], "results": {"a": [1, 2]}}
    assert parsed(tmp_path, good).results == {"a": [1.0, 2.0]}
    with pytest.raises(flent.FlentFileError) as error:
        parsed(tmp_path, good | change)
    assert said in str(error.value) and "x.flent.gz" in str(error.value)


def test_names_of_files_of_flent_are_known() -> None:
    for name, is_flents in (
        ("a.flent.gz", True),
        ("a.flent", True),
        ("a.flnt", True),
        ("a.gz", False),
        ("flent", False),
    ):
        assert flent.is_named_so(name) == flent.is_named_so(Path(name)) == is_flents


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = {"metadata": {}, "x_values": [1], "results": {"a": [1]}}
    size = len(json.dumps(content))
    monkeypatch.setattr(files, "MAX_BYTES", size)
    assert parsed(tmp_path, content)
    monkeypatch.setattr(files, "MAX_BYTES", size - 1)
    with pytest.raises(flent.FlentFileError, match="more than"):
        parsed(tmp_path, content)
    monkeypatch.setattr(files, "MAX_BYTES", size)
    # Three braces open, two brackets, and three commas.
    monkeypatch.setattr(files, "MAX_ITEMS", 7)
    assert parsed(tmp_path, content)
    monkeypatch.setattr(files, "MAX_ITEMS", 6)
    with pytest.raises(flent.FlentFileError, match="more than 6 values"):
        parsed(tmp_path, content)


# -- inspection -------------------------------------------------------------------------------------------------------


def idle(
    before: Sequence[float | None], after: Sequence[float | None], **series: list[float | None]
) -> inspection.Inspection:
    """Of pings every second: before a load of 30 s that begins at 20 s, in it 500 ms each, and after it."""
    pings: list[float | None] = [*before, *[500.0] * 30, *after]
    first = 20.0 - len(before)
    at = [first + number for number in range(len(pings))]
    # The test ends as long after the load as it began before it.
    data = flent.FlentData("t", "", at, {"Ping (ms) ICMP": pings, **series}, {"LENGTH": 30, "TOTAL_LENGTH": 70})
    return inspection.inspect(data, Path("x"))


def test_idle_pings_are_those_before_the_load_and_those_a_second_after_it() -> None:
    quiet: list[float | None] = [10.0] * 20
    found = idle(quiet, [900.0, *quiet[:19]])
    assert (found.before.pings, found.before.late_share, found.before.largest_ms) == (20, 0.0, 10.0)
    # The load ends at 49 s, 20 s before the last one; what comes after 50 s counts.
    assert (found.after.pings, found.after.late_share, found.after.largest_ms) == (19, 0.0, 10.0)


def test_a_load_goes_on_as_long_as_a_flow_has_values() -> None:
    quiet: list[float | None] = [10.0] * 20
    # Until 53 s, where it should have ended at 49 s.
    flow: list[float | None] = [*[None] * 20, *[1.0] * 34, *[None] * 16]
    nothing: list[float | None] = [None] * 70
    late = idle(quiet, [900.0] * 5 + [10.0] * 15, **{"TCP upload": flow, "TCP download": nothing})
    assert (late.after.pings, late.after.largest_ms) == (15, 10.0)
    other = idle(quiet, [900.0] * 5 + [10.0] * 15, **{"UDP": flow})
    assert (other.after.pings, other.after.largest_ms) == (19, 900.0)


def test_a_ping_is_late_by_fifteen_milliseconds_and_a_radio_away_by_a_seventh_of_them() -> None:
    quiet: list[float | None] = [10.0] * 20
    for late, counts in ((25.0, False), (25.1, True)):
        found = idle([late] * 3 + [10.0] * 17, quiet)
        assert found.before.late_share == (0.15 if counts else 0.0)
        assert found.before.is_away == counts
        assert found.after.is_away is False
        assert found.is_away == counts
    assert idle([100.0] * 2 + [10.0] * 12 + [None] * 6, quiet).before.is_away is False, "exactly a seventh"
    assert idle(quiet, [10.0] * 15 + [100.0] * 5).is_away


def test_of_fewer_than_ten_pings_nothing_is_said() -> None:
    quiet: list[float | None] = [10.0] * 20
    ten = idle([None] * 10 + [10.0] * 10, quiet)
    assert (ten.before.pings, ten.before.late_share) == (10, 0.0)
    nine = idle([None] * 11 + [100.0] * 9, quiet)
    assert (nine.before.pings, nine.before.late_share, nine.before.largest_ms, nine.before.is_away) == (
        9,
        None,
        None,
        None,
    )
    assert nine.is_away is False
    neither = idle([None] * 20, [None] * 20)
    assert (neither.before, neither.after, neither.is_away) == (inspection.Idle(0, None, None),) * 2 + (None,)
    without = flent.FlentData("t", "", [1.0, 2.0], {"Ping (ms) ICMP": [1.0, 1.0]})
    assert inspection.inspect(without, Path("x")).before == inspection.Idle(0, None, None)


def test_pings_of_icmp_come_before_others_and_any_before_none() -> None:
    quiet: list[float | None] = [10.0] * 20
    other: list[float | None] = [99.0] * 70
    assert idle(quiet, quiet, **{"Ping (ms) UDP": other}).before.largest_ms == 10.0
    data = flent.FlentData(
        "t", "", [float(at) for at in range(70)], {"TCP x": other, "Ping (ms) UDP": [7.0] * 70},
        {"LENGTH": 30, "TOTAL_LENGTH": 70},
    )  # fmt: skip
    assert inspection.inspect(data, Path("x")).before.largest_ms == 7.0


def changing(
    before: float, after: float, at: int, others: dict[str, list[float | None]] | None = None, *, seconds: int = 40,
    noise: float = 0.0, name: str = "TCP upload",
) -> Any:  # fmt: skip
    """What is told of a throughput of some seconds that is another one from some second on, after 2 s of silence."""
    draw = np.random.default_rng(1)
    rates: list[float | None] = [(before if n < at else after) + noise * float(draw.normal()) for n in range(seconds)]
    times = [float(n) for n in range(seconds + 4)]
    series: dict[str, list[float | None]] = {name: [None, None, *rates, None, None]}
    metadata = {"LENGTH": seconds, "TOTAL_LENGTH": seconds + 4}
    return inspection.inspect(flent.FlentData("t", "", times, series | (others or {}), metadata), Path("x")).change


def test_a_throughput_changes_by_three_tenths_of_the_larger_and_more_than_chance() -> None:
    change = changing(100.0, 69.0, 20)
    assert (change.at_s, change.before_mbps, change.after_mbps) == (20.0, 100.0, 69.0)
    rise = changing(69.0, 100.0, 20)
    assert (rise.before_mbps, rise.after_mbps) == (69.0, 100.0)
    assert changing(100.0, 71.0, 20) is None
    assert changing(100.0, 65.0, 20, noise=10.0) is not None
    assert changing(100.0, 65.0, 20, noise=90.0) is None


def test_both_parts_of_a_change_last_five_seconds_after_the_first_five() -> None:
    assert changing(100.0, 50.0, 12).at_s == 12.0
    assert changing(100.0, 50.0, 11).at_s == 11.0
    assert changing(100.0, 50.0, 34).at_s == 34.0
    for early in (6, 9):
        assert (found := changing(100.0, 50.0, early)) is None or found.at_s >= 10.0
    assert changing(100.0, 50.0, 8, seconds=15) is None
    assert changing(100.0, 0.0, 38) is None, "it lasts for two seconds"
    assert changing(100.0, 50.0, 2, seconds=4) is None


def test_a_change_is_one_of_the_sum_of_uploads_or_of_downloads_where_there_are_none() -> None:
    steady: list[float | None] = [None, None, *[1000.0] * 40, None, None]
    falling: list[float | None] = [None, None, *[50.0] * 20, *[20.0] * 20, None, None]
    assert changing(100.0, 50.0, 20, {"TCP download": steady}) is not None
    assert changing(100.0, 50.0, 20, name="TCP download") is not None
    assert changing(100.0, 50.0, 20, {"TCP upload::2": steady}) is None, "the sum hardly changes"
    both = changing(100.0, 50.0, 20, {"TCP upload::2": falling, "TCP upload avg": steady, "TCP upload sum": steady})
    assert (both.before_mbps, both.after_mbps) == (150.0, 70.0)
    assert changing(100.0, 50.0, 20, name="HTTP") is None


def test_what_an_inspection_tells_of_the_machine_comes_from_its_metadata() -> None:
    data = recording(
        is_away=False,
        SERIES_META={
            "TCP upload::1": {"CONG_CONTROL": "reno", "DATA_TOS": 255}, "TCP upload::2": {"CONG_CONTROL": "bbr"},
            "TCP download": {"CONG_CONTROL": "", "UPSTREAM_TOS": 4, "DATA_TOS": 8},
            "TCP other": {"UPSTREAM_TOS": 3}, "TCP more": {"UPSTREAM_TOS": 256}, "TCP minus": {"UPSTREAM_TOS": -8},
        },
        SYSCTLS={"net.core.default_qdisc": "fq"}, EGRESS_INFO={"qdiscs": []},
    )  # fmt: skip
    found = inspection.inspect(data, Path("folder/x.flent.gz"))
    assert (found.name, found.test, found.title) == ("x.flent.gz", "tcp_1up", "a title")
    assert (found.uploads, found.downloads) == (["bbr", "reno"], [])
    assert found.markings == ["0x01", "0x3f"]
    assert (found.qdisc, found.default, found.kernel, found.driver, found.ecn) == ("fq", None, None, None, None)
    told = found.as_dict()
    assert (told["away_before"], told["away_after"], told["away"]) == (False, False, False)
    assert (told["name"], told["before"]["pings"]) == ("x.flent.gz", 25)


def of_series(name: str, results: dict[str, list[float | None]], **metadata: object) -> flent.FlentData:
    return flent.FlentData(
        name, "", [float(at) for at in range(1, len(next(iter(results.values()))) + 1)], results, metadata
    )


def test_an_overlay_has_a_panel_for_each_kind_and_one_for_pings_under_load() -> None:
    rates: list[float | None] = [None, 10.0, 20.0, 30.0, None]
    pings: list[float | None] = [50.0, 40.0, None, 30.0, 1.0]
    data = of_series("tcp_1up", {"TCP upload": rates, "Ping (ms) ICMP": pings}, LENGTH=3, TOTAL_LENGTH=5)
    picture = overlay([data], ["one.flent.gz"])
    rate, _, share = picture.axes
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in picture.axes] == [
        ("", "throughput\n(Mbit/s)"),
        ("time (s)", "ping (ms)"),
        ("ping (ms)", "share of pings\nunder load"),
    ]
    assert np.asarray(rate.get_lines()[0].get_xdata()).tolist() == [1, 2, 3, 4, 5]
    drawn_rates = np.asarray(rate.get_lines()[0].get_ydata())
    assert np.isnan(drawn_rates).tolist() == [True, False, False, False, True]
    assert drawn_rates[1:4].tolist() == [10, 20, 30]
    loaded = data.loaded("Ping (ms) ICMP")
    assert np.asarray(share.get_lines()[0].get_xdata()).tolist() == sorted(loaded)
    count = len(loaded)
    assert count >= 2
    assert np.asarray(share.get_lines()[0].get_ydata()).tolist() == [(number + 1) / count for number in range(count)]
    assert {axes.get_ylim()[0] for axes in picture.axes} == {0}
    assert share.get_xlim()[0] == 0
    assert rate.get_xlim() == (2, 4)
    assert picture.get_size_inches().tolist() == pytest.approx([7.2, 1.2 + 1.8 * 3])
    names = [text.get_text() for text in picture.legends[0].get_texts()]
    assert names == ["TCP upload", "Ping (ms) ICMP"]
    colours = [line.get_color() for line in picture.legends[0].get_lines()]
    assert colours == [style.numbered(0).colour, style.numbered(1).colour]
    alone = overlay([of_series("x", {"TCP upload": rates})], ["x"])
    assert [axes.get_xlabel() for axes in alone.axes] == ["time (s)"]


def test_of_several_files_each_has_a_colour_and_each_series_dashes() -> None:
    files = [of_series(name, {"TCP upload::1": [1.0], "TCP upload::2": [2.0]}) for name in ("a", "b")]
    picture = overlay(files, ["a.gz", "b.gz"])
    legend = picture.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == [
        f"{file}: TCP upload::{number}" for file in ("a.gz", "b.gz") for number in (1, 2)
    ]
    looks = [style.varied(style.numbered(file), own) for file in (0, 1) for own in (0, 1)]
    assert [line.get_color() for line in legend.get_lines()] == [look.colour for look in looks]
    assert looks[0].dashes != looks[1].dashes
    (axes,) = picture.axes
    dashes = [line._unscaled_dash_pattern for line in axes.get_lines()]  # type: ignore[attr-defined]
    assert dashes[0] != dashes[1]


@pytest.mark.parametrize(("count", "entries"), [(16, 16), (17, 2)])
def test_many_lines_have_an_entry_a_file(count: int, entries: int) -> None:
    first = of_series("a", {f"TCP upload::{number}": [1.0] for number in range(count - 1)})
    picture = overlay([first, of_series("b", {"TCP upload": [2.0]})], ["a", "b"])
    legend = picture.legends[0]
    names = [text.get_text() for text in legend.get_texts()]
    assert len(names) == entries
    if entries == 2:
        assert names == ["a (16 lines)", "b (1 lines)"]
        assert [line.get_color() for line in legend.get_lines()] == [style.numbered(number).colour for number in (0, 1)]
        assert [line.get_linestyle() for line in legend.get_lines()] == ["-", "--"]


def test_a_sum_is_drawn_where_its_parts_are_missing_and_nothing_that_is_empty() -> None:
    derived = {"TCP upload fairness": 0.9, "TCP upload avg": 5.0, "TCP upload sum": 10.0}
    assert drawn("a", **derived) == {"throughput\n(Mbit/s)": [("TCP upload avg", 5.0)]}
    with pytest.raises(ValueError, match="nothing to draw"):
        drawn("a", **{"TCP upload fairness": 0.9})
    sockets = {"TCP upload::1": 4.0, "TCP upload::1::tcp_rtt": 7.0, "Ping (ms) avg": 3.0, "HTTP latency::x": 1.0}
    panels = drawn("a", **sockets)
    assert panels["throughput\n(Mbit/s)"] == [("TCP upload::1", 4.0)]
    assert panels["ping (ms)"] == [("Ping (ms) avg", 3.0)]
    assert "HTTP latency" not in panels
    picture = overlay([of_series("a", {"TCP upload": [None, None], "TCP download": [1.0, None]})], ["a"])
    assert [text.get_text() for text in picture.legends[0].get_texts()] == ["TCP download"]
    with pytest.raises(ValueError, match=r"the series are none$"):
        overlay([flent.FlentData("a", "", [1.0], {})], ["a"])
