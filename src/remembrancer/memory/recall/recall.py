"""Search memory: by words, by meaning, by focus words, and by neighbouring turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ...accounts import is_user_of_session, space_user_id
from ...context import Caller, Context
from ...cubes import CubeQuery, NewestCubes, Situation, relevant_cubes
from ...protocol.search import LAYERS, Hit, MemoryAnswer, MemoryQuery, OpenTask, Signal, WorkContext
from ...protocol.text import rfc3339
from ...search import (
    Decay,
    IndexView,
    ParsedQuery,
    RankedEvent,
    Ranking,
    Reason,
    SearchTerms,
    VectorMissing,
    contains,
    cosines,
    embedding_text,
    lexical_scores,
    load_ranker,
    parse_query,
    parse_terms,
)
from ...store import Row, Transaction
from ..changes import names_history
from ..duties import (
    SearchToRecord,
    citable_events,
    count_search,
    open_tasks,
    record_read,
    search_space,
)
from ..links import EventLinks
from ..spaces import flag_names, milliseconds, past_ms, space_view
from .changed import changes_of, history_lifts, links_of, newer_first, oldest_first
from .deep import reranked, widened
from .help import help_for
from .hit_rows import HitRows
from .layer_hits import layer_hits
from .outcome import FocusMatches, SearchOutcome, StageTimer, TokenBudget
from .postgresql import view_for
from .snippets import HitText, hit_text
from .teams import recall_with_teams, with_authors
from .useful import ORIGINALS_BEYOND, useful_first

DAY_MS = 86_400_000

EXTRA_HITS = 15  # ranked too: they take the place of repetitions
FOCUS_CHECKED_MAX = 200  # events checked for each focus word, likeliest first
# The same while no event contains it: a phrase of common words may be in few of the events that
# have the words.
FOCUS_SEARCHED_MAX = 2_000
FOCUS_READ_AT_ONCE = 50  # of these: texts in memory at a time, and fewer round trips
# Score added to an event for a focus word: (a word in every event, a very rare word).
FOCUS_LIFT = (2.5, 10.0)
T = TypeVar("T")
_ranker = lru_cache(maxsize=8)(load_ranker)


def recall(
    context: Context, caller: Caller, query: MemoryQuery, *, serves_cubes: bool = True
) -> MemoryAnswer:
    """Return the events that answer a query, best first, and the relevant cubes.

    `serves_cubes` False is for callers that show none, so that none is to be rated. Returns no
    hits if nothing is relevant. An interacting search counts one step of its session and
    reports the session's duties; read-only keys and keys without the protocol never interact.
    Raises PinnedToOtherUser, TimeInFuture, RerankerNotConfigured, StoreUnavailable,
    EmbedderUnavailable.
    """
    if query.teams is not None:
        return recall_with_teams(context, caller, query, recall)
    user_id = space_user_id(caller, query.user_id)
    past_ms(context, query.as_of)  # first: a wrong time is refused before any work
    counts = query.interact and not caller.read_only and caller.has_protocol

    def read(tx: Transaction) -> tuple[SearchOutcome, bool]:
        outcome = search(context, tx, caller, user_id, searched, StageTimer(), counts=counts)
        # A counted search records its user in any case.
        return outcome, counts or is_user_of_session(tx, caller, user_id, query.named_session)

    is_deep = query.depth == "deep"
    searched = widened(context, query) if is_deep else query
    outcome, is_known_user = read_embedded(context, caller, read)
    answer = outcome.answer
    if is_deep:
        answer = reranked(context, caller, query, answer)
    if not serves_cubes or caller.member is not None:
        answer = answer.model_copy(update={"shared_cubes": []})
    to_record = SearchToRecord(
        user_id=user_id,
        query=query,
        space=outcome.space,
        answer=answer,
    )
    if not counts:
        # Without a counted search, the session cannot cite.
        may_cite = (
            bool(citable_events(answer) and answer.step)
            and not caller.read_only
            and caller.has_protocol
        )
        if may_cite or not is_known_user:
            record_read(context, caller, to_record, may_cite=may_cite)
        if not caller.has_protocol:
            answer = answer.model_copy(update={"step": 0})
        return answer if caller.member is None else with_authors(context, caller, answer)
    step, duties = count_search(context, caller, to_record)
    return answer.model_copy(
        update={
            "step": step,
            "duty_error": duties.duty_error,
            "reminders": duties.reminders or None,
        }
    )


def read_embedded(context: Context, caller: Caller, read: Callable[[Transaction], T]) -> T:
    """Run a read that searches, and return its result.

    Where a query needs a vector of a remote embedder, the read ends, the query is embedded, and the
    read starts again: an endpoint may take seconds, which no transaction should.
    """
    while True:
        try:
            return context.store.read(read, account_id=caller.account_id)
        except VectorMissing as missing:  # stored now, also if the embedder fails
            context.query_vectors.prepare(missing.text)


def search(
    context: Context,
    tx: Transaction,
    caller: Caller,
    user_id: str,
    query: MemoryQuery,
    stages: StageTimer,
    *,
    counts: bool = False,
) -> SearchOutcome:
    """Run every stage of a search in one snapshot.

    Counts and records nothing; with `counts` it reads what `count_search` needs. `user_id` must be
    one that the caller may use. Raises TimeInFuture.
    """
    as_of_ms = past_ms(context, query.as_of)
    query = _until_as_of(query)
    space = search_space(tx, user_id, query.session_id, counts=counts)
    if space is None:
        return _search_without_events(context, tx, caller, user_id, query, stages)
    view, terms = _view(context, tx, caller, space, query)
    stages.end("index")
    vector_text = embedding_text(view, terms.question)
    ranking = _score_parts(context, view, query, terms, vector_text, stages)
    ranking.decay = _decay(context, as_of_ms)
    vector = context.query_vectors(vector_text)
    ranker = _ranker(context.embedder.name if len(vector) else "none")
    layers = layer_hits(context, tx, space, ranking.question, vector, _names(query), as_of_ms)
    stages.end("layers")
    focus = _focus(tx, space.id, ranking, zip(query.focus_words, terms.phrases, strict=True))
    stages.end("focus")
    budget = TokenBudget(query.max_tokens, layers)
    outcome = SearchOutcome(
        space=space,
        ranking=ranking,
        ranker=ranker,
        terms=terms,
        focus=focus,
        layers=layers,
        vector_text=vector_text,
    )
    ranked = _ranked(tx, outcome, query)
    stages.end("ranking")
    hits, outcome.ranked_hits = _hits(tx, outcome, ranked, query, budget, as_of_ms)
    stages.end("texts")
    cube_query = _cube_query(user_id, query, ranking.question, vector, space)
    outcome.cubes = relevant_cubes(context, tx, caller, cube_query)
    stages.end("cubes")
    outcome.answer = _answer(context, tx, query, outcome, hits, budget)
    stages.end("session")
    return outcome


def _answer(
    context: Context,
    tx: Transaction,
    query: MemoryQuery,
    outcome: SearchOutcome,
    hits: list[Hit],
    budget: TokenBudget,
) -> MemoryAnswer:
    ranking, layers, focus, space = outcome.ranking, outcome.layers, outcome.focus, outcome.space
    assert ranking is not None
    assert space is not None
    return MemoryAnswer(
        hits=hits,
        shared_cubes=outcome.cubes,
        facts=layers.facts,
        instructions=layers.instructions,
        summaries=budget.fitting_summaries(layers),
        step=space.step or 0,
        answerable=outcome.answerable,
        total_hits=max(ranking.matching(focus.lifts), len(hits)) if hits else 0,
        focus_missing=focus.missing or None,
        help_hits=help_for(query.query_text) or None,
        open_tasks=_open_tasks(context, tx, space, query),
    )


def _open_tasks(
    context: Context, tx: Transaction, space: Row, query: MemoryQuery
) -> list[OpenTask] | None:
    if not space.has_open_task:
        return None
    return open_tasks(tx, space.id, query.session_id, context.clock()) or None


def _decay(context: Context, as_of_ms: int | None) -> Decay | None:
    if not context.settings.decay_days:
        return None
    now_ms = context.clock() if as_of_ms is None else as_of_ms
    return Decay(now_ms, context.settings.decay_days * DAY_MS)


def _names(query: MemoryQuery) -> Sequence[str]:
    return query.layers or LAYERS


def _ranked(tx: Transaction, outcome: SearchOutcome, query: MemoryQuery) -> list[RankedEvent]:
    """Return the best events; for a question about an earlier time, changes first."""
    ranking, ranker, space_id = outcome.ranking, outcome.ranker, outcome.space_id
    assert ranking is not None
    assert ranker is not None
    assert space_id is not None
    if outcome.has_changes and names_history(ranking.question.text):
        outcome.history_lifts = history_lifts(tx, space_id)
    outcome.answerable = round(ranking.answerable(ranker), 4)
    may_answer = outcome.answerable >= query.min_answerable
    if "events" not in _names(query) or not (may_answer or outcome.focus.lifts):
        return []
    ranked = ranking.ranked(ranker, outcome.lifts, query.top_k + EXTRA_HITS)
    if outcome.history_lifts:
        ranked = oldest_first(ranked, outcome.history_lifts, ranking)
    return ranked


def _until_as_of(query: MemoryQuery) -> MemoryQuery:
    """Return the query for turns that had occurred at its `as_of`; `before` is exclusive."""
    if query.as_of is None or (query.before is not None and query.before <= query.as_of):
        return query
    return query.model_copy(update={"before": query.as_of + timedelta(milliseconds=1)})


def _view(
    context: Context, tx: Transaction, caller: Caller, space: Row, query: MemoryQuery
) -> tuple[IndexView, SearchTerms]:
    if context.store.supports_vector_search:
        return view_for(context, tx, caller.account_id, space, query)
    view = space_view(context, tx, space)
    return view, parse_terms(query.query_text, query.focus_words, view.languages)


def _search_without_events(
    context: Context,
    tx: Transaction,
    caller: Caller,
    user_id: str,
    query: MemoryQuery,
    stages: StageTimer,
) -> SearchOutcome:
    question = parse_query(query.query_text)
    vector = context.query_vectors(question.text)
    cube_query = _cube_query(user_id, query, question, vector, None)
    cubes = relevant_cubes(context, tx, caller, cube_query)
    answer = MemoryAnswer(
        hits=[],
        shared_cubes=cubes,
        step=0,
        total_hits=0,
        focus_missing=list(query.focus_words) or None,
        help_hits=help_for(query.query_text) or None,
    )
    stages.end("cubes")
    return SearchOutcome(answer=answer)


def _cube_query(
    user_id: str,
    query: MemoryQuery,
    question: ParsedQuery,
    vector: npt.NDArray[np.float32],
    space: Row | None,
) -> CubeQuery:
    """Return the search for cubes of a search; `space` is the row of `search_space`, if any."""
    work = query.work or WorkContext()
    situation = Situation(
        message=query.query_text, error=work.error or "", others=(*work.tools, *work.files)
    )
    request: dict[str, Any] = {
        "user_id": user_id,
        "situation": situation,
        "question": question,
        "vector": vector,
    }
    if space is None:
        return CubeQuery(session=None, **request)
    return CubeQuery(
        # A pure read looks things up; only what a turn is shown is not repeated.
        session=space.session if query.interact else None,
        newest=NewestCubes(space.cube_revision, space.shared_cube, space.own_cube),
        has_rejected=bool(space.has_rejected),
        **request,
    )


def _score_parts(
    context: Context,
    view: IndexView,
    query: MemoryQuery,
    terms: SearchTerms,
    vector_text: str,
    stages: StageTimer,
) -> Ranking:
    """Score every part of a view against a query; `vector_text` is embedded for it."""
    words = lexical_scores(view, terms.words)
    stages.end("words")
    vector = context.query_vectors(vector_text)
    stages.end("embedding")
    cosine = cosines(view, vector)
    stages.end("vectors")
    ranking = Ranking(view, terms.question, words, cosine, among=_in_period(view, query))
    stages.end("fusion")
    return ranking


def _in_period(view: IndexView, query: MemoryQuery) -> Any:
    if query.after is None and query.before is None:
        return None
    occurred = view["occurred_ms"]
    least, most = np.iinfo("i8").min, np.iinfo("i8").max
    return (occurred >= milliseconds(query.after, least)) & (
        occurred < milliseconds(query.before, most)
    )


def _focus(
    tx: Transaction,
    space_id: int,
    ranking: Ranking,
    phrases: Iterable[tuple[str, ParsedQuery]],
) -> FocusMatches:
    lifts: dict[int, float] = {}
    counts: dict[int, int] = {}
    missing = []
    for phrase, parsed in phrases:
        candidates = ranking.focus_candidates(parsed)
        matches = _events_with(tx, space_id, candidates.tolist(), phrase)
        if not matches:
            missing.append(phrase)
        common = len(candidates) if parsed.required else len(matches)
        rarity = 1 - common / max(ranking.view.events, 1)
        for event in matches:
            lifts[event] = (
                lifts.get(event, 0.0)
                + FOCUS_LIFT[0]
                + (FOCUS_LIFT[1] - FOCUS_LIFT[0]) * max(rarity, 0.0)
            )
            counts[event] = counts.get(event, 0) + 1
    return FocusMatches(lifts, counts, missing)


def _events_with(tx: Transaction, space_id: int, candidates: list[int], phrase: str) -> list[int]:
    matches: list[int] = []
    for place in range(0, min(len(candidates), FOCUS_SEARCHED_MAX), FOCUS_READ_AT_ONCE):
        if matches and place >= FOCUS_CHECKED_MAX:
            break
        matches += _with_phrase(
            tx, space_id, candidates[place : place + FOCUS_READ_AT_ONCE], phrase
        )
    return matches


def _with_phrase(tx: Transaction, space_id: int, events: list[int], phrase: str) -> list[int]:
    rows = HitRows(tx, space_id, events, at_once=len(events))
    return [event for event in events if event in rows and _has_phrase(rows[event], phrase)]


def _has_phrase(row: Row, phrase: str) -> bool:
    return any(contains(text, phrase) for text in (row.query, row.response, row.topic or ""))


def _hits(
    tx: Transaction,
    outcome: SearchOutcome,
    ranked: Sequence[RankedEvent],
    query: MemoryQuery,
    budget: TokenBudget,
    as_of_ms: int | None,
) -> tuple[list[Hit], list[RankedEvent]]:
    ranking, focus = outcome.ranking, outcome.focus
    assert ranking is not None
    assert outcome.space_id is not None
    hits: list[Hit] = []
    ranked_hits: list[RankedEvent] = []
    events = [one.event for one in ranked] if outcome.has_changes else []
    changes = changes_of(tx, outcome.space_id, events, as_of_ms)
    with_older = bool(outcome.history_lifts)
    ranked = newer_first(ranked, changes, ranking, with_older=with_older)
    events = [one.event for one in ranked]
    rows = HitRows(tx, outcome.space_id, events, at_once=query.top_k + ORIGINALS_BEYOND)
    ranked = useful_first(
        ranked,
        rows,
        changes,
        question=query.query_text,
        asks_history=with_older or as_of_ms is not None,
        most=query.top_k,
    )
    for candidate, reasons in zip(
        ranked, ranking.reasons([candidate.part for candidate in ranked]), strict=True
    ):
        if len(hits) == query.top_k or candidate.score < query.min_score:
            break
        row = rows.get(candidate.event)
        if row is None:  # erased a moment ago
            continue
        excerpt = hit_text(row.query, row.response, ranking, candidate.part)
        if not budget.spend(excerpt.query, excerpt.response, always=not hits):
            break
        why = _why(reasons, focus, candidate.event)
        if candidate.event in outcome.layers.lifts:
            why.append(Signal(signal="summary", value=outcome.layers.lifts[candidate.event]))
        why += [Signal(signal=flag, value=1.0) for flag in flag_names(row.flags)]
        links = links_of(outcome.space_id, candidate.event, changes)
        if links.superseded_by:
            why.append(Signal(signal="superseded", value=1.0))
        hits.append(_hit(row, candidate.score, excerpt, why, links))
        ranked_hits.append(candidate)
    return hits, ranked_hits


def _hit(row: Row, score: float, excerpt: HitText, why: list[Signal], links: EventLinks) -> Hit:
    return Hit(
        event_id=row.event_id,
        session_id=row.session_id,
        topic=row.topic,
        query=excerpt.query,
        response=excerpt.response,
        occurred_at=rfc3339(row.occurred_ms),
        created_at=rfc3339(row.created_ms),
        score=round(score, 4),
        why=why,
        **links._asdict(),
    )


def _why(reasons: Sequence[Reason], focus: FocusMatches, event: int) -> list[Signal]:
    signals = [
        Signal(signal=name, rank=rank, value=round(value, 4)) for name, rank, value in reasons
    ]
    if event in focus.counts:
        signals.insert(0, Signal(signal="focus", value=float(focus.counts[event])))
    return signals
