"""What works without the packages of the extras, and what the rest says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import dumbbell as db
from conftest import EXPERIMENT, Cli
from dumbbell import _core, extras
from dumbbell.application import app

ROOT = Path(__file__).parents[2]
LIBRARIES = ("numpy", "scipy", "matplotlib", "jinja2")

# Commands that need an extra, with an option where only that needs it.
NEEDS = {
    "adversary": ("adversary", ["reno", "--experiment", "two-flows.toml"]),
    "advise": ("plots", []),
    "animate": ("plots", ["result", "--out", "film.gif"]),
    "check conform": ("statistics", ["bbr"]),
    "check evidence": ("plots", ["bbr"]),
    "check gate": ("statistics", ["bbr", "bbr3"]),
    "check museum": ("statistics", []),
    "compare": ("plots", ["bbr", "cubic", "--plot"]),
    "flent": ("statistics", ["inspect", "my.flent.gz"]),
    "metrics": ("statistics", ["result"]),
    "plot": ("plots", ["result"]),
    "report": ("plots", ["result"]),
    "reproduce": ("plots", ["--list"]),
    "run": ("plots", ["two-flows.toml", "--plot"]),
    "stats": ("statistics", ["result"]),
    "suite": ("plots", ["--list"]),
    "watch": ("plots", ["two-flows.toml", "--out", "picture.png"]),
    "why": ("statistics", ["two-flows.toml"]),
}
# Commands, and uses of those above, that need none.
PLAIN = (
    ["run", "two-flows.toml", "--out", "result"],
    ["run", "marks.toml", "--json"],
    ["run", "marks.toml"],
    ["run", "transfers.toml", "--out", "transfers"],
    ["run", "two-flows.toml", "--repeat", "2", "--out", "sweep", "--quiet"],
    ["compare", "bbr", "cubic", "--duration", "1s"],
    ["compare", "bbr", "cubic", "--duration", "1s", "--loss", "0%,1%"],
    ["compare", "./result", "./result"],
    ["extract", "sweep", "0", "--out", "point"],
    ["qlog", "result", "--out", "qlog"],
    ["explain", "two-flows.toml"],
    ["cc", "list"],
    ["cc", "show", "bbr"],
    ["columns"],
    ["schema"],
    ["new-algorithm", "mine", "--in", "python"],
    ["score", "--help"],
    ["shell", "--help"],
)
FILES = {
    "two-flows.toml": EXPERIMENT,
    "marks.toml": EXPERIMENT.replace('"1bdp"', '"1bdp"\nqueue = { kind = "threshold", threshold = "1ms" }').replace(
        '"cubic"', '"dctcp"'
    ),
    "transfers.toml": EXPERIMENT + '[[traffic]]\nkind = "short-flows"\ncc = "cubic"\nsize = "30kB"\nload = "20%"\n',
}


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Lets packages look as if they were not installed."""
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)


def leaves(command: Any, name: str = "") -> Iterator[str]:
    """The names of all commands."""
    parts = getattr(command, "commands", None)
    if parts is None:
        yield name
        return
    for key, part in parts.items():
        yield from leaves(part, f"{name} {key}".strip())


def test_it_is_known_of_every_command_what_it_needs() -> None:
    plain = {" ".join(words[: 2 if words[0] == "cc" else 1]) for words in PLAIN}
    assert set(leaves(typer.main.get_command(app))) == {*NEEDS} | plain


@pytest.mark.parametrize("command", NEEDS)
def test_a_command_without_its_extra_says_what_is_missing_and_how_to_get_it(
    command: str, dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two-flows.toml").write_text(EXPERIMENT)
    extra, arguments = NEEDS[command]
    without(monkeypatch, extras.PACKAGES[extra][-1])
    done = dumbbell(*command.split(), *arguments)
    assert (done.status, done.out) == (2, "")
    asks = f"dumbbell {command}" if not {"--plot", "picture.png"} & {*arguments} else "--"
    assert done.err.startswith(f"error: {asks}")
    assert f"needs {extras.PACKAGES[extra][-1]}, which is not installed" in done.err
    assert done.err.endswith(f'help: pip install "dumbbell[{extra}]"\n')
    assert [path.name for path in tmp_path.iterdir()] == ["two-flows.toml"]


def test_a_table_with_intervals_is_refused_before_anything_runs(
    dumbbell: Cli, experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "scipy")
    done = dumbbell("run", experiment, "--repeat", "2", "--out", tmp_path / "out")
    assert done.status == 2 and 'pip install "dumbbell[statistics]"' in done.err
    assert not (tmp_path / "out").exists()
    assert dumbbell("run", experiment, "--repeat", "2", "--out", tmp_path / "out", "--quiet").status == 0


def test_pictures_of_checks_are_asked_for_before_they_run(
    dumbbell: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(monkeypatch, "matplotlib")
    for command in (["conform", "bbr"], ["museum"]):
        done = dumbbell("check", *command, "--out", tmp_path / "pictures")
        assert done.status == 2 and done.err.startswith("error: --out needs matplotlib")


def test_experiments_run_and_are_told_of_without_any_extra(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    code = (
        f"import json, sys\nsys.modules.update(dict.fromkeys({LIBRARIES!r}))\nfrom dumbbell import cli\n"
        f"for words in {PLAIN!r}:\n    sys.argv = ['dumbbell', *words]\n    status = 0\n"
        "    try:\n        cli.main()\n    except SystemExit as end:\n        status = end.code or 0\n"
        "    assert status == 0, (words, status)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # The warning that marks come too early is not left out.
    assert "marks above 1 ms and a packet takes" in done.stderr
    assert (tmp_path / "transfers" / "flows.parquet").is_file()


def test_python_names_the_extra_too(monkeypatch: pytest.MonkeyPatch) -> None:
    run = db.run({"duration": "1s", "path": {"rate": "1mbit", "rtt": "40ms"}, "flows": [{"cc": "reno"}]})
    without(monkeypatch, "matplotlib", "scipy", "pandas")
    for name, extra in (("plots", "plots"), ("stats", "statistics"), ("metrics", "statistics")):
        monkeypatch.delitem(vars(db), name, raising=False)  # which is there once it was imported
        with pytest.raises(extras.MissingExtraError, match=rf'dumbbell\.{name} needs .*\n.*"dumbbell\[{extra}\]"'):
            getattr(db, name)
    with pytest.raises(ImportError, match=r"result\.plot needs scipy and matplotlib, which are not installed"):
        _ = run.plot
    with pytest.raises(ImportError, match=r'"dumbbell\[pandas\]"'):
        run.flows.to_pandas()


def test_a_module_that_cannot_be_imported_names_its_extra() -> None:
    modules = {"dumbbell.check": "statistics", "dumbbell.check.gate": "statistics", "dumbbell.gym": "gym"}
    code = (
        f"import importlib, sys\nsys.modules.update(dict.fromkeys({(*LIBRARIES, 'gymnasium')!r}))\n"
        f"for name in {[*modules]!r}:\n    try:\n        importlib.import_module(name)\n"
        "    except ImportError as error:\n        print(str(error).splitlines()[-1])\n"
        "from dumbbell import why\ntry:\n    why.answers\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wanted = [*modules.values(), "statistics"]
    assert re.findall(r"help: (pip .*)", done.stdout) == [extras.install(extra) for extra in wanted]


def test_the_extras_are_those_of_the_package() -> None:
    project = json.loads(_core.toml_as_json((ROOT / "pyproject.toml").read_text()))["project"]
    declared = project["optional-dependencies"]

    def names(extra: str) -> set[str]:
        found: set[str] = set()
        for requirement in declared[extra]:
            inner = re.fullmatch(r"dumbbell\[(\w+)\]", requirement)
            found |= names(inner[1]) if inner else {re.split(r"[><=]", requirement)[0]}
        return found

    for extra, packages in extras.PACKAGES.items():
        assert set(packages) == names(extra), extra
    assert not {re.split(r"[><=]", one)[0] for one in project["dependencies"]} & {*LIBRARIES}
