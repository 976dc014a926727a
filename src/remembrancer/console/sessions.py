"""The sessions page: a user's sessions, and one session as a timeline."""

from __future__ import annotations

from starlette.responses import Response

from ..agent.compliance import session_compliance
from ..memory.duties import L1_TURNS
from ..memory.history import browse
from ..memory.tasks import end_task_of_session
from . import layout
from .browser_session import BrowserRequest, Page
from .layout import link_to

PATH = "/console/sessions"


def show(browser: BrowserRequest) -> Response:
    """Show the sessions of a user, latest turn first, or one session with `?session_id`."""
    params = browser.request.query_params
    users = layout.users(*browser.arguments, params)
    if session_id := layout.identifier(params, "session_id"):
        return _one(browser, users.chosen, session_id)
    sessions, following = browse.list_sessions(
        *browser.arguments, users.chosen, behind=layout.cursor(params, "behind")
    )
    more = link_to(PATH, user_id=users.chosen, behind=following) if following else None
    return browser.page(
        "sessions.html",
        users=users,
        sessions=sessions,
        more=more,
        is_first=not params.get("behind"),
        l1_turns=L1_TURNS,
    )


def _one(browser: BrowserRequest, user_id: str, session_id: str) -> Response:
    until = layout.cursor(browser.request.query_params, "until")
    timeline = browse.timeline(*browser.arguments, user_id, session_id, until=until)
    earlier = (
        link_to(PATH, user_id=user_id, session_id=session_id, until=timeline.earlier)
        if timeline.earlier
        else None
    )
    figures = session_compliance(*browser.arguments, user_id, session_id)
    return browser.page(
        "session.html",
        figures=figures,
        user_id=user_id,
        timeline=timeline,
        earlier=earlier,
        is_latest=until is None,
        l1_turns=L1_TURNS,
    )


def end_task(browser: BrowserRequest) -> Response:
    """End the open task of a session."""
    user_id = layout.users(*browser.arguments, browser.form).chosen
    session_id = layout.identifier(browser.form, "session_id")
    end_task_of_session(*browser.arguments, user_id, session_id)
    return browser.redirect(
        link_to(PATH, user_id=user_id, session_id=session_id), notice="The task is ended."
    )


PAGES = {PATH: Page(get=show), f"{PATH}/end-task": Page(post=end_task)}
