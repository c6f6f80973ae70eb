"""Keeps extension modules that were built, so that another clone of equal sources need not compile them again.

    python crates/python/kept.py take FILE
    python crates/python/kept.py keep FILE

`take` puts the module of these sources in place of FILE, or ends with status 1 where none is kept; `keep` keeps FILE as
theirs. A name says of what a module was built, and the digest of its bytes: one that is damaged is never taken. The
newest four stay.

They lie in `dumbbell` in the user's folder for caches, or in the folder that DUMBBELL_CACHE names. Where that is empty,
nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

MOST = 4
"""How many modules are kept; each has some 20 MB."""

SUFFIX = ".dumbbell-module"
"""Files with other names are somebody else's and stay."""

VARIABLES = ("RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET")
"""Variables that change what a compiler makes of the sources, besides those that begin with CARGO_PROFILE_."""


def folder() -> Path | None:
    """Where modules are kept, unless nowhere."""
    given = os.environ.get("DUMBBELL_CACHE")
    if given is not None:
        return Path(given) if given else None
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "dumbbell"


def key(root: Path = ROOT) -> str:
    """A digest of all that a module is built of."""
    digest = hashlib.sha256()

    def add(content: bytes) -> None:
        digest.update(len(content).to_bytes(8, "big") + content)

    files = (path for path in (root / "crates").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    for path in sorted([*files, root / "Cargo.toml", root / "Cargo.lock"]):
        add(path.relative_to(root).as_posix().encode())
        add(path.read_bytes())
    add(subprocess.run(["rustc", "-vV"], check=True, capture_output=True).stdout)
    add(repr(platform.libc_ver()).encode())
    told = {name: value for name, value in os.environ.items() if name in VARIABLES or name.startswith("CARGO_PROFILE_")}
    add(repr(sorted(told.items())).encode())
    return digest.hexdigest()[:32]


def put(source: Path, target: Path) -> None:
    """Copies a file, whole or not at all."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".part")
    os.close(handle)
    try:
        shutil.copyfile(source, name)
        Path(name).chmod(0o755)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def digest_of(file: Path) -> str:
    """Of its bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def take(modules: Path, sources: str, target: Path) -> bool:
    """Puts the module of these sources in place of the target; whether there was one."""
    for module in modules.glob(f"{sources}.*{SUFFIX}"):
        if digest_of(module) == module.name.split(".")[1]:
            put(module, target)
            # What was used last is the newest.
            module.touch()
            return True
        module.unlink(missing_ok=True)
    return False


def keep(modules: Path, sources: str, module: Path) -> None:
    """Keeps a module of these sources, and of all no more than the newest."""
    modules.mkdir(parents=True, exist_ok=True)
    put(module, modules / f"{sources}.{digest_of(module)}{SUFFIX}")
    newest = sorted(modules.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in newest[MOST:]:
        old.unlink(missing_ok=True)


def main() -> int:
    """Takes or keeps. What goes wrong costs no more than a compilation."""
    action, file = sys.argv[1], Path(sys.argv[2])
    try:
        modules = folder()
        if modules is not None and action == "keep":
            keep(modules, key(), file)
        elif modules is None or not take(modules, key(), file):
            return action == "take"
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"extension modules are not kept: {error}", file=sys.stderr)
        return action == "take"
    return 0


if __name__ == "__main__":
    sys.exit(main())
