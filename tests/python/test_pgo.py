"""``benches/pgo.py``: what it runs and compares; building takes half an hour."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dumbbell import _core

sys.path.append(str(Path(__file__).parents[2] / "benches"))

import pgo
from run import BENCHMARKS

BUILD = pgo.Build(Path("a.whl"), Path(str(_core.__file__)))


class Other(pgo.Build):
    """One that computes what another seed would."""

    def run(self, file: Path, *settings: str, **variables: str) -> dict[str, Any]:
        return super().run(file, *settings, "seed=2", **variables)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "lossy.toml"
    file.write_text('path = { rate = "10mbit", rtt = "40ms", loss = "1%" }\nflows = [{ cc = "cubic" }]\n', "utf-8")
    return file


def test_tables_have_one_digest_and_those_of_another_run_another(file: Path) -> None:
    one = BUILD.run(file, "duration=1s")
    assert one["packets"] > 0
    assert pgo.different(BUILD, BUILD, iter([(file, ["duration=1s"])])) == (1, [])
    other = Other(BUILD.wheel, BUILD.library)
    assert pgo.different(BUILD, other, iter([(file, ["duration=1s"])])) == (1, ["lossy.toml"])


def test_an_experiment_that_does_not_run_is_compared_by_its_error(file: Path) -> None:
    said: Mapping[str, Any] = BUILD.run(file, "duration=0s")
    assert "duration" in said["tables"]
    assert "packets" not in said
    assert pgo.different(BUILD, BUILD, iter([(file, ["duration=0s"])])) == (0, [])


def test_the_wheel_that_counts_need_not_run_elsewhere() -> None:
    command = ["maturin", "build", "--zig", "--compatibility", "manylinux_2_17", "--target", "x"]
    assert pgo.of_this_machine(command) == ["maturin", "build", "--zig", "--compatibility", "linux", "--target", "x"]
    assert pgo.of_this_machine(["maturin", "build"]) == ["maturin", "build"]


def test_every_benchmark_has_first_seconds_no_longer_than_it_is() -> None:
    for benchmark in BENCHMARKS:
        file, length = pgo.shortened(benchmark)
        assert file.is_file()
        assert length == f"duration={benchmark.first_s}s"
        assert benchmark.first_s <= benchmark.counted_s[1]
