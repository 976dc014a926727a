"""Search memory: by words, by meaning, by the words an agent insists on, and by what stood beside what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..accounts import space_user_id
from ..context import Caller, Context
from ..cubes import relevant
from ..protocol.memory import Hit, MemoryAnswer, MemoryQuery, Signal
from ..protocol.text import rfc3339, tokens
from ..search import Found, View, ask, contains, cosines, lexical, load_weights, steering_text
from ..store import Row, Transaction
from .duties import count_search, note_read, open_tasks
from .help import help_for
from .snippets import Cut, cut
from .spaces import SQL, flags_of, milliseconds, row_id, view_of

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
    """The events that answer a query, best first, and the lessons that bear on it; nothing found is an empty list.

    An interacting search counts one step of its session and tells what the session owes; a read-only key never interacts.
    Raises Forbidden for a pinned key with another user_id, StoreUnavailable, EmbedderUnavailable.
    """
    user_id = space_user_id(caller, query.user_id)
    found = context.store.read(lambda tx: _search(context, tx, caller, user_id, query))
    if caller.read_only:
        return found
    if not query.interact:
        if found.hits and found.step:  # a session that never searched as a turn has nothing to cite
            note_read(context, caller, user_id, query, found)
        return found
    step, owed = count_search(context, caller, user_id, query, found)
    return found.model_copy(update={"step": step, "duty_error": owed.duty_error, "reminders": owed.reminders or None})


def _search(context: Context, tx: Transaction, caller: Caller, user_id: str, query: MemoryQuery) -> MemoryAnswer:
    space = tx.one(SQL.space_of, account_id=caller.account_id, user_id=user_id)
    help_hits = help_for(query.query_text) or None
    if space is None:
        question = ask(query.query_text)
        lessons = relevant(context, tx, caller, question, _vector(context, question.text))
        missing = list(query.focus_words) or None
        return MemoryAnswer(hits=[], shared_cubes=lessons, step=0, total_hits=0, focus_missing=missing, help_hits=help_hits)
    view = view_of(context, tx, space)
    weights = _weights(context.embedder.name)
    found = find(context, view, query)
    focus = _focus(tx, space.id, found, query.focus_words)
    ranked = found.ranked(weights, focus.lifts, query.top_k + ERASED_MAX)
    hits = _hits(tx, space.id, found, focus, ranked, query)
    session = tx.one(SQL.session_of, space_id=space.id, session_id=query.session_id)
    return MemoryAnswer(
        hits=hits,
        shared_cubes=relevant(context, tx, caller, found.question, _vector(context, steering_text(view, found.question))),
        step=session.step if session else 0,
        total_hits=max(found.matching(weights, focus.lifts), len(hits)),
        focus_missing=focus.missing or None,
        help_hits=help_hits,
        open_tasks=open_tasks(tx, space.id, query.session_id) or None,
    )


def _vector(context: Context, text: str) -> npt.NDArray[np.float32]:
    """The vector of a query (dimensions,), mostly made already; empty without an embedder."""
    return context.query_vectors(text) if context.embedder.dimensions else np.zeros(0, "f4")


def find(context: Context, view: View, query: MemoryQuery) -> Found:
    """Score every part of a space against a query."""
    question = ask(query.query_text, view.languages)
    focus = tuple(word for phrase in query.focus_words for word in ask(phrase, view.languages).words)
    words = lexical(view, (*question.words, *focus))
    vector = _vector(context, steering_text(view, question))
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
        marks = [Signal(signal=flag, value=1.0) for flag in flags_of(row.flags)]
        hits.append(_hit(row, score, about, _why(found, focus, event, part) + marks))
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
