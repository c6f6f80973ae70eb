"""Published studies, repeated: ``dumbbell reproduce``.

A study is a package of this one: experiment files, the published numbers as CSV, and a module for each figure or table
(a *part*) that runs the experiments, puts our numbers beside the published ones, draws the figure and judges every
claim from what it measured. ``docs/papers.md`` says how to add one.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from dumbbell.meant import meant
from dumbbell.papers.model import (
    Cell,
    Claim,
    Grid,
    Judgement,
    Options,
    Outcome,
    Provenance,
    Report,
    Study,
    Verdict,
)
from dumbbell.papers.part import Experiment, Part

__all__ = [
    "NAMES",
    "Cell",
    "Claim",
    "Experiment",
    "Grid",
    "Judgement",
    "Options",
    "Outcome",
    "Part",
    "Provenance",
    "Report",
    "Study",
    "StudyError",
    "UnknownStudyError",
    "Verdict",
    "find",
    "studies",
]

NAMES: tuple[str, ...] = tuple(one.name.replace("_", "-") for one in pkgutil.iter_modules(__path__) if one.ispkg)
"""The studies: names of packages of this one, with hyphens for underscores."""


class StudyError(Exception):
    """A folder holds no study that can be run, or the code of one failed; the message says where."""


class UnknownStudyError(LookupError):
    """There is no study or part of this name; the message lists what there is."""


def studies() -> list[Study]:
    """All studies."""
    return [load(name) for name in NAMES]


def load(name: str) -> Study:
    """A study by its name in :data:`NAMES`."""
    study = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").STUDY
    assert isinstance(study, Study)
    return study


def find(name: str) -> tuple[Study, list[Part[Any]]]:
    """The study ``name`` with all its parts, or the one part of ``study/part``.

    A study of this package goes by its name, one of your own by the path of its folder, ``./folder`` or
    ``./folder/part``, whose code this runs.

    Raises:
        UnknownStudyError: There is none; the message lists those of this package.
        StudyError: The folder holds no study that can be run.
    """
    from dumbbell.papers import outside

    paper, slash, part = name.strip("/").partition("/")
    if paper in NAMES and not name.startswith("/"):
        study = load(paper)
        chosen = [candidate for candidate in study.parts if not slash or candidate.name == part]
        if chosen:
            return study, chosen
    elif (place := outside.split(name)) is not None:
        return outside.chosen(*place)
    known = [*NAMES, *(f"{study.name}/{part.name}" for study in studies() for part in study.parts)]
    remedy = " ".join(filter(None, [meant(name, known), f"there are {', '.join(known)}, and any folder: ./mine"]))
    raise UnknownStudyError(f"unknown study `{name}`\n  help: {remedy}")
