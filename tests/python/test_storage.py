"""What is written: only over files of ours, whole or not at all, also when the process is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dumbbell as db
import killed
from conftest import SWEEP, Cli
from dumbbell import batches, demo, marker, reading, results, storage
from dumbbell.storage import OutputError

FOREIGN = {"notes.txt": "mine", "src/app.js": "mine"}


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("scene", ["new", "empty", "replace", "draw", "new-sweep", "replace-sweep"])
def test_a_process_killed_at_any_change_leaves_the_old_or_the_new_and_nothing_after_the_next(
    scene: str, tmp_path: Path
) -> None:
    (tmp_path / "scene").mkdir()
    command = [sys.executable, killed.__file__, scene, str(tmp_path / "scene")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(steps) > 10
    assert [step["killed"] for step in steps] == [True] * (len(steps) - 1) + [False]
    seen = set()
    for step in steps:
        shown = {name: text for name, text in step["after_kill"].items() if not Path(name).name.startswith(".")}
        wholes: dict[str, dict[str, str]] = {}
        for name, text in shown.items():
            hidden = any(part.startswith(".") for part in Path(name).parts)
            if name not in FOREIGN and not hidden and Path(name).name not in (storage.MARKER, "overview.svg"):
                wholes.setdefault(str(Path(name).parent), {})[Path(name).name] = text
        for where, files in wholes.items():
            kind = results.RESULT if "sweep" not in scene else results.SWEEP if where == "." else batches.BATCH
            assert set(files) == set(kind.files)
            assert len(set(files.values())) == 1, "old and new are not mixed"
            seen |= set(files.values())
        if scene in ("replace", "draw", "replace-sweep"):
            assert {name: shown[name] for name in FOREIGN} == FOREIGN
            assert "." in wholes, "the old is not lost before the new is there"
        assert step["after_next"] == steps[-1]["after_next"]
        assert not [name for name in step["after_next"] if ".dumbbell" in name]
    assert seen == {"new": {"new"}, "empty": {"new"}, "new-sweep": {"new"}, "draw": {"old"}}.get(scene, {"old", "new"})


@pytest.mark.parametrize("step", range(1, 13))
def test_a_sweep_killed_at_any_rename_keeps_whole_batches_and_resumes(
    step: int, whole_sweep: Path, sweep: Path, tmp_path: Path
) -> None:
    # Renames: a marker in the new folder, a marker and a folder for each of four batches, then the joined tables: a
    # marker, the folder and what is in it.
    out = tmp_path / "out"
    assert in_batches_of_one(sweep, out, step).returncode == -9
    archive = batches.Archive(out)
    before = {folder: folder.stat().st_ino for folder in archive.folders()}
    assert len(before) == min(max(0, step - 2) // 2, 4)
    finished = db.load_sweep(whole_sweep)
    points = {point.content_hash: point for point in finished.points}
    for folder in before:
        for stored in archive.read(folder, results.TABLES).results(folder):
            expected = finished.load(points[stored.meta.content_hash])
            for name in results.TABLES:
                assert getattr(stored, name).to_polars().equals(getattr(expected, name).to_polars())
    done = in_batches_of_one(sweep, out, 99)
    assert done.returncode == 0, done.stderr
    assert {folder: folder.stat().st_ino for folder in archive.folders()}.items() >= before.items()
    assert set(content(out)) == set(content(whole_sweep)), "nothing is left behind"
    for name in ("flows.parquet", "links.parquet"):
        assert (out / name).read_bytes() == (whole_sweep / name).read_bytes()


@pytest.fixture(scope="module")
def whole_sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sweep that nobody interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "sweep.toml").write_text(SWEEP)
    assert in_batches_of_one(folder / "sweep.toml", folder / "out", 99).returncode == 0
    return folder / "out"


def in_batches_of_one(sweep: Path, out: Path, step: int) -> subprocess.CompletedProcess[str]:
    """Runs a sweep that is killed before its rename number ``step``."""
    script = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); step = int(sys.argv.pop(1))\n"
        "import polars, killed; from dumbbell import commits; from dumbbell.cli import main\n"
        "commits.MAX_POINTS = 1\n"
        "killed.kill_before_change(step, lambda event, args: event == 'os.rename')\n"
        "main()"
    )
    command = [sys.executable, "-c", script, str(Path(__file__).parent), str(step)]
    arguments = ["run", str(sweep), "--jobs", "1", "--out", str(out)]
    return subprocess.run([*command, *arguments], capture_output=True, text=True)


def test_only_listed_files_are_replaced(result: db.Result, tmp_path: Path) -> None:
    out = result.save(tmp_path / "out")
    (out / "notes.txt").write_text("mine")
    (out / "overview.svg").write_text("mine")
    (out / "src").mkdir()
    (out / "src" / "app.js").write_text("mine")
    result.save(out)
    assert set(content(out)) == {*results.RESULT.files, storage.MARKER, "notes.txt", "overview.svg", "src/app.js"}
    assert (out / "overview.svg").read_text() == "mine"


def test_a_list_that_names_files_of_somebody_else_costs_none_of_them(result: db.Result, tmp_path: Path) -> None:
    out = result.save(tmp_path / "out")
    for name in ("thesis.tex", "photo.png"):
        (out / name).write_text("mine")
    path = out / storage.MARKER
    fields = json.loads(path.read_text())
    fields["files"] |= {"thesis.tex": None, "photo.png": "0123abcd"}
    path.write_text(json.dumps(fields))
    result.save(out)
    assert [(out / name).read_text() for name in ("thesis.tex", "photo.png")] == ["mine", "mine"]
    storage.remove(out, results.RESULT)
    assert {path.name for path in out.iterdir()} == {"thesis.tex", "photo.png"}


@pytest.mark.parametrize("damage", ["", "{", '{"kind": "sweep", "format": 2, "files": {"../x": null}}'])
def test_a_sweep_goes_on_although_its_marker_is_damaged(tmp_path: Path, damage: str) -> None:
    document = {
        "duration": "1s",
        "path": {"rate": "1mbit", "rtt": "20ms"},
        "flows": [{"cc": "reno"}],
        "sweep": {"repeat": 3},
    }
    out = tmp_path / "out"
    two = document | {"sweep": {"repeat": 2}}
    db.sweep(two, out=out).collect()
    (out / "notes.txt").write_text("mine")
    (out / storage.MARKER).write_text(damage)
    with pytest.warns(db.DamagedResultWarning, match=r"dumbbell\.json.*written anew"):
        sweep = db.sweep(document, out=out)
    whole = sweep.collect()
    assert len(whole.points) == 3 and sorted(path.name for path in (out / "batches").iterdir()) == ["000000", "000001"]
    assert (out / "notes.txt").read_text() == "mine"
    assert db.load_sweep(out).points == whole.points


def test_pictures_join_the_list_and_go_with_the_result_that_they_show(
    dumbbell: Cli, experiment: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert dumbbell("run", experiment, "--out", out, "--plot").status == 0
    assert json.loads((out / "dumbbell.json").read_text())["files"].keys() == {path.name for path in out.iterdir()} - {
        "dumbbell.json"
    }
    (out / "mine.png").write_text("mine")
    assert dumbbell("run", experiment, "--out", out).status == 0
    assert {path.name for path in out.iterdir()} == {*results.RESULT.files, "dumbbell.json", "mine.png"}


def test_a_picture_does_not_replace_a_file_of_somebody_else(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    dumbbell("run", experiment, "--out", out)
    (out / "overview.png").write_text("mine")
    done = dumbbell("plot", out)
    assert done.status == 2
    assert "overview.png" in done.err and "dumbbell.json" in done.err
    assert (out / "overview.png").read_text() == "mine"
    assert not (out / "tradeoff.png").exists()


@pytest.mark.parametrize("sign", ["meta.json", "sweep.json", "points"])
@pytest.mark.parametrize("which", ["experiment", "sweep"])
def test_a_project_that_looks_like_a_result_is_refused_untouched(
    dumbbell: Cli, which: str, sign: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    web = tmp_path / "web"
    (web / "src").mkdir(parents=True)
    (web / "src" / "app.js").write_text("mine")
    if sign == "points":
        (web / sign / "mine").mkdir(parents=True)
    else:
        (web / sign).write_text('{"points": [], "version": "1.0"}')
    before = content(web)
    done = dumbbell("run", request.getfixturevalue(which), "--out", web)
    assert done.status == 2
    assert "web" in done.err and "no dumbbell.json" in done.err
    assert content(web) == before


def test_files_of_somebody_else_are_named_three_at_most(dumbbell: Cli, experiment: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    for name in ("a", "b", "c"):
        (place / name).write_text("mine")
    assert "(a, b, c)" in dumbbell("run", experiment, "--out", place).err
    (place / "d").write_text("mine")
    assert "(a, b, c, ...)" in dumbbell("run", experiment, "--out", place).err


def test_a_sweep_does_not_replace_a_run_nor_a_run_a_sweep(
    dumbbell: Cli, experiment: Path, sweep: Path, tmp_path: Path
) -> None:
    assert dumbbell("run", experiment, "--out", tmp_path / "run").status == 0
    assert dumbbell("run", sweep, "--out", tmp_path / "sweep").status == 0
    before = content(tmp_path)
    for file, place in ((sweep, "run"), (experiment, "sweep")):
        done = dumbbell("run", file, "--out", tmp_path / place)
        assert done.status == 2
        assert "choose another place" in done.err
    assert content(tmp_path) == before


def test_files_of_the_same_name_are_refused_before_anything_runs(
    dumbbell: Cli, experiment: Path, tmp_path: Path
) -> None:
    other = tmp_path / "b" / experiment.name
    other.parent.mkdir()
    other.write_text(experiment.read_text())
    for second in (other, experiment):
        done = dumbbell("run", experiment, second, "--set", "duration=10h", "--out", tmp_path / "out")
        assert done.status == 2
        assert str(second) in done.err and str(tmp_path / "out" / experiment.stem) in done.err
        assert not (tmp_path / "out").exists()


def test_the_current_directory_can_hold_the_result(
    dumbbell: Cli, experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for _ in range(2):
        assert dumbbell("run", experiment, "--out", ".").status == 0
        assert {path.name for path in here.iterdir()} == {*results.RESULT.files, "dumbbell.json"}
    monkeypatch.chdir(tmp_path)
    done = dumbbell("run", experiment, "--out", ".")
    assert done.status == 2
    assert experiment.name in done.err


def test_a_link_is_replaced_and_what_it_leads_to_stays(result: db.Result, tmp_path: Path) -> None:
    out = result.save(tmp_path / "out")
    elsewhere = tmp_path / "elsewhere"
    (out / "series.parquet").rename(elsewhere)
    (out / "series.parquet").symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    result.save(out)
    assert elsewhere.read_bytes() == before
    assert not (out / "series.parquet").is_symlink()


def test_a_list_that_names_files_elsewhere_is_damaged(result: db.Result, tmp_path: Path) -> None:
    out = result.save(tmp_path / "out")
    (tmp_path / "precious").write_text("mine")
    marker = json.loads((out / "dumbbell.json").read_text())
    (out / "dumbbell.json").write_text(json.dumps(marker | {"files": marker["files"] | {"../precious": None}}))
    with pytest.raises(db.OutputError, match=r"dumbbell\.json"):
        result.save(out)
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_result_of_an_earlier_version_is_read_and_only_its_own_files_are_replaced(
    result: db.Result, tmp_path: Path
) -> None:
    out = result.save(tmp_path / "out")
    (out / "dumbbell.json").unlink()
    (out / "overview.png").write_text("mine")
    assert db.load_result(out).meta == result.meta
    result.save(out)
    assert set(content(out)) == {*results.RESULT.files, "dumbbell.json", "overview.png"}
    assert (out / "overview.png").read_text() == "mine"


def test_two_writers_of_the_same_place_do_not_mix(result: db.Result, tmp_path: Path) -> None:
    for place in (tmp_path / "new", result.save(tmp_path / "old")):
        before = content(tmp_path)
        with pytest.raises(db.OutputError, match="another run is writing"), storage.directory(place, results.RESULT):
            result.save(place)
        assert content(tmp_path) == before


def test_what_a_living_process_builds_is_not_taken_for_a_dead_ones(tmp_path: Path) -> None:
    (tmp_path / "points").mkdir()
    with storage.directory(tmp_path / "points" / "a", results.RESULT) as staging:
        for name in results.RESULT.files:
            (staging / name).write_text("new")
        storage.discard_stale(tmp_path / "points")
    assert set(content(tmp_path / "points" / "a")) == {*results.RESULT.files, storage.MARKER}


def test_a_folder_of_somebody_else_with_the_name_of_a_stale_one_stays(result: db.Result, tmp_path: Path) -> None:
    stale = tmp_path / f".out{storage.BUILDING}"
    stale.mkdir()
    (stale / "thesis.tex").write_text("mine")
    with pytest.raises(db.OutputError, match=r"thesis\.tex"):
        result.save(tmp_path / "out")
    storage.discard_stale(tmp_path)
    assert content(tmp_path) == {f".out{storage.BUILDING}/thesis.tex": b"mine"}


def test_a_sweep_that_another_process_writes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    first = db.sweep(path, out=tmp_path / "out")
    running = iter(first)
    next(running)
    with pytest.raises(db.OutputError, match="another run is writing"):
        db.sweep(path, out=tmp_path / "out")
    running.close()  # type: ignore[attr-defined]
    assert len(db.sweep(path, out=tmp_path / "out").collect().points) == 4


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_directory_that_may_not_be_written_is_named(result: db.Result, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(db.OutputError, match="Permission denied"):
        result.save(tmp_path / "out")
    tmp_path.chmod(0o700)


def test_a_demonstration_starts_anew_beside_files_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    point = tmp_path / "out" / "demo" / "lossy" / "points" / "0"
    killed.write(point, "old")
    (point.parent.parent / "notes.txt").write_text("mine")
    monkeypatch.setattr(demo, "_show", lambda *_: None)
    demo.main()
    assert content(tmp_path) == {"out/demo/lossy/notes.txt": b"mine"}


def test_a_long_table_is_read_from_its_file_column_by_column(
    result: db.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LONG_ROWS", 10)
    result.save(tmp_path / "out")
    loaded = db.load_result(tmp_path / "out")
    # What was read is kept: a later run into the same directory does not change it.
    (tmp_path / "out" / "series.parquet").unlink()
    assert loaded.series.columns == result.series.columns
    assert len(loaded.series) == len(result.series)
    assert loaded.series.to_polars(["t_s", "cwnd"]).equals(result.series.to_polars(["t_s", "cwnd"]))
    assert loaded.series.to_polars().equals(result.series.to_polars())
    assert loaded.plot.overview().axes[0].get_lines()
    loaded.save(tmp_path / "again")
    assert db.load_result(tmp_path / "again").series.to_polars().equals(result.series.to_polars())


# -- folders of ours, one function after the other --------------------------------------------------------------------

OURS = storage.Kind("thing", ("a", "b"), lambda folder: None)
THEIRS = storage.Kind("other", ("a",), lambda folder: None)


def made(folder: Path, kind: storage.Kind = OURS, **contents: str) -> Path:
    with storage.directory(folder, kind, list(contents) or None) as staging:
        for name, content in (contents or dict.fromkeys(kind.files, "x")).items():
            (staging / name).write_text(content)
    return folder


def listed(folder: Path) -> dict[str, str | None]:
    read = marker.read_marker(folder)
    return {} if read is None else dict(read.files)


def inside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_has_its_files_and_their_checksums_and_loses_those_that_are_no_longer_listed(tmp_path: Path) -> None:
    folder = made(tmp_path / "deep" / "out", a="1", b="2")
    assert inside(folder) == ["a", "b", "dumbbell.json"]
    assert listed(folder) == {"a": marker.checksum(b"1"), "b": marker.checksum(b"2")}
    assert inside(folder.parent) == ["out"]
    (folder / "mine").write_text("precious")
    made(folder, a="3", c="4")
    assert inside(folder) == ["a", "c", "dumbbell.json", "mine"]
    (folder / "c").write_text("changed by somebody")
    made(folder, a="5")
    assert inside(folder) == ["a", "c", "dumbbell.json", "mine"], "what was changed stays"
    assert set(listed(folder)) == {"a", "c"}
    with pytest.raises(OutputError, match=r"holds a thing, and this is a other; choose another place"):
        made(folder, THEIRS)
    with pytest.raises(OutputError, match=r"out/mine exists and dumbbell\.json does not list it"):
        made(folder, a="1", mine="2")
    assert (folder / "mine").read_text() == "precious" and (folder / "a").read_text() == "5"


def test_what_ends_badly_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    for place in (tmp_path / "new", made(tmp_path / "old", a="1")):
        before = inside(place) if place.exists() else None
        with pytest.raises(ValueError, match="no"), storage.directory(place, OURS) as staging:
            (staging / "a").write_text("half")
            raise ValueError("no")
        assert (inside(place) if place.exists() else None) == before
        unwritten = pytest.raises(OutputError, match=f"cannot write .*{place.name}: No such file")
        with unwritten, storage.directory(place, OURS):
            pass
        assert (inside(place) if place.exists() else None) == before
    assert inside(tmp_path) == ["old"]


def test_a_place_is_looked_at_before_it_is_needed_and_left_as_it_was(tmp_path: Path) -> None:
    for check in (storage.check_target, storage.check_claim):
        check(tmp_path / "new", OURS)
        assert inside(tmp_path) == []
    old = made(tmp_path / "old", THEIRS)
    empty = tmp_path / "empty"
    empty.mkdir()
    for check in (storage.check_target, storage.check_claim):
        check(empty, OURS)
        with pytest.raises(OutputError, match="holds a other, and this is a thing"):
            check(old, OURS)
        assert inside(empty) == [] and inside(old) == ["a", "dumbbell.json"]
    (tmp_path / "file").write_text("")
    for check in (storage.check_target, storage.check_claim):
        with pytest.raises(OutputError, match="cannot write"):
            check(tmp_path / "file" / "out", OURS)


def test_a_claimed_place_is_a_folder_of_ours_that_disappears_where_nothing_is_written(tmp_path: Path) -> None:
    new, empty = tmp_path / "new", tmp_path / "empty"
    empty.mkdir()
    for place in (new, empty):
        with storage.claimed(place, OURS):
            assert inside(place) == ["dumbbell.json"] and listed(place) == {}
            with pytest.raises(OutputError, match="another run is writing"), storage.claimed(place, OURS):
                pass
    assert inside(tmp_path) == ["empty"] and inside(empty) == []
    with storage.claimed(new, OURS):
        (new / "more").write_text("x")
    assert inside(new) == ["dumbbell.json", "more"]
    known = made(tmp_path / "known", a="1")
    with storage.claimed(known, OURS):
        pass
    assert inside(known) == ["a", "dumbbell.json"] and listed(known) == {"a": marker.checksum(b"1")}


def test_files_that_are_added_are_listed_with_what_they_hold(tmp_path: Path) -> None:
    folder = made(tmp_path / "out", a="1")
    with storage.adding(folder, OURS, ["p", "q"]):
        assert listed(folder) == {"a": marker.checksum(b"1"), "p": None, "q": None}
        for name in ("p", "q"):
            (folder / name).write_text(name)
    assert listed(folder) == {"a": marker.checksum(b"1"), "p": marker.checksum(b"p"), "q": marker.checksum(b"q")}
    with storage.adding(folder, OURS, ["q", "r"]):
        (folder / "q").write_text("new")
    # One was never written: nothing is known of what the others hold now.
    assert listed(folder)["r"] is None
    (folder / "mine").write_text("x")
    foreign = pytest.raises(OutputError, match=r"out/mine exists and dumbbell\.json does not list it")
    with foreign, storage.adding(folder, OURS, ["mine"]):
        pass
    with pytest.raises(OutputError, match="cannot write"), storage.adding(tmp_path / "nowhere", OURS, ["p"]):
        pass


def test_a_file_is_written_whole_and_one_whose_name_says_its_content_once(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file"
    storage.write_file(target, b"longer")
    storage.write_file(target, b"new")
    assert target.read_bytes() == b"new" and inside(target.parent) == ["file"]
    kept = tmp_path / "kept"
    storage.keep_file(kept, b"1")
    storage.keep_file(kept, b"1")
    with pytest.raises(OutputError, match="kept is not what its name says; move it"):
        storage.keep_file(kept, b"2")
    assert kept.read_bytes() == b"1"


def test_only_what_is_as_it_was_written_is_removed(tmp_path: Path) -> None:
    whole = made(tmp_path / "whole", a="1", b="2")
    storage.remove(whole)
    assert not whole.exists() and inside(tmp_path) == []
    changed = made(tmp_path / "changed", a="1", b="2")
    (changed / "a").write_text("mine")
    storage.remove(changed)
    assert inside(changed) == ["a"]
    forced = made(tmp_path / "forced", a="1", b="2", c="3")
    for name in ("a", "c"):
        (forced / name).write_text("damaged")
    (forced / "mine").write_text("x")
    storage.remove(forced, OURS)
    assert inside(forced) == ["c", "mine"]
    beside = made(tmp_path / "beside", a="1")
    (beside / "link").symlink_to(beside / "a")
    storage.remove(beside)
    assert inside(beside) == ["link"]


def test_what_is_left_of_killed_processes_goes_and_what_is_not_ours_stays(tmp_path: Path) -> None:
    building = tmp_path / f".one{storage.BUILDING}"
    building.mkdir()
    (building / "dumbbell.json").write_bytes(marker.Marker("thing", {"a": None}).content())
    (building / "a").write_text("half")
    others = tmp_path / f".two{storage.BUILDING}"
    others.mkdir()
    (others / "precious").write_text("x")
    for name in (f"three{storage.BUILDING}", ".four"):
        (tmp_path / name).mkdir()
    storage.discard_stale(tmp_path)
    assert inside(tmp_path) == sorted([f".two{storage.BUILDING}", f"three{storage.BUILDING}", ".four"])
    storage.discard_stale(tmp_path / "nowhere")
    assert storage._some(["a", "b", "c"]) == "a, b, c"
    assert storage._some(["a", "b", "c", "d"]) == "a, b, c, ..."
