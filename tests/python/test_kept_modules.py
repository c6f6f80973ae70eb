"""``crates/python/kept.py``: extension modules that other clones take."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import ROOT, load

kept = load("crates/python/kept.py")


def sources(folder: Path, text: str) -> str:
    """The key of a clone whose only source has this text."""
    source = folder / "crates/one/src/lib.rs"
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text, "utf-8")
    for name in ("Cargo.toml", "Cargo.lock"):
        (folder / name).write_text("", "utf-8")
    key: str = kept.key(folder)
    return key


def test_clones_of_equal_sources_have_one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = sources(tmp_path / "one", "fn a() {}")
    assert sources(tmp_path / "two", "fn a() {}") == one
    assert sources(tmp_path / "two", "fn b() {}") != one
    monkeypatch.setenv("RUSTFLAGS", "-Ctarget-cpu=native")
    assert kept.key(tmp_path / "one") != one


def test_what_was_kept_is_taken_by_its_own_sources_alone(tmp_path: Path) -> None:
    module, taken, modules = tmp_path / "module", tmp_path / "taken", tmp_path / "modules"
    module.write_bytes(b"built")
    assert not kept.take(modules, "a", taken)
    kept.keep(modules, "a", module)
    assert kept.take(modules, "a", taken)
    assert taken.read_bytes() == b"built"
    assert not kept.take(modules, "b", taken)


def test_a_damaged_module_is_not_taken_and_goes(tmp_path: Path) -> None:
    module, taken, modules = tmp_path / "module", tmp_path / "taken", tmp_path / "modules"
    module.write_bytes(b"built")
    kept.keep(modules, "a", module)
    (there,) = modules.iterdir()
    there.write_bytes(b"buil")
    assert not kept.take(modules, "a", taken)
    assert not taken.exists()
    assert list(modules.iterdir()) == []


def test_the_newest_stay_and_one_that_is_taken_is_new(tmp_path: Path) -> None:
    module, taken, modules = tmp_path / "module", tmp_path / "taken", tmp_path / "modules"
    for age, key in enumerate("abcd"):
        module.write_text(key)
        kept.keep(modules, key, module)
        (there,) = modules.glob(f"{key}.*")
        os.utime(there, (age, age))
    assert kept.take(modules, "a", taken)
    module.write_text("e")
    kept.keep(modules, "e", module)
    assert sorted(path.name[0] for path in modules.iterdir()) == ["a", "c", "d", "e"]


@pytest.mark.parametrize("place", ["", "taken by a file"])
def test_without_a_place_there_is_nothing_to_take_and_keeping_is_no_error(tmp_path: Path, place: str) -> None:
    module = tmp_path / "taken by a file"
    module.write_bytes(b"built")
    told = os.environ | {"DUMBBELL_CACHE": str(tmp_path / place) if place else ""}
    command = [sys.executable, str(ROOT / "crates/python/kept.py")]
    done = [subprocess.run([*command, action, str(module)], env=told, check=False) for action in ("take", "keep")]
    assert [one.returncode for one in done] == [1, 0]
    assert module.read_bytes() == b"built"
