"""Tables of memory as rows for an export: one generator a table, with the page's parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast, get_args

from ..accounts.usage import DAY_MS
from ..agent.second_look import second_look
from ..cubes import board
from ..memory.facts.listing import list_facts
from ..memory.facts.timeline import fact_timeline
from ..memory.history import activity, browse, sessions
from ..memory.history.listing import list_events
from ..memory.recall.explain import explain
from ..memory.summaries.maps import map_history
from ..protocol import limits
from ..protocol.cubes import CubeStatus
from ..protocol.events import EventsQuery
from ..protocol.explain import ExplainedHit, Explanation
from ..protocol.facts import FactsQuery
from ..protocol.line import CubeKind
from ..protocol.search import MemoryQuery
from ..protocol.second_look import SecondLook
from ..protocol.text import day_of, rfc3339
from . import parameters, users
from .browser_session import BrowserRequest
from .memory import TOP_K_CHOICES
from .search_scope import SearchedMemory, search_scope
from .searches import QUERY_CHARACTERS_MAX

Row: TypeAlias = dict[str, Any]
Table: TypeAlias = Callable[[BrowserRequest], Iterator[Row]]


def chosen_user(browser: BrowserRequest) -> str:
    """Return the user whose data the page shows."""
    params = browser.request.query_params
    return parameters.users(browser.context, browser.caller(), params).chosen


def _turns(browser: BrowserRequest) -> Iterator[Row]:
    """Yield whole turns: of a session in order, else newest first, of a period or flagged."""
    params, context, caller = browser.request.query_params, browser.context, browser.caller()
    user_id, session_id = chosen_user(browser), parameters.identifier(params, "session_id") or None
    if params.get("noticed") == "yes":
        yield from _flagged(browser, user_id)
        return
    cursor = None
    while True:
        query = EventsQuery(
            user_id=user_id,
            session_id=session_id,
            after=parameters.parse_day(params, "after"),
            before=parameters.parse_day(params, "before"),
            order="oldest" if session_id else "newest",
            limit=limits.EVENTS_PAGE_MAX,
            cursor=cursor,
        )
        page = list_events(context, caller, query)
        for event in page.events:
            yield {"user_id": user_id, **event.model_dump()}
        cursor = page.next
        if cursor is None:
            return


def _flagged(browser: BrowserRequest, user_id: str) -> Iterator[Row]:
    behind = None
    while True:
        page = browse.list_flagged(browser.context, browser.caller(), user_id, behind=behind)
        for one in page.events:
            yield {
                "user_id": user_id,
                "event_id": one.event_id,
                "session_id": one.session_id,
                "topic": one.topic,
                "query": one.query,
                "response": one.response,
                "flags": list(one.flags),
                "occurred_at": rfc3339(one.occurred_ms),
            }
        behind = page.next
        if behind is None:
            return


_HIT_COLUMNS = {
    "event_id",
    "session_id",
    "topic",
    "query",
    "response",
    "occurred_at",
    "score",
    "side",
    "passage",
    "bm25",
    "coverage",
    "cosine",
    "raw_score",
}


def _hits(browser: BrowserRequest) -> Iterator[Row]:
    params = browser.request.query_params
    top_k = parameters.number(params, "top_k") or TOP_K_CHOICES[1]
    fields = {
        "query_text": parameters.text(params, "query", limits.QUERY_CHARACTERS_MAX),
        "focus_words": [
            word.strip() for word in params.get("focus", "").split(",") if word.strip()
        ],
        "after": parameters.parse_day(params, "after"),
        "before": parameters.parse_day(params, "before"),
        "top_k": top_k,
    }
    results: list[tuple[SearchedMemory, ExplainedHit]] = []
    scope = search_scope(browser, chosen_user(browser), params)
    for memory in scope.memories:
        query = parameters.parse(MemoryQuery, {**fields, "user_id": memory.user_id})
        explanation = explain(browser.context, memory.caller, query)
        results += [(memory, hit) for hit in explanation.hits]
    if len(scope.memories) > 1:  # as the page shows them
        results = sorted(results, key=lambda one: -one[1].score)[:top_k]
    for rank, (memory, hit) in enumerate(results, 1):
        values = hit.model_dump(include=_HIT_COLUMNS)
        signals = " ".join(one.signal for one in hit.why)
        place = {"user_id": memory.user_id, "team": memory.team or ""}
        yield {**place, "rank": rank, **values, "why": signals}


def _sessions(browser: BrowserRequest) -> Iterator[Row]:
    user_id, behind = chosen_user(browser), None
    while True:
        page = sessions.list_sessions(browser.context, browser.caller(), user_id, behind=behind)
        for one in page.sessions:
            yield {
                "user_id": user_id,
                "session_id": one.session_id,
                "last_turn_at": rfc3339(one.last_ms),
                "turns": one.turns,
                "searches": one.steps,
                "summaries": one.summaries,
                "summary_due": one.is_l1_due,
                "task_open": one.task_open,
                "topic": one.topic,
                "latest_query": one.query,
            }
        behind = page.next
        if behind is None:
            return


def _facts(browser: BrowserRequest) -> Iterator[Row]:
    params = browser.request.query_params
    if fact_id := parameters.identifier(params, "fact_id"):
        for fact in fact_timeline(browser.context, browser.caller(), fact_id).timeline:
            yield fact.model_dump()
        return
    below = None
    while True:
        query = parameters.parse(
            FactsQuery,
            {
                "user_id": chosen_user(browser),
                "which": parameters.text(params, "which", 40) or "all",
                "status": parameters.text(params, "status", 40) or "current",
                "below": below,
                "limit": limits.FACTS_LISTED_MAX,
            },
        )
        page = list_facts(browser.context, browser.caller(), query)
        for fact in page.facts:
            yield {"user_id": page.user_id, **fact.model_dump()}
        below = page.next
        if below is None:
            return


def _lessons(browser: BrowserRequest) -> Iterator[Row]:
    params = browser.request.query_params
    chosen = params.get("status", "")
    statuses = get_args(CubeStatus) if chosen not in get_args(CubeStatus) else (chosen,)
    kind = params.get("kind", "")
    for cube_status in statuses:
        below = None
        while True:
            page = board.page(
                browser.context,
                browser.caller(),
                cast(CubeStatus, cube_status),
                kind=cast(CubeKind, kind) if kind in get_args(CubeKind) else None,
                own=params.get("own") == "yes",
                below=below,
            )
            for card in page.cards:
                record = card.record
                yield {
                    "cube_id": card.cube_id,
                    "status": card.status,
                    "kind": card.kind,
                    "topic": card.topic,
                    "essence": card.essence,
                    "rules": card.rules,
                    "evidence": card.evidence,
                    "useful": card.useful,
                    "useless": card.useless,
                    "own": card.own,
                    "exposures": record.exposures if record else None,
                    "outcomes": record.outcomes if record else None,
                    "helped": record.helped if record else None,
                    "created_at": rfc3339(card.created_ms),
                }
            below = page.next
            if below is None:
                break


def _lesson_searches(browser: BrowserRequest) -> Iterator[Row]:
    cube_id = parameters.identifier(browser.request.query_params, "cube_id")
    detail = board.cube_detail(browser.context, browser.caller(), cube_id)
    for one in detail.exposures:
        yield {
            "shown_at": None if one.shown_ms is None else rfc3339(one.shown_ms),
            "user_id": one.user_id,
            "session_id": one.session_id,
            "used": one.used,
            "ended_well": one.is_good,
            "signals": list(one.signals),
        }


def _profiles(browser: BrowserRequest) -> Iterator[Row]:
    user_id, below = chosen_user(browser), None
    while True:
        page = map_history(browser.context, browser.caller(), user_id, below=below)
        for row in page.versions:
            yield {
                "user_id": user_id,
                "version": row.version,
                "created_at": rfc3339(row.created_ms),
                "made_by": row.made_by,
                "summaries": row.l1_count,
                "characters": row.characters,
            }
        below = page.next
        if below is None:
            return


def _users(browser: BrowserRequest) -> Iterator[Row]:
    prefix = parameters.text(browser.request.query_params, "prefix", limits.ID_CHARACTERS_MAX)
    for row in users.list_rows(browser.context, browser.caller(), prefix):
        yield {
            "user_id": row.user_id,
            "last_turn_at": rfc3339(row.last_ms),
            "turns": row.counts.events,
            "sessions": row.counts.sessions,
            "facts": row.counts.facts,
            "summaries": row.counts.summaries,
        }


def _days(browser: BrowserRequest) -> Iterator[Row]:
    year = parameters.number(browser.request.query_params, "year") or 1970
    low, high = (
        round(datetime(min(max(one, 1970), 9999), 1, 1, tzinfo=UTC).timestamp() * 1000)
        for one in (year, year + 1)
    )
    counts = activity.day_counts(
        browser.context, browser.caller(), chosen_user(browser), low_ms=low, high_ms=high
    )
    for day, turns in sorted(counts.turns.items()):
        yield {"day": day_of(day * DAY_MS).isoformat(), "turns": turns}


def _searches(browser: BrowserRequest) -> Iterator[Row]:
    user_id = parameters.identifier(browser.request.query_params, "user_id") or None
    behind = None
    while True:
        page = activity.list_searches(
            browser.context, browser.caller(), user_id=user_id, behind=behind, most=100
        )
        for one in page.searches:
            yield {
                "searched_at": rfc3339(one.asked_ms),
                "user_id": one.user_id,
                "session_id": one.session_id,
                "step": one.step,
                "hits": one.hits,
                "lessons": one.cubes,
                "duties": list(one.duties),
                "key": one.key,
                "turn": one.turn.event_id if one.turn else None,
                "turn_query": one.turn.query if one.turn else None,
            }
        behind = page.next
        if behind is None:
            return


def _trace(browser: BrowserRequest) -> Explanation | None:
    params = browser.request.query_params
    user_id = chosen_user(browser)
    query = parameters.text(params, "query", limits.QUERY_CHARACTERS_MAX)
    if not query:
        step = parameters.number(params, "step") or 1
        session_id = parameters.identifier(params, "session_id") or "default"
        trace = activity.find_search(browser.context, browser.caller(), user_id, session_id, step)
        query = trace.turn.query[:QUERY_CHARACTERS_MAX].strip() if trace.turn else ""
    if not query:
        return None
    request = parameters.parse(MemoryQuery, {"query_text": query, "user_id": user_id})
    return explain(browser.context, browser.caller(), request)


def _stages(browser: BrowserRequest) -> Iterator[Row]:
    explanation = _trace(browser)
    for stage in explanation.stages if explanation else ():
        yield stage.model_dump()


def _words(browser: BrowserRequest) -> Iterator[Row]:
    explanation = _trace(browser)
    for word in explanation.words if explanation else ():
        yield word.model_dump()


def _near_misses(browser: BrowserRequest) -> Iterator[Row]:
    explanation = _trace(browser)
    for one in explanation.left_out if explanation else ():
        yield one.model_dump()


def _checks(browser: BrowserRequest) -> Iterator[Row]:
    event_id = parameters.identifier(browser.request.query_params, "event_id")
    event = browse.event_context(browser.context, browser.caller(), event_id).event
    verdict = second_look(
        browser.context,
        browser.caller(),
        parameters.parse(SecondLook, {"draft": event.response}),
    )
    for check in verdict.checks:
        yield check.model_dump()


MEMORY_TABLES: dict[str, Table] = {
    "turns": _turns,
    "hits": _hits,
    "near-misses": _near_misses,
    "stages": _stages,
    "words": _words,
    "checks": _checks,
    "sessions": _sessions,
    "facts": _facts,
    "lessons": _lessons,
    "lesson-searches": _lesson_searches,
    "profiles": _profiles,
    "users": _users,
    "days": _days,
    "searches": _searches,
}
