"""The searches page: what agents got, worst first; those that memory missed; one as a trace.

The text of a search is not stored. A search of the protocol is followed by the turn that it was
made for, and the message of that turn stands for it. It says so.
"""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from ..http.dispatch import ThreadPool
from ..memory.facts.life import add_fact
from ..memory.history import activity
from ..memory.recall.explain import explain
from ..protocol.facts import FactAdd
from ..protocol.search import MemoryQuery
from . import layout
from .browser_session import BrowserRequest, Page
from .hits import hit_views
from .layout import link_to

PATH = "/console/searches"
ORDERS = {"worst": "Worst first", "latest": "Latest first", "missed": "Missed"}
LISTED = 50
TRACE_WIDTH = 400.0  # of the whole search, in SVG units
QUERY_CHARACTERS_MAX = 2_000  # of a message that is repeated as a query
ANSWERED, NO_QUESTION = 1, 2  # what a person thinks of a search


def show(browser: BrowserRequest) -> Response:
    """Show the latest searches, of all users or of one, or one with `?session_id` and `?step`."""
    params, context, caller = browser.request.query_params, browser.context, browser.caller()
    if step := layout.number(params, "step"):
        return _one(browser, step)
    order = layout.one_of(params, "order", ORDERS) or "worst"
    # Of all users, as the figures of the home page; `user_id` chooses one.
    user_id = browser.users.chosen if params.get("user_id") else None
    searches, following = activity.list_searches(
        context,
        caller,
        user_id=user_id,
        behind=layout.cursor(params, "behind"),
        most=LISTED,
        missed=order == "missed",
    )
    if order == "worst":
        searches.sort(key=lambda one: 2.0 if one.answerable is None else one.answerable)
    return browser.page(
        "searches.html",
        searches=searches,
        user_id=user_id,
        order=order,
        orders=ORDERS,
        days=activity.SEARCHES_DAYS,
        more=link_to(PATH, user_id=user_id, order=order, behind=following) if following else None,
        is_first=not params.get("behind"),
    )


def _one(browser: BrowserRequest, step: int) -> Response:
    params, context, caller = browser.request.query_params, browser.context, browser.caller()
    user_id = browser.users.chosen
    session_id = layout.identifier(params, "session_id") or "default"
    trace = activity.find_search(context, caller, user_id, session_id, step)
    query = trace.turn.query[:QUERY_CHARACTERS_MAX].strip() if trace.turn else ""
    explanation, now = None, []
    if query:
        request = {"query_text": query, "user_id": user_id}
        explanation = explain(context, caller, layout.parse(MemoryQuery, request))
        own = trace.turn.event_id if trace.turn else ""  # it was not stored yet
        views = hit_views(explanation, user_id, context.clock())
        now = [one for one in views if one.hit.event_id != own][: activity.GOT_MAX]
    stages, start = [], 0.0
    total_ms = sum(stage.ms for stage in explanation.stages) if explanation else 0.0
    for stage in explanation.stages if explanation else ():
        width = stage.ms / (total_ms or 1.0) * TRACE_WIDTH
        stages.append((stage, round(start, 1), round(max(width, 1.0), 1)))
        start += width
    before = [one.event_id for one in trace.got]
    return browser.page(
        "search.html",
        trace=trace,
        query=query,
        explanation=explanation,
        now=now,
        before=before,
        stages=stages,
        total_ms=total_ms,
        line=_line(browser, trace, query),
    )


def _line(browser: BrowserRequest, trace: activity.SearchTrace, query: str) -> str:
    """Return a line for `remembrancer evaluate` with the turns that `expected` names.

    Empty until the form "this was wrong" has been sent.
    """
    params = browser.request.query_params
    if "expected" not in params or not query:
        return ""
    text = layout.text(params, "expected", QUERY_CHARACTERS_MAX)
    expected = [part.strip() for part in text.splitlines() if part.strip()]
    question: dict[str, Any] = {"question": query, "expected": expected, "user_id": trace.user_id}
    return json.dumps(question, ensure_ascii=False)


def review(browser: BrowserRequest) -> Response:
    """Store the answer to a missed search as a fact, or mark it as no question for memory."""
    form, user_id = browser.form, browser.users.chosen
    step = layout.number(form, "step") or 0
    session_id = layout.identifier(form, "session_id") or "default"
    activity.find_search(*browser.arguments, user_id, session_id, step)  # first: it exists
    notice, verdict = "It is no longer counted as a question.", NO_QUESTION
    if layout.one_of(form, "do", ("answer", "dismiss")) == "answer":
        text = layout.lines(form, "text")
        add_fact(*browser.arguments, layout.parse(FactAdd, {"user_id": user_id, "text": text}))
        notice, verdict = "The answer is stored as a fact. Agents find it from now on.", ANSWERED
    activity.review_search(*browser.arguments, user_id, session_id, step, verdict)
    back = layout.local_path(form.get("back", ""), link_to(PATH, order="missed"))
    return browser.redirect(back, notice=notice)


PAGES = {
    PATH: Page(get=show, pool=ThreadPool.SEARCH),
    f"{PATH}/review": Page(post=review, form_bytes_max=1 << 16),
}
