"""Fill large stores within seconds, for bench.profile.

Both sides of a turn are chosen from TEXTS texts that were analysed once, so turns differ and their
words are as frequent as in bench.http; vectors are means of two texts'. Rows are written directly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bench.load import DAY_MS, SEED, START_MS, TURNS_A_SESSION, Turns
from remembrancer.accounts import caller_for
from remembrancer.context import Context
from remembrancer.cubes.pack_store import add_starter
from remembrancer.memory.spaces import row_id
from remembrancer.search import analysis_id, analyze, pack, quantize
from remembrancer.search.text.analysis import RESPONSE, Passage
from remembrancer.store import Transaction, embedder_id

Array: TypeAlias = npt.NDArray[Any]
TEXTS = 20_000
EMBEDDED = 1_000  # of them, whose vectors are mixed
ROWS_AT_ONCE = 5_000
ADD_SPACE = (
    "insert into spaces (account_id, user_id, events_made, created_ms) "
    "values (:account_id, :user_id, :events, 0) returning id"
)
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


class AnalysedText(NamedTuple):
    """A text as the user's words and as a response."""

    text: str
    query: list[Passage]
    response: list[Passage]


class GeneratedTurn(NamedTuple):
    """A turn as it is stored."""

    query: str
    response: str
    words: bytes
    vectors: bytes


def fill_store(context: Context, user_id: str, turns: Turns, events: int) -> None:
    """Write the starter pack, and that many turns of a user."""
    caller = caller_for(context)
    add_starter(context, caller)
    by = analysis_id(context.embedder)
    embedder = context.store.write(lambda tx: embedder_id(tx, by, make=True))
    space = context.store.write(
        lambda tx: tx.one(ADD_SPACE, user_id=user_id, events=events).id,
        account_id=caller.account_id,
    )
    generated = enumerate(_turns(context, turns, events))
    for low in range(0, events, ROWS_AT_ONCE):

        def write(tx: Transaction, high: int = min(low + ROWS_AT_ONCE, events)) -> None:
            session = 0
            for number, turn in generated:
                if not session or number % TURNS_A_SESSION == 0:
                    name = f"session-{number // TURNS_A_SESSION}"
                    session = tx.one(ADD_SESSION, space=space, name=name).id
                row = {
                    "id": row_id(space, number),
                    "session": session,
                    "ms": START_MS + number * DAY_MS // 50,
                }
                tx.run(
                    ADD_EVENT,
                    name=f"e_{number:013d}",
                    query=turn.query,
                    response=turn.response,
                    **row,
                )
                tx.run(ADD_INDEX, words=turn.words, embedder=embedder, vectors=turn.vectors, **row)
                if number + 1 == high:
                    return

        context.store.write(write, account_id=caller.account_id)


def _turns(context: Context, turns: Turns, events: int) -> Iterator[GeneratedTurn]:
    random = np.random.default_rng(SEED)
    texts = [_analysed(turns.text()) for _ in range(min(2 * events, TEXTS))]
    vectors = context.embedder.encode([one.text for one in texts[:EMBEDDED]])
    for number in range(events):
        query = texts[2 * number % len(texts)]
        response = texts[int(random.integers(len(texts)))]
        parts = [*query.query, *response.response]
        yield GeneratedTurn(
            query.text, response.text, pack(parts), _mixed(vectors, len(parts), random).tobytes()
        )


def _analysed(text: str) -> AnalysedText:
    sides = [
        analyze(query=query, response=response, topic=None, occurred_ms=START_MS)
        for query, response in ((text, ""), ("", text))
    ]
    assert all(part.side == RESPONSE for part in sides[1])
    return AnalysedText(text, *sides)


def _mixed(vectors: Array, count: int, random: np.random.Generator) -> Array:
    """Return the means of pairs of vectors: (count, dimensions), int8."""
    pairs = vectors[random.integers(0, len(vectors), (2, count))]
    return quantize(pairs.mean(axis=0))
