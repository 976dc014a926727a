"""Background maintenance: renew index entries, load indexes, write segments."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from .. import screening
from ..accounts.rate_limits import forget_idle
from ..context import Context
from ..cubes import settle_ended, warm_cubes
from ..cubes.lessons import reindex_cubes
from ..protocol.memory import Remembered, Turn
from ..protocol.search import MemoryAnswer, MemoryQuery
from ..protocol.text import DAY_MS
from ..search import (
    Embedder,
    EmbedderUnavailable,
    EventText,
    IndexEntry,
    SegmentFolder,
    SegmentName,
    SpaceIndex,
    analysis_id,
    index_entries,
    load_ranker,
    repeated,
)
from ..search.text.machine_text import NEAR_DUPLICATE
from ..settings import Settings
from ..store import Row, StoreUnavailable, Transaction, embedder_id
from ..store.rows import read_row
from .changes.requests import names_history
from .history import endings
from .layers import renew_layers
from .recall import postgresql
from .spaces import (
    SQL,
    batch_of,
    flag_names,
    has_segments,
    row_id,
    segment_origin,
    space_of,
    space_view,
)


def warm_shared(embedder: Embedder) -> None:
    """Prepare what the first requests of any account would wait for."""
    warm_cubes(embedder)
    load_ranker(embedder.name)
    names_history("")
    for message in (MemoryQuery, MemoryAnswer, Turn, Remembered):
        message.model_rebuild()  # messages are prepared by their first use


# --- Write the segments of the indexes in the background, and remove those that are out of date
# A segment is made from rows alone, in one snapshot that has the revision it is named after.


def check_segments(context: Context) -> None:
    """Let `write_segments` look at every space that has segments.

    A process may have been killed after an erasure and before it removed a segment.
    """
    if context.segments is not None:
        for space_id in context.segments.spaces():
            context.segments.note(space_id)


def write_segments(context: Context, is_stopping: Callable[[], bool] = lambda: False) -> None:
    """Bring the segments up to date of the spaces that were noted since the last call.

    Raises StoreUnavailable.
    """
    segments = context.segments
    if segments is None or not has_segments(context):
        return
    due = segments.take_due()
    try:
        for space_id in due:
            if not is_stopping():
                _write_space(context, segments, space_id, is_stopping)
    except StoreUnavailable:
        for space_id in due:
            segments.note(space_id)
        raise


def _write_space(
    context: Context, segments: SegmentFolder, space_id: int, is_stopping: Callable[[], bool]
) -> None:
    """Remove what is out of date, write what is missing, and map it where it was in memory."""
    # one process at a time, so that no unfinished file of another is removed
    with context.store.lock(f"segments of space {space_id}"):
        owner = context.store.read(lambda tx: tx.one_or_none(SQL.space_owner, id=space_id))
        if owner is None:
            segments.drop(space_id)
            return
        read = partial(context.store.read, account_id=owner.account_id)
        space = read(lambda tx: tx.one(SQL.space_by_id, id=space_id))
        now = space.revision, space.events_made
        segments.sweep(space_id, *now)
        for low, high in segments.missing(space_id, *now):
            name = SegmentName(low, high, space.revision)
            if is_stopping() or not _write_segment(context, segments, space_id, name, read):
                segments.note(space_id)
                return
        segments.sweep(space_id, *now)
        if context.index_cache.own_parts(space_id) >= segments.sizes[0]:
            context.index_cache.drop(space_id)
            read(lambda tx: space_view(context, tx, tx.one(SQL.space_by_id, id=space_id)))


def _write_segment(
    context: Context,
    segments: SegmentFolder,
    space_id: int,
    name: SegmentName,
    read: Callable[[Callable[[Transaction], Any]], Any],
) -> bool:
    """Write a segment, unless its events have no rows; return False if that failed."""

    def is_current(tx: Transaction) -> bool:
        return bool(tx.one(SQL.space_by_id, id=space_id).revision == name.revision)

    def content(tx: Transaction) -> tuple[list[Row], SpaceIndex] | None:
        if not is_current(tx):
            return None
        row_range = {"low": row_id(space_id, name.low), "high": row_id(space_id, name.high)}
        rows = tx.all(SQL.index_rows, **context.embedder_numbers(tx), **row_range)
        index = SpaceIndex(context.layout.dimensions)
        index.add(batch_of(context, tx, space_id, rows), name.high)
        return rows, index

    result = read(content)
    if result is None:
        return False
    rows, index = result
    if not rows:
        return True
    origin = segment_origin(context, space_id, name.low, name.high, rows)
    return segments.publish(name, origin, index.as_range(), lambda: bool(read(is_current)))


# --- Background maintenance: renew index entries after the embedder changed, and load indexes
# Searches go on meanwhile. After a change on a running server, an event is found by its old vector
# until it has a new one; after a change while the server was down, by its words.

# Events renewed per step. A search waits for their embedding, tens of milliseconds at most.
BATCH = 16
# Their characters, so that a step stays short; a longer event is renewed alone.
BATCH_CHARACTERS = 256_000
# Events of a space to renew before its index is reloaded; doubled after each reload.
FIRST_RELOAD_EVENTS = 256
WARM_EVENTS_MAX = 200_000  # at start, load indexes of the newest spaces with up to this many events
WARM_SPACES_MAX = 1_000
RETRY_SECONDS = 5.0
# Pause between checks: another process, such as an import with other settings, may write stale
# events.
CHECK_SECONDS = 60.0
# The same where new texts may have no final vector: a remote embedder, or a faster one at once.
CHECK_OFTEN_SECONDS = 2.0

_log = logging.getLogger(__name__)


class Maintenance:
    """Renews stale index entries in batches. `start` runs it in background threads; `step` does one
    batch at once.

    Indexes notice renewed vectors by the revision of their space. The transaction that renews the
    last stale event of a space also increases the revision, so that a killed process leaves no
    index behind its rows.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._watchers: list[Callable[[Context], None]] = []
        self._changing = threading.Lock()
        self._stop = threading.Event()
        self._is_due = threading.Event()  # ends the pause between checks
        self._threads: list[threading.Thread] = []
        self._retention_due_ms = 0  # at the first step, then once a day
        self._unseen: Counter[int] = Counter()  # by space: events renewed since its last revision
        self._reload_at: dict[int, int] = {}  # by space: renewed events before the next revision

    def start(self) -> None:
        """Start the background threads."""
        self._threads = [
            threading.Thread(target=self._run, name="remembrancer-upkeep", daemon=True),
            threading.Thread(target=self._load_requested, name="remembrancer-reading", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def context(self) -> Context:
        """Return the context to use from now on: it changes with the embedder."""
        return self._context

    def watch(self, watcher: Callable[[Context], None]) -> None:
        """Call `watcher` with each new context."""
        self._watchers.append(watcher)

    def change_embedder(
        self, embedder: Embedder, *, first: Embedder | None = None, settings: Settings | None = None
    ) -> None:
        """Use another embedder, and renew all vectors in the background.

        Until an event is renewed, it is found by the vector of the embedder before or, if new texts
        have a faster embedder `first`, by that of `first`. Raises StoreUnavailable.
        """
        with self._changing:
            older: Embedder | None = first or self._context.embedder
            if older is not None and older.name == embedder.name:
                older = None
            self._use(self._context.with_embedder(embedder, older, settings))
        self._is_due.set()

    def _use(self, context: Context) -> None:
        """Load the newest indexes of a context, then serve with it."""
        self._warm_spaces(context)
        before, self._context = self._context, context
        for watcher in self._watchers:
            watcher(context)
        before.index_cache.has_requests.set()  # wakes the thread that waits for it

    def stop(self) -> None:
        """Stop after the current batch. Idempotent."""
        self._stop.set()
        self._is_due.set()
        self._context.index_cache.has_requests.set()  # wakes the thread that waits for it
        for thread in self._threads:
            thread.join()

    def step(self) -> bool:
        """Renew one batch of stale events, else of stale cubes, else of the PostgreSQL index.

        Returns False if nothing was left to do or another server is doing it. Raises
        StoreUnavailable, EmbedderUnavailable.
        """
        # Without the lock, several servers would renew the same events.
        with self._context.store.lock("upkeep", wait=False) as is_ours:
            return is_ours and self._step()

    def _step(self) -> bool:
        failure = None
        try:
            if self._embed():
                return True
        except EmbedderUnavailable as error:  # what else is due must not wait for it
            failure = error
        has_worked = (
            endings.erase_expired(self._context)
            or self._apply_retention()
            or settle_ended(self._context)
            or postgresql.advance_index(self._context)
        )
        if failure is not None and not has_worked:
            raise failure
        return has_worked

    def _embed(self) -> bool:
        """Do one step of renewing vectors; return False if all are those of the embedder.

        Raises StoreUnavailable, EmbedderUnavailable.
        """
        context = self._context
        if context.embedder.is_remote and not context.embedder.dimensions:
            context.embedder.encode(["ready"])
        if context.embedder.dimensions != context.layout.width:  # its first answer came
            with self._changing:
                self._use(context.with_embedder(context.embedder, context.older))
            return True
        stale = context.store.read(self._stale_events)
        if stale:
            self._renew_events(stale)
            return True
        return reindex_cubes(context) or renew_layers(context) or self._end_change()

    def _end_change(self) -> bool:
        """Stop serving the vectors of the embedder before, since none is left."""
        with self._changing:
            if not self._context.is_changing_embedder:
                return False
            self._use(self._context.with_embedder(self._context.embedder, None))
        _log.info("all vectors are those of %s", self._context.embedder.name)
        return True

    def _renew_events(self, stale: list[Row]) -> None:
        texts = [read_row(EventText, row) for row in stale]
        entries = index_entries(self._context.embedder, texts, needs_vectors=True)
        unseen = self._unseen + Counter(space_of(row.id) for row in stale)
        for account_id in dict.fromkeys(row.account_id for row in stale):
            renewed = [
                (row, entry)
                for row, entry in zip(stale, entries, strict=True)
                if row.account_id == account_id
            ]
            # Not flushed: a batch that a power cut loses is renewed again.
            revised = self._context.store.write(
                partial(self._renew, renewed, unseen),
                account_id=account_id,
                flush=False,
            )
            for space in revised:
                self._reload_at[space] = 2 * max(unseen.pop(space), FIRST_RELOAD_EVENTS)
        self._unseen = unseen

    def _apply_retention(self) -> bool:
        """Apply the retention rules once a day; return True if turns were erased."""
        now_ms = self._context.clock()
        # not while it is more than a day away: then the clock has gone back
        if self._retention_due_ms - DAY_MS <= now_ms < self._retention_due_ms:
            return False
        erased = endings.apply_retention(self._context)
        self._retention_due_ms = now_ms + DAY_MS
        if erased:
            _log.info("retention erased %d turns", erased)
        return erased > 0

    def warm(self) -> None:
        """Load the indexes of the newest spaces, and what all spaces use."""
        check_segments(self._context)
        self._warm_spaces(self._context)
        warm_shared(self._context.embedder)
        screening.load()  # last, because most turns do not need the rules

    def load_requested(self) -> None:
        """Load the indexes that searches inside PostgreSQL asked for.

        Raises StoreUnavailable.
        """
        for request in self._context.index_cache.take_requests():
            if not self._stop.is_set():
                self._warm(self._context, *cast("tuple[int, int]", request))

    def _warm_spaces(self, context: Context) -> None:
        events_left = WARM_EVENTS_MAX
        for space in context.store.read(lambda tx: tx.all(SQL.spaces_newest, most=WARM_SPACES_MAX)):
            if self._stop.is_set():
                return
            if space.events_made <= events_left:
                events_left -= space.events_made
                self._warm(context, space.account_id, space.id)

    @staticmethod
    def _warm(context: Context, account_id: int, space_id: int) -> None:
        def read(tx: Transaction) -> None:
            space = tx.one_or_none(SQL.space_by_id, id=space_id)
            if space is not None:
                space_view(context, tx, space)

        # One transaction for each index: a long snapshot lets the write-ahead log grow.
        context.store.read(read, account_id=account_id)

    def _run(self) -> None:
        work = self.warm
        while not self._stop.is_set():
            try:
                work()
                work = self._renew_all
            except (StoreUnavailable, EmbedderUnavailable) as error:
                _log.warning("maintenance waits %.0f s: %s", RETRY_SECONDS, error)
                self._stop.wait(RETRY_SECONDS)

    def _load_requested(self) -> None:
        while not self._stop.is_set():
            self._context.index_cache.has_requests.wait()
            try:
                self.load_requested()
            except StoreUnavailable as error:  # the next search requests it again
                _log.warning("an index was not loaded: %s", error)

    def _renew_all(self) -> None:
        store = self._context.store
        if store.is_shared:
            forget_idle(store)
        write_segments(self._context, self._stop.is_set)
        while not self._stop.is_set() and self.step():
            pass
        context = self._context
        # A change of the embedder may be ended by another process: its end is noticed soon.
        is_often = (
            context.embedder.is_remote
            or context.writer is not context.embedder
            or context.is_changing_embedder
        )
        self._is_due.wait(CHECK_OFTEN_SECONDS if is_often else CHECK_SECONDS)
        self._is_due.clear()

    def _stale_events(self, tx: Transaction) -> list[Row]:
        embedder = embedder_id(tx, analysis_id(self._context.embedder), make=False)
        stale, characters = tx.all(SQL.stale, embedder=embedder, most=BATCH), 0
        for place, row in enumerate(stale):
            characters += len(row.query) + len(row.response)
            if place and characters > BATCH_CHARACTERS:
                return stale[:place]
        return stale

    def _renew(
        self,
        renewed: list[tuple[Row, IndexEntry]],
        unseen: Counter[int],
        tx: Transaction,
    ) -> list[int]:
        """Store renewed index entries of an account, and increase revisions of spaces.

        Returns the ids of these spaces.
        """
        number = embedder_id(tx, renewed[0][1].by, make=True)
        for row, entry in renewed:  # an event erased meanwhile matches no row
            is_repeat = NEAR_DUPLICATE in flag_names(row.flags)
            words = repeated(entry.words) if is_repeat else entry.words
            tx.run(SQL.set_index, id=row.id, words=words, vectors=entry.vectors, embedder=number)
        revised = []
        for space in sorted({space_of(row.id) for row, _ in renewed}):
            events = [row.id for row, _ in renewed if space_of(row.id) == space]
            postgresql.rebuild(self._context, tx, space, events)
            rows = {"low": row_id(space, 0), "high": row_id(space + 1, 0)}
            if (
                unseen[space] >= self._reload_at.get(space, FIRST_RELOAD_EVENTS)
                or not tx.one(SQL.is_stale, embedder=number, **rows).found
            ):
                tx.run(SQL.revise_space, space_id=space)
                revised.append(space)
        return revised
