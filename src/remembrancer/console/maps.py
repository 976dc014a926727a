"""The profile page: versions of a user's L2 map, newest facts, start pack."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from ..agent.summarize import make_map
from ..http.dispatch import ThreadPool
from ..memory.duties import L2_SUMMARIES
from ..memory.facts.listing import list_facts
from ..memory.summaries.maps import MapUnknown, map_history, map_version
from ..memory.summaries.start_pack import start_pack
from ..protocol.facts import FactsQuery
from ..protocol.summaries import MapQuery, MapRequest, MapVersion, StartQuery
from . import layout
from .browser_session import BrowserRequest, Page
from .facts import diff_lines
from .layout import link_to

PATH = "/console/map"
_FACTS_LISTED = 5  # newest first; the facts page lists all


def show(browser: BrowserRequest) -> Response:
    """Show the newest map or `?version`, compared with `?against`, and the newest facts."""
    params, context, caller = browser.request.query_params, browser.context, browser.caller()
    users = layout.users(context, caller, params)
    session_id = layout.identifier(params, "session_id") or "default"
    version, against = layout.number(params, "version"), layout.number(params, "against")
    history = map_history(context, caller, users.chosen, below=layout.number(params, "below"))
    current = _map(browser, users.chosen, version)
    other = _map(browser, users.chosen, against) if against else None
    facts = list_facts(
        context, caller, layout.parse(FactsQuery, {"user_id": users.chosen, "limit": _FACTS_LISTED})
    )
    values: dict[str, Any] = {
        "facts": facts.facts,
        "has_more_facts": facts.next is not None,
        "changes": diff_lines(other.map_text, current.map_text) if current and other else None,
        "pack": start_pack(
            context,
            caller,
            layout.parse(StartQuery, {"user_id": users.chosen, "session_id": session_id}),
        ),
        "older": link_to(PATH, user_id=users.chosen, below=history.next) if history.next else None,
    }
    due: dict[str, Any] = {"summaries_min": L2_SUMMARIES, "session_id": session_id}
    return browser.page(
        "map.html", users=users, history=history, current=current, other=other, **values, **due
    )


def _map(browser: BrowserRequest, user_id: str, version: int | None) -> MapVersion | None:
    try:
        return map_version(
            *browser.arguments, layout.parse(MapQuery, {"user_id": user_id, "version": version})
        )
    except MapUnknown:
        if version is None:
            return None
        raise


def rebuild_map(browser: BrowserRequest) -> Response:
    """Rebuild the map from the stored L1 summaries."""
    user_id = layout.users(*browser.arguments, browser.form).chosen
    result = make_map(*browser.arguments, layout.parse(MapRequest, {"user_id": user_id}))
    notice = (
        f"Version {result.version} created from {result.l1_count:,} summaries."
        if result.updated
        else "Nothing changed: the profile is up to date."
    )
    return browser.redirect(
        link_to(PATH, user_id=user_id),
        notice=notice if result.l1_count else "There are no summaries yet.",
    )


PAGES = {PATH: Page(get=show), f"{PATH}/make": Page(post=rebuild_map, pool=ThreadPool.TALK)}
