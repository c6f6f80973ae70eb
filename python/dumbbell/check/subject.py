"""What stands in ``cc`` for an algorithm that is examined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dumbbell import catalogue
from dumbbell.compare import variant


def subject(algorithm: str) -> dict[str, Any] | str:
    """What stands in ``cc`` for an algorithm."""
    changed = variant(algorithm)
    if changed is None:
        return str(catalogue.find(algorithm)["name"])
    if "base" in changed:
        name = catalogue.find(changed.pop("base"))["name"]
        return {"name": name, **changed}
    # What is wrong with the class is not the fault of an experiment.
    catalogue.find(str(changed["python"]))
    file, colon, name = str(changed["python"]).rpartition(":")
    return changed | {"python": f"{Path(file).resolve()}{colon}{name}"}
