"""What shells offer when Tab is pressed: names of values, in each shell's own protocol."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from conftest import Cli
from dumbbell import catalogue, papers, suites
from dumbbell.columns import TABLES, columns
from dumbbell.flent.tests import TESTS

ALGORITHMS = [entry["name"] for entry in catalogue.entries()]
PARTS = [f"{study.name}/{part.name}" for study in papers.studies() for part in study.parts]

Offered = Callable[[str], list[str]]


@pytest.fixture(params=["bash", "zsh", "fish"])
def offered(request: pytest.FixtureRequest, dumbbell: Cli, monkeypatch: pytest.MonkeyPatch) -> Offered:
    """What the shell is told to offer at the end of a command line."""
    shell = request.param

    def call(line: str) -> list[str]:
        words = {
            "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)},
            "zsh": {"_TYPER_COMPLETE_ARGS": line},
            "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        }[shell]
        for name, value in {**words, "_DUMBBELL_COMPLETE": f"complete_{shell}"}.items():
            monkeypatch.setenv(name, value)
        done = dumbbell()
        assert (done.status, done.err) == (0, "")
        if shell == "zsh":
            # A list of words in quotation marks, or a call that completes names of files.
            return re.findall(r'"([^"]*)"', done.out)
        return done.out.split()

    return call


def beginning(names: list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("compare bb", beginning(ALGORITHMS, "bb")),
        ("compare bbr cub", beginning(ALGORITHMS, "cub")),
        ("cc show ren", beginning(ALGORITHMS, "ren")),
        ("advise --candidates bbr,cub", [f"bbr,{name}" for name in beginning(ALGORITHMS, "cub")]),
        ("suite aqm --cc bbr,bbr", [f"bbr,{name}" for name in beginning(ALGORITHMS, "bbr") if name != "bbr"]),
        ("check gate bbr3 bb", beginning(ALGORITHMS, "bb")),
        ("check gate bbr3 bbr --scenario ran", ["random-loss"]),
        ("flent rr", beginning([*TESTS], "rr")),
        ("flent rrul --cc bbr", beginning(ALGORITHMS, "bbr")),
        ("plot out --y good", ["goodput_mbps"]),
        ("plot out --y jai", ["jain"]),
        ("plot out --series cw", beginning([c.name for c in columns() if c.table == "series"], "cw")),
        ("stats out --metric goodput", ["goodput_mbps"]),
        ("columns l", beginning([*TABLES], "l")),
        ("reproduce re", beginning([*papers.NAMES], "re")),
        ("reproduce rebbr/", beginning(PARTS, "rebbr/")),
        ("suite a", beginning([*suites.NAMES], "a")),
        (
            "suite aqm/",
            [f"aqm/{part.name}" for suite in suites.suites() for part in suite.parts if suite.name == "aqm"],
        ),
        ("run file.toml --set path.loss_", ["path.loss_at"]),
        ("run file.toml --set flows[0].c", beginning(["flows[0].cc", "flows[0].count"], "flows[0].c")),
        ("compare no-such", []),
    ],
)
def test_values_are_offered(offered: Offered, line: str, names: list[str]) -> None:
    found = offered(f"dumbbell {line}")
    assert sorted(found) == sorted(set(names))
    assert names or line == "compare no-such"
