"""The drawing of the house shows what the crates depend on, and no arrow points up."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CRATES = {folder.parent.name for folder in (ROOT / "crates").glob("*/Cargo.toml")}


def drawn() -> dict[str, set[str]]:
    """The arrows of the drawing, by the crate where they start."""
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    drawing = page.split("```mermaid\n")[1].split("```")[0]
    arrows: dict[str, set[str]] = {}
    for start, ends in re.findall(r"^ +([a-z-]+) --> ([a-z -]+(?:& [a-z -]+)*)$", drawing, re.MULTILINE):
        arrows.setdefault(start, set()).update(end.strip() for end in ends.split("&"))
    return arrows


def below(crate: str, arrows: dict[str, set[str]], above: tuple[str, ...] = ()) -> set[str]:
    """All that a crate may use; a circle is an error."""
    assert crate not in above, f"a circle: {' --> '.join([*above, crate])}"
    ends = arrows.get(crate, set())
    return ends.union(*(below(end, arrows, (*above, crate)) for end in ends))


def used(crate: str) -> set[str]:
    """The crates of the house that a crate depends on, tests included."""
    manifest = (ROOT / "crates" / crate / "Cargo.toml").read_text("utf-8")
    return set(re.findall(r"^dumbbell-([a-z-]+)(?:\.workspace)? =", manifest, re.MULTILINE))


@pytest.mark.parametrize("crate", sorted(CRATES))
def test_a_crate_uses_only_what_the_drawing_has_below_it(crate: str) -> None:
    assert used(crate) <= below(crate, drawn())


@pytest.mark.parametrize("crate", sorted(CRATES))
def test_every_arrow_is_a_dependency(crate: str) -> None:
    assert drawn().get(crate, set()) & CRATES <= used(crate)


def test_every_crate_is_drawn() -> None:
    arrows = drawn()
    assert set(arrows) | set().union(*arrows.values()) >= CRATES
