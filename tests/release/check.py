"""Whether this commit can be released: ``make release-check``.

What takes seconds comes first. Each failure names what to mend, and all of one kind are told together.

    python tests/release/check.py [--quick]        (after make .venv/builders)

``--quick`` looks at the files alone and builds nothing.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".venv/bin"
OUT = ROOT / "out/release"

MAX_LINES = 10
"""A release in ten lines: whoever reads them knows whether to upgrade."""

MAX_LINE = 160
"""Characters of one of them."""

CRATES = ("units", "parameters", "cc-contract", "cc", "path", "recovery", "transport")
"""What is of use alone, the contract, the controllers, the path and the endpoints, and the crates that these need."""

MAX_PLAIN_MB = 283
"""An installation without extras has at most half of the size that it has with all that was once in it."""

EXPERIMENT = """\
duration = "10s"

[path]
rate = "10mbit"
rtt = "40ms"

[[flows]]
cc = "bbr"

[[flows]]
cc = "cubic"
"""


class ReleaseError(Exception):
    """Something that has to be mended before a release."""


def version(root: Path) -> str:
    """The version of the workspace, which is that of everything."""
    found = re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"', (root / "Cargo.toml").read_text("utf-8"), re.M)
    if found is None:
        raise ReleaseError('Cargo.toml: [workspace.package] does not begin with version = "X.Y.Z"')
    return found[1]


def versions(root: Path) -> Iterator[str]:
    """Places that say another version than the workspace."""
    wanted = version(root)
    places = {
        "Cargo.toml": r'^dumbbell-[\w-]+ = \{ path = "[^"]+", version = "([^"]+)" \}',
        "Cargo.lock": r'^name = "dumbbell-[\w-]+"\nversion = "([^"]+)"',
        "CITATION.cff": r"^version: (.+)",
        "docs/cite.md": r"(?:\| version of Dumbbell \| `|We used Dumbbell )(\d[^` ]*)",
        "docs/install.md": r"\bdumbbell-(\d[^-]*)-cp310",
        "docs/reference/result-files.md": r'"version": "([^"]+)"',
    }
    for name, pattern in places.items():
        found = re.findall(pattern, (root / name).read_text("utf-8"), re.MULTILINE)
        if not found:
            yield f"{name}: there is no version where one is expected ({pattern})"
        for other in sorted({one for one in found if one != wanted}):
            yield f"{name}: says {other}, Cargo.toml {wanted}"
    if not re.search(r'^dynamic = \[[^]]*"version"', (root / "pyproject.toml").read_text("utf-8"), re.MULTILINE):
        yield 'pyproject.toml: the version of the wheel is that of Cargo.toml only with dynamic = ["version"]'
    for manifest in sorted((root / "crates").glob("*/Cargo.toml")):
        if "\nversion.workspace = true" not in manifest.read_text("utf-8"):
            yield f"{manifest.relative_to(root)}: write version.workspace = true"


def changelog(root: Path) -> Iterator[str]:
    """What keeps the change log from being that of a release."""
    wanted = version(root)
    sections = re.split(r"^## ", (root / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
    bodies = dict(section.partition("\n")[::2] for section in sections)
    if "[Unreleased]" not in bodies:
        yield "CHANGELOG.md: there is no section ## [Unreleased] for what comes after the release"
    elif waiting := bodies["[Unreleased]"].strip():
        count = len(re.findall(r"^\* ", waiting, re.MULTILINE))
        yield f"CHANGELOG.md: move the {count} changes of [Unreleased] to [{wanted}], or raise the version"
    heading = next((one for one in bodies if one.startswith(f"[{wanted}]")), None)
    if heading is None:
        yield f"CHANGELOG.md: there is no section ## [{wanted}] - YYYY-MM-DD"
        return
    dated = re.fullmatch(r"\[[^]]+\] - (\d{4}-\d\d-\d\d)", heading)
    try:
        datetime.date.fromisoformat(dated[1] if dated else "")
    except ValueError:
        yield f"CHANGELOG.md: ## {heading} has no date; write ## [{wanted}] - YYYY-MM-DD"
    lines = [line for line in bodies[heading].splitlines() if line.strip()]
    kinds = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
    for line in lines:
        if line.startswith("### ") and line.removeprefix("### ") not in kinds:
            yield f"CHANGELOG.md: {line} is no kind of Keep a Changelog; choose from {', '.join(kinds)}"
        elif not line.startswith(("### ", "* ")):
            yield f"CHANGELOG.md: a change is one line that begins with *, unlike: {line[:60]}"
        elif len(line) > MAX_LINE:
            yield f"CHANGELOG.md: {len(line)} characters, at most {MAX_LINE}: {line[:60]}…"
    count = sum(not line.startswith("### ") for line in lines)
    if not 1 <= count <= MAX_LINES:
        yield f"CHANGELOG.md: [{wanted}] has {count} lines, 1 to {MAX_LINES} are a release: join some or leave some out"


def metadata(root: Path) -> Iterator[str]:
    """What a registry wants to know of a crate and its manifest does not say."""
    for crate in CRATES:
        text = (root / "crates" / crate / "Cargo.toml").read_text("utf-8")
        for key in ("description", "readme", "keywords", "categories", "license"):
            if not re.search(rf"^{key}(\.workspace)? = ", text, re.MULTILINE):
                yield f"crates/{crate}/Cargo.toml: [package] has no {key}"
        if "publish = false" in text:
            yield f"crates/{crate}/Cargo.toml: publish = false, but the crate is one of those that are released"


def tree(root: Path) -> Iterator[str]:
    """What is not committed, and a tag of this version elsewhere."""
    if changed := said(["git", "status", "--porcelain"], root):
        yield f"the tree is not clean: commit or remove\n{changed.rstrip()}"
    tag = f"v{version(root)}"
    tagged = said(["git", "tag", "--list", tag, "--format=%(objectname) %(*objectname)"], root).split()
    if tagged and said(["git", "rev-parse", "HEAD"], root).strip() not in tagged:
        yield f"the tag {tag} is at another commit: raise the version, or remove the tag if nobody has it"


def said(command: list[str], place: Path, **environment: str) -> str:
    """What a command prints; its errors where it fails."""
    done = subprocess.run(command, cwd=place, env=os.environ | environment, capture_output=True, text=True)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise ReleaseError(f"{' '.join(command)}: ended with status {done.returncode}\n{last}")
    return done.stdout


def size_mb(place: Path) -> float:
    """What a folder or a file takes, in MB."""
    files = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
    return sum(path.lstat().st_size for path in files) / 1e6


def crates() -> None:
    """Packs the crates together and compiles what was packed."""
    chosen = [word for crate in CRATES for word in ("-p", f"dumbbell-{crate}")]
    said(["cargo", "package", "--locked", *chosen], ROOT)
    for crate in CRATES:
        packed = ROOT / f"target/package/dumbbell-{crate}-{version(ROOT)}.crate"
        print(f"  {packed.name}, {packed.stat().st_size / 1e3:.0f} kB")


def wheel() -> Path:
    """Builds the source distribution, and the wheel from it alone; gives the wheel."""
    shutil.rmtree(OUT, ignore_errors=True)
    said([str(TOOLS / "maturin"), "sdist", "--out", str(OUT)], ROOT)
    (source,) = OUT.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(source, folder, filter="data")
        (unpacked,) = Path(folder).iterdir()
        build = [str(TOOLS / "maturin"), "build", "--release", "--out", str(OUT)]
        said(build, unpacked, CARGO_TARGET_DIR=str(ROOT / "target/from-sdist"))
    (built,) = OUT.glob("*.whl")
    for made in (source, built):
        print(f"  {made.name}, {size_mb(made):.1f} MB")
    return built


def install(built: Path) -> None:
    """Installs the wheel without a network into empty environments, and uses it in empty folders."""
    wheels = OUT / "wheelhouse"
    said([sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(wheels), f"{built}[plots]"], ROOT)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        began = time.monotonic()
        plain = Installed(place / "plain", wheels, "dumbbell")
        plain.uses_no_extra(place / "empty")
        size = size_mb(plain.environment)
        print(f"  without extras: {size:.0f} MB, {time.monotonic() - began:.0f} s to the first results")
        if size > MAX_PLAIN_MB:
            raise ReleaseError(f"an installation without extras has {size:.0f} MB, at most {MAX_PLAIN_MB}")
        whole = Installed(place / "whole", wheels, "dumbbell[plots]")
        whole.draws(place / "empty")
        print(f"  with plots: {size_mb(whole.environment):.0f} MB")


class Installed:
    """An environment with the wheel, outside of the repository."""

    def __init__(self, environment: Path, wheels: Path, requirement: str) -> None:
        self.environment = environment
        said([sys.executable, "-m", "venv", str(environment)], ROOT)
        offline = ["install", "--quiet", "--no-index", "--find-links", str(wheels), requirement]
        self.call(environment, "pip", *offline)

    def call(self, place: Path, *words: str) -> str:
        """What a command of the environment prints, in a folder."""
        return said([str(self.environment / "bin" / words[0]), *words[1:]], place, PYTHONPATH="")

    def uses_no_extra(self, place: Path) -> None:
        """What a plain installation does, and what it says of the rest."""
        place.mkdir()
        (place / "first.toml").write_text(EXPERIMENT, "utf-8")
        self._expect("Mbit/s", self.call(place, "dumbbell", "run", "first.toml", "--out", "result"))
        self._expect("bbr1-linux-6.18", self.call(place, "dumbbell", "cc", "list"))
        code = "import dumbbell as db; print(db.__version__, len(db.load_result('result').flows))"
        self._expect(f"{version(ROOT)} 2", self.call(place, "python", "-c", code))
        try:
            self.call(place, "dumbbell", "plot", "result")
        except ReleaseError as refused:
            self._expect("status 2", str(refused))
            self._expect('pip install "dumbbell[plots]"', str(refused))
        else:
            raise ReleaseError("dumbbell plot: draws without the extra plots; is matplotlib a dependency again?")

    def draws(self, place: Path) -> None:
        """A picture, and a page."""
        self.call(place, "dumbbell", "plot", "result", "--format", "png")
        self.call(place, "dumbbell", "report", "result")
        for name in ("overview.png", "report.html"):
            if not (place / "result" / name).is_file():
                raise ReleaseError(f"dumbbell plot and report: {name} is not there")

    @staticmethod
    def _expect(part: str, text: str) -> None:
        if part not in text:
            raise ReleaseError(f"expected {part!r} in:\n{text[-2000:]}")


FILES: Mapping[str, Callable[[Path], Iterator[str]]] = {
    "versions": versions,
    "change log": changelog,
    "metadata of crates": metadata,
    "tree": tree,
}


def main() -> int:
    """Checks everything, and says what to mend."""
    parser = argparse.ArgumentParser(description="Whether this commit can be released.")
    parser.add_argument("--quick", action="store_true", help="look at the files alone, build nothing")
    quick = parser.parse_args().quick
    failed = False
    for name, check in FILES.items():
        found = list(check(ROOT))
        print(f"{name}: {'mend' if found else 'ok'}", flush=True)
        for problem in found:
            print(f"  {problem}")
        failed = failed or bool(found)
    if failed or quick:
        return int(failed)
    try:
        print("wheel from the source distribution:", flush=True)
        built = wheel()
        print("offline, in an empty environment and folder:", flush=True)
        install(built)
        print("crates:", flush=True)
        crates()
    except ReleaseError as error:
        print(f"mend: {error}")
        return 1
    print(f"{version(ROOT)} can be released: git tag v{version(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
