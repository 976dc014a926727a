"""What the service does by itself, between requests: derive events anew after the embedder changed, warm indexes up.

Search goes on meanwhile with what is there: an event without a vector of the embedder in force is found by its words.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter

from ..context import Context
from ..search import EmbedderUnavailable
from ..store import Row, StoreUnavailable, Transaction
from .keep import Derived, Said, derive, embedder_id
from .spaces import SQL, derived_by, space_of, view_of

BATCH = 32  # events derived anew at a time: their embedding holds up a search by a few milliseconds at most
FIRST_LOOK = 256  # events of a space renewed before its index is read anew; then twice as many each time
WARM_EVENTS_MAX = 200_000  # indexes of the latest spaces are read at start, up to so many events
RETRY_SECONDS = 5.0

_log = logging.getLogger(__name__)


class Upkeep:
    """Renews what is stale, batch by batch. `start` does it in a thread of its own; `step` does one batch, here and now."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._after = 0
        self._unseen: Counter[int] = Counter()  # renewed events by space that its index does not know of yet
        self._look: dict[int, int] = {}

    def start(self) -> None:
        """Begin in the background."""
        self._thread = threading.Thread(target=self._run, name="remembrancer-upkeep", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the batch under way. Idempotent."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def step(self) -> bool:
        """Renew one batch of stale events; False when none was left. Raises StoreUnavailable, EmbedderUnavailable."""
        stale = self._context.store.read(self._find)
        if stale:
            derived = derive(self._context.embedder, [_said(row) for row in stale])
            self._context.store.write(lambda tx: self._renew(tx, stale, derived))
            self._after = stale[-1].id
            for row in stale:
                self._unseen[space_of(row.id)] += 1
        done = not stale
        due = [space for space, count in self._unseen.items() if done or count >= self._look.get(space, FIRST_LOOK)]
        if due:
            self._context.store.write(lambda tx: [tx.run(SQL.revise_space, space_id=space) for space in due])
        for space in due:
            self._look[space] = 2 * max(self._unseen.pop(space), FIRST_LOOK)
        if done:
            self._after = 0
        return not done

    def warm(self) -> None:
        """Read the indexes of the latest spaces, so that their first search is as quick as the next."""

        def read(tx: Transaction) -> None:
            left = WARM_EVENTS_MAX
            for space in tx.all(SQL.spaces_in_use, most=1_000):
                left -= space.events_made
                if left < 0 or self._stop.is_set():
                    return
                view_of(self._context, tx, space)

        self._context.store.read(read)

    def _run(self) -> None:
        for work in (self.warm, self._renew_all):
            while not self._stop.is_set():
                try:
                    work()
                    break
                except (StoreUnavailable, EmbedderUnavailable) as error:
                    _log.warning("upkeep waits %.0f s: %s", RETRY_SECONDS, error)
                    self._stop.wait(RETRY_SECONDS)

    def _renew_all(self) -> None:
        while not self._stop.is_set() and self.step():
            pass

    def _find(self, tx: Transaction) -> list[Row]:
        embedder = tx.one(SQL.embedder_id, name=derived_by(self._context.embedder))
        return tx.all(SQL.stale, embedder=embedder.id if embedder else 0, after=self._after, most=BATCH)

    def _renew(self, tx: Transaction, stale: list[Row], derived: list[Derived]) -> None:
        number = embedder_id(tx, derived[0].by)
        for row, new in zip(stale, derived, strict=True):  # one erased meanwhile is not there to be set
            tx.run(SQL.set_index, id=row.id, words=new.words, vectors=new.vectors, embedder=number)


def _said(row: Row) -> Said:
    return Said(query=row.query, response=row.response, topic=row.topic, occurred_ms=row.occurred_ms)
