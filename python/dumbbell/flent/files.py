"""Flent's files: JSON with metadata, times and series, compressed.

Version 4 of the format, which Flent 1.2 and later read and write.
"""

from __future__ import annotations

import bz2
import gzip
import json
import math
import os
import zlib
from pathlib import Path
from typing import Any

from dumbbell import _core
from dumbbell.flent.data import FlentData, Values
from dumbbell.storage import OutputError, write_file

SUFFIX = ".flent.gz"
NAMES = (SUFFIX, ".flent", ".flnt")
"""How the names of Flent's files end, also older ones."""
VERSION = 4
START = "2000-01-01T00:00:00.000000Z"
"""When every simulated test begins, so that the same run gives the same file."""
MAX_BYTES = 1 << 26
"""Larger files, uncompressed, hold no test."""
MAX_ITEMS = 1 << 22
"""Nor do files with more values. Each takes up to 64 bytes of memory, however few bytes of the file it takes."""


class FlentFileError(ValueError):
    """A file that Flent has not written, or that is damaged; the message names it."""


def is_named_so(place: str | os.PathLike[str]) -> bool:
    """Whether a name is that of a file of Flent."""
    return os.fspath(place).endswith(NAMES)


def write(data: FlentData, place: str | os.PathLike[str]) -> Path:
    """Writes a file that Flent opens and plots, and returns its path.

    A file that is there is replaced if Dumbbell wrote it.

    Raises:
        OutputError: The name does not end in ``.flent.gz``, it cannot be written, or somebody else's file is there.
    """
    path = Path(place)
    check_place(path)
    text = json.dumps(_serialised(data, path.name), sort_keys=True, allow_nan=False)
    write_file(path, gzip.compress(text.encode(), mtime=0))
    return path


def check_place(path: Path) -> None:
    """Raises :class:`OutputError` now where :func:`write` would later."""
    if not path.name.endswith(SUFFIX):
        raise OutputError(f"{path}: the name of a Flent file ends in {SUFFIX}")
    if path.exists() and not _is_ours(path):
        raise OutputError(f"{path} was not written by Dumbbell; choose another name or remove it")


def _is_ours(path: Path) -> bool:
    try:
        return "dumbbell" in str(read(path).metadata.get("FLENT_VERSION", ""))
    except FlentFileError:
        return False


def _serialised(data: FlentData, filename: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "DATA_FILENAME": filename,
        "FAILED_RUNNERS": 0,
        "FLENT_VERSION": f"dumbbell {_core.__version__}",
        "HOST": "simulated",
        "HOSTS": ["simulated"],
        "IP_VERSION": 4,
        "LOCAL_HOST": "dumbbell",
        "NOTE": None,
        "SERIES_META": {
            name: {"UNITS": "ms" if name.startswith("Ping") else "Mbits/s", "IDX": number}
            for number, name in enumerate(data.results)
        },
        "T0": START,
        "TEST_PARAMETERS": {},
        "TIME": START,
    }
    raw = {
        name: [{"t": at, "val": value} for at, value in zip(data.x_values, values, strict=True) if value is not None]
        for name, values in data.results.items()
    }
    return {
        "version": VERSION,
        "metadata": metadata | data.metadata | {"NAME": data.name, "TITLE": data.title},
        "x_values": data.x_values,
        "results": data.results,
        "raw_values": raw,
    }


def read(place: str | os.PathLike[str]) -> FlentData:
    """Reads a file of Flent, also of a real network.

    Raises:
        FlentFileError: It cannot be read, or is no such file.
    """
    path = Path(place)
    try:
        unpack = bz2.open if path.suffix in (".bz2", ".flnt") else gzip.open
        with unpack(path) as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise FlentFileError(f"{path} holds more than {MAX_BYTES} bytes, which is no test")
        if sum(map(content.count, (b",", b"[", b"{"))) > MAX_ITEMS:
            raise FlentFileError(f"{path} holds more than {MAX_ITEMS} values, which is no test")
        parsed = json.loads(content)
    except FlentFileError:
        raise
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise FlentFileError(f"{path} is no file of Flent: {error}") from error
    return _unserialised(parsed, path)


def _unserialised(parsed: Any, path: Path) -> FlentData:
    if not isinstance(parsed, dict):
        raise FlentFileError(f"{path} is no file of Flent: it holds no table")
    metadata, x_values, results = (parsed.get(key) for key in ("metadata", "x_values", "results"))
    if not isinstance(metadata, dict) or not isinstance(x_values, list) or not isinstance(results, dict):
        raise FlentFileError(f"{path} is no file of Flent: it has no `metadata`, `x_values` or `results`")
    times = _numbers(x_values, path, "x_values")
    if not times or any(at is None for at in times):
        raise FlentFileError(f"{path}: `x_values` are not all numbers")
    series = {str(name): _numbers(values, path, str(name)) for name, values in results.items()}
    wrong = next((name for name, values in series.items() if len(values) != len(times)), None)
    if wrong is not None:
        raise FlentFileError(f"{path}: the series `{wrong}` has {len(series[wrong])} values for {len(times)} times")
    for key in ("LENGTH", "TOTAL_LENGTH"):
        if metadata.get(key) is not None:
            _numbers([metadata[key]], path, key)
    name, title = str(metadata.get("NAME") or path.name), str(metadata.get("TITLE") or "")
    return FlentData(name, title, [at for at in times if at is not None], series, metadata)


def _numbers(values: Any, path: Path, name: str) -> Values:
    if not isinstance(values, list):
        raise FlentFileError(f"{path}: `{name}` is no list")
    numbers: Values = []
    for value in values:
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise FlentFileError(f"{path}: `{name}` holds {value!r}, which is no number")
        try:
            numbers.append(None if value is None or not math.isfinite(value) else float(value))
        except OverflowError:
            raise FlentFileError(f"{path}: `{name}` holds a number that is too large") from None
    return numbers
