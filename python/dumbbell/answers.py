"""What workers of a cluster answer, looked through before it is believed."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dumbbell import _core
from dumbbell.batches import Batch
from dumbbell.meta import Meta
from dumbbell.parallel import engine_digest, run_point
from dumbbell.results import OPTIONAL_TABLES, TABLES
from dumbbell.storage import ResultError

NO_MORE = {"flows": (("delivered_bytes_total", "throughput_bytes_total"), ("retransmits_total", "sent_total"))}
"""Counts of which the first is part of the second."""

NUMBER_BYTES = 8
"""Bytes of a number in memory; names take less."""


class WrongAnswerError(Exception):
    """A worker has answered with what cannot be right; the message says what."""


def checked(answer: Any, asked: Mapping[str, _core.Point], verify: float, most: int) -> list[Batch]:
    """The batches of an answer to a task of these points, which may take ``most`` bytes of memory.

    Of the points a share of ``verify``, chosen by their hashes, is run again here and compared byte by byte.

    Raises:
        WrongAnswerError: It is no answer, not one to this task, or one that cannot be right.
    """
    files_of_batches = _files_of(answer)
    size = sum(_size(content) for files in files_of_batches for content in files.values())
    if size > most:
        raise WrongAnswerError(f"{size / 2**20:,.0f} MiB, of which {most / 2**20:,.0f} fit here (--max-memory)")
    batches = [_decoded(files) for files in files_of_batches]
    metas = [meta for batch in batches for meta in batch.metas]
    found = [meta.content_hash for meta in metas]
    if strange := sorted(set(found) - asked.keys()):
        raise WrongAnswerError(f"points that nobody asked for ({strange[0][:12]})")
    if len(found) > len(set(found)):
        raise WrongAnswerError("a point twice")
    if answer.error is None and (lacking := sorted(asked.keys() - set(found))):
        raise WrongAnswerError(f"{len(lacking)} of {len(asked)} points missing ({lacking[0][:12]})")
    if other := next((meta.engine for meta in metas if meta.engine != engine_digest()), None):
        raise WrongAnswerError(f"points of another engine ({other})")
    for batch in batches:
        _check_numbers(batch)
        for meta in batch.metas:
            if int(meta.content_hash[:8], 16) < verify * 2**32:
                _verify(batch, meta, asked[meta.content_hash])
    return batches


def _size(content: bytes) -> int:
    """Bytes that a file of an answer takes when its rows are read, which are told without reading them."""
    import polars as pl

    try:
        rows = pl.scan_parquet(io.BytesIO(content))
        return max(
            len(content), NUMBER_BYTES * int(rows.select(pl.len()).collect().item()) * len(rows.collect_schema())
        )
    except (pl.exceptions.PolarsError, OSError):
        # Reading it says what is wrong.
        return len(content)


def _files_of(answer: Any) -> Sequence[Mapping[str, bytes]]:
    files = getattr(answer, "batches", None)
    if not isinstance(files, Sequence) or not hasattr(answer, "error"):
        raise WrongAnswerError(f"no batches of points, but {type(answer).__name__}")
    for one in files:
        if not isinstance(one, Mapping) or not all(isinstance(content, bytes) for content in one.values()):
            raise WrongAnswerError("a batch that cannot be read: it is not made of files")
    return files


def _decoded(files: Mapping[str, bytes]) -> Batch:
    try:
        batch = Batch.decoded(files, Path("answer"))
        if lacking := [name for name in TABLES if name not in batch.tables]:
            raise WrongAnswerError(f"a batch without its table `{lacking[0]}`")
    except (ResultError, KeyError, ValueError, TypeError) as error:
        raise WrongAnswerError(f"a batch that cannot be read: {getattr(error, 'problem', repr(error))}") from None
    return batch


def _check_numbers(batch: Batch) -> None:
    """Refuses what no run has: infinite or negative numbers, parts that are more than the whole."""
    import polars as pl

    for name in ("flows", "links"):
        frame = batch.tables[name].to_polars()
        for column in frame.iter_columns():
            if column.dtype == pl.Float64 and (column.is_infinite() | (column < 0.0)).any():
                raise WrongAnswerError(f"a number in `{name}.{column.name}` that cannot be")
        for part, whole in NO_MORE.get(name, ()):
            if (frame[part] > frame[whole]).any():
                raise WrongAnswerError(f"more `{part}` than `{whole}`")


def _verify(batch: Batch, meta: Meta, point: _core.Point) -> None:
    (theirs,) = batch.only({meta.content_hash}).results(Path("answer"))
    ours = run_point(point)
    for name in (*TABLES, *OPTIONAL_TABLES):
        their_table, our_table = getattr(theirs, name), getattr(ours, name)
        # An empty table is stored without its columns.
        is_there = len(their_table) > 0 or len(our_table) > 0
        if is_there and not their_table.to_polars().equals(our_table.to_polars()):
            raise WrongAnswerError(f"other `{name}` than a run of {meta.label or meta.content_hash[:12]} here")
