"""The memory page: search with explained scores, newest turns, one turn in detail, forget."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.responses import Response

from ..accounts.teams import authors_of_events
from ..agent.second_look import second_look
from ..http.dispatch import ThreadPool
from ..memory.history import browse
from ..memory.history.forget import NotConfirmed, erase_event, forget
from ..memory.recall.explain import explain
from ..permissions.teams import list_teams
from ..protocol import limits
from ..protocol.agent import SecondLook
from ..protocol.errors import InvalidRequest, Problem
from ..protocol.filters import filters_of
from ..protocol.forget import Forget
from ..protocol.search import Author, Explanation, MemoryQuery
from . import layout
from .browser_session import BrowserRequest, Page
from .hits import BAR_WIDTH, EVERYONE, WITH_TEAMS, HitView, hit_views, search_scope
from .layout import link_to

PATH = "/console/memory"
TOP_K_CHOICES = (5, 10, 20, 50)


def show(browser: BrowserRequest) -> Response:
    """Show search results, or the newest turns, or one turn with `?event_id`."""
    params = browser.request.query_params
    if event_id := layout.identifier(params, "event_id"):
        return _turn(browser, event_id)
    caller, context = browser.caller(), browser.context
    users = layout.users(context, caller, params)
    fields = search_fields(params) | {
        "noticed": "yes" if params.get("noticed") == "yes" else "",
        "users": EVERYONE if params.get("users") == EVERYONE else "",
        "teams": WITH_TEAMS if params.get("teams") == WITH_TEAMS else "",
    }
    values = (
        _search(browser, users.chosen, fields)
        if fields["query"]
        else _newest(browser, users.chosen, fields)
    )
    values |= {
        "users": users,
        "fields": fields,
        "has_teams": bool(list_teams(context, caller).teams),
        "top_k_choices": TOP_K_CHOICES,
        "is_fragment": browser.wants_fragment,
    }
    if browser.wants_fragment:
        return browser.fragment("_search_results.html", **values)
    return browser.page(
        "memory.html", **values, totals=browse.user_counts(context, caller, users.chosen)
    )


def search_fields(params: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a search from the parameters of a page."""
    return {
        "query": layout.text(params, "query", limits.QUERY_CHARACTERS_MAX),
        "focus": layout.text(params, "focus", limits.FOCUS_WORD_CHARACTERS_MAX),
        "filters": layout.text(params, "filters", limits.METADATA_TEXT_CHARACTERS_MAX),
        "after": layout.parse_day(params, "after"),
        "before": layout.parse_day(params, "before"),
        "top_k": layout.number(params, "top_k") or TOP_K_CHOICES[1],
    }


def search_query(fields: Mapping[str, Any], user_id: str) -> MemoryQuery:
    """Return the search of the fields of a page, for one user. Raises InvalidRequest."""
    values = {name: fields[name] for name in ("after", "before", "top_k")}
    values["focus_words"] = _words(fields["focus"])
    try:
        values["filters"] = filters_of(_words(fields["filters"]))
    except ValueError as error:
        raise InvalidRequest(f"Metadata: {error}.") from error
    return layout.parse(MemoryQuery, {"query_text": fields["query"], "user_id": user_id, **values})


def _words(field: str) -> list[str]:
    return [word.strip() for word in field.split(",") if word.strip()]


def _search(browser: BrowserRequest, user_id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    if fields["users"] or fields["teams"]:
        return _search_several(browser, user_id, fields)
    explanation = explain(*browser.arguments, search_query(fields, user_id))
    slowest_ms = max((stage.ms for stage in explanation.stages), default=1.0) or 1.0
    return {
        "explanation": explanation,
        "scope": None,
        "hits": list(hit_views(explanation, user_id, browser.context.clock())),
        "ms": sum(stage.ms for stage in explanation.stages),
        "stages": [(stage, BAR_WIDTH * stage.ms / slowest_ms) for stage in explanation.stages],
    }


def _search_several(
    browser: BrowserRequest, user_id: str, fields: Mapping[str, Any]
) -> dict[str, Any]:
    """Search several memories, one after the other; best hits first."""
    context, scope = browser.context, search_scope(browser, user_id, fields)
    results: list[tuple[Explanation, list[HitView]]] = []
    for memory in scope.memories:
        one = explain(context, memory.caller, search_query(fields, memory.user_id))
        views = hit_views(one, memory.user_id, context.clock(), team=memory.team)
        results.append((one, list(views)))
    hits = [view for _, views in results for view in views]
    hits = sorted(hits, key=lambda view: -view.hit.score)[: fields["top_k"]]
    authors: dict[str, Author] = {}
    for memory in scope.memories:
        if memory.team:
            ids = [view.hit.event_id for view in hits if view.user_id == memory.user_id]
            authors |= context.store.read(
                partial(authors_of_events, event_ids=ids), account_id=memory.caller.account_id
            )
    return {
        "explanation": None,
        "scope": scope,
        "authors": authors,
        "matches": sum(one.total_hits for one, _ in results),
        "passages": sum(one.looked.passages for one, _ in results),
        "hits": hits,
        "ms": sum(stage.ms for one, _ in results for stage in one.stages),
    }


def _newest(browser: BrowserRequest, user_id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    behind = layout.cursor(browser.request.query_params, "behind")
    if fields["noticed"]:
        events, following = browse.list_flagged(*browser.arguments, user_id, behind=behind)
    else:
        after, before = (layout.milliseconds(fields[name]) for name in ("after", "before"))
        events, following = browse.newest_events(
            *browser.arguments, user_id, after_ms=after, before_ms=before, behind=behind
        )
    days = {
        name: f"{fields[name]:%Y-%m-%d}" if fields[name] else None for name in ("after", "before")
    }
    more = (
        link_to(PATH, user_id=user_id, noticed=fields["noticed"], behind=following, **days)
        if following
        else None
    )
    return {
        "explanation": None,
        "scope": None,
        "hits": None,
        "events": events,
        "more": more,
        "is_first": behind is None,
    }


def _turn(browser: BrowserRequest, event_id: str) -> Response:
    detail = browse.event_context(*browser.arguments, event_id)
    verdict, error_message = None, None
    if browser.request.query_params.get("look") == "again":
        try:
            verdict = second_look(
                *browser.arguments, layout.parse(SecondLook, {"draft": detail.event.response})
            )
        except Problem as error:
            error_message = error.detail
    return browser.page("turn.html", detail=detail, verdict=verdict, error_message=error_message)


def confirm_forget(browser: BrowserRequest) -> Response:
    """Show counts of what would be erased; with `sure`, erase it."""
    form, caller = browser.form, browser.caller()
    if event_id := layout.identifier(form, "event_id"):
        return _forget_event(browser, event_id)
    users = layout.users(browser.context, caller, form)
    days = {name: layout.parse_day(form, name) for name in ("after", "before")}
    session_id = layout.identifier(form, "session_id") or None
    request = layout.parse(
        Forget, {"user_id": users.chosen, "session_id": session_id, **days, "dry_run": True}
    )
    values: dict[str, Any] = {
        "target": _target(request),
        "name": None if request.is_narrowed else users.chosen,
        "fields": {
            name: form[name]
            for name in ("user_id", "session_id", "after", "before")
            if form.get(name)
        },
        "counts": forget(browser.context, caller, request).counts.model_dump(),
        "mentioned_in": [],
        "cancel_path": link_to(PATH, user_id=users.chosen),
    }
    if form.get("sure") != "yes":
        return browser.page("forget.html", **values)
    try:
        confirm = layout.identifier(form, "confirm") or None
        confirmed_request = request.model_copy(update={"dry_run": False, "confirm": confirm})
        result = forget(browser.context, caller, confirmed_request)
    except NotConfirmed:
        return browser.page(
            "forget.html",
            status=422,
            **values,
            error="The name does not match. Nothing was erased.",
        )
    return browser.redirect(
        link_to(PATH, user_id=users.chosen if request.is_narrowed else None),
        notice=_erasure_notice(result.counts.model_dump()),
    )


def _forget_event(browser: BrowserRequest, event_id: str) -> Response:
    form = browser.form
    is_confirmed = form.get("sure") == "yes"
    result = erase_event(*browser.arguments, event_id, dry_run=not is_confirmed)
    counts = {"events": 1, "facts": result.facts}
    back = link_to(PATH, user_id=layout.identifier(form, "user_id"))
    if is_confirmed:
        return browser.redirect(back, notice=_erasure_notice(counts))
    return browser.page(
        "forget.html",
        target="this turn",
        name=None,
        mentioned_in=result.told_in,
        cancel_path=back,
        counts=counts,
        fields={"event_id": event_id, "user_id": form.get("user_id", "")},
    )


def _target(request: Forget) -> str:
    time = [f"from {request.after:%Y-%m-%d}"] if request.after else []
    time += [f"before {request.before:%Y-%m-%d}"] if request.before else []
    parts = [f"session {request.session_id}" if request.session_id else "", " and ".join(time)]
    filters = ", ".join(part for part in parts if part)
    return f"{filters} of {request.user_id}" if filters else f"everything of {request.user_id}"


def _erasure_notice(counts: Mapping[str, int]) -> str:
    words = {
        "events": "turns",
        "summaries": "summaries",
        "maps": "profile versions",
        "prompts": "prompts",
        "memory_files": "memory file versions",
    }
    items = ", ".join(
        f"{count:,} {words.get(name, name)}" for name, count in counts.items() if count
    )
    return f"Erased: {items}." if items else "There was nothing to erase."


PAGES = {PATH: Page(get=show, pool=ThreadPool.SEARCH), f"{PATH}/forget": Page(post=confirm_forget)}
