"""Fill large stores within seconds, for bench.profile.

Both sides of a turn are chosen from TEXTS texts that were analysed once, so turns differ and their
words are as frequent as in bench.http; vectors are means of two texts'. Rows are written directly.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bench.load import DAY_MS, SEED, START_MS, TURNS_A_SESSION, Turns
from remembrancer.accounts import caller_for
from remembrancer.context import Context
from remembrancer.cubes.packs import add_starter
from remembrancer.memory.changes import state_keys
from remembrancer.memory.spaces import row_id
from remembrancer.search import analysis_id, analyze, pack, quantize
from remembrancer.search.text.analysis import RESPONSE, Passage
from remembrancer.store import Transaction, embedder_id

Array: TypeAlias = npt.NDArray[Any]
TEXTS = 20_000
EMBEDDED = 1_000  # of them, whose vectors are mixed
ROWS_AT_ONCE = 5_000
ADD_SPACE = (
    "insert into spaces (account_id, user_id, created_ms) values (:account_id, :user_id, 0) "
    "on conflict do nothing"
)
SPACE = "select id, events_made from spaces where account_id = :account_id and user_id = :user_id"
ADD_SESSION = (
    "insert into sessions (account_id, space_id, session_id, created_ms) "
    "values (:account_id, :space, :name, 0) returning id"
)
ADD_EVENT = """
insert into events (account_id, id, event_id, session, query, response, occurred_ms, created_ms)
values (:account_id, :id, :name, :session, :query, :response, :ms, :ms)
"""
ADD_INDEX = """
insert into event_index (account_id, id, session, occurred_ms, words, embedder, vectors)
values (:account_id, :id, :session, :ms, :words, :embedder, :vectors)
"""
ADD_KEYS = """
insert into event_keys (account_id, space_id, key, event)
select :account_id, :space, value, :id from json_each(:keys) where true on conflict do nothing
"""
SET_EVENTS = (
    "update spaces set events_made = :events where account_id = :account_id and id = :space"
)


class AnalysedText(NamedTuple):
    """A text as the user's words and as a response."""

    text: str
    query: list[Passage]
    response: list[Passage]
    keys: str  # JSON: what a message with this text is about


class StoreFiller:
    """Writes generated turns of any number of users into one store."""

    def __init__(self, context: Context, account_id: int, turns: Turns, *, texts: int) -> None:
        """Analyse that many texts; each side of a turn is one of them."""
        self._context, self._account_id = context, account_id
        self._random = np.random.default_rng(SEED)
        self._texts = [_analysed(turns.text()) for _ in range(texts)]
        self._vectors = context.embedder.encode([one.text for one in self._texts[:EMBEDDED]])
        by = analysis_id(context.embedder)
        self._embedder = context.store.write(lambda tx: embedder_id(tx, by, make=True))

    def grow(self, users: Sequence[str], turns: int) -> None:
        """Write turns of each of some users until the user has that many."""

        def open_spaces(tx: Transaction) -> None:
            for user_id in users:
                tx.run(ADD_SPACE, user_id=user_id)

        self._context.store.write(open_spaces, account_id=self._account_id)
        together = max(1, ROWS_AT_ONCE // turns)
        for low in range(0, len(users), together):
            some = users[low : low + together]
            while self._write(some, turns):
                pass

    def _write(self, users: Sequence[str], turns: int) -> bool:
        """Write up to ROWS_AT_ONCE turns; return False if none were missing."""

        def write(tx: Transaction) -> int:
            left = ROWS_AT_ONCE
            for user_id in users:
                space = tx.one(SPACE, user_id=user_id)
                end = min(turns, space.events_made + left)
                self._write_turns(tx, space.id, range(space.events_made, end))
                left -= max(0, end - space.events_made)
            return ROWS_AT_ONCE - left

        return self._context.store.write(write, account_id=self._account_id) > 0

    def _write_turns(self, tx: Transaction, space: int, numbers: range) -> None:
        session = 0
        for number in numbers:
            if not session or number % TURNS_A_SESSION == 0:
                session = tx.one(ADD_SESSION, space=space, name=f"session-{number}").id
            self._write_turn(tx, space, session, number)
        tx.run(SET_EVENTS, space=space, events=max(numbers.stop, numbers.start))

    def _write_turn(self, tx: Transaction, space: int, session: int, number: int) -> None:
        query = self._texts[2 * number % len(self._texts)]
        response = self._texts[int(self._random.integers(len(self._texts)))]
        parts = [*query.query, *response.response]
        vectors = _mixed(self._vectors, len(parts), self._random).tobytes()
        row = {
            "id": row_id(space, number),
            "session": session,
            "ms": START_MS + number * DAY_MS // 50,
        }
        event_id = f"e_{row['id']:016x}"
        tx.run(ADD_EVENT, name=event_id, query=query.text, response=response.text, **row)
        tx.run(ADD_INDEX, words=pack(parts), embedder=self._embedder, vectors=vectors, **row)
        tx.run(ADD_KEYS, space=space, keys=query.keys, id=row["id"])


def fill_store(context: Context, user_id: str, turns: Turns, events: int) -> None:
    """Write the starter pack, and that many turns of a user."""
    caller = caller_for(context)
    add_starter(context, caller)
    filler = StoreFiller(context, caller.account_id, turns, texts=min(2 * events, TEXTS))
    filler.grow([user_id], events)


def _analysed(text: str) -> AnalysedText:
    query, response = (
        analyze(query=query, response=response, topic=None, occurred_ms=START_MS)
        for query, response in ((text, ""), ("", text))
    )
    assert all(part.side == RESPONSE for part in response)
    return AnalysedText(text, query, response, json.dumps(sorted(state_keys(text))))


def _mixed(vectors: Array, count: int, random: np.random.Generator) -> Array:
    """Return the means of pairs of vectors: (count, dimensions), int8."""
    pairs = vectors[random.integers(0, len(vectors), (2, count))]
    return quantize(pairs.mean(axis=0))
