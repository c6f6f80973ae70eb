"""Begins a project with an algorithm of one's own."""

from __future__ import annotations

import importlib.resources
import re
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from dumbbell import _core
from dumbbell.storage import OutputError


@dataclass(frozen=True)
class Language:
    """How a language is written, built and named in an experiment."""

    source: str
    key: str
    place: str
    build: list[str]


_SUFFIX = {"darwin": "dylib", "win32": "dll"}.get(sys.platform, "so")
_PREFIX = "" if sys.platform == "win32" else "lib"

LANGUAGES = {
    "python": Language(source="NAME.py", key="python", place="NAME.py:Mine", build=[]),
    "c": Language(source="NAME.c", key="library", place="libNAME.so", build=["make"]),
    "rust": Language(
        source="src/lib.rs",
        key="library",
        place=f"target/release/{_PREFIX}NAME.{_SUFFIX}",
        build=["cargo", "build", "--release", "--offline"],
    ),
}
"""The languages that a project may be in."""


def _is_module(name: str) -> bool:
    """Whether a module of this name can be imported, other than a folder that happens to be here."""
    spec = find_spec(name)
    return spec is not None and spec.origin is not None


def begin(name: str, language: str, parent: Path) -> list[Path]:
    """Writes a project into a new folder called ``name``; gives its files.

    Raises:
        ValueError: The name is none, or the language is not known.
        OutputError: The folder is there already, or cannot be written.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name):
        raise ValueError(
            f"`{name}` is no name for an algorithm: write a small letter, and then small letters, digits and _ only"
        )
    if language not in LANGUAGES:
        raise ValueError(f"--in {language}: choose from {', '.join(LANGUAGES)}")
    if language == "python" and _is_module(name):
        raise ValueError(f"`{name}` is a module that the project's own would hide: choose another name")
    folder = parent / name
    texts = _texts(name, LANGUAGES[language], language)
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise OutputError(f"{folder} is there already: choose another name, or another folder with --to") from None
    except OSError as error:
        raise OutputError(f"{folder}: cannot make this folder: {error.strerror or error}") from None
    written = []
    for file, text in texts.items():
        target = folder / file
        try:
            target.parent.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            # Nothing is left half written, and nothing in it was there before.
            shutil.rmtree(folder, ignore_errors=True)
            raise OutputError(f"{target}: cannot write: {error.strerror or error}") from None
        written.append(target)
    return written


def _texts(name: str, language: Language, key: str) -> dict[str, str]:
    folder = importlib.resources.files("dumbbell") / "templates"
    steps = [*([" ".join(language.build)] if language.build else []), "python -m unittest", f"dumbbell run {name}.toml"]
    words = {
        "COMMAND": repr(language.build),
        "STEPS": "\n".join(steps),
        "SOURCE": f"`{language.source.replace('NAME', name)}`",
        "KEY": language.key,
        "PLACE": language.place.replace("NAME", name),
        "NAME": name,
    }

    def filled(text: str) -> str:
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
        return text

    texts: dict[str, str] = {}
    for common in ("README.md", "NAME.toml", "test_NAME.py"):
        texts[common.replace("NAME", name)] = filled((folder / f"{common}.template").read_text(encoding="utf-8"))
    texts[".gitignore"] = (folder / "gitignore.template").read_text(encoding="utf-8")
    own = {"python": ["NAME.py"], "c": ["NAME.c", "Makefile"], "rust": ["Cargo.toml", "src/lib.rs"]}[key]
    for file in own:
        path = folder / key
        for part in f"{file}.template".split("/"):
            path = path / part
        texts[file.replace("NAME", name)] = filled(path.read_text(encoding="utf-8"))
    texts.update(_contract(key))
    return texts


def _contract(language: str) -> dict[str, str]:
    header, contract = _core.contracts()
    return {"c": {"dumbbell_cc.h": header}, "rust": {"src/contract.rs": contract}}.get(language, {})
