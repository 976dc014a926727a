"""The L2 map of a user:

how it stands, its versions and what changed between them; critical facts; the start pack made of
them.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from ..agent.summarize import make_map
from ..http.endpoint import ThreadPool
from ..memory.duties import L2_SUMMARIES
from ..memory.facts import list_facts
from ..memory.summaries.maps import MapUnknown, map_history, map_version
from ..memory.summaries.start_pack import start_pack
from ..protocol.summaries import MapQuery, MapRequest, MapVersion, StartQuery
from . import parameters as given
from .browser_session import BrowserRequest, Page
from .parameters import link_to
from .text_diff import diff_lines

HERE = "/console/map"


def show(visit: BrowserRequest) -> Response:
    """The newest map, or `version` of it; with `against`, what changed since that one; and the
    critical facts.
    """
    asked, context, caller = visit.request.query_params, visit.context, visit.caller()
    users = given.users(context, caller, asked)
    session_id = given.ident(asked, "session_id") or "default"
    version, against = given.number(asked, "version"), given.number(asked, "against")
    history = map_history(context, caller, users.chosen, below=given.number(asked, "below"))
    shown, other = (
        _map(visit, users.chosen, version),
        _map(visit, users.chosen, against) if against else None,
    )
    facts = list_facts(context, caller, users.chosen, below=given.number(asked, "facts_below"))
    values: dict[str, Any] = {
        "facts": facts.facts,
        "older_facts": link_to(HERE, user_id=users.chosen, facts_below=facts.next)
        if facts.next
        else None,
        "changes": diff_lines(other.map_text, shown.map_text) if shown and other else None,
        "pack": start_pack(
            context,
            caller,
            given.message(StartQuery, {"user_id": users.chosen, "session_id": session_id}),
        ),
        "older": link_to(HERE, user_id=users.chosen, below=history.next) if history.next else None,
    }
    due: dict[str, Any] = {"least": L2_SUMMARIES, "session_id": session_id}
    return visit.page(
        "map.html", users=users, history=history, shown=shown, other=other, **values, **due
    )


def _map(visit: BrowserRequest, user_id: str, version: int | None) -> MapVersion | None:
    try:
        return map_version(
            visit.context,
            visit.caller(),
            given.message(MapQuery, {"user_id": user_id, "version": version}),
        )
    except MapUnknown:
        if version is None:
            return None
        raise


def rebuild_map(visit: BrowserRequest) -> Response:
    """Make the map anew of the stored L1s."""
    user_id = given.users(visit.context, visit.caller(), visit.form).chosen
    made = make_map(visit.context, visit.caller(), given.message(MapRequest, {"user_id": user_id}))
    told = (
        f"Made: version {made.version}, of {made.l1_count:,} L1s."
        if made.updated
        else "It would say the same: no version was made."
    )
    return visit.go(
        link_to(HERE, user_id=user_id),
        told=told if made.l1_count else "There is no L1 yet to make a map of.",
    )


PAGES = {HERE: Page(get=show), f"{HERE}/make": Page(post=rebuild_map, where=ThreadPool.TALK)}
