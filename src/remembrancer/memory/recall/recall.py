"""Search memory:

by words, by meaning, by the words an agent insists on, and by what stood beside what was found.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from ...accounts import space_user_id
from ...context import Caller, Context
from ...cubes import relevant_cubes
from ...protocol.memory import Hit, MemoryAnswer, MemoryQuery, Signal
from ...protocol.text import rfc3339, tokens
from ...search import (
    IndexView,
    QueryWord,
    Ranking,
    Reason,
    Weights,
    contains,
    cosines,
    embedding_text,
    lexical_scores,
    load_weights,
    parse_query,
)
from ...store import Row, Transaction
from ..spaces import SQL, flag_names, milliseconds, row_id
from .duties import count_search, open_tasks, record_read
from .help import help_for
from .postgresql import view_for
from .snippets import HitText, hit_text

ERASED_MAX = 5  # so many hits more are ranked than asked for, should some be erased a moment ago
FOCUS_CHECKED_MAX = 200  # events looked at for each focus word, the likeliest first
# as long as none of them holds it: a phrase of common words may be in few of those that have the
# words
FOCUS_SEARCHED_MAX = 2_000
FOCUS_LIFT = (
    1.0,
    4.0,
)  # what a focus word adds to an event's score: least for a word that is everywhere, most for a rare one
_weights = lru_cache(maxsize=8)(load_weights)


@dataclass(frozen=True, slots=True)
class FocusMatches:
    """What looking for the focus words gave."""

    lifts: dict[int, float]  # event number -> what is added to its score
    held: dict[int, int]  # event number -> how many focus words it holds
    missing: list[str]  # those that occur nowhere


class StageTimer:
    """How long each stage of a search took."""

    def __init__(self) -> None:
        self.ms: dict[str, float] = {}
        self._last = perf_counter()

    def end(self, stage: str) -> None:
        """What was done since the last one ended was this one."""
        now = perf_counter()
        self.ms[stage] = (now - self._last) * 1000
        self._last = now


@dataclass(frozen=True, slots=True)
class RankedEvent:
    """One event of a ranking."""

    event: int  # its number in the space
    score: float  # 0..1
    part: int  # the one that answers best


@dataclass(slots=True, kw_only=True)
class SearchOutcome:
    """What a search came to, and how; without `found` there was no memory to look in."""

    answer: MemoryAnswer
    space_id: int | None = None
    found: Ranking | None = None
    weights: Weights | None = None
    focus: FocusMatches = field(default_factory=lambda: FocusMatches({}, {}, []))
    shown: list[RankedEvent] = field(default_factory=list)  # the hits of the answer, in their order
    vector_text: str = ""  # what was embedded


def recall(context: Context, caller: Caller, query: MemoryQuery) -> MemoryAnswer:
    """The events that answer a query, best first, and the lessons that bear on it; nothing found is
    an empty list.

    An interacting search counts one step of its session and tells what the session owes; a
    read-only key never interacts. Raises Forbidden for a pinned key with another user_id,
    StoreUnavailable, EmbedderUnavailable.
    """
    user_id = space_user_id(caller, query.user_id)
    found = context.store.read(
        lambda tx: search(context, tx, caller, user_id, query, StageTimer()),
        account_id=caller.account_id,
    ).answer
    if caller.read_only:
        return found
    if not query.interact:
        if found.hits and found.step:  # a session that never searched as a turn has nothing to cite
            record_read(context, caller, user_id, query, found)
        return found
    step, owed = count_search(context, caller, user_id, query, found)
    return found.model_copy(
        update={"step": step, "duty_error": owed.duty_error, "reminders": owed.reminders or None}
    )


def search(
    context: Context,
    tx: Transaction,
    caller: Caller,
    user_id: str,
    query: MemoryQuery,
    stages: StageTimer,
) -> SearchOutcome:
    """Every stage of a search, in one snapshot.

    Counts nothing and notes nothing. `user_id` is one that the caller may name.
    """
    space = tx.one_or_none(
        SQL.searched, account_id=caller.account_id, user_id=user_id, session_id=query.session_id
    )
    help_hits = help_for(query.query_text) or None
    if space is None:
        question = parse_query(query.query_text)
        lessons = relevant_cubes(
            context, tx, caller, question, context.query_vectors(question.text)
        )
        missing = list(query.focus_words) or None
        stages.end("cubes")
        return SearchOutcome(
            answer=MemoryAnswer(
                hits=[],
                shared_cubes=lessons,
                step=0,
                total_hits=0,
                focus_missing=missing,
                help_hits=help_hits,
            )
        )
    view = view_for(context, tx, caller.account_id, space, query)
    stages.end("index")
    weights = _weights(context.embedder.name)
    found = score_parts(context, view, query, stages)
    focus = _focus(tx, space.id, found, query.focus_words)
    stages.end("focus")
    ranked = [
        RankedEvent(*one) for one in found.ranked(weights, focus.lifts, query.top_k + ERASED_MAX)
    ]
    stages.end("ranking")
    hits, shown = _hits(tx, space.id, found, focus, ranked, query)
    stages.end("texts")
    steering = embedding_text(view, found.question)
    lessons = relevant_cubes(context, tx, caller, found.question, context.query_vectors(steering))
    stages.end("cubes")
    answer = MemoryAnswer(
        hits=hits,
        shared_cubes=lessons,
        step=space.step or 0,
        total_hits=max(found.matching(weights, focus.lifts), len(hits)),
        focus_missing=focus.missing or None,
        help_hits=help_hits,
        open_tasks=open_tasks(tx, space.id, query.session_id) or None,
    )
    stages.end("session")
    return SearchOutcome(
        answer=answer,
        space_id=space.id,
        found=found,
        weights=weights,
        focus=focus,
        shown=shown,
        vector_text=steering,
    )


def score_parts(
    context: Context, view: IndexView, query: MemoryQuery, stages: StageTimer
) -> Ranking:
    """Score every part of a space against a query."""
    question = parse_query(query.query_text, view.languages)
    words = lexical_scores(view, (*question.words, *focus_words(view, query)))
    stages.end("words")
    vector = context.query_vectors(embedding_text(view, question))
    stages.end("embedding")
    cosine = cosines(view, vector)
    stages.end("vectors")
    found = Ranking(view, question, words, cosine, among=_among(view, query))
    stages.end("fusion")
    return found


def focus_words(view: IndexView, query: MemoryQuery) -> tuple[QueryWord, ...]:
    """The words of the focus phrases, which search looks for like those of the query."""
    return tuple(
        word for phrase in query.focus_words for word in parse_query(phrase, view.languages).words
    )


def _among(view: IndexView, query: MemoryQuery) -> Any:
    if query.after is None and query.before is None:
        return None
    occurred = view["occurred_ms"]
    least, most = np.iinfo("i8").min, np.iinfo("i8").max
    return (occurred >= milliseconds(query.after, least)) & (
        occurred < milliseconds(query.before, most)
    )


def _focus(tx: Transaction, space_id: int, found: Ranking, phrases: Sequence[str]) -> FocusMatches:
    lifts: dict[int, float] = {}
    held: dict[int, int] = {}
    missing = []
    for phrase in phrases:
        candidates = found.focus_candidates(parse_query(phrase, found.view.languages))
        holding = _holding(tx, space_id, candidates.tolist(), phrase)
        if not holding:
            missing.append(phrase)
        rarity = 1 - len(candidates) / max(found.view.events, 1)
        for event in holding:
            lifts[event] = (
                lifts.get(event, 0.0)
                + FOCUS_LIFT[0]
                + (FOCUS_LIFT[1] - FOCUS_LIFT[0]) * max(rarity, 0.0)
            )
            held[event] = held.get(event, 0) + 1
    return FocusMatches(lifts, held, missing)


def _holding(tx: Transaction, space_id: int, candidates: list[int], phrase: str) -> list[int]:
    holding: list[int] = []
    for place, event in enumerate(candidates[:FOCUS_SEARCHED_MAX]):
        if holding and place >= FOCUS_CHECKED_MAX:
            break
        if _holds(tx, space_id, event, phrase):
            holding.append(event)
    return holding


def _holds(tx: Transaction, space_id: int, event: int, phrase: str) -> bool:
    row = tx.one_or_none(SQL.hit, id=row_id(space_id, event))
    return row is not None and any(
        contains(text, phrase) for text in (row.query, row.response, row.topic or "")
    )


def _hits(
    tx: Transaction,
    space_id: int,
    found: Ranking,
    focus: FocusMatches,
    ranked: Sequence[RankedEvent],
    query: MemoryQuery,
) -> tuple[list[Hit], list[RankedEvent]]:
    hits: list[Hit] = []
    shown: list[RankedEvent] = []
    left = query.max_tokens
    rows = {
        row.id: row
        for row in tx.all(SQL.hits, ids=json.dumps([row_id(space_id, one.event) for one in ranked]))
    }
    for one, reasons in zip(ranked, found.reasons([one.part for one in ranked]), strict=True):
        if len(hits) == query.top_k:
            break
        row = rows.get(row_id(space_id, one.event))
        if row is None:  # erased a moment ago
            continue
        about = hit_text(row.query, row.response, found, one.part)
        if left is not None:
            cost = tokens(about.query) + tokens(about.response)
            if cost > left and hits:
                break
            left -= cost
        marks = [Signal(signal=flag, value=1.0) for flag in flag_names(row.flags)]
        hits.append(_hit(row, one.score, about, _why(reasons, focus, one.event) + marks))
        shown.append(one)
    return hits, shown


def _hit(row: Row, score: float, about: HitText, why: list[Signal]) -> Hit:
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


def _why(reasons: Sequence[Reason], focus: FocusMatches, event: int) -> list[Signal]:
    held = [Signal(signal="focus", value=float(focus.held[event]))] if event in focus.held else []
    return held + [
        Signal(signal=name, rank=rank, value=round(value, 4)) for name, rank, value in reasons
    ]
