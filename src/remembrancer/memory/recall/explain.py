"""Explain a search: the same search, with every stage and every reason laid open.

It is `look` of recall.py that searches, here as there; nothing is ranked a second time. What is
added is read off what it found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from ...accounts import space_user_id
from ...context import Caller, Context
from ...protocol.explain import (
    ExplainedHit,
    Explanation,
    Feature,
    Gate,
    LeftOut,
    Mark,
    Neighbour,
    QuestionWord,
    Stage,
    Threshold,
)
from ...protocol.explain import Looked as LookedAt
from ...protocol.memory import Hit, MemoryQuery
from ...protocol.text import beginning
from ...search import SIGNALS, SUSPECT_COST, QueryWord, Ranking, Weights, highlight, is_frequent
from ...search.ranking import EventScores
from ...store import Transaction
from ..spaces import SQL, row_id
from .recall import FocusMatches, RankedEvent, SearchOutcome, StageTimer, focus_words, search

LEFT_OUT_MAX = 5  # that came nearest to being hits
BESIDE_CHARACTERS_MAX = 240  # of a neighbour's sides, and of those left out
_SIDES: tuple[Literal["query", "response"], ...] = ("query", "response")
_BESIDE: tuple[tuple[str, Literal["before", "after"]], ...] = (
    ("previous", "before"),
    ("next", "after"),
)
_FORM = "form"  # features about how a passage is written


def explain(context: Context, caller: Caller, query: MemoryQuery) -> Explanation:
    """The hits of a search with their reasons, and what each stage came to.

    Writes nothing: it counts no step, checks no duty, and what it shows is not shown to a session.
    `interact`, `session_id` and `last_seal` are taken and change nothing. Raises Forbidden for a
    pinned key with another user_id, StoreUnavailable, EmbedderUnavailable.
    """
    user_id = space_user_id(caller, query.user_id)
    stages = StageTimer()

    def read(tx: Transaction) -> Explanation:
        looked = search(context, tx, caller, user_id, query, stages)
        return _explained(
            context,
            tx,
            looked,
            query,
            [Stage(stage=name, ms=round(ms, 3)) for name, ms in stages.ms.items()],
        )

    return context.store.read(read, account_id=caller.account_id)


def _explained(
    context: Context,
    tx: Transaction,
    looked: SearchOutcome,
    query: MemoryQuery,
    stages: list[Stage],
) -> Explanation:
    answer, found, weights, space_id = looked.answer, looked.found, looked.weights, looked.space_id
    told: dict[str, Any] = {
        "shared_cubes": answer.shared_cubes,
        "focus_missing": answer.focus_missing,
        "help_hits": answer.help_hits,
        "stages": stages,
    }
    if found is None or weights is None or space_id is None:
        nothing = LookedAt(events=0, passages=0, in_time=0, ranked=0, strong=0)
        return Explanation(
            hits=[],
            total_hits=0,
            start_score=0.0,
            words=[],
            vector_text="",
            looked=nothing,
            left_out=[],
            **told,
        )
    judged = found.judged(weights, looked.focus.lifts)
    wanted = (*found.question.words, *focus_words(found.view, query))
    hits = [
        _hit(tx, space_id, found, weights, looked.focus, hit, ranked, wanted)
        for hit, ranked in zip(answer.hits, looked.shown, strict=True)
    ]
    return Explanation(
        hits=hits,
        total_hits=answer.total_hits,
        start_score=round(weights.start, 4),
        words=list(_words(found)),
        vector_text=looked.vector_text if context.embedder.dimensions else "",
        gate=_gate(found, weights),
        looked=LookedAt(
            events=found.view.events,
            passages=found.view.alive_parts,
            in_time=int(found.allowed.sum()),
            ranked=len(found.pool),
            strong=int(found.relevant(weights).sum()),
        ),
        left_out=list(_left_out(tx, space_id, found, judged, looked, query)),
        **told,
    )


def _hit(
    tx: Transaction,
    space_id: int,
    found: Ranking,
    weights: Weights,
    focus: FocusMatches,
    hit: Hit,
    ranked: RankedEvent,
    wanted: Sequence[QueryWord],
) -> ExplainedHit:
    side, passage = found.place_of(ranked.part)
    measures = found.measures(weights, ranked.part)
    lift = focus.lifts.get(ranked.event, 0.0)
    cost = SUSPECT_COST if found.is_suspect(ranked.event) else 0.0
    return ExplainedHit(
        **dict(hit),
        side=_SIDES[side],
        passage=passage + 1,
        bm25=round(float(found.lexical.score[ranked.part]), 4),
        coverage=round(float(found.lexical.coverage[ranked.part]), 4),
        cosine=round(float(found.cosine[ranked.part]), 4),
        features=[
            Feature(
                feature=one.feature,
                signal=_signal(one.feature),
                value=round(one.value, 4),
                rank=one.rank,
                adds=round(one.adds, 4),
            )
            for one in measures
        ],
        focus_lift=round(lift, 4),
        order_cost=cost,
        raw_score=round(weights.start + sum(one.adds for one in measures) + lift - cost, 4),
        marks=[
            Mark(side=name, start=a, end=b)
            for name in _SIDES
            for a, b in highlight(getattr(hit, name), wanted, found.view.languages)
        ],
        neighbours=list(_neighbours(tx, space_id, found, ranked.part)),
    )


def _signal(feature: str) -> str:
    return next((signal for signal, features in SIGNALS.items() if feature in features), _FORM)


def _neighbours(tx: Transaction, space_id: int, found: Ranking, part: int) -> Iterator[Neighbour]:
    for column, place in _BESIDE:
        beside = found.beside(part, column)
        row = (
            None
            if beside is None
            else tx.one_or_none(SQL.hit, id=row_id(space_id, int(found.view["event"][beside])))
        )
        if beside is not None and row is not None:
            texts = {
                "query": beginning(row.query, BESIDE_CHARACTERS_MAX),
                "response": beginning(row.response, BESIDE_CHARACTERS_MAX),
            }
            yield Neighbour(
                event_id=row.event_id,
                place=place,
                base=round(float(found.base[beside]), 4),
                **texts,
            )


def _words(found: Ranking) -> Iterator[QuestionWord]:
    view = found.view
    for word in found.question.words:
        role: Literal["meaning", "frequent", "stop"] = (
            "stop" if word.is_stop else "frequent" if is_frequent(view, word) else "meaning"
        )
        held = max(
            (view.frequency(term) for term, weight in word.terms.items() if weight == 1.0),
            default=0,
        )
        yield QuestionWord(word=word.text, role=role, passages=held)


def _gate(found: Ranking, weights: Weights) -> Gate:
    allowed = found.allowed
    best = [
        float(values[allowed].max()) if allowed.any() else 0.0
        for values in (found.lexical.coverage, found.cosine)
    ]
    needed = (weights.gate_coverage, weights.gate_cosine)
    coverage, cosine = (
        Threshold(best=round(one, 4), needed=round(least, 4))
        for one, least in zip(best, needed, strict=True)
    )
    is_open = allowed.any() and any(one >= least for one, least in zip(best, needed, strict=True))
    return Gate(open=bool(is_open), coverage=coverage, cosine=cosine)


def _left_out(
    tx: Transaction,
    space_id: int,
    found: Ranking,
    judged: EventScores,
    looked: SearchOutcome,
    query: MemoryQuery,
) -> Iterator[LeftOut]:
    shown = {one.event for one in looked.shown}
    full: Literal["top_k", "max_tokens"] = "top_k" if len(shown) >= query.top_k else "max_tokens"
    given = 0
    for at in (-judged.peak).argsort(kind="stable")[: len(shown) + 4 * LEFT_OUT_MAX].tolist():
        event = int(judged.events[at])
        row = None if event in shown else tx.one_or_none(SQL.hit, id=row_id(space_id, event))
        if row is None:
            continue
        part = int(found.pool[judged.best_part(at)])
        yield LeftOut(
            event_id=row.event_id,
            query=beginning(row.query, BESIDE_CHARACTERS_MAX),
            response=beginning(row.response, BESIDE_CHARACTERS_MAX),
            raw_score=round(float(judged.peak[at]), 4),
            coverage=round(float(found.lexical.coverage[part]), 4),
            cosine=round(float(found.cosine[part]), 4),
            reason=full if judged.kept[at] else "weak",
        )
        given += 1
        if given == LEFT_OUT_MAX:
            return
