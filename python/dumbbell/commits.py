"""When the results of a sweep are committed: many at a time where they come fast, one by one where they are slow."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from dumbbell.batches import SUMMARIES, Archive, Batch
from dumbbell.meta import Meta
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
        self._results: list[Result] = []
        self._batches: list[Batch] = []
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
        self._make_room([result.meta], is_long=result.is_long)
        self._results.append(result)
        self._added([result.meta], result.rows, result.is_long)

    def add_batch(self, batch: Batch) -> None:
        """Takes points that finished together elsewhere."""
        if self._archive is None and self._summaries is None:
            return
        if self._archive is None:
            batch = batch.of_tables(SUMMARIES)
        self._make_room(batch.metas, is_long=batch.is_long)
        self._batches.append(batch)
        self._added(batch.metas, batch.rows, batch.is_long)

    def commit_if_due(self) -> None:
        """Commits what waits if it has waited long enough."""
        now = time.monotonic()
        if self._hashes and now - self._latest >= max(PATIENCE_S, SHARE * (now - self._begin)):
            self.commit()

    def commit(self) -> None:
        """Commits what waits."""
        results, self._results = self._results, []
        batches, self._batches = self._batches, []
        self._rows = 0
        self._hashes.clear()
        if results and self._archive is not None:
            self._hand_on(self._archive.append(results))
        elif results:
            self._hand_on(Batch.of(results, SUMMARIES))
        if batches:
            batch = Batch.joined(batches)
            if self._archive is not None:
                self._archive.append_batch(batch)
            self._hand_on(batch)
        self._latest = time.monotonic()

    def close(self) -> None:
        """Commits the rest."""
        self.commit()

    def _make_room(self, metas: Sequence[Meta], *, is_long: bool) -> None:
        """Commits what must not be in one batch with these points: one too long for memory, or the same point."""
        if is_long or any(meta.content_hash in self._hashes for meta in metas):
            self.commit()

    def _added(self, metas: Sequence[Meta], rows: int, is_long: bool) -> None:
        self._hashes.update(meta.content_hash for meta in metas)
        self._rows += rows
        if is_long or len(self._hashes) >= MAX_POINTS or self._rows >= MAX_ROWS:
            self.commit()
        else:
            self.commit_if_due()

    def _hand_on(self, batch: Batch) -> None:
        if self._archive is not None:
            self._tell(len(batch.metas))
        if self._summaries is not None:
            self._summaries.add(batch)
