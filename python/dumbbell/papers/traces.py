"""Cellular traces that studies used and that Dumbbell does not ship."""

from __future__ import annotations

from pathlib import Path

PLACE = Path("../shared/traces")
"""Looked into when neither ``--traces`` nor ``DUMBBELL_TRACES`` names a directory."""

WHERE_FROM = """\
The recordings come with the Mahimahi emulator: take {names} from the folder traces/ of its source
(github.com/ravinet/mahimahi, GPL-3.0-or-later), put them into a directory and name it with --traces DIR or
DUMBBELL_TRACES. They were made for K. Winstein, A. Sivaraman, H. Balakrishnan, "Stochastic Forecasts Achieve High
Throughput and Low Delay over Cellular Networks", NSDI 2013; please cite that paper."""


class MissingTraceError(LookupError):
    """A directory of traces lacks one; the message says where to get it."""


def find(folder: Path | None, names: tuple[str, ...]) -> list[Path] | None:
    """The files ``names`` in ``folder``, or in :data:`PLACE`.

    ``None`` if no directory was named and they are not in that place.

    Raises:
        MissingTraceError: ``folder`` was named but lacks one of them.
    """
    paths = [(folder or PLACE) / name for name in names]
    missing = [path.name for path in paths if not path.is_file()]
    if not missing:
        return [path.resolve() for path in paths]
    if folder is not None:
        raise MissingTraceError(f"{folder}: no {' and no '.join(missing)} here.\n{where_from(names)}")
    return None


def where_from(names: tuple[str, ...]) -> str:
    """Tells a person how to get the files."""
    return WHERE_FROM.format(names=" and ".join(names))
