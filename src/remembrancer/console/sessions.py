"""The sessions of a user, and one of them as a timeline."""

from __future__ import annotations

from starlette.responses import Response

from ..agent.compliance import session_compliance
from ..memory.duties import L1_TURNS
from ..memory.history import sessions
from . import parameters as given
from .browser_session import BrowserRequest, Page
from .parameters import link_to

HERE = "/console/sessions"


def show(visit: BrowserRequest) -> Response:
    """The sessions of a user, those with the newest turns first; one of them with `session_id`."""
    asked = visit.request.query_params
    users = given.users(visit.context, visit.caller(), asked)
    if session_id := given.ident(asked, "session_id"):
        return _one(visit, users.chosen, session_id)
    page = sessions.list_sessions(
        visit.context, visit.caller(), users.chosen, behind=given.place(asked, "behind")
    )
    more = link_to(HERE, user_id=users.chosen, behind=page.next) if page.next else None
    return visit.page(
        "sessions.html",
        users=users,
        sessions=page.sessions,
        more=more,
        is_first=not asked.get("behind"),
        l1_turns=L1_TURNS,
    )


def _one(visit: BrowserRequest, user_id: str, session_id: str) -> Response:
    until = given.place(visit.request.query_params, "until")
    found = sessions.timeline(visit.context, visit.caller(), user_id, session_id, until=until)
    earlier = (
        link_to(HERE, user_id=user_id, session_id=session_id, until=found.earlier)
        if found.earlier
        else None
    )
    kept_to = session_compliance(visit.context, visit.caller(), user_id, session_id)
    return visit.page(
        "session.html",
        kept_to=kept_to,
        user_id=user_id,
        found=found,
        earlier=earlier,
        is_latest=until is None,
        l1_turns=L1_TURNS,
    )


PAGES = {HERE: Page(get=show)}
