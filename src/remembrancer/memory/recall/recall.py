"""Search memory: by words, by meaning, by focus words, and by neighbouring turns."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from ...accounts import is_user_of_session, may_use_outside_models, space_user_id
from ...accounts.teams import authors_of_events, authors_of_facts, enter_all, working_in
from ...context import Caller, Context
from ...cubes import CubeQuery, NewestCubes, Situation, relevant_cubes
from ...models import ModelFailed
from ...protocol import limits
from ...protocol.cubes import SharedCube
from ...protocol.errors import InvalidRequest
from ...protocol.filters import of_search, parse_filters
from ...protocol.search import (
    LAYERS,
    Author,
    FactHit,
    Hit,
    InstructionHit,
    MemoryAnswer,
    MemoryName,
    MemoryQuery,
    Signal,
    SummaryHit,
    WorkContext,
)
from ...protocol.text import rfc3339, tokens
from ...protocol.trust import SOURCES
from ...search import (
    UNVERIFIED,
    Decay,
    IndexView,
    Known,
    ParsedQuery,
    RankedEvent,
    Ranker,
    Ranking,
    Reason,
    RerankerUnavailable,
    SearchTerms,
    VectorMissing,
    contains,
    cosines,
    disclaims,
    embedding_text,
    lexical_scores,
    load_ranker,
    parse_query,
    parse_terms,
)
from ...store import Row, Transaction
from ..duties import (
    SearchToRecord,
    citable_events,
    count_search,
    record_read,
    search_space,
)
from ..filters import passing_events
from ..history.endings import erase_due
from ..links import EventLinks
from ..projects import other_projects, own_or_none, project_of
from ..spaces import flag_names, milliseconds, past_ms, read_metadata, space_view
from ..tasks import shown_tasks
from .help import help_for
from .hits import HitText, TurnChanges, hit_text, rows_of
from .layer_hits import LayerHits, layer_hits
from .postgresql import view_for

# --- Results of a search with their reasons, for its answer and for its explanation ----------

AnyHit = TypeVar("AnyHit", FactHit, InstructionHit, SummaryHit)


class StageTimer:
    """Measures the duration of each stage of a search, in milliseconds."""

    def __init__(self) -> None:
        self.ms: dict[str, float] = {}
        self._last = perf_counter()

    def end(self, stage: str) -> None:
        """Record the time since the previous stage ended under this name."""
        now = perf_counter()
        self.ms[stage] = (now - self._last) * 1000
        self._last = now


@dataclass(frozen=True, slots=True)
class FocusMatches:
    """The events that contain focus words."""

    lifts: dict[int, float]  # event number -> score to add
    counts: dict[int, int]  # event number -> number of focus words in it
    missing: list[str]  # focus words that no event contains


class TokenBudget:
    """The tokens that the texts of an answer may have; None means no limit.

    Instructions and facts come first and may spend at most a third each, then hits, then summaries.
    """

    def __init__(self, tokens_max: int | None, layers: LayerHits) -> None:
        """Keep the instructions and facts of `layers` that fit."""
        self._left = tokens_max
        third = None if tokens_max is None else tokens_max // 3
        layers.instructions = self._fitting(layers.instructions, third)
        layers.facts = self._fitting(layers.facts, third)

    def spend(self, *texts: str, always: bool = False) -> bool:
        """Spend the tokens of these texts; return False if they do not fit and need not."""
        if self._left is None:
            return True
        cost = sum(tokens(text) for text in texts)
        if cost > self._left and not always:
            return False
        self._left = max(self._left - cost, 0)
        return True

    def fitting_summaries(self, layers: LayerHits) -> list[SummaryHit]:
        """Return the summaries that fit after the hits."""
        return self._fitting(layers.summaries, self._left)

    def _fitting(self, hits: Sequence[AnyHit], tokens_max: int | None) -> list[AnyHit]:
        if tokens_max is None or self._left is None:
            return list(hits)
        left = min(tokens_max, self._left)
        result = []
        for hit in hits:
            cost = tokens(hit.text)
            if cost > left:
                break
            left -= cost
            self._left -= cost
            result.append(hit)
        return result


@dataclass(slots=True, kw_only=True)
class SearchOutcome:
    """The answer of a search and how it was reached.

    `ranking` is None if there was no memory to search.
    """

    answer: MemoryAnswer = field(init=False)
    space: Row | None = None  # as returned by `search_space`; None: there is none
    ranking: Ranking | None = None
    ranker: Ranker | None = None
    terms: SearchTerms | None = None
    focus: FocusMatches = field(default_factory=lambda: FocusMatches({}, {}, []))
    layers: LayerHits = field(default_factory=LayerHits)
    known: Known = field(default_factory=Known)
    changes: TurnChanges | None = None  # None: there are none in the space
    answerable: float = 0.0  # how likely it is that any event answers
    # the hits, in the order of the answer
    ranked_hits: list[RankedEvent] = field(default_factory=list)
    vector_text: str = ""  # the text that was embedded
    cubes: list[SharedCube] = field(default_factory=list)

    @property
    def space_id(self) -> int | None:
        """The row id of the space, None if there is none."""
        return None if self.space is None else int(self.space.id)


# --- Deep search: a reranker orders the best hits again, outside of any transaction ----------

HITS_READ = 40  # ordered again: they have .61 to .99 of the evidence (bench/results.md)
# Share of the reranker in the order; the rest is the score of the fast search. Best on average of
# three development sets; chosen on two and reported on the third in bench/results.md.
RERANKER_SHARE = 0.75
_log = logging.getLogger(__name__)


class RerankerNotConfigured(InvalidRequest):
    """This server has no reranker. Set `REMEMBRANCER_RERANKER`, or leave `depth` out."""

    def __init__(self) -> None:
        """Name the field."""
        super().__init__(
            " ".join((type(self).__doc__ or "").split()),
            errors=[{"pointer": "/depth", "detail": "`deep` needs a reranker"}],
        )


def widened(context: Context, query: MemoryQuery) -> MemoryQuery:
    """Return the query whose hits the reranker reads: more of them, and without a budget.

    Raises RerankerNotConfigured.
    """
    if context.reranker is None:
        raise RerankerNotConfigured
    return query.model_copy(
        update={"top_k": max(query.top_k, HITS_READ), "max_tokens": None, "depth": "fast"}
    )


def reranked(
    context: Context, caller: Caller, query: MemoryQuery, answer: MemoryAnswer
) -> MemoryAnswer:
    """Return the answer of a widened query with its hits in a better order, cut to the query.

    If the reranker does not answer, or too many deep searches run, the hits keep their order, and
    `depth` says `fast`. Raises StoreUnavailable.
    """
    assert context.reranker is not None
    hits, depth = answer.hits, "fast"
    if len(hits) > 1:
        texts = [f"{hit.query}\n{hit.response}".strip() for hit in hits]
        outside = may_use_outside_models(context, caller)
        try:
            scores = context.reranker.scores(query.query_text, texts, outside=outside)
            hits = with_reranker(hits, scores)
            depth = "deep"
        except (RerankerUnavailable, ModelFailed) as error:
            _log.warning("a deep search keeps its fast order: %s", error)
    else:
        depth = "deep"
    layers = LayerHits(facts=answer.facts, instructions=answer.instructions)
    budget = TokenBudget(query.max_tokens, layers)
    chosen: list[Hit] = []
    for hit in hits[: query.top_k]:
        if not budget.spend(hit.query, hit.response, always=not chosen):
            break
        chosen.append(hit)
    layers.summaries = answer.summaries
    return answer.model_copy(
        update={
            "hits": chosen,
            "facts": layers.facts,
            "instructions": layers.instructions,
            "summaries": budget.fitting_summaries(layers),
            "depth": depth,
        }
    )


def with_reranker(hits: Sequence[Hit], scores: npt.ArrayLike) -> list[Hit]:
    """Return hits, best first, by a score of the fast search and the reranker together.

    In log odds: the fast score plus the reranker's, scaled so that the two have their shares of
    what tells the hits apart. A turn whose value was replaced is worth no more to the reranker than
    the turn that replaced it.
    """
    slow = _standardized(scores)
    places = {hit.event_id: place for place, hit in enumerate(hits)}
    for place, hit in enumerate(hits):
        newer = places.get(hit.superseded_by or "")
        slow[place] = slow[place] if newer is None else min(slow[place], slow[newer])
    chances = np.clip([hit.score for hit in hits], 1e-4, 1 - 1e-4)
    fast = np.log(chances / (1 - chances))
    odds = fast + fast.std() * RERANKER_SHARE / (1 - RERANKER_SHARE) * slow
    ranks = np.empty(len(hits), int)
    ranks[np.argsort(-np.asarray(scores), kind="stable")] = np.arange(1, len(hits) + 1)
    share = np.asarray(scores, np.float64) - np.min(scores)
    share /= share.max() or 1.0
    return [
        hits[place].model_copy(
            update={
                "score": round(float(1 / (1 + np.exp(-odds[place]))), 4),
                "why": [
                    *hits[place].why,
                    Signal(
                        signal="reranked",
                        rank=int(ranks[place]),
                        value=round(float(share[place]), 4),
                    ),
                ],
            }
        )
        for place in np.argsort(-odds, kind="stable").tolist()
    ]


def _standardized(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(values, np.float64)
    result: npt.NDArray[np.float64] = (array - array.mean()) / (array.std() or 1.0)
    return result


# --- Search one's own memory together with that of teams, in one answer ----------------------

Part = TypeVar("Part", bound=BaseModel)
Search = Callable[[Context, Caller, MemoryQuery], MemoryAnswer]


class TeamAndTeams(InvalidRequest):
    """Name either `team`, to search its memory alone, or `teams`."""


def recall_with_teams(
    context: Context, caller: Caller, query: MemoryQuery, search: Search
) -> MemoryAnswer:
    """Search one's own memory and that of teams, and merge the answers by score.

    A score says how often a hit with it is right, so scores of different memories compare. At equal
    scores, one's own come first. The step, the duties, the cubes and the open tasks are those of
    one's own memory. `search` searches one memory. Raises TeamUnknown, TeamAmbiguous, TooManyTeams,
    and like `recall`.
    """
    if query.team is not None:
        raise TeamAndTeams
    assert query.teams is not None
    names = [query.teams] if isinstance(query.teams, str) else query.teams
    # First: an unknown team is refused before the search counts.
    members = enter_all(context, caller, names, query.user_id)
    for member in members:
        erase_due(context, member.account_id)
    own = search(context, caller, query.model_copy(update={"teams": None}))
    answers = [with_memory(own, MemoryName(team_id=None, team=None))]
    answers += [_search_team(context, member, query, search) for member in members]
    return _merged(query, answers)


def _search_team(
    context: Context, member: Caller, query: MemoryQuery, search: Search
) -> MemoryAnswer:
    """Search the memory of a team; counts no step. `member` is the caller that works in it."""
    query = query.model_copy(
        update={
            "teams": None,
            "user_id": member.pinned_user_id,
            "interact": False,
            "last_seal": None,
        }
    )
    return search(working_in(context, member, "reader"), member, query)


def with_authors(context: Context, member: Caller, answer: MemoryAnswer) -> MemoryAnswer:
    """Return the answer of a team's memory with the team and the authors of its parts."""
    assert member.member is not None
    memory = MemoryName(team_id=member.member.team_id, team=member.member.team_name)

    def read(tx: Transaction) -> tuple[dict[str, Author], dict[str, Author]]:
        events = [hit.event_id for hit in answer.hits]
        events += [one.event_id for one in answer.instructions if one.event_id]
        facts = [fact.fact_id for fact in answer.facts]
        return authors_of_events(tx, events), authors_of_facts(tx, facts)

    events, facts = context.store.read(read, account_id=member.account_id)
    return with_memory(answer, memory, {**events, **facts})


def with_memory(
    answer: MemoryAnswer, memory: MemoryName, authors: dict[str, Author] | None = None
) -> MemoryAnswer:
    """Return an answer whose parts name the memory that holds them.

    `authors` are those of turns and facts, by id.
    """
    by_id = authors or {}

    def signed(part: Part, identifier: str | None) -> Part:
        author = by_id.get(identifier or "")
        place = memory if author is None else memory.model_copy(update={"author": author})
        return part.model_copy(update={"memory": place})

    return answer.model_copy(
        update={
            "hits": [signed(hit, hit.event_id) for hit in answer.hits],
            "facts": [signed(fact, fact.fact_id) for fact in answer.facts],
            "instructions": [signed(one, one.event_id) for one in answer.instructions],
            "summaries": [signed(one, None) for one in answer.summaries],
        }
    )


def _merged(query: MemoryQuery, answers: Sequence[MemoryAnswer]) -> MemoryAnswer:
    """Merge answers; the first is that of one's own memory."""
    own = answers[0]
    layers = LayerHits(
        facts=_best([one.facts for one in answers], limits.FACTS_FOUND_MAX),
        instructions=_first(
            [one.instructions for one in answers], 2 * limits.INSTRUCTIONS_FOUND_MAX
        ),
        summaries=_best([one.summaries for one in answers], limits.SUMMARIES_FOUND_MAX),
    )
    budget = TokenBudget(query.max_tokens, layers)
    hits: list[Any] = []
    for hit in _best([one.hits for one in answers], query.top_k):
        if not budget.spend(hit.query, hit.response, always=not hits):
            break
        hits.append(hit)
    missing = [word for word in query.focus_words if _is_missing(word, answers)]
    return own.model_copy(
        update={
            "hits": hits,
            "facts": layers.facts,
            "instructions": layers.instructions,
            "summaries": budget.fitting_summaries(layers),
            "answerable": max(one.answerable for one in answers),
            "total_hits": sum(one.total_hits for one in answers),
            "focus_missing": missing or None,
        }
    )


def _is_missing(word: str, answers: Iterable[MemoryAnswer]) -> bool:
    return all(word in (answer.focus_missing or ()) for answer in answers)


def _best(parts: Sequence[Sequence[Any]], most: int) -> list[Any]:
    """Return the parts with the best scores; of equal ones, those of the first sequence first."""
    merged = [one for part in parts for one in part]
    return sorted(merged, key=lambda one: -one.score)[:most]


def _first(parts: Sequence[Sequence[Any]], most: int) -> list[Any]:
    """Return the first parts of each memory in turn, one's own first."""
    longest = max(map(len, parts), default=0)
    ordered = [part[place] for place in range(longest) for part in parts if place < len(part)]
    return ordered[:most]


# --- Search memory: by words, by meaning, by focus words, and by neighbouring turns ----------

DAY_MS = 86_400_000

SPARE_HITS = 3  # ranked too: they take the place of events that were erased a moment ago
FOCUS_CHECKED_MAX = 200  # events checked for each focus word, likeliest first
# The same while no event contains it: a phrase of common words may be in few of the events that
# have the words.
FOCUS_SEARCHED_MAX = 2_000
FOCUS_READ_AT_ONCE = 50  # of these: texts in memory at a time, and fewer round trips
# Score added to an event for a focus word: (a word in every event, a very rare word).
FOCUS_LIFT = (3.75, 15.0)
ELSEWHERE_MIN = 0.5  # least score of a hit of another project than the one that is open
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
    start = perf_counter()
    if query.teams is not None:
        return recall_with_teams(context, caller, query, recall)
    user_id = space_user_id(caller, query.user_id)
    past_ms(context, query.as_of)  # first: a wrong time is refused before any work
    counts = query.interact and not caller.read_only and caller.has_protocol

    def read(tx: Transaction) -> tuple[SearchOutcome, bool]:
        outcome = search(context, tx, caller, user_id, searched, StageTimer(), counts=counts)
        # A counted search records its user in any case.
        return outcome, counts or is_user_of_session(tx, caller, user_id, query.session_id)

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
        ms=round((perf_counter() - start) * 1000, 2),
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
            "l2_source": duties.l2_source,
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
    among = _passing(context, tx, space, view, query)
    ranking = _score_parts(context, view, among, terms, vector_text, stages)
    vector = context.query_vectors(vector_text)
    filters, elsewhere = query.filters, None
    if query.project is not None and filters is None:  # filters say themselves what they want
        filters = own_or_none(query.project)
        elsewhere = passing_events(context, tx, space, parse_filters(other_projects(query.project)))
    layers = layer_hits(context, tx, space, ranking.question, vector, query, as_of_ms, filters)
    stages.end("layers")
    ranker = _ranker(context.embedder.name if vector.any() else "none")
    focus = _focus(tx, space.id, ranking, zip(query.focus_words, terms.phrases, strict=True))
    stages.end("focus")
    outcome = SearchOutcome(
        space=space,
        ranking=ranking,
        ranker=ranker,
        terms=terms,
        focus=focus,
        layers=layers,
        changes=None if space.newest_change is None else TurnChanges(tx, space.id, as_of_ms),
        answerable=round(ranking.answerable(ranker, vector, context.embedder.name), 4),
        vector_text=vector_text,
    )
    outcome.known = _known(context, query, outcome, as_of_ms, elsewhere)
    outcome.ranked_hits = _ranked(outcome, ranking, ranker, query)
    stages.end("ranking")
    budget = TokenBudget(query.max_tokens, layers)
    hits, outcome.ranked_hits = _hits(tx, outcome, query, budget)
    stages.end("texts")
    cube_query = _cube_query(user_id, query, ranking.question, vector, space)
    outcome.cubes = relevant_cubes(context, tx, caller, cube_query)
    stages.end("cubes")
    outcome.answer = _answer(context, tx, query, outcome, hits, budget, counts=counts)
    stages.end("session")
    return outcome


def _answer(
    context: Context,
    tx: Transaction,
    query: MemoryQuery,
    outcome: SearchOutcome,
    hits: list[Hit],
    budget: TokenBudget,
    *,
    counts: bool,
) -> MemoryAnswer:
    ranking, layers, focus, space = outcome.ranking, outcome.layers, outcome.focus, outcome.space
    assert ranking is not None
    assert space is not None
    tasks = None
    if space.has_open_task:
        tasks = shown_tasks(context, tx, space, query, hits, counts=counts)
    return MemoryAnswer(
        hits=hits,
        shared_cubes=outcome.cubes,
        facts=layers.facts,
        instructions=layers.instructions,
        summaries=budget.fitting_summaries(layers),
        step=space.step or 0,
        answerable=outcome.answerable,
        total_hits=max(ranking.matching(outcome.known.lifted), len(hits)) if hits else 0,
        focus_missing=focus.missing or None,
        help_hits=help_for(query.query_text) or None,
        open_tasks=tasks or None,
    )


def _decay(context: Context, as_of_ms: int | None) -> Decay | None:
    if not context.settings.decay_days:
        return None
    now_ms = context.clock() if as_of_ms is None else as_of_ms
    return Decay(now_ms, context.settings.decay_days * DAY_MS)


def _known(
    context: Context,
    query: MemoryQuery,
    outcome: SearchOutcome,
    as_of_ms: int | None,
    elsewhere: npt.NDArray[np.bool_] | None,
) -> Known:
    """Return what is known of events beside their match with the query.

    `elsewhere` are those of other projects, by number.
    """
    assert outcome.ranking is not None
    has_unverified = outcome.ranking.view.flags & UNVERIFIED > 0
    return Known(
        focus=outcome.focus.lifts,
        summary=outcome.layers.lifts,
        decay=_decay(context, as_of_ms),
        asks_history=outcome.layers.asks_history,
        takes_unverified=has_unverified and disclaims(query.query_text),
        elsewhere=elsewhere,
        changes=None if outcome.changes is None else outcome.changes.of,
    )


def _ranked(
    outcome: SearchOutcome, ranking: Ranking, ranker: Ranker, query: MemoryQuery
) -> list[RankedEvent]:
    """Return the best events and a few to spare; none if the query wants none."""
    may_answer = outcome.answerable >= query.min_answerable or bool(outcome.focus.lifts)
    if "events" not in (query.layers or LAYERS) or not may_answer:
        return []
    return ranking.ranked(ranker, outcome.known, query.top_k + SPARE_HITS)


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
    outcome = SearchOutcome()
    outcome.answer = answer
    return outcome


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
        "min_trust": query.min_trust,
    }
    if space is None:
        return CubeQuery(session=None, **request)
    return CubeQuery(
        # A pure read looks things up; only what a turn is shown is not repeated.
        session=space.session if query.interact else None,
        newest=NewestCubes(
            space.cube_revision, space.shared_cube, space.account_cube, space.own_cube
        ),
        has_rejected=bool(space.has_rejected),
        **request,
    )


def _score_parts(
    context: Context,
    view: IndexView,
    among: Any,
    terms: SearchTerms,
    vector_text: str,
    stages: StageTimer,
) -> Ranking:
    """Score every part of a view against a query; `vector_text` is embedded for it.

    `among`, (size,) bool, are the parts of the events that may be hits; None means all.
    """
    words = lexical_scores(view, terms.words)
    stages.end("words")
    vector = context.query_vectors(vector_text)
    stages.end("embedding")
    cosine = cosines(view, vector)
    stages.end("vectors")
    ranking = Ranking(view, terms.question, words, cosine, among=among)
    stages.end("fusion")
    return ranking


def _passing(
    context: Context, tx: Transaction, space: Row, view: IndexView, query: MemoryQuery
) -> Any:
    """Return which parts of a view are in the period of a query and pass its filters; None: all."""
    passes = None
    if query.after is not None or query.before is not None:
        occurred = view["occurred_ms"]
        least, most = np.iinfo("i8").min, np.iinfo("i8").max
        passes = occurred >= milliseconds(query.after, least)
        passes &= occurred < milliseconds(query.before, most)
    if query.filters is not None or query.min_trust is not None:
        filters = of_search(query.filters, query.min_trust)
        events = passing_events(context, tx, space, filters)[view["event"]]
        passes = events if passes is None else passes & events
    return passes


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
    rows = rows_of(tx, space_id, events)
    return [event for event in events if event in rows and _has_phrase(rows[event], phrase)]


def _has_phrase(row: Row, phrase: str) -> bool:
    return any(contains(text, phrase) for text in (row.query, row.response, row.topic or ""))


def _hits(
    tx: Transaction, outcome: SearchOutcome, query: MemoryQuery, budget: TokenBudget
) -> tuple[list[Hit], list[RankedEvent]]:
    """Return the hits that the query asks for and the budget allows, and their ranked events."""
    ranking, focus, known = outcome.ranking, outcome.focus, outcome.known
    assert ranking is not None
    assert outcome.space_id is not None
    hits: list[Hit] = []
    shown: list[RankedEvent] = []
    if not outcome.ranked_hits or outcome.ranker is None:
        return [], []
    rows = rows_of(tx, outcome.space_id, [one.event for one in outcome.ranked_hits])
    outdated = ranking.scores(outcome.ranker, known).outdated
    for one in outcome.ranked_hits:
        if len(hits) == query.top_k or one.score < query.min_score:
            break
        row = rows.get(one.event)
        if row is None:  # erased a moment ago
            continue
        is_elsewhere = known.elsewhere is not None and bool(known.elsewhere[one.event])
        if is_elsewhere and one.score < ELSEWHERE_MIN:
            continue
        excerpt = hit_text(row.query, row.response, ranking, one.part)
        if not budget.spend(excerpt.query, excerpt.response, always=not hits):
            break
        why = _why(ranking.reasons(one.event, one.part), focus, one.event)
        if one.event in known.summary:
            why.append({"signal": "summary", "value": known.summary[one.event]})
        why += [{"signal": flag, "value": 1.0} for flag in flag_names(row.flags)]
        links = EventLinks() if outcome.changes is None else outcome.changes.links_of(one.event)
        newer = rows.get(outdated.get(one.event, -1))
        if links.superseded_by is None and newer is not None:
            links = links._replace(superseded_by=newer.event_id)
        if links.superseded_by:
            why.append({"signal": "superseded", "value": 1.0})
        project = project_of(row.metadata) if is_elsewhere else None
        hits.append(_hit(row, one.score, excerpt, why, links, project))
        shown.append(one)
    return hits, shown


def _hit(
    row: Row,
    score: float,
    excerpt: HitText,
    why: list[dict[str, Any]],
    links: EventLinks,
    project: str | None,
) -> Hit:
    hit: dict[str, Any] = dict(
        event_id=row.event_id,
        session_id=row.session_id,
        topic=row.topic,
        query=excerpt.query,
        response=excerpt.response,
        occurred_at=rfc3339(row.occurred_ms),
        created_at=rfc3339(row.created_ms),
        metadata=read_metadata(row.metadata),
        source={"query": SOURCES[row.query_source], "response": SOURCES[row.response_source]},
        project=project,
        score=round(score, 4),
        why=why,
        **links._asdict(),
    )
    return Hit.model_validate(hit)  # with its signals, in one step


def _why(reasons: Sequence[Reason], focus: FocusMatches, event: int) -> list[dict[str, Any]]:
    signals = [
        {"signal": name, "rank": rank, "value": round(value, 4)} for name, rank, value in reasons
    ]
    if event in focus.counts:
        signals.insert(0, {"signal": "focus", "value": float(focus.counts[event])})
    return signals
