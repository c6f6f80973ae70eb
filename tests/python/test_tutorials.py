"""The tutorials' experiments run as they are written, with a discipline and a controller that are built in.

What the pages add to the engine is built and tested by `cargo test`: queue/tutorial.rs and classic/tutorial.rs.
"""

import re
from pathlib import Path

import pytest

import dumbbell as db
from conftest import Cli

PAGES = Path(__file__).parents[2] / "docs/tutorials"
# What a page adds, what takes its place here, and the parameter that the page sweeps.
BUILT_IN = {
    "queue": {
        'kind = "deadline", max_wait': 'kind = "codel", target',
        "queue.max_wait": "queue.target",
    },
    "controller": {
        '"patient", max_queue_us = 10000': '"scalable", decrease_shift = 3',
        "cc.max_queue_us": "cc.decrease_shift",
    },
}


def experiments(page: str) -> list[str]:
    text = (PAGES / f"{page}.md").read_text("utf-8")
    for added, built_in in BUILT_IN[page].items():
        assert added in text
        text = text.replace(added, built_in)
    short = text.replace('duration = "60s"', 'duration = "3s"').replace('warmup = "10s"', 'warmup = "1s"')
    return re.findall(r"```toml\n(.*?)```", short, re.DOTALL)


@pytest.mark.parametrize("page", BUILT_IN)
def test_the_experiment_of_a_tutorial_runs_and_is_drawn(page: str, tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(experiments(page)[0], "utf-8")
    result = db.run(file)
    result.plot.overview().savefig(tmp_path / "overview.png")
    assert (tmp_path / "overview.png").stat().st_size > 10_000


@pytest.mark.parametrize("page", BUILT_IN)
def test_the_sweep_of_a_tutorial_has_four_points(page: str, tmp_path: Path) -> None:
    first, *further = experiments(page)
    values = {"queue": None, "controller": "[1, 2, 3, 4]"}[page]
    sweep = "".join(further)
    file = tmp_path / "experiment.toml"
    file.write_text(first + (re.sub(r"= \[.*\]", f"= {values}", sweep) if values else sweep), "utf-8")
    assert len(list(db.sweep(file))) == 4


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_links_of_the_tutorials_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]*)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert "://" in target or (page.parent / target).exists(), target


def test_the_page_on_a_changed_bbr_shows_what_its_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dumbbell: Cli
) -> None:
    text = (PAGES / "quic.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.toml").write_text(re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[0])
    shown = {
        lines[0].removeprefix("$ dumbbell "): lines[1:]
        for lines in (block.splitlines() for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL))
    }
    why, gate, conform, evidence, record = shown
    for command in (why, conform, evidence):
        printed = [line.rstrip() for line in dumbbell(*command.split()).out.splitlines()]
        assert [line for line in shown[command] if line not in (*printed, "...")] == []
    # All scenarios take some seconds; one of them alone has other bounds, and the same medians.
    done = dumbbell(*gate.split(), "--scenario", "beside-cubic")
    assert done.status == 1
    medians = [line.split()[-4:] for line in done.out.splitlines() if line.startswith(" beside-cubic")]
    assert medians == [line.split()[-4:] for line in shown[gate] if line.startswith(" beside-cubic")]
    assert record.startswith("check gate bbr3 --transport quic -o baseline")
