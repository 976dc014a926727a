"""Explain a search: run it as `recall` does, and report every stage and every reason.

`search` of recall.py ranks the events; nothing is ranked a second time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from ...accounts import space_user_id
from ...context import Caller, Context
from ...protocol.errors import InvalidRequest
from ...protocol.search import (
    Adjustment,
    ExplainedHit,
    Explanation,
    Feature,
    Hit,
    LeftOut,
    Mark,
    MemoryQuery,
    Neighbour,
    QuestionWord,
    Stage,
)
from ...protocol.search import Looked as SearchedCounts
from ...protocol.text import beginning
from ...search import (
    SIGNALS,
    RankedEvent,
    Ranking,
    embedding_text,
    highlight,
    is_frequent,
    parts_with,
)
from ...search.ranking import Scores
from ...store import Transaction
from ..spaces import SQL, row_id
from .hits import best_passage
from .recall import Search, read_embedded

NEAR_MISSES_MAX = 5  # near misses to report
PREVIEW_CHARACTERS_MAX = 240  # of each side of a neighbour or a near miss
_SIDES: tuple[Literal["query", "response"], ...] = ("query", "response")
_PLACES: tuple[Literal["before", "after"], ...] = ("before", "after")


class OneMemoryOnly(InvalidRequest):
    """Only the search of one memory is explained. Name one `team` instead of `teams`."""


def explain(context: Context, caller: Caller, query: MemoryQuery) -> Explanation:
    """Return the hits of a search with their reasons, and the result of each stage.

    Writes nothing: it counts no step, checks no duty, and does not record the hits as shown.
    `interact`, `session_id`, `last_seal` and `depth` are accepted and ignored: it explains the fast
    order. Raises OneMemoryOnly, PinnedToOtherUser, StoreUnavailable, EmbedderUnavailable.
    """
    if query.teams is not None:
        raise OneMemoryOnly
    user_id = space_user_id(caller, query.user_id)

    def read(tx: Transaction) -> Explanation:
        outcome = Search(context, tx, caller, user_id, query)
        outcome.run()
        return _explanation(outcome)

    return read_embedded(context, caller, read)


def _explanation(outcome: Search) -> Explanation:
    answer, ranking = outcome.answer, outcome.ranking
    # What both have, except the hits, which are explained.
    values: dict[str, Any] = {name: one for name, one in answer if name in Explanation.model_fields}
    values["stages"] = [
        Stage(stage=name, ms=round(ms, 3)) for name, ms in outcome.stages.ms.items()
    ]
    if ranking is None:
        looked = SearchedCounts(events=0, passages=0, in_time=0, ranked=0, matches=0)
        nothing: dict[str, Any] = {"words": [], "left_out": [], "vector_text": ""}
        return Explanation(start_score=0.0, looked=looked, **nothing, **values)
    scores = ranking.scores(outcome.known)
    explained = zip(answer.hits, outcome.ranked_hits, strict=True)
    has_vectors = bool(outcome.context.layout.dimensions)
    values["hits"] = [_hit(outcome, ranking, scores, *one) for one in explained]
    return Explanation(
        start_score=round(ranking.ranker.start, 4),
        words=list(_words(ranking)),
        vector_text=embedding_text(ranking.view, ranking.question) if has_vectors else "",
        looked=SearchedCounts(
            events=ranking.view.events,
            passages=ranking.view.alive_parts,
            in_time=int(ranking.allowed.sum()),
            ranked=len(ranking.pool),
            matches=int(ranking.matches.sum()),
        ),
        left_out=list(_near_misses(outcome, ranking, scores)),
        **values,
    )


def _hit(
    outcome: Search, ranking: Ranking, scores: Scores, hit: Hit, candidate: RankedEvent
) -> ExplainedHit:
    tx, space_id = outcome.tx, outcome.space_id
    side, passage = ranking.place_of(candidate.part)
    whole = tx.one(SQL.hit, id=row_id(space_id, candidate.event))
    start, end = best_passage(getattr(whole, _SIDES[side]), ranking, candidate.part)
    at = int(scores.events.numbers.searchsorted(candidate.event))
    adjustments = [
        Adjustment(name=name, adds=round(float(values[at]), 4))
        for name, values in scores.adjustments.items()
        if values[at]
    ]
    return ExplainedHit(
        **dict(hit),
        side=_SIDES[side],
        passage=passage + 1,
        passage_start=start,
        passage_end=end,
        bm25=round(float(ranking.lexical.score[candidate.part]), 4),
        coverage=round(float(ranking.lexical.coverage[candidate.part]), 4),
        cosine=round(ranking.cosine_of(candidate.part), 4),
        features=[
            Feature(
                feature=name,
                signal=next(signal for signal, features in SIGNALS.items() if name in features),
                value=round(value, 4),
                rank=rank,
                adds=round(adds, 4),
            )
            for name, value, rank, adds in ranking.feature_values(candidate.event)
        ],
        adjustments=adjustments,
        raw_score=round(candidate.raw, 4),
        marks=[
            Mark(side=name, start=start, end=end)
            for name in _SIDES
            for start, end in highlight(
                getattr(hit, name), ranking.lexical.words, ranking.view.languages
            )
        ],
        neighbours=list(_neighbours(tx, space_id, ranking, candidate.part)),
    )


def _neighbours(tx: Transaction, space_id: int, ranking: Ranking, part: int) -> Iterator[Neighbour]:
    for column, position in zip(("previous", "next"), _PLACES, strict=True):
        neighbour = ranking.neighbour_of(part, column)
        if neighbour is None:
            continue
        row = tx.one_or_none(SQL.hit, id=row_id(space_id, int(ranking.view["event"][neighbour])))
        if row is not None:
            yield Neighbour(
                event_id=row.event_id,
                place=position,
                base=round(float(ranking.base_of(np.array([neighbour]))[0]), 4),
                query=beginning(row.query, PREVIEW_CHARACTERS_MAX),
                response=beginning(row.response, PREVIEW_CHARACTERS_MAX),
            )


def _words(ranking: Ranking) -> Iterator[QuestionWord]:
    view = ranking.view
    for word in ranking.question.words:
        role: Literal["meaning", "frequent", "stop"] = (
            "stop" if word.is_stop else "frequent" if is_frequent(view, word) else "meaning"
        )
        yield QuestionWord(word=word.text, role=role, passages=parts_with(view, word))


def _near_misses(outcome: Search, ranking: Ranking, scores: Scores) -> Iterator[LeftOut]:
    tx, query, space_id = outcome.tx, outcome.query, outcome.space_id
    hit_numbers = {candidate.event for candidate in outcome.ranked_hits}
    reason: Literal["top_k", "max_tokens", "minimum"] = "top_k"
    if len(hit_numbers) < query.top_k:
        reason = "minimum" if query.max_tokens is None else "max_tokens"
    if not (ranking.has_signal or hit_numbers):
        return
    events = scores.events
    best = (-scores.total).argsort(kind="stable")[: len(hit_numbers) + 4 * NEAR_MISSES_MAX]
    count = 0
    for at in best.tolist():
        event, part = int(events.numbers[at]), int(events.parts[events.places_of_best[at]])
        row = None if event in hit_numbers else tx.one_or_none(SQL.hit, id=row_id(space_id, event))
        if row is None:
            continue
        yield LeftOut(
            event_id=row.event_id,
            query=beginning(row.query, PREVIEW_CHARACTERS_MAX),
            response=beginning(row.response, PREVIEW_CHARACTERS_MAX),
            raw_score=round(float(scores.total[at]), 4),
            coverage=round(float(ranking.lexical.coverage[part]), 4),
            cosine=round(ranking.cosine_of(part), 4),
            reason=reason,
        )
        count += 1
        if count == NEAR_MISSES_MAX:
            return
