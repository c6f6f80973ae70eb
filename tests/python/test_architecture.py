"""The drawing of the house shows what the crates depend on, and no arrow points up."""

import ast
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


def used(crate: str, *, by_tests: bool = False) -> set[str]:
    """The crates of the house that a crate is built of, or that its tests use besides."""
    manifest = (ROOT / "crates" / crate / "Cargo.toml").read_text("utf-8")
    sections = re.split(r"^(?=\[)", manifest, flags=re.MULTILINE)
    chosen = [section for section in sections if section.startswith("[dev-dependencies]") == by_tests]
    return set(re.findall(r"^dumbbell-([a-z-]+)(?:\.workspace)? =", "".join(chosen), re.MULTILINE))


@pytest.mark.parametrize("crate", sorted(CRATES))
def test_a_crate_uses_only_what_the_drawing_has_below_it(crate: str) -> None:
    assert used(crate) <= below(crate, drawn())


@pytest.mark.parametrize("crate", sorted(CRATES))
def test_tests_of_a_crate_use_nothing_that_is_above_it(crate: str) -> None:
    assert not {other for other in used(crate, by_tests=True) if crate in below(other, drawn())}


def test_what_moves_packets_is_built_without_an_algorithm() -> None:
    for crate in ("cc-contract", "recovery", "path", "transport"):
        assert not below(crate, drawn()) & {"cc", "cc-family"}


@pytest.mark.parametrize("crate", sorted(CRATES))
def test_every_arrow_is_a_dependency(crate: str) -> None:
    assert drawn().get(crate, set()) & CRATES <= used(crate)


def test_every_crate_is_drawn() -> None:
    arrows = drawn()
    assert set(arrows) | set().union(*arrows.values()) >= CRATES


def test_files_of_text_are_opened_with_an_encoding_and_none_hangs_on_the_machine() -> None:
    """What a place in the arguments says, ``open("w", encoding=…)`` and ``read_text("utf-8")``, or that it is bytes."""
    found = []
    for path in sorted((ROOT / "python").rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            given = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
            named = {keyword.arg: keyword.value for keyword in call.keywords}
            is_path = call.func.attr in ("read_text", "write_text")
            is_text = is_path or (call.func.attr == "open" and given[:1] in (["r"], ["w"], ["a"], ["x"]))
            encoding = named.get("encoding")
            said = encoding.value if isinstance(encoding, ast.Constant) else None
            if is_text and said not in ("utf-8", "ascii") and not {"utf-8", "ascii"} & set(map(str, given)):
                found.append(f"{path.relative_to(ROOT)}:{call.lineno}")
    assert found == []
