"""When the results of a sweep are committed: many at a time where they come fast, one by one where they are slow."""

from __future__ import annotations

import time
from collections.abc import Callable

from dumbbell.batches import SUMMARIES, Archive, Batch
from dumbbell.results import Result
from dumbbell.summaries import Summaries

PATIENCE_S = 2.0
"""How long a result may wait to be committed; in a long sweep a hundredth of its time, so that batches do not grow
with it without end."""

SHARE = 0.01

MAX_POINTS = 1024
"""So many points are committed together at most, and so many rows, because they are in memory until then."""

MAX_ROWS = 131_072


class Commits:
    """Takes results one by one and hands them on in batches, to disk if there is an archive, and to the summaries.

    ``tell`` is called with the number of points that have come to disk.
    """

    def __init__(
        self, archive: Archive | None, summaries: Summaries | None, tell: Callable[[int], None] = lambda points: None
    ) -> None:
        self._archive = archive
        self._summaries = summaries
        self._tell = tell
        self._waiting: list[Result] = []
        self._hashes: set[str] = set()
        self._rows = 0
        self._begin = self._latest = time.monotonic()

    def known(self, batch: Batch) -> None:
        """Takes a batch that is on disk already."""
        if self._summaries is not None:
            self._summaries.add(batch)

    def add(self, result: Result) -> None:
        """Takes a result."""
        if self._archive is None and self._summaries is None:
            return
        tables = (result.flows, result.series, result.link_series, result.completions)
        is_long = any(table.is_stored for table in tables)
        if is_long or result.meta.content_hash in self._hashes:
            self.commit()
        self._waiting.append(result)
        self._hashes.add(result.meta.content_hash)
        self._rows += 0 if is_long else sum(map(len, tables))
        if is_long or len(self._waiting) >= MAX_POINTS or self._rows >= MAX_ROWS:
            self.commit()
        else:
            self.commit_if_due()

    def commit_if_due(self) -> None:
        """Commits what waits if it has waited long enough."""
        now = time.monotonic()
        if self._waiting and now - self._latest >= max(PATIENCE_S, SHARE * (now - self._begin)):
            self.commit()

    def commit(self) -> None:
        """Commits what waits."""
        results, self._waiting, self._rows = self._waiting, [], 0
        self._hashes.clear()
        if results:
            if self._archive is None:
                batch = Batch.of(results, SUMMARIES)
            else:
                batch = self._archive.append(results)
                self._tell(len(results))
            if self._summaries is not None:
                self._summaries.add(batch)
        self._latest = time.monotonic()

    def close(self) -> None:
        """Commits the rest."""
        self.commit()
