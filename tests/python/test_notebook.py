"""What a notebook sees, and what a short command does not wait for."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dumbbell as db
from load import PATIENCE_S


def test_a_result_is_a_table_with_goodput_and_interval(result: db.Result) -> None:
    html = result._repr_html_()
    assert "goodput<br>Mbit/s" in html
    assert "bbr1-linux-6.18" in html
    sweep = db.compare("bbr", loss="1%", duration="2s", repeat=3)
    assert "\N{PLUS-MINUS SIGN}" in sweep._repr_html_()


def test_labels_cannot_command_a_notebook() -> None:
    document = {
        "duration": "1s",
        "path": {"rate": "1mbit", "rtt": "40ms"},
        "flows": [{"cc": "bbr", "label": "<script>alert(1)</script>"}],
    }
    assert "<script>" not in db.run(document)._repr_html_()


def test_a_table_shows_goodput_first(result: db.Result) -> None:
    html = result.flows._repr_html_()
    assert html.index("goodput_mbps") < html.index("start_s")
    assert result.flows.columns.index("start_s") < result.flows.columns.index("goodput_mbps")


def test_algorithms_metrics_and_plots_are_at_hand() -> None:
    names = db.algorithms().to_polars()["name"].to_list()
    assert {"bbr", "cubic", "bbr3"} <= set(names)
    assert db.metrics.jain([1, 1]) == 1
    assert callable(db.plots.appearance)
    with pytest.raises(AttributeError, match="nothing"):
        db.nothing  # noqa: B018


def test_rows_of_the_engine_are_those_of_polars(result: db.Result) -> None:
    for table in (result.flows, result.links):
        assert table.rows() == table.to_polars().to_dicts()
        assert len(table) == table.to_polars().height
        assert table.columns == table.to_polars().columns
    assert result.series.rows()[:200] == result.series.to_polars().to_dicts()[:200]


CELLS = (
    "import dumbbell as db",
    "sweep = db.compare('bbr', 'cubic', loss='1%', duration='2s', repeat=3)\nsweep",
    "result = db.run({'duration': '2s', 'path': {'rate': '10mbit', 'rtt': '40ms'}, 'flows': [{'cc': 'bbr'}]})\nresult",
    "result.flows",
    "result.plot.overview()",
    "db.stats(sweep)",
)


def test_a_notebook_shows_tables_and_pictures() -> None:
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    nbclient.NotebookClient(notebook, timeout=PATIENCE_S, kernel_name="python3").execute()
    shown = [[output.get("data", {}) for output in cell.outputs] for cell in notebook.cells]
    for number in (1, 2, 3, 5):
        assert any("<table" in data.get("text/html", "") for data in shown[number]), CELLS[number]
    assert any("image/png" in data for data in shown[4])
    assert "bbr - cubic" in shown[5][-1]["text/html"]


NOTEBOOKS = Path(__file__).parents[2] / "examples/notebooks"
# What must be among the printed lines of each.
SAID = {
    "changed_bbr": "beside-cubic  fairness -0.05  fail",
    "figure": "With 1 % random loss and a buffer of two BDP BBR has ",
    "lecture": "Exercise 5 waits for your answer.",
    "my_link": "What holds it back first is the policer",
    "own_algorithm": "Mine ",
}


def outputs(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, **answers: str) -> list[Any]:
    """What the cells of a notebook show; ``answers`` are names and what is put in place of their ``None``."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    for place in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(place, str(folder))
    notebook = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells)
    for name, value in answers.items():
        (cell,) = (cell for cell in cells if f"\n{name} = None\n" in f"\n{cell.source}")
        cell.source = cell.source.replace(f"{name} = None", f"{name} = {value}", 1)
    # Everything is written beside it, were anything written.
    client = nbclient.NotebookClient(
        notebook, timeout=PATIENCE_S, startup_timeout=PATIENCE_S, resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return [output for cell in cells for output in cell.outputs]


def test_every_notebook_is_run_and_is_on_the_page_of_notebooks() -> None:
    page = (NOTEBOOKS.parents[1] / "docs/tutorials/notebooks.md").read_text("utf-8")
    names = {file.stem for file in NOTEBOOKS.glob("*.ipynb")}
    assert names == {*SAID} == set(re.findall(r"^\| \[(\w+)\.ipynb\]", page, re.MULTILINE))


@pytest.mark.parametrize("name", SAID)
def test_a_notebook_of_the_examples_is_kept_without_outputs_and_runs_to_its_end(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = outputs(NOTEBOOKS / f"{name}.ipynb", tmp_path, monkeypatch)
    assert not [output for output in shown if output.get("name") == "stderr"]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert any(SAID[name] in output.get("text", "") for output in shown)


RIGHT = {"bdp_packets": "125", "sooner": "'bbr'", "buffer_bdp": "0.5", "ratio": "3.7", "decrease": "0.8"}
WRONG = {"bdp_packets": "150", "sooner": "'cubic'", "buffer_bdp": "1.0", "ratio": "16", "decrease": "0.99"}


@pytest.mark.parametrize(("answers", "verdict"), [(RIGHT, "right"), (WRONG, "not yet")])
def test_exercises_of_the_lecture_say_whether_an_answer_is_right(
    answers: dict[str, str], verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = outputs(NOTEBOOKS / "lecture.ipynb", tmp_path, monkeypatch, **answers)
    said = "".join(output.get("text", "") for output in shown)
    assert re.findall(r"^Exercise (\d): ([a-z ]+)\.", said, re.MULTILINE) == [(str(n), verdict) for n in range(1, 6)]


@pytest.mark.parametrize("flows", ["[{ cc = 'bbr' }]", "[{ cc = 'bbr' }, { cc = 'cubic' }]"])
def test_a_short_run_imports_neither_polars_nor_numpy(tmp_path: Path, flows: str) -> None:
    file = tmp_path / "short.toml"
    file.write_text(f'duration = "1s"\npath = {{ rate = "10mbit", rtt = "40ms" }}\nflows = {flows}\n')
    code = (
        "import sys\nfrom dumbbell.cli import main\n"
        f"sys.argv = ['dumbbell', 'run', {str(file)!r}]\ntry:\n    main()\nexcept SystemExit:\n    pass\n"
        "import json\nprint(json.dumps([name in sys.modules for name in ('polars', 'numpy', 'matplotlib', 'scipy')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [False] * 4


def test_a_sweep_keeps_a_trace_once(tmp_path: Path) -> None:
    trace = tmp_path / "my.up"
    trace.write_text("".join(f"{ms}\n" for ms in range(1, 5001)))
    out = tmp_path / "out"
    sweep = db.compare("bbr", "cubic", trace=trace, loss=["0%", "1%"], duration="1s", out=out)
    (kept,) = (out / "traces").iterdir()
    assert kept.read_text() == trace.read_text()
    for point in sweep.points:
        loaded = sweep.load(point)
        assert len(loaded.scenario_toml) < 10_000
        again = db.run(loaded.save(tmp_path / point.content_hash) / "scenario.toml")
        assert again.meta.content_hash == point.content_hash
        assert loaded.plot.overview().axes[0].collections
    trace.unlink()
    assert len(db.load_sweep(out).points) == 4


def test_the_page_of_python_names_everything_public() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "python.md").read_text()
    for name in set(db.__all__) - {"__version__"}:
        assert f"`{name}" in page or f"db.{name}" in page, name
    for kind in (db.plots.ResultPlots, db.plots.SweepPlots, db.Table, db.Result, db.SweepResult):
        for name in vars(kind):
            if not name.startswith("_") and callable(getattr(kind, name)) and name not in INTERNAL:
                assert f"{name}(" in page, f"{kind.__name__}.{name}"


INTERNAL = ("scenario_beside", "summary", "write_tables")
"""Methods for the package itself."""
