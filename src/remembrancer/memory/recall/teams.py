"""Search one's own memory together with that of teams, in one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from ...accounts.teams import authors_of_events, authors_of_facts, enter_all, working_in
from ...context import Caller, Context
from ...protocol import limits
from ...protocol.errors import InvalidRequest
from ...protocol.search import Author, MemoryAnswer, MemoryQuery, MemorySource
from ...store import Transaction
from ..history.endings import erase_due
from .outcome import LayerHits, TokenBudget

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
    answers = [with_source(own, MemorySource(team_id=None, team=None))]
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
    source = MemorySource(team_id=member.member.team_id, team=member.member.team_name)

    def read(tx: Transaction) -> tuple[dict[str, Author], dict[str, Author]]:
        events = [hit.event_id for hit in answer.hits]
        events += [one.event_id for one in answer.instructions if one.event_id]
        facts = [fact.fact_id for fact in answer.facts]
        return authors_of_events(tx, events), authors_of_facts(tx, facts)

    events, facts = context.store.read(read, account_id=member.account_id)
    return with_source(answer, source, {**events, **facts})


def with_source(
    answer: MemoryAnswer, source: MemorySource, authors: dict[str, Author] | None = None
) -> MemoryAnswer:
    """Return an answer whose parts name the memory that holds them.

    `authors` are those of turns and facts, by id.
    """
    by_id = authors or {}

    def signed(part: Part, identifier: str | None) -> Part:
        author = by_id.get(identifier or "")
        place = source if author is None else source.model_copy(update={"author": author})
        return part.model_copy(update={"source": place})

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
    """Return the parts with the best scores; each sequence keeps its own order.

    A hit is never moved before a better one of the same memory: its order also knows which turns
    replace others.
    """
    merged: list[Any] = []
    queues = [list(part) for part in parts]
    while len(merged) < most and any(queues):
        place = max(
            (place for place, queue in enumerate(queues) if queue),
            key=lambda place: (queues[place][0].score, -place),
        )
        merged.append(queues[place].pop(0))
    return merged


def _first(parts: Sequence[Sequence[Any]], most: int) -> list[Any]:
    """Return the first parts of each memory in turn, one's own first."""
    longest = max(map(len, parts), default=0)
    ordered = [part[place] for place in range(longest) for part in parts if place < len(part)]
    return ordered[:most]
