"""What the page about learners shows runs as it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dumbbell import gym

PAGE = (Path(__file__).parents[2] / "docs/learners.md").read_text("utf-8")


def test_the_blocks_of_the_page_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        exec(compile(block, "docs/learners.md", "exec"), known)
    assert known["truncated"] is False
    assert (tmp_path / "agent.npz").exists()


def test_the_page_lists_all_that_an_agent_may_see() -> None:
    table = PAGE.split("Names of observations")[1].split('`"aurora"` sees')[0]
    listed = re.findall(r"`([a-z_]+)`", "\n".join(line.split("|")[1] for line in table.splitlines() if "|" in line))
    assert sorted(listed) == sorted(gym.observations())
