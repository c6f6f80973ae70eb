"""Studies of one's own: a folder anywhere, in the shape of a study of this package."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from dumbbell import papers
from dumbbell.papers.model import Study
from dumbbell.papers.part import Part

HELP = "docs/papers.md says what a study is made of: a folder with an __init__.py that sets STUDY"


def split(name: str) -> tuple[Path, str] | None:
    """The folder and the part, or none, that a path means; ``None`` where it leads to no folder with Python code.

    Raises:
        StudyError: It is written as a path, with ``.``, ``~`` or ``/`` at its beginning, and there is no study.
    """
    path = Path(name).expanduser()
    for folder, part in ((path, ""), (path.parent, path.name)):
        if folder != Path() and (folder / "__init__.py").is_file():
            return folder.resolve(), part
    if name.startswith((".", "/", "~")):
        what = "has no __init__.py" if path.is_dir() else "is no folder"
        raise papers.StudyError(f"{name}: {what}\n  help: {HELP}")
    return None


def chosen(folder: Path, name: str) -> tuple[Study, list[Part[Any]]]:
    """The study of a folder with all its parts, or with the one part of a name."""
    study = load(folder)
    parts = [part for part in study.parts if name in ("", part.name)]
    if not parts:
        known = ", ".join(part.name for part in study.parts) or "none"
        raise papers.UnknownStudyError(f"{folder}: the study has no part `{name}`\n  help: its parts are {known}")
    return study, parts


def load(folder: Path) -> Study:
    """The study of a folder.

    Its modules are those of ``dumbbell.papers.NAME``, by the folder's name, in this process: a study needs no change to
    move into the package or out of it, and a copy of one stands for the package's. This runs its code.

    Raises:
        StudyError: Its code fails, or sets no ``STUDY``.
    """
    name = folder.name.replace("-", "_")
    if not name.isidentifier():
        raise papers.StudyError(
            f"{folder}: `{folder.name}` is no name of a Python package\n  help: letters, digits, _ and -"
        )
    try:
        module = _imported(f"{papers.__name__}.{name}", folder)
    except Exception as error:
        raise papers.StudyError(f"{folder}: {told(error, folder)}") from error
    study = getattr(module, "STUDY", None)
    if not isinstance(study, Study):
        found = "sets no STUDY" if study is None else f"sets STUDY to {type(study).__name__}, not a Study"
        raise papers.StudyError(f"{folder / '__init__.py'}: {found}\n  help: {HELP}")
    return study


def is_own(part: Part[Any]) -> bool:
    """Whether a part is none of this package."""
    return not part.folder.is_relative_to(Path(__file__).parent)


def told(error: Exception, folder: Path) -> str:
    """What happened, and in which line of the folder's code."""
    lines = [
        f"{Path(frame.filename).name}:{frame.lineno}: "
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(folder)
    ]
    if isinstance(error, SyntaxError) and error.filename is not None:
        lines = [f"{Path(error.filename).name}:{error.lineno}: "]
    return f"{lines[-1] if lines else ''}{type(error).__name__}: {error}"


def _imported(name: str, folder: Path) -> ModuleType:
    for old in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
        del sys.modules[old]
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
