"""Fill stores for bench.engines: the same rows in every engine and in the baseline."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import psycopg

from bench.load import DAY_MS, SEED, START_MS, TURNS_A_SESSION
from bench.locomo import Conversation, conversations
from remembrancer.context import Context
from remembrancer.memory.spaces import row_id
from remembrancer.search import Embedder, SymmetricEmbedder, analysis_id, analyze, pack, quantize
from remembrancer.store import Transaction, embedder_id

TEMPLATES = 5_000  # texts of synthetic events, which share them; each event has its own vector
WORDS = 20  # per template
ROWS_AT_ONCE = 5_000
T = TypeVar("T")
Array = np.ndarray[Any, Any]


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield items in batches. The last one may be smaller."""
    rest = iter(items)
    while some := list(islice(rest, size)):
        yield some


class CachedEmbedder(SymmetricEmbedder):
    """An embedder that caches vectors, so that only search is measured."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dimensions = embedder.name, embedder.dimensions
        self._embedder, self._known, self._lock = embedder, dict[str, Array](), threading.Lock()

    def encode(self, texts: Sequence[str]) -> Array:
        """Return the vectors of texts. See Embedder."""
        with self._lock:
            new = list(dict.fromkeys(text for text in texts if text not in self._known))
            for some in batched(new, 64):
                self._known.update(zip(some, self._embedder.encode(some), strict=True))
            return np.stack([self._known[text] for text in texts])


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event as it is stored: its text and its index entry."""

    session: int
    text: str
    occurred_ms: int
    words: bytes
    vector: Array  # (dimensions,) i1; each text here is one part


class Events:
    """Real turns, and synthetic ones from the words and vectors of real ones."""

    def __init__(self, data: Path, embedder: Embedder) -> None:
        self.conversations = conversations(data)
        self._random = np.random.default_rng(SEED)
        real = [event for conversation in self.conversations for event in conversation.events]
        self._vectors = embedder.encode([event.query for event in real])
        spoken = [word for event in real for word in event.query.partition(": ")[2].split()]
        self._texts = [" ".join(self._random.choice(spoken, WORDS)) for _ in range(TEMPLATES)]
        self._packed = [_packed(text, START_MS) for text in self._texts]
        self._embedder = embedder

    def seed(self, user: int) -> None:
        """Seed the synthetic events for a user, so that they are reproducible."""
        self._random = np.random.default_rng([SEED, user])

    def turns_of(self, conversation: Conversation, first_session: int = 0) -> Iterator[StoredEvent]:
        """Return the turns of a conversation."""
        for event in conversation.events:
            vector = quantize(self._embedder.encode([event.query]))[0]
            yield StoredEvent(
                first_session + event.session,
                event.query,
                event.occurred_ms,
                _packed(event.query, event.occurred_ms),
                vector,
            )

    def synthetic(self, count: int, first_session: int = 0) -> Iterator[StoredEvent]:
        """Yield synthetic events.

        Words are as frequent as in real turns; vectors lie between two real ones.
        """
        for numbers in batched(range(count), ROWS_AT_ONCE):
            ends = self._vectors[self._random.integers(0, len(self._vectors), (2, len(numbers)))]
            mixed = ends.sum(axis=0) + self._random.normal(0, 0.03, ends.shape[1:]).astype("f4")
            for number, vector in zip(numbers, quantize(mixed), strict=True):
                text = number % TEMPLATES
                session, when = (
                    first_session + number // TURNS_A_SESSION,
                    START_MS + number * DAY_MS // 50,
                )
                yield StoredEvent(session, self._texts[text], when, self._packed[text], vector)


def _packed(text: str, occurred_ms: int) -> bytes:
    parts = analyze(query=text, response="", topic=None, occurred_ms=occurred_ms)
    parts[0].terms = {term: count for part in parts for term, count in part.terms.items()}
    return pack(parts[:1])  # also long turns have one part: the baseline has one vector per turn


def put(
    context: Context,
    url: str,
    account_id: int,
    users: Sequence[tuple[str, Sequence[StoredEvent] | Iterator[StoredEvent]]],
) -> None:
    """Write spaces with their events as the service stores them, in batches."""
    by = analysis_id(context.embedder)
    embedder = context.store.write(lambda tx: embedder_id(tx, by, make=True))
    add_space = (
        "insert into spaces (account_id, user_id, created_ms) values (:account, :user, 0) "
        "returning id"
    )
    count = "update spaces set events_made = :made where id = :space"
    for user_id, events in users:
        space = context.store.write(
            lambda tx, user=user_id: tx.one(add_space, account=account_id, user=user)  # type: ignore[misc]
        ).id
        event_count = 0
        sessions: dict[int, int] = {}
        for some in batched(events, ROWS_AT_ONCE):
            _put_sessions(
                context, account_id, space, sessions, {one.session for one in some} - set(sessions)
            )
            rows = [
                (row_id(space, event_count + place), sessions[one.session], one)
                for place, one in enumerate(some)
            ]
            (_copy if url else _insert)(context, url, account_id, rows, embedder)
            event_count += len(some)
        context.store.write(
            lambda tx, total=event_count, space=space: tx.run(count, made=total, space=space)  # type: ignore[misc]
        )


def _put_sessions(
    context: Context, account_id: int, space: int, sessions: dict[int, int], new: set[int]
) -> None:
    add = (
        "insert into sessions (account_id, space_id, session_id, created_ms) values "
        "(:account_id, :space, :name, 0) returning id"
    )

    def write(tx: Transaction) -> None:
        sessions.update(
            {
                number: tx.one(add, space=space, name=f"session-{number}").id
                for number in sorted(new)
            }
        )

    context.store.write(write, account_id=account_id)


def _insert(
    context: Context,
    _: str,
    account_id: int,
    rows: Sequence[tuple[int, int, StoredEvent]],
    embedder: int,
) -> None:
    event = """
    insert into events (account_id, id, event_id, session, query, response, occurred_ms, created_ms)
    values (:account_id, :id, :name, :session, :text, '', :ms, 0)
    """
    index = """
    insert into event_index (account_id, id, session, occurred_ms, words, embedder, vectors)
    values (:account_id, :id, :session, :ms, :words, :embedder, :vectors)
    """

    def write(tx: Transaction) -> None:
        for row, session, one in rows:
            tx.run(
                event, id=row, name=f"e_{row}", session=session, text=one.text, ms=one.occurred_ms
            )
            columns = {"words": one.words, "embedder": embedder, "vectors": one.vector.tobytes()}
            tx.run(index, id=row, session=session, ms=one.occurred_ms, **columns)

    context.store.write(write, account_id=account_id)


def _copy(
    _: Context,
    url: str,
    account_id: int,
    rows: Sequence[tuple[int, int, StoredEvent]],
    embedder: int,
) -> None:
    # The superuser: COPY is not available under row-level security.
    with psycopg.connect(url, user="postgres") as connection, connection.cursor() as cursor:
        with cursor.copy(
            "copy events (account_id, id, event_id, session, query, response, occurred_ms, "
            "created_ms) from stdin"
        ) as copy:
            for row, session, one in rows:
                copy.write_row(
                    (account_id, row, f"e_{row}", session, one.text, "", one.occurred_ms, 0)
                )
        with cursor.copy(
            "copy event_index (account_id, id, session, occurred_ms, words, embedder, vectors) "
            "from stdin"
        ) as copy:
            for row, session, one in rows:
                copy.write_row(
                    (
                        account_id,
                        row,
                        session,
                        one.occurred_ms,
                        one.words,
                        embedder,
                        one.vector.tobytes(),
                    )
                )
