"""What the service does by itself, between requests: derive events anew after the embedder changed,
warm indexes up.

Search goes on meanwhile with what is there: an event without a vector of the embedder in force is
found by its words.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from functools import partial
from typing import cast

from ..accounts.rate_limits import forget_idle
from ..context import Context
from ..cubes.reindex import reindex_cubes as renew_cubes
from ..search import EmbedderUnavailable, EventText, IndexEntry, analysis_id, index_entries
from ..search.text import screening
from ..store import Row, StoreUnavailable, Transaction, embedder_id
from .recall import postgresql_index as database_index
from .spaces import SQL, row_id, space_of, space_view

# events derived anew at a time: a search waits for their embedding, tens of milliseconds at most
BATCH = 16
# events of a space renewed before its index is read anew; then twice as many each time
FIRST_LOOK = 256
WARM_EVENTS_MAX = 200_000  # indexes of the newest spaces are read at start, up to so many events
WARM_SPACES_MAX = 1_000
RETRY_SECONDS = 5.0
# another process, such as an import with other settings, may have written stale events
LOOK_AGAIN_SECONDS = 60.0

_log = logging.getLogger(__name__)


class Maintenance:
    """Renews what is stale, batch by batch. `start` does it in a thread of its own; `step` does one
    batch, here and now.

    Indexes learn of renewed vectors by their space's revision. It goes up in the very transaction
    that renews the last stale event of a space, so that a process killed in between leaves no index
    behind the rows.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._unseen: Counter[int] = Counter()  # renewed events by space that no index knows of yet
        self._look: dict[int, int] = {}

    def start(self) -> None:
        """Begin in the background."""
        self._threads = [
            threading.Thread(target=self._run, name="remembrancer-upkeep", daemon=True),
            threading.Thread(
                target=self._read_all_wanted, name="remembrancer-reading", daemon=True
            ),
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End after the batch under way. Idempotent."""
        self._stop.set()
        self._context.index_cache.is_wanted.set()  # whoever waits for it looks up
        for thread in self._threads:
            thread.join()

    def step(self) -> bool:
        """Renew one batch of stale events, else of stale cubes, else take one step of
        database_index.py; False when all was done.

        False too when another server is at it. Raises StoreUnavailable, EmbedderUnavailable.
        """
        with self._context.store.lock(
            "upkeep", wait=False
        ) as is_ours:  # servers at once would derive the same
            return is_ours and self._step()

    def _step(self) -> bool:
        stale = self._context.store.read(self._find)
        if not stale:
            return renew_cubes(self._context) or database_index.advance_index(self._context)
        derived = index_entries(self._context.embedder, [_said(row) for row in stale])
        unseen = self._unseen + Counter(space_of(row.id) for row in stale)
        for account_id in dict.fromkeys(row.account_id for row in stale):
            renewed = [
                (row, new)
                for row, new in zip(stale, derived, strict=True)
                if row.account_id == account_id
            ]
            # Not flushed: what a power cut takes is derived once more.
            revised = self._context.store.write(
                partial(self._renew, account_id, renewed, unseen),
                account_id=account_id,
                flush=False,
            )
            for space in revised:
                self._look[space] = 2 * max(unseen.pop(space), FIRST_LOOK)
        self._unseen = unseen
        return True

    def warm(self) -> None:
        """Read the indexes of the newest spaces and load the detector of secrets, so that the first
        requests are as quick as the next.
        """
        self._warm_spaces()
        screening.load()  # last: most turns need no rules

    def read_wanted(self) -> None:
        """Read into memory the spaces that the database was asked about meanwhile.

        Raises StoreUnavailable.
        """
        for wanted in self._context.index_cache.wanted():
            if not self._stop.is_set():
                self._warm(*cast("tuple[int, int]", wanted))

    def _warm_spaces(self) -> None:
        left = WARM_EVENTS_MAX
        for space in self._context.store.read(
            lambda tx: tx.all(SQL.spaces_newest, most=WARM_SPACES_MAX)
        ):
            if self._stop.is_set():
                return
            if space.events_made <= left:
                left -= space.events_made
                self._warm(space.account_id, space.id)

    def _warm(self, account_id: int, space_id: int) -> None:
        def read(tx: Transaction) -> None:
            space = tx.one_or_none(SQL.space_by_id, id=space_id)
            if space is not None:
                space_view(self._context, tx, space)

        # one each: a snapshot held for long keeps the log of writes growing
        self._context.store.read(read, account_id=account_id)

    def _run(self) -> None:
        work = self.warm
        while not self._stop.is_set():
            try:
                work()
                work = self._renew_all
            except (StoreUnavailable, EmbedderUnavailable) as error:
                _log.warning("upkeep waits %.0f s: %s", RETRY_SECONDS, error)
                self._stop.wait(RETRY_SECONDS)

    def _read_all_wanted(self) -> None:
        while not self._stop.is_set():
            self._context.index_cache.is_wanted.wait()
            try:
                self.read_wanted()
            except StoreUnavailable as error:  # whoever searches next wants it again
                _log.warning("a space was not read into memory: %s", error)

    def _renew_all(self) -> None:
        store = self._context.store
        if store.is_shared:
            forget_idle(store)
        while not self._stop.is_set() and self.step():
            pass
        self._stop.wait(LOOK_AGAIN_SECONDS)

    def _find(self, tx: Transaction) -> list[Row]:
        embedder = embedder_id(tx, analysis_id(self._context.embedder), make=False)
        return tx.all(SQL.stale, embedder=embedder, most=BATCH)

    def _renew(
        self,
        account_id: int,
        renewed: list[tuple[Row, IndexEntry]],
        unseen: Counter[int],
        tx: Transaction,
    ) -> list[int]:
        """Write what was derived of an account's events; gives the spaces whose indexes are to be
        read anew.
        """
        number = embedder_id(tx, renewed[0][1].by, make=True)
        for row, new in renewed:  # one erased meanwhile is not there to be set
            tx.run(SQL.set_index, id=row.id, words=new.words, vectors=new.vectors, embedder=number)
        due = []
        for space in sorted({space_of(row.id) for row, _ in renewed}):
            database_index.rebuild(
                self._context,
                tx,
                account_id,
                space,
                [row.id for row, _ in renewed if space_of(row.id) == space],
            )
            span = {"low": row_id(space, 0), "high": row_id(space + 1, 0)}
            if (
                unseen[space] >= self._look.get(space, FIRST_LOOK)
                or not tx.one(SQL.is_stale, embedder=number, **span).found
            ):
                tx.run(SQL.revise_space, space_id=space)
                due.append(space)
        return due


def _said(row: Row) -> EventText:
    return EventText(
        query=row.query, response=row.response, topic=row.topic, occurred_ms=row.occurred_ms
    )
