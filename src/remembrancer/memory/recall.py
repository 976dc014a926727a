"""Search memory: by words, by meaning, by the words an agent insists on, and by what stood beside what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..accounts import space_user_id
from ..context import Caller, Context
from ..protocol.memory import Hit, MemoryAnswer, MemoryQuery, Signal
from ..search import Found, View, ask, contains, cosines, lexical, load_weights, steering_text
from ..store import Row, Transaction
from .snippets import Cut, cut, tokens
from .spaces import SQL, milliseconds, rfc3339, row_id, view_of

ERASED_MAX = 5  # so many hits more are ranked than asked for, should some be erased a moment ago
FOCUS_CHECKED_MAX = 200  # events looked at for each focus word, the likeliest first
FOCUS_SEARCHED_MAX = 2_000  # as long as none of them holds it: a phrase of common words may be in few of those that have the words
FOCUS_LIFT = (1.0, 4.0)  # what a focus word adds to an event's score: least for a word that is everywhere, most for a rare one
_weights = lru_cache(maxsize=8)(load_weights)


@dataclass(frozen=True, slots=True)
class Focus:
    """What looking for the focus words gave."""

    lifts: dict[int, float]  # event number -> what is added to its score
    held: dict[int, int]  # event number -> how many focus words it holds
    missing: list[str]  # those that occur nowhere


def recall(context: Context, caller: Caller, query: MemoryQuery) -> MemoryAnswer:
    """The events that answer a query, best first; nothing found is an empty list.

    An interacting search counts one step of its session; a read-only key never interacts. Raises Forbidden for a pinned
    key with another user_id, StoreUnavailable, EmbedderUnavailable.
    """
    user_id = space_user_id(caller, query.user_id)
    step = _count_step(context, caller, user_id, query.session_id) if query.interact and not caller.read_only else None

    def search(tx: Transaction) -> MemoryAnswer:
        space = tx.one(SQL.space_of, account_id=caller.account_id, user_id=user_id)
        if space is None:
            return MemoryAnswer(hits=[], step=step or 0, total_hits=0, focus_missing=list(query.focus_words) or None)
        now = step if step is not None else _step_of(tx, space.id, query.session_id)
        return _search(context, tx, space, query, now)

    return context.store.read(search)


def _count_step(context: Context, caller: Caller, user_id: str, session_id: str) -> int:
    def count(tx: Transaction) -> int:
        now_ms = context.clock()
        space = tx.the(SQL.open_space, account_id=caller.account_id, user_id=user_id, now_ms=now_ms)
        return int(tx.the(SQL.next_step, space_id=space.id, session_id=session_id, now_ms=now_ms).step)

    # Not flushed to disk: after a power cut a session may count a few searches again, and no search waits for the disk.
    return context.store.write(count, flush=False)


def _step_of(tx: Transaction, space_id: int, session_id: str) -> int:
    row = tx.one(SQL.step_of, space_id=space_id, session_id=session_id)
    return int(row.step) if row else 0


def _search(context: Context, tx: Transaction, space: Row, query: MemoryQuery, step: int) -> MemoryAnswer:
    view = view_of(context, tx, space)
    weights = _weights(context.embedder.name)
    found = find(context, view, query)
    focus = _focus(tx, space.id, found, query.focus_words)
    ranked = found.ranked(weights, focus.lifts, query.top_k + ERASED_MAX)
    hits = _hits(tx, space.id, found, focus, ranked, query)
    return MemoryAnswer(
        hits=hits,
        step=step,
        total_hits=max(found.matching(weights, focus.lifts), len(hits)),
        focus_missing=focus.missing or None,
    )


def find(context: Context, view: View, query: MemoryQuery) -> Found:
    """Score every part of a space against a query."""
    question = ask(query.query_text, view.languages)
    focus = tuple(word for phrase in query.focus_words for word in ask(phrase, view.languages).words)
    vector = context.query_vectors(steering_text(view, question)) if context.embedder.dimensions else np.zeros(0, "f4")
    words = lexical(view, (*question.words, *focus))
    return Found(view, question, words, cosines(view, vector), among=_among(view, query))


def _among(view: View, query: MemoryQuery) -> Any:
    if query.after is None and query.before is None:
        return None
    occurred = view["occurred_ms"]
    least, most = np.iinfo("i8").min, np.iinfo("i8").max
    return (occurred >= milliseconds(query.after, least)) & (occurred < milliseconds(query.before, most))


def _focus(tx: Transaction, space_id: int, found: Found, phrases: Sequence[str]) -> Focus:
    lifts: dict[int, float] = {}
    held: dict[int, int] = {}
    missing = []
    for phrase in phrases:
        candidates = found.focus_candidates(ask(phrase, found.view.languages))
        holding = _holding(tx, space_id, candidates.tolist(), phrase)
        if not holding:
            missing.append(phrase)
        rarity = 1 - len(candidates) / max(found.view.events, 1)
        for event in holding:
            lifts[event] = lifts.get(event, 0.0) + FOCUS_LIFT[0] + (FOCUS_LIFT[1] - FOCUS_LIFT[0]) * max(rarity, 0.0)
            held[event] = held.get(event, 0) + 1
    return Focus(lifts, held, missing)


def _holding(tx: Transaction, space_id: int, candidates: list[int], phrase: str) -> list[int]:
    holding: list[int] = []
    for place, event in enumerate(candidates[:FOCUS_SEARCHED_MAX]):
        if holding and place >= FOCUS_CHECKED_MAX:
            break
        if _holds(tx, space_id, event, phrase):
            holding.append(event)
    return holding


def _holds(tx: Transaction, space_id: int, event: int, phrase: str) -> bool:
    row = tx.one(SQL.hit, id=row_id(space_id, event))
    return row is not None and any(contains(text, phrase) for text in (row.query, row.response, row.topic or ""))


def _hits(
    tx: Transaction, space_id: int, found: Found, focus: Focus, ranked: list[tuple[int, float, int]], query: MemoryQuery
) -> list[Hit]:
    hits: list[Hit] = []
    left = query.max_tokens
    for event, score, part in ranked:
        if len(hits) == query.top_k:
            break
        row = tx.one(SQL.hit, id=row_id(space_id, event))
        if row is None:  # erased a moment ago
            continue
        about = cut(row.query, row.response, found, part)
        if left is not None:
            cost = tokens(about.query) + tokens(about.response)
            if cost > left and hits:
                break
            left -= cost
        hits.append(_hit(row, score, about, _why(found, focus, event, part)))
    return hits


def _hit(row: Row, score: float, about: Cut, why: list[Signal]) -> Hit:
    return Hit(
        event_id=row.event_id,
        session_id=row.session_id,
        topic=row.topic,
        query=about.query,
        response=about.response,
        occurred_at=rfc3339(row.occurred_ms),
        created_at=rfc3339(row.created_ms),
        score=round(score, 4),
        why=why,
    )


def _why(found: Found, focus: Focus, event: int, part: int) -> list[Signal]:
    reasons = [Signal(signal=name, rank=rank, value=round(value, 4)) for name, rank, value in found.reasons(part)]
    if event in focus.held:
        reasons.insert(0, Signal(signal="focus", value=float(focus.held[event])))
    return reasons
