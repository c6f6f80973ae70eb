"""What a release needs, and that what is missing is named: ``tests/release/check.py``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

import scripts

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests/release/check.py"
check = scripts.load("tests/release/check.py")

READ = ("Cargo.toml", "Cargo.lock", "CITATION.cff", "CHANGELOG.md", "pyproject.toml")
PAGES = ("docs/cite.md", "docs/install.md", "docs/reference/result-files.md")
GOOD = "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-01-31\n\n### Added\n\n* Everything.\n"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that are looked at, to be changed."""
    for name in (*READ, *PAGES, *(str(one.relative_to(ROOT)) for one in (ROOT / "crates").glob("*/Cargo.toml"))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(GOOD.replace("0.1.0", check.version(ROOT)))
    return tmp_path


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert re.search(old, text, re.MULTILINE)
    file.write_text(re.sub(old, new, text, count=1, flags=re.MULTILINE), "utf-8")


def test_the_versions_and_manifests_of_the_repository_agree() -> None:
    assert list(check.versions(ROOT)) == []
    assert list(check.metadata(ROOT)) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("CITATION.cff", r"^version: .*", "version: 0.0.9", "CITATION.cff: says 0.0.9"),
        ("Cargo.toml", r'(crates/cc", version = ")[^"]+', r"\g<1>0.0.9", "Cargo.toml: says 0.0.9"),
        ("Cargo.lock", r'(name = "dumbbell-sim"\nversion = ")[^"]+', r"\g<1>0.0.9", "Cargo.lock: says 0.0.9"),
        ("docs/cite.md", r"We used Dumbbell [\d.]+", "We used Dumbbell 0.0.9", "docs/cite.md: says 0.0.9"),
        ("pyproject.toml", r"^dynamic = .*", "", "pyproject.toml: the version of the wheel"),
        ("crates/cc/Cargo.toml", r"^version.workspace = true", 'version = "1.0.0"', "crates/cc/Cargo.toml: write"),
    ],
)
def test_another_version_is_named_with_its_file(name: str, old: str, new: str, says: str, copy: Path) -> None:
    assert list(check.versions(copy)) == []
    replace(copy / name, old, new)
    (found,) = check.versions(copy)
    assert found.startswith(says)


def test_a_manifest_without_what_a_registry_asks_for_is_named(copy: Path) -> None:
    replace(copy / "crates/path/Cargo.toml", r"^keywords = .*\n", "")
    assert list(check.metadata(copy)) == ["crates/path/Cargo.toml: [package] has no keywords"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace(" - 2026-01-31", ""), "has no date"),
        (lambda text: text.replace("-31", "-32"), "has no date"),
        (lambda text: text.replace("[0.1.0]", "[0.0.9]"), "there is no section ## [0.1.0]"),
        (lambda text: text.replace("[Unreleased]\n", "[Unreleased]\n\n* One.\n* Two.\n"), "move the 2 changes"),
        (lambda text: text.replace("## [Unreleased]\n", ""), "no section ## [Unreleased]"),
        (lambda text: text + "* One more.\n" * 10, "has 11 lines"),
        (lambda text: text.replace("* Everything.\n", ""), "has 0 lines"),
        (lambda text: text.replace("### Added", "### New"), "### New is no kind"),
        (lambda text: text + "  And more.\n", "a change is one line"),
        (lambda text: text + f"* {'word ' * 40}\n", "characters, at most"),
    ],
)
def test_a_change_log_that_is_none_of_a_release_says_what_to_mend(
    change: Callable[[str], str], says: str, copy: Path
) -> None:
    file = copy / "CHANGELOG.md"
    assert list(check.changelog(copy)) == []
    number = check.version(copy)
    file.write_text(change(file.read_text().replace(number, "0.1.0")).replace("0.1.0", number))
    (found,) = check.changelog(copy)
    assert says.replace("0.1.0", number) in found


def test_what_is_not_committed_and_a_tag_elsewhere_are_named(copy: Path) -> None:
    def git(*words: str) -> None:
        person = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *person, *words], cwd=copy, check=True, capture_output=True)

    git("init")
    git("add", "--all")
    git("commit", "--message", "All")
    assert list(check.tree(copy)) == []
    git("tag", f"v{check.version(copy)}")
    assert list(check.tree(copy)) == []
    (copy / "new.txt").write_text("new")
    (found,) = check.tree(copy)
    assert "the tree is not clean" in found and "new.txt" in found
    git("add", "--all")
    git("commit", "--message", "More")
    (found,) = check.tree(copy)
    assert "is at another commit" in found


def targets() -> Iterator[str]:
    """The targets of make that workflows run."""
    for file in sorted((ROOT / ".github/workflows").glob("*.yml")):
        for job in yaml.safe_load(file.read_text("utf-8"))["jobs"].values():
            for step in job["steps"]:
                yield from re.findall(r"^make ([\w-]+)", step.get("run", ""), re.MULTILINE)


def test_workflows_run_what_the_makefile_has_and_contributors_are_told_of() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    told = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = set(targets())
    assert {"release-check", "wheel", "test"} <= named
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
        assert f"`make {target}" in told, target


def test_the_container_is_built_from_what_is_there_and_runs_without_rights() -> None:
    lines = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", " ").splitlines()
    steps = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    images = [what.split()[0] for word, what in steps if word == "FROM"]
    # Short names: whoever builds says from where.
    assert len(images) == 2 and not any("." in image.partition(":")[0] for image in images)
    last = {step[0]: step[1] for step in steps}
    assert last["USER"] == "dumbbell" and last["ENTRYPOINT"] == '["dumbbell"]'
    ignored = [line for line in (ROOT / ".dockerignore").read_text("utf-8").split("\n") if line and line[0] != "#"]
    members = re.findall(
        r'"([^"]+)"', re.findall(r"^members = (.*)", (ROOT / "Cargo.toml").read_text("utf-8"), re.M)[0]
    )
    needed = {"Containerfile", *re.findall(r"requirements[\w-]*\.txt", " ".join(lines))}
    for path in (*needed, *members, "python", "README.md", "pyproject.toml"):
        assert not [one for one in ignored if Path(path).is_relative_to(one)], path
    # A source distribution has it, and all that it reads.
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(f'{{ path = "{name}", format = "sdist" }}' in project for name in needed)


def test_a_release_says_its_section_of_the_change_log(copy: Path) -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    (step,) = (one for one in workflow["jobs"]["attach"]["steps"] if one.get("name") == "attach")
    number = check.version(ROOT)
    older = "\n## [0.0.9] - 2025-01-31\n\n### Fixed\n\n* Something old.\n"
    with (copy / "CHANGELOG.md").open("a") as file:
        file.write(older)
    forge = copy / "gh"
    forge.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > called\n')
    forge.chmod(0o755)
    environment = {"PATH": f"{copy}:{os.environ['PATH']}", "TAG": f"v{number}"}
    (copy / "files").mkdir()
    (copy / "files/dumbbell.whl").touch()
    subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], cwd=copy, env=environment, check=True)
    called = (copy / "called").read_text().split("\n")
    assert called[:3] == ["release", "create", f"v{number}"] and "files/dumbbell.whl" in called
    assert (copy / "notes.md").read_text().strip() == "### Added\n\n* Everything."
