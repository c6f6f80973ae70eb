"""The experiments of benches/peers.py are ones that the engine runs, each with packets that arrive."""

import sys
from pathlib import Path

import pytest

import dumbbell as db

sys.path.append(str(Path(__file__).parents[2] / "benches"))

import peers


@pytest.mark.parametrize("row", peers.ROWS, ids=lambda row: row.name)
def test_the_experiment_of_a_row_runs(row: peers.Row, tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(row.file(0.3), "utf-8")
    run = db.run(file)
    assert len(run.flows.to_polars()) == row.flows
    assert run.meta.packets > 0


def test_names_of_rows_are_their_own() -> None:
    assert len({row.name for row in peers.ROWS}) == len(peers.ROWS)
