"""Search memory: by words, by meaning, by focus words, and by neighbouring turns."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
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
    Hit,
    MemoryAnswer,
    MemoryName,
    MemoryQuery,
    Signal,
    WorkContext,
)
from ...protocol.text import DAY_MS, rfc3339, tokens
from ...protocol.trust import SOURCES
from ...search import (
    UNVERIFIED,
    Decay,
    IndexView,
    Known,
    ParsedQuery,
    RankedEvent,
    Ranking,
    RerankerUnavailable,
    VectorMissing,
    Vectors,
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
from .hits import TurnChanges, hit_text, rows_of
from .layer_hits import LayerHits, layer_hits
from .postgresql import candidates_for

# --- Results of a search with their reasons, for its answer and for its explanation ----------


@dataclass(slots=True)
class StageTimer:
    """Measures the duration of each stage of a search, in milliseconds."""

    ms: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=perf_counter)

    def end(self, stage: str) -> None:
        """Record the time since the previous stage ended under this name."""
        now = perf_counter()
        self.ms[stage] = (now - self.last) * 1000
        self.last = now


def within_budget(answer: MemoryAnswer, tokens_max: int) -> MemoryAnswer:
    """Return an answer whose texts have at most so many tokens.

    Instructions and facts come first and may spend at most a third each, then hits, then summaries.
    The best hit is always served.
    """
    left, chosen = tokens_max, dict[str, list[Any]]()
    for layer, share in (("instructions", 3), ("facts", 3), ("hits", 1), ("summaries", 1)):
        room, parts = min(tokens_max // share, left), chosen.setdefault(layer, [])
        for part in getattr(answer, layer):
            texts = (part.query, part.response) if layer == "hits" else (part.text,)
            cost = sum(map(tokens, texts))
            if cost > room and (parts or layer != "hits"):
                break
            room, left = room - cost, max(left - cost, 0)
            parts.append(part)
    return answer.model_copy(update=chosen)


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
        super().__init__(errors=[{"pointer": "/depth", "detail": "`deep` needs a reranker"}])


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
    hits, depth = answer.hits, "deep"
    if len(hits) > 1:
        texts = [f"{hit.query}\n{hit.response}".strip() for hit in hits]
        outside = may_use_outside_models(context, caller)
        try:
            scores = context.reranker.scores(query.query_text, texts, outside=outside)
            hits = with_reranker(hits, scores)
        except (RerankerUnavailable, ModelFailed) as error:
            _log.warning("a deep search keeps its fast order: %s", error)
            depth = "fast"
    answer = answer.model_copy(update={"hits": hits[: query.top_k], "depth": depth})
    return answer if query.max_tokens is None else within_budget(answer, query.max_tokens)


def with_reranker(hits: Sequence[Hit], scores: npt.ArrayLike) -> list[Hit]:
    """Return hits, best first, by a score of the fast search and the reranker together.

    In log odds: the fast score plus the reranker's, scaled so that the two have their shares of
    what tells the hits apart. A turn whose value was replaced is worth no more to the reranker than
    the turn that replaced it.
    """
    slow = np.asarray(scores, np.float64)
    slow = (slow - slow.mean()) / (slow.std() or 1.0)
    places = {hit.event_id: place for place, hit in enumerate(hits)}
    for place, hit in enumerate(hits):
        newer = places.get(hit.superseded_by or "")
        slow[place] = slow[place] if newer is None else min(slow[place], slow[newer])
    chances = np.clip([hit.score for hit in hits], 1e-4, 1 - 1e-4)
    fast = np.log(chances / (1 - chances))
    odds = fast + fast.std() * RERANKER_SHARE / (1 - RERANKER_SHARE) * slow
    ranks = np.argsort(np.argsort(-np.asarray(scores), kind="stable"), kind="stable") + 1
    share = np.asarray(scores, np.float64) - np.min(scores)
    share /= share.max() or 1.0
    result = []
    for place in np.argsort(-odds, kind="stable").tolist():
        rank, value = int(ranks[place]), round(float(share[place]), 4)
        why = [*hits[place].why, Signal(signal="reranked", rank=rank, value=value)]
        score = round(float(1 / (1 + np.exp(-odds[place]))), 4)
        result.append(hits[place].model_copy(update={"score": score, "why": why}))
    return result


# --- Search one's own memory together with that of teams, in one answer ----------------------

Part = TypeVar("Part", bound=BaseModel)


class TeamAndTeams(InvalidRequest):
    """Name either `team`, to search its memory alone, or `teams`."""


def recall_with_teams(context: Context, caller: Caller, query: MemoryQuery) -> MemoryAnswer:
    """Search one's own memory and that of teams, and merge the answers by score.

    A score says how often a hit with it is right, so scores of different memories compare. At equal
    scores, one's own come first. The step, the duties, the cubes and the open tasks are those of
    one's own memory. Raises TeamUnknown, TeamAmbiguous, TooManyTeams, and like `recall`.
    """
    if query.team is not None:
        raise TeamAndTeams
    assert query.teams is not None
    names = [query.teams] if isinstance(query.teams, str) else query.teams
    # First: an unknown team is refused before the search counts.
    members = enter_all(context, caller, names, query.user_id)
    for member in members:
        erase_due(context, member.account_id)
    own = recall(context, caller, query.model_copy(update={"teams": None}))
    answers = [with_memory(own, MemoryName(team_id=None, team=None))]
    for member in members:  # counts no step
        of_team = {"teams": None, "user_id": member.pinned_user_id}
        part = query.model_copy(update={**of_team, "interact": False, "last_seal": None})
        answers.append(recall(working_in(context, member, "reader"), member, part))
    return _merged(query, answers)


def with_authors(context: Context, member: Caller, answer: MemoryAnswer) -> MemoryAnswer:
    """Return the answer of a team's memory with the team and the authors of its parts."""
    assert member.member is not None
    memory = MemoryName(team_id=member.member.team_id, team=member.member.team_name)

    def read(tx: Transaction) -> dict[str, Author]:
        events = [hit.event_id for hit in answer.hits]
        events += [one.event_id for one in answer.instructions if one.event_id]
        of_facts = authors_of_facts(tx, [fact.fact_id for fact in answer.facts])
        return authors_of_events(tx, events) | of_facts

    authors = context.store.read(read, account_id=member.account_id)
    return with_memory(answer, memory, authors)


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

    parts = {
        "hits": [signed(hit, hit.event_id) for hit in answer.hits],
        "facts": [signed(fact, fact.fact_id) for fact in answer.facts],
        "instructions": [signed(one, one.event_id) for one in answer.instructions],
        "summaries": [signed(one, None) for one in answer.summaries],
    }
    return answer.model_copy(update=parts)


def _merged(query: MemoryQuery, answers: Sequence[MemoryAnswer]) -> MemoryAnswer:
    """Merge answers; the first is that of one's own memory."""

    def best(layer: str, most: int) -> list[Any]:
        """Return the parts with the best scores; of equal ones, those of the first answer first."""
        parts = [part for one in answers for part in getattr(one, layer)]
        return sorted(parts, key=lambda part: -part.score)[:most]

    instructions = [one.instructions for one in answers]
    in_turn = [  # of each memory in turn
        part[place]
        for place in range(max(map(len, instructions)))
        for part in instructions
        if place < len(part)
    ]
    found = [set(query.focus_words) - set(one.focus_missing or ()) for one in answers]
    missing = [word for word in query.focus_words if word not in set().union(*found)]
    merged = answers[0].model_copy(
        update={
            "hits": best("hits", query.top_k),
            "facts": best("facts", limits.FACTS_FOUND_MAX),
            "instructions": in_turn[: 2 * limits.INSTRUCTIONS_FOUND_MAX],
            "summaries": best("summaries", limits.SUMMARIES_FOUND_MAX),
            "answerable": max(one.answerable for one in answers),
            "total_hits": sum(one.total_hits for one in answers),
            "focus_missing": missing or None,
        }
    )
    return merged if query.max_tokens is None else within_budget(merged, query.max_tokens)


# --- Search memory: by words, by meaning, by focus words, and by neighbouring turns ----------


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
        return recall_with_teams(context, caller, query)
    user_id = space_user_id(caller, query.user_id)
    past_ms(context, query.as_of)  # first: a wrong time is refused before any work
    counts = query.interact and not caller.read_only and caller.has_protocol

    def read(tx: Transaction) -> tuple[Search, bool]:
        outcome = Search(context, tx, caller, user_id, searched, counts)
        outcome.run()
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
        may_write = caller.has_protocol and not caller.read_only
        may_cite = may_write and bool(citable_events(answer) and answer.step)
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


@dataclass(slots=True)
class Search:
    """A search of one memory in one snapshot: what is asked, and how its answer is reached.

    `ranking` and all that is about events is missing if there is no memory to search.
    """

    context: Context
    tx: Transaction
    caller: Caller
    user_id: str  # one that the caller may use
    query: MemoryQuery
    counts: bool = False  # `count_search` follows
    stages: StageTimer = field(default_factory=StageTimer)
    answer: MemoryAnswer = field(init=False)
    question: ParsedQuery = field(init=False)
    vector: Vectors = field(init=False)  # of the question, or empty
    space: Row | None = None  # as returned by `search_space`; None: there is none
    space_id: int = 0  # its row id
    ranking: Ranking | None = None
    focus_lifts: dict[int, float] = field(default_factory=dict)  # event -> score to add
    focus_counts: dict[int, int] = field(default_factory=dict)  # event -> focus words in it
    focus_missing: list[str] = field(default_factory=list)  # focus words that no event contains
    layers: LayerHits = field(default_factory=LayerHits)
    known: Known = field(default_factory=Known)
    changes: TurnChanges | None = None  # None: there are none in the space
    answerable: float = 0.0  # how likely it is that any event answers
    # the hits, in the order of the answer
    ranked_hits: list[RankedEvent] = field(default_factory=list)

    def run(self) -> None:
        """Run every stage. Counts and records nothing. Raises TimeInFuture."""
        query, stages = self.query, self.stages
        as_of_ms = past_ms(self.context, query.as_of)
        if query.as_of is not None and (query.before is None or query.before > query.as_of):
            # Turns that had occurred by then; `before` is exclusive.
            before = query.as_of + timedelta(milliseconds=1)
            self.query = query = query.model_copy(update={"before": before})
        self.space = search_space(self.tx, self.user_id, query.session_id, counts=self.counts)
        if self.space is None:
            self.question = parse_query(query.query_text)
            self.vector = self.context.query_vectors(self.question.text)
            self.focus_missing = list(query.focus_words)
        else:
            self.space_id = self.space.id
            self._rank(self.space, as_of_ms)
        hits = self._hits()
        stages.end("texts")
        cubes = relevant_cubes(self.context, self.tx, self.caller, self._cube_query())
        stages.end("cubes")
        self.answer = self._answer(hits, cubes)
        if self.space is not None and self.space.has_open_task:
            shown = self.answer.hits
            tasks = shown_tasks(self.context, self.tx, self.space, query, shown, counts=self.counts)
            self.answer = self.answer.model_copy(update={"open_tasks": tasks or None})
        stages.end("session")

    def _rank(self, space: Row, as_of_ms: int | None) -> None:
        """Score every part of the space, and choose the best events."""
        context, tx, query = self.context, self.tx, self.query
        ranking, phrases = self._scored(space)
        self.ranking, self.question = ranking, ranking.question
        filters, elsewhere = query.filters, None
        if query.project is not None and filters is None:  # filters say themselves what they want
            filters = own_or_none(query.project)
            others = parse_filters(other_projects(query.project))
            elsewhere = passing_events(context, tx, space, others)
        self.layers = layer_hits(
            context, tx, space, self.question, self.vector, query, as_of_ms, filters
        )
        self.stages.end("layers")
        if query.focus_words:
            self._find_focus(ranking, phrases)
        self.stages.end("focus")
        if space.newest_change is not None:
            self.changes = TurnChanges(tx, space.id, as_of_ms)
        decay = None
        if days := context.settings.decay_days:
            decay = Decay(context.clock() if as_of_ms is None else as_of_ms, days * DAY_MS)
        has_unverified = ranking.view.flags & UNVERIFIED > 0
        self.known = Known(
            focus=self.focus_lifts,
            summary=self.layers.lifts,
            decay=decay,
            asks_history=self.layers.asks_history,
            takes_unverified=has_unverified and disclaims(query.query_text),
            elsewhere=elsewhere,
            changes=None if self.changes is None else self.changes.of,
        )
        self.answerable = round(ranking.answerable(self.vector, context.embedder.name), 4)
        may_answer = self.answerable >= query.min_answerable or bool(self.focus_lifts)
        if "events" in (query.layers or LAYERS) and may_answer:
            self.ranked_hits = ranking.ranked(self.known, query.top_k + SPARE_HITS)
        self.stages.end("ranking")

    def _scored(self, space: Row) -> tuple[Ranking, Sequence[ParsedQuery]]:
        """Score every part by words and by vector; return the ranking and the focus phrases."""
        context, tx, query, stages = self.context, self.tx, self.query, self.stages
        found = None
        if context.store.supports_vector_search:
            found = candidates_for(context, tx, self.caller.account_id, space, query)
        view = found[0] if found else space_view(context, tx, space)
        words = query.query_text, query.focus_words
        terms = found[1] if found else parse_terms(*words, view.languages)
        stages.end("index")
        text = embedding_text(view, terms.question)
        among = self._passing(space, view)
        lexical = lexical_scores(view, terms.words)
        stages.end("words")
        self.vector = context.query_vectors(text)
        stages.end("embedding")
        cosine = cosines(view, self.vector)
        stages.end("vectors")
        ranker = load_ranker(context.embedder.name if self.vector.any() else "none")
        ranking = Ranking(view, terms.question, lexical, cosine, ranker, among=among)
        stages.end("fusion")
        return ranking, terms.phrases

    def _find_focus(self, ranking: Ranking, phrases: Sequence[ParsedQuery]) -> None:
        """Find the events that contain the focus words; the rarer one is, the more it lifts."""
        for phrase, parsed in zip(self.query.focus_words, phrases, strict=True):
            candidates = ranking.focus_candidates(parsed).tolist()
            events = self._events_with(phrase, candidates)
            if not events:
                self.focus_missing.append(phrase)
            common = len(candidates) if parsed.required else len(events)
            rarity = max(1 - common / max(ranking.view.events, 1), 0.0)
            lift = FOCUS_LIFT[0] + (FOCUS_LIFT[1] - FOCUS_LIFT[0]) * rarity
            for event in events:
                self.focus_lifts[event] = self.focus_lifts.get(event, 0.0) + lift
                self.focus_counts[event] = self.focus_counts.get(event, 0) + 1

    def _events_with(self, phrase: str, candidates: list[int]) -> list[int]:
        matches: list[int] = []
        for place in range(0, min(len(candidates), FOCUS_SEARCHED_MAX), FOCUS_READ_AT_ONCE):
            if matches and place >= FOCUS_CHECKED_MAX:
                break
            events = candidates[place : place + FOCUS_READ_AT_ONCE]
            rows = rows_of(self.tx, self.space_id, events)
            for event in (one for one in events if one in rows):
                texts = (rows[event].query, rows[event].response, rows[event].topic or "")
                if any(contains(text, phrase) for text in texts):
                    matches.append(event)
        return matches

    def _passing(self, space: Row, view: IndexView) -> Any:
        """Return which parts of a view are in the period and pass the filters; None: all."""
        query, passes = self.query, None
        if query.after is not None or query.before is not None:
            occurred = view["occurred_ms"]
            least, most = np.iinfo("i8").min, np.iinfo("i8").max
            passes = occurred >= milliseconds(query.after, least)
            passes &= occurred < milliseconds(query.before, most)
        if query.filters is not None or query.min_trust is not None:
            filters = of_search(query.filters, query.min_trust)
            events = passing_events(self.context, self.tx, space, filters)[view["event"]]
            passes = events if passes is None else passes & events
        return passes

    def _hits(self) -> list[Hit]:
        """Return the hits that the query asks for; those of `ranked_hits` become the same."""
        ranking, known, ranked = self.ranking, self.known, self.ranked_hits
        if ranking is None or not ranked:
            return []
        hits: list[Hit] = []
        shown: list[RankedEvent] = []
        rows = rows_of(self.tx, self.space_id, [one.event for one in ranked])
        outdated = ranking.scores(known).outdated
        for one in ranked:
            if len(hits) == self.query.top_k or one.score < self.query.min_score:
                break
            row = rows.get(one.event)
            is_elsewhere = known.elsewhere is not None and bool(known.elsewhere[one.event])
            if row is None or (is_elsewhere and one.score < ELSEWHERE_MIN):
                continue  # erased a moment ago; or another project's
            links = EventLinks() if self.changes is None else self.changes.links_of(one.event)
            newer = rows.get(outdated.get(one.event, -1))
            if links.superseded_by is None and newer is not None:
                links = links._replace(superseded_by=newer.event_id)
            project = project_of(row.metadata) if is_elsewhere else None
            hits.append(self._hit(row, one, ranking, links, project))
            shown.append(one)
        self.ranked_hits = shown
        return hits

    def _hit(
        self, row: Row, one: RankedEvent, ranking: Ranking, links: EventLinks, project: str | None
    ) -> Hit:
        why: list[dict[str, Any]] = [
            {"signal": name, "rank": rank, "value": round(value, 4)}
            for name, rank, value in ranking.reasons(one.event, one.part)
        ]
        if one.event in self.focus_counts:
            why.insert(0, {"signal": "focus", "value": float(self.focus_counts[one.event])})
        if one.event in self.known.summary:
            why.append({"signal": "summary", "value": self.known.summary[one.event]})
        if row.flags:
            why += [{"signal": flag, "value": 1.0} for flag in flag_names(row.flags)]
        if links.superseded_by:
            why.append({"signal": "superseded", "value": 1.0})
        query, response = hit_text(row.query, row.response, ranking, one.part)
        hit: dict[str, Any] = dict(
            event_id=row.event_id,
            session_id=row.session_id,
            topic=row.topic,
            query=query,
            response=response,
            occurred_at=rfc3339(row.occurred_ms),
            created_at=rfc3339(row.created_ms),
            metadata=read_metadata(row.metadata),
            source={"query": SOURCES[row.query_source], "response": SOURCES[row.response_source]},
            project=project,
            score=round(one.score, 4),
            why=why,
            **links._asdict(),
        )
        return Hit.model_validate(hit)  # with its signals, in one step

    def _cube_query(self) -> CubeQuery:
        """Return the search for cubes that fit the same message and work."""
        work = self.query.work or WorkContext()
        error, others = work.error or "", (*work.tools, *work.files)
        cube_query = CubeQuery(
            user_id=self.user_id,
            session=None,
            situation=Situation(message=self.query.query_text, error=error, others=others),
            question=self.question,
            vector=self.vector,
            min_trust=self.query.min_trust,
        )
        space = self.space
        if space is None:
            return cube_query
        revisions = space.cube_revision, space.shared_cube, space.account_cube, space.own_cube
        return replace(
            cube_query,
            # A pure read looks things up; only what a turn is shown is not repeated.
            session=space.session if self.query.interact else None,
            newest=NewestCubes(*revisions),
            has_rejected=bool(space.has_rejected),
        )

    def _answer(self, hits: list[Hit], cubes: list[SharedCube]) -> MemoryAnswer:
        ranking, layers = self.ranking, self.layers
        matching = 0 if ranking is None or not hits else ranking.matching(self.known)
        answer = MemoryAnswer(
            hits=hits,
            shared_cubes=cubes,
            facts=layers.facts,
            instructions=layers.instructions,
            summaries=layers.summaries,
            step=0 if self.space is None else self.space.step or 0,
            answerable=self.answerable,
            total_hits=max(matching, len(hits)),
            focus_missing=self.focus_missing or None,
            help_hits=help_for(self.query.query_text) or None,
        )
        if self.query.max_tokens is None:
            return answer
        answer = within_budget(answer, self.query.max_tokens)
        self.ranked_hits = self.ranked_hits[: len(answer.hits)]
        return answer
