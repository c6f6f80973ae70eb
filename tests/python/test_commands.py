"""What commands make of the texts of their options, and what they say of numbers by hand."""

from __future__ import annotations

import io
import itertools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import dumbbell as db
from conftest import EXPERIMENT, Cli
from dumbbell.check.judge import Finding
from dumbbell.commands import (
    adversary,
    animate,
    check,
    compare,
    completion,
    evidence,
    flent,
    gate,
    museum,
    options,
    pages,
    plot,
    run,
    running,
    shell,
    watch,
    why,
)
from dumbbell.grounds import SIMULATED, Linux, Simulator
from dumbbell.results import point_named
from dumbbell.terminal import Grid

Refused = Callable[..., str]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """What is said of a call that ends the program."""

    def call(what: Callable[..., object], *arguments: Any, **named: Any) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            what(*arguments, **named)
        assert end.value.code == 2
        return " ".join(capsys.readouterr().err.split())

    return call


# Options that several commands have.


def test_pairs_of_an_option_are_told_apart_at_their_first_sign(refused: Refused) -> None:
    assert options.split([" a = b=c ", "d="], "--set", "K=V") == {"a": "b=c", "d": ""}
    assert options.split(None, "--set", "K=V") == {}
    for pair in ("a", "=b", " =b"):
        assert (
            refused(options.split, [pair], "--set", "K=V, such as a=b")
            == f"error: --set {' '.join(pair.split())}: write K=V, such as a=b"
        )
    assert options.settings(["vary_rtt=0s", "b=1"], vary_rtt=True) == {"vary_rtt": "0s", "b": "1"}
    assert options.settings(None, vary_rtt=True) == {"vary_rtt": "1packet"}
    assert options.settings(["b=1"]) == {"b": "1"}
    assert options.several("a, b ,,c") == ["a", "b", "", "c"]


def test_a_trace_that_is_not_there_is_told_with_what_one_is(refused: Refused, tmp_path: Path) -> None:
    options.check_trace(None)
    (tmp_path / "a.up").write_text("1\n")
    options.check_trace(tmp_path / "a.up")
    for path, reason in (
        (tmp_path, "this is a directory, and a file is wanted"),
        (tmp_path / "b.up", "there is no such file"),
    ):
        assert refused(options.check_trace, path).startswith(f"error: --trace {path}: {reason} help: a Mahimahi")


def test_a_ground_has_the_options_that_go_with_it(refused: Refused) -> None:
    assert options.ground("sim", None, None) == Simulator(1, False)
    assert options.ground("simulator", None, [], threads=3) == Simulator(3, False)
    assert options.ground("sim", None, None, plain=True) == Simulator(1, True)
    assert options.ground("linux", 5, ["net.a=1"], allow_programs=True) == Linux(
        retries=5, sysctl={"net.a": "1"}, allow_programs=True
    )
    assert options.ground("linux", None, None) == Linux(retries=2)
    for arguments, named, said in (
        (("sim", None, None), {"plain": True, "threads": 2}, "a --plain run takes one thread: leave out --threads"),
        (("sim", None, ["net.a=1"]), {}, "--sysctl goes with --on linux"),
        (("sim", None, None), {"allow_programs": True}, "--allow-programs goes with --on linux"),
        (("sim", 2, None), {}, "--retries goes with --on linux"),
        (("moon", 2, None), {}, "--on moon: choose sim or linux"),
        (("linux", 2, None), {"threads": 2}, "--threads goes with the simulator: leave it out, or --on linux"),
        (("linux", 2, None), {"plain": True}, "--plain goes with the simulator: leave it out, or --on linux"),
        (("linux", 2, ["a"]), {}, "--sysctl a: write NAME=VALUE, such as --sysctl net.ipv4.tcp_sack=0"),
    ):
        assert refused(options.ground, *arguments, **named) == f"error: {said}"


def test_a_share_is_a_part_of_all(refused: Refused) -> None:
    assert [options.share(text) for text in (None, "1%", "0.25", "100%", "1")] == [0.0, 0.01, 0.25, 1.0, 1.0]
    for text in ("0", "0%", "-1%", "101%", "1.01", "much", "%"):
        assert refused(options.share, text) == f"error: --verify {text}: write a share such as 1% or 0.01"
    assert refused(options.share, "x", "--share").startswith("error: --share x:")
    assert options.others(keep=False, rerun=False, is_kept=False) == "refuse"
    assert options.others(keep=True, rerun=False, is_kept=True) == "keep"
    assert options.others(keep=False, rerun=True, is_kept=True) == "rerun"
    assert "exclude each other" in refused(options.others, keep=True, rerun=True, is_kept=True)
    assert options.size(None) is None
    assert options.size("1MiB") == 1024**2
    assert refused(options.size, "much").startswith("error: --max-memory much: ")


def test_a_cluster_takes_no_limits_of_this_machine(refused: Refused) -> None:
    with options.cluster(None, options.Limits(3, None)) as limits:
        assert limits == options.Limits(3, None, SIMULATED, None, "refuse", 0.0)

    def entered(address: str | None, limits: options.Limits) -> None:
        with options.cluster(address, limits):
            pass

    assert "--verify goes with --cluster" in refused(entered, None, options.Limits(None, None, verify=0.1))
    for limits in (options.Limits(1, None), options.Limits(None, None, Simulator(2, False))):
        assert "leave out --jobs, --threads, --plain and --on" in refused(entered, "tcp://127.0.0.1:1", limits)


def test_an_experiment_is_read_from_a_file_or_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "two.toml").write_text(EXPERIMENT)
    assert options.load(tmp_path / "two.toml", seed=9).points[0].seed == 9
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(EXPERIMENT.encode())))
    assert options.load(Path("-"), seed=8).points[0].seed == 8
    assert (options.stem(Path("-")), options.stem(Path("a/two.toml"))) == ("standard-input", "two")


# What a picture is to show.


@pytest.mark.parametrize(
    ("text", "span"),
    [
        (None, None),
        ("0:10", (0, 10)),
        ("0:", (0, None)),
        (":10", (None, 10)),
        (" 1 : 2.5 ", (1, 2.5)),
        ("-1:1e3", (-1, 1000)),
    ],
)
def test_a_span_has_two_ends_or_one(text: str | None, span: tuple[float | None, float | None] | None) -> None:
    assert plot._span(text) == span


def test_a_span_without_an_end_and_a_size_without_two_are_refused(refused: Refused) -> None:
    for text in ("10", ":", "a:b", "1:2:3", ""):
        assert refused(plot._span, text).startswith(
            f"error: --ylim {text}: write LOW:HIGH, such as 0:10".replace("  ", " ")
        )
    for text in ("3", "3x", "x3", "3x2px", "0.4x2", "2x0.4", "101x5", "5x101", "1..2x3", "3.3x2.2inch"):
        assert refused(plot._inches, text).startswith(
            f"error: --size {text}: write width and height, such as 3.3x2.2in"
        )


@pytest.mark.parametrize(
    ("text", "inches"),
    [
        ("3.3x2.2in", (3.3, 2.2)), ("3.3 x 2.2", (3.3, 2.2)), ("2.54x5.08cm", (1, 2)), (" 254x127mm ", (10, 5)),
        ("0.5x100", (0.5, 100)), ("100x0.5", (100, 0.5)),
    ],
)  # fmt: skip
def test_a_size_is_in_inches(text: str, inches: tuple[float, float]) -> None:
    assert plot._inches(text) == pytest.approx(inches)
    assert plot._inches(None) is None


def test_formats_are_those_that_are_named_or_that_the_file_has(refused: Refused, tmp_path: Path) -> None:
    assert plot._formats(None, None) == ["png", "svg", "pdf"]
    assert plot._formats("pdf,png", None) == ["png", "pdf"]
    assert plot._formats(None, Path("a.svg")) == ["svg"]
    assert plot._formats("svg", Path("a.svg")) == ["svg"]
    assert plot._formats("pdf", tmp_path) == ["pdf"]
    assert plot._formats(None, Path("results.2024")) == ["png", "svg", "pdf"]
    (tmp_path / "a.jpg").mkdir()
    assert plot._formats(None, tmp_path / "a.jpg") == ["png", "svg", "pdf"]
    for name in ("a.jpg", "a.eps"):
        assert "no picture is written as " + name[1:] in refused(plot._formats, None, Path(name))
    for text in ("gif", "png,gif", "", "png,"):
        assert f"--format {text}: choose from png, svg, pdf".replace("  ", " ") in refused(plot._formats, text, None)
    assert "--format pdf: --out a.png is a png; leave one of both out" in refused(plot._formats, "pdf", Path("a.png"))


def test_the_name_of_a_picture_has_everything_that_decides_what_it_shows() -> None:
    nothing = plot.Wanted(None, None, None, None, {})
    assert nothing.is_default and nothing.named("x") == "x"
    for given in ({"kind": "box"}, {"x": "a"}, {"y": "a"}, {"by": "a"}, {"where": {"a": "b"}}, {"panels": "a"}):
        assert not nothing._replace(**given).is_default
    whole = plot.Wanted("box", "x", "y", "cc", {"rtt": "1ms"}, "loss")
    assert whole.named("box-y-x") == "box-y-x-by=cc-panels=loss-rtt=1ms"
    plain = plot.Look(None, "plain", None, (), "top", "", None, None, None, None)
    assert plain.name == ""
    assert plain._replace(style="dark", log="x", dpi=60.0).name == "-style=dark-log=x-dpi=60.0"


def test_the_look_of_a_picture_is_that_of_its_options_until_it_is_drawn(refused: Refused) -> None:
    look = plot.Look("4x3in", "dark", "t", ("x=a", "b=c"), "right", "y", "1:", "serif", 9.0, 60.0)
    with look.appearance():
        kept = db.plots.style._appearance.get()
        assert (kept.size, kept.style, kept.title, dict(kept.labels)) == ((4, 3), "dark", "t", {"x": "a", "b": "c"})
        assert (kept.legend, kept.log, kept.ylim) == ("right", frozenset("y"), (1, None))
        assert (kept.font, kept.font_size, kept.dpi) == ("serif", 9, 60)
    assert db.plots.style._appearance.get() == db.plots.style.Appearance()

    def entered() -> None:
        with look._replace(style="poster").appearance():
            pass

    assert "no style 'poster'" in refused(entered)


class Plots:
    """A result whose pictures are what was asked for."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *given, **named: (name, *given, *named.values())


def sweep_of(*axes: str) -> Any:
    return SimpleNamespace(plot=Plots(), axes=list(axes))


@pytest.mark.parametrize(
    ("wanted", "name", "drawn"),
    [
        ({"kind": "cdf"}, "cdf-goodput_mbps", ("cdf", "goodput_mbps", (), {}, ())),
        ({"kind": "cdf", "y": "jain", "by": "loss", "panels": "cc"}, "cdf-jain-by=loss-panels=cc",
         ("cdf", "jain", "loss", {}, "cc")),
        ({"kind": "heat", "x": "a", "by": "b"}, "heat-goodput_mbps-a-by=b",
         ("heat_map", "a", "b", "goodput_mbps", {}, ())),
        ({"kind": "box", "x": "a", "where": {"cc": "bbr"}}, "box-goodput_mbps-a-cc=bbr",
         ("box", "a", "goodput_mbps", (), {"cc": "bbr"}, ())),
        ({"x": "a", "y": "jain", "panels": "p"}, "jain-a-panels=p", ("metric", "a", "jain", (), {}, "p")),
        ({"kind": "line", "x": "a"}, "goodput_mbps-a", ("metric", "a", "goodput_mbps", (), {}, ())),
    ],
)  # fmt: skip
def test_a_picture_of_a_sweep_is_what_the_options_describe(
    wanted: dict[str, Any], name: str, drawn: tuple[Any, ...]
) -> None:
    asked = plot.Wanted(None, None, None, None, {})._replace(**wanted)
    found: dict[str, Any] = dict(plot._of_sweep(sweep_of("a"), asked))
    assert found == {name: drawn}


@pytest.mark.parametrize(
    ("wanted", "axes", "said"),
    [
        ({"kind": "share"}, ["a"], "shares over time need a single run"),
        ({"y": "jain"}, ["a", "b"], "--x is missing: one of a, b"),
        ({"y": "jain"}, [], "--x is missing: one of none, since nothing is swept"),
        ({"kind": "heat", "x": "a"}, ["a"], "--kind heat needs --by, the setting from bottom to top"),
        ({"kind": "cdf", "x": "a"}, ["a"], "--kind cdf has no --x: its horizontal axis is the metric, --y"),
    ],
)
def test_a_picture_of_a_sweep_that_lacks_something_is_refused(
    wanted: dict[str, Any], axes: list[str], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        plot._of_sweep(sweep_of(*axes), plot.Wanted(None, None, None, None, {})._replace(**wanted))


def test_a_picture_of_a_run_is_what_the_options_describe(result: db.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its pictures are made once, and another test may have asked for them.
    fresh = replace(result)
    monkeypatch.setattr(type(result), "plot", Plots())

    def drawn(**wanted: Any) -> Any:
        return plot._pictures(fresh, plot.Wanted(None, None, None, None, {})._replace(**wanted))

    assert drawn() is None
    assert drawn(kind="share") == {"share": ("shares", "received_mbps")}
    assert drawn(kind="share", y="cwnd") == {"share-cwnd": ("shares", "cwnd")}
    assert drawn(kind="cdf") == {"cdf-rtt_ms": ("cdf", "rtt_ms")}
    assert drawn(kind="cdf", y="cwnd") == {"cdf-cwnd": ("cdf", "cwnd")}
    assert drawn(y="cwnd") == {"cwnd": ("series", "cwnd")}
    for wanted in ({"y": "cwnd", "x": "a"}, {"y": "cwnd", "by": "a"}, {"kind": "box", "y": "cwnd"}, {"x": "a"}):
        with pytest.raises(ValueError, match="a single run has --kind cdf, --kind share and --series"):
            drawn(**wanted)
    for more in ({"panels": "a"}, {"where": {"a": "b"}}):
        with pytest.raises(ValueError, match="--panels and --where choose runs of a sweep"):
            drawn(**more)
    for kind, more in itertools.product(("share", "cdf"), ({"x": "a"}, {"by": "a"})):
        with pytest.raises(ValueError, match="--x and --by are settings of a sweep; this is a single run"):
            drawn(kind=kind, **more)


# What other commands make of their arguments.


def test_two_files_of_one_name_are_not_written_to_one_place(refused: Refused, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run._folders([Path("a.toml")], out) == [out]
    assert run._folders([Path("a.toml"), Path("b.toml")], None) == [None, None]
    assert run._folders([Path("a.toml"), Path("x/b.toml"), Path("-")], out) == [
        out / "a",
        out / "b",
        out / "standard-input",
    ]
    assert refused(run._folders, [Path("a.toml"), Path("x/a.toml")], out).startswith(
        f"error: a.toml and x/a.toml would both be written to {out}/a; rename one"
    )
    joined = run._joined([Path("a"), Path("b")], [{"points": [{"n": 1}, {"n": 2}]}, {"n": 3}])
    assert joined == [{"file": "a", "n": 1}, {"file": "a", "n": 2}, {"file": "b", "n": 3}]


def test_a_point_is_chosen_by_its_number_or_the_beginning_of_its_hash() -> None:
    points: list[Any] = [
        SimpleNamespace(content_hash=text) for text in ("12345678aa", "12345678bb", "7cafe12345", "7cafe12345")
    ]
    assert [points.index(point_named(points, word)) for word in ("0", "1", "12345678a", "12345678b")] == [0, 1, 0, 1]
    # Points that are the same have one hash.
    assert point_named(points, "7c").content_hash == "7cafe12345"
    several = "2 points have content hashes that begin so; write a number from 0 to 3, or more of a content hash"
    with pytest.raises(ValueError, match=f"12345678: {several}"):
        point_named(points, "12345678")
    for word in ("4", "1234567", "beef", ""):
        with pytest.raises(ValueError, match="there is no such point; write a number from 0 to 3"):
            point_named(points, word)


@pytest.mark.parametrize(
    ("forth", "back", "shaped", "down", "advice"),
    [(1.0, 1.0, False, False, None), (1.0, 2.0, True, False, None), (1.0, 2.0, False, False, "give --down"),
     (1.0, 2.0, False, True, "leave out --down")],
)  # fmt: skip
def test_a_shell_says_where_most_went_over_a_way_without_a_rate(
    forth: float, back: float, shaped: bool, down: bool, advice: str | None
) -> None:
    left: Any = SimpleNamespace(carried_bytes=(1e6 * forth, 1e6 * back), shapes_way_back=shaped)
    said = shell._unshaped(left, down=down)
    assert (said is None) is (advice is None)
    if advice is not None:
        assert said == (
            f"2 of 3 MB went over the way back, which has no rate; {advice} if they should go over the path, or "
            "describe the way back (path.reverse)"
        )


def test_a_point_of_a_film_is_one_that_there_is(
    refused: Refused, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], result: db.Result
) -> None:
    class Sweep:
        """Three points."""

        points = [SimpleNamespace(label=f"loss={number}") for number in range(3)]  # noqa: RUF012 - of one test

        def load(self, point: Any) -> Any:
            return point.label

    loaded: list[Any] = [Sweep()]
    monkeypatch.setattr("dumbbell.results.load", lambda _: loaded[0])
    monkeypatch.setattr("dumbbell.results.SweepResult", Sweep)
    assert [animate._chosen(Path("d"), point, quiet=False) for point in (0, 2)] == ["loss=0", "loss=2"]  # type: ignore[comparison-overlap]
    assert capsys.readouterr().err == ""
    assert animate._chosen(Path("d"), None, quiet=True) == "loss=0"  # type: ignore[comparison-overlap]
    assert capsys.readouterr().err == ""
    assert animate._chosen(Path("d"), None, quiet=False) == "loss=0"  # type: ignore[comparison-overlap]
    assert "point 0 of 3 is shown, loss=0; --point chooses another" in capsys.readouterr().err
    assert refused(animate._chosen, Path("d"), 3, quiet=False) == "error: --point 3: d has points 0 to 2"
    loaded[0] = result
    assert animate._chosen(Path("d"), None, quiet=False) is result
    assert refused(animate._chosen, Path("d"), 0, quiet=False) == "error: --point 0: d holds a single run; leave it out"


def test_times_of_a_budget_may_be_in_minutes(refused: Refused) -> None:
    assert [adversary._seconds(text) for text in ("10m", "10min", "2s", "1.5m", "100ms")] == [600, 600, 2, 90, 0.1]
    assert refused(adversary._seconds, "0ms") == "error: --budget 0ms: write a time above 0, such as 10min"
    assert refused(adversary._seconds, "soon").startswith("error: --budget soon: ")


def test_criteria_are_chosen_by_name_or_section_and_once(refused: Refused) -> None:
    found: Any = [
        SimpleNamespace(name=name, section=section)
        for name, section in (("01-ecn", "5.1"), ("02-short-flows", "5.1"), ("03-ecn", "6"))
    ]
    one, two, three = found
    for names, chosen in (
        ([], [one, two, three]), (["ecn"], [one, three]), (["5.1"], [one, two]),
        (["6", "03-ecn", "short-flows"], [three, two]),
    ):  # fmt: skip
        assert evidence._chosen(found, names) == chosen
    assert refused(evidence._chosen, found, ["x"]) == "error: --criterion x: there are ecn, short-flows, ecn"
    assert [evidence._finite(value) for value in (1.5, float("inf"), float("nan"))] == [1.5, None, None]
    assert pages.formats("md, html") == ["html", "md"]
    for text in ("pdf", "md,pdf", ""):
        assert f"--format {text}: choose from html, md".replace("  ", " ") in refused(pages.formats, text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["./monday", "./absent"], "./absent: there is no such directory"),
        (["monday", "old/absent"], "old/absent: there is no such directory"),
        (["./absent", "cubic"], "./absent: there is no such directory"),
        (["./a.toml", "monday"], "./a.toml: this is a file"),
        (["monday", "absent"], "absent: there is neither a directory nor an algorithm of that name"),
        (["monday", "bbr"], "bbr is an algorithm, and monday the directory of a result"),
        (["cubic", "monday"], "cubic is an algorithm, and monday the directory of a result; ./cubic is the directory"),
        (["monday", "mine.py:Mine"], "mine.py:Mine is an algorithm, and monday the directory of a result"),
    ],
)
def test_what_stands_beside_the_directory_of_a_result_is_one_too(
    dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("cubic", "monday"):
        Path(name).mkdir()
    Path("a.toml").touch()
    done = dumbbell("compare", *arguments)
    remedy = "name two directories that `dumbbell run --out` wrote, or algorithms alone"
    assert (done.status, done.err) == (2, f"error: {said}\n  help: {remedy}\n")


def test_algorithms_are_compared_whatever_directories_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cubic").mkdir()
    for arguments in (
        ["cubic", "bbr"], ["cubik", "bbr"], ["./x.so", "cubic"], ["agents/x.npz:gain=2", "bbr"], ["../mine.py", "reno"],
        ["mine/x.py:C:gain=2", "bbr:drain_gain=0.5"], ["bbr:trace=a/b", "bbr"],
    ):  # fmt: skip
        assert not compare._are_results(arguments)


def test_arguments_of_a_comparison(refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("cubic", "monday", "tuesday"):
        Path(name).mkdir()
    assert compare._are_results(["monday", "./cubic"])
    assert compare._default_place(["bbr", "cubic", "bbr"]) == Path("out/bbr-vs-cubic")
    Path("mine.py").write_text("")
    assert (
        compare._default_place(["mine.py", "mine.py:A"])
        == Path("out") / f"mine-vs-{db.printable.file_name('mine.py:A')}"
    )
    assert "give two directories to compare" in refused(compare._from_folders, ["monday"])
    limits = options.Limits(None, None)
    for arguments, on in ((["a.toml"], "sim"), (["a.toml", "b.toml"], "sim,linux"), (["a.toml"], "sim,linux,sim")):
        said = refused(compare._on_both_grounds, arguments, on, ({}, None), limits, (2, None), None)
        assert said.startswith("error: compare --on takes two grounds and one file")
    document = compare.document(
        ["bbr", "cubic"], {"rate": None, "rtt": "40ms", "buffer": "1bdp,2bdp", "loss": "0%"}, duration="6s"
    )
    assert document["sweep"]["path.buffer"] == ["1bdp", "2bdp"]
    assert document["path"]["rtt"] == "40ms"


def test_hosts_are_plain_that_say_nothing_of_buffers_and_clock() -> None:
    def plain(**transport: Any) -> bool:
        flow = {"cc": "cubic"} | ({"transport": transport} if transport else {})
        return compare._has_plain_hosts(
            db.experiment.load(
                {"duration": "1s", "path": {"rate": "1mbit", "rtt": "9ms"}, "flows": [{"cc": "reno"}, flow]}
            )
        )

    assert plain()
    assert plain(mss=1000)
    for changed in ({"receive_autotuning": True}, {"send_buffer": "9kB"}, {"hz": 250}, {"profile": "quic"}):
        assert not plain(**changed)


def test_files_count_whose_state_differs(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "a.toml").write_text("1")
    (tmp_path / "b.txt").write_text("1")
    watched = watch._Watched(tmp_path / "a.toml")
    watched.follow([str(tmp_path / "far" / "trace")])
    before = watched.state()
    assert set(before) == {tmp_path / "a.toml", tmp_path / "far" / "trace"}
    assert before[tmp_path / "far" / "trace"] is None
    assert before[tmp_path / "a.toml"] is not None
    (tmp_path / "mine.py").write_text("1")
    assert watched.state() != before
    (tmp_path / "mine.py").unlink()
    assert watched.state() == before
    (tmp_path / "a.toml").write_text("12")
    assert watched.state() != before
    (tmp_path / "c.toml").write_text("")
    assert tmp_path / "c.toml" in watched.state()


# What is said of rows by hand.


def row(verdict: str, *findings: tuple[str, str, float | None], number: int = 1, transport: str = "tcp") -> Any:
    found = [Finding(f"says {place}", one, "asked", text, when) for place, (one, text, when) in enumerate(findings)]  # type: ignore[arg-type]
    worst = next(one for one in found if one.verdict == verdict)
    case = SimpleNamespace(number=number, title=f"title {number}")
    return SimpleNamespace(case=case, transport=transport, verdict=verdict, findings=found, worst=worst)


def test_what_decides_about_a_case_is_a_sentence() -> None:
    failed = row("fail", ("pass", "a", 1.0), ("fail", "b", 1.23456))
    assert check._sentence(failed) == "1, tcp: says 1: asked asked, found b at 1.235 s"
    more = row("fail", ("fail", "a", None), ("fail", "b", 1.0), ("not observable", "c", None))
    assert check._sentence(more) == "1, tcp: says 0: asked asked, found a; 1 more fail"
    hidden = row("not observable", ("not observable", "it shows nothing", None), ("not observable", "x", None))
    assert check._sentence(hidden) == "1, tcp: says 0: it shows nothing"


def test_cases_are_a_line_each_with_a_column_a_transport(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tables: list[Grid] = []
    monkeypatch.setattr(Grid, "print", lambda grid, title=None: tables.append(grid))
    passed = ("pass", "a", None)
    check._print([
        row("pass", passed), row("fail", ("fail", "b", None), transport="quic"),
        row("pass", passed, number=2, transport="quic"),
    ])  # fmt: skip
    (table,) = tables
    assert [str(heading) for heading in table._headings] == ["case", "title", "tcp", "quic"]
    assert [list(cells) for cells in table._rows] == [["1", "title 1", "pass", "FAIL"], ["2", "title 2", "-", "pass"]]
    said = capsys.readouterr().out.splitlines()
    assert said == ["1, quic: says 0: asked asked, found b", "2 pass, 1 fail, 0 not observable"]


def visit(healthy: Any, faulty: Any, check_: str = "") -> Any:
    exhibit = SimpleNamespace(name="bug", algorithm="reno", date="2020", check=check_)
    holds = healthy.verdict == "pass" and faulty.verdict == "fail"
    return SimpleNamespace(exhibit=exhibit, healthy=healthy, faulty=faulty, holds=holds)


def test_what_an_exhibit_showed_is_a_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = row("pass", ("pass", "5 against 4", None), ("pass", "7", None))
    fails = row("fail", ("pass", "1", None), ("fail", "9 against 3", None))
    hidden = row("not observable", ("not observable", "it shows nothing", None))
    assert museum._sentence(visit(passes, fails)) == "bug: says 1: asked asked, found 9 with the bug, 7 without"
    assert museum._sentence(visit(fails, fails)) == "bug: says 1: asked asked, found 9 without the bug"
    assert museum._sentence(visit(passes, passes)) == "bug: its check passes with the bug"
    assert (
        museum._sentence(visit(passes, hidden)) == "bug: its check says nothing, since it shows nothing, with the bug"
    )
    other = row("fail", ("fail", "3", None))
    other.worst = Finding("else", "fail", "asked", "3", None)
    assert museum._sentence(visit(passes, other)) == "bug: else: asked asked, found 3 with the bug, none without"
    tables: list[Grid] = []
    monkeypatch.setattr(Grid, "print", lambda grid, title=None: tables.append(grid))
    museum._print([visit(passes, fails), visit(passes, passes, "rfc9438/7")])
    assert [list(cells) for cells in tables[0]._rows] == [
        ["bug", "reno", "2020", "pass", "FAIL", "its own"], ["bug", "reno", "2020", "pass", "pass", "rfc9438/7"],
    ]  # fmt: skip
    assert capsys.readouterr().out.splitlines()[-1] == "1 of 2 mistakes are told from none"


def test_what_is_recorded_alone_has_a_place_and_no_limits(refused: Refused) -> None:
    said = refused(gate._record, "bbr", None, [], False, {})
    assert said == "error: bbr is compared with nothing: name a second algorithm, or record this one with -o DIR"
    assert refused(gate._record, "bbr", Path("x"), ["loss +1"], False, {}).startswith(
        "error: loss +1: nothing is judged"
    )


def test_files_of_flent_are_told_in_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    summary = [("a long name", 12.345, 1.0, 7), ("b", 0.5, 100.0, 12)]
    data: Any = SimpleNamespace(name="tcp", title="mine", results={"a long name": [], "b": []}, summary=lambda: summary)
    flent._tell(data, [], quiet=False, as_json=False)
    assert capsys.readouterr().out.splitlines() == [
        "tcp, mine: Mbit/s and ms under load",
        "                  mean     median  values",
        "a long name      12.35       1.00       7",
        "b                 0.50     100.00      12",
    ]
    flent._tell(data, [Path("x")], quiet=True, as_json=False)
    assert capsys.readouterr().out == ""
    flent._tell(data, [Path("x")], quiet=False, as_json=True)
    told = capsys.readouterr().out
    assert '"files": [' in told and '"median": 100.0' in told and '"count": 12' in told


def test_threads_that_a_run_does_not_take_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    def point(reason: str | None) -> Any:
        return SimpleNamespace(why_one_thread=lambda: reason)

    running._tell_threads([point(None)])
    assert capsys.readouterr().err == ""
    running._tell_threads([point("it is short")])
    assert "the run takes one thread: it is short" in capsys.readouterr().err
    running._tell_threads([point(None), point("a"), point("b")])
    assert "the run of 2 of 3 points takes one thread: a" in capsys.readouterr().err


def test_what_why_is_asked_about_is_one_run(refused: Refused, tmp_path: Path, result: db.Result) -> None:
    folder = result.save(tmp_path / "run")
    loaded, place = why._result(folder, None, None, options.Limits(None, None))
    assert (loaded.meta.seed, place) == (result.meta.seed, folder)
    for settings, out in ((["a=b"], None), (None, tmp_path / "x")):
        said = refused(why._result, folder, settings, out, options.Limits(None, None))
        assert said == "error: --set and --out go with an experiment file; this is a result"
    file = tmp_path / "sweep.toml"
    file.write_text(EXPERIMENT + "[sweep]\nrepeat = 2\n")
    assert "the experiment has 2 points; run it, and ask about one" in refused(
        why._result, file, None, None, options.Limits(None, None)
    )
    file.write_text(EXPERIMENT)
    loaded, place = why._result(file, ["duration=2s", "seed=5"], None, options.Limits(1, None))
    assert (loaded.meta.sim_s, loaded.meta.seed, place) == (2.0, 5, None)


# What a shell offers.


def test_keys_are_offered_a_level_at_a_time() -> None:
    top = completion.settings("")
    assert {"path", "flows", "duration"} <= set(top) and len(top) == len(set(top))
    assert "path.rate" in completion.settings("path.")
    assert set(completion.settings("flows[12].c")) == {"flows[12].cc", "flows[12].count"}
    assert "flows[0].transport.mss" in completion.settings("flows[0].transport.")
    assert completion.settings("nowhere.") == []


def test_names_behind_commas_are_offered_once() -> None:
    assert completion.several_algorithms("bbr,cubi")[0] == "bbr,cubic"
    assert "bbr,bbr" not in completion.several_algorithms("bbr,bb")
    assert completion.several_algorithms("ren")[0] == "reno"
    assert completion.attacks("") == ["traffic", "connections", "trace", "delay", "losses"]
    assert completion.attacks("trace,tra") == ["trace,traffic"]
    assert completion.attacks("traffic,trace,") == [
        f"traffic,trace,{name}" for name in ("connections", "delay", "losses")
    ]
    assert completion.goals("") == ["throughput", "delay", "starvation", "loss"]
    assert completion.cases("rfc9") == ["rfc9438", "rfc9002"]
    assert "cubic-idle" in completion.exhibits("cubic-")
    assert completion.suites("aqm") == ["aqm"]
    assert completion.suites("no/such") == completion.studies("no/such") == []
    assert completion.studies("rebbr/fig1") == ["rebbr/fig1"]
    assert completion.metrics("jain") == ["jain"]
    assert "utilization" in completion.metrics("util") and completion.series("utilization") == []
