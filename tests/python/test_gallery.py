"""The gallery shows what the program draws."""

from __future__ import annotations

import os
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import image

import snapshots
from described import described
from dumbbell.commands.plot import KINDS
from gallery import PICTURES

FOLDER = Path(__file__).parents[2] / "docs" / "images" / "gallery"
PAGE = Path(__file__).parents[2] / "docs" / "gallery.md"
REQUIREMENTS = Path(__file__).parents[2] / "requirements.txt"
DPI = 80

SAME = 0.02
"""Mean difference of pixels, of 1, that another machine may have."""


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_of_the_gallery_is_the_one_that_is_drawn(name: str, tmp_path: Path) -> None:
    path = FOLDER / f"{name}.png"
    update = bool(os.environ.get("DUMBBELL_UPDATE_GALLERY"))
    drawn = path if update else tmp_path / path.name
    picture = PICTURES[name]()
    picture.savefig(drawn, dpi=DPI, metadata={"Software": None})
    kept, now = image.imread(path), image.imread(drawn)
    if f"matplotlib=={mpl.__version__} " not in REQUIREMENTS.read_text():
        pytest.skip("another version of matplotlib draws letters elsewhere")
    assert kept.shape == now.shape
    assert np.abs(kept - now).mean() < SAME
    snapshots.same_as_kept(f"gallery/{name}", described(picture))


def test_the_page_shows_every_picture_and_every_kind() -> None:
    text = PAGE.read_text()
    assert set(re.findall(r"images/gallery/([\w-]+)\.png", text)) == set(PICTURES)
    assert all(f"--kind {kind}" in text for kind in KINDS if kind != "line")
