"""The live page that begins with an experiment of yours: in a notebook, or as a file."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dumbbell import experiment, storage
from dumbbell.adversary.text import written
from dumbbell.experiment import Source

BUILT = Path(__file__).parents[3] / "out/live/index.html"
"""Where ``make live`` puts the page in a clone."""

_PRESETS = re.compile(r'(<script type="application/json" id="presets">)(.*?)(</script>)', re.DOTALL)


@dataclass(frozen=True)
class LivePage:
    """A page with the engine and an experiment. A notebook shows it."""

    html: str = field(repr=False)
    """The page: one file that loads nothing."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page.

        Raises:
            OutputError: It cannot be written.
        """
        file = Path(path)
        storage.write_file(file, self.html.encode())
        return file

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 48rem; border: 1px solid currentcolor"
        return f'<iframe srcdoc="{html.escape(self.html)}" title="Dumbbell live" style="{style}"></iframe>'


def live_page(source: Source, *, page: str | os.PathLike[str] | None = None) -> LivePage:
    """The live page with an experiment of yours, to move its sliders in a notebook or to send it as a file.

    Args:
        source: Path of an experiment file, or a dictionary of the same shape. The page has no other files, so that one
            with ``include``, a trace or an algorithm of a file shows the error in place of pictures.
        page: The page that ``make live`` has built; default the one of this clone.

    Raises:
        ScenarioError: The experiment is wrong; the message says where and what would be right.
        FileNotFoundError: There is no such page.
        ValueError: The file is not the live page.
    """
    experiment.load(source)
    toml = written(source, ["From a dictionary."]) if isinstance(source, Mapping) else Path(source).read_text("utf-8")
    file = BUILT if page is None else Path(page)
    if not file.is_file():
        raise FileNotFoundError(
            f"{file} is missing; `make live` in a clone builds out/live/index.html, which page= names"
        )
    first = json.dumps({"name": "Yours", "toml": toml}).replace("<", "\\u003c")
    text, found = _PRESETS.subn(
        lambda part: f"{part[1]}[{first}, {part[2].removeprefix('[')}{part[3]}", file.read_text("utf-8")
    )
    if not found:
        raise ValueError(f"{file} is not the live page, which `make live` builds")
    return LivePage(text)
