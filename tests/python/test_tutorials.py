"""The tutorials' experiments run as they are written, with a discipline and a controller that are built in.

What the pages add to the engine is built and tested by `cargo test`: queue/tutorial.rs and classic/tutorial.rs.
"""

import re
from pathlib import Path

import pytest

import dumbbell as db

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
