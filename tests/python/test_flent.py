"""Flent's tests on simulated paths, and the files that Flent opens."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dumbbell import flent
from dumbbell.application import app
from dumbbell.flent import inspection
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
    ],
)
def test_wrong_arguments_are_explained(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["flent", *arguments])
    assert done.exit_code != 0 and message in f"{done.output} {done.exception}"
