"""The searches page: searches that counted, each with its turn, and one repeated as a trace.

The text of a search is not stored. A search of the protocol is followed by the turn that it was
made for, and the message of that turn is what the page repeats to show stages, times and near
misses. It says so.
"""

from __future__ import annotations

from starlette.responses import Response

from ..http.dispatch import ThreadPool
from ..memory.history import activity
from ..memory.recall.explain import explain
from ..protocol.search import MemoryQuery
from . import layout
from .browser_session import BrowserRequest, Page
from .hits import hit_views
from .layout import link_to

PATH = "/console/searches"
TRACE_WIDTH = 400.0  # of the whole search, in SVG units
QUERY_CHARACTERS_MAX = 2_000  # of a message that is repeated as a query


def show(browser: BrowserRequest) -> Response:
    """Show the latest searches, or one with `?session_id` and `?step`."""
    params, context, caller = browser.request.query_params, browser.context, browser.caller()
    if step := layout.number(params, "step"):
        return _one(browser, step)
    user_id = layout.identifier(params, "user_id")
    searches, following = activity.list_searches(
        context, caller, user_id=user_id or None, behind=layout.cursor(params, "behind")
    )
    return browser.page(
        "searches.html",
        users=layout.users(context, caller, params),
        chosen=user_id,
        searches=searches,
        days=activity.SEARCHES_DAYS,
        more=link_to(PATH, user_id=user_id, behind=following) if following else None,
        is_first=not params.get("behind"),
    )


def _one(browser: BrowserRequest, step: int) -> Response:
    params, context, caller = browser.request.query_params, browser.context, browser.caller()
    users = layout.users(context, caller, params)
    session_id = layout.identifier(params, "session_id") or "default"
    trace = activity.find_search(context, caller, users.chosen, session_id, step)
    query = trace.turn.query[:QUERY_CHARACTERS_MAX].strip() if trace.turn else ""
    explanation = (
        explain(
            context,
            caller,
            layout.parse(MemoryQuery, {"query_text": query, "user_id": users.chosen}),
        )
        if query
        else None
    )
    stages, start = [], 0.0
    total_ms = sum(stage.ms for stage in explanation.stages) if explanation else 0.0
    for stage in explanation.stages if explanation else ():
        width = stage.ms / (total_ms or 1.0) * TRACE_WIDTH
        stages.append((stage, round(start, 1), round(max(width, 1.0), 1)))
        start += width
    return browser.page(
        "search.html",
        trace=trace,
        query=query,
        explanation=explanation,
        hits=list(hit_views(explanation, users.chosen, context.clock())) if explanation else [],
        stages=stages,
        total_ms=total_ms,
    )


PAGES = {PATH: Page(get=show, pool=ThreadPool.SEARCH)}
